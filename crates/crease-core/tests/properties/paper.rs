//! The figures of the paper: Table 1, Figure 1, the program of Theorem 3.

use crate::support::{outputs, rational};
use crease_core::cost::{Item, ItemKind, Prices, cost, tally};
use crease_core::differentiate::overhead;
use crease_core::differentiate::{How, Mode, Selection, backprop};
use crease_core::op::KinkKind;
use crease_core::{Rational, Smooth, Tensor, inline};
use crease_corpus::paper;
use crease_corpus::random::{Rng, tied_point};

#[test]
fn table_1_holds_exactly() {
    // (cost(gd) + 2 |pr|) / cost(g), with c as a constant among the arguments
    let table = [
        (ItemKind::Add, 2, 2, 5),
        (ItemKind::Mul, 2, 2, 5),
        (ItemKind::Add, 2, 1, 3),
        (ItemKind::Mul, 2, 1, 3),
        (ItemKind::Smooth(Smooth::Log), 1, 1, 4),
        (ItemKind::Smooth(Smooth::Exp), 1, 1, 3),
        (ItemKind::Smooth(Smooth::Inv), 1, 1, 5),
        (ItemKind::Kink(KinkKind::Relu), 1, 1, 3),
    ];
    let unit = Prices::unit();
    for (kind, size, values, expected) in table {
        let g = Item::new(kind, size, values);
        let joint = g.joint_price(Mode::Backward, &Selection::paper()).at(&unit);
        let above = &joint + &Rational::from(2 * i64::from(g.predecessors()));
        assert_eq!(above.checked_div(&g.price().at(&unit)), Some(Rational::from(expected)), "{g}");
    }
}

/// The same for all smooth functions, as computed from their slopes. The five above 5 are the ones that the documentation of [`Smooth`] names.
#[test]
fn constants_of_smooth_functions() {
    let table = "inv 5, exp 3, log 4, sqrt 4, sin 4, cos 5, tanh 5, sigmoid 5, softplus 4, tan 5, asin 8, acos 9, atan 6, sinh 4, cosh 4, \
                 asinh 5, acosh 5, atanh 7, erf 4, erfc 5, erf_slope 6, log1p 5, expm1 4, ^ 5, ^ 5";
    let unit = Prices::unit();
    let powers = [Smooth::Power(3), Smooth::Root(1, 3)];
    let found = Smooth::NAMED.iter().chain(&powers).map(|&f| {
        let g = Item::new(f.into(), 1, 1);
        let joint = g.joint_price(Mode::Backward, &Selection::paper()).at(&unit);
        format!("{} {}", f.name(), &joint + &Rational::from(2))
    });
    assert_eq!(found.collect::<Vec<_>>().join(", "), table);
}

#[test]
fn figure_1_has_these_costs_and_levels() {
    let figure = paper::figure_1();
    let costs: Vec<String> = figure.iter().map(|p| cost(p).at(&Prices::unit()).to_string()).collect();
    let levels: Vec<usize> = figure.iter().map(|p| p.level()).collect();
    assert_eq!(costs, ["1", "2", "3", "6"]);
    assert_eq!(levels, [0, 1, 1, 2]);
    // P1 ~ Q1, and P2 is (a + b)(c + d)
    let x: Vec<Tensor<Rational>> = [2, 3, 5, 7].map(|n| Tensor::scalar(Rational::from(n))).to_vec();
    assert_eq!(outputs(&figure[1], &x[..3]), outputs(&figure[2], &x[..3]));
    assert_eq!(outputs(&figure[3], &x).expect("a run")[0].data(), [Rational::from(5 * 12)]);
}

#[test]
fn the_program_of_theorem_3_costs_6_p_squared_plus_2_p() {
    for p in [1usize, 2, 4, 8, 16] {
        let program = paper::theorem_3(p);
        assert_eq!(cost(&program).at(&Prices::unit()), Rational::from((6 * p * p + 2 * p) as i64), "p = {p}");
        let names = tally(&program).by_name();
        let known = ["+", "*", "+c", "*c", "relu", "neg"];
        assert!(names.keys().all(|n| known.contains(&&**n)), "{names:?}");
        assert_eq!(names["relu"], 2 * p as i128);
    }
}

#[test]
fn the_program_of_theorem_3_computes_its_function() {
    let mut rng = Rng::new(3);
    for p in [1usize, 2, 4, 8] {
        let program = paper::theorem_3(p);
        let x = tied_point(&mut rng, &program);
        let (v, b, m) = (x[0].data(), x[1].data(), x[2].data());
        let entry = |f: &dyn Fn(usize) -> Rational| (0..p).map(f).sum::<Rational>();
        let mx: Vec<Rational> = (0..p).map(|i| entry(&|j| &m[i * p + j] * &v[j])).collect();
        let bmx: Vec<Rational> = (0..p).map(|i| entry(&|j| &b[j * p + i] * &mx[j])).collect();
        let sign = |i: usize, j: usize| if (i & j).count_ones().is_multiple_of(2) { 1 } else { -1 };
        let total = entry(&|i| entry(&|j| &Rational::from(sign(i, j)) * &bmx[j]).abs());
        let expected = total.checked_div(&Rational::from(p as i64)).expect("p is not 0");
        assert_eq!(outputs(&program, &x).expect("a run")[0].data(), [expected], "p = {p}");
    }
}

#[test]
fn relu_of_x_minus_relu_of_minus_x_costs_4_and_14_by_the_model() {
    let p = crease_core::trace(1, |x| crease_core::relu(x[0]) - crease_core::relu(-x[0])).expect("a program");
    let unit = Prices::unit();
    assert_eq!(cost(&p).at(&unit), rational("4"));
    let d = backprop(&p, &How::default()).expect("a gradient");
    let b = overhead(&p, &How::default(), Mode::Backward, &unit).expect("a bound");
    assert!(cost(&d).at(&unit) <= b.model.at(&unit));
    assert_eq!((b.model.at(&unit), b.omega), (rational("14"), Some(rational("5"))));
    assert_eq!(inline(&p).expect("no calls").level(), p.level());
}
