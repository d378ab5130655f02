//! What a choice knows of itself: in the branch that a condition guards, that condition holds.
//!
//! `where(s > 0, sqrt(where(s > 0, s, 1)), 0)`, the double `where`, is how people keep infinite slopes out of what is not taken. The inner choice jumps where s is 0, and what is made of it
//! does not: inside the outer one it is s wherever it counts. A scalar program enters. If one leaves, it is the same function with such inner choices replaced by what they
//! are there, and for each of its equations the one of the program that entered from which it came.
//!
//! A choice by the sign of what is never negative is no choice if both branches agree at 0: `where(s > 0, sqrt(s), 0)` is the root of a sum of squares.

use crate::builder::{BuildError, Builder};
use crate::limits::Limits;
use crate::op::{Comparison, Op, Smooth};
use crate::program::{Atom, Equation, Program, Value};
use std::collections::HashMap;

/// So many equations are looked at for each of the program's.
const LOOKS: usize = 8;

/// The program with choices inside of choices by the same condition replaced, if there are any.
pub(super) fn assume(p: &Program, limits: &Limits) -> Result<Option<(Program, Vec<u32>)>, BuildError> {
    let wheres: Vec<Equation<'_>> = p.equations().filter(|e| *e.op == Op::Where).collect();
    if wheres.is_empty() {
        return Ok(None);
    }
    let known = Known::new(p);
    let mut first: HashMap<Number, (usize, usize)> = HashMap::new();
    for e in &wheres {
        let seen = first.entry(known.number(e.args[0])).or_insert((e.number, 0));
        seen.1 += 1;
    }
    let again = |e: &Equation<'_>| first[&known.number(e.args[0])].1 > 1;
    if !wheres.iter().any(|e| again(e) || known.without_choice(e).is_some()) {
        return Ok(None);
    }
    let mut b = Builder::new(p.name()).within(limits);
    let map = p.inputs().iter().map(|i| b.input(i.name.clone(), i.shape.clone())).collect::<Result<Vec<_>, _>>()?;
    let mut m = Rewrite { known: &known, b, map, origins: Vec::new(), left: LOOKS * p.len(), under: HashMap::new() };
    for e in p.equations() {
        let results = match e.op {
            Op::Where => {
                let condition = known.number(e.args[0]);
                let (from, times) = first[&condition];
                let branch = |m: &mut Rewrite<'_, '_>, k: usize| match times {
                    1 => Ok(m.translated(e.args[k])),
                    _ => m.assuming(e.args[k], condition, k == 1, from),
                };
                match known.without_choice(&e) {
                    Some(k) => vec![branch(&mut m, k)?],
                    None => {
                        let args = [m.translated(e.args[0]), branch(&mut m, 1)?, branch(&mut m, 2)?];
                        m.push(&e, &args)?
                    }
                }
            }
            _ => {
                let args: Vec<Atom> = e.args.iter().map(|&a| m.translated(a)).collect();
                m.push(&e, &args)?
            }
        };
        m.map.extend(results);
    }
    let outputs: Vec<Atom> = p.outputs().iter().map(|&a| m.translated(a)).collect();
    let Rewrite { mut b, origins, .. } = m;
    b.set_origin(None);
    Ok(Some((b.finish(&outputs)?, origins)))
}

/// What is the same has the same number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Number {
    Constant(u32),
    Value(u32),
}

/// A program, and which of its values are the same.
struct Known<'p> {
    p: &'p Program,
    numbers: Vec<u32>,
    /// The equation of each value; nothing for inputs.
    made: Vec<Option<usize>>,
    /// Which values are known to be never negative.
    nonnegative: Vec<bool>,
}

impl<'p> Known<'p> {
    fn new(p: &'p Program) -> Self {
        let inputs = p.inputs().len();
        let numbers = (0..inputs as u32).collect();
        let mut known = Known { p, numbers, made: vec![None; inputs], nonnegative: vec![false; inputs] };
        let mut seen: HashMap<(&Op, Vec<Number>), u32> = HashMap::new();
        for e in p.equations() {
            let args = e.args.iter().map(|&a| known.number(a)).collect();
            let first = *seen.entry((e.op, args)).or_insert(known.numbers.len() as u32);
            known.numbers.extend((0..e.results as u32).map(|i| first + i));
            known.made.extend(std::iter::repeat_n(Some(e.number), e.results));
            let nonnegative = known.makes_nonnegative(&e);
            known.nonnegative.extend(std::iter::repeat_n(nonnegative, e.results));
        }
        known
    }

    fn number(&self, a: Atom) -> Number {
        match a {
            Atom::Const(c) => Number::Constant(c.0),
            Atom::Value(v) => Number::Value(self.numbers[v.index()]),
        }
    }

    fn equation(&self, a: Atom) -> Option<Equation<'p>> {
        self.made[a.value()?.index()].map(|i| self.p.equation(i))
    }

    /// On which side of 0 an atom is, if it is a constant.
    fn sign(&self, a: Atom) -> Option<std::cmp::Ordering> {
        match a {
            Atom::Const(c) => Some(self.p.constant(c).cmp(&crate::number::Rational::ZERO)),
            Atom::Value(_) => None,
        }
    }

    /// Which branch a choice is, if it is that one everywhere: `s`, or its root, where s is positive, and 0 where it is 0, of an s that is never negative.
    fn without_choice(&self, e: &Equation<'_>) -> Option<usize> {
        let c = self.equation(e.args[0])?;
        let Op::Compare(how) = c.op else { return None };
        let zero = |a: Atom| self.sign(a).is_some_and(|s| s.is_eq());
        let (s, flipped) = match *c.args {
            [s, z] if zero(z) => (s, false),
            [z, s] if zero(z) => (s, true),
            _ => return None,
        };
        // which branch is taken where s is positive
        let positive = match (how, flipped) {
            (Comparison::Greater, false) | (Comparison::Less, true) | (Comparison::NotEqual, _) => 1,
            (Comparison::LessEqual, false) | (Comparison::GreaterEqual, true) | (Comparison::Equal, _) => 2,
            _ => return None,
        };
        let taken = self.inside(e.args[positive], self.number(e.args[0]), positive);
        let base = match self.equation(taken) {
            Some(root) if *root.op == Op::Smooth(Smooth::Sqrt) => {
                self.inside(root.args[0], self.number(e.args[0]), positive)
            }
            _ => taken,
        };
        let agrees = zero(e.args[3 - positive]) && self.number(base) == self.number(s);
        (agrees && self.is_never_negative(s)).then_some(positive)
    }

    /// What a value is where a condition holds (branch 1) or does not (branch 2), if it is a choice by that condition itself.
    fn inside(&self, mut a: Atom, condition: Number, branch: usize) -> Atom {
        while let Some(e) = self.equation(a)
            && *e.op == Op::Where
            && self.number(e.args[0]) == condition
        {
            a = e.args[branch];
        }
        a
    }

    fn is_never_negative(&self, a: Atom) -> bool {
        match a {
            Atom::Const(_) => self.sign(a).is_some_and(|s| s.is_ge()),
            Atom::Value(v) => self.nonnegative[v.index()],
        }
    }

    /// Whether the results of an equation are never negative, by its making.
    fn makes_nonnegative(&self, e: &Equation<'_>) -> bool {
        match e.op {
            Op::Smooth(f) => f.facts().is_nonnegative,
            Op::Kink(kink) => kink.facts().is_nonnegative,
            Op::Mul if self.number(e.args[0]) == self.number(e.args[1]) => true,
            Op::Add | Op::Mul | Op::Div => e.args.iter().all(|&a| self.is_never_negative(a)),
            _ => false,
        }
    }
}

struct Rewrite<'k, 'p> {
    known: &'k Known<'p>,
    b: Builder,
    /// What the values of the program are in the new one.
    map: Vec<Atom>,
    origins: Vec<u32>,
    /// How many more equations may be looked at.
    left: usize,
    /// What values are if a condition holds, or does not.
    under: HashMap<(Number, bool), HashMap<Value, Atom>>,
}

impl Rewrite<'_, '_> {
    fn translated(&mut self, a: Atom) -> Atom {
        match a {
            Atom::Const(c) => self.b.constant(self.known.p.constant(c).clone()),
            Atom::Value(v) => self.map[v.index()],
        }
    }

    fn push(&mut self, e: &Equation<'_>, args: &[Atom]) -> Result<Vec<Atom>, BuildError> {
        self.b.set_origin(e.origin());
        self.origins.push(e.number as u32);
        self.b.push_from(self.known.p, e.op, args)
    }

    /// What an atom is where a condition holds, or where it does not. No choice by that condition comes before equation `from`.
    fn assuming(&mut self, a: Atom, condition: Number, holds: bool, from: usize) -> Result<Atom, BuildError> {
        let Some(v) = a.value() else { return Ok(self.translated(a)) };
        let mut under = self.under.remove(&(condition, holds)).unwrap_or_default();
        // all that it is made of since then, and that was not looked at before
        let mut needed: Vec<usize> = Vec::new();
        let mut open = vec![v];
        let mut seen = std::collections::HashSet::new();
        let mut enough = true;
        while let Some(v) = open.pop() {
            let Some(i) = self.known.made[v.index()].filter(|&i| i >= from && !under.contains_key(&v)) else {
                continue;
            };
            if !seen.insert(i) {
                continue;
            }
            enough = self.left > 0;
            if !enough {
                break;
            }
            self.left -= 1;
            needed.push(i);
            open.extend(self.known.p.equation(i).args.iter().filter_map(|a| a.value()));
        }
        if enough {
            needed.sort_unstable();
            for i in needed {
                let e = self.known.p.equation(i);
                let there = |m: &mut Self, a: Atom| match a.value().and_then(|v| under.get(&v).copied()) {
                    Some(known) => known,
                    None => m.translated(a),
                };
                if *e.op == Op::Where && self.known.number(e.args[0]) == condition {
                    let taken = there(self, e.args[if holds { 1 } else { 2 }]);
                    under.insert(e.first, taken);
                    continue;
                }
                let args: Vec<Atom> = e.args.iter().map(|&a| there(self, a)).collect();
                let own: Vec<Atom> = e.args.iter().map(|&a| self.translated(a)).collect();
                // what is the same is not written down again
                let results = match args == own {
                    true => e.results().map(|v| self.map[v.index()]).collect(),
                    false => self.push(&e, &args)?,
                };
                under.extend(e.results().zip(results));
            }
        }
        let out = match under.get(&v) {
            Some(&known) => known,
            None => self.translated(a),
        };
        self.under.insert((condition, holds), under);
        Ok(out)
    }
}
