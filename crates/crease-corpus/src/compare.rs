//! When two results are the same.

use crease_core::{Number, Rational, Tensor};

/// A point in another kind of numbers. Panics where these have no such number.
pub fn convert<N: Number>(point: &[Tensor<Rational>]) -> Vec<Tensor<N>> {
    point.iter().map(|t| t.convert().expect("a number of this kind")).collect()
}

/// All numbers of some tensors, one after the other.
pub fn flat<N: Clone>(tensors: &[Tensor<N>]) -> Vec<N> {
    tensors.iter().flat_map(|t| t.data().to_vec()).collect()
}

/// All numbers of some tensors as doubles.
pub fn doubles<N: Number>(tensors: &[Tensor<N>]) -> Vec<f64> {
    tensors.iter().flat_map(|t| t.data().iter().map(Number::to_f64)).collect()
}

/// The inner product of two lists of tensors.
pub fn dot<N: Number>(a: &[Tensor<N>], b: &[Tensor<N>]) -> N {
    flat(a).iter().zip(flat(b)).fold(N::zero(), |s, (x, y)| s.add(&x.mul(&y)))
}

/// `point + step * direction`.
pub fn moved<N: Number>(point: &[Tensor<N>], step: &N, direction: &[Tensor<N>]) -> Vec<Tensor<N>> {
    let along = |(x, d): (&Tensor<N>, &Tensor<N>)| {
        let data = x.data().iter().zip(d.data()).map(|(x, d)| x.add(&step.mul(d))).collect();
        Tensor::new(x.shape().clone(), data).expect("the same shape")
    };
    point.iter().zip(direction).map(along).collect()
}

/// Several points or directions as one list of tensors with a leading axis.
pub fn stacked<N: Number>(points: &[Vec<Tensor<N>>]) -> Vec<Tensor<N>> {
    let along = |i: usize| {
        let data = points.iter().flat_map(|d| d[i].data().to_vec()).collect();
        let shape = points[0][i].shape().with_leading(points.len()).expect("not too large");
        Tensor::new(shape, data).expect("as many numbers")
    };
    (0..points[0].len()).map(along).collect()
}

/// Whether two numbers differ by no more than `tolerance`, relative to the larger one where that is above 1.
///
/// ```
/// use crease_corpus::compare::close;
/// assert!(close(1e6, 1e6 + 0.5, 1e-6) && !close(0.0, 1e-3, 1e-6));
/// ```
pub fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

/// Whether two lists of numbers are [`close`], element by element.
pub fn all_close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(*a, *b, tolerance))
}
