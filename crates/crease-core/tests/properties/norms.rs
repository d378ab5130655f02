//! Square roots that are Euclidean norms: which are recognised, that their gradients are those of the norm, at 0 and beside it, and which are not.

use crease_core::differentiate::{How, Selection, backprop, directional};
use crease_core::{Kink, Op, Program, Rational, Shape, Tensor, run};
use std::sync::Arc;

fn main_of(text: &str) -> Arc<Program> {
    crease_formats::parse(text).unwrap_or_else(|e| panic!("{e:?}\n{text}")).main().clone()
}

/// All inputs filled from one list of numbers, over and over.
fn filled(p: &Program, numbers: &[f64]) -> Vec<Tensor<f64>> {
    let mut next = numbers.iter().cycle().copied();
    let mut fill = |i: &crease_core::Input| {
        Tensor::new(i.shape.clone(), (0..i.shape.len()).filter_map(|_| next.next()).collect()).unwrap()
    };
    p.inputs().iter().map(&mut fill).collect()
}

fn gradient(p: &Program, selection: &str, at: &[Tensor<f64>]) -> Vec<f64> {
    let d = backprop(p, &How::default().select(Selection::parse(selection).unwrap())).unwrap();
    run(&d, at).unwrap_or_else(|e| panic!("{e}\n{p}"))[1..].iter().flat_map(|t| t.data().to_vec()).collect()
}

/// A root, and the norm that it is.
const ROOTS: &[(&str, &str)] = &[
    ("program f(x, y) = sqrt(x^2 + y^2)", "program f(x, y) = norm2(x, y)"),
    ("program f(x, y) = sqrt(x * x + y^2)", "program f(x, y) = norm2(x, y)"),
    ("program f(x) = sqrt(x^2)", "program f(x) = norm2(x)"),
    ("program f(x, y) = sqrt(4 * x^2 + 9 * y^2)", "program f(x, y) = norm2(2 * x, 3 * y)"),
    ("program f(x, y) = sqrt((x^2 + y^2) / 4)", "program f(x, y) = norm2(x, y) / 2"),
    ("program f(x, y) = sqrt(x^4 + y^2)", "program f(x, y) = norm2(x^2, y)"),
    ("program f(v[3]) = sqrt(sum(v * v))", "program f(v[3]) = norm2(v)"),
    ("program f(v[3]) = sqrt(sum(v^2))", "program f(v[3]) = norm2(v)"),
    ("program f(v[3]) = sqrt(v @ v)", "program f(v[3]) = norm2(v)"),
    ("program f(v[4]) = sqrt(mean(v^2))", "program f(v[4]) = norm2(v) / 2"),
    ("program f(M[2, 3]) = sum(sqrt(sum(M * M, axis=0)))", "program f(M[2, 3]) = sum(norm2(M, axis=0))"),
    ("program f(M[2, 3]) = sum(sqrt(sum(M * M, axis=1)))", "program f(M[2, 3]) = sum(norm2(M, axis=1))"),
    ("program f(v[3], w[3]) = sum(sqrt(v^2 + w^2))", "program f(v[3], w[3]) = sum(norm2(v, w))"),
    ("program g(a, b) = a^2 + b^2 program f(x, y) = sqrt(g(x, y))", "program f(x, y) = norm2(x, y)"),
];

#[test]
fn roots_of_sums_of_squares_are_norms() {
    for (root, norm) in ROOTS {
        let (p, q) = (main_of(root), main_of(norm));
        let round = |p: &Program| p.equations().any(|e| matches!(e.op, Op::Joint(Kink::Norm2(_), _)));
        assert!(round(&backprop(&p, &How::default()).unwrap()), "{root}");
        for selection in ["paper", "torch", "jax", "norm2=[3/5, 4/5]", "norm2=[-1/2]"] {
            for numbers in [&[0.0][..], &[3.0, -4.0, 0.0, 12.0], &[-1.5, 2.0], &[0.0, 0.0, 5.0]] {
                let at = filled(&p, numbers);
                let (a, b) = (gradient(&p, selection, &at), gradient(&q, selection, &at));
                let same = a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-14 * (1.0 + b.abs()));
                assert!(same, "{root} with {selection} at {numbers:?}: {a:?} and {b:?}");
            }
        }
    }
}

/// Along every direction at 0 it is the norm of the tangent.
#[test]
fn directional_derivatives_at_zero() {
    for (root, norm) in &ROOTS[..6] {
        let (p, q) = (main_of(root), main_of(norm));
        let wrt: Vec<usize> = (0..p.inputs().len()).collect();
        for d in [[3.0f64, 4.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 2.0]] {
            let value = |p: &Program| -> f64 {
                let derived = directional(p, &wrt, 1).unwrap();
                let zeros = wrt.iter().map(|_| Tensor::scalar(0.0));
                let tangents = wrt.iter().map(|&i| Tensor::new(Shape::vector(1).unwrap(), vec![d[i]]).unwrap());
                run(&derived, &zeros.chain(tangents).collect::<Vec<_>>()).unwrap()[1].data()[0]
            };
            assert!((value(&p) - value(&q)).abs() < 1e-14, "{root} along {d:?}: {}, {}", value(&p), value(&q));
        }
    }
}

/// The gradient of the square is 0 at 0, exactly and whatever is picked.
#[test]
fn squares_of_norms_have_gradient_zero() {
    for text in [
        "program f(v[3]) = norm2(v)^2",
        "program f(v[3]) = norm2(v) * norm2(v)",
        "program f(x, y) = sqrt(x^2 + y^2)^2",
        "program f(v[3]) = sqrt(sum(v * v))^2",
        "program f(v[3]) = 1 / (1 + norm2(v)^2)",
    ] {
        let p = main_of(text);
        for selection in ["paper", "torch", "norm2=[1]", "norm2=[3/5, -4/5]"] {
            assert!(gradient(&p, selection, &filled(&p, &[0.0])).iter().all(|g| *g == 0.0), "{text}, {selection}");
            let d = backprop(&p, &How::default().select(Selection::parse(selection).unwrap())).unwrap();
            let zeros: Vec<Tensor<Rational>> = p
                .inputs()
                .iter()
                .map(|i| Tensor::new(i.shape.clone(), vec![Rational::ZERO; i.shape.len()]).unwrap())
                .collect();
            let exact = run(&d, &zeros).unwrap();
            assert!(exact[1..].iter().all(|t| t.data().iter().all(Rational::is_zero)), "{text}, {selection}");
        }
    }
}

/// A root of something else has an infinite slope at 0, which is told.
#[test]
fn other_roots_have_no_gradient_at_zero() {
    for text in [
        "program f(x) = sqrt(x)",
        "program f(x, y) = sqrt(x * y)",
        "program f(x, y) = sqrt(x^2 - y^2)",
        "program f(x, y) = sqrt(x^2 + y)",
        "program f(x) = sqrt(x^3)",
        "program f(v[2], w[2]) = sqrt(v @ w)",
    ] {
        let p = main_of(text);
        let d = backprop(&p, &How::default()).unwrap();
        assert!(!d.equations().any(|e| matches!(e.op, Op::Joint(Kink::Norm2(_), _))), "{text}");
        let message = run(&d, &filled(&p, &[0.0])).map(|_| ()).unwrap_err().to_string();
        assert!(message.contains("zero") || message.contains("finite"), "{text}: {message}");
    }
}
