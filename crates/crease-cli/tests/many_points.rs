//! `--points` with so many points that they are read, computed and printed in portions.

mod tool;

use serde_json::Value;
use std::fmt::Write;
use tool::process::head;
use tool::{crease, file, json, ok};

/// More points than are computed in one portion, and more than are computed exactly.
const MANY: usize = 20_001;

fn points(test: &str, count: usize, odd: impl Fn(usize) -> Option<&'static str>) -> String {
    let mut text = String::from("[\n");
    for k in 0..count {
        let number = format!("[{}, 0.5]", k % 1000);
        let end = if k + 1 < count { ",\n" } else { "\n]\n" };
        write!(text, "{}{end}", odd(k).unwrap_or(&number)).unwrap();
    }
    file("many_points", &format!("{test}.json"), text)
}

#[test]
fn every_point_has_its_line() {
    let path = points("lines", MANY, |_| None);
    let text = ok(&["eval", "-e", "relu(x - 500) + y", "--points", &path]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), MANY);
    for (k, line) in lines.iter().enumerate() {
        let x = (k % 1000) as f64;
        assert_eq!(line.parse(), Ok((x - 500.0).max(0.0) + 0.5), "{k}");
    }
    let all = json(&["eval", "-e", "relu(x - 500) + y", "--points", &path, "--json"]);
    assert_eq!((&all["points"], &all["arithmetic"]), (&MANY.into(), &"f64".into()));
    let values: Vec<f64> = all["value"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    assert_eq!(values, lines.iter().map(|l| l.parse().unwrap()).collect::<Vec<f64>>());
}

#[test]
fn gradients_say_at_each_point_what_they_are() {
    let path = points("gradients", MANY, |_| None);
    let args = ["grad", "-e", "relu(x - 500) + y", "--points", &*path];
    let text = ok(&args);
    let mut lines = text.lines();
    assert_eq!(lines.next().map(str::trim_end), Some("value  x  y"));
    let all = json(&[&args[..], &["--json"]].concat());
    for (k, line) in lines.enumerate() {
        let expected = match (k % 1000).cmp(&500) {
            std::cmp::Ordering::Less => ("0", "the gradient", 0),
            std::cmp::Ordering::Equal => ("0", "1 kink", 1),
            std::cmp::Ordering::Greater => ("1", "the gradient", 0),
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((words[1], words[2], &*words[3..].join(" ")), (expected.0, "1", expected.1), "{k}: {line}");
        assert_eq!((&all["kinks"][k], &all["certain"][k]), (&expected.2.into(), &true.into()), "{k}");
    }
    assert_eq!(all["gradient"]["x"].as_array().map(Vec::len), Some(MANY));
}

#[test]
fn exact_numbers_come_in_portions_where_they_are_insisted_on() {
    let path = points("exact", MANY, |_| None);
    let all = json(&["eval", "-e", "x / 3 + y", "--points", &path, "--exact", "--json"]);
    assert_eq!((&all["points"], &all["arithmetic"]), (&MANY.into(), &"exact".into()));
    assert_eq!(all["exact"]["value"][MANY - 1], "1/2");
    assert_eq!(all["exact"]["value"][MANY - 2], "667/2");
}

#[test]
fn a_fault_names_the_line_after_what_was_computed() {
    for (name, odd, expected) in [
        ("zero", "[0.5, 0]", "at point 20001: line 20002 of "),
        ("short", "[1]", "line 20002, point 20001 needs 2 coordinates"),
        ("word", "[1, \"two\"]", "line 20002, point 20001: "),
        ("syntax", "[1, nonsense]", "is not a JSON list of points such as [{\"x\": 1}, {\"x\": 2}]: line 20002: "),
        ("empty", "", "line 20003: expected a value before `]`"),
    ] {
        let path = points(name, MANY, |k| (k + 1 == MANY).then_some(odd));
        let output = crease(&["eval", "-e", "x / y", "--points", &path]).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && message.contains(expected), "{name}: {message}");
        // whole portions came before
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<f64> = text.lines().map(|l| l.parse().unwrap()).collect();
        assert!(lines.len() >= 4096 && lines.len() < MANY, "{name}: {}", lines.len());
        assert!(lines.iter().enumerate().all(|(k, v)| *v == (k % 1000) as f64 / 0.5), "{name}");
        // one object is whole or not at all
        let output = crease(&["eval", "-e", "x / y", "--points", &path, "--json"]).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{name}");
    }
}

#[test]
fn few_points_are_in_one_kind_of_numbers() {
    let square = file("many_points", "square.json", "[4, 9, 16]");
    let exact = json(&["eval", "-e", "sqrt(x)", "--points", &square, "--json"]);
    assert_eq!((&exact["arithmetic"], &exact["exact"]["value"][2]), (&"exact".into(), &"4".into()));
    // one that is irrational makes all of them floats
    let other = file("many_points", "other.json", "[4, 9, 2]");
    let floats = json(&["eval", "-e", "sqrt(x)", "--points", &other, "--json"]);
    assert_eq!((&floats["arithmetic"], floats.get("exact")), (&"f64".into(), None::<&Value>));
}

/// Time is a limit, and not a reader that left: what was computed is printed, and the fault says why there is no more.
#[test]
fn time_is_a_limit() {
    let path = points("time", MANY, |_| None);
    for command in ["eval", "grad"] {
        let args = [command, "-e", "x * y", "--points", &path, "--seconds", "0"];
        let output = crease(&args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]));
        if command == "grad" {
            // the derivative is not there yet
            assert_eq!(said, "error: there is no answer yet: time is up\n");
            continue;
        }
        assert_eq!(said, "error: time is up after 0 points; allow more with --seconds\n");
        let output = crease(&[&args[..], &["--json"]].concat()).output().unwrap();
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&object["points"], &object["stopped"]), (&0.into(), &true.into()));
        ok(&[&args[..6], &["1000"]].concat());
    }
}

#[cfg(unix)]
mod signals {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use tool::process::{end, interrupt, said, start};

    #[test]
    fn a_reader_that_leaves_ends_the_work() {
        let path = points("head", 200_000, |_| None);
        for args in [&["eval", "-e", "x * y", "--points", &path][..], &["grad", "-e", "abs(x) * y", "--points", &path]]
        {
            let (line, code, said) = head(args);
            assert!(!line.is_empty(), "{args:?}");
            assert_eq!((code, &*said), (Some(0), ""), "{args:?}");
        }
    }

    /// Points that come through a pipe, the end of which never comes: results do not wait for it, and Ctrl-C keeps them.
    #[test]
    fn results_come_while_points_are_read() {
        let folder = file("many_points", "folder", "");
        let pipe = folder.replace("folder", "pipe.json");
        // from an earlier run
        let _ = std::fs::remove_file(&pipe);
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut child = start(&["eval", "-e", "x * x", "--points", &pipe]);
        let mut feed = std::fs::OpenOptions::new().write(true).open(&pipe).unwrap();
        feed.write_all(b"[").unwrap();
        let feeder = std::thread::spawn(move || {
            // until it is gone
            while feed.write_all("3,\n".repeat(1000).as_bytes()).is_ok() {}
        });
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for _ in 0..30_000 {
            assert_eq!(lines.next().unwrap().unwrap(), "9");
        }
        interrupt(&child);
        assert!(lines.all(|l| l.unwrap() == "9"));
        assert_eq!(end(&mut child).code(), Some(130));
        let said = said(&mut child);
        assert!(said.starts_with("stopped by Ctrl-C after ") && said.ends_with(" points\n"), "{said}");
        feeder.join().unwrap();
    }
}
