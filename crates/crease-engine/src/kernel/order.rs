//! Sorting and order statistics: the k-th smallest of many numbers in linear time.
//!
//! Equal numbers keep their order, and 0 and -0 are equal, so that the very element comes out which the interpreter's stable
//! sort would have put there. One NaN makes all results NaN, as in the interpreter.

use crate::float::Float;
use crate::isa::{Isa, Kernel, dispatch};
use crease_core::Ties;
use std::cmp::Ordering;

fn compare<T: Float>(a: &T, b: &T) -> Ordering {
    a.partial_cmp(b).unwrap_or(Ordering::Equal)
}

struct AnyNan<'a, T>(&'a [T]);

impl<T: Float> Kernel for AnyNan<'_, T> {
    type Output = bool;
    #[inline(always)]
    #[allow(clippy::eq_op)] // only NaN differs from itself
    fn run<I: Isa>(self) -> bool {
        self.0.chunks(4096).any(|c| c.iter().fold(false, |any, &x| any | (x != x)))
    }
}

/// Whether there is a NaN.
pub(crate) fn any_nan<T: Float>(xs: &[T]) -> bool {
    dispatch(AnyNan(xs))
}

/// The k-th smallest number, counted from 0. `space` has room for all of them.
pub(crate) fn kth<T: Float>(xs: &[T], k: usize, space: &mut [T]) -> T {
    if xs.len() == 1 {
        return xs[0];
    }
    if any_nan(xs) {
        return T::NAN;
    }
    let found = bracket(xs, k, space).and_then(|bracket| {
        let (below, inside) = within(xs, bracket, space);
        let k = k.checked_sub(below)?;
        (k < inside).then(|| select(&mut space[..inside], k))
    });
    let value = found.unwrap_or_else(|| {
        space[..xs.len()].copy_from_slice(xs);
        select(&mut space[..xs.len()], k)
    });
    settled(xs, k, value)
}

/// The k-th smallest number, by putting them into another order. Of zeros it may be any.
pub(crate) fn select<T: Float>(xs: &mut [T], k: usize) -> T {
    *xs.select_nth_unstable_by(k, compare).1
}

/// The k-th smallest number, if it is known but for the sign of a zero.
pub(crate) fn settled<T: Float>(xs: &[T], k: usize, value: T) -> T {
    if value != T::ZERO {
        return value;
    }
    // zeros of both signs are equal and stand in their order
    let below = xs.iter().filter(|&&x| x < T::ZERO).count();
    xs.iter().copied().filter(|&x| x == T::ZERO).nth(k - below).unwrap_or(value)
}

/// Numbers up to which selection is done directly.
const SMALL: usize = 1 << 13;
/// The size of the sample, and how far from the wanted rank the bracket reaches, in ranks of the sample: some four standard
/// deviations of the rank.
const SAMPLE: usize = 1 << 12;
const REACH: usize = 130;

/// Two numbers between which the k-th smallest lies most likely, from a sample; nothing if it is not worth while.
pub(crate) fn bracket<T: Float>(xs: &[T], k: usize, space: &mut [T]) -> Option<(T, T)> {
    let n = xs.len();
    if n < SMALL {
        return None;
    }
    let (sample, _) = space.split_at_mut(SAMPLE);
    // a step that is prime to most lengths, so that periodic data does not fool it; the same on every run
    let step = n / SAMPLE;
    let mut offset = 0x9e37usize;
    for (i, s) in sample.iter_mut().enumerate() {
        offset = offset.wrapping_mul(25_214_903_917).wrapping_add(11);
        *s = xs[i * step + (offset >> 16) % step];
    }
    sample.sort_unstable_by(compare);
    let rank = (k as u128 * SAMPLE as u128 / n as u128) as usize;
    let low = if rank >= REACH { sample[rank - REACH] } else { T::LOWEST };
    let high = if rank + REACH < SAMPLE { sample[rank + REACH] } else { -T::LOWEST };
    Some((low, high))
}

/// How many numbers lie below a bracket, and how many inside of it: these are left in `space`, which has room for all.
pub(crate) fn within<T: Float>(xs: &[T], (low, high): (T, T), space: &mut [T]) -> (usize, usize) {
    dispatch(Within { xs, low, high, space })
}

/// Counts the numbers below a bracket and collects those inside.
struct Within<'a, T> {
    xs: &'a [T],
    low: T,
    high: T,
    space: &'a mut [T],
}

impl<T: Float> Kernel for Within<'_, T> {
    type Output = (usize, usize);
    #[inline(always)]
    fn run<I: Isa>(self) -> (usize, usize) {
        const CHUNK: usize = 16;
        let (low, high) = (self.low, self.high);
        let (mut below, mut inside) = (0usize, 0usize);
        let (chunks, rest) = self.xs.as_chunks::<CHUNK>();
        let mut counts = [0u32; CHUNK];
        for part in chunks.chunks(1 << 20) {
            for chunk in part {
                let mut any = false;
                for (c, &x) in counts.iter_mut().zip(chunk) {
                    *c += u32::from(x < low);
                    any |= (x >= low) & (x <= high);
                }
                if any {
                    for &x in chunk {
                        self.space[inside] = x;
                        inside += usize::from((x >= low) & (x <= high));
                    }
                }
            }
            below += counts.iter().map(|&c| c as usize).sum::<usize>();
            counts = [0; CHUNK];
        }
        for &x in rest {
            below += usize::from(x < low);
            if x >= low && x <= high {
                self.space[inside] = x;
                inside += 1;
            }
        }
        (below, inside)
    }
}

/// The positions of the numbers in ascending order, equal ones in their order or, for [`Ties::Last`], in the opposite one.
/// False if there is a NaN: then the positions are left as they are.
pub(crate) fn ascending<T: Float>(xs: &[T], ties: Option<Ties>, positions: &mut [u32]) -> bool {
    positions.iter_mut().zip(0..).for_each(|(p, i)| *p = i);
    if xs.len() > 1 && any_nan(xs) {
        return false;
    }
    positions.sort_unstable_by(|&i, &j| compare(&xs[i as usize], &xs[j as usize]).then(i.cmp(&j)));
    if ties == Some(Ties::Last) {
        let mut start = 0;
        for end in 1..=positions.len() {
            let ends = end == positions.len() || xs[positions[end] as usize] != xs[positions[start] as usize];
            if ends {
                positions[start..end].reverse();
                start = end;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crease_core::random::SplitMix64;

    #[test]
    fn the_kth_is_what_sorting_would_give() {
        let mut rng = SplitMix64::new(5);
        for n in [1usize, 2, 7, 100, 9000, 50_000] {
            for spread in [3u64, 1000, u64::MAX] {
                let xs: Vec<f64> = (0..n).map(|_| (rng.below(spread) as f64) - 1.0).collect();
                let mut sorted = xs.clone();
                sorted.sort_by(f64::total_cmp);
                let mut space = vec![0.0; n];
                for k in [0, n / 3, n / 2, n - 1] {
                    assert_eq!(kth(&xs, k, &mut space), sorted[k], "{n} {spread} {k}");
                }
            }
        }
    }

    #[test]
    fn zeros_keep_their_order_and_nan_spreads() {
        let xs = [0.0_f64, -0.0, -1.0, 0.0];
        let signs: Vec<bool> = (0..4).map(|k| kth(&xs, k, &mut [0.0; 4]).is_sign_negative()).collect();
        assert_eq!(signs, [true, false, true, false]);
        assert!(kth(&[1.0, f64::NAN], 0, &mut [0.0; 2]).is_nan());
    }
}
