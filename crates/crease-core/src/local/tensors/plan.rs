//! The piecewise linear part of a program of tensors, as steps: which numbers each number is a sum of.
//!
//! What enters is a program without calls. What leaves is a slot for each of its values and constants, with what computes it, and the border: the
//! slots that the rest of the program reads, or returns. [`Plan::terms`] is the one place that knows where the numbers of a slot come from; sweeps forward and backward,
//! in doubles and in integers, and the search for what is needed all go through it.

use super::STARTS;
use crate::number::Rational;
use crate::op::{Kink, Lane, Op};
use crate::program::{Atom, Equation, Program};
use std::sync::Arc;

/// What a term is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Times {
    One,
    MinusOne,
    /// The rational number of the step.
    Ratio,
    /// A weight of the step.
    Weight(usize),
}

/// How the numbers of a slot come about.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// They are given, by input of that number.
    Input(usize),
    /// They are constants.
    Weights(Arc<[f64]>),
    /// It is one constant.
    Constant(Rational),
    /// Sums of numbers at the same place, some of them negated.
    Sum(Vec<(usize, bool)>),
    /// Multiples.
    Scaled { arg: usize, by: Rational },
    /// Each number times its own weight.
    Weighted { arg: usize, weights: Arc<[f64]> },
    /// For each number, which number of the argument it is.
    View { arg: usize, map: Vec<u32> },
    /// For each number, from `starts` on, the arguments and their numbers that are added up.
    Assembled { args: Vec<usize>, starts: Vec<u32>, entries: Vec<(u32, u32)> },
    /// A product of matrices, one of them constant.
    Product(Product),
    /// A function of one number with its kink at 0, and slope 1 on the right of it.
    Hinge { arg: usize, left: Left },
    /// The largest of several numbers, or the smallest.
    Lane { args: Vec<usize>, size: usize, smallest: bool },
    /// Left to others.
    Left,
}

/// What a function of one number is on the left of its kink: all that are swept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// 0, as relu is.
    Zero,
    /// -x, as the absolute value is.
    Minus,
    /// A multiple of x, as a leaky relu is.
    Times(Rational),
}

/// Of [m, k] and [k, n] matrices.
#[derive(Clone, Debug)]
pub(super) struct Product {
    arg: usize,
    weights: Arc<[f64]>,
    /// Whether the weights stand on the left.
    left: bool,
    m: usize,
    k: usize,
    n: usize,
    transposed: (bool, bool),
}

#[derive(Debug)]
pub(super) struct Slot {
    pub len: usize,
    pub step: Step,
    /// The equation, if it is the result of one.
    pub equation: usize,
}

/// Which argument of a kink is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Of a function of one number the side, 0 on the left and 1 on the right; else the member of the lane.
    Taken(u32),
    /// Not known yet: one of these, or several.
    Open(Vec<u32>),
    /// These, which are equal.
    Tied(Vec<u32>),
}

pub(super) struct Plan {
    /// One for each value of the program, then one for each of its constants.
    pub slots: Vec<Slot>,
    /// Values that the rest of the program reads, in order.
    pub border: Vec<usize>,
    /// The slots of the outputs, where they are not left to others.
    pub outputs: Vec<Option<usize>>,
    /// How many numbers the rest of the program is, once it is taken apart.
    pub rest: u128,
    values: usize,
}

impl Plan {
    /// Nothing if there is nothing to be swept, or too much is left.
    pub fn new(p: &Program) -> Option<Plan> {
        let values = p.values();
        let mut slots: Vec<Slot> = Vec::with_capacity(values + p.consts.len());
        for (i, input) in p.inputs().iter().enumerate() {
            slots.push(Slot { len: input.shape.len(), step: Step::Input(i), equation: usize::MAX });
        }
        for (number, e) in p.equations().enumerate() {
            let step = Compiler { p, slots: &slots, values }.step(&e).unwrap_or(Step::Left);
            for (i, v) in e.results().enumerate() {
                let step = if i == 0 { step.clone() } else { Step::Left };
                slots.push(Slot { len: p.shape(v).len(), step, equation: number });
            }
        }
        for c in p.consts.iter() {
            slots.push(Slot { len: 1, step: Step::Constant(c.clone()), equation: usize::MAX });
        }
        let slot = |a: &Atom| slot_of(*a, values);
        let is_left = |s: usize| matches!(slots[s].step, Step::Left);
        // what the outputs need of the rest
        let mut needed = vec![false; values];
        let outputs: Vec<Option<usize>> = p.outputs().iter().map(|o| Some(slot(o)).filter(|&s| !is_left(s))).collect();
        for o in p.outputs().iter().filter_map(|o| o.value()) {
            needed[o.index()] = is_left(o.index());
        }
        let mut border = vec![false; values];
        let mut rest = 0u128;
        for i in (0..p.len()).rev() {
            let e = p.equation(i);
            if !e.results().any(|v| needed[v.index()] && is_left(v.index())) {
                continue;
            }
            let pieces = match e.op {
                Op::Assemble { pieces, .. } => pieces.iter().map(|piece| piece.len() as u128).sum(),
                _ => 0,
            };
            rest += e.results().map(|v| p.shape(v).len() as u128).sum::<u128>() + 2 * e.multiplied(p) + pieces;
            for v in e.args.iter().filter_map(|a| a.value()) {
                if is_left(v.index()) { needed[v.index()] = true } else { border[v.index()] = true }
            }
        }
        let border: Vec<usize> = (0..values).filter(|&v| border[v]).collect();
        let starts: usize = border.iter().chain(outputs.iter().flatten()).map(|&s| slots[s].len).sum();
        let swept = slots.iter().any(|s| matches!(s.step, Step::Product(_) | Step::Hinge { .. } | Step::Lane { .. }));
        let moving = border.iter().filter(|&&s| !matches!(slots[s].step, Step::Weights(_) | Step::Input(_))).count();
        let useful = swept && (outputs.iter().any(Option::is_some) || moving > 0);
        (useful && starts <= STARTS).then_some(Plan { slots, border, outputs, rest, values })
    }

    /// The slots in an order in which arguments come first: constants, then values.
    pub fn order(&self) -> impl Iterator<Item = usize> + use<> {
        (self.values..self.slots.len()).chain(0..self.values)
    }

    /// The slots of kinks.
    pub fn kinks(&self) -> impl Iterator<Item = usize> {
        (0..self.slots.len()).filter(|&i| self.kink(i).is_some())
    }

    /// The kink that a step is, if it is one.
    pub fn kink(&self, slot: usize) -> Option<Kink> {
        match &self.slots[slot].step {
            Step::Hinge { left: Left::Zero, .. } => Some(Kink::Relu),
            Step::Hinge { left: Left::Minus, .. } => Some(Kink::Abs),
            Step::Hinge { left: Left::Times(slope), .. } => Some(Kink::LeakyRelu(slope.clone())),
            Step::Lane { args, smallest, .. } => {
                let lane = if args.len() == 1 { Lane::Axis } else { Lane::Args };
                Some(if *smallest { Kink::Min(lane) } else { Kink::Max(lane) })
            }
            Step::Input(_) | Step::Weights(_) | Step::Constant(_) | Step::Left => None,
            Step::Sum(_) | Step::Scaled { .. } | Step::Weighted { .. } => None,
            Step::View { .. } | Step::Assembled { .. } | Step::Product(_) => None,
        }
    }

    /// The arguments of a step, by position.
    pub fn args(&self, slot: usize) -> Vec<usize> {
        match &self.slots[slot].step {
            Step::Input(_) | Step::Weights(_) | Step::Constant(_) | Step::Left => Vec::new(),
            Step::Sum(args) => args.iter().map(|a| a.0).collect(),
            Step::Assembled { args, .. } | Step::Lane { args, .. } => args.clone(),
            Step::Scaled { arg, .. } | Step::Weighted { arg, .. } | Step::View { arg, .. } => vec![*arg],
            Step::Hinge { arg, .. } | Step::Product(Product { arg, .. }) => vec![*arg],
        }
    }

    /// The weights of a step.
    pub fn weights(&self, slot: usize) -> &[f64] {
        match &self.slots[slot].step {
            Step::Weighted { weights, .. } | Step::Product(Product { weights, .. }) => weights,
            _ => &[],
        }
    }

    /// The rational number of a step.
    pub fn ratio(&self, slot: usize) -> Option<&Rational> {
        match &self.slots[slot].step {
            Step::Scaled { by, .. } => Some(by),
            Step::Hinge { left: Left::Times(slope), .. } => Some(slope),
            _ => None,
        }
    }

    /// How many terms the sum of one number has, about.
    pub fn width(&self, slot: usize) -> usize {
        match &self.slots[slot].step {
            Step::Product(product) => product.k,
            Step::Assembled { starts, entries, .. } => entries.len() / (starts.len() - 1).max(1) + 1,
            _ => 2,
        }
    }

    /// The argument of a kink that a member is: its slot and its number there.
    pub fn member(&self, slot: usize, cell: usize, member: u32) -> (usize, usize) {
        match &self.slots[slot].step {
            Step::Hinge { arg, .. } => (*arg, cell),
            Step::Lane { args, size, .. } if args.len() == 1 => (args[0], cell * size + member as usize),
            Step::Lane { args, .. } => self.at(args[member as usize], cell),
            _ => (slot, cell),
        }
    }

    /// A number of an elementwise argument: constants stand for all places.
    fn at(&self, arg: usize, cell: usize) -> (usize, usize) {
        (arg, if matches!(self.slots[arg].step, Step::Constant(_)) { 0 } else { cell })
    }

    /// The terms of the sum that a number is, each with the position of the argument, its slot and its number there. Of a kink it is the argument that is
    /// taken; where several are tied, and so equal, the first of them.
    pub fn terms(&self, slot: usize, cell: usize, state: &State, mut term: impl FnMut(Times, usize, usize, usize)) {
        match &self.slots[slot].step {
            Step::Input(_) | Step::Weights(_) | Step::Constant(_) | Step::Left => {}
            Step::Sum(args) => {
                for (i, &(arg, minus)) in args.iter().enumerate() {
                    let (arg, from) = self.at(arg, cell);
                    term(if minus { Times::MinusOne } else { Times::One }, i, arg, from);
                }
            }
            Step::Scaled { arg, .. } => term(Times::Ratio, 0, *arg, cell),
            Step::Weighted { arg, .. } => term(Times::Weight(cell), 0, *arg, cell),
            Step::View { arg, map } => term(Times::One, 0, *arg, map[cell] as usize),
            Step::Assembled { args, starts, entries } => {
                for &(a, from) in &entries[starts[cell] as usize..starts[cell + 1] as usize] {
                    let (arg, from) = self.at(args[a as usize], from as usize);
                    term(Times::One, a as usize, arg, from);
                }
            }
            Step::Product(Product { arg, left, m, k, n, transposed, .. }) => {
                let (m, k, n) = (*m, *k, *n);
                let (batch, i, j) = (cell / (m * n), cell / n % m, cell % n);
                let (a, along_a) = if transposed.0 { (batch * m * k + i, m) } else { (batch * m * k + i * k, 1) };
                let (b, along_b) = if transposed.1 { (batch * k * n + j * k, 1) } else { (batch * k * n + j, n) };
                for l in 0..k {
                    let (a, b) = (a + l * along_a, b + l * along_b);
                    if *left { term(Times::Weight(a), 0, *arg, b) } else { term(Times::Weight(b), 0, *arg, a) }
                }
            }
            Step::Hinge { arg, left } => match (state, left) {
                (State::Taken(1), _) => term(Times::One, 0, *arg, cell),
                (State::Taken(_), Left::Minus) => term(Times::MinusOne, 0, *arg, cell),
                (State::Taken(_), Left::Times(_)) => term(Times::Ratio, 0, *arg, cell),
                // 0, on the left and at the kink
                (State::Taken(_), Left::Zero) | (State::Open(_) | State::Tied(_), _) => {}
            },
            Step::Lane { args, .. } => {
                let first = match state {
                    State::Taken(member) => Some(member),
                    State::Open(members) | State::Tied(members) => members.first(),
                };
                if let Some(&member) = first {
                    let (arg, from) = self.member(slot, cell, member);
                    let position = if args.len() == 1 { 0 } else { member as usize };
                    term(Times::One, position, arg, from);
                }
            }
        }
    }
}

/// Where the numbers of an atom lie.
fn slot_of(a: Atom, values: usize) -> usize {
    match a {
        Atom::Value(v) => v.index(),
        Atom::Const(c) => values + c.0 as usize,
    }
}

struct Compiler<'a> {
    p: &'a Program,
    slots: &'a [Slot],
    values: usize,
}

impl Compiler<'_> {
    /// The numbers of a value, if all of them are constants that are at hand.
    fn weights(&self, a: Atom) -> Option<Arc<[f64]>> {
        match &self.slots.get(a.value()?.index())?.step {
            Step::Weights(w) => Some(w.clone()),
            _ => None,
        }
    }

    /// The slot of an argument, unless it is left to others.
    fn swept(&self, a: Atom) -> Option<usize> {
        let slot = slot_of(a, self.values);
        match self.slots.get(slot) {
            Some(Slot { step: Step::Left, .. }) => None,
            _ => Some(slot),
        }
    }

    fn scaled(&self, a: Atom, by: Rational) -> Option<Step> {
        Some(Step::Scaled { arg: self.swept(a.value()?.into())?, by })
    }

    /// What an equation does; nothing if that is left to others.
    fn step(&self, e: &Equation<'_>) -> Option<Step> {
        let arg = |i: usize| self.swept(e.args[i]);
        let len = self.p.shape(e.first).len();
        let constant = |i: usize| self.p.as_constant(e.args[i]);
        let hinge = |left: Left| {
            e.args[0].value()?;
            Some(Step::Hinge { arg: arg(0)?, left })
        };
        Some(match e.op {
            Op::Constant(c) => Step::Weights(c.data().into()),
            Op::Add => Step::Sum(vec![(arg(0)?, false), (arg(1)?, false)]),
            Op::Sub => Step::Sum(vec![(arg(0)?, false), (arg(1)?, true)]),
            Op::Neg => Step::Sum(vec![(arg(0)?, true)]),
            Op::Mul => match (constant(0), constant(1), self.weights(e.args[0]), self.weights(e.args[1])) {
                (Some(c), _, _, _) => self.scaled(e.args[1], c.clone())?,
                (_, Some(c), _, _) => self.scaled(e.args[0], c.clone())?,
                (_, _, Some(weights), _) => Step::Weighted { arg: arg(1)?, weights },
                (_, _, _, Some(weights)) => Step::Weighted { arg: arg(0)?, weights },
                _ => return None,
            },
            Op::Div => self.scaled(e.args[0], constant(1)?.inv()?)?,
            Op::View { layout, .. } => match self.weights(e.args[0]) {
                Some(weights) => Step::Weights(layout.iter().map(|i| weights[i]).collect()),
                None => {
                    e.args[0].value()?;
                    Step::View { arg: arg(0)?, map: layout.iter().map(|i| i as u32).collect() }
                }
            },
            Op::Assemble { pieces, .. } => {
                let args = e.args.iter().map(|&a| self.swept(a)).collect::<Option<Vec<_>>>()?;
                let mut counts = vec![0u32; len + 1];
                pieces.iter().flat_map(|p| p.iter()).for_each(|to| counts[to + 1] += 1);
                (0..len).for_each(|i| counts[i + 1] += counts[i]);
                let starts = counts.clone();
                let mut entries = vec![(0, 0); starts[len] as usize];
                for (a, piece) in pieces.iter().enumerate() {
                    for (from, to) in piece.iter().enumerate() {
                        entries[counts[to] as usize] = (a as u32, from as u32);
                        counts[to] += 1;
                    }
                }
                Step::Assembled { args, starts, entries }
            }
            Op::MatMul { transpose_a, transpose_b } => {
                let dims = self.p.shape(e.first).dims();
                let (m, n) = (dims[dims.len() - 2], dims[dims.len() - 1]);
                let k = self.p.atom_shape(e.args[0]).len() / (len / n);
                let transposed = (*transpose_a, *transpose_b);
                let (left, arg, weights) = match (self.weights(e.args[0]), self.weights(e.args[1])) {
                    (_, Some(weights)) => (false, arg(0)?, weights),
                    (Some(weights), None) => (true, arg(1)?, weights),
                    (None, None) => return None,
                };
                Step::Product(Product { arg, weights, left, m, k, n, transposed })
            }
            Op::Kink(Kink::Relu) => hinge(Left::Zero)?,
            Op::Kink(Kink::Abs) => hinge(Left::Minus)?,
            Op::Kink(Kink::LeakyRelu(slope)) => hinge(Left::Times(slope.clone()))?,
            Op::Kink(kink @ (Kink::Max(lane) | Kink::Min(lane))) => {
                let args = e.args.iter().map(|&a| self.swept(a)).collect::<Option<Vec<_>>>()?;
                let size = match lane {
                    Lane::Args => args.len(),
                    Lane::Axis => self.p.shape(e.args[0].value()?).split_last()?.1,
                };
                // a lane of one argument would be read as an axis
                if *lane == Lane::Args && args.len() < 2 {
                    return None;
                }
                Step::Lane { args, size, smallest: matches!(kink, Kink::Min(_)) }
            }
            Op::Smooth(_) | Op::LogSumExp(_) | Op::LogSumExpJoint(_) | Op::Joint(..) | Op::Permute { .. } => {
                return None;
            }
            Op::Stair(_) | Op::Position(..) | Op::Gather { .. } | Op::Where => return None,
            Op::Compare(_) | Op::Logic(_) | Op::Call(_) | Op::Select(_) | Op::Scan(_) => return None,
            Op::Kink(Kink::TimesRelu | Kink::Elu(_) | Kink::OrderStatistic(..) | Kink::Sort(_)) => return None,
            Op::Kink(Kink::Norm1(_) | Kink::NormInf(_) | Kink::Norm2(_) | Kink::MaxLinear { .. }) => return None,
        })
    }
}

impl Product {
    /// In how many sums a number of the argument occurs.
    pub fn uses(&self) -> usize {
        if self.left { self.m } else { self.n }
    }
}
