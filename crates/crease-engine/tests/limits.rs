//! What expands without bound is refused before it is expanded.

use crease_core::limits::Stop;
use crease_core::{Builder, Cancel, Limits, Op, Program, RunFault, Shape, trace, trace_shapes};
use crease_engine::{Backend, Compiled, EngineError, Form, Options, compile, directional, jvp, value_and_grad};
use std::sync::Arc;
use std::time::Duration;

/// f_i(x) = f_(i-1)(x) + f_(i-1)(x): as long as there are 2^n equations, but equal ones are shared to n of them.
fn doubled(n: usize) -> Program {
    let mut last = trace(1, |x| x[0] * x[0]).unwrap();
    for i in 0..n {
        let mut b = Builder::new(format!("f{i}"));
        let x = b.input("x", Shape::scalar()).unwrap();
        let id = b.callee(Arc::new(last), None).unwrap();
        let (y, z) = (b.push1(Op::Call(id), &[x]).unwrap(), b.push1(Op::Call(id), &[x]).unwrap());
        let y = b.push1(Op::Add, &[y, z]).unwrap();
        last = b.finish(&[y]).unwrap();
    }
    last
}

#[test]
fn exponential_programs_are_refused_and_smaller_ones_are_not() {
    let options = Options::default();
    for n in [40, 64, 200] {
        let p = doubled(n);
        let error = compile::<f64>(&p, &options).map(|_| ()).unwrap_err();
        assert!(matches!(error, EngineError::TooLarge { .. }), "{error}");
        assert!(value_and_grad::<f64>(&p, &[], &options).is_err());
        assert!(jvp::<f64>(&p, &options).is_err());
        assert!(directional::<f64>(&p, &[0], 1, &options).is_err());
    }
    let c = compile::<f64>(&doubled(10), &options).unwrap();
    let mut y = [0.0];
    c.run(&mut c.workspace(), &[&[3.0]], &mut [&mut y]).unwrap();
    assert_eq!(y, [9.0 * 1024.0]);
}

fn numbers(numbers: u64) -> Options {
    Options::default().limits(Limits { numbers, ..Limits::default() })
}

/// The sum of x_i^2 over a vector of n numbers, as a program of tensors.
fn squares(n: usize) -> Program {
    trace_shapes(&[Shape::vector(n).unwrap()], |x| vec![(x[0] * x[0]).sum()]).unwrap()
}

#[test]
fn the_limit_on_equations_is_the_callers() {
    // 2^10 calls, of which 12 equations are left
    let p = doubled(10);
    let error = compile::<f64>(&p, &Options::default().equations(100)).map(|_| ()).unwrap_err();
    assert_eq!(error, EngineError::TooLarge { name: "f9".into(), limit: 100 });
    assert!(error.to_string().contains("raise `Options::equations`"), "{error}");
    let long = trace(1, |x| (0..50).fold(x[0], |y, _| y * y)).unwrap();
    assert!(compile::<f64>(&long, &Options::default().equations(49)).is_err());
    assert!(compile::<f64>(&long, &Options::default().equations(50)).is_ok());
}

#[test]
fn tables_workspaces_and_constants_are_bounded() {
    let said = |r: Result<Compiled<f64>, EngineError>| r.map(|_| ()).unwrap_err().to_string();
    let long = trace(1, |x| (0..50).fold(x[0], |y, _| y * y)).unwrap();
    let e = said(compile(&long, &numbers(60)));
    assert!(
        e.starts_with("the tables of the expanded program would hold 62 numbers, more than the limit of 60"),
        "{e}"
    );
    assert!(e.ends_with("raise `numbers` of `Options::limits`"), "{e}");
    let e = said(compile(&squares(1000), &numbers(999)));
    assert!(e.starts_with("a tensor of the program would hold 1000 numbers"), "{e}");
    let tensors = |n: u64| numbers(n).form(Form::Tensors);
    // two tensors that are alive at once
    let p = trace_shapes(&[Shape::vector(1000).unwrap()], |x| {
        let (y, z) = (x[0] * x[0], x[0] + x[0]);
        let (s, t) = (y.sum(), z.sum());
        vec![y * t + z * s]
    });
    let e = said(compile(&p.unwrap(), &tensors(1500)));
    assert!(e.starts_with("a workspace would hold "), "{e}");
    // the default is as before
    assert!(compile::<f64>(&squares(1000), &Options::default()).is_ok());
}

#[test]
fn points_are_run_one_by_one_where_several_would_hold_too_much() {
    let p = trace(1, |x| (0..100).fold(x[0], |y, i| if i % 2 == 0 { y * 0.5 } else { y + x[0] })).unwrap();
    let x: Vec<f64> = (0..20).map(f64::from).collect();
    let mut seen = Vec::new();
    for options in [Options::default(), numbers(300)] {
        let c = compile::<f64>(&p, &options.backend(Backend::Bytecode)).unwrap();
        let (mut y, mut w) = (vec![0.0; 20], c.workspace());
        c.run_batch(&mut w, 20, &[&x], &mut [&mut y]).unwrap();
        seen.push((y, w.bytes() < 300 * 8, c.explain().to_string().contains("more than the limit of 300")));
    }
    assert_eq!(seen[0].0, seen[1].0);
    assert_eq!((seen[0].1, seen[0].2), (false, false));
    assert_eq!((seen[1].1, seen[1].2), (true, true));
}

#[test]
fn several_workspaces_together_are_bounded() {
    let c = compile::<f64>(&squares(64), &numbers(2000).form(Form::Scalars).backend(Backend::Bytecode)).unwrap();
    let mut all: Vec<_> = (0..8).map(|_| c.workspace()).collect();
    let (x, mut y) = (vec![1.0; 64 * 32], vec![0.0; 32]);
    let mut tried = |n: usize| c.run_parallel(&mut all[..n], 32, &[&x], &mut [&mut y]);
    tried(1).unwrap();
    let e = tried(8).unwrap_err().to_string();
    assert!(e.starts_with("the workspaces would hold "), "{e}");
    assert!(e.ends_with("use fewer workspaces, or raise `numbers` of `Options::limits`"), "{e}");
}

#[test]
fn sums_are_the_same_in_whatever_memory() {
    let n = 50;
    let p = trace_shapes(&[Shape::vector(n).unwrap(), Shape::scalar()], |x| {
        let y = x[0] * x[1].broadcast(&[n]);
        vec![(y * y).sum()]
    })
    .unwrap();
    let x: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
    let points = 1000;
    let t: Vec<f64> = (0..points).map(|i| (i as f64 * 0.37).cos() / 3.0).collect();
    let sums = |c: &Compiled<f64>, threads: usize| {
        let mut w: Vec<_> = (0..threads).map(|_| c.workspace()).collect();
        let (mut y, mut g) = ([0.0], vec![0.0; n]);
        c.run_sum(&mut w, points, &[&x, &t], &mut [&mut y, &mut g]).map(|()| (y, g))
    };
    let plain = value_and_grad::<f64>(&p, &[0], &Options::default().form(Form::Tensors)).unwrap();
    let all = sums(&plain, 1).unwrap();
    let mut fitted = 0;
    for limit in [150, 1000, 1300, 2000, 3000, 5000, 100_000] {
        let Ok(c) = value_and_grad::<f64>(&p, &[0], &numbers(limit).form(Form::Tensors)) else { continue };
        for threads in [1, 2, 5] {
            match sums(&c, threads) {
                Ok(some) => {
                    assert_eq!(some, all, "{limit} {threads}");
                    fitted += 1;
                }
                Err(e) => assert!(matches!(e, EngineError::TooManyNumbers { .. }), "{e}"),
            }
        }
    }
    assert!((6..21).contains(&fitted), "{fitted}");
}

fn stop(done: Result<(), EngineError>) -> Stop {
    match done.unwrap_err() {
        EngineError::Run(e) => match e.fault {
            RunFault::Stopped(stop) => stop,
            other => panic!("{other}"),
        },
        other => panic!("{other}"),
    }
}

/// What would take days ends when it is told to, or when time is up: in the turns of a loop, in the steps of a tensor program, and between points.
#[test]
fn a_run_is_stopped_where_it_is() {
    let wait = Duration::from_millis(20);
    let long = "program f(x[40]) { let y = repeat(400000000, y = x) { return sin(y) * 1.5 + x } return sum(y) }";
    let nested = "program inner(x[40]) { let y = repeat(100000000, y = x) { return sin(y) * 1.5 + x } return y }
        program f(x[40]) { let y = repeat(100000000, y = x) { return inner(y) } return sum(y) }";
    for text in [long, nested] {
        let p = crease_formats::parse(text).unwrap().main().clone();
        for threads in [1, 2] {
            let limits = Limits { numbers: u64::MAX, ..Limits::default() };
            let options = Options::default().threads(threads);
            let c = compile::<f64>(&p, &options.clone().limits(limits.clone().within(wait))).unwrap();
            let run = |c: &Compiled<f64>| c.run(&mut c.workspace(), &[&[0.5; 40]], &mut [&mut [0.0]]);
            assert_eq!(stop(run(&c)), Stop::Time);
            let cancel = Cancel::new();
            let c = compile::<f64>(&p, &options.limits(limits.cancelled_by(&cancel))).unwrap();
            let later = std::thread::spawn({
                let cancel = cancel.clone();
                move || {
                    std::thread::sleep(wait);
                    cancel.stop();
                }
            });
            assert_eq!(stop(run(&c)), Stop::Cancelled);
            assert!(cancel.is_noticed());
            later.join().unwrap();
        }
    }
}

#[test]
fn points_and_sums_of_points_are_stopped() {
    for form in [Form::Scalars, Form::Tensors] {
        let cancel = Cancel::new();
        let options = Options::default().form(form).limits(Limits::default().cancelled_by(&cancel));
        let c = compile::<f64>(&squares(10), &options).unwrap();
        let (x, mut y) = (vec![1.0; 1000], vec![0.0; 100]);
        let mut two = [c.workspace(), c.workspace()];
        let mut all = |c: &Compiled<f64>, y: &mut [f64]| {
            [
                c.run(&mut two[0], &[&x[..10]], &mut [&mut y[..1]]),
                c.run_batch(&mut two[0], 100, &[&x], &mut [&mut *y]),
                c.run_parallel(&mut two, 100, &[&x], &mut [&mut *y]),
                c.run_sum(&mut two, 100, &[&x], &mut [&mut y[..1]]),
            ]
        };
        assert!(all(&c, &mut y).into_iter().all(|done| done.is_ok()));
        assert_eq!((y[0], y[99]), (1000.0, 10.0));
        cancel.stop();
        assert!(all(&c, &mut y).into_iter().all(|done| stop(done) == Stop::Cancelled));
    }
}

#[test]
fn time_is_looked_at_while_a_program_is_expanded() {
    let limits = Limits::default().within(Duration::ZERO);
    // a call of 40 million equations
    let mut b = Builder::new("long");
    let x = b.input("x", Shape::scalar()).unwrap();
    let y = (0..40).fold(x, |y, _| b.push1(Op::Mul, &[y, x]).unwrap());
    let mut last = b.finish(&[y]).unwrap();
    for _ in 0..4 {
        let mut b = Builder::new("again");
        let x = b.input("x", Shape::scalar()).unwrap();
        let id = b.callee(Arc::new(last), None).unwrap();
        let y = (0..32).fold(x, |y, _| b.push1(Op::Call(id), &[y]).unwrap());
        last = b.finish(&[y]).unwrap();
    }
    let done = compile::<f64>(&last, &Options::default().limits(limits)).map(|_| ());
    assert_eq!(stop(done), Stop::Time);
}
