//! Membership of a given vector, in words and as JSON.
//!
//! The vector is taken exactly as given. Frameworks round, so that an exact "no" may be due to
//! rounding alone; the answer then names the element that the vector is close to, and the distance.
//! With a tolerance ([`Ask::within`](super::Ask::within)) the vector is taken for that element.

use super::Ask;
use super::at::{self, At, above};
use crate::show::{self, Apart};
use crease_core::{Rational, Shape};
use crease_oracles::{Conservative, HullPosition, Membership, Neighbour, OracleError, in_hull};
use serde_json::Value;

/// The most terms of a combination that text shows.
const TERMS: usize = 4;

/// How many random directions are looked at for a subgradient that a vector is close to.
const TRIES: u64 = 8;

/// A vector that is asked about, and where it lies.
#[derive(Clone, Debug, PartialEq)]
pub struct Contains {
    /// The vector.
    pub vector: Vec<Rational>,
    /// Where it lies, exactly as it is given.
    pub found: Membership,
    /// What it is close to, if it was not found to be a Clarke subgradient exactly.
    pub close: Option<Close>,
}

/// What a vector is close to, without being it.
#[derive(Clone, Debug, PartialEq)]
pub struct Close {
    /// To what.
    pub to: CloseTo,
    /// No coordinate differs by more than this.
    pub distance: Rational,
    /// The relative tolerance that was asked for; `None` if rounding of floats explains the distance.
    pub within: Option<Rational>,
}

/// What a vector can be close to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseTo {
    /// The gradient: the conservative gradient has one element.
    Gradient,
    /// A Clarke subgradient.
    Clarke,
    /// An element of the conservative gradient.
    Conservative,
    /// The bounds of the conservative gradient, outside of which it lies.
    Bounds,
}

impl CloseTo {
    /// In words.
    fn words(self) -> &'static str {
        match self {
            CloseTo::Gradient => "the gradient",
            CloseTo::Clarke => "a Clarke subgradient",
            CloseTo::Conservative => "an element of the conservative gradient",
            CloseTo::Bounds => "the bounds of the conservative gradient",
        }
    }

    /// As the verdict of a vector that is taken for what it is close to.
    fn verdict(self) -> &'static str {
        match self {
            CloseTo::Gradient => "gradient",
            CloseTo::Clarke => "clarke",
            CloseTo::Conservative => "conservative",
            CloseTo::Bounds => "undecided",
        }
    }
}

/// How far numbers may be off.
struct Tolerance<'t>(Option<&'t Rational>);

impl Tolerance<'_> {
    /// The tolerance for two numbers: relative to the larger, or four units in its last place.
    fn of(&self, a: &Rational, b: &Rational) -> Rational {
        let size = Ord::max(a.abs(), b.abs());
        match self.0 {
            Some(relative) => relative * &size,
            None => {
                let four_units = |bits: i32| Rational::from(2).pow(bits).unwrap_or_default();
                Ord::max(four_units(-50) * size, four_units(-1072))
            }
        }
    }

    /// The largest difference from a vector that is known so well, if none is too large.
    fn distance(&self, vector: &[Rational], (middle, radius): (&[Rational], Option<&[Rational]>)) -> Option<Rational> {
        let mut largest = Rational::ZERO;
        for (k, (a, b)) in vector.iter().zip(middle).enumerate() {
            let mut off = (a - b).abs();
            if let Some(radius) = radius {
                off += &radius[k];
            }
            if off > self.of(a, b) {
                return None;
            }
            largest = Ord::max(largest, off);
        }
        Some(largest)
    }

    /// The largest distance from bounds, if none is too large.
    fn beyond(&self, vector: &[Rational], bounds: &[(Rational, Rational)]) -> Option<Rational> {
        let mut largest = Rational::ZERO;
        for (x, (low, high)) in vector.iter().zip(bounds) {
            let (off, end) = if x < low { (low - x, low) } else { (x - high, high) };
            if off.is_positive() && off > self.of(x, end) {
                return None;
            }
            largest = Ord::max(largest, off);
        }
        Some(largest)
    }

    /// The distance from a combination of gradients that is so close, if one is found.
    fn hull_distance(
        &self,
        vector: &[Rational],
        found: &Membership,
        gradients: &[Neighbour],
        ask: &Ask<'_>,
    ) -> Option<Rational> {
        let (n, p) = (gradients.len(), vector.len());
        if n == 0 || n.saturating_mul(2 * p + 1).saturating_mul(p) > ask.limits.oracles.hull {
            return None;
        }
        let radius = |n: &Neighbour, k: usize| n.radius.as_ref().map_or(Rational::ZERO, |r| r[k].clone());
        let widest: Vec<Rational> =
            (0..p).map(|k| gradients.iter().map(|n| radius(n, k)).max().unwrap_or_default()).collect();
        let off = |k: usize| {
            let size = gradients.iter().map(|n| n.gradient[k].abs()).max().unwrap_or_default();
            self.of(&vector[k], &size) - &widest[k]
        };
        let offs: Vec<Rational> = (0..p).map(off).collect();
        if offs.iter().any(Rational::is_negative) || farther(vector, found, gradients, &offs) {
            return None;
        }
        // all vectors so close to the hull, or some of them, are a hull again
        let mut around: Vec<Vec<Rational>> = gradients.iter().map(|n| n.gradient.clone()).collect();
        let mut of: Vec<usize> = (0..n).collect();
        for (i, k) in (0..n).flat_map(|i| (0..p).map(move |k| (i, k))).filter(|(_, k)| !offs[*k].is_zero()) {
            for by in [offs[k].clone(), -&offs[k]] {
                let mut moved = gradients[i].gradient.clone();
                moved[k] += by;
                around.push(moved);
                of.push(i);
            }
        }
        let Ok(HullPosition::Inside { weights }) = in_hull(&around, vector, &ask.limits) else { return None };
        let combined = |k: usize| weights.iter().map(|(i, w)| w * &gradients[of[*i]].gradient[k]).sum::<Rational>();
        (0..p).map(|k| (&vector[k] - &combined(k)).abs() + &widest[k]).max()
    }
}

/// Where a vector lies, or that it was not decided before it was stopped.
pub(crate) fn undecided_if_stopped(found: Result<Membership, OracleError>) -> Result<Membership, OracleError> {
    match found {
        Err(OracleError::Stopped(_)) => Ok(Membership::NotDecided),
        found => found,
    }
}

impl Contains {
    /// Adds what the vector is close to, if `found` does not make it a Clarke subgradient.
    pub(crate) fn new(
        at: &At<'_>,
        vector: Vec<Rational>,
        found: Membership,
        listed: &[Neighbour],
        ask: &Ask<'_>,
    ) -> Result<Contains, OracleError> {
        let close = match &found {
            Membership::Gradient | Membership::Clarke { .. } | Membership::Vertex { .. } | Membership::Hull { .. } => {
                None
            }
            Membership::ConservativeOnly { .. }
            | Membership::NotClarke { .. }
            | Membership::Outside { .. }
            | Membership::Beyond { .. }
            | Membership::NotDecided => close(at, &vector, &found, listed, ask)?,
        };
        Ok(Contains { vector, found, close })
    }

    pub(crate) fn text(&self, at: &At<'_>, gradients: &[Neighbour]) -> String {
        let show = |v: &[Rational]| at.shown(v, None);
        let exactly = match &self.found {
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
                    (shown, same) if shown == same => {
                        let shown = apart_from(&self.vector[*coordinate], low, high).unwrap_or(shown);
                        format!("no: {name} is {shown} in all elements")
                    }
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
        let vector = show(&self.vector);
        match &self.close {
            None => format!("{vector}  {exactly}"),
            Some(close @ Close { within: None, .. }) => {
                format!(
                    "{vector}  {exactly}; but it differs from {} by {} only, as rounding does",
                    close.to.words(),
                    close.about()
                )
            }
            Some(close @ Close { to: CloseTo::Bounds, within: Some(within), .. }) => format!(
                "{vector}  not decided within {}: it differs from {} by {}",
                show::exact(within),
                close.to.words(),
                close.about()
            ),
            Some(close @ Close { within: Some(within), .. }) => format!(
                "{vector}  yes, within {}: it differs from {} by {}",
                show::exact(within),
                close.to.words(),
                close.about()
            ),
        }
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
        let taken = self.close.as_ref().filter(|c| c.within.is_some()).map(|c| c.to.verdict());
        let mut members = vec![("verdict", taken.unwrap_or(word).into())];
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
        if let Some(close) = &self.close {
            let mut parts: Vec<(&str, Value)> =
                vec![("to", close.to.words().into()), ("distance", above(&close.distance).into())];
            match &close.within {
                Some(within) => parts.extend([("within", show::number(within)), ("exactly", word.into())]),
                None => parts.push(("rounding", true.into())),
            }
            members.push(("close", show::object(parts)));
        }
        show::object(members)
    }
}

impl Close {
    /// The distance in two digits.
    fn about(&self) -> String {
        match above(&self.distance) {
            x if x.is_finite() => format!("about {x:.1e}"),
            _ => format!("about {}", show::exact(&self.distance)),
        }
    }
}

/// What a vector is close to: the gradient first, then what is less.
fn close(
    at: &At<'_>,
    vector: &[Rational],
    found: &Membership,
    listed: &[Neighbour],
    ask: &Ask<'_>,
) -> Result<Option<Close>, OracleError> {
    let tolerance = Tolerance(ask.within.as_ref());
    let close = |to: CloseTo, distance: Rational| Some(Close { to, distance, within: ask.within.clone() });
    let session = at.session();
    let known: &Conservative = session.conservative()?;
    let elements =
        || known.elements.iter().filter_map(|e| tolerance.distance(vector, (&e.gradient, e.radius.as_deref())));
    if known.is_singleton()
        && known.proved
        && let Some(distance) = elements().next()
    {
        return Ok(close(CloseTo::Gradient, distance));
    }
    let nearest = |list: &mut dyn Iterator<Item = (Vec<Rational>, Option<Vec<Rational>>)>| {
        list.filter_map(|(g, r)| tolerance.distance(vector, (&g, r.as_deref()))).min()
    };
    let drawn = |seed: u64| session.clarke_element(seed).ok().filter(|e| e.proved).map(|e| (e.gradient, e.radius));
    let clarke = match listed {
        [] => nearest(&mut (0..TRIES).take_while(|_| ask.limits.stopped().is_none()).filter_map(drawn)),
        listed => nearest(&mut listed.iter().map(|n| (n.gradient.clone(), n.radius.clone()))),
    };
    // a combination is as close as is asked for, and rounding asks for more
    let by_rounding = || Tolerance(None).hull_distance(vector, found, listed, ask);
    let combined = || by_rounding().or_else(|| tolerance.hull_distance(vector, found, listed, ask));
    if let Some(distance) = clarke.or_else(combined) {
        return Ok(close(CloseTo::Clarke, distance));
    }
    // of an element of the conservative gradient it is known that it is one
    if matches!(found, Membership::ConservativeOnly { .. }) {
        return Ok(None);
    }
    if let Some(distance) = elements().min() {
        return Ok(close(CloseTo::Conservative, distance));
    }
    // within the bounds nothing is said by them
    let outside = matches!(found, Membership::Outside { .. });
    Ok(tolerance.beyond(vector, &known.bounds).filter(|_| outside).and_then(|d| close(CloseTo::Bounds, d)))
}

/// Whether the separating direction of `found` shows the vector to be farther from the hull of the
/// gradients than `offs` allow.
fn farther(vector: &[Rational], found: &Membership, gradients: &[Neighbour], offs: &[Rational]) -> bool {
    let direction = match found {
        Membership::ConservativeOnly { direction, .. }
        | Membership::NotClarke { direction }
        | Membership::Beyond { direction, .. } => direction.clone(),
        Membership::Outside { coordinate, .. } => {
            (0..vector.len()).map(|k| Rational::from(usize::from(k == *coordinate))).collect()
        }
        Membership::Gradient
        | Membership::Clarke { .. }
        | Membership::Vertex { .. }
        | Membership::Hull { .. }
        | Membership::NotDecided => return false,
    };
    let along = |x: &[Rational]| x.iter().zip(&direction).map(|(x, d)| x * d).sum::<Rational>();
    let products: Vec<Rational> = gradients.iter().map(|n| along(&n.gradient)).collect();
    let (Some(low), Some(high)) = (products.iter().min(), products.iter().max()) else { return false };
    let here = along(vector);
    let slack: Rational = offs.iter().zip(&direction).map(|(off, d)| off * d.abs()).sum();
    here > high + &slack || here < low - &slack
}

/// A number between bounds, in as many digits as tell it apart from another one, if floats do not.
fn apart_from(other: &Rational, low: &Rational, high: &Rational) -> Option<String> {
    let half = Rational::new(1, 2)?;
    let (middle, radius) = ([(low + high) * &half], [(high - low) * &half]);
    let number = (&middle[..], Some(&radius[..]));
    Apart::of([(std::slice::from_ref(other), None), number]).digits(1, 0, number)
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
