//! What jumps, what has no value, and what that does to the rest.
//!
//! A rounding at an integer, the place of a maximum at a tie, a logarithm of -1 that is not taken: each spoils what is computed from it, and nothing else. So the
//! local model is refused only if an output is spoiled, and the refusal names the equation where it began. A product with 0 that stays 0 is not spoiled by
//! a jump, nor is a choice by the branch that it does not take.

use super::localize::{Local, LocalError, Localizer};
use super::select::Truth;
use crate::flow::curvature::Class;
use crate::number::{Mixed, Number, NumberError, Rational};
use crate::op::{Op, Position, Stair};
use crate::program::{Atom, Equation};
use crate::run::positions::index;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

/// Why a value is of no use near the point.
#[derive(Clone, Debug)]
pub(super) struct Spoiled {
    pub error: Arc<LocalError>,
    /// Whether it has a value at the point itself.
    pub has_value: bool,
}

impl Spoiled {
    pub fn new(error: LocalError, has_value: bool) -> Self {
        Spoiled { error: Arc::new(error), has_value }
    }
}

impl Localizer<'_> {
    /// Whether an error is about one value, so that it is of no consequence where that is not needed.
    pub(super) fn spoils(&self, error: LocalError) -> Result<Spoiled, LocalError> {
        let of_a_value = match &error {
            LocalError::Run(e) => e.stop().is_none(),
            LocalError::Discontinuous { .. }
            | LocalError::NoDerivative { .. }
            | LocalError::Singular { .. }
            | LocalError::Jump { .. }
            | LocalError::Undecided { .. } => true,
            LocalError::Stopped(_) | LocalError::Inline(_) | LocalError::Build(_) => false,
        };
        if self.defers && of_a_value { Ok(Spoiled::new(error, false)) } else { Err(error) }
    }

    /// Values that nobody may use.
    pub(super) fn spoiled(&mut self, why: &Spoiled, results: usize) -> Vec<Local> {
        let zero = self.zero;
        let one = |m: &mut Self| {
            let mut x = m.fresh(Mixed::zero().at(m.model.precision().bits), zero, Class::Constant);
            x.spoiled = Some(why.clone());
            x
        };
        (0..results).map(|_| one(self)).collect()
    }

    /// What spoils the results of an equation, whatever its branches are: an argument that is spoiled, or a truth value that changes here and is used as a number.
    pub(super) fn spoiling(&self, e: &Equation<'_>, args: &[&Local], truths: &HashMap<Atom, Truth>) -> Option<Spoiled> {
        // a truth value that is false here and changes is no 0 that stays 0
        let stays = |i: usize| truths.get(&e.args[i]).is_none_or(|truth| self.check_truth(truth).is_ok());
        let vanishes = |i: usize| {
            let x = args[i];
            let zero = x.class == Class::Constant && x.value.exact().is_some_and(Rational::is_zero);
            x.spoiled.is_none() && zero && stays(i)
        };
        // conditions come first, and what is not taken of the rest does no harm
        let (truth, needed) = match e.op {
            Op::Select(ids) => (ids.len() - 1, ids.len() - 1),
            Op::Where => (1, 1),
            Op::Logic(_) => (args.len(), args.len()),
            _ => (0, args.len()),
        };
        let zero_factor = matches!(e.op, Op::Mul) && (0..args.len()).any(vanishes);
        let of = |(i, x): (usize, &&Local)| match &x.spoiled {
            Some(why) if i < needed && !(zero_factor && why.has_value) => Some(why.clone()),
            Some(_) => None,
            None if i < truth || zero_factor => None,
            None => match truths.get(&e.args[i]) {
                Some(truth) => self.check_truth(truth).err().map(|e| Spoiled::new(e, true)),
                None => None,
            },
        };
        args.iter().enumerate().find_map(of)
    }

    /// A function that is constant between jumps.
    pub(super) fn stair(&mut self, s: Stair, x: &Local) -> Result<Local, LocalError> {
        self.operation = s.name();
        let zero = self.zero;
        let value = match x.value.stair(s) {
            Ok(value) => value,
            Err(NumberError::Undecided) => {
                return Err(self.undecided(format!("on which side of a jump {} is", x.value)));
            }
            Err(e) => return Err(self.run_error(e.into())),
        };
        if x.class == Class::Constant {
            return Ok(self.fresh(value, zero, Class::Constant));
        }
        match x.value.exact().and_then(|r| Some((r.clone(), s.jump(r)?))) {
            Some((at, (below, above))) => {
                let why = format!("its argument is {at}, where it goes from {below} to {above}");
                let error = LocalError::Jump { site: Box::new(self.site()), why };
                let mut jumping = self.fresh(value, zero, Class::Constant);
                jumping.spoiled = Some(Spoiled::new(error, true));
                Ok(jumping)
            }
            None => {
                self.margin_to_jump(s, &x.value);
                Ok(self.fresh(value, zero, Class::Constant))
            }
        }
    }

    /// How far a number is from the next jump.
    fn margin_to_jump(&mut self, s: Stair, x: &Mixed) {
        let nearest = match s {
            Stair::Sign => Ok(Mixed::zero()),
            Stair::Floor | Stair::Ceil => x.stair(Stair::Round),
            Stair::Round => {
                let half = Rational::new(1, 2).map_or(Mixed::zero(), Mixed::exactly);
                x.stair(Stair::Floor).map(|below| below.add(&half))
            }
        };
        // between two jumps at the same distance, or where that cannot be told, there is nothing to say
        if let Ok(nearest) = nearest {
            self.margin(x, &nearest);
        }
    }

    /// Where in a lane numbers stand. Members that are the same number, or do not vary, keep their order; others that tie may change it.
    pub(super) fn position(&mut self, which: Position, args: &[&Local]) -> Result<Vec<Local>, LocalError> {
        self.operation = which.name();
        let ahead = match which {
            Position::Largest => Ordering::Greater,
            Position::Smallest | Position::Order => Ordering::Less,
        };
        let mut order: Vec<usize> = (0..args.len()).collect();
        match which {
            Position::Largest | Position::Smallest => {
                let mut best = 0;
                for k in 1..args.len() {
                    if self.order(args[k], args[best])? == ahead {
                        best = k;
                    }
                }
                // the winner first, those that tie with it after it
                let mut tied = vec![best];
                for k in 0..args.len() {
                    if k != best && self.order(args[k], args[best])?.is_eq() {
                        tied.push(k);
                    }
                }
                order = tied;
            }
            Position::Order => {
                // by insertion from the right place, so that no comparison that cannot be told goes unseen
                let mut sorted: Vec<usize> = Vec::with_capacity(order.len());
                for k in 0..args.len() {
                    let (mut low, mut high) = (0, sorted.len());
                    while low < high {
                        let middle = (low + high) / 2;
                        match self.order(args[k], args[sorted[middle]])?.is_lt() {
                            true => high = middle,
                            false => low = middle + 1,
                        }
                    }
                    sorted.insert(low, k);
                }
                order = sorted;
            }
        }
        let stays =
            |a: &Local, b: &Local| a.number == b.number || a.class == Class::Constant && b.class == Class::Constant;
        let mut jump = None;
        for w in order.windows(2) {
            let (a, b) = (args[w[0]], args[w[1]]);
            if self.order(a, b)?.is_eq() && !stays(a, b) {
                jump = Some(format!("numbers {} and {} of its lane are both {} here", w[0], w[1], a.value));
                break;
            }
        }
        let kept = if which == Position::Order { order.len() } else { 1 };
        let (zero, bits) = (self.zero, self.model.precision().bits);
        let mut results = Vec::with_capacity(kept);
        for &k in &order[..kept] {
            let mut x = self.fresh(Mixed::from_usize(k).at(bits), zero, Class::Constant);
            x.spoiled = jump
                .as_ref()
                .map(|why| Spoiled::new(LocalError::Jump { site: Box::new(self.site()), why: why.clone() }, true));
            results.push(x);
        }
        Ok(results)
    }

    /// Numbers read at positions: the very numbers.
    pub(super) fn gathered(&mut self, of: usize, scatter: bool, args: &[&Local]) -> Result<Vec<Local>, LocalError> {
        let n = if scatter { args.len() / 2 } else { of };
        let (members, positions) = args.split_at(n);
        let mut places = Vec::with_capacity(positions.len());
        for x in positions {
            places.push(index(&x.value, of).map_err(|e| self.run_error(e.into()))?);
            if x.class != Class::Constant {
                return Err(self.no_derivative("a position changes with the inputs, and is none around the point"));
            }
        }
        if !scatter {
            return Ok(places.into_iter().map(|at| members[at].clone()).collect());
        }
        let (zero, bits) = (self.zero, self.model.precision().bits);
        let mut cells: Vec<Option<Local>> = vec![None; of];
        for (at, x) in places.into_iter().zip(members) {
            cells[at] = Some(match cells[at].take() {
                None => (*x).clone(),
                Some(sum) => self.binary(&Op::Add, &sum, x)?,
            });
        }
        Ok(cells
            .into_iter()
            .map(|c| c.unwrap_or_else(|| self.fresh(Mixed::zero().at(bits), zero, Class::Constant)))
            .collect())
    }
}

/// Outputs of which none is spoiled, or why one is.
pub(super) fn unspoiled(outputs: Vec<Local>) -> Result<Vec<Local>, LocalError> {
    match outputs.iter().find_map(|x| x.spoiled.as_ref()) {
        Some(why) => Err((*why.error).clone()),
        None => Ok(outputs),
    }
}
