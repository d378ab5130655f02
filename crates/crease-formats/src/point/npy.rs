//! The NPY format of NumPy: a header, which is a Python dictionary in text, and then the bare numbers.
//!
//! Floats and integers of either byte order are read; complex numbers, strings and objects are not. The header is
//! checked against the length of the data before anything is allocated for it.

use super::PointError;
use crease_core::{Rational, Shape};

/// The shape and the numbers, in row-major order, of an array.
pub(super) fn read(bytes: &[u8], name: &str) -> Result<(Shape, Vec<Rational>), PointError> {
    let fault = |why: String| PointError::Npy(why);
    let (header, data) = split(bytes).ok_or_else(|| fault("it has no NPY header".into()))?;
    let header = std::str::from_utf8(header).map_err(|_| fault("its header is not text".into()))?;
    let field = |key: &str| field(header, key).ok_or_else(|| fault(format!("its header has no `{key}`")));

    let kind = field("descr")?;
    let kind = Kind::parse(kind).ok_or_else(|| fault(format!("its numbers are of type {}", cut(kind))))?;
    let fortran = field("fortran_order")?.starts_with("True");
    let shape = dims(field("shape")?).ok_or_else(|| fault("its shape cannot be read".into()))?;
    let shape = Shape::new(shape).map_err(|e| fault(e.to_string()))?;
    let needed = shape.len().checked_mul(kind.size);
    if needed != Some(data.len()) {
        return Err(fault(format!("shape {shape} of {}-byte numbers does not match {} bytes", kind.size, data.len())));
    }

    let mut values = Vec::with_capacity(shape.len());
    for raw in data.chunks_exact(kind.size) {
        values.push(kind.number(raw).map_err(|what| PointError::NotFinite { name: name.into(), what })?);
    }
    if fortran {
        values = row_major(&shape, &values);
    }
    Ok((shape, values))
}

/// The header's text and the data after it.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = bytes.strip_prefix(b"\x93NUMPY")?;
    let (len, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        _ => return None,
    };
    rest.split_at_checked(len)
}

/// What follows `'key':` in the header.
fn field<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let at = header.find(&format!("'{key}'"))? + key.len() + 2;
    Some(header[at..].trim_start().strip_prefix(':')?.trim_start())
}

fn dims(text: &str) -> Option<Vec<usize>> {
    let inside = text.strip_prefix('(')?.split_once(')')?.0;
    let sizes = inside.split(',').map(str::trim).filter(|size| !size.is_empty());
    sizes.map(|size| size.parse().ok()).collect()
}

/// A type of numbers.
struct Kind {
    letter: u8,
    size: usize,
    big_endian: bool,
}

impl Kind {
    fn parse(text: &str) -> Option<Kind> {
        let quoted = text.strip_prefix('\'')?.split_once('\'')?.0;
        let &[order @ (b'<' | b'>' | b'|' | b'='), letter, size] = quoted.as_bytes() else { return None };
        let size = usize::from(size.checked_sub(b'0')?);
        let known = matches!((letter, size), (b'f', 4 | 8) | (b'i' | b'u', 1 | 2 | 4 | 8) | (b'b', 1));
        known.then_some(Kind { letter, size, big_endian: order == b'>' })
    }

    fn number(&self, raw: &[u8]) -> Result<Rational, &'static str> {
        let mut bytes = [0u8; 8];
        for (i, &byte) in raw.iter().enumerate() {
            bytes[if self.big_endian { raw.len() - 1 - i } else { i }] = byte;
        }
        let bits = u64::from_le_bytes(bytes);
        let shift = 64 - 8 * self.size as u32;
        let float = match (self.letter, self.size) {
            (b'f', 4) => f64::from(f32::from_bits(bits as u32)),
            (b'f', _) => f64::from_bits(bits),
            (b'i', _) => return Ok(Rational::from((bits << shift) as i64 >> shift)),
            _ => return Ok(Rational::from(bits)),
        };
        Rational::from_f64(float).ok_or(if float.is_nan() { "NaN" } else { "infinite" })
    }
}

/// The same array with its last axis running fastest instead of its first.
fn row_major(shape: &Shape, values: &[Rational]) -> Vec<Rational> {
    let dims = shape.dims();
    let mut strides = vec![1usize; dims.len()];
    for i in 1..dims.len() {
        strides[i] = strides[i - 1] * dims[i - 1];
    }
    let mut index = vec![0usize; dims.len()];
    let mut out = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        let at: usize = index.iter().zip(&strides).map(|(i, s)| i * s).sum();
        out.push(values[at].clone());
        for axis in (0..dims.len()).rev() {
            index[axis] += 1;
            if index[axis] < dims[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    out
}

fn cut(text: &str) -> String {
    text.chars().take(16).collect()
}
