//! Maxima of windows, and the way back through them: each adjoint goes to the element that won.
//!
//! Rows of windows are worked on a fixed number at a time, so that the compiler keeps them in registers; what is beyond the last
//! row is computed and thrown away.

use super::lower::Buf;
use super::memory::Pointers;
use super::walk::Walk;
use super::windows::{WIDEST, Windows, fetch, put, some};
use crate::float::{Float, maximum};
use crate::isa::{Isa, Kernel, Simd, dispatch};

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
        match (self.pool.smallest, self.pool.last) {
            (false, false) => self.rows::<I, false, false>(),
            (false, true) => self.rows::<I, false, true>(),
            (true, false) => self.rows::<I, true, false>(),
            (true, true) => self.rows::<I, true, true>(),
        }
    }
}

/// As many rows of windows as are worked on at once.
type Few<T> = [T; WIDEST];

impl<T: Float> RunPool<'_, '_, T> {
    #[inline(always)]
    fn rows<I: Isa, const SMALLEST: bool, const LAST: bool>(self) {
        let (pool, p) = (self.pool, self.p);
        let image = p.read(pool.image);
        let values = p.write(pool.values);
        let (rows, step) = (pool.windows.along.size, pool.windows.along.stride as usize);
        let offsets = &pool.windows.offsets[..];
        let reach = offsets.iter().max().copied().unwrap_or(0) as usize + (WIDEST - 1) * step;
        for (s, &base) in pool.windows.bases.iter().enumerate() {
            for from in (0..rows).step_by(WIDEST) {
                let (len, start) = (WIDEST.min(rows - from), base as usize + from * step);
                // numbers beyond the last row do no harm as long as they lie in the image
                let inside = start + reach < image.len();
                let (best, winners) = match step {
                    1 if inside => contest::<T, SMALLEST, LAST>(offsets, |o| evenly::<T, 1>(&image[start + o..])),
                    2 if inside => contest::<T, SMALLEST, LAST>(offsets, |o| evenly::<T, 2>(&image[start + o..])),
                    _ => contest::<T, SMALLEST, LAST>(offsets, |o| {
                        std::array::from_fn(|i| if i < len { image[start + o + i * step] } else { T::ZERO })
                    }),
                };
                give::<T, I>(&best, values, s * rows + from, len);
                if let Some(b) = pool.winners {
                    give::<T, I>(&winners, p.write(b), s * rows + from, len);
                }
            }
        }
    }
}

/// Numbers that lie `STEP` apart.
#[inline(always)]
fn evenly<T: Float, const STEP: usize>(x: &[T]) -> Few<T> {
    let x = &x[..(WIDEST - 1) * STEP + 1];
    std::array::from_fn(|i| x[i * STEP])
}

/// The largest (or smallest) of the columns in each row, and the number of the first (or last) column that has it.
#[inline(always)]
fn contest<T: Float, const SMALLEST: bool, const LAST: bool>(
    offsets: &[u32],
    column: impl Fn(usize) -> Few<T>,
) -> (Few<T>, Few<T>) {
    let (mut best, mut winners) = (column(offsets[0] as usize), [T::ZERO; WIDEST]);
    for (c, &offset) in offsets.iter().enumerate().skip(1) {
        let (x, number) = (column(offset as usize), T::from_usize(c));
        for i in 0..WIDEST {
            let (a, b) = if SMALLEST { (-best[i], -x[i]) } else { (best[i], x[i]) };
            let better = if LAST { b >= a } else { b > a };
            winners[i] = if better { number } else { winners[i] };
            let m = maximum(a, b);
            best[i] = if SMALLEST { -m } else { m };
        }
    }
    (best, winners)
}

/// Puts the first `len` numbers in their places.
#[inline(always)]
fn give<T: Float, I: Isa>(x: &[T], out: &mut [T], to: usize, len: usize) {
    let lanes = <T::V<I> as Simd<T>>::N;
    for (k, part) in x.chunks_exact(lanes).enumerate().take_while(|(k, _)| k * lanes < len) {
        put(fetch::<T, T::V<I>>(part, 0, 1), out, to + k * lanes, len - k * lanes);
    }
}

/// The adjoints of the rows that a column has won, and 0 times those of the others, which is 0 of all that is finite; of all
/// whose value is NaN.
#[inline(always)]
fn shares<T: Float>(adjoint: &Few<T>, winners: &Few<T>, values: &Few<T>, number: T) -> Few<T> {
    let mut out = [T::ZERO; WIDEST];
    for i in 0..WIDEST {
        let won = if winners[i] == number { adjoint[i] } else { adjoint[i] * T::ZERO };
        #[allow(clippy::eq_op)] // only NaN differs from itself
        let odd = values[i] != values[i];
        out[i] = if odd { adjoint[i] * values[i] } else { won };
    }
    out
}

/// Puts the first `len` of the numbers of both in turn in their places.
#[inline(always)]
fn give_in_turn<T: Float, I: Isa>((a, b): (&Few<T>, &Few<T>), out: &mut [T], to: usize, len: usize) {
    let lanes = <T::V<I> as Simd<T>>::N;
    for k in (0..WIDEST).step_by(lanes).take_while(|k| 2 * k < len) {
        let (a, b) = (fetch::<T, T::V<I>>(a, k, 1), fetch::<T, T::V<I>>(b, k, 1));
        // SAFETY: called in kernels only
        let (low, high) = unsafe { Simd::<T>::interleave(a, b) };
        put(low, out, to + 2 * k, len - 2 * k);
        if len > 2 * k + lanes {
            put(high, out, to + 2 * k + lanes, len - 2 * k - lanes);
        }
    }
}

/// The first `len` numbers, then zeros.
#[inline(always)]
fn receive<T: Float, I: Isa>(x: &[T], from: usize, len: usize) -> Few<T> {
    let lanes = <T::V<I> as Simd<T>>::N;
    let mut out = [T::ZERO; WIDEST];
    for (k, part) in out.chunks_exact_mut(lanes).enumerate().take_while(|(k, _)| k * lanes < len) {
        put(some::<T, T::V<I>>(x, from + k * lanes, len - k * lanes), part, 0, lanes);
    }
    out
}

/// The way back through [`Pool`]: each adjoint goes to the element that won.
#[derive(Clone, Debug)]
pub(crate) struct Unpool {
    pub windows: Windows,
    pub winners: Buf,
    pub values: Buf,
    /// Where the adjoint lies, and how it is read if not in order.
    pub adjoint: (Buf, Option<Walk>),
    /// Whether the windows tile the image: every element lies in one of them.
    pub tiles: bool,
    pub out: Buf,
}

impl Unpool {
    /// How many numbers of working space a run needs.
    pub fn space(&self) -> usize {
        self.windows.along.size
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
        let (pool, p) = (self.pool, self.p);
        let (winners, values, adjoint, out) =
            (p.read(pool.winners), p.read(pool.values), p.read(pool.adjoint.0), p.write(pool.out));
        let (rows, step) = (pool.windows.along.size, pool.windows.along.stride as usize);
        let (pairs, rest) = pool.windows.offsets.as_chunks::<2>();
        // neighbours in pairs, each of which is written once
        let paired = pool.tiles && step == 2 && rest.is_empty() && pairs.iter().all(|[a, b]| a + 1 == *b);
        if !paired {
            out.fill(T::ZERO);
        }
        for (s, &base) in pool.windows.bases.iter().enumerate() {
            let adjoint = match &pool.adjoint.1 {
                None => &adjoint[s * rows..][..rows],
                Some(walk) => {
                    walk.load(adjoint, s * rows, &mut self.space[..rows]);
                    &self.space[..rows]
                }
            };
            for from in (0..rows).step_by(WIDEST) {
                let len = WIDEST.min(rows - from);
                let at = s * rows + from;
                let (a, w) = (receive::<T, I>(adjoint, from, len), receive::<T, I>(winners, at, len));
                let v = receive::<T, I>(values, at, len);
                let share = |k: usize| shares(&a, &w, &v, T::from_usize(k));
                if paired {
                    for (k, [offset, _]) in pairs.iter().enumerate() {
                        let (left, right) = (share(2 * k), share(2 * k + 1));
                        let to = base as usize + *offset as usize + 2 * from;
                        give_in_turn::<T, I>((&left, &right), out, to, 2 * len);
                    }
                } else {
                    for (k, &offset) in pool.windows.offsets.iter().enumerate() {
                        let cells = &mut out[base as usize + offset as usize + from * step..];
                        let share = share(k);
                        cells.iter_mut().step_by(step).zip(&share[..len]).for_each(|(c, &x)| *c += x);
                    }
                }
            }
        }
    }
}
