//! The workloads of the design, each beside a version written by hand: value, value and gradient, their ratio, the ratio of
//! counted costs, and whether both agree. Times are the least of many runs, in microseconds.
//!
//! `cargo bench -p crease-engine` runs all; `-- A F` some of them; `-- --explain A` says what the compiler decided.

#[path = "workloads/data.rs"]
mod data;
#[path = "workloads/floors.rs"]
mod floors;
#[path = "workloads/programs.rs"]
mod programs;

use crease_core::cost::{Prices, cost};
use crease_core::differentiate::backprop;
use crease_core::{Arithmetic, Program, simplify};
use crease_engine::{Float, Options, compile, directional, value_and_grad};
use data::Normal;
use std::time::{Duration, Instant};

/// The least time of one call.
fn least(mut f: impl FnMut()) -> f64 {
    f();
    let start = Instant::now();
    f();
    let inner = (2e-4 / start.elapsed().as_secs_f64().max(1e-9)).ceil().max(1.0) as usize;
    let (mut best, mut rounds, begin) = (f64::INFINITY, 0, Instant::now());
    while rounds < 10 || begin.elapsed() < Duration::from_millis(300) {
        let start = Instant::now();
        (0..inner).for_each(|_| f());
        best = best.min(start.elapsed().as_secs_f64() / inner as f64);
        rounds += 1;
    }
    best * 1e6
}

struct Table {
    wanted: Vec<String>,
    explain: bool,
}

/// What a row is made of.
struct Row<'a, T> {
    name: &'a str,
    program: Program,
    wrt: Vec<usize>,
    /// One list of inputs for each point; runs go through them in turn.
    points: Vec<Vec<Vec<T>>>,
    /// Value and gradient by hand, at point number i.
    floor: &'a mut dyn FnMut(usize, &mut Vec<Vec<T>>) -> T,
    tolerance: f64,
    peers: &'a str,
}

impl Table {
    fn wants(&self, name: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|w| w == name.split(' ').next().unwrap_or(name))
    }

    fn row<T: Float>(&self, row: Row<'_, T>) {
        let options = Options::default().arithmetic(Arithmetic::Ieee);
        let begin = Instant::now();
        let value = compile::<T>(&row.program, &options).expect("compiles");
        let gradient = value_and_grad::<T>(&row.program, &row.wrt, &options).expect("compiles");
        let compiled = begin.elapsed().as_secs_f64() * 1e3;
        if self.explain {
            println!("value:\n{}gradient:\n{}", value.explain(), gradient.explain());
        }
        let (mut wv, mut wg) = (value.workspace(), gradient.workspace());
        let mut y = [T::ZERO];
        let mut out: Vec<Vec<T>> = gradient.outputs().iter().map(|s| vec![T::ZERO; s.len()]).collect();
        let slices: Vec<Vec<&[T]>> = row.points.iter().map(|p| p.iter().map(|x| &x[..]).collect()).collect();
        let mut i = 0;
        let mut next = || {
            i += 1;
            i % slices.len()
        };
        let tv = least(|| value.run(&mut wv, &slices[next()], &mut [&mut y]).expect("runs"));
        let mut outs: Vec<&mut [T]> = out.iter_mut().map(|o| &mut o[..]).collect();
        let tg = least(|| gradient.run(&mut wg, &slices[next()], &mut outs).expect("runs"));
        let mut by_hand: Vec<Vec<T>> = out[1..].iter().map(|o| vec![T::ZERO; o.len()]).collect();
        let tf = least(|| {
            (row.floor)(next(), &mut by_hand);
        });
        // agreement, at every point
        let mut worst = 0.0f64;
        for (p, slices) in slices.iter().enumerate() {
            let mut outs: Vec<&mut [T]> = out.iter_mut().map(|o| &mut o[..]).collect();
            gradient.run(&mut wg, slices, &mut outs).expect("runs");
            value.run(&mut wv, slices, &mut [&mut y]).expect("runs");
            let v = (row.floor)(p, &mut by_hand).to_f64();
            let off = |a: f64, b: f64, scale: f64| (a - b).abs() / scale;
            worst = worst.max(off(v, y[0].to_f64(), v.abs().max(1.0)));
            worst = worst.max(off(v, out[0][0].to_f64(), v.abs().max(1.0)));
            let scale = by_hand.iter().flatten().fold(1e-3f64, |m, x| m.max(x.to_f64().abs()));
            for (a, b) in out[1..].iter().flatten().zip(by_hand.iter().flatten()) {
                worst = worst.max(off(a.to_f64(), b.to_f64(), scale));
            }
        }
        let counted = counted(&row.program, &row.wrt, &options);
        let agree = if worst <= row.tolerance { "ok".into() } else { format!("OFF BY {worst:.1e}") };
        println!(
            "{:<28} {tv:>9.1} {tg:>9.1} {:>6.2} {counted:>8} {tf:>9.1} {compiled:>8.1}  {agree:<6} {}",
            row.name,
            tg / tv,
            row.peers
        );
    }
}

/// The counted cost of value and gradient over that of the value.
fn counted(p: &Program, wrt: &[usize], options: &Options) -> String {
    let ratio = || {
        let outputs: Vec<usize> = [0].into_iter().chain(wrt.iter().map(|i| i + 1)).collect();
        let derived = simplify(&backprop(p, &options.how).ok()?.with_outputs(&outputs)?).ok()?;
        let at = |p: &Program| cost(p).at(&Prices::unit()).to_f64();
        Some(format!("{:.2}", at(&derived) / at(p)))
    };
    ratio().unwrap_or_else(|| "-".into())
}

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let explain = args.iter().any(|a| a == "--explain");
    args.retain(|a| a != "--explain");
    let t = Table { wanted: args, explain };
    println!(
        "{:<28} {:>9} {:>9} {:>6} {:>8} {:>9} {:>8}  agree  best peer (value / gradient)",
        "row", "value", "gradient", "ratio", "counted", "by hand", "compile"
    );
    for (name, variables, clauses, peers) in [
        ("A sat", 250, 1065, "CoDiPack 2.7 / 9.4, echidna 13 / 19, JAX 22 / 30"),
        ("A' sat", 2500, 10650, "echidna 132 / 199, JAX 101 / 253"),
    ] {
        if !t.wants(name) {
            continue;
        }
        let s = data::sat(variables, clauses);
        let mut g = vec![0.0; variables];
        let scalars = s.points.iter().map(|p| p.iter().map(|&x| vec![x]).collect()).collect();
        let program = programs::sat(&s).expect("builds");
        let mut floor = |p: usize, out: &mut Vec<Vec<f64>>| {
            let v = floors::sat_gradient(&s, &s.points[p], &mut g);
            if out.len() == 1 {
                out[0].copy_from_slice(&g);
            } else {
                out.iter_mut().zip(&g).for_each(|(o, &g)| o[0] = g);
            }
            v
        };
        let wrt: Vec<usize> = (0..variables).collect();
        t.row(Row { name, program, wrt, points: scalars, floor: &mut floor, tolerance: 0.0, peers });
        let points = s.points.iter().map(|p| vec![p.clone()]).collect();
        let program = programs::sat_tensors(&s).expect("builds");
        let name = &format!("{name} (arrays)");
        t.row(Row { name, program, wrt: vec![0], points, floor: &mut floor, tolerance: 0.0, peers });
        let mut i = 0;
        let tv = least(|| {
            i = (i + 1) % 16;
            std::hint::black_box(floors::sat_value(&s, &s.points[i]));
        });
        println!("{:<28} {tv:>9.1}  value by hand", "");
    }
    if t.wants("B") {
        mlp_rows(&t);
    }
    if t.wants("C") {
        vector_rows(&t);
    }
    if t.wants("C'") {
        let n = 1_000_000;
        let x: Vec<f32> = Normal::new(2).normals(n, 1.0).iter().map(|&x| x as f32).collect();
        let mut space = vec![0.0; n];
        let mut floor = |_: usize, out: &mut Vec<Vec<f32>>| floors::median(&x, &mut out[0], &mut space);
        t.row(Row {
            name: "C' median 10^6 f32",
            program: programs::of_vector(n, |b, x| b.median(x)).expect("builds"),
            wrt: vec![0],
            points: vec![vec![x.clone()]],
            floor: &mut floor,
            tolerance: 0.0,
            peers: "numpy 10,600; torch 10,800",
        });
    }
    if t.wants("compile") {
        compile_rows();
    }
    if t.wants("D") {
        directional_rows(&t);
    }
    if t.wants("E") {
        cnn_rows(&t);
    }
    if t.wants("F") {
        let (d, k, n) = (10, 25, 1000);
        let mut rng = Normal::new(6);
        let alphas = rng.normals(k, 1.0);
        let means: Vec<f64> = (0..k * d).map(|_| rng.uniform()).collect();
        let icf = rng.normals(k * 55, 1.0);
        let x = rng.normals(n * d, 1.0);
        let theta = [&alphas[..], &means, &icf].concat();
        let mut g = vec![0.0; theta.len()];
        let mut floor = |_: usize, out: &mut Vec<Vec<f64>>| {
            let v = floors::gmm(d, k, &theta, &x, &mut g);
            let mut rest = &g[..];
            for o in out {
                let (head, tail) = rest.split_at(o.len());
                o.copy_from_slice(head);
                rest = tail;
            }
            v
        };
        t.row(Row {
            name: "F gmm 10, 25, 1000",
            program: programs::gmm(d, k, n).expect("builds"),
            wrt: vec![0, 1, 2],
            points: vec![vec![alphas.clone(), means.clone(), icf.clone(), x.clone()]],
            floor: &mut floor,
            tolerance: 1e-10,
            peers: "JAX 675 / 2,200",
        });
    }
}

fn floats<T: Float>(xs: &[f64]) -> Vec<T> {
    xs.iter().map(|&x| T::from_f64(x)).collect()
}

fn mlp_rows(t: &Table) {
    fn one<T: Float>(t: &Table, name: &str, batch: usize, peers: &str, tolerance: f64) {
        let sizes = [784usize, 256, 256, 10];
        let mut rng = Normal::new(0);
        let w: [Vec<T>; 3] =
            std::array::from_fn(|i| floats(&rng.normals(sizes[i] * sizes[i + 1], (2.0 / sizes[i] as f64).sqrt())));
        let b: [Vec<T>; 3] = std::array::from_fn(|i| vec![T::ZERO; sizes[i + 1]]);
        let x: Vec<T> = floats(&rng.normals(batch * 784, 1.0));
        let y: Vec<T> = floats(&data::labels(&mut rng, batch, 10));
        let mut point = Vec::new();
        for i in 0..3 {
            point.extend([w[i].clone(), b[i].clone()]);
        }
        point.extend([x.clone(), y.clone()]);
        let p = floors::Mlp { w, b };
        let zero = || floors::Mlp { w: p.w.clone(), b: p.b.clone() };
        let (mut g, mut sum) = (zero(), zero());
        let mut floor = |_: usize, out: &mut Vec<Vec<T>>| {
            let mut value = T::ZERO;
            let share = T::ONE / T::from_usize(batch);
            for (k, (x, y)) in x.chunks_exact(784).zip(y.chunks_exact(10)).enumerate() {
                value += floors::mlp_one(&p, x, y, Some(if batch == 1 { &mut sum } else { &mut g })) * share;
                if batch > 1 {
                    let lists = sum.w.iter_mut().chain(&mut sum.b).zip(g.w.iter().chain(&g.b));
                    for (s, g) in lists {
                        s.iter_mut().zip(g).for_each(|(s, &g)| *s = if k == 0 { g * share } else { *s + g * share });
                    }
                }
            }
            for i in 0..3 {
                out[2 * i].copy_from_slice(&sum.w[i]);
                out[2 * i + 1].copy_from_slice(&sum.b[i]);
            }
            value
        };
        let program = programs::mlp(batch).expect("builds");
        t.row(Row { name, program, wrt: (0..6).collect(), points: vec![point], floor: &mut floor, tolerance, peers });
    }
    one::<f32>(t, "B mlp f32, batch 1", 1, "candle 24 / 138, JAX 38 / 160; floor 25", 1e-4);
    one::<f32>(t, "B' mlp f32, batch 64", 64, "JAX 400 / 915; floor 750", 1e-4);
    one::<f64>(t, "B' mlp f64, batch 64", 64, "JAX 735 / 1,796; floor 1,490", 1e-11);
}

fn vector_rows(t: &Table) {
    let n = 1_000_000;
    let mut rng = Normal::new(2);
    let x = rng.normals(n, 1.0);
    let q = rng.normals(n / 10, 1.0);
    let one = |name: &str, program: Program, f: fn(&[f64], &mut [f64]) -> f64, peers: &str| {
        let mut floor = |_: usize, out: &mut Vec<Vec<f64>>| f(&x, &mut out[0]);
        let points = vec![vec![x.clone()]];
        t.row(Row { name, program, wrt: vec![0], points, floor: &mut floor, tolerance: 1e-11, peers });
    };
    let built =
        |f: fn(&mut crease_core::Builder, crease_core::Atom) -> Result<crease_core::Atom, crease_core::BuildError>| {
            programs::of_vector(n, f).expect("builds")
        };
    one("C l1 10^6", built(|b, x| b.norm1(x)), floors::norm1, "JAX - / 563");
    one("C linf 10^6", built(|b, x| b.norminf(x)), floors::norm_inf, "numpy - / 537");
    let sum_relu = built(|b, x| {
        let r = b.relu(x)?;
        b.sum_all(r)
    });
    one("C sum of relu 10^6", sum_relu, floors::sum_relu, "JAX - / 976");
    let mut floor = |_: usize, out: &mut Vec<Vec<f64>>| floors::max_linear(&x, &q, &mut out[0]);
    t.row(Row {
        name: "C max-linear 10 x 10^5",
        program: programs::max_linear(10, n / 10).expect("builds"),
        wrt: vec![0],
        points: vec![vec![x.clone(), q.clone()]],
        floor: &mut floor,
        tolerance: 1e-11,
        peers: "numpy - / 315",
    });
}

/// How long compilation takes, and what a run costs, for scalar programs without any regularity.
fn compile_rows() {
    use crease_core::{Builder, Op, Shape};
    for n in [20_000usize, 200_000, 1_000_000] {
        let mut rng = Normal::new(4);
        let mut b = Builder::new("random");
        let mut values = vec![];
        for i in 0..100 {
            values.push(b.input(format!("x{i}"), Shape::scalar()).expect("an input"));
        }
        let half = b.constant_f64(0.5).expect("a constant");
        while values.len() < n {
            let pick = |rng: &mut Normal, values: &[crease_core::Atom]| {
                values[values.len() - 1 - rng.below(values.len().min(500))]
            };
            let (x, y) = (pick(&mut rng, &values), pick(&mut rng, &values));
            let v = match rng.below(4) {
                0 => b.push1(Op::Add, &[x, y]),
                1 => b.push1(Op::Sub, &[x, y]),
                2 => b.push1(Op::Mul, &[x, half]),
                _ => b.max(&[x, y]),
            };
            values.push(v.expect("an equation"));
        }
        // all that is left over takes part
        let last = b.max(&values[n - 500..]).expect("an equation");
        let p = b.finish(&[last]).expect("a program");
        let options = Options::default().arithmetic(Arithmetic::Ieee);
        let begin = Instant::now();
        let value = compile::<f64>(&p, &options).expect("compiles");
        let tc = begin.elapsed().as_secs_f64() * 1e3;
        let begin = Instant::now();
        let gradient = value_and_grad::<f64>(&p, &[], &options).expect("compiles");
        let tg = begin.elapsed().as_secs_f64() * 1e3;
        let x: Vec<[f64; 1]> = (0..100).map(|i| [f64::from(i) / 7.0 - 5.0]).collect();
        let inputs: Vec<&[f64]> = x.iter().map(|x| &x[..]).collect();
        let (mut y, mut g) = ([0.0], vec![[0.0]; 101]);
        let mut w = value.workspace();
        let tv = least(|| value.run(&mut w, &inputs, &mut [&mut y]).expect("runs"));
        let mut w = gradient.workspace();
        let mut outs: Vec<&mut [f64]> = g.iter_mut().map(|g| &mut g[..]).collect();
        let tr = least(|| gradient.run(&mut w, &inputs, &mut outs).expect("runs"));
        println!(
            "{:<28} {tv:>9.1} {tr:>9.1} {:>6.2}  compiled in {tc:.1} and {tg:.1} ms",
            format!("scalar equations: {n}"),
            tr / tv
        );
    }
}

/// p directional derivatives at 0 of Theorem 3's function, beside three products of matrices.
fn directional_rows(t: &Table) {
    for p in [64usize, 256, 512] {
        let mut rng = Normal::new(3);
        let (b, m, a) = (rng.normals(p * p, 1.0), rng.normals(p * p, 1.0), rng.normals(p * p, 1.0));
        let x = vec![0.0; p];
        let program = crease_corpus::paper::theorem_3(p);
        let options = Options::default().arithmetic(Arithmetic::Ieee);
        let begin = Instant::now();
        let value = compile::<f64>(&program, &options).expect("compiles");
        let all = directional::<f64>(&program, &[0], p, &options).expect("compiles");
        let compiled = begin.elapsed().as_secs_f64() * 1e3;
        if t.explain {
            println!("{}", all.explain());
        }
        let products = three_products(p);
        let three = compile::<f64>(&products, &options).expect("compiles");
        let (mut wv, mut wa, mut w3) = (value.workspace(), all.workspace(), three.workspace());
        let (mut y, mut d, mut z) = ([0.0], vec![0.0; p], vec![0.0; p * p]);
        let tv = least(|| value.run(&mut wv, &[&x, &b, &m], &mut [&mut y]).expect("runs"));
        let u = crease_corpus::paper::hadamard(p);
        let td = least(|| all.run(&mut wa, &[&x, &b, &m, &a], &mut [&mut y, &mut d]).expect("runs"));
        let tf = least(|| three.run(&mut w3, &[&a, &m, &b, &u], &mut [&mut z]).expect("runs"));
        // F'(0; d) = F(d), since F is positively homogeneous
        let mut worst = 0.0f64;
        for (direction, d) in a.chunks_exact(p).zip(&d) {
            value.run(&mut wv, &[direction, &b, &m], &mut [&mut y]).expect("runs");
            worst = worst.max((y[0] - d).abs() / y[0].abs());
        }
        let agree = if worst < 1e-12 { "ok".into() } else { format!("OFF BY {worst:.1e}") };
        let peers = match p {
            256 => "by hand 2,067; ADOL-C 39,280",
            512 => "by hand 16,640; floor 15,400",
            _ => "",
        };
        println!(
            "{:<28} {tv:>9.1} {td:>9.1} {:>6.2} {:>8} {tf:>9.1} {compiled:>8.1}  {agree:<6} {peers}",
            format!("D theorem 3, p = {p}"),
            td / tf,
            "/ three",
        );
    }
}

/// a M' B U', by rows: what the directional derivatives need at least.
fn three_products(p: usize) -> Program {
    use crease_core::{Builder, Op, Shape};
    let build = || {
        let mut b = Builder::new("three");
        let square = Shape::new([p, p])?;
        let a = b.input("a", square.clone())?;
        let m = b.input("m", square.clone())?;
        let bb = b.input("b", square.clone())?;
        let u = b.input("u", square)?;
        let mut product = |x, y, t| b.push1(Op::MatMul { transpose_a: false, transpose_b: t }, &[x, y]);
        let z = product(a, m, true)?;
        let z = product(z, bb, false)?;
        let z = product(z, u, true)?;
        b.finish(&[z])
    };
    build().expect("builds")
}

fn cnn_rows(t: &Table) {
    for (name, batch, peers) in
        [("E cnn f32, batch 1", 1, "torch 67 / 300"), ("E cnn f32, batch 64", 64, "torch 3,936 / 6,094; floor 1,050")]
    {
        let mut rng = Normal::new(1);
        let mut point: Vec<Vec<f32>> = Vec::new();
        for (n, scale) in [(72, 0.3), (8, 0.0), (1152, 0.15), (16, 0.0), (7840, 0.05), (10, 0.0), (batch * 784, 1.0)] {
            point.push(floats(&rng.normals(n, scale)));
        }
        point.push(floats(&data::labels(&mut rng, batch, 10)));
        let program = programs::cnn(batch).expect("builds");
        // the interpreter's answer stands in for code by hand
        let derived = backprop(&program, &Options::default().how).expect("differentiates");
        let tensors: Vec<crease_core::Tensor<f32>> = program
            .inputs()
            .iter()
            .zip(&point)
            .filter_map(|(i, x)| crease_core::Tensor::new(i.shape.clone(), x.clone()))
            .collect();
        let expected = crease_core::run(&derived, &tensors).expect("runs");
        let mut floor = |_: usize, out: &mut Vec<Vec<f32>>| {
            out.iter_mut().zip(&expected[1..]).for_each(|(o, e)| o.copy_from_slice(e.data()));
            expected[0].data()[0]
        };
        t.row(Row {
            name,
            program,
            wrt: (0..6).collect(),
            points: vec![point],
            floor: &mut floor,
            tolerance: 1e-4,
            peers,
        });
    }
}
