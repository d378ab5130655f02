//! One instant of a curve in certain enclosures, for programs that are no rational functions.

use super::{Piece, Ready, tensors};
use crease_core::local::localize;
use crease_core::number::{Interval, Mixed};
use crease_core::{Number, Program, Rational, run};

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
    let expected = if model.is_exact() {
        let along = |d: &[Rational]| crease_oracles::directional(&model, d).map_err(|e| e.to_string());
        let (after, before) = (along(&d)?, along(&back)?);
        if after[0] != -&before[0] {
            return Err("the function has no derivative along the curve at this instant".into());
        }
        Mixed::Exact(after[0].clone())
    } else {
        let along = |d: &[Rational]| model.enclosure(d).ok_or("a tie of rounded numbers cannot be told");
        let (after, before) = (along(&d)?[0], along(&back)?[0].neg());
        let both = Interval::new(after.lo().max(before.lo()), after.hi().min(before.hi()));
        Mixed::Near(both.ok_or("the function has no derivative along the curve at this instant")?)
    };
    let v: Vec<Mixed> = match field {
        Ready::Function(f) => f(&x).into_iter().map(Mixed::Exact).collect(),
        Ready::Program(p) => {
            let x: Vec<Mixed> = x.into_iter().map(Mixed::Exact).collect();
            let v = run(p, &tensors(p, &x)).map_err(|e| e.to_string())?;
            v.iter().flat_map(|v| v.data().to_vec()).collect()
        }
    };
    if v.len() != d.len() {
        return Err(format!("the field has {} numbers, expected {}", v.len(), d.len()));
    }
    let term = |(v, d): (&Mixed, &Rational)| v.mul(&Mixed::Exact(d.clone()));
    let found = v.iter().zip(&d).map(term).fold(Mixed::zero(), |sum, x| sum.add(&x));
    Ok(match (expected.exact(), found.exact()) {
        (Some(a), Some(b)) if a == b => Outcome::Equal { inside },
        (Some(_), Some(_)) => Outcome::Differ { expected, found, inside },
        _ => {
            let (a, b) = (expected.interval(), found.interval());
            if a.lo() > b.hi() || b.lo() > a.hi() { Outcome::Differ { expected, found, inside } } else { Outcome::Meet }
        }
    })
}
