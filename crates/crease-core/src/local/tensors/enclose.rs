//! One sweep in doubles with their errors: which kinks are decided, and how large numbers are.
//!
//! Every number is enclosed by a middle and a radius. A sum of n products, in whatever order, is off by at most n 2^-53 / (1 - n 2^-53) times the sum of
//! the sizes of its products, and by less than 2^-1074 for each product that is too small to be rounded relatively. Radii are rounded in plain doubles,
//! too, so everything is taken twice as large, which is more than enough for any n below 2^40.

use super::plan::{Left, Plan, State, Step, Times};
use super::{Refusal, Watch};
use crate::number::Rational;
use crate::tensor::Tensor;
use std::collections::HashMap;

/// What is known after the sweep.
pub(super) struct Enclosed {
    pub middle: Vec<Vec<f64>>,
    pub radius: Vec<Vec<f64>>,
    /// For each slot of a kink, what is taken.
    pub states: Vec<Vec<State>>,
    /// Kinks that enclosures do not decide.
    pub open: Vec<(usize, usize)>,
    /// For each slot, a bound on the sizes of its numbers.
    pub largest: Vec<f64>,
    /// How far kinks that were open and are no ties turned out to be from switching.
    pub margins: HashMap<(usize, usize), f64>,
}

/// A kink is left open where its argument is closer to it than so many times the error: then it is decided exactly, and its margin is known to some digits.
const CLOSE: f64 = (1u64 << 20) as f64;

/// Any state will do for what is no kink.
pub(super) const NO_KINK: State = State::Taken(0);

impl Enclosed {
    pub fn state(&self, slot: usize, cell: usize) -> &State {
        self.states[slot].get(cell).unwrap_or(&NO_KINK)
    }
}

/// A double next to a rational number, and how far it may be off.
fn near(x: &Rational) -> (f64, f64) {
    let middle = x.to_f64();
    match Rational::from_f64(middle).is_some_and(|m| m == *x) {
        true => (middle, 0.0),
        false => (middle, middle.abs() * f64::EPSILON + f64::MIN_POSITIVE),
    }
}

pub(super) fn sweep(plan: &Plan, at: &[Tensor<Rational>], watch: &Watch<'_>) -> Result<Enclosed, Refusal> {
    let n = plan.slots.len();
    let mut known = Enclosed {
        middle: vec![Vec::new(); n],
        radius: vec![Vec::new(); n],
        states: vec![Vec::new(); n],
        open: Vec::new(),
        largest: vec![0.0; n],
        margins: HashMap::new(),
    };
    for slot in plan.order() {
        let of = &plan.slots[slot];
        let (middle, radius): (Vec<f64>, Vec<f64>) = match &of.step {
            Step::Input(i) => at[*i].data().iter().map(near).unzip(),
            Step::Weights(weights) => (weights.to_vec(), vec![0.0; weights.len()]),
            Step::Constant(c) => std::iter::once(near(c)).unzip(),
            Step::Left => continue,
            Step::Hinge { arg, left } => hinge(slot, *arg, left, &mut known),
            Step::Lane { smallest, .. } => lanes(plan, slot, *smallest, &mut known),
            Step::Sum(_)
            | Step::Scaled { .. }
            | Step::Weighted { .. }
            | Step::View { .. }
            | Step::Assembled { .. }
            | Step::Product(_) => sums(plan, slot, &known),
        };
        watch.spend((of.len * plan.width(slot)) as u64)?;
        let sizes = middle.iter().zip(&radius).map(|(m, r)| m.abs() + r);
        let largest = sizes.fold(0.0, |a: f64, x| if x.is_nan() { f64::INFINITY } else { a.max(x) });
        if largest >= f64::MAX / 4.0 {
            return Err(Refusal::Unsuited);
        }
        // rounded up, since the sum was rounded
        known.largest[slot] = largest.next_up();
        (known.middle[slot], known.radius[slot]) = (middle, radius);
    }
    Ok(known)
}

/// Sums of products.
fn sums(plan: &Plan, slot: usize, known: &Enclosed) -> (Vec<f64>, Vec<f64>) {
    let weights = plan.weights(slot);
    let (ratio, doubt) = plan.ratio(slot).map_or((0.0, 0.0), near);
    let number = |cell: usize| {
        let (mut sum, mut size, mut spread, mut terms) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
        plan.terms(slot, cell, &NO_KINK, |times, _, arg, from| {
            let (x, r) = (known.middle[arg][from], known.radius[arg][from]);
            let by = match times {
                Times::One => 1.0,
                Times::MinusOne => -1.0,
                Times::Ratio => ratio,
                Times::Weight(i) => weights[i],
            };
            sum += by * x;
            size += (by * x).abs();
            spread += by.abs() * r;
            if times == Times::Ratio {
                spread += doubt * (x.abs() + r);
            }
            terms += 1.0;
        });
        // a copy is exact; so is a sum of integers that are not large, but nobody needs to know
        if terms <= 1.0 && weights.is_empty() && ratio == 0.0 {
            return (sum, spread);
        }
        (
            sum,
            2.0 * ((terms + 2.0) * f64::EPSILON * size + spread * (0.5 + 2.0 * (terms + 2.0) * f64::EPSILON))
                + terms * 1e-300,
        )
    };
    (0..plan.slots[slot].len).map(number).unzip()
}

/// An enclosure of everything between two numbers.
fn between(low: f64, high: f64) -> (f64, f64) {
    let middle = low / 2.0 + high / 2.0;
    (middle, (high - middle).max(middle - low) * (1.0 + 4.0 * f64::EPSILON) + 1e-300)
}

fn hinge(slot: usize, arg: usize, bend: &Left, known: &mut Enclosed) -> (Vec<f64>, Vec<f64>) {
    let (mut middle, mut radius) = (Vec::new(), Vec::new());
    for cell in 0..known.middle[arg].len() {
        let (x, r) = (known.middle[arg][cell], known.radius[arg][cell]);
        let left = |x: f64, r: f64| match bend {
            Left::Zero => (0.0, 0.0),
            Left::Minus => (-x, r),
            Left::Times(slope) => {
                let (s, doubt) = near(slope);
                (s * x, s.abs() * r * 1.01 + (doubt + s.abs() * f64::EPSILON) * (x.abs() + r) * 2.0 + 1e-300)
            }
        };
        let (y, s) = if x > r {
            (x, r)
        } else if x < -r {
            left(x, r)
        } else {
            let (a, b) = ((x, r), left(x, r));
            let low = (a.0 - a.1).min(b.0 - b.1).next_down();
            let high = (a.0 + a.1).max(b.0 + b.1).next_up();
            between(low, high)
        };
        let state = if x.abs() > CLOSE * r {
            State::Taken(u32::from(x > 0.0))
        } else {
            known.open.push((slot, cell));
            State::Open(vec![0, 1])
        };
        known.states[slot].push(state);
        middle.push(y);
        radius.push(s);
    }
    (middle, radius)
}

fn lanes(plan: &Plan, slot: usize, smallest: bool, known: &mut Enclosed) -> (Vec<f64>, Vec<f64>) {
    let (mut middle, mut radius) = (Vec::new(), Vec::new());
    let Step::Lane { size, .. } = plan.slots[slot].step else { return (middle, radius) };
    let sign = if smallest { -1.0 } else { 1.0 };
    for cell in 0..plan.slots[slot].len {
        let of = |member: u32, times: f64| {
            let (arg, from) = plan.member(slot, cell, member);
            let (x, r) = (sign * known.middle[arg][from], times * known.radius[arg][from]);
            ((x - r).next_down(), (x + r).next_up())
        };
        let ahead = |times: f64| -> Vec<u32> {
            let floor = (0..size as u32).map(|m| of(m, times).0).fold(f64::NEG_INFINITY, f64::max);
            (0..size as u32).filter(|&m| of(m, times).1 >= floor).collect()
        };
        let (y, s) = match ahead(1.0)[..] {
            [one] => {
                let (arg, from) = plan.member(slot, cell, one);
                (known.middle[arg][from], known.radius[arg][from])
            }
            ref several => {
                let floor = several.iter().map(|&m| of(m, 1.0).0).fold(f64::NEG_INFINITY, f64::max);
                let top = several.iter().map(|&m| of(m, 1.0).1).fold(floor, f64::max);
                let (y, s) = between(floor, top);
                (sign * y, s)
            }
        };
        let close = ahead(CLOSE);
        let state = match close[..] {
            [one] => State::Taken(one),
            _ => {
                known.open.push((slot, cell));
                State::Open(close)
            }
        };
        known.states[slot].push(state);
        middle.push(y);
        radius.push(s);
    }
    (middle, radius)
}
