//! Programs whose gradient is 0, or almost, as no number of bits shows.

use super::{BITS, Case};
use crate::precise::{Arithmetic, Number, Slopes, evaluate};
use crate::random::Rng;
use crease_core::{Rational, Tensor};
use crease_formats::parse;

/// Functions of `x`, and their slopes at `c`.
const FUNCTIONS: &[(&str, &str)] = &[
    ("x * log(x) - x", "log(c)"),
    ("exp(x)", "exp(c)"),
    ("exp(log(x))", "1"),
    ("log(exp(x))", "1"),
    ("sin(x)", "cos(c)"),
    ("cos(x)", "-sin(c)"),
    ("sin(x)^2 + cos(x)^2", "0"),
    ("sqrt(x)", "1 / (2 * sqrt(c))"),
    ("tanh(x)", "(1 - tanh(c)^2)"),
    ("sigmoid(x)", "sigmoid(c) * (1 - sigmoid(c))"),
    ("softplus(x)", "sigmoid(c)"),
    ("erf(x)", "exp(-c^2) / sqrt(atan(1))"),
    ("x^(1/3)", "c^(1/3) / c / 3"),
    ("logsumexp(x, 2 * x)", "(1 + sigmoid(c))"),
    ("sinh(x)", "cosh(c)"),
    ("atan(x) * sqrt(2)", "sqrt(2) / (1 + c^2)"),
];

/// A sum of such functions, less their slopes, with what is added to the slopes.
pub(super) fn case(seed: u64, rng: &mut Rng) -> Option<Case> {
    let inputs = 1 + rng.below(2);
    let (mut terms, mut point, mut gradient) = (Vec::new(), Vec::new(), Vec::new());
    for name in ["u", "v"].iter().take(inputs) {
        let at = Rational::new(rng.between(1, 30), *rng.pick(&[1, 2, 7, 10])).unwrap_or_default();
        let added = rng.pick(&["0", "0", "1e-20", "-1e-20", "1e-40", "-1e-30", "1e-9"]);
        let (f, slope) = rng.pick(FUNCTIONS);
        // no name of a function has an x or a c that stands alone
        let put = |text: &str, letter: char, with: &str| {
            let is_alone = |i: usize| {
                let beside = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
                !beside(text[..i].chars().next_back()) && !beside(text[i + 1..].chars().next())
            };
            text.char_indices()
                .map(|(i, c)| if c == letter && is_alone(i) { with.to_string() } else { c.to_string() })
                .collect::<String>()
        };
        let c = format!("({at})");
        terms.push(format!("{} - {name} * ({} - ({added}))", put(f, 'x', name), put(slope, 'c', &c)));
        gradient.push(Number::Exact(added.parse::<Rational>().ok()?.into()));
        point.push(Tensor::scalar(at));
    }
    let names = ["u", "v"][..inputs].join(", ");
    let text = format!("program f({names}) = {}\n", terms.join(" + "));
    let program = match parse(&text) {
        Ok(module) => module.main().as_ref().clone(),
        Err(e) => panic!("{e}\n{text}"),
    };
    let value = evaluate(&program, &point, &Arithmetic::new(BITS)).ok()?.pop()?;
    Some(Case { seed, kind: "almost stationary", program, point, truth: Slopes { value, gradient } })
}
