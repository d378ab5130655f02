//! Numbers that are long, or large.

use super::{Case, Verdict, scalar};

fn x_at(source: &str, value: String, verdict: Option<Verdict>) -> Case {
    Case::text(format!("program f(x) = {source}\n"), vec![scalar("x", &value)], verdict)
}

/// The number of digits.
fn digits(n: usize) -> String {
    (0..n).map(|i| char::from(b'1' + (i * 7 % 9) as u8)).collect()
}

/// An integer of n digits in the text.
pub(super) fn long_number(n: usize) -> Case {
    x_at(&format!("abs(x) * {}", digits(n)), "0".into(), Some(Verdict::No))
}

/// An integer of n digits in the point.
pub(super) fn long_point(n: usize) -> Case {
    x_at("abs(x * x - 1)", digits(n), Some(Verdict::Yes))
}

/// A decimal of n digits in the point.
pub(super) fn long_decimal(n: usize) -> Case {
    x_at("abs(sin(x) - 1/3)", format!("0.{}", digits(n)), Some(Verdict::Yes))
}

/// 10^n in the text.
pub(super) fn exponent(n: usize) -> Case {
    x_at(&format!("abs(x) * 1e{n} + 1e-{n}"), "0".into(), Some(Verdict::No))
}

/// 10^n in the point.
pub(super) fn exponent_of_point(n: usize) -> Case {
    x_at("abs(x) / 3", format!("1e{n}"), Some(Verdict::Yes))
}

/// The n-th power.
pub(super) fn power(n: usize) -> Case {
    x_at(&format!("abs(x^{n} - x)"), "3/2".into(), Some(Verdict::Yes))
}

/// The n-th root.
pub(super) fn root(n: usize) -> Case {
    x_at(&format!("abs(x^(2/{n}) - 1)"), "3".into(), Some(Verdict::Yes))
}

/// The sine of 10^n.
pub(super) fn large_angle(n: usize) -> Case {
    x_at("abs(sin(x))", format!("1e{n}"), Some(Verdict::Yes))
}

/// The exponential of 10^n, and that of -10^n.
pub(super) fn large_exponential(n: usize) -> Case {
    x_at("log(exp(x)) + relu(exp(-x))", format!("1e{n}"), Some(Verdict::Yes))
}

/// A constant of n elements, which takes a line to write.
pub(super) fn zeros(n: usize) -> Case {
    x_at(&format!("sum(abs(x + zeros([{n}])))"), "0".into(), Some(Verdict::No))
}
