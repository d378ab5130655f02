//! An evaluator of programs at hundreds of bits, which tells what it does not know.
//!
//! What enters is a program, a point of rationals and a number of bits; what leaves are the outputs, each a rational or a ball that
//! certainly holds the truth, or the reason why there is no value. It is for checking what others claim, and shares no code with
//! the number kinds of `crease-core`, with its interpreter or with its local models: only programs, operations and shapes are
//! looked at.
//!
//! Continuous operations need no decision: the maximum of balls that overlap is a ball. A comparison needs one, and where it
//! is too close to call the answer is [`Fault::TooClose`], never a guess.
//!
//! ```
//! use crease_core::{exp, trace, Rational, Tensor};
//! use crease_corpus::precise::{evaluate, Arithmetic};
//! let p = trace(1, |x| exp(x[0]) - exp(2.0 * x[0])).unwrap();
//! let tiny = Tensor::scalar("1e-40".parse::<Rational>().unwrap());
//! let value = &evaluate(&p, &[tiny], &Arithmetic::new(600)).unwrap()[0];
//! assert!((value.to_f64() + 1e-40).abs() < 1e-60);
//! ```
//!
//! Deliberately absent: derived programs (joint operations, permutations), which no check of a function needs.

mod apply;
mod elementary;
mod number;
mod slopes;
mod special;
mod walk;

pub use number::{Arithmetic, Ball, Number, Size};
pub use slopes::{Slopes, slopes};
pub(crate) use walk::call;
pub use walk::evaluate;

/// Why there is no value, or none that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The program has no value there.
    #[error("there is no value: {0}")]
    NoValue(&'static str),
    /// A decision that cannot be made at this precision, and perhaps at none.
    #[error("a decision is too close to call at this precision")]
    TooClose,
    /// A number that is too large to be computed with.
    #[error("a number is too large")]
    TooLarge,
    /// Something that the evaluator does not know.
    #[error("not supported: {0}")]
    Unsupported(&'static str),
}
