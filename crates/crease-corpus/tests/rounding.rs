//! Cases for rounding: the same seed gives the same case, doubles get them wrong, or right, as they should, and truths are true.

use crease_core::{Rational, Tensor, run};
use crease_corpus::precise::{Number, slopes};
use crease_corpus::rounding::{BITS, Case, almost_stationary, benign, doubles, hostile};
use std::collections::BTreeMap;

const CASES: u64 = 120;

/// Whether a run in doubles gives six digits of the value.
fn is_right_in_doubles(case: &Case) -> bool {
    let near: Vec<Tensor<f64>> = case.point.iter().map(|t| t.map(Rational::to_f64)).collect();
    let truth = case.truth.value.to_f64();
    match run(&case.program, &near) {
        Ok(out) => (out[0].data()[0] - truth).abs() <= 1e-6 * truth.abs(),
        Err(_) => false,
    }
}

#[test]
fn a_case_is_its_seed() {
    for seed in 0..20 {
        assert_eq!(hostile(seed).to_string(), hostile(seed).to_string());
        assert_eq!(benign(seed).to_string(), benign(seed).to_string());
    }
}

#[test]
fn doubles_get_hostile_cases_wrong() {
    let mut kinds: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for seed in 0..CASES {
        let case = hostile(seed);
        let count = kinds.entry(case.kind).or_default();
        count.0 += 1;
        count.1 += u64::from(!is_right_in_doubles(&case));
    }
    let wrong: u64 = kinds.values().map(|(_, wrong)| wrong).sum();
    println!("{kinds:?}");
    assert!(wrong > CASES / 4, "{wrong} of {CASES}: {kinds:?}");
    assert!(kinds.len() == 4 && kinds.values().all(|(n, wrong)| *n > 5 && *wrong > 0), "{kinds:?}");
}

#[test]
fn doubles_get_benign_cases_right() {
    let right = (0..CASES).filter(|seed| is_right_in_doubles(&benign(*seed))).count() as u64;
    assert!(right >= CASES - 1, "{right} of {CASES}");
}

#[test]
fn constructed_gradients_are_those_of_quotients() {
    let (mut compared, mut zeros) = (0, 0);
    for seed in 0..60 {
        let case = almost_stationary(seed);
        let quotients = match slopes(&case.program, &case.point, BITS) {
            Ok(found) => found.gradient,
            // quotients that are 0 but for rounding do not agree
            Err(_) => continue,
        };
        compared += 1;
        for (known, quotient) in case.truth.gradient.iter().zip(&quotients) {
            let (known, quotient) = (known.to_f64(), quotient.to_f64());
            assert!((known - quotient).abs() <= 1e-200 + 1e-12 * known.abs(), "{quotient:e} is not {known:e}: {case}");
        }
    }
    for seed in 0..60 {
        zeros += u32::from(almost_stationary(seed).truth.gradient.iter().all(|x| *x.exact().unwrap() == 0.into()));
    }
    assert!(compared > 20 && (6..50).contains(&zeros), "{compared} compared, {zeros} are stationary");
}

#[test]
fn numbers_are_sums_of_doubles() {
    let third = Number::Exact(Rational::new(1, 3).unwrap().into());
    assert_eq!(doubles(&third, 2).unwrap(), [1.0 / 3.0, 1.850371707708594e-17]);
}
