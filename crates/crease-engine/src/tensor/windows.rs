//! Windows: a matrix of rows that are windows of one buffer, never written down.
//!
//! Convolution in programs is a product of a matrix whose rows are the windows of an image with a matrix of kernels. Here an
//! index map of rows and columns is taken apart into the places of rows and the offsets of columns: element (r, c) of the
//! matrix stands at `row(r) + offset(c)`. That is all the three products of a convolution need: values ([`Pass::Forward`]), the
//! adjoint of the image ([`Pass::Backward`]) and that of the kernels ([`Pass::Kernels`]). Sums stay in registers. Where values
//! are computed, the lanes of a register are either rows that lie side by side, many kernels at a time, or kernels, several rows at a
//! time: then it does not matter how rows lie, and short ones leave no lane empty. Kernels that are known beforehand are put in order then.

use super::lower::Buf;
use super::memory::Pointers;
use crate::float::Float;
use crate::isa::{Isa, Kernel, Simd, dispatch, each};
use crate::kernel::registers::{Turn, WIDEST, narrow, put, zero};
use crease_core::Layout;
use crease_core::shape::Dim;

/// A matrix of windows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Windows {
    /// Where the lowest column of the first row of each stretch stands.
    pub bases: Vec<u32>,
    /// The number of rows in a stretch, and how far apart they are: forward.
    pub along: Dim,
    /// The offsets of the columns from the lowest of them.
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
        let walk = |start: isize, dims: &[Dim]| -> Option<Vec<u32>> {
            let mut places = vec![start];
            for d in dims {
                let steps = |&from: &isize| (0..d.size as isize).map(move |i| from + i * d.stride);
                places = places.iter().flat_map(steps).collect();
            }
            places.into_iter().map(|p| u32::try_from(p).ok()).collect()
        };
        // columns that go backward begin at their lowest, so that nothing lies before a base
        let below: isize = column.iter().map(|d| (d.size as isize - 1) * d.stride.min(0)).sum();
        let bases = walk(*offset as isize + below, outer)?;
        Some(Windows { bases, along: *along, offsets: walk(-below, column)? })
    }

    /// Whether each of so many elements lies in a window.
    pub fn cover(&self, elements: usize) -> bool {
        let mut covered = vec![false; elements];
        for base in &self.bases {
            for row in 0..self.along.size {
                let at = *base as usize + row * self.along.stride as usize;
                self.offsets.iter().for_each(|&o| covered[at + o as usize] = true);
            }
        }
        covered.into_iter().all(|c| c)
    }

    /// The number of elements that a buffer must have.
    pub fn reach(&self) -> usize {
        let furthest = |x: &[u32]| x.iter().max().copied().unwrap_or(0) as usize;
        furthest(&self.bases) + furthest(&self.offsets) + (self.along.size - 1) * self.along.stride as usize + 1
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
    /// The kernels as [`Conv::pack`] leaves them, if they were known beforehand.
    pub packed: Option<Buf>,
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

impl Conv {
    /// How many numbers of working space a run needs.
    pub fn space(&self) -> usize {
        let columns = self.windows.offsets.len() + WIDEST;
        (columns + self.stretches * self.windows.along.size) * self.count.next_multiple_of(WIDEST)
    }

    /// Where the values of a stretch and a kernel begin.
    #[inline(always)]
    fn at(&self, stretch: usize, kernel: usize) -> usize {
        let (image, row) = (stretch / self.stretches, stretch % self.stretches);
        ((image * self.count + kernel) * self.stretches + row) * self.windows.along.size
    }

    /// How many numbers the kernels are when they are packed, at most.
    fn room(&self) -> usize {
        self.windows.offsets.len() * self.count.next_multiple_of(WIDEST)
    }

    /// The kernels in blocks, side by side for each column, as the values need them on this machine.
    pub fn pack<T: Float>(&self, kernels: &[T]) -> Vec<T> {
        let mut out = vec![T::ZERO; self.room()];
        dispatch(Pack { conv: self, kernels, out: &mut out });
        out
    }

    pub fn run<T: Float>(&self, p: &Pointers<'_, T>, space: &mut [T], pass: Pass) {
        if pass != Pass::Forward {
            return dispatch(Run { conv: self, p, packed: &[], space, pass });
        }
        let (out, space) = space.split_at_mut(self.room());
        let packed = match self.packed {
            Some(b) => p.read(b),
            None => {
                dispatch(Pack { conv: self, kernels: p.read(self.kernels.0), out });
                out
            }
        };
        dispatch(Run { conv: self, p, packed, space, pass });
    }
}

struct Run<'a, 'p, T> {
    conv: &'a Conv,
    p: &'a Pointers<'p, T>,
    packed: &'a [T],
    space: &'a mut [T],
    pass: Pass,
}

impl<T: Float> Kernel for Run<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Run { conv, p, packed, space, pass } = self;
        match pass {
            Pass::Forward => match lanes::<T, I>(conv) {
                Lanes::Kernels => channels::<T, I>(conv, p, packed, space),
                Lanes::Few => channels::<T, I::Narrow>(conv, p, packed, space),
                Lanes::Rows(8) => forward::<T, I, 8>(conv, p, packed),
                Lanes::Rows(_) => forward::<T, I, 4>(conv, p, packed),
            },
            Pass::Backward(out) if I::REGISTERS >= 32 => backward::<T, I, 8>(conv, p, space, out),
            Pass::Backward(out) => backward::<T, I, 6>(conv, p, space, out),
            Pass::Kernels(out) if few::<T, I>(conv) => kernels::<T, I::Narrow>(conv, p, space, out),
            Pass::Kernels(out) => kernels::<T, I>(conv, p, space, out),
        }
    }
}

/// What fills a register when values are computed.
enum Lanes {
    /// Rows, with so many kernels worked on at once.
    Rows(usize),
    Kernels,
    /// Kernels, no more than half a register of them.
    Few,
}

/// Whether the kernels fill no more than one of the narrow registers, if there are such.
#[inline(always)]
fn few<T: Float, I: Isa>(conv: &Conv) -> bool {
    narrow::<T, I>() && 2 * conv.count <= <T::V<I> as Simd<T>>::N
}

/// What leaves fewer lanes empty. Rows that do not lie side by side fill no register.
#[inline(always)]
fn lanes<T: Float, I: Isa>(conv: &Conv) -> Lanes {
    /// Putting the sums of a row channel by channel takes as long as so many columns.
    const TURNING: usize = 8;
    let (along, columns, lanes) = (conv.windows.along, conv.windows.offsets.len(), <T::V<I> as Simd<T>>::N);
    // sums, the registers that go into them and one number of a kernel fill the registers of a machine, or nearly
    let at_once = if I::REGISTERS >= 32 { 8 } else { 4 };
    // with fewer than eight sums at once products wait for each other
    let rows = along.size.next_multiple_of(lanes).max(8 / at_once * lanes) * conv.count.next_multiple_of(at_once);
    let kernels = along.size * conv.count.next_multiple_of(lanes);
    match along.stride == 1 && rows * columns <= kernels * (columns + TURNING) {
        true => Lanes::Rows(at_once),
        false if few::<T, I>(conv) => Lanes::Few,
        false => Lanes::Kernels,
    }
}

struct Pack<'a, T> {
    conv: &'a Conv,
    kernels: &'a [T],
    out: &'a mut [T],
}

impl<T: Float> Kernel for Pack<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let (lanes, half) = (<T::V<I> as Simd<T>>::N, <T::V<I::Narrow> as Simd<T>>::N);
        let (few, most) = match self::lanes::<T, I>(self.conv) {
            Lanes::Kernels => (false, 2 * lanes),
            Lanes::Few => (true, 2 * half),
            Lanes::Rows(at_once) => (narrow::<T, I>() && at_once < lanes, at_once),
        };
        if few { self.registers::<I::Narrow>(most) } else { self.registers::<I>(most) }
    }
}

impl<T: Float> Pack<'_, T> {
    /// In blocks of `most` kernels, the last of as many registers as are enough.
    #[inline(always)]
    fn registers<I: Isa>(self, most: usize) {
        let lanes = <T::V<I> as Simd<T>>::N;
        let (n, count) = (self.conv.windows.offsets.len(), self.conv.count);
        let (_, at, row, column) = self.conv.kernels;
        if column != 1 || row < 0 || most < lanes {
            return self.blocks(most, most.min(lanes));
        }
        for o in (0..count).step_by(lanes) {
            let (b, wide) = block(o, count, most, lanes);
            let (from, out) = (&self.kernels[at + o * row as usize..], &mut self.out[b * n + o - b..]);
            let (rows, apart) = (lanes.min(count - o), row as usize);
            dispatch(Turn { from, apart, rows, columns: n, out, wide, filled: true, lanes });
        }
    }

    /// In blocks of `most` kernels, the last of as many times `least` as are enough, filled up with zeros.
    #[inline(always)]
    fn blocks(self, most: usize, least: usize) {
        let (n, count) = (self.conv.windows.offsets.len(), self.conv.count);
        let (_, at, row, column) = self.conv.kernels;
        for o in 0..count.next_multiple_of(least) {
            let (b, wide) = block(o, count, most, least);
            let out = self.out[b * n..][..n * wide][o - b..].iter_mut().step_by(wide);
            if o >= count {
                out.for_each(|x| *x = T::ZERO);
                continue;
            }
            let mut index = at as isize + o as isize * row;
            for x in out {
                *x = self.kernels[index as usize];
                index += column;
            }
        }
    }
}

/// The first kernel of the block that a kernel is in, and how wide that block is.
#[inline(always)]
fn block(o: usize, count: usize, most: usize, least: usize) -> (usize, usize) {
    let first = o - o % most;
    (first, most.min((count - first).next_multiple_of(least)))
}

/// `sum + k * x`.
#[inline(always)]
fn plus<T: Float, V: Simd<T>>(sum: V, k: T, x: V) -> V {
    // SAFETY: called in kernels only
    unsafe { V::splat(k).times_plus(x, sum) }
}

/// Lanes are kernels: each number of a window is multiplied by those of all kernels at its column at once, with sums of several
/// windows in registers, and the sums of an image are put channel by channel at last.
#[inline(always)]
fn channels<T: Float, I: Isa>(conv: &Conv, p: &Pointers<'_, T>, packed: &[T], sums: &mut [T]) {
    let w = &conv.windows;
    let (n, count, positions) = (w.offsets.len(), conv.count, conv.stretches * w.along.size);
    let lanes = <T::V<I> as Simd<T>>::N;
    let (image, values) = (p.read(conv.image), p.write(conv.values));
    // every element that is read lies inside, so that no single access has to be checked
    assert!(w.reach() <= image.len());
    for (i, bases) in w.bases.chunks_exact(conv.stretches).enumerate() {
        let planes = &mut values[i * count * positions..][..count * positions];
        for b in (0..count).step_by(2 * lanes) {
            let (_, wide) = block(b, count, 2 * lanes, lanes);
            let part = Rows { image, windows: w, kernels: &packed[b * n..][..n * wide] };
            let rows = |&base: &u32| (0..w.along.size).map(move |r| base as usize + r * w.along.stride as usize);
            let mut places = bases.iter().flat_map(rows);
            for from in (0..positions).step_by(NEAR) {
                let near = NEAR.min(positions - from);
                match wide > lanes {
                    false => part.times::<I, 1, 8>(&mut places, near, sums),
                    true if I::REGISTERS >= 32 => part.times::<I, 2, 8>(&mut places, near, sums),
                    true => part.times::<I, 2, 6>(&mut places, near, sums),
                }
                let (columns, out) = (wide.min(count - b), &mut planes[b * positions + from..]);
                let (apart, wide) = (wide, positions);
                dispatch(Turn { from: sums, apart, rows: near, columns, out, wide, filled: false, lanes });
            }
        }
    }
}

/// The sums of so many rows wait near by until they are put channel by channel: a multiple of what is worked on at once.
const NEAR: usize = 48;

/// The windows of one image, and the kernels of a few registers, side by side for each column.
struct Rows<'a, T> {
    image: &'a [T],
    windows: &'a Windows,
    kernels: &'a [T],
}

impl<T: Float> Rows<'_, T> {
    /// The sums of the next rows, `R` registers of each, `N` rows at once.
    #[inline(always)]
    fn times<I: Isa, const R: usize, const N: usize>(
        &self,
        places: &mut impl Iterator<Item = usize>,
        rows: usize,
        sums: &mut [T],
    ) {
        let (offsets, lanes) = (&self.windows.offsets[..], <T::V<I> as Simd<T>>::N);
        assert!(self.kernels.len() >= offsets.len() * R * lanes);
        for to in sums[..rows.next_multiple_of(N) * R * lanes].chunks_exact_mut(N * R * lanes) {
            // SAFETY: both slices are long enough, just checked, and so is the image, as the caller has checked; the instructions
            // are those of the kernel
            unsafe {
                // beyond the last row the image begins again, and nobody looks at those sums
                let mut rows = [self.image.as_ptr(); N];
                rows.iter_mut().zip(&mut *places).for_each(|(row, place)| *row = row.add(place));
                let mut local = [[zero::<T, T::V<I>>(); R]; N];
                let mut kernels = self.kernels.as_ptr();
                for &offset in offsets {
                    let k: [T::V<I>; R] = each(|r| Simd::<T>::load(kernels.add(r * lanes)));
                    for (sum, row) in local.iter_mut().zip(rows) {
                        let x = <T::V<I> as Simd<T>>::splat(*row.add(offset as usize));
                        for (s, &k) in sum.iter_mut().zip(&k) {
                            *s = x.times_plus(k, *s);
                        }
                    }
                    kernels = kernels.add(R * lanes);
                }
                for (i, sum) in local.iter().enumerate() {
                    for (r, &s) in sum.iter().enumerate() {
                        Simd::<T>::store(s, to.as_mut_ptr().add((i * R + r) * lanes));
                    }
                }
            }
        }
    }
}

/// Lanes are rows. `O` kernels are worked on at once.
#[inline(always)]
fn forward<T: Float, I: Isa, const O: usize>(conv: &Conv, p: &Pointers<'_, T>, packed: &[T]) {
    let w = &conv.windows;
    let (n, count) = (w.offsets.len(), conv.count);
    let image = p.read(conv.image);
    let values = p.write(conv.values);
    let packed = &packed[..count.div_ceil(O) * n * O];
    let registers = w.along.size.div_ceil(<T::V<I> as Simd<T>>::N);
    // as many at once as there is room for, in groups of nearly equal size
    let group = registers.div_ceil(registers.div_ceil(MOST));
    let reach = w.offsets.iter().max().copied().unwrap_or(0) as usize;
    let apart = conv.stretches * w.along.size;
    for (s, &base) in w.bases.iter().enumerate() {
        let first = conv.at(s, 0);
        for (b, block) in packed.chunks_exact(n * O).enumerate() {
            let (to, kernels) = (first + b * O * apart, count - b * O);
            let stretch = Stretch { windows: w, image, base: base as usize, reach, block, to, apart, kernels };
            for from in (0..registers).step_by(group) {
                match group.min(registers - from) {
                    1 => stretch.tile::<I, 1, O>(from, values),
                    2 => stretch.tile::<I, 2, O>(from, values),
                    _ => stretch.tile::<I, MOST, O>(from, values),
                }
            }
        }
    }
}

/// So many registers of rows are worked on at once.
const MOST: usize = 3;

/// A stretch of rows and some kernels, side by side for each column.
struct Stretch<'a, T> {
    windows: &'a Windows,
    image: &'a [T],
    base: usize,
    /// The largest offset of a column.
    reach: usize,
    block: &'a [T],
    /// Where the values of the first kernel go, how far those of the next are from them, and how many kernels are left.
    to: usize,
    apart: usize,
    kernels: usize,
}

impl<T: Float> Stretch<'_, T> {
    /// `N` registers of rows from number `from` on times `O` kernels. The last register of a stretch reaches back into the one before
    /// it, where it computes the same once more, so that all are full.
    #[inline(always)]
    fn tile<I: Isa, const N: usize, const O: usize>(&self, from: usize, values: &mut [T]) {
        let (w, image) = (self.windows, self.image);
        let lanes = <T::V<I> as Simd<T>>::N;
        let rows = w.along.size;
        let places: [usize; N] = each(|i| ((from + i) * lanes).min(rows.saturating_sub(lanes)));
        let starts = places.map(|p| self.base + p);
        let mut sums = [[zero::<T, T::V<I>>(); N]; O];
        let (columns, _) = self.block.as_chunks::<O>();
        // a stretch that does not fill a register is read no further than it goes
        let len = lanes.min(rows);
        assert!(starts[N - 1] + self.reach + len <= image.len());
        for (&offset, k) in w.offsets.iter().zip(columns) {
            let x: [T::V<I>; N] = each(|i| {
                // SAFETY: the largest offset from the last start still lies inside, just checked
                unsafe {
                    let at = image.as_ptr().add(starts[i] + offset as usize);
                    if N > 1 || len == lanes { Simd::<T>::load(at) } else { Simd::<T>::load_some(at, len) }
                }
            });
            for (sum, &k) in sums.iter_mut().zip(k) {
                for (s, &x) in sum.iter_mut().zip(&x) {
                    *s = plus(*s, k, x);
                }
            }
        }
        for (k, sum) in sums.iter().enumerate().take(self.kernels) {
            let values = &mut values[self.to + k * self.apart..][..rows];
            for (&place, &s) in places.iter().zip(sum) {
                put(s, values, place, rows - place);
            }
        }
    }
}

/// Sums of `C` columns at once, for up to two registers of rows.
#[inline(always)]
fn backward<T: Float, I: Isa, const C: usize>(conv: &Conv, p: &Pointers<'_, T>, space: &mut [T], out: Buf) {
    let w = &conv.windows;
    let (kernel, at, row, column) = conv.kernels;
    let kernel = p.read(kernel);
    let image = p.write(out);
    image.fill(T::ZERO);
    // every element that is written lies inside, so that no single access has to be checked
    assert!(w.reach() <= image.len());
    let (n, count) = (w.offsets.len(), conv.count);
    let rows = w.along.size;
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
        let back = Back { conv, values: p.read(conv.values), first: conv.at(s, 0), base: base as usize };
        for from in (0..rows).step_by(2 * lanes) {
            for (b, block) in packed.chunks_exact(count * C).enumerate() {
                let offsets: [Option<u32>; C] = each(|c| w.offsets.get(number(b, c)).copied());
                match rows - from > lanes {
                    true => back.add::<I, 2, C>(from, block, offsets, image),
                    false => back.add::<I, 1, C>(from, block, offsets, image),
                }
            }
        }
    }
}

/// The adjoints of a stretch of rows, on their way into the image.
struct Back<'a, T> {
    conv: &'a Conv,
    values: &'a [T],
    /// Where the adjoints of the first kernel begin, and where the windows do.
    first: usize,
    base: usize,
}

impl<T: Float> Back<'_, T> {
    /// Adds up to `N` registers of rows, times `C` columns of all kernels.
    #[inline(always)]
    fn add<I: Isa, const N: usize, const C: usize>(
        &self,
        from: usize,
        block: &[T],
        offsets: [Option<u32>; C],
        image: &mut [T],
    ) {
        let w = &self.conv.windows;
        let (step, rows, lanes) = (w.along.stride as usize, w.along.size, <T::V<I> as Simd<T>>::N);
        let apart = self.conv.stretches * rows;
        // the last of several reaches back into the one before it, where it computes the same once more; a single one may not be full
        let place = |i: usize| if i > 0 { (from + i * lanes).min(rows - lanes) } else { from };
        let len = if N > 1 { lanes } else { lanes.min(rows - from) };
        let mut sums = [[zero::<T, T::V<I>>(); N]; C];
        let (kernels, _) = block.as_chunks::<C>();
        let adjoints = &self.values[self.first..];
        assert!((kernels.len() - 1) * apart + place(N - 1) + len <= adjoints.len());
        for (o, k) in kernels.iter().enumerate() {
            let d: [T::V<I>; N] = each(|i| {
                // SAFETY: the registers of the last kernel lie inside, just checked
                unsafe {
                    let at = adjoints.as_ptr().add(o * apart + place(i));
                    if len == lanes { Simd::<T>::load(at) } else { Simd::<T>::load_some(at, len) }
                }
            });
            for (sum, &k) in sums.iter_mut().zip(k) {
                for (s, &d) in sum.iter_mut().zip(&d) {
                    *s = plus(*s, k, d);
                }
            }
        }
        for (offset, sum) in offsets.into_iter().zip(sums) {
            let Some(offset) = offset else { continue };
            let to = |i: usize| self.base + offset as usize + place(i) * step;
            if step == 1 {
                // SAFETY: `backward` has checked that all windows lie in the image; called in kernels only
                unsafe {
                    let cells = |i: usize| image.as_ptr().add(to(i));
                    // all cells are read before any is written
                    let total: [T::V<I>; N] = each(|i| match len == lanes {
                        true => sum[i].add(Simd::<T>::load(cells(i))),
                        false => sum[i].add(Simd::<T>::load_some(cells(i), len)),
                    });
                    for (i, total) in total.into_iter().enumerate() {
                        put(total, image, to(i), len);
                    }
                }
                continue;
            }
            for (i, sum) in sum.into_iter().enumerate() {
                let mut some = [T::ZERO; WIDEST];
                put(sum, &mut some, 0, lanes);
                // what the register before it has put
                let done = from + i * lanes - place(i);
                (done..len).for_each(|l| image[to(i) + l * step] += some[l]);
            }
        }
    }
}

/// Lanes are kernels: the adjoints of an image are put side by side for all kernels, and each number of a window is multiplied
/// by all of those at its row at once. Sums of several columns stay in registers while an image goes by.
#[inline(always)]
fn kernels<T: Float, I: Isa>(conv: &Conv, p: &Pointers<'_, T>, space: &mut [T], out: Buf) {
    let w = &conv.windows;
    let image = p.read(conv.image);
    let values = p.read(conv.values);
    let (n, count, positions) = (w.offsets.len(), conv.count, conv.stretches * w.along.size);
    let lanes = <T::V<I> as Simd<T>>::N;
    let wide = count.next_multiple_of(lanes);
    let (sums, rest) = space.split_at_mut(n * wide);
    let packed = &mut rest[..positions * wide];
    sums.fill(T::ZERO);
    // every element that is read lies inside, so that no single access has to be checked
    assert!(w.reach() <= image.len());
    for (i, bases) in w.bases.chunks_exact(conv.stretches).enumerate() {
        let planes = &values[i * count * positions..][..count * positions];
        let (apart, columns) = (positions, positions);
        dispatch(Turn { from: planes, apart, rows: count, columns, out: &mut *packed, wide, filled: true, lanes });
        let mut b = 0;
        while b < wide {
            // two registers of kernels for each number of the image, where few registers would else wait for numbers
            let two = I::REGISTERS < 32 && wide - b >= 2 * lanes;
            let mut c = 0;
            while c < n {
                let part = Columns { image, bases, windows: w, adjoints: &packed[b..], first: c, wide };
                let sums = &mut sums[c * wide + b..];
                c += match n - c {
                    6.. if two => part.add::<I, 2, 6>(sums),
                    3.. if two => part.add::<I, 2, 3>(sums),
                    _ if two => part.add::<I, 2, 1>(sums),
                    24.. if I::REGISTERS >= 32 => part.add::<I, 1, 24>(sums),
                    12.. => part.add::<I, 1, 12>(sums),
                    9.. => part.add::<I, 1, 9>(sums),
                    4.. => part.add::<I, 1, 4>(sums),
                    _ => part.add::<I, 1, 1>(sums),
                };
            }
            b += if two { 2 * lanes } else { lanes };
        }
    }
    let out = p.write(out);
    for o in 0..count {
        for c in 0..n {
            out[o * n + c] = sums[c * wide + o];
        }
    }
}

/// Some columns of the windows of one image, and the adjoints of a register full of kernels, or of several.
struct Columns<'a, T> {
    image: &'a [T],
    bases: &'a [u32],
    windows: &'a Windows,
    /// From row to row `wide` apart.
    adjoints: &'a [T],
    first: usize,
    wide: usize,
}

impl<T: Float> Columns<'_, T> {
    /// Adds the products of `N` columns with `R` registers of adjoints; their sums lie `wide` apart.
    #[inline(always)]
    fn add<I: Isa, const R: usize, const N: usize>(&self, sums: &mut [T]) -> usize {
        let (rows, step) = (self.windows.along.size, self.windows.along.stride as usize);
        let lanes = <T::V<I> as Simd<T>>::N;
        let offsets: [usize; N] = each(|c| self.windows.offsets[self.first + c] as usize);
        assert!(sums.len() >= (N - 1) * self.wide + R * lanes);
        assert!(self.adjoints.len() >= (self.bases.len() * rows - 1) * self.wide + R * lanes);
        // SAFETY: both slices are long enough, just checked, and so is the image, as the caller has checked; the instructions
        // are those of the kernel
        unsafe {
            let place = |c: usize, r: usize| c * self.wide + r * lanes;
            let mut local = [[zero::<T, T::V<I>>(); R]; N];
            for (c, sum) in local.iter_mut().enumerate() {
                for (r, s) in sum.iter_mut().enumerate() {
                    *s = Simd::<T>::load(sums.as_ptr().add(place(c, r)));
                }
            }
            let mut adjoint = self.adjoints.as_ptr();
            for &base in self.bases {
                let mut at = self.image.as_ptr().add(base as usize);
                for _ in 0..rows {
                    let d: [T::V<I>; R] = each(|r| Simd::<T>::load(adjoint.add(r * lanes)));
                    for (sum, &offset) in local.iter_mut().zip(&offsets) {
                        let x = <T::V<I> as Simd<T>>::splat(*at.add(offset));
                        for (s, &d) in sum.iter_mut().zip(&d) {
                            *s = x.times_plus(d, *s);
                        }
                    }
                    adjoint = adjoint.wrapping_add(self.wide);
                    at = at.wrapping_add(step);
                }
            }
            for (c, sum) in local.iter().enumerate() {
                for (r, &s) in sum.iter().enumerate() {
                    Simd::<T>::store(s, sums.as_mut_ptr().add(place(c, r)));
                }
            }
        }
        N
    }
}
