//! Ties that are nearly there, cancellations, and products of what vanishes.

use super::grow::{Grower, Var};
use crease_core::{Kink, Lane, Op, Smooth};

const MAX: Op = Op::Kink(Kink::Max(Lane::Args));

impl Grower<'_> {
    /// Two numbers that no double can tell apart, and differ.
    fn close_pair(&mut self) -> Option<(Var, Var)> {
        let pairs = [
            (Op::Smooth(Smooth::Exp), "1e-20", "2e-20"),
            (Op::Smooth(Smooth::Sigmoid), "40", "41"),
            (Op::Smooth(Smooth::Tanh), "50", "60"),
            (Op::Smooth(Smooth::Cos), "0", "1e-15"),
            (Op::Smooth(Smooth::Sin), "1e30", "1000000000000000000000000000001"),
            (Op::Smooth(Smooth::Log), "1.00000000000000000001", "1.00000000000000000002"),
            (Op::Add, "1e30", "1000000000000000000000000000001"),
            (Op::Add, "1", "1.00000000000000000001"),
            (Op::Smooth(Smooth::Sqrt), "2", "2.0000000000000000000000001"),
            // smaller than any double
            (Op::Smooth(Smooth::Exp), "-800", "-801"),
            (Op::Smooth(Smooth::Erf), "7", "8"),
            (Op::Smooth(Smooth::Erfc), "30", "31"),
            (Op::Smooth(Smooth::Atan), "1e20", "1e21"),
            (Op::Smooth(Smooth::Cosh), "0", "1e-15"),
            (Op::Smooth(Smooth::Acosh), "1", "1.0000000000000000000000001"),
            (Op::Smooth(Smooth::Root(1, 3)), "2", "2.0000000000000000000000001"),
            (Op::Add, "1e-330", "2e-330"),
        ];
        let (op, a, b) = self.rng.pick(&pairs).clone();
        let (a, b) = (self.constant(a.parse().unwrap_or_default()), self.constant(b.parse().unwrap_or_default()));
        let (a, b) = if op == Op::Add { (a, b) } else { (self.emit(op.clone(), &[&a])?, self.emit(op, &[&b])?) };
        Some(if self.rng.once_in(2) { (a, b) } else { (b, a) })
    }

    /// A kink that almost ties, or that ties and has almost equal slopes.
    pub fn near_tie(&mut self) -> Option<Var> {
        let z = self.zero()?;
        if self.rng.once_in(4) {
            // a decided kink next to its switch
            let gap = self.rng.pick(&["1e-20", "-1e-20", "1e-40", "1e-17"]).parse().unwrap_or_default();
            let gap = self.constant(gap);
            let moved = self.add(&z, &gap)?;
            let op = self.hinged();
            return self.emit(op, &[&moved]);
        }
        let (u, v) = self.close_pair()?;
        match self.rng.below(6) {
            0 | 1 => {
                let slope = self.sub(&u, &v)?;
                let product = self.mul(&slope, &z)?;
                let op = self.hinged();
                self.emit(op, &[&product])
            }
            2 => {
                let (a, b) = (self.mul(&u, &z)?, self.mul(&v, &z)?);
                self.emit(MAX, &[&a, &b])
            }
            3 => {
                let other = self.zero()?;
                let (a, b) = (self.add(&u, &z)?, self.add(&v, &other)?);
                self.emit(MAX, &[&a, &b])
            }
            4 => {
                let apart = self.sub(&u, &v)?;
                let sum = self.add(&z, &apart)?;
                let op = self.hinged();
                self.emit(op, &[&sum])
            }
            _ => {
                let apart = self.sub(&u, &v)?;
                let product = self.mul(&apart, &z)?;
                let other = self.any();
                self.add(&product, &other)
            }
        }
    }

    /// Equal things taken from each other, or tied with each other.
    pub fn cancellation(&mut self) -> Option<Var> {
        let (a, b) = self.twins()?;
        match self.rng.below(6) {
            0 => self.sub(&a, &b),
            1 => {
                let apart = self.sub(&a, &b)?;
                let op = self.hinged();
                self.emit(op, &[&apart])
            }
            2 => self.emit(MAX, &[&a, &b]),
            3 => {
                let z = self.zero()?;
                let moved = self.add(&b, &z)?;
                self.emit(MAX, &[&a, &moved])
            }
            4 => {
                let (apart, z) = (self.sub(&a, &b)?, self.zero()?);
                let sum = self.add(&apart, &z)?;
                let op = self.hinged();
                self.emit(op, &[&sum])
            }
            _ => {
                let (apart, z) = (self.sub(&a, &b)?, self.any());
                self.mul(&apart, &z)
            }
        }
    }

    /// Products, powers and roots of what is zero at the point.
    pub fn vanishing(&mut self) -> Option<Var> {
        let (a, b) = (self.zero()?, self.zero()?);
        match self.rng.below(20) {
            0 | 14 => self.mul(&a, &b),
            1 | 15 => {
                let product = self.mul(&a, &b)?;
                let op = self.hinged();
                self.emit(op, &[&product])
            }
            2 | 16 => {
                let size = self.abs(&b)?;
                self.mul(&a, &size)
            }
            3 => {
                let square = self.emit(Smooth::Power(2), &[&a])?;
                self.emit(Smooth::Sqrt, &[&square])
            }
            4 => {
                let (x, y) = (self.mul(&a, &a)?, self.emit(Smooth::Power(2), &[&b])?);
                let sum = self.add(&x, &y)?;
                self.emit(Smooth::Sqrt, &[&sum])
            }
            5 => {
                let fourth = self.emit(Smooth::Power(4), &[&a])?;
                self.emit(Smooth::Sqrt, &[&fourth])
            }
            6 => {
                let size = self.abs(&a)?;
                let k = *self.rng.pick(&[2, 3]);
                self.emit(Smooth::Power(k), &[&size])
            }
            7 => {
                let (x, y) = (self.mul(&a, &a)?, self.mul(&b, &b)?);
                self.emit(MAX, &[&x, &y])
            }
            8 => {
                let product = self.mul(&a, &b)?;
                let size = self.abs(&product)?;
                self.emit(Smooth::Sqrt, &[&size])
            }
            9 | 17 | 18 => {
                // a curved border: gradients that no straight direction shows
                let square = self.emit(Smooth::Power(2), &[&a])?;
                let apart = self.sub(&b, &square)?;
                let (x, y) = (self.abs(&apart)?, self.abs(&b)?);
                self.sub(&x, &y)
            }
            10 => {
                let one = self.ratio(1, 1);
                let size = self.abs(&a)?;
                let whole = self.add(&one, &size)?;
                let op = self
                    .rng
                    .pick(&[Op::Smooth(Smooth::Log), Op::Smooth(Smooth::Sqrt), Op::Smooth(Smooth::Inv)])
                    .clone();
                self.emit(op, &[&whole])
            }
            11 => {
                let size = self.abs(&a)?;
                self.emit(Smooth::Sqrt, &[&size])
            }
            12 => {
                let square = self.emit(Smooth::Power(2), &[&a])?;
                self.relu(&square)
            }
            _ => {
                let third = self.emit(Smooth::Power(3), &[&a])?;
                let op = self.hinged();
                self.emit(op, &[&third])
            }
        }
    }
}
