//! Trigonometric and hyperbolic functions, their inverses, and powers that are no integers, with certain bounds.
//!
//! `dashu-float` rounds them correctly in every direction, but takes long for arguments next to 0, where a few terms of a series are
//! enough, and has no bounds on exponents.

use super::{
    Bounds, Enclosure, Float, MAX_ANGLE, MAX_EXPONENTIAL, exact, exp_bounds, is_zero, just_above, just_below,
    magnitude, negated, outward, rounded, sign, tiny,
};
use crate::{NumberError, Rational, Smooth};
use dashu_float::round::mode::{Down, Up};
use dashu_int::IBig;
use std::cmp::Ordering;

/// Roots up to this one are taken as such, others by logarithms.
const MAX_ROOT: i32 = 32;

/// A function of the library that is next to its argument near 0, on the side that is named.
macro_rules! near_zero {
    ($($name:ident => $method:ident, $next:ident;)*) => {$(
        pub(super) fn $name(x: &Float, bits: u32) -> Bounds {
            match tiny(x, bits) {
                true => $next(x, bits),
                false => outward!(bits, c => c.$method(x, None), c.$method(x, None)),
            }
        }
    )*};
}

near_zero! {
    asin => asin, just_above;
    small_atan => atan, just_below;
    small_asinh => asinh, just_below;
    atanh => atanh, just_above;
    tangent => tan, just_above;
    small_sinh => sinh, just_above;
}

/// x + x^2/2 and x - x^2/2 are farther from 0 on one side and nearer on the other.
fn beside(x: &Float, bits: u32, farther: Ordering) -> Bounds {
    if sign(x) == farther { just_above(x, bits) } else { just_below(x, bits) }
}

pub(super) fn expm1(x: &Float, bits: u32) -> Bounds {
    if tiny(x, bits) {
        beside(x, bits, Ordering::Greater)
    } else if is_zero(x) || magnitude(x) <= MAX_EXPONENTIAL {
        outward!(bits, c => c.exp_m1(x, None), c.exp_m1(x, None))
    } else if sign(x).is_lt() {
        just_below(&Float::neg_one(), bits)
    } else {
        (None, None)
    }
}

/// Whether the reciprocal of a number is far less than the last bit of 1.
fn huge(x: &Float, bits: u32) -> bool {
    !is_zero(x) && magnitude(x) > bits as isize + 1
}

fn twice(x: &Float) -> Float {
    if is_zero(x) { Float::zero() } else { Float::new(x.significand().clone(), x.exponent() + 1) }
}

/// The least that a value can be, and the most.
fn around(low: Bounds, high: Bounds) -> Bounds {
    (low.0, high.1)
}

/// The logarithm of a huge number, or what is next to it: more, or less, by less than the last bit.
fn next_to_log(x: &Float, bits: u32, next: impl Fn(&Float, u32) -> Bounds) -> Bounds {
    let (Some(low), Some(high)) = outward!(bits, c => c.ln(x, None), c.ln(x, None)) else { return (None, None) };
    around(next(&low, bits), next(&high, bits))
}

pub(super) fn log1p(x: &Float, bits: u32) -> Bounds {
    if tiny(x, bits) {
        beside(x, bits, Ordering::Less)
    } else if huge(x, bits) {
        next_to_log(x, bits, just_above)
    } else {
        outward!(bits, c => c.ln_1p(x, None), c.ln_1p(x, None))
    }
}

pub(super) fn asinh(x: &Float, bits: u32) -> Bounds {
    match (huge(x, bits), sign(x)) {
        (false, _) => small_asinh(x, bits),
        (true, Ordering::Less) => {
            let (low, high) = asinh(&negated(x), bits);
            (high.map(|x| negated(&x)), low.map(|x| negated(&x)))
        }
        (true, _) => next_to_log(&twice(x), bits, just_above),
    }
}

pub(super) fn atan(x: &Float, bits: u32) -> Bounds {
    if !huge(x, bits) {
        return small_atan(x, bits);
    }
    let Some((low, high)) = pi(bits).ends else { return (None, None) };
    let half = |x: &Float| Float::new(x.significand().clone(), x.exponent() - 1);
    match sign(x) {
        Ordering::Less => around(just_below(&negated(&half(&high)), bits), just_below(&negated(&half(&low)), bits)),
        Ordering::Equal | Ordering::Greater => around(just_below(&half(&low), bits), just_below(&half(&high), bits)),
    }
}

pub(super) fn sinh(x: &Float, bits: u32) -> Bounds {
    if !is_zero(x) && magnitude(x) > MAX_EXPONENTIAL { (None, None) } else { small_sinh(x, bits) }
}

pub(super) fn cosh(x: &Float, bits: u32) -> Bounds {
    if tiny(x, bits) {
        just_above(&Float::one(), bits)
    } else if !is_zero(x) && magnitude(x) > MAX_EXPONENTIAL {
        (None, None)
    } else {
        outward!(bits, c => c.cosh(x, None), c.cosh(x, None))
    }
}

pub(super) fn acos(x: &Float, bits: u32) -> Bounds {
    if !tiny(x, bits) {
        return outward!(bits, c => c.acos(x, None), c.acos(x, None));
    }
    // a quarter of a turn, but for the argument
    let (below, above) = outward!(bits, c => c.acos(&Float::zero(), None), c.acos(&Float::zero(), None));
    let (Some(below), Some(above)) = (below, above) else { return (None, None) };
    around(just_below(&below, bits), just_above(&above, bits))
}

pub(super) fn acosh(x: &Float, bits: u32) -> Bounds {
    match huge(x, bits) {
        true => next_to_log(&twice(x), bits, just_below),
        false => outward!(bits, c => c.acosh(x, None), c.acosh(x, None)),
    }
}

/// x ^ (p / q) for x that is not negative.
pub(super) fn root(x: &Float, p: i32, q: i32, bits: u32) -> Bounds {
    if is_zero(x) {
        return (Some(Float::zero()), Some(Float::zero()));
    }
    // as many bits more as exponents and logarithms have, and a few
    let work = bits.saturating_add(80);
    let power = if (2..=MAX_ROOT).contains(&q) {
        let root = outward!(work, c => c.nth_root(q as usize, x), c.nth_root(q as usize, x));
        Enclosure::joined(root, work).powi(p).ok()
    } else {
        let log = Enclosure::joined(outward!(work, c => c.ln(x, None), c.ln(x, None)), work);
        let exponent = Rational::new(i64::from(p), i64::from(q));
        exponent.map(|exponent| Enclosure::of(&exponent, work).mul(&log).increasing(exp_bounds))
    };
    power.map_or((None, None), |power| power.rounded_to(bits))
}

/// Bounds on pi.
pub(super) fn pi(bits: u32) -> Enclosure {
    let work = bits as usize + 16;
    let near = dashu_float::Context::<Down>::new(work).pi::<2>(None).value().into_repr();
    // far more than its own rounding
    let margin = Float::new(IBig::ONE, 8 - work as isize);
    Enclosure::joined(outward!(bits, c => c.sub(&near, &margin), c.add(&near, &margin)), bits)
}

/// Between which poles of the tangent a number lies: the integer next to x / pi, if that is certain.
fn branch(x: &Float, bits: u32) -> Option<Rational> {
    let whole = if is_zero(x) { 0 } else { magnitude(x).max(0) };
    if whole > MAX_ANGLE {
        return None;
    }
    let work = bits.saturating_add(u32::try_from(whole).ok()?).saturating_add(8);
    let turns = Enclosure::between(x.clone(), x.clone(), work).div(&pi(work)).ok()?;
    let half = Rational::new(1, 2)?;
    let (low, high) = turns.ends.as_ref()?;
    let [low, high] = [low, high].map(|end| exact(end).map(|end| (end + &half).floor()));
    low.filter(|low| high.as_ref() == Some(low))
}

impl Enclosure {
    /// The same, if all members are in the domain of a function.
    pub(super) fn inside(&self, f: Smooth) -> Result<&Enclosure, NumberError> {
        let (a, b) = self.ends.as_ref().ok_or(NumberError::Undecided)?;
        let at = |k: i32| Float::new(IBig::from(k), 0);
        match f.outside_between(|k| a.cmp(&at(k)), |k| b.cmp(&at(k))) {
            Some(why) => Err(why),
            None => Ok(self),
        }
    }

    /// The tangent; a pole inside, or an end too near to one, is [`NumberError::Undecided`].
    pub(super) fn tan(&self) -> Result<Enclosure, NumberError> {
        let (a, b) = self.ends.as_ref().ok_or(NumberError::Undecided)?;
        match (branch(a, self.bits), branch(b, self.bits)) {
            (Some(left), Some(right)) if left == right => Ok(self.increasing(tangent)),
            _ => Err(NumberError::Undecided),
        }
    }

    /// An increasing function with values between two integers, given bounds on its values.
    pub(super) fn increasing_between(&self, low: i32, high: i32, bounds: impl Fn(&Float, u32) -> Bounds) -> Enclosure {
        match self.ends {
            Some(_) => self.increasing(bounds),
            None => Enclosure::between(Float::new(IBig::from(low), 0), Float::new(IBig::from(high), 0), self.bits),
        }
    }

    /// An even function that increases on the right, or decreases there, given bounds on its values on the right.
    pub(super) fn even(&self, increases: bool, bounds: impl Fn(&Float, u32) -> Bounds) -> Enclosure {
        let Some((a, b)) = &self.ends else { return self.clone() };
        let [near, far] = match (sign(a), sign(b)) {
            (Ordering::Greater | Ordering::Equal, _) => [a.clone(), b.clone()],
            (_, Ordering::Less | Ordering::Equal) => [negated(b), negated(a)],
            (Ordering::Less, Ordering::Greater) => [Float::zero(), negated(a).max(b.clone())],
        };
        let right = Enclosure::between(near, far, self.bits);
        if increases { right.increasing(bounds) } else { right.decreasing(bounds) }
    }

    /// Bounds with so many bits.
    pub(super) fn rounded_to(&self, bits: u32) -> Bounds {
        let (one, Some((a, b))) = (Float::one(), &self.ends) else { return (None, None) };
        (rounded::<Down>(bits, |c| c.mul(a, &one)), rounded::<Up>(bits, |c| c.mul(b, &one)))
    }
}
