//! Models written down as messages, and their values.

#![allow(dead_code)] // not every test file needs all of it

use crease_core::{Program, Tensor, run};
use crease_formats::onnx::messages::*;
use crease_formats::onnx::{Network, OnnxError, Options, parse_onnx};
use prost::Message;
use std::path::PathBuf;

/// An input of f32 with this shape.
pub fn port(name: &str, dims: &[i64]) -> ValueInfoProto {
    let dim = dims.iter().map(|&d| DimensionProto { dim_value: Some(d), dim_param: None }).collect();
    typed(name, 1, Some(TensorShapeProto { dim }))
}

/// An input with axes that have names.
pub fn open_port(name: &str, dims: &[&str]) -> ValueInfoProto {
    let dim = |d: &&str| match d.parse() {
        Ok(n) => DimensionProto { dim_value: Some(n), dim_param: None },
        Err(_) if d.is_empty() => DimensionProto::default(),
        Err(_) => DimensionProto { dim_value: None, dim_param: Some(d.to_string()) },
    };
    typed(name, 1, Some(TensorShapeProto { dim: dims.iter().map(dim).collect() }))
}

pub fn typed(name: &str, elem_type: i32, shape: Option<TensorShapeProto>) -> ValueInfoProto {
    let tensor_type = Some(TensorTypeProto { elem_type: Some(elem_type), shape });
    ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { tensor_type }) }
}

/// A tensor of f32.
pub fn floats(name: &str, dims: &[i64], data: &[f32]) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        dims: dims.to_vec(),
        data_type: Some(1),
        float_data: data.to_vec(),
        ..Default::default()
    }
}

/// A vector of i64, as raw bytes.
pub fn ints(name: &str, data: &[i64]) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        dims: vec![data.len() as i64],
        data_type: Some(7),
        raw_data: Some(data.iter().flat_map(|i| i.to_le_bytes()).collect::<Vec<_>>().into()),
        ..Default::default()
    }
}

/// A number without axes of i64.
pub fn int(name: &str, data: i64) -> TensorProto {
    TensorProto { dims: vec![], ..ints(name, &[data]) }
}

/// Truth values.
pub fn bools(name: &str, dims: &[i64], data: &[bool]) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        dims: dims.to_vec(),
        data_type: Some(9),
        int32_data: data.iter().map(|&t| i32::from(t)).collect(),
        ..Default::default()
    }
}

/// A parameter.
pub enum A<'a> {
    I(i64),
    F(f32),
    S(&'a str),
    Is(&'a [i64]),
    Fs(&'a [f32]),
    Ss(&'a [&'a str]),
    G(&'a GraphProto),
    T(&'a TensorProto),
}

/// A node; names are separated by blanks, `_` leaves an argument out.
pub fn node(op: &str, inputs: &str, outputs: &str, attributes: &[(&str, A<'_>)]) -> NodeProto {
    let names = |text: &str| text.split_whitespace().map(|n| if n == "_" { String::new() } else { n.into() }).collect();
    let attribute = attributes.iter().map(|(name, value)| {
        let mut a = AttributeProto { name: Some(name.to_string()), ..Default::default() };
        match value {
            A::I(i) => a.i = Some(*i),
            A::F(f) => a.f = Some(*f),
            A::S(s) => a.s = Some(s.as_bytes().to_vec().into()),
            A::Is(is) => a.ints = is.to_vec(),
            A::Fs(fs) => a.floats = fs.to_vec(),
            A::Ss(words) => a.strings = words.iter().map(|w| w.as_bytes().to_vec().into()).collect(),
            A::G(g) => a.g = Some(g.encode_to_vec().into()),
            A::T(t) => a.t = Some((*t).clone()),
        }
        a
    });
    NodeProto {
        op_type: Some(op.into()),
        input: names(inputs),
        output: names(outputs),
        attribute: attribute.collect(),
        ..Default::default()
    }
}

/// A model of these parts; the outputs need no types.
pub fn model(
    opset: i64,
    inputs: Vec<ValueInfoProto>,
    constants: Vec<TensorProto>,
    nodes: Vec<NodeProto>,
    outputs: &[&str],
) -> ModelProto {
    let output = outputs.iter().map(|o| ValueInfoProto { name: Some(o.to_string()), r#type: None }).collect();
    let graph = GraphProto {
        node: nodes,
        initializer: constants,
        input: inputs,
        output,
        name: Some("net".into()),
        ..Default::default()
    };
    let opset_import = vec![OperatorSetIdProto { domain: None, version: Some(opset) }];
    ModelProto { ir_version: Some(8), graph: Some(graph), opset_import, ..Default::default() }
}

pub fn read(model: &ModelProto) -> Result<Network, OnnxError> {
    parse_onnx(&model.encode_to_vec(), &Options { name: "net.onnx", ..Options::default() })
}

pub fn message(model: &ModelProto) -> String {
    read(model).expect_err("this model is refused").to_string()
}

/// The outputs at a point, in doubles.
pub fn values(p: &Program, inputs: &[Vec<f64>]) -> Vec<Tensor<f64>> {
    assert!(p.verify().is_empty(), "{:?}", p.verify());
    let inputs: Vec<Tensor<f64>> = p
        .inputs()
        .iter()
        .zip(inputs)
        .map(|(i, x)| Tensor::new(i.shape.clone(), x.clone()).expect("as many numbers as the shape has"))
        .collect();
    run(p, &inputs).expect("it runs")
}

/// One operator applied to an input `x` of this shape with these values, and to constants: the shape and the numbers of the result.
pub fn apply(
    opset: i64,
    op: &str,
    x: (&[i64], &[f64]),
    constants: Vec<TensorProto>,
    attributes: &[(&str, A<'_>)],
) -> (Vec<usize>, Vec<f64>) {
    let names: Vec<&str> = constants.iter().map(|c| c.name()).collect();
    let inputs = format!("x {}", names.join(" "));
    let nodes = vec![node(op, &inputs, "y", attributes)];
    // a name that is left out has no constant
    let constants = constants.iter().filter(|c| c.name() != "_").cloned().collect();
    let m = model(opset, vec![port("x", x.0)], constants, nodes, &["y"]);
    let network = read(&m).unwrap_or_else(|e| panic!("{op}: {e}"));
    let out = values(&network.program, &[x.1.to_vec()]);
    (out[0].shape().dims().to_vec(), out[0].data().to_vec())
}

/// A name that is left out.
pub fn nothing() -> TensorProto {
    TensorProto { name: Some("_".into()), ..Default::default() }
}

pub fn near(got: &[f64], want: &[f64]) -> bool {
    got.len() == want.len() && got.iter().zip(want).all(|(g, w)| (g - w).abs() <= 1e-9 * (1.0 + w.abs()))
}

/// The shared data lies beside the repository, or further up where that is a worktree.
pub fn folder() -> Option<PathBuf> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let found = root.canonicalize().ok()?.ancestors().skip(1).map(|a| a.join("shared/data/onnx")).find(|f| f.is_dir());
    if found.is_none() {
        eprintln!("skipped: there is no ../shared/data/onnx");
    }
    found
}
