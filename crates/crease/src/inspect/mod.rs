//! What the answer is: a program and a point enter, one value leaves that holds everything that can be said there.
//!
//! | question | function | command |
//! | --- | --- | --- |
//! | what does differentiation return, and what is that? | [`inspect()`] | `crease grad` |
//! | one true subgradient? | [`clarke()`] | `crease clarke` |
//! | all limits of gradients? | [`all_gradients`] | `crease clarke --all` |
//! | is it differentiable? | [`differentiable()`] | `crease differentiable` |
//! | what can automatic differentiation return at all? | [`conservative()`] | `crease conservative` |
//! | the derivative along directions? | [`directional()`] | `crease directional` |
//! | along a basis? | [`lexicographic()`] | `crease lexicographic` |
//! | what does a certificate prove, and is it about this program here? | [`check()`], [`check_within`], [`Proof::about`] | `crease check` |
//!
//! What to do, in which numbers and within which limits, is an [`Ask`]. Every answer displays as the text of its command and serializes as
//! its JSON; its parts are public. Numbers are exact wherever operations and point allow it; an [`Answer`] says which they are.
//!
//! ```
//! use crease::inspect::{inspect, Ask};
//! let p = crease::formats::parse_expression("relu(x) - relu(-x)", &|_| None)?;
//! let text = inspect(&p, "x=0", &Ask::default())?.to_string();
//! let labels: Vec<&str> = text.lines().filter_map(|l| l.split_whitespace().next()).collect();
//! assert_eq!(labels, ["value", "backprop", "clarke", "differentiable", "conservative", "kinks", "relu", "cost"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod all;
mod at;
mod certify;
mod clarke;
mod compiled;
mod conservative;
mod contains;
mod differentiable;
mod directional;
mod error;
mod inspection;
mod joints;
mod lexicographic;
mod meaning;
mod numbers;
mod proof;
mod singular;
mod ties;

pub use all::{Event, Neighbourhood, Wanted, all_gradients, cubes, gradient_json, gradients_in, united_gradients};
pub(crate) use at::above;
pub use at::{At, Coordinates, Undecided};
pub use clarke::{Clarke, clarke};
pub use compiled::distance;
pub use conservative::{Conservative, Told, conservative};
pub use contains::{Close, CloseTo, Contains};
pub use differentiable::{Answered, Differentiable, counts, differentiable, differentiable_in, differentiable_united};
pub use directional::{Directional, directional};
pub use error::InspectError;
pub use inspection::{Costs, Inspection, derive, inspect, pick};
pub use joints::{JointVerdict, Joints};
pub use lexicographic::{Basis, Lexicographic, lexicographic};
pub use meaning::{Answers, Known, Meaning};
pub use numbers::{Answer, AtPoint, Computed, FloatBecause, Numbers, Portions, Task};
pub use proof::{Proof, ProofError, check, check_within};
pub use singular::{Singular, singular_places};
pub use ties::Met;

use crease_core::differentiate::{How, Mode};
use crease_core::{Limits, Rational};
use crease_oracles::Progress;
use std::fmt;
use std::time::Duration;

/// What to do at a point: how to differentiate, in which numbers, and how far to go.
///
/// ```
/// use crease::inspect::{Ask, Numbers};
/// use crease::Limits;
/// let ask = Ask { numbers: Numbers::Exact, limits: Limits { bits: 256, ..Limits::default() }, ..Ask::default() };
/// assert_eq!(ask.seed, 1);
/// ```
#[derive(Clone)]
pub struct Ask<'a> {
    /// What is picked at kinks, and how calls are differentiated.
    pub how: How,
    /// The direction in which derivatives travel.
    pub mode: Mode,
    /// Whether the derivatives of all outputs are wanted.
    pub jacobian: bool,
    /// The output that is asked about, where there are several.
    pub output: Option<usize>,
    /// In which numbers to differentiate. The oracles are exact whatever this says.
    pub numbers: Numbers,
    /// Where random directions begin.
    pub seed: u64,
    /// How many of them are looked at to see what a vector is.
    pub directions: u64,
    /// Relative tolerance of a vector that is asked about; `None` takes it exactly as given.
    pub within: Option<Rational>,
    /// Whether the search for a verdict records what the certificate of a yes needs.
    pub proof: bool,
    /// Whether the kink report is wanted.
    pub report: bool,
    /// How far to go, and the way to stop it.
    pub limits: Limits,
    /// What is spent on questions beside a derivative; [`differentiable()`] and the others take all that the limits allow.
    pub beside: Beside,
    /// Told now and then how far a search for the verdict is.
    pub watch: Option<&'a dyn Fn(&Progress)>,
}

impl Default for Ask<'_> {
    fn default() -> Self {
        Ask {
            how: How::default(),
            mode: Mode::Backward,
            jacobian: false,
            output: None,
            numbers: Numbers::Auto,
            seed: 1,
            directions: 64,
            within: None,
            proof: true,
            report: false,
            limits: Limits::default(),
            beside: Beside::default(),
            watch: None,
        }
    }
}

/// What is spent on questions beside a derivative.
///
/// Work is counted, not timed, so that the same question has the same answer. A deadline in [`Ask::limits`] takes the place of work and time.
///
/// ```
/// use crease::inspect::{Ask, Beside};
/// let quick = Ask { beside: Beside { work: 1_000_000, ..Beside::default() }, ..Ask::default() };
/// assert_eq!(quick.beside.conflicts, 2_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The most conflicts of a search for the verdict.
    pub conflicts: u64,
    /// The most units of work, as [`Limits::work`] counts them: by default about two seconds.
    pub work: u64,
    /// When to give up where units of work take longer than they should.
    pub time: Duration,
}

impl Default for Beside {
    fn default() -> Self {
        Beside { conflicts: 2_000, work: 150_000_000, time: Duration::from_secs(10) }
    }
}

impl<'a> Ask<'a> {
    /// The same question with nothing spent yet.
    fn started(&self) -> Ask<'a> {
        Ask { limits: self.limits.started(), ..self.clone() }
    }

    /// The same without a deadline, for a local model that was made in time before, when the parts were that are put together now.
    fn again(&self) -> Ask<'a> {
        Ask { limits: Limits { deadline: None, ..self.limits.clone() }, ..self.clone() }
    }

    /// The limits of questions beside a derivative, from now on.
    fn beside_limits(&self) -> Limits {
        let Beside { conflicts, work, time } = self.beside;
        let limits = Limits { conflicts: self.limits.conflicts.min(conflicts), ..self.limits.metered() };
        match limits.deadline {
            Some(_) => limits,
            None => limits.with_work(work).within(time),
        }
    }
}

impl fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask")
            .field("how", &self.how)
            .field("numbers", &self.numbers)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// What a vector is at a point.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// The gradient: the program is differentiable there, and this is its derivative.
    Gradient,
    /// A Clarke subgradient.
    Clarke,
    /// An element of the conservative gradient of automatic differentiation; not known to be more than that.
    Conservative,
    /// None of these.
    Outside,
    /// Not known, for this reason.
    Undecided(String),
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Gradient => f.write_str("the gradient"),
            Status::Clarke => f.write_str("a Clarke subgradient"),
            Status::Conservative => f.write_str("an element of the conservative gradient"),
            Status::Outside => f.write_str("outside of the conservative gradient"),
            Status::Undecided(why) => write!(f, "undecided: {why}"),
        }
    }
}
