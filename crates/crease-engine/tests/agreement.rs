//! Compiled programs do what the interpreter says: on the cases of the corpus, on random programs, and on their derivatives.

mod lesser;

use crease_core::differentiate::{How, Selection, backprop, forprop, jvp, vjp};
use crease_core::run::Unobserved;
use crease_core::{Arithmetic, Number, Program, Tensor, run_with};
use crease_corpus::cases;
use crease_corpus::compare::convert;
use crease_corpus::random::{Rng, any_options, dyadic_point, generic_point, origin, program, tied_point};
use crease_engine::{Agreement, Float, Form, Options, compile, value_and_grad};

/// Same bits; NaN is NaN.
fn same<T: Float>(a: T, b: T) -> bool {
    let (x, y) = (a.to_f64(), b.to_f64());
    x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan()
}

fn engine<T: Float>(c: &crease_engine::Compiled<T>, at: &[Tensor<T>]) -> Result<Vec<Vec<T>>, String> {
    let mut w = c.workspace();
    let inputs: Vec<&[T]> = at.iter().map(|t| t.data()).collect();
    let mut out: Vec<Vec<T>> = c.outputs().iter().map(|s| vec![T::ZERO; s.len()]).collect();
    let mut slices: Vec<&mut [T]> = out.iter_mut().map(|v| &mut v[..]).collect();
    c.run(&mut w, &inputs, &mut slices).map_err(|e| e.to_string())?;
    // a second run in the same workspace gives the same
    let mut again: Vec<Vec<T>> = out.clone();
    let mut slices: Vec<&mut [T]> = again.iter_mut().map(|v| &mut v[..]).collect();
    c.run(&mut w, &inputs, &mut slices).map_err(|e| e.to_string())?;
    for (a, b) in out.iter().flatten().zip(again.iter().flatten()) {
        assert!(same(*a, *b), "two runs differ: {a} {b}");
    }
    Ok(out)
}

fn interpreter<T: Float>(p: &Program, at: &[Tensor<T>], how: Arithmetic) -> Result<Vec<Vec<T>>, String> {
    let out = run_with(p, at, how, &mut Unobserved).map_err(|e| e.to_string())?;
    Ok(out.into_iter().map(Tensor::into_data).collect())
}

/// Bit for bit under `Bits`; under `Rounding` up to a relative error, measured against the largest number around.
fn check<T: Float>(what: &str, p: &Program, at: &[Tensor<T>], arithmetic: Arithmetic) {
    let expected = interpreter(p, at, arithmetic);
    for (agreement, form) in ways() {
        let options = Options::default().agreement(agreement).form(form).arithmetic(arithmetic);
        let c = compile::<T>(p, &options).unwrap_or_else(|e| panic!("{what}: {e}\n{p}"));
        let got = engine(&c, at);
        match (&expected, &got) {
            (Ok(e), Ok(g)) => {
                let scale = e.iter().flatten().map(|x| x.to_f64().abs()).filter(|x| x.is_finite()).fold(1.0, f64::max);
                for (k, (e, g)) in e.iter().zip(g).enumerate() {
                    for (i, (e, g)) in e.iter().zip(g).enumerate() {
                        let close = (e.to_f64() - g.to_f64()).abs() <= tolerance::<T>() * scale;
                        let fine = same(*e, *g) || agreement == Agreement::Rounding && close;
                        assert!(
                            fine,
                            "{what} {agreement:?} {arithmetic:?}: output {k}[{i}]: {e} {g}\n{p}\n{}",
                            c.explain()
                        );
                    }
                }
            }
            // a program whose error lies in what nobody needs may run
            (Err(_), _) => {}
            (Ok(_), Err(g)) => panic!("{what} {agreement:?}: the engine fails: {g}\n{p}"),
        }
    }
}

fn ways() -> impl Iterator<Item = (Agreement, Form)> {
    let forms = [Form::Auto, Form::Scalars, Form::Tensors];
    [Agreement::Bits, Agreement::Rounding].into_iter().flat_map(move |a| forms.map(|f| (a, f)))
}

fn tolerance<T: Float>() -> f64 {
    if T::NAME == "f32" { 2e-5 } else { 1e-13 }
}

/// The gradient of the engine against the derived program in the interpreter.
fn check_gradient<T: Float>(what: &str, p: &Program, how: &How, at: &[Tensor<T>]) {
    let Ok(derived) = backprop(p, how) else { return };
    let Ok(expected) = interpreter(&derived, at, Arithmetic::Checked) else { return };
    for (agreement, form) in ways() {
        let options = Options::default().agreement(agreement).form(form).how(how.clone());
        let c = value_and_grad::<T>(p, &[], &options).unwrap_or_else(|e| panic!("{what}: {e}\n{p}"));
        let got = engine(&c, at).unwrap_or_else(|e| panic!("{what}: {e}\n{p}"));
        let scale = expected.iter().flatten().map(|x| x.to_f64().abs()).fold(1.0, f64::max);
        for (k, (e, g)) in expected.iter().flatten().zip(got.iter().flatten()).enumerate() {
            let close = (e.to_f64() - g.to_f64()).abs() <= tolerance::<T>() * scale;
            let fine = same(*e, *g) || agreement == Agreement::Rounding && close;
            assert!(fine, "{what} {agreement:?}: number {k}: {e} {g}\n{p}\n{derived}\n{}", c.explain());
        }
    }
}

#[test]
fn the_corpus_agrees_with_its_derivatives() {
    for case in cases::ALL {
        let p = case.program();
        let at = case.point();
        check::<f64>(case.name, &p, &convert(&at), Arithmetic::Checked);
        check::<f32>(case.name, &p, &convert(&at), Arithmetic::Checked);
        for (name, _) in case.gradients {
            let how = How::default().select(Selection::parse(name).unwrap());
            check_gradient::<f64>(case.name, &p, &how, &convert(&at));
            check_gradient::<f32>(case.name, &p, &how, &convert(&at));
            for derived in [backprop(&p, &how), forprop(&p, &how)] {
                check::<f64>(case.name, &derived.unwrap(), &convert(&at), Arithmetic::Checked);
            }
        }
    }
}

#[test]
fn random_programs_agree_with_their_derivatives() {
    let mut rng = Rng::new(20);
    let selections = ["paper", "torch", "jax", "relu=1/2, max=last, order=last", "tensorflow"];
    for round in 0..400 {
        let size = 4 + rng.below(24);
        let options = any_options(&mut rng, size);
        let p = program(&mut rng, &options);
        let points = [generic_point(&mut rng, &p), dyadic_point(&mut rng, &p), tied_point(&mut rng, &p), origin(&p)];
        let how = How::default().select(Selection::parse(selections[round % selections.len()]).unwrap());
        for at in &points {
            let what = format!("round {round}");
            check::<f64>(&what, &p, &convert(at), Arithmetic::Checked);
            check::<f32>(&what, &p, &convert(at), Arithmetic::Checked);
            check_gradient::<f64>(&what, &p, &how, &convert(at));
            if let Ok(d) = backprop(&p, &how) {
                check::<f64>(&what, &d, &convert(at), Arithmetic::Checked);
            }
        }
        if round % 4 == 0 {
            for d in [vjp(&p, &how), jvp(&p, &how)].into_iter().flatten() {
                let at = generic_point(&mut rng, &d);
                check::<f64>(&format!("round {round}, derived"), &d, &convert(&at), Arithmetic::Checked);
            }
        }
    }
}

#[test]
fn odd_numbers_come_out_as_in_the_interpreter() {
    let odd = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, -1e-310, 1e308, 1.0, -1.0];
    let mut rng = Rng::new(3);
    for round in 0..300 {
        let size = 3 + rng.below(10);
        let options = any_options(&mut rng, size);
        let p = program(&mut rng, &options);
        let at: Vec<Tensor<f64>> = p
            .inputs()
            .iter()
            .map(|i| Tensor::new(i.shape.clone(), (0..i.shape.len()).map(|_| *rng.pick(&odd)).collect()).unwrap())
            .collect();
        let expected = interpreter(&p, &at, Arithmetic::Ieee);
        for form in [Form::Scalars, Form::Tensors] {
            let options = Options::default().agreement(Agreement::Bits).form(form).arithmetic(Arithmetic::Ieee);
            let c = compile::<f64>(&p, &options).unwrap();
            if let (Ok(e), Ok(g)) = (&expected, engine(&c, &at)) {
                for (e, g) in e.iter().flatten().zip(g.iter().flatten()) {
                    assert!(same(*e, *g), "round {round} {form:?}: {e} {g}\n{p}\n{at:?}");
                }
            }
        }
    }
}

#[test]
fn errors_are_those_of_the_interpreter() {
    let p = crease_core::trace(2, |x| crease_core::relu(x[0] / x[1])).unwrap();
    let c = compile::<f64>(&p, &Options::default()).unwrap();
    let error = engine(&c, &[Tensor::scalar(1.0), Tensor::scalar(0.0)]).unwrap_err();
    assert_eq!(error, "division by zero, in `x0 / x1` of program `f`");
    assert!(f64::EXACT || engine(&c, &[Tensor::scalar(f64::NAN), Tensor::scalar(1.0)]).is_err());
}

#[test]
fn lesser_instructions_pass_these_tests_too() {
    lesser::again();
}
