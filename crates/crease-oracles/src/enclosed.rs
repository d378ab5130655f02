//! What is certain although coefficients are only enclosed.
//!
//! The oracles search on the middles of enclosures, where everything is exact; what they find is then looked at again, with the enclosures
//! themselves. What enters is a session, a direction and the member that is picked at each kink; what leaves is an enclosure of the
//! gradient of the program there, or nothing: a member that is not certainly the largest proves nothing. No answer about an enclosed
//! model leaves the oracles without having come through here.

use crate::sweep::{Bend, backward, forward, leaves_seams};
use crate::{OracleError, Session};
use crease_core::Limits;
use crease_core::local::{LocalError, LocalModel, Node, NodeId, Precision, localize_within};
use crease_core::number::{Mixed, Number, Rational};
use crease_core::{Program, Tensor};
use std::collections::HashMap;

/// With more bits than this, numbers are not made more accurate for their own sake.
const ACCURATE_BITS: u32 = 1024;

/// A vector, and how far each coordinate may be from that of the program.
pub(crate) struct Ball {
    pub middle: Vec<Rational>,
    pub radius: Vec<Rational>,
}

impl Ball {
    /// Nothing if a coordinate is not bounded.
    pub fn of(vector: &[Mixed]) -> Option<Ball> {
        let part = |x: &Mixed| match x.exact() {
            Some(r) => Some((r.clone(), Rational::ZERO)),
            None => {
                let e = x.enclosure();
                e.middle().zip(e.radius())
            }
        };
        let (middle, radius) = vector.iter().map(part).collect::<Option<Vec<_>>>()?.into_iter().unzip();
        Some(Ball { middle, radius })
    }
}

/// Whether two enclosed vectors certainly differ.
pub(crate) fn apart(a: (&[Rational], Option<&[Rational]>), b: (&[Rational], Option<&[Rational]>)) -> bool {
    coordinate_apart(a, b).is_some()
}

/// The first coordinate in which two enclosed vectors certainly differ.
pub(crate) fn coordinate_apart(
    a: (&[Rational], Option<&[Rational]>),
    b: (&[Rational], Option<&[Rational]>),
) -> Option<usize> {
    let zero = Rational::ZERO;
    let radius = |r: Option<&[Rational]>, i: usize| r.map_or(zero.clone(), |r| r[i].clone());
    (0..a.0.len()).find(|&i| (&a.0[i] - &b.0[i]).abs() > radius(a.1, i) + radius(b.1, i))
}

/// An enclosure of the gradient of the output along a direction, if the picked members are certainly the largest there, or equal to those
/// that are by exact numbers alone. That equal ones are the same form is for the caller to know.
pub(crate) fn confirmed(
    session: &Session<'_>,
    from: NodeId,
    direction: &[Rational],
    picked: &[usize],
) -> Result<Option<Ball>, OracleError> {
    let (model, weights) = (session.model(), session.known());
    let (below, near) = (session.nodes_below(from), session.enclosed_nodes());
    let bits = model.precision().bits;
    let along: Vec<Mixed> = direction.iter().map(|x| Mixed::exactly(x.clone()).at(bits)).collect();
    let mut certain = true;
    let mut norms: HashMap<usize, Vec<Mixed>> = HashMap::new();
    let values = forward(session, weights, &along, |kink, bend, values| {
        let members = match bend {
            Bend::Max(members) => members,
            Bend::Norm(members) => {
                let (norm, weights) = norm_along(members, values);
                match weights {
                    Some(weights) => drop(norms.insert(kink, weights)),
                    None => certain &= !below[model.kinks()[kink].node.index()],
                }
                return norm;
            }
        };
        let best = members[picked[kink]];
        if below[model.kinks()[kink].node.index()] {
            certain &= members.iter().all(|m| {
                *m == best
                    || match values[best.index()].compare(&values[m.index()]) {
                        Some(order) if order.is_gt() => true,
                        Some(order) => order.is_eq() && !near[m.index()] && !near[best.index()],
                        None => false,
                    }
            });
        }
        values[best.index()].clone()
    })?;
    if !certain || !leaves_seams(model, &values) {
        return Ok(None);
    }
    let share = |kink: usize, k: usize| match norms.get(&kink) {
        Some(weights) => weights.get(k).cloned(),
        None => (picked[kink] == k).then(Mixed::one),
    };
    Ok(Ball::of(&backward(session, weights, from, share)?))
}

/// The Euclidean norm of members whose values along a direction are known, and its weights; none of these where the norm is 0, and there are no
/// weights at all where that is not certain.
pub(crate) fn norm_along<N: Number>(members: &[NodeId], values: &[N]) -> (N, Option<Vec<N>>) {
    let members = members.iter().map(|m| &values[m.index()]);
    let Ok(norm) = N::norm2(members.clone()) else { return (N::zero(), None) };
    let weights = match norm.compare(&N::zero()) {
        Some(order) if order.is_eq() => Some(Vec::new()),
        Some(_) => members.map(|x| x.div(&norm)).collect::<Result<_, _>>().ok(),
        None => None,
    };
    (norm, weights)
}

/// Which nodes a node depends on.
pub(crate) fn nodes_below(model: &LocalModel, from: NodeId) -> Vec<bool> {
    let mut below = vec![false; model.len()];
    below[from.index()] = true;
    for i in (model.dimension()..model.len()).rev().filter(|&i| i <= from.index()) {
        if below[i] {
            for_each_argument(model.node(model.node_id(i)), |n| below[n.index()] = true);
        }
    }
    below
}

/// Which nodes rest on an enclosed coefficient, or on a norm.
pub(crate) fn enclosed_nodes(model: &LocalModel) -> Vec<bool> {
    let mut near = vec![false; model.len()];
    for i in model.dimension()..model.len() {
        let node = model.node(model.node_id(i));
        let mut any = match node {
            Node::Linear(terms) => terms.iter().any(|t| !t.radius.is_zero()),
            Node::Norm(_) => true,
            Node::Direction(_) | Node::Max(_) | Node::Taken(_) | Node::Seam { .. } => false,
        };
        for_each_argument(node, |n| any |= near[n.index()]);
        near[i] = any;
    }
    near
}

/// The nodes that a node is made of.
pub(crate) fn for_each_argument(node: Node<'_>, mut each: impl FnMut(NodeId)) {
    match node {
        Node::Direction(_) => {}
        Node::Linear(terms) => terms.iter().for_each(|t| each(t.node)),
        Node::Max(members) | Node::Norm(members) | Node::Taken(members) => members.iter().for_each(|m| each(*m)),
        Node::Seam { taken, across } => [taken, across].into_iter().for_each(each),
    }
}

/// Whether numbers are as accurate as doubles are, or as accurate as it is worth.
///
/// ```
/// use crease_core::{exp, local::{localize_within, Precision}, trace, Limits, Rational, Tensor};
/// use crease_oracles::accurate;
/// // 1 / (exp(10^-15) - 1) loses 50 bits
/// let p = trace(1, |x| x[0] / (exp(x[0]) - 1.0)).unwrap();
/// let at = [Tensor::scalar("1e-15".parse().unwrap())];
/// let with = |bits| localize_within(&p, &at, Precision { bits, limit: bits }, &Limits::default()).unwrap();
/// assert!(!accurate(with(64).precision().bits, with(64).values()[0].data()));
/// assert!(accurate(256, with(256).values()[0].data()));
/// ```
pub fn accurate<'x>(bits: u32, numbers: impl IntoIterator<Item = &'x Mixed>) -> bool {
    bits >= ACCURATE_BITS
        || numbers.into_iter().all(|x| {
            x.exact().is_some()
                || x.enclosure().middle().zip(x.enclosure().radius()).is_some_and(|(m, r)| tight(&m, &r))
        })
}

/// Whether a number is known as accurately as a double can say it.
pub(crate) fn tight(middle: &Rational, radius: &Rational) -> bool {
    radius.is_zero() || Rational::from(1i64 << 54) * radius <= middle.abs()
}

/// The same for a vector, given how far its coordinates may be off: see [`ClarkeElement::radius`](crate::ClarkeElement::radius).
pub fn accurate_vector(bits: u32, middle: &[Rational], radius: Option<&[Rational]>) -> bool {
    bits >= ACCURATE_BITS || radius.is_none_or(|r| middle.iter().zip(r).all(|(m, r)| tight(m, r)))
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AskError {
    /// There is no local model.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// The oracle has no answer.
    #[error(transparent)]
    Oracle(#[from] OracleError),
}

/// Asks a question of one scalar output of the local model of a program at a point. The question returns its answer and whether more bits could make it a
/// better one; as long as they could, and where the answer is that it is [undecided](OracleError::Undecided), the model is made
/// again with twice the bits, up to the limit.
///
/// ```
/// use crease_core::{abs, exp, trace, Limits, Rational, Tensor, local::Precision};
/// use crease_oracles::{ask, Effort, Verdict};
/// // the slopes left and right differ by 10^-20
/// let p = trace(1, |x| abs((exp(x[0] * 0.0 + 1e-20) - exp(x[0] * 0.0 + 2e-20)) * x[0])).unwrap();
/// let precision = Precision { bits: 32, limit: 4096 };
/// let at = [Tensor::scalar(Rational::ZERO)];
/// let (session, decision) = ask(&p, &at, 0, precision, &Limits::default(), |session| {
///     let decision = session.differentiable(&Effort::default())?;
///     let open = matches!(decision.verdict, Verdict::Unknown { .. });
///     Ok((decision, open))
/// })
/// .unwrap();
/// assert!(matches!(decision.verdict, Verdict::No(_)));
/// assert_eq!(session.model().precision().bits, 128);
/// ```
pub fn ask<T>(
    p: &Program,
    at: &[Tensor<Rational>],
    output: usize,
    precision: Precision,
    limits: &Limits,
    question: impl FnMut(&Session<'static>) -> Result<(T, bool), OracleError>,
) -> Result<(Session<'static>, T), AskError> {
    let limits = &limits.metered();
    let mut session = Session::owning(localize_within(p, at, precision, limits)?, output).within(limits);
    let answer = session.ask(p, at, limits, question)?;
    Ok((session, answer))
}

impl Session<'static> {
    /// As [`ask`], of the model of the program at the point that is there already; one with more bits takes its place.
    pub fn ask<T>(
        &mut self,
        p: &Program,
        at: &[Tensor<Rational>],
        limits: &Limits,
        mut question: impl FnMut(&Self) -> Result<(T, bool), OracleError>,
    ) -> Result<T, AskError> {
        loop {
            let more = self.model().precision().doubled().filter(|_| !self.model().is_exact());
            let answer = question(self);
            // what there is when time is up is the answer
            match (answer, more.filter(|_| limits.stopped().is_none())) {
                (Ok((_, true)) | Err(OracleError::Undecided { .. }), Some(more)) => {
                    *self = Session::owning(localize_within(p, at, more, limits)?, self.output()).within(limits);
                }
                (answer, _) => return Ok(answer?.0),
            }
        }
    }
}
