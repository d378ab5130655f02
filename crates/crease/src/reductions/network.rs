//! Linear ReLU networks with skip connections: the paper's equation (linear ReLU network) in Appendix D.1.
//!
//! `F(x) = M_L Φ_{L-1}(M_{L-1} Φ_{L-2}(... Φ_1(M_1 x)))`, with matrices over {-1, 0, 1} and, for each coordinate of each layer, the
//! identity or ReLU. Matrices enter; numbers, or a program over D0 = {+, -, ReLU}, leave. The way from a program to a network is
//! in [`from_program`](super::from_program).
//!
//! Deliberately absent: biases and other weights, which the theorem does without. For networks with weights to be learned, see
//! [`networks`](crate::networks).

use super::{ReductionError, SignMatrix, declare};
use crease_core::number::Number;
use crease_core::{Atom, BuildError, Builder, Program};

/// A layer of a [`ReluNetwork`]: a matrix, and which coordinates of its product go through ReLU.
///
/// ```
/// use crease::reductions::{Layer, SignMatrix};
/// let m = SignMatrix::new(1, [vec![(0, 1)], vec![(0, -1)]])?;
/// let layer = Layer::new(m, vec![true, false])?;
/// assert_eq!((layer.width(), layer.relus()), (2, 1));
/// # Ok::<(), crease::reductions::ReductionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    matrix: SignMatrix,
    relu: Vec<bool>,
}

impl Layer {
    /// A layer from its matrix and, for each row, whether ReLU is applied; else it is the identity.
    ///
    /// ```
    /// use crease::reductions::{Layer, SignMatrix};
    /// let m = SignMatrix::new(1, [vec![(0, 1)]])?;
    /// let error = Layer::new(m, vec![true, true]).unwrap_err();
    /// assert_eq!(error.to_string(), "the number of activations must be 1, got 2");
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn new(matrix: SignMatrix, relu: Vec<bool>) -> Result<Self, ReductionError> {
        if relu.len() != matrix.rows() {
            let (expected, got) = (matrix.rows(), relu.len());
            return Err(ReductionError::Fit { what: "the number of activations", expected, got });
        }
        Ok(Layer { matrix, relu })
    }

    /// The matrix.
    ///
    /// ```
    /// use crease::reductions::max_network;
    /// assert_eq!(max_network(1)?.layers()[0].matrix().entries(), 4);
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn matrix(&self) -> &SignMatrix {
        &self.matrix
    }

    /// Which coordinates go through ReLU.
    ///
    /// ```
    /// use crease::reductions::max_network;
    /// assert_eq!(max_network(1)?.layers()[0].relu(), [true; 3]);
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn relu(&self) -> &[bool] {
        &self.relu
    }

    /// The number of coordinates: the paper's p_i.
    ///
    /// ```
    /// use crease::reductions::max_network;
    /// assert_eq!(max_network(3)?.layers()[0].width(), 12);
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn width(&self) -> usize {
        self.relu.len()
    }

    /// The number of coordinates that go through ReLU.
    ///
    /// ```
    /// use crease::reductions::max_network;
    /// assert_eq!(max_network(3)?.layers()[2].relus(), 3);
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn relus(&self) -> usize {
        self.relu.iter().filter(|&&r| r).count()
    }
}

/// A linear ReLU network with skip connections. See the [module](super).
///
/// ```
/// use crease::reductions::{Layer, ReluNetwork, SignMatrix};
/// // relu(x) - relu(-x)
/// let layer = Layer::new(SignMatrix::new(1, [vec![(0, 1)], vec![(0, -1)]])?, vec![true, true])?;
/// let identity = ReluNetwork::new(vec![layer], SignMatrix::new(2, [vec![(0, 1), (1, -1)]])?)?;
/// assert_eq!(identity.evaluate(&[-3.0])?, -3.0);
/// assert_eq!(identity.program()?.to_string(), "program F(x1) {
///   let v1 = relu(x1)
///   let v2 = -x1
///   let v3 = relu(v2)
///   let v4 = v1 - v3
///   return v4
/// }
/// ");
/// # Ok::<(), crease::reductions::ReductionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReluNetwork {
    layers: Vec<Layer>,
    last: SignMatrix,
}

impl ReluNetwork {
    /// A network from its layers and its last matrix M_L, which has one row. There may be no layer at all.
    ///
    /// ```
    /// use crease::reductions::{ReluNetwork, SignMatrix};
    /// let difference = ReluNetwork::new(vec![], SignMatrix::new(2, [vec![(0, 1), (1, -1)]])?)?;
    /// assert_eq!(difference.evaluate(&[5.0, 3.0])?, 2.0);
    /// assert!(ReluNetwork::new(vec![], SignMatrix::new(2, [vec![], vec![]])?).is_err());
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn new(layers: Vec<Layer>, last: SignMatrix) -> Result<Self, ReductionError> {
        if last.rows() != 1 {
            return Err(ReductionError::Fit { what: "the number of rows of M_L", expected: 1, got: last.rows() });
        }
        let matrices = layers.iter().map(|l| &l.matrix).chain([&last]).skip(1);
        for (before, after) in layers.iter().zip(matrices) {
            let (expected, got) = (before.width(), after.columns());
            if expected != got {
                return Err(ReductionError::Fit { what: "the number of columns of the next matrix", expected, got });
            }
        }
        Ok(ReluNetwork { layers, last })
    }

    /// The number of inputs: the paper's p.
    ///
    /// ```
    /// use crease::reductions::max_network;
    /// assert_eq!(max_network(4)?.inputs(), 16);
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn inputs(&self) -> usize {
        self.layers.first().map_or(&self.last, |l| &l.matrix).columns()
    }

    /// The layers: M_1 and Φ_1 to M_{L-1} and Φ_{L-1}.
    ///
    /// ```
    /// use crease::reductions::max_network;
    /// let widths: Vec<usize> = max_network(4)?.layers().iter().map(|l| l.width()).collect();
    /// assert_eq!(widths, [24, 12, 6, 3]);
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The last matrix, M_L, which has one row.
    ///
    /// ```
    /// use crease::reductions::max_network;
    /// assert!(max_network(4)?.last().row(0).eq([(0, 1), (1, 1), (2, -1)]));
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn last(&self) -> &SignMatrix {
        &self.last
    }

    /// The number of layers that apply ReLU to some coordinate.
    ///
    /// ```
    /// use crease::reductions::max_network;
    /// assert_eq!(max_network(4)?.relu_layers(), 4);
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn relu_layers(&self) -> usize {
        self.layers.iter().filter(|l| l.relus() > 0).count()
    }

    /// The number of ReLUs.
    ///
    /// ```
    /// use crease::reductions::max_network;
    /// assert_eq!(max_network(2)?.relus(), 9);
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn relus(&self) -> usize {
        self.layers.iter().map(Layer::relus).sum()
    }

    /// The number of entries of all matrices that are not 0: what is kept in memory.
    ///
    /// ```
    /// use crease::reductions::max_network;
    /// assert_eq!(max_network(1)?.entries(), 4 + 3);
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn entries(&self) -> usize {
        self.layers.iter().map(|l| l.matrix.entries()).sum::<usize>() + self.last.entries()
    }

    /// The paper's size, the number of free parameters: `p_{L-1} + sum_{i < L} p_i p_{i-1} + p_i`, entries that are 0 included.
    ///
    /// ```
    /// use crease::reductions::max_network;
    /// // A is 3 x 2, there are 3 activations, and B is 1 x 3
    /// assert_eq!(max_network(1)?.size(), 6 + 3 + 3);
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn size(&self) -> u128 {
        let layer = |l: &Layer| (l.matrix.columns() as u128 + 1) * l.width() as u128;
        self.layers.iter().map(layer).sum::<u128>() + self.last.columns() as u128
    }

    /// The value at a point.
    ///
    /// ```
    /// use crease::{reductions::max_network, Rational};
    /// let x: Vec<Rational> = [1, -2, 7, 7].map(Rational::from).into();
    /// assert_eq!(max_network(2)?.evaluate(&x)?, Rational::from(7));
    /// assert_eq!(max_network(2)?.evaluate(&[0.5, -1.0, 0.25, 0.0])?, 0.5);
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn evaluate<N: Number>(&self, x: &[N]) -> Result<N, ReductionError> {
        if x.len() != self.inputs() {
            return Err(ReductionError::Fit { what: "the number of inputs", expected: self.inputs(), got: x.len() });
        }
        let mut at = x.to_vec();
        for layer in &self.layers {
            at = layer.matrix.times(&at)?;
            for (y, _) in at.iter_mut().zip(&layer.relu).filter(|(_, relu)| **relu) {
                *y = y.relu()?;
            }
        }
        Ok(self.last.times(&at)?.swap_remove(0))
    }

    /// The network as a program over D0, the paper's naive implementation: one ReLU for each of the network's, and a row of t
    /// entries as t - 1 additions and subtractions, or t if all are -1. It costs at most [`size`](Self::size). Inputs are
    /// `x1`, ..., `xp`. A coordinate whose row is 0 is the number 0, and costs nothing.
    ///
    /// ```
    /// use crease::{dictionary::{outside, Dictionary}, reductions::max_network};
    /// let p = max_network(1)?.program()?;
    /// assert!(outside(&p, Dictionary::D0).is_empty());
    /// assert_eq!(p.to_string(), "program F(x1, x2) {
    ///   let v2 = x1 - x2
    ///   let v3 = relu(v2)
    ///   let v4 = relu(x2)
    ///   let v5 = -x2
    ///   let v6 = relu(v5)
    ///   let v7 = v3 + v4
    ///   let v8 = v7 - v6
    ///   return v8
    /// }
    /// ");
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn program(&self) -> Result<Program, ReductionError> {
        let mut b = Builder::new("F");
        // nothing stands for the number 0
        let mut at: Vec<Option<Atom>> = declare(&mut b, self.inputs())?.into_iter().map(Some).collect();
        for layer in &self.layers {
            let mut next = Vec::with_capacity(layer.width());
            for (i, &relu) in layer.relu.iter().enumerate() {
                let sum = combination(&mut b, layer.matrix.row(i), &at)?;
                next.push(match sum {
                    Some(sum) if relu => Some(b.relu(sum)?),
                    other => other,
                });
            }
            at = next;
        }
        let output = match combination(&mut b, self.last.row(0), &at)? {
            Some(output) => output,
            None => b.constant(0),
        };
        Ok(b.finish(&[output])?)
    }
}

/// A row of a matrix applied to values; nothing if it is 0.
fn combination(
    b: &mut Builder,
    row: impl Iterator<Item = (usize, i8)>,
    at: &[Option<Atom>],
) -> Result<Option<Atom>, BuildError> {
    let mut terms: Vec<(Atom, bool)> = row.filter_map(|(column, entry)| Some((at[column]?, entry < 0))).collect();
    // beginning with a term that is added saves a negation
    if let Some(first) = terms.iter().position(|(_, negative)| !negative) {
        terms[..=first].rotate_right(1);
    }
    let mut terms = terms.into_iter();
    let Some((first, negative)) = terms.next() else { return Ok(None) };
    let first = if negative { b.neg(first)? } else { first };
    let sum = terms.try_fold(first, |sum, (x, negative)| if negative { b.sub(sum, x) } else { b.add(sum, x) })?;
    Ok(Some(sum))
}
