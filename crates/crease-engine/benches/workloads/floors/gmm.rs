//! F, by hand.

/// The mixture, point by point, value and gradient in one sweep; the gradient is [alphas, means, factors].
pub fn gradient(d: usize, k: usize, theta: &[f64], x: &[f64], g: &mut [f64]) -> f64 {
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
