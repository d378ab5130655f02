//! Expansions know beforehand how large they get, and refuse what is too large.

use super::{composed, doubled, levels};
use crease_core::dictionary::{Dictionary, LowerError, lower};
use crease_core::differentiate::{DiffError, How, Mode, Technique, backprop, counted, gradient, jvp, vjp};
use crease_core::{
    BuildError, Builder, InlineError, Op, Shape, inline, inline_within, scalarize, simplify, trace_shapes,
};
use std::sync::Arc;

#[test]
fn what_expands_calls_refuses_exponential_programs_and_says_what_to_do() {
    for p in [doubled(40), composed(40), composed(300)] {
        let error = inline(&p).unwrap_err();
        assert!(matches!(error, InlineError::TooLarge { .. }));
        for what in ["technique `backward`", "raise `equations`"] {
            assert!(error.to_string().contains(what), "{error}");
        }
        let how = How::default();
        for result in [backprop(&p, &how), gradient(&p, &how), jvp(&p, &how), vjp(&p, &how)] {
            assert!(matches!(result, Err(DiffError::Inline(InlineError::TooLarge { .. }))));
        }
        assert!(counted(&p, &how, Mode::Forward).is_err());
        // from inside, they are as small as they look
        let inside = How::default().technique(Technique::Backward);
        assert!(backprop(&p, &inside).unwrap().len() < 10);
        // and what expands nothing is not concerned
        assert!(simplify(&p).is_ok() && scalarize(&p).is_ok());
    }
}

/// A program without equations called 2^40 times: nothing comes out, but it would take as long.
#[test]
fn calls_that_leave_no_equation_are_counted_too() {
    let nothing = Arc::new(crease_core::trace(1, |x| x[0]).unwrap());
    let mut last = nothing;
    for i in 0..40 {
        let mut b = Builder::new(format!("g{i}"));
        let x = b.input("x", Shape::scalar()).unwrap();
        let id = b.callee(last, None).unwrap();
        let y = b.push1(Op::Call(id), &[x]).unwrap();
        let y = b.push1(Op::Call(id), &[y]).unwrap();
        last = Arc::new(b.finish(&[y]).unwrap());
    }
    assert!(matches!(inline(&last), Err(InlineError::TooLarge { .. })));
    assert!(crease_core::run(&last, &[crease_core::Tensor::scalar(1.0)]).is_err());
}

#[test]
fn the_limit_is_a_value_and_exact() {
    let p = doubled(5);
    let n = match inline_within(&p, 0).unwrap_err() {
        InlineError::TooLarge { size, limit: 0, .. } => u64::try_from(size).unwrap(),
        other => panic!("{other}"),
    };
    assert!(inline_within(&p, n).is_ok() && inline_within(&p, n - 1).is_err());
    assert!(backprop(&p, &How::default().max_equations(n)).is_ok());
    assert!(backprop(&p, &How::default().max_equations(n - 1)).is_err());
}

/// The branches of selections are expanded each on its own; together they keep within the limit.
#[test]
fn branches_are_part_of_the_limit() {
    let p = levels(0, |_, _, x| x);
    let mut b = Builder::new("main");
    let x = b.input("x", Shape::scalar()).unwrap();
    let one = b.constant(1);
    let small = b.compare(crease_core::op::Comparison::Less, x, one).unwrap();
    let left = b.callee(Arc::new(doubled(10)), None).unwrap();
    let right = b.callee(Arc::new(p), None).unwrap();
    let y = b.push1(Op::Select([left, right].into()), &[small, x]).unwrap();
    let p = b.finish(&[y]).unwrap();
    assert!(inline_within(&p, 1000).is_err() && inline_within(&p, 10_000).is_ok());
}

#[test]
fn taking_tensors_apart_is_refused_where_there_are_too_many_numbers() {
    let n = 1 << 13;
    let square = Shape::new([n, n]).unwrap();
    let product = trace_shapes(&[square.clone(), square.clone()], |x| vec![x[0].matmul(x[1]).sum()]).unwrap();
    let wide = trace_shapes(&[Shape::scalar()], |x| vec![x[0].broadcast(&[1 << 27]).sum()]).unwrap();
    for p in [product, wide] {
        let error = scalarize(&p).unwrap_err();
        assert!(matches!(error, InlineError::Build(BuildError::TooLarge { .. })), "{error}");
        assert!(error.to_string().contains("keep tensors whole"), "{error}");
    }
}

#[test]
fn sorting_by_exchanges_is_refused_where_there_are_too_many() {
    let p = trace_shapes(&[Shape::vector(100_000).unwrap()], |x| vec![x[0].median()]).unwrap();
    assert!(matches!(lower(&p, Dictionary::D0), Err(LowerError::Build(BuildError::TooLarge { .. }))));
    let p = trace_shapes(&[Shape::vector(20).unwrap()], |x| vec![x[0].median()]).unwrap();
    assert!(lower(&p, Dictionary::D0).is_ok());
}
