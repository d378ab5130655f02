//! The messages of ONNX files, as far as they are read or written: numbers and names of the fields are those of `onnx.proto`, everything
//! else in a file is passed over. Public so that a model can be written down as a value and encoded, as the tests do.
//!
//! ```
//! use crease_formats::onnx::messages::{GraphProto, Message, ModelProto};
//! let model = ModelProto { graph: Some(GraphProto { name: Some("f".into()), ..Default::default() }), ..Default::default() };
//! let again = ModelProto::decode(&model.encode_to_vec()[..]).unwrap();
//! assert_eq!(again.graph.unwrap().name(), "f");
//! ```

/// What encodes and decodes messages, and what some of their fields hold.
pub use prost::{self, Message, bytes::Bytes};

/// A file.
#[derive(Clone, PartialEq, Message)]
pub struct ModelProto {
    /// The version of the format.
    #[prost(int64, optional, tag = "1")]
    pub ir_version: Option<i64>,
    /// What made the file.
    #[prost(string, optional, tag = "2")]
    pub producer_name: Option<String>,
    /// Which version of it.
    #[prost(string, optional, tag = "3")]
    pub producer_version: Option<String>,
    /// What there is to say about the network.
    #[prost(string, optional, tag = "6")]
    pub doc_string: Option<String>,
    /// The network.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    /// Which versions of which sets of operators.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetIdProto>,
    /// Facts about the network, by their names.
    #[prost(message, repeated, tag = "14")]
    pub metadata_props: Vec<StringStringEntryProto>,
}

/// A set of operators.
#[derive(Clone, PartialEq, Message)]
pub struct OperatorSetIdProto {
    /// Whose; empty for those of ONNX itself.
    #[prost(string, optional, tag = "1")]
    pub domain: Option<String>,
    /// Its version.
    #[prost(int64, optional, tag = "2")]
    pub version: Option<i64>,
}

/// A network.
#[derive(Clone, PartialEq, Message)]
pub struct GraphProto {
    /// What is computed, each before it is used.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    /// The name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// Weights and other constants.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorProto>,
    /// What is given; old files list weights here, too.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfoProto>,
    /// What is returned.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfoProto>,
    /// Weights of which most are 0, which are not read.
    #[prost(message, repeated, tag = "15")]
    pub sparse_initializer: Vec<SparseTensorProto>,
}

/// One application of an operator.
#[derive(Clone, PartialEq, Message)]
pub struct NodeProto {
    /// The names of the arguments; empty for those that are left out.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// The names of the results.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// The name of the node, which may be missing.
    #[prost(string, optional, tag = "3")]
    pub name: Option<String>,
    /// The operator.
    #[prost(string, optional, tag = "4")]
    pub op_type: Option<String>,
    /// Parameters.
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
    /// Whose operator it is; empty for those of ONNX itself.
    #[prost(string, optional, tag = "7")]
    pub domain: Option<String>,
}

/// A parameter of an operator.
#[derive(Clone, PartialEq, Message)]
pub struct AttributeProto {
    /// The name.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// A number.
    #[prost(float, optional, tag = "2")]
    pub f: Option<f32>,
    /// An integer.
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    /// A text.
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub s: Option<Bytes>,
    /// A tensor.
    #[prost(message, optional, tag = "5")]
    pub t: Option<TensorProto>,
    /// A graph, as the bytes of its message, so that decoding does not recurse.
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub g: Option<Bytes>,
    /// Numbers.
    #[prost(float, repeated, packed = "false", tag = "7")]
    pub floats: Vec<f32>,
    /// Integers.
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub ints: Vec<i64>,
    /// Texts.
    #[prost(bytes = "bytes", repeated, tag = "9")]
    pub strings: Vec<Bytes>,
    /// Of which kind it is.
    #[prost(int32, optional, tag = "20")]
    pub r#type: Option<i32>,
    /// The parameter of a function that it stands for.
    #[prost(string, optional, tag = "21")]
    pub ref_attr_name: Option<String>,
}

/// A tensor of constants.
#[derive(Clone, PartialEq, Message)]
pub struct TensorProto {
    /// The sizes of its axes.
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub dims: Vec<i64>,
    /// The type of its numbers: 1 for f32, 7 for i64.
    #[prost(int32, optional, tag = "2")]
    pub data_type: Option<i32>,
    /// Numbers of type f32.
    #[prost(float, repeated, tag = "4")]
    pub float_data: Vec<f32>,
    /// Short integers and short floats.
    #[prost(int32, repeated, tag = "5")]
    pub int32_data: Vec<i32>,
    /// Numbers of type i64.
    #[prost(int64, repeated, tag = "7")]
    pub int64_data: Vec<i64>,
    /// The name.
    #[prost(string, optional, tag = "8")]
    pub name: Option<String>,
    /// Numbers of any type, as they lie in memory, the lowest byte first.
    #[prost(bytes = "bytes", optional, tag = "9")]
    pub raw_data: Option<Bytes>,
    /// Numbers of type f64.
    #[prost(double, repeated, tag = "10")]
    pub double_data: Vec<f64>,
    /// Numbers of types u32 and u64.
    #[prost(uint64, repeated, tag = "11")]
    pub uint64_data: Vec<u64>,
    /// Where the numbers lie, if they are in another file: location, offset, length.
    #[prost(message, repeated, tag = "13")]
    pub external_data: Vec<StringStringEntryProto>,
    /// 1 if they are in another file.
    #[prost(int32, optional, tag = "14")]
    pub data_location: Option<i32>,
}

/// A tensor of which most elements are 0. Only its name is read, to refuse it.
#[derive(Clone, PartialEq, Message)]
pub struct SparseTensorProto {
    /// The elements that are not 0.
    #[prost(message, optional, tag = "1")]
    pub values: Option<TensorProto>,
}

/// A word and what it stands for.
#[derive(Clone, PartialEq, Message)]
pub struct StringStringEntryProto {
    /// The word.
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    /// What it stands for.
    #[prost(string, optional, tag = "2")]
    pub value: Option<String>,
}

/// An input or output.
#[derive(Clone, PartialEq, Message)]
pub struct ValueInfoProto {
    /// The name.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// What it is.
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<TypeProto>,
}

/// What a value is; anything but a tensor is not read.
#[derive(Clone, PartialEq, Message)]
pub struct TypeProto {
    /// A tensor.
    #[prost(message, optional, tag = "1")]
    pub tensor_type: Option<TensorTypeProto>,
}

/// What a tensor is.
#[derive(Clone, PartialEq, Message)]
pub struct TensorTypeProto {
    /// The type of its numbers.
    #[prost(int32, optional, tag = "1")]
    pub elem_type: Option<i32>,
    /// Its shape, if that is known.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
}

/// A shape.
#[derive(Clone, PartialEq, Message)]
pub struct TensorShapeProto {
    /// The axes.
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<DimensionProto>,
}

/// An axis: its size, or a name that stands for one, or neither.
#[derive(Clone, PartialEq, Message)]
pub struct DimensionProto {
    /// The size.
    #[prost(int64, optional, tag = "1")]
    pub dim_value: Option<i64>,
    /// The name.
    #[prost(string, optional, tag = "2")]
    pub dim_param: Option<String>,
}
