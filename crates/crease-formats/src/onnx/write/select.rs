//! Selections: an `If` computes the branch that is taken, and no other.
//!
//! Of several branches the first half or the second is taken, and so on, so that many of them do not nest deeply.

use super::apply::{Frame, Held, Writing};
use super::error::WriteError;
use super::nodes::{Tensor, With};
use crease_core::op::CalleeId;
use crease_core::{Equation, Shape};
use std::rc::Rc;

/// The deepest nesting: readers of the format stop at about a hundred messages inside one another, and each `If` takes three.
const DEEPEST: usize = 28;

impl Writing {
    pub fn select(
        &mut self,
        f: &mut Frame<'_>,
        e: &Equation<'_>,
        branches: &[CalleeId],
    ) -> Result<Vec<Held>, WriteError> {
        let (conditions, rest) = e.args.split_at(branches.len() - 1);
        let conditions = conditions.iter().map(|&c| self.truths(f, c)).collect::<Result<Vec<_>, _>>()?;
        let args = rest.iter().map(|&a| self.held(f, a)).collect::<Result<Vec<_>, _>>()?;
        let shapes: Vec<Shape> = e.results().map(|v| f.p.shape(v).clone()).collect();
        let results = self.among(f, branches, &conditions, &args, &shapes)?;
        Ok(results.into_iter().map(Held::Numbers).collect())
    }

    /// The results of the first branch whose condition holds, of the last one if none does.
    fn among(
        &mut self,
        f: &Frame<'_>,
        branches: &[CalleeId],
        conditions: &[Tensor],
        args: &[Held],
        shapes: &[Shape],
    ) -> Result<Vec<Tensor>, WriteError> {
        if let [branch] = branches {
            return self.program(&f.p.callee(*branch).program, args.to_vec());
        }
        if self.nodes.depth() >= DEEPEST {
            return Err(WriteError::Nested { limit: DEEPEST, site: None });
        }
        let half = branches.len() / 2;
        let mut any = conditions[0].clone();
        for c in &conditions[1..half] {
            any = self.nodes.binary("Or", &any, c);
        }
        let mut graphs = Vec::new();
        for (name, range) in [("then_branch", 0..half), ("else_branch", half..branches.len())] {
            self.nodes.begin();
            let last = range.end - 1;
            let results = self.among(f, &branches[range.clone()], &conditions[range.start..last], args, shapes)?;
            let mut ports = Vec::new();
            for (t, shape) in results.iter().zip(shapes) {
                // what is returned has to be computed inside
                let t = self.nodes.unary("Identity", t);
                ports.push(self.nodes.port(&t.name, shape.dims()));
            }
            let graph = self.nodes.end(name, ports);
            graphs.push(With::Graph(name, graph));
        }
        let names: Vec<Rc<str>> = self.nodes.nodes("If", &[&any], graphs, shapes.len());
        let tensor = |(name, shape): (Rc<str>, &Shape)| Tensor { name, dims: shape.dims().to_vec() };
        Ok(names.into_iter().zip(shapes).map(tensor).collect())
    }
}
