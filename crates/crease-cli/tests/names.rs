//! Names of a file that steer a terminal, or look like lines of a report, are escaped in all that is printed, by every command that reads networks.

mod tool;

use crease_formats::onnx::messages::*;
use prost::Message;
use std::process::Output;
use tool::{crease, file, npy};

/// A name with an escape sequence, a line of a report, a character that turns text around, and one of eight bits.
const HOSTILE: &str = "a\u{1b}[31m\nFORGED  yes\r\u{202e}\u{9b}b";

fn port(name: &str, n: i64) -> ValueInfoProto {
    let shape = TensorShapeProto { dim: vec![DimensionProto { dim_value: Some(n), dim_param: None }] };
    let tensor = TensorTypeProto { elem_type: Some(1), shape: Some(shape) };
    ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { tensor_type: Some(tensor) }) }
}

fn node(op: &str, name: &str, input: &[&str], output: &str) -> NodeProto {
    NodeProto {
        name: Some(name.into()),
        input: input.iter().map(|n| n.to_string()).collect(),
        output: vec![output.into()],
        op_type: Some(op.into()),
        ..Default::default()
    }
}

/// A network of one input with a tie at 0, everything in it called after the name.
fn network(name: &str, operator: &str) -> Vec<u8> {
    let called = |what: &str| format!("{what}/{name}");
    let weight = TensorProto {
        name: Some(called("w")),
        dims: vec![2],
        data_type: Some(1),
        float_data: vec![1.0, -1.0],
        ..Default::default()
    };
    let nodes = vec![
        node("Mul", &called("layer"), &[&called("x"), &called("w")], &called("m")),
        node(operator, &called("layer"), &[&called("m")], &called("r")),
        NodeProto {
            attribute: vec![AttributeProto {
                name: Some("keepdims".into()),
                i: Some(0),
                r#type: Some(2),
                ..Default::default()
            }],
            ..node("ReduceSum", &called("sum"), &[&called("r")], &called("y"))
        },
    ];
    let graph = GraphProto {
        name: Some(called("graph")),
        node: nodes,
        input: vec![port(&called("x"), 2)],
        output: vec![port(&called("y"), 1)],
        initializer: vec![weight],
        ..Default::default()
    };
    let opset = OperatorSetIdProto { domain: None, version: Some(17) };
    let model = ModelProto { ir_version: Some(8), graph: Some(graph), opset_import: vec![opset], ..Default::default() };
    model.encode_to_vec()
}

/// Nothing that was printed steers a terminal or begins a line with what a name holds.
#[track_caller]
fn harmless(args: &[&str], output: &Output) -> String {
    let mut all = String::new();
    for bytes in [&output.stdout, &output.stderr] {
        let text = std::str::from_utf8(bytes).unwrap();
        let bad = text.chars().find(|&c| c != '\n' && crease_core::program::is_hidden(c));
        assert_eq!(bad, None, "{args:?}: {text}");
        assert!(!text.lines().any(|l| l.starts_with("FORGED")), "{args:?}: {text}");
        all.push_str(text);
    }
    assert!(!all.contains("panicked"), "{all}");
    all
}

#[test]
fn hostile_names_are_escaped_by_every_command() {
    let net = file("names", "net.onnx", network(HOSTILE, "Relu"));
    let point = file("names", "point.npy", npy("(2,)", &[0.0, 1.0]));
    let many = file("names", "many.npy", npy("(2, 2)", &[0.0, 1.0, 0.0, 0.0]));
    let at = ["--at", &point];
    let page = file("names", "page.html", "");
    let grad = file("names", "grad.onnx", "");
    let certificate = file("names", "why.txt", "");
    let picture = file("names", "net.svg", "");
    let mut told = 0;
    for args in [
        &["eval", &net, "--at", &point][..],
        &["grad", &net, "--at", &point],
        &["grad", &net, "--at", &point, "--report"],
        &["grad", &net, "--at", &point, "--json"],
        &["grad", &net, "--at", &point, "--weights"],
        &["grad", &net, "--points", &many],
        &["cost", &net],
        &["show", &net],
        &["show", &net, "--derive", "backprop"],
        &["draw", &net],
        &["draw", &net, "-o", &picture],
        &["export", &net, "--grad", "-o", &grad],
        &["directional", &net, "--at", &point, "--along", &point],
        &["lexicographic", &net, "--at", &point],
        &["clarke", &net, "--at", &point],
        &["clarke", &net, "--at", &point, "--all", "--stationary"],
        &["conservative", &net, "--at", &point],
        &["differentiable", &net, "--at", &point, "--certificate", &certificate],
        &["check", &certificate, &net, "--at", &point],
        &["simplify", &net, "--seconds", "5"],
        &["bench", &net, "--at", &point, "--duration", "0.01"],
        &["audit", &net, "--inputs", &many, "--html", &page],
        &["audit", &net, "--inputs", &many, "--json"],
        // errors
        &["eval", &net],
        &["eval", &net, "--at", "y=0"],
        &["eval", &net, "--at", "y=[[1],2]"],
    ] {
        let output = crease(args).output().unwrap();
        let text = harmless(args, &output);
        told += usize::from(text.contains("FORGED"));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{args:?}: {text}");
    }
    assert!(told > 10, "the name was printed {told} times");
    let text = tool::ok(&[&["grad", &net][..], &at].concat());
    assert!(text.contains(r"a\u{1b}[31m\nFORGED  yes\r\u{202e}\u{9b}b"), "{text}");
    for path in [&page, &picture] {
        let text = std::fs::read_to_string(path).unwrap();
        let bad = text.chars().find(|&c| c != '\n' && crease_core::program::is_hidden(c));
        assert_eq!(bad, None, "{path}");
    }
    // what cannot be read is told of in the same way
    let unknown = file("names", "unknown.onnx", network(HOSTILE, HOSTILE));
    let output = crease(&["cost", &unknown]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(harmless(&["cost"], &output).contains("is not supported"));
    let key = format!("{{{}: 0}}", serde_json::Value::from(HOSTILE));
    let json = file("names", "point.json", key);
    for program in [["-e", "x"], ["-e", "x + y"]] {
        let args = [&["eval"][..], &program, &["--at", &json]].concat();
        harmless(&args, &crease(&args).output().unwrap());
    }
    let missing = format!("no\n{HOSTILE}.onnx");
    harmless(&["eval"], &crease(&["eval", &missing]).output().unwrap());
}

#[test]
fn names_of_any_script_stay_as_they_are() {
    let net = file("names_plain", "net.onnx", network("Schicht_π.層 ё", "Relu"));
    let point = file("names_plain", "point.npy", npy("(2,)", &[0.0, 1.0]));
    for args in [&["grad", &net, "--at", &point][..], &["show", &net], &["grad", &net, "--at", &point, "--json"]] {
        let text = tool::ok(args);
        assert!(args[0] == "show" || text.contains("Schicht_π.層 ё"), "{text}");
    }
    let named = file("names_plain", "point.json", r#"{"x/Schicht_π.層 ё": [0, 1]}"#);
    assert!(tool::ok(&["grad", &net, "--at", &named]).contains("value"));
}
