//! Operations on lanes: on one whose members were gathered, and on many that lie side by side.

use super::{lane, order};
use crate::float::{Float, maximum, minimum};
use crate::isa::{Isa, Kernel, dispatch};
use crate::unit::{LaneOp, Pick};

/// The value of an operation on one lane and, if asked for, its weights, into `results`, which has room for all of them. Sums are
/// taken in order.
pub(crate) fn one<T: Float>(
    op: LaneOp,
    members: &[T],
    weights: Option<Pick<T>>,
    (space, positions): (&mut [T], &mut [u32]),
    results: &mut [T],
) {
    let n = members.len();
    let (value, rest) = results.split_at_mut(1);
    // one of the members, and who shares its weight
    let mut one_of = |v: T, weights: Option<Pick<T>>| {
        value[0] = v;
        if let Some(p) = weights {
            lane::shares(members, v, p.ties, false, &mut rest[..n]);
        }
    };
    match (op, weights) {
        (LaneOp::Norm1, None) => value[0] = lane::norm1(members, true),
        (LaneOp::Norm1, Some(p)) => value[0] = lane::norm1_joint(members, p.at, true, &mut rest[..n]),
        (LaneOp::SumRelu, None) => value[0] = lane::sum_relu(members),
        (LaneOp::SumRelu, Some(p)) => value[0] = lane::sum_relu_joint(members, p.at, &mut rest[..n]),
        (LaneOp::NormInf, None) => value[0] = lane::norm_inf(members),
        (LaneOp::NormInf, Some(p)) => value[0] = lane::norm_inf_joint(members, p.at, p.ties, true, &mut rest[..n]),
        (LaneOp::Norm2, None) => value[0] = lane::norm2(members, true),
        (LaneOp::Norm2, Some(_)) => value[0] = lane::norm2_joint(members, true, &mut rest[..n]),
        (LaneOp::LogSumExp, w) => {
            let (v, total) = lane::log_sum_exp(members, &mut space[..n], true);
            value[0] = v;
            if w.is_some() {
                rest.iter_mut().zip(&space[..n]).for_each(|(w, &p)| *w = p / total);
            }
        }
        (LaneOp::Max, w) => one_of(lane::max(members), w),
        (LaneOp::Min, w) => one_of(lane::min(members), w),
        (LaneOp::Order(k), w) => one_of(order::kth(members, k, space), w),
        (LaneOp::Sort, w) => {
            let (sorted, places) = results.split_at_mut(n);
            sort(members, w, &mut positions[..n], sorted, w.map(|_| places));
        }
        (LaneOp::MaxLinear(rows), w) => {
            let columns = n / (rows + 1);
            let (a, x) = members.split_at(rows * columns);
            let (by_a, by_x) = match w {
                None => (None, None),
                Some(_) => {
                    let (by_a, by_x) = rest.split_at_mut(rows * columns);
                    (Some(by_a), Some(&mut by_x[..columns]))
                }
            };
            value[0] = max_linear((a, x), rows, w, true, space, (by_a, by_x));
        }
    }
}

/// The members in ascending order and, if asked for, where each was. One NaN makes all of them NaN.
pub(crate) fn sort<T: Float>(
    members: &[T],
    pick: Option<Pick<T>>,
    positions: &mut [u32],
    sorted: &mut [T],
    places: Option<&mut [T]>,
) {
    let ordered = order::ascending(members, pick.map(|p| p.ties), positions);
    for (o, &k) in sorted.iter_mut().zip(positions.iter()) {
        *o = if ordered { members[k as usize] } else { T::NAN };
    }
    if let Some(places) = places {
        places.iter_mut().zip(positions.iter()).for_each(|(o, &k)| *o = T::from_usize(k as usize));
    }
}

/// The largest entry of A x and, if something is picked, its derivatives by A and by x, as far as they are wanted. `space` has
/// room for two numbers for each row.
pub(crate) fn max_linear<T: Float>(
    (a, x): (&[T], &[T]),
    rows: usize,
    pick: Option<Pick<T>>,
    exact: bool,
    space: &mut [T],
    (by_a, by_x): (Option<&mut [T]>, Option<&mut [T]>),
) -> T {
    let (found, shares) = space.split_at_mut(rows);
    let value = lane::max_linear(a, x, exact, found);
    if let Some(pick) = pick {
        lane::max_linear_weights(a, x, (value, pick.ties), (&*found, &mut shares[..rows]), by_a, by_x);
    }
    value
}

/// The value of each of the lanes of `n` members that lie side by side in `src`.
pub(crate) fn values<T: Float>(op: LaneOp, src: &[T], n: usize, exact: bool, space: &mut [T], values: &mut [T]) {
    match op {
        LaneOp::Max | LaneOp::Min if n <= 32 => dispatch(Short { op, src, n, values }),
        _ => {
            for (src, v) in src.chunks_exact(n).zip(values) {
                *v = match op {
                    LaneOp::Max => lane::max(src),
                    LaneOp::Min => lane::min(src),
                    LaneOp::Norm1 => lane::norm1(src, exact),
                    LaneOp::SumRelu => lane::sum_relu(src),
                    LaneOp::NormInf => lane::norm_inf(src),
                    LaneOp::Norm2 => lane::norm2(src, exact),
                    LaneOp::Order(k) => order::kth(src, k, space),
                    LaneOp::LogSumExp => lane::log_sum_exp(src, &mut space[..n], exact).0,
                    LaneOp::Sort | LaneOp::MaxLinear(_) => unreachable!("they have more than a value"),
                };
            }
        }
    }
}

/// As [`values`], with the weights of all members.
pub(crate) fn joint<T: Float>(
    (op, pick): (LaneOp, Pick<T>),
    src: &[T],
    n: usize,
    exact: bool,
    space: &mut [T],
    (values, weights): (&mut [T], &mut [T]),
) {
    for ((src, v), w) in src.chunks_exact(n).zip(values).zip(weights.chunks_exact_mut(n)) {
        let one_of = |(v, from): (T, usize), w: &mut [T]| {
            lane::share_from(src, (v, from), pick.ties, false, w);
            v
        };
        *v = match op {
            LaneOp::Norm1 => lane::norm1_joint(src, pick.at, exact, w),
            LaneOp::SumRelu => lane::sum_relu_joint(src, pick.at, w),
            LaneOp::NormInf => lane::norm_inf_joint(src, pick.at, pick.ties, exact, w),
            LaneOp::Norm2 => lane::norm2_joint(src, exact, w),
            LaneOp::LogSumExp => {
                let (v, total) = lane::log_sum_exp(src, w, exact);
                lane::divide(w, total);
                v
            }
            LaneOp::Max => one_of(lane::located(src, lane::Extreme::Max), w),
            LaneOp::Min => one_of(lane::located(src, lane::Extreme::Min), w),
            LaneOp::Order(k) => one_of((order::kth(src, k, space), 0), w),
            LaneOp::Sort | LaneOp::MaxLinear(_) => unreachable!("their results are of other kinds"),
        };
    }
}

/// What a part of a lane has to say to the value of all of it: its part of a sum, of squares for a Euclidean norm, or its extreme number. The weights of
/// its members, if they are wanted, are left where they are known without the others, and 0 where few of all members have one.
pub(crate) fn part<T: Float>(op: LaneOp, xs: &[T], weights: Option<(Pick<T>, &mut [T])>) -> T {
    match (op, weights) {
        (LaneOp::Norm1, None) => lane::norm1(xs, false),
        (LaneOp::Norm1, Some((pick, w))) => lane::norm1_joint(xs, pick.at, false, w),
        (LaneOp::SumRelu, None) => lane::sum_relu(xs),
        (LaneOp::SumRelu, Some((pick, w))) => lane::sum_relu_joint(xs, pick.at, w),
        (LaneOp::Norm2, _) => lane::squares(xs),
        (LaneOp::LogSumExp, _) => lane::max(xs),
        (LaneOp::Max | LaneOp::Min | LaneOp::NormInf, weights) => {
            let value = extreme(op).map_or(T::NAN, |what| lane::extreme(xs, what));
            if let Some((_, w)) = weights {
                w.fill(T::ZERO);
            }
            value
        }
        (LaneOp::Order(_) | LaneOp::Sort | LaneOp::MaxLinear(_), _) => unreachable!("they have no parts"),
    }
}

/// What an operation looks for, if it looks for one number.
pub(crate) fn extreme(op: LaneOp) -> Option<lane::Extreme> {
    match op {
        LaneOp::Max => Some(lane::Extreme::Max),
        LaneOp::Min => Some(lane::Extreme::Min),
        LaneOp::NormInf => Some(lane::Extreme::NormInf),
        LaneOp::Norm1 | LaneOp::Norm2 | LaneOp::SumRelu | LaneOp::LogSumExp => None,
        LaneOp::Order(_) | LaneOp::Sort | LaneOp::MaxLinear(_) => None,
    }
}

/// `out[i] = lane[perm[i]]`, or, inverse, `out[perm[i]] = lane[i]`. False if the positions are not a permutation.
#[must_use]
pub(crate) fn reorder<T: Float>(lane: &[T], perm: &[T], inverse: bool, out: &mut [T]) -> bool {
    let n = lane.len();
    let place = |position: &T| {
        let at = position.to_f64();
        (at >= 0.0 && at < n as f64 && at.fract() == 0.0).then_some(at as usize)
    };
    // first each place is marked, so that one that is named twice shows
    out.fill(T::ZERO);
    for position in perm {
        match place(position) {
            Some(at) if out[at] == T::ZERO => out[at] = T::ONE,
            _ => return false,
        }
    }
    for (k, at) in perm.iter().filter_map(place).enumerate() {
        if inverse {
            out[at] = lane[k];
        } else {
            out[k] = lane[at];
        }
    }
    true
}

/// The largest or smallest of many short lanes.
struct Short<'a, T> {
    op: LaneOp,
    src: &'a [T],
    n: usize,
    values: &'a mut [T],
}

impl<T: Float> Kernel for Short<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let f = if self.op == LaneOp::Max { maximum::<T> } else { minimum::<T> };
        match self.n {
            4 => short::<T, 4>(self.src, self.values, f),
            3 => short::<T, 3>(self.src, self.values, f),
            2 => short::<T, 2>(self.src, self.values, f),
            n => {
                for (src, v) in self.src.chunks_exact(n).zip(self.values) {
                    *v = src[1..].iter().fold(src[0], |m, &x| f(m, x));
                }
            }
        }
    }
}

#[inline(always)]
fn short<T: Float, const N: usize>(src: &[T], values: &mut [T], f: impl Fn(T, T) -> T) {
    let (lanes, _) = src.as_chunks::<N>();
    for (x, v) in lanes.iter().zip(values) {
        *v = x[1..].iter().fold(x[0], |m, &x| f(m, x));
    }
}
