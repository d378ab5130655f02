//! Index maps as loops: runs of elements that lie evenly apart.

use crate::float::Float;
use crate::isa::{Isa, Kernel, dispatch};
use crease_core::Layout;
use crease_core::shape::Dim;
use std::ops::Range;
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

/// Calls a function with the size of two pieces that cover a short run, known when it is compiled. The second piece ends where the run does and
/// reaches back into the first: there both hold the same, so that one code is enough for all lengths.
macro_rules! in_pieces {
    ($size:expr, $piece:ident, $call:expr) => {
        match $size {
            0..4 => {
                const $piece: usize = 2;
                $call
            }
            4..8 => {
                const $piece: usize = 4;
                $call
            }
            _ => {
                const $piece: usize = 8;
                $call
            }
        }
    };
}

/// Calls a function with the length of a short run, known when it is compiled.
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

/// Both pieces of a short run.
#[inline(always)]
fn pieces<T: Float, const P: usize>(run: &[T]) -> [[T; P]; 2] {
    let mut both = [[T::ZERO; P]; 2];
    both[0].copy_from_slice(&run[..P]);
    both[1].copy_from_slice(&run[run.len() - P..]);
    both
}

/// Puts both pieces of a short run in their places.
#[inline(always)]
fn put_pieces<T: Float, const P: usize>([first, last]: [[T; P]; 2], to: &mut [T]) {
    let len = to.len();
    to[..P].copy_from_slice(&first);
    to[len - P..].copy_from_slice(&last);
}

#[inline(always)]
fn load_short<T: Float, const P: usize>(source: &[T], base: usize, apart: isize, inner: Dim, out: &mut [T]) {
    let read = |at: isize| match inner.stride == 1 {
        true => pieces::<T, P>(&source[at as usize..][..inner.size]),
        false => [[source[at as usize]; P]; 2],
    };
    let (mut at, same) = (base as isize, read(base as isize));
    for run in out.chunks_exact_mut(inner.size) {
        put_pieces(if apart == 0 { same } else { read(at) }, run);
        at += apart;
    }
}

#[inline(always)]
fn add_short<T: Float, const P: usize>(
    x: &[T],
    (base, apart): (usize, isize),
    inner: Dim,
    target: &mut [T],
    ordered: bool,
) {
    let n = inner.size;
    if inner.stride == 1 && apart == 0 {
        // all into the same cells: they stay in registers, both pieces as they were before anything was added
        let cells = &mut target[base..][..n];
        let [mut first, mut last] = pieces::<T, P>(cells);
        add_columns::<T, P>(x, n, &mut first, ordered);
        add_columns::<T, P>(&x[n - P..], n, &mut last, ordered);
        return put_pieces([first, last], cells);
    }
    let mut at = base as isize;
    for run in x.chunks_exact(n) {
        if inner.stride == 1 {
            let to = &mut target[at as usize..][..n];
            let (mut cells, both) = (pieces::<T, P>(to), pieces::<T, P>(run));
            for (cells, x) in cells.iter_mut().zip(&both) {
                cells.iter_mut().zip(x).for_each(|(c, &x)| *c += x);
            }
            put_pieces(cells, to);
        } else {
            let cell = &mut target[at as usize];
            *cell = run.iter().fold(*cell, |s, &x| s + x);
        }
        at += apart;
    }
}

/// Adds the first `P` numbers of runs of `n` numbers, the last of which may be shorter, to the same sums.
#[inline(always)]
fn add_columns<T: Float, const P: usize>(x: &[T], n: usize, sums: &mut [T; P], ordered: bool) {
    let mut local = *sums;
    // four runs are added up before they are added to the cells, which then wait for each other less
    let (mut rest, part) = (x, |x: &[T]| {
        let mut run = [T::ZERO; P];
        run.copy_from_slice(&x[..P]);
        run
    });
    while !ordered && rest.len() >= 3 * n + P {
        let [a, b, c, d] = [part(rest), part(&rest[n..]), part(&rest[2 * n..]), part(&rest[3 * n..])];
        for i in 0..P {
            local[i] += (a[i] + b[i]) + (c[i] + d[i]);
        }
        rest = rest.get(4 * n..).unwrap_or_default();
    }
    while rest.len() >= P {
        let run = part(rest);
        for (s, &x) in local.iter_mut().zip(&run) {
            *s += x;
        }
        rest = rest.get(n..).unwrap_or_default();
    }
    *sums = local;
}

/// Adds the sum of each run to a cell, for runs of a length that is known when it is compiled.
#[inline(always)]
fn add_sums<T: Float, const N: usize>(x: &[T], (base, apart): (usize, isize), target: &mut [T]) {
    let mut at = base as isize;
    for &run in x.as_chunks::<N>().0 {
        target[at as usize] += halved(run);
        at += apart;
    }
}

/// The sum: what is beyond the largest power of two is added to the front, again and again, as registers are wide.
#[inline(always)]
fn halved<T: Float, const N: usize>(mut x: [T; N]) -> T {
    let mut len = N;
    while len > 1 {
        let half = len.next_power_of_two() / 2;
        for i in half..len {
            x[i - half] += x[i];
        }
        len = half;
    }
    x[0]
}

/// Copies a run; a short one in pieces, the last of which reaches back into the one before it, because a call would take as long.
#[inline(always)]
fn copy<T: Float>(x: &[T], to: &mut [T]) {
    const PIECE: usize = 8;
    if x.len() > 4 * PIECE || x.len() < PIECE {
        return to.copy_from_slice(x);
    }
    let last = x.len() - PIECE;
    for at in (0..last).step_by(PIECE).chain([last]) {
        to[at..][..PIECE].copy_from_slice(&x[at..][..PIECE]);
    }
}

/// Where nested loops stand.
#[derive(Clone, Copy, Default)]
struct Loops<'a> {
    dims: &'a [Dim],
    counters: [usize; MAX_LOOPS],
    base: isize,
}

impl<'a> Loops<'a> {
    /// At step number `number` of them all.
    #[inline(always)]
    fn at(offset: usize, dims: &'a [Dim], number: usize) -> Self {
        let mut loops = Loops { dims, counters: [0; MAX_LOOPS], base: offset as isize };
        let mut rest = number;
        for (counter, d) in loops.counters.iter_mut().zip(dims.iter().rev()) {
            *counter = rest % d.size;
            rest /= d.size;
            loops.base += *counter as isize * d.stride;
        }
        loops
    }

    /// One step of the innermost loop, and of those around it where that comes to its end. Counters are innermost first.
    #[inline(always)]
    fn step(&mut self) {
        for (counter, d) in self.counters.iter_mut().zip(self.dims.iter().rev()) {
            *counter += 1;
            self.base += d.stride;
            if *counter < d.size {
                break;
            }
            self.base -= d.stride * d.size as isize;
            *counter = 0;
        }
    }
}

/// Runs: elements before the run, first index, stride, length. Iterators, since a closure would not be compiled for the
/// instructions of its kernel.
pub(crate) struct Runs<'a> {
    table: &'a [u32],
    loops: Loops<'a>,
    inner: Dim,
    within: usize,
    done: usize,
    len: usize,
}

impl Iterator for Runs<'_> {
    type Item = (usize, usize, isize, usize);
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some((&first, rest)) = self.table.split_first() {
            self.table = rest;
            self.done += 1;
            return Some((self.done - 1, first as usize, 1, 1));
        }
        if self.done >= self.len {
            return None;
        }
        let run = (self.inner.size - self.within).min(self.len - self.done);
        let first = (self.loops.base + self.within as isize * self.inner.stride) as usize;
        let found = (self.done, first, self.inner.stride, run);
        self.done += run;
        self.within = 0;
        self.loops.step();
        Some(found)
    }
}

/// Bundles of runs: number of the first run, first index, distance between runs, number of runs.
struct Bundles<'a> {
    loops: Loops<'a>,
    last: Dim,
    counter: usize,
    done: usize,
    count: usize,
}

impl Iterator for Bundles<'_> {
    type Item = (usize, usize, isize, usize);
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.done >= self.count {
            return None;
        }
        let runs = (self.last.size - self.counter).min(self.count - self.done);
        let first = (self.loops.base + self.counter as isize * self.last.stride) as usize;
        let found = (self.done, first, self.last.stride, runs);
        self.done += runs;
        self.counter = 0;
        self.loops.step();
        Some(found)
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

    /// The map of some of its elements, if that is a map of this kind: those of a table, or of whole steps of the outermost loop.
    pub fn part(&self, elements: Range<usize>) -> Option<Walk> {
        match self {
            Walk::Table(t) => Some(Walk::Table(t.get(elements)?.into())),
            Walk::Strided { offset, outer, inner } => {
                let (first, rest) = outer.split_first()?;
                let each = rest.iter().map(|d| d.size).product::<usize>() * inner.size;
                if !elements.start.is_multiple_of(each) || !elements.end.is_multiple_of(each) {
                    return None;
                }
                let (from, to) = (elements.start / each, elements.end / each);
                if from >= to || to > first.size {
                    return None;
                }
                let offset = usize::try_from(*offset as isize + from as isize * first.stride).ok()?;
                let outer = [Dim { size: to - from, ..*first }].iter().chain(rest).copied().collect();
                Some(Walk::Strided { offset, outer, inner: *inner })
            }
        }
    }

    /// The steps of the outermost loop, and the elements of each, if there are loops.
    pub fn steps(&self) -> Option<(usize, usize)> {
        let Walk::Strided { outer, inner, .. } = self else { return None };
        let (first, rest) = outer.split_first()?;
        Some((first.size, rest.iter().map(|d| d.size).product::<usize>() * inner.size))
    }

    /// The cells between the lowest that it reaches and the highest.
    pub fn reach(&self) -> Range<usize> {
        match self {
            Walk::Table(t) => {
                let (low, high) = t.iter().fold((u32::MAX, 0), |(l, h), &i| (l.min(i), h.max(i)));
                low.min(high) as usize..high as usize + 1
            }
            Walk::Strided { offset, outer, inner } => {
                let far = |d: &Dim| (d.size as isize - 1) * d.stride;
                let all = || outer.iter().chain([inner]).map(far);
                let ends = [all().filter(|f| *f < 0).sum::<isize>(), all().filter(|f| *f > 0).sum::<isize>() + 1];
                let [low, high] = ends.map(|f| (*offset as isize + f) as usize);
                low..high
            }
        }
    }

    /// The map to cells that begin so much further on.
    pub fn back(self, by: usize) -> Walk {
        match self {
            Walk::Table(t) => Walk::Table(t.iter().map(|i| i - by as u32).collect()),
            Walk::Strided { offset, outer, inner } => Walk::Strided { offset: offset - by, outer, inner },
        }
    }

    /// The runs of `len` elements from `start` on; those of a table have one element each.
    #[inline(always)]
    fn runs(&self, start: usize, len: usize) -> Runs<'_> {
        match self {
            Walk::Table(t) => {
                let (table, inner) = (&t[start..start + len], Dim { size: 1, stride: 1 });
                Runs { table, loops: Loops::default(), inner, within: 0, done: 0, len: 0 }
            }
            Walk::Strided { offset, outer, inner } => Runs {
                table: &[],
                loops: Loops::at(*offset, outer, start / inner.size),
                inner: *inner,
                within: start % inner.size,
                done: 0,
                len,
            },
        }
    }

    /// Runs of so many elements each, from the first on, if they are runs of elements side by side: `count` of them.
    #[inline(always)]
    pub fn lines(&self, each: usize, count: usize) -> Option<Runs<'_>> {
        let whole = matches!(self, Walk::Strided { inner: Dim { size, stride: 1 }, .. } if *size == each);
        whole.then(|| self.runs(0, each * count))
    }

    /// Whole runs, as many at a time as lie evenly apart.
    #[inline(always)]
    fn bundles(&self, first: usize, count: usize) -> Bundles<'_> {
        let (offset, outer) = match self {
            Walk::Strided { offset, outer, .. } => (*offset, &outer[..]),
            Walk::Table(_) => (0, &[][..]),
        };
        let (last, before) =
            outer.split_last().map_or((Dim { size: count.max(1), stride: 0 }, &[][..]), |(l, b)| (*l, b));
        Bundles {
            loops: Loops::at(offset, before, first / last.size),
            last,
            counter: first % last.size,
            done: 0,
            count,
        }
    }

    /// Where `len` elements from `start` on begin, if they lie side by side.
    #[inline(always)]
    pub fn straight(&self, start: usize, len: usize) -> Option<usize> {
        let Walk::Strided { offset, outer, inner } = self else { return None };
        let within = start % inner.size;
        (inner.stride == 1 && within + len <= inner.size)
            .then(|| Loops::at(*offset, outer, start / inner.size).base as usize + within)
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
    pub fn load<T: Float>(&self, source: &[T], start: usize, out: &mut [T]) {
        dispatch(Load { walk: self, source, start, out });
    }

    /// Adds elements into `target` through the map. In order, or runs that meet in one cell summed on their own.
    pub fn add<T: Float>(&self, x: &[T], start: usize, target: &mut [T], ordered: bool) {
        dispatch(Add { walk: self, x, start, target, ordered });
    }

    #[inline(always)]
    fn load_all<T: Float>(&self, source: &[T], start: usize, out: &mut [T]) {
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
            for (r, base, apart, m) in self.bundles((start + before) / size, runs) {
                let out = &mut middle[r * size..][..m * size];
                in_pieces!(size, PIECE, load_short::<T, PIECE>(source, base, apart, inner, out));
            }
            self.load_runs(source, start + before + runs * size, tail);
            return;
        }
        self.load_runs(source, start, out);
    }

    #[inline(always)]
    fn load_runs<T: Float>(&self, source: &[T], start: usize, out: &mut [T]) {
        for (k, i, stride, run) in self.runs(start, out.len()) {
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
        }
    }

    #[inline(always)]
    fn add_all<T: Float>(&self, x: &[T], start: usize, target: &mut [T], ordered: bool) {
        if let Some((before, runs, inner)) = self.short(start, x.len()) {
            let size = inner.size;
            self.add_runs(&x[..before], start, target, ordered);
            let middle = &x[before..][..runs * size];
            for (r, base, apart, m) in self.bundles((start + before) / size, runs) {
                let x = &middle[r * size..][..m * size];
                if inner.stride == 0 && !ordered {
                    with_length!(size, LEN, add_sums::<T, LEN>(x, (base, apart), target));
                    continue;
                }
                in_pieces!(size, PIECE, add_short::<T, PIECE>(x, (base, apart), inner, target, ordered));
            }
            let after = before + runs * size;
            return self.add_runs(&x[after..], start + after, target, ordered);
        }
        self.add_runs(x, start, target, ordered);
    }

    #[inline(always)]
    fn add_runs<T: Float>(&self, x: &[T], start: usize, target: &mut [T], ordered: bool) {
        for (k, i, stride, run) in self.runs(start, x.len()) {
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
        }
    }

    /// Puts elements into `target` through the map.
    #[inline(always)]
    pub fn put<T: Float>(&self, x: &[T], start: usize, target: &mut [T]) {
        for (k, i, stride, run) in self.runs(start, x.len()) {
            let x = &x[k..k + run];
            if stride == 1 {
                copy(x, &mut target[i..i + run]);
            } else {
                let mut at = i as isize;
                for &x in x {
                    target[at as usize] = x;
                    at += stride;
                }
            }
        }
    }
}

/// [`Walk::load`], which several kernels call: compiled once, not inside of each of them.
struct Load<'a, T> {
    walk: &'a Walk,
    source: &'a [T],
    start: usize,
    out: &'a mut [T],
}

impl<T: Float> Kernel for Load<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        self.walk.load_all(self.source, self.start, self.out);
    }
}

/// [`Walk::add`], likewise.
struct Add<'a, T> {
    walk: &'a Walk,
    x: &'a [T],
    start: usize,
    target: &'a mut [T],
    ordered: bool,
}

impl<T: Float> Kernel for Add<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        self.walk.add_all(self.x, self.start, self.target, self.ordered);
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
