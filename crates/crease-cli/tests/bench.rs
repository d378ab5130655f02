//! `crease bench`, and the runs that are compiled because that is faster: the answers are those of the interpreter.

mod tool;

use crease_core::{Tensor, differentiate::backprop, run};
use serde_json::{Value, json};
use tool::{crease, fault, file, json as run_json, ok, usage};

const IDENTITY: &str = "relu(x) - relu(-x)";

#[test]
fn times_stand_beside_counted_costs() {
    let bench = run_json(&["bench", "-e", IDENTITY, "--duration", "0.05", "--json"]);
    for times in
        [&bench["value"], &bench["gradient"], &bench["interpreted"]["value"], &bench["interpreted"]["gradient"]]
    {
        let (least, median) = (times["least_us"].as_f64().unwrap(), times["median_us"].as_f64().unwrap());
        assert!(0.0 < least && least <= median && times["measured"].as_u64().unwrap() > 0, "{bench}");
    }
    let measured = bench["gradient"]["least_us"].as_f64().unwrap() / bench["value"]["least_us"].as_f64().unwrap();
    assert!((bench["ratio"].as_f64().unwrap() - measured).abs() < 1e-9 * measured);
    // the same as `crease cost` tells: 4, 5 counted, 14 by the model
    assert_eq!([&bench["counted"], &bench["model"], &bench["omega"]], [&json!(1.25), &json!(3.5), &json!(5)]);
    assert!(
        bench["compile_us"]["gradient"].as_f64().unwrap() > 0.0 && bench["memory_bytes"]["value"].as_u64().unwrap() > 0
    );
    assert_eq!((&bench["seed"], &bench["numbers"], &bench["stopped"]), (&json!(0), &json!("f64"), &json!(false)));
    assert_eq!(bench.get("explain"), None);
}

#[test]
fn text_says_the_same() {
    let text = ok(&["bench", "-e", IDENTITY, "--at", "x=0", "--duration", "0.02", "--explain", "--f32"]);
    for part in
        ["1 scalar input", "f32", "value and gradient, interpreted", "1.25  counted", "bound 5", "scalar program"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("random"), "{text}");
}

#[test]
fn the_compiled_numbers_can_be_had() {
    let of = |more: &[&str]| {
        let args =
            [&["bench", "-e", "max(x) * y + sum(x)", "--at", "x=[1,3,3],y=0.5", "--duration", "0.01"], more].concat();
        run_json(&[&args[..], &["--json", "--values"]].concat())["values"].clone()
    };
    let expected = json!({
        "value": 8.5, "value_with_gradient": 8.5, "gradient": {"x": [1.0, 1.5, 1.0], "y": 3.0},
    });
    assert_eq!((of(&[]), of(&["--f32"]), of(&["--bits"])), (expected.clone(), expected.clone(), expected));
    assert_eq!(of(&["--wrt", "y"])["gradient"], json!({"y": 3.0}));
    assert!(usage(&["bench", "-e", "x", "--values"]).contains("--json"));
}

#[test]
fn views_that_run_backward_are_timed_like_others() {
    for text in [
        "program f(x[8, 8]) = sum(maxpool(x[::-1, :], 2))",
        "program f(x[1002]) = sum(max(view(x, [1000, 3], from=2, sizes=[1000, 3], strides=[1, -1]), axis=-1))",
        "program f(X[1, 1, 9, 5], K[2, 1, 2, 2]) = sum(conv2d(X[:, :, ::-1, :], K))",
    ] {
        let path = file("bench_backward", "f.crease", text);
        let bench = run_json(&["bench", &path, "--duration", "0.01", "--json"]);
        assert!(bench["off"].as_f64().unwrap() < 1e-12, "{bench}");
    }
}

#[test]
fn what_differs_from_the_interpreter_is_not_timed() {
    // sums that cancel: another order gives another number, and nobody can tell from outside whether that is all
    let v: Vec<f64> = (0..256).map(|i| [1e16, 1.0, -1e16, 1.0][i % 4]).collect();
    let at = file("bench_differs", "at.json", json!({ "v": v }).to_string());
    let path = file("bench_differs", "f.crease", "program f(v[256]) = sum(v) * sum(v)");
    let message = fault(&["bench", &path, "--at", &at, "--duration", "0.01"]);
    assert!(message.starts_with("compiled value: the value is ") && message.contains("--bits"), "{message}");
    let bench = run_json(&["bench", &path, "--at", &at, "--duration", "0.01", "--bits", "--json"]);
    assert_eq!([&bench["off"], &bench["agrees"]], [&json!(0.0), &json!(true)]);
}

#[test]
fn what_differs_is_told_in_json_too() {
    let v: Vec<f64> = (0..256).map(|i| [1e16, 1.0, -1e16, 1.0][i % 4]).collect();
    let at = file("bench_differs_json", "at.json", json!({ "v": v }).to_string());
    let path = file("bench_differs_json", "f.crease", "program f(v[256]) = sum(v) * sum(v)");
    let done = crease(&["bench", &path, "--at", &at, "--duration", "0.01", "--json", "--values"]).output().unwrap();
    assert_eq!((done.status.code(), done.stderr.len()), (Some(1), 0));
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!([&told["agrees"], &told["seed"]], [&json!(false), &Value::Null]);
    assert!(told["off"].as_f64().unwrap() > 1e-12, "{told}");
    assert!(told["message"].as_str().unwrap().starts_with("compiled value: the value is "), "{told}");
    // the numbers that are wrong, and no times of them
    assert!(told["values"]["value"].is_number() && told.get("gradient").is_none(), "{told}");
}

#[test]
fn a_build_without_machine_code_says_so_and_how_to_get_it() {
    let told = |runs: &[&str]| {
        let args = [&["bench", "-e", "x * x", "--duration", "0.01"][..], runs].concat();
        String::from_utf8(crease(&args).output().unwrap().stderr).unwrap()
    };
    assert!(!told(&[]).contains("machine code"));
    let lacks = told(&["--runs", "1000"]).contains("--features native");
    assert_eq!(lacks, !crease_engine::MACHINE_CODE);
}

#[test]
fn what_runs_often_becomes_machine_code_where_there_is_some() {
    let explained = |runs: &str| {
        let steps: String = (0..300).map(|k| format!("let v{} = v{k} * x + {k}\n", k + 1)).collect();
        let path = file("bench_runs", "chain.crease", format!("program chain(x) {{ let v0 = x\n{steps}return v300 }}"));
        ok(&["bench", &path, "--duration", "0.02", "--explain", "--runs", runs])
    };
    let (once, often) = (explained("1"), explained("100000000"));
    assert!(once.contains("bytecode"), "{once}");
    if cfg!(target_arch = "x86_64") {
        assert!(often.contains("native code for 100000000 runs"), "{often}");
    }
}

#[test]
fn fewer_inputs_cost_less() {
    let counted = |more: &[&str]| {
        let args = [&["bench", "-e", "exp(x) * sin(y)", "--duration", "0.01", "--json"], more].concat();
        run_json(&args)["counted"].as_f64().unwrap()
    };
    assert!(counted(&["--wrt", "x"]) < counted(&[]));
    assert_eq!(counted(&["--wrt", "y,x"]), counted(&["--wrt", "x,y"]));
    let message = fault(&["bench", "-e", "x * y", "--wrt", "z"]);
    assert_eq!(message, "--wrt: `z` is not an input of `f`; its inputs are `x`, `y`\n");
}

#[test]
fn where_there_is_nothing_to_time() {
    let random = fault(&["bench", "-e", "log(-exp(x))"]);
    assert!(random.contains("log") && random.contains("random point") && random.contains("--at"), "{random}");
    let given = fault(&["bench", "-e", "log(x)", "--at", "x=-1"]);
    assert!(!given.contains("random"), "{given}");
    assert!(fault(&["bench", "-e", "x, y"]).contains("--output 0"));
    assert!(fault(&["bench", "-e", "x", "--duration=-1"]).contains("not negative"));
    assert!(usage(&["bench", "-e", "x", "--at", "x=1", "--seed", "3"]).contains("--seed"));
}

#[test]
#[cfg(unix)]
fn what_was_measured_is_kept_when_interrupted() {
    use std::process::Stdio;
    // large enough that it takes long to measure it as often as one could wish
    let path = file("bench_interrupt", "norm.crease", "program f(v[200000]) = norm1(v)");
    let mut child = crease(&["bench", &path, "--duration", "600", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(child.try_wait().unwrap().is_none(), "it measures as long as it is told to");
    let told =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill starts");
    assert!(told.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let bench: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(bench["stopped"], json!(true));
    assert!(bench["value"]["measured"].as_u64().unwrap() > 0, "{bench}");
}

#[test]
#[cfg(unix)]
fn the_first_run_of_all_is_stopped_where_it_is() {
    use std::process::Stdio;
    let text = "program f(x[40]) { let y = repeat(3000000, y = x) { return sin(y) / 2 + x } return sum(y) }";
    let path = file("bench_first", "loop.crease", text);
    let child =
        crease(&["bench", &path]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the tool starts");
    std::thread::sleep(std::time::Duration::from_millis(700));
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill starts").success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(output.stdout.is_empty() && !said.contains("random point"), "{said}");
}

/// A program on tensors, large enough to be compiled, with a kink or two.
const LARGE: &str = "program f(W[300, 200], x[200]) = sum(relu(W @ x)) + norm1(x) + exp(x[0])";

fn large_point() -> (Vec<f64>, Vec<f64>) {
    let mut random = crease_core::random::SplitMix64::new(5);
    let mut draw = |n: usize| (0..n).map(|_| random.below(1 << 20) as f64 / 1e6 - 0.5).collect::<Vec<f64>>();
    let (w, mut x) = (draw(300 * 200), draw(200));
    x[7] = 0.0;
    (w, x)
}

fn large_json(w: &[f64], x: &[f64]) -> Value {
    json!({"W": w.chunks(200).collect::<Vec<_>>(), "x": x})
}

#[test]
fn compiled_answers_are_those_of_the_interpreter_bit_for_bit() {
    let (w, x) = large_point();
    let program = file("compiled", "f.crease", LARGE);
    let at = file("compiled", "at.json", large_json(&w, &x).to_string());
    let p = crease_formats::parse(LARGE).unwrap().main().clone();
    let inputs = [
        Tensor::new(p.inputs()[0].shape.clone(), w.clone()).unwrap(),
        Tensor::new(p.inputs()[1].shape.clone(), x.clone()).unwrap(),
    ];
    let expected = run(&backprop(&p, &Default::default()).unwrap(), &inputs).unwrap();
    // as text, which tells every bit; reading it again would round
    let value = format!("{{\"value\":{},", json!(expected[0].data()[0]));
    assert!(ok(&["eval", &program, "--at", &at, "--float", "--json"]).starts_with(&value));
    let grad = ok(&["grad", &program, "--at", &at, "--float", "--json"]);
    let rows = json!(expected[1].data().chunks(200).collect::<Vec<_>>());
    let gradient = format!("\"gradient\":{{\"W\":{rows},\"x\":{}}}", json!(expected[2].data()));
    assert!(grad.starts_with(&value) && grad.contains(&gradient) && grad.contains("\"kinks\":1,"));
}

#[test]
fn a_fault_of_a_compiled_run_is_told_as_ever() {
    let text = "program f(v[100000]) {\n  let w = v - 1\n  return sum(1 / w)\n}";
    let program = file("division", "f.crease", text);
    let mut v = vec![2.0; 100_000];
    let at = |v: &[f64]| file("division", "at.json", json!({ "v": v }).to_string());
    assert_eq!(ok(&["eval", &program, "--at", &at(&v), "--float"]), "100000\n");
    v[99_999] = 1.0;
    let message = fault(&["eval", &program, "--at", &at(&v), "--float"]);
    assert!(message.contains("f.crease:3:14") && message.contains("1 / w"), "{message}");
    // nobody needs it, and it fails all the same
    let text = text.replace("let w = v - 1", "let w = v - 1\n  let hidden = log(v)").replace("1 / w", "w");
    let program = file("division", "hidden.crease", text);
    v[99_999] = -1.0;
    let message = fault(&["eval", &program, "--at", &at(&v), "--float"]);
    assert!(message.contains("hidden.crease:3") && message.contains("log"), "{message}");
}

#[test]
fn directions_in_floats_are_right_at_kinks() {
    let args = ["directional", "-e", "relu(x) - relu(-x), max(x, y) + abs(y)", "--at", "x=0,y=0"];
    let along = ["--along", "x=1", "--along", "x=-1,y=-2", "--json"];
    let exact = run_json(&[&args[..], &along].concat());
    let float = run_json(&[&args[..], &along, &["--float"]].concat());
    assert_eq!(float["derivatives"], json!([[1.0, 1.0], [-1.0, 1.0]]));
    assert_eq!((&float["kinks"], &float["arithmetic"]), (&exact["kinks"], &json!("f64")));
    assert_eq!(exact["derivatives"], json!([[1, 1], [-1, 1]]));
    let sort = ["directional", "-e", "sort(v)[1]", "--at", "v=[0,0,0]", "--along", "v=[1,2,3]", "--float", "--json"];
    assert_eq!((&run_json(&sort)["derivatives"], &run_json(&sort)["arithmetic"]), (&json!([2.0]), &json!("f64")));
    // where branches meet, the local model has the last word
    let branches =
        ["directional", "-e", "select { x > 0 => 2 * x, else => x }", "--along", "x=1", "--float", "--json", "--at"];
    let at = |x: &str| run_json(&[&branches[..], &[x]].concat());
    assert_eq!((&at("x=3")["derivatives"], &at("x=3")["arithmetic"]), (&json!([2.0]), &json!("f64")));
    assert_eq!((&at("x=0")["derivatives"], &at("x=0")["arithmetic"]), (&json!([2]), &json!("exact")));
    let jump =
        fault(&["directional", "-e", "select { x > 0 => 1, else => x }", "--at", "x=0", "--along", "x=1", "--float"]);
    assert!(jump.contains("the branches that meet here have the values"), "{jump}");
    let root = fault(&["directional", "-e", "sqrt(x)", "--at", "x=0", "--along", "x=1", "--float"]);
    assert!(root.contains("infinite slope"), "{root}");
}

#[test]
fn large_directions_agree_with_the_local_model() {
    let (w, x) = large_point();
    let text = LARGE.replace("300, 200", "30, 20").replace("200", "20");
    let program = file("along", "f.crease", text);
    let at = json!({"W": w[..600].chunks(20).collect::<Vec<_>>(), "x": x[..20].to_vec()});
    let at = file("along", "at.json", at.to_string());
    let directions = json!([{"x": w[..20]}, {"W": w[..600].chunks(20).rev().collect::<Vec<_>>(), "x": x[..20]}, {}]);
    let directions = file("along", "directions.json", directions.to_string());
    let args = ["directional", &*program, "--at", &*at, "--directions", &*directions, "--json"];
    let numbers =
        |v: Value| v["derivatives"].as_array().unwrap().iter().map(|d| d.as_f64().unwrap()).collect::<Vec<_>>();
    let (exact, float) = (numbers(run_json(&args)), numbers(run_json(&[&args[..], &["--float"]].concat())));
    assert_eq!((exact.len(), float[2]), (3, 0.0));
    for (e, f) in exact.iter().zip(&float) {
        assert!((e - f).abs() <= 1e-12 * e.abs(), "{exact:?} {float:?}");
    }
}
