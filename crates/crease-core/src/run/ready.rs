//! Interpreters that are compiled in this crate.
//!
//! [`run_with`](super::run_with) is generic, so a crate that calls it compiles an interpreter of its own for each kind of number. Those here
//! are compiled already: a crate that runs programs through them adds nothing to its weight, and one that is optimised for size finds
//! the instances of the generic functions here.

use super::{KinkHit, Observer, RunError, RunOptions, interpret, kinks_with};
use crate::number::{Exact, Interval, Number, Rational};
use crate::program::Program;
use crate::tensor::Tensor;

/// The interpreter for one kind of number.
///
/// ```
/// use crease_core::run::{RunOptions, Unobserved, ready};
/// use crease_core::{Tensor, trace};
/// let square = trace(1, |x| x[0] * x[0]).unwrap();
/// let y = (ready::DOUBLE.run)(&square, &[Tensor::scalar(3.0)], RunOptions::default(), &mut Unobserved).unwrap();
/// assert_eq!(y[0].data(), [9.0]);
/// ```
pub struct Interpreter<N: 'static> {
    /// [`run_with`](super::run_with).
    pub run: Run<N>,
    /// [`kinks_with`].
    pub kinks: Kinks<N>,
}

/// A function that runs a program, observed.
pub type Run<N> = fn(&Program, &[Tensor<N>], RunOptions, &mut dyn Observer<N>) -> Result<Vec<Tensor<N>>, RunError>;

/// A function that runs a program and tells the kinks it met.
pub type Kinks<N> = fn(&Program, &[Tensor<N>], RunOptions) -> Result<(Vec<Tensor<N>>, Vec<KinkHit>), RunError>;

impl<N: Number> Interpreter<N> {
    const NEW: Self = Interpreter { run: interpret::<N>, kinks: kinks_with::<N> };
}

/// Single precision.
pub static SINGLE: Interpreter<f32> = Interpreter::NEW;
/// Double precision.
pub static DOUBLE: Interpreter<f64> = Interpreter::NEW;
/// Rationals.
pub static RATIONAL: Interpreter<Rational> = Interpreter::NEW;
/// Exact numbers within a budget.
pub static EXACT: Interpreter<Exact> = Interpreter::NEW;
/// Enclosures.
pub static INTERVAL: Interpreter<Interval> = Interpreter::NEW;
