//! Lexicographic derivatives: Nesterov's, by repeated localization, and Khan and Barton's vector forward mode. Section 5.2.
//!
//! Nesterov: localize at x, localize the result at the first direction of a basis, that result at the second, and so on, until
//! what is left is linear. On a [`LocalModel`] each step keeps, of every maximum, those members that attain it along the
//! direction. It stops as soon as no kink is left: when every maximum has one member, or members that are the same linear form. Khan and Barton carry the derivatives along all directions of the basis at once, and pick at each maximum the
//! lexicographically largest: the same answer at p times the cost.

use crate::enclosed::{Ball, norm_along};
use crate::sweep::{Bend, Same, Weighed, Weights, backward, forward, same_forms};
use crate::{OracleError, Session, check_direction, check_exact};
use crease_core::limits::work_of;
use crease_core::local::{LocalModel, Node, NodeId};
use crease_core::number::{Mixed, Number, Rational};
use crease_core::random::SplitMix64;
use std::cmp::Ordering;
use std::collections::HashMap;

/// A lexicographic derivative.
#[derive(Clone, Debug, PartialEq)]
pub struct Lexicographic {
    /// The gradient of the last local model: an element of the lexicographic, hence of the Clarke subdifferential.
    pub gradient: Vec<Rational>,
    /// How far each coordinate may be from that of the program; nothing if all of it is exact.
    pub radius: Option<Vec<Rational>>,
    /// For each kink of the model, the number of the direction that settled it; nothing if its members were the same to the end.
    pub settled: Vec<Option<usize>>,
    /// How many directions were looked at.
    pub directions: usize,
    /// What it took: a sweep forward for each direction and for each test whether any kink is left, and one backward.
    pub operations: u64,
}

impl Session<'_> {
    /// The lexicographic derivative along a basis, by Nesterov's definition.
    ///
    /// ```
    /// use crease_core::{local::localize, relu, trace, Rational, Tensor};
    /// use crease_oracles::{identity, Session};
    /// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let l = Session::new(&model, 0).lexicographic(&identity(1)).unwrap();
    /// assert_eq!(l.gradient, [Rational::ONE]);
    /// assert_eq!(l.settled, [Some(0), Some(0)]);
    /// ```
    pub fn lexicographic(&self, basis: &[Vec<Rational>]) -> Result<Lexicographic, OracleError> {
        let model = self.model();
        check_basis(self, basis)?;
        let from = self.from()?;
        if let Some(plain) = self.plain_around() {
            return plain.lexicographic(basis);
        }
        if model.is_exact() {
            let settled = settle(self, self.weights(), basis, Rational::clone)?;
            let gradient = backward(self, self.weights(), from, settled.share())?;
            return Ok(settled.done(self, gradient, None));
        }
        let (known, bits) = (self.known(), model.precision().bits);
        let settled = settle(self, known, basis, |x| Mixed::exactly(x.clone()).at(bits))?;
        let gradient = Ball::of(&backward(self, known, from, settled.share())?);
        let Ball { middle, radius } = gradient.ok_or(OracleError::Undecided { what: "a slope", bits })?;
        Ok(settled.done(self, middle, Some(radius)))
    }

    /// The same by Khan and Barton's vector forward mode: all directions of the basis are carried along at once.
    ///
    /// ```
    /// use crease_core::{local::localize, max, trace, Rational, Tensor};
    /// use crease_oracles::{identity, Session};
    /// let p = trace(3, |x| max(x)).unwrap();
    /// let model = localize(&p, &vec![Tensor::scalar(Rational::ZERO); 3]).unwrap();
    /// let (session, basis) = (Session::new(&model, 0), identity(3));
    /// let (a, b) = (session.lexicographic(&basis).unwrap(), session.lexicographic_forward(&basis).unwrap());
    /// assert_eq!(a.gradient, [1, 0, 0].map(Rational::from));
    /// assert_eq!((a.gradient, a.settled), (b.gradient, b.settled));
    /// assert!(a.operations < b.operations); // the first direction settled it
    /// ```
    pub fn lexicographic_forward(&self, basis: &[Vec<Rational>]) -> Result<Lexicographic, OracleError> {
        let model = self.model();
        check_exact(model, "the lexicographic derivative by vector forward mode")?;
        check_basis(self, basis)?;
        let (from, weights) = (self.from()?, self.weights());
        let columns = basis.len();
        let mut rows: Vec<Vec<Rational>> = Vec::with_capacity(model.len());
        let mut picked = Vec::new();
        let mut settled = Vec::new();
        for (i, node) in model.nodes().enumerate() {
            let terms = match node {
                Node::Linear(_) => weights.of(i).len(),
                Node::Max(members) | Node::Norm(members) | Node::Taken(members) => members.len(),
                Node::Direction(_) | Node::Seam { .. } => 1,
            };
            self.charge(2 * (columns * terms) as u64)?;
            self.token().hold(columns * size_of::<Rational>()).map_err(OracleError::Stopped)?;
            let row = match node {
                Node::Direction(k) => basis.iter().map(|d| d[k].clone()).collect(),
                Node::Linear(_) => {
                    let mut row = vec![Rational::ZERO; columns];
                    for (c, n) in weights.of(i) {
                        row.iter_mut().zip(&rows[n.index()]).for_each(|(sum, x)| sum.add_mul(c, x));
                    }
                    row
                }
                Node::Max(members) => {
                    let of = |k: usize| &rows[members[k].index()];
                    let best = (1..members.len()).fold(0, |best, k| if of(k) > of(best) { k } else { best });
                    // the first column in which the winner differs from every other member
                    let apart = |k: usize| of(k).iter().zip(of(best)).position(|(a, b)| a != b);
                    let last = (0..members.len()).filter(|&k| k != best).map(apart).collect::<Option<Vec<_>>>();
                    settled.push(last.and_then(|list| list.into_iter().max()));
                    picked.push(best);
                    of(best).clone()
                }
                // no exact model has one
                Node::Norm(_) => {
                    let what = "the lexicographic derivative of a Euclidean norm by vector forward mode";
                    return Err(OracleError::Undecided { what, bits: model.precision().bits });
                }
                Node::Seam { taken, .. } => rows[taken.index()].clone(),
                Node::Taken(members) => {
                    settled.push(None);
                    picked.push(0);
                    rows[members[0].index()].clone()
                }
            };
            rows.push(row);
        }
        let gradient = backward(self, weights, from, |kink, k| (picked[kink] == k).then_some(Rational::ONE))?;
        let operations = self.cost().with_forward_sweeps(columns as u64).total();
        Ok(Lexicographic { gradient, radius: None, settled, directions: columns, operations })
    }
}

/// Which members are left at each kink, and what it took.
struct Settled<N> {
    left: Vec<Vec<usize>>,
    /// Of a norm, what it is along the first direction along which it is not 0: a combination of its members, with these weights.
    norms: HashMap<usize, Vec<N>>,
    settled: Vec<Option<usize>>,
    used: usize,
    checks: u64,
}

impl<N: Number> Settled<N> {
    /// All to the first of the members that are left: they are the same.
    fn share(&self) -> impl Fn(usize, usize) -> Option<N> {
        |kink, k| match self.norms.get(&kink) {
            Some(weights) => weights.get(k).cloned(),
            None => (self.left[kink][0] == k).then(N::one),
        }
    }

    fn done(self, session: &Session<'_>, gradient: Vec<Rational>, radius: Option<Vec<Rational>>) -> Lexicographic {
        let operations = session.cost().with_forward_sweeps(self.used as u64 + self.checks).total();
        Lexicographic { gradient, radius, settled: self.settled, directions: self.used, operations }
    }
}

/// Keeps, direction by direction, those members that attain the maximum.
fn settle<N: Weighed>(
    session: &Session<'_>,
    weights: &Weights<N>,
    basis: &[Vec<Rational>],
    number: impl Fn(&Rational) -> N,
) -> Result<Settled<N>, OracleError> {
    let model = session.model();
    let mut norms: HashMap<usize, Vec<N>> = members_of(model)
        .zip(model.kinks())
        .enumerate()
        .filter(|(_, (_, kink))| matches!(model.node(kink.node), Node::Norm(_)))
        .map(|(kink, _)| (kink, Vec::new()))
        .collect();
    let mut left: Vec<Vec<usize>> = kinds_of(model).map(|(n, max)| (0..if max { n } else { 1 }).collect()).collect();
    let mut settled: Vec<Option<usize>> = vec![None; left.len()];
    let mut open = left.iter().filter(|l| l.len() > 1).count();
    let mut used = 0;
    let mut checks = 0;
    let mut certain = true;
    for (j, direction) in basis.iter().enumerate() {
        if open == 0 {
            break;
        }
        used = j + 1;
        let before = open;
        let direction: Vec<N> = direction.iter().map(&number).collect();
        forward(session, weights, &direction, |kink, bend, values| {
            let members = match bend {
                Bend::Max(members) => members,
                Bend::Norm(members) => {
                    let Some(known) = norms.get_mut(&kink) else { return N::zero() };
                    if !known.is_empty() {
                        let products = known.iter().zip(members).map(|(w, m)| w.mul(&values[m.index()]));
                        return products.fold(N::zero(), |sum, x| sum.add(&x));
                    }
                    let (norm, weights) = norm_along(members, values);
                    certain &= weights.is_some();
                    if let Some(weights) = weights.filter(|w| !w.is_empty()) {
                        (*known, settled[kink]) = (weights, Some(j));
                        open -= 1;
                    }
                    return norm;
                }
            };
            let of = |k: usize| &values[members[k].index()];
            let ahead = |a: usize, b: usize| of(a).compare(of(b)).is_some_and(Ordering::is_gt);
            let best = left[kink].iter().copied().reduce(|best, k| if ahead(k, best) { k } else { best }).unwrap_or(0);
            if left[kink].len() > 1 {
                left[kink].retain(|&k| {
                    let order = of(k).compare(of(best));
                    // nothing is ahead of the best, so that only enclosures that overlap are not told
                    certain &= order.is_some();
                    k == best || order.is_some_and(Ordering::is_eq)
                });
                if left[kink].len() == 1 {
                    settled[kink] = Some(j);
                    open -= 1;
                }
            }
            of(best).clone()
        })?;
        if !certain {
            let what = "which members are the largest along a direction of the basis, or whether a norm is 0";
            return Err(OracleError::Undecided { what, bits: model.precision().bits });
        }
        // what is left may be the same form everywhere: switches that are identically zero settle without fuss
        if model.is_exact() && open > 0 && (j == 0 || open < before) && j + 1 < basis.len() {
            let picked: Vec<usize> = left.iter().map(|l| l[0]).collect();
            let others = members_of(model).zip(&left).flat_map(|(m, l)| l[1..].iter().map(|&k| (m[l[0]], Some(m[k]))));
            let pairs: Vec<(NodeId, Option<NodeId>)> = others.collect();
            checks += 1;
            if same_forms(session, &picked, &pairs, &mut SplitMix64::new(j as u64), session.limits().equality)?
                == Same::Proved
            {
                break;
            }
        }
    }
    Ok(Settled { left, norms, settled, used, checks })
}

/// The unit vectors of dimension `p`.
///
/// ```
/// use crease_oracles::identity;
/// assert!(identity(2)[1][1].is_one());
/// ```
pub fn identity(p: usize) -> Vec<Vec<Rational>> {
    (0..p).map(|i| (0..p).map(|j| Rational::from(usize::from(i == j))).collect()).collect()
}

fn members_of(model: &LocalModel) -> impl Iterator<Item = &[NodeId]> {
    model.nodes().filter_map(|n| match n {
        Node::Max(members) | Node::Norm(members) | Node::Taken(members) => Some(members),
        Node::Direction(_) | Node::Linear(_) | Node::Seam { .. } => None,
    })
}

/// For each kink, how many members it has, and whether it has to be settled which of them counts.
fn kinds_of(model: &LocalModel) -> impl Iterator<Item = (usize, bool)> {
    model.nodes().filter_map(|n| match n {
        Node::Max(members) | Node::Norm(members) => Some((members.len(), true)),
        Node::Taken(members) => Some((members.len(), false)),
        Node::Direction(_) | Node::Linear(_) | Node::Seam { .. } => None,
    })
}

/// Checks that there are p directions and that they are linearly independent.
fn check_basis(session: &Session<'_>, basis: &[Vec<Rational>]) -> Result<(), OracleError> {
    let model = session.model();
    for d in basis {
        check_direction(model, d)?;
    }
    let p = model.dimension();
    let is_identity = |(i, d): (usize, &Vec<Rational>)| {
        d.iter().enumerate().all(|(j, x)| if i == j { x.is_one() } else { x.is_zero() })
    };
    if basis.len() == p && (basis.iter().enumerate().all(is_identity) || rank(session, basis)? == p) {
        return Ok(());
    }
    Err(OracleError::NoBasis { directions: basis.len(), dimension: p })
}

fn rank(session: &Session<'_>, rows: &[Vec<Rational>]) -> Result<usize, OracleError> {
    let mut rows = rows.to_vec();
    let mut rank = 0;
    let columns = rows.first().map_or(0, Vec::len);
    for c in 0..columns {
        let Some(pivot) = (rank..rows.len()).find(|&r| !rows[r][c].is_zero()) else { continue };
        rows.swap(rank, pivot);
        let lead = rows[rank].clone();
        for row in &mut rows[rank + 1..] {
            let Some(factor) = row[c].checked_div(&lead[c]) else { continue };
            session.charge(columns as u64 * (1 + work_of(&factor)))?;
            row.iter_mut().zip(&lead).for_each(|(x, y)| x.add_mul(&-&factor, y));
        }
        rank += 1;
    }
    Ok(rank)
}
