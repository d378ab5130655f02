//! All lines of an inspection from one call: where no kink is met, at a kink, at a jump and where the program is singular, exactly and in floats.

use crease::inspect::{Ask, Inspection, Meaning, Numbers, Status, Task, inspect, singular_places};
use crease::{Cancel, Function, How, Limits, Program, Rational, Selection, Tensor};
use std::time::Duration;

fn program(text: &str) -> Program {
    crease::formats::parse_expression(text, &|_| None).unwrap()
}

fn ask(numbers: Numbers) -> Ask<'static> {
    Ask { numbers, ..Ask::default() }
}

/// That all lines say that this is the gradient.
fn is_gradient(i: &Inspection<'_>, exact: &str) {
    let g: [Rational; 1] = [exact.parse().unwrap()];
    assert_eq!(i.status(), Status::Gradient);
    assert_eq!(i.verdict().unwrap().word(), "yes");
    assert_eq!(i.verdict().unwrap().elements()[0].gradient, g);
    assert_eq!(i.clarke().unwrap().gradient, g);
    let conservative = i.conservative().unwrap();
    assert!(conservative.is_singleton() && conservative.proved);
    assert_eq!(conservative.elements[0].gradient, g);
    assert!(crease::check::check(i.certificate().unwrap().as_bytes()).is_ok());
    assert!(i.report().is_none());
}

#[test]
fn without_a_kink_every_line_is_there() {
    let p = program("relu(x) - relu(-x)");
    for numbers in [Numbers::Auto, Numbers::Exact, Numbers::Float] {
        let i = inspect(&p, &[1.0], &ask(numbers)).unwrap();
        let before = (i.to_string(), serde_json::to_string(&i).unwrap());
        is_gradient(&i, "1");
        assert_eq!([0.0, 1.0, 1.5].map(|g| i.judge(&[g])), [Status::Outside, Status::Gradient, Status::Outside]);
        assert_eq!(i.judge_within(&[1.0 + 1e-12], 1e-9), Status::Gradient);
        assert_eq!(i.judge_within(&[1.1], 1e-9), Status::Outside);
        // what is asked later changes neither text nor JSON
        assert_eq!(before, (i.to_string(), serde_json::to_string(&i).unwrap()));
        assert!(!before.0.contains("differentiable"), "{}", before.0);
    }
}

#[test]
fn floats_are_judged_by_the_exact_gradient() {
    // in floats 1/3 is rounded, and only the exact gradient says that another float is none
    let p = program("x / 3");
    let i = inspect(&p, &[1.0], &ask(Numbers::Float)).unwrap();
    is_gradient(&i, "1/3");
    assert_eq!(i.judge(&[1.0 / 3.0]), Status::Gradient); // its own numbers
    assert_eq!(i.judge(&[0.5]), Status::Outside);
    assert_eq!(i.judge_within(&[0.333_333], 1e-3), Status::Gradient);
}

#[test]
fn functions_without_exact_values_are_judged_by_enclosures() {
    let p = program("exp(x)");
    let i = inspect(&p, &[1.0], &Ask::default()).unwrap();
    assert_eq!((i.status(), i.verdict().unwrap().word()), (Status::Gradient, "yes"));
    assert!(i.clarke().unwrap().radius.is_some() && i.conservative().unwrap().is_singleton());
    assert_eq!(i.judge(&[1f64.exp()]), Status::Gradient);
    assert_eq!(i.judge(&[2.0]), Status::Outside);
    assert_eq!(i.judge(&[1f64.exp() * (1.0 + 1e-15)]), Status::Outside);
}

#[test]
fn at_a_kink_every_line_is_there() {
    for numbers in [Numbers::Auto, Numbers::Float] {
        let p = program("relu(x) - relu(-x)");
        let i = inspect(&p, &[0.0], &ask(numbers)).unwrap();
        assert_eq!((i.status(), i.verdict().unwrap().word()), (Status::Conservative, "yes"));
        assert_eq!(i.clarke().unwrap().gradient, [Rational::ONE]);
        assert!(!i.conservative().unwrap().is_singleton() && i.certificate().is_some());
        assert_eq!(i.judge(&[1.0]), Status::Gradient);
        let p = program("abs(x)");
        let i = inspect(&p, &[0.0], &ask(numbers)).unwrap();
        assert_eq!(i.verdict().unwrap().word(), "no");
        assert_eq!((i.judge(&[1.0]), i.judge(&[1.5])), (Status::Clarke, Status::Outside));
    }
}

#[test]
fn at_a_jump_there_is_nothing_and_it_is_said() {
    for numbers in [Numbers::Auto, Numbers::Float] {
        let p = program("where(x >= 0, x + 1, x)");
        let i = inspect(&p, &[0.0], &ask(numbers)).unwrap();
        assert!(matches!(i.meaning(), Meaning::Jump(_)), "{:?}", i.meaning());
        assert!(i.verdict().is_none() && i.clarke().is_none() && i.conservative().is_none());
        assert!(i.certificate().is_none() && i.report().is_none());
        assert_eq!((i.status(), i.judge(&[1.0])), (Status::Outside, Status::Outside));
        is_gradient(&inspect(&p, &[1.0], &ask(numbers)).unwrap(), "1");
    }
}

#[test]
fn where_it_is_singular_there_is_no_inspection_or_a_reason() {
    for numbers in [Numbers::Auto, Numbers::Float] {
        // the derivative has no value
        assert!(inspect(&program("sqrt(x)"), &[0.0], &ask(numbers)).is_err());
        // behind a choice it has one that means nothing
        let p = program("where(x > 0, sqrt(x), 0)");
        match inspect(&p, &[0.0], &ask(numbers)) {
            Err(_) => {}
            Ok(i) => {
                assert!(matches!(i.meaning(), Meaning::Refused(_) | Meaning::Unknown(_)), "{:?}", i.meaning());
                assert!(i.verdict().is_none() && i.clarke().is_none() && i.conservative().is_none());
                assert!(matches!(i.judge(&[0.0]), Status::Undecided(_)));
            }
        }
    }
}

#[test]
fn what_is_not_asked_says_why() {
    let p = program("x * x * x + 1");
    let limits = Limits { local_operations: 1, ..Limits::default() };
    let i = inspect(&p, &[2.0], &Ask { limits, ..Ask::default() }).unwrap();
    // the gradient is known all the same
    assert_eq!((i.status(), i.judge(&[12.0]), i.judge(&[11.0])), (Status::Gradient, Status::Gradient, Status::Outside));
    assert!(i.verdict().is_none() && matches!(i.meaning(), Meaning::Unknown(_)));
    let i = inspect(&p, &[2.0], &Ask { jacobian: true, ..Ask::default() }).unwrap();
    assert!(i.verdict().is_none() && matches!(i.meaning(), Meaning::NotAsked));
}

/// The time for the question is over when somebody judges; what stops the question stops judging as well.
#[test]
fn judging_takes_its_own_time_and_is_cancelled() {
    let p = program("max(x, y, z)");
    let middle = [0.25, 0.25, 0.5];
    let cancel = Cancel::new();
    let limits = Limits::default().within(Duration::from_secs(60)).cancelled_by(&cancel);
    let ask = |limits: Limits| Ask { limits, ..Ask::default() };
    let i = inspect(&p, &[1.0; 3], &ask(limits)).unwrap();
    let late = inspect(&p, &[1.0; 3], &ask(Limits::default().within(Duration::from_millis(200)))).unwrap();
    assert_eq!(i.judge(&middle), Status::Clarke);
    cancel.stop();
    assert!(!matches!(i.judge(&middle), Status::Gradient | Status::Clarke | Status::Outside), "{:?}", i.judge(&middle));
    std::thread::sleep(Duration::from_millis(250));
    assert_eq!(late.judge(&middle), Status::Clarke);
}

/// Differentiation keeps to the limits of the question, unless it is told a limit of its own.
#[test]
fn equations_are_a_limit_of_the_question() {
    let text = "program square(x) = x * x\nprogram f(x) {\n  let y = square(x)\n  let z = square(y)\n  return square(z) + relu(z)\n}\n";
    let module = crease::formats::parse(text).unwrap();
    let p = module.main();
    let with = |how: How, equations| {
        let limits = Limits { equations, ..Limits::default() };
        inspect(p, &[1.0], &Ask { how, limits, ..Ask::default() }).map_err(|e| e.to_string())
    };
    assert_eq!(with(How::default(), 100).unwrap().gradient(), [12.0]);
    let error = with(How::default(), 3).unwrap_err();
    assert!(error.contains("more than the limit of 3;") && error.contains("raise `equations`"), "{error}");
    assert!(with(How::default().max_equations(3), 100).is_err());
    assert_eq!(with(How::default().max_equations(100), 3).unwrap().gradient(), [12.0]);
    let few = Limits { equations: 3, ..Limits::default() };
    assert!(singular_places(p, &[Tensor::scalar(1.0)], &How::default(), &few).is_err());
    let f = Function::from(Program::clone(p));
    assert_eq!(f.clone().within(&few).value(&[1.0]).unwrap(), 2.0);
    assert!(f.clone().within(&few).grad(&[1.0]).is_err());
    // another selection keeps the limits
    assert!(f.within(&few).select(Selection::torch()).grad(&[1.0]).is_err());
}

#[test]
fn how_many_points_are_exact_is_a_limit() {
    let p = program("x + 1");
    let task = Task { program: &p, watched: None };
    let exact = |exact_points| task.exact_points(&Limits { exact_points, ..Limits::default() });
    assert_eq!([Limits::DEFAULT.exact_points, 100, 0].map(exact), [16_384, 100, 1]);
    assert_eq!(task.exact_points(&Limits { exact_operations: 50, ..Limits::default() }), 50);
}
