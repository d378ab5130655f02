//! Sweeps backward from single numbers: the linear form that each is, in the inputs and in the ties before it.
//!
//! A sweep starts with 1 at a number and carries adjoints down to what it is made of, along the branches that are taken, and stops at inputs and at
//! ties, which are variables. Adjoints are integers as in [`super::exact`]: each slot has a scale such that every weight of the steps above it becomes an integer, whatever
//! the sweep starts from, so that the integers of weights are made once for all sweeps. Only numbers that are reached are touched.

use super::assemble::Ties;
use super::enclose::Enclosed;
use super::exact::{Factors, measure};
use super::fixed::{self, add_product};
use super::plan::{Plan, State, Step, Times};
use super::{Refusal, WORDS, Watch};
use crate::local::form::gcd;
use crate::number::Rational;

/// What it takes to make room for sweeps from another slot, for each slot, in products.
const START: u64 = 32;

/// What a form is a combination of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    /// A number of the inputs, which are counted one after the other.
    Input(usize),
    /// A tie, by its number.
    Tie(usize),
}

pub(super) type LinearForm = Vec<(Variable, Rational)>;

/// All forms that a model needs.
pub(super) struct Forms {
    /// For each tie, the forms of those that are tied.
    pub ties: Vec<Vec<LinearForm>>,
    /// For each slot of the border, the forms of its numbers.
    pub border: Vec<Vec<LinearForm>>,
    /// For each output that is swept, the forms of its numbers.
    pub outputs: Vec<Vec<LinearForm>>,
}

pub(super) fn all(plan: &Plan, known: &Enclosed, ties: &Ties, watch: &Watch<'_>) -> Result<Forms, Refusal> {
    let mut sweeper = Sweeper::new(plan, known, ties)?;
    let mut of_ties = Vec::with_capacity(ties.cells.len());
    for &(slot, cell) in &ties.cells {
        let members = match (known.state(slot, cell), &plan.slots[slot].step) {
            // a function of one number has one form
            (_, Step::Hinge { .. }) => &[0],
            (State::Tied(members), _) => &members[..],
            (State::Taken(_) | State::Open(_), _) => return Err(Refusal::Unsuited),
        };
        let mut forms = Vec::with_capacity(members.len());
        for &member in members {
            let (arg, from) = plan.member(slot, cell, member);
            forms.push(sweeper.form(arg, from, watch)?);
        }
        of_ties.push(forms);
    }
    let mut whole = |slot: &usize| (0..plan.slots[*slot].len).map(|cell| sweeper.form(*slot, cell, watch)).collect();
    let border = plan.border.iter().map(&mut whole).collect::<Result<_, Refusal>>()?;
    let outputs = plan.outputs.iter().flatten().map(&mut whole).collect::<Result<_, Refusal>>()?;
    Ok(Forms { ties: of_ties, border, outputs })
}

struct Sweeper<'a> {
    plan: &'a Plan,
    known: &'a Enclosed,
    ties: &'a Ties,
    /// Where the numbers of an input begin.
    offsets: Vec<usize>,
    scale: Vec<Rational>,
    factors: Vec<Option<Factors>>,
    /// By how much a step may enlarge adjoints, as a power of two.
    growth: Vec<f64>,
    /// The slot from which the last sweep started, and how many words adjoints take from there.
    from: usize,
    words: Vec<usize>,
    adjoints: Vec<Vec<u64>>,
    touched: Vec<Vec<u32>>,
    marked: Vec<Vec<bool>>,
}

impl<'a> Sweeper<'a> {
    fn new(plan: &'a Plan, known: &'a Enclosed, ties: &'a Ties) -> Result<Self, Refusal> {
        let n = plan.slots.len();
        let mut scale = vec![Rational::ZERO; n];
        let mut factors: Vec<Option<Factors>> = Vec::new();
        for slot in (0..n).rev() {
            if scale[slot].is_zero() {
                scale[slot] = Rational::ONE;
            }
            let unit = &scale[slot] * measure(plan, slot).unwrap_or(Rational::ONE);
            for arg in plan.args(slot) {
                scale[arg] = gcd(std::mem::take(&mut scale[arg]), unit.clone());
            }
        }
        for slot in 0..n {
            let args = plan.args(slot);
            let scales: Vec<Rational> = args.iter().filter_map(|&a| scale[slot].checked_div(&scale[a])).collect();
            factors.push(match args[..] {
                [] => None,
                _ => Some(Factors::new(plan, slot, &scales).ok_or(Refusal::Unsuited)?),
            });
        }
        let inputs = plan.slots.iter().take_while(|s| matches!(s.step, Step::Input(_)));
        let offsets = inputs.scan(0, |sum, s| Some(std::mem::replace(sum, *sum + s.len))).collect();
        Ok(Sweeper {
            plan,
            known,
            ties,
            offsets,
            scale,
            factors,
            growth: (0..n).map(|slot| growth(plan, slot)).collect(),
            from: usize::MAX,
            words: Vec::new(),
            adjoints: Vec::new(),
            touched: vec![Vec::new(); n],
            marked: plan.slots.iter().map(|s| vec![false; s.len]).collect(),
        })
    }

    /// Room for sweeps from a slot.
    fn start_from(&mut self, start: usize, watch: &Watch<'_>) -> Result<(), Refusal> {
        if self.from == start {
            return Ok(());
        }
        watch.spend(START * self.plan.slots.len() as u64)?;
        let n = self.plan.slots.len();
        // powers of two that bound adjoints
        let mut bound = vec![f64::NEG_INFINITY; n];
        bound[start] = 0.0;
        for slot in (0..=start.min(n - 1)).rev() {
            let above = bound[slot] + self.growth[slot];
            for arg in self.plan.args(slot) {
                let (low, high) = (bound[arg].min(above), bound[arg].max(above));
                bound[arg] =
                    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp2().ln_1p() / 2f64.ln() };
            }
        }
        let log = |slot: usize| self.scale[slot].floor_log2().unwrap_or(0);
        let bits = |slot: usize| bound[slot].max(0.0).ceil() as i64 - log(slot) + log(start) + 4;
        self.words =
            (0..n).map(|slot| if bound[slot] == f64::NEG_INFINITY { 0 } else { fixed::words(bits(slot)) }).collect();
        if self.words.iter().any(|&w| w > WORDS) {
            return Err(Refusal::Unsuited);
        }
        self.adjoints = vec![Vec::new(); n];
        self.from = start;
        Ok(())
    }

    /// The form of a number.
    fn form(&mut self, start: usize, cell: usize, watch: &Watch<'_>) -> Result<LinearForm, Refusal> {
        let mut form = Vec::new();
        if !self.ties.varies[start][cell] {
            return Ok(form);
        }
        self.start_from(start, watch)?;
        watch.spend(start as u64)?;
        let plan = self.plan;
        self.touch(start, cell);
        let words = self.words[start];
        self.adjoints[start][cell * words] = 1;
        let mut x: Vec<u64> = Vec::new();
        for slot in (0..=start).rev() {
            let mut touched = std::mem::take(&mut self.touched[slot]);
            if touched.is_empty() {
                continue;
            }
            touched.sort_unstable();
            let words = self.words[slot];
            for &cell in &touched {
                let cell = cell as usize;
                let place = cell * words..(cell + 1) * words;
                x.clear();
                x.extend_from_slice(&self.adjoints[slot][place.clone()]);
                self.adjoints[slot][place].fill(0);
                self.marked[slot][cell] = false;
                if fixed::is_zero(&x) {
                    continue;
                }
                let variable = match (&plan.slots[slot].step, self.ties.number(slot, cell)) {
                    (_, Some(tie)) => Some(Variable::Tie(tie)),
                    (Step::Input(i), None) => Some(Variable::Input(self.offsets[*i] + cell)),
                    _ => None,
                };
                if let Some(variable) = variable {
                    let unit = self.scale[slot].checked_div(&self.scale[start]).ok_or(Refusal::Unsuited)?;
                    form.push((variable, Rational::from_words(&x) * unit));
                    continue;
                }
                self.carry(slot, cell, &x);
                watch.spend((plan.width(slot) * words) as u64)?;
            }
            touched.clear();
            self.touched[slot] = touched;
        }
        Ok(form)
    }

    /// Adds an adjoint to those of what a number is made of.
    fn carry(&mut self, slot: usize, cell: usize, x: &[u64]) {
        let (plan, known) = (self.plan, self.known);
        let Some(factors) = self.factors[slot].take() else { return };
        plan.terms(slot, cell, known.state(slot, cell), |times: Times, position, arg, from| {
            let factor = factors.of(times, position);
            if factor.is_zero() || !self.ties.varies[arg][from] {
                return;
            }
            self.touch(arg, from);
            let words = self.words[arg];
            add_product(&mut self.adjoints[arg][from * words..][..words], factor, x);
        });
        self.factors[slot] = Some(factors);
    }

    fn touch(&mut self, slot: usize, cell: usize) {
        if self.adjoints[slot].is_empty() {
            self.adjoints[slot] = vec![0; self.plan.slots[slot].len * self.words[slot]];
        }
        if !self.marked[slot][cell] {
            self.marked[slot][cell] = true;
            self.touched[slot].push(cell as u32);
        }
    }
}

/// By how much a step may enlarge adjoints, as a power of two: the largest multiple, times how often a number of an argument is used.
fn growth(plan: &Plan, slot: usize) -> f64 {
    let of = &plan.slots[slot];
    let heaviest = plan.weights(slot).iter().fold(0.0f64, |a, w| a.max(w.abs()));
    let ratio = plan.ratio(slot).map_or(0.0, |r| r.to_f64().abs());
    let factor = match &of.step {
        Step::Product(product) => heaviest * product.uses() as f64,
        Step::Weighted { .. } => heaviest,
        Step::Scaled { .. } => ratio,
        Step::Hinge { .. } => ratio.max(1.0),
        Step::View { arg, map } => {
            let mut uses = vec![0u32; plan.slots[*arg].len];
            map.iter().for_each(|&i| uses[i as usize] += 1);
            uses.into_iter().max().unwrap_or(1).into()
        }
        Step::Sum(_) | Step::Assembled { .. } | Step::Lane { .. } => 1.0,
        Step::Input(_) | Step::Weights(_) | Step::Constant(_) | Step::Left => 1.0,
    };
    // twice as much as was computed, for what was rounded
    factor.max(f64::MIN_POSITIVE).log2() + 1.0
}
