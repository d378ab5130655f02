//! What is picked at kinks is what the selection says, for every kind of kink; and which selections are refused.

use crate::support::{outputs, rational, selections};
use crease_core::differentiate::{How, Selection, backprop, forprop};
use crease_core::{Atom, Builder, Kink, Lane, Program, Rational, Shape, Tensor, Ties, kinks, trace};

fn numbers(text: &str) -> Vec<Rational> {
    text.split_whitespace().map(rational).collect()
}

/// A kink applied to its arguments one by one, its results weighted by 1, 10, 100, ... where there are several.
fn of_arguments(kink: &Kink, n: usize) -> Program {
    let mut b = Builder::new("args");
    let args: Vec<Atom> = (0..n).map(|i| b.input(format!("x{i}"), Shape::scalar()).expect("an input")).collect();
    let results = match kink.lane() {
        Some(_) => b.lane(kink, &args).expect("a group"),
        None => vec![b.elementwise(crease_core::Op::Kink(kink.clone()), &args).expect("arguments that fit")],
    };
    let mut total = results[0];
    for (i, &r) in results.iter().enumerate().skip(1) {
        let ten = b.constant(10i64.pow(i as u32));
        let part = b.mul(r, ten).expect("a scalar");
        total = b.add(total, part).expect("two scalars");
    }
    b.finish(&[total]).expect("a program")
}

/// The same with the group as one vector.
fn of_vector(kink: &Kink, n: usize) -> Program {
    let mut b = Builder::new("axis");
    let x = b.input("x", Shape::vector(n).expect("a shape")).expect("an input");
    let y = b.lane_axis(kink, x, 0).expect("an axis");
    let total = if b.shape(y).is_scalar() {
        y
    } else {
        let powers = b.tensor(b.shape(y), (0..n).map(|i| 10f64.powi(i as i32)).collect()).expect("a tensor");
        b.matmul(y, powers).expect("two vectors")
    };
    b.finish(&[total]).expect("a program")
}

fn check(kink: &Kink, at: &str, selection: &Selection, expected: &[Rational]) {
    let x = numbers(at);
    let how = How::default().select(selection.clone());
    let mut forms = vec![(of_arguments(kink, x.len()), x.iter().cloned().map(Tensor::scalar).collect::<Vec<_>>())];
    if kink.lane().is_some() && !matches!(kink, Kink::MaxLinear { .. }) {
        forms.push((of_vector(kink, x.len()), vec![Tensor::vector(x.clone()).expect("a vector")]));
    }
    for (p, point) in forms {
        assert_eq!(kinks(&p, &point).expect("a run").1.len(), 1, "{kink:?} is at a kink at {at}");
        for d in [backprop(&p, &how), forprop(&p, &how)] {
            let out = outputs(&d.expect("a derivative"), &point).expect("a run");
            let weights: Vec<Rational> = out[1..].iter().flat_map(|t| t.data().to_vec()).collect();
            assert_eq!(weights, expected, "{kink:?} at {at} under {selection}");
        }
    }
}

/// The weights that a rule for ties gives to those of `n` that are tied.
fn shares(ties: Ties, n: usize, tied: &[usize]) -> Vec<Rational> {
    let weight = |i: usize| match ties {
        Ties::First => Rational::from(i64::from(tied.first() == Some(&i))),
        Ties::Last => Rational::from(i64::from(tied.last() == Some(&i))),
        Ties::Average if tied.contains(&i) => Rational::new(1, tied.len() as i64).expect("not empty"),
        _ => Rational::ZERO,
    };
    (0..n).map(weight).collect()
}

#[test]
fn hinges_take_the_slope_that_the_selection_says() {
    for s in selections() {
        check(&Kink::Relu, "0", &s, std::slice::from_ref(&s.relu));
        check(&Kink::Abs, "0", &s, std::slice::from_ref(&s.abs));
        // from the slope 1/4 on the left to 1 on the right
        let leaky = &rational("1/4") + &(&rational("3/4") * &s.leaky_relu);
        check(&Kink::LeakyRelu(rational("1/4")), "0", &s, &[leaky]);
        // from the slope 3 on the left to 1 on the right
        let elu = &rational("3") - &(&rational("2") * &s.elu);
        check(&Kink::Elu(rational("3")), "0", &s, &[elu]);
        check(&Kink::TimesRelu, "7 0", &s, &[Rational::ZERO, &rational("7") * &s.times_relu]);
    }
}

#[test]
fn ties_of_max_and_min_share_as_the_selection_says() {
    for s in selections() {
        check(&Kink::Max(Lane::Args), "2 1 2 2", &s, &shares(s.max, 4, &[0, 2, 3]));
        check(&Kink::Max(Lane::Args), "5 5", &s, &shares(s.max, 2, &[0, 1]));
        check(&Kink::Min(Lane::Args), "3 -1 0 -1", &s, &shares(s.max, 4, &[1, 3]));
        check(&Kink::Min(Lane::Args), "0 0 0", &s, &shares(s.max, 3, &[0, 1, 2]));
    }
}

#[test]
fn ties_of_order_statistics_share_as_the_selection_says() {
    for s in selections() {
        // sorted: 0 1 1 2; the positions 1 and 2 are tied
        for k in [1, 2] {
            check(&Kink::OrderStatistic(Lane::Args, k), "1 2 1 0", &s, &shares(s.order, 4, &[0, 2]));
        }
    }
}

#[test]
fn sorting_keeps_or_turns_the_order_of_ties() {
    for s in selections() {
        // sorted: 0 1 1, with weights 1 10 100; the two ones stand at positions 0 and 2
        let expected = if s.order == Ties::Last { "100 1 10" } else { "10 1 100" };
        check(&Kink::Sort(Lane::Args), "1 0 1", &s, &numbers(expected));
    }
}

#[test]
fn norms_take_the_slope_of_abs_at_zero_and_share_ties() {
    for s in selections() {
        check(&Kink::Norm1(Lane::Args), "0 -3 2", &s, &[s.abs.clone(), rational("-1"), rational("1")]);
        let signed: Vec<Rational> =
            shares(s.max, 3, &[0, 2]).iter().zip(numbers("-1 1 1")).map(|(w, sign)| w * &sign).collect();
        check(&Kink::NormInf(Lane::Args), "-2 1 2", &s, &signed);
        let at_zero: Vec<Rational> = shares(s.max, 2, &[0, 1]).iter().map(|w| w * &s.abs).collect();
        check(&Kink::NormInf(Lane::Args), "0 0", &s, &at_zero);
    }
}

#[test]
fn ties_of_linear_functions_share_as_the_selection_says() {
    for s in selections() {
        // A = [[1, 2], [3, 0], [0, 0]], x = [1, 1]: the first two rows tie
        let w = shares(s.max, 3, &[0, 1]);
        let mut expected: Vec<Rational> = w.iter().flat_map(|w| [w.clone(), w.clone()]).collect();
        expected.push(&w[0] + &(&rational("3") * &w[1]));
        expected.push(&rational("2") * &w[0]);
        check(&Kink::MaxLinear { lane: Lane::Args, rows: 3 }, "1 2 3 0 0 0 1 1", &s, &expected);
    }
}

#[test]
fn one_number_twice_under_a_maximum_gets_its_whole_weight() {
    for s in selections() {
        let p = trace(1, |x| crease_core::max(&[x[0], x[0]])).expect("a program");
        let d = backprop(&p, &How::default().select(s)).expect("a derivative");
        let out = outputs(&d, &[Tensor::scalar(rational("3"))]).expect("a run");
        assert_eq!(out[1].data(), [Rational::ONE]);
    }
}

#[test]
fn selections_outside_a_conservative_gradient_are_refused() {
    let p = trace(1, |x| x[0]).expect("a program");
    for text in [
        "relu=2",
        "relu=-1/2",
        "times_relu=3/2",
        "abs=-2",
        "abs=1.5",
        "leaky_relu=-1",
        "elu=2",
        "max=every",
        "order=every",
    ] {
        let s = Selection::parse(text).expect("it reads");
        assert!(s.validate().is_err(), "{text}");
        assert!(backprop(&p, &How::default().select(s.clone())).is_err(), "{text} backward");
        assert!(forprop(&p, &How::default().select(s)).is_err(), "{text} forward");
    }
    for text in ["paper", "torch", "jax", "relu=1", "abs=-1", "max=last", "order=average", "jax, elu=1/3"] {
        assert!(Selection::parse(text).expect("it reads").validate().is_ok(), "{text}");
    }
    for text in ["pytorch", "relu", "relu=x", "max=1", "gelu=0", "paper, torch"] {
        assert!(Selection::parse(text).is_err(), "{text}");
    }
}
