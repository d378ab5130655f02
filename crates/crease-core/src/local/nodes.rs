//! The nodes of a model as they are made: combinations, maxima, pieces and seams (norms have a file of their own). What is zero or a copy gets no node of its own, and
//! nothing that is only enclosed is taken for zero, or for the same as something else.

use super::localize::{LocalError, Localizer};
use super::weigh::Tie;
use super::{Node, NodeId, Stored, Term};
use crate::number::{Mixed, Number, Rational};
use std::collections::HashMap;

/// Up to so many terms or members, repetitions are found by looking at all pairs.
const FEW: usize = 16;

/// The largest number of nodes of a model: what does not fit is refused.
const MAX_NODES: usize = 1 << 27;

impl Localizer<'_> {
    fn push(&mut self, stored: Stored, near: bool) -> NodeId {
        self.model.nodes.push(stored);
        self.near.push(near);
        NodeId((self.model.len() - 1) as u32)
    }

    /// Whether a node rests on an enclosed coefficient.
    pub fn is_near(&self, node: NodeId) -> bool {
        node.index().checked_sub(self.model.directions).is_some_and(|i| self.near[i])
    }

    /// A linear combination whose coefficients are like no others.
    pub fn linear(&mut self, terms: &[(&Mixed, NodeId)]) -> Result<NodeId, LocalError> {
        let named: Vec<(&Mixed, u32, NodeId)> = terms.iter().map(|&(c, node)| (c, self.number_for(c), node)).collect();
        self.combination(&named)
    }

    /// A number for a coefficient that is no value of the program.
    fn number_for(&mut self, c: &Mixed) -> u32 {
        if c.exact().is_none() {
            self.numbers += 1;
        }
        self.numbers
    }

    /// A linear combination, each coefficient with the number of the value that it is; what is zero or a copy gets no node of its own.
    pub fn combination(&mut self, terms: &[(&Mixed, u32, NodeId)]) -> Result<NodeId, LocalError> {
        let start = self.model.terms.len();
        let mut near = false;
        let mut places: HashMap<NodeId, usize> = HashMap::new();
        for &(c, number, node) in terms {
            if node == self.zero {
                continue;
            }
            let symbol = if c.exact().is_none() { number } else { 0 };
            let (coefficient, radius) = match c.exact() {
                Some(r) if r.is_zero() => continue,
                Some(r) => (r.clone(), Rational::ZERO),
                None => {
                    let e = c.enclosure();
                    let known = e.middle().zip(e.radius());
                    known.ok_or_else(|| {
                        self.no_derivative("a derivative is too large or too small to be written down")
                    })?
                }
            };
            let list = &mut self.model.terms;
            let known = if terms.len() <= FEW {
                list[start..].iter().position(|t| t.node == node).map(|i| start + i)
            } else {
                let next = list.len();
                Some(*places.entry(node).or_insert(next)).filter(|&i| i < next)
            };
            match known {
                Some(i) => {
                    list[i].coefficient += &coefficient;
                    list[i].radius += &radius;
                    if !list[i].radius.is_zero() {
                        self.numbers += 1;
                        list[i].symbol = self.numbers;
                    }
                }
                None => list.push(Term { coefficient, radius, symbol, node }),
            }
        }
        let mut end = start;
        for i in start..self.model.terms.len() {
            let t = &self.model.terms[i];
            // an enclosure whose middle is zero may hold anything but nothing
            if !t.coefficient.is_zero() || !t.radius.is_zero() {
                near |= !t.radius.is_zero() || self.is_near(t.node);
                self.model.terms.swap(end, i);
                end += 1;
            }
        }
        self.model.terms.truncate(end);
        match &self.model.terms[start..] {
            [] => Ok(self.zero),
            [one] if one.coefficient.is_one() && one.radius.is_zero() => {
                let node = one.node;
                self.model.terms.truncate(start);
                Ok(node)
            }
            _ => self.bounded(|m| m.push(Stored::Linear { start: start as u32, end: end as u32 }, near)),
        }
    }

    fn bounded(&mut self, push: impl FnOnce(&mut Self) -> NodeId) -> Result<NodeId, LocalError> {
        if self.model.len().max(self.model.terms.len()).max(self.model.members.len()) >= MAX_NODES {
            return Err(self.no_derivative(format!("its local model has more than {MAX_NODES} parts")));
        }
        Ok(push(self))
    }

    pub fn negated(&mut self, x: NodeId) -> Result<NodeId, LocalError> {
        let minus = Mixed::one().neg();
        if let Node::Linear([term]) = self.model.node(x)
            && Some(&term.coefficient) == minus.exact()
            && term.radius.is_zero()
        {
            return Ok(term.node);
        }
        self.linear(&[(&minus, x)])
    }

    /// The maximum of nodes; members that are the same by sight are one. `tie` is given, for each node, the number of its member.
    pub fn max(&mut self, nodes: &[NodeId], tie: impl FnOnce(Vec<u32>) -> Tie) -> Result<NodeId, LocalError> {
        let mut distinct: Vec<NodeId> = Vec::with_capacity(nodes.len());
        let mut entries: Vec<u32> = Vec::with_capacity(nodes.len());
        let mut places: HashMap<Vec<(NodeId, Rational)>, u32> = HashMap::new();
        for &n in nodes {
            let next = distinct.len() as u32;
            let member = if nodes.len() <= FEW {
                distinct.iter().position(|&d| self.same(d, n)).map_or(next, |i| i as u32)
            } else {
                *places.entry(self.sight(n)).or_insert(next)
            };
            if member == next {
                distinct.push(n);
            }
            entries.push(member);
        }
        match distinct[..] {
            [one] => Ok(one),
            _ => self.kink_node(distinct, |start, end| Stored::Max { start, end }, tie(entries)),
        }
    }

    /// A node that is another one, with what is 0 where two branches meet.
    pub fn seam(&mut self, taken: NodeId, across: NodeId) -> Result<NodeId, LocalError> {
        let near = self.is_near(taken) || self.is_near(across);
        self.bounded(|m| m.push(Stored::Seam { taken, across }, near))
    }

    /// A node that takes the first of its members along every direction, although the program may take another at the point itself.
    pub fn taken(&mut self, taken: NodeId, other: NodeId, tie: Tie) -> Result<NodeId, LocalError> {
        self.kink_node(vec![taken, other], |start, end| Stored::Taken { start, end }, tie)
    }

    /// The node of a kink, with its members.
    pub fn kink_node(
        &mut self,
        members: Vec<NodeId>,
        stored: fn(u32, u32) -> Stored,
        tie: Tie,
    ) -> Result<NodeId, LocalError> {
        let inside = members.iter().any(|&d| self.is_near(d));
        let start = self.model.members.len() as u32;
        self.model.members.extend(members);
        let end = self.model.members.len() as u32;
        let stored = stored(start, end);
        // the slopes of a norm are no rational numbers
        let near = inside || matches!(stored, Stored::Norm { .. });
        let node = self.bounded(|m| m.push(stored, near))?;
        if self.bent {
            self.curved.push(node);
        }
        self.unfinished.push((node, self.origin, self.element, self.operation, tie));
        Ok(node)
    }

    /// Whether two nodes are the same by sight. Enclosures of the same numbers need not be enclosures of one number.
    fn same(&self, a: NodeId, b: NodeId) -> bool {
        let exact = |t: &Term| t.radius.is_zero();
        a == b
            || match (self.model.node(a), self.model.node(b)) {
                (Node::Linear(x), Node::Linear(y)) => x.len() == y.len() && x.iter().all(|t| exact(t) && y.contains(t)),
                _ => false,
            }
    }

    /// What a node looks like: two of the same look are the same.
    fn sight(&self, node: NodeId) -> Vec<(NodeId, Rational)> {
        match self.model.node(node) {
            Node::Linear(terms) if terms.iter().all(|t| t.radius.is_zero()) => {
                let mut list: Vec<_> = terms.iter().map(|t| (t.node, t.coefficient.clone())).collect();
                list.sort();
                list
            }
            _ => vec![(node, Rational::ONE)],
        }
    }
}
