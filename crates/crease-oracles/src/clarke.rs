//! One Clarke subgradient, at a cost that does not depend on the dimension.
//!
//! Pick a random direction d, run the tangents along d once, lock every tie by them, run backward over what is locked. For almost
//! every d the function is differentiable at x + t d for small t > 0, and its gradient there tends to what comes out: a limit of
//! gradients, hence a Clarke and a lexicographic subgradient. Members that still tie along d must be the same linear form once everything below is
//! locked, else the direction was not generic and another one is drawn. That is checked in the prime field for all of them at once
//! and then, where it is affordable, exactly.

use crate::enclosed::confirmed;
use crate::sweep::{Bend, Same, SweepCost, backward, forward, has_flat_seam, leaves_seams, near_norm, same_forms};
use crate::{OracleError, Session, check_direction};
use crease_core::local::{Exactness, NodeId};
use crease_core::number::Rational;
use crease_core::random::SplitMix64;

/// The most bits that coordinates of a direction have.
const MAX_BITS: u32 = 40;

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

impl Session<'_> {
    /// A Clarke subgradient, by random directions; that of the first seed that is asked for is kept.
    ///
    /// ```
    /// use crease_core::{local::localize, relu, trace, Rational, Tensor};
    /// use crease_oracles::Session;
    /// let p = trace(1, |x| relu(x[0]) - relu(relu(x[0]))).unwrap(); // zero everywhere
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// assert_eq!(Session::new(&model, 0).clarke_element(7).unwrap().gradient, [Rational::ZERO]);
    /// ```
    pub fn clarke_element(&self, seed: u64) -> Result<ClarkeElement, OracleError> {
        let (first, found) = self.of_output.first.get_or_init(|| (seed, self.draw(seed)));
        if *first == seed { found.clone() } else { self.draw(seed) }
    }

    /// The subgradient of this seed, if it was found before.
    pub(crate) fn first_element(&self, seed: u64) -> Option<ClarkeElement> {
        let (first, found) = self.of_output.first.get()?;
        found.clone().ok().filter(|_| *first == seed)
    }

    fn draw(&self, seed: u64) -> Result<ClarkeElement, OracleError> {
        let from = self.from()?;
        if let Some(plain) = self.plain_around() {
            return plain.clarke_element(seed);
        }
        self.go_on()?;
        let mut random = SplitMix64::new(seed);
        let mut sweeps = 0;
        // small numbers make answers that are easy to check by hand, but many members leave little room between them
        let members: usize = self.sizes().iter().map(|n| n - 1).sum();
        let first_bits = 4 + members.checked_ilog2().unwrap_or(0);
        let round = self.model().has_norms();
        for attempt in 0..self.limits().attempts {
            self.go_on()?;
            let range = 1u64 << (first_bits + attempt).min(MAX_BITS);
            let mut draw = || {
                let size = Rational::from(1 + random.below(range) as i64);
                if random.below(2) == 0 { size } else { -size }
            };
            let p = self.model().dimension();
            let direction: Vec<Rational> = match attempt {
                // along an axis many norms are rational numbers, but what they show is not all there is
                0 if round && seed % 2 == 1 => axis(p, seed / 2),
                _ => (0..p).map(|_| draw()).collect(),
            };
            match self.look_along(from, direction, attempt + 1, &mut sweeps, &mut random) {
                Ok(Some(element)) => return Ok(element),
                Ok(None) => {}
                // another direction may be farther from ties, but not much
                Err(e @ OracleError::Undecided { .. }) if attempt + 1 >= self.limits().enclosed_attempts => {
                    return Err(e);
                }
                Err(OracleError::Undecided { .. }) => {}
                Err(e) => return Err(e),
            }
        }
        Err(OracleError::NoGenericDirection)
    }

    /// The limit of gradients along a given direction, if the function is differentiable along it:
    /// [`clarke_element`](Self::clarke_element) for a direction of one's own, and the check of its answer.
    ///
    /// ```
    /// use crease_core::{abs, local::localize, trace, Rational, Tensor};
    /// use crease_oracles::Session;
    /// let p = trace(2, |x| abs(x[0]) + 2.0 * x[1]).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO), Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let session = Session::new(&model, 0);
    /// let along = |d: [i32; 2]| session.clarke_along(&d.map(Rational::from)).unwrap();
    /// assert_eq!(along([-3, 1]).unwrap().gradient, [-1, 2].map(Rational::from));
    /// assert!(along([0, 1]).is_none()); // along the kink
    /// ```
    pub fn clarke_along(&self, direction: &[Rational]) -> Result<Option<ClarkeElement>, OracleError> {
        check_direction(self.model(), direction)?;
        if let Some(plain) = self.plain_around() {
            return plain.clarke_along(direction);
        }
        self.look_along(self.from()?, direction.to_vec(), 1, &mut 0, &mut SplitMix64::new(0))
    }

    /// The element along a direction, unless members tie along it that are not the same. Counts the sweeps forward.
    fn look_along(
        &self,
        from: NodeId,
        direction: Vec<Rational>,
        attempts: u32,
        sweeps: &mut u64,
        random: &mut SplitMix64,
    ) -> Result<Option<ClarkeElement>, OracleError> {
        let model = self.model();
        let mut picked = vec![0usize; model.kinks().len()];
        let mut pairs: Vec<(NodeId, Option<NodeId>)> = Vec::new();
        let mut equal = 0;
        *sweeps += 1;
        let bits = model.precision().bits;
        let values = forward(self, self.weights(), &direction, |kink, bend, values| {
            let members = match bend {
                Bend::Max(members) => members,
                Bend::Norm(members) => {
                    let norm = near_norm(members, values, bits);
                    // along this direction it is 0, or has no gradient
                    if norm.is_zero() {
                        pairs.extend(members.iter().map(|m| (*m, None)));
                    }
                    return norm;
                }
            };
            let of = |k: usize| &values[members[k].index()];
            let best = (1..members.len()).fold(0, |best, k| if of(k) > of(best) { k } else { best });
            picked[kink] = best;
            let before = pairs.len();
            // the first of the largest was picked
            let tied = (best + 1..members.len()).filter(|&k| of(k) == of(best));
            pairs.extend(tied.map(|k| (members[best], Some(members[k]))));
            equal += usize::from(pairs.len() > before);
            of(best).clone()
        })?;
        if !leaves_seams(model, &values) {
            return if has_flat_seam(model) { Err(OracleError::FlatBorder) } else { Ok(None) };
        }
        *sweeps += u64::from(!pairs.is_empty());
        let same = same_forms(self, &picked, &pairs, random, self.limits().equality)?;
        if same == Same::No {
            return Ok(None);
        }
        let share = |kink: usize, k: usize| (picked[kink] == k).then_some(Rational::ONE);
        let (gradient, radius) = match model.exactness() {
            Exactness::Exact => (backward(self, self.weights(), from, share)?, None),
            // what is equal by middles alone is not certain
            Exactness::Enclosed { bits } => match confirmed(self, from, &direction, &picked)? {
                Some(ball) if same == Same::Proved => {
                    (ball.middle, ball.radius.iter().any(|r| !r.is_zero()).then_some(ball.radius))
                }
                _ => return Err(OracleError::Undecided { what: "which branches are taken along a direction", bits }),
            },
        };
        let operations = self.cost().with_forward_sweeps(*sweeps);
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

/// A unit vector or its negative, by a number.
pub(crate) fn axis(dimension: usize, number: u64) -> Vec<Rational> {
    let (axis, down) = ((number / 2) as usize % dimension.max(1), !number.is_multiple_of(2));
    let one = if down { Rational::from(-1) } else { Rational::ONE };
    (0..dimension).map(|i| if i == axis { one.clone() } else { Rational::ZERO }).collect()
}
