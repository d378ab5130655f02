//! Curves: piecewise polynomial in one parameter, with rational coefficients.

use super::germ::{Germ, Log};
use super::polynomial::Polynomial;
use crease_core::Rational;
use std::sync::Arc;

/// A piece of a curve: t -> a + b t + c t² + ..., for t from 0 to [`until`](Piece::until).
///
/// ```
/// use crease::Rational;
/// use crease_paper::experiments::conservativity::Piece;
/// let q = |n: i64| Rational::from(n);
/// // along the parabola y = x²
/// let piece = Piece { powers: vec![vec![q(0), q(0)], vec![q(1), q(0)], vec![q(0), q(1)]], until: q(2) };
/// assert_eq!(piece.at(&q(3)), [q(3), q(9)]);
/// assert_eq!(piece.velocity(&q(3)), [q(1), q(6)]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The vectors that are multiplied by 1, t, t² and so on: at least one, each with one number for each scalar input.
    pub powers: Vec<Vec<Rational>>,
    /// Where the parameter ends; positive.
    pub until: Rational,
}

/// A curve, piece after piece. The chain rule is tested on every piece on its own, so nothing depends on whether they join.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Curve {
    /// The pieces.
    pub pieces: Vec<Piece>,
}

impl Piece {
    /// A segment: from a point along a direction.
    pub fn straight(from: Vec<Rational>, direction: Vec<Rational>, until: Rational) -> Self {
        Piece { powers: vec![from, direction], until }
    }

    /// The point at t.
    pub fn at(&self, t: &Rational) -> Vec<Rational> {
        self.coordinates().map(|p| p.at(t)).collect()
    }

    /// The derivative of the curve at t.
    pub fn velocity(&self, t: &Rational) -> Vec<Rational> {
        self.coordinates().map(|p| p.derivative().at(t)).collect()
    }

    /// The dimension, if all vectors have the same and the parameter goes on.
    pub(super) fn dimension(&self) -> Option<usize> {
        let n = self.powers.first()?.len();
        (self.powers.iter().all(|v| v.len() == n) && self.until.is_positive()).then_some(n)
    }

    /// The curve just after t, in the parameter s with t + s.
    pub(super) fn germs(&self, t: &Rational, log: &Arc<Log>) -> Vec<Germ> {
        self.coordinates().map(|p| Germ::along(p.shifted(t), log.clone())).collect()
    }

    fn coordinates(&self) -> impl Iterator<Item = Polynomial> + '_ {
        let n = self.powers.first().map_or(0, Vec::len);
        (0..n).map(|i| Polynomial::new(self.powers.iter().map(|v| v[i].clone()).collect()))
    }
}
