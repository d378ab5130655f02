//! The two kinds of numbers that programs are compiled for, with the arithmetic of the interpreter written so that it
//! vectorises: no branches where a selection will do.

use crate::isa::{Isa, Kernel, dispatch};
use crate::kernel::math;
use crease_core::run::ready::{self, Interpreter};
use crease_core::{Number, Smooth};
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
}

/// `f64` or `f32`. It is closed: kernels are written for these two.
///
/// ```
/// fn takes<T: crease_engine::Float>(x: T) -> T { x + T::ONE }
/// assert_eq!(takes(1.0_f32), 2.0);
/// ```
pub trait Float:
    sealed::Sealed
    + crate::entry::Entry
    + Number
    + Copy
    + Default
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
{
    #[doc(hidden)]
    type V<I: crate::isa::Isa>: crate::isa::Simd<Self>;
    #[doc(hidden)]
    fn interpreter() -> &'static Interpreter<Self>;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// -0, which added to anything changes nothing, not even the sign of a zero.
    const NEG_ZERO: Self;
    /// The smallest number, minus infinity.
    const LOWEST: Self;
    /// Not a number.
    const NAN: Self;
    /// Infinity.
    const INFINITY: Self;
    /// A sum of squares above this has not lost any that count.
    #[doc(hidden)]
    const SAFE_SQUARES: Self;

    /// Bits as many as a number has, none of them set.
    #[doc(hidden)]
    const CLEAR: Self::Bits;
    #[doc(hidden)]
    type Bits: Copy + PartialEq;
    /// All bits set if one of two numbers is NaN, else those that were.
    #[doc(hidden)]
    fn mark_nan(x: Self, y: Self, bits: Self::Bits) -> Self::Bits;
    /// Both bit patterns at once; of two equal numbers their sum's sign where they are zeros, else the number.
    #[doc(hidden)]
    fn both_bits(self, other: Self) -> Self;
    #[doc(hidden)]
    fn fused(self, b: Self, c: Self) -> Self;
    #[doc(hidden)]
    fn size(self) -> Self;
    #[doc(hidden)]
    fn root(self) -> Self;
    #[doc(hidden)]
    fn library_exp(self) -> Self;
    #[doc(hidden)]
    fn library_ln(self) -> Self;
    #[doc(hidden)]
    fn library_ln_1p(self) -> Self;
    #[doc(hidden)]
    fn library_tanh(self) -> Self;
    #[doc(hidden)]
    fn library_sin(self) -> Self;
    #[doc(hidden)]
    fn library_cos(self) -> Self;
    #[doc(hidden)]
    fn library_powi(self, k: i32) -> Self;
    /// The greatest integer that is not above, with one zero.
    #[doc(hidden)]
    fn round_down(self) -> Self;
    /// The nearest integer, the even one of two, with one zero.
    #[doc(hidden)]
    fn round_even(self) -> Self;
    /// With fused products only in kernels that have them; so with the next three.
    #[doc(hidden)]
    fn vector_exp(self, fused: bool) -> Self;
    #[doc(hidden)]
    fn vector_ln(self, fused: bool) -> Self;
    /// The logarithm of one more: that of the rounded sum, and what was rounded off beside it.
    #[doc(hidden)]
    #[inline(always)]
    fn vector_ln_1p(self, fused: bool) -> Self {
        let sum = Self::ONE + self;
        sum.vector_ln(fused) - ((sum - Self::ONE) - self) / sum
    }
    #[doc(hidden)]
    fn vector_tanh(self, fused: bool) -> Self;
    #[doc(hidden)]
    fn from_f64(x: f64) -> Self;
    /// Whether all bits but the sign are clear, for a whole slice.
    #[doc(hidden)]
    fn all_zero(xs: &[Self]) -> bool;
    /// Whether all numbers of a slice are finite; in kernels only, so that it is compiled for their instructions.
    #[doc(hidden)]
    fn all_finite(xs: &[Self]) -> bool;
    /// A number that is a small one to count with, as one of those.
    #[doc(hidden)]
    fn small(self) -> u32;
}

macro_rules! float {
    ($t:ident, $bits:ident, $v:ident, $interpreter:ident, $exp:ident, $ln:ident, $tanh:ident) => {
        impl Float for $t {
            type V<I: crate::isa::Isa> = I::$v;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const NEG_ZERO: Self = -0.0;
            const LOWEST: Self = $t::NEG_INFINITY;
            const NAN: Self = $t::NAN;
            const INFINITY: Self = $t::INFINITY;
            const CLEAR: $bits = 0;
            type Bits = $bits;
            const SAFE_SQUARES: Self = $t::MIN_POSITIVE / ($t::EPSILON * $t::EPSILON);

            fn interpreter() -> &'static Interpreter<Self> {
                &ready::$interpreter
            }

            #[inline(always)]
            fn mark_nan(x: Self, y: Self, bits: $bits) -> $bits {
                bits | $bits::from(x.is_nan() | y.is_nan()).wrapping_neg()
            }
            #[inline(always)]
            fn both_bits(self, other: Self) -> Self {
                $t::from_bits(self.to_bits() & other.to_bits())
            }
            #[inline(always)]
            fn fused(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            #[inline(always)]
            fn size(self) -> Self {
                $t::abs(self)
            }
            #[inline(always)]
            fn root(self) -> Self {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn library_exp(self) -> Self {
                $t::exp(self)
            }
            #[inline(always)]
            fn library_ln(self) -> Self {
                $t::ln(self)
            }
            #[inline(always)]
            fn library_ln_1p(self) -> Self {
                $t::ln_1p(self)
            }
            #[inline(always)]
            fn library_tanh(self) -> Self {
                $t::tanh(self)
            }
            #[inline(always)]
            fn library_sin(self) -> Self {
                $t::sin(self)
            }
            #[inline(always)]
            fn library_cos(self) -> Self {
                $t::cos(self)
            }
            #[inline(always)]
            fn library_powi(self, k: i32) -> Self {
                $t::powi(self, k)
            }
            #[inline(always)]
            fn round_down(self) -> Self {
                $t::floor(self) + 0.0
            }
            #[inline(always)]
            fn round_even(self) -> Self {
                $t::round_ties_even(self) + 0.0
            }
            #[inline(always)]
            fn vector_exp(self, fused: bool) -> Self {
                if fused { math::$exp::<true>(self) } else { math::$exp::<false>(self) }
            }
            #[inline(always)]
            fn vector_ln(self, fused: bool) -> Self {
                if fused { math::$ln::<true>(self) } else { math::$ln::<false>(self) }
            }
            #[inline(always)]
            fn vector_tanh(self, fused: bool) -> Self {
                if fused { math::$tanh::<true>(self) } else { math::$tanh::<false>(self) }
            }
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn all_zero(xs: &[Self]) -> bool {
                xs.iter().fold(0, |m, x| m | x.to_bits()) << 1 == 0
            }
            #[inline(always)]
            fn all_finite(xs: &[Self]) -> bool {
                // the exponent of what is not finite has all bits set: one more, and it reaches the sign
                const EXPONENT: $bits = $t::INFINITY.to_bits();
                const ONE: $bits = EXPONENT & EXPONENT.wrapping_neg();
                xs.iter().fold(0, |m, x| m | ((x.to_bits() & EXPONENT) + ONE)) >> ($bits::BITS - 1) == 0
            }
            #[inline(always)]
            fn small(self) -> u32 {
                // next to this the last bits of a number are its whole part
                const WHOLE: $t = (1u64 << ($t::MANTISSA_DIGITS - 1)) as $t;
                ((self + WHOLE).to_bits() - WHOLE.to_bits()) as u32
            }
        }
    };
}

float!(f64, u64, F64, DOUBLE, exp64, ln64, tanh64);
float!(f32, u32, F32, SINGLE, exp32, ln32, tanh32);

/// The larger of two numbers as the interpreter has it: NaN wins, and 0 is above -0.
#[inline(always)]
pub(crate) fn maximum<T: Float>(a: T, b: T) -> T {
    let larger = if a > b { a } else { b };
    let settled = if a == b { a.both_bits(b) } else { larger };
    #[allow(clippy::eq_op)] // only NaN differs from itself
    if a != a { a } else { settled }
}

/// The smaller of two numbers as the interpreter has it.
#[inline(always)]
pub(crate) fn minimum<T: Float>(a: T, b: T) -> T {
    -maximum(-a, -b)
}

/// `max(0, x)`, with NaN passing through.
#[inline(always)]
pub(crate) fn relu<T: Float>(x: T) -> T {
    if x <= T::ZERO { T::ZERO } else { x }
}

/// 1 or 0.
#[inline(always)]
pub(crate) fn truth<T: Float>(holds: bool) -> T {
    if holds { T::ONE } else { T::ZERO }
}

/// Whether all numbers of a slice are truth values.
pub(crate) fn all_truths<T: Float>(xs: &[T]) -> bool {
    xs.iter().all(|&x| x == T::ZERO || x == T::ONE)
}

/// A number for each side of zero and for zero itself; NaN for NaN.
#[inline(always)]
pub(crate) fn slope<T: Float>(x: T, left: T, at: T, right: T) -> T {
    let side = if x > T::ZERO { right } else { left };
    let settled = if x == T::ZERO { at } else { side };
    #[allow(clippy::eq_op)] // only NaN differs from itself
    if x != x { x } else { settled }
}

/// What the first of two numbers takes of the derivative of the larger, with NaN passing through.
#[inline(always)]
pub(crate) fn share<T: Float>(a: T, b: T, at: T) -> T {
    let side = if a > b { T::ONE } else { T::ZERO };
    let settled = if a == b { at } else { side };
    if (a <= b) | (a > b) { settled } else { T::NAN }
}

/// The logistic function by the interpreter's formula, with a choice of exponential.
#[inline(always)]
pub(crate) fn sigmoid<T: Float>(x: T, exp: impl Fn(T) -> T) -> T {
    let right = x >= T::ZERO;
    let e = exp(if right { -x } else { x });
    let top = if right { T::ONE } else { e };
    top / (T::ONE + e)
}

/// `log(1 + exp(x))` by the interpreter's formula, with a choice of logarithm and exponential.
#[inline(always)]
pub(crate) fn softplus<T: Float>(x: T, ln_1p: impl Fn(T) -> T, exp: impl Fn(T) -> T) -> T {
    relu(x) + ln_1p(exp(-x.size()))
}

/// A function that has no code here: the interpreter's own.
pub(crate) fn library<T: Float>(f: Smooth, x: T) -> T {
    // floats never fail
    x.smooth(f).unwrap_or(T::NAN)
}

/// Whether all numbers of a slice are finite.
pub(crate) fn all_finite<T: Float>(xs: &[T]) -> bool {
    // of a few it is known before a kernel is found
    if xs.len() < 16 { T::all_finite(xs) } else { dispatch(Finite(xs)) }
}

struct Finite<'a, T>(&'a [T]);

impl<T: Float> Kernel for Finite<'_, T> {
    type Output = bool;
    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        T::all_finite(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: f64, b: f64) -> bool {
        a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
    }

    #[test]
    fn arithmetic_is_that_of_the_interpreter() {
        let odd = [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, -5e-324, 1e300];
        for a in odd {
            assert!(same(relu(a), Number::relu(&a).unwrap()));
            assert!(same(sigmoid(a, f64::exp), Number::sigmoid(&a).unwrap()), "{a}");
            assert!(same(softplus(a, f64::ln_1p, f64::exp), a.smooth(crease_core::Smooth::Softplus).unwrap()), "{a}");
            assert_eq!(all_finite(&[1.0, a]), a.is_finite());
            assert_eq!(all_finite(&[&[1.0; 40][..], &[a], &[2.0; 40]].concat()), a.is_finite());
            for b in odd {
                assert!(same(maximum(a, b), Number::max(&a, &b).unwrap()), "{a} {b}");
                assert!(same(minimum(a, b), Number::min(&a, &b).unwrap()), "{a} {b}");
            }
        }
    }
}
