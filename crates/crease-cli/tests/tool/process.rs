//! The tool as a process: read from a little, interrupted, waited for.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Long after this, a process that should have ended is said not to end.
const PATIENCE: Duration = Duration::from_secs(300);

/// Starts the tool with its outputs on pipes.
pub fn start(args: &[&str]) -> Child {
    let mut command = super::crease(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the tool starts")
}

/// Waits for the end, and fails where there is none.
#[track_caller]
pub fn end(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return status;
        }
        if start.elapsed() > PATIENCE {
            child.kill().expect("it can be killed");
            panic!("it goes on although nobody wants it to");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Reads one line and goes away, as `head -1` does. The line, the exit code, and what was said on standard error.
#[track_caller]
pub fn head(args: &[&str]) -> (String, Option<i32>, String) {
    let mut child = start(args);
    let mut line = String::new();
    BufReader::with_capacity(64, child.stdout.take().expect("a pipe")).read_line(&mut line).expect("UTF-8");
    let status = end(&mut child);
    (line, status.code(), said(&mut child))
}

/// What a process that has ended said on standard error.
pub fn said(child: &mut Child) -> String {
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("UTF-8");
    said
}

/// Presses Ctrl-C.
pub fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("there is a kill");
    assert!(sent.success());
}
