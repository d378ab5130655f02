//! Random points, as exact rationals: [`Tensor::convert`] gives them in any other kind of numbers.

use super::Rng;
use crease_core::{Program, Rational, Tensor};

/// The largest coordinate that a random point has; the generated programs are made for it.
pub const RADIUS: i64 = 4;

/// A point without ties but those that the program forces: coordinates are distinct multiples of 1/1009.
///
/// Every coordinate is a rational that floating point cannot hold exactly, so nothing agrees by luck.
pub fn generic_point(rng: &mut Rng, p: &Program) -> Vec<Tensor<Rational>> {
    point(p, || {
        let n = rng.between(1, 1009 * RADIUS - 1);
        let n = if n % 1009 == 0 { n + 1 } else { n };
        Rational::new(if rng.once_in(2) { n } else { -n }, 1009).unwrap_or_default()
    })
}

/// A point without ties but those that the program forces, whose coordinates are multiples of 1/64: floating point
/// holds them exactly, and so it does all small sums and products of them.
pub fn dyadic_point(rng: &mut Rng, p: &Program) -> Vec<Tensor<Rational>> {
    point(p, || Rational::new(2 * rng.between(-32 * RADIUS, 32 * RADIUS - 1) + 1, 64).unwrap_or_default())
}

/// A point rich in ties: small integers and halves, often 0, often equal.
pub fn tied_point(rng: &mut Rng, p: &Program) -> Vec<Tensor<Rational>> {
    let halves = [0, 0, 0, 2, 2, -2, 4, -4, 1, -1];
    point(p, || Rational::new(*rng.pick(&halves), 2).unwrap_or_default())
}

/// The origin.
pub fn origin(p: &Program) -> Vec<Tensor<Rational>> {
    point(p, || Rational::ZERO)
}

fn point(p: &Program, mut coordinate: impl FnMut() -> Rational) -> Vec<Tensor<Rational>> {
    let tensor = |shape: &crease_core::Shape, coordinate: &mut dyn FnMut() -> Rational| {
        let data = (0..shape.len()).map(|_| coordinate()).collect();
        Tensor::new(shape.clone(), data).expect("as many elements as the shape has")
    };
    p.inputs().iter().map(|i| tensor(&i.shape, &mut coordinate)).collect()
}
