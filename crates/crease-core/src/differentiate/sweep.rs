//! The sweep: equations in joint form, tangents forward with it, adjoints backward after it.

use super::columns::{self};
use super::derive::Deriver;
use super::linear::{Calculus, Dual, Linear, Pending, Step, shape_after};
use super::loops::Back;
use super::prepare::prepare;
use super::rules::{Direction, contract, linearize};
use super::{DiffError, Technique};
use crate::builder::{BuildError, Builder};
use crate::cost::Columns;
use crate::flow::activity::{active_given, needed, useful};
use crate::flow::shielded::guarded;
use crate::op::{CalleeId, Op};
use crate::program::{Atom, Equation, Program};
use crate::shape::Shape;
use std::sync::Arc;

/// How the results of an equation depend on its arguments.
enum Derivative {
    /// Pair by pair, by the table of rules.
    Pairs(Vec<Linear>),
    /// As a selection among branches, each differentiated as a program.
    Select { branches: Box<[CalleeId]> },
    /// As a loop that goes back through the turns.
    Loop(Box<Back>),
}

/// An equation in the derived program.
struct Stepped {
    args: Vec<Atom>,
    results: Vec<Atom>,
    derivative: Derivative,
}

impl Deriver<'_> {
    /// Emits one equation in joint form.
    fn step(
        &mut self,
        b: &mut Builder,
        p: &Program,
        e: &Equation<'_>,
        args: Vec<Atom>,
        direction: Direction,
    ) -> Result<Stepped, DiffError> {
        b.set_origin(e.origin());
        match e.op {
            Op::Call(id) => {
                let callee = p.callee(*id);
                let joint = match self.technique(callee) {
                    Some(Technique::Joint) => {
                        let name = || DiffError::NoJoint(callee.program.name().into());
                        callee.joint.clone().ok_or_else(name)?
                    }
                    Some(Technique::Forward) => self.joint(&callee.program, Direction::Forward)?,
                    _ => self.joint(&callee.program, Direction::Backward)?,
                };
                let id = b.callee(joint, None)?;
                let all = b.push(Op::Call(id), &args)?;
                let maps = gradients(b, &all, 0)?;
                Ok(Stepped { args, results: all[..1].to_vec(), derivative: Derivative::Pairs(maps) })
            }
            Op::Select(ids) => {
                let programs: Vec<Arc<Program>> = ids.iter().map(|id| p.callee(*id).program.clone()).collect();
                if e.results == 1 && p.shape(e.first).is_scalar() {
                    let mut joint = Vec::new();
                    for q in &programs {
                        let gd = self.joint(q, Direction::Backward)?;
                        joint.push(b.callee(gd, None)?);
                    }
                    let all = b.push(Op::Select(joint.into()), &args)?;
                    let maps = gradients(b, &all, ids.len() - 1)?;
                    return Ok(Stepped { args, results: all[..1].to_vec(), derivative: Derivative::Pairs(maps) });
                }
                let mut branches = Vec::new();
                for q in &programs {
                    branches.push(b.callee(q.clone(), None)?);
                }
                let results = b.push(Op::Select(branches.clone().into()), &args)?;
                Ok(Stepped { args, results, derivative: Derivative::Select { branches: branches.into() } })
            }
            op => {
                let (results, maps) = linearize(b, &self.how.selection, direction, op, &args)?;
                Ok(Stepped { args, results, derivative: Derivative::Pairs(maps) })
            }
        }
    }

    /// Values and tangents, those of inputs without a seed being zero, with which of the equations are those of tangents: where programs are only counted, one column stands
    /// for all that `lead` says.
    pub fn forward(
        &mut self,
        b: &mut Builder,
        p: &Program,
        inputs: &[Atom],
        seeds: &[Option<Atom>],
        lead: Option<usize>,
    ) -> Result<(Vec<Atom>, Vec<Atom>, Columns), DiffError> {
        let p = &prepare(p, |c| self.technique(c).is_some(), &self.how.limits())?;
        let seeded: Vec<bool> = seeds.iter().map(Option::is_some).collect();
        let active = active_given(p, &seeded, &mut self.constants)?;
        let needed = needed(p, &active);
        let width = self.width(lead);
        if let Some(n) = width {
            let tangents = p.equations().zip(&needed).filter(|(_, needed)| **needed).flat_map(|(e, _)| e.results());
            columns::check(p, n, tangents.map(|v| p.shape(v)))?;
            columns::check_tables(p, n, &needed)?;
        }
        let mut columns = Columns { number: lead.unwrap_or(1), ..Columns::default() };
        let mut values: Vec<Atom> = inputs.to_vec();
        let mut tangents: Vec<Option<Dual>> = seeds.iter().map(|s| s.map(Dual::positive)).collect();
        for (i, e) in p.equations().enumerate() {
            let args = b.translate_all(p, &values, e.args);
            if !needed[i] {
                b.set_origin(e.origin());
                values.extend(b.push_from(p, e.op, &args)?);
                tangents.resize(values.len(), None);
                continue;
            }
            let incoming: Vec<Option<Dual>> =
                e.args.iter().map(|a| a.value().and_then(|v| tangents[v.index()])).collect();
            if let Op::Scan(scan) = e.op {
                b.set_origin(e.origin());
                let body = p.callee(scan.body).program.clone();
                // the loop itself is no equation of tangents: the columns are inside its body
                let (results, outgoing) = self.forward_loop(b, scan, &body, &args, &incoming, lead)?;
                values.extend(results);
                tangents.extend(outgoing);
                continue;
            }
            let step = self.step(b, p, &e, args, Direction::Forward)?;
            let outgoing: Vec<Option<Dual>>;
            let from = b.so_far().len();
            match step.derivative {
                Derivative::Pairs(maps) => {
                    let mut c = Calculus { b, lead: width };
                    let shapes: Vec<Shape> = e.results().map(|v| p.shape(v).clone()).collect();
                    outgoing = carried(&mut c, &maps, &incoming, &shapes)?;
                    columns.mark(from, b.so_far().len());
                }
                Derivative::Select { branches } => {
                    let conditions = branches.len() - 1;
                    let mut full = step.args.clone();
                    for (k, &a) in step.args[conditions..].iter().enumerate() {
                        let shape = b.shape(a);
                        full.push(settled(b, width, incoming[conditions + k], &shape)?);
                    }
                    // the selection itself is no such equation: the columns are inside its branches
                    columns.mark(from, b.so_far().len());
                    let derived = self.select(b, &branches, Direction::Forward, lead, &full)?;
                    outgoing = derived.into_iter().map(|t| Some(Dual::positive(t))).collect();
                }
                Derivative::Loop(_) => unreachable!("tangents go with their loop"),
            }
            values.extend(step.results);
            tangents.extend(outgoing);
        }
        b.set_origin(None);
        let from = b.so_far().len();
        let mut outputs = Vec::new();
        let mut derivatives = Vec::new();
        for &o in p.outputs() {
            outputs.push(b.translate(p, &values, o));
            let t = o.value().and_then(|v| tangents[v.index()]);
            derivatives.push(settled(b, width, t, &p.atom_shape(o))?);
        }
        columns.mark(from, b.so_far().len());
        Ok((outputs, derivatives, columns))
    }

    /// A selection among the derived branches.
    fn select(
        &mut self,
        b: &mut Builder,
        branches: &[CalleeId],
        direction: Direction,
        lead: Option<usize>,
        args: &[Atom],
    ) -> Result<Vec<Atom>, DiffError> {
        let mut ids = Vec::new();
        for &id in branches {
            let program = b.so_far().callee(id).program.clone();
            let derived = self.branch(&program, direction, lead)?;
            ids.push(b.callee(derived, None)?);
        }
        Ok(b.push(Op::Select(ids.into()), args)?)
    }

    /// Values, and adjoints of the inputs, given those of the outputs: nothing of an output that has none. Adjoints may come in for inputs from
    /// elsewhere, and if it is said which inputs are to be differentiated by, those of others are zero.
    #[allow(clippy::too_many_arguments)]
    pub fn reverse(
        &mut self,
        b: &mut Builder,
        p: &Program,
        inputs: &[Atom],
        lead: Option<usize>,
        seeds: &[Option<Atom>],
        incoming: &[Option<Atom>],
        by: Option<&[bool]>,
    ) -> Result<(Vec<Atom>, Vec<Atom>), DiffError> {
        let p = &prepare(p, |c| self.technique(c).is_some(), &self.how.limits())?;
        let all = vec![true; inputs.len()];
        let active = active_given(p, by.unwrap_or(&all), &mut self.constants)?;
        let needed = needed(p, &active);
        let useful = useful(p);
        let guarded = if self.shielded { vec![true; p.len()] } else { guarded(p) };
        let mut values: Vec<Atom> = inputs.to_vec();
        let mut steps: Vec<Option<Stepped>> = Vec::with_capacity(p.len());
        for (i, e) in p.equations().enumerate() {
            let args = b.translate_all(p, &values, e.args);
            if needed[i]
                && let Op::Scan(scan) = e.op
            {
                b.set_origin(e.origin());
                let body = p.callee(scan.body).program.clone();
                let moving = e.args.iter().map(|a| a.value().is_some_and(|v| active[v.index()])).collect();
                let wanted = e.results().map(|v| useful[v.index()]).collect();
                // what may be missing in a loop behind a choice is guarded inside of it
                let outside = std::mem::replace(&mut self.shielded, guarded[i]);
                let (results, back) = self.first_loop(b, scan, &body, &args, (moving, wanted), lead)?;
                self.shielded = outside;
                values.extend_from_slice(&results);
                let derivative = |back| Stepped { args, results, derivative: Derivative::Loop(Box::new(back)) };
                steps.push(back.map(derivative));
            } else if needed[i] {
                let step = self.step(b, p, &e, args, Direction::Backward)?;
                values.extend_from_slice(&step.results);
                steps.push(Some(step));
            } else {
                b.set_origin(e.origin());
                values.extend(b.push_from(p, e.op, &args)?);
                steps.push(None);
            }
        }
        let mut adjoints: Vec<Pending> = vec![Pending::default(); p.values()];
        let given = p.input_values().zip(incoming.iter().copied());
        let seeded = p.outputs().iter().zip(seeds).filter_map(|(o, &seed)| Some((o.value()?, seed)));
        for (v, t) in given.chain(seeded) {
            if let Some(t) = t {
                adjoints[v.index()].add(&mut Calculus { b, lead }, Dual::positive(t))?;
            }
        }
        for (i, e) in p.equations().enumerate().rev() {
            let Some(step) = steps[i].take() else { continue };
            if e.results().all(|v| adjoints[v.index()].is_zero()) {
                continue;
            }
            b.set_origin(e.origin());
            let mut incoming = Vec::with_capacity(e.results);
            for v in e.results() {
                let mut c = Calculus { b, lead };
                incoming.push(adjoints[v.index()].take(&mut c, p.shape(v))?);
            }
            match step.derivative {
                Derivative::Pairs(maps) => {
                    let mut c = Calculus { b, lead };
                    transpose(&mut c, p, &e, &maps, &incoming, &active, guarded[i], &mut adjoints)?;
                }
                Derivative::Select { branches } => {
                    let conditions = branches.len() - 1;
                    let mut full = step.args.clone();
                    for (v, t) in e.results().zip(incoming) {
                        full.push(settled(b, lead, t, p.shape(v))?);
                    }
                    let derived = self.select(b, &branches, Direction::Backward, lead, &full)?;
                    let mut c = Calculus { b, lead };
                    for (&a, t) in e.args[conditions..].iter().zip(derived) {
                        if let Some(v) = a.value() {
                            adjoints[v.index()].add(&mut c, Dual::positive(t))?;
                        }
                    }
                }
                Derivative::Loop(back) => {
                    let derived = back.second_loop(b, incoming, lead)?;
                    let mut c = Calculus { b, lead };
                    for (&a, t) in e.args.iter().zip(derived) {
                        if let (Some(v), Some(t)) = (a.value(), t) {
                            adjoints[v.index()].add(&mut c, Dual::positive(t))?;
                        }
                    }
                }
            }
        }
        b.set_origin(None);
        let outputs = b.translate_all(p, &values, p.outputs());
        let mut gradients = Vec::new();
        for v in p.input_values() {
            let mut c = Calculus { b, lead };
            let t = adjoints[v.index()].take(&mut c, p.shape(v))?;
            gradients.push(settled(b, lead, t, p.shape(v))?);
        }
        Ok((outputs, gradients))
    }
}

/// Sends the tangents of the arguments of an equation to its results, whose shapes are given.
pub(super) fn carried(
    c: &mut Calculus<'_>,
    maps: &[Linear],
    incoming: &[Option<Dual>],
    shapes: &[Shape],
) -> Result<Vec<Option<Dual>>, BuildError> {
    // of two branches one is taken
    if let [Linear { arg: a, steps, .. }, Linear { arg: b, .. }] = maps
        && let [Step::Keep { condition, holds: true }] = steps[..]
        && let (Some(a), Some(b)) = (incoming[*a], incoming[*b])
    {
        return Ok(vec![Some(c.choose(condition, a, b)?)]);
    }
    let mut sums: Vec<Pending> = vec![Pending::default(); shapes.len()];
    for map in maps {
        let Some(mut t) = incoming[map.arg] else { continue };
        // what is put into zeros is put there all at once
        let (last, rest) = match map.steps.split_last() {
            Some((Step::Put { layout, from, .. }, rest)) => (Some((layout, from)), rest),
            _ => (None, &map.steps[..]),
        };
        for s in rest {
            t = c.forward(t, s)?;
        }
        match last {
            Some((layout, from)) => sums[map.result].add_part(c, t, layout, from)?,
            None => sums[map.result].add(c, t)?,
        }
    }
    sums.iter_mut().zip(shapes).map(|(sum, shape)| sum.take(c, shape)).collect()
}

/// Sends the adjoints of the results of an equation to its arguments; guarded, what is 0 stays 0.
#[allow(clippy::too_many_arguments)] // all that one step of the sweep knows
fn transpose(
    c: &mut Calculus<'_>,
    p: &Program,
    e: &Equation<'_>,
    maps: &[Linear],
    incoming: &[Option<Dual>],
    active: &[bool],
    guarded: bool,
    adjoints: &mut [Pending],
) -> Result<(), DiffError> {
    // steps that two arguments share are carried out once; long lists of arguments share none
    let sharing = maps.len() <= 4;
    let mut shared: Vec<(Dual, Step, Dual)> = Vec::new();
    for map in maps {
        let arg = e.args[map.arg].value().filter(|v| active[v.index()]);
        let (Some(v), Some(mut t)) = (arg, incoming[map.result]) else { continue };
        let result = e.results().nth(map.result).map(|r| p.shape(r).clone()).unwrap_or_default();
        let mut shapes = vec![p.shape(v).clone()];
        for s in &map.steps {
            let next = shape_after(s, &shapes[shapes.len() - 1], &result);
            shapes.push(next);
        }
        let (first, rest) = match map.steps.split_first() {
            Some((Step::View { layout, .. }, rest)) => (Some(layout), rest),
            _ => (None, &map.steps[..]),
        };
        let offset = map.steps.len() - rest.len();
        for (k, s) in rest.iter().enumerate().rev() {
            let known = shared.iter().find(|(from, step, _)| *from == t && step == s).map(|known| known.2);
            t = match known {
                Some(done) => done,
                None => {
                    let mut after = c.backward(t, s, &shapes[offset + k + 1])?;
                    // a factor may be missing, and so may the condition of a choice inside of another one
                    if guarded && matches!(s, Step::Times(_) | Step::Over(_) | Step::Keep { .. }) {
                        after = c.guarded(t, after)?;
                    }
                    if sharing && matches!(s, Step::Times(_) | Step::Over(_)) {
                        shared.push((t, s.clone(), after));
                    }
                    after
                }
            };
        }
        let pending = &mut adjoints[v.index()];
        match first {
            Some(layout) => pending.add_part(c, t, layout, &shapes[1])?,
            None => pending.add(c, t)?,
        }
    }
    Ok(())
}

/// A tangent or adjoint as an atom of the right shape; zeros where nothing came in.
pub(super) fn settled(b: &mut Builder, lead: Option<usize>, t: Option<Dual>, shape: &Shape) -> Result<Atom, DiffError> {
    let mut c = Calculus { b, lead };
    match t {
        Some(t) => Ok(c.settle(t, shape)?),
        None => {
            let shape = c.dual_shape(shape)?;
            Ok(b.zeros(shape)?)
        }
    }
}

/// How the value of a joint program depends on the arguments from number `skip` on.
fn gradients(b: &Builder, all: &[Atom], skip: usize) -> Result<Vec<Linear>, DiffError> {
    let mut maps = Vec::new();
    for (i, &w) in all[1..].iter().enumerate() {
        let steps = contract(b, w, b.shape(w).rank())?;
        maps.push(Linear { arg: skip + i, result: 0, steps });
    }
    Ok(maps)
}
