//! `crease export`: what it writes is read again by the tool itself, names and facts are kept, and what cannot be written is one message.

mod tool;

use crease_formats::onnx::messages::ModelProto;
use prost::Message;
use tool::{fault, file, json, ok, usage};

fn model(path: &str) -> ModelProto {
    ModelProto::decode(&std::fs::read(path).unwrap()[..]).unwrap()
}

#[test]
fn a_program_is_written_and_read_again() {
    let out = file("export", "f.onnx", "");
    let said = ok(&[
        "export",
        "-e",
        "max(x, y) * exp(-x) + norm1(v)",
        "--at",
        "v=[1,2,3],x=0,y=0",
        "-o",
        &out,
        "--dtype",
        "f64",
    ]);
    assert!(said.contains("inputs   x, y, v[3]") && said.contains("outputs  output"), "{said}");
    let at = ["--at", "x=1/4,y=2,v=[1,-2,0]", "--float", "--json"];
    let direct = json(&[&["eval", "-e", "max(x, y) * exp(-x) + norm1(v)"][..], &at].concat());
    let through = json(&[&["eval", &out][..], &at].concat());
    assert_eq!(direct["value"], through["value"]);
}

#[test]
fn names_and_facts_are_kept() {
    let out = file("export", "g.onnx", "");
    let said = json(&[
        "export",
        "-e",
        "relu(x) - relu(-x) * y",
        "--value-and-grad",
        "--select",
        "torch",
        "-o",
        &out,
        "--json",
    ]);
    let names = |v: &serde_json::Value| v.as_array().unwrap().iter().map(|p| p["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names(&said["inputs"]), ["x", "y"]);
    assert_eq!(names(&said["outputs"]), ["output", "grad_x", "grad_y"]);
    let m = model(&out);
    assert_eq!((m.producer_name(), m.opset_import[0].version()), ("crease", 18));
    assert!(
        m.doc_string().contains("an element of the conservative gradient, with the choices relu=0"),
        "{}",
        m.doc_string()
    );
    let fact = |key: &str| m.metadata_props.iter().find(|p| p.key() == key).map(|p| p.value().to_string());
    assert_eq!(fact("crease.derivative").as_deref(), Some("value and gradient"));
    assert!(fact("crease.selection").unwrap().starts_with("relu=0, times_relu=0, abs=0"));
    // nodes are named after where they come from
    let graph = m.graph.unwrap();
    assert!(graph.node.iter().any(|n| n.name().contains("relu(x)") || n.name().contains("1:1")), "{:?}", graph.node[0]);
    // fewer derivatives where fewer are asked for
    let said = json(&["export", "-e", "x * y * z", "--grad", "--wrt", "z,x", "-o", &out, "--json"]);
    assert_eq!(names(&said["outputs"]), ["grad_z", "grad_x"]);
    assert_eq!(said["derivative"], "gradient");
    let said = json(&["export", "-e", "x * y, max(x, y)", "--vjp", "-o", &out, "--json"]);
    assert_eq!(names(&said["inputs"]), ["x", "y", "adjoint0", "adjoint1"]);
    assert_eq!(names(&said["outputs"]), ["output_0", "output_1", "grad_x", "grad_y"]);
    let said = json(&["export", "-e", "abs(x) * y", "--directional", "3", "--wrt", "x", "-o", &out, "--json"]);
    assert_eq!(said["outputs"][1]["shape"], serde_json::json!([3]));
    assert_eq!((&said["selection"], names(&said["inputs"]).len()), (&serde_json::Value::Null, 3));
    // an output that would be called like an input gets another name
    let said = json(&["export", "-e", "2 * output", "-o", &out, "--json"]);
    assert_eq!(names(&said["outputs"]), ["output_"]);
}

#[test]
fn what_cannot_be_written_is_said() {
    let out = file("export", "h.onnx", "as it was");
    let message = fault(&["export", "-e", "relu(x) * 1e39", "-o", &out]);
    assert!(message.starts_with("a constant of about 1e39 does not fit into f32"), "{message}");
    assert!(message.contains("--dtype f64"), "{message}");
    let message = fault(&["export", "-e", "x, y", "--grad", "-o", &out]);
    assert!(message.contains("a gradient needs one scalar output"), "{message}");
    let message = fault(&["export", "-e", "x * y", "--grad", "--wrt", "z", "-o", &out]);
    assert_eq!(message, "--wrt: `f` has no input `z`; it has x, y\n");
    // nothing was touched
    assert_eq!(std::fs::read(&out).unwrap(), b"as it was");
    usage(&["export", "-e", "x"]);
    usage(&["export", "-e", "x", "--grad", "--vjp", "-o", &out]);
    usage(&["export", "-e", "x", "--dtype", "f16", "-o", &out]);
}
