//! The names that people know: [`grad`], [`value_and_grad`], [`jvp`], [`vjp`], [`jacobian`], [`hessian`].
//!
//! A closure enters, numbers leave. The closure is run once, on variables that record what is done to them, and what it
//! recorded is differentiated as a program. For one derivative call the functions; for many, make a [`Function`] once:
//! it derives its programs when they are first needed and keeps them, so that later calls only run.
//!
//! Where the program has no derivative, an operation at its kink contributes what the [`Selection`] says, and the result
//! is an element of a conservative gradient: at almost every point the gradient, at some points not even a Clarke
//! subgradient. [`Function::kinks`] tells whether that happened.
//!
//! ```
//! use crease::{grad, relu, Function};
//! // the function is the identity, yet the chain rule with relu'(0) = 0 gives 0
//! assert_eq!(grad(|x| relu(x[0]) - relu(-x[0]), &[0.0])?, [0.0]);
//! // and this is how to see it coming
//! let f = Function::trace(1, |x| relu(x[0]) - relu(-x[0]))?;
//! assert_eq!(f.kinks(&[0.0])?.len(), 2);
//! # Ok::<(), crease::Error>(())
//! ```
//!
//! Deliberately absent: speed. Programs run here on the reference interpreter, in f64.

use crate::Error;
use crease_core::differentiate::{self, How, Mode, Selection};
use crease_core::run::Unobserved;
use crease_core::{KinkHit, Limits, Program, RunError, Shape, Tensor, Var, kinks_with, run_with, trace, trace_shapes};
use std::sync::OnceLock;

/// The gradient of a function of several numbers, by backprop.
///
/// At a kink this is what [`Selection::paper`] picks, an element of a conservative gradient: see [`Function::kinks`] to
/// learn whether there is one, and [`Function::select`] to pick otherwise.
///
/// ```
/// use crease::{abs, grad};
/// let g = grad(|x| x[0] * x[0] + abs(x[1]), &[3.0, -2.0])?;
/// assert_eq!(g, [6.0, -1.0]);
/// # Ok::<(), crease::Error>(())
/// ```
pub fn grad<F>(f: F, x: &[f64]) -> Result<Vec<f64>, Error>
where
    F: for<'t> FnOnce(&[Var<'t>]) -> Var<'t>,
{
    Function::trace(x.len(), f)?.grad(x)
}

/// The value of a function and its gradient, in one run. See [`grad`] for what happens at kinks.
///
/// ```
/// use crease::{max, value_and_grad};
/// let (value, gradient) = value_and_grad(|x| max(x), &[1.0, 5.0, 2.0])?;
/// assert_eq!((value, gradient), (5.0, vec![0.0, 1.0, 0.0]));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn value_and_grad<F>(f: F, x: &[f64]) -> Result<(f64, Vec<f64>), Error>
where
    F: for<'t> FnOnce(&[Var<'t>]) -> Var<'t>,
{
    Function::trace(x.len(), f)?.value_and_grad(x)
}

/// The value of a function, and its derivative along a direction, by forward mode.
///
/// At a kink this is the selection's element times the direction, which need not be the directional derivative: here |x|
/// at 0 along 1 gives -1, because the paper's selection takes the slope on the left.
///
/// ```
/// use crease::{abs, jvp};
/// assert_eq!(jvp(|x| x[0] * x[1], &[2.0, 3.0], &[1.0, 10.0])?, (6.0, 23.0));
/// assert_eq!(jvp(|x| abs(x[0]), &[0.0], &[1.0])?, (0.0, -1.0));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn jvp<F>(f: F, x: &[f64], direction: &[f64]) -> Result<(f64, f64), Error>
where
    F: for<'t> FnOnce(&[Var<'t>]) -> Var<'t>,
{
    let (value, derivative) = Function::trace(x.len(), f)?.jvp(x, direction)?;
    // a traced closure returns one variable; should it be a tensor, the sum would hide it
    match (&value[..], &derivative[..]) {
        (&[value], &[derivative]) => Ok((value, derivative)),
        _ => Err(Error::Length { what: "the output", expected: 1, got: value.len() }),
    }
}

/// The values of a function of several outputs, and weights times its Jacobian, by backward mode.
///
/// ```
/// use crease::vjp;
/// let (values, adjoint) = vjp(|x| vec![x[0] * x[1], x[0] + x[1]], &[2.0, 3.0], &[1.0, 10.0])?;
/// assert_eq!((values, adjoint), (vec![6.0, 5.0], vec![13.0, 12.0]));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn vjp<F>(f: F, x: &[f64], weights: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Error>
where
    F: for<'t> FnOnce(&[Var<'t>]) -> Vec<Var<'t>>,
{
    Function::trace_many(x.len(), f)?.vjp(x, weights)
}

/// The Jacobian of a function of several outputs: one row for each output.
///
/// ```
/// use crease::{jacobian, relu};
/// let j = jacobian(|x| vec![x[0] * x[1], relu(x[0])], &[2.0, 3.0])?;
/// assert_eq!(j, [[3.0, 2.0], [1.0, 0.0]]);
/// # Ok::<(), crease::Error>(())
/// ```
pub fn jacobian<F>(f: F, x: &[f64]) -> Result<Vec<Vec<f64>>, Error>
where
    F: for<'t> FnOnce(&[Var<'t>]) -> Vec<Var<'t>>,
{
    Function::trace_many(x.len(), f)?.jacobian(x)
}

/// The Hessian of a function, forward over backward: one row for each input.
///
/// The derivative of what the selection picked is taken; kinks themselves add nothing, so relu has second derivative 0.
///
/// ```
/// use crease::hessian;
/// let h = hessian(|x| x[0] * x[0] * x[1], &[2.0, 3.0])?;
/// assert_eq!(h, [[6.0, 4.0], [4.0, 0.0]]);
/// # Ok::<(), crease::Error>(())
/// ```
pub fn hessian<F>(f: F, x: &[f64]) -> Result<Vec<Vec<f64>>, Error>
where
    F: for<'t> FnOnce(&[Var<'t>]) -> Var<'t>,
{
    Function::trace(x.len(), f)?.hessian(x)
}

/// A function to be differentiated at many points: a program with the programs derived from it.
///
/// Points, directions and gradients are flat lists of numbers. Where the program's inputs or outputs are tensors, their
/// elements follow one another in row-major order, input after input.
///
/// ```
/// use crease::{relu, Function, Selection};
/// let f = Function::trace(2, |x| relu(x[0] - x[1]))?;
/// assert_eq!(f.grad(&[2.0, 1.0])?, [1.0, -1.0]);
/// assert_eq!(f.grad(&[1.0, 1.0])?, [0.0, 0.0]);
/// let half = f.select(Selection::parse("relu=1/2").unwrap());
/// assert_eq!(half.grad(&[1.0, 1.0])?, [0.5, -0.5]);
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Function {
    program: Program,
    how: How,
    limits: Limits,
    backprop: OnceLock<Program>,
    jvp: OnceLock<Program>,
    vjp: OnceLock<Program>,
    jacobian: OnceLock<Program>,
    hessian: OnceLock<Program>,
}

impl From<Program> for Function {
    fn from(program: Program) -> Self {
        Function::new(program, How::default())
    }
}

impl Function {
    /// A program, to be differentiated as told.
    ///
    /// ```
    /// use crease::{trace, Function, How, Technique};
    /// let p = trace(1, |x| x[0] * x[0]).unwrap();
    /// let f = Function::new(p, How::default().technique(Technique::Through));
    /// assert_eq!(f.grad(&[3.0])?, [6.0]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn new(program: Program, how: How) -> Self {
        Function {
            program,
            how,
            limits: Limits::default(),
            backprop: OnceLock::new(),
            jvp: OnceLock::new(),
            vjp: OnceLock::new(),
            jacobian: OnceLock::new(),
            hessian: OnceLock::new(),
        }
    }

    /// The function that a closure of `n` numbers computes.
    ///
    /// ```
    /// use crease::{exp, Function};
    /// let f = Function::trace(1, |x| exp(x[0]))?;
    /// assert_eq!(f.value(&[0.0])?, 1.0);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn trace<F>(n: usize, f: F) -> Result<Self, Error>
    where
        F: for<'t> FnOnce(&[Var<'t>]) -> Var<'t>,
    {
        Ok(trace(n, f)?.into())
    }

    /// The function that a closure of `n` numbers with several results computes.
    ///
    /// ```
    /// use crease::Function;
    /// let f = Function::trace_many(2, |x| vec![x[0] + x[1], x[0] - x[1]])?;
    /// assert_eq!(f.values(&[2.0, 1.0])?, [3.0, 1.0]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn trace_many<F>(n: usize, f: F) -> Result<Self, Error>
    where
        F: for<'t> FnOnce(&[Var<'t>]) -> Vec<Var<'t>>,
    {
        Ok(trace_shapes(&vec![Shape::scalar(); n], f)?.into())
    }

    /// The same function with another choice at kinks. What was derived before is forgotten.
    ///
    /// ```
    /// use crease::{abs, Function, Selection};
    /// let f = Function::trace(1, |x| abs(x[0]))?;
    /// assert_eq!(f.grad(&[0.0])?, [-1.0]);
    /// assert_eq!(f.select(Selection::torch()).grad(&[0.0])?, [0.0]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn select(self, selection: Selection) -> Self {
        Function::new(self.program, self.how.select(selection)).within(&self.limits)
    }

    /// The same function, which is derived and run within these limits, and stopped by them: the [`Limits::default`] where none are told.
    ///
    /// ```
    /// use crease::{Function, Limits};
    /// let f = Function::trace(1, |x| x[0] * x[0] * x[0])?;
    /// assert_eq!(f.value(&[2.0])?, 8.0);
    /// let short = f.clone().within(&Limits { steps: 5, ..Limits::default() });
    /// assert!(short.value(&[2.0]).unwrap_err().to_string().contains("more than the limit of 5"));
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn within(self, limits: &Limits) -> Self {
        Function { limits: limits.clone(), ..self }
    }

    /// The program that computes the function.
    ///
    /// ```
    /// use crease::{cost::cost, relu, Function};
    /// let f = Function::trace(1, |x| relu(x[0]) + 1.0)?;
    /// assert_eq!(cost(f.program()).to_string(), "1 + c_relu");
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// How it is differentiated.
    ///
    /// ```
    /// use crease::{Function, Selection};
    /// let f = Function::trace(1, |x| x[0])?.select(Selection::jax());
    /// assert_eq!(f.how().selection, Selection::jax());
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn how(&self) -> &How {
        &self.how
    }

    /// The values of all outputs.
    ///
    /// ```
    /// use crease::Function;
    /// let f = Function::trace_many(1, |x| vec![x[0], 2.0 * x[0]])?;
    /// assert_eq!(f.values(&[4.0])?, [4.0, 8.0]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn values(&self, x: &[f64]) -> Result<Vec<f64>, Error> {
        Ok(flat(self.run(&self.program, &self.point(x)?)?))
    }

    /// The value of the one output.
    ///
    /// ```
    /// use crease::{Error, Function};
    /// assert_eq!(Function::trace(1, |x| x[0] + 1.0)?.value(&[4.0])?, 5.0);
    /// let several = Function::trace_many(1, |x| vec![x[0], x[0]])?;
    /// assert!(matches!(several.value(&[4.0]), Err(Error::Length { .. })));
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn value(&self, x: &[f64]) -> Result<f64, Error> {
        match self.values(x)?[..] {
            [value] => Ok(value),
            ref several => Err(Error::Length { what: "the output", expected: 1, got: several.len() }),
        }
    }

    /// The gradient; at a kink, the element that the selection picks.
    ///
    /// ```
    /// use crease::{max, Function};
    /// let f = Function::trace(2, |x| max(x))?;
    /// assert_eq!(f.grad(&[1.0, 2.0])?, [0.0, 1.0]);
    /// assert_eq!(f.grad(&[2.0, 2.0])?, [1.0, 0.0]); // the first of the tied ones
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn grad(&self, x: &[f64]) -> Result<Vec<f64>, Error> {
        Ok(self.value_and_grad(x)?.1)
    }

    /// The value and the gradient in one run.
    ///
    /// ```
    /// use crease::Function;
    /// let f = Function::trace(1, |x| x[0] * x[0])?;
    /// assert_eq!(f.value_and_grad(&[3.0])?, (9.0, vec![6.0]));
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn value_and_grad(&self, x: &[f64]) -> Result<(f64, Vec<f64>), Error> {
        let derived = derived(&self.backprop, || differentiate::backprop(&self.program, &self.bounded()))?;
        let mut all = flat(self.run(derived, &self.point(x)?)?);
        let gradient = all.split_off(1);
        Ok((all[0], gradient))
    }

    /// The values and their derivatives along a direction.
    ///
    /// ```
    /// use crease::Function;
    /// let f = Function::trace_many(2, |x| vec![x[0] * x[1], x[0] - x[1]])?;
    /// assert_eq!(f.jvp(&[2.0, 3.0], &[1.0, 0.0])?, (vec![6.0, -1.0], vec![3.0, 1.0]));
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn jvp(&self, x: &[f64], direction: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let derived = derived(&self.jvp, || differentiate::jvp(&self.program, &self.bounded()))?;
        let mut inputs = self.point(x)?;
        inputs.extend(split("the direction", &self.input_shapes(), direction)?);
        let mut values = self.run(derived, &inputs)?;
        let derivatives = values.split_off(self.program.outputs().len());
        Ok((flat(values), flat(derivatives)))
    }

    /// The values, and weights times the Jacobian.
    ///
    /// ```
    /// use crease::Function;
    /// let f = Function::trace_many(2, |x| vec![x[0] * x[1], x[0] - x[1]])?;
    /// assert_eq!(f.vjp(&[2.0, 3.0], &[1.0, 1.0])?, (vec![6.0, -1.0], vec![4.0, 1.0]));
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn vjp(&self, x: &[f64], weights: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let derived = derived(&self.vjp, || differentiate::vjp(&self.program, &self.bounded()))?;
        let mut inputs = self.point(x)?;
        inputs.extend(split("the list of weights", &self.output_shapes(), weights)?);
        let mut values = self.run(derived, &inputs)?;
        let adjoints = values.split_off(self.program.outputs().len());
        Ok((flat(values), flat(adjoints)))
    }

    /// The Jacobian, one row for each scalar output: backward if there are no more outputs than inputs, else forward.
    ///
    /// ```
    /// use crease::Function;
    /// let f = Function::trace_many(2, |x| vec![x[0] * x[1], x[0] - x[1], 2.0 * x[1]])?;
    /// assert_eq!(f.jacobian(&[2.0, 3.0])?, [[3.0, 2.0], [1.0, -1.0], [0.0, 2.0]]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn jacobian(&self, x: &[f64]) -> Result<Vec<Vec<f64>>, Error> {
        let outputs = self.output_shapes();
        let total: usize = outputs.iter().map(Shape::len).sum();
        let mode = if total <= self.program.dimension() { Mode::Backward } else { Mode::Forward };
        let derived = derived(&self.jacobian, || differentiate::jacobian(&self.program, &self.bounded(), mode))?;
        let all = self.run(derived, &self.point(x)?)?;
        Ok(rows(&all[outputs.len()..], &outputs, &self.input_shapes()))
    }

    /// The Hessian, one row for each scalar input. Kinks add nothing to it.
    ///
    /// ```
    /// use crease::{relu, Function};
    /// let f = Function::trace(2, |x| x[0] * relu(x[1]))?;
    /// assert_eq!(f.hessian(&[2.0, 3.0])?, [[0.0, 1.0], [1.0, 0.0]]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn hessian(&self, x: &[f64]) -> Result<Vec<Vec<f64>>, Error> {
        let derived = derived(&self.hessian, || differentiate::hessian(&self.program, &self.bounded()))?;
        let all = self.run(derived, &self.point(x)?)?;
        let inputs = self.input_shapes();
        Ok(rows(&all, &inputs, &inputs))
    }

    /// The kinks that the function meets at a point: if there are none, every derivative here is the true one.
    ///
    /// ```
    /// use crease::{abs, Function};
    /// let f = Function::trace(2, |x| abs(x[0]) + abs(x[1]))?;
    /// let met = f.kinks(&[0.0, 1.0])?;
    /// assert_eq!(met.len(), 1);
    /// assert_eq!(met[0].site.shown, "abs(x0)");
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn kinks(&self, x: &[f64]) -> Result<Vec<KinkHit>, Error> {
        Ok(kinks_with(&self.program, &self.point(x)?, &self.limits)?.1)
    }

    /// How it is differentiated, within the limits.
    fn bounded(&self) -> How {
        self.how.clone().within(&self.limits)
    }

    fn run(&self, p: &Program, inputs: &[Tensor<f64>]) -> Result<Vec<Tensor<f64>>, RunError> {
        run_with(p, inputs, &self.limits, &mut Unobserved)
    }

    fn input_shapes(&self) -> Vec<Shape> {
        self.program.inputs().iter().map(|i| i.shape.clone()).collect()
    }

    fn output_shapes(&self) -> Vec<Shape> {
        self.program.outputs().iter().map(|&o| self.program.atom_shape(o)).collect()
    }

    fn point(&self, x: &[f64]) -> Result<Vec<Tensor<f64>>, Error> {
        split("the point", &self.input_shapes(), x)
    }
}

/// The program kept in the cell, derived now if it was not before. Errors are not kept: they are cheap to find again.
fn derived<E>(cell: &OnceLock<Program>, derive: impl FnOnce() -> Result<Program, E>) -> Result<&Program, E> {
    if let Some(known) = cell.get() {
        return Ok(known);
    }
    let new = derive()?;
    // if another thread was faster, its program is as good
    Ok(cell.get_or_init(|| new))
}

/// A flat list of numbers as tensors of these shapes.
fn split(what: &'static str, shapes: &[Shape], x: &[f64]) -> Result<Vec<Tensor<f64>>, Error> {
    let expected: usize = shapes.iter().map(Shape::len).sum();
    if x.len() != expected {
        return Err(Error::Length { what, expected, got: x.len() });
    }
    let mut rest = x;
    let mut part = |shape: &Shape| {
        let (first, others) = rest.split_at(shape.len());
        rest = others;
        Tensor::new(shape.clone(), first.to_vec())
    };
    Ok(shapes.iter().filter_map(&mut part).collect())
}

fn flat(tensors: Vec<Tensor<f64>>) -> Vec<f64> {
    tensors.into_iter().flat_map(Tensor::into_data).collect()
}

/// Blocks, one for each output and each input in turn, as rows over all inputs.
fn rows(blocks: &[Tensor<f64>], outputs: &[Shape], inputs: &[Shape]) -> Vec<Vec<f64>> {
    let mut rows = Vec::new();
    for (o, shape) in outputs.iter().enumerate() {
        for r in 0..shape.len() {
            let mut row = Vec::new();
            for (i, input) in inputs.iter().enumerate() {
                let n = input.len();
                row.extend_from_slice(&blocks[o * inputs.len() + i].data()[r * n..(r + 1) * n]);
            }
            rows.push(row);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{abs, exp, max, relu, sin};

    #[test]
    fn forward_and_backward_agree_at_a_kink() {
        let f = Function::trace(3, |x| max(&[relu(x[0]), abs(x[1]), x[2]]) + x[0] * x[1]).unwrap();
        for x in [[0.0, 0.0, 0.0], [1.0, -1.0, 1.0], [2.0, 0.5, -1.0]] {
            let gradient = f.grad(&x).unwrap();
            for i in 0..3 {
                let mut unit = [0.0; 3];
                unit[i] = 1.0;
                assert_eq!(f.jvp(&x, &unit).unwrap().1, [gradient[i]]);
            }
            assert_eq!(f.vjp(&x, &[1.0]).unwrap().1, gradient);
            assert_eq!(f.jacobian(&x).unwrap(), [gradient]);
        }
    }

    #[test]
    fn tensors_are_flat() {
        let shapes = [Shape::new([2, 2]).unwrap(), Shape::vector(2).unwrap()];
        let f = Function::from(trace_shapes(&shapes, |x| vec![x[0].matmul(x[1])]).unwrap());
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(f.values(&x).unwrap(), [17.0, 39.0]);
        let expected = [[5.0, 6.0, 0.0, 0.0, 1.0, 2.0], [0.0, 0.0, 5.0, 6.0, 3.0, 4.0]];
        assert_eq!(f.jacobian(&x).unwrap(), expected);
        assert_eq!(f.vjp(&x, &[1.0, 0.0]).unwrap().1, expected[0]);
        let error = f.values(&[1.0]).unwrap_err();
        assert_eq!(error.to_string(), "the point has 1 number, expected 6");
    }

    #[test]
    fn a_hessian_is_the_jacobian_of_the_gradient() {
        let f = Function::trace(2, |x| exp(x[0] * x[1]) + sin(x[0])).unwrap();
        let x = [0.3, -0.7];
        let h = f.hessian(&x).unwrap();
        let e = 1e-5;
        for i in 0..2 {
            let (mut up, mut down) = (x, x);
            up[i] += e;
            down[i] -= e;
            let (up, down) = (f.grad(&up).unwrap(), f.grad(&down).unwrap());
            for j in 0..2 {
                assert!(((up[j] - down[j]) / (2.0 * e) - h[i][j]).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn programs_are_derived_once() {
        let f = Function::trace(1, |x| x[0] * x[0]).unwrap();
        assert!(f.backprop.get().is_none());
        f.grad(&[1.0]).unwrap();
        let first: *const Program = f.backprop.get().unwrap();
        f.grad(&[2.0]).unwrap();
        assert!(std::ptr::eq(first, f.backprop.get().unwrap()));
        assert!(f.select(Selection::torch()).backprop.get().is_none());
    }

    #[test]
    fn a_bad_selection_is_refused() {
        let f = Function::trace(1, |x| relu(x[0])).unwrap().select(Selection::parse("relu=2").unwrap());
        assert!(matches!(f.grad(&[0.0]), Err(Error::Diff(_))));
    }
}
