//! How the ground floor scales: a scalar program of 10^6 equations from text to gradient, and deep nesting.
//!
//! `cargo bench -p crease --bench scale` prints seconds and the peak memory so far. Nothing is asserted about time.

use crease::cost::{Prices, cost};
use crease::differentiate::overhead;
use crease::differentiate::{How, Mode, Technique, backprop};
use crease::{Builder, Op, Program, Rational, Shape, Tensor, inline, run, simplify};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

const EQUATIONS: usize = 1_000_000;
const DEPTH: usize = 100_000;

/// A text of one program: sums, products, differences and relus of earlier values, numbers kept small.
fn source(equations: usize) -> String {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = move |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    let inputs = 100;
    let names: Vec<String> = (0..inputs).map(|i| format!("x{i}")).collect();
    let mut text = format!("program big({}) {{\n", names.join(", "));
    for i in 0..equations {
        let mut name = || {
            let back = 1 + below((i + inputs).min(500));
            match (i + inputs - back).checked_sub(inputs) {
                Some(k) => format!("v{k}"),
                None => names[i + inputs - back].clone(),
            }
        };
        let (a, b) = (name(), name());
        let _ = match i % 5 {
            0 => writeln!(text, "  let v{i} = {a} - {b}"),
            1 => writeln!(text, "  let v{i} = relu({a})"),
            2 => writeln!(text, "  let v{i} = {a} * 0.5"),
            3 => writeln!(text, "  let v{i} = {a} + {b}"),
            _ => writeln!(text, "  let v{i} = tanh({a})"),
        };
    }
    let _ = writeln!(text, "  return v{}\n}}", equations - 1);
    text
}

fn peak_megabytes() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|p| p.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.map_or("?".into(), |k| format!("{:.0}", k / 1024.0))
}

fn timed<T>(what: &str, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let out = f();
    println!("{what:44} {:8.3} s   peak {:>5} MB", start.elapsed().as_secs_f64(), peak_megabytes());
    out
}

/// A chain of programs, each of which calls the one before it.
fn chain(depth: usize) -> Program {
    let mut last: Option<Arc<Program>> = None;
    for i in 0..depth {
        let mut b = Builder::new(format!("f{i}"));
        let x = b.input("x", Shape::scalar()).expect("an input");
        let y = match last.take() {
            None => b.relu(x),
            Some(p) => b.callee(p, None).and_then(|id| b.push1(Op::Call(id), &[x])),
        };
        let one = b.constant(1);
        let out = y.and_then(|y| b.push1(Op::Add, &[y, one])).expect("an equation");
        last = Some(Arc::new(b.finish(&[out]).expect("a program")));
    }
    Arc::unwrap_or_clone(last.expect("at least one program"))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{EQUATIONS} scalar equations");
    let text = source(EQUATIONS);
    let module = timed("parse", || crease::formats::parse(&text))?;
    let p = module.main();
    timed("verify", || assert!(p.verify().is_empty()));
    let price = timed("cost", || cost(p));
    let how = How::default();
    let d = timed("backprop", || backprop(p, &how))?;
    let counted = timed("cost of the gradient", || cost(&d));
    let model = timed("Theorem 2", || overhead(p, &how, Mode::Backward, &Prices::unit()))?;
    let simpler = timed("simplify the gradient", || simplify(&d))?;
    let at: Vec<Tensor<f64>> = (0..100).map(|i| Tensor::scalar(f64::from(i) / 100.0)).collect();
    timed("run the program in f64", || run(p, &at))?;
    timed("run the gradient in f64", || run(&d, &at))?;
    timed("print the gradient", || d.to_string().len());
    let unit = |c: crease::cost::Price| c.at(&Prices::unit()).to_f64();
    println!(
        "cost {} · gradient {} counted, {} simplified, {} by Theorem 2",
        unit(price),
        unit(counted),
        unit(cost(&simpler)),
        unit(model.model)
    );

    println!("\n{DEPTH} nested calls");
    let deep = timed("build", || chain(DEPTH));
    timed("level", || assert_eq!(deep.level(), DEPTH));
    timed("cost", || cost(&deep));
    timed("inline", || inline(&deep))?;
    timed("run exactly", || run(&deep, &[Tensor::scalar(Rational::ONE)]))?;
    timed("backprop through", || backprop(&deep, &how))?;
    let inside = How::default().technique(Technique::Backward);
    timed("backprop inside every call", || backprop(&deep, &inside))?;
    timed("drop", || drop(deep));
    Ok(())
}
