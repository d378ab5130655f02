//! Numbers that are exact for as long as they can be, and certain enclosures from then on.

use super::{Interval, Number, NumberError, Rational};
use std::cmp::Ordering;
use std::fmt;

/// Exact numbers longer than this go on as enclosures: a chain of products would otherwise double its length at every step.
const MAX_BITS: usize = 1 << 16;

/// An exact rational, or an interval that certainly holds the number.
///
/// This is what kinks are decided with: a comparison of exact numbers is exact, one of enclosures is certain or not told.
///
/// ```
/// use crease_core::number::{Mixed, Number, Rational};
/// let x = Mixed::from_rational(&Rational::from(0)).unwrap();
/// assert_eq!(x.exp().unwrap(), Mixed::Exact(Rational::ONE)); // exp 0 is 1, exactly
/// let e = Mixed::one().exp().unwrap();
/// assert!(matches!(e, Mixed::Near(_)));
/// assert_eq!(e.sub(&e).compare(&Mixed::zero()), None); // an enclosure of 0 is not 0
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Mixed {
    /// The number itself.
    Exact(Rational),
    /// An enclosure.
    Near(Interval),
}

impl Mixed {
    /// The enclosure; for an exact number the tightest one.
    pub fn interval(&self) -> Interval {
        match self {
            // a rational always has an enclosure
            Mixed::Exact(r) => Interval::from_rational(r).unwrap_or(Interval::point(f64::NAN)),
            Mixed::Near(i) => *i,
        }
    }

    /// The exact number, if it is known.
    pub fn exact(&self) -> Option<&Rational> {
        match self {
            Mixed::Exact(r) => Some(r),
            Mixed::Near(_) => None,
        }
    }

    fn exact_or_near(r: Rational) -> Self {
        if r.bits() <= MAX_BITS { Mixed::Exact(r) } else { Mixed::Near(Mixed::Exact(r).interval()) }
    }

    fn both(
        &self,
        other: &Self,
        exact: impl FnOnce(&Rational, &Rational) -> Rational,
        near: impl FnOnce(&Interval, &Interval) -> Interval,
    ) -> Self {
        match (self, other) {
            (Mixed::Exact(a), Mixed::Exact(b)) => Mixed::exact_or_near(exact(a, b)),
            _ => Mixed::Near(near(&self.interval(), &other.interval())),
        }
    }

    /// Applies a function exactly if its result is exact, else to the enclosure.
    fn try_both(
        &self,
        exact: impl FnOnce(&Rational) -> Result<Rational, NumberError>,
        near: impl FnOnce(&Interval) -> Result<Interval, NumberError>,
    ) -> Result<Self, NumberError> {
        match self {
            Mixed::Exact(a) => match exact(a) {
                Ok(r) => Ok(Mixed::exact_or_near(r)),
                Err(NumberError::NotExact { .. } | NumberError::TooLarge) => near(&self.interval()).map(Mixed::Near),
                Err(e) => Err(e),
            },
            Mixed::Near(i) => near(i).map(Mixed::Near),
        }
    }
}

impl fmt::Display for Mixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mixed::Exact(r) => r.fmt(f),
            Mixed::Near(i) => i.fmt(f),
        }
    }
}

impl Number for Mixed {
    const NAME: &'static str = "exact rationals, else intervals";
    const EXACT: bool = false;

    fn from_rational(r: &Rational) -> Result<Self, NumberError> {
        Ok(Mixed::Exact(r.clone()))
    }

    fn zero() -> Self {
        Mixed::Exact(Rational::ZERO)
    }

    fn one() -> Self {
        Mixed::Exact(Rational::ONE)
    }

    fn from_usize(n: usize) -> Self {
        Mixed::Exact(Rational::from_usize(n))
    }

    fn add(&self, other: &Self) -> Self {
        self.both(other, |a, b| a + b, |a, b| a.add(b))
    }

    fn sub(&self, other: &Self) -> Self {
        self.both(other, |a, b| a - b, |a, b| a.sub(b))
    }

    fn mul(&self, other: &Self) -> Self {
        match (self, other) {
            // zero times anything is zero, whatever is known of the rest
            (Mixed::Exact(zero), _) | (_, Mixed::Exact(zero)) if zero.is_zero() => Mixed::zero(),
            _ => self.both(other, |a, b| a * b, |a, b| a.mul(b)),
        }
    }

    fn neg(&self) -> Self {
        match self {
            Mixed::Exact(r) => Mixed::Exact(-r),
            Mixed::Near(i) => Mixed::Near(i.neg()),
        }
    }

    fn div(&self, other: &Self) -> Result<Self, NumberError> {
        match (self, other) {
            (Mixed::Exact(a), Mixed::Exact(b)) => {
                Ok(Mixed::exact_or_near(a.checked_div(b).ok_or(NumberError::DivisionByZero)?))
            }
            _ => Ok(Mixed::Near(self.interval().div(&other.interval())?)),
        }
    }

    fn exp(&self) -> Result<Self, NumberError> {
        self.try_both(Number::exp, Number::exp)
    }

    fn log(&self) -> Result<Self, NumberError> {
        self.try_both(Number::log, Number::log)
    }

    fn sqrt(&self) -> Result<Self, NumberError> {
        self.try_both(Number::sqrt, Number::sqrt)
    }

    fn sin(&self) -> Result<Self, NumberError> {
        self.try_both(Number::sin, Number::sin)
    }

    fn cos(&self) -> Result<Self, NumberError> {
        self.try_both(Number::cos, Number::cos)
    }

    fn tanh(&self) -> Result<Self, NumberError> {
        self.try_both(Number::tanh, Number::tanh)
    }

    fn sigmoid(&self) -> Result<Self, NumberError> {
        self.try_both(Number::sigmoid, Number::sigmoid)
    }

    fn powi(&self, exponent: i32) -> Result<Self, NumberError> {
        self.try_both(|r| r.powi(exponent), |i| i.powi(exponent))
    }

    fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Mixed::Exact(a), Mixed::Exact(b)) => Some(a.cmp(b)),
            _ => self.interval().compare(&other.interval()),
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
            None => self.interval().max(&other.interval()).map(Mixed::Near),
        }
    }

    fn min(&self, other: &Self) -> Result<Self, NumberError> {
        match self.compare(other) {
            Some(Ordering::Greater) => Ok(other.clone()),
            Some(_) => Ok(self.clone()),
            None => self.interval().min(&other.interval()).map(Mixed::Near),
        }
    }

    fn is_finite(&self) -> bool {
        match self {
            Mixed::Exact(_) => true,
            Mixed::Near(i) => i.lo().is_finite() && i.hi().is_finite(),
        }
    }

    fn hull(&self, other: &Self) -> Option<Self> {
        if let (Mixed::Exact(a), Mixed::Exact(b)) = (self, other)
            && a == b
        {
            return Some(self.clone());
        }
        self.interval().hull(&other.interval()).map(Mixed::Near)
    }

    fn to_f64(&self) -> f64 {
        match self {
            Mixed::Exact(r) => r.to_f64(),
            Mixed::Near(i) => i.to_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_become_enclosures() {
        let mut x = Mixed::Exact(Rational::new(3, 2).unwrap());
        for _ in 0..40 {
            x = x.mul(&x);
        }
        assert!(matches!(x, Mixed::Near(_)));
    }

    #[test]
    fn known_zero_stays_exact() {
        let e = Mixed::one().exp().unwrap();
        assert_eq!(e.mul(&Mixed::zero()), Mixed::zero());
        assert_eq!(e.sub(&e).exact(), None);
    }

    #[test]
    fn what_cannot_be_compared_is_enclosed() {
        let e = Mixed::one().exp().unwrap();
        let near_zero = e.sub(&e);
        assert!(near_zero.relu().unwrap().interval().contains(&Rational::ZERO));
        assert!(Number::abs(&near_zero).unwrap().interval().contains(&Rational::ZERO));
        assert_eq!(Number::max(&e, &Mixed::zero()).unwrap(), e);
    }

    #[test]
    fn faults_are_not_hidden_by_enclosures() {
        assert_eq!(Mixed::zero().log(), Err(NumberError::LogOfNonPositive));
        assert_eq!(Mixed::one().div(&Mixed::zero()), Err(NumberError::DivisionByZero));
    }
}
