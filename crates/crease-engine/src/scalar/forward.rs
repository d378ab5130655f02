//! Values: group by group.

use super::{Code, Group, Memory, Results, What, lanes};
use crate::float::{Float, maximum, minimum};
use crate::isa::{Isa, Kernel, dispatch_scattered, each};
use crate::unit::{LaneOp, Unit, units};

struct Forward<'a, T, const L: usize> {
    code: &'a Code<T>,
    memory: &'a mut Memory<T>,
}

/// Computes all registers from those of the inputs.
pub(super) fn run<T: Float, const L: usize>(code: &Code<T>, memory: &mut Memory<T>) {
    dispatch_scattered(Forward::<T, L> { code, memory });
}

impl<T: Float, const L: usize> Kernel for Forward<'_, T, L> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let (code, m) = (self.code, self.memory);
        m.placed = true;
        for g in &code.groups {
            if let Some(results) = code.results(g) {
                units_of::<T, L>(m, g, results);
            }
            match g.what {
                What::Unit(_) | What::Runs(..) | What::Singles(_) => {}
                // many lanes at once, or many points
                What::Lane(op @ (LaneOp::Max | LaneOp::Min), arity, false, _) if arity <= g.count || L > 1 => {
                    let (done, out) = split::<T, L>(&mut m.registers, g);
                    let table = &code.table[g.args as usize..][..(arity * g.count) as usize];
                    if op == LaneOp::Max {
                        fold::<T, L>(done, table, out, maximum);
                    } else {
                        fold::<T, L>(done, table, out, minimum);
                    }
                }
                What::Lane(op, arity, weights, consecutive) => {
                    lanes::forward::<T, L>(code, m, g, op, arity as usize, (weights, consecutive));
                }
                What::Move(what, sizes) => lanes::moves::<T, L>(code, m, g, what, sizes.map(|n| n as usize)),
            }
        }
    }
}

/// The registers computed so far, and those of the group.
#[inline(always)]
fn split<'m, T, const L: usize>(registers: &'m mut [T], g: &Group<T>) -> (&'m [T], &'m mut [T]) {
    let (done, rest) = registers.split_at_mut(g.first as usize * L);
    (done, &mut rest[..g.count as usize * L])
}

/// The lanes of a register.
#[inline(always)]
pub(super) fn lanes_of<T: Float, const L: usize>(registers: &[T], r: u32) -> [T; L] {
    let at = r as usize * L;
    debug_assert!(at + L <= registers.len());
    // SAFETY: tables hold numbers of registers that come before their group, and memory has `L` numbers for each
    unsafe { *registers.as_ptr().add(at).cast::<[T; L]>() }
}

/// A group of units: one loop for its operation, or result by result.
#[inline(always)]
fn units_of<T: Float, const L: usize>(m: &mut Memory<T>, g: &Group<T>, results: Results<'_, T>) {
    let (done, out) = split::<T, L>(&mut m.registers, g);
    let looped = match results {
        Results::Table(unit, table) => through_table::<T, L>(unit, done, table, out),
        Results::Runs(unit, starts) => side_by_side(unit, starts.map(|s| &done[s as usize * L..][..out.len()]), out),
        Results::Singles(_) => false,
    };
    if looped {
        return;
    }
    for i in 0..g.count as usize {
        let (unit, _, args) = results.of(i, g);
        let [a, b, c] = args.map(|r| lanes_of::<T, L>(&m.registers, r));
        let out: [T; L] = each(|l| unit.apply(a[l], b[l], c[l]));
        m.registers[(g.first as usize + i) * L..][..L].copy_from_slice(&out);
    }
}

/// False if the operation has no loop of its own.
#[allow(unused_variables)] // functions without a loop are named, not called
#[inline(always)]
fn through_table<T: Float, const L: usize>(unit: Unit<T>, done: &[T], table: &[u32], out: &mut [T]) -> bool {
    let count = out.len() / L;
    let (first, rest) = table.split_at(count);
    let mut looped = true;
    let (out, _) = out.as_chunks_mut::<L>();
    macro_rules! one {
        ($f:expr) => {
            each1::<T, L>(done, first, out, $f)
        };
    }
    macro_rules! two {
        ($f:expr) => {
            each2::<T, L>(done, first, &rest[..count], out, $f)
        };
    }
    macro_rules! single {
        ($f:expr) => {
            looped = false
        };
    }
    let mut pick = || {
        let (second, third) = rest.split_at(count);
        for (((o, &a), &b), &c) in out.iter_mut().zip(first).zip(second).zip(third) {
            let (a, b, c) = (lanes_of::<T, L>(done, a), lanes_of::<T, L>(done, b), lanes_of::<T, L>(done, c));
            for l in 0..L {
                o[l] = if a[l] == T::ONE { b[l] } else { c[l] };
            }
        }
    };
    units!(unit, one, two, single, pick());
    looped
}

#[inline(always)]
fn each1<T: Float, const L: usize>(done: &[T], a: &[u32], out: &mut [[T; L]], f: impl Fn(T) -> T) {
    for (o, &a) in out.iter_mut().zip(a) {
        let a = lanes_of::<T, L>(done, a);
        *o = each(|l| f(a[l]));
    }
}

#[inline(always)]
fn each2<T: Float, const L: usize>(done: &[T], a: &[u32], b: &[u32], out: &mut [[T; L]], f: impl Fn(T, T) -> T) {
    for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
        let (a, b) = (lanes_of::<T, L>(done, a), lanes_of::<T, L>(done, b));
        *o = each(|l| f(a[l], b[l]));
    }
}

/// As [`through_table`], of numbers that lie side by side.
#[allow(unused_variables)] // functions without a loop are named, not called
#[inline(always)]
fn side_by_side<T: Float>(unit: Unit<T>, [a, b, c]: [&[T]; 3], out: &mut [T]) -> bool {
    let mut looped = true;
    macro_rules! one {
        ($f:expr) => {
            map1(out, a, $f)
        };
    }
    macro_rules! two {
        ($f:expr) => {
            map2(out, a, b, $f)
        };
    }
    macro_rules! single {
        ($f:expr) => {
            looped = false
        };
    }
    units!(unit, one, two, single, {
        for (((o, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
            *o = if a == T::ONE { b } else { c };
        }
    });
    looped
}

#[inline(always)]
pub(crate) fn map1<T: Float>(out: &mut [T], a: &[T], f: impl Fn(T) -> T) {
    out.iter_mut().zip(a).for_each(|(o, &a)| *o = f(a));
}

#[inline(always)]
pub(crate) fn map2<T: Float>(out: &mut [T], a: &[T], b: &[T], f: impl Fn(T, T) -> T) {
    out.iter_mut().zip(a).zip(b).for_each(|((o, &a), &b)| *o = f(a, b));
}

/// Folds lanes of a few members, all lanes of a group at once.
#[inline(always)]
fn fold<T: Float, const L: usize>(done: &[T], table: &[u32], out: &mut [T], f: impl Fn(T, T) -> T) {
    let (out, _) = out.as_chunks_mut::<L>();
    let count = out.len();
    if let [Some(a), Some(b), Some(c), None] = each(|k| table.get(k * count..(k + 1) * count)) {
        for (((o, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
            let (a, b, c) = (lanes_of::<T, L>(done, a), lanes_of::<T, L>(done, b), lanes_of::<T, L>(done, c));
            *o = each(|l| f(f(a[l], b[l]), c[l]));
        }
        return;
    }
    let (first, rest) = table.split_at(count);
    each1::<T, L>(done, first, out, |a| a);
    for members in rest.chunks_exact(count) {
        for (o, &a) in out.iter_mut().zip(members) {
            let a = lanes_of::<T, L>(done, a);
            for l in 0..L {
                o[l] = f(o[l], a[l]);
            }
        }
    }
}
