//! Counting: how often each elementary operation is applied.
//!
//! Which numbers are constants decides what is counted (`+` or `+c`), so constants are followed element by element through
//! structure and into sub-programs: then a tally does not change when calls are expanded or tensors taken apart.

use super::columns::Columns;
use super::item::{Item, ItemKind};
use super::price::Price;
use crate::number::Count;
use crate::op::{Choice, Kink, Lane, Op};
use crate::program::{Atom, Equation, Program, ProgramId};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

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

/// Which elements of a value are constants.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Known {
    /// None of them.
    Nothing,
    /// All of them.
    All,
    /// Those marked.
    Some(Arc<[bool]>),
}

impl Known {
    fn get(&self, i: usize) -> bool {
        match self {
            Known::Nothing => false,
            Known::All => true,
            Known::Some(mask) => mask[i],
        }
    }

    fn from_mask(mask: Vec<bool>) -> Self {
        if mask.iter().all(|k| *k) {
            Known::All
        } else if mask.iter().any(|k| *k) {
            Known::Some(mask.into())
        } else {
            Known::Nothing
        }
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
pub fn tally(p: &Program) -> Tally {
    Counter::default().count(p, vec![Known::Nothing; p.inputs().len()]).0
}

type Counted = (Tally, Vec<Known>);

/// Counts programs that share callees, each callee once.
#[derive(Default)]
pub(crate) struct Counter {
    memo: HashMap<(ProgramId, Vec<Known>), Counted>,
    columns: HashMap<ProgramId, Columns>,
}

impl Counter {
    /// Says that some equations of a program stand for several columns: they count so many times.
    pub fn stands_for(&mut self, p: &Arc<Program>, columns: Columns) {
        self.columns.insert(p.id(), columns);
    }

    /// The tally and which outputs are constants, when some inputs are.
    pub fn count(&mut self, p: &Program, inputs: Vec<Known>) -> Counted {
        let (tally, values) = self.values(p, inputs);
        let outputs = p.outputs().iter().map(|&o| known(&values, o)).collect();
        (tally, outputs)
    }

    /// The tally, and which elements of all values are constants.
    pub fn values(&mut self, p: &Program, inputs: Vec<Known>) -> (Tally, Vec<Known>) {
        count_values(p, inputs, &mut self.memo, &self.columns)
    }
}

fn count_values(
    p: &Program,
    inputs: Vec<Known>,
    memo: &mut HashMap<(ProgramId, Vec<Known>), Counted>,
    columns: &HashMap<ProgramId, Columns>,
) -> (Tally, Vec<Known>) {
    let new = |p, inputs| Frame::new(p, inputs, columns.get(&p.id()));
    let mut frames = vec![new(p, inputs)];
    loop {
        let depth = frames.len() - 1;
        let frame = &mut frames[depth];
        let program = frame.program;
        if frame.next == program.len() {
            let (tally, values) = (std::mem::take(&mut frame.tally), std::mem::take(&mut frame.values));
            let inputs = std::mem::take(&mut frame.inputs);
            frames.pop();
            if frames.is_empty() {
                return (tally, values);
            }
            let outputs = program.outputs().iter().map(|&o| known(&values, o)).collect();
            memo.insert((program.id(), inputs), (tally, outputs));
            continue;
        }
        let e = program.equation(frame.next);
        match e.op.callees() {
            [] => {
                let known = {
                    let values = &frame.values;
                    match frame.columns.map_or(1, |c| c.times(frame.next)) {
                        1 => count_equation(program, &e, |a| known(values, a), &mut frame.tally),
                        times => {
                            let mut once = Tally::default();
                            let known = count_equation(program, &e, |a| known(values, a), &mut once);
                            frame.tally.merge_times(&once, &times.into());
                            known
                        }
                    }
                };
                frame.values.extend(known);
                frame.next += 1;
            }
            ids => {
                let conditions = if matches!(e.op, Op::Select(_)) { ids.len() - 1 } else { 0 };
                let args: Vec<Known> = e.args[conditions..].iter().map(|&a| known(&frame.values, a)).collect();
                let mut missing = None;
                let mut dearest: Option<&Counted> = None;
                for id in ids {
                    let callee = &*program.callee(*id).program;
                    match memo.get(&(callee.id(), args.clone())) {
                        None => missing = Some(callee),
                        Some(counted) => {
                            let unit = |c: &Counted| c.0.price().unit();
                            if dearest.is_none_or(|d| unit(counted) > unit(d)) {
                                dearest = Some(counted);
                            }
                        }
                    }
                }
                match (missing, dearest) {
                    (Some(callee), _) => frames.push(new(callee, args)),
                    (None, Some((tally, outputs))) => {
                        frame.tally.merge(tally);
                        // which branch runs is not known, so what it returns is not either
                        let is_call = conditions == 0 && ids.len() == 1 && matches!(e.op, Op::Call(_));
                        let nothing = vec![Known::Nothing; e.results];
                        frame.values.extend(if is_call { outputs.clone() } else { nothing });
                        frame.next += 1;
                    }
                    (None, None) => frame.next += 1,
                }
            }
        }
    }
}

struct Frame<'p> {
    program: &'p Program,
    inputs: Vec<Known>,
    values: Vec<Known>,
    tally: Tally,
    next: usize,
    columns: Option<&'p Columns>,
}

impl<'p> Frame<'p> {
    fn new(program: &'p Program, inputs: Vec<Known>, columns: Option<&'p Columns>) -> Self {
        Frame { program, values: inputs.clone(), inputs, tally: Tally::default(), next: 0, columns }
    }
}

/// Which elements of an atom are constants.
pub(crate) fn known(values: &[Known], a: Atom) -> Known {
    a.value().map_or(Known::All, |v| values[v.index()].clone())
}

/// Counts one equation without sub-programs and says which of its results are constants.
pub(crate) fn count_equation(
    p: &Program,
    e: &Equation<'_>,
    known: impl Fn(Atom) -> Known,
    tally: &mut Tally,
) -> Vec<Known> {
    let args: Vec<Known> = e.args.iter().map(|&a| known(a)).collect();
    let len = p.shape(e.first).len();
    // what is made of constants alone is a constant, and no part of the cost
    if args.iter().all(|a| *a == Known::All) {
        return vec![Known::All; e.results];
    }
    match e.op {
        Op::View { layout, .. } => {
            return vec![match &args[0] {
                Known::Some(mask) => Known::from_mask(layout.iter().map(|i| mask[i]).collect()),
                uniform => uniform.clone(),
            }];
        }
        Op::Assemble { pieces, .. } => return vec![count_assembly(len, pieces, &args, tally)],
        Op::MatMul { transpose_a, transpose_b } => {
            return vec![count_matmul(p, e, *transpose_a, *transpose_b, &args, tally)];
        }
        Op::Kink(kink) => count_kink(p, e, kink, None, &args, tally),
        Op::Joint(kink, choice) => count_kink(p, e, kink, Some(choice), &args, tally),
        Op::LogSumExp(lane) => count_lanes(p, e, *lane, &args, ItemKind::LogSumExp, None, tally),
        Op::LogSumExpJoint(lane) => {
            count_lanes(p, e, *lane, &args, ItemKind::LogSumExp, Some(crate::op::Ties::First), tally);
        }
        Op::Permute { lane: Lane::Axis, .. } => {
            let n = p.shape(e.first).split_last().map_or(1, |(_, n)| n);
            for l in 0..len / n {
                let values = args.iter().flat_map(|a| (0..n).map(move |k| !a.get(l * n + k))).filter(|v| *v).count();
                tally.add(Item::new(ItemKind::Permute, 2 * n as u32, values as u32), 1);
            }
        }
        Op::Permute { lane: Lane::Args, .. } => elementwise(len, &args, tally, |_| ItemKind::Permute),
        Op::Compare(_) => elementwise(len, &args, tally, |_| ItemKind::Compare),
        Op::Logic(_) => elementwise(len, &args, tally, |_| ItemKind::Logic),
        Op::Add => elementwise(len, &args, tally, |_| ItemKind::Add),
        Op::Mul => elementwise(len, &args, tally, |_| ItemKind::Mul),
        // taking away a constant is adding one
        Op::Sub => elementwise(len, &args, tally, |k| if k == [false, true] { ItemKind::Add } else { ItemKind::Sub }),
        // dividing by a constant is multiplying by one
        Op::Div => elementwise(len, &args, tally, |k| if k[1] { ItemKind::Mul } else { ItemKind::Div }),
        Op::Neg => elementwise(len, &args, tally, |_| ItemKind::Neg),
        Op::Smooth(f) => elementwise(len, &args, tally, |_| ItemKind::from(*f)),
        Op::Constant(_) | Op::Call(_) | Op::Select(_) => {}
    }
    results_known(p, e, &args)
}

/// Which results of an operation on elements or lanes are made of constants alone.
fn results_known(p: &Program, e: &Equation<'_>, args: &[Known]) -> Vec<Known> {
    if !args.iter().any(|a| matches!(a, Known::Some(_))) {
        return vec![Known::Nothing; e.results]; // not all of them are constants, or we would not be here
    }
    let all = |i: usize| args.iter().all(|a| a.get(i));
    let axis = match e.op {
        Op::LogSumExp(lane) | Op::LogSumExpJoint(lane) | Op::Permute { lane, .. } => *lane == Lane::Axis,
        Op::Kink(Kink::MaxLinear { .. }) | Op::Joint(Kink::MaxLinear { .. }, _) => {
            return vec![Known::Nothing; e.results];
        }
        Op::Kink(kink) | Op::Joint(kink, _) => kink.lane() == Some(Lane::Axis),
        _ => false,
    };
    let n = match (axis, e.args[0].value()) {
        (true, Some(v)) => p.shape(v).split_last().map_or(1, |(_, n)| n),
        _ => 1,
    };
    let total = e.args.iter().filter_map(|a| a.value()).map(|v| p.shape(v).len()).max().unwrap_or(1);
    let lanes: Vec<bool> = (0..total / n).map(|l| (0..n).all(|k| all(l * n + k))).collect();
    let result = |v: crate::Value| {
        let each = p.shape(v).len() / lanes.len();
        Known::from_mask(lanes.iter().flat_map(|k| std::iter::repeat_n(*k, each)).collect())
    };
    e.results().map(result).collect()
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
    let kind = ItemKind::from(kink);
    match kink {
        Kink::MaxLinear { .. } => {
            let len = |a: Atom| a.value().map(|v| p.shape(v).len());
            let sizes: Vec<usize> = match kink {
                Kink::MaxLinear { lane: Lane::Axis, rows } => {
                    let columns = len(e.args[1]).or(len(e.args[0]).map(|n| n / rows)).unwrap_or(1);
                    vec![rows * columns, columns]
                }
                _ => vec![1; e.args.len()],
            };
            let values = args.iter().zip(&sizes).map(|(a, &n)| (0..n).filter(|&i| !a.get(i)).count()).sum::<usize>();
            tally.add(Item { kind, joint, size: sizes.iter().sum::<usize>() as u32, values: values as u32 }, 1);
        }
        _ => match kink.lane() {
            Some(lane) => count_lanes(p, e, lane, args, kind, joint, tally),
            None => {
                let mut plain = Tally::default();
                elementwise(p.shape(e.first).len(), args, &mut plain, |_| kind);
                plain.iter().for_each(|(item, n)| tally.add(Item { joint, ..item }, n));
            }
        },
    }
}

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
fn count_assembly(len: usize, pieces: &[crate::Layout], args: &[Known], tally: &mut Tally) -> Known {
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
    Known::from_mask(cells.into_iter().map(|c| c.unwrap_or(true)).collect())
}

fn count_matmul(p: &Program, e: &Equation<'_>, ta: bool, tb: bool, args: &[Known], tally: &mut Tally) -> Known {
    let shape = p.shape(e.first);
    let (m, n) = (shape.dims()[shape.rank() - 2], shape.dims()[shape.rank() - 1]);
    let batch = shape.len() / (m * n);
    let k = e.args[0].value().map_or(1, |v| p.shape(v).len()) / (batch * m);
    let (mut products, mut additions) = ([0u128; 3], [0u128; 3]);
    let mut known = Known::Nothing;
    if args.iter().any(|a| matches!(a, Known::Some(_))) {
        let mut mask = Vec::with_capacity(shape.len());
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
            mask.push(sum.unwrap_or(true));
        }
        known = Known::from_mask(mask);
    } else {
        let values = args.iter().filter(|a| **a == Known::Nothing).count();
        products[values] = (batch * m * n) as u128 * k as u128;
        additions[2] = (batch * m * n) as u128 * (k as u128 - 1);
    }
    for values in 1..=2 {
        tally.add(Item::new(ItemKind::Mul, 2, values as u32), products[values]);
        tally.add(Item::new(ItemKind::Add, 2, values as u32), additions[values]);
    }
    known
}
