//! All cones of hyperplane arrangements: cells, cells a second, linear programs for each cell. Those of the shared data, where they
//! are, and permutahedra.

#[path = "../tests/support/mod.rs"]
mod support;

use crease_core::Limits;
use crease_core::number::Rational;
use crease_core::{relu, trace};
use crease_oracles::{Stationarity, neighbouring_gradients};
use std::time::{Duration, Instant};
use support::arrangements::{
    Arrangement, braid, cross_polytope, read_arrangement, resonance, shared_arrangements, sum_of_relus, weighted_relus,
};
use support::{Rng, model_at};

fn row(name: &str, normals: &Arrangement, expected: Option<u64>) {
    let p = normals[0].len();
    let model = model_at(&sum_of_relus(normals, 1), &vec![0; p]);
    let start = Instant::now();
    let found = neighbouring_gradients(&model, 0, &Limits::default()).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert!(found.complete());
    assert!(expected.is_none_or(|n| n == found.cells), "{name}: {} cells, not {expected:?}", found.cells);
    let (cells, w) = (found.cells as f64, found.work);
    println!(
        "| {name} | {p} | {} | {} | {} | {seconds:.3} | {:.0} | {:.4} | {:.2} | {:.2} | {:.2} | {} | {} |",
        normals.len(),
        found.cells,
        found.gradients.len(),
        cells / seconds,
        w.programs as f64 / cells,
        w.questions as f64 / cells,
        w.walks as f64 / cells,
        w.refuted as f64 / cells,
        w.exact,
        w.circuits
    );
}

/// The vertices of the hull where weights have both signs, so that gradients can be inside.
fn hull_row(name: &str, normals: &Arrangement) {
    let mut rng = Rng::new(5);
    let weight = |rng: &mut Rng| Rational::from((1 + rng.below(1000) as i64) * if rng.below(2) == 0 { 1 } else { -1 });
    let weights: Vec<Rational> = normals.iter().map(|_| weight(&mut rng)).collect();
    let model = model_at(&weighted_relus(normals, &weights), &vec![0; normals[0].len()]);
    let found = neighbouring_gradients(&model, 0, &Limits::default()).unwrap();
    let start = Instant::now();
    let vertices = found.vertices(&Limits::default(), |_| ());
    let seconds = start.elapsed().as_secs_f64();
    assert!(vertices.iter().all(Option::is_some));
    let corners = vertices.iter().filter(|v| **v == Some(true)).count();
    let start = Instant::now();
    let stationary = matches!(found.stationarity(&Default::default()), Stationarity::Stationary { .. });
    let asked = start.elapsed().as_secs_f64();
    println!("| {name} | {} | {corners} | {seconds:.3} | {stationary} | {asked:.4} |", found.gradients.len());
}

/// A random network of relus with weights in {-1, 0, 1} at 0, for at most ten seconds.
fn network_row(inputs: usize, layers: usize, width: usize, seed: u64) {
    let mut rng = Rng::new(seed);
    let program = trace(inputs, |x| {
        let mut layer = x.to_vec();
        for _ in 0..layers {
            let mut next = Vec::new();
            for _ in 0..width {
                let terms = layer.iter().map(|&v| v * rng.within(1) as f64);
                next.extend(terms.reduce(|a, b| a + b).map(relu));
            }
            layer = next;
        }
        layer.iter().map(|&v| v * rng.within(1) as f64).reduce(|a, b| a + b).unwrap()
    })
    .unwrap();
    let model = model_at(&program, &vec![0; inputs]);
    let start = Instant::now();
    let deadline = Some(start + Duration::from_secs(10));
    let found = neighbouring_gradients(&model, 0, &Limits { deadline, ..Default::default() }).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "| {inputs} | {layers} x {width} | {} | {} | {} | {} | {seconds:.3} | {:.0} | {:.3} | {} |",
        model.kinks().len(),
        found.cells,
        found.gradients.len(),
        found.complete(),
        found.cells as f64 / seconds,
        found.work.programs as f64 / found.cells.max(1) as f64,
        found.work.exact
    );
}

fn main() {
    println!(
        "| arrangement | dimension | hyperplanes | cells | gradients | seconds | cells a second | programs for each cell | questions | walks | refuted | in rationals | circuits |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    if let Some(folder) = shared_arrangements() {
        let table = std::fs::read_to_string(folder.join("EXPECTED.tsv")).unwrap();
        for line in table.lines().skip(1) {
            let columns: Vec<&str> = line.split('\t').collect();
            let normals = read_arrangement(&std::fs::read_to_string(folder.join(columns[0])).unwrap());
            row(columns[0], &normals, columns[3].parse().ok());
        }
    }
    for (n, cells) in [(6, 5_040), (7, 40_320), (8, 362_880)] {
        row(&format!("permutahedron {n}"), &braid(n), Some(cells));
    }
    println!("\n| hull of | gradients | vertices | seconds | 0 inside | seconds |");
    println!("| --- | ---: | ---: | ---: | --- | ---: |");
    hull_row("resonance 4", &resonance(4));
    hull_row("permutahedron 5", &braid(5));
    hull_row("permutahedron 6", &braid(6));
    hull_row("cross-polytope 8", &cross_polytope(8));
    hull_row("permutahedron 7", &braid(7));
    println!(
        "\n| inputs | network | kinks | cells | gradients | complete | seconds | cells a second | programs for each cell | in rationals |"
    );
    println!("| ---: | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |");
    for (inputs, layers, width) in [(2, 4, 10), (3, 3, 8), (4, 3, 8), (4, 4, 12), (6, 3, 10), (8, 5, 20), (20, 3, 10)] {
        network_row(inputs, layers, width, 1);
    }
}
