//! Graphs: names, types, sizes that are left open, shapes computed while reading, external data, where equations come from.

mod network;

use crease_core::{Origin, Rational};
use crease_formats::onnx::messages::*;
use crease_formats::onnx::{External, Options, Weights, operators, parse_onnx};
use network::*;
use prost::Message;

fn relu(inputs: Vec<ValueInfoProto>) -> ModelProto {
    let name = inputs[0].name().to_string();
    let relu =
        NodeProto { op_type: Some("Relu".into()), input: vec![name], output: vec!["y".into()], ..Default::default() };
    model(13, inputs, vec![], vec![relu], &["y"])
}

#[test]
fn every_type_of_numbers_is_read_exactly() {
    let read_as = |t: TensorProto| {
        let cast = node("Cast", "c", "f", &[("to", A::I(11))]);
        let m = model(13, vec![port("x", &[1])], vec![t], vec![cast, node("Add", "x f", "y", &[])], &["y"]);
        values(&read(&m).unwrap().program, &[vec![0.0]])[0].data().to_vec()
    };
    let tensor = |data_type: i32, n: i64| TensorProto {
        name: Some("c".into()),
        dims: vec![n],
        data_type: Some(data_type),
        ..Default::default()
    };
    let raw = |data_type: i32, n: i64, bytes: &[u8]| TensorProto {
        raw_data: Some(bytes.to_vec().into()),
        ..tensor(data_type, n)
    };
    assert_eq!(read_as(floats("c", &[2], &[0.1, -0.5])), [f64::from(0.1f32), -0.5]);
    assert_eq!(read_as(raw(1, 1, &0.1f32.to_le_bytes())), [f64::from(0.1f32)]);
    assert_eq!(read_as(raw(11, 1, &0.1f64.to_le_bytes())), [0.1]);
    assert_eq!(read_as(TensorProto { double_data: vec![0.1], ..tensor(11, 1) }), [0.1]);
    assert_eq!(read_as(TensorProto { int64_data: vec![-3, 1 << 40], ..tensor(7, 2) }), [-3.0, (1u64 << 40) as f64]);
    assert_eq!(read_as(TensorProto { int32_data: vec![-3, 7], ..tensor(6, 2) }), [-3.0, 7.0]);
    assert_eq!(read_as(TensorProto { int32_data: vec![-3, 200], ..tensor(3, 2) }), [-3.0, -56.0]);
    assert_eq!(read_as(TensorProto { int32_data: vec![200], ..tensor(2, 1) }), [200.0]);
    assert_eq!(read_as(raw(5, 2, &[0xff, 0xff, 1, 0])), [-1.0, 1.0]);
    assert_eq!(read_as(raw(4, 1, &[0xff, 0xff])), [65535.0]);
    assert_eq!(read_as(TensorProto { uint64_data: vec![7], ..tensor(13, 1) }), [7.0]);
    assert_eq!(read_as(TensorProto { uint64_data: vec![7], ..tensor(12, 1) }), [7.0]);
    assert_eq!(read_as(raw(9, 2, &[0, 1])), [0.0, 1.0]);
    // 1.5, the smallest number above 0, the largest one, -2
    let halves = [0x3e00u16, 0x0001, 0x7bff, 0xc000];
    let want = [1.5, 2f64.powi(-24), 65504.0, -2.0];
    assert_eq!(read_as(raw(10, 4, &halves.iter().flat_map(|h| h.to_le_bytes()).collect::<Vec<_>>())), want);
    assert_eq!(
        read_as(TensorProto { int32_data: halves.iter().map(|&h| i32::from(h)).collect(), ..tensor(10, 4) }),
        want
    );
    assert_eq!(read_as(raw(16, 2, &[0xc0, 0x3f, 0x80, 0xbf])), [1.5, -1.0]);
}

#[test]
fn constants_are_exactly_the_numbers_of_the_file() {
    let m = model(
        13,
        vec![port("x", &[2])],
        vec![floats("w", &[2], &[0.1, 0.2])],
        vec![node("Mul", "x w", "y", &[])],
        &["y"],
    );
    let p = read(&m).unwrap().program;
    let at = [crease_core::Tensor::vector(vec![Rational::ONE, Rational::ONE]).unwrap()];
    let out = crease_core::run(&p, &at).unwrap();
    assert_eq!(out[0].data()[0], Rational::from_f64(f64::from(0.1f32)).unwrap());
    assert_eq!(out[0].data()[0].fraction(), "13421773/134217728");
}

#[test]
fn casts_round_constants_and_keep_what_is_computed() {
    let tenth = TensorProto {
        name: Some("c".into()),
        dims: vec![1],
        data_type: Some(11),
        double_data: vec![0.1],
        ..Default::default()
    };
    let cast = |to: i64| {
        let nodes = vec![
            node("Cast", "c", "f", &[("to", A::I(to))]),
            node("Cast", "x", "z", &[("to", A::I(to))]),
            node("Mul", "z f", "y", &[]),
        ];
        values(
            &read(&model(13, vec![port("x", &[1])], vec![tenth.clone()], nodes, &["y"])).unwrap().program,
            &[vec![1.0]],
        )[0]
        .data()[0]
    };
    assert_eq!(cast(11), 0.1);
    assert_eq!(cast(1), f64::from(0.1f32));
    assert_eq!(cast(10), 0.0999755859375);
    assert_eq!(cast(16), 0.10009765625);
    // beyond the largest float and half a step there is none
    let large = |x: f64, to: i64| {
        let c = TensorProto { double_data: vec![x], ..tenth.clone() };
        let nodes = vec![node("Cast", "c", "f", &[("to", A::I(to))]), node("Mul", "x f", "y", &[])];
        let network = read(&model(13, vec![port("x", &[1])], vec![c], nodes, &["y"]));
        network.map(|n| values(&n.program, &[vec![1.0]])[0].data()[0]).map_err(|e| e.to_string())
    };
    let bfloat = (2.0 - 1.0 / 128.0) * 2f64.powi(127);
    assert_eq!(large(bfloat, 16), Ok(bfloat));
    assert_eq!(large(3.39e38, 16), Ok(bfloat));
    assert_eq!(large(65519.0, 10), Ok(65504.0));
    for (x, to, infinity) in [(3.4e38, 16, "inf"), (-3.4e38, 16, "-inf"), (65520.0, 10, "inf"), (3.5e38, 1, "inf")] {
        let error = large(x, to).unwrap_err();
        assert!(error.contains(&format!("a constant must be finite, got {infinity}")), "{error}");
    }
    // what is computed is cut to integers towards 0
    let to_int = model(13, vec![port("x", &[2])], vec![], vec![node("Cast", "x", "y", &[("to", A::I(7))])], &["y"]);
    assert_eq!(values(&read(&to_int).unwrap().program, &[vec![-1.75, 1.75]])[0].data(), [-1.0, 1.0]);
}

#[test]
fn shapes_are_computed_while_reading() {
    // x viewed as [N, C * H * W], by the arithmetic that exporters write
    let nodes = vec![
        node("Shape", "x", "s", &[]),
        node("Gather", "s zero", "n", &[]),
        node("Unsqueeze", "n axes", "n1", &[]),
        node("Slice", "s one four", "rest", &[]),
        node("ReduceProd", "rest", "p", &[("keepdims", A::I(1))]),
        node("Concat", "n1 p", "to", &[("axis", A::I(0))]),
        node("Reshape", "x to", "y", &[]),
        node("Size", "x", "all", &[]),
        node("Div", "all two", "half", &[]),
        node("Sub", "half two", "less", &[]),
        node("Range", "zero2 less step", "r", &[]),
        node("Cast", "r", "rf", &[("to", A::I(1))]),
        node("ConstantOfShape", "one", "ones", &[("value", A::T(&floats("v", &[1], &[1.0])))]),
        node("Add", "rf ones", "z0", &[]),
        node("Relu", "z0", "z", &[]),
        node("Equal", "n1 one", "same", &[]),
        node("Where", "same one four", "picked", &[]),
        node("Mod", "picked three", "m", &[]),
        node("Expand", "first m", "e", &[]),
        node("Mul", "e ones", "w", &[]),
    ];
    let constants = vec![
        int("zero", 0),
        ints("axes", &[0]),
        ints("one", &[1]),
        ints("four", &[4]),
        int("two", 2),
        int("zero2", 0),
        int("step", 2),
        int("three", 3),
        floats("first", &[1], &[5.0]),
    ];
    let n = read(&model(13, vec![port("x", &[2, 3, 2, 2])], constants, nodes, &["y", "z", "w"])).unwrap();
    let x: Vec<f64> = (0..24).map(f64::from).collect();
    let out = values(&n.program, std::slice::from_ref(&x));
    assert_eq!((out[0].shape().dims(), out[0].data()), (&[2, 12][..], &x[..]));
    assert_eq!(out[1].data(), [1.0, 3.0, 5.0, 7.0, 9.0]);
    assert_eq!(out[2].data(), [5.0]);
    // nothing of it is left
    assert!(n.program.len() <= 6, "{}", n.program);
}

#[test]
fn names_are_kept_as_the_file_has_them() {
    let n = read(&relu(vec![port("X_place:0", &[2])])).unwrap();
    assert_eq!(&*n.program.inputs()[0].name, "X_place:0");
    assert!(n.program.to_string().starts_with("program net(X_place_0[2])"), "{}", n.program);
    assert_eq!(n.outputs, ["y"]);
}

#[test]
fn weights_listed_as_inputs_are_weights() {
    let inputs = vec![port("w", &[2]), port("x", &[2])];
    let m = model(8, inputs, vec![floats("w", &[2], &[2.0, 3.0])], vec![node("Mul", "x w", "y", &[])], &["y"]);
    let n = read(&m).unwrap();
    assert_eq!(n.program.inputs().len(), 1);
    assert_eq!(values(&n.program, &[vec![1.0, 1.0]])[0].data(), [2.0, 3.0]);
    let free = parse_onnx(&m.encode_to_vec(), &Options { weights: Weights::Inputs, ..Options::default() }).unwrap();
    assert_eq!((free.weights[0].0.as_str(), free.weights[0].1.data()), ("w", &[2.0, 3.0][..]));
    assert_eq!(free.program.inputs().iter().map(|i| &*i.name).collect::<Vec<_>>(), ["x", "w"]);
    // what says how something is computed stays a constant
    let m = model(
        13,
        vec![port("x", &[2])],
        vec![floats("low", &[], &[0.0])],
        vec![node("Clip", "x low", "y", &[])],
        &["y"],
    );
    let free = parse_onnx(&m.encode_to_vec(), &Options { weights: Weights::Inputs, ..Options::default() }).unwrap();
    assert_eq!(free.program.inputs().len(), 1);
}

#[test]
fn sizes_that_are_left_open() {
    let dims = |ports: &[&str], options: &Options<'_>| {
        let m = relu(vec![open_port("x", ports)]);
        parse_onnx(&m.encode_to_vec(), options)
            .map(|n| n.program.inputs()[0].shape.dims().to_vec())
            .map_err(|e| e.to_string())
    };
    let plain = Options::default();
    assert_eq!(dims(&["N", "3"], &plain), Ok(vec![1, 3]));
    assert_eq!(dims(&["", "3"], &plain), Ok(vec![1, 3]));
    assert_eq!(dims(&["N", "3"], &Options { batch: 4, ..plain }), Ok(vec![4, 3]));
    let said = [("h".to_string(), 8), ("x:2".to_string(), 5)];
    assert_eq!(dims(&["N", "h", ""], &Options { dims: &said, ..plain }), Ok(vec![1, 8, 5]));
    let message = dims(&["N", "h"], &plain).unwrap_err();
    assert_eq!(message, "`x`: the file leaves the size of its axis 1 open; say the size of `h`");
    assert!(dims(&["N", ""], &plain).unwrap_err().contains("say the size of `x:1`"));
    let shapes = [("x".to_string(), vec![2, 7])];
    assert_eq!(dims(&["N", "h"], &Options { shapes: &shapes, ..plain }), Ok(vec![2, 7]));
    // a shape of another rank says nothing
    let flat = [("x".to_string(), vec![14])];
    assert_eq!(dims(&["N", "7"], &Options { shapes: &flat, ..plain }), Ok(vec![1, 7]));
    // nor does one that contradicts the file, and a size for an axis that is not open is refused
    let other = [("x".to_string(), vec![28, 28])];
    assert_eq!(dims(&["N", "784"], &Options { shapes: &other, ..plain }), Ok(vec![1, 784]));
    let message = dims(&["N", "3"], &Options { dims: &said, ..plain }).unwrap_err();
    assert_eq!(message, "`h`: a size is given for this axis, but the file leaves no such axis of an input open");
    let without = relu(vec![typed("x", 1, None)]);
    assert!(message_of(&without, &plain).contains("does not say its shape"));
    let n = parse_onnx(&without.encode_to_vec(), &Options { shapes: &shapes, ..plain }).unwrap();
    assert_eq!(n.program.inputs()[0].shape.dims(), [2, 7]);
}

fn message_of(m: &ModelProto, options: &Options<'_>) -> String {
    parse_onnx(&m.encode_to_vec(), options).unwrap_err().to_string()
}

#[test]
fn external_data_comes_from_inside_the_folder() {
    let entry = |key: &str, value: &str| StringStringEntryProto { key: Some(key.into()), value: Some(value.into()) };
    let with = |entries: Vec<StringStringEntryProto>| {
        let w = TensorProto {
            name: Some("w".into()),
            dims: vec![2],
            data_type: Some(1),
            data_location: Some(1),
            external_data: entries,
            ..Default::default()
        };
        model(13, vec![port("x", &[2])], vec![w], vec![node("Mul", "x w", "y", &[])], &["y"])
    };
    let data = |e: &External| -> Result<Vec<u8>, String> {
        assert_eq!((e.location.as_str(), e.offset, e.length), ("sub/w.bin", 16, 8));
        Ok([2.0f32, 0.5].iter().flat_map(|x| x.to_le_bytes()).collect())
    };
    let options = Options { external: Some(&data), ..Options::default() };
    let good = with(vec![entry("location", "sub/w.bin"), entry("offset", "16"), entry("length", "8")]);
    let n = parse_onnx(&good.encode_to_vec(), &options).unwrap();
    assert_eq!(values(&n.program, &[vec![1.0, 1.0]])[0].data(), [2.0, 0.5]);
    assert!(message_of(&good, &Options::default()).contains("cannot be read from here"));
    for outside in ["../w.bin", "/etc/passwd", "sub/../../w", "c:\\w", "", ".", "sub//w", "..\\w"] {
        let message = message_of(&with(vec![entry("location", outside)]), &options);
        assert!(message.contains("from the folder of the model"), "{outside}: {message}");
    }
    assert!(message_of(&with(vec![]), &options).contains("no location"));
    assert!(message_of(&with(vec![entry("location", "w"), entry("length", "9")]), &options).contains("9 bytes"));
    assert!(message_of(&with(vec![entry("location", "w"), entry("offset", "-1")]), &options).contains("no number"));
    let short = |_: &External| Ok(vec![0; 3]);
    assert!(message_of(&good, &Options { external: Some(&short), ..Options::default() }).contains("3 of the 8 bytes"));
    let absent = |_: &External| Err("there is no file w.bin".to_string());
    assert!(
        message_of(&good, &Options { external: Some(&absent), ..Options::default() })
            .contains("there is no file w.bin")
    );
}

#[test]
fn equations_know_their_nodes_and_layers() {
    let mut m = relu(vec![port("x", &[2])]);
    let graph = m.graph.as_mut().unwrap();
    graph.node[0].name = Some("/layer1/layer1.0/act/Relu".into());
    let n = read(&m).unwrap();
    let origin = n.program.equation(0).origin().unwrap();
    assert_eq!(origin.to_string(), "layer1.0.act, node /layer1/layer1.0/act/Relu of net.onnx");
    let n = read(&relu(vec![port("x", &[2])])).unwrap();
    assert_eq!(n.program.equation(0).origin(), Some(Origin::node("net.onnx", "y")));
}

#[test]
fn nodes_may_come_in_any_order_and_what_nobody_needs_is_left_out() {
    let nodes =
        vec![node("Neg", "a", "y", &[]), node("NoSuchOperator", "x", "unused", &[]), node("Relu", "x", "a", &[])];
    let n = read(&model(13, vec![port("x", &[1])], vec![], nodes, &["y"])).unwrap();
    assert_eq!(values(&n.program, &[vec![3.0]])[0].data(), [-3.0]);
}

#[test]
fn one_message_says_what_is_not_supported() {
    let one = |op: &str| {
        model(
            13,
            vec![port("x", &[1])],
            vec![],
            vec![NodeProto { name: Some("n7".into()), ..node(op, "x", "y", &[]) }],
            &["y"],
        )
    };
    let count = operators().len();
    assert_eq!(
        message(&one("NonZero")),
        format!("node `n7`: operator `NonZero` is not supported; {count} operators are, and docs/onnx.md lists them")
    );
    assert!(message(&one("Sigmoyd")).ends_with("; did you mean `Sigmoid`?"));
    assert!(message(&one("Det")).contains("`Det` is not supported"));
    let mut rest = one("Mod");
    rest.graph.as_mut().unwrap().node[0].input = vec!["x".into(), "x".into()];
    assert!(message(&rest).contains("one is computed from inputs"));
    assert_eq!(message(&one("Add")), "node `n7` (Add): it takes 2 arguments, got 1");
    let mut other = one("Relu");
    other.graph.as_mut().unwrap().node[0].domain = Some("com.microsoft".into());
    assert!(message(&other).contains("belongs to `com.microsoft`"));
}

#[test]
fn versions_are_checked() {
    let of = |version: Option<i64>| {
        let mut m = relu(vec![port("x", &[1])]);
        m.opset_import =
            version.map(|v| OperatorSetIdProto { domain: Some(String::new()), version: Some(v) }).into_iter().collect();
        read(&m).map(|n| n.opset).map_err(|e| e.to_string())
    };
    assert_eq!((of(Some(7)), of(Some(26))), (Ok(7), Ok(26)));
    assert!(of(Some(6)).unwrap_err().contains("versions 7 to 26 are read"));
    assert!(of(Some(27)).is_err() && of(None).unwrap_err().contains("does not say which version"));
}

#[test]
fn the_page_lists_the_table() {
    let page = include_str!("../../../docs/onnx.md");
    let table: Vec<(&str, &str)> = page
        .lines()
        .skip_while(|l| !l.starts_with("| operator"))
        .skip(2)
        .take_while(|l| l.starts_with('|'))
        .filter_map(|l| {
            let mut cells = l.trim_matches('|').split('|').map(str::trim);
            Some((cells.next()?.trim_matches('`'), cells.next()?))
        })
        .collect();
    assert_eq!(table, operators().collect::<Vec<_>>());
}
