//! Optimisation algorithms, unrolled: k turns of a loop around a step.

use crease::Error;
use crease_core::op::Op;
use crease_core::{Atom, BuildError, Builder, Program, Rational, Shape};
use std::sync::Arc;

/// The objective after `steps` turns of a step.
///
/// The step takes a state and any parameters and returns the next state; the objective takes a state and the same parameters and
/// returns a number. What leaves takes the first state and the parameters, so it can be called, and differentiated, as one part of a larger
/// program.
///
/// ```
/// use crease::{formats::parse, run, Tensor};
/// use crease_paper::experiments::beyond::unrolled;
/// let program = |text: &str| parse(text).unwrap().main().clone();
/// // Newton's method for the square root of a
/// let step = program("program newton(z, a) = (z + a / z) / 2");
/// let value = program("program value(z, a) = z");
/// let root = unrolled(&step, 5, &value)?;
/// let out = run(&root, &[Tensor::scalar(1.0), Tensor::scalar(2.0)])?;
/// assert!((out[0].data()[0] - 2f64.sqrt()).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn unrolled(step: &Arc<Program>, steps: usize, objective: &Arc<Program>) -> Result<Program, Error> {
    check_step(step, objective)?;
    let mut b = Builder::new(format!("{}_{steps}_{}", objective.name(), step.name()));
    let mut args = declare(&mut b, step)?;
    args[0] = repeat(&mut b, step, steps, &args)?;
    let objective = b.callee(objective.clone(), None)?;
    let value = b.push1(Op::Call(objective), &args)?;
    Ok(b.finish(&[value])?)
}

/// The state after some turns of a step. The first of the arguments is the state.
pub(super) fn repeat(b: &mut Builder, step: &Arc<Program>, steps: usize, args: &[Atom]) -> Result<Atom, BuildError> {
    match steps {
        0 => Ok(args[0]),
        _ => Ok(b.repeat(step, steps, &args[..1], &args[1..])?[0]),
    }
}

/// Declares the inputs of a program.
pub(super) fn declare(b: &mut Builder, p: &Program) -> Result<Vec<Atom>, BuildError> {
    p.inputs().iter().map(|i| b.input(i.name.clone(), i.shape.clone())).collect()
}

pub(super) fn input_shapes(p: &Program) -> Vec<Shape> {
    p.inputs().iter().map(|i| i.shape.clone()).collect()
}

pub(super) fn output_shapes(p: &Program) -> Vec<Shape> {
    p.outputs().iter().map(|&o| p.atom_shape(o)).collect()
}

/// Refuses a step that does not return a state, and an objective that does not fit it.
pub(super) fn check_step(step: &Program, objective: &Program) -> Result<(), Error> {
    let inputs = input_shapes(step);
    if output_shapes(step) != inputs[..inputs.len().min(1)] {
        return Err(Error::Parameter {
            what: "the step",
            expected: "a program that returns the next value of its first input, in the same shape",
            got: format!("outputs of shapes {:?} from inputs of shapes {inputs:?}", output_shapes(step)),
        });
    }
    check_objective(objective, &inputs)
}

/// Refuses an objective that is no scalar, or takes other inputs.
pub(super) fn check_objective(objective: &Program, inputs: &[Shape]) -> Result<(), Error> {
    if output_shapes(objective) != [Shape::scalar()] || input_shapes(objective) != inputs {
        return Err(Error::Parameter {
            what: "the objective",
            expected: "a program of the state and all parameters that returns one number",
            got: format!(
                "{:?} from {:?}, expected inputs {inputs:?}",
                output_shapes(objective),
                input_shapes(objective)
            ),
        });
    }
    Ok(())
}

/// A step of proximal gradient descent (ISTA) for the weighted lasso, min over w of |A w - b|²/2 + Σ λ_i |w_i|: inputs `w[n]` and the
/// weights `lambda[n]`, output the next `w`. The rows of A and the entries of b are constants.
///
/// ```
/// use crease::{Rational, Tensor, run};
/// use crease_paper::experiments::beyond::ista_step;
/// let q = |n: i64| Rational::from(n);
/// // with A = 1 and step 1 the solution is reached at once: soft-thresholding of b
/// let step = ista_step(&[vec![q(1), q(0)], vec![q(0), q(1)]], &[q(3), q(-1)], &q(1))?;
/// let at = |v: [i64; 2]| Tensor::vector(v.map(q).to_vec()).unwrap();
/// assert_eq!(run(&step, &[at([7, 7]), at([2, 2])])?[0].to_string(), "[1, 0]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn ista_step(rows: &[Vec<Rational>], targets: &[Rational], step: &Rational) -> Result<Program, Error> {
    let n = rows.first().map_or(0, Vec::len);
    if let Some(short) = rows.iter().find(|r| r.len() != n) {
        return Err(Error::Length { what: "a row of A", expected: n, got: short.len() });
    }
    if targets.len() != rows.len() {
        return Err(Error::Length { what: "b", expected: rows.len(), got: targets.len() });
    }
    let mut b = Builder::new("ista");
    let shape = Shape::new([n])?;
    let w = b.input("w", shape.clone())?;
    let lambda = b.input("lambda", shape.clone())?;
    let unit = Shape::new([1])?;
    let vector = |b: &mut Builder, numbers: &mut dyn Iterator<Item = Rational>| {
        let part = |c: Rational| {
            let c = b.constant(c);
            b.broadcast(c, &unit)
        };
        let parts = numbers.map(part).collect::<Result<Vec<Atom>, BuildError>>()?;
        b.concat(&parts, 0)
    };
    // exact constants, so that the step is exact in rationals
    let flat = vector(&mut b, &mut rows.iter().flatten().cloned())?;
    let matrix = b.reshape(flat, &Shape::new([rows.len(), n])?)?;
    let b_vector = vector(&mut b, &mut targets.iter().cloned())?;
    let tau = b.constant(step.clone());
    let aw = b.matmul(matrix, w)?;
    let residual = b.sub(aw, b_vector)?;
    let transposed = b.transpose(matrix, &[1, 0])?;
    let descent = b.matmul(transposed, residual)?;
    let scaled = b.mul(tau, descent)?;
    let moved = b.sub(w, scaled)?;
    let threshold = b.mul(tau, lambda)?;
    // soft-thresholding: relu(v - c) - relu(-v - c)
    let above = b.sub(moved, threshold)?;
    let up = b.relu(above)?;
    let sum = b.add(moved, threshold)?;
    let below = b.neg(sum)?;
    let down = b.relu(below)?;
    let next = b.sub(up, down)?;
    Ok(b.finish(&[next])?)
}
