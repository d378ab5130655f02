//! Where infinity and NaN come from: the places of the backward run, against what IEEE arithmetic gives by hand.

use crease::formats::parse_text;
use crease::inspect::{Singular, singular_places};
use crease::{How, Limits, Selection, Tensor, Text};
use std::sync::Arc;

fn places(text: &str, point: &[f64]) -> Vec<(&'static str, f64, usize)> {
    found(text, point, &How::default()).into_iter().map(|s| (s.operation, s.argument, s.elements)).collect()
}

fn found(text: &str, point: &[f64], how: &How) -> Vec<Singular> {
    let text = Arc::new(Text::new("f.crease", text));
    let module = parse_text(&text).unwrap();
    let p = module.main();
    let mut rest = point;
    let inputs: Vec<Tensor<f64>> = p
        .inputs()
        .iter()
        .map(|i| {
            let (these, others) = rest.split_at(i.shape.len());
            rest = others;
            Tensor::new(i.shape.clone(), these.to_vec()).unwrap()
        })
        .collect();
    singular_places(p, &inputs, how, &Limits::default()).unwrap()
}

#[test]
fn zero_times_infinity() {
    // 0 comes back to the root, whose slope is infinite
    assert_eq!(places("program f(x) = where(x > 0, sqrt(x), 0)", &[0.0]), [("sqrt", 0.0, 1)]);
    // the slope of the logarithm at -1 is -1, and 0 times it is 0
    assert!(places("program f(x) = where(x > 0, log(x), 0)", &[-1.0]).is_empty());
    assert_eq!(places("program f(x) = where(x > 0, log(x), 0)", &[0.0]), [("log", 0.0, 1)]);
    // the double `where` is safe
    let double = "program f(x) { let s = where(x > 0, x, 1)  return where(x > 0, log(s), 0) }";
    assert!(places(double, &[0.0]).is_empty());
    assert_eq!(places("program f(x, y) = where(y != 0, x / y, 0)", &[1.0, 0.0]), [("/", 0.0, 1)]);
}

#[test]
fn an_infinite_factor_is_met_before_the_slope_that_made_it() {
    assert_eq!(
        places("program f(x) = where(x > 0, x * log(x), 0)", &[0.0]),
        [("*", f64::NEG_INFINITY, 1), ("log", 0.0, 1)]
    );
}

#[test]
fn what_nothing_comes_back_to_is_not_told() {
    // both roots have infinite slopes; only the first of them matters to the result
    let text = "program f(x) { let a = sqrt(x)  let b = sqrt(2 * x)  return where(b < 1, where(x > 0, a, 0), 0) }";
    let told = found(text, &[0.0], &How::default());
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].site.text(), "sqrt(x)");
}

#[test]
fn what_is_not_finite_any_more_is_no_place_of_its_own() {
    // NaN comes back to the second root, which is not to blame
    assert_eq!(places("program f(x, y) = where(x > 0, sqrt(x * sqrt(y)), 0)", &[0.0, 4.0]), [("sqrt", 0.0, 1)]);
}

#[test]
fn elements_are_counted_one_by_one() {
    let text = "program f(v[4]) = sum(where(v > 0, sqrt(v), 0))";
    assert_eq!(places(text, &[0.0, 1.0, 0.0, 4.0]), [("sqrt", 0.0, 2)]);
}

#[test]
fn branches_and_loops_are_followed() {
    let text = "program f(x) = select { x >= 0 => sqrt(x), else => x }";
    assert_eq!(places(text, &[0.0]), [("sqrt", 0.0, 1)]);
    assert!(places(text, &[-1.0]).is_empty());
    // sqrt(sqrt(0)): the outer one first, then NaN or infinity only passes through
    let turns = "program f(a) = repeat(2, x = a) { return sqrt(x) }";
    assert_eq!(places(turns, &[0.0]), [("sqrt", 0.0, 1)]);
    assert!(places(turns, &[2.0]).is_empty());
}

#[test]
fn what_is_picked_at_a_kink_counts() {
    // 0 or 1 comes back to the root, and either times infinity is not finite; the square sends 0 on, which its finite slope keeps
    for select in ["relu=0", "relu=1"] {
        let how = How::default().select(Selection::parse(select).unwrap());
        assert_eq!(found("program f(x) = relu(sqrt(x))", &[0.0], &how).len(), 1);
        assert_eq!(found("program f(x) = relu(x * x)", &[0.0], &how).len(), 0);
    }
    // a maximum sends 0 to what does not win: 0 times infinity all the same
    assert_eq!(places("program f(x, y) = max(sqrt(x), y)", &[0.0, 1.0]), [("sqrt", 0.0, 1)]);
}

#[test]
fn finite_gradients_have_no_places() {
    for (text, point) in [
        ("program f(x) = abs(x) + relu(-x)", &[0.0][..]),
        ("program f(v[3]) = norm2(v)", &[0.0, 0.0, 0.0]),
        ("program f(v[3]) = sort(v)[1] * exp(v[0])", &[1.0, 1.0, 2.0]),
    ] {
        assert!(places(text, point).is_empty(), "{text}");
    }
}

#[test]
fn points_that_do_not_fit_are_errors() {
    let p = crease::trace(1, |x| crease::sqrt(x[0])).unwrap();
    let fails = |inputs: &[Tensor<f64>]| singular_places(&p, inputs, &How::default(), &Limits::default()).is_err();
    assert!(fails(&[]) && fails(&[Tensor::scalar(1.0), Tensor::scalar(1.0)]) && !fails(&[Tensor::scalar(1.0)]));
}
