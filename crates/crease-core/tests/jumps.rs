//! Choices, roundings and positions at and beside their borders and jumps: values, gradients and local models against answers that were derived by hand.

use crease_core::differentiate::{How, backprop, directional};
use crease_core::local::{LocalError, LocalModel, localize};
use crease_core::{Arithmetic, Program, Rational, RunError, Shape, Tensor, kinks, run, run_with, scalarize};

fn program(inputs: &str, e: &str) -> Program {
    let text = format!("program f({inputs}) = {e}");
    crease_formats::parse(&text).unwrap_or_else(|e| panic!("{e}: {text}")).main().as_ref().clone()
}

fn at(p: &Program, x: &[f64]) -> Vec<Tensor<Rational>> {
    let mut rest = x.iter().map(|&x| Rational::from_f64(x).unwrap());
    p.inputs()
        .iter()
        .map(|i| Tensor::new(i.shape.clone(), rest.by_ref().take(i.shape.len()).collect()).unwrap())
        .collect()
}

fn floats(p: &Program, x: &[f64]) -> Vec<Tensor<f64>> {
    let exact = at(p, x);
    exact
        .iter()
        .map(|t| Tensor::new(t.shape().clone(), t.data().iter().map(Rational::to_f64).collect()).unwrap())
        .collect()
}

fn numbers(out: &[Tensor<f64>]) -> Vec<f64> {
    out.iter().flat_map(|t| t.data().to_vec()).collect()
}

fn local(p: &Program, x: &[f64]) -> Result<LocalModel, LocalError> {
    let model = localize(p, &at(p, x));
    // taken apart, it says the same
    let apart = scalarize(p).unwrap();
    assert_eq!(model.is_ok(), localize(&apart, &at(&apart, x)).is_ok());
    model
}

/// No kink, this value and this gradient: by the model and by differentiation in floats, with and without checks, in both directions.
#[track_caller]
fn smooth(inputs: &str, e: &str, x: &[f64], value: f64, gradient: &[f64]) {
    let p = program(inputs, e);
    assert_eq!(numbers(&run(&p, &floats(&p, x)).unwrap()), [value], "{e}");
    let d = backprop(&p, &How::default()).unwrap();
    let want = [&[value], gradient].concat();
    assert_eq!(numbers(&run(&d, &floats(&d, x)).unwrap()), want, "{e} backward");
    let ieee = run_with(&d, &floats(&d, x), Arithmetic::Ieee, &mut crease_core::run::Unobserved).unwrap();
    assert_eq!(numbers(&ieee), want, "{e} backward without checks");
    let along = directional(&p, &(0..p.inputs().len()).collect::<Vec<_>>(), 1).unwrap();
    for k in 0..gradient.len() {
        let mut unit = vec![0.0; gradient.len()];
        unit[k] = 1.0;
        let got = numbers(&run(&along, &floats(&along, &[x, &unit].concat())).unwrap());
        assert_eq!(got, [value, gradient[k]], "{e} along {k}");
    }
    let model = local(&p, x).unwrap_or_else(|error| panic!("{e}: {error}"));
    assert!(model.kinks().is_empty(), "{e}");
    let directions: Vec<Tensor<f64>> = p.inputs().iter().map(|i| i.shape.clone()).map(|s| zeros(&s)).collect();
    let slope = model.program().unwrap();
    for k in 0..gradient.len() {
        let mut unit = vec![0.0; gradient.len()];
        unit[k] = 1.0;
        assert_eq!(numbers(&run(&slope, &floats(&slope, &unit)).unwrap()), [gradient[k]], "{e} by the model, {k}");
    }
    assert_eq!(numbers(&run(&slope, &directions).unwrap()), [0.0]);
}

fn zeros(shape: &Shape) -> Tensor<f64> {
    Tensor::new(shape.clone(), vec![0.0; shape.len()]).unwrap()
}

/// The equation that jumps, and that a run tells of it.
#[track_caller]
fn jumps(inputs: &str, e: &str, x: &[f64], what: &str) {
    let p = program(inputs, e);
    match local(&p, x) {
        Err(LocalError::Jump { site, why }) => {
            assert!(format!("{} {why}", site.shown).contains(what), "{} {why}", site.shown)
        }
        other => panic!("{e}: {other:?}"),
    }
    let met = kinks(&p, &at(&p, x)).unwrap().1;
    assert!(met.iter().any(|k| k.jump && k.certain), "{e}: {met:?}");
}

#[test]
fn what_is_not_taken_need_not_have_a_value() {
    smooth("x", "where(x > 0, log(x), 0)", &[-1.0], 0.0, &[0.0]);
    smooth("x", "where(x > 0, log(x), 0)", &[1.0], 0.0, &[1.0]);
    smooth("x, y", "where(y > 0, 1 / x, x + y)", &[0.0, -1.0], -1.0, &[1.0, 1.0]);
    smooth("x, y", "where(y > 0, sin(x) / x, 3 * y)", &[0.0, -1.0], -3.0, &[0.0, 3.0]);
    smooth("x, y", "where(y > 0, sqrt(x), x)", &[0.0, -1.0], 0.0, &[1.0, 0.0]);
    smooth("x", "where(x < 100, exp(x), x)", &[2000.0], 2000.0, &[1.0]);
    smooth("v[2]", "sum(where(v > 0, log(v), 2 * v))", &[-1.0, 1.0], -2.0, &[2.0, 1.0]);
    smooth("v[2], y", "where(y > 0, norm2(log(v)), y)", &[-1.0, 0.0, -2.0], -2.0, &[0.0, 0.0, 1.0]);
    smooth("x, y", "where(x > 0 and y > 0, log(x) * log(y), x * y)", &[-1.0, 2.0], -2.0, &[2.0, -1.0]);
    smooth("x, y", "where(not (x > 0), y^2, x)", &[1.0, 3.0], 1.0, &[1.0, 0.0]);
    // nor need the condition of a selection
    smooth("x, y", "where(y > 0, select { log(x) > 0 => x, else => y }, 3 * y)", &[-1.0, -1.0], -3.0, &[0.0, 3.0]);
    smooth("x, y", "where(y > 0, select { sqrt(x - 3) > 0 => x, else => y }, x)", &[3.0, -1.0], 3.0, &[1.0, 0.0]);
}

#[test]
fn what_is_needed_must_have_a_value() {
    let error = |e: &str, x: &[f64]| -> RunError {
        let p = program("x, y", e);
        assert!(matches!(local(&p, x), Err(LocalError::Run(_))), "{e}");
        let in_rationals = run(&p, &at(&p, x)).unwrap_err();
        assert_eq!(run(&p, &floats(&p, x)).unwrap_err().site, in_rationals.site);
        in_rationals
    };
    let log = error("where(x < 0, log(x), 0)", &[-1.0, 0.0]);
    assert_eq!(log.to_string(), "logarithm of a number that is not positive, in `log(x)` of program `f`");
    error("where(log(x) > 0, x, y)", &[-1.0, 0.0]);
    error("where(y > 0, 1, 2) + log(x)", &[-1.0, 1.0]);
    error("select { log(x) > 0 => where(y > 0, x, y), else => y }", &[-1.0, 0.0]);
    // in Boolean operations, too, although one of them would do
    error("where(y > 0 and log(x) > 0, x, y)", &[-1.0, -1.0]);
}

#[test]
fn at_its_border_a_choice_bends_or_jumps() {
    let relu = program("x", "where(x > 0, x, 0)");
    let model = local(&relu, &[0.0]).unwrap();
    assert_eq!(model.kinks().len(), 1);
    let slope = model.program().unwrap();
    assert_eq!(numbers(&run(&slope, &floats(&slope, &[2.0])).unwrap()), [2.0]);
    assert_eq!(numbers(&run(&slope, &floats(&slope, &[-2.0])).unwrap()), [0.0]);
    for (direction, want) in [(3.0, 3.0), (-3.0, 0.0)] {
        let d = directional(&relu, &[0], 1).unwrap();
        assert_eq!(numbers(&run(&d, &floats(&d, &[0.0, direction])).unwrap()), [0.0, want]);
    }
    let p = program("x", "where(x > 0, 1, 0)");
    assert!(matches!(local(&p, &[0.0]), Err(LocalError::Discontinuous { .. })));
    let p = program("x", "where(x > 0, log(x), 0)");
    assert!(matches!(local(&p, &[0.0]), Err(LocalError::NoDerivative { .. })));
    // the same number on both sides
    smooth("x", "where(x > 0, x, x)", &[0.0], 0.0, &[1.0]);
    // several comparisons that are tied
    let p = program("x, y", "where(x > 0 and y > 0, x, y)");
    assert!(matches!(local(&p, &[0.0, 0.0]), Err(LocalError::NoDerivative { .. })));
}

#[test]
fn inside_of_a_choice_its_condition_is_known() {
    // the double `where`: the inner choice jumps, and what is made of it does not
    let along = |inputs: &str, e: &str, d: &[f64]| {
        let p = program(inputs, e);
        let model = local(&p, &vec![0.0; d.len()]).unwrap_or_else(|error| panic!("{e}: {error}"));
        let slope = model.program().unwrap();
        numbers(&run(&slope, &floats(&slope, d)).unwrap())[0]
    };
    let norm = "where(x^2 + y^2 > 0, sqrt(where(x^2 + y^2 > 0, x^2 + y^2, 1)), 0)";
    assert_eq!(along("x, y", norm, &[3.0, -4.0]), 5.0);
    assert_eq!(along("x, y", "where(x*x + y*y == 0, 0, sqrt(where(x*x + y*y == 0, 7, x*x + y*y)))", &[3.0, 4.0]), 5.0);
    assert_eq!(along("x, y", "where(0 < x^2 + abs(y), x^2 + abs(y), 0)", &[3.0, -4.0]), 4.0);
    assert_eq!(along("x", "where(x > 0, 3 * where(x > 0, x, 5), 2 * where(x > 0, 5, x))", &[1.0]), 3.0);
    assert_eq!(along("x", "where(x > 0, 3 * where(x > 0, x, 5), 2 * where(x > 0, 5, x))", &[-1.0]), -2.0);
    assert_eq!(along("v[2]", "sum(where(v > 0, sin(where(v > 0, v, 1)), 0))", &[2.0, -1.0]), 2.0);
    // off the border, and where the inner choice counts by itself
    smooth("x", "where(x > 0, log(where(x > 0, x, 1)), 0)", &[-1.0], 0.0, &[0.0]);
    smooth("x", "where(x > 0, log(where(x > 0, x, 1)), 0)", &[1.0], 0.0, &[1.0]);
    let p = program("x", "where(x > 0, where(x > 0, x, 1), 0) + where(x > 0, x, 1)");
    assert!(matches!(local(&p, &[0.0]), Err(LocalError::Discontinuous { .. } | LocalError::Jump { .. })));
    // what is made of the inner one is not used where the condition does not hold
    let p = program("x", "where(x >= 0, where(x > 0, x, 1), 0)");
    assert!(local(&p, &[0.0]).is_err());
    // of a number that may be negative, a choice by its sign is one
    let p = program("x", "where(x > 0, x, 0)");
    assert_eq!(local(&p, &[0.0]).unwrap().kinks().len(), 1);
    // the kink inside of it is told by its element
    let p = program("u[3], v[3]", "sum(where(u > 0, relu(where(u > 0, v, 1)), 0))");
    let model = local(&p, &[1.0, 2.0, 3.0, 1.0, 0.0, 2.0]).unwrap();
    assert_eq!(model.kinks().iter().map(|k| (k.operation, k.element)).collect::<Vec<_>>(), [("relu", 1)]);
}

#[test]
fn roundings_are_constant_between_jumps() {
    smooth("x", "floor(x)", &[2.5], 2.0, &[0.0]);
    smooth("x", "ceil(x)", &[-2.5], -2.0, &[0.0]);
    smooth("x", "round(x)", &[2.0], 2.0, &[0.0]);
    smooth("x", "sign(x)", &[-3.0], -1.0, &[0.0]);
    smooth("x", "x - floor(x)", &[0.5], 0.5, &[1.0]);
    smooth("x", "floor(exp(x))", &[1.0], 2.0, &[0.0]);
    let value = |e: &str, x: f64| numbers(&run(&program("x", e), &[Tensor::scalar(x)]).unwrap())[0];
    assert_eq!([0.5, 1.5, 2.5, -2.5].map(|x| value("round(x)", x)), [0.0, 2.0, 2.0, -2.0]);
    assert_eq!([value("sign(x)", 0.0), value("floor(x)", 3.0), value("ceil(x)", 3.0)], [0.0, 3.0, 3.0]);
    jumps("x", "floor(x)", &[1.0], "floor(x) its argument is 1, where it goes from 0 to 1");
    jumps("x", "x - floor(x)", &[1.0], "floor(x)");
    jumps("x", "round(x)", &[2.5], "where it goes from 2 to 3");
    jumps("x", "sign(x)", &[0.0], "where it goes from -1 to 1");
    jumps("x", "max(floor(x), 5)", &[1.0], "floor(x)");
    jumps("x, y", "where(floor(x) > 0, x, y)", &[1.0, 2.0], "floor(x)");
    jumps("x", "select { floor(x) > 0 => x, else => 2 * x }", &[1.0], "floor(x)");
    // where it does not matter
    let ends = |e: &str, x: &[f64]| assert!(local(&program("x, y", e), x).is_ok(), "{e}");
    ends("0 * floor(x) + y", &[1.0, 1.0]);
    ends("where(y > 0, floor(x), x)", &[1.0, -1.0]);
    ends("x * floor(y - y)", &[1.0, 1.0]);
    let p = program("x", "floor(log(exp(x)))");
    assert!(matches!(local(&p, &[1.0]), Err(LocalError::Undecided { .. })));
}

#[test]
fn positions_jump_at_ties() {
    smooth("v[3]", "gather(v, argmax(v))", &[1.0, 3.0, 2.0], 3.0, &[0.0, 1.0, 0.0]);
    smooth("v[3]", "gather(v, argmin(v))", &[1.0, 3.0, 2.0], 1.0, &[1.0, 0.0, 0.0]);
    smooth("v[3]", "sum([1, 10, 100] * take_along(v, argsort(v)))", &[3.0, 1.0, 2.0], 321.0, &[100.0, 1.0, 10.0]);
    smooth("x", "argmax(x, x) * x", &[2.0], 0.0, &[0.0]);
    jumps("v[3]", "gather(v, argmax(v))", &[3.0, 3.0, 2.0], "numbers 0 and 1 of its lane are both 3 here");
    jumps("v[3]", "sum(v * argsort(v))", &[1.0, 3.0, 1.0], "argsort");
    // ties below the largest are none
    smooth("v[3]", "gather(v, argmax(v))", &[1.0, 1.0, 2.0], 2.0, &[0.0, 0.0, 1.0]);
    let p = program("v[4]", "argsort(v)");
    assert_eq!(numbers(&run(&p, &floats(&p, &[2.0, 1.0, 2.0, 1.0])).unwrap()), [1.0, 3.0, 0.0, 2.0]);
}

#[test]
fn reading_and_adding_at_positions() {
    smooth("v[3]", "sum([2, 3] * take_along(v, [2, 2]))", &[1.0, 2.0, 4.0], 20.0, &[0.0, 0.0, 5.0]);
    smooth(
        "v[3]",
        "sum([1, 10, 100, 1000] * add_along(v, [3, 0, 3], of=4))",
        &[1.0, 2.0, 4.0],
        5002.0,
        &[1000.0, 1.0, 1000.0],
    );
    let p = program("v[3], i", "gather(v, i)");
    for bad in [0.5, 3.0, -1.0] {
        let e = run(&p, &floats(&p, &[1.0, 2.0, 4.0, bad])).unwrap_err();
        assert!(e.to_string().contains("must be an integer from 0 to 2"), "{e}");
        assert!(run(&p, &at(&p, &[1.0, 2.0, 4.0, bad])).is_err());
    }
    // beside the point the position is none
    assert!(matches!(local(&p, &[1.0, 2.0, 4.0, 1.0]), Err(LocalError::NoDerivative { .. })));
    smooth("v[3]", "prod(v)", &[2.0, 0.0, 5.0], 0.0, &[0.0, 10.0, 0.0]);
    smooth("v[5]", "prod(v)", &[2.0, 3.0, 5.0, 7.0, 11.0], 2310.0, &[1155.0, 770.0, 462.0, 330.0, 210.0]);
    smooth("v[2]", "var(v)", &[1.0, 3.0], 1.0, &[-1.0, 1.0]);
}

#[test]
fn what_is_printed_reads_back() {
    for (inputs, e) in [
        ("x, y", "where(x > 0, x, floor(y))"),
        ("x, y, z", "argmax(x, y, z) + take_along(x, y, argmin(x, y), of=2)"),
        ("v[3]", "sum(add_along(v, argsort(v), of=5)) + sum(take_along(v, argsort(v)))"),
        ("w[2, 3], i[2]", "gather(w, i, axis=1)"),
    ] {
        let p = program(inputs, e);
        assert_eq!(crease_formats::parse(&p.to_string()).unwrap().main().as_ref(), &p, "{p}");
        let d = crease_core::differentiate::vjp(&p, &How::default()).unwrap();
        assert_eq!(crease_formats::parse(&d.to_string()).unwrap().main().as_ref(), &d, "{d}");
    }
}
