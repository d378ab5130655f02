//! Values, calls and loops that are shared, nested or many.

use super::text::{chain, levels, list, program};
use super::{Case, Verdict, scalar, tensor};

fn x_at(source: String, value: &str, verdict: Option<Verdict>) -> Case {
    Case::text(source, vec![scalar("x", value)], verdict)
}

fn x_and_y_at_zero(source: String, verdict: Option<Verdict>) -> Case {
    Case::text(source, vec![scalar("x", "0"), scalar("y", "0")], verdict)
}

/// The root of 2^n (x^2 + y^2), by doubling n times.
pub(super) fn shared_squares(n: usize) -> Case {
    let text = chain("x, y", "x * x + y * y", n, |s| format!("{s} + {s}"), |s| format!("sqrt({s})"));
    x_and_y_at_zero(text, Some(Verdict::No))
}

/// 2^n max(x, y), each maximum of the one before with itself in two ways.
pub(super) fn shared_maxima(n: usize) -> Case {
    let text = chain("x, y", "max(x, y)", n, |s| format!("max({s} + x, y + {s})"), str::to_string);
    x_and_y_at_zero(text, Some(Verdict::No))
}

/// (x + y) to the power 2^n, by squaring.
pub(super) fn shared_products(n: usize) -> Case {
    let text = chain("x, y", "relu(x + y)", n, |s| format!("{s} * {s}"), str::to_string);
    x_and_y_at_zero(text, Some(Verdict::Yes))
}

/// The identity: both branches of each selection call the one before.
pub(super) fn shared_selections(n: usize) -> Case {
    let next = |p: &str| format!("select {{ x > 0 => {p}(x + x - x), else => {p}(3 * x - 2 * x) }}");
    x_at(levels("x", "x", n, next), "0", Some(Verdict::Yes))
}

/// 2^n relu(x), by calling the one before twice.
pub(super) fn shared_calls(n: usize) -> Case {
    x_at(levels("x", "relu(x)", n, |p| format!("{p}(x) + {p}(x)")), "0", Some(Verdict::No))
}

/// |x| / 2^(2^n), by calling the one before with what it returns.
pub(super) fn composed_calls(n: usize) -> Case {
    x_at(levels("x", "abs(x) / 2", n, |p| format!("{p}({p}(x))")), "0", Some(Verdict::No))
}

/// Linear functions that are called with 2^n different constants.
pub(super) fn constant_calls(n: usize) -> Case {
    let text = levels("x, c", "c * relu(x)", n, |p| format!("{p}(x, c + 1) + {p}(x, 2 * c)"));
    x_at(format!("{text}program f(x) = p{n}(x, 1)\n"), "1", Some(Verdict::Yes))
}

/// Joint programs of programs with joint programs.
pub(super) fn joint_programs(n: usize) -> Case {
    let mut text = "program p0(x) = abs(x)\njoint p0(x) { return abs(x), sign(x) }\n".to_string();
    for i in 1..=n {
        let of = format!("p{}", i - 1);
        text.push_str(&format!("program p{i}(x) = {of}(x) - {of}(-x) + {of}(x)\n"));
        text.push_str(&format!("joint p{i}(x) {{\n  let a = {of}(x) - {of}(-x) + {of}(x)\n  return a, sign(x)\n}}\n"));
    }
    x_at(text, "0", Some(Verdict::No))
}

/// A selection by conjunctions and disjunctions, nested in both branches.
pub(super) fn conjunctions(n: usize) -> Case {
    let next = |p: &str| {
        format!(
            "select {{ x > 0 and y >= 0 or not (x < y) => {p}(x, y), y > x and x <= 0 => {p}(y, x), else => {p}(x + y, x - y) }}"
        )
    };
    x_and_y_at_zero(levels("x, y", "x + y", n, next), None)
}

/// A loop of n iterations in a loop of n iterations.
pub(super) fn nested_loops(n: usize) -> Case {
    let text = format!(
        "program f(x) = repeat({n}, s = x) {{\n  let t = repeat({n}, u = s) {{ return relu(u) - relu(-u) }}\n  return t\n}}\n"
    );
    x_at(text, "0", Some(Verdict::Yes))
}

/// Loops of 3 iterations, nested n deep.
pub(super) fn deep_loops(n: usize) -> Case {
    let open: String = (1..=n).map(|i| format!("let s{i} = repeat(3, t{i} = {}) {{\n", carried(i - 1))).collect();
    let body = format!("return {0} + sin({0}) / 3^{n}\n", carried(n));
    let close: String = (1..=n).rev().map(|i| format!("}}\nreturn s{i}\n")).collect();
    x_at(format!("program f(x) {{\n{open}{body}{close}}}\n"), "1", Some(Verdict::Yes))
}

fn carried(level: usize) -> String {
    if level == 0 { "x".into() } else { format!("t{level}") }
}

/// One long loop of a smooth function.
pub(super) fn long_loop(n: usize) -> Case {
    x_at(format!("program f(x) = repeat({n}, s = x) {{ return sin(s) + x }}\n"), "1", Some(Verdict::Yes))
}

/// A loop that hits a kink in each iteration.
pub(super) fn kinked_loop(n: usize) -> Case {
    let text = format!("program f(x, y) = repeat({n}, s = x) {{ return max(s + x, s + y) - abs(x - y) }}\n");
    x_and_y_at_zero(text, Some(Verdict::No))
}

/// Running maxima of zeros, and running products.
pub(super) fn running_maxima(n: usize) -> Case {
    let text = format!("program f(v[{n}]) = sum(cummax(v)) + sum(cumprod(1 + relu(v)))\n");
    Case::text(text, vec![tensor("v", &[n], "0")], Some(Verdict::No))
}

/// Brackets around brackets.
pub(super) fn parentheses(n: usize) -> Case {
    x_at(format!("program f(x) = {}abs(x){}\n", "(".repeat(n), ")".repeat(n)), "0", Some(Verdict::No))
}

/// Calls of functions in calls of functions.
pub(super) fn nested_calls(n: usize) -> Case {
    x_at(format!("program f(x) = {}x{}\n", "abs(-".repeat(n), ")".repeat(n)), "0", Some(Verdict::No))
}

/// A sum of n kinks of the difference of two inputs, all of which are inputs of their own.
pub(super) fn wide_sum(n: usize) -> Case {
    let inputs = list((0..n).map(|i| format!("x{i}")));
    let terms: Vec<String> = (0..n).map(|i| format!("relu(x{i} - x{})", (i + 1) % n)).collect();
    let point = (0..n).map(|i| scalar(&format!("x{i}"), "0")).collect();
    Case::text(format!("program f({inputs}) = {}\n", terms.join(" + ")), point, Some(Verdict::No))
}

/// As many outputs as inputs, each of which depends on all of them.
pub(super) fn wide_output(n: usize) -> Case {
    let statements = ["let s = sum(v)".to_string(), "let t = relu(v - s)".to_string()];
    let text = program(&format!("v[{n}]"), statements, "t * s + v");
    Case::text(text, vec![tensor("v", &[n], "0")], None)
}
