//! What the tests share: random formulas and points, and short ways to run programs exactly.

use crease::formats::Cnf;
use crease::{Program, Rational, Tensor, run};
use crease_core::random::SplitMix64;

/// A number below `n`.
pub fn below(random: &mut SplitMix64, n: usize) -> usize {
    random.below(n as u64) as usize
}

/// An integer from `-n` to `n`.
pub fn within(random: &mut SplitMix64, n: i64) -> i64 {
    random.below(2 * n as u64 + 1) as i64 - n
}

/// A random formula: `length` draws the number of literals of each clause. Literals may repeat and contradict each other.
pub fn formula(
    random: &mut SplitMix64,
    variables: usize,
    clauses: usize,
    length: impl Fn(&mut SplitMix64) -> usize,
) -> Cnf {
    let clause = |random: &mut SplitMix64| -> Vec<i32> {
        let literals = if variables == 0 { 0 } else { length(random) };
        let literal = |random: &mut SplitMix64| {
            let variable = 1 + below(random, variables) as i32;
            if random.below(2) == 0 { variable } else { -variable }
        };
        (0..literals).map(|_| literal(random)).collect()
    };
    Cnf { variables, clauses: (0..clauses).map(|_| clause(random)).collect() }
}

/// The value of a program with scalar inputs.
pub fn value(p: &Program, at: &[Rational]) -> Rational {
    let inputs: Vec<Tensor<Rational>> = at.iter().map(|x| Tensor::scalar(x.clone())).collect();
    run(p, &inputs).unwrap()[0].data()[0].clone()
}

pub fn integers(xs: &[i64]) -> Vec<Rational> {
    xs.iter().map(|&x| Rational::from(x)).collect()
}

/// All assignments of some variables.
pub fn assignments(variables: usize) -> impl Iterator<Item = Vec<bool>> {
    (0..1usize << variables).map(move |bits| (0..variables).map(|i| bits >> i & 1 == 1).collect())
}

/// The point of an assignment: 1 for true, -1 for false. A formula without variables has one input all the same.
pub fn signs(model: &[bool]) -> Vec<Rational> {
    let mut at: Vec<Rational> = model.iter().map(|&b| Rational::from(if b { 1 } else { -1 })).collect();
    if at.is_empty() {
        at.push(Rational::ONE);
    }
    at
}

pub fn satisfiable(cnf: &Cnf) -> bool {
    assignments(cnf.variables).any(|model| cnf.satisfied_by(&model).is_ok())
}
