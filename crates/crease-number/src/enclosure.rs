//! Enclosures of real numbers, at any precision.
//!
//! What enters is enclosed, and every operation rounds its endpoints outward at the precision that the enclosure carries, so what leaves
//! encloses whatever exact arithmetic would have given. Endpoints are binary floats whose exponents are as large as machine integers,
//! so that exp(-1000000) is neither 0 nor lost. Elementary functions are those of `dashu-float`, which are correctly rounded in every
//! direction: nothing rests on the platform's mathematical library.
//!
//! An enclosure without endpoints is the whole line: an operation that leaves the range of exponents, or that would take too long,
//! ends there. It is still an enclosure, and decides nothing.

mod erf;
mod functions;

use crate::{NumberError, Rational, Smooth};
use dashu_float::round::ErrorBounds;
use dashu_float::round::mode::{Down, Up};
use dashu_float::{Context, FBig, Repr};
use dashu_int::IBig;
use std::cmp::Ordering;
use std::fmt;

pub(crate) type Float = Repr<2>;

/// Arguments of exponentials beyond 2 to this power leave the range of exponents.
const MAX_EXPONENTIAL: isize = 40;

/// Arguments of sines beyond 2 to this power are not reduced: that would take as many bits of pi.
const MAX_ANGLE: isize = 1 << 16;

/// Floats beyond 2 to this power, or below its reciprocal, are not turned into fractions.
const MAX_EXACT: usize = 1 << 20;

/// A closed interval of real numbers, or the whole line.
///
/// ```
/// use crease_number::{Enclosure, Rational};
/// let x = Enclosure::of(&Rational::from(-2), 100);
/// let tiny = x.exp().mul(&x.exp()); // exp(-4), to a hundred bits
/// assert!(tiny.radius().unwrap() < Rational::from(2).pow(-100).unwrap());
/// assert!((tiny.to_f64() - (-4.0_f64).exp()).abs() < 1e-15);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Enclosure {
    ends: Option<(Float, Float)>,
    bits: u32,
}

/// An operation on two floats, rounded in one direction. The floats are finite.
fn rounded<R: ErrorBounds>(
    bits: u32,
    op: impl FnOnce(Context<R>) -> dashu_float::FpResult<FBig<R, 2>>,
) -> Option<Float> {
    let result = op(Context::new(bits as usize)).ok()?.value().into_repr();
    // dashu has a negative zero, which orders below zero
    let result = if result.is_neg_zero() { Float::zero() } else { result };
    result.is_finite().then_some(result)
}

/// The same operation rounded down and up.
macro_rules! outward {
    ($bits:expr, $context:ident => $below:expr, $above:expr) => {
        (rounded::<Down>($bits, |$context| $below), rounded::<Up>($bits, |$context| $above))
    };
}

use outward;

fn is_zero(x: &Float) -> bool {
    x.significand().is_zero()
}

fn sign(x: &Float) -> Ordering {
    x.cmp(&Float::zero())
}

fn negated(x: &Float) -> Float {
    if is_zero(x) { Float::zero() } else { Float::new(-x.significand(), x.exponent()) }
}

/// The position of the leading bit of a number that is not zero.
fn magnitude(x: &Float) -> isize {
    x.exponent().saturating_add(x.digits() as isize)
}

/// A number that is not above a value, and one that is not below it; nothing where they cannot be written down.
type Bounds = (Option<Float>, Option<Float>);

/// Whether the square of a number is far less than the last bit of 1, so that a few terms of a series are enough.
fn tiny(x: &Float, bits: u32) -> bool {
    !is_zero(x) && magnitude(x) < -(bits as isize)
}

/// Bounds on a value that is the given one or, relative to it, less than the last bit nearer to zero.
fn just_below(x: &Float, bits: u32) -> Bounds {
    let last = Float::new(IBig::ONE, -(bits as isize));
    let part = rounded::<Down>(bits + 1, |c| c.sub(&Float::one(), &last));
    let nearer = |part: Float| outward!(bits, c => c.mul(x, &part), c.mul(x, &part));
    match (part.map(nearer), sign(x)) {
        (None, _) => (None, None),
        (Some((_, above)), Ordering::Less) => (Some(x.clone()), above),
        (Some((below, _)), _) => (below, Some(x.clone())),
    }
}

/// Bounds on a value that is the given one or, relative to it, less than the last bit farther from zero.
fn just_above(x: &Float, bits: u32) -> Bounds {
    let last = Float::new(IBig::ONE, -(bits as isize));
    let part = rounded::<Up>(bits + 1, |c| c.add(&Float::one(), &last));
    let farther = |part: Float| outward!(bits, c => c.mul(x, &part), c.mul(x, &part));
    match (part.map(farther), sign(x)) {
        (None, _) => (None, None),
        (Some((below, _)), Ordering::Less) => (below, Some(x.clone())),
        (Some((_, above)), _) => (Some(x.clone()), above),
    }
}

fn exp_bounds(x: &Float, bits: u32) -> Bounds {
    let (one, last) = (Float::one(), Float::new(IBig::ONE, 1 - bits as isize));
    if tiny(x, bits) {
        return match sign(x) {
            Ordering::Less => (rounded::<Down>(bits, |c| c.sub(&one, &last)), Some(one)),
            _ => (Some(one.clone()), rounded::<Up>(bits, |c| c.add(&one, &last))),
        };
    }
    if !is_zero(x) && magnitude(x) > MAX_EXPONENTIAL {
        return match sign(x) {
            Ordering::Less => (Some(Float::zero()), Some(Float::new(IBig::ONE, -(1 << MAX_EXPONENTIAL)))),
            _ => (None, None),
        };
    }
    outward!(bits, c => c.exp(x, None), c.exp(x, None))
}

/// max(x, 0) + log(1 + exp(-|x|)), of which the exponential is at most 1.
fn softplus_bounds(x: &Float, bits: u32) -> Bounds {
    let right = sign(x).is_gt();
    let (Some(low), Some(high)) = exp_bounds(&if right { negated(x) } else { x.clone() }, bits) else {
        return (None, None);
    };
    let log = |x: &Float| match tiny(x, bits) {
        true => just_below(x, bits),
        false => outward!(bits, c => c.ln_1p(x, None), c.ln_1p(x, None)),
    };
    match (log(&low).0, log(&high).1) {
        (Some(low), Some(high)) if right => outward!(bits, c => c.add(x, &low), c.add(x, &high)),
        tail => tail,
    }
}

fn tanh_bounds(x: &Float, bits: u32) -> Bounds {
    if tiny(x, bits) {
        return just_below(x, bits);
    }
    // 1 - tanh x < 2 exp(-2x)
    if !is_zero(x) && magnitude(x) > isize::try_from(bits.ilog2()).unwrap_or(0) + 2 {
        let end = if sign(x).is_lt() { Float::neg_one() } else { Float::one() };
        return just_below(&end, bits);
    }
    outward!(bits, c => c.tanh(x, None), c.tanh(x, None))
}

impl Enclosure {
    /// The tightest enclosure of an exact number at a precision.
    pub fn of(r: &Rational, bits: u32) -> Enclosure {
        let bits = bits.max(2);
        let (n, d) = (Float::new(r.numerator(), 0), Float::new(IBig::from(r.denominator()), 0));
        Enclosure::joined(outward!(bits, c => c.div(&n, &d), c.div(&n, &d)), bits)
    }

    /// The whole line.
    pub fn whole(bits: u32) -> Enclosure {
        Enclosure { ends: None, bits }
    }

    fn joined(ends: (Option<Float>, Option<Float>), bits: u32) -> Enclosure {
        Enclosure { ends: ends.0.zip(ends.1), bits }
    }

    fn between(low: Float, high: Float, bits: u32) -> Enclosure {
        Enclosure { ends: Some((low, high)), bits }
    }

    /// The precision: how many bits the endpoints of results have.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Whether there are bounds at all.
    pub fn is_bounded(&self) -> bool {
        self.ends.is_some()
    }

    /// The endpoints, exactly; nothing for the whole line.
    ///
    /// ```
    /// use crease_number::{Enclosure, Rational};
    /// let third = Enclosure::of(&Rational::new(1, 3).unwrap(), 4);
    /// assert_eq!(third.ends().unwrap(), (Rational::new(5, 16).unwrap(), Rational::new(11, 32).unwrap()));
    /// ```
    pub fn ends(&self) -> Option<(Rational, Rational)> {
        let (a, b) = self.ends.as_ref()?;
        Some((exact(a)?, exact(b)?))
    }

    /// Which of two enclosures begins first. The whole line begins before all others.
    pub fn compare_beginnings(&self, other: &Enclosure) -> Ordering {
        self.ends.as_ref().map(|(low, _)| low).cmp(&other.ends.as_ref().map(|(low, _)| low))
    }

    /// A number in the middle, exactly; nothing for the whole line.
    pub fn middle(&self) -> Option<Rational> {
        let (a, b) = self.ends()?;
        (a + b).checked_div(&Rational::from(2))
    }

    /// Half the distance of the endpoints, exactly; nothing for the whole line.
    pub fn radius(&self) -> Option<Rational> {
        let (a, b) = self.ends()?;
        (b - a).checked_div(&Rational::from(2))
    }

    /// The number, if there is only one in it.
    pub fn point(&self) -> Option<Rational> {
        let (a, b) = self.ends.as_ref()?;
        if a == b { exact(a) } else { None }
    }

    /// Whether `r` is a member, decided exactly.
    pub fn contains(&self, r: &Rational) -> bool {
        self.ends().is_none_or(|(a, b)| a <= *r && *r <= b)
    }

    /// The float nearest to the middle; NaN for the whole line, of which nothing is known.
    pub fn to_f64(&self) -> f64 {
        self.middle().map_or(f64::NAN, |m| m.to_f64())
    }

    /// Two floats around it: the largest that is not above, the smallest that is not below.
    pub fn outer(&self) -> (f64, f64) {
        let Some((a, b)) = self.ends.as_ref() else { return (f64::NEG_INFINITY, f64::INFINITY) };
        let (low, high) = (a.to_f64().value(), b.to_f64().value());
        let below = |x: f64, of: &Float| Rational::from_f64(x).is_some_and(|x| exact(of).is_some_and(|e| x <= e));
        let above = |x: f64, of: &Float| Rational::from_f64(x).is_some_and(|x| exact(of).is_some_and(|e| x >= e));
        (if below(low, a) { low } else { low.next_down() }, if above(high, b) { high } else { high.next_up() })
    }

    fn holds_zero(&self) -> bool {
        self.ends.as_ref().is_none_or(|(a, b)| sign(a).is_le() && sign(b).is_ge())
    }

    /// How the numbers compare, if all of one compare like that with all of the other.
    pub fn compare(&self, other: &Enclosure) -> Option<Ordering> {
        let ((a, b), (c, d)) = (self.ends.as_ref()?, other.ends.as_ref()?);
        if b < c {
            Some(Ordering::Less)
        } else if a > d {
            Some(Ordering::Greater)
        } else if a == b && c == d {
            Some(Ordering::Equal)
        } else {
            None
        }
    }

    fn with(&self, other: &Enclosure, op: impl FnOnce(&(Float, Float), &(Float, Float), u32) -> Enclosure) -> Self {
        let bits = self.bits.max(other.bits);
        match (&self.ends, &other.ends) {
            (Some(a), Some(b)) => op(a, b, bits),
            _ => Enclosure::whole(bits),
        }
    }

    /// The sum.
    pub fn add(&self, other: &Enclosure) -> Enclosure {
        self.with(other, |a, b, bits| {
            Enclosure::joined(outward!(bits, c => c.add(&a.0, &b.0), c.add(&a.1, &b.1)), bits)
        })
    }

    /// The difference.
    pub fn sub(&self, other: &Enclosure) -> Enclosure {
        self.add(&other.neg())
    }

    /// The negative.
    pub fn neg(&self) -> Enclosure {
        Enclosure { ends: self.ends.as_ref().map(|(a, b)| (negated(b), negated(a))), bits: self.bits }
    }

    /// The product.
    pub fn mul(&self, other: &Enclosure) -> Enclosure {
        self.with(other, |a, b, bits| {
            let pairs = [(&a.0, &b.0), (&a.0, &b.1), (&a.1, &b.0), (&a.1, &b.1)];
            let low = pairs.iter().map(|(x, y)| rounded::<Down>(bits, |c| c.mul(x, y))).collect::<Option<Vec<_>>>();
            let high = pairs.iter().map(|(x, y)| rounded::<Up>(bits, |c| c.mul(x, y))).collect::<Option<Vec<_>>>();
            let low = low.and_then(|l| l.into_iter().min());
            let high = high.and_then(|h| h.into_iter().max());
            Enclosure::joined((low, high), bits)
        })
    }

    /// The quotient.
    ///
    /// # Errors
    ///
    /// [`NumberError::DivisionByZero`] if the divisor is zero, [`NumberError::Undecided`] if it may be.
    pub fn div(&self, other: &Enclosure) -> Result<Enclosure, NumberError> {
        other.inv().map(|i| self.mul(&i))
    }

    /// The reciprocal.
    ///
    /// # Errors
    ///
    /// As for [`div`](Enclosure::div).
    pub fn inv(&self) -> Result<Enclosure, NumberError> {
        match &self.ends {
            Some((a, b)) if is_zero(a) && is_zero(b) => Err(NumberError::DivisionByZero),
            Some((a, b)) if !self.holds_zero() => {
                Ok(Enclosure::joined(outward!(self.bits, c => c.inv(b), c.inv(a)), self.bits))
            }
            _ => Err(NumberError::Undecided),
        }
    }

    /// An increasing function, given bounds on its values.
    fn increasing(&self, bounds: impl Fn(&Float, u32) -> Bounds) -> Enclosure {
        let Some((a, b)) = &self.ends else { return self.clone() };
        let at_low = bounds(a, self.bits);
        let high = if a == b { at_low.1 } else { bounds(b, self.bits).1 };
        Enclosure::joined((at_low.0, high), self.bits)
    }

    /// A decreasing function, given bounds on its values.
    fn decreasing(&self, bounds: impl Fn(&Float, u32) -> Bounds) -> Enclosure {
        let Some((a, b)) = &self.ends else { return self.clone() };
        let at_low = bounds(a, self.bits);
        let low = if a == b { at_low.0 } else { bounds(b, self.bits).0 };
        Enclosure::joined((low, at_low.1), self.bits)
    }

    /// A smooth function of the table.
    ///
    /// # Errors
    ///
    /// Outside of its domain, and [`NumberError::Undecided`] if only some members are inside.
    pub fn smooth(&self, f: Smooth) -> Result<Enclosure, NumberError> {
        match f {
            Smooth::Inv => self.inv(),
            Smooth::Exp => Ok(self.exp()),
            Smooth::Log => self.log(),
            Smooth::Sqrt => self.sqrt(),
            Smooth::Sin => Ok(self.sin()),
            Smooth::Cos => Ok(self.cos()),
            Smooth::Tanh => Ok(self.tanh()),
            Smooth::Sigmoid => Ok(self.sigmoid()),
            Smooth::Softplus => Ok(self.softplus()),
            Smooth::Tan => self.tan(),
            Smooth::Asin => self.inside(f).map(|e| e.increasing(functions::asin)),
            Smooth::Acos => self.inside(f).map(|e| e.decreasing(functions::acos)),
            Smooth::Atan => Ok(self.increasing_between(-2, 2, functions::atan)),
            Smooth::Sinh => Ok(self.increasing(functions::sinh)),
            Smooth::Cosh => Ok(self.even(true, functions::cosh)),
            Smooth::Asinh => Ok(self.increasing(functions::asinh)),
            Smooth::Acosh => self.inside(f).map(|e| e.increasing(functions::acosh)),
            Smooth::Atanh => self.inside(f).map(|e| e.increasing(functions::atanh)),
            Smooth::Erf => Ok(self.increasing_between(-1, 1, erf::erf)),
            Smooth::Erfc => Ok(self.decreasing(erf::erfc)),
            Smooth::ErfSlope => Ok(self.even(false, erf::slope)),
            Smooth::Log1p => self.inside(f).map(|e| e.increasing(functions::log1p)),
            Smooth::Expm1 => Ok(self.increasing(functions::expm1)),
            Smooth::Power(k) => self.powi(k),
            Smooth::Root(p, q) if p < 0 => {
                self.inside(f).map(|e| e.decreasing(|x, bits| functions::root(x, p, q, bits)))
            }
            Smooth::Root(p, q) => self.inside(f).map(|e| e.increasing(|x, bits| functions::root(x, p, q, bits))),
        }
    }

    /// The exponential.
    pub fn exp(&self) -> Enclosure {
        self.increasing(exp_bounds)
    }

    /// The natural logarithm.
    ///
    /// # Errors
    ///
    /// [`NumberError::LogOfNonPositive`], or [`NumberError::Undecided`] if only some members are positive.
    pub fn log(&self) -> Result<Enclosure, NumberError> {
        let (a, b) = self.ends.as_ref().ok_or(NumberError::Undecided)?;
        if sign(b).is_le() {
            Err(NumberError::LogOfNonPositive)
        } else if sign(a).is_le() {
            Err(NumberError::Undecided)
        } else {
            Ok(self.increasing(|x, bits| outward!(bits, c => c.ln(x, None), c.ln(x, None))))
        }
    }

    /// The square root.
    ///
    /// # Errors
    ///
    /// [`NumberError::SqrtOfNegative`], or [`NumberError::Undecided`] if only some members are negative.
    pub fn sqrt(&self) -> Result<Enclosure, NumberError> {
        let (a, b) = self.ends.as_ref().ok_or(NumberError::Undecided)?;
        if sign(b).is_lt() {
            Err(NumberError::SqrtOfNegative)
        } else if sign(a).is_lt() {
            Err(NumberError::Undecided)
        } else {
            Ok(self.increasing(|x, bits| outward!(bits, c => c.sqrt(x), c.sqrt(x))))
        }
    }

    /// The sine.
    pub fn sin(&self) -> Enclosure {
        self.wave(|x, bits| match tiny(x, bits) {
            true => just_below(x, bits),
            false => outward!(bits, c => c.sin(x, None), c.sin(x, None)),
        })
    }

    /// The cosine.
    pub fn cos(&self) -> Enclosure {
        self.wave(|x, bits| match tiny(x, bits) {
            true => just_below(&Float::one(), bits),
            false => outward!(bits, c => c.cos(x, None), c.cos(x, None)),
        })
    }

    /// What a function with values and slopes in [-1, 1] does: its value at one end, and as far from it as the other end is.
    fn wave(&self, bounds: impl Fn(&Float, u32) -> Bounds) -> Enclosure {
        let all = Enclosure::between(Float::neg_one(), Float::one(), self.bits);
        let Some((a, b)) = &self.ends else { return all };
        if !is_zero(a) && magnitude(a) > MAX_ANGLE {
            return all;
        }
        let at = Enclosure::joined(bounds(a, self.bits), self.bits);
        let width = rounded::<Up>(self.bits, |c| c.sub(b, a)).map(|w| (negated(&w), w));
        match at.add(&Enclosure { ends: width, bits: self.bits }).ends {
            Some((low, high)) => Enclosure::between(low.max(Float::neg_one()), high.min(Float::one()), self.bits),
            None => all,
        }
    }

    /// The logistic function 1 / (1 + exp(-x)).
    pub fn sigmoid(&self) -> Enclosure {
        let one = Enclosure::between(Float::one(), Float::one(), self.bits);
        // the argument occurs once, so this is as tight as its parts
        match self.neg().exp().add(&one).inv() {
            Ok(y) => y,
            // the exponential is too large to be written down
            Err(_) => Enclosure::between(Float::zero(), Float::one(), self.bits),
        }
    }

    /// `log(1 + exp(x))`.
    pub fn softplus(&self) -> Enclosure {
        self.increasing(softplus_bounds)
    }

    /// The hyperbolic tangent.
    pub fn tanh(&self) -> Enclosure {
        match self.ends {
            Some(_) => self.increasing(tanh_bounds),
            None => Enclosure::between(Float::neg_one(), Float::one(), self.bits),
        }
    }

    /// An integer power; every number to the power zero is one.
    ///
    /// # Errors
    ///
    /// As [`inv`](Enclosure::inv) if the exponent is negative.
    pub fn powi(&self, exponent: i32) -> Result<Enclosure, NumberError> {
        if exponent == 0 {
            return Ok(Enclosure::between(Float::one(), Float::one(), self.bits));
        }
        if exponent < 0 {
            // the power first would lose what the reciprocal keeps at zero
            let base = self.inv()?;
            return match exponent.checked_neg() {
                Some(n) => base.powi(n),
                None => base.powi(i32::MAX).map(|p| p.mul(&base)),
            };
        }
        let Some((a, b)) = &self.ends else { return Ok(self.clone()) };
        let n = IBig::from(exponent);
        let below = |x: &Float| rounded::<Down>(self.bits, |c| c.powi(x, n.clone()));
        let above = |x: &Float| rounded::<Up>(self.bits, |c| c.powi(x, n.clone()));
        let ends = if exponent % 2 == 1 || sign(a).is_ge() {
            (below(a), above(b))
        } else if sign(b).is_le() {
            (below(b), above(a))
        } else {
            let larger = if negated(a) > *b { negated(a) } else { b.clone() };
            (Some(Float::zero()), above(&larger))
        };
        Ok(Enclosure::joined(ends, self.bits))
    }

    /// The larger of two.
    pub fn max(&self, other: &Enclosure) -> Enclosure {
        self.with(other, |a, b, bits| {
            Enclosure::between(Ord::max(&a.0, &b.0).clone(), Ord::max(&a.1, &b.1).clone(), bits)
        })
    }

    /// The smallest enclosure of both.
    pub fn hull(&self, other: &Enclosure) -> Enclosure {
        self.with(other, |a, b, bits| {
            Enclosure::between(Ord::min(&a.0, &b.0).clone(), Ord::max(&a.1, &b.1).clone(), bits)
        })
    }
}

/// A float as an exact number; nothing if it would be too long to write down.
fn exact(x: &Float) -> Option<Rational> {
    if !is_zero(x) && magnitude(x).unsigned_abs() > MAX_EXACT {
        return None;
    }
    let significand = Rational::from(dashu_ratio::RBig::from(x.significand().clone()));
    let power = Rational::from(2).pow(i32::try_from(x.exponent()).ok()?)?;
    Some(significand * power)
}

/// A float without many zeros.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.abs() {
            0.0 => f.write_str("0"),
            size if (1e-5..1e16).contains(&size) || size.is_infinite() => write!(f, "{}", self.0),
            _ => write!(f, "{:e}", self.0),
        }
    }
}

impl fmt::Display for Enclosure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.outer() {
            (low, high) if low == high => write!(f, "{}", Short(low)),
            (low, high) => write!(f, "[{}, {}]", Short(low), Short(high)),
        }
    }
}
