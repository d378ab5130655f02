//! Each command, as text and as JSON.

mod tool;

use serde_json::{Value, json};
use tool::{crease, fault, file, json as run_json, ok, ok_with_input, usage};

const IDENTITY: &str = "relu(x) - relu(-x)";

#[test]
fn eval_prints_a_line_for_each_output() {
    assert_eq!(ok(&["eval", "-e", "x / 3, norm1(v), 2 * v", "--at", "x=1,v=[1,-2]"]), "1/3\n3\n[2, -4]\n");
    assert_eq!(ok(&["eval", "-e", "exp(x)", "--at", "x=1"]), "2.718281828459045\n");
    assert_eq!(ok(&["eval", "-e", "x + 0.1", "--at", "x=0.2"]), "0.3\n");
    // floats add to 0.30000000000000004, of which the last digits are not certain
    assert_eq!(ok(&["eval", "-e", "x + 0.1", "--at", "x=0.2", "--float"]), "0.3\n");
}

#[test]
fn eval_as_json_has_the_exact_value_beside() {
    let one = run_json(&["eval", "-e", "x / 3", "--at", "x=1", "--json"]);
    assert_eq!(one["value"], json!(1.0 / 3.0));
    assert_eq!((&one["exact"]["value"], &one["arithmetic"]), (&json!("1/3"), &json!("exact")));
    let several = run_json(&["eval", "-e", "x / 2, v", "--at", "x=1,v=[[1,2],[3,4]]", "--json"]);
    assert_eq!(several["value"], json!([0.5, [[1, 2], [3, 4]]]));
    assert_eq!(several["exact"]["value"], json!(["1/2", [["1", "2"], ["3", "4"]]]));
    let float = run_json(&["eval", "-e", "exp(x)", "--at", "x=1", "--json"]);
    assert_eq!((&float["value"], &float["arithmetic"]), (&json!(1f64.exp()), &json!("f64")));
    assert_eq!(float.get("exact"), None);
}

#[test]
fn exact_numbers_stop_before_they_grow_too_long() {
    let square = "let y = x * x; ".to_string() + &"let y = y * y; ".repeat(40) + "y";
    assert_eq!(ok(&["eval", "-e", &square, "--at", "x=1"]), "1\n");
    let float = run_json(&["grad", "-e", &square, "--at", "x=1.0000000001", "--json"]);
    assert_eq!((&float["arithmetic"], &float["certain"]), (&json!("enclosures"), &json!(true)));
    assert_eq!(float["kind"], json!("gradient"), "there is no kink in it");
    // a number beyond all floats is still a number
    assert_eq!(ok(&["eval", "-e", "x^1000", "--at", "x=3"]), "≈ 1.3221e477\n");
    let large = run_json(&["eval", "-e", "x^1000", "--at", "x=10", "--json"]);
    assert_eq!(large["value"], Value::Null);
    assert_eq!(large["exact"]["value"].as_str().map(str::len), Some(1001));
}

#[test]
fn grad_of_the_identity_at_its_kink() {
    shows(
        &ok(&["grad", "-e", IDENTITY, "--at", "x=0"]),
        "
value           0
backprop        0     an element of the conservative gradient (relu'(0) = 0)
clarke          1     the gradient
differentiable  yes   the gradient is 1
conservative    not a singleton: 0 and 2 both belong to it
kinks           2     relu  1:1   relu(x)
                      relu  1:11  relu(-x)
cost            P 4 · backprop 5 counted, 14 by Theorem 2 (3.5 x, bound 5 x)
",
    );
    shows(
        &ok(&["grad", "-e", IDENTITY, "--at", "x=1/3", "--mode", "forward"]),
        "
value       1/3
forprop     1     the gradient
cost        P 4 · forprop 7 counted, 10 by Theorem 2 (2.5 x, bound 4 x)
",
    );
}

#[test]
fn grad_as_json() {
    let g = run_json(&["grad", "-e", IDENTITY, "--at", "x=0", "--json"]);
    assert_eq!((&g["value"], &g["gradient"]), (&json!(0), &json!({"x": 0})));
    assert_eq!((&g["kind"], &g["kinks"], &g["arithmetic"]), (&json!("conservative"), &json!(2), &json!("exact")));
    assert_eq!(g["exact"], json!({"value": "0", "gradient": {"x": "0"}}));
    let met = json!({"operation": "relu", "place": {"line": 1, "column": 11}, "text": "relu(-x)", "elements": 1});
    assert_eq!(g["met"][1], met);
    assert_eq!(g["cost"], json!({"program": 4, "counted": 5, "model": 14, "omega": 5}));
    let away = run_json(&["grad", "-e", IDENTITY, "--at", "x=1e-300", "--json"]);
    assert_eq!((&away["kind"], &away["kinks"], &away["gradient"]["x"]), (&json!("gradient"), &json!(0), &json!(1)));
}

#[test]
fn both_modes_give_one_answer_for_one_selection() {
    let program = "max(x, y) + abs(x) * y + sum(relu(v)) / 3";
    for selection in ["paper", "torch", "jax", "tensorflow", "relu=1/2,abs=0,max=last"] {
        let at = |mode| {
            let point = "x=0,y=0,v=[1,0,-1]";
            run_json(&["grad", "-e", program, "--at", point, "--select", selection, "--mode", mode, "--json"])
        };
        assert_eq!(at("backward")["exact"], at("forward")["exact"], "{selection}");
    }
}

#[test]
fn grad_of_several_inputs_is_aligned_and_large_ones_are_cut() {
    shows(
        &ok(&["grad", "-e", "x * y + sum(relu(v))", "--at", "x=2,y=1/3,v=[1,0,0]", "--select", "relu=1/2"]),
        "
value           5/3
backprop        an element of the conservative gradient (relu'(0) = 0.5)
  x             1/3
  y             2
  v             [1, 0.5, 0.5]
clarke          a Clarke subgradient
  x             1/3
  y             2
  v             [1, 0, 1]
differentiable  no  Clarke subgradients differ; crease differentiable shows two
conservative    not a singleton: a and b both belong to it
  v             a [1, 0, 0]  b [1, 1, 0]
kinks           2  relu  1:13  relu(v)  2 elements
cost            P 7 · backprop 7 counted, 29 by Theorem 2 (4.14 x, bound 5 x)
",
    );
    let point = format!("v=[{}]", vec!["3"; 100].join(","));
    let text = ok(&["grad", "-e", "sum(v * v)", "--at", &point]);
    assert!(text.contains("  v         [6, 6, 6, 6, …, 6, 6, 6, 6]  of shape [100]\n"), "{text}");
    let all = run_json(&["grad", "-e", "sum(v * v)", "--at", &point, "--json"]);
    assert_eq!(all["gradient"]["v"].as_array().map(Vec::len), Some(100));
}

#[test]
fn grad_says_when_floats_decided() {
    let sure = run_json(&["grad", "-e", "exp(x) * relu(x)", "--at", "x=1", "--json"]);
    assert_eq!(
        (&sure["kind"], &sure["arithmetic"], &sure["certain"]),
        (&json!("gradient"), &json!("f64"), &json!(true))
    );
    let unsure = ["grad", "-e", "relu(sin(x)^2 + cos(x)^2 - 1)", "--at", "x=1"];
    let text = ok(&unsure);
    assert!(text.contains("in f64; ties were decided on rounded values\n"), "{text}");
    assert!(text.contains("\narithmetic  f64 (sin has no exact value here)\n"), "{text}");
    assert!(text.contains("not decided with 4096 bits: whether ["), "{text}");
    assert_eq!(run_json(&[&unsure[..], &["--json"]].concat())["kind"], json!("undecided"));
    let asked = ok(&["grad", "-e", "relu(x)", "--at", "x=1", "--float"]);
    assert!(asked.contains("the gradient, in f64\narithmetic  f64 (as asked for with --float)\n"), "{asked}");
}

#[test]
fn a_border_of_a_selection_is_a_tie() {
    let program = "select { x > 0 => x, else => 0 }";
    let on = run_json(&["grad", "-e", program, "--at", "x=0", "--json"]);
    assert_eq!((&on["kind"], &on["met"][0]["text"]), (&json!("conservative"), &json!("x > 0")));
    // an input that is its own condition: beside 0 and 1 there is no value
    let number = run_json(&["grad", "-e", "select { x => x, else => 2 * x }", "--at", "x=0", "--json"]);
    assert_eq!(number["kind"], json!("undecided"));
    let off = run_json(&["grad", "-e", program, "--at", "x=1", "--json"]);
    assert_eq!((&off["kind"], &off["gradient"]["x"]), (&json!("gradient"), &json!(1)));
}

#[test]
fn grad_of_one_output_and_jacobian_of_all() {
    let program = ["grad", "-e", "x * y, x + 2 * y", "--at", "x=2,y=3"];
    let with = |more: &[&'static str]| [&program[..], more].concat();
    let one = run_json(&with(&["--output", "1", "--json"]));
    assert_eq!((&one["value"], &one["gradient"]), (&json!(8), &json!({"x": 1, "y": 2})));
    let all = run_json(&with(&["--jacobian", "--json"]));
    assert_eq!(all["value"], json!([6, 8]));
    assert_eq!(all["jacobian"], json!([{"x": 3, "y": 2}, {"x": 1, "y": 2}]));
    assert_eq!(all["kind"], json!("jacobian"));
    let text = ok(&with(&["--jacobian"]));
    assert!(
        text.contains("jacobian    the Jacobian\n  output 0\n    x       3\n    y       2\n  output 1\n"),
        "{text}"
    );
    let tensor = run_json(&["grad", "-e", "v * v", "--at", "v=[1,2]", "--jacobian", "--mode", "forward", "--json"]);
    assert_eq!(tensor["jacobian"], json!({"v": [[2, 0], [0, 4]]}));
}

#[test]
fn own_joint_programs_are_named() {
    let program = "program hinge(t) = relu(1 - t)
joint hinge(t) { let low = t < 1 return relu(1 - t), -low }
program f(t) = 2 * hinge(t)";
    let text = ok_with_input(&["grad", "-", "--at", "t=0"], program);
    assert!(text.contains("backprop    -2    the gradient (by the joint program of `hinge`, verified here)"), "{text}");
    let through = ok_with_input(&["grad", "-", "--at", "t=0", "--technique", "through"], program);
    assert!(through.contains("the gradient\n"), "{through}");
    let one = ok_with_input(&["grad", "-", "--at", "t=0", "--technique", "hinge=backward"], program);
    assert!(one.contains("the gradient\n"), "{one}");
}

#[test]
fn cost_of_the_identity() {
    shows(
        &ok(&["cost", "-e", IDENTITY]),
        "
program     f  level 1 · 1 scalar input · 4 equations
dictionary  D0 = {+, -, ReLU}
cost        4 = 2 + 2 c_relu

operation  count  price of one
-              1  1
neg            1  1
relu           2  c_relu

          counted           model               ratio  omega  at   attained by
backprop  5 = 3 + 2 c_relu  14 = 12 + 2 c_relu    3.5      5  1:1  - in relu(x) - relu(-x)
forprop   7 = 5 + 2 c_relu  10 = 8 + 2 c_relu     2.5      4  1:1  - in relu(x) - relu(-x)
",
    );
}

#[test]
fn cost_as_json() {
    let c = run_json(&["cost", "-e", IDENTITY, "--json", "--prices", "c_nonlin=2,c_relu=1/2"]);
    assert_eq!((&c["level"], &c["cost"]), (&json!(1), &json!(3)));
    assert_eq!(c["tally"], json!({"-": 1, "neg": 1, "relu": 2}));
    let b = &c["backprop"];
    assert_eq!((&b["model"], &b["counted"], &b["omega"]), (&json!(13), &json!(4), &json!(5)));
    assert_eq!(c["prices"]["cost"], json!("2 + 2 c_relu"));
    assert_eq!(c["prices"]["backprop"]["model"], json!("12 + 2 c_relu"));
    assert!(c["forprop"]["omega"].is_number());
    // several outputs have a cost but no gradient
    let several = run_json(&["cost", "-e", "x, x * y", "--json"]);
    assert_eq!((&several["cost"], &several["backprop"]["counted"]), (&json!(1), &Value::Null));
}

#[test]
fn cost_finds_the_dictionary() {
    let smallest = |e: &str| run_json(&["cost", "-e", e, "--json"])["dictionary"].clone();
    assert_eq!(smallest("x * x + 2 * y"), json!("polynomial"));
    assert_eq!(smallest("relu(x) - y"), json!("D0"));
    assert_eq!(smallest("exp(relu(x)) + 2"), json!("D_ReLU"));
    assert_eq!(smallest("max(x, y)"), json!("extended"));
    let derived = ok(&["show", "-e", "relu(x)", "--derive", "backprop"]);
    let cost: Value = serde_json::from_str(&ok_with_input(&["cost", "-", "--json"], &derived)).unwrap();
    assert_eq!(cost["dictionary"], json!("D'_ReLU"));

    let text = ok(&["cost", "-e", "2 * relu(x) - exp(y)", "--dictionary", "D0"]);
    assert!(
        text.ends_with("\noutside D0 = {+, -, ReLU} by\n  *c   1:1   2 * relu(x)\n  exp  1:15  exp(y)\n"),
        "{text}"
    );
    assert!(ok(&["cost", "-e", IDENTITY, "--dictionary", "D0"]).ends_with("\ninside D0 = {+, -, ReLU}\n"));
    let listed = run_json(&["cost", "-e", "exp(x)", "--dictionary", "D0", "--json"]);
    assert_eq!(listed["outside"]["operations"][0]["operation"], json!("exp"));
}

#[test]
fn what_show_prints_is_a_program() {
    shows(
        &ok(&["show", "-e", IDENTITY, "--derive", "gradient", "--simplify"]),
        "
program backprop_f(x) {
  let v1, v2 = relu'(x)
  let v3 = -x
  let v4, v5 = relu'(v3)
  let v6 = v5 + v2
  return v6
}
",
    );
    let program = "relu(x) * y + exp(x * y)";
    for derived in ["backprop", "forprop", "gradient", "jacobian", "hessian"] {
        let shown = ok(&["show", "-e", program, "--derive", derived]);
        assert_eq!(ok_with_input(&["show", "-"], &shown), shown, "{derived}");
    }
    let backprop = ok(&["show", "-e", "x^2", "--derive", "backprop"]);
    assert_eq!(ok_with_input(&["eval", "-", "--at", "x=3"], &backprop), "9\n6\n");
}

#[test]
fn show_transforms_in_its_own_order() {
    let nested = "program sq(v[2]) = sum(v * v)  program f(v[2]) = max(sq(v), 1) + 0 * v[0]";
    let flat = ok_with_input(&["show", "-", "--simplify", "--lower", "relu", "--scalarize", "--inline"], nested);
    assert!(!flat.contains("sq") && flat.contains("relu(") && flat.contains("v_0 * v_0"), "{flat}");
    assert_eq!(ok_with_input(&["eval", "-", "--at", "v_0=1,v_1=2"], &flat), "5\n");
    let shown = run_json(&["show", "-e", "sum(v * v)", "--at", "v=[1,2]", "--json"]);
    assert_eq!((&shown["inputs"], &shown["level"]), (&json!([{"name": "v", "shape": [2]}]), &json!(1)));
    let path = file("show", "out.crease", "");
    assert_eq!(ok(&["show", "-e", "x", "-o", &path]), "");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "program f(x) {\n  return x\n}\n");
}

#[test]
fn draw_writes_dot_and_svg() {
    let dot = ok(&["draw", "-e", IDENTITY]);
    assert!(dot.starts_with("digraph \"f\" {") && dot.ends_with("}\n"), "{dot}");
    assert!(ok(&["draw", "-e", IDENTITY, "--format", "svg"]).starts_with("<svg "));
    let path = file("draw", "out.svg", "");
    assert_eq!(ok(&["draw", "examples/figure1.crease", "--nested", "-o", &path]), "");
    assert!(std::fs::read_to_string(path).unwrap().ends_with("</svg>\n"));
    let derived = ok(&["draw", "-e", "x * y", "--derive", "backprop"]);
    assert!(derived.contains("backprop"), "{derived}");
    assert_eq!(run_json(&["draw", "-e", "x", "--json"])["format"], json!("dot"));
}

#[test]
fn tables_are_computed_beside_the_paper() {
    shows(
        &ok(&["table", "1"]),
        "
Table 1: omega_b of the dictionary of ReLU programs, every operation at cost 1
omega = (cost(gd) + 2 cost(x)|pr|) / cost(g)
────────────────────────────
 g        omega   paper
════════════════════════════
 +, *     5       5
 +c, *c   3       3
 log      4       4
 exp      3       3
 inv      5       5
 relu     3       3
────────────────────────────
",
    );
    let three = ok(&["table", "3"]);
    assert!(three.contains("differs: linf-cost\n") && three.contains("\nlinf-cost\n  where "), "{three}");
    assert!(three.lines().all(|l| l.chars().count() <= 120), "{three}");
    let two = run_json(&["table", "2", "--json"]);
    assert_eq!(two["table"], json!(2));
    let figures = two["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 36);
    let differing: Vec<&Value> = figures.iter().filter(|f| f["verdict"] == "differs").collect();
    assert!(differing.iter().all(|f| f["erratum"] == "table-2-factor") && differing.len() == 2);
    assert_eq!(two["errata"][0]["id"], json!("table-2-factor"));
}

#[test]
fn points_may_be_files() {
    let json = file("points", "point.json", r#"{"x": "1/3", "v": [1, 2]}"#);
    assert_eq!(ok(&["eval", "-e", "x * sum(v)", "--at", &json]), "1\n");
    let mut npy = b"\x93NUMPY\x01\x00\x46\x00".to_vec();
    npy.extend(format!("{:<69}\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }").bytes());
    npy.extend([1.5f64, 2.0].iter().flat_map(|x| x.to_le_bytes()));
    let npy = file("points", "point.npy", npy);
    assert_eq!(ok(&["eval", "-e", "2 * v", "--at", &npy]), "[3, 4]\n");
}

#[test]
fn programs_come_from_standard_input_and_by_name() {
    let text = "program f(x) = x + 1  program g(x) = f(x) * 2";
    assert_eq!(ok_with_input(&["eval", "-", "--at", "x=1"], text), "4\n");
    assert_eq!(ok_with_input(&["eval", "-", "--program", "f", "--at", "x=1"], text), "2\n");
    assert_eq!(ok(&["eval", "-e", "-x", "--at", "x=-1"]), "1\n");
}

#[test]
fn help_has_examples_and_wrong_use_has_its_code() {
    for command in
        ["eval", "grad", "cost", "show", "draw", "table", "directional", "lexicographic", "clarke", "conservative"]
    {
        let help = ok(&[command, "--help"]);
        assert!(help.contains("\nExamples:\n  crease "), "{help}");
    }
    assert!(ok(&["--version"]).starts_with("crease "));
    assert!(ok(&["--help"]).contains("conservative gradient"));
    for wrong in [
        &["grad"][..],
        &["garden"],
        &["table", "4"],
        &["grad", "f.crease", "-e", "x"],
        &["eval", "-e", "x", "--exact", "--float"],
    ] {
        usage(wrong);
    }
    usage(&["grad", "-e", "x", "--at", "x=0", "--technique", "sideways"]);
}

#[test]
fn a_reader_that_leaves_is_no_fault() {
    let long = format!("x{}", " + x".repeat(50_000));
    let path = file("pipe", "long.crease", format!("program f(x) = {long}"));
    let mut child = crease(&["show", &path])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the tool starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

/// Compares with a text that begins on its own line.
#[track_caller]
fn shows(got: &str, expected: &str) {
    assert_eq!(got, expected.trim_start_matches('\n'), "got:\n{got}");
}

#[test]
fn a_device_that_is_not_there_is_what_is_said_first() {
    let message = fault(&["grad", "-e", "x * x", "--at", "x=1", "--device", "cuda"]);
    match cfg!(feature = "cuda") {
        true => assert!(message.contains("give them with --points"), "{message}"),
        false => {
            assert!(message.contains("this build has no CUDA") && message.contains("--features cuda"), "{message}")
        }
    }
}
