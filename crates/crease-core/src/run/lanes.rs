//! Operations on groups of numbers, element by element of what is left when the group is gone.

use super::Arg;
use super::apply::lane_size;
use crate::kinks_of_numbers;
use crate::number::{Number, NumberError};
use crate::op::{Choice, Kink, Lane, Ties};
use crate::program::{Equation, Program};
use std::cmp::Ordering;

type Results<N> = Result<Vec<Vec<N>>, NumberError>;

/// One lane: its numbers in order.
pub(super) type Group<'a, N> = Vec<&'a N>;

/// Lane number `i` of an argument list.
pub(super) fn group<'a, N>(lane: Lane, n: usize, args: &[Arg<'a, N>], i: usize) -> Group<'a, N> {
    match lane {
        Lane::Args => args[..n].iter().map(|a| a.get(i)).collect(),
        Lane::Axis => (0..n).map(|k| args[0].get(i * n + k)).collect(),
    }
}

/// What the closure makes of each of so many lanes. Along an axis, values come one after the other, and so do weights or permutations, which follow them;
/// else each number goes to a result of its own.
pub(super) fn spread<N: Number>(
    e: &Equation<'_>,
    lane: Lane,
    count: usize,
    each: impl Fn(usize) -> Result<Vec<N>, NumberError>,
) -> Results<N> {
    let mut out: Vec<Vec<N>> = vec![Vec::new(); e.results];
    let keeps_lane = e.op.keeps_lane();
    for i in 0..count {
        let numbers = each(i)?;
        let values = if keeps_lane { numbers.len() / e.results } else { 1 };
        let mut numbers = numbers.into_iter();
        match lane {
            Lane::Args => out.iter_mut().zip(numbers).for_each(|(list, x)| list.push(x)),
            Lane::Axis => {
                out[0].extend(numbers.by_ref().take(values));
                out[1..].iter_mut().for_each(|list| list.extend(numbers.by_ref()));
            }
        }
    }
    Ok(out)
}

/// The same for what works on the members of each lane alone.
pub(super) fn each<N: Number>(
    p: &Program,
    e: &Equation<'_>,
    lane: Lane,
    args: &[Arg<'_, N>],
    count: usize,
    f: impl Fn(&Group<'_, N>) -> Result<Vec<N>, NumberError>,
) -> Results<N> {
    let n = lane_size(p, e, lane);
    spread(e, lane, count, |i| f(&group(lane, n, args, i)))
}

/// The value of a reduction and, if a choice is given, the weights of its members.
pub(super) fn reduce<N: Number>(
    kink: &Kink,
    group: &Group<'_, N>,
    choice: Option<&Choice>,
    at: &N,
) -> Result<Vec<N>, NumberError> {
    let ties = choice.map(|c| c.ties);
    match kink {
        Kink::Norm1(_) => {
            let sizes = group.iter().map(|x| x.abs()).collect::<Result<Vec<_>, _>>()?;
            let mut out = vec![sum(&sizes)];
            if choice.is_some() {
                for &x in group {
                    out.push(sign(x, at)?);
                }
            }
            Ok(out)
        }
        Kink::NormInf(_) => {
            let sizes = group.iter().map(|x| x.abs()).collect::<Result<Vec<_>, _>>()?;
            let sizes: Group<'_, N> = sizes.iter().collect();
            let mut out = extreme(&sizes, ties, Ordering::Greater)?;
            for (weight, x) in out[1..].iter_mut().zip(group.iter().copied()) {
                *weight = weight.mul(&sign(x, at)?);
            }
            Ok(out)
        }
        Kink::Norm2(_) => {
            let norm = N::norm2(group.iter().copied())?;
            let at_zero = norm.compare(&N::zero());
            let mut out = vec![norm];
            if choice.is_some() {
                for &x in group {
                    out.push(match at_zero {
                        Some(Ordering::Equal) => N::zero(),
                        // an enclosure of 0 and of other numbers
                        None if !out[0].is_nan() => N::one().neg().hull(&N::one()).ok_or(NumberError::NoOrder)?,
                        _ => x.div(&out[0])?,
                    });
                }
            }
            Ok(out)
        }
        Kink::Max(_) => extreme(group, ties, Ordering::Greater),
        Kink::Min(_) => extreme(group, ties, Ordering::Less),
        Kink::OrderStatistic(_, k) => {
            let value = match order(group) {
                Some(order) => group[order[*k]].clone(),
                None => network(group)?.swap_remove(*k),
            };
            let mut out = vec![value];
            if let Some(ties) = ties {
                let weights = shares(group, &out[0], ties)?;
                out.extend(weights);
            }
            Ok(out)
        }
        kinks_of_numbers!() | Kink::Sort(_) | Kink::MaxLinear { .. } => {
            unreachable!("`{}` is no reduction", kink.name())
        }
    }
}

fn sum<N: Number>(xs: &[N]) -> N {
    xs[1..].iter().fold(xs[0].clone(), |s, x| s.add(x))
}

fn sign<N: Number>(x: &N, at: &N) -> Result<N, NumberError> {
    match x.compare(&N::zero()) {
        Some(Ordering::Greater) => Ok(N::one()),
        Some(Ordering::Less) => Ok(N::one().neg()),
        Some(Ordering::Equal) => Ok(at.clone()),
        None if x.is_nan() => Ok(x.clone()),
        None => N::one().neg().hull(&N::one()).ok_or(NumberError::NoOrder),
    }
}

/// The largest or smallest member, then the weights.
fn extreme<N: Number>(group: &Group<'_, N>, ties: Option<Ties>, which: Ordering) -> Result<Vec<N>, NumberError> {
    let mut value = group[0].clone();
    for x in &group[1..] {
        value = if which == Ordering::Greater { value.max(x)? } else { value.min(x)? };
    }
    let mut out = vec![value];
    if let Some(ties) = ties {
        let weights = shares(group, &out[0], ties)?;
        out.extend(weights);
    }
    Ok(out)
}

/// How the derivative is shared among the members that equal `value`. For numbers that are sets, a member that may or may
/// not be the one has any weight from 0 to 1.
fn shares<N: Number>(group: &Group<'_, N>, value: &N, ties: Ties) -> Result<Vec<N>, NumberError> {
    if value.is_nan() {
        return Ok(vec![value.clone(); group.len()]);
    }
    let compared: Vec<Option<Ordering>> = group.iter().map(|x| x.compare(value)).collect();
    if compared.contains(&None) {
        let any = N::zero().hull(&N::one()).ok_or(NumberError::NoOrder)?;
        let possible = compared.iter().filter(|c| !matches!(c, Some(Ordering::Less | Ordering::Greater))).count();
        return Ok(compared
            .iter()
            .map(|c| match c {
                Some(Ordering::Less | Ordering::Greater) => N::zero(),
                _ if possible == 1 => N::one(),
                _ => any.clone(),
            })
            .collect());
    }
    let tied: Vec<usize> = (0..group.len()).filter(|&i| compared[i] == Some(Ordering::Equal)).collect();
    let mut weights = vec![N::zero(); group.len()];
    match ties {
        Ties::First => weights[tied[0]] = N::one(),
        Ties::Last => weights[tied[tied.len() - 1]] = N::one(),
        Ties::Every => tied.iter().for_each(|&i| weights[i] = N::one()),
        Ties::Average => {
            let share = N::one().div(&N::from_usize(tied.len()))?;
            tied.iter().for_each(|&i| weights[i] = share.clone());
        }
    }
    Ok(weights)
}

/// The positions of the members in ascending order, equal ones in the order in which they stand; nothing if some
/// comparison cannot be told. (The standard sort may panic where comparisons do not make an order.)
pub(super) fn order<N: Number>(group: &[&N]) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..group.len()).collect();
    let mut width = 1;
    while width < order.len() {
        let mut merged = Vec::with_capacity(order.len());
        for pair in order.chunks(2 * width) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            let (mut i, mut j) = (0, 0);
            while i < left.len() && j < right.len() {
                let later = group[right[j]].compare(group[left[i]])?;
                if later.is_lt() {
                    merged.push(right[j]);
                    j += 1;
                } else {
                    merged.push(left[i]);
                    i += 1;
                }
            }
            merged.extend_from_slice(&left[i..]);
            merged.extend_from_slice(&right[j..]);
        }
        order = merged;
        width *= 2;
    }
    Some(order)
}

/// The members in ascending order by exchanges of neighbours: right for numbers that are sets, and NaN spreads.
fn network<N: Number>(group: &Group<'_, N>) -> Result<Vec<N>, NumberError> {
    let mut xs: Vec<N> = group.iter().map(|&x| x.clone()).collect();
    for round in 0..xs.len() {
        for i in (round % 2..xs.len().saturating_sub(1)).step_by(2) {
            let (low, high) = (xs[i].min(&xs[i + 1])?, xs[i].max(&xs[i + 1])?);
            xs[i] = low;
            xs[i + 1] = high;
        }
    }
    Ok(xs)
}

/// A lane in ascending order, then the permutation if a choice is given.
pub(super) fn sort<N: Number>(members: &Group<'_, N>, choice: Option<&Choice>) -> Result<Vec<N>, NumberError> {
    let (mut sorted, order) = match order(members) {
        Some(mut order) => {
            if choice.is_some_and(|c| c.ties == Ties::Last) {
                reverse_ties(&mut order, members);
            }
            (order.iter().map(|&k| members[k].clone()).collect(), order)
        }
        None if choice.is_some() && !members.iter().any(|x| x.is_nan()) => return Err(NumberError::Undecided),
        None => (network(members)?, (0..members.len()).collect()),
    };
    if choice.is_some() {
        sorted.extend(order.into_iter().map(N::from_usize));
    }
    Ok(sorted)
}

fn reverse_ties<N: Number>(order: &mut [usize], members: &Group<'_, N>) {
    let mut start = 0;
    for end in 1..=order.len() {
        let run_ends =
            end == order.len() || members[order[end]].compare(members[order[start]]) != Some(Ordering::Equal);
        if run_ends {
            order[start..end].reverse();
            start = end;
        }
    }
}

/// The lanes of positions that stand beside lanes of n numbers.
pub(super) fn beside<'s, 'a, N>(lane: Lane, n: usize, args: &'s [Arg<'a, N>]) -> &'s [Arg<'a, N>] {
    match lane {
        Lane::Args => &args[n..],
        Lane::Axis => &args[1..],
    }
}

/// Reorders every lane by the permutation that is given with it. Positions that are not a permutation are refused.
pub(super) fn permute<N: Number>(
    p: &Program,
    e: &Equation<'_>,
    lane: Lane,
    inverse: bool,
    args: &[Arg<'_, N>],
    count: usize,
) -> Results<N> {
    let n = match lane {
        Lane::Args => e.args.len() / 2,
        Lane::Axis => p.shape(e.first).split_last().map_or(1, |(_, n)| n),
    };
    spread(e, lane, count, |i| {
        let (members, perm) = (group(lane, n, args, i), group(lane, n, beside(lane, n, args), i));
        // without checks NaN travels on: any number may stand anywhere
        if let Some(nan) = perm.iter().find(|x| x.is_nan()) {
            return Ok(vec![(*nan).clone(); n]);
        }
        let mut places = Vec::with_capacity(n);
        let mut from = vec![None; n];
        for (k, position) in perm.iter().enumerate() {
            let at = super::positions::index(*position, n)?;
            if from[at].replace(k).is_some() {
                return Err(NumberError::NotAPermutation { value: at, of: n });
            }
            places.push(at);
        }
        let order = if inverse { from.into_iter().flatten().collect() } else { places };
        Ok(order.into_iter().map(|k: usize| members[k].clone()).collect())
    })
}

/// log(sum(exp)) with the largest member taken out, then the softmax if it is wanted.
pub(super) fn log_sum_exp<N: Number>(group: &Group<'_, N>, weights: bool) -> Result<Vec<N>, NumberError> {
    let top = extreme(group, None, Ordering::Greater)?.swap_remove(0);
    let powers = group.iter().map(|x| x.sub(&top).exp()).collect::<Result<Vec<_>, _>>()?;
    let total = sum(&powers);
    let mut out = vec![top.add(&total.log()?)];
    if weights {
        for power in &powers {
            out.push(power.div(&total)?);
        }
    }
    Ok(out)
}

/// The largest entry of A x, then the selected matrix and row if a choice is given.
pub(super) fn max_linear<N: Number>(
    lane: Lane,
    rows: usize,
    choice: Option<&Choice>,
    args: &[Arg<'_, N>],
    p: &Program,
    e: &Equation<'_>,
) -> Results<N> {
    let columns = match lane {
        Lane::Args => args.len() / (rows + 1),
        Lane::Axis => e.columns(p, rows),
    };
    let a = |r: usize, j: usize| match lane {
        Lane::Args => args[r * columns + j].get(0),
        Lane::Axis => args[0].get(r * columns + j),
    };
    let x = |j: usize| match lane {
        Lane::Args => args[rows * columns + j].get(0),
        Lane::Axis => args[1].get(j),
    };
    let values: Vec<N> = (0..rows).map(|r| sum(&(0..columns).map(|j| a(r, j).mul(x(j))).collect::<Vec<_>>())).collect();
    let found = extreme(&values.iter().collect(), choice.map(|c| c.ties), Ordering::Greater)?;
    if choice.is_none() {
        return Ok(vec![found]);
    }
    let shares = &found[1..];
    let zero = N::zero();
    // a share of 0 or 1 only moves numbers about
    let scaled = |share: &N, y: &N| match share.compare(&zero) {
        Some(Ordering::Equal) => N::zero(),
        _ if *share == N::one() => y.clone(),
        _ => share.mul(y),
    };
    let matrix: Vec<N> =
        (0..rows).flat_map(|r| (0..columns).map(move |j| (r, j))).map(|(r, j)| scaled(&shares[r], x(j))).collect();
    let row: Vec<N> = (0..columns)
        .map(|j| (0..rows).map(|r| scaled(&shares[r], a(r, j))).reduce(|s, y| s.add(&y)).unwrap_or_else(N::zero))
        .collect();
    Ok(match lane {
        Lane::Axis => vec![vec![found[0].clone()], matrix, row],
        Lane::Args => [found[0].clone()].into_iter().chain(matrix).chain(row).map(|y| vec![y]).collect(),
    })
}
