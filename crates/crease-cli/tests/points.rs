//! `--points`: the same program at many points.

mod tool;

use serde_json::json;
use tool::{fault, file, json as run_json, npy, ok, usage};

#[test]
fn eval_prints_a_line_for_each_point() {
    let named = file("points", "named.json", r#"[{"x": "1/3", "v": [1, 2]}, {"v": [0, -5], "x": 0}]"#);
    let args = ["eval", "-e", "x + v[0], norm1(v)", "--points", &*named];
    assert_eq!(ok(&args), "4/3  3\n0  5\n");
    let all = run_json(&[&args[..], &["--json"]].concat());
    assert_eq!((&all["points"], &all["arithmetic"]), (&json!(2), &json!("exact")));
    assert_eq!(all["value"], json!([[4.0 / 3.0, 0], [3, 5]]));
    assert_eq!(all["exact"]["value"], json!([["4/3", "0"], ["3", "5"]]));
}

#[test]
fn rows_of_an_array_are_points() {
    let array = file("points", "rows.npy", npy("(3, 2)", &[1.0, 2.0, 3.0, 4.0, -5.0, 6.0]));
    assert_eq!(ok(&["eval", "-e", "sum(v)", "--points", &array]), "3\n7\n1\n");
    assert_eq!(ok(&["eval", "-e", "x * y", "--points", &array]), "2\n12\n-30\n");
    let program = file("points", "f.crease", "program f(x, v[1]) = x - v[0]");
    assert_eq!(ok(&["eval", &program, "--points", &array]), "-1\n-1\n-11\n");
    let line = file("points", "line.npy", npy("(3,)", &[1.0, 2.0, 3.0]));
    assert_eq!(ok(&["eval", "-e", "x * x", "--points", &line]), "1\n4\n9\n");
    let images = file("points", "images.npy", npy("(2, 2, 2)", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]));
    assert_eq!(ok(&["eval", "-e", "W[0, 1] - W[1, 0]", "--points", &images]), "-1\n-1\n");
}

#[test]
fn grad_says_at_each_point_what_it_met() {
    let points = file("points", "kinks.json", "[[1, 2], [0, 2], [0, 0]]");
    let args = ["grad", "-e", "relu(x) + abs(x - y)", "--points", &*points];
    let all = run_json(&[&args[..], &["--json"]].concat());
    assert_eq!(all["value"], json!([2, 2, 0]));
    assert_eq!(all["gradient"], json!({"x": [0, -1, -1], "y": [1, 1, 1]}));
    assert_eq!(all["kinks"], json!([0, 1, 2]));
    assert_eq!(all["kind"], json!(["gradient", "conservative", "conservative"]));
    assert_eq!(all["certain"], json!([true, true, true]));
    let text = ok(&args);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    assert_eq!(lines, ["value  x   y", "2      0   1  the gradient", "2      -1  1  1 kink", "0      -1  1  2 kinks"]);
    // each as if it were the only one
    for (k, at) in ["x=1,y=2", "x=0,y=2", "x=0,y=0"].iter().enumerate() {
        let one = run_json(&["grad", "-e", "relu(x) + abs(x - y)", "--at", at, "--json"]);
        assert_eq!((&one["value"], &one["gradient"]["x"]), (&all["value"][k], &all["gradient"]["x"][k]));
    }
}

#[test]
fn many_points_are_compiled_and_agree_with_one_at_a_time() {
    let numbers: Vec<f64> = (0..2000).map(|i| (f64::from(i) * 0.7).sin()).collect();
    let array = file("points", "many.npy", npy("(1000, 2)", &numbers));
    let expression = "exp(x) * relu(y - x) + tanh(x * y) / (2 + sin(y))";
    let all = run_json(&["grad", "-e", expression, "--points", &array, "--float", "--json"]);
    assert_eq!((&all["points"], &all["arithmetic"]), (&json!(1000), &json!("f64")));
    for k in [0, 1, 7, 8, 9, 511, 998, 999] {
        let at = format!("x={:?},y={:?}", numbers[2 * k], numbers[2 * k + 1]);
        let one = run_json(&["grad", "-e", expression, "--at", &at, "--float", "--json"]);
        assert_eq!(one["value"], all["value"][k]);
        for name in ["x", "y"] {
            assert_eq!(one["gradient"][name], all["gradient"][name][k], "{at}");
        }
    }
}

#[test]
fn a_fault_names_the_point() {
    let points = |name: &str, text: &str| file("points", name, text);
    let zero = points("zero.json", "[1, 2, 0]");
    let message = fault(&["eval", "-e", "1 / x", "--points", &zero]);
    assert!(message.starts_with("at point 3: ") && message.contains("1 / x"), "{message}");
    let message = fault(&["eval", "-e", "1 / x", "--points", &zero, "--float"]);
    assert!(message.starts_with("at point 3: "), "{message}");
    let short = fault(&["eval", "-e", "x * y", "--points", &points("short.json", "[[1, 2], [3]]")]);
    assert!(short.contains("point 2 needs 2 coordinates"), "{short}");
    let missing =
        fault(&["eval", "-e", "x * y", "--points", &points("missing.json", r#"[{"x": 1, "y": 2}, {"x": 1}]"#)]);
    assert!(missing.ends_with("point 2 has no value for `y`\n"), "{missing}");
    let unknown = fault(&["eval", "-e", "x", "--points", &points("unknown.json", r#"[{"x": 1}, {"x": 1, "z": 1}]"#)]);
    assert!(unknown.contains("point 2: `z` is not an input"), "{unknown}");
    assert!(fault(&["eval", "-e", "x", "--points", &points("none.json", "[]")]).contains("no points"));
    assert!(fault(&["eval", "-e", "x", "--points", &points("object.json", "{}")]).contains("JSON list of points"));
    assert!(fault(&["eval", "-e", "x", "--points", "nowhere.json"]).contains("there is no file"));
    assert!(usage(&["eval", "-e", "x", "--points", &zero, "--at", "x=1"]).contains("--at"));
    assert!(usage(&["grad", "-e", "x", "--points", &zero, "--report"]).contains("--report"));
}
