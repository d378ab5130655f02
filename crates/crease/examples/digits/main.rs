//! A small network with a max-pool, trained on digits by crease's own gradients, and written to ONNX.
//!
//! ```text
//! cargo run --release --example digits             trains, and says how many of the held-out digits it knows
//! cargo run --release --example digits -- --write  also writes what is in examples/digits
//! ```
//!
//! `examples/digits` holds what the second one gave: `digits.onnx`, 200 held-out images and their labels. Images are drawn by
//! [`draw`]; those for training come from other seeds. The gradient is a program ([`Network::gradient_program`]), compiled by the engine; the rest is Adam in twenty lines.

mod draw;

use crease::engine::{Options, compile};
use crease::formats::onnx::{Element, WriteOptions, write_onnx};
use crease::losses::Loss;
use crease::networks::{Activation, Cnn, Network};
use crease::{Builder, How, Program, Selection, Shape, Tensor};
use crease_core::random::SplitMix64;
use draw::{SIDE, digits};
use std::path::Path;

const BATCH: usize = 50;
const IMAGES: usize = 3000;
const EPOCHS: usize = 8;
const HELD_OUT: usize = 200;

fn network() -> Network {
    Cnn::new((1, SIDE, SIDE))
        .conv(6, (3, 3))
        .activation(Activation::Relu)
        .max_pool((2, 2))
        .conv(8, (3, 3))
        .activation(Activation::Relu)
        .flatten()
        .dense(10)
        .into()
}

/// Trains the network: its weights.
fn train(network: &Network) -> Result<Vec<Tensor<f64>>, Box<dyn std::error::Error>> {
    let (images, labels) = digits(IMAGES, 1);
    let step = network.gradient_program(BATCH, Loss::CrossEntropy, &How::default().select(Selection::torch()))?;
    let code = compile::<f32>(&step, &Options::default())?;
    let mut workspace = code.workspace();
    let mut weights: Vec<Vec<f32>> =
        network.weights(7)?.iter().map(|t| t.data().iter().map(|&x| x as f32).collect()).collect();
    // the images go to 15, and weights are made for numbers around 1
    weights[0].iter_mut().for_each(|w| *w /= 8.0);
    let zeros = || weights.iter().map(|w| vec![0f32; w.len()]).collect::<Vec<_>>();
    let (mut mean, mut square, mut gradient) = (zeros(), zeros(), zeros());
    let mut random = SplitMix64::new(5);
    let mut order: Vec<usize> = (0..IMAGES).collect();
    let mut steps = 0;
    for epoch in 1..=EPOCHS {
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i as u64 + 1) as usize);
        }
        let rate = 0.004 * 0.7f32.powi(epoch as i32 - 1);
        let mut total = 0.0;
        for batch in order.chunks_exact(BATCH) {
            let x: Vec<f32> = batch.iter().flat_map(|&i| images[i].iter().map(|&p| p as f32)).collect();
            let mut target = vec![0f32; BATCH * 10];
            batch.iter().enumerate().for_each(|(row, &i)| target[row * 10 + labels[i]] = 1.0);
            let mut inputs: Vec<&[f32]> = vec![&x];
            inputs.extend(weights.iter().map(|w| &w[..]));
            inputs.push(&target);
            let mut loss = [0f32];
            let mut outputs: Vec<&mut [f32]> = vec![&mut loss];
            outputs.extend(gradient.iter_mut().map(|g| &mut g[..]));
            code.run(&mut workspace, &inputs, &mut outputs)?;
            total += loss[0];
            steps += 1;
            let (first, second) = (1.0 - 0.9f32.powi(steps), 1.0 - 0.999f32.powi(steps));
            for k in 0..weights.len() {
                for j in 0..weights[k].len() {
                    let g = gradient[k][j];
                    mean[k][j] = 0.9 * mean[k][j] + 0.1 * g;
                    square[k][j] = 0.999 * square[k][j] + 0.001 * g * g;
                    weights[k][j] -= rate * (mean[k][j] / first) / ((square[k][j] / second).sqrt() + 1e-8);
                }
            }
        }
        println!("epoch {epoch}: loss {:.4}", total / (IMAGES / BATCH) as f32);
    }
    let shapes = network.parameters()?;
    let tensor = |(w, (_, shape)): (&Vec<f32>, &(String, Shape))| {
        Tensor::new(shape.clone(), w.iter().map(|&x| f64::from(x)).collect())
    };
    Ok(weights.iter().zip(&shapes).filter_map(tensor).collect())
}

/// The network of one image, its weights as constants.
fn trained(network: &Network, weights: &[Tensor<f64>]) -> Result<Program, Box<dyn std::error::Error>> {
    let mut b = Builder::new("digits");
    let mut args = vec![b.input("image", Shape::new([1, 1, SIDE, SIDE])?)?];
    for w in weights {
        args.push(b.tensor(w.shape().clone(), w.data().to_vec())?);
    }
    let logits = b.splice(&network.program(1)?, &args)?;
    Ok(b.finish(&logits)?)
}

/// How many of the held-out digits a network knows.
fn known(p: &Program) -> Result<usize, Box<dyn std::error::Error>> {
    let (images, labels) = digits(HELD_OUT, 2);
    let code = compile::<f32>(p, &Options::default())?;
    let mut workspace = code.workspace();
    let mut count = 0;
    for (image, &label) in images.iter().zip(&labels) {
        let (x, mut logits): (Vec<f32>, _) = (image.iter().map(|&p| p as f32).collect(), [0f32; 10]);
        code.run(&mut workspace, &[&x], &mut [&mut logits])?;
        let best = (0..10).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap_or(0);
        count += usize::from(best == label);
    }
    Ok(count)
}

/// Bytes as an NPY file.
fn npy(shape: &str, numbers: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let head = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}");
    bytes.extend(format!("{head:<117}\n").bytes());
    bytes.extend(numbers);
    bytes
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = std::time::Instant::now();
    let network = network();
    let weights = train(&network)?;
    let p = trained(&network, &weights)?;
    println!("{} of {HELD_OUT} held-out digits are known, after {:.1} s", known(&p)?, start.elapsed().as_secs_f64());
    if std::env::args().any(|a| a == "--write") {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits"));
        let names = ["logits".to_string()];
        let about = "digits of 16 x 16 numbers from 0 to 15, trained by crease (crates/crease/examples/digits)";
        let options = WriteOptions { element: Element::F32, outputs: &names, about, ..WriteOptions::default() };
        let (images, labels) = digits(HELD_OUT, 2);
        let flat: Vec<u8> = images.iter().flatten().map(|&x| x as u8).collect();
        let labels: Vec<u8> = labels.iter().map(|&l| l as u8).collect();
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("digits.onnx"), write_onnx(&p, &options)?)?;
        std::fs::write(folder.join("images.npy"), npy(&format!("({HELD_OUT}, 1, 1, {SIDE}, {SIDE})"), &flat))?;
        std::fs::write(folder.join("labels.npy"), npy(&format!("({HELD_OUT},)"), &labels))?;
        println!("written to {}", folder.display());
    }
    Ok(())
}
