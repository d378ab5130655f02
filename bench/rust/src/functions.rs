//! The workloads scalar by scalar, for plain numbers and for whatever a library puts in their place.

use crate::measure::Sat;
use echidna::Scalar;
use num_traits::Float;

pub fn number<S: Scalar>(x: f64) -> S {
    S::from_f(num_traits::cast(x).expect("a number"))
}

pub fn sat<S: Scalar>(s: &Sat, x: &[S]) -> S {
    let literal = |l: i32| if l > 0 { x[l as usize - 1] } else { -x[-l as usize - 1] };
    let zero = number::<S>(0.0);
    let clause = |c: &[i32; 3]| Float::max(Float::max(Float::max(literal(c[0]), literal(c[1])), literal(c[2])), zero);
    s.clauses.iter().map(clause).reduce(Float::min).expect("a clause")
}

/// The shift is part of the program: a recorded program must not keep the largest entry of another point.
pub fn logsumexp<S: Scalar>(t: &[S]) -> S {
    let top = t.iter().copied().reduce(Float::max).expect("an entry");
    let total = t.iter().map(|&t| Float::exp(t - top)).reduce(|a, b| a + b).expect("an entry");
    Float::ln(total) + top
}

fn relu<S: Scalar>(x: S) -> S {
    Float::max(x, number(0.0))
}

/// One image; parameters are weights and biases in turn.
pub fn mlp<S: Scalar>(parameters: &[S], image: &[f64], label: usize) -> S {
    let sizes = [784, 256, 256, 10];
    let mut h: Vec<S> = image.iter().map(|&x| number(x)).collect();
    let mut rest = parameters;
    for l in 0..3 {
        let (w, tail) = rest.split_at(sizes[l] * sizes[l + 1]);
        let (b, tail) = tail.split_at(sizes[l + 1]);
        rest = tail;
        let mut z = b.to_vec();
        for (&x, row) in h.iter().zip(w.chunks_exact(sizes[l + 1])) {
            z.iter_mut().zip(row).for_each(|(z, &w)| *z = *z + x * w);
        }
        h = if l < 2 { z.into_iter().map(relu).collect() } else { z };
    }
    logsumexp(&h) - h[label]
}

/// Convolution 3 x 3 with padding 1, relu, pooling 2 x 2, of square images.
fn layer<S: Scalar>(h: &[S], side: usize, w: &[S], b: &[S]) -> Vec<S> {
    let channels = h.len() / (side * side);
    let half = side / 2;
    let mut out = Vec::with_capacity(b.len() * half * half);
    for (&b, w) in b.iter().zip(w.chunks_exact(9 * channels)) {
        let pixel = |r: usize, s: usize| {
            let mut z = b;
            for c in 0..channels {
                for k in 0..9 {
                    let (y, x) = ((r + k / 3).wrapping_sub(1), (s + k % 3).wrapping_sub(1));
                    if y < side && x < side {
                        z = z + w[9 * c + k] * h[(c * side + y) * side + x];
                    }
                }
            }
            relu(z)
        };
        for r in (0..side).step_by(2) {
            for s in (0..side).step_by(2) {
                let (up, down) =
                    (Float::max(pixel(r, s), pixel(r, s + 1)), Float::max(pixel(r + 1, s), pixel(r + 1, s + 1)));
                out.push(Float::max(up, down));
            }
        }
    }
    out
}

pub const CNN: [usize; 6] = [72, 8, 1152, 16, 7840, 10];

/// One image; parameters are weights and biases in turn.
pub fn cnn<S: Scalar>(parameters: &[S], image: &[f64], label: usize) -> S {
    let mut rest = parameters;
    let p = CNN.map(|n| {
        let (head, tail) = rest.split_at(n);
        rest = tail;
        head
    });
    let h: Vec<S> = image.iter().map(|&x| number(x)).collect();
    let h = layer(&layer(&h, 28, p[0], p[1]), 14, p[2], p[3]);
    let mut z = p[5].to_vec();
    for (&x, row) in h.iter().zip(p[4].chunks_exact(10)) {
        z.iter_mut().zip(row).for_each(|(z, &w)| *z = *z + x * w);
    }
    logsumexp(&z) - z[label]
}

/// 1/p sum |U B' M x|.
pub fn theorem3<S: Scalar>(x: &[S], u: &[f64], b: &[f64], m: &[f64]) -> S {
    let p = x.len();
    let times = |a: &[f64], x: &[S]| -> Vec<S> {
        let row = |r: &[f64]| r.iter().zip(x).map(|(&a, &x)| number::<S>(a) * x).fold(number(0.0), |s, t| s + t);
        a.chunks_exact(p).map(row).collect()
    };
    let mx = times(m, x);
    let mut bmx = vec![number::<S>(0.0); p];
    for (&x, row) in mx.iter().zip(b.chunks_exact(p)) {
        bmx.iter_mut().zip(row).for_each(|(s, &b)| *s = *s + number::<S>(b) * x);
    }
    times(u, &bmx).into_iter().map(Float::abs).fold(number(0.0), |s: S, t| s + t) / number(p as f64)
}

/// Alphas, means, factors in one list; ten coordinates, 25 parts.
pub fn gmm<S: Scalar>(theta: &[S], x: &[f64]) -> S {
    let (d, k, ic) = (10, 25, 55);
    let n = x.len() / d;
    let (alphas, rest) = theta.split_at(k);
    let (means, icf) = rest.split_at(k * d);
    let zero = number::<S>(0.0);
    let scales: Vec<S> = icf.chunks_exact(ic).flat_map(|f| f[..d].iter().map(|&f| Float::exp(f))).collect();
    let add = |a: S, b: S| a + b;
    let weights: Vec<S> = icf.chunks_exact(ic).zip(alphas).map(|(f, &a)| f[..d].iter().copied().fold(a, add)).collect();
    let below = icf.chunks_exact(ic).flat_map(|f| &f[d..]);
    let prior = scales.iter().chain(below).map(|&s| s * s).fold(zero, add) * number(0.5);
    let (mut q, mut c, mut terms) = (vec![zero; d], vec![zero; d], vec![zero; k]);
    let mut total = zero;
    for x in x.chunks_exact(d) {
        for j in 0..k {
            for i in 0..d {
                c[i] = number::<S>(x[i]) - means[j * d + i];
                q[i] = scales[j * d + i] * c[i];
            }
            let mut l = j * ic + d;
            for (column, &c) in c.iter().enumerate() {
                for q in &mut q[column + 1..] {
                    *q = *q + icf[l] * c;
                    l += 1;
                }
            }
            terms[j] = weights[j] - q.iter().map(|&q| q * q).fold(zero, add) * number(0.5);
        }
        total = total + logsumexp(&terms);
    }
    let constant = -((n * d) as f64) * 0.5 * std::f64::consts::TAU.ln();
    total - logsumexp(alphas) * number(n as f64) + prior + number(constant)
}
