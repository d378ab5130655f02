//! One instant of a curve in certain enclosures, for programs that are no rational functions.

use super::{Piece, Ready, tensors};
use crease_core::local::localize;
use crease_core::number::Mixed;
use crease_core::{Number, Program, Rational, run};
use std::cmp::Ordering;

/// What can be said about the chain rule at one instant.
pub(super) enum Outcome {
    /// It holds exactly.
    Equal { inside: bool },
    /// Both sides are enclosed, and the enclosures meet.
    Meet,
    /// It certainly fails.
    Differ { expected: Mixed, found: Mixed, inside: bool },
    /// Nothing.
    Unknown(String),
}

pub(super) fn instant(program: &Program, field: &Ready<'_>, piece: &Piece, t: &Rational) -> Outcome {
    sides(program, field, piece, t).unwrap_or_else(Outcome::Unknown)
}

fn sides(program: &Program, field: &Ready<'_>, piece: &Piece, t: &Rational) -> Result<Outcome, String> {
    let (x, d) = (piece.at(t), piece.velocity(t));
    let back: Vec<Rational> = d.iter().map(|c| -c).collect();
    let model = localize(program, &tensors(program, &x)).map_err(|e| e.to_string())?;
    let inside = !model.kinks().is_empty();
    let nowhere = "the function has no derivative along the curve at this instant";
    let along =
        |d: &[Rational]| model.along(d).ok_or("the curve has not as many coordinates as the program has inputs");
    let (after, before) = (along(&d)?.swap_remove(0), along(&back)?.swap_remove(0).neg());
    if after.compare(&before).is_some_and(Ordering::is_ne) {
        return Err(nowhere.into());
    }
    // exact, or an enclosure that meets that of the other side
    let expected = after;
    let v: Vec<Mixed> = match field {
        Ready::Function(f) => f(&x).into_iter().map(Mixed::exactly).collect(),
        Ready::Program(p) => {
            let x: Vec<Mixed> = x.into_iter().map(Mixed::exactly).collect();
            let v = run(p, &tensors(p, &x)).map_err(|e| e.to_string())?;
            v.iter().flat_map(|v| v.data().to_vec()).collect()
        }
    };
    if v.len() != d.len() {
        return Err(format!("the field has {} numbers, expected {}", v.len(), d.len()));
    }
    let term = |(v, d): (&Mixed, &Rational)| v.mul(&Mixed::exactly(d.clone()));
    let found = v.iter().zip(&d).map(term).fold(Mixed::zero(), |sum, x| sum.add(&x));
    Ok(match expected.compare(&found) {
        Some(Ordering::Equal) => Outcome::Equal { inside },
        Some(_) => Outcome::Differ { expected, found, inside },
        None => Outcome::Meet,
    })
}
