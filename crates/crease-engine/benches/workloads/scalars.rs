//! Scalar programs without any regularity: what compilation and runs take in the worst case.

use crate::data::Normal;
use crate::report::{Derivative, Report, Row, What};
use crease_core::{Atom, BuildError, Builder, Op, Program, Shape};

const INPUTS: usize = 100;

/// n equations, each an addition, a subtraction, a halving or a maximum of some of the 500 before it.
fn program(n: usize) -> Result<Program, BuildError> {
    let mut rng = Normal::new(4);
    let mut b = Builder::new("random");
    let mut values: Vec<Atom> =
        (0..INPUTS).map(|i| b.input(format!("x{i}"), Shape::scalar())).collect::<Result<_, _>>()?;
    let half = b.constant_f64(0.5)?;
    while values.len() < n {
        let mut pick = || values[values.len() - 1 - rng.below(values.len().min(500))];
        let (x, y) = (pick(), pick());
        values.push(match rng.below(4) {
            0 => b.push1(Op::Add, &[x, y])?,
            1 => b.push1(Op::Sub, &[x, y])?,
            2 => b.push1(Op::Mul, &[x, half])?,
            _ => b.max(&[x, y])?,
        });
    }
    // all that is left over takes part
    let last = b.max(&values[n - 500..])?;
    b.finish(&[last])
}

pub fn random(r: &Report, what: What, n: usize) {
    if !r.wants(what) {
        return;
    }
    r.row(Row {
        what,
        program: program(n).expect("builds"),
        derivative: Derivative::Gradient((0..INPUTS).collect()),
        points: vec![(0..INPUTS).map(|i| vec![i as f64 / 7.0 - 5.0]).collect()],
        by_hand: None,
        tolerance: 0.0,
        joined: true,
    });
}
