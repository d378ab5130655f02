//! Parts of tensors, and tensors of parts: slices, gathers, splits, concatenation, constant masks.

use super::mask;
use super::structure::strides;
use crate::onnx::call::{Call, Results, one};
use crate::onnx::error::{Fault, refuse};
use crate::onnx::values::{Data, Known, Value, count};
use crease_core::Layout;

pub fn concat(c: &mut Call<'_>) -> Results {
    let parts = (0..c.args.len()).map(|i| c.need(i)).collect::<Result<Vec<_>, _>>()?;
    let first = parts[0].dims(c.b);
    if !c.has("axis") {
        return refuse("it has no axis");
    }
    let axis = c.axis(c.int("axis", 0)?, first.len())?;
    let mut to = first.clone();
    to[axis] = 0;
    for p in &parts {
        let dims = p.dims(c.b);
        let same = dims.len() == first.len() && (0..dims.len()).all(|i| i == axis || dims[i] == first[i]);
        if !same {
            return refuse(format!(
                "{first:?} and {dims:?} cannot be joined along axis {axis}: the other sizes must agree"
            ));
        }
        to[axis] += dims[axis];
    }
    let n = count(&to)?;
    let known: Option<Vec<&Known>> = parts.iter().map(Value::known).collect();
    if let Some(known) = known {
        c.budget.spend(n)?;
        // bring the axis to the front, so that parts follow one another, and back
        let mut order: Vec<usize> = (0..to.len()).collect();
        order.remove(axis);
        order.insert(0, axis);
        let moved = known.iter().map(|k| {
            let dims = order.iter().map(|&i| k.dims[i]).collect();
            let strides = strides(&k.dims);
            let loops: Vec<_> = order.iter().map(|&i| (k.dims[i], strides[i])).collect();
            if k.len() == 0 {
                k.pick(dims, std::iter::empty())
            } else {
                k.pick(dims, Layout::strided(0, &loops).iter())
            }
        });
        let front = order.iter().map(|&i| to[i]).collect();
        let Some(joined) = Known::join(&moved.collect::<Vec<_>>(), front) else {
            return refuse("its arguments have different types");
        };
        let back: Vec<usize> = (0..to.len()).map(|i| order.iter().position(|&o| o == i).unwrap_or(0)).collect();
        return Ok(vec![super::structure::reordered(c, &Value::Known(joined), &back)?]);
    }
    let mut atoms = Vec::new();
    for p in &parts {
        if count(&p.dims(c.b))? > 0 {
            atoms.push(c.atom(p)?);
        }
    }
    one(c.b.concat(&atoms, axis as isize)?)
}

pub fn split(c: &mut Call<'_>) -> Results {
    let x = c.need(0)?;
    let dims = x.dims(c.b);
    let axis = c.axis(c.int("axis", 0)?, dims.len())?;
    let (n, parts) = (dims[axis], c.node.output.len());
    let sizes = match c.ints_of("split", 1, 13)? {
        Some(sizes) => super::structure::naturals(&sizes)?,
        None => {
            let parts = match usize::try_from(c.int("num_outputs", parts as i64)?) {
                Ok(k) if k == parts && k > 0 => k,
                _ => return refuse("its num_outputs is not the number of its results"),
            };
            // the last one is smaller, where they cannot be equal
            let each = n.div_ceil(parts);
            let sizes: Vec<usize> = (0..parts).map(|i| each.min(n.saturating_sub(i * each))).collect();
            if each * parts != n && (c.opset < 18 || sizes.contains(&0)) {
                return refuse(format!("an axis of size {n} cannot be split into {parts} equal parts"));
            }
            sizes
        }
    };
    if sizes.len() != parts || sizes.iter().sum::<usize>() != n {
        return refuse(format!("an axis of size {n} cannot be split into {sizes:?} for {parts} results"));
    }
    let mut from = 0;
    let mut results = Vec::new();
    for size in sizes {
        results.push(c.range(&x, axis, from, size)?);
        from += size;
    }
    Ok(results)
}

/// Starts, ends, axes and steps are parameters up to version 9, arguments from then on.
pub fn slice(c: &mut Call<'_>) -> Results {
    let x = c.need(0)?;
    let dims = x.dims(c.b);
    let (Some(starts), Some(ends)) = (c.ints_of("starts", 1, 10)?, c.ints_of("ends", 2, 10)?) else {
        return refuse("it has no starts or no ends");
    };
    let axes = c.ints_of("axes", 3, 10)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = if c.opset < 10 { None } else { c.fixed_ints(4, "steps")? };
    let steps = steps.unwrap_or_else(|| vec![1; starts.len()]);
    if starts.len() != ends.len() || starts.len() != axes.len() || starts.len() != steps.len() {
        return refuse("its starts, ends, axes and steps differ in number");
    }
    c.axes(&axes, dims.len())?;
    let strides = strides(&dims);
    let mut loops: Vec<(usize, isize)> = dims.iter().copied().zip(strides.iter().copied()).collect();
    let mut offset = 0;
    let mut to = dims.clone();
    for (i, &axis) in axes.iter().enumerate() {
        let axis = c.axis(axis, dims.len())?;
        let (first, count) = range(starts[i], ends[i], steps[i], dims[axis])?;
        offset += first * strides[axis] as usize;
        // of a single position the step may be any number
        let step = if count <= 1 { 0 } else { strides[axis] * steps[i] as isize };
        loops[axis] = (count, step);
        to[axis] = count;
    }
    Ok(vec![c.moved(&x, Layout::strided(offset, &loops), to)?])
}

/// The first position of a range on an axis of n, and how many there are; what lies outside is cut.
fn range(start: i64, end: i64, step: i64, n: usize) -> Result<(usize, usize), Fault> {
    if n == 0 {
        return Ok((0, 0));
    }
    let n = n as i64;
    let from_end = |i: i64| if i < 0 { i.saturating_add(n) } else { i };
    let count = match step {
        0 => return refuse("a step of 0 leads nowhere"),
        1.. => {
            let (start, end) = (from_end(start).clamp(0, n), from_end(end).clamp(0, n));
            ((end - start).max(0) as u64).div_ceil(step.unsigned_abs())
        }
        _ => {
            let (start, end) = (from_end(start).clamp(0, n - 1), from_end(end).clamp(-1, n - 1));
            ((start - end).max(0) as u64).div_ceil(step.unsigned_abs())
        }
    };
    let first = from_end(start).clamp(0, n - 1);
    Ok((first as usize, count as usize))
}

/// The parts at constant positions of an axis; the positions may be a tensor, whose axes take the place of that one.
pub fn gather(c: &mut Call<'_>) -> Results {
    let x = c.need(0)?;
    let dims = x.dims(c.b);
    let axis = c.axis(c.int("axis", 0)?, dims.len())?;
    let Some(Known { dims: of, data: Data::Int(indices) }) = c.fixed(1, "indices")?.cloned() else {
        return refuse("its indices must be integers");
    };
    let n = dims[axis] as i64;
    let position = |&i: &i64| {
        let p = if i < 0 { i.checked_add(n) } else { Some(i) };
        p.filter(|p| (0..n).contains(p)).map(|p| p as usize)
    };
    let Some(positions) = indices.iter().map(position).collect::<Option<Vec<_>>>() else {
        return refuse(format!("an index leaves an axis of size {n}"));
    };
    let picked = c.gather(&x, axis, &positions)?;
    let to = [&dims[..axis], &of, &dims[axis + 1..]].concat();
    Ok(vec![picked.reshaped(to, c.b)?])
}

/// `Where` with a constant condition: the elements of one where it holds, those of the other elsewhere.
pub fn pick(c: &mut Call<'_>) -> Results {
    let (a, b) = (c.need(1)?, c.need(2)?);
    let Some(holds) = c.fixed(0, "condition")?.cloned() else { return refuse("it has no condition") };
    mask::result(mask::choice(c, &holds, a, b)?)
}
