//! Functions that are made of others, at each of their kinks: chain rule, directional derivatives, subgradients and verdicts against
//! answers that were derived by hand.

use crease_core::differentiate::{How, Selection, backprop, directional};
use crease_core::local::localize;
use crease_core::{Program, Rational, Shape, Tensor, run};
use crease_corpus::composed::{ROWS, Row, Verdict};
use crease_oracles::{Effort, Session};
use std::collections::BTreeSet;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * (1.0 + b.abs())
}

fn floats(x: &[Tensor<Rational>]) -> Vec<Tensor<f64>> {
    x.iter().map(|t| t.map(Rational::to_f64)).collect()
}

#[test]
fn values_and_what_the_chain_rule_gives() {
    for row in ROWS {
        let (p, x) = (row.program(), row.point());
        let value: Rational = row.value.parse().unwrap();
        assert!(close(run(&p, &floats(&x)).unwrap()[0].data()[0], value.to_f64()), "{row:?}");
        for (selection, gradient) in row.gradients {
            let how = How::default().select(Selection::parse(selection).unwrap());
            let d = backprop(&p, &how).unwrap();
            let expected = row.numbers(gradient);
            let found = run(&d, &floats(&x)).unwrap();
            for (f, e) in found[1..].iter().zip(&expected) {
                assert!(close(f.data()[0], e.to_f64()), "{selection}: {f} for {row:?}");
            }
            if row.exact {
                let found: Vec<Rational> = run(&d, &x).unwrap()[1..].iter().map(|t| t.data()[0].clone()).collect();
                assert_eq!(found, expected, "{selection}: {row:?}");
            }
        }
    }
}

/// The program that computes them, in floats.
fn along(p: &Program, x: &[Tensor<f64>], d: &[Rational]) -> f64 {
    let wrt: Vec<usize> = (0..x.len()).collect();
    let derived = directional(p, &wrt, 1).unwrap();
    let tangents = d.iter().map(|d| Tensor::new(Shape::vector(1).unwrap(), vec![d.to_f64()]).unwrap());
    let inputs: Vec<Tensor<f64>> = x.iter().cloned().chain(tangents).collect();
    run(&derived, &inputs).unwrap()[1].data()[0]
}

#[test]
fn directional_derivatives() {
    for row in ROWS.iter().filter(|r| r.verdict != Verdict::Jumps) {
        let (p, x) = (row.program(), row.point());
        let m = localize(&p, &x).unwrap_or_else(|e| panic!("{row:?}: {e}"));
        for (direction, expected) in row.along {
            let d = row.numbers(direction);
            let expected = expected.parse::<Rational>().unwrap().to_f64();
            let found = along(&p, &floats(&x), &d);
            assert!(close(found, expected), "{found} along {direction}: {row:?}");
            let (low, high) = m.along(&d).unwrap()[0].enclosure().outer();
            assert!(close(low, expected) && close(high, expected), "[{low}, {high}] along {direction}: {row:?}");
        }
    }
}

/// Each element of Clarke's subdifferential that is found is a limit of gradients, and all limits are found.
fn subgradients(row: &Row, session: &Session<'_>) {
    let limits: Vec<Vec<f64>> =
        row.limits.iter().map(|l| row.numbers(l).iter().map(Rational::to_f64).collect()).collect();
    let mut found = BTreeSet::new();
    for seed in 0..24 {
        let e = session.clarke_element(seed).unwrap_or_else(|e| panic!("{row:?}: {e}"));
        let same = |l: &Vec<f64>| l.iter().zip(&e.gradient).all(|(l, g)| close(g.to_f64(), *l));
        let which = limits.iter().position(same);
        assert!(which.is_some(), "{:?} is no limit of gradients of {row:?}", e.gradient);
        found.extend(which);
    }
    assert_eq!(found.len(), limits.len(), "{row:?}");
}

#[test]
fn verdicts_and_subgradients() {
    for row in ROWS {
        let model = localize(&row.program(), &row.point());
        if row.verdict == Verdict::Jumps {
            let refused = model.err().map(|e| e.to_string()).unwrap_or_default();
            assert!(refused.contains("jumps"), "{refused}: {row:?}");
            continue;
        }
        let session = Session::owning(model.unwrap(), 0);
        let word = session.differentiable(&Effort::default()).unwrap().verdict.word();
        assert_eq!(word, if row.verdict == Verdict::Yes { "yes" } else { "no" }, "{row:?}");
        if !row.limits.is_empty() {
            subgradients(row, &session);
        }
        // where there is one gradient, the chain rule may still return others; not the other way round
        let conservative = session.conservative().unwrap();
        if row.verdict == Verdict::No {
            assert!(!conservative.is_singleton(), "{row:?}");
        }
    }
}

/// A norm at 0 may take any vector of the unit ball; where it is multiplied by 0, what it takes does not matter.
#[test]
fn conservative_gradients_of_norms() {
    let session = |text: &str| {
        let p = crease_formats::parse(text).unwrap().main().clone();
        let zeros: Vec<Tensor<Rational>> = p.inputs().iter().map(|_| Tensor::scalar(Rational::ZERO)).collect();
        Session::owning(localize(&p, &zeros).unwrap(), 0)
    };
    let norm = session("program f(x, y) = norm2(x, y)");
    let set = norm.conservative().unwrap();
    assert!(!set.is_singleton() && set.proved);
    assert_ne!(set.elements[0].gradient, set.elements[1].gradient);
    for e in &set.elements {
        let square: Rational = e.gradient.iter().map(|g| g * g).sum();
        assert!(square <= Rational::ONE, "{e:?}");
    }
    assert_eq!(set.bounds, [(Rational::from(-1), Rational::ONE), (Rational::from(-1), Rational::ONE)]);
    for text in ["program f(x, y) = norm2(x, y)^2", "program f(x, y) = sqrt(x^2 + y^2)^2"] {
        let squared = session(text);
        let set = squared.conservative().unwrap();
        assert!(set.is_singleton(), "{text}");
        assert_eq!(set.elements[0].gradient, [Rational::ZERO, Rational::ZERO], "{text}");
    }
    // its choices do not cancel, although the norms do
    let apart = session("program f(x, y) = norm2(x, y) - norm2(y, x)");
    assert!(!apart.conservative().unwrap().is_singleton());
}
