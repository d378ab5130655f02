//! Random programs, points and formulas, from a seed.

use crease::reductions::Cnf;
use crease_core::random::SplitMix64;
use crease_core::{BuildError, Program, Rational, Tensor, Var, exp, inv, log, relu, trace};

/// A random program over D0 = {+, -, relu}: so many inputs and about as many operations as asked for, and one output. Now and then it
/// goes through relu(y) - relu(-y), so that it may be differentiable all the same.
pub fn d0(inputs: usize, operations: usize, random: &mut SplitMix64) -> Result<Program, BuildError> {
    grown(inputs, operations, random, |op, a, b| match op {
        0 | 1 => a + b,
        2 | 3 => a - b,
        // the identity, with two kinks
        4 => relu(a) - relu(-a),
        _ => relu(a),
    })
}

/// A random ReLU program: all operations of the dictionary. It is meant to be costed: run, it may leave the domain of log.
pub fn relu_program(inputs: usize, operations: usize, random: &mut SplitMix64) -> Result<Program, BuildError> {
    grown(inputs, operations, random, |op, a, b| match op {
        0 => a + b,
        1 => a * b,
        2 => relu(a),
        3 => exp(a),
        4 => log(a),
        5 => inv(a),
        6 => a * 3.0,
        _ => a + 0.5,
    })
}

/// A random program over {+, -, x, xc, +c, relu}, which is exact in rationals.
pub fn rational_program(inputs: usize, operations: usize, random: &mut SplitMix64) -> Result<Program, BuildError> {
    grown(inputs, operations, random, |op, a, b| match op {
        0 => a + b,
        1 => a - b,
        2 | 3 => relu(a),
        4 => a * 2.0,
        5 => relu(a - b),
        _ => a + b * 0.5,
    })
}

/// A program grown by an operation that is drawn each time, on operands that are recent rather than old.
fn grown(
    inputs: usize,
    operations: usize,
    random: &mut SplitMix64,
    apply: impl for<'t> Fn(u64, Var<'t>, Var<'t>) -> Var<'t>,
) -> Result<Program, BuildError> {
    let draws: Vec<[u64; 3]> = (0..operations).map(|_| [random.bits(), random.bits(), random.bits()]).collect();
    trace(inputs, |x| {
        let mut values = x.to_vec();
        for [op, a, b] in &draws {
            let recent = |r: &u64| values[values.len() - 1 - (*r as usize) % values.len().min(inputs + 4)];
            let next = apply(op % 8, recent(a), recent(b));
            values.push(next);
        }
        // a sum of the last few, so that little is lost
        let first = values.len().saturating_sub(3);
        values[first..].iter().copied().reduce(|a, b| a + b).unwrap_or(x[0])
    })
}

/// A point with small integer coordinates: programs meet their kinks there.
pub fn integers(p: &Program, size: u64, random: &mut SplitMix64) -> Vec<Tensor<Rational>> {
    filled(p, || Rational::from(random.below(2 * size + 1) as i64 - size as i64))
}

/// A point in general position, with coordinates between -1 and 1.
pub fn generic(p: &Program, random: &mut SplitMix64) -> Vec<Tensor<Rational>> {
    let odd = 1_000_003;
    filled(p, || Rational::new(random.below(2 * odd) as i64 - odd as i64, odd as i64).unwrap_or_default())
}

fn filled(p: &Program, mut draw: impl FnMut() -> Rational) -> Vec<Tensor<Rational>> {
    let tensor = |shape: &crease_core::Shape, draw: &mut dyn FnMut() -> Rational| {
        Tensor::new(shape.clone(), (0..shape.len()).map(|_| draw()).collect()).unwrap_or_else(|| Tensor::scalar(draw()))
    };
    p.inputs().iter().map(|i| tensor(&i.shape, &mut draw)).collect()
}

/// A random formula of clauses with three distinct variables.
pub fn formula(variables: usize, clauses: usize, random: &mut SplitMix64) -> Cnf {
    let clause = |random: &mut SplitMix64| {
        let mut chosen: Vec<i32> = Vec::new();
        while chosen.len() < 3 {
            let v = random.below(variables as u64) as i32 + 1;
            if !chosen.iter().any(|l| l.abs() == v) {
                chosen.push(if random.below(2) == 0 { v } else { -v });
            }
        }
        chosen
    };
    Cnf { variables, clauses: (0..clauses).map(|_| clause(random)).collect() }
}

/// Whether a formula is satisfiable, by trying every assignment.
pub fn satisfiable(cnf: &Cnf) -> bool {
    (0u32..1 << cnf.variables)
        .any(|bits| cnf.satisfied_by(&(0..cnf.variables).map(|i| bits >> i & 1 == 1).collect::<Vec<_>>()).is_ok())
}
