//! Bytes to types and back: the text language of crease, networks in ONNX, the points at which programs are run, and formulas in DIMACS.
//!
//! Everything in this crate turns bytes or text into the types of [`crease_core`], or the other way round, and does
//! nothing else: no file is opened, nothing is printed, nothing is computed.
//!
//! ```
//! use crease_formats::{parse_expression, parse_point};
//! let point = parse_point("x=1/2")?;
//! let program = parse_expression("relu(x) - relu(-x)", &|name| point.shape_of(name).cloned())?;
//! assert_eq!(program.inputs().len(), 1);
//! assert_eq!(point.bind(&program)?[0].1[0].to_string(), "0.5");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod dimacs;
mod memory;
pub mod onnx;
pub mod point;
pub mod samples;
pub mod text;

pub use dimacs::{Cnf, DimacsError, parse_dimacs};
pub use onnx::{Network, OnnxError, parse_onnx};
pub use point::{Point, PointError, parse_point};
pub use text::{Module, TextError, parse, parse_bytes, parse_expression, parse_expression_text, parse_text};

/// What may be shared between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Network>();
    shared::<Module>();
    shared::<Cnf>();
    shared::<Point>();
    shared::<OnnxError>();
    shared::<TextError>();
    shared::<PointError>();
    shared::<DimacsError>();
};
