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

/// Compares the gradient with central differences along a few directions.
fn check(name: &str, p: &Program, at: &[Tensor<f64>]) {
    let f = weighed(p);
    let (_, met) = kinks(&f, at).unwrap();
    // windows of units that are off tie at 0, and stay there
    let off = name.contains("cnn_max");
    assert!(met.is_empty() || off && met.iter().all(|k| k.kink == "max"), "{name} is at a kink");
    let gradient = run(&backprop(&f, &How::default()).unwrap(), at).unwrap();
    let value = |at: &[Tensor<f64>]| run(&f, at).unwrap()[0].data()[0];
    for seed in 0..3 {
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

#[test]
fn models_of_the_shared_data() {
    let Some(folder) = folder() else { return };
    let names = [
        "acasxu/ACASXU_run2a_2_2_batch_2000.onnx",
        "cifar10_resnet/resnet_2b.onnx",
        "marabou/cnn_max_mninst2.onnx",
        "marabou/softmax-last-layer.onnx",
        "marabou/KJ_TinyTaxiNet.onnx",
        "mnistfc/mnist-net_256x4.onnx",
        "oval21/cifar_base_kw.onnx",
        "rl/lunarlander.onnx",
    ];
    for name in names {
        let n = parse_onnx(&std::fs::read(folder.join(name)).unwrap(), &Options::default()).unwrap();
        let shape = n.program.inputs()[0].shape.clone();
        let at = Tensor::new(shape.clone(), numbers(shape.len(), 3)).unwrap();
        check(name, &n.program, &[at]);
    }
}
