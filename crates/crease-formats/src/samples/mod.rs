//! Samples: many inputs of one network, as they lie in files of data sets.
//!
//! Bytes of a CSV table, of an NPY or NPZ file or of a PNG picture enter; rows of exact numbers leave, with a label where there is one. Nothing is scaled or
//! rounded here, and nothing is read from files.

mod csv;
mod png;

pub use csv::read_csv;
pub use png::{Picture, read_png};

use crate::point::{Point, PointError, Rows};
use crease_core::{Rational, Shape};

/// One input of a network, its numbers in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Where it comes from, such as `line 3`.
    pub place: String,
    /// Its numbers.
    pub numbers: Vec<Rational>,
    /// What it shows, if that is known.
    pub label: Option<usize>,
}

/// What is wrong with samples.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// There is nothing.
    #[error("there are no samples in it")]
    Empty,
    /// A part of a table that is no number.
    #[error("{place}, column {column}: {why}")]
    Cell {
        /// The line.
        place: String,
        /// The column, counted from 1.
        column: usize,
        /// What stands there.
        why: String,
    },
    /// A sample of the wrong length.
    #[error("{place} has {got} numbers; the network takes {want}, or {} with a label in front", want + 1)]
    Length {
        /// Which.
        place: String,
        /// How many numbers it has.
        got: usize,
        /// How many the network takes.
        want: usize,
    },
    /// A label that is none.
    #[error("{place}: {text} is no label; labels are whole numbers from 0 on")]
    Label {
        /// Which.
        place: String,
        /// What stands there.
        text: String,
    },
    /// A picture that cannot be read.
    #[error("it is no PNG picture that can be read: {0}")]
    Png(String),
    /// An array that does not fit.
    #[error("{0}")]
    Array(String),
    /// Bytes that are no array.
    #[error(transparent)]
    Point(#[from] PointError),
}

/// A number as a label.
fn label(place: &str, x: &Rational) -> Result<usize, SampleError> {
    let whole = x.small_parts().filter(|p| p.1 == 1).and_then(|p| usize::try_from(p.0).ok());
    whole.ok_or_else(|| SampleError::Label { place: place.into(), text: x.to_string() })
}

/// A row of a table: as many numbers as the network takes, or one more, which is the label and comes first.
fn sample(place: String, mut numbers: Vec<Rational>, want: usize) -> Result<Sample, SampleError> {
    let got = numbers.len();
    let label = match got.checked_sub(want) {
        Some(0) => None,
        Some(1) => {
            let first = numbers.remove(0);
            Some(label(&place, &first)?)
        }
        _ => return Err(SampleError::Length { place, got, want }),
    };
    Ok(Sample { place, numbers, label })
}

/// The rows of an NPY array, each as many numbers as the network takes. An array that is one input is one sample.
///
/// ```
/// let error = crease_formats::samples::read_npy(b"x", 3).unwrap_err();
/// assert!(error.to_string().contains("NPY"));
/// ```
pub fn read_npy(bytes: &[u8], want: usize) -> Result<Vec<Sample>, SampleError> {
    let point = Point::from_npy(bytes, "it")?;
    let Some((shape, numbers)) = point.get("it") else { return Err(SampleError::Empty) };
    if shape.len() == want && shape.dims().first() != Some(&want) {
        return Ok(vec![Sample { place: "it".into(), numbers: numbers.to_vec(), label: None }]);
    }
    let rows = Rows::new(bytes)?;
    rows.enumerate().map(|(i, row)| sample(format!("row {i}"), row?, want)).collect()
}

/// The samples of an NPZ archive: the array that has as many numbers in each row as the network takes, and, of that many rows, an array of labels.
///
/// ```
/// let error = crease_formats::samples::read_npz(b"PK", 3).unwrap_err();
/// assert!(error.to_string().contains("no ZIP archive"));
/// ```
pub fn read_npz(bytes: &[u8], want: usize) -> Result<Vec<Sample>, SampleError> {
    let point = Point::from_npz(bytes)?;
    let rows = |shape: &Shape| shape.dims().first().copied().filter(|n| n * want == shape.len());
    let mut inputs = point.iter().filter_map(|(name, shape, numbers)| Some((name, rows(shape)?, numbers)));
    let Some((name, n, numbers)) = inputs.next() else {
        return Err(SampleError::Array(format!("no array of it has rows of {want} numbers")));
    };
    if let Some((other, ..)) = inputs.next() {
        return Err(SampleError::Array(format!(
            "both `{name}` and `{other}` of it have rows of {want} numbers; keep one"
        )));
    }
    let mut all = point.iter().filter(|(other, shape, _)| *other != name && shape.len() == n);
    let labels = all.next();
    if let (Some((one, ..)), Some((other, ..))) = (labels, all.next()) {
        return Err(SampleError::Array(format!(
            "both `{one}` and `{other}` of it may be labels of `{name}`; keep one"
        )));
    }
    let row = |(i, row): (usize, &[Rational])| {
        let place = format!("row {i}");
        let label = labels.map(|(_, _, all)| label(&place, &all[i])).transpose()?;
        Ok(Sample { place, numbers: row.to_vec(), label })
    };
    numbers.chunks(want).enumerate().map(row).collect()
}
