//! Do half-spaces have a direction in common? Exactly, incrementally, with a proof either way.
//!
//! What enters are [`Half`]-spaces `±f·d >= 0` or `±f·d > 0` of interned linear forms, asserted one after the other and taken back
//! in reverse. What leaves is an exact direction that lies in all of them, or a [`Conflict`]: positive multipliers with which the
//! signed forms add up to zero although one of them must be positive (Gordan, Motzkin). Section 5.3 of the paper rests on this: a
//! cell of the local model is such a set of half-spaces.
//!
//! The simplex method runs in floats. Its answers are guesses that are checked: a direction by exact signs, a contradiction by
//! solving exactly for the multipliers on the half-spaces that it names. Where a check fails, the same method runs in rationals
//! from where the floats had arrived. All of it is charged to the limits of the cone; once they say stop, nothing is found out any more. A form that is one coordinate is only a bound and
//! costs nothing.
//!
//! Deliberately absent: objectives, constants on the right-hand side (cones have none), and anything sparse: there are as many
//! columns as coordinates, and rows are dense.

mod certify;
mod forms;
mod simplex;
#[cfg(test)]
mod tests;

pub(crate) use certify::direction as direction_near;
pub(crate) use forms::{FormId, Forms, Signed};

use crease_core::Limits;
use crease_core::number::Rational;
use simplex::{Bound, Bounds, Outcome, Simplex};
use std::cmp::Ordering;

/// A half-space of directions: those where a form, or its negative, is not negative; or is positive, if it is strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Half {
    /// The form.
    pub form: FormId,
    /// Whether it is the negative of the form that must not be negative.
    pub negative: bool,
    /// Whether it must be positive.
    pub strict: bool,
}

impl Half {
    /// Where the signed form is positive.
    pub fn open(signed: Signed) -> Half {
        Half { form: signed.form, negative: signed.negative, strict: true }
    }

    /// Whether the half-space holds a direction at which its form has this sign.
    fn allows(self, sign: Ordering) -> bool {
        let sign = if self.negative { sign.reverse() } else { sign };
        if self.strict { sign.is_gt() } else { sign.is_ge() }
    }
}

/// Why half-spaces have no direction in common: numbers of asserted half-spaces, each with a positive multiplier, such that their
/// signed forms, times these, add up to zero. At least one of them is strict.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conflict {
    /// The half-spaces, in ascending order, and their multipliers.
    pub parts: Vec<(usize, Rational)>,
}

/// Why a question about a cone has no direction for an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Halt {
    /// There is none.
    Conflict(Conflict),
    /// It was stopped, and nothing is known.
    Stopped,
}

impl From<Conflict> for Halt {
    fn from(conflict: Conflict) -> Halt {
        Halt::Conflict(conflict)
    }
}

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Linear programs: how often the simplex method was started.
    pub programs: u64,
    /// How many of them had to be solved in rationals.
    pub exact: u64,
}

enum Undo {
    Nothing,
    Lower(u32, Option<Bound>),
    Upper(u32, Option<Bound>),
}

/// An intersection of half-spaces. See the [module](self).
pub(crate) struct Cone {
    dimension: usize,
    halves: Vec<Half>,
    trail: Vec<Undo>,
    bounds: Bounds,
    /// The first half-space that contradicts an earlier one of the same form, and that.
    clash: Option<(usize, usize)>,
    float: Simplex<f64>,
    /// A direction that is known to lie in all of the first so many half-spaces.
    known: Option<(Vec<Rational>, usize)>,
    work: Work,
    limits: Limits,
    /// Whether half-spaces are missing in the tableau, since the limits were met before.
    stopped: bool,
}

impl Cone {
    /// All directions of this dimension, within limits.
    pub fn new(dimension: usize, limits: &Limits) -> Self {
        let mut bounds = Bounds::default();
        bounds.grow(dimension);
        Cone {
            dimension,
            halves: Vec::new(),
            trail: Vec::new(),
            bounds,
            clash: None,
            float: Simplex::new(dimension),
            known: None,
            work: Work::default(),
            limits: limits.clone(),
            stopped: false,
        }
    }

    /// The half-spaces that are asserted now; their number is what [`backtrack`](Self::backtrack) takes.
    pub fn halves(&self) -> &[Half] {
        &self.halves
    }

    /// What it took so far.
    pub fn work(&self) -> Work {
        self.work
    }

    fn variable(&self, forms: &Forms, form: FormId) -> u32 {
        forms.coordinate(form).unwrap_or(self.dimension + form.index()) as u32
    }

    /// Adds a half-space, and returns its number.
    pub fn assert(&mut self, forms: &Forms, half: Half) -> usize {
        let number = self.halves.len();
        self.halves.push(half);
        let undo = if self.clash.is_some() { Undo::Nothing } else { self.bound(forms, half, number) };
        self.trail.push(undo);
        number
    }

    fn bound(&mut self, forms: &Forms, half: Half, number: usize) -> Undo {
        let v = self.variable(forms, half.form);
        self.bounds.grow(v as usize + 1);
        let Bounds { lower, upper } = &mut self.bounds;
        let (own, other) = if half.negative { (upper, lower) } else { (lower, upper) };
        let (own, other) = (&mut own[v as usize], other[v as usize]);
        // the same or a stronger one is there already
        if own.is_some_and(|b| b.strict || !half.strict) {
            return Undo::Nothing;
        }
        if let Some(b) = other.filter(|b| b.strict || half.strict) {
            self.clash = Some((number, b.half as usize));
            return Undo::Nothing;
        }
        let before = own.replace(Bound { strict: half.strict, half: number as u32 });
        self.stopped |= !self.limits.go_on(self.float.work_to_enter(forms, v));
        if !self.stopped {
            self.float.enter(forms, v, &self.bounds);
            self.float.settle(v, &self.bounds);
        }
        if half.negative { Undo::Upper(v, before) } else { Undo::Lower(v, before) }
    }

    /// Takes back all half-spaces but the first so many.
    pub fn backtrack(&mut self, mark: usize) {
        while self.trail.len() > mark {
            match self.trail.pop() {
                Some(Undo::Lower(v, before)) => self.bounds.lower[v as usize] = before,
                Some(Undo::Upper(v, before)) => self.bounds.upper[v as usize] = before,
                Some(Undo::Nothing) | None => {}
            }
        }
        self.halves.truncate(mark);
        if self.clash.is_some_and(|(number, _)| number >= mark) {
            self.clash = None;
        }
        if let Some((_, good)) = &mut self.known {
            *good = (*good).min(mark);
        }
    }

    /// Whether there is a direction, for certain.
    pub fn check(&mut self, forms: &Forms) -> Result<(), Halt> {
        if self.is_known(forms) {
            return Ok(());
        }
        self.check_quick(forms)?;
        // a check in rationals knows its direction
        if self.is_known(forms) {
            return Ok(());
        }
        match certify::direction(forms, &self.halves, self.float.point(), 0, &self.limits) {
            Some(direction) => self.known = Some((direction, self.halves.len())),
            None => self.check_exact(forms)?,
        }
        Ok(())
    }

    /// Whether there seems to be a direction: a conflict is certain, but that there is none is what floats say.
    pub fn check_quick(&mut self, forms: &Forms) -> Result<(), Halt> {
        if let Some(conflict) = self.clash() {
            return Err(conflict.into());
        }
        if self.stopped {
            return Err(Halt::Stopped);
        }
        self.work.programs += 1;
        match self.float.solve(forms, &self.bounds, &self.limits) {
            Outcome::Within => Ok(()),
            Outcome::Contradiction(parts) => match self.certified(forms, parts) {
                Some(conflict) => Err(conflict.into()),
                None => self.check_exact(forms),
            },
            Outcome::GaveUp => self.check_exact(forms),
        }
    }

    /// As [`check_quick`](Self::check_quick), but never in rationals: where floats get lost, or are stopped, no conflict is found. For large cones, in which
    /// rationals grow long, and for questions that will be asked again when more is known.
    pub fn glance(&mut self, forms: &Forms) -> Result<(), Conflict> {
        if let Some(conflict) = self.clash() {
            return Err(conflict);
        }
        if self.stopped {
            return Ok(());
        }
        self.work.programs += 1;
        for attempt in 0..2 {
            if attempt > 0 {
                let Some(rebuilt) = self.float.rebuilt(forms, &self.bounds, &self.limits) else { break };
                self.float = rebuilt;
            }
            let Outcome::Contradiction(parts) = self.float.solve(forms, &self.bounds, &self.limits) else { break };
            if let Some(conflict) = self.certified(forms, parts) {
                return Err(conflict);
            }
        }
        Ok(())
    }

    fn clash(&self) -> Option<Conflict> {
        self.clash.map(|(a, b)| Conflict { parts: vec![(b, Rational::ONE), (a, Rational::ONE)] })
    }

    /// A conflict that floats propose, if it is one.
    fn certified(&self, forms: &Forms, parts: Vec<(u32, u32, f64)>) -> Option<Conflict> {
        let parts = parts.into_iter().map(|(half, _, size)| (half as usize, size)).collect();
        certify::multipliers(forms, &self.halves, parts, &self.limits)
    }

    /// The point at which the floats stand after [`check_quick`](Self::check_quick) found no conflict: a guess.
    pub fn point(&self) -> &[f64] {
        self.float.point()
    }

    /// An exact direction that lies in all half-spaces.
    pub fn witness(&mut self, forms: &Forms) -> Result<Vec<Rational>, Halt> {
        self.check(forms)?;
        Ok(self.known.as_ref().map(|(direction, _)| direction.clone()).unwrap_or_default())
    }

    /// Whether the direction that is known also lies in those half-spaces that came after it.
    fn is_known(&mut self, forms: &Forms) -> bool {
        let Some((direction, good)) = &mut self.known else { return false };
        let halves = &self.halves;
        while let Some(half) = halves.get(*good)
            && self.limits.go_on(1 + forms.exact(half.form).terms().len() as u64)
            && half.allows(forms.exact_sign(half.form, direction))
        {
            *good += 1;
        }
        *good == halves.len()
    }

    fn check_exact(&mut self, forms: &Forms) -> Result<(), Halt> {
        if self.stopped || self.limits.check().is_err() {
            return Err(Halt::Stopped);
        }
        self.work.exact += 1;
        let exact: Option<Simplex<Rational>> = self.float.rebuilt(forms, &self.bounds, &self.limits);
        let Some(mut exact) = exact else { return Err(Halt::Stopped) };
        match exact.solve(forms, &self.bounds, &self.limits) {
            Outcome::Contradiction(parts) => {
                let mut parts: Vec<(usize, Rational)> = parts.into_iter().map(|(h, _, m)| (h as usize, m)).collect();
                parts.sort_by_key(|part| part.0);
                debug_assert!(certify::contradicts(forms, &self.halves, &parts));
                Err(Conflict { parts }.into())
            }
            // by themselves rationals do not give up: Bland's rule ends
            Outcome::GaveUp => Err(Halt::Stopped),
            Outcome::Within => {
                let direction = exact.point().to_vec();
                debug_assert!(self.halves.iter().all(|h| h.allows(forms.exact_sign(h.form, &direction))));
                self.known = Some((direction, self.halves.len()));
                Ok(())
            }
        }
    }
}
