//! `crease audit`: known ties of a small network, resuming, Ctrl-C, bad inputs; and the networks of the shared data, where that is.

mod tool;

use serde_json::Value;
use std::path::{Path, PathBuf};
use tool::process::{end, interrupt, said, start};
use tool::{crease, fault, file, npy, ok};

/// Two windows of two pixels; the second output is the identity of the second maximum, written with two ReLUs.
const NET: &str = "program net(x[4]) {
  let m = max(reshape(x, [2, 2]), axis=-1)
  return m[0] + m[1], relu(m[1] - 2) - relu(2 - m[1])
}
";

/// A window and both ReLUs tie; a window ties; nothing does.
const TABLE: &str = "label,a,b,c,d\n1,1,1,0,2\n0,3,3,0,1\n0,0,1,2,5\n";

fn lines(args: &[&str]) -> Vec<Value> {
    ok(args).lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

#[test]
fn ties_that_are_known() {
    let (net, table) = (file("audit_ties", "net.crease", NET), file("audit_ties", "in.csv", TABLE));
    let mut all = lines(&["audit", &net, "--inputs", &table, "--json"]);
    let summary = all.pop().unwrap();
    all.sort_by_key(|f| f["input"].as_u64());
    let [first, second, third] = &all[..] else { panic!("{all:?}") };
    // max(1, 1) at the first window, relu(0) twice
    assert_eq!((&first["tied"], &first["label"], &first["arithmetic"]), (&3.into(), &1.into(), &"exact".into()));
    let ties: Vec<_> = first["ties"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| (t["operation"].as_str().unwrap(), &t["at"], &t["members"]))
        .collect();
    let (none, zero) = (Value::Array(vec![]), Value::from(vec![0]));
    assert_eq!(ties, [("max", &zero, &2.into()), ("relu", &none, &2.into()), ("relu", &none, &2.into())]);
    let [sum, identity] = &first["outputs"].as_array().unwrap()[..] else { panic!() };
    assert_eq!((&sum["value"], &sum["differentiable"], &sum["singleton"]), (&3.0.into(), &"no".into(), &false.into()));
    // (1, 0, 0, 1) and (0, 1, 0, 1)
    assert_eq!((&sum["clarke_apart"], &sum["certified"], &sum["tied"]), (&1.0.into(), &true.into(), &1.into()));
    // m[1] - 2 is differentiable, but relu'(0) = 0 twice gives 0
    assert_eq!((&identity["differentiable"], &identity["singleton"]), (&"yes".into(), &false.into()));
    assert_eq!(identity["off"], serde_json::json!([["torch", 1.0], ["jax", 1.0], ["torch, max=first", 1.0]]));
    assert_eq!((&identity["certified"], &identity["tied"]), (&true.into(), &2.into()));
    // max(3, 3), and 1 < 2: margins are 1 for both ReLUs and for the window
    assert_eq!((&second["tied"], &second["margins"][0]["margin"]), (&1.into(), &1.0.into()));
    assert_eq!(third["tied"], 0);
    assert_eq!(third["gradients"]["clarke"], serde_json::json!([0.0, 1.0, 0.0, 1.0]));
    let s = &summary["summary"];
    let counts = ["inputs", "done", "tied", "not_differentiable", "differentiable", "misled", "verdicts", "certified"];
    assert_eq!(counts.map(|c| s[c].as_u64().unwrap()), [3, 3, 2, 2, 1, 1, 6, 6]);
    assert_eq!(s["worst"][0], 0);
    // equal parts, or all of it to the first: half a pixel apart
    assert_eq!(sum["apart"], 0.5);
    let same = lines(&[
        "audit",
        &net,
        "--inputs",
        &table,
        "--json",
        "--threads",
        "1",
        "--select",
        "torch",
        "--select",
        "torch, relu=1/2",
    ]);
    // relu'(0) = 1/2 happens to be right
    assert_eq!(same[0]["outputs"][1]["off"], serde_json::json!([["torch", 1.0], ["torch, relu=1/2", 0.0]]));
    let text = ok(&["audit", &net, "--inputs", &table, "--threads", "1"]);
    assert!(text.contains("2 of 3 inputs have kinks that are tied and matter"), "{text}");
    assert!(text.contains("6 of 6 verdicts") && text.contains("line 2"), "{text}");
}

#[test]
fn the_loss_of_labels() {
    let (net, table) = (
        file("audit_loss", "net.crease", "program net(x[2]) = x + abs(x)"),
        file("audit_loss", "in.csv", "1,0,3\n0,1,2\n"),
    );
    let mut all = lines(&["audit", &net, "--inputs", &table, "--loss", "--json", "--threads", "1"]);
    all.pop();
    assert_eq!((&all[0]["arithmetic"], &all[0]["outputs"][0]["differentiable"]), (&"enclosed".into(), &"no".into()));
    // log(e^2 + e^4) - 2
    let value = all[1]["outputs"][0]["value"].as_f64().unwrap();
    assert!((value - ((2f64.exp() + 4f64.exp()).ln() - 2.0)).abs() < 1e-12, "{value}");
    assert_eq!(all[1]["outputs"][0]["differentiable"], "yes");
}

#[test]
fn it_goes_on_where_it_was_stopped() {
    let (net, table) = (file("audit_resume", "net.crease", NET), file("audit_resume", "in.csv", TABLE));
    let out = Path::new(&table).with_file_name("out.jsonl");
    let _ = std::fs::remove_file(&out);
    let path = out.to_str().unwrap();
    let args = ["audit", &net, "--inputs", &table, "--lines", path, "--threads", "1"];
    let whole = ok(&args);
    let written = std::fs::read_to_string(&out).unwrap();
    let all: Vec<&str> = written.lines().collect();
    assert_eq!(all.len(), 4, "{written}");
    // the second of them is done; the third was cut short
    std::fs::write(&out, format!("{}\n{}\n{}", all[0], all[2], &all[3][..20])).unwrap();
    assert_eq!(ok(&args), whole);
    let again = std::fs::read_to_string(&out).unwrap();
    let input = |line: &str| serde_json::from_str::<Value>(line).unwrap()["input"].as_u64().unwrap();
    assert_eq!(again.lines().skip(1).map(input).collect::<Vec<_>>(), [1, 0, 2]);
    assert_eq!(again.lines().nth(1), Some(all[2]));
    // nothing is done again once all is there
    ok(&args);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), again);
    // and what is of other inputs, or no such file at all, is left alone
    let other = file("audit_resume", "other.csv", "0,0,0,0\n");
    assert!(
        fault(&["audit", &net, "--inputs", &other, "--lines", path])
            .contains("was made of 3 inputs, and now there are 1")
    );
    let notes = file("audit_resume", "notes.txt", "important");
    assert!(fault(&["audit", &net, "--inputs", &table, "--lines", &notes]).contains("no file of findings"));
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "important");
}

/// Findings of something else are neither mixed in nor touched, and the message says what is not the same.
#[test]
fn nothing_else_is_gone_on_with() {
    let (net, table) = (file("audit_other", "net.crease", NET), file("audit_other", "in.csv", TABLE));
    let out = Path::new(&table).with_file_name("out.jsonl");
    let _ = std::fs::remove_file(&out);
    let path = out.to_str().unwrap();
    ok(&["audit", &net, "--inputs", &table, "--lines", path]);
    let written = std::fs::read_to_string(&out).unwrap();
    let told = |net: &str, table: &str, more: &[&str]| {
        let said = fault(&[&["audit", net, "--inputs", table, "--lines", path], more].concat());
        assert_eq!(std::fs::read_to_string(&out).unwrap(), written, "{said}");
        assert!(said.contains("give another name, or remove it"), "{said}");
        said
    };
    let bent = file("audit_other", "bent.crease", NET.replace("m[0] + m[1]", "m[0] - m[1]"));
    assert!(told(&bent, &table, &[]).contains("out.jsonl was made of another network"));
    assert!(told(&net, &table, &["--element", "0"]).contains("was made of another network"));
    let table_with = |name: &str, old: &str, new: &str| file("audit_other", name, TABLE.replacen(old, new, 1));
    // as doubles these numbers are those of the table
    let close = table_with("close.csv", "1,1,1,0,2", "1,1,1,0,2.00000000000000000001");
    assert!(told(&net, &close, &[]).contains("was made of other inputs"));
    let labels = table_with("labels.csv", "0,3,3", "1,3,3");
    assert!(told(&net, &labels, &[]).contains("was made of other inputs"));
    assert!(told(&net, &table, &["--scale", "2"]).contains("was made of other inputs"));
    assert!(told(&net, &table, &["--first", "2"]).contains("was made of 3 inputs, and now there are 2"));
    assert!(told(&net, &table, &["--select", "torch"]).contains("`torch, max=first`, and not `torch`"));
    assert!(told(&net, &table, &["--no-certificates"]).contains("was made with certificates"));
    // what an older version wrote
    let old = file(
        "audit_other",
        "old.jsonl",
        "{\"audit\":\"net\",\"of\":\"outputs\",\"inputs\":3,\"hash\":\"2bec218668fb76c8\"}\n",
    );
    assert!(
        fault(&["audit", &net, "--inputs", &table, "--lines", &old]).contains("old.jsonl, line 1 does not tell what")
    );
}

/// A finding that was edited, or that was made with something else, is not taken for one that was found.
#[test]
fn edited_findings_are_not_gone_on_with() {
    let (net, table) = (file("audit_edited", "net.crease", NET), file("audit_edited", "in.csv", TABLE));
    let out = Path::new(&table).with_file_name("out.jsonl");
    let _ = std::fs::remove_file(&out);
    let path = out.to_str().unwrap();
    let args = ["audit", &net, "--inputs", &table, "--lines", path, "--threads", "1"];
    ok(&args);
    let written = std::fs::read_to_string(&out).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    let told = |changed: &str| {
        std::fs::write(&out, changed).unwrap();
        let said = fault(&args);
        assert_eq!(std::fs::read_to_string(&out).unwrap(), changed, "{said}");
        said
    };
    assert!(written.contains("\"differentiable\":\"no\""), "{written}");
    for (from, to) in [("\"differentiable\":\"no\"", "\"differentiable\":\"yes\""), ("\"input\":1", "\"input\":0")] {
        let said = told(&written.replacen(from, to, 1));
        assert!(
            said.contains("out.jsonl, line ") && said.contains("it was changed, or made with something else"),
            "{said}"
        );
    }
    let digest = lines[1].rfind(",\"digest\"").unwrap();
    let bare = format!("{}\n{}}}\n", lines[0], &lines[1][..digest]);
    assert!(told(&bare).contains("it has no digest"), "{bare}");
    // a line of another network, under the first line of this one
    let bent = file("audit_edited", "bent.crease", NET.replace("m[0] + m[1]", "m[0] - m[1]"));
    let other = Path::new(&table).with_file_name("other.jsonl");
    let _ = std::fs::remove_file(&other);
    ok(&["audit", &bent, "--inputs", &table, "--lines", other.to_str().unwrap()]);
    let foreign = std::fs::read_to_string(&other).unwrap();
    let mixed = format!("{}\n{}\n", lines[0], foreign.lines().nth(1).unwrap());
    assert!(told(&mixed).contains("line 2: its digest is not that of what it says"), "{mixed}");
}

/// With other limits just those inputs are done again that met one.
#[test]
fn other_limits_do_again_what_met_one() {
    // the first input is decided, the second has no value whatever the limits, and of the third no number of bits tells
    let net = "program net(x[3]) = relu(exp(x[0]) * exp(-x[0]) - 1 + x[2]) + log(x[1])";
    let net = file("audit_limits", "net.crease", net);
    let table = file("audit_limits", "in.csv", "1,1,5\n1,-1,5\n1,2,0\n");
    let out = Path::new(&table).with_file_name("out.jsonl");
    let _ = std::fs::remove_file(&out);
    let path = out.to_str().unwrap();
    let run = |more: &[&str]| {
        ok(&[&["audit", &net, "--inputs", &table, "--lines", path, "--threads", "1"], more].concat());
        std::fs::read_to_string(&out).unwrap()
    };
    let findings = |text: &str| -> Vec<(u64, bool, f64)> {
        let all = text.lines().skip(1).map(|l| serde_json::from_str::<Value>(l).unwrap());
        all.map(|f| (f["input"].as_u64().unwrap(), f["limited"] == true, f["seconds"].as_f64().unwrap())).collect()
    };
    let limited = |text: &str| findings(text).iter().map(|f| (f.0, f.1)).collect::<Vec<_>>();
    let first = run(&["--max-bits", "64"]);
    assert_eq!(limited(&first), [(0, false), (1, false), (2, true)]);
    // the same limits: nothing is done again, not even what met one
    assert_eq!(run(&["--max-bits", "64"]), first);
    let more = run(&["--max-bits", "128"]);
    assert_eq!(limited(&more), [(0, false), (1, false), (2, true)]);
    assert_eq!(findings(&more)[..2], findings(&first)[..2]);
    assert!(more.lines().last() != first.lines().last(), "it was not done again");
    assert_ne!(more.lines().next(), first.lines().next());
    assert_eq!(run(&["--max-bits", "128"]), more);
    // a limit of time that nothing meets but what is done again
    let timed = run(&["--max-bits", "128", "--each", "1000"]);
    assert_eq!(findings(&timed)[..2], findings(&first)[..2]);
    assert_eq!(limited(&timed), limited(&more));
}

#[test]
fn ctrl_c_keeps_what_there_is() {
    let net = file("audit_stop", "net.crease", NET);
    let many = "1,1,0,2\n".repeat(100_000);
    let table = file("audit_stop", "in.csv", many);
    let out = Path::new(&table).with_file_name("out.jsonl");
    let _ = std::fs::remove_file(&out);
    let mut child = start(&["audit", &net, "--inputs", &table, "--lines", out.to_str().unwrap(), "--threads", "1"]);
    let lines = |path: &PathBuf| std::fs::read_to_string(path).map_or(0, |s| s.lines().count());
    while lines(&out) < 4 {
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
    }
    interrupt(&child);
    let status = end(&mut child);
    assert_eq!(status.code(), Some(130));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut text).unwrap();
    assert!(text.contains("then it was stopped") && said(&mut child).contains("run it again to go on"), "{text}");
    let kept = std::fs::read_to_string(&out).unwrap();
    assert!(kept.ends_with('\n') && kept.lines().skip(1).all(|l| serde_json::from_str::<Value>(l).is_ok()));
}

#[test]
fn an_input_that_is_too_hard_is_said_to_be() {
    let (net, table) = (file("audit_each", "net.crease", NET), file("audit_each", "in.csv", TABLE));
    let mut all = lines(&["audit", &net, "--inputs", &table, "--each", "0", "--json"]);
    let summary = all.pop().unwrap();
    assert_eq!((all.len(), &summary["summary"]["unknown"]), (3, &3.into()));
    assert!(all.iter().all(|f| f["error"].is_string() || f["outputs"][0]["why"].is_string()), "{all:?}");
    // a value that does not exist is said of that input only
    let net = file("audit_each", "log.crease", "program net(x[1]) = log(x[0])");
    let table = file("audit_each", "logs.csv", "-1\n1\n");
    let mut all = lines(&["audit", &net, "--inputs", &table, "--json", "--threads", "1"]);
    all.pop();
    assert!(all[0]["error"].as_str().unwrap().contains("log") && all[1]["outputs"][0]["differentiable"] == "yes");
}

#[test]
fn bad_inputs() {
    let net = file("audit_bad", "net.crease", NET);
    let told = |name: &str, bytes: &[u8], more: &[&str]| {
        let inputs = file("audit_bad", name, bytes);
        fault(&[&["audit", &net, "--inputs", &inputs], more].concat())
    };
    assert!(told("empty.csv", b"", &[]).contains("there are no samples in it"));
    assert!(
        told("short.csv", b"1,2,3,4\n1,2\n", &[])
            .contains("line 2 has 2 numbers; the network takes 4, or 5 with a label in front")
    );
    assert!(told("nan.csv", b"0,0,nan,0\n", &[]).contains("line 1, column 3: `nan` is not a finite number"));
    assert!(told("word.csv", b"0,0,0,0\n1,x,0,0\n", &[]).contains("line 2, column 2: `x`"));
    assert!(told("label.csv", b"1.5,0,0,0,0\n", &["--loss"]).contains("1.5 is no label"));
    assert!(told("far.csv", b"7,0,0,0,0\n", &["--loss"]).contains("two scores or more"));
    assert!(told("nan.npy", &npy("(1, 4)", &[0.0, f64::NAN, 0.0, 0.0]), &[]).contains("it[0, 1] is NaN"));
    assert!(told("wide.npy", &npy("(2, 3)", &[0.0; 6]), &[]).contains("row 0 has 3 numbers"));
    assert!(told("no.npz", b"PK", &[]).contains("no ZIP archive"));
    assert!(told("no.png", b"GIF", &[]).contains("no PNG picture"));
    assert!(told("ok.csv", b"0,0,0,0\n", &["--at", "x=[1,1,1,1]"]).contains("--at is for one point"));
    assert!(told("ok.csv", b"0,0,0,0\n", &["--each=-1"]).contains("not negative"));
    assert!(fault(&["audit", &net, "--inputs", "nowhere.csv"]).contains("there is no file nowhere.csv"));
    let labels = file("audit_bad", "labels.txt", "0\nx\n");
    let two = file("audit_bad", "two.csv", "0,0,0,0\n1,1,1,1\n");
    assert!(fault(&["audit", &net, "--inputs", &two, "--labels", &labels]).contains("`x` is no label"));
    let scores = file("audit_bad", "scores.crease", "program net(x[2]) = relu(x)");
    let far = file("audit_bad", "out.csv", "2,0,0\n");
    assert!(
        fault(&["audit", &scores, "--inputs", &far, "--loss"])
            .contains("line 1 has the label 2; the first output of the network has 2 scores, so labels are 0 to 1")
    );
    let fine = file("audit_bad", "fine.csv", "0,0,0,0\n");
    assert!(fault(&["audit", &net, "--inputs", &fine, "--lines", "no/such/folder"]).contains("cannot be written"));
    assert!(fault(&["audit", &net, "--inputs", &fine, "--lines", "a", "--html", "a"]).contains("name the same file"));
    // nothing is left behind by what cannot be audited
    let left = Path::new(&fine).with_file_name("left.jsonl");
    let _ = std::fs::remove_file(&left);
    assert!(
        fault(&["audit", &net, "--inputs", &fine, "--loss", "--lines", left.to_str().unwrap()]).contains("two scores")
    );
    assert!(!left.exists());
    // a device that never ends
    #[cfg(target_os = "linux")]
    assert!(fault(&["audit", &net, "--inputs", &fine, "--lines", "/dev/full"]).contains("/dev/full cannot be written"));
    let none = file("audit_bad", "none.csv", "0,0\n");
    assert!(fault(&["audit", &scores, "--inputs", &none, "--loss"]).contains("line 1 has no label"));
    let several = file("audit_bad", "several.crease", "program net(x[2], y) = sum(x) * y");
    assert!(fault(&["audit", &several, "--inputs", &none]).contains("has 2 inputs"));
}

/// What is printed is what the page says, and the page needs nothing else.
#[test]
fn the_page_is_whole() {
    let (net, table) = (file("audit_page", "net.crease", NET), file("audit_page", "in.csv", TABLE));
    let html = Path::new(&table).with_file_name("page.html");
    ok(&["audit", &net, "--inputs", &table, "--html", html.to_str().unwrap()]);
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(!page.contains("http") && !page.contains("<script") && page.contains("data:image/bmp;base64,Qk"));
    assert!(page.contains("another Clarke subgradient") && page.contains("6 / 6"));
}

/// The networks of the shared data at the images there.
#[test]
fn digits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap();
    let found = root.ancestors().map(|a| a.join("shared/data")).find(|f| f.is_dir());
    let data = found.unwrap_or_default();
    let (net, images) = (data.join("onnx/marabou/cnn_max_mninst2.onnx"), data.join("images/mnist_test_20.csv"));
    if !net.exists() || !images.exists() {
        println!("there is no shared data: nothing was checked");
        return;
    }
    let args = [
        "audit",
        net.to_str().unwrap(),
        "--inputs",
        images.to_str().unwrap(),
        "--scale",
        "1/255",
        "--first",
        "2",
        "--json",
    ];
    let out = crease(&args).output().unwrap();
    assert_eq!(out.status.code(), Some(0));
    for line in String::from_utf8(out.stdout).unwrap().lines().take(2) {
        let f: Value = serde_json::from_str(line).unwrap();
        assert!(f["tied"].as_u64().unwrap() > 10 && f["exactly"].as_u64().unwrap() >= f["tied"].as_u64().unwrap());
        let outputs = f["outputs"].as_array().unwrap();
        assert!(outputs.len() == 10 && outputs.iter().all(|o| o["differentiable"] == "no" && o["certified"] == true));
    }
}
