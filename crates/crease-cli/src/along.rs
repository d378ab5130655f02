//! Directions and other vectors over the inputs of a program: `--along`, `--basis` and `--contains`.
//!
//! They are written as points are. Names that are left out are 0.

use crate::source::{Source, named_point, read_text};
use anyhow::{Result, anyhow, bail};
use crease_core::Rational;
use crease_formats::{Point, PointError};
use serde_json::value::RawValue;

/// Reads a vector over the inputs of a program, as the flag of this name gives it.
pub fn vector(flag: &str, text: &str, source: &Source) -> Result<Vec<Rational>> {
    let point = named_point(flag, text, source)?;
    coordinates(&point, source).map_err(|e| anyhow!("{flag}: {e}"))
}

/// The coordinates of a point, one input after the other; what it does not name is 0.
fn coordinates(point: &Point, source: &Source) -> Result<Vec<Rational>, PointError> {
    let inputs = source.program.inputs();
    if point.iter().any(|(name, _, _)| inputs.iter().all(|i| &*i.name != name)) {
        // says which name is unknown, and which may be meant
        point.bind(&source.program)?;
    }
    let mut out = Vec::with_capacity(source.program.dimension());
    for i in inputs {
        match point.get(&i.name) {
            None => out.extend(vec![Rational::ZERO; i.shape.len()]),
            Some((shape, _)) if *shape != i.shape => {
                return Err(PointError::Shape { name: i.name.to_string(), want: i.shape.clone(), got: shape.clone() });
            }
            Some((_, values)) => out.extend_from_slice(values),
        }
    }
    Ok(out)
}

/// Reads a basis: a JSON list of directions, each an object such as {"x": 1} or the list of all its coordinates.
pub fn basis(path: &str, source: &Source) -> Result<Vec<Vec<Rational>>> {
    let text = read_text(path)?;
    let list: Vec<&RawValue> = serde_json::from_str(&text)
        .map_err(|e| anyhow!("{path} is not a JSON list of directions such as [{{\"x\": 1}}, {{\"y\": 1}}]: {e}"))?;
    let direction = |(k, raw): (usize, &&RawValue)| {
        let place = format!("{path}: direction {}", k + 1);
        if raw.get().starts_with('{') {
            let point = Point::from_json(raw.get()).map_err(|e| anyhow!("{place}: {e}"))?;
            return coordinates(&point, source).map_err(|e| anyhow!("{place}: {e}"));
        }
        let point = Point::from_json(&format!("{{\"d\": {}}}", raw.get())).map_err(|e| anyhow!("{place}: {e}"))?;
        match point.get("d") {
            Some((shape, values)) if shape.rank() == 1 && values.len() == source.program.dimension() => {
                Ok(values.to_vec())
            }
            _ => bail!("{place} needs {} coordinates in one list, or names", source.program.dimension()),
        }
    };
    list.iter().enumerate().map(direction).collect()
}

/// A vector as `--along` takes it, without what is 0, in exact numbers or floats; cut where it is long.
pub fn shown(vector: &[Rational], source: &Source, exact: bool) -> String {
    const WIDTH: usize = 48;
    let mut parts: Vec<String> = Vec::new();
    let mut rest = vector;
    for i in source.program.inputs() {
        let (these, others) = rest.split_at(i.shape.len().min(rest.len()));
        rest = others;
        if these.iter().all(Rational::is_zero) {
            continue;
        }
        let answer = crate::local::answer(i.shape.clone(), these, exact);
        parts.push(format!("{}={}", i.name, crate::output::answer(&answer, false).replace(", ", ",")));
    }
    let text = if parts.is_empty() { "0".into() } else { parts.join(",") };
    if text.chars().count() <= WIDTH {
        return text;
    }
    text.chars().take(WIDTH).chain(['…']).collect()
}
