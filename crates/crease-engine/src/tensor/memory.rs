//! Where buffers lie: inputs and outputs where the caller has them, everything else in one arena, in which buffers that
//! are never needed at the same time share their places.

use super::lower::Buf;
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
}

/// A buffer to be placed: its length, the step that writes it first and the last one that needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    pub buf: Buf,
    pub len: usize,
    pub from: usize,
    pub to: usize,
}

/// Buffers begin at multiples of this many elements.
const ALIGN: usize = 16;

/// Offsets for all buffers, and the size of the arena: each at the lowest offset that is free during its life, the longest
/// first among those that begin together.
pub(crate) fn place(mut lives: Vec<Life>) -> (Vec<(Buf, usize)>, usize) {
    lives.sort_by_key(|l| (l.from, std::cmp::Reverse(l.len)));
    let mut active: Vec<(usize, usize, usize)> = Vec::new(); // offset, end, last step; in order of offsets
    let (mut out, mut size) = (Vec::with_capacity(lives.len()), 0);
    for l in lives {
        active.retain(|a| a.2 >= l.from);
        let len = l.len.next_multiple_of(ALIGN);
        let mut offset = 0;
        let mut at = active.len();
        for (i, a) in active.iter().enumerate() {
            if a.0 >= offset + len {
                at = i;
                break;
            }
            offset = offset.max(a.1);
        }
        active.insert(at, (offset, offset + len, l.to));
        active.sort_unstable();
        size = size.max(offset + len);
        out.push((l.buf, offset));
    }
    (out, size)
}

/// The buffers of one run.
pub(crate) struct Pointers<'r, T> {
    /// for each buffer its first element and its length
    table: &'r [(*mut T, usize)],
    run: PhantomData<&'r mut [T]>,
}

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

    #[test]
    fn buffers_alive_together_do_not_overlap() {
        let lives: Vec<Life> =
            (0..50usize).map(|i| Life { buf: i as Buf, len: 1 + i * 7 % 40, from: i, to: i + 1 + i * 5 % 9 }).collect();
        let (places, size) = place(lives.clone());
        let total: usize = lives.iter().map(|l| l.len.next_multiple_of(ALIGN)).sum();
        assert!(size < total / 3);
        for (i, (a, x)) in places.iter().enumerate() {
            for (b, y) in &places[..i] {
                let (a, b) = (lives[*a as usize], lives[*b as usize]);
                let together = a.from <= b.to && b.from <= a.to;
                assert!(!together || x + a.len <= *y || y + b.len <= *x);
            }
        }
    }
}
