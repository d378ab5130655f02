//! The models of the shared data, compiled, in f64 and f32, against what onnxruntime returned; gradients against the interpreter.

use crease_core::differentiate::{How, gradient};
use crease_core::{Atom, Builder, Program, Tensor, run};
use crease_engine::{Float, Options, compile};
use crease_formats::onnx::{self, parse_onnx};
use serde_json::Value;
use std::path::PathBuf;

/// The shared data lies beside the repository, or further up where that is a worktree.
fn folder() -> Option<PathBuf> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let found = root.canonicalize().ok()?.ancestors().skip(1).map(|a| a.join("shared/data/onnx")).find(|f| f.is_dir());
    if found.is_none() {
        eprintln!("skipped: there is no ../shared/data/onnx");
    }
    found
}

/// The recipe of the reference.
fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut s = seed;
    let next = |_| {
        s = (s * 1_103_515_245 + 12345) % (1 << 31);
        ((s >> 16) % 2048) as f64 / 1024.0 - 1.0
    };
    (0..n).map(next).collect()
}

fn outputs<T: Float>(p: &Program, inputs: &[Vec<T>]) -> Vec<Vec<T>> {
    let code = compile::<T>(p, &Options::default()).expect("it compiles");
    let mut out: Vec<Vec<T>> = code.outputs().iter().map(|s| vec![T::default(); s.len()]).collect();
    let given: Vec<&[T]> = inputs.iter().map(|x| &x[..]).collect();
    let mut room: Vec<&mut [T]> = out.iter_mut().map(|o| &mut o[..]).collect();
    code.run(&mut code.workspace(), &given, &mut room).expect("it runs");
    out
}

#[test]
fn compiled_models_return_what_onnxruntime_returns() {
    let Some(folder) = folder() else { return };
    let text = std::fs::read_to_string(folder.join("REFERENCE_OUTPUTS.json")).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let mut worst = (0.0f64, 0.0f64);
    for (name, cases) in all["networks"].as_object().unwrap() {
        if name.ends_with("dropout_training_mode_true.onnx") {
            continue; // what it returns is random
        }
        let network = parse_onnx(&std::fs::read(folder.join(name)).unwrap(), &onnx::Options::default()).unwrap();
        let p = &network.program;
        for case in cases.as_array().unwrap() {
            let seed = case["seed"].as_u64().unwrap();
            let inputs: Vec<Vec<f64>> =
                p.inputs().iter().enumerate().map(|(j, i)| numbers(i.shape.len(), seed + 10 * j as u64)).collect();
            let short: Vec<Vec<f32>> = inputs.iter().map(|x| x.iter().map(|&x| x as f32).collect()).collect();
            let (long, short) = (outputs(p, &inputs), outputs(p, &short));
            for (i, of) in network.outputs.iter().enumerate() {
                let want: Vec<f64> = serde_json::from_value(case["outputs"][of].clone()).unwrap();
                let scale = want.iter().fold(1e-3f64, |m, w| m.max(w.abs()));
                for (k, want) in want.iter().enumerate() {
                    let off = |got: f64| (got - want).abs() / scale;
                    let (a, b) = (off(long[i][k]), off(f64::from(short[i][k])));
                    assert!(a <= 1e-4 && b <= 1e-4, "{name}: {of}: {} and {} for {want}", long[i][k], short[i][k]);
                    worst = (worst.0.max(a), worst.1.max(b));
                }
            }
        }
    }
    eprintln!("off by at most {:.1e} in f64 and {:.1e} in f32", worst.0, worst.1);
}

/// The program with element k of its first output as the only output.
fn element(p: &Program, k: usize) -> Program {
    let mut b = Builder::new(p.name());
    let inputs: Vec<Atom> = p.inputs().iter().map(|i| b.input(i.name.clone(), i.shape.clone()).unwrap()).collect();
    let whole = b.splice(p, &inputs).unwrap()[0];
    let flat = b.flatten(whole).unwrap();
    let one = b.at(flat, &[k]).unwrap();
    b.finish(&[one]).unwrap()
}

#[test]
fn compiled_gradients_are_those_of_the_interpreter() {
    let Some(folder) = folder() else { return };
    for name in ["cifar10_resnet/resnet_2b.onnx", "marabou/cnn_max_mninst2.onnx", "mnistfc/mnist-net_256x4.onnx"] {
        let network = parse_onnx(&std::fs::read(folder.join(name)).unwrap(), &onnx::Options::default()).unwrap();
        let p = gradient(&element(&network.program, 3), &How::default()).unwrap();
        let shape = p.inputs()[0].shape.clone();
        let x = numbers(shape.len(), 1);
        let by_run = run(&p, &[Tensor::new(shape, x.clone()).unwrap()]).unwrap();
        let by_engine = outputs(&p, &[x]);
        for (a, b) in by_run.iter().zip(&by_engine) {
            let scale = a.data().iter().fold(1e-9f64, |m, x| m.max(x.abs()));
            assert!(a.data().iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * scale), "{name}");
        }
    }
}
