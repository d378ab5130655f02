//! A program of 10^6 equations with 1,000 active kinks: seconds for the local model and for the oracles, next to one backward pass
//! of the interpreter.

use crease_core::differentiate::{How, backprop};
use crease_core::local::localize;
use crease_core::number::Rational;
use crease_core::{Program, Tensor, relu, run, trace};
use crease_oracles::{Session, clarke_element, conservative, directional};
use std::time::Instant;

/// Four equations for each step: rounds over the inputs, in which one relu of 250 is tied at the origin, one of four is off, and
/// the others pass their derivatives on.
fn program(inputs: usize, equations: usize) -> Program {
    let build = trace(inputs, |x| {
        // variables and their values at the origin
        let mut state: Vec<_> = x.iter().map(|&x| (x, 0)).collect();
        let mut sum = x[0];
        for i in 0..equations / 4 {
            let (k, l) = (i % inputs, (i * 7 + 1) % inputs);
            let distance = if i % 250 == 0 { 0 } else { [1, 1, -1, 1][i % 4] };
            let (from, value) = state[l];
            state[k] = (x[k] - relu(from - f64::from(value - distance)), -distance.max(0));
            sum = sum + state[k].0;
        }
        sum
    });
    build.unwrap()
}

fn timed<T>(name: &str, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let out = f();
    println!("| {name} | {:.3} |", start.elapsed().as_secs_f64());
    out
}

fn main() {
    for (inputs, equations) in [(100, 1_000_000), (10_000, 1_000_000)] {
        let p = program(inputs, equations);
        println!("\n{inputs} inputs, {} equations\n\n| step | seconds |\n| --- | ---: |", p.len());
        let floats = vec![Tensor::scalar(0.0); inputs];
        let at = vec![Tensor::scalar(Rational::ZERO); inputs];
        timed("run, f64", || run(&p, &floats).unwrap());
        let backward = timed("making the derivative program", || backprop(&p, &How::default()).unwrap());
        timed("backward pass, f64", || run(&backward, &floats).unwrap());
        timed("backward pass, rationals", || run(&backward, &at).unwrap());
        let model = timed("localize", || localize(&p, &at).unwrap());
        timed("directional", || directional(&model, &vec![Rational::ONE; inputs]).unwrap());
        let element = timed("clarke", || clarke_element(&model, 0, 1).unwrap());
        let several = timed("conservative, randomized test", || Session::new(&model, 0).several_in_field(1).unwrap());
        let set = timed("conservative, with elements and bounds", || conservative(&model, 0).unwrap());
        println!(
            "\n{} nodes, {} active kinks; clarke: {} attempts, {} equal, proved {}; several: {several}, proved {}",
            model.len(),
            model.kinks().len(),
            element.attempts,
            element.equal,
            element.proved,
            set.proved
        );
    }
}
