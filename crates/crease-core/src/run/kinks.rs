//! Which kinks a run meets: the ties at which a derivative had to be picked.

use super::{Arg, Observer, RunError, RunOptions, run_with};
use crate::kinks_of_numbers;
use crate::number::Number;
use crate::op::{Kink, Lane, Op, Position, Stair, Takes};
use crate::program::Site;
use crate::program::{Atom, Program, Value};
use crate::tensor::Tensor;
use std::cmp::Ordering;

/// A kink that was met: an equation whose argument lay exactly where the operation has no derivative.
#[derive(Clone, Debug, PartialEq)]
pub struct KinkHit {
    /// Which equation.
    pub site: Site,
    /// The operation: a nonsmooth one, or the comparison on which a selection depends.
    pub kink: &'static str,
    /// How many elements of the equation were at a kink.
    pub elements: usize,
    /// Whether that was certain; comparisons of intervals may leave it open.
    pub certain: bool,
    /// Whether it is a jump, where there is no derivative of any kind, and no kink.
    pub jump: bool,
}

/// The kinks that a program meets at a point, in the order of the run. Exact numbers tell ties exactly; floating-point
/// ones tell those of the rounded values.
///
/// ```
/// use crease_core::{kinks, relu, trace, Tensor};
/// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
/// assert_eq!(kinks(&p, &[Tensor::scalar(0.0)]).unwrap().1.len(), 2);
/// assert!(kinks(&p, &[Tensor::scalar(0.5)]).unwrap().1.is_empty());
/// ```
pub fn kinks<N: Number>(p: &Program, inputs: &[Tensor<N>]) -> Result<(Vec<Tensor<N>>, Vec<KinkHit>), RunError> {
    kinks_with(p, inputs, RunOptions::default())
}

/// Like [`kinks`], with a choice of arithmetic and limits.
pub fn kinks_with<N: Number>(
    p: &Program,
    inputs: &[Tensor<N>],
    options: impl Into<RunOptions>,
) -> Result<(Vec<Tensor<N>>, Vec<KinkHit>), RunError> {
    let mut watch = Watch { hits: Vec::new() };
    let outputs = run_with(p, inputs, options, &mut watch)?;
    Ok((outputs, watch.hits))
}

struct Watch {
    hits: Vec<KinkHit>,
}

/// How many lanes or elements are at a kink, and how many may be.
#[derive(Default)]
struct Count {
    certain: usize,
    possible: usize,
}

impl Count {
    fn note(&mut self, order: Option<Ordering>) {
        match order {
            Some(Ordering::Equal) => self.certain += 1,
            None => self.possible += 1,
            Some(_) => {}
        }
    }
}

impl<N: Number> Observer<N> for Watch {
    fn step(&mut self, p: &Program, i: usize, args: &[Arg<'_, N>], results: &[Vec<N>]) {
        let e = p.equation(i);
        let mut count = Count::default();
        let len = results.first().map_or(0, Vec::len);
        // what has no value is at no kink
        let there = |k: &usize| args.iter().all(|a| a.is_there(*k));
        if let Op::Stair(s) = e.op {
            (0..len).filter(there).for_each(|k| count.note(at_jump(*s, args[0].get(k))));
            return self.jump(p, i, s.name(), count);
        }
        if let Op::Position(which, lane) = e.op {
            let n = super::apply::lane_size(p, &e, *lane);
            for l in 0..super::apply::parts(p, &e) {
                if let Some(members) = lane_members(args, *lane, n, l) {
                    count.note(ties(*which, &members));
                }
            }
            return self.jump(p, i, which.name(), count);
        }
        if let Op::Compare(how) = e.op {
            // between equal numbers a selection stands between two of its branches
            (0..len).filter(there).for_each(|k| count.note(args[0].get(k).compare(args[1].get(k))));
            return self.hit(p, i, how.sign(), count);
        }
        if let Op::Logic(how) = e.op {
            let possible = numbers(p, e.args);
            return self.hit(p, i, how.word(), Count { certain: 0, possible });
        }
        if let Op::Smooth(f) = e.op
            && !f.facts().edges.is_empty()
            && e.args[0].value().is_some()
        {
            // where it has a value and no slope, unless it is a Euclidean norm in other words
            for k in (0..len).filter(there) {
                let compare =
                    |at: i32| N::from_rational(&at.into()).ok().and_then(|at| args[0].get(k).compare(&at)).ok_or(());
                match f.singular(compare) {
                    Ok(Some(_)) => count.certain += 1,
                    Ok(None) => {}
                    Err(()) => count.possible += 1,
                }
            }
            return self.hit(p, i, f.name(), count);
        }
        let (Op::Kink(kink) | Op::Joint(kink, _)) = e.op else { return };
        match kink.takes() {
            // of a product, the last factor has the kink
            Takes::Numbers => {
                let last = &args[args.len() - 1];
                (0..len).filter(there).for_each(|k| count.note(last.get(k).compare(&N::zero())));
            }
            Takes::Linear { lane, rows } => max_linear(args, lane, rows, results, &mut count),
            Takes::Lane(lane) | Takes::Order(lane) => {
                let n = super::apply::lane_size(p, &e, lane);
                for l in 0..super::apply::parts(p, &e) {
                    let Some(members) = lane_members(args, lane, n, l) else { continue };
                    let value = results[0].get(l);
                    note_lane(kink, &members, value, &mut count);
                }
            }
        }
        self.hit(p, i, kink.name(), count);
    }

    fn chosen(&mut self, p: &Program, i: usize, open: usize) {
        let e = p.equation(i);
        let conditions = &e.args[..e.op.callees().len() - 1];
        if open == 0 {
            self.hit(p, i, "select", Count { certain: 0, possible: numbers(p, conditions) });
        }
    }
}

/// How many truth values are not so by their making: whether they stay 0 or 1 beside the point is not seen from here.
fn numbers(p: &Program, truths: &[Atom]) -> usize {
    let made = |v: Value| p.definition(v).is_some_and(|i| matches!(p.equation(i).op, Op::Compare(_) | Op::Logic(_)));
    truths.iter().filter_map(|a| a.value()).filter(|v| !made(*v)).count()
}

impl Watch {
    fn hit(&mut self, p: &Program, equation: usize, kink: &'static str, count: Count) {
        let elements = count.certain + count.possible;
        if elements > 0 {
            let site = Site::new(p, equation);
            self.hits.push(KinkHit { site, kink, elements, certain: count.possible == 0, jump: false });
        }
    }

    fn jump(&mut self, p: &Program, equation: usize, kink: &'static str, count: Count) {
        let before = self.hits.len();
        self.hit(p, equation, kink, count);
        self.hits[before..].iter_mut().for_each(|h| h.jump = true);
    }
}

/// Whether rows of a matrix times a vector tie for the largest.
fn max_linear<N: Number>(args: &[Arg<'_, N>], lane: Lane, rows: usize, results: &[Vec<N>], count: &mut Count) {
    if args.iter().any(|a| a.missing.is_some()) {
        return;
    }
    let flat: Vec<&N> = match lane {
        Lane::Args => args.iter().map(|a| a.get(0)).collect(),
        Lane::Axis => {
            let columns = if args[1].repeated { args[0].data.len() / rows } else { args[1].data.len() };
            (0..rows * columns).map(|i| args[0].get(i)).chain((0..columns).map(|j| args[1].get(j))).collect()
        }
    };
    let columns = flat.len() / (rows + 1);
    let (a, x) = flat.split_at(rows * columns);
    let dot = |row: &[&N]| row.iter().zip(x).map(|(a, x)| a.mul(x)).reduce(|s, y| s.add(&y));
    let values: Vec<N> = a.chunks(columns).filter_map(dot).collect();
    let members: Vec<&N> = values.iter().collect();
    note_lane(&Kink::Max(lane), &members, results[0].first(), count);
}

/// The members of a lane, if all of them have values.
fn lane_members<'a, N>(args: &[Arg<'a, N>], lane: Lane, n: usize, l: usize) -> Option<Vec<&'a N>> {
    let get = |a: &Arg<'a, N>, k: usize| a.is_there(k).then(|| a.get(k));
    match lane {
        Lane::Args => args.iter().map(|a| get(a, l)).collect(),
        Lane::Axis => (0..n).map(|k| get(&args[0], l * n + k)).collect(),
    }
}

/// Equal where the function jumps, nothing where that cannot be told.
fn at_jump<N: Number>(s: Stair, x: &N) -> Option<Ordering> {
    let whole = |x: &N| x.stair(Stair::Floor).ok().and_then(|y| y.compare(x));
    match s {
        Stair::Sign => x.compare(&N::zero()),
        Stair::Floor | Stair::Ceil => whole(x),
        // halves of odd numbers
        Stair::Round => match (whole(&x.add(x))?, whole(x)?) {
            (Ordering::Equal, Ordering::Equal) => Some(Ordering::Less),
            (twice, _) => Some(twice),
        },
    }
}

/// Equal where numbers tie on which the position depends.
fn ties<N: Number>(which: Position, members: &[&N]) -> Option<Ordering> {
    let equal = |tied: bool| if tied { Ordering::Equal } else { Ordering::Less };
    match which {
        Position::Order => {
            let order = super::lanes::order(members)?;
            Some(equal(order.windows(2).any(|w| members[w[0]].compare(members[w[1]]) == Some(Ordering::Equal))))
        }
        Position::Largest | Position::Smallest => {
            let ahead = if which == Position::Largest { Ordering::Greater } else { Ordering::Less };
            let mut best = *members.first()?;
            for x in members {
                best = if x.compare(best)? == ahead { x } else { best };
            }
            Some(equal(members.iter().filter(|x| x.compare(best) == Some(Ordering::Equal)).count() > 1))
        }
    }
}

/// Whether one lane is at a kink of the operation.
fn note_lane<N: Number>(kink: &Kink, members: &[&N], value: Option<&N>, count: &mut Count) {
    let tied = |xs: &[Option<Ordering>]| {
        let equal = xs.iter().filter(|c| **c == Some(Ordering::Equal)).count();
        match (equal, xs.contains(&None)) {
            (2.., _) => Some(Ordering::Equal),
            (_, true) => None,
            _ => Some(Ordering::Less),
        }
    };
    let Some(value) = value else { return };
    match kink {
        Kink::Norm1(_) => {
            let zeros: Vec<_> = members.iter().map(|x| x.compare(&N::zero())).collect();
            count.note(match () {
                () if zeros.contains(&Some(Ordering::Equal)) => Some(Ordering::Equal),
                () if zeros.contains(&None) => None,
                () => Some(Ordering::Less),
            });
        }
        Kink::NormInf(_) => {
            let sizes: Vec<_> = members.iter().map(|x| x.abs().ok().and_then(|a| a.compare(value))).collect();
            let at_zero = value.compare(&N::zero());
            count.note(if at_zero == Some(Ordering::Equal) { at_zero } else { tied(&sizes) });
        }
        Kink::Norm2(_) => count.note(value.compare(&N::zero())),
        Kink::Sort(_) => {
            let neighbours: Option<Vec<_>> = super::lanes::order(members)
                .map(|order| order.windows(2).map(|w| members[w[0]].compare(members[w[1]])).collect());
            count.note(
                neighbours.map(|n| if n.contains(&Some(Ordering::Equal)) { Ordering::Equal } else { Ordering::Less }),
            );
        }
        Kink::Max(_) | Kink::Min(_) | Kink::OrderStatistic(..) => {
            let against: Vec<_> = members.iter().map(|x| x.compare(value)).collect();
            count.note(tied(&against));
        }
        kinks_of_numbers!() | Kink::MaxLinear { .. } => unreachable!("`{}` takes no lane of numbers", kink.name()),
    }
}
