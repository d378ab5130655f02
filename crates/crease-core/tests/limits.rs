//! Limits: counts of any size, runs and expansions that know beforehand what they take, and forward mode counted without
//! its columns.

#[path = "limits/cases.rs"]
mod cases;
#[path = "limits/columns.rs"]
mod columns;
#[path = "limits/counts.rs"]
mod counts;
#[path = "limits/expansion.rs"]
mod expansion;
#[path = "limits/models.rs"]
mod models;
#[path = "limits/runs.rs"]
mod runs;
#[path = "limits/work.rs"]
mod work;

use crease_core::{Builder, Op, Program, Shape};
use std::sync::Arc;

/// f_0(x) = relu(x) + 1, and f_i from f_(i-1), which `next` applies to an input as often as it likes.
fn levels(
    n: usize,
    next: impl Fn(&mut Builder, crease_core::op::CalleeId, crease_core::Atom) -> crease_core::Atom,
) -> Program {
    let scalar = Shape::scalar;
    let mut b = Builder::new("f0");
    let x = b.input("x", scalar()).unwrap();
    let y = b.relu(x).unwrap();
    let one = b.constant(1);
    let y = b.push1(Op::Add, &[y, one]).unwrap();
    let mut last = b.finish(&[y]).unwrap();
    for i in 1..=n {
        let mut b = Builder::new(format!("f{i}"));
        let x = b.input("x", scalar()).unwrap();
        let id = b.callee(Arc::new(last), None).unwrap();
        let y = next(&mut b, id, x);
        last = b.finish(&[y]).unwrap();
    }
    last
}

/// f_i(x) = f_(i-1)(f_(i-1)(x)).
fn composed(n: usize) -> Program {
    levels(n, |b, id, x| {
        let y = b.push1(Op::Call(id), &[x]).unwrap();
        b.push1(Op::Call(id), &[y]).unwrap()
    })
}

/// f_i(x) = f_(i-1)(x) + f_(i-1)(x).
fn doubled(n: usize) -> Program {
    levels(n, |b, id, x| {
        let (y, z) = (b.push1(Op::Call(id), &[x]).unwrap(), b.push1(Op::Call(id), &[x]).unwrap());
        b.push1(Op::Add, &[y, z]).unwrap()
    })
}
