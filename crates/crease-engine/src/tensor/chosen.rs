//! Adjoints of convolutions whose values went through a maximum over windows: of each window one value was chosen, and only that one has
//! an adjoint. So the way back takes a product for each window and not for each value, a quarter of them where windows are 2 by 2.
//!
//! The two passes of a convolution that go back ([`Pass::Kernels`], [`Pass::Backward`]) and the
//! way back through the maximum ([`Unpool`]) enter; one step leaves, for both passes. Its registers hold what lies side by side in a window of an
//! image whose pixels have their channels side by side, the columns next to each other in as many registers as they fill: so each image is turned over first, and its
//! adjoint last.
//!
//! What was not chosen has the adjoint 0, which is 0 times whatever it is multiplied by only where that is finite: a run that meets anything
//! else is handed over to the interpreter.

use super::lower::Buf;
use super::memory::Pointers;
use super::pool::Unpool;
use super::windows::{Conv, Pass, Windows};
use crate::float::{Float, all_finite};
use crate::isa::{Isa, Kernel, Simd, dispatch, each};
use crate::kernel::registers::{Turn, WIDEST, narrow, zero};
use std::ops::Range;
use std::sync::Arc;

/// The adjoints of a convolution behind a maximum.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    plan: Arc<Plan>,
    /// How many images, and where in its buffer each begins.
    images: usize,
    first: usize,
    /// The column that won in each window, as a number, and the adjoint of each window: [image, kernel, window].
    pub winners: Buf,
    pub adjoint: Buf,
    /// The maxima themselves: where one is NaN, all of its window are the reason.
    pub maxima: Buf,
    /// The image of the convolution, and the adjoint of its kernels, kernel by kernel.
    pub kernels: Option<(Buf, Buf)>,
    /// The kernels, and the adjoint of the image.
    pub image: Option<(Buf, Buf)>,
}

/// What is known about both beforehand.
#[derive(Debug)]
struct Plan {
    count: usize,
    /// Kernel number o at column c stands at `offset + o * row + c * column`.
    kernel: (usize, isize, isize),
    /// How many channels an image has, how far they are apart, and how many pixels of each are in windows.
    channels: usize,
    plane: usize,
    pixels: usize,
    /// How far the first pixels of images are apart.
    apart: usize,
    /// How many values each kernel has in an image, and how many windows of the maximum.
    values: usize,
    places: usize,
    /// For each column of those windows and each of them the number at which the window of the convolution begins that the value there came from.
    starts: Vec<u32>,
    /// The last of those.
    furthest: usize,
    /// Columns that lie side by side: the number at which they begin in a window, and which they are.
    runs: Vec<(usize, Range<usize>)>,
}

/// The image, or its adjoint, and the kernels or theirs are read and written in so many registers at once: with those of AVX2 there is room for what goes into them.
const MOST: usize = 9;
/// Others in as many as this, and one by one at last.
const SOME: usize = 3;
/// The most columns that windows of the maximum may have.
const COLUMNS: usize = 1 << 22;

/// The layout of what all images have in common: where it begins in the first, relative to that, and how far images are apart.
fn alike(bases: &[u32], images: usize) -> Option<(usize, Vec<usize>, usize)> {
    let each = bases.len() / images.max(1);
    let (one, rest) = bases.split_at(each);
    let low = *one.iter().min()?;
    // images that lie in reverse are not looked at from behind
    let apart = rest.first().map_or(Some(0), |b| b.checked_sub(one[0]))? as usize;
    let same = |(i, base): (usize, &u32)| *base as usize == one[i % each] as usize + apart * (i / each);
    let all = each * images == bases.len() && bases.iter().enumerate().all(same);
    all.then(|| (low as usize, one.iter().map(|b| (b - low) as usize).collect(), apart))
}

/// The channels of an image, how far they are apart, and the offsets of the columns that a channel has, if columns come channel by channel.
fn channels(windows: &Windows, reach: usize) -> (usize, usize, Vec<usize>) {
    let offsets: Vec<usize> = windows.offsets.iter().map(|&o| o as usize).collect();
    let n = offsets.len();
    let found = (2..=n).rev().filter(|c| n.is_multiple_of(*c)).find_map(|channels| {
        let taps = n / channels;
        let plane = offsets[taps].checked_sub(offsets[0])?;
        let regular = (0..n).all(|k| offsets[k] == offsets[k % taps] + k / taps * plane);
        let wide = offsets[..taps].iter().max()? + reach;
        (regular && wide < plane).then(|| (channels, plane, offsets[..taps].to_vec()))
    });
    found.unwrap_or((1, 0, offsets))
}

impl Chosen {
    /// An adjoint of a convolution whose values went through the maximum, if this is worth it.
    pub fn new<T: Float>(conv: &Conv, pass: Pass, pool: &Unpool) -> Option<Self> {
        let (kernels, image) = match pass {
            Pass::Forward => return None,
            Pass::Kernels(out) => (Some((conv.image, out)), None),
            Pass::Backward(out) => (None, Some((conv.kernels.0, out))),
        };
        // winners are told by numbers, as many as every kind of them counts
        if pool.windows.offsets.len() > COLUMNS {
            return None;
        }
        let (windows, count) = (&conv.windows, conv.count);
        let images = windows.bases.len() / conv.stretches;
        let (first, bases, apart) = alike(&windows.bases, images)?;
        let along = windows.along.stride as usize;
        let positions = conv.stretches * windows.along.size;
        let last = bases.iter().max()? + (windows.along.size - 1) * along;
        let (channels, plane, taps) = channels(windows, last);
        let pixels = last + taps.iter().max()? + 1;
        // images that share numbers would add to each other's adjoints
        if images > 1 && apart < (channels - 1) * plane + pixels {
            return None;
        }
        // the windows of the maximum lie in the values of one kernel and image each
        let (low, mut tops, step) = alike(&pool.windows.bases, images * count)?;
        tops.iter_mut().for_each(|top| *top += low);
        if images * count > 1 && step != positions {
            return None;
        }
        let reach = |columns: &u32| *columns as usize + tops.iter().max().unwrap_or(&0);
        let rows = pool.windows.along;
        let furthest = pool.windows.offsets.iter().map(reach).max()? + (rows.size - 1) * rows.stride as usize;
        if furthest >= positions {
            return None;
        }
        let places: Vec<usize> =
            tops.iter().flat_map(|top| (0..rows.size).map(move |r| top + r * rows.stride as usize)).collect();
        let start = |value: usize| bases[value / windows.along.size] + value % windows.along.size * along;
        let starts = pool.windows.offsets.iter().flat_map(|&column| {
            places.iter().map(move |place| u32::try_from(start(place + column as usize) * channels).ok())
        });
        let starts: Vec<u32> = starts.collect::<Option<_>>()?;
        let mut runs: Vec<(usize, Range<usize>)> = Vec::new();
        for (tap, &at) in taps.iter().enumerate() {
            match runs.last_mut() {
                Some((from, of)) if *from + of.len() * channels == at * channels => of.end += 1,
                _ => runs.push((at * channels, tap..tap + 1)),
            }
        }
        let plan = Plan {
            count,
            kernel: (conv.kernels.1, conv.kernels.2, conv.kernels.3),
            channels,
            plane,
            pixels,
            apart,
            values: positions,
            places: places.len(),
            furthest: starts.iter().max().map_or(0, |&s| s as usize),
            starts,
            runs,
        };
        // a number that is stored again and again takes longer than one that is added to a register
        let (chosen, all) = (places.len() * plan.filled(32 / size_of::<T>()), positions * windows.offsets.len());
        (3 * chosen <= 2 * all).then(|| Chosen {
            plan: Arc::new(plan),
            images,
            first,
            winners: pool.winners,
            adjoint: pool.adjoint.0,
            maxima: pool.values,
            kernels,
            image,
        })
    }

    /// The same for the adjoints of both, if what is known of them is the same.
    pub fn joined(self, other: Chosen) -> Result<Chosen, Chosen> {
        let (a, b) = (&self.plan, &other.plan);
        let same = (a.channels, a.plane, a.pixels, a.places) == (b.channels, b.plane, b.pixels, b.places)
            && (a.count, self.images, &a.starts, &a.runs) == (b.count, other.images, &b.starts, &b.runs)
            && (self.first, a.apart) == (other.first, b.apart);
        match (same, &self.kernels, &self.image, &other.kernels, &other.image) {
            (true, None, Some(_), Some(_), None) => Ok(Chosen { kernels: other.kernels, ..self }),
            (true, Some(_), None, None, Some(_)) => Ok(Chosen { kernels: self.kernels, ..other }),
            _ => Err(other),
        }
    }

    pub fn describe(&self) -> String {
        let p = &*self.plan;
        let what = match (self.kernels, self.image) {
            (Some(_), Some(_)) => "kernels and image",
            (Some(_), None) => "kernels",
            _ => "image",
        };
        format!("adjoints of {what} behind a maximum: {} of {} values, {} kernels", p.places, p.values, p.count)
    }

    /// How many images there are, and how many products they take together.
    pub fn size(&self) -> (usize, usize) {
        let p = &*self.plan;
        (
            self.images,
            self.images * p.count * p.places * p.runs.iter().map(|(_, of)| of.len() * p.channels).sum::<usize>(),
        )
    }

    /// How many values each kernel has in an image, and how many of them were chosen.
    pub fn values(&self) -> [usize; 2] {
        [self.plan.values, self.plan.places]
    }

    /// How many adjoints each image has.
    pub fn each(&self) -> usize {
        self.plan.count * self.plan.places
    }

    /// The cells of the buffer of the image, cut where some images begin: all up to where the next ones do.
    pub fn cells(&self, images: &Range<usize>, all: usize) -> Range<usize> {
        let at = |i: usize| self.first + i * self.plan.apart;
        let start = if images.start == 0 { 0 } else { at(images.start) };
        let end = if images.end == self.images { all } else { at(images.end) };
        start..end
    }

    /// The step for some images, given the parts of its buffers.
    pub fn part(
        &self,
        images: Range<usize>,
        [winners, adjoint, maxima]: [Buf; 3],
        kernels: Option<(Buf, Buf)>,
        image: Option<(Buf, Buf)>,
    ) -> Chosen {
        // what lies before the first image belongs to its part
        let first = if images.start == 0 { self.first } else { 0 };
        Chosen { plan: self.plan.clone(), images: images.len(), first, winners, adjoint, maxima, kernels, image }
    }

    /// How many numbers of working space a run needs: an image and its adjoint, the kernels and theirs.
    pub fn space(&self) -> usize {
        let p = &*self.plan;
        let kernels =
            p.count * p.runs.iter().map(|(_, of)| (of.len() * p.channels).next_multiple_of(WIDEST)).sum::<usize>();
        2 * (p.pixels * p.channels + WIDEST) + 2 * kernels
    }

    /// How many positions a run needs: where windows begin, and the registers in them.
    pub fn positions(&self) -> usize {
        self.plan.places + self.plan.filled(1)
    }

    /// What the step reads.
    pub fn reads(&self) -> impl Iterator<Item = Buf> {
        let both = [self.kernels.map(|k| k.0), self.image.map(|i| i.0)];
        [self.winners, self.adjoint, self.maxima].into_iter().chain(both.into_iter().flatten())
    }

    /// Runs the step; false if something that it reads is not finite, and may be multiplied by a 0 that was left out. Checked code has looked at it all.
    pub fn run<T: Float>(&self, p: &Pointers<'_, T>, space: &mut [T], positions: &mut [u32], checked: bool) -> bool {
        dispatch(Run { chosen: self, p, space, positions });
        checked || self.reads().all(|b| all_finite(p.read(b)))
    }
}

impl Plan {
    /// How many numbers the registers of a window have, with so many lanes each.
    fn filled(&self, lanes: usize) -> usize {
        self.runs.iter().map(|(_, of)| (of.len() * self.channels).next_multiple_of(lanes)).sum()
    }

    /// Where the registers of a window begin.
    fn registers(&self, lanes: usize) -> impl Iterator<Item = usize> {
        self.runs.iter().flat_map(move |(at, of)| (0..of.len() * self.channels).step_by(lanes).map(move |k| at + k))
    }

    /// For each number in the registers of a window that stands for a column: its place there, and the column.
    fn columns(&self, lanes: usize) -> impl Iterator<Item = (usize, usize)> {
        let taps: usize = self.runs.iter().map(|(_, of)| of.len()).sum();
        let mut begin = 0;
        self.runs.iter().flat_map(move |(_, of)| {
            let from = begin;
            begin += (of.len() * self.channels).next_multiple_of(lanes);
            of.clone()
                .flat_map(move |tap| (0..self.channels).map(move |c| (tap, c)))
                .map(move |(tap, c)| (from + (tap - of.start) * self.channels + c, c * taps + tap))
        })
    }
}

struct Run<'a, 'p, T> {
    chosen: &'a Chosen,
    p: &'a Pointers<'p, T>,
    space: &'a mut [T],
    positions: &'a mut [u32],
}

impl<T: Float> Kernel for Run<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let filled = |lanes: usize| self.chosen.plan.filled(lanes);
        // registers of half the size if fewer of their lanes stay empty
        match narrow::<T, I>() && filled(<T::V<I::Narrow> as Simd<T>>::N) < filled(<T::V<I> as Simd<T>>::N) {
            true => self.registers::<I::Narrow>(),
            false => self.registers::<I>(),
        }
    }
}

impl<T: Float> Run<'_, '_, T> {
    #[inline(always)]
    fn registers<I: Isa>(self) {
        let Run { chosen, p, space, positions } = self;
        let plan = &*chosen.plan;
        let lanes = <T::V<I> as Simd<T>>::N;
        let (count, places, channels) = (plan.count, plan.places, plan.channels);
        let each = plan.filled(lanes);
        let room = plan.pixels * channels + WIDEST;
        let (image, space) = space.split_at_mut(room);
        let (back, space) = space.split_at_mut(room);
        let (kernels, sums) = space.split_at_mut(count * each);
        let sums = &mut sums[..count * each];
        image.fill(T::ZERO);
        sums.fill(T::ZERO);
        if let Some((b, _)) = chosen.image {
            let (from, (at, row, column)) = (p.read(b), plan.kernel);
            kernels.fill(T::ZERO);
            for (o, to) in kernels.chunks_exact_mut(each).enumerate() {
                for (place, c) in plan.columns(lanes) {
                    to[place] = from[(at as isize + o as isize * row + c as isize * column) as usize];
                }
            }
        }
        let (registers, positions) = positions.split_at_mut(each / lanes);
        registers.iter_mut().zip(plan.registers(lanes)).for_each(|(to, at)| *to = at as u32);
        let (winners, adjoint) = (p.read(chosen.winners), p.read(chosen.adjoint));
        for i in 0..chosen.images {
            let low = chosen.first + i * plan.apart;
            if let Some((b, _)) = chosen.kernels {
                let (from, out) = (&p.read(b)[low..], &mut image[..]);
                let (apart, rows, columns, wide) = (plan.plane, channels, plan.pixels, channels);
                dispatch(Turn { from, apart, rows, columns, out, wide, filled: false, lanes });
            }
            if chosen.image.is_some() {
                back.fill(T::ZERO);
            }
            for o in 0..count {
                let at = (i * count + o) * places..(i * count + o + 1) * places;
                let adjoint = &adjoint[at.clone()];
                let starts = &mut positions[..places];
                starts.iter_mut().zip(&winners[at]).for_each(|(to, w)| *to = w.small());
                for (k, to) in starts.iter_mut().enumerate() {
                    *to = plan.starts[*to as usize * places + k];
                }
                let one = Windowed { starts, adjoint, furthest: plan.furthest };
                let mine = o * each..(o + 1) * each;
                let (mut from, mut left) = (mine.start, &*registers);
                while !left.is_empty() {
                    let (w, s) = (&kernels[from..mine.end], &mut sums[from..mine.end]);
                    let (x, d) = (&*image, &mut *back);
                    let done = match left.len() {
                        MOST.. => one.both::<I, MOST>(left, (x, s), (w, d), chosen),
                        SOME.. => one.both::<I, SOME>(left, (x, s), (w, d), chosen),
                        _ => one.both::<I, 1>(left, (x, s), (w, d), chosen),
                    };
                    (from, left) = (from + done * lanes, &left[done..]);
                }
            }
            if let Some((_, b)) = chosen.image {
                let whole = p.write(b);
                // what no window reaches
                let end = if i + 1 == chosen.images { whole.len() } else { low + plan.apart };
                let out = &mut whole[if i == 0 { 0 } else { low }..end];
                if channels * plan.pixels < out.len() {
                    out.fill(T::ZERO);
                }
                let out = &mut whole[low..];
                let (apart, rows, columns, wide) = (channels, plan.pixels, channels, plan.plane);
                dispatch(Turn { from: &back[..], apart, rows, columns, out, wide, filled: false, lanes });
            }
        }
        if let Some((_, b)) = chosen.kernels {
            let n: usize = plan.runs.iter().map(|(_, of)| of.len() * channels).sum();
            let out = p.write(b);
            for (sums, out) in sums.chunks_exact(each).zip(out.chunks_exact_mut(n)) {
                plan.columns(lanes).for_each(|(place, c)| out[c] = sums[place]);
            }
        }
    }
}

/// The windows of one kernel in one image: where each begins, and its adjoint.
struct Windowed<'a, T> {
    starts: &'a [u32],
    adjoint: &'a [T],
    /// The last at which any may begin.
    furthest: usize,
}

impl<T: Float> Windowed<'_, T> {
    /// The first `N` registers of all windows, for whichever adjoints are wanted.
    #[inline(always)]
    fn both<I: Isa, const N: usize>(
        &self,
        registers: &[u32],
        (image, sums): (&[T], &mut [T]),
        (kernels, back): (&[T], &mut [T]),
        chosen: &Chosen,
    ) -> usize {
        let lanes = <T::V<I> as Simd<T>>::N;
        let at: [usize; N] = each(|r| registers[r] as usize);
        let reach = self.furthest + at.iter().max().unwrap_or(&0) + lanes;
        assert!(reach <= image.len() && reach <= back.len() && kernels.len() >= N * lanes && sums.len() >= N * lanes);
        // SAFETY: all windows lie inside, with room for a register behind the last one, just checked; the instructions are those of the kernel
        unsafe {
            if chosen.kernels.is_some() {
                // few registers would wait for each other
                match N >= MOST {
                    true => self.sum::<I, N, 1>(at, image.as_ptr(), sums.as_mut_ptr()),
                    false => self.sum::<I, N, 2>(at, image.as_ptr(), sums.as_mut_ptr()),
                }
            }
            if chosen.image.is_some() {
                self.spread::<I, N>(at, kernels.as_ptr(), back.as_mut_ptr());
            }
        }
        N
    }

    /// Adds up the windows times their adjoints, `M` of them side by side.
    ///
    /// # Safety
    ///
    /// The image must hold all windows, the sums `N` registers; called in kernels only.
    #[inline(always)]
    unsafe fn sum<I: Isa, const N: usize, const M: usize>(&self, at: [usize; N], image: *const T, sums: *mut T) {
        let lanes = <T::V<I> as Simd<T>>::N;
        // SAFETY: by the contract
        unsafe {
            let mut local = [[zero::<T, T::V<I>>(); N]; M];
            local[0] = each(|r| Simd::<T>::load(sums.add(r * lanes)));
            let (starts, rest) = self.starts.as_chunks::<M>();
            let (adjoint, others) = self.adjoint.as_chunks::<M>();
            for (starts, adjoint) in starts.iter().zip(adjoint) {
                for (k, local) in local.iter_mut().enumerate() {
                    let (x, d) = (image.add(starts[k] as usize), <T::V<I> as Simd<T>>::splat(adjoint[k]));
                    for (r, s) in local.iter_mut().enumerate() {
                        *s = d.times_plus(Simd::<T>::load(x.add(at[r])), *s);
                    }
                }
            }
            for (&start, &d) in rest.iter().zip(others) {
                let (x, d) = (image.add(start as usize), <T::V<I> as Simd<T>>::splat(d));
                for (r, s) in local[0].iter_mut().enumerate() {
                    *s = d.times_plus(Simd::<T>::load(x.add(at[r])), *s);
                }
            }
            for (r, (&s, &other)) in local[0].iter().zip(&local[M - 1]).enumerate() {
                let total = if M > 1 { s.add(other) } else { s };
                Simd::<T>::store(total, sums.add(r * lanes));
            }
        }
    }

    /// Adds a kernel times the adjoint of each window to the window.
    ///
    /// # Safety
    ///
    /// The adjoint of the image must hold all windows, the kernel `N` registers; called in kernels only.
    #[inline(always)]
    unsafe fn spread<I: Isa, const N: usize>(&self, at: [usize; N], kernel: *const T, back: *mut T) {
        let lanes = <T::V<I> as Simd<T>>::N;
        // SAFETY: by the contract
        unsafe {
            let kernel: [T::V<I>; N] = each(|r| Simd::<T>::load(kernel.add(r * lanes)));
            for (&start, &d) in self.starts.iter().zip(self.adjoint) {
                let (to, d) = (back.add(start as usize), <T::V<I> as Simd<T>>::splat(d));
                for (r, &k) in kernel.iter().enumerate() {
                    let cell = to.add(at[r]);
                    Simd::<T>::store(d.times_plus(k, Simd::<T>::load(cell)), cell);
                }
            }
        }
    }
}
