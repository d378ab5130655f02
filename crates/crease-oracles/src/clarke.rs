//! One Clarke subgradient, at a cost that does not depend on the dimension.
//!
//! Pick a random direction d, run the tangents along d once, lock every tie by them, run backward over what is locked. For almost
//! every d the function is differentiable at x + t d for small t > 0 with the gradient that comes out: a limit of gradients, hence
//! a Clarke and a lexicographic subgradient. Members that still tie along d must be the same linear form once everything below is
//! locked, else the direction was not generic and another one is drawn. That is checked in the prime field for all of them at once
//! and then, where it is affordable, exactly.

use crate::sweep::{Random, SweepCost, Weights, backward, backward_from, forward};
use crate::{OracleError, output};
use crease_core::local::{LocalModel, NodeId};
use crease_core::number::{Field61, Rational};

/// How many directions are drawn before giving up. One is enough with probability one.
const ATTEMPTS: u32 = 40;

/// How many node visits the exact check of equal members may take.
const EXACT_BUDGET: usize = 20_000_000;

/// A Clarke subgradient, with the direction along which it is the limit of gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct ClarkeElement {
    /// The subgradient.
    pub gradient: Vec<Rational>,
    /// The function is differentiable at x + t d with this gradient, for small t > 0.
    pub direction: Vec<Rational>,
    /// For each kink, the member that is selected along the direction.
    pub picked: Vec<usize>,
    /// How many kinks have members that are the same linear form along the direction.
    pub equal: usize,
    /// Whether all of that is proved; if not, the probability of an error is below 2^-50.
    pub proved: bool,
    /// What the sweeps took: once forward, once backward.
    pub operations: SweepCost,
}

/// A Clarke subgradient of one scalar output.
///
/// ```
/// use crease_core::{local::localize, relu, trace, Rational, Tensor};
/// use crease_oracles::clarke_element;
/// let p = trace(1, |x| relu(x[0]) - relu(relu(x[0]))).unwrap(); // zero everywhere
/// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
/// assert_eq!(clarke_element(&model, 0, 7).unwrap().gradient, [Rational::ZERO]);
/// ```
pub fn clarke_element(model: &LocalModel, output_number: usize, seed: u64) -> Result<ClarkeElement, OracleError> {
    let from = output(model, output_number)?;
    let weights = Weights::new(model)?;
    let mut random = Random::new(seed);
    for attempt in 0..ATTEMPTS {
        // small numbers first: they make answers that are easy to check by hand
        let range = 1u64 << (4 + attempt.min(26));
        let mut draw = || {
            let size = Rational::from(1 + random.below(range) as i64);
            if random.below(2) == 0 { size } else { -size }
        };
        let direction: Vec<Rational> = (0..model.dimension()).map(|_| draw()).collect();
        if let Some(element) = try_direction(model, &weights, from, direction, &mut random)? {
            return Ok(element);
        }
    }
    Err(OracleError::NoGenericDirection)
}

/// The limit of gradients along a given direction, if the function is differentiable along it: [`clarke_element`] for a direction
/// of one's own, and the check of its answer.
pub fn clarke_along(
    model: &LocalModel,
    output_number: usize,
    direction: &[Rational],
) -> Result<Option<ClarkeElement>, OracleError> {
    crate::check_direction(model, direction)?;
    let from = output(model, output_number)?;
    let weights = Weights::new(model)?;
    try_direction(model, &weights, from, direction.to_vec(), &mut Random::new(0))
}

fn try_direction(
    model: &LocalModel,
    weights: &Weights<Rational>,
    from: NodeId,
    direction: Vec<Rational>,
    random: &mut Random,
) -> Result<Option<ClarkeElement>, OracleError> {
    let mut picked = vec![0usize; model.kinks().len()];
    let mut tied: Vec<(usize, NodeId, NodeId)> = Vec::new();
    forward(model, weights, &direction, |kink, members, values| {
        let of = |k: usize| &values[members[k].index()];
        let best = (1..members.len()).fold(0, |best, k| if of(k) > of(best) { k } else { best });
        picked[kink] = best;
        let others = (0..members.len()).filter(|&k| k != best && of(k) == of(best));
        tied.extend(others.map(|k| (kink, members[best], members[k])));
        of(best).clone()
    });
    let mut kinks: Vec<usize> = tied.iter().map(|t| t.0).collect();
    kinks.dedup();
    let mut proved = true;
    if !tied.is_empty() {
        // along another direction, with everything locked, equal forms have equal values
        let field = Weights::<Field61>::new(model)?;
        let other: Vec<Field61> = (0..model.dimension()).map(|_| Field61::new(random.next())).collect();
        let values = forward(model, &field, &other, |kink, members, values| values[members[picked[kink]].index()]);
        if tied.iter().any(|(_, a, b)| values[a.index()] != values[b.index()]) {
            return Ok(None);
        }
        proved = tied.len().saturating_mul(model.len()) <= EXACT_BUDGET;
        if proved {
            for (_, a, b) in &tied {
                let seeds = [(*a, Rational::ONE), (*b, Rational::from(-1))];
                let mut share = |kink: usize, k: usize| (picked[kink] == k).then_some(Rational::ONE);
                let difference = backward_from(model, weights, seeds, &mut share);
                if difference.iter().any(|x| !x.is_zero()) {
                    return Ok(None);
                }
            }
        }
    }
    let gradient = backward(model, weights, from, |kink, k| (picked[kink] == k).then_some(Rational::ONE));
    let operations = SweepCost::of(model);
    Ok(Some(ClarkeElement { gradient, direction, picked, equal: kinks.len(), proved, operations }))
}
