//! What the library claims about a case, against the truth.

use crate::text::{Printed, printed};
use crease::inspect::{Answer, Ask, Inspection, Numbers, Status, Task, Wanted, all_gradients, inspect};
use crease::{Limits, Rational};
use crease_corpus::precise::{Arithmetic, Number};
use crease_corpus::rounding::{BITS, Case, encloses};
use crease_oracles::Stationarity;
use serde_json::Value;
use std::cmp::Ordering;

/// What six digits are.
const SIX: f64 = 1e-6;

/// One case in so many is also asked for all its gradients, and whether one is 0.
const STATIONARY: u64 = 4;

/// What was found about a case.
#[derive(Debug, Default)]
pub struct Examined {
    /// Claims that are wrong.
    pub wrong: Vec<String>,
    /// Whether the value and all derivatives are certain to six digits.
    pub six_digits: bool,
    /// Why there is no answer.
    pub refused: Option<String>,
}

/// Whether a double with a bound, which may be infinite, holds the truth.
fn is_within(truth: &Number, near: f64, radius: f64) -> bool {
    let exactly = |(near, radius)| encloses(truth, &near, &radius);
    radius == f64::INFINITY || Rational::from_f64(near).zip(Rational::from_f64(radius)).is_some_and(exactly)
}

/// Whether an answer holds the truth, and whether it is certain to six digits.
fn check_answer(of: &str, truths: &[Number], answer: &Answer, wrong: &mut Vec<String>) -> bool {
    let mut certain = true;
    for (k, (truth, near)) in truths.iter().zip(answer.near.data()).enumerate() {
        let exact = answer.exact.as_ref().map(|t| &t.data()[k]);
        let radius = answer.radius.as_ref().map(|t| t.data()[k]);
        let says = |what: String| format!("{of}[{k}] {what}, but it is {:e}", truth.to_f64());
        match (exact, radius) {
            (Some(exact), _) => {
                if !encloses(truth, exact, &Rational::ZERO) {
                    wrong.push(says(format!("is exactly {exact}")));
                }
                if exact.to_f64() != *near {
                    wrong.push(says(format!("is {near:e} and exactly {exact}")));
                }
            }
            (None, Some(radius)) => {
                if radius < 0.0 || !is_within(truth, *near, radius) {
                    wrong.push(says(format!("is {near:e} ± {radius:e}")));
                }
                certain &= radius <= SIX * near.abs();
            }
            (None, None) => certain = false,
        }
    }
    if truths.len() != answer.near.data().len() {
        wrong.push(format!("{of} has {} numbers, not {}", answer.near.data().len(), truths.len()));
    }
    certain
}

/// Whether printed numbers are those of the truth.
fn check_text(of: &str, truths: &[Number], printed: Option<Vec<Printed>>, wrong: &mut Vec<String>) {
    let Some(printed) = printed else { return wrong.push(format!("{of}: its text cannot be read")) };
    for (truth, p) in truths.iter().zip(&printed) {
        if !Rational::from_f64(p.radius).is_some_and(|radius| encloses(truth, &p.near, &radius)) {
            wrong.push(format!("{of} prints {}, but it is {:e}", p.text, truth.to_f64()));
        }
    }
    if truths.len() != printed.len() {
        wrong.push(format!("{of} prints {} numbers, not {}", printed.len(), truths.len()));
    }
}

/// Whether numbers in JSON, and their bounds, hold the truth; those without a bound are exact.
fn check_json(of: &str, truths: &[Number], near: &Value, radius: Option<&Value>, wrong: &mut Vec<String>) {
    let (near, radius) = (flat(near), radius.map(flat).unwrap_or_default());
    if near.len() != truths.len() || !radius.is_empty() && radius.len() != truths.len() {
        let (n, r) = (near.len(), radius.len());
        return wrong.push(format!("{of} has {n} numbers and {r} bounds in JSON, not {}", truths.len()));
    }
    for (k, truth) in truths.iter().enumerate() {
        let bound = radius.get(k).copied();
        // a number that is exact is printed as the nearest double
        let bound = bound.unwrap_or(near[k].abs() * f64::EPSILON / 2.0);
        if !is_within(truth, near[k], bound) {
            wrong.push(format!("{of}[{k}] is {:e} ± {bound:e} in JSON, but it is {:e}", near[k], truth.to_f64()));
        }
    }
}

/// All numbers of arrays of arrays, or of an object of such. What has no bound, or no double, is null.
fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Number(n) => n.as_f64().into_iter().collect(),
        Value::Array(all) => all.iter().flat_map(flat).collect(),
        Value::Object(all) => all.values().flat_map(flat).collect(),
        Value::Null => vec![f64::INFINITY],
        Value::Bool(_) | Value::String(_) => Vec::new(),
    }
}

/// Whether an answer is given as certain.
fn is_told(a: &Answer) -> bool {
    a.exact.is_some() || a.radius.is_some()
}

/// Asks everything about a case.
pub fn examine(case: &Case) -> Examined {
    let mut found = Examined::default();
    let ask = Ask { numbers: if case.seed % 8 == 7 { Numbers::Float } else { Numbers::Auto }, ..Ask::default() };
    match inspect(&case.program, &case.point, &ask) {
        Ok(i) => inspection(case, &i, &mut found),
        Err(e) => {
            found.refused = Some(e.to_string());
            // all cases have a value and a gradient, which only lack of precision hides
            let text = e.to_string();
            let of_floats = text.starts_with("in f64, ");
            if !of_floats
                && ["not positive", "division by zero", "negative number", "is not a number"]
                    .iter()
                    .any(|w| text.contains(w))
            {
                found.wrong.push(format!("it is an error of mathematics that {text}"));
            }
        }
    }
    computed(case, &mut found.wrong);
    if case.seed.is_multiple_of(STATIONARY) || case.kind == "almost stationary" {
        stationary(case, &mut found.wrong);
    }
    // floats that were asked for need not be certain
    found.six_digits |= ask.numbers == Numbers::Float && found.refused.is_none();
    found
}

fn inspection(case: &Case, i: &Inspection<'_>, found: &mut Examined) {
    let wrong = &mut found.wrong;
    let value = std::slice::from_ref(&case.truth.value);
    let mut six = check_answer("the value", value, &i.values()[0], wrong);
    let mut rest = &case.truth.gradient[..];
    let mut parts = Vec::new();
    for (input, answer) in case.program.inputs().iter().zip(i.derivatives(0)) {
        let (here, later) = rest.split_at(input.shape.len());
        six &= check_answer(&format!("the derivative by {}", input.name), here, answer, wrong);
        parts.push((&*input.name, here));
        rest = later;
    }
    found.six_digits = six;
    // what is called certain has bounds, or is exact
    let all_told = is_told(&i.values()[0]) && i.derivatives(0).iter().all(is_told);
    if i.computed().certain && !all_told {
        wrong.push("it is called certain, and has numbers without a bound".into());
    }
    // no kink is at its tie, so that the result of differentiation is the gradient
    let status = i.status();
    let truth: Vec<f64> = case.truth.gradient.iter().map(Number::to_f64).collect();
    let is_close = |a: &f64, b: &f64| (a - b).abs() <= SIX * b.abs();
    let own = i.gradient();
    match status {
        Status::Outside => wrong.push("what differentiation returned is said to be outside".into()),
        Status::Gradient if !all_told && !own.iter().zip(&truth).all(|(a, b)| is_close(a, b)) => {
            wrong.push(format!("{own:?} is called the gradient, which is {truth:?}"));
        }
        _ => {}
    }
    for (how, said) in [("judge_within", i.judge_within(&truth, 1e-12)), ("judge", i.judge(&truth))] {
        // without a tolerance a rounded gradient is another vector
        if how == "judge_within" && said == Status::Outside {
            wrong.push(format!("{how} says that the gradient {truth:?} is outside"));
        }
    }
    let off: Vec<f64> = truth.iter().map(|t| t + t.abs().max(1e-3)).collect();
    for (how, said) in [("judge_within", i.judge_within(&off, 1e-12)), ("judge", i.judge(&off))] {
        if said == Status::Gradient {
            wrong.push(format!("{how} takes {off:?} for the gradient {truth:?}"));
        }
    }
    // text
    let text = i.to_string();
    let is_sure = |printed: Option<Vec<Printed>>, answer: &Answer| match is_told(answer) {
        true => Some(printed),
        false => None,
    };
    if let Some(p) = is_sure(printed(&text, "value", None), &i.values()[0]) {
        check_text("the value", value, p, wrong);
    }
    let alone = case.program.inputs().len() == 1 && case.program.inputs()[0].shape.is_scalar();
    for ((name, truths), answer) in parts.iter().zip(i.derivatives(0)) {
        let name = if alone { None } else { Some(*name) };
        // large tensors are cut
        if truths.len() <= 8
            && let Some(p) = is_sure(printed(&text, "backprop", name), answer)
        {
            check_text(&format!("the derivative by {}", name.unwrap_or("the input")), truths, p, wrong);
        }
    }
    // JSON
    let json = serde_json::to_value(i).expect("an inspection is serialised");
    let radius = &json["radius"];
    // without a bound what is not certain is not claimed
    let claimed = json["certain"] == Value::Bool(true) || !radius.is_null();
    if claimed {
        let bounds = |of: &str| radius.is_object().then(|| &radius[of]);
        check_json("the value", value, &json["value"], bounds("value"), wrong);
        check_json("the gradient", &case.truth.gradient, &json["gradient"], bounds("gradient"), wrong);
    }
    if json["certain"] != Value::Bool(i.computed().certain) {
        wrong.push(format!("JSON says certain: {}, and the library {}", json["certain"], i.computed().certain));
    }
}

/// The value alone, as `crease eval` has it.
fn computed(case: &Case, wrong: &mut Vec<String>) {
    let task = Task { program: &case.program, watched: None };
    if let Ok(done) = task.compute(&case.point, Numbers::Auto, &Limits::default()) {
        check_answer("the value computed", std::slice::from_ref(&case.truth.value), &done.outputs[0], wrong);
        if done.certain && !is_told(&done.outputs[0]) {
            wrong.push("the value computed is called certain, and has no bound".into());
        }
    }
}

/// All limits of gradients, which are one, and whether it is 0.
fn stationary(case: &Case, wrong: &mut Vec<String>) {
    let a = Arithmetic::new(BITS);
    let wanted = Wanted { stationary: true, ..Wanted::default() };
    let Ok(all) = all_gradients(&case.program, &case.point, &wanted, &Ask::default(), |_, _| ()) else { return };
    for n in &all.found.gradients {
        for (k, (truth, near)) in case.truth.gradient.iter().zip(&n.gradient).enumerate() {
            let radius = n.radius.as_ref().map_or(Rational::ZERO, |r| r[k].clone());
            let (middle, bound) = (near.to_f64(), radius.to_f64());
            if !encloses(truth, near, &radius) {
                let truth = truth.to_f64();
                wrong.push(format!("a limit of gradients[{k}] is {middle:e} ± {bound:e}, but it is {truth:e}"));
            }
        }
    }
    let is_zero = case.truth.gradient.iter().all(|x| a.sign(x) == Ok(Ordering::Equal));
    match &all.stationary {
        Some(Stationarity::Stationary { .. }) if !is_zero => wrong.push("it is said to be stationary".into()),
        Some(Stationarity::Descent { direction }) => {
            let slope = case.truth.gradient.iter().zip(direction).try_fold(Number::zero(), |sum, (g, d)| {
                a.add(&sum, &a.mul(g, &Number::Exact(d.clone().into())).ok()?).ok()
            });
            if !slope.is_some_and(|s| a.sign(&s) == Ok(Ordering::Less)) {
                wrong.push(format!("it does not decrease along {direction:?}"));
            }
        }
        _ => {}
    }
}
