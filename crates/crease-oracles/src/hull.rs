//! Convex hulls of finitely many exact vectors: is a vector inside, and which of them are vertices?
//!
//! What enters is a list of vectors; what leaves is a convex combination, or a direction that separates, both exact. By Gordan's
//! alternative, v is no convex combination of the g_i iff some direction s has <v - g_i, s> > 0 for all i; the multipliers of a
//! contradiction are the weights of the combination. Not all of the g_i take part: a direction that separates v from a few of them
//! is tried on all, and the worst offender joins the few. Vertices are found as Clarkson does: what is not in the hull of the
//! vertices so far points at another vertex.
//!
//! Deliberately absent: facets and volumes. A hull of n vectors in dimension p can have n^(p/2) facets, and nobody here needs them.

use crate::cone::{Cone, Conflict, Forms, Half, Halt};
use crate::enumerate::{Neighbour, Neighbours};
use crate::{EnumerateLimit, OracleError};
use crease_core::Limits;
use crease_core::local::Form;
use crease_core::number::Rational;
use crease_core::random::SplitMix64;
use std::collections::HashMap;

/// Along how many random directions the first vertices are looked for.
const RANDOM_DIRECTIONS: usize = 200;

/// Where a vector lies with respect to a convex hull.
///
/// ```
/// use crease_core::{Limits, Rational};
/// use crease_oracles::{in_hull, HullPosition};
/// use std::time::Duration;
/// let points = [[0, 0], [2, 0], [0, 2]].map(|g| g.map(Rational::from).to_vec());
/// let ask = |v: [i64; 2], limits| in_hull(&points, &v.map(Rational::from), &limits).unwrap();
/// let HullPosition::Inside { weights } = ask([1, 1], Limits::DEFAULT) else { panic!() };
/// assert_eq!(weights, [(1, Rational::new(1, 2).unwrap()), (2, Rational::new(1, 2).unwrap())]);
/// assert!(matches!(ask([2, 1], Limits::DEFAULT), HullPosition::Outside { .. }));
/// assert_eq!(ask([2, 1], Limits::DEFAULT.within(Duration::ZERO)), HullPosition::NotDecided);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum HullPosition {
    /// It is the combination of these vectors with these weights, which are positive and add up to 1.
    Inside {
        /// Numbers of vectors, in ascending order, and their weights.
        weights: Vec<(usize, Rational)>,
    },
    /// It is not in the hull.
    Outside {
        /// Along this direction it lies beyond all vectors: its product with it is larger than that of any of them.
        direction: Vec<Rational>,
    },
    /// Time was up before either was shown.
    NotDecided,
}

/// Whether a vector is in the convex hull of others, with a proof either way, unless the limits end it. See [`HullPosition`] for an example.
pub fn in_hull<P: AsRef<[Rational]>>(
    points: &[P],
    vector: &[Rational],
    limits: &Limits,
) -> Result<HullPosition, OracleError> {
    check(points, vector.len())?;
    Ok(Cloud::all(points).position(vector, &mut Vec::new(), &limits.metered()))
}

/// Which of the vectors are vertices of their convex hull.
///
/// ```
/// use crease_core::Rational;
/// let points = [[0, 0], [2, 0], [0, 2], [1, 1], [2, 0]].map(|g| g.map(Rational::from).to_vec());
/// assert_eq!(crease_oracles::hull_vertices(&points).unwrap(), [true, true, true, false, true]);
/// ```
pub fn hull_vertices<P: AsRef<[Rational]>>(points: &[P]) -> Result<Vec<bool>, OracleError> {
    check(points, points.first().map_or(0, |p| p.as_ref().len()))?;
    let verdicts = Cloud::vertices(points, |_| None, &Limits::DEFAULT, || ());
    Ok(verdicts.into_iter().map(|v| v == Some(true)).collect())
}

fn check<P: AsRef<[Rational]>>(points: &[P], dimension: usize) -> Result<(), OracleError> {
    match points.iter().map(|p| p.as_ref().len()).find(|&n| n != dimension) {
        Some(got) => Err(OracleError::Dimension { expected: dimension, got }),
        None => Ok(()),
    }
}

/// Whether 0 is a Clarke subgradient: the necessary condition for a local minimum.
///
/// ```
/// use crease_core::{abs, local::localize, trace, Rational, Tensor};
/// use crease_oracles::{neighbouring_gradients, Stationarity};
/// let ask = |slope: f64| {
///     let p = trace(1, |x| abs(x[0]) + slope * x[0]).unwrap();
///     let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
///     neighbouring_gradients(&model, 0, &Default::default()).unwrap().stationarity(&Default::default())
/// };
/// assert!(matches!(ask(0.5), Stationarity::Stationary { .. }));
/// let Stationarity::Descent { direction } = ask(3.0) else { panic!() };
/// assert!(direction[0].is_negative());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Stationarity {
    /// Yes: 0 is this combination of neighbouring gradients, which are known exactly.
    Stationary {
        /// Numbers of gradients and their weights, which are positive and add up to 1.
        weights: Vec<(usize, Rational)>,
    },
    /// Yes: 0 is in the convex hull of the gradients, wherever they lie within their enclosures.
    /// The weights depend on where, so that there are none.
    Enclosed,
    /// No: all Clarke subgradients are negative along this direction, so that the program decreases.
    /// For enclosed gradients, every vector of every enclosure is.
    Descent {
        /// The direction.
        direction: Vec<Rational>,
    },
    /// 0 is neither certainly a combination of the gradients nor certainly apart from them, the list
    /// is not complete, or time was up.
    NotDecided,
}

impl Neighbours {
    /// Whether the point is Clarke stationary, within the time of the limits. See [`Stationarity`] for an example.
    ///
    /// The answer never rests on the middle of an enclosure:
    ///
    /// ```
    /// use crease_core::{abs, exp, log, local::localize, trace, Rational, Tensor, Var};
    /// use crease_oracles::{neighbouring_gradients, Stationarity};
    /// let ask = |at: i64, f: fn(Var<'_>) -> Var<'_>| {
    ///     let p = trace(1, |x| f(x[0])).unwrap();
    ///     let model = localize(&p, &[Tensor::scalar(Rational::from(at))]).unwrap();
    ///     let all = neighbouring_gradients(&model, 0, &Default::default()).unwrap();
    ///     all.stationarity(&Default::default())
    /// };
    /// assert_eq!(ask(2, |x| exp(log(x)) - x), Stationarity::NotDecided); // 0, or close to it
    /// assert_eq!(ask(0, |x| abs(exp(x * 0.0 + 1.0) * x)), Stationarity::Enclosed); // from -e to e
    /// assert!(matches!(ask(1, exp), Stationarity::Descent { .. }));
    /// ```
    pub fn stationarity(&self, limits: &Limits) -> Stationarity {
        let Some(first) = self.gradients.first() else { return Stationarity::NotDecided };
        let zero = vec![Rational::ZERO; first.gradient.len()];
        let (numbers, exact): (Vec<usize>, Vec<&[Rational]>) =
            self.gradients.iter().enumerate().filter(|(_, n)| n.is_exact()).map(|(i, n)| (i, &n.gradient[..])).unzip();
        let all_exact = exact.len() == self.gradients.len();
        match in_hull(&exact, &zero, limits) {
            Ok(HullPosition::Inside { weights }) => {
                let weights = weights.into_iter().map(|(i, w)| (numbers[i], w)).collect();
                return Stationarity::Stationary { weights };
            }
            Ok(HullPosition::Outside { direction }) if all_exact && self.complete() => {
                return Stationarity::Descent { direction };
            }
            _ if all_exact => return Stationarity::NotDecided,
            _ => {}
        }
        if surround_zero(&self.gradients, limits) {
            return Stationarity::Enclosed;
        }
        match self.complete().then(|| descent(&self.gradients, limits)).flatten() {
            Some(direction) => Stationarity::Descent { direction },
            None => Stationarity::NotDecided,
        }
    }

    /// Which gradients are vertices of the Clarke subdifferential, within the time of the limits; nothing for those of which it is
    /// not known. Of a list that is not complete, it is only known which are not. `tell` is told of how many were looked at.
    ///
    /// ```
    /// use crease_core::{abs, local::localize, trace, Rational, Tensor};
    /// use crease_oracles::neighbouring_gradients;
    /// let p = trace(1, |x| abs(x[0]) - abs(0.5 * x[0] + abs(x[0]))).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let found = neighbouring_gradients(&model, 0, &Default::default()).unwrap();
    /// assert!(found.vertices(&Default::default(), |_| ()).iter().all(|v| *v == Some(true)) && found.gradients.len() == 1);
    /// ```
    pub fn vertices(&self, limits: &Limits, mut tell: impl FnMut(u64)) -> Vec<Option<bool>> {
        let unknown = || vec![None; self.gradients.len()];
        // whatever it is within its enclosure
        if self.complete() && self.gradients.len() == 1 {
            return vec![Some(true)];
        }
        if !self.exact || self.limit == Some(EnumerateLimit::TooLarge) {
            return unknown();
        }
        if self.all_vertices {
            // gradients of a convex function that were found are vertices whatever else there is
            return vec![Some(true); self.gradients.len()];
        }
        let hint = |i: usize| self.gradients.get(i).map(|n| &n.direction[..]);
        let mut looked = 0;
        let mut verdicts = Cloud::vertices(&self.gradients, hint, &limits.metered(), || {
            looked += 1;
            tell(looked);
        });
        if !self.complete() {
            verdicts.iter_mut().filter(|v| **v == Some(true)).for_each(|v| *v = None);
        }
        verdicts
    }
}

/// Whether 0 is in the convex hull of gradients, wherever they lie within their enclosures.
///
/// Sufficient: the hull of the middles m_i contains the box of all deviations e_i. Otherwise some s
/// has <m_i + e_i, s> < 0 for all i; then the corner of the box farthest along s lies beyond every
/// m_i along s, a contradiction. A cross-polytope around the box has fewer corners than the box.
fn surround_zero(gradients: &[Neighbour], limits: &Limits) -> bool {
    let dimension = gradients.first().map_or(0, |n| n.gradient.len());
    let mut deviation = vec![Rational::ZERO; dimension];
    for radius in gradients.iter().filter_map(|n| n.radius.as_ref()) {
        deviation.iter_mut().zip(radius).filter(|(most, r)| **r > **most).for_each(|(most, r)| *most = r.clone());
    }
    let off: Vec<usize> = (0..dimension).filter(|&k| !deviation[k].is_zero()).collect();
    // around a simplex there are more corners than coordinates
    if gradients.len() <= off.len() {
        return false;
    }
    let count = Rational::from(off.len());
    let corner = |k: usize, sign: i64| {
        let mut corner = vec![Rational::ZERO; dimension];
        corner[k] = &deviation[k] * &count * Rational::from(sign);
        corner
    };
    off.iter().flat_map(|&k| [corner(k, 1), corner(k, -1)]).all(|corner| {
        limits.stopped().is_none() && matches!(in_hull(gradients, &corner, limits), Ok(HullPosition::Inside { .. }))
    })
}

/// A direction along which all vectors of all enclosures are negative, if one exists.
///
/// Corners of the enclosures are generated lazily: a direction that separates the known ones from 0
/// either separates all, or reveals a corner to add.
fn descent(gradients: &[Neighbour], limits: &Limits) -> Option<Vec<Rational>> {
    // of one enclosure, the vector that is closest to 0 is in the way of no other
    let closest = |n: &Neighbour| -> Vec<Rational> {
        let Some(radius) = &n.radius else { return n.gradient.clone() };
        let toward_zero = |(m, r): (&Rational, &Rational)| match m.abs() > *r {
            true if m.is_negative() => m + r,
            true => m - r,
            false => Rational::ZERO,
        };
        n.gradient.iter().zip(radius).map(toward_zero).collect()
    };
    let mut known: Vec<Vec<Rational>> = gradients.iter().map(closest).collect();
    let zero = vec![Rational::ZERO; known.first()?.len()];
    loop {
        let Ok(HullPosition::Outside { direction }) = in_hull(&known, &zero, limits) else { return None };
        let before = known.len();
        for n in gradients {
            let Some(radius) = &n.radius else { continue };
            let farthest: Vec<Rational> = n
                .gradient
                .iter()
                .zip(radius)
                .zip(&direction)
                .map(|((m, r), s)| match s {
                    s if s.is_negative() => m - r,
                    s if s.is_positive() => m + r,
                    _ => m.clone(),
                })
                .collect();
            if !dot(&farthest, &direction).is_negative() {
                known.push(farthest);
            }
        }
        if known.len() == before {
            return Some(direction);
        }
        // one enclosure alone: all of its vectors are at least as far along the closest one
        if gradients.len() == 1 {
            return Some(known[0].iter().map(|x| -x).collect());
        }
    }
}

/// Vectors with copies in floats, one list for each coordinate, which computers like to read.
struct Cloud<'p, P> {
    points: &'p [P],
    /// The numbers of those that take part.
    members: Vec<usize>,
    columns: Vec<Vec<f64>>,
    /// For each member the sum of its absolute values, from above.
    sizes: Vec<f64>,
    /// For each member its product with the direction that was asked about last.
    values: Vec<f64>,
}

impl<'p, P: AsRef<[Rational]>> Cloud<'p, P> {
    fn new(points: &'p [P], members: impl IntoIterator<Item = usize>) -> Self {
        let dimension = points.first().map_or(0, |p| p.as_ref().len());
        let columns = vec![Vec::new(); dimension];
        let mut cloud = Cloud { points, members: Vec::new(), columns, sizes: Vec::new(), values: Vec::new() };
        members.into_iter().for_each(|i| cloud.add(i));
        cloud
    }

    fn all(points: &'p [P]) -> Self {
        Cloud::new(points, 0..points.len())
    }

    fn add(&mut self, i: usize) {
        let mut size = 0.0;
        for (column, x) in self.columns.iter_mut().zip(self.points[i].as_ref()) {
            let x = x.to_f64();
            column.push(x);
            size += x.abs();
        }
        self.members.push(i);
        self.sizes.push(size * (1.0 + 1e-10));
    }

    fn point(&self, i: usize) -> &'p [Rational] {
        self.points[i].as_ref()
    }

    /// Computes the products of all members with a direction, rounded.
    fn compute(&mut self, direction: &[f64]) {
        self.values.clear();
        self.values.resize(self.members.len(), 0.0);
        for (column, d) in self.columns.iter().zip(direction) {
            self.values.iter_mut().zip(column).for_each(|(v, x)| *v += x * d);
        }
    }

    /// The member that seems to be farthest along a direction, and its product with it.
    fn seems_farthest(&mut self, direction: &[f64]) -> Option<(usize, f64)> {
        self.compute(direction);
        let best = self.values.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some((self.members[best.0], *best.1))
    }

    /// The member that is farthest along a direction; of several, the lexicographically largest, which is a vertex of the hull.
    fn farthest(&mut self, direction: &[Rational]) -> Option<usize> {
        let near: Vec<f64> = direction.iter().map(Rational::to_f64).collect();
        self.compute(&near);
        let largest = near.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let slack = (self.columns.len() + 4) as f64 * f64::EPSILON * largest;
        let error = |k: usize| slack * self.sizes[k] + f64::MIN_POSITIVE * 64.0;
        // what cannot be computed may be anything
        let low = |k: usize| Some(self.values[k] - error(k)).filter(|x| x.is_finite()).unwrap_or(f64::NEG_INFINITY);
        let high = |k: usize| Some(self.values[k] + error(k)).filter(|x| x.is_finite()).unwrap_or(f64::INFINITY);
        let least = (0..self.members.len()).map(low).fold(f64::NEG_INFINITY, f64::max);
        let ahead: Vec<usize> = (0..self.members.len()).filter(|&k| high(k) >= least).collect();
        if let [k] = ahead[..] {
            return Some(self.members[k]);
        }
        let exact = ahead.into_iter().map(|k| (dot(self.point(self.members[k]), direction), k));
        let best = exact.max_by(|(x, i), (y, j)| {
            x.cmp(y).then_with(|| self.point(self.members[*i]).cmp(self.point(self.members[*j])))
        });
        best.map(|(_, k)| self.members[k])
    }

    /// Where a vector lies with respect to the hull of the members. `few` are those to begin with, and those that mattered.
    fn position(&mut self, vector: &[Rational], few: &mut Vec<usize>, limits: &Limits) -> HullPosition {
        let mut forms = Forms::new(vector.len());
        let mut cone = Cone::new(vector.len(), limits);
        let mut scales: Vec<(usize, Rational)> = Vec::new();
        let near: Vec<f64> = vector.iter().map(Rational::to_f64).collect();
        let mut waiting = std::mem::take(few);
        if waiting.is_empty() {
            waiting.extend(self.seems_farthest(&near).map(|(i, _)| i));
        }
        let look = (self.members.len() * vector.len()) as u64;
        while limits.go_on(1 + look / 8) {
            for i in waiting.drain(..) {
                limits.go_on(16 * vector.len() as u64);
                let away: Form = vector.iter().zip(self.point(i)).map(|(v, g)| v - g).enumerate().collect();
                let Some((signed, factor)) = forms.intern(&away) else {
                    return HullPosition::Inside { weights: vec![(i, Rational::ONE)] };
                };
                cone.assert(&forms, Half::open(signed));
                scales.push((i, factor));
            }
            // floats are good enough to find out who is in the way
            if cone.check_quick(&forms).is_ok() {
                let reach: f64 = near.iter().zip(cone.point()).map(|(v, d)| v * d).sum();
                if let Some((i, value)) = self.seems_farthest(cone.point())
                    && value >= reach
                    && scales.iter().all(|(known, _)| *known != i)
                {
                    waiting.push(i);
                    continue;
                }
            }
            let direction = match cone.witness(&forms) {
                Ok(direction) => direction,
                Err(Halt::Stopped) => break,
                Err(Halt::Conflict(conflict)) => {
                    let weights = combination(&conflict, &scales);
                    *few = weights.iter().map(|(i, _)| *i).collect();
                    return HullPosition::Inside { weights };
                }
            };
            let reach = dot(vector, &direction);
            match self.farthest(&direction).filter(|&i| dot(self.point(i), &direction) >= reach) {
                Some(i) => waiting.push(i),
                None => {
                    // the last to come are those that were nearest
                    let skip = scales.len().saturating_sub(2 * self.columns.len() + 4);
                    *few = scales.into_iter().skip(skip).map(|(i, _)| i).collect();
                    return HullPosition::Outside { direction };
                }
            }
        }
        HullPosition::NotDecided
    }

    /// Which vectors are vertices of the hull of all. A hint is a direction along which a vector may be the farthest, either way.
    fn vertices<'h>(
        points: &'p [P],
        hint: impl Fn(usize) -> Option<&'h [Rational]>,
        limits: &Limits,
        mut look: impl FnMut(),
    ) -> Vec<Option<bool>> {
        let n = points.len();
        if !limits.go_on(points.iter().map(|p| 1 + p.as_ref().len() as u64).sum()) || limits.stopped().is_some() {
            // even the first look at very many takes long
            return vec![None; n];
        }
        // equal vectors stand and fall together
        let mut first: HashMap<&[Rational], usize> = HashMap::with_capacity(n);
        let same: Vec<usize> = (0..n).map(|i| *first.entry(points[i].as_ref()).or_insert(i)).collect();
        let mut all = Cloud::new(points, (0..n).filter(|&i| same[i] == i));
        let mut corners = Cloud::new(points, []);
        let mut verdicts: Vec<Option<bool>> = vec![None; n];
        let corner = |i: usize, verdicts: &mut [Option<bool>], corners: &mut Cloud<'p, P>| {
            if verdicts[i].replace(true).is_none() {
                corners.add(i);
            }
        };
        for direction in first_directions(all.columns.len(), n) {
            if !limits.go_on(1 + (all.members.len() * all.columns.len()) as u64 / 4) {
                break;
            }
            if let Some(i) = all.farthest(&direction) {
                corner(i, &mut verdicts, &mut corners);
            }
        }
        let mut few = Vec::new();
        for i in all.members.clone() {
            if verdicts[i].is_some() {
                continue;
            }
            look();
            if !limits.go_on(1 + (all.members.len() * all.columns.len()) as u64 / 4) {
                break;
            }
            let mut hints = hint(i).into_iter().flat_map(|d| [d.to_vec(), d.iter().map(|x| -x).collect()]);
            while verdicts[i].is_none() {
                let direction = match corners.position(points[i].as_ref(), &mut few, limits) {
                    HullPosition::Outside { direction } => direction,
                    HullPosition::Inside { .. } => {
                        verdicts[i] = Some(false);
                        break;
                    }
                    HullPosition::NotDecided => break,
                };
                // the direction leads to another vertex; that it is this one is what the hint may show
                for direction in std::iter::once(direction).chain(hints.next()) {
                    if let Some(j) = all.farthest(&direction) {
                        corner(j, &mut verdicts, &mut corners);
                    }
                }
            }
        }
        (0..n).map(|i| verdicts[same[i]]).collect()
    }
}

/// Where to look for vertices first: along the axes, and at random.
fn first_directions(dimension: usize, points: usize) -> impl Iterator<Item = Vec<Rational>> {
    let mut random = SplitMix64::new(1);
    (0..RANDOM_DIRECTIONS.min(2 * points)).map(move |k| match k / 2 {
        axis if axis < dimension => {
            let sign = if k % 2 == 0 { 1 } else { -1 };
            (0..dimension).map(|i| Rational::from(if i == axis { sign } else { 0 })).collect()
        }
        _ => (0..dimension).map(|_| Rational::from(random.below(2001) as i64 - 1000)).collect(),
    })
}

/// What a contradiction among half-spaces `<v - g_i, s> > 0` says, whose forms are the differences over these factors: that the sum of
/// m_i (v - g_i) / f_i is zero.
fn combination(conflict: &Conflict, scales: &[(usize, Rational)]) -> Vec<(usize, Rational)> {
    let part = |(k, by): &(usize, Rational)| {
        let (i, factor) = &scales[*k];
        (*i, by.checked_div(factor).unwrap_or_default())
    };
    let mut weights: Vec<(usize, Rational)> = conflict.parts.iter().map(part).collect();
    let total: Rational = weights.iter().map(|(_, w)| w).sum();
    weights.iter_mut().for_each(|(_, w)| *w = w.checked_div(&total).unwrap_or_default());
    weights.sort_by_key(|(i, _)| *i);
    weights
}

fn dot(a: &[Rational], b: &[Rational]) -> Rational {
    let mut sum = Rational::ZERO;
    a.iter().zip(b).for_each(|(a, b)| sum.add_mul(a, b));
    sum
}
