//! Reading and writing at positions that tensors of indices name: gathers and scatters of elements and of parts.
//!
//! Known indices are tables, and leave views and assemblies. Computed ones are read in the run; there the other axes must agree.

use super::structure::strides;
use crate::onnx::call::{Call, Results, known, one};
use crate::onnx::error::{Fault, refuse};
use crate::onnx::values::{Data, Known, Value, count};
use crease_core::{Atom, Kink, Lane, Layout, Op, Shape};

/// Known indices, and their shape.
fn indices(c: &Call<'_>, i: usize) -> Result<(Vec<usize>, Vec<i64>), Fault> {
    match c.fixed(i, "indices")? {
        Some(Known { dims, data: Data::Int(d) }) => Ok((dims.clone(), d.to_vec())),
        _ => refuse("its indices must be integers"),
    }
}

/// A position on an axis of n, which may count from the end.
fn position(i: i64, n: usize) -> Result<usize, Fault> {
    let p = if i < 0 { i.checked_add(n as i64) } else { Some(i) };
    match p.and_then(|p| usize::try_from(p).ok()).filter(|&p| p < n) {
        Some(p) => Ok(p),
        None => refuse(format!("an index is {i}, on an axis of size {n}")),
    }
}

/// For each index the element of `dims` that it names: its own place, but for one axis, where it stands.
fn elements(c: &mut Call<'_>, dims: &[usize], axis: usize) -> Result<(Vec<usize>, Vec<usize>), Fault> {
    let (of, indices) = indices(c, 1)?;
    let fits = of.len() == dims.len() && (0..dims.len()).all(|i| i == axis || of[i] <= dims[i]);
    if !fits {
        return refuse(format!(
            "indices of shape {of:?} do not lie in {dims:?}: all axes but {axis} must be as long or shorter"
        ));
    }
    c.budget.spend(indices.len())?;
    let (into, own) = (strides(dims), strides(&of));
    let mut positions = Vec::with_capacity(indices.len());
    for (i, &index) in indices.iter().enumerate() {
        let along = position(index, dims[axis])?;
        let at = |a: usize| if a == axis { along } else { i / own[a] as usize % of[a] };
        positions.push((0..dims.len()).map(|a| at(a) * into[a] as usize).sum());
    }
    Ok((of, positions))
}

fn table(positions: &[usize]) -> Layout {
    Layout::table(positions.iter().map(|&p| p as u32).collect::<Vec<_>>())
}

pub fn gather_elements(c: &mut Call<'_>) -> Results {
    let dims = c.dims(0)?;
    let axis = c.axis(c.int("axis", 0)?, dims.len())?;
    if c.is_computed(1) {
        let (x, index) = (c.real(0)?, c.real(1)?);
        return one(c.b.take_along(x, index, axis as isize)?);
    }
    let (of, positions) = elements(c, &dims, axis)?;
    let x = c.need(0)?;
    Ok(vec![c.moved(&x, table(&positions), of)?])
}

/// The parts that the last axis of the indices names, behind as many axes that both have in common.
pub fn gather_nd(c: &mut Call<'_>) -> Results {
    let dims = c.dims(0)?;
    let (of, indices) = indices(c, 1)?;
    let shared = usize::try_from(c.int("batch_dims", 0)?).unwrap_or(usize::MAX);
    let Some((&deep, many)) = of.split_last() else { return refuse("its indices have no axis") };
    let fits = shared <= many.len() && shared <= dims.len() && deep >= 1 && deep <= dims.len().saturating_sub(shared);
    if !fits || of[..shared] != dims[..shared] {
        return refuse(format!("indices of shape {of:?} do not name parts of {dims:?} behind {shared} common axes"));
    }
    let steps = strides(&dims);
    let part: usize = dims[shared + deep..].iter().product();
    let to = [many, &dims[shared + deep..]].concat();
    let n = count(&to)?;
    c.budget.spend(n)?;
    let (groups, each) = (many[..shared].iter().product::<usize>(), many[shared..].iter().product::<usize>());
    let group: usize = dims[shared..].iter().product();
    let mut positions = Vec::with_capacity(n);
    for g in 0..groups {
        for i in 0..each {
            let index = &indices[(g * each + i) * deep..][..deep];
            let mut at = g * group;
            for (a, &k) in index.iter().enumerate() {
                at += position(k, dims[shared + a])? * steps[shared + a] as usize;
            }
            positions.extend(at..at + part);
        }
    }
    let x = c.need(0)?;
    Ok(vec![c.moved(&x, table(&positions), to)?])
}

pub fn scatter_elements(c: &mut Call<'_>) -> Results {
    let dims = c.dims(0)?;
    let axis = c.axis(c.int("axis", 0)?, dims.len())?;
    if c.is_computed(1) {
        return computed(c, &dims, axis);
    }
    let (of, positions) = elements(c, &dims, axis)?;
    if c.dims(2)? != of {
        return refuse(format!("updates of shape {:?} for indices of shape {of:?}", c.dims(2)?));
    }
    scattered(c, &positions)
}

/// Adds at computed positions, or writes there, which is for positions that differ.
fn computed(c: &mut Call<'_>, dims: &[usize], axis: usize) -> Results {
    let reduction = c.one_of("reduction", &["none", "add"])?;
    let zeros =
        matches!(c.arg(0), Some(Value::Known(Known { data: Data::Float(d), .. })) if d.iter().all(|&x| x == 0.0));
    let (index, updates) = (c.real(1)?, c.real(2)?);
    let added = c.b.add_along(updates, index, axis as isize, dims[axis])?;
    if zeros {
        return one(added);
    }
    let mut data = c.real(0)?;
    if reduction == "none" {
        // what is overwritten is taken away: 1 is added where something is written
        let shape = c.shape(updates);
        let n = count(&shape)?;
        c.budget.spend(n)?;
        let ones = Known::floats(shape, vec![1.0; n]).atom(c.b)?;
        let hit = c.b.add_along(ones, index, axis as isize, dims[axis])?;
        let unit = c.constant(1.0)?;
        let kept = c.apply(Op::Sub, &[unit, hit])?;
        data = c.apply(Op::Mul, &[data, kept])?;
    }
    one(c.apply(Op::Add, &[data, added])?)
}

pub fn scatter_nd(c: &mut Call<'_>) -> Results {
    let dims = c.dims(0)?;
    let (of, indices) = indices(c, 1)?;
    let Some((&deep, many)) = of.split_last().filter(|(deep, _)| (1..=dims.len()).contains(*deep)) else {
        return refuse(format!("indices of shape {of:?} do not name parts of {dims:?}"));
    };
    let part: usize = dims[deep..].iter().product();
    let to = [many, &dims[deep..]].concat();
    let n = count(&to)?;
    if c.dims(2)? != to {
        return refuse(format!("updates of shape {:?}, expected {to:?}", c.dims(2)?));
    }
    c.budget.spend(n)?;
    let steps = strides(&dims);
    let mut positions = Vec::with_capacity(n);
    for index in indices.chunks(deep) {
        let mut at = 0;
        for (a, &k) in index.iter().enumerate() {
            at += position(k, dims[a])? * steps[a] as usize;
        }
        positions.extend(at..at + part);
    }
    scattered(c, &positions)
}

/// The data with the updates at those positions: of several for one position the last one counts, or they are added up.
fn scattered(c: &mut Call<'_>, positions: &[usize]) -> Results {
    let reduction = c.one_of("reduction", &["none", "add", "mul", "max", "min"])?;
    let (data, updates) = (c.need(0)?, c.need(2)?);
    let dims = data.dims(c.b);
    let n = count(&dims)?;
    c.budget.spend(2 * n + positions.len())?;
    let mut last: Vec<Option<usize>> = vec![None; n];
    let mut twice = false;
    for (i, &p) in positions.iter().enumerate() {
        twice |= last[p].replace(i).is_some();
    }
    if positions.is_empty() {
        return Ok(vec![data]);
    }
    if let (Value::Known(d), Value::Known(u), "none") = (&data, &updates, reduction) {
        let Some(both) = Known::join(&[d.clone(), u.clone()], vec![n + positions.len()]) else {
            return refuse("its data and updates have different types");
        };
        return known(both.pick(dims, (0..n).map(|p| last[p].map_or(p, |i| n + i))));
    }
    let shape = Shape::new(dims.clone())?;
    if reduction == "add" {
        let (data, updates) = (c.atom(&data)?, c.atom(&updates)?);
        return one(c.b.assemble(shape, vec![(data, Layout::identity(n)), (updates, table(positions))])?);
    }
    if twice && reduction != "none" {
        return refuse(format!("an index occurs twice, which is not supported for reduction {reduction}"));
    }
    let kept: Vec<usize> = (0..n).filter(|&p| last[p].is_none()).collect();
    let hit: Vec<usize> = (0..n).filter(|&p| last[p].is_some()).collect();
    let from: Vec<usize> = hit.iter().filter_map(|&p| last[p]).collect();
    let new = c.moved(&updates, table(&from), vec![from.len()])?;
    let mut new = c.atom(&new)?;
    if reduction != "none" {
        let old = c.moved(&data, table(&hit), vec![hit.len()])?;
        let old = c.atom(&old)?;
        new = combined(c, reduction, old, new)?;
    }
    let mut pieces = vec![(new, table(&hit))];
    if !kept.is_empty() {
        let rest = c.moved(&data, table(&kept), vec![kept.len()])?;
        pieces.push((c.atom(&rest)?, table(&kept)));
    }
    one(c.b.assemble(shape, pieces)?)
}

fn combined(c: &mut Call<'_>, reduction: &str, old: Atom, new: Atom) -> Result<Atom, Fault> {
    match reduction {
        "mul" => c.apply(Op::Mul, &[old, new]),
        "max" => Ok(c.b.lane(&Kink::Max(Lane::Args), &[old, new])?[0]),
        _ => Ok(c.b.lane(&Kink::Min(Lane::Args), &[old, new])?[0]),
    }
}

/// Sums of all numbers up to each one along an axis, or of those before it; from the end if it is reversed.
pub fn cumulative_sum(c: &mut Call<'_>) -> Results {
    let (exclusive, reverse) = (c.flag("exclusive", false)?, c.flag("reverse", false)?);
    let dims = c.dims(0)?;
    let axis = match c.fixed_ints(1, "axis")?.as_deref() {
        Some(&[axis]) => c.axis(axis, dims.len())?,
        _ => return refuse("it needs one axis"),
    };
    let n = dims[axis];
    if let Some(Value::Known(Known { data: Data::Int(d), .. })) = c.arg(0) {
        let mut sums = vec![0i64; d.len()];
        let step = strides(&dims)[axis] as usize;
        for start in (0..d.len()).filter(|i| (i / step).is_multiple_of(n)) {
            let mut so_far = 0i64;
            for k in 0..n {
                let i = start + if reverse { n - 1 - k } else { k } * step;
                let Some(next) = so_far.checked_add(d[i]) else { return refuse("it leaves the integers of 64 bits") };
                sums[i] = if exclusive { so_far } else { next };
                so_far = next;
            }
        }
        return known(Known::ints(dims, sums));
    }
    let mut x = c.real(0)?;
    let whole = |first: usize, count: usize, step: isize| -> Vec<(usize, usize, isize)> {
        (0..dims.len()).map(|i| if i == axis { (first, count, step) } else { (0, dims[i], 1) }).collect()
    };
    if reverse {
        x = c.b.slice(x, &whole(n - 1, n, -1))?;
    }
    if exclusive {
        let mut none = dims.clone();
        none[axis] = 1;
        let zero = c.b.zeros(Shape::new(none)?)?;
        x = match n {
            1 => zero,
            _ => {
                let before = c.b.slice(x, &whole(0, n - 1, 1))?;
                c.b.concat(&[zero, before], axis as isize)?
            }
        };
    }
    let mut y = c.b.cumulative(crease_core::builder::Cumulative::Sum, x, axis as isize)?;
    if reverse {
        y = c.b.slice(y, &whole(n - 1, n, -1))?;
    }
    one(y)
}
