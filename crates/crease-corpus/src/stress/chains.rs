//! Long chains of smooth functions.

use super::text::chain;
use super::{Case, Verdict, scalar};

fn x_at(source: String, value: &str, verdict: Option<Verdict>) -> Case {
    Case::text(source, vec![scalar("x", value)], verdict)
}

/// The sine of the sine of the sine.
pub(super) fn sines(n: usize) -> Case {
    x_at(chain("x", "x", n, |s| format!("sin({s})"), str::to_string), "1", Some(Verdict::Yes))
}

/// exp(-exp(-exp(-x))).
pub(super) fn exponentials(n: usize) -> Case {
    x_at(chain("x", "x", n, |s| format!("exp(-{s})"), str::to_string), "1/3", Some(Verdict::Yes))
}

/// exp(exp(exp(x))) and back by logarithms, which is the identity.
pub(super) fn tower(n: usize) -> Case {
    let up = (1..=n).fold("x".to_string(), |s, _| format!("exp({s})"));
    let down = (1..=n).fold(up, |s, _| format!("log({s})"));
    x_at(format!("program f(x) = {down}\n"), "1", Some(Verdict::Yes))
}

/// A convergent iteration of rationals, whose number of digits doubles with each step.
pub(super) fn rational_chain(n: usize) -> Case {
    x_at(chain("x", "x", n, |s| format!("{s} * {s} + 1/5"), str::to_string), "1/7", Some(Verdict::Yes))
}

/// A divergent one: its number of digits doubles with each step, and so does its logarithm.
pub(super) fn escaping_chain(n: usize) -> Case {
    x_at(chain("x", "x", n, |s| format!("{s} * {s} + 1/3"), str::to_string), "1/7", Some(Verdict::Yes))
}

/// Kinks at what is zero, as no number of bits shows.
pub(super) fn undecided_ties(n: usize) -> Case {
    let next = |s: &str| format!("{s} + relu(exp(log({s})) - {s})");
    x_at(chain("x", "x + 2", n, next, str::to_string), "0", None)
}

/// Roots of roots.
pub(super) fn roots(n: usize) -> Case {
    x_at(chain("x", "x", n, |s| format!("sqrt({s}) + x^(2/3)"), str::to_string), "2", Some(Verdict::Yes))
}

/// A polynomial of degree n.
pub(super) fn horner(n: usize) -> Case {
    x_at(chain("x", "1", n, |s| format!("{s} * x + 1/3"), |s| format!("abs({s})")), "12345/6789", Some(Verdict::Yes))
}

/// log(exp(s) + exp(x)), again and again.
pub(super) fn log_sum_exps(n: usize) -> Case {
    x_at(chain("x", "x", n, |s| format!("logsumexp({s}, x, -{s})"), str::to_string), "0", Some(Verdict::Yes))
}
