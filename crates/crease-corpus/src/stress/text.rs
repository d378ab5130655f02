//! Writing programs down.

use std::fmt::Write;

/// A program of these statements.
pub(super) fn program(inputs: &str, statements: impl IntoIterator<Item = String>, result: &str) -> String {
    let mut text = format!("program f({inputs}) {{\n");
    for statement in statements {
        let _ = writeln!(text, "  {statement}");
    }
    let _ = writeln!(text, "  return {result}\n}}");
    text
}

/// A program that makes a value of the one before, `n` times: `next` tells how from its name.
pub(super) fn chain(
    inputs: &str,
    first: &str,
    n: usize,
    next: impl Fn(&str) -> String,
    result: impl Fn(&str) -> String,
) -> String {
    let start = format!("let s0 = {first}");
    let steps = (1..=n).map(|i| format!("let s{i} = {}", next(&format!("s{}", i - 1))));
    program(inputs, std::iter::once(start).chain(steps), &result(&format!("s{n}")))
}

/// Programs, each of which is made of the one before: `next` tells how from its name.
pub(super) fn levels(inputs: &str, first: &str, n: usize, next: impl Fn(&str) -> String) -> String {
    let mut text = format!("program p0({inputs}) = {first}\n");
    for i in 1..=n {
        let _ = writeln!(text, "program p{i}({inputs}) = {}", next(&format!("p{}", i - 1)));
    }
    text
}

/// A tensor, all elements of which are the same.
pub(super) fn nested(dims: &[usize], value: &str) -> String {
    match dims {
        [] => value.into(),
        [n, rest @ ..] => format!("[{}]", vec![nested(rest, value); *n].join(",")),
    }
}

/// A list.
pub(super) fn list<T: ToString>(of: impl IntoIterator<Item = T>) -> String {
    of.into_iter().map(|x| x.to_string()).collect::<Vec<_>>().join(", ")
}

/// A matrix of small integers that looks random and is always the same.
pub(super) fn matrix(rows: usize, columns: usize) -> String {
    let mut state = 12345_u64;
    let mut entry = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64 % 7 - 3
    };
    let mut row = || format!("[{}]", list((0..columns).map(|_| entry()).collect::<Vec<_>>()));
    format!("[{}]", list((0..rows).map(|_| row()).collect::<Vec<_>>()))
}
