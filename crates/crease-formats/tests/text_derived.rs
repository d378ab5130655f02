//! Derived programs are programs: what differentiation gives prints and parses back too.

use crease_core::differentiate::{How, backprop, forprop, gradient};
use crease_core::{Program, inline};
use crease_formats::parse;

fn comes_back(p: &Program) {
    let printed = p.to_string();
    let again = parse(&printed).unwrap_or_else(|e| panic!("{}", e.render(&printed, "derived")));
    assert!(**again.main() == *p, "{printed}\n{}", again.main());
}

#[test]
fn derivatives_come_back() {
    for source in [
        "program f(x) = relu(x) - relu(-x)",
        "program f(x, y) = max(x * y, y, 1/3) + abs(x) * exp(y) / x ^ 3",
        "program f(v[3]) = norm1(v) + norminf(v) * median(v) - logsumexp(v)",
        "program f(W[2, 3], x[3], b[2]) = sum(relu(W @ x + b))",
        "program f(x[1, 6, 6], K[2, 1, 3, 3]) = sum(maxpool(relu(conv2d(x, K, padding=1)), 2))",
        "program f(A[2, 3], x[3]) = max_linear(A, x) + leaky_relu(sum(x), 0.01) + elu(x[0])",
        "program sq(x) = x * x  program f(x, y) = sq(sq(x) + y) * times_relu(x, y)",
        "program sq(x) = x * x  joint sq(x) = x * x, 2 * x  program f(x, y) = sq(x + y)",
        "program f(x, y, z) { let a, b, c = sort(x, y, z) return a * 2 + b * c }",
        "program f(v[3]) { let s = sort(v) return s[0] * s[2] }",
    ] {
        let p = parse(source).unwrap().main().clone();
        for derived in [backprop(&p, &How::default()), forprop(&p, &How::default()), gradient(&p, &How::default())] {
            let derived = derived.unwrap_or_else(|e| panic!("{source}: {e}"));
            comes_back(&derived);
            if let Ok(flat) = inline(&derived) {
                comes_back(&flat);
            }
        }
    }
}
