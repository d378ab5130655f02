//! Exponential, logarithm and hyperbolic tangent without branches, so that loops over them vectorise.
//!
//! Used for tensors where agreement up to rounding is enough ([`Agreement::Rounding`](crate::Agreement::Rounding)); elsewhere
//! the functions of the standard library are called, as the interpreter does. Errors, measured by the tests below against
//! the standard library: at most 2 units in the last place for the exponential and the logarithm, 4 for the tangent;
//! subnormal results of the exponential are off by at most one subnormal. Infinities, NaN and signed zeros come out as they
//! should.

// coefficients are written as their sources print them
#![allow(clippy::excessive_precision, clippy::unreadable_literal)]

/// Adding this to a number of moderate size rounds it to an integer, which then stands in the low bits.
const ROUND64: f64 = 6755399441055744.0;
const ROUND32: f32 = 12582912.0;

/// `a * b + c`, in one instruction or in two.
#[inline(always)]
fn times_plus<const FUSED: bool, T: crate::Float>(a: T, b: T, c: T) -> T {
    if FUSED { a.fused(b, c) } else { a * b + c }
}

/// The exponential of an f64; with fused products, where the machine has them, it is nearly twice as fast. So are the others.
#[inline(always)]
pub(crate) fn exp64<const FUSED: bool>(x: f64) -> f64 {
    let x = if x > 710.0 { 710.0 } else { x };
    let x = if x < -746.0 { -746.0 } else { x };
    let t = x * std::f64::consts::LOG2_E + ROUND64;
    let k = t - ROUND64;
    let r = times_plus::<FUSED, _>(-k, 6.93147180369123816490e-01, x);
    let r = times_plus::<FUSED, _>(-k, 1.90821492927058770002e-10, r);
    let mut p = 1.0 / 6227020800.0;
    for c in [
        1.0 / 479001600.0,
        1.0 / 39916800.0,
        1.0 / 3628800.0,
        1.0 / 362880.0,
        1.0 / 40320.0,
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
    ] {
        p = times_plus::<FUSED, _>(p, r, c);
    }
    let p = 1.0 + times_plus::<FUSED, _>(r * r, p, r);
    // two factors, because 2^k alone may overflow or vanish where the result does not
    let half = k * 0.5 + ROUND64;
    let (k, half) = (t.to_bits().wrapping_sub(ROUND64.to_bits()), half.to_bits().wrapping_sub(ROUND64.to_bits()));
    let rest = k.wrapping_sub(half);
    let power = |k: u64| f64::from_bits(k.wrapping_add(1023) << 52);
    p * power(half) * power(rest)
}

/// The exponential of an f32.
#[inline(always)]
pub(crate) fn exp32<const FUSED: bool>(x: f32) -> f32 {
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let t = x * std::f32::consts::LOG2_E + ROUND32;
    let k = t - ROUND32;
    let r = times_plus::<FUSED, _>(-k, 0.693359375, x);
    let r = times_plus::<FUSED, _>(-k, -2.12194440e-4, r);
    let mut p = 1.0 / 5040.0_f32;
    for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5] {
        p = times_plus::<FUSED, _>(p, r, c);
    }
    let p = 1.0 + times_plus::<FUSED, _>(r * r, p, r);
    let half = k * 0.5 + ROUND32;
    let (k, half) = (t.to_bits().wrapping_sub(ROUND32.to_bits()), half.to_bits().wrapping_sub(ROUND32.to_bits()));
    let rest = k.wrapping_sub(half);
    let power = |k: u32| f32::from_bits(k.wrapping_add(127) << 23);
    p * power(half) * power(rest)
}

/// The natural logarithm of an f64.
#[inline(always)]
pub(crate) fn ln64<const FUSED: bool>(x: f64) -> f64 {
    let small = x < f64::MIN_POSITIVE;
    let scaled = if small { x * 18014398509481984.0 } else { x };
    let less = if small { 54.0 } else { 0.0 };
    // the mantissa between the root of 1/2 and that of 2, the exponent apart
    let root = 0x3fe6a09e667f3bcd_u64;
    let biased = scaled.to_bits().wrapping_sub(root).wrapping_add(1024 << 52) >> 52;
    let m = f64::from_bits(scaled.to_bits().wrapping_sub(biased.wrapping_sub(1024) << 52));
    let k = (f64::from_bits(ROUND64.to_bits().wrapping_add(biased)) - ROUND64) - (1024.0 + less);
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let mut r = 1.479819860511658591e-01_f64;
    for c in [
        1.531383769920937332e-01,
        1.818357216161805012e-01,
        2.222219843214978396e-01,
        2.857142874366239149e-01,
        3.999999999940941908e-01,
        6.666666666666735130e-01,
    ] {
        r = times_plus::<FUSED, _>(r, z, c);
    }
    let half = 0.5 * f * f;
    let y = k * 6.93147180369123816490e-01 - ((half - (s * (half + r * z) + k * 1.90821492927058770002e-10)) - f);
    let y = if x < 0.0 { f64::NAN } else { y };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    // infinity and NaN are their own logarithms
    if x < f64::INFINITY { y } else { x }
}

/// The natural logarithm of an f32.
#[inline(always)]
pub(crate) fn ln32<const FUSED: bool>(x: f32) -> f32 {
    let small = x < f32::MIN_POSITIVE;
    let scaled = if small { x * 33554432.0 } else { x };
    let less = if small { 25.0 } else { 0.0 };
    let root = 0x3f3504f3_u32;
    let biased = scaled.to_bits().wrapping_sub(root).wrapping_add(128 << 23) >> 23;
    let m = f32::from_bits(scaled.to_bits().wrapping_sub(biased.wrapping_sub(128) << 23));
    let k = (f32::from_bits(ROUND32.to_bits().wrapping_add(biased)) - ROUND32) - (128.0 + less);
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let mut r = 0.24279078841_f32;
    for c in [0.28498786688, 0.40000972152, 0.66666662693] {
        r = times_plus::<FUSED, _>(r, z, c);
    }
    let half = 0.5 * f * f;
    let y = k * 6.9313812256e-01 - ((half - (s * (half + r * z) + k * 9.0580006145e-06)) - f);
    let y = if x < 0.0 { f32::NAN } else { y };
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    if x < f32::INFINITY { y } else { x }
}

/// The hyperbolic tangent of an f64.
#[inline(always)]
pub(crate) fn tanh64<const FUSED: bool>(x: f64) -> f64 {
    let z = x * x;
    let p = times_plus::<FUSED, _>(-9.64399179425052238628e-1, z, -9.92877231001918586564e1);
    let p = times_plus::<FUSED, _>(p, z, -1.61468768441708447952e3);
    let q = times_plus::<FUSED, _>(z + 1.12811678491632931402e2, z, 2.23548839060100448583e3);
    let q = times_plus::<FUSED, _>(q, z, 4.84406305325125486048e3);
    let near = (x + x * (z * (p / q))).copysign(x);
    let far = (1.0 - 2.0 / (exp64::<FUSED>(2.0 * x.abs()) + 1.0)).copysign(x);
    if x.abs() < 0.625 { near } else { far }
}

/// The hyperbolic tangent of an f32.
#[inline(always)]
pub(crate) fn tanh32<const FUSED: bool>(x: f32) -> f32 {
    let z = x * x;
    let mut p = -5.70498872745e-3_f32;
    for c in [2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1] {
        p = times_plus::<FUSED, _>(p, z, c);
    }
    let near = (x + x * (z * p)).copysign(x);
    let far = (1.0 - 2.0 / (exp32::<FUSED>(2.0 * x.abs()) + 1.0)).copysign(x);
    if x.abs() < 0.625 { near } else { far }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crease_core::random::SplitMix64;

    /// How many representable numbers lie between two.
    fn apart64(a: f64, b: f64) -> u64 {
        if a == b || a.is_nan() && b.is_nan() {
            return 0;
        }
        let order = |x: f64| {
            let bits = x.to_bits() as i64;
            if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
        };
        order(a).abs_diff(order(b))
    }

    fn apart32(a: f32, b: f32) -> u64 {
        if a == b || a.is_nan() && b.is_nan() {
            return 0;
        }
        let order = |x: f32| {
            let bits = x.to_bits() as i32;
            if bits < 0 { i32::MIN.wrapping_sub(bits) } else { bits }
        };
        u64::from(order(a).abs_diff(order(b)))
    }

    fn points(low: f64, high: f64) -> impl Iterator<Item = f64> {
        let mut rng = SplitMix64::new(1);
        (0..200_000).map(move |_| low + (high - low) * (rng.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }

    const ODD: [f64; 12] =
        [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, 1e-310, 1e308, -745.2, 709.7];

    #[test]
    fn errors_stay_within_the_stated_bounds() {
        for x in points(-708.0, 709.7).chain(points(-1.0, 1.0)).chain(ODD) {
            assert!(apart64(exp64::<false>(x), x.exp()) <= 2, "exp {x}: {} {}", exp64::<false>(x), x.exp());
            assert!(apart64(exp64::<true>(x), x.exp()) <= 2, "exp {x}: {} {}", exp64::<true>(x), x.exp());
        }
        for x in points(-746.0, -708.0) {
            assert!(apart64(exp64::<false>(x), x.exp()) <= 2, "exp {x}: {:e} {:e}", exp64::<false>(x), x.exp());
            assert!(apart64(exp64::<true>(x), x.exp()) <= 2, "exp {x}: {:e} {:e}", exp64::<true>(x), x.exp());
        }
        let logs = points(-700.0, 700.0).map(f64::exp).chain(points(0.5, 2.0)).chain(points(0.0, 1e-307)).chain(ODD);
        for x in logs {
            for y in [ln64::<false>(x), ln64::<true>(x)] {
                assert!(apart64(y, x.ln()) <= 2, "ln {x}: {y} {}", x.ln());
            }
        }
        for x in points(-22.0, 22.0).chain(points(-1.0, 1.0)).chain(ODD) {
            for y in [tanh64::<false>(x), tanh64::<true>(x)] {
                assert!(apart64(y, x.tanh()) <= 4, "tanh {x}: {y} {}", x.tanh());
            }
        }
    }

    #[test]
    fn errors_stay_within_the_stated_bounds_in_single_precision() {
        let single = |x: f64| x as f32;
        for x in points(-104.0, 88.7).chain(points(-1.0, 1.0)).chain(ODD).map(single) {
            for y in [exp32::<false>(x), exp32::<true>(x)] {
                assert!(apart32(y, x.exp()) <= 2, "exp {x}: {y} {}", x.exp());
            }
        }
        let logs = points(-80.0, 80.0).map(f64::exp).chain(points(0.5, 2.0)).chain(points(0.0, 1e-38)).chain(ODD);
        for x in logs.map(single) {
            for y in [ln32::<false>(x), ln32::<true>(x)] {
                assert!(apart32(y, x.ln()) <= 2, "ln {x}: {y} {}", x.ln());
            }
        }
        for x in points(-10.0, 10.0).chain(points(-1.0, 1.0)).chain(ODD).map(single) {
            for y in [tanh32::<false>(x), tanh32::<true>(x)] {
                assert!(apart32(y, x.tanh()) <= 4, "tanh {x}: {y} {}", x.tanh());
            }
        }
    }

    #[test]
    fn signs_of_zeros_are_kept() {
        assert_eq!([tanh64::<false>(-0.0), tanh64::<true>(-0.0)].map(f64::to_bits), [(-0.0_f64).to_bits(); 2]);
        assert_eq!([tanh32::<false>(-0.0), tanh32::<true>(-0.0)].map(f32::to_bits), [(-0.0_f32).to_bits(); 2]);
        assert_eq!(
            [exp64::<false>(0.0), exp64::<true>(-0.0), 1.0 + ln64::<true>(1.0), 1.0 + ln64::<false>(1.0)],
            [1.0; 4]
        );
    }
}
