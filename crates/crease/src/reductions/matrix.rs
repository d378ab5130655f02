//! Matrices with entries -1, 0 and 1, of which only the others than 0 are stored.
//!
//! Deliberately absent: other entries. The paper's hardness needs none, and a program over D0 has none to say them with.

use super::ReductionError;
use crease_core::number::Number;

/// A row: columns in ascending order, each with 1 or -1.
pub(super) type Row = Vec<(usize, i8)>;

/// A sparse matrix with entries in {-1, 0, 1}.
///
/// ```
/// use crease::reductions::SignMatrix;
/// // the matrix A of the paper's lemma on maxima
/// let a = SignMatrix::new(2, [vec![(0, 1), (1, -1)], vec![(1, 1)], vec![(1, -1)]])?;
/// assert_eq!((a.rows(), a.columns(), a.entries()), (3, 2, 4));
/// assert_eq!(a.times(&[5.0, 3.0])?, [2.0, 3.0, -3.0]);
/// # Ok::<(), crease::reductions::ReductionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignMatrix {
    columns: usize,
    /// Where each row ends among the entries.
    ends: Vec<usize>,
    entries: Vec<(u32, i8)>,
}

impl SignMatrix {
    /// A matrix from its rows, each a list of columns and entries. Entries of 0 may be given, and several in one column are added.
    ///
    /// ```
    /// use crease::reductions::SignMatrix;
    /// let cancelled = SignMatrix::new(1, [vec![(0, 1), (0, -1)]])?;
    /// assert_eq!((cancelled.rows(), cancelled.entries()), (1, 0));
    /// assert_eq!(
    ///     SignMatrix::new(1, [vec![(0, 1), (0, 1)]]).unwrap_err().to_string(),
    ///     "the entry 2 in row 0, column 0: the weights of a linear ReLU network are -1, 0 and 1 \
    ///      (2 x is x + x, by a copy of x in the layer before)"
    /// );
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn new(columns: usize, rows: impl IntoIterator<Item = Vec<(usize, i64)>>) -> Result<Self, ReductionError> {
        let mut matrix = SignMatrix::empty(columns);
        for (row, mut entries) in rows.into_iter().enumerate() {
            entries.sort_unstable_by_key(|&(column, _)| column);
            let mut sum: Row = Vec::with_capacity(entries.len());
            for part in entries.chunk_by(|a, b| a.0 == b.0) {
                let column = part[0].0;
                if column >= columns || u32::try_from(column).is_err() {
                    return Err(ReductionError::Column { row, column, columns });
                }
                match part.iter().fold(0i64, |sum, &(_, entry)| sum.saturating_add(entry)) {
                    0 => {}
                    1 => sum.push((column, 1)),
                    -1 => sum.push((column, -1)),
                    entry => return Err(ReductionError::Entry { row, column, entry }),
                }
            }
            matrix.push(&sum);
        }
        Ok(matrix)
    }

    /// A matrix without rows.
    pub(super) fn empty(columns: usize) -> Self {
        SignMatrix { columns, ends: Vec::new(), entries: Vec::new() }
    }

    /// Adds a row, which must be one for this matrix.
    pub(super) fn push(&mut self, row: &Row) {
        self.entries.extend(row.iter().map(|&(column, entry)| (column as u32, entry)));
        self.ends.push(self.entries.len());
    }

    /// The number of rows.
    ///
    /// ```
    /// use crease::reductions::SignMatrix;
    /// assert_eq!(SignMatrix::new(3, [vec![], vec![(2, -1)]])?.rows(), 2);
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// The number of columns.
    ///
    /// ```
    /// use crease::reductions::SignMatrix;
    /// assert_eq!(SignMatrix::new(3, [vec![], vec![(2, -1)]])?.columns(), 3);
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of entries that are not 0.
    ///
    /// ```
    /// use crease::reductions::SignMatrix;
    /// assert_eq!(SignMatrix::new(3, [vec![(0, 0)], vec![(2, -1)]])?.entries(), 1);
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// The columns and entries of a row that are not 0, in ascending order. Panics if there is no such row.
    ///
    /// ```
    /// use crease::reductions::SignMatrix;
    /// let m = SignMatrix::new(3, [vec![(2, -1), (0, 1)]])?;
    /// assert!(m.row(0).eq([(0, 1), (2, -1)]));
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn row(&self, i: usize) -> impl ExactSizeIterator<Item = (usize, i8)> + '_ {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        self.entries[start..self.ends[i]].iter().map(|&(column, entry)| (column as usize, entry))
    }

    /// The product with a vector.
    ///
    /// ```
    /// use crease::{reductions::SignMatrix, Rational};
    /// let m = SignMatrix::new(2, [vec![(0, 1), (1, -1)]])?;
    /// assert_eq!(m.times(&[Rational::from(2), Rational::from(5)])?, [Rational::from(-3)]);
    /// assert!(m.times(&[Rational::ZERO]).is_err());
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn times<N: Number>(&self, x: &[N]) -> Result<Vec<N>, ReductionError> {
        if x.len() != self.columns {
            return Err(ReductionError::Fit { what: "the length of the vector", expected: self.columns, got: x.len() });
        }
        let add = |sum: N, (column, entry): (usize, i8)| match entry {
            1 => sum.add(&x[column]),
            _ => sum.sub(&x[column]),
        };
        Ok((0..self.rows()).map(|i| self.row(i).fold(N::zero(), add)).collect())
    }
}
