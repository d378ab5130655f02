//! The arithmetic behind the propositions: a cone in the coordinates of the direction and in the relus.
//!
//! Whatever the direction is, z >= 0 and z >= w for each relu z = relu(w); a phase adds z <= w or z <= 0, a leaf that its form is
//! positive. All of these are half-spaces, kept along the trail of the SAT solver. If their cone becomes empty, the multipliers of Farkas' lemma
//! name the half-spaces to blame, hence the literals, and the clause that forbids them together is learned. Relus whose phases are open
//! are bounded from below, which is all it takes where they only diminish a form; so most phases are never asked for. A form
//! that cannot be positive whatever the open phases are, as when the rest of the model has a single conservative gradient, is found out as well.
//!
//! On the way floats are enough, since every conflict is certified; once all is assigned, the relus are linear forms in the direction, and the
//! question is decided exactly in its coordinates alone. Half-spaces of leaves without relus wait until then: only
//! those that h needs are looked at. The points at which the simplex method stands on its way are tried as directions.

use super::proof::{Fact, Record};
use super::relus::Relus;
use super::signs::{Meaning, Part, Signs, components};
use crate::cone::{Cone, Conflict, Forms, Half, Halt};
use batsat::{Lit, Theory, TheoryArg, Var, lbool};
use crease_core::Limits;
use crease_core::local::{Form, Sum};
use crease_core::number::Rational;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The number that a literal of the solver has in DIMACS.
pub(crate) fn number(l: Lit) -> i32 {
    let atom = l.var().idx() as i32 + 1;
    if l.sign() { atom } else { -atom }
}

/// The literal of the solver for a number, given its variables in the order of the atoms.
pub(crate) fn literal(variables: &[Var], n: i32) -> Lit {
    Lit::new(variables[n.unsigned_abs() as usize - 1], n > 0)
}

/// Why a half-space is there.
#[derive(Clone, Copy)]
enum Source {
    /// The literal says so.
    Literal(i32),
    /// It holds in every direction.
    Fact(Fact),
}

#[derive(Clone, Copy)]
struct Level {
    trail: usize,
    halves: usize,
}

pub(crate) struct Arithmetic<'a> {
    relus: &'a Relus,
    signs: &'a Signs,
    h: &'a Form,
    variables: &'a [Var],
    record: Option<&'a RefCell<Record>>,
    forms: Forms,
    cone: Cone,
    /// For each half-space of the cone, its source, and what its form was divided by.
    sources: Vec<(Source, Rational)>,
    /// How much of the trail has been looked at.
    seen: usize,
    levels: Vec<Level>,
    /// A direction along which h is not zero.
    found: &'a RefCell<Option<Vec<Rational>>>,
    /// What the arithmetic is charged to.
    limits: &'a Limits,
    /// Lemmas so far.
    pub lemmas: u64,
    /// Linear programs of final checks so far.
    programs: u64,
}

impl<'a> Arithmetic<'a> {
    pub fn new(
        relus: &'a Relus,
        signs: &'a Signs,
        h: &'a Form,
        variables: &'a [Var],
        record: Option<&'a RefCell<Record>>,
        found: &'a RefCell<Option<Vec<Rational>>>,
        limits: &'a Limits,
    ) -> Self {
        let n = relus.dimension + relus.arguments.len();
        let mut arithmetic = Arithmetic {
            relus,
            signs,
            h,
            variables,
            record,
            forms: Forms::new(n),
            cone: Cone::new(n, limits),
            sources: Vec::new(),
            seen: 0,
            levels: Vec::new(),
            found,
            limits,
            lemmas: 0,
            programs: 0,
        };
        for relu in (0..relus.arguments.len() as u32).filter(|&j| signs.phase(j).is_some()) {
            for fact in [Fact::NotNegative(relu), Fact::NotBelow(relu)] {
                let form = arithmetic.fact(fact);
                arithmetic.assert(Source::Fact(fact), &form, false);
            }
        }
        arithmetic
    }

    /// The form that is never negative by a fact.
    fn fact(&self, fact: Fact) -> Form {
        let z = |relu: u32| Form::variable(self.relus.dimension + relu as usize);
        match fact {
            Fact::NotNegative(relu) => z(relu),
            Fact::NotBelow(relu) => z(relu).minus(&self.relus.arguments[relu as usize]),
        }
    }

    fn assert(&mut self, source: Source, form: &Form, strict: bool) {
        // no form here is zero: relus differ from what they are made of, and atoms of zero are not made
        if let Some((signed, factor)) = self.forms.intern(form) {
            self.sources.push((source, factor));
            self.cone.assert(&self.forms, Half { form: signed.form, negative: signed.negative, strict });
        }
    }

    /// Looks at what is new on the trail. A clause if the cone is empty.
    fn advance(&mut self, trail: &[Lit]) -> Option<Vec<i32>> {
        let before = self.sources.len();
        for &l in &trail[self.seen..] {
            let n = number(l);
            match self.signs.meaning(n) {
                Meaning::Phase(relu) => {
                    let fact = if n > 0 { Fact::NotBelow(*relu) } else { Fact::NotNegative(*relu) };
                    self.assert(Source::Literal(n), &self.fact(fact).negated(), false);
                }
                // a leaf with relus; its negation demands nothing
                Meaning::Positive(f) if n > 0 && self.is_leaf(n) && self.relus.are_in(f) => {
                    self.assert(Source::Literal(n), f, true);
                }
                Meaning::Positive(_) => {}
            }
        }
        self.seen = trail.len();
        if self.sources.len() == before {
            return None;
        }
        match self.cone.glance(&self.forms) {
            Err(conflict) => Some(self.explain(&conflict)),
            Ok(()) => {
                self.try_point();
                None
            }
        }
    }

    fn is_leaf(&self, atom: i32) -> bool {
        self.signs.split(atom).is_none() && self.signs.sum(atom).is_none()
    }

    /// The clause that a conflict shows, recorded as a lemma.
    fn explain(&mut self, conflict: &Conflict) -> Vec<i32> {
        let mut literals: BTreeMap<i32, Rational> = BTreeMap::new();
        let mut facts: Vec<(Fact, Rational)> = Vec::new();
        for (half, multiplier) in &conflict.parts {
            let (source, factor) = &self.sources[*half];
            let weight = multiplier.checked_div(factor).unwrap_or_default();
            match *source {
                Source::Fact(fact) => facts.push((fact, weight)),
                Source::Literal(l) => {
                    // what a phase adds becomes 0 = 0 once z is replaced
                    let phase = matches!(self.signs.meaning(l), Meaning::Phase(_));
                    *literals.entry(l).or_default() += if phase { Rational::ZERO } else { weight };
                }
            }
        }
        self.lemma(literals, facts, &|_| false)
    }

    /// Records the lemma that literals are not all true, and returns it as a clause. What they state adds up to zero, with these weights
    /// and facts, once relus are replaced as the phases that are `on` say: of those that occur, the phases belong to the lemma.
    fn lemma(
        &mut self,
        mut literals: BTreeMap<i32, Rational>,
        facts: Vec<(Fact, Rational)>,
        on: &dyn Fn(i32) -> bool,
    ) -> Vec<i32> {
        let mut sum = Sum::default();
        literals.iter().for_each(|(l, weight)| sum.add(weight, &self.stated(*l).0));
        facts.iter().for_each(|(fact, weight)| sum.add(weight, &self.fact(*fact)));
        while let Some((v, c)) = sum.pop(self.relus.dimension) {
            let relu = v - self.relus.dimension;
            let phase = self.signs.phase(relu as u32).unwrap_or_default();
            let is_on = literals.contains_key(&phase) || !literals.contains_key(&-phase) && on(phase);
            literals.entry(if is_on { phase } else { -phase }).or_default();
            if is_on {
                sum.add(&c, &self.relus.arguments[relu]);
            }
        }
        debug_assert!(sum.is_zero(), "a lemma that adds up to {sum:?}");
        self.lemmas += 1;
        let clause = literals.keys().map(|&l| -l).collect();
        if let Some(record) = self.record {
            record.borrow_mut().lemma(literals.into_iter(), facts.into_iter());
        }
        clause
    }

    /// Whether h is not zero along the direction at which the floats stand: seen in floats, then decided exactly.
    fn try_point(&mut self) {
        let p = self.relus.dimension;
        let terms: usize = self.relus.arguments.iter().map(|w| w.terms().len()).sum();
        if !self.limits.go_on(1 + terms as u64 / 2) {
            return;
        }
        let mut values = self.cone.point()[..p].to_vec();
        let at = |f: &Form, values: &[f64]| f.terms().iter().map(|(v, c)| c.to_f64() * values[*v]).sum::<f64>();
        for w in &self.relus.arguments {
            let z = at(w, &values).max(0.0);
            values.push(z);
        }
        let size = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        if at(self.h, &values).abs() <= 1e-7 * size {
            return;
        }
        let direction: Option<Vec<Rational>> = values[..p].iter().map(|&x| Rational::from_f64(x)).collect();
        if let Some(d) = direction.filter(|d| !self.relus.evaluate(self.h, d).is_zero()) {
            *self.found.borrow_mut() = Some(d);
        }
    }

    /// The leaves that make h positive or negative as the assignment says.
    fn needed(&self, value: impl Fn(i32) -> bool) -> Vec<i32> {
        let mut stack: Vec<i32> = self.signs.root.iter().copied().filter(|&r| value(r)).take(1).collect();
        let mut visited = vec![false; self.signs.atoms.len() + 1];
        let mut leaves = Vec::new();
        while let Some(n) = stack.pop() {
            if std::mem::replace(&mut visited[n.unsigned_abs() as usize], true) {
                continue;
            }
            if let Some(sum) = self.signs.sum(n) {
                stack.extend(sum.parts.iter().map(|p| p.0).find(|&l| value(l)));
                continue;
            }
            let Some(split) = self.signs.split(n).filter(|_| n > 0) else {
                leaves.push(n);
                continue;
            };
            let parts = split.parts.iter().filter_map(|p| match p {
                Part::Literal(l) if value(*l) => Some(*l),
                _ => None,
            });
            if split.both {
                stack.extend(parts);
            } else {
                // one is enough: rather one that is needed anyhow, then a leaf
                let rank = |l: &i32| (!visited[l.unsigned_abs() as usize], self.signs.split(*l).is_some());
                stack.extend(parts.min_by_key(rank));
            }
        }
        leaves
    }

    /// The literals of all phases.
    fn phases(&self, value: impl Fn(i32) -> bool) -> impl Iterator<Item = i32> {
        let atoms = (0..self.relus.arguments.len() as u32).filter_map(|j| self.signs.phase(j));
        atoms.map(move |a| if value(a) { a } else { -a })
    }

    /// Decides for certain, in the coordinates of the direction alone, whether what these literals state holds along some direction, when
    /// every phase is assigned: finds it, or returns a clause.
    fn decide(&mut self, literals: &[i32], value: impl Fn(i32) -> bool) -> Option<Vec<i32>> {
        let p = self.relus.dimension;
        let (mut forms, mut cone) = (Forms::new(p), Cone::new(p, self.limits));
        let mut sources: Vec<(i32, Rational)> = Vec::new();
        // relus as forms in the direction
        let mut linear: Vec<Form> = Vec::with_capacity(self.relus.arguments.len());
        let reduced = |f: &Form, linear: &[Form]| f.replaced(p, |j| &linear[j]);
        for (j, w) in self.relus.arguments.iter().enumerate() {
            let inside = w.beyond(p).map(|(j, _)| linear[j].terms().len() as u64).sum::<u64>();
            if !self.limits.go_on(1 + 4 * (w.terms().len() as u64 + inside)) {
                return None;
            }
            let on = self.signs.phase(j as u32).is_some_and(&value);
            linear.push(if on { reduced(w, &linear) } else { Form::default() });
        }
        for &l in literals {
            let (f, strict) = self.stated(l);
            let inside = f.beyond(p).map(|(j, _)| linear[j].terms().len() as u64).sum::<u64>();
            if !self.limits.go_on(1 + 8 * (f.terms().len() as u64 + inside)) {
                return None;
            }
            match forms.intern(&reduced(&f, &linear)) {
                Some((signed, factor)) => {
                    sources.push((l, factor));
                    cone.assert(&forms, Half { form: signed.form, negative: signed.negative, strict });
                }
                // 0 > 0 is a conflict by itself, and 0 >= 0 demands nothing
                None if strict => return Some(self.lemma(BTreeMap::from([(l, Rational::ONE)]), Vec::new(), &value)),
                None => {}
            }
        }
        let result = cone.witness(&forms);
        self.programs += cone.work().programs;
        match result {
            Ok(direction) => {
                *self.found.borrow_mut() = Some(self.alone(direction));
                None
            }
            // neither a direction nor a clause: the search ends, and nothing is decided
            Err(Halt::Stopped) => None,
            Err(Halt::Conflict(conflict)) => {
                let mut weights: BTreeMap<i32, Rational> = BTreeMap::new();
                for (half, multiplier) in &conflict.parts {
                    let (l, factor) = &sources[*half];
                    *weights.entry(*l).or_default() += multiplier.checked_div(factor).unwrap_or_default();
                }
                Some(self.lemma(weights, Vec::new(), &value))
            }
        }
    }

    /// The direction, without those coordinates that would cancel what a part of h shows.
    fn alone(&self, direction: Vec<Rational>) -> Vec<Rational> {
        let shows = |d: &[Rational]| !self.relus.evaluate(self.h, d).is_zero();
        if self.signs.sums.is_empty() || shows(&direction) {
            return direction;
        }
        let parts = components(self.relus, self.h).into_iter().map(|part| {
            let below = self.relus.below([&part]);
            let own = |(d, &keep): (&Rational, &bool)| if keep { d.clone() } else { Rational::ZERO };
            direction.iter().zip(&below).map(own).collect::<Vec<Rational>>()
        });
        parts.into_iter().find(|d| shows(d)).unwrap_or_else(|| direction.clone())
    }

    /// The form that a literal states to be positive, or not negative, and whether it is strict.
    fn stated(&self, literal: i32) -> (Form, bool) {
        let (form, strict) = match self.signs.meaning(literal) {
            Meaning::Positive(f) => (f, true),
            Meaning::Phase(z) => (&self.relus.arguments[*z as usize], false),
        };
        (if literal > 0 { form.clone() } else { form.negated() }, strict)
    }

    fn raise(&self, acts: &mut TheoryArg<'_>, clause: &[i32]) {
        let literals: Vec<Lit> = clause.iter().map(|&n| literal(self.variables, n)).collect();
        acts.raise_conflict(&literals, true);
    }

    /// Linear programs solved so far.
    pub fn programs(&self) -> u64 {
        self.programs + self.cone.work().programs
    }

    fn level(&self) -> Level {
        Level { trail: self.seen, halves: self.sources.len() }
    }

    fn undo(&mut self, to: Level) {
        self.sources.truncate(to.halves);
        self.cone.backtrack(to.halves);
        self.seen = to.trail;
    }
}

impl Theory for Arithmetic<'_> {
    fn partial_check(&mut self, acts: &mut TheoryArg<'_>) {
        if let Some(clause) = self.advance(acts.model()) {
            self.raise(acts, &clause);
        }
    }

    fn final_check(&mut self, acts: &mut TheoryArg<'_>) {
        if let Some(clause) = self.advance(acts.model()) {
            return self.raise(acts, &clause);
        }
        let truth =
            |n: i32| acts.value(literal(self.variables, n).var()) == if n > 0 { lbool::TRUE } else { lbool::FALSE };
        let stated: Vec<i32> = self.needed(truth).into_iter().chain(self.phases(truth)).collect();
        if let Some(clause) = self.decide(&stated, truth) {
            self.raise(acts, &clause);
        }
    }

    fn create_level(&mut self) {
        self.levels.push(self.level());
    }

    fn pop_levels(&mut self, n: usize) {
        let keep = self.levels.len() - n;
        if let Some(&to) = self.levels.get(keep) {
            self.levels.truncate(keep);
            self.undo(to);
        }
    }

    fn n_levels(&self) -> usize {
        self.levels.len()
    }

    fn explain_propagation(&mut self, _: Lit) -> &[Lit] {
        unreachable!("nothing is propagated by the theory")
    }
}
