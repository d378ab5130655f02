//! Is the function differentiable at the point? Theorem "Clarke subgradients and NP-hardness", as a solver.
//!
//! What enters is the local model d -> F'(x; d); what leaves is *yes* with the gradient, *no* with two distinct Clarke subgradients and a direction
//! for each, or *unknown* with the limit that was hit. With g one Clarke subgradient, F is differentiable at x iff h(d) = F'(x; d) - <g, d> is
//! zero for every d. The attack goes from cheap to dear:
//!
//! 1. no kink is active: yes;
//! 2. [the model is rewritten](relus) so that equal kinks are one and `relu(a - b) + b` is max(a, b); if no relu is left in the output: yes. This
//!    contains the test whether the conservative gradient is a singleton;
//! 3. gradients along random directions differ, or h is not zero along one of them: no;
//! 4. a search for a direction with h(d) != 0: [signs as propositions](signs), a SAT solver that learns clauses, and behind it
//!    [the cone of the phases](theory) with Farkas' lemma as its explanations.
//!
//! No answer rests on floating point: a *no* is a direction along which the model is evaluated exactly, and each lemma behind a
//! *yes* has exact multipliers. [`Decision::certificate`] writes both down for an independent checker.
//! Deliberately absent: any tolerance. [Where coefficients are enclosed](enclosed), the answer is no if two gradients differ whatever the
//! coefficients are, yes if no kink is active whatever they are, and unknown otherwise.

mod enclosed;
mod parts;
mod proof;
mod relus;
mod search;
mod signs;
mod theory;

use crate::{ClarkeElement, OracleError, Session, certificate};
use crease_core::Limits;
use crease_core::limits::Stop;
use crease_core::local::{Form, LocalModel, NormalForm};
use crease_core::number::Rational;
use crease_core::random::SplitMix64;
pub use parts::{PartOutcome, SearchPart, SignCube};

use proof::{Proof, Record};
use relus::Relus;
use search::{Outcome, search};
use signs::Signs;
use std::fmt;
use std::sync::Arc;

/// How hard to try.
///
/// ```
/// use crease_oracles::Effort;
/// use crease_core::Limits;
/// use std::time::Duration;
/// let effort = Effort { limits: Limits::default().within(Duration::from_secs(10)), ..Effort::default() };
/// assert!(effort.proof);
/// ```
#[derive(Clone)]
pub struct Effort<'a> {
    /// How many random directions are looked at before the search; with 0 it is all left to the search.
    pub directions: u32,
    /// The most conflicts of the search, when to give up, and the way to stop it.
    pub limits: Limits,
    /// For the random directions.
    pub seed: u64,
    /// Whether the search records what [`Decision::certificate`] needs for a yes.
    pub proof: bool,
    /// Told now and then how far the search is.
    pub watch: Option<&'a dyn Fn(&Progress)>,
}

impl Default for Effort<'_> {
    fn default() -> Self {
        Effort { directions: 8, limits: Limits::default(), seed: 0, proof: true, watch: None }
    }
}

impl fmt::Debug for Effort<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Effort")
            .field("directions", &self.directions)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Conflicts so far.
    pub conflicts: u64,
}

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    /// The number of conflicts that was allowed.
    #[error("the limit of {0} conflicts was reached")]
    Conflicts(u64),
    /// The deadline.
    #[error("time is up")]
    Time,
    /// The caller stopped it.
    #[error("it was stopped")]
    Stopped,
    /// [`Limits::work`] was used up.
    #[error("the limit of work was reached")]
    Work,
    /// [`Limits::memory`] was used up.
    #[error("the limit of memory was reached")]
    Memory,
    /// The model is too large to be rewritten.
    #[error("the model has too many terms to be searched")]
    TooLarge,
    /// Coefficients of the model are enclosed, with so many bits.
    #[error("not all operations have exact values here, and enclosures of {0} bits do not tell")]
    Bits(u32),
}

impl From<Stop> for Limit {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Time => Limit::Time,
            Stop::Cancelled => Limit::Stopped,
            Stop::Work => Limit::Work,
            Stop::Memory => Limit::Memory,
        }
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is differentiable; the element holds the gradient.
    Yes(ClarkeElement),
    /// It is not: two Clarke subgradients that differ.
    No(Box<[ClarkeElement; 2]>),
    /// Not known.
    Unknown {
        /// What prevented it.
        limit: Limit,
        /// The Clarke subgradient that is known, as far as the model is exact.
        best: Vec<ClarkeElement>,
    },
}

impl Verdict {
    /// `yes`, `no` or `unknown`.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Yes(_) => "yes",
            Verdict::No(_) => "no",
            Verdict::Unknown { .. } => "unknown",
        }
    }

    /// The subgradients that belong to it: the gradient, two that differ, or what is known.
    pub fn elements(&self) -> &[ClarkeElement] {
        match self {
            Verdict::Yes(e) => std::slice::from_ref(e),
            Verdict::No(sides) => &sides[..],
            Verdict::Unknown { best, .. } => best,
        }
    }
}

/// What the verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// No kink is active.
    NoKinks,
    /// Equal and opposite kinks cancel, or cannot matter.
    Rewriting,
    /// Gradients along random directions.
    Directions,
    /// Certain enclosures of gradients, which do not meet.
    Enclosure,
    /// The search.
    Search,
    /// Nothing: the verdict is unknown.
    Nothing,
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Argument::NoKinks => "no kink is active",
            Argument::Rewriting => "the kinks cancel",
            Argument::Directions => "random directions",
            Argument::Enclosure => "certain enclosures",
            Argument::Search => "a search",
            Argument::Nothing => "nothing",
        })
    }
}

/// What a search took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SearchCounts {
    /// Relus after rewriting.
    pub relus: usize,
    /// Propositions.
    pub atoms: usize,
    /// How many of them are phases of relus.
    pub phases: usize,
    /// Conflicts.
    pub conflicts: u64,
    /// Lemmas of linear arithmetic among them.
    pub lemmas: u64,
    /// Linear programs solved.
    pub linear_programs: u64,
}

/// An answer to the question whether a function is differentiable, and what it rests on.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The answer.
    pub verdict: Verdict,
    /// What it rests on.
    pub by: Argument,
    /// What the search took.
    pub counts: SearchCounts,
    written: Option<Written>,
}

/// What a certificate is written from.
#[derive(Clone, Debug)]
enum Written {
    Exact { normal: Arc<NormalForm>, output: usize, proof: Option<Proof> },
    Enclosed { model: LocalModel, output: usize },
}

impl Session<'_> {
    /// Decides whether the output is differentiable.
    ///
    /// ```
    /// use crease_core::{local::localize, max, min, relu, trace, Rational, Tensor};
    /// use crease_oracles::{Effort, Session, Verdict};
    /// let at_zero = |n: usize| vec![Tensor::scalar(Rational::ZERO); n];
    ///
    /// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
    /// let model = localize(&p, &at_zero(1)).unwrap();
    /// let Verdict::Yes(e) = Session::new(&model, 0).differentiable(&Effort::default()).unwrap().verdict else { panic!() };
    /// assert_eq!(e.gradient, [Rational::ONE]);
    ///
    /// // (a or b) and (a or not b) and (not a or b): satisfiable, so not differentiable
    /// let p = trace(2, |x| {
    ///     let clause = |a, b| relu(max(&[a, b]));
    ///     min(&[clause(x[0], x[1]), clause(x[0], -x[1]), clause(-x[0], x[1])])
    /// })
    /// .unwrap();
    /// let model = localize(&p, &at_zero(2)).unwrap();
    /// let Verdict::No(sides) = Session::new(&model, 0).differentiable(&Effort::default()).unwrap().verdict else { panic!() };
    /// assert_ne!(sides[0].gradient, sides[1].gradient);
    /// ```
    pub fn differentiable(&self, effort: &Effort<'_>) -> Result<Decision, OracleError> {
        match self.decided(effort) {
            // what is known by then is the gradient that was found first
            Err(OracleError::Stopped(stop)) => {
                let best = self.first_element(effort.seed).into_iter().collect();
                let unknown = Verdict::Unknown { limit: stop.into(), best };
                Ok(Decision { verdict: unknown, by: Argument::Nothing, counts: SearchCounts::default(), written: None })
            }
            decided => decided,
        }
    }

    fn decided(&self, effort: &Effort<'_>) -> Result<Decision, OracleError> {
        self.from()?;
        if let Some(plain) = self.plain() {
            let decision = plain.differentiable(effort)?;
            // there are norms, which cancel
            let by = if decision.by == Argument::NoKinks { Argument::Rewriting } else { decision.by };
            return Ok(Decision { by, ..decision });
        }
        let (model, output) = (self.model(), self.output());
        if !model.is_exact() {
            return enclosed::decide(self, effort);
        }
        let first = self.clarke_element(effort.seed)?;
        let mut counts = SearchCounts::default();
        let decide = |verdict, by, counts, written| Ok(Decision { verdict, by, counts, written });
        // what ends it is the session's, and what the search has of its own
        effort.limits.check().map_err(OracleError::Stopped)?;
        let relus =
            self.normal_form().and_then(|n| Relus::new(n, output, self.token().steps_of(self.limits().rewriting)));
        let written = |proof| self.normal_form().cloned().map(|normal| Written::Exact { normal, output, proof });
        let gradient = Form::from(&first.gradient[..]);
        counts.relus = relus.as_ref().map_or(0, |r| r.arguments.len());
        let relus = match relus {
            Some(relus) if relus.output == gradient => {
                let by = if model.kinks().is_empty() { Argument::NoKinks } else { Argument::Rewriting };
                let proof = Proof { relus, gradient, refutation: None };
                return decide(Verdict::Yes(first), by, counts, written(Some(proof)));
            }
            other => other,
        };
        // of a model so large that its equal members were not compared exactly, nothing is certain
        if !first.proved {
            let unknown = Verdict::Unknown { limit: Limit::TooLarge, best: vec![first] };
            return decide(unknown, Argument::Nothing, counts, None);
        }
        if let Some(second) = by_directions(self, &first, effort)? {
            return decide(Verdict::No(Box::new([first, second])), Argument::Directions, counts, written(None));
        }
        let Some(relus) = relus else {
            self.go_on()?;
            let unknown = Verdict::Unknown { limit: Limit::TooLarge, best: vec![first] };
            return decide(unknown, Argument::Nothing, counts, None);
        };
        let h = relus.output.minus(&gradient);
        match search(&relus, &h, &[], effort, &mut counts) {
            Outcome::Found(direction) => {
                let second = near(self, &direction, &first, effort.seed)?;
                decide(Verdict::No(Box::new([first, second])), Argument::Search, counts, written(None))
            }
            Outcome::None(refutation) => {
                let proof = effort.proof.then_some(Proof { relus, gradient, refutation: Some(refutation) });
                let written = if proof.is_some() { written(proof) } else { None };
                decide(Verdict::Yes(first), Argument::Search, counts, written)
            }
            Outcome::Limit(limit) => {
                decide(Verdict::Unknown { limit, best: vec![first] }, Argument::Nothing, counts, None)
            }
        }
    }
}

/// Another gradient, along directions that are easy to guess.
fn by_directions(
    session: &Session<'_>,
    first: &ClarkeElement,
    effort: &Effort<'_>,
) -> Result<Option<ClarkeElement>, OracleError> {
    if session.model().kinks().is_empty() || effort.directions == 0 {
        return Ok(None);
    }
    let differs = |e: &ClarkeElement| e.proved && e.gradient != first.gradient;
    let opposite: Vec<Rational> = first.direction.iter().map(|x| -x).collect();
    let mut found = session.clarke_along(&opposite)?.filter(differs);
    for i in 1..u64::from(effort.directions) {
        if found.is_some() {
            break;
        }
        found = Some(session.clarke_element(effort.seed.wrapping_add(i))?).filter(differs);
    }
    Ok(found)
}

/// A gradient in a cell that the given direction, along which the derivative is not that of `first`, lies in or borders on: it is another one.
fn near(
    session: &Session<'_>,
    direction: &[Rational],
    first: &ClarkeElement,
    seed: u64,
) -> Result<ClarkeElement, OracleError> {
    let along = |g: &[Rational]| -> Rational { g.iter().zip(direction).map(|(g, d)| g * d).sum() };
    let slope = session.directional(direction)?.swap_remove(session.output());
    debug_assert_ne!(slope, along(&first.gradient), "the search found a direction that shows nothing");
    let mut random = SplitMix64::new(seed);
    // many members leave little room between them
    let members: usize = session.sizes().iter().map(|n| n - 1).sum();
    let first_bits = 8 + members.checked_ilog2().unwrap_or(0) as i32;
    for attempt in 0..64 {
        // the direction itself, then ever smaller steps away from it
        let bits = (first_bits + attempt).min(40);
        let far = Rational::from(2).pow(bits + 4 * attempt).unwrap_or(Rational::ONE);
        let range = 1i64 << bits;
        let mut step = || match attempt {
            0 => Rational::ZERO,
            _ => Rational::from(random.below(2 * range as u64 + 1) as i64 - range),
        };
        let moved: Vec<Rational> = direction.iter().map(|d| &(d * &far) + &step()).collect();
        if let Some(e) = session.clarke_along(&moved)?
            && along(&e.gradient) == slope
        {
            return Ok(e);
        }
    }
    Err(OracleError::NoGenericDirection)
}

impl Decision {
    /// That it is not known, where there was no search because what comes before it ended at a limit.
    ///
    /// ```
    /// use crease_oracles::{Decision, Limit};
    /// assert_eq!(Decision::unknown(Limit::Time).verdict.word(), "unknown");
    /// ```
    pub fn unknown(limit: Limit) -> Self {
        let verdict = Verdict::Unknown { limit, best: Vec::new() };
        Decision { verdict, by: Argument::Nothing, counts: SearchCounts::default(), written: None }
    }

    /// The certificate of a yes or no, for the checker of the crate `crease-check`. There is none for an unknown, for a yes about a model
    /// that is not exact, and for a yes by search that was told not to record its proof.
    ///
    /// ```
    /// use crease_core::{local::localize, relu, trace, Rational, Tensor};
    /// use crease_oracles::{Effort, Session};
    /// let p = trace(1, |x| relu(x[0])).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let certificate = Session::new(&model, 0).differentiable(&Effort::default()).unwrap().certificate().unwrap();
    /// assert!(certificate.starts_with("crease-certificate 1\nclaim not-differentiable\ndimension 1\nkinks 1\nmax 0 ; 1*d0\n"));
    /// ```
    pub fn certificate(&self) -> Option<String> {
        let mut out = String::new();
        match (&self.verdict, self.written.as_ref()?) {
            (Verdict::No(sides), Written::Exact { normal, output, .. }) => {
                certificate::head(&mut out, "not-differentiable", normal, *output).ok()?;
                for e in sides.iter() {
                    certificate::side(&mut out, None, &e.direction, &e.gradient).ok()?;
                }
                out.push_str("end\n");
            }
            (Verdict::No(sides), Written::Enclosed { model, output }) => {
                return certificate::enclosed(model, *output, sides);
            }
            (Verdict::Yes(_), Written::Exact { normal, output, proof }) => {
                certificate::head(&mut out, "differentiable", normal, *output).ok()?;
                proof.as_ref()?.write(&mut out).ok()?;
            }
            (Verdict::Yes(_), Written::Enclosed { .. }) | (Verdict::Unknown { .. }, _) => return None,
        }
        Some(out)
    }
}
