//! Random programs: never dearer, always equal, always over the dictionary.

mod equal;

use crease_core::Limits;
use crease_core::cost::{Prices, cost};
use crease_core::dictionary::{self, outside};
use crease_core::{Program, Rational};
use crease_corpus::random::{Dictionary, Options as Kind, Rng, any_options, program};
use crease_saturate::{Options, Verified, simplest};
use equal::assert_equal;

/// Small limits: many programs rather than much for each of them.
fn quick<'a>() -> Options<'a> {
    Options { limits: Limits { terms: 600, rounds: 4, ..Limits::default() }, ..Options::default() }
}

fn check(p: &Program, o: &Options<'_>) -> bool {
    let found = simplest(p, o).unwrap_or_else(|e| panic!("{e}\n{p}"));
    assert_eq!(cost(&found.program), found.after);
    assert!(found.after.at(o.prices) <= found.before.at(o.prices), "{p}\n{}", found.program);
    if !found.lowered {
        assert!(found.after.at(o.prices) <= cost(p).at(o.prices), "{p}\n{}", found.program);
    }
    assert!(outside(&found.program, o.dictionary).is_empty());
    if let Verified::Not(why) = &found.verified {
        assert!(why.contains("evaluat"), "{why}\n{p}");
    }
    assert_equal(p, &found.program);
    found.after != found.before
}

#[test]
fn never_dearer_and_always_equal() {
    let mut rng = Rng::new(4);
    let mut improved = 0;
    for _ in 0..150 {
        let options = any_options(&mut rng, 7);
        improved += usize::from(check(&program(&mut rng, &options), &quick()));
    }
    assert!(improved > 20, "{improved}");
}

#[test]
fn over_the_dictionaries_of_the_paper() {
    let mut rng = Rng::new(5);
    for _ in 0..30 {
        for (kind, dictionary) in [
            (Dictionary::D0, dictionary::Dictionary::D0),
            (Dictionary::Relu, dictionary::Dictionary::Relu),
            (Dictionary::Polynomial, dictionary::Dictionary::Polynomial),
        ] {
            let p = program(&mut rng, &Kind::new(kind).equations(8).inputs(3));
            // a constant in the place of a value puts a program outside D0
            if let Err(e) = simplest(&p, &Options { dictionary, ..quick() }) {
                assert!(e.to_string().contains("cannot be expressed"), "{e}");
                continue;
            }
            check(&p, &Options { dictionary, ..quick() });
        }
    }
}

#[test]
fn at_other_prices() {
    let mut rng = Rng::new(6);
    for (nonlin, relu) in [(3, (0, 1)), (1, (1, 3)), (10, (5, 1))] {
        let prices = Prices { nonlin: Rational::from(nonlin), relu: Rational::new(relu.0, relu.1).unwrap() };
        for _ in 0..25 {
            let options = any_options(&mut rng, 7);
            check(&program(&mut rng, &options), &Options { prices: &prices, ..quick() });
        }
    }
}

#[test]
fn piecewise_linear_programs_are_proved() {
    let mut rng = Rng::new(7);
    let mut proved = 0;
    for _ in 0..40 {
        let p = program(&mut rng, &Kind::new(Dictionary::PiecewiseLinear).equations(6).inputs(2));
        let found = simplest(&p, &quick()).unwrap();
        if found.after != found.before {
            assert!(found.verified.is_proved(), "{}\n{p}\n{}", found.verified, found.program);
            proved += 1;
        }
    }
    assert!(proved > 5, "{proved}");
}

#[test]
fn regions_of_large_random_programs() {
    let mut rng = Rng::new(8);
    for _ in 0..4 {
        let p = program(&mut rng, &Kind::new(Dictionary::Everything).exact().equations(120).inputs(3).outputs(2));
        check(&p, &Options { region: 20, ..quick() });
    }
}
