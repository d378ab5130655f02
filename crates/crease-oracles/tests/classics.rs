//! The classics of nonsmooth differentiation, each with its exact answers.

mod support;

use crease_core::differentiate::Selection;
use crease_core::local::{Exactness, LocalError, LocalModel, Node, Precision, localize};
use crease_core::number::Rational;
use crease_core::op::Comparison;
use crease_core::{Builder, Lane, Op, Program, Shape, Smooth, Tensor, Var, Window};
use crease_core::{abs, concat, elu, exp, leaky_relu, log, max, min, relu, times_relu, trace, trace_shapes};
use crease_oracles::{
    Membership, OracleError, Session, clarke_along, clarke_element, conservative, directional, gradient_at_choices,
    identity, lexicographic, lexicographic_forward,
};
use std::sync::Arc;
use support::{ints, model_at, r};

/// The directional derivative along one direction.
fn along(model: &LocalModel, d: &[i64]) -> Rational {
    directional(model, &ints(d)).unwrap().swap_remove(0)
}

/// The Clarke subgradients that a few seeds find, without repetition.
fn found(model: &LocalModel) -> Vec<Vec<Rational>> {
    let mut list: Vec<_> = (0..40).map(|seed| clarke_element(model, 0, seed).unwrap().gradient).collect();
    list.sort();
    list.dedup();
    list
}

/// The elements of the conservative gradient that are found, after a check of their choices and bounds.
fn elements(model: &LocalModel) -> Vec<Vec<Rational>> {
    let c = conservative(model, 0).unwrap();
    assert!(c.proved);
    assert_eq!(Session::new(model, 0).several_in_field(3).unwrap(), !c.is_singleton());
    for e in &c.elements {
        assert_eq!(gradient_at_choices(model, 0, &e.choices).unwrap(), e.gradient);
        assert!(e.gradient.iter().zip(&c.bounds).all(|(x, (low, high))| low <= x && x <= high));
    }
    c.elements.into_iter().map(|e| e.gradient).collect()
}

/// Both lexicographic derivatives along the unit vectors.
fn lexicographic_of(model: &LocalModel) -> Vec<Rational> {
    let basis = identity(model.dimension());
    let a = lexicographic(model, 0, &basis).unwrap();
    let b = lexicographic_forward(model, 0, &basis).unwrap();
    assert_eq!((&a.gradient, &a.settled), (&b.gradient, &b.settled));
    a.gradient
}

#[test]
fn the_identity_by_two_relus() {
    let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
    let m = model_at(&p, &[0]);
    assert_eq!(m.kinks().len(), 2);
    assert_eq!((along(&m, &[1]), along(&m, &[-1])), (r("1"), r("-1")));
    assert_eq!(found(&m), [ints(&[1])]);
    assert_eq!(lexicographic_of(&m), ints(&[1]));
    assert_eq!(elements(&m), [ints(&[0]), ints(&[2])]);
    let c = conservative(&m, 0).unwrap();
    assert_eq!(c.bounds, [(r("0"), r("2"))]);
    assert_eq!(c.width(), r("2"));
    // PyTorch's 0 is not a Clarke subgradient, but that takes more than these oracles to tell
    assert_eq!(Session::new(&m, 0).membership(&ints(&[0]), 8).unwrap(), Membership::NotDecided);
    assert!(matches!(Session::new(&m, 0).membership(&ints(&[1]), 8).unwrap(), Membership::Clarke { .. }));
    assert!(matches!(
        Session::new(&m, 0).membership(&ints(&[3]), 8).unwrap(),
        Membership::Outside { coordinate: 0, .. }
    ));
}

#[test]
fn relu_less_relu_of_relu() {
    let p = trace(1, |x| relu(x[0]) - relu(relu(x[0]))).unwrap();
    let m = model_at(&p, &[0]);
    assert_eq!(found(&m), [ints(&[0])]);
    assert_eq!(lexicographic_of(&m), ints(&[0]));
    // with all relus at 1 the path of both cancels: the shortest path has one kink
    assert_eq!(elements(&m), [ints(&[0]), ints(&[1])]);
    assert_eq!(conservative(&m, 0).unwrap().path.unwrap().len(), 1);
}

#[test]
fn abs_less_abs() {
    let p = trace(1, |x| abs(x[0]) - abs(x[0])).unwrap();
    let m = model_at(&p, &[0]);
    assert_eq!(found(&m), [ints(&[0])]);
    assert_eq!(lexicographic_of(&m), ints(&[0]));
    assert_eq!(elements(&m), [ints(&[-2]), ints(&[2])]);
    let shared = trace(1, |x| {
        let y = abs(x[0]);
        y - y
    });
    let m = model_at(&shared.unwrap(), &[0]);
    assert_eq!((m.kinks().len(), elements(&m)), (0, vec![ints(&[0])]));
}

#[test]
fn max_less_max_the_other_way_round() {
    let p = trace(2, |x| max(&[x[0], x[1]]) - max(&[x[1], x[0]])).unwrap();
    let m = model_at(&p, &[3, 3]);
    assert_eq!(found(&m), [ints(&[0, 0])]);
    assert_eq!(lexicographic_of(&m), ints(&[0, 0]));
    assert_eq!(elements(&m), [ints(&[-1, 1]), ints(&[1, -1])]);
    assert!(model_at(&p, &[3, 2]).kinks().is_empty());
}

#[test]
fn max_of_the_same() {
    let m = model_at(&trace(1, |x| max(&[x[0], x[0]])).unwrap(), &[0]);
    assert_eq!((m.kinks().len(), elements(&m)), (0, vec![ints(&[1])]));
    // the same form by another way is a kink of the graph, none of the normal form, and the verdict is a proved singleton
    let p = trace(3, |x| max(&[(x[0] + x[1]) + x[2], x[0] + (x[1] + x[2])])).unwrap();
    let m = model_at(&p, &[0, 0, 0]);
    assert!(m.normal_form().unwrap().kinks.is_empty());
    assert_eq!(elements(&m), [ints(&[1, 1, 1])]);
    assert_eq!(found(&m), [ints(&[1, 1, 1])]);
}

#[test]
fn a_strictly_smaller_argument_does_not_matter() {
    let m = model_at(&trace(3, max).unwrap(), &[2, 1, 2]);
    assert_eq!(m.kinks().len(), 1);
    assert_eq!(found(&m), [ints(&[0, 0, 1]), ints(&[1, 0, 0])]);
    assert_eq!(elements(&m), [ints(&[0, 0, 1]), ints(&[1, 0, 0])]);
    let m = model_at(&trace(3, min).unwrap(), &[2, 1, 2]);
    assert_eq!((m.kinks().len(), m.margins()[0].margin), (0, 1.0));
    assert_eq!(found(&m), [ints(&[0, 1, 0])]);
}

#[test]
fn median_with_ties() {
    let p = trace(5, |x| concat(x, 0).median()).unwrap();
    // sorted: 0 1 1 1 2, the median is among the tied
    let m = model_at(&p, &[1, 0, 1, 2, 1]);
    assert_eq!(found(&m), [ints(&[0, 0, 0, 0, 1]), ints(&[0, 0, 1, 0, 0]), ints(&[1, 0, 0, 0, 0])]);
    assert_eq!(along(&m, &[5, 0, -1, 0, 2]), r("2"));
    assert_eq!(along(&m, &[-5, 0, -1, 0, 2]), r("-1"));
    // ties elsewhere do not matter
    let m = model_at(&p, &[0, 0, 1, 2, 2]);
    assert_eq!((m.kinks().len(), found(&m)), (0, vec![ints(&[0, 0, 1, 0, 0])]));
    assert_eq!(m.margins().iter().map(|m| m.margin).collect::<Vec<_>>(), [1.0, 1.0]);
}

#[test]
fn sort_with_ties() {
    let shape = Shape::vector(3).unwrap();
    let p = trace_shapes(&[shape], |x| {
        let s = x[0].sort(0);
        vec![s.at(&[0]) + 10.0 * s.at(&[1]) + 100.0 * s.at(&[2])]
    });
    let m = localize(&p.unwrap(), &[Tensor::vector(ints(&[7, 7, 7])).unwrap()]).unwrap();
    // 1 d(1) + 10 d(2) + 100 d(3) of the sorted direction
    assert_eq!(along(&m, &[3, 1, 2]), r("321"));
    assert_eq!(along(&m, &[-1, -1, 4]), r("389"));
    assert_eq!(found(&m).len(), 6);
    assert_eq!(clarke_along(&m, 0, &ints(&[3, 1, 2])).unwrap().unwrap().gradient, ints(&[100, 1, 10]));
    assert!(clarke_along(&m, 0, &ints(&[3, 3, 2])).unwrap().is_none());
}

#[test]
fn the_sum_of_a_sort_is_smooth() {
    let p = trace_shapes(&[Shape::vector(4).unwrap()], |x| vec![x[0].sort(0).sum()]).unwrap();
    let m = localize(&p, &[Tensor::vector(ints(&[1, 1, 0, 1])).unwrap()]).unwrap();
    assert_eq!(found(&m), [ints(&[1, 1, 1, 1])]);
    assert_eq!(lexicographic_of(&m), ints(&[1, 1, 1, 1]));
    // and here the conservative gradient knows it too: an exchange keeps the sum
    assert_eq!(elements(&m), [ints(&[1, 1, 1, 1])]);
}

#[test]
fn max_pool_over_a_constant_patch() {
    let shape = Shape::new([1, 1, 2, 2]).unwrap();
    let window = Window::new((2, 2));
    let p = trace_shapes(std::slice::from_ref(&shape), |x| vec![x[0].maxpool2d(window).sum()]).unwrap();
    let m = localize(&p, &[Tensor::new(shape, ints(&[5, 5, 5, 5])).unwrap()]).unwrap();
    assert_eq!(m.kinks().len(), 1);
    let units: Vec<Vec<Rational>> = identity(4).into_iter().rev().collect();
    assert_eq!(found(&m), units);
    assert!(elements(&m).iter().all(|e| units.contains(e)));
    assert_eq!(along(&m, &[-1, -2, -3, -4]), r("-1"));
}

#[test]
fn the_l1_norm_at_zero() {
    let p = trace(3, |x| concat(x, 0).norm1()).unwrap();
    let m = model_at(&p, &[0, 0, 0]);
    assert_eq!(m.kinks().len(), 3);
    assert_eq!(found(&m).len(), 8);
    assert_eq!(lexicographic_of(&m), ints(&[1, 1, 1]));
    assert_eq!(elements(&m), [ints(&[-1, -1, -1]), ints(&[1, -1, -1])]);
    assert_eq!(along(&m, &[-2, 3, -4]), r("9"));
}

#[test]
fn the_linf_norm_at_zero_and_at_a_tie() {
    let p = trace(3, |x| concat(x, 0).norminf()).unwrap();
    let m = model_at(&p, &[0, 0, 0]);
    assert_eq!(found(&m).len(), 6);
    assert_eq!(lexicographic_of(&m), ints(&[1, 0, 0]));
    assert_eq!(along(&m, &[-2, 3, -4]), r("4"));
    let m = model_at(&p, &[-3, 3, 1]);
    assert_eq!(found(&m), [ints(&[-1, 0, 0]), ints(&[0, 1, 0])]);
}

#[test]
fn a_relu_whose_argument_is_identically_zero() {
    let p = trace(1, |x| relu(relu(x[0]) - x[0] - relu(-x[0]))).unwrap();
    let m = model_at(&p, &[0]);
    assert_eq!(m.kinks().len(), 3);
    let e = clarke_element(&m, 0, 0).unwrap();
    assert_eq!((e.gradient, e.equal, e.proved, e.attempts), (ints(&[0]), 1, true, 1));
    let l = lexicographic(&m, 0, &identity(1)).unwrap();
    assert_eq!((l.gradient, l.settled), (ints(&[0]), vec![Some(0), Some(0), None]));
    assert_eq!(lexicographic_of(&m), ints(&[0]));
    assert_eq!(elements(&m).len(), 2);
}

#[test]
fn a_switch_that_is_identically_zero_stops_nothing() {
    // of 60 directions the first settles all that can be settled
    let p = trace(60, |x| relu(relu(x[0]) - x[0] - relu(-x[0])) + x[59]).unwrap();
    let m = model_at(&p, &[0; 60]);
    let l = lexicographic(&m, 0, &identity(60)).unwrap();
    assert_eq!((l.directions, l.settled), (1, vec![Some(0), Some(0), None]));
}

#[test]
fn a_sum_of_a_thousand_absolute_values() {
    let n = 1000;
    let p = trace_shapes(&[Shape::vector(n).unwrap()], |x| vec![abs(x[0]).sum()]).unwrap();
    let m = localize(&p, &[Tensor::vector(vec![Rational::ZERO; n]).unwrap()]).unwrap();
    assert_eq!(m.kinks().len(), n);
    let e = clarke_element(&m, 0, 5).unwrap();
    assert!(e.proved && e.attempts == 1);
    assert!(e.gradient.iter().zip(&e.direction).all(|(g, d)| g.abs().is_one() && g.is_negative() == d.is_negative()));
    let c = conservative(&m, 0).unwrap();
    assert!(c.proved && !c.is_singleton());
    assert!(c.bounds.iter().all(|b| *b == (r("-1"), r("1"))));
    let l = lexicographic(&m, 0, &identity(n)).unwrap();
    assert!(l.gradient.iter().all(Rational::is_one));
    assert_eq!(l.settled[999], Some(999));
}

/// A selection function of one input: conditions, each a comparison of the input with a number, and branches.
fn selection(conditions: &[(Comparison, i64)], branches: &[fn(Var<'_>) -> Var<'_>]) -> Program {
    let mut b = Builder::new("s");
    let x = b.input("x", Shape::scalar()).unwrap();
    let mut args = Vec::new();
    for (how, c) in conditions {
        let c = b.constant(*c);
        args.push(b.compare(*how, x, c).unwrap());
    }
    args.push(x);
    let mut ids = Vec::new();
    for branch in branches {
        let program = trace_shapes(&[Shape::scalar()], |x| vec![branch(x[0])]).unwrap();
        ids.push(b.callee(Arc::new(program), None).unwrap());
    }
    let out = b.push(Op::Select(ids.into()), &args).unwrap();
    b.finish(&out).unwrap()
}

#[test]
fn select_like_huber() {
    use Comparison::{Greater, Less};
    // -2x - 1 | x^2 | 3x - 2: smooth at -1, a kink at 1
    let p = selection(&[(Less, -1), (Greater, 1)], &[|x| -2.0 * x - 1.0, |x| 3.0 * x - 2.0, |x| x * x]);
    for (at, kinks, left, right) in [(-1, 0, -2, -2), (1, 1, 2, 3), (0, 0, 0, 0), (2, 0, 3, 3)] {
        let m = model_at(&p, &[at]);
        assert_eq!(m.kinks().len(), kinks, "at {at}");
        assert_eq!((along(&m, &[-1]), along(&m, &[1])), (Rational::from(-left), Rational::from(right)), "at {at}");
        let mut expected = vec![ints(&[left]), ints(&[right])];
        expected.dedup();
        assert_eq!(found(&m), expected);
        assert_eq!(elements(&m), expected);
    }
    let m = model_at(&p, &[1]);
    assert_eq!(m.kinks()[0].operation, "select");
    // at the tie the condition x > 1 does not hold, so a run takes the branch x^2
    let weights = m.kinks()[0].weights(&Selection::paper()).unwrap();
    assert_eq!(gradient_at_choices(&m, 0, &[weights]).unwrap(), ints(&[2]));
}

#[test]
fn select_with_every_comparison() {
    use Comparison::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    let at = |how, inside: fn(Var<'_>) -> Var<'_>, outside: fn(Var<'_>) -> Var<'_>| {
        let m = model_at(&selection(&[(how, 0)], &[inside, outside]), &[0]);
        (along(&m, &[-1]), along(&m, &[1]))
    };
    for how in [Greater, GreaterEqual] {
        assert_eq!(at(how, |x| 5.0 * x, |x| 2.0 * x), (r("-2"), r("5")));
    }
    for how in [Less, LessEqual] {
        assert_eq!(at(how, |x| 5.0 * x, |x| 2.0 * x), (r("-5"), r("2")));
    }
    assert_eq!(at(Equal, |x| 5.0 * x, |x| 2.0 * x), (r("-2"), r("2")));
    assert_eq!(at(NotEqual, |x| 5.0 * x, |x| 2.0 * x), (r("-5"), r("5")));
}

#[test]
fn a_discontinuous_select_is_refused_with_the_reason() {
    let p = selection(&[(Comparison::Greater, 0)], &[|x| x + 1.0, |x| x]);
    let at = |x: i64| localize(&p, &[Tensor::scalar(Rational::from(x))]);
    assert!(at(1).is_ok() && at(-1).is_ok());
    let error = at(0).unwrap_err();
    assert!(matches!(&error, LocalError::Discontinuous { .. }));
    assert!(error.to_string().contains("the branches that meet here have the values 1 and 0"), "{error}");
    // values agree at the point, but not along the border
    let mut b = Builder::new("s");
    let (x, y) = (b.input("x", Shape::scalar()).unwrap(), b.input("y", Shape::scalar()).unwrap());
    let zero = b.constant(0);
    let condition = b.compare(Comparison::Greater, x, zero).unwrap();
    let take = |i: usize| Arc::new(trace(2, move |v| v[i] + 0.0).unwrap());
    let ids = [b.callee(take(0), None).unwrap(), b.callee(take(1), None).unwrap()];
    let out = b.push(Op::Select(ids.into()), &[condition, x, y]).unwrap();
    let p = b.finish(&out).unwrap();
    let error = localize(&p, &support::scalars(&ints(&[0, 0]))).unwrap_err();
    assert!(error.to_string().contains("do not agree along the border"), "{error}");
}

#[test]
fn a_select_whose_tie_does_not_matter() {
    let p = selection(&[(Comparison::Greater, 0)], &[|x| 2.0 * x, |x| x + x]);
    let m = model_at(&p, &[0]);
    assert_eq!((m.kinks().len(), found(&m)), (0, vec![ints(&[2])]));
}

#[test]
fn a_tied_comparison_used_as_a_number_is_refused() {
    // (x > 0) * x is relu, but the comparison itself jumps
    let p = trace(1, |x| {
        let zero = x[0].tape().constant(0.0);
        x[0].compare(Comparison::Greater, zero) * x[0]
    });
    let p = p.unwrap();
    assert!(matches!(localize(&p, &support::scalars(&ints(&[0]))), Err(LocalError::NoDerivative { .. })));
    assert_eq!(found(&model_at(&p, &[2])), [ints(&[1])]);
    let p = trace(1, |x| x[0].compare(Comparison::Greater, x[0].tape().constant(0.0))).unwrap();
    assert!(localize(&p, &support::scalars(&ints(&[0]))).is_err());
}

#[test]
fn leaky_relu_at_zero() {
    let m = model_at(&trace(1, |x| leaky_relu(x[0], 0.25)).unwrap(), &[0]);
    assert_eq!((along(&m, &[-4]), along(&m, &[4])), (r("-1"), r("4")));
    assert_eq!(found(&m), [vec![r("1/4")], ints(&[1])]);
    assert_eq!(elements(&m), [vec![r("1/4")], ints(&[1])]);
    // a negative slope on the left: a valley
    let m = model_at(&trace(1, |x| leaky_relu(x[0], -1.0)).unwrap(), &[0]);
    assert_eq!((along(&m, &[-1]), along(&m, &[1])), (r("1"), r("1")));
}

#[test]
fn elu_at_zero() {
    let m = model_at(&trace(1, |x| elu(x[0], 2.0)).unwrap(), &[0]);
    assert!(m.is_exact());
    assert_eq!((along(&m, &[-1]), along(&m, &[1])), (r("-2"), r("1")));
    assert_eq!(found(&m), [ints(&[1]), ints(&[2])]);
    let smooth = model_at(&trace(1, |x| elu(x[0], 1.0)).unwrap(), &[0]);
    assert_eq!((smooth.kinks().len(), smooth.is_exact()), (0, true));
}

#[test]
fn times_relu_at_zero() {
    let p = trace(2, |x| times_relu(x[0], x[1])).unwrap();
    let m = model_at(&p, &[-3, 0]);
    assert_eq!((along(&m, &[7, -1]), along(&m, &[7, 1])), (r("0"), r("-3")));
    assert_eq!(found(&m), [ints(&[0, -3]), ints(&[0, 0])]);
    // times zero the kink does not matter
    assert_eq!(model_at(&p, &[0, 0]).kinks().len(), 0);
    assert_eq!(found(&model_at(&p, &[5, 2])), [ints(&[2, 5])]);
}

#[test]
fn a_tie_behind_exp_that_is_exact() {
    let p = trace(1, |x| relu(exp(x[0]) - 1.0)).unwrap();
    let m = model_at(&p, &[0]);
    assert!(m.is_exact());
    assert_eq!((m.kinks().len(), found(&m)), (1, vec![ints(&[0]), ints(&[1])]));
    let p = trace(1, |x| abs(log(x[0])) + abs(exp(x[0] - 1.0) - x[0])).unwrap();
    let m = model_at(&p, &[1]);
    assert!(m.is_exact());
    assert_eq!(found(&m), [ints(&[-1]), ints(&[1])]);
}

#[test]
fn a_tie_that_cannot_be_told_is_refused() {
    let p = trace(1, |x| relu(exp(x[0]) * exp(-x[0]) - 1.0)).unwrap();
    let Err(LocalError::Undecided { site, bits, .. }) = localize(&p, &[Tensor::scalar(Rational::ONE)]) else {
        panic!()
    };
    assert!(site.shown.starts_with("relu("), "{}", site.shown);
    assert_eq!(bits, Precision::default().limit);
    // far from the tie, the numbers are enclosed but no tie is open
    let p = trace(1, |x| relu(exp(x[0]))).unwrap();
    assert_eq!(model_at(&p, &[1]).exactness(), Exactness::Enclosed { bits: 128 });
}

#[test]
fn comparisons_that_do_not_matter_need_not_be_told() {
    // e and e again tie, but 9 is larger than both
    let p = trace(1, |x| max(&[exp(x[0]), exp(x[0] + 0.0), 9.0 * x[0]])).unwrap();
    let m = model_at(&p, &[1]);
    assert_eq!(m.exactness(), Exactness::Exact);
    assert_eq!(found(&m), [ints(&[9])]);
}

#[test]
fn undecided_maxima_and_sorts_are_refused() {
    // the same number, by different operations
    type Tie = for<'t> fn(Var<'t>, Var<'t>) -> Var<'t>;
    let ties: [Tie; 5] = [
        |a, b| max(&[a, b]),
        |a, b| min(&[a, b]),
        |a, b| abs(a - b),
        |a, b| concat(&[a, b, 0.0 * a], 0).median(),
        |a, b| times_relu(a, a - b),
    ];
    for tie in ties {
        let p = trace(1, |x| tie(exp(x[0]), exp(x[0] * 0.5) * exp(x[0] * 0.5))).unwrap();
        assert!(matches!(localize(&p, &[Tensor::scalar(Rational::ONE)]), Err(LocalError::Undecided { .. })), "{p}");
        // one operation on one value is one number
        let p = trace(1, |x| tie(exp(x[0]), exp(x[0]))).unwrap();
        assert!(localize(&p, &[Tensor::scalar(Rational::ONE)]).is_ok(), "{p}");
    }
}

#[test]
fn fractions_stay_exact() {
    // 1/3 has no finite binary expansion, and 1/3 - 2/6 is a tie all the same
    let p = trace(2, |x| abs(x[0] / 3.0 - x[1] / 6.0)).unwrap();
    let m = model_at(&p, &[1, 2]);
    assert_eq!((m.kinks().len(), m.is_exact()), (1, true));
    assert_eq!((along(&m, &[1, 0]), along(&m, &[0, 1])), (r("1/3"), r("1/6")));
}

#[test]
fn enclosed_numbers_are_sorted_where_they_can_be_told_apart() {
    let p = trace(3, |x| concat(&[exp(x[0]), exp(x[1]), exp(x[2])], 0).median()).unwrap();
    let m = model_at(&p, &[3, 1, 2]);
    assert_eq!((m.kinks().len(), m.is_exact()), (0, false));
    let slopes = clarke_element(&m, 0, 1).unwrap().gradient;
    assert!(slopes[0].is_zero() && slopes[1].is_zero() && slopes[2].is_positive());
    let s = trace(3, |x| concat(&[exp(x[0]), exp(x[1]), 1.0 * x[2]], 0).sort(0).at(&[1])).unwrap();
    let slopes = clarke_element(&model_at(&s, &[2, 1, 5]), 0, 1).unwrap().gradient;
    assert_eq!(slopes, ints(&[0, 0, 1]));
}

#[test]
fn a_permutation_by_inputs_is_refused() {
    let swapped = |constant: bool| {
        let mut b = Builder::new("p");
        let (x, y) = (b.input("x", Shape::scalar()).unwrap(), b.input("y", Shape::scalar()).unwrap());
        let k = b.input("k", Shape::scalar()).unwrap();
        let (zero, one) = (b.constant(0), b.constant(1));
        let first = if constant { one } else { k };
        let out = b.push(Op::Permute { lane: Lane::Args, inverse: false }, &[x, y, first, zero]).unwrap();
        localize(&b.finish(&out).unwrap(), &support::scalars(&ints(&[5, 7, 1])))
    };
    assert!(matches!(swapped(false), Err(LocalError::NoDerivative { .. })));
    let m = swapped(true).unwrap();
    assert_eq!(directional(&m, &ints(&[1, 10, 100])).unwrap(), ints(&[10, 1]));
}

/// y + x^2 where x, or its square, is positive, and y elsewhere: to first order the branches are the same.
fn seam(squared: bool) -> LocalModel {
    let mut b = Builder::new("s");
    let (x, y) = (b.input("x", Shape::scalar()).unwrap(), b.input("y", Shape::scalar()).unwrap());
    let zero = b.constant(0);
    let border = if squared { b.push(Op::Mul, &[x, x]).unwrap()[0] } else { x };
    let condition = b.compare(Comparison::Greater, border, zero).unwrap();
    let branches = [trace(2, |v| v[1] + v[0] * v[0]).unwrap(), trace(2, |v| v[1] + 0.0 * v[0]).unwrap()];
    let ids = branches.map(|p| b.callee(Arc::new(p), None).unwrap());
    let out = b.push(Op::Select(ids.into()), &[condition, x, y]).unwrap();
    model_at(&b.finish(&out).unwrap(), &[0, 0])
}

#[test]
fn along_a_border_no_gradient_is_shown() {
    let m = seam(false);
    assert_eq!(clarke_along(&m, 0, &ints(&[1, 5])).unwrap().unwrap().gradient, ints(&[0, 1]));
    assert!(clarke_along(&m, 0, &ints(&[0, 1])).unwrap().is_none());
    assert_eq!(found(&m), [ints(&[0, 1])]);
    // x^2 > 0: every direction is along the border, to first order
    let flat = seam(true);
    assert_eq!(directional(&flat, &ints(&[1, 5])).unwrap(), ints(&[5]));
    assert_eq!(clarke_along(&flat, 0, &ints(&[1, 5])).unwrap_err(), OracleError::FlatBorder);
    assert_eq!(clarke_element(&flat, 0, 1).unwrap_err(), OracleError::FlatBorder);
}

#[test]
fn a_choice_between_constants_is_constant() {
    // the square root of 0 has a derivative only where the 0 stays
    let mut b = Builder::new("s");
    let x = b.input("x", Shape::scalar()).unwrap();
    let zero = b.constant(0);
    let condition = b.compare(Comparison::Greater, x, zero).unwrap();
    let branches = [trace(1, |v| 0.0 * v[0]).unwrap(), trace(1, |v| v[0] * 0.0).unwrap()];
    let ids = branches.map(|p| b.callee(Arc::new(p), None).unwrap());
    let chosen = b.push(Op::Select(ids.into()), &[condition, x]).unwrap();
    let root = b.push(Smooth::Sqrt, &chosen).unwrap();
    assert_eq!(found(&model_at(&b.finish(&root).unwrap(), &[0])), [ints(&[0])]);
}

#[test]
fn the_conservative_gradient_of_enclosed_coefficients() {
    let p = trace(2, |x| abs(x[0]) * exp(x[1])).unwrap();
    let c = conservative(&model_at(&p, &[0, 1]), 0).unwrap();
    let slopes: Vec<f64> = c.elements.iter().map(|e| e.gradient[0].to_f64()).collect();
    assert!(c.proved && !c.is_singleton());
    assert_eq!(slopes, [-std::f64::consts::E, std::f64::consts::E]);
}

#[test]
fn where_one_gradient_is_all_there_is() {
    let m = model_at(&trace(1, |x| x[0] * x[0] + 3.0 * x[0]).unwrap(), &[0]);
    let c = conservative(&m, 0).unwrap();
    assert!(c.is_singleton() && c.proved);
    assert_eq!(c.bounds, [(r("3"), r("3"))]);
    assert_eq!(Session::new(&m, 0).membership(&ints(&[3]), 8).unwrap(), Membership::Gradient);
    assert!(matches!(
        Session::new(&m, 0).membership(&ints(&[2]), 8).unwrap(),
        Membership::Outside { coordinate: 0, .. }
    ));
    // of a gradient that is enclosed no vector is certainly the one
    let m = model_at(&trace(1, |x| exp(x[0])).unwrap(), &[1]);
    let c = conservative(&m, 0).unwrap();
    let middle = c.elements[0].gradient.clone();
    assert!(c.is_singleton() && c.proved);
    assert_eq!(Session::new(&m, 0).membership(&middle, 8).unwrap(), Membership::NotDecided);
}

#[test]
fn a_constant_condition_picks_its_branch() {
    for (condition, slope) in [(1, 5), (0, 2)] {
        let mut b = Builder::new("s");
        let x = b.input("x", Shape::scalar()).unwrap();
        let c = b.constant(condition);
        let ids = [5.0, 2.0].map(|a| b.callee(Arc::new(trace(1, move |v| a * v[0]).unwrap()), None).unwrap());
        let out = b.push(Op::Select(ids.into()), &[c, x]).unwrap();
        assert_eq!(found(&model_at(&b.finish(&out).unwrap(), &[0])), [ints(&[slope])]);
    }
}

#[test]
fn a_branch_that_enclosures_leave_open_is_not_taken() {
    // the slope of the argument is 0, but no enclosure of it says so
    let p = trace(2, |x| relu((exp(x[1]) * exp(-x[1]) - 1.0) * x[0])).unwrap();
    let m = model_at(&p, &[0, 1]);
    assert_eq!((m.kinks().len(), m.is_exact()), (1, false));
    for d in [[1, 0], [-1, 0]] {
        assert!(matches!(clarke_along(&m, 0, &ints(&d)), Err(OracleError::Undecided { .. })), "along {d:?}");
    }
}

#[test]
fn members_that_look_alike_are_one_if_they_are_exact() {
    type Pair = for<'t> fn(Var<'t>, Var<'t>) -> [Var<'t>; 2];
    let pairs: [(Pair, usize); 2] = [(|_, y| [y + y, 2.0 * y], 1), (|x, y| [exp(x) * y, exp(x + 0.0) * y], 2)];
    // few members are compared one by one, many by what they look like
    for (others, (pair, different)) in [3, 30].into_iter().flat_map(|n| pairs.map(|p| (n, p))) {
        let p = trace(2, |x| {
            let mut members = pair(x[0], x[1]).to_vec();
            members.extend((3..3 + others).map(|k| f64::from(k) * x[1]));
            max(&members)
        });
        let m = model_at(&p.unwrap(), &[1, 0]);
        let Node::Max(members) = m.node(m.kinks()[0].node) else { panic!() };
        assert_eq!(members.len(), different + others as usize);
    }
}

#[test]
fn a_select_with_enclosed_slopes_has_its_kink() {
    let p = selection(&[(Comparison::Greater, 0)], &[|x| x * exp(x + 1.0), |x| x]);
    let m = model_at(&p, &[0]);
    assert_eq!((m.kinks().len(), m.is_exact()), (1, false));
    let slope = |d: i64| clarke_along(&m, 0, &ints(&[d])).unwrap().unwrap().gradient[0].to_f64();
    assert_eq!((slope(-1), slope(1)), (1.0, std::f64::consts::E));
}
