//! The numbers that enclosures do not tell, exactly: integers of a fixed number of words over one scale for each slot.
//!
//! Rationals of one tensor have a common measure: the largest number of which all of them are multiples. Weights of 24 bits times numbers of 60 bits are multiples of the product of both
//! measures, so a layer adds a word or less to each number, and no fraction is ever reduced. How many words a slot takes follows from how large its enclosures
//! are. Only what is needed is computed: the arguments of open kinks, what is returned, and what those are made of along the branches that are taken.

use super::enclose::{Enclosed, NO_KINK};
use super::fixed::{self, Factor, add_product, parts};
use super::plan::{Left, Plan, State, Step, Times};
use super::{Refusal, WORDS, Watch};
use crate::local::form::gcd;
use crate::number::Rational;
use crate::tensor::Tensor;

/// Exact numbers of slots, where they were needed.
pub(super) struct Values {
    scale: Vec<Rational>,
    words: Vec<usize>,
    data: Vec<Vec<u64>>,
    /// How many numbers were computed.
    pub numbers: usize,
}

impl Values {
    fn integer(&self, slot: usize, cell: usize) -> &[u64] {
        &self.data[slot][cell * self.words[slot]..][..self.words[slot]]
    }

    /// A number that was needed.
    pub fn number(&self, slot: usize, cell: usize) -> Rational {
        Rational::from_words(self.integer(slot, cell)) * &self.scale[slot]
    }
}

/// What steps multiply by, once numbers are integers.
pub(super) struct Factors {
    one: Vec<Factor>,
    ratio: Vec<Factor>,
    weights: Vec<Factor>,
}

impl Factors {
    /// `scales` says, for each argument by position, by what a number of the argument is multiplied so that it is counted in the scale of the result, or the other way.
    pub fn new(plan: &Plan, slot: usize, scales: &[Rational]) -> Option<Factors> {
        let weights = plan.weights(slot);
        let one = match &plan.slots[slot].step {
            Step::Scaled { .. } | Step::Weighted { .. } | Step::Product(_) => Vec::new(),
            _ => scales.iter().map(Factor::new).collect::<Option<_>>()?,
        };
        let ratio = match plan.ratio(slot) {
            Some(ratio) => scales.iter().map(|s| Factor::new(&(s * ratio))).collect::<Option<_>>()?,
            None => Vec::new(),
        };
        let weights = match (weights, scales) {
            ([], _) => Vec::new(),
            (weights, [scale]) => match scale.power_of_two() {
                Some(shift) => weights.iter().map(|&w| Factor::shifted(w, shift)).collect::<Option<_>>()?,
                None => {
                    let times = |&w: &f64| Factor::new(&(Rational::from_f64(w)? * scale));
                    weights.iter().map(times).collect::<Option<_>>()?
                }
            },
            _ => return None,
        };
        Some(Factors { one, ratio, weights })
    }

    pub fn of(&self, times: Times, position: usize) -> Factor {
        match times {
            Times::One => self.one[position],
            Times::MinusOne => self.one[position].negated(),
            Times::Ratio => self.ratio[position],
            Times::Weight(i) => self.weights[i],
        }
    }
}

/// The largest number of which all that a step multiplies by are multiples; nothing if that is only 0.
pub(super) fn measure(plan: &Plan, slot: usize) -> Option<Rational> {
    let exponent = |w: &f64| (*w != 0.0).then(|| parts(*w).1);
    match &plan.slots[slot].step {
        Step::Scaled { by, .. } => Some(by.abs()).filter(|b| !b.is_zero()),
        Step::Weighted { .. } | Step::Product(_) => {
            let least = plan.weights(slot).iter().filter_map(exponent).min()?;
            Rational::from(2).pow(i32::try_from(least).ok()?)
        }
        Step::Hinge { left: Left::Times(slope), .. } => Some(gcd(Rational::ONE, slope.abs())),
        Step::Hinge { left: Left::Zero | Left::Minus, .. } | Step::Lane { .. } => Some(Rational::ONE),
        Step::Input(_) | Step::Weights(_) | Step::Constant(_) | Step::Left => Some(Rational::ONE),
        Step::Sum(_) | Step::View { .. } | Step::Assembled { .. } => Some(Rational::ONE),
    }
}

/// The largest number of which all these are multiples: 1 if all of them are 0.
fn common<'x>(numbers: impl Iterator<Item = &'x Rational>) -> Rational {
    let all = numbers.fold(Rational::ZERO, |all, x| gcd(all, x.abs()));
    if all.is_zero() { Rational::ONE } else { all }
}

pub(super) fn sweep(
    plan: &Plan,
    at: &[Tensor<Rational>],
    known: &mut Enclosed,
    watch: &Watch<'_>,
) -> Result<Values, Refusal> {
    let n = plan.slots.len();
    let needed = needed(plan, known);
    let mut values = Values { scale: vec![Rational::ONE; n], words: vec![1; n], data: vec![Vec::new(); n], numbers: 0 };
    for slot in plan.order() {
        let step = &plan.slots[slot].step;
        if needed[slot].is_empty() {
            continue;
        }
        let args = plan.args(slot);
        let scale = match step {
            Step::Input(i) => common(at[*i].data().iter()),
            Step::Constant(c) => common(std::iter::once(c)),
            Step::Weights(weights) => {
                let least = weights.iter().filter(|w| **w != 0.0).map(|w| parts(*w).1).min().unwrap_or(0);
                i32::try_from(least).ok().and_then(|e| Rational::from(2).pow(e)).ok_or(Refusal::Unsuited)?
            }
            Step::Left => continue,
            _ => {
                let measure = measure(plan, slot).unwrap_or(Rational::ONE);
                let units: Vec<Rational> = args.iter().map(|&a| &values.scale[a] * &measure).collect();
                common(units.iter())
            }
        };
        let top = known.largest[slot];
        let bits = if top > 0.0 { top.log2().ceil() as i64 } else { 0 } - scale.floor_log2().unwrap_or(0) + 2;
        let words = fixed::words(bits);
        if words > WORDS {
            return Err(Refusal::Unsuited);
        }
        let scales: Vec<Rational> = args.iter().filter_map(|&a| values.scale[a].checked_div(&scale)).collect();
        let factors = Factors::new(plan, slot, &scales).ok_or(Refusal::Unsuited)?;
        let mut data = vec![0u64; plan.slots[slot].len * words];
        let mut given = |cell: usize, x: &Rational| {
            let factor = x.checked_div(&scale).and_then(|x| Factor::new(&x)).ok_or(Refusal::Unsuited)?;
            add_product(&mut data[cell * words..][..words], factor, &[1]);
            Ok::<(), Refusal>(())
        };
        match step {
            Step::Input(i) => at[*i].data().iter().enumerate().try_for_each(|(cell, x)| given(cell, x))?,
            Step::Constant(c) => given(0, c)?,
            Step::Weights(weights) => {
                let shift = -scale.power_of_two().unwrap_or(0);
                for (cell, w) in weights.iter().enumerate() {
                    let factor = Factor::shifted(*w, shift).ok_or(Refusal::Unsuited)?;
                    add_product(&mut data[cell * words..][..words], factor, &[1]);
                }
            }
            _ => {
                for cell in 0..plan.slots[slot].len {
                    if !needed[slot][cell] {
                        continue;
                    }
                    if let State::Open(candidates) = known.state(slot, cell) {
                        let (state, margin) = decided(plan, slot, cell, candidates, &values);
                        known.states[slot][cell] = state;
                        known.margins.extend(margin.map(|m| ((slot, cell), m.to_f64())));
                    }
                    let sum = &mut data[cell * words..][..words];
                    plan.terms(slot, cell, known.state(slot, cell), |times, position, arg, from| {
                        add_product(sum, factors.of(times, position), values.integer(arg, from));
                    });
                    values.numbers += 1;
                    watch.spend((plan.width(slot) * words) as u64)?;
                }
            }
        }
        (values.scale[slot], values.words[slot], values.data[slot]) = (scale, words, data);
    }
    Ok(values)
}

/// What an open kink does, now that its arguments are known, and how far it is from switching.
fn decided(plan: &Plan, slot: usize, cell: usize, candidates: &[u32], values: &Values) -> (State, Option<Rational>) {
    let number = |m: u32| {
        let (arg, from) = plan.member(slot, cell, m);
        values.number(arg, from)
    };
    match &plan.slots[slot].step {
        Step::Lane { smallest, .. } => {
            let mut ranked: Vec<(Rational, u32)> = candidates.iter().map(|&m| (number(m), m)).collect();
            let order = |a: &Rational, b: &Rational| if *smallest { a.cmp(b) } else { b.cmp(a) };
            // members that tie keep their order
            ranked.sort_by(|a, b| order(&a.0, &b.0));
            let tied: Vec<u32> = ranked.iter().take_while(|x| x.0 == ranked[0].0).map(|x| x.1).collect();
            match (&tied[..], ranked.get(1)) {
                (&[one], next) => (State::Taken(one), next.map(|next| (&ranked[0].0 - &next.0).abs())),
                _ => (State::Tied(tied), None),
            }
        }
        Step::Hinge { .. } => match number(0) {
            x if x.is_zero() => (State::Tied(vec![0, 1]), None),
            x => (State::Taken(u32::from(x.is_positive())), Some(x.abs())),
        },
        // what is no kink is not open
        Step::Input(_) | Step::Weights(_) | Step::Constant(_) | Step::Left => (NO_KINK, None),
        Step::Sum(_) | Step::Scaled { .. } | Step::Weighted { .. } => (NO_KINK, None),
        Step::View { .. } | Step::Assembled { .. } | Step::Product(_) => (NO_KINK, None),
    }
}

/// Which numbers have to be known exactly; empty for slots of which none has to.
fn needed(plan: &Plan, known: &Enclosed) -> Vec<Vec<bool>> {
    let n = plan.slots.len();
    let mut needed: Vec<Vec<bool>> = vec![Vec::new(); n];
    fn mark(needed: &mut [Vec<bool>], plan: &Plan, slot: usize, cell: usize) {
        if needed[slot].is_empty() {
            needed[slot] = vec![false; plan.slots[slot].len];
        }
        needed[slot][cell] = true;
    }
    for &slot in plan.border.iter().chain(plan.outputs.iter().flatten()) {
        needed[slot] = vec![true; plan.slots[slot].len];
    }
    for &(slot, cell) in &known.open {
        // so that its state is told
        mark(&mut needed, plan, slot, cell);
    }
    for slot in (0..n).rev() {
        for cell in 0..needed[slot].len() {
            if !needed[slot][cell] {
                continue;
            }
            match known.state(slot, cell) {
                State::Open(members) => {
                    for &member in members {
                        let (arg, from) = plan.member(slot, cell, member);
                        mark(&mut needed, plan, arg, from);
                    }
                }
                state => plan.terms(slot, cell, state, |_, _, arg, from| mark(&mut needed, plan, arg, from)),
            }
        }
    }
    needed
}
