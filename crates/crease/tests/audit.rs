//! Audits against the reference interpreter: gradients of conventions are those of derived programs, run exactly; values are those of the program; verdicts agree with difference quotients.

use crease::audit::{Before, Case, Finding, Made, Of, Options, Quiet, audit};
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

/// A number, its name and its label, as an input of a scalar program.
fn one(name: &str, x: Rational, label: Option<usize>) -> Vec<Case> {
    vec![Case { label, ..Case::new(name, vec![Tensor::scalar(x)]) }]
}

/// Whatever changes what is found is told, and nothing else is.
#[test]
fn findings_know_what_they_were_made_with() {
    let tenth: Rational = "1/10".parse().unwrap();
    let p = crease::trace(1, |x| relu(x[0])).unwrap();
    let usual = Options::default();
    let made = Made::new(&p, &one("a", tenth.clone(), Some(1)), &usual);
    let told = |now: Made| match Made::from_line(&made.line()).unwrap().against(&now) {
        Ok(Before::Same) => "same".to_string(),
        Ok(Before::OtherLimits) => "limits".into(),
        Err(e) => e.to_string(),
    };
    let with = |options: Options| told(Made::new(&p, &one("a", tenth.clone(), Some(1)), &options));
    let at = |cases: Vec<Case>| told(Made::new(&p, &cases, &usual));
    assert_eq!(with(usual.clone()), "same");
    assert_eq!(
        with(Options { threads: 7, limits: Limits::default().within(std::time::Duration::ZERO), ..usual.clone() }),
        "same"
    );
    let bent = crease::trace(1, |x| abs(x[0])).unwrap();
    assert_eq!(told(Made::new(&bent, &one("a", tenth.clone(), Some(1)), &usual)), "of another network");
    // the double next to one tenth, and one tenth: as doubles they are the same
    let near = Rational::from_f64(0.1).unwrap();
    assert_eq!((near.to_f64(), tenth.to_f64()), (0.1, 0.1));
    assert_eq!(at(one("a", near, Some(1))), "of other inputs");
    assert_eq!(at(one("b", tenth.clone(), Some(1))), "of other inputs");
    assert_eq!(at(one("a", tenth.clone(), Some(2))), "of other inputs");
    assert_eq!(at(one("a", tenth.clone(), None)), "of other inputs");
    assert_eq!(
        at([one("a", tenth.clone(), Some(1)), one("a", tenth.clone(), Some(1))].concat()),
        "of 1 inputs, and now there are 2"
    );
    assert_eq!(with(Options { of: Of::Loss, ..usual.clone() }), "of the outputs, and not of the loss");
    assert_eq!(with(Options { certify: false, ..usual.clone() }), "with certificates");
    assert_eq!(with(Options { seed: 3, ..usual.clone() }), "with the seed 0, and not 3");
    assert_eq!(with(Options { ties: 3, ..usual.clone() }), "with other numbers of margins and ties listed");
    let fewer = usual.presets[..1].to_vec();
    assert_eq!(
        with(Options { presets: fewer, ..usual.clone() }),
        "with the conventions `torch`, `jax`, `torch, max=first`, and not `torch`"
    );
    // another convention of the same name
    let mut renamed = usual.presets.clone();
    renamed[0].1 = crease::Selection::jax();
    assert!(with(Options { presets: renamed, ..usual.clone() }).starts_with("with the conventions"));
    let each = Some(std::time::Duration::from_secs_f64(0.123_456_789));
    assert_eq!(with(Options { each, ..usual.clone() }), "limits");
    assert_eq!(with(Options { limits: Limits { bits: 64, ..Limits::default() }, ..usual.clone() }), "limits");
    assert_eq!(with(Options { limits: Limits { conflicts: 5, ..Limits::default() }, ..usual.clone() }), "limits");
    let slow = Made::new(&p, &one("a", tenth.clone(), Some(1)), &Options { each, ..usual.clone() });
    assert_eq!(Made::from_line(&slow.line()).unwrap(), slow);
    assert!(Made::from_line("{\"audit\":\"net\",\"hash\":\"0\"}").is_err());
}

/// What is read again is what was written, to the last bit of each number.
#[test]
fn lines_of_findings_read_the_same_again() {
    let mut random = SplitMix64::new(5);
    let p = crease::trace(2, |x| relu(x[0] * 0.3) + crease::exp(x[1])).unwrap();
    let mut number = || Tensor::scalar(Rational::from_f64(random.below(1 << 40) as f64 * 1e-11).unwrap());
    let cases: Vec<Case> = (0..200).map(|i| Case::new(format!("{i}"), vec![number(), number()])).collect();
    for finding in audit(&p, &cases, &Options::default(), &Quiet).unwrap().findings {
        assert_eq!(Finding::from_line(&finding.line()).unwrap(), finding);
    }
}

/// Only what a limit kept from being known is said to be limited.
#[test]
fn a_limit_that_was_met_is_told() {
    let none = Options { each: Some(std::time::Duration::ZERO), ..Options::default() };
    let found = |p: &Program, x: i64, options: &Options| {
        let case = vec![Case::new("x", vec![Tensor::scalar(Rational::from(x))])];
        audit(p, &case, options, &Quiet).unwrap().findings.remove(0)
    };
    let p = crease::trace(1, |x| relu(x[0])).unwrap();
    let (slow, quick) = (found(&p, 0, &none), found(&p, 0, &Options::default()));
    assert!(slow.limited && slow.verdict() == "unknown", "{slow:?}");
    assert!(!quick.limited && quick.verdict() == "no", "{quick:?}");
    // no time helps where there is no value
    let p = crease::trace(1, |x| crease::log(x[0])).unwrap();
    let nowhere = found(&p, -1, &Options::default());
    assert!(!nowhere.limited && nowhere.error.is_some(), "{nowhere:?}");
    // zero, which no number of bits shows
    let p = crease::trace(1, |x| relu(crease::exp(x[0]) * crease::exp(-x[0]) - 1.0)).unwrap();
    let few = Options { limits: Limits { bits: 64, ..Limits::default() }, ..Options::default() };
    let undecided = found(&p, 1, &few);
    assert!(undecided.limited && undecided.verdict() == "unknown", "{undecided:?}");
}

/// Different middles of enclosures of one number do not count as a difference of conventions.
#[test]
fn enclosures_of_one_gradient_are_not_apart() {
    let p = crease::formats::parse_expression("(relu(x) - relu(x) + x*exp(y)) * exp(2*y)", &|_| None).unwrap();
    let case = vec![Case::new("x", vec![Tensor::scalar(Rational::ZERO), Tensor::scalar(Rational::ONE)])];
    let report = audit(&p, &case, &Options::default(), &Quiet).unwrap();
    let found = &report.findings[0];
    assert_eq!((found.verdict(), found.tied), ("yes", 2), "{found:?}");
    assert_eq!((found.off(), found.apart()), (0.0, 0.0), "{found:?}");
    // those that do not return it are
    let p = crease::formats::parse_expression("(relu(x) - relu(-x)) * exp(y) * exp(2*y)", &|_| None).unwrap();
    let found = &audit(&p, &case, &Options::default(), &Quiet).unwrap().findings[0];
    assert_eq!(found.verdict(), "yes");
    assert!(found.off() > 20.0, "{found:?}");
}
