//! Runs end: those that would take too long do not begin, and say how to go on.

use super::{composed, doubled};
use crease_core::run::{Unobserved, least_steps};
use crease_core::{
    Arithmetic, Builder, Limits, Op, Program, Rational, RunError, RunFault, RunOptions, Shape, Tensor, kinks, run,
    run_with, trace_shapes,
};
use std::sync::Arc;

fn at_one(p: &Program, limits: Limits) -> Result<Vec<Tensor<f64>>, RunError> {
    run_with(p, &[Tensor::scalar(1.0)], limits, &mut Unobserved)
}

fn steps(n: u64) -> Limits {
    Limits { steps: n, ..Limits::default() }
}

#[test]
fn forty_levels_of_calls_are_refused_at_once_and_twenty_run() {
    for n in [40, 60, 127, 500] {
        for p in [doubled(n), composed(n)] {
            let error = run(&p, &[Tensor::scalar(1.0)]).unwrap_err();
            assert!(matches!(error.fault, RunFault::TooLong { limit: 10_000_000_000, .. }), "{error}");
            assert!(error.to_string().contains("raise `steps`"), "{error}");
            assert!(kinks(&p, &[Tensor::scalar(Rational::ONE)]).is_err());
        }
    }
    let beyond = run(&composed(500), &[Tensor::scalar(1.0)]).unwrap_err();
    assert!(beyond.to_string().contains("at least 2^128 steps"), "{beyond}");
    assert_eq!(run(&doubled(16), &[Tensor::scalar(1.0)]).unwrap()[0].data(), [131_072.0]);
}

/// What is known beforehand is what the run takes, to the step.
#[test]
fn the_least_number_of_steps_is_the_number_of_steps_without_selections() {
    for p in [doubled(5), composed(7), doubled(0)] {
        let least = u64::try_from(least_steps(&p)).unwrap();
        assert!(at_one(&p, steps(least)).is_ok());
        let error = at_one(&p, steps(least - 1)).unwrap_err();
        assert!(
            matches!(error.fault, RunFault::TooLong { steps, limit } if steps == least.into() && limit == least - 1)
        );
        assert!(error.site.is_none(), "refused before it began: {error}");
    }
}

/// Which branch runs is known only in the run: the cheap one runs, the dear one is refused where it is chosen.
#[test]
fn a_branch_that_takes_too_long_is_refused_where_it_is_chosen_and_only_there() {
    let module = (0..40).fold("program f0(x) = x + 1\n".to_string(), |text, i| {
        format!("{text}program f{}(x) = f{i}(x) + f{i}(x)\n", i + 1)
    });
    let text =
        format!("{module}program cheap(x) = x\nprogram main(x) = select {{ x > 0 => f40(x), else => cheap(x) }}\n");
    let module = crease_formats::parse(&text).unwrap_or_else(|e| panic!("{}", e.render(&text, "text")));
    let p = module.main();
    assert_eq!(run(p, &[Tensor::scalar(-3.0)]).unwrap()[0].data(), [-3.0]);
    let error = run(p, &[Tensor::scalar(3.0)]).unwrap_err();
    assert!(matches!(error.fault, RunFault::TooLong { .. }), "{error}");
    assert!(error.site.is_some());
}

#[test]
fn steps_of_all_runs_of_a_callee_add_up() {
    // a selection in every level, each of which looks cheap
    let mut last: Option<Arc<Program>> = None;
    for i in 0..8 {
        let mut b = Builder::new(format!("f{i}"));
        let x = b.input("x", Shape::scalar()).unwrap();
        let y = match last.take() {
            None => b.mul(x, x).unwrap(),
            Some(p) => {
                let cheap = Arc::new(crease_core::trace(1, |x| x[0]).unwrap());
                let (dear, cheap) = (b.callee(p, None).unwrap(), b.callee(cheap, None).unwrap());
                let zero = b.constant(0);
                let positive = b.compare(crease_core::op::Comparison::Less, zero, x).unwrap();
                let branches: Box<[_]> = [dear, cheap].into();
                let y = b.push1(Op::Select(branches.clone()), &[positive, x]).unwrap();
                b.push1(Op::Select(branches), &[positive, y]).unwrap()
            }
        };
        last = Some(Arc::new(b.finish(&[y]).unwrap()));
    }
    let p = last.unwrap();
    assert!(least_steps(&p) < 100, "{}", least_steps(&p));
    let error = at_one(&p, steps(500)).unwrap_err();
    assert!(matches!(error.fault, RunFault::TooLong { limit: 500, .. }) && error.site.is_some(), "{error}");
    assert!(at_one(&p, steps(100_000)).is_ok());
}

#[test]
fn large_products_and_much_memory_are_refused_before_they_begin() {
    let n = 4096;
    let square = Shape::new([n, n]).unwrap();
    let p = trace_shapes(std::slice::from_ref(&square), |x| vec![x[0].matmul(x[0]).sum()]).unwrap();
    assert!(least_steps(&p) > (n as u128).pow(3));
    let x = Tensor::new(Shape::vector(2).unwrap(), vec![1.0f32, 2.0]).unwrap();
    let many = trace_shapes(&[Shape::vector(2).unwrap()], |x| {
        let wide = x[0].broadcast(&[1 << 26, 2]);
        vec![(0..8).fold(wide, |y, _| y + wide).sum()]
    })
    .unwrap();
    let error = run(&many, &[x]).unwrap_err();
    assert!(matches!(error.fault, RunFault::TooLarge { limit: 536_870_912, .. }), "{error}");
    assert!(error.to_string().contains("raise `numbers`"), "{error}");
}

#[test]
fn options_come_from_arithmetic_and_from_limits() {
    let p = doubled(3);
    for options in [RunOptions::default(), Arithmetic::Ieee.into(), steps(1000).into()] {
        assert!(run_with(&p, &[Tensor::scalar(1.0)], options, &mut Unobserved).is_ok());
    }
}
