//! Sums, means, maxima and norms along axes; softmax.

use crate::onnx::call::{Call, Results, one};
use crate::onnx::error::{Fault, refuse};
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
fn reduced(c: &mut Call<'_>, f: impl Fn(&mut Call<'_>, Atom, &[usize]) -> Result<Atom, Fault>) -> Results {
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
    reduced(c, |c, x, axes| grouped(c, x, axes, Op::LogSumExp(Lane::Axis)))
}

/// `x - log(sum(exp(x)))`: along one axis from version 13 on, before that along all axes from the given one on.
fn logarithm(c: &mut Call<'_>) -> Result<Atom, Fault> {
    let x = c.real(0)?;
    let dims = c.shape(x);
    let axes: Vec<usize> = if c.opset >= 13 {
        vec![c.axis(c.int("axis", -1)?, dims.len())?]
    } else {
        match c.int("axis", 1)? {
            axis if axis == dims.len() as i64 => Vec::new(),
            axis => (c.axis(axis, dims.len())?..dims.len()).collect(),
        }
    };
    let total = grouped(c, x, &axes, Op::LogSumExp(Lane::Axis))?;
    let kept: Vec<usize> = (0..dims.len()).map(|i| if axes.contains(&i) { 1 } else { dims[i] }).collect();
    let total = c.reshape(total, &kept)?;
    c.apply(Op::Sub, &[x, total])
}

pub fn softmax(c: &mut Call<'_>) -> Results {
    let log = logarithm(c)?;
    one(c.apply(Smooth::Exp, &[log])?)
}

pub fn log_softmax(c: &mut Call<'_>) -> Results {
    one(logarithm(c)?)
}
