//! Dropping what no output depends on.

use super::{LocalModel, Node, NodeId, Stored, Term};

impl LocalModel {
    /// Which nodes the outputs depend on.
    pub(super) fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.len()];
        self.outputs.iter().for_each(|o| used[o.index()] = true);
        for i in (0..self.len()).rev().filter(|&i| i >= self.directions) {
            if !used[i] {
                continue;
            }
            match self.node(NodeId(i as u32)) {
                Node::Linear(terms) => terms.iter().for_each(|t| used[t.node.index()] = true),
                Node::Max(members) | Node::Norm(members) | Node::Taken(members) => {
                    members.iter().for_each(|m| used[m.index()] = true)
                }
                Node::Seam { taken, across } => [taken, across].iter().for_each(|n| used[n.index()] = true),
                Node::Direction(_) => {}
            }
        }
        used
    }

    /// The same model with those nodes only.
    pub(super) fn pruned(mut self, used: &[bool]) -> LocalModel {
        if used[self.directions..].iter().all(|&u| u) {
            return self;
        }
        let mut number: Vec<NodeId> = Vec::with_capacity(used.len());
        let mut next = 0;
        for (i, &keep) in used.iter().enumerate() {
            number.push(NodeId(next));
            next += u32::from(keep || i < self.directions);
        }
        let moved = |n: NodeId| number[n.index()];
        let nodes = std::mem::take(&mut self.nodes);
        let mut terms: Vec<Term> = Vec::with_capacity(self.terms.len());
        let mut members: Vec<NodeId> = Vec::with_capacity(self.members.len());
        let old = std::mem::take(&mut self.members);
        let keep = |start: u32, end: u32, members: &mut Vec<NodeId>| {
            let first = members.len() as u32;
            members.extend(old[start as usize..end as usize].iter().map(|&m| moved(m)));
            (first, members.len() as u32)
        };
        let kept = nodes.into_iter().zip(&used[self.directions..]).filter(|(_, used)| **used);
        for (stored, _) in kept {
            self.nodes.push(match stored {
                Stored::Linear { start, end } => {
                    let first = terms.len() as u32;
                    for t in &mut self.terms[start as usize..end as usize] {
                        let Term { coefficient, radius, symbol, node } = t;
                        let (coefficient, radius) = (std::mem::take(coefficient), std::mem::take(radius));
                        terms.push(Term { coefficient, radius, symbol: *symbol, node: moved(*node) });
                    }
                    Stored::Linear { start: first, end: terms.len() as u32 }
                }
                Stored::Max { start, end } => {
                    let (start, end) = keep(start, end, &mut members);
                    Stored::Max { start, end }
                }
                Stored::Norm { start, end } => {
                    let (start, end) = keep(start, end, &mut members);
                    Stored::Norm { start, end }
                }
                Stored::Seam { taken, across } => Stored::Seam { taken: moved(taken), across: moved(across) },
                Stored::Taken { start, end } => {
                    let (start, end) = keep(start, end, &mut members);
                    Stored::Taken { start, end }
                }
            });
        }
        (self.terms, self.members) = (terms, members);
        self.outputs.iter_mut().for_each(|o| *o = moved(*o));
        self.kinks.iter_mut().for_each(|k| k.node = moved(k.node));
        self
    }
}
