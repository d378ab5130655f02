//! Each workload written by hand: what a person would write who knows the function and wants its value and gradient fast.

use crate::data::Sat;
use crease_engine::Float;

fn literal(x: &[f64], l: i32) -> f64 {
    if l > 0 { x[l as usize - 1] } else { -x[-l as usize - 1] }
}

pub fn sat_value(s: &Sat, x: &[f64]) -> f64 {
    let mut best = f64::INFINITY;
    for c in &s.clauses {
        let m = literal(x, c[0]).max(literal(x, c[1])).max(literal(x, c[2])).max(0.0);
        best = if m < best { m } else { best };
    }
    best
}

pub fn sat_gradient(s: &Sat, x: &[f64], g: &mut [f64]) -> f64 {
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

/// The weights and biases of a network, or their gradient.
pub struct Mlp<T> {
    pub w: [Vec<T>; 3],
    pub b: [Vec<T>; 3],
}

const SIZES: [usize; 4] = [784, 256, 256, 10];

/// Batch 1: each weight read once forward, once backward; each gradient written once.
pub fn mlp_one<T: Float>(p: &Mlp<T>, x: &[T], y: &[T], mut g: Option<&mut Mlp<T>>) -> T {
    let mut h: Vec<Vec<T>> = vec![x.to_vec()];
    for l in 0..3 {
        let n = SIZES[l + 1];
        let mut z = p.b[l].clone();
        for (&x, row) in h[l].iter().zip(p.w[l].chunks_exact(n)) {
            if x != T::ZERO {
                z.iter_mut().zip(row).for_each(|(z, &w)| *z += x * w);
            }
        }
        if l < 2 {
            z.iter_mut().for_each(|z| *z = if *z > T::ZERO { *z } else { T::ZERO });
        }
        h.push(z);
    }
    let z = &h[3];
    let top = z.iter().fold(z[0], |m, &z| if z > m { z } else { m });
    let powers: Vec<T> = z.iter().map(|&z| T::from_f64((z - top).to_f64().exp())).collect();
    let total = powers.iter().fold(T::ZERO, |s, &x| s + x);
    let chosen = z.iter().zip(y).fold(T::ZERO, |s, (&z, &y)| s + z * y);
    let value = top + T::from_f64(total.to_f64().ln()) - chosen;
    if let Some(g) = &mut g {
        let mut d: Vec<T> = powers.iter().zip(y).map(|(&p, &y)| p / total - y).collect();
        for l in (0..3).rev() {
            g.b[l].copy_from_slice(&d);
            let n = SIZES[l + 1];
            for (&x, row) in h[l].iter().zip(g.w[l].chunks_exact_mut(n)) {
                row.iter_mut().zip(&d).for_each(|(o, &d)| *o = x * d);
            }
            if l > 0 {
                let back = |(row, &x): (&[T], &T)| {
                    if x > T::ZERO { row.iter().zip(&d).fold(T::ZERO, |s, (&w, &d)| s + w * d) } else { T::ZERO }
                };
                d = p.w[l].chunks_exact(n).zip(&h[l]).map(back).collect();
            }
        }
    }
    value
}

pub fn norm1(x: &[f64], g: &mut [f64]) -> f64 {
    let mut sums = [0.0; 32];
    for (x, g) in x.chunks_exact(32).zip(g.chunks_exact_mut(32)) {
        for ((s, &x), g) in sums.iter_mut().zip(x).zip(g) {
            *s += x.abs();
            *g = if x > 0.0 { 1.0 } else { -1.0 };
        }
    }
    sums.iter().sum()
}

pub fn norm_inf(x: &[f64], g: &mut [f64]) -> f64 {
    let mut best = [0.0f64; 32];
    for x in x.chunks_exact(32) {
        best.iter_mut().zip(x).for_each(|(b, &x)| *b = if x.abs() > *b { x.abs() } else { *b });
    }
    let top = best.iter().fold(0.0f64, |m, &x| m.max(x));
    g.fill(0.0);
    if let Some(i) = x.iter().position(|x| x.abs() == top) {
        g[i] = x[i].signum();
    }
    top
}

pub fn sum_relu(x: &[f64], g: &mut [f64]) -> f64 {
    let mut sums = [0.0; 32];
    for (x, g) in x.chunks_exact(32).zip(g.chunks_exact_mut(32)) {
        for ((s, &x), g) in sums.iter_mut().zip(x).zip(g) {
            *s += if x > 0.0 { x } else { 0.0 };
            *g = if x > 0.0 { 1.0 } else { 0.0 };
        }
    }
    sums.iter().sum()
}

pub fn max_linear(a: &[f64], x: &[f64], g: &mut [f64]) -> f64 {
    let mut best = (f64::NEG_INFINITY, 0);
    for (r, row) in a.chunks_exact(x.len()).enumerate() {
        let mut sums = [0.0; 32];
        for (a, x) in row.chunks_exact(32).zip(x.chunks_exact(32)) {
            sums.iter_mut().zip(a).zip(x).for_each(|((s, &a), &x)| *s += a * x);
        }
        let total: f64 = sums.iter().sum();
        if total > best.0 {
            best = (total, r);
        }
    }
    g.fill(0.0);
    g[best.1 * x.len()..][..x.len()].copy_from_slice(x);
    best.0
}

pub fn median(x: &[f32], g: &mut [f32], space: &mut [f32]) -> f32 {
    space.copy_from_slice(x);
    let k = (x.len() - 1) / 2;
    let value = *space.select_nth_unstable_by(k, f32::total_cmp).1;
    g.fill(0.0);
    if let Some(i) = x.iter().position(|&x| x == value) {
        g[i] = 1.0;
    }
    value
}

/// The mixture, point by point, value and gradient in one sweep; the gradient is [alphas, means, factors].
pub fn gmm(d: usize, k: usize, theta: &[f64], x: &[f64], g: &mut [f64]) -> f64 {
    let (n, ic) = (x.len() / d, d + d * (d - 1) / 2);
    let (al, rest) = theta.split_at(k);
    let (mu, icf) = rest.split_at(k * d);
    g.fill(0.0);
    let mut value = 0.0;
    let mut factors = vec![0.0; k * d * d];
    let mut sums = vec![0.0; k];
    for j in 0..k {
        let f = &icf[j * ic..][..ic];
        sums[j] = f[..d].iter().sum();
        let mut l = d;
        for c in 0..d {
            let s = f[c].exp();
            factors[(j * d + c) * d + c] = s;
            value += 0.5 * s * s;
            g[k + k * d + j * ic + c] += s * s;
            for r in c + 1..d {
                factors[(j * d + r) * d + c] = f[l];
                value += 0.5 * f[l] * f[l];
                g[k + k * d + j * ic + l] += f[l];
                l += 1;
            }
        }
    }
    let (mut terms, mut q, mut centred) = (vec![0.0; k], vec![0.0; k * d], vec![0.0; k * d]);
    for x in x.chunks_exact(d) {
        for j in 0..k {
            let mut square = 0.0;
            for r in 0..d {
                centred[j * d + r] = x[r] - mu[j * d + r];
            }
            for r in 0..d {
                let row = &factors[(j * d + r) * d..][..=r];
                let s: f64 = row.iter().zip(&centred[j * d..]).map(|(a, b)| a * b).sum();
                q[j * d + r] = s;
                square += s * s;
            }
            terms[j] = al[j] + sums[j] - 0.5 * square;
        }
        let top = terms.iter().fold(f64::NEG_INFINITY, |m, &t| m.max(t));
        let total: f64 = terms.iter().map(|t| (t - top).exp()).sum();
        value += top + total.ln();
        for j in 0..k {
            let w = (terms[j] - top).exp() / total;
            if w < 1e-300 {
                continue;
            }
            g[j] += w;
            let f = k + k * d + j * ic;
            let mut l = f + d;
            for c in 0..d {
                g[f + c] += w - w * q[j * d + c] * centred[j * d + c] * factors[(j * d + c) * d + c];
                let mut m = w * q[j * d + c] * factors[(j * d + c) * d + c];
                for r in c + 1..d {
                    g[l] -= w * q[j * d + r] * centred[j * d + c];
                    m += w * q[j * d + r] * factors[(j * d + r) * d + c];
                    l += 1;
                }
                g[k + j * d + c] += m;
            }
        }
    }
    let top = al.iter().fold(f64::NEG_INFINITY, |m, &t| m.max(t));
    let total: f64 = al.iter().map(|t| (t - top).exp()).sum();
    for j in 0..k {
        g[j] -= n as f64 * (al[j] - top).exp() / total;
    }
    value - n as f64 * (top + total.ln()) - (n * d) as f64 * 0.5 * std::f64::consts::TAU.ln()
}
