//! Blocked matrix products.
//!
//! Sums of a tile of the result stay in registers while a stretch of the inner dimension goes by. Matrices are read where they
//! lie: the first one number by number, along any strides, the second one a register at a time, for which its columns must be
//! neighbours; if they are not, and for the last few columns, a copy is made in the workspace. Blocks are sized so that a
//! part of the first matrix stays in the second cache. The order of every sum is fixed.

use super::product::View;
use crate::float::Float;
use crate::isa::{Isa, Kernel, Simd};

/// The inner dimension is taken in stretches of so many.
const DEEP: usize = 512;
/// So many rows stay in the second cache.
const TALL: usize = 96;
/// The most columns of a tile: two registers of the widest kind.
const WIDE: usize = 32;

/// How many numbers of working space a product needs.
pub(crate) fn space(view: &View, [_, n, k]: [usize; 3]) -> usize {
    let columns = if view.column == 1 { WIDE } else { n.next_multiple_of(WIDE) };
    columns * k.min(DEEP)
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
        if I::REGISTERS >= 32 { self.blocks::<I, 12>() } else { self.blocks::<I, 6>() }
    }
}

/// Where a panel of the second matrix is read: its first element and the distance of its rows.
#[derive(Clone, Copy)]
struct Panel<T> {
    start: *const T,
    row: usize,
}

impl<T: Float> Gemm<'_, T> {
    #[inline(always)]
    fn blocks<I: Isa, const M: usize>(self) {
        let [m, n, k] = self.size;
        let [va, vb, vo] = self.views;
        // every element that is read or written lies inside, so that no single access has to be checked
        assert!(va.index(m - 1, k - 1) < self.a.len() && vb.index(k - 1, n - 1) < self.b.len());
        assert!(vo.index(m - 1, n - 1) < self.out.len() && vo.column == 1);
        assert!(self.space.len() >= space(&vb, self.size));
        let lanes = <T::V<I> as Simd<T>>::N;
        let columns = 2 * lanes;
        let whole = n / columns * columns;
        // columns from here on are copied
        let copied = if vb.column == 1 { whole } else { 0 };
        for deep in (0..k).step_by(DEEP) {
            let depth = DEEP.min(k - deep);
            for (p, panel) in (copied..n).step_by(columns).zip(self.space.chunks_exact_mut(columns * depth)) {
                for (l, row) in panel.chunks_exact_mut(columns).enumerate() {
                    for (j, x) in row.iter_mut().enumerate() {
                        *x = if p + j < n { self.b[vb.index(deep + l, p + j)] } else { T::ZERO };
                    }
                }
            }
            for tall in (0..m).step_by(TALL) {
                let end = m.min(tall + TALL);
                for j in (0..n).step_by(columns) {
                    let panel = if j < copied {
                        Panel { start: self.b[vb.index(deep, j)..].as_ptr(), row: vb.row as usize }
                    } else {
                        let number = (j - copied) / columns;
                        Panel { start: self.space[number * columns * depth..].as_ptr(), row: columns }
                    };
                    let tile = Tile {
                        a: self.a.as_ptr(),
                        va,
                        panel,
                        out: self.out.as_mut_ptr(),
                        vo,
                        deep: (deep, depth),
                        column: j,
                        width: columns.min(n - j),
                    };
                    let mut i = tall;
                    while i + M <= end {
                        tile.run::<I, M>(i);
                        i += M;
                    }
                    while i + 4 <= end {
                        tile.run::<I, 4>(i);
                        i += 4;
                    }
                    while i < end {
                        tile.run::<I, 1>(i);
                        i += 1;
                    }
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Tile<T> {
    a: *const T,
    va: View,
    panel: Panel<T>,
    out: *mut T,
    vo: View,
    deep: (usize, usize),
    column: usize,
    width: usize,
}

impl<T: Float> Tile<T> {
    /// `M` rows from number `i` on, of two registers each.
    #[inline(always)]
    fn run<I: Isa, const M: usize>(self, i: usize) {
        let lanes = <T::V<I> as Simd<T>>::N;
        let (from, depth) = self.deep;
        // SAFETY: `blocks` has checked that all matrices lie inside their slices and that the workspace is large enough;
        // panels have two registers in each row; the instructions are those of the kernel
        unsafe {
            let mut sums = [[<T::V<I> as Simd<T>>::splat(T::ZERO); 2]; M];
            let mut a = self.a.offset(self.va.at as isize + i as isize * self.va.row + from as isize * self.va.column);
            let mut b = self.panel.start;
            for _ in 0..depth {
                let x: [T::V<I>; 2] = [Simd::<T>::load(b), Simd::<T>::load(b.add(lanes))];
                for (r, sum) in sums.iter_mut().enumerate() {
                    let a = <T::V<I> as Simd<T>>::splat(*a.offset(r as isize * self.va.row));
                    sum[0] = Simd::<T>::times_plus(a, x[0], sum[0]);
                    sum[1] = Simd::<T>::times_plus(a, x[1], sum[1]);
                }
                a = a.wrapping_offset(self.va.column);
                b = b.wrapping_add(self.panel.row);
            }
            for (r, sum) in sums.iter().enumerate() {
                let to = self.out.add(self.vo.index(i + r, self.column));
                for (j, &s) in sum.iter().enumerate() {
                    let left = self.width.saturating_sub(j * lanes).min(lanes);
                    let to = to.wrapping_add(j * lanes);
                    if left == lanes {
                        let s = if from > 0 { Simd::<T>::add(s, Simd::<T>::load(to)) } else { s };
                        Simd::<T>::store(s, to);
                    } else if left > 0 {
                        let s = if from > 0 { Simd::<T>::add(s, Simd::<T>::load_some(to, left)) } else { s };
                        Simd::<T>::store_some(s, to, left);
                    }
                }
            }
        }
    }
}
