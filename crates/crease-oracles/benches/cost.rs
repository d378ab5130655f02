//! Counted cost of one Clarke subgradient over the cost of the program, as the number of inputs grows and the cost for each input
//! stays: it stays constant. That of a lexicographic derivative by vector forward mode grows with the number of inputs.

use crease_core::cost::{Prices, cost};
use crease_core::local::localize;
use crease_core::number::Rational;
use crease_core::{Program, Shape, Tensor, abs, relu, trace_shapes};
use crease_oracles::{SweepCost, clarke_element, identity, lexicographic_forward};

/// Ten operations for each input, three of them kinks that are active at 0: a chain that couples neighbours.
fn program(n: usize) -> Program {
    let build = trace_shapes(&[Shape::vector(n).unwrap()], |x| {
        let element = |i: usize| x[0].at(&[i]);
        let mut sum = element(0);
        for i in 0..n {
            let (a, b) = (element(i), element((i + 1) % n));
            let folded = abs(a * 3.0 - relu(b)) * 2.0 - a;
            sum = sum + relu(folded - b) + folded * 0.5;
        }
        vec![sum]
    });
    build.unwrap()
}

fn main() {
    let unit = Prices::unit();
    println!(
        "All prices 1. clarke and lexicographic count the values, cost(P), and the sweeps over the local model.\n"
    );
    println!("| inputs | cost(P) | kinks | attempts | clarke | clarke / P | vector forward | vector forward / P |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for n in [10, 30, 100, 300, 1000, 3000, 10_000] {
        let p = program(n);
        let base = cost(&p).at(&unit).to_f64();
        let model = localize(&p, &[Tensor::vector(vec![Rational::ZERO; n]).unwrap()]).unwrap();
        let element = clarke_element(&model, 0, 1).unwrap();
        let clarke = base + element.operations.total() as f64;
        // counted; run as well while that is quick
        let sweeps = SweepCost::of(&model).with_forward_sweeps(n as u64).total();
        if n <= 300 {
            assert_eq!(lexicographic_forward(&model, 0, &identity(n)).unwrap().operations, sweeps);
        }
        let forward = base + sweeps as f64;
        println!(
            "| {n} | {base} | {} | {} | {clarke} | {:.2} | {forward} | {:.0} |",
            model.kinks().len(),
            element.attempts,
            clarke / base,
            forward / base
        );
    }
}
