//! Files that are cut, damaged or made to harm: an error or a valid program, never a panic, and never more memory than the limits say.

mod network;

use crease_formats::onnx::messages::*;
use crease_formats::onnx::{Limits, Options, parse_onnx};
use network::*;
use prost::Message;

/// Small, with most of what a file may have.
fn small() -> Vec<u8> {
    let nodes = vec![
        node("Conv", "x w b", "c", &[("pads", A::Is(&[1, 1, 1, 1])), ("auto_pad", A::S("NOTSET"))]),
        node("Relu", "c", "r", &[]),
        node("MaxPool", "r", "p", &[("kernel_shape", A::Is(&[2, 2]))]),
        node("Shape", "p", "s", &[]),
        node("Gather", "s zero", "n", &[]),
        node("Concat", "n minus", "to", &[("axis", A::I(0))]),
        node("Reshape", "p to", "flat", &[]),
        node("Constant", "", "k", &[("value", A::T(&floats("v", &[1], &[0.5])))]),
        node("Mul", "flat k", "y", &[]),
        node("ReduceMax", "y", "z", &[("axes", A::Is(&[-1]))]),
    ];
    let constants = vec![
        floats("w", &[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]),
        floats("b", &[1], &[0.5]),
        ints("zero", &[0]),
        ints("minus", &[-1]),
    ];
    model(13, vec![open_port("x", &["N", "1", "2", "2"])], constants, nodes, &["y", "z"]).encode_to_vec()
}

/// Limits under which nothing large is ever allocated, so that thousands of damaged files are read in a moment.
fn tight() -> Options<'static> {
    Options { limits: Limits { bytes: 1 << 16, parts: 1 << 12, memory: 1 << 19 }, ..Options::default() }
}

fn sound(bytes: &[u8]) -> bool {
    match parse_onnx(bytes, &tight()) {
        Ok(n) => {
            assert!(n.program.verify().is_empty());
            true
        }
        Err(e) => {
            assert!(e.to_string().len() < 2000);
            false
        }
    }
}

#[test]
fn cut_anywhere() {
    let whole = small();
    assert!(sound(&whole));
    let read = (0..whole.len()).filter(|&n| sound(&whole[..n])).count();
    // the sets of operators come last, so that no part of it is a model
    assert_eq!(read, 0);
}

#[test]
fn damaged_anywhere() {
    let whole = small();
    let mut state = 7u64;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let mut read = 0;
    for _ in 0..6000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + next(3) {
            let at = next(bytes.len());
            match next(4) {
                0 => bytes[at] ^= 1 << next(8),
                1 => bytes[at] = next(256) as u8,
                2 => {
                    bytes.remove(at);
                }
                _ => bytes.insert(at, next(256) as u8),
            }
        }
        read += usize::from(sound(&bytes));
    }
    assert!(read > 50, "{read}");
}

#[test]
fn every_byte_at_its_extremes() {
    let whole = small();
    for at in 0..whole.len() {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            sound(&bytes);
        }
    }
}

fn refused(m: &ModelProto, part: &str) {
    let message = message(m);
    assert!(message.contains(part), "{message}");
}

#[test]
fn graphs_that_are_none() {
    let x = || vec![port("x", &[1])];
    refused(
        &model(13, x(), vec![], vec![node("Add", "x b", "a", &[]), node("Relu", "a", "b", &[])], &["a"]),
        "its own result",
    );
    refused(&model(13, x(), vec![], vec![node("Relu", "a", "a", &[])], &["x"]), "its own result");
    refused(
        &model(13, x(), vec![], vec![node("Relu", "q", "a", &[])], &["a"]),
        "needs `q`, which no input, initializer or node gives",
    );
    refused(&model(13, x(), vec![], vec![], &["q"]), "the graph returns `q`");
    refused(
        &model(13, x(), vec![], vec![node("Relu", "x", "a", &[]), node("Neg", "x", "a", &[])], &["a"]),
        "computed twice",
    );
    refused(&model(13, x(), vec![], vec![node("Relu", "x", "x", &[])], &["x"]), "both given and computed");
    refused(&model(13, vec![port("x", &[1]), port("x", &[1])], vec![], vec![], &["x"]), "two inputs named `x`");
    refused(&model(13, x(), vec![floats("w", &[1], &[1.0]); 2], vec![], &["x"]), "two initializers named `w`");
    refused(&model(13, x(), vec![], vec![], &[]), "no output");
    refused(&ModelProto { graph: None, ..model(13, x(), vec![], vec![], &["x"]) }, "no graph");
    refused(&model(13, vec![port("", &[1])], vec![], vec![], &[""]), "no name");
    let body = node("Loop", "x", "y", &[]);
    refused(&model(13, x(), vec![], vec![body], &["y"]), "`Loop` is not supported");
    let mut twice = node("Flatten", "x", "y", &[("axis", A::I(0))]);
    twice.attribute.push(twice.attribute[0].clone());
    refused(&model(13, x(), vec![], vec![twice], &["y"]), "given twice");
    let wrong = node("Flatten", "x", "y", &[("axis", A::F(0.0))]);
    refused(&model(13, x(), vec![], vec![wrong], &["y"]), "`axis` is no integer");
}

#[test]
fn sizes_that_lie() {
    let relu = |p: ValueInfoProto| model(13, vec![p], vec![], vec![node("Relu", "x", "y", &[])], &["y"]);
    refused(&relu(port("x", &[-1, 2])), "size -1");
    refused(&relu(port("x", &[0])), "size 0");
    refused(&relu(port("x", &[i64::MAX])), "2^27");
    refused(&relu(port("x", &[1 << 20, 1 << 20])), "2^27");
    refused(&relu(port("x", &[1; 40])), "40 axes");
    refused(&relu(typed("x", 7, None)), "an input of int64");
    refused(&relu(typed("x", 8, None)), "strings");
    refused(&relu(typed("x", 99, None)), "a type that ONNX does not have");
    refused(&relu(ValueInfoProto { name: Some("x".into()), r#type: None }), "it is no tensor");
    let with = |t: TensorProto| model(13, vec![port("x", &[1])], vec![t], vec![node("Add", "x w", "y", &[])], &["y"]);
    let raw = |dims: &[i64], n: usize| TensorProto {
        dims: dims.to_vec(),
        float_data: vec![],
        raw_data: Some(vec![0; n].into()),
        ..floats("w", &[], &[])
    };
    refused(&with(raw(&[3], 11)), "needs 3 numbers, but its raw_data holds 2");
    refused(&with(raw(&[3], 16)), "holds 4");
    refused(&with(raw(&[1 << 40], 4)), "2^27");
    refused(&with(raw(&[1 << 26], 4)), "needs 67108864 numbers");
    refused(&with(raw(&[-1], 4)), "negative axis");
    refused(&with(raw(&[i64::MAX, 0, i64::MAX], 0)), "2^27");
    refused(&with(raw(&[3, 0, 1], 0)), "empty axis");
    refused(&with(floats("w", &[2], &[1.0])), "its float_data holds 1");
    refused(&with(floats("w", &[1], &[f32::NAN])), "must be finite");
    refused(&with(TensorProto { data_type: Some(14), ..floats("w", &[1], &[1.0]) }), "complex");
    refused(&with(TensorProto { data_type: Some(17), ..floats("w", &[1], &[1.0]) }), "floats of 8 bits");
    refused(&with(TensorProto { data_type: None, ..floats("w", &[1], &[1.0]) }), "data type 0");
    refused(&with(TensorProto { data_location: Some(2), ..floats("w", &[1], &[1.0]) }), "place 2");
    let sparse = SparseTensorProto { values: Some(floats("w", &[1], &[1.0])) };
    let mut m = with(floats("v", &[1], &[1.0]));
    m.graph.as_mut().unwrap().sparse_initializer = vec![sparse];
    refused(&m, "sparse");
}

#[test]
fn what_would_grow_is_stopped_by_the_limits() {
    let limited = |m: &ModelProto| parse_onnx(&m.encode_to_vec(), &tight()).unwrap_err().to_string();
    // every node doubles what there is
    let double = |op: &str, a: &[(&str, A<'_>)]| {
        let nodes: Vec<NodeProto> =
            (0..60).map(|i| node(op, &format!("v{i} v{i}"), &format!("v{}", i + 1), a)).collect();
        model(
            13,
            vec![port("x", &[1])],
            vec![ints("v0", &[1])],
            [nodes, vec![node("Reshape", "x v60", "y", &[])]].concat(),
            &["y"],
        )
    };
    assert!(
        limited(&double("Concat", &[("axis", A::I(0))])).contains("limit"),
        "{}",
        limited(&double("Concat", &[("axis", A::I(0))]))
    );
    let huge = |op: &str, s: &[i64]| {
        let nodes = vec![node(op, "s", "c", &[]), node("Add", "x c", "y", &[])];
        model(13, vec![port("x", &[1])], vec![ints("s", s)], nodes, &["y"])
    };
    assert!(limited(&huge("ConstantOfShape", &[1 << 26])).contains("limit of 512 KiB"));
    assert!(limited(&huge("ConstantOfShape", &[1 << 40])).contains("2^27"));
    assert!(limited(&huge("ConstantOfShape", &[-4])).contains("negative"));
    let range = model(
        13,
        vec![port("x", &[1])],
        vec![int("a", 0), int("b", i64::MAX), int("c", 1)],
        vec![node("Range", "a b c", "r", &[]), node("Reshape", "x r", "y", &[])],
        &["y"],
    );
    assert!(limited(&range).contains("2^27"), "{}", limited(&range));
    // tables of indices count, too
    let many: Vec<i64> = (0..4096).map(|i| i * i % 7).collect();
    let gathers: Vec<NodeProto> =
        (0..40).map(|i| node("Gather", "x g", &format!("y{i}"), &[("axis", A::I(0))])).collect();
    let names: Vec<String> = (0..40).map(|i| format!("y{i}")).collect();
    let outputs: Vec<&str> = names.iter().map(String::as_str).collect();
    let m = model(13, vec![port("x", &[7])], vec![ints("g", &many)], gathers, &outputs);
    assert!(limited(&m).contains("limit of 512 KiB"), "{}", limited(&m));
    // empty messages take two bytes each in a file and many more in memory
    let mut bytes = vec![0x3a];
    let graph: Vec<u8> = [0x0a, 0x00].repeat(20_000);
    let mut length = graph.len();
    while length >= 128 {
        bytes.push((length & 127 | 128) as u8);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend(graph);
    let message = parse_onnx(&bytes, &tight()).unwrap_err().to_string();
    assert!(message.contains("20001 parts, more than the limit of 4096"), "{message}");
    assert!(parse_onnx(&vec![0; 1 << 17], &tight()).unwrap_err().to_string().contains("131072 bytes"));
}

/// What a few bytes ask for is counted before it is there, and refused by name, size and limit.
#[test]
fn a_few_bytes_do_not_fill_the_memory() {
    let n = 1i64 << 27;
    let shape = || ints("shape", &[n]);
    let fill = |rest: Vec<NodeProto>, constants: Vec<TensorProto>| {
        let mut nodes = vec![node("ConstantOfShape", "shape", "c", &[])];
        nodes.extend(rest);
        model(13, vec![port("x", &[1])], [vec![shape()], constants].concat(), nodes, &["y"])
    };
    let scalar = |name: &str, value: i64| TensorProto { dims: vec![], ..ints(name, &[value]) };
    let one = || floats("one", &[1], &[1.0]);
    let alone =
        |nodes: Vec<NodeProto>, constants: Vec<TensorProto>| model(13, vec![port("x", &[1])], constants, nodes, &["y"]);
    for (name, asked, m) in [
        ("ConstantOfShape", "134217728 numbers, which take 1 GiB", fill(vec![node("Add", "x c", "y", &[])], vec![])),
        (
            "Expand",
            "134217728 numbers, which take 1 GiB",
            alone(vec![node("Expand", "one shape", "c", &[]), node("Add", "x c", "y", &[])], vec![one(), shape()]),
        ),
        (
            "Tile",
            "134217728 numbers, which take 1 GiB",
            alone(vec![node("Tile", "one shape", "c", &[]), node("Add", "x c", "y", &[])], vec![one(), shape()]),
        ),
        (
            "Range",
            "134217728 numbers, which take 1 GiB",
            alone(
                vec![node("Range", "a b d", "c", &[]), node("Add", "x c", "y", &[])],
                vec![scalar("a", 0), scalar("b", n), scalar("d", 1)],
            ),
        ),
        (
            "Pad",
            "numbers, which take",
            alone(
                vec![node("Pad", "one pads", "c", &[]), node("Add", "x c", "y", &[])],
                vec![one(), ints("pads", &[0, n - 1])],
            ),
        ),
    ] {
        let limits = Limits { memory: 1 << 20, ..Limits::DEFAULT };
        let bytes = m.encode_to_vec();
        assert!(bytes.len() < 300, "{name} takes {} bytes", bytes.len());
        let error = match parse_onnx(&bytes, &Options { limits, ..Options::default() }) {
            Err(error) => error.to_string(),
            // a view of one number takes no memory
            Ok(network) => {
                let large =
                    |e: crease_core::Equation<'_>| matches!(e.op, crease_core::Op::Constant(c) if c.data().len() > 9);
                assert!(name != "ConstantOfShape" && name != "Range", "{name}");
                assert!(!network.program.equations().any(large), "{name}");
                continue;
            }
        };
        assert!(error.contains(&format!("({name}): it makes")) && error.contains(asked), "{error}");
        assert!(error.contains("of the limit of 1 MiB") && error.ends_with("raise `memory`"), "{error}");
    }
}
