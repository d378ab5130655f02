//! Numbers that are exact for as long as they can be, and certain enclosures from then on.

use crate::{Enclosure, Number, NumberError, Rational, Smooth, Stair};
use std::cmp::Ordering;
use std::fmt;

/// Exact numbers longer than this go on as enclosures: a chain of products would otherwise double its length at every step.
const MAX_BITS: usize = 1 << 16;

/// The precision of enclosures where nobody asked for one.
const DEFAULT_BITS: u32 = 128;

/// An exact rational, or an enclosure that certainly holds the number.
///
/// This is what kinks are decided with: a comparison of exact numbers is exact, one of enclosures is certain or not told. A number
/// carries the precision at which it will be enclosed once it stops being exact; that of a result is the larger of its arguments'.
///
/// ```
/// use crease_number::{Mixed, Number, Rational};
/// let x = Mixed::exactly(Rational::from(0));
/// assert_eq!(x.exp().unwrap(), Mixed::one()); // exp 0 is 1, exactly
/// let e = Mixed::one().exp().unwrap();
/// assert!(e.exact().is_none());
/// assert_eq!(e.sub(&e).compare(&Mixed::zero()), None); // an enclosure of 0 is not 0
///
/// // exp(10^-20) and exp(2 * 10^-20) are told apart by enough bits
/// let tiny = |bits: u32, n: &str| Mixed::exactly(n.parse().unwrap()).at(bits).exp().unwrap();
/// assert_eq!(tiny(53, "1e-20").compare(&tiny(53, "2e-20")), None);
/// assert!(tiny(128, "1e-20").compare(&tiny(128, "2e-20")).unwrap().is_lt());
/// ```
#[derive(Clone, Debug)]
pub struct Mixed {
    known: Known,
    /// 0 where any precision will do
    bits: u32,
}

#[derive(Clone, Debug, PartialEq)]
enum Known {
    Exact(Rational),
    Near(Enclosure),
}

impl PartialEq for Mixed {
    /// Whether the same is known of both, at whatever precision that was found.
    fn eq(&self, other: &Self) -> bool {
        self.known == other.known
    }
}

impl Mixed {
    /// The number itself.
    pub fn exactly(r: Rational) -> Mixed {
        Mixed { known: Known::Exact(r), bits: 0 }
    }

    /// A number of which an enclosure is known.
    pub fn enclosed(e: Enclosure) -> Mixed {
        let bits = e.bits();
        match e.point() {
            Some(r) => Mixed { known: Known::Exact(r), bits },
            None => Mixed { known: Known::Near(e), bits },
        }
    }

    /// The same, to be enclosed with so many bits once it stops being exact.
    pub fn at(mut self, bits: u32) -> Mixed {
        self.bits = bits;
        self
    }

    /// The enclosure; for an exact number the tightest one at its precision.
    pub fn enclosure(&self) -> Enclosure {
        self.enclosure_at(self.bits)
    }

    fn enclosure_at(&self, bits: u32) -> Enclosure {
        match &self.known {
            Known::Exact(r) => Enclosure::of(r, if bits == 0 { DEFAULT_BITS } else { bits }),
            Known::Near(e) => e.clone(),
        }
    }

    /// The exact number, if it is known.
    pub fn exact(&self) -> Option<&Rational> {
        match &self.known {
            Known::Exact(r) => Some(r),
            Known::Near(_) => None,
        }
    }

    fn exact_or_near(r: Rational, bits: u32) -> Self {
        let exact = Mixed { known: Known::Exact(r), bits };
        match &exact.known {
            Known::Exact(r) if r.bits() > MAX_BITS => Mixed { known: Known::Near(exact.enclosure()), bits },
            _ => exact,
        }
    }

    fn both(
        &self,
        other: &Self,
        exact: impl FnOnce(&Rational, &Rational) -> Rational,
        near: impl FnOnce(&Enclosure, &Enclosure) -> Enclosure,
    ) -> Self {
        let bits = self.bits.max(other.bits);
        match (&self.known, &other.known) {
            (Known::Exact(a), Known::Exact(b)) => Mixed::exact_or_near(exact(a, b), bits),
            _ => Mixed { known: Known::Near(near(&self.enclosure_at(bits), &other.enclosure_at(bits))), bits },
        }
    }

    /// Applies a function exactly if its result is exact, else to the enclosure.
    fn try_both(
        &self,
        exact: impl FnOnce(&Rational) -> Result<Rational, NumberError>,
        near: impl FnOnce(&Enclosure) -> Result<Enclosure, NumberError>,
    ) -> Result<Self, NumberError> {
        let enclosed = |e| Mixed { known: Known::Near(e), bits: self.bits };
        match &self.known {
            Known::Exact(a) => match exact(a) {
                Ok(r) => Ok(Mixed::exact_or_near(r, self.bits)),
                Err(NumberError::NotExact { .. } | NumberError::TooLarge) => near(&self.enclosure()).map(enclosed),
                Err(e) => Err(e),
            },
            Known::Near(e) => near(e).map(enclosed),
        }
    }
}

impl fmt::Display for Mixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.known {
            Known::Exact(r) => r.fmt(f),
            Known::Near(e) => e.fmt(f),
        }
    }
}

impl Number for Mixed {
    const NAME: &'static str = "exact rationals, else enclosures";
    const EXACT: bool = false;

    fn from_rational(r: &Rational) -> Result<Self, NumberError> {
        Ok(Mixed::exactly(r.clone()))
    }

    fn zero() -> Self {
        Mixed::exactly(Rational::ZERO)
    }

    fn one() -> Self {
        Mixed::exactly(Rational::ONE)
    }

    fn from_usize(n: usize) -> Self {
        Mixed::exactly(Rational::from_usize(n))
    }

    fn add(&self, other: &Self) -> Self {
        self.both(other, |a, b| a + b, Enclosure::add)
    }

    fn sub(&self, other: &Self) -> Self {
        self.both(other, |a, b| a - b, Enclosure::sub)
    }

    fn mul(&self, other: &Self) -> Self {
        match (&self.known, &other.known) {
            // zero times anything is zero, whatever is known of the rest
            (Known::Exact(zero), _) | (_, Known::Exact(zero)) if zero.is_zero() => {
                Mixed::zero().at(self.bits.max(other.bits))
            }
            _ => self.both(other, |a, b| a * b, Enclosure::mul),
        }
    }

    fn neg(&self) -> Self {
        let known = match &self.known {
            Known::Exact(r) => Known::Exact(-r),
            Known::Near(e) => Known::Near(e.neg()),
        };
        Mixed { known, bits: self.bits }
    }

    fn div(&self, other: &Self) -> Result<Self, NumberError> {
        let bits = self.bits.max(other.bits);
        match (&self.known, &other.known) {
            (Known::Exact(a), Known::Exact(b)) => {
                Ok(Mixed::exact_or_near(a.checked_div(b).ok_or(NumberError::DivisionByZero)?, bits))
            }
            _ => {
                let quotient = self.enclosure_at(bits).div(&other.enclosure_at(bits))?;
                match &self.known {
                    Known::Exact(zero) if zero.is_zero() => Ok(self.clone()),
                    _ => Ok(Mixed { known: Known::Near(quotient), bits }),
                }
            }
        }
    }

    fn smooth(&self, f: Smooth) -> Result<Self, NumberError> {
        self.try_both(|r| r.smooth(f), |e| e.smooth(f))
    }

    fn stair(&self, s: Stair) -> Result<Self, NumberError> {
        let value = match &self.known {
            Known::Exact(r) => s.at(r),
            Known::Near(e) => {
                let (low, high) = e.ends().ok_or(NumberError::Undecided)?;
                // the ends may be the number itself, so none of them may be where the function jumps
                let (left, right) = (s.at(&low), s.at(&high));
                match left == right && s.jump(&low).is_none() && s.jump(&high).is_none() {
                    true => left,
                    false => return Err(NumberError::Undecided),
                }
            }
        };
        Ok(Mixed::exact_or_near(value, self.bits))
    }

    fn compare(&self, other: &Self) -> Option<Ordering> {
        match (&self.known, &other.known) {
            (Known::Exact(a), Known::Exact(b)) => Some(a.cmp(b)),
            (Known::Exact(a), Known::Near(e)) => apart(a, e),
            (Known::Near(e), Known::Exact(a)) => apart(a, e).map(Ordering::reverse),
            (Known::Near(a), Known::Near(b)) => a.compare(b),
        }
    }

    // where a comparison cannot be told, the enclosure of both answers

    fn relu(&self) -> Result<Self, NumberError> {
        Number::max(self, &Mixed::zero())
    }

    fn abs(&self) -> Result<Self, NumberError> {
        Number::max(self, &Number::neg(self))
    }

    fn max(&self, other: &Self) -> Result<Self, NumberError> {
        match self.compare(other) {
            Some(Ordering::Less) => Ok(other.clone()),
            Some(_) => Ok(self.clone()),
            None => Ok(self.both(other, |a, b| Ord::max(a, b).clone(), Enclosure::max)),
        }
    }

    fn min(&self, other: &Self) -> Result<Self, NumberError> {
        Number::max(&Number::neg(self), &Number::neg(other)).map(|x| Number::neg(&x))
    }

    fn is_finite(&self) -> bool {
        match &self.known {
            Known::Exact(_) => true,
            Known::Near(e) => e.is_bounded(),
        }
    }

    fn hull(&self, other: &Self) -> Option<Self> {
        match (&self.known, &other.known) {
            (Known::Exact(a), Known::Exact(b)) if a == b => Some(self.clone()),
            _ => {
                let bits = self.bits.max(other.bits);
                let hull = self.enclosure_at(bits).hull(&other.enclosure_at(bits));
                Some(Mixed { known: Known::Near(hull), bits })
            }
        }
    }

    fn to_f64(&self) -> f64 {
        match &self.known {
            Known::Exact(r) => r.to_f64(),
            Known::Near(e) => e.to_f64(),
        }
    }
}

/// How an exact number compares with all members of an enclosure. That of a single point compares, too.
fn apart(a: &Rational, e: &Enclosure) -> Option<Ordering> {
    e.compare(&Enclosure::of(a, e.bits())).map(Ordering::reverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_become_enclosures() {
        let mut x = Mixed::exactly(Rational::new(3, 2).unwrap());
        for _ in 0..40 {
            x = x.mul(&x);
        }
        assert!(x.exact().is_none());
    }

    #[test]
    fn known_zero_stays_exact() {
        let e = Mixed::one().exp().unwrap();
        assert_eq!(e.mul(&Mixed::zero()), Mixed::zero());
        assert_eq!(Mixed::zero().div(&e).unwrap(), Mixed::zero());
        assert_eq!(e.sub(&e).exact(), None);
    }

    #[test]
    fn what_cannot_be_compared_is_enclosed() {
        let e = Mixed::one().exp().unwrap();
        let near_zero = e.sub(&e);
        assert!(near_zero.relu().unwrap().enclosure().contains(&Rational::ZERO));
        assert!(Number::abs(&near_zero).unwrap().enclosure().contains(&Rational::ZERO));
        assert_eq!(Number::max(&e, &Mixed::zero()).unwrap(), e);
        assert_eq!(Number::min(&e, &Mixed::zero()).unwrap(), Mixed::zero());
    }

    #[test]
    fn faults_are_not_hidden_by_enclosures() {
        assert_eq!(Mixed::zero().log(), Err(NumberError::LogOfNonPositive));
        assert_eq!(Mixed::one().div(&Mixed::zero()), Err(NumberError::DivisionByZero));
    }

    #[test]
    fn an_exact_number_is_compared_without_rounding_it_away() {
        // 1/3 is no float; the enclosure of exp(1) - exp(1) + 1/3 holds it at every precision
        let third = Mixed::exactly(Rational::new(1, 3).unwrap());
        let e = Mixed::one().exp().unwrap();
        assert_eq!(e.sub(&e).add(&third).compare(&third), None);
        assert!(e.compare(&third).unwrap().is_gt());
        assert!(third.compare(&e).unwrap().is_lt());
    }
}
