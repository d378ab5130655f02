//! How far computations may go, and how to stop them: one value for all of crease.
//!
//! Forty lines of calls can stand for 10^12 operations, squaring makes numbers of 10^12 digits, and to decide differentiability is NP-hard. So
//! whatever may take long takes a [`Limits`]: runs, expansions, exact arithmetic, local models, oracles, saturation. Each looks at the
//! limits that concern it, and says which of them ended it. All of them stop when time is up, and when [`Cancel::stop`] is called
//! from another thread, a signal handler or a callback.
//!
//! A [`Limits`] is also the work token of a question. Loops whose length depends on the input call [`Limits::charge`] with the work
//! that they are about to do. All clones of a token that was [started](Limits::started) share one count, so [`Limits::work`] bounds a
//! question as a whole, deterministically. The clock and the cancellation are polled once in [`POLL`] units.

use crate::number::{Budget, Rational};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
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
    /// The most bytes that constants, points and the numbers of a run may each take, and local models and lists together. They are counted before they are
    /// taken. By default 4 GiB.
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
    /// The most units of work, counted since the token was [started](Limits::started): about ten nanoseconds each, but the same for
    /// the same input on every machine.
    pub work: u64,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// The way to stop it from outside.
    pub cancel: Cancel,
    /// What was spent so far, shared by all clones.
    pub meter: Meter,
}

/// How many units of work are charged between two looks at the clock: about a tenth of a millisecond.
pub const POLL: u64 = 8192;

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
        work: u64::MAX,
        deadline: None,
        cancel: Cancel(None),
        meter: Meter(None),
    };

    /// The same limits for a new question: nothing is spent yet.
    ///
    /// ```
    /// use crease_core::{limits::Stop, Limits};
    /// let limits = Limits { work: 100, ..Limits::default() }.started();
    /// assert_eq!((limits.charge(60), limits.clone().charge(60)), (Ok(()), Err(Stop::Work)));
    /// assert_eq!(limits.started().charge(60), Ok(()));
    /// ```
    pub fn started(&self) -> Self {
        Limits { meter: Meter(Some(Arc::default())), ..self.clone() }
    }

    /// The same limits with a count of what is spent: that which they have, or a new one.
    pub fn metered(&self) -> Self {
        if self.meter.0.is_some() { self.clone() } else { self.started() }
    }

    /// The same, with at most so much more work from now on. The count is shared: what is spent here counts for the whole as well.
    ///
    /// ```
    /// use crease_core::{limits::Stop, Limits};
    /// let whole = Limits { work: 100, ..Limits::default() }.started();
    /// let part = whole.with_work(10);
    /// assert_eq!(part.charge(11), Err(Stop::Work));
    /// assert_eq!((part.stopped(), whole.stopped()), (Some(Stop::Work), None));
    /// ```
    pub fn with_work(&self, units: u64) -> Self {
        let limits = self.metered();
        let work = limits.work.min(limits.spent().saturating_add(units));
        Limits { work, ..limits }
    }

    /// The units of work that were charged since the token was started.
    pub fn spent(&self) -> u64 {
        self.meter.0.as_ref().map_or(0, |m| m.work.load(Relaxed))
    }

    /// Charges work that is about to be done, and says whether it may be. Cheap: the clock is read once in [`POLL`] units.
    #[inline]
    pub fn charge(&self, units: u64) -> Result<(), Stop> {
        let Some(meter) = &self.meter.0 else { return self.check() };
        // not one atomic operation: where threads share a count, which is rare, some of it may be lost
        let spent = meter.work.load(Relaxed).saturating_add(units);
        meter.work.store(spent, Relaxed);
        if spent < meter.poll.load(Relaxed) && spent <= self.work {
            return Ok(());
        }
        meter.poll.store(spent.saturating_add(POLL), Relaxed);
        self.check()
    }

    /// Charges work, and says whether to go on.
    #[inline]
    pub fn go_on(&self, units: u64) -> bool {
        self.charge(units).is_ok()
    }

    /// Charges memory that is about to be taken and kept, in bytes, and says whether it may be.
    ///
    /// ```
    /// use crease_core::{limits::Stop, Limits};
    /// let limits = Limits { memory: 1000, ..Limits::default() }.started();
    /// assert_eq!((limits.hold(600), limits.hold(600)), (Ok(()), Err(Stop::Memory)));
    /// limits.release_to(600);
    /// assert_eq!(limits.hold(400), Ok(()));
    /// ```
    pub fn hold(&self, bytes: usize) -> Result<(), Stop> {
        let held = match &self.meter.0 {
            Some(meter) => meter.memory.fetch_add(bytes as u64, Relaxed).saturating_add(bytes as u64),
            None => bytes as u64,
        };
        if held > self.memory { Err(Stop::Memory) } else { Ok(()) }
    }

    /// The bytes that are held.
    pub fn held(&self) -> u64 {
        self.meter.0.as_ref().map_or(0, |m| m.memory.load(Relaxed))
    }

    /// Reports all memory as freed but this many bytes: those that were [held](Self::held) at an earlier time.
    pub fn release_to(&self, bytes: u64) {
        if let Some(meter) = &self.meter.0 {
            meter.memory.fetch_min(bytes, Relaxed);
        }
    }

    /// A budget for exact numbers that does not outlast the time that is left.
    pub fn affordable(&self, budget: Budget) -> Budget {
        let left = self.deadline.map(|end| end.saturating_duration_since(Instant::now()));
        // a unit of that budget may take longer than the nanosecond that it stands for
        let most = left.map_or(u64::MAX, |left| u64::try_from(left.as_nanos() / 4).unwrap_or(u64::MAX).max(1));
        Budget { work: budget.work.min(most), ..budget }
    }

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

    /// Whether it is time to stop, and why. Reads the clock: for loops there is [`charge`](Self::charge).
    pub fn stopped(&self) -> Option<Stop> {
        if self.cancel.is_stopped() {
            return Some(Stop::Cancelled);
        }
        if let Some(meter) = &self.meter.0 {
            if meter.work.load(Relaxed) > self.work {
                return Some(Stop::Work);
            }
            if meter.memory.load(Relaxed) > self.memory {
                return Some(Stop::Memory);
            }
        }
        self.deadline.filter(|&end| Instant::now() >= end).map(|_| Stop::Time)
    }

    /// An error if it is time to stop.
    #[cold]
    pub fn check(&self) -> Result<(), Stop> {
        self.stopped().map_or(Ok(()), Err)
    }

    /// Steps that count for a limit of their own, and as work.
    pub fn steps_of(&self, limit: usize) -> Steps<'_> {
        Steps { left: limit, limits: self }
    }
}

/// What was spent by all that share a token. The default one counts nothing; see [`Limits::started`].
#[derive(Clone, Default)]
pub struct Meter(Option<Arc<Spent>>);

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meter")
    }
}

#[derive(Default)]
struct Spent {
    work: AtomicU64,
    /// At how much work the clock is read again.
    poll: AtomicU64,
    memory: AtomicU64,
}

/// Steps that are left of a limit. Each of them is charged to the work token, too.
///
/// ```
/// use crease_core::Limits;
/// let limits = Limits::default().started();
/// let mut steps = limits.steps_of(5);
/// assert_eq!((steps.take(3), steps.take(3)), (Some(()), None));
/// ```
#[derive(Clone, Debug)]
pub struct Steps<'l> {
    left: usize,
    limits: &'l Limits,
}

/// The units of work of a step: a term of a sparse sum.
const STEP: u64 = 6;

impl Steps<'_> {
    /// Takes some steps, unless there are not as many left, or it is time to stop.
    #[inline]
    pub fn take(&mut self, steps: usize) -> Option<()> {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(0);
        left.and(self.limits.charge(STEP * steps as u64).ok())
    }

    /// Charges work beyond the steps, such as that of long numbers.
    #[inline]
    pub fn charge(&self, units: u64) -> Option<()> {
        self.limits.charge(units).ok()
    }

    /// Charges memory that is kept; see [`Limits::hold`].
    pub fn hold(&self, bytes: usize) -> Option<()> {
        self.limits.hold(bytes).ok()
    }

    /// How many are left.
    pub fn left(&self) -> usize {
        self.left
    }

    /// The limits that end it otherwise.
    pub fn limits(&self) -> &Limits {
        self.limits
    }
}

/// The units of work that an operation on numbers of this many bits takes: quadratic, because fractions are reduced.
pub fn work_of_bits(bits: usize) -> u64 {
    let words = (bits / 64) as u64;
    1 + words.saturating_mul(words) / 8 + words
}

/// The units of work that an operation on a number takes.
#[inline]
pub fn work_of(x: &Rational) -> u64 {
    if x.small_parts().is_some() { 1 } else { work_of_bits(x.bits()) }
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
    basis: u64, terms: usize, rounds: usize, work: u64,
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
    /// [`Limits::work`] was used up.
    Work,
    /// [`Limits::memory`] was used up.
    Memory,
}

impl std::error::Error for Stop {}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Time => "time is up",
            Stop::Cancelled => "it was stopped",
            Stop::Work => "the limit of work was reached",
            Stop::Memory => "the limit of memory was reached",
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
