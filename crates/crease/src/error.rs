//! What can go wrong, in one type.

use crate::audit::AuditError;
use crate::inspect::{InspectError, ProofError};
use crate::networks::NetworkError;
use crate::reductions::ReductionError;
use crease_check::CheckError;
use crease_core::dictionary::LowerError;
use crease_core::differentiate::{DiffError, SelectionError};
use crease_core::limits::LimitError;
use crease_core::local::LocalError;
use crease_core::number::ParseRationalError;
use crease_core::{BatchError, BuildError, CasesError, InlineError, NumberError, OpError, RunError, ShapeError};
use crease_engine::EngineError;
use crease_formats::dimacs::LiteralError;
use crease_formats::onnx::WriteError;
use crease_formats::point::ListError;
use crease_formats::samples::SampleError;
use crease_formats::{DimacsError, OnnxError, PointError, TextError};
use crease_oracles::{AskError, OracleError};

/// Whatever can go wrong between a text, a network or a closure and an answer: the error of the step that failed, as it is, so that `?` takes all of them.
///
/// ```
/// use crease::{inspect::{inspect, Ask}, Error};
/// fn answer(text: &str, at: f64) -> Result<String, Error> {
///     let p = crease::formats::parse(text)?;
///     Ok(inspect(p.main(), &[at], &Ask::default())?.to_string())
/// }
/// assert!(answer("program f(x) = abs(x)", 0.0)?.contains("abs"));
/// assert!(matches!(answer("program f(x) = abz(x)", 0.0), Err(Error::Text(_))));
/// assert!(matches!(answer("program f(x) = 1 / x", 0.0), Err(Error::Inspect(_))));
/// # Ok::<(), Error>(())
/// ```
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
    /// The program is too large once its calls are expanded or its loops unrolled.
    #[error(transparent)]
    Inline(#[from] InlineError),
    /// It calls programs in too many ways for its cost to be counted.
    #[error(transparent)]
    Cases(#[from] CasesError),
    /// A program cannot be rewritten in a smaller dictionary.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// The program cannot be run at several points at once: a selection may take another branch at each.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The run stopped: a division by zero, an overflow, a logarithm of a negative number.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An operation has no value for these numbers, or none that is exact.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// A number in text is none.
    #[error(transparent)]
    Literal(#[from] ParseRationalError),
    /// A limit cannot be set.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The selection at kinks is none.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// There is no local model at the point.
    #[error(transparent)]
    Local(#[from] Box<LocalError>),
    /// An oracle has no answer.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// There is no answer at the point.
    #[error(transparent)]
    Inspect(#[from] Box<InspectError>),
    /// Compiled code cannot be made, or was given what does not fit.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A program in text is none.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A point in text or in a file is none, or does not fit the program.
    #[error(transparent)]
    Point(#[from] PointError),
    /// A list of points cannot be read.
    #[error(transparent)]
    List(#[from] ListError),
    /// A table or a picture holds no inputs of the network.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// A network in ONNX cannot be read.
    #[error(transparent)]
    Onnx(#[from] OnnxError),
    /// A program cannot be written as a network.
    #[error(transparent)]
    WriteOnnx(#[from] WriteError),
    /// A formula in DIMACS is none.
    #[error(transparent)]
    Dimacs(#[from] DimacsError),
    /// A formula or a network cannot be reduced.
    #[error(transparent)]
    Reduction(#[from] ReductionError),
    /// A certificate does not hold.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// A network cannot be audited.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// No cheaper program was looked for.
    #[cfg(feature = "saturate")]
    #[error(transparent)]
    Saturate(#[from] crease_saturate::Error),
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

/// Errors that are a part of another one, and those that are in a box.
macro_rules! from {
    ($($error:ty: $e:ident => $into:expr),* $(,)?) => {$(
        impl From<$error> for Error {
            fn from($e: $error) -> Self {
                $into
            }
        }
    )*};
}

from! {
    ShapeError: e => Error::Build(e.into()),
    OpError: e => Error::Build(e.into()),
    LiteralError: e => Error::Reduction(e.into()),
    LocalError: e => Error::Local(Box::new(e)),
    InspectError: e => Error::Inspect(Box::new(e)),
    ProofError: e => InspectError::from(e).into(),
    AskError: e => match e {
        AskError::Local(e) => e.into(),
        AskError::Oracle(e) => e.into(),
    },
}
