//! The kink report, and what the oracles refuse.

mod support;

use crease_core::Limits;
use crease_core::differentiate::Selection;
use crease_core::local::localize;
use crease_core::number::Rational;
use crease_core::op::Ties;
use crease_core::{Shape, Tape, Tensor, abs, concat, max, relu, trace, trace_shapes};
use crease_oracles::{
    KinkReport, OracleError, Session, clarke_along, clarke_element, conservative, directional, gradient_at_choices,
    identity, lexicographic, lexicographic_forward,
};
use support::{ints, model_at, r};

#[test]
fn a_report_lists_kinks_margins_and_changes() {
    let p = trace(3, |x| 2.0 * relu(x[0]) + abs(x[1] - 4.0) + max(&[x[1], x[2]]) + abs(x[0] * x[0])).unwrap();
    let m = model_at(&p, &[0, 1, 1]);
    let report = KinkReport::new(&Session::new(&m, 0), &Selection::torch(), &Limits::default()).unwrap();
    let shown: Vec<(&str, &str)> = report.active.iter().map(|k| (k.operation, &k.site.shown[..])).collect();
    // |x0 * x0| is tied at 0 too, but its argument does not move
    assert_eq!(shown, [("relu", "relu(x0)"), ("max", "max(x1, x2)")]);
    assert_eq!(report.gradient, [r("0"), r("-1/2"), r("1/2")]);
    assert_eq!(report.active[1].weights, [r("1/2"), r("1/2")]);
    assert_eq!(report.active.iter().map(|k| k.change.clone().unwrap()).collect::<Vec<_>>(), [r("2"), r("1/2")]);
    assert_eq!((report.nearest.len(), report.nearest[0].operation, report.nearest[0].margin), (1, "abs", 3.0));
    assert_eq!(report.bounds, [(r("0"), r("2")), (r("-1"), r("0")), (r("0"), r("1"))]);
    assert!(report.exact);
}

#[test]
fn the_smallest_margins_come_first() {
    let p = trace_shapes(&[Shape::vector(50).unwrap()], |x| vec![abs(x[0]).sum()]).unwrap();
    let at: Vec<i64> = (0..50).map(|i| 1 + (i * 37) % 50).collect();
    let m = localize(&p, &[Tensor::vector(ints(&at)).unwrap()]).unwrap();
    let limits = Limits { margins: 4, ..Limits::default() };
    let report = KinkReport::new(&Session::new(&m, 0), &Selection::paper(), &limits).unwrap();
    assert_eq!(report.nearest.iter().map(|m| m.margin).collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!((report.decided, report.active.len()), (50, 0));
    assert_eq!(report.width(), r("0"));
}

#[test]
fn limits_are_kept() {
    let p = trace_shapes(&[Shape::vector(200).unwrap()], |x| vec![abs(x[0]).sum()]).unwrap();
    let m = localize(&p, &[Tensor::vector(ints(&[0; 200])).unwrap()]).unwrap();
    let limits = Limits { margins: 3, visits: 400, ..Limits::default() };
    let report = KinkReport::new(&Session::new(&m, 0), &Selection::paper(), &limits).unwrap();
    assert_eq!(report.active.len(), 200);
    assert!(report.measured > 5 && report.measured < 200, "{}", report.measured);
    assert!(report.active[..report.measured].iter().all(|k| k.change == Some(r("2"))));
    assert!(report.active[report.measured..].iter().all(|k| k.change.is_none()));
}

#[test]
fn an_average_of_order_statistics_is_said_not_to_be_followed() {
    let p = trace(3, |x| concat(x, 0).median()).unwrap();
    let m = model_at(&p, &[1, 1, 1]);
    let average = Selection { order: Ties::Average, ..Selection::paper() };
    let report = KinkReport::new(&Session::new(&m, 0), &average, &Limits::default()).unwrap();
    assert!(report.active.iter().all(|k| !k.followed));
    assert_eq!(report.gradient, ints(&[1, 0, 0]));
}

#[test]
fn what_does_not_fit_is_refused() {
    let p = trace(2, |x| relu(x[0]) + x[1]).unwrap();
    let m = model_at(&p, &[0, 0]);
    let short = OracleError::Dimension { expected: 2, got: 1 };
    assert_eq!(directional(&m, &ints(&[1])).unwrap_err(), short);
    assert_eq!(clarke_along(&m, 0, &ints(&[1])).unwrap_err(), short);
    let missing = OracleError::NoOutput { number: 1, outputs: 1 };
    assert_eq!(clarke_element(&m, 1, 0).unwrap_err(), missing);
    assert_eq!(conservative(&m, 1).unwrap_err(), missing);
    let dependent = [ints(&[1, 2]), ints(&[2, 4])];
    let no_basis = OracleError::NoBasis { directions: 2, dimension: 2 };
    assert_eq!(lexicographic(&m, 0, &dependent).unwrap_err(), no_basis);
    assert_eq!(lexicographic_forward(&m, 0, &dependent).unwrap_err(), no_basis);
    assert!(lexicographic(&m, 0, &identity(2)[..1]).is_err());
    for bad in [vec![], vec![ints(&[1])], vec![ints(&[1, 1])], vec![ints(&[2, -1])], vec![ints(&[1, 0]); 2]] {
        assert!(matches!(gradient_at_choices(&m, 0, &bad), Err(OracleError::Choices { .. })), "{bad:?}");
    }
    assert!(gradient_at_choices(&m, 0, &[ints(&[0, 1])]).is_ok());
}

#[test]
fn programs_without_inputs_or_kinks_have_answers() {
    let tape = Tape::new("f");
    let p = tape.finish(&[tape.constant(3.0)]).unwrap();
    let m = localize(&p, &[]).unwrap();
    assert_eq!(clarke_element(&m, 0, 0).unwrap().gradient, []);
    assert!(conservative(&m, 0).unwrap().is_singleton());
    assert!(lexicographic(&m, 0, &[]).is_ok());
    let p = trace(1, |x| x[0].tape().constant(3.0)).unwrap();
    let m = model_at(&p, &[5]);
    assert_eq!(clarke_element(&m, 0, 0).unwrap().gradient, ints(&[0]));
    assert!(conservative(&m, 0).unwrap().is_singleton());
    assert_eq!(directional(&m, &ints(&[1])).unwrap(), [Rational::ZERO]);
}

#[test]
fn directions_with_many_kinks_are_drawn_from_a_larger_range() {
    // |x_i - x_j| for all pairs: equal coordinates of a direction would tie
    let n = 40;
    let p = trace(n, |x| {
        let mut sum = x[0];
        for i in 0..n {
            for j in 0..i {
                sum = sum + abs(x[i] - x[j]);
            }
        }
        sum
    });
    let m = model_at(&p.unwrap(), &[1; 40]);
    assert_eq!(m.kinks().len(), n * (n - 1) / 2);
    for seed in 0..10 {
        let e = clarke_element(&m, 0, seed).unwrap();
        assert!(e.attempts <= 4 && e.proved, "{} attempts", e.attempts);
    }
}
