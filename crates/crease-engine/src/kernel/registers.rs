//! Registers that are not full, and squares of them turned over.

use crate::float::Float;
use crate::isa::{Isa, Kernel, Simd};

/// The most lanes of a vector register, and room to read one register beyond the end.
pub(crate) const WIDEST: usize = 16;

/// Whether there are registers half as wide.
#[inline(always)]
pub(crate) fn narrow<T: Float, I: Isa>() -> bool {
    <T::V<I::Narrow> as Simd<T>>::N < <T::V<I> as Simd<T>>::N
}

/// The first `len` numbers of a register, the others 0.
#[inline(always)]
pub(crate) fn some<T: Float, V: Simd<T>>(x: &[T], from: usize, len: usize) -> V {
    let x = &x[from..from + len.min(V::N)];
    // SAFETY: the slice has so many numbers
    unsafe { if x.len() == V::N { V::load(x.as_ptr()) } else { V::load_some(x.as_ptr(), x.len()) } }
}

/// The first `len` numbers of a register, put in their places.
#[inline(always)]
pub(crate) fn put<T: Float, V: Simd<T>>(v: V, out: &mut [T], from: usize, len: usize) {
    let out = &mut out[from..from + len.min(V::N)];
    // SAFETY: the slice has so many numbers; what is written whole can be read again at once
    unsafe { if out.len() == V::N { v.store(out.as_mut_ptr()) } else { v.store_some(out.as_mut_ptr(), out.len()) } }
}

/// A register of zeros.
#[inline(always)]
pub(crate) fn zero<T: Float, V: Simd<T>>() -> V {
    // SAFETY: called in kernels only
    unsafe { V::splat(T::ZERO) }
}

/// As many rows as a register has lanes, turned over: row number `k` of the result has number `k` of every row.
///
/// # Safety
///
/// Called in kernels only.
#[inline(always)]
unsafe fn turned<T: Float, V: Simd<T>>(mut rows: [V; WIDEST]) -> [V; WIDEST] {
    // in each round numbers that are half of all rows apart come to lie side by side
    let mut apart = 1;
    while apart < V::N {
        let mut next = rows;
        for i in 0..V::N / 2 {
            // SAFETY: by the contract
            (next[2 * i], next[2 * i + 1]) = unsafe { rows[i].interleave(rows[i + V::N / 2]) };
        }
        rows = next;
        apart *= 2;
    }
    rows
}

/// A matrix whose rows lie `apart`, transposed: its columns lie `wide` apart then. A kernel of its own, since it is needed in several.
pub(crate) struct Turn<'a, T> {
    pub from: &'a [T],
    pub apart: usize,
    pub rows: usize,
    pub columns: usize,
    pub out: &'a mut [T],
    pub wide: usize,
    /// Whether columns are filled up with zeros to a multiple of the lanes.
    pub filled: bool,
    /// How many lanes the registers have: all that there are, or half of them.
    pub lanes: usize,
}

impl<T: Float> Turn<'_, T> {
    #[inline(always)]
    fn turn<I: Isa>(self) {
        let lanes = <T::V<I> as Simd<T>>::N;
        for r in (0..self.rows).step_by(lanes) {
            for c in (0..self.columns).step_by(lanes) {
                let (rows, columns) = (lanes.min(self.rows - r), lanes.min(self.columns - c));
                let len = if self.filled { lanes } else { rows };
                let (from, out) = (&self.from[r * self.apart + c..], &mut self.out[c * self.wide + r..]);
                square::<T, I>(from, self.apart, (rows, columns), out, self.wide, len);
            }
        }
    }
}

impl<T: Float> Kernel for Turn<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        match narrow::<T, I>() && self.lanes < <T::V<I> as Simd<T>>::N {
            true => self.turn::<I::Narrow>(),
            false => self.turn::<I>(),
        }
    }
}

/// A matrix of no more rows and columns than a register has lanes, transposed: the first `len` numbers of each column.
/// Rows that do not exist are zero.
#[inline(always)]
fn square<T: Float, I: Isa>(
    from: &[T],
    apart: usize,
    (rows, columns): (usize, usize),
    out: &mut [T],
    wide: usize,
    len: usize,
) {
    let lanes = <T::V<I> as Simd<T>>::N;
    let mut all = [zero::<T, T::V<I>>(); WIDEST];
    if rows.min(columns).min(len) == lanes {
        let (from, out) = (&from[..(lanes - 1) * apart + lanes], &mut out[..(lanes - 1) * wide + lanes]);
        let out = out.as_mut_ptr();
        // SAFETY: both slices hold all of the square, just checked; called in kernels only
        unsafe {
            for (k, row) in all.iter_mut().enumerate().take(lanes) {
                *row = Simd::<T>::load(from.as_ptr().add(k * apart));
            }
            for (k, column) in turned::<T, _>(all).into_iter().enumerate().take(lanes) {
                Simd::<T>::store(column, out.add(k * wide));
            }
        }
        return;
    }
    for (k, row) in all.iter_mut().enumerate().take(lanes.min(rows)) {
        *row = some(from, k * apart, columns);
    }
    // SAFETY: called in kernels only
    let all = unsafe { turned::<T, _>(all) };
    for (k, &row) in all.iter().enumerate().take(columns) {
        put(row, out, k * wide, len);
    }
}
