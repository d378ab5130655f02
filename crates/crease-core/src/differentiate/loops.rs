//! Loops: the body is differentiated once, whatever the number of turns.
//!
//! Forward, tangents are carried beside values, and one loop becomes one loop whose body is the derived body.
//!
//! Backward, one loop becomes two. The body is differentiated backward as any program, and the derived body is *split* by what its equations depend on:
//!
//! | they depend on | where they go |
//! | --- | --- |
//! | constants alone | wherever they are needed |
//! | arguments that are the same in each turn | before the loop, once |
//! | carried values and parts of sequences | into the first loop, which is the loop itself and stacks what the second needs of them |
//! | adjoints | into the second loop, which goes the other way |
//!
//! The second loop carries the adjoints of carried values, and the sums so far of the adjoints of arguments that are the same in each turn; it
//! stacks the adjoints of parts of sequences. So nothing is computed twice, and what is kept is what is needed: memory grows with the turns as it must, time
//! is that of the unrolled program, and the text does not grow at all.
//!
//! Only what is *active* is differentiated: a carried value is active if its first value is or if a turn makes it so, which is found by
//! going through the body until nothing changes.

use super::derive::{Deriver, fresh};
use super::linear::{Calculus, Dual};
use super::sweep::settled;
use super::{DiffError, declare};
use crate::builder::{BuildError, Builder};
use crate::flow::PerProgram;
use crate::flow::activity::active_given;
use crate::op::scan::MOST_NESTED;
use crate::op::{Op, Scan};
use crate::program::{Atom, Program, Value};
use crate::shape::Shape;
use std::collections::HashMap;
use std::sync::Arc;

/// Refuses programs in which loops are nested too deep.
pub(super) fn check_nesting(p: &Program) -> Result<(), DiffError> {
    let depths = p.each(|q, known: &PerProgram<usize>| {
        let of = |e: crate::Equation<'_>| {
            let inside = e.op.callees().iter().map(|id| known[&q.callee(*id).program]).max().unwrap_or(0);
            inside + usize::from(matches!(e.op, Op::Scan(_)))
        };
        if q.callees().is_empty() { 0 } else { q.equations().map(of).max().unwrap_or(0) }
    });
    match depths[p] > MOST_NESTED {
        true => Err(DiffError::Nested { name: p.name().into(), depth: depths[p], limit: MOST_NESTED }),
        false => Ok(()),
    }
}

/// Which arguments of a loop, and which of its results, have a derivative.
struct Activity {
    args: Vec<bool>,
    results: Vec<bool>,
}

impl Deriver<'_> {
    /// What is active in a loop, given which arguments are.
    fn turning(&mut self, scan: &Scan, body: &Program, mut args: Vec<bool>) -> Result<Activity, DiffError> {
        loop {
            let active = active_given(body, &args, &mut self.constants)?;
            let results: Vec<bool> =
                body.outputs().iter().map(|o| o.value().is_some_and(|v| active[v.index()])).collect();
            let grown = (0..scan.carried).filter(|&i| results[i] && !args[i]).collect::<Vec<_>>();
            if grown.is_empty() {
                // a carried value that no turn makes active is so before the first turn only
                return Ok(Activity { args, results });
            }
            grown.into_iter().for_each(|i| args[i] = true);
        }
    }

    /// A loop with its tangents: values, and a tangent for each result that has one.
    pub fn forward_loop(
        &mut self,
        b: &mut Builder,
        scan: &Scan,
        body: &Arc<Program>,
        args: &[Atom],
        incoming: &[Option<Dual>],
        lead: Option<usize>,
    ) -> Result<(Vec<Atom>, Vec<Option<Dual>>), DiffError> {
        let active = self.turning(scan, body, incoming.iter().map(Option::is_some).collect())?;
        let width = self.width(lead);
        // the derived body: carried values and their tangents, parts and theirs, then what is the same in each turn
        let mut inner = Builder::new(format!("jvp_{}", body.name())).within(&self.how.limits());
        let prefix = fresh(body, "d");
        let (mut values, mut tangents) = (Vec::new(), Vec::new());
        let mut outer = Vec::new();
        for group in [0..scan.carried, scan.sequences(), scan.still()..args.len()] {
            for i in group.clone() {
                let input = &body.inputs()[i];
                values.push(inner.input(input.name.clone(), input.shape.clone())?);
                outer.push(args[i]);
            }
            for i in group {
                if !active.args[i] {
                    tangents.push(None);
                    continue;
                }
                let input = &body.inputs()[i];
                let shape = Calculus { b: &mut inner, lead: width }.dual_shape(&input.shape)?;
                tangents.push(Some(inner.input(format!("{prefix}{}", input.name), shape)?));
                let full = b.shape(args[i]);
                let tangent = settled(b, width, incoming[i], &full)?;
                outer.push(if scan.sequences().contains(&i) { by_turn(b, tangent, width)? } else { tangent });
            }
        }
        let (results, derivatives, columns) = self.forward(&mut inner, body, &values, &tangents, lead)?;
        let mut outputs = Vec::new();
        for group in [0..scan.carried, scan.carried..results.len()] {
            outputs.extend_from_slice(&results[group.clone()]);
            // what is carried has its tangent carried, whether the turn moves it or not
            let moves = |i: &usize| if *i < scan.carried { active.args[*i] } else { active.results[*i] };
            outputs.extend(group.filter(moves).map(|i| derivatives[i]));
        }
        let derived = inner.finish(&outputs)?;
        let derived = self.shared(derived, columns);
        let count = |mask: &[bool]| mask.iter().filter(|a| **a).count();
        let op = Scan {
            body: b.callee(derived, None)?,
            carried: scan.carried + count(&active.args[..scan.carried]),
            each: scan.each + count(&active.args[scan.sequences()]),
            ..*scan
        };
        let mut all = b.push(op, &outer)?.into_iter();
        let mut values: Vec<Atom> = all.by_ref().take(scan.carried).collect();
        let mut tangents: Vec<Option<Dual>> = Vec::new();
        for i in 0..scan.carried {
            tangents.push(if active.args[i] { all.next().map(Dual::positive) } else { None });
        }
        values.extend(all.by_ref().take(results.len() - scan.carried));
        for i in scan.carried..results.len() {
            let tangent = if active.results[i] { all.next() } else { None };
            let stacked = tangent.map(|t| by_turn(b, t, width));
            tangents.push(stacked.transpose()?.map(Dual::positive));
        }
        Ok((values, tangents))
    }

    /// A loop that keeps what going back needs: its results, and how to go back. `active` says which arguments have a derivative, `useful` which
    /// results matter.
    pub fn first_loop(
        &mut self,
        b: &mut Builder,
        scan: &Scan,
        body: &Arc<Program>,
        args: &[Atom],
        (active, useful): (Vec<bool>, Vec<bool>),
        lead: Option<usize>,
    ) -> Result<(Vec<Atom>, Option<Back>), DiffError> {
        let active = self.turning(scan, body, active)?;
        let wanted: Vec<bool> = (0..body.outputs().len())
            .map(|i| if i < scan.carried { active.args[i] } else { active.results[i] && useful[i] })
            .collect();
        if !wanted.contains(&true) {
            let id = b.callee(body.clone(), None)?;
            return Ok((b.push(Scan { body: id, ..*scan }, args)?, None));
        }
        let joint = self.joint_body(scan, body, &active.args, &wanted, lead)?;
        let parts = joint.split(scan, body, args.len());
        // before the loop
        let before = parts.before(&joint.program);
        let still: Vec<Option<Atom>> =
            (0..joint.program.values()).map(|v| (scan.still()..args.len()).contains(&v).then(|| args[v])).collect();
        let hoisted = before.copy(b, &joint.program, still)?;
        // the loop itself
        let mut first = Builder::new(body.name()).within(&self.how.limits());
        let mut map = vec![None; joint.program.values()];
        for (slot, atom) in map.iter_mut().zip(declare(&mut first, body, "", None)?) {
            *slot = Some(atom);
        }
        let prefix = fresh(body, "h");
        for (k, &v) in parts.hoisted.iter().enumerate() {
            map[v.index()] = Some(first.input(format!("{prefix}{k}"), joint.program.shape(v).clone())?);
        }
        let roots: Vec<Atom> = joint.program.outputs()[..body.outputs().len()]
            .iter()
            .copied()
            .chain(parts.stacked.iter().map(|&v| Atom::Value(v)))
            .collect();
        let kept = parts.first(&joint.program, &roots).copy(&mut first, &joint.program, map)?;
        let outputs = copied(&mut first, &joint.program, &kept, &roots);
        let first = Arc::new(first.finish(&outputs)?);
        let op = Scan { body: b.callee(first, None)?, ..*scan };
        let hoisted_atoms: Vec<Atom> = parts.hoisted.iter().filter_map(|v| hoisted[v.index()]).collect();
        let full: Vec<Atom> = args.iter().chain(&hoisted_atoms).copied().collect();
        let mut results = b.push(op, &full)?;
        let stacks = results.split_off(body.outputs().len());
        // what the second loop takes beside adjoints
        let mut outside: HashMap<Value, Atom> = parts.hoisted.iter().copied().zip(hoisted_atoms).collect();
        outside.extend(parts.stacked.iter().copied().zip(stacks));
        outside.extend(args.iter().enumerate().skip(scan.carried).map(|(i, &a)| (Value(i as u32), a)));
        let second = parts.second(&joint, scan, body)?;
        let each = second.each.iter().map(|v| outside[v]).collect();
        let still = second.still.iter().map(|v| outside[v]).collect();
        Ok((
            results,
            Some(Back {
                scan: *scan,
                body: body.clone(),
                program: second.program,
                each,
                still,
                active: active.args,
                wanted,
            }),
        ))
    }

    /// The body with its adjoints: after its inputs come the adjoints of the outputs that are wanted, then for each active argument that is the same in all
    /// turns the sum of its adjoints so far; after its outputs the adjoints of active inputs.
    fn joint_body(
        &mut self,
        scan: &Scan,
        body: &Program,
        active: &[bool],
        wanted: &[bool],
        lead: Option<usize>,
    ) -> Result<Joint, DiffError> {
        let mut b = Builder::new(format!("back_{}", body.name())).within(&self.how.limits());
        let inputs = declare(&mut b, body, "", None)?;
        let mut seeds = Vec::new();
        let prefix = fresh(body, "adjoint");
        for (i, &o) in body.outputs().iter().enumerate() {
            let shape = Calculus { b: &mut b, lead }.dual_shape(&body.atom_shape(o))?;
            seeds.push(if wanted[i] { Some(b.input(format!("{prefix}{i}"), shape)?) } else { None });
        }
        let mut sums = vec![None; inputs.len()];
        let prefix = fresh(body, "sum");
        for i in (scan.still()..inputs.len()).filter(|&i| active[i]) {
            let shape = Calculus { b: &mut b, lead }.dual_shape(&body.inputs()[i].shape)?;
            sums[i] = Some(b.input(format!("{prefix}{i}"), shape)?);
        }
        let (mut outputs, adjoints) = self.reverse(&mut b, body, &inputs, lead, &seeds, &sums, Some(active))?;
        outputs.extend(adjoints.iter().zip(active).filter(|(_, active)| **active).map(|(a, _)| *a));
        Ok(Joint { program: b.finish(&outputs)?, active: active.to_vec(), wanted: wanted.to_vec() })
    }
}

/// A body and its adjoints in one program. See [`Deriver::joint_body`].
struct Joint {
    program: Program,
    active: Vec<bool>,
    wanted: Vec<bool>,
}

/// On what a value of the joint body depends, the last of these that it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Constants,
    Still,
    Turn,
    Adjoints,
}

/// Where the equations of the joint body go, and what passes between the parts.
struct Parts {
    levels: Vec<Level>,
    /// views that the second loop makes for itself, since what they read is no larger
    made_again: Vec<bool>,
    /// values computed before the loop that a loop needs
    hoisted: Vec<Value>,
    /// values of a turn that going back needs
    stacked: Vec<Value>,
    /// all that the second loop takes from outside, but adjoints
    taken: Vec<Value>,
}

impl Joint {
    fn split(&self, scan: &Scan, body: &Program, args: usize) -> Parts {
        let p = &self.program;
        let mut levels = Vec::with_capacity(p.values());
        for i in 0..p.inputs().len() {
            levels.push(match i {
                i if i < scan.still() => Level::Turn,
                i if i < args => Level::Still,
                _ => Level::Adjoints,
            });
        }
        let mut made_again = vec![false; p.len()];
        for (i, e) in p.equations().enumerate() {
            let level = e.args.iter().filter_map(|a| a.value()).map(|v| levels[v.index()]).max();
            let level = level.unwrap_or(Level::Constants);
            if let (Op::View { .. }, Some(source)) = (e.op, e.args.first().and_then(|a| a.value())) {
                made_again[i] = p.shape(source).len() <= p.shape(e.first).len();
            }
            levels.extend(std::iter::repeat_n(level, e.results));
        }
        let mut parts = Parts { levels, made_again, hoisted: Vec::new(), stacked: Vec::new(), taken: Vec::new() };
        let (values, adjoints) = p.outputs().split_at(body.outputs().len());
        let mut needed = parts.second_part(p, adjoints).boundary;
        needed.retain(|v| v.index() < args || v.index() >= p.inputs().len());
        // parts of sequences and arguments that stay the same are at hand; of all others the turns are kept
        let at_hand = |v: &Value| (scan.carried..args).contains(&v.index());
        parts.stacked =
            needed.iter().copied().filter(|v| !at_hand(v) && parts.levels[v.index()] == Level::Turn).collect();
        let roots: Vec<Atom> = values.iter().copied().chain(parts.stacked.iter().map(|&v| Atom::Value(v))).collect();
        let mut hoisted = parts.first(p, &roots).boundary;
        hoisted.extend(needed.iter().copied());
        hoisted.retain(|v| v.index() >= p.inputs().len() && parts.levels[v.index()] == Level::Still);
        hoisted.sort_unstable();
        hoisted.dedup();
        parts.hoisted = hoisted;
        parts.taken = needed;
        parts
    }
}

impl Parts {
    fn level(&self, v: Value) -> Level {
        self.levels[v.index()]
    }

    /// What is computed before the loop.
    fn before(&self, p: &Program) -> Part {
        let roots: Vec<Atom> = self.hoisted.iter().map(|&v| Atom::Value(v)).collect();
        Part::of(p, &roots, |_, v| self.level(v) <= Level::Still)
    }

    /// What the first loop computes.
    fn first(&self, p: &Program, roots: &[Atom]) -> Part {
        Part::of(p, roots, |_, v| matches!(self.level(v), Level::Turn | Level::Constants))
    }

    /// What the second loop computes.
    fn second_part(&self, p: &Program, roots: &[Atom]) -> Part {
        Part::of(p, roots, |i, v| {
            matches!(self.level(v), Level::Adjoints | Level::Constants)
                || self.made_again[i] && self.level(v) == Level::Turn
        })
    }

    /// The body of the second loop.
    fn second(&self, joint: &Joint, scan: &Scan, body: &Program) -> Result<Second, DiffError> {
        let p = &joint.program;
        let mut b = Builder::new(p.name());
        let mut map = vec![None; p.values()];
        let outputs = body.outputs().len();
        let mut adjoints = p.inputs().iter().enumerate().skip(body.inputs().len());
        let mut declare = |b: &mut Builder, i: usize, name: &str, shape: &Shape| -> Result<(), BuildError> {
            map[i] = Some(b.input(name, shape.clone())?);
            Ok(())
        };
        // carried: adjoints of carried values, sums so far
        let wanted: Vec<usize> = (0..outputs).filter(|&i| joint.wanted[i]).collect();
        let seeds: Vec<(usize, &crate::Input)> = adjoints.by_ref().take(wanted.len()).collect();
        let (carried, stacked): (Vec<_>, Vec<_>) = wanted.iter().zip(seeds).partition(|(i, _)| **i < scan.carried);
        for (_, (i, input)) in carried {
            declare(&mut b, i, &input.name, &input.shape)?;
        }
        for (i, input) in adjoints {
            declare(&mut b, i, &input.name, &input.shape)?;
        }
        // parts: what was stacked, parts of sequences, adjoints of what the loop stacked
        let (each, still): (Vec<Value>, Vec<Value>) = self.taken.iter().partition(|v| self.level(**v) == Level::Turn);
        let prefix = fresh(p, "r");
        for v in &each {
            declare(&mut b, v.index(), &format!("{prefix}{}", v.index()), p.shape(*v))?;
        }
        for (_, (i, input)) in stacked {
            declare(&mut b, i, &input.name, &input.shape)?;
        }
        for v in &still {
            declare(&mut b, v.index(), &format!("{prefix}{}", v.index()), p.shape(*v))?;
        }
        let roots = &p.outputs()[outputs..];
        let map = self.second_part(p, roots).copy(&mut b, p, map)?;
        let all = copied(&mut b, p, &map, roots);
        let place = |i: usize| joint.active[..i].iter().filter(|active| **active).count();
        let ordered: Vec<Atom> = returned(scan, &joint.active).map(|i| all[place(i)]).collect();
        Ok(Second { program: Arc::new(b.finish(&ordered)?), each, still })
    }
}

/// Atoms of `p` as they were copied.
fn copied(b: &mut Builder, p: &Program, map: &[Option<Atom>], roots: &[Atom]) -> Vec<Atom> {
    let of = |a: &Atom| match a {
        Atom::Value(v) => map[v.index()].expect("what is returned was copied"),
        Atom::Const(_) => b.translate(p, &[], *a),
    };
    roots.iter().map(of).collect()
}

/// The body of the second loop, with the values of the joint body that it takes as parts and as what stays the same.
struct Second {
    program: Arc<Program>,
    each: Vec<Value>,
    still: Vec<Value>,
}

/// Some equations of a program, and the values that they need from elsewhere, in order.
struct Part {
    equations: Vec<bool>,
    boundary: Vec<Value>,
}

impl Part {
    /// The equations behind the roots, for as long as they are inside.
    fn of(p: &Program, roots: &[Atom], inside: impl Fn(usize, Value) -> bool) -> Part {
        let mut wanted = vec![false; p.values()];
        roots.iter().filter_map(|a| a.value()).for_each(|v| wanted[v.index()] = true);
        let mut equations = vec![false; p.len()];
        for (i, e) in p.equations().enumerate().rev() {
            if e.results().any(|v| wanted[v.index()]) && inside(i, e.first) {
                equations[i] = true;
                e.results().for_each(|v| wanted[v.index()] = false);
                e.args.iter().filter_map(|a| a.value()).for_each(|v| wanted[v.index()] = true);
            }
        }
        let boundary = (0..p.values() as u32).map(Value).filter(|v| wanted[v.index()]).collect();
        Part { equations, boundary }
    }

    /// Copies them, given what became of other values of the program.
    fn copy(&self, b: &mut Builder, p: &Program, mut map: Vec<Option<Atom>>) -> Result<Vec<Option<Atom>>, BuildError> {
        for (i, e) in p.equations().enumerate().filter(|(i, _)| self.equations[*i]) {
            b.set_origin(e.origin());
            let args = copied(b, p, &map, e.args);
            let results = b.push_from(p, e.op, &args)?;
            debug_assert_eq!(results.len(), e.results, "equation {i}");
            e.results().zip(results).for_each(|(v, r)| map[v.index()] = Some(r));
        }
        b.set_origin(None);
        Ok(map)
    }
}

/// How to go back through a loop.
pub(super) struct Back {
    scan: Scan,
    body: Arc<Program>,
    program: Arc<Program>,
    each: Vec<Atom>,
    still: Vec<Atom>,
    active: Vec<bool>,
    wanted: Vec<bool>,
}

impl Back {
    /// Given the adjoints of the results, those of the arguments.
    pub fn second_loop(
        &self,
        b: &mut Builder,
        incoming: Vec<Option<Dual>>,
        lead: Option<usize>,
    ) -> Result<Vec<Option<Atom>>, DiffError> {
        let (scan, inputs) = (&self.scan, self.body.inputs());
        let mut carried = Vec::new();
        let mut parts = self.each.clone();
        for (i, t) in incoming.into_iter().enumerate().filter(|(i, _)| self.wanted[*i]) {
            let shape = self.body.atom_shape(self.body.outputs()[i]);
            match i < scan.carried {
                true => carried.push(settled(b, lead, t, &shape)?),
                false => {
                    let full = shape.with_leading(scan.turns).map_err(BuildError::from)?;
                    let t = settled(b, lead, t, &full)?;
                    parts.push(by_turn(b, t, lead)?);
                }
            }
        }
        for i in (scan.still()..inputs.len()).filter(|&i| self.active[i]) {
            let shape = Calculus { b, lead }.dual_shape(&inputs[i].shape)?;
            carried.push(b.zeros(shape)?);
        }
        let body = b.callee(self.program.clone(), None)?;
        let op = Scan { body, turns: scan.turns, carried: carried.len(), each: parts.len(), back: !scan.back };
        let all: Vec<Atom> = [carried, parts, self.still.clone()].concat();
        let results = b.push(op, &all)?;
        let mut out = vec![None; inputs.len()];
        for (i, t) in returned(scan, &self.active).zip(results) {
            out[i] = Some(if scan.sequences().contains(&i) { by_turn(b, t, lead)? } else { t });
        }
        Ok(out)
    }
}

/// The active arguments in the order in which the second loop returns their adjoints: carried values and what stays the same, then parts of sequences.
fn returned<'a>(scan: &'a Scan, active: &'a [bool]) -> impl Iterator<Item = usize> + 'a {
    let [before, after] = [0..scan.carried, scan.still()..active.len()];
    before.chain(after).chain(scan.sequences()).filter(|&i| active[i])
}

/// The axis of directions and that of turns exchanged, in either direction; as it is where there are no directions.
fn by_turn(b: &mut Builder, t: Atom, lead: Option<usize>) -> Result<Atom, BuildError> {
    if lead.is_some() { b.swap_leading(t) } else { Ok(t) }
}
