//! Constants, shapes as numbers, and what types numbers have.

use super::arithmetic::truncated;
use crate::onnx::call::{Call, Results, known, one};
use crate::onnx::error::{Fault, refuse};
use crate::onnx::values::{Data, Kind, Known, Value, count, kind, rounded};
use crease_core::Op;
use crease_core::op::Comparison;

pub fn constant(c: &mut Call<'_>) -> Results {
    if c.node.attribute.len() != 1 {
        return refuse("it must have one value: value, value_float, value_floats, value_int or value_ints");
    }
    if let Some(k) = c.tensor("value")? {
        return known(k);
    }
    if let Some(d) = c.floats("value_floats")? {
        return known(Known::floats(vec![d.len()], d));
    }
    if let Some(d) = c.ints("value_ints")? {
        return known(Known::ints(vec![d.len()], d));
    }
    if c.has("value_int") {
        return known(Known::ints(vec![], vec![c.int("value_int", 0)?]));
    }
    known(Known::floats(vec![], vec![c.float("value_float", 0.0)?]))
}

pub fn of_shape(c: &mut Call<'_>) -> Results {
    let Some(wanted) = c.fixed_ints(0, "shape")? else { return refuse("it has no shape") };
    let dims = super::structure::sizes(&wanted)?;
    let n = count(&dims)?;
    let value = c.tensor("value")?.unwrap_or_else(|| Known::floats(vec![1], vec![0.0]));
    if value.len() != 1 {
        return refuse("its value must be one number");
    }
    c.budget.spend(n)?;
    known(value.pick(dims, std::iter::repeat_n(0, n)))
}

/// The shape of its argument, or of some axes of it, as integers.
pub fn shape(c: &mut Call<'_>) -> Results {
    let dims: Vec<i64> = c.dims(0)?.iter().map(|&d| d as i64).collect();
    let rank = dims.len() as i64;
    let place = |i: i64| (if i < 0 { i.saturating_add(rank) } else { i }).clamp(0, rank) as usize;
    let (start, end) = (place(c.int("start", 0)?), place(c.int("end", rank)?));
    let part = dims.get(start..end.max(start)).unwrap_or(&[]).to_vec();
    known(Known::ints(vec![part.len()], part))
}

pub fn size(c: &mut Call<'_>) -> Results {
    let n = count(&c.dims(0)?)?;
    known(Known::ints(vec![], vec![n as i64]))
}

pub fn range(c: &mut Call<'_>) -> Results {
    let mut bounds = Vec::new();
    for (i, what) in ["start", "limit", "delta"].iter().enumerate() {
        match c.fixed(i, what)? {
            Some(k) if k.len() == 1 => bounds.push(k.clone()),
            _ => return refuse(format!("its {what} must be one number")),
        }
    }
    let [Some(start), Some(limit), Some(delta)] = [0, 1, 2].map(|i| bounds[i].one()) else {
        return refuse("its bounds must be finite numbers");
    };
    let steps = match (&limit - &start).checked_div(&delta) {
        Some(steps) => (-(-steps).floor()).to_f64().max(0.0),
        None => return refuse("a delta of 0 leads nowhere"),
    };
    if steps > crease_core::shape::MAX_ELEMENTS as f64 {
        return refuse("it has more than 2^27 elements, which is more than one value may have");
    }
    let n = steps as usize;
    c.budget.spend(n)?;
    match (&bounds[0].data, &bounds[2].data) {
        (Data::Int(start), Data::Int(delta)) => {
            let (start, delta) = (start[0], delta[0]);
            let all: Option<Vec<i64>> = (0..n as i64).map(|i| start.checked_add(i.checked_mul(delta)?)).collect();
            match all {
                Some(all) => known(Known::ints(vec![n], all)),
                None => refuse("it leaves the integers of 64 bits"),
            }
        }
        (Data::Float(start), Data::Float(delta)) => {
            known(Known::floats(vec![n], (0..n).map(|i| start[0] + i as f64 * delta[0]).collect()))
        }
        _ => refuse("its bounds have different types"),
    }
}

pub fn cast(c: &mut Call<'_>) -> Results {
    if !c.has("to") {
        return refuse("it does not say to which type");
    }
    let to = c.int("to", 0)?;
    let x = c.need(0)?;
    convert(c, x, i32::try_from(to).unwrap_or(-1))
}

/// The type of the other argument is that of floats if its numbers are.
pub fn cast_like(c: &mut Call<'_>) -> Results {
    let to = match c.need(1)? {
        Value::Real(_) if c.is_whole(1) => 7,
        Value::Real(_) | Value::Masked(_) => 11,
        Value::Known(Known { data: Data::Float(_), .. }) => 11,
        Value::Known(Known { data: Data::Int(_), .. }) => 7,
        Value::Known(Known { data: Data::Bool(_), .. }) => 9,
    };
    let x = c.need(0)?;
    convert(c, x, to)
}

/// Numbers of the program are real numbers and stay what they are, but for types of integers, to which they are cut, and truth values, which hold where they are not 0; constants
/// become the nearest number of the type.
fn convert(c: &mut Call<'_>, x: Value, to: i32) -> Results {
    let (of, ..) = kind(to).map_err(Fault::Node)?;
    let k = match (x, of) {
        (Value::Real(a), Kind::Float) => return Ok(vec![Value::Real(a)]),
        (Value::Masked(m), Kind::Float) => return Ok(vec![Value::Masked(m)]),
        (Value::Masked(_), _) => return refuse("it casts minus infinity to a type that does not have it"),
        (Value::Real(a), Kind::Int) if c.is_whole(0) => return Ok(vec![Value::Real(a)]),
        (Value::Real(a), Kind::Int) => return one(truncated(c, a)?),
        (Value::Real(a), Kind::Bool) => {
            let zero = c.constant(0.0)?;
            return one(c.apply(Op::Compare(Comparison::NotEqual), &[a, zero])?);
        }
        (Value::Known(k), _) => k,
    };
    c.budget.spend(k.len())?;
    let dims = k.dims.clone();
    let data = match (&k.data, of) {
        (Data::Float(d), Kind::Float) => Data::Float(d.iter().map(|&x| rounded(x, to)).collect()),
        // an integer is rounded once
        (Data::Int(d), Kind::Float) if to == 1 => Data::Float(d.iter().map(|&i| f64::from(i as f32)).collect()),
        (Data::Int(d), Kind::Float) => Data::Float(d.iter().map(|&i| rounded(i as f64, to)).collect()),
        (Data::Bool(d), Kind::Float) => Data::Float(d.iter().map(|&t| f64::from(u8::from(t))).collect()),
        (Data::Float(d), Kind::Int) => {
            let inside = |x: &&f64| x.is_finite() && x.abs() < 9e18;
            if !d.iter().all(|x| inside(&x)) {
                return refuse("it casts a number to an integer that has none");
            }
            Data::Int(d.iter().map(|&x| x as i64).collect())
        }
        (Data::Int(d), Kind::Int) => Data::Int(d.clone()),
        (Data::Bool(d), Kind::Int) => Data::Int(d.iter().map(|&t| i64::from(t)).collect()),
        (Data::Float(d), Kind::Bool) => Data::Bool(d.iter().map(|&x| x != 0.0).collect()),
        (Data::Int(d), Kind::Bool) => Data::Bool(d.iter().map(|&i| i != 0).collect()),
        (Data::Bool(d), Kind::Bool) => Data::Bool(d.clone()),
    };
    if of == Kind::Int && !fits(&data, to) {
        return refuse("it casts a number to a type of integers that does not hold it");
    }
    known(Known { dims, data })
}

/// Whether a type of integers holds these.
fn fits(data: &Data, to: i32) -> bool {
    let Data::Int(d) = data else { return true };
    let (low, high) = match to {
        2 => (0, i64::from(u8::MAX)),
        3 => (i64::from(i8::MIN), i64::from(i8::MAX)),
        4 => (0, i64::from(u16::MAX)),
        5 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        6 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        12 => (0, i64::from(u32::MAX)),
        13 => (0, i64::MAX),
        _ => (i64::MIN, i64::MAX),
    };
    d.iter().all(|i| (low..=high).contains(i))
}
