//! A, by hand: one pass over the clauses that keeps the smallest.

use crate::data::Sat;

fn literal(x: &[f64], l: i32) -> f64 {
    if l > 0 { x[l as usize - 1] } else { -x[-l as usize - 1] }
}

pub fn gradient(s: &Sat, x: &[f64], g: &mut [f64]) -> f64 {
    let (mut best, mut at) = (f64::INFINITY, 0);
    for (k, c) in s.clauses.iter().enumerate() {
        let m = literal(x, c[0]).max(literal(x, c[1])).max(literal(x, c[2])).max(0.0);
        if m < best {
            (best, at) = (m, k);
        }
    }
    g.fill(0.0);
    if best > 0.0
        && let Some(&l) = s.clauses[at].iter().find(|&&l| literal(x, l) == best)
    {
        g[l.unsigned_abs() as usize - 1] = f64::from(l.signum());
    }
    best
}
