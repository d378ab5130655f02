//! Every function of `crease::inspect` returns in time, and nothing works on after it has returned.
//!
//! [`crease_corpus::stress`] makes the programs. Each function is called with [`Limits::within`](crease::Limits::within) in a process of its
//! own, which this test starts from itself, so that one that never returns can be killed. It must return within 1.2 times the limit
//! plus 50 ms, with at most 1 GB taken; after that the process must be idle. In `cargo test` a few functions are asked
//! about each family, and only what is far off fails.
//!
//! `cargo test --release -p crease --test stress -- --ignored everything --nocapture` asks all of them and prints a table, worst
//! case first; `CREASE_STRESS_SECONDS`, `_FAMILY`, `_FUNCTION`, `_SIZES`, `_PATIENCE`, `_WORKERS` and `_ROWS` are as in the test of the same name of crease-cli.

mod functions;
#[path = "../../../crease-cli/tests/stress/watch.rs"]
mod watch;

use crease_corpus::stress::{FAMILIES, Family};
use functions::{FUNCTIONS, Question};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use watch::{End, Watched, computed, is_stop_as_mathematics, watch};

/// The most memory that a function may take, with the process around it.
const MEMORY: u64 = 1 << 30;

/// A process with more memory than this is killed.
const KILLED: u64 = 4 << 30;

/// How long a process is watched after the return.
const IDLE: Duration = Duration::from_millis(100);

/// The part of that time in which it may compute.
const BUSY: f64 = 0.3;

/// What the child is told to do.
const TASK: &str = "CREASE_STRESS_TASK";

/// What the child did.
const DONE: &str = "stress:";

struct Row {
    subject: String,
    function: &'static str,
    process: Watched,
    /// How long the call took, and how long the process computed after it, in seconds; nothing if it did not return.
    call: Option<(f64, f64)>,
    outcome: String,
}

impl Row {
    fn faults(&self, seconds: f64) -> Vec<&'static str> {
        let mut faults = Vec::new();
        match self.process.end {
            End::TooLong => faults.push("hangs"),
            End::TooMuch => faults.push("killed for memory"),
            End::Signal => faults.push("killed by a signal"),
            End::Code(0) => {}
            End::Code(_) => faults.push("exit code"),
        }
        if self.process.panicked() {
            faults.push("panics");
        }
        if is_stop_as_mathematics(&self.outcome) {
            faults.push("a stop is called mathematics");
        }
        if self.call.is_some_and(|(took, _)| took > 1.2 * seconds + 0.05) {
            faults.push("late");
        }
        if self.call.is_some_and(|(_, busy)| busy > BUSY * IDLE.as_secs_f64()) {
            faults.push("works on");
        }
        if self.process.memory > MEMORY && self.process.end != End::TooMuch {
            faults.push("memory");
        }
        faults
    }

    fn seconds(&self) -> f64 {
        self.call.map_or(self.process.wall.as_secs_f64(), |(took, _)| took)
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (seconds, cpu, memory) = (self.seconds(), self.process.cpu.as_secs_f64(), self.process.memory >> 20);
        let outcome: String = self.outcome.chars().take(100).collect();
        write!(f, "{seconds:8.2} s {cpu:8.2} s CPU {memory:6} MB  {:24} {:26} {outcome}", self.subject, self.function)
    }
}

/// What is done in a process of its own: one call.
#[test]
#[ignore = "is started by the others"]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let words: Vec<&str> = task.split_whitespace().collect();
    let family = FAMILIES.iter().find(|f| f.name == words[0]).expect("a family");
    let (_, function) = FUNCTIONS.iter().find(|(name, _)| *name == words[2]).expect("a function");
    let case = family.case(words[1].parse().expect("a size"));
    let (program, point) = match case.read() {
        Ok(read) => read,
        Err(e) => return eprintln!("{DONE} 0 0 not read: {e}"),
    };
    let seconds = words[3].parse().expect("a time");
    let (took, outcome) = function(&Question::new(&program, &point, &case, seconds));
    // memory is given back, and the clock of the system is behind, for a moment; a thread that works goes on
    let mut busy = Duration::MAX;
    for _ in 0..3 {
        let before = computed("self");
        std::thread::sleep(IDLE);
        busy = busy.min(computed("self") - before);
    }
    let outcome = outcome.split_whitespace().collect::<Vec<_>>().join(" ");
    eprintln!("{DONE} {} {} {outcome}", took.as_secs_f64(), busy.as_secs_f64());
}

fn ask(tasks: &[(&'static Family, usize, &'static str)], seconds: f64, patience: Duration, workers: usize) -> Vec<Row> {
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((family, n, function)) = tasks.get(next.fetch_add(1, Relaxed)) {
            let mut command = Command::new(std::env::current_exe().expect("this test has a file"));
            command.args(["--exact", "child", "--ignored", "--nocapture"]);
            command.env(TASK, format!("{} {n} {function} {seconds}", family.name));
            let process = watch(command, patience, KILLED);
            let done = process.said.lines().find_map(|l| l.strip_prefix(DONE)).map(str::to_owned);
            let mut words = done.as_deref().unwrap_or_default().split_whitespace();
            let mut number = || words.next()?.parse::<f64>().ok();
            let call = number().zip(number());
            let outcome = match call {
                Some(_) => words.collect::<Vec<_>>().join(" "),
                None => process.said.lines().find(|l| !l.trim().is_empty()).unwrap_or_default().into(),
            };
            let row = Row { subject: format!("{} {n}", family.name), function, process, call, outcome };
            rows.lock().expect("nobody panics here").push(row);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    let mut rows = rows.into_inner().expect("nobody panics here");
    rows.sort_by(|a, b| b.seconds().total_cmp(&a.seconds()));
    rows
}

fn report(rows: &[Row], seconds: f64, is_wrong: impl Fn(&[&str]) -> bool) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|r| (r, r.faults(seconds)))
        .filter(|(_, faults)| is_wrong(faults))
        .map(|(r, faults)| format!("{r}  {}", faults.join(", ")))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// A few functions about each family.
#[test]
fn functions_return() {
    let seconds = 0.2;
    let tasks: Vec<_> = FAMILIES
        .iter()
        .enumerate()
        .flat_map(|(k, f)| [2 * k, 2 * k + 1].map(|i| (f, f.sizes[1], FUNCTIONS[i % FUNCTIONS.len()].0)))
        .collect();
    let rows = ask(&tasks, seconds, Duration::from_secs(10), 2);
    for row in rows.iter().take(10) {
        println!("{row}");
    }
    // machines are busy, at times
    report(&rows, seconds, |faults| faults.iter().any(|f| *f != "late"));
}

fn variable(name: &str) -> Option<String> {
    std::env::var(format!("CREASE_STRESS_{name}")).ok()
}

fn number(name: &str) -> Option<f64> {
    variable(name).map(|text| text.parse().unwrap_or_else(|_| panic!("CREASE_STRESS_{name} is a number, not {text}")))
}

fn is_wanted(name: &str, of: &str) -> bool {
    variable(of).is_none_or(|words| words.split(',').any(|w| name.contains(w)))
}

/// All functions about all families.
#[test]
#[ignore = "takes an hour: see the top of this file"]
fn everything_returns_in_time() {
    let seconds = number("SECONDS").unwrap_or(1.0);
    let sizes = |all: &'static [usize]| -> Vec<usize> {
        match variable("SIZES").as_deref() {
            None => all.to_vec(),
            Some("worst") => all.last().copied().into_iter().collect(),
            Some(which) => which.split(',').filter_map(|i| all.get(i.parse::<usize>().ok()?).copied()).collect(),
        }
    };
    let mut tasks = Vec::new();
    for f in FAMILIES.iter().filter(|f| is_wanted(f.name, "FAMILY")) {
        for n in sizes(f.sizes) {
            let wanted = FUNCTIONS.iter().map(|(name, _)| *name).filter(|name| is_wanted(name, "FUNCTION"));
            tasks.extend(wanted.map(|name| (f, n, name)));
        }
    }
    let patience = Duration::from_secs_f64(number("PATIENCE").unwrap_or(10.0 * seconds));
    let rows = ask(&tasks, seconds, patience, number("WORKERS").map_or(2, |n| n as usize));
    println!("slowest of {} calls within {seconds} s:", rows.len());
    for row in rows.iter().take(number("ROWS").map_or(100, |n| n as usize)) {
        println!("{row}  {}", row.faults(seconds).join(", "));
    }
    report(&rows, seconds, |faults| !faults.is_empty());
}

/// Small cases have the verdict that they should.
#[test]
fn small_cases_are_answered() {
    use crease::inspect::{Ask, differentiable};
    use crease_corpus::stress::Verdict;
    for family in FAMILIES {
        let case = family.case(family.sizes[0]);
        let (program, point) = case.read().unwrap_or_else(|e| panic!("{}: {e}", family.name));
        let ask = Ask { limits: crease::Limits::default().within(Duration::from_secs(10)), ..Ask::default() };
        let said = match differentiable(&program, &point, &ask) {
            Ok(answer) => answer.word().to_string(),
            Err(e) => e.to_string(),
        };
        let expected = match case.verdict {
            Some(Verdict::Yes) => "yes",
            Some(Verdict::No) => "no",
            Some(Verdict::Jumps) | None => continue,
        };
        assert_eq!(said, expected, "{}", family.name);
    }
}
