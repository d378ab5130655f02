//! What the tangents of forward mode take, known before the first equation of them is emitted, and refused if it is too much. (Counting them without
//! emitting is for [`Columns`](crate::cost).)

use super::DiffError;
use crate::op::Op;
use crate::program::Program;
use crate::shape::{Layout, MAX_ELEMENTS, Shape};

/// The most entries of index tables that tangents may take: each column has its own copy.
const MAX_ENTRIES: usize = 1 << 27;

/// Refuses tangents that are too large, before anything is emitted: those of all values that are listed.
pub(super) fn check<'s>(
    p: &Program,
    columns: usize,
    mut shapes: impl Iterator<Item = &'s Shape>,
) -> Result<(), DiffError> {
    let room = MAX_ELEMENTS / columns.max(1);
    match shapes.find(|s| s.len() > room) {
        None => Ok(()),
        Some(shape) => Err(DiffError::Columns {
            name: p.name().into(),
            columns,
            what: format!("for a value of shape {shape} they are {} numbers", columns as u128 * shape.len() as u128),
        }),
    }
}

/// The same for the index tables of equations on tangents.
pub(super) fn check_tables(p: &Program, columns: usize, needed: &[bool]) -> Result<(), DiffError> {
    let entries = |layout: &Layout| if let Layout::Table(t) = layout { t.len() } else { 0 };
    let of = |op: &Op| match op {
        Op::View { layout, .. } => entries(layout),
        Op::Assemble { pieces, .. } => pieces.iter().map(entries).sum(),
        _ => 0,
    };
    let each: usize = p.equations().zip(needed).filter(|(_, needed)| **needed).map(|(e, _)| of(e.op)).sum();
    match each > MAX_ENTRIES / columns.max(1) {
        false => Ok(()),
        true => Err(DiffError::Columns {
            name: p.name().into(),
            columns,
            what: format!("their index tables have {} entries", columns as u128 * each as u128),
        }),
    }
}
