//! Arithmetic on numbers that are known: what shapes are computed from. It is done while the file is read, and leaves no equation.
//!
//! Integers and truth values are always computed here, for programs have none. Floats are if there are few of them and the result is the exact one;
//! where it is not a double, an equation on constants says it exactly.

use super::call::{Call, Results, together};
use super::error::{Fault, refuse};
use super::operators::strides;
use super::values::{Data, Known, Value, count};
use crease_core::{Layout, Rational};
use std::sync::Arc;

/// Floats up to this many are computed at once.
const FEW: usize = 1024;

/// For operators that are read on known numbers only.
pub(super) fn only(c: &mut Call<'_>) -> Results {
    let computed = c.args.iter().flatten().any(|a| a.known().is_none());
    refuse(match computed {
        true => {
            "it is supported where its arguments are constants, as in arithmetic on shapes, but one is computed from inputs"
        }
        false => "it is not supported for constants of this type",
    })
}

/// The result of an operator on known numbers, if it can be computed here.
pub(super) fn fold(operator: &str, c: &mut Call<'_>) -> Result<Option<Vec<Value>>, Fault> {
    // arguments at the end that are left out do not count
    let there = c.args.iter().rposition(Option::is_some).map_or(0, |i| i + 1);
    let known: Option<Vec<Known>> =
        c.args[..there].iter().map(|a| a.as_ref().and_then(Value::known).cloned()).collect();
    let Some(args) = known.filter(|k| !k.is_empty()) else { return Ok(None) };
    let result = match (operator, &args[..]) {
        ("Add" | "Sub" | "Mul" | "Div" | "Mod" | "Pow", [a, b]) => {
            let fmod = operator == "Mod" && c.flag("fmod", false)?;
            arithmetic(c, operator, a, b, fmod)?
        }
        ("Min" | "Max" | "Sum", [first, rest @ ..]) => {
            let mut all = Some(first.clone());
            for b in rest {
                all = match all {
                    Some(a) => arithmetic(c, if operator == "Sum" { "Add" } else { operator }, &a, b, false)?,
                    None => None,
                };
            }
            all
        }
        ("Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "And" | "Or" | "Xor", [a, b]) => {
            compare(c, operator, a, b)?
        }
        ("Not" | "Neg" | "Abs" | "Floor" | "Ceil" | "Sqrt", [a]) => unary(operator, a)?,
        ("Where", [condition, a, b]) => choose(c, condition, a, b)?,
        ("ReduceProd" | "ReduceSum" | "ReduceMax" | "ReduceMin", [a, ..]) => reduce(c, operator, a)?,
        _ => None,
    };
    Ok(result.map(|k| vec![Value::Known(k)]))
}

/// Both arguments in the shape that they spread to.
fn paired(c: &mut Call<'_>, a: &Known, b: &Known) -> Result<(Known, Known), Fault> {
    let dims = together(&a.dims, &b.dims)?;
    let n = count(&dims)?;
    c.budget.spend(n)?;
    Ok((spread(a, &dims), spread(b, &dims)))
}

fn spread(k: &Known, to: &[usize]) -> Known {
    if k.dims == to {
        return k.clone();
    }
    let (strides, skip) = (strides(&k.dims), to.len() - k.dims.len());
    let step = |i: usize| if i < skip || k.dims[i - skip] == 1 { 0 } else { strides[i - skip] };
    let loops: Vec<_> = to.iter().enumerate().map(|(i, &n)| (n, step(i))).collect();
    if to.contains(&0) {
        k.pick(to.to_vec(), std::iter::empty())
    } else {
        k.pick(to.to_vec(), Layout::strided(0, &loops).iter())
    }
}

fn arithmetic(c: &mut Call<'_>, operator: &str, a: &Known, b: &Known, fmod: bool) -> Result<Option<Known>, Fault> {
    match (&a.data, &b.data) {
        (Data::Int(_), Data::Int(_)) => {}
        (Data::Float(x), Data::Float(y)) if x.len() <= FEW && y.len() <= FEW && !matches!(operator, "Mod" | "Pow") => {}
        _ => return Ok(None),
    }
    let (a, b) = paired(c, a, b)?;
    let dims = a.dims.clone();
    let data = match (&a.data, &b.data) {
        (Data::Int(x), Data::Int(y)) => {
            let all: Option<Arc<[i64]>> = x.iter().zip(y.iter()).map(|(&x, &y)| whole(operator, x, y, fmod)).collect();
            match all {
                Some(all) => Data::Int(all),
                None => return refuse("it divides integers by 0, or leaves those of 64 bits"),
            }
        }
        (Data::Float(x), Data::Float(y)) => {
            let all: Option<Arc<[f64]>> = x.iter().zip(y.iter()).map(|(&x, &y)| exact(operator, x, y)).collect();
            match all {
                Some(all) => Data::Float(all),
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    Ok(Some(Known { dims, data }))
}

fn whole(operator: &str, x: i64, y: i64, fmod: bool) -> Option<i64> {
    match operator {
        "Add" => x.checked_add(y),
        "Sub" => x.checked_sub(y),
        "Mul" => x.checked_mul(y),
        // towards 0
        "Div" => x.checked_div(y),
        // the sign is that of the divisor, or with fmod that of the dividend
        "Mod" if fmod => x.checked_rem(y),
        "Mod" => Some(match x.checked_rem(y)? {
            r if r != 0 && (r < 0) != (y < 0) => r + y,
            r => r,
        }),
        "Pow" => x.checked_pow(u32::try_from(y).ok()?),
        "Min" => Some(x.min(y)),
        "Max" => Some(x.max(y)),
        _ => None,
    }
}

/// The result, if it is a double.
fn exact(operator: &str, x: f64, y: f64) -> Option<f64> {
    if x == f64::NEG_INFINITY || y == f64::NEG_INFINITY {
        // masks: what is added to minus infinity, and what is compared with it
        return match operator {
            "Add" => Some(x + y),
            "Min" => Some(x.min(y)),
            "Max" => Some(x.max(y)),
            _ => None,
        }
        .filter(|r| !r.is_nan());
    }
    let (a, b) = (Rational::from_f64(x)?, Rational::from_f64(y)?);
    let r = match operator {
        "Add" => a + b,
        "Sub" => a - b,
        "Mul" => a * b,
        "Div" => a.checked_div(&b)?,
        "Min" => a.min(b),
        "Max" => a.max(b),
        _ => return None,
    };
    let near = r.to_f64();
    (Rational::from_f64(near)? == r).then_some(near)
}

fn compare(c: &mut Call<'_>, operator: &str, a: &Known, b: &Known) -> Result<Option<Known>, Fault> {
    let (a, b) = paired(c, a, b)?;
    let holds = |order: Option<std::cmp::Ordering>| match operator {
        "Equal" => order.is_some_and(|o| o.is_eq()),
        "Greater" => order.is_some_and(|o| o.is_gt()),
        "GreaterOrEqual" => order.is_some_and(|o| o.is_ge()),
        "Less" => order.is_some_and(|o| o.is_lt()),
        _ => order.is_some_and(|o| o.is_le()),
    };
    let data: Vec<bool> = match (&a.data, &b.data) {
        (Data::Bool(x), Data::Bool(y)) => match operator {
            "And" => x.iter().zip(y.iter()).map(|(&x, &y)| x && y).collect(),
            "Or" => x.iter().zip(y.iter()).map(|(&x, &y)| x || y).collect(),
            "Equal" => x.iter().zip(y.iter()).map(|(x, y)| x == y).collect(),
            "Xor" => x.iter().zip(y.iter()).map(|(x, y)| x != y).collect(),
            _ => return Ok(None),
        },
        (_, _) if matches!(operator, "And" | "Or" | "Xor") => return Ok(None),
        (Data::Int(x), Data::Int(y)) => x.iter().zip(y.iter()).map(|(x, y)| holds(Some(x.cmp(y)))).collect(),
        (Data::Float(x), Data::Float(y)) => x.iter().zip(y.iter()).map(|(x, y)| holds(x.partial_cmp(y))).collect(),
        _ => return Ok(None),
    };
    Ok(Some(Known::bools(a.dims, data)))
}

fn unary(operator: &str, a: &Known) -> Result<Option<Known>, Fault> {
    let dims = a.dims.clone();
    let data = match (operator, &a.data) {
        ("Not", Data::Bool(d)) => Data::Bool(d.iter().map(|t| !t).collect()),
        ("Neg" | "Abs", Data::Int(d)) => {
            let of = |i: &i64| if operator == "Neg" { i.checked_neg() } else { i.checked_abs() };
            match d.iter().map(of).collect::<Option<Arc<[i64]>>>() {
                Some(all) => Data::Int(all),
                None => return refuse("it leaves the integers of 64 bits"),
            }
        }
        ("Neg", Data::Float(d)) => Data::Float(d.iter().map(|x| -x).collect()),
        ("Abs", Data::Float(d)) => Data::Float(d.iter().map(|x| x.abs()).collect()),
        ("Floor", Data::Float(d)) => Data::Float(d.iter().map(|x| x.floor()).collect()),
        ("Ceil", Data::Float(d)) => Data::Float(d.iter().map(|x| x.ceil()).collect()),
        // only roots that are exact; the others stay equations
        ("Sqrt", Data::Float(d)) if d.len() <= FEW => {
            let root = |x: &f64| {
                let (r, of) = (Rational::from_f64(x.sqrt())?, Rational::from_f64(*x)?);
                (&r * &r == of).then(|| x.sqrt())
            };
            match d.iter().map(root).collect::<Option<Arc<[f64]>>>() {
                Some(all) => Data::Float(all),
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    Ok(Some(Known { dims, data }))
}

fn choose(c: &mut Call<'_>, condition: &Known, a: &Known, b: &Known) -> Result<Option<Known>, Fault> {
    let dims = together(&together(&condition.dims, &a.dims)?, &b.dims)?;
    let n = count(&dims)?;
    c.budget.spend(4 * n)?;
    let (condition, a, b) = (spread(condition, &dims), spread(a, &dims), spread(b, &dims));
    let Data::Bool(holds) = &condition.data else { return Ok(None) };
    let Some(both) = Known::join(&[a, b], vec![2 * n]) else { return refuse("its arguments have different types") };
    Ok(Some(both.pick(dims, (0..n).map(|i| if holds[i] { i } else { n + i }))))
}

/// Integers along some axes together; floats are left to equations.
fn reduce(c: &mut Call<'_>, operator: &str, a: &Known) -> Result<Option<Known>, Fault> {
    let Data::Int(d) = &a.data else { return Ok(None) };
    let axes = super::operators::axes_of(c, a.dims.len())?;
    let keep = c.flag("keepdims", true)?;
    let dims: Vec<usize> = (0..a.dims.len()).map(|i| if axes.contains(&i) { 1 } else { a.dims[i] }).collect();
    let mut all: Vec<Option<i64>> = vec![None; count(&dims)?];
    let (from, to) = (strides(&a.dims), strides(&dims));
    for (i, &x) in d.iter().enumerate() {
        let at = |j: usize| if axes.contains(&j) { 0 } else { i as isize / from[j] % a.dims[j] as isize * to[j] };
        let place = (0..a.dims.len()).map(at).sum::<isize>() as usize;
        all[place] = match (operator, all[place]) {
            (_, None) => Some(x),
            ("ReduceProd", Some(y)) => y.checked_mul(x),
            ("ReduceSum", Some(y)) => y.checked_add(x),
            ("ReduceMax", Some(y)) => Some(y.max(x)),
            (_, Some(y)) => Some(y.min(x)),
        };
        if all[place].is_none() {
            return refuse("it leaves the integers of 64 bits");
        }
    }
    let empty = match operator {
        "ReduceProd" => Some(1),
        "ReduceSum" => Some(0),
        _ => None,
    };
    let Some(all) = all.into_iter().map(|x| x.or(empty)).collect::<Option<Vec<_>>>() else {
        return refuse("there is no largest and no smallest of no numbers");
    };
    let dims = if keep { dims } else { (0..a.dims.len()).filter(|i| !axes.contains(i)).map(|i| a.dims[i]).collect() };
    Ok(Some(Known::ints(dims, all)))
}
