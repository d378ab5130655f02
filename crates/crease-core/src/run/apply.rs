//! What each operation does to numbers.

use super::lanes::{self, Group};
use super::{Arg, positions};
use crate::number::{Number, NumberError, Rational};
use crate::op::{Choice, Kink, Lane, Logic, Op, Takes};
use crate::program::{Equation, Program};
use std::cmp::Ordering;

type Results<N> = Result<Vec<Vec<N>>, NumberError>;

/// Carries out one equation that runs no sub-program.
pub(crate) fn apply<N: Number>(p: &Program, e: &Equation<'_>, args: &[Arg<'_, N>]) -> Results<N> {
    apply_parts(p, e, args, parts(p, e))
}

/// On how many elements or lanes an equation works, each on its own. Structure and products count as so many elements.
pub(super) fn parts(p: &Program, e: &Equation<'_>) -> usize {
    let shape = p.shape(e.first);
    match e.op.lane() {
        Some(Lane::Axis) if e.op.keeps_lane() => shape.split_last().map_or(1, |(rest, _)| rest.len()),
        // one result for each element, or for each lane
        Some(_) | None => shape.len(),
    }
}

/// Carries out so many parts of an equation, whose arguments are given.
pub(super) fn apply_parts<N: Number>(p: &Program, e: &Equation<'_>, args: &[Arg<'_, N>], len: usize) -> Results<N> {
    let unary = |f: &dyn Fn(&N) -> Result<N, NumberError>| -> Results<N> {
        Ok(vec![(0..len).map(|i| f(args[0].get(i))).collect::<Result<_, _>>()?])
    };
    let binary = |f: &dyn Fn(&N, &N) -> Result<N, NumberError>| -> Results<N> {
        Ok(vec![(0..len).map(|i| f(args[0].get(i), args[1].get(i))).collect::<Result<_, _>>()?])
    };
    match e.op {
        Op::Add => binary(&|a, b| Ok(a.add(b))),
        Op::Sub => binary(&|a, b| Ok(a.sub(b))),
        Op::Mul => binary(&|a, b| Ok(a.mul(b))),
        Op::Div => binary(&|a, b| a.div(b)),
        Op::Neg => unary(&|a| Ok(a.neg())),
        Op::Smooth(f) => unary(&|a| a.smooth(*f)),
        Op::Stair(s) => unary(&|a| a.stair(*s)),
        Op::Where => {
            let chosen = (0..len).map(|i| {
                let (a, b) = (args[1].get(i), args[2].get(i));
                match taken(args[0].get(i))? {
                    Some(1) => Ok(a.clone()),
                    Some(_) => Ok(b.clone()),
                    None => a.hull(b).ok_or(NumberError::Undecided),
                }
            });
            Ok(vec![chosen.collect::<Result<_, _>>()?])
        }
        Op::Compare(how) => binary(&|a, b| match a.compare(b) {
            Some(order) => Ok(truth(how.holds(order))),
            None => undecided(&N::zero(), &N::one(), || Ok(truth(false)), &[a, b]),
        }),
        Op::Logic(Logic::And) => binary(&|a, b| known_truth(a)?.min(known_truth(b)?)),
        Op::Logic(Logic::Or) => binary(&|a, b| known_truth(a)?.max(known_truth(b)?)),
        Op::Logic(Logic::Not) => unary(&|a| Ok(N::one().sub(known_truth(a)?))),
        Op::Kink(kink) => kinked(p, e, kink, None, args, len),
        Op::Joint(kink, choice) => kinked(p, e, kink, Some(choice), args, len),
        Op::LogSumExp(lane) => lanes::each(p, e, *lane, args, len, |group| lanes::log_sum_exp(group, false)),
        Op::LogSumExpJoint(lane) => lanes::each(p, e, *lane, args, len, |group| lanes::log_sum_exp(group, true)),
        Op::Permute { lane, inverse } => lanes::permute(p, e, *lane, *inverse, args, len),
        Op::Gather { lane, of, scatter } => positions::gather(p, e, *lane, *of, *scatter, args, len),
        Op::Position(which, lane) => lanes::each(p, e, *lane, args, len, |group| positions::position(*which, group)),
        Op::Constant(c) => {
            let number = |x: &f64| N::from_rational(&Rational::from_f64(*x).unwrap_or(Rational::ZERO));
            Ok(vec![c.data().iter().map(number).collect::<Result<_, _>>()?])
        }
        Op::View { layout, .. } => Ok(vec![layout.iter().map(|i| args[0].get(i).clone()).collect()]),
        Op::Assemble { pieces, .. } => {
            let mut out: Vec<Option<N>> = vec![None; len];
            for (arg, piece) in args.iter().zip(pieces) {
                for (i, to) in piece.iter().enumerate() {
                    let x = arg.get(i);
                    out[to] = Some(match &out[to] {
                        None => x.clone(),
                        Some(sum) => sum.add(x),
                    });
                }
            }
            Ok(vec![out.into_iter().map(|x| x.unwrap_or_else(N::zero)).collect()])
        }
        Op::MatMul { transpose_a, transpose_b } => Ok(vec![matmul(p, e, *transpose_a, *transpose_b, args)]),
        Op::Call(_) | Op::Select(_) | Op::Scan(_) => unreachable!("sub-programs are run by frames"),
    }
}

fn truth<N: Number>(holds: bool) -> N {
    if holds { N::one() } else { N::zero() }
}

/// A number that is a truth value: 0, 1, a set that may hold one of them, or what floats make of a comparison with NaN.
fn known_truth<N: Number>(x: &N) -> Result<&N, NumberError> {
    let apart = |t: N| x.compare(&t).is_some_and(|order| order.is_ne());
    match apart(N::zero()) && apart(N::one()) {
        true => Err(NumberError::NotATruth(x.to_string())),
        false => Ok(x),
    }
}

/// Which argument a `where` takes: number 1 or 2, or nothing if the condition is a set that holds both truth values.
pub(super) fn taken<N: Number>(condition: &N) -> Result<Option<usize>, NumberError> {
    if *condition == N::one() {
        return Ok(Some(1));
    }
    match condition.compare(&N::zero()) {
        Some(Ordering::Equal) => Ok(Some(2)),
        None if condition.hull(condition).is_some() => known_truth(condition).map(|_| None),
        _ => Err(NumberError::NotATruth(condition.to_string())),
    }
}

/// What to return when a comparison cannot be told: everything between `low` and `high` for numbers that are sets, the
/// answer of IEEE arithmetic when a NaN is in play, else an error.
pub(super) fn undecided<N: Number>(
    low: &N,
    high: &N,
    nan: impl FnOnce() -> Result<N, NumberError>,
    compared: &[&N],
) -> Result<N, NumberError> {
    match low.hull(high) {
        Some(set) => Ok(set),
        None if compared.iter().any(|x| x.is_nan()) => nan(),
        None => Err(NumberError::NoOrder),
    }
}

/// The value and the slope of a function of one number with its kink at 0; at the kink the slope is `at`.
fn hinge<N: Number>(kink: &Kink, x: &N, at: &N) -> Result<(N, N), NumberError> {
    let side = |right: bool| match kink.side(x, right)? {
        Some(both) => Ok(both),
        None => unreachable!("`{}` is no function of one number", kink.name()),
    };
    match x.compare(&N::zero()) {
        Some(Ordering::Greater) => side(true),
        Some(Ordering::Less) => side(false),
        Some(Ordering::Equal) => Ok((side(true)?.0, at.clone())),
        None if x.is_nan() => Ok((x.clone(), x.clone())),
        None => {
            let ((right, up), (left, down)) = (side(true)?, side(false)?);
            match (left.hull(&right), down.hull(&up)) {
                (Some(value), Some(slope)) => Ok((value, slope)),
                _ => Err(NumberError::NoOrder),
            }
        }
    }
}

fn kinked<N: Number>(
    p: &Program,
    e: &Equation<'_>,
    kink: &Kink,
    choice: Option<&Choice>,
    args: &[Arg<'_, N>],
    len: usize,
) -> Results<N> {
    let at = choice.map_or(Ok(N::zero()), |c| N::from_rational(&c.at_kink))?;
    match kink.takes() {
        Takes::Numbers if *kink == Kink::TimesRelu => {
            let mut out = vec![Vec::with_capacity(len); e.results];
            for i in 0..len {
                let (a, b) = (args[0].get(i), args[1].get(i));
                let (rectified, slope) = hinge(&Kink::Relu, b, &at)?;
                out[0].push(a.mul(&rectified));
                if choice.is_some() {
                    out[1].push(rectified);
                    out[2].push(a.mul(&slope));
                }
            }
            Ok(out)
        }
        Takes::Numbers => {
            let (mut values, mut slopes) = (Vec::with_capacity(len), Vec::with_capacity(len));
            for i in 0..len {
                let (value, slope) = hinge(kink, args[0].get(i), &at)?;
                values.push(value);
                slopes.push(slope);
            }
            Ok(if choice.is_some() { vec![values, slopes] } else { vec![values] })
        }
        Takes::Linear { lane, rows } => lanes::max_linear(lane, rows, choice, args, p, e),
        Takes::Order(lane) => lanes::each(p, e, lane, args, len, |group: &Group<'_, N>| lanes::sort(group, choice)),
        Takes::Lane(lane) => {
            lanes::each(p, e, lane, args, len, |group: &Group<'_, N>| lanes::reduce(kink, group, choice, &at))
        }
    }
}

fn matmul<N: Number>(p: &Program, e: &Equation<'_>, ta: bool, tb: bool, args: &[Arg<'_, N>]) -> Vec<N> {
    let shape = p.shape(e.first);
    let (m, n) = (shape.dims()[shape.rank() - 2], shape.dims()[shape.rank() - 1]);
    let batch = shape.len() / (m * n);
    let (a, b) = (args[0].data(), args[1].data());
    let k = a.len() / (batch * m);
    let mut out = Vec::with_capacity(shape.len());
    for s in 0..batch {
        let (a, b) = (&a[s * m * k..][..m * k], &b[s * k * n..][..k * n]);
        let left = |i: usize, l: usize| &a[if ta { l * m + i } else { i * k + l }];
        let right = |l: usize, j: usize| &b[if tb { j * k + l } else { l * n + j }];
        for i in 0..m {
            for j in 0..n {
                let first = left(i, 0).mul(right(0, j));
                out.push((1..k).fold(first, |sum, l| sum.add(&left(i, l).mul(right(l, j)))));
            }
        }
    }
    out
}

/// Whether the lane is an axis, and how long lanes are, for the arguments of an equation.
pub(super) fn lane_size(p: &Program, e: &Equation<'_>, lane: Lane) -> usize {
    match lane {
        Lane::Args => e.args.len(),
        Lane::Axis => {
            let shape = e.args[0].value().map(|v| p.shape(v).clone()).unwrap_or_default();
            shape.split_last().map_or(1, |(_, n)| n)
        }
    }
}
