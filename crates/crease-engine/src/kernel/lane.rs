//! Operations on one group of numbers that lie side by side: maxima, norms, shares of ties, log-sum-exp.
//!
//! Meaning is that of the interpreter. Maxima and minima come out bit for bit the same in whatever order they are taken; sums
//! are taken in the interpreter's order only where [`Agreement::Bits`](crate::Agreement::Bits) is asked for.

use crate::float::{Float, maximum, slope};
use crate::isa::{Isa, Kernel, Simd, dispatch};
use crate::kernel::dots::Dots;
use crease_core::Ties;
use std::ops::Range;

/// So many partial results are kept, to fill the vector units.
const WIDE: usize = 64;

struct Largest<'a, T> {
    xs: &'a [T],
    /// Largest absolute value instead.
    sizes: bool,
    /// Largest of the negated numbers instead, which is minus the smallest.
    negated: bool,
}

impl<T: Float> Kernel for Largest<'_, T> {
    type Output = T;
    #[inline(always)]
    fn run<I: Isa>(self) -> T {
        match (self.sizes, self.negated) {
            (true, _) => largest(self.xs, |x| x.size()),
            (_, true) => largest(self.xs, |x| -x),
            _ => largest(self.xs, |x| x),
        }
    }
}

/// So many of the largest are kept while others go by, two for each: with the marks of what is no number, half the registers of AVX2.
const BEST: usize = 16;

/// The largest number, by plain comparisons: faster than `maximum`, which settles NaN and the sign of a zero each time.
#[inline(always)]
fn largest<T: Float>(xs: &[T], f: impl Fn(T) -> T) -> T {
    let mut best = [T::LOWEST; BEST];
    let mut odd = [T::CLEAR; BEST];
    let (chunks, rest) = xs.as_chunks::<{ 2 * BEST }>();
    for chunk in chunks {
        let (left, right) = chunk.split_at(BEST);
        for (((b, o), &x), &y) in best.iter_mut().zip(&mut odd).zip(left).zip(right) {
            let (x, y) = (f(x), f(y));
            let larger = if x > y { x } else { y };
            *b = if larger > *b { larger } else { *b };
            // a mark as wide as a number: anything narrower would have to be packed
            *o = T::mark_nan(x, y, *o);
        }
    }
    let all = best.into_iter().fold(T::LOWEST, maximum);
    if odd.iter().any(|&o| o != T::CLEAR) {
        return T::NAN;
    }
    if all == T::ZERO {
        // zeros of both signs: once more, with care
        return xs.iter().fold(T::LOWEST, |m, &x| maximum(m, f(x)));
    }
    rest.iter().fold(all, |m, &x| maximum(m, f(x)))
}

/// The largest number.
pub(crate) fn max<T: Float>(xs: &[T]) -> T {
    if xs.len() < WIDE {
        return xs[1..].iter().fold(xs[0], |m, &x| maximum(m, x));
    }
    dispatch(Largest { xs, sizes: false, negated: false })
}

/// The smallest number.
pub(crate) fn min<T: Float>(xs: &[T]) -> T {
    if xs.len() < WIDE {
        return -xs[1..].iter().fold(-xs[0], |m, &x| maximum(m, -x));
    }
    -dispatch(Largest { xs, sizes: false, negated: true })
}

/// The largest absolute value.
pub(crate) fn norm_inf<T: Float>(xs: &[T]) -> T {
    if xs.len() < WIDE {
        return xs[1..].iter().fold(xs[0].size(), |m, &x| maximum(m, x.size()));
    }
    dispatch(Largest { xs, sizes: true, negated: false })
}

/// What is added up.
#[derive(Clone, Copy)]
enum Of {
    Numbers,
    Sizes,
    Relu,
}

/// As relu, in one instruction; but -0 stays what it is, until a sum of such numbers is added to 0.
#[inline(always)]
fn positive<T: Float>(x: T) -> T {
    if T::ZERO > x { T::ZERO } else { x }
}

struct Sum<'a, T> {
    xs: &'a [T],
    of: Of,
}

impl<T: Float> Kernel for Sum<'_, T> {
    type Output = T;
    #[inline(always)]
    fn run<I: Isa>(self) -> T {
        match self.of {
            Of::Numbers => wide_sum(self.xs, |x| x),
            Of::Sizes => wide_sum(self.xs, |x| x.size()),
            Of::Relu => wide_sum(self.xs, positive) + T::ZERO,
        }
    }
}

/// So many sums are kept: half the registers of AVX2, so that none of them is put away.
const SUMS: usize = 32;

#[inline(always)]
pub(crate) fn wide_sum<T: Float>(xs: &[T], f: impl Fn(T) -> T) -> T {
    let mut sums = [T::NEG_ZERO; SUMS];
    let (chunks, rest) = xs.as_chunks::<SUMS>();
    for chunk in chunks {
        for (s, &x) in sums.iter_mut().zip(chunk) {
            *s += f(x);
        }
    }
    let mut width = SUMS / 2;
    while width > 0 {
        for i in 0..width {
            let other = sums[i + width];
            sums[i] += other;
        }
        width /= 2;
    }
    rest.iter().fold(sums[0], |s, &x| s + f(x))
}

/// The sum, in order if asked for.
pub(crate) fn sum<T: Float>(xs: &[T], ordered: bool) -> T {
    if ordered || xs.len() < WIDE {
        return xs[1..].iter().fold(xs[0], |s, &x| s + x);
    }
    dispatch(Sum { xs, of: Of::Numbers })
}

/// The sum of the absolute values, in order if asked for.
pub(crate) fn norm1<T: Float>(xs: &[T], ordered: bool) -> T {
    if ordered || xs.len() < WIDE {
        return xs[1..].iter().fold(xs[0].size(), |s, &x| s + x.size());
    }
    dispatch(Sum { xs, of: Of::Sizes })
}

struct Squares<'a, T>(&'a [T]);

impl<T: Float> Kernel for Squares<'_, T> {
    type Output = T;
    #[inline(always)]
    fn run<I: Isa>(self) -> T {
        wide_sum(self.0, |x| x * x)
    }
}

/// The sum of the squares; not in order.
pub(crate) fn squares<T: Float>(xs: &[T]) -> T {
    dispatch(Squares(xs))
}

/// The Euclidean norm, summed in order if asked for.
pub(crate) fn norm2<T: Float>(xs: &[T], ordered: bool) -> T {
    // floats have one for all numbers
    if ordered || xs.len() < WIDE { T::norm2(xs).unwrap_or(T::NAN) } else { norm2_of(xs, squares(xs)) }
}

/// The Euclidean norm, if the sum of the squares is known.
pub(crate) fn norm2_of<T: Float>(xs: &[T], squares: T) -> T {
    // where squares may have been lost, or were too large, more care is taken
    let safe = squares > T::SAFE_SQUARES && squares < T::INFINITY;
    if safe { squares.root() } else { T::norm2(xs).unwrap_or(T::NAN) }
}

struct Scaled<'a, T> {
    xs: &'a [T],
    over: T,
    out: &'a mut [T],
}

impl<T: Float> Kernel for Scaled<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        self.out.iter_mut().zip(self.xs).for_each(|(w, &x)| *w = x / self.over);
    }
}

/// The derivative of the Euclidean norm, which is 0 where the norm is.
pub(crate) fn norm2_weights<T: Float>(xs: &[T], norm: T, out: &mut [T]) {
    match norm == T::ZERO {
        true => out.fill(T::ZERO),
        false => dispatch(Scaled { xs, over: norm, out }),
    }
}

/// The Euclidean norm and its derivative.
pub(crate) fn norm2_joint<T: Float>(xs: &[T], ordered: bool, out: &mut [T]) -> T {
    let norm = norm2(xs, ordered);
    norm2_weights(xs, norm, out);
    norm
}

struct Divided<'a, T>(&'a mut [T], T);

impl<T: Float> Kernel for Divided<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        self.0.iter_mut().for_each(|x| *x = *x / self.1);
    }
}

/// Divides all numbers by one.
pub(crate) fn divide<T: Float>(xs: &mut [T], by: T) {
    dispatch(Divided(xs, by));
}

/// The derivative of the absolute value.
#[inline(always)]
pub(crate) fn sign<T: Float>(x: T, at: T) -> T {
    slope(x, -T::ONE, at, T::ONE)
}

/// A sum of values of a function, and its slopes, in one pass.
struct SumJoint<'a, T> {
    xs: &'a [T],
    at: T,
    /// Of relu instead of the absolute value.
    relu: bool,
    slopes: &'a mut [T],
}

impl<T: Float> Kernel for SumJoint<'_, T> {
    type Output = T;
    #[inline(always)]
    fn run<I: Isa>(self) -> T {
        let SumJoint { xs, at, relu, slopes } = self;
        let relus = |x| (positive(x), slope(x, T::ZERO, at, T::ONE));
        let sizes = |x: T| (x.size(), sign(x, at));
        // registers as large as a line of the caches lie in one, or in two
        match (relu, size_of::<T>() * <T::V<I> as Simd<T>>::N >= LINE) {
            (true, true) => sum_beside_lines(xs, slopes, relus) + T::ZERO,
            (false, true) => sum_beside_lines(xs, slopes, sizes),
            (true, false) => sum_joint(xs, slopes, relus) + T::ZERO,
            (false, false) => sum_joint(xs, slopes, sizes),
        }
    }
}

/// So many bytes are a line of the caches.
const LINE: usize = 64;

/// So many numbers are read for a sum and then once more for slopes, while they are near.
const NEAR: usize = 512;

/// Sums as [`wide_sum`] does, and writes slopes beside it.
#[inline(always)]
fn sum_joint<T: Float>(xs: &[T], slopes: &mut [T], f: impl Fn(T) -> (T, T)) -> T {
    let mut sums = [T::NEG_ZERO; SUMS];
    let (chunks, rest) = xs.as_chunks::<SUMS>();
    let (wide, rest_slopes) = slopes.as_chunks_mut::<SUMS>();
    for (chunk, slopes) in chunks.iter().zip(wide) {
        for ((s, &x), w) in sums.iter_mut().zip(chunk).zip(slopes) {
            let (value, slope) = f(x);
            *s += value;
            *w = slope;
        }
    }
    rest.iter().zip(rest_slopes).fold(wide_sum(&sums, |x| x), |total, (&x, w)| {
        let (value, slope) = f(x);
        *w = slope;
        total + value
    })
}

/// The same, with slopes in registers that begin where a line of the caches does: else each of the widest would lie in two of them.
#[inline(always)]
fn sum_beside_lines<T: Float>(xs: &[T], slopes: &mut [T], f: impl Fn(T) -> (T, T)) -> T {
    let write = |xs: &[T], slopes: &mut [T]| slopes.iter_mut().zip(xs).for_each(|(w, &x)| *w = f(x).1);
    let mut sums = [T::NEG_ZERO; SUMS];
    let mut done = slopes.as_ptr().align_offset(LINE).min(slopes.len());
    write(&xs[..done], &mut slopes[..done]);
    let (chunks, rest) = xs.as_chunks::<SUMS>();
    for (k, near) in chunks.chunks(NEAR / SUMS).enumerate() {
        for chunk in near {
            for (s, &x) in sums.iter_mut().zip(chunk) {
                *s += f(x).0;
            }
        }
        let there = k * NEAR + near.len() * SUMS;
        let end = there - (there - done) % WIDE;
        // in runs of a length that is known, which are in registers whatever the instructions
        let (wide, _) = slopes[done..end].as_chunks_mut::<SUMS>();
        wide.iter_mut().zip(xs[done..end].as_chunks::<SUMS>().0).for_each(|(slopes, xs)| write(xs, slopes));
        done = end;
    }
    write(&xs[done..], &mut slopes[done..]);
    rest.iter().fold(wide_sum(&sums, |x| x), |total, &x| total + f(x).0)
}

/// The sum of `relu`; not in order.
pub(crate) fn sum_relu<T: Float>(xs: &[T]) -> T {
    dispatch(Sum { xs, of: Of::Relu })
}

/// The sum of `relu` and the slope at each number, in one pass; not in order.
pub(crate) fn sum_relu_joint<T: Float>(xs: &[T], at: T, slopes: &mut [T]) -> T {
    dispatch(SumJoint { xs, at, relu: true, slopes })
}

/// The sum of the absolute values and the sign of each number, in one pass.
pub(crate) fn norm1_joint<T: Float>(xs: &[T], at: T, ordered: bool, signs: &mut [T]) -> T {
    if ordered {
        for (&x, w) in xs.iter().zip(signs) {
            *w = sign(x, at);
        }
        return norm1(xs, true);
    }
    dispatch(SumJoint { xs, at, relu: false, slopes: signs })
}

struct Position<'a, T> {
    xs: &'a [T],
    value: T,
    sizes: bool,
}

impl<T: Float> Kernel for Position<'_, T> {
    type Output = Option<usize>;
    #[inline(always)]
    fn run<I: Isa>(self) -> Option<usize> {
        let hit = |x: T| (if self.sizes { x.size() } else { x }) == self.value;
        let (chunks, rest) = self.xs.as_chunks::<WIDE>();
        for (i, chunk) in chunks.iter().enumerate() {
            if chunk.iter().fold(false, |any, &x| any | hit(x)) {
                return chunk.iter().position(|&x| hit(x)).map(|j| i * WIDE + j);
            }
        }
        rest.iter().position(|&x| hit(x)).map(|j| chunks.len() * WIDE + j)
    }
}

/// Where a value stands first; of the absolute values if asked for.
pub(crate) fn position<T: Float>(xs: &[T], value: T, sizes: bool) -> Option<usize> {
    dispatch(Position { xs, value, sizes })
}

/// How the derivative is shared among the numbers that equal `value`. Beyond the range that is returned nobody has a share, unless all are NaN.
pub(crate) fn shares<T: Float>(xs: &[T], value: T, ties: Ties, sizes: bool, out: &mut [T]) -> Range<usize> {
    #[allow(clippy::eq_op)] // only NaN differs from itself
    if value != value {
        out.fill(value);
        return 0..0;
    }
    out.fill(T::ZERO);
    let hit = |x: T| (if sizes { x.size() } else { x }) == value;
    let Some(first) = position(xs, value, sizes) else { return 0..0 };
    match ties {
        Ties::First => {
            out[first] = T::ONE;
            first..first + 1
        }
        Ties::Last => {
            let last = xs.iter().rposition(|&x| hit(x)).unwrap_or(first);
            out[last] = T::ONE;
            last..last + 1
        }
        Ties::Every | Ties::Average => {
            let count = xs[first..].iter().filter(|&&x| hit(x)).count();
            let share = if ties == Ties::Every { T::ONE } else { T::ONE / T::from_usize(count) };
            for (w, &x) in out[first..].iter_mut().zip(&xs[first..]) {
                if hit(x) {
                    *w = share;
                }
            }
            first..xs.len()
        }
    }
}

/// The largest absolute value and its derivative. With `exact`, zeros carry the signs that the interpreter gives them.
pub(crate) fn norm_inf_joint<T: Float>(xs: &[T], at: T, ties: Ties, exact: bool, out: &mut [T]) -> T {
    if exact {
        let value = norm_inf(xs);
        shares(xs, value, ties, true, out);
        for (w, &x) in out.iter_mut().zip(xs) {
            *w = *w * sign(x, at);
        }
        return value;
    }
    let (value, from) = located(xs, Extreme::NormInf);
    let shared = share_from(xs, (value, from), ties, true, out);
    with_signs(&xs[shared.clone()], at, &mut out[shared]);
    value
}

/// Weights of sizes become those of the numbers. Only where there is a weight: a product with 0 would do no more than change its sign.
pub(crate) fn with_signs<T: Float>(xs: &[T], at: T, weights: &mut [T]) {
    for (w, &x) in weights.iter_mut().zip(xs) {
        if *w != T::ZERO {
            *w = *w * sign(x, at);
        }
    }
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extreme {
    Max,
    Min,
    NormInf,
}

/// The extreme number.
pub(crate) fn extreme<T: Float>(xs: &[T], what: Extreme) -> T {
    match what {
        Extreme::Max => max(xs),
        Extreme::Min => min(xs),
        Extreme::NormInf => norm_inf(xs),
    }
}

/// Stretches of so many numbers are told apart when the place of an extreme number is looked for.
const LOCATE: usize = 4096;

/// The extreme number, and a place before which it does not occur, less than [`LOCATE`] before it.
pub(crate) fn located<T: Float>(xs: &[T], what: Extreme) -> (T, usize) {
    let (mut value, mut at) = (extreme(&xs[..xs.len().min(LOCATE)], what), 0);
    for (i, part) in xs.chunks(LOCATE).enumerate().skip(1) {
        let here = extreme(part, what);
        let better = if what == Extreme::Min { here < value } else { here > value };
        if better {
            at = i * LOCATE;
        }
        value = if what == Extreme::Min { -maximum(-value, -here) } else { maximum(value, here) };
    }
    (value, at)
}

/// As [`shares`], for a value that does not occur before `from`.
pub(crate) fn share_from<T: Float>(
    xs: &[T],
    (value, from): (T, usize),
    ties: Ties,
    sizes: bool,
    out: &mut [T],
) -> Range<usize> {
    let (before, rest) = out.split_at_mut(from);
    #[allow(clippy::eq_op)] // only NaN differs from itself
    before.fill(if value != value { value } else { T::ZERO });
    let shared = shares(&xs[from..], value, ties, sizes, rest);
    from + shared.start..from + shared.end
}

/// `log(sum(exp))` with the largest member taken out; the exponentials, and their sum, stay behind.
pub(crate) fn log_sum_exp<T: Float>(xs: &[T], powers: &mut [T], exact: bool) -> (T, T) {
    let top = max(xs);
    if exact {
        for (p, &x) in powers.iter_mut().zip(xs) {
            *p = (x - top).library_exp();
        }
        let total = sum(powers, true);
        (top + total.library_ln(), total)
    } else {
        let total = self::powers(xs, top, powers);
        (top + total.library_ln(), total)
    }
}

/// The exponentials of numbers less the largest, and their sum; not in order.
pub(crate) fn powers<T: Float>(xs: &[T], top: T, powers: &mut [T]) -> T {
    dispatch(Powers { xs, top, powers })
}

struct Powers<'a, T> {
    xs: &'a [T],
    top: T,
    powers: &'a mut [T],
}

impl<T: Float> Kernel for Powers<'_, T> {
    type Output = T;
    #[inline(always)]
    fn run<I: Isa>(self) -> T {
        for (p, &x) in self.powers.iter_mut().zip(self.xs) {
            *p = (x - self.top).vector_exp(I::FMA);
        }
        wide_sum(self.powers, |x| x)
    }
}

/// The largest entry of A x, with the values of all rows left in `rows`.
pub(crate) fn max_linear<T: Float>(a: &[T], x: &[T], exact: bool, rows: &mut [T]) -> T {
    let n = x.len();
    if exact {
        for (value, row) in rows.iter_mut().zip(a.chunks_exact(n)) {
            let mut terms = row.iter().zip(x).map(|(&a, &x)| a * x);
            let first = terms.next().unwrap_or(T::ZERO);
            *value = terms.fold(first, |s, t| s + t);
        }
        return max(rows);
    }
    let (count, row) = (rows.len(), n as isize);
    dispatch(Dots { matrix: a, at: 0, row, rows: count, x, out: rows, to: 0, step: 1 });
    max(rows)
}

/// A number times a share of which 0 and 1 only move numbers about.
#[inline(always)]
fn scaled<T: Float>(share: T, y: T) -> T {
    if share == T::ZERO {
        T::ZERO
    } else if share == T::ONE {
        y
    } else {
        share * y
    }
}

/// The derivative of the largest entry of A x by A and by x; `rows` holds the values and becomes the shares.
pub(crate) fn max_linear_weights<T: Float>(
    a: &[T],
    x: &[T],
    (value, ties): (T, Ties),
    rows: (&[T], &mut [T]),
    by_a: Option<&mut [T]>,
    by_x: Option<&mut [T]>,
) {
    let (values, share) = rows;
    shares(values, value, ties, false, share);
    if let Some(by_a) = by_a {
        share.iter().zip(by_a.chunks_exact_mut(x.len())).for_each(|(&s, out)| max_linear_row(s, x, out));
    }
    if let Some(by_x) = by_x {
        max_linear_column(share, a.chunks_exact(x.len()), by_x);
    }
}

/// The derivative of the largest entry of A x by a row of A, or by a part of it, for which x has that part.
pub(crate) fn max_linear_row<T: Float>(share: T, x: &[T], out: &mut [T]) {
    if share == T::ZERO {
        out.fill(T::ZERO);
    } else {
        out.iter_mut().zip(x).for_each(|(o, &x)| *o = scaled(share, x));
    }
}

/// The derivative of the largest entry of A x by x, or by a part of it, for which the rows have that part.
pub(crate) fn max_linear_column<'a, T: Float>(shares: &[T], rows: impl Iterator<Item = &'a [T]>, by_x: &mut [T]) {
    let single = shares.iter().filter(|&&s| s != T::ZERO).count() == 1;
    for (r, (&s, row)) in shares.iter().zip(rows).enumerate() {
        // adding a zero changes nothing but the sign of a zero, which the first row settles
        if r == 0 {
            by_x.iter_mut().zip(row).for_each(|(o, &a)| *o = scaled(s, a));
        } else if !single || s != T::ZERO {
            by_x.iter_mut().zip(row).for_each(|(o, &a)| *o += scaled(s, a));
        } else {
            by_x.iter_mut().for_each(|o| *o += T::ZERO);
        }
    }
}
