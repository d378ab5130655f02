//! What the front end adds to answers: flags in messages, limits that every command has, exit codes, selections.

mod tool;

use serde_json::json;
use std::time::{Duration, Instant};
use tool::{crease, fault, file, json as run_json, ok, usage};

/// All commands.
const COMMANDS: [&str; 19] = [
    "eval",
    "grad",
    "cost",
    "bench",
    "show",
    "draw",
    "export",
    "table",
    "directional",
    "lexicographic",
    "clarke",
    "conservative",
    "differentiable",
    "check",
    "sat",
    "reduce",
    "simplify",
    "audit",
    "paper",
];

#[test]
fn every_command_has_a_limit_of_time() {
    let listed = ok(&["--help"]);
    let commands = listed.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = commands.lines().filter_map(|l| l.strip_prefix("  ")).filter(|l| !l.starts_with(' '));
    let names: Vec<&str> = names.filter_map(|l| l.split(' ').next()).filter(|n| *n != "help").collect();
    assert_eq!(names, COMMANDS);
    for command in COMMANDS {
        assert!(ok(&[command, "--help"]).contains("--seconds <S>"), "{command}");
    }
    assert!(ok(&["bench", "--help"]).contains("--duration <S>"));
}

#[test]
fn commands_that_keep_nothing_end_in_time() {
    let many = (0..30_000).fold("program f(x) {\n  let v0 = relu(x)\n".to_string(), |t, i| {
        format!("{t}  let v{} = v{i} * v{i} + sin(v{i})\n", i + 1)
    });
    let path = file("front", "many.crease", many + "  return v30000\n}\n");
    let out = file("front", "many.svg", "precious");
    for args in [
        &["draw", &path, "--max-nodes", "10000000", "-o", &out][..],
        &["export", &path, "--grad", "-o", &out],
        &["show", &path, "--derive", "backprop"],
        &["paper"],
        &["table", "3"],
    ] {
        let start = Instant::now();
        let output = crease(&[args, &["--seconds", "0.3"]].concat()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        // what is done before is done
        if output.status.code() != Some(0) {
            assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
            assert_eq!(said, "error: time is up; allow more with --seconds\n", "{args:?}");
        }
        assert!(start.elapsed() < Duration::from_secs(3), "{args:?}: {:?}", start.elapsed());
    }
    assert_eq!(fault(&["show", "-e", "x", "--seconds=-1"]), "--seconds -1: a time is a number that is not negative\n");
    assert_eq!(ok(&["show", "-e", "x", "--seconds", "1e300"]), ok(&["show", "-e", "x"]));
}

/// A message names the flags of the command that says it, and no others.
#[test]
fn messages_name_flags_that_the_command_has() {
    let calls = "program f0(x) = relu(x)\n".to_string()
        + &(1..=40).map(|i| format!("program f{i}(x) = f{}(x) + f{}(x)\n", i - 1, i - 1)).collect::<String>();
    let calls = file("front", "calls.crease", calls);
    let open = file("front", "two.crease", "program f(x, y) = x, y\n");
    let zeros = file("front", "zeros.crease", "program f(x) = zeros([134217728]) + x\n");
    let certificate = file("front", "why.txt", "");
    let out = file("front", "out.onnx", "");
    ok(&["differentiable", "-e", "relu(x)", "--at", "x=0", "--certificate", &certificate]);
    let at = ["--at", "x=1"];
    for args in [
        &["eval", &calls, "--at", "x=1"][..],
        &["grad", &calls, "--at", "x=1"],
        &["bench", &calls, "--at", "x=1"],
        &["show", &calls, "--inline"],
        &["draw", &calls, "--inline"],
        &["draw", &calls, "--derive", "backprop"],
        &["export", &calls, "-o", &out],
        &["clarke", &calls, "--at", "x=1"],
        &["directional", &calls, "--at", "x=1", "--along", "x=1"],
        &["conservative", &calls, "--at", "x=1"],
        &["differentiable", &calls, "--at", "x=1"],
        &["check", &certificate, &calls, "--at", "x=1"],
        &["simplify", &calls],
        &["eval", &zeros, "--at", "x=1"],
        &["grad", &open, "--at", "x=1,y=1"],
        &["clarke", &open, "--at", "x=1,y=1"],
        &["directional", &open, "--at", "x=1,y=1", "--along", "x=1"],
        &["export", &open, "--grad", "-o", &out],
        &["eval", "-e", "x + y", "--at", "x=1"],
        &["check", &certificate, "-e", "x + y", "--at", "x=1"],
        &["eval", "-e", "exp(x)", "--at", "x=10000", "--float"],
        &["eval", "-e", "exp(x)", "--at", "x=1", "--exact"],
        &["clarke", "-e", "abs(exp(x) * exp(-x) - 1)", "--at", "x=1", "--max-bits", "64"],
    ] {
        let output = crease(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        let help = ok(&[args[0], "--help"]);
        for word in said
            .split(|c: char| c.is_whitespace() || "(),;`".contains(c))
            .filter(|w| w.starts_with("--") && *w != "-->")
        {
            let flag = word.split('=').next().unwrap().trim_end_matches(['.', ':']);
            assert!(help.contains(flag), "{args:?} has no {flag}: {said}");
        }
    }
    assert!(fault(&[&["eval", &calls][..], &at].concat()).contains("raise it with --max-steps or --limit steps=N"));
    assert!(fault(&["show", &calls, "--inline"]).contains("raise it with --max-equations\n"));
}

#[test]
fn memory_is_counted_before_it_is_taken() {
    let zeros = ["eval", "-e", "zeros([134217728])"];
    let start = Instant::now();
    let message = fault(&zeros);
    assert!(message.contains("more memory than the limit of 4294967296 bytes"), "{message}");
    assert!(message.contains("--limit memory=N"), "{message}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    let small = ["eval", "-e", "sum(zeros([1000]) + x)", "--at", "x=1", "--limit", "memory=1000"];
    assert!(fault(&small).contains("more memory than the limit of 1000 bytes"));
    let gather = "gather(broadcast(x, [1, 134217728]), [0, 0, 0, 0, 0, 0, 0, 0, 0], axis=0)";
    let message = fault(&["cost", "-e", gather]);
    assert!(message.contains("elements") || message.contains("of memory"), "{message}");
}

#[test]
fn selections_say_each_thing_once() {
    let refused = |select: &str| fault(&["grad", "-e", "relu(x)", "--at", "x=0", "--select", select]);
    for (select, why) in [
        ("torch,paper", "`paper` would be another one after `torch`"),
        ("relu=1,torch", "`torch` would be another one after other parts"),
        ("relu=0,relu=1", "says relu twice"),
        ("torch,,relu=1", "part 2 of the selection is empty"),
        ("torch,", "part 2 of the selection is empty"),
        ("", "part 1 of the selection is empty"),
        ("norm2=[1/2,,1/2]", "is no choice for norm2"),
    ] {
        assert!(refused(select).contains(why), "{select}: {}", refused(select));
    }
    assert!(usage(&["audit", "-e", "x", "--inputs", "a.csv", "--select", "torch,paper"]).contains("another one after"));
}

/// A choice is exactly what was chosen: as doubles, 3/5 and 4/5 would lie outside of the unit ball.
#[test]
fn the_choice_at_a_norm_is_exact() {
    for (at, choice, want) in [
        ("v=[0,0]", "norm2=[3/5,4/5]", json!(["3/5", "4/5"])),
        ("v=[0,0,0]", "norm2=[3/5,4/5]", json!(["3/5", "4/5", "0"])),
        ("v=[0,0]", "norm2=[1/3,2/3,2/3]", json!(["1/3", "2/3"])),
        ("v=[0,0]", "norm2=[1/2,1/4]", json!(["1/2", "1/4"])),
    ] {
        let report = run_json(&["grad", "-e", "norm2(v)", "--at", at, "--select", choice, "--json"]);
        assert_eq!(report["exact"]["gradient"]["v"], want, "{choice}: {report}");
        assert_eq!(report["arithmetic"], "exact");
    }
    // what is derived prints as what it is, and reads back
    let derived =
        ok(&["show", "-e", "norm2(v)", "--at", "v=[0,0]", "--derive", "backprop", "--select", "norm2=[3/5,4/5]"]);
    let path = file("front", "derived.crease", &derived);
    assert_eq!(ok(&["show", &path]), derived);
    assert_eq!(ok(&["eval", &path, "--at", "v=[0,0]"]), "0\n[3/5, 4/5]\n".replace("3/5", "0.6").replace("4/5", "0.8"));
}

#[test]
fn presets_carry_versions() {
    let help = ok(&["grad", "--help"]);
    for told in [
        "torch picks as PyTorch 2.15.0 does",
        "jax picks as JAX 0.10.2 does",
        "sqrt(sum(x * x)) at (0, 0): (NaN, NaN), and not (0, 0)",
    ] {
        assert!(help.contains(told), "{help}");
    }
    assert!(!ok(&["grad", "-h"]).contains("NaN"));
}

/// Work that Ctrl-C cuts short ends with 130 in every phase: while a file is read, while numbers are computed, while a report is made.
#[test]
#[cfg(unix)]
fn ctrl_c_is_one_exit_code() {
    use tool::process::{end, interrupt, said, start};
    let long = "program f(x[40]) { let y = repeat(3000000, y = x) { return sin(y) / 2 + x } return sum(y) }";
    let path = file("front_ctrl", "long.crease", long);
    let at = format!("x=[{}]", vec!["1"; 40].join(","));
    for args in [
        &["eval", &path, "--at", &at, "--float"][..],
        &["grad", &path, "--at", &at, "--float"],
        &["clarke", &path, "--at", &at],
        &["bench", &path, "--at", &at],
        &["paper"],
    ] {
        let mut child = start(args);
        std::thread::sleep(Duration::from_millis(700));
        if child.try_wait().unwrap().is_some() {
            continue;
        }
        interrupt(&child);
        let code = end(&mut child).code();
        let said = said(&mut child);
        // before it listens, the signal itself ends it
        assert!(matches!(code, Some(130) | None), "{args:?}: {code:?} {said}");
        assert!(!said.contains("error"), "{args:?}: {said}");
    }
}
