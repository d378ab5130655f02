//! The network and the images in examples/digits: it knows them, they are those that the generator draws, and the windows of its max-pool tie on the background.

#[path = "../examples/digits/draw.rs"]
mod draw;

use crease::formats::Point;
use crease::formats::onnx::{Element, Options, WriteOptions, parse_onnx, write_onnx};
use crease::{Shape, Tensor, kinks, run};

fn file(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits/");
    std::fs::read(format!("{folder}{name}")).expect("the file is in the repository")
}

fn numbers(name: &str) -> Vec<f64> {
    let point = Point::from_npy(&file(name), "it").expect("an array");
    point.get("it").expect("its numbers").1.iter().map(|r| r.to_f64()).collect()
}

#[test]
fn the_images_are_those_that_are_drawn() {
    let (images, labels) = draw::digits(200, 2);
    assert_eq!(images.concat(), numbers("images.npy"));
    assert_eq!(labels.iter().map(|&l| l as f64).collect::<Vec<_>>(), numbers("labels.npy"));
    // the background is exactly 0, and most of an image
    assert!(images.iter().all(|i| i.iter().filter(|&&x| x == 0.0).count() > 100));
}

#[test]
fn the_network_knows_them_and_its_windows_tie() {
    let bytes = file("digits.onnx");
    assert!(bytes.len() < 100_000);
    let network = parse_onnx(&bytes, &Options::default()).expect("a network");
    let (images, labels) = (numbers("images.npy"), numbers("labels.npy"));
    let side = draw::SIDE;
    let at = |i: usize| {
        let pixels = images[i * side * side..(i + 1) * side * side].to_vec();
        Tensor::new(Shape::new([1, 1, side, side]).unwrap(), pixels).unwrap()
    };
    let logits = |p, i| run(p, &[at(i)]).expect("a value")[0].data().to_vec();
    let best = |y: &[f64]| (0..10).max_by(|&a, &b| y[a].total_cmp(&y[b])).unwrap();
    let known = (0..labels.len()).filter(|&i| best(&logits(&network.program, i)) as f64 == labels[i]).count();
    assert!(known >= 190, "{known} of 200");
    for i in 0..5 {
        let (_, met) = kinks(&network.program, &[at(i)]).expect("a value");
        assert!(met.iter().any(|k| k.kink == "max"), "image {i} meets no tie");
    }
    // written and read again it is the same, to the last bit
    let options = WriteOptions { element: Element::F32, outputs: &network.outputs, ..WriteOptions::default() };
    let again = parse_onnx(&write_onnx(&network.program, &options).unwrap(), &Options::default()).unwrap();
    for i in 0..5 {
        assert_eq!(logits(&again.program, i), logits(&network.program, i));
    }
}
