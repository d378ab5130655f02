//! The paper's lemma on maxima (Appendix D.5), layer by layer: `max(a, b) = relu(a - b) + relu(b) - relu(-b)`.
//!
//! Rows over the last layer that is there enter in pairs, rows over the next layer leave, half as many. [`max_network`] is the
//! lemma; [`sat_network`](super::sat_network) uses the same steps for its clauses and for the minimum over them.

use super::ReductionError;
use super::matrix::{Row, SignMatrix};
use super::network::{Layer, ReluNetwork};

/// The largest k: beyond it, 2^k inputs make networks of many hundred megabytes.
pub(super) const MAX_EXPONENT: u32 = 16;

/// The maximum of 2^k numbers as a linear ReLU network: k ReLU layers with 3 2^(k-1), ..., 6, 3 coordinates and weights -1, 0, 1.
/// `max_by_relu` in the crate `crease-paper` is the same as a program with dense matrices.
///
/// ```
/// use crease::reductions::max_network;
/// let max = max_network(3)?;
/// assert_eq!(max.evaluate(&[-4.0, -1.0, -3.0, -2.0, -8.0, -5.0, -7.0, -6.0])?, -1.0);
/// let widths: Vec<usize> = max.layers().iter().map(|l| l.width()).collect();
/// assert_eq!(widths, [12, 6, 3]);
/// assert!(max_network(0).is_err());
/// # Ok::<(), crease::reductions::ReductionError>(())
/// ```
pub fn max_network(k: u32) -> Result<ReluNetwork, ReductionError> {
    if !(1..=MAX_EXPONENT).contains(&k) {
        return Err(ReductionError::Exponent { k });
    }
    let mut wiring = Wiring::new(1 << k);
    let inputs = (0..1 << k).map(|i| vec![(i, 1)]).collect();
    let max = wiring.max(inputs)?;
    wiring.finish(&max)
}

/// A network in the making: layers that are done, and one that is not.
pub(super) struct Wiring {
    layers: Vec<Layer>,
    matrix: SignMatrix,
    relu: Vec<bool>,
}

impl Wiring {
    pub fn new(inputs: usize) -> Self {
        Wiring { layers: Vec::new(), matrix: SignMatrix::empty(inputs), relu: Vec::new() }
    }

    /// Adds a coordinate to the layer in the making, a row over the layer before; returns its row over this one.
    pub fn coordinate(&mut self, row: &Row, relu: bool) -> Row {
        self.matrix.push(row);
        self.relu.push(relu);
        vec![(self.relu.len() - 1, 1)]
    }

    /// Ends the layer in the making.
    pub fn close(&mut self) -> Result<(), ReductionError> {
        let next = SignMatrix::empty(self.relu.len());
        let matrix = std::mem::replace(&mut self.matrix, next);
        self.layers.push(Layer::new(matrix, std::mem::take(&mut self.relu))?);
        Ok(())
    }

    pub fn finish(mut self, last: &Row) -> Result<ReluNetwork, ReductionError> {
        self.matrix.push(last);
        ReluNetwork::new(self.layers, self.matrix)
    }

    /// The maxima of neighbours, by coordinates of the layer in the making. A last one without neighbour is none.
    pub fn halve(&mut self, group: &[Row]) -> Result<Vec<Row>, ReductionError> {
        group.chunks_exact(2).map(|pair| self.larger(&pair[0], &pair[1])).collect()
    }

    /// The maximum of all of a group of 2^k, by k layers.
    pub fn max(&mut self, mut group: Vec<Row>) -> Result<Row, ReductionError> {
        while group.len() > 1 {
            group = self.halve(&group)?;
            self.close()?;
        }
        Ok(group.pop().unwrap_or_default())
    }

    fn larger(&mut self, a: &Row, b: &Row) -> Result<Row, ReductionError> {
        let minus = negated(b);
        let numbers: Vec<usize> = if *a == minus {
            // a - b would be 2 a, which is no row over {-1, 0, 1}; but max(a, -a) = relu(a) + relu(-a)
            [a, b].map(|row| self.coordinate(row, true)[0].0).into()
        } else {
            let rows = [difference(a, b)?, b.clone(), minus];
            rows.iter().map(|row| self.coordinate(row, true)[0].0).collect()
        };
        Ok(numbers.into_iter().zip([1, 1, -1]).collect())
    }
}

/// A row times -1.
pub(super) fn negated(row: &Row) -> Row {
    row.iter().map(|&(column, entry)| (column, -entry)).collect()
}

fn difference(a: &Row, b: &Row) -> Result<Row, ReductionError> {
    let wide = |(column, entry): (usize, i8)| (column, i64::from(entry));
    let entries: Vec<(usize, i64)> = a.iter().copied().chain(negated(b)).map(wide).collect();
    let columns = entries.iter().map(|e| e.0 + 1).max().unwrap_or(0);
    Ok(SignMatrix::new(columns, [entries])?.row(0).collect())
}
