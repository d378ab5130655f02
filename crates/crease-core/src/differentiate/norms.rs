//! Square roots that are Euclidean norms.
//!
//! `sqrt(x^2 + y^2)`, `sqrt(sum(v * v))` and `sqrt(v @ v)` are what people write for a norm, and at 0 the chain rule through the root divides 0 by 0. A program and the
//! argument of a root enter; if that is a sum of squares, the norm that the root is leaves, which is differentiated as one operation, with a choice at 0.
//!
//! Recognised are sums of squares of values of one shape, element by element; the sum of the squares of one tensor, or along some of its axes; and the product of a vector
//! with itself; each times positive constants. What is hidden behind a call is seen once calls are expanded.

use crate::builder::{BuildError, Builder};
use crate::limits::work_of;
use crate::number::{Number, Rational};
use crate::op::{Kink, Lane, Op, Smooth};
use crate::program::{Atom, Equation, Program, Value};
use crate::shape::{Layout, Shape};
use std::collections::{BTreeMap, HashMap, HashSet};

/// So many squares are looked for.
const MOST: usize = 1 << 20;

/// A sum of squares: those of one shape, or all those in lanes of a tensor.
enum Squares {
    /// Weights and values to some power.
    Each(Vec<(Rational, Atom, i32)>),
    /// A weight, a tensor, and which of its elements make each sum.
    Lanes(Rational, Atom, Vec<Vec<u32>>),
}

/// The norm that the root of an argument is, if it is one.
pub(super) fn root(b: &mut Builder, p: &Program, map: &[Atom], x: Atom) -> Result<Option<Atom>, BuildError> {
    let shape = p.atom_shape(x);
    match squares(b, p, x)? {
        Some(Squares::Each(terms)) => each(b, p, map, &terms),
        Some(Squares::Lanes(weight, source, sums)) => lanes(b, p, map, (&weight, source, &sums), &shape),
        None => Ok(None),
    }
}

/// Values of one shape.
fn each(
    b: &mut Builder,
    p: &Program,
    map: &[Atom],
    terms: &[(Rational, Atom, i32)],
) -> Result<Option<Atom>, BuildError> {
    let Some((common, _, _)) = terms.first() else { return Ok(None) };
    let alike = terms.iter().all(|(c, _, _)| c == common);
    let mut members = Vec::with_capacity(terms.len());
    for (weight, x, power) in terms {
        let mut member = b.translate(p, map, *x);
        if *power != 1 {
            member = b.push1(Smooth::Power(*power), &[member])?;
        }
        // a weight of its own goes into the member
        members.push(if alike { member } else { scaled(b, member, weight)? });
    }
    let norm = b.push1(Kink::Norm2(Lane::Args), &members)?;
    if alike { scaled(b, norm, common).map(Some) } else { Ok(Some(norm)) }
}

/// Lanes of a tensor.
fn lanes(
    b: &mut Builder,
    p: &Program,
    map: &[Atom],
    (weight, source, sums): (&Rational, Atom, &[Vec<u32>]),
    shape: &Shape,
) -> Result<Option<Atom>, BuildError> {
    let n = sums.first().map_or(0, Vec::len);
    if n == 0 || sums.iter().any(|s| s.len() != n) {
        return Ok(None);
    }
    let source = b.translate(p, map, source);
    let members: Vec<u32> = sums.concat();
    let along = Shape::new([shape.dims(), &[n]].concat())?;
    let in_order = members.iter().enumerate().all(|(i, &m)| i == m as usize);
    let lanes = match in_order && b.shape(source).len() == members.len() {
        true => b.reshape(source, &along)?,
        false => b.view(source, Layout::table(members), along)?,
    };
    let norm = b.push1(Kink::Norm2(Lane::Axis), &[lanes])?;
    scaled(b, norm, weight).map(Some)
}

/// A value times the root of a weight.
fn scaled(b: &mut Builder, x: Atom, weight: &Rational) -> Result<Atom, BuildError> {
    if weight.is_one() {
        return Ok(x);
    }
    let root = match weight.sqrt() {
        Ok(root) => b.constant(root),
        Err(_) => {
            let weight = b.constant(weight.clone());
            b.push1(Smooth::Sqrt, &[weight])?
        }
    };
    b.mul(x, root)
}

/// The equation that a value comes from.
fn definition<'p>(p: &'p Program, x: Atom) -> Option<Equation<'p>> {
    let v = x.value()?;
    let e = p.equation(p.definition(v)?);
    (v.index() >= e.first.index()).then_some(e)
}

/// The value that an equation squares, and the power of it that is squared.
fn squared(e: &Equation<'_>) -> Option<(Atom, i32)> {
    match (e.op, e.args) {
        (Op::Mul, [a, b]) if a == b => Some((*a, 1)),
        (Op::Smooth(Smooth::Power(k)), [a]) if *k >= 2 && k % 2 == 0 => Some((*a, k / 2)),
        _ => None,
    }
}

/// A positive constant factor of a product or quotient, and what it is a factor of.
fn factor(p: &Program, e: &Equation<'_>) -> Option<(Rational, Atom)> {
    let constant = |a: Atom| p.as_constant(a).filter(|c| c.is_positive()).cloned();
    match (e.op, e.args) {
        (Op::Mul, [a, b]) => constant(*a).map(|c| (c, *b)).or_else(|| constant(*b).map(|c| (c, *a))),
        (Op::Div, [a, b]) => Some((constant(*b)?.inv()?, *a)),
        _ => None,
    }
}

/// A square that is part of several sums is found once, with all its weight, so that this takes no longer than the sums are long.
fn squares(b: &Builder, p: &Program, x: Atom) -> Result<Option<Squares>, BuildError> {
    let shape = p.atom_shape(x);
    // in the order in which they are first met
    let (mut order, mut seen, mut left) = (Vec::new(), HashSet::new(), vec![x]);
    let mut sums = false;
    while let Some(x) = left.pop() {
        b.charge(1)?;
        let Some((v, e)) = x.value().zip(definition(p, x)) else { return Ok(None) };
        if !seen.insert(v) {
            continue;
        }
        if p.atom_shape(x).len() != shape.len() || order.len() + left.len() > MOST {
            return Ok(None);
        }
        if squared(&e).is_some() {
            order.push(v);
        } else if let Some((_, y)) = factor(p, &e) {
            left.push(y);
        } else if let (Op::Add, [a, b]) = (e.op, e.args) {
            left.extend([*b, *a]);
            sums = true;
        } else if !sums {
            // nothing but factors so far
            break;
        } else {
            return Ok(None);
        }
    }
    let mut weights: BTreeMap<Value, Rational> = x.value().into_iter().map(|v| (v, Rational::ONE)).collect();
    let mut found: HashMap<Value, (Rational, Atom, i32)> = HashMap::new();
    // arguments come before results
    while let Some((v, weight)) = weights.pop_last() {
        b.charge(1 + work_of(&weight))?;
        let Some(e) = definition(p, v.into()) else { return Ok(None) };
        let mut add = |a: Atom, weight: Rational| {
            a.value().into_iter().for_each(|v| *weights.entry(v).or_default() += &weight);
        };
        if let Some((a, power)) = squared(&e) {
            found.insert(v, (weight, a, power));
        } else if let Some((c, y)) = factor(p, &e) {
            add(y, weight * c);
        } else if let (Op::Add, [a, b]) = (e.op, e.args) {
            add(*a, weight.clone());
            add(*b, weight);
        } else {
            return Ok(summed(p, weight, v.into()));
        }
    }
    Ok(Some(Squares::Each(order.into_iter().filter_map(|v| found.remove(&v)).collect())))
}

/// A sum along axes of a tensor of squares, or the product of a vector with itself.
fn summed(p: &Program, mut weight: Rational, x: Atom) -> Option<Squares> {
    let mut e = definition(p, x)?;
    // reshaped, perhaps, and scaled again
    loop {
        let (c, inner) = match (e.op, e.args) {
            (Op::View { layout, shape }, [a]) if layout.is_identity(shape.len()) => (Rational::ONE, *a),
            _ => match factor(p, &e) {
                Some(found) => found,
                None => break,
            },
        };
        (weight, e) = (weight * c, definition(p, inner)?);
    }
    match (e.op, e.args) {
        (Op::Assemble { shape, pieces }, [s]) => {
            let mut inner = definition(p, *s)?;
            if let Some((c, y)) = factor(p, &inner) {
                (weight, inner) = (weight * c, definition(p, y)?);
            }
            let (source, power) = squared(&inner)?;
            if power != 1 {
                return None;
            }
            let mut sums = vec![Vec::new(); shape.len()];
            for (i, to) in pieces[0].iter().enumerate() {
                sums[to].push(i as u32);
            }
            Some(Squares::Lanes(weight, source, sums))
        }
        (Op::MatMul { .. }, [a, b]) => {
            let (a, b) = (flat(p, *a), flat(p, *b));
            let n = p.atom_shape(a).len();
            let one = p.shape(e.first).len() == 1;
            (one && a == b).then(|| Squares::Lanes(weight, a, vec![(0..n as u32).collect()]))
        }
        _ => None,
    }
}

/// What a value is but for its shape.
fn flat(p: &Program, mut x: Atom) -> Atom {
    while let Some(e) = definition(p, x)
        && let (Op::View { layout, shape }, [a]) = (e.op, e.args)
        && layout.is_identity(shape.len())
        && p.atom_shape(*a).len() == shape.len()
    {
        x = *a;
    }
    x
}
