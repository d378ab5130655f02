//! Germs: numbers that are rational functions of the parameter of a curve, ordered as they are just after one instant.
//!
//! The rational functions of s form an ordered field, if one is called positive when it is so for all small s > 0. A program that
//! runs on it runs along a whole piece of a curve at once: what leaves is what it computes on an open interval after the instant,
//! as a formula; two numbers are equal only if they are so on the whole interval, so the kinks that a run meets are those inside
//! which the curve runs. Whatever a run compares is noted in a [`Log`], which therefore knows how far the interval reaches.

use super::polynomial::Polynomial;
use crease_core::{Number, NumberError, Rational, Smooth, Stair};
use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Longer polynomials are not carried on.
const MAX_DEGREE: usize = 64;

/// What runs along one piece of a curve have compared.
#[derive(Debug, Default)]
pub(super) struct Log(Mutex<Seen>);

/// What a [`Log`] holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The first s > 0 at which a comparison that is linear in s changes.
    pub next: Option<Rational>,
    /// An s > 0 before which no other comparison changes.
    pub safe: Option<Rational>,
    /// Every comparison that does not differ at s = 0: its number, and the difference.
    pub ties: Vec<(usize, Polynomial)>,
    comparisons: usize,
}

impl Log {
    pub fn seen(&self) -> Seen {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A comparison whose outcome is the sign of `difference`.
    fn compared(&self, difference: &Polynomial) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = seen.comparisons;
        seen.comparisons += 1;
        if difference.order() != Some(0) {
            seen.ties.push((number, difference.clone()));
        }
        seen.roots(difference);
    }

    fn pole(&self, divisor: &Polynomial) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).roots(divisor);
    }
}

impl Seen {
    /// Notes where a polynomial changes its sign after 0.
    fn roots(&mut self, p: &Polynomial) {
        let Some(order) = p.order() else { return };
        let lower = |slot: &mut Option<Rational>, root: Rational| {
            if slot.as_ref().is_none_or(|known| root < *known) {
                *slot = Some(root);
            }
        };
        match &p.coefficients()[order..] {
            [] | [_] => {}
            [a, b] => {
                if let Some(root) = (-a).checked_div(b).filter(Rational::is_positive) {
                    lower(&mut self.next, root);
                }
            }
            [a, rest @ ..] => {
                // by Descartes there is no positive root if all signs agree, and by Cauchy none is smaller than this bound
                if rest.iter().any(|c| c.signum() == -a.signum()) {
                    let largest = rest.iter().map(Rational::abs).max().unwrap_or_default();
                    let bound = a.abs().checked_div(&(&a.abs() + &largest)).unwrap_or_default();
                    lower(&mut self.safe, bound);
                }
            }
        }
    }
}

/// A rational function of s, for small s > 0.
#[derive(Clone, Debug)]
pub(super) struct Germ {
    above: Polynomial,
    /// in lowest terms; its lowest coefficient is 1
    below: Polynomial,
    log: Option<Arc<Log>>,
}

impl Germ {
    /// A polynomial, whose comparisons are logged.
    pub fn along(p: Polynomial, log: Arc<Log>) -> Self {
        Germ { above: p, below: Polynomial::constant(Rational::ONE), log: Some(log) }
    }

    fn constant(c: Rational) -> Self {
        Germ { above: Polynomial::constant(c), below: Polynomial::constant(Rational::ONE), log: None }
    }

    fn fraction(above: Polynomial, below: Polynomial, log: Option<Arc<Log>>) -> Self {
        let (mut above, mut below) = (above, below);
        if below.degree() > 0 {
            let common = above.common(&below);
            if common.degree() > 0
                && let (Some((a, _)), Some((b, _))) = (above.divided(&common), below.divided(&common))
            {
                (above, below) = (a, b);
            }
        }
        // a divisor is never zero
        if let Some(scale) = below.order().and_then(|k| below.coefficients()[k].inv())
            && !scale.is_one()
        {
            (above, below) = (above.scaled(&scale), below.scaled(&scale));
        }
        Germ { above, below, log }
    }

    fn log_of(&self, other: &Germ) -> Option<Arc<Log>> {
        self.log.as_ref().or(other.log.as_ref()).cloned()
    }

    fn sum(&self, sign: &Rational, other: &Germ) -> Germ {
        let log = self.log_of(other);
        if self.below == other.below {
            return Germ::fraction(self.above.plus(sign, &other.above), self.below.clone(), log);
        }
        let above = self.above.times(&other.below).plus(sign, &other.above.times(&self.below));
        Germ::fraction(above, self.below.times(&other.below), log)
    }

    /// The value at s, if there is one.
    pub fn at(&self, s: &Rational) -> Option<Rational> {
        self.above.at(s).checked_div(&self.below.at(s))
    }

    /// The derivative by s.
    pub fn derivative(&self) -> Germ {
        let (u, v) = (&self.above, &self.below);
        let above = u.derivative().times(v).plus(&Rational::from(-1), &u.times(&v.derivative()));
        Germ::fraction(above, v.times(v), self.log.clone())
    }

    pub fn is_zero(&self) -> bool {
        self.above.is_zero()
    }
}

impl PartialEq for Germ {
    fn eq(&self, other: &Self) -> bool {
        self.above == other.above && self.below == other.below
    }
}

impl fmt::Display for Germ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let polynomial = |p: &Polynomial| -> String {
            let terms = p.coefficients().iter().enumerate().filter(|(_, c)| !c.is_zero());
            let shown: Vec<String> = terms.map(|(k, c)| format!("{c} s^{k}")).collect();
            if shown.is_empty() { "0".into() } else { shown.join(" + ") }
        };
        write!(f, "({}) / ({})", polynomial(&self.above), polynomial(&self.below))
    }
}

impl Number for Germ {
    const NAME: &'static str = "rational functions along a curve";
    const EXACT: bool = true;

    fn from_rational(r: &Rational) -> Result<Self, NumberError> {
        Ok(Germ::constant(r.clone()))
    }

    fn zero() -> Self {
        Germ::constant(Rational::ZERO)
    }

    fn one() -> Self {
        Germ::constant(Rational::ONE)
    }

    fn from_usize(n: usize) -> Self {
        Germ::constant(Rational::from_usize(n))
    }

    fn add(&self, other: &Self) -> Self {
        self.sum(&Rational::ONE, other)
    }

    fn sub(&self, other: &Self) -> Self {
        self.sum(&Rational::from(-1), other)
    }

    fn mul(&self, other: &Self) -> Self {
        let (above, below) = (self.above.times(&other.above), self.below.times(&other.below));
        Germ::fraction(above, below, self.log_of(other))
    }

    fn neg(&self) -> Self {
        Germ { above: self.above.scaled(&Rational::from(-1)), ..self.clone() }
    }

    fn div(&self, other: &Self) -> Result<Self, NumberError> {
        if other.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        let log = self.log_of(other);
        if let Some(log) = &log {
            log.pole(&other.above);
        }
        Ok(Germ::fraction(self.above.times(&other.below), self.below.times(&other.above), log))
    }

    fn smooth(&self, f: Smooth) -> Result<Self, NumberError> {
        let straight = self.above.degree().max(self.below.degree()) == 0;
        match f {
            Smooth::Inv => Germ::one().div(self),
            Smooth::Power(k) if !straight => {
                if k.unsigned_abs() as usize > MAX_DEGREE {
                    return Err(NumberError::TooLarge);
                }
                let power = (0..k.unsigned_abs()).fold(Germ::one(), |product, _| product.mul(self));
                if k < 0 { power.inv() } else { Ok(power) }
            }
            _ => match (self.above.as_constant(), self.below.degree()) {
                (Some(c), 0) => c.smooth(f).map(Germ::constant),
                _ => Err(NumberError::NotExact { operation: f.name() }),
            },
        }
    }

    /// Along the curve: beside a jump the curve may go either way, and only a constant stays.
    fn stair(&self, s: Stair) -> Result<Self, NumberError> {
        match (self.above.as_constant(), self.below.degree()) {
            (Some(c), 0) => c.stair(s).map(Germ::constant),
            _ => Err(NumberError::NotExact { operation: s.name() }),
        }
    }

    fn compare(&self, other: &Self) -> Option<Ordering> {
        let difference = self.sub(other);
        if let Some(log) = &difference.log {
            log.compared(&difference.above);
        }
        let sign = difference.above.order().map_or(0, |k| difference.above.coefficients()[k].signum());
        Some(sign.cmp(&0))
    }

    /// What is too long to go on with is treated as an overflow, which stops a run.
    fn is_finite(&self) -> bool {
        self.above.degree().max(self.below.degree()) <= MAX_DEGREE
    }

    fn to_f64(&self) -> f64 {
        self.at(&Rational::ZERO).map_or(f64::NAN, |x| x.to_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn along(c: &[i64], log: &Arc<Log>) -> Germ {
        Germ::along(Polynomial::new(c.iter().map(|&c| Rational::from(c)).collect()), log.clone())
    }

    #[test]
    fn order_is_that_just_after_zero() {
        let log = Arc::new(Log::default());
        let s = along(&[0, 1], &log);
        let tiny = s.mul(&s);
        assert_eq!(s.compare(&Germ::zero()), Some(Ordering::Greater));
        assert_eq!(tiny.compare(&s), Some(Ordering::Less));
        assert_eq!(s.inv().unwrap().compare(&Germ::from_usize(1_000_000)), Some(Ordering::Greater));
        assert_eq!(s.inv().unwrap().mul(&tiny), s);
        assert_eq!(s.div(&s).unwrap(), Germ::one());
        assert!(s.div(&s.sub(&s)).is_err());
    }

    #[test]
    fn the_log_knows_the_next_switch() {
        let log = Arc::new(Log::default());
        let x = along(&[3, -2], &log); // zero at 3/2
        let y = along(&[-1, 4], &log); // zero at 1/4
        assert_eq!(x.relu().unwrap(), x);
        assert_eq!(y.relu().unwrap(), Germ::zero());
        let seen = log.seen();
        assert_eq!((seen.next, seen.safe), (Rational::new(1, 4), None));
        assert!(x.mul(&y).compare(&Germ::zero()).is_some_and(Ordering::is_lt));
        assert!(log.seen().safe.is_some_and(|s| s.is_positive() && s < Rational::new(1, 4).unwrap()));
    }

    #[test]
    fn derivative_of_a_quotient() {
        let log = Arc::new(Log::default());
        let (x, y) = (along(&[1, 1], &log), along(&[2, 0, 1], &log));
        let d = x.div(&y).unwrap().derivative();
        // (1 + s) / (2 + s^2) has slope (2 - 2 s - s^2) / (2 + s^2)^2
        assert_eq!(d.at(&Rational::ONE), Rational::new(-1, 9));
    }
}
