//! The evaluator at hundreds of bits against what is known: digits of constants, exact rationals, itself at other precisions.

use crease_core::{Program, Rational, Tensor, run};
use crease_corpus::precise::{Arithmetic, Fault, Number, evaluate, slopes};
use crease_corpus::random::{Dictionary, Options, Rng, dyadic_point, generic_point, program, tied_point};
use crease_formats::parse;

fn at(text: &str, point: &[&str], bits: usize) -> Result<Number, Fault> {
    let p = parse(text).unwrap().main().clone();
    let point: Vec<Tensor<Rational>> = point.iter().map(|x| Tensor::scalar(x.parse().unwrap())).collect();
    evaluate(&p, &point, &Arithmetic::new(bits)).map(|mut v| v.swap_remove(0))
}

/// Checks that a value is a number given by its digits, to within an error.
fn assert_digits(text: &str, point: &[&str], digits: &str, error: i64) {
    let a = Arithmetic::new(700);
    let value = at(text, point, 700).unwrap();
    let truth: Rational = digits.parse().unwrap();
    let apart = a.abs(&a.sub(&value, &Number::Exact(truth.into())).unwrap()).unwrap();
    assert!(apart.to_f64() < 2f64.powi(error as i32), "{text} at {point:?}: {} away", apart.to_f64());
    assert!(value.error() < -600, "{text}: 2^{}", value.error());
}

#[test]
fn known_digits() {
    let e =
        "2.71828182845904523536028747135266249775724709369995957496696762772407663035354759457138217852516642742746";
    assert_digits("program f(x) = exp(x)", &["1"], e, -340);
    let ln2 = "0.69314718055994530941723212145817656807550013436025525412068000949339362196969471560586332699641868754200148102057";
    assert_digits("program f(x) = log(x)", &["2"], ln2, -370);
    let root = "1.41421356237309504880168872420969807856967187537694807317667973799073247846210703885038753432764157273501384623";
    assert_digits("program f(x) = sqrt(x)", &["2"], root, -340);
    let sine = "0.84147098480789650665250232163029899962256306079837106567275170999191040439123966894863974354305269585434903790792";
    assert_digits("program f(x) = sin(x)", &["1"], sine, -370);
    let tanh = "0.76159415595576488811945828260479359041276859725793655159681050012195324457663848345894752167367671442190275970155";
    assert_digits("program f(x) = tanh(x)", &["1"], tanh, -370);
    // sin(10^30), far from zero
    assert_digits(
        "program f(x) = sin(x)",
        &["1e30"],
        "-0.09011690191213805803038642895298733027439633299304344988546",
        -190,
    );
    assert_digits("program f(x) = sigmoid(x)", &["-1"], "0.2689414213699951207488407581781", -95);
    assert_digits("program f(x, y) = logsumexp([x, y])", &["0", "1"], "1.3132616875182228340489954949678", -95);
}

#[test]
fn there_is_no_value_where_there_is_none() {
    for (text, x) in [
        ("program f(x) = log(x)", "0"),
        ("program f(x) = sqrt(x)", "-1"),
        ("program f(x) = 1 / (x - 1)", "1"),
        ("program f(x) = log(exp(x) - exp(1))", "1/2"),
        ("program f(x) = x^-2", "0"),
    ] {
        assert!(matches!(at(text, &[x], 300), Err(Fault::NoValue(_))), "{text}");
    }
    assert_eq!(at("program f(x) = exp(x)", &["1e40"], 300).unwrap_err(), Fault::TooLarge);
    // equal, but no precision can see that
    let text = "program f(x) = select { log(exp(x)) <= x => 1, else => 0 }";
    assert_eq!(at(text, &["1/3"], 300).unwrap_err(), Fault::TooClose);
    // equal by name
    let text = "program f(x, y) = select { exp(x) - exp(y) <= 0 => 1, else => 0 }";
    assert_eq!(at(text, &["1/3", "1/3"], 300).unwrap().to_f64(), 1.0);
}

/// Runs a check on random programs over a dictionary.
fn programs(dictionary: Dictionary, exact: bool, mut check: impl FnMut(&Program, &[Tensor<Rational>])) {
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let mut o = Options::new(dictionary).inputs(1 + rng.below(3)).equations(2 + rng.below(8)).calls(rng.below(3));
        if rng.once_in(2) {
            o = o.tensors();
        }
        if exact {
            o = o.exact().branches();
        }
        let p = program(&mut rng, &o);
        for point in [generic_point(&mut rng, &p), dyadic_point(&mut rng, &p), tied_point(&mut rng, &p)] {
            check(&p, &point);
        }
    }
}

#[test]
fn rationals_are_those_of_the_interpreter() {
    let mut compared = 0;
    programs(Dictionary::Everything, true, |p, point| {
        let Ok(expected) = run(p, point) else { return };
        let expected: Vec<&Rational> = expected.iter().flat_map(|t| t.data()).collect();
        let found = evaluate(p, point, &Arithmetic::new(900)).unwrap_or_else(|e| panic!("{e}\n{p}"));
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            match found {
                Number::Exact(r) => assert_eq!(Rational::from(r.clone()), *expected, "{p}"),
                Number::Ball(_) => {
                    assert!((found.to_f64() - expected.to_f64()).abs() <= 1e-12 * expected.to_f64().abs())
                }
            }
            compared += 1;
        }
    });
    assert!(compared > 300, "{compared}");
}

#[test]
fn a_ball_holds_what_more_bits_tell() {
    let mut compared = 0;
    programs(Dictionary::Everything, false, |p, point| {
        let (few, many) = (Arithmetic::new(130), Arithmetic::new(400));
        let (Ok(rough), Ok(fine)) = (evaluate(p, point, &few), evaluate(p, point, &many)) else { return };
        let doubles: Vec<Tensor<f64>> = point.iter().map(|t| t.map(Rational::to_f64)).collect();
        let doubles = run(p, &doubles).unwrap_or_default();
        let mut doubles = doubles.iter().flat_map(|t| t.data());
        for (a, b) in rough.iter().zip(&fine) {
            let apart = many.abs(&many.sub(a, b).unwrap()).unwrap().to_f64();
            let allowed = 2f64.powi(a.error().max(-1000) as i32) + 2f64.powi(b.error().max(-1000) as i32);
            assert!(apart <= allowed, "{apart} > {allowed}\n{p}at {point:?}");
            assert!(b.error() < a.error() || a.exact().is_some() || b.exact().is_some() || b.error() < -150);
            if let Some(x) = doubles.next() {
                assert!((x - b.to_f64()).abs() <= 1e-9 * (1.0 + x.abs()), "{x} and {}\n{p}at {point:?}", b.to_f64());
            }
            compared += 1;
        }
    });
    assert!(compared > 300, "{compared}");
}

#[test]
fn slopes_are_derivatives() {
    let slopes_of = |text: &str, x: &str| {
        let p = parse(text).unwrap().main().clone();
        slopes(&p, &[Tensor::scalar(x.parse().unwrap())], 2400)
    };
    // the derivative as a program of its own
    for (text, derivative, x) in [
        ("program f(x) = exp(x) * sin(x)", "program f(x) = exp(x) * (sin(x) + cos(x))", "3"),
        ("program f(x) = log(x) / x", "program f(x) = (1 - log(x)) / x^2", "1e-40"),
        ("program f(x) = (1 - cos(x)) / x^2", "program f(x) = sin(x) / x^2 - 2 * (1 - cos(x)) / x^3", "1e-9"),
        ("program f(x) = log(sigmoid(x))", "program f(x) = 1 - sigmoid(x)", "800"),
        ("program f(x) = relu(x - 1)", "program f(x) = 1", "1.00000000000000000000000000000000000000001"),
        ("program f(x) = x^2", "program f(x) = 0", "0"),
        ("program f(x) = sqrt(x^2 + 1e-440)", "program f(x) = x / sqrt(x^2 + 1e-440)", "3e-200"),
    ] {
        let a = Arithmetic::new(2400);
        let (slope, expected) = (slopes_of(text, x).unwrap().gradient.remove(0), at(derivative, &[x], 2400).unwrap());
        let apart = a.abs(&a.sub(&slope, &expected).unwrap()).unwrap().to_f64();
        assert!(apart <= 1e-150 * expected.to_f64().abs(), "{text} at {x}: {apart}");
    }
    for (text, x) in [
        ("program f(x) = relu(x)", "0"),
        ("program f(x) = exp(-1000) * abs(x - 1)", "1"),
        ("program f(x) = x^2 + max(x, 1/3)", "1/3"),
    ] {
        assert_eq!(slopes_of(text, x).unwrap_err(), Fault::NoValue("a kink"), "{text}");
    }
}
