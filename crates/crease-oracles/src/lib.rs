//! What is the derivative at a kink? The oracles of Section 5 of the paper, all of them functions of one object: the
//! [local model](crease_core::local) of a program at a point.
//!
//! | question of a [`Session`] | what it returns | cost |
//! | --- | --- | --- |
//! | [`directional`](Session::directional) | F'(x; d), exactly | one sweep for each direction |
//! | [`lexicographic`](Session::lexicographic) | Nesterov's derivative along a basis | up to p sweeps, fewer if kinks settle early |
//! | [`lexicographic_forward`](Session::lexicographic_forward) | the same by Khan and Barton's vector forward mode | p sweeps at once |
//! | [`clarke_element`](Session::clarke_element) | one Clarke subgradient and the direction that shows it | two sweeps, whatever the dimension |
//! | [`conservative`](Session::conservative) | whether the autodiff conservative gradient is a singleton, or two of its elements | polynomial |
//! | [`gradient_at_choices`](Session::gradient_at_choices) | the gradient for given weights at each kink | one sweep |
//! | [`KinkReport`] | active kinks, what was selected there, what else could have been | some sweeps, within limits |
//! | [`membership`](Session::membership) | whether a vector is a Clarke subgradient, where that is easy | some sweeps |
//! | [`differentiable`](Session::differentiable) | yes with the gradient, no with two subgradients, or unknown, with a certificate | exponential, within limits |
//! | [`neighbouring_gradients`](Session::neighbouring_gradients) | all limits of gradients, whose convex hull is the Clarke subdifferential | exponential, within limits |
//! | [`membership_among`](Session::membership_among) | where a vector lies, given those | linear programs |
//!
//! A [`Session`] is for one model and one output, and computes once what its answers share. For a single question there are functions of the same names.
//!
//! Everything is exact if the model is ([`LocalModel::is_exact`]), and what is said to be proved is proved of the model. Where coefficients
//! are enclosed, an answer comes with how far it may be from that of the program, and holds whatever they are inside their enclosures;
//! else it is [undecided](OracleError::Undecided), and [`ask`] asks again with more bits.
//! Deciding differentiability and listing all neighbouring gradients are NP-hard: those two take limits, and say which one they met.
//!
//! ```
//! use crease_core::{local::localize, relu, trace, Rational, Tensor};
//! use crease_oracles::{Effort, Session};
//! // the identity, and the chain rule does not see it
//! let p = trace(1, |x| relu(x[0]) - relu(-x[0]))?;
//! let model = localize(&p, &[Tensor::scalar(Rational::ZERO)])?;
//! let session = Session::new(&model, 0);
//! assert_eq!(session.directional(&[Rational::from(-2)])?, [Rational::from(-2)]);
//! assert_eq!(session.clarke_element(1)?.gradient, [Rational::ONE]);
//! assert!(!session.conservative()?.is_singleton());
//! assert_eq!(session.differentiable(&Effort::default())?.verdict.word(), "yes");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bounds;
mod certificate;
mod clarke;
mod cone;
mod conservative;
mod decide;
mod directional;
mod enclosed;
mod enumerate;
mod graph;
mod hull;
mod lexicographic;
mod membership;
mod report;
mod session;
mod sweep;

pub use certificate::{certificate_graph, certificate_model};
pub use clarke::ClarkeElement;
pub use conservative::{Conservative, ConservativeElement};
pub use decide::{
    Argument, Decision, Effort, Limit, PartOutcome, Progress, SearchCounts, SearchPart, SignCube, Verdict,
};
pub use directional::{directional, directional_batch};
pub use enclosed::{AskError, accurate, accurate_vector, ask};
pub use enumerate::{Cube, EnumerateEvent, EnumerateLimit, EnumerateWork, Neighbour, Neighbours};
pub use hull::{HullPosition, Stationarity, hull_vertices, in_hull};
pub use lexicographic::{Lexicographic, identity};
pub use membership::{Bounds, Membership};
pub use report::{KinkLine, KinkReport};
pub use session::{
    Session, clarke_along, clarke_element, conservative, differentiable, gradient_at_choices, lexicographic,
    lexicographic_forward, neighbouring_gradients,
};
pub use sweep::SweepCost;

use crease_core::limits::Stop;
use crease_core::local::{Exactness, LocalModel};
use crease_core::number::{NumberError, Rational};

/// Why an oracle has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OracleError {
    /// A limit was reached, or somebody stopped it, before there was an answer.
    #[error("there is no answer yet: {0}")]
    Stopped(Stop),
    /// A direction of the wrong dimension.
    #[error("a direction needs {expected} coordinates here, got {got}")]
    Dimension {
        /// The dimension of the inputs.
        expected: usize,
        /// The number of coordinates given.
        got: usize,
    },
    /// An output that the program does not have.
    #[error("there is no scalar output number {number}; the program has {outputs}")]
    NoOutput {
        /// The number asked for.
        number: usize,
        /// How many there are.
        outputs: usize,
    },
    /// Directions that are no basis.
    #[error("a lexicographic derivative needs {dimension} linearly independent directions, these {directions} are not")]
    NoBasis {
        /// How many directions were given.
        directions: usize,
        /// The dimension of the inputs.
        dimension: usize,
    },
    /// Weights that are none of the kinks of the model.
    #[error(
        "the weights of kink number {kink} do not fit: each member needs one, none negative, and they must add up to 1 (of a norm: their squares to no more)"
    )]
    Choices {
        /// The first kink whose weights do not fit.
        kink: usize,
    },
    /// A part of the directions that is none of the model.
    #[error(
        "this cube is no part of the directions around this point: cubes are those of the same program at the same point"
    )]
    Cube,
    /// No random direction was generic, which has probability zero.
    #[error("no generic direction was found; try another seed")]
    NoGenericDirection,
    /// Branches of a selection agree to first order, but need not agree around the point, and their border has no direction there.
    #[error(
        "two branches of a selection agree here to first order only, and to first order their border is everywhere: what gradients around tend to is not known"
    )]
    FlatBorder,
    /// Enclosures of coefficients are too wide to tell.
    #[error("{what} could not be told with enclosures of {bits} bits")]
    Undecided {
        /// What could not be told.
        what: &'static str,
        /// The bits of the enclosures.
        bits: u32,
    },
    /// A coefficient of the model that has no counterpart in the prime field.
    #[error("a coefficient of the local model cannot be represented: {0}")]
    Number(#[from] NumberError),
}

fn check_direction(model: &LocalModel, direction: &[Rational]) -> Result<(), OracleError> {
    if direction.len() == model.dimension() {
        Ok(())
    } else {
        Err(OracleError::Dimension { expected: model.dimension(), got: direction.len() })
    }
}

/// Refuses a model whose coefficients are enclosed.
fn check_exact(model: &LocalModel, what: &'static str) -> Result<(), OracleError> {
    match model.exactness() {
        Exactness::Exact => Ok(()),
        Exactness::Enclosed { bits } => Err(OracleError::Undecided { what, bits }),
    }
}

/// What may be shared between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Session<'static>>();
    shared::<Decision>();
    shared::<Conservative>();
    shared::<ClarkeElement>();
    shared::<Neighbours>();
    shared::<KinkReport>();
    shared::<OracleError>();
};
