//! From equations to groups.

use super::{Code, Group, Single, What};
use crate::flat::{Flat, FlatOp, Operand};
use crate::float::Float;
use crate::unit::{LaneOp, Lowered, Move, Part, Pick, Unit, lower, number};
use crease_core::differentiate::Selection;
use crease_core::{Lane, Op, Ties};

/// The program holds something that is no scalar, or, for gradients, something that only derived programs hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotScalar;

/// Groups of fewer equations than this become single instructions.
const SMALL: usize = 4;

/// What an equation, or a part of one, does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind<T> {
    Unit(Unit<T>),
    Lane(LaneOp, bool),
    Move(Move),
}

/// One equation to be placed: which of the kinds, its arguments, its results.
#[derive(Clone, Copy)]
struct Item {
    level: u32,
    kind: u32,
    eq: u32,
    part: u32,
}

/// How an operation of the flat program is placed: as these parts, or as a whole.
enum Placing<T> {
    Parts(Vec<Part<T>>),
    Whole(Kind<T>),
}

/// Makes code. With a selection, the code can be run backward.
pub(crate) fn build<T: Float>(
    f: &Flat,
    output_lens: &[usize],
    selection: Option<&Selection>,
) -> Result<Code<T>, NotScalar> {
    if (0..f.values()).any(|v| f.len_of(v) != 1) {
        return Err(NotScalar);
    }
    let placings = f.ops.iter().map(|op| placing(op, selection)).collect::<Result<Vec<_>, _>>()?;
    // levels, and the list of what is to be placed
    let mut levels = vec![0u32; f.values()];
    let mut kinds: Vec<(Kind<T>, Pick<T>, u32, u32)> = Vec::new();
    let mut kind_ids = std::collections::HashMap::new();
    let mut items = Vec::with_capacity(f.eqs.len());
    for (i, e) in f.eqs.iter().enumerate() {
        let args = f.args(e);
        let level = 1 + args.iter().filter_map(|a| a.value()).map(|v| levels[v]).max().unwrap_or(0);
        levels[e.first as usize..][..e.results as usize].fill(level);
        let mut place = |part: u32, kind: Kind<T>, results: u32| {
            let next = kinds.len() as u32;
            let id = *kind_ids.entry((e.op, part, args.len())).or_insert(next);
            if id == next {
                let mut pick = choice(f.op(e), selection);
                if matches!(kind, Kind::Unit(Unit::Max | Unit::Min)) {
                    // of two, what the first takes of a tie
                    pick.at = pick.of_two()[0];
                }
                kinds.push((kind, pick, args.len() as u32, results));
            }
            items.push(Item { level, kind: id, eq: i as u32, part });
        };
        match &placings[e.op as usize] {
            Placing::Parts(parts) => {
                for (k, (unit, _)) in parts.iter().enumerate() {
                    place(k as u32, Kind::Unit(*unit), 1);
                }
            }
            Placing::Whole(kind) => match (kind, args.len()) {
                // the largest, the smallest, the k-th of one number is that number
                (Kind::Lane(LaneOp::Max | LaneOp::Min | LaneOp::Order(_) | LaneOp::Sort, false), 1) => {
                    place(0, Kind::Unit(Unit::Copy), 1);
                }
                (Kind::Lane(LaneOp::Max, false), 2) => place(0, Kind::Unit(Unit::Max), 1),
                (Kind::Lane(LaneOp::Min, false), 2) => place(0, Kind::Unit(Unit::Min), 1),
                _ => place(0, *kind, e.results),
            },
        }
    }
    items.sort_unstable_by_key(|i| (i.level, i.kind, i.eq, i.part));

    let mut code = Code {
        consts: f.consts.iter().map(number).collect(),
        inputs: f.inputs,
        registers: f.consts.len() + f.inputs,
        groups: Vec::new(),
        singles: Vec::new(),
        table: Vec::new(),
        outputs: Vec::new(),
        longest: 0,
        looked: Vec::new(),
        truths: Vec::new(),
    };
    let mut register = vec![u32::MAX; f.values()];
    for (v, r) in register[..f.inputs].iter_mut().enumerate() {
        *r = (f.consts.len() + v) as u32;
    }
    let find = |register: &[u32], a: Operand| match a {
        Operand::Const(c) => c,
        Operand::Value(v) => register[v as usize],
    };
    for group in items.chunk_by(|a, b| (a.level, a.kind) == (b.level, b.kind)) {
        let (kind, pick, arity, results) = kinds[group[0].kind as usize];
        let first = code.registers;
        let count = group.len();
        let arg = |item: &Item, k: usize| {
            let e = &f.eqs[item.eq as usize];
            let k = match &placings[e.op as usize] {
                Placing::Parts(parts) if parts[item.part as usize].0.arity() < 3 => parts[item.part as usize].1[k],
                _ => k,
            };
            find(&register, f.args(e)[k])
        };
        match kind {
            Kind::Unit(unit) if count < SMALL => {
                for item in group {
                    let mut args = [0; 3];
                    (0..unit.arity()).for_each(|k| args[k] = arg(item, k));
                    code.single(Single { unit, args, at: pick.at });
                }
            }
            Kind::Unit(unit) => {
                let args = code.table.len() as u32;
                for k in 0..unit.arity() {
                    code.table.extend(group.iter().map(|i| arg(i, k)));
                }
                let what = code.runs(unit, args, count).unwrap_or(What::Unit(unit));
                code.group(Group { what, count: count as u32, first: first as u32, args, pick }, 1);
            }
            Kind::Lane(..) | Kind::Move(_) => {
                let args = code.table.len() as u32;
                for k in 0..arity as usize {
                    code.table.extend(group.iter().map(|i| arg(i, k)));
                }
                let registers = &code.table[args as usize..];
                let consecutive = count == 1 && registers.windows(2).all(|w| w[1] == w[0] + 1);
                code.longest =
                    code.longest.max(arity as usize).max(if let Kind::Move(_) = kind { results as usize } else { 0 });
                let what = match kind {
                    Kind::Move(what) => {
                        let lane = what.lane(arity as usize, results as usize) as u32;
                        What::Move(what, [lane, arity - lane, results])
                    }
                    Kind::Lane(op, weights) => What::Lane(op, arity, weights, consecutive),
                    Kind::Unit(_) => return Err(NotScalar),
                };
                code.group(Group { what, count: count as u32, first: first as u32, args, pick }, results);
            }
        }
        for (i, item) in group.iter().enumerate() {
            let e = &f.eqs[item.eq as usize];
            for r in 0..results {
                register[(e.first + item.part + r) as usize] = (first + r as usize * count + i) as u32;
            }
        }
    }
    let mut outputs = f.outputs.iter().map(|&o| find(&register, o));
    code.outputs = output_lens.iter().map(|&n| outputs.by_ref().take(n).collect()).collect();
    code.truths = f.truths.iter().map(|&t| find(&register, t)).collect();
    code.looked = super::looks::looks(&code);
    assert!(code.is_sound(), "every argument is computed before it is read");
    Ok(code)
}

impl<T: Float> Code<T> {
    /// Whether every group reads registers before its own, and all registers and stretches of tables are there: what unchecked
    /// accesses rely on.
    fn is_sound(&self) -> bool {
        let outputs = self.outputs.iter().flatten().all(|&r| (r as usize) < self.registers);
        outputs
            && self.groups.iter().all(|g| {
                let (first, count) = (g.first as usize, g.count as usize);
                let table = |arity: usize| {
                    let args = self.table.get(g.args as usize..g.args as usize + arity * count);
                    args.is_some_and(|args| args.iter().all(|&r| r < g.first))
                };
                let read = match g.what {
                    What::Unit(unit) => table(unit.arity()),
                    What::Runs(unit, starts) => starts[..unit.arity()].iter().all(|&s| s as usize + count <= first),
                    What::Lane(_, arity, ..) => table(arity as usize),
                    What::Move(_, [lane, positions, _]) => table((lane + positions) as usize),
                    What::Singles(from) => {
                        let singles = self.singles.get(from as usize..from as usize + count);
                        let before = |(i, s): (usize, &Single<T>)| s.args.iter().all(|&r| (r as usize) < first + i);
                        singles.is_some_and(|all| all.iter().enumerate().all(before))
                    }
                };
                read && first + count <= self.registers
            })
    }

    fn group(&mut self, group: Group<T>, results: u32) {
        self.registers += (group.count * results) as usize;
        self.groups.push(group);
    }

    fn single(&mut self, single: Single<T>) {
        let next = self.singles.len() as u32;
        self.singles.push(single);
        let first = self.registers as u32;
        self.registers += 1;
        match self.groups.last_mut() {
            Some(Group { what: What::Singles(_), count, .. }) => *count += 1,
            _ => {
                let pick = Pick { at: T::ZERO, ties: Ties::First };
                self.groups.push(Group { what: What::Singles(next), count: 1, first, args: 0, pick });
            }
        }
    }

    /// A unit whose arguments all lie side by side.
    fn runs(&mut self, unit: Unit<T>, args: u32, count: usize) -> Option<What<T>> {
        let mut starts = [0; 3];
        for (k, registers) in self.table[args as usize..].chunks_exact(count).enumerate() {
            if registers.windows(2).any(|w| w[1] != w[0] + 1) {
                return None;
            }
            starts[k] = registers[0];
        }
        self.table.truncate(args as usize);
        Some(What::Runs(unit, starts))
    }
}

/// What a kink picks when an adjoint arrives; for joint operations what they say themselves.
fn choice<T: Float>(op: &FlatOp, selection: Option<&Selection>) -> Pick<T> {
    let chosen = match (op, selection) {
        (FlatOp::Op(Op::Joint(_, c)), _) => Some(c.clone()),
        (FlatOp::Op(Op::Kink(kink)), Some(s)) => Some(s.choice(kink)),
        _ => None,
    };
    chosen.map_or(Pick { at: T::ZERO, ties: Ties::First }, |c| Pick { at: number(&c.at_kink), ties: c.ties })
}

fn placing<T: Float>(op: &FlatOp, selection: Option<&Selection>) -> Result<Placing<T>, NotScalar> {
    let op = match op {
        FlatOp::Pick => return Ok(Placing::Parts(vec![(Unit::Pick, [0, 1])])),
        // programs with loops become tensor code
        FlatOp::Loop(..) => return Err(NotScalar),
        FlatOp::Op(op) => op,
    };
    // second derivatives go through derived programs
    if selection.is_some()
        && matches!(op, Op::Joint(..) | Op::LogSumExpJoint(_) | Op::Permute { .. } | Op::Gather { .. })
    {
        return Err(NotScalar);
    }
    match lower(op) {
        Lowered::Units(parts) => Ok(Placing::Parts(parts)),
        Lowered::Lane(op, Lane::Args, pick) => Ok(Placing::Whole(Kind::Lane(op, pick.is_some()))),
        Lowered::Move(Lane::Args, what) => Ok(Placing::Whole(Kind::Move(what))),
        _ => Err(NotScalar),
    }
}
