//! `If`: a condition that is known takes one branch into the program; a computed one becomes a selection between two programs.
//!
//! Both programs take the same inputs: what either of the branches needs of the graphs around it. What is known there stays known inside.

use super::branches::Graph;
use super::error::{Fault, OnnxError, refuse};
use super::graph::Reading;
use super::order::order;
use super::values::{Budget, Data, Known, Value};
use crease_core::{Atom, Builder, Op, Program, Shape};
use std::sync::Arc;

impl<'g> Reading<'g> {
    /// The results of an `If` with these branches.
    pub(super) fn conditional(
        &mut self,
        branches: &'g [Graph; 2],
        args: &[Option<Value>],
        in_node: &dyn Fn(Fault) -> OnnxError,
    ) -> Result<Vec<Value>, OnnxError> {
        let fail = |why: &str| in_node(Fault::Node(why.into()));
        let mut captured: Vec<(&'g str, Value)> = Vec::new();
        for name in branches.iter().flat_map(Graph::free) {
            if !captured.iter().any(|(n, _)| *n == name) {
                captured.push((name, self.value(name)?));
            }
        }
        let condition = match args {
            [Some(Value::Known(Known { data: Data::Bool(d), .. }))] if d.len() == 1 => {
                return self.inlined(&branches[usize::from(!d[0])], captured);
            }
            [Some(Value::Real(a))] if self.builder.shape(*a).len() == 1 => *a,
            _ => return Err(fail("its condition must be one truth value")),
        };
        let selected = self.selected(branches, condition, captured, in_node)?;
        Ok(selected.into_iter().map(Value::Real).collect())
    }

    /// The nodes of a branch among those around it.
    fn inlined(&mut self, branch: &'g Graph, captured: Vec<(&'g str, Value)>) -> Result<Vec<Value>, OnnxError> {
        let mut inner = self.inside(branch, captured)?;
        std::mem::swap(&mut inner.builder, &mut self.builder);
        let results = inner.branch()?;
        std::mem::swap(&mut inner.builder, &mut self.builder);
        self.budget = inner.budget;
        Ok(results)
    }

    /// Both branches as programs, and the choice between them.
    fn selected(
        &mut self,
        branches: &'g [Graph; 2],
        condition: Atom,
        captured: Vec<(&'g str, Value)>,
        in_node: &dyn Fn(Fault) -> OnnxError,
    ) -> Result<Vec<Atom>, OnnxError> {
        let fault = |e: crease_core::BuildError| in_node(e.into());
        let scalar = self.builder.reshape(condition, &Shape::scalar()).map_err(fault)?;
        let mut arguments = vec![scalar];
        arguments.extend(captured.iter().filter_map(|(_, v)| if let Value::Real(a) = v { Some(*a) } else { None }));
        let mut ids = Vec::new();
        for branch in branches {
            let mut values = Vec::new();
            let mut builder = Builder::new(if branch.proto.name().is_empty() { "branch" } else { branch.proto.name() });
            for (name, value) in &captured {
                let inside = match value {
                    Value::Real(a) => Value::Real(builder.input(*name, self.builder.shape(*a)).map_err(fault)?),
                    Value::Known(k) => Value::Known(k.clone()),
                    Value::Masked(_) => {
                        return Err(in_node(Fault::Node(
                            "a branch takes a value of which some numbers are minus infinity".into(),
                        )));
                    }
                };
                values.push((*name, inside));
            }
            let mut inner = self.inside(branch, values)?;
            inner.builder = builder;
            let results = inner.branch()?;
            let atoms = results.iter().map(|v| inner.result(v)).collect::<Result<Vec<_>, _>>().map_err(in_node)?;
            let program: Program = inner.builder.finish(&atoms).map_err(fault)?;
            self.budget = inner.budget;
            ids.push(self.builder.callee(Arc::new(program), None).map_err(fault)?);
        }
        self.builder.push(Op::Select(ids.into()), &arguments).map_err(fault)
    }

    /// A reading of a branch, which goes on with what may still be allocated.
    fn inside(&mut self, branch: &'g Graph, captured: Vec<(&'g str, Value)>) -> Result<Reading<'g>, OnnxError> {
        let mut inner = Reading::new(branch, self.options, self.opset)?;
        inner.budget = std::mem::replace(&mut self.budget, Budget::new(0));
        inner.whole = self.whole.clone();
        inner.values.extend(captured);
        Ok(inner)
    }

    /// What a branch gives.
    fn branch(&mut self) -> Result<Vec<Value>, OnnxError> {
        let graph = &self.graph.proto;
        if let Some(input) = graph.input.iter().find(|i| !self.initializers.contains_key(i.name())) {
            return Err(OnnxError::Malformed(format!(
                "a branch has an input, `{}`; branches have none",
                super::error::cut(input.name())
            )));
        }
        let needs = self.graph.needs();
        let given: Vec<&str> = self.initializers.keys().chain(self.values.keys()).copied().collect();
        let outputs: Vec<&str> = graph.output.iter().map(|o| o.name()).collect();
        let sorted = order(&graph.node, &needs, &given, &outputs)?;
        self.nodes(&sorted)
    }
}

/// An `If` without both of its branches.
pub(super) fn unread(_: &mut super::call::Call<'_>) -> super::call::Results {
    refuse("it must have a then_branch and an else_branch")
}
