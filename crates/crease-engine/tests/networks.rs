//! Convolutions, pooling and products of many sizes, against the interpreter.

mod lesser;

use crease_core::differentiate::{How, backprop};
use crease_core::random::SplitMix64;
use crease_core::run::Unobserved;
use crease_core::{Arithmetic, BuildError, Builder, Conv2d, Program, Shape, Tensor, Window, run, run_with};
use crease_engine::{Agreement, Float, Options, compile, value_and_grad};

fn numbers<T: Float>(rng: &mut SplitMix64, n: usize) -> Vec<T> {
    // small multiples of 1/8: ties occur, and sums are exact
    (0..n).map(|_| T::from_f64(rng.below(33) as f64 / 8.0 - 2.0)).collect()
}

struct Net {
    images: usize,
    channels: usize,
    size: (usize, usize),
    kernels: usize,
    kernel: (usize, usize),
    stride: (usize, usize),
    padding: (usize, usize),
    window: Window,
    /// Whether another convolution, with a border, follows: then what goes back through the pooling is read from inside of that border.
    again: bool,
}

impl Net {
    fn program(&self) -> Result<Program, BuildError> {
        let shape = |d: &[usize]| Shape::new(d.to_vec());
        let mut b = Builder::new("net");
        let x = b.input("x", shape(&[self.images, self.channels, self.size.0, self.size.1])?)?;
        let k = b.input("k", shape(&[self.kernels, self.channels, self.kernel.0, self.kernel.1])?)?;
        let c = b.input("c", shape(&[self.kernels, 1, 1])?)?;
        let again = b.input("again", shape(&[2, self.kernels, 3, 3])?)?;
        let y = b.conv2d(x, k, Conv2d { stride: self.stride, padding: self.padding })?;
        let to = b.shape(y);
        let c = b.broadcast(c, &to)?;
        let y = b.add(y, c)?;
        let y = b.relu(y)?;
        let mut y = b.maxpool2d(y, self.window)?;
        if self.again {
            y = b.conv2d(y, again, Conv2d { stride: (1, 1), padding: (1, 1) })?;
        }
        let y = b.mul(y, y)?;
        let y = b.sum_all(y)?;
        b.finish(&[y])
    }
}

fn check<T: Float>(net: &Net, rng: &mut SplitMix64) -> String {
    let p = net.program().unwrap();
    let data: Vec<Vec<T>> = p.inputs().iter().map(|i| numbers(rng, i.shape.len())).collect();
    let at: Vec<Tensor<T>> =
        p.inputs().iter().zip(&data).map(|(i, d)| Tensor::new(i.shape.clone(), d.clone()).unwrap()).collect();
    let derived = backprop(&p, &How::default()).unwrap();
    let bits = run(&derived, &at).unwrap();
    // the interpreter adds one by one, which is too coarse a measure for f32: ties are the same in f64, where all that is compared is exact
    let finer: Vec<Tensor<f64>> = at.iter().map(|t| t.map(|x| x.to_f64())).collect();
    let finer = run(&derived, &finer).unwrap();
    let mut said = String::new();
    for agreement in [Agreement::Bits, Agreement::Rounding] {
        let c = value_and_grad::<T>(&p, &[], &Options::default().agreement(agreement)).unwrap();
        let mut out: Vec<Vec<T>> = c.outputs().iter().map(|s| vec![T::NAN; s.len()]).collect();
        let mut slices: Vec<&mut [T]> = out.iter_mut().map(|o| &mut o[..]).collect();
        let inputs: Vec<&[T]> = data.iter().map(|d| &d[..]).collect();
        c.run(&mut c.workspace(), &inputs, &mut slices).unwrap();
        for ((bits, finer), out) in bits.iter().zip(&finer).zip(&out) {
            let scale = finer.data().iter().fold(1.0, |m: f64, x| m.max(x.abs()));
            for ((b, e), g) in bits.data().iter().zip(finer.data()).zip(out) {
                let fine = match agreement {
                    Agreement::Bits => b == g,
                    Agreement::Rounding => {
                        (e - g.to_f64()).abs() <= scale * if T::NAME == "f32" { 1e-5 } else { 1e-13 }
                    }
                };
                assert!(fine, "{agreement:?}: {b} {e} {g}\n{p}\n{}", c.explain());
            }
        }
        said = c.explain().to_string();
    }
    said
}

#[test]
fn convolutions_of_many_sizes() {
    let mut rng = SplitMix64::new(8);
    let mut recognised = 0;
    for round in 0..80 {
        let side = |rng: &mut SplitMix64, from: u64, n: u64| (from + rng.below(n)) as usize;
        let kernel = (side(&mut rng, 1, 4), side(&mut rng, 1, 4));
        let net = Net {
            images: side(&mut rng, 1, 3),
            channels: side(&mut rng, 1, 4),
            size: (side(&mut rng, 8, 12), side(&mut rng, 8, 30)),
            kernels: side(&mut rng, 1, 19),
            kernel,
            stride: (side(&mut rng, 1, 2), side(&mut rng, 1, 2)),
            padding: (side(&mut rng, 0, kernel.0 as u64), side(&mut rng, 0, kernel.1 as u64)),
            window: match round % 4 {
                0 | 1 => Window::new((2, 2)).stride((2, 2)),
                2 => Window::new((3, 2)).stride((1, 1)),
                _ => Window::new((2, 3)).stride((2, 2)).padding((1, 1)),
            },
            again: round % 8 < 4,
        };
        let said = check::<f32>(&net, &mut rng);
        check::<f64>(&net, &mut rng);
        recognised += usize::from(said.contains("convolution, Backward")) + usize::from(said.contains("pooling"));
    }
    assert!(recognised > 80, "{recognised}");
}

/// The interpreter's numbers, at numbers for which every sum is exact; how the program was compiled.
fn exactly<T: Float>(rng: &mut SplitMix64, p: &Program, what: &str) -> String {
    let data: Vec<Vec<T>> = p.inputs().iter().map(|i| numbers(rng, i.shape.len())).collect();
    let at: Vec<Tensor<T>> =
        p.inputs().iter().zip(&data).map(|(i, d)| Tensor::new(i.shape.clone(), d.clone()).unwrap()).collect();
    let expected = run(p, &at).unwrap();
    let c = compile::<T>(p, &Options::default().form(crease_engine::Form::Tensors)).unwrap();
    let mut out = vec![T::NAN; expected[0].data().len()];
    let inputs: Vec<&[T]> = data.iter().map(|d| &d[..]).collect();
    c.run(&mut c.workspace(), &inputs, &mut [&mut out]).unwrap();
    assert!(out == expected[0].data(), "{what}");
    c.explain().to_string()
}

/// Rows and kernels that fill no register, one, or several and a bit; windows whose numbers lie apart; kernels that are inputs or known, in
/// either order.
#[test]
fn windows_of_every_width() {
    fn all<T: Float>(rng: &mut SplitMix64, [width, stride, dilation, kernels]: [usize; 4], known: bool) {
        let (images, channels, high, size) = (2, 2, 2, [2, 3]);
        let reach = (width - 1) * stride + (size[1] - 1) * dilation + 1;
        let (row, plane) = (reach as isize, (reach * (high + size[0] - 1)) as isize);
        let (m, n) = (images * high * width, channels * size[0] * size[1]);
        let shape = |d: &[usize]| Shape::new(d.to_vec()).unwrap();
        let mut b = Builder::new("f");
        let x = b.input("x", shape(&[images * channels * plane as usize])).unwrap();
        let transpose_b = rng.below(2) == 0;
        let of = shape(&if transpose_b { [kernels, n] } else { [n, kernels] });
        let k = if known { b.tensor(of, numbers(rng, n * kernels)) } else { b.input("k", of) };
        let windows = crease_core::Layout::strided(
            0,
            &[
                (images, channels as isize * plane),
                (high, row),
                (width, stride as isize),
                (channels, plane),
                (size[0], row),
                (size[1], dilation as isize),
            ],
        );
        let windows = b.view(x, windows, shape(&[m, n])).unwrap();
        let y = b.push1(crease_core::Op::MatMul { transpose_a: false, transpose_b }, &[windows, k.unwrap()]).unwrap();
        let per = high * width;
        let channels = [(images, (per * kernels) as isize), (kernels, 1), (per, kernels as isize)];
        let y = b.view(y, crease_core::Layout::strided(0, &channels), shape(&[images, kernels, per])).unwrap();
        let y = b.relu(y).unwrap();
        let p = b.finish(&[y]).unwrap();
        let explained = exactly::<T>(rng, &p, &format!("{width} {stride} {dilation} {kernels} {known}"));
        assert!(explained.contains("convolution, Forward"), "{explained}");
    }
    let mut rng = SplitMix64::new(12);
    for width in [4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 33, 50] {
        for stride in 1..=3 {
            for kernels in [2, 3, 4, 5, 8, 9, 15, 16, 17, 24, 33] {
                let (dilation, known) = (1 + rng.below(2) as usize, rng.below(2) == 0);
                all::<f64>(&mut rng, [width, stride, dilation, kernels], known);
                all::<f32>(&mut rng, [width, stride, dilation, kernels], known);
            }
        }
    }
}

#[test]
fn products_of_many_sizes() {
    let mut rng = SplitMix64::new(9);
    for round in 0..120 {
        let mut size = || 1 + rng.below(40) as usize;
        let (mut m, mut k, mut n, mut batch) = (size(), size(), size(), 1 + size() % 3);
        match round % 6 {
            // blocks of rows, panels of columns and stretches of the inner dimension, whole and not
            0 => (m, k, batch) = (m + 40 * (round % 5), k + 250 * (round % 3), 1),
            // a column times a row, or rows, shorter than two registers and longer
            1 => k = 1,
            // so many columns that the first matrix is copied: or is it read where it lies, and when do its rows fall into the same places of the caches
            2 => (n, k) = (n + 64, [k, 300, 256, 512][round / 6 % 4]),
            _ => {}
        }
        let (ta, tb) = (rng.below(2) == 0, rng.below(2) == 0);
        let mut b = Builder::new("f");
        let of = |r: usize, c: usize, t: bool| Shape::new(if t { [batch, c, r] } else { [batch, r, c] }).unwrap();
        let x = b.input("x", of(m, k, ta)).unwrap();
        let y = b.input("y", of(k, n, tb)).unwrap();
        let z = b.push1(crease_core::Op::MatMul { transpose_a: ta, transpose_b: tb }, &[x, y]).unwrap();
        let p = b.finish(&[z]).unwrap();
        let data: Vec<Vec<f64>> = p.inputs().iter().map(|i| numbers(&mut rng, i.shape.len())).collect();
        let at: Vec<Tensor<f64>> =
            p.inputs().iter().zip(&data).map(|(i, d)| Tensor::new(i.shape.clone(), d.clone()).unwrap()).collect();
        let expected = run(&p, &at).unwrap();
        for agreement in [Agreement::Bits, Agreement::Rounding] {
            let options = Options::default().agreement(agreement).form(crease_engine::Form::Tensors);
            let c = compile::<f64>(&p, &options).unwrap();
            let mut out = vec![f64::NAN; expected[0].data().len()];
            c.run(&mut c.workspace(), &[&data[0], &data[1]], &mut [&mut out]).unwrap();
            // the numbers are such that every sum is exact
            assert_eq!(out, expected[0].data(), "{p}");
        }
    }
}

/// The sum of relu of an input is one pass over it, with its slopes; of what is computed it stays where that is.
#[test]
fn sums_of_relu_and_their_slopes() {
    fn all<T: Float>(n: usize, computed: bool) {
        let mut b = Builder::new("f");
        let x = b.input("x", Shape::new([n]).unwrap()).unwrap();
        let y = if computed { b.mul(x, x).unwrap() } else { x };
        let r = b.relu(y).unwrap();
        let sum = b.sum_all(r).unwrap();
        let p = b.finish(&[sum]).unwrap();
        let derived = backprop(&p, &How::default()).unwrap();
        for odd in [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            let mut data: Vec<T> = numbers(&mut SplitMix64::new(10), n);
            data[n / 2] = T::from_f64(odd);
            let at = [Tensor::new(Shape::new([n]).unwrap(), data.clone()).unwrap()];
            let expected = run_with(&derived, &at, Arithmetic::Ieee, &mut Unobserved).unwrap();
            for agreement in [Agreement::Bits, Agreement::Rounding] {
                let options = Options::default().agreement(agreement).arithmetic(Arithmetic::Ieee);
                let c = value_and_grad::<T>(&p, &[], &options).unwrap();
                let (mut value, mut slopes) = ([T::ONE], vec![T::ONE; n]);
                c.run(&mut c.workspace(), &[&data], &mut [&mut value, &mut slopes]).unwrap();
                // the numbers are such that every sum is exact
                for (e, g) in expected.iter().flat_map(|t| t.data()).zip(value.iter().chain(&slopes)) {
                    assert!(e == g || e.is_nan() && g.is_nan(), "{n} {computed} {odd}: {e} {g}");
                }
            }
        }
    }
    for n in [1, 100, 1024, 1500, 5000] {
        for computed in [false, true] {
            all::<f64>(n, computed);
            all::<f32>(n, computed);
        }
    }
}

/// Up to sixteen columns, in every number of registers and with every number of rows left over.
#[test]
fn products_with_few_columns() {
    fn all<T: Float>(rng: &mut SplitMix64, [m, k, n]: [usize; 3], tb: bool) {
        let mut b = Builder::new("f");
        let x = b.input("x", Shape::new([m, k]).unwrap()).unwrap();
        let y = b.input("y", Shape::new(if tb { [n, k] } else { [k, n] }).unwrap()).unwrap();
        let z = b.push1(crease_core::Op::MatMul { transpose_a: false, transpose_b: tb }, &[x, y]).unwrap();
        let p = b.finish(&[z]).unwrap();
        exactly::<T>(rng, &p, &format!("{m} {k} {n} {tb}"));
    }
    let mut rng = SplitMix64::new(11);
    for n in 2..=17 {
        for m in (2..=19).step_by(1 + n % 2) {
            all::<f64>(&mut rng, [m, 7, n], m % 3 == 0);
            all::<f32>(&mut rng, [m, 7, n], m % 3 == 0);
        }
    }
}

#[test]
fn lesser_instructions_pass_these_tests_too() {
    lesser::again();
}
