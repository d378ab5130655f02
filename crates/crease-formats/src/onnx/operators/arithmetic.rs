//! Arithmetic and smooth functions, element by element.

use super::mask;
use crate::onnx::call::{Call, Results, one, rational, together};
use crate::onnx::error::{Fault, refuse};
use crate::onnx::values::{Data, Known, Value};
use crease_core::op::Comparison;
use crease_core::{Atom, Kink, Lane, Op, Rational, Smooth, Stair};

/// The arguments as atoms, for an operation that spreads them over one another. A single known number is a constant of the table where the others
/// have the shape of the result, since constants fit everywhere.
pub(super) fn operands(c: &mut Call<'_>) -> Result<Vec<Atom>, Fault> {
    let values = (0..c.args.len()).map(|i| c.need(i)).collect::<Result<Vec<_>, _>>()?;
    let mut all: Vec<usize> = Vec::new();
    for v in &values {
        all = together(&all, &v.dims(c.b))?;
    }
    let whole = values.iter().any(|v| matches!(v, Value::Real(_)) && v.dims(c.b) == all);
    let mut atoms = Vec::new();
    for v in &values {
        atoms.push(match v {
            Value::Known(Known { data: Data::Float(d), .. }) if whole && d.len() == 1 => c.constant(d[0])?,
            // beside computed numbers, integers and truth values are numbers
            Value::Known(k) => c.atom(&Value::Known(k.numbers().unwrap_or_else(|| k.clone())))?,
            _ => c.atom(v)?,
        });
    }
    Ok(atoms)
}

fn binary(c: &mut Call<'_>, op: Op) -> Results {
    let args = operands(c)?;
    one(c.apply(op, &args)?)
}

pub(super) fn unary(c: &mut Call<'_>, op: impl Into<Op>) -> Results {
    let x = c.real(0)?;
    one(c.apply(op, &[x])?)
}

pub fn add(c: &mut Call<'_>) -> Results {
    let (a, b) = (c.need(0)?, c.need(1)?);
    if mask::is_masked(&a) || mask::is_masked(&b) {
        return mask::result(mask::sum(c, a, b)?);
    }
    binary(c, Op::Add)
}

pub fn sub(c: &mut Call<'_>) -> Results {
    binary(c, Op::Sub)
}

pub fn mul(c: &mut Call<'_>) -> Results {
    binary(c, Op::Mul)
}

pub fn div(c: &mut Call<'_>) -> Results {
    if c.is_whole(0) || c.is_whole(1) {
        let args = operands(c)?;
        let ratio = c.apply(Op::Div, &args)?;
        return one(truncated(c, ratio)?);
    }
    binary(c, Op::Div)
}

/// The integer next to a number on the side of 0.
pub(super) fn truncated(c: &mut Call<'_>, x: Atom) -> Result<Atom, Fault> {
    let zero = c.constant(0.0)?;
    let negative = c.apply(Op::Compare(Comparison::Less), &[x, zero])?;
    let (below, above) = (c.apply(Stair::Floor, &[x])?, c.apply(Stair::Ceil, &[x])?);
    c.apply(Op::Where, &[negative, above, below])
}

pub fn abs(c: &mut Call<'_>) -> Results {
    unary(c, Kink::Abs)
}

pub fn neg(c: &mut Call<'_>) -> Results {
    unary(c, Op::Neg)
}

/// Functions of one number that the table of smooth functions has.
macro_rules! smooth {
    ($($name:ident $f:ident)*) => {$(
        pub fn $name(c: &mut Call<'_>) -> Results {
            unary(c, Smooth::$f)
        }
    )*};
}

smooth! {
    acos Acos
    acosh Acosh
    asin Asin
    asinh Asinh
    atan Atan
    atanh Atanh
    cos Cos
    cosh Cosh
    erf Erf
    exp Exp
    log Log
    reciprocal Inv
    sigmoid Sigmoid
    sin Sin
    sinh Sinh
    softplus Softplus
    sqrt Sqrt
    tan Tan
    tanh Tanh
}

/// The largest or smallest of all arguments.
fn extreme(c: &mut Call<'_>, kink: Kink) -> Results {
    if c.args.len() == 1 {
        return Ok(vec![c.need(0)?]);
    }
    let args = operands(c)?;
    let mut dims = Vec::new();
    for &a in &args {
        dims = together(&dims, &c.shape(a))?;
    }
    let args = args.iter().map(|&a| if a.value().is_none() { Ok(a) } else { c.spread(a, &dims) });
    let args = args.collect::<Result<Vec<_>, _>>()?;
    one(c.b.lane(&kink, &args)?[0])
}

pub fn max(c: &mut Call<'_>) -> Results {
    extreme(c, Kink::Max(Lane::Args))
}

pub fn min(c: &mut Call<'_>) -> Results {
    extreme(c, Kink::Min(Lane::Args))
}

fn total(c: &mut Call<'_>) -> Result<Atom, Fault> {
    let args = operands(c)?;
    let mut sum = args[0];
    for &a in &args[1..] {
        sum = c.apply(Op::Add, &[sum, a])?;
    }
    Ok(sum)
}

pub fn sum(c: &mut Call<'_>) -> Results {
    one(total(c)?)
}

pub fn mean(c: &mut Call<'_>) -> Results {
    let (sum, n) = (total(c)?, c.args.len() as i64);
    let share = Rational::new(1, n).unwrap_or(Rational::ONE);
    let share = c.b.constant(share);
    one(if n == 1 { sum } else { c.apply(Op::Mul, &[sum, share])? })
}

/// `x` between two bounds, either of which may be left out: parameters up to version 10, arguments from then on.
pub fn clip(c: &mut Call<'_>) -> Results {
    let (low, high) = if c.opset < 11 {
        let bound = |name: &str| if c.has(name) { c.float(name, 0.0).map(Some) } else { Ok(None) };
        (bound("min")?, bound("max")?)
    } else {
        (c.fixed_number(1, "min")?, c.fixed_number(2, "max")?)
    };
    if low.is_some_and(f64::is_nan) || high.is_some_and(f64::is_nan) {
        return refuse("a bound is NaN");
    }
    // infinite bounds, and the largest floats which old exporters write for them, bound nothing
    let bounds = |x: &f64| x.abs() < f64::from(f32::MAX);
    let mut y = c.real(0)?;
    if let Some(low) = low.filter(bounds) {
        let low = c.constant(low)?;
        y = c.at_least(y, low)?;
    }
    if let Some(high) = high.filter(bounds) {
        let high = c.constant(high)?;
        y = c.at_most(y, high)?;
    }
    one(y)
}

/// `x` to a constant power.
pub fn pow(c: &mut Call<'_>) -> Results {
    let Some(exponent) = c.fixed(1, "exponent")? else { return refuse("it has no exponent") };
    let numbers = exponent.as_floats().unwrap_or_default();
    let (Some(&k), dims) = (numbers.first(), exponent.dims.clone()) else { return refuse("it has no exponent") };
    if numbers.iter().any(|&n| n != k) {
        return refuse("exponents that differ from element to element are not supported");
    }
    let x = c.real(0)?;
    let all = together(&c.shape(x), &dims)?;
    let x = c.spread(x, &all)?;
    one(real_power(c, x, k)?)
}

/// A power: one operation where its exponent is a fraction of 32 bits, else by exponential and logarithm, which is for positive numbers.
pub fn real_power(c: &mut Call<'_>, x: Atom, k: f64) -> Result<Atom, Fault> {
    if k == 0.0 {
        let n = c.b.shape(x).len();
        c.budget.spend(n)?;
        return Known::floats(c.shape(x), vec![1.0; n]).atom(c.b);
    }
    let k = rational(k)?;
    match Smooth::power_of(&k) {
        Some(Smooth::Power(1)) => Ok(x),
        Some(Smooth::Power(-1)) => c.apply(Smooth::Inv, &[x]),
        _ => Ok(c.b.power_of(x, &k)?),
    }
}
