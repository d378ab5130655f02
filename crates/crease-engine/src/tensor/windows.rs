//! Windows: a matrix of rows that are windows of one buffer, never written down.
//!
//! Convolution in programs is a product of a matrix whose rows are the windows of an image with a matrix of kernels. Here an
//! index map of rows and columns is taken apart into the places of rows and the offsets of columns: element (r, c) of the
//! matrix stands at `row(r) + offset(c)`. That is all the three products of a convolution need: values ([`Forward`]), the
//! adjoint of the image ([`Backward`]) and that of the kernels ([`Kernels`]). Loops run along the last axis of rows, many
//! kernels at a time, with sums in registers.

use super::lower::Buf;
use super::memory::Pointers;
use super::walk::Walk;
use crate::float::{Float, maximum, minimum};
use crate::isa::{Isa, Kernel, Simd, dispatch};
use crease_core::Layout;
use crease_core::shape::Dim;

/// A matrix of windows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Windows {
    /// Where each stretch of rows begins.
    pub bases: Vec<u32>,
    /// The number of rows in a stretch, and how far apart they are.
    pub along: Dim,
    /// The offsets of the columns.
    pub offsets: Vec<u32>,
}

impl Windows {
    /// Takes an index map of that many rows and columns apart.
    pub fn new(layout: &Layout, rows: usize, columns: usize) -> Option<Self> {
        let Layout::Strided { offset, dims } = layout else { return None };
        let mut count = 1;
        let split = dims.iter().position(|d| {
            let reached = count == rows;
            count *= d.size;
            reached
        })?;
        let (row, column) = dims.split_at(split);
        let (along, outer) = row.split_last()?;
        if along.stride <= 0 || column.iter().map(|d| d.size).product::<usize>() != columns {
            return None;
        }
        let walk = |offset: usize, dims: &[Dim]| -> Vec<u32> {
            let loops: Vec<(usize, isize)> = dims.iter().map(|d| (d.size, d.stride)).collect();
            Layout::strided(offset, &loops).iter().map(|i| i as u32).collect()
        };
        Some(Windows { bases: walk(*offset, outer), along: *along, offsets: walk(0, column) })
    }
}

/// A convolution: `images` stretches of rows belong together, and results lie channel by channel within them.
#[derive(Clone, Debug)]
pub(crate) struct Conv {
    pub windows: Windows,
    /// The buffer the windows are in.
    pub image: Buf,
    /// Kernel number o at column c stands at `offset + o * row + c * column`.
    pub kernels: (Buf, usize, isize, isize),
    /// How many kernels.
    pub count: usize,
    /// How many stretches of rows lie side by side in one channel.
    pub stretches: usize,
    /// Values or their adjoints: [image, kernel, row].
    pub values: Buf,
}

/// Which of the three products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// The values.
    Forward,
    /// The adjoint of the image, into the last buffer.
    Backward(Buf),
    /// The adjoint of the kernels, into the last buffer, kernel by kernel.
    Kernels(Buf),
}

/// The most lanes of a vector register, and room to read one register beyond the end.
const WIDEST: usize = 16;

impl Conv {
    /// How many numbers of working space a run needs.
    pub fn space(&self) -> usize {
        let (n, o) = (self.windows.offsets.len().next_multiple_of(4), self.count.next_multiple_of(16));
        n * o * WIDEST
    }

    /// Where the values of a stretch and a kernel begin.
    #[inline(always)]
    fn at(&self, stretch: usize, kernel: usize) -> usize {
        let (image, row) = (stretch / self.stretches, stretch % self.stretches);
        ((image * self.count + kernel) * self.stretches + row) * self.windows.along.size
    }

    pub fn run<T: Float>(&self, p: &Pointers<'_, T>, space: &mut [T], pass: Pass) {
        dispatch(Run { conv: self, p, space, pass });
    }
}

struct Run<'a, 'p, T> {
    conv: &'a Conv,
    p: &'a Pointers<'p, T>,
    space: &'a mut [T],
    pass: Pass,
}

impl<T: Float> Kernel for Run<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        match self.pass {
            Pass::Forward => forward::<T, I>(self.conv, self.p, self.space),
            Pass::Backward(out) => backward::<T, I>(self.conv, self.p, self.space, out),
            Pass::Kernels(out) => kernels::<T, I>(self.conv, self.p, self.space, out),
        }
    }
}

/// A register full of numbers that lie `step` apart; beyond the end of the slice they are zero.
#[inline(always)]
fn fetch<T: Float, V: Simd<T>>(x: &[T], from: usize, step: usize) -> V {
    if step == 1 && from + V::N <= x.len() {
        // SAFETY: the slice has so many numbers
        return unsafe { V::load(x.as_ptr().add(from)) };
    }
    let some: [T; WIDEST] = std::array::from_fn(|i| x.get(from + i * step).copied().unwrap_or(T::ZERO));
    // SAFETY: no register is wider
    unsafe { V::load(some.as_ptr()) }
}

/// The first `len` numbers of a register, the others 0.
#[inline(always)]
fn some<T: Float, V: Simd<T>>(x: &[T], from: usize, len: usize) -> V {
    let x = &x[from..from + len.min(V::N)];
    // SAFETY: the slice has so many numbers
    unsafe { V::load_some(x.as_ptr(), x.len()) }
}

/// The first `len` numbers of a register, put in their places.
#[inline(always)]
fn put<T: Float, V: Simd<T>>(v: V, out: &mut [T], from: usize, len: usize) {
    let out = &mut out[from..from + len.min(V::N)];
    // SAFETY: the slice has so many numbers
    unsafe { v.store_some(out.as_mut_ptr(), out.len()) }
}

#[inline(always)]
fn zero<T: Float, V: Simd<T>>() -> V {
    // SAFETY: called in kernels only
    unsafe { V::splat(T::ZERO) }
}

/// `sum + k * x`.
#[inline(always)]
fn plus<T: Float, V: Simd<T>>(sum: V, k: T, x: V) -> V {
    // SAFETY: called in kernels only
    unsafe { V::splat(k).times_plus(x, sum) }
}

/// So many kernels are worked on at once.
const O: usize = 8;

#[inline(always)]
fn forward<T: Float, I: Isa>(conv: &Conv, p: &Pointers<'_, T>, space: &mut [T]) {
    let w = &conv.windows;
    let (n, count) = (w.offsets.len(), conv.count);
    let image = p.read(conv.image);
    let (kernel, at, row, column) = conv.kernels;
    let kernel = p.read(kernel);
    let values = p.write(conv.values);
    // kernels side by side for each column
    let packed = &mut space[..count.div_ceil(O) * n * O];
    for (b, block) in packed.chunks_exact_mut(n * O).enumerate() {
        for (c, out) in block.chunks_exact_mut(O).enumerate() {
            for (k, o) in out.iter_mut().enumerate() {
                let number = b * O + k;
                let index = at as isize + number as isize * row + c as isize * column;
                *o = if number < count { kernel[index as usize] } else { T::ZERO };
            }
        }
    }
    let lanes = <T::V<I> as Simd<T>>::N;
    let (step, rows) = (w.along.stride as usize, w.along.size);
    for (s, &base) in w.bases.iter().enumerate() {
        for (b, block) in packed.chunks_exact(n * O).enumerate() {
            let kernels = O.min(count - b * O);
            let mut from = 0;
            while from < rows {
                let start = base as usize + from * step;
                if rows - from > lanes {
                    let sums = tile::<T, I, 2>(image, start, step, &w.offsets, block);
                    for (k, sum) in sums.iter().enumerate().take(kernels) {
                        let to = conv.at(s, b * O + k) + from;
                        put(sum[0], values, to, lanes);
                        put(sum[1], values, to + lanes, rows - from - lanes);
                    }
                    from += 2 * lanes;
                } else {
                    let sums = tile::<T, I, 1>(image, start, step, &w.offsets, block);
                    for (k, sum) in sums.iter().enumerate().take(kernels) {
                        put(sum[0], values, conv.at(s, b * O + k) + from, rows - from);
                    }
                    from += lanes;
                }
            }
        }
    }
}

/// `N` registers of rows times [`O`] kernels.
#[inline(always)]
fn tile<T: Float, I: Isa, const N: usize>(
    image: &[T],
    start: usize,
    step: usize,
    offsets: &[u32],
    kernels: &[T],
) -> [[T::V<I>; N]; O] {
    let lanes = <T::V<I> as Simd<T>>::N;
    let mut sums = [[zero::<T, T::V<I>>(); N]; O];
    let (columns, _) = kernels.as_chunks::<O>();
    let last = offsets.iter().max().copied().unwrap_or(0) as usize;
    if step == 1 && start + last + N * lanes <= image.len() {
        for (&offset, k) in offsets.iter().zip(columns) {
            let x: [T::V<I>; N] = std::array::from_fn(|i| {
                // SAFETY: the largest offset still lies inside, just checked
                unsafe { Simd::<T>::load(image.as_ptr().add(start + offset as usize + i * lanes)) }
            });
            for (sum, &k) in sums.iter_mut().zip(k) {
                for (s, &x) in sum.iter_mut().zip(&x) {
                    *s = plus(*s, k, x);
                }
            }
        }
    } else {
        for (&offset, k) in offsets.iter().zip(columns) {
            let x: [T::V<I>; N] =
                std::array::from_fn(|i| fetch(image, start + offset as usize + i * lanes * step, step));
            for (sum, &k) in sums.iter_mut().zip(k) {
                for (s, &x) in sum.iter_mut().zip(&x) {
                    *s = plus(*s, k, x);
                }
            }
        }
    }
    sums
}

#[inline(always)]
fn backward<T: Float, I: Isa>(conv: &Conv, p: &Pointers<'_, T>, space: &mut [T], out: Buf) {
    const C: usize = 8;
    let w = &conv.windows;
    let (kernel, at, row, column) = conv.kernels;
    let kernel = p.read(kernel);
    let values = p.read(conv.values);
    let image = p.write(out);
    image.fill(T::ZERO);
    let (n, count) = (w.offsets.len(), conv.count);
    let (step, rows) = (w.along.stride as usize, w.along.size);
    let lanes = <T::V<I> as Simd<T>>::N;
    // columns side by side for each kernel, in an order in which neighbours do not write to the same cells
    let blocks = n.div_ceil(C);
    let number = |b: usize, c: usize| c * blocks + b;
    let packed = &mut space[..blocks * count * C];
    for (b, block) in packed.chunks_exact_mut(count * C).enumerate() {
        for (o, out) in block.chunks_exact_mut(C).enumerate() {
            for (c, x) in out.iter_mut().enumerate() {
                let index = at as isize + o as isize * row + number(b, c) as isize * column;
                *x = if number(b, c) < n { kernel[index as usize] } else { T::ZERO };
            }
        }
    }
    for (s, &base) in w.bases.iter().enumerate() {
        let first = conv.at(s, 0);
        let apart = conv.stretches * rows;
        for from in (0..rows).step_by(lanes) {
            let len = lanes.min(rows - from);
            for (b, block) in packed.chunks_exact(count * C).enumerate() {
                let mut sums = [zero::<T, T::V<I>>(); C];
                let (kernels, _) = block.as_chunks::<C>();
                for (o, k) in kernels.iter().enumerate() {
                    let d: T::V<I> = some(values, first + o * apart + from, len);
                    for (s, &k) in sums.iter_mut().zip(k) {
                        *s = plus(*s, k, d);
                    }
                }
                for (c, &sum) in sums.iter().enumerate().take_while(|(c, _)| number(b, *c) < n) {
                    let to = base as usize + w.offsets[number(b, c)] as usize + from * step;
                    if step == 1 {
                        let cells: T::V<I> = some(image, to, len);
                        // SAFETY: called in kernels only
                        put(unsafe { Simd::<T>::add(sum, cells) }, image, to, len);
                    } else {
                        let mut some = [T::ZERO; WIDEST];
                        put(sum, &mut some, 0, lanes);
                        some[..len].iter().enumerate().for_each(|(i, &x)| image[to + i * step] += x);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn kernels<T: Float, I: Isa>(conv: &Conv, p: &Pointers<'_, T>, space: &mut [T], out: Buf) {
    const SIDE: usize = 4;
    let w = &conv.windows;
    let image = p.read(conv.image);
    let values = p.read(conv.values);
    let (n, count, rows) = (w.offsets.len(), conv.count, w.along.size);
    let lanes = <T::V<I> as Simd<T>>::N;
    let (wide, tall) = (n.next_multiple_of(SIDE), count.next_multiple_of(SIDE));
    let sums = &mut space[..wide * tall * lanes];
    sums.fill(T::ZERO);
    let step = w.along.stride as usize;
    for (i, bases) in w.bases.chunks(conv.stretches).enumerate() {
        for ob in (0..tall).step_by(SIDE) {
            for cb in (0..wide).step_by(SIDE) {
                let tile = &mut sums[(ob * wide + cb * SIDE) * lanes..][..SIDE * SIDE * lanes];
                let mut local = [[zero::<T, T::V<I>>(); SIDE]; SIDE];
                for (o, row) in local.iter_mut().enumerate() {
                    for (c, v) in row.iter_mut().enumerate() {
                        *v = fetch(tile, (o * SIDE + c) * lanes, 1);
                    }
                }
                let offsets: [usize; SIDE] = std::array::from_fn(|c| w.offsets[(cb + c).min(n - 1)] as usize);
                let reach = offsets.iter().max().copied().unwrap_or(0);
                // where the adjoints of this image and each kernel begin
                let plane: [usize; SIDE] =
                    std::array::from_fn(|o| (i * count + (ob + o).min(count - 1)) * conv.stretches * rows);
                for (r, &base) in bases.iter().enumerate() {
                    for from in (0..rows).step_by(lanes) {
                        let mut d = [zero::<T, T::V<I>>(); SIDE];
                        for (d, &at) in d.iter_mut().zip(&plane) {
                            *d = some(values, at + r * rows + from, rows - from);
                        }
                        let start = base as usize + from * step;
                        let mut x = [zero::<T, T::V<I>>(); SIDE];
                        if step == 1 && start + reach + lanes <= image.len() {
                            for (x, &offset) in x.iter_mut().zip(&offsets) {
                                // SAFETY: the largest offset still lies inside, just checked
                                *x = unsafe { Simd::<T>::load(image.as_ptr().add(start + offset)) };
                            }
                        } else {
                            for (x, &offset) in x.iter_mut().zip(&offsets) {
                                *x = fetch(image, start + offset, step);
                            }
                        }
                        for (row, &d) in local.iter_mut().zip(&d) {
                            for (v, &x) in row.iter_mut().zip(&x) {
                                // SAFETY: called in kernels only
                                *v = unsafe { Simd::<T>::times_plus(d, x, *v) };
                            }
                        }
                    }
                }
                for (o, row) in local.iter().enumerate() {
                    for (c, &v) in row.iter().enumerate() {
                        put(v, tile, (o * SIDE + c) * lanes, lanes);
                    }
                }
            }
        }
    }
    let out = p.write(out);
    for o in 0..count {
        for c in 0..n {
            let tile = (o / SIDE * SIDE) * wide + (c / SIDE * SIDE) * SIDE + (o % SIDE) * SIDE + c % SIDE;
            let sum = &sums[tile * lanes..][..lanes];
            out[o * n + c] = sum.iter().fold(T::ZERO, |s, &x| s + x);
        }
    }
}

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
        let rows = pool.windows.along.size;
        match pool.winners.map(|b| p.write(b)) {
            None => {
                for (&base, values) in pool.windows.bases.iter().zip(values.chunks_exact_mut(rows)) {
                    pool_row(pool, image, base as usize, values, None);
                }
            }
            Some(winners) => {
                let parts = values.chunks_exact_mut(rows).zip(winners.chunks_exact_mut(rows));
                for (&base, (values, winners)) in pool.windows.bases.iter().zip(parts) {
                    pool_row(pool, image, base as usize, values, Some(winners));
                }
            }
        }
    }
}

#[inline(always)]
fn pool_row<T: Float>(pool: &Pool, image: &[T], base: usize, values: &mut [T], winners: Option<&mut [T]>) {
    let at = |offset: u32| &image[base + offset as usize..];
    let step = pool.windows.along.stride as usize;
    let offsets = &pool.windows.offsets;
    match step {
        1 => take::<T, 1>(at(offsets[0]), values),
        2 => take::<T, 2>(at(offsets[0]), values),
        _ => values.iter_mut().zip(at(offsets[0]).iter().step_by(step)).for_each(|(v, &x)| *v = x),
    }
    let Some(winners) = winners else {
        for &offset in &offsets[1..] {
            let x = at(offset);
            match (step, pool.smallest) {
                (1, false) => join::<T, 1>(x, values, maximum),
                (2, false) => join::<T, 2>(x, values, maximum),
                (1, true) => join::<T, 1>(x, values, minimum),
                (2, true) => join::<T, 2>(x, values, minimum),
                _ => {
                    let f = if pool.smallest { minimum::<T> } else { maximum::<T> };
                    values.iter_mut().zip(x.iter().step_by(step)).for_each(|(v, &x)| *v = f(*v, x));
                }
            }
        }
        return;
    };
    winners.fill(T::ZERO);
    for (c, &offset) in offsets.iter().enumerate().skip(1) {
        let (x, c) = (at(offset), T::from_usize(c));
        match (step, pool.smallest, pool.last) {
            (1, false, false) => contest::<T, 1>(x, values, winners, c, |v, x| x > v, maximum),
            (2, false, false) => contest::<T, 2>(x, values, winners, c, |v, x| x > v, maximum),
            (_, smallest, last) => {
                for ((v, w), &x) in values.iter_mut().zip(winners.iter_mut()).zip(x.iter().step_by(step)) {
                    let (a, b) = if smallest { (-*v, -x) } else { (*v, x) };
                    if b > a || last && b == a {
                        *w = c;
                    }
                    let m = maximum(a, b);
                    *v = if smallest { -m } else { m };
                }
            }
        }
    }
}

#[inline(always)]
fn take<T: Float, const STEP: usize>(x: &[T], values: &mut [T]) {
    let x = &x[..(values.len() - 1) * STEP + 1];
    for (i, v) in values.iter_mut().enumerate() {
        *v = x[i * STEP];
    }
}

#[inline(always)]
fn join<T: Float, const STEP: usize>(x: &[T], values: &mut [T], f: impl Fn(T, T) -> T) {
    let x = &x[..(values.len() - 1) * STEP + 1];
    for (i, v) in values.iter_mut().enumerate() {
        *v = f(*v, x[i * STEP]);
    }
}

#[inline(always)]
fn contest<T: Float, const STEP: usize>(
    x: &[T],
    values: &mut [T],
    winners: &mut [T],
    number: T,
    better: impl Fn(T, T) -> bool,
    f: impl Fn(T, T) -> T,
) {
    let n = values.len();
    let (x, winners) = (&x[..(n - 1) * STEP + 1], &mut winners[..n]);
    for i in 0..n {
        let (v, x) = (values[i], x[i * STEP]);
        winners[i] = if better(v, x) { number } else { winners[i] };
        values[i] = f(v, x);
    }
}

/// The way back through [`Pool`]: each adjoint goes to the element that won.
#[derive(Clone, Debug)]
pub(crate) struct Unpool {
    pub windows: Windows,
    pub winners: Buf,
    pub values: Buf,
    /// Where the adjoint lies, and how it is read if not in order.
    pub adjoint: (Buf, Option<Walk>),
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
        out.fill(T::ZERO);
        let rows = pool.windows.along.size;
        let step = pool.windows.along.stride as usize;
        let offsets = &pool.windows.offsets;
        for (s, &base) in pool.windows.bases.iter().enumerate() {
            let adjoint = match &pool.adjoint.1 {
                None => &adjoint[s * rows..][..rows],
                Some(walk) => {
                    walk.load(adjoint, s * rows, &mut self.space[..rows]);
                    &self.space[..rows]
                }
            };
            let (winners, values) = (&winners[s * rows..][..rows], &values[s * rows..][..rows]);
            #[allow(clippy::eq_op)] // only NaN differs from itself
            let odd = values.iter().fold(false, |any, &v| any | (v != v));
            for (k, &offset) in offsets.iter().enumerate() {
                let number = T::from_usize(k);
                let cells = &mut out[base as usize + offset as usize..][..(rows - 1) * step + 1];
                if odd {
                    for (i, (&a, &v)) in adjoint.iter().zip(values).enumerate() {
                        #[allow(clippy::eq_op)]
                        let share = if v != v {
                            a * v
                        } else if winners[i] == number {
                            a
                        } else {
                            T::ZERO
                        };
                        cells[i * step] += share;
                    }
                } else if step == 2 {
                    give::<T, 2>(cells, adjoint, winners, number);
                } else {
                    for (i, (&a, &w)) in adjoint.iter().zip(winners).enumerate() {
                        cells[i * step] += if w == number { a } else { T::ZERO };
                    }
                }
            }
        }
    }
}

/// Adds each adjoint to its cell if this column won.
#[inline(always)]
fn give<T: Float, const STEP: usize>(cells: &mut [T], adjoint: &[T], winners: &[T], number: T) {
    for (i, (&a, &w)) in adjoint.iter().zip(winners).enumerate() {
        cells[i * STEP] += if w == number { a } else { T::ZERO };
    }
}
