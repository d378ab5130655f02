//! The data of the workloads: fixed seeds, the distributions of the definitions.

use crease_core::random::SplitMix64;

pub struct Normal(SplitMix64);

impl Normal {
    pub fn new(seed: u64) -> Self {
        Normal(SplitMix64::new(seed))
    }

    /// Uniform from 0 to 1.
    pub fn uniform(&mut self) -> f64 {
        (self.0.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0.below(n as u64) as usize
    }

    pub fn normal(&mut self) -> f64 {
        let r = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        r * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub fn normals(&mut self, n: usize, scale: f64) -> Vec<f64> {
        (0..n).map(|_| self.normal() * scale).collect()
    }
}

/// Planted random 3-SAT: clauses as signed variables from 1 on, and sixteen points that satisfy them.
pub struct Sat {
    pub variables: usize,
    pub clauses: Vec<[i32; 3]>,
    pub points: Vec<Vec<f64>>,
}

pub fn sat(variables: usize, clauses: usize) -> Sat {
    let mut rng = Normal::new(20_230_501 + variables as u64);
    let plant: Vec<i32> = (0..variables).map(|_| if rng.below(2) == 0 { -1 } else { 1 }).collect();
    let mut list = Vec::with_capacity(clauses);
    while list.len() < clauses {
        let mut v = [0; 3];
        for k in 0..3 {
            v[k] = rng.below(variables) as i32;
            while v[..k].contains(&v[k]) {
                v[k] = rng.below(variables) as i32;
            }
        }
        let c = v.map(|v| (v + 1) * if rng.below(2) == 0 { -1 } else { 1 });
        if c.iter().any(|&l| l.signum() * plant[l.unsigned_abs() as usize - 1] > 0) {
            list.push(c);
        }
    }
    let point = |rng: &mut Normal| plant.iter().map(|&s| f64::from(s) * rng.normal().abs()).collect();
    let points = (0..16).map(|_| point(&mut rng)).collect();
    Sat { variables, clauses: list, points }
}

/// One-hot rows.
pub fn labels(rng: &mut Normal, batch: usize, classes: usize) -> Vec<f64> {
    let mut y = vec![0.0; batch * classes];
    for row in y.chunks_exact_mut(classes) {
        row[rng.below(classes)] = 1.0;
    }
    y
}
