//! Attention of version 23, and rotary embeddings.
//!
//! Queries, keys and values enter as heads `[N, heads, steps, size]` or as rows `[N, steps, heads * size]`. Products of queries and keys, scaled, bounded by a softcap, then
//! masked, go through a softmax and are multiplied with the values. A row of which everything is masked has no value here, and is refused.

use super::mask;
use super::product::multiplied;
use super::reduce::softmax_along;
use crate::onnx::call::{Call, Results, one, rational};
use crate::onnx::error::{Fault, refuse};
use crate::onnx::values::{Data, Known, Value, count};
use crease_core::{Atom, Layout, Op, Rational, Shape, Smooth};

/// An argument as heads, if it is there: rows are cut into as many as the parameter says.
fn heads(c: &mut Call<'_>, i: usize, number: &str) -> Result<Atom, Fault> {
    let x = c.real(i)?;
    match c.shape(x)[..] {
        [_, _, _, _] => Ok(x),
        [n, steps, width] => {
            let heads = usize::try_from(c.int(number, 0)?).unwrap_or(0);
            if heads == 0 || width % heads != 0 {
                return refuse(format!("rows of {width} numbers cannot be cut into {number} = {heads} heads"));
            }
            let apart = c.reshape(x, &[n, steps, heads, width / heads])?;
            Ok(c.b.transpose(apart, &[0, 2, 1, 3])?)
        }
        ref other => refuse(format!("argument {} has shape {other:?}; three or four axes are expected", i + 1)),
    }
}

/// Each head several times, one after the other.
fn repeated(c: &mut Call<'_>, x: Atom, times: usize) -> Result<Atom, Fault> {
    if times == 1 {
        return Ok(x);
    }
    let dims = c.shape(x);
    let head = dims[2] * dims[3];
    let loops = [(dims[0] * dims[1], head as isize), (times, 0), (head, 1)];
    let to = Shape::new([dims[0], dims[1] * times, dims[2], dims[3]])?;
    Ok(c.b.view(x, Layout::strided(0, &loops), to)?)
}

pub fn attention(c: &mut Call<'_>) -> Results {
    let rows = c.dims(0)?.len() == 3;
    let (q, mut k, mut v) = (heads(c, 0, "q_num_heads")?, heads(c, 1, "kv_num_heads")?, heads(c, 2, "kv_num_heads")?);
    if c.arg(4).is_some() != c.arg(5).is_some() {
        return refuse("past keys and past values come together");
    }
    let mut past = 0;
    if c.arg(4).is_some() {
        let (keys, values) = (c.real(4)?, c.real(5)?);
        past = c.shape(keys).get(2).copied().unwrap_or(0);
        k = c.b.concat(&[keys, k], 2)?;
        v = c.b.concat(&[values, v], 2)?;
    }
    let present = [k, v];
    let (dq, dk, dv) = (c.shape(q), c.shape(k), c.shape(v));
    let fits = dq[0] == dk[0] && dk[..3] == dv[..3] && dq[3] == dk[3] && dk[1] > 0 && dq[1] % dk[1] == 0;
    if !fits {
        return refuse(format!("queries {dq:?}, keys {dk:?} and values {dv:?} do not fit one another"));
    }
    let (k, v) = (repeated(c, k, dq[1] / dk[1])?, repeated(c, v, dq[1] / dk[1])?);
    let product = multiplied(c, q, k, false, true)?;
    let scores = scaled(c, product, dq[3])?;
    let scores = capped(c, scores)?;
    let mut scores = Value::Real(scores);
    let (queries, keys) = (dq[2], dk[2]);
    if c.arg(3).is_some() {
        let bias = bias(c, keys)?;
        scores = mask::sum(c, scores, bias)?;
    }
    if c.flag("is_causal", false)? {
        let n = count(&[queries, keys])?;
        c.budget.spend(n)?;
        let later = |i: usize| if i % keys > i / keys + past { f64::NEG_INFINITY } else { 0.0 };
        let bias = Known::floats(vec![queries, keys], (0..n).map(later).collect());
        scores = mask::sum(c, scores, Value::Known(bias))?;
    }
    let weights = softmax_along(c, scores, &[3])?;
    let weights = c.atom(&weights)?;
    let mut y = multiplied(c, weights, v, false, false)?;
    if rows {
        y = c.b.transpose(y, &[0, 2, 1, 3])?;
        y = c.reshape(y, &[dq[0], dq[2], dq[1] * dv[3]])?;
    }
    Ok([y].into_iter().chain(present).map(Value::Real).collect())
}

/// Times the scale, which is one over the root of the size of a head unless it is given.
fn scaled(c: &mut Call<'_>, scores: Atom, size: usize) -> Result<Atom, Fault> {
    if c.has("scale") {
        let scale = c.exact("scale", 1.0)?;
        return super::product::scaled(c, scores, &scale);
    }
    let root = (size as f64).sqrt();
    if root * root == size as f64 {
        let scale = Rational::new(1, root as i64).unwrap_or(Rational::ONE);
        return super::product::scaled(c, scores, &scale);
    }
    // the root of an integer that is no square is no fraction
    let size = c.b.constant(rational(size as f64)?);
    let scale = c.apply(Smooth::Sqrt, &[size])?;
    let scale = c.apply(Smooth::Inv, &[scale])?;
    c.apply(Op::Mul, &[scores, scale])
}

/// `softcap * tanh(x / softcap)`, if there is one.
fn capped(c: &mut Call<'_>, scores: Atom) -> Result<Atom, Fault> {
    let cap = c.exact("softcap", 0.0)?;
    let Some(inverse) = cap.inv().filter(|_| cap.is_positive()) else { return Ok(scores) };
    let small = super::product::scaled(c, scores, &inverse)?;
    let bounded = c.apply(Smooth::Tanh, &[small])?;
    super::product::scaled(c, bounded, &cap)
}

/// The mask as what is added to the scores: truth values say what is seen.
fn bias(c: &mut Call<'_>, keys: usize) -> Result<Value, Fault> {
    let bias = match c.need(3)? {
        Value::Known(Known { dims, data: Data::Bool(seen) }) => {
            c.budget.spend(seen.len())?;
            let of = |&seen: &bool| if seen { 0.0 } else { f64::NEG_INFINITY };
            Value::Known(Known::floats(dims, seen.iter().map(of).collect()))
        }
        Value::Real(_) if c.is_whole(3) => {
            return refuse(
                "its mask is truth values that are computed from inputs; constants and floats are supported",
            );
        }
        other => other,
    };
    match bias.dims(c.b).last() {
        Some(&n) if n == keys || n == 1 => Ok(bias),
        _ => refuse(format!("its mask has shape {:?} for {keys} keys; a shorter one is not supported", bias.dims(c.b))),
    }
}

/// Pairs of numbers of each head, turned by angles that depend on the step.
pub fn rotary(c: &mut Call<'_>) -> Results {
    let x = c.real(0)?;
    let given = c.shape(x);
    // steps before heads
    let x = match given[..] {
        [_, _, _, _] => c.b.transpose(x, &[0, 2, 1, 3])?,
        [n, steps, width] => {
            let heads = usize::try_from(c.int("num_heads", 0)?).unwrap_or(0);
            if heads == 0 || width % heads != 0 {
                return refuse(format!("rows of {width} numbers cannot be cut into num_heads = {heads}"));
            }
            c.reshape(x, &[n, steps, heads, width / heads])?
        }
        _ => return refuse(format!("it takes three or four axes, not {given:?}")),
    };
    let dims = c.shape(x);
    let size = match c.int("rotary_embedding_dim", 0)? {
        0 => dims[3],
        size => usize::try_from(size).unwrap_or(usize::MAX),
    };
    if size % 2 != 0 || size > dims[3] || size == 0 {
        return refuse(format!("{size} of {} numbers of a head cannot be turned in pairs", dims[3]));
    }
    let half = size / 2;
    let (cos, sin) = (angles(c, 1, &dims, half)?, angles(c, 2, &dims, half)?);
    let (first, second, step) = if c.flag("interleaved", false)? { (0, 1, 2) } else { (0, half, 1) };
    let part = |c: &mut Call<'_>, from: usize, count: usize, step: isize| -> Result<Atom, Fault> {
        Ok(c.b.slice(x, &[(0, dims[0], 1), (0, dims[1], 1), (0, dims[2], 1), (from, count, step)])?)
    };
    let (a, b) = (part(c, first, half, step)?, part(c, second, half, step)?);
    let (ca, sb) = (c.apply(Op::Mul, &[cos, a])?, c.apply(Op::Mul, &[sin, b])?);
    let (sa, cb) = (c.apply(Op::Mul, &[sin, a])?, c.apply(Op::Mul, &[cos, b])?);
    let (real, imaginary) = (c.apply(Op::Sub, &[ca, sb])?, c.apply(Op::Add, &[sa, cb])?);
    let rows = dims[..3].iter().product::<usize>();
    let places = |from: usize, step: isize| Layout::strided(from, &[(rows, dims[3] as isize), (half, step)]);
    let mut pieces = vec![(real, places(first, step)), (imaginary, places(second, step))];
    if size < dims[3] {
        let rest = part(c, size, dims[3] - size, 1)?;
        pieces.push((rest, Layout::strided(size, &[(rows, dims[3] as isize), (dims[3] - size, 1)])));
    }
    let y = c.b.assemble(Shape::new(dims.clone())?, pieces)?;
    one(if given.len() == 3 { c.reshape(y, &given)? } else { c.b.transpose(y, &[0, 2, 1, 3])? })
}

/// The numbers of a table for each step, for all heads: those at the positions, if there are any.
fn angles(c: &mut Call<'_>, i: usize, dims: &[usize], half: usize) -> Result<Atom, Fault> {
    let mut table = c.need(i)?;
    if let Some(Known { dims: of, data: Data::Int(at) }) = c.fixed(3, "positions")?.cloned() {
        let n = table.dims(c.b).first().copied().unwrap_or(0);
        let position = |&p: &i64| usize::try_from(p).ok().filter(|&p| p < n);
        let Some(positions) = at.iter().map(position).collect::<Option<Vec<_>>>() else {
            return refuse(format!("a position leaves a table of {n} rows"));
        };
        let width = table.dims(c.b).get(1).copied().unwrap_or(1);
        let rows = c.gather(&table, 0, &positions)?;
        table = rows.reshaped([&of[..], &[width]].concat(), c.b)?;
    }
    if table.dims(c.b) != [dims[0], dims[1], half] {
        return refuse(format!("its table has shape {:?}, expected {:?}", table.dims(c.b), [dims[0], dims[1], half]));
    }
    let table = table.reshaped(vec![dims[0], dims[1], 1, half], c.b)?;
    c.atom(&table)
}
