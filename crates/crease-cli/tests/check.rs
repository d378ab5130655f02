//! `crease check`: certificates from files and from standard input, by themselves and beside a program.

mod tool;

use serde_json::json;
use std::io::Write;
use std::process::Stdio;
use tool::{crease, fault, file, json as run_json, ok, ok_with_input, usage};

/// relu(x) has no derivative at 0.
const RELU: &str = "\
crease-certificate 1
claim not-differentiable
dimension 1
kinks 1
max 0 ; 1*d0
output 1*k0
side
direction 1*d0
gradient 1*d0
side
direction -1*d0
gradient 0
end
";

/// A subgradient of |x| + |y| at 0.
const MEMBER: &str = "\
crease-certificate 1
claim member
dimension 2
kinks 2
max -1*d0 ; 1*d0
max -1*d1 ; 1*d1
output 1*k0 1*k1
vector 1/3*d0 -1*d1
side 2/3
direction 1*d0 -1*d1
gradient 1*d0 -1*d1
side 1/3
direction -2*d0 -1*d1
gradient -1*d0 -1*d1
end
";

/// relu(u) - u with u = relu(x) + relu(y) - relu(x + y): its derivative is 0.
const PROOF: &str = "\
crease-certificate 1
claim differentiable
dimension 2
kinks 4
max 0 ; 1*d0
max 0 ; 1*d1
max 0 ; 1*d0 1*d1
max 0 ; 1*k0 1*k1 -1*k2
output -1*k0 -1*k1 1*k2 1*k3
gradient 0
relus 4
relu 1*d0
relu 1*d1
relu 1*d0 1*d1
relu 1*z0 1*z1 -1*z2
kink 1 0 z0
kink 1 0 z1
kink 1 0 z2
kink 1 0 z3
atom > 1*z3 -1*z0 -1*z1 1*z2
atom > -1*z3 1*z0 1*z1 -1*z2
root 1 2
lemma 2 1 w3 1
atom > 1*z2 -1*z0 -1*z1
split 1 z3 3 F
phase z2
lemma 3 1 4 0 w0 1 w1 1
lemma 3 1 -4 0 z0 1 z1 1
learn -3
end
";

const PROGRAM: &str = "program f(x, y) {
  let a = relu(x)
  let b = relu(y)
  let c = relu(x + y)
  let u = a + b - c
  return relu(u) - u
}
";

/// The message about a certificate that comes from standard input.
fn fault_with_input(args: &[&str], input: &[u8]) -> String {
    let mut child = crease(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    child.stdin.take().expect("it has an input").write_all(input).expect("it reads its input");
    let output = child.wait_with_output().expect("it ends");
    let message = String::from_utf8(output.stderr).expect("the tool prints UTF-8");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b""[..]), "crease {args:?}: {message}");
    message.strip_prefix("error: ").expect("a message begins with what it is").into()
}

#[test]
fn a_file_and_standard_input() {
    for (name, certificate, shown) in [
        (
            "relu.cert",
            RELU,
            "\
proved      not differentiable: it has two gradients nearby
gradient    d0=1
  around    d0=1
gradient    0
  around    d0=-1
model       1 dimension, 1 kink, as the certificate states it; with a program and --at they are compared
",
        ),
        (
            "member.cert",
            MEMBER,
            "\
proved      a Clarke subgradient: a mean of gradients nearby
vector      d0=1/3  d1=-1
weight      2/3
gradient    d0=1  d1=-1
  around    d0=1  d1=-1
weight      1/3
gradient    d0=-1  d1=-1
  around    d0=-2  d1=-1
model       2 dimensions, 2 kinks, as the certificate states it; with a program and --at they are compared
",
        ),
        (
            "proof.cert",
            PROOF,
            "\
proved      differentiable
gradient    0
model       2 dimensions, 4 kinks, as the certificate states it; with a program and --at they are compared
proof       4 relus, 4 atoms, 2 clauses, 3 lemmas, 1 learned clause
",
        ),
    ] {
        assert_eq!(ok(&["check", &file("check_valid", name, certificate)]), shown);
        assert_eq!(ok_with_input(&["check", "-"], certificate), shown);
        assert_eq!(ok_with_input(&["check", "-"], &format!("# found by hand\n{certificate}# the end")), shown);
    }
}

#[test]
fn beside_the_program_that_it_is_about() {
    let proof = file("check_program", "proof.cert", PROOF);
    let program = file("check_program", "f.crease", format!("{PROGRAM}program other(x) = x\n"));
    let expected = "\
proved      differentiable
gradient    x=0  y=0
model       2 dimensions, 4 kinks; the local model of `f` at this point
proof       4 relus, 4 atoms, 2 clauses, 3 lemmas, 1 learned clause
arithmetic  exact
";
    assert_eq!(ok(&["check", &proof, &program, "--program", "f", "--at", "x=0,y=0"]), expected);
    // one of the two may come from standard input
    assert_eq!(ok_with_input(&["check", &proof, "-", "--at", "x=0,y=0"], PROGRAM), expected);
    assert_eq!(ok_with_input(&["check", "-", &program, "--program", "f", "--at", "x=0,y=0"], PROOF), expected);

    let member = file("check_program", "member.cert", MEMBER);
    let shown = ok(&["check", &member, "-e", "norm1(v)", "--at", "v=[0,0]"]);
    assert!(shown.contains("\nvector      v=[1/3, -1]\n"), "{shown}");

    // an expression of which one output is meant
    let relu = file("check_program", "relu.cert", RELU);
    let two = ["check", &relu, "-e", "2 * x, relu(x)", "--at", "x=0"];
    let shown = ok(&[&two[..], &["--output", "1"]].concat());
    assert!(shown.contains("gradient    x=0\n  around    x=-1\n"), "{shown}");
    assert!(fault(&two).contains("pick one with --output"));
    assert!(fault(&[&two[..], &["--output", "2"]].concat()).contains("there is no output 2"));
}

#[test]
fn beside_another_program_or_point() {
    let relu = file("check_other", "relu.cert", RELU);
    for (expression, at, difference) in [
        ("relu(2 * x)", "x=0", "it has `max 0 ; 1*d0` where the program has `max 0 ; 2*d0`"),
        ("relu(-x)", "x=0", "it has `max 0 ; 1*d0` where the program has `max 0 ; -1*d0`"),
        ("relu(x)", "x=1", "it has `kinks 1` where the program has `kinks 0`"),
        ("relu(x) + y", "x=0,y=0", "it has `dimension 1` where the program has `dimension 2`"),
        ("x + relu(x)", "x=0", "it has `output 1*k0` where the program has `output 1*d0 1*k0`"),
    ] {
        for more in [&[][..], &["--json"]] {
            let args = [&["check", &relu, "-e", expression, "--at", at][..], more].concat();
            let message = fault(&args);
            assert!(
                message.starts_with("the certificate is valid, but of another model than that of `f`"),
                "{message}"
            );
            assert!(message.trim_end().ends_with(difference), "{message}");
        }
    }
    // what is wrong with the program or its point is said as everywhere
    assert_eq!(fault(&["check", &relu, "-e", "relu(x)"]), "input `x` has no value; add x=... to --at\n");
    assert!(fault(&["check", &relu, "-e", "rleu(x)", "--at", "x=0"]).contains("did you mean `relu`?"));
    assert_eq!(fault(&["check", &relu, "no/such.crease", "--at", "x=0"]), "there is no file no/such.crease\n");
}

#[test]
fn json_objects() {
    let relu = file("check_json", "relu.cert", RELU);
    assert_eq!(
        run_json(&["check", &relu, "--json"]),
        json!({
            "valid": true,
            "claim": "not-differentiable",
            "sides": [{"gradient": {"d0": 1}, "direction": {"d0": 1}}, {"gradient": {}, "direction": {"d0": -1}}],
            "dimension": 1,
            "kinks": 1,
            "compared": false,
            "statistics": {"relus": 0, "atoms": 0, "clauses": 0, "lemmas": 0, "learned": 0},
            "exact": {
                "sides": [
                    {"gradient": {"d0": "1"}, "direction": {"d0": "1"}},
                    {"gradient": {}, "direction": {"d0": "-1"}},
                ],
            },
        })
    );
    let member = file("check_json", "member.cert", MEMBER);
    let got = run_json(&["check", &member, "-e", "abs(x) + abs(y)", "--at", "x=0,y=0", "--json"]);
    assert_eq!(
        (&got["claim"], &got["compared"], &got["arithmetic"]),
        (&json!("member"), &json!(true), &json!("exact"))
    );
    assert_eq!((&got["vector"], &got["sides"][0]["weight"]), (&json!({"x": 1.0 / 3.0, "y": -1}), &json!(2.0 / 3.0)));
    assert_eq!(got["exact"]["vector"], json!({"x": "1/3", "y": "-1"}));
    assert_eq!(
        got["exact"]["sides"][1],
        json!({"weight": "1/3", "gradient": {"x": "-1", "y": "-1"}, "direction": {"x": "-2", "y": "-1"}})
    );

    let proof = file("check_json", "proof.cert", PROOF);
    let got = run_json(&["check", &proof, "--json"]);
    assert_eq!((&got["valid"], &got["claim"]), (&json!(true), &json!("differentiable")));
    assert_eq!((&got["gradient"], &got["exact"]), (&json!({}), &json!({"gradient": {}})));
    assert_eq!(got["statistics"], json!({"relus": 4, "atoms": 4, "clauses": 2, "lemmas": 3, "learned": 1}));
}

#[test]
fn corrupted_certificates() {
    for (name, certificate, old, new, message) in [
        (
            "relu",
            RELU,
            "gradient 0",
            "gradient 1*d0",
            "certificate line 12: this is not the gradient around the direction",
        ),
        ("relu", RELU, "direction -1*d0", "direction 0", "certificate line 11: the function need not be linear"),
        ("relu", RELU, "1\nclaim", "2\nclaim", "certificate line 1: expected the version 1, found `2`"),
        (
            "member",
            MEMBER,
            "1/3*d0",
            "1/2*d0",
            "certificate line 15: the weighted gradients do not add up to the vector",
        ),
        (
            "member",
            MEMBER,
            "side 2/3",
            "side 1/3",
            "certificate line 15: expected weights that add up to 1, found `2/3`",
        ),
        ("proof", PROOF, "gradient 0", "gradient 1*d0", "certificate line 22: literal 1 does not state"),
        ("proof", PROOF, "w3 1", "w3 -1", "certificate line 23: expected a weight that is not negative, found `-1`"),
        ("proof", PROOF, "w0 1", "z0 1", "certificate line 27: the weighted sum is not 0"),
        ("proof", PROOF, "kink 1 0 z3", "kink 1 0 >=", "certificate line 19: the first item joined by `>=` is not"),
        ("proof", PROOF, "lemma 3 1 -4", "# 3 1 -4", "certificate line 29: the clause does not follow"),
    ] {
        let wrong = certificate.replacen(old, new, 1);
        assert_ne!(wrong, certificate);
        let path = file("check_corrupted", &format!("{name}.cert"), &wrong);
        let got = fault(&["check", &path]);
        assert!(got.starts_with(message) && got.lines().count() == 1, "{got}");
        assert_eq!(fault(&["check", &path, "--json"]), got);
        assert_eq!(fault_with_input(&["check", "-"], wrong.as_bytes()), got);
        // the certificate comes first: the program is not even looked at
        assert_eq!(fault(&["check", &path, "no/such.crease", "--at", "x=0"]), got);
    }
    let path = file("check_corrupted", "bytes.cert", b"crease-certificate 1\nclaim \xff\n");
    assert_eq!(fault(&["check", &path]), "certificate line 2: the line is not UTF-8 text\n");
    let path = file("check_corrupted", "windows.cert", RELU.replace('\n', "\r\n"));
    assert!(fault(&["check", &path]).contains("line 1: the line ends in a carriage return"));
    let path = file("check_corrupted", "more.cert", format!("{PROOF}end\n"));
    assert_eq!(fault(&["check", &path]), "certificate line 31: expected the end of the text, found `end`\n");
}

#[test]
fn truncated_certificates() {
    for (name, certificate) in [("relu", RELU), ("member", MEMBER), ("proof", PROOF)] {
        for (n, _) in certificate.match_indices('\n').map(|(i, c)| (i + c.len(), c)).filter(|t| t.0 < certificate.len())
        {
            let lines = certificate[..n].lines().count();
            let path = file("check_truncated", &format!("{name}.cert"), &certificate[..n]);
            let message = fault(&["check", &path]);
            let start = format!("certificate line {}: ", lines + 1);
            assert!(message.starts_with(&start) && message.ends_with("found the end of the text\n"), "{message}");
        }
    }
    assert_eq!(
        fault_with_input(&["check", "-"], b""),
        "certificate line 1: expected `crease-certificate 1`, found the end of the text\n"
    );
    assert_eq!(
        fault_with_input(&["check", "-", "--json"], RELU.strip_suffix("nd\n").unwrap().as_bytes()),
        "certificate line 13: expected `end`, found `e`\n"
    );
}

#[test]
fn what_cannot_be_read_or_is_missing() {
    assert_eq!(fault(&["check", "no/such.cert"]), "there is no file no/such.cert\n");
    assert_eq!(fault(&["check", "no/such.cert", "--json"]), "there is no file no/such.cert\n");
    assert!(fault(&["check", "examples"]).starts_with("examples "), "{}", fault(&["check", "examples"]));
    let both = "the certificate and the program cannot both be read from standard input\n";
    assert_eq!(fault_with_input(&["check", "-", "-", "--at", "x=0"], b""), both);
    let path = file("check_usage", "relu.cert", RELU);
    assert!(usage(&["check"]).contains("CERT"));
    assert!(usage(&["check", &path, "--at", "x=0"]).contains("give FILE or -e EXPR"));
    assert!(usage(&["check", &path, "--output", "0"]).contains("give FILE or -e EXPR"));
    assert!(usage(&["check", &path, "--program", "f"]).contains("FILE"));
    assert!(usage(&["check", &path, "f.crease", "-e", "relu(x)"]).contains("cannot be used with"));
}

/// What the searches write down is what the checker reads.
#[test]
fn certificates_of_the_tool_itself() {
    for (i, (expression, at, claim)) in [
        ("relu(x) - relu(-x)", "x=0", "differentiable"),
        ("relu(relu(x) + relu(y)) - relu(x) - relu(y)", "x=0,y=0", "differentiable"),
        ("relu(relu(x) + relu(y) - relu(x + y)) - relu(x) - relu(y) + relu(x + y)", "x=0,y=0", "differentiable"),
        ("max(x, y, 0)", "x=0,y=0", "not-differentiable"),
    ]
    .into_iter()
    .enumerate()
    {
        let path = file("check_own", &format!("{i}.cert"), "");
        ok(&["differentiable", "-e", expression, "--at", at, "--certificate", &path]);
        let got = run_json(&["check", &path, "-e", expression, "--at", at, "--json"]);
        assert_eq!((&got["claim"], &got["compared"]), (&json!(claim), &json!(true)), "{expression}");
        let other = fault(&["check", &path, "-e", &format!("relu(x) + {expression}"), "--at", at]);
        assert!(other.contains("of another model"), "{other}");
    }
}

/// The flags limit a check: the time of the proof, the steps of the model it is compared with.
#[test]
fn limits_end_a_check() {
    let path = file("check", "limits.cert", PROOF);
    let late = fault(&["check", &path, "--seconds", "0"]);
    assert_eq!(late.trim_end(), "the certificate was not checked to its end: time is up");
    ok(&["check", &path, "--seconds", "60"]);
    let program = file("check", "limits.crease", PROGRAM);
    let args = ["check", &path, &program, "--at", "x=0,y=0"];
    ok(&args);
    let short = fault(&[&args[..], &["--limit", "graph=1"]].concat());
    assert!(short.contains("that takes more than 1 steps, the limit `graph`"), "{short}");
    assert!(short.trim_end().ends_with("raise it with --limit graph=10"), "{short}");
}
