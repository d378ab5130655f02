//! Networks in ONNX through the tool: every command, points in all forms, flags, faults; and those of the shared data, compiled.

mod tool;

use crease_formats::onnx::messages::*;
use prost::Message;
use serde_json::json;
use tool::{crease, fault, file, json as run_json, npy, ok, usage};

fn port(name: &str, dims: &[&str]) -> ValueInfoProto {
    let dim = |d: &&str| match d.parse() {
        Ok(n) => DimensionProto { dim_value: Some(n), dim_param: None },
        Err(_) => DimensionProto { dim_value: None, dim_param: Some(d.to_string()) },
    };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let tensor_type = Some(TensorTypeProto { elem_type: Some(1), shape });
    ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { tensor_type }) }
}

fn node(op: &str, name: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: Some(op.into()),
        name: Some(name.into()),
        input: inputs.iter().map(|i| i.to_string()).collect(),
        output: vec![output.into()],
        ..Default::default()
    }
}

fn floats(name: &str, dims: &[i64], data: &[f32]) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        dims: dims.to_vec(),
        data_type: Some(1),
        float_data: data.to_vec(),
        ..Default::default()
    }
}

/// `relu(x W) V` with x of shape [N, 2], as bytes; the weights can be changed.
fn network(change: impl FnOnce(&mut GraphProto)) -> Vec<u8> {
    let nodes = vec![
        node("MatMul", "/fc1/MatMul", &["in.1", "W"], "h"),
        node("Relu", "/act/Relu", &["h"], "r"),
        node("MatMul", "/fc2/MatMul", &["r", "V"], "out"),
    ];
    let mut graph = GraphProto {
        node: nodes,
        name: Some("net".into()),
        initializer: vec![floats("W", &[2, 2], &[1.0, -1.0, 0.0, 0.5]), floats("V", &[2, 2], &[1.0, 1.0, -1.0, 2.0])],
        input: vec![port("in.1", &["N", "2"])],
        output: vec![port("out", &["N", "2"])],
        ..Default::default()
    };
    change(&mut graph);
    let opset_import = vec![OperatorSetIdProto { domain: None, version: Some(13) }];
    ModelProto { ir_version: Some(8), graph: Some(graph), opset_import, ..Default::default() }.encode_to_vec()
}

fn small(test: &str) -> String {
    file(test, "net.onnx", network(|_| {}))
}

#[test]
fn points_in_all_forms() {
    let net = small("onnx_points");
    let at = |name: &str, bytes: Vec<u8>| {
        run_json(&["eval", &net, "--at", &file("onnx_points", name, bytes), "--json"])["value"].clone()
    };
    // h = [2, -1], r = [2, 0]
    let want = json!([[2, 2]]);
    assert_eq!(at("nested.json", br#"{"in.1": [[2, 2]]}"#.to_vec()), want);
    assert_eq!(at("flat.json", br#"{"in.1": [2, 2]}"#.to_vec()), want);
    assert_eq!(at("plain.json", br#"{"in_1": [2.0, "2"]}"#.to_vec()), want);
    assert_eq!(at("x.npy", npy("(2,)", &[2.0, 2.0])), want);
    assert_eq!(at("x2.npy", npy("(1, 2)", &[2.0, 2.0])), want);
    assert_eq!(at("x.npz", zip("in.1.npy", &npy("(1, 2)", &[2.0, 2.0]), 0)), want);
    assert_eq!(at("y.npz", zip("arr_0.npy", &npy("(2,)", &[2.0, 2.0]), 8)), want);
    assert_eq!(ok(&["eval", &net, "--at", "in_1=[2,2]"]), "[[2, 2]]\n");
    let named = file("onnx_points", "named.json", r#"[{"in.1": [2, 2]}, {"in_1": [[0, 1]]}]"#);
    assert_eq!(ok(&["eval", &net, "--points", &named]), "[[2, 2]]\n[[-0.5, 1]]\n");
    let rows = file("onnx_points", "rows.npy", npy("(2, 2)", &[2.0, 2.0, 0.0, 1.0]));
    assert_eq!(ok(&["eval", &net, "--points", &rows]), "[[2, 2]]\n[[-0.5, 1]]\n");
    let wrong = file("onnx_points", "wrong.json", r#"{"in.1": [1, 2, 3]}"#);
    assert!(
        fault(&["eval", &net, "--at", &wrong]).contains("input `in.1` has shape [1, 2], but its value has shape [3]")
    );
    assert!(fault(&["eval", &net, "--at", "y=[1,2]"]).contains("`y` is not an input of `net`"));
    let broken = file("onnx_points", "broken.npz", "PK");
    assert!(fault(&["eval", &net, "--at", &broken]).contains("no ZIP archive"));
    let mut damaged = zip("in.1.npy", &npy("(1, 2)", &[2.0, 2.0]), 0);
    damaged[60] ^= 1;
    let damaged = file("onnx_points", "damaged.npz", damaged);
    assert!(fault(&["eval", &net, "--at", &damaged]).contains("checksum"));
}

#[test]
fn sizes_come_from_the_point_or_from_flags() {
    let net = small("onnx_batch");
    assert_eq!(ok(&["eval", &net, "--at", "in_1=[[2,2],[0,1]]"]), "[[2, 2], [-0.5, 1]]\n");
    assert_eq!(ok(&["eval", &net, "--at", "in_1=[2,2,0,1]", "--batch", "2"]), "[[2, 2], [-0.5, 1]]\n");
    assert!(usage(&["eval", &net, "--at", "in_1=[2,2]", "--batch", "0"]).contains("--batch"));
    assert!(usage(&["eval", &net, "--at", "in_1=[2,2]", "--dim", "N"]).contains("height=224"));
    let open = file("onnx_batch", "open.onnx", network(|g| g.input = vec![port("in.1", &["N", "width"])]));
    assert!(fault(&["cost", &open]).contains("--dim width=8"));
    assert!(ok(&["cost", &open, "--dim", "width=2"]).contains("relu"));
    assert!(ok(&["cost", &open, "--dim", "in.1:1=2"]).contains("relu"));
}

#[test]
fn every_question_can_be_asked() {
    let net = small("onnx_commands");
    let at = ["--at", "in_1=[0,1]", "--element", "1"];
    let with = |command: &str, more: &[&str]| run_json(&[&[command, &net], &at[..], more, &["--json"]].concat());
    // h = [0, 1/2]: a kink at the first unit
    let grad = with("grad", &[]);
    assert_eq!((&grad["value"], &grad["kinks"]), (&json!(1), &json!(1)));
    assert_eq!(grad["gradient"], json!({"in.1": [[-2, 1]]}));
    assert_eq!(with("differentiable", &[])["verdict"], json!("no"));
    assert_eq!(with("conservative", &[])["verdict"], json!("several"));
    assert_eq!(with("clarke", &["--all"])["cells"], json!(2));
    assert_eq!(with("directional", &["--along", "in_1=[1,0]"])["derivatives"], json!([-1]));
    assert!(
        with("cost", &[])["cost"].is_string()
            || with("cost", &[])["cost"].is_object()
            || with("cost", &[])["cost"].is_number()
    );
    let text = ok(&[&["grad", &net][..], &at].concat());
    assert!(text.contains("/act/Relu") && text.contains("act"), "{text}");
    assert!(ok(&["show", &net]).starts_with("program net(in_1[1, 2])"));
    assert!(ok(&["draw", &net, "--format", "dot"]).contains("digraph"));
    assert!(fault(&["grad", &net, "--at", "in_1=[0,1]"]).contains("--jacobian"));
    assert!(fault(&["eval", &net, "--at", "in_1=[0,1]", "--element", "2"]).contains("there is no element 2"));
    assert!(fault(&["eval", &net, "--program", "f"]).contains("--program"));
    assert_eq!(ok(&["eval", "-e", "v", "--at", "v=[1,2]", "--element", "1"]), "2\n");
}

#[test]
fn certificates_of_networks_are_checked() {
    let net = small("onnx_check");
    let why = file("onnx_check", "why.txt", "");
    let at = ["--at", "in_1=[0,1]", "--element", "1"];
    ok(&[&["differentiable", &net, "--certificate", &why][..], &at].concat());
    ok(&[&["check", &why, &net][..], &at].concat());
    fault(&["check", &why, &net, "--at", "in_1=[0,1]", "--element", "0"]);
}

#[test]
fn weights_can_be_inputs() {
    let net = small("onnx_weights");
    let grad = run_json(&["grad", &net, "--at", "in_1=[2,2]", "--element", "0", "--weights", "--json"]);
    assert_eq!(grad["gradient"]["V"], json!([[2, 0], [0, 0]]));
    assert_eq!(grad["gradient"]["W"], json!([[2, 0], [2, 0]]));
    let other = run_json(&["eval", &net, "--at", "in_1=[2,2],V=[[0,0],[1,1]]", "--weights", "--json"]);
    assert_eq!(other["value"], json!([[0, 0]]));
}

#[test]
fn standard_input_may_be_a_network() {
    use std::io::Write;
    use std::process::Stdio;
    let mut child =
        crease(&["eval", "-", "--at", "in_1=[2,2]"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&network(|_| {})).unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"[[2, 2]]\n");
}

#[test]
fn external_data_stays_inside_the_folder() {
    let at = |location: &str| {
        network(|g| {
            let entry =
                |key: &str, value: &str| StringStringEntryProto { key: Some(key.into()), value: Some(value.into()) };
            g.initializer[1].float_data.clear();
            g.initializer[1].data_location = Some(1);
            g.initializer[1].external_data = vec![entry("location", location), entry("offset", "4")];
        })
    };
    let data: Vec<u8> = [9.0f32, 1.0, 1.0, -1.0, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    file("onnx_external/inner", "v.bin", &data);
    file("onnx_external", "outside.bin", &data);
    let net = file("onnx_external/inner", "net.onnx", at("v.bin"));
    assert_eq!(ok(&["eval", &net, "--at", "in_1=[2,2]"]), "[[2, 2]]\n");
    let net = file("onnx_external/inner", "out.onnx", at("../outside.bin"));
    assert!(fault(&["eval", &net, "--at", "in_1=[2,2]"]).contains("from the folder of the model"));
    let net = file("onnx_external/inner", "none.onnx", at("none.bin"));
    assert!(fault(&["eval", &net, "--at", "in_1=[2,2]"]).contains("there is no file"));
    #[cfg(unix)]
    {
        let link = std::path::Path::new(&net).with_file_name("link.bin");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink("../outside.bin", &link).unwrap();
        let net = file("onnx_external/inner", "link.onnx", at("link.bin"));
        assert!(fault(&["eval", &net, "--at", "in_1=[2,2]"]).contains("leads out of the folder"));
    }
}

/// An archive with one member; deflated means one stored block.
fn zip(name: &str, data: &[u8], method: u16) -> Vec<u8> {
    let length = data.len() as u16;
    let packed = match method {
        0 => data.to_vec(),
        _ => [&[1][..], &length.to_le_bytes(), &(!length).to_le_bytes(), data].concat(),
    };
    let mut crc = u32::MAX;
    for &b in data {
        crc ^= u32::from(b);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    let sizes = [(!crc).to_le_bytes(), (packed.len() as u32).to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
    let name_length = (name.len() as u16).to_le_bytes();
    let local =
        [&b"PK\x03\x04\x14\0\0\0"[..], &method.to_le_bytes(), &[0; 4], &sizes, &name_length, &[0, 0], name.as_bytes()]
            .concat();
    let central = [
        &b"PK\x01\x02\x14\0\x14\0\0\0"[..],
        &method.to_le_bytes(),
        &[0; 4],
        &sizes,
        &name_length,
        &[0; 16],
        name.as_bytes(),
    ]
    .concat();
    let at = (local.len() + packed.len()) as u32;
    let end =
        [&b"PK\x05\x06\0\0\0\0\x01\0\x01\0"[..], &(central.len() as u32).to_le_bytes(), &at.to_le_bytes(), &[0, 0]]
            .concat();
    [local, packed, central, end].concat()
}
