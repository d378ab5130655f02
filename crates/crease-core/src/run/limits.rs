//! What a run will take, against its limits: known before the run, in time linear in its text.
//!
//! Forty lines of calls can stand for 10^12 operations. So every run has limits, by default generous ones; a run that would
//! certainly exceed them does not begin, and one that turns out to, because of the branches it takes, ends where that is clear.

use super::{RunError, RunFault, error};
use crate::limits::Limits;
use crate::op::Op;
use crate::program::Site;
use crate::program::{Equation, Program};
use std::collections::HashMap;
use std::sync::Arc;

/// What running a program takes, calls included; of a selection what the cheapest branch takes. Beyond 2^128 it is that much.
#[derive(Clone, Copy, Default)]
struct Extent {
    /// the steps of its own equations
    own: u128,
    /// at least so many steps in all
    steps: u128,
    /// at least so many numbers at once
    numbers: u128,
}

/// The steps of a run so far, against its limits.
pub(super) struct Meter {
    limits: Limits,
    extents: HashMap<*const Program, Extent>,
    used: u128,
    /// Equations until somebody looks at the clock again.
    unwatched: u32,
}

/// So many equations are carried out between two looks at the clock.
const UNWATCHED: u32 = 256;

impl Meter {
    /// For runs of a program. What it needs is known now, so that hours are not spent before it is refused.
    pub fn new(p: &Program, limits: Limits) -> Self {
        Meter { limits, extents: extents(p), used: 0, unwatched: UNWATCHED }
    }

    /// A program begins to run, called from an equation or as the main program.
    pub fn enter(&mut self, p: &Program, from: Option<(&Program, usize)>) -> Result<(), RunError> {
        let extent = self.extents.get(&std::ptr::from_ref(p)).copied().unwrap_or_default();
        let (steps, numbers) = (self.used.saturating_add(extent.steps), extent.numbers);
        let fault = if steps > u128::from(self.limits.steps) {
            RunFault::TooLong { steps, limit: self.limits.steps }
        } else if numbers > u128::from(self.limits.numbers) {
            RunFault::TooLarge { numbers, limit: self.limits.numbers }
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
        self.unwatched -= 1;
        if self.unwatched > 0 {
            return Ok(());
        }
        self.unwatched = UNWATCHED;
        match self.limits.stopped() {
            None => Ok(()),
            Some(stop) => Err(RunError { fault: RunFault::Stopped(stop), site: Some(Box::new(Site::new(p, i))) }),
        }
    }
}

/// The least number of steps that a run of a program takes, as [`Limits`] count them: one branch of every selection, the cheapest.
///
/// ```
/// use crease_core::{run, trace};
/// assert_eq!(run::least_steps(&trace(2, |x| x[0] * x[1]).unwrap()), 4);
/// ```
pub fn least_steps(p: &Program) -> u128 {
    extents(p).get(&std::ptr::from_ref(p)).copied().unwrap_or_default().steps
}

fn extents(p: &Program) -> HashMap<*const Program, Extent> {
    let mut out: HashMap<*const Program, Extent> = HashMap::new();
    for q in p.library() {
        let extent = extent(&q, &out);
        out.insert(Arc::as_ptr(&q), extent);
    }
    let whole = extent(p, &out);
    out.insert(std::ptr::from_ref(p), whole);
    out
}

fn extent(p: &Program, known: &HashMap<*const Program, Extent>) -> Extent {
    if p.callees().is_empty() && p.shapes.iter().all(|s| s.is_scalar()) {
        // the frequent case of a large scalar program takes no look at its equations
        let results = p.values() - p.inputs().len();
        let own = (p.len() + p.args.len() + results) as u128;
        return Extent { own, steps: own, numbers: p.values() as u128 };
    }
    let numbers: u128 = (0..p.values()).map(|v| p.shapes[p.value_shapes[v] as usize].len() as u128).sum();
    let mut out = Extent { numbers, ..Extent::default() };
    let mut deepest = 0;
    for e in p.equations() {
        let own = steps(p, &e);
        out.own = out.own.saturating_add(own);
        let callees = e.op.callees().iter().map(|id| known[&Arc::as_ptr(&p.callee(*id).program)]);
        let least = |of: fn(&Extent) -> u128| callees.clone().map(|c| of(&c)).min().unwrap_or(0);
        out.steps = out.steps.saturating_add(own).saturating_add(least(|c| c.steps));
        deepest = deepest.max(least(|c| c.numbers));
    }
    out.numbers = out.numbers.saturating_add(deepest);
    out
}

/// The steps of one equation, without those of what it calls.
fn steps(p: &Program, e: &Equation<'_>) -> u128 {
    let read: usize = match e.op {
        Op::Assemble { pieces, .. } => pieces.iter().map(|l| l.len()).sum(),
        Op::Call(_) | Op::Select(_) => e.args.len(), // tensors are passed on as they lie
        _ => e.args.iter().map(|a| a.value().map_or(1, |v| p.shape(v).len())).sum(),
    };
    let written: usize = match e.op {
        Op::Call(_) | Op::Select(_) => e.results,
        _ => e.results().map(|v| p.shape(v).len()).sum(),
    };
    1 + read as u128 + written as u128 + e.multiplied(p)
}
