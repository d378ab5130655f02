//! Activations, written down by what they are made of. Each has one kink for each that the function has.

use crate::onnx::call::{Call, Results, one};
use crate::onnx::error::{Fault, refuse};
use crease_core::op::Comparison;
use crease_core::{Atom, Kink, Op, Rational, Smooth};

pub fn relu(c: &mut Call<'_>) -> Results {
    let x = c.real(0)?;
    one(c.apply(Kink::Relu, &[x])?)
}

/// `x` where positive, else `slope * x`.
fn leaky(c: &mut Call<'_>, x: Atom, slope: Rational) -> Result<Atom, Fault> {
    if slope < Rational::ONE {
        return c.apply(Kink::LeakyRelu(slope), &[x]);
    }
    if slope.is_one() {
        return Ok(x);
    }
    // the kink bends the other way
    let (bend, slope) = (c.b.constant(Rational::ONE - &slope), c.b.constant(slope));
    let bent = c.apply(Kink::Relu, &[x])?;
    let (bent, straight) = (c.apply(Op::Mul, &[bent, bend])?, c.apply(Op::Mul, &[x, slope])?);
    c.apply(Op::Add, &[straight, bent])
}

pub fn leaky_relu(c: &mut Call<'_>) -> Results {
    let (x, slope) = (c.real(0)?, c.exact("alpha", f64::from(0.01f32))?);
    one(leaky(c, x, slope)?)
}

/// `x` above a threshold, 0 up to it: it jumps there unless the threshold is 0.
pub fn thresholded(c: &mut Call<'_>) -> Results {
    let (x, threshold) = (c.real(0)?, c.exact("alpha", 1.0)?);
    if threshold.is_zero() {
        return one(c.apply(Kink::Relu, &[x])?);
    }
    let (threshold, zero) = (c.b.constant(threshold), c.constant(0.0)?);
    let above = c.apply(Op::Compare(Comparison::Greater), &[x, threshold])?;
    one(c.apply(Op::Where, &[above, x, zero])?)
}

/// The slope below 0 is an argument: `slope * x + (1 - slope) * relu(x)`.
pub fn prelu(c: &mut Call<'_>) -> Results {
    let (x, slope) = (c.real(0)?, c.real(1)?);
    let slope = c.spread(slope, &c.shape(x))?;
    let unit = c.constant(1.0)?;
    let bend = c.apply(Op::Sub, &[unit, slope])?;
    let bent = c.apply(Kink::TimesRelu, &[bend, x])?;
    let straight = c.apply(Op::Mul, &[slope, x])?;
    one(c.apply(Op::Add, &[straight, bent])?)
}

/// `x` where positive, else `scale * (exp(x) - 1)`.
fn exponential(c: &mut Call<'_>, x: Atom, scale: Rational) -> Result<Atom, Fault> {
    if scale.is_positive() {
        return c.apply(Kink::Elu(scale), &[x]);
    }
    let positive = c.apply(Kink::Relu, &[x])?;
    if scale.is_zero() {
        return Ok(positive);
    }
    let negative = c.apply(Op::Sub, &[x, positive])?;
    let (grown, unit, scale) = (c.apply(Smooth::Exp, &[negative])?, c.constant(1.0)?, c.b.constant(scale));
    let grown = c.apply(Op::Sub, &[grown, unit])?;
    let grown = c.apply(Op::Mul, &[grown, scale])?;
    c.apply(Op::Add, &[positive, grown])
}

pub fn elu(c: &mut Call<'_>) -> Results {
    let (x, scale) = (c.real(0)?, c.exact("alpha", 1.0)?);
    one(exponential(c, x, scale)?)
}

pub fn selu(c: &mut Call<'_>) -> Results {
    let x = c.real(0)?;
    let alpha = c.exact("alpha", 1.673_263_192_176_818_8)?;
    let gamma = c.exact("gamma", 1.050_701_022_148_132_3)?;
    let bent = exponential(c, x, alpha)?;
    let gamma = c.b.constant(gamma);
    one(c.apply(Op::Mul, &[bent, gamma])?)
}

/// `x` where positive, else `alpha * (exp(x / alpha) - 1)`.
pub fn celu(c: &mut Call<'_>) -> Results {
    let (x, alpha) = (c.real(0)?, c.exact("alpha", 1.0)?);
    if !alpha.is_positive() {
        return refuse(format!("alpha is {alpha}; it must be positive"));
    }
    if alpha.is_one() {
        return one(exponential(c, x, alpha)?);
    }
    let (inverse, alpha) = (c.b.constant(alpha.inv().unwrap_or(Rational::ONE)), c.b.constant(alpha));
    let shrunk = c.apply(Op::Mul, &[x, inverse])?;
    let bent = exponential(c, shrunk, Rational::ONE)?;
    one(c.apply(Op::Mul, &[bent, alpha])?)
}

/// `alpha * x + beta` between 0 and 1.
fn ramp(c: &mut Call<'_>, x: Atom, alpha: Rational, beta: Rational) -> Result<Atom, Fault> {
    let (alpha, beta) = (c.b.constant(alpha), c.b.constant(beta));
    let line = c.apply(Op::Mul, &[x, alpha])?;
    let line = c.apply(Op::Add, &[line, beta])?;
    let (zero, unit) = (c.constant(0.0)?, c.constant(1.0)?);
    let positive = c.at_least(line, zero)?;
    c.at_most(positive, unit)
}

pub fn hard_sigmoid(c: &mut Call<'_>) -> Results {
    let (alpha, beta) = (c.exact("alpha", f64::from(0.2f32))?, c.exact("beta", 0.5)?);
    let x = c.real(0)?;
    one(ramp(c, x, alpha, beta)?)
}

pub fn hard_swish(c: &mut Call<'_>) -> Results {
    let x = c.real(0)?;
    let (sixth, half) = (Rational::new(1, 6).unwrap_or_default(), Rational::new(1, 2).unwrap_or_default());
    let ramp = ramp(c, x, sixth, half)?;
    one(c.apply(Op::Mul, &[x, ramp])?)
}

pub fn softsign(c: &mut Call<'_>) -> Results {
    let x = c.real(0)?;
    one(c.b.softsign(x)?)
}

pub fn mish(c: &mut Call<'_>) -> Results {
    let x = c.real(0)?;
    one(c.b.mish(x)?)
}

pub fn swish(c: &mut Call<'_>) -> Results {
    let (x, alpha) = (c.real(0)?, c.exact("alpha", 1.0)?);
    let alpha = c.b.constant(alpha);
    let steep = c.apply(Op::Mul, &[x, alpha])?;
    let gate = c.apply(Smooth::Sigmoid, &[steep])?;
    one(c.apply(Op::Mul, &[x, gate])?)
}

/// `x` times the normal distribution function of x, or its approximation with a hyperbolic tangent.
pub fn gelu(c: &mut Call<'_>) -> Results {
    let x = c.real(0)?;
    match c.word("approximate", "none")?.as_str() {
        "none" => one(c.b.gelu(x)?),
        "tanh" => one(c.b.gelu_tanh(x)?),
        other => refuse(format!("approximate = {other} is not supported; none and tanh are")),
    }
}
