//! Never a wrong certainty: each of these was once answered with one. What enters is a program whose numbers vanish, cancel, tie or jump
//! where a look at first order, or at doubles, does not see it; what must leave is the truth, or that it is not known.

mod tool;

use serde_json::{Value, json};
use tool::{fault, json as run_json, ok};

fn verdict(expression: &str, at: &str) -> Value {
    run_json(&["differentiable", "-e", expression, "--at", at, "--json"])["verdict"].clone()
}

fn along(expression: &str, at: &str, direction: &str) -> Value {
    run_json(&["directional", "-e", expression, "--at", at, "--along", direction, "--json"])
}

/// A number that JSON says, with how far it may be off.
fn close(answer: &Value, truth: f64) {
    let x = answer["derivatives"][0].as_f64().unwrap();
    assert!((x - truth).abs() <= 1e-14 * truth.abs(), "{answer} is not {truth}");
    let radius = answer["radius"][0].as_f64().unwrap();
    assert!(radius <= 1e-15 * truth.abs(), "{answer}");
}

/// A vanishing tangent under a square root proves nothing: the norm at 0 is no constant.
#[test]
fn singular_operations_are_refused_where_they_stand() {
    for expression in ["sqrt(x^2 + y^3)", "sqrt(relu(x) * relu(x)) + y", "sqrt(x*y)", "y + sqrt(abs(x^3))"] {
        for command in ["differentiable", "clarke", "conservative", "lexicographic"] {
            let refused = fault(&[command, "-e", expression, "--at", "x=0,y=0"]);
            assert!(
                refused.starts_with("singular at this point: the square root has infinite slope at 0"),
                "{refused}"
            );
            assert!(refused.contains("^^^^"), "{refused}");
        }
        let all = fault(&["clarke", "--all", "-e", expression, "--at", "x=0,y=0"]);
        assert!(all.starts_with("singular"), "{all}");
        let along = fault(&["directional", "-e", expression, "--at", "x=0,y=0", "--along", "x=3,y=4"]);
        assert!(along.starts_with("singular"), "{along}");
    }
    // it is certain of this one, and of those only possible
    let steep = fault(&["differentiable", "-e", "sqrt(x + 2*y)", "--at", "x=0,y=0"]);
    assert!(steep.contains("this is not Lipschitz here"), "{steep}");
    // a sum of squares has a root that is a norm
    assert_eq!(verdict("sqrt(x^2 + y^2)", "x=0,y=0"), "no");
    let along = ok(&["directional", "-e", "sqrt(x^2 + y^2)", "--at", "x=0,y=0", "--along", "x=3,y=4"]);
    assert!(along.contains("x=3,y=4  5\n"), "{along}");
    let grad = ok(&["grad", "-e", "sqrt(x^2 + y^2)", "--at", "x=0,y=0"]);
    assert!(grad.contains("an element of the conservative gradient") && grad.contains("differentiable  no"), "{grad}");
    // where its argument stays 0, the root does, too
    assert_eq!(verdict("sqrt(relu(x)) + y", "x=-1,y=0"), "yes");
    assert_eq!(verdict("sqrt(0*x) + abs(y)", "x=0,y=0"), "no");
}

/// Slopes that doubles cannot tell apart, and that more bits can.
#[test]
fn what_doubles_round_away_is_seen() {
    assert_eq!(verdict("abs((exp(1e-20)-exp(2e-20))*x)", "x=0"), "no");
    assert_eq!(verdict("max(exp(1e-20)*x, exp(2e-20)*x)", "x=0"), "no");
    assert_eq!(verdict("max(sigmoid(40)*x, sigmoid(41)*x)", "x=0"), "no");
    assert_eq!(verdict("sort(v * sigmoid(40))[1] - sort(v * sigmoid(41))[1]", "v=[0,0]"), "no");
    assert_eq!(verdict("select { x > 0 => sigmoid(40)*x, else => sigmoid(41)*x }", "x=0"), "no");
    assert_eq!(verdict("abs(exp(-400)*exp(-400)*x)", "x=0"), "no");
    assert_eq!(verdict("abs(power(2/3, 50000)*x)", "x=0"), "no");
    close(&along("(exp(1e-20)-exp(2e-20))*1e30*x", "x=0", "x=1"), -1.0e10);
    close(&along("sin(x)", "x=1e30", "x=1"), -0.995_931_194_405_395_6);
    close(&along("x/(exp(1e-15)-1)", "x=0", "x=1"), 999_999_999_999_999.5);
    // a difference that is zero stays unknown, and it is said how many bits were tried
    let unknown = run_json(&["differentiable", "-e", "abs((sin(1)^2+cos(1)^2-1)*x)", "--at", "x=0", "--json"]);
    assert_eq!((&unknown["verdict"], &unknown["bits"]), (&json!("unknown"), &json!(4096)));
    let fewer =
        ["differentiable", "-e", "abs((exp(1e-200)-exp(2e-200))*x)", "--at", "x=0", "--max-bits", "512", "--json"];
    assert_eq!(run_json(&fewer)["verdict"], "unknown");
    assert_eq!(verdict("abs((exp(1e-200)-exp(2e-200))*x)", "x=0"), "no");
}

/// No tolerance between floats and exact numbers decides what a result is.
#[test]
fn floats_do_not_decide_what_a_result_is() {
    let program = "1e-10*(relu(x) - relu(-x))";
    let text = ok(&["grad", "-e", program, "--at", "x=0", "--float"]);
    assert!(text.contains("an element of the conservative gradient"), "{text}");
    let g = run_json(&["grad", "-e", program, "--at", "x=0", "--float", "--json"]);
    assert_eq!((&g["kind"], &g["gradient"]["x"]), (&json!("conservative"), &json!(0.0)));
    // with the right convention it is the gradient, and that is known without a look at the float
    let right = ["grad", "-e", program, "--at", "x=0", "--float", "--select", "relu=1/2", "--json"];
    assert_eq!(run_json(&right)["kind"], "gradient");
}

/// What is no truth value is refused by whoever meets it.
#[test]
fn conditions_have_one_meaning() {
    for command in ["eval", "differentiable", "clarke", "grad"] {
        let half = fault(&[command, "-e", "select{c => x, else => -x}", "--at", "c=1/2,x=1"]);
        assert!(half.starts_with("a condition must be 1 or 0"), "{command}: {half}");
        let not = fault(&[command, "-e", "not x", "--at", "x=2"]);
        assert!(not.starts_with("a condition must be 1 or 0"), "{command}: {not}");
    }
    let moving = fault(&["differentiable", "-e", "select{c => x, else => -x}", "--at", "c=1,x=1"]);
    assert!(moving.contains("a condition is a number that changes with the inputs"), "{moving}");
    // comparisons with the same tangent are not the same comparison
    for jump in
        ["select { x^2 > 0 and x^3 < 0 => 1, else => 0*x }", "select { x + y^2 > 0 and not (x > 0) => 5, else => x }"]
    {
        let refused =
            fault(&["differentiable", "-e", jump, "--at", if jump.contains('y') { "x=0,y=0" } else { "x=0" }]);
        assert!(refused.contains("several comparisons of one condition are tied"), "{refused}");
    }
    // the same one, written twice, is one
    assert_eq!(verdict("select { x > 0 and not (0 < x) => 5, else => x }", "x=0"), "yes");
}

/// All pieces that have the function's value at the point belong to the conservative gradient of a selection.
#[test]
fn a_selection_by_equality_reports_what_it_returns() {
    let program = "select { x == 0 => x, else => -x }";
    let g = run_json(&["grad", "-e", program, "--at", "x=0", "--json"]);
    assert_eq!((&g["gradient"]["x"], &g["kind"]), (&json!(1), &json!("conservative")));
    assert_eq!(g["differentiable"]["gradients"][0]["gradient"]["x"], -1);
    let c = run_json(&["conservative", "-e", program, "--at", "x=0", "--contains", "x=1", "--json"]);
    assert_eq!((&c["verdict"], &c["elements"]), (&json!("several"), &json!([{"x": -1}, {"x": 1}])));
    assert_eq!(along(program, "x=0", "x=-3")["derivatives"][0], 3);
    assert_eq!(verdict("select { x != 0 => -x, else => x }", "x=0"), "yes");
}

/// A prime divides the denominator: the filter of the oracle fails, the oracle does not.
#[test]
fn the_prime_of_the_field_in_a_denominator() {
    let program = "relu(x/2305843009213693951)-relu(relu(x/2305843009213693951))";
    let c = run_json(&["clarke", "-e", program, "--at", "x=0", "--json"]);
    assert_eq!(c["exact"]["gradient"]["x"], "0");
    assert_eq!(verdict(program, "x=0"), "yes");
    assert_eq!(run_json(&["conservative", "-e", program, "--at", "x=0", "--json"])["verdict"], "several");
}

/// Selections of selections, far from a tie and at one, take as long as they have equations.
#[test]
fn nested_selections_do_not_double() {
    let mut text = String::from("program p0(x) = x\n");
    for k in 1..=60 {
        let inner = format!("p{}(x)", k - 1);
        text.push_str(&format!("program p{k}(x) = select {{ x > 0 => {inner}, else => {inner} }}\n"));
    }
    let file = tool::file("certainty", "nested.crease", text);
    for at in ["x=3", "x=0", "x=-1"] {
        let answer = run_json(&["differentiable", &file, "--at", at, "--json"]);
        assert_eq!((&answer["verdict"], &answer["gradients"][0]["gradient"]["x"]), (&json!("yes"), &json!(1)), "{at}");
    }
}

/// Sorting n tied numbers takes n log^2 n kinks, not n^2.
#[test]
fn tied_orders_are_small() {
    let zeros = |n: usize| tool::file("certainty", "zeros.json", format!("{{\"v\": [{}]}}", vec!["0"; n].join(",")));
    let kinks = run_json(&["clarke", "-e", "median(v)", "--at", &zeros(401), "--json"])["kinks"].as_u64().unwrap();
    assert!(kinks < 9_000, "{kinks}");
    let sorted = run_json(&["clarke", "-e", "sort(v)[7]", "--at", &zeros(400), "--json"])["kinks"].as_u64().unwrap();
    assert!(sorted < 9_000, "{sorted}");
}

/// JSON says no more than the text: where it is not known whether there is one element, neither calls it a singleton.
#[test]
fn json_is_as_careful_as_text() {
    let program = "exp(x) * relu(y) - exp(x/2)^2 * relu(y)";
    let c = run_json(&["conservative", "-e", program, "--at", "x=1,y=0", "--json"]);
    assert_eq!(c["verdict"], "several"); // each relu has a choice of its own
    let program = "max(exp(x)*y, exp(x/2)^2*y)";
    let c = run_json(&["conservative", "-e", program, "--at", "x=1,y=0", "--json"]);
    assert_eq!((&c["verdict"], &c["certain"]), (&json!("unknown"), &json!(false)));
    assert!(ok(&["conservative", "-e", program, "--at", "x=1,y=0"]).starts_with("conservative  unknown: "));
    let g = run_json(&["grad", "-e", program, "--at", "x=1,y=0", "--json"]);
    assert_eq!(g["conservative"]["verdict"], "unknown");
}

/// The middle of an enclosure that holds 0 is not the gradient: these minima have no descent direction.
#[test]
fn minima_without_exact_gradients_are_not_said_to_decrease() {
    let ask = |expression: &str, at: &str| {
        let args = ["clarke", "--all", "--stationary", "-e", expression, "--at", at];
        let (text, json) = (ok(&args), run_json(&[&args[..], &["--json"]].concat()));
        let line = text.lines().find_map(|l| l.strip_prefix("stationary")).unwrap().trim().to_string();
        (line, json["stationary"].clone())
    };
    for (expression, at) in [
        ("x*log(x) - x - x*log(3)", "x=3"),
        ("exp(log(x)) - x", "x=2"),
        ("max(std([x,logsumexp(x,x)]),y)", "x=0,y=0"),
        ("erf(x) - 2*x*exp(-1/4)/sqrt(atan(1)*4)", "x=1/2"),
    ] {
        let (text, json) = ask(expression, at);
        assert!(text.starts_with("not decided: 0 lies within"), "{expression}: {text}");
        assert_eq!(json, json!({"verdict": "unknown"}), "{expression}");
    }
    for (expression, at, direction) in
        [("exp(x)", "x=1", -1), ("sin(x)", "x=3", 1), ("relu(x)*exp(1)-exp(x)", "x=1", 1)]
    {
        let (text, json) = ask(expression, at);
        if expression.starts_with("relu") {
            // e - e, which no number of bits tells
            assert_eq!(json, json!({"verdict": "unknown"}), "{text}");
            continue;
        }
        assert_eq!(json, json!({"verdict": "no", "descent": {"x": direction}}), "{text}");
        assert!(text.starts_with("no: it decreases along"), "{text}");
    }
    // whatever e is, 0 is between -e and e
    let (text, json) = ask("abs(exp(1)*x)", "x=0");
    assert!(text.starts_with("yes, 0 is a Clarke subgradient"), "{text}");
    assert_eq!(json, json!({"verdict": "yes"}));
}

/// What was told apart looks different, in text and in JSON.
#[test]
fn gradients_that_differ_are_shown_in_as_many_digits() {
    let (expression, at) = ("max(exp(1e-20)*x, exp(2e-20)*x)", "x=0");
    let digits = |g: &Value| g["digits"]["x"].as_str().unwrap_or_default().to_string();
    let [low, high] = ["1.00000000000000000001", "1.00000000000000000002"];
    let text = ok(&["differentiable", "-e", expression, "--at", at]);
    assert!(text.contains(low) && text.contains(high), "{text}");
    let told = run_json(&["differentiable", "-e", expression, "--at", at, "--json"]);
    let mut two: Vec<String> = told["gradients"].as_array().unwrap().iter().map(digits).collect();
    two.sort();
    assert_eq!(two, [low, high]);
    for g in told["gradients"].as_array().unwrap() {
        // how far the float is from the truth, and not only the middle
        assert_eq!(g["gradient"]["x"], 1.0);
        assert!(g["radius"]["x"].as_f64().unwrap() >= 1e-20, "{g}");
    }
    let all = run_json(&["clarke", "--all", "-e", expression, "--at", at, "--json"]);
    let mut two: Vec<String> = all["gradients"].as_array().unwrap().iter().map(digits).collect();
    two.sort();
    assert_eq!(two, [low, high]);
    let set = run_json(&["conservative", "-e", expression, "--at", at, "--json"]);
    assert_eq!(set["digits"], json!([{"x": low}, {"x": high}]));
    for command in [&["conservative"][..], &["grad"], &["clarke", "--all"]] {
        let text = ok(&[command, &["-e", expression, "--at", at]].concat());
        assert!(text.contains(low) && text.contains(high), "{text}");
    }
    // no float comes near these
    let huge = run_json(&["clarke", "-e", "exp(exp(7))*x", "--at", "x=1", "--json"]);
    assert_eq!(huge["gradient"]["x"], Value::Null);
    assert!(digits(&huge).ends_with("e476"), "{huge}");
    let text = ok(&["clarke", "-e", "exp(exp(7))*x", "--at", "x=1"]);
    assert!(text.contains(&format!("clarke      {}", digits(&huge))), "{text}");
    // and where floats tell them apart there are none
    let usual = run_json(&["differentiable", "-e", "abs(exp(1)*x)", "--at", "x=0", "--json"]);
    assert!(usual["gradients"].as_array().unwrap().iter().all(|g| g.get("digits").is_none()), "{usual}");
}

/// A vector is taken exactly. If rounding alone keeps it out, the answer says so, with the distance.
#[test]
fn rounding_is_named_where_it_is_all_that_differs() {
    let ask = |args: &[&str]| (ok(args), run_json(&[args, &["--json"]].concat())["contains"].clone());
    let e = ["conservative", "-e", "exp(x)", "--at", "x=1", "--contains", "x=2.718281828459045"];
    let (text, json) = ask(&e);
    assert!(text.contains("no: x is 2.71828182845904524 in all elements"), "{text}");
    assert!(text.contains("differs from the gradient by about 2.4e-16 only") && text.contains("--within"), "{text}");
    assert_eq!((&json["verdict"], &json["close"]["rounding"]), (&json!("outside"), &json!(true)));
    let distance = json["close"]["distance"].as_f64().unwrap();
    assert!((2.3e-16..2.4e-16).contains(&distance), "{json}");
    let (text, json) = ask(&[&e[..], &["--within", "1e-15"]].concat());
    assert!(text.contains("yes, within 1e-15") && !text.contains("--within"), "{text}");
    assert_eq!((&json["verdict"], &json["close"]["exactly"]), (&json!("gradient"), &json!("outside")));
    // farther than rounding
    let (text, json) = ask(&["conservative", "-e", "exp(x)", "--at", "x=1", "--contains", "x=2.71828"]);
    assert!(text.contains("no: x is ≈ 2.718281828459045 in all elements\n") && !text.contains("--within"), "{text}");
    assert_eq!(json.get("close"), None);
    // a third for each of three, which no float is
    let thirds = "x=0.3333333333333333,y=0.3333333333333333,z=0.3333333333333333";
    let three = ["clarke", "--all", "-e", "max(x, y, z)", "--at", "x=1,y=1,z=1", "--contains", thirds];
    let (text, json) = ask(&three);
    assert!(text.contains("differs from a Clarke subgradient by about") && text.contains("--within"), "{text}");
    assert_eq!((&json["verdict"], &json["close"]["to"]), (&json!("outside"), &json!("a Clarke subgradient")));
    assert_eq!(ask(&[&three[..], &["--within", "1e-12"]].concat()).1["verdict"], "clarke");
    // exactly in the set: nothing more is said
    let (text, json) = ask(&["clarke", "--all", "-e", "max(x, y)", "--at", "x=1,y=1", "--contains", "x=1/2,y=1/2"]);
    assert!(!text.contains("differs") && json.get("close").is_none(), "{text}");
    // by choices at the kinks, which rounding moves
    let third = ["conservative", "-e", "relu(x)/3 - relu(-x)/3", "--at", "x=0", "--contains", "x=0.6666666666666666"];
    assert_eq!(ask(&third).1["close"]["to"], "an element of the conservative gradient");
}
