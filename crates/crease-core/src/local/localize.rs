//! Building the local model: one pass over the scalar equations of a program, values and tangents together.

use super::{ActiveKink, Exactness, LocalModel, Margin, Node, NodeId, Stored, Term};
use crate::builder::BuildError;
use crate::inline::{InlineError, inline_traced};
use crate::number::{Mixed, Number, NumberError, Rational};
use crate::op::{Comparison, Kink, Logic, Op};
use crate::program::{Atom, Equation, Program};
use crate::run::{Arg, RunError, RunFault, Site, apply, check_inputs};
use crate::scalarize::scalarize_traced;
use crate::tensor::Tensor;
use std::cmp::Ordering;
use std::collections::HashMap;

/// How deep selections may be nested in branches of selections.
const MAX_NESTED_SELECTIONS: usize = 200;

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
    let (inlined, calls) = inline_traced(p)?;
    let (scalar, tensors) = scalarize_traced(&inlined)?;
    let origins: Vec<u32> = tensors.iter().map(|&e| calls[e as usize]).collect();
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
        },
        zero: NodeId(directions as u32),
        undecided: Vec::new(),
        approximate: false,
        origin: 0,
        operation: "",
    };
    let numbers = at.iter().flat_map(|t| t.data().iter());
    let inputs = numbers.enumerate().map(|(i, x)| (Mixed::Exact(x.clone()), NodeId(i as u32))).collect();
    let outputs = m.program(&scalar, inputs, Some(&origins), 0)?;
    let mut elements = outputs.into_iter();
    let shapes = m.model.output_shapes.clone();
    for shape in shapes {
        let part: Vec<(Mixed, NodeId)> = elements.by_ref().take(shape.len()).collect();
        m.model.outputs.extend(part.iter().map(|p| p.1));
        m.model.values.extend(Tensor::new(shape, part.into_iter().map(|p| p.0).collect()));
    }
    if m.approximate || !m.undecided.is_empty() {
        m.model.exactness = Exactness::Approximate { undecided: m.undecided };
    }
    Ok(m.model.pruned())
}

/// A truth value near the point.
#[derive(Clone, Debug)]
enum Truth {
    /// The same in a neighbourhood.
    Fixed(bool),
    /// It depends on the sign of a difference that is zero at the point.
    Tied { left: NodeId, right: NodeId, holds: [bool; 3] },
    /// It depends on several of them.
    Complex,
}

struct Localizer<'p> {
    root: &'p Program,
    model: LocalModel,
    zero: NodeId,
    undecided: Vec<Site>,
    approximate: bool,
    /// the equation of the root program that is being worked on, and the operation there that may have a kink
    origin: usize,
    operation: &'static str,
}

impl Localizer<'_> {
    fn site(&self) -> Site {
        Site::new(self.root, self.origin)
    }

    fn no_derivative(&self, why: impl Into<String>) -> LocalError {
        LocalError::NoDerivative { site: Box::new(self.site()), why: why.into() }
    }

    fn push(&mut self, stored: Stored) -> NodeId {
        self.model.nodes.push(stored);
        NodeId((self.model.len() - 1) as u32)
    }

    fn coefficient(&mut self, c: &Mixed) -> Rational {
        match c {
            Mixed::Exact(r) => r.clone(),
            Mixed::Near(i) => {
                self.approximate = true;
                Rational::from_f64(i.to_f64()).unwrap_or(Rational::ZERO)
            }
        }
    }

    /// A linear combination; what is zero or a copy gets no node of its own.
    fn linear(&mut self, terms: &[(&Mixed, NodeId)]) -> NodeId {
        let mut list: Vec<Term> = Vec::with_capacity(terms.len());
        for &(c, node) in terms {
            if node == self.zero || c.exact().is_some_and(Rational::is_zero) {
                continue;
            }
            let coefficient = self.coefficient(c);
            match list.iter_mut().find(|t| t.node == node) {
                Some(t) => t.coefficient += &coefficient,
                None => list.push(Term { coefficient, node }),
            }
        }
        list.retain(|t| !t.coefficient.is_zero());
        match &list[..] {
            [] => self.zero,
            [one] if one.coefficient.is_one() => one.node,
            _ => {
                let start = self.model.terms.len() as u32;
                self.model.terms.extend(list);
                self.push(Stored::Linear { start, end: self.model.terms.len() as u32 })
            }
        }
    }

    fn negated(&mut self, x: NodeId) -> NodeId {
        self.linear(&[(&Mixed::one().neg(), x)])
    }

    /// The maximum of nodes; members that are the same by sight are one.
    fn max(&mut self, members: &[NodeId]) -> NodeId {
        let mut distinct: Vec<NodeId> = Vec::with_capacity(members.len());
        for &m in members {
            if !distinct.iter().any(|&d| self.same(d, m)) {
                distinct.push(m);
            }
        }
        if let [one] = distinct[..] {
            return one;
        }
        let start = self.model.members.len() as u32;
        self.model.members.extend(distinct);
        let node = self.push(Stored::Max { start, end: self.model.members.len() as u32 });
        let site = self.site();
        self.model.kinks.push(ActiveKink { node, operation: self.operation, site });
        node
    }

    fn same(&self, a: NodeId, b: NodeId) -> bool {
        a == b
            || match (self.model.node(a), self.model.node(b)) {
                (Node::Linear(x), Node::Linear(y)) => x.len() == y.len() && x.iter().all(|t| y.contains(t)),
                _ => false,
            }
    }

    fn min(&mut self, members: &[NodeId]) -> NodeId {
        let negated: Vec<NodeId> = members.iter().map(|&m| self.negated(m)).collect();
        let largest = self.max(&negated);
        self.negated(largest)
    }

    /// The order of two numbers. Where enclosures cannot tell, the doubles decide, and that is noted.
    fn order(&mut self, a: &Mixed, b: &Mixed) -> Ordering {
        a.compare(b).unwrap_or_else(|| {
            let site = self.site();
            if self.undecided.last() != Some(&site) {
                self.undecided.push(site);
            }
            a.to_f64().partial_cmp(&b.to_f64()).unwrap_or(Ordering::Equal)
        })
    }

    fn margin(&mut self, a: &Mixed, b: &Mixed) {
        let margin = a.sub(b).to_f64().abs();
        self.model.margins.push(Margin { operation: self.operation, equation: self.origin, margin });
    }

    /// Carries out a scalar program on values and their nodes.
    fn program(
        &mut self,
        q: &Program,
        inputs: Vec<(Mixed, NodeId)>,
        origins: Option<&[u32]>,
        depth: usize,
    ) -> Result<Vec<(Mixed, NodeId)>, LocalError> {
        let constants: Vec<Mixed> = q.consts.iter().map(|c| Mixed::Exact(c.clone())).collect();
        let (mut values, mut nodes): (Vec<Mixed>, Vec<NodeId>) = inputs.into_iter().unzip();
        let mut truths: HashMap<u32, Truth> = HashMap::new();
        for (i, e) in q.equations().enumerate() {
            if let Some(origins) = origins {
                self.origin = origins[i] as usize;
            }
            let number = |a: Atom| match a {
                Atom::Value(v) => values[v.index()].clone(),
                Atom::Const(c) => constants[c.0 as usize].clone(),
            };
            let node = |a: Atom| a.value().map_or(self.zero, |v| nodes[v.index()]);
            let args: Vec<Mixed> = e.args.iter().map(|&a| number(a)).collect();
            let tangents: Vec<NodeId> = e.args.iter().map(|&a| node(a)).collect();
            if let Op::Select(ids) = e.op {
                let conditions: Vec<Truth> = e.args[..ids.len() - 1]
                    .iter()
                    .zip(&args)
                    .map(|(a, x)| match a.value().and_then(|v| truths.get(&v.0)) {
                        Some(t) => t.clone(),
                        None => Truth::Fixed(*x != Mixed::zero()),
                    })
                    .collect();
                let rest: Vec<(Mixed, NodeId)> = args.into_iter().zip(tangents).skip(ids.len() - 1).collect();
                let results = self.select(q, &e, &conditions, &rest, depth)?;
                for (value, node) in results {
                    values.push(value);
                    nodes.push(node);
                }
                continue;
            }
            let slices: Vec<Arg<'_, Mixed>> = args.iter().map(Arg::single).collect();
            let results = apply::apply(q, &e, &slices).map_err(|fault| self.run_error(fault.into()))?;
            let results: Vec<Mixed> = results.into_iter().flatten().collect();
            if let Some(bad) = results.iter().find(|x| !x.is_finite()) {
                return Err(self.run_error(RunFault::Overflow(bad.to_string())).into());
            }
            if let Op::Compare(_) | Op::Logic(_) = e.op {
                let truth = self.truth(&e, &args, &tangents, &truths);
                truths.insert(e.first.0, truth);
                values.extend(results);
                nodes.push(self.zero);
                continue;
            }
            let derivatives = self.differentiate(e.op, &args, &tangents, &results)?;
            nodes.extend(derivatives);
            values.extend(results);
        }
        let output = |&o: &Atom| match o {
            Atom::Value(v) => (values[v.index()].clone(), nodes[v.index()]),
            Atom::Const(c) => (constants[c.0 as usize].clone(), self.zero),
        };
        Ok(q.outputs().iter().map(output).collect())
    }

    fn run_error(&self, fault: RunFault) -> RunError {
        RunError { fault, site: Some(Box::new(self.site())) }
    }

    /// The nodes of the results of a scalar operation.
    fn differentiate(
        &mut self,
        op: &Op,
        args: &[Mixed],
        t: &[NodeId],
        results: &[Mixed],
    ) -> Result<Vec<NodeId>, LocalError> {
        if t.iter().all(|&n| n == self.zero) {
            return Ok(vec![self.zero; results.len()]);
        }
        let one = Mixed::one();
        let failed = |m: &Self, e: NumberError| m.no_derivative(e.to_string());
        let y = results.first().cloned().unwrap_or_else(Mixed::zero);
        let node = match op {
            Op::Add => self.linear(&[(&one, t[0]), (&one, t[1])]),
            Op::Sub => self.linear(&[(&one, t[0]), (&one.neg(), t[1])]),
            Op::Mul => self.linear(&[(&args[1], t[0]), (&args[0], t[1])]),
            Op::Div => {
                let over = one.div(&args[1]).map_err(|e| failed(self, e))?;
                let down = y.mul(&over).neg();
                self.linear(&[(&over, t[0]), (&down, t[1])])
            }
            Op::Neg => self.negated(t[0]),
            Op::Inv => self.linear(&[(&y.mul(&y).neg(), t[0])]),
            Op::Exp => self.linear(&[(&y, t[0])]),
            Op::Log => {
                let c = one.div(&args[0]).map_err(|e| failed(self, e))?;
                self.linear(&[(&c, t[0])])
            }
            Op::Sqrt => {
                let two = y.add(&y);
                let c = one.div(&two).map_err(|_| self.no_derivative("the square root has infinite slope at 0"))?;
                self.linear(&[(&c, t[0])])
            }
            Op::Sin => {
                let c = args[0].cos().map_err(|e| failed(self, e))?;
                self.linear(&[(&c, t[0])])
            }
            Op::Cos => {
                let c = args[0].sin().map_err(|e| failed(self, e))?;
                self.linear(&[(&c.neg(), t[0])])
            }
            Op::Tanh => self.linear(&[(&one.sub(&y.mul(&y)), t[0])]),
            Op::Sigmoid => self.linear(&[(&y.mul(&one.sub(&y)), t[0])]),
            Op::Power(0) => self.zero,
            Op::Power(k) => {
                let lower = args[0].powi(k.saturating_sub(1)).map_err(|e| failed(self, e))?;
                let c = Mixed::Exact(Rational::from(*k)).mul(&lower);
                self.linear(&[(&c, t[0])])
            }
            Op::LogSumExp(_) => {
                let weights = args.iter().map(|x| x.sub(&y).exp()).collect::<Result<Vec<_>, _>>();
                let weights = weights.map_err(|e| failed(self, e))?;
                let terms: Vec<(&Mixed, NodeId)> = weights.iter().zip(t.iter().copied()).collect();
                self.linear(&terms)
            }
            Op::Permute { inverse, .. } => {
                let n = args.len() / 2;
                let positions = args[n..].iter().map(|p| p.to_f64() as usize);
                let mut out = vec![self.zero; n];
                for (k, at) in positions.enumerate() {
                    if *inverse { out[at.min(n - 1)] = t[k] } else { out[k] = t[at.min(n - 1)] }
                }
                return Ok(out);
            }
            Op::Kink(kink) => return self.kink(kink, args, t),
            Op::Joint(..) | Op::LogSumExpJoint(_) => {
                return Err(self.no_derivative("it is itself a derivative; localize the program it was derived from"));
            }
            _ => self.zero,
        };
        Ok(vec![node])
    }

    /// The sign of the argument of an operation with its kink at zero, its margin noted.
    fn side(&mut self, x: &Mixed) -> Ordering {
        let zero = Mixed::zero();
        let side = self.order(x, &zero);
        if side.is_ne() {
            self.margin(x, &zero);
        }
        side
    }

    /// A function of one variable with slopes `left` and `right` at its kink.
    fn hinge(&mut self, x: &Mixed, t: NodeId, left: &Mixed, right: &Mixed) -> NodeId {
        match self.side(x) {
            Ordering::Less => self.linear(&[(left, t)]),
            Ordering::Greater => self.linear(&[(right, t)]),
            Ordering::Equal => {
                let arms = [self.linear(&[(left, t)]), self.linear(&[(right, t)])];
                // convex where the right slope is the larger
                if right.sub(left).to_f64() >= 0.0 { self.max(&arms) } else { self.min(&arms) }
            }
        }
    }

    fn kink(&mut self, kink: &Kink, args: &[Mixed], t: &[NodeId]) -> Result<Vec<NodeId>, LocalError> {
        self.operation = kink.name();
        let (zero, one) = (Mixed::zero(), Mixed::one());
        let node = match kink {
            Kink::Relu => self.hinge(&args[0], t[0], &zero, &one),
            Kink::Abs => self.hinge(&args[0], t[0], &one.neg(), &one),
            Kink::LeakyRelu(slope) => self.hinge(&args[0], t[0], &Mixed::Exact(slope.clone()), &one),
            Kink::Elu(scale) => {
                let scale = Mixed::Exact(scale.clone());
                let left = match args[0].compare(&zero) {
                    Some(Ordering::Equal | Ordering::Greater) => scale,
                    _ => scale.mul(&args[0].exp().map_err(|e| self.no_derivative(e.to_string()))?),
                };
                self.hinge(&args[0], t[0], &left, &one)
            }
            Kink::TimesRelu => {
                let rectified = args[1].relu().map_err(|e| self.no_derivative(e.to_string()))?;
                let inner = self.hinge(&args[1], t[1], &zero, &one);
                self.linear(&[(&rectified, t[0]), (&args[0], inner)])
            }
            Kink::Max(_) => self.extreme(args, t, Ordering::Greater),
            Kink::Min(_) => self.extreme(args, t, Ordering::Less),
            Kink::Norm1(_) => {
                let sizes: Vec<NodeId> = args.iter().zip(t).map(|(x, &t)| self.hinge(x, t, &one.neg(), &one)).collect();
                let terms: Vec<(&Mixed, NodeId)> = sizes.iter().map(|&s| (&one, s)).collect();
                self.linear(&terms)
            }
            Kink::NormInf(_) => {
                let (mut numbers, mut nodes) = (Vec::new(), Vec::new());
                for (x, &t) in args.iter().zip(t) {
                    let minus = self.negated(t);
                    numbers.extend([x.clone(), x.neg()]);
                    nodes.extend([t, minus]);
                }
                self.extreme(&numbers, &nodes, Ordering::Greater)
            }
            Kink::OrderStatistic(_, k) => self.sorted(args, t)[*k],
            Kink::Sort(_) => return Ok(self.sorted(args, t)),
            Kink::MaxLinear { rows, .. } => {
                let columns = args.len() / (rows + 1);
                let (a, x) = args.split_at(rows * columns);
                let (ta, tx) = t.split_at(rows * columns);
                let (mut numbers, mut nodes) = (Vec::new(), Vec::new());
                for r in 0..*rows {
                    let row = r * columns..(r + 1) * columns;
                    let products = a[row.clone()].iter().zip(x).map(|(a, x)| a.mul(x));
                    numbers.push(products.reduce(|s, y| s.add(&y)).unwrap_or_else(Mixed::zero));
                    let by_a = x.iter().zip(ta[row.clone()].iter().copied());
                    let by_x = a[row].iter().zip(tx.iter().copied());
                    let terms: Vec<(&Mixed, NodeId)> = by_a.chain(by_x).collect();
                    nodes.push(self.linear(&terms));
                }
                self.extreme(&numbers, &nodes, Ordering::Greater)
            }
        };
        Ok(vec![node])
    }

    /// The largest or smallest of several numbers: only those that tie for it remain.
    fn extreme(&mut self, args: &[Mixed], t: &[NodeId], which: Ordering) -> NodeId {
        let mut best = 0;
        for i in 1..args.len() {
            if self.order(&args[i], &args[best]) == which {
                best = i;
            }
        }
        let mut tied = Vec::new();
        let mut next: Option<usize> = None;
        for i in 0..args.len() {
            if i == best || self.order(&args[i], &args[best]).is_eq() {
                tied.push(t[i]);
            } else if next.is_none_or(|n| self.order(&args[i], &args[n]) == which) {
                next = Some(i);
            }
        }
        if let (1, Some(n)) = (tied.len(), next) {
            self.margin(&args[best], &args[n]);
        }
        if which == Ordering::Greater { self.max(&tied) } else { self.min(&tied) }
    }

    /// Numbers in ascending order: the nodes of the sorted values. Groups of equal numbers are sorted by exchanges of
    /// neighbours, each one maximum: the smaller of two is their sum less the larger.
    fn sorted(&mut self, args: &[Mixed], t: &[NodeId]) -> Vec<NodeId> {
        let mut order: Vec<usize> = Vec::with_capacity(args.len());
        for i in 0..args.len() {
            let mut at = order.len();
            while at > 0 && self.order(&args[order[at - 1]], &args[i]).is_gt() {
                at -= 1;
            }
            order.insert(at, i);
        }
        let mut nodes: Vec<NodeId> = order.iter().map(|&i| t[i]).collect();
        let mut start = 0;
        for end in 1..=order.len() {
            let ends = end == order.len() || self.order(&args[order[end]], &args[order[start]]).is_ne();
            if ends {
                if end < order.len() {
                    self.margin(&args[order[end]], &args[order[end - 1]]);
                }
                self.exchange(&mut nodes[start..end]);
                start = end;
            }
        }
        nodes
    }

    fn exchange(&mut self, group: &mut [NodeId]) {
        let one = Mixed::one();
        for round in 0..group.len() {
            for i in (round % 2..group.len().saturating_sub(1)).step_by(2) {
                let (a, b) = (group[i], group[i + 1]);
                let larger = self.max(&[a, b]);
                group[i] = self.linear(&[(&one, a), (&one, b), (&one.neg(), larger)]);
                group[i + 1] = larger;
            }
        }
    }

    fn truth(&mut self, e: &Equation<'_>, args: &[Mixed], t: &[NodeId], known: &HashMap<u32, Truth>) -> Truth {
        let part = |i: usize| match e.args[i].value().and_then(|v| known.get(&v.0)) {
            Some(truth) => truth.clone(),
            None => Truth::Fixed(args[i] != Mixed::zero()),
        };
        match e.op {
            Op::Compare(how) => {
                self.operation = "select";
                match self.order(&args[0], &args[1]) {
                    Ordering::Equal => Truth::Tied { left: t[0], right: t[1], holds: signs(*how) },
                    order => {
                        self.margin(&args[0], &args[1]);
                        Truth::Fixed(how.holds(order))
                    }
                }
            }
            Op::Logic(Logic::Not) => match part(0) {
                Truth::Fixed(b) => Truth::Fixed(!b),
                Truth::Tied { left, right, holds } => Truth::Tied { left, right, holds: holds.map(|h| !h) },
                Truth::Complex => Truth::Complex,
            },
            Op::Logic(how) => {
                // the value that settles the result whatever the other one is
                let settles = *how == Logic::Or;
                match (part(0), part(1)) {
                    (Truth::Fixed(b), _) | (_, Truth::Fixed(b)) if b == settles => Truth::Fixed(settles),
                    (Truth::Fixed(_), other) | (other, Truth::Fixed(_)) => other,
                    _ => Truth::Complex,
                }
            }
            _ => Truth::Complex,
        }
    }

    /// A selection: the branch that is taken near the point, or, where two meet, both of them joined at a kink.
    fn select(
        &mut self,
        q: &Program,
        e: &Equation<'_>,
        conditions: &[Truth],
        args: &[(Mixed, NodeId)],
        depth: usize,
    ) -> Result<Vec<(Mixed, NodeId)>, LocalError> {
        let Op::Select(ids) = e.op else { return Ok(Vec::new()) };
        if depth >= MAX_NESTED_SELECTIONS {
            return Err(self.no_derivative(format!("more than {MAX_NESTED_SELECTIONS} selections are nested")));
        }
        let mut meeting: Vec<(usize, Truth)> = Vec::new();
        let mut last = ids.len() - 1;
        for (i, truth) in conditions.iter().enumerate() {
            match truth {
                Truth::Fixed(false) => {}
                Truth::Fixed(true) => {
                    last = i;
                    break;
                }
                Truth::Complex => {
                    return Err(self.no_derivative("several comparisons of one condition are tied"));
                }
                tied => meeting.push((i, tied.clone())),
            }
        }
        let branch = |m: &mut Self, i: usize| {
            let program = q.callee(ids[i]).program.clone();
            m.program(&program, args.to_vec(), None, depth + 1)
        };
        let mut results = branch(self, last)?;
        for (i, truth) in meeting.into_iter().rev() {
            let inside = branch(self, i)?;
            self.operation = "select";
            let mut joined = Vec::new();
            for (a, b) in inside.into_iter().zip(results) {
                joined.push(self.join(&truth, a, b)?);
            }
            results = joined;
        }
        Ok(results)
    }

    /// Two branches that meet where a difference is zero: `inside` where the condition holds, `outside` elsewhere.
    fn join(
        &mut self,
        truth: &Truth,
        inside: (Mixed, NodeId),
        outside: (Mixed, NodeId),
    ) -> Result<(Mixed, NodeId), LocalError> {
        let Truth::Tied { left, right, holds } = truth else { return Ok(outside) };
        let discontinuous = |m: &Self, why: String| LocalError::Discontinuous { site: Box::new(m.site()), why };
        if self.order(&inside.0, &outside.0).is_ne() {
            let why = format!("the branches that meet here have the values {} and {}", inside.0, outside.0);
            return Err(discontinuous(self, why));
        }
        let value = if holds[1] { inside.0.clone() } else { outside.0.clone() };
        let one = Mixed::one();
        let nothing = HashMap::new();
        let difference = self.linear(&[(&one, inside.1), (&one.neg(), outside.1)]);
        let switch = self.linear(&[(&one, *left), (&one.neg(), *right)]);
        let difference = self.model.form(difference, &nothing);
        if difference.is_zero() {
            return Ok((value, outside.1));
        }
        if self.approximate {
            return Err(
                self.no_derivative("whether the slopes of its branches agree cannot be proved in floating point")
            );
        }
        let form = self.model.form(switch, &nothing);
        let factor = match difference.ratio(&form) {
            Some(factor) => Mixed::Exact(factor),
            None => {
                return Err(discontinuous(self, "the slopes of the branches do not agree along the border".into()));
            }
        };
        // where the condition holds, the difference is factor * switch; elsewhere it is nothing
        let minus = self.negated(switch);
        let node = match (holds[0], holds[2]) {
            (false, true) => {
                let up = self.max(&[switch, self.zero]);
                self.linear(&[(&one, outside.1), (&factor, up)])
            }
            (true, false) => {
                let down = self.max(&[minus, self.zero]);
                self.linear(&[(&one, outside.1), (&factor.neg(), down)])
            }
            (true, true) => inside.1,
            (false, false) => outside.1,
        };
        Ok((value, node))
    }
}

/// Whether a comparison of a and b holds where a - b is negative, zero, positive.
fn signs(how: Comparison) -> [bool; 3] {
    [Ordering::Less, Ordering::Equal, Ordering::Greater].map(|order| how.holds(order))
}

impl LocalModel {
    /// The same model without the nodes that no output depends on.
    fn pruned(self) -> LocalModel {
        let mut used = vec![false; self.len()];
        self.outputs.iter().for_each(|o| used[o.index()] = true);
        for i in (0..self.len()).rev().filter(|&i| i >= self.directions) {
            if !used[i] {
                continue;
            }
            match self.node(NodeId(i as u32)) {
                Node::Linear(terms) => terms.iter().for_each(|t| used[t.node.index()] = true),
                Node::Max(members) => members.iter().for_each(|m| used[m.index()] = true),
                Node::Direction(_) => {}
            }
        }
        let mut number: Vec<NodeId> = Vec::with_capacity(used.len());
        let mut next = 0;
        for (i, &keep) in used.iter().enumerate() {
            number.push(NodeId(next));
            next += u32::from(keep || i < self.directions);
        }
        let mut out = LocalModel { nodes: Vec::new(), terms: Vec::new(), members: Vec::new(), ..self.clone_frame() };
        for i in (self.directions..self.len()).filter(|&i| used[i]) {
            let stored = match self.node(NodeId(i as u32)) {
                Node::Linear(terms) => {
                    let start = out.terms.len() as u32;
                    let moved = |t: &Term| Term { coefficient: t.coefficient.clone(), node: number[t.node.index()] };
                    out.terms.extend(terms.iter().map(moved));
                    Stored::Linear { start, end: out.terms.len() as u32 }
                }
                Node::Max(members) => {
                    let start = out.members.len() as u32;
                    out.members.extend(members.iter().map(|m| number[m.index()]));
                    Stored::Max { start, end: out.members.len() as u32 }
                }
                Node::Direction(_) => continue,
            };
            out.nodes.push(stored);
        }
        out.outputs = self.outputs.iter().map(|o| number[o.index()]).collect();
        let kept = self.kinks.into_iter().filter(|k| used[k.node.index()]);
        out.kinks = kept.map(|k| ActiveKink { node: number[k.node.index()], ..k }).collect();
        out.values = self.values;
        out.margins = self.margins;
        out.exactness = self.exactness;
        out
    }

    fn clone_frame(&self) -> LocalModel {
        LocalModel {
            inputs: self.inputs.clone(),
            directions: self.directions,
            nodes: Vec::new(),
            terms: Vec::new(),
            members: Vec::new(),
            outputs: Vec::new(),
            output_shapes: self.output_shapes.clone(),
            values: Vec::new(),
            kinks: Vec::new(),
            margins: Vec::new(),
            exactness: Exactness::Exact,
        }
    }
}
