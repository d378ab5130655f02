//! What only moves numbers: shapes, orders of axes, repetition. Of known numbers the result is known.

use crate::onnx::call::{Call, Results, together};
use crate::onnx::error::{Fault, refuse};
use crate::onnx::values::{Known, Value, count};
use crease_core::{Layout, Shape};

pub fn identity(c: &mut Call<'_>) -> Results {
    Ok(vec![c.need(0)?])
}

/// The identity, since nothing is trained here. The mask keeps everything.
pub fn dropout(c: &mut Call<'_>) -> Results {
    let training = match c.fixed(2, "training_mode")?.map(|k| &k.data) {
        Some(crate::onnx::values::Data::Bool(d)) => d.first() == Some(&true),
        Some(_) => return refuse("its training_mode must be a truth value"),
        None => false,
    };
    let ratio = if c.opset < 12 { 0.0 } else { c.fixed_number(1, "ratio")?.unwrap_or(0.5) };
    if training && ratio != 0.0 {
        return refuse("in training mode its result is random, which is not supported; export the model for inference");
    }
    let x = c.need(0)?;
    if c.node.output.get(1).is_none_or(String::is_empty) {
        return Ok(vec![x]);
    }
    let dims = x.dims(c.b);
    let n = count(&dims)?;
    c.budget.spend(n)?;
    Ok(vec![x, Value::Known(Known::bools(dims, vec![true; n]))])
}

pub fn reshape(c: &mut Call<'_>) -> Results {
    let x = c.need(0)?;
    let from = x.dims(c.b);
    let Some(wanted) = c.fixed_ints(1, "shape")? else { return refuse("it has no shape") };
    let keep_zero = c.flag("allowzero", false)?;
    let mut dims = Vec::with_capacity(wanted.len());
    let mut open = None;
    for (i, &d) in wanted.iter().enumerate() {
        dims.push(match d {
            -1 if open.is_some() => return refuse(format!("its shape {wanted:?} leaves two sizes open")),
            -1 => {
                open = Some(i);
                1
            }
            0 if !keep_zero => match from.get(i) {
                Some(&size) => size,
                None => return refuse(format!("its shape {wanted:?} copies an axis that {from:?} does not have")),
            },
            d => match usize::try_from(d) {
                Ok(size) => size,
                Err(_) => return refuse(format!("its shape {wanted:?} has a negative size")),
            },
        });
    }
    if let Some(i) = open {
        let (all, rest) = (count(&from)?, count(&dims)?);
        if rest == 0 || all % rest != 0 {
            return refuse(format!("{from:?} cannot be read as {wanted:?}: the number of elements does not fit"));
        }
        dims[i] = all / rest;
    }
    Ok(vec![x.reshaped(dims, c.b)?])
}

pub fn flatten(c: &mut Call<'_>) -> Results {
    let x = c.need(0)?;
    let dims = x.dims(c.b);
    let axis = c.int("axis", 1)?;
    // the axis may be one beyond the last
    let axis = if axis == dims.len() as i64 { dims.len() } else { c.axis(axis, dims.len())? };
    let to = vec![dims[..axis].iter().product(), dims[axis..].iter().product()];
    Ok(vec![x.reshaped(to, c.b)?])
}

pub fn squeeze(c: &mut Call<'_>) -> Results {
    let x = c.need(0)?;
    let dims = x.dims(c.b);
    let axes = match c.ints_of("axes", 1, 13)? {
        Some(axes) => c.axes(&axes, dims.len())?,
        None => (0..dims.len()).filter(|&i| dims[i] == 1).collect(),
    };
    if let Some(&i) = axes.iter().find(|&&i| dims[i] != 1) {
        return refuse(format!("axis {i} of {dims:?} cannot be left out, for its size is not 1"));
    }
    let to = (0..dims.len()).filter(|i| !axes.contains(i)).map(|i| dims[i]).collect();
    Ok(vec![x.reshaped(to, c.b)?])
}

pub fn unsqueeze(c: &mut Call<'_>) -> Results {
    let x = c.need(0)?;
    let dims = x.dims(c.b);
    let Some(axes) = c.ints_of("axes", 1, 13)? else { return refuse("it has no axes") };
    let axes = c.axes(&axes, dims.len() + axes.len())?;
    let mut rest = dims.iter();
    let to = (0..dims.len() + axes.len()).map(|i| if axes.contains(&i) { 1 } else { *rest.next().unwrap_or(&1) });
    Ok(vec![x.reshaped(to.collect(), c.b)?])
}

/// Reorders the axes: axis i of the result is axis `order[i]`.
pub fn reordered(c: &mut Call<'_>, x: &Value, order: &[usize]) -> Result<Value, Fault> {
    let dims = x.dims(c.b);
    let strides = strides(&dims);
    let loops: Vec<_> = order.iter().map(|&i| (dims[i], strides[i])).collect();
    c.moved(x, Layout::strided(0, &loops), order.iter().map(|&i| dims[i]).collect())
}

/// The row-major strides.
pub fn strides(dims: &[usize]) -> Vec<isize> {
    let mut strides = vec![1isize; dims.len()];
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i] * dims[i] as isize;
    }
    strides
}

pub fn transpose(c: &mut Call<'_>) -> Results {
    let x = c.need(0)?;
    let rank = x.dims(c.b).len();
    let order: Vec<usize> = match c.ints("perm")? {
        Some(perm) => perm.iter().map(|&a| usize::try_from(a).unwrap_or(usize::MAX)).collect(),
        None => (0..rank).rev().collect(),
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..rank) {
        return refuse(format!("its perm is no order of {rank} axes"));
    }
    Ok(vec![reordered(c, &x, &order)?])
}

/// Repeats a value over a larger shape.
pub fn spread(c: &mut Call<'_>, x: &Value, to: &[usize]) -> Result<Value, Fault> {
    let dims = x.dims(c.b);
    if dims == to {
        return Ok(x.clone());
    }
    let (strides, skip) = (strides(&dims), to.len() - dims.len());
    let step = |i: usize| if i < skip || dims[i - skip] == 1 { 0 } else { strides[i - skip] };
    let loops: Vec<_> = to.iter().enumerate().map(|(i, &n)| (n, step(i))).collect();
    c.moved(x, Layout::strided(0, &loops), to.to_vec())
}

pub fn expand(c: &mut Call<'_>) -> Results {
    let x = c.need(0)?;
    let Some(wanted) = c.fixed_ints(1, "shape")? else { return refuse("it has no shape") };
    let to = together(&x.dims(c.b), &sizes(&wanted)?)?;
    Ok(vec![spread(c, &x, &to)?])
}

/// Integers as the sizes of a shape.
pub fn sizes(wanted: &[i64]) -> Result<Vec<usize>, Fault> {
    let dims = naturals(wanted)?;
    count(&dims)?;
    Ok(dims)
}

/// Integers as sizes of any kind.
pub fn naturals(wanted: &[i64]) -> Result<Vec<usize>, Fault> {
    let size = |&d: &i64| usize::try_from(d).ok().map(|d| d.min(1 << 31));
    match wanted.iter().map(size).collect() {
        Some(sizes) => Ok(sizes),
        None => refuse("a size is negative"),
    }
}

pub fn tile(c: &mut Call<'_>) -> Results {
    let x = c.need(0)?;
    let dims = x.dims(c.b);
    let Some(repeats) = c.fixed_ints(1, "repeats")? else { return refuse("it has no repeats") };
    let repeats = naturals(&repeats)?;
    if repeats.len() != dims.len() {
        return refuse(format!("it has {} repeats for {} axes", repeats.len(), dims.len()));
    }
    let to: Option<Vec<usize>> = dims.iter().zip(&repeats).map(|(&d, &r)| d.checked_mul(r)).collect();
    let Some(to) = to else { return refuse("its repeats are too many") };
    count(&to)?;
    let loops: Vec<_> =
        repeats.iter().zip(&dims).zip(strides(&dims)).flat_map(|((&r, &d), s)| [(r, 0), (d, s)]).collect();
    Ok(vec![c.moved(&x, Layout::strided(0, &loops), to)?])
}

/// The side of the blocks, and the shape of images.
fn blocks(c: &Call<'_>) -> Result<(usize, [usize; 4]), Fault> {
    let side = c.int("blocksize", 0)?;
    match (usize::try_from(side), <[usize; 4]>::try_from(c.dims(0)?)) {
        (Ok(side), Ok(dims)) if (1..1 << 15).contains(&side) => Ok((side, dims)),
        _ => refuse("it takes images of shape [N, C, H, W] and a positive blocksize"),
    }
}

pub fn depth_to_space(c: &mut Call<'_>) -> Results {
    let (b, [n, ch, h, w]) = blocks(c)?;
    if ch % (b * b) != 0 {
        return refuse(format!("{ch} channels are no multiple of {}", b * b));
    }
    let rest = ch / (b * b);
    let (apart, order) = match c.one_of("mode", &["DCR", "CRD"])? {
        "DCR" => (vec![n, b, b, rest, h, w], [0, 3, 4, 1, 5, 2]),
        _ => (vec![n, rest, b, b, h, w], [0, 1, 4, 2, 5, 3]),
    };
    let x = c.need(0)?.reshaped(apart, c.b)?;
    let x = reordered(c, &x, &order)?;
    Ok(vec![x.reshaped(vec![n, rest, h * b, w * b], c.b)?])
}

pub fn space_to_depth(c: &mut Call<'_>) -> Results {
    let (b, [n, ch, h, w]) = blocks(c)?;
    if h % b != 0 || w % b != 0 {
        return refuse(format!("images of {h} by {w} do not divide into blocks of {b}"));
    }
    let x = c.need(0)?.reshaped(vec![n, ch, h / b, b, w / b, b], c.b)?;
    let x = reordered(c, &x, &[0, 3, 5, 1, 2, 4])?;
    let to = Shape::new([n, ch * b * b, h / b, w / b])?;
    Ok(vec![x.reshaped(to.dims().to_vec(), c.b)?])
}
