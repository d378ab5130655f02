//! Directions and other vectors over the inputs of a program: `--along`, and `--contains` with `--within`.
//!
//! They are written as points are. Names that are left out are 0.

use crate::source::{Source, named_point};
use anyhow::{Result, anyhow};
use clap::Args;
use crease::inspect::{Close, Contains};
use crease_core::Rational;
use crease_formats::{Point, PointError};

/// The tolerance of a vector that is asked about.
#[derive(Args)]
pub struct WithinArgs {
    /// Let the numbers of --contains be off by so much of their size, such as 1e-9
    #[arg(long, value_name = "RELATIVE", requires = "contains", value_parser = relative)]
    pub within: Option<Rational>,
}

fn relative(text: &str) -> Result<Rational, String> {
    let number: Rational = text.parse().map_err(|_| format!("{text} is no number"))?;
    if number.is_negative() { Err("a tolerance is not negative".into()) } else { Ok(number) }
}

/// What can be done about an answer that rounding explains.
pub fn advice(contains: Option<&Contains>) -> Option<String> {
    match contains?.close {
        Some(Close { within: None, .. }) => {
            Some(format!("{:<12}--within 1e-15 takes the vector for what it is so close to\n", ""))
        }
        _ => None,
    }
}

/// Reads a vector over the inputs of a program, as the flag of this name gives it.
pub fn vector(flag: &str, text: &str, source: &Source) -> Result<Vec<Rational>> {
    let point = named_point(flag, text, source)?;
    coordinates(&point, source).map_err(|e| anyhow!("{flag}: {e}"))
}

/// The coordinates of a point, one input after the other; what it does not name is 0.
pub fn coordinates(point: &Point, source: &Source) -> Result<Vec<Rational>, PointError> {
    let point = &source.fitted(point);
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
