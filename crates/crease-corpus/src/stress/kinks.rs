//! Many kinks at one point.

use super::text::{chain, list, matrix, program};
use super::{Case, Source, Verdict, scalar, tensor};
use crease_formats::onnx::{WriteOptions, write_onnx};

fn v_at_zero(source: String, n: usize, verdict: Option<Verdict>) -> Case {
    Case::text(source, vec![tensor("v", &[n], "0")], verdict)
}

fn x_at_zero(source: String, verdict: Option<Verdict>) -> Case {
    Case::text(source, vec![scalar("x", "0")], verdict)
}

/// 2^n gradients.
pub(super) fn norm_one(n: usize) -> Case {
    v_at_zero(format!("program f(v[{n}]) = norm1(v)\n"), n, Some(Verdict::No))
}

/// The identity, n times, each time by two kinks.
pub(super) fn ties(n: usize) -> Case {
    let text = chain("x", "x", n, |s| format!("relu({s}) - relu(-{s})"), str::to_string);
    x_at_zero(text, Some(Verdict::Yes))
}

/// The largest of n equals, twice: it minus itself in another order.
pub(super) fn maximum(n: usize) -> Case {
    let text = program(
        &format!("v[{n}]"),
        ["let a = max(v)".to_string(), "let b = max(max(v[::2]), max(v[1::2]))".to_string()],
        "a - b + sum(v)",
    );
    v_at_zero(text, n, Some(Verdict::Yes))
}

/// The median of n equals.
pub(super) fn median(n: usize) -> Case {
    v_at_zero(format!("program f(v[{n}]) = median(v)\n"), n, Some(Verdict::No))
}

/// The sum of sorted equals, which is the sum of them, by a sort of a sort.
pub(super) fn sorts(n: usize) -> Case {
    v_at_zero(format!("program f(v[{n}]) = sum(sort(-sort(v)))\n"), n, Some(Verdict::Yes))
}

/// Bubble sort of n equals by comparators, and what is in the middle.
pub(super) fn sorting_network(n: usize) -> Case {
    let inputs = list((0..n).map(|i| format!("x{i}")));
    let mut statements = Vec::new();
    for round in 0..n {
        for i in 0..n - 1 - round {
            let (a, b) = (format!("x{i}"), format!("x{}", i + 1));
            statements.push(format!("let low = min({a}, {b})"));
            statements.push(format!("let {b} = max({a}, {b})"));
            statements.push(format!("let {a} = low"));
        }
    }
    let point = (0..n).map(|i| scalar(&format!("x{i}"), "0")).collect();
    let total = (0..n).map(|i| format!("x{i}")).collect::<Vec<_>>().join(" + ");
    Case::text(program(&inputs, statements, &total), point, Some(Verdict::Yes))
}

/// Norms of norms.
pub(super) fn norms(n: usize) -> Case {
    let text = chain("x, y", "norm2(x, y)", n, |s| format!("norm2({s}, x + y, {s})"), str::to_string);
    Case::text(text, vec![scalar("x", "0"), scalar("y", "0")], Some(Verdict::No))
}

/// The product of 1 + relu(x_i), all kinks of which are active.
pub(super) fn products(n: usize) -> Case {
    v_at_zero(format!("program f(v[{n}]) = prod(1 + relu(v))\n"), n, Some(Verdict::No))
}

/// relu(A v) - relu(-A v): linear, with as many kinks as A has rows, twice.
pub(super) fn hidden_identity(n: usize) -> Case {
    let product = format!("let u = {} @ v", matrix(n, n));
    let text = program(&format!("v[{n}]"), [product], "sum(relu(u) - relu(-u))");
    v_at_zero(text, n, Some(Verdict::Yes))
}

/// A network of n layers of n neurons at the origin.
pub(super) fn layers(n: usize) -> Case {
    let first = format!("let A = {}", matrix(n, n));
    let layers = (0..n).map(|_| "let v = relu(A @ v)".to_string());
    let text = program(&format!("v[{n}]"), std::iter::once(first).chain(layers), "sum(v)");
    v_at_zero(text, n, None)
}

/// The largest entry of a product, with every row twice.
pub(super) fn max_linear(n: usize) -> Case {
    let first = format!("let A = {}", matrix(n, n));
    let text = program(&format!("v[{n}]"), [first], "max_linear(concat(A, A, axis=0), v)");
    v_at_zero(text, n, Some(Verdict::No))
}

/// Many roundings, close to their jumps and off them.
pub(super) fn stairs(n: usize) -> Case {
    let text = chain("x", "x + 1/3", n, |s| format!("x + {s} - floor({s}) / 3"), str::to_string);
    x_at_zero(text, Some(Verdict::Yes))
}

/// A deep network of residual blocks in ONNX, at the origin.
pub(super) fn residual(n: usize) -> Case {
    let first = format!("let A = {}", matrix(4, 4));
    let blocks = (0..n).map(|_| "let v = v + relu(A @ relu(v)) / 64".to_string());
    let text = program("v[4]", std::iter::once(first).chain(blocks), "sum(v)");
    network(v_at_zero(text, 4, Some(Verdict::No)))
}

/// Windows of windows of equals: max-pooling of a black picture, after convolutions.
pub(super) fn max_pools(n: usize) -> Case {
    let kernel = format!("let k = reshape({}, [2, 2, 3, 3])", matrix(6, 6));
    let text = program(
        &format!("v[2, {0}, {0}]", 4 * n),
        [
            kernel,
            "let a = maxpool(relu(conv2d(v, k, padding=1)), 2)".into(),
            "let b = maxpool(conv2d(a, k, padding=1), 2)".into(),
        ],
        "max(b)",
    );
    let dims = [2, 4 * n, 4 * n];
    network(Case::text(text, vec![tensor("v", &dims, "0")], None))
}

/// The same as a network in ONNX; as text where it has none.
fn network(case: Case) -> Case {
    let Source::Text(text) = &case.source else { return case };
    let options = WriteOptions { max_equations: u64::MAX, ..WriteOptions::default() };
    let written = crease_formats::parse(text).ok().and_then(|m| write_onnx(m.main(), &options).ok());
    match written {
        Some(bytes) => Case { source: Source::Onnx(bytes), ..case },
        None => case,
    }
}
