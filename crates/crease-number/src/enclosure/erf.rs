//! The error function, what it lacks to 1, and its slope, with certain bounds.
//!
//! erf(x) = 2 x / sqrt(pi) * exp(-x^2) * (1 + 2x^2/3 + (2x^2)^2/(3*5) + ...), a sum of positive terms: what is left out is less than the
//! last term once terms halve. Where 1 - erf(x) would cancel too much, the asymptotic series of erfc is good enough: it alternates, and the
//! value lies between any two partial sums that follow each other.

use super::functions::pi;
use super::{Bounds, Enclosure, Float, is_zero, just_below, magnitude, negated, rounded, sign};
use dashu_float::round::ErrorBounds;
use dashu_float::round::mode::{Down, Up};
use dashu_int::IBig;

/// Squares beyond this many times the bits: exp(-x^2), hence erfc(x), is less than the last bit of 1.
const FAR: f64 = 0.7;

fn integer(n: u64) -> Float {
    Float::new(IBig::from(n), 0)
}

fn point(x: &Float, bits: u32) -> Enclosure {
    Enclosure::between(x.clone(), x.clone(), bits)
}

/// The square of a number as a double, which only decides how to compute.
fn rough_square(x: &Float) -> f64 {
    let x = x.to_f64().value();
    x * x
}

/// x^2 and exp(-x^2), with so many bits of the exponential.
fn falling(x: &Float, bits: u32) -> (Enclosure, Enclosure) {
    let whole = if is_zero(x) { 0 } else { magnitude(x).clamp(0, 64) as u32 };
    let x = point(x, bits + 2 * whole + 8);
    let square = x.mul(&x);
    let power = square.neg().exp();
    (square, power)
}

/// The last partial sum of 1 + 2s/3 + (2s)^2/(3*5) + ..., and its last term, which is more than the rest of the series.
fn series<R: ErrorBounds>(square: &Float, bits: u32) -> Option<(Float, Float)> {
    let twice = Float::new(square.significand().clone(), square.exponent() + 1);
    let (mut sum, mut term) = (Float::one(), Float::one());
    let mut odd = 1_u64;
    loop {
        odd += 2;
        let product = rounded::<R>(bits, |c| c.mul(&term, &twice))?;
        term = rounded::<R>(bits, |c| c.div(&product, &integer(odd)))?;
        sum = rounded::<R>(bits, |c| c.add(&sum, &term))?;
        // the next factor is less than twice / odd
        let halves = integer(odd) > Float::new(twice.significand().clone(), twice.exponent() + 1);
        if is_zero(&term) || halves && magnitude(&term) < magnitude(&sum) - bits as isize {
            return Some((sum, term));
        }
    }
}

/// Bounds on erf; nothing is lost near 0.
pub(super) fn erf(x: &Float, bits: u32) -> Bounds {
    if is_zero(x) {
        return (Some(Float::zero()), Some(Float::zero()));
    }
    if sign(x).is_lt() {
        let (low, high) = erf(&negated(x), bits);
        return (high.map(|x| negated(&x)), low.map(|x| negated(&x)));
    }
    if rough_square(x) > FAR * f64::from(bits) + 2.0 {
        return just_below(&Float::one(), bits);
    }
    let work = bits.saturating_add(32);
    let (square, power) = falling(x, work);
    let Some((low, high)) = &square.ends else { return (None, None) };
    let sums = series::<Down>(low, work).zip(series::<Up>(high, work));
    let Some(((below, _), (above, last))) = sums else { return (None, None) };
    let above = rounded::<Up>(work, |c| c.add(&above, &last));
    let sum = Enclosure::joined((Some(below), above), work);
    factor(work).mul(&point(x, work)).mul(&power).mul(&sum).rounded_to(bits)
}

/// Bounds on 1 - erf; nothing is lost far from 0.
pub(super) fn erfc(x: &Float, bits: u32) -> Bounds {
    let one = |bits| point(&Float::one(), bits);
    if sign(x).is_le() {
        let rest = Enclosure::joined(erf(&negated(x), bits), bits);
        return rest.add(&one(bits)).rounded_to(bits);
    }
    let square = rough_square(x);
    if square > FAR * f64::from(bits + 16) + 4.0 {
        return far(x, bits);
    }
    // as many bits as the difference cancels
    let work = bits.saturating_add((1.45 * square) as u32 + 32);
    one(work).sub(&Enclosure::joined(erf(x, work), work)).rounded_to(bits)
}

/// exp(-x^2) / (x sqrt(pi)) * (1 - 1/(2x^2) + 3/(2x^2)^2 - 3*5/(2x^2)^3 + ...).
fn far(x: &Float, bits: u32) -> Bounds {
    let work = bits.saturating_add(16);
    let (square, power) = falling(x, work);
    let Ok(step) = square.add(&square).inv() else { return (None, None) };
    let (mut sum, mut term) = (point(&Float::one(), work), point(&Float::one(), work));
    let mut odd = 1_u64;
    let between = loop {
        let next = term.mul(&step).mul(&point(&integer(odd), work)).neg();
        let after = sum.add(&next);
        let shrinks = |e: &Enclosure| {
            e.ends.as_ref().is_some_and(|(a, b)| {
                let size = |x: &Float| if is_zero(x) { isize::MIN } else { magnitude(x) };
                size(a).max(size(b)) > -(bits as isize) - 8
            })
        };
        // true at every step, so it is no matter where this ends
        if !shrinks(&next) || odd > 4 * u64::from(work) {
            break sum.hull(&after);
        }
        (sum, term) = (after, next);
        odd += 2;
    };
    let half = point(&Float::new(IBig::ONE, -1), work);
    match point(x, work).inv() {
        Ok(inverse) => factor(work).mul(&half).mul(&inverse).mul(&power).mul(&between).rounded_to(bits),
        Err(_) => (None, None),
    }
}

/// Bounds on the slope of erf.
pub(super) fn slope(x: &Float, bits: u32) -> Bounds {
    let work = bits.saturating_add(16);
    factor(work).mul(&falling(x, work).1).rounded_to(bits)
}

/// 2 / sqrt(pi).
fn factor(bits: u32) -> Enclosure {
    let root =
        pi(bits).increasing(|x, bits| (rounded::<Down>(bits, |c| c.sqrt(x)), rounded::<Up>(bits, |c| c.sqrt(x))));
    point(&integer(2), bits).div(&root).unwrap_or(Enclosure::whole(bits))
}
