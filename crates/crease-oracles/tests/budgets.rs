//! What questions may take where coefficients are enclosed is a limit with a name, which can be raised and lowered; a stop is noticed.

use crease_core::limits::OracleLimits;
use crease_core::local::{LocalModel, Precision, localize_within};
use crease_core::{Limits, Rational, Tensor};
use crease_formats::parse_expression;
use crease_oracles::{Effort, Limit, Session, Verdict};
use std::time::Duration;

fn at_zero(text: &str, bits: u32) -> LocalModel {
    let p = parse_expression(text, &|_| None).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    let at = vec![Tensor::scalar(Rational::ZERO); p.inputs().len()];
    localize_within(&p, &at, Precision { bits, limit: bits }, &Limits::default()).unwrap()
}

fn within(oracles: OracleLimits) -> Limits {
    Limits { oracles, ..Limits::default() }
}

/// It is not 0 in one quadrant of four, which a direction and its opposite may both miss.
const CORNER: &str = "exp(x + 1) * min(relu(x), relu(y))";

fn verdict(model: &LocalModel, seed: u64, limits: &Limits) -> Verdict {
    let effort = Effort { directions: 1, limits: limits.clone(), seed, ..Effort::default() };
    Session::new(model, 0).within(limits).differentiable(&effort).unwrap().verdict
}

#[test]
fn directions_for_a_second_gradient() {
    let model = at_zero(CORNER, 64);
    let no = |enclosed_directions| {
        let limits = within(OracleLimits { enclosed_directions, ..OracleLimits::DEFAULT });
        (0..40).filter(|&seed| matches!(verdict(&model, seed, &limits), Verdict::No(_))).count()
    };
    let few = no(0);
    assert!(few > 0 && few < no(OracleLimits::DEFAULT.enclosed_directions), "{few}");
    assert_eq!(no(100), 40);
    assert_eq!(no(u32::MAX), 40); // the first that shows it ends the search
}

#[test]
fn they_end_when_time_is_up() {
    let model = at_zero(CORNER, 64);
    let endless = OracleLimits { enclosed_directions: u32::MAX, ..OracleLimits::DEFAULT };
    let limits = within(endless).within(Duration::ZERO);
    let late = |seed| matches!(verdict(&model, seed, &limits), Verdict::Unknown { limit: Limit::Time, .. });
    assert!((0..40).any(late));
    // one gradient everywhere, so that there is no second one to be found
    let identity = at_zero("relu(exp(x) * relu(x) - exp(1) * relu(-x)) - exp(2 * y) * y", 64);
    let soon = within(endless).within(Duration::from_millis(50));
    assert!(!matches!(verdict(&identity, 1, &soon), Verdict::Yes(_)));
}

#[test]
fn directions_where_enclosures_do_not_tell() {
    // along many directions numbers of 16 bits do not tell which is larger
    let model = at_zero("max(exp(x + 1) * x, 2.7182818 * x + y / 4096)", 16);
    let found = |enclosed_attempts| {
        let limits = within(OracleLimits { enclosed_attempts, ..OracleLimits::DEFAULT });
        (0..60).filter(|&seed| Session::new(&model, 0).within(&limits).clarke_element(seed).is_ok()).count()
    };
    let [one, four, forty] = [1, OracleLimits::DEFAULT.enclosed_attempts, 40].map(found);
    assert!(0 < one && one < four && four <= forty, "{one} {four} {forty}");
}

#[test]
fn norms_that_cancel_take_terms() {
    let model = at_zero("norm2(x, y) - norm2(y, x) + x", 64);
    let word = |squares| {
        let limits = within(OracleLimits { squares, ..OracleLimits::DEFAULT });
        Session::new(&model, 0).within(&limits).differentiable(&Effort::default()).unwrap().verdict.word()
    };
    assert_eq!([1000, 3].map(word), ["yes", "unknown"]);
}
