//! Padding: constants around a tensor, or its own numbers repeated there; negative padding cuts.

use super::structure::{sizes, strides};
use crate::onnx::call::{Call, Results, one};
use crate::onnx::error::{Fault, refuse};
use crate::onnx::values::{Value, count};
use crease_core::{Atom, Layout, Rational, Shape};

/// One number around a tensor.
fn around(c: &mut Call<'_>, x: Atom, pads: &[(usize, usize)], value: Rational) -> Result<Atom, Fault> {
    if pads.iter().all(|&p| p == (0, 0)) {
        return Ok(x);
    }
    let dims = c.shape(x);
    let to: Vec<usize> = dims.iter().zip(pads).map(|(d, p)| d.saturating_add(p.0).saturating_add(p.1)).collect();
    let shape = Shape::new(to.clone())?;
    let into = strides(&to);
    let offset = pads.iter().zip(&into).map(|(p, &s)| p.0 * s as usize).sum();
    let loops: Vec<_> = dims.iter().copied().zip(into.iter().copied()).collect();
    let mut pieces = vec![(x, Layout::strided(offset, &loops))];
    if !value.is_zero() {
        // axis by axis, what lies before and after it, as far as the axes before have not said
        let value = c.b.constant(value);
        for axis in 0..dims.len() {
            for (start, n) in [(0, pads[axis].0), (pads[axis].0 + dims[axis], pads[axis].1)] {
                if n == 0 {
                    continue;
                }
                let mut at = start * into[axis] as usize;
                let mut loops = Vec::new();
                for i in 0..dims.len() {
                    let size = match i {
                        i if i < axis => dims[i],
                        i if i == axis => n,
                        i => to[i],
                    };
                    at += if i < axis { pads[i].0 * into[i] as usize } else { 0 };
                    loops.push((size, into[i]));
                }
                pieces.push((value, Layout::strided(at, &loops)));
            }
        }
    }
    Ok(c.b.assemble(shape, pieces)?)
}

/// Pads and the value are parameters up to version 10, arguments from then on, with axes from version 18 on.
pub fn pad(c: &mut Call<'_>) -> Results {
    let x = c.need(0)?;
    let dims = x.dims(c.b);
    let rank = dims.len();
    let mode = c.one_of("mode", &["constant", "reflect", "edge", "wrap"])?;
    let Some(given) = c.ints_of("pads", 1, 11)? else { return refuse("it has no pads") };
    let value = if c.opset < 11 { c.float("value", 0.0)? } else { c.fixed_number(2, "constant_value")?.unwrap_or(0.0) };
    let axes: Vec<usize> = match c.fixed_ints(3, "axes")? {
        // their order counts
        Some(axes) => {
            c.axes(&axes, rank)?;
            axes.iter().map(|&a| c.axis(a, rank)).collect::<Result<_, _>>()?
        }
        None => (0..rank).collect(),
    };
    if given.len() != 2 * axes.len() || given.iter().any(|p| p.unsigned_abs() > 1 << 28) {
        return refuse(format!("it has {} pads for {} axes; there must be two for each", given.len(), axes.len()));
    }
    let mut pads = vec![(0i64, 0i64); rank];
    for (i, &axis) in axes.iter().enumerate() {
        pads[axis] = (given[i], given[axes.len() + i]);
    }
    if mode != "constant" {
        return Ok(vec![repeated(c, x, &pads, mode)?]);
    }
    // cut first, where pads are negative
    let mut y = x;
    for (axis, &(before, after)) in pads.iter().enumerate() {
        let (skip, drop) = ((-before).max(0) as usize, (-after).max(0) as usize);
        if skip + drop > 0 {
            if skip + drop >= dims[axis] {
                return refuse(format!("its pads leave nothing of axis {axis}"));
            }
            y = c.range(&y, axis, skip, dims[axis] - drop - skip)?;
        }
    }
    let outward: Vec<_> = pads.iter().map(|&(a, b)| (a.max(0) as usize, b.max(0) as usize)).collect();
    let to: Vec<i64> = dims.iter().zip(&pads).map(|(&d, p)| d as i64 + p.0 + p.1).collect();
    sizes(&to)?;
    let y = c.atom(&y)?;
    let value = crate::onnx::call::rational(value)?;
    one(around(c, y, &outward, value)?)
}

/// Numbers of the tensor itself around it.
fn repeated(c: &mut Call<'_>, x: Value, pads: &[(i64, i64)], mode: &str) -> Result<Value, Fault> {
    let mut y = x;
    for (axis, &(before, after)) in pads.iter().enumerate() {
        if (before, after) == (0, 0) {
            continue;
        }
        let n = y.dims(c.b)[axis] as i64;
        if n + before + after < 1 {
            return refuse(format!("its pads leave nothing of axis {axis}"));
        }
        let mut to = y.dims(c.b);
        to[axis] = (n + before + after) as usize;
        count(&to)?;
        if mode == "reflect" && (before >= n || after >= n) {
            return refuse(format!(
                "it reflects {before} and {after} numbers of an axis of size {n}; there may be one less than that"
            ));
        }
        let at = |i: i64| match mode {
            "edge" => i.clamp(0, n - 1),
            "wrap" => i.rem_euclid(n),
            _ if i < 0 => -i,
            _ if i >= n => 2 * (n - 1) - i,
            _ => i,
        };
        c.budget.spend((n + before + after) as usize)?;
        let positions: Vec<usize> = (-before..n + after).map(|i| at(i) as usize).collect();
        y = c.gather(&y, axis, &positions)?;
    }
    Ok(y)
}
