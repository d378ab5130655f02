//! Certain enclosures of what an enclosed model computes.

use super::localize::work_of_mixed;
use super::{LocalModel, Node, Term};
use crate::limits::{Limits, Stop, work_of};
use crate::number::{Mixed, Number, Rational};

impl Term {
    /// What is known of the coefficient, to be enclosed with so many bits.
    ///
    /// ```
    /// use crease_core::{exp, local::{localize, Node}, trace, Rational, Tensor};
    /// let p = trace(1, |x| exp(x[0])).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ONE)]).unwrap();
    /// let Node::Linear([term]) = model.node(model.outputs()[0]) else { panic!() };
    /// let (low, high) = term.known(128).enclosure().outer();
    /// assert!(low <= 1.0_f64.exp() && 1.0_f64.exp() <= high && term.known(128).exact().is_none());
    /// ```
    pub fn known(&self, bits: u32) -> Mixed {
        let middle = Mixed::exactly(self.coefficient.clone()).at(bits);
        if self.radius.is_zero() {
            return middle;
        }
        let (low, high) = (&self.coefficient - &self.radius, &self.coefficient + &self.radius);
        let end = |x: Rational| Mixed::exactly(x).at(bits);
        // two different exact numbers have a hull
        end(low).hull(&end(high)).unwrap_or(middle)
    }
}

impl LocalModel {
    /// What is known of the directional derivatives of the outputs: exact numbers, or certain enclosures. Nothing if the direction has
    /// not as many coordinates as the inputs.
    ///
    /// ```
    /// use crease_core::{abs, exp, local::localize, trace, Rational, Tensor};
    /// let p = trace(2, |x| abs(x[0]) * exp(x[1])).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO), Tensor::scalar(Rational::ONE)]).unwrap();
    /// let along = |d: i64| model.along(&[Rational::from(d), Rational::ZERO]).unwrap()[0].enclosure().outer();
    /// assert!(along(-1).0 > 2.718 && along(1).1 < 2.719);
    /// ```
    pub fn along(&self, direction: &[Rational]) -> Option<Vec<Mixed>> {
        self.along_within(direction, &Limits::DEFAULT).ok().flatten()
    }

    /// [`along`](Self::along), unless it is stopped on the way.
    pub fn along_within(&self, direction: &[Rational], limits: &Limits) -> Result<Option<Vec<Mixed>>, Stop> {
        if direction.len() != self.dimension() {
            return Ok(None);
        }
        let bits = self.precision.bits;
        let work = |x: &Mixed| work_of_mixed(x, bits);
        let mut values: Vec<Mixed> = Vec::with_capacity(self.len());
        for node in self.nodes() {
            limits.charge(match node {
                Node::Linear(terms) => {
                    let term = |t: &Term| 4 + 2 * work_of(&t.coefficient) + 2 * work(&values[t.node.index()]);
                    terms.iter().map(term).sum()
                }
                Node::Max(members) | Node::Norm(members) => members.iter().map(|m| work(&values[m.index()])).sum(),
                Node::Direction(_) | Node::Taken(_) | Node::Seam { .. } => 1,
            })?;
            values.push(match node {
                Node::Direction(i) => Mixed::exactly(direction[i].clone()).at(bits),
                Node::Linear(terms) => {
                    let product = |t: &Term| t.known(bits).mul(&values[t.node.index()]);
                    terms.iter().map(product).fold(Mixed::zero(), |sum, x| sum.add(&x))
                }
                Node::Max(members) => {
                    let of = |i: usize| &values[members[i].index()];
                    // enclosures have a maximum even where they overlap
                    match (1..members.len()).try_fold(of(0).clone(), |best, i| Number::max(&best, of(i))) {
                        Ok(largest) => largest,
                        Err(_) => return Ok(None),
                    }
                }
                Node::Norm(members) => match Mixed::norm2(members.iter().map(|m| &values[m.index()])) {
                    Ok(norm) => norm,
                    Err(_) => return Ok(None),
                },
                Node::Taken(members) => values[members[0].index()].clone(),
                Node::Seam { taken, .. } => values[taken.index()].clone(),
            });
        }
        Ok(Some(self.outputs().iter().map(|o| values[o.index()].clone()).collect()))
    }
}
