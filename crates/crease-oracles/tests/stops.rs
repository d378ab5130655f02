//! Every question ends by the limits of its session: by work, which is counted and the same each time, by time, and when it is cancelled.

use crease_core::differentiate::Selection;
use crease_core::limits::Stop;
use crease_core::local::{LocalModel, localize};
use crease_core::{Cancel, Limits, Rational, Tensor};
use crease_formats::parse;
use crease_oracles::{
    Effort, EnumerateLimit, HullPosition, KinkReport, Limit, OracleError, Session, Verdict, identity, in_hull,
};
use std::time::{Duration, Instant};

/// Far more than any of these takes.
const LONG: Duration = Duration::from_secs(60);

fn model(text: &str) -> LocalModel {
    let file = parse(text).unwrap();
    let p = file.main();
    let at: Vec<Tensor<Rational>> =
        p.inputs().iter().map(|i| Tensor::new(i.shape.clone(), vec![Rational::ZERO; i.shape.len()]).unwrap()).collect();
    localize(p, &at).unwrap()
}

/// Two numbers that go through kinks layer by layer: coefficients grow, and so do gradients in number.
fn layers(k: usize) -> LocalModel {
    let lines: String = (0..k)
        .map(|i| {
            let n = i + 1;
            format!("  let a{n} = 3 * a{i} + relu(b{i} - a{i})\n  let b{n} = b{i} / 7 + relu(a{i} - 2 * b{i})\n")
        })
        .collect();
    model(&format!("program p(x, y) {{\n  let a0 = x\n  let b0 = y\n{lines}  return a{k} - b{k}\n}}"))
}

/// Many hyperplanes in general position.
fn planes(n: usize, dimension: usize) -> LocalModel {
    let coefficient = |i: usize, j: usize| (i * i * 7 + j * j * 13 + i * j * 31 + 5) % 19 + 1;
    let term = |i: usize| {
        let form: Vec<String> = (0..dimension).map(|j| format!("{} * x[{j}]", coefficient(i, j) as i64 - 9)).collect();
        format!("abs({})", form.join(" + "))
    };
    let all: Vec<String> = (0..n).map(term).collect();
    model(&format!("program p(x[{dimension}]) = {}", all.join(" + ")))
}

/// All questions, each with whether it was stopped.
fn questions(model: &LocalModel, limits: &Limits) -> Vec<(&'static str, Option<Stop>)> {
    let p = model.dimension();
    let session = || Session::new(model, 0).within(&limits.started());
    let one = vec![Rational::ONE; p];
    let stop = |e: OracleError| match e {
        OracleError::Stopped(stop) => Some(stop),
        other => panic!("{other}"),
    };
    let of = |limit: &Limit| match limit {
        Limit::Time => Some(Stop::Time),
        Limit::Stopped => Some(Stop::Cancelled),
        Limit::Work => Some(Stop::Work),
        Limit::Memory => Some(Stop::Memory),
        Limit::Conflicts(_) | Limit::TooLarge | Limit::Bits(_) => None,
    };
    let listed = |limit: Option<EnumerateLimit>| match limit {
        Some(EnumerateLimit::Time) => Some(Stop::Time),
        Some(EnumerateLimit::Stopped) => Some(Stop::Cancelled),
        Some(EnumerateLimit::Work) => Some(Stop::Work),
        Some(EnumerateLimit::Memory) => Some(Stop::Memory),
        _ => None,
    };
    let effort = Effort { limits: limits.started(), ..Effort::default() };
    let verdict = session().differentiable(&effort).unwrap().verdict;
    vec![
        ("clarke", session().clarke_element(1).err().and_then(stop)),
        ("directional", session().directional(&one).err().and_then(stop)),
        ("lexicographic", session().lexicographic(&identity(p)).err().and_then(stop)),
        ("forward", session().lexicographic_forward(&identity(p)).err().and_then(stop)),
        ("conservative", session().conservative().err().and_then(stop)),
        ("membership", session().membership(&one, 1000).err().and_then(stop)),
        ("report", KinkReport::new(&session(), &Selection::paper(), limits).err().and_then(stop)),
        ("differentiable", if let Verdict::Unknown { limit, .. } = &verdict { of(limit) } else { None }),
        ("all", listed(session().neighbouring_gradients(&limits.started(), |_| ()).unwrap().limit)),
    ]
}

#[test]
fn little_work_ends_every_question() {
    for model in [layers(400), planes(30, 12)] {
        for (question, stop) in questions(&model, &Limits { work: 10, ..Limits::default() }) {
            assert_eq!(stop, Some(Stop::Work), "{question}");
        }
    }
}

#[test]
fn cancellation_ends_every_question() {
    let cancel = Cancel::new();
    cancel.stop();
    for (question, stop) in questions(&planes(30, 12), &Limits::default().cancelled_by(&cancel)) {
        assert_eq!(stop, Some(Stop::Cancelled), "{question}");
    }
}

/// A list that would take years, and forms whose coefficients have thousands of digits, end soon after their time.
#[test]
fn time_ends_every_question() {
    for model in [layers(2000), planes(300, 40)] {
        let start = Instant::now();
        let asked = questions(&model, &Limits::default().within(Duration::from_millis(100)));
        assert!(start.elapsed() < LONG);
        assert!(asked.iter().any(|(_, stop)| *stop == Some(Stop::Time)), "{asked:?}");
    }
}

/// What was found before the stop is kept.
#[test]
fn a_list_that_is_stopped_has_what_was_found() {
    let model = planes(40, 10);
    let found = |work: u64| {
        let limits = Limits { work, ..Limits::default() }.started();
        Session::new(&model, 0).within(&limits).neighbouring_gradients(&limits, |_| ()).unwrap()
    };
    let (some, more) = (found(3_000_000), found(6_000_000));
    assert_eq!((some.limit, more.limit), (Some(EnumerateLimit::Work), Some(EnumerateLimit::Work)));
    assert!(!some.gradients.is_empty() && some.gradients.len() < more.gradients.len());
    assert_eq!(some, found(3_000_000), "the same work finds the same");
    assert_eq!(some.gradients[..], more.gradients[..some.gradients.len()]);
}

#[test]
fn memory_ends_a_list() {
    let model = planes(40, 10);
    let limits = Limits { memory: 200_000, ..Limits::default() }.within(LONG).started();
    let found = Session::new(&model, 0).within(&limits).neighbouring_gradients(&limits, |_| ()).unwrap();
    assert_eq!(found.limit, Some(EnumerateLimit::Memory));
}

#[test]
fn the_gradient_that_was_found_first_is_in_an_unknown() {
    let model = planes(40, 10);
    let enough = Limits::default().started();
    Session::new(&model, 0).within(&enough).clarke_element(0).unwrap();
    let limits = Limits { work: enough.spent() + 10, ..Limits::default() }.started();
    let effort = Effort { limits: limits.clone(), ..Effort::default() };
    let decision = Session::new(&model, 0).within(&limits).differentiable(&effort).unwrap();
    let Verdict::Unknown { limit: Limit::Work, best } = decision.verdict else { panic!("{:?}", decision.verdict) };
    assert_eq!(best.len(), 1);
}

#[test]
fn hulls_are_charged() {
    let points: Vec<Vec<Rational>> = (0..200i64)
        .map(|i| (0..30).map(|j| Rational::from((i * 37 + j * j * 11 + i * i * j) % 101)).collect())
        .collect();
    let vector = vec![Rational::from(50); 30];
    let few = Limits { work: 100, ..Limits::default() }.started();
    assert_eq!(in_hull(&points, &vector, &few).unwrap(), HullPosition::NotDecided);
    assert_ne!(in_hull(&points, &vector, &Limits::default()).unwrap(), HullPosition::NotDecided);
}
