//! Intervals with exact rational ends, for coefficients that are only enclosed.
//!
//! The result of an operation holds the results for all numbers in its arguments, and its ends are exact: nothing is ever rounded.

use crate::lines::Fault;
use crate::meter::{Meter, words};
use crease_number::Rational;
use std::fmt;

/// All numbers from one end to the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    low: Rational,
    /// Nothing if it is the same as the other end.
    high: Option<Rational>,
}

impl Interval {
    pub fn point(x: Rational) -> Interval {
        Interval { low: x, high: None }
    }

    /// Nothing unless the first end is below the second.
    pub fn between(low: Rational, high: Rational) -> Option<Interval> {
        (low < high).then_some(Interval { low, high: Some(high) })
    }

    pub fn low(&self) -> &Rational {
        &self.low
    }

    pub fn high(&self) -> &Rational {
        self.high.as_ref().unwrap_or(&self.low)
    }

    /// Whether it holds 0 and nothing else.
    pub fn is_zero(&self) -> bool {
        self.high.is_none() && self.low.is_zero()
    }

    /// Whether each of its numbers is below all of another one.
    pub fn is_below(&self, other: &Interval, meter: &mut Meter<'_>) -> Result<bool, Fault> {
        less(self.high(), &other.low, meter)
    }

    /// Whether it begins below another one.
    pub fn begins_below(&self, other: &Interval, meter: &mut Meter<'_>) -> Result<bool, Fault> {
        less(&self.low, &other.low, meter)
    }

    /// The words that its ends take.
    pub fn words(&self) -> u64 {
        words(&self.low) + self.high.as_ref().map_or(0, words)
    }

    pub fn times(&self, other: &Interval, meter: &mut Meter<'_>) -> Result<Interval, Fault> {
        let (a, b) = (self, other);
        Ok(match (&a.high, &b.high) {
            (None, None) => Interval::point(product(&a.low, &b.low, meter)?),
            (None, Some(high)) => scaled(&a.low, &b.low, high, meter)?,
            (Some(high), None) => scaled(&b.low, &a.low, high, meter)?,
            (Some(high), Some(_)) => {
                // the ends of a product are products of ends
                let (one, two) = (scaled(&a.low, &b.low, b.high(), meter)?, scaled(high, &b.low, b.high(), meter)?);
                let low = if less(&one.low, &two.low, meter)? { &one.low } else { &two.low };
                let high = if less(one.high(), two.high(), meter)? { two.high() } else { one.high() };
                Interval { low: low.clone(), high: Some(high.clone()) }
            }
        })
    }

    /// The squares of its numbers.
    pub fn squared(&self, meter: &mut Meter<'_>) -> Result<Interval, Fault> {
        let (low, high) = (&self.low, self.high());
        let (a, b) = (product(low, low, meter)?, product(high, high, meter)?);
        let least = if low.is_negative() && high.is_positive() { Rational::ZERO } else { Ord::min(&a, &b).clone() };
        let most = Ord::max(a, b);
        Ok(Interval::between(least.clone(), most).unwrap_or(Interval::point(least)))
    }

    /// The square roots of its numbers, none of which is negative, with so many bits.
    pub fn root(&self, bits: u32, meter: &mut Meter<'_>) -> Result<Interval, Fault> {
        let mut bounds = |x: &Rational| {
            meter.operation(2 * words(x) + u64::from(bits) / 32)?;
            let (low, high) = x.root_bounds(bits).ok_or_else(|| Fault::new("a sum of squares is negative"))?;
            // whoever found them, their squares show that they are bounds
            if product(&low, &low, meter)? > *x || product(&high, &high, meter)? < *x {
                return Err(Fault::new("the bounds of a square root are none"));
            }
            Ok((low, high))
        };
        let (low, above) = bounds(&self.low)?;
        let high = if self.high.is_some() { bounds(self.high())?.1 } else { above };
        Ok(Interval::between(low.clone(), high).unwrap_or(Interval::point(low)))
    }

    /// The inverses of its numbers; nothing unless all of them are positive.
    pub fn inverse(&self, meter: &mut Meter<'_>) -> Result<Option<Interval>, Fault> {
        meter.operation(self.words())?;
        if !self.low.is_positive() {
            return Ok(None);
        }
        let (Some(low), Some(high)) = (self.high().inv(), self.low.inv()) else { return Ok(None) };
        Ok(Some(Interval::between(low.clone(), high).unwrap_or(Interval::point(low))))
    }

    pub fn add(&mut self, other: &Interval, meter: &mut Meter<'_>) -> Result<(), Fault> {
        self.high = match (&self.high, &other.high) {
            (None, None) => None,
            _ => Some(sum(self.high(), other.high(), meter)?),
        };
        self.low = sum(&self.low, &other.low, meter)?;
        Ok(())
    }
}

/// A number times all numbers between two.
fn scaled(factor: &Rational, low: &Rational, high: &Rational, meter: &mut Meter<'_>) -> Result<Interval, Fault> {
    let (a, b) = (product(factor, low, meter)?, product(factor, high, meter)?);
    Ok(match factor.signum() {
        0 => Interval::point(a),
        1 => Interval { low: a, high: Some(b) },
        _ => Interval { low: b, high: Some(a) },
    })
}

fn product(a: &Rational, b: &Rational, meter: &mut Meter<'_>) -> Result<Rational, Fault> {
    meter.operation(words(a) + words(b))?;
    let product = a * b;
    meter.short(&product)?;
    Ok(product)
}

fn sum(a: &Rational, b: &Rational, meter: &mut Meter<'_>) -> Result<Rational, Fault> {
    meter.operation(words(a) + words(b))?;
    let sum = a + b;
    meter.short(&sum)?;
    Ok(sum)
}

fn less(a: &Rational, b: &Rational, meter: &mut Meter<'_>) -> Result<bool, Fault> {
    meter.operation(words(a) + words(b))?;
    Ok(a < b)
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.low.fraction())?;
        match &self.high {
            None => Ok(()),
            Some(high) => write!(f, "..{}", high.fraction()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effort;

    fn interval(low: i64, high: i64) -> Interval {
        let (low, high) = (Rational::from(low), Rational::from(high));
        Interval::between(low.clone(), high).unwrap_or(Interval::point(low))
    }

    /// Against the products and sums of all integers in them, the ends among them.
    #[test]
    fn products_and_sums_are_hulls() {
        let meter = &mut Meter::new(Effort::default(), 0);
        let all: Vec<(i64, i64)> = (-3..=3).flat_map(|a| (a..=3).map(move |b| (a, b))).collect();
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))) {
            let hull = |f: fn(i64, i64) -> i64| {
                let values: Vec<i64> = (a.0..=a.1).flat_map(|x| (b.0..=b.1).map(move |y| f(x, y))).collect();
                interval(*values.iter().min().unwrap(), *values.iter().max().unwrap())
            };
            let (x, y) = (interval(a.0, a.1), interval(b.0, b.1));
            assert_eq!(x.times(&y, meter).unwrap(), hull(|x, y| x * y), "{x} * {y}");
            let mut sum = x.clone();
            sum.add(&y, meter).unwrap();
            assert_eq!(sum, hull(|x, y| x + y), "{x} + {y}");
            assert_eq!(x.is_below(&y, meter).unwrap(), a.1 < b.0);
            assert_eq!(x.begins_below(&y, meter).unwrap(), a.0 < b.0);
            assert_eq!(x.is_zero(), a == (0, 0));
        }
    }

    #[test]
    fn squares_roots_and_inverses() {
        let meter = &mut Meter::new(Effort::default(), 0);
        for (a, b) in (-3..=3).flat_map(|a| (a..=3).map(move |b| (a, b))) {
            let squares: Vec<i64> = (a..=b).map(|x| x * x).collect();
            let (least, most) = (*squares.iter().min().unwrap(), *squares.iter().max().unwrap());
            let square = interval(a, b).squared(meter).unwrap();
            assert_eq!(square, interval(least, most));
            let root = square.root(64, meter).unwrap();
            assert_eq!(root, interval(a, b).squared(meter).unwrap().root(64, meter).unwrap());
            assert_eq!((root.low().to_f64(), root.high().to_f64()), ((least as f64).sqrt(), (most as f64).sqrt()));
            let inverse = interval(a, b).inverse(meter).unwrap();
            assert_eq!(inverse.is_some(), a > 0);
            assert!(inverse.is_none_or(
                |i| i.low() * &Rational::from(b) == Rational::ONE && i.high() * &Rational::from(a) == Rational::ONE
            ));
        }
        let root = interval(2, 3).root(80, meter).unwrap();
        assert!(root.low() * root.low() < Rational::from(2) && root.high() * root.high() > Rational::from(3));
        assert!(interval(-1, 3).root(64, meter).is_err());
    }
}
