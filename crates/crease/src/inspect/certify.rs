//! Error bounds for what floats compute: which numbers are certain, and to which digit.
//!
//! A run in f64 enters, or its failure; what leaves is a [`Computed`] whose numbers have bounds, as far as these can be had. There are two tiers:
//!
//! - **Tier 0**, intervals of doubles. The same program runs once more on numbers with a running error bound, each operation rounded outward (the
//!   library functions included, forward and backward). It decides most branches and bounds every output.
//! - **Tier 1**, enclosures of 128, 256, ... bits. They follow where tier 0 leaves a branch open or bounds an output worse than to the last digit of a
//!   double, as far as [`Limits::local_bits`] allows: work is bounded beforehand, so that the same input gives the same answer.
//!
//! A fault of a run in enclosures is one of mathematics: the argument of a logarithm is certainly not positive. A fault of a run in floats need not
//! be: `sigmoid(x)` underflows at -800 and has a logarithm. So enclosures have the last word about those.
//!
//! Deliberately absent: equal numbers that come about differently. No enclosure tells that `sqrt(x)*sqrt(x)` is `x`; the
//! [local model](crease_core::local) knows some of these, and [`inspect()`](super::inspect()) asks it.

use super::at::{above, known};
use super::numbers::{Answer, Computed, Failed, FloatBecause, Task};
use super::ties::Met;
use crease_core::number::{Interval, Mixed};
use crease_core::{Limits, Number, NumberError, Rational, RunError, RunFault, Tensor};
use crease_oracles::accurate;

/// The first precision of tier 1 and the last, in bits. What is still open then is for the local model.
const BITS: (u32, u32) = (128, 1024);

/// What a run with bounds gave.
struct Bounded {
    outputs: Vec<Answer>,
    met: Vec<Met>,
    /// Whether all numbers are known to the last digit of a double.
    sharp: bool,
}

impl Bounded {
    fn decided(&self) -> bool {
        self.met.iter().all(|m| m.certain)
    }

    fn computed(self, bits: Option<u32>, because: FloatBecause) -> Computed {
        let decided = self.decided();
        Computed::bounded(self.outputs, self.met, decided, bits, because)
    }
}

/// How far to go with one point.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// Whether tier 0 may run.
    pub intervals: bool,
    /// The most bits that tier 1 may use; 0 where it may not run.
    pub bits: u32,
}

impl Reach {
    /// The reach for a program of this many operations.
    pub fn of(operations: u128, refine: bool, limits: &Limits) -> Reach {
        let afford = u128::from(limits.local_bits) / operations.max(1);
        let afford = u32::try_from(afford).unwrap_or(u32::MAX).min(limits.bits).min(BITS.1);
        let refine = refine && operations <= u128::from(limits.exact_operations);
        Reach { intervals: operations <= u128::from(limits.interval_operations), bits: if refine { afford } else { 0 } }
    }
}

impl Task<'_> {
    /// What is known at a point where a run in f64 gave this, or failed.
    pub(super) fn certified(
        &self,
        at: (usize, &[Tensor<Rational>]),
        floats: Result<(Vec<Tensor<f64>>, Vec<Met>), Failed>,
        reach: Reach,
        because: FloatBecause,
        limits: &Limits,
    ) -> Result<Computed, Failed> {
        let near = floats.as_ref().ok().map(|(outputs, _)| &outputs[..]);
        let mut best: Option<(Bounded, Option<u32>)> = None;
        let mut doubt = None;
        if reach.intervals {
            match self.in_intervals(at, near, limits) {
                Ok(found) if found.decided() && (found.sharp || reach.bits < BITS.0) => {
                    return Ok(found.computed(None, because));
                }
                Ok(found) => best = Some((found, None)),
                Err(e) if is_certain(&e.error) => return Err(e),
                Err(e) => doubt = Some(e.error.to_string()),
            }
        }
        let mut bits = BITS.0;
        while bits <= reach.bits {
            match self.in_enclosures(at, bits, limits) {
                Ok(found) => {
                    let done = found.decided() && found.sharp;
                    (best, doubt) = (Some((found, Some(bits))), None);
                    if done {
                        break;
                    }
                }
                Err(e) if is_certain(&e.error) => return Err(e),
                Err(e) => doubt = Some(e.error.to_string()),
            }
            // more bits may tell; if there is no time for them, what there is remains
            if limits.stopped().is_some() {
                break;
            }
            bits *= 2;
        }
        match (best, floats) {
            (Some((found, bits)), floats) if found.decided() || floats.is_err() => Ok(found.computed(bits, because)),
            // which branch is taken is open: floats say what they make of it, with no bound
            (best, Ok((outputs, met))) => {
                let open = best.and_then(|(found, _)| found.met.into_iter().find(|m| !m.certain));
                let doubt =
                    open.map(|m| format!("whether {} is at its kink, in `{}`", m.operation, m.site.text())).or(doubt);
                let outputs = outputs.into_iter().map(Answer::float).collect();
                Ok(Computed { doubt, ..Computed::bounded(outputs, met, false, None, because) })
            }
            (_, Err(e)) => Err(e),
        }
    }

    /// Tier 0: outputs and ties in intervals of doubles, with what floats gave as the numbers that are shown, where they are inside.
    fn in_intervals(
        &self,
        (point, inputs): (usize, &[Tensor<Rational>]),
        near: Option<&[Tensor<f64>]>,
        limits: &Limits,
    ) -> Result<Bounded, Failed> {
        let convert = |t: &Tensor<Rational>| t.convert::<Interval>();
        let inputs = inputs.iter().map(convert).collect::<Result<Vec<_>, NumberError>>();
        let inputs = inputs.map_err(|e| Failed::input(e, point))?;
        let met = self.watch(point, &inputs, limits)?;
        let outputs = self.run(point, &inputs, limits)?;
        let mut sharp = true;
        let mut answer = |(k, t): (usize, &Tensor<Interval>)| {
            let floats = near.and_then(|all| all.get(k)).map(Tensor::data);
            let pairs = t.data().iter().enumerate().map(|(i, x)| {
                let near = floats.and_then(|f| f.get(i)).copied().filter(|f| (x.lo()..=x.hi()).contains(f));
                let near = near.unwrap_or_else(|| x.to_f64());
                let radius = farthest(x, near);
                sharp &= radius <= near.abs() * f64::EPSILON;
                // a bound that is wider than its number says nothing about it: intervals may be wide where rounding is not to blame
                (near, if radius < near.abs() || x.is_point() { radius } else { f64::INFINITY })
            });
            let (near, radius): (Vec<f64>, Vec<f64>) = pairs.unzip();
            Answer::within(t.shape().clone(), near, radius)
        };
        let outputs = outputs.iter().enumerate().map(&mut answer).collect();
        Ok(Bounded { outputs, met, sharp })
    }

    /// Tier 1: outputs and ties in enclosures of this many bits.
    fn in_enclosures(
        &self,
        (point, inputs): (usize, &[Tensor<Rational>]),
        bits: u32,
        limits: &Limits,
    ) -> Result<Bounded, Failed> {
        let inputs: Vec<Tensor<Mixed>> = inputs.iter().map(|t| t.map(|x| Mixed::exactly(x.clone()).at(bits))).collect();
        let met = self.watch(point, &inputs, limits)?;
        let outputs = self.run(point, &inputs, limits)?;
        let sharp = accurate(bits, outputs.iter().flat_map(|t| t.data()));
        let outputs = outputs.iter().map(|t| known(t.shape().clone(), t.data())).collect();
        Ok(Bounded { outputs, met, sharp })
    }
}

/// A bound on the distance of a member from all others.
fn farthest(x: &Interval, near: f64) -> f64 {
    let distance = |end: f64| match (Rational::from_f64(end), Rational::from_f64(near)) {
        (Some(end), Some(near)) => above(&(end - near).abs()),
        _ => f64::INFINITY,
    };
    if x.is_point() { 0.0 } else { distance(x.lo()).max(distance(x.hi())) }
}

/// Whether a run in enclosures failed for all numbers that they hold. Undecided comparisons and overflow of the enclosures are not certain failures.
fn is_certain(e: &RunError) -> bool {
    match &e.fault {
        RunFault::Number(fault) => matches!(
            fault,
            NumberError::DivisionByZero
                | NumberError::LogOfNonPositive
                | NumberError::SqrtOfNegative
                | NumberError::Outside { .. }
                | NumberError::NotATruth(_)
                | NumberError::NotAPosition { .. }
        ),
        RunFault::InputCount { .. } | RunFault::InputShape { .. } | RunFault::InputNotFinite { .. } => true,
        // what overflows, is undecided or was stopped; and a set that holds 1 among others is no boolean and may be one
        _ => false,
    }
}
