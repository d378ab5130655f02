//! One Clarke subgradient, at a cost that does not depend on the dimension.
//!
//! Pick a random direction d, run the tangents along d once, lock every tie by them, run backward over what is locked. For almost
//! every d the function is differentiable at x + t d for small t > 0, and its gradient there tends to what comes out: a limit of
//! gradients, hence a Clarke and a lexicographic subgradient. Members that still tie along d must be the same linear form once everything below is
//! locked, else the direction was not generic and another one is drawn. That is checked in the prime field for all of them at once
//! and then, where it is affordable, exactly.

use crate::enclosed::confirmed;
use crate::sweep::{Same, SweepCost, Weights, backward, forward, has_flat_seam, leaves_seams, same_forms, sizes};
use crate::{OracleError, output};
use crease_core::local::{LocalModel, NodeId};
use crease_core::number::{Mixed, Rational};
use crease_core::random::SplitMix64;

/// How many directions are drawn before giving up. One is enough with probability one.
const ATTEMPTS: u32 = 40;

/// How many of them where coefficients are enclosed.
const ENCLOSED_ATTEMPTS: u32 = 4;

/// The most bits that coordinates of a direction have.
const MAX_BITS: u32 = 40;

/// How many node visits the exact check of equal members may take.
const EXACT_BUDGET: usize = 5_000_000;

/// A Clarke subgradient, with the direction along which it is the limit of gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct ClarkeElement {
    /// The subgradient.
    pub gradient: Vec<Rational>,
    /// How far each coordinate may be from that of the program; nothing if all of it is exact.
    pub radius: Option<Vec<Rational>>,
    /// The function is differentiable at x + t d for small t > 0, and its gradient there tends to this one.
    pub direction: Vec<Rational>,
    /// For each kink, the member that is selected along the direction.
    pub picked: Vec<usize>,
    /// How many kinks have members that are the same linear form along the direction.
    pub equal: usize,
    /// Whether all of that is proved for the local model. If not, it is true but for a probability of the order of 2^-61 for each
    /// kink that has equal members.
    pub proved: bool,
    /// How many directions were drawn.
    pub attempts: u32,
    /// What the sweeps took: forward once for each direction that was drawn, once more for each in which members tied, then once
    /// backward. Not counted is the exact proof that equal members are equal.
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
    let search = Search::new(model, output_number)?;
    let mut random = SplitMix64::new(seed);
    let mut sweeps = 0;
    // small numbers make answers that are easy to check by hand, but many members leave little room between them
    let members: usize = sizes(model).iter().map(|n| n - 1).sum();
    let first_bits = 4 + members.checked_ilog2().unwrap_or(0);
    for attempt in 0..ATTEMPTS {
        let range = 1u64 << (first_bits + attempt).min(MAX_BITS);
        let mut draw = || {
            let size = Rational::from(1 + random.below(range) as i64);
            if random.below(2) == 0 { size } else { -size }
        };
        let direction: Vec<Rational> = (0..model.dimension()).map(|_| draw()).collect();
        match search.along(direction, attempt + 1, &mut sweeps, &mut random) {
            Ok(Some(element)) => return Ok(element),
            Ok(None) => {}
            // another direction may be farther from ties, but not much
            Err(e @ OracleError::Undecided { .. }) if attempt + 1 >= ENCLOSED_ATTEMPTS => return Err(e),
            Err(OracleError::Undecided { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    Err(OracleError::NoGenericDirection)
}

/// The limit of gradients along a given direction, if the function is differentiable along it: [`clarke_element`] for a direction
/// of one's own, and the check of its answer.
///
/// ```
/// use crease_core::{abs, local::localize, trace, Rational, Tensor};
/// use crease_oracles::clarke_along;
/// let p = trace(2, |x| abs(x[0]) + 2.0 * x[1]).unwrap();
/// let model = localize(&p, &[Tensor::scalar(Rational::ZERO), Tensor::scalar(Rational::ZERO)]).unwrap();
/// let along = |d: [i32; 2]| clarke_along(&model, 0, &d.map(Rational::from)).unwrap();
/// assert_eq!(along([-3, 1]).unwrap().gradient, [-1, 2].map(Rational::from));
/// assert!(along([0, 1]).is_none()); // along the kink
/// ```
pub fn clarke_along(
    model: &LocalModel,
    output_number: usize,
    direction: &[Rational],
) -> Result<Option<ClarkeElement>, OracleError> {
    crate::check_direction(model, direction)?;
    let search = Search::new(model, output_number)?;
    search.along(direction.to_vec(), 1, &mut 0, &mut SplitMix64::new(0))
}

struct Search<'m> {
    model: &'m LocalModel,
    weights: Weights<Rational>,
    /// Where coefficients are enclosed, all that is known of them.
    known: Option<Weights<Mixed>>,
    from: NodeId,
}

impl<'m> Search<'m> {
    fn new(model: &'m LocalModel, output_number: usize) -> Result<Self, OracleError> {
        let known = (!model.is_exact()).then(|| Weights::known(model));
        Ok(Search { model, weights: Weights::new(model)?, known, from: output(model, output_number)? })
    }
}

impl Search<'_> {
    /// The element along a direction, unless members tie along it that are not the same. Counts the sweeps forward.
    fn along(
        &self,
        direction: Vec<Rational>,
        attempts: u32,
        sweeps: &mut u64,
        random: &mut SplitMix64,
    ) -> Result<Option<ClarkeElement>, OracleError> {
        let mut picked = vec![0usize; self.model.kinks().len()];
        let mut pairs: Vec<(NodeId, NodeId)> = Vec::new();
        let mut equal = 0;
        *sweeps += 1;
        let values = forward(self.model, &self.weights, &direction, |kink, members, values| {
            let of = |k: usize| &values[members[k].index()];
            let best = (1..members.len()).fold(0, |best, k| if of(k) > of(best) { k } else { best });
            picked[kink] = best;
            let before = pairs.len();
            // the first of the largest was picked
            pairs.extend((best + 1..members.len()).filter(|&k| of(k) == of(best)).map(|k| (members[best], members[k])));
            equal += usize::from(pairs.len() > before);
            of(best).clone()
        });
        if !leaves_seams(self.model, &values) {
            return if has_flat_seam(self.model) { Err(OracleError::FlatBorder) } else { Ok(None) };
        }
        *sweeps += u64::from(!pairs.is_empty());
        let same = same_forms(self.model, &picked, &pairs, random, EXACT_BUDGET)?;
        if same == Same::No {
            return Ok(None);
        }
        let share = |kink: usize, k: usize| (picked[kink] == k).then_some(Rational::ONE);
        let (gradient, radius) = match &self.known {
            None => (backward(self.model, &self.weights, self.from, share), None),
            // what is equal by middles alone is not certain
            Some(known) => match confirmed(self.model, known, self.from, &direction, &picked) {
                Some(ball) if same == Same::Proved => (ball.middle, Some(ball.radius)),
                _ => {
                    let bits = self.model.precision().bits;
                    return Err(OracleError::Undecided { what: "which branches are taken along a direction", bits });
                }
            },
        };
        let operations = SweepCost::of(self.model).with_forward_sweeps(*sweeps);
        Ok(Some(ClarkeElement {
            gradient,
            direction,
            picked,
            equal,
            proved: same == Same::Proved,
            attempts,
            operations,
            radius,
        }))
    }
}
