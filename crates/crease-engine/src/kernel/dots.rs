//! Inner products of the rows of a matrix with one vector.
//!
//! Every number of the matrix is needed once, so memory decides how fast this is: several rows go by at once, since a machine
//! fetches ahead along each of several streams, and each part of the vector is loaded once for all of them. If rows are short, adding up the lanes
//! of their sums takes as long as the products; so as many rows as there are lanes are added up together, by turning over the square
//! that their sums are. The order of a sum depends on the number of rows and of columns, and on nothing else.

use crate::float::Float;
use crate::isa::{Isa, Kernel, Simd, each};
use crate::kernel::registers::WIDEST;

/// Inner products of rows that begin `row` apart with `x`; number `i` goes to `out[to + i * step]`.
pub(crate) struct Dots<'a, T> {
    pub matrix: &'a [T],
    pub at: usize,
    pub row: isize,
    pub rows: usize,
    pub x: &'a [T],
    pub out: &'a mut [T],
    pub to: usize,
    pub step: isize,
}

/// Rows of fewer numbers are short.
const SHORT: usize = 512;

impl<T: Float> Kernel for Dots<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let lanes = <T::V<I> as Simd<T>>::N;
        let mut done = 0;
        if self.x.len() < SHORT && lanes > 1 {
            while done + lanes <= self.rows {
                // two sums for each row, unless they are too many
                if lanes * 2 < I::REGISTERS {
                    self.square::<I, 2>(done);
                } else {
                    self.square::<I, 1>(done);
                }
                done += lanes;
            }
        }
        // as many rows as sums of theirs fit into registers, in groups of nearly equal size
        let most = if I::REGISTERS >= 32 { 12 } else { 6 };
        let left = self.rows - done;
        let group = left.div_ceil(left.div_ceil(most).max(1)).max(1);
        let mut i = done;
        while i < self.rows {
            i += match group.min(self.rows - i) {
                12.. if I::REGISTERS >= 32 => self.tile::<I, 12, 1>(i),
                10.. if I::REGISTERS >= 32 => self.tile::<I, 10, 1>(i),
                8.. if I::REGISTERS >= 32 => self.tile::<I, 8, 1>(i),
                6.. => self.tile::<I, 6, 1>(i),
                5 => self.tile::<I, 5, 2>(i),
                4 => self.tile::<I, 4, 2>(i),
                3 => self.tile::<I, 3, 2>(i),
                2 => self.tile::<I, 2, 4>(i),
                _ => self.tile::<I, 1, 8>(i),
            };
        }
    }
}

impl<T: Float> Dots<'_, T> {
    /// As many rows from number `i` on as a register has lanes, each with `N` sums.
    #[inline(always)]
    fn square<I: Isa, const N: usize>(&mut self, i: usize) {
        let lanes = <T::V<I> as Simd<T>>::N;
        let n = self.x.len();
        let first = self.at as isize + i as isize * self.row;
        let last = first + (lanes as isize - 1) * self.row;
        let (low, high) = (first.min(last), first.max(last));
        assert!(low >= 0 && high as usize + n <= self.matrix.len(), "rows of the matrix");
        // SAFETY: all rows lie inside, just checked, and have as many numbers as the vector; of those `n - l` lie beyond number `l`; the
        // instructions are those of the kernel
        let total = unsafe {
            let start = self.matrix.as_ptr().offset(first);
            let zero = <T::V<I> as Simd<T>>::splat(T::NEG_ZERO);
            let mut sums = [[zero; N]; WIDEST];
            let mut l = 0;
            while l + N * lanes <= n {
                for k in 0..N {
                    let at = l + k * lanes;
                    let x = <T::V<I> as Simd<T>>::load(self.x.as_ptr().add(at));
                    for (r, sum) in sums.iter_mut().enumerate().take(lanes) {
                        let row = start.offset(r as isize * self.row);
                        sum[k] = <T::V<I> as Simd<T>>::load(row.add(at)).times_plus(x, sum[k]);
                    }
                }
                l += N * lanes;
            }
            while l < n {
                let left = lanes.min(n - l);
                let x = <T::V<I> as Simd<T>>::load_some(self.x.as_ptr().add(l), left);
                for (r, sum) in sums.iter_mut().enumerate().take(lanes) {
                    let row = start.offset(r as isize * self.row);
                    sum[0] = <T::V<I> as Simd<T>>::load_some(row.add(l), left).times_plus(x, sum[0]);
                }
                l += left;
            }
            // in each round the rows of one half are added to those of the other, lanes in turn, until one row has the sums of all
            let mut rows: [T::V<I>; WIDEST] = [zero; WIDEST];
            for (row, sum) in rows.iter_mut().zip(&sums).take(lanes) {
                *row = sum[1..].iter().fold(sum[0], |s, &x| Simd::<T>::add(s, x));
            }
            let mut half = lanes / 2;
            while half > 0 {
                for r in 0..half {
                    let (low, high) = rows[r].interleave(rows[r + half]);
                    rows[r] = Simd::<T>::add(low, high);
                }
                half /= 2;
            }
            rows[0]
        };
        let mut all = [T::NEG_ZERO; WIDEST];
        // SAFETY: no register has more lanes
        unsafe { Simd::<T>::store(total, all.as_mut_ptr()) };
        for (r, &sum) in all.iter().enumerate().take(lanes) {
            self.out[(self.to as isize + (i + r) as isize * self.step) as usize] = sum;
        }
    }

    /// `R` rows from number `i` on, each with `N` sums in registers.
    #[inline(always)]
    fn tile<I: Isa, const R: usize, const N: usize>(&mut self, i: usize) -> usize {
        let lanes = <T::V<I> as Simd<T>>::N;
        let n = self.x.len();
        let rows: [&[T]; R] = each(|r| {
            let start = (self.at as isize + (i + r) as isize * self.row) as usize;
            &self.matrix[start..][..n]
        });
        // SAFETY: all rows and the vector have `n` numbers, and `n - l` of them lie beyond number `l`; the instructions are those
        // of the kernel
        let mut sums = [[unsafe { <T::V<I> as Simd<T>>::splat(T::NEG_ZERO) }; N]; R];
        let mut l = 0;
        while l + N * lanes <= n {
            for k in 0..N {
                let at = l + k * lanes;
                // SAFETY: as above
                let x = unsafe { <T::V<I> as Simd<T>>::load(self.x.as_ptr().add(at)) };
                for (row, sum) in rows.iter().zip(&mut sums) {
                    // SAFETY: as above
                    sum[k] = unsafe { <T::V<I> as Simd<T>>::load(row.as_ptr().add(at)).times_plus(x, sum[k]) };
                }
            }
            l += N * lanes;
        }
        while l < n {
            let left = lanes.min(n - l);
            // SAFETY: as above
            let x = unsafe { <T::V<I> as Simd<T>>::load_some(self.x.as_ptr().add(l), left) };
            for (row, sum) in rows.iter().zip(&mut sums) {
                // SAFETY: as above
                sum[0] = unsafe { <T::V<I> as Simd<T>>::load_some(row.as_ptr().add(l), left).times_plus(x, sum[0]) };
            }
            l += left;
        }
        for (r, sum) in sums.iter().enumerate() {
            let mut all = [T::NEG_ZERO; WIDEST];
            // SAFETY: no register has more lanes
            unsafe {
                let total = sum[1..].iter().fold(sum[0], |s, &x| Simd::<T>::add(s, x));
                Simd::<T>::store(total, all.as_mut_ptr());
            }
            let mut width = WIDEST / 2;
            while width > 0 {
                for k in 0..width {
                    let other = all[k + width];
                    all[k] += other;
                }
                width /= 2;
            }
            self.out[(self.to as isize + (i + r) as isize * self.step) as usize] = all[0];
        }
        R
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::dispatch;

    #[test]
    fn every_size_sums_every_product_once() {
        for n in [1usize, 2, 7, 8, 9, 31, 64, 100, 257] {
            for rows in 1..30 {
                let matrix: Vec<f64> = (0..rows * n).map(|i| (i % 13) as f64 - 6.0).collect();
                let x: Vec<f64> = (0..n).map(|i| (i % 7) as f64 - 3.0).collect();
                let mut out = vec![f64::NAN; 2 * rows];
                let row = n as isize;
                dispatch(Dots { matrix: &matrix, at: 0, row, rows, x: &x, out: &mut out, to: 1, step: 2 });
                for (r, row) in matrix.chunks_exact(n).enumerate() {
                    // small integers: every order of summing is exact
                    assert_eq!(out[2 * r + 1], row.iter().zip(&x).map(|(a, x)| a * x).sum::<f64>(), "{n} {rows} {r}");
                    assert!(out[2 * r].is_nan());
                }
            }
        }
    }
}
