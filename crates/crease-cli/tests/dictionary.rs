//! Choices, roundings, positions: answers that were derived by hand, at and beside borders and jumps.

mod tool;

use serde_json::{Value, json};
use tool::{fault, json as run_json, ok};

fn asked(command: &str, e: &str, at: &str) -> Value {
    run_json(&[command, "-e", e, "--at", at, "--json"])
}

/// The value, the gradient by the only input, and whether it is one.
#[track_caller]
fn smooth_at(e: &str, at: &str, value: Value, gradient: Value) {
    let name = at.split('=').next().unwrap();
    assert_eq!(asked("eval", e, at)["value"], value, "{e} at {at}");
    let grad = asked("grad", e, at);
    assert_eq!((&grad["value"], &grad["gradient"][name]), (&value, &gradient), "{e} at {at}");
    let decided = asked("differentiable", e, at);
    assert_eq!(decided["verdict"], json!("yes"), "{e} at {at}");
    assert_eq!(decided["gradients"][0]["gradient"][name], gradient, "{e} at {at}");
    assert_eq!(asked("clarke", e, at)["gradient"][name], gradient, "{e} at {at}");
}

/// What commands that need the local model say where something jumps; `grad` goes on, and shows it.
#[track_caller]
fn jumps(e: &str, at: &str, what: &str) {
    for command in ["differentiable", "clarke", "conservative"] {
        let message = fault(&[command, "-e", e, "--at", at]);
        assert!(message.contains(what), "{command} {e} at {at}: {message}");
    }
    let shown = ok(&["grad", "-e", e, "--at", at]);
    assert!(shown.contains("jumps"), "{shown}");
}

#[test]
fn what_a_choice_does_not_take_need_not_have_a_value() {
    smooth_at("where(x > 0, log(x), 0)", "x=-1", json!(0), json!(0));
    smooth_at("where(x > 0, log(x), 0)", "x=1", json!(0), json!(1));
    // the slope of the quotient has no value either
    smooth_at("where(x != 0, 1/x, 3)", "x=2", json!(0.5), json!(-0.25));
    smooth_at("where(x < 0, sqrt(x), x^2)", "x=3", json!(9), json!(6));
    smooth_at("sum(where(v > 0, log(v), 2 * v))", "v=[-1,1]", json!(-2), json!([2, 1]));
    // overflow in floats
    smooth_at("where(x < 100, exp(x), x)", "x=2000", json!(2000), json!(1));
    let exact = run_json(&["grad", "-e", "where(x > 0, log(x), 0)", "--at", "x=-1", "--exact", "--json"]);
    assert_eq!(exact["gradient"]["x"], json!(0));
}

#[test]
fn what_is_needed_must_have_a_value() {
    let message = fault(&["eval", "-e", "where(x < 0, log(x), 0)", "--at", "x=-1"]);
    assert!(message.contains("logarithm of a number that is not positive"), "{message}");
    let message = fault(&["grad", "-e", "where(log(x) > 0, 1, 0) * x", "--at", "x=-1"]);
    assert!(message.contains("logarithm"), "{message}");
    assert!(fault(&["eval", "-e", "where(x, 1, 0)", "--at", "x=2"]).contains("condition must be 1 or 0"));
    assert!(fault(&["eval", "-e", "where(x + 1, 1, 0)", "--at", "x=2"]).contains("a condition is a comparison"));
}

#[test]
fn on_its_border_a_choice_bends_or_jumps() {
    let relu = asked("differentiable", "where(x > 0, x, 0)", "x=0");
    assert_eq!(relu["verdict"], json!("no"));
    let d = run_json(&[
        "directional",
        "-e",
        "where(x > 0, x, 0)",
        "--at",
        "x=0",
        "--along",
        "x=1",
        "--along",
        "x=-2",
        "--json",
    ]);
    assert_eq!(d["derivatives"], json!([1, 0]));
    // both branches have the same slope
    assert_eq!(asked("differentiable", "where(x > 0, x^2, -x^2)", "x=0")["verdict"], json!("yes"));
    let message = fault(&["differentiable", "-e", "where(x > 0, 1, 0)", "--at", "x=0"]);
    assert!(message.contains("not continuous"), "{message}");
    let message = fault(&["differentiable", "-e", "where(x > 0, log(x), 0)", "--at", "x=0"]);
    assert!(message.contains("no value at the point itself"), "{message}");
    // of tensors, element by element
    let d = asked("differentiable", "sum(where(v >= 0, v, 2 * v))", "v=[1,-1]");
    assert_eq!(d["gradients"][0]["gradient"]["v"], json!([1, 2]));
}

#[test]
fn roundings_are_constant_between_jumps() {
    for (e, at, value) in [
        ("floor(x)", "x=5/2", json!(2)),
        ("floor(x)", "x=-1/2", json!(-1)),
        ("ceil(x)", "x=5/2", json!(3)),
        ("round(x)", "x=7/3", json!(2)),
        ("round(x)", "x=2", json!(2)),
        ("sign(x)", "x=-3", json!(-1)),
    ] {
        smooth_at(e, at, value, json!(0));
    }
    smooth_at("x - floor(x)", "x=1/2", json!(0.5), json!(1));
    for (x, y) in [("5/2", 2), ("7/2", 4), ("-5/2", -2), ("1/2", 0)] {
        assert_eq!(asked("eval", "round(x)", &format!("x={x}"))["value"], json!(y));
    }
    assert_eq!(asked("eval", "sign(x)", "x=0")["value"], json!(0));
    jumps("floor(x)", "x=1", "its argument is 1, where it goes from 0 to 1");
    jumps("x - floor(x)", "x=1", "`floor(x)` jumps at this point");
    jumps("round(x)", "x=5/2", "where it goes from 2 to 3");
    jumps("sign(x)", "x=0", "where it goes from -1 to 1");
    // a jump that does not matter
    assert_eq!(asked("differentiable", "0 * floor(x) + x", "x=1")["verdict"], json!("yes"));
    assert_eq!(asked("differentiable", "where(y > 0, floor(x), x)", "x=1,y=-1")["verdict"], json!("yes"));
    assert_eq!(asked("differentiable", "x * floor(y - y)", "x=1,y=1")["verdict"], json!("yes"));
    // exp(0) is 1, exactly; log(exp(1)) is 1, and no bits tell
    jumps("floor(exp(x))", "x=0", "where it goes from 0 to 1");
    assert!(fault(&["clarke", "-e", "floor(log(exp(x)))", "--at", "x=1"]).contains("bits"));
    assert_eq!(asked("differentiable", "floor(log(exp(x)))", "x=1")["verdict"], json!("unknown"));
}

#[test]
fn positions_jump_at_ties() {
    smooth_at("gather(v, argmax(v))", "v=[1,3,2]", json!(3), json!([0, 1, 0]));
    smooth_at("gather(v, argmin(v))", "v=[1,3,2]", json!(1), json!([1, 0, 0]));
    smooth_at("sum([1, 10, 100] * take_along(v, argsort(v)))", "v=[3,1,2]", json!(321), json!([100, 1, 10]));
    assert_eq!(asked("eval", "argmax(v)", "v=[1,3,3]")["value"], json!(1));
    assert_eq!(asked("eval", "argsort(v)", "v=[2,1,2,1]")["value"], json!([1, 3, 0, 2]));
    jumps("gather(v, argmax(v))", "v=[3,3,2]", "numbers 0 and 1 of its lane are both 3 here");
    // the same number twice is no tie
    smooth_at("argmax(x, x)", "x=2", json!(0), json!(0));
    let top = asked("eval", "top_k(v, k=2)", "v=[1,5,3,5]");
    assert_eq!(top["value"], json!([[5, 5], [1, 3]]));
}

#[test]
fn reading_and_adding_at_positions() {
    let grad = asked("grad", "sum([2, 3] * take_along(v, i))", "v=[1,2,4],i=[2,2]");
    assert_eq!((&grad["value"], &grad["gradient"]["v"]), (&json!(20), &json!([0, 0, 5])));
    assert_eq!(grad["gradient"]["i"], json!([0, 0]));
    let added = asked("eval", "add_along(v, i, of=4)", "v=[1,2,4],i=[3,0,3]");
    assert_eq!(added["value"], json!([2, 0, 0, 5]));
    let rows = asked("eval", "gather(w, i)", "w=[[1,2],[3,4],[5,6]],i=2");
    assert_eq!(rows["value"], json!([5, 6]));
    for bad in ["1/2", "3", "-1"] {
        let message = fault(&["eval", "-e", "gather(v, i)", "--at", &format!("v=[1,2,4],i={bad}")]);
        assert!(message.contains("must be an integer from 0 to 2"), "{message}");
    }
    assert!(fault(&["eval", "-e", "take_along(v, i)", "--at", "v=[1,2],i=0"]).contains("axes"));
}

#[test]
fn products_and_deviations() {
    smooth_at("prod(v)", "v=[2,0,5]", json!(0), json!([0, 10, 0]));
    smooth_at("prod(v)", "v=[2,3,5,7,11]", json!(2310), json!([1155, 770, 462, 330, 210]));
    smooth_at("var(v)", "v=[1,3]", json!(1), json!([-1, 1]));
    assert_eq!(asked("eval", "prod(w, axis=0)", "w=[[1,2],[3,4],[5,6]]")["value"], json!([15, 48]));
    assert_eq!(asked("eval", "std(w, axis=1)", "w=[[1,3],[2,2]]")["value"], json!([1, 0]));
}

#[test]
fn printed_programs_read_back() {
    for e in ["where(x > 0, x, floor(y))", "argmax(x, y) + sign(x)"] {
        let shown = ok(&["show", "-e", e]);
        assert_eq!(tool::ok_with_input(&["show", "-"], &shown), shown);
    }
}
