//! The integers modulo the prime `2^61 - 1`.
//!
//! A rational function that is zero here at a random point is zero everywhere,
//! but for a chance of its degree over `2^61`. Numbers never grow, so this
//! answers questions of identity about programs whose exact rationals would
//! become too long. There is no order, hence no branches: `relu`, `max` and
//! their kin are [`NumberError::NoOrder`], and the transcendental functions
//! have no meaning at all.

use crate::{Number, NumberError, Rational, Smooth, Stair};
use dashu_int::{IBig, UBig};
use std::cmp::Ordering;
use std::fmt;

/// An element of the prime field of `2^61 - 1` elements.
///
/// ```
/// use crease_number::{Field61, Number};
/// let third = Field61::from_rational(&"1/3".parse().unwrap()).unwrap();
/// assert_eq!(third.mul(&Field61::new(3)), Field61::one());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Field61(u64);

impl Field61 {
    /// The prime `2^61 - 1`.
    pub const MODULUS: u64 = (1 << 61) - 1;

    /// The residue of `n`.
    pub const fn new(n: u64) -> Self {
        Field61(n % Self::MODULUS)
    }

    /// The canonical representative, less than [`MODULUS`](Self::MODULUS).
    pub const fn value(self) -> u64 {
        self.0
    }

    /// `2^61` is one here, so the bits above the 61st fold onto those below.
    fn fold(wide: u128) -> Self {
        let sum = (wide as u64 & Self::MODULUS) + (wide >> 61) as u64;
        Field61(if sum >= Self::MODULUS { sum - Self::MODULUS } else { sum })
    }

    fn from_i64(n: i64) -> Self {
        let residue = Field61::new(n.unsigned_abs());
        if n < 0 { residue.neg() } else { residue }
    }

    fn pow(self, mut exponent: u64) -> Self {
        let (mut result, mut base) = (Field61(1), self);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = result.mul(&base);
            }
            base = base.mul(&base);
            exponent >>= 1;
        }
        result
    }
}

/// The residue of a magnitude of any length.
fn residue(magnitude: &UBig) -> Field61 {
    Field61::new(magnitude % Field61::MODULUS)
}

impl fmt::Display for Field61 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Number for Field61 {
    const NAME: &'static str = "the prime field of 2^61-1 elements";
    const EXACT: bool = true;

    fn from_rational(r: &Rational) -> Result<Self, NumberError> {
        if let Some((num, den)) = r.small_parts() {
            return Field61::from_i64(num).div(&Field61::from_i64(den));
        }
        let (sign, magnitude) = IBig::into_parts(r.numerator());
        let num = residue(&magnitude);
        let num = if sign == dashu_base::Sign::Negative { num.neg() } else { num };
        num.div(&residue(&r.denominator()))
    }

    fn zero() -> Self {
        Field61(0)
    }

    fn one() -> Self {
        Field61(1)
    }

    fn from_usize(n: usize) -> Self {
        Field61::fold(n as u128)
    }

    fn add(&self, other: &Self) -> Self {
        Field61::fold(u128::from(self.0 + other.0))
    }

    fn sub(&self, other: &Self) -> Self {
        self.add(&other.neg())
    }

    fn mul(&self, other: &Self) -> Self {
        Field61::fold(u128::from(self.0) * u128::from(other.0))
    }

    fn neg(&self) -> Self {
        Field61(if self.0 == 0 { 0 } else { Self::MODULUS - self.0 })
    }

    fn div(&self, other: &Self) -> Result<Self, NumberError> {
        Ok(self.mul(&other.inv()?))
    }

    fn smooth(&self, f: Smooth) -> Result<Self, NumberError> {
        // residues do not determine the others
        let not_exact = |f: Smooth| Err(NumberError::NotExact { operation: f.name() });
        match f {
            Smooth::Inv => match self.0 {
                0 => Err(NumberError::DivisionByZero),
                1 => Ok(*self),
                // Fermat: x^(p-1) = 1.
                _ => Ok(self.pow(Self::MODULUS - 2)),
            },
            Smooth::Power(k) => {
                let power = self.pow(u64::from(k.unsigned_abs()));
                if k < 0 { power.inv() } else { Ok(power) }
            }
            Smooth::Exp | Smooth::Log | Smooth::Sqrt | Smooth::Sin | Smooth::Cos | Smooth::Tanh => not_exact(f),
            Smooth::Sigmoid | Smooth::Softplus | Smooth::Tan | Smooth::Asin | Smooth::Acos | Smooth::Atan => {
                not_exact(f)
            }
            Smooth::Sinh | Smooth::Cosh | Smooth::Asinh | Smooth::Acosh | Smooth::Atanh => not_exact(f),
            Smooth::Erf | Smooth::Erfc | Smooth::ErfSlope | Smooth::Log1p | Smooth::Expm1 => not_exact(f),
            // one of several roots, and residues have no sign to tell which
            Smooth::Root(..) => not_exact(f),
        }
    }

    fn stair(&self, _: Stair) -> Result<Self, NumberError> {
        Err(NumberError::NoOrder)
    }

    fn compare(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }

    fn relu(&self) -> Result<Self, NumberError> {
        Err(NumberError::NoOrder)
    }

    fn abs(&self) -> Result<Self, NumberError> {
        Err(NumberError::NoOrder)
    }

    fn max(&self, _other: &Self) -> Result<Self, NumberError> {
        Err(NumberError::NoOrder)
    }

    fn min(&self, _other: &Self) -> Result<Self, NumberError> {
        Err(NumberError::NoOrder)
    }

    fn to_f64(&self) -> f64 {
        self.0 as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn element() -> impl Strategy<Value = Field61> {
        prop_oneof![
            4 => any::<u64>().prop_map(Field61::new),
            1 => (0_u64..3).prop_map(Field61::new),
            1 => (1_u64..3).prop_map(|n| Field61::new(Field61::MODULUS - n)),
        ]
    }

    proptest! {
        #[test]
        fn laws_of_a_field(a in element(), b in element(), c in element()) {
            prop_assert_eq!(a.add(&b), b.add(&a));
            prop_assert_eq!(a.mul(&b), b.mul(&a));
            prop_assert_eq!(a.add(&b).add(&c), a.add(&b.add(&c)));
            prop_assert_eq!(a.mul(&b).mul(&c), a.mul(&b.mul(&c)));
            prop_assert_eq!(a.mul(&b.add(&c)), a.mul(&b).add(&a.mul(&c)));
            prop_assert_eq!(a.sub(&b).add(&b), a);
            prop_assert_eq!(a.add(&a.neg()), Field61::zero());
            prop_assert!(a.mul(&b).value() < Field61::MODULUS);
            match a.inv() {
                Ok(inverse) => prop_assert_eq!(a.mul(&inverse), Field61::one()),
                Err(error) => {
                    prop_assert_eq!(a, Field61::zero());
                    prop_assert_eq!(error, NumberError::DivisionByZero);
                }
            }
        }

        #[test]
        fn rationals_map_homomorphically(a in any::<[i64; 3]>(), b in 1_i64..) {
            let p = Rational::new(a[0], b).unwrap();
            // A product of three 64-bit numbers takes the long representation.
            let q = &(&Rational::from(a[1]) * &Rational::from(a[2])) * &p;
            let image = |r: &Rational| Field61::from_rational(r).unwrap();
            prop_assert_eq!(image(&(&p + &q)), image(&p).add(&image(&q)));
            prop_assert_eq!(image(&(&p * &q)), image(&p).mul(&image(&q)));
            prop_assert_eq!(image(&-&q), image(&q).neg());
        }

        #[test]
        fn powers_are_products(a in element(), n in 0_i32..40) {
            let product = (0..n).fold(Field61::one(), |acc, _| acc.mul(&a));
            prop_assert_eq!(a.powi(n), Ok(product));
            if a != Field61::zero() {
                prop_assert_eq!(a.powi(-n).unwrap().mul(&product), Field61::one());
            }
        }
    }

    #[test]
    fn the_prime_is_zero() {
        assert_eq!(Field61::new(Field61::MODULUS), Field61::zero());
        let r = Rational::new(1, Field61::MODULUS as i64).unwrap();
        assert_eq!(Field61::from_rational(&r), Err(NumberError::DivisionByZero));
        assert_eq!(Field61::new(u64::MAX).value(), u64::MAX % Field61::MODULUS);
        assert_eq!(Field61::from_usize(usize::MAX), Field61::new(usize::MAX as u64));
    }

    #[test]
    fn there_is_no_order() {
        let (one, two) = (Field61::one(), Field61::new(2));
        assert_eq!(one.compare(&two), None);
        assert_eq!(one.compare(&one), Some(Ordering::Equal));
        assert_eq!(Number::max(&one, &two), Err(NumberError::NoOrder));
        assert_eq!(one.relu(), Err(NumberError::NoOrder));
        assert_eq!(one.exp(), Err(NumberError::NotExact { operation: "exp" }));
        assert_eq!(Field61::zero().powi(-1), Err(NumberError::DivisionByZero));
        assert_eq!(Field61::zero().powi(0), Ok(one));
    }
}
