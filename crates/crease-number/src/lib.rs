//! The numbers that programs run on.
//!
//! A program is written once and run on any type that implements [`Number`].
//! What enters is a program's constants, as exact [`Rational`]s; what leaves is
//! a value of the chosen type, or a [`NumberError`] that says why there is none.
//!
//! | type | what a result means |
//! |---|---|
//! | `f64`, `f32` | the IEEE result, rounded, with infinities and NaN |
//! | [`Rational`] | the exact value; functions without one are errors |
//! | [`Field61`] | the exact value modulo a 61-bit prime, at constant cost |
//! | [`Interval`] | two `f64` that certainly enclose the exact value |
//! | [`Enclosure`] | the same at any precision; no [`Number`] of its own |
//! | [`Mixed`] | the exact value for as long as there is one, then an enclosure |
//!
//! Nothing here panics: every operation that can fail returns a `Result`, and
//! the caller attaches the place in the program where it happened.
//!
//! ```
//! use crease_number::{Interval, Number, NumberError, Rational};
//!
//! fn square_plus_tenth<N: Number>(x: &N) -> Result<N, NumberError> {
//!     let tenth = N::from_rational(&"0.1".parse().unwrap())?;
//!     Ok(x.mul(x).add(&tenth))
//! }
//!
//! let exact = square_plus_tenth(&Rational::from(2)).unwrap();
//! assert_eq!(exact, "4.1".parse().unwrap());
//! assert_eq!(square_plus_tenth(&2.0_f64).unwrap(), 4.1);
//! assert!(square_plus_tenth(&Interval::point(2.0)).unwrap().contains(&exact));
//! ```

mod count;
mod enclosure;
mod exact;
mod field;
mod float;
mod interval;
mod mixed;
mod rational;
mod smooth;
mod special;
mod stair;

/// Numerators and denominators of [`Rational`] are of these types, and it converts from and into [`RBig`].
pub use dashu_int::{IBig, UBig};
pub use dashu_ratio::RBig;

pub use count::Count;
pub use enclosure::Enclosure;
pub use exact::{Budget, Exact};
pub use field::Field61;
pub use interval::Interval;
pub use mixed::Mixed;
pub use rational::{ParseRationalError, Rational};
pub use smooth::{Algebra, Edge, Facts, Numbers, Slope, Smooth};
pub use stair::Stair;

use std::cmp::Ordering;
use std::fmt::{Debug, Display};

/// Why an operation on numbers has no result.
///
/// The messages are phrases meant to follow a place, as in
/// `at line 3: division by zero`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NumberError {
    /// The divisor is zero.
    #[error("division by zero")]
    DivisionByZero,
    /// The logarithm of zero or of a negative number.
    #[error("logarithm of a number that is not positive")]
    LogOfNonPositive,
    /// The square root of a negative number.
    #[error("square root of a negative number")]
    SqrtOfNegative,
    /// The argument of a function is outside of its domain.
    #[error("{operation} of a number that is not {domain}")]
    Outside {
        /// The function, such as `asin`.
        operation: &'static str,
        /// Where it has values, such as `between -1 and 1`.
        domain: &'static str,
    },
    /// The result cannot be written down in these exact numbers.
    #[error("{operation} of this number has no exact value; run in f64 or intervals")]
    NotExact {
        /// The operation asked for, such as `exp`.
        operation: &'static str,
    },
    /// The operation compares numbers that have no order.
    #[error("these numbers have no order to compare them by")]
    NoOrder,
    /// An enclosure holds points on both sides of what the operation must decide.
    #[error("the enclosure is too wide to decide this operation")]
    Undecided,
    /// A truth value is needed, and this is none.
    #[error("a condition must be 1 or 0, true or false, but here it is {0}")]
    NotATruth(String),
    /// A position in a list is needed, and this is none.
    #[error("a position among {of} numbers must be an integer from 0 to {}, but here it is {value}", of - 1)]
    NotAPosition {
        /// What it was.
        value: String,
        /// How many numbers there are.
        of: usize,
    },
    /// The positions of a reordering name one place twice.
    #[error("a permutation of {of} numbers has every position once, but here {value} is there twice")]
    NotAPermutation {
        /// The position.
        value: usize,
        /// How many numbers there are.
        of: usize,
    },
    /// An exact number would grow past the size limit.
    #[error("the exact number grew past ten million bits")]
    TooLarge,
}

/// A number that programs can run on.
///
/// Addition, subtraction, multiplication and negation are total. Everything
/// else may fail with a [`NumberError`], except on floats, which follow IEEE
/// instead (`1/0` is infinity, `log(-1)` is NaN): whether to complain about a
/// non-finite value is for the caller to decide, through
/// [`is_finite`](Number::is_finite).
pub trait Number: Clone + Debug + Display + PartialEq + Send + Sync + 'static {
    /// What to call these numbers in messages, such as `f64` or `exact rationals`.
    const NAME: &'static str;

    /// Whether results carry no rounding.
    const EXACT: bool;

    /// The number that stands for an exact constant: itself, the nearest
    /// float, the residue, or the tightest enclosure.
    ///
    /// # Errors
    ///
    /// [`NumberError::DivisionByZero`] in a prime field whose prime divides
    /// the denominator.
    fn from_rational(r: &Rational) -> Result<Self, NumberError>;

    /// Zero.
    fn zero() -> Self;

    /// One.
    fn one() -> Self;

    /// A count.
    fn from_usize(n: usize) -> Self;

    /// `self + other`.
    fn add(&self, other: &Self) -> Self;

    /// `self - other`.
    fn sub(&self, other: &Self) -> Self;

    /// `self * other`.
    fn mul(&self, other: &Self) -> Self;

    /// `-self`.
    fn neg(&self) -> Self;

    /// `self / other`.
    ///
    /// # Errors
    ///
    /// [`NumberError::DivisionByZero`] if `other` is zero, and
    /// [`NumberError::Undecided`] if it is an enclosure of zero and of other
    /// numbers. Floats never fail.
    fn div(&self, other: &Self) -> Result<Self, NumberError>;

    /// A smooth function of the table.
    ///
    /// # Errors
    ///
    /// Outside of its [domain](Smooth::outside); [`NumberError::NotExact`] where exact numbers cannot hold the result,
    /// [`NumberError::TooLarge`] where it has too many bits, and [`NumberError::Undecided`] for an enclosure of numbers inside the domain
    /// and others.
    fn smooth(&self, f: Smooth) -> Result<Self, NumberError>;

    /// A function that is constant between jumps.
    ///
    /// # Errors
    ///
    /// [`NumberError::NoOrder`] in a field, and [`NumberError::Undecided`] for an enclosure that holds numbers on both sides of a jump, unless
    /// the numbers are intervals that can hold both values.
    fn stair(&self, s: Stair) -> Result<Self, NumberError>;

    /// `1 / self`. Like all that follow, [`smooth`](Number::smooth) under a name of its own, with its errors.
    fn inv(&self) -> Result<Self, NumberError> {
        self.smooth(Smooth::Inv)
    }

    /// `e` to the power `self`.
    fn exp(&self) -> Result<Self, NumberError> {
        self.smooth(Smooth::Exp)
    }

    /// The natural logarithm.
    fn log(&self) -> Result<Self, NumberError> {
        self.smooth(Smooth::Log)
    }

    /// The square root.
    fn sqrt(&self) -> Result<Self, NumberError> {
        self.smooth(Smooth::Sqrt)
    }

    /// The sine.
    fn sin(&self) -> Result<Self, NumberError> {
        self.smooth(Smooth::Sin)
    }

    /// The cosine.
    fn cos(&self) -> Result<Self, NumberError> {
        self.smooth(Smooth::Cos)
    }

    /// The hyperbolic tangent.
    fn tanh(&self) -> Result<Self, NumberError> {
        self.smooth(Smooth::Tanh)
    }

    /// The logistic function `1 / (1 + exp(-self))`.
    fn sigmoid(&self) -> Result<Self, NumberError> {
        self.smooth(Smooth::Sigmoid)
    }

    /// An integer power; every number to the power zero is one.
    fn powi(&self, exponent: i32) -> Result<Self, NumberError> {
        self.smooth(Smooth::Power(exponent))
    }

    /// The Euclidean norm of some numbers, 0 of none. Floats are scaled where their squares would leave the range.
    ///
    /// ```
    /// use crease_number::{Number, Rational};
    /// let [x, y] = [3, 4].map(Rational::from);
    /// assert_eq!(Number::norm2([&x, &y]), Ok(Rational::from(5)));
    /// assert_eq!(Number::norm2(&[3e-200, -4e-200]), Ok(5e-200));
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the square root: exact numbers need not have one.
    fn norm2<'a, I>(members: I) -> Result<Self, NumberError>
    where
        I: IntoIterator<Item = &'a Self>,
        I::IntoIter: Clone,
    {
        // an even power of an enclosure is not negative, while a product of two of them may be
        let mut sum = Self::zero();
        for x in members {
            sum = sum.add(&x.powi(2)?);
        }
        sum.sqrt()
    }

    /// How `self` compares with `other`, or `None` if it cannot be told: with
    /// NaN, for enclosures that overlap, and for unequal elements of a field.
    fn compare(&self, other: &Self) -> Option<Ordering>;

    /// Whether the number is neither infinite nor NaN.
    fn is_finite(&self) -> bool {
        true
    }

    /// Whether this is the float that is not a number.
    fn is_nan(&self) -> bool {
        false
    }

    /// The larger of `self` and zero.
    ///
    /// # Errors
    ///
    /// [`NumberError::NoOrder`] in a field.
    fn relu(&self) -> Result<Self, NumberError> {
        self.max(&Self::zero())
    }

    /// The distance from zero.
    ///
    /// # Errors
    ///
    /// [`NumberError::NoOrder`] in a field.
    fn abs(&self) -> Result<Self, NumberError> {
        match self.compare(&Self::zero()) {
            Some(Ordering::Less) => Ok(self.neg()),
            Some(_) => Ok(self.clone()),
            None => Err(NumberError::Undecided),
        }
    }

    /// The larger of two numbers.
    ///
    /// # Errors
    ///
    /// [`NumberError::NoOrder`] in a field.
    fn max(&self, other: &Self) -> Result<Self, NumberError> {
        match self.compare(other) {
            Some(Ordering::Less) => Ok(other.clone()),
            Some(_) => Ok(self.clone()),
            None => Err(NumberError::Undecided),
        }
    }

    /// The smaller of two numbers.
    ///
    /// # Errors
    ///
    /// [`NumberError::NoOrder`] in a field.
    fn min(&self, other: &Self) -> Result<Self, NumberError> {
        match self.compare(other) {
            Some(Ordering::Greater) => Ok(other.clone()),
            Some(_) => Ok(self.clone()),
            None => Err(NumberError::Undecided),
        }
    }

    /// The smallest representable set that holds both, for numbers that are
    /// sets; `None` for numbers that are points.
    fn hull(&self, _other: &Self) -> Option<Self> {
        None
    }

    /// The nearest `f64`: the midpoint of an enclosure, the canonical
    /// representative of a residue.
    fn to_f64(&self) -> f64;
}

/// What may be shared between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Rational>();
    shared::<Exact>();
    shared::<Enclosure>();
    shared::<Interval>();
    shared::<Mixed>();
    shared::<Field61>();
    shared::<Count>();
};

#[cfg(test)]
mod tests {
    use super::*;

    fn polynomial<N: Number>() -> Result<N, NumberError> {
        // (1/2 + 3)^3 - 7/4, which is 329/8 on every number.
        let half = N::from_rational(&Rational::new(1, 2).unwrap())?;
        let cube = half.add(&N::from_usize(3)).powi(3)?;
        Ok(cube.sub(&N::from_rational(&Rational::new(7, 4).unwrap())?))
    }

    fn agrees<N: Number>() {
        let expected = N::from_rational(&Rational::new(329, 8).unwrap()).unwrap();
        assert_eq!(polynomial::<N>().unwrap(), expected, "{}", N::NAME);
        let there_and_back = expected.inv().unwrap().inv().unwrap();
        assert_eq!(there_and_back.to_f64(), expected.to_f64(), "{}", N::NAME);
    }

    #[test]
    fn all_numbers_agree_where_nothing_rounds() {
        agrees::<f64>();
        agrees::<f32>();
        agrees::<Rational>();
        agrees::<Field61>();
        agrees::<Interval>();
    }

    #[test]
    fn defaults_follow_the_order() {
        let (two, minus) = (Rational::from(2), Rational::from(-3));
        assert_eq!(Number::max(&two, &minus).unwrap(), two);
        assert_eq!(Number::min(&two, &minus).unwrap(), minus);
        assert_eq!(Number::relu(&minus).unwrap(), Rational::ZERO);
        assert_eq!(Number::abs(&minus).unwrap(), Rational::from(3));
        assert_eq!(two.hull(&minus), None);
    }

    #[test]
    fn messages_embed_after_a_place() {
        let error = NumberError::NotExact { operation: "exp" };
        assert_eq!(
            format!("at line 3: {error}"),
            "at line 3: exp of this number has no exact value; run in f64 or intervals"
        );
    }
}
