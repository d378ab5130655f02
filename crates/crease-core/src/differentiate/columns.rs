//! The columns that forward mode carries along, one for each scalar input: what they take, and counting without them.
//!
//! All columns are treated alike: an equation on tangents does to every column what it does to one, and which elements are constants does
//! not depend on the column, because seeds are constants throughout. So a derived program whose tangents have one column stands for that
//! with any number of them: its equations on tangents count so many times, all others once. That is how a program is
//! counted whose tangents are too large to be emitted, and the tally is the same to the last operation.
//!
//! Where a program *is* to be emitted, what its tangents take is known before the first equation of it, and refused if it is too much.

use super::DiffError;
use crate::op::Op;
use crate::program::Program;
use crate::shape::{Layout, MAX_ELEMENTS, Shape};
use std::ops::Range;

/// The most entries of index tables that tangents may take: each column has its own copy.
const MAX_ENTRIES: usize = 1 << 27;

/// Which equations of a derived program work on tangents, and how many columns these stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    pub number: usize,
    /// numbers of equations, in order
    pub equations: Vec<Range<usize>>,
}

impl Columns {
    /// How often an equation counts.
    pub fn times(&self, equation: usize) -> usize {
        let after = self.equations.partition_point(|r| r.start <= equation);
        let inside = after > 0 && self.equations[after - 1].contains(&equation);
        if inside { self.number } else { 1 }
    }

    /// Marks the equations from one to another.
    pub fn mark(&mut self, from: usize, to: usize) {
        match self.equations.last_mut() {
            Some(last) if last.end == from => last.end = to,
            _ if from < to => self.equations.push(from..to),
            _ => {}
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::Columns;

    #[test]
    fn marked_equations_count_for_all_columns() {
        let mut c = Columns { number: 7, ..Columns::default() };
        c.mark(2, 4);
        c.mark(4, 5);
        c.mark(6, 6);
        c.mark(8, 9);
        let times: Vec<usize> = (0..10).map(|i| c.times(i)).collect();
        assert_eq!(times, [1, 1, 7, 7, 7, 1, 1, 1, 7, 1]);
        assert_eq!(c.equations.len(), 2);
    }
}
