//! Is it differentiable, where coefficients are enclosed?
//!
//! *No* if two gradients along directions are certain and do not meet. *Yes* if no kink is active, or if kinks cancel whatever the
//! coefficients are: the model is expanded as a polynomial in those that are enclosed, and each of its exact parts must be linear by the
//! exact decision. `exp(y) * relu(x) - exp(y) * relu(-x)` is such a one. Everything else is unknown, with the bits that were tried.

use super::{Argument, Decision, Effort, Limit, SearchCounts, Verdict, Written};
use crate::enclosed::{apart, for_each_argument};
use crate::{ClarkeElement, OracleError, Session};
use crease_core::limits::work_of;
use crease_core::local::{LocalModel, Node, NodeId};
use crease_core::number::Rational;
use std::collections::BTreeMap;

pub(super) fn decide(session: &Session<'_>, effort: &Effort<'_>) -> Result<Decision, OracleError> {
    let (model, from) = (session.model(), session.from()?);
    let answer = |verdict, by, written| Ok(Decision { verdict, by, counts: SearchCounts::default(), written });
    let decided = |verdict, by| answer(verdict, by, None);
    let bits = model.precision().bits;
    let unknown = |limit, best| decided(Verdict::Unknown { limit, best }, Argument::Nothing);
    let first = match session.clarke_element(effort.seed) {
        Ok(first) => first,
        Err(OracleError::Undecided { .. } | OracleError::NoGenericDirection) => {
            return unknown(Limit::Bits(bits), Vec::new());
        }
        Err(e) => return Err(e),
    };
    if model.kinks().is_empty() {
        return decided(Verdict::Yes(first), Argument::NoKinks);
    }
    if let Some(second) = another(session, &first, effort)? {
        let written = Written::Enclosed { model: model.clone(), output: session.output() };
        return answer(Verdict::No(Box::new([first, second])), Argument::Enclosure, Some(written));
    }
    match linear(session, from, effort)? {
        true => decided(Verdict::Yes(first), Argument::Rewriting),
        // where time was up, not all directions were looked at
        false => unknown(effort.limits.stopped().map_or(Limit::Bits(bits), Limit::from), vec![first]),
    }
}

/// A gradient that is certainly not the first one: along the opposite direction, and until time is up along others.
fn another(
    session: &Session<'_>,
    first: &ClarkeElement,
    effort: &Effort<'_>,
) -> Result<Option<ClarkeElement>, OracleError> {
    let differs =
        |e: &ClarkeElement| apart((&e.gradient, e.radius.as_deref()), (&first.gradient, first.radius.as_deref()));
    let opposite: Vec<Rational> = first.direction.iter().map(|x| -x).collect();
    let seeds = 1..u64::from(effort.directions.max(1)) + u64::from(session.limits().enclosed_directions);
    let others = seeds.take_while(|_| effort.limits.stopped().is_none());
    let others = others.map(|i| session.clarke_element(effort.seed.wrapping_add(i)).map(Some));
    for found in std::iter::once_with(|| session.clarke_along(&opposite)).chain(others) {
        match found {
            Ok(Some(e)) if differs(&e) => return Ok(Some(e)),
            // a direction that tells nothing
            Ok(_) | Err(OracleError::Undecided { .. } | OracleError::NoGenericDirection) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(None)
}

/// Whether a node is linear in the direction whatever the enclosed coefficients are: as a polynomial in them, with exact parts of the
/// model for coefficients, whether each of these parts is linear.
fn linear(session: &Session<'_>, from: NodeId, effort: &Effort<'_>) -> Result<bool, OracleError> {
    let Some(parts) = expanded(session, from) else { return Ok(false) };
    for part in parts.values() {
        let terms: Vec<(NodeId, Rational)> = part.iter().map(|(n, c)| (*n, c.clone())).collect();
        let part = session.beside(session.model().of_combination(&terms));
        let decision = part.differentiable(&Effort { proof: false, ..effort.clone() })?;
        if !matches!(decision.verdict, Verdict::Yes(_)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A product of symbols of enclosed coefficients.
type Monomial = Vec<u32>;

/// A node as a polynomial in the enclosed coefficients: for each monomial, a combination of nodes with exact coefficients, those that
/// depend on no kink left out. Nothing if it is none, or has too many terms.
fn expanded(session: &Session<'_>, from: NodeId) -> Option<BTreeMap<Monomial, BTreeMap<NodeId, Rational>>> {
    let model = session.model();
    let (near, kinked) = (session.enclosed_nodes(), kinked_nodes(model));
    let mut adjoints: BTreeMap<NodeId, BTreeMap<Monomial, Rational>> = BTreeMap::new();
    adjoints.insert(from, BTreeMap::from([(Monomial::new(), Rational::ONE)]));
    let mut parts: BTreeMap<Monomial, BTreeMap<NodeId, Rational>> = BTreeMap::new();
    let mut left = session.token().steps_of(session.limits().polynomial);
    // nodes are numbered so that arguments come first
    while let Some((id, polynomial)) = adjoints.pop_last() {
        if !kinked[id.index()] {
            continue;
        }
        match model.node(id) {
            Node::Linear(terms) if near[id.index()] => {
                for (t, (monomial, weight)) in terms.iter().flat_map(|t| polynomial.iter().map(move |m| (t, m))) {
                    left.take(1)?;
                    left.charge(work_of(weight) + monomial.len() as u64)?;
                    let (mut monomial, mut weight) = (monomial.clone(), weight.clone());
                    if t.radius.is_zero() {
                        weight *= &t.coefficient;
                    } else {
                        monomial.push(t.symbol);
                        monomial.sort_unstable();
                    }
                    *adjoints.entry(t.node).or_default().entry(monomial).or_default() += weight;
                }
            }
            // what has not cancelled by now does not
            Node::Norm(_) => return None,
            Node::Max(_) if near[id.index()] => return None,
            Node::Seam { taken, .. } => {
                for (monomial, weight) in polynomial {
                    *adjoints.entry(taken).or_default().entry(monomial).or_default() += weight;
                }
            }
            // what is not taken has no weight in the directional derivative
            Node::Taken(members) => {
                for (monomial, weight) in polynomial {
                    *adjoints.entry(members[0]).or_default().entry(monomial).or_default() += weight;
                }
            }
            Node::Max(_) | Node::Linear(_) | Node::Direction(_) => {
                for (monomial, weight) in polynomial {
                    *parts.entry(monomial).or_default().entry(id).or_default() += weight;
                }
            }
        }
    }
    (parts.len() <= session.limits().parts).then_some(parts)
}

/// Which nodes depend on a kink.
fn kinked_nodes(model: &LocalModel) -> Vec<bool> {
    let mut kinked = vec![false; model.len()];
    for i in 0..model.len() {
        let node = model.node(model.node_id(i));
        let mut any = matches!(node, Node::Max(_) | Node::Norm(_) | Node::Taken(_));
        for_each_argument(node, |n| any |= kinked[n.index()]);
        kinked[i] = any;
    }
    kinked
}
