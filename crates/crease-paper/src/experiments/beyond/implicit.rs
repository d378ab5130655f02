//! Functions of the solution of equations, with the joint program that the implicit function theorem gives.
//!
//! Let z(θ) solve R(z, θ) = 0 and F(θ) = L(z(θ), θ). If λ solves (∂R/∂z)ᵀ λ = ∂L/∂z, the derivative of F is ∂L/∂θ - (∂R/∂θ)ᵀ λ: one linear
//! system, and no derivative of the solver. With kinks in R or L the same formula, with elements of conservative
//! Jacobians, gives an element of a conservative gradient wherever all matrices in the conservative Jacobian by z are regular (Bolte, Le,
//! Pauwels, Silveti-Falls 2021).
//!
//! What leaves is a [`Callee`]: the program, and the joint program beside it. [`Technique::Joint`](crease::Technique) uses the latter,
//! [`Technique::Through`](crease::Technique) differentiates the solver instead.

use super::elimination::elimination;
use super::unrolled::{check_objective, check_step, declare, input_shapes, output_shapes, repeat};
use crease::Error;
use crease_core::differentiate::{How, backprop, vjp};
use crease_core::op::Op;
use crease_core::{Atom, BuildError, Builder, Callee, Program, Rational, Shape, inline, simplify, trace_shapes};
use std::sync::Arc;

/// An objective of the solution of equations.
///
/// - `solver`: from the parameters to z, a vector;
/// - `residual`: from z and the parameters to R, a vector of the same size, zero at the solution;
/// - `jacobian`: from z and the parameters to ∂R/∂z, a square matrix (see [`jacobian`](crease::differentiate::jacobian) if none is known);
/// - `objective`: from z and the parameters to a number.
///
/// In the joint program the linear system is solved by [`elimination`], so its pivots must not vanish. Kinks of the residual and of the
/// objective are treated as `how` says.
///
/// ```
/// use crease::{formats::parse, run, How, Tensor};
/// use crease_paper::experiments::beyond::implicit;
/// let program = |text: &str| parse(text).unwrap().main().clone();
/// // z = cbrt(a), without the derivative of a cube root
/// let solver = program("program root(a[1]) = exp(log(a) / 3)");
/// let residual = program("program cube(z[1], a[1]) = z^3 - a");
/// let slope = program("program slope(z[1], a[1]) = reshape(3 * z^2, [1, 1])");
/// let value = program("program value(z[1], a[1]) = sum(z)");
/// let callee = implicit(&solver, &residual, &slope, &value, &How::default())?;
/// let out = run(callee.joint.as_ref().unwrap(), &[Tensor::vector(vec![8f64])?])?;
/// assert!((out[0].data()[0] - 2.0).abs() < 1e-12 && (out[1].data()[0] - 1.0 / 12.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn implicit(
    solver: &Arc<Program>,
    residual: &Arc<Program>,
    jacobian: &Arc<Program>,
    objective: &Arc<Program>,
    how: &How,
) -> Result<Callee, Error> {
    let unknowns = check(solver, residual, jacobian, objective)?;
    let program = {
        let mut b = Builder::new(format!("{}_{}", objective.name(), solver.name()));
        let mut args = declare(&mut b, solver)?;
        let z = call(&mut b, solver, &args)?[0];
        args.insert(0, z);
        let value = call(&mut b, objective, &args)?[0];
        b.finish(&[value])?
    };
    let mut b = Builder::new(format!("joint_{}", program.name()));
    let mut args = declare(&mut b, solver)?;
    let z = call(&mut b, solver, &args)?[0];
    args.insert(0, z);
    let derived = backprop(objective, how)?;
    // value, ∂L/∂z, ∂L/∂θ
    let outer = b.splice(&derived, &args)?;
    let matrix = call(&mut b, jacobian, &args)?[0];
    let transposed = b.transpose(matrix, &[1, 0])?;
    // -λ, for there are fewer numbers in it than in what follows from it
    let right = b.neg(outer[1])?;
    let lambda = call(&mut b, &Arc::new(elimination(unknowns)?), &[transposed, right])?[0];
    // R, -(∂R/∂z)ᵀ λ, -(∂R/∂θ)ᵀ λ
    args.push(lambda);
    let pulled = b.splice(&vjp(residual, how)?, &args)?;
    let mut outputs = vec![outer[0]];
    outputs.extend(sums(&mut b, &derived, &outer, &pulled)?);
    finish(program, b, outputs)
}

/// An objective of the solution of A z = b, as a function of A and b, both solved by [`elimination`]: the objective takes `z[n]`,
/// `A[n,n]` and `b[n]`.
///
/// ```
/// use crease::{formats::parse, run, Rational, Shape, Tensor};
/// use crease_paper::experiments::beyond::linear_system;
/// let sum = parse("program first(z[2], A[2,2], b[2]) = z[0]").unwrap().main().clone();
/// let callee = linear_system(&sum)?;
/// let q = |n: i64| Rational::from(n);
/// let a = Tensor::new(Shape::new([2, 2])?, vec![q(2), q(0), q(0), q(4)]).unwrap();
/// let out = run(callee.joint.as_ref().unwrap(), &[a, Tensor::vector(vec![q(6), q(8)])?])?;
/// // z = (3, 2), and by A and by b
/// let shown: Vec<String> = out.iter().map(|t| t.to_string()).collect();
/// assert_eq!(shown, ["3", "[[-1.5, -1], [0, 0]]", "[0.5, 0]"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn linear_system(objective: &Arc<Program>) -> Result<Callee, Error> {
    let n = match input_shapes(objective).first().map(|s| s.dims().to_vec()).as_deref() {
        Some([n]) => *n,
        _ => 0,
    };
    let solver = Arc::new(elimination(n)?);
    let (z, matrix, right) = (Shape::new([n])?, Shape::new([n, n])?, Shape::new([n])?);
    let inputs = [z, matrix, right];
    let residual = trace_shapes(&inputs, |x| vec![x[1].matmul(x[0]) - x[2]])?.renamed("residual");
    let jacobian = trace_shapes(&inputs, |x| vec![x[1]])?.renamed("matrix");
    implicit(&solver, &Arc::new(residual), &Arc::new(jacobian), objective, &How::default())
}

/// An objective of the state after `steps` calls of a step, differentiated as if that state were a fixed point of the step.
///
/// With z = φ(z, θ) the multiplier solves λ = ∂L/∂z + (∂φ/∂z)ᵀ λ, which is itself a fixed point: the joint program repeats it `adjoint_steps` times,
/// from ∂L/∂z on, with the derivatives of the step at the last state only. No earlier state enters, and the first state has
/// derivative 0. How near that is to the derivative of the iteration is a question of how near the state is to the fixed point.
///
/// ```
/// use crease::{formats::parse, run, How, Tensor};
/// use crease_paper::experiments::beyond::fixed_point;
/// let program = |text: &str| parse(text).unwrap().main().clone();
/// let step = program("program half(z, a) = z / 2 + a");
/// let value = program("program value(z, a) = z");
/// let callee = fixed_point(&step, 60, 60, &value, &How::default())?;
/// let out = run(callee.joint.as_ref().unwrap(), &[Tensor::scalar(0.0), Tensor::scalar(3.0)])?;
/// // z = 2 a
/// assert_eq!([out[0].data()[0], out[1].data()[0], out[2].data()[0]], [6.0, 0.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fixed_point(
    step: &Arc<Program>,
    steps: usize,
    adjoint_steps: usize,
    objective: &Arc<Program>,
    how: &How,
) -> Result<Callee, Error> {
    check_step(step, objective)?;
    let program = super::unrolled(step, steps, objective)?;
    let mut b = Builder::new(format!("joint_{}", program.name()));
    let mut args = declare(&mut b, step)?;
    let start = args[0];
    args[0] = repeat(&mut b, step, steps, &args)?;
    let derived = backprop(objective, how)?;
    let outer = b.splice(&derived, &args)?;
    // the next state, (∂φ/∂z)ᵀ λ, (∂φ/∂θ)ᵀ λ; what does not depend on λ is shared between the rounds in the end
    let pull = vjp(step, how)?;
    let mut lambda = outer[1];
    for _ in 0..adjoint_steps {
        let pulled = b.splice(&pull, &[&args[..], &[lambda]].concat())?;
        lambda = b.add(outer[1], pulled[1])?;
    }
    let last = b.splice(&pull, &[&args[..], &[lambda]].concat())?;
    let none = b.zeros(b.shape(start))?;
    let mut outputs = vec![outer[0], none];
    outputs.extend(sums(&mut b, &derived, &outer, &last)?);
    finish(program, b, outputs)
}

/// The derivatives by the parameters: what the objective has of its own, and what comes through the solution. `derived` is the
/// program whose results are `outer`.
fn sums(b: &mut Builder, derived: &Program, outer: &[Atom], through: &[Atom]) -> Result<Vec<Atom>, BuildError> {
    let absent = |k: usize| {
        let defined = derived.outputs()[k].value().and_then(|v| derived.definition(v));
        let zeros = |i| matches!(derived.equation(i).op, Op::Assemble { pieces, .. } if pieces.is_empty());
        defined.is_some_and(zeros) || derived.as_constant(derived.outputs()[k]).is_some_and(Rational::is_zero)
    };
    (2..outer.len()).map(|k| if absent(k) { Ok(through[k]) } else { b.add(outer[k], through[k]) }).collect()
}

/// Ends the joint program, without what it does not need.
fn finish(program: Program, joint: Builder, outputs: Vec<Atom>) -> Result<Callee, Error> {
    let joint = inline(&joint.finish(&outputs)?).map_err(crease_core::differentiate::DiffError::from)?;
    Ok(Callee { program: Arc::new(program), joint: Some(Arc::new(simplify(&joint)?)) })
}

fn call(b: &mut Builder, p: &Arc<Program>, args: &[Atom]) -> Result<Vec<Atom>, BuildError> {
    let callee = b.callee(p.clone(), None)?;
    b.push(Op::Call(callee), args)
}

/// The number of unknowns, if the programs fit together.
fn check(solver: &Program, residual: &Program, jacobian: &Program, objective: &Program) -> Result<usize, Error> {
    let fault = |what: &'static str, expected: &'static str, p: &Program| Error::Parameter {
        what,
        expected,
        got: format!("{:?} from {:?}", output_shapes(p), input_shapes(p)),
    };
    let z = match &output_shapes(solver)[..] {
        [z] if z.rank() == 1 => z.clone(),
        _ => return Err(fault("the solver", "a program that returns one vector", solver)),
    };
    let mut inputs = vec![z.clone()];
    inputs.extend(input_shapes(solver));
    if input_shapes(residual) != inputs || output_shapes(residual) != [z.clone()] {
        return Err(fault("the residual", "a program of z and the parameters, as long as z", residual));
    }
    if input_shapes(jacobian) != inputs || output_shapes(jacobian) != [z.with_leading(z.len())?] {
        return Err(fault("the jacobian", "a program of z and the parameters that returns a square matrix", jacobian));
    }
    check_objective(objective, &inputs)?;
    Ok(z.len())
}
