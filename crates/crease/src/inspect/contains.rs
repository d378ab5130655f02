//! Where a vector lies that somebody asks about, in words and as JSON.

use super::at::{self, At};
use crate::show;
use crease_core::{Rational, Shape};
use crease_oracles::{Membership, Neighbour, OracleError};
use serde_json::Value;

/// The most terms of a combination that text shows.
const TERMS: usize = 4;

/// A vector that is asked about, and where it lies.
#[derive(Clone, Debug, PartialEq)]
pub struct Contains {
    /// The vector.
    pub vector: Vec<Rational>,
    /// Where it lies.
    pub found: Membership,
}

/// Where a vector lies, or that it was not decided before it was stopped.
pub(crate) fn undecided_if_stopped(found: Result<Membership, OracleError>) -> Result<Membership, OracleError> {
    match found {
        Err(OracleError::Stopped(_)) => Ok(Membership::NotDecided),
        found => found,
    }
}

impl Contains {
    pub(crate) fn text(&self, at: &At<'_>, gradients: &[Neighbour]) -> String {
        let show = |v: &[Rational]| at.shown(v, None);
        let where_it_is = match &self.found {
            Membership::Gradient => "it is the gradient, the only element".into(),
            Membership::Clarke { direction } => {
                format!("yes, a Clarke subgradient: the limit of gradients along {}", show(direction))
            }
            Membership::Vertex { direction } => {
                format!("yes, a vertex of the Clarke subdifferential: the limit of gradients along {}", show(direction))
            }
            Membership::Hull { weights } => {
                format!("yes, a Clarke subgradient: {}", combination(weights, gradients, at))
            }
            Membership::ConservativeOnly { direction, .. } => format!(
                "no Clarke subgradient, as it is beyond all of them along {}, but an element of the conservative gradient",
                show(direction)
            ),
            Membership::NotClarke { direction } => {
                format!("no Clarke subgradient: it is beyond all of them along {}", show(direction))
            }
            Membership::Outside { coordinate, bounds: (low, high) } => {
                let name = name_of(at, *coordinate);
                let number =
                    |x: &Rational| show::answer(&at::answer(Shape::scalar(), std::slice::from_ref(x), None), false);
                match (number(low), number(high)) {
                    (low, high) if low == high => format!("no: {name} is {low} in all elements"),
                    (low, high) => format!("no: {name} is between {low} and {high} in all elements"),
                }
            }
            Membership::Beyond { direction, bounds: (low, high) } => {
                let number =
                    |x: &Rational| show::answer(&at::answer(Shape::scalar(), std::slice::from_ref(x), None), false);
                let all = match (number(low), number(high)) {
                    (low, high) if low == high => format!("is {low}"),
                    (low, high) => format!("is between {low} and {high}"),
                };
                format!(
                    "no: its product with {} is more or less than that of all elements, which {all}",
                    show(direction)
                )
            }
            Membership::NotDecided => {
                "not decided here: within the bounds, but no limit of gradients that was found".into()
            }
        };
        format!("{}  {where_it_is}", show(&self.vector))
    }

    /// As a JSON object.
    pub(crate) fn json(&self, at: &At<'_>) -> Value {
        let word = match &self.found {
            Membership::Gradient => "gradient",
            Membership::Clarke { .. } => "clarke",
            Membership::Vertex { .. } => "vertex",
            Membership::Hull { .. } => "hull",
            Membership::ConservativeOnly { .. } => "conservative",
            Membership::NotClarke { .. } => "not clarke",
            Membership::Outside { .. } | Membership::Beyond { .. } => "outside",
            Membership::NotDecided => "undecided",
        };
        let mut members = vec![("verdict", word.into())];
        match &self.found {
            Membership::Clarke { direction } | Membership::Vertex { direction } => {
                members.push(("direction", at.json(direction)));
            }
            Membership::Hull { weights } => members.push(("weights", json_weights(weights))),
            Membership::NotClarke { direction } => members.push(("beyond", at.json(direction))),
            Membership::ConservativeOnly { direction, choices } => {
                members.push(("beyond", at.json(direction)));
                let choices = at.model().kinks().iter().zip(choices).map(|(kink, weights)| {
                    let weights = weights.iter().map(show::number).collect();
                    at.json_kink(kink, vec![("weights", weights)])
                });
                members.push(("choices", choices.collect()));
            }
            Membership::Outside { coordinate, bounds: (low, high) } => {
                members.push(("coordinate", name_of(at, *coordinate).into()));
                members.push(("bounds", vec![show::number(low), show::number(high)].into()));
            }
            Membership::Beyond { direction, bounds: (low, high) } => {
                members.push(("beyond", at.json(direction)));
                members.push(("bounds", vec![show::number(low), show::number(high)].into()));
            }
            Membership::Gradient | Membership::NotDecided => {}
        }
        show::object(members)
    }
}

/// A convex combination of gradients.
pub(crate) fn combination(weights: &[(usize, Rational)], gradients: &[Neighbour], at: &At<'_>) -> String {
    let term = |(i, w): &(usize, Rational)| {
        let gradient = gradients.get(*i).map(|n| at.shown(&n.gradient, n.radius.as_deref()));
        format!("{} of ({})", show::exact(w), gradient.unwrap_or_default())
    };
    let mut terms: Vec<String> = weights.iter().take(TERMS).map(term).collect();
    if weights.len() > TERMS {
        terms.push(format!("{} more", weights.len() - TERMS));
    }
    terms.join(" + ")
}

/// The weights of a convex combination, by the number of the gradient.
pub(crate) fn json_weights(weights: &[(usize, Rational)]) -> Value {
    let part = |(i, w): &(usize, Rational)| {
        show::object([("gradient", (*i).into()), ("weight", show::number(w)), ("exact", Value::from(w.fraction()))])
    };
    weights.iter().map(part).collect()
}

/// The name of a coordinate, such as v[1, 2].
fn name_of(at: &At<'_>, k: usize) -> String {
    match at.coordinate(k) {
        Some((name, index)) if index.is_empty() => name.into(),
        Some((name, index)) => format!("{name}{index:?}"),
        None => "a coordinate".into(),
    }
}
