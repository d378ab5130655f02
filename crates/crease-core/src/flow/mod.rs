//! Over whole libraries: what is found out about a program from what is known of its callees, and what is made of it from what was made
//! of them.
//!
//! A program enters, and a function that says something about one program given what it said about its callees; what leaves is its word
//! about each, under their [ids](crate::ProgramId). Each program is looked at once, however often it is called, and nesting is not recursed over,
//! so that nothing here takes longer than the text is long. Sizes are in [`size`], which numbers are constants in [`constants`], what has a derivative
//! in [`activity`], how operations bend what goes in in [`curvature`], what may be missing behind a choice in [`shielded`]; a transformation of programs is the same with programs as what is said
//! ([`Program::mapped`]).

pub(crate) mod activity;
pub(crate) mod constants;
pub(crate) mod curvature;
pub(crate) mod shielded;
pub(crate) mod size;

use crate::builder::{BuildError, Builder};
use crate::op::{CalleeId, Op};
use crate::program::{Callee, Program, ProgramId};
use std::collections::HashMap;
use std::ops::Index;
use std::sync::Arc;

/// Something about each program of a library.
pub(crate) struct PerProgram<T>(HashMap<ProgramId, T>);

/// For what every program of the library has.
impl<T> Index<&Program> for PerProgram<T> {
    type Output = T;

    fn index(&self, p: &Program) -> &T {
        &self.0[&p.id()]
    }
}

impl<T> Default for PerProgram<T> {
    fn default() -> Self {
        PerProgram(HashMap::new())
    }
}

impl<T> PerProgram<T> {
    /// What is there about a program, if it was looked at.
    pub fn get(&self, p: &Program) -> Option<&T> {
        self.0.get(&p.id())
    }

    /// Notes something about a program.
    pub fn insert(&mut self, p: &Program, of: T) {
        self.0.insert(p.id(), of);
    }
}

impl Program {
    /// Says something about each program of the library, callees first, and about this one at last.
    pub(crate) fn each<T>(&self, mut say: impl FnMut(&Program, &PerProgram<T>) -> T) -> PerProgram<T> {
        let mut said = PerProgram::default();
        for q in self.library().iter().map(|q| &**q).chain([self]) {
            let of = say(q, &said);
            said.insert(q, of);
        }
        said
    }

    /// Makes another program of each program of the library, callees first, and returns what was made of this one.
    pub(crate) fn mapped<T, E>(
        &self,
        mut make: impl FnMut(&Program, &Made) -> Result<(Program, T), E>,
    ) -> Result<(Program, T), E> {
        let mut made = Made::default();
        for q in self.library() {
            let program = Arc::new(make(&q, &made)?.0);
            made.insert(&q, program);
        }
        make(self, &made)
    }
}

/// What was made of programs.
pub(crate) type Made = PerProgram<Arc<Program>>;

impl Made {
    /// What a program became, or itself.
    fn of(&self, p: &Arc<Program>) -> Arc<Program> {
        self.get(p).unwrap_or(p).clone()
    }

    /// An operation of `p` with what its sub-programs became, as callees of the program that is being built.
    pub fn op(&self, b: &mut Builder, p: &Program, op: &Op) -> Result<Op, BuildError> {
        self.with(b, p, op, |c| (self.of(&c.program), c.joint.as_ref().map(|j| self.of(j))))
    }

    /// The same without the joint programs.
    pub fn op_alone(&self, b: &mut Builder, p: &Program, op: &Op) -> Result<Op, BuildError> {
        self.with(b, p, op, |c| (self.of(&c.program), None))
    }

    fn with(
        &self,
        b: &mut Builder,
        p: &Program,
        op: &Op,
        become_: impl Fn(&Callee) -> (Arc<Program>, Option<Arc<Program>>),
    ) -> Result<Op, BuildError> {
        let mut ids: HashMap<CalleeId, CalleeId> = HashMap::new();
        for &id in op.callees() {
            let (program, joint) = become_(p.callee(id));
            ids.insert(id, b.callee(program, joint)?);
        }
        Ok(op.map_callees(|id| ids[&id]))
    }
}
