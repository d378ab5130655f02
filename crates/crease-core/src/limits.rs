//! How far computations may go, and how to stop them: one value for all of crease.
//!
//! Forty lines of calls can stand for 10^12 operations, squaring makes numbers of 10^12 digits, and to decide differentiability is NP-hard. So
//! whatever may take long takes a [`Limits`]: runs, expansions, exact arithmetic, local models, oracles, saturation. Each looks at the
//! limits that concern it, and says which of them ended it. All of them stop when time is up, and when [`Cancel::stop`] is called
//! from another thread, a signal handler or a callback.

use crate::number::Budget;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How far computations may go.
///
/// ```
/// use crease_core::{run_with, trace, Limits, RunFault, Tensor, run::Unobserved};
/// let p = trace(1, |x| x[0] * x[0] * x[0]).unwrap();
/// let tight = Limits { steps: 5, ..Limits::default() };
/// let error = run_with(&p, &[Tensor::scalar(2.0)], tight, &mut Unobserved).unwrap_err();
/// assert!(matches!(error.fault, RunFault::TooLong { steps: 8, limit: 5 }), "{error}");
/// ```
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most steps of a run: one for each equation that is carried out, one for each number that it reads or writes, and one for each
    /// number that is multiplied in a product of matrices. By default 10^10, some minutes.
    pub steps: u64,
    /// The most numbers that a run holds at once. By default 2^29, which as f64 are four gigabytes.
    pub numbers: u64,
    /// The most bytes that constants, points and the numbers of a run may each take. They are counted before they are taken. By default 4 GiB.
    pub memory: u64,
    /// The most equations, and calls, that expanding calls may make, and the most that are looked at again because other arguments of calls are constants.
    pub equations: u64,
    /// Programs with more operations than this are run in floats and not exactly, unless exact numbers are insisted on.
    pub exact_operations: u64,
    /// More points than this are computed in floats and not exactly, unless exact numbers are insisted on.
    pub exact_points: usize,
    /// How long exact numbers may grow, and what they may take together, before floats take their place.
    pub exact: Budget,
    /// Programs with more operations than this are not run in intervals to show that the ties seen in floats are right.
    pub interval_operations: u64,
    /// Beside a derivative, programs with more operations than this are not localized, and nothing is asked of the oracles.
    pub local_operations: u64,
    /// The most bits of the enclosures of numbers that have no exact value.
    pub bits: u32,
    /// Beside a derivative, the most bits of all enclosures together.
    pub local_bits: u64,
    /// The most conflicts of a search for a verdict.
    pub conflicts: u64,
    /// The most cells that a list of all neighbouring gradients goes through.
    pub cells: u64,
    /// The most gradients in such a list.
    pub gradients: usize,
    /// The most steps through a local model that measure what single kinks can change.
    pub visits: usize,
    /// The most margins of decided kinks that a report lists, the smallest first.
    pub margins: usize,
    /// The most numbers of a basis, or of tangents in vector forward mode, of a lexicographic derivative.
    pub basis: u64,
    /// What questions about a local model may spend on their parts.
    pub oracles: OracleLimits,
    /// The most terms that saturation makes for a region of a program.
    pub terms: usize,
    /// The most rounds in which saturation applies all laws.
    pub rounds: usize,
    /// What saturation may spend on its parts.
    pub saturation: SaturationLimits,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// The way to stop it from outside.
    pub cancel: Cancel,
}

impl Limits {
    /// The limits where none are told.
    pub const DEFAULT: Limits = Limits {
        steps: 10_000_000_000,
        numbers: 1 << 29,
        memory: 4 << 30,
        equations: 1 << 23,
        exact_operations: 200_000,
        exact_points: 1 << 14,
        exact: Budget::SHORT,
        interval_operations: 5_000_000,
        local_operations: 200_000,
        bits: 4096,
        local_bits: 100_000_000,
        conflicts: u64::MAX,
        cells: u64::MAX,
        gradients: 1_000_000,
        visits: 2_000_000,
        margins: 10,
        basis: 20_000_000,
        oracles: OracleLimits::DEFAULT,
        terms: 10_000,
        rounds: 16,
        saturation: SaturationLimits::DEFAULT,
        deadline: None,
        cancel: Cancel(None),
    };

    /// The same, giving up after so long from now, or earlier if that was told before; never, if it is later than clocks can tell.
    ///
    /// ```
    /// use crease_core::{limits::Stop, Limits};
    /// use std::time::Duration;
    /// assert_eq!(Limits::default().within(Duration::ZERO).stopped(), Some(Stop::Time));
    /// assert_eq!(Limits::default().within(Duration::MAX).stopped(), None);
    /// ```
    pub fn within(mut self, time: Duration) -> Self {
        let end = Instant::now().checked_add(time);
        self.deadline = [self.deadline, end].into_iter().flatten().min();
        self
    }

    /// The same, giving up when this part of the time that is left is over, so that the rest is there for what comes after.
    ///
    /// ```
    /// use crease_core::Limits;
    /// use std::time::Duration;
    /// let whole = Limits::default().within(Duration::from_secs(100));
    /// assert!(whole.part(0.5).deadline.unwrap() < whole.deadline.unwrap() - Duration::from_secs(40));
    /// assert_eq!(Limits::default().part(0.5).deadline, None);
    /// ```
    pub fn part(&self, part: f64) -> Self {
        let left = self.deadline.map(|end| end.saturating_duration_since(Instant::now()));
        left.map_or_else(|| self.clone(), |left| self.clone().within(left.mul_f64(part.clamp(0.0, 1.0))))
    }

    /// The same, to be stopped by this.
    pub fn cancelled_by(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Sets the limit of a name, those of [`OracleLimits`] and [`SaturationLimits`] included, for flags and bindings. What exact numbers may take is `exact_bits` and `exact_work`.
    ///
    /// ```
    /// use crease_core::Limits;
    /// let mut limits = Limits::default();
    /// limits.set("conflicts", 1000).unwrap();
    /// limits.set("tableau", 1_000_000_000).unwrap();
    /// limits.set("exact_bits", 1_000_000).unwrap();
    /// assert_eq!((limits.conflicts, limits.oracles.tableau, limits.exact.bits), (1000, 1_000_000_000, 1_000_000));
    /// assert_eq!(limits.set("bits", 1 << 40).unwrap_err().to_string(), "bits=1099511627776 is too large: 4294967295 at most");
    /// assert!(limits.set("bitz", 1).unwrap_err().to_string().starts_with("there is no limit bitz; there are: steps, numbers, memory, equations"));
    /// ```
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), LimitError> {
        let (_, set) = NAMED.iter().find(|(n, _)| *n == name).ok_or_else(|| LimitError::Unknown(name.to_owned()))?;
        set(self, value).map_err(|most| LimitError::TooLarge { name: name.to_owned(), value, most })
    }

    /// The names that [`set`](Self::set) knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name)
    }

    /// Whether it is time to stop, and why.
    pub fn stopped(&self) -> Option<Stop> {
        if self.cancel.is_stopped() {
            return Some(Stop::Cancelled);
        }
        self.deadline.filter(|&end| Instant::now() >= end).map(|_| Stop::Time)
    }
}

/// How a limit is set, if the value is not larger than the most that it can be.
type Set = fn(&mut Limits, u64) -> Result<(), u64>;

/// The field of a limit: by its name, by its name within a part of the limits, or by another name there.
macro_rules! field {
    ($limits:ident $name:ident) => {
        &mut $limits.$name
    };
    ($limits:ident $name:ident $within:ident) => {
        &mut $limits.$within.$name
    };
    ($limits:ident $name:ident $within:ident $field:ident) => {
        &mut $limits.$within.$field
    };
}

/// Every limit that is a number, with its name.
macro_rules! named {
    ($($name:ident $($within:ident $($field:ident)?)?: $type:ty),* $(,)?) => {
        const NAMED: &[(&str, Set)] = &[$((stringify!($name), |limits, value| {
            *field!(limits $name $($within $($field)?)?) = <$type>::try_from(value).map_err(|_| <$type>::MAX as u64)?;
            Ok(())
        })),*];
    };
}

named! {
    steps: u64, numbers: u64, memory: u64, equations: u64, exact_operations: u64, exact_points: usize, exact_bits exact bits: usize, exact_work exact work: u64,
    interval_operations: u64, local_operations: u64,
    bits: u32, local_bits: u64, conflicts: u64, cells: u64, gradients: usize, visits: usize, margins: usize,
    basis: u64, terms: usize, rounds: usize,
    graph oracles: usize, normal_form oracles: usize, equality oracles: usize, attempts oracles: u32,
    drawn oracles: u64, rewriting oracles: usize, atoms oracles: usize, tableau oracles: usize,
    polynomial oracles: usize, parts oracles: usize, choices oracles: usize, spread oracles: usize,
    generic oracles: usize, norms oracles: usize, hull oracles: usize, tangents oracles: usize, squares oracles: usize,
    enclosed_attempts oracles: u32, enclosed_directions oracles: u32,
    again saturation: usize, matches saturation: usize, alternatives saturation: usize, changes saturation: usize,
    search saturation: usize, monomials saturation: usize, exponent saturation: u32, coefficient saturation: usize,
    compared saturation: usize, degree saturation: u64, cones saturation: u64,
}

/// Why a limit cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitError {
    /// There is none of this name.
    Unknown(String),
    /// It cannot be as large as that.
    TooLarge {
        /// Which.
        name: String,
        /// What was asked for.
        value: u64,
        /// The most that it can be.
        most: u64,
    },
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LimitError::Unknown(name) => {
                let names: Vec<&str> = Limits::names().collect();
                write!(f, "there is no limit {name}; there are: {}", names.join(", "))
            }
            LimitError::TooLarge { name, value, most } => write!(f, "{name}={value} is too large: {most} at most"),
        }
    }
}

impl std::error::Error for LimitError {}

impl Default for Limits {
    fn default() -> Self {
        Limits::DEFAULT
    }
}

/// What a local model and questions about it may spend on their parts. Where one of these is too small, a model is refused, an answer is not proved, a verdict unknown, a list incomplete, or a
/// certificate not there; none makes an answer wrong.
///
/// ```
/// use crease_core::{limits::OracleLimits, Limits};
/// let patient = OracleLimits { rewriting: 1_000_000_000, ..OracleLimits::DEFAULT };
/// let limits = Limits { oracles: patient, ..Limits::default() };
/// assert!(limits.oracles.rewriting > Limits::DEFAULT.oracles.rewriting);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OracleLimits {
    /// Steps on the normal form, and on the graph of the conservative gradient.
    pub graph: usize,
    /// Steps on the normal form where a list of all gradients needs it.
    pub normal_form: usize,
    /// Node visits on proving that members of a kink that tie along a direction are the same form.
    pub equality: usize,
    /// Directions that are drawn for a gradient before giving up. One is enough with probability one.
    pub attempts: u32,
    /// Directions that are drawn for a list of gradients where coefficients are enclosed.
    pub drawn: u64,
    /// Terms on rewriting a model in relus, which a search for a verdict starts from.
    pub rewriting: usize,
    /// The most atoms of that search.
    pub atoms: usize,
    /// The most numbers in the tableau of its linear programs.
    pub tableau: usize,
    /// Terms on a model with enclosed coefficients as a polynomial in them.
    pub polynomial: usize,
    /// The most exact parts of that polynomial that are decided one by one.
    pub parts: usize,
    /// Node visits on weights at the kinks that give a vector.
    pub choices: usize,
    /// Node visits on pushing two elements of the conservative gradient apart.
    pub spread: usize,
    /// Node visits on showing that cells of a list have a direction of their own.
    pub generic: usize,
    /// Node visits on seeing that norms are of several forms, so that gradients are infinitely many.
    pub norms: usize,
    /// The most numbers that are written down to see whether a rounded vector is close to a hull of gradients.
    pub hull: usize,
    /// Node visits on seeing, while a model is made, that the argument of an operation moves to first order.
    pub tangents: usize,
    /// Terms of quadratic forms, and node visits, on seeing that Euclidean norms are multiples of one another, or cancel.
    pub squares: usize,
    /// Directions that are drawn for a gradient where enclosed coefficients do not tell what is larger along them, before that is said.
    pub enclosed_attempts: u32,
    /// Directions that are drawn for a second gradient where coefficients are enclosed, beside those that are asked for.
    pub enclosed_directions: u32,
}

impl OracleLimits {
    /// The limits where none are told.
    pub const DEFAULT: OracleLimits = OracleLimits {
        graph: 2_000_000,
        normal_form: 50_000_000,
        equality: 5_000_000,
        attempts: 40,
        drawn: 64,
        rewriting: 50_000_000,
        atoms: 2_000_000,
        tableau: 40_000_000,
        polynomial: 100_000,
        parts: 64,
        choices: 5_000_000,
        spread: 5_000_000,
        generic: 50_000_000,
        norms: 1_000_000,
        hull: 2_000_000,
        tangents: 10_000,
        squares: 100_000,
        enclosed_attempts: 4,
        enclosed_directions: 4,
    };
}

impl Default for OracleLimits {
    fn default() -> Self {
        OracleLimits::DEFAULT
    }
}

/// What saturation may spend on its parts: on finding the cheapest terms, on normal forms, and on verifying that the result is the same function. Where one of
/// these is too small, a program is found that costs more, or is verified by a weaker argument, or is not verified and not returned; none makes a result wrong.
///
/// ```
/// use crease_core::{limits::SaturationLimits, Limits};
/// let patient = SaturationLimits { search: 10_000_000, ..SaturationLimits::DEFAULT };
/// let limits = Limits { saturation: patient, ..Limits::default() };
/// assert!(limits.saturation.search > Limits::DEFAULT.saturation.search);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaturationLimits {
    /// How often a program is saturated, starting from what was found before, as long as it gets cheaper.
    pub again: usize,
    /// The most matches that a law may have in a round; one that has more rests for some rounds, and may then have twice as many.
    pub matches: usize,
    /// The most terms for one value that are chosen from, the lightest first.
    pub alternatives: usize,
    /// How often single choices of terms are changed to see whether that is cheaper.
    pub changes: usize,
    /// Steps of the search through all choices of terms.
    pub search: usize,
    /// The most terms of a polynomial in a normal form.
    pub monomials: usize,
    /// The largest exponent that is multiplied out in a normal form.
    pub exponent: u32,
    /// The most bits of a coefficient in a normal form.
    pub coefficient: usize,
    /// At how many points a result is compared with the program. Fewer than twelve verify nothing.
    pub compared: usize,
    /// Rational functions of a higher degree than this are not compared there, but in a prime field only.
    pub degree: u64,
    /// The most conflicts of the search through cones that proves two piecewise-linear programs equal; never more than [`Limits::conflicts`].
    pub cones: u64,
}

impl SaturationLimits {
    /// The limits where none are told.
    pub const DEFAULT: SaturationLimits = SaturationLimits {
        again: 4,
        matches: 2_000,
        alternatives: 400,
        changes: 60_000,
        search: 60_000,
        monomials: 120,
        exponent: 24,
        coefficient: 2_000,
        compared: 48,
        degree: 200,
        cones: 20_000,
    };
}

impl Default for SaturationLimits {
    fn default() -> Self {
        SaturationLimits::DEFAULT
    }
}

/// Stops computations from outside: all that were given a clone of it.
///
/// ```
/// use crease_core::{limits::{Cancel, Stop}, Limits};
/// let cancel = Cancel::new();
/// let limits = Limits::default().cancelled_by(&cancel);
/// assert_eq!(limits.stopped(), None);
/// std::thread::scope(|s| s.spawn(|| cancel.stop()).join()).unwrap();
/// assert_eq!(limits.stopped(), Some(Stop::Cancelled));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel(Option<Arc<AtomicU8>>);

/// What [`Cancel`] goes through.
const GOING: u8 = 0;
const STOPPED: u8 = 1;
const NOTICED: u8 = 2;

impl Cancel {
    /// One that can be told to stop. (The default one cannot, and nobody looks at it.)
    pub fn new() -> Self {
        Cancel(Some(Arc::default()))
    }

    /// Stops what was given this. It may take a moment; what was found so far is kept.
    pub fn stop(&self) {
        if let Some(state) = &self.0 {
            let _ = state.compare_exchange(GOING, STOPPED, Relaxed, Relaxed);
        }
    }

    /// Whether it was told to stop.
    pub fn is_stopped(&self) -> bool {
        let Some(state) = &self.0 else { return false };
        let stopped = state.load(Relaxed) != GOING;
        if stopped {
            state.store(NOTICED, Relaxed);
        }
        stopped
    }

    /// Whether somebody has looked since it was told to stop: then the work is about to end. What does not look will not.
    ///
    /// ```
    /// use crease_core::Cancel;
    /// let cancel = Cancel::new();
    /// cancel.stop();
    /// assert!(!cancel.is_noticed());
    /// assert!(cancel.is_stopped() && cancel.is_noticed());
    /// ```
    pub fn is_noticed(&self) -> bool {
        self.0.as_ref().is_some_and(|state| state.load(Relaxed) == NOTICED)
    }
}

/// Why something stopped before it came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Time was up.
    Time,
    /// Somebody stopped it.
    Cancelled,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Time => "time is up",
            Stop::Cancelled => "it was stopped",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_name_and_is_set_by_it() {
        let mut limits = Limits::default();
        for (k, name) in Limits::names().enumerate() {
            limits.set(name, 1000 + k as u64).unwrap();
        }
        let text = format!("{limits:#?}");
        let (before, rest) = text.split_once("exact: Budget {").unwrap();
        let (budget, rest) = rest.split_once('}').unwrap();
        let number = |line: &str| {
            let (name, value) = line.trim().trim_end_matches(',').split_once(": ")?;
            value.parse::<u64>().ok().map(|value| (name.to_string(), value))
        };
        let mut set: Vec<(String, u64)> = before.lines().chain(rest.lines()).filter_map(number).collect();
        set.extend(budget.lines().filter_map(number).map(|(name, value)| (format!("exact_{name}"), value)));
        set.sort_by_key(|(_, value)| *value);
        let expected: Vec<(String, u64)> = Limits::names().map(String::from).zip(1000..).collect();
        assert_eq!(set, expected);
    }
}
