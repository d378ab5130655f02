//! Maxima of windows, and the way back through them: each adjoint goes to the element that won.
//!
//! Rows of windows are worked on a fixed number at a time, so that the compiler keeps them in registers. The last of a stretch reach back
//! into those before them, which come out the same once more; where a stretch is shorter, what is beyond it is written over by the next.

use super::lower::Buf;
use super::memory::Pointers;
use super::walk::Walk;
use super::windows::Windows;
use crate::float::{Float, maximum};
use crate::isa::{Isa, Kernel, Simd, dispatch, each};
use crate::kernel::registers::{WIDEST, put, some};
use crease_core::Layout;

/// The largest of each window, with the place of the first or last that is, for the way back.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub windows: Windows,
    pub image: Buf,
    pub smallest: bool,
    pub last: bool,
    pub values: Buf,
    /// The column that won, as a number; absent if nobody asks.
    pub winners: Option<Buf>,
}

impl Pool {
    pub fn run<T: Float>(&self, p: &Pointers<'_, T>) {
        dispatch(RunPool { pool: self, p });
    }
}

struct RunPool<'a, 'p, T> {
    pool: &'a Pool,
    p: &'a Pointers<'p, T>,
}

impl<T: Float> Kernel for RunPool<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let (pool, p) = (self.pool, self.p);
        let image = p.read(pool.image);
        let values = p.write(pool.values);
        let (rows, step) = (pool.windows.along.size, pool.windows.along.stride as usize);
        let offsets = &pool.windows.offsets[..];
        let reach = offsets.iter().max().copied().unwrap_or(0) as usize + W * step;
        for (s, &base) in pool.windows.bases.iter().enumerate() {
            for from in (0..rows).step_by(W) {
                let place = from.min(rows.saturating_sub(W));
                let (len, start) = (W.min(rows - place), base as usize + place * step);
                // numbers beyond the last row do no harm as long as they lie in the image
                let inside = start + reach <= image.len() && !pool.smallest;
                let (best, winners) = match (step, pool.last) {
                    (1, false) if inside => {
                        contest::<T, false, false>(offsets, |o| evenly::<T, 1>(&image[start + o..]))
                    }
                    (1, true) if inside => contest::<T, false, true>(offsets, |o| evenly::<T, 1>(&image[start + o..])),
                    (2, false) if inside => {
                        contest::<T, false, false>(offsets, |o| evenly::<T, 2>(&image[start + o..]))
                    }
                    (2, true) if inside => contest::<T, false, true>(offsets, |o| evenly::<T, 2>(&image[start + o..])),
                    (_, last) => {
                        let (image, width) = (&image[start..], (len, step));
                        match (pool.smallest, last) {
                            (true, false) => contest::<T, true, false>(offsets, |o| apart(&image[o..], width)),
                            (true, true) => contest::<T, true, true>(offsets, |o| apart(&image[o..], width)),
                            (false, false) => contest::<T, false, false>(offsets, |o| apart(&image[o..], width)),
                            (false, true) => contest::<T, false, true>(offsets, |o| apart(&image[o..], width)),
                        }
                    }
                };
                give(&best, values, s * rows + place, len);
                if let Some(b) = pool.winners {
                    give(&winners, p.write(b), s * rows + place, len);
                }
            }
        }
    }
}

/// So many rows are worked on at once: fewer, and the compiler would take them one by one.
const W: usize = WIDEST;

/// Numbers that lie `STEP` apart; so many as these are looked at in all lie there.
#[inline(always)]
fn evenly<T: Float, const STEP: usize>(x: &[T]) -> [T; W] {
    let x = &x[..W * STEP];
    each(|i| x[i * STEP])
}

/// The first `len` numbers that lie `step` apart, and zeros.
#[inline(always)]
fn apart<T: Float>(x: &[T], (len, step): (usize, usize)) -> [T; W] {
    each(|i| if i < len { x[i * step] } else { T::ZERO })
}

/// The largest (or smallest) of the columns in each row, and the number of the first (or last) column that has it.
#[inline(always)]
fn contest<T: Float, const SMALLEST: bool, const LAST: bool>(
    offsets: &[u32],
    column: impl Fn(usize) -> [T; W],
) -> ([T; W], [T; W]) {
    let (mut best, mut winners, mut number) = (column(offsets[0] as usize), [T::ZERO; W], T::ZERO);
    for &offset in &offsets[1..] {
        let x = column(offset as usize);
        number += T::ONE;
        for i in 0..W {
            let (a, b) = if SMALLEST { (-best[i], -x[i]) } else { (best[i], x[i]) };
            let better = if LAST { b >= a } else { b > a };
            winners[i] = if better { number } else { winners[i] };
            let m = maximum(a, b);
            best[i] = if SMALLEST { -m } else { m };
        }
    }
    (best, winners)
}

/// Puts numbers in their places: all of them, if they fit, though only the first `len` are there to stay. Places are written in order.
#[inline(always)]
fn give<T: Float, const W: usize>(x: &[T; W], out: &mut [T], to: usize, len: usize) {
    match out[to..].first_chunk_mut::<W>() {
        Some(out) => *out = *x,
        None => out[to..to + len].copy_from_slice(&x[..len]),
    }
}

/// Numbers from a place on, a register full; beyond the end there are zeros.
#[inline(always)]
fn receive<T: Float, V: Simd<T>>(x: &[T], from: usize) -> V {
    some(x, from, x.len() - from)
}

/// What some rows give to a column that has won, and to one that has not: their adjoints, and 0 times those, which is 0 of all that is finite; NaN to both where the
/// value is NaN.
///
/// # Safety
///
/// Called in kernels only.
#[inline(always)]
unsafe fn stakes<T: Float, V: Simd<T>>(adjoint: V, values: V) -> [V; 2] {
    // SAFETY: by the contract of the caller
    unsafe {
        // a product, to which -0 adds nothing
        let times = |x: V| adjoint.times_plus(x, V::splat(T::NEG_ZERO));
        // only NaN differs from itself
        let nan = times(values);
        [adjoint, times(V::splat(T::ZERO))].map(|stake| values.where_equal(values, stake, nan))
    }
}

/// The way back through [`Pool`]: each adjoint goes to the element that won.
#[derive(Clone, Debug)]
pub(crate) struct Unpool {
    pub windows: Windows,
    pub winners: Buf,
    pub values: Buf,
    /// Where the adjoint lies, and how it is read if not in order: as an index map, and as a walk along it.
    pub adjoint: (Buf, Option<(Layout, Walk)>),
    /// Whether the windows tile the image: every element lies in one of them.
    pub tiles: bool,
    pub out: Buf,
}

impl Unpool {
    /// How many numbers of working space a run needs.
    pub fn space(&self) -> usize {
        self.windows.along.size + WIDEST
    }

    pub fn run<T: Float>(&self, p: &Pointers<'_, T>, space: &mut [T]) {
        dispatch(RunUnpool { pool: self, p, space });
    }
}

struct RunUnpool<'a, 'p, T> {
    pool: &'a Unpool,
    p: &'a Pointers<'p, T>,
    space: &'a mut [T],
}

impl<T: Float> Kernel for RunUnpool<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        self.rows::<T::V<I>>();
    }
}

impl<T: Float> RunUnpool<'_, '_, T> {
    #[inline(always)]
    fn rows<V: Simd<T>>(self) {
        let (pool, p) = (self.pool, self.p);
        let (winners, values, adjoint, out) =
            (p.read(pool.winners), p.read(pool.values), p.read(pool.adjoint.0), p.write(pool.out));
        let (rows, step) = (pool.windows.along.size, pool.windows.along.stride as usize);
        let (pairs, rest) = pool.windows.offsets.as_chunks::<2>();
        // neighbours in pairs, each of which is written once
        let paired = pool.tiles && step == 2 && rest.is_empty() && pairs.iter().all(|[a, b]| a + 1 == *b);
        // line by line, so that what is written beyond a line is written over by the next
        let line = |number: usize| (number * 2 * rows) as u32;
        let in_lines = pairs.iter().enumerate().all(|(k, pair)| pair[0] == line(k))
            && pool.windows.bases.iter().enumerate().all(|(s, &base)| base == line(s * pairs.len()));
        if !paired {
            out.fill(T::ZERO);
        }
        let mut lines = pool.adjoint.1.as_ref().and_then(|(_, walk)| walk.lines(rows, pool.windows.bases.len()));
        for (s, &base) in pool.windows.bases.iter().enumerate() {
            let (adjoint, at) = match (&pool.adjoint.1, lines.as_mut().and_then(Iterator::next)) {
                (None, _) => (adjoint, s * rows),
                (Some(_), Some((_, first, ..))) => (adjoint, first),
                (Some((_, walk)), None) => {
                    walk.load(adjoint, s * rows, &mut self.space[..rows]);
                    (&self.space[..rows + V::N], 0)
                }
            };
            for from in (0..rows).step_by(V::N) {
                // what is added is added once; what is written may be written again
                let place = if paired { from.min(rows.saturating_sub(V::N)) } else { from };
                let len = V::N.min(rows - place);
                let won: V = receive(winners, s * rows + place);
                // SAFETY: this is a kernel
                let stakes = unsafe { stakes::<T, V>(receive(adjoint, at + place), receive(values, s * rows + place)) };
                // SAFETY: as above
                let share = |number: T| unsafe { won.where_equal(V::splat(number), stakes[0], stakes[1]) };
                let mut number = T::ZERO;
                if paired {
                    for [offset, _] in pairs {
                        // SAFETY: as above
                        let (low, high) = unsafe { share(number).interleave(share(number + T::ONE)) };
                        number += T::ONE + T::ONE;
                        let to = base as usize + *offset as usize + 2 * place;
                        let len = if in_lines && to + 2 * V::N <= out.len() { 2 * V::N } else { 2 * len };
                        put(low, out, to, len);
                        if len > V::N {
                            put(high, out, to + V::N, len - V::N);
                        }
                    }
                } else {
                    for &offset in &pool.windows.offsets {
                        let cells = &mut out[base as usize + offset as usize + place * step..];
                        let mut shares = [T::ZERO; WIDEST];
                        put(share(number), &mut shares, 0, V::N);
                        number += T::ONE;
                        cells.iter_mut().step_by(step).zip(&shares[..len]).for_each(|(c, &x)| *c += x);
                    }
                }
            }
        }
    }
}
