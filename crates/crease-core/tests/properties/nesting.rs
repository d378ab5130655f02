//! Programs of programs of programs: nothing recurses over them, and nothing expands what need not be expanded.

use crate::support::rational;
use crease_core::cost::{Price, Prices, cost};
use crease_core::differentiate::overhead;
use crease_core::differentiate::{How, Mode, Technique, backprop, forprop};
use crease_core::{InlineError, Op, Program, Rational, Shape, Tape, Tensor, inline, relu, run, trace};
use std::sync::Arc;

const DEEP: usize = 100_000;

/// f_0(x) = relu(x), f_n(x) = f_{n-1}(x) + x.
fn chain(n: usize) -> Arc<Program> {
    let mut f = Arc::new(trace(1, |x| relu(x[0])).expect("a program"));
    for i in 0..n {
        let tape = Tape::new(&format!("f{i}"));
        let x = tape.input("x", Shape::scalar());
        let y = tape.call(&f, &[x])[0] + x;
        f = Arc::new(tape.finish(&[y]).expect("a program"));
    }
    f
}

/// g_0(x) = relu(x), g_n(x) = g_{n-1}(x) + g_{n-1}(x): 2^n calls of relu.
fn tree(n: usize) -> Arc<Program> {
    let mut g = Arc::new(trace(1, |x| relu(x[0])).expect("a program"));
    for i in 0..n {
        let tape = Tape::new(&format!("g{i}"));
        let x = tape.input("x", Shape::scalar());
        let y = tape.call(&g, &[x])[0] + tape.call(&g, &[x])[0];
        g = Arc::new(tape.finish(&[y]).expect("a program"));
    }
    g
}

fn at(x: i64) -> [Tensor<Rational>; 1] {
    [Tensor::scalar(Rational::from(x))]
}

fn numbers(p: &Program, x: i64) -> Vec<Rational> {
    run(p, &at(x)).expect("a run").iter().map(|t| t.data()[0].clone()).collect()
}

#[test]
fn a_hundred_thousand_programs_that_call_each_other_are_counted_run_and_inlined() {
    let f = chain(DEEP);
    let n = DEEP as i64;
    assert_eq!(cost(&f), Price::new(n.into(), 0, 1));
    assert_eq!(f.level(), DEEP);
    assert_eq!(numbers(&f, 3), [Rational::from(3 * (n + 1))]);
    assert!(f.verify().is_empty());
    let inlined = inline(&f).expect("small enough");
    assert_eq!((inlined.len(), inlined.level()), (DEEP + 1, 1));
    assert_eq!(cost(&inlined), cost(&f));
    assert!(*f == (*f).clone());
}

#[test]
fn a_hundred_thousand_programs_that_call_each_other_are_differentiated() {
    let f = chain(DEEP);
    let n = DEEP as i64;
    for technique in [Technique::Through, Technique::Backward] {
        let d = backprop(&f, &How::default().technique(technique)).expect("a gradient");
        assert_eq!(numbers(&d, 3), [3 * (n + 1), n + 1].map(Rational::from), "{technique:?}");
        assert_eq!(numbers(&d, -3), [-3 * n, n].map(Rational::from), "{technique:?}");
    }
    let d = forprop(&f, &How::default()).expect("a gradient");
    assert_eq!(numbers(&d, 3), [3 * (n + 1), n + 1].map(Rational::from));
}

#[test]
fn a_hundred_thousand_operations_in_a_row_are_differentiated() {
    let p = trace(1, |x| (0..DEEP).fold(x[0], |y, _| relu(y + 1.0))).expect("a program");
    assert_eq!(p.len(), 2 * DEEP);
    let d = backprop(&p, &How::default()).expect("a gradient");
    assert_eq!(numbers(&d, 0), [DEEP as i64, 1].map(Rational::from));
    assert_eq!(cost(&p).at(&Prices::unit()), Rational::from(2 * DEEP as i64));
}

#[test]
fn a_tree_of_two_to_the_forty_calls_is_counted_exactly() {
    // 2^40 times relu and 2^40 - 1 additions
    assert_eq!(cost(&tree(40)), Price::new((1 << 40) - 1, 0, 1 << 40));
    // beyond 64 bits
    assert_eq!(cost(&tree(100)), Price::new((1 << 100) - 1, 0, 1 << 100));
}

#[test]
fn a_tree_of_two_to_the_forty_calls_is_too_large_to_inline_and_says_so() {
    assert!(matches!(inline(&tree(40)), Err(InlineError::TooLarge { .. })));
    assert!(matches!(inline(&tree(100)), Err(InlineError::TooLarge { .. })));
    assert!(backprop(&tree(40), &How::default().technique(Technique::Through)).is_err());
}

#[test]
fn a_tree_of_two_to_the_forty_calls_is_differentiated_from_inside_within_the_bound() {
    for n in [3, 40] {
        let g = tree(n);
        let how = How::default().technique(Technique::Backward);
        let d = backprop(&g, &how).expect("a gradient");
        for (nonlin, relu) in [("1", "1"), ("2", "1/2"), ("10", "5")] {
            let prices = Prices { nonlin: rational(nonlin), relu: rational(relu) };
            let b = overhead(&g, &how, Mode::Backward, &prices).expect("a bound");
            let (counted, model) = (cost(&d).at(&prices), b.model.at(&prices));
            assert!(counted <= model, "{counted} counted, {model} by the model");
            let omega = b.omega.expect("nothing is free");
            assert!(model <= &omega * &cost(&g).at(&prices), "{model} by the model, omega {omega}");
        }
    }
    let d = backprop(&tree(10), &How::default().technique(Technique::Backward)).expect("a gradient");
    assert_eq!(numbers(&d, 1), [1024, 1024].map(Rational::from));
}

#[test]
fn long_chains_are_printed() {
    let f = chain(10_000);
    let text = f.to_string();
    assert_eq!(text.matches("program ").count(), 10_001);
}

#[test]

fn selections_nest_a_thousand_deep() {
    // h_n(x) = if x > n then (h_{n-1}(x), x) else (x, 2 x): two outputs, so that branches are differentiated as programs
    let two = |y: fn(crease_core::Var<'_>) -> crease_core::Var<'_>| {
        Arc::new(crease_core::trace_shapes(&[Shape::scalar()], |x| vec![x[0], y(x[0])]).expect("a program"))
    };
    let low = two(|x| x + x);
    let mut h = two(|x| x);
    for n in 0..1000 {
        let mut b = crease_core::Builder::new(format!("h{n}"));
        let x = b.input("x", Shape::scalar()).expect("an input");
        let c = b.constant(n);
        let above = b.compare(crease_core::op::Comparison::Greater, x, c).expect("two scalars");
        let ids = [h, low.clone()].map(|q| b.callee(q, None).expect("a callee"));
        let y = b.push(Op::Select(ids.into()), &[above, x]).expect("one condition, one argument");
        h = Arc::new(b.finish(&y).expect("a program"));
    }
    let d = crease_core::differentiate::jvp(&h, &How::default()).expect("a tangent");
    let out = run(&d, &[Tensor::scalar(5.0), Tensor::scalar(1.0)]).expect("a run");
    assert_eq!(out.iter().map(|t| t.data()[0]).collect::<Vec<_>>(), [5.0, 10.0, 1.0, 2.0]);
}
