//! What is wrong with a model file: one message with the operator, the node, and what would do.

use crease_core::{BuildError, OpError, ShapeError, printable};

/// Why a model file is refused.
///
/// ```
/// use crease_formats::onnx::{Options, parse_onnx};
/// let error = parse_onnx(b"program f(x) = x", &Options::default()).unwrap_err();
/// assert!(error.to_string().starts_with("this is no ONNX model: "));
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OnnxError {
    /// Bytes that are no such file, or one that contradicts itself.
    #[error("this is no ONNX model: {0}")]
    Malformed(String),
    /// An operator that is not read.
    #[error("node `{node}`: operator `{operator}` is not supported{hint}")]
    Operator {
        /// The operator.
        operator: String,
        /// The node.
        node: String,
        /// What is.
        hint: String,
    },
    /// An operator that cannot be applied in this way.
    #[error("node `{node}` ({operator}): {why}")]
    Node {
        /// The operator.
        operator: String,
        /// The node.
        node: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// An input or output that is not read.
    #[error("`{name}`: {why}")]
    Port {
        /// Its name.
        name: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// A tensor of constants that is not read.
    #[error("tensor `{name}`: {why}")]
    Tensor {
        /// Its name.
        name: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// More than the limits allow.
    #[error("this model {what}, more than the limit of {limit}")]
    Limit {
        /// What there is too much of.
        what: String,
        /// The limit.
        limit: u64,
    },
}

/// Why an operator cannot be applied; the node is added by who asked for it.
#[derive(Debug)]
pub(super) enum Fault {
    /// What is wrong.
    Node(String),
}

impl From<BuildError> for Fault {
    fn from(e: BuildError) -> Self {
        Fault::Node(e.to_string())
    }
}

impl From<ShapeError> for Fault {
    fn from(e: ShapeError) -> Self {
        Fault::Node(e.to_string())
    }
}

impl From<OpError> for Fault {
    fn from(e: OpError) -> Self {
        Fault::Node(e.to_string())
    }
}

/// A fault of a node.
pub(super) fn refuse<T>(why: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Node(why.into()))
}

/// A name in a message: what a file calls things may be long, and hold what steers a terminal.
pub(super) fn cut(name: &str) -> String {
    let name = printable(name);
    match name.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.into_owned(),
    }
}
