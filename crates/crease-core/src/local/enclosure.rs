//! Certain enclosures of directional derivatives where a model is rounded.

use super::{Exactness, LocalModel, Node, Term};
use crate::number::{Interval, Number, Rational};

impl LocalModel {
    /// Numbers between which the directional derivatives of the outputs certainly lie. Nothing is known if a tie was left open, or if
    /// rounding lost a coefficient.
    ///
    /// ```
    /// use crease_core::{abs, exp, local::localize, trace, Rational, Tensor};
    /// let p = trace(2, |x| abs(x[0]) * exp(x[1])).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO), Tensor::scalar(Rational::ONE)]).unwrap();
    /// let along = |d: i64| model.enclosure(&[Rational::from(d), Rational::ZERO]).unwrap()[0];
    /// assert!(along(-1).lo() > 2.718 && along(1).hi() < 2.719);
    /// ```
    pub fn enclosure(&self, direction: &[Rational]) -> Option<Vec<Interval>> {
        let open = matches!(self.exactness(), Exactness::Approximate { undecided } if !undecided.is_empty());
        if open || self.lost || direction.len() != self.dimension() {
            return None;
        }
        let mut values: Vec<Interval> = Vec::with_capacity(self.len());
        for node in self.nodes() {
            values.push(match node {
                Node::Direction(i) => Interval::from_rational(&direction[i]).ok()?,
                Node::Linear(terms) => {
                    let mut sum = Interval::zero();
                    for t in terms {
                        sum = sum.add(&coefficient(t)?.mul(&values[t.node.index()]));
                    }
                    sum
                }
                Node::Max(members) => {
                    let of = |end: fn(&Interval) -> f64| {
                        members.iter().map(|m| end(&values[m.index()])).fold(f64::NEG_INFINITY, f64::max)
                    };
                    Interval::new(of(Interval::lo), of(Interval::hi))?
                }
            });
        }
        Some(self.outputs().iter().map(|o| values[o.index()]).collect())
    }
}

/// The numbers that the coefficient of a term may be.
fn coefficient(t: &Term) -> Option<Interval> {
    let near = Interval::from_rational(&t.coefficient).ok()?;
    Some(near.add(&Interval::new(-t.slack, t.slack)?))
}
