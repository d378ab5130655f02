//! Euclidean norms at 0, against answers derived by hand: alone, under other names, where they cancel and where they do not.

use crease_core::local::{LocalError, LocalModel, localize};
use crease_core::number::{Number, Rational};
use crease_core::{Limits, Tensor, differentiate::Selection};
use crease_oracles::{
    Effort, EnumerateLimit, KinkReport, Membership, OracleError, Session, Verdict, identity, in_hull,
};

/// The model of an expression at 0; its inputs have so many coordinates together.
fn at_zero(text: &str) -> LocalModel {
    model(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn model(text: &str) -> Result<LocalModel, LocalError> {
    let parsed = crease_formats::parse(text).unwrap();
    let zeros: Vec<Tensor<Rational>> = parsed
        .main()
        .inputs()
        .iter()
        .map(|i| Tensor::new(i.shape.clone(), vec![Rational::ZERO; i.shape.len()]).unwrap())
        .collect();
    localize(parsed.main(), &zeros)
}

fn word(text: &str) -> &'static str {
    Session::owning(at_zero(text), 0).differentiable(&Effort::default()).unwrap().verdict.word()
}

fn numbers(x: &[i64]) -> Vec<Rational> {
    x.iter().map(|&x| Rational::from(x)).collect()
}

#[test]
fn verdicts() {
    for (text, expected) in [
        ("program f(v[3]) = norm2(v)", "no"),
        ("program f(x, y) = norm2(x, y)", "no"),
        ("program f(x, y) = sqrt(x^2 + y^2)", "no"),
        ("program f(x, y) = sqrt(x^2 + y^2)^2", "yes"),
        ("program f(v[3]) = norm2(v)^2", "yes"),
        ("program f(v[3]) = norm2(v) - norm2(-v)", "yes"),
        ("program f(v[3]) = norm2(v) - norm1(v)", "no"),
        ("program f(v[3]) = norm2(v) - norminf(v)", "no"),
        ("program f(x, v[3]) = x / (1 + norm2(v))", "yes"),
        ("program f(x, v[3]) = (x + 1) / (1 + norm2(v))", "no"),
        // multiples, rotations and other names of one norm
        ("program f(v[3]) = norm2(3 * v) - 3 * norm2(v)", "yes"),
        ("program f(x, y) = norm2(3*x + 4*y, 4*x - 3*y) - 5 * norm2(x, y)", "yes"),
        ("program f(x, y) = norm2(3*x + 4*y, 4*x - 3*y) - 4 * norm2(x, y)", "no"),
        ("program f(x, y) = norm2(x, y, x) - sqrt(2*x^2 + y*y)", "yes"),
        ("program f(x, y) = norm2(x, y) - norm2(y, x) + abs(x) - abs(-x)", "yes"),
        ("program f(x, y) = norm2(x, y) - norm2(y, x) + abs(x) - abs(y)", "no"),
        // norms of one direction are absolute values
        ("program f(x) = sqrt(x^2) - abs(x)", "yes"),
        ("program f(x) = norm2(x, 2*x, -2*x) - 3 * abs(x)", "yes"),
        ("program f(x) = norm2(x, 0*x)", "no"),
        ("program f(x) = sqrt(relu(x)^2) - relu(x)", "yes"),
        // of higher order
        ("program f(x, y) = norm2(x^2, y^2)", "yes"),
        ("program f(x, y) = sqrt(x^4 + y^4)", "yes"),
        ("program f(x, y) = x * norm2(x, y)", "yes"),
        ("program f(x, y) = norm2(relu(x), relu(y))", "no"),
        ("program f(x, y, z) = norm2(norm2(x, y), z)", "no"),
    ] {
        assert_eq!(word(text), expected, "{text}");
    }
}

/// What is not seen to cancel is not called differentiable, and there is no direction that shows the contrary.
#[test]
fn what_is_not_seen_is_unknown() {
    assert_eq!(word("program f(x, y, z) = norm2(norm2(x, y), z) - norm2(x, y, z)"), "unknown");
}

/// A tensor, its sum and product with itself, and means are seen through.
#[test]
fn roots_of_sums_of_squares() {
    for text in [
        "program f(v[3]) = sqrt(sum(v * v)) - norm2(v)",
        "program f(v[3]) = sqrt(v @ v) - norm2(v)",
        "program f(v[4]) = 2 * sqrt(mean(v^2)) - norm2(v)",
        "program f(M[2, 3]) = sum(sqrt(sum(M * M, axis=0))) - sum(norm2(M, axis=0))",
        "program f(x, y) = sqrt((x^2 + y^2) / 9 + 0) - norm2(x, y) / 3",
    ] {
        assert_eq!(word(text), "yes", "{text}");
    }
}

#[test]
fn a_root_that_is_no_norm_is_refused() {
    for text in ["program f(x) = sqrt(x)", "program f(x, y) = sqrt(x^2 + y)", "program f(x, y) = sqrt(x * y)"] {
        let refused = model(text);
        assert!(matches!(refused, Err(LocalError::Singular { .. })), "{text}");
    }
}

#[test]
fn directional_derivatives_are_norms_of_tangents() {
    let m = at_zero("program f(x, y) = 2 * norm2(x, y) - x");
    let along = |d: [i64; 2]| m.along(&numbers(&d)).unwrap().swap_remove(0);
    assert_eq!(along([3, 4]).exact(), Some(&Rational::from(7)));
    assert_eq!(along([-3, -4]).exact(), Some(&Rational::from(13)));
    let (low, high) = along([1, 1]).enclosure().outer();
    let truth = 2.0 * 2.0_f64.sqrt() - 1.0;
    assert!(low <= truth && truth <= high && high - low < 1e-15);
}

#[test]
fn subgradients_are_unit_vectors() {
    let m = at_zero("program f(v[3]) = norm2(v)");
    let session = Session::new(&m, 0);
    for seed in 0..8 {
        let e = session.clarke_element(seed).unwrap();
        let length: f64 = e.gradient.iter().map(|x| x.to_f64().powi(2)).sum::<f64>().sqrt();
        assert!((length - 1.0).abs() < 1e-15, "{seed}: {length}");
        // along itself
        let size = Number::norm2(&e.direction.iter().map(Rational::to_f64).collect::<Vec<_>>()).unwrap();
        for (g, d) in e.gradient.iter().zip(&e.direction) {
            assert!((g.to_f64() - d.to_f64() / size).abs() < 1e-14);
        }
    }
    let e = session.clarke_along(&numbers(&[2, 3, 6])).unwrap().unwrap();
    assert_eq!(e.gradient, ["2/7", "3/7", "6/7"].map(|x| x.parse().unwrap()));
    assert_eq!(e.radius, None);
    assert!(session.clarke_along(&numbers(&[0, 0, 0])).unwrap().is_none());
    // the first vector of the basis settles it; along one on which it is 0 the next does
    assert_eq!(session.lexicographic(&identity(3)).unwrap().gradient, numbers(&[1, 0, 0]));
    let m = at_zero("program f(x, y, z) = norm2(y, z)");
    let l = Session::new(&m, 0).lexicographic(&identity(3)).unwrap();
    assert_eq!((l.gradient, l.settled), (numbers(&[0, 1, 0]), vec![Some(1)]));
}

/// Where members vanish around a direction, so does the norm.
#[test]
fn a_norm_may_vanish_on_a_cone() {
    let m = at_zero("program f(x, y) = norm2(relu(x), relu(y)) + y");
    let session = Session::new(&m, 0);
    let along = |d: [i64; 2]| session.clarke_along(&numbers(&d)).unwrap();
    assert_eq!(along([-1, -2]).unwrap().gradient, numbers(&[0, 1]));
    assert_eq!(along([1, -2]).unwrap().gradient, numbers(&[1, 1]));
    assert_eq!(along([3, 4]).unwrap().gradient, ["3/5", "9/5"].map(|x| x.parse().unwrap()));
    assert!(along([-1, 0]).is_none());
    // the function is not differentiable on this axis, although its norms are the same to first order
    let m = at_zero("program f(x, y, z) = norm2(x, y) - norm2(x + z^2, y)");
    assert!(Session::new(&m, 0).clarke_along(&numbers(&[0, 0, 1])).unwrap().is_none());
}

#[test]
fn there_are_infinitely_many_gradients() {
    let limits = Limits::default();
    let all = |text: &str| Session::owning(at_zero(text), 0).neighbouring_gradients(&limits, |_| ()).unwrap();
    let found = all("program f(x, y) = norm2(x, y)");
    assert_eq!((found.complete(), found.limit), (false, Some(EnumerateLimit::Infinite)));
    let gradients: Vec<_> = found.gradients.iter().map(|n| n.gradient.clone()).collect();
    assert!(gradients.contains(&numbers(&[1, 0])) && gradients.contains(&numbers(&[0, -1])));
    assert_eq!(all("program f(x, y) = norm2(x, y) + abs(x)").limit, Some(EnumerateLimit::Round));
    // two gradients in all, though nobody sees that these are multiples of each other
    assert_eq!(all("program f(x) = norm2(exp(1) * x, 2 * exp(1) * x)").limit, Some(EnumerateLimit::Round));
    // to first order it cancels; where x and y are as small as z^2 it does not
    let found = all("program f(x, y, z) = norm2(x, y) - norm2(x + z^2, y)");
    assert!(!found.complete(), "{found:?}");
    // an absolute value along all directions; beside them the gradient turns
    for text in ["sqrt(x^2 + y^4)", "norm2(x, y^2)", "norm2(x, x + y^2)"] {
        assert!(!all(&format!("program f(x, y) = {text}")).complete(), "{text}");
    }
    assert!(all("program f(x, y) = sqrt((x + y^2)^2)").complete());
    // where it cancels the list is whole
    let found = all("program f(x, y) = norm2(x, y) - norm2(y, x) + abs(x)");
    assert_eq!((found.complete(), found.gradients.len()), (true, 2));
}

/// The unit ball, and what is outside of it.
#[test]
fn membership() {
    let m = at_zero("program f(x, y) = norm2(x, y)");
    let session = Session::new(&m, 0);
    let all = session.neighbouring_gradients(&Limits::default(), |_| ()).unwrap();
    let place =
        |v: [&str; 2]| session.membership_among(&all, &v.map(|x| x.parse().unwrap()), &Default::default()).unwrap();
    let Membership::Hull { weights } = place(["0", "0"]) else { panic!() };
    let sum: Vec<Rational> =
        (0..2).map(|i| weights.iter().map(|(n, w)| w * &all.gradients[*n].gradient[i]).sum()).collect();
    assert_eq!(sum, numbers(&[0, 0]));
    assert!(matches!(place(["3/5", "4/5"]), Membership::Clarke { .. }));
    assert!(matches!(place(["1/4", "1/4"]), Membership::Hull { .. }));
    assert!(matches!(place(["2", "0"]), Membership::Outside { .. }));
    // inside the bounds of coordinates, outside the ball
    assert!(matches!(place(["9/10", "9/10"]), Membership::Beyond { .. }));
    assert!(in_hull(&all.gradients, &numbers(&[0, 0]), &Default::default()).is_ok());
}

#[test]
fn selections_are_vectors_of_the_unit_ball() {
    let m = at_zero("program f(x, y, z) = norm2(x, y, z) + 2 * norm2(z, x)");
    let session = Session::new(&m, 0);
    let report = |text: &str| {
        let selection = Selection::parse(text).unwrap();
        selection.validate().unwrap();
        KinkReport::new(&session, &selection, &Limits::default()).unwrap()
    };
    assert_eq!(report("torch").gradient, numbers(&[0, 0, 0]));
    let chosen = report("norm2=[3/5, 4/5]");
    assert_eq!(chosen.gradient, ["11/5", "4/5", "6/5"].map(|x| x.parse().unwrap()));
    assert_eq!(chosen.bounds[0], (Rational::from(-3), Rational::from(3)));
    assert!(Selection::parse("norm2=[3/5, 4/5, 1/100]").unwrap().validate().is_err());
    assert!(Selection::parse("norm2=[3/5, nothing]").is_err());
    let text = Selection::parse("norm2=[3/5, -4/5]").unwrap();
    assert_eq!(Selection::parse(&text.to_string()), Ok(text));
    let outside = [numbers(&[1, 1, 0]), numbers(&[1, 0])];
    assert_eq!(session.gradient_at_choices(&outside), Err(OracleError::Choices { kink: 0 }));
}

/// What is said to be not differentiable is certified, and the certificate holds.
#[test]
fn certificates() {
    for text in [
        "program f(v[3]) = norm2(v)",
        "program f(v[3]) = norm2(v) - norm1(v)",
        "program f(x, y) = norm2(relu(x), relu(y)) - abs(x)",
        "program f(x, y, z) = norm2(norm2(x, y), z) + exp(1) * relu(x)",
    ] {
        let session = Session::owning(at_zero(text), 0);
        let decision = session.differentiable(&Effort::default()).unwrap();
        assert!(matches!(decision.verdict, Verdict::No(_)), "{text}");
        let certificate = decision.certificate().unwrap();
        assert!(certificate.contains("\nnorm "), "{text}");
        crease_check::check(certificate.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e}\n{certificate}"));
        // without the norm it is another model
        let other = certificate.replace("\nnorm ", "\nmax ");
        let checked = crease_check::check(other.as_bytes());
        assert!(
            checked.is_err() || checked.unwrap().model != crease_check::check(certificate.as_bytes()).unwrap().model
        );
    }
    let session = Session::owning(at_zero("program f(v[3]) = norm2(v) - norm2(-v)"), 0);
    let certificate = session.differentiable(&Effort::default()).unwrap().certificate().unwrap();
    assert!(crease_check::check(certificate.as_bytes()).is_ok());
}

/// Norms of curved arguments cancel to first order only. Along a direction on which the first-order
/// parts of both vanish, the program has a kink at every point near 0. No answer shows such a
/// direction, though it is the one that a search without norms draws.
#[test]
fn directions_are_looked_at_with_the_norms_that_cancel() {
    let decide = |text: &str| Session::owning(at_zero(text), 0).differentiable(&Effort::default()).unwrap().verdict;
    let rest = ["", " + relu(x) - relu(y)"];
    for rest in rest {
        let text = |a: &str, b: &str| format!("program f(x, y, z) = norm2({a}, {b}) - norm2({a} + x^2, {b}){rest}");
        for side in 0..2 {
            let drawn = decide(&text("x - y", "x - z"));
            let Some(e) = drawn.elements().get(side) else { continue };
            let d: Vec<String> = e.direction.iter().map(|c| format!("({})", c.fraction())).collect();
            // two forms that are 0 along that direction
            let a = format!("{}*x - {}*y", d[1], d[0]);
            let b = format!("{}*x - {}*z", d[2], d[0]);
            let (hostile, before) = (decide(&text(&a, &b)), drawn.word());
            assert_eq!(hostile.word(), before, "{a}, {b}");
            for shown in hostile.elements() {
                let parallel =
                    (0..3).all(|k| &shown.direction[k] * &e.direction[0] == &e.direction[k] * &shown.direction[0]);
                assert!(!parallel, "{a}, {b}: along {:?} the program has a kink at every point", shown.direction);
                assert_eq!(shown.gradient.len(), 3);
            }
            let gradients = |v: &Verdict| v.elements().iter().map(|e| e.gradient.clone()).collect::<Vec<_>>();
            assert_eq!(gradients(&hostile), gradients(&drawn));
        }
    }
}
