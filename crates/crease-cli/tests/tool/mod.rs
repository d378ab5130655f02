//! Running the tool as its users do, and looking at what it says.

#![allow(dead_code)] // not every test file needs all of it

pub mod process;

use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The tool, not yet run, in the folder of the workspace.
pub fn crease(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crease"));
    command.args(args).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).stdin(Stdio::null());
    command
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the tool prints UTF-8")
}

/// What the tool prints when all is well.
pub fn ok(args: &[&str]) -> String {
    done(args, crease(args).output().expect("the tool starts"))
}

/// The same with something on standard input.
pub fn ok_with_input(args: &[&str], input: &str) -> String {
    let mut child = crease(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    child.stdin.take().expect("it has an input").write_all(input.as_bytes()).expect("it reads its input");
    done(args, child.wait_with_output().expect("it ends"))
}

fn done(args: &[&str], output: Output) -> String {
    let stderr = text(output.stderr);
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "crease {args:?}");
    text(output.stdout)
}

/// The one JSON object that the tool prints.
pub fn json(args: &[&str]) -> Value {
    let printed = ok(args);
    assert_eq!(printed.lines().count(), 1, "{printed}");
    let value: Value = serde_json::from_str(&printed).expect("the tool prints JSON");
    assert!(value.is_object(), "{value}");
    value
}

/// The one message about bad input: exit code 1, nothing on standard output.
pub fn fault(args: &[&str]) -> String {
    let output = crease(args).output().expect("the tool starts");
    let stderr = text(output.stderr);
    assert_eq!((output.status.code(), text(output.stdout).as_str()), (Some(1), ""), "crease {args:?}: {stderr}");
    let message = stderr.strip_prefix("error: ").expect("a message begins with what it is");
    assert!(!message.contains("error:") && !message.contains("panicked") && stderr.len() < 2000, "{stderr}");
    message.into()
}

/// The exit code for a wrong use of the tool.
pub fn usage(args: &[&str]) -> String {
    let output = crease(args).output().expect("the tool starts");
    assert_eq!((output.status.code(), text(output.stdout).as_str()), (Some(2), ""), "crease {args:?}");
    text(output.stderr)
}

/// A file with these bytes, in a folder of its own for each test.
pub fn file(test: &str, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).expect("there is room for a folder");
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("there is room for a file");
    path.to_str().expect("paths are UTF-8").into()
}

/// An NPY file of f64.
pub fn npy(shape: &str, numbers: &[f64]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let head = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    bytes.extend(format!("{head:<117}\n").bytes());
    bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    bytes
}
