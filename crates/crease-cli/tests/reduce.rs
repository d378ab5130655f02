//! `crease reduce`: formulas in, programs out.

mod tool;

use crease_formats::{parse, parse_dimacs};
use serde_json::json;
use std::path::Path;
use tool::{fault, file, json as run_json, ok, ok_with_input, usage};

/// The formula of the example in the paper's proof.
const EXAMPLE: &str = "c the example of the paper\np cnf 6 4\n1 2 -3 0\n1 4 -5 0\n-2 -3 6 0\n2 -2 6 0\n";

#[test]
fn the_lattice_form() {
    let path = file("reduce_lattice", "f.cnf", EXAMPLE);
    assert_eq!(
        ok(&["reduce", &path]),
        "\
# a formula of 6 variables and 4 clauses;
# differentiable at 0 if and only if it is not satisfiable
program F(x1, x2, x3, x4, x5, x6) {
  let v6 = -x3
  let v7 = max(x1, x2, v6)
  let v8 = relu(v7)
  let v9 = -x5
  let v10 = max(x1, x4, v9)
  let v11 = relu(v10)
  let v12 = -x2
  let v13 = max(v12, v6, x6)
  let v14 = relu(v13)
  let v15 = max(x2, v12, x6)
  let v16 = relu(v15)
  let v17 = min(v8, v11, v14, v16)
  return v17
}
"
    );
    assert_eq!(ok_with_input(&["reduce", "-"], EXAMPLE), ok(&["reduce", &path]));
}

#[test]
fn what_is_written_can_be_read_and_run() {
    let path = file("reduce_run", "f.cnf", EXAMPLE);
    for form in ["lattice", "network"] {
        let text = ok(&["reduce", &path, "--form", form]);
        let cnf = parse_dimacs(EXAMPLE.as_bytes()).unwrap();
        let program = match form {
            "lattice" => crease::reductions::sat_program(&cnf).unwrap(),
            _ => crease::reductions::sat_network(&cnf).unwrap().program().unwrap(),
        };
        assert_eq!(**parse(&text).unwrap().main(), program, "{form}");
        let target = file("reduce_run", &format!("{form}.crease"), "");
        assert_eq!(ok(&["reduce", &path, "--form", form, "-o", &target]), "");
        assert_eq!(std::fs::read_to_string(&target).unwrap(), text);
        for (at, value) in [("x1=1,x2=-1,x3=-1,x4=1,x5=1,x6=1", "1\n"), ("x1=-1,x2=-1,x3=1,x4=1,x5=1,x6=1", "0\n")] {
            assert_eq!(ok(&["eval", &target, "--at", at]), value, "{form} {at}");
        }
    }
}

#[test]
fn facts_and_bounds() {
    let path = file("reduce_facts", "f.cnf", EXAMPLE);
    let target = file("reduce_facts", "f.crease", "");
    let facts = run_json(&["reduce", &path, "--form", "network", "--json", "-o", &target]);
    let program = parse(&std::fs::read_to_string(&target).unwrap()).unwrap().main().clone();
    assert_eq!(facts["program"], json!(null));
    assert_eq!(facts["equations"], json!(program.len()));
    for (name, value) in [
        ("form", json!("network")),
        ("variables", json!(6)),
        ("clauses", json!(4)),
        ("padded_clauses", json!(4)),
        ("relu_layers", json!(5)),
        ("layers", json!([23, 12, 4, 6, 3])),
        ("relus", json!(48)),
        ("bounds", json!({"relu_layers": 5, "layer": 24})),
        // 23 (6 + 1) + 12 (23 + 1) + 4 (12 + 1) + 6 (4 + 1) + 3 (6 + 1) + 3
        ("size", json!(161 + 288 + 52 + 30 + 21 + 3)),
        ("at", json!("x1=0,x2=0,x3=0,x4=0,x5=0,x6=0")),
    ] {
        assert_eq!(facts[name], value, "{name}");
    }
    let cost = run_json(&["cost", &target, "--json"]);
    assert_eq!(facts["cost"], cost["cost"]);
    // without a file, the program is a member; and the point is one that the other commands take
    let lattice = run_json(&["reduce", &path, "--json"]);
    assert_eq!((&lattice["form"], &lattice["cost"]), (&json!("lattice"), &json!(18)));
    let text = lattice["program"].as_str().unwrap();
    assert_eq!(ok_with_input(&["eval", "-", "--at", lattice["at"].as_str().unwrap()], text), "0\n");
}

#[test]
fn formulas_with_little_in_them() {
    for (formula, program) in [
        (
            "p cnf 0 0\n",
            "program F(x1) {\n  let v1 = -x1\n  let v2 = max(x1, v1)\n  let v3 = relu(v2)\n  return v3\n}\n",
        ),
        ("p cnf 2 2\n0 0\n", "program F(x1, x2) {\n  return 0\n}\n"),
        ("p cnf 1 1\n1 0\n", "program F(x1) {\n  let v1 = relu(x1)\n  return v1\n}\n"),
        ("p cnf 1 2\n1 0 0\n", "program F(x1) {\n  let v1 = relu(x1)\n  let v2 = min(v1, 0)\n  return v2\n}\n"),
    ] {
        let printed = ok_with_input(&["reduce", "-"], formula);
        let (comments, code) = printed.split_at(printed.find("program").unwrap());
        assert!(comments.lines().all(|l| l.starts_with('#')), "{comments}");
        assert_eq!(code, program, "{formula}");
    }
}

#[test]
fn faults_have_lines() {
    let path = file("reduce_faults", "f.cnf", "c a comment\np cnf 3 2\n1 -2 0\n3 4 0\n");
    let message = fault(&["reduce", &path]);
    let (first, rest) = message.split_once('\n').unwrap();
    assert_eq!(first, "4 is no literal here: the variables are numbered from 1 to 3");
    assert!(rest.contains("f.cnf:4:3\n") && rest.contains("4 | 3 4 0\n  |   ^\n"), "{message}");

    let path = file("reduce_faults", "bytes.cnf", b"c J\xf6rg\np cnf 3 1\n1 \xff 0\n");
    let message = fault(&["reduce", &path, "--json"]);
    assert!(message.starts_with("the byte 0xff is no part of UTF-8 text") && message.contains(":3:3"), "{message}");

    let path = file("reduce_faults", "huge.cnf", "p cnf 99999999999 1\n1 0\n");
    assert!(fault(&["reduce", &path]).contains(":1:7"), "{}", fault(&["reduce", &path]));
    let path = file("reduce_faults", "wide.cnf", "p cnf 2000000000 1\n1 0\n");
    assert!(fault(&["reduce", &path]).contains("at most 1048576"));

    assert_eq!(fault(&["reduce", "no/such/file.cnf"]), "there is no file no/such/file.cnf\n");
    assert_eq!(fault(&["reduce", "examples"]), "examples is a directory, not a file\n");
    let good = file("reduce_faults", "good.cnf", EXAMPLE);
    assert!(fault(&["reduce", &good, "-o", "no/such/folder/f.crease"]).contains("cannot be written"));
    assert!(usage(&["reduce"]).contains("FILE"));
    assert!(usage(&["reduce", &good, "--form", "tensor"]).contains("lattice"));
}

#[test]
fn public_formulas_become_programs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/cnf");
    if !folder.exists() {
        println!("skipped: there is no ../shared/data/cnf beside the workspace");
        return;
    }
    for name in ["uniform/uuf150-020.cnf", "structured/hole6.cnf", "small/par8-1-c.cnf"] {
        let path = folder.join(name);
        let cnf = parse_dimacs(&std::fs::read(&path).unwrap()).unwrap();
        for form in ["lattice", "network"] {
            let text = ok(&["reduce", path.to_str().unwrap(), "--form", form]);
            let program = parse(&text).unwrap().main().clone();
            assert_eq!(program.inputs().len(), cnf.variables, "{name} {form}");
        }
    }
}
