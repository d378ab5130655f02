//! The named cases of the corpus, run by the reference interpreter.

use crease_core::cost::{cost, tally};
use crease_core::differentiate::{How, Selection, backprop, forprop};
use crease_core::{Program, Rational, Tensor, inline, kinks, run, scalarize, simplify};
use crease_corpus::cases::{ALL, Case};
use crease_corpus::compare::{all_close, convert, doubles, flat};

/// The outputs, exactly where that is possible, in doubles in any case.
fn found(case: &Case, p: &Program, x: &[Tensor<Rational>]) -> (Option<Vec<Rational>>, Vec<f64>) {
    let exact = case.exact.then(|| flat(&run(p, x).unwrap_or_else(|e| panic!("{}: {e}", case.name))));
    let near = run(p, &convert::<f64>(x)).unwrap_or_else(|e| panic!("{}: {e}", case.name));
    (exact, doubles(&near))
}

fn check(case: &Case, what: &str, p: &Program, x: &[Tensor<Rational>], expected: &[Rational]) {
    let (exact, near) = found(case, p, x);
    if let Some(exact) = exact {
        assert_eq!(exact, expected, "{}, {what}", case.name);
    }
    let expected: Vec<f64> = expected.iter().map(Rational::to_f64).collect();
    assert!(all_close(&near, &expected, 1e-14), "{}, {what}: {near:?}, expected {expected:?}", case.name);
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = ALL.iter().map(|c| c.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), ALL.len());
}

#[test]
fn every_case_has_its_value_however_it_is_written() {
    for case in ALL {
        let (p, x) = (case.program(), case.point());
        let expected = [case.expected_value()];
        check(case, "as it stands", &p, &x, &expected);
        check(case, "inlined", &inline(&p).expect("small"), &x, &expected);
        check(case, "simplified", &simplify(&p).expect("small"), &x, &expected);
        let elements: Vec<_> = x.iter().flat_map(|t| t.data().iter().cloned().map(Tensor::scalar)).collect();
        check(case, "scalarized", &scalarize(&p).expect("small"), &elements, &expected);
    }
}

#[test]
fn every_case_has_its_gradient_under_every_selection_in_both_directions() {
    for case in ALL {
        let (p, x) = (case.program(), case.point());
        for preset in ["paper", "torch", "jax"] {
            assert!(case.gradients.iter().any(|(s, _)| *s == preset), "{} has no gradient for {preset}", case.name);
        }
        for (selection, gradient) in case.expected_gradients() {
            let how = How::default().select(Selection::parse(selection).expect("a selection"));
            let mut expected = vec![case.expected_value()];
            expected.extend(flat(&gradient));
            check(case, &format!("backprop, {selection}"), &backprop(&p, &how).expect("a gradient"), &x, &expected);
            check(case, &format!("forprop, {selection}"), &forprop(&p, &how).expect("a gradient"), &x, &expected);
        }
    }
}

#[test]
fn every_case_meets_so_many_kinks() {
    for case in ALL {
        let (p, x) = (case.program(), case.point());
        let hits =
            if case.exact { kinks(&p, &x).expect("a run").1 } else { kinks(&p, &convert::<f64>(&x)).expect("a run").1 };
        assert_eq!(hits.len(), case.kinks, "{}: {hits:?}", case.name);
    }
}

#[test]
fn every_case_has_its_cost_and_its_level() {
    for case in ALL {
        let p = case.program();
        assert_eq!(cost(&p).to_string(), case.cost, "{}: {}", case.name, tally(&p));
        assert_eq!(p.level(), case.level, "{}", case.name);
        assert!(p.verify().is_empty(), "{}", case.name);
    }
}
