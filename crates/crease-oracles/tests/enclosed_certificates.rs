//! Every no about a model with enclosed coefficients has a certificate, and the checker, which knows nothing of the search, accepts it.

mod support;

use crease_check::{Claim, check};
use crease_core::local::{Precision, localize_within};
use crease_core::{Rational, Var, abs, exp, max, relu, sin, trace};
use crease_oracles::{Argument, Effort, Verdict, certificate_graph, differentiable};
use support::{Rng, ints, scalars};

/// A random expression with kinks at 0 and coefficients without exact values.
fn expression<'t>(x: &[Var<'t>], rng: &mut Rng, depth: usize) -> Var<'t> {
    if depth == 0 {
        return x[rng.below(x.len())] * (1 + rng.below(3)) as f64;
    }
    let mut part = || expression(x, rng, depth - 1);
    let (a, b) = (part(), part());
    match rng.below(7) {
        0 => max(&[a, b, a - b]),
        1 => relu(a) - b,
        2 => abs(a) + sin(b),
        3 => exp(a + 1.0) * b,
        4 => exp(a) - exp(b * 2.0),
        5 => relu(a - b) + relu(b - a),
        _ => a * exp(1.0 + relu(b)) - b,
    }
}

#[test]
fn every_no_by_enclosures_is_certified() {
    let mut rng = Rng::new(7);
    let (mut no, mut deep) = (0, 0);
    for round in 0..600 {
        let inputs = 1 + rng.below(3);
        let depth = 2 + rng.below(3);
        let Ok(p) = trace(inputs, |x| expression(x, &mut rng, depth)) else { continue };
        let bits = [32, 128, 512][round % 3];
        let Ok(model) = localize_within(
            &p,
            &scalars(&ints(&vec![0; inputs])),
            Precision { bits, limit: bits },
            &crease_core::Limits::default(),
        ) else {
            continue;
        };
        if model.is_exact() {
            continue;
        }
        let decision = differentiable(&model, 0, &Effort::default()).unwrap();
        let Verdict::No(sides) = &decision.verdict else {
            assert!(decision.certificate().is_none());
            continue;
        };
        assert_eq!(decision.by, Argument::Enclosure);
        let text = decision.certificate().expect("a no has a certificate");
        let checked = check(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let Claim::NotDifferentiableEnclosed { bits: stated, coordinate, sides: shown } = checked.claim else {
            panic!()
        };
        assert_eq!(stated, bits);
        assert_eq!(checked.model, certificate_graph(&model, 0).unwrap());
        for (e, s) in sides.iter().zip(&shown) {
            // the checker rounds nothing, so that its enclosure is inside
            let radius = e.radius.as_ref().map_or(Rational::ZERO, |r| r[coordinate].clone());
            let (middle, radius) = (&e.gradient[coordinate], &radius);
            assert!(middle - radius <= s.low && s.high <= middle + radius, "{text}");
        }
        no += 1;
        deep += usize::from(checked.kinks >= 3);
    }
    assert!(no > 100 && deep > 30, "{no} no, {deep} of them with several kinks");
}
