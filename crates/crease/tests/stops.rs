//! Every question of `inspect` ends by its limits and by cancellation, says so, and has the same answer each time that only work is limited.

use crease::inspect::{
    Ask, Basis, Beside, InspectError, Wanted, all_gradients, clarke, conservative, cubes, differentiable,
    differentiable_in, directional, gradients_in, inspect, lexicographic, singular_places,
};
use crease::limits::Stop;
use crease::oracles::{Cube, SignCube};
use crease::{Cancel, How, Limits, Program, Rational, Tensor};
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Far more than any question here takes that ends by itself, on however busy a machine.
const LONG: Duration = Duration::from_secs(60);

fn read(text: &str) -> Arc<Program> {
    crease::formats::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}")).main().clone()
}

/// Programs that take for ever to take apart, or to search.
fn endless() -> Vec<(&'static str, Arc<Program>)> {
    let calls: String = (1..=18)
        .map(|i| {
            let below = format!("p{}", i - 1);
            format!("program p{i}(x, y) = {below}(x + y, x - y) + {below}(x - 2 * y, y) + max(x, y)\n")
        })
        .collect();
    let selections: String = (1..=60)
        .map(|i| {
            let (below, q) = (format!("p{}", i - 1), "y + x - x");
            format!("program p{i}(x, y) = select {{ x > 0 => {below}(x + x - x, {q}), else => {below}(3 * x - 2 * x, {q}) }}\n")
        })
        .collect();
    let maxima: String = (0..300)
        .map(|i| format!("  let m{} = max(m{i} + m{i} / 3, m{i} - x, 2 * y - m{i}, abs(m{i} + y))\n", i + 1))
        .collect();
    let squares: String =
        (0..300).map(|i| format!("  let m{} = exp(m{i}) - 1 + sqrt(m{i} * m{i} + x * x)\n", i + 1)).collect();
    vec![
        ("calls", read(&format!("program p0(x, y) = relu(x - y)\n{calls}"))),
        ("selections", read(&format!("program p0(x, y) = x + 2 * y\n{selections}"))),
        ("maxima", read(&format!("program p(x, y) {{\n  let m0 = max(x, y)\n{maxima}  return m300\n}}"))),
        ("norms", read(&format!("program p(x, y) {{\n  let m0 = max(x, y)\n{squares}  return m300\n}}"))),
    ]
}

type Answer = Result<String, Box<InspectError>>;

fn json(answer: Result<impl Serialize, InspectError>) -> Answer {
    answer.map(|a| serde_json::to_string(&a).unwrap()).map_err(Box::new)
}

/// Every question, with its answer as JSON.
fn questions(p: &Program, ask: &Ask<'_>) -> Vec<(&'static str, Answer)> {
    let at = &[0.0, 0.0];
    let report = Ask { report: true, ..ask.clone() };
    let direction = [vec![Rational::ONE, Rational::from(-2)]];
    let zeros = [Tensor::scalar(0.0), Tensor::scalar(0.0)];
    let wanted = Wanted { contains: Some(vec![Rational::ONE; 2]), stationary: true };
    let debug = |done: Result<(), InspectError>| done.map(|()| String::new()).map_err(Box::new);
    vec![
        ("inspect", json(inspect(p, at, &report))),
        ("clarke", json(clarke(p, at, ask))),
        ("all", json(all_gradients(p, at, &wanted, ask, |_, _| ()))),
        ("cubes", debug(cubes(p, at, &Cube::default(), 4, ask).map(drop))),
        ("gradients_in", debug(gradients_in(p, at, &Cube::default(), ask).map(drop))),
        ("differentiable", json(differentiable(p, at, ask))),
        ("differentiable_in", debug(differentiable_in(p, at, &SignCube::default(), ask).map(drop))),
        ("conservative", json(conservative(p, at, Some(vec![Rational::ONE; 2]), ask))),
        ("directional", json(directional(p, at, &direction, ask))),
        ("lexicographic", json(lexicographic(p, at, &Basis { forward: true, ..Basis::default() }, ask))),
        ("singular", debug(singular_places(p, &zeros, &How::default(), &ask.limits).map(drop))),
    ]
}

/// A stop is a stop or an answer, and never an error about mathematics.
fn check(program: &str, asked: &[(&str, Answer)], stop: Stop) {
    for (question, answer) in asked {
        match answer {
            Ok(text) => assert!(!text.contains("no directional derivative"), "{program}, {question}: {text}"),
            Err(e) => match e.stop() {
                Some(by) => assert_eq!(by, stop, "{program}, {question}"),
                None => {
                    let told = e.to_string();
                    let late =
                        ["time is up", "it was stopped", "the limit of work"].iter().any(|why| told.contains(why));
                    assert!(!late, "{program}, {question}: {told}");
                }
            },
        }
    }
}

#[test]
fn time_ends_every_question() {
    for (name, p) in endless() {
        let start = Instant::now();
        let limits = Limits::default().within(Duration::from_millis(300));
        let asked = questions(&p, &Ask { limits, ..Ask::default() });
        assert!(start.elapsed() < LONG, "{name}");
        check(name, &asked, Stop::Time);
    }
}

#[test]
fn cancellation_ends_every_question() {
    for (name, p) in endless() {
        let (start, cancel) = (Instant::now(), Cancel::new());
        let asked = std::thread::scope(|s| {
            s.spawn(|| {
                std::thread::sleep(Duration::from_millis(300));
                cancel.stop();
            });
            questions(&p, &Ask { limits: Limits::default().cancelled_by(&cancel), ..Ask::default() })
        });
        assert!(start.elapsed() < LONG, "{name}");
        check(name, &asked, Stop::Cancelled);
    }
}

/// With the clock out of the way, the same work gives the same JSON.
#[test]
fn the_same_work_gives_the_same_answer() {
    let beside = Beside { work: 1_000_000, time: Duration::MAX, ..Beside::default() };
    let mut stopped = false;
    for (name, p) in endless() {
        let ask = Ask { limits: Limits { work: 3_000_000, ..Limits::default() }, beside, ..Ask::default() };
        let (first, second) = (questions(&p, &ask), questions(&p, &ask));
        assert_eq!(first, second, "{name}");
        check(name, &first, Stop::Work);
        stopped |= first.iter().any(|(_, a)| a.as_ref().is_err_and(|e| e.stop() == Some(Stop::Work)));
    }
    assert!(stopped);
}

/// The first lines of an inspection are there although nothing could be told beside them, and the limit that ended it is named.
#[test]
fn the_derivative_is_there_although_the_rest_was_stopped() {
    let (_, p) = endless().swap_remove(2);
    let beside = Beside { work: 100_000, time: Duration::MAX, ..Beside::default() };
    let i = inspect(&p, &[0.0, 0.0], &Ask { beside, ..Ask::default() }).unwrap();
    assert_eq!(i.gradient().len(), 2);
    let text = i.to_string();
    assert!(text.contains("the limit of work was reached"), "{text}");
    // and with more there is more
    let more = inspect(&p, &[0.0, 0.0], &Ask::default()).unwrap();
    assert!(more.clarke().is_some());
}

#[test]
fn memory_ends_a_question() {
    let (_, p) = endless().swap_remove(1);
    let limits = Limits { memory: 4 << 20, ..Limits::default() }.within(LONG);
    let error = clarke(&p, &[0.0, 0.0], &Ask { limits, ..Ask::default() }).unwrap_err();
    assert_eq!(error, InspectError::Stopped(Stop::Memory));
    assert_eq!(error.to_string(), "there is no answer yet: the limit of memory was reached");
}
