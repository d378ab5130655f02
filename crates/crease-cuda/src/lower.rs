//! From a program to the list of scalar steps that a kernel is written from.
//!
//! A [`Program`] enters; [`Scalars`] leave: calls expanded, loops unrolled, tensors taken apart, and every selection carried out as picks between the
//! results of its branches (a device has no use for jumps that differ from point to point). What no output needs is gone. Operations on
//! groups have their members as arguments.
//!
//! Two lists say what a run must look at. [`Scalars::truths`]: numbers that stand where a truth value must and are not made as one.
//! [`Scalars::looks`]: numbers in which something that is not finite shows, although everything that is made of them may hide
//! it; all others pass it on to one of these.

use crate::error::CudaError;
use crease_core::{Atom, Kink, Op, Program, Rational, Site, Smooth, inline_within, scalarize, unroll};
use std::collections::HashMap;
use std::sync::Arc;

/// An argument or an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operand {
    Value(u32),
    Const(u32),
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    /// An operation of scalars; members of groups are arguments.
    Op(Op),
    /// The second argument where the first is 1, else the third.
    Pick,
}

/// One step: its results are numbered from `first` on.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub act: Arc<Act>,
    pub args: Vec<Operand>,
    pub first: u32,
    pub results: u32,
}

/// A program as scalar steps; inputs are the first values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scalars {
    pub inputs: usize,
    pub values: usize,
    pub consts: Vec<Rational>,
    pub steps: Vec<Step>,
    pub outputs: Vec<Operand>,
    pub truths: Vec<Operand>,
    pub looks: Vec<u32>,
}

/// The numbers that a program computes once all calls are expanded and tensors are taken apart, roughly.
pub(crate) fn size(p: &Program) -> u128 {
    let mut sizes: HashMap<_, u128> = HashMap::new();
    for q in p.library().iter().map(|q| &**q).chain([p]) {
        let mut total = 0_u128;
        for e in q.equations() {
            let results: u128 = e.results().map(|v| q.shape(v).len() as u128).sum();
            let each = match e.op {
                Op::MatMul { transpose_a, .. } => e.args[0].value().map_or(1, |a| {
                    let dims = q.shape(a).dims();
                    2 * dims[dims.len() - if *transpose_a { 2 } else { 1 }] as u128
                }),
                _ => 1,
            };
            let inside: u128 = e.op.callees().iter().map(|id| sizes[&q.callee(*id).program.id()]).sum();
            let inside = if let Op::Scan(scan) = e.op { inside.saturating_mul(scan.turns as u128) } else { inside };
            // an assembly of many numbers into few makes as many sums as there are numbers
            let read = match e.op {
                Op::Assemble { .. } => e.args.iter().filter_map(|a| a.value()).map(|v| q.shape(v).len() as u128).sum(),
                _ => 0,
            };
            total = total.saturating_add((results * each).max(read)).saturating_add(inside);
        }
        sizes.insert(q.id(), total);
    }
    sizes[&p.id()]
}

/// The same function on scalars, calls expanded; selections stay.
pub(crate) fn scalars_only(p: &Program, limit: usize) -> Result<Program, CudaError> {
    let numbers = size(p);
    if numbers > limit as u128 {
        let steps = usize::try_from(numbers).unwrap_or(usize::MAX);
        return Err(CudaError::TooLarge { name: p.name().into(), steps, limit });
    }
    Ok(scalarize(&inline_within(&unroll(p)?, limit as u64)?)?)
}

/// The steps of a program.
pub(crate) fn lower(p: &Program, limit: usize) -> Result<Scalars, CudaError> {
    let p = scalars_only(p, limit)?;
    let mut out = Scalars { inputs: p.inputs().len(), values: p.inputs().len(), ..Scalars::default() };
    let mut consts = HashMap::new();
    let mut acts: HashMap<&Op, Arc<Act>> = HashMap::new();
    let map = (0..p.inputs().len()).map(|i| Operand::Value(i as u32)).collect();
    let mut frames = vec![Frame { program: &p, map, next: 0, select: None }];
    while let Some(frame) = frames.last_mut() {
        let q = frame.program;
        if let Some(choosing) = &frame.select {
            if choosing.done.len() < choosing.branches.len() {
                let branch = &q.callee(choosing.branches[choosing.done.len()]).program;
                let map = choosing.args.clone();
                frames.push(Frame { program: branch, map, next: 0, select: None });
                continue;
            }
            let picked = out.pick(choosing);
            frame.map.extend(picked);
            frame.select = None;
            continue;
        }
        if frame.next == q.len() {
            let outputs = q.outputs().iter().map(|&o| out.operand(&mut consts, q, &frame.map, o)).collect::<Vec<_>>();
            frames.pop();
            match frames.last_mut() {
                None => out.outputs = outputs,
                Some(caller) => match &mut caller.select {
                    Some(choosing) => choosing.done.push(outputs),
                    None => caller.map.extend(outputs),
                },
            }
            continue;
        }
        if out.steps.len() > limit {
            return Err(CudaError::TooLarge { name: p.name().into(), steps: out.steps.len(), limit });
        }
        let e = q.equation(frame.next);
        frame.next += 1;
        let args: Vec<Operand> = e.args.iter().map(|&a| out.operand(&mut consts, q, &frame.map, a)).collect();
        match e.op {
            Op::Select(ids) => {
                let (conditions, rest) = args.split_at(ids.len() - 1);
                let (conditions, args) = (conditions.to_vec(), rest.to_vec());
                frame.select = Some(Choosing { branches: ids, conditions, args, done: Vec::new() });
            }
            Op::Call(id) => {
                let callee = &q.callee(*id).program;
                frames.push(Frame { program: callee, map: args, next: 0, select: None });
            }
            op => {
                if let Some(why) = refused(op, args.len()) {
                    let site = Box::new(Site::new(q, frame.next - 1));
                    return Err(CudaError::Unsupported { operation: op.to_string(), why, site });
                }
                let act = acts.entry(op).or_insert_with(|| Arc::new(Act::Op(op.clone()))).clone();
                let results = out.push(act, args, e.results as u32);
                frame.map.extend(results);
            }
        }
    }
    Ok(out.live_only().looked_at())
}

/// Members of a group that is sorted in a kernel, by insertion.
const SORTED: usize = 1024;

/// Why an operation on scalars is none for a kernel.
fn refused(op: &Op, members: usize) -> Option<String> {
    match op {
        Op::Kink(Kink::Sort(_) | Kink::OrderStatistic(..))
        | Op::Joint(Kink::Sort(_) | Kink::OrderStatistic(..), _)
        | Op::Permute { .. }
            if members > 2 * SORTED =>
        {
            Some(format!("it sorts {members} numbers, more than {SORTED}"))
        }
        Op::Gather { .. } | Op::Position(..) => Some("positions are not computed on devices".into()),
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Neg | Op::Smooth(_) | Op::Stair(_) => None,
        Op::Where | Op::Compare(_) | Op::Logic(_) | Op::LogSumExp(_) | Op::LogSumExpJoint(_) => None,
        Op::Kink(_) | Op::Joint(..) | Op::Permute { .. } => None,
        Op::Constant(_) | Op::View { .. } | Op::Assemble { .. } | Op::MatMul { .. } => None,
        // they are expanded before
        Op::Call(_) | Op::Select(_) | Op::Scan(_) => None,
    }
}

struct Frame<'p> {
    program: &'p Program,
    map: Vec<Operand>,
    next: usize,
    select: Option<Choosing<'p>>,
}

/// A selection whose branches are being expanded.
struct Choosing<'p> {
    branches: &'p [crease_core::op::CalleeId],
    conditions: Vec<Operand>,
    args: Vec<Operand>,
    done: Vec<Vec<Operand>>,
}

impl Scalars {
    fn operand(&mut self, seen: &mut HashMap<Rational, u32>, p: &Program, map: &[Operand], a: Atom) -> Operand {
        match a {
            Atom::Value(v) => map[v.index()],
            Atom::Const(id) => {
                let next = self.consts.len() as u32;
                let c = p.constant(id);
                let id = *seen.entry(c.clone()).or_insert(next);
                if id == next {
                    self.consts.push(c.clone());
                }
                Operand::Const(id)
            }
        }
    }

    fn push(&mut self, act: Arc<Act>, args: Vec<Operand>, results: u32) -> impl Iterator<Item = Operand> + use<> {
        let first = self.values as u32;
        self.values += results as usize;
        self.steps.push(Step { act, args, first, results });
        (first..first + results).map(Operand::Value)
    }

    /// Calls of functions that a library computes.
    pub fn calls(&self) -> usize {
        let each = |s: &Step| match &*s.act {
            Act::Op(Op::Smooth(Smooth::Inv | Smooth::Sqrt | Smooth::Power(_))) => 0,
            Act::Op(Op::Smooth(_) | Op::Kink(Kink::Elu(_)) | Op::Joint(Kink::Elu(_), _)) => 1,
            Act::Op(Op::LogSumExp(_) | Op::LogSumExpJoint(_)) => s.args.len() + 1,
            Act::Op(_) | Act::Pick => 0,
        };
        self.steps.iter().map(each).sum()
    }

    fn pick(&mut self, choosing: &Choosing<'_>) -> Vec<Operand> {
        let Some((last, rest)) = choosing.done.split_last() else { return Vec::new() };
        let pick = Arc::new(Act::Pick);
        let mut results = last.clone();
        for (&condition, branch) in choosing.conditions.iter().zip(rest).rev() {
            for (result, &chosen) in results.iter_mut().zip(branch) {
                if let Some(picked) = self.push(pick.clone(), vec![condition, chosen, *result], 1).next() {
                    *result = picked;
                }
            }
        }
        results
    }

    /// Without steps that no output needs. Values keep their numbers.
    fn live_only(mut self) -> Self {
        let mut live = vec![false; self.values];
        let mark = |live: &mut Vec<bool>, o: &Operand| {
            if let Operand::Value(v) = o {
                live[*v as usize] = true;
            }
        };
        self.outputs.iter().for_each(|o| mark(&mut live, o));
        let mut kept = Vec::with_capacity(self.steps.len());
        while let Some(step) = self.steps.pop() {
            if live[step.first as usize..][..step.results as usize].contains(&true) {
                step.args.iter().for_each(|a| mark(&mut live, a));
                kept.push(step);
            }
        }
        kept.reverse();
        self.steps = kept;
        self
    }

    fn looked_at(mut self) -> Self {
        let mut made = vec![false; self.values];
        // whether something that is not finite goes on to a value that is looked at, or passes it on itself
        let mut passed = vec![false; self.values];
        for step in &self.steps {
            let is_made = |a: &Operand| match a {
                Operand::Value(v) => made[*v as usize],
                Operand::Const(c) => self.consts[*c as usize].is_zero() || self.consts[*c as usize].is_one(),
            };
            let asked = match &*step.act {
                Act::Pick | Act::Op(Op::Where) => &step.args[..1],
                Act::Op(Op::Logic(_)) => &step.args[..],
                Act::Op(_) => &[],
            };
            self.truths.extend(asked.iter().filter(|a| !is_made(a)));
            made[step.first as usize] = match &*step.act {
                Act::Op(Op::Compare(_) | Op::Logic(_)) => true,
                Act::Pick | Act::Op(Op::Where) => is_made(&step.args[1]) && is_made(&step.args[2]),
                Act::Op(_) => false,
            };
            // an infinity or NaN in these makes the result one
            let open: &[Operand] = match &*step.act {
                Act::Op(Op::Add | Op::Sub | Op::Mul | Op::Neg) => &step.args,
                Act::Op(Op::Div) => &step.args[..1],
                Act::Op(Op::Kink(Kink::Abs | Kink::Norm1(_) | Kink::Norm2(_) | Kink::NormInf(_))) => &step.args,
                _ => &[],
            };
            for a in open {
                if let Operand::Value(v) = a {
                    passed[*v as usize] = true;
                }
            }
        }
        let results = self.steps.iter().flat_map(|s| s.first..s.first + s.results);
        self.looks =
            (0..self.inputs as u32).chain(results).filter(|&v| !passed[v as usize] && !made[v as usize]).collect();
        self
    }
}
