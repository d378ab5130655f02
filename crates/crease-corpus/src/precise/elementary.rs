//! Smooth functions and those with a kink, of one number, with bounds on their errors.

use super::Fault;
use super::number::{Arithmetic, Ball, Float, NONE, Number, name, size, sum, times, with_constants};
use dashu_base::{SquareRootRem, UnsignedAbs};
use dashu_float::{ConstCache, FpResult};
use dashu_int::UBig;
use dashu_ratio::RBig;
use std::cmp::Ordering;

/// Arguments of the exponential beyond two to this power are not computed with.
const LARGEST_EXPONENT: i64 = 24;

/// Arguments of sines beyond two to this power are not computed with.
const LARGEST_ANGLE: i64 = 4000;

impl Arithmetic {
    /// A function that changes by at most `2^slope` times its argument.
    pub(super) fn lipschitz(
        &self,
        x: &Number,
        word: &'static str,
        slope: i64,
        f: impl FnOnce(&Float, &mut ConstCache) -> FpResult<Float>,
    ) -> Result<Number, Fault> {
        let name = name(word, 0, &[x.name()]);
        self.once(name, || {
            let x = self.ball(x);
            let mid = with_constants(|constants| f(&x.mid, constants));
            self.result(mid, &[times(x.error, slope)], name)
        })
    }

    fn is(&self, x: &Number, r: &RBig) -> bool {
        x.exact() == Some(r)
    }

    /// The exponential.
    pub fn exp(&self, x: &Number) -> Result<Number, Fault> {
        if self.is(x, &RBig::ZERO) {
            return Ok(Number::one());
        }
        let ball = self.ball(x);
        if ball.error > -2 {
            return Err(Fault::TooClose);
        }
        let name = name("exp", 0, &[ball.name]);
        if size(&ball.mid) > LARGEST_EXPONENT {
            return match ball.sign() {
                // as good as nothing, and positive
                Some(Ordering::Less) => {
                    let error = -(1i64 << (size(&ball.mid) - 1).min(50));
                    Ok(Number::Ball(Ball { mid: Float::ZERO, error, name }))
                }
                _ => Err(Fault::TooLarge),
            };
        }
        self.once(name, || {
            let mid = with_constants(|constants| self.context.exp(ball.mid.repr(), Some(constants)));
            let grown = mid.as_ref().map_or(NONE, |m| size(m.value_ref()));
            self.result(mid, &[times(grown, times(ball.error, 1))], name)
        })
    }

    /// The natural logarithm.
    pub fn log(&self, x: &Number) -> Result<Number, Fault> {
        if self.is(x, &RBig::ONE) {
            return Ok(Number::zero());
        }
        let name = name("log", 0, &[x.name()]);
        let ball = self.positive(x, "the logarithm of a number that is not positive")?;
        self.once(name, || {
            let mid = with_constants(|constants| self.context.ln(ball.mid.repr(), Some(constants)));
            self.result(mid, &[times(ball.error, 2 - size(&ball.mid))], name)
        })
    }

    /// A ball that is certainly positive, and far smaller than its distance from zero.
    fn positive(&self, x: &Number, otherwise: &'static str) -> Result<Ball, Fault> {
        if self.sign(x)? != Ordering::Greater {
            return Err(Fault::NoValue(otherwise));
        }
        let ball = self.ball(x);
        if ball.error > size(&ball.mid) - 3 { Err(Fault::TooClose) } else { Ok(ball) }
    }

    /// The square root.
    pub fn sqrt(&self, x: &Number) -> Result<Number, Fault> {
        if let Number::Exact(r) = x {
            let root = |n: &UBig| Some(n.sqrt_rem()).filter(|(_, rest)| rest.is_zero()).map(|(root, _)| root);
            match r.cmp(&RBig::ZERO) {
                Ordering::Less => return Err(Fault::NoValue("the square root of a negative number")),
                Ordering::Equal => return Ok(Number::zero()),
                Ordering::Greater => {
                    let both = root(&r.numerator().clone().unsigned_abs()).zip(root(r.denominator()));
                    if let Some((n, d)) = both {
                        return Ok(self.rational(RBig::from_parts(n.into(), d)));
                    }
                }
            }
        }
        // a ball may be known to be 0, as 0 over anything is
        if self.sign(x)? == Ordering::Equal {
            return Ok(Number::zero());
        }
        let name = name("sqrt", 0, &[x.name()]);
        let ball = self.positive(x, "the square root of a negative number")?;
        let mid = self.context.sqrt(ball.mid.repr());
        // |x - x'| / (2 sqrt(x')), where x' is at least a quarter of 2^size
        self.result(mid, &[times(ball.error, -((size(&ball.mid) - 2).div_euclid(2)))], name)
    }

    /// The sine.
    pub fn sin(&self, x: &Number) -> Result<Number, Fault> {
        if self.is(x, &RBig::ZERO) {
            return Ok(Number::zero());
        }
        self.angle(x)?;
        self.lipschitz(x, "sin", 0, |x, cache| self.context.sin(x.repr(), Some(cache)))
    }

    /// The cosine.
    pub fn cos(&self, x: &Number) -> Result<Number, Fault> {
        if self.is(x, &RBig::ZERO) {
            return Ok(Number::one());
        }
        self.angle(x)?;
        self.lipschitz(x, "cos", 0, |x, cache| self.context.cos(x.repr(), Some(cache)))
    }

    fn angle(&self, x: &Number) -> Result<(), Fault> {
        if size(&self.ball(x).mid) > LARGEST_ANGLE { Err(Fault::TooLarge) } else { Ok(()) }
    }

    /// The hyperbolic tangent.
    pub fn tanh(&self, x: &Number) -> Result<Number, Fault> {
        if self.is(x, &RBig::ZERO) {
            return Ok(Number::zero());
        }
        let ball = self.ball(x);
        if size(&ball.mid) > LARGEST_EXPONENT {
            let one = if ball.mid > Float::ZERO { Float::ONE } else { -Float::ONE };
            let error = sum(&[-(1i64 << (size(&ball.mid) - 1).min(50)), ball.error]);
            return Ok(Number::Ball(Ball { mid: one, error, name: name("tanh", 0, &[ball.name]) }));
        }
        self.lipschitz(x, "tanh", 0, |x, cache| self.context.tanh(x.repr(), Some(cache)))
    }

    /// `1 / (1 + exp(-x))`.
    pub fn sigmoid(&self, x: &Number) -> Result<Number, Fault> {
        if self.is(x, &RBig::ZERO) {
            return Ok(Number::Exact(RBig::from_parts(1.into(), 2u8.into())));
        }
        let ball = self.ball(x);
        let name = name("sigmoid", 0, &[ball.name]);
        let right = ball.mid > Float::ZERO;
        let mid = if right { -ball.mid.clone() } else { ball.mid.clone() };
        // at the middle of the ball, which is another number than what has its name
        let falling = self.exp(&Number::Ball(Ball { mid, error: NONE, name: name ^ 1 }))?;
        let whole = self.add(&Number::one(), &falling)?;
        let value = if right { self.div(&Number::one(), &whole)? } else { self.div(&falling, &whole)? };
        let value = self.ball(&value);
        Ok(Number::Ball(Ball { mid: value.mid, error: sum(&[value.error, ball.error]), name }))
    }

    /// `log(1 + exp(x))`.
    pub fn softplus(&self, x: &Number) -> Result<Number, Fault> {
        let ball = self.ball(x);
        let name = name("softplus", 0, &[ball.name]);
        let right = ball.mid > Float::ZERO;
        // at the middle of the ball, which is another number than what has its name
        let mid = Number::Ball(Ball { mid: ball.mid.clone(), error: NONE, name: name ^ 1 });
        let falling = self.exp(&if right { self.neg(&mid) } else { mid.clone() })?;
        let tail = self.log(&self.add(&Number::one(), &falling)?)?;
        let value = self.ball(&if right { self.add(&mid, &tail)? } else { tail });
        Ok(Number::Ball(Ball { mid: value.mid, error: sum(&[value.error, ball.error]), name }))
    }

    /// `left(x)` where x is negative and x elsewhere: a function with its kink at 0 that changes by at most `2^slope` times its
    /// argument.
    fn hinge(
        &self,
        x: &Number,
        slope: i64,
        left: impl Fn(&Number) -> Result<Number, Fault>,
        word: &'static str,
        parameter: u64,
    ) -> Result<Number, Fault> {
        match self.sign(x) {
            Ok(Ordering::Less) => left(x),
            Ok(_) => Ok(x.clone()),
            Err(Fault::TooClose) => {
                // continuous: no need to know the side
                let ball = self.ball(x);
                // the middle of the ball is another number than what has its name
                let point = Number::Ball(Ball { error: NONE, name: !ball.name, ..ball.clone() });
                let value = if ball.mid < Float::ZERO { left(&point)? } else { point };
                let value = self.ball(&value);
                let error = sum(&[value.error, times(ball.error, slope)]);
                Ok(Number::Ball(Ball { mid: value.mid, error, name: name(word, parameter as i64, &[ball.name]) }))
            }
            Err(other) => Err(other),
        }
    }

    /// `max(0, x)`.
    pub fn relu(&self, x: &Number) -> Result<Number, Fault> {
        self.hinge(x, 0, |_| Ok(Number::zero()), "relu", 0)
    }

    /// The absolute value.
    pub fn abs(&self, x: &Number) -> Result<Number, Fault> {
        self.hinge(x, 0, |x| Ok(self.neg(x)), "abs", 0)
    }

    /// x where positive, else `slope * x`.
    pub fn leaky_relu(&self, x: &Number, slope: &RBig) -> Result<Number, Fault> {
        let slope = Number::Exact(slope.clone());
        let steep = size(&self.ball(&slope).mid).max(0) + 1;
        self.hinge(x, steep, |x| self.mul(x, &slope), "leaky_relu", slope.name())
    }

    /// x where positive, else `scale * (exp(x) - 1)`.
    pub fn elu(&self, x: &Number, scale: &RBig) -> Result<Number, Fault> {
        let scale = Number::Exact(scale.clone());
        let steep = size(&self.ball(&scale).mid).max(0) + 1;
        let left = |x: &Number| self.mul(&scale, &self.sub(&self.exp(x)?, &Number::one())?);
        self.hinge(x, steep, left, "elu", scale.name())
    }

    /// The larger of two numbers.
    pub fn max(&self, a: &Number, b: &Number) -> Result<Number, Fault> {
        match self.order(a, b) {
            Ok(Ordering::Less) => Ok(b.clone()),
            Ok(_) => Ok(a.clone()),
            Err(Fault::TooClose) => {
                let mut names = [a.name(), b.name()];
                names.sort_unstable();
                let (a, b) = (self.ball(a), self.ball(b));
                let error = a.error.max(b.error);
                let mid = if a.mid < b.mid { b.mid } else { a.mid };
                Ok(Number::Ball(Ball { mid, error, name: name("max", 0, &names) }))
            }
            Err(other) => Err(other),
        }
    }

    /// The smaller of two numbers.
    pub fn min(&self, a: &Number, b: &Number) -> Result<Number, Fault> {
        Ok(self.neg(&self.max(&self.neg(a), &self.neg(b))?))
    }

    /// Numbers in ascending order. Those that cannot be told apart share an error.
    pub fn sort(&self, lane: &[Number]) -> Result<Vec<Number>, Fault> {
        let mut sorted = lane.to_vec();
        for _ in 0..lane.len() {
            // odd and even exchanges of neighbours: continuous, whatever can be told
            for start in [0, 1] {
                for i in (start..lane.len().saturating_sub(1)).step_by(2) {
                    let (low, high) = (self.min(&sorted[i], &sorted[i + 1])?, self.max(&sorted[i], &sorted[i + 1])?);
                    (sorted[i], sorted[i + 1]) = (low, high);
                }
            }
        }
        Ok(sorted)
    }

    /// `log(sum(exp(lane)))`.
    pub fn log_sum_exp(&self, lane: &[Number]) -> Result<Number, Fault> {
        let [first, rest @ ..] = lane else { return Err(Fault::Unsupported("an empty lane")) };
        if rest.is_empty() {
            return Ok(first.clone());
        }
        let mut top = self.ball(first);
        for x in rest {
            let x = self.ball(x);
            if x.mid > top.mid {
                top = x;
            }
        }
        // any number near the largest will do
        let shift = Number::Ball(Ball { error: NONE, name: !top.name, ..top });
        let mut total = Number::zero();
        for x in lane {
            total = self.add(&total, &self.exp(&self.sub(x, &shift)?)?)?;
        }
        let value = self.ball(&self.add(&self.log(&total)?, &shift)?);
        let names: Vec<u64> = lane.iter().map(Number::name).collect();
        Ok(Number::Ball(Ball { name: name("logsumexp", 0, &names), ..value }))
    }
}
