//! What the parts of saturation may take is a limit with a name, which can be raised and lowered; when time is up, what was found is kept if it is verified.

mod equal;

use crease_core::cost::Price;
use crease_core::limits::SaturationLimits;
use crease_core::{Cancel, InlineError, Limits, Program, inline_within};
use crease_formats::{parse, parse_expression};
use crease_saturate::{Error, Options, Progress, Simplest, Verified, simplest};
use equal::assert_equal;
use std::time::Duration;

const NONE: SaturationLimits = SaturationLimits::DEFAULT;

fn read(text: &str) -> Program {
    parse_expression(text, &|_| None).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

fn within(text: &str, limits: Limits) -> Simplest {
    let p = read(text);
    let found = simplest(&p, &Options { limits, ..Options::default() }).expect("a result");
    assert_equal(&p, &found.program);
    found
}

fn with(text: &str, saturation: SaturationLimits) -> Simplest {
    within(text, Limits { saturation, ..Limits::default() })
}

/// What it costs after, at unit prices.
fn after(text: &str, saturation: SaturationLimits) -> f64 {
    with(text, saturation).after.at(Options::default().prices).to_f64()
}

const PRODUCT: &str = "(x + y + z) * (x - y + z) * (x + y - z) * (y + z - x)";

#[test]
fn saturations_and_matches_of_a_law() {
    assert_eq!(
        (
            with("x * y + x * z", NONE).iterations > 0,
            with("x * y + x * z", SaturationLimits { again: 0, ..NONE }).iterations
        ),
        (true, 0)
    );
    let few = with(PRODUCT, SaturationLimits { matches: 1, again: 1, ..NONE });
    assert!(few.nodes < with(PRODUCT, SaturationLimits { again: 1, ..NONE }).nodes / 2, "{}", few.nodes);
}

#[test]
fn choices_of_terms() {
    // with one term for each value there is nothing to choose
    let one = SaturationLimits { alternatives: 1, ..NONE };
    assert!(after(PRODUCT, one) >= after(PRODUCT, NONE));
    let text = "x * y + x * z + y * z + x * x + relu(x - y) + y";
    assert!(after(text, one) > after(text, NONE));
    assert!(with("x * y + x * z", NONE).optimal);
    // what was not searched to the end may not be the cheapest
    assert!(!with("x * y + x * z", SaturationLimits { search: 0, ..NONE }).optimal);
    let lazy = SaturationLimits { search: 0, changes: 0, ..NONE };
    assert!(after(PRODUCT, lazy) >= after(PRODUCT, NONE));
}

#[test]
fn normal_forms() {
    let words = |text: &str, saturation| with(text, saturation).verified;
    assert_eq!(words("x * y + x * z", NONE), Verified::NormalForm);
    let short = SaturationLimits { monomials: 1, ..NONE };
    assert!(matches!(words("x * y + x * z", short), Verified::Field { .. }));
    let square = "(x + y)^2 + (x + y)^2 * z - (x + y)^2";
    let flat = SaturationLimits { exponent: 1, ..NONE };
    assert_eq!(words(square, NONE), Verified::NormalForm);
    assert_ne!(words(square, flat), Verified::NormalForm);
    let long = "12345678901234567890 * x * y + 12345678901234567890 * x * z";
    assert_eq!(words(long, NONE), Verified::NormalForm);
    assert_ne!(words(long, SaturationLimits { coefficient: 8, ..NONE }), Verified::NormalForm);
}

const CURVED: &str = "max(exp(x), max(exp(y), max(exp(x), z)))";

#[test]
fn points_of_comparison() {
    let tested = |compared| match with(CURVED, SaturationLimits { compared, monomials: 0, ..NONE }).verified {
        Verified::Tested { points, .. } => points,
        Verified::Not(why) => panic!("{why}"),
        other => panic!("{other}"),
    };
    let (few, usual, many) = (tested(20), tested(NONE.compared), tested(200));
    assert!(few <= 20 && few < usual && usual < many, "{few} {usual} {many}");
    // fewer than are enough verify nothing, and then there is no other program
    let none = with(CURVED, SaturationLimits { compared: 5, monomials: 0, ..NONE });
    assert!(matches!(none.verified, Verified::Not(_)));
    assert_eq!(none.after, none.before);
}

#[test]
fn degrees_that_are_evaluated_exactly() {
    let cheaper = "(x * y + x * z)^30";
    let blind = SaturationLimits { monomials: 1, ..NONE };
    assert!(matches!(with(cheaper, blind).verified, Verified::Field { .. }));
    assert!(matches!(with(cheaper, SaturationLimits { degree: 0, ..blind }).verified, Verified::Field { .. }));
}

/// Both limits on conflicts hold: that of verification, and that on searches for a verdict.
#[test]
fn conflicts_on_cones() {
    let text = "max(x, max(y, max(z, max(x, max(w, max(y, max(u, x)))))))";
    let blind = SaturationLimits { monomials: 1, ..NONE };
    let proved = |conflicts, cones| {
        let limits = Limits { conflicts, saturation: SaturationLimits { cones, ..blind }, ..Limits::default() };
        within(text, limits).verified
    };
    assert_eq!(proved(u64::MAX, NONE.cones), Verified::Cones);
    for (conflicts, cones) in [(u64::MAX, 0), (0, u64::MAX)] {
        assert!(matches!(proved(conflicts, cones), Verified::Tested { .. }), "{}", proved(conflicts, cones));
    }
}

/// Whenever it is stopped, what was found by then is returned, if it could be verified.
#[test]
fn a_stop_is_noticed_in_verification() {
    let blind = SaturationLimits { monomials: 0, ..NONE };
    let usual = Limits { saturation: blind, ..Limits::default() };
    let points = |found: &Simplest| match found.verified {
        Verified::Tested { points, .. } => points,
        ref other => panic!("{other}"),
    };
    let all = points(&within(CURVED, usual.clone()));
    assert!(all > 12, "{all}");
    // no more points than are enough, after a stop and when time is up
    let cancel = Cancel::new();
    let watch = |progress: &Progress| {
        if progress.iterations == 3 {
            cancel.stop();
        }
    };
    let p = read(CURVED);
    let limits = usual.clone().cancelled_by(&cancel);
    let found = simplest(&p, &Options { limits, watch: Some(&watch), ..Options::default() }).unwrap();
    assert_equal(&p, &found.program);
    let price = |p: &Price| p.at(Options::default().prices);
    assert!(price(&found.after) < price(&found.before) && points(&found) == 12, "{} {}", found.after, found.verified);
    // enough is enough however many points there should have been
    let endless = SaturationLimits { compared: usize::MAX, ..blind };
    let limits = Limits { saturation: endless, ..usual }.within(Duration::from_millis(1500));
    assert!(points(&within(CURVED, limits)) >= 12);
}

#[test]
fn points_that_are_nowhere_in_the_domain_end_when_time_is_up() {
    let endless = SaturationLimits { compared: usize::MAX, monomials: 0, ..NONE };
    let limits = Limits { saturation: endless, ..Limits::default() }.within(Duration::from_millis(1000));
    let p = read("log(-1 - max(exp(x), max(exp(y), max(exp(x), 1))))");
    let found = simplest(&p, &Options { limits, ..Options::default() }).unwrap();
    assert!(matches!(found.verified, Verified::Not(_)), "{}", found.verified);
    assert_eq!(found.program, p);
}

#[test]
fn searches_of_choices_end_when_time_is_up() {
    let endless = SaturationLimits { search: usize::MAX, changes: usize::MAX, again: 1, ..NONE };
    let limits = Limits { saturation: endless, rounds: 3, ..Limits::default() }.within(Duration::from_millis(500));
    let wide = "(a + b + c + d + e) * (a - b + c - d) * (b + c - d - a + e) * (c + d - a + b) * (a + d - e) + (a + c) * (d - e)";
    assert!(!within(wide, limits).optimal);
}

#[test]
fn calls_and_loops_are_expanded_within_the_limit() {
    let text = "program square(x) = x * x\nprogram f(x) {\n  let y = square(x)\n  let z = square(y)\n  return square(z) + z\n}\n";
    let p = parse(text).unwrap().main().clone();
    let few = Limits { equations: 3, ..Limits::default() };
    assert!(matches!(inline_within(&p, 3), Err(InlineError::TooLarge { .. })));
    let error = simplest(&p, &Options { limits: few, ..Options::default() }).unwrap_err();
    assert!(matches!(error, Error::Inline(InlineError::TooLarge { limit: 3, .. })), "{error}");
    assert!(error.to_string().ends_with("raise `equations`"), "{error}");
    assert!(simplest(&p, &Options::default()).is_ok());
}
