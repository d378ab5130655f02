//! Normalisation by means and variances, of the file or of the numbers themselves.

use super::arithmetic::real_power;
use super::product::scaled;
use super::window::stretches;
use crate::onnx::call::{Call, Results, one, rational};
use crate::onnx::error::{Fault, refuse};
use crate::onnx::values::{Known, Value};
use crease_core::{Atom, Layout, Op, Rational, Shape, Smooth};

/// `scale / sqrt(variance + epsilon)`: what is made of constants alone is a constant.
fn inverse_deviation(c: &mut Call<'_>, variance: Atom) -> Result<Atom, Fault> {
    let epsilon = c.exact("epsilon", f64::from(1e-5f32))?;
    let epsilon = c.b.constant(epsilon);
    let variance = c.apply(Op::Add, &[variance, epsilon])?;
    let deviation = c.apply(Smooth::Sqrt, &[variance])?;
    c.apply(Smooth::Inv, &[deviation])
}

/// A vector with one number for each channel, as a tensor that spreads over `[N, C, ...]`.
fn by_channel(c: &mut Call<'_>, a: Atom, rank: usize) -> Result<Atom, Fault> {
    let n = c.b.shape(a).len();
    let mut dims = vec![1; rank - 1];
    dims[0] = n;
    c.reshape(a, &dims)
}

/// The doubles next to `scale / sqrt(variance + epsilon)`, if both are constants.
fn factors(c: &mut Call<'_>) -> Result<Option<Vec<f64>>, Fault> {
    let numbers = |i: usize| c.arg(i).and_then(Value::known).and_then(Known::as_floats);
    let (Some(scale), Some(variance)) = (numbers(1), numbers(4)) else { return Ok(None) };
    if c.is_computed(2) || c.is_computed(3) {
        return Ok(None);
    }
    let epsilon = c.exact("epsilon", f64::from(1e-5f32))?;
    c.budget.spend(scale.len())?;
    let mut all = Vec::with_capacity(scale.len());
    for (channel, (&scale, &variance)) in scale.iter().zip(&variance).enumerate() {
        let square = rational(variance)? + &epsilon;
        if !square.is_positive() {
            return refuse(format!(
                "the variance of channel {channel} and epsilon are {square}; they must be positive"
            ));
        }
        match next_to(&rational(scale)?, &square) {
            Some(factor) => all.push(factor),
            None => return refuse(format!("the factor of channel {channel} leaves the doubles")),
        }
    }
    Ok(Some(all))
}

/// The double next to `scale / sqrt(square)`: between the middles to its neighbours, by exact comparison of squares.
fn next_to(scale: &Rational, square: &Rational) -> Option<f64> {
    let size = scale.abs();
    let mut near = size.to_f64() / square.to_f64().sqrt();
    let half = Rational::new(1, 2)?;
    // whether the quotient is above the middle of two doubles
    let above = |a: f64, b: f64| -> Option<bool> {
        let middle = (Rational::from_f64(a)? + Rational::from_f64(b)?) * &half;
        Some(&size * &size > &middle * &middle * square)
    };
    // floats are off by some units in the last place
    for _ in 0..8 {
        if above(near, near.next_up())? {
            near = near.next_up();
        } else if near > 0.0 && !above(near.next_down(), near)? {
            near = near.next_down();
        } else {
            return Some(if scale.is_negative() { -near } else { near });
        }
    }
    None
}

/// With the means and variances of the file: `(x - mean) * s + bias`, or where they are inputs `x * s + (bias - mean * s)`.
pub fn batch(c: &mut Call<'_>) -> Results {
    if c.flag("training_mode", false)? {
        return refuse("training_mode is not supported; export the model for inference");
    }
    if c.int("spatial", 1)? != 1 {
        return refuse("spatial = 0 is not supported; 1 is");
    }
    let x = c.real(0)?;
    let dims = c.shape(x);
    if dims.len() < 2 {
        return refuse(format!("it takes a shape [N, C, ...], not {dims:?}"));
    }
    for i in 1..5 {
        if c.dims(i)? != dims[1..2] {
            return refuse(format!("argument {} must have one number for each of {} channels", i + 1, dims[1]));
        }
    }
    if let Some(factors) = factors(c)? {
        // of constants only the factor is rounded, once: a network of such layers is exactly piecewise linear
        let (bias, mean) = (c.real(2)?, c.real(3)?);
        let factors = Known::floats(vec![dims[1]], factors).atom(c.b)?;
        let mean = by_channel(c, mean, dims.len())?;
        let factors = by_channel(c, factors, dims.len())?;
        let bias = by_channel(c, bias, dims.len())?;
        let y = c.apply(Op::Sub, &[x, mean])?;
        let y = c.apply(Op::Mul, &[y, factors])?;
        return one(c.apply(Op::Add, &[y, bias])?);
    }
    let (scale, bias, mean, variance) = (c.real(1)?, c.real(2)?, c.real(3)?, c.real(4)?);
    let inverse = inverse_deviation(c, variance)?;
    let scale = c.apply(Op::Mul, &[scale, inverse])?;
    let shift = c.apply(Op::Mul, &[mean, scale])?;
    let shift = c.apply(Op::Sub, &[bias, shift])?;
    let (scale, shift) = (by_channel(c, scale, dims.len())?, by_channel(c, shift, dims.len())?);
    let y = c.apply(Op::Mul, &[x, scale])?;
    one(c.apply(Op::Add, &[y, shift])?)
}

/// Takes the mean along some axes away, and divides by the deviation along them.
fn standard(c: &mut Call<'_>, x: Atom, axes: &[usize]) -> Result<Atom, Fault> {
    let dims = c.shape(x);
    let kept: Vec<usize> = (0..dims.len()).map(|i| if axes.contains(&i) { 1 } else { dims[i] }).collect();
    let mean = c.b.mean(x, axes)?;
    let mean = c.reshape(mean, &kept)?;
    let centred = c.apply(Op::Sub, &[x, mean])?;
    divided(c, centred, axes, &kept)
}

/// Divides by the root of the mean square along some axes.
fn divided(c: &mut Call<'_>, x: Atom, axes: &[usize], kept: &[usize]) -> Result<Atom, Fault> {
    let squares = c.apply(Op::Mul, &[x, x])?;
    let variance = c.b.mean(squares, axes)?;
    let inverse = inverse_deviation(c, variance)?;
    let inverse = c.reshape(inverse, kept)?;
    c.apply(Op::Mul, &[x, inverse])
}

fn last_axes(c: &Call<'_>, rank: usize) -> Result<Vec<usize>, Fault> {
    Ok((c.axis(c.int("axis", -1)?, rank)?..rank).collect())
}

pub fn layer(c: &mut Call<'_>) -> Results {
    let x = c.real(0)?;
    let axes = last_axes(c, c.shape(x).len())?;
    let y = standard(c, x, &axes)?;
    let scale = c.real(1)?;
    let mut y = c.apply(Op::Mul, &[y, scale])?;
    if c.arg(2).is_some() {
        let bias = c.real(2)?;
        y = c.apply(Op::Add, &[y, bias])?;
    }
    one(y)
}

pub fn rms(c: &mut Call<'_>) -> Results {
    let (x, scale) = (c.real(0)?, c.real(1)?);
    let dims = c.shape(x);
    let axes = last_axes(c, dims.len())?;
    let kept: Vec<usize> = (0..dims.len()).map(|i| if axes.contains(&i) { 1 } else { dims[i] }).collect();
    let y = divided(c, x, &axes, &kept)?;
    one(c.apply(Op::Mul, &[y, scale])?)
}

/// The scale and the bias of each channel.
fn affine(c: &mut Call<'_>, y: Atom, scale: Atom, bias: Atom) -> Results {
    let dims = c.shape(y);
    let (scale, bias) = (by_channel(c, scale, dims.len())?, by_channel(c, bias, dims.len())?);
    let y = c.apply(Op::Mul, &[y, scale])?;
    one(c.apply(Op::Add, &[y, bias])?)
}

fn images(c: &mut Call<'_>) -> Result<(Atom, Vec<usize>), Fault> {
    let x = c.real(0)?;
    let dims = c.shape(x);
    if dims.len() < 3 { refuse(format!("it takes a shape [N, C, ...], not {dims:?}")) } else { Ok((x, dims)) }
}

pub fn instance(c: &mut Call<'_>) -> Results {
    let (x, dims) = images(c)?;
    let axes: Vec<usize> = (2..dims.len()).collect();
    let y = standard(c, x, &axes)?;
    let (scale, bias) = (c.real(1)?, c.real(2)?);
    if c.shape(scale) != dims[1..2] || c.shape(bias) != dims[1..2] {
        return refuse(format!("its scale and bias must have one number for each of {} channels", dims[1]));
    }
    affine(c, y, scale, bias)
}

/// Groups of channels: scale and bias are those of groups in versions up to 20, of channels from then on.
pub fn group(c: &mut Call<'_>) -> Results {
    let (x, dims) = images(c)?;
    let groups = usize::try_from(c.int("num_groups", 0)?).unwrap_or(0);
    if groups == 0 || dims[1] % groups != 0 {
        return refuse(format!("{} channels cannot be put into num_groups = {groups}", dims[1]));
    }
    let each = dims[1] / groups;
    let apart = c.reshape(x, &[dims[0], groups, each * dims[2..].iter().product::<usize>()])?;
    let y = standard(c, apart, &[2])?;
    let y = c.reshape(y, &dims)?;
    let (mut scale, mut bias) = (c.real(1)?, c.real(2)?);
    let count = if c.opset < 21 { groups } else { dims[1] };
    if c.shape(scale) != [count] || c.shape(bias) != [count] {
        return refuse(format!("its scale and bias must have {count} numbers"));
    }
    if c.opset < 21 {
        for a in [&mut scale, &mut bias] {
            let repeated = Layout::strided(0, &[(groups, 1), (each, 0)]);
            *a = c.b.view(*a, repeated, Shape::vector(dims[1])?)?;
        }
    }
    affine(c, y, scale, bias)
}

/// Divides by a power of the sum of squares over neighbouring channels.
pub fn lrn(c: &mut Call<'_>) -> Results {
    let (x, dims) = images(c)?;
    let size = usize::try_from(c.int("size", 0)?).unwrap_or(0);
    if !(1..=1 << 20).contains(&size) {
        return refuse("its size must be positive");
    }
    let (alpha, beta) = (c.exact("alpha", f64::from(1e-4f32))?, c.float("beta", 0.75)?);
    let bias = rational(c.float("bias", 1.0)?)?;
    let squares = c.apply(Op::Mul, &[x, x])?;
    c.budget.spend(dims[1])?;
    // the channels that a channel sees are a window that is cut at both ends
    let along = super::window::Along {
        image: dims[1],
        size,
        stride: 1,
        dilation: 1,
        pads: ((size - 1) / 2, size - 1 - (size - 1) / 2),
        positions: dims[1],
    };
    let strides = super::structure::strides(&dims);
    let inner: usize = dims[2..].iter().product();
    let mut parts = Vec::new();
    for s in stretches(&along)? {
        let loops = [(dims[0], strides[0]), (s.count, strides[1]), (inner, 1), (s.seen, strides[1])];
        let seen = Shape::new([dims[0], s.count, inner, s.seen])?;
        let seen = c.b.view(squares, Layout::strided(s.from * inner, &loops), seen)?;
        let places = [(dims[0], strides[0]), (s.count, strides[1]), (inner, 1)];
        parts.push((c.b.sum(seen, &[3])?, Layout::strided(s.first * inner, &places)));
    }
    let total = c.b.assemble(Shape::new(dims)?, parts)?;
    let share = Rational::new(1, size as i64).unwrap_or(Rational::ONE);
    let grown = scaled(c, total, &(alpha * share))?;
    let bias = c.b.constant(bias);
    let below = c.apply(Op::Add, &[grown, bias])?;
    let below = real_power(c, below, beta)?;
    one(c.apply(Op::Div, &[x, below])?)
}
