//! Central arrangements of hyperplanes: as code, from files, and as programs that have a gradient for each chamber.

use super::{Rng, ints, r};
use crease_core::number::Rational;
use crease_core::{Program, relu, trace};
use std::path::PathBuf;

/// A central arrangement of hyperplanes by its normals.
pub type Arrangement = Vec<Vec<Rational>>;

/// `e_i` and `e_i - e_j`, which is the braid arrangement on one coordinate more.
pub fn braid(n: usize) -> Arrangement {
    let mut out: Vec<Vec<i64>> = (0..n).map(|i| (0..n).map(|k| i64::from(k == i)).collect()).collect();
    for i in 0..n {
        for j in i + 1..n {
            out.push((0..n).map(|k| i64::from(k == i) - i64::from(k == j)).collect());
        }
    }
    out.iter().map(|v| ints(v)).collect()
}

/// All 0/1 vectors but zero.
pub fn resonance(n: usize) -> Arrangement {
    (1..1usize << n).map(|s| (0..n).map(|i| Rational::from(s >> i & 1)).collect()).collect()
}

/// `e_0 + e_i` and `e_0 - e_i`.
pub fn cross_polytope(n: usize) -> Arrangement {
    let vector = |i: usize, s: i64| (0..=n).map(|k| if k == 0 { 1 } else { s * i64::from(k == i) }).collect::<Vec<_>>();
    [1, -1].into_iter().flat_map(|s| (1..=n).map(move |i| vector(i, s))).map(|v| ints(&v)).collect()
}

/// `sum_i c_i relu(v_i . x)` with weights such that the gradients of different cells differ, for all practical purposes.
pub fn sum_of_relus(normals: &Arrangement, seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let weights = normals.iter().map(|_| Rational::from(1 + (rng.next() >> 24) as i64)).collect::<Vec<_>>();
    weighted_relus(normals, &weights)
}

/// `sum_i c_i relu(v_i . x)`.
pub fn weighted_relus(normals: &Arrangement, weights: &[Rational]) -> Program {
    trace(normals[0].len(), |x| {
        let exact = |c: &Rational| x[0].tape().exact(c.clone());
        let mut sum = exact(&Rational::ZERO);
        for (v, c) in normals.iter().zip(weights) {
            let mut dot = exact(&Rational::ZERO);
            for (a, &x) in v.iter().zip(x).filter(|(a, _)| !a.is_zero()) {
                dot = dot + exact(a) * x;
            }
            sum = sum + exact(c) * relu(dot);
        }
        sum
    })
    .unwrap()
}

/// The folder of arrangements that is shared by the project, where there is one.
pub fn shared_arrangements() -> Option<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/arrangements"));
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: there is no {}", folder.display());
    None
}

/// Reads an arrangement: columns are normals.
pub fn read_arrangement(text: &str) -> Arrangement {
    let rows: Vec<Vec<Rational>> =
        text.lines().map(|l| l.split_whitespace().map(r).collect::<Vec<_>>()).filter(|l| !l.is_empty()).collect();
    (0..rows[0].len()).map(|j| rows.iter().map(|row| row[j].clone()).collect()).collect()
}

/// The number of chambers, by deleting a hyperplane and restricting to it: those of the rest, and one more for each chamber that
/// the rest has within it.
pub fn chambers(mut normals: Arrangement) -> u64 {
    // parallel ones are one
    let mut distinct: Arrangement = Vec::new();
    for v in normals.drain(..) {
        let Some(lead) = v.iter().find(|x| !x.is_zero()).and_then(Rational::inv) else { continue };
        let v: Vec<Rational> = v.iter().map(|x| x * &lead).collect();
        if !distinct.contains(&v) {
            distinct.push(v);
        }
    }
    let Some(last) = distinct.pop() else { return 1 };
    let Some(k) = last.iter().position(Rational::is_one) else { return 1 };
    // on the hyperplane, its first coordinate is a combination of the others
    let restricted = distinct.iter().map(|v| {
        let on = |i: usize| &v[i] - &v[k] * &last[i];
        (0..v.len()).filter(|&i| i != k).map(on).collect()
    });
    let restricted: Arrangement = restricted.collect();
    chambers(restricted) + chambers(distinct)
}
