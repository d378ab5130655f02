//! One Clarke subgradient, and the direction that shows it.

use super::at::{At, choice};
use super::{Ask, Coordinates, InspectError};
use crate::show::{self, Apart, Rows, width};
use crease_core::cost::{Prices, cost_within};
use crease_core::{Program, Rational};
use crease_oracles::{ClarkeElement, accurate_vector};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// A Clarke subgradient of one scalar output. It displays as the text of `crease clarke`, and serializes as its JSON.
///
/// ```
/// use crease::inspect::{clarke, Ask};
/// let p = crease::trace(1, |x| crease::relu(x[0]) - crease::relu(-x[0]))?;
/// let answer = clarke(&p, &[0.0], &Ask::default())?;
/// assert_eq!(answer.found.gradient[0].to_string(), "1");
/// assert!(answer.to_string().contains("a Clarke subgradient"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Clarke<'p> {
    /// The program at the point.
    pub at: At<'p>,
    /// Which of its outputs.
    pub output: usize,
    /// The subgradient.
    pub found: ClarkeElement,
    /// What the program costs, at unit prices.
    price: Rational,
}

/// One Clarke subgradient of a program at a point: the limit of gradients along a random direction.
pub fn clarke<'p>(
    program: &'p Program,
    point: &(impl Coordinates + ?Sized),
    ask: &Ask<'_>,
) -> Result<Clarke<'p>, InspectError> {
    let ask = &ask.started();
    // what cannot be counted is refused before it is taken apart, which may take longer
    let price = cost_within(program, &ask.limits)?.at(&Prices::unit());
    let mut at = At::new(program, point, ask)?;
    let (output, _) = at.scalar_output("a Clarke subgradient", ask.output)?;
    let found = at.ask(|session| {
        let found = session.clarke_element(ask.seed)?;
        let close = accurate_vector(session.model().precision().bits, &found.gradient, found.radius.as_deref());
        Ok((found, !close))
    })?;
    Ok(Clarke { at, output, found, price })
}

impl Clarke<'_> {
    fn remark(&self) -> String {
        let mut out = match self.at.model().kinks() {
            [] => "the gradient: no kink matters here",
            _ => "a Clarke subgradient: the limit of gradients along this direction",
        }
        .to_string();
        if !self.found.proved {
            out.push_str(", but for a chance of about 2^-61 for each kink");
        }
        out
    }

    fn text(&self) -> String {
        let Clarke { at, found, .. } = self;
        let mut rows = Rows::default();
        let value = show::answer(&at.values()[self.output], false);
        let vector = (&found.gradient[..], found.radius.as_deref());
        let (gradient, direction) = (at.texts(vector, (&Apart::of([vector]), 0)), at.by_input(&found.direction, None));
        let (single, wide) = match (&gradient[..], &direction[..]) {
            ([g], [d]) => (d.near.shape().is_scalar(), width([&*value, g, &show::answer(d, false)])),
            _ => (false, 0),
        };
        rows.add("value", &value);
        rows.texts("clarke", &at.names(), &gradient, single, &self.remark(), wide);
        if !at.model().kinks().is_empty() {
            rows.vector("direction", &at.names(), &direction, "", wide);
            let lines = at.model().kinks().iter().zip(&found.picked).zip(sizes(at));
            let kinks = at.kinks(lines.map(|((kink, &picked), n)| {
                let weights: Vec<Rational> = (0..n).map(|k| Rational::from(usize::from(k == picked))).collect();
                (kink, vec![choice(kink, &weights)])
            }));
            rows.block("kinks", &show::columns(&kinks, &[]));
        }
        at.exactness(&mut rows);
        rows.add("cost", &self.cost());
        rows.text()
    }

    fn cost(&self) -> String {
        let total = self.found.operations.total();
        let mut out =
            format!("P {} · sweeps over the local model {} counted", show::price(&self.price), show::count(total));
        if let Some(ratio) = Rational::from(total as i64).checked_div(&self.price) {
            out.push_str(&format!(" ({} x)", show::ratio(&ratio)));
        }
        match self.found.attempts {
            1 => out.push_str(", with the first direction drawn"),
            n => out.push_str(&format!(", with {n} directions drawn")),
        }
        out
    }

    fn json(&self) -> Value {
        let Clarke { at, found, .. } = self;
        let value = &at.values()[self.output];
        let mut members = vec![
            ("value", show::near(value)),
            ("gradient", at.json(&found.gradient)),
            ("kind", "clarke".into()),
            ("kinks", at.model().kinks().len().into()),
            ("direction", at.json(&found.direction)),
            ("proved", found.proved.into()),
        ];
        members.extend(at.json_exactness());
        let vector = (&found.gradient[..], found.radius.as_deref());
        members.extend(at.json_radius(vector));
        members.extend(at.json_digits(vector, (&Apart::of([vector]), 0)));
        if let Some(gradient) = at.json_exact(&found.gradient, found.radius.as_deref()) {
            let mut exact: Vec<(&str, Value)> = show::fractions(value).map(|v| ("value", v)).into_iter().collect();
            exact.push(("gradient", gradient));
            exact.extend(at.json_exact(&found.direction, None).map(|d| ("direction", d)));
            members.push(("exact", show::object(exact)));
        }
        let o = &found.operations;
        let counts =
            [("forward", o.forward), ("comparisons", o.comparisons), ("backward", o.backward), ("total", o.total())];
        let price = [("program", show::number(&self.price))];
        let counts = counts.into_iter().map(|(name, n)| (name, n.into())).chain(price);
        members.push(("operations", show::object(counts)));
        show::object(members)
    }
}

impl fmt::Display for Clarke<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Serialize for Clarke<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

/// How many members each kink has.
fn sizes(at: &At<'_>) -> impl Iterator<Item = usize> {
    use crease_core::local::Node;
    at.model().kinks().iter().map(|k| match at.model().node(k.node) {
        Node::Max(members) => members.len(),
        _ => 1,
    })
}
