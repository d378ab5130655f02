//! Theorem 3 made constructive: Hadamard matrices, and the chain of the proof from directional derivatives to a product.

use crease::dictionary::{Dictionary, outside};
use crease::{Builder, How, Op, Program, Rational, Shape, Tensor, abs, exp, relu, run, trace};
use crease_paper::products::{Scheme, operations};
use crease_paper::theorem3::{
    Chain, Construction, Derivative, ProofError, Stage, chain, construction, directional, figures, function, hadamard,
    is_hadamard, kronecker, prove,
};
use std::sync::Arc;

#[test]
fn every_matrix_that_is_made_is_hadamard() {
    let mut missing = Vec::new();
    for p in 1..=256 {
        match construction(p) {
            Some(how) => {
                let h = how.matrix();
                assert_eq!((h.len(), how.order()), (p, p));
                assert!(is_hadamard(&h), "{how}");
            }
            None if p % 4 == 0 => missing.push(p),
            None => assert!(p > 2, "{p}"),
        }
    }
    // what is left to prime powers and to other constructions
    assert_eq!(missing, [52, 92, 100, 116, 156, 172, 184, 188, 232, 236, 244]);
}

#[test]
fn a_matrix_with_one_sign_wrong_is_not() {
    for p in [2, 4, 12, 28] {
        let mut h = hadamard(p).unwrap();
        h[p - 1][p / 2] *= -1;
        assert!(!is_hadamard(&h), "{p}");
    }
    let short: Vec<Vec<i64>> = hadamard(4).unwrap().into_iter().take(3).collect();
    assert!(!is_hadamard(&short));
}

#[test]
fn both_of_paleys_constructions_and_kronecker_products_agree_with_their_conditions() {
    for q in [3, 7, 11, 19, 23, 31, 43] {
        assert!(is_hadamard(&Construction::PaleyOne { q }.matrix()), "{q}");
        assert!(!is_hadamard(&Construction::PaleyTwo { q }.matrix()), "{q}");
    }
    for q in [5, 13, 17, 29, 37] {
        assert!(is_hadamard(&Construction::PaleyTwo { q }.matrix()), "{q}");
        assert!(!is_hadamard(&Construction::PaleyOne { q }.matrix()), "{q}");
    }
    assert!(!is_hadamard(&Construction::PaleyOne { q: 15 }.matrix())); // no prime
    let both = kronecker(&hadamard(12).unwrap(), &hadamard(20).unwrap());
    assert!(both.len() == 240 && is_hadamard(&both));
    assert_eq!(kronecker(&hadamard(2).unwrap(), &hadamard(8).unwrap()), hadamard(16).unwrap());
}

fn costs(c: &Chain) -> Vec<u128> {
    assert_eq!(c.steps.iter().map(|s| s.stage).collect::<Vec<_>>(), Stage::ALL);
    c.steps.iter().map(|s| s.cost).collect()
}

/// What holds of every chain, whatever P' it starts from.
fn holds(c: &Chain) {
    let p = c.order as u128;
    let cost = costs(c);
    assert_eq!(c.function_cost, 6 * p * p + 2 * p);
    assert_eq!(cost[1], cost[0] + p - 1); // P_0: p - 1 additions, the proof allows p
    assert!(cost[2] <= cost[1]);
    assert_eq!(cost[3], cost[2]); // the lemma: exactly
    assert!(cost[4] <= 5 * cost[3] && cost[5] <= cost[4] && cost[6] <= cost[5]);
    assert_eq!(c.bound, 5 * (cost[0] + p));
    assert!(cost[6] <= c.bound);
    let dictionaries = [Dictionary::ReluDerived, Dictionary::ReluDerived, Dictionary::Relu];
    for (step, d) in c.steps.iter().zip(dictionaries.into_iter().chain([Dictionary::Polynomial; 4])) {
        assert!(outside(&step.program, d).is_empty(), "{}", step.stage);
        assert!(step.program.level() <= 1 && step.program.inputs().iter().all(|i| i.shape.is_scalar()));
        assert!(step.rational_points >= 2);
        assert_eq!(step.field_points > 0, d == Dictionary::Polynomial);
    }
}

/// The last program on fresh integers, against a product that is computed here.
fn multiplies(c: &Chain) {
    let p = c.order;
    let entry = |i: usize, j: usize, salt: usize| ((i * 31 + j * 17 + salt) * (i + 2 * j + 3) % 23) as i64 - 11;
    let (b, a) = (|i, j| entry(i, j, 5), |i, j| entry(i, j, 8));
    let all = |f: &dyn Fn(usize, usize) -> i64| (0..p * p).map(|k| f(k / p, k % p)).collect::<Vec<_>>();
    let inputs = [all(&b), all(&a)].concat().into_iter().map(|x| Tensor::scalar(Rational::from(x))).collect::<Vec<_>>();
    let got: Vec<Rational> =
        run(&c.step(Stage::Product).unwrap().program, &inputs).unwrap().iter().map(|t| t.data()[0].clone()).collect();
    let expected = all(&|i, j| (0..p).map(|k| b(i, k) * a(j, k)).sum());
    assert_eq!(got, expected.into_iter().map(Rational::from).collect::<Vec<_>>());
}

#[test]
fn from_f_on_each_column_to_the_naive_product() {
    for p in [1, 2, 4, 8, 12, 16, 20] {
        let c = chain(p, Derivative::Columns, 11 + p as u64).unwrap();
        holds(&c);
        multiplies(&c);
        let n = p as u128;
        assert_eq!(c.steps[0].cost, n * c.function_cost);
        assert_eq!((c.relus, c.relu_derivatives, c.on_kinks), (2 * p * p, 0, 0));
        // what the proof gets out of p evaluations of F is just the naive product
        assert_eq!(c.steps[6].cost, 2 * n * n * n - n * n);
        assert_eq!(c.naive, c.steps[6].cost);
    }
}

#[test]
fn from_forward_mode_to_the_naive_product() {
    for p in [1, 2, 4, 8, 12, 16, 20] {
        let c = chain(p, Derivative::Forward, 5 + p as u64).unwrap();
        holds(&c);
        multiplies(&c);
        // every kink is a ReLU', which costs nothing once it is a constant
        assert_eq!((c.relus, c.relu_derivatives, c.on_kinks), (0, 2 * p * p, 0));
        assert_eq!(c.steps[2].cost, c.steps[1].cost - 2 * (p * p) as u128);
        assert_eq!(c.steps[6].cost, c.naive);
    }
}

#[test]
fn from_fast_products_to_a_fast_product() {
    for (p, levels, base) in [(2, 1, 1), (4, 2, 1), (8, 3, 1), (12, 2, 3), (16, 4, 1), (20, 2, 5)] {
        for scheme in Scheme::ALL {
            let c = chain(p, Derivative::Products(scheme), 3).unwrap();
            holds(&c);
            multiplies(&c);
            // backprop turns a product with so many multiplications into another one with as many
            let expected =
                if scheme == Scheme::Naive { (p as u128).pow(3) } else { 7u128.pow(levels) * (base * base * base) };
            assert_eq!(operations(&c.steps[6].program).unwrap().multiplications, expected, "{p} {scheme}");
            // and its cost was foretold without expanding anything
            let foretold = figures(p).unwrap().derivatives;
            assert!(foretold.contains(&(Derivative::Products(scheme), c.steps[0].cost)), "{p} {scheme}");
        }
    }
}

#[test]
fn another_seed_is_another_point_and_the_same_proof() {
    let one = |seed| costs(&chain(4, Derivative::Columns, seed).unwrap());
    assert_eq!(one(0), one(u64::MAX));
}

/// P' as forward mode at 0 has it: the columns are tangents, but the point is 0.
fn forward_at_zero(p: usize) -> Program {
    let tangents = crease::differentiate::jvp(&function(p).unwrap(), &How::default()).unwrap();
    let square = Shape::new([p, p]).unwrap();
    let mut b = Builder::new("wrong");
    let [left, m, a] = ["B", "M", "A"].map(|name| b.input(name, square.clone()).unwrap());
    let f = b.callee(Arc::new(tangents), None).unwrap();
    let turned = b.transpose(a, &[1, 0]).unwrap();
    let (zero, still) = (b.zeros(Shape::vector(p).unwrap()).unwrap(), b.zeros(square).unwrap());
    let mut each = Vec::new();
    for i in 0..p {
        let x = b.at(turned, &[i]).unwrap();
        each.push(b.push(Op::Call(f), &[zero, left, m, x, still, still]).unwrap()[1]);
    }
    b.finish(&each).unwrap()
}

/// The diagonal of B^T M A, which is right on S only.
fn only_on_s(p: usize) -> Program {
    let square = Shape::new([p, p]).unwrap();
    let mut b = Builder::new("wrong");
    let [left, m, a] = ["B", "M", "A"].map(|name| b.input(name, square.clone()).unwrap());
    let inner = b.matmul(m, a).unwrap();
    let terms = b.mul(left, inner).unwrap();
    let sums = b.sum(terms, &[0]).unwrap();
    b.finish(&[sums]).unwrap()
}

#[test]
fn a_program_of_other_derivatives_is_refused() {
    for wrong in [forward_at_zero(2), only_on_s(2)] {
        let error = prove(2, &wrong, 0).unwrap_err();
        assert!(matches!(error, ProofError::Disagrees { stage: Stage::Directional, .. }), "{error}");
    }
    // the same form with the point where it belongs is accepted
    prove(2, &directional(2, Derivative::Forward).unwrap(), 0).unwrap();
}

#[test]
fn a_program_that_does_not_fit_is_refused() {
    let error = prove(2, &trace(3, |y| abs(y[0] * y[1] * y[2])).unwrap(), 0).unwrap_err();
    assert_eq!(error, ProofError::Shape { order: 2, inputs: 3, outputs: 1 });
    let with_exp = trace(3, |y| abs(y[0] * y[1] * y[2]) + 0.0 * exp(y[0])).unwrap();
    assert_eq!(prove(1, &with_exp, 0).unwrap_err(), ProofError::Dictionary("exp".into()));
    let with_sine = trace(3, |y| abs(y[0] * y[1] * y[2]) + 0.0 * crease::sin(y[0])).unwrap();
    assert!(matches!(prove(1, &with_sine, 0).unwrap_err(), ProofError::Lower(_)));
    assert!(matches!(chain(3, Derivative::Columns, 0).unwrap_err(), ProofError::Program(_)));
}

#[test]
fn the_proof_takes_every_form_of_the_derivative() {
    // p = 1: F(x, b, m) = |b m x|
    let forms = [
        trace(3, |y| abs(y[0] * y[1] * y[2])).unwrap(),
        trace(3, |y| 2.0 * relu(y[0] * y[1] * y[2]) - y[0] * y[1] * y[2]).unwrap(),
        trace(3, |y| crease::max(&[y[0] * y[1] * y[2], -(y[0] * (y[1] * y[2]))])).unwrap(),
        trace(3, |y| abs(abs(y[0]) * y[1] * abs(y[2]))).unwrap(),
    ];
    for form in forms {
        let c = prove(1, &form, 9).unwrap();
        holds(&c);
        multiplies(&c);
        assert_eq!(c.on_kinks, 0);
    }
    // a ReLU that is 0 everywhere stays 0 by the convention ReLU'(0) = 0
    let with_zero = trace(3, |y| abs(y[0] * y[1] * y[2]) + relu(y[0] - y[0])).unwrap();
    let c = prove(1, &with_zero, 9).unwrap();
    holds(&c);
    assert_eq!(c.on_kinks, 1);
}

#[test]
fn directional_derivatives_get_dearer_and_backprop_does_not() {
    let at = |p: usize| figures(p).unwrap();
    for p in [16, 64, 128, 256] {
        let f = at(p);
        let of = |how: Derivative| f.overhead(f.derivatives.iter().find(|d| d.0 == how).unwrap().1);
        assert_eq!(of(Derivative::Columns), p as f64);
        assert_eq!(of(Derivative::Products(Scheme::Naive)), p as f64);
        assert!((f.overhead(f.backprop) - 7.0 / 3.0).abs() < 0.1); // 14 p^2 for 6 p^2
        // twice the order multiplies the overhead by 7/4, but for lower terms, instead of 2
        let next = at(2 * p);
        for scheme in [Scheme::Strassen, Scheme::Winograd] {
            let growth = next
                .overhead(next.derivatives.iter().find(|d| d.0 == Derivative::Products(scheme)).unwrap().1)
                / of(Derivative::Products(scheme));
            assert!((growth - 1.75).abs() < if p < 64 { 0.15 } else { 0.08 }, "{p} {scheme} {growth}");
        }
        // the bound is below what we have, as it must be
        let n = p as u128;
        assert!(f.bound(2 * n * n * n - n * n) < of(Derivative::Products(Scheme::Naive)));
    }
}
