//! Resizing images: nearest neighbours are a view, linear interpolation is two views and a product with constants, axis by axis.
//!
//! Where the points of the result lie in the image is computed in rational numbers, so that what is half-way between two points is known to be.

use crate::onnx::call::{Call, Results, one, rational};
use crate::onnx::error::{Fault, refuse};
use crate::onnx::values::{Known, Value};
use crease_core::{Op, Rational, Shape};

/// How points of the result lie in the image.
struct How {
    nearest: bool,
    transformation: &'static str,
    rounding: &'static str,
}

/// How many numbers along an axis, and by how much it grows.
#[derive(Clone)]
struct Along {
    from: usize,
    to: usize,
    scale: Rational,
}

const MODES: [&str; 2] = ["nearest", "linear"];

pub fn upsample(c: &mut Call<'_>) -> Results {
    let nearest = c.one_of("mode", &MODES)? == "nearest";
    let scales = if c.opset < 9 { c.floats("scales")? } else { c.fixed(1, "scales")?.and_then(Known::as_floats) };
    let Some(scales) = scales else { return refuse("it has no scales") };
    let dims = c.dims(0)?;
    let along = by_scales(&dims, &scales)?;
    let how = How { nearest, transformation: "asymmetric", rounding: "floor" };
    resized(c, &along, &how)
}

pub fn resize(c: &mut Call<'_>) -> Results {
    let mode = c.word("mode", "nearest")?;
    let nearest = match mode.as_str() {
        "nearest" => true,
        "linear" => false,
        _ => return refuse(format!("mode `{mode}` is not supported; nearest, linear is")),
    };
    let dims = c.dims(0)?;
    if c.opset < 11 {
        let Some(scales) = c.fixed(1, "scales")?.and_then(Known::as_floats) else { return refuse("it has no scales") };
        if nearest && scales.iter().any(|&s| s < 1.0) {
            return refuse(
                "version 10 does not say which numbers are nearest where an image shrinks; newer versions do",
            );
        }
        let how = How { nearest, transformation: "asymmetric", rounding: "floor" };
        let along = by_scales(&dims, &scales)?;
        return resized(c, &along, &how);
    }
    if c.int("antialias", 0)? != 0 || c.int("exclude_outside", 0)? != 0 {
        return refuse("antialias and exclude_outside are not supported");
    }
    c.one_of("keep_aspect_ratio_policy", &["stretch"])?;
    let transformation = c.one_of(
        "coordinate_transformation_mode",
        &["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"],
    )?;
    let rounding = c.one_of("nearest_mode", &["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])?;
    let axes = match c.ints("axes")? {
        Some(axes) => {
            c.axes(&axes, dims.len())?;
            axes.iter().map(|&a| c.axis(a, dims.len())).collect::<Result<Vec<_>, _>>()?
        }
        None => (0..dims.len()).collect(),
    };
    let scales = c.fixed(2, "scales")?.filter(|k| k.len() > 0).and_then(Known::as_floats);
    let sizes = c.fixed_ints(3, "sizes")?.filter(|s| !s.is_empty());
    let mut along: Vec<Along> = dims.iter().map(|&n| Along { from: n, to: n, scale: Rational::ONE }).collect();
    match (scales, sizes) {
        (Some(scales), None) if scales.len() == axes.len() => {
            let picked: Vec<usize> = axes.iter().map(|&a| dims[a]).collect();
            for (a, &axis) in by_scales(&picked, &scales)?.into_iter().zip(&axes) {
                along[axis] = a;
            }
        }
        (None, Some(sizes)) if sizes.len() == axes.len() => {
            for (&to, &axis) in super::structure::naturals(&sizes)?.iter().zip(&axes) {
                let Some(scale) = Rational::new(to as i64, dims[axis] as i64) else {
                    return refuse("an axis is empty");
                };
                along[axis] = Along { from: dims[axis], to, scale };
            }
        }
        _ => return refuse(format!("it needs either scales or sizes, one for each of {} axes", axes.len())),
    }
    resized(c, &along, &How { nearest, transformation, rounding })
}

fn by_scales(dims: &[usize], scales: &[f64]) -> Result<Vec<Along>, Fault> {
    if dims.len() != scales.len() || scales.iter().any(|&s| s <= 0.0 || s > 1e6) {
        return refuse(format!("it has scales {scales:?} for {dims:?}; there must be one for each axis, above 0"));
    }
    let along = dims.iter().zip(scales).map(|(&from, &s)| {
        let scale = rational(s)?;
        let to = (&Rational::from(from as i64) * &scale).floor().to_f64();
        if to > crease_core::shape::MAX_ELEMENTS as f64 {
            return refuse(format!("an axis of size {from} cannot grow by {s}"));
        }
        Ok(Along { from, to: to as usize, scale })
    });
    along.collect()
}

/// Where a point of the result lies in the image.
fn place(i: usize, a: &Along, transformation: &str) -> Rational {
    let (x, half) = (Rational::from(i as i64), Rational::new(1, 2).unwrap_or_default());
    let scaled = |x: Rational| x.checked_div(&a.scale).unwrap_or_default();
    let [from, to] = [a.from, a.to].map(|n| Rational::from(n as i64));
    match transformation {
        "asymmetric" => scaled(x),
        "align_corners" if a.to == 1 => Rational::ZERO,
        "align_corners" => (x * (from - Rational::ONE)).checked_div(&(to - Rational::ONE)).unwrap_or_default(),
        "pytorch_half_pixel" if a.to == 1 => Rational::ZERO,
        "half_pixel_symmetric" => {
            // the result is as much to the left as to the right of the image, where its size was rounded
            let whole = &from * &a.scale;
            let adjusted = to.checked_div(&whole).unwrap_or(Rational::ONE);
            let offset = (&from * &half) * (Rational::ONE - adjusted);
            offset + scaled(x + &half) - half
        }
        _ => scaled(x + &half) - half,
    }
}

/// The position that is nearest, by the rule for what is half-way.
fn nearest(x: &Rational, rounding: &str, n: usize) -> usize {
    let half = Rational::new(1, 2).unwrap_or_default();
    let ceil = |x: Rational| -(-x).floor();
    let near = match rounding {
        "floor" => x.floor(),
        "ceil" => ceil(x.clone()),
        "round_prefer_ceil" => (x + &half).floor(),
        _ => ceil(x - &half),
    };
    (near.to_f64().max(0.0) as usize).min(n - 1)
}

fn resized(c: &mut Call<'_>, along: &[Along], how: &How) -> Results {
    let mut x = c.need(0)?;
    Shape::new(along.iter().map(|a| a.to).collect::<Vec<_>>())?;
    for (axis, a) in along.iter().enumerate() {
        if a.from == a.to && a.scale.is_one() {
            continue;
        }
        // a rational number takes as much room as four others
        c.budget.spend(4 * a.to)?;
        let places: Vec<Rational> = (0..a.to).map(|i| place(i, a, how.transformation)).collect();
        if how.nearest {
            let positions: Vec<usize> = places.iter().map(|x| nearest(x, how.rounding, a.from)).collect();
            x = c.gather(&x, axis, &positions)?;
            continue;
        }
        // beyond the border the outermost number goes on
        let last = Rational::from(a.from as i64 - 1);
        let places: Vec<Rational> = places.into_iter().map(|x| x.max(Rational::ZERO).min(last.clone())).collect();
        let low: Vec<usize> = places.iter().map(|x| x.floor().to_f64() as usize).collect();
        let high: Vec<usize> = low.iter().map(|&i| (i + 1).min(a.from - 1)).collect();
        let weights: Vec<f64> = places.iter().map(|x| (x - &x.floor()).to_f64()).collect();
        let [near, far] = [low, high].map(|p| c.gather(&x, axis, &p));
        let (near, far) = (near?, far?);
        let (near, far) = (c.atom(&near)?, c.atom(&far)?);
        let mut dims = vec![a.to];
        dims.resize(along.len() - axis, 1);
        let weights = Known::floats(dims, weights).atom(c.b)?;
        let way = c.apply(Op::Sub, &[far, near])?;
        let way = c.apply(Op::Mul, &[way, weights])?;
        x = Value::Real(c.apply(Op::Add, &[near, way])?);
    }
    match x {
        Value::Real(a) => one(a),
        known => Ok(vec![known]),
    }
}
