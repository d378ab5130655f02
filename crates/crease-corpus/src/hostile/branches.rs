//! Selections at their borders, and programs that call programs.

use super::grow::{Grower, Var, grown};
use crate::precise::Number;
use crease_core::op::{Comparison, Logic};
use crease_core::{Atom, Builder, Kink, Lane, Op, Program, Rational, Shape, Smooth, Stair};
use std::sync::Arc;

impl Grower<'_> {
    /// A condition that is at its border at the point, mostly, made of the sign of `switch` and perhaps of more.
    fn condition(&mut self, switch: &Var, depth: usize) -> Option<Var> {
        let how = *self.rng.pick(&Comparison::ALL);
        let zero = match self.rng.below(6) {
            0 => self.some_constant(),
            1 => self.zero()?,
            _ => self.ratio(0, 1),
        };
        let (a, b) = if self.rng.once_in(2) { (switch, &zero) } else { (&zero, switch) };
        let one = self.emit(Op::Compare(how), &[a, b])?;
        match self.rng.below(6) {
            0 if depth < 3 => {
                let inner = self.condition(switch, depth + 1)?;
                let how = *self.rng.pick(&[Logic::And, Logic::Or]);
                self.emit(Op::Logic(how), &[&one, &inner])
            }
            1 if depth < 3 => {
                let other = self.zero()?;
                let other = self.condition(&other, depth + 1)?;
                let how = *self.rng.pick(&[Logic::And, Logic::Or]);
                self.emit(Op::Logic(how), &[&other, &one])
            }
            2 => self.emit(Op::Logic(Logic::Not), &[&one]),
            _ => Some(one),
        }
    }

    /// An elementwise choice, mostly at its border, where its branches agree in value, in value and slope, or not at all.
    pub fn choice(&mut self) -> Option<Var> {
        let switch = if self.rng.once_in(4) { self.any() } else { self.zero()? };
        let condition = self.condition(&switch, 0)?;
        let a = self.any();
        let b = match self.rng.below(4) {
            0 => {
                let factor = self.some_constant();
                let moved = self.emit(Op::Mul, &[&factor, &switch])?;
                self.emit(Op::Add, &[&a, &moved])?
            }
            1 => {
                let moved = self.emit(Op::Mul, &[&switch, &switch])?;
                self.emit(Op::Sub, &[&a, &moved])?
            }
            2 => a.clone(),
            _ => self.any(),
        };
        self.emit(Op::Where, &[&condition, &a, &b])
    }

    /// The double `where`: an inner choice keeps a function off its edge, an outer one by the same condition, or by another one, takes it.
    pub fn guarded(&mut self) -> Option<Var> {
        let (x, y) = (self.zero()?, self.any());
        let s = match self.rng.below(4) {
            0 => x.clone(),
            1 => self.abs(&x)?,
            2 => self.emit(Smooth::Power(2), &[&x])?,
            _ => {
                let (a, b) = (self.emit(Op::Mul, &[&x, &x])?, self.emit(Smooth::Power(2), &[&y])?);
                self.add(&a, &b)?
            }
        };
        let condition = match self.rng.below(3) {
            0 => self.condition(&s, 0)?,
            _ => {
                let zero = self.ratio(0, 1);
                let how = *self.rng.pick(&[Comparison::Greater, Comparison::NotEqual, Comparison::LessEqual]);
                self.emit(Op::Compare(how), &[&s, &zero])?
            }
        };
        let (zero, one) = (self.ratio(0, 1), self.ratio(1, 1));
        let other = if self.rng.once_in(3) { self.any_or_constant() } else { one };
        let safe = |g: &mut Self, a: &Var, b: &Var| match g.rng.below(2) {
            0 => g.emit(Op::Where, &[&condition, a, b]),
            _ => g.emit(Op::Where, &[&condition, b, a]),
        };
        let inner = safe(self, &s, &other)?;
        let f =
            *self.rng.pick(&[Smooth::Sqrt, Smooth::Sqrt, Smooth::Log, Smooth::Inv, Smooth::Sin, Smooth::Root(3, 2)]);
        let mut taken = self.emit(f, &[&inner])?;
        if self.rng.once_in(3) {
            taken = self.emit(Op::Mul, &[&taken, &x])?;
        }
        let rest = if self.rng.once_in(4) { self.any() } else { zero };
        if self.rng.once_in(6) {
            let another = self.condition(&x, 0)?;
            return self.emit(Op::Where, &[&another, &taken, &rest]);
        }
        safe(self, &taken, &rest)
    }

    /// What is constant between jumps, near one, at one, or far from all; alone, as a factor, or taken away from its argument.
    pub fn rounding(&mut self) -> Option<Var> {
        let a = if self.rng.once_in(3) { self.zero()? } else { self.any() };
        let s = *self.rng.pick(&Stair::ALL);
        let y = self.emit(Op::Stair(s), &[&a])?;
        match self.rng.below(4) {
            0 => Some(y),
            1 => self.emit(Op::Sub, &[&a, &y]),
            2 => {
                let zero = self.zero()?;
                self.emit(Op::Mul, &[&y, &zero])
            }
            _ => {
                let other = self.any();
                self.emit(Op::Mul, &[&other, &y])
            }
        }
    }

    /// A selection whose branches agree at the border in value, in value and slope, or not at all.
    pub fn selection(&mut self) -> Option<Var> {
        let switch = self.zero()?;
        let mut conditions = vec![self.condition(&switch, 0)?];
        if self.rng.once_in(4) {
            let other = if self.rng.once_in(2) { switch.clone() } else { self.zero()? };
            conditions.push(self.condition(&other, 0)?);
        }
        if self.rng.once_in(40) {
            // a number in the place of a condition: an input may be one
            conditions[0] = self.pool[0].clone();
        }
        let args = [switch, self.any(), self.any()];
        let numbers: Vec<Option<Number>> = args.iter().map(|a| a.number.clone()).collect();
        let steps = self.rng.below(3);
        let first = grown(self.rng, self.arithmetic.clone(), "a", numbers.clone(), steps, self.depth + 1).0;
        let mut branches = vec![Arc::new(first)];
        for name in ["b", "c"].iter().take(conditions.len()) {
            let next = match self.rng.below(8) {
                0 => {
                    let steps = self.rng.below(3);
                    grown(self.rng, self.arithmetic.clone(), name, numbers.clone(), steps, self.depth + 1).0
                }
                how => self.variation(&branches[0], name, how)?,
            };
            branches.push(Arc::new(next));
        }
        // the branch that is taken at the point, to know the value there
        let taken = conditions.iter().position(|c| c.exact().is_some_and(dashu_ratio::RBig::is_one));
        let taken = taken.unwrap_or(conditions.len());
        let number = self.output(&branches[taken], &numbers);
        let mut ids = Vec::new();
        for branch in branches {
            ids.push(self.b.callee(branch, None).ok()?);
        }
        let atoms: Vec<Atom> = conditions.iter().chain(&args).map(|v| v.atom).collect();
        self.count(4);
        Some(Var { atom: self.b.push1(Op::Select(ids.into()), &atoms).ok()?, number })
    }

    /// A branch that differs from another one by what vanishes with the switch, which is its first input.
    fn variation(&mut self, of: &Arc<Program>, name: &str, how: usize) -> Option<Program> {
        let mut b = Builder::new(name.to_string());
        let mut inputs = Vec::new();
        for i in of.inputs() {
            inputs.push(b.input(i.name.clone(), i.shape.clone()).ok()?);
        }
        let base = b.splice(of, &inputs).ok()?[0];
        let switch = inputs[0];
        let factor = *self.rng.pick(&["1", "-2", "1e-20", "1e20", "3"]);
        let factor = b.constant(factor.parse::<Rational>().unwrap_or_default());
        let more = match how {
            1..4 => b.mul(factor, switch).ok()?,
            4 => {
                let square = b.power(switch, 2).ok()?;
                b.mul(factor, square).ok()?
            }
            5 => {
                let size = b.abs(switch).ok()?;
                b.mul(factor, size).ok()?
            }
            6 => {
                // agrees at the point only, not along the border
                let product = b.mul(factor, inputs[1]).ok()?;
                b.mul(product, switch).ok()?
            }
            _ => b.constant(Rational::ZERO),
        };
        let sum = b.add(base, more).ok()?;
        b.finish(&[sum]).ok()
    }

    pub fn output(&self, p: &Arc<Program>, numbers: &[Option<Number>]) -> Option<Number> {
        let numbers: Vec<Number> = numbers.iter().cloned().collect::<Option<_>>()?;
        crate::precise::call(p, numbers, &self.arithmetic).ok()
    }

    /// Programs that call programs twice: what looks short is long, and the same kinks come again and again.
    pub fn calls(&mut self) -> Option<Var> {
        let v = if self.rng.once_in(3) { self.any() } else { self.zero()? };
        let numbers = vec![v.number.clone()];
        let steps = 1 + self.rng.below(2);
        let mut last =
            Arc::new(grown(self.rng, self.arithmetic.clone(), "p0", numbers.clone(), steps, self.depth + 1).0);
        let levels = if self.rng.once_in(10) { 3 + self.rng.below(4) } else { 1 + self.rng.below(2) };
        for k in 1..=levels {
            let mut b = Builder::new(format!("p{k}"));
            let x = b.input("x", Shape::scalar()).ok()?;
            let id = b.callee(last.clone(), None).ok()?;
            let minus = b.neg(x).ok()?;
            let again = *self.rng.pick(&[x, minus]);
            let one = b.push1(Op::Call(id), &[x]).ok()?;
            let two = b.push1(Op::Call(id), &[again]).ok()?;
            let out = match self.rng.below(4) {
                0 => b.add(one, two),
                1 => b.sub(one, two),
                2 => b.push1(Op::Kink(Kink::Max(Lane::Args)), &[one, two]),
                _ => b.mul(one, two),
            };
            let out = out.ok()?;
            last = Arc::new(b.finish(&[out]).ok()?);
        }
        let number = self.output(&last, &numbers);
        let id = self.b.callee(last, None).ok()?;
        self.count(2);
        Some(Var { atom: self.b.push1(Op::Call(id), &[v.atom]).ok()?, number })
    }
}
