//! Swept models against those of the pass over single numbers, on small networks whose weights and inputs are small integers, so that ties abound.

use super::{Subject, localize_tensors};
use crate::builder::{Conv2d, Window};
use crate::inline::inline_traced;
use crate::limits::{Cancel, Limits};
use crate::local::{LocalError, LocalModel, Precision, localize};
use crate::number::{Number, Rational};
use crate::program::Program;
use crate::random::SplitMix64;
use crate::shape::Shape;
use crate::tensor::Tensor;
use crate::trace::{Tape, Var, abs, leaky_relu, max, min, relu, trace_shapes};

fn tried(p: &Program, at: &[Tensor<Rational>]) -> Result<Option<LocalModel>, LocalError> {
    let (inlined, origins) = inline_traced(p, &Limits { equations: 1 << 20, ..Limits::default() }).unwrap();
    let subject = Subject { root: p, inlined: &inlined, origins: &origins, limits: &Limits::DEFAULT };
    localize_tensors(subject, at, Precision::default())
}

fn swept(p: &Program, at: &[Tensor<Rational>]) -> Option<LocalModel> {
    tried(p, at).unwrap()
}

/// The same function of the direction, the same values, the same kinks.
fn agree(p: &Program, at: &[Tensor<Rational>]) -> (usize, usize) {
    let (model, single) = match (tried(p, at), localize(p, at)) {
        (Ok(model), Ok(single)) => (model.expect("it is of the kind"), single),
        // a softmax of numbers that are far apart has no slope that can be written down
        (a, b) => {
            assert_eq!(a.map(|_| ()).unwrap_err().to_string(), b.map(|_| ()).unwrap_err().to_string());
            return (0, 0);
        }
    };
    assert!(single.decided().is_none());
    let (a, b) = (model.normal_form(), single.normal_form());
    match (&a, &b) {
        (Some(a), Some(b)) if model.is_exact() => {
            assert_eq!(a.outputs, b.outputs, "{p}");
            let forms = |n: &crate::local::NormalForm| n.kinks.iter().map(|k| k.forms.clone()).collect::<Vec<_>>();
            assert_eq!(forms(a), forms(b), "{p}");
            let places = |m: &LocalModel, n: &crate::local::NormalForm| -> Vec<(usize, usize, &'static str)> {
                let of = |k: &crate::local::NormalKink| &m.kinks()[k.origin];
                n.kinks.iter().map(|k| (of(k).site.equation, of(k).element, of(k).operation)).collect()
            };
            assert_eq!(places(&model, a), places(&single, b));
        }
        _ => assert_eq!((a.is_some(), model.is_exact()), (b.is_some(), single.is_exact())),
    }
    for (x, y) in model.values().iter().zip(single.values()) {
        for (x, y) in x.data().iter().zip(y.data()) {
            assert_eq!(x.exact(), y.exact(), "{p}");
        }
    }
    // margins are exact, or a million times as large as their errors
    let near = |x: f64, y: f64| (x - y).abs() <= 2e-6 * y;
    assert_eq!(model.margins().len(), single.margins().len(), "{p}");
    for (x, y) in model.margins().iter().zip(single.margins()) {
        assert_eq!((x.equation, x.element, x.operation), (y.equation, y.element, y.operation));
        assert!(near(x.margin, y.margin), "{x:?} {y:?}");
    }
    assert_eq!(
        (model.has_affine_kinks(), model.has_kinks_around()),
        (single.has_affine_kinks(), single.has_kinks_around())
    );
    assert_eq!(model.is_exact(), single.is_exact());
    // and along directions, whatever the form
    let mut random = SplitMix64::new(3);
    for _ in 0..5 {
        let direction: Vec<Rational> = (0..p.dimension()).map(|_| Rational::from(random.below(7) as i64 - 3)).collect();
        let (x, y) = (model.along(&direction).unwrap(), single.along(&direction).unwrap());
        assert!(x.iter().zip(&y).all(|(x, y)| x.compare(y).is_none_or(|o| o.is_eq())), "{x:?} {y:?}");
    }
    (a.map_or(0, |n| n.kinks.len()), model.decided().unwrap().exactly)
}

struct Draw(SplitMix64);

impl Draw {
    fn weights<'t>(&mut self, tape: &'t Tape, dims: &[usize], fractions: bool) -> Var<'t> {
        let shape = Shape::new(dims.to_vec()).unwrap();
        let mut weight = || {
            let n = self.0.below(5) as f64 - 2.0;
            // sometimes of very different sizes
            if fractions { n * [1.0, 0.1f32 as f64, 3e-5, 1e9][self.0.below(4) as usize] } else { n }
        };
        let data = (0..shape.len()).map(|_| weight()).collect();
        tape.tensor(shape, data)
    }

    fn activation<'t>(&mut self, x: Var<'t>) -> Var<'t> {
        match self.0.below(5) {
            0 => abs(x),
            1 => leaky_relu(x, 0.25),
            2 => max(&[x, x.tape().constant(1.0)]),
            _ => relu(x),
        }
    }

    /// A convolution, a pool, some layers, a few outputs.
    fn network(&mut self) -> Program {
        let fractions = self.0.below(4) == 0;
        let (channels, size) = (1 + self.0.below(2) as usize, 4 + self.0.below(2) as usize);
        let tape = Tape::new("net");
        let x = tape.input("image", Shape::new([1, channels, size, size]).unwrap());
        let kernel = self.weights(&tape, &[2, channels, 2, 2], fractions);
        let mut y = x.conv2d(kernel, Conv2d::default());
        let bias = self.weights(&tape, &[2, 1, 1], fractions);
        let shape = y.shape();
        y = self.activation(y + bias.broadcast(shape.dims()));
        if self.0.below(2) == 0 {
            y = y.maxpool2d(Window::new((2, 2)).stride((1, 1)));
        }
        if self.0.below(3) == 0 {
            y = y * tape.exact(Rational::new(1, 3).unwrap()) - y;
        }
        let n = y.shape().len();
        let mut flat = y.reshape(&[1, n]);
        for _ in 0..1 + self.0.below(2) {
            let width = flat.shape().len();
            let dense = self.weights(&tape, &[width, 4], fractions);
            let next = self.activation(flat.matmul(dense));
            flat = if width == 4 { next + flat } else { next };
        }
        let smallest = min(&[flat.at(&[0, 1]), flat.at(&[0, 2]), tape.constant(2.0)]);
        let outputs = match self.0.below(4) {
            0 => vec![flat, smallest],
            1 => vec![flat.logsumexp(1), flat],
            2 => vec![flat.max_axis(-1), (flat * flat).sum()],
            _ => vec![flat.sum() - smallest / 3.0],
        };
        tape.finish(&outputs).unwrap()
    }

    fn point(&mut self, p: &Program) -> Vec<Tensor<Rational>> {
        let kind = self.0.below(3);
        let mut number = || match kind {
            0 => Rational::from(self.0.below(3) as i64 - 1),
            // background with a few strokes
            1 => Rational::from(if self.0.below(5) == 0 { 1 } else { 0 }),
            _ => Rational::new(self.0.below(4) as i64, 255).unwrap(),
        };
        let part =
            |i: &crate::Input| Tensor::new(i.shape.clone(), (0..i.shape.len()).map(|_| number()).collect()).unwrap();
        p.inputs().iter().map(part).collect()
    }
}

#[test]
fn swept_models_are_those_of_single_numbers() {
    let mut draw = Draw(SplitMix64::new(17));
    let (mut kinks, mut exactly) = (0, 0);
    for _ in 0..250 {
        let p = draw.network();
        for _ in 0..2 {
            let at = draw.point(&p);
            let (k, e) = agree(&p, &at);
            kinks += k;
            exactly += e;
        }
    }
    assert!(kinks > 500 && exactly > 1000, "{kinks} {exactly}");
}

#[test]
fn what_is_not_of_the_kind_is_refused() {
    let vector = [Shape::vector(3).unwrap()];
    let at = [Tensor::vector(vec![Rational::ONE; 3]).unwrap()];
    // a smooth function in front of everything, a product of two values, a sort
    let programs = [
        trace_shapes(&vector, |x| vec![relu(crate::exp(x[0])).sum()]),
        trace_shapes(&vector, |x| vec![abs(x[0] * x[0]).sum()]),
        trace_shapes(&vector, |x| vec![x[0].sort(0).sum()]),
    ];
    for p in programs.map(Result::unwrap) {
        assert!(swept(&p, &at).is_none(), "{p}");
    }
}

/// What follows the swept part is taken apart, so it must not be large where size is not to matter.
#[test]
fn a_large_rest_is_not_swept() {
    let wide = [Shape::vector(30_000).unwrap()];
    let p = trace_shapes(&wide, |x| vec![crate::exp(x[0]).sum() - relu(x[0]).sum()]).unwrap();
    assert!(!super::sweeps(&p));
    let p = trace_shapes(&wide, |x| vec![crate::exp(relu(x[0]).sum())]).unwrap();
    assert!(super::sweeps(&p));
}

/// Weights of all sizes that doubles have: numbers are too long, and the other way is taken; somewhat fewer, and they fit.
#[test]
fn numbers_too_long_are_left_to_the_other_way() {
    let p = |tiny: f64| {
        trace_shapes(&[Shape::new([1, 2]).unwrap()], |x| {
            let tape = x[0].tape();
            let w = tape.tensor(Shape::new([2, 2]).unwrap(), vec![1.0, tiny, -tiny, 1.0]);
            let mut y = x[0];
            for _ in 0..6 {
                y = relu(y.matmul(w));
            }
            vec![y.sum()]
        })
        .unwrap()
    };
    let at = [Tensor::new(Shape::new([1, 2]).unwrap(), vec![Rational::ONE, Rational::ONE]).unwrap()];
    assert!(swept(&p(1e-300), &at).is_none());
    agree(&p(1e-60), &at);
    // a difference that doubles do not see decides
    let tiny =
        [Tensor::new(Shape::new([1, 2]).unwrap(), vec![Rational::from_f64(1e-30).unwrap(), Rational::ONE]).unwrap()];
    assert!(agree(&p(1e-30), &tiny).1 > 0);
}

#[test]
fn it_stops_when_told() {
    let mut draw = Draw(SplitMix64::new(1));
    let tape = Tape::new("wide");
    let x = tape.input("x", Shape::new([1, 300]).unwrap());
    let w = draw.weights(&tape, &[300, 300], false);
    let p = tape.finish(&[relu(relu(x.matmul(w)).matmul(w)).sum()]).unwrap();
    let cancel = Cancel::new();
    cancel.stop();
    let limits = Limits::default().cancelled_by(&cancel);
    let at = [Tensor::new(Shape::new([1, 300]).unwrap(), vec![Rational::ZERO; 300]).unwrap()];
    let error = crate::local::localize_within(&p, &at, Precision::default(), &limits).unwrap_err();
    assert_eq!(error, crate::local::LocalError::Stopped(crate::limits::Stop::Cancelled));
    // in the middle of it, too
    let limits = Limits { work: 60_000, ..Limits::default() };
    let error = crate::local::localize_within(&p, &at, Precision::default(), &limits).unwrap_err();
    assert_eq!(error, crate::local::LocalError::Stopped(crate::limits::Stop::Work));
}
