//! The hostile generator: the same seed gives the same case, cases can be read back, and they are as hostile as they should be.

use crease_core::{Program, kinks};
use crease_corpus::hostile::case;
use crease_corpus::operations;
use crease_corpus::precise::{Arithmetic, Fault, evaluate};
use crease_formats::parse;
use std::collections::BTreeMap;

const CASES: u64 = 600;

#[test]
fn a_case_is_its_seed() {
    let mut distinct = std::collections::BTreeSet::new();
    for seed in 0..CASES {
        let text = case(seed).to_string();
        assert_eq!(text, case(seed).to_string());
        // the last line names the seed
        distinct.insert(text.lines().rev().skip(1).map(str::to_string).collect::<Vec<_>>());
    }
    assert!(distinct.len() as u64 > CASES * 9 / 10, "only {} of {CASES} cases are different", distinct.len());
}

#[test]
fn a_case_reads_back() {
    for seed in 0..CASES {
        let c = case(seed);
        let text = c.to_string();
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(**module.main(), c.program, "{text}");
        assert_eq!(c.program.inputs().len(), c.point.len());
        assert_eq!(c.program.outputs().len(), 1);
    }
}

fn count(p: &Program, counts: &mut BTreeMap<&'static str, u64>) {
    for e in p.equations() {
        *counts.entry(operations::name(e.op)).or_default() += 1;
    }
}

/// Whether an operation is a part of derived programs alone, which the evaluator at hundreds of bits does not know.
fn is_derived(name: &str) -> bool {
    name.contains('\'') || name.starts_with("permute ")
}

/// All that there are: an operation that is new fails this until the generator draws it.
#[test]
fn all_operations_come_up() {
    let mut counts = BTreeMap::new();
    for seed in 0..8 * CASES {
        let c = case(seed);
        c.program.library().iter().for_each(|p| count(p, &mut counts));
        count(&c.program, &mut counts);
    }
    for name in operations::ALL.iter().filter(|name| !is_derived(name)) {
        let times = counts.get(name).copied().unwrap_or(0);
        assert!(times >= 5, "`{name}` comes up {times} times in {} cases: {counts:?}", 8 * CASES);
    }
    assert!(counts.keys().all(|name| !is_derived(name)), "{counts:?}");
}

/// Most cases have a value, a good part of them is at a kink, and some are at the border of what has a value.
#[test]
fn cases_are_at_kinks() {
    let arithmetic = Arithmetic::new(300);
    let (mut valued, mut without, mut kinked) = (0, 0, 0);
    for seed in 0..CASES {
        let c = case(seed);
        match evaluate(&c.program, &c.inputs(), &arithmetic) {
            Ok(_) => valued += 1,
            Err(Fault::NoValue(_)) => without += 1,
            Err(_) => {}
        }
        let doubles: Vec<_> = c.inputs().iter().map(|t| t.map(crease_core::Rational::to_f64)).collect();
        if let Ok((_, hits)) = kinks(&c.program, &doubles)
            && !hits.is_empty()
        {
            kinked += 1;
        }
    }
    assert!(valued > CASES * 9 / 10, "{valued} of {CASES} have a value");
    assert!(without > 0, "all have a value");
    assert!(kinked > CASES / 2, "{kinked} of {CASES} are at a kink");
}
