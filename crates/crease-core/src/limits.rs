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
    /// The most equations, and calls, that expanding calls may make.
    pub equations: u64,
    /// Programs with more operations than this are run in floats and not exactly, unless exact numbers are insisted on.
    pub exact_operations: u64,
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
    /// The most terms that saturation makes for a region of a program.
    pub terms: usize,
    /// The most rounds in which saturation applies all laws.
    pub rounds: usize,
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
        equations: 1 << 23,
        exact_operations: 200_000,
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
        terms: 10_000,
        rounds: 16,
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

    /// The same, to be stopped by this.
    pub fn cancelled_by(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Whether it is time to stop, and why.
    pub fn stopped(&self) -> Option<Stop> {
        if self.cancel.is_stopped() {
            return Some(Stop::Cancelled);
        }
        self.deadline.filter(|&end| Instant::now() >= end).map(|_| Stop::Time)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits::DEFAULT
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
