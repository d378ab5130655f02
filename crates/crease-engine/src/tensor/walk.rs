//! Index maps as loops: runs of elements that lie evenly apart.

use crate::float::Float;
use crease_core::Layout;
use crease_core::shape::Dim;
use std::sync::Arc;

/// An index map, ready to be walked from any element on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Walk {
    /// Runs along the inner loop; the others outermost first.
    Strided {
        offset: usize,
        outer: Box<[Dim]>,
        inner: Dim,
    },
    Table(Arc<[u32]>),
}

/// The most loops that are walked without a table.
const MAX_LOOPS: usize = 8;

/// Runs of up to so many elements are worked on in bundles.
const SHORT: usize = 16;

/// Calls a function with a length that is known when it is compiled.
macro_rules! with_length {
    ($size:expr, $len:ident, $call:expr) => {
        with_length!(@ $size, $len, $call, 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
    };
    (@ $size:expr, $len:ident, $call:expr, $($n:literal)*) => {
        match $size {
            $($n => {
                const $len: usize = $n;
                $call
            })*
            _ => {}
        }
    };
}

#[inline(always)]
fn load_short<T: Float, const N: usize>(source: &[T], base: usize, apart: isize, in_order: bool, out: &mut [T]) {
    let (runs, _) = out.as_chunks_mut::<N>();
    let mut at = base as isize;
    for run in runs {
        if in_order {
            run.copy_from_slice(&source[at as usize..][..N]);
        } else {
            *run = [source[at as usize]; N];
        }
        at += apart;
    }
}

#[inline(always)]
fn add_short<T: Float, const N: usize>(x: &[T], base: usize, apart: isize, in_order: bool, target: &mut [T]) {
    let (runs, _) = x.as_chunks::<N>();
    let mut at = base as isize;
    if in_order && apart == 0 {
        // all into the same cells: they stay in registers
        let cells = &mut target[base..][..N];
        let mut sums = [T::ZERO; N];
        sums.copy_from_slice(cells);
        for run in runs {
            for (s, &x) in sums.iter_mut().zip(run) {
                *s += x;
            }
        }
        cells.copy_from_slice(&sums);
        return;
    }
    for run in runs {
        if in_order {
            target[at as usize..][..N].iter_mut().zip(run).for_each(|(t, &x)| *t += x);
        } else {
            let cell = &mut target[at as usize];
            *cell = run.iter().fold(*cell, |s, &x| s + x);
        }
        at += apart;
    }
}

impl Walk {
    pub fn new(layout: &Layout) -> Self {
        match layout {
            Layout::Table(t) => Walk::Table(t.clone()),
            Layout::Strided { dims, .. } if dims.len() > MAX_LOOPS => {
                Walk::Table(layout.iter().map(|i| i as u32).collect())
            }
            Layout::Strided { offset, dims } => match dims.split_last() {
                None => Walk::Strided { offset: *offset, outer: Box::default(), inner: Dim { size: 1, stride: 1 } },
                Some((inner, outer)) => Walk::Strided { offset: *offset, outer: outer.into(), inner: *inner },
            },
        }
    }

    /// Calls `f` with (elements before the run, first index, stride, length of the run) for `len` elements from `start` on.
    #[inline(always)]
    pub fn runs(&self, start: usize, len: usize, mut f: impl FnMut(usize, usize, isize, usize)) {
        match self {
            Walk::Table(t) => {
                for (k, &i) in t[start..start + len].iter().enumerate() {
                    f(k, i as usize, 1, 1);
                }
            }
            Walk::Strided { offset, outer, inner } => {
                let mut counters = [0usize; MAX_LOOPS];
                let mut rest = start / inner.size;
                let mut within = start % inner.size;
                let mut base = *offset as isize;
                for (counter, d) in counters[..outer.len()].iter_mut().zip(outer.iter()).rev() {
                    *counter = rest % d.size;
                    rest /= d.size;
                    base += *counter as isize * d.stride;
                }
                let mut done = 0;
                while done < len {
                    let run = (inner.size - within).min(len - done);
                    f(done, (base + within as isize * inner.stride) as usize, inner.stride, run);
                    done += run;
                    within = 0;
                    for (counter, d) in counters[..outer.len()].iter_mut().zip(outer.iter()).rev() {
                        *counter += 1;
                        base += d.stride;
                        if *counter < d.size {
                            break;
                        }
                        base -= d.stride * d.size as isize;
                        *counter = 0;
                    }
                }
            }
        }
    }

    /// Calls `f` with (number of the first run, first index, distance between runs, number of runs) for whole runs, as many
    /// at a time as lie evenly apart.
    #[inline(always)]
    fn bundles(&self, first: usize, count: usize, mut f: impl FnMut(usize, usize, isize, usize)) {
        let Walk::Strided { offset, outer, .. } = self else { return };
        let mut counters = [0usize; MAX_LOOPS];
        let mut rest = first;
        let mut base = *offset as isize;
        for (counter, d) in counters[..outer.len()].iter_mut().zip(outer.iter()).rev() {
            *counter = rest % d.size;
            rest /= d.size;
            base += *counter as isize * d.stride;
        }
        let Some((last, before)) = outer.split_last() else { return f(0, base as usize, 0, count) };
        let at = outer.len() - 1;
        let mut done = 0;
        while done < count {
            let m = (last.size - counters[at]).min(count - done);
            f(done, base as usize, last.stride, m);
            done += m;
            // to the beginning of the loop, and one step of those around it
            base -= counters[at] as isize * last.stride;
            counters[at] = 0;
            for (counter, d) in counters[..at].iter_mut().zip(before.iter()).rev() {
                *counter += 1;
                base += d.stride;
                if *counter < d.size {
                    break;
                }
                base -= d.stride * d.size as isize;
                *counter = 0;
            }
        }
    }

    /// The elements before the first whole run, and the number of whole runs, if runs are short and there are many.
    #[inline(always)]
    fn short(&self, start: usize, len: usize) -> Option<(usize, usize, Dim)> {
        match self {
            Walk::Strided { inner, outer, .. }
                if (2..=SHORT).contains(&inner.size) && matches!(inner.stride, 0 | 1) && !outer.is_empty() =>
            {
                let before = (inner.size - start % inner.size) % inner.size;
                let runs = len.checked_sub(before)? / inner.size;
                (runs >= 4).then_some((before, runs, *inner))
            }
            _ => None,
        }
    }

    /// Copies elements of `source` through the map.
    #[inline(always)]
    pub fn load<T: Float>(&self, source: &[T], start: usize, out: &mut [T]) {
        if let Walk::Table(t) = self {
            for (o, &i) in out.iter_mut().zip(&t[start..]) {
                *o = source[i as usize];
            }
            return;
        }
        if let Some((before, runs, inner)) = self.short(start, out.len()) {
            let size = inner.size;
            let (head, rest) = out.split_at_mut(before);
            let (middle, tail) = rest.split_at_mut(runs * size);
            self.load_runs(source, start, head);
            self.bundles((start + before) / size, runs, |r, base, apart, m| {
                let out = &mut middle[r * size..][..m * size];
                with_length!(size, LEN, load_short::<T, LEN>(source, base, apart, inner.stride == 1, out));
            });
            self.load_runs(source, start + before + runs * size, tail);
            return;
        }
        self.load_runs(source, start, out);
    }

    #[inline(always)]
    fn load_runs<T: Float>(&self, source: &[T], start: usize, out: &mut [T]) {
        let len = out.len();
        self.runs(start, len, |k, i, stride, run| {
            let out = &mut out[k..k + run];
            match stride {
                1 => out.copy_from_slice(&source[i..i + run]),
                0 => out.fill(source[i]),
                _ => {
                    let mut at = i as isize;
                    for o in out {
                        *o = source[at as usize];
                        at += stride;
                    }
                }
            }
        });
    }

    /// Adds elements into `target` through the map. In order, or runs that meet in one cell summed on their own.
    #[inline(always)]
    pub fn add<T: Float>(&self, x: &[T], start: usize, target: &mut [T], ordered: bool) {
        if let Some((before, runs, inner)) = self.short(start, x.len()) {
            let size = inner.size;
            self.add_runs(&x[..before], start, target, ordered);
            let middle = &x[before..][..runs * size];
            self.bundles((start + before) / size, runs, |r, base, apart, m| {
                let x = &middle[r * size..][..m * size];
                with_length!(size, LEN, add_short::<T, LEN>(x, base, apart, inner.stride == 1, target));
            });
            let after = before + runs * size;
            return self.add_runs(&x[after..], start + after, target, ordered);
        }
        self.add_runs(x, start, target, ordered);
    }

    #[inline(always)]
    fn add_runs<T: Float>(&self, x: &[T], start: usize, target: &mut [T], ordered: bool) {
        self.runs(start, x.len(), |k, i, stride, run| {
            let x = &x[k..k + run];
            match stride {
                1 => target[i..i + run].iter_mut().zip(x).for_each(|(t, &x)| *t += x),
                0 if !ordered && run >= 16 => target[i] += crate::kernel::lane::wide_sum(x, |x| x),
                0 => target[i] = x.iter().fold(target[i], |s, &x| s + x),
                _ => {
                    let mut at = i as isize;
                    for &x in x {
                        target[at as usize] += x;
                        at += stride;
                    }
                }
            }
        });
    }

    /// Puts elements into `target` through the map.
    #[inline(always)]
    pub fn put<T: Float>(&self, x: &[T], start: usize, target: &mut [T]) {
        self.runs(start, x.len(), |k, i, stride, run| {
            let x = &x[k..k + run];
            if stride == 1 {
                target[i..i + run].copy_from_slice(x);
            } else {
                let mut at = i as isize;
                for &x in x {
                    target[at as usize] = x;
                    at += stride;
                }
            }
        });
    }
}

/// The strides of axes of these sizes, outermost first, if an index map walks them as nested loops.
///
/// Canonical maps have merged loops: they are taken apart again where the sizes ask for it.
pub(crate) fn axes(layout: &Layout, sizes: &[usize]) -> Option<(usize, Vec<isize>)> {
    let Layout::Strided { offset, dims } = layout else { return None };
    let mut loops: Vec<Dim> = dims.to_vec();
    let mut strides = vec![0isize; sizes.len()];
    for (stride, &size) in strides.iter_mut().zip(sizes).rev() {
        if size == 1 {
            continue;
        }
        let last = loops.pop()?;
        *stride = last.stride;
        if last.size == size {
            continue;
        }
        if !last.size.is_multiple_of(size) {
            return None;
        }
        loops.push(Dim { size: last.size / size, stride: last.stride * size as isize });
    }
    loops.is_empty().then_some((*offset, strides))
}
