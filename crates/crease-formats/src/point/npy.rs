//! The NPY format of NumPy: a header, which is a Python dictionary in text, and then the bare numbers.
//!
//! Floats and integers of either byte order are read; complex numbers, strings and objects are not. The header is
//! checked against the length of the data before anything is allocated for it.

use super::PointError;
use crate::memory;
use crease_core::{Rational, Shape};
use std::io::Read;

fn fault(why: impl Into<String>) -> PointError {
    PointError::Npy(why.into())
}

/// The shape and the numbers, in row-major order, of an array.
pub(super) fn read(mut bytes: &[u8], name: &str) -> Result<(Shape, Vec<Rational>), PointError> {
    let header = Header::read(&mut bytes)?;
    let values = header.numbers(&header.shape, bytes, name)?;
    Ok((header.shape, values))
}

/// What stands before the numbers.
struct Header {
    kind: Kind,
    /// Whether the first axis runs fastest, instead of the last.
    fortran: bool,
    shape: Shape,
}

impl Header {
    fn read(reader: &mut impl Read) -> Result<Header, PointError> {
        let text = header_text(reader)?.ok_or_else(|| fault("it has no NPY header"))?;
        let text = std::str::from_utf8(&text).map_err(|_| fault("its header is not text"))?;
        let field = |key: &str| field(text, key).ok_or_else(|| fault(format!("its header has no `{key}`")));
        let kind = field("descr")?;
        let kind = Kind::parse(kind).ok_or_else(|| {
            fault(format!(
                "its numbers are of type {}; what is read are f4, f8, integers and truth values",
                quoted(kind)
            ))
        })?;
        let fortran = field("fortran_order")?.starts_with("True");
        let shape = dims(field("shape")?).ok_or_else(|| fault("its shape cannot be read"))?;
        let shape = Shape::new(shape).map_err(|e| fault(e.to_string()))?;
        Ok(Header { kind, fortran, shape })
    }

    /// All of the numbers, of which there are as many as the shape says.
    fn numbers(&self, shape: &Shape, data: &[u8], name: &str) -> Result<Vec<Rational>, PointError> {
        let size = self.kind.size;
        if shape.len().checked_mul(size) != Some(data.len()) {
            return Err(fault(format!("shape {shape} of {size}-byte numbers does not match {} bytes", data.len())));
        }
        memory::exact_numbers(shape.len()).map_err(fault)?;
        let mut values = Vec::with_capacity(shape.len());
        for (i, raw) in data.chunks_exact(size).enumerate() {
            let unfit = |what| PointError::NotFinite { name: format!("{name}{}", self.place(shape, i)), what };
            values.push(self.kind.number(raw).map_err(unfit)?);
        }
        Ok(if self.fortran { row_major(shape, &values) } else { values })
    }

    /// The index of a number that is stored as number `i`, such as `[3, 0]`; nothing where there is one only.
    fn place(&self, shape: &Shape, mut i: usize) -> String {
        let mut index: Vec<usize> = shape.dims().to_vec();
        let mut next = |size: &mut usize| {
            let length = *size;
            *size = i % length;
            i /= length;
        };
        match self.fortran {
            true => index.iter_mut().for_each(&mut next),
            false => index.iter_mut().rev().for_each(&mut next),
        }
        if index.is_empty() { String::new() } else { format!("{index:?}") }
    }
}

/// The header's text, if there is one. What is kept is what is there, whatever length it states.
fn header_text(reader: &mut impl Read) -> Result<Option<Vec<u8>>, PointError> {
    let unread = |e: std::io::Error| fault(e.to_string());
    let mut take = |n: u64| {
        let mut bytes = Vec::new();
        reader.by_ref().take(n).read_to_end(&mut bytes).map_err(unread)?;
        Ok::<_, PointError>(bytes)
    };
    let start = take(8)?;
    let length = match start.strip_prefix(b"\x93NUMPY") {
        Some([1, _]) => take(2)?,
        Some([2 | 3, _]) => take(4)?,
        _ => return Ok(None),
    };
    let length = match length[..] {
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => return Ok(None),
    };
    let text = take(length)?;
    Ok((text.len() as u64 == length).then_some(text))
}

/// The rows of an array in NPY format, one at a time; an array whose first axis runs fastest has no rows in one piece, and is read as a
/// whole.
///
/// ```
/// let mut bytes = b"\x93NUMPY\x01\x00\x46\x00".to_vec();
/// bytes.extend(format!("{:<69}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }").bytes());
/// bytes.extend([1.0f32, 0.5].iter().flat_map(|x| x.to_le_bytes()));
/// let rows = crease_formats::point::Rows::new(&bytes[..])?;
/// assert_eq!(rows.shape().dims(), [1]);
/// assert_eq!(rows.map(|row| row.unwrap()[0].to_string()).collect::<Vec<_>>(), ["1", "0.5"]);
/// # Ok::<(), crease_formats::PointError>(())
/// ```
pub struct Rows<R> {
    reader: R,
    header: Header,
    row: Shape,
    left: usize,
    /// All numbers that are left, the last first, where rows are not in one piece.
    whole: Option<Vec<Rational>>,
}

impl<R: Read> Rows<R> {
    /// Reads the header.
    pub fn new(mut reader: R) -> Result<Self, PointError> {
        let header = Header::read(&mut reader)?;
        let Some((&left, row)) = header.shape.dims().split_first() else {
            return Err(fault("it holds one number, and has no rows"));
        };
        let row = Shape::new(row.to_vec()).map_err(|e| fault(e.to_string()))?;
        let whole = if header.fortran {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).map_err(|e| fault(e.to_string()))?;
            let mut numbers = header.numbers(&header.shape, &bytes, "it")?;
            numbers.reverse();
            Some(numbers)
        } else {
            None
        };
        Ok(Rows { reader, header, row, left, whole })
    }

    /// The shape of a row.
    pub fn shape(&self) -> &Shape {
        &self.row
    }

    fn row(&mut self) -> Result<Vec<Rational>, PointError> {
        if let Some(whole) = &mut self.whole {
            let rest = whole.len().saturating_sub(self.row.len());
            return Ok(whole.drain(rest..).rev().collect());
        }
        let size = self.row.len().saturating_mul(self.header.kind.size);
        let mut bytes = Vec::new();
        let mut read = |n: u64| self.reader.by_ref().take(n).read_to_end(&mut bytes).map_err(|e| fault(e.to_string()));
        read(size as u64)?;
        if self.left == 1 && read(1)? > 0 {
            return Err(fault(format!("more numbers follow than the shape {} has", self.header.shape)));
        }
        self.header.numbers(&self.row, &bytes, "it")
    }
}

impl<R: Read> Iterator for Rows<R> {
    type Item = Result<Vec<Rational>, PointError>;

    fn next(&mut self) -> Option<Self::Item> {
        let left = self.left.checked_sub(1)?;
        let row = self.row();
        self.left = if row.is_ok() { left } else { 0 };
        Some(row)
    }
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

/// What stands in quotes at the start of a text, with them, or else its first letters.
fn quoted(text: &str) -> String {
    let inside = text.strip_prefix('\'').and_then(|t| t.split_once('\'')).map(|t| format!("'{}'", t.0));
    inside.unwrap_or_else(|| text.to_string()).chars().take(16).collect()
}
