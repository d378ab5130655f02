//! Euclidean norms in a local model: how they come about, and where they cancel.
//!
//! At a point where all its members are 0, a norm has the norm of their tangents for a directional derivative. What enters are those
//! tangents, each with a weight: `norm2` of values, or a square root of a sum of squares, which is the same thing under another name ([`Square`]).
//! What leaves is a [`Node::Norm`]; or, where all tangents are multiples of one of them, a multiple of its absolute value, which has edges like any other kink.
//!
//! Every norm is a kink of its own, since a selection may choose differently at each. As functions of the direction two of them may still be the
//! same, or one a multiple of the other: they depend on the sum of squares alone, and that is a quadratic form. [`LocalModel::without_norms`] adds them up.

use super::form::{Form, Sum};
use super::localize::{Local, LocalError, Localizer};
use super::weigh::Tie;
use super::{LocalModel, Node, NodeId, Stored};
use crate::flow::curvature::Class;
use crate::limits::{Limits, Steps, work_of};
use crate::number::{Mixed, Number, Rational};
use crate::op::{Op, Smooth};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A quadratic form: pairs of variables, and their coefficients.
type Quadratic = Vec<((usize, usize), Rational)>;

/// What is known of a value that is a sum of squares, by the numbers of the values that it is made of.
#[derive(Clone, Debug)]
pub(super) enum Square {
    /// The square of this.
    Of(Local),
    /// The sum of two sums of squares.
    Sum(u32, u32),
    /// A sum of squares times a positive number.
    Scaled(Rational, u32),
}

impl Localizer<'_> {
    /// Notes that a sum or product is a sum of squares, if it is.
    pub(super) fn note_square(&mut self, op: &Op, a: &Local, b: &Local, result: u32) {
        let constant = |x: &Local| x.value.exact().filter(|_| x.class == Class::Constant).cloned();
        let known = |x: &Local| self.squares.contains_key(&x.number);
        let square = match op {
            Op::Mul if a.number == b.number => Some(Square::Of(a.clone())),
            _ if self.squares.is_empty() => None,
            Op::Add if known(a) && known(b) => Some(Square::Sum(a.number, b.number)),
            Op::Add | Op::Mul | Op::Div => [(a, b), (b, a)].into_iter().find_map(|(x, c)| {
                let c = constant(c).filter(|_| known(x))?;
                match op {
                    Op::Add => c.is_zero().then(|| Square::Scaled(Rational::ONE, x.number)),
                    Op::Mul => c.is_positive().then(|| Square::Scaled(c, x.number)),
                    _ if x.number != a.number => None,
                    _ => c.inv().filter(Rational::is_positive).map(|c| Square::Scaled(c, x.number)),
                }
            }),
            _ => None,
        };
        if let Some(square) = square {
            self.squares.insert(result, square);
        }
    }

    /// Notes that an even power is a square.
    pub(super) fn note_power(&mut self, op: &Op, x: &Local, result: u32) -> Result<(), LocalError> {
        let Op::Smooth(Smooth::Power(k)) = op else { return Ok(()) };
        if *k < 2 || k % 2 != 0 {
            return Ok(());
        }
        let root = match k / 2 {
            1 => x.clone(),
            half => {
                let op = Op::Smooth(Smooth::Power(half));
                let value = x.value.powi(half).map_err(|e| self.run_error(e.into()))?;
                let class = x.class.bent();
                let node = self.smooth(&op, &[x], std::slice::from_ref(&value), class)?[0];
                self.fresh(value, node, class)
            }
        };
        self.squares.insert(result, Square::Of(root));
        Ok(())
    }

    /// The squares that a value is the sum of, each with its positive weight, in order; nothing if it is not known to be one.
    /// A square that is part of several sums is there once, so that this takes no longer than the sums are long.
    fn squares_of(&self, number: u32) -> Result<Option<Vec<(Rational, Local)>>, LocalError> {
        // in the order in which they are first met
        let (mut order, mut seen, mut left) = (Vec::new(), HashSet::new(), vec![number]);
        while let Some(number) = left.pop() {
            self.charge(1)?;
            if !seen.insert(number) {
                continue;
            }
            match self.squares.get(&number) {
                None => return Ok(None),
                Some(Square::Of(_)) => order.push(number),
                Some(Square::Sum(a, b)) => left.extend([*b, *a]),
                Some(Square::Scaled(_, a)) => left.push(*a),
            }
        }
        // sums have larger numbers than what they are made of
        let mut weights = BTreeMap::from([(number, Rational::ONE)]);
        let mut found: HashMap<u32, (Rational, Local)> = HashMap::new();
        while let Some((number, weight)) = weights.pop_last() {
            self.charge(1 + work_of(&weight))?;
            let mut add = |a: u32, weight: Rational| *weights.entry(a).or_default() += weight;
            match self.squares.get(&number) {
                None => return Ok(None),
                Some(Square::Of(x)) => drop(found.insert(number, (weight, x.clone()))),
                Some(Square::Sum(a, b)) => {
                    add(*a, weight.clone());
                    add(*b, weight);
                }
                Some(Square::Scaled(c, a)) => add(*a, &weight * c),
            }
        }
        Ok(order.into_iter().map(|number| found.remove(&number)).collect())
    }

    /// The square root of 0 as the norm that it is, if it is one.
    pub(super) fn root_of_squares(&mut self, x: &Local) -> Result<Option<(NodeId, Class)>, LocalError> {
        let Some(squares) = self.squares_of(x.number)? else { return Ok(None) };
        // no square is negative, and their sum is 0
        self.operation = "sqrt";
        self.norm_at_zero(&squares).map(Some)
    }

    /// The Euclidean norm of values.
    pub(super) fn norm2(&mut self, args: &[&Local], norm: &Mixed) -> Result<(NodeId, Class), LocalError> {
        let zero = Mixed::zero();
        let class = Class::largest(args.iter().map(|x| x.class));
        if class == Class::Constant {
            return Ok((self.zero, class));
        }
        let mut at_zero = true;
        for x in args {
            // one that is certainly not 0 decides; of the others it need not be known
            match x.value.compare(&zero) {
                Some(Ordering::Equal) => {}
                Some(_) => return self.norm_off_zero(args, norm, class),
                None => at_zero = false,
            }
        }
        if !at_zero {
            return Err(self.undecided("whether all of its members are 0"));
        }
        let squares: Vec<(Rational, Local)> = args.iter().map(|x| (Rational::ONE, (*x).clone())).collect();
        self.norm_at_zero(&squares)
    }

    fn norm_off_zero(&mut self, args: &[&Local], norm: &Mixed, class: Class) -> Result<(NodeId, Class), LocalError> {
        self.margin(norm, &Mixed::zero());
        let weight = |x: &&Local| x.value.div(norm);
        let weights = args.iter().map(weight).collect::<Result<Vec<Mixed>, _>>();
        let weights = weights.map_err(|e| self.run_error(e.into()))?;
        let terms: Vec<(&Mixed, NodeId)> = weights.iter().zip(args.iter().map(|x| x.node)).collect();
        Ok((self.linear(&terms)?, class.bent()))
    }

    /// The root of a weighted sum of squares of values that are all 0.
    fn norm_at_zero(&mut self, squares: &[(Rational, Local)]) -> Result<(NodeId, Class), LocalError> {
        let class = Class::largest(squares.iter().map(|(_, x)| x.class));
        let moving: Vec<usize> = (0..squares.len()).filter(|&i| squares[i].1.node != self.zero).collect();
        let Some(&first) = moving.first() else { return Ok((self.zero, class.bent())) };
        // beside the point, what does not move to first order may be as large as what does
        let still = |x: &Local| x.node == self.zero && x.class != Class::Constant;
        self.bent = class == Class::Curved || squares.iter().any(|(_, x)| still(x));
        let node = squares[first].1.node;
        if let Some(ratios) = self.multiples_of(node, moving.iter().map(|&i| squares[i].1.node))? {
            return self.on_a_line(node, squares, &moving, &ratios, class);
        }
        let (mut members, mut entries) = (Vec::with_capacity(moving.len()), Vec::with_capacity(moving.len()));
        for &i in &moving {
            let (weight, x) = &squares[i];
            let whole = weight.is_one();
            let scales = match four_squares(weight) {
                Some(parts) => parts.iter().map(|r| self.exactly(r)).collect(),
                None => vec![self.root(weight)?],
            };
            for scale in &scales {
                members.push(self.linear(&[(scale, x.node)])?);
                entries.push(whole.then_some(i as u32));
            }
        }
        let node = self.kink_node(members, |start, end| Stored::Norm { start, end }, Tie::Round { entries })?;
        Ok((node, class.bent()))
    }

    /// Where all tangents are multiples of one: a multiple of its absolute value.
    fn on_a_line(
        &mut self,
        node: NodeId,
        squares: &[(Rational, Local)],
        moving: &[usize],
        ratios: &[Rational],
        class: Class,
    ) -> Result<(NodeId, Class), LocalError> {
        let total: Rational = moving.iter().zip(ratios).map(|(&i, r)| &squares[i].0 * &(r * r)).sum();
        let scale = self.root(&total)?;
        // a vector s of the unit ball takes the share (s_1 r_1 + s_2 r_2 + ...) / root of the absolute value
        let share = |(&i, r): (&usize, &Rational)| Some((i as u32, r.checked_div(scale.exact()?)?));
        let shares: Option<Vec<(u32, Rational)>> = moving.iter().zip(ratios).map(share).collect();
        let down = self.negated(node)?;
        let size = self.max(&[down, node], |_| Tie::Line { shares })?;
        // one square has that root around the point, too; several only if nothing of them is curved
        let straight = class != Class::Curved && moving.len() == squares.len();
        if squares.len() > 1 && self.bent {
            self.to_first_order.push(size);
        }
        Ok((self.linear(&[(&scale, size)])?, if straight { class } else { class.bent() }))
    }

    fn root(&self, x: &Rational) -> Result<Mixed, LocalError> {
        self.exactly(x).sqrt().map_err(|e| self.run_error(e.into()))
    }

    /// What each of several nodes is as a multiple of one of them, if they all are.
    fn multiples_of(
        &self,
        node: NodeId,
        all: impl Iterator<Item = NodeId> + Clone,
    ) -> Result<Option<Vec<Rational>>, LocalError> {
        // a norm of one number is its absolute value whatever the limit is
        if all.clone().all(|n| n == node) {
            return Ok(Some(all.map(|_| Rational::ONE).collect()));
        }
        let mut left = self.limits.steps_of(self.limits.oracles.squares);
        let mut form = |n: NodeId| match self.is_near(n) {
            // what is enclosed is a multiple of itself only
            true => Some(Form::variable(n.index())),
            false => self.model.form_within(n, &HashMap::new(), &mut left),
        };
        let Some(one) = form(node) else { return self.go_on(None) };
        let ratios = all.map(|n| if n == node { Some(Rational::ONE) } else { form(n)?.ratio(&one) }).collect();
        self.go_on(ratios)
    }
}

/// A positive number as the sum of at most four squares of rational numbers, which Lagrange knew to exist: with them a weighted sum of squares is a plain one, and nothing
/// is rounded. Nothing if it is too large to look for them.
fn four_squares(x: &Rational) -> Option<Vec<Rational>> {
    if let Ok(root) = x.sqrt() {
        return Some(vec![root]);
    }
    let (p, q) = x.small_parts()?;
    // p / q = p q / q^2
    let n = p.checked_mul(q).filter(|n| *n <= 1 << 16)?;
    let root = |n: i64| n.unsigned_abs().isqrt() as i64;
    for a in (0..=root(n)).rev() {
        for b in (0..=a.min(root(n - a * a))).rev() {
            for c in (0..=b.min(root(n - a * a - b * b))).rev() {
                let rest = n - a * a - b * b - c * c;
                let d = root(rest);
                if d * d == rest {
                    return [a, b, c, d].into_iter().filter(|&r| r != 0).map(|r| Rational::new(r, q)).collect();
                }
            }
        }
    }
    None
}

impl LocalModel {
    /// Whether a Euclidean norm has a part in the model.
    ///
    /// ```
    /// use crease_core::{local::localize, trace_shapes, Rational, Shape, Tensor};
    /// let p = trace_shapes(&[Shape::vector(2).unwrap()], |x| vec![x[0].norm2()]).unwrap();
    /// let at = |x: i64| localize(&p, &[Tensor::vector(vec![Rational::from(x); 2]).unwrap()]).unwrap();
    /// assert!(at(0).has_norms() && !at(1).has_norms());
    /// ```
    pub fn has_norms(&self) -> bool {
        self.nodes().any(|n| matches!(n, Node::Norm(_)))
    }

    /// The same function of the direction, for one scalar output, without Euclidean norms: where all of them cancel, or are multiplied by 0. Nothing if
    /// there are none in the first place, if some are left, or if it takes too long to see. What selections may choose is not kept.
    ///
    /// ```
    /// use crease_core::{local::localize, trace_shapes, Rational, Shape, Tensor};
    /// let p = trace_shapes(&[Shape::vector(2).unwrap()], |x| vec![(-x[0]).norm2() - x[0].norm2() + x[0].norm1()]).unwrap();
    /// let model = localize(&p, &[Tensor::vector(vec![Rational::ZERO; 2]).unwrap()]).unwrap();
    /// assert!(!model.is_exact() && model.without_norms(0).unwrap().is_exact());
    /// ```
    pub fn without_norms(&self, output: usize) -> Option<LocalModel> {
        self.without_norms_within(output, &Limits::DEFAULT)
    }

    /// [`without_norms`](Self::without_norms) with another limit on terms and visits, that of `squares` in [`OracleLimits`](crate::limits::OracleLimits), and with those that stop it.
    ///
    /// ```
    /// use crease_core::{limits::OracleLimits, local::localize, trace_shapes, Limits, Rational, Shape, Tensor};
    /// let p = trace_shapes(&[Shape::vector(2).unwrap()], |x| vec![(-x[0]).norm2() - x[0].norm2()]).unwrap();
    /// let model = localize(&p, &[Tensor::vector(vec![Rational::ZERO; 2]).unwrap()]).unwrap();
    /// let oracles = |squares| OracleLimits { squares, ..OracleLimits::DEFAULT };
    /// let without = |n| model.without_norms_within(0, &Limits { oracles: oracles(n), ..Limits::default() });
    /// assert!(without(1000).is_some() && without(3).is_none());
    /// ```
    pub fn without_norms_within(&self, output: usize, limits: &Limits) -> Option<LocalModel> {
        if !self.has_norms() {
            return None;
        }
        let squares = || limits.steps_of(limits.oracles.squares);
        let same = self.same_norms(squares());
        let (one, mut left) = (Rational::ONE, squares());
        let (mut adjoints, mut kept) = (Sum::default(), Sum::default());
        adjoints.add_term(self.outputs.get(output)?.index(), &one, &one);
        // nodes are numbered so that arguments come first, and so do norms that others are multiples of
        while let Some((i, weight)) = adjoints.pop(0) {
            let visits = match self.node(NodeId(i as u32)) {
                Node::Norm(_) => match same.get(&NodeId(i as u32)) {
                    Some((leader, by)) => {
                        adjoints.add_term(leader.index(), &weight, by);
                        1
                    }
                    None => return None,
                },
                Node::Linear(terms) if terms.iter().all(|t| t.radius.is_zero()) => {
                    terms.iter().for_each(|t| adjoints.add_term(t.node.index(), &weight, &t.coefficient));
                    terms.len()
                }
                Node::Taken(members) => {
                    adjoints.add_term(members[0].index(), &weight, &one);
                    1
                }
                Node::Direction(_) | Node::Linear(_) | Node::Max(_) | Node::Seam { .. } => {
                    kept.add_term(i, &weight, &one);
                    1
                }
            };
            left.take(visits)?;
        }
        let terms: Vec<(NodeId, Rational)> =
            kept.form().terms().iter().map(|(i, c)| (NodeId(*i as u32), c.clone())).collect();
        let free = self.of_combination(&terms);
        (!free.has_norms()).then_some(free)
    }

    /// Which norms are multiples of earlier ones, as functions of the direction.
    fn same_norms(&self, mut left: Steps<'_>) -> HashMap<NodeId, (NodeId, Rational)> {
        let mut same = HashMap::new();
        let mut known: HashMap<Quadratic, Vec<(Rational, NodeId)>> = HashMap::new();
        for i in self.directions..self.len() {
            let id = NodeId(i as u32);
            let Node::Norm(members) = self.node(id) else { continue };
            let Some((lead, monic)) = self.quadratic(members, &mut left) else { continue };
            let group = known.entry(monic).or_default();
            let multiple = group.iter().find_map(|(other, leader)| {
                let by = lead.checked_div(other)?.sqrt().ok()?;
                Some((*leader, by))
            });
            match multiple {
                Some(found) => drop(same.insert(id, found)),
                None => group.push((lead, id)),
            }
        }
        same
    }

    /// The sum of the squares of nodes as a quadratic form: its first coefficient, and all of them divided by it.
    fn quadratic(&self, members: &[NodeId], left: &mut Steps<'_>) -> Option<(Rational, Quadratic)> {
        let mut sum: BTreeMap<(usize, usize), Rational> = BTreeMap::new();
        for &m in members {
            let form = self.form_within(m, &HashMap::new(), left)?;
            let terms = form.terms();
            left.take(terms.len() * terms.len())?;
            if !self.is_exact_form(m) {
                return None;
            }
            for (a, (i, x)) in terms.iter().enumerate() {
                for (j, y) in &terms[a..] {
                    sum.entry((*i, *j)).or_default().add_mul(x, y);
                }
            }
        }
        sum.retain(|_, c| !c.is_zero());
        let lead = sum.values().next()?.clone();
        let monic = sum.into_iter().map(|(ij, c)| Some((ij, c.checked_div(&lead)?))).collect::<Option<_>>()?;
        Some((lead, monic))
    }

    /// Whether no coefficient is enclosed on the way from a node to directions and kinks.
    fn is_exact_form(&self, node: NodeId) -> bool {
        let mut open = vec![node];
        let mut seen = std::collections::HashSet::new();
        while let Some(n) = open.pop() {
            if !seen.insert(n) {
                continue;
            }
            match self.node(n) {
                Node::Linear(terms) if terms.iter().any(|t| !t.radius.is_zero()) => return false,
                Node::Linear(terms) => open.extend(terms.iter().map(|t| t.node)),
                Node::Seam { taken, .. } => open.push(taken),
                Node::Direction(_) | Node::Max(_) | Node::Norm(_) | Node::Taken(_) => {}
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_weight_is_a_sum_of_squares() {
        for (p, q) in (1..60).flat_map(|p| (1..20).map(move |q| (p, q))) {
            let x = Rational::new(p, q).unwrap();
            let parts = four_squares(&x).unwrap();
            assert!(parts.len() <= 4 && parts.iter().all(|r| !r.is_zero()));
            assert_eq!(parts.iter().map(|r| r * r).sum::<Rational>(), x);
        }
        assert_eq!(four_squares(&Rational::from(7)).unwrap().len(), 4);
        assert_eq!(four_squares(&Rational::from((1i64 << 40) + 1)), None);
    }
}
