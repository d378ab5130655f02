//! `--contains`: where a vector lies, in words and as JSON.

use crate::along;
use crate::local::{self, Local};
use crate::output;
use anyhow::Result;
use crease_core::local::LocalModel;
use crease_core::{Rational, Shape};
use crease_oracles::{Membership, Neighbour};
use serde_json::Value;

/// The most terms of a combination that text shows.
const TERMS: usize = 4;

/// A vector that is asked about, and where it lies.
pub struct Contains {
    pub vector: Vec<Rational>,
    pub found: Membership,
}

impl Contains {
    /// Reads the vector and asks.
    pub fn ask(
        text: &str,
        at: &Local,
        membership: impl FnOnce(&[Rational]) -> Result<Membership, crease_oracles::OracleError>,
    ) -> Result<Self> {
        let vector = along::vector("--contains", text, &at.source)?;
        let found = membership(&vector)?;
        Ok(Contains { vector, found })
    }

    /// The vector and where it lies. Combinations are of these gradients.
    pub fn text(&self, at: &Local, gradients: &[Neighbour]) -> String {
        let show = |v: &[Rational]| along::shown(v, None, &at.source);
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
                let name = name_of(&at.model, *coordinate);
                let number = |x: &Rational| {
                    output::answer(&local::answer(Shape::scalar(), std::slice::from_ref(x), None), false)
                };
                match (number(low), number(high)) {
                    (low, high) if low == high => format!("no: {name} is {low} in all elements"),
                    (low, high) => format!("no: {name} is between {low} and {high} in all elements"),
                }
            }
            Membership::NotDecided => {
                "not decided here: within the bounds, but no limit of gradients that was found".into()
            }
        };
        format!("{}  {where_it_is}", show(&self.vector))
    }

    /// As a JSON object.
    pub fn json(&self, at: &Local) -> Value {
        let word = match &self.found {
            Membership::Gradient => "gradient",
            Membership::Clarke { .. } => "clarke",
            Membership::Vertex { .. } => "vertex",
            Membership::Hull { .. } => "hull",
            Membership::ConservativeOnly { .. } => "conservative",
            Membership::NotClarke { .. } => "not clarke",
            Membership::Outside { .. } => "outside",
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
                let choices = at.model.kinks().iter().zip(choices).map(|(kink, weights)| {
                    let weights = weights.iter().map(output::number).collect();
                    at.json_kink(kink, vec![("weights", weights)])
                });
                members.push(("choices", choices.collect()));
            }
            Membership::Outside { coordinate, bounds: (low, high) } => {
                members.push(("coordinate", name_of(&at.model, *coordinate).into()));
                members.push(("bounds", vec![output::number(low), output::number(high)].into()));
            }
            Membership::Gradient | Membership::NotDecided => {}
        }
        output::object(members)
    }
}

/// A convex combination of gradients.
pub fn combination(weights: &[(usize, Rational)], gradients: &[Neighbour], at: &Local) -> String {
    let term = |(i, w): &(usize, Rational)| {
        let gradient = gradients.get(*i).map(|n| along::shown(&n.gradient, n.radius.as_deref(), &at.source));
        format!("{} of ({})", output::exact(w), gradient.unwrap_or_default())
    };
    let mut terms: Vec<String> = weights.iter().take(TERMS).map(term).collect();
    if weights.len() > TERMS {
        terms.push(format!("{} more", weights.len() - TERMS));
    }
    terms.join(" + ")
}

/// The weights of a convex combination, by the number of the gradient.
pub fn json_weights(weights: &[(usize, Rational)]) -> Value {
    let part = |(i, w): &(usize, Rational)| {
        output::object([("gradient", (*i).into()), ("weight", output::number(w)), ("exact", Value::from(w.fraction()))])
    };
    weights.iter().map(part).collect()
}

/// The name of a coordinate, such as v[1, 2].
fn name_of(model: &LocalModel, mut k: usize) -> String {
    for i in model.inputs() {
        if k >= i.shape.len() {
            k -= i.shape.len();
            continue;
        }
        let mut index = Vec::new();
        for n in i.shape.dims().iter().rev() {
            index.push((k % n).to_string());
            k /= n;
        }
        index.reverse();
        return if index.is_empty() { i.name.to_string() } else { format!("{}[{}]", i.name, index.join(", ")) };
    }
    "a coordinate".into()
}
