//! The data that `run` wrote, a clock, and the line that is printed for each row.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

fn path(name: &str) -> PathBuf {
    PathBuf::from(std::env::var_os("BENCH_DATA").unwrap_or_default()).join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap_or_else(|e| panic!("{}: {e}; bench/run writes the data", path(name).display()))
}

pub fn numbers(name: &str) -> Vec<f64> {
    bytes(name).as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect()
}

pub fn singles(name: &str) -> Vec<f32> {
    numbers(name).iter().map(|&x| x as f32).collect()
}

pub fn integers(name: &str) -> Vec<i32> {
    bytes(name).as_chunks().0.iter().map(|&b| i32::from_le_bytes(b)).collect()
}

pub struct Sat {
    pub clauses: Vec<[i32; 3]>,
    pub points: Vec<Vec<f64>>,
}

pub fn sat(variables: usize) -> Sat {
    let clauses = integers(&format!("sat_{variables}/clauses.i32")).as_chunks().0.to_vec();
    let points = numbers(&format!("sat_{variables}/points.f64")).chunks_exact(variables).map(<[f64]>::to_vec).collect();
    Sat { clauses, points }
}

/// The answer to be checked: the value, and the gradient in parts.
pub type Answer = (f64, Vec<Vec<f64>>);

/// Cuts a gradient into parts of the given lengths.
pub fn parts(g: &[f64], lengths: &[usize]) -> Vec<Vec<f64>> {
    let mut rest = g;
    let mut cut = |&n: &usize| {
        let (head, tail) = rest.split_at(n);
        rest = tail;
        head.to_vec()
    };
    lengths.iter().map(&mut cut).collect()
}

pub struct Meter {
    pub seconds: f64,
    pub rows: Vec<String>,
}

impl Meter {
    pub fn wants(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|r| r == row)
    }

    /// Least and median time of a call in microseconds. Calls that are short are timed in groups.
    pub fn times<T>(&self, mut f: impl FnMut() -> T) -> [f64; 2] {
        black_box(f());
        let start = Instant::now();
        black_box(f());
        let group = (2e-4 / start.elapsed().as_secs_f64().max(1e-9)).ceil().max(1.0) as usize;
        let (mut seen, begin) = (Vec::new(), Instant::now());
        while seen.len() < 7 || (begin.elapsed().as_secs_f64() < self.seconds && seen.len() < 5000) {
            let start = Instant::now();
            for _ in 0..group {
                black_box(f());
            }
            seen.push(start.elapsed().as_secs_f64() / group as f64 * 1e6);
        }
        seen.sort_by(f64::total_cmp);
        [seen[0], seen[seen.len() / 2]]
    }
}

/// How many entries, the sum of their sizes, and a sum with weights that no permutation leaves alone.
fn fingerprint(g: &[f64]) -> String {
    let weight = |i: usize| f64::from((i as u32).wrapping_mul(0x9e37_79b1)) / 2f64.powi(31) - 1.0;
    let size: f64 = g.iter().map(|g| g.abs()).sum();
    let mix: f64 = g.iter().enumerate().map(|(i, g)| weight(i) * g).sum();
    format!("[{}, {size:e}, {mix:e}]", g.len())
}

pub struct Line<'a> {
    pub row: &'a str,
    pub system: &'a str,
    pub mode: &'a str,
    pub prepare: f64,
    pub value: [f64; 2],
    pub gradient: [f64; 2],
    pub answer: Answer,
}

impl Line<'_> {
    pub fn print(&self) {
        let prints: Vec<String> = self.answer.1.iter().map(|g| fingerprint(g)).collect();
        println!(
            "{{\"row\": \"{}\", \"system\": \"{}\", \"mode\": \"{}\", \"prepare_ms\": {}, \"value_us\": [{}, {}], \
             \"gradient_us\": [{}, {}], \"answer\": {:e}, \"gradient\": [{}]}}",
            self.row,
            self.system,
            self.mode,
            self.prepare * 1e3,
            self.value[0],
            self.value[1],
            self.gradient[0],
            self.gradient[1],
            self.answer.0,
            prints.join(", ")
        );
    }
}
