//! Derivatives of networks against central differences, away from kinks, by inputs and by weights.

mod network;

use crease_core::differentiate::{How, backprop};
use crease_core::{Atom, Builder, Program, Tensor, kinks, run};
use crease_formats::onnx::messages::{ModelProto, TensorProto};
use crease_formats::onnx::{Options, Weights, parse_onnx};
use network::*;
use prost::Message;

/// Numbers that look random.
fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut s = seed;
    let next = |_| {
        s = s.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (s >> 40) as f64 / (1 << 23) as f64 - 1.0
    };
    (0..n).map(next).collect()
}

fn weight(name: &str, dims: &[i64], seed: u64) -> TensorProto {
    let n = dims.iter().product::<i64>() as usize;
    floats(name, dims, &numbers(n, seed).iter().map(|&x| x as f32).collect::<Vec<_>>())
}

/// A number made of all outputs of a program.
fn weighed(p: &Program) -> Program {
    let mut b = Builder::new("weighed");
    let inputs: Vec<Atom> = p.inputs().iter().map(|i| b.input(i.name.clone(), i.shape.clone()).unwrap()).collect();
    let mut total = b.constant(0);
    for (i, output) in b.splice(p, &inputs).unwrap().into_iter().enumerate() {
        let shape = b.shape(output);
        let weights = b.tensor(shape.clone(), numbers(shape.len(), 99 + i as u64)).unwrap();
        let part = b.mul(output, weights).unwrap();
        let part = b.sum_all(part).unwrap();
        total = b.add(total, part).unwrap();
    }
    b.finish(&[total]).unwrap()
}

/// Compares the gradient with central differences along a few directions, where nothing is at a kink but windows of units that are off, which stay at 0.
fn check(name: &str, p: &Program, at: &[Tensor<f64>]) {
    let (_, met) = kinks(p, at).unwrap();
    assert!(met.iter().all(|k| k.kink == "max" && name == "resnet"), "{name} is at a kink");
    check_along(name, p, at, 3);
}

fn check_along(name: &str, p: &Program, at: &[Tensor<f64>], directions: u64) {
    let f = weighed(p);
    let gradient = run(&backprop(&f, &How::default()).unwrap(), at).unwrap();
    let value = |at: &[Tensor<f64>]| run(&f, at).unwrap()[0].data()[0];
    for seed in 0..directions {
        let direction: Vec<Vec<f64>> =
            at.iter().enumerate().map(|(i, t)| numbers(t.data().len(), 1000 * seed + i as u64)).collect();
        let moved = |h: f64| -> Vec<Tensor<f64>> {
            let one = |(t, d): (&Tensor<f64>, &Vec<f64>)| {
                let data = t.data().iter().zip(d).map(|(x, d)| x + h * d).collect();
                Tensor::new(t.shape().clone(), data).unwrap()
            };
            at.iter().zip(&direction).map(one).collect()
        };
        let h = 1e-6;
        let along = (value(&moved(h)) - value(&moved(-h))) / (2.0 * h);
        let parts = gradient[gradient.len() - at.len()..].iter().zip(&direction);
        let by_gradient: f64 = parts.map(|(g, d)| g.data().iter().zip(d).map(|(g, d)| g * d).sum::<f64>()).sum();
        assert!((along - by_gradient).abs() <= 1e-5 * (1.0 + along.abs()), "{name}: {along} and {by_gradient}");
    }
}

/// By inputs and by weights.
fn check_model(name: &str, m: &ModelProto) {
    let n = parse_onnx(&m.encode_to_vec(), &Options { weights: Weights::Inputs, ..Options::default() }).unwrap();
    let given = n.program.inputs().len() - n.weights.len();
    let mut at: Vec<Tensor<f64>> = n.program.inputs()[..given]
        .iter()
        .enumerate()
        .map(|(i, p)| Tensor::new(p.shape.clone(), numbers(p.shape.len(), 7 + i as u64)).unwrap())
        .collect();
    at.extend(n.weights.iter().map(|(_, w)| Tensor::new(w.shape().clone(), w.data().to_vec()).unwrap()));
    check(name, &n.program, &at);
}

#[test]
fn a_network_for_images() {
    let nodes = vec![
        node("Conv", "x w1 b1", "c1", &[("pads", A::Is(&[1, 1, 1, 1])), ("strides", A::Is(&[1, 2]))]),
        node("BatchNormalization", "c1 s b m v", "n1", &[]),
        node("LeakyRelu", "n1", "r1", &[("alpha", A::F(0.1))]),
        node("MaxPool", "r1", "p1", &[("kernel_shape", A::Is(&[2, 2])), ("pads", A::Is(&[0, 1, 1, 0]))]),
        node("Conv", "p1 w2", "c2", &[("group", A::I(2)), ("dilations", A::Is(&[2, 1]))]),
        node("Elu", "c2", "r2", &[]),
        node(
            "AveragePool",
            "r2",
            "p2",
            &[("kernel_shape", A::Is(&[2, 2])), ("ceil_mode", A::I(1)), ("strides", A::Is(&[2, 2]))],
        ),
        node("ConvTranspose", "p2 w3", "t", &[("strides", A::Is(&[2, 2])), ("pads", A::Is(&[1, 0, 0, 0]))]),
        node("Resize", "t _ scales", "z", &[("mode", A::S("linear"))]),
        node("GlobalAveragePool", "z", "g", &[]),
        node("Flatten", "g", "f", &[]),
        node("Gemm", "f w4 b4", "y", &[("transB", A::I(1)), ("alpha", A::F(0.5))]),
    ];
    let constants = vec![
        weight("w1", &[4, 2, 3, 3], 1),
        weight("b1", &[4], 2),
        weight("s", &[4], 3),
        weight("b", &[4], 4),
        weight("m", &[4], 5),
        floats("v", &[4], &[0.5, 1.0, 2.0, 0.25]),
        weight("w2", &[4, 2, 2, 2], 6),
        weight("w3", &[4, 2, 3, 3], 7),
        floats("scales", &[4], &[1.0, 1.0, 2.0, 1.5]),
        weight("w4", &[3, 2], 8),
        weight("b4", &[3], 9),
    ];
    check_model("images", &model(13, vec![port("x", &[2, 2, 8, 9])], constants, nodes, &["y"]));
}

#[test]
fn a_block_of_a_transformer() {
    let heads = |i: &str, o: &str| {
        [
            node("Reshape", &format!("{i} split"), &format!("{o}0"), &[]),
            node("Transpose", &format!("{o}0"), o, &[("perm", A::Is(&[0, 2, 1, 3]))]),
        ]
    };
    let mut nodes = vec![node("LayerNormalization", "x g b", "n", &[])];
    for name in ["q", "k", "v"] {
        nodes.push(node("MatMul", &format!("n w{name}"), &format!("{name}1"), &[]));
        nodes.extend(heads(&format!("{name}1"), name));
    }
    nodes.extend([
        node("Transpose", "k", "kt", &[("perm", A::Is(&[0, 1, 3, 2]))]),
        node("MatMul", "q kt", "scores0", &[]),
        node("Div", "scores0 root", "scores1", &[]),
        node("Where", "mask scores1 low", "scores", &[]),
        node("Softmax", "scores", "attention", &[("axis", A::I(-1))]),
        node("MatMul", "attention v", "mixed0", &[]),
        node("Transpose", "mixed0", "mixed1", &[("perm", A::Is(&[0, 2, 1, 3]))]),
        node("Reshape", "mixed1 merge", "mixed", &[]),
        node("Add", "x mixed", "sum", &[]),
        node("Gelu", "sum", "gated", &[("approximate", A::S("tanh"))]),
        node("Einsum", "gated wo", "y", &[("equation", A::S("bsd,de->bse"))]),
        node("ReduceL2", "y axes", "norm", &[("keepdims", A::I(0))]),
    ]);
    let mask: Vec<bool> = (0..9).map(|i| i % 3 <= i / 3).collect();
    let constants = vec![
        weight("g", &[4], 1),
        weight("b", &[4], 2),
        weight("wq", &[4, 4], 3),
        weight("wk", &[4, 4], 4),
        weight("wv", &[4, 4], 5),
        weight("wo", &[4, 3], 6),
        ints("split", &[0, 0, 2, 2]),
        ints("merge", &[0, 0, 4]),
        ints("axes", &[-1]),
        floats("root", &[], &[std::f32::consts::SQRT_2]),
        floats("low", &[], &[-1e4]),
        bools("mask", &[3, 3], &mask),
    ];
    check_model("transformer", &model(20, vec![port("x", &[2, 3, 4])], constants, nodes, &["y", "norm"]));
}

/// The scale, bias, mean and variance of a batch normalisation, and its node.
fn normalized(name: &str, from: &str, channels: i64, nodes: &mut Vec<ModelNode>, constants: &mut Vec<TensorProto>) {
    let of = |what: &str| format!("{name}_{what}");
    nodes.push(node("BatchNormalization", &format!("{from} {name}_s {name}_b {name}_m {name}_v"), name, &[]));
    let seed = name.len() as u64 + 31 * channels as u64;
    constants.extend([
        weight(&of("s"), &[channels], seed + 1),
        weight(&of("b"), &[channels], seed + 2),
        weight(&of("m"), &[channels], seed + 3),
        floats(&of("v"), &[channels], &(0..channels).map(|i| 0.5 + i as f32 / 4.0).collect::<Vec<_>>()),
    ]);
}

type ModelNode = crease_formats::onnx::messages::NodeProto;

#[test]
fn a_residual_network() {
    let (mut nodes, mut constants) = (Vec::new(), Vec::new());
    let same = [1, 1, 1, 1];
    nodes.push(node("Conv", "x w0", "c0", &[("pads", A::Is(&[3, 3, 3, 3])), ("strides", A::Is(&[2, 2]))]));
    constants.push(weight("w0", &[4, 3, 7, 7], 1));
    normalized("n0", "c0", 4, &mut nodes, &mut constants);
    nodes.push(node("Relu", "n0", "r0", &[]));
    let window = [("kernel_shape", A::Is(&[3, 3])), ("strides", A::Is(&[2, 2])), ("pads", A::Is(&same))];
    nodes.push(node("MaxPool", "r0", "block0", &window));
    // a plain block, then one that halves the picture and has a projection beside it
    for (i, channels, stride) in [(1, 4i64, 1i64), (2, 6, 2)] {
        let (before, name) = (format!("block{}", i - 1), |what: &str| format!("{what}{i}"));
        let (first, second) =
            (weight(&name("wa"), &[channels, 4, 3, 3], 3 + i), weight(&name("wb"), &[channels, channels, 3, 3], 5 + i));
        constants.extend([first, second]);
        let steps = [stride, stride];
        nodes.push(node(
            "Conv",
            &format!("{before} wa{i}"),
            &name("a"),
            &[("pads", A::Is(&same)), ("strides", A::Is(&steps))],
        ));
        normalized(&name("na"), &name("a"), channels, &mut nodes, &mut constants);
        nodes.push(node("Relu", &name("na"), &name("ra"), &[]));
        nodes.push(node("Conv", &format!("ra{i} wb{i}"), &name("b"), &[("pads", A::Is(&same))]));
        normalized(&name("nb"), &name("b"), channels, &mut nodes, &mut constants);
        let mut beside = before.clone();
        if stride == 2 {
            constants.push(weight(&name("wp"), &[channels, 4, 1, 1], 9));
            nodes.push(node("Conv", &format!("{before} wp{i}"), &name("p"), &[("strides", A::Is(&steps))]));
            normalized(&name("np"), &name("p"), channels, &mut nodes, &mut constants);
            beside = name("np");
        }
        nodes.push(node("Add", &format!("nb{i} {beside}"), &name("s"), &[]));
        nodes.push(node("Relu", &name("s"), &name("block"), &[]));
    }
    nodes.push(node("GlobalAveragePool", "block2", "g", &[]));
    nodes.push(node("Flatten", "g", "f", &[]));
    nodes.push(node("Gemm", "f wl bl", "y", &[("transB", A::I(1))]));
    constants.extend([weight("wl", &[5, 6], 11), weight("bl", &[5], 12)]);
    check_model("resnet", &model(13, vec![port("x", &[1, 3, 16, 16])], constants, nodes, &["y"]));
}

#[test]
fn a_pyramid_of_features() {
    let (mut nodes, mut constants) = (Vec::new(), Vec::new());
    let mut before = "x".to_string();
    for (i, (from, to)) in [(3i64, 4i64), (4, 6), (6, 8)].into_iter().enumerate() {
        constants.push(weight(&format!("w{i}"), &[to, from, 3, 3], 1 + i as u64));
        nodes.push(node(
            "Conv",
            &format!("{before} w{i}"),
            &format!("c{i}"),
            &[("pads", A::Is(&[1, 1, 1, 1])), ("strides", A::Is(&[2, 2]))],
        ));
        nodes.push(node("Relu", &format!("c{i}"), &format!("r{i}"), &[]));
        constants.push(weight(&format!("l{i}"), &[3, to, 1, 1], 5 + i as u64));
        nodes.push(node("Conv", &format!("r{i} l{i}"), &format!("lateral{i}"), &[]));
        constants.push(weight(&format!("o{i}"), &[2, 3, 3, 3], 8 + i as u64));
        before = format!("r{i}");
    }
    // from the smallest down: twice as large, by the sizes of what it is added to, as exporters write it
    nodes.push(node("Identity", "lateral2", "p2", &[]));
    constants.push(ints("tail", &[2]));
    constants.push(ints("end", &[4]));
    constants.push(ints("head", &[1, 3]));
    for i in [1, 0] {
        nodes.push(node("Shape", &format!("lateral{i}"), &format!("shape{i}"), &[]));
        nodes.push(node("Slice", &format!("shape{i} tail end"), &format!("size{i}"), &[]));
        nodes.push(node("Concat", &format!("head size{i}"), &format!("sizes{i}"), &[("axis", A::I(0))]));
        let nearest = [
            ("mode", A::S("nearest")),
            ("coordinate_transformation_mode", A::S("asymmetric")),
            ("nearest_mode", A::S("floor")),
        ];
        nodes.push(node("Resize", &format!("p{} _ _ sizes{i}", i + 1), &format!("up{i}"), &nearest));
        nodes.push(node("Add", &format!("lateral{i} up{i}"), &format!("p{i}"), &[]));
    }
    for i in 0..3 {
        nodes.push(node("Conv", &format!("p{i} o{i}"), &format!("y{i}"), &[("pads", A::Is(&[1, 1, 1, 1]))]));
    }
    nodes.push(node("MaxPool", "y2", "y3", &[("kernel_shape", A::Is(&[1, 1])), ("strides", A::Is(&[2, 2]))]));
    check_model("pyramid", &model(13, vec![port("x", &[1, 3, 16, 16])], constants, nodes, &["y0", "y1", "y2", "y3"]));
}

#[test]
fn a_mobile_network() {
    let (mut nodes, mut constants) = (Vec::new(), Vec::new());
    nodes.push(node("Conv", "x w0", "c0", &[("pads", A::Is(&[1, 1, 1, 1])), ("strides", A::Is(&[2, 2]))]));
    constants.push(weight("w0", &[4, 3, 3, 3], 1));
    normalized("n0", "c0", 4, &mut nodes, &mut constants);
    nodes.push(node("HardSwish", "n0", "h0", &[]));
    // wider, channel by channel, squeezed and excited, narrower, and added
    constants.extend([weight("w1", &[8, 4, 1, 1], 2), weight("w2", &[8, 1, 5, 5], 3), weight("w5", &[4, 8, 1, 1], 6)]);
    constants.extend([
        weight("w3", &[2, 8, 1, 1], 4),
        weight("b3", &[2], 14),
        weight("w4", &[8, 2, 1, 1], 5),
        weight("b4", &[8], 15),
    ]);
    nodes.push(node("Conv", "h0 w1", "c1", &[]));
    normalized("n1", "c1", 8, &mut nodes, &mut constants);
    nodes.push(node("HardSwish", "n1", "h1", &[]));
    nodes.push(node("Conv", "h1 w2", "c2", &[("group", A::I(8)), ("pads", A::Is(&[2, 2, 2, 2]))]));
    normalized("n2", "c2", 8, &mut nodes, &mut constants);
    nodes.extend([
        node("Relu", "n2", "r2", &[]),
        node("GlobalAveragePool", "r2", "g", &[]),
        node("Conv", "g w3 b3", "s1", &[]),
        node("Relu", "s1", "s2", &[]),
        node("Conv", "s2 w4 b4", "s3", &[]),
        node("HardSigmoid", "s3", "s4", &[("alpha", A::F(1.0 / 6.0)), ("beta", A::F(0.5))]),
        node("Mul", "r2 s4", "e", &[]),
        node("Conv", "e w5", "c5", &[]),
    ]);
    normalized("n5", "c5", 4, &mut nodes, &mut constants);
    nodes.extend([
        node("Add", "n5 h0", "sum", &[]),
        node("ReduceMean", "sum", "mean", &[("axes", A::Is(&[2, 3])), ("keepdims", A::I(0))]),
        node("Clip", "mean low high", "six", &[]),
        node("Gemm", "six w6", "y", &[]),
    ]);
    constants.extend([floats("low", &[], &[-6.0]), floats("high", &[], &[6.0]), weight("w6", &[4, 3], 7)]);
    check_model("mobile", &model(14, vec![port("x", &[1, 3, 12, 12])], constants, nodes, &["y"]));
}

#[test]
fn a_transformer_for_images() {
    // patches of 4 by 4 as tokens, one token for the class, two heads, and what exporters make of shapes
    let mut nodes = vec![
        node("Conv", "x wp bp", "patches", &[("strides", A::Is(&[4, 4])), ("kernel_shape", A::Is(&[4, 4]))]),
        node("Shape", "patches", "shape", &[]),
        node("Slice", "shape zero two", "front", &[]),
        node("Concat", "front open", "flat", &[("axis", A::I(0))]),
        node("Reshape", "patches flat", "rows", &[]),
        node("Transpose", "rows", "tokens", &[("perm", A::Is(&[0, 2, 1]))]),
        node("Gather", "shape first", "batch", &[]),
        node("Unsqueeze", "batch zero", "batches", &[]),
        node("Concat", "batches ones6", "size", &[("axis", A::I(0))]),
        node("Expand", "class size", "classes", &[]),
        node("Concat", "classes tokens", "all", &[("axis", A::I(1))]),
        node("Add", "all positions", "h0", &[]),
        node("LayerNormalization", "h0 g1 b1", "n1", &[("epsilon", A::F(1e-6))]),
        node("MatMul", "n1 wqkv", "qkv0", &[]),
        node("Add", "qkv0 bqkv", "qkv1", &[]),
        node("Reshape", "qkv1 heads", "qkv2", &[]),
        node("Transpose", "qkv2", "qkv", &[("perm", A::Is(&[2, 0, 3, 1, 4]))]),
    ];
    for (i, name) in ["q", "k", "v"].iter().enumerate() {
        nodes.push(node("Gather", &format!("qkv i{i}"), name, &[("axis", A::I(0))]));
    }
    nodes.extend([
        node("Transpose", "k", "kt", &[("perm", A::Is(&[0, 1, 3, 2]))]),
        node("MatMul", "q kt", "s0", &[]),
        node("Mul", "s0 scale", "s1", &[]),
        node("Softmax", "s1", "a", &[("axis", A::I(-1))]),
        node("MatMul", "a v", "m0", &[]),
        node("Transpose", "m0", "m1", &[("perm", A::Is(&[0, 2, 1, 3]))]),
        node("Reshape", "m1 merge", "m2", &[]),
        node("MatMul", "m2 wo", "m3", &[]),
        node("Add", "h0 m3", "h1", &[]),
        node("LayerNormalization", "h1 g2 b2", "n2", &[("epsilon", A::F(1e-6))]),
        node("MatMul", "n2 w1", "f0", &[]),
        // the Gaussian error linear unit, written out
        node("Div", "f0 root", "f1", &[]),
        node("Erf", "f1", "f2", &[]),
        node("Add", "f2 unit", "f3", &[]),
        node("Mul", "f0 f3", "f4", &[]),
        node("Mul", "f4 half", "f5", &[]),
        node("MatMul", "f5 w2", "f6", &[]),
        node("Add", "h1 f6", "h2", &[]),
        node("Gather", "h2 first", "c", &[("axis", A::I(1))]),
        node("Gemm", "c wl bl", "y", &[("transB", A::I(1))]),
    ]);
    let constants = vec![
        weight("wp", &[6, 3, 4, 4], 1),
        weight("bp", &[6], 2),
        ints("zero", &[0]),
        ints("two", &[2]),
        ints("open", &[-1]),
        int("first", 0),
        ints("ones6", &[1, 6]),
        weight("class", &[1, 1, 6], 3),
        weight("positions", &[1, 5, 6], 4),
        weight("g1", &[6], 5),
        weight("b1", &[6], 6),
        weight("wqkv", &[6, 18], 7),
        weight("bqkv", &[18], 8),
        ints("heads", &[0, 0, 3, 2, 3]),
        int("i0", 0),
        int("i1", 1),
        int("i2", 2),
        floats("scale", &[], &[0.577_350_26]),
        ints("merge", &[0, 0, 6]),
        weight("wo", &[6, 6], 9),
        weight("g2", &[6], 10),
        weight("b2", &[6], 11),
        weight("w1", &[6, 8], 12),
        floats("root", &[], &[std::f32::consts::SQRT_2]),
        floats("unit", &[], &[1.0]),
        floats("half", &[], &[0.5]),
        weight("w2", &[8, 6], 13),
        weight("wl", &[4, 6], 14),
        weight("bl", &[4], 15),
    ];
    check_model("vit", &model(17, vec![port("x", &[1, 3, 8, 8])], constants, nodes, &["y"]));
}

#[test]
fn all_models_of_the_shared_data() {
    let Some(folder) = folder() else { return };
    let text = std::fs::read_to_string(folder.join("REFERENCE_OUTPUTS.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut checked = 0;
    for name in all["networks"].as_object().unwrap().keys() {
        // random, and so refused
        let Ok(n) = parse_onnx(&std::fs::read(folder.join(name)).unwrap(), &Options::default()) else { continue };
        // inputs at which nothing ties but windows of units that are off, which stay at 0; lattices of minima compare some numbers with themselves, and tie everywhere
        let mut points = (3..11).map(|seed| {
            let draw = |(i, p): (usize, &crease_core::Input)| {
                Tensor::new(p.shape.clone(), numbers(p.shape.len(), seed + 20 * i as u64)).unwrap()
            };
            n.program.inputs().iter().enumerate().map(draw).collect::<Vec<Tensor<f64>>>()
        });
        let lattice = name.starts_with("tll/");
        let free = |at: &Vec<Tensor<f64>>| lattice || kinks(&n.program, at).unwrap().1.iter().all(|k| k.kink == "max");
        let at = points.find(free).unwrap_or_else(|| panic!("{name} ties wherever it was looked at"));
        check_along(name, &n.program, &at, 1);
        checked += 1;
    }
    assert_eq!(checked, 72);
}
