//! Scalar programs without and with regularity, from a hundred equations to a million: how long compilation takes, and what an
//! equation costs in a run.
//!
//! `cargo bench -p crease-engine --bench scalar -- [SIZE ...]`; without sizes 100, 1000, 20000 and 200000 (a million takes
//! minutes, most of them for compiling machine code of gradients). All times are
//! the least of several runs, on one thread; those of an equation are in nanoseconds.

use crease_core::differentiate::{How, backprop};
use crease_core::random::SplitMix64;
use crease_core::{Atom, Builder, Op, Program, Shape, Smooth, Tensor, run};
use crease_engine::{Backend, Compiled, Options, compile, value_and_grad};
use std::time::Instant;

const INPUTS: usize = 100;

/// A program that is grown equation by equation; each is made of the values so far.
fn grown(name: &str, n: usize, mut next: impl FnMut(&mut Builder, &[Atom], &mut SplitMix64) -> Atom) -> Program {
    let mut rng = SplitMix64::new(4);
    let mut b = Builder::new(name);
    let mut values: Vec<Atom> =
        (0..INPUTS).map(|i| b.input(format!("x{i}"), Shape::scalar()).expect("an input")).collect();
    while values.len() < INPUTS + n {
        let v = next(&mut b, &values, &mut rng);
        values.push(v);
    }
    // all that is left over takes part
    let left = (values.len() - INPUTS).min(500);
    let y = b.max(&values[values.len() - left..]).expect("an equation");
    b.finish(&[y]).expect("a program")
}

/// One of the last 500 values.
fn recent(values: &[Atom], rng: &mut SplitMix64) -> Atom {
    values[values.len() - 1 - rng.below(values.len().min(500) as u64) as usize]
}

/// Sums, differences, halves and maxima of pairs, in any order.
fn random(n: usize) -> Program {
    grown("random", n, |b, values, rng| {
        let (x, y) = (recent(values, rng), recent(values, rng));
        let less = b.constant_f64(0.4375).expect("a constant");
        match rng.below(4) {
            0 => b.push1(Op::Add, &[x, y]),
            1 => b.push1(Op::Sub, &[x, y]),
            2 => b.push1(Op::Mul, &[x, less]),
            _ => b.max(&[x, y]),
        }
        .expect("an equation")
    })
}

/// `y := y * x + c`, each step on the one before.
fn horner(n: usize) -> Program {
    grown("horner", n, |b, values, rng| {
        let y = *values.last().expect("a value");
        let x = values[rng.below(INPUTS as u64) as usize];
        let c = b.constant_f64(rng.below(8) as f64 / 8.0).expect("a constant");
        let half = b.constant_f64(0.125).expect("a constant");
        match rng.below(3) {
            0 => b.push1(Op::Mul, &[y, half]),
            1 => b.push1(Op::Add, &[y, c]),
            _ => b.push1(Op::Sub, &[x, y]),
        }
        .expect("an equation")
    })
}

/// Exponentials, logarithms, quotients and what keeps them in bounds.
fn smooth(n: usize) -> Program {
    grown("smooth", n, |b, values, rng| {
        let (x, y) = (recent(values, rng), recent(values, rng));
        let one = b.constant(1);
        match rng.below(6) {
            0 => b.push1(Smooth::Tanh, &[x]),
            1 => b.push1(Smooth::Sigmoid, &[x]),
            2 => {
                let e = b.push1(Smooth::Tanh, &[x]).expect("an equation");
                b.push1(Smooth::Exp, &[e])
            }
            3 => {
                let s = b.push1(Op::Mul, &[x, x]).expect("an equation");
                let s = b.push1(Op::Add, &[s, one]).expect("an equation");
                b.push1(Smooth::Log, &[s])
            }
            4 => b.push1(Op::Sub, &[x, y]),
            _ => {
                let s = b.push1(Op::Mul, &[x, x]).expect("an equation");
                let s = b.push1(Op::Add, &[s, one]).expect("an equation");
                b.push1(Op::Div, &[y, s])
            }
        }
        .expect("an equation")
    })
}

/// The least over clauses of the relu of the largest of three literals.
fn clauses(n: usize) -> Program {
    let mut rng = SplitMix64::new(4);
    let mut b = Builder::new("clauses");
    let x: Vec<Atom> = (0..INPUTS).map(|i| b.input(format!("x{i}"), Shape::scalar()).expect("an input")).collect();
    let minus: Vec<Atom> = x.iter().map(|&x| b.neg(x).expect("an equation")).collect();
    let mut all = Vec::new();
    while 2 * all.len() < n {
        let pick = |rng: &mut SplitMix64| {
            let of = if rng.below(2) == 0 { &x } else { &minus };
            of[rng.below(INPUTS as u64) as usize]
        };
        let three = [pick(&mut rng), pick(&mut rng), pick(&mut rng)];
        let most = b.max(&three).expect("an equation");
        all.push(b.relu(most).expect("an equation"));
    }
    let y = b.min(&all).expect("an equation");
    b.finish(&[y]).expect("a program")
}

/// The least time in nanoseconds of a few dozen runs, or of as many as fit into a second.
fn least(mut f: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let mut best = f64::INFINITY;
    for i in 0..2000 {
        let start = Instant::now();
        f();
        best = best.min(start.elapsed().as_nanos() as f64);
        if i >= 3 && begin.elapsed().as_secs_f64() > 0.4 {
            break;
        }
    }
    best
}

/// The value of input `i` at point `k`.
fn coordinate(i: usize, k: usize) -> f64 {
    ((i * 7 + k * 13) % 71) as f64 / 7.0 - 5.0
}

/// The least times of a run at one point, and of one of 64 points in a batch, for an equation.
fn run_times(c: &Compiled<f64>, p: &Program) -> [f64; 2] {
    [1, 64].map(|points: usize| {
        let mut w = c.workspace();
        let x: Vec<Vec<f64>> = (0..p.inputs().len()).map(|i| (0..points).map(|k| coordinate(i, k)).collect()).collect();
        let inputs: Vec<&[f64]> = x.iter().map(|x| &x[..]).collect();
        let mut y: Vec<Vec<f64>> = vec![vec![0.0; points]; c.outputs().len()];
        let mut out: Vec<&mut [f64]> = y.iter_mut().map(|y| &mut y[..]).collect();
        least(|| c.run_batch(&mut w, points, &inputs, &mut out).expect("runs")) / (points * p.len()) as f64
    })
}

fn interpreted(program: &Program, p: &Program) -> f64 {
    let at: Vec<Tensor<f64>> = (0..p.inputs().len()).map(|i| Tensor::scalar(coordinate(i, 0))).collect();
    least(|| drop(run(program, &at).expect("runs"))) / p.len() as f64
}

fn timed<R>(f: impl FnOnce() -> R) -> (R, f64) {
    let start = Instant::now();
    let r = f();
    (r, start.elapsed().as_secs_f64() * 1e3)
}

/// A program in all ways, its value and its value with the gradient.
fn measure(p: &Program) {
    let name = format!("{} {}", p.name(), p.len());
    let derived = backprop(p, &How::default()).expect("differentiates");
    let slow = [interpreted(p, p), interpreted(&derived, p)];
    println!("{name:<18} interpreter {:>27.2} {:>33.2} {:>7.2}", slow[0], slow[1], slow[1] / slow[0]);
    for backend in [Backend::Bytecode, Backend::Native, Backend::Auto] {
        let options = Options::default().backend(backend);
        let (value, cv) = timed(|| compile::<f64>(p, &options).expect("compiles"));
        let (gradient, cg) = timed(|| value_and_grad::<f64>(p, &[], &options).expect("compiles"));
        if backend == Backend::Auto {
            let chosen = |c: &Compiled<f64>| {
                let native = c.explain().lines().iter().any(|l| l.contains("bytes of native code"));
                if native { "native" } else { "bytecode" }
            };
            println!("{:<18} auto: {} for the value, {} for the gradient", "", chosen(&value), chosen(&gradient));
            continue;
        }
        let ([v, vb], [g, gb]) = (run_times(&value, p), run_times(&gradient, p));
        println!(
            "{:<18} {:<11} {cv:>11.2} ms {v:>12.2} {vb:>8.2} {cg:>12.2} ms {g:>8.2} {gb:>8.2} {:>7.2} {:>7.2}",
            "",
            format!("{backend:?}").to_lowercase(),
            g / v,
            gb / vb
        );
    }
}

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![100, 1000, 20_000, 200_000] } else { sizes };
    println!(
        "{:<18} {:<11} {:>14} {:>12} {:>8} {:>15} {:>8} {:>8} {:>15}",
        "equations", "as", "value: compile", "run", "in batch", "gradient: compile", "run", "in batch", "ratio of both"
    );
    for n in sizes {
        for make in [random, horner, smooth, clauses] {
            measure(&make(n));
        }
    }
}
