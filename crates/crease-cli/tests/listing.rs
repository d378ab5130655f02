//! `crease clarke --all`: all neighbouring gradients, vertices, `--contains`, `--stationary`, limits and Ctrl-C.

mod tool;

use serde_json::{Value, json};
use tool::{fault, file, json as run_json, ok, usage};

/// Compares with a text that begins on its own line.
#[track_caller]
fn shows(got: &str, expected: &str) {
    assert_eq!(got, expected.trim_start_matches('\n'), "got:\n{got}");
}

#[test]
fn all_gradients_as_text() {
    shows(
        &ok(&["clarke", "--all", "-e", "abs(x) + relu(y)", "--at", "x=0,y=0", "--stationary"]),
        "
value       0
cells       4 cells; these are all
gradients   4 distinct, all vertices of the Clarke subdifferential
            x=1,y=1   along x=1,y=1    vertex
            x=-1      along x=-1,y=-1  vertex
            x=1       along x=1,y=-1   vertex
            x=-1,y=1  along x=-1,y=1   vertex
stationary  yes, 0 is a Clarke subgradient: 0.5 of (x=-1) + 0.5 of (x=1)
work        0 linear programs, 0.000 for each cell
arithmetic  exact
",
    );
    // the identity: two cells, one gradient
    shows(
        &ok(&["clarke", "--all", "-e", "relu(x) - relu(-x)", "--at", "x=0", "--contains", "x=0", "--stationary"]),
        "
value       0
cells       2 cells; these are all
gradients   1: the program is differentiable here
            x=1  along x=1  vertex  2 cells
contains    0  no Clarke subgradient, as it is beyond all of them along x=-1, but an element of the conservative gradient
stationary  no: it decreases along x=-1
work        0 linear programs, 0.000 for each cell
arithmetic  exact
",
    );
}

/// What must be true of every answer: gradients differ, and each is that of the program near the point, along its direction.
fn checked(expression: &str, at: &str, names: &[&str], answer: &Value) {
    let list = answer["gradients"].as_array().unwrap();
    assert_eq!(answer["distinct"], json!(list.len()));
    assert_eq!(list.iter().map(|g| g["cells"].as_u64().unwrap()).sum::<u64>(), answer["cells"]);
    for (i, g) in list.iter().enumerate() {
        assert!(list[..i].iter().all(|other| other["gradient"] != g["gradient"]));
        let step = |name: &&str| {
            let d = answer["exact"]["gradients"][i]["direction"][*name].as_str().unwrap().to_string();
            let (num, den) = d.split_once('/').unwrap_or((&d, "1"));
            format!("{name}={num}/{den}000000")
        };
        assert!(names.iter().all(|n| at.contains(&format!("{n}=0"))));
        let near: Vec<String> = names.iter().map(step).collect();
        let there = run_json(&["grad", "-e", expression, "--at", &near.join(","), "--json"]);
        assert_eq!((&there["kind"], &there["gradient"]), (&json!("gradient"), &g["gradient"]), "{near:?}");
    }
}

#[test]
fn all_gradients_as_json() {
    let program = "max(x, 2 * y, x + y) - relu(x - relu(y)) + abs(z - y) / 3";
    let found = run_json(&["clarke", "--all", "-e", program, "--at", "x=0,y=0,z=0", "--json"]);
    assert_eq!(
        (&found["complete"], &found["limit"], &found["arithmetic"]),
        (&json!(true), &Value::Null, &json!("exact"))
    );
    checked(program, "x=0,y=0,z=0", &["x", "y", "z"], &found);
    assert!(found["gradients"].as_array().unwrap().iter().all(|g| g["vertex"].is_boolean()));
    // tensors keep their shape
    let v = run_json(&["clarke", "--all", "-e", "norm1(v)", "--at", "v=[0,0]", "--json"]);
    assert_eq!((&v["cells"], &v["distinct"]), (&json!(4), &json!(4)));
    assert_eq!(v["gradients"][0]["gradient"], json!({"v": [1, 1]}));
    assert_eq!(v["exact"]["gradients"][1]["gradient"], json!({"v": ["-1", "-1"]}));
    // and no kink is one cell
    let smooth = run_json(&["clarke", "--all", "-e", "x * y", "--at", "x=2,y=3", "--json"]);
    assert_eq!((&smooth["cells"], &smooth["gradients"][0]["gradient"]), (&json!(1), &json!({"x": 3, "y": 2})));
}

#[test]
fn the_output_is_picked() {
    let at = ["clarke", "--all", "-e", "abs(x), max(x, y) + relu(y)", "--at", "x=0,y=0"];
    let second = run_json(&[&at[..], &["--output", "1", "--json"]].concat());
    assert_eq!(second["distinct"], json!(4));
    assert!(fault(&at).contains("--output 0"));
}

#[test]
fn where_a_vector_lies() {
    let program = "abs(x) - abs(y) + relu(z) - relu(-z)";
    let ask = |v: &str| {
        let flags = ["clarke", "--all", "-e", program, "--at", "x=0,y=0,z=0", "--contains", v, "--json"];
        run_json(&flags)["contains"].clone()
    };
    assert_eq!(ask("x=1,y=-1,z=1")["verdict"], "vertex");
    let hull = ask("z=1");
    assert_eq!(hull["verdict"], "hull");
    let total: f64 = hull["weights"].as_array().unwrap().iter().map(|w| w["weight"].as_f64().unwrap()).sum();
    assert_eq!(total, 1.0);
    // what PyTorch and JAX return
    let frameworks = ask("x=0,y=0");
    assert_eq!(frameworks["verdict"], "not clarke");
    let one_side = ask("x=1,y=1,z=0");
    assert_eq!((&one_side["verdict"], one_side["choices"].as_array().unwrap().len()), (&json!("conservative"), 4));
    let far = ask("x=3");
    assert_eq!(
        (&far["verdict"], &far["coordinate"], &far["bounds"]),
        (&json!("outside"), &json!("x"), &json!([-1, 1]))
    );
    // the other command says what it can without the list
    let plain = run_json(&["conservative", "-e", program, "--at", "x=0,y=0,z=0", "--contains", "z=1", "--json"]);
    assert_eq!(plain["contains"]["verdict"], "undecided");
}

#[test]
fn stationary_points() {
    let ask = |e: &str| {
        let flags = ["clarke", "--all", "-e", e, "--at", "x=0,y=0", "--stationary", "--json"];
        run_json(&flags)["stationary"].clone()
    };
    let yes = ask("abs(x) + max(y, -2 * y) + y / 2");
    assert_eq!(yes["verdict"], "yes");
    assert!(yes["weights"].as_array().unwrap().iter().all(|w| w["exact"].is_string()));
    let no = ask("abs(x) + max(y, -2 * y) + 3 * y");
    assert_eq!(no["verdict"], "no");
    assert!(no["descent"]["y"].as_f64().unwrap() < 0.0);
}

/// A sum of relus with (n + 1)! cells.
fn permutahedron(test: &str, n: usize) -> (String, String) {
    let mut terms: Vec<String> = (0..n).map(|i| format!("{} * relu(v[{i}])", 1009 + 37 * i)).collect();
    for i in 0..n {
        for j in i + 1..n {
            terms.push(format!("{} * relu(v[{i}] - v[{j}])", 5003 + 211 * i + 17 * i * j + j * j));
        }
    }
    let text = format!("program p(v[{n}]) = {}\n", terms.join(" + "));
    (file(test, "p.crease", text), format!("v=[{}]", vec!["0"; n].join(",")))
}

#[test]
fn limits_keep_what_was_found() {
    let (path, at) = permutahedron("limits", 6);
    let ask = |more: &[&str]| run_json(&[&["clarke", "--all", &*path, "--at", &*at, "--json"], more].concat());
    let all = ask(&[]);
    assert_eq!((&all["cells"], &all["distinct"], &all["complete"]), (&json!(5040), &json!(5040), &json!(true)));
    assert!(all["gradients"].as_array().unwrap().iter().all(|g| g["vertex"] == true));
    let cells = ask(&["--max-cells", "100"]);
    assert_eq!((&cells["cells"], &cells["complete"]), (&json!(100), &json!(false)));
    assert_eq!(cells["limit"], "the limit of 100 cells was reached");
    assert_eq!(cells["gradients"].as_array().unwrap().len(), 100);
    let few = ask(&["--max-gradients", "7"]);
    assert_eq!((&few["distinct"], &few["limit"]), (&json!(7), &json!("the limit of 7 gradients was reached")));
    let (path, at) = permutahedron("time", 11);
    let time = run_json(&["clarke", "--all", &path, "--at", &at, "--seconds", "0.5", "--json"]);
    assert_eq!((&time["complete"], &time["limit"]), (&json!(false), &json!("time is up")));
    assert!(time["distinct"].as_u64().unwrap() > 100);
    let text = ok(&["clarke", "--all", &path, "--at", &at, "--max-cells", "50"]);
    assert!(text.contains("50 cells; not known to be complete: the limit of 50 cells was reached\n"), "{text}");
    assert!(text.contains("… and 10 more\n"), "{text}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_was_found() {
    use std::process::{Command, Stdio};
    let (path, at) = permutahedron("interrupt", 11);
    let child = tool::crease(&["clarke", "--all", &path, "--at", &at])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(130), 0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("cells; not known to be complete: it was stopped\n"), "{text}");
    assert!(text.contains(" more\n"), "{text}");
}

#[test]
fn enclosed_models_are_not_complete() {
    let flags = ["clarke", "--all", "-e", "abs(x) * exp(x + 1)", "--at", "x=0", "--stationary"];
    let found = run_json(&[&flags[..], &["--json"]].concat());
    assert_eq!(
        (&found["complete"], &found["cells"], &found["arithmetic"]),
        (&json!(false), &json!(2), &json!("enclosures"))
    );
    assert_eq!(found["limit"], "coefficients of the local model are enclosed, with 128 bits, so there may be more");
    assert_eq!((&found["gradients"][0]["vertex"], &found["exact"]), (&Value::Null, &Value::Null));
    // 0 is between -e and e, whatever e is; with which weights depends on that
    assert_eq!(found["stationary"], json!({"verdict": "yes"}));
    // both may be all there is, or not
    let positive = ["clarke", "--all", "-e", "max(x * exp(1), x * exp(2))", "--at", "x=0", "--stationary", "--json"];
    assert_eq!(run_json(&positive)["stationary"], json!({"verdict": "unknown"}));
    assert!(ok(&flags).contains("not known to be complete: coefficients of the local model are enclosed"));
}

#[test]
fn bad_input() {
    fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["clarke", "--all", "-e", "abs(x)", "--at", "x=0"], more].concat()
    }
    assert!(fault(&with(&["--contains", "z=1"])).contains("--contains"));
    assert!(fault(&with(&["--contains", "x=[1,2]"])).contains("--contains"));
    assert!(fault(&with(&["--seconds=-1"])).contains("--seconds -1"));
    assert!(fault(&with(&["--seconds", "nan"])).contains("--seconds"));
    assert_eq!(run_json(&with(&["--seconds", "1e300", "--json"]))["complete"], json!(true));
    assert!(usage(&with(&["--max-cells", "many"])).contains("--max-cells"));
    for alone in [&["--stationary"][..], &["--max-cells", "3"], &["--contains", "x=1"]] {
        assert!(usage(&[&["clarke", "-e", "abs(x)", "--at", "x=0"], alone].concat()).contains("--all"), "{alone:?}");
    }
    assert!(fault(&["clarke", "--all", "-e", "[x, y]", "--at", "x=0,y=0"]).contains("scalar"));
}

#[test]
fn membership_has_a_certificate() {
    let why = file("listing_member", "why.txt", "");
    let program = ["-e", "max(x, y, -x - y)", "--at", "x=0,y=0"];
    let ask = |vector: &str| {
        let args =
            [&["clarke", "--all"], &program[..], &["--contains", vector, "--certificate", &why, "--json"]].concat();
        run_json(&args)
    };
    for (vector, verdict) in [("x=0,y=0", "hull"), ("x=1/2,y=1/2", "hull"), ("x=1,y=0", "vertex")] {
        let answer = ask(vector);
        assert_eq!(
            (&answer["contains"]["verdict"], &answer["certificate"]),
            (&json!(verdict), &json!(true)),
            "{vector}"
        );
        let checked = run_json(&[&["check", &why], &program[..], &["--json"]].concat());
        assert_eq!((&checked["claim"], &checked["compared"]), (&json!("member"), &json!(true)));
    }
    assert_eq!(ask("x=1,y=1")["certificate"], json!(false));
}

#[test]
fn curved_kinks_are_not_called_complete() {
    // between the axis and the parabola the gradient is near (0, -2), but along every direction the function is flat
    let program = "abs(y - x^2) - abs(y)";
    let answer = run_json(&[
        "clarke",
        "--all",
        "-e",
        program,
        "--at",
        "y=0,x=0",
        "--contains",
        "y=-2",
        "--stationary",
        "--json",
    ]);
    assert_eq!((&answer["complete"], &answer["contains"]["verdict"]), (&json!(false), &json!("undecided")));
    let text = ok(&["clarke", "--all", "-e", &format!("{program} + y"), "--at", "y=0,x=0", "--stationary"]);
    assert!(text.contains("the arguments of kinks are curved here"), "{text}");
    assert!(text.contains("stationary  not decided"), "{text}");
    // independent kinks take all branches, curved or not
    let independent =
        run_json(&["clarke", "--all", "-e", "relu(y - x^2) + relu(x + y^2)", "--at", "y=0,x=0", "--json"]);
    assert_eq!((&independent["complete"], &independent["cells"]), (&json!(true), &json!(4)));
    // what is smooth may stand around kinks
    let around = run_json(&["clarke", "--all", "-e", "(1 + relu(y - x))^2 * (x + 1)", "--at", "y=0,x=0", "--json"]);
    assert_eq!((&around["complete"], &around["distinct"]), (&json!(true), &json!(2)));
}

#[test]
fn limits_hold_within_large_maxima() {
    let point = format!("v=[{}]", vec!["0"; 1500].join(","));
    let start = std::time::Instant::now();
    let answer = run_json(&["clarke", "--all", "-e", "max(v)", "--at", &point, "--seconds", "0.5", "--json"]);
    assert_eq!(answer["complete"], json!(false));
    // not a matter of speed: without a look at the clock it would take minutes
    assert!(start.elapsed().as_secs() < 60);
}

#[test]
fn gradients_stream_line_by_line() {
    let text = ok(&["clarke", "--all", "-e", "abs(x) + relu(y) / 3", "--at", "x=0,y=0", "--stream"]);
    let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).expect("a line is JSON")).collect();
    let (last, found) = lines.split_last().unwrap();
    assert_eq!((found.len(), &last["complete"], &last["distinct"]), (4, &json!(true), &json!(4)));
    assert!(found.iter().any(|g| g["exact"]["gradient"] == json!({"x": "-1", "y": "1/3"})), "{text}");
    assert!(last.get("gradients").is_none());
}
