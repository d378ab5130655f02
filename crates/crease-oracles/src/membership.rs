//! Where a given vector lies, such as the answer of a framework: a vertex of the Clarke subdifferential, inside of it, in the
//! conservative gradient only, or in neither.
//!
//! [`Session::membership`] says what a few sweeps can show. [`Session::membership_among`] also knows all neighbouring gradients, or those that were found
//! within limits; given all of them, it decides whether the vector is a Clarke subgradient, and proves it. Whether a vector that is
//! none belongs to the conservative gradient is another matter: that set is the image of a polynomial, and there is no general
//! test. Corners, edges and the centre of the choices are tried, and what is not shown is not claimed.

use crate::bounds::along;
use crate::enumerate::Neighbours;
use crate::{Conservative, HullPosition, OracleError, Session, check_direction, in_hull};
use crease_core::Limits;
use crease_core::number::Rational;

/// The least and the largest of some numbers.
pub type Bounds = (Rational, Rational);

/// Where a vector lies.
#[derive(Clone, Debug, PartialEq)]
pub enum Membership {
    /// The conservative gradient is this vector alone: it is the gradient.
    Gradient,
    /// It is the limit of gradients along this direction, hence a Clarke subgradient.
    Clarke {
        /// The direction.
        direction: Vec<Rational>,
    },
    /// It is the limit of gradients along this direction, and a vertex of the Clarke subdifferential.
    Vertex {
        /// The direction.
        direction: Vec<Rational>,
    },
    /// It is a convex combination of neighbouring gradients, hence a Clarke subgradient.
    Hull {
        /// Numbers of neighbouring gradients and their weights, which are positive and add up to 1.
        weights: Vec<(usize, Rational)>,
    },
    /// It is no Clarke subgradient, but an element of the conservative gradient.
    ConservativeOnly {
        /// Along this direction it lies beyond all Clarke subgradients.
        direction: Vec<Rational>,
        /// For each kink of the model, weights of its members that give it.
        choices: Vec<Vec<Rational>>,
    },
    /// It is no Clarke subgradient. Whether it belongs to the conservative gradient was not found out.
    NotClarke {
        /// Along this direction it lies beyond all Clarke subgradients.
        direction: Vec<Rational>,
    },
    /// It is no Clarke subgradient, and not in the conservative gradient either: this coordinate is outside the bounds of that,
    /// whose convex hull holds all Clarke subgradients.
    Outside {
        /// The coordinate.
        coordinate: usize,
        /// The bounds of that coordinate.
        bounds: Bounds,
    },
    /// It is no Clarke subgradient, and not in the conservative gradient either: its product with this direction is outside the bounds of the products of all elements.
    Beyond {
        /// The direction.
        direction: Vec<Rational>,
        /// The bounds of products with it.
        bounds: Bounds,
    },
    /// Neither was found. The enumeration of all neighbouring gradients would decide it.
    NotDecided,
}

impl Session<'_> {
    /// Asks where a vector lies, as far as a few sweeps show it. `tries` random directions are looked at.
    ///
    /// ```
    /// use crease_core::{local::localize, relu, trace, Rational, Tensor};
    /// use crease_oracles::{Membership, Session};
    /// let p = trace(1, |x| relu(x[0])).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let session = Session::new(&model, 0);
    /// let ask = |v: &str| session.membership(&[v.parse().unwrap()], 16).unwrap();
    /// assert!(matches!(ask("1"), Membership::Clarke { .. }));
    /// assert!(matches!(ask("2"), Membership::Outside { .. }));
    /// assert_eq!(ask("1/2"), Membership::NotDecided);
    /// ```
    pub fn membership(&self, vector: &[Rational], tries: u64) -> Result<Membership, OracleError> {
        let known = self.conservative()?;
        check_direction(self.model(), vector)?;
        if let Some(found) = by_bounds(known, vector) {
            return Ok(found);
        }
        if let Some((direction, bounds)) = self.beyond(vector, &Rational::ZERO)? {
            return Ok(Membership::Beyond { direction, bounds });
        }
        // the vector itself is a good guess: the gradient grows along it
        let own: Vec<Vec<Rational>> = vec![vector.to_vec(), vector.iter().map(|x| -x).collect()];
        for direction in own {
            if let Some(e) = self.clarke_along(&direction)?
                && e.proved
                && is_exactly((&e.gradient, e.radius.as_deref()), vector)
            {
                return Ok(Membership::Clarke { direction });
            }
        }
        for seed in 0..tries {
            let e = self.clarke_element(seed)?;
            if e.proved && is_exactly((&e.gradient, e.radius.as_deref()), vector) {
                return Ok(Membership::Clarke { direction: e.direction });
            }
        }
        Ok(Membership::NotDecided)
    }

    /// Asks where a vector lies, given the neighbouring gradients. It is decided whether
    /// it is a Clarke subgradient, unless those are not [complete](Neighbours::complete), or time is up.
    ///
    /// ```
    /// use crease_core::{local::localize, relu, trace, Rational, Tensor};
    /// use crease_oracles::{Membership, Session};
    /// // the identity, and the ramp
    /// let p = trace(2, |x| relu(x[0]) - relu(-x[0]) + relu(x[1])).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO), Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let session = Session::new(&model, 0);
    /// let all = session.neighbouring_gradients(&Default::default(), |_| ()).unwrap();
    /// let ask = |v: [&str; 2]| session.membership_among(&all, &v.map(|x| x.parse().unwrap()), &Default::default()).unwrap();
    /// assert!(matches!(ask(["1", "1"]), Membership::Vertex { .. }));
    /// assert!(matches!(ask(["1", "1/3"]), Membership::Hull { .. }));
    /// assert!(matches!(ask(["0", "0"]), Membership::ConservativeOnly { .. })); // what frameworks say
    /// assert!(matches!(ask(["1", "2"]), Membership::Outside { .. }));
    /// ```
    pub fn membership_among(
        &self,
        neighbours: &Neighbours,
        vector: &[Rational],
        limits: &Limits,
    ) -> Result<Membership, OracleError> {
        let known = self.conservative()?;
        check_direction(self.model(), vector)?;
        if !neighbours.exact {
            let found = self.membership(vector, 0)?;
            return if found == Membership::NotDecided { among_exact(neighbours, vector, limits) } else { Ok(found) };
        }
        if let Some(found) = by_bounds(known, vector) {
            return Ok(found);
        }
        let list = &neighbours.gradients;
        if let Some(own) = list.iter().position(|n| n.gradient == vector) {
            let direction = list[own].direction.clone();
            let others: Vec<&[Rational]> =
                list.iter().enumerate().filter(|(i, _)| *i != own).map(|(_, n)| &n.gradient[..]).collect();
            let vertex = neighbours.all_vertices
                || neighbours.complete() && matches!(in_hull(&others, vector, limits)?, HullPosition::Outside { .. });
            return Ok(if vertex { Membership::Vertex { direction } } else { Membership::Clarke { direction } });
        }
        match in_hull(list, vector, limits)? {
            HullPosition::Inside { weights } => Ok(Membership::Hull { weights }),
            HullPosition::Outside { direction } if neighbours.complete() => {
                if let Some(bounds) = self.beyond_along(vector, &direction, &Rational::ZERO)? {
                    return Ok(Membership::Beyond { direction, bounds });
                }
                Ok(match choices_for(self, vector, limits)? {
                    Some(choices) => Membership::ConservativeOnly { direction, choices },
                    None => Membership::NotClarke { direction },
                })
            }
            HullPosition::Outside { .. } | HullPosition::NotDecided => Ok(Membership::NotDecided),
        }
    }
}

impl Session<'_> {
    /// A direction along which a vector lies beyond all elements of the conservative gradient, by more than this part of the sizes, and the bounds of those: one of a few
    /// directions that come to mind, if one of them shows it.
    ///
    /// ```
    /// use crease_core::{local::localize, trace, Rational, Tensor};
    /// use crease_oracles::Session;
    /// let p = trace(2, |x| crease_core::max(x)).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO), Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let session = Session::new(&model, 0);
    /// // full weight for both of two equals: each coordinate is within its bounds, their sum is not
    /// let full = vec![Rational::ONE; 2];
    /// assert_eq!(session.beyond(&full, &Rational::ZERO).unwrap().unwrap().1, (Rational::ONE, Rational::ONE));
    /// assert!(session.beyond(&[Rational::ONE, Rational::ZERO], &Rational::ZERO).unwrap().is_none());
    /// ```
    pub fn beyond(
        &self,
        vector: &[Rational],
        relative: &Rational,
    ) -> Result<Option<(Vec<Rational>, Bounds)>, OracleError> {
        let known = self.conservative()?;
        check_direction(self.model(), vector)?;
        let from_known = known.elements.iter().map(|e| vector.iter().zip(&e.gradient).map(|(a, b)| a - b).collect());
        let sign = |x: &Rational| Rational::from(i64::from(x.is_positive()) - i64::from(x.is_negative()));
        let guesses: Vec<Vec<Rational>> = from_known.chain([vector.to_vec()]).collect();
        let signs: Vec<Vec<Rational>> = guesses.iter().map(|d| d.iter().map(sign).collect()).collect();
        for direction in guesses.into_iter().chain(signs) {
            if let Some(bounds) = self.beyond_along(vector, &direction, relative)? {
                return Ok(Some((direction, bounds)));
            }
        }
        Ok(None)
    }

    /// The bounds of products with a direction, if that of the vector is outside of them by more than this part of the sizes.
    fn beyond_along(
        &self,
        vector: &[Rational],
        direction: &[Rational],
        relative: &Rational,
    ) -> Result<Option<Bounds>, OracleError> {
        let (low, high) = along(self.model(), self.from()?, direction);
        let (mut product, mut size) = (Rational::ZERO, Ord::max(low.abs(), high.abs()));
        for (x, d) in vector.iter().zip(direction) {
            let term = x * d;
            size += term.abs();
            product += term;
        }
        let slack = relative * size;
        let out = product > &high + &slack || product < &low - &slack;
        Ok(out.then_some((low, high)))
    }
}

/// Where a vector lies, as far as those gradients show it that are exact although others are not.
fn among_exact(neighbours: &Neighbours, vector: &[Rational], limits: &Limits) -> Result<Membership, OracleError> {
    let (numbers, exact): (Vec<usize>, Vec<&[Rational]>) = neighbours
        .gradients
        .iter()
        .enumerate()
        .filter(|(_, n)| n.is_exact())
        .map(|(i, n)| (i, &n.gradient[..]))
        .unzip();
    if exact.is_empty() {
        return Ok(Membership::NotDecided);
    }
    Ok(match in_hull(&exact, vector, limits)? {
        HullPosition::Inside { weights } => {
            Membership::Hull { weights: weights.into_iter().map(|(i, w)| (numbers[i], w)).collect() }
        }
        HullPosition::Outside { .. } | HullPosition::NotDecided => Membership::NotDecided,
    })
}

/// Whether a vector, of which it is known how far it may be off, is certainly another one.
fn is_exactly((middle, radius): (&[Rational], Option<&[Rational]>), vector: &[Rational]) -> bool {
    middle == vector && radius.is_none_or(|r| r.iter().all(Rational::is_zero))
}

/// What a singleton, or the bounds of the conservative gradient, say.
fn by_bounds(known: &Conservative, vector: &[Rational]) -> Option<Membership> {
    let only = &known.elements[0];
    if known.is_singleton() && known.proved && is_exactly((&only.gradient, only.radius.as_deref()), vector) {
        return Some(Membership::Gradient);
    }
    // the bounds of a proved singleton are its element
    let out = vector.iter().zip(&known.bounds).position(|(x, (low, high))| x < low || x > high);
    out.map(|coordinate| Membership::Outside { coordinate, bounds: known.bounds[coordinate].clone() })
}

/// Weights at the kinks that give a vector, if some of the usual ones do: equal weights everywhere, one member at each kink, or one
/// at each but one.
fn choices_for(
    session: &Session<'_>,
    vector: &[Rational],
    limits: &Limits,
) -> Result<Option<Vec<Vec<Rational>>>, OracleError> {
    let sizes = session.sizes();
    let unit = |n: usize, k: usize| -> Vec<Rational> { (0..n).map(|i| Rational::from(usize::from(i == k))).collect() };
    let equal = |n: usize| vec![Rational::new(1, n as i64).unwrap_or_default(); n];
    let centre: Vec<Vec<Rational>> = sizes.iter().map(|&n| equal(n)).collect();
    if session.gradient_at_choices(&centre)? == vector {
        return Ok(Some(centre));
    }
    let mut left = session.limits().choices / (session.model().len() + 1);
    let mut picked = vec![0usize; sizes.len()];
    loop {
        let corner: Vec<Vec<Rational>> = sizes.iter().zip(&picked).map(|(&n, &k)| unit(n, k)).collect();
        let here = session.gradient_at_choices(&corner)?;
        if here == vector {
            return Ok(Some(corner));
        }
        for (kink, &n) in sizes.iter().enumerate() {
            for other in picked[kink] + 1..n {
                let Some(less) = left.checked_sub(1).filter(|_| limits.stopped().is_none()) else { return Ok(None) };
                left = less;
                let mut moved = corner.clone();
                moved[kink] = unit(n, other);
                let there = session.gradient_at_choices(&moved)?;
                if let Some(t) = between(&here, &there, vector) {
                    moved[kink][picked[kink]] = Rational::ONE - &t;
                    moved[kink][other] = t;
                    return Ok(Some(moved));
                }
            }
        }
        // the next corner, as one counts
        let Some(kink) = (0..sizes.len()).find(|&k| picked[k] + 1 < sizes[k]) else { return Ok(None) };
        picked[..kink].fill(0);
        picked[kink] += 1;
        let Some(less) = left.checked_sub(1) else { return Ok(None) };
        left = less;
    }
}

/// The t from 0 to 1 with v = (1 - t) a + t b, if there is one and a and b differ.
fn between(a: &[Rational], b: &[Rational], v: &[Rational]) -> Option<Rational> {
    let k = (0..v.len()).find(|&k| a[k] != b[k])?;
    let t = (&v[k] - &a[k]).checked_div(&(&b[k] - &a[k]))?;
    let on = |k: usize| &a[k] + &t * (&b[k] - &a[k]) == v[k];
    (!t.is_negative() && t <= Rational::ONE && (0..v.len()).all(on)).then_some(t)
}
