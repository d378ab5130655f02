//! Every model of the shared data against what onnxruntime returned.

mod network;

use crease_core::{Shape, Tensor, run};
use crease_formats::onnx::{Network, Options, Weights, parse_onnx};
use network::folder;
use serde_json::Value;

/// The recipe of the reference.
fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut s = seed;
    let next = |_| {
        s = (s * 1_103_515_245 + 12345) % (1 << 31);
        ((s >> 16) % 2048) as f64 / 1024.0 - 1.0
    };
    (0..n).map(next).collect()
}

/// Networks, and for each seed inputs in order and what the first outputs are.
fn cases(folder: &std::path::Path) -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(folder.join("REFERENCE_OUTPUTS.json")).expect("the data has its reference");
    let all: Value = serde_json::from_str(&text).expect("the reference is JSON");
    let networks = all["networks"].as_object().expect("the reference has networks");
    networks.iter().map(|(name, cases)| (name.clone(), cases.clone())).collect()
}

fn inputs(network: &Network, case: &Value) -> Vec<Tensor<f64>> {
    let seed = case["seed"].as_u64().expect("a case has a seed");
    let of = network.program.inputs().iter().enumerate().map(|(j, input)| {
        let dims: Vec<usize> =
            serde_json::from_value(case["inputs"][&*input.name].clone()).expect("an input has a shape");
        assert_eq!(Shape::new(dims).unwrap(), input.shape);
        Tensor::new(input.shape.clone(), numbers(input.shape.len(), seed + 10 * j as u64)).unwrap()
    });
    of.collect()
}

/// How far numbers may be from the reference, relative to the largest: in floats, and in doubles.
const F32: f64 = 1e-4;
const F64: f64 = 2e-5;

#[test]
fn all_models_return_what_onnxruntime_returns() {
    let Some(folder) = folder() else { return };
    let mut read = 0;
    for (name, cases) in cases(&folder) {
        let bytes = std::fs::read(folder.join(&name)).expect("the model is there");
        let network = parse_onnx(&bytes, &Options { name: &name, ..Options::default() });
        if name.ends_with("dropout_training_mode_true.onnx") {
            let message = network.unwrap_err().to_string();
            assert!(message.contains("random"), "{message}");
            continue;
        }
        let network = network.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(network.program.verify().is_empty());
        for case in cases.as_array().expect("a network has cases") {
            let outputs = run(&network.program, &inputs(&network, case)).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(outputs.len(), case["outputs"].as_object().unwrap().len(), "{name}");
            let narrow: Vec<Tensor<f32>> = inputs(&network, case)
                .iter()
                .map(|t| Tensor::new(t.shape().clone(), t.data().iter().map(|&x| x as f32).collect()).unwrap())
                .collect();
            let narrow = run(&network.program, &narrow).unwrap_or_else(|e| panic!("{name}: {e}"));
            for ((output, narrow), of) in outputs.iter().zip(&narrow).zip(&network.outputs) {
                let want: Vec<f64> =
                    serde_json::from_value(case["outputs"][of].clone()).expect("an output has numbers");
                let scale = want.iter().fold(1e-3f64, |m, w| m.max(w.abs()));
                assert!(output.data().len() >= want.len(), "{name}: {of}");
                for (got, want) in narrow.data().iter().zip(&want) {
                    assert!((f64::from(*got) - want).abs() <= F32 * scale, "{name}: {of}: {got} and {want} in f32");
                }
                // the reference was rounded to f32 after each operation; doubles are closer to it than that
                for (got, want) in output.data().iter().zip(&want) {
                    assert!((got - want).abs() <= F64 * scale, "{name}: {of}: {got} and {want}");
                }
            }
        }
        read += 1;
    }
    assert_eq!(read, 72);
}

#[test]
fn weights_as_inputs_are_the_same_function() {
    let Some(folder) = folder() else { return };
    for name in [
        "acasxu/ACASXU_run2a_1_1_batch_2000.onnx",
        "marabou/cnn_max_mninst2.onnx",
        "marabou/linear2-3_bn1-linear3-1.onnx",
    ] {
        let bytes = std::fs::read(folder.join(name)).expect("the model is there");
        let fixed = parse_onnx(&bytes, &Options::default()).unwrap();
        let free = parse_onnx(&bytes, &Options { weights: Weights::Inputs, ..Options::default() }).unwrap();
        assert_eq!(free.program.inputs().len(), fixed.program.inputs().len() + free.weights.len());
        assert!(!free.weights.is_empty() && fixed.weights.is_empty());
        let shape = &fixed.program.inputs()[0].shape;
        let mut at = vec![Tensor::new(shape.clone(), numbers(shape.len(), 5)).unwrap()];
        let one = run(&fixed.program, &at).unwrap();
        for (name, weight) in &free.weights {
            let input = &free.program.inputs()[at.len()];
            assert_eq!((&*input.name, &input.shape), (&name[..], weight.shape()));
            at.push(Tensor::new(weight.shape().clone(), weight.data().to_vec()).unwrap());
        }
        let other = run(&free.program, &at).unwrap();
        // the factors of a batch normalisation are computed in the run where weights are inputs, and constants where they are not
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-14 * (1.0 + a.abs());
        let same = one.iter().zip(&other).all(|(a, b)| a.data().iter().zip(b.data()).all(close));
        assert!(if name.contains("_bn") { same } else { other == one }, "{name}: {one:?} and {other:?}");
    }
}
