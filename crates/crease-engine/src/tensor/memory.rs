//! Where buffers lie: inputs and outputs where the caller has them, everything else in one arena, in which buffers that
//! are never needed at the same time share their places.

use super::lower::Buf;
use crate::float::Float;
use std::marker::PhantomData;

/// The place of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Input(u32),
    Output(u32),
    /// An offset in the constants.
    Const(usize),
    /// An offset in the arena.
    Arena(usize),
    /// An offset in another buffer.
    Part(Buf, usize),
    /// An offset in the sums that are still to be added up.
    Partial(usize),
}

/// A buffer to be placed: its length, the step that writes it first and the last one that needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    pub buf: Buf,
    pub len: usize,
    pub from: usize,
    pub to: usize,
}

/// Buffers of so many elements and more begin at multiples of this many, where vector registers do.
const ALIGN: usize = 16;

/// What a buffer takes.
fn room(len: usize) -> usize {
    if len < ALIGN { len } else { len.next_multiple_of(ALIGN) }
}

/// The most elements that are alive at once.
pub(crate) fn peak(lives: &[Life]) -> usize {
    let mut changes: Vec<(usize, bool, usize)> = Vec::with_capacity(2 * lives.len());
    for l in lives {
        changes.extend([(l.from, true, l.len), (l.to + 1, false, l.len)]);
    }
    // at the same step, what dies goes first
    changes.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, born, len) in changes {
        now = if born { now + len } else { now - len };
        most = most.max(now);
    }
    most
}

/// Offsets for all buffers, and the size of the arena. Each is put at the lowest offset that is free during its life, once in
/// the order in which they begin and once the longest first; the better of both layouts counts.
pub(crate) fn place(mut lives: Vec<Life>) -> (Vec<(Buf, usize)>, usize) {
    /// Above so many buffers, one order must do.
    const MANY: usize = 4096;
    lives.sort_by_key(|l| (l.from, std::cmp::Reverse(l.len)));
    let in_order = put(&lives);
    if lives.len() > MANY || in_order.1 <= peak(&lives) {
        return in_order;
    }
    lives.sort_by_key(|l| (std::cmp::Reverse(l.len), l.from));
    let longest_first = put(&lives);
    if longest_first.1 < in_order.1 { longest_first } else { in_order }
}

/// Puts one buffer after the other at the lowest offset at which it meets no other in its life.
fn put(lives: &[Life]) -> (Vec<(Buf, usize)>, usize) {
    let mut placed: Vec<(usize, Life)> = Vec::with_capacity(lives.len()); // in order of offsets
    let (mut out, mut size) = (Vec::with_capacity(lives.len()), 0);
    let begins_in_order = lives.is_sorted_by_key(|l| l.from);
    for &l in lives {
        if begins_in_order {
            placed.retain(|(_, other)| other.to >= l.from);
        }
        let start = |offset: usize| if l.len < ALIGN { offset } else { offset.next_multiple_of(ALIGN) };
        let mut offset = 0;
        for &(at, other) in placed.iter().filter(|(_, other)| other.from <= l.to && l.from <= other.to) {
            if at >= start(offset) + room(l.len) {
                break;
            }
            offset = offset.max(at + room(other.len));
        }
        let offset = start(offset);
        let index = placed.partition_point(|(at, _)| *at <= offset);
        placed.insert(index, (offset, l));
        size = size.max(offset + room(l.len));
        out.push((l.buf, offset));
    }
    (out, size)
}

/// Numbers that begin where a line of the caches does, so that no vector register is read from two lines.
pub(crate) struct Aligned<T> {
    all: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Float> Aligned<T> {
    /// So many zeros.
    pub fn zeros(len: usize) -> Self {
        const LINE: usize = 64;
        let spare = LINE / size_of::<T>();
        let all = vec![T::ZERO; len + spare];
        let start = all.as_ptr().align_offset(LINE).min(spare);
        Aligned { all, start, len }
    }

    /// What they take.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.all[..])
    }

    /// All of them.
    pub fn all(&mut self) -> &mut [T] {
        &mut self.all[self.start..][..self.len]
    }
}

/// The buffers of one run.
pub(crate) struct Pointers<'r, T> {
    /// for each buffer its first element and its length
    table: &'r [(*mut T, usize)],
    run: PhantomData<&'r mut [T]>,
}

// SAFETY: parts of a step that run at the same time write to cells of their own (`split`, `block`), and read what earlier steps wrote
unsafe impl<T: Send + Sync> Sync for Pointers<'_, T> {}

impl<'r, T> Pointers<'r, T> {
    /// # Safety
    ///
    /// Each entry must be valid for reads of its length during `'r`, and for writes unless it is an input or a constant.
    /// Entries overlap only if no step reads or writes one while a value in the other is still needed.
    pub unsafe fn new(table: &'r [(*mut T, usize)]) -> Self {
        Pointers { table, run: PhantomData }
    }

    /// A buffer to read.
    #[inline(always)]
    pub fn read(&self, b: Buf) -> &[T] {
        let (start, len) = self.table[b as usize];
        // SAFETY: by the contract of `new`, and because no kernel reads a buffer through this while it holds the same one
        // for writing, except element by element in blocks that it has finished writing
        unsafe { std::slice::from_raw_parts(start, len) }
    }

    /// Some cells of a buffer to write, of which others may be written at the same time.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub fn write_some(&self, b: Buf, start: usize, count: usize) -> &mut [T] {
        let (first, len) = self.table[b as usize];
        assert!(start <= len && count <= len - start, "cells of the buffer");
        // SAFETY: inside of the buffer, just checked; else as in `write`
        unsafe { std::slice::from_raw_parts_mut(first.add(start), count) }
    }

    /// Some cells of a buffer to read, of which others may be written at the same time.
    #[inline(always)]
    pub fn read_some(&self, b: Buf, start: usize, count: usize) -> &[T] {
        let (first, len) = self.table[b as usize];
        assert!(start <= len && count <= len - start, "cells of the buffer");
        // SAFETY: inside of the buffer, just checked; else as in `read`
        unsafe { std::slice::from_raw_parts(first.add(start), count) }
    }

    /// A buffer to write.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub fn write(&self, b: Buf) -> &mut [T] {
        let (start, len) = self.table[b as usize];
        // SAFETY: as above; a step writes only to buffers that it computes
        unsafe { std::slice::from_raw_parts_mut(start, len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crease_core::random::SplitMix64;

    fn disjoint(lives: &[Life], places: &[(Buf, usize)], size: usize) {
        let find = |b: Buf| lives.iter().find(|l| l.buf == b).copied().unwrap();
        assert_eq!(places.len(), lives.len());
        for (i, &(a, x)) in places.iter().enumerate() {
            let a = find(a);
            assert!(x + a.len <= size);
            for &(b, y) in &places[..i] {
                let b = find(b);
                let together = a.from <= b.to && b.from <= a.to;
                assert!(!together || x + a.len <= y || y + b.len <= x);
            }
        }
    }

    #[test]
    fn buffers_alive_together_do_not_overlap_and_take_little_more_than_they_need() {
        let mut rng = SplitMix64::new(7);
        for round in 0..300 {
            let steps = 2 + rng.below(60) as usize;
            let longest = [4, 50, 3000][round % 3];
            let lives: Vec<Life> = (0..1 + rng.below(80) as usize)
                .map(|i| {
                    let from = rng.below(steps as u64) as usize;
                    let to = from + rng.below(1 + (steps - from) as u64 / 2) as usize;
                    Life { buf: i as Buf, len: 1 + rng.below(longest) as usize, from, to }
                })
                .collect();
            let (places, size) = place(lives.clone());
            disjoint(&lives, &places, size);
            let padded: Vec<Life> = lives.iter().map(|l| Life { len: room(l.len), ..*l }).collect();
            let needed = peak(&padded);
            assert!(peak(&lives) <= size && 2 * size <= 3 * needed, "round {round}: {size} for {needed}");
        }
    }

    #[test]
    fn the_peak_is_counted_step_by_step() {
        let life = |buf, len, from, to| Life { buf, len, from, to };
        // the first is gone before the third comes, the second is there all along
        assert_eq!(peak(&[life(0, 5, 0, 1), life(1, 7, 0, 3), life(2, 6, 2, 3)]), 13);
        assert_eq!(peak(&[]), 0);
    }
}
