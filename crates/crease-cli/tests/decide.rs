//! `crease differentiable` and `crease sat`: verdicts, certificates, limits, exit codes, and Ctrl-C.

mod tool;

use serde_json::{Value, json};
use tool::{crease, fault, file, json as run_json, ok, usage};

/// Compares with a text that begins on its own line.
#[track_caller]
fn shows(got: &str, expected: &str) {
    assert_eq!(got, expected.trim_start_matches('\n'), "got:\n{got}");
}

/// The kinks cancel, but exp(x) comes about in two ways.
const HIDDEN: &str = "exp(x) * relu(y) - exp(x/2)^2 * relu(-y)";

#[test]
fn yes_no_and_unknown() {
    shows(
        &ok(&["differentiable", "-e", "relu(x) - relu(-x)", "--at", "x=0"]),
        "
differentiable  yes: the kinks cancel
value           0
gradient        1
direction       -2
kinks           2
arithmetic      exact
",
    );
    shows(
        &ok(&["differentiable", "-e", "abs(x) + 2 * x", "--at", "x=0"]),
        "
differentiable  no: two Clarke subgradients differ
value           0
clarke          1     the limit of gradients along this direction
direction       -2
clarke          3     the limit of gradients along this direction
direction       2
kinks           1
arithmetic      exact
",
    );
    let text = ok(&["differentiable", "-e", "exp(x) * abs(y)", "--at", "x=1,y=0"]);
    assert!(
        text.starts_with("differentiable  no: certain enclosures of two Clarke subgradients do not meet\n"),
        "{text}"
    );
    let text = ok(&["differentiable", "-e", "exp(x) * relu(y) - exp(x) * relu(-y)", "--at", "x=1,y=0"]);
    assert!(text.starts_with("differentiable  yes: the kinks cancel"), "{text}");
    let text = ok(&["differentiable", "-e", HIDDEN, "--at", "x=1,y=0"]);
    assert!(text.starts_with("differentiable  unknown: not all operations have exact values here"), "{text}");
    let smooth = ok(&["differentiable", "-e", "x^2", "--at", "x=3"]);
    assert!(smooth.starts_with("differentiable  yes: no kink is active\n"), "{smooth}");
}

#[test]
fn verdicts_as_json() {
    let yes = run_json(&["differentiable", "-e", "max(x, y) + min(x, y)", "--at", "x=1/3,y=1/3", "--json"]);
    assert_eq!((&yes["verdict"], yes["gradients"].as_array().map(Vec::len)), (&json!("yes"), Some(1)));
    assert_eq!(yes["gradients"][0]["gradient"], json!({"x": 1, "y": 1}));
    let no = run_json(&["differentiable", "-e", "max(x, y / 3)", "--at", "x=0,y=0", "--json"]);
    assert_eq!((&no["verdict"], no["gradients"].as_array().map(Vec::len)), (&json!("no"), Some(2)));
    assert_ne!(no["gradients"][0]["gradient"], no["gradients"][1]["gradient"]);
    let exact: Vec<&Value> = (0..2).map(|i| &no["exact"]["gradients"][i]["gradient"]).collect();
    assert!(exact.contains(&&json!({"x": "0", "y": "1/3"})), "{exact:?}");
    let rounded = run_json(&["differentiable", "-e", "exp(x) * abs(y)", "--at", "x=1,y=0", "--json"]);
    assert_eq!((&rounded["verdict"], rounded.get("exact")), (&json!("no"), None));
    let unknown = run_json(&["differentiable", "-e", HIDDEN, "--at", "x=1,y=0", "--json"]);
    assert_eq!((&unknown["verdict"], &unknown["certain"]), (&json!("unknown"), &json!(true)));
    assert!(unknown["limit"].as_str().is_some_and(|l| l.contains("4096 bits")), "{unknown}");
    let few = ["differentiable", "-e", HIDDEN, "--at", "x=1,y=0", "--max-bits", "256", "--json"];
    assert_eq!(run_json(&few)["bits"], 256);
}

/// Two orders of a maximum over a network of two layers: zero, but that takes a search.
fn hard() -> String {
    let mut text = String::from("program hard(x[6]) {\n");
    let mut below: Vec<String> = (0..6).map(|i| format!("x[{i}]")).collect();
    for layer in 0..2 {
        let next: Vec<String> = (0..9).map(|i| format!("h{layer}_{i}")).collect();
        for (i, name) in next.iter().enumerate() {
            let terms: Vec<String> = below
                .iter()
                .enumerate()
                .filter(|(j, _)| (i * 7 + j * 5 + layer * 3 + i * j) % 3 != 0)
                .map(|(j, b)| format!("{} {b}", if (i + 2 * j + layer) % 2 == 0 { "+" } else { "-" }))
                .collect();
            let sum = format!("0 {}", terms.join(" "));
            let value = if layer == 0 { format!("relu({sum})") } else { sum };
            text.push_str(&format!("  let {name} = {value}\n"));
        }
        below = next;
    }
    let left = below[1..].iter().fold(below[0].clone(), |m, v| format!("max({m}, {v})"));
    let right = below[..8].iter().rfold(below[8].clone(), |m, v| format!("max({m}, {v})"));
    text + &format!("  return {left} - {right}\n}}\n")
}

#[test]
fn certificates_are_written_and_checked() {
    let program = file("decide_hard", "hard.crease", hard());
    let certificate = file("decide_hard", "why.txt", "");
    let at = "x=[0,0,0,0,0,0]";
    let text = ok(&["differentiable", &program, "--at", at, "--certificate", &certificate]);
    assert!(text.starts_with("differentiable  yes, proved by a search"), "{text}");
    let checked = ok(&["check", &certificate, &program, "--at", at]);
    assert!(checked.starts_with("proved      differentiable\n"), "{checked}");
    // cut anywhere, it proves nothing
    let whole = std::fs::read_to_string(&certificate).unwrap();
    for part in 1..8 {
        let cut = file("decide_hard", "cut.txt", &whole[..whole.len() * part / 8]);
        assert!(fault(&["check", &cut]).starts_with("certificate line "));
    }
    let nowhere = fault(&["differentiable", "-e", "relu(x)", "--at", "x=0", "--certificate", "/nowhere/why.txt"]);
    assert!(nowhere.contains("cannot be written"), "{nowhere}");
}

#[test]
fn limits_are_results() {
    let program = file("decide_limits", "hard.crease", hard());
    let at = "x=[0,0,0,0,0,0]";
    let stopped = run_json(&["differentiable", &program, "--at", at, "--conflicts", "2", "--json"]);
    assert_eq!(
        (&stopped["verdict"], &stopped["limit"]),
        (&json!("unknown"), &json!("the limit of 2 conflicts was reached"))
    );
    assert_eq!(stopped["gradients"].as_array().map(Vec::len), Some(1));
    let late = ok(&["differentiable", &program, "--at", at, "--seconds", "0"]);
    assert!(late.starts_with("differentiable  unknown: time is up"), "{late}");
}

#[test]
fn bad_input_is_refused() {
    for (args, message) in [
        (&["-e", "relu(x)", "--at", "x=0", "--output", "3"][..], "there is no output 3"),
        (&["-e", "relu(v)", "--at", "v=[0,0]"], "differentiability is that of one scalar output"),
        (&["-e", "1 / x", "--at", "x=0"], "division by zero"),
        (&["-e", "select { x > 0 => 1, else => 0 }", "--at", "x=0"], "not continuous at this point"),
        (&["-e", "relu(x)", "--at", "x=0", "--seconds=-1"], "a time is a number that is not negative"),
        (&["-e", "relu(x)", "--at", "x=nan"], ""),
    ] {
        let said = fault(&[&["differentiable"], args].concat());
        assert!(said.contains(message), "{args:?}: {said}");
    }
    usage(&["differentiable", "-e", "relu(x)", "--at", "x=0", "--seconds", "soon"]);
}

/// What `sat` prints, and its exit code.
fn sat(args: &[&str]) -> (String, Option<i32>) {
    let output = crease(&[&["sat"], args].concat()).output().expect("the tool starts");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

fn literals(printed: &str) -> Vec<i64> {
    let lines = printed.lines().filter_map(|l| l.strip_prefix("v "));
    lines.flat_map(str::split_whitespace).map(|n| n.parse().unwrap()).collect()
}

#[test]
fn formulas_are_answered_like_a_sat_solver() {
    let yes = file("sat", "yes.cnf", "c (a or b) and not a\np cnf 2 2\n1 2 0\n-1 0\n%\n0\n");
    let no = file("sat", "no.cnf", "p cnf 2 4\n1 2 0 -1 2 0\n1 -2 0 -1 -2 0\n");
    for form in ["lattice", "network"] {
        let (printed, code) = sat(&[&yes, "--form", form]);
        assert_eq!(code, Some(10), "{printed}");
        assert!(printed.contains("\ns SATISFIABLE\nv -1 2 0\n"), "{printed}");
        let certificate = file("sat", "why.txt", "");
        let (printed, code) = sat(&[&no, "--form", form, "--certificate", &certificate]);
        assert_eq!(code, Some(20), "{printed}");
        assert!(printed.ends_with("\ns UNSATISFIABLE\n"), "{printed}");
        assert!(ok(&["check", &certificate]).starts_with("proved      differentiable\n"));
    }
    let (printed, code) = sat(&[&no, "--json"]);
    let value: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, &value["verdict"]), (Some(20), &json!("unsatisfiable")));
}

#[test]
fn odd_formulas_have_answers() {
    for (name, text, code) in [
        ("none", "p cnf 0 0\n", 10),
        ("free", "p cnf 3 0\n", 10),
        ("empty", "p cnf 2 2\n1 2 0\n0\n", 20),
        ("always", "p cnf 1 1\n1 -1 0\n", 10),
        ("unit", "p cnf 1 2\n1 0\n-1 0\n", 20),
        ("long", "p cnf 9 2\n1 2 3 4 5 6 7 8 9 0\n-1 0\n", 10),
    ] {
        let path = file("sat_odd", name, text);
        for form in ["lattice", "network"] {
            let (printed, found) = sat(&[&path, "--form", form]);
            assert_eq!(found, Some(code), "{name} as {form}: {printed}");
            if code == 10 {
                assert_eq!(literals(&printed).last(), Some(&0), "{printed}");
            }
        }
    }
    let wrong = file("sat_odd", "wrong", "p cnf 2 1\n1 3 0\n");
    assert!(fault(&["sat", &wrong]).contains(":2:3"));
    assert!(fault(&["sat", "/nowhere.cnf"]).contains("there is no file"));
}

/// Pigeons and one hole less than there are pigeons.
fn pigeons(holes: i32) -> String {
    let at = |p: i32, h: i32| p * holes + h + 1;
    let mut clauses: Vec<String> = Vec::new();
    for p in 0..=holes {
        clauses.push((0..holes).map(|h| at(p, h).to_string() + " ").collect::<String>() + "0");
        for h in 0..holes {
            clauses.extend((0..p).map(|q| format!("-{} -{} 0", at(p, h), at(q, h))));
        }
    }
    format!("p cnf {} {}\n{}\n", holes * (holes + 1), clauses.len(), clauses.join("\n"))
}

#[test]
fn a_formula_that_is_given_up_is_unknown() {
    let path = file("sat_limits", "pigeons.cnf", pigeons(12));
    let (printed, code) = sat(&[&path, "--conflicts", "100"]);
    assert_eq!(code, Some(0));
    assert!(printed.contains("c the limit of 100 conflicts was reached\ns UNKNOWN\n"), "{printed}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_with_what_is_known() {
    use std::process::{Command, Stdio};
    let path = file("sat_interrupt", "pigeons.cnf", pigeons(16));
    let child = crease(&["sat", &path]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the tool starts");
    // it listens by the time that it searches, which is long before it could end
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("there is a kill");
    assert!(sent.success());
    let output = child.wait_with_output().expect("it ends");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("c it was stopped\ns UNKNOWN\n"), "{printed}");
    assert_eq!(output.status.code(), Some(130));
}
