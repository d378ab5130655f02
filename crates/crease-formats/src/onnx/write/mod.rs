//! Programs as networks in ONNX: any program, derivatives included, for any runtime.
//!
//! A [`Program`] enters, the bytes of a model file leave ([`write_onnx`]): its inputs and outputs under their names, its equations as nodes that are named after
//! where they come from, its constants rounded to the nearest floats of one type, which is the only thing that is not exact. What a derivative picks at kinks is part of the
//! program, so it is the same in every runtime.
//!
//! ```text
//! Program ──inline──> equations that are needed ──apply──> nodes ──messages──> bytes
//!                        │
//!   view, assemble ──axes──> slices, transpositions, padding; else a gather or a scatter through a table of indices
//!   smooth   elementwise   lanes   select   product   conv
//! ```
//!
//! Calls are expanded. A selection is an `If`, so that a branch that is not taken is not computed, whatever its numbers would be. Truth values are
//! truth values of ONNX for as long as they are only combined, and numbers 0 and 1 where the program computes with them; the same holds of the positions that
//! a joint sort gives. Comparisons with NaN are false, as everywhere in crease.
//!
//! What a runtime does is its own: sums in another order, other last digits of smooth functions, its own answer for NaN in a maximum. Operators that
//! common runtimes have for f32 only are put in terms of others for f64 ([`smooth`](self)), exact to the last digits, `erf` excepted, for which see `docs/onnx.md`.
//!
//! Deliberately absent: open sizes of axes (a program has none), functions, training information, weights outside of the file.

mod apply;
mod assemble;
mod axes;
mod conv;
mod elementwise;
mod error;
mod lanes;
mod nodes;
mod positions;
mod product;
mod select;
mod smooth;
mod view;

pub use error::WriteError;

use super::messages::{ModelProto, OperatorSetIdProto, StringStringEntryProto};
use apply::Writing;
use crease_core::{Program, inline_within, unroll_within};
use nodes::Nodes;
use prost::Message;

/// The version of the set of operators that is written.
///
/// ```
/// assert!(crease_formats::onnx::OPSETS.contains(&crease_formats::onnx::WRITTEN_OPSET));
/// ```
pub const WRITTEN_OPSET: i64 = 18;

/// The version of the format that came with it.
const IR_VERSION: i64 = 8;

/// The most bytes of a file: lengths of messages are of 31 bits.
const MAX_BYTES: usize = i32::MAX as usize;

/// The type of all numbers of a network.
///
/// ```
/// use crease_formats::onnx::Element;
/// assert_eq!(Element::from_name("f64"), Some(Element::F64));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Element {
    /// Floats of 32 bits, which every runtime has.
    #[default]
    F32,
    /// Floats of 64 bits.
    F64,
}

impl Element {
    /// The name: `f32` or `f64`.
    pub fn name(self) -> &'static str {
        match self {
            Element::F32 => "f32",
            Element::F64 => "f64",
        }
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Element::F32, Element::F64].into_iter().find(|e| e.name() == name)
    }

    /// The number that ONNX has for it.
    fn code(self) -> i32 {
        match self {
            Element::F32 => 1,
            Element::F64 => 11,
        }
    }
}

/// How to write a program.
///
/// ```
/// use crease_formats::onnx::{Element, WriteOptions};
/// let names = ["loss".to_string()];
/// let options = WriteOptions { element: Element::F64, outputs: &names, ..WriteOptions::default() };
/// assert!(options.facts.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions<'a> {
    /// The type of all numbers.
    pub element: Element,
    /// The names of the outputs; nothing for `output`, or `output_0` and so on where there are several.
    pub outputs: &'a [String],
    /// What there is to say about the network, for people.
    pub about: &'a str,
    /// Facts about the network, by their names, for programs.
    pub facts: &'a [(String, String)],
    /// The most calls and equations to which calls are expanded.
    pub max_equations: u64,
}

impl Default for WriteOptions<'_> {
    fn default() -> Self {
        WriteOptions {
            element: Element::default(),
            outputs: &[],
            about: "",
            facts: &[],
            max_equations: crease_core::MAX_INLINED,
        }
    }
}

/// Writes a program as a network.
///
/// ```
/// use crease_core::{differentiate::{How, backprop}, relu, trace};
/// use crease_formats::onnx::{Options, WriteOptions, parse_onnx, write_onnx};
/// let p = trace(2, |x| relu(x[0]) * x[1] + 0.5).unwrap();
/// let bytes = write_onnx(&p, &WriteOptions::default())?;
/// assert_eq!(parse_onnx(&bytes, &Options::default()).unwrap().program, p);
/// // so is its gradient
/// let gradient = backprop(&p, &How::default()).unwrap();
/// assert!(write_onnx(&gradient, &WriteOptions::default()).is_ok());
/// # Ok::<(), crease_formats::onnx::WriteError>(())
/// ```
///
/// # Errors
///
/// A constant that the type cannot hold, selections nested too deeply, calls that expand to more than the limit, a file that would be too large.
pub fn write_onnx(p: &Program, options: &WriteOptions<'_>) -> Result<Vec<u8>, WriteError> {
    let p = &inline_within(&unroll_within(p, options.max_equations)?, options.max_equations)?;
    let count = p.outputs().len();
    let names: Vec<String> = match options.outputs {
        [] if count == 1 => vec!["output".into()],
        [] => (0..count).map(|i| format!("output_{i}")).collect(),
        given if given.len() == count => given.to_vec(),
        given => {
            return Err(WriteError::Names { program: p.name().into(), outputs: count, names: given.len() });
        }
    };
    let mut nodes = Nodes::new(options.element);
    for name in p.inputs().iter().map(|i| &*i.name).chain(names.iter().map(String::as_str)) {
        if !nodes.take(name) {
            return Err(WriteError::Twice(name.into()));
        }
    }
    let inputs = p.inputs().iter().map(|i| nodes.port(&i.name, i.shape.dims())).collect();
    let outputs: Vec<_> =
        names.iter().zip(p.outputs()).map(|(name, &o)| nodes.port(name, p.atom_shape(o).dims())).collect();
    let mut writing = Writing::new(nodes);
    writing.main(p, &names)?;
    let graph = writing.nodes.finish(p.name(), inputs, outputs)?;
    let entry = |key: &str, value: &str| StringStringEntryProto { key: Some(key.into()), value: Some(value.into()) };
    let model = ModelProto {
        ir_version: Some(IR_VERSION),
        producer_name: Some("crease".into()),
        producer_version: Some(env!("CARGO_PKG_VERSION").into()),
        doc_string: (!options.about.is_empty()).then(|| options.about.into()),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: Some(WRITTEN_OPSET) }],
        metadata_props: options.facts.iter().map(|(key, value)| entry(key, value)).collect(),
    };
    match model.encoded_len() > MAX_BYTES {
        true => Err(WriteError::TooLarge { site: None }),
        false => Ok(model.encode_to_vec()),
    }
}
