//! `crease simplify`: what it finds, what it says about it, its limits, and faults.

mod tool;

use serde_json::json;
use tool::{crease, fault, file, json as run_json, ok, ok_with_input, usage};

#[track_caller]
fn shows(got: &str, expected: &str) {
    assert_eq!(got, expected.trim_start_matches('\n'), "got:\n{got}");
}

#[test]
fn a_program_with_what_is_known_about_it() {
    let text = ok(&["simplify", "-e", "relu(x - y) + y"]);
    shows(
        &text
            .lines()
            .filter(|l| !l.starts_with("# search") && !l.starts_with("# limits"))
            .map(|l| format!("{l}\n"))
            .collect::<String>(),
        "
# before      3 = 2 + c_relu
# after       1 = c_relu
# equality    proved: both programs have one normal form
program f(x, y) {
  let v2 = max(x, y)
  return v2
}
",
    );
    // what is printed is a program again
    assert_eq!(ok_with_input(&["eval", "-", "--at", "x=2,y=5"], &text), "5\n");
}

#[test]
fn dictionaries_and_prices() {
    let cost = |args: &[&str]| {
        let found = run_json(&[&["simplify", "--json", "-e"], args].concat());
        (found["before"].as_f64().expect("a cost"), found["after"].as_f64().expect("a cost"))
    };
    assert_eq!(cost(&["a * b + a * c"]), (3.0, 2.0));
    assert_eq!(cost(&["relu(x - y) + y", "--dictionary", "D0"]), (3.0, 3.0));
    assert_eq!(cost(&["relu(x) + relu(-x)", "--dictionary", "D0"]), (4.0, 3.0));
    assert_eq!(cost(&["x^4", "--prices", "c_nonlin=5"]), (5.0, 2.0));
    assert_eq!(cost(&["x^3 + 2 * x^2 + 3 * x + 4"]), (7.0, 5.0));
    let text = ok(&["simplify", "-e", "max(x, y)", "--dictionary", "relu", "--prices", "c_relu=1/2"]);
    assert!(text.contains("of the program rewritten in the dictionary"), "{text}");
    assert!(text.contains("# prices      c_nonlin = 1, c_relu = 0.5\n# dictionary  D_ReLU\n"), "{text}");
}

#[test]
fn json_has_all_of_it() {
    let found = run_json(&["simplify", "-e", "relu(x) - relu(-x)", "--json"]);
    assert_eq!((&found["before"], &found["after"], &found["verified"]), (&json!(4), &json!(0), &json!("proved")));
    assert_eq!(found["prices"]["before"], json!("2 + 2 c_relu"));
    assert_eq!(found["program"], json!("program f(x) {\n  return x\n}\n"));
    assert_eq!((&found["regions"], &found["lowered"]), (&json!(1), &json!(false)));
    let kept = run_json(&["simplify", "-e", "x + y", "--json"]);
    assert_eq!((&kept["before"], &kept["after"]), (&json!(1), &json!(1)));
    assert_eq!(kept["equality"], json!("it is the program that was given"));
}

#[test]
fn limits_are_told() {
    let e = "(x + y + z) * (x - y + z) * (x + y - z) * (y + z - x)";
    let few = ok(&["simplify", "-e", e, "--nodes", "200"]);
    assert!(few.contains("\n# limits      200 terms (--nodes)\n"), "{few}");
    let one = ok(&["simplify", "-e", e, "--iterations", "1"]);
    assert!(one.contains("\n# limits      1 round (--iterations)\n"), "{one}");
    let none = ok(&["simplify", "-e", e, "--seconds", "0"]);
    assert!(none.contains("time is up (--seconds)"), "{none}");
    let long = "let y = x; ".to_string() + &"let y = relu(y * x + y * x); ".repeat(60) + "y";
    let pieces = run_json(&["simplify", "-e", &long, "--json", "--nodes", "400"]);
    assert!(pieces["limits"].as_array().is_some_and(|l| l.contains(&json!("regions"))), "{pieces}");
    assert!(pieces["regions"].as_u64() > Some(1) && pieces["after"].as_u64() < pieces["before"].as_u64());
}

#[test]
fn derived_programs_and_files() {
    let d = ok(&["show", "-e", "x * x * x", "--derive", "backprop"]);
    let found = ok_with_input(&["simplify", "-"], &d);
    assert!(found.contains("return ") && found.contains("# after       3"), "{found}");
    let path = file("simplify", "two.crease", "program g(x) = x + x\nprogram h(x, y) = g(x) + g(y)\n");
    assert!(ok(&["simplify", &path]).contains("# after       2"));
    assert!(ok(&["simplify", &path, "--program", "g"]).contains("program g(x)"));
}

#[test]
fn faults() {
    let message = fault(&["simplify", "-e", "x * y + exp(x)", "--dictionary", "D0"]);
    assert!(message.contains("cannot be expressed in D0"), "{message}");
    assert!(fault(&["simplify", "-e", "x +"]).contains("<expression>"));
    assert!(fault(&["simplify", "-e", "x", "--prices", "c_exp=2"]).contains("there is no price `c_exp`"));
    assert!(fault(&["simplify", "-e", "x", "--seconds=-1"]).contains("not negative"));
    assert!(fault(&["simplify", "no-such.crease"]).contains("there is no file"));
    usage(&["simplify"]);
    usage(&["simplify", "-e", "x", "--dictionary", "all"]);
    usage(&["simplify", "-e", "x", "--nodes", "many"]);
    // a broken pipe is no fault
    assert!(crease(&["simplify", "-e", "x"]).output().expect("the tool starts").status.success());
}
