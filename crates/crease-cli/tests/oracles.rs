//! The commands of Section 5, and what `grad` says at kinks: as text and as JSON, and bad input.

mod tool;

use serde_json::{Value, json};
use tool::{fault, file, json as run_json, ok, ok_with_input, usage};

const IDENTITY: &str = "relu(x) - relu(-x)";

/// Compares with a text that begins on its own line.
#[track_caller]
fn shows(got: &str, expected: &str) {
    assert_eq!(got, expected.trim_start_matches('\n'), "got:\n{got}");
}

#[test]
fn directional_derivatives_at_a_kink() {
    shows(
        &ok(&["directional", "-e", "abs(x)", "--at", "x=0", "--along", "x=-1", "--along", "x=1/3"]),
        "
value       0
along       x=-1   1
along       x=1/3  1/3
kinks       abs  1:1  abs(x)
arithmetic  exact
",
    );
    let d = run_json(&["directional", "-e", "abs(x)", "--at", "x=0", "--along", "x=-1", "--along", "x=1/3", "--json"]);
    assert_eq!(d["derivatives"], json!([1, 1.0 / 3.0]));
    assert_eq!((&d["exact"]["derivatives"], &d["arithmetic"]), (&json!(["1", "1/3"]), &json!("exact")));
    // names that are left out are 0
    let part = run_json(&["directional", "-e", "max(x, y)", "--at", "x=1,y=1", "--along", "y=2", "--json"]);
    assert_eq!(part["derivatives"], json!([2]));
}

#[test]
fn directional_derivatives_of_several_outputs_are_lists() {
    let at = ["directional", "-e", "max(x, y), x * y", "--at", "x=1,y=1", "--along", "x=1,y=-1", "--along", "y=2"];
    let text = ok(&at);
    assert!(text.contains("value       1, 1\nalong       x=1,y=-1  1, 0\nalong       y=2       2, 2\n"), "{text}");
    let d = run_json(&[&at[..], &["--json"]].concat());
    assert_eq!((&d["derivatives"], &d["kinks"]), (&json!([[1, 0], [2, 2]]), &json!(1)));
    let tensor = run_json(&["directional", "-e", "abs(v)", "--at", "v=[0,1]", "--along", "v=[-3,-3]", "--json"]);
    assert_eq!(tensor["derivatives"], json!([[3, -3]]));
}

#[test]
fn the_local_model_is_a_program() {
    let shown = ok(&["directional", "-e", "abs(x) + x^2", "--at", "x=0", "--show"]);
    shows(
        &shown,
        "
program local(d_x) {
  let v1 = -d_x
  let v2 = max(v1, d_x)
  return v2
}
",
    );
    assert_eq!(ok_with_input(&["eval", "-", "--at", "d_x=-3"], &shown), "3\n");
    assert!(ok_with_input(&["cost", "-"], &shown).contains("max"));
    usage(&["directional", "-e", "x", "--at", "x=0", "--show", "--along", "x=1"]);
    usage(&["directional", "-e", "x", "--at", "x=0"]);
}

#[test]
fn enclosed_coefficients_are_told() {
    let sure = run_json(&["directional", "-e", "exp(x) * abs(y)", "--at", "x=1,y=0", "--along", "y=-1", "--json"]);
    assert_eq!((&sure["arithmetic"], &sure["certain"]), (&json!("enclosures"), &json!(true)));
    assert!((sure["derivatives"][0].as_f64().unwrap() - 1f64.exp()).abs() < 1e-14);
    assert_eq!(sure.get("exact"), None);
    let open = ["clarke", "-e", "relu(sin(x)^2 + cos(x)^2 - 1)", "--at", "x=1"];
    let text = fault(&open);
    assert!(text.starts_with("not decided: whether [") && text.contains("with 4096 bits\n"), "{text}");
    assert!(text.contains("1:1") && text.contains("^^^^"), "{text}");
    let verdict = run_json(&["differentiable", "-e", open[2], "--at", "x=1", "--json"]);
    assert_eq!((&verdict["verdict"], &verdict["bits"]), (&json!("unknown"), &json!(4096)));
    let set = run_json(&["conservative", "-e", open[2], "--at", "x=1", "--json"]);
    assert_eq!((&set["verdict"], &set["certain"]), (&json!("unknown"), &json!(false)));
}

#[test]
fn lexicographic_derivatives() {
    let at = ["lexicographic", "-e", "max(x, y) + abs(x)", "--at", "x=0,y=0"];
    let with = |more: &[&'static str]| [&at[..], more].concat();
    shows(
        &ok(&with(&["--along", "y=-1", "--along", "x=1,y=1", "--trace", "--forward"])),
        "
value          0
lexicographic  the lexicographic derivative along the basis, a Clarke subgradient
  x            2
  y            0
basis          2 directions, used to the end
kinks          max  1:1   max(x, y)  settled by the 1st direction, y=-1
               abs  1:13  abs(x)     settled by the 2nd direction, x=1,y=1
arithmetic     exact
cost           P 4 · sweeps over the local model 14 counted (3.5 x)
forward        the same answer by vector forward mode · 11 counted (2.75 x)
",
    );
    let l = run_json(&with(&["--forward", "--json"]));
    assert_eq!(
        (&l["gradient"], &l["kind"], &l["kinks"]),
        (&json!({"x": 2, "y": 0}), &json!("lexicographic"), &json!(2))
    );
    assert_eq!(l["exact"], json!({"value": "0", "gradient": {"x": "2", "y": "0"}}));
    assert_eq!((&l["directions"], &l["agrees"]), (&json!(1), &json!(true)));
    assert_eq!(l["settled"][1]["text"], json!("abs(x)"));
    assert_eq!((&l["settled"][0]["direction"], &l["settled"][1]["direction"]), (&json!(0), &json!(0)));
    assert!(ok(&with(&[])).contains("basis          the identity, of which the first settled all\n"));
}

#[test]
fn a_basis_may_be_a_file() {
    let named = file("basis", "named.json", r#"[{"y": -1}, {"x": "1/2", "y": 1}]"#);
    let listed = file("basis", "listed.json", "[[0, -1], [0.5, 1]]");
    for path in [&named, &listed] {
        let at = ["lexicographic", "-e", "max(x, y) + abs(x)", "--at", "x=0,y=0", "--basis", path, "--json"];
        assert_eq!(run_json(&at)["gradient"], json!({"x": 2, "y": 0}), "{path}");
    }
    let lexicographic = |path: &str| fault(&["lexicographic", "-e", "x + y", "--at", "x=0,y=0", "--basis", path]);
    assert!(lexicographic(&file("basis", "short.json", "[[1], [0, 1]]")).contains("direction 1 needs 2 coordinates"));
    assert!(lexicographic(&file("basis", "object.json", "{}")).contains("is not a JSON list of directions"));
    assert!(lexicographic(&file("basis", "name.json", r#"[{"z": 1}]"#)).contains("direction 1: `z` is not an input"));
    assert!(lexicographic("nowhere.json").contains("there is no file nowhere.json"));
    let dependent = fault(&["lexicographic", "-e", "x + y", "--at", "x=0,y=0", "--along", "x=1", "--along", "x=2"]);
    assert!(dependent.contains("needs 2 linearly independent directions"), "{dependent}");
}

#[test]
fn one_clarke_subgradient() {
    shows(
        &ok(&["clarke", "-e", IDENTITY, "--at", "x=0"]),
        "
value       0
clarke      1     a Clarke subgradient: the limit of gradients along this direction
direction   -2
kinks       relu  1:1   relu(x)   left
            relu  1:11  relu(-x)  right
arithmetic  exact
cost        P 4 · sweeps over the local model 8 counted (2 x), with the first direction drawn
",
    );
    let c = run_json(&["clarke", "-e", IDENTITY, "--at", "x=0", "--json"]);
    assert_eq!((&c["value"], &c["gradient"], &c["kind"]), (&json!(0), &json!({"x": 1}), &json!("clarke")));
    assert_eq!((&c["kinks"], &c["proved"], &c["exact"]["gradient"]), (&json!(2), &json!(true), &json!({"x": "1"})));
    assert_eq!((&c["operations"]["total"], &c["operations"]["program"]), (&json!(8), &json!(4)));
    let smooth = ok(&["clarke", "-e", "x^2", "--at", "x=3"]);
    assert!(smooth.contains("clarke      6     the gradient: no kink matters here\n"), "{smooth}");
}

#[test]
fn the_direction_of_a_clarke_subgradient_can_be_checked() {
    let program = "norm1(v) + max(x, 2 * y, x + y) - relu(x - relu(y))";
    for seed in ["1", "2", "3", "4", "5"] {
        let c = run_json(&["clarke", "-e", program, "--at", "v=[0,0,1],x=0,y=0", "--seed", seed, "--json"]);
        let step = |name: &str, i: usize| c["exact"]["direction"][name][i].as_str().unwrap().parse::<i64>().unwrap();
        let one = |name: &str| c["exact"]["direction"][name].as_str().unwrap().parse::<i64>().unwrap();
        let near = format!(
            "v=[{}/1000000,{}/1000000,1],x={}/1000000,y={}/1000000",
            step("v", 0),
            step("v", 1),
            one("x"),
            one("y")
        );
        let g = run_json(&["grad", "-e", program, "--at", &near, "--json"]);
        assert_eq!((&g["kind"], &g["gradient"]), (&json!("gradient"), &c["gradient"]), "{seed}");
    }
}

#[test]
fn the_conservative_gradient_of_the_identity() {
    shows(
        &ok(&["conservative", "-e", IDENTITY, "--at", "x=0"]),
        "
value         0
conservative  not a singleton: 0 and 2 both belong to it
bounds        all between 0 and 2
choices                             for 0  for 2
              relu  1:1   relu(x)   left   right
              relu  1:11  relu(-x)  left   right
path          relu(x)  the fewest kinks between output and inputs
arithmetic    exact
",
    );
    let c = run_json(&["conservative", "-e", IDENTITY, "--at", "x=0", "--json"]);
    assert_eq!((&c["verdict"], &c["elements"]), (&json!("several"), &json!([{"x": 0}, {"x": 2}])));
    assert_eq!((&c["proved"], &c["bounds"]), (&json!(true), &json!({"x": [0, 2]})));
    assert_eq!(c["exact"], json!({"elements": [{"x": "0"}, {"x": "2"}], "bounds": {"x": ["0", "2"]}}));
    assert_eq!(c["choices"][1]["weights"], json!([[1, 0], [0, 1]]));
}

#[test]
fn conservative_gradients_of_vectors() {
    shows(
        &ok(&["conservative", "-e", "norm1(v) + max(x, 2*y)", "--at", "v=[0,1],x=0,y=0"]),
        "
value         1
conservative  not a singleton: a and b both belong to it
  v           a     [-1, 1]
              b     [1, 1]
              from  [-1, 1]
              to    [1, 1]
  x           a 1  b 1  all between 0 and 1
  y           a 0  b 0  all between 0 and 2
choices                                 for a     for b
              norm1  1:1   norm1(v)     left      right
              max    1:12  max(x, 2*y)  1st of 2  1st of 2
path          norm1(v)  the fewest kinks between output and inputs
arithmetic    exact
",
    );
    let one = ok(&["conservative", "-e", "max(x, x) + y", "--at", "x=0,y=1"]);
    assert!(
        one.contains("conservative  a singleton: no kink matters here\n  x           1\n  y           1\n"),
        "{one}"
    );
    let c = run_json(&["conservative", "-e", "max(x, x) + y", "--at", "x=0,y=1", "--json"]);
    assert_eq!((&c["verdict"], &c["elements"]), (&json!("singleton"), &json!([{"x": 1, "y": 1}])));
}

#[test]
fn where_a_vector_lies() {
    let ask = |expression: &str, vector: &str| {
        let at = ["conservative", "-e", expression, "--at", "x=0", "--contains", vector];
        let answer = run_json(&[&at[..], &["--json"]].concat())["contains"].clone();
        (ok(&at).lines().find(|l| l.starts_with("contains")).unwrap().to_string(), answer)
    };
    let (text, answer) = ask("relu(x)", "x=1");
    assert!(
        text.starts_with("contains      x=1  yes, a Clarke subgradient: the limit of gradients along x="),
        "{text}"
    );
    assert_eq!(answer["verdict"], json!("clarke"));
    assert!(answer["direction"]["x"].as_f64().unwrap() > 0.0);
    let (text, answer) = ask("relu(x)", "x=2");
    assert_eq!(text, "contains      x=2  no: x is between 0 and 1 in all elements");
    assert_eq!(answer, json!({"verdict": "outside", "coordinate": "x", "bounds": [0, 1]}));
    let (text, answer) = ask("relu(x)", "x=1/2");
    assert!(text.contains("not decided here"), "{text}");
    assert_eq!(answer["verdict"], json!("undecided"));
    let (text, answer) = ask("relu(x)^2 + x", "x=1");
    assert_eq!(
        (&*text, &answer["verdict"]),
        ("contains      x=1  it is the gradient, the only element", &json!("gradient"))
    );
}

#[test]
fn grad_says_clarke_and_conservative() {
    let g = run_json(&["grad", "-e", IDENTITY, "--at", "x=0", "--json"]);
    assert_eq!((&g["kind"], &g["gradient"]["x"]), (&json!("conservative"), &json!(0)));
    assert_eq!((&g["clarke"]["gradient"], &g["clarke"]["exact"]["gradient"]), (&json!({"x": 1}), &json!({"x": "1"})));
    assert_eq!(
        (&g["conservative"]["verdict"], &g["conservative"]["elements"]),
        (&json!("several"), &json!([{"x": 0}, {"x": 2}]))
    );
    // away from kinks there is nothing to add
    let away = run_json(&["grad", "-e", IDENTITY, "--at", "x=1", "--json"]);
    assert_eq!((away.get("clarke"), away.get("conservative")), (None, None));
}

#[test]
fn a_tie_that_cannot_matter_leaves_the_gradient() {
    let text = ok(&["grad", "-e", "relu(x)^2 + max(x, x)", "--at", "x=0"]);
    let (told, _) = text.split_once("cost").unwrap();
    shows(
        told,
        "
value           0
backprop        1     the gradient: the conservative gradient is this one element
clarke          1     the gradient
differentiable  yes   the gradient is 1
conservative    a singleton: no kink matters here
kinks           2     relu  1:1   relu(x)
                      max   1:13  max(x, x)
",
    );
    let g = run_json(&["grad", "-e", "relu(x)^2 + max(x, x)", "--at", "x=0", "--json"]);
    assert_eq!(
        (&g["kind"], &g["kinks"], &g["conservative"]["verdict"]),
        (&json!("gradient"), &json!(2), &json!("singleton"))
    );
}

#[test]
fn grad_where_there_is_no_local_model() {
    let jump = ok(&["grad", "-e", "select { x > 0 => x + 1, else => 0 }", "--at", "x=0"]);
    assert!(jump.contains("no derivative: the program jumps here"), "{jump}");
    assert!(jump.contains("clarke      none: not continuous here, the branches"), "{jump}");
    // beside 0 and 1 there is no value
    let none = ok(&["grad", "-e", "select { x => x, else => 2 * x }", "--at", "x=0"]);
    assert!(none.contains("clarke      not told: a condition is a number that changes with the inputs"), "{none}");
    // a smooth function in front is not swept as tensors
    let many = format!("sum(relu(exp(v) * {})) - sum(relu(v))", "2 * ".repeat(3) + "1");
    let point = file("many", "point.json", format!("{{\"v\": [{}]}}", vec!["0"; 60_000].join(",")));
    let text = ok(&["grad", "-e", &many, "--at", &point]);
    assert!(text.contains("operations are many; ask crease clarke or conservative"), "{text}");
}

#[test]
fn the_kink_report() {
    shows(
        &ok(&["grad", "-e", "relu(x) + abs(y - 1) + max(x, z, 2 * z)", "--at", "x=0,y=3,z=0", "--report"]),
        "
value           2
backprop        an element of the conservative gradient (relu'(0) = 0; max: the first of equals)
  x             1
  y             1
  z             0
clarke          a Clarke subgradient
  x             0
  y             1
  z             2
differentiable  no  Clarke subgradients differ; crease differentiable shows two
conservative    not a singleton: a and b both belong to it
  x             a 0  b 2
  z             a 1  b 0
kinks           2  relu  1:1   relu(x)
                   max   1:24  max(x, z, 2 * z)
active          relu  1:1   relu(x)           picked left      another choice changes it by up to 1
                max   1:24  max(x, z, 2 * z)  picked 1st of 3  another choice changes it by up to 2
width           2, which no selection exceeds in any coordinate
decided         abs  1:11  abs(y - 1)  2 from switching
cost            P 9 · backprop 12 counted, 31 by Theorem 2 (3.44 x, bound 5 x)
",
    );
    let g =
        run_json(&["grad", "-e", "abs(x) + relu(y)", "--at", "x=0,y=-1/2", "--report", "--select", "torch", "--json"]);
    let report = &g["report"];
    assert_eq!((&report["active"][0]["weights"], &report["active"][0]["change"]), (&json!([0.5, 0.5]), &json!(1)));
    assert_eq!((&report["nearest"][0]["margin"], &report["decided"]), (&json!(0.5), &json!(1)));
    assert_eq!(report["width"], json!(2));
    let smooth = ok(&["grad", "-e", "x^2", "--at", "x=1", "--report"]);
    assert!(smooth.contains("active          no kink matters here\n"), "{smooth}");
}

#[test]
fn bad_directions() {
    let along = |direction: &str| {
        fault(&["directional", "-e", "width * sum(v)", "--at", "width=1,v=[1,2]", "--along", direction])
    };
    assert_eq!(along("widht=1"), "--along: `widht` is not an input of `f`; did you mean `width`?\n");
    assert_eq!(along("v=[1,2,3]"), "--along: input `v` has shape [2], but its value has shape [3]\n");
    assert_eq!(along("width=[1]"), "--along: input `width` is a scalar, but its value has shape [1]\n");
    assert!(along("width").contains("--along `width`: expected `=` after `width`"));
    assert!(along("width=nan").contains("finite"));
    assert!(along("nowhere.json").contains("there is no file nowhere.json"));
    let contains = fault(&["conservative", "-e", "x", "--at", "x=1", "--contains", "y=1"]);
    assert_eq!(contains, "--contains: `y` is not an input of `f`; its inputs are x\n");
}

#[test]
fn questions_about_one_scalar_output() {
    for command in ["lexicographic", "clarke", "conservative"] {
        let two = fault(&[command, "-e", "x, relu(x)", "--at", "x=0"]);
        assert!(two.contains("`f` returns 2 outputs; pick one with --output 0"), "{two}");
        let vector = fault(&[command, "-e", "v", "--at", "v=[1,2]"]);
        assert!(vector.contains("a tensor of shape [2]"), "{vector}");
        let third = fault(&[command, "-e", "x, relu(x)", "--at", "x=0", "--output", "2"]);
        assert!(third.contains("there is no output 2"), "{third}");
        let picked = run_json(&[command, "-e", "3 * x, relu(x)", "--at", "x=0", "--output", "0", "--json"]);
        let gradient = picked.get("gradient").unwrap_or(&picked["elements"][0]);
        assert_eq!(gradient, &json!({"x": 3}), "{command}");
        let missing = fault(&[command, "-e", "x", "--output", "0"]);
        assert!(missing.contains("input `x` has no value"), "{missing}");
    }
}

#[test]
fn what_has_no_local_model_is_shown_where_it_stands() {
    let jump = fault(&["clarke", "-e", "1 + select { x > 0 => x + 1, else => 0 }", "--at", "x=0"]);
    assert!(jump.starts_with("not continuous at this point: the branches that meet here"), "{jump}");
    assert!(jump.contains("1:5") && jump.contains("^^^"), "{jump}");
    let root = fault(&["directional", "-e", "sqrt(x)", "--at", "x=0", "--along", "x=1"]);
    assert!(root.contains("infinite slope") && root.contains("^^^^^^^"), "{root}");
    let none = fault(&["conservative", "-e", "1 / x", "--at", "x=0"]);
    assert!(none.starts_with("division by zero\n"), "{none}");
}

#[test]
fn programs_without_inputs_have_answers() {
    for command in ["lexicographic", "clarke", "conservative"] {
        assert!(ok(&[command, "-e", "max(1, 1)"]).starts_with("value "), "{command}");
        let answer = run_json(&[command, "-e", "max(1, 1)", "--json"]);
        assert_eq!((&answer["value"], &answer["kinks"]), (&Value::from(1), &json!(0)), "{command}");
    }
    assert_eq!(ok(&["directional", "-e", "2", "--show"]), "program local() {\n  return 0\n}\n");
}

#[test]
fn sum_of_a_thousand_absolute_values() {
    let point = file("thousand", "point.json", format!("{{\"v\": [{}]}}", vec!["0"; 1000].join(",")));
    let c = run_json(&["clarke", "-e", "norm1(v)", "--at", &point, "--json"]);
    assert_eq!((&c["kinks"], &c["proved"]), (&json!(1000), &json!(true)));
    assert!(c["gradient"]["v"].as_array().unwrap().iter().all(|x| x == 1 || x == -1));
    let text = ok(&["conservative", "-e", "norm1(v)", "--at", &point]);
    assert!(text.contains("norm1  1:1  norm1(v)  left   left   999 elements\n"), "{text}");
    let l = run_json(&["lexicographic", "-e", "norm1(v)", "--at", &point, "--json"]);
    assert_eq!(l["directions"], json!(1000));
}

#[test]
fn what_is_made_of_a_jump_need_not_jump() {
    // constant, the identity: nothing is claimed of them, and nothing wrong
    for e in ["where(x > 0, 1, -1)^2", "0 * where(x > 0, 1, 0) + x"] {
        let g = run_json(&["grad", "-e", e, "--at", "x=0", "--json"]);
        assert_eq!(g["kind"], json!("undecided"), "{e}");
        let text = ok(&["grad", "-e", e, "--at", "x=0"]);
        assert!(text.contains("not told: where(x > 0, ") && text.contains("is not continuous here"), "{text}");
    }
    // a ramp: inside of the outer choice the inner one is x
    let ramp = "where(x > 0, where(x > 0, x, 1), 0)";
    assert_eq!(run_json(&["differentiable", "-e", ramp, "--at", "x=0", "--json"])["verdict"], json!("no"));
    let along = ["directional", "-e", ramp, "--at", "x=0", "--along", "x=2", "--along", "x=-2", "--json"];
    assert_eq!(run_json(&along)["derivatives"], json!([2, 0]));
    let program = "program g(x) = where(x > 0, 1, -1)^2\nprogram f(x) = select { x > 0 => g(x), else => g(-x) }\n";
    let file = std::env::temp_dir().join(format!("crease-jump-{}.crease", std::process::id()));
    std::fs::write(&file, program).unwrap();
    let g = run_json(&["grad", file.to_str().unwrap(), "--at", "x=0", "--json"]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(g["kind"], json!("undecided"));
    // and this one jumps
    let g = run_json(&["grad", "-e", "where(x > 0, 1, -1)", "--at", "x=0", "--json"]);
    assert_eq!(g["kind"], json!("none"));
}
