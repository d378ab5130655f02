//! What goes back through maxima over windows and through the convolution in front of them, against the interpreter: only what was chosen is
//! multiplied, whatever lies in between, wherever windows are, and with numbers that are not finite.

mod lesser;

use crease_core::differentiate::{How, backprop};
use crease_core::random::SplitMix64;
use crease_core::run::Unobserved;
use crease_core::{Arithmetic, BuildError, Builder, Program, Rational, Shape, Sliding, Tensor, Ties, run_with};
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
}

impl Net {
    /// The sum of what the network makes, weighted by an input: so adjoints may be anything.
    fn program(&self) -> Result<Program, BuildError> {
        let shape = |d: &[usize]| Shape::new(d.to_vec());
        let mut b = Builder::new("net");
        let mut x = b.input("x", shape(&[self.images, self.channels, self.size[0], self.size[1]])?)?;
        let k = b.input("k", shape(&[self.kernels, self.channels, self.kernel[0], self.kernel[1]])?)?;
        let c = b.input("c", shape(&[self.kernels, 1, 1])?)?;
        let after = |axis: usize| {
            let image = slid(self.size[axis], self.kernel[axis], &self.conv, axis);
            slid(image, self.window[axis], &self.pool, axis)
        };
        let w = b.input("w", shape(&[self.images, self.kernels, after(0), after(1)])?)?;
        if self.deep {
            x = b.mul(x, x)?;
        }
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

/// How many windows there are along an axis.
fn slid(size: usize, window: usize, how: &Sliding, axis: usize) -> usize {
    let (before, behind) = how.padding[axis];
    (size + before + behind - how.dilation[axis] * (window - 1) - 1) / how.stride[axis] + 1
}

/// Small multiples of 1/8: ties occur, and sums are exact.
fn numbers<T: Float>(rng: &mut SplitMix64, n: usize) -> Vec<T> {
    (0..n).map(|_| T::from_f64(rng.below(33) as f64 / 8.0 - 2.0)).collect()
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
fn lesser_instructions_pass_these_tests_too() {
    lesser::again();
}
