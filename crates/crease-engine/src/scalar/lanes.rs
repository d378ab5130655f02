//! Lanes of registers: each is gathered, a kernel works on it, and its results are put in their places.

use super::{Code, Group, Memory};
use crate::float::Float;
use crate::kernel::lanes;
use crate::kernel::moves::carry_out;
use crate::unit::{LaneOp, Move};

/// Gathers the members of one lane of a group at one point.
pub(super) fn gather<T: Float, const L: usize>(
    code: &Code<T>,
    registers: &[T],
    (g, i, arity): (&Group<T>, usize, usize),
    l: usize,
    members: &mut [T],
) {
    let count = g.count as usize;
    let table = &code.table[g.args as usize..][..arity * count];
    for (m, &r) in members.iter_mut().zip(table[i..].iter().step_by(count)) {
        *m = registers[r as usize * L + l];
    }
}

/// The number of results of a lane operation.
fn results(op: LaneOp, arity: usize, weights: bool) -> usize {
    match (op, weights) {
        (LaneOp::Sort, false) => arity,
        (LaneOp::Sort, true) => 2 * arity,
        (_, false) => 1,
        (_, true) => arity + 1,
    }
}

/// Computes a group of lanes.
pub(super) fn forward<T: Float, const L: usize>(
    code: &Code<T>,
    m: &mut Memory<T>,
    g: &Group<T>,
    op: LaneOp,
    arity: usize,
    (weights, consecutive): (bool, bool),
) {
    let (done, out) = m.registers.split_at_mut(g.first as usize * L);
    let count = g.count as usize;
    if L == 1 && consecutive && !weights && op != LaneOp::Sort {
        // nothing to gather: the members lie side by side
        let members = &done[code.table[g.args as usize] as usize..][..arity];
        lanes::one(op, members, None, (&mut m.space, &mut m.positions), &mut out[..1]);
        return;
    }
    let n = results(op, arity, weights);
    // results of one lane come out side by side, and are then put in their places
    let mut buffer = std::mem::take(&mut m.results);
    let (members, space) = m.space.split_at_mut(arity);
    for i in 0..count {
        for l in 0..L {
            gather::<T, L>(code, done, (g, i, arity), l, members);
            lanes::one(op, members, weights.then_some(g.pick), (space, &mut m.positions), &mut buffer[..n]);
            for (r, &x) in buffer[..n].iter().enumerate() {
                out[(r * count + i) * L + l] = x;
            }
        }
    }
    m.results = buffer;
}

/// Lanes with their positions.
pub(super) fn moves<T: Float, const L: usize>(
    code: &Code<T>,
    m: &mut Memory<T>,
    g: &Group<T>,
    what: Move,
    [lane, positions, results]: [usize; 3],
) {
    let (done, out) = m.registers.split_at_mut(g.first as usize * L);
    let count = g.count as usize;
    let arity = lane + positions;
    let (members, space) = m.space.split_at_mut(arity);
    for i in 0..count {
        for l in 0..L {
            gather::<T, L>(code, done, (g, i, arity), l, members);
            let (lane, positions) = members.split_at(lane);
            m.placed &= carry_out(what, lane, positions, &mut space[..results]);
            for (r, &x) in space[..results].iter().enumerate() {
                out[(r * count + i) * L + l] = x;
            }
        }
    }
}
