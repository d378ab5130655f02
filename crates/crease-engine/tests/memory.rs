//! The memory that a plan lays out, against the most that is alive at once in it: for the programs of the benchmark and for random
//! ones, values and gradients.

#[allow(dead_code)]
#[path = "../benches/workloads/data.rs"]
mod data;
#[allow(dead_code)]
#[path = "../benches/workloads/programs.rs"]
mod programs;

use crease_core::Program;
use crease_corpus::random::{Rng, any_options, program};
use crease_engine::{Agreement, Explain, Form, Options, compile, directional, value_and_grad};

/// The numbers of memory, and those alive at once, as the compiler reports them.
fn sizes(said: &Explain) -> (usize, usize) {
    let line = said.lines().iter().find(|l| l.starts_with("tensor code")).expect("tensor code");
    let before = |what: &str| {
        let (head, _) = line.split_once(what).expect("the size");
        head.rsplit(' ').next().and_then(|n| n.parse::<usize>().ok()).expect("a number")
    };
    (before(" numbers of memory"), before(" alive at once"))
}

/// Buffers below 16 numbers lie as they come; what is longer begins where a register does. That much more is allowed to programs
/// that need next to nothing.
const PADDING: usize = 256;

fn check(what: &str, said: &Explain) -> (usize, usize) {
    let (memory, alive) = sizes(said);
    assert!(memory >= alive, "{what}: {memory} for {alive}");
    assert!(2 * memory <= 3 * alive + PADDING, "{what}: {memory} for {alive}");
    (memory, alive)
}

#[test]
fn workloads_take_at_most_half_again_of_what_is_alive() {
    let n = 10_000;
    let rows: Vec<(&str, Program)> = vec![
        ("A", programs::sat_tensors(&data::sat(250, 1065)).unwrap()),
        ("B", programs::mlp(1).unwrap()),
        ("B'", programs::mlp(64).unwrap()),
        ("C l1", programs::of_vector(n, |b, x| b.norm1(x)).unwrap()),
        ("C linf", programs::of_vector(n, |b, x| b.norminf(x)).unwrap()),
        ("C max-linear", programs::max_linear(10, n).unwrap()),
        ("C'", programs::of_vector(n, |b, x| b.median(x)).unwrap()),
        ("E", programs::cnn(1).unwrap()),
        ("E, batch 8", programs::cnn(8).unwrap()),
        ("F", programs::gmm(10, 25, 200).unwrap()),
    ];
    for agreement in [Agreement::Bits, Agreement::Rounding] {
        let options = Options::default().form(Form::Tensors).agreement(agreement);
        for (name, p) in &rows {
            check(name, compile::<f64>(p, &options).unwrap().explain());
            check(name, value_and_grad::<f64>(p, &[], &options).unwrap().explain());
        }
        let p = crease_corpus::paper::theorem_3(64);
        check("D", directional::<f64>(&p, &[0], 64, &options).unwrap().explain());
    }
}

#[test]
fn random_programs_take_at_most_half_again_of_what_is_alive() {
    let mut rng = Rng::new(31);
    let (mut memory, mut alive) = (0, 0);
    for round in 0..300 {
        let size = 5 + rng.below(60);
        let grown = any_options(&mut rng, size).one_output().tensors();
        let p = program(&mut rng, &grown);
        for agreement in [Agreement::Bits, Agreement::Rounding] {
            let options = Options::default().form(Form::Tensors).agreement(agreement);
            for said in [
                compile::<f64>(&p, &options).unwrap().explain().clone(),
                value_and_grad::<f64>(&p, &[], &options).unwrap().explain().clone(),
            ] {
                let (m, a) = check(&format!("round {round}"), &said);
                (memory, alive) = (memory + m, alive + a);
            }
        }
    }
    assert!(5 * memory <= 6 * alive, "{memory} for {alive} in all");
}
