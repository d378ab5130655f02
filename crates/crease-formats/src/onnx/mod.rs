//! ONNX: trained networks as programs.
//!
//! The bytes of a model file enter, a [`Network`] leaves: a [`Program`] whose inputs are those of the graph and whose outputs are those of the
//! graph, in their order and, the inputs, by their names. Weights are constants, each exactly the number that the file holds, or inputs if
//! [`Weights::Inputs`] asks for that. What only shapes are computed from is computed while reading, so nothing of it is left in the program.
//! Every equation knows the node that it came from, and the layer where the node's name tells one.
//!
//! ```text
//! bytes ──weigh, messages──> ModelProto ──graph──> nodes in order ──operators──> equations
//!                                          │                          │
//!                                        values: exact constants    fold: arithmetic of shapes
//! ```
//!
//! Which operators are read is one table ([`operators`]), which `docs/onnx.md` repeats. Whatever else a file asks for, and whatever it gets wrong, is one
//! [`OnnxError`] with the operator and the node. Hostile files are refused within [`Limits`]: lengths are checked before anything is
//! allocated for them, and constants and tables of indices share one limit. No file is opened: data outside the model comes from a function of the caller.
//!
//! Inputs of integers or truth values are no variables: their numbers are given with the point ([`Options::given`]) and are constants. Roundings, positions and
//! comparisons of computed numbers are operations of programs, as are the two branches of an `If`. Minus infinity is read where a softmax makes 0 of it.
//!
//! Deliberately absent: loops and functions, sequences, quantised operators, training, operators of other domains.
//!
//! The numbers are real numbers. A runtime rounds after each operation, so its results differ in the last digits, and at ties it may round to either side.

mod branches;
mod call;
mod conditional;
mod error;
mod external;
mod fold;
mod graph;
pub mod messages;
mod operators;
mod order;
mod values;
mod weigh;
mod write;

pub use error::OnnxError;
pub use external::{External, read_beside};
pub use operators::operators;
pub use write::{Element, WRITTEN_OPSET, WriteError, WriteOptions, write_onnx};

use crease_core::{Constant, Program};

/// The versions of the set of operators that are read.
///
/// ```
/// assert!(crease_formats::onnx::OPSETS.contains(&17));
/// ```
pub const OPSETS: std::ops::RangeInclusive<i64> = 7..=26;

/// What becomes of the weights.
///
/// ```
/// use crease_formats::onnx::Weights;
/// assert_eq!(Weights::default(), Weights::Constants);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// They are constants of the program.
    #[default]
    Constants,
    /// They are inputs of the program, after those of the graph; [`Network::weights`] has their values. A weight that says how something is computed,
    /// such as a bound of a `Clip`, stays a constant.
    Inputs,
}

/// How far a file may go.
///
/// ```
/// use crease_formats::onnx::{Limits, Options, parse_onnx};
/// let limits = Limits { bytes: 10, ..Limits::default() };
/// let error = parse_onnx(&[0; 11], &Options { limits, ..Options::default() }).unwrap_err();
/// assert_eq!(error.to_string(), "this model has 11 bytes, more than the limit of 10");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of a file.
    pub bytes: u64,
    /// The most nodes, tensors, attributes, inputs, outputs and names, all together.
    pub parts: u64,
    /// The most bytes of all constants and tables of indices together, each number of which takes eight. They are counted before they are taken.
    pub memory: u64,
}

impl Limits {
    /// Enough for networks of some hundred million weights: 2 GiB of file, 2^20 parts, and memory as for all else.
    pub const DEFAULT: Limits = Limits { bytes: 1 << 31, parts: 1 << 20, memory: crease_core::Limits::DEFAULT.memory };
}

impl Default for Limits {
    fn default() -> Self {
        Limits::DEFAULT
    }
}

/// Reads data outside the model file, or says why not.
pub type ReadExternal<'a> = &'a dyn Fn(&External) -> Result<Vec<u8>, String>;

/// The numbers of an input that is no variable, in row-major order, by its name; nothing if there are none; or why they will not do.
pub type ReadGiven<'a> = &'a dyn Fn(&str) -> Result<Option<Vec<i64>>, String>;

/// How to read a model.
///
/// ```
/// use crease_formats::onnx::{Options, Weights};
/// let options = Options { name: "net.onnx", batch: 4, weights: Weights::Inputs, ..Options::default() };
/// assert!(options.external.is_none());
/// ```
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// What to call the model in reports and messages.
    pub name: &'a str,
    /// What becomes of weights.
    pub weights: Weights,
    /// The size of a first axis that has a name or nothing instead of a size.
    pub batch: usize,
    /// The sizes of other such axes: by the name, or as `input:axis`.
    pub dims: &'a [(String, usize)],
    /// Shapes of inputs that are known, such as those of a point. Where they have as many axes as the input, they say the sizes that the file
    /// leaves open. An empty name stands for every input.
    pub shapes: &'a [(String, Vec<usize>)],
    /// The numbers of inputs of integers and truth values, such as tokens and masks; without them such an input is refused. Their shapes are among `shapes` or follow from
    /// the file.
    pub given: Option<ReadGiven<'a>>,
    /// How to read data outside the file; nothing if that is refused.
    pub external: Option<ReadExternal<'a>>,
    /// How far to go.
    pub limits: Limits,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            name: "<model>",
            weights: Weights::default(),
            batch: 1,
            dims: &[],
            shapes: &[],
            given: None,
            external: None,
            limits: Limits::default(),
        }
    }
}

/// A model as a program, as [`parse_onnx`] returns it.
#[derive(Clone, Debug)]
pub struct Network {
    /// The program.
    pub program: Program,
    /// The names of its outputs, in order.
    pub outputs: Vec<String>,
    /// The weights that are inputs, by their names, with the values that the file has for them; nothing if they are constants.
    pub weights: Vec<(String, Constant)>,
    /// The names of the inputs of the graph that are no variables: integers and truth values, which were given.
    pub given: Vec<String>,
    /// The version of the set of operators.
    pub opset: i64,
}

/// Reads a model file.
///
/// ```
/// use crease_formats::onnx::{Options, messages::*, parse_onnx};
/// use prost::Message;
///
/// let axis = |n| DimensionProto { dim_value: Some(n), dim_param: None };
/// let shape = TensorShapeProto { dim: vec![axis(2)] };
/// let port = |name: &str| ValueInfoProto {
///     name: Some(name.into()),
///     r#type: Some(TypeProto { tensor_type: Some(TensorTypeProto { elem_type: Some(1), shape: Some(shape.clone()) }) }),
/// };
/// let node = NodeProto {
///     input: vec!["x".into()],
///     output: vec!["y".into()],
///     op_type: Some("Relu".into()),
///     ..Default::default()
/// };
/// let graph = GraphProto { node: vec![node], input: vec![port("x")], output: vec![port("y")], ..Default::default() };
/// let opset = OperatorSetIdProto { domain: None, version: Some(17) };
/// let model = ModelProto { ir_version: Some(8), graph: Some(graph), opset_import: vec![opset], ..Default::default() };
///
/// let network = parse_onnx(&model.encode_to_vec(), &Options::default())?;
/// assert_eq!(network.program.to_string(), "program model(x[2]) {\n  let v1 = relu(x)\n  return v1\n}\n");
/// assert_eq!(network.outputs, ["y"]);
/// # Ok::<(), crease_formats::onnx::OnnxError>(())
/// ```
pub fn parse_onnx(bytes: &[u8], options: &Options<'_>) -> Result<Network, OnnxError> {
    graph::read(bytes, options)
}

/// Whether bytes look like a model file and not like text: protobuf begins with the number of a field and control characters that no program has.
///
/// ```
/// use crease_formats::onnx::looks_like_onnx;
/// assert!(looks_like_onnx(b"\x08\x07\x12\x07pytorch"));
/// assert!(!looks_like_onnx(b"program f(x) = x"));
/// ```
pub fn looks_like_onnx(bytes: &[u8]) -> bool {
    // the fields that a model begins with: its version, who made it, sets of operators, the graph
    matches!(bytes.first(), Some(0x08 | 0x12 | 0x1a | 0x3a | 0x42))
        && std::str::from_utf8(bytes).map_or(true, |t| t.contains(|c: char| c < ' ' && !c.is_whitespace()))
}
