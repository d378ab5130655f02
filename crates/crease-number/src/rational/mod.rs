//! Exact rationals: the constants of programs and the arithmetic of every
//! exact answer.
//!
//! Most rationals that programs meet are short, so those whose numerator and
//! denominator fit 63 bits are kept in two machine words and computed with
//! 128-bit intermediates; only what does not fit goes to the heap. Which of
//! the two forms a value takes is determined by the value, so equality and
//! hashing are those of the form.
//!
//! Text enters by [`FromStr`] and leaves by [`Display`](fmt::Display), and the
//! two are inverse: a printed constant reads back as the same number.
//!
//! | text | value |
//! |---|---|
//! | `3`, `-12` | an integer |
//! | `0.1`, `2.5E+7`, `1e-3` | the decimal exactly, so one tenth and not an `f64` |
//! | `1/3`, `-4/6` | a fraction, which need not be reduced |
//! | `~0.1`, `~-2e-9` | the `f64` nearest to the decimal |

mod literal;
mod words;

pub use literal::ParseRationalError;

use crate::{Number, NumberError, Smooth, Stair};
use dashu_base::{BitTest, Gcd, SquareRootRem};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::iter::Sum;
use std::num::NonZeroU64;
use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// Powers whose numerator or denominator has more bits than this are refused:
/// a short program could otherwise ask for more memory than there is.
const MAX_POWER_BITS: u64 = 10_000_000;

/// An exact rational number of any size.
///
/// There is no `/` operator, because division can fail: see
/// [`checked_div`](Rational::checked_div).
///
/// ```
/// use crease_number::Rational;
/// let tenth: Rational = "0.1".parse().unwrap();
/// let third = Rational::new(1, 3).unwrap();
/// assert_eq!((&tenth + &third).to_string(), "13/30");
/// assert_eq!((tenth * third).fraction(), "1/30");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Rational(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    /// In lowest terms, with `|num|` and `den` at most `i64::MAX`: leaving out
    /// `i64::MIN` closes the form under negation and inversion.
    Small { num: i64, den: NonZeroU64 },
    /// Exactly the values that do not fit `Small`.
    Big(Box<RBig>),
}

use Repr::{Big, Small};

impl Rational {
    /// Zero.
    pub const ZERO: Rational = Rational::integer(0);

    /// One.
    pub const ONE: Rational = Rational::integer(1);

    /// The fraction `num / den`, or `None` if `den` is zero.
    ///
    /// ```
    /// use crease_number::Rational;
    /// assert_eq!(Rational::new(4, -6).unwrap().fraction(), "-2/3");
    /// assert_eq!(Rational::new(1, 0), None);
    /// ```
    pub fn new(num: i64, den: i64) -> Option<Rational> {
        if den == 0 {
            return None;
        }
        let g = gcd(num.unsigned_abs(), den.unsigned_abs());
        let magnitude = i128::from(num.unsigned_abs() / g);
        let num = if (num < 0) == (den < 0) { magnitude } else { -magnitude };
        Some(reduced(num, u128::from(den.unsigned_abs() / g)))
    }

    /// The exact value of a float, or `None` if it is infinite or NaN.
    ///
    /// ```
    /// use crease_number::Rational;
    /// assert_eq!(Rational::from_f64(0.75), Rational::new(3, 4));
    /// assert_ne!(Rational::from_f64(0.1), Rational::new(1, 10));
    /// assert_eq!(Rational::from_f64(f64::NAN), None);
    /// ```
    pub fn from_f64(x: f64) -> Option<Rational> {
        if !x.is_finite() {
            return None;
        }
        if x == 0.0 {
            return Some(Rational::ZERO);
        }
        let bits = x.to_bits();
        let field = ((bits >> 52) & 0x7ff) as i32;
        let fraction = (bits & ((1 << 52) - 1)) as i64;
        // A subnormal has no hidden bit, and the exponent of the smallest normals.
        let (mantissa, exponent) = match field {
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, field - 1075),
        };
        let zeros = mantissa.trailing_zeros();
        let (mantissa, exponent) = (mantissa >> zeros, exponent + zeros as i32);
        let mantissa = if x < 0.0 { -mantissa } else { mantissa };
        let shift = exponent.unsigned_abs();
        Some(if exponent < 0 {
            if shift < 63 {
                small(mantissa, 1 << shift)
            } else {
                let den = UBig::ONE << shift as usize;
                Rational::from(RBig::from_parts(IBig::from(mantissa), den))
            }
        } else if shift <= 10 {
            // At most 53 bits, shifted by 10, fit 63.
            small(mantissa << shift, 1)
        } else {
            Rational::from(RBig::from(IBig::from(mantissa) << shift as usize))
        })
    }

    /// The nearest `f64`, ties to even; an infinity if the number is too large.
    pub fn to_f64(&self) -> f64 {
        const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;
        match &self.0 {
            Small { num, den } if den.get() == 1 => *num as f64,
            // One correctly rounded division of two exact floats.
            Small { num, den } if num.unsigned_abs() <= EXACT && den.get() <= EXACT => *num as f64 / den.get() as f64,
            _ => self.big().to_f64().value(),
        }
    }

    /// The nearest `f32`, ties to even; an infinity if the number is too large.
    pub fn to_f32(&self) -> f32 {
        const EXACT: u64 = 1 << f32::MANTISSA_DIGITS;
        match &self.0 {
            Small { num, den } if den.get() == 1 => *num as f32,
            Small { num, den } if num.unsigned_abs() <= EXACT && den.get() <= EXACT => *num as f32 / den.get() as f32,
            _ => self.big().to_f32().value(),
        }
    }

    /// Whether this is zero.
    pub fn is_zero(&self) -> bool {
        matches!(self.0, Small { num: 0, .. })
    }

    /// Whether this is one.
    pub fn is_one(&self) -> bool {
        *self == Rational::ONE
    }

    /// Whether this is less than zero.
    pub fn is_negative(&self) -> bool {
        self.signum() < 0
    }

    /// Whether this is greater than zero.
    pub fn is_positive(&self) -> bool {
        self.signum() > 0
    }

    /// The sign: -1, 0 or 1.
    pub fn signum(&self) -> i8 {
        match &self.0 {
            Small { num, .. } => num.signum() as i8,
            // Zero is small.
            Big(big) if big.numerator().sign() == dashu_base::Sign::Negative => -1,
            Big(_) => 1,
        }
    }

    /// Whether the denominator is one.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Small { den, .. } => den.get() == 1,
            Big(big) => big.is_int(),
        }
    }

    /// The distance from zero.
    pub fn abs(&self) -> Rational {
        if self.is_negative() { -self } else { self.clone() }
    }

    /// `1 / self`, or `None` for zero.
    pub fn inv(&self) -> Option<Rational> {
        match &self.0 {
            Small { num: 0, .. } => None,
            Small { num, den } => {
                // Both fit 63 bits, by the invariant.
                let n = den.get() as i64;
                Some(small(if *num < 0 { -n } else { n }, num.unsigned_abs()))
            }
            Big(big) => Some(Rational(Big(Box::new(big.pow(-1))))),
        }
    }

    /// The greatest integer that is not above `self`.
    pub fn floor(&self) -> Rational {
        match &self.0 {
            Small { num, den } => Rational::integer(num.div_euclid(den.get() as i64)),
            Big(big) => Rational::from(RBig::from(big.floor())),
        }
    }

    /// Whether it is twice an integer.
    pub fn is_even(&self) -> bool {
        self.half().is_integer()
    }

    /// `self / other`, or `None` if `other` is zero.
    ///
    /// ```
    /// use crease_number::Rational;
    /// let (two, six) = (Rational::from(2), Rational::from(6));
    /// assert_eq!(two.checked_div(&six), Rational::new(1, 3));
    /// assert_eq!(two.checked_div(&Rational::ZERO), None);
    /// ```
    pub fn checked_div(&self, other: &Rational) -> Option<Rational> {
        Some(self * &other.inv()?)
    }

    /// `self` to an integer power, with `0^0 = 1`; `None` for a negative power
    /// of zero, and for a result of more than about ten million bits.
    pub fn pow(&self, exponent: i32) -> Option<Rational> {
        if exponent < 0 && self.is_zero() || self.power_is_too_large(exponent) {
            return None;
        }
        if exponent < 0 {
            // Inverting the power keeps i32::MIN from being negated.
            return self.power(exponent.unsigned_abs()).inv();
        }
        Some(self.power(exponent.unsigned_abs()))
    }

    /// A power that is known not to be too large.
    fn power(&self, exponent: u32) -> Rational {
        if let Small { num, den } = &self.0
            && let Some(num) = num.checked_pow(exponent)
            && let Some(den) = den.get().checked_pow(exponent)
        {
            return reduced(i128::from(num), u128::from(den));
        }
        Rational::from(self.big().pow(exponent as isize))
    }

    /// Whether the logarithm of the power alone shows it to be too long.
    fn power_is_too_large(&self, exponent: i32) -> bool {
        let longest = match &self.0 {
            Small { num, den } => num.unsigned_abs().max(den.get()).bit_len(),
            Big(big) => big.numerator().bit_len().max(big.denominator().bit_len()),
        };
        let floor_of_log = longest.saturating_sub(1) as u64;
        floor_of_log.saturating_mul(u64::from(exponent.unsigned_abs())) > MAX_POWER_BITS
    }

    /// `self += a * b`, the inner step of dot products.
    pub fn add_mul(&mut self, a: &Rational, b: &Rational) {
        if let (Small { num: s, den: ds }, Small { num: a, den: da }, Small { num: b, den: db }) = (&self.0, &a.0, &b.0)
            && ds.get() == 1
            && da.get() == 1
            && db.get() == 1
        {
            // The product of two 63-bit numbers leaves room for one more.
            *self = reduced(i128::from(*s) + i128::from(*a) * i128::from(*b), 1);
        } else {
            *self += a * b;
        }
    }

    /// The numerator, which carries the sign, in lowest terms.
    pub fn numerator(&self) -> IBig {
        match &self.0 {
            Small { num, .. } => IBig::from(*num),
            Big(big) => big.numerator().clone(),
        }
    }

    /// The denominator, which is positive, in lowest terms.
    pub fn denominator(&self) -> UBig {
        match &self.0 {
            Small { den, .. } => UBig::from(den.get()),
            Big(big) => big.denominator().clone(),
        }
    }

    /// The largest number of which this and the other are integer multiples; 0 only for two zeros.
    ///
    /// ```
    /// use crease_number::Rational;
    /// let r = |text: &str| text.parse::<Rational>().unwrap();
    /// assert_eq!(r("-4/3").gcd(&r("2/5")), r("2/15"));
    /// assert_eq!(r("0").gcd(&r("-7")), r("7"));
    /// let long = r("3").pow(200).unwrap();
    /// assert_eq!(long.gcd(&(&long * r("5/7"))), long.checked_div(&r("7")).unwrap());
    /// ```
    pub fn gcd(&self, other: &Rational) -> Rational {
        if self.is_zero() || other.is_zero() {
            return if self.is_zero() { other.abs() } else { self.abs() };
        }
        if let (Small { num: a, den: b }, Small { num: c, den: d }) = (&self.0, &other.0) {
            let (num, den) = (gcd(a.unsigned_abs(), c.unsigned_abs()), b.get() / gcd(b.get(), d.get()));
            let short = i64::try_from(num).ok().zip(den.checked_mul(d.get()).and_then(|l| i64::try_from(l).ok()));
            if let Some(found) = short.and_then(|(num, den)| Rational::new(num, den)) {
                return found;
            }
        }
        let (a, b) = (self.numerator().into_parts().1, self.denominator());
        let (c, d) = (other.numerator().into_parts().1, other.denominator());
        let den = &b / (&b).gcd(&d) * d;
        Rational::from(RBig::from_parts(IBig::from((&a).gcd(&c)), den))
    }

    /// Numerator and denominator, if both fit 63 bits.
    pub fn small_parts(&self) -> Option<(i64, i64)> {
        match &self.0 {
            Small { num, den } => Some((*num, den.get() as i64)),
            Big(_) => None,
        }
    }

    /// The size: the bits of the numerator and of the denominator together.
    pub fn bits(&self) -> usize {
        match &self.0 {
            Small { num, den } => num.unsigned_abs().bit_len() + den.get().bit_len(),
            Big(big) => big.numerator().bit_len() + big.denominator().bit_len(),
        }
    }

    /// The fraction `n/d` in lowest terms, or `n` alone for an integer.
    ///
    /// ```
    /// use crease_number::Rational;
    /// assert_eq!("0.25".parse::<Rational>().unwrap().fraction(), "1/4");
    /// assert_eq!("-7".parse::<Rational>().unwrap().fraction(), "-7");
    /// ```
    pub fn fraction(&self) -> String {
        match &self.0 {
            Small { num, den } if den.get() == 1 => num.to_string(),
            Small { num, den } => format!("{num}/{den}"),
            Big(big) if big.is_int() => big.numerator().to_string(),
            Big(big) => format!("{}/{}", big.numerator(), big.denominator()),
        }
    }

    /// An integer within the range of `Small`.
    const fn integer(num: i64) -> Rational {
        Rational(Small { num, den: NonZeroU64::MIN })
    }

    /// The value in the long form.
    fn big(&self) -> Cow<'_, RBig> {
        match &self.0 {
            Small { num, den } => Cow::Owned(RBig::from_parts(IBig::from(*num), UBig::from(den.get()))),
            Big(big) => Cow::Borrowed(big),
        }
    }

    fn sum(&self, other: &Rational) -> Rational {
        match (&self.0, &other.0) {
            (Small { num: a, den: b }, Small { num: c, den: d }) => sum_small(*a, b.get(), *c, d.get()),
            _ => Rational::from(&*self.big() + &*other.big()),
        }
    }

    fn difference(&self, other: &Rational) -> Rational {
        match (&self.0, &other.0) {
            (Small { num: a, den: b }, Small { num: c, den: d }) => sum_small(*a, b.get(), -c, d.get()),
            _ => Rational::from(&*self.big() - &*other.big()),
        }
    }

    fn product(&self, other: &Rational) -> Rational {
        match (&self.0, &other.0) {
            (Small { num: a, den: b }, Small { num: c, den: d }) => product_small(*a, b.get(), *c, d.get()),
            _ => Rational::from(&*self.big() * &*other.big()),
        }
    }
}

/// `num / den`, already in lowest terms and within the range of `Small`.
fn small(num: i64, den: u64) -> Rational {
    // Callers pass quotients and powers that cannot be zero; the fallback only
    // spares them a panic.
    let den = NonZeroU64::new(den).unwrap_or(NonZeroU64::MIN);
    Rational(Small { num, den })
}

/// `num / den`, already in lowest terms, in the form that it fits.
fn reduced(num: i128, den: u128) -> Rational {
    match (i64::try_from(num), i64::try_from(den)) {
        (Ok(n), Ok(d)) if n != i64::MIN => small(n, d as u64),
        _ => Rational(Big(Box::new(RBig::from_parts(IBig::from(num), UBig::from(den))))),
    }
}

/// `a/b + c/d`, all within the range of `Small`, so that no intermediate
/// exceeds 127 bits.
fn sum_small(a: i64, b: u64, c: i64, d: u64) -> Rational {
    if b == 1 && d == 1 {
        return reduced(i128::from(a) + i128::from(c), 1);
    }
    let g = gcd(b, d);
    let (b_rest, d_rest) = (b / g, d / g);
    let num = i128::from(a) * i128::from(d_rest) + i128::from(c) * i128::from(b_rest);
    if num == 0 {
        return Rational::ZERO;
    }
    // Knuth, 4.5.1: only factors of g can be left in common.
    let t = match g {
        1 => 1,
        _ => gcd((num.unsigned_abs() % u128::from(g)) as u64, g),
    };
    reduced(num / i128::from(t), u128::from(b_rest) * u128::from(d / t))
}

/// `a/b * c/d`, reduced across before multiplying to keep the factors short.
fn product_small(a: i64, b: u64, c: i64, d: u64) -> Rational {
    if b == 1 && d == 1 {
        return reduced(i128::from(a) * i128::from(c), 1);
    }
    let across_a = gcd(a.unsigned_abs(), d);
    let across_c = gcd(c.unsigned_abs(), b);
    // Both divisors are at most i64::MAX, as they divide a denominator.
    let num = i128::from(a / across_a as i64) * i128::from(c / across_c as i64);
    reduced(num, u128::from(b / across_c) * u128::from(d / across_a))
}

/// The greatest common divisor, by shifts and subtractions.
fn gcd(mut a: u64, mut b: u64) -> u64 {
    if a == 0 || b == 0 {
        return a | b;
    }
    let shift = (a | b).trailing_zeros();
    a >>= a.trailing_zeros();
    while b != 0 {
        b >>= b.trailing_zeros();
        if a > b {
            (a, b) = (b, a);
        }
        if a == 1 {
            break;
        }
        b -= a;
    }
    a << shift
}

impl From<RBig> for Rational {
    fn from(r: RBig) -> Self {
        match (i64::try_from(r.numerator()), i64::try_from(r.denominator())) {
            (Ok(num), Ok(den)) if num != i64::MIN => small(num, den as u64),
            _ => Rational(Big(Box::new(r))),
        }
    }
}

impl From<Rational> for RBig {
    fn from(r: Rational) -> Self {
        match r.0 {
            Big(big) => *big,
            Small { .. } => r.big().into_owned(),
        }
    }
}

macro_rules! from_integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Rational {
            fn from(n: $integer) -> Self {
                reduced(n as i128, 1)
            }
        }
    )*};
}

from_integers!(i32, i64, u64, usize);

impl Default for Rational {
    fn default() -> Self {
        Rational::ZERO
    }
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rational {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Small { num: a, den: b }, Small { num: c, den: d }) if b == d => a.cmp(c),
            (Small { num: a, den: b }, Small { num: c, den: d }) => {
                (i128::from(*a) * i128::from(d.get())).cmp(&(i128::from(*c) * i128::from(b.get())))
            }
            _ => self.signum().cmp(&other.signum()).then_with(|| self.big().cmp(&other.big())),
        }
    }
}

impl Neg for &Rational {
    type Output = Rational;

    fn neg(self) -> Rational {
        match &self.0 {
            Small { num, den } => Rational(Small { num: -num, den: *den }),
            Big(big) => Rational(Big(Box::new(-(**big).clone()))),
        }
    }
}

impl Neg for Rational {
    type Output = Rational;

    fn neg(self) -> Rational {
        -&self
    }
}

macro_rules! operators {
    ($trait:ident, $method:ident, $assign:ident, $assign_method:ident, $compute:ident) => {
        impl $trait<&Rational> for &Rational {
            type Output = Rational;
            fn $method(self, other: &Rational) -> Rational {
                self.$compute(other)
            }
        }

        impl $trait<Rational> for &Rational {
            type Output = Rational;
            fn $method(self, other: Rational) -> Rational {
                self.$compute(&other)
            }
        }

        impl $trait<&Rational> for Rational {
            type Output = Rational;
            fn $method(self, other: &Rational) -> Rational {
                self.$compute(other)
            }
        }

        impl $trait<Rational> for Rational {
            type Output = Rational;
            fn $method(self, other: Rational) -> Rational {
                self.$compute(&other)
            }
        }

        impl $assign<&Rational> for Rational {
            fn $assign_method(&mut self, other: &Rational) {
                *self = self.$compute(other);
            }
        }

        impl $assign<Rational> for Rational {
            fn $assign_method(&mut self, other: Rational) {
                *self = self.$compute(&other);
            }
        }
    };
}

operators!(Add, add, AddAssign, add_assign, sum);
operators!(Sub, sub, SubAssign, sub_assign, difference);
operators!(Mul, mul, MulAssign, mul_assign, product);

impl Sum for Rational {
    fn sum<I: Iterator<Item = Rational>>(terms: I) -> Rational {
        terms.fold(Rational::ZERO, |total, term| total + term)
    }
}

impl<'a> Sum<&'a Rational> for Rational {
    fn sum<I: Iterator<Item = &'a Rational>>(terms: I) -> Rational {
        terms.fold(Rational::ZERO, |total, term| total + term)
    }
}

impl Rational {
    fn half(&self) -> Rational {
        const TWO: NonZeroU64 = NonZeroU64::MIN.saturating_add(1);
        self * &Rational(Small { num: 1, den: TWO })
    }

    /// Two numbers between which the square root lies, with so many bits of it in common, about; one number twice if the root is that. Nothing for a negative number.
    ///
    /// ```
    /// use crease_number::Rational;
    /// let (low, high) = Rational::from(2).root_bounds(64).unwrap();
    /// assert!(&low * &low < Rational::from(2) && Rational::from(2) < &high * &high && high.to_f64() == 2.0_f64.sqrt());
    /// assert_eq!(Rational::from(9).root_bounds(64), Some((Rational::from(3), Rational::from(3))));
    /// assert_eq!(Rational::from(-1).root_bounds(64), None);
    /// ```
    pub fn root_bounds(&self, bits: u32) -> Option<(Rational, Rational)> {
        if self.is_negative() {
            return None;
        }
        if let Some(root) = self.root(2) {
            return Some((root.clone(), root));
        }
        // sqrt(n / d) = sqrt(n d) / d, and of an integer shifted by 2 k places the root is shifted by k
        let (n, d) = (self.numerator().into_parts().1, self.denominator());
        let product = n * &d;
        let shift = (bits as usize).saturating_sub(product.bit_len() / 2);
        let root = (product << (2 * shift)).sqrt_rem().0;
        let over = d << shift;
        let fraction = |n: UBig| Rational::from(RBig::from_parts(IBig::from(n), over.clone()));
        Some((fraction(root.clone()), fraction(root + UBig::ONE)))
    }

    /// The n-th root of a number that is not negative, if it is rational.
    fn root(&self, n: u32) -> Option<Rational> {
        let root = |x: &UBig| match n {
            0 => None,
            2 => Some(x.sqrt_rem()).filter(|(_, rest)| rest.is_zero()).map(|(root, _)| root),
            // 0 and 1 are their own roots, and no other number so short has one
            _ if x.bit_len() <= n as usize => (x.is_zero() || x.is_one()).then(|| x.clone()),
            _ => Some(x.nth_root(n as usize)).filter(|root| root.pow(n as usize) == *x),
        };
        let num = root(&self.numerator().into_parts().1)?;
        let den = root(&self.denominator())?;
        Some(Rational::from(RBig::from_parts(IBig::from(num), den)))
    }
}

impl Number for Rational {
    const NAME: &'static str = "exact rationals";
    const EXACT: bool = true;

    fn from_rational(r: &Rational) -> Result<Self, NumberError> {
        Ok(r.clone())
    }

    fn zero() -> Self {
        Rational::ZERO
    }

    fn one() -> Self {
        Rational::ONE
    }

    fn from_usize(n: usize) -> Self {
        Rational::from(n)
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
        self.checked_div(other).ok_or(NumberError::DivisionByZero)
    }

    fn smooth(&self, f: Smooth) -> Result<Self, NumberError> {
        if let Some(outside) = f.outside(|k| self.cmp(&Rational::from(k))) {
            return Err(outside);
        }
        let exact = match f {
            Smooth::Inv => self.inv(),
            Smooth::Exp | Smooth::Cos | Smooth::Cosh | Smooth::Erfc => self.is_zero().then_some(Rational::ONE),
            Smooth::Log | Smooth::Acos | Smooth::Acosh => self.is_one().then_some(Rational::ZERO),
            Smooth::Sqrt => self.root(2),
            Smooth::Sin | Smooth::Tan | Smooth::Asin | Smooth::Atan => self.is_zero().then_some(Rational::ZERO),
            Smooth::Sinh | Smooth::Tanh | Smooth::Asinh | Smooth::Atanh => self.is_zero().then_some(Rational::ZERO),
            Smooth::Erf | Smooth::Log1p | Smooth::Expm1 => self.is_zero().then_some(Rational::ZERO),
            Smooth::Sigmoid => self.is_zero().then(|| Rational::ONE.half()),
            Smooth::Softplus | Smooth::ErfSlope => None,
            Smooth::Root(p, q) => match u32::try_from(q).ok().and_then(|q| self.root(q)) {
                Some(root) => return root.pow(p).ok_or(NumberError::TooLarge),
                None => None,
            },
            Smooth::Power(k) => return self.pow(k).ok_or(NumberError::TooLarge),
        };
        exact.ok_or(NumberError::NotExact { operation: f.name() })
    }

    fn stair(&self, s: Stair) -> Result<Self, NumberError> {
        Ok(s.at(self))
    }

    fn compare(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    fn to_f64(&self) -> f64 {
        Rational::to_f64(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Rational {
        text.parse().unwrap()
    }

    /// Values around every boundary of the short form.
    fn part() -> impl Strategy<Value = i64> {
        prop_oneof![
            -20_i64..20,
            any::<i32>().prop_map(i64::from),
            any::<i64>(),
            Just(i64::MIN),
            Just(i64::MAX),
            Just(i64::MAX - 1),
            Just(-i64::MAX),
        ]
    }

    fn rational() -> impl Strategy<Value = Rational> {
        let short = (part(), part()).prop_filter_map("zero denominator", |(n, d)| Rational::new(n, d));
        let long = (any::<[i64; 3]>(), any::<[i64; 3]>()).prop_map(|(n, d)| {
            let product = |x: [i64; 3]| x.iter().fold(IBig::ONE, |acc, &x| acc * x);
            let den = product(d);
            let den = if den.is_zero() { IBig::ONE } else { den };
            Rational::from(RBig::from_parts_signed(product(n), den))
        });
        prop_oneof![3 => short, 1 => long]
    }

    /// The value in dashu, built without any code under test but the accessors.
    fn oracle(r: &Rational) -> RBig {
        RBig::from_parts(r.numerator(), r.denominator())
    }

    fn is_canonical(r: &Rational) -> bool {
        *r == Rational::from(oracle(r))
            && match &r.0 {
                Small { num, den } => *num != i64::MIN && den.get() <= i64::MAX as u64,
                Big(big) => big.numerator().bit_len() > 63 || big.denominator().bit_len() > 63,
            }
    }

    proptest! {
        #[test]
        fn arithmetic_agrees_with_dashu(a in rational(), b in rational(), c in rational()) {
            let (x, y) = (oracle(&a), oracle(&b));
            for (ours, theirs) in [
                (&a + &b, &x + &y),
                (&a - &b, &x - &y),
                (&a * &b, &x * &y),
                (-&a, -x.clone()),
                (a.floor(), RBig::from(x.floor())),
            ] {
                prop_assert!(is_canonical(&ours));
                prop_assert_eq!(oracle(&ours), theirs);
            }
            prop_assert_eq!(a.cmp(&b), x.cmp(&y));
            prop_assert_eq!(a == b, x == y);
            match a.checked_div(&b) {
                Some(quotient) => {
                    prop_assert!(is_canonical(&quotient));
                    prop_assert_eq!(oracle(&quotient), &x / &y);
                }
                None => prop_assert!(y.is_zero()),
            }
            let mut fused = c.clone();
            fused.add_mul(&a, &b);
            prop_assert_eq!(fused, &c + &a * &b);
            prop_assert_eq!([&a, &b, &c].into_iter().sum::<Rational>(), &(&a + &b) + &c);
        }

        #[test]
        fn powers_agree_with_dashu(a in rational(), n in -12_i32..12) {
            match a.pow(n) {
                Some(power) => {
                    prop_assert!(is_canonical(&power));
                    prop_assert_eq!(oracle(&power), oracle(&a).pow(n as isize));
                }
                None => prop_assert!(a.is_zero() && n < 0),
            }
            prop_assert_eq!((&a * &a).sqrt(), Ok(a.abs()));
        }

        #[test]
        fn literals_read_back(a in rational()) {
            prop_assert_eq!(parse(&a.to_string()), a.clone());
            prop_assert_eq!(parse(&a.fraction()), a);
        }

        #[test]
        fn decimals_read_back(m in any::<i64>(), digits in 0_u32..19, e in -400_i32..400) {
            let text = format!("{}e{e}", m % 10_i64.pow(digits));
            let value = parse(&text);
            prop_assert_eq!(&parse(&value.to_string()), &value);
            // Correct rounding, against the standard library's.
            prop_assert_eq!(value.to_f64(), text.parse::<f64>().unwrap());
            prop_assert_eq!(value.to_f32(), text.parse::<f32>().unwrap());
            let nearest = format!("~{text}").parse::<Rational>();
            prop_assert_eq!(nearest.ok(), Rational::from_f64(value.to_f64()));
        }

        #[test]
        fn floats_are_exact(bits in any::<u64>()) {
            let x = f64::from_bits(bits);
            match Rational::from_f64(x) {
                None => prop_assert!(!x.is_finite()),
                Some(r) => {
                    prop_assert!(is_canonical(&r));
                    prop_assert_eq!(oracle(&r), RBig::try_from(x).unwrap());
                    prop_assert_eq!(r.to_f64(), x);
                    prop_assert_eq!(parse(&r.to_string()), r);
                }
            }
        }

        #[test]
        fn fractions_round_to_nearest(a in rational()) {
            let nearest = a.to_f64();
            let error = |x: f64| (&Rational::from_f64(x).unwrap() - &a).abs();
            prop_assert!(error(nearest) <= error(nearest.next_up()));
            prop_assert!(error(nearest) <= error(nearest.next_down()));
        }

        #[test]
        fn no_text_panics(text in "[-+~0-9./eE_ x]{0,12}") {
            if let Ok(value) = text.parse::<Rational>() {
                prop_assert_eq!(parse(&value.to_string()), value);
            }
        }
    }

    #[test]
    fn two_words_suffice() {
        assert_eq!(size_of::<Rational>(), 16);
    }

    #[test]
    fn exact_functions() {
        let (zero, one) = (Rational::ZERO, Rational::ONE);
        assert_eq!(Number::exp(&zero), Ok(one.clone()));
        assert_eq!(Number::log(&one), Ok(zero.clone()));
        assert_eq!(Number::sigmoid(&zero), Ok(parse("1/2")));
        assert_eq!(Number::cos(&zero), Ok(one.clone()));
        assert_eq!(Number::sqrt(&parse("4/9")), Ok(parse("2/3")));
        let not_exact = |operation| Err(NumberError::NotExact { operation });
        assert_eq!(Number::sqrt(&parse("2")), not_exact("sqrt"));
        assert_eq!(Number::tanh(&one), not_exact("tanh"));
        assert_eq!(Number::log(&zero), Err(NumberError::LogOfNonPositive));
        assert_eq!(Number::sqrt(&-one), Err(NumberError::SqrtOfNegative));
    }

    #[test]
    fn powers_are_guarded() {
        let (zero, two) = (Rational::ZERO, Rational::from(2));
        assert_eq!(zero.powi(-1), Err(NumberError::DivisionByZero));
        assert_eq!(zero.powi(0), Ok(Rational::ONE));
        assert_eq!(zero.powi(i32::MAX), Ok(zero));
        assert_eq!(two.powi(i32::MAX), Err(NumberError::TooLarge));
        assert_eq!(two.powi(i32::MIN), Err(NumberError::TooLarge));
        assert_eq!(Rational::from(-1).powi(i32::MIN), Ok(Rational::ONE));
        assert_eq!(two.pow(-3), Some(parse("1/8")));
        assert_eq!(two.pow(100).unwrap().bits(), 102);
    }
}
