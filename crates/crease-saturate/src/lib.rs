//! The complexity of a function: an upper bound on comp(f, D), the cost of the cheapest program over a dictionary D that computes f
//! (Section 3.1 of the paper), by equality saturation.
//!
//! A program enters; what leaves is a program that computes the same function, over the dictionary asked for, that costs at most as much at the
//! prices asked for, and how it was verified to be the same.
//!
//! ```text
//! Program ── lower, inline, scalarize, simplify ──> regions ── load ──> e-graph ── laws ──> e-graph
//!    ──> extract (shared terms paid once) ──> emit ──> verify ──> Program
//! ```
//!
//! | room | what it holds |
//! | --- | --- |
//! | `language` | the terms of the e-graph, and facts: constants, signs |
//! | `rules` | the laws of the ring and the lattice |
//! | `normal`, `horner` | polynomials over atoms; Horner's form of them, from which saturation starts as well |
//! | `graph`, `emit` | programs to terms and back |
//! | `weigh`, `extract` | what terms cost; the cheapest that were found |
//! | `verify` | proofs and tests of equality, without the e-graph |
//! | `saturate`, `regions` | the loop; large programs piece by piece |
//!
//! The result is an upper bound and no more: saturation stops at limits, and the laws do not know everything. Lower bounds on
//! comp(f, D) are deliberately absent, as are laws of smooth functions and whatever holds in floating point only: over floats the result may round
//! differently. It is defined wherever the program is, and may be defined at more points.
//!
//! ```
//! use crease_core::trace;
//! use crease_saturate::{simplest, Options};
//! let q1 = trace(3, |x| x[0] * x[1] + x[0] * x[2])?; // Figure 1 (c) of the paper
//! let found = simplest(&q1, &Options::default())?;
//! assert_eq!((found.before.to_string(), found.after.to_string()), ("3".into(), "2".into()));
//! assert!(found.verified.is_proved());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod emit;
mod extract;
mod graph;
mod horner;
mod language;
mod normal;
mod regions;
mod rules;
mod saturate;
mod verify;
mod weigh;

pub use verify::Verified;

use crease_core::cost::{Price, Prices, cost_within, tally_within};
use crease_core::dictionary::{Dictionary, LowerError, lower, outside};
use crease_core::limits::Stop;
use crease_core::{BuildError, CasesError, InlineError, Limits, Program, inline_within, scalarize_within, simplify};
use std::collections::BTreeSet;
use std::fmt;

/// What to look for, and how hard.
///
/// For given limits on terms and iterations the result is always the same; with a limit on time it depends on the machine.
///
/// ```
/// use crease_core::dictionary::Dictionary;
/// use crease_core::{max, trace};
/// use crease_saturate::{simplest, Options};
/// // without max in the dictionary it takes three operations
/// let p = trace(2, |x| max(&[x[0], x[1]]))?;
/// let d0 = simplest(&p, &Options { dictionary: Dictionary::D0, ..Options::default() })?;
/// assert_eq!(d0.after.to_string(), "2 + c_relu");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Options<'a> {
    /// What operations cost.
    pub prices: &'a Prices,
    /// The operations that the result may use. A program that uses others is lowered first.
    pub dictionary: Dictionary,
    /// The most terms and rounds, what single parts may take ([`SaturationLimits`](crease_core::limits::SaturationLimits)), when to stop saturating and to go on
    /// with what there is, and the way to stop it.
    pub limits: Limits,
    /// The most equations of a region: a program with more is saturated piece by piece.
    pub region: usize,
    /// A program of more scalar operations than this is only folded and shared, by [`crease_core::simplify`].
    pub equations: usize,
    /// For the points at which results are compared.
    pub seed: u64,
    /// Told now and then how far saturation is.
    pub watch: Option<&'a dyn Fn(&Progress)>,
}

/// Assumption 1: every operation of the dictionary costs 1.
static UNIT: std::sync::LazyLock<Prices> = std::sync::LazyLock::new(Prices::unit);

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            prices: &UNIT,
            dictionary: Dictionary::Extended,
            limits: Limits::DEFAULT,
            region: 40,
            equations: 20_000,
            seed: 0,
            watch: None,
        }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("prices", &self.prices)
            .field("dictionary", &self.dictionary)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// How far saturation of a region is.
///
/// ```
/// use crease_core::{trace, Cancel, Limits};
/// use crease_saturate::{simplest, Options, Progress};
/// let p = trace(3, |x| x[0] * x[1] + x[0] * x[2])?;
/// let cancel = Cancel::new();
/// let limits = Limits::default().cancelled_by(&cancel);
/// let watch = |progress: &Progress| {
///     if progress.iterations == 2 {
///         cancel.stop();
///     }
/// };
/// assert_eq!(simplest(&p, &Options { limits, watch: Some(&watch), ..Options::default() })?.iterations, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Rounds so far.
    pub iterations: usize,
    /// Terms made so far.
    pub nodes: usize,
}

/// What ended saturation before its laws had nothing new to say.
///
/// ```
/// use crease_saturate::Limit;
/// assert_eq!(Limit::Nodes.to_string(), "terms");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Limit {
    /// The number of terms.
    Nodes,
    /// The number of rounds.
    Iterations,
    /// The time.
    Time,
    /// The caller stopped it.
    Stopped,
    /// The work.
    Work,
    /// The memory.
    Memory,
    /// The program is larger than a region, so that nothing was found that goes across regions.
    Regions,
    /// The program is too large to be saturated at all.
    Size,
}

impl Limit {
    /// The name, as in JSON.
    fn name(self) -> &'static str {
        match self {
            Limit::Nodes => "terms",
            Limit::Iterations => "iterations",
            Limit::Time => "time",
            Limit::Stopped => "stopped",
            Limit::Work => "work",
            Limit::Memory => "memory",
            Limit::Regions => "regions",
            Limit::Size => "size",
        }
    }
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

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why there is no result at all.
///
/// ```
/// use crease_core::{dictionary::Dictionary, trace};
/// use crease_saturate::{simplest, Error, Options};
/// let p = trace(2, |x| x[0] * x[1]).unwrap();
/// let e = simplest(&p, &Options { dictionary: Dictionary::D0, ..Options::default() }).unwrap_err();
/// assert!(matches!(e, Error::Lower(_)), "{e}");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program cannot be expressed in the dictionary.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// Its calls cannot be expanded.
    #[error(transparent)]
    Inline(#[from] InlineError),
    /// It calls programs in too many ways for its cost to be counted.
    #[error(transparent)]
    Cases(#[from] CasesError),
    /// A program on the way could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// The cheapest program that was found.
///
/// ```
/// use crease_core::{relu, trace};
/// use crease_saturate::{simplest, Options};
/// let p = trace(2, |x| relu(x[0] - x[1]) + x[1])?;
/// let found = simplest(&p, &Options::default())?;
/// assert_eq!(found.program.to_string(), "program f(x0, x1) {\n  let v2 = max(x0, x1)\n  return v2\n}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Simplest {
    /// The program, with the inputs and outputs of the one that was given, and over the dictionary.
    pub program: Program,
    /// The cost of the program that was given; if it had to be lowered into the dictionary, that of the lowered one.
    pub before: Price,
    /// The cost of the program that was found: an upper bound on the complexity of the function.
    pub after: Price,
    /// Why both compute the same function.
    pub verified: Verified,
    /// What ended saturation early, the last one if there were several; empty if the laws had nothing new to say.
    pub limits: BTreeSet<Limit>,
    /// Whether no term of the e-graph is cheaper, so that only other laws could find more.
    pub optimal: bool,
    /// Whether the program had to be lowered into the dictionary.
    pub lowered: bool,
    /// How many rounds there were, in the saturation with most.
    pub iterations: usize,
    /// How many terms were made, in all saturations together.
    pub nodes: usize,
    /// How many regions were saturated.
    pub regions: usize,
}

/// The cheapest program that equality saturation finds for the function of a program.
///
/// It never costs more than the program, at the given prices, and nothing is returned as simplified that could not be verified.
///
/// ```
/// use crease_core::trace;
/// use crease_saturate::{simplest, Options};
/// let p = trace(1, |x| x[0] * x[0] * x[0] + 2.0 * (x[0] * x[0]) + 3.0 * x[0] + 4.0)?;
/// let horner = simplest(&p, &Options::default())?;
/// assert_eq!((horner.before.to_string(), horner.after.to_string()), ("8".into(), "5".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn simplest(p: &Program, options: &Options<'_>) -> Result<Simplest, Error> {
    let lowered = !outside(p, options.dictionary).is_empty();
    let given = if lowered { lower(p, options.dictionary)? } else { p.clone() };
    let before = cost_within(&given, &options.limits)?;
    let mut result = Simplest {
        before: before.clone(),
        after: before,
        program: given,
        verified: Verified::Unchanged,
        limits: BTreeSet::new(),
        optimal: false,
        lowered,
        iterations: 0,
        nodes: 0,
        regions: 0,
    };
    let operations = tally_within(&result.program, &options.limits)?.total();
    if operations > options.equations.into() || result.program.dimension() > 4 * options.equations {
        result.limits.insert(Limit::Size);
        result.offer(simplify(&result.program)?, Verified::Folded, options)?;
        return Ok(result);
    }
    let equations = options.limits.equations;
    let flat = scalarize_within(&inline_within(&result.program, equations)?, equations)?;
    let found = regions::improve(&flat, options)?;
    result.limits = found.limits;
    result.optimal = found.optimal;
    result.iterations = found.iterations;
    result.nodes = found.nodes;
    result.regions = found.regions;
    if let Verified::Not(_) = found.verified {
        result.verified = found.verified;
        return Ok(result);
    }
    let whole = emit::assembled(&result.program, &found.program)?;
    result.offer(whole, found.verified, options)?;
    Ok(result)
}

impl Simplest {
    /// Takes another program if it is cheaper and over the dictionary.
    fn offer(&mut self, p: Program, verified: Verified, o: &Options<'_>) -> Result<(), Error> {
        let price = cost_within(&p, &o.limits)?;
        if price.at(o.prices) < self.after.at(o.prices) && outside(&p, o.dictionary).is_empty() {
            (self.program, self.after, self.verified) = (p, price, verified);
        }
        Ok(())
    }
}

/// What may be shared between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Simplest>();
    shared::<Error>();
};
