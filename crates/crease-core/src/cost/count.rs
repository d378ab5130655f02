//! Counting: how often each elementary operation is applied.
//!
//! Which numbers are constants decides what is counted (`+` or `+c`), so constants are followed element by element through
//! structure and into sub-programs: then a tally does not change when calls are expanded or tensors taken apart.

use super::columns::Columns;
use super::item::{Item, ItemKind};
use super::price::Price;
use crate::flow::PerProgram;
use crate::flow::constants::{CasesError, Known, Summary, Unbounded, Walk, Within};
use crate::limits::Limits;
use crate::number::Count;
use crate::op::{Choice, Kink, Lane, Op, Takes};
use crate::program::{Atom, Equation, Program};
use std::collections::BTreeMap;
use std::fmt;

/// How often each elementary operation is applied: exactly, however often that is.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Tally {
    counts: BTreeMap<Item, Count>,
}

impl Tally {
    /// Adds `n` applications of an operation.
    pub fn add(&mut self, item: Item, n: impl Into<Count>) {
        let n = n.into();
        if !n.is_zero() {
            *self.counts.entry(item).or_default() += n;
        }
    }

    /// Adds all of another tally.
    pub fn merge(&mut self, other: &Tally) {
        for (item, n) in &other.counts {
            *self.counts.entry(*item).or_default() += n;
        }
    }

    /// Adds all of another tally, so many times.
    pub(crate) fn merge_times(&mut self, other: &Tally, times: &Count) {
        for (item, n) in &other.counts {
            self.add(*item, n * times);
        }
    }

    /// The operations with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Item, &Count)> + '_ {
        self.counts.iter().map(|(&i, n)| (i, n))
    }

    /// How many operations there are in all.
    ///
    /// ```
    /// use crease_core::{cost::tally, trace};
    /// assert_eq!(tally(&trace(2, |x| x[0] * x[1] + 1.0).unwrap()).total(), 2);
    /// ```
    pub fn total(&self) -> Count {
        self.counts.values().sum()
    }

    /// The counts by name.
    pub fn by_name(&self) -> BTreeMap<String, Count> {
        let mut out: BTreeMap<String, Count> = BTreeMap::new();
        for (item, n) in self.iter() {
            *out.entry(item.name()).or_default() += n;
        }
        out
    }

    /// The price of all of it.
    pub fn price(&self) -> Price {
        self.iter().fold(Price::default(), |sum, (item, n)| sum + item.price() * n)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.by_name().iter().map(|(name, n)| format!("{n} {name}")).collect();
        f.write_str(&if parts.is_empty() { "nothing".into() } else { parts.join(", ") })
    }
}

/// The number of times that each elementary operation is applied, calls and tensors expanded. Of a selection, the branch is
/// counted that costs most at unit prices.
///
/// ```
/// use crease_core::{cost::tally, trace};
/// let p = trace(2, |x| x[0] * x[1] + 1.0).unwrap();
/// assert_eq!(tally(&p).to_string(), "1 *, 1 +c");
/// ```
///
/// A program that is called is counted once for each set of its arguments that are constants somewhere. There are few such sets in all programs that people write, but a text of n lines can make 2^n
/// of them: for programs from elsewhere there is [`tally_within`].
pub fn tally(p: &Program) -> Tally {
    let Ok((tally, _)) = Walk::<Tally, _>::new(Unbounded).outputs(p, vec![Known::Nothing; p.inputs().len()]);
    tally
}

/// Like [`tally`], within limits: [`Limits::equations`] on those that are looked at again because a program is called with other arguments that are
/// constants, and until it is stopped.
///
/// ```
/// use crease_core::{cost::tally_within, limits::Stop, trace, Cancel, CasesError, Limits};
/// use std::sync::Arc;
/// let sum = Arc::new(trace(2, |x| x[0] + x[1]).unwrap());
/// let p = trace(1, |x| {
///     let one = x[0].tape().constant(1.0);
///     x[0].tape().call(&sum, &[x[0], x[0]])[0] + x[0].tape().call(&sum, &[x[0], one])[0]
/// }).unwrap();
/// assert_eq!(tally_within(&p, &Limits::default()).unwrap().to_string(), "2 +, 1 +c");
/// let cancel = Cancel::new();
/// cancel.stop();
/// let stopped = tally_within(&p, &Limits::default().cancelled_by(&cancel)).unwrap_err();
/// assert!(matches!(stopped, CasesError::Stopped { stop: Stop::Cancelled, .. }));
/// ```
pub fn tally_within(p: &Program, limits: &Limits) -> Result<Tally, CasesError> {
    Ok(Counter::within(limits).count(p, vec![Known::Nothing; p.inputs().len()])?.0)
}

/// Counts programs that share callees, each callee once for each set of constants among its arguments.
pub(crate) struct Counter(Walk<Tally>);

impl Counter {
    /// One that goes through so many cases.
    pub fn within(limits: &Limits) -> Self {
        Counter(Walk::new(Within::new(limits)))
    }

    /// Says that some equations of a program stand for several columns: they count so many times.
    pub fn stands_for(&mut self, p: &Program, columns: Columns) {
        self.0.context.insert(p, columns);
    }

    /// The tally and which outputs are constants, when some inputs are.
    pub fn count(&mut self, p: &Program, inputs: Vec<Known>) -> Result<(Tally, Vec<Known>), CasesError> {
        self.0.outputs(p, inputs)
    }
}

impl Summary for Tally {
    type Context = PerProgram<Columns>;

    fn equation(&mut self, columns: &PerProgram<Columns>, p: &Program, i: usize, args: &[Known]) {
        match columns.get(p).map_or(1, |c| c.times(i)) {
            1 => count_equation(p, &p.equation(i), args, self),
            times => {
                let mut once = Tally::default();
                count_equation(p, &p.equation(i), args, &mut once);
                self.merge_times(&once, &times.into());
            }
        }
    }

    /// Of a selection the branch counts that costs most at unit prices, the first of several.
    fn one_of(&mut self, branches: &[&Tally]) {
        let unit = |t: &Tally| t.price().unit();
        let dearest = branches.iter().copied().reduce(|d, t| if unit(t) > unit(d) { t } else { d });
        dearest.into_iter().for_each(|t| self.merge(t));
    }

    fn turns(&mut self, body: &Tally, times: usize) {
        self.merge_times(body, &times.into());
    }
}

/// Counts one equation without sub-programs, given which of its arguments are constants.
pub(crate) fn count_equation(p: &Program, e: &Equation<'_>, args: &[Known], tally: &mut Tally) {
    let len = p.shape(e.first).len();
    // what is made of constants alone is a constant, and no part of the cost
    if args.iter().all(|a| *a == Known::All) {
        return;
    }
    match e.op {
        Op::Assemble { pieces, .. } => count_assembly(len, pieces, args, tally),
        Op::MatMul { transpose_a, transpose_b } => count_matmul(p, e, *transpose_a, *transpose_b, args, tally),
        Op::Kink(kink) => count_kink(p, e, kink, None, args, tally),
        Op::Joint(kink, choice) => count_kink(p, e, kink, Some(choice), args, tally),
        Op::LogSumExp(lane) => count_lanes(p, e, *lane, args, ItemKind::LogSumExp, None, tally),
        Op::LogSumExpJoint(lane) => {
            count_lanes(p, e, *lane, args, ItemKind::LogSumExp, Some(crate::op::Ties::First), tally);
        }
        Op::Permute { lane: Lane::Axis, .. } => {
            let n = p.shape(e.first).split_last().map_or(1, |(_, n)| n);
            for l in 0..len / n {
                let values = args.iter().flat_map(|a| (0..n).map(move |k| !a.get(l * n + k))).filter(|v| *v).count();
                tally.add(Item::new(ItemKind::Permute, 2 * n as u32, values as u32), 1);
            }
        }
        Op::Permute { lane: Lane::Args, .. } => elementwise(len, args, tally, |_| ItemKind::Permute),
        Op::Gather { lane: Lane::Args, of, scatter } => {
            let kind = if *scatter { ItemKind::Scatter } else { ItemKind::Gather { of: *of as u32 } };
            elementwise(len, args, tally, |_| kind);
        }
        Op::Gather { lane: Lane::Axis, of, scatter } => {
            let kind = if *scatter { ItemKind::Scatter } else { ItemKind::Gather { of: *of as u32 } };
            let rows = p.shape(e.first).split_last().map_or(1, |(rest, _)| rest.len());
            let size = |a: &Atom| a.value().map_or(1, |v| p.shape(v).len()) / rows;
            let sizes: Vec<usize> = e.args.iter().map(size).collect();
            for l in 0..rows {
                let open = |(a, &n): (&Known, &usize)| (l * n..(l + 1) * n).filter(|&i| !a.get(i)).count();
                let values = args.iter().zip(&sizes).map(open).sum::<usize>();
                if values > 0 {
                    tally.add(Item::new(kind, sizes.iter().sum::<usize>() as u32, values as u32), 1);
                }
            }
        }
        Op::Position(which, lane) => count_lanes(p, e, *lane, args, ItemKind::Position(*which), None, tally),
        Op::Stair(s) => elementwise(len, args, tally, |_| ItemKind::Stair(*s)),
        Op::Where => elementwise(len, args, tally, |k| ItemKind::Where { fixed: k[0] }),
        Op::Compare(_) => elementwise(len, args, tally, |_| ItemKind::Compare),
        Op::Logic(_) => elementwise(len, args, tally, |_| ItemKind::Logic),
        Op::Add => elementwise(len, args, tally, |_| ItemKind::Add),
        Op::Mul => elementwise(len, args, tally, |_| ItemKind::Mul),
        // taking away a constant is adding one
        Op::Sub => elementwise(len, args, tally, |k| if k == [false, true] { ItemKind::Add } else { ItemKind::Sub }),
        // dividing by a constant is multiplying by one
        Op::Div => elementwise(len, args, tally, |k| if k[1] { ItemKind::Mul } else { ItemKind::Div }),
        Op::Neg => elementwise(len, args, tally, |_| ItemKind::Neg),
        Op::Smooth(f) => elementwise(len, args, tally, |_| ItemKind::from(*f)),
        Op::Constant(_) | Op::View { .. } | Op::Call(_) | Op::Select(_) | Op::Scan(_) => {}
    }
}

/// Counts one operation for each element; the kind may depend on which arguments are constants.
fn elementwise(len: usize, args: &[Known], tally: &mut Tally, kind: impl Fn(&[bool]) -> ItemKind) {
    let mut count = |i: usize, n: usize| {
        let known: Vec<bool> = args.iter().map(|a| a.get(i)).collect();
        let values = known.iter().filter(|k| !**k).count() as u32;
        if values > 0 {
            tally.add(Item::new(kind(&known), args.len() as u32, values), n);
        }
    };
    if args.iter().any(|a| matches!(a, Known::Some(_))) {
        (0..len).for_each(|i| count(i, 1));
    } else {
        count(0, len);
    }
}

fn count_kink(p: &Program, e: &Equation<'_>, kink: &Kink, choice: Option<&Choice>, args: &[Known], tally: &mut Tally) {
    let joint = choice.map(|c| c.ties);
    let kind = ItemKind::Kink(kink.kind());
    match kink.takes() {
        Takes::Numbers => count_lanes(p, e, Lane::Args, args, kind, joint, tally),
        Takes::Lane(lane) | Takes::Order(lane) => count_lanes(p, e, lane, args, kind, joint, tally),
        Takes::Linear { lane, rows } => {
            let sizes = match lane {
                Lane::Args => vec![1; e.args.len()],
                Lane::Axis => vec![rows * e.columns(p, rows), e.columns(p, rows)],
            };
            let values = args.iter().zip(&sizes).map(|(a, &n)| (0..n).filter(|&i| !a.get(i)).count()).sum::<usize>();
            tally.add(Item { kind, joint, size: sizes.iter().sum::<usize>() as u32, values: values as u32 }, 1);
        }
    }
}

/// Counts one operation for each lane; single numbers of several arguments are one, too.
fn count_lanes(
    p: &Program,
    e: &Equation<'_>,
    lane: Lane,
    args: &[Known],
    kind: ItemKind,
    joint: Option<crate::op::Ties>,
    tally: &mut Tally,
) {
    match lane {
        Lane::Args => {
            let mut plain = Tally::default();
            elementwise(p.shape(e.first).len(), args, &mut plain, |_| kind);
            plain.iter().for_each(|(item, n)| tally.add(Item { joint, ..item }, n));
        }
        Lane::Axis => {
            let shape = e.args[0].value().map(|v| p.shape(v).clone()).unwrap_or_default();
            let n = shape.split_last().map_or(1, |(_, n)| n);
            let lanes = shape.len() / n;
            let item = |values: usize| Item { kind, joint, size: n as u32, values: values as u32 };
            match &args[0] {
                Known::Nothing => tally.add(item(n), lanes),
                Known::All => tally.add(item(0), lanes),
                Known::Some(mask) => {
                    for values in mask.chunks(n).map(|l| l.iter().filter(|k| !**k).count()).filter(|&v| v > 0) {
                        tally.add(item(values), 1);
                    }
                }
            }
        }
    }
}

/// Additions are counted where a number meets another one in its cell.
fn count_assembly(len: usize, pieces: &[crate::Layout], args: &[Known], tally: &mut Tally) {
    let mut additions = [0u128; 3];
    let mut cells: Vec<Option<bool>> = vec![None; len];
    for (arg, piece) in args.iter().zip(pieces) {
        for (i, to) in piece.iter().enumerate() {
            let here = arg.get(i);
            cells[to] = Some(match cells[to] {
                None => here,
                Some(there) => {
                    additions[usize::from(!here) + usize::from(!there)] += 1;
                    here && there
                }
            });
        }
    }
    for (values, n) in additions.into_iter().enumerate().skip(1) {
        tally.add(Item::new(ItemKind::Add, 2, values as u32), n);
    }
}

fn count_matmul(p: &Program, e: &Equation<'_>, ta: bool, tb: bool, args: &[Known], tally: &mut Tally) {
    let shape = p.shape(e.first);
    let (m, n) = (shape.dims()[shape.rank() - 2], shape.dims()[shape.rank() - 1]);
    let batch = shape.len() / (m * n);
    let k = e.args[0].value().map_or(1, |v| p.shape(v).len()) / (batch * m);
    let (mut products, mut additions) = ([0u128; 3], [0u128; 3]);
    if args.iter().any(|a| matches!(a, Known::Some(_))) {
        for (s, i, j) in (0..batch).flat_map(|s| (0..m).flat_map(move |i| (0..n).map(move |j| (s, i, j)))) {
            let left = |l: usize| args[0].get(s * m * k + if ta { l * m + i } else { i * k + l });
            let right = |l: usize| args[1].get(s * k * n + if tb { j * k + l } else { l * n + j });
            let mut sum: Option<bool> = None;
            for l in 0..k {
                let (a, b) = (left(l), right(l));
                products[usize::from(!a) + usize::from(!b)] += 1;
                sum = Some(match sum {
                    None => a && b,
                    Some(there) => {
                        additions[usize::from(!(a && b)) + usize::from(!there)] += 1;
                        a && b && there
                    }
                });
            }
        }
    } else {
        let values = args.iter().filter(|a| **a == Known::Nothing).count();
        products[values] = (batch * m * n) as u128 * k as u128;
        additions[2] = (batch * m * n) as u128 * (k as u128 - 1);
    }
    for values in 1..=2 {
        tally.add(Item::new(ItemKind::Mul, 2, values as u32), products[values]);
        tally.add(Item::new(ItemKind::Add, 2, values as u32), additions[values]);
    }
}
