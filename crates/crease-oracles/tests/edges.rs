//! Smooth functions where they end, the angle of a point, and what is picked at the kinks of named activations.

mod support;

use crease_core::differentiate::{How, Selection, backprop};
use crease_core::local::{LocalError, localize};
use crease_core::{Builder, Program, Shape, Smooth, Tensor, Var, run, trace};
use crease_core::{acos, acosh, asin, atan, atan2, erf, gelu, hardsigmoid, hardswish, log1p, powf, relu6, sqrt, tan};
use crease_oracles::directional;
use support::{ints, r, scalars};

fn program(f: impl for<'t> FnOnce(&[Var<'t>]) -> Var<'t>) -> Program {
    trace(1, f).unwrap()
}

/// Why there is no local model at a number.
fn refused(p: &Program, at: &str) -> LocalError {
    localize(p, &scalars(&[r(at)])).unwrap_err()
}

#[test]
fn an_answer_where_a_function_ends_names_the_place() {
    for (p, at, why) in [
        (program(|x| asin(x[0])), "1", "the arcsine has infinite slope at 1"),
        (program(|x| asin(x[0])), "-1", "the arcsine has infinite slope at -1"),
        (program(|x| acos(x[0])), "1", "the arccosine has infinite slope at 1"),
        (program(|x| acosh(x[0])), "1", "acosh has infinite slope at 1"),
        (program(|x| powf(x[0], 0.5)), "0", "the square root has infinite slope at 0"),
        (program(|x| powf(x[0], 0.25)), "0", "a power of less than 1 has infinite slope at 0"),
        (program(|x| powf(x[0], 1.5)), "0", "a power that is no integer has no value left of 0"),
        // the tangent of the argument vanishes, and the function has a kink all the same
        (program(|x| asin(1.0 - x[0] * x[0])), "0", "the arcsine has infinite slope at 1"),
        (program(|x| acosh(1.0 + x[0] * x[0])), "0", "acosh has infinite slope at 1"),
        (program(|x| powf(x[0] * x[0], 0.75)), "0", "a power of less than 1 has infinite slope at 0"),
    ] {
        let error = refused(&p, at);
        let LocalError::Singular { why: found, .. } = &error else { panic!("{p}: {error}") };
        assert!(found.starts_with(why), "{p}: {error}");
    }
    for (p, at, why) in [
        (program(|x| asin(x[0])), "1.5", "asin of a number that is not between -1 and 1"),
        (program(|x| log1p(x[0])), "-1", "log1p of a number that is not above -1"),
        (program(|x| powf(x[0], 1.5)), "-1", "a power of a number that is not positive or 0"),
    ] {
        let error = refused(&p, at).to_string();
        assert!(error.contains(why), "{p}: {error}");
    }
}

#[test]
fn a_constant_at_the_end_of_a_function_is_a_constant() {
    // the argument is 1 around the point, whatever x is
    let p = program(|x| asin(x[0] * 0.0 + 1.0) + x[0]);
    let m = localize(&p, &scalars(&[r("2")])).unwrap();
    assert_eq!(directional(&m, &ints(&[3])).unwrap(), ints(&[3]));
}

#[test]
fn a_pole_of_the_tangent_is_never_a_number() {
    let p = program(|x| tan(asin(x[0]) + atan(x[0]) * 0.0));
    // a quarter of a turn, of which no number of bits shows that it is not beside the pole
    assert!(
        matches!(refused(&p, "1"), LocalError::Singular { .. } | LocalError::Undecided { .. }),
        "{}",
        refused(&p, "1")
    );
    let quarter = {
        let mut b = Builder::new("f");
        let x = b.input("x", Shape::scalar()).unwrap();
        let one = b.constant(1);
        let quarter = b.push1(Smooth::Asin, &[one]).unwrap();
        let sum = b.add(quarter, x).unwrap();
        let y = b.push1(Smooth::Tan, &[sum]).unwrap();
        b.finish(&[y]).unwrap()
    };
    assert!(
        matches!(refused(&quarter, "0"), LocalError::Undecided { .. } | LocalError::Run(_)),
        "{}",
        refused(&quarter, "0")
    );
}

/// The gradient in doubles.
fn gradient(p: &Program, at: &[f64], how: &How) -> Vec<f64> {
    let d = backprop(p, how).unwrap();
    let at: Vec<Tensor<f64>> = at.iter().map(|&x| Tensor::scalar(x)).collect();
    run(&d, &at).unwrap()[1..].iter().map(|t| t.data()[0]).collect()
}

#[test]
fn the_angle_of_a_point_is_smooth_but_for_the_negative_axis() {
    let p = trace(2, |v| atan2(v[1], v[0])).unwrap();
    for (x, y) in [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, -1), (0, -1), (1, -1), (3, -7), (-5, 2)] {
        let m = localize(&p, &scalars(&ints(&[x, y]))).unwrap();
        assert!(m.kinks().is_empty(), "({x}, {y})");
        // a turn of the point turns the angle as far
        let found: Vec<f64> = [[1, 0], [0, 1]].iter().map(|d| directional(&m, &ints(d)).unwrap()[0].to_f64()).collect();
        let square = (x * x + y * y) as f64;
        let expected = [-y as f64 / square, x as f64 / square];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "({x}, {y}): {found:?}");
        let floats = gradient(&p, &[x as f64, y as f64], &How::default());
        assert!(floats.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "({x}, {y}): {floats:?}");
    }
    let jump = localize(&p, &scalars(&ints(&[-1, 0]))).unwrap_err();
    assert!(matches!(jump, LocalError::Discontinuous { .. }), "{jump}");
    // at the origin there is no value, and nothing is said about derivatives
    assert!(run(&p, &[Tensor::scalar(0.0), Tensor::scalar(0.0)]).is_err());
    let origin = localize(&p, &scalars(&ints(&[0, 0]))).unwrap_err().to_string();
    assert!(origin.contains("no value") && origin.contains("division by zero"), "{origin}");
}

#[test]
fn activations_pick_what_pytorch_picks() {
    let torch = How::default().select(Selection::torch());
    for (p, at, slope) in [
        (program(|x| relu6(x[0])), 0.0, 0.0),
        (program(|x| relu6(x[0])), 6.0, 0.0),
        (program(|x| relu6(x[0])), 3.0, 1.0),
        (program(|x| hardsigmoid(x[0])), -3.0, 0.0),
        (program(|x| hardsigmoid(x[0])), 3.0, 0.0),
        (program(|x| hardswish(x[0])), -3.0, 0.0),
        (program(|x| hardswish(x[0])), 3.0, 1.0),
        (program(|x| gelu(x[0])), 0.0, 0.5),
        (program(|x| erf(x[0])), 0.0, std::f64::consts::FRAC_2_SQRT_PI),
        (program(|x| sqrt(x[0])), 4.0, 0.25),
    ] {
        assert_eq!(gradient(&p, &[at], &torch), [slope], "{p} at {at}");
    }
}
