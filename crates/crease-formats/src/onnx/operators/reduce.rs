//! Sums, means, maxima and norms along axes; softmax.

use super::mask;
use crate::onnx::call::{Call, Results, one};
use crate::onnx::error::{Fault, refuse};
use crate::onnx::values::Value;
use crease_core::{Atom, Kink, Lane, Op, Smooth};

/// The axes that disappear: a parameter in old sets of operators, an argument in newer ones; all of them if none are named.
pub(in crate::onnx) fn axes_of(c: &Call<'_>, rank: usize) -> Result<Vec<usize>, Fault> {
    let since = if c.node.op_type() == "ReduceSum" { 13 } else { 18 };
    if c.opset < since && c.args.len() > 1 {
        return refuse(format!(
            "axes are an argument from version {since} of the operators on; this is version {}",
            c.opset
        ));
    }
    let axes = c.ints_of("axes", 1, since)?.unwrap_or_default();
    if axes.is_empty() {
        let nothing = c.opset >= since && c.flag("noop_with_empty_axes", false)?;
        return Ok(if nothing { Vec::new() } else { (0..rank).collect() });
    }
    c.axes(&axes, rank)
}

/// Reduces the axes by an operation on an atom and axes, and puts axes of size 1 in their places if they are to be kept.
pub(super) fn reduced(c: &mut Call<'_>, f: impl Fn(&mut Call<'_>, Atom, &[usize]) -> Result<Atom, Fault>) -> Results {
    let x = c.real(0)?;
    let dims = c.shape(x);
    let axes = axes_of(c, dims.len())?;
    let keep = c.flag("keepdims", true)?;
    let y = f(c, x, &axes)?;
    if !keep {
        return one(y);
    }
    let kept: Vec<usize> = (0..dims.len()).map(|i| if axes.contains(&i) { 1 } else { dims[i] }).collect();
    one(if kept.is_empty() { y } else { c.reshape(y, &kept)? })
}

fn add_up(c: &mut Call<'_>, x: Atom, axes: &[usize]) -> Result<Atom, Fault> {
    Ok(c.b.sum(x, axes)?)
}

/// An operation on groups; of single numbers, in which there are no axes, what that makes of one.
fn grouped(c: &mut Call<'_>, x: Atom, axes: &[usize], op: Op) -> Result<Atom, Fault> {
    match (axes, op) {
        ([], Op::Kink(Kink::Norm1(_) | Kink::Norm2(_))) => c.apply(Kink::Abs, &[x]),
        ([], _) => Ok(x),
        (axes, op) => c.lane(op, x, axes),
    }
}

fn squares(c: &mut Call<'_>, x: Atom, axes: &[usize]) -> Result<Atom, Fault> {
    let squared = c.apply(Op::Mul, &[x, x])?;
    add_up(c, squared, axes)
}

pub fn sum(c: &mut Call<'_>) -> Results {
    reduced(c, add_up)
}

pub fn mean(c: &mut Call<'_>) -> Results {
    reduced(c, |c, x, axes| Ok(c.b.mean(x, axes)?))
}

pub fn max(c: &mut Call<'_>) -> Results {
    reduced(c, |c, x, axes| grouped(c, x, axes, Op::Kink(Kink::Max(Lane::Axis))))
}

pub fn min(c: &mut Call<'_>) -> Results {
    reduced(c, |c, x, axes| grouped(c, x, axes, Op::Kink(Kink::Min(Lane::Axis))))
}

pub fn l1(c: &mut Call<'_>) -> Results {
    reduced(c, |c, x, axes| grouped(c, x, axes, Op::Kink(Kink::Norm1(Lane::Axis))))
}

pub fn l2(c: &mut Call<'_>) -> Results {
    reduced(c, |c, x, axes| grouped(c, x, axes, Op::Kink(Kink::Norm2(Lane::Axis))))
}

pub fn sum_square(c: &mut Call<'_>) -> Results {
    reduced(c, squares)
}

pub fn log_sum(c: &mut Call<'_>) -> Results {
    reduced(c, |c, x, axes| {
        let total = add_up(c, x, axes)?;
        c.apply(Smooth::Log, &[total])
    })
}

pub fn log_sum_exp(c: &mut Call<'_>) -> Results {
    let x = c.need(0)?;
    if mask::is_masked(&x) {
        let dims = x.dims(c.b);
        let axes = axes_of(c, dims.len())?;
        let keep = c.flag("keepdims", true)?;
        if axes.is_empty() {
            return Ok(vec![x]);
        }
        let y = mask::Rows::new(c, x, &axes)?.log_sum_exp(c)?;
        let kept = (0..dims.len()).filter(|i| keep || !axes.contains(i));
        let kept: Vec<usize> = kept.map(|i| if axes.contains(&i) { 1 } else { dims[i] }).collect();
        return one(c.reshape(y, &kept)?);
    }
    reduced(c, |c, x, axes| grouped(c, x, axes, Op::LogSumExp(Lane::Axis)))
}

/// The axes of a softmax: one from version 13 on, before that all axes from the given one on.
fn softmax_axes(c: &Call<'_>, rank: usize) -> Result<Vec<usize>, Fault> {
    if c.opset >= 13 {
        return Ok(vec![c.axis(c.int("axis", -1)?, rank)?]);
    }
    match c.int("axis", 1)? {
        axis if axis == rank as i64 => Ok(Vec::new()),
        axis => Ok((c.axis(axis, rank)?..rank).collect()),
    }
}

/// The groups of a softmax, if some of their numbers are minus infinity.
fn masked(c: &mut Call<'_>) -> Result<Option<mask::Rows>, Fault> {
    let x = c.need(0)?;
    if !mask::is_masked(&x) {
        return Ok(None);
    }
    let axes = softmax_axes(c, x.dims(c.b).len())?;
    Ok(Some(mask::Rows::new(c, x, &axes)?))
}

/// `x - log(sum(exp(x)))`.
fn logarithm(c: &mut Call<'_>) -> Result<Atom, Fault> {
    let x = c.real(0)?;
    let dims = c.shape(x);
    let axes = softmax_axes(c, dims.len())?;
    logarithm_of(c, x, &axes)
}

fn logarithm_of(c: &mut Call<'_>, x: Atom, axes: &[usize]) -> Result<Atom, Fault> {
    let dims = c.shape(x);
    let total = grouped(c, x, axes, Op::LogSumExp(Lane::Axis))?;
    let kept: Vec<usize> = (0..dims.len()).map(|i| if axes.contains(&i) { 1 } else { dims[i] }).collect();
    let total = c.reshape(total, &kept)?;
    c.apply(Op::Sub, &[x, total])
}

/// The softmax of a value along some axes; masked elements are 0.
pub fn softmax_along(c: &mut Call<'_>, x: Value, axes: &[usize]) -> Result<Value, Fault> {
    if mask::is_masked(&x) {
        return mask::softmax_of(c, x, axes);
    }
    let x = c.atom(&x)?;
    let log = logarithm_of(c, x, axes)?;
    Ok(Value::Real(c.apply(Smooth::Exp, &[log])?))
}

pub fn softmax(c: &mut Call<'_>) -> Results {
    if let Some(rows) = masked(c)? {
        return mask::result(rows.softmax(c)?);
    }
    let log = logarithm(c)?;
    one(c.apply(Smooth::Exp, &[log])?)
}

pub fn log_softmax(c: &mut Call<'_>) -> Results {
    if let Some(rows) = masked(c)? {
        return mask::result(rows.log_softmax(c)?);
    }
    one(logarithm(c)?)
}
