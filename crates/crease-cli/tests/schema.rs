//! The JSON of every command is what docs/json.schema.json says it is, and nothing more.

mod tool;

use serde_json::{Value, json};
use tool::{crease, file};

/// What of a value is not as a schema says; the parts of JSON Schema that ours uses, and a panic for others.
fn faults(schema: &Value, root: &Value, value: &Value, path: &str) -> Vec<String> {
    let mut out = Vec::new();
    let rules = schema.as_object().expect("a schema is an object");
    for (rule, says) in rules {
        match rule.as_str() {
            "description" | "title" | "$schema" | "$defs" | "required" | "additionalProperties" => {}
            "$ref" => {
                let name = says.as_str().and_then(|r| r.strip_prefix("#/$defs/")).expect("a reference to a definition");
                out.extend(faults(&root["$defs"][name], root, value, path));
            }
            "anyOf" => {
                let all: Vec<Vec<String>> =
                    says.as_array().unwrap().iter().map(|s| faults(s, root, value, path)).collect();
                if all.iter().all(|f| !f.is_empty()) {
                    out.push(format!("{path} is none of {} kinds: {:?}", all.len(), all.concat()));
                }
            }
            "enum" => {
                if !says.as_array().unwrap().contains(value) {
                    out.push(format!("{path} is {value}, not one of {says}"));
                }
            }
            "type" => {
                let names: Vec<&str> = match says {
                    Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
                    one => vec![one.as_str().unwrap()],
                };
                let is = |name: &&str| match *name {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    "number" => value.is_number(),
                    "integer" => value.is_i64() || value.is_u64(),
                    other => panic!("type {other}"),
                };
                if !names.iter().any(is) {
                    out.push(format!("{path} is {value}, not of type {says}"));
                }
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    out.extend(faults(says, root, item, &format!("{path}[{i}]")));
                }
            }
            "properties" => {
                let Some(members) = value.as_object() else { continue };
                for name in rules["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                    if !members.contains_key(name) {
                        out.push(format!("{path} has no `{name}`"));
                    }
                }
                for (name, member) in members {
                    let inside = format!("{path}.{name}");
                    match (says.get(name), rules.get("additionalProperties")) {
                        (Some(schema), _) => out.extend(faults(schema, root, member, &inside)),
                        (None, Some(Value::Bool(false))) => out.push(format!("{inside} is not in the schema")),
                        (None, _) => {}
                    }
                }
            }
            other => panic!("the schema uses `{other}`, which this test does not know"),
        }
    }
    // an object of members that are all alike
    if let (Some(each @ Value::Object(_)), Some(members)) = (rules.get("additionalProperties"), value.as_object()) {
        for (name, member) in members {
            out.extend(faults(each, root, member, &format!("{path}.{name}")));
        }
    }
    out
}

/// Programs at points: smooth, at kinks of several kinds, with tensors, enclosed, undecided, jumping, tied in selections.
const CASES: [(&str, &str); 16] = [
    ("x * y", "x=2,y=1/3"),
    ("relu(x) - relu(-x)", "x=0"),
    ("max(x, y) + abs(x) * exp(y)", "x=0,y=0"),
    ("norm1(v) + norminf(v)", "v=[0,0,1]"),
    ("sum(relu(W @ v))", "W=[[1,2],[3,4]],v=[0,0]"),
    ("median(x, y, z)", "x=0,y=0,z=0"),
    ("exp(x) / 3", "x=1"),
    ("select { x > 0 => x, else => 2 * x }", "x=0"),
    ("abs(sin(x)^2 + cos(x)^2 - 1)", "x=1"),
    ("sort(v)[1]", "v=[1,1,1]"),
    ("relu(x) - relu(relu(x)) + x/3", "x=0"),
    ("abs(x) - abs(x)", "x=0"),
    ("log(sigmoid(x)) * y", "x=-800,y=1"),
    ("sin(x)^2 + cos(x)^2", "x=1"),
    // gradients that have the same nearest floats, and one that no float comes near
    ("max(exp(1e-20)*x, exp(2e-20)*x) + 0*y", "x=0,y=0"),
    ("exp(exp(7)) * x + abs(y)", "x=1,y=0"),
];

fn schema() -> Value {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.schema.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn what_commands_print_is_what_the_schema_says() {
    let root = schema();
    let questions: [(&str, &[&str]); 18] = [
        ("eval", &["eval"]),
        ("grad", &["grad"]),
        ("grad", &["grad", "--report"]),
        ("grad", &["grad", "--float", "--mode", "forward"]),
        ("grad", &["grad", "--jacobian"]),
        ("clarke", &["clarke"]),
        ("clarke_all", &["clarke", "--all"]),
        ("clarke_all", &["clarke", "--all", "--stationary", "--contains", "VECTOR"]),
        ("differentiable", &["differentiable"]),
        ("conservative", &["conservative"]),
        ("conservative", &["conservative", "--contains", "VECTOR"]),
        ("conservative", &["conservative", "--contains", "VECTOR", "--within", "1e-9"]),
        ("clarke_all", &["clarke", "--all", "--contains", "VECTOR", "--within", "1000"]),
        ("directional", &["directional", "--along", "VECTOR"]),
        ("directional", &["directional", "--float", "--along", "VECTOR"]),
        ("lexicographic", &["lexicographic"]),
        ("lexicographic", &["lexicographic", "--forward"]),
        ("cost", &["cost"]),
    ];
    let mut seen = std::collections::BTreeMap::<&str, usize>::new();
    for (expression, point) in CASES {
        for (name, command) in &questions {
            let mut args: Vec<&str> = command.to_vec();
            // any vector will do, such as the point itself
            args.iter_mut().filter(|a| **a == "VECTOR").for_each(|a| *a = point);
            args.extend(["-e", expression, "--json"]);
            if *name != "cost" {
                args.extend(["--at", point]);
            }
            let done = crease(&args).output().expect("the tool starts");
            if done.status.code() != Some(0) {
                // refused, in words, and nothing is printed
                assert!(done.stdout.is_empty() && !done.stderr.is_empty(), "{args:?}");
                continue;
            }
            let value: Value = serde_json::from_slice(&done.stdout).unwrap();
            let found = faults(&root["$defs"][*name], &root, &value, name);
            assert!(found.is_empty(), "{args:?}\n{value}\n{}", found.join("\n"));
            *seen.entry(name).or_default() += 1;
        }
    }
    assert!(seen.values().all(|&n| n >= 8), "{seen:?}");
}

/// Lines of an audit: ties, none of them, enclosed, and an input where nothing is known.
#[test]
fn lines_of_audits_are_what_the_schema_says() {
    let root = schema();
    let net = file("schema_audit", "net.crease", "program net(x[2]) = concat(max(x, axis=0) - relu(x[0]), log(x[1]))");
    let table = file("schema_audit", "in.csv", "0,0,1\n1,3,3\n1,2,-1\n");
    for more in [&["--json"][..], &["--json", "--loss"], &["--json", "--each", "0"]] {
        let printed = tool::ok(&[&["audit", &net, "--inputs", &table], more].concat());
        let mut lines: Vec<Value> = printed.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let summary = lines.pop().unwrap();
        assert_eq!(lines.len(), 3);
        let names = std::iter::repeat_n("audit", 3).chain(["audit_summary"]);
        for (value, name) in lines.iter().chain([&summary]).zip(names) {
            let found = faults(&root["$defs"][name], &root, value, name);
            assert!(found.is_empty(), "{value}\n{}", found.join("\n"));
        }
    }
    let out = std::path::Path::new(&table).with_file_name("out.jsonl");
    let _ = std::fs::remove_file(&out);
    for each in ["1", "0"] {
        tool::ok(&["audit", &net, "--inputs", &table, "--lines", out.to_str().unwrap(), "--each", each]);
        let written = std::fs::read_to_string(&out).unwrap();
        let head: Value = serde_json::from_str(written.lines().next().unwrap()).unwrap();
        let found = faults(&root["$defs"]["audit_made"], &root, &head, "audit_made");
        assert!(found.is_empty(), "{head}\n{}", found.join("\n"));
    }
}

#[test]
fn what_export_prints_is_what_the_schema_says() {
    let root = schema();
    let file = tool::file("schema", "out.onnx", "");
    for (expression, point) in CASES {
        for flags in
            [&[][..], &["--grad"], &["--value-and-grad", "--dtype", "f64"], &["--vjp"], &["--directional", "2"]]
        {
            let args = [&["export", "-e", expression, "--at", point, "-o", &file, "--json"], flags].concat();
            let value = tool::json(&args);
            let found = faults(&root["$defs"]["export"], &root, &value, "export");
            assert!(found.is_empty(), "{args:?}\n{value}\n{}", found.join("\n"));
        }
    }
}

/// Times, and what is told in their place where answers differ.
#[test]
fn what_bench_prints_is_what_the_schema_says() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.schema.json")).unwrap();
    let root: Value = serde_json::from_str(&text).unwrap();
    let cancels: Vec<f64> = (0..256).map(|i| [1e16, 1.0, -1e16, 1.0][i % 4]).collect();
    let at = file("schema_bench", "at.json", json!({ "v": cancels }).to_string());
    let sums = file("schema_bench", "f.crease", "program f(v[256]) = sum(v) * sum(v)");
    let cases: [(&str, &[&str]); 4] = [
        ("bench", &["-e", "relu(x) * y"]),
        ("bench", &["-e", "norm1(v)", "--at", "v=[1,-2]", "--values", "--explain", "--f32"]),
        ("bench_differs", &[&sums, "--at", &at]),
        ("bench_differs", &[&sums, "--at", &at, "--values"]),
    ];
    for (name, more) in cases {
        let done = crease(&[&["bench", "--seconds", "0.01", "--json"], more].concat()).output().unwrap();
        assert_eq!(done.status.code(), Some(i32::from(name == "bench_differs")), "{more:?}");
        let value: Value = serde_json::from_slice(&done.stdout).unwrap();
        let found = faults(&root["$defs"][name], &root, &value, name);
        assert!(found.is_empty(), "{more:?}\n{value}\n{}", found.join("\n"));
    }
}

#[test]
fn what_commands_without_a_point_print_is_what_the_schema_says() {
    let root = schema();
    let satisfiable = file("schema_rest", "yes.cnf", "p cnf 3 2\n1 -2 3 0\n-1 2 0\n");
    let unsatisfiable = file("schema_rest", "no.cnf", "p cnf 1 2\n1 0\n-1 0\n");
    let program = file("schema_rest", "out.crease", "");
    let questions: Vec<(&str, Vec<&str>)> = vec![
        ("show", vec!["show", "-e", "x * y + max(x, y)", "--json"]),
        ("show", vec!["show", "-e", "x * y + max(x, y)", "--derive", "backprop", "--json"]),
        ("draw", vec!["draw", "-e", "x * y", "--json"]),
        ("draw", vec!["draw", "-e", "x * y", "--format", "dot", "--json"]),
        ("sat", vec!["sat", &satisfiable, "--json"]),
        ("sat", vec!["sat", &unsatisfiable, "--form", "network", "--json"]),
        ("sat", vec!["sat", &satisfiable, "--seconds", "0", "--json"]),
        ("reduce", vec!["reduce", &satisfiable, "--json"]),
        ("reduce", vec!["reduce", &satisfiable, "--form", "network", "--json", "-o", &program]),
        ("simplify", vec!["simplify", "-e", "relu(x - y) + y", "--json"]),
        ("table", vec!["table", "1", "--json"]),
        ("table", vec!["table", "2", "--json"]),
        ("table", vec!["table", "3", "--json"]),
        ("paper", vec!["paper", "--item", "definition-1", "--json"]),
        ("paper_list", vec!["paper", "--list", "--json"]),
    ];
    for (name, args) in questions {
        let done = crease(&args).output().expect("the tool starts");
        let value: Value = serde_json::from_slice(&done.stdout)
            .unwrap_or_else(|e| panic!("{args:?}: {e}\n{}", String::from_utf8_lossy(&done.stderr)));
        let found = faults(&root["$defs"][name], &root, &value, name);
        assert!(found.is_empty(), "{args:?}\n{value}\n{}", found.join("\n"));
    }
}

#[test]
fn what_check_prints_is_what_the_schema_says() {
    let root = schema();
    let proof = file("schema_check", "proof.cert", "");
    let mut claims = std::collections::BTreeSet::new();
    for (expression, point) in CASES.into_iter().chain([("abs(exp(x) * y)", "x=1,y=0")]) {
        let contains = ["clarke", "--all", "--contains", point];
        for question in [&["differentiable"][..], &contains] {
            let asked = [question, &["-e", expression, "--at", point, "--certificate", &proof]].concat();
            if !crease(&asked).output().expect("the tool starts").status.success() {
                continue;
            }
            if std::fs::metadata(&proof).is_ok_and(|m| m.len() == 0) {
                continue;
            }
            for more in [&[][..], &["-e", expression, "--at", point]] {
                let done = crease(&[&["check", &proof, "--json"], more].concat()).output().expect("the tool starts");
                let Ok(value) = serde_json::from_slice::<Value>(&done.stdout) else { continue };
                let found = faults(&root["$defs"]["check"], &root, &value, "check");
                assert!(found.is_empty(), "{asked:?}\n{value}\n{}", found.join("\n"));
                claims.insert(value["claim"].as_str().unwrap().to_string());
            }
            std::fs::write(&proof, "").unwrap();
        }
    }
    assert!(claims.len() >= 3, "{claims:?}");
}

#[test]
fn the_check_itself_sees_what_is_wrong() {
    let root = json!({ "$defs": { "n": { "type": ["integer", "null"] } } });
    let schema = json!({
        "type": "object",
        "properties": { "a": { "$ref": "#/$defs/n" }, "b": { "anyOf": [{ "enum": ["x"] }, { "type": "array", "items": { "type": "string" } }] } },
        "required": ["a"],
        "additionalProperties": false
    });
    let fine = |v: Value| faults(&schema, &root, &v, "v").is_empty();
    assert!(fine(json!({ "a": 1 })) && fine(json!({ "a": null, "b": "x" })) && fine(json!({ "a": 2, "b": ["y"] })));
    assert!(!fine(json!({ "a": 1.5 })) && !fine(json!({ "a": 1, "b": "y" })) && !fine(json!({ "a": 1, "b": [1] })));
    assert!(!fine(json!({ "b": "x" })) && !fine(json!({ "a": 1, "c": 0 })) && !fine(json!([])));
}
