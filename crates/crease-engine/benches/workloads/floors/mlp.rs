//! B, by hand: matrix products for a batch; for one image each weight is read once forward and once backward, and each
//! derivative written once.

use super::product::{Matrix, product};
use crease_engine::Float;

pub const SIZES: [usize; 4] = [784, 256, 256, 10];

/// Room for a network 784-256-256-10 on a batch of images.
pub struct Network<T> {
    batch: usize,
    /// What each layer computes.
    layers: [Vec<T>; 3],
    /// Derivatives by what a layer computes, and by what the one before it does.
    d: Vec<T>,
    before: Vec<T>,
}

impl<T: Float + 'static> Network<T> {
    pub fn new(batch: usize) -> Self {
        let room = |n: usize| vec![T::ZERO; batch * n];
        Network { batch, layers: [room(SIZES[1]), room(SIZES[2]), room(SIZES[3])], d: room(256), before: room(256) }
    }

    /// The mean cross-entropy. Inputs are weights and biases in turn, images and labels; `out` are the derivatives by
    /// weights and biases.
    pub fn gradient(&mut self, inputs: &[Vec<T>], out: &mut [Vec<T>]) -> T {
        let (batch, images, labels) = (self.batch, &inputs[6], &inputs[7]);
        for l in 0..3 {
            let (done, rest) = self.layers.split_at_mut(l);
            let (from, to) = (done.last().unwrap_or(images), &mut rest[0]);
            let (k, n) = (SIZES[l], SIZES[l + 1]);
            to.chunks_exact_mut(n).for_each(|row| row.copy_from_slice(&inputs[2 * l + 1]));
            if batch == 1 {
                widest(|| add_rows(to, from, &inputs[2 * l]));
            } else {
                product(to, true, Matrix::Rows(from), Matrix::Rows(&inputs[2 * l]), [batch, k, n]);
            }
            if l < 2 {
                to.iter_mut().for_each(|z| *z = if *z > T::ZERO { *z } else { T::ZERO });
            }
        }
        let share = T::ONE / T::from_usize(batch);
        let mut value = T::ZERO;
        self.d.truncate(0);
        for (z, y) in self.layers[2].chunks_exact(10).zip(labels.chunks_exact(10)) {
            let top = z.iter().fold(z[0], |m, &z| if z > m { z } else { m });
            let power = |z: T| T::from_f64((z - top).to_f64().exp());
            let total = z.iter().fold(T::ZERO, |s, &z| s + power(z));
            let chosen = z.iter().zip(y).fold(T::ZERO, |s, (&z, &y)| s + z * y);
            value += (top + T::from_f64(total.to_f64().ln()) - chosen) * share;
            self.d.extend(z.iter().zip(y).map(|(&z, &y)| (power(z) / total - y) * share));
        }
        for l in (0..3).rev() {
            let (k, n) = (SIZES[l], SIZES[l + 1]);
            let from = if l == 0 { images } else { &self.layers[l - 1] };
            let (weights, biases) = out.split_at_mut(2 * l + 1);
            let weights = &mut weights[2 * l];
            biases[0].fill(T::ZERO);
            for row in self.d.chunks_exact(n) {
                biases[0].iter_mut().zip(row).for_each(|(b, &d)| *b += d);
            }
            if batch == 1 {
                widest(|| outer(weights, from, &self.d));
            } else {
                product(weights, false, Matrix::Transposed(from), Matrix::Rows(&self.d), [k, batch, n]);
            }
            if l > 0 {
                self.before.resize(batch * k, T::ZERO);
                if batch == 1 {
                    widest(|| dots(&mut self.before, &inputs[2 * l], &self.d));
                } else {
                    let turned = Matrix::Transposed(&inputs[2 * l]);
                    product(&mut self.before, false, Matrix::Rows(&self.d), turned, [batch, n, k]);
                }
                self.before.iter_mut().zip(from).for_each(|(d, &h)| *d = if h > T::ZERO { *d } else { T::ZERO });
                std::mem::swap(&mut self.d, &mut self.before);
            }
        }
        value
    }
}

/// z += x W
#[inline(always)]
fn add_rows<T: Float>(z: &mut [T], x: &[T], w: &[T]) {
    let n = z.len();
    // four rows at a time, so that z is read and written less often
    for (x, rows) in x.chunks_exact(4).zip(w.chunks_exact(4 * n)) {
        let (top, bottom) = rows.split_at(2 * n);
        let ((a, b), (c, d)) = (top.split_at(n), bottom.split_at(n));
        for ((((z, &a), &b), &c), &d) in z.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *z += (x[0] * a + x[1] * b) + (x[2] * c + x[3] * d);
        }
    }
}

/// The products of all x and d.
#[inline(always)]
fn outer<T: Float>(out: &mut [T], x: &[T], d: &[T]) {
    for (&x, row) in x.iter().zip(out.chunks_exact_mut(d.len())) {
        row.iter_mut().zip(d).for_each(|(o, &d)| *o = x * d);
    }
}

/// W d
#[inline(always)]
fn dots<T: Float>(out: &mut [T], w: &[T], d: &[T]) {
    for (o, row) in out.iter_mut().zip(w.chunks_exact(d.len())) {
        let mut sums = [T::ZERO; 32];
        let (wide, rest) = (row.chunks_exact(32), row.len() / 32 * 32);
        for (w, d) in wide.zip(d.chunks_exact(32)) {
            sums.iter_mut().zip(w).zip(d).for_each(|((s, &w), &d)| *s += w * d);
        }
        let tail = row[rest..].iter().zip(&d[rest..]).fold(T::ZERO, |s, (&w, &d)| s + w * d);
        *o = sums.iter().fold(tail, |s, &x| s + x);
    }
}

/// Runs a loop compiled for vectors of 32 bytes, where the processor has them.
fn widest<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn wide<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has what the function is compiled for
            return unsafe { wide(f) };
        }
    }
    f()
}
