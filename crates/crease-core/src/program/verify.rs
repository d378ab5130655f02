//! The verifier: a list of invariants, and every place where one does not hold.
//!
//! The builder keeps all of them, so a fault here is a fault of this crate; transformations are checked with it in tests.
//!
//! 1. Inputs are the first values, in order, with distinct names.
//! 2. Every argument is a value defined before its equation, or a constant of the table.
//! 3. The results of the equations are numbered one after the other.
//! 4. Every operation accepts the shapes of its arguments, and its results have the shapes that follow.
//! 5. Every output is a value or a constant of the table; there is at least one.
//! 6. Every callee number has a callee.

use super::{Atom, Program, Value};
use crate::op::infer::{Signature, infer_with};
use crate::op::{CalleeId, Op, OpError};
use crate::shape::Shape;
use std::fmt;

/// One violated invariant, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The program in which it is.
    pub program: String,
    /// The equation, if it is in one.
    pub equation: Option<usize>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.equation {
            Some(i) => write!(f, "program `{}`, equation {i}: {}", self.program, self.what),
            None => write!(f, "program `{}`: {}", self.program, self.what),
        }
    }
}

impl Program {
    /// Checks every invariant here and in the whole library; all faults are reported.
    ///
    /// ```
    /// let p = crease_core::trace(1, |x| x[0] * x[0]).unwrap();
    /// assert!(p.verify().is_empty());
    /// ```
    pub fn verify(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for p in self.library() {
            p.verify_here(&mut faults);
        }
        self.verify_here(&mut faults);
        faults
    }

    fn verify_here(&self, faults: &mut Vec<Fault>) {
        let mut fault = |equation: Option<usize>, what: String| {
            faults.push(Fault { program: self.name.to_string(), equation, what });
        };
        let mut names = std::collections::HashSet::new();
        for (i, input) in self.inputs.iter().enumerate() {
            if !names.insert(&input.name) {
                fault(None, format!("two inputs named `{}`", input.name));
            }
            if self.value_shapes.get(i).is_none_or(|&s| self.shapes[s as usize] != input.shape) {
                fault(None, format!("input `{}` does not have its declared shape", input.name));
            }
        }
        let mut next = self.inputs.len() as u32;
        for i in 0..self.len() {
            let e = self.equation(i);
            if e.first.0 != next {
                fault(Some(i), format!("its first result is {}, expected {}", e.first, Value(next)));
            }
            next = e.first.0 + e.results as u32;
            let mut usable = true;
            for &a in e.args {
                if !self.is_defined(a, e.first) {
                    usable = false;
                    fault(Some(i), format!("argument {a:?} is not defined before it"));
                }
            }
            for id in e.op.callees() {
                if id.index() >= self.callees().len() {
                    usable = false;
                    fault(Some(i), format!("there is no callee number {}", id.index()));
                }
            }
            if !usable {
                continue;
            }
            match self.infer(e.op, e.args) {
                Err(error) => fault(Some(i), error.to_string()),
                Ok(shapes) => {
                    if !shapes.iter().eq(e.results().map(|v| self.shape(v))) {
                        fault(Some(i), format!("its results should have shapes {shapes:?}"));
                    }
                }
            }
        }
        if next as usize != self.values() {
            fault(None, format!("{} values are defined, {} are listed", next, self.values()));
        }
        if self.outputs.is_empty() {
            fault(None, "it has no output".into());
        }
        for &o in &self.outputs {
            if !self.is_defined(o, Value(self.values() as u32)) {
                fault(None, format!("output {o:?} is not defined"));
            }
        }
    }

    fn is_defined(&self, a: Atom, before: Value) -> bool {
        match a {
            Atom::Value(v) => v < before,
            Atom::Const(c) => (c.0 as usize) < self.consts.len(),
        }
    }

    /// The shapes of the results of an operation applied to values of this program.
    pub(crate) fn infer(&self, op: &Op, args: &[Atom]) -> Result<Vec<Shape>, OpError> {
        let shapes: Vec<Option<&Shape>> = args.iter().map(|a| a.value().map(|v| self.shape(v))).collect();
        infer_with(op, &shapes, |id| self.signature(id))
    }

    fn signature(&self, id: CalleeId) -> Signature<'_> {
        let p = &*self.callee(id).program;
        Signature {
            name: p.name(),
            inputs: p.inputs.iter().map(|i| &i.shape).collect(),
            outputs: p.outputs.iter().map(|&o| p.atom_shape(o)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::ConstId;

    /// `x * x + 1`, then broken.
    fn broken(how: impl Fn(&mut Program)) -> Vec<String> {
        let mut p = crate::trace(1, |x| x[0] * x[0] + 1.0).unwrap();
        assert!(p.verify().is_empty());
        how(&mut p);
        p.verify().iter().map(Fault::to_string).collect()
    }

    #[test]
    fn every_invariant_is_checked() {
        let later = Atom::Value(Value(7));
        assert!(broken(|p| p.args[0] = later)[0].contains("equation 0: argument Value(v7) is not defined before it"));
        assert!(broken(|p| p.args[3] = Atom::Const(ConstId(9)))[0].contains("equation 1"));
        assert!(broken(|p| p.outputs.clear())[0].contains("no output"));
        assert!(broken(|p| p.outputs[0] = later)[0].contains("output"));
        assert!(broken(|p| p.inputs.push(p.inputs[0].clone()))[0].contains("two inputs named `x0`"));
        assert!(broken(|p| p.equations[0].first_result = 2)[0].contains("first result is v2, expected v1"));
        assert!(broken(|p| p.ops[0] = Op::Smooth(crate::op::Smooth::Exp))[0].contains("takes 1 argument, got 2"));
        assert!(broken(|p| p.ops[0] = Op::Call(CalleeId(4)))[0].contains("no callee number 4"));
        let reshaped = broken(|p| {
            p.shapes.push(Shape::vector(2).unwrap());
            p.value_shapes[1] = 1;
        });
        assert!(reshaped[0].contains("should have shapes"), "{reshaped:?}");
    }

    #[test]
    fn all_faults_are_reported() {
        let faults = broken(|p| {
            p.args[0] = Atom::Value(Value(7));
            p.outputs.clear();
        });
        assert_eq!(faults.len(), 2, "{faults:?}");
    }
}
