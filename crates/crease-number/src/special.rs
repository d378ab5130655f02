//! Functions of doubles that the standard library lacks, or has with large errors.
//!
//! Single precision goes through these, too, so that its results are rounded once.

use std::f64::consts::{FRAC_2_SQRT_PI, LN_2};

/// `2 / sqrt(pi) * exp(-x^2)`.
pub(crate) fn erf_slope(x: f64) -> f64 {
    if x.is_infinite() {
        return 0.0;
    }
    // the square of the upper half of the digits is exact, and what it lacks is small: an exponential of x^2 rounded would be off
    // by x^2 times the last digit
    let upper = f64::from_bits(x.to_bits() & !u64::from(u32::MAX));
    let rest = (x - upper) * (x + upper);
    FRAC_2_SQRT_PI * (-upper * upper).exp() * (-rest).exp()
}

/// Beyond this the square of a number is all there is under the root.
const LARGE: f64 = (1_u64 << 28) as f64;

/// The inverse of the hyperbolic sine; that of the standard library overflows at the largest numbers.
pub(crate) fn asinh(x: f64) -> f64 {
    let size = x.abs();
    let value = if size >= LARGE {
        size.ln() + LN_2
    } else {
        (size + size * size / (1.0 + (size * size + 1.0).sqrt())).ln_1p()
    };
    value.copysign(x)
}

/// The inverse of the hyperbolic cosine, with all its digits next to 1.
pub(crate) fn acosh(x: f64) -> f64 {
    if x < 1.0 {
        return f64::NAN;
    }
    if x >= LARGE {
        return x.ln() + LN_2;
    }
    let above = x - 1.0;
    (above + (above * (x + 1.0)).sqrt()).ln_1p()
}

/// The inverse of the hyperbolic tangent; that of the standard library loses digits left of 0.
pub(crate) fn atanh(x: f64) -> f64 {
    let size = x.abs();
    (0.5 * (2.0 * size / (1.0 - size)).ln_1p()).copysign(x)
}

/// `x ^ (p / q)`, which is no integer.
pub(crate) fn root(x: f64, p: i32, q: i32) -> f64 {
    if x < 0.0 {
        return f64::NAN;
    }
    let (p, q) = (f64::from(p), f64::from(q));
    let exponent = p / q;
    let power = x.powf(exponent);
    // what the exponent lacks, exactly; it counts as often as the logarithm is large
    let lacks = (-exponent).mul_add(q, p) / q;
    if lacks == 0.0 || power == 0.0 || !power.is_finite() { power } else { power + power * (lacks * x.ln()) }
}
