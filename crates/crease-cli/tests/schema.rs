//! The JSON of every command is what docs/json.schema.json says it is, and nothing more.

mod tool;

use serde_json::{Value, json};
use tool::crease;

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
const CASES: [(&str, &str); 12] = [
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
];

#[test]
fn what_commands_print_is_what_the_schema_says() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.schema.json")).unwrap();
    let root: Value = serde_json::from_str(&text).unwrap();
    let questions: [(&str, &[&str]); 16] = [
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
