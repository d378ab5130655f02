//! Whole numbers of any size: what is counted.
//!
//! A program of programs doubles its cost with every level, so after a few hundred levels a count fits no machine number.
//! Counts are therefore exact whatever their size; those of up to 128 bits stay off the heap.

use crate::Rational;
use dashu_base::{BitTest, Sign};
use dashu_int::IBig;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A whole number of any size, exactly: how often an operation is applied, or a coefficient of a price.
///
/// ```
/// use crease_number::Count;
/// let doubled = (0..200).fold(Count::from(1), |n, _| &n + &n);
/// assert_eq!(doubled.to_string(), "1606938044258990275541962092341162602522202993782792835301376");
/// assert_eq!(doubled.to_u128(), None);
/// assert!(doubled > u64::MAX.into());
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Count(IBig);

impl Count {
    /// None.
    pub const ZERO: Count = Count::new(0);

    /// A count that a machine number holds.
    pub const fn new(n: i128) -> Self {
        let sign = if n < 0 { Sign::Negative } else { Sign::Positive };
        Count(IBig::from_parts_const(sign, n.unsigned_abs()))
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// Whether it is below 0.
    pub fn is_negative(&self) -> bool {
        *self < Count::ZERO
    }

    /// Without its sign.
    pub fn abs(&self) -> Self {
        if self.is_negative() { &Count::ZERO - self } else { self.clone() }
    }

    /// The number, if it is one of 128 bits without sign.
    pub fn to_u128(&self) -> Option<u128> {
        u128::try_from(&self.0).ok()
    }

    /// The number, if it is one of 64 bits without sign.
    pub fn to_u64(&self) -> Option<u64> {
        u64::try_from(&self.0).ok()
    }

    /// The nearest float; an infinity beyond all of them.
    pub fn to_f64(&self) -> f64 {
        self.0.to_f64().value()
    }

    /// As a rational number.
    pub fn to_rational(&self) -> Rational {
        match i64::try_from(&self.0) {
            Ok(n) => Rational::from(n),
            Err(_) => Rational::from(dashu_ratio::RBig::from(self.0.clone())),
        }
    }

    /// The number of its binary digits.
    pub fn bits(&self) -> usize {
        self.0.bit_len()
    }
}

impl Default for Count {
    fn default() -> Self {
        Count::ZERO
    }
}

macro_rules! from_integers {
    ($($t:ty)*) => {$(
        impl From<$t> for Count {
            fn from(n: $t) -> Self {
                Count(IBig::from(n))
            }
        }
    )*};
}

from_integers!(i32 i64 i128 u32 u64 u128 usize);

impl From<&Count> for Count {
    fn from(n: &Count) -> Self {
        n.clone()
    }
}

impl PartialEq<i128> for Count {
    fn eq(&self, other: &i128) -> bool {
        self.0 == IBig::from(*other)
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident)*) => {$(
        impl $trait<&Count> for &Count {
            type Output = Count;
            fn $method(self, other: &Count) -> Count {
                Count((&self.0).$method(&other.0))
            }
        }
        impl<C: Into<Count>> $trait<C> for Count {
            type Output = Count;
            fn $method(self, other: C) -> Count {
                Count(self.0.$method(other.into().0))
            }
        }
    )*};
}

operators!(Add add Sub sub Mul mul);

impl AddAssign<&Count> for Count {
    fn add_assign(&mut self, other: &Count) {
        self.0 += &other.0;
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.0 += other.0;
    }
}

impl<C: Into<Count>> Sum<C> for Count {
    fn sum<I: Iterator<Item = C>>(all: I) -> Self {
        all.fold(Count::ZERO, |sum, n| sum + n)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
