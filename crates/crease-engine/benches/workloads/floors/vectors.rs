//! C and C', by hand: one or two passes over a vector, 32 sums at a time so that the compiler can use vectors.

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
