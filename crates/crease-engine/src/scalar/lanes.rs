//! Operations on lanes of registers: each lane is gathered, worked on, and its results put in their places.

use super::{Code, Group, Memory};
use crate::float::Float;
use crate::kernel::{lane, order};
use crate::unit::LaneOp;

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

/// The value of a lane operation and, if asked for, its weights, into `results`, which has room for all of them.
pub(crate) fn evaluate<T: Float>(
    op: LaneOp,
    members: &[T],
    weights: Option<crate::unit::Pick<T>>,
    (space, positions): (&mut [T], &mut [u32]),
    results: &mut [T],
) {
    let n = members.len();
    let (value, rest) = results.split_at_mut(1);
    match (op, weights) {
        (LaneOp::Norm1, None) => value[0] = lane::norm1(members, true),
        (LaneOp::Norm1, Some(p)) => value[0] = lane::norm1_joint(members, p.at, true, &mut rest[..n]),
        (LaneOp::NormInf, None) => value[0] = lane::norm_inf(members),
        (LaneOp::NormInf, Some(p)) => value[0] = lane::norm_inf_joint(members, p.at, p.ties, true, &mut rest[..n]),
        (LaneOp::LogSumExp, w) => {
            let (v, total) = lane::log_sum_exp(members, &mut space[..n], true);
            value[0] = v;
            if w.is_some() {
                rest.iter_mut().zip(&space[..n]).for_each(|(w, &p)| *w = p / total);
            }
        }
        (LaneOp::Max | LaneOp::Min | LaneOp::Order(_), w) => {
            value[0] = match op {
                LaneOp::Max => lane::max(members),
                LaneOp::Min => lane::min(members),
                LaneOp::Order(k) => order::kth(members, k, space),
                _ => T::NAN,
            };
            if let Some(p) = w {
                lane::shares(members, value[0], p.ties, false, &mut rest[..n]);
            }
        }
        (LaneOp::Sort, w) => {
            let positions = &mut positions[..n];
            let ordered = order::ascending(members, w.map(|p| p.ties), positions);
            for (r, &p) in results.iter_mut().zip(positions.iter()) {
                *r = if ordered { members[p as usize] } else { T::NAN };
            }
            if w.is_some() {
                results[n..].iter_mut().zip(positions.iter()).for_each(|(r, &p)| *r = T::from_usize(p as usize));
            }
        }
        (LaneOp::MaxLinear(rows), w) => {
            let columns = n / (rows + 1);
            let (a, x) = members.split_at(rows * columns);
            let (values, shares) = space.split_at_mut(rows);
            value[0] = lane::max_linear(a, x, true, values);
            if let Some(p) = w {
                let (by_a, by_x) = rest.split_at_mut(rows * columns);
                let rows = (&*values, &mut shares[..rows]);
                lane::max_linear_weights(a, x, (value[0], p.ties), rows, Some(by_a), Some(&mut by_x[..columns]));
            }
        }
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
        evaluate(op, members, None, (&mut m.space, &mut m.positions), &mut out[..1]);
        return;
    }
    let n = results(op, arity, weights);
    // results of one lane come out side by side, and are then put in their places
    let mut buffer = std::mem::take(&mut m.results);
    let (members, space) = m.space.split_at_mut(arity);
    for i in 0..count {
        for l in 0..L {
            gather::<T, L>(code, done, (g, i, arity), l, members);
            evaluate(op, members, weights.then_some(g.pick), (space, &mut m.positions), &mut buffer[..n]);
            for (r, &x) in buffer[..n].iter().enumerate() {
                out[(r * count + i) * L + l] = x;
            }
        }
    }
    m.results = buffer;
}

/// Reorders lanes by permutations that come with them.
pub(super) fn permute<T: Float, const L: usize>(
    code: &Code<T>,
    m: &mut Memory<T>,
    g: &Group<T>,
    length: usize,
    inverse: bool,
) {
    let (done, out) = m.registers.split_at_mut(g.first as usize * L);
    let count = g.count as usize;
    let (members, space) = m.space.split_at_mut(2 * length);
    for i in 0..count {
        for l in 0..L {
            gather::<T, L>(code, done, (g, i, 2 * length), l, members);
            let (lane, perm) = members.split_at(length);
            reorder(lane, perm, inverse, &mut space[..length]);
            for (r, &x) in space[..length].iter().enumerate() {
                out[(r * count + i) * L + l] = x;
            }
        }
    }
}

/// `out[i] = lane[perm[i]]`, or, inverse, `out[perm[i]] = lane[i]`; what is no position stands for itself.
pub(crate) fn reorder<T: Float>(lane: &[T], perm: &[T], inverse: bool, out: &mut [T]) {
    let n = lane.len();
    if inverse {
        out.fill(T::ZERO);
    }
    for (k, position) in perm.iter().enumerate() {
        let at = position.to_f64();
        let at = if at >= 0.0 && at < n as f64 && at.fract() == 0.0 { at as usize } else { k };
        if inverse {
            out[at] = lane[k];
        } else {
            out[k] = lane[at];
        }
    }
}
