//! Functions that are made of others, and the error function by its own series, with bounds on their errors.
//!
//! Each is taken another way than the enclosures of `crease-number` take it, so that one checks the other.

use super::Fault;
use super::number::{Arithmetic, Ball, Float, NONE, Number, name, size, sum, times};
use dashu_base::UnsignedAbs;
use dashu_float::Context;
use dashu_int::UBig;
use dashu_ratio::RBig;
use std::cmp::Ordering;

fn fraction(p: i32, q: u32) -> Number {
    Number::Exact(RBig::from_parts(p.into(), q.into()))
}

impl Arithmetic {
    /// The sine over the cosine.
    pub fn tan(&self, x: &Number) -> Result<Number, Fault> {
        self.div(&self.sin(x)?, &self.cos(x)?)
    }

    /// The arctangent.
    pub fn atan(&self, x: &Number) -> Result<Number, Fault> {
        if x.exact().is_some_and(RBig::is_zero) {
            return Ok(Number::zero());
        }
        self.lipschitz(x, "atan", 0, |x, cache| self.context.atan(x.repr(), Some(cache)))
    }

    /// The ratio of the circumference of a circle to its diameter.
    fn pi(&self) -> Result<Number, Fault> {
        self.mul(&fraction(4, 1), &self.atan(&Number::one())?)
    }

    /// atan(x / sqrt(1 - x^2)).
    pub fn asin(&self, x: &Number) -> Result<Number, Fault> {
        let rest = self.sub(&Number::one(), &self.mul(x, x)?)?;
        if rest.exact().is_some_and(RBig::is_zero) {
            let quarter = self.mul(&fraction(1, 2), &self.pi()?)?;
            return self.mul(x, &quarter);
        }
        self.atan(&self.div(x, &self.sqrt(&rest)?)?)
    }

    /// 2 atan(sqrt((1 - x) / (1 + x))).
    pub fn acos(&self, x: &Number) -> Result<Number, Fault> {
        let (below, above) = (self.sub(&Number::one(), x)?, self.add(&Number::one(), x)?);
        if above.exact().is_some_and(RBig::is_zero) {
            return self.pi();
        }
        let half = self.atan(&self.sqrt(&self.div(&below, &above)?)?)?;
        self.mul(&fraction(2, 1), &half)
    }

    /// (exp(x) - exp(-x)) / 2.
    pub fn sinh(&self, x: &Number) -> Result<Number, Fault> {
        let both = self.sub(&self.exp(x)?, &self.exp(&self.neg(x))?)?;
        self.mul(&fraction(1, 2), &both)
    }

    /// (exp(x) + exp(-x)) / 2.
    pub fn cosh(&self, x: &Number) -> Result<Number, Fault> {
        let both = self.add(&self.exp(x)?, &self.exp(&self.neg(x))?)?;
        self.mul(&fraction(1, 2), &both)
    }

    /// log(x + sqrt(x^2 + 1)), of the absolute value.
    pub fn asinh(&self, x: &Number) -> Result<Number, Fault> {
        if self.ball(x).mid < Float::ZERO {
            return Ok(self.neg(&self.asinh(&self.neg(x))?));
        }
        let root = self.sqrt(&self.add(&self.mul(x, x)?, &Number::one())?)?;
        self.log(&self.add(x, &root)?)
    }

    /// log(x + sqrt(x^2 - 1)).
    pub fn acosh(&self, x: &Number) -> Result<Number, Fault> {
        if self.order(x, &Number::one())? == Ordering::Less {
            return Err(Fault::NoValue("acosh of a number below 1"));
        }
        let root = self.sqrt(&self.sub(&self.mul(x, x)?, &Number::one())?)?;
        self.log(&self.add(x, &root)?)
    }

    /// log((1 + x) / (1 - x)) / 2.
    pub fn atanh(&self, x: &Number) -> Result<Number, Fault> {
        let ratio = self.div(&self.add(&Number::one(), x)?, &self.sub(&Number::one(), x)?)?;
        self.mul(&fraction(1, 2), &self.log(&ratio)?)
    }

    /// The logarithm of 1 more.
    pub fn log1p(&self, x: &Number) -> Result<Number, Fault> {
        self.log(&self.add(&Number::one(), x)?)
    }

    /// 1 less than the exponential.
    pub fn expm1(&self, x: &Number) -> Result<Number, Fault> {
        self.sub(&self.exp(x)?, &Number::one())
    }

    /// 2 / sqrt(pi).
    fn factor(&self) -> Result<Number, Fault> {
        self.div(&fraction(2, 1), &self.sqrt(&self.pi()?)?)
    }

    /// 2 / sqrt(pi) * exp(-x^2).
    pub fn erf_slope(&self, x: &Number) -> Result<Number, Fault> {
        self.mul(&self.factor()?, &self.exp(&self.neg(&self.mul(x, x)?))?)
    }

    /// How many bits exp(x^2) has, roughly; as many as there may be if it is far too large.
    fn growth(mid: &Float) -> i64 {
        let x = mid.to_f64().value();
        (std::f64::consts::LOG2_E * x * x).min(1e15) as i64
    }

    /// The error function of a float by its Taylor series, which alternates: what cancels is made up for by more bits.
    fn erf_series(&self, mid: &Float, name: u64) -> Result<Number, Fault> {
        let grown = Self::growth(mid);
        let work = self.bits + 2 * grown.unsigned_abs() as usize + 64;
        let context = Context::new(work);
        let fault = |_| Fault::TooLarge;
        let mul = |a: &Float, b: &Float| context.mul(a.repr(), b.repr()).map(|x| x.value()).map_err(fault);
        let div = |a: &Float, n: u64| context.div(a.repr(), Float::from(n).repr()).map(|x| x.value()).map_err(fault);
        let square = mul(mid, mid)?;
        let (mut term, mut total) = (mid.clone(), mid.clone());
        let mut n = 0_u64;
        while size(&term) > size(mid) - self.bits as i64 - 64 || (n as i64) < 2 * grown {
            n += 1;
            term = -div(&mul(&term, &square)?, n)?;
            let part = div(&term, 2 * n + 1)?;
            total = context.add(total.repr(), part.repr()).map_err(fault)?.value();
        }
        // terms sum up to at most |x| exp(x^2), each has been rounded some n times, and the next ones halve
        let rounds = 64 - i64::from(n.leading_zeros()) + 4;
        let error = (size(mid) + grown + rounds + 2 - work as i64).max(size(mid) - self.bits as i64 - 60);
        self.mul(&self.factor()?, &Number::Ball(Ball { mid: total, error, name: name ^ 2 }))
    }

    /// The error function.
    pub fn erf(&self, x: &Number) -> Result<Number, Fault> {
        if x.exact().is_some_and(RBig::is_zero) {
            return Ok(Number::zero());
        }
        let name = name("erf", 0, &[x.name()]);
        self.once(name, || {
            let ball = self.ball(x);
            let grown = Self::growth(&ball.mid);
            let value = if size(&ball.mid) == NONE {
                Ball { mid: Float::ZERO, error: NONE, name }
            } else if grown > self.bits as i64 + 8 {
                Ball { mid: if ball.mid < Float::ZERO { -Float::ONE } else { Float::ONE }, error: 1 - grown, name }
            } else {
                self.ball(&self.erf_series(&ball.mid, name)?)
            };
            // its slope is less than 2
            Ok(Number::Ball(Ball { mid: value.mid, error: sum(&[value.error, times(ball.error, 1)]), name }))
        })
    }

    /// What the error function lacks to 1.
    pub fn erfc(&self, x: &Number) -> Result<Number, Fault> {
        if x.exact().is_some_and(RBig::is_zero) {
            return Ok(Number::one());
        }
        let name = name("erfc", 0, &[x.name()]);
        self.once(name, || {
            let ball = self.ball(x);
            let grown = Self::growth(&ball.mid);
            let right = ball.mid > Float::ZERO;
            let value = if right && grown > 2 * self.bits as i64 {
                Ball { mid: Float::ZERO, error: 1 - grown, name }
            } else {
                // at the middle of the ball, which is another number than what has its name
                let finer = Arithmetic::new(self.bits + 64 + if right { grown.unsigned_abs() as usize } else { 0 });
                let mid = Number::Ball(Ball { mid: ball.mid.clone(), error: NONE, name: name ^ 1 });
                finer.ball(&finer.sub(&Number::one(), &finer.erf(&mid)?)?)
            };
            Ok(Number::Ball(Ball { mid: value.mid, error: sum(&[value.error, times(ball.error, 1)]), name }))
        })
    }

    /// x ^ (p / q).
    pub fn root(&self, x: &Number, p: i32, q: i32) -> Result<Number, Fault> {
        let no_root = Fault::NoValue("a power that is no integer, of a negative number");
        let Some(n) = u32::try_from(q).ok().filter(|n| *n > 1) else { return Err(no_root) };
        if let Number::Exact(r) = x {
            let root = |x: &UBig| {
                let root = if *x == UBig::ZERO { UBig::ZERO } else { x.nth_root(n as usize) };
                Some(root).filter(|root| root.pow(n as usize) == *x)
            };
            match r.cmp(&RBig::ZERO) {
                Ordering::Less => return Err(no_root),
                Ordering::Equal if p > 0 => return Ok(Number::zero()),
                Ordering::Equal => return Err(Fault::NoValue("division by zero")),
                Ordering::Greater => {
                    let both = root(&r.numerator().clone().unsigned_abs()).zip(root(r.denominator()));
                    if let Some((above, below)) = both {
                        return self.power(&self.rational(RBig::from_parts(above.into(), below)), p);
                    }
                }
            }
        }
        self.exp(&self.mul(&fraction(p, n), &self.log(x)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(x: Result<Number, Fault>, expected: f64, bits: i64) {
        let x = x.unwrap();
        assert!((x.to_f64() - expected).abs() <= 1e-15 * expected.abs(), "{x:?} {expected}");
        assert!(x.error() < bits, "{x:?}");
    }

    #[test]
    fn they_have_their_values() {
        let a = Arithmetic::new(400);
        let x = fraction(1, 2);
        near(a.tan(&x), 0.5_f64.tan(), -380);
        near(a.asin(&x), 0.5_f64.asin(), -380);
        near(a.acos(&x), 0.5_f64.acos(), -380);
        near(a.sinh(&x), 0.5_f64.sinh(), -380);
        near(a.cosh(&x), 0.5_f64.cosh(), -380);
        near(a.asinh(&fraction(-1, 2)), -0.481_211_825_059_603_4, -380);
        near(a.acosh(&fraction(2, 1)), 1.316_957_896_924_816_7, -380);
        near(a.atanh(&x), 0.549_306_144_334_054_8, -380);
        near(a.erf(&x), 0.520_499_877_813_046_5, -380);
        near(a.erf(&fraction(-3, 1)), -0.999_977_909_503_001_4, -380);
        near(a.erfc(&fraction(10, 1)), 2.088_487_583_762_544_7e-45, -500);
        near(a.erf_slope(&x), 0.878_782_578_935_444_8, -380);
        near(a.root(&fraction(2, 1), 1, 3), 2_f64.cbrt(), -380);
        assert_eq!(a.root(&fraction(8, 27), 2, 3).unwrap().exact(), fraction(4, 9).exact());
        assert_eq!(a.acos(&fraction(1, 1)).unwrap().exact(), Some(&RBig::ZERO));
        near(a.asin(&fraction(-1, 1)), -std::f64::consts::FRAC_PI_2, -380);
        assert!(matches!(a.asin(&fraction(2, 1)), Err(Fault::NoValue(_))));
        assert!(matches!(a.acosh(&x), Err(Fault::NoValue(_))));
        assert!(matches!(a.atanh(&Number::one()), Err(Fault::NoValue(_))));
        assert!(matches!(a.log1p(&fraction(-1, 1)), Err(Fault::NoValue(_))));
        // nothing is lost next to 0
        let tiny = Number::Exact(RBig::from_parts(1.into(), UBig::from(10u8).pow(200)));
        near(a.erf(&tiny), 1.128_379_167_095_512_5e-200, -1040);
    }
}
