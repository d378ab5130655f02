//! Audits against the reference interpreter: gradients of conventions are those of derived programs, run exactly; values are those of the program; verdicts agree with difference quotients.

use crease::audit::{Case, Options, Quiet, audit};
use crease::{Conv2d, How, Limits, Program, Rational, Shape, Tape, Tensor, Window, abs, gradient, relu, run};
use crease_core::local::{localize, sweeps};
use crease_core::random::SplitMix64;

/// A convolutional network of small integers, large enough to be swept as tensors.
fn network(random: &mut SplitMix64) -> Program {
    let tape = Tape::new("net");
    let mut weights = |dims: &[usize]| {
        let shape = Shape::new(dims.to_vec()).unwrap();
        let data = (0..shape.len()).map(|_| random.below(5) as f64 - 2.0).collect();
        tape.tensor(shape, data)
    };
    let x = tape.input("image", Shape::new([1, 1, 12, 12]).unwrap());
    let y = x.conv2d(weights(&[8, 1, 3, 3]), Conv2d::default());
    let y = relu(y + weights(&[8, 1, 1]).broadcast(y.shape().dims()));
    let y = y.maxpool2d(Window::new((2, 2)).stride((2, 2)));
    let flat = y.reshape(&[1, 200]);
    let h = abs(flat.matmul(weights(&[200, 12])));
    tape.finish(&[h.matmul(weights(&[12, 2]))]).unwrap()
}

fn image(random: &mut SplitMix64, p: &Program) -> Vec<Tensor<Rational>> {
    let shape = p.inputs()[0].shape.clone();
    // strokes on a background
    let data = (0..shape.len()).map(|_| Rational::from(i64::from(random.below(6) == 0))).collect();
    vec![Tensor::new(shape, data).unwrap()]
}

/// One element of the output.
fn element(p: &Program, k: usize) -> Program {
    let mut b = crease::Builder::new("element");
    let x = b.input("image", p.inputs()[0].shape.clone()).unwrap();
    let y = b.splice(p, &[x]).unwrap()[0];
    let y = b.flatten(y).unwrap();
    let one = b.at(y, &[k]).unwrap();
    b.finish(&[one]).unwrap()
}

#[test]
fn conventions_are_what_derived_programs_return() {
    let mut random = SplitMix64::new(23);
    let (mut tied, mut apart) = (0, 0);
    for _ in 0..6 {
        let p = network(&mut random);
        assert!(sweeps(&p));
        let cases: Vec<Case> = (0..3).map(|i| Case::new(format!("{i}"), image(&mut random, &p))).collect();
        let options = Options { threads: 2, each: Some(std::time::Duration::from_secs(60)), ..Options::default() };
        let report = audit(&p, &cases, &options, &Quiet).unwrap();
        for (f, case) in report.findings.iter().zip(&cases) {
            assert_eq!(f.error, None);
            tied += f.tied;
            apart += usize::from(f.apart() > 0.0);
            let values = run(&p, &case.point).unwrap();
            for (o, value) in f.outputs.iter().zip(values[0].data()) {
                assert_eq!(o.value, value.to_f64());
                assert!(o.certified || o.differentiable == "unknown", "{o:?}");
            }
            let one = element(&p, f.shown);
            for ((name, selection), (told, found)) in options.presets.iter().zip(&f.gradients.as_ref().unwrap().presets)
            {
                assert_eq!(name, told);
                let how = How::default().select(selection.clone());
                let derived = gradient(&one, &how).unwrap();
                let results = run(&derived, &case.point).unwrap();
                let exact: Vec<f32> = results.last().unwrap().data().iter().map(|x| x.to_f64() as f32).collect();
                assert_eq!(&exact, found, "{name}");
            }
        }
    }
    assert!(tied > 20 && apart > 3, "{tied} {apart}");
}

/// Along the direction of a Clarke subgradient the function changes as it says, beside the point: exactly so, since the network is piecewise linear.
#[test]
fn subgradients_are_gradients_beside_the_point() {
    let mut random = SplitMix64::new(5);
    for _ in 0..4 {
        let p = element(&network(&mut random), 1);
        let at = image(&mut random, &p);
        let model = localize(&p, &at).unwrap();
        assert!(model.decided().is_some());
        let found = crease::oracles::clarke_element(&model, 0, 3).unwrap();
        // a step so small that no kink is crossed
        let step = Rational::from(2).pow(-60).unwrap();
        let beside = |scale: &Rational| {
            let moved = at[0].data().iter().zip(&found.direction).map(|(x, d)| x + d * scale);
            run(&p, &[Tensor::new(at[0].shape().clone(), moved.collect()).unwrap()]).unwrap()[0].data()[0].clone()
        };
        let slope: Rational = found.gradient.iter().zip(&found.direction).map(|(g, d)| g * d).sum();
        assert_eq!(beside(&step) - beside(&Rational::ZERO), slope * step);
    }
}

#[test]
fn it_stops_when_told_and_goes_on_with_what_is_known() {
    struct Once(crease::Cancel);
    impl crease::audit::Watch for Once {
        fn done(&self, _: &crease::audit::Finding) {
            self.0.stop();
        }
    }
    let mut random = SplitMix64::new(9);
    let p = network(&mut random);
    let cases: Vec<Case> = (0..40).map(|i| Case::new(format!("{i}"), image(&mut random, &p))).collect();
    let cancel = crease::Cancel::new();
    let options = Options { limits: Limits::default().cancelled_by(&cancel), certify: false, ..Options::default() };
    let report = audit(&p, &cases, &options, &Once(cancel.clone())).unwrap();
    assert!((1..10).contains(&report.findings.len()), "{}", report.findings.len());
    assert_eq!((report.summary.inputs, report.summary.done), (40, report.findings.len()));
    let line = report.findings[0].line();
    assert_eq!(crease::audit::Finding::from_line(&line).unwrap(), report.findings[0]);
}
