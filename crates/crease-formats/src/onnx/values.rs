//! Values while a graph is read: numbers that are known now, and numbers of the program.
//!
//! Tensors of a file enter; exact numbers leave. Every f16, bf16, f32 and f64 is a double, and a double is a rational number, so that no
//! weight is rounded. Integers and truth values stay what they are, for shapes are made of them. How long the data must be follows from
//! the shape, and is checked before anything is allocated. Complex, text, quantised and shorter floats are refused.

use super::error::{Fault, cut, refuse};
use super::messages::TensorProto;
use super::{External, Options};
use crate::memory::shown;
use crease_core::{Atom, Builder, Constant, Layout, Op, Rational, Shape};
use prost::bytes::Bytes;
use std::sync::Arc;

/// The most axes of a tensor.
pub(super) const MAX_RANK: usize = 32;

/// What a name of the graph stands for.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Numbers that the program computes, or is given.
    Real(Atom),
    /// Numbers that are known.
    Known(Known),
    /// Numbers that the program computes, but for some that are minus infinity: what is masked in front of a softmax.
    Masked(Masked),
}

/// Numbers of which some are minus infinity. No real number is that, so only what has a value there takes it: sums, what moves numbers about, and
/// softmax.
#[derive(Clone, Debug)]
pub(super) struct Masked {
    /// The numbers; where it is minus infinity, any.
    pub numbers: Atom,
    pub dims: Vec<usize>,
    /// Where it is minus infinity.
    pub gone: Arc<[bool]>,
}

/// Numbers that are known, in row-major order. Unlike a value of a program it may be empty.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub dims: Vec<usize>,
    pub data: Data,
}

#[derive(Clone, Debug)]
pub(super) enum Data {
    Float(Arc<[f64]>),
    Int(Arc<[i64]>),
    Bool(Arc<[bool]>),
}

/// What may still be allocated, in bytes.
pub(super) struct Budget {
    left: u64,
    limit: u64,
}

impl Budget {
    pub fn new(limit: u64) -> Self {
        Budget { left: limit, limit }
    }

    /// Charges memory for numbers of eight bytes before they are allocated.
    pub fn spend(&mut self, numbers: usize) -> Result<(), Fault> {
        let bytes = (numbers as u64).saturating_mul(8);
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => {
                return refuse(format!(
                    "it makes {numbers} numbers, which take {}; of the limit of {} for constants and tables of indices {} are left: raise `memory`",
                    shown(bytes),
                    shown(self.limit),
                    shown(self.left)
                ));
            }
        }
        Ok(())
    }
}

/// The number of elements, if there are not too many.
pub(super) fn count(dims: &[usize]) -> Result<usize, Fault> {
    if dims.len() > MAX_RANK {
        return refuse(format!("a tensor of {} axes; there may be {MAX_RANK}", dims.len()));
    }
    // an empty axis does not make the others smaller
    let product = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d.max(1)));
    match product.filter(|&n| n <= crease_core::shape::MAX_ELEMENTS) {
        Some(_) if dims.contains(&0) => Ok(0),
        Some(n) => Ok(n),
        None => refuse(format!("shape {dims:?} has more than 2^27 elements, which is more than one value may have")),
    }
}

impl Known {
    pub fn ints(dims: Vec<usize>, data: Vec<i64>) -> Self {
        Known { dims, data: Data::Int(data.into()) }
    }

    pub fn floats(dims: Vec<usize>, data: Vec<f64>) -> Self {
        Known { dims, data: Data::Float(data.into()) }
    }

    pub fn bools(dims: Vec<usize>, data: Vec<bool>) -> Self {
        Known { dims, data: Data::Bool(data.into()) }
    }

    pub fn len(&self) -> usize {
        match &self.data {
            Data::Float(d) => d.len(),
            Data::Int(d) => d.len(),
            Data::Bool(d) => d.len(),
        }
    }

    /// The elements as floats, if they are numbers.
    pub fn as_floats(&self) -> Option<Vec<f64>> {
        match &self.data {
            Data::Float(d) => Some(d.to_vec()),
            Data::Int(d) => Some(d.iter().map(|&i| i as f64).collect()),
            Data::Bool(_) => None,
        }
    }

    /// The elements that these positions name, in that order.
    pub fn pick(&self, dims: Vec<usize>, positions: impl Iterator<Item = usize>) -> Known {
        let data = match &self.data {
            Data::Float(d) => Data::Float(positions.map(|i| d[i]).collect()),
            Data::Int(d) => Data::Int(positions.map(|i| d[i]).collect()),
            Data::Bool(d) => Data::Bool(positions.map(|i| d[i]).collect()),
        };
        Known { dims, data }
    }

    /// One after the other.
    pub fn join(parts: &[Known], dims: Vec<usize>) -> Option<Known> {
        let data = match &parts.first()?.data {
            Data::Float(_) => {
                let all = parts.iter().map(|p| if let Data::Float(d) = &p.data { Some(&d[..]) } else { None });
                Data::Float(all.collect::<Option<Vec<_>>>()?.concat().into())
            }
            Data::Int(_) => {
                let all = parts.iter().map(|p| if let Data::Int(d) = &p.data { Some(&d[..]) } else { None });
                Data::Int(all.collect::<Option<Vec<_>>>()?.concat().into())
            }
            Data::Bool(_) => {
                let all = parts.iter().map(|p| if let Data::Bool(d) = &p.data { Some(&d[..]) } else { None });
                Data::Bool(all.collect::<Option<Vec<_>>>()?.concat().into())
            }
        };
        Some(Known { dims, data })
    }

    /// The same as numbers of the program: a constant of its table, or a tensor of constants.
    pub fn atom(&self, b: &mut Builder) -> Result<Atom, Fault> {
        let Data::Float(data) = &self.data else {
            return refuse("it computes with integers or truth values, and those must be known when the file is read");
        };
        if let Some(i) = data.iter().position(|x| !x.is_finite()) {
            return refuse(format!(
                "its constant is {} at {}, which is no number; minus infinity is read where it is added or chosen in front of a Softmax",
                data[i],
                place(i, &self.dims)
            ));
        }
        if self.dims.is_empty() && data.len() == 1 {
            return Ok(b.constant_f64(data[0])?);
        }
        let constant = Constant::new(Shape::new(self.dims.clone())?, data.clone())?;
        Ok(b.push1(Op::Constant(constant), &[])?)
    }

    /// Integers and truth values as the numbers that they are, if every one of them is a double.
    pub fn numbers(&self) -> Option<Known> {
        let exact = |i: &i64| i.unsigned_abs() <= 1 << 53;
        match &self.data {
            Data::Float(_) => Some(self.clone()),
            Data::Int(d) => {
                d.iter().all(exact).then(|| Known::floats(self.dims.clone(), d.iter().map(|&i| i as f64).collect()))
            }
            Data::Bool(d) => {
                Some(Known::floats(self.dims.clone(), d.iter().map(|&t| f64::from(u8::from(t))).collect()))
            }
        }
    }

    /// The only number there is, exactly.
    pub fn one(&self) -> Option<Rational> {
        match (self.len(), &self.data) {
            (1, Data::Float(d)) => Rational::from_f64(d[0]),
            (1, Data::Int(d)) => Some(Rational::from(d[0])),
            _ => None,
        }
    }
}

impl Value {
    pub fn dims(&self, b: &Builder) -> Vec<usize> {
        match self {
            Value::Real(a) => b.shape(*a).dims().to_vec(),
            Value::Known(k) => k.dims.clone(),
            Value::Masked(m) => m.dims.clone(),
        }
    }

    pub fn known(&self) -> Option<&Known> {
        match self {
            Value::Known(k) => Some(k),
            Value::Real(_) | Value::Masked(_) => None,
        }
    }

    /// Reads the value through an index map.
    pub fn moved(
        &self,
        layout: Layout,
        dims: Vec<usize>,
        b: &mut Builder,
        budget: &mut Budget,
    ) -> Result<Value, Fault> {
        let n = count(&dims)?;
        match self {
            Value::Real(a) => Ok(Value::Real(b.view(*a, layout, Shape::new(dims)?)?)),
            Value::Known(k) if n == 0 => Ok(Value::Known(k.pick(dims, std::iter::empty()))),
            Value::Known(k) => {
                if layout.len() != n || !layout.fits(k.len()) {
                    return refuse(format!("its indices leave the shape {:?}", k.dims));
                }
                budget.spend(n)?;
                Ok(Value::Known(k.pick(dims, layout.iter())))
            }
            Value::Masked(m) => {
                if layout.len() != n || !layout.fits(m.gone.len()) {
                    return refuse(format!("its indices leave the shape {:?}", m.dims));
                }
                budget.spend(n)?;
                let gone = layout.iter().map(|i| m.gone[i]).collect();
                let numbers = b.view(m.numbers, layout, Shape::new(dims.clone())?)?;
                Ok(Value::Masked(Masked { numbers, dims, gone }))
            }
        }
    }

    /// The same elements in another shape.
    pub fn reshaped(&self, dims: Vec<usize>, b: &mut Builder) -> Result<Value, Fault> {
        let (from, n) = (self.dims(b), count(&dims)?);
        if count(&from)? != n {
            return refuse(format!("{from:?} cannot be read as {dims:?}: they have different numbers of elements"));
        }
        Ok(match self {
            Value::Real(a) => Value::Real(b.reshape(*a, &Shape::new(dims)?)?),
            Value::Known(k) => Value::Known(Known { dims, data: k.data.clone() }),
            Value::Masked(m) => {
                let numbers = b.reshape(m.numbers, &Shape::new(dims.clone())?)?;
                Value::Masked(Masked { numbers, dims, gone: m.gone.clone() })
            }
        })
    }
}

/// An element by its indices.
pub(super) fn place(mut i: usize, dims: &[usize]) -> String {
    let mut at = Vec::new();
    for &d in dims.iter().rev() {
        at.push(i % d.max(1));
        i /= d.max(1);
    }
    at.reverse();
    format!("{at:?}")
}

/// What the numbers of a type are here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Float,
    Int,
    Bool,
}

/// The kind of numbers of a type of ONNX, how many bytes each takes, and what it is called.
pub(super) fn kind(data_type: i32) -> Result<(Kind, usize, &'static str), String> {
    Ok(match data_type {
        1 => (Kind::Float, 4, "float"),
        2 => (Kind::Int, 1, "uint8"),
        3 => (Kind::Int, 1, "int8"),
        4 => (Kind::Int, 2, "uint16"),
        5 => (Kind::Int, 2, "int16"),
        6 => (Kind::Int, 4, "int32"),
        7 => (Kind::Int, 8, "int64"),
        9 => (Kind::Bool, 1, "bool"),
        10 => (Kind::Float, 2, "float16"),
        11 => (Kind::Float, 8, "double"),
        12 => (Kind::Int, 4, "uint32"),
        13 => (Kind::Int, 8, "uint64"),
        16 => (Kind::Float, 2, "bfloat16"),
        other => {
            let name = match other {
                8 => "strings",
                14 | 15 => "complex numbers",
                17..=20 | 24 => "floats of 8 bits",
                21 | 22 | 25 | 26 => "integers of 4 bits and less",
                23 => "floats of 4 bits",
                _ => "a type that ONNX does not have",
            };
            return Err(format!(
                "its data type {other} ({name}) is not supported; float16, bfloat16, float, double, integers and bool are"
            ));
        }
    })
}

/// The numbers of a tensor of the file.
pub(super) fn read(t: &TensorProto, options: &Options<'_>, budget: &mut Budget) -> Result<Known, Fault> {
    let (of, size, called) = kind(t.data_type()).map_err(Fault::Node)?;
    let dims = t.dims.iter().map(|&d| usize::try_from(d));
    let Ok(dims) = dims.collect::<Result<Vec<_>, _>>() else {
        return refuse(format!("its shape {:?} has a negative axis", cut(&format!("{:?}", t.dims))));
    };
    let n = count(&dims)?;
    budget.spend(n)?;
    let raw: Option<Bytes> = match t.data_location() {
        0 => t.raw_data.clone(),
        1 => Some(external(t, n * size, options)?),
        other => return refuse(format!("it says that its data is at place {other}, which ONNX does not have")),
    };
    let (have, what) = match (&raw, t.data_type()) {
        (Some(raw), _) => (raw.len() / size * size, "raw_data"),
        (None, 1) => (t.float_data.len() * size, "float_data"),
        (None, 7) => (t.int64_data.len() * size, "int64_data"),
        (None, 11) => (t.double_data.len() * size, "double_data"),
        (None, 12 | 13) => (t.uint64_data.len() * size, "uint64_data"),
        (None, _) => (t.int32_data.len() * size, "int32_data"),
    };
    let exact = raw.as_ref().is_none_or(|raw| raw.len() == n * size);
    if have != n * size || !exact {
        return refuse(format!(
            "its shape {dims:?} of {called} needs {n} numbers, but its {what} holds {}",
            have / size
        ));
    }
    let bits = |i: usize| -> u64 {
        match &raw {
            Some(raw) => {
                let mut bytes = [0u8; 8];
                bytes[..size].copy_from_slice(&raw[i * size..(i + 1) * size]);
                u64::from_le_bytes(bytes)
            }
            None => match t.data_type() {
                1 => u64::from(t.float_data[i].to_bits()),
                7 => t.int64_data[i] as u64,
                11 => t.double_data[i].to_bits(),
                12 | 13 => t.uint64_data[i],
                _ => i64::from(t.int32_data[i]) as u64,
            },
        }
    };
    let data = match of {
        Kind::Float => Data::Float((0..n).map(|i| float(t.data_type(), bits(i))).collect()),
        Kind::Bool => Data::Bool((0..n).map(|i| bits(i) & 0xff != 0).collect()),
        Kind::Int => {
            let shift = 64 - 8 * size as u32;
            let signed = matches!(t.data_type(), 3 | 5 | 6 | 7);
            let int = |i: usize| match signed {
                true => Some((bits(i) << shift) as i64 >> shift),
                false => i64::try_from(bits(i) << shift >> shift).ok(),
            };
            match (0..n).map(int).collect::<Option<Vec<_>>>() {
                Some(ints) => Data::Int(ints.into()),
                None => return refuse("it holds an integer above 2^63, which is not supported"),
            }
        }
    };
    Ok(Known { dims, data })
}

/// A float of any type as a double, which it is.
fn float(data_type: i32, bits: u64) -> f64 {
    match data_type {
        1 => f64::from(f32::from_bits(bits as u32)),
        10 => half(bits as u16),
        16 => f64::from(f32::from_bits((bits as u16 as u32) << 16)),
        _ => f64::from_bits(bits),
    }
}

/// A float of 16 bits: one of sign, five of exponent, ten of the fraction.
fn half(bits: u16) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    };
    if sign == 1 { -size } else { size }
}

/// A double as the nearest number of a type of floats.
pub(super) fn rounded(x: f64, data_type: i32) -> f64 {
    match data_type {
        1 => f64::from(x as f32),
        10 | 16 => {
            // to so many bits of fraction, ties to even; below the smallest exponent to its steps
            let (bits, lowest, highest) = if data_type == 10 { (10, -14, 15) } else { (7, -126, 127) };
            let largest = (2.0 - 2f64.powi(-bits)) * 2f64.powi(highest);
            if x == 0.0 || !x.is_finite() {
                return x;
            }
            let exponent = ((x.abs().to_bits() >> 52) as i32 - 1023).max(lowest);
            let step = 2f64.powi(exponent - bits);
            let near = (x / step).round_ties_even() * step;
            if near.abs() > largest { f64::INFINITY.copysign(x) } else { near }
        }
        _ => x,
    }
}

/// The bytes of a tensor that lies in another file.
fn external(t: &TensorProto, needed: usize, options: &Options<'_>) -> Result<Bytes, Fault> {
    let entry = |key: &str| t.external_data.iter().find(|e| e.key() == key).map(|e| e.value());
    let number = |key: &str| match entry(key).map(str::parse::<u64>) {
        None => Ok(None),
        Some(Ok(n)) => Ok(Some(n)),
        Some(Err(_)) => refuse(format!("the {key} of its external data is no number")),
    };
    let Some(location) = entry("location") else { return refuse("its external data has no location") };
    let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':', '\0']);
    if !location.split('/').all(plain) {
        return refuse(format!(
            "its data is said to be in `{}`; external data is read from the folder of the model and those in it only",
            cut(location)
        ));
    }
    let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
    if length.is_some_and(|n| n != needed as u64) {
        return refuse(format!(
            "its external data is said to have {} bytes, its shape needs {needed}",
            length.unwrap_or(0)
        ));
    }
    let Some(read) = options.external else {
        return refuse(format!("its data is in another file, `{}`, which cannot be read from here", cut(location)));
    };
    let place = External { location: location.into(), offset, length: needed };
    match read(&place) {
        Ok(bytes) if bytes.len() == needed => Ok(bytes.into()),
        Ok(bytes) => refuse(format!("`{}` holds {} of the {needed} bytes that it needs", cut(location), bytes.len())),
        Err(why) => refuse(format!("its data cannot be read: {why}")),
    }
}
