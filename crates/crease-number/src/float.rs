//! `f64` and `f32` as numbers: IEEE arithmetic, which never fails.
//!
//! Division by zero gives an infinity, a logarithm of a negative number NaN,
//! and NaN passes through everything, `relu`, `max` and `min` included: a
//! maximum that dropped NaN would hide the fault that made it.

use crate::{Number, NumberError, Rational, Smooth, Stair, special};
use std::cmp::Ordering;

macro_rules! float_number {
    ($float:ident, $name:literal, $nearest:ident, $shift:literal) => {
        impl Number for $float {
            const NAME: &'static str = $name;
            const EXACT: bool = false;

            fn from_rational(r: &Rational) -> Result<Self, NumberError> {
                Ok(r.$nearest())
            }

            fn zero() -> Self {
                0.0
            }

            fn one() -> Self {
                1.0
            }

            fn from_usize(n: usize) -> Self {
                n as $float
            }

            fn add(&self, other: &Self) -> Self {
                self + other
            }

            fn sub(&self, other: &Self) -> Self {
                self - other
            }

            fn mul(&self, other: &Self) -> Self {
                self * other
            }

            fn neg(&self) -> Self {
                -self
            }

            fn div(&self, other: &Self) -> Result<Self, NumberError> {
                Ok(self / other)
            }

            fn smooth(&self, f: Smooth) -> Result<Self, NumberError> {
                let x = *self;
                Ok(match f {
                    Smooth::Inv => 1.0 / x,
                    Smooth::Exp => $float::exp(x),
                    Smooth::Log => $float::ln(x),
                    Smooth::Sqrt => $float::sqrt(x),
                    Smooth::Sin => $float::sin(x),
                    Smooth::Cos => $float::cos(x),
                    Smooth::Tanh => $float::tanh(x),
                    // the exponential is taken of a number that is not positive, so that it cannot overflow
                    Smooth::Sigmoid if x >= 0.0 => 1.0 / (1.0 + $float::exp(-x)),
                    Smooth::Sigmoid => {
                        let e = $float::exp(x);
                        e / (1.0 + e)
                    }
                    Smooth::Softplus => (if x <= 0.0 { 0.0 } else { x }) + $float::ln_1p($float::exp(-$float::abs(x))),
                    Smooth::Tan => $float::tan(x),
                    Smooth::Asin => $float::asin(x),
                    Smooth::Acos => $float::acos(x),
                    Smooth::Atan => $float::atan(x),
                    Smooth::Sinh => $float::sinh(x),
                    Smooth::Cosh => $float::cosh(x),
                    Smooth::Asinh => special::asinh(f64::from(x)) as $float,
                    Smooth::Acosh => special::acosh(f64::from(x)) as $float,
                    Smooth::Atanh => special::atanh(f64::from(x)) as $float,
                    Smooth::Erf => libm::erf(f64::from(x)) as $float,
                    Smooth::Erfc => libm::erfc(f64::from(x)) as $float,
                    Smooth::ErfSlope => special::erf_slope(f64::from(x)) as $float,
                    Smooth::Log1p => $float::ln_1p(x),
                    Smooth::Expm1 => $float::exp_m1(x),
                    Smooth::Power(k) => $float::powi(x, k),
                    Smooth::Root(p, q) => special::root(f64::from(x), p, q) as $float,
                })
            }

            fn norm2<'a, I>(members: I) -> Result<Self, NumberError>
            where
                I: IntoIterator<Item = &'a Self>,
                I::IntoIter: Clone,
            {
                let members = members.into_iter();
                let squares = |scale: $float| members.clone().fold(0.0, |sum, &x| sum + (x * scale) * (x * scale));
                let sum = squares(1.0);
                // below, squares that count may have been lost
                let least = $float::MIN_POSITIVE / ($float::EPSILON * $float::EPSILON);
                // a power of two changes no digit
                let scale: $float = match sum {
                    _ if sum == $float::INFINITY && members.clone().all(|x| $float::is_finite(*x)) => {
                        $float::powi(2.0, -$shift)
                    }
                    _ if sum < least => $float::powi(2.0, $shift),
                    _ => return Ok($float::sqrt(sum)),
                };
                Ok($float::sqrt(squares(scale)) / scale)
            }

            fn stair(&self, s: Stair) -> Result<Self, NumberError> {
                // there is one zero
                Ok(match s {
                    Stair::Sign if *self > 0.0 => 1.0,
                    Stair::Sign if *self < 0.0 => -1.0,
                    Stair::Sign => *self,
                    Stair::Floor => self.floor(),
                    Stair::Ceil => self.ceil(),
                    Stair::Round => self.round_ties_even(),
                } + 0.0)
            }

            fn compare(&self, other: &Self) -> Option<Ordering> {
                self.partial_cmp(other)
            }

            fn is_finite(&self) -> bool {
                $float::is_finite(*self)
            }

            fn is_nan(&self) -> bool {
                $float::is_nan(*self)
            }

            fn relu(&self) -> Result<Self, NumberError> {
                Ok(if *self <= 0.0 { 0.0 } else { *self })
            }

            fn abs(&self) -> Result<Self, NumberError> {
                Ok($float::abs(*self))
            }

            fn max(&self, other: &Self) -> Result<Self, NumberError> {
                Ok(match self.partial_cmp(other) {
                    Some(Ordering::Less) => *other,
                    Some(Ordering::Greater) => *self,
                    // Adding makes NaN of NaN, and 0 of 0 and -0 in any order.
                    Some(Ordering::Equal) if *self != 0.0 => *self,
                    _ => self + other,
                })
            }

            fn min(&self, other: &Self) -> Result<Self, NumberError> {
                Ok(-Number::max(&-self, &-other)?)
            }

            fn to_f64(&self) -> f64 {
                f64::from(*self)
            }
        }
    };
}

float_number!(f64, "f64", to_f64, 600);
float_number!(f32, "f32", to_f32, 90);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_passes_through() {
        let nan = f64::NAN;
        assert!(Number::relu(&nan).unwrap().is_nan());
        assert!(Number::max(&nan, &1.0).unwrap().is_nan());
        assert!(Number::max(&1.0, &nan).unwrap().is_nan());
        assert!(Number::min(&1.0, &nan).unwrap().is_nan());
        assert!(Number::max(&f64::INFINITY, &nan).unwrap().is_nan());
        assert!(Number::sigmoid(&nan).unwrap().is_nan());
        assert_eq!(nan.compare(&1.0), None);
    }

    #[test]
    fn signed_zeros_are_settled() {
        assert!(Number::relu(&-0.0_f64).unwrap().is_sign_positive());
        assert!(Number::max(&-0.0_f64, &0.0).unwrap().is_sign_positive());
        assert!(Number::max(&0.0_f64, &-0.0).unwrap().is_sign_positive());
        assert!(Number::min(&0.0_f64, &-0.0).unwrap().is_sign_negative());
        assert!(Number::min(&-0.0_f64, &0.0).unwrap().is_sign_negative());
    }

    #[test]
    fn ordinary_maxima() {
        assert_eq!(Number::max(&3.0_f64, &2.0), Ok(3.0));
        assert_eq!(Number::max(&2.0_f64, &2.0), Ok(2.0));
        assert_eq!(Number::min(&3.0_f32, &2.0), Ok(2.0));
        assert_eq!(Number::max(&f64::INFINITY, &f64::INFINITY), Ok(f64::INFINITY));
    }

    #[test]
    fn sigmoid_is_stable_on_both_sides() {
        assert_eq!(Number::sigmoid(&1000.0_f64), Ok(1.0));
        assert_eq!(Number::sigmoid(&-1000.0_f64), Ok(0.0));
        assert_eq!(Number::sigmoid(&0.0_f32), Ok(0.5));
        let tail = Number::sigmoid(&-40.0_f64).unwrap();
        assert!((tail / (-40.0_f64).exp() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn norms_neither_overflow_nor_vanish() {
        let norm = |xs: &[f64]| Number::norm2(xs).unwrap();
        for scale in [1.0, 1e-200, 1e-308, 1e200, 1e307] {
            let expected = 5.0 * scale;
            assert!((norm(&[3.0 * scale, -4.0 * scale]) - expected).abs() <= expected * 1e-15, "{scale}");
        }
        let least = f64::from_bits(1);
        assert_eq!((norm(&[least]), norm(&[least; 4]), norm(&[0.0, -0.0]), norm(&[])), (least, 2.0 * least, 0.0, 0.0));
        assert_eq!(norm(&[f64::MAX]), f64::MAX);
        assert_eq!((norm(&[f64::MAX; 2]), norm(&[1.0, f64::NEG_INFINITY])), (f64::INFINITY, f64::INFINITY));
        assert!(norm(&[1.0, f64::NAN]).is_nan() && norm(&[f64::INFINITY, f64::NAN]).is_nan());
        let single = |x: f32| Number::norm2(&[x; 4]).unwrap();
        for x in [f32::from_bits(1), 1e-40, 1e-20, 1.0, 1e20, 1e38] {
            assert_eq!(single(x), 2.0 * x);
        }
    }

    #[test]
    fn division_by_zero_is_ieee() {
        assert_eq!(Number::div(&1.0_f64, &0.0), Ok(f64::INFINITY));
        assert!(!Number::is_finite(&Number::inv(&0.0_f32).unwrap()));
    }

    #[test]
    fn single_precision_is_rounded_once() {
        // Just above a tie between two f32, by less than an f64 can hold:
        // rounding through f64 would land on the tie and then go down.
        let r: Rational = "1.000000059604644775390625000000001".parse().unwrap();
        assert_eq!(f32::from_rational(&r), Ok(1.0 + f32::EPSILON));
        assert_eq!(r.to_f64() as f32, 1.0);
    }
}
