//! Why there is no answer at a point: what is wrong, where, and what to do about it.

use super::numbers::FloatBecause;
use super::proof::ProofError;
use crease_core::differentiate::DiffError;
use crease_core::limits::Stop;
use crease_core::local::LocalError;
use crease_core::{CasesError, NumberError, RunError, RunFault, Site};
use crease_formats::PointError;
use crease_oracles::OracleError;

/// Why there is no answer at a point.
///
/// ```
/// use crease::inspect::{inspect, Ask};
/// let p = crease::trace(1, |x| 1.0 / x[0])?;
/// let error = inspect(&p, &[0.0], &Ask::default()).unwrap_err();
/// assert_eq!((error.message().as_str(), error.site().unwrap().shown.as_str()), ("division by zero", "1 / x0"));
/// assert!(error.to_string().starts_with("division by zero, in `1 / x0` of program `f`, ")); // and the line of this closure
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InspectError {
    /// A limit was reached, or somebody stopped it, before there was an answer.
    Stopped(Stop),
    /// A run failed.
    Run {
        /// How.
        error: RunError,
        /// Whether it failed in the derivative only.
        of_derivative: bool,
        /// Why it was a run in f64, if it was one.
        float: Option<FloatBecause>,
    },
    /// There is no local model.
    Local(LocalError),
    /// An oracle has no answer.
    Oracle(OracleError),
    /// The program cannot be differentiated.
    Diff(DiffError),
    /// The point does not fit the inputs of the program.
    Point(PointError),
    /// A certificate is not about the program at the point.
    Proof(ProofError),
    /// What was asked for is not there, or is too much: in words.
    Other(String),
}

impl InspectError {
    /// The limit that ended it, if it was stopped; nothing if the error is about the program.
    pub fn stop(&self) -> Option<Stop> {
        match self {
            InspectError::Stopped(stop) | InspectError::Oracle(OracleError::Stopped(stop)) => Some(*stop),
            InspectError::Run { error, .. } => error.stop(),
            InspectError::Local(e) => e.stop(),
            InspectError::Diff(e) => e.stop(),
            InspectError::Oracle(_) | InspectError::Point(_) | InspectError::Proof(_) | InspectError::Other(_) => None,
        }
    }

    /// The same error, [stopped](InspectError::Stopped) if it is that in some other form.
    pub(crate) fn settled(self) -> Self {
        self.stop().map_or(self, InspectError::Stopped)
    }

    /// What is wrong, in one line, without the place and without advice.
    pub fn message(&self) -> String {
        match self {
            InspectError::Run { error, float: Some(_), .. } if is_of_mathematics(&error.fault) => {
                format!(
                    "in f64, {}; rounding may be the reason, and the bounds at hand do not tell",
                    run_message(&error.fault)
                )
            }
            InspectError::Stopped(stop) => format!("there is no answer yet: {stop}"),
            InspectError::Run { error, .. } | InspectError::Local(LocalError::Run(error)) => run_message(&error.fault),
            InspectError::Local(LocalError::Discontinuous { why, .. }) => {
                format!("not continuous at this point: {why}")
            }
            InspectError::Local(LocalError::Jump { site, why }) => {
                format!("`{}` jumps at this point: {why}", site.shown)
            }
            InspectError::Local(LocalError::NoDerivative { why, .. }) => {
                format!("no directional derivative here that could be told: {why}")
            }
            InspectError::Local(LocalError::Singular { why, .. }) => format!("singular at this point: {why}"),
            InspectError::Local(LocalError::Undecided { what, bits, .. }) => {
                format!("not decided: {what}, with {bits} bits")
            }
            InspectError::Local(e) => e.to_string(),
            InspectError::Oracle(e) => e.to_string(),
            InspectError::Diff(DiffError::NotScalar { name, outputs }) => format!(
                "a gradient needs one scalar output, but `{name}` returns {outputs}; take all derivatives with --jacobian{}",
                if outputs.ends_with("outputs") { ", or pick an output with --output 0" } else { "" }
            ),
            InspectError::Diff(e) => e.to_string(),
            InspectError::Point(e) => e.to_string(),
            InspectError::Proof(e) => e.to_string(),
            InspectError::Other(message) => message.clone(),
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            InspectError::Run { error, of_derivative, float } => run_help(&error.fault, *of_derivative, *float),
            InspectError::Local(LocalError::Run(error)) => run_help(&error.fault, false, None),
            InspectError::Local(LocalError::Jump { .. }) => {
                Some("what depends on it has no derivative here that could be told")
            }
            InspectError::Local(LocalError::Discontinuous { .. }) => {
                Some("at a jump there is no directional derivative")
            }
            InspectError::Local(LocalError::Singular { steep: true, .. }) => {
                Some("this is not Lipschitz here, and what is made of it may have no derivative of any kind")
            }
            InspectError::Local(LocalError::Singular { steep: false, .. }) => {
                Some("the function need not be Lipschitz here, and may have no derivative of any kind")
            }
            InspectError::Local(LocalError::Undecided { .. }) => {
                Some("more bits may tell, with --max-bits; they never can if two equal numbers come about differently")
            }
            InspectError::Local(_) | InspectError::Oracle(_) | InspectError::Diff(_) | InspectError::Point(_) => None,
            InspectError::Stopped(_) | InspectError::Proof(_) | InspectError::Other(_) => None,
        }
    }

    /// The equation where it happened, if it happened in one.
    pub fn site(&self) -> Option<&Site> {
        match self {
            InspectError::Run { error, .. } | InspectError::Local(LocalError::Run(error)) => error.site.as_deref(),
            InspectError::Local(
                LocalError::Discontinuous { site, .. }
                | LocalError::NoDerivative { site, .. }
                | LocalError::Jump { site, .. }
                | LocalError::Singular { site, .. }
                | LocalError::Undecided { site, .. },
            ) => Some(site),
            InspectError::Local(_) | InspectError::Oracle(_) | InspectError::Diff(_) | InspectError::Point(_) => None,
            InspectError::Stopped(_) | InspectError::Proof(_) | InspectError::Other(_) => None,
        }
    }
}

fn run_help(fault: &RunFault, of_derivative: bool, float: Option<FloatBecause>) -> Option<&'static str> {
    match (fault, float) {
        (RunFault::Number(NumberError::NotExact { .. }), _) => Some("without --exact it is enclosed"),
        (RunFault::Overflow(_), Some(FloatBecause::Asked)) => {
            Some("without --float it is enclosed, however large it is")
        }
        (fault, Some(FloatBecause::Asked)) if is_of_mathematics(fault) => {
            Some("without --float it is enclosed, however close to the border it is")
        }
        (RunFault::Overflow(_), Some(FloatBecause::NotExact(_))) => Some("scale the inputs"),
        (RunFault::Overflow(_), _) => Some("scale the inputs, or insist on exact numbers with --exact"),
        _ if of_derivative => Some("the value exists at this point, its derivative does not"),
        _ => None,
    }
}

/// Whether a fault says that an argument is outside of the domain of its operation: of floats that may be untrue.
fn is_of_mathematics(fault: &RunFault) -> bool {
    let outside = |e: &NumberError| {
        use NumberError::{DivisionByZero, LogOfNonPositive, Outside, SqrtOfNegative};
        matches!(e, DivisionByZero | LogOfNonPositive | SqrtOfNegative | Outside { .. })
    };
    matches!(fault, RunFault::Number(e) if outside(e)) || matches!(fault, RunFault::NotANumber)
}

/// What went wrong in a run, without the advice that `help` gives.
fn run_message(fault: &RunFault) -> String {
    match fault {
        RunFault::Number(NumberError::NotExact { operation }) => {
            format!("{operation} of this number has no exact value")
        }
        RunFault::Overflow(value) => format!("the result overflows to {value}"),
        other => other.to_string(),
    }
}

impl std::fmt::Display for InspectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message())?;
        if let Some(site) = self.site() {
            write!(f, ", in `{}` of program `{}`", site.shown, site.program)?;
            if let Some(origin) = &site.origin {
                write!(f, ", {origin}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for InspectError {}

macro_rules! from {
    ($($variant:ident: $error:ty),*) => {$(
        impl From<$error> for InspectError {
            fn from(e: $error) -> Self {
                InspectError::$variant(e).settled()
            }
        }
    )*};
}

impl From<CasesError> for InspectError {
    fn from(e: CasesError) -> Self {
        InspectError::Diff(e.into()).settled()
    }
}

from!(Local: LocalError, Oracle: OracleError, Diff: DiffError, Point: PointError, Proof: ProofError);
