//! Tensors of numbers: what goes into a run and what comes out.

use crate::number::{Number, NumberError, Rational};
use crate::shape::{Shape, ShapeError};
use std::fmt;

/// A tensor of numbers in row-major order.
///
/// ```
/// use crease_core::{Shape, Tensor};
/// let t = Tensor::vector(vec![1.0, 2.0]).unwrap();
/// assert_eq!(t.to_string(), "[1, 2]");
/// assert_eq!(Tensor::scalar(3.0).data(), [3.0]);
/// assert!(Tensor::new(Shape::new([2, 2]).unwrap(), vec![0.0]).is_none());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<N> {
    shape: Shape,
    data: Vec<N>,
}

impl<N> Tensor<N> {
    /// A tensor from its elements; nothing if their number does not fit the shape.
    pub fn new(shape: Shape, data: Vec<N>) -> Option<Self> {
        (shape.len() == data.len()).then_some(Tensor { shape, data })
    }

    /// A single number.
    pub fn scalar(x: N) -> Self {
        Tensor { shape: Shape::scalar(), data: vec![x] }
    }

    /// A vector; at least one element.
    pub fn vector(data: Vec<N>) -> Result<Self, ShapeError> {
        Ok(Tensor { shape: Shape::vector(data.len())?, data })
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The elements in row-major order.
    pub fn data(&self) -> &[N] {
        &self.data
    }

    /// The elements in row-major order, owned.
    pub fn into_data(self) -> Vec<N> {
        self.data
    }

    /// The same tensor with every element replaced.
    pub fn map<M>(&self, f: impl FnMut(&N) -> M) -> Tensor<M> {
        Tensor { shape: self.shape.clone(), data: self.data.iter().map(f).collect() }
    }
}

impl Tensor<Rational> {
    /// The nearest tensor of another kind of numbers.
    pub fn convert<N: Number>(&self) -> Result<Tensor<N>, NumberError> {
        let data = self.data.iter().map(N::from_rational).collect::<Result<_, _>>()?;
        Ok(Tensor { shape: self.shape.clone(), data })
    }
}

impl<N: fmt::Display> fmt::Display for Tensor<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn part<N: fmt::Display>(f: &mut fmt::Formatter<'_>, dims: &[usize], data: &[N]) -> fmt::Result {
            let Some((&n, inner)) = dims.split_first() else { return write!(f, "{}", data[0]) };
            f.write_str("[")?;
            for (i, chunk) in data.chunks(data.len() / n).enumerate() {
                f.write_str(if i == 0 { "" } else { ", " })?;
                part(f, inner, chunk)?;
            }
            f.write_str("]")
        }
        part(f, self.shape.dims(), &self.data)
    }
}
