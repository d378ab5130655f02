//! E, by hand: direct convolutions for few channels, with relu and pooling in the same loop.
//!
//! What a convolution computes is never stored: of four neighbouring results only the largest lives on, with the number of its
//! place. Backward then only those places have derivatives, a quarter of all. Pixels hold their channels side by side, so that the
//! inner loops run over channels.

const CLASSES: usize = 10;

/// Room for the network on one image; images come one after the other.
pub struct Network {
    /// The image with a border of zeros.
    image: Vec<f32>,
    /// The kernels with their output channels, and with their input channels, side by side.
    by_output: [Vec<f32>; 2],
    by_input: Vec<f32>,
    /// The first layer: 14 x 14 pixels of 8 channels, with a border; its derivative; which of four places was taken.
    hidden: Vec<f32>,
    d_hidden: Vec<f32>,
    taken_first: Vec<u32>,
    /// The second: 7 x 7 pixels of 16 channels.
    top: Vec<f32>,
    taken_second: Vec<u32>,
    /// Derivatives by the kernels, rows of 4 and rows with the input channels side by side.
    d_first: Vec<[[f32; 4]; 3]>,
    d_second: Vec<f32>,
}

impl Default for Network {
    fn default() -> Self {
        Network {
            image: vec![0.0; 30 * 32],
            by_output: [vec![0.0; 72], vec![0.0; 1152]],
            by_input: vec![0.0; 1152],
            hidden: vec![0.0; 16 * 16 * 8],
            d_hidden: vec![0.0; 16 * 16 * 8],
            taken_first: vec![0; 196 * 8],
            top: vec![0.0; 49 * 16],
            taken_second: vec![0; 49 * 16],
            d_first: vec![[[0.0; 4]; 3]; 8],
            d_second: vec![0.0; 1152],
        }
    }
}

impl Network {
    /// The mean cross-entropy. Inputs are kernels and biases of two convolutions, weights and biases of the last layer, images
    /// and labels; `out` are the derivatives by all but the last two.
    pub fn gradient(&mut self, inputs: &[Vec<f32>], out: &mut [Vec<f32>]) -> f32 {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2,fma")]
            fn wide(network: &mut Network, inputs: &[Vec<f32>], out: &mut [Vec<f32>]) -> f32 {
                network.all(inputs, out)
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                // SAFETY: the processor has what the function is compiled for
                return unsafe { wide(self, inputs, out) };
            }
        }
        self.all(inputs, out)
    }

    #[inline(always)]
    fn all(&mut self, inputs: &[Vec<f32>], out: &mut [Vec<f32>]) -> f32 {
        let [w0, b0, w1, b1, w2, b2, images, labels] = inputs else { return f32::NAN };
        for (k, (w, channels)) in [(w0, 1), (w1, 8)].into_iter().enumerate() {
            let count = w.len() / (9 * channels);
            for (o, kernel) in w.chunks_exact(9 * channels).enumerate() {
                for (c, taps) in kernel.chunks_exact(9).enumerate() {
                    for (tap, &w) in taps.iter().enumerate() {
                        self.by_output[k][(tap * channels + c) * count + o] = w;
                        if k == 1 {
                            self.by_input[o * 72 + tap * 8 + c] = w;
                        }
                    }
                }
            }
        }
        out.iter_mut().for_each(|o| o.fill(0.0));
        self.d_first.fill([[0.0; 4]; 3]);
        self.d_second.fill(0.0);
        let share = CLASSES as f32 / labels.len() as f32;
        let mut value = 0.0;
        for (image, label) in images.chunks_exact(784).zip(labels.chunks_exact(CLASSES)) {
            for (row, to) in image.chunks_exact(28).zip(self.image.chunks_exact_mut(32).skip(1)) {
                to[1..29].copy_from_slice(row);
            }
            let bias: &[f32; 8] = b0[..].try_into().expect("8 biases");
            layer::<1, 8, 14>(
                &self.image,
                32,
                &self.by_output[0],
                bias,
                &mut self.hidden,
                16,
                1,
                &mut self.taken_first,
            );
            let bias: &[f32; 16] = b1[..].try_into().expect("16 biases");
            layer::<8, 16, 7>(&self.hidden, 16, &self.by_output[1], bias, &mut self.top, 7, 0, &mut self.taken_second);
            let (loss, d) = self.classify(w2, b2, label);
            value += loss * share;
            let d = d.map(|d| d * share);
            self.backward(&d, w2, out);
        }
        for (o, kernel) in self.d_first.iter().enumerate() {
            for (row, to) in kernel.iter().zip(out[0][o * 9..][..9].chunks_exact_mut(3)) {
                to.copy_from_slice(&row[..3]);
            }
        }
        for (i, &d) in self.d_second.iter().enumerate() {
            let (o, tap, c) = (i / 72, i / 8 % 9, i % 8);
            out[2][(o * 8 + c) * 9 + tap] = d;
        }
        value
    }

    /// The last layer and the loss: its value, and the derivatives by the scores. Numbers come channel by channel there.
    #[inline(always)]
    fn classify(&self, w: &[f32], b: &[f32], label: &[f32]) -> (f32, [f32; CLASSES]) {
        let mut z: [f32; CLASSES] = b.try_into().expect("10 biases");
        for (i, row) in w.chunks_exact(CLASSES).enumerate() {
            let x = self.top[i % 49 * 16 + i / 49];
            add::<CLASSES>(&mut z, row, x);
        }
        let top = z.iter().fold(f32::NEG_INFINITY, |m, &z| m.max(z));
        let powers = z.map(|z| (z - top).exp());
        let total: f32 = powers.iter().sum();
        let chosen: f32 = z.iter().zip(label).map(|(z, y)| z * y).sum();
        (top + total.ln() - chosen, std::array::from_fn(|j| powers[j] / total - label[j]))
    }

    #[inline(always)]
    fn backward(&mut self, d: &[f32; CLASSES], w2: &[f32], out: &mut [Vec<f32>]) {
        let [_, d_b0, _, d_b1, d_w2, d_b2] = out else { return };
        d_b2.iter_mut().zip(d).for_each(|(o, d)| *o += d);
        self.d_hidden.fill(0.0);
        for (i, (row, to)) in w2.chunks_exact(CLASSES).zip(d_w2.chunks_exact_mut(CLASSES)).enumerate() {
            let (place, o) = (i % 49, i / 49);
            let x = self.top[place * 16 + o];
            if x <= 0.0 {
                continue;
            }
            add::<CLASSES>(to, d, x);
            let g: f32 = row.iter().zip(d).map(|(w, d)| w * d).sum();
            d_b1[o] += g;
            // one pixel of the convolution was taken; three rows of three pixels of eight channels went into it
            let taken = self.taken_second[place * 16 + o] as usize;
            let (y, x) = (place / 7 * 2 + taken / 2, place % 7 * 2 + taken % 2);
            for r in 0..3 {
                let at = ((y + r) * 16 + x) * 8;
                let row = o * 72 + r * 24;
                add::<24>(&mut self.d_second[row..], &self.hidden[at..], g);
                add::<24>(&mut self.d_hidden[at..], &self.by_input[row..], g);
            }
        }
        for place in 0..196 {
            let (y, x) = (place / 14, place % 14);
            let at = ((y + 1) * 16 + x + 1) * 8;
            for (o, bias) in d_b0.iter_mut().enumerate() {
                let g = self.d_hidden[at + o];
                if self.hidden[at + o] <= 0.0 {
                    continue;
                }
                *bias += g;
                let taken = self.taken_first[place * 8 + o] as usize;
                let start = (2 * y + taken / 2) * 32 + 2 * x + taken % 2;
                for (r, to) in self.d_first[o].iter_mut().enumerate() {
                    // one number too many in each row, which nobody looks at
                    add::<4>(to, &self.image[start + 32 * r..], g);
                }
            }
        }
    }
}

/// to += g x, for so many numbers.
#[inline(always)]
fn add<const N: usize>(to: &mut [f32], x: &[f32], g: f32) {
    if let (Some(to), Some(x)) = (to.first_chunk_mut::<N>(), x.first_chunk::<N>()) {
        // a copy, so that the compiler knows that the two do not overlap
        let mut sum = *to;
        for k in 0..N {
            sum[k] = x[k].mul_add(g, sum[k]);
        }
        *to = sum;
    }
}

/// The larger of two lists of numbers, and which it was.
#[inline(always)]
fn larger<const N: usize>(best: &mut [f32; N], which: &mut [u32; N], other: &[f32; N], k: u32) {
    for o in 0..N {
        let more = other[o] > best[o];
        best[o] = if more { other[o] } else { best[o] };
        which[o] = if more { k } else { which[o] };
    }
}

/// A convolution of C channels to N with 3 x 3 kernels, relu, and the largest of 2 x 2, for P x P results. The input has `width` pixels
/// in each row and a border; the results are written to rows of `out_width` pixels, `border` pixels from their edges.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn layer<const C: usize, const N: usize, const P: usize>(
    input: &[f32],
    width: usize,
    kernel: &[f32],
    bias: &[f32; N],
    out: &mut [f32],
    out_width: usize,
    border: usize,
    taken: &mut [u32],
) {
    for y in 0..P {
        for x in 0..P {
            let [mut s0, mut s1, mut s2, mut s3] = [*bias; 4];
            for tap in 0..9 {
                let at = ((2 * y + tap / 3) * width + 2 * x + tap % 3) * C;
                let (above, below) = (&input[at..][..2 * C], &input[at + width * C..][..2 * C]);
                for c in 0..C {
                    let w: &[f32; N] = kernel[(tap * C + c) * N..].first_chunk().expect("a kernel");
                    for o in 0..N {
                        s0[o] = w[o].mul_add(above[c], s0[o]);
                        s1[o] = w[o].mul_add(above[C + c], s1[o]);
                        s2[o] = w[o].mul_add(below[c], s2[o]);
                        s3[o] = w[o].mul_add(below[C + c], s3[o]);
                    }
                }
            }
            let to = ((y + border) * out_width + x + border) * N;
            let (mut best, mut which) = (s0, [0u32; N]);
            larger(&mut best, &mut which, &s1, 1);
            larger(&mut best, &mut which, &s2, 2);
            larger(&mut best, &mut which, &s3, 3);
            larger(&mut best, &mut [0; N], &[0.0; N], 0);
            out[to..to + N].copy_from_slice(&best);
            taken[(y * P + x) * N..][..N].copy_from_slice(&which);
        }
    }
}
