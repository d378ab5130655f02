//! Programs that are called with other arguments constant each time: counted if there is room, refused if not, never guessed.

use crease_core::cost::{Prices, cost_within, tally, tally_within};
use crease_core::differentiate::{DiffError, How, Mode, Technique, backprop, counted, overhead};
use crease_core::limits::Stop;
use crease_core::{Atom, Builder, Cancel, CasesError, Limits, Op, Program, Shape, inline};
use std::sync::Arc;
use std::time::Duration;

/// p_0 is a sum of squares, and p_k(x) = p_(k-1)(x with a 1 in its place number k) + p_(k-1)(x): all 2^m sets of constants.
fn patterns(m: usize) -> Program {
    let declare =
        |b: &mut Builder| -> Vec<Atom> { (0..m).map(|i| b.input(format!("x{i}"), Shape::scalar()).unwrap()).collect() };
    let mut b = Builder::new("p0");
    let x = declare(&mut b);
    let squares: Vec<Atom> = x.iter().map(|&x| b.push1(Op::Mul, &[x, x]).unwrap()).collect();
    let sum = squares.into_iter().reduce(|a, x| b.push1(Op::Add, &[a, x]).unwrap()).unwrap();
    let mut last = b.finish(&[sum]).unwrap();
    for k in 0..m {
        let mut b = Builder::new(format!("p{}", k + 1));
        let x = declare(&mut b);
        let id = b.callee(Arc::new(last), None).unwrap();
        let mut fixed = x.clone();
        fixed[k] = b.constant(1);
        let left = b.push1(Op::Call(id), &fixed).unwrap();
        let right = b.push1(Op::Call(id), &x).unwrap();
        let sum = b.push1(Op::Add, &[left, right]).unwrap();
        last = b.finish(&[sum]).unwrap();
    }
    last
}

fn is_refused<T: std::fmt::Debug>(done: Result<T, DiffError>) {
    let error = done.unwrap_err();
    assert!(matches!(error, DiffError::Cases(CasesError::TooMany { .. }) | DiffError::Inline(_)), "{error}");
}

#[test]
fn all_cases_are_counted_where_there_is_room() {
    for m in 1..=9 {
        let p = patterns(m);
        let expanded = tally(&inline(&p).unwrap());
        assert_eq!(tally_within(&p, &Limits::default()), Ok(expanded.clone()));
        assert_eq!(tally(&p), expanded);
    }
}

#[test]
fn the_limit_is_met_exactly() {
    let p = patterns(6);
    // the least limit under which it is counted
    let fits = |equations| tally_within(&p, &Limits { equations, ..Limits::default() }).is_ok();
    let (mut low, mut high) = (0, 1 << 20);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if fits(middle) { high = middle } else { low = middle }
    }
    // of each program there are 2^(m - k) cases, and all but the first are paid for, with their inputs
    let each = |k: u64| if k == 0 { 11 + 6 } else { 3 + 6 };
    let paid: u64 = (0..6).map(|k| ((1 << (6 - k)) - 1) * each(k)).sum();
    assert_eq!(high, paid);
    let tight = Limits { equations: paid - 1, ..Limits::default() };
    let error = tally_within(&p, &tight).unwrap_err();
    assert_eq!(error, CasesError::TooMany { name: "p6".into(), limit: paid - 1 });
    let text = error.to_string();
    assert!(text.contains("`p6`") && text.ends_with("raise `equations`"), "{text}");
}

#[test]
fn what_is_too_much_is_refused() {
    for m in [24, 40, 64] {
        let p = patterns(m);
        let limits = Limits { equations: 50_000, ..Limits::default() };
        let error = cost_within(&p, &limits).unwrap_err();
        assert!(matches!(error, CasesError::TooMany { .. }), "{error}");
        for technique in [Technique::Auto, Technique::Backward, Technique::Forward] {
            let how = How::default().technique(technique).within(&limits);
            for mode in [Mode::Backward, Mode::Forward] {
                is_refused(counted(&p, &how, mode));
                is_refused(overhead(&p, &how, mode, &Prices::unit()));
            }
            is_refused(backprop(&p, &how));
        }
    }
}

#[test]
fn the_limits_that_hold_unless_told_end_it_soon() {
    assert!(matches!(
        cost_within(&patterns(100), &Limits::default()),
        Err(CasesError::TooMany { limit: 8_388_608, .. })
    ));
}

#[test]
fn a_flat_program_is_counted_whatever_the_limit() {
    let p = inline(&patterns(6)).unwrap();
    let none = Limits { equations: 0, ..Limits::default() };
    assert_eq!(tally_within(&p, &none), Ok(tally(&p)));
}

#[test]
fn counting_is_stopped() {
    let p = patterns(30);
    let cancel = Cancel::new();
    cancel.stop();
    let unlimited = Limits { equations: u64::MAX, ..Limits::default() };
    let stopped = |limits: Limits| match tally_within(&p, &limits) {
        Err(CasesError::Stopped { stop, .. }) => stop,
        other => panic!("{other:?}"),
    };
    assert_eq!(stopped(unlimited.clone().cancelled_by(&cancel)), Stop::Cancelled);
    let soon = unlimited.within(Duration::from_millis(20));
    assert_eq!(stopped(soon.clone()), Stop::Time);
    let how = How::default().technique(Technique::Backward).within(&soon);
    let error = counted(&p, &how, Mode::Backward).unwrap_err();
    assert_eq!(error.stop(), Some(Stop::Time), "{error}");
}
