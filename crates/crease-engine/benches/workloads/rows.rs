//! Each workload: its data, its program, and the version by hand.

use crate::data::{self, Normal};
use crate::floors;
use crate::loops;
use crate::programs;
use crate::report::{ByHand, Derivative, Report, Row, What};
use crease_core::Program;
use crease_engine::Float;

fn floats<T: Float>(xs: &[f64]) -> Vec<T> {
    xs.iter().map(|&x| T::from_f64(x)).collect()
}

/// A: the variables are one vector.
pub fn sat(r: &Report, what: What, variables: usize, clauses: usize) {
    if !r.wants(what) {
        return;
    }
    let s = data::sat(variables, clauses);
    r.row(Row {
        what,
        program: programs::sat_tensors(&s).expect("builds"),
        derivative: Derivative::Gradient(vec![0]),
        points: s.points.iter().map(|p| vec![p.clone()]).collect(),
        by_hand: Some(("", &mut |p, out| floors::sat::gradient(&s, &s.points[p], &mut out[0]))),
        tolerance: 0.0,
        joined: false,
    });
}

/// A: every variable is an input.
pub fn sat_scalars(r: &Report, what: What, variables: usize, clauses: usize) {
    if !r.wants(what) {
        return;
    }
    let s = data::sat(variables, clauses);
    r.row(Row {
        what,
        program: programs::sat(&s).expect("builds"),
        derivative: Derivative::Gradient((0..variables).collect()),
        points: s.points.iter().map(|p| p.iter().map(|&x| vec![x]).collect()).collect(),
        by_hand: None,
        tolerance: 0.0,
        joined: true,
    });
}

/// B.
pub fn mlp<T: Float>(r: &Report, what: What, batch: usize, tolerance: f64) {
    if !r.wants(what) {
        return;
    }
    let sizes = floors::mlp::SIZES;
    let mut rng = Normal::new(0);
    let mut point: Vec<Vec<T>> = Vec::new();
    for s in sizes.windows(2) {
        point.push(floats(&rng.normals(s[0] * s[1], (2.0 / s[0] as f64).sqrt())));
        point.push(vec![T::ZERO; s[1]]);
    }
    point.push(floats(&rng.normals(batch * sizes[0], 1.0)));
    point.push(floats(&data::labels(&mut rng, batch, 10)));
    let mut network = floors::mlp::Network::new(batch);
    let inputs = point.clone();
    let by_hand: &mut ByHand<'_, T> = &mut |_, out| network.gradient(&inputs, out);
    r.row(Row {
        what,
        program: programs::mlp(batch).expect("builds"),
        derivative: Derivative::Gradient((0..6).collect()),
        points: vec![point],
        by_hand: Some(("", by_hand)),
        tolerance,
        joined: false,
    });
}

/// C: a function of a vector.
fn of_vector(r: &Report, what: What, n: usize, program: Program, by_hand: fn(&[f64], &mut [f64]) -> f64) {
    let x = Normal::new(2).normals(n, 1.0);
    r.row(Row {
        what,
        program,
        derivative: Derivative::Gradient(vec![0]),
        points: vec![vec![x.clone()]],
        by_hand: Some(("", &mut |_, out| by_hand(&x, &mut out[0]))),
        tolerance: 1e-11,
        joined: false,
    });
}

pub fn norm1(r: &Report, what: What, n: usize) {
    if r.wants(what) {
        of_vector(r, what, n, programs::of_vector(n, |b, x| b.norm1(x)).expect("builds"), floors::vectors::norm1);
    }
}

pub fn norm_inf(r: &Report, what: What, n: usize) {
    if r.wants(what) {
        of_vector(r, what, n, programs::of_vector(n, |b, x| b.norminf(x)).expect("builds"), floors::vectors::norm_inf);
    }
}

pub fn sum_relu(r: &Report, what: What, n: usize) {
    if !r.wants(what) {
        return;
    }
    let program = programs::of_vector(n, |b, x| {
        let positive = b.relu(x)?;
        b.sum_all(positive)
    });
    of_vector(r, what, n, program.expect("builds"), floors::vectors::sum_relu);
}

/// C: the largest of ten linear functions, by their coefficients.
pub fn max_linear(r: &Report, what: What, n: usize) {
    if !r.wants(what) {
        return;
    }
    let mut rng = Normal::new(2);
    let (a, x) = (rng.normals(n, 1.0), rng.normals(n / 10, 1.0));
    r.row(Row {
        what,
        program: programs::max_linear(10, n / 10).expect("builds"),
        derivative: Derivative::Gradient(vec![0]),
        points: vec![vec![a.clone(), x.clone()]],
        by_hand: Some(("", &mut |_, out| floors::vectors::max_linear(&a, &x, &mut out[0]))),
        tolerance: 1e-11,
        joined: false,
    });
}

/// C'.
pub fn median(r: &Report, what: What, n: usize) {
    if !r.wants(what) {
        return;
    }
    let x: Vec<f32> = floats(&Normal::new(2).normals(n, 1.0));
    let mut space = vec![0.0; n];
    r.row(Row {
        what,
        program: programs::of_vector(n, |b, x| b.median(x)).expect("builds"),
        derivative: Derivative::Gradient(vec![0]),
        points: vec![vec![x.clone()]],
        by_hand: Some(("", &mut |_, out| floors::vectors::median(&x, &mut out[0], &mut space))),
        tolerance: 0.0,
        joined: false,
    });
}

/// D: p directional derivatives at 0, beside three products of matrices.
pub fn theorem_3(r: &Report, what: What, p: usize) {
    if !r.wants(what) {
        return;
    }
    let mut rng = Normal::new(3);
    let [b, m, a]: [Vec<f64>; 3] = std::array::from_fn(|_| rng.normals(p * p, 1.0));
    let u = crease_corpus::paper::hadamard(p);
    let mut products = floors::theorem3::Products::new(p);
    r.row(Row {
        what,
        program: crease_corpus::paper::theorem_3(p),
        derivative: Derivative::Directional(p),
        points: vec![vec![vec![0.0; p], b.clone(), m.clone(), a.clone()]],
        by_hand: Some(("three products", &mut |_, out| products.derivatives([&u, &b, &m, &a], &mut out[0]))),
        tolerance: 1e-12,
        joined: false,
    });
}

/// E.
pub fn cnn(r: &Report, what: What, batch: usize) {
    if !r.wants(what) {
        return;
    }
    let mut rng = Normal::new(1);
    let mut point: Vec<Vec<f32>> = Vec::new();
    for (n, scale) in [(72, 0.3), (8, 0.0), (1152, 0.15), (16, 0.0), (7840, 0.05), (10, 0.0), (batch * 784, 1.0)] {
        point.push(floats(&rng.normals(n, scale)));
    }
    point.push(floats(&data::labels(&mut rng, batch, 10)));
    let inputs = point.clone();
    let mut network = floors::cnn::Network::default();
    r.row(Row {
        what,
        program: programs::cnn(batch).expect("builds"),
        derivative: Derivative::Gradient((0..6).collect()),
        points: vec![point],
        by_hand: Some(("", &mut |_, out| network.gradient(&inputs, out))),
        tolerance: 1e-4,
        joined: false,
    });
}

/// F: ten dimensions, 25 components, n points.
pub fn gmm(r: &Report, what: What, n: usize) {
    if !r.wants(what) {
        return;
    }
    let (d, k) = (10, 25);
    let mut rng = Normal::new(6);
    let alphas = rng.normals(k, 1.0);
    let means: Vec<f64> = (0..k * d).map(|_| rng.uniform()).collect();
    let icf = rng.normals(k * 55, 1.0);
    let x = rng.normals(n * d, 1.0);
    let theta = [&alphas[..], &means, &icf].concat();
    let mut g = vec![0.0; theta.len()];
    let mut by_hand = |_: usize, out: &mut [Vec<f64>]| {
        let v = floors::gmm::gradient(d, k, &theta, &x, &mut g);
        let mut rest = &g[..];
        for o in out {
            let (head, tail) = rest.split_at(o.len());
            o.copy_from_slice(head);
            rest = tail;
        }
        v
    };
    r.row(Row {
        what,
        program: programs::gmm(d, k, n).expect("builds"),
        derivative: Derivative::Gradient(vec![0, 1, 2]),
        points: vec![vec![alphas.clone(), means.clone(), icf.clone(), x.clone()]],
        by_hand: Some(("", &mut by_hand)),
        tolerance: 1e-10,
        joined: false,
    });
}

/// H: by targets and penalty.
pub fn lasso(r: &Report, what: What, steps: usize) {
    if !r.wants(what) {
        return;
    }
    let (rows, columns) = (50, 100);
    let mut rng = Normal::new(8);
    let a = rng.normals(rows * columns, 0.1);
    let b = rng.normals(rows, 1.0);
    r.row::<f64>(Row {
        what,
        program: loops::lasso(rows, columns, steps),
        derivative: Derivative::Gradient(vec![1, 2]),
        points: vec![vec![a, b, vec![0.1], vec![0.25]]],
        by_hand: None,
        tolerance: 1e-9,
        joined: false,
    });
}

/// I: by all weights.
pub fn gru(r: &Report, what: What, steps: usize) {
    if !r.wants(what) {
        return;
    }
    let (n, m) = (32, 16);
    let mut rng = Normal::new(9);
    let mut point = vec![rng.normals(steps * m, 1.0)];
    point.extend((0..3).map(|_| rng.normals(n * n, 0.15)).collect::<Vec<_>>());
    point.extend((0..3).map(|_| rng.normals(n * m, 0.25)).collect::<Vec<_>>());
    point.push(rng.normals(n, 0.2));
    r.row::<f64>(Row {
        what,
        program: loops::gru(n, m, steps),
        derivative: Derivative::Gradient((1..8).collect()),
        points: vec![point],
        by_hand: None,
        tolerance: 1e-9,
        joined: false,
    });
}

/// J: by the camera, the points and their weights.
pub fn camera(r: &Report, what: What, points: usize) {
    if !r.wants(what) {
        return;
    }
    let mut rng = Normal::new(10);
    let mut point = vec![rng.normals(3, 0.3), vec![0.0, 0.0, -10.0], vec![2.0], rng.normals(2, 0.1), vec![0.1, 0.01]];
    point.push(rng.normals(points * 3, 1.0));
    point.push(rng.normals(points, 0.2).iter().map(|x| 1.0 + x).collect());
    point.push(rng.normals(points * 2, 1.0));
    r.row::<f64>(Row {
        what,
        program: loops::camera(points),
        derivative: Derivative::Gradient((0..7).collect()),
        points: vec![point],
        by_hand: None,
        tolerance: 1e-9,
        joined: false,
    });
}
