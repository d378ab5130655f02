//! The example files, run as their comments say.

mod tool;

use serde_json::json;
use tool::{json as run_json, ok};

#[test]
fn figure_1() {
    for (program, level, cost) in [("P0", 0, 1), ("P1", 1, 2), ("Q1", 1, 3), ("P2", 2, 6)] {
        let c = run_json(&["cost", "examples/figure1.crease", "--program", program, "--json"]);
        assert_eq!((&c["level"], &c["cost"]), (&json!(level), &json!(cost)), "{program}");
    }
    assert_eq!(ok(&["eval", "examples/figure1.crease", "--at", "a=1,b=2,c=3,d=4"]), "21\n");
}

#[test]
fn identity() {
    // the last of them happens to be right, which is known because the gradient is
    let picked = [("paper", 0, "conservative"), ("relu=1", 2, "conservative"), ("relu=1/2", 1, "gradient")];
    for (selection, derivative, kind) in picked {
        let g = run_json(&["grad", "examples/identity.crease", "--at", "x=0", "--select", selection, "--json"]);
        assert_eq!((&g["gradient"]["x"], &g["kind"]), (&json!(derivative), &json!(kind)), "{selection}");
    }
}

#[test]
fn lasso() {
    let g = run_json(&["grad", "examples/lasso.crease", "--at", "w=[1,0]", "--json"]);
    assert_eq!((&g["exact"]["value"], &g["kinks"]), (&json!("13/5"), &json!(1)));
    // residuals 0, 1, 2: A^T r = (13, 16), and the penalty adds 1/10 and abs'(0) / 10 = -1/10
    assert_eq!(g["exact"]["gradient"]["w"], json!(["131/10", "159/10"]));
    let smooth = run_json(&["grad", "examples/lasso.crease", "--at", "w=[1,1]", "--json"]);
    assert_eq!(smooth["kind"], json!("gradient"));
}

#[test]
fn mlp() {
    let at = "x=[1,-1],W=[[1,1],[2,0],[0,1]],b=[0,0,0],V=[[1,0,1],[0,1,0]]";
    let g = run_json(&["grad", "examples/mlp.crease", "--at", at, "--json"]);
    assert_eq!((&g["arithmetic"], &g["kinks"], &g["kind"]), (&json!("enclosures"), &json!(1), &json!("conservative")));
    assert_eq!(g["met"][0]["text"], json!("relu(W @ x + b)"));
    // the scores are 0 and 2, so the derivative by the second is the softmax 1 / (1 + exp(-2))
    let softmax = 1.0 / (1.0 + f64::exp(-2.0));
    let by_b = g["gradient"]["b"][1].as_f64().unwrap();
    assert!((by_b - softmax).abs() < 1e-15, "{by_b}");
}

#[test]
fn select() {
    for (x, value, slope, kind) in [
        ("3", "5/2", "1", "gradient"),
        ("1/2", "1/8", "1/2", "gradient"),
        ("-3", "5/2", "-1", "gradient"),
        // a border, where both branches have slope 1
        ("1", "1/2", "1", "gradient"),
    ] {
        let g = run_json(&["grad", "examples/select.crease", "--at", &format!("x={x}"), "--json"]);
        assert_eq!(g["exact"], json!({"value": value, "gradient": {"x": slope}}), "{x}");
        assert_eq!(g["kind"], json!(kind), "{x}");
    }
}

#[test]
fn maxpool() {
    let at = "image=[[0,0,1,2],[0,0,3,4],[5,1,0,0],[1,1,0,7]]";
    let g = |selection| run_json(&["grad", "examples/maxpool.crease", "--at", at, "--select", selection, "--json"]);
    assert_eq!((&g("paper")["value"], &g("paper")["kinks"]), (&json!(16), &json!(1)));
    assert_eq!(g("paper")["gradient"]["image"][0], json!([1, 0, 0, 0]));
    assert_eq!(g("torch")["exact"]["gradient"]["image"][0], json!(["1/4", "1/4", "0", "0"]));
}

#[test]
fn theorem_3() {
    let c = run_json(&["cost", "examples/theorem3.crease", "--json"]);
    assert_eq!(c["cost"], json!(6 * 16 + 2 * 4));
    let unit = "[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]";
    let g =
        run_json(&["grad", "examples/theorem3.crease", "--at", &format!("x=[0,0,0,0],B={unit},M={unit}"), "--json"]);
    assert_eq!((&g["kinks"], &g["kind"]), (&json!(8), &json!("conservative")));
    // at x = a with signs u_1, the value is <b_1, M a>
    let value = ok(&["eval", "examples/theorem3.crease", "--at", &format!("x=[1,0,0,0],B={unit},M={unit}")]);
    assert_eq!(value, "1\n");
}

#[test]
fn formula() {
    let output = tool::crease(&["sat", "examples/formula.cnf"]).output().unwrap();
    assert_eq!(output.status.code(), Some(10));
    let facts = run_json(&["reduce", "examples/formula.cnf", "--form", "network", "--json"]);
    // log2(4) + 3 of them
    assert_eq!(facts["relu_layers"], json!(5), "{facts}");
}
