//! Certificates about coefficients without exact values, from `crease differentiable` to `crease check`.

mod tool;

use serde_json::{Value, json};
use tool::{fault, file, json as run_json, ok};

const EXAMPLES: [(&str, &str, &str); 3] = [
    ("abs((exp(1e-20) - exp(2e-20)) * x)", "x=0", "x"),
    ("max(exp(1e-20) * x, exp(2e-20) * x)", "x=0", "x"),
    ("exp(x) * abs(y)", "x=1,y=0", "y"),
];

/// Writes the certificate of a no, and returns its path and text.
fn certified(test: &str, expression: &str, at: &str) -> (String, String) {
    let path = file(test, "no.cert", "");
    let got = run_json(&["differentiable", "-e", expression, "--at", at, "--certificate", &path, "--json"]);
    assert_eq!((&got["verdict"], &got["certificate"]), (&json!("no"), &json!(true)), "{expression}: {got}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("crease-certificate 1\nclaim not-differentiable-enclosed\n"), "{text}");
    (path, text)
}

#[test]
fn written_checked_and_compared() {
    for (expression, at, coordinate) in EXAMPLES {
        let (path, text) = certified("enclosed_examples", expression, at);
        let alone = ok(&["check", &path]);
        assert!(alone.contains("whatever its coefficients are inside their enclosures\n"), "{alone}");
        assert!(alone.contains("1 kink, with enclosures of 128 bits, as the certificate states it"), "{alone}");
        let shown = ok(&["check", &path, "-e", expression, "--at", at]);
        assert!(shown.contains("with enclosures of 128 bits; the local model of `f` at this point\n"), "{shown}");
        let got = run_json(&["check", &path, "-e", expression, "--at", at, "--json"]);
        assert_eq!(
            [&got["claim"], &got["compared"], &got["coordinate"], &got["bits"], &got["arithmetic"]],
            [
                &json!("not-differentiable-enclosed"),
                &json!(true),
                &json!(coordinate),
                &json!(128),
                &json!("enclosures")
            ]
        );
        let sides = &got["exact"]["sides"];
        assert!(sides[0]["low"].is_string() && sides[0]["high"] != sides[1]["low"], "{got}");
        // of another function, of the same at another point, and beside a changed model
        let other = format!("relu(x) + {expression}");
        assert!(fault(&["check", &path, "-e", &other, "--at", at]).contains("of another model"));
        let wider = text.replacen("bits 128", "bits 256", 1);
        let wider = file("enclosed_examples", "wider.cert", wider);
        assert!(fault(&["check", &wider, "-e", expression, "--at", at]).contains("of another model"));
    }
    let (path, _) = certified("enclosed_examples", EXAMPLES[2].0, EXAMPLES[2].1);
    assert!(fault(&["check", &path, "-e", "exp(x) * abs(y)", "--at", "x=2,y=0"]).contains("of another model"));
    assert!(fault(&["check", &path, "-e", "relu(x) + y", "--at", "x=0,y=0"]).contains("of another model"));
}

#[test]
fn what_is_shown() {
    let (path, _) = certified("enclosed_shown", "exp(v[0]) * abs(v[1])", "v=[1,0]");
    let got = ok(&["check", &path, "-e", "exp(v[0]) * abs(v[1])", "--at", "v=[1,0]"]);
    assert_eq!(
        got,
        "\
proved      not differentiable: it has two gradients nearby, which differ whatever its coefficients are inside their enclosures
gradient    v[1] from -2.7182818284590455 to -2.718281828459045
  around    v=[-2, -15]
gradient    v[1] from 2.718281828459045 to 2.7182818284590455
  around    v=[2, 15]
apart       v[1] by at least 5.43656365691809
model       2 dimensions, 1 kink, with enclosures of 128 bits; the local model of `f` at this point
arithmetic  certain enclosures of 128 bits, where there is no exact value
"
    );
}

/// Coefficients that need many bits: the model is made again with as many, and no more than allowed.
#[test]
fn many_bits() {
    let (expression, at) = ("max(exp(1e-200) * x, exp(2e-200) * x)", "x=0");
    let (path, text) = certified("enclosed_bits", expression, at);
    let bits = text.lines().find_map(|l| l.strip_prefix("bits ")).unwrap();
    assert_eq!(bits, "1024");
    let got = run_json(&["check", &path, "-e", expression, "--at", at, "--json"]);
    assert_eq!((&got["compared"], &got["bits"]), (&json!(true), &json!(1024)));
    assert!(got["apart"].as_f64().is_some_and(|x| x > 9e-201 && x <= 1e-200), "{got}");
    let message = fault(&["check", &path, "-e", expression, "--at", at, "--max-bits", "512"]);
    assert!(message.contains("made with 1024 bits, but the limit is 512"), "{message}");
    let hostile = file("enclosed_bits", "hostile.cert", text.replacen("bits 1024", "bits 4294967295", 1));
    assert!(fault(&["check", &hostile, "-e", expression, "--at", at]).contains("the limit is 4096"));
    assert!(
        fault(&["check", &file("enclosed_bits", "zero.cert", text.replacen("bits 1024", "bits 0", 1))])
            .starts_with("certificate line 4: expected a positive number of bits")
    );
}

/// Branches that agree to first order are one branch in the directional derivative, and in the certificate.
#[test]
fn selections() {
    let smooth = "exp(y + 1) * select { x > 0 => y + x^2, else => y } + exp(2) * abs(y)";
    let bent = "exp(y + 1) * select { x > 0 => exp(2) * x + x^2, else => 2 * exp(2) * x } + exp(2) * abs(y)";
    for (body, kinks) in [(smooth, 1), (bent, 2)] {
        let program = file("enclosed_select", "f.crease", format!("program f(x, y) = {body}\n"));
        let path = file("enclosed_select", "no.cert", "");
        ok(&["differentiable", &program, "--at", "x=0,y=0", "--certificate", &path]);
        let got = run_json(&["check", &path, &program, "--at", "x=0,y=0", "--json"]);
        assert_eq!([&got["compared"], &got["kinks"]], [&json!(true), &json!(kinks)], "{got}");
        assert_eq!(got["claim"], "not-differentiable-enclosed");
    }
}

/// A yes about enclosed coefficients has none, and that is said.
#[test]
fn a_yes_has_no_certificate() {
    let path = file("enclosed_yes", "yes.cert", "");
    let expression = "exp(x) * relu(y) - exp(x) * relu(-y)";
    let got = ok(&["differentiable", "-e", expression, "--at", "x=1,y=0", "--certificate", &path]);
    assert!(
        got.contains("certificate     none, since not all numbers of the model are exact; the file is as it was\n"),
        "{got}"
    );
    let got: Value =
        run_json(&["differentiable", "-e", expression, "--at", "x=1,y=0", "--certificate", &path, "--json"]);
    assert_eq!(got["certificate"], json!(false));
}
