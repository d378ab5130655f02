//! What is differentiated: a program and, before it, whatever it needs differentiated of its callees.
//!
//! The entry points of the room end here; [`sweep`](super::sweep) does the work on one program.

use super::columns::{self};
use super::rules::Direction;
use super::{DiffError, How, Technique, declare, scalar_output, unit_directions};
use crate::builder::{BuildError, Builder};
use crate::cost::Columns;
use crate::cost::Counter;
use crate::flow::constants::{Walk, Within};
use crate::op::Op;
use crate::program::{Atom, Callee, Program, ProgramId};
use crate::shape::{Layout, Shape};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Differentiates a program and, before it, whatever it needs differentiated of its callees.
pub(super) struct Deriver<'h> {
    pub how: &'h How,
    /// whether derived programs are only going to be counted: then one column of tangents stands for all of them
    only_counted: bool,
    /// the gradients of called programs, by the technique inside
    joints: HashMap<(ProgramId, Direction), Arc<Program>>,
    /// tangents and adjoints of the branches of selections with several outputs
    branches: HashMap<(ProgramId, Direction, Option<usize>), Arc<Program>>,
    /// the branches of selections that return several outputs or tensors
    in_selection: HashSet<ProgramId>,
    pub counter: Counter,
    /// whether the body of a loop is being differentiated that stands behind an elementwise choice
    pub shielded: bool,
    /// Constants of programs, once for each case.
    pub constants: Walk<()>,
    /// keeps the programs alive whose addresses are keys
    pub keep: Vec<Arc<Program>>,
}

impl<'h> Deriver<'h> {
    /// For programs that are to be emitted.
    pub fn new(p: &Program, how: &'h How) -> Result<Self, DiffError> {
        Deriver::prepared(p, how, false)
    }

    /// For programs that are only going to be counted, by the deriver's counter.
    pub fn to_count(p: &Program, how: &'h How) -> Result<Self, DiffError> {
        Deriver::prepared(p, how, true)
    }

    fn prepared(p: &Program, how: &'h How, only_counted: bool) -> Result<Self, DiffError> {
        how.selection.validate()?;
        super::loops::check_nesting(p)?;
        let mut d = Deriver {
            how,
            only_counted,
            joints: HashMap::new(),
            branches: HashMap::new(),
            in_selection: HashSet::new(),
            counter: Counter::within(&how.limits()),
            shielded: false,
            constants: Walk::new(Within::new(&how.limits())),
            keep: p.library(),
        };
        for q in d.keep.iter().map(|q| &**q).chain([p]) {
            let branches = q.equations().filter_map(|e| match e.op {
                Op::Select(ids) => Some(ids),
                _ => None,
            });
            let programs = branches.flat_map(|ids| ids.iter()).map(|id| &q.callee(*id).program);
            d.in_selection.extend(programs.filter(|q| scalar_output(q).is_err()).map(|q| q.id()));
        }
        // callees before callers, so that nothing here ever has to go deep
        for callee in d.needed(p) {
            let technique = how.technique_of(callee.name());
            let direction = if technique == Technique::Forward { Direction::Forward } else { Direction::Backward };
            d.joint(&callee, direction)?;
        }
        Ok(d)
    }

    /// The programs in the library that are differentiated on their own, callees first.
    fn needed(&self, p: &Program) -> Vec<Arc<Program>> {
        let library = p.library();
        let mut wanted: HashSet<ProgramId> = HashSet::new();
        for q in library.iter().map(|q| &**q).chain([p]) {
            for e in q.equations() {
                match e.op {
                    Op::Call(id) if self.technique(q.callee(*id)).is_some_and(|t| t != Technique::Joint) => {
                        wanted.insert(q.callee(*id).program.id());
                    }
                    Op::Select(ids) => wanted.extend(ids.iter().map(|id| q.callee(*id).program.id())),
                    _ => {}
                }
            }
        }
        let scalar = |q: &Arc<Program>| scalar_output(q).is_ok();
        library.into_iter().filter(|q| wanted.contains(&q.id()) && scalar(q)).collect()
    }

    /// How a call is treated on its own; nothing if it is differentiated through.
    pub fn technique(&self, callee: &Callee) -> Option<Technique> {
        if scalar_output(&callee.program).is_err() {
            return None;
        }
        match self.how.technique_of(callee.program.name()) {
            Technique::Auto if callee.joint.is_some() => Some(Technique::Joint),
            Technique::Auto | Technique::Through => None,
            other => Some(other),
        }
    }

    pub fn joint(&mut self, p: &Arc<Program>, direction: Direction) -> Result<Arc<Program>, DiffError> {
        let key = (p.id(), direction);
        if let Some(known) = self.joints.get(&key) {
            return Ok(known.clone());
        }
        let joint = match direction {
            Direction::Backward => Arc::new(self.backprop(p)?),
            Direction::Forward => {
                let (joint, columns) = self.forprop(p)?;
                self.shared(joint, columns)
            }
        };
        self.keep.push(p.clone());
        self.joints.insert(key, joint.clone());
        Ok(joint)
    }

    /// A derived program that others call, its columns known to the counter.
    pub fn shared(&mut self, derived: Program, columns: Columns) -> Arc<Program> {
        let derived = Arc::new(derived);
        if self.only_counted {
            self.counter.stands_for(&derived, columns);
        }
        derived
    }

    /// How many columns tangents really have, where `lead` are meant.
    pub fn width(&self, lead: Option<usize>) -> Option<usize> {
        if self.only_counted { lead.map(|_| 1) } else { lead }
    }

    pub fn branch(
        &mut self,
        p: &Arc<Program>,
        direction: Direction,
        lead: Option<usize>,
    ) -> Result<Arc<Program>, DiffError> {
        let key = (p.id(), direction, lead);
        if let Some(known) = self.branches.get(&key) {
            return Ok(known.clone());
        }
        // innermost first, so that nothing here goes deep
        for q in p.library() {
            if self.in_selection.contains(&q.id()) && !self.branches.contains_key(&(q.id(), direction, lead)) {
                self.derive_branch(&q, direction, lead)?;
            }
        }
        self.derive_branch(p, direction, lead)
    }

    fn derive_branch(
        &mut self,
        p: &Arc<Program>,
        direction: Direction,
        lead: Option<usize>,
    ) -> Result<Arc<Program>, DiffError> {
        let key = (p.id(), direction, lead);
        let outputs = p.outputs().len();
        let (derived, columns) = match direction {
            Direction::Forward => self.jvp(p, lead)?,
            Direction::Backward => (self.vjp(p, lead)?, Columns::default()),
        };
        let derived = self.shared(super::without_first(&derived, outputs)?, columns);
        self.keep.push(p.clone());
        self.branches.insert(key, derived.clone());
        Ok(derived)
    }

    pub fn backprop(&mut self, p: &Program) -> Result<Program, DiffError> {
        let mut b = Builder::new(format!("backprop_{}", p.name())).within(&self.how.limits());
        let inputs = declare(&mut b, p, "", None)?;
        let seed = b.constant(1);
        let (mut outputs, adjoints) = self.reverse(&mut b, p, &inputs, None, &[Some(seed)], &[], None)?;
        outputs.extend(adjoints);
        Ok(b.finish(&outputs)?)
    }

    pub fn vjp(&mut self, p: &Program, lead: Option<usize>) -> Result<Program, DiffError> {
        self.vjp_by(p, lead, None)
    }

    /// Adjoints by some of the inputs; those of others are zero.
    pub fn vjp_by(&mut self, p: &Program, lead: Option<usize>, by: Option<&[bool]>) -> Result<Program, DiffError> {
        let mut b = Builder::new(format!("vjp_{}", p.name())).within(&self.how.limits());
        let inputs = declare(&mut b, p, "", None)?;
        let mut seeds = Vec::new();
        for (i, &o) in p.outputs().iter().enumerate() {
            let mut shape = p.atom_shape(o);
            if let Some(s) = lead {
                shape = shape.with_leading(s).map_err(crate::BuildError::from)?;
            }
            seeds.push(Some(b.input(fresh(p, &format!("adjoint{i}")), shape)?));
        }
        let (mut outputs, adjoints) = self.reverse(&mut b, p, &inputs, lead, &seeds, &[], by)?;
        outputs.extend(adjoints);
        Ok(b.finish(&outputs)?)
    }

    pub fn forprop(&mut self, p: &Program) -> Result<(Program, Columns), DiffError> {
        let total = p.dimension();
        if total == 0 {
            return Ok((p.clone(), Columns::default()));
        }
        let shapes: Vec<Shape> = p.inputs().iter().map(|i| i.shape.clone()).collect();
        self.check_columns(p, Some(total))?;
        let mut b = Builder::new(format!("forprop_{}", p.name())).within(&self.how.limits());
        let inputs = declare(&mut b, p, "", None)?;
        let seeds = match self.only_counted {
            true => constant_column(&mut b, &shapes)?,
            false => unit_directions(&mut b, &shapes)?,
        };
        let seeds: Vec<Option<Atom>> = seeds.into_iter().map(Some).collect();
        let (mut outputs, tangents, columns) = self.forward(&mut b, p, &inputs, &seeds, Some(total))?;
        // the one tangent holds the derivative by every scalar input, one after the other
        let mut first = 0;
        for shape in shapes {
            let n = shape.len();
            let part = match self.only_counted {
                true => Layout::strided(0, &[(n, 0)]),
                false => Layout::strided(first, &[(n, 1)]),
            };
            outputs.push(b.view(tangents[0], part, shape)?);
            first += n;
        }
        Ok((b.finish(&outputs)?, columns))
    }

    pub fn jvp(&mut self, p: &Program, lead: Option<usize>) -> Result<(Program, Columns), DiffError> {
        self.jvp_by(p, lead, &vec![true; p.inputs().len()])
    }

    /// Tangents along some of the inputs; those of others are taken and not looked at.
    pub fn jvp_by(&mut self, p: &Program, lead: Option<usize>, by: &[bool]) -> Result<(Program, Columns), DiffError> {
        self.check_columns(p, lead)?;
        let mut b = Builder::new(format!("jvp_{}", p.name())).within(&self.how.limits());
        let inputs = declare(&mut b, p, "", None)?;
        let prefix = fresh(p, "d");
        let tangents = declare(&mut b, p, &prefix, self.width(lead))?;
        let tangents: Vec<Option<Atom>> = tangents.into_iter().zip(by).map(|(t, by)| by.then_some(t)).collect();
        let (mut outputs, derivatives, columns) = self.forward(&mut b, p, &inputs, &tangents, lead)?;
        outputs.extend(derivatives);
        Ok((b.finish(&outputs)?, columns))
    }

    /// Refuses to emit more columns than there is room for: those of the inputs. The sweep sees to the rest.
    fn check_columns(&self, p: &Program, lead: Option<usize>) -> Result<(), DiffError> {
        match self.width(lead) {
            None => Ok(()),
            Some(n) => columns::check(p, n, p.inputs().iter().map(|i| &i.shape)),
        }
    }
}

/// One column of seeds that are constants, but no numbers: what they are does not matter where operations are counted.
fn constant_column(b: &mut Builder, shapes: &[Shape]) -> Result<Vec<Atom>, BuildError> {
    let one = b.constant(1);
    shapes.iter().map(|s| b.assemble(s.with_leading(1)?, vec![(one, Layout::identity(s.len()))])).collect()
}

/// A name that no input of the program begins with, so that prefixed or numbered names do not clash.
pub(super) fn fresh(p: &Program, name: &str) -> String {
    let mut name = name.to_string();
    while p.inputs().iter().any(|i| i.name.starts_with(&*name)) {
        name.push('_');
    }
    name
}
