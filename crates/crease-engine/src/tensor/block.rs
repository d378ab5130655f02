//! A fused group: every operation on a block of elements at a time, so that what passes between operations stays in the
//! nearest cache and what nobody else reads is never written to memory.

use super::lower::{Arg, Buf, Kind, Node};
use super::memory::Pointers;
use super::walk::Walk;
use crate::float::{Float, all_finite};
use crate::isa::{Isa, Kernel, dispatch};
use crate::unit::{Unit, units};
use crease_core::Layout;
use std::collections::HashMap;

/// The size of a block in bytes where nothing else decides it.
const BLOCK_BYTES: usize = 4096;
/// All registers of a group together take about this much of the nearest cache.
const NEAR_BYTES: usize = 20_480;

/// An argument of an operation on blocks.
#[derive(Clone, Copy, Debug)]
enum Source<T> {
    Const(T),
    /// One element of a buffer for all.
    One(Buf, usize),
    /// The block of a buffer.
    Memory(Buf),
    Register(u32),
}

#[derive(Clone, Copy, Debug)]
enum Target {
    Memory(Buf),
    Register(u32),
}

#[derive(Clone, Debug)]
enum Step<T> {
    /// Reads a block of a buffer through an index map.
    Load {
        buf: Buf,
        walk: u32,
        to: u32,
    },
    Unit {
        unit: Unit<T>,
        args: [Source<T>; 3],
        to: Target,
    },
    /// Adds the block into a buffer through an index map.
    Sum {
        from: Source<T>,
        walk: u32,
        into: Buf,
    },
}

/// A fused group.
#[derive(Debug)]
pub(crate) struct Fused<T> {
    elements: usize,
    steps: Vec<Step<T>>,
    walks: Vec<Walk>,
    /// The buffers that sums go into.
    sums: Vec<Buf>,
    registers: usize,
    /// The number of elements in a block.
    block: usize,
}

/// The number of elements in a block.
pub(crate) fn block<T>() -> usize {
    BLOCK_BYTES / size_of::<T>()
}

/// Makes a group. `stored` tells which buffers are read by others.
pub(crate) fn build<T: Float>(
    nodes: &[&Node<T>],
    elements: usize,
    lens: &[usize],
    stored: &dyn Fn(Buf) -> bool,
) -> Fused<T> {
    let mut f = Fused { elements, steps: Vec::new(), walks: Vec::new(), sums: Vec::new(), registers: 0, block: 0 };
    let mut made: HashMap<Buf, Source<T>> = HashMap::new();
    let mut loaded: Vec<(Buf, Layout, u32)> = Vec::new();
    let mut virtuals = 0u32;
    for node in nodes {
        let out = node.out[0];
        match &node.kind {
            Kind::Unit(unit, args) => {
                let mut sources = [Source::Const(T::ZERO); 3];
                for (s, a) in sources.iter_mut().zip(args) {
                    *s = match a {
                        Arg::Const(c) => Source::Const(*c),
                        Arg::Direct(b) => made.get(b).copied().unwrap_or(Source::Memory(*b)),
                        Arg::Through(b, layout) => match constant_at(layout) {
                            Some(at) => Source::One(*b, at),
                            None => match loaded.iter().find(|(x, l, _)| x == b && l == layout) {
                                Some(&(_, _, r)) => Source::Register(r),
                                None => {
                                    let walk = f.walk(layout);
                                    f.steps.push(Step::Load { buf: *b, walk, to: virtuals });
                                    loaded.push((*b, layout.clone(), virtuals));
                                    virtuals += 1;
                                    Source::Register(virtuals - 1)
                                }
                            },
                        },
                    };
                }
                let to = if stored(out) {
                    made.insert(out, Source::Memory(out));
                    Target::Memory(out)
                } else {
                    made.insert(out, Source::Register(virtuals));
                    virtuals += 1;
                    Target::Register(virtuals - 1)
                };
                f.steps.push(Step::Unit { unit: *unit, args: sources, to });
            }
            Kind::Assemble(pieces) => {
                if let [(Arg::Direct(b), layout)] = &pieces[..] {
                    let walk = f.walk(layout);
                    let from = made.get(b).copied().unwrap_or(Source::Memory(*b));
                    f.steps.push(Step::Sum { from, walk, into: out });
                    f.sums.push(out);
                }
            }
            _ => {}
        }
    }
    f.allocate(virtuals as usize);
    let bytes = NEAR_BYTES / (f.registers + 1);
    f.block =
        (bytes / size_of::<T>() / 64 * 64).clamp(BLOCK_BYTES / 4 / size_of::<T>(), 2 * BLOCK_BYTES / size_of::<T>());
    debug_assert!(lens.len() >= f.sums.len());
    f
}

/// The one element that an index map repeats.
fn constant_at(layout: &Layout) -> Option<usize> {
    match layout {
        Layout::Strided { offset, dims } if dims.iter().all(|d| d.stride == 0) => Some(*offset),
        _ => None,
    }
}

impl<T: Float> Fused<T> {
    fn walk(&mut self, layout: &Layout) -> u32 {
        self.walks.push(Walk::new(layout));
        self.walks.len() as u32 - 1
    }

    /// Gives registers that are never alive together the same place. A step never writes to a register that it reads.
    fn allocate(&mut self, virtuals: usize) {
        let mut last = vec![0usize; virtuals];
        for (i, s) in self.steps.iter().enumerate() {
            sources(s, |r| last[r as usize] = i);
            if let Some(r) = target(s) {
                last[r as usize] = last[r as usize].max(i);
            }
        }
        let mut place = vec![u32::MAX; virtuals];
        let mut free: Vec<u32> = Vec::new();
        let mut ends: Vec<Vec<u32>> = vec![Vec::new(); self.steps.len()];
        for (i, s) in self.steps.iter_mut().enumerate() {
            if let Some(r) = target(s) {
                let p = free.pop().unwrap_or_else(|| {
                    self.registers += 1;
                    self.registers as u32 - 1
                });
                place[r as usize] = p;
                ends[last[r as usize]].push(p);
            }
            rename(s, &place);
            free.append(&mut ends[i]);
        }
    }

    /// How many numbers of working space a run needs.
    pub fn space(&self) -> usize {
        self.registers * self.block
    }

    /// Runs the group; false if something was not finite and that was asked.
    pub fn run(&self, p: &Pointers<'_, T>, space: &mut [T], how: Manner) -> bool {
        for &b in &self.sums {
            // added to anything, -0 changes nothing
            p.write(b).fill(T::NEG_ZERO);
        }
        dispatch(Run { group: self, p, space, how })
    }
}

/// How a group is carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// Whether results must be the interpreter's bit for bit.
    pub exact: bool,
    /// Whether results that are not finite are to be reported.
    pub checked: bool,
}

fn sources<T>(s: &Step<T>, mut f: impl FnMut(u32)) {
    let mut see = |x: &Source<T>| {
        if let Source::Register(r) = x {
            f(*r);
        }
    };
    match s {
        Step::Load { .. } => {}
        Step::Unit { args, .. } => args.iter().for_each(see),
        Step::Sum { from, .. } => see(from),
    }
}

fn target<T>(s: &Step<T>) -> Option<u32> {
    match s {
        Step::Load { to, .. } | Step::Unit { to: Target::Register(to), .. } => Some(*to),
        _ => None,
    }
}

fn rename<T>(s: &mut Step<T>, place: &[u32]) {
    let fix = |x: &mut Source<T>| {
        if let Source::Register(r) = x {
            *r = place[*r as usize];
        }
    };
    match s {
        Step::Load { to, .. } => *to = place[*to as usize],
        Step::Unit { args, to, .. } => {
            args.iter_mut().for_each(fix);
            if let Target::Register(r) = to {
                *r = place[*r as usize];
            }
        }
        Step::Sum { from, .. } => fix(from),
    }
}

struct Run<'a, 'p, T> {
    group: &'a Fused<T>,
    p: &'a Pointers<'p, T>,
    space: &'a mut [T],
    how: Manner,
}

/// A block of numbers, or one number for all.
#[derive(Clone, Copy)]
enum Block<'a, T> {
    Many(&'a [T]),
    One(T),
}

impl<'a, T: Float> Kernel for Run<'a, '_, T> {
    type Output = bool;
    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        let g = self.group;
        let size = g.block;
        let mut fine = true;
        let mut registers = Registers::new(self.space, size, g.registers);
        let mut start = 0;
        while start < g.elements {
            let len = size.min(g.elements - start);
            let get = |registers: &Registers<'a, T>, s: Source<T>| match s {
                Source::Const(c) => Block::One(c),
                Source::One(b, at) => Block::One(self.p.read(b)[at]),
                Source::Memory(b) => Block::Many(&self.p.read(b)[start..start + len]),
                Source::Register(r) => Block::Many(registers.read(r, len)),
            };
            for s in &g.steps {
                match s {
                    Step::Load { buf, walk, to } => {
                        let (walk, source) = (&g.walks[*walk as usize], self.p.read(*buf));
                        match walk.straight(start, len) {
                            Some(at) if (*to as usize) < ELSEWHERE => {
                                registers.elsewhere[*to as usize] = Some(&source[at..at + len]);
                            }
                            _ => walk.load(source, start, registers.write(*to, len)),
                        }
                    }
                    Step::Unit { unit, args, to } => {
                        let args = args.map(|a| get(&registers, a));
                        let out = match to {
                            Target::Register(r) => registers.write(*r, len),
                            Target::Memory(b) => &mut self.p.write(*b)[start..start + len],
                        };
                        apply(*unit, args, out, !self.how.exact);
                        if self.how.checked {
                            fine &= all_finite(out);
                        }
                    }
                    Step::Sum { from, walk, into } => {
                        if let Block::Many(x) = get(&registers, *from) {
                            g.walks[*walk as usize].add(x, start, self.p.write(*into), self.how.exact);
                        }
                    }
                }
            }
            start += len;
        }
        if self.how.checked {
            fine &= g.sums.iter().all(|&b| all_finite(self.p.read(b)));
        }
        fine
    }
}

#[inline(always)]
fn apply<T: Float>(unit: Unit<T>, [a, b, c]: [Block<'_, T>; 3], out: &mut [T], vector: bool) {
    macro_rules! one {
        ($f:expr) => {
            match a {
                Block::Many(a) => map1(out, a, $f),
                Block::One(a) => fill1(out, a, $f),
            }
        };
    }
    macro_rules! two {
        ($f:expr) => {
            match (a, b) {
                (Block::Many(a), Block::Many(b)) => map2(out, a, b, $f),
                (Block::Many(a), Block::One(b)) => map_right(out, a, b, $f),
                (Block::One(a), Block::Many(b)) => map_left(out, a, b, $f),
                (Block::One(a), Block::One(b)) => fill2(out, a, b, $f),
            }
        };
    }
    units!(unit, vector, one, two, pick([a, b, c], out));
}

#[inline(always)]
fn map1<T: Float>(out: &mut [T], a: &[T], f: impl Fn(T) -> T) {
    out.iter_mut().zip(a).for_each(|(o, &a)| *o = f(a));
}

#[inline(always)]
fn fill1<T: Float>(out: &mut [T], a: T, f: impl Fn(T) -> T) {
    out.fill(f(a));
}

#[inline(always)]
fn map2<T: Float>(out: &mut [T], a: &[T], b: &[T], f: impl Fn(T, T) -> T) {
    out.iter_mut().zip(a).zip(b).for_each(|((o, &a), &b)| *o = f(a, b));
}

#[inline(always)]
fn map_right<T: Float>(out: &mut [T], a: &[T], b: T, f: impl Fn(T, T) -> T) {
    out.iter_mut().zip(a).for_each(|(o, &a)| *o = f(a, b));
}

#[inline(always)]
fn map_left<T: Float>(out: &mut [T], a: T, b: &[T], f: impl Fn(T, T) -> T) {
    out.iter_mut().zip(b).for_each(|(o, &b)| *o = f(a, b));
}

#[inline(always)]
fn fill2<T: Float>(out: &mut [T], a: T, b: T, f: impl Fn(T, T) -> T) {
    out.fill(f(a, b));
}

#[inline(always)]
fn pick<T: Float>([a, b, c]: [Block<'_, T>; 3], out: &mut [T]) {
    let at = |x: Block<'_, T>, i: usize| match x {
        Block::Many(x) => x[i],
        Block::One(x) => x,
    };
    for (i, o) in out.iter_mut().enumerate() {
        *o = if at(a, i) == T::ONE { at(b, i) } else { at(c, i) };
    }
}

/// So many registers at most can stand for numbers that lie elsewhere.
const ELSEWHERE: usize = 32;

/// Blocks that live in the workspace, or stand for a block of a buffer that lies just as it is wanted: one from outside the
/// group, which the group does not write.
struct Registers<'s, T> {
    start: *mut T,
    size: usize,
    elsewhere: [Option<&'s [T]>; ELSEWHERE],
    space: std::marker::PhantomData<&'s mut [T]>,
}

impl<'s, T> Registers<'s, T> {
    fn new(space: &'s mut [T], size: usize, count: usize) -> Self {
        assert!(space.len() >= size * count, "the workspace holds all registers");
        let elsewhere = [None; ELSEWHERE];
        Registers { start: space.as_mut_ptr(), size, elsewhere, space: std::marker::PhantomData }
    }

    #[inline(always)]
    fn read(&self, r: u32, len: usize) -> &'s [T] {
        if let Some(Some(block)) = self.elsewhere.get(r as usize) {
            return block;
        }
        // SAFETY: the register lies inside the space; a step never writes to a register that it reads (see `allocate`), and
        // nothing else holds it beyond its step
        unsafe { std::slice::from_raw_parts(self.start.add(r as usize * self.size), len) }
    }

    #[inline(always)]
    fn write(&mut self, r: u32, len: usize) -> &'s mut [T] {
        if let Some(block) = self.elsewhere.get_mut(r as usize) {
            *block = None;
        }
        // SAFETY: as above
        unsafe { std::slice::from_raw_parts_mut(self.start.add(r as usize * self.size), len) }
    }
}
