//! The two sweeps over a local model on which all oracles stand: values of its nodes forward, adjoints backward.

use crate::{OracleError, Session};
use crease_core::limits::{Steps, work_of};
use crease_core::local::{Form, LocalModel, Node, NodeId, Sum, Term};
use crease_core::number::{Field61, Mixed, Number, NumberError, Rational};
use crease_core::random::SplitMix64;
use std::convert::Infallible;

/// Coefficients of a model in another kind of number, converted once: one list for all nodes, as sweeps read it.
#[derive(Clone)]
pub(crate) struct Weights<N> {
    terms: Vec<(N, NodeId)>,
    starts: Vec<usize>,
}

impl Weights<Mixed> {
    /// What is known of the coefficients, enclosures and all.
    pub fn known(model: &LocalModel) -> Self {
        let bits = model.precision().bits;
        let Ok(weights) = Weights::convert(model, |t| Ok::<_, Infallible>(t.known(bits)));
        weights
    }
}

impl Weights<Rational> {
    /// The coefficients, or the middles of their enclosures.
    pub fn middles(model: &LocalModel) -> Self {
        let Ok(weights) = Weights::convert(model, |t| Ok::<_, Infallible>(t.coefficient.clone()));
        weights
    }
}

impl Weights<Field61> {
    /// The coefficients, or the middles of their enclosures, unless the prime divides a denominator.
    pub fn in_field(model: &LocalModel) -> Result<Self, NumberError> {
        Weights::convert(model, |t| Field61::from_rational(&t.coefficient))
    }
}

impl<N> Weights<N> {
    fn convert<E>(model: &LocalModel, number: impl Fn(&Term) -> Result<N, E>) -> Result<Self, E> {
        let mut w = Weights { terms: Vec::new(), starts: Vec::with_capacity(model.len() + 1) };
        for node in model.nodes() {
            w.starts.push(w.terms.len());
            if let Node::Linear(terms) = node {
                for t in terms {
                    w.terms.push((number(t)?, t.node));
                }
            }
        }
        w.starts.push(w.terms.len());
        Ok(w)
    }

    pub fn of(&self, node: usize) -> &[(N, NodeId)] {
        &self.terms[self.starts[node]..self.starts[node + 1]]
    }
}

/// A kink whose value along a direction is to be found: its members, and what it is of them.
#[derive(Clone, Copy)]
pub(crate) enum Bend<'m> {
    Max(&'m [NodeId]),
    Norm(&'m [NodeId]),
}

/// Numbers of which it is known what operations on them take.
pub(crate) trait Weighed: Number {
    /// The units of work of an operation on it.
    fn work(&self) -> u64;
}

impl Weighed for Rational {
    fn work(&self) -> u64 {
        1 + work_of(self)
    }
}

impl Weighed for Mixed {
    fn work(&self) -> u64 {
        // an enclosure does not say how long it is; all of one model are about as long, and longer ones are made by few questions
        4 + self.exact().map_or(16, work_of)
    }
}

impl Weighed for Field61 {
    fn work(&self) -> u64 {
        1
    }
}

/// The values of all nodes along a direction. At each maximum or norm, `pick` is given the number of the kink, its members and the
/// values so far, and returns the value.
pub(crate) fn forward<N: Weighed>(
    session: &Session<'_>,
    weights: &Weights<N>,
    direction: &[N],
    mut pick: impl FnMut(usize, Bend<'_>, &[N]) -> N,
) -> Result<Vec<N>, OracleError> {
    let model = session.model();
    let mut values: Vec<N> = Vec::with_capacity(model.len());
    let mut kink = 0;
    for (i, node) in model.nodes().enumerate() {
        let value = match node {
            Node::Direction(k) => direction[k].clone(),
            Node::Linear(_) => {
                let mut sum: Option<N> = None;
                let terms = weights.of(i);
                session.charge(terms.iter().map(|(c, n)| c.work() + values[n.index()].work()).sum())?;
                for (c, n) in terms {
                    let x = c.mul(&values[n.index()]);
                    sum = Some(sum.map_or_else(|| x.clone(), |s| s.add(&x)));
                }
                sum.unwrap_or_else(N::zero)
            }
            Node::Max(members) => {
                kink += 1;
                session.charge(members.iter().map(|m| values[m.index()].work()).sum())?;
                pick(kink - 1, Bend::Max(members), &values)
            }
            Node::Norm(members) => {
                kink += 1;
                session.charge(64 * members.iter().map(|m| values[m.index()].work()).sum::<u64>())?;
                pick(kink - 1, Bend::Norm(members), &values)
            }
            Node::Taken(members) => {
                kink += 1;
                values[members[0].index()].clone()
            }
            Node::Seam { taken, .. } => values[taken.index()].clone(),
        };
        values.push(value);
    }
    Ok(values)
}

/// The gradient of one output when each kink is replaced by a combination of its members: `share` is given the number of the
/// kink and of the member, and returns its weight, nothing for zero.
pub(crate) fn backward<N: Weighed>(
    session: &Session<'_>,
    weights: &Weights<N>,
    from: NodeId,
    share: impl FnMut(usize, usize) -> Option<N>,
) -> Result<Vec<N>, OracleError> {
    backward_watched(session, weights, from, share, |_, _| {})
}

/// As [`backward`]; `watch` is shown the adjoints of kinks on the way.
pub(crate) fn backward_watched<N: Weighed>(
    session: &Session<'_>,
    weights: &Weights<N>,
    from: NodeId,
    mut share: impl FnMut(usize, usize) -> Option<N>,
    mut watch: impl FnMut(usize, &N),
) -> Result<Vec<N>, OracleError> {
    let model = session.model();
    let mut adjoints: Vec<Option<N>> = vec![None; model.dimension().max(from.index() + 1)];
    adjoints[from.index()] = Some(N::one());
    let add = |slot: &mut Option<N>, x: N| {
        *slot = Some(match slot {
            None => x,
            Some(sum) => sum.add(&x),
        });
    };
    let mut kink = kinks_below(model, adjoints.len());
    for i in (model.dimension()..adjoints.len()).rev() {
        match model.node(model.node_id(i)) {
            Node::Max(members) | Node::Norm(members) | Node::Taken(members) => {
                kink -= 1;
                let Some(a) = adjoints[i].take() else { continue };
                session.charge(a.work() * members.len() as u64)?;
                watch(kink, &a);
                for (k, m) in members.iter().enumerate() {
                    if let Some(s) = share(kink, k) {
                        add(&mut adjoints[m.index()], if s == N::one() { a.clone() } else { a.mul(&s) });
                    }
                }
            }
            Node::Seam { taken, .. } => {
                if let Some(a) = adjoints[i].take() {
                    add(&mut adjoints[taken.index()], a);
                }
            }
            Node::Direction(_) | Node::Linear(_) => {
                let Some(a) = adjoints[i].take() else { continue };
                let terms = weights.of(i);
                session.charge(a.work() * terms.len() as u64 + terms.iter().map(|(c, _)| c.work()).sum::<u64>())?;
                for (c, n) in terms {
                    add(&mut adjoints[n.index()], c.mul(&a));
                }
            }
        }
    }
    adjoints.truncate(model.dimension());
    Ok(adjoints.into_iter().map(|a| a.unwrap_or_else(N::zero)).collect())
}

/// How many kinks there are among the first nodes.
fn kinks_below(model: &LocalModel, nodes: usize) -> usize {
    model.kinks().partition_point(|k| k.node.index() < nodes)
}

/// The gradient of a combination of nodes when each kink is replaced by a combination of its members, visiting only what lies
/// below. Nothing if that takes more than the visits that are left.
pub(crate) fn backward_sparse(
    model: &LocalModel,
    seeds: impl IntoIterator<Item = (NodeId, Rational)>,
    share: impl Fn(usize, usize) -> Option<Rational>,
    left: &mut Steps<'_>,
) -> Option<Form> {
    eliminated(model, seeds, share, false, left)
}

/// A combination of nodes when each maximum is replaced by a combination of its members. So are norms, or, if they are kept, they are variables by the
/// numbers of their nodes, behind the coordinates of the direction.
fn eliminated(
    model: &LocalModel,
    seeds: impl IntoIterator<Item = (NodeId, Rational)>,
    share: impl Fn(usize, usize) -> Option<Rational>,
    keep_norms: bool,
    left: &mut Steps<'_>,
) -> Option<Form> {
    let (mut adjoints, mut gradient, one) = (Sum::default(), Sum::default(), Rational::ONE);
    seeds.into_iter().for_each(|(node, x)| adjoints.add_term(node.index(), &one, &x));
    // nodes are numbered so that arguments come first
    while let Some((i, weight)) = adjoints.pop(0) {
        let visits = match model.node(model.node_id(i)) {
            Node::Direction(i) => {
                gradient.add_term(i, &one, &weight);
                1
            }
            Node::Linear(terms) => {
                terms.iter().for_each(|t| adjoints.add_term(t.node.index(), &weight, &t.coefficient));
                terms.len()
            }
            Node::Seam { taken, .. } => {
                adjoints.add_term(taken.index(), &one, &weight);
                1
            }
            Node::Norm(_) if keep_norms => {
                gradient.add_term(i, &one, &weight);
                1
            }
            Node::Max(members) | Node::Norm(members) | Node::Taken(members) => {
                let kink = kinks_below(model, i);
                for (k, m) in members.iter().enumerate() {
                    if let Some(s) = share(kink, k) {
                        adjoints.add_term(m.index(), &weight, &s);
                    }
                }
                members.len()
            }
        };
        left.take(visits)?;
        left.charge(work_of(&weight) * visits as u64)?;
    }
    Some(gradient.form())
}

/// Whether no seam of a model is 0: a direction along which one is may stay where branches meet that need not agree.
pub(crate) fn leaves_seams<N: Number>(model: &LocalModel, values: &[N]) -> bool {
    let zero = N::zero();
    model.nodes().all(|node| match node {
        Node::Seam { across, .. } => values[across.index()].compare(&zero).is_some_and(|order| order.is_ne()),
        Node::Direction(_) | Node::Linear(_) | Node::Max(_) | Node::Norm(_) | Node::Taken(_) => true,
    })
}

/// Whether a seam is 0 along all directions.
pub(crate) fn has_flat_seam(model: &LocalModel) -> bool {
    let flat = |n: NodeId| matches!(model.node(n), Node::Linear([]));
    model.nodes().any(|node| matches!(node, Node::Seam { across, .. } if flat(across)))
}

/// The largest value among the members.
pub(crate) fn largest(members: &[NodeId], values: &[Rational]) -> Rational {
    let mut best = &values[members[0].index()];
    for m in &members[1..] {
        best = Ord::max(best, &values[m.index()]);
    }
    best.clone()
}

/// The Euclidean norm of the members: a number near it, where it is no rational number itself.
pub(crate) fn near_norm(members: &[NodeId], values: &[Rational], bits: u32) -> Rational {
    let sum: Rational = members.iter().map(|m| &values[m.index()] * &values[m.index()]).sum();
    let root = Mixed::exactly(sum).at(bits).sqrt();
    root.ok().and_then(|r| r.exact().cloned().or_else(|| r.enclosure().middle())).unwrap_or_default()
}

/// Whether pairs of nodes are the same function when every maximum takes the member that is picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Same {
    /// One of the pairs differs.
    No,
    /// They are, but for a probability of the order of 2^-61 for each pair.
    Likely,
    /// They are.
    Proved,
}

/// Compares the forms of all pairs at once, in the prime field along a random direction, then one by one exactly if that takes no
/// more than `budget` visits. A node without another one is compared with 0. Norms stand for themselves.
pub(crate) fn same_forms(
    session: &Session<'_>,
    picked: &[usize],
    pairs: &[(NodeId, Option<NodeId>)],
    random: &mut SplitMix64,
    budget: usize,
) -> Result<Same, OracleError> {
    if pairs.is_empty() {
        return Ok(Same::Proved);
    }
    let model = session.model();
    // a filter only: a coefficient whose denominator the prime divides has no place in the field
    let field = session.field();
    if let Ok(field) = field {
        let along: Vec<Field61> = (0..model.dimension()).map(|_| Field61::new(random.bits())).collect();
        let values = forward(session, field, &along, |kink, bend, values| match bend {
            Bend::Max(members) => values[members[picked[kink]].index()],
            Bend::Norm(_) => Field61::new(random.bits()),
        })?;
        let of = |n: &Option<NodeId>| n.map_or(Field61::zero(), |n| values[n.index()]);
        if pairs.iter().any(|(a, b)| values[a.index()] != of(b)) {
            return Ok(Same::No);
        }
    }
    let mut left = session.token().steps_of(budget);
    for (a, b) in pairs {
        let seeds = [(*a, Rational::ONE)].into_iter().chain(b.map(|b| (b, Rational::from(-1))));
        let share = |kink: usize, k: usize| (picked[kink] == k).then_some(Rational::ONE);
        match eliminated(model, seeds, share, true, &mut left) {
            None => {
                session.go_on()?;
                return Ok(field.map(|_| Same::Likely)?);
            }
            Some(difference) if !difference.is_zero() => return Ok(Same::No),
            Some(_) => {}
        }
    }
    Ok(Same::Proved)
}

/// The numbers of members of every kink of a model.
pub(crate) fn sizes(model: &LocalModel) -> Vec<usize> {
    let members = |n: Node<'_>| match n {
        Node::Max(members) | Node::Norm(members) | Node::Taken(members) => Some(members.len()),
        Node::Direction(_) | Node::Linear(_) | Node::Seam { .. } => None,
    };
    model.nodes().filter_map(members).collect()
}

/// How many operations sweeps over a model take: multiplications and additions forward, comparisons at maxima, multiplications and
/// additions backward.
///
/// ```
/// use crease_core::{local::localize, relu, trace, Rational, Tensor};
/// use crease_oracles::SweepCost;
/// let p = trace(1, |x| 3.0 * relu(x[0])).unwrap();
/// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
/// assert_eq!(SweepCost::of(&model), SweepCost { forward: 1, comparisons: 1, backward: 3 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SweepCost {
    /// Multiplications and additions forward.
    pub forward: u64,
    /// Comparisons at maxima.
    pub comparisons: u64,
    /// Multiplications and additions backward.
    pub backward: u64,
}

impl SweepCost {
    /// The cost of one sweep each way over a model.
    pub fn of(model: &LocalModel) -> Self {
        let mut cost = SweepCost::default();
        for node in model.nodes() {
            match node {
                Node::Direction(_) | Node::Seam { .. } => {}
                Node::Linear(terms) => {
                    // a coefficient of 1 or -1 multiplies nothing
                    let scaled = terms.iter().filter(|t| !t.coefficient.abs().is_one()).count() as u64;
                    cost.forward += scaled + (terms.len() as u64).saturating_sub(1);
                    cost.backward += scaled + terms.len() as u64;
                }
                Node::Max(members) => {
                    cost.comparisons += members.len() as u64 - 1;
                    cost.backward += 1;
                }
                Node::Norm(members) => {
                    // squares, their sum and its root; the weights, and what they do
                    cost.forward += 2 * members.len() as u64;
                    cost.backward += 3 * members.len() as u64;
                }
                Node::Taken(_) => cost.backward += 1,
            }
        }
        cost
    }

    /// The cost of several sweeps forward and one backward.
    pub fn with_forward_sweeps(self, sweeps: u64) -> Self {
        SweepCost { forward: self.forward * sweeps, comparisons: self.comparisons * sweeps, ..self }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.forward + self.comparisons + self.backward
    }
}
