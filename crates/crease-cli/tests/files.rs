//! What happens to files, pipes and half-done work: nothing that was there is lost, and nobody works for nobody.
#![cfg(unix)]

mod tool;

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tool::process::{end, head, interrupt, said, start};
use tool::{crease, fault, file, json, ok};

/// A folder of its own for each test, empty.
fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("files").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("there is room for a folder");
    folder
}

fn name(path: &Path) -> &str {
    path.to_str().expect("paths are UTF-8")
}

/// The names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entry = |e: std::io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(entry).collect();
    names.sort();
    names
}

/// A formula of more pigeons than holes: hard for everybody who counts by cases.
fn pigeons(holes: usize) -> String {
    let at = |p: usize, h: usize| p * holes + h + 1;
    let mut clauses: Vec<String> = Vec::new();
    for p in 0..=holes {
        clauses.push((0..holes).map(|h| at(p, h).to_string()).chain(["0".into()]).collect::<Vec<_>>().join(" "));
        for h in 0..holes {
            clauses.extend((0..p).map(|q| format!("-{} -{} 0", at(p, h), at(q, h))));
        }
    }
    format!("p cnf {} {}\n{}\n", holes * (holes + 1), clauses.len(), clauses.join("\n"))
}

/// A program whose differentiability is hard to decide, and the point in question.
fn hard(test: &str) -> (String, String) {
    let formula = file(test, "pigeons.cnf", pigeons(16));
    let program = file(test, "pigeons.crease", ok(&["reduce", &formula]));
    let zero: Vec<String> = (1..=16 * 17).map(|i| format!("x{i}=0")).collect();
    (program, zero.join(","))
}

const LINEAR: [&str; 5] = ["differentiable", "-e", "relu(x) - relu(-x)", "--at", "x=0"];
/// What has no certificate, since it is not known: one number comes about in two ways.
const UNKNOWN: [&str; 5] = ["differentiable", "-e", "exp(x) * relu(y) - exp(x/2)^2 * relu(-y)", "--at", "x=1,y=0"];

#[test]
fn an_existing_file_stays_where_there_is_nothing_to_write() {
    let folder = folder("kept");
    let why = folder.join("why.txt");
    fs::write(&why, "precious").unwrap();
    let with = |args: &[&str]| -> Vec<String> {
        args.iter().copied().chain(["--certificate", name(&why)]).map(Into::into).collect()
    };
    let run = |args: &[&str]| {
        let args = with(args);
        crease(&args.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap()
    };
    let unknown = run(&UNKNOWN);
    let text = String::from_utf8(unknown.stdout).unwrap();
    assert!(text.contains("; the file is as it was\n"), "{text}");
    let formula = file("files_kept", "pigeons.cnf", pigeons(12));
    let unknown = run(&["sat", &formula, "--conflicts", "3"]);
    assert!(String::from_utf8(unknown.stdout).unwrap().starts_with("c no certificate was written\n"));
    let outside = run(&["clarke", "--all", "-e", "abs(x)", "--at", "x=0", "--contains", "x=2", "--json"]);
    assert!(String::from_utf8(outside.stdout).unwrap().contains("\"certificate\":false"));
    // and where the command fails
    assert_eq!(run(&["differentiable", "-e", "relu(x", "--at", "x=0"]).status.code(), Some(1));
    assert_eq!(run(&["differentiable", "-e", "1 / x", "--at", "x=0"]).status.code(), Some(1));
    assert_eq!(fs::read_to_string(&why).unwrap(), "precious");
    assert_eq!(names(&folder), ["why.txt"]);
    // until there is something
    assert_eq!(run(&LINEAR).status.code(), Some(0));
    assert!(fs::read_to_string(&why).unwrap().ends_with("end\n"));
    assert_eq!(names(&folder), ["why.txt"]);
}

#[test]
fn a_link_stays_and_its_target_is_replaced() {
    let folder = folder("links");
    fs::create_dir(folder.join("deep")).unwrap();
    let target = folder.join("deep/why.txt");
    fs::write(&target, "precious").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("deep/why.txt", folder.join("near.txt")).unwrap();
    symlink("near.txt", folder.join("link.txt")).unwrap();
    let link = folder.join("link.txt");
    let certificate = ["--certificate", name(&link)];
    ok(&[&UNKNOWN[..], &certificate].concat());
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    ok(&[&LINEAR[..], &certificate].concat());
    assert!(fs::read_to_string(&target).unwrap().starts_with("crease-certificate"));
    assert_eq!(fs::metadata(&target).unwrap().mode() & 0o777, 0o640);
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("near.txt"));
    // a link to nothing yet is followed, too
    symlink("deep/new.svg", folder.join("new.svg")).unwrap();
    ok(&["draw", "-e", "relu(x)", "-o", name(&folder.join("new.svg"))]);
    assert!(fs::read_to_string(folder.join("deep/new.svg")).unwrap().contains("<svg"));
    assert_eq!(names(&folder.join("deep")), ["new.svg", "why.txt"]);
    // and a link to itself is none
    symlink("round.svg", folder.join("round.svg")).unwrap();
    assert!(fault(&["draw", "-e", "x", "-o", name(&folder.join("round.svg"))]).contains("symbolic links"));
}

#[test]
fn what_was_read_is_not_overwritten() {
    let folder = folder("own");
    let path = |n: &str| folder.join(n);
    let write = |n: &str, text: &str| {
        fs::write(path(n), text).unwrap();
        name(&path(n)).to_string()
    };
    let formula = write("a.cnf", "p cnf 1 1\n1 0\n");
    let program = write("f.crease", "program f(x) = relu(x)\n");
    let point = write("x.json", "{\"x\": 0}");
    symlink("a.cnf", path("link.cnf")).unwrap();
    fs::hard_link(path("a.cnf"), path("other.cnf")).unwrap();
    let (link, other) = (path("link.cnf"), path("other.cnf"));
    for args in [
        &["sat", &*formula, "--certificate", &formula][..],
        &["sat", &formula, "--certificate", name(&link)],
        &["sat", name(&link), "--certificate", &formula],
        &["sat", &formula, "--certificate", name(&other)],
        &["reduce", &formula, "-o", &formula],
        &["show", &program, "--simplify", "-o", &program],
        &["draw", &program, "--format", "svg", "-o", &program],
        &["differentiable", &program, "--at", &point, "--certificate", &program],
        &["differentiable", &program, "--at", &point, "--certificate", &point],
        &["clarke", "--all", &program, "--at", "x=0", "--contains", &point, "--certificate", &point],
    ] {
        let message = fault(args);
        assert!(message.contains("it is what was read; give the output another name"), "{args:?}: {message}");
    }
    // standard input is what was read, too
    let stdin = fs::File::open(&formula).unwrap();
    let output = crease(&["sat", "-", "--certificate", &formula]).stdin(stdin).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read_to_string(&formula).unwrap(), "p cnf 1 1\n1 0\n");
    assert_eq!(fs::read_to_string(&program).unwrap(), "program f(x) = relu(x)\n");
    assert_eq!(fs::read_to_string(&point).unwrap(), "{\"x\": 0}");
    assert_eq!(names(&folder), ["a.cnf", "f.crease", "link.cnf", "other.cnf", "x.json"]);
}

#[test]
fn where_nothing_can_be_written_is_said_before_the_work() {
    let folder = folder("closed");
    let (program, at) = hard("files_closed");
    // the work would take years
    let refused = |path: &str| {
        let message = fault(&["differentiable", &program, "--at", &at, "--certificate", path]);
        assert!(message.starts_with(path), "{message}");
        message
    };
    assert!(refused(name(&folder)).contains("is a directory"));
    assert!(refused(&format!("{}/", folder.display())).contains("directory"));
    assert!(refused(name(&folder.join("no/such.txt"))).contains("cannot be written: the folder"));
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    // for root, folders are open
    if fs::write(folder.join("open"), "").is_err() {
        assert!(refused(name(&folder.join("why.txt"))).contains("cannot be written"));
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    // even root makes no files there
    if Path::new("/sys/kernel").is_dir() {
        assert!(refused("/sys/kernel/why.txt").contains("cannot be written"));
    }
    // a file that nobody may write
    let locked = folder.join("locked.txt");
    fs::write(&locked, "precious").unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o444)).unwrap();
    if fs::OpenOptions::new().write(true).open(&locked).is_err() {
        refused(name(&locked));
    }
    assert_eq!(fs::read_to_string(&locked).unwrap(), "precious");
}

#[test]
fn what_is_no_file_is_written_to_and_stays() {
    let folder = folder("devices");
    ok(&[&LINEAR[..], &["--certificate", "/dev/null"]].concat());
    ok(&[&UNKNOWN[..], &["--certificate", "/dev/null"]].concat());
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let full = fault(&[&LINEAR[..], &["--certificate", "/dev/full"]].concat());
    assert!(full.starts_with("/dev/full cannot be written: "), "{full}");
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    // standard output under its name: a pipe, or a file that is neither emptied nor written over
    assert!(ok(&["show", "-e", "relu(x)", "-o", "/dev/stdout"]).starts_with("program f(x)"));
    let log = folder.join("log");
    fs::write(&log, "precious\n").unwrap();
    let append = fs::OpenOptions::new().append(true).open(&log).unwrap();
    let args = [&LINEAR[..], &["--certificate", "/dev/stdout"]].concat();
    assert!(crease(&args).stdout(append).status().unwrap().success());
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.starts_with("precious\ncrease-certificate 1\n") && text.ends_with("with crease check\n"), "{text}");
    // a pipe with a name
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = start(&["draw", "-e", "relu(x)", "--format", "dot", "-o", name(&pipe)]);
    let mut drawn = String::new();
    fs::File::open(&pipe).unwrap().read_to_string(&mut drawn).unwrap();
    assert!(end(&mut child).success() && drawn.starts_with("digraph"), "{drawn}");
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!(names(&folder), ["log", "pipe"]);
}

#[test]
fn a_reader_that_leaves_ends_the_work() {
    let at = format!("v=[{}]", vec!["0"; 30].join(","));
    let all = ["clarke", "--all", "-e", "norm1(v)", "--at", &at];
    let (line, code, said) = head(&[&all[..], &["--stream"]].concat());
    assert!(line.starts_with("{\"gradient\""), "{line}");
    assert_eq!((code, &*said), (Some(0), ""));
    let (line, code, said) = head(&["paper"]);
    assert!(line.starts_with("example-1"), "{line}");
    assert_eq!((code, &*said), (Some(0), ""));
}

#[test]
fn a_reader_that_never_came_ends_the_work() {
    let at = format!("v=[{}]", vec!["0"; 30].join(","));
    let (program, zero) = hard("files_left");
    let formula = file("files_left", "pigeons.cnf", pigeons(16));
    for args in [
        &["clarke", "--all", "-e", "norm1(v)", "--at", &at][..],
        &["clarke", "--all", "-e", "norm1(v)", "--at", &at, "--json"],
        &["differentiable", &program, "--at", &zero],
        &["sat", &formula],
        &["bench", "-e", "x * x", "--duration", "100000"],
        &["paper", "--json"],
    ] {
        let mut child = start(args);
        drop(child.stdout.take());
        let status = end(&mut child);
        assert_eq!((status.code(), &*said(&mut child)), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn a_file_is_written_though_nobody_reads_the_rest() {
    let why = folder("unread").join("why.txt");
    let mut child = start(&[&LINEAR[..], &["--certificate", name(&why)]].concat());
    drop(child.stdout.take());
    assert_eq!(end(&mut child).code(), Some(0));
    assert!(fs::read_to_string(&why).unwrap().ends_with("end\n"));
}

/// Starts, gives it time to get into its work, and presses Ctrl-C. Returns what it printed. On a busy machine it may not have begun to
/// listen, and just end; then it gets more time.
#[track_caller]
fn interrupted(args: &[&str]) -> String {
    for seconds in [2, 10, 50] {
        let child = start(args);
        std::thread::sleep(Duration::from_secs(seconds));
        interrupt(&child);
        let output = child.wait_with_output().unwrap();
        if output.status.code().is_some() {
            assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(130), ""), "{args:?}");
            return String::from_utf8(output.stdout).unwrap();
        }
    }
    panic!("{args:?} does not listen")
}

#[test]
fn ctrl_c_keeps_what_was_found_and_what_was_there() {
    let folder = folder("interrupt");
    let why = folder.join("why.txt");
    fs::write(&why, "precious").unwrap();
    let at = format!("v=[{}]", vec!["0"; 30].join(","));
    let text = interrupted(&["clarke", "--all", "-e", "norm1(v)", "--at", &at]);
    assert!(text.contains("not known to be complete: it was stopped\n") && text.contains(" more\n"), "{text}");
    let text = interrupted(&["clarke", "--all", "-e", "norm1(v)", "--at", &at, "--stream"]);
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!((&last["complete"], &last["limit"]), (&false.into(), &"it was stopped".into()));
    assert_eq!(last["distinct"], text.lines().count() - 1);
    let (program, zero) = hard("files_interrupt");
    let text = interrupted(&["differentiable", &program, "--at", &zero, "--certificate", name(&why)]);
    assert!(text.starts_with("differentiable  unknown: it was stopped\n"), "{text}");
    assert!(text.contains("none; the file is as it was\n"), "{text}");
    let formula = file("files_interrupt", "pigeons.cnf", pigeons(16));
    let text = interrupted(&["sat", &formula, "--certificate", name(&why), "--json"]);
    assert!(text.contains("\"limit\":\"it was stopped\"") && text.contains("\"certificate\":false"), "{text}");
    assert_eq!(fs::read_to_string(&why).unwrap(), "precious");
    assert_eq!(names(&folder), ["why.txt"]);
}

#[test]
fn every_output_is_replaced_whole() {
    let folder = folder("whole");
    let path = |n: &str| name(&folder.join(n)).to_string();
    let formula = file("files_whole", "a.cnf", "p cnf 1 1\n1 0\n");
    for (n, args) in [
        ("f.svg", &["draw", "-e", "relu(x)", "-o"][..]),
        ("f.crease", &["show", "-e", "relu(x)", "-o"]),
        ("g.crease", &["reduce", &formula, "-o"]),
        ("page.html", &["paper", "--item", "case-3", "--html"]),
    ] {
        // whoever has the old file open goes on reading the old text
        fs::write(path(n), "precious").unwrap();
        let mut old = fs::File::open(path(n)).unwrap();
        ok(&[args, &[&path(n)]].concat());
        let mut text = String::new();
        old.read_to_string(&mut text).unwrap();
        assert_eq!(text, "precious");
        assert!(fs::read_to_string(path(n)).unwrap().len() > 20, "{n}");
    }
    assert_eq!(names(&folder), ["f.crease", "f.svg", "g.crease", "page.html"]);
    assert_eq!(json(&["eval", &path("f.crease"), "--at", "x=3", "--json"])["value"], 3);
}
