//! What can go wrong, in one type.

use crate::networks::NetworkError;
use crease_core::differentiate::DiffError;
use crease_core::{BatchError, BuildError, RunError, ShapeError};

/// Whatever can go wrong between a closure and a derivative: the error of the step that failed, as it is.
///
/// ```
/// use crease::{grad, Error};
/// assert!(matches!(grad(|x| x[0] * f64::NAN, &[1.0]), Err(Error::Build(_))));
/// let error = grad(|x| 1.0 / x[0], &[0.0]).unwrap_err();
/// assert_eq!(error.to_string(), "division by zero, in `1 / x0` of program `backprop_f`");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program could not be built: shapes that do not fit, or a constant that is not finite.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The program could not be differentiated: several outputs where one is needed, or a selection that is refused.
    #[error(transparent)]
    Diff(#[from] DiffError),
    /// The program cannot be run at several points at once: a selection may take another branch at each.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The run stopped: a division by zero, an overflow, a logarithm of a negative number.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The layers of a network do not fit together.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A list of numbers of the wrong length.
    #[error("{what} has {got} number{}, expected {expected}", if *got == 1 { "" } else { "s" })]
    Length {
        /// Which list.
        what: &'static str,
        /// How many numbers it must have.
        expected: usize,
        /// How many it has.
        got: usize,
    },
    /// A parameter out of its range.
    #[error("{what} must be {expected}, got {got}")]
    Parameter {
        /// Which parameter.
        what: &'static str,
        /// What is allowed.
        expected: &'static str,
        /// What was given.
        got: String,
    },
}

impl From<ShapeError> for Error {
    fn from(e: ShapeError) -> Self {
        Error::Build(e.into())
    }
}
