//! What a run will take, against its limits: known before the run, in time linear in its text.
//!
//! Forty lines of calls can stand for 10^12 operations. So every run has limits, by default generous ones; a run that would
//! certainly exceed them does not begin, and one that turns out to, because of the branches it takes, ends where that is clear.

use super::{RunError, RunFault, error};
use crate::flow::PerProgram;
use crate::flow::size::{Extent, extents};
use crate::limits::Limits;
use crate::number::Number;
use crate::program::{Program, Site};

/// The steps of a run so far, against its limits.
pub(super) struct Meter {
    limits: Limits,
    extents: PerProgram<Extent>,
    used: u128,
    /// The bytes of a number.
    each: usize,
    /// Whether numbers may grow, so that the clock is read at every equation.
    exact: bool,
}

/// The units of work that an equation takes.
const EQUATION: u64 = 8;

impl Meter {
    /// For runs of a program. What it needs is known now, so that hours are not spent before it is refused.
    pub fn new<N: Number>(p: &Program, limits: Limits) -> Self {
        Meter { limits: limits.metered(), extents: extents(p), used: 0, each: size_of::<N>(), exact: N::EXACT }
    }

    /// A program begins to run, called from an equation or as the main program.
    pub fn enter(&mut self, p: &Program, from: Option<(&Program, usize)>) -> Result<(), RunError> {
        let extent = self.extents.get(p).copied().unwrap_or_default();
        let (steps, numbers) = (self.used.saturating_add(extent.steps), extent.numbers);
        let fault = if steps > u128::from(self.limits.steps) {
            RunFault::TooLong { steps, limit: self.limits.steps }
        } else if numbers > u128::from(self.limits.numbers) {
            RunFault::TooLarge { numbers, limit: self.limits.numbers }
        } else if held(p, numbers).saturating_mul(self.each as u128) > u128::from(self.limits.memory) {
            RunFault::Memory { numbers: held(p, numbers), each: self.each, limit: self.limits.memory }
        } else {
            self.used = self.used.saturating_add(extent.own);
            return Ok(());
        };
        Err(match from {
            Some((caller, i)) => RunError { fault, site: Some(Box::new(Site::new(caller, i))) },
            None => error(fault),
        })
    }
}

impl Meter {
    /// An equation of a program is about to be carried out.
    pub fn step(&mut self, p: &Program, i: usize) -> Result<(), RunError> {
        let charged = self.limits.charge(EQUATION);
        let stop = match self.exact {
            true => charged.and_then(|()| self.limits.check()),
            false => charged,
        };
        stop.map_err(|stop| RunError { fault: RunFault::Stopped(stop), site: Some(Box::new(Site::new(p, i))) })
    }
}

/// The numbers that are held at once, and the outputs, which leave as copies.
fn held(p: &Program, numbers: u128) -> u128 {
    p.outputs().iter().fold(numbers, |n, &o| n.saturating_add(p.atom_shape(o).len() as u128))
}

/// The least number of steps that a run of a program takes, as [`Limits`] count them: one branch of every selection, the cheapest.
///
/// ```
/// use crease_core::{run, trace};
/// assert_eq!(run::least_steps(&trace(2, |x| x[0] * x[1]).unwrap()), 4);
/// ```
pub fn least_steps(p: &Program) -> u128 {
    extents(p)[p].steps
}
