//! Which vector instructions there are, found out once, and how a kernel is compiled for each of them.
//!
//! A kernel is a value with a generic [`Kernel::run`], marked `inline(always)`. [`dispatch`] has it compiled three times,
//! for AVX-512, for AVX2 with FMA, and for whatever every machine has, and picks the best one at run time. The loops
//! themselves are portable: the compiler vectorises them. Nothing is contracted to a fused multiply-add unless a kernel asks
//! for one where [`Isa::FMA`] says that there is such an instruction.

use std::sync::OnceLock;

/// The instructions a kernel is compiled for.
pub trait Isa {
    /// Whether `mul_add` is one instruction.
    const FMA: bool;
    /// The number of vector registers.
    const REGISTERS: usize;
    /// A register of f32.
    type F32: Simd<f32>;
    /// A register of f64.
    type F64: Simd<f64>;
    /// The same machine with registers half as wide, if it has them.
    type Narrow: Isa;
}

/// A vector register, for the few loops that the compiler does not keep in registers by itself.
///
/// # Safety
///
/// Every function needs the instructions of its type: they are called in kernels only, by way of [`dispatch`]. Pointers must
/// be good for `N` numbers.
pub unsafe trait Simd<T>: Copy {
    /// The number of lanes.
    const N: usize;
    #[doc(hidden)]
    unsafe fn splat(x: T) -> Self;
    #[doc(hidden)]
    unsafe fn load(from: *const T) -> Self;
    #[doc(hidden)]
    unsafe fn store(self, to: *mut T);
    /// The first `len` lanes, the others 0.
    #[doc(hidden)]
    unsafe fn load_some(from: *const T, len: usize) -> Self;
    /// The first `len` lanes only.
    #[doc(hidden)]
    unsafe fn store_some(self, to: *mut T, len: usize);
    #[doc(hidden)]
    unsafe fn add(self, other: Self) -> Self;
    /// `self * a + b`, fused where the machine can.
    #[doc(hidden)]
    unsafe fn times_plus(self, a: Self, b: Self) -> Self;
    /// The lanes of both in turn: the first half of them, and the second.
    #[doc(hidden)]
    unsafe fn interleave(self, other: Self) -> (Self, Self);
    /// The lanes of `yes` where this equals the other, those of `no` elsewhere, and where either is NaN.
    #[doc(hidden)]
    unsafe fn where_equal(self, other: Self, yes: Self, no: Self) -> Self;
}

macro_rules! simd {
    ($v:ty, $t:ident, $n:literal, $features:literal, $splat:ident, $load:ident, $store:ident, $add:ident, $fma:ident, $some:ident, $interleave:expr, $equal:expr) => {
        // SAFETY: each is one instruction of the features named
        #[cfg(target_arch = "x86_64")]
        unsafe impl Simd<$t> for $v {
            const N: usize = $n;
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn splat(x: $t) -> Self {
                x86::$splat(x)
            }
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn load(from: *const $t) -> Self {
                // SAFETY: by the contract of the trait
                unsafe { x86::$load(from) }
            }
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: by the contract of the trait
                unsafe { x86::$store(to, self) }
            }
            $some!($v, $t, $n, $features, $load, $store);
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn add(self, other: Self) -> Self {
                x86::$add(self, other)
            }
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn times_plus(self, a: Self, b: Self) -> Self {
                x86::$fma(self, a, b)
            }
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn interleave(self, other: Self) -> (Self, Self) {
                $interleave(self, other)
            }
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn where_equal(self, other: Self, yes: Self, no: Self) -> Self {
                $equal(self, other, yes, no)
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn in_turn_16(a: x86::__m512, b: x86::__m512) -> (x86::__m512, x86::__m512) {
    let low = x86::_mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    let high = x86::_mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    (x86::_mm512_permutex2var_ps(a, low, b), x86::_mm512_permutex2var_ps(a, high, b))
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn in_turn_8(a: x86::__m512d, b: x86::__m512d) -> (x86::__m512d, x86::__m512d) {
    let low = x86::_mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    let high = x86::_mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    (x86::_mm512_permutex2var_pd(a, low, b), x86::_mm512_permutex2var_pd(a, high, b))
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn in_turn_8_half(a: x86::__m256, b: x86::__m256) -> (x86::__m256, x86::__m256) {
    let (low, high) = (x86::_mm256_unpacklo_ps(a, b), x86::_mm256_unpackhi_ps(a, b));
    (x86::_mm256_permute2f128_ps::<0x20>(low, high), x86::_mm256_permute2f128_ps::<0x31>(low, high))
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn in_turn_4_half(a: x86::__m256d, b: x86::__m256d) -> (x86::__m256d, x86::__m256d) {
    let (low, high) = (x86::_mm256_unpacklo_pd(a, b), x86::_mm256_unpackhi_pd(a, b));
    (x86::_mm256_permute2f128_pd::<0x20>(low, high), x86::_mm256_permute2f128_pd::<0x31>(low, high))
}

/// A choice lane by lane, as [`Simd::where_equal`] makes it.
macro_rules! equal {
    ($name:ident, $v:ident, $features:literal, $($choice:tt)*) => {
        #[cfg(target_arch = "x86_64")]
        #[inline]
        #[target_feature(enable = $features)]
        fn $name(a: x86::$v, b: x86::$v, yes: x86::$v, no: x86::$v) -> x86::$v {
            use x86::*;
            equal!(@ a, b, yes, no, $($choice)*)
        }
    };
    (@ $a:ident, $b:ident, $yes:ident, $no:ident, by mask $compare:ident $blend:ident) => {
        $blend($compare::<_CMP_EQ_OQ>($a, $b), $no, $yes)
    };
    (@ $a:ident, $b:ident, $yes:ident, $no:ident, by sign $compare:ident $blend:ident) => {
        $blend($no, $yes, $compare::<_CMP_EQ_OQ>($a, $b))
    };
}

equal!(equal_16, __m512, "avx512f", by mask _mm512_cmp_ps_mask _mm512_mask_blend_ps);
equal!(equal_8, __m512d, "avx512f", by mask _mm512_cmp_pd_mask _mm512_mask_blend_pd);
equal!(equal_8_half, __m256, "avx2", by sign _mm256_cmp_ps _mm256_blendv_ps);
equal!(equal_4_half, __m256d, "avx2", by sign _mm256_cmp_pd _mm256_blendv_pd);

/// Half a register of AVX-512: some lanes by way of a mask, which AVX2 has for loads only.
macro_rules! half {
    ($name:ident, $v:ident, $t:ident, $n:literal, $load:ident, $store:ident) => {
        #[doc(hidden)]
        #[cfg(target_arch = "x86_64")]
        #[derive(Clone, Copy)]
        pub struct $name(x86::$v);

        // SAFETY: each is one of the full register, or one instruction of the features named
        #[cfg(target_arch = "x86_64")]
        unsafe impl Simd<$t> for $name {
            const N: usize = $n;
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn splat(x: $t) -> Self {
                // SAFETY: by the contract of the trait
                $name(unsafe { Simd::<$t>::splat(x) })
            }
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn load(from: *const $t) -> Self {
                // SAFETY: by the contract of the trait
                $name(unsafe { Simd::<$t>::load(from) })
            }
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: by the contract of the trait
                unsafe { Simd::<$t>::store(self.0, to) }
            }
            #[inline]
            #[target_feature(enable = "avx512f,avx512vl")]
            unsafe fn load_some(from: *const $t, len: usize) -> Self {
                // SAFETY: by the contract of the trait
                $name(unsafe { x86::$load(((1u16 << len.min($n)) - 1) as x86::__mmask8, from) })
            }
            #[inline]
            #[target_feature(enable = "avx512f,avx512vl")]
            unsafe fn store_some(self, to: *mut $t, len: usize) {
                // SAFETY: by the contract of the trait
                unsafe { x86::$store(to, ((1u16 << len.min($n)) - 1) as x86::__mmask8, self.0) }
            }
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: by the contract of the trait
                $name(unsafe { Simd::<$t>::add(self.0, other.0) })
            }
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn times_plus(self, a: Self, b: Self) -> Self {
                // SAFETY: by the contract of the trait
                $name(unsafe { Simd::<$t>::times_plus(self.0, a.0, b.0) })
            }
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn interleave(self, other: Self) -> (Self, Self) {
                // SAFETY: by the contract of the trait
                let (low, high) = unsafe { Simd::<$t>::interleave(self.0, other.0) };
                ($name(low), $name(high))
            }
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn where_equal(self, other: Self, yes: Self, no: Self) -> Self {
                // SAFETY: by the contract of the trait
                $name(unsafe { Simd::<$t>::where_equal(self.0, other.0, yes.0, no.0) })
            }
        }
    };
}

half!(Half32, __m256, f32, 8, _mm256_maskz_loadu_ps, _mm256_mask_storeu_ps);
half!(Half64, __m256d, f64, 4, _mm256_maskz_loadu_pd, _mm256_mask_storeu_pd);

/// Some lanes by way of a mask.
macro_rules! masked {
    ($v:ty, f32, $n:literal, $features:literal, $load:ident, $store:ident) => {
        masked!(@ $v, f32, $features, __mmask16, 16, _mm512_maskz_loadu_ps, _mm512_mask_storeu_ps);
    };
    ($v:ty, f64, $n:literal, $features:literal, $load:ident, $store:ident) => {
        masked!(@ $v, f64, $features, __mmask8, 8, _mm512_maskz_loadu_pd, _mm512_mask_storeu_pd);
    };
    (@ $v:ty, $t:ty, $features:literal, $mask:ident, $n:literal, $load:ident, $store:ident) => {
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn load_some(from: *const $t, len: usize) -> Self {
            // SAFETY: by the contract of the trait
            unsafe { x86::$load(((1u32 << len.min($n)) - 1) as x86::$mask, from) }
        }
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn store_some(self, to: *mut $t, len: usize) {
            // SAFETY: by the contract of the trait
            unsafe { x86::$store(to, ((1u32 << len.min($n)) - 1) as x86::$mask, self) }
        }
    };
}

/// Some lanes of AVX2. Loads have a mask; a store with one takes dozens of steps on some machines, so that whole pieces are stored instead.
/// Nothing goes by way of memory: a copy of so many numbers would be a call, before which every register is put away.
macro_rules! pieces {
    ($v:ty, f32, $n:literal, $features:literal, $load:ident, $store:ident) => {
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn load_some(from: *const f32, len: usize) -> Self {
            // SAFETY: eight numbers of the mask lie in the table; by the contract of the trait
            unsafe {
                let mask = x86::_mm256_loadu_si256(MASK_32.as_ptr().add(8 - len.min(8)).cast());
                x86::_mm256_maskload_ps(from, mask)
            }
        }
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn store_some(self, to: *mut f32, len: usize) {
            // SAFETY: by the contract of the trait
            unsafe {
                if len >= 8 {
                    return x86::_mm256_storeu_ps(to, self);
                }
                let (mut to, mut left) = (to, x86::_mm256_castps256_ps128(self));
                if len & 4 != 0 {
                    x86::_mm_storeu_ps(to, left);
                    (to, left) = (to.add(4), x86::_mm256_extractf128_ps::<1>(self));
                }
                if len & 2 != 0 {
                    x86::_mm_storel_pd(to.cast(), x86::_mm_castps_pd(left));
                    (to, left) = (to.add(2), x86::_mm_movehl_ps(left, left));
                }
                if len & 1 != 0 {
                    x86::_mm_store_ss(to, left);
                }
            }
        }
    };
    ($v:ty, f64, $n:literal, $features:literal, $load:ident, $store:ident) => {
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn load_some(from: *const f64, len: usize) -> Self {
            // SAFETY: four numbers of the mask lie in the table; by the contract of the trait
            unsafe {
                let mask = x86::_mm256_loadu_si256(MASK_64.as_ptr().add(4 - len.min(4)).cast());
                x86::_mm256_maskload_pd(from, mask)
            }
        }
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn store_some(self, to: *mut f64, len: usize) {
            // SAFETY: by the contract of the trait
            unsafe {
                if len >= 4 {
                    return x86::_mm256_storeu_pd(to, self);
                }
                let (mut to, mut left) = (to, x86::_mm256_castpd256_pd128(self));
                if len & 2 != 0 {
                    x86::_mm_storeu_pd(to, left);
                    (to, left) = (to.add(2), x86::_mm256_extractf128_pd::<1>(self));
                }
                if len & 1 != 0 {
                    x86::_mm_store_sd(to, left);
                }
            }
        }
    };
}

/// Masks of loads: as many ones as lanes are left, read from the place where they begin.
#[cfg(target_arch = "x86_64")]
static MASK_32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
#[cfg(target_arch = "x86_64")]
static MASK_64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as x86;

simd!(
    x86::__m512,
    f32,
    16,
    "avx512f",
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_add_ps,
    _mm512_fmadd_ps,
    masked,
    in_turn_16,
    equal_16
);
simd!(
    x86::__m512d,
    f64,
    8,
    "avx512f",
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_add_pd,
    _mm512_fmadd_pd,
    masked,
    in_turn_8,
    equal_8
);
simd!(
    x86::__m256,
    f32,
    8,
    "avx2,fma",
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_add_ps,
    _mm256_fmadd_ps,
    pieces,
    in_turn_8_half,
    equal_8_half
);
simd!(
    x86::__m256d,
    f64,
    4,
    "avx2,fma",
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_add_pd,
    _mm256_fmadd_pd,
    pieces,
    in_turn_4_half,
    equal_4_half
);

// SAFETY: plain arithmetic
unsafe impl<T: Copy + Default + PartialEq + std::ops::Add<Output = T> + std::ops::Mul<Output = T>> Simd<T> for [T; 4] {
    const N: usize = 4;
    #[inline(always)]
    unsafe fn splat(x: T) -> Self {
        [x; 4]
    }
    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: by the contract of the trait
        unsafe { from.cast::<[T; 4]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: by the contract of the trait
        unsafe { to.cast::<[T; 4]>().write_unaligned(self) }
    }
    #[inline(always)]
    unsafe fn load_some(from: *const T, len: usize) -> Self {
        // SAFETY: by the contract of the trait; what is beyond is 0
        each(|i| if i < len { unsafe { *from.add(i) } } else { T::default() })
    }
    #[inline(always)]
    unsafe fn store_some(self, to: *mut T, len: usize) {
        for (i, x) in self.into_iter().enumerate().take(len) {
            // SAFETY: by the contract of the trait
            unsafe { *to.add(i) = x }
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        each(|i| self[i] + other[i])
    }
    #[inline(always)]
    unsafe fn times_plus(self, a: Self, b: Self) -> Self {
        each(|i| self[i] * a[i] + b[i])
    }
    #[inline(always)]
    unsafe fn interleave(self, other: Self) -> (Self, Self) {
        ([self[0], other[0], self[1], other[1]], [self[2], other[2], self[3], other[3]])
    }
    #[inline(always)]
    unsafe fn where_equal(self, other: Self, yes: Self, no: Self) -> Self {
        each(|i| if self[i] == other[i] { yes[i] } else { no[i] })
    }
}

pub struct Portable;
#[cfg(target_arch = "x86_64")]
pub struct Avx2;
#[cfg(target_arch = "x86_64")]
pub struct Avx512;
/// AVX-512 with registers half as wide, for rows that would leave much of a full one empty. Many machines take a full
/// register as two halves one after the other, so nothing is lost.
#[cfg(target_arch = "x86_64")]
pub struct Avx512Half;

impl Isa for Portable {
    const FMA: bool = cfg!(target_arch = "aarch64");
    const REGISTERS: usize = 16;
    type F32 = [f32; 4];
    type F64 = [f64; 4];
    type Narrow = Portable;
}
#[cfg(target_arch = "x86_64")]
impl Isa for Avx2 {
    const FMA: bool = true;
    const REGISTERS: usize = 16;
    type F32 = x86::__m256;
    type F64 = x86::__m256d;
    type Narrow = Avx2;
}
#[cfg(target_arch = "x86_64")]
impl Isa for Avx512 {
    const FMA: bool = true;
    const REGISTERS: usize = 32;
    type F32 = x86::__m512;
    type F64 = x86::__m512d;
    type Narrow = Avx512Half;
}
#[cfg(target_arch = "x86_64")]
impl Isa for Avx512Half {
    const FMA: bool = true;
    const REGISTERS: usize = 32;
    type F32 = Half32;
    type F64 = Half64;
    type Narrow = Avx512Half;
}

/// An array, number by number: what `array::from_fn` does, which has much that is to be optimised away again, in every kernel.
#[inline(always)]
pub(crate) fn each<X: Copy, const N: usize>(mut f: impl FnMut(usize) -> X) -> [X; N] {
    let mut all = [std::mem::MaybeUninit::uninit(); N];
    for (i, x) in all.iter_mut().enumerate() {
        x.write(f(i));
    }
    // SAFETY: all of them were written, and what may be uninitialised lies as what is not
    unsafe { std::mem::transmute_copy(&all) }
}

/// A loop to be compiled for several machines.
pub(crate) trait Kernel {
    type Output;
    /// The loop; to be marked `inline(always)`, so that it takes on the instructions of its caller.
    fn run<I: Isa>(self) -> Self::Output;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The best instructions of this machine, or lesser ones if the environment names them.
pub(crate) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let named = match std::env::var(VARIABLE).as_deref() {
            Ok("portable") => Level::Portable,
            #[cfg(target_arch = "x86_64")]
            Ok("avx2") => Level::Avx2,
            _ => return detect(),
        };
        named.min(detect())
    })
}

/// The variable of the environment that names lesser instructions.
const VARIABLE: &str = "CREASE_INSTRUCTIONS";

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2");
    let wide = ["avx512f", "avx512dq", "avx512vl", "avx512bw"];
    let has = |f: &str| match f {
        "avx512f" => is_x86_feature_detected!("avx512f"),
        "avx512dq" => is_x86_feature_detected!("avx512dq"),
        "avx512vl" => is_x86_feature_detected!("avx512vl"),
        _ => is_x86_feature_detected!("avx512bw"),
    };
    if avx2 && wide.iter().all(|f| has(f)) {
        Level::Avx512
    } else if avx2 {
        Level::Avx2
    } else {
        Level::Portable
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Portable
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn avx512<K: Kernel>(k: K) -> K::Output {
    k.run::<Avx512>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn avx2<K: Kernel>(k: K) -> K::Output {
    k.run::<Avx2>()
}

/// Apart from its caller, so that it is compiled once, not beside every call.
#[inline(never)]
fn portable<K: Kernel>(k: K) -> K::Output {
    k.run::<Portable>()
}

/// Runs a kernel on the best instructions of this machine.
#[inline]
pub(crate) fn dispatch<K: Kernel>(k: K) -> K::Output {
    match level() {
        Level::Portable => portable(k),
        // SAFETY: `level` has found these instructions on this machine
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2(k) },
        // SAFETY: as above
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512(k) },
    }
}

/// The same for a kernel whose numbers lie here and there, which was measured to gain nothing by registers wider than those of AVX2: one less to compile.
#[inline]
pub(crate) fn dispatch_scattered<K: Kernel>(k: K) -> K::Output {
    match level() {
        Level::Portable => portable(k),
        // SAFETY: `level` has found these instructions on this machine; AVX-512 comes with those of AVX2
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 | Level::Avx512 => unsafe { avx2(k) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All tests of this crate once more in processes of their own, on what lesser machines have.
    #[test]
    fn kernels_pass_their_tests_on_lesser_instructions() {
        if std::env::var_os(VARIABLE).is_some() {
            return;
        }
        let tests = std::env::current_exe().unwrap();
        for lesser in ["avx2", "portable"] {
            let run = std::process::Command::new(&tests).env(VARIABLE, lesser).output().unwrap();
            assert!(run.status.success(), "{lesser}: {}", String::from_utf8_lossy(&run.stdout));
        }
    }

    struct Tails;

    impl Kernel for Tails {
        type Output = ();
        #[inline(always)]
        fn run<I: Isa>(self) {
            fn check<T: crate::float::Float, V: Simd<T>>() {
                let from: Vec<T> = (1..=V::N).map(T::from_usize).collect();
                for len in 0..=V::N {
                    let (mut out, mut all) = (vec![T::NAN; V::N], vec![T::NAN; V::N]);
                    // SAFETY: called in a kernel; all slices have a register full of numbers
                    unsafe {
                        V::load(from.as_ptr()).store_some(out.as_mut_ptr(), len);
                        V::load_some(from.as_ptr(), len).store(all.as_mut_ptr());
                    }
                    assert_eq!(out[..len], from[..len]);
                    assert!(out[len..].iter().all(|x| x.is_nan()), "nothing is written beyond");
                    assert_eq!(all[..len], from[..len]);
                    assert!(all[len..].iter().all(|&x| x == T::ZERO));
                }
            }
            check::<f32, I::F32>();
            check::<f64, I::F64>();
        }
    }

    #[test]
    fn some_lanes_are_read_and_written_and_no_others() {
        dispatch(Tails);
    }

    #[test]
    fn lesser_instructions_are_taken_when_they_are_named() {
        if let Ok(named) = std::env::var(VARIABLE) {
            assert_eq!(format!("{:?}", level()).to_lowercase(), named);
        }
    }
}
