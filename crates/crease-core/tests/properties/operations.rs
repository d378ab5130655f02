//! Every operation, by itself, through the interpreter, both derivatives and the local model. The engine's paths are tested on the same
//! programs in its own tests.

use crate::support::outputs;
use crease_core::differentiate::{How, Mode, Selection, backprop, jacobian};
use crease_core::local::localize;
use crease_core::{Number, Op, Program, Rational, Tensor};
use crease_corpus::compare::{convert, doubles, flat, moved};
use crease_corpus::operations;
use crease_corpus::precise::{Arithmetic, Fault, evaluate};
use crease_corpus::random::Rng;
use std::collections::BTreeSet;

/// Small fractions; whole numbers where ties are wanted.
fn point(rng: &mut Rng, p: &Program, tied: bool) -> Vec<Tensor<Rational>> {
    let mut number = || match tied {
        true => Rational::from(rng.between(-1, 2)),
        false => Rational::new(rng.between(-300, 300), 97).expect("a fraction"),
    };
    let inputs = p.inputs().iter();
    inputs
        .map(|i| Tensor::new(i.shape.clone(), (0..i.shape.len()).map(|_| number()).collect()).expect("fits"))
        .collect()
}

/// Forward and backward, one selection gives one answer: exactly so in rationals, else to rounding. Returns whether there was one.
fn both_derivatives(what: &str, p: &Program, at: &[Tensor<Rational>], how: &How) -> bool {
    let [forward, backward] = [Mode::Forward, Mode::Backward].map(|mode| jacobian(p, how, mode).expect("derives"));
    if let (Ok(f), Ok(b)) = (outputs(&forward, at), outputs(&backward, at)) {
        assert_eq!(flat(&f), flat(&b), "{what}: forward and backward\n{p}");
        return true;
    }
    let at: Vec<Tensor<f64>> = convert(at);
    match (outputs(&forward, &at), outputs(&backward, &at)) {
        (Ok(f), Ok(b)) => {
            let (f, b) = (doubles(&f), doubles(&b));
            let scale = f.iter().chain(&b).fold(1.0, |m: f64, x| m.max(f64::abs(*x)));
            let near = f.iter().zip(&b).all(|(f, b)| f64::abs(f - b) <= 1e-11 * scale);
            assert!(near, "{what}: forward {f:?}, backward {b:?}\n{p}");
            true
        }
        // outside of the domain, there as here
        (Err(_), Err(_)) => false,
        (f, b) => panic!("{what}: forward {f:?}, backward {b:?}\n{p}"),
    }
}

/// The directional derivative of the local model is the limit of difference quotients. Returns whether there is a model.
fn local_model(what: &str, p: &Program, at: &[Tensor<Rational>], rng: &mut Rng) -> bool {
    let Ok(model) = localize(p, at) else { return false };
    let arithmetic = Arithmetic::new(600);
    let step = Rational::new(1, 1 << 62).expect("a fraction").powi(2).expect("a power");
    let here = match evaluate(p, at, &arithmetic) {
        Ok(here) => here,
        // the evaluator takes a tensor for missing of which a number is, unless a choice reads it at once
        Err(Fault::NoValue(_)) if p.equations().any(|e| *e.op == Op::Where) => return true,
        Err(fault) => panic!("{what}: {fault} where there is a model"),
    };
    for _ in 0..3 {
        let direction = point(rng, p, false);
        let there = evaluate(p, &moved(at, &step, &direction), &arithmetic);
        // a step out of the domain, as from the edge of that of a square root, has no value
        let Ok(there) = there else { continue };
        let Some(slopes) = model.along(&flat(&direction)) else { continue };
        for ((slope, here), there) in slopes.iter().zip(&here).zip(&there) {
            let difference = arithmetic.sub(there, here).expect("a difference").to_f64();
            let quotient = difference / step.to_f64();
            let slope = slope.to_f64();
            let near = f64::abs(slope - quotient) <= 1e-12 * (1.0 + f64::abs(slope));
            assert!(near, "{what}: the model says {slope}, a difference quotient {quotient}\nat {at:?}\n{p}");
        }
    }
    true
}

#[test]
fn every_operation_has_both_derivatives_and_a_local_model() {
    let mut rng = Rng::new(11);
    let mut derived = BTreeSet::new();
    let mut modelled = BTreeSet::new();
    let mut reached = BTreeSet::new();
    let selections = ["paper", "torch", "jax", "relu=1/2, max=last, order=last"];
    for (round, n) in [1, 3, 6].into_iter().enumerate() {
        for (what, p) in operations::programs(n, &mut rng) {
            let select = Selection::parse(selections[round % selections.len()]).expect("a selection");
            let how = How::default().select(select);
            // what a program holds itself; gradients have joint forms, which have derivatives, but no local model of their own
            let own: BTreeSet<_> = p.library().iter().map(|q| &**q).chain([&p]).flat_map(names).collect();
            let gradient = backprop(&p, &how).ok();
            reached.extend(own.iter().copied().chain(gradient.iter().flat_map(names)));
            for tied in [false, true, false, true, true] {
                let at = point(&mut rng, &p, tied);
                let what = format!("{what} of {n}");
                if both_derivatives(&what, &p, &at, &how) {
                    derived.extend(own.iter().copied());
                }
                if let Some(g) = gradient.as_ref().filter(|_| n < 6)
                    && both_derivatives(&format!("{what}, its gradient"), g, &at, &how)
                {
                    derived.extend(names(g));
                }
                if local_model(&what, &p, &at, &mut rng) {
                    modelled.extend(own.iter().copied());
                }
            }
        }
    }
    let missing =
        |found: &BTreeSet<&str>| operations::ALL.iter().filter(|n| !found.contains(**n)).copied().collect::<Vec<_>>();
    assert_eq!(missing(&reached), [""; 0], "in no program");
    assert_eq!(missing(&derived), [""; 0], "no derivative of them was seen");
    let without: Vec<&str> = missing(&modelled);
    let joint = |name: &&str| name.contains('\'') || name.starts_with("permute");
    assert!(without.iter().all(joint), "no local model of them was seen: {without:?}");
}

fn names(p: &Program) -> Vec<&'static str> {
    p.equations().map(|e| operations::name(e.op)).collect()
}
