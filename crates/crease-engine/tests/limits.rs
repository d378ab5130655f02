//! What expands without bound is refused before it is expanded.

use crease_core::{Builder, Op, Program, Shape, trace};
use crease_engine::{EngineError, Options, compile, directional, jvp, value_and_grad};
use std::sync::Arc;

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
