//! Building the local model: one pass over the scalar equations of a program, values and tangents together.

use super::curvature::{self, Class};
use super::select::Truth;
use super::weigh::Tie;
use super::{ActiveKink, Exactness, LocalModel, Margin, Node, NodeId, Stored, Term};
use crate::builder::BuildError;
use crate::inline::{InlineError, inline_traced};
use crate::number::{Interval, Mixed, Number, NumberError, Rational};
use crate::op::Op;
use crate::program::{Atom, Equation, Program};
use crate::run::{Arg, RunError, RunFault, Site, apply, check_inputs};
use crate::scalarize::scalarize_traced;
use crate::tensor::Tensor;
use std::cmp::Ordering;
use std::collections::HashMap;

/// Up to so many terms or members, repetitions are found by looking at all pairs.
const FEW: usize = 16;

/// Why there is no local model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LocalError {
    /// The program has no value at the point.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The branches of a selection do not agree where they meet.
    #[error("`{}` is not continuous here: {why}", site.shown)]
    Discontinuous {
        /// The selection.
        site: Box<Site>,
        /// What does not agree.
        why: String,
    },
    /// An operation without directional derivative, or one whose derivative cannot be told.
    #[error("`{}` has no directional derivative here that could be told: {why}", site.shown)]
    NoDerivative {
        /// The equation.
        site: Box<Site>,
        /// Why.
        why: String,
    },
    /// The program is too large once its calls are expanded.
    #[error(transparent)]
    Inline(#[from] InlineError),
    /// The program is too large once its tensors are taken apart.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// The local model of a program at a point.
///
/// ```
/// use crease_core::{local::localize, relu, trace, Rational, Tensor};
/// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
/// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
/// assert_eq!(model.kinks().len(), 2);
/// assert!(model.is_exact());
/// let away = localize(&p, &[Tensor::scalar(Rational::from(3))]).unwrap();
/// assert_eq!((away.kinks().len(), away.margins()[0].margin), (0, 3.0));
/// ```
pub fn localize(p: &Program, at: &[Tensor<Rational>]) -> Result<LocalModel, LocalError> {
    check_inputs(p, at, crate::run::Arithmetic::Checked)?;
    let directions = p.dimension();
    let mut m = Localizer {
        root: p,
        model: LocalModel {
            inputs: p.inputs().to_vec(),
            directions,
            nodes: vec![Stored::Linear { start: 0, end: 0 }],
            terms: Vec::new(),
            members: Vec::new(),
            outputs: Vec::new(),
            output_shapes: p.outputs().iter().map(|&o| p.atom_shape(o)).collect(),
            values: Vec::new(),
            kinks: Vec::new(),
            margins: Vec::new(),
            exactness: Exactness::Exact,
            lost: false,
            curved: false,
        },
        zero: NodeId(directions as u32),
        near: vec![false],
        unfinished: Vec::new(),
        undecided: Vec::new(),
        overflow: false,
        bent: false,
        curved: Vec::new(),
        origin: 0,
        operation: "",
    };
    let numbers = at.iter().flat_map(|t| t.data().iter());
    let inputs: Vec<Pair> = numbers.enumerate().map(|(i, x)| (Mixed::Exact(x.clone()), NodeId(i as u32))).collect();
    let outputs = if is_scalar(p) {
        m.program(p, inputs, Origins::Same, 0)?
    } else {
        let (inlined, calls) = inline_traced(p)?;
        let (scalar, tensors) = scalarize_traced(&inlined)?;
        let origins: Vec<u32> = tensors.iter().map(|&e| calls[e as usize]).collect();
        m.program(&scalar, inputs, Origins::Listed(&origins), 0)?
    };
    Ok(m.finish(outputs))
}

/// Whether a program calls nothing and knows no tensors, so that it can be worked on as it is.
fn is_scalar(p: &Program) -> bool {
    let structural =
        |op: &Op| matches!(op, Op::Constant(_) | Op::View { .. } | Op::Assemble { .. } | Op::MatMul { .. });
    p.callees().is_empty() && p.shapes.iter().all(|s| s.is_scalar()) && !p.ops.iter().any(structural)
}

/// A number and the node of its derivative.
pub(super) type Pair = (Mixed, NodeId);

/// From which equations of the root program those of the program at hand came.
#[derive(Clone, Copy)]
pub(super) enum Origins<'a> {
    /// It is the root program.
    Same,
    /// From these.
    Listed(&'a [u32]),
    /// All from the one that is being worked on.
    Fixed,
}

pub(super) struct Localizer<'p> {
    root: &'p Program,
    pub model: LocalModel,
    pub zero: NodeId,
    /// for every node but the directions, whether a coefficient below it is rounded
    near: Vec<bool>,
    /// nodes of kinks, with their equations and how they came about: messages are written for those that survive
    unfinished: Vec<(NodeId, usize, &'static str, Tie)>,
    undecided: Vec<usize>,
    overflow: bool,
    /// whether kinks of the equation at hand may have curved arguments, and those kinks that may
    bent: bool,
    curved: Vec<NodeId>,
    /// the equation of the root program that is being worked on, and the operation there that may have a kink
    origin: usize,
    pub operation: &'static str,
}

impl Localizer<'_> {
    pub fn site(&self) -> Site {
        Site::new(self.root, self.origin)
    }

    pub fn no_derivative(&self, why: impl Into<String>) -> LocalError {
        LocalError::NoDerivative { site: Box::new(self.site()), why: why.into() }
    }

    fn run_error(&self, fault: RunFault) -> RunError {
        RunError { fault, site: Some(Box::new(self.site())) }
    }

    fn push(&mut self, stored: Stored, near: bool) -> NodeId {
        self.model.nodes.push(stored);
        self.near.push(near);
        NodeId((self.model.len() - 1) as u32)
    }

    /// Whether a node rests on a rounded coefficient.
    pub fn is_near(&self, node: NodeId) -> bool {
        node.index().checked_sub(self.model.directions).is_some_and(|i| self.near[i])
    }

    /// A linear combination; what is zero or a copy gets no node of its own.
    pub fn linear(&mut self, terms: &[(&Mixed, NodeId)]) -> NodeId {
        let start = self.model.terms.len();
        let mut near = false;
        let mut places: HashMap<NodeId, usize> = HashMap::new();
        for &(c, node) in terms {
            let (coefficient, slack) = match c {
                _ if node == self.zero => continue,
                Mixed::Exact(r) if r.is_zero() => continue,
                Mixed::Exact(r) => (r.clone(), 0.0),
                Mixed::Near(i) => {
                    near = true;
                    let rounded = Rational::from_f64(i.to_f64());
                    self.overflow |= rounded.is_none();
                    (rounded.unwrap_or(Rational::ZERO), i.width())
                }
            };
            near |= self.is_near(node);
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
                    list[i].slack = if slack == 0.0 { list[i].slack } else { (list[i].slack + slack).next_up() };
                }
                None => list.push(Term { coefficient, slack, node }),
            }
        }
        let mut end = start;
        for i in start..self.model.terms.len() {
            if !self.model.terms[i].coefficient.is_zero() {
                self.model.terms.swap(end, i);
                end += 1;
            } else {
                self.model.lost |= self.model.terms[i].slack != 0.0;
            }
        }
        self.model.terms.truncate(end);
        match &self.model.terms[start..] {
            [] => self.zero,
            [one] if one.coefficient.is_one() && one.slack == 0.0 => {
                let node = one.node;
                self.model.terms.truncate(start);
                node
            }
            _ => self.push(Stored::Linear { start: start as u32, end: end as u32 }, near),
        }
    }

    pub fn negated(&mut self, x: NodeId) -> NodeId {
        let minus = Mixed::one().neg();
        if let Node::Linear([term]) = self.model.node(x)
            && Some(&term.coefficient) == minus.exact()
        {
            return term.node;
        }
        self.linear(&[(&minus, x)])
    }

    /// The maximum of nodes; members that are the same by sight are one. `tie` is given, for each node, the number of its member.
    pub fn max(&mut self, nodes: &[NodeId], tie: impl FnOnce(Vec<u32>) -> Tie) -> NodeId {
        let mut distinct: Vec<NodeId> = Vec::with_capacity(nodes.len());
        let mut entries: Vec<u32> = Vec::with_capacity(nodes.len());
        let mut places: HashMap<Vec<(NodeId, Rational, u64)>, u32> = HashMap::new();
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
        if let [one] = distinct[..] {
            return one;
        }
        let near = distinct.iter().any(|&d| self.is_near(d));
        let start = self.model.members.len() as u32;
        self.model.members.extend(distinct);
        let node = self.push(Stored::Max { start, end: self.model.members.len() as u32 }, near);
        if self.bent {
            self.curved.push(node);
        }
        self.unfinished.push((node, self.origin, self.operation, tie(entries)));
        node
    }

    fn same(&self, a: NodeId, b: NodeId) -> bool {
        a == b
            || match (self.model.node(a), self.model.node(b)) {
                (Node::Linear(x), Node::Linear(y)) => x.len() == y.len() && x.iter().all(|t| y.contains(t)),
                _ => false,
            }
    }

    /// What a node looks like: two of the same look are the same.
    fn sight(&self, node: NodeId) -> Vec<(NodeId, Rational, u64)> {
        match self.model.node(node) {
            Node::Linear(terms) => {
                let mut list: Vec<_> =
                    terms.iter().map(|t| (t.node, t.coefficient.clone(), t.slack.to_bits())).collect();
                list.sort();
                list
            }
            _ => vec![(node, Rational::ONE, 0)],
        }
    }

    /// The order of two numbers. Where enclosures cannot tell, the doubles decide, and that is noted.
    pub fn order(&mut self, a: &Mixed, b: &Mixed) -> Ordering {
        a.compare(b).unwrap_or_else(|| {
            self.note_undecided();
            a.to_f64().partial_cmp(&b.to_f64()).unwrap_or(Ordering::Equal)
        })
    }

    pub fn note_undecided(&mut self) {
        if self.undecided.last() != Some(&self.origin) {
            self.undecided.push(self.origin);
        }
    }

    pub fn margin(&mut self, a: &Mixed, b: &Mixed) {
        let margin = a.sub(b).to_f64().abs();
        self.model.margins.push(Margin { operation: self.operation, equation: self.origin, margin });
    }

    /// Carries out a scalar program on values and their nodes.
    pub fn program(
        &mut self,
        q: &Program,
        inputs: Vec<Pair>,
        origins: Origins<'_>,
        depth: usize,
    ) -> Result<Vec<Pair>, LocalError> {
        let constants: Vec<Mixed> = q.consts.iter().map(|c| Mixed::Exact(c.clone())).collect();
        let (mut values, mut nodes): (Vec<Mixed>, Vec<NodeId>) = inputs.into_iter().unzip();
        values.reserve(q.values());
        nodes.reserve(q.values());
        let mut truths: HashMap<Atom, Truth> = HashMap::new();
        let minus = Mixed::one().neg();
        let one = Mixed::one();
        let mut classes = vec![Class::Affine; values.len()];
        for (i, e) in q.equations().enumerate() {
            // within selections it is that of the selection
            if depth == 0 {
                let args: Vec<Class> = e.args.iter().map(|&a| curvature::of_atom(&classes, a)).collect();
                let (class, bent) = curvature::of_equation(q, &e, &args, 0);
                self.bent = bent;
                classes.extend(e.results().map(|_| class));
            }
            match origins {
                Origins::Same => self.origin = i,
                Origins::Listed(list) => self.origin = list[i] as usize,
                Origins::Fixed => {}
            }
            let number = |a: Atom| match a {
                Atom::Value(v) => &values[v.index()],
                Atom::Const(c) => &constants[c.0 as usize],
            };
            let zero = self.zero;
            let node = |a: Atom| a.value().map_or(zero, |v| nodes[v.index()]);
            if !truths.is_empty() {
                self.check_truths(&e, &truths)?;
            }
            // the bulk of large programs, without detours
            let simple = match (e.op, e.args) {
                (Op::Add, &[a, b]) => {
                    let linear = self.linear(&[(&one, node(a)), (&one, node(b))]);
                    Some((number(a).add(number(b)), linear))
                }
                (Op::Sub, &[a, b]) => {
                    let linear = self.linear(&[(&one, node(a)), (&minus, node(b))]);
                    Some((number(a).sub(number(b)), linear))
                }
                (Op::Mul, &[a, b]) => {
                    let linear = self.linear(&[(number(b), node(a)), (number(a), node(b))]);
                    Some((number(a).mul(number(b)), linear))
                }
                (Op::Neg, &[a]) => Some((number(a).neg(), self.negated(node(a)))),
                _ => None,
            };
            if let Some((value, node)) = simple {
                self.check_finite(std::slice::from_ref(&value))?;
                values.push(value);
                nodes.push(node);
                continue;
            }
            let args: Vec<&Mixed> = e.args.iter().map(|&a| number(a)).collect();
            let tangents: Vec<NodeId> = e.args.iter().map(|&a| node(a)).collect();
            if let Op::Select(ids) = e.op {
                let split = ids.len() - 1;
                let mut conditions = Vec::with_capacity(split);
                for k in 0..split {
                    conditions.push(self.condition(e.args[k], args[k], tangents[k], &truths));
                }
                let rest: Vec<Pair> = args.into_iter().cloned().zip(tangents).skip(split).collect();
                let results = self.select(q, &e, &conditions, &rest, depth)?;
                for (value, node) in results {
                    values.push(value);
                    nodes.push(node);
                }
                continue;
            }
            if let Op::Compare(_) | Op::Logic(_) = e.op {
                let (truth, holds) = self.truth(&e, &args, &tangents, &truths);
                truths.insert(e.first.into(), truth);
                values.push(if holds { Mixed::one() } else { Mixed::zero() });
                nodes.push(self.zero);
                continue;
            }
            let results = self.values(q, &e, &args)?;
            self.check_finite(&results)?;
            let derivatives = self.differentiate(e.op, &args, &tangents, &results)?;
            if self.overflow {
                return Err(self.no_derivative("a derivative is too large for a double"));
            }
            nodes.extend(derivatives);
            values.extend(results);
        }
        let output = |&o: &Atom| match o {
            Atom::Value(v) => (values[v.index()].clone(), nodes[v.index()]),
            Atom::Const(c) => (constants[c.0 as usize].clone(), self.zero),
        };
        if let Some(truth) = q.outputs().iter().find_map(|o| truths.get(o)) {
            self.check_truth(truth)?;
        }
        Ok(q.outputs().iter().map(output).collect())
    }

    /// The values of the results of an equation. Where exact numbers meet enclosures that do not tell which is larger, the result is
    /// an enclosure.
    fn values(&self, q: &Program, e: &Equation<'_>, args: &[&Mixed]) -> Result<Vec<Mixed>, RunError> {
        let slices: Vec<Arg<'_, Mixed>> = args.iter().map(|&x| Arg::single(x)).collect();
        let results = match apply::apply(q, e, &slices) {
            Err(NumberError::Undecided) => {
                let wide: Vec<Interval> = args.iter().map(|x| x.interval()).collect();
                let slices: Vec<Arg<'_, Interval>> = wide.iter().map(Arg::single).collect();
                let near = |list: Vec<Interval>| list.into_iter().map(Mixed::Near).collect();
                apply::apply(q, e, &slices).map(|results| results.into_iter().map(near).collect())
            }
            told => told,
        };
        let results: Vec<Vec<Mixed>> = results.map_err(|fault| self.run_error(fault.into()))?;
        Ok(results.into_iter().flatten().collect())
    }

    fn check_finite(&self, results: &[Mixed]) -> Result<(), LocalError> {
        match results.iter().find(|x| !x.is_finite()) {
            Some(bad) => Err(self.run_error(RunFault::Overflow(bad.to_string())).into()),
            None => Ok(()),
        }
    }

    /// The nodes of the results of a scalar operation.
    fn differentiate(
        &mut self,
        op: &Op,
        args: &[&Mixed],
        t: &[NodeId],
        results: &[Mixed],
    ) -> Result<Vec<NodeId>, LocalError> {
        if t.iter().all(|&n| n == self.zero) {
            return Ok(vec![self.zero; results.len()]);
        }
        let one = Mixed::one();
        let failed = |m: &Self, e: NumberError| m.no_derivative(e.to_string());
        let y = results.first().cloned().unwrap_or_else(Mixed::zero);
        let slope = match op {
            Op::Kink(kink) => return self.kink(kink, args, t),
            Op::Add => return Ok(vec![self.linear(&[(&one, t[0]), (&one, t[1])])]),
            Op::Sub => return Ok(vec![self.linear(&[(&one, t[0]), (&one.neg(), t[1])])]),
            Op::Mul => return Ok(vec![self.linear(&[(args[1], t[0]), (args[0], t[1])])]),
            Op::Div => {
                let over = one.div(args[1]).map_err(|e| failed(self, e))?;
                let down = y.mul(&over).neg();
                return Ok(vec![self.linear(&[(&over, t[0]), (&down, t[1])])]);
            }
            Op::LogSumExp(_) => {
                let weights = args.iter().map(|x| x.sub(&y).exp()).collect::<Result<Vec<_>, _>>();
                let weights = weights.map_err(|e| failed(self, e))?;
                let terms: Vec<(&Mixed, NodeId)> = weights.iter().zip(t.iter().copied()).collect();
                return Ok(vec![self.linear(&terms)]);
            }
            Op::Permute { inverse, .. } => {
                let n = args.len() / 2;
                let mut out = vec![self.zero; n];
                for (k, at) in args[n..].iter().map(|p| p.to_f64() as usize).enumerate() {
                    if *inverse { out[at.min(n - 1)] = t[k] } else { out[k] = t[at.min(n - 1)] }
                }
                return Ok(out);
            }
            Op::Joint(..) | Op::LogSumExpJoint(_) => {
                return Err(self.no_derivative("it is itself a derivative; localize the program it was derived from"));
            }
            // gone from scalar programs, or not differentiated
            Op::Constant(_) | Op::View { .. } | Op::Assemble { .. } | Op::MatMul { .. } => return Ok(vec![self.zero]),
            Op::Call(_) | Op::Select(_) | Op::Compare(_) | Op::Logic(_) => return Ok(vec![self.zero]),
            Op::Neg => one.neg(),
            Op::Inv => y.mul(&y).neg(),
            Op::Exp => y,
            Op::Log => one.div(args[0]).map_err(|e| failed(self, e))?,
            Op::Sqrt => {
                let two = y.add(&y);
                one.div(&two).map_err(|_| self.no_derivative("the square root has infinite slope at 0"))?
            }
            Op::Sin => args[0].cos().map_err(|e| failed(self, e))?,
            Op::Cos => args[0].sin().map_err(|e| failed(self, e))?.neg(),
            Op::Tanh => one.sub(&y.mul(&y)),
            Op::Sigmoid => y.mul(&one.sub(&y)),
            Op::Power(0) => return Ok(vec![self.zero]),
            Op::Power(k) => {
                let lower = args[0].powi(k.saturating_sub(1)).map_err(|e| failed(self, e))?;
                Mixed::Exact(Rational::from(*k)).mul(&lower)
            }
        };
        Ok(vec![self.linear(&[(&slope, t[0])])])
    }

    fn finish(mut self, outputs: Vec<Pair>) -> LocalModel {
        let mut elements = outputs.into_iter();
        for shape in self.model.output_shapes.clone() {
            let part: Vec<Pair> = elements.by_ref().take(shape.len()).collect();
            self.model.outputs.extend(part.iter().map(|p| p.1));
            self.model.values.extend(Tensor::new(shape, part.into_iter().map(|p| p.0).collect()));
        }
        let mut sites: HashMap<usize, Site> = HashMap::new();
        let mut site = |i: usize| sites.entry(i).or_insert_with(|| Site::new(self.root, i)).clone();
        let used = self.model.used();
        let rounded = self.near.iter().zip(&used[self.model.directions..]).any(|(near, used)| *near && *used);
        if rounded || !self.undecided.is_empty() {
            let undecided = self.undecided.iter().map(|&i| site(i)).collect();
            self.model.exactness = Exactness::Approximate { undecided };
        }
        self.model.curved = self.curved.iter().any(|n| used[n.index()]);
        for (node, equation, operation, tie) in self.unfinished {
            if used[node.index()] {
                self.model.kinks.push(ActiveKink { node, operation, site: site(equation), tie });
            }
        }
        self.model.pruned(&used)
    }
}
