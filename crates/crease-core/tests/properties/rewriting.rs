//! Rewriting: simplified and lowered programs compute the same function, the former at no higher cost, the latter in the
//! dictionary asked for.

use crate::support::{Verdict, check_programs, derived, ensure, outputs, shown};
use crease_core::cost::{Prices, cost};
use crease_core::dictionary::{Dictionary, LowerError, lower, outside};
use crease_core::differentiate::How;
use crease_core::{Program, Rational, Tensor, simplify};
use crease_corpus::random::{self, Options, Rng, any_options, generic_point, origin, tied_point};

fn same_function(name: &str, p: &Program, q: &Program, x: &[Tensor<Rational>]) -> Verdict {
    // what is not computed any more cannot fail any more
    let Ok(before) = outputs(p, x) else { return Ok(()) };
    let after = outputs(q, x)?;
    ensure(before == after, || format!("{name} at {}: {} became {}\n{q}", shown(x), shown(&before), shown(&after)))
}

fn simplified(name: &str, p: &Program, rng: &mut Rng) -> Verdict {
    let s = simplify(p).map_err(|e| e.to_string())?;
    for x in [generic_point(rng, p), tied_point(rng, p), origin(p)] {
        same_function(name, p, &s, &x)?;
    }
    let (before, after) = (cost(p).at(&Prices::unit()), cost(&s).at(&Prices::unit()));
    ensure(after <= before, || format!("{name}: cost {before} became {after}\n{s}"))?;
    let again = simplify(&s).map_err(|e| e.to_string())?;
    let once_more = cost(&again).at(&Prices::unit());
    ensure(once_more <= after, || format!("{name}: simplified twice, cost {after} became {once_more}\n{again}"))
}

#[test]
fn simplified_programs_compute_the_same_at_no_higher_cost() {
    check_programs(80, 1000, 12, |rng, n| any_options(rng, n).exact(), |p, rng| simplified("itself", p, rng));
}

#[test]
fn simplified_derived_programs_compute_the_same_at_no_higher_cost() {
    check_programs(
        81,
        250,
        7,
        |rng, n| any_options(rng, n).exact(),
        |p, rng| derived(p, &How::default())?.iter().try_for_each(|(name, d)| simplified(name, d, rng)),
    );
}

#[test]
fn what_is_read_twice_in_the_same_way_is_computed_once() {
    let source = "program f(A[2, 3], x[3]) = sum(tanh(A @ x)) * sum(tanh(A @ x))";
    let f = crease_formats::parse(source).expect("it parses").main().clone();
    let once = "program f(A[2, 3], x[3]) { let s = sum(tanh(A @ x)) return s * s }";
    let once = crease_formats::parse(once).expect("it parses").main().clone();
    assert_eq!(simplify(&f).unwrap(), simplify(&once).unwrap());
}

fn drawn(dictionary: random::Dictionary) -> impl Fn(&mut Rng, usize) -> Options {
    move |rng, n| Options::new(dictionary).inputs(1 + rng.below(3)).equations(n).calls(rng.below(3))
}

#[test]
fn programs_over_a_dictionary_are_inside_it() {
    let inside = |dictionary: Dictionary| {
        move |p: &Program, _: &mut Rng| {
            let why = outside(p, dictionary);
            ensure(why.is_empty(), || why[0].to_string())
        }
    };
    check_programs(82, 300, 12, drawn(random::Dictionary::D0), inside(Dictionary::D0));
    // a call may return a constant, and arithmetic on constants alone is in no dictionary of the paper
    let relu = |rng: &mut Rng, n: usize| drawn(random::Dictionary::Relu)(rng, n).calls(0);
    check_programs(83, 300, 12, relu, inside(Dictionary::Relu));
    check_programs(84, 300, 12, relu, inside(Dictionary::ReluDerived));
    check_programs(85, 300, 12, any_options, inside(Dictionary::Extended));
}

#[test]
fn a_joint_program_does_not_put_its_program_outside() {
    // relu' belongs to the derived dictionary, in which derivatives are written
    let source = "program g(x) = relu(x)  joint g(x) = relu'(x, at=1)  program f(x) = g(x) + x";
    let f = crease_formats::parse(source).expect("it parses").main().clone();
    assert!(outside(&f, Dictionary::D0).is_empty(), "{}", outside(&f, Dictionary::D0)[0]);
}

/// Lowered, a program is inside the dictionary and computes the same; or it says which operation cannot be expressed.
fn lowered(p: &Program, dictionary: Dictionary, rng: &mut Rng, done: &std::cell::Cell<usize>) -> Verdict {
    let l = match lower(p, dictionary) {
        Ok(l) => l,
        Err(LowerError::Outside { .. }) => return Ok(()),
        Err(e) => return Err(e.to_string()),
    };
    done.set(done.get() + 1);
    ensure(l.verify().is_empty(), || format!("{:?}\n{l}", l.verify()))?;
    let why = outside(&l, dictionary);
    ensure(why.is_empty(), || format!("{}\n{l}", why[0]))?;
    for x in [generic_point(rng, p), tied_point(rng, p)] {
        same_function("lowered", p, &l, &x)?;
    }
    Ok(())
}

#[test]
fn lowered_programs_are_inside_the_dictionary_and_compute_the_same() {
    let done = std::cell::Cell::new(0);
    check_programs(
        86,
        500,
        8,
        |rng, n| any_options(rng, n).exact().continuous(),
        |p, rng| {
            lowered(p, Dictionary::Relu, rng, &done)?;
            lowered(p, Dictionary::ReluDerived, rng, &done)?;
            lowered(p, Dictionary::Polynomial, rng, &done)?;
            lowered(p, Dictionary::Extended, rng, &done)
        },
    );
    assert!(done.get() > 800, "only {} programs could be lowered", done.get());
    let done = std::cell::Cell::new(0);
    let linear = |rng: &mut Rng, n: usize| drawn(random::Dictionary::PiecewiseLinear)(rng, n).exact();
    check_programs(87, 500, 8, linear, |p, rng| lowered(p, Dictionary::D0, rng, &done));
    assert!(done.get() > 50, "only {} programs could be lowered to D0", done.get());
}

#[test]
fn backprop_of_a_relu_program_is_inside_the_derived_dictionary_once_lowered() {
    let done = std::cell::Cell::new(0);
    check_programs(
        88,
        300,
        8,
        |rng, n| drawn(random::Dictionary::Relu)(rng, n).exact(),
        |p, rng| {
            let d = crease_core::differentiate::backprop(p, &How::default()).map_err(|e| e.to_string())?;
            lowered(&d, Dictionary::ReluDerived, rng, &done)
        },
    );
    assert!(done.get() > 250, "only {} gradients could be lowered", done.get());
}
