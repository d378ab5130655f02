//! Gradients: adjoints backward through the groups, zeros skipped.
//!
//! The rules are those of `crease_core::differentiate`, each with its products in the same order, so a gradient differs from
//! that of the derived program by the order of its sums alone, as long as everything is finite: then a product with a zero adjoint is
//! zero, and leaving it out changes nothing. Operations whose slope may be infinite where they are finite (the square root of 0, the
//! logarithm of next to nothing) pass on zero adjoints, too, so that what is not finite shows in the result; such a run is
//! handed over to the interpreter. A group finds the adjoints of its results, passes them on to its arguments, and clears its own.

use super::forward::lanes_of;
use super::{Code, Group, Memory, Results, What, lanes};
use crate::float::{Float, relu, slope};
use crate::isa::{Isa, Kernel, dispatch_scattered};
use crate::kernel::{self, lane, order};
use crate::unit::{Floats, LaneOp, Pick, Unit};
use crease_core::op::Slope;
use crease_core::{Smooth, Ties};

struct Reverse<'a, T, const L: usize> {
    code: &'a Code<T>,
    memory: &'a mut Memory<T>,
}

/// Adjoints of all inputs from those of the outputs.
pub(super) fn run<T: Float, const L: usize>(code: &Code<T>, memory: &mut Memory<T>) {
    dispatch_scattered(Reverse::<T, L> { code, memory });
}

impl<T: Float, const L: usize> Kernel for Reverse<'_, T, L> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let (code, m) = (self.code, self.memory);
        for g in code.groups.iter().rev() {
            ahead::<T, L>(m, g);
            if let What::Lane(op, arity, _, consecutive) = g.what {
                lane_group::<T, L>(code, m, g, op, (arity as usize, consecutive));
            }
            // all others but positions, which have no derivative
            if let Some(results) = code.results(g) {
                backward::<T, L>(m, g, results);
            }
        }
    }
}

/// Whether the slope may be infinite where argument and value are finite.
#[inline(always)]
fn may_be_steep<T>(unit: &Unit<T>) -> bool {
    match unit {
        Unit::Smooth(f) => !f.facts().is_tame,
        _ => false,
    }
}

/// How far ahead memory is asked for, in bytes.
const AHEAD: usize = 1 << 17;

/// Asks for the memory that is next. Groups go backward through registers and adjoints, but not in a straight line, so that no
/// processor sees by itself what comes; in a large program each equation would wait for memory twice.
#[inline(always)]
fn ahead<T: Float, const L: usize>(m: &Memory<T>, g: &Group<T>) {
    const LINE: usize = 64;
    let size = size_of::<T>() * L;
    let end = (g.first as usize * size).saturating_sub(AHEAD);
    for at in (end..end + g.count as usize * size).step_by(LINE) {
        #[cfg(target_arch = "x86_64")]
        for memory in [&m.registers, &m.adjoints] {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            // SAFETY: a hint may name any address, and SSE is part of the architecture
            unsafe { _mm_prefetch::<_MM_HINT_T1>(memory.as_ptr().cast::<i8>().wrapping_add(at)) };
        }
    }
}

/// Blocks of so many adjoints are looked at together, and skipped if all are zero.
const BLOCK: usize = 32;

/// Which results of a group from number `start` on have an adjoint, at any of their points, that is not zero.
///
/// Which ones do is as good as random where maxima select, so a branch for each would be mispredicted half of the
/// time. The bits of a mask cost one such branch for a block.
#[inline(always)]
fn nonzero<T: Float, const L: usize>(m: &Memory<T>, g: &Group<T>, start: usize) -> u32 {
    let end = (start + BLOCK).min(g.count as usize);
    let (block, _) = m.adjoints[(g.first as usize + start) * L..(g.first as usize + end) * L].as_chunks::<L>();
    if T::all_zero(block.as_flattened()) {
        return 0;
    }
    let mut mask = 0;
    for (i, lanes) in block.iter().enumerate() {
        mask |= u32::from(!T::all_zero(lanes)) << i;
    }
    mask
}

/// Passes on the adjoints of a group of results, the last ones first. Common operations have a loop of their own, which is short; all others share one.
#[inline(always)]
fn backward<T: Float, const L: usize>(m: &mut Memory<T>, g: &Group<T>, results: Results<'_, T>) {
    let count = g.count as usize;
    macro_rules! each {
        ($rule:ident) => {
            for start in (0..count).step_by(BLOCK) {
                let mut mask = nonzero::<T, L>(m, g, start);
                while mask != 0 {
                    let i = start + mask.trailing_zeros() as usize;
                    let (_, pick, args) = results.of(i, g);
                    $rule::<T, L>(&mut Place::new(m, g.first + i as u32, args), pick);
                    mask &= mask - 1;
                }
            }
        };
    }
    let unit = match results {
        Results::Table(unit, _) | Results::Runs(unit, _) => Some(unit),
        Results::Singles(_) => None,
    };
    match unit {
        Some(Unit::Add) => each!(sum),
        Some(Unit::Sub) => each!(difference),
        Some(Unit::Mul) => each!(product),
        Some(Unit::Relu) => each!(ramp),
        Some(Unit::Max | Unit::Min) => each!(pair),
        _ => {
            let mut end = count;
            while end > 0 {
                let start = if unit.is_none() { end - 1 } else { (end - 1) / BLOCK * BLOCK };
                let mut mask = match may_be_steep(&results.of(start, g).0) {
                    true => u32::MAX >> (BLOCK - (end - start)),
                    false if unit.is_none() => {
                        u32::from(!T::all_zero(adjoint::<T, L>(&mut m.adjoints, g.first + start as u32)))
                    }
                    false => nonzero::<T, L>(m, g, start),
                };
                while mask != 0 {
                    let i = start + mask.trailing_zeros() as usize;
                    let (unit, pick, args) = results.of(i, g);
                    one::<T, L>(&mut Place::new(m, g.first + i as u32, args), unit, pick);
                    mask &= mask - 1;
                }
                end = start;
            }
        }
    }
}

/// The adjoints of a register.
#[inline(always)]
fn adjoint<T, const L: usize>(adjoints: &mut [T], register: u32) -> &mut [T; L] {
    let at = register as usize * L;
    debug_assert!(at + L <= adjoints.len());
    // SAFETY: tables hold numbers of registers, and memory for gradients has `L` adjoints for each
    unsafe { &mut *adjoints.as_mut_ptr().add(at).cast::<[T; L]>() }
}

/// Adds to the adjoint of a register, lane by lane.
#[inline(always)]
fn give<T: Float, const L: usize>(adjoints: &mut [T], register: u32, a: &[T; L], f: impl Fn(usize, T) -> T) {
    let to = adjoint::<T, L>(adjoints, register);
    for l in 0..L {
        to[l] += f(l, a[l]);
    }
}

/// One result: its adjoint, taken from its register, which is 0 then, and its arguments.
struct Place<'m, T, const L: usize> {
    adjoints: &'m mut [T],
    registers: &'m [T],
    adjoint: [T; L],
    result: u32,
    args: [u32; 3],
}

impl<'m, T: Float, const L: usize> Place<'m, T, L> {
    #[inline(always)]
    fn new(m: &'m mut Memory<T>, result: u32, args: [u32; 3]) -> Self {
        let adjoint = std::mem::replace(adjoint::<T, L>(&mut m.adjoints, result), [T::ZERO; L]);
        Place { adjoints: &mut m.adjoints, registers: &m.registers, adjoint, result, args }
    }

    /// The numbers of an argument.
    #[inline(always)]
    fn arg(&self, k: usize) -> [T; L] {
        lanes_of::<T, L>(self.registers, self.args[k])
    }

    /// The result.
    #[inline(always)]
    fn value(&self) -> [T; L] {
        lanes_of::<T, L>(self.registers, self.result)
    }

    /// Gives an argument what a function makes of the adjoint, lane by lane.
    #[inline(always)]
    fn give(&mut self, k: usize, f: impl Fn(usize, T) -> T) {
        give::<T, L>(self.adjoints, self.args[k], &self.adjoint, f);
    }
}

#[inline(always)]
fn sum<T: Float, const L: usize>(p: &mut Place<'_, T, L>, _: T) {
    p.give(0, |_, a| a);
    p.give(1, |_, a| a);
}

#[inline(always)]
fn difference<T: Float, const L: usize>(p: &mut Place<'_, T, L>, _: T) {
    p.give(0, |_, a| a);
    p.give(1, |_, a| -a);
}

#[inline(always)]
fn product<T: Float, const L: usize>(p: &mut Place<'_, T, L>, _: T) {
    let (x, z) = (p.arg(0), p.arg(1));
    p.give(0, |l, a| a * z[l]);
    p.give(1, |l, a| a * x[l]);
}

#[inline(always)]
fn ramp<T: Float, const L: usize>(p: &mut Place<'_, T, L>, pick: T) {
    let x = p.arg(0);
    p.give(0, |l, a| a * slope(x[l], T::ZERO, pick, T::ONE));
}

/// The larger or smaller of two. The first share is in `pick`: of a tie, the first argument takes so much.
#[inline(always)]
fn pair<T: Float, const L: usize>(p: &mut Place<'_, T, L>, pick: T) {
    let (x, z, y) = (p.arg(0), p.arg(1), p.value());
    #[allow(clippy::eq_op)] // only NaN differs from itself
    let share = |l: usize, first: bool| {
        let (mine, other) = if first { (x[l], z[l]) } else { (z[l], x[l]) };
        let tied = if first { pick } else { T::ONE - pick };
        let won = if mine == y[l] { T::ONE } else { T::ZERO };
        let settled = if mine == other { tied } else { won };
        if y[l] != y[l] { y[l] } else { settled }
    };
    p.give(0, |l, a| a * share(l, true));
    p.give(1, |l, a| a * share(l, false));
}

/// A smooth function. Slopes of one that is known to the compiler are taken for all lanes at once; there are many others, which mostly are calls.
#[inline(always)]
fn smooth<T: Float, const L: usize>(p: &mut Place<'_, T, L>, f: Smooth) {
    let (x, y) = (p.arg(0), p.value());
    let times = |a: T, slope: Slope<T>| match slope {
        Slope::Zero => T::NEG_ZERO,
        Slope::One => a,
        Slope::Plus(w) => a * w,
        Slope::Minus(w) => -(a * w),
    };
    macro_rules! known {
        ($($known:ident),*) => {
            match f {
                $(Smooth::$known => p.give(0, |l, a| times(a, Floats::slope(Smooth::$known, x[l], y[l]))),)*
                f => {
                    for l in 0..L {
                        let to = &mut adjoint::<T, L>(p.adjoints, p.args[0])[l];
                        *to += times(p.adjoint[l], Floats::slope(f, x[l], y[l]));
                    }
                }
            }
        };
    }
    known!(Exp, Log, Sqrt, Inv, Tanh, Sigmoid)
}

/// Passes on the adjoint of one result of any operation.
#[inline(always)]
fn one<T: Float, const L: usize>(p: &mut Place<'_, T, L>, unit: Unit<T>, pick: T) {
    let (x, z, y) = (p.arg(0), p.arg(1), p.value());
    match unit {
        Unit::Add => sum(p, pick),
        Unit::Sub => difference(p, pick),
        Unit::Mul => product(p, pick),
        Unit::Div => {
            p.give(0, |l, a| a / z[l]);
            p.give(1, |l, a| -(a / z[l] * y[l]));
        }
        Unit::Copy => p.give(0, |_, a| a),
        Unit::Neg => p.give(0, |_, a| -a),
        Unit::Smooth(f) => smooth(p, f),
        Unit::Relu => ramp(p, pick),
        Unit::Abs => p.give(0, |l, a| a * lane::sign(x[l], pick)),
        Unit::Leaky(s) => p.give(0, |l, a| a * slope(x[l], s, pick, T::ONE)),
        Unit::Elu(s) => p.give(0, |l, a| a * slope(x[l], s * x[l].library_exp(), pick, T::ONE)),
        Unit::TimesRelu => {
            p.give(0, |l, a| a * relu(z[l]));
            p.give(1, |l, a| a * (x[l] * slope(z[l], T::ZERO, pick, T::ONE)));
        }
        Unit::Max | Unit::Min => pair(p, pick),
        Unit::Pick => {
            p.give(1, |l, a| if x[l] == T::ONE { a } else { T::ZERO });
            p.give(2, |l, a| if x[l] == T::ONE { T::ZERO } else { a });
        }
        // what has no derivative, and what only derived programs hold
        Unit::And
        | Unit::Or
        | Unit::Not
        | Unit::Less
        | Unit::LessEqual
        | Unit::Greater
        | Unit::GreaterEqual
        | Unit::Equal
        | Unit::NotEqual
        | Unit::Stair(_)
        | Unit::Slope(..)
        | Unit::EluSlope(..)
        | Unit::TimesSlope(_)
        | Unit::Share(_) => {}
    }
}

/// A group of lanes.
fn lane_group<T: Float, const L: usize>(
    code: &Code<T>,
    m: &mut Memory<T>,
    g: &Group<T>,
    op: LaneOp,
    (arity, consecutive): (usize, bool),
) {
    if op == LaneOp::Sort {
        return sorted::<T, L>(code, m, g, arity);
    }
    let mut space = std::mem::take(&mut m.space);
    let nonzero = |m: &Memory<T>, i: usize| !T::all_zero(&m.adjoints[(g.first as usize + i) * L..][..L]);
    for i in 0..g.count as usize {
        if !nonzero(m, i) {
            continue;
        }
        for l in 0..L {
            let at = (g.first as usize + i) * L + l;
            let a = std::mem::replace(&mut m.adjoints[at], T::ZERO);
            if a == T::ZERO {
                continue;
            }
            let count = g.count as usize;
            let table = &code.table[g.args as usize..][..arity * count];
            // the members of a single lane at one point may lie side by side
            let run = (L == 1 && consecutive).then(|| table[0] as usize..table[0] as usize + arity);
            let mut winners =
                Winners { adjoints: &mut m.adjoints, registers: &m.registers, table, i, count, lanes: L, l, run };
            let y = m.registers[at];
            match op {
                LaneOp::Max | LaneOp::Min | LaneOp::Order(_) => winners.share(arity, a, y, g.pick, false),
                LaneOp::NormInf => winners.share(arity, a, y, g.pick, true),
                LaneOp::Norm1 => {
                    for k in 0..arity {
                        let w = lane::sign(winners.member(k), g.pick.at);
                        winners.give(k, a * w);
                    }
                }
                LaneOp::Norm2 => {
                    for k in 0..arity {
                        let w = if y == T::ZERO { T::ZERO } else { winners.member(k) / y };
                        winners.give(k, a * w);
                    }
                }
                LaneOp::LogSumExp | LaneOp::MaxLinear(_) => {
                    let (members, rest) = space.split_at_mut(arity);
                    lanes::gather::<T, L>(code, &m.registers, (g, i, arity), l, members);
                    let results = &mut m.results[..arity + 1];
                    kernel::lanes::one(op, members, Some(g.pick), (rest, &mut m.positions), results);
                    for (k, &w) in results[1..].iter().enumerate() {
                        m.adjoints[table[k * count + i] as usize * L + l] += a * w;
                    }
                }
                // the second is made for tensors only
                LaneOp::Sort | LaneOp::SumRelu => {}
            }
        }
    }
    m.space = space;
}

/// One lane of a group at one point, and where its adjoints go.
struct Winners<'a, T> {
    adjoints: &'a mut [T],
    registers: &'a [T],
    table: &'a [u32],
    i: usize,
    count: usize,
    lanes: usize,
    l: usize,
    /// Where the members lie, if they lie side by side.
    run: Option<std::ops::Range<usize>>,
}

impl<T: Float> Winners<'_, T> {
    fn place(&self, k: usize) -> usize {
        self.table[k * self.count + self.i] as usize * self.lanes + self.l
    }

    fn member(&self, k: usize) -> T {
        self.registers[self.place(k)]
    }

    fn give(&mut self, k: usize, share: T) {
        let at = self.place(k);
        self.adjoints[at] += share;
    }

    /// Shares an adjoint among the members that equal the value, or whose size does.
    fn share(&mut self, arity: usize, a: T, y: T, pick: Pick<T>, sizes: bool) {
        let size = |x: T| if sizes { x.size() } else { x };
        let w = |x: T| if sizes { lane::sign(x, pick.at) } else { T::ONE };
        #[allow(clippy::eq_op)] // only NaN differs from itself
        if y != y {
            for k in 0..arity {
                self.give(k, a * y);
            }
            return;
        }
        let hit = |s: &Self, k: &usize| size(s.member(*k)) == y;
        #[allow(clippy::eq_op)] // only what is finite differs from itself by nothing
        if a - a != T::ZERO {
            // a weight of zero is no reason to leave it out
            for k in (0..arity).filter(|k| !hit(self, k)).collect::<Vec<_>>() {
                self.give(k, a * T::ZERO);
            }
        }
        match pick.ties {
            Ties::First => {
                if let Some(k) = self.first(arity, y, sizes) {
                    self.give(k, a * w(self.member(k)));
                }
            }
            Ties::Last => {
                if let Some(k) = (0..arity).rev().find(|k| hit(self, k)) {
                    self.give(k, a * w(self.member(k)));
                }
            }
            Ties::Every | Ties::Average => {
                let tied = (0..arity).filter(|k| hit(self, k)).count();
                let share = if pick.ties == Ties::Every { T::ONE } else { T::ONE / T::from_usize(tied) };
                for k in 0..arity {
                    if hit(self, &k) {
                        self.give(k, a * (share * w(self.member(k))));
                    }
                }
            }
        }
    }

    /// The first member that equals the value.
    fn first(&self, arity: usize, y: T, sizes: bool) -> Option<usize> {
        match &self.run {
            Some(run) if arity > 16 => lane::position(&self.registers[run.clone()], y, sizes),
            _ => (0..arity).find(|&k| (if sizes { self.member(k).size() } else { self.member(k) }) == y),
        }
    }
}

/// Sorted lanes: every adjoint goes to the member that came to its place.
fn sorted<T: Float, const L: usize>(code: &Code<T>, m: &mut Memory<T>, g: &Group<T>, arity: usize) {
    let count = g.count as usize;
    let mut space = std::mem::take(&mut m.space);
    for i in (0..count).rev() {
        for l in 0..L {
            let place = |k: usize| (g.first as usize + k * count + i) * L + l;
            if (0..arity).all(|k| m.adjoints[place(k)] == T::ZERO) {
                continue;
            }
            let members = &mut space[..arity];
            lanes::gather::<T, L>(code, &m.registers, (g, i, arity), l, members);
            let positions = &mut m.positions[..arity];
            order::ascending(members, Some(g.pick.ties), positions);
            for (k, &p) in positions.iter().enumerate() {
                let a = std::mem::replace(&mut m.adjoints[place(k)], T::ZERO);
                let to = code.table[g.args as usize + p as usize * count + i] as usize * L + l;
                m.adjoints[to] += a;
            }
        }
    }
    m.space = space;
}
