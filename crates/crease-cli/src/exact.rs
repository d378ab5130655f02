//! Exact rationals that stop before they grow too long.
//!
//! Forty squarings make a number of 10^12 digits, so exact arithmetic needs a limit that a run notices. [`Exact`] is
//! [`Rational`] with a budget: what would exceed it becomes a number that is not finite, and a checked run stops at the
//! equation where that happens. The budget belongs to the thread and is set before a run.

use crease_core::{Number, NumberError, Rational, RunError, RunFault};
use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt;

/// How far exact arithmetic may go.
#[derive(Clone, Copy)]
pub struct Budget {
    /// The longest number, in bits of numerator and denominator together.
    pub bits: usize,
    /// The work, in units of about a nanosecond.
    pub work: u64,
}

impl Budget {
    /// What nobody will notice.
    pub const SHORT: Budget = Budget { bits: 100_000, work: 500_000_000 };
    /// For those who insist; the limit of ten million bits is that of powers.
    pub const LONG: Budget = Budget { bits: 10_000_000, work: u64::MAX };

    /// Makes this the budget of the runs that follow.
    pub fn set(self) {
        BITS.set(self.bits);
        WORK.set(self.work);
    }
}

thread_local! {
    static BITS: Cell<usize> = const { Cell::new(usize::MAX) };
    static WORK: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// An exact rational within the budget, or the fact that it was exceeded.
#[derive(Clone, Debug, PartialEq)]
pub enum Exact {
    Number(Rational),
    TooLong,
}

use Exact::{Number as Known, TooLong};

impl Exact {
    /// The number, if it is within the budget.
    pub fn number(self) -> Option<Rational> {
        match self {
            Known(x) => Some(x),
            TooLong => None,
        }
    }

    /// The result of an operation whose cost grows with the square of the length: that is what reducing fractions takes.
    fn apply(&self, other: &Self, op: impl FnOnce(&Rational, &Rational) -> Rational) -> Self {
        let (Known(a), Known(b)) = (self, other) else { return TooLong };
        if a.small_parts().is_some() && b.small_parts().is_some() {
            return Known(op(a, b));
        }
        let bits = a.bits() + b.bits();
        let words = (bits / 64) as u64 + 1;
        let left = WORK.get().saturating_sub(words.saturating_mul(words));
        WORK.set(left);
        if bits > BITS.get() || left == 0 { TooLong } else { Known(op(a, b)) }
    }

    fn partial(&self, op: impl FnOnce(&Rational) -> Result<Rational, NumberError>) -> Result<Self, NumberError> {
        match self {
            Known(x) => op(x).map(Known),
            TooLong => Ok(TooLong),
        }
    }
}

/// Whether a run stopped because numbers grew too long.
pub fn grew_too_long(e: &RunError) -> bool {
    // rationals neither overflow nor leave a comparison open
    matches!(
        e.fault,
        RunFault::Overflow(_) | RunFault::Number(NumberError::TooLarge | NumberError::Undecided | NumberError::NoOrder)
    )
}

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Known(x) => x.fmt(f),
            TooLong => f.write_str("a number too long to be exact"),
        }
    }
}

impl Number for Exact {
    const NAME: &'static str = "exact rationals";
    const EXACT: bool = true;

    fn from_rational(r: &Rational) -> Result<Self, NumberError> {
        Ok(Known(r.clone()))
    }

    fn zero() -> Self {
        Known(Rational::ZERO)
    }

    fn one() -> Self {
        Known(Rational::ONE)
    }

    fn from_usize(n: usize) -> Self {
        Known(<Rational as Number>::from_usize(n))
    }

    fn add(&self, other: &Self) -> Self {
        self.apply(other, |a, b| a + b)
    }

    fn sub(&self, other: &Self) -> Self {
        self.apply(other, |a, b| a - b)
    }

    fn mul(&self, other: &Self) -> Self {
        self.apply(other, |a, b| a * b)
    }

    fn neg(&self) -> Self {
        match self {
            Known(x) => Known(-x),
            TooLong => TooLong,
        }
    }

    fn div(&self, other: &Self) -> Result<Self, NumberError> {
        other.partial(Number::inv).map(|inverse| self.mul(&inverse))
    }

    fn exp(&self) -> Result<Self, NumberError> {
        self.partial(Number::exp)
    }

    fn log(&self) -> Result<Self, NumberError> {
        self.partial(Number::log)
    }

    fn sqrt(&self) -> Result<Self, NumberError> {
        self.partial(Number::sqrt)
    }

    fn sin(&self) -> Result<Self, NumberError> {
        self.partial(Number::sin)
    }

    fn cos(&self) -> Result<Self, NumberError> {
        self.partial(Number::cos)
    }

    fn tanh(&self) -> Result<Self, NumberError> {
        self.partial(Number::tanh)
    }

    fn sigmoid(&self) -> Result<Self, NumberError> {
        self.partial(Number::sigmoid)
    }

    fn powi(&self, exponent: i32) -> Result<Self, NumberError> {
        let Known(x) = self else { return Ok(TooLong) };
        if x.bits().saturating_mul(exponent.unsigned_abs() as usize) > BITS.get().saturating_mul(2) {
            // such a power of 0, 1 or -1 is short all the same
            let short = x.is_zero() || x.abs().is_one();
            return if short { x.powi(exponent).map(Known) } else { Ok(TooLong) };
        }
        x.powi(exponent).map(Known)
    }

    fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Known(a), Known(b)) => Number::compare(a, b),
            _ => None,
        }
    }

    fn is_finite(&self) -> bool {
        matches!(self, Known(_))
    }

    fn to_f64(&self) -> f64 {
        match self {
            Known(x) => x.to_f64(),
            TooLong => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crease_core::{Tensor, run, trace};

    #[test]
    fn squaring_on_and_on_stops() {
        let p = trace(1, |x| (0..60).fold(x[0], |y, _| y * y)).unwrap();
        Budget::SHORT.set();
        let e = run(&p, &[Tensor::scalar(Known(Rational::from(3)))]).unwrap_err();
        assert!(grew_too_long(&e), "{e}");
        let one = run(&p, &[Tensor::scalar(Exact::one())]).unwrap();
        assert_eq!(one[0].data(), [Exact::one()]);
    }

    #[test]
    fn powers_stop_too_but_not_those_of_one() {
        Budget::SHORT.set();
        assert_eq!(Known(Rational::from(3)).powi(i32::MAX).unwrap(), TooLong);
        assert_eq!(Known(Rational::from(-1)).powi(i32::MAX).unwrap(), Known(Rational::from(-1)));
        assert_eq!(Known(Rational::from(3)).powi(-2).unwrap().to_string(), "1/9");
    }
}
