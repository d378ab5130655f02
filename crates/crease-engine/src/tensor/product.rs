//! Products of matrices and vectors.
//!
//! Matrices are read where they lie, through strides. Large products are blocked ([`gemm`](super::gemm)); a vector
//! times a matrix, and an outer product, are loops of their own, because there every number is needed but once. Where
//! every bit must agree, sums are taken in the interpreter's order, with products vectorised across columns.

use super::block::Manner;
use super::gemm::{self, Gemm};
use super::lower::{Buf, Matrix};
use super::memory::Pointers;
use crate::float::Float;
use crate::isa::{Isa, Kernel, Simd, dispatch, each};
use crate::kernel::dots::Dots;
use crate::kernel::registers::{put, some};

/// A batch of products.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    a: Matrix,
    b: Matrix,
    out: Matrix,
    m: usize,
    n: usize,
    k: usize,
    batch: usize,
}

/// Plans a batch of products; batches that share a matrix become one product.
pub(crate) fn build(a: Matrix, b: Matrix, out: Buf, [m, n, k, batch]: [usize; 4]) -> Product {
    let out = Matrix { buf: out, offset: 0, batch: (m * n) as isize, row: n as isize, column: 1 };
    let product = Product { a, b, out, m, n, k, batch };
    if batch > 1 && b.batch == 0 && a.batch == m as isize * a.row {
        // the rows of all first matrices are those of one
        return Product { m: m * batch, batch: 1, ..product };
    }
    if batch > 1 && m == 1 && b.batch == 0 {
        let a = Matrix { row: a.batch, ..a };
        return Product { a, m: batch, batch: 1, out: Matrix { row: n as isize, ..out }, ..product };
    }
    if batch > 1 && n == 1 && a.batch == 0 {
        // one matrix times many vectors: the vectors are the rows of the first factor
        let first = Matrix { row: b.batch, column: b.row, batch: 0, ..b };
        let second = Matrix { row: a.column, column: a.row, batch: 0, ..a };
        let out = Matrix { row: m as isize, column: 1, ..out };
        return Product { a: first, b: second, out, m: batch, n: m, k, batch: 1 };
    }
    product
}

impl Product {
    /// Whether the result is a product of two matrices, each needed more than once.
    pub fn describe(&self) -> String {
        format!("{} x [{}, {}] @ [{}, {}]", self.batch, self.m, self.k, self.k, self.n)
    }

    /// m, n, k, and the number of products.
    pub fn size(&self) -> [usize; 4] {
        [self.m, self.n, self.k, self.batch]
    }

    /// Both factors, and the buffer of the result.
    pub fn matrices(&self) -> (Matrix, Matrix, Buf) {
        (self.a, self.b, self.out.buf)
    }

    /// How many numbers of working space a run needs.
    pub fn space(&self) -> usize {
        let b = View { at: 0, row: self.b.row, column: self.b.column };
        let copied = if self.n <= NARROW { NARROW * self.k } else { 0 };
        gemm::space(&b, [self.m, self.n, self.k]).max(copied)
    }

    pub fn run<T: Float>(&self, p: &Pointers<'_, T>, space: &mut [T], how: Manner) {
        let (a, b, out) = (p.read(self.a.buf), p.read(self.b.buf), p.write(self.out.buf));
        for s in 0..self.batch {
            let view = |m: &Matrix| View {
                at: (m.offset as isize + s as isize * m.batch) as usize,
                row: m.row,
                column: m.column,
            };
            let (va, vb, vo) = (view(&self.a), view(&self.b), view(&self.out));
            if how.exact {
                dispatch(Exact { a, b, out, views: [va, vb, vo], size: [self.m, self.n, self.k] });
            } else {
                multiply(a, b, out, [va, vb, vo], [self.m, self.n, self.k], space, how);
            }
        }
    }
}

/// A matrix inside a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub at: usize,
    pub row: isize,
    pub column: isize,
}

impl View {
    #[inline(always)]
    pub fn index(&self, i: usize, j: usize) -> usize {
        (self.at as isize + i as isize * self.row + j as isize * self.column) as usize
    }

    /// Whether all of a matrix of that size lies inside a slice of `len` numbers, whichever way its rows and columns run.
    pub fn fits(&self, rows: usize, columns: usize, len: usize) -> bool {
        let (down, across) = ((rows as isize - 1) * self.row, (columns as isize - 1) * self.column);
        let (low, high) = (down.min(0) + across.min(0), down.max(0) + across.max(0));
        self.at as isize + low >= 0 && self.at as isize + high < len as isize
    }

    fn transposed(self) -> View {
        View { at: self.at, row: self.column, column: self.row }
    }
}

fn multiply<T: Float>(
    a: &[T],
    b: &[T],
    out: &mut [T],
    [va, vb, vo]: [View; 3],
    [m, n, k]: [usize; 3],
    space: &mut [T],
    how: Manner,
) {
    // 0 times infinity is not 0; but what a checked run has met that is not finite is not its business any more
    let skips = how.checked;
    if k == 1 {
        return dispatch(Outer { a, b, out, views: [va, vb, vo], size: [m, n] });
    }
    if m == 1 && vb.column == 1 && vo.column == 1 {
        let (step, size) = (va.column, [k, n]);
        return dispatch(Rows { x: a, at: va.at, step, matrix: b, view: vb, out, to: vo.at, size, skips });
    }
    if n == 1 && va.row == 1 && vo.row == 1 {
        let (view, step, size) = (va.transposed(), vb.row, [k, m]);
        return dispatch(Rows { x: b, at: vb.at, step, matrix: a, view, out, to: vo.at, size, skips });
    }
    if n == 1 && va.column == 1 && vb.row == 1 {
        let x = &b[vb.at..][..k];
        return dispatch(Dots { matrix: a, at: va.at, row: va.row, rows: m, x, out, to: vo.at, step: vo.row });
    }
    if m == 1 && vb.row == 1 && va.column == 1 {
        let x = &a[va.at..][..k];
        return dispatch(Dots { matrix: b, at: vb.at, row: vb.column, rows: n, x, out, to: vo.at, step: vo.column });
    }
    if n <= NARROW && vo.column == 1 && (vb.column == 1 || m >= COPY_REPAYS) {
        return dispatch(Narrow { a, b, out, views: [va, vb, vo], size: [m, n, k], space });
    }
    dispatch(Gemm { a, b, out, views: [va, vb, vo], size: [m, n, k], space });
}

/// Results of up to so many columns are kept in registers, row by row.
const NARROW: usize = 16;
/// With so many rows the second matrix is copied if its rows do not lie in order.
const COPY_REPAYS: usize = 8;

/// A product with few columns: the sums of some rows stay in registers while the rows of the second matrix go by.
struct Narrow<'a, T> {
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
    views: [View; 3],
    size: [usize; 3],
    space: &'a mut [T],
}

impl<T: Float> Kernel for Narrow<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        // registers of half the size if fewer of their lanes stay empty
        let (n, lanes, half) = (self.size[1], <T::V<I> as Simd<T>>::N, <T::V<I::Narrow> as Simd<T>>::N);
        if n.next_multiple_of(half) < n.next_multiple_of(lanes) && n.div_ceil(half) <= 4 {
            return self.registers::<I::Narrow>();
        }
        self.registers::<I>();
    }
}

impl<T: Float> Narrow<'_, T> {
    /// As many rows at once as leave room for a row of the second matrix and a number of the first.
    #[inline(always)]
    fn registers<I: Isa>(self) {
        let most = NARROW.div_ceil(<T::V<I> as Simd<T>>::N);
        match (self.size[1].div_ceil(<T::V<I> as Simd<T>>::N), I::REGISTERS >= 32) {
            (4.., false) if most >= 4 => self.in_order::<I, 4, 2, 1>(),
            (4.., true) if most >= 4 => self.in_order::<I, 4, 5, 2>(),
            (3.., false) if most >= 3 => self.in_order::<I, 3, 3, 2>(),
            (3.., true) if most >= 3 => self.in_order::<I, 3, 5, 2>(),
            (2.., false) if most >= 2 => self.in_order::<I, 2, 6, 3>(),
            (2.., true) if most >= 2 => self.in_order::<I, 2, 8, 3>(),
            _ => self.in_order::<I, 1, 8, 4>(),
        }
    }

    /// With rows of the second matrix in order, and at least as long as a register: where they lie, or copied.
    #[inline(always)]
    fn in_order<I: Isa, const N: usize, const M: usize, const FEWER: usize>(self) {
        let Narrow { a, b, out, views: [va, vb, vo], size: [m, n, k], space } = self;
        // every element that is read or written lies inside, so that no single access has to be checked
        assert!(va.fits(m, k, a.len()) && vb.fits(k, n, b.len()) && vo.fits(m, n, out.len()));
        assert!(vo.column == 1);
        let lanes = <T::V<I> as Simd<T>>::N;
        let (b, vb, space) = match vb.column == 1 && n >= lanes {
            true => (b, vb, space),
            false => {
                let wide = n.max(lanes);
                let (copy, space) = space.split_at_mut(k * wide);
                for (l, row) in copy.chunks_exact_mut(wide).enumerate() {
                    row[..n].iter_mut().enumerate().for_each(|(j, x)| *x = b[vb.index(l, j)]);
                    row[n..].fill(T::ZERO);
                }
                (&*copy, View { at: 0, row: wide as isize, column: 1 }, space)
            }
        };
        Narrow { a, b, out, views: [va, vb, vo], size: [m, n, k], space }.rows::<I, N, M, FEWER>();
    }

    /// Tiles of `M` rows, of `FEWER` where those are too many, and of one at last.
    #[inline(always)]
    fn rows<I: Isa, const N: usize, const M: usize, const FEWER: usize>(self) {
        let out = self.out.as_mut_ptr();
        let (mut i, m) = (0, self.size[0]);
        while i < m {
            i += match m - i {
                left if left >= M => self.tile::<I, N, M>(i, out),
                left if left >= FEWER => self.tile::<I, N, FEWER>(i, out),
                _ => self.tile::<I, N, 1>(i, out),
            };
        }
    }

    /// `M` rows of the result.
    #[inline(always)]
    fn tile<I: Isa, const N: usize, const M: usize>(&self, i: usize, out: *mut T) -> usize {
        let lanes = <T::V<I> as Simd<T>>::N;
        let [_, n, k] = self.size;
        let [va, vb, vo] = self.views;
        // the last register reaches back into the one before it, where it computes the same once more
        let last = n.saturating_sub(lanes);
        let place = |j: usize| if j + 1 < N { j * lanes } else { last };
        // SAFETY: `in_order` has checked that all three matrices lie inside their slices, and that rows of the second fill a register;
        // those of the result are written no further than they reach; the instructions are those of the kernel
        unsafe {
            let mut sums = [[<T::V<I> as Simd<T>>::splat(T::ZERO); N]; M];
            let (mut a, mut row) = (self.a.as_ptr().add(va.index(i, 0)), self.b.as_ptr().add(vb.at));
            for _ in 0..k {
                let x: [T::V<I>; N] = each(|j| Simd::<T>::load(row.add(place(j))));
                for (r, sum) in sums.iter_mut().enumerate() {
                    let a = <T::V<I> as Simd<T>>::splat(*a.offset(r as isize * va.row));
                    for (s, &x) in sum.iter_mut().zip(&x) {
                        *s = Simd::<T>::times_plus(a, x, *s);
                    }
                }
                (a, row) = (a.wrapping_offset(va.column), row.wrapping_offset(vb.row));
            }
            for (r, sum) in sums.iter().enumerate() {
                let row = out.add(vo.index(i + r, 0));
                for (j, &s) in sum.iter().enumerate() {
                    if n >= lanes {
                        Simd::<T>::store(s, row.add(place(j)));
                    } else {
                        Simd::<T>::store_some(s, row, n);
                    }
                }
            }
        }
        M
    }
}

/// A column times a row.
struct Outer<'a, T> {
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
    views: [View; 3],
    size: [usize; 2],
}

impl<T: Float> Kernel for Outer<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let ([va, vb, vo], [m, n]) = (self.views, self.size);
        let lanes = <T::V<I> as Simd<T>>::N;
        if vb.column == 1 && vo.column == 1 && vo.row == n as isize && n <= 2 * lanes {
            // short rows one after the other: what is written beyond one is written over by the next
            let out = &mut self.out[vo.at..][..m * n];
            let row: [T::V<I>; 2] = [0, lanes].map(|at| some(&self.b[vb.at..][..n], at.min(n), n.saturating_sub(at)));
            for i in 0..m {
                // SAFETY: this is a kernel; -0 adds nothing to a product
                let products = unsafe {
                    let (x, nothing) = (Simd::<T>::splat(self.a[va.index(i, 0)]), Simd::<T>::splat(T::NEG_ZERO));
                    row.map(|y| y.times_plus(x, nothing))
                };
                let left = out.len() - i * n;
                put(products[0], out, i * n, left);
                if n > lanes {
                    put(products[1], out, i * n + lanes, left - lanes);
                }
            }
            return;
        }
        for i in 0..m {
            let x = self.a[va.index(i, 0)];
            if vb.column == 1 && vo.column == 1 {
                let row = &self.b[vb.at..][..n];
                let out = &mut self.out[vo.index(i, 0)..][..n];
                out.iter_mut().zip(row).for_each(|(o, &y)| *o = x * y);
            } else {
                for j in 0..n {
                    self.out[vo.index(i, j)] = x * self.b[vb.index(0, j)];
                }
            }
        }
    }
}

/// A vector times a matrix whose rows lie in order: rows added up.
struct Rows<'a, T> {
    x: &'a [T],
    at: usize,
    step: isize,
    matrix: &'a [T],
    view: View,
    out: &'a mut [T],
    to: usize,
    size: [usize; 2],
    /// Whether rows that are multiplied by zeros are left out.
    skips: bool,
}

impl<T: Float> Kernel for Rows<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let [k, n] = self.size;
        let (lanes, half) = (<T::V<I> as Simd<T>>::N, <T::V<I::Narrow> as Simd<T>>::N);
        if k * n <= NEAR && n >= lanes && lanes > 1 {
            return self.in_registers::<I, 8>();
        }
        if k * n <= NEAR && n >= half && half < lanes {
            // a row fills half a register
            return self.in_registers::<I::Narrow, 2>();
        }
        let out = &mut self.out[self.to..][..n];
        let x = |l: usize| self.x[(self.at as isize + l as isize * self.step) as usize];
        out.fill(T::ZERO);
        let mut l = 0;
        // four rows at a time, so that the sums are loaded and stored a quarter as often
        while l + 4 <= k {
            let w = [x(l), x(l + 1), x(l + 2), x(l + 3)];
            if self.skips && w == [T::ZERO; 4] {
                l += 4;
                continue;
            }
            let row = |i: usize| &self.matrix[self.view.index(l + i, 0)..][..n];
            let (r0, r1, r2, r3) = (row(0), row(1), row(2), row(3));
            for (j, o) in out.iter_mut().enumerate() {
                *o = if I::FMA {
                    w[3].fused(r3[j], w[2].fused(r2[j], w[1].fused(r1[j], w[0].fused(r0[j], *o))))
                } else {
                    *o + w[0] * r0[j] + w[1] * r1[j] + w[2] * r2[j] + w[3] * r3[j]
                };
            }
            l += 4;
        }
        for l in l..k {
            let (w, row) = (x(l), &self.matrix[self.view.index(l, 0)..][..n]);
            out.iter_mut().zip(row).for_each(|(o, &r)| *o += w * r);
        }
    }
}

/// Matrices of so many numbers are near: reading them in another order than they lie costs nothing.
const NEAR: usize = 1 << 14;

impl<T: Float> Rows<'_, T> {
    /// Columns in stretches of up to `MOST` registers, whose sums stay there while all rows go by.
    #[inline(always)]
    fn in_registers<I: Isa, const MOST: usize>(mut self) {
        let ([k, n], lanes) = (self.size, <T::V<I> as Simd<T>>::N);
        let reach = (k as isize - 1) * self.step;
        let (low, high) = (self.at as isize + reach.min(0), self.at as isize + reach.max(0));
        // every element that is read or written lies inside, so that no single access has to be checked
        assert!(low >= 0 && (high as usize) < self.x.len() && self.view.fits(k, n, self.matrix.len()));
        assert!(self.view.column == 1 && self.to + n <= self.out.len());
        let mut j = 0;
        while j < n {
            // so many sums at once that the machine need not wait for any
            j = match (n - j).div_ceil(lanes) {
                1 => self.stretch::<I, 1, 8>(j),
                2 => self.stretch::<I, 2, 4>(j),
                _ if MOST <= 2 => self.stretch::<I, 2, 4>(j),
                3 => self.stretch::<I, 3, 3>(j),
                4 => self.stretch::<I, 4, 2>(j),
                5 => self.stretch::<I, 5, 2>(j),
                6 => self.stretch::<I, 6, 1>(j),
                7 => self.stretch::<I, 7, 1>(j),
                _ => self.stretch::<I, 8, 1>(j),
            };
        }
    }

    /// `N` registers of columns from number `j` on, or as far as there are any, with `P` rows at once.
    #[inline(always)]
    fn stretch<I: Isa, const N: usize, const P: usize>(&mut self, j: usize) -> usize {
        let ([k, n], lanes) = (self.size, <T::V<I> as Simd<T>>::N);
        let end = n.min(j + N * lanes);
        // the last register reaches back into the one before it, where it computes the same once more
        let mut places = [0; N];
        for (r, place) in places.iter_mut().enumerate() {
            *place = (j + r * lanes).min(n - lanes);
        }
        // SAFETY: `in_registers` has checked that the matrix and both vectors lie inside their slices, and that a row fills a register; the
        // instructions are those of the kernel
        unsafe {
            let mut sums = [[<T::V<I> as Simd<T>>::splat(T::ZERO); N]; P];
            let (mut row, mut x) = (self.matrix.as_ptr().add(self.view.at), self.x.as_ptr().add(self.at));
            for _ in 0..k / P {
                for sums in &mut sums {
                    row_times(sums, row, &places, *x);
                    (row, x) = (row.wrapping_offset(self.view.row), x.wrapping_offset(self.step));
                }
            }
            for _ in 0..k % P {
                row_times(&mut sums[0], row, &places, *x);
                (row, x) = (row.wrapping_offset(self.view.row), x.wrapping_offset(self.step));
            }
            let out = self.out.as_mut_ptr().add(self.to);
            for r in 0..N {
                let mut total = sums[0][r];
                for s in &sums[1..] {
                    total = Simd::<T>::add(total, s[r]);
                }
                Simd::<T>::store(total, out.add(places[r]));
            }
        }
        end
    }
}

/// Adds a number times some registers of a row.
///
/// # Safety
///
/// Called in kernels only; the row must be good for a register at each of the places.
#[inline(always)]
unsafe fn row_times<T: Float, V: Simd<T>, const N: usize>(
    sums: &mut [V; N],
    row: *const T,
    places: &[usize; N],
    by: T,
) {
    // SAFETY: by the contract of the caller
    unsafe {
        let by = V::splat(by);
        for (s, &place) in sums.iter_mut().zip(places) {
            *s = V::load(row.add(place)).times_plus(by, *s);
        }
    }
}

/// The product as the interpreter takes it, every sum in order; across columns at once.
struct Exact<'a, T> {
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
    views: [View; 3],
    size: [usize; 3],
}

impl<T: Float> Kernel for Exact<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let ([va, vb, vo], [m, n, k]) = (self.views, self.size);
        for i in 0..m {
            for l in 0..k {
                let x = self.a[va.index(i, l)];
                if vb.column == 1 && vo.column == 1 {
                    let row = &self.b[vb.index(l, 0)..][..n];
                    let out = &mut self.out[vo.index(i, 0)..][..n];
                    if l == 0 {
                        out.iter_mut().zip(row).for_each(|(o, &y)| *o = x * y);
                    } else {
                        out.iter_mut().zip(row).for_each(|(o, &y)| *o += x * y);
                    }
                } else {
                    for j in 0..n {
                        let term = x * self.b[vb.index(l, j)];
                        let o = &mut self.out[vo.index(i, j)];
                        *o = if l == 0 { term } else { *o + term };
                    }
                }
            }
        }
    }
}

impl Product {
    /// The same product in up to `parts` parts of its rows, or up to `many` where it is many products, each with the numbers of the result that
    /// are its own, in order; none if it takes fewer products of numbers than `least`. Parts compute what the whole would, bit for bit.
    pub fn parts(&self, [parts, many]: [usize; 2], least: usize) -> Vec<(std::ops::Range<usize>, Product)> {
        /// Products of fewer rows may go another way, in which sums are taken in another order.
        const ROWS: usize = 16;
        let Product { a, b, out, m, n, k, batch } = *self;
        let work = m.saturating_mul(n).saturating_mul(k).saturating_mul(batch);
        let in_order = out.offset == 0 && out.row == n as isize && out.column == 1;
        if work < least || n < 2 || k < 2 || m < 2 || !in_order || (batch > 1 && out.batch != (m * n) as isize) {
            return Vec::new();
        }
        let shifted = |x: Matrix, by: usize, stride: isize| Matrix {
            offset: (x.offset as isize + by as isize * stride) as usize,
            ..x
        };
        let mut found = Vec::new();
        if batch > 1 {
            let each = batch.div_ceil(many.max(1));
            for from in (0..batch).step_by(each) {
                let to = (from + each).min(batch);
                let part =
                    Product { a: shifted(a, from, a.batch), b: shifted(b, from, b.batch), batch: to - from, ..*self };
                found.push((from * m * n..to * m * n, part));
            }
            return found;
        }
        let each = m.div_ceil(parts.max(1)).next_multiple_of(8).max(ROWS);
        let mut from = 0;
        while from < m {
            let to = if m - from < each + ROWS { m } else { from + each };
            found.push((from * n..to * n, Product { a: shifted(a, from, a.row), m: to - from, ..*self }));
            from = to;
        }
        found
    }

    /// The same with its result in another buffer.
    pub fn into_buffer(self, buf: Buf) -> Product {
        Product { out: Matrix { buf, ..self.out }, ..self }
    }
}
