//! Local models of large tensor programs: the network is swept as tensors, and only its ties are taken apart.
//!
//! What enters is a program of tensors and a point; what leaves is the [`LocalModel`] that the pass over single numbers
//! ([`super::localize`]) would make, with its linear nodes eliminated. A convolution of a hundred thousand products stays one step:
//!
//! 1. [`plan`]: the part of the program that is piecewise linear with constant weights, as steps. Each number of a step is a sum of weights
//!    times numbers of earlier ones, or, at a kink, one of them.
//! 2. [`enclose`]: one sweep in doubles with their errors. A kink whose argument is certainly not at its kink, by far, is decided.
//! 3. [`exact`]: the others, and the outputs, are computed exactly: integers of a fixed number of words over one scale for each tensor, and only
//!    those numbers that somebody needs. What is equal then is a tie.
//! 4. [`forms`]: from each argument of a tie, and from each output, one sweep backward to the inputs and to the ties before it: its linear form.
//! 5. [`assemble`]: ties become nodes by the rules of [`super::lower`]; what follows the piecewise linear part (a softmax, a loss) is left to
//!    the pass over single numbers, which starts from these nodes.
//!
//! Numbers are exact throughout, so the model is as exact as the other. Whatever this cannot do (smooth functions in front, products of two
//! values, sorting, numbers of thousands of bits) makes it return nothing, and the program takes the other way.

mod assemble;
mod enclose;
mod exact;
mod fixed;
mod forms;
mod plan;

use super::localize::{LocalError, Precision};
use super::{Decided, LocalModel};
use crate::inline::inline_traced;
use crate::limits::Limits;
use crate::number::Rational;
use crate::program::Program;
use crate::scalarize::numbers;
use crate::tensor::Tensor;

/// From so many single numbers on a program is swept as tensors.
pub(super) const LARGE: u128 = 20_000;

/// The most numbers of outputs, or of values that the rest of the program reads, from which backward sweeps start.
const STARTS: usize = 2048;

/// The most words of a number.
const WORDS: usize = 64;

/// The program to be worked on, expanded, and what it was made of.
#[derive(Clone, Copy)]
pub(super) struct Subject<'p> {
    /// The program that was asked about.
    pub root: &'p Program,
    /// The same without calls.
    pub inlined: &'p Program,
    /// For each equation of the second, that of the first.
    pub origins: &'p [u32],
    pub limits: &'p Limits,
}

/// Why there is no model of this kind.
pub(super) enum Refusal {
    /// The other way may have one.
    Unsuited,
    /// There is none.
    Failed(LocalError),
}

impl From<LocalError> for Refusal {
    fn from(error: LocalError) -> Self {
        Refusal::Failed(error)
    }
}

/// Charges work.
struct Watch<'p> {
    subject: Subject<'p>,
}

impl Watch<'_> {
    /// The number of products in the sum.
    fn spend(&self, products: u64) -> Result<(), Refusal> {
        Ok(self.subject.limits.charge(1 + products / 4).map_err(LocalError::Stopped)?)
    }
}

/// Whether [`localize`](super::localize) sweeps a program as tensors, so that its size matters little: all of it but what few numbers follow. That is certain only once numbers are known: where they are too long, it does not.
///
/// ```
/// use crease_core::{local::sweeps, relu, trace_shapes, Shape};
/// let p = trace_shapes(&[Shape::new([1, 200])?], |x| {
///     let w = x[0].tape().tensor(Shape::new([200, 200]).unwrap(), vec![0.5; 40_000]);
///     vec![relu(x[0].matmul(w)).sum()]
/// })?;
/// assert!(sweeps(&p) && !sweeps(&crease_core::trace(1, |x| relu(x[0]))?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sweeps(p: &Program) -> bool {
    let large = |q: &Program| numbers(q) >= LARGE && plan::Plan::new(q).is_some_and(|plan| plan.rest < LARGE);
    inline_traced(p, &Limits::DEFAULT).is_ok_and(|(inlined, _)| large(&inlined))
}

/// The local model of a program at a point, or nothing where the program is not of the kind.
pub(super) fn localize_tensors(
    subject: Subject<'_>,
    at: &[Tensor<Rational>],
    precision: Precision,
) -> Result<Option<LocalModel>, LocalError> {
    match swept(subject, at, precision) {
        Ok(model) => Ok(Some(model)),
        Err(Refusal::Unsuited) => Ok(None),
        Err(Refusal::Failed(error)) => Err(error),
    }
}

fn swept(subject: Subject<'_>, at: &[Tensor<Rational>], precision: Precision) -> Result<LocalModel, Refusal> {
    let plan = plan::Plan::new(subject.inlined).ok_or(Refusal::Unsuited)?;
    let watch = Watch { subject };
    let mut enclosed = enclose::sweep(&plan, at, &watch)?;
    let decided = enclosed.open.len();
    let values = exact::sweep(&plan, at, &mut enclosed, &watch)?;
    let ties = assemble::ties(&plan, &enclosed, subject);
    let forms = forms::all(&plan, &enclosed, &ties, &watch)?;
    let kinks = plan.kinks().map(|slot| plan.slots[slot].len).sum();
    let effort = Decided { kinks, exactly: decided, tied: ties.cells.len(), numbers: values.numbers };
    assemble::model(&plan, &ties, &forms, &values, effort, subject, precision)
}

#[cfg(test)]
mod tests;
