//! The lexicographic derivative along a basis. Section 5.2 of the paper.

use super::at::{At, ordinal};
use super::{Ask, Coordinates, InspectError};
use crate::show::{self, Apart, Rows, width};
use crease_core::cost::{Prices, cost_within};
use crease_core::{Program, Rational};
use crease_oracles::{Lexicographic as Found, accurate_vector, identity};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// Along what a lexicographic derivative is taken, and what else is told.
#[derive(Clone, Debug, Default)]
pub struct Basis {
    /// The directions; without any, the identity.
    pub directions: Option<Vec<Vec<Rational>>>,
    /// Whether the vector forward mode of Khan and Barton is run beside it.
    pub forward: bool,
    /// Whether the text shows which direction settled which kink.
    pub trace: bool,
}

/// A lexicographic derivative of one scalar output. It displays as the text of `crease lexicographic`, and serializes as its JSON.
///
/// ```
/// use crease::inspect::{lexicographic, Ask, Basis};
/// let p = crease::trace(1, |x| crease::abs(x[0]))?;
/// let answer = lexicographic(&p, &[0.0], &Basis::default(), &Ask::default())?;
/// assert_eq!(answer.found.gradient[0].to_string(), "1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Lexicographic<'p> {
    /// The program at the point.
    pub at: At<'p>,
    /// Which of its outputs.
    pub output: usize,
    /// The derivative.
    pub found: Found,
    /// The same by vector forward mode, if that was asked for.
    pub forward: Option<Found>,
    basis: Vec<Vec<Rational>>,
    standard: bool,
    trace: bool,
    price: Rational,
}

/// The lexicographic derivative of a program at a point along a basis.
pub fn lexicographic<'p>(
    program: &'p Program,
    point: &(impl Coordinates + ?Sized),
    basis: &Basis,
    ask: &Ask<'_>,
) -> Result<Lexicographic<'p>, InspectError> {
    let ask = &ask.started();
    // what cannot be counted is refused before it is taken apart, which may take longer
    let price = cost_within(program, &ask.limits)?.at(&Prices::unit());
    let mut at = At::new(program, point, ask)?;
    let (output, _) = at.scalar_output("a lexicographic derivative", ask.output)?;
    let (p, nodes) = (at.model().dimension(), at.model().len());
    let most = usize::try_from(ask.limits.basis).unwrap_or(usize::MAX);
    let too_large = |message: String| Err(InspectError::Other(message));
    let directions = match &basis.directions {
        Some(directions) => directions.clone(),
        None if p.saturating_mul(p) > most => {
            return too_large(format!(
                "the identity of dimension {p} is too large to go through; `crease clarke` does not need a basis"
            ));
        }
        None => identity(p),
    };
    let found = at.ask(|session| {
        let found = session.lexicographic(&directions)?;
        let close = accurate_vector(session.model().precision().bits, &found.gradient, found.radius.as_deref());
        Ok((found, !close))
    })?;
    let forward = match basis.forward {
        true if p.saturating_mul(nodes) > most => {
            return too_large(format!(
                "vector forward mode would carry {p} numbers for each of {nodes} nodes; leave out --forward"
            ));
        }
        true => Some(at.session().lexicographic_forward(&directions)?),
        false => None,
    };
    let standard = basis.directions.is_none();
    Ok(Lexicographic { at, output, found, forward, basis: directions, standard, trace: basis.trace, price })
}

impl Lexicographic<'_> {
    fn text(&self) -> String {
        let Lexicographic { at, found, .. } = self;
        let mut rows = Rows::default();
        let value = show::answer(&at.values()[self.output], false);
        let vector = (&found.gradient[..], found.radius.as_deref());
        let gradient = at.texts(vector, (&Apart::of([vector]), 0));
        let single = matches!(at.model().inputs(), [one] if one.shape.is_scalar());
        let wide = match &gradient[..] {
            [g] => width([&*value, g]),
            _ => 0,
        };
        let remark = match at.model().kinks() {
            [] => "the gradient: no kink matters here",
            _ => "the lexicographic derivative along the basis, a Clarke subgradient",
        };
        rows.add("value", &value);
        rows.texts("lexicographic", &at.names(), &gradient, single, remark, wide);
        rows.add("basis", &self.basis());
        let settled = |j: &Option<usize>| match j {
            Some(j) => format!("settled by the {} direction, {}", ordinal(j + 1), at.shown(&self.basis[*j], None)),
            None => "its sides are the same".into(),
        };
        let lines = at.model().kinks().iter().zip(&found.settled);
        let lines = lines.map(|(kink, j)| (kink, if self.trace { vec![settled(j)] } else { Vec::new() }));
        rows.block("kinks", &show::columns(&at.kinks(lines), &[]));
        at.exactness(&mut rows);
        rows.add("cost", &self.cost());
        if let Some(f) = &self.forward {
            let agrees = if f.gradient == found.gradient { "the same answer" } else { "ANOTHER ANSWER" };
            rows.add("forward", &format!("{agrees} by vector forward mode · {}", self.counted(f.operations)));
        }
        rows.text()
    }

    fn basis(&self) -> String {
        let n = self.basis.len();
        let which = match (self.standard, n) {
            (true, _) => "the identity".into(),
            (false, 1) => "1 direction".into(),
            (false, n) => format!("{n} directions"),
        };
        match self.found.directions {
            0 => format!("{which}, not needed"),
            used if used == n => format!("{which}, used to the end"),
            1 => format!("{which}, of which the first settled all"),
            used => format!("{which}, of which the first {} settled all", show::count(used)),
        }
    }

    fn counted(&self, operations: u64) -> String {
        let mut out = format!("{} counted", show::count(operations));
        if let Some(ratio) = Rational::from(operations as i64).checked_div(&self.price) {
            out.push_str(&format!(" ({} x)", show::ratio(&ratio)));
        }
        out
    }

    fn cost(&self) -> String {
        format!("P {} · sweeps over the local model {}", show::price(&self.price), self.counted(self.found.operations))
    }

    fn json(&self) -> Value {
        let Lexicographic { at, found, .. } = self;
        let value = &at.values()[self.output];
        let mut members = vec![
            ("value", show::near(value)),
            ("gradient", at.json(&found.gradient)),
            ("kind", "lexicographic".into()),
            ("kinks", at.model().kinks().len().into()),
            ("directions", found.directions.into()),
        ];
        members.extend(at.json_exactness());
        let vector = (&found.gradient[..], found.radius.as_deref());
        members.extend(at.json_radius(vector));
        members.extend(at.json_digits(vector, (&Apart::of([vector]), 0)));
        if let Some(gradient) = at.json_exact(&found.gradient, found.radius.as_deref()) {
            let mut exact: Vec<(&str, Value)> = show::fractions(value).map(|v| ("value", v)).into_iter().collect();
            exact.push(("gradient", gradient));
            members.push(("exact", show::object(exact)));
        }
        let settled = at
            .model()
            .kinks()
            .iter()
            .zip(&found.settled)
            .map(|(kink, j)| at.json_kink(kink, vec![("direction", j.map_or(Value::Null, Value::from))]));
        members.push(("settled", settled.collect()));
        let mut counts = vec![("program", show::number(&self.price)), ("counted", found.operations.into())];
        if let Some(f) = &self.forward {
            counts.push(("forward", f.operations.into()));
            members.push(("agrees", (f.gradient == found.gradient).into()));
        }
        members.push(("operations", show::object(counts)));
        show::object(members)
    }
}

impl fmt::Display for Lexicographic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Serialize for Lexicographic<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}
