//! What the tool prints as certain is true, of programs that doubles get wrong. The library has the long version of this test.

mod tool;

use crease_core::Rational;
use crease_corpus::rounding::{Case, encloses, hostile};
use serde_json::Value;
use tool::{crease, file};

const CASES: u64 = 24;

/// What the tool prints about a case, if it has an answer.
fn asked(case: &Case, command: &str, flags: &[&str]) -> Option<String> {
    let path = file("rounding", &format!("{}.crease", case.seed), case.program.to_string());
    let names = case.program.inputs().iter().map(|i| &i.name);
    let point: Vec<String> = names.zip(&case.point).map(|(name, x)| format!("{name}={}", x.data()[0])).collect();
    let output = crease(&[&[command, &path, "--at", &point.join(",")], flags].concat()).output().expect("it starts");
    output.status.success().then(|| String::from_utf8(output.stdout).expect("the tool prints UTF-8"))
}

/// What is wrong with numbers in JSON. One without a bound is exact, and shown as the nearest double.
fn wrong(case: &Case, said: &Value) -> Vec<String> {
    if said["certain"] != true && said["radius"].is_null() {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    let mut compare = |of: &str, near: &Value, radius: &Value, truth: &crease_corpus::precise::Number| {
        let near = near.as_f64().expect("a number");
        let bound = radius.as_f64().unwrap_or(near.abs() * f64::EPSILON / 2.0);
        let both = Rational::from_f64(near).zip(Rational::from_f64(bound));
        if !both.is_some_and(|(near, bound)| encloses(truth, &near, &bound)) {
            wrong.push(format!("{of} is {near:e} ± {bound:e}, but it is {:e}\n{case}", truth.to_f64()));
        }
    };
    compare("the value", &said["value"], &said["radius"]["value"], &case.truth.value);
    for (input, truth) in case.program.inputs().iter().zip(&case.truth.gradient) {
        let (name, gradient) = (&*input.name, &said["gradient"]);
        if !gradient.is_null() {
            let (near, radius) = (&gradient[name], &said["radius"]["gradient"][name]);
            compare(name, near, radius, truth);
        }
    }
    wrong
}

#[test]
fn certain_numbers_are_true() {
    let mut found = Vec::new();
    let mut certain = 0;
    for case in (0..CASES).map(hostile) {
        for command in ["eval", "grad"] {
            let Some(text) = asked(&case, command, &["--json"]) else { continue };
            let said: Value = serde_json::from_str(&text).expect("the tool prints JSON");
            assert!(said["certain"].is_boolean(), "{command}: {said}");
            certain += u64::from(said["certain"] == true);
            found.extend(wrong(&case, &said));
        }
    }
    assert!(found.is_empty(), "{} numbers are wrong:\n{}", found.len(), found.join("\n"));
    assert!(certain >= CASES * 2 * 8 / 10, "only {certain} of {} answers are certain", CASES * 2);
}
