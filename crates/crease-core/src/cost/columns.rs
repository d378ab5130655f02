//! The columns that forward mode carries along, one for each scalar input: counting without them.
//!
//! All columns are treated alike: an equation on tangents does to every column what it does to one, and which elements are constants does
//! not depend on the column, because seeds are constants throughout. So a derived program whose tangents have one column stands for that
//! with any number of them: its equations on tangents count so many times, all others once. That is how a program is
//! counted whose tangents are too large to be emitted, and the tally is the same to the last operation.

use std::ops::Range;

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
