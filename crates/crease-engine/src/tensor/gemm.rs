//! Blocked matrix products.
//!
//! Sums of a tile of the result stay in registers while a stretch of the inner dimension goes by. The second matrix is copied
//! into the workspace in the order in which tiles read it, unless the first has so few rows that copying is not repaid. The first is copied if its columns lie
//! in order, and if its rows would fall into the same few places of the caches, as those of a power of two of bytes do; else tiles read its rows where they are. Blocks are sized so that a part of
//! the first matrix stays in the second cache and one panel of the second matrix in the first. The order of every sum is fixed.

use super::product::View;
use crate::float::Float;
use crate::isa::{Isa, Kernel, Simd, dispatch};
use crate::kernel::registers::{Turn, WIDEST};

/// The inner dimension is taken in stretches of so many.
const DEEP: usize = 256;
/// So many rows stay in the second cache.
const TALL: usize = 96;
/// The most columns of a tile: two registers of the widest kind.
const WIDE: usize = 2 * WIDEST;
/// The second matrix is copied if the first has so many rows.
const ROWS_REPAY: usize = 48;
/// The first matrix is copied if the second has so many columns.
const COLUMNS_REPAY: usize = 64;

/// With so many registers tiles are those of the first kind.
const MANY: usize = 32;
/// The rows of tiles where there are many registers, and where there are few: of most tiles, and of those that leave fewer rows over.
const TILES: [(usize, usize); 2] = [(12, 8), (6, 4)];

/// How many numbers of working space a product needs: for the second matrix, then for a block of the first.
fn spaces(view: &View, [m, n, k]: [usize; 3]) -> [usize; 2] {
    let columns = if in_place(view, m) || m <= TALL { WIDE } else { n.next_multiple_of(WIDE) };
    let rows = if n >= COLUMNS_REPAY { m.min(TALL) } else { 0 };
    [columns * k.min(DEEP), rows * k.min(DEEP)]
}

/// How many numbers of working space a product needs.
pub(crate) fn space(view: &View, size: [usize; 3]) -> usize {
    spaces(view, size).iter().sum()
}

/// Whether whole panels of the second matrix are read where they lie.
fn in_place(b: &View, rows: usize) -> bool {
    b.column == 1 && rows < ROWS_REPAY
}

/// A product of two matrices.
pub(crate) struct Gemm<'a, T> {
    pub a: &'a [T],
    pub b: &'a [T],
    pub out: &'a mut [T],
    pub views: [View; 3],
    pub size: [usize; 3],
    pub space: &'a mut [T],
}

impl<T: Float> Kernel for Gemm<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        match I::REGISTERS >= MANY {
            true => self.blocks::<I, { TILES[0].0 }, { TILES[0].1 }>(),
            false => self.blocks::<I, { TILES[1].0 }, { TILES[1].1 }>(),
        }
    }
}

/// Where a panel of the second matrix is read: its first element and the distance of its rows.
#[derive(Clone, Copy)]
struct Panel<T> {
    start: *const T,
    row: usize,
}

impl<T: Float> Gemm<'_, T> {
    /// In tiles of `M` rows, of `F` where that leaves fewer over, and of one at last.
    #[inline(always)]
    fn blocks<I: Isa, const M: usize, const F: usize>(self) {
        let [m, n, k] = self.size;
        let [va, vb, vo] = self.views;
        // every element that is read or written lies inside, so that no single access has to be checked
        assert!(va.fits(m, k, self.a.len()) && vb.fits(k, n, self.b.len()) && vo.fits(m, n, self.out.len()));
        assert!(vo.column == 1);
        let [for_b, for_a] = spaces(&vb, self.size);
        let (panels, rest) = self.space.split_at_mut(for_b);
        let block = &mut rest[..for_a];
        let lanes = <T::V<I> as Simd<T>>::N;
        let columns = 2 * lanes;
        // columns from here on are copied
        let copied = if in_place(&vb, m) { n / columns * columns } else { 0 };
        // all panels are copied at once if several blocks of the first matrix meet them, else each when it is needed, so that it stays in the first cache
        let at_once = m > TALL;
        // rows that lie in order are read where they are, unless those of a tile fall into the same few places of the first cache
        let copies = n >= COLUMNS_REPAY && (va.column != 1 || crowded(size_of::<T>() * va.row.unsigned_abs(), M));
        for deep in (0..k).step_by(DEEP) {
            let depth = DEEP.min(k - deep);
            let from = |p: usize| Lines { x: self.b, at: vb.index(deep, p), apart: vb.column, along: vb.row };
            if at_once {
                for (p, panel) in (copied..n).step_by(columns).zip(panels.chunks_exact_mut(columns * depth)) {
                    dispatch(Copy { lines: from(p), count: columns.min(n - p), wide: columns, to: panel });
                }
            }
            for tall in (0..m).step_by(TALL) {
                let end = m.min(tall + TALL);
                let low = tall + in_low_tiles::<M, F>(end - tall);
                // the rows of the tile that begins with a row
                let height = |i: usize| match i < low {
                    true => F,
                    false if end - i >= M => M,
                    false => 1,
                };
                if copies {
                    let mut to = &mut block[..];
                    let mut i = tall;
                    while i < end {
                        let rows = height(i);
                        let (tile, others) = to.split_at_mut(rows * depth);
                        let lines = Lines { x: self.a, at: va.index(i, deep), apart: va.row, along: va.column };
                        dispatch(Copy { lines, count: rows, wide: rows, to: tile });
                        (to, i) = (others, i + rows);
                    }
                }
                for j in (0..n).step_by(columns) {
                    let panel = if j < copied {
                        Panel { start: self.b[vb.index(deep, j)..].as_ptr(), row: vb.row as usize }
                    } else {
                        let number = if at_once { (j - copied) / columns } else { 0 };
                        if !at_once {
                            let to = &mut panels[..columns * depth];
                            dispatch(Copy { lines: from(j), count: columns.min(n - j), wide: columns, to });
                        }
                        Panel { start: panels[number * columns * depth..].as_ptr(), row: columns }
                    };
                    let (width, adds) = (columns.min(n - j), deep > 0);
                    let mut i = tall;
                    while i < end {
                        let rows = height(i);
                        let a = match copies {
                            true => block[(i - tall) * depth..].as_ptr(),
                            false => self.a[va.index(i, deep)..].as_ptr(),
                        };
                        let out = self.out[vo.index(i, j)..].as_mut_ptr();
                        let va = if copies { View { at: 0, row: 1, column: rows as isize } } else { va };
                        let tile = Tile { a, va, panel, out, row: vo.row, depth, width, adds };
                        match (rows, copies) {
                            (1, _) => tile.run::<I, 1, false>(),
                            (rows, true) if rows == M => tile.run::<I, M, true>(),
                            (rows, false) if rows == M => tile.run::<I, M, false>(),
                            (_, true) => tile.run::<I, F, true>(),
                            (_, false) => tile.run::<I, F, false>(),
                        }
                        i += rows;
                    }
                }
            }
        }
    }
}

/// Whether the beginnings of so many rows are too many for the places of the first cache that they fall into. A number has its place by the last twelve bits of
/// its address, at each there is room for eight lines or more, and two of them are left to others.
fn crowded(apart: usize, rows: usize) -> bool {
    rows << apart.trailing_zeros().min(12) > 6 << 12
}

/// How many of so many rows go into tiles of `F` rows: as many as leave the fewest over when the others go into tiles of `M`.
#[inline(always)]
fn in_low_tiles<const M: usize, const F: usize>(rows: usize) -> usize {
    let mut best = 0;
    for low in [F, 2 * F] {
        if low <= rows && (rows - low) % M < (rows - best) % M {
            best = low;
        }
    }
    best
}

/// Rows or columns of a matrix that begin `apart` from each other and whose numbers lie `along` apart.
#[derive(Clone, Copy)]
struct Lines<'a, T> {
    x: &'a [T],
    at: usize,
    apart: isize,
    along: isize,
}

impl<T: Float> Lines<'_, T> {
    #[inline(always)]
    fn index(&self, line: usize, number: usize) -> usize {
        (self.at as isize + line as isize * self.apart + number as isize * self.along) as usize
    }

    /// As [`copy`](Lines::copy), for `N` lines: with a length that is known, moving a few numbers is no call.
    #[inline(always)]
    fn some<const N: usize>(&self, to: &mut [T]) {
        if self.apart != 1 {
            return self.copy(N, N, to);
        }
        let (rows, _) = to.as_chunks_mut::<N>();
        for (l, to) in rows.iter_mut().enumerate() {
            if let Some(from) = self.x[self.index(0, l)..].first_chunk::<N>() {
                *to = *from;
            }
        }
    }

    /// As [`copy`](Lines::copy), for the rows of a tile.
    #[inline(always)]
    fn rows<const M: usize, const F: usize>(&self, count: usize, to: &mut [T]) {
        match count {
            count if count == M => self.some::<M>(to),
            count if count == F => self.some::<F>(to),
            _ => self.copy(count, count, to),
        }
    }

    /// As [`copy`](Lines::copy), for as many lines as two registers have lanes.
    #[inline(always)]
    fn whole<I: Isa>(&self, to: &mut [T]) {
        let lanes = <T::V<I> as Simd<T>>::N;
        let wide = 2 * lanes;
        if self.apart == 1 {
            for (l, to) in to.chunks_exact_mut(wide).enumerate() {
                let from = &self.x[self.index(0, l)..][..wide];
                // SAFETY: both slices have two registers full of numbers; the instructions are those of the kernel
                unsafe {
                    let both: [T::V<I>; 2] =
                        [Simd::<T>::load(from.as_ptr()), Simd::<T>::load(from.as_ptr().add(lanes))];
                    both[0].store(to.as_mut_ptr());
                    both[1].store(to.as_mut_ptr().add(lanes));
                }
            }
            return;
        }
        if self.along != 1 || self.apart < 0 {
            return self.copy(wide, wide, to);
        }
        let (from, apart, columns) = (&self.x[self.at..], self.apart as usize, to.len() / wide);
        dispatch(Turn { from, apart, rows: wide, columns, out: to, wide, filled: false, lanes });
    }

    /// Copies `count` lines side by side: the first number of each, then the second of each; zeros for lines up to `wide`.
    #[inline(always)]
    fn copy(&self, count: usize, wide: usize, to: &mut [T]) {
        /// Numbers that are read from one line before the next: those that come into the cache together.
        const RUN: usize = 8;
        if self.apart == 1 {
            for (l, to) in to.chunks_exact_mut(wide).enumerate() {
                to[..count].copy_from_slice(&self.x[self.index(0, l)..][..count]);
                to[count..].fill(T::ZERO);
            }
            return;
        }
        for (part, to) in to.chunks_mut(RUN * wide).enumerate() {
            let depth = to.len() / wide;
            for r in 0..wide {
                if r >= count {
                    to[r..].iter_mut().step_by(wide).for_each(|o| *o = T::ZERO);
                } else if self.along == 1 {
                    let line = &self.x[self.index(r, part * RUN)..][..depth];
                    to[r..].iter_mut().step_by(wide).zip(line).for_each(|(o, &x)| *o = x);
                } else {
                    for (l, o) in to[r..].iter_mut().step_by(wide).enumerate() {
                        *o = self.x[self.index(r, part * RUN + l)];
                    }
                }
            }
        }
    }
}

/// Lines side by side, as [`Lines::copy`] leaves them. It is called in several places, so that it is a kernel of its own.
struct Copy<'a, T> {
    lines: Lines<'a, T>,
    count: usize,
    wide: usize,
    to: &'a mut [T],
}

impl<T: Float> Kernel for Copy<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Copy { lines, count, wide, to } = self;
        if count < wide {
            return lines.copy(count, wide, to);
        }
        if count == 2 * <T::V<I> as Simd<T>>::N {
            return lines.whole::<I>(to);
        }
        match I::REGISTERS >= MANY {
            true => lines.rows::<{ TILES[0].0 }, { TILES[0].1 }>(count, to),
            false => lines.rows::<{ TILES[1].0 }, { TILES[1].1 }>(count, to),
        }
    }
}

#[derive(Clone, Copy)]
struct Tile<T> {
    /// The first number of the first matrix.
    a: *const T,
    /// How it lies if it was not copied.
    va: View,
    panel: Panel<T>,
    /// The first number of the result, and the distance of its rows.
    out: *mut T,
    row: isize,
    depth: usize,
    width: usize,
    /// Whether the result holds sums already.
    adds: bool,
}

impl<T: Float> Tile<T> {
    /// `M` rows of two registers each.
    #[inline(always)]
    fn run<I: Isa, const M: usize, const COPIED: bool>(self) {
        let lanes = <T::V<I> as Simd<T>>::N;
        let (row, column) = if COPIED { (1, M as isize) } else { (self.va.row, self.va.column) };
        // SAFETY: `blocks` has checked that all matrices lie inside their slices and that the workspace is large enough;
        // panels have two registers in each row; the instructions are those of the kernel
        unsafe {
            let mut sums = [[<T::V<I> as Simd<T>>::splat(T::ZERO); 2]; M];
            let (mut a, mut b) = (self.a, self.panel.start);
            for _ in 0..self.depth {
                let x: [T::V<I>; 2] = [Simd::<T>::load(b), Simd::<T>::load(b.add(lanes))];
                for (r, sum) in sums.iter_mut().enumerate() {
                    let a = <T::V<I> as Simd<T>>::splat(*a.offset(r as isize * row));
                    sum[0] = Simd::<T>::times_plus(a, x[0], sum[0]);
                    sum[1] = Simd::<T>::times_plus(a, x[1], sum[1]);
                }
                a = a.wrapping_offset(column);
                b = b.wrapping_add(self.panel.row);
            }
            if self.width < 2 * lanes {
                // not by the address of the sums, which would have them leave their registers for all tiles
                let mut rows = [[T::ZERO; WIDE]; M];
                for (row, sum) in rows.iter_mut().zip(&sums) {
                    Simd::<T>::store(sum[0], row.as_mut_ptr());
                    Simd::<T>::store(sum[1], row.as_mut_ptr().add(lanes));
                }
                return self.edge(&rows);
            }
            for (r, sum) in sums.iter().enumerate() {
                let to = self.out.offset(r as isize * self.row);
                for (j, &s) in sum.iter().enumerate() {
                    let to = to.add(j * lanes);
                    let s = if self.adds { Simd::<T>::add(s, Simd::<T>::load(to)) } else { s };
                    Simd::<T>::store(s, to);
                }
            }
        }
    }

    /// A tile that does not fill its registers: its numbers are put one by one.
    ///
    /// # Safety
    ///
    /// As many rows of the result must lie in their slice, each of `width` numbers.
    #[inline(never)]
    unsafe fn edge(&self, rows: &[[T; WIDE]]) {
        for (r, row) in rows.iter().enumerate() {
            // SAFETY: by the contract
            let to = unsafe { std::slice::from_raw_parts_mut(self.out.offset(r as isize * self.row), self.width) };
            for (to, &x) in to.iter_mut().zip(row) {
                *to = if self.adds { *to + x } else { x };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::in_low_tiles;

    #[test]
    fn tiles_leave_few_rows_over() {
        for rows in 16..200 {
            let (wide, narrow) = (in_low_tiles::<12, 8>(rows), in_low_tiles::<6, 4>(rows));
            assert_eq!(((rows - wide) % 12, (rows - narrow) % 6), (rows % 4, rows % 2), "{rows}");
        }
        assert_eq!((in_low_tiles::<12, 8>(10), in_low_tiles::<12, 8>(7), in_low_tiles::<12, 8>(24)), (8, 0, 0));
    }
}
