//! Exact rationals that stop before they grow too long.
//!
//! Forty squarings make a number of 10^12 digits, so exact arithmetic needs a limit that a run notices. [`Exact`] is
//! [`Rational`] with a [`Budget`]: what would exceed it becomes a number that is not finite, and a checked run stops at the
//! equation where that happens. All numbers that come from the same inputs draw on the same budget; constants, which have none of
//! their own, take part in that of the numbers they meet.

use crate::{Number, NumberError, Rational, Smooth, Stair};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How far exact arithmetic may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    /// Numbers that share this budget from now on.
    ///
    /// ```
    /// use crease_number::{Budget, Number, Rational};
    /// let mut x = Budget::SHORT.share(vec![Rational::from(3)]).remove(0);
    /// for _ in 0..60 {
    ///     x = x.mul(&x);
    /// }
    /// assert!(!x.is_finite()); // 3^(2^60) has 2^60 digits and more
    /// ```
    pub fn share(self, numbers: impl IntoIterator<Item = Rational>) -> Vec<Exact> {
        let purse = Arc::new(Purse { bits: self.bits, left: AtomicU64::new(self.work) });
        numbers.into_iter().map(|x| Known(x, Some(purse.clone()))).collect()
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget::SHORT
    }
}

/// What is left of a budget.
#[derive(Debug)]
pub struct Purse {
    bits: usize,
    left: AtomicU64,
}

/// An exact rational within a [`Budget`], or the fact that it was exceeded.
#[derive(Clone, Debug)]
pub enum Exact {
    /// The number, and the budget that it draws on; a constant has none.
    Number(Rational, Option<Arc<Purse>>),
    /// The budget was exceeded.
    TooLong,
}

use Exact::{Number as Known, TooLong};

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Known(a, _), Known(b, _)) => a == b,
            (TooLong, TooLong) => true,
            _ => false,
        }
    }
}

impl Exact {
    /// A constant, which draws on the budget of what it meets.
    pub fn constant(x: Rational) -> Exact {
        Known(x, None)
    }

    /// The number, if it is within the budget.
    pub fn number(self) -> Option<Rational> {
        match self {
            Known(x, _) => Some(x),
            TooLong => None,
        }
    }

    /// The result of an operation whose cost grows with the square of the length: that is what reducing fractions takes.
    fn apply(&self, other: &Self, op: impl FnOnce(&Rational, &Rational) -> Rational) -> Self {
        let (Known(a, mine), Known(b, others)) = (self, other) else { return TooLong };
        let purse = mine.as_ref().or(others.as_ref());
        if a.small_parts().is_some() && b.small_parts().is_some() {
            return Known(op(a, b), purse.cloned());
        }
        let bits = a.bits() + b.bits();
        let words = (bits / 64) as u64 + 1;
        let cost = words.saturating_mul(words);
        let left = purse.map_or(u64::MAX, |p| {
            let spent = p.left.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_sub(cost)));
            spent.unwrap_or_default().saturating_sub(cost)
        });
        if bits > longest(purse) || left == 0 { TooLong } else { Known(op(a, b), purse.cloned()) }
    }

    fn partial(&self, op: impl FnOnce(&Rational) -> Result<Rational, NumberError>) -> Result<Self, NumberError> {
        match self {
            Known(x, purse) => op(x).map(|y| Known(y, purse.clone())),
            TooLong => Ok(TooLong),
        }
    }
}

/// The longest number that a budget allows.
fn longest(purse: Option<&Arc<Purse>>) -> usize {
    purse.map_or(Budget::SHORT.bits, |p| p.bits)
}

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Known(x, _) => x.fmt(f),
            TooLong => f.write_str("a number too long to be exact"),
        }
    }
}

impl Number for Exact {
    const NAME: &'static str = "exact rationals";
    const EXACT: bool = true;

    fn from_rational(r: &Rational) -> Result<Self, NumberError> {
        Ok(Exact::constant(r.clone()))
    }

    fn zero() -> Self {
        Exact::constant(Rational::ZERO)
    }

    fn one() -> Self {
        Exact::constant(Rational::ONE)
    }

    fn from_usize(n: usize) -> Self {
        Exact::constant(<Rational as Number>::from_usize(n))
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
            Known(x, purse) => Known(-x, purse.clone()),
            TooLong => TooLong,
        }
    }

    fn div(&self, other: &Self) -> Result<Self, NumberError> {
        other.partial(Number::inv).map(|inverse| self.mul(&inverse))
    }

    fn smooth(&self, f: Smooth) -> Result<Self, NumberError> {
        let Known(x, purse) = self else { return Ok(TooLong) };
        let (k, parts) = match f {
            Smooth::Power(k) => (k, 1),
            Smooth::Root(k, parts) => (k, parts.unsigned_abs().max(1)),
            _ => return self.partial(|x| x.smooth(f)),
        };
        let long = x.bits().saturating_mul(k.unsigned_abs() as usize) / parts as usize
            > longest(purse.as_ref()).saturating_mul(2);
        // such a power of 0, 1 or -1 is short all the same
        if long && !x.is_zero() && !x.abs().is_one() {
            return Ok(TooLong);
        }
        x.smooth(f).map(|y| Known(y, purse.clone()))
    }

    fn stair(&self, s: Stair) -> Result<Self, NumberError> {
        self.partial(|x| Ok(s.at(x)))
    }

    fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Known(a, _), Known(b, _)) => Number::compare(a, b),
            _ => None,
        }
    }

    fn is_finite(&self) -> bool {
        matches!(self, Known(..))
    }

    fn to_f64(&self) -> f64 {
        match self {
            Known(x, _) => x.to_f64(),
            TooLong => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(x: i64) -> Exact {
        Budget::SHORT.share([Rational::from(x)]).remove(0)
    }

    #[test]
    fn squaring_on_and_on_stops() {
        let squared = |x: Exact| (0..60).fold(x, |y, _| y.mul(&y));
        assert_eq!(squared(short(3)), TooLong);
        assert_eq!(squared(Exact::constant(3.into())), TooLong); // constants stop, too
        assert_eq!(squared(short(-1)), Exact::one());
    }

    #[test]
    fn work_is_shared_by_all_that_came_from_the_same_inputs() {
        let budget = Budget { bits: 100_000, work: 1_000 };
        let long = |x: &Exact| x.powi(500).unwrap(); // 13 words each
        let numbers = budget.share([3, 5, 7, 11].map(Rational::from));
        let sums: Vec<bool> = numbers.iter().map(|x| long(x).add(&long(x)).is_finite()).collect();
        assert_eq!(sums.iter().filter(|&&fine| fine).count(), 1, "{sums:?}");
        assert!(short(3).powi(500).unwrap().add(&long(&short(3))).is_finite());
    }

    #[test]
    fn powers_stop_too_but_not_those_of_one() {
        assert_eq!(short(3).powi(i32::MAX).unwrap(), TooLong);
        assert_eq!(short(-1).powi(i32::MAX).unwrap(), short(-1));
        assert_eq!(short(3).powi(-2).unwrap().to_string(), "1/9");
    }
}
