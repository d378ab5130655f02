//! Bounds on the conservative gradient: on every coordinate by interval arithmetic backward, along a direction by interval arithmetic forward.

use crate::{OracleError, Session};
use crease_core::limits::work_of;
use crease_core::local::{Form, Node, NodeId, NormalForm};
use crease_core::number::Rational;
use std::collections::BTreeMap;

/// Two numbers between which all elements lie.
pub(crate) type Bounds = (Rational, Rational);

/// Bounds on every coordinate: those of the graph, and where there is a normal form of an exact model also those of it.
pub(crate) fn bounds(session: &Session<'_>) -> Result<Vec<Bounds>, OracleError> {
    let from = session.from()?;
    let wide = on_graph(session, from)?;
    match session.model().is_exact().then(|| session.choices()).flatten() {
        Some(normal) => Ok(intersect(wide, on_normal_form(session, normal)?)),
        None => Ok(wide),
    }
}

/// On the graph of the model: each member of a kink takes any part of the kink's adjoint.
fn on_graph(session: &Session<'_>, from: NodeId) -> Result<Vec<Bounds>, OracleError> {
    let model = session.model();
    let mut adjoints: Vec<Bounds> = vec![(Rational::ZERO, Rational::ZERO); model.len()];
    adjoints[from.index()] = (Rational::ONE, Rational::ONE);
    for i in (model.dimension()..model.len()).rev() {
        let (low, high) = std::mem::take(&mut adjoints[i]);
        if low.is_zero() && high.is_zero() {
            continue;
        }
        let each = 2 + work_of(&low) + work_of(&high);
        match model.node(model.node_id(i)) {
            Node::Linear(terms) => session.charge(2 * each * terms.len() as u64)?,
            Node::Max(members) | Node::Norm(members) | Node::Taken(members) => {
                session.charge(each * members.len() as u64)?;
            }
            Node::Direction(_) | Node::Seam { .. } => {}
        }
        match model.node(model.node_id(i)) {
            Node::Direction(_) => {}
            Node::Seam { taken, .. } => {
                let slot = &mut adjoints[taken.index()];
                slot.0 += &low;
                slot.1 += &high;
            }
            Node::Linear(terms) => {
                for t in terms {
                    let slot = &mut adjoints[t.node.index()];
                    if t.radius.is_zero() {
                        let (a, b) = if t.coefficient.is_negative() { (&high, &low) } else { (&low, &high) };
                        slot.0.add_mul(&t.coefficient, a);
                        slot.1.add_mul(&t.coefficient, b);
                    } else {
                        let enclosure = (&t.coefficient - &t.radius, &t.coefficient + &t.radius);
                        accumulate(slot, &(low.clone(), high.clone()), &enclosure);
                    }
                }
            }
            // any vector of the unit ball
            Node::Norm(members) => {
                let size = Ord::max(low.abs(), high.abs());
                for m in members {
                    let slot = &mut adjoints[m.index()];
                    slot.0 -= &size;
                    slot.1 += &size;
                }
            }
            Node::Max(members) | Node::Taken(members) => {
                let part = (Ord::min(low, Rational::ZERO), Ord::max(high, Rational::ZERO));
                for m in members {
                    let slot = &mut adjoints[m.index()];
                    slot.0 += &part.0;
                    slot.1 += &part.1;
                }
            }
        }
    }
    adjoints.truncate(model.dimension());
    Ok(adjoints)
}

/// Between which numbers the product of a direction with all elements of the conservative gradient lies: tangents go forward, and at a kink any combination of those of its members
/// goes on.
pub(crate) fn along(session: &Session<'_>, from: NodeId, direction: &[Rational]) -> Result<Bounds, OracleError> {
    let model = session.model();
    let mut tangents: Vec<Bounds> = direction.iter().map(|d| (d.clone(), d.clone())).collect();
    for i in tangents.len()..model.len() {
        let tangent = match model.node(model.node_id(i)) {
            // the nodes of the directions come first
            Node::Direction(_) => (Rational::ZERO, Rational::ZERO),
            Node::Seam { taken, .. } => tangents[taken.index()].clone(),
            Node::Linear(terms) => {
                let mut sum = (Rational::ZERO, Rational::ZERO);
                for t in terms {
                    let (low, high) = &tangents[t.node.index()];
                    session.charge(4 + 2 * (work_of(low) + work_of(high) + work_of(&t.coefficient)))?;
                    let enclosure = (&t.coefficient - &t.radius, &t.coefficient + &t.radius);
                    accumulate(&mut sum, &tangents[t.node.index()], &enclosure);
                }
                sum
            }
            Node::Norm(members) => {
                let sizes = members.iter().map(|m| {
                    let (low, high) = &tangents[m.index()];
                    Ord::max(low.abs(), high.abs())
                });
                let size = norm_above(sizes);
                (-&size, size)
            }
            Node::Max(members) | Node::Taken(members) => {
                let mut all = members.iter().map(|m| tangents[m.index()].clone());
                let Some(first) = all.next() else { continue };
                all.fold(first, |(low, high), (l, h)| (Ord::min(low, l), Ord::max(high, h)))
            }
        };
        tangents.push(tangent);
    }
    Ok(tangents.swap_remove(from.index()))
}

/// A number that the Euclidean norm does not exceed.
fn norm_above(sizes: impl Iterator<Item = Rational>) -> Rational {
    let sizes: Vec<Rational> = sizes.collect();
    let square = sizes.iter().fold(Rational::ZERO, |sum, x| sum + x * x);
    // the square root in floats, a little larger, and checked
    let guess = Rational::from_f64(square.to_f64().sqrt() * (1.0 + 1e-12));
    match guess.filter(|g| g * g >= square) {
        Some(guess) => guess,
        None => sizes.into_iter().fold(Rational::ZERO, |sum, x| sum + x),
    }
}

/// On the normal form, which is tighter where members share terms: a combination of forms has every coefficient between the
/// smallest and the largest among them.
fn on_normal_form(session: &Session<'_>, normal: &NormalForm) -> Result<Vec<Bounds>, OracleError> {
    let p = normal.dimension;
    let mut adjoints: Vec<Bounds> = vec![(Rational::ZERO, Rational::ZERO); p + normal.kinks.len()];
    let output = normal.outputs.get(session.output()).into_iter().flat_map(Form::terms);
    output.for_each(|(v, c)| adjoints[*v] = (c.clone(), c.clone()));
    for (k, kink) in normal.kinks.iter().enumerate().rev() {
        let adjoint = std::mem::take(&mut adjoints[p + k]);
        if adjoint.0.is_zero() && adjoint.1.is_zero() {
            continue;
        }
        let terms: usize = kink.forms.iter().map(|f| f.terms().len()).sum();
        session.charge(terms as u64 * (4 + 2 * (work_of(&adjoint.0) + work_of(&adjoint.1))))?;
        // how many forms have the coefficient, and its range among them
        let mut ranges: BTreeMap<usize, (usize, Bounds)> = BTreeMap::new();
        for (v, c) in kink.forms.iter().flat_map(Form::terms) {
            let (count, (low, high)) = ranges.entry(*v).or_insert_with(|| (0, (c.clone(), c.clone())));
            *count += 1;
            if c < low {
                *low = c.clone();
            } else if c > high {
                *high = c.clone();
            }
        }
        for (v, (count, (low, high))) in ranges {
            let range = match count == kink.forms.len() {
                true => (low, high),
                false => (Ord::min(low, Rational::ZERO), Ord::max(high, Rational::ZERO)),
            };
            accumulate(&mut adjoints[v], &adjoint, &range);
        }
    }
    adjoints.truncate(p);
    Ok(adjoints)
}

/// `sum += a * b`, for intervals.
fn accumulate(sum: &mut Bounds, a: &Bounds, b: &Bounds) {
    let products = [&a.0 * &b.0, &a.0 * &b.1, &a.1 * &b.0, &a.1 * &b.1];
    if let (Some(low), Some(high)) = (products.iter().min(), products.iter().max()) {
        sum.0 += low;
        sum.1 += high;
    }
}

/// What lies within both.
fn intersect(a: Vec<Bounds>, b: Vec<Bounds>) -> Vec<Bounds> {
    let both = |(a, b): (Bounds, Bounds)| (Ord::max(a.0, b.0), Ord::min(a.1, b.1));
    a.into_iter().zip(b).map(both).collect()
}
