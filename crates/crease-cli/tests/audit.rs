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
    // the second of them is done, with a mark; the third was cut short
    let mut mark: Value = serde_json::from_str(all[2]).unwrap();
    mark["seconds"] = 1234.5.into();
    std::fs::write(&out, format!("{}\n{mark}\n{}", all[0], &all[3][..20])).unwrap();
    assert_eq!(ok(&args), whole);
    let again = std::fs::read_to_string(&out).unwrap();
    let mut inputs: Vec<u64> = Vec::new();
    for line in again.lines().skip(1) {
        let finding: Value = serde_json::from_str(line).unwrap();
        inputs.push(finding["input"].as_u64().unwrap());
        assert_eq!(finding["seconds"] == 1234.5, finding["input"] == 1);
    }
    assert_eq!(inputs, [1, 0, 2]);
    // nothing is done again once all is there
    ok(&args);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), again);
    // and what is of other inputs, or no such file at all, is left alone
    let other = file("audit_resume", "other.csv", "0,0,0,0\n");
    assert!(fault(&["audit", &net, "--inputs", &other, "--lines", path]).contains("holds an audit of something else"));
    let notes = file("audit_resume", "notes.txt", "important");
    assert!(fault(&["audit", &net, "--inputs", &table, "--lines", &notes]).contains("no file of findings"));
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "important");
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
    assert!(told("nan.npy", &npy("(1, 4)", &[0.0, f64::NAN, 0.0, 0.0]), &[]).contains("NaN"));
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
