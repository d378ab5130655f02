//! What is called certain is true: values and gradients with bounds, where floats cancel, overflow, underflow or stand at a branch.

use crease::inspect::{Ask, Inspection, JointVerdict, Numbers, Status, Task, inspect};
use crease::{Limits, Program, Rational};

fn program(text: &str) -> Program {
    crease::formats::parse_expression(text, &|_| None).unwrap()
}

fn at<'p>(p: &'p Program, point: &str, numbers: Numbers) -> Inspection<'p> {
    inspect(p, point, &Ask { numbers, ..Ask::default() }).unwrap()
}

/// Programs whose gradient in doubles is wrong in every digit, with what it is, from a thousand digits.
const CANCEL: [(&str, &str, &str); 5] = [
    ("(1 - cos(x))/x^2", "x=1e-9", "-8.333333333333333e-11"),
    ("(exp(x)-1-x)/x^2", "x=1e-9", "0.16666666675"),
    ("1 - tanh(x)", "x=20", "-1.6993417021166355e-17"),
    ("log(sigmoid(x))", "x=-800", "1"),
    ("log(1 + exp(x))", "x=1000", "1"),
];

#[test]
fn gradients_that_doubles_lose_are_right_to_the_last_digit() {
    for (text, point, right) in CANCEL {
        let p = program(text);
        let i = at(&p, point, Numbers::Auto);
        let right: f64 = right.parse().unwrap();
        let [got] = i.gradient()[..] else { panic!("{text}") };
        assert!((got - right).abs() <= right.abs() * f64::EPSILON, "{text}: {got}, not {right}");
        assert!(i.computed().certain && i.computed().is_sharp(), "{text}");
        assert_eq!((i.status(), i.judge(&[got])), (Status::Gradient, Status::Gradient), "{text}");
        assert_eq!(i.judge(&[2.0 * right]), Status::Outside, "{text}");
        assert_eq!(i.judge_within(&[right * (1.0 + 1e-12)], 1e-9), Status::Gradient, "{text}");
    }
}

/// With floats asked for, their numbers are returned, and their error is bounded or said to be unknown.
#[test]
fn floats_that_were_asked_for_are_not_called_certain() {
    for (text, point, right) in &CANCEL[..3] {
        let p = program(text);
        let i = at(&p, point, Numbers::Float);
        let right: f64 = right.parse().unwrap();
        let radius = i.derivatives(0)[0].radius.as_ref().map_or(f64::INFINITY, |r| r.data()[0]);
        assert!((i.gradient()[0] - right).abs() <= radius, "{text}");
        assert!(!i.computed().certain, "{text}");
        assert!(matches!(i.status(), Status::Undecided(_)), "{text}");
        assert_ne!(i.judge(&i.gradient()), Status::Gradient, "{text}");
    }
}

#[test]
fn a_branch_within_rounding_is_decided() {
    // doubles see a tie, and return an element of no conservative gradient
    let p = program("relu(sqrt(x*x+1) - 1 - y)");
    let i = at(&p, "x=1e-8,y=1e-17", Numbers::Auto);
    assert_eq!((i.gradient(), i.kinks().len(), i.status()), (vec![1e-8, -1.0], 0, Status::Gradient));
}

/// Equal numbers that come about alike are equal by the local model, of which no run in enclosures can tell.
#[test]
fn ties_of_enclosed_numbers_are_those_of_the_local_model() {
    let p = program("relu(exp(x) - exp(x)) + abs(exp(y) - exp(y)) * x + x");
    let i = at(&p, "x=1,y=1", Numbers::Auto);
    assert!(i.computed().decided, "{i}");
    assert_eq!((i.values()[0].near.data(), i.gradient()), (&[1.0][..], vec![1.0, 0.0]), "{i}");
}

#[test]
fn numbers_beyond_doubles_are_told() {
    let value = |text: &str, point: &str| {
        let p = program(text);
        let i = at(&p, point, Numbers::Auto);
        assert!(i.computed().certain, "{text}");
        i.values()[0].middle.as_ref().map(|m| crease::show::exact(&m.data()[0]))
    };
    assert_eq!(value("exp(x)", "x=1000").as_deref(), Some("≈ 1.9701e434"));
    assert_eq!(value("sigmoid(x)", "x=-800").as_deref(), Some("≈ 3.6679e-348"));
    assert_eq!(value("exp(x)", "x=1"), None);
}

#[test]
fn a_zero_that_cannot_be_decided_is_a_bound() {
    let p = program("sin(x)^2 + cos(x)^2");
    let i = at(&p, "x=1", Numbers::Auto);
    let radius = i.derivatives(0)[0].radius.as_ref().unwrap().data()[0];
    assert!(radius > 0.0 && radius < 1e-300, "{radius}");
    assert!(i.to_string().contains("0 ± "), "{i}");
    assert!(!i.computed().certain && matches!(i.status(), Status::Undecided(_)), "{i}");
}

/// Faults of mathematics are reported as such; those of rounding are not.
#[test]
fn faults_of_floats_are_not_those_of_mathematics() {
    let message = |text: &str, point: &str, numbers| {
        let p = program(text);
        inspect(&p, point, &Ask { numbers, ..Ask::default() }).unwrap_err().message()
    };
    assert_eq!(message("log(x)", "x=-1", Numbers::Float), "logarithm of a number that is not positive");
    assert_eq!(message("log(exp(x) - 3)", "x=1", Numbers::Auto), "logarithm of a number that is not positive");
    for numbers in [Numbers::Float, Numbers::Auto] {
        let open = message("log(exp(x) - exp(x))", "x=1", numbers);
        assert!(open.starts_with("in f64, ") && open.contains("rounding may be the reason"), "{open}");
    }
    let under = message("log(sigmoid(x))", "x=-800", Numbers::Float);
    assert!(under.starts_with("in f64, "), "{under}");
}

#[test]
fn a_run_that_stands_at_an_open_branch_says_so() {
    let at = |text: &str, point: &str| {
        let p = program(text);
        let inputs = crease::inspect::Coordinates::inputs(point, &p).unwrap();
        Task { program: &p, watched: None }.compute(&inputs, Numbers::Auto, &Limits::default()).unwrap()
    };
    let open = at("select { sqrt(x)*sqrt(x) > 2 => 5*x, else => x }", "x=2");
    assert!(!open.certain && !open.decided && open.doubt.is_some());
    // the floor is 2 or 3
    let floor = at("floor(sqrt(x)*sqrt(x))", "x=3");
    let (near, radius) = (floor.outputs[0].near.data()[0], floor.outputs[0].radius.as_ref().unwrap().data()[0]);
    assert!((near - 3.0).abs() <= radius && (near - 2.0).abs() <= radius);
}

fn joint(text: &str) -> std::sync::Arc<Program> {
    crease::formats::parse(text).unwrap().main().clone()
}

#[test]
fn joint_programs_are_compared_with_derivatives() {
    let right = joint("program h(t) = exp(t)\njoint h(t) { let v = exp(t) return v, v }\nprogram f(x) = h(x) * 2");
    let verdict = |p: &Program, point: &str| {
        let i = inspect(p, point, &Ask::default()).unwrap();
        let text = i.to_string();
        (i.status(), i.computed().certain, text)
    };
    let (status, certain, text) = verdict(&right, "x=1");
    assert!(!certain && text.contains("taken on trust"), "{text}");
    assert!(matches!(status, Status::Undecided(_)));

    let square = joint("program h(t) = t * t\njoint h(t) { return t * t, 2 * t }\nprogram f(x) = h(x)");
    let (status, certain, text) = verdict(&square, "x=3");
    assert!(certain && text.contains("verified here"), "{text}");
    assert_eq!(status, Status::Gradient);

    let wrong = joint("program h(t) = t\njoint h(t) { return t, 5 }\nprogram f(x) = h(x)");
    let (status, certain, text) = verdict(&wrong, "x=3");
    assert!(!certain && text.contains("which is not its derivative here"), "{text}");
    assert!(matches!(status, Status::Undecided(_)));
    let json = serde_json::to_value(inspect(&wrong, "x=3", &Ask::default()).unwrap()).unwrap();
    assert_eq!((&json["kind"], &json["joints"]["h"]), (&"none".into(), &JointVerdict::Wrong.word().into()));
}

/// Whatever is called certain holds the truth, which here is known in closed form.
#[test]
fn bounds_hold_the_truth() {
    for n in 1..60 {
        let x = Rational::new(1, 3).unwrap().pow(n).unwrap();
        // log(exp(x)) is x
        let p = program("log(exp(x)) * 2");
        let i = inspect(&p, &[crease::Tensor::scalar(x.clone())], &Ask::default()).unwrap();
        for (a, truth) in [(&i.values()[0], &x * &Rational::from(2)), (&i.derivatives(0)[0], Rational::from(2))] {
            let near = Rational::from_f64(a.near.data()[0]).unwrap();
            let radius = Rational::from_f64(a.radius.as_ref().unwrap().data()[0]).unwrap();
            assert!((near - truth).abs() <= radius, "x = 3^-{n}");
        }
    }
}

/// Doubles leave open whether a branch without a value is taken, so its missing value is not an error.
#[test]
fn branches_without_a_value_are_faults_only_where_they_are_taken() {
    let p = program("where(sqrt(x)*sqrt(x) - 1e-20 <= x - 2e-20, y + log(y), sqrt(2 + x^2) - 7)");
    let i = at(&p, "x=3,y=-1", Numbers::Auto);
    assert!((i.values()[0].near.data()[0] - (11f64.sqrt() - 7.0)).abs() < 1e-15, "{i}");
}
