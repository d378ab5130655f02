//! The longer examples at the points that their comments name: gradients beside differences of the interpreter, and values that were derived by hand.

use crease_core::differentiate::{How, backprop};
use crease_core::{Program, Rational, Tensor, run};
use crease_formats::{Point, parse, parse_point};
use std::sync::Arc;

fn read(file: &str) -> String {
    let path = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn main_of(file: &str) -> Arc<Program> {
    parse(&read(file)).unwrap_or_else(|e| panic!("{file}: {e:?}")).main().clone()
}

/// The points after `--at` in the comments of an example.
fn points_of(file: &str) -> Vec<String> {
    let text = read(file);
    let lines = text.lines().filter(|l| l.starts_with("#   crease grad"));
    lines.map(|l| l.split_once("--at ").unwrap().1.trim_matches('\'').to_string()).collect()
}

fn inputs(p: &Arc<Program>, at: &str) -> Vec<Tensor<f64>> {
    let point = if at.ends_with(".json") { Point::from_json(&read(at)) } else { parse_point(at) };
    let bound = point.unwrap().bind(p).unwrap();
    bound.into_iter().map(|(s, data)| Tensor::new(s, data.iter().map(Rational::to_f64).collect()).unwrap()).collect()
}

/// Value and gradient at a point, the gradient having been compared with central differences, some numbers of each input.
fn beside_differences(file: &str, at: &str) -> Vec<Tensor<f64>> {
    let p = main_of(file);
    let x = inputs(&p, at);
    let out = run(&backprop(&p, &How::default()).unwrap(), &x).unwrap_or_else(|e| panic!("{file} at {at}: {e}"));
    let value = |x: &[Tensor<f64>]| run(&p, x).unwrap()[0].data()[0];
    assert_eq!(value(&x), out[0].data()[0]);
    let h = 1e-5;
    for (i, input) in p.inputs().iter().enumerate() {
        let n = x[i].data().len();
        for k in (0..n).step_by(1 + n / 12) {
            let beside = |d: f64| {
                let mut data = x[i].data().to_vec();
                data[k] += d;
                let mut moved = x.clone();
                moved[i] = Tensor::new(input.shape.clone(), data).unwrap();
                value(&moved)
            };
            let (slope, difference) = (out[i + 1].data()[k], (beside(h) - beside(-h)) / (2.0 * h));
            assert!(
                (difference - slope).abs() < 1e-6 * (1.0 + slope.abs()),
                "{file}, {}[{k}] at {at}: {slope} and {difference}",
                input.name
            );
        }
    }
    out
}

/// With a rotation, and without one, where its axis has no direction.
#[test]
fn camera() {
    let points = points_of("examples/camera.crease");
    assert_eq!(points.len(), 2);
    for at in &points {
        beside_differences("examples/camera.crease", at);
    }
    // unturned, the point is seen at (1, 1) / 7, and r^2 = 2 / 49
    let out = beside_differences("examples/camera.crease", &points[1]);
    let r2 = 2.0f64 / 49.0;
    let image = (1.0 + r2 / 10.0 + r2 * r2 / 100.0) * 2.0 / 7.0;
    assert!((out[0].data()[0] - (image - 0.5).powi(2)).abs() < 1e-15);
    // a turn about the axis of sight moves the point across, in x by -1 and in y by 1: what the one term gains the other loses
    assert!(out[1].data()[2].abs() < 1e-15, "{}", out[1]);
    // a turn about x moves (1, 1, 7) by (0, -7, 1), one about y by (7, 0, -1): the same but for the sign
    assert!((out[1].data()[0] + out[1].data()[1]).abs() < 1e-15, "{}", out[1]);
}

/// A turn by the angle, as matrices have it.
#[test]
fn rodrigues() {
    let module = parse(&read("examples/camera.crease")).unwrap();
    let turned = module.programs().iter().find(|p| p.name() == "turned").unwrap().clone();
    let vector = |x: [f64; 3]| Tensor::vector(x.to_vec()).unwrap();
    let at = |w: [f64; 3], x: [f64; 3]| run(&turned, &[vector(w), vector(x)]).unwrap()[0].data().to_vec();
    let (s, c) = 0.3f64.sin_cos();
    let found = at([0.0, 0.0, 0.3], [1.0, 2.0, 5.0]);
    for (f, e) in found.iter().zip([c - 2.0 * s, s + 2.0 * c, 5.0]) {
        assert!((f - e).abs() < 1e-15, "{found:?}");
    }
    assert_eq!(at([0.0; 3], [1.0, 2.0, 5.0]), [1.0, 2.0, 5.0]);
}

#[test]
fn ista() {
    let points = points_of("examples/ista.crease");
    assert_eq!(points.len(), 1);
    beside_differences("examples/ista.crease", &points[0]);
}

#[test]
fn gru() {
    assert_eq!(points_of("examples/gru.crease"), ["examples/gru.json"]);
    beside_differences("examples/gru.crease", "examples/gru.json");
}
