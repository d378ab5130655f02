//! What goes back through maxima over windows and through the convolution in front of them, against the interpreter: only what was chosen is
//! multiplied, whatever lies in between, wherever windows are, and with numbers that are not finite.

mod lesser;

use crease_core::differentiate::{How, backprop};
use crease_core::random::SplitMix64;
use crease_core::run::Unobserved;
use crease_core::{Arithmetic, Atom, BuildError, Builder, Program, Rational, Shape, Sliding, Tensor, Ties, run_with};
use crease_engine::{Float, Form, Options, value_and_grad};

/// What stands between the convolution and the maximum, or behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Between {
    Nothing,
    Bias,
    BiasAndRelu,
    Relu,
    /// Behind the maximum.
    ReluLast,
}

const BETWEEN: [Between; 5] = [Between::Nothing, Between::Bias, Between::BiasAndRelu, Between::Relu, Between::ReluLast];

#[derive(Clone, Debug)]
struct Net {
    images: usize,
    channels: usize,
    size: [usize; 2],
    kernels: usize,
    kernel: [usize; 2],
    conv: Sliding,
    window: [usize; 2],
    pool: Sliding,
    between: Between,
    /// Whether a smaller network takes the image first: then its adjoint is asked for, too, by way of a sum.
    deep: bool,
    /// An axis of the images, and one of the kernels, along which they are read backward.
    backward: [Option<usize>; 2],
}

impl Net {
    /// The sum of what the network makes, weighted by an input: so adjoints may be anything.
    fn program(&self) -> Result<Program, BuildError> {
        let shape = |d: &[usize]| Shape::new(d.to_vec());
        let mut b = Builder::new("net");
        let mut x = b.input("x", shape(&[self.images, self.channels, self.size[0], self.size[1]])?)?;
        let mut k = b.input("k", shape(&[self.kernels, self.channels, self.kernel[0], self.kernel[1]])?)?;
        let c = b.input("c", shape(&[self.kernels, 1, 1])?)?;
        let after = |axis: usize| {
            let image = slid(self.size[axis], self.kernel[axis], &self.conv, axis);
            slid(image, self.window[axis], &self.pool, axis)
        };
        let w = b.input("w", shape(&[self.images, self.kernels, after(0), after(1)])?)?;
        if self.deep {
            x = b.mul(x, x)?;
        }
        x = backward(&mut b, x, self.backward[0])?;
        k = backward(&mut b, k, self.backward[1])?;
        let mut y = b.conv(x, k, &self.conv, 1)?;
        if matches!(self.between, Between::Bias | Between::BiasAndRelu) {
            let c = b.broadcast(c, &b.shape(y).clone())?;
            y = b.add(y, c)?;
        }
        if matches!(self.between, Between::Relu | Between::BiasAndRelu) {
            y = b.relu(y)?;
        }
        y = b.maxpool(y, &self.window, &self.pool)?;
        if self.between == Between::ReluLast {
            y = b.relu(y)?;
        }
        let y = b.mul(y, w)?;
        let y = b.sum_all(y)?;
        b.finish(&[y])
    }
}

fn backward(b: &mut Builder, x: Atom, axis: Option<usize>) -> Result<Atom, BuildError> {
    let Some(axis) = axis else { return Ok(x) };
    let sizes: Vec<usize> = b.shape(x).dims().to_vec();
    let axes = |(i, &n): (usize, &usize)| if i == axis { (n - 1, n, -1) } else { (0, n, 1) };
    b.slice(x, &sizes.iter().enumerate().map(axes).collect::<Vec<_>>())
}

/// How many windows there are along an axis.
fn slid(size: usize, window: usize, how: &Sliding, axis: usize) -> usize {
    let (before, behind) = how.padding[axis];
    (size + before + behind - how.dilation[axis] * (window - 1) - 1) / how.stride[axis] + 1
}

/// Small multiples of 1/4: ties occur, and sums are exact.
fn numbers<T: Float>(rng: &mut SplitMix64, n: usize) -> Vec<T> {
    (0..n).map(|_| T::from_f64(rng.below(17) as f64 / 4.0 - 2.0)).collect()
}

/// How a network was compiled, after its gradient was compared with the interpreter's on several threads.
fn check<T: Float>(net: &Net, how: &How, odd: Option<(usize, f64)>, arithmetic: Arithmetic, seed: u64) -> String {
    let mut rng = SplitMix64::new(seed);
    let p = net.program().unwrap_or_else(|e| panic!("{e} {net:?}"));
    let mut data: Vec<Vec<T>> = p.inputs().iter().map(|i| numbers(&mut rng, i.shape.len())).collect();
    if let Some((input, odd)) = odd {
        let input = input % data.len();
        let at = rng.below(data[input].len() as u64) as usize;
        data[input][at] = T::from_f64(odd);
    }
    let at: Vec<Tensor<T>> =
        p.inputs().iter().zip(&data).map(|(i, d)| Tensor::new(i.shape.clone(), d.clone()).unwrap()).collect();
    // by all inputs, by the kernels and biases, by the image
    let wrt: &[usize] = [&[0, 1, 2, 3][..], &[1, 2], &[0]][seed as usize % 3];
    let outputs: Vec<usize> = [0].into_iter().chain(wrt.iter().map(|i| i + 1)).collect();
    let derived = backprop(&p, how).unwrap().with_outputs(&outputs).unwrap();
    let expected = run_with(&derived, &at, arithmetic, &mut Unobserved);
    let mut said = String::new();
    for threads in [1, 3] {
        let options = Options::default().form(Form::Tensors).arithmetic(arithmetic).threads(threads).how(how.clone());
        let c = value_and_grad::<T>(&p, wrt, &options).unwrap();
        let mut out: Vec<Vec<T>> = c.outputs().iter().map(|s| vec![T::ONE; s.len()]).collect();
        let mut slices: Vec<&mut [T]> = out.iter_mut().map(|o| &mut o[..]).collect();
        let inputs: Vec<&[T]> = data.iter().map(|d| &d[..]).collect();
        let ran = c.run(&mut c.workspace(), &inputs, &mut slices);
        let Ok(expected) = &expected else {
            assert!(ran.is_err(), "the interpreter refuses {net:?} {odd:?}");
            continue;
        };
        ran.unwrap();
        for (e, g) in expected.iter().zip(&out) {
            for (&e, &g) in e.data().iter().zip(g) {
                assert!(e == g || e.is_nan() && g.is_nan(), "{e} {g} {odd:?} {threads} {net:?}\n{}", c.explain());
            }
        }
        said = c.explain().to_string();
    }
    said
}

fn some(rng: &mut SplitMix64, round: usize) -> Net {
    let mut from = |low: usize, count: u64| low + rng.below(count) as usize;
    let kernel = [from(1, 3), from(1, 4)];
    let dilation = [from(1, 2), from(1, 2)];
    let (window, step) =
        [([2, 2], [2, 2]), ([3, 3], [2, 2]), ([2, 2], [2, 2]), ([2, 3], [3, 2]), ([2, 2], [3, 3])][from(0, 5)];
    Net {
        // sums over images have parts of their own from 32 on
        images: if round.is_multiple_of(9) { from(32, 9) } else { from(1, 4) },
        channels: [1, 2, 3, 4, 8, 9, 16, 17][from(0, 8)],
        size: [from(10, 8), from(15, 12)],
        kernels: from(2, 10),
        kernel,
        conv: Sliding::new(2).strides([from(1, 2), from(1, 2)]).pads([from(0, 2), from(0, 2)]).dilations(dilation),
        window,
        pool: Sliding::new(2).strides(step).pads([from(0, 12) / 11, from(0, 12) / 11]),
        between: BETWEEN[round % BETWEEN.len()],
        deep: from(0, 2) == 0,
        backward: [from(0, 8), from(0, 12)].map(|axis| (axis < 4).then_some(axis)),
    }
}

#[test]
fn what_was_chosen_goes_back() {
    let mut rng = SplitMix64::new(31);
    let mut reached = [0; 3];
    for round in 0..200 {
        let net = some(&mut rng, round);
        let mut how = How::default();
        how.selection.max = [Ties::First, Ties::Last][round / 2 % 2];
        // with another slope at 0 than 0 the slope is not that of the maximum
        how.selection.relu = if round % 7 == 0 { Rational::ONE } else { Rational::ZERO };
        let said = check::<f64>(&net, &how, None, Arithmetic::Checked, round as u64);
        check::<f32>(&net, &how, None, Arithmetic::Ieee, round as u64);
        for (reached, of) in reached.iter_mut().zip(["kernels and image", "kernels", "image"]) {
            *reached += usize::from(said.contains(&format!("adjoints of {of} behind a maximum")));
        }
    }
    assert!(reached.iter().all(|&n| n > 6), "{reached:?}");
}

#[test]
fn what_is_not_finite_is_left_to_the_interpreter() {
    let mut rng = SplitMix64::new(32);
    for round in 0..150 {
        let net = Net { images: 1 + round % 2, ..some(&mut rng, 1 + round % 4) };
        let odd = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0][round % 4];
        let arithmetic = [Arithmetic::Ieee, Arithmetic::Checked][round / 4 % 2];
        check::<f64>(&net, &How::default(), Some((round / 5, odd)), arithmetic, round as u64);
        check::<f32>(&net, &How::default(), Some((round / 5, odd)), arithmetic, round as u64);
    }
}

#[test]
fn images_in_reverse_go_back_as_they_came() {
    let mut rng = SplitMix64::new(33);
    for (round, axis) in (0..40).map(|round| (round, round % 4)) {
        let net = Net { images: 2, conv: Sliding::new(2), deep: round % 3 == 0, ..some(&mut rng, round) };
        let net = Net { backward: [Some(axis), (round % 5 < 4).then_some(round % 5)], ..net };
        check::<f64>(&net, &How::default(), None, Arithmetic::Checked, round as u64);
        check::<f32>(&Net { images: 33, ..net }, &How::default(), None, Arithmetic::Ieee, round as u64);
    }
}

#[test]
fn windows_that_tile_are_recognised_whatever_stands_between() {
    let mut rng = SplitMix64::new(34);
    for (round, between) in BETWEEN.into_iter().cycle().take(20).enumerate() {
        let net = Net {
            images: 1 + round % 3,
            size: [14, 18],
            kernel: [3, 3],
            window: [2, 2],
            conv: Sliding::new(2),
            pool: Sliding::new(2).strides([2, 2]),
            between,
            backward: [None; 2],
            ..some(&mut rng, round)
        };
        let said = check::<f64>(&net, &How::default(), None, Arithmetic::Checked, round as u64);
        for what in ["convolution, Forward", "pooling over windows", "behind a maximum"] {
            assert!(said.contains(what), "{net:?}\n{said}");
        }
    }
}

/// Only the adjoint of the convolution looks at what was not chosen, and nobody may need it.
#[test]
fn a_sum_for_each_channel_sees_what_is_not_finite_although_kernels_are_not_asked_for() {
    let text = "program f(x[2,3,14,14], k[8,3,3,3], c[8,1,1], w[2,8,6,6], s) {
        let q = select { s > 0 => k, else => zeros([8,3,3,3]) }
        return sum(w * maxpool(conv2d(x, q) + broadcast(c, [2,8,12,12]), 2))
    }";
    let p = crease_formats::parse(text).unwrap().main().clone();
    let derived = backprop(&p, &How::default()).unwrap().with_outputs(&[0, 2, 3]).unwrap();
    let options = Options::default().form(Form::Tensors).arithmetic(Arithmetic::Ieee);
    let c = value_and_grad::<f64>(&p, &[1, 2], &options).unwrap();
    for (input, at) in [(0, 300), (3, 17)] {
        for (odd, s) in [(f64::NAN, -1.0), (f64::INFINITY, -1.0), (f64::INFINITY, 1.0), (2.0, -1.0)] {
            let mut data: Vec<Vec<f64>> = p.inputs().iter().map(|i| vec![1.0; i.shape.len()]).collect();
            (data[input][at], data[4][0]) = (odd, s);
            let tensor = |(i, d): (&crease_core::Input, &Vec<f64>)| Tensor::new(i.shape.clone(), d.clone()).unwrap();
            let point: Vec<Tensor<f64>> = p.inputs().iter().zip(&data).map(tensor).collect();
            let expected = run_with(&derived, &point, Arithmetic::Ieee, &mut Unobserved).unwrap();
            let mut out: Vec<Vec<f64>> = c.outputs().iter().map(|s| vec![7.0; s.len()]).collect();
            let inputs: Vec<&[f64]> = data.iter().map(|d| &d[..]).collect();
            let mut slices: Vec<&mut [f64]> = out.iter_mut().map(|o| &mut o[..]).collect();
            c.run(&mut c.workspace(), &inputs, &mut slices).unwrap();
            for (e, g) in expected.iter().zip(&out) {
                for (&e, &g) in e.data().iter().zip(g) {
                    assert!(e == g || e.is_nan() && g.is_nan(), "{e} {g}: {odd} in {input}, s = {s}\n{}", c.explain());
                }
            }
        }
    }
}

#[test]
fn lesser_instructions_pass_these_tests_too() {
    lesser::again();
}
