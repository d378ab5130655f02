//! The same number, written another way.

use super::grow::{Grower, Var};
use crease_core::{Kink, Lane, Op, Rational, Smooth};
use dashu_ratio::RBig;

const MAX: Op = Op::Kink(Kink::Max(Lane::Args));
const MIN: Op = Op::Kink(Kink::Min(Lane::Args));

impl Grower<'_> {
    pub fn add(&mut self, a: &Var, b: &Var) -> Option<Var> {
        self.emit(Op::Add, &[a, b])
    }

    pub fn sub(&mut self, a: &Var, b: &Var) -> Option<Var> {
        self.emit(Op::Sub, &[a, b])
    }

    pub fn mul(&mut self, a: &Var, b: &Var) -> Option<Var> {
        self.emit(Op::Mul, &[a, b])
    }

    pub fn relu(&mut self, a: &Var) -> Option<Var> {
        self.emit(Op::Kink(Kink::Relu), &[a])
    }

    pub fn abs(&mut self, a: &Var) -> Option<Var> {
        self.emit(Op::Kink(Kink::Abs), &[a])
    }

    pub fn neg(&mut self, a: &Var) -> Option<Var> {
        self.emit(Op::Neg, &[a])
    }

    /// Whether a value is positive at the point, with a factor of safety.
    fn is_positive(&self, a: &Var) -> bool {
        a.number.as_ref().is_some_and(|n| n.to_f64() > 1e-30)
    }

    fn is_moderate(&self, a: &Var) -> bool {
        a.number.as_ref().is_some_and(|n| n.to_f64().abs() < 50.0)
    }

    /// The function `a` near the point, by another way. Where that has a kink, it cancels.
    pub fn disguise(&mut self, a: &Var) -> Option<Var> {
        let b = self.any();
        match self.rng.below(18) {
            0 | 1 => {
                let minus = self.neg(a)?;
                let (up, down) = (self.relu(a)?, self.relu(&minus)?);
                self.sub(&up, &down)
            }
            2 => {
                let (high, low) = (self.emit(MAX, &[a, &b])?, self.emit(MIN, &[a, &b])?);
                let both = self.add(&high, &low)?;
                self.sub(&both, &b)
            }
            3 => {
                let sum = self.add(a, &b)?;
                self.sub(&sum, &b)
            }
            4 if self.is_moderate(a) => {
                let e = self.emit(Smooth::Exp, &[a])?;
                self.emit(Smooth::Log, &[&e])
            }
            5 if self.is_positive(a) => {
                let l = self.emit(Smooth::Log, &[a])?;
                self.emit(Smooth::Exp, &[&l])
            }
            6 if self.is_positive(a) => {
                let root = self.emit(Smooth::Sqrt, &[a])?;
                self.emit(Smooth::Power(2), &[&root])
            }
            7 if self.is_positive(a) => {
                let square = self.mul(a, a)?;
                self.emit(Smooth::Sqrt, &[&square])
            }
            8 => {
                let (s, c) = (self.emit(Smooth::Sin, &[&b])?, self.emit(Smooth::Cos, &[&b])?);
                let (s, c) = (self.emit(Smooth::Power(2), &[&s])?, self.mul(&c, &c)?);
                let one = self.add(&s, &c)?;
                self.mul(a, &one)
            }
            9 if !b.is_zero() && b.number.is_some() => {
                let product = self.mul(a, &b)?;
                self.emit(Op::Div, &[&product, &b])
            }
            10 => {
                let (third, three) = (self.ratio(1, 3), self.ratio(3, 1));
                let part = self.mul(a, &third)?;
                self.mul(&part, &three)
            }
            // two of three are the same, so the middle one is
            11 | 12 => self.emit(Op::Kink(Kink::OrderStatistic(Lane::Args, 1)), &[a, &b, a]),
            13 => {
                let slope = Rational::new(1, 4).unwrap_or_default();
                let minus = self.neg(a)?;
                let up = self.emit(Op::Kink(Kink::LeakyRelu(slope.clone())), &[a])?;
                let down = self.emit(Op::Kink(Kink::LeakyRelu(slope)), &[&minus])?;
                let both = self.sub(&up, &down)?;
                let part = self.ratio(4, 5);
                self.mul(&both, &part)
            }
            14 => {
                let gap = self.constant("1e-20".parse().unwrap_or_default());
                let lower = self.sub(a, &gap)?;
                self.emit(MAX, &[&lower, a])
            }
            15 => self.emit(Op::LogSumExp(Lane::Args), &[a]),
            16 => {
                let zero = self.ratio(0, 1);
                let nothing = self.mul(&zero, &b)?;
                self.add(a, &nothing)
            }
            _ => {
                let minus = self.neg(a)?;
                let twice = self.add(a, a)?;
                self.add(&twice, &minus)
            }
        }
    }

    /// Two expressions that are the same function near the point, by a law of smooth functions or of kinks.
    pub fn twins(&mut self) -> Option<(Var, Var)> {
        let (a, b) = (self.any(), self.any());
        let one = self.ratio(1, 1);
        let two = self.ratio(2, 1);
        match self.rng.below(13) {
            0 if self.is_moderate(&a) && self.is_moderate(&b) => {
                let (x, y) = (self.emit(Smooth::Exp, &[&a])?, self.emit(Smooth::Exp, &[&b])?);
                let sum = self.add(&a, &b)?;
                Some((self.mul(&x, &y)?, self.emit(Smooth::Exp, &[&sum])?))
            }
            1 => {
                let twice = self.mul(&two, &a)?;
                let s = self.emit(Smooth::Sigmoid, &[&twice])?;
                let s = self.mul(&two, &s)?;
                Some((self.emit(Smooth::Tanh, &[&a])?, self.sub(&s, &one)?))
            }
            2 if self.is_positive(&a) && self.is_positive(&b) => {
                let (x, y) = (self.emit(Smooth::Log, &[&a])?, self.emit(Smooth::Log, &[&b])?);
                let product = self.mul(&a, &b)?;
                Some((self.add(&x, &y)?, self.emit(Smooth::Log, &[&product])?))
            }
            3 if self.is_positive(&a) && self.is_positive(&b) => {
                let (x, y) = (self.emit(Smooth::Sqrt, &[&a])?, self.emit(Smooth::Sqrt, &[&b])?);
                let product = self.mul(&a, &b)?;
                Some((self.mul(&x, &y)?, self.emit(Smooth::Sqrt, &[&product])?))
            }
            // not smooth at zero, and no local model of the root says so
            4 => {
                let square = self.emit(Smooth::Power(2), &[&a])?;
                Some((self.abs(&a)?, self.emit(Smooth::Sqrt, &[&square])?))
            }
            5 => {
                let minus = self.neg(&a)?;
                let s = self.emit(Smooth::Sigmoid, &[&a])?;
                Some((self.emit(Smooth::Sigmoid, &[&minus])?, self.sub(&one, &s)?))
            }
            6 if self.is_moderate(&a) && self.is_moderate(&b) => {
                let (x, y) = (self.emit(Smooth::Exp, &[&a])?, self.emit(Smooth::Exp, &[&b])?);
                let sum = self.add(&x, &y)?;
                Some((self.emit(Op::LogSumExp(Lane::Args), &[&a, &b])?, self.emit(Smooth::Log, &[&sum])?))
            }
            7 if self.is_moderate(&a) => {
                let minus = self.neg(&a)?;
                let e = self.emit(Smooth::Exp, &[&a])?;
                Some((self.emit(Smooth::Exp, &[&minus])?, self.emit(Smooth::Inv, &[&e])?))
            }
            8 => {
                let twice = self.add(&a, &a)?;
                let (s, c) = (self.emit(Smooth::Sin, &[&a])?, self.emit(Smooth::Cos, &[&a])?);
                let product = self.mul(&s, &c)?;
                Some((self.emit(Smooth::Sin, &[&twice])?, self.mul(&two, &product)?))
            }
            9 => {
                let minus = self.neg(&a)?;
                Some((self.abs(&a)?, self.emit(MAX, &[&a, &minus])?))
            }
            10 => {
                let apart = self.sub(&a, &b)?;
                let up = self.relu(&apart)?;
                Some((self.emit(MAX, &[&a, &b])?, self.add(&up, &b)?))
            }
            11 => {
                let (sum, apart) = (self.add(&a, &b)?, self.sub(&a, &b)?);
                let product = self.mul(&sum, &apart)?;
                let (x, y) = (self.emit(Smooth::Power(2), &[&a])?, self.mul(&b, &b)?);
                Some((product, self.sub(&x, &y)?))
            }
            _ => {
                let other = self.disguise(&a)?;
                Some((a, other))
            }
        }
    }

    /// Something that is exactly zero at the point: any value, less what it is there.
    pub fn zero(&mut self) -> Option<Var> {
        let v = self.any();
        match v.exact() {
            Some(r) if r.is_zero() => Some(v),
            Some(r) => {
                let there = self.constant(Rational::from(r.clone()));
                self.sub(&v, &there)
            }
            None if self.rng.once_in(2) => {
                let (a, b) = self.twins()?;
                let apart = self.sub(&a, &b)?;
                let more = self.zero_input()?;
                self.add(&apart, &more)
            }
            None => self.zero_input(),
        }
    }

    /// An input, less what it is at the point, at times with a factor.
    pub fn zero_input(&mut self) -> Option<Var> {
        let exact: Vec<Var> = self.pool.iter().filter(|v| v.exact().is_some()).cloned().collect();
        if exact.is_empty() {
            return None;
        }
        let v = self.rng.pick(&exact).clone();
        let there = v.exact().cloned().unwrap_or(RBig::ZERO);
        let there = self.constant(Rational::from(there));
        let z = if v.is_zero() { v } else { self.sub(&v, &there)? };
        if self.rng.once_in(3) {
            let factor = self.some_constant();
            return self.mul(&factor, &z);
        }
        Some(z)
    }
}
