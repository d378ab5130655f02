//! A fused group: every operation on a block of elements at a time, so that what passes between operations stays in the
//! nearest cache and what nobody else reads is never written to memory. What only the side of a selection needs that was not chosen is
//! skipped ([`guard`](super::guard)).
//!
//! Large groups are worked on in parts, of a size that does not depend on the number of threads, and sums of parts are added up in order: so
//! results do not depend on it either. Parts end where a sum of neighbours ends, so that such sums are those of one part each.

use super::guard::{Guard, Need, constant_at};
use super::lower::{Arg, Buf, Kind, Node};
use super::memory::Pointers;
use super::walk::Walk;
use crate::crew::{Shared, Team};
use crate::float::{Float, all_finite};
use crate::isa::{Isa, Kernel, dispatch};
use crate::scalar::looks::{makes, shows};
use crate::unit::{Unit, units};
use crease_core::Layout;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The size of a block in bytes where nothing else decides it.
const BLOCK_BYTES: usize = 4096;
/// All registers of a group together take about this much of the nearest cache.
const NEAR_BYTES: usize = 20_480;

/// So many elements, at most, are one part of a group, but for what its sums need.
const PART: usize = 1 << 14;
/// Parts begin where a line of the caches may.
const LINE: usize = 64;

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
    /// Adds the block into a buffer, one of the sums, through an index map.
    Sum {
        from: Source<T>,
        walk: u32,
        number: usize,
    },
}

/// A buffer that numbers are added into.
#[derive(Clone, Copy, Debug)]
struct Sum {
    into: Buf,
    cells: usize,
    /// So many elements one after the other go into each cell, if that is so and they are few; then no two parts meet in a cell.
    run: Option<usize>,
}

impl Sum {
    fn new(into: Buf, cells: usize, layout: &Layout, elements: usize) -> Self {
        let run = elements.checked_div(cells).filter(|&run| run * cells == elements && run <= PART);
        Sum { into, cells, run: run.filter(|&run| *layout == Layout::strided(0, &[(cells, 1), (run, 0)])) }
    }
}

/// Whether a group over so many elements is still worked on in parts if it adds them up in so many cells.
pub(crate) fn joins(layout: &Layout, elements: usize, cells: usize, exact: bool) -> bool {
    elements <= PART
        || Sum::new(0, cells, layout, elements).run.is_some()
        || !exact && in_parts(elements.div_ceil(PART), cells, elements)
}

/// Whether sums in so many cells are worth to be taken in parts.
fn in_parts(parts: usize, cells: usize, elements: usize) -> bool {
    parts.saturating_mul(cells).saturating_mul(16) <= elements
}

/// A fused group.
#[derive(Debug)]
pub(crate) struct Fused<T> {
    elements: usize,
    steps: Vec<Step<T>>,
    /// For each step whether it is needed.
    guards: Vec<Option<Guard>>,
    /// For each step whether its result must be looked at to know that all are finite.
    looks: Vec<bool>,
    walks: Vec<Walk>,
    sums: Vec<Sum>,
    /// So many elements are worked on at a time, by whichever thread; sums of each such part are added up in order.
    part: usize,
    registers: usize,
    /// The number of elements in a block.
    block: usize,
}

/// The number of elements in a block.
pub(crate) fn block<T>() -> usize {
    BLOCK_BYTES / size_of::<T>()
}

/// Makes a group. `stored` tells which buffers are read by others, `need` when those are.
pub(crate) fn build<T: Float>(
    nodes: &[&Node<T>],
    elements: usize,
    lens: &[usize],
    stored: &dyn Fn(Buf) -> bool,
    need: &dyn Fn(Buf) -> Need,
    exact: bool,
) -> Fused<T> {
    let mut f = Fused {
        elements,
        steps: Vec::new(),
        guards: Vec::new(),
        looks: Vec::new(),
        walks: Vec::new(),
        sums: Vec::new(),
        part: elements,
        registers: 0,
        block: 0,
    };
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
                    f.steps.push(Step::Sum { from, walk, number: f.sums.len() });
                    f.sums.push(Sum::new(out, lens[out as usize], layout, elements));
                }
            }
            _ => {}
        }
    }
    f.guards = guards(&f.steps, &f.sums, virtuals as usize, need);
    f.looks = looks(&f.steps, &f.guards, virtuals as usize);
    f.allocate(virtuals as usize);
    let bytes = NEAR_BYTES / (f.registers + 1);
    f.block =
        (bytes / size_of::<T>() / 64 * 64).clamp(BLOCK_BYTES / 4 / size_of::<T>(), 2 * BLOCK_BYTES / size_of::<T>());
    f.part = f.parted(exact);
    f
}

/// The least number that both divide.
fn lcm(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x.max(1) * b
}

/// Which steps are needed, from the last to the first: registers by those that read them, buffers as told.
fn guards<T: Float>(
    steps: &[Step<T>],
    sums: &[Sum],
    virtuals: usize,
    need: &dyn Fn(Buf) -> Need,
) -> Vec<Option<Guard>> {
    let mut registers = vec![Need::Never; virtuals];
    let mut out = vec![None; steps.len()];
    for (i, step) in steps.iter().enumerate().rev() {
        let here = match step {
            Step::Sum { number, .. } => need(sums[*number].into),
            Step::Unit { to: Target::Memory(b), .. } => need(*b),
            Step::Load { to, .. } | Step::Unit { to: Target::Register(to), .. } => registers[*to as usize],
        };
        out[i] = here.guard();
        let mut note = |s: &Source<T>, n: Need| {
            if let Source::Register(r) = s {
                registers[*r as usize] = registers[*r as usize].and(n);
            }
        };
        match step {
            Step::Load { .. } => {}
            Step::Sum { from, .. } => note(from, here),
            Step::Unit { unit: Unit::Pick, args: [Source::One(buf, at), chosen, other], .. } => {
                let [yes, no] = Guard::both(*buf, *at);
                note(chosen, here.behind(yes));
                note(other, here.behind(no));
            }
            Step::Unit { unit, args, .. } => args[..unit.arity()].iter().for_each(|a| note(a, here)),
        }
    }
    out
}

/// Which results must be looked at to know that everything is finite: those of operations that make what is not of numbers that are,
/// unless a sum or a product takes them up that is looked at itself, and is needed whenever they are.
fn looks<T: Float>(steps: &[Step<T>], guards: &[Option<Guard>], virtuals: usize) -> Vec<bool> {
    let mut covered = vec![false; virtuals];
    let mut buffers: Vec<Buf> = Vec::new();
    let mut maker: HashMap<u32, usize> = HashMap::new();
    for (i, step) in steps.iter().enumerate() {
        if let Some(r) = target(step) {
            maker.insert(r, i);
        }
    }
    let mut out = vec![false; steps.len()];
    for (i, step) in steps.iter().enumerate().rev() {
        let taken: &[Source<T>] = match step {
            Step::Load { .. } => &[],
            // all of it goes into the sum, which is looked at when it is done
            Step::Sum { from, .. } => std::slice::from_ref(from),
            Step::Unit { unit, args, to } => {
                out[i] = makes(unit)
                    && match to {
                        Target::Register(r) => !covered[*r as usize],
                        Target::Memory(b) => !buffers.contains(b),
                    };
                let which = if makes(unit) { shows(unit) } else { &[] };
                for &k in which {
                    cover(&args[k], i, (guards, &maker), (&mut covered, &mut buffers));
                }
                continue;
            }
        };
        taken.iter().for_each(|s| cover(s, i, (guards, &maker), (&mut covered, &mut buffers)));
    }
    out
}

/// Notes that step `i` takes up what is in a register, or in a buffer that this group writes.
fn cover<T>(
    s: &Source<T>,
    i: usize,
    (guards, maker): (&[Option<Guard>], &HashMap<u32, usize>),
    (registers, buffers): (&mut [bool], &mut Vec<Buf>),
) {
    match s {
        Source::Register(r) => {
            let made = maker.get(r).and_then(|&m| guards[m]);
            registers[*r as usize] |= guards[i].is_none() || guards[i] == made;
        }
        // in a buffer only by what is always there
        Source::Memory(b) if guards[i].is_none() => buffers.push(*b),
        Source::Memory(_) | Source::Const(_) | Source::One(..) => {}
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

    /// How many numbers of sums of parts a run needs.
    pub fn partial(&self) -> usize {
        if self.parts() > 1 { self.parts() * self.cells() } else { 0 }
    }

    /// How many parts may run at the same time.
    pub fn parts(&self) -> usize {
        self.elements.div_ceil(self.part.max(1))
    }

    /// The cells of sums that several parts add to.
    fn cells(&self) -> usize {
        self.sums.iter().filter(|s| s.run.is_none()).map(|s| s.cells).sum()
    }

    /// How many elements are one part: an even number of parts where sums allow it, of the same size but for the last.
    fn parted(&self, exact: bool) -> usize {
        if self.elements <= PART {
            return self.elements;
        }
        // what parts are multiples of: of lines only where that makes no part too large
        let runs = self.sums.iter().filter_map(|s| s.run).fold(1, lcm);
        let unit = if lcm(LINE, runs) <= PART { lcm(LINE, runs) } else { runs };
        let parts = self.elements.div_ceil(PART).next_multiple_of(2);
        let part = self.elements.div_ceil(parts).next_multiple_of(unit);
        let (parts, cells) = (self.elements.div_ceil(part), self.cells());
        // where every bit must agree, sums are taken in order
        let worth = cells == 0 || !exact && in_parts(parts, cells, self.elements);
        if worth { part } else { self.elements }
    }

    /// How many steps are not always needed.
    pub fn guarded(&self) -> usize {
        self.guards.iter().flatten().count()
    }

    /// Runs the group; false if something was not finite and that was asked. Each thread has its own part of the working space.
    pub fn run(
        &self,
        p: &Pointers<'_, T>,
        (spaces, partial, team): (&Spaces<'_, T>, &Shared<T>, &Team),
        how: Manner,
    ) -> bool {
        let (parts, cells) = (self.parts(), self.cells());
        for sum in &self.sums {
            // added to anything, -0 changes nothing
            p.write(sum.into).fill(T::NEG_ZERO);
        }
        let fine = AtomicBool::new(true);
        team.each(parts, &|place, part| {
            let range = part * self.part..((part + 1) * self.part).min(self.elements);
            // SAFETY: each part has sums of its own
            let mut sums = (parts > 1).then(|| unsafe { partial.part(part * cells..(part + 1) * cells) });
            sums.iter_mut().for_each(|s| s.fill(T::NEG_ZERO));
            // SAFETY: each thread has a place of its own
            let space = unsafe { spaces.of(place) };
            if !dispatch(Run { group: self, p, space, how, range, sums }) {
                fine.store(false, Ordering::Relaxed);
            }
        });
        if parts > 1 && cells > 0 {
            // SAFETY: all parts are done
            let all = unsafe { partial.part(0..parts * cells) };
            for part in all.chunks_exact(cells) {
                let mut at = 0;
                for sum in self.sums.iter().filter(|s| s.run.is_none()) {
                    p.write(sum.into).iter_mut().zip(&part[at..][..sum.cells]).for_each(|(o, &x)| *o += x);
                    at += sum.cells;
                }
            }
        }
        fine.into_inner() && (!how.checked || self.sums.iter().all(|s| all_finite(p.read(s.into))))
    }
}

/// Working space for several threads.
pub(crate) struct Spaces<'s, T> {
    all: &'s Shared<T>,
    each: usize,
}

impl<'s, T> Spaces<'s, T> {
    /// So many numbers for each thread.
    pub fn new(all: &'s Shared<T>, each: usize) -> Self {
        Spaces { all, each }
    }

    /// The part of the thread at a place.
    ///
    /// # Safety
    ///
    /// Nobody else uses it at the same time.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn of(&self, place: usize) -> &mut [T] {
        // SAFETY: by the contract
        unsafe { self.all.part(place * self.each..(place + 1) * self.each) }
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
    /// The elements to work on.
    range: Range<usize>,
    /// Where sums go, one after the other, if not into their buffers.
    sums: Option<&'a mut [T]>,
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
        let mut sums = self.sums;
        let mut start = self.range.start;
        while start < self.range.end {
            let len = size.min(self.range.end - start);
            let get = |registers: &Registers<'a, T>, s: Source<T>| match s {
                Source::Const(c) => Block::One(c),
                Source::One(b, at) => Block::One(self.p.read(b)[at]),
                Source::Memory(b) => Block::Many(self.p.read_some(b, start, len)),
                Source::Register(r) => Block::Many(registers.read(r, len)),
            };
            for ((s, guard), &look) in g.steps.iter().zip(&g.guards).zip(&g.looks) {
                if let Some(guard) = guard
                    && !guard.opens(self.p)
                {
                    continue;
                }
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
                            Target::Memory(b) => self.p.write_some(*b, start, len),
                        };
                        apply::<T, I>(*unit, args, out, !self.how.exact);
                        if self.how.checked && look {
                            fine &= T::all_finite(out);
                        }
                    }
                    Step::Sum { from, walk, number } => {
                        if let Block::Many(x) = get(&registers, *from) {
                            let Sum { into, cells, run } = g.sums[*number];
                            let (first, all) = (self.range.start, self.range.len());
                            let (target, at) = match (&mut sums, run) {
                                (None, _) => (self.p.write(into), start),
                                // cells of this part alone, as if it were the first
                                (Some(_), Some(run)) => {
                                    (self.p.write_some(into, first / run, all / run), start - first)
                                }
                                (Some(sums), None) => {
                                    let shared = g.sums[..*number].iter().filter(|s| s.run.is_none());
                                    (&mut sums[shared.map(|s| s.cells).sum()..][..cells], start)
                                }
                            };
                            g.walks[*walk as usize].add(x, at, target, self.how.exact);
                        }
                    }
                }
            }
            start += len;
        }
        fine
    }
}

/// For the instructions `I` alone: what is generic over them is compiled for each of them, with every function in its place. A loop that several kernels
/// share may become a function of its own, which knows no vectors.
#[allow(unused_variables)] // functions without a loop are named, not called
#[inline(always)]
fn apply<T: Float, I: Isa>(unit: Unit<T>, args: [Block<'_, T>; 3], all: &mut [T], vector: bool) {
    // of numbers that are the same for all one result is computed, by the loop that is there for many
    let same = args.map(|a| if let Block::One(a) = a { [a] } else { [T::ZERO] });
    let once = args[..unit.arity()].iter().all(|a| matches!(a, Block::One(_))) && !all.is_empty();
    let ([a, b, c], out) = match once {
        true => ([0, 1, 2].map(|k| Block::Many(&same[k][..])), &mut all[..1]),
        false => (args, &mut *all),
    };
    macro_rules! one {
        ($f:expr) => {
            if let Block::Many(a) = a {
                map1(out, a, $f);
            }
        };
    }
    macro_rules! two {
        ($f:expr) => {
            match (a, b) {
                (Block::Many(a), Block::Many(b)) => map2(out, a, b, $f),
                (Block::Many(a), Block::One(b)) => map1(out, a, |a| $f(a, b)),
                (Block::One(a), Block::Many(b)) => map1(out, b, |b| $f(a, b)),
                (Block::One(_), Block::One(_)) => {}
            }
        };
    }
    let mut singly = false;
    macro_rules! single {
        ($f:expr) => {
            singly = true
        };
    }
    units!(unit, vector, fused I::FMA, one, two, single, pick([a, b, c], out));
    if let (true, Block::Many(a)) = (singly, a) {
        map1(out, a, |a| unit.apply(a, a, a));
    }
    if once {
        all.fill(all[0]);
    }
}

#[inline(always)]
fn map1<T: Float>(out: &mut [T], a: &[T], f: impl Fn(T) -> T) {
    for (o, &a) in out.iter_mut().zip(a) {
        *o = f(a);
    }
}

#[inline(always)]
fn map2<T: Float>(out: &mut [T], a: &[T], b: &[T], f: impl Fn(T, T) -> T) {
    for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *o = f(a, b);
    }
}

#[inline(always)]
fn pick<T: Float>([a, b, c]: [Block<'_, T>; 3], out: &mut [T]) {
    let choose = |a: T, b: T, c: T| if a == T::ONE { b } else { c };
    match (a, b, c) {
        // one side for all; the other may not have been computed
        (Block::One(a), b, c) => match if a == T::ONE { b } else { c } {
            Block::Many(x) => out.copy_from_slice(x),
            Block::One(x) => out.fill(x),
        },
        (Block::Many(a), Block::Many(b), Block::Many(c)) => {
            out.iter_mut().zip(a).zip(b).zip(c).for_each(|(((o, &a), &b), &c)| *o = choose(a, b, c));
        }
        (Block::Many(a), Block::Many(b), Block::One(c)) => map2(out, a, b, |a, b| choose(a, b, c)),
        (Block::Many(a), Block::One(b), Block::Many(c)) => map2(out, a, c, |a, c| choose(a, b, c)),
        (Block::Many(a), Block::One(b), Block::One(c)) => map1(out, a, |a| choose(a, b, c)),
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
