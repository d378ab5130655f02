//! Every command ends in time and in little memory, whatever the program.
//!
//! [`crease_corpus::stress`] makes the programs; each command is put to each of them with `--seconds`, in a process of its own under a
//! watchdog. It must end within 1.2 times the limit plus 50 ms, take at most 1 GB, and not panic. In `cargo test` a few questions
//! about each family are asked, and only what is far off fails, because machines are noisy.
//!
//! `cargo test --release -p crease-cli --test stress -- --ignored --nocapture` asks all of them and prints a table, worst case first:
//!
//! | variable | |
//! | --- | --- |
//! | `CREASE_STRESS_SECONDS` | the limit; 1 by default |
//! | `CREASE_STRESS_FAMILY`, `CREASE_STRESS_QUESTION` | only families (`nothing` for commands without a program), and questions, that contain one of these words |
//! | `CREASE_STRESS_SIZES` | `worst`, or the numbers of sizes such as `0,2`; all by default |
//! | `CREASE_STRESS_PATIENCE` | after how many seconds a process is killed; 10 times the limit by default |
//! | `CREASE_STRESS_WORKERS` | how many processes run at once; 2 by default |
//! | `CREASE_STRESS_ROWS` | how many rows of the table to print; 100 by default |
//! | `CREASE_STRESS_UNLIMITED` | also ask commands that have no `--seconds` |
//! | `CREASE_BIN` | another tool to ask |

mod questions;
#[path = "../tool/mod.rs"]
mod tool;
mod watch;

use crease_corpus::stress::{FAMILIES, FORMULAS, Family, Formula};
use questions::{Files, OF_FORMULAS, OF_NOTHING, OF_PROGRAMS, limited};
use std::fmt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use watch::{End, Watched, is_stop_as_mathematics, watch};

/// The most memory that a command may take.
const MEMORY: u64 = 1 << 30;

/// A process with more memory than this is killed.
const KILLED: u64 = 4 << 30;

/// What is asked about.
#[derive(Clone, Copy)]
enum Subject {
    Program(&'static Family, usize),
    Formula(&'static Formula, usize),
    Nothing,
}

impl Subject {
    fn name(&self) -> String {
        match self {
            Subject::Program(f, n) => format!("{} {n}", f.name),
            Subject::Formula(f, n) => format!("{} {n}", f.name),
            Subject::Nothing => "nothing".into(),
        }
    }
}

/// How to ask.
struct Plan {
    seconds: f64,
    patience: Duration,
    /// Also commands that cannot be limited.
    unlimited: bool,
    workers: usize,
}

impl Plan {
    /// The longest that a command may take: the promise, and the start of a process.
    fn promised(&self) -> Duration {
        Duration::from_secs_f64(1.2 * self.seconds + 0.05 + 0.05)
    }
}

/// What became of a question.
struct Row {
    subject: String,
    question: &'static str,
    done: Watched,
    /// Whether the command had a limit.
    limited: bool,
}

impl Row {
    /// What is wrong, within the promise.
    fn faults(&self, plan: &Plan) -> Vec<&'static str> {
        let mut faults = Vec::new();
        match self.done.end {
            End::TooLong => faults.push("hangs"),
            End::TooMuch => faults.push("killed for memory"),
            End::Signal => faults.push("killed by a signal"),
            End::Code(2) => faults.push("usage"),
            End::Code(0 | 1) => {}
            // satisfiable and unsatisfiable, as SAT solvers say it
            End::Code(10 | 20) if command(self.question) == "sat" => {}
            End::Code(_) => faults.push("exit code"),
        }
        if self.done.panicked() {
            faults.push("panics");
        }
        if is_stop_as_mathematics(&self.done.said) {
            faults.push("a stop is called mathematics");
        }
        if self.done.wall > plan.promised() && self.done.end != End::TooLong {
            faults.push("late");
        }
        if self.done.memory > MEMORY && self.done.end != End::TooMuch {
            faults.push("memory");
        }
        faults
    }

    /// What is wrong even on a busy machine.
    fn is_far_off(&self, plan: &Plan) -> bool {
        self.faults(plan).iter().any(|f| *f != "late")
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (subject, done) = (&self.subject, &self.done);
        let end = match done.end {
            End::Code(code) => format!("exit {code}"),
            End::Signal => "signal".into(),
            End::TooLong | End::TooMuch => "killed".into(),
        };
        let limited = if self.limited { "" } else { " (no --seconds)" };
        let said = done.said.lines().next().unwrap_or_default();
        let said: String = said.chars().take(120).collect();
        let (wall, cpu, memory) = (done.wall.as_secs_f64(), done.cpu.as_secs_f64(), done.memory >> 20);
        write!(f, "{wall:8.2} s {cpu:8.2} s CPU {memory:6} MB  {end:8} {subject:24} {}{limited}  {said}", self.question)
    }
}

/// Asks about each subject each of the questions that are wanted of it.
fn ask(plan: &Plan, subjects: &[(Subject, Vec<&'static str>)]) -> Vec<Row> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("stress");
    let (next, distinct, rows) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((subject, questions)) = subjects.get(next.fetch_add(1, Relaxed)) {
            let files = match subject {
                Subject::Program(family, n) => Files::of_program(&folder, family, *n),
                Subject::Formula(formula, n) => Files::of_formula(&folder, formula, *n),
                Subject::Nothing => Files::of_nothing(&folder),
            };
            for question in questions {
                let k = distinct.fetch_add(1, Relaxed);
                let Some(words) = files.words(question, k) else { continue };
                let limit = limited(&words[0], plan.seconds);
                if limit.is_none() && !plan.unlimited {
                    continue;
                }
                let all: Vec<&str> = words.iter().chain(limit.iter().flatten()).map(String::as_str).collect();
                let done = watch(questions::tool(&all), plan.patience, KILLED);
                let row = Row { subject: subject.name(), question, done, limited: limit.is_some() };
                rows.lock().expect("nobody panics here").push(row);
            }
            files.remove();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..plan.workers {
            scope.spawn(work);
        }
    });
    let mut rows = rows.into_inner().expect("nobody panics here");
    rows.sort_by_key(|row| std::cmp::Reverse(row.done.wall));
    rows
}

/// A few questions about each family, each question about some of them.
#[test]
fn commands_end() {
    // machines are busy, at times
    let plan = Plan { seconds: 0.2, patience: Duration::from_secs(10), unlimited: false, workers: 2 };
    let rotated = |questions: &'static [&'static str], k: usize, few: usize| {
        let usable: Vec<&str> = questions.iter().copied().filter(|q| limited(command(q), 1.0).is_some()).collect();
        (0..few).map(|i| usable[(k * few + i) % usable.len()]).collect::<Vec<_>>()
    };
    let programs =
        FAMILIES.iter().enumerate().map(|(k, f)| (Subject::Program(f, f.sizes[2]), rotated(OF_PROGRAMS, k, 3)));
    let formulas =
        FORMULAS.iter().enumerate().map(|(k, f)| (Subject::Formula(f, f.sizes[2]), rotated(OF_FORMULAS, k, 1)));
    let rows = ask(&plan, &programs.chain(formulas).collect::<Vec<_>>());
    for row in rows.iter().take(10) {
        println!("{row}");
    }
    let wrong: Vec<String> =
        rows.iter().filter(|r| r.is_far_off(&plan)).map(|r| format!("{row} {:?}", r.faults(&plan), row = r)).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

fn command(question: &str) -> &str {
    question.split_whitespace().next().unwrap_or_default()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(format!("CREASE_STRESS_{name}")).ok()
}

fn number(name: &str) -> Option<f64> {
    variable(name).map(|text| text.parse().unwrap_or_else(|_| panic!("CREASE_STRESS_{name} is a number, not {text}")))
}

/// Whether a name is wanted: all are, unless told otherwise.
fn is_wanted(name: &str, of: &str) -> bool {
    variable(of).is_none_or(|words| words.split(',').any(|w| name.contains(w)))
}

/// All questions about all families.
#[test]
#[ignore = "takes an hour or two: see the top of this file"]
fn everything_ends_in_time() {
    let seconds = number("SECONDS").unwrap_or(1.0);
    let plan = Plan {
        seconds,
        patience: Duration::from_secs_f64(number("PATIENCE").unwrap_or(10.0 * seconds)),
        unlimited: variable("UNLIMITED").is_some(),
        workers: number("WORKERS").unwrap_or(2.0) as usize,
    };
    let sizes = |all: &'static [usize]| -> Vec<usize> {
        match variable("SIZES").as_deref() {
            None => all.to_vec(),
            Some("worst") => all.last().copied().into_iter().collect(),
            Some(which) => which.split(',').filter_map(|i| all.get(i.parse::<usize>().ok()?).copied()).collect(),
        }
    };
    let wanted = |questions: &[&'static str]| -> Vec<&'static str> {
        questions.iter().copied().filter(|q| is_wanted(q, "QUESTION")).collect()
    };
    let mut subjects: Vec<(Subject, Vec<&'static str>)> = Vec::new();
    for f in FAMILIES.iter().filter(|f| is_wanted(f.name, "FAMILY")) {
        subjects.extend(sizes(f.sizes).into_iter().map(|n| (Subject::Program(f, n), wanted(OF_PROGRAMS))));
    }
    for f in FORMULAS.iter().filter(|f| is_wanted(f.name, "FAMILY")) {
        subjects.extend(sizes(f.sizes).into_iter().map(|n| (Subject::Formula(f, n), wanted(OF_FORMULAS))));
    }
    if is_wanted("nothing", "FAMILY") {
        subjects.push((Subject::Nothing, wanted(OF_NOTHING)));
    }
    let rows = ask(&plan, &subjects);
    let wrong: Vec<&Row> = rows.iter().filter(|r| !r.faults(&plan).is_empty()).collect();
    let shown = number("ROWS").map_or(100, |n| n as usize);
    println!("slowest of {} questions, --seconds {seconds}:", rows.len());
    for row in rows.iter().take(shown) {
        println!("{row}  {}", row.faults(&plan).join(", "));
    }
    println!("\n{} of {} wrong, by family and question:", wrong.len(), rows.len());
    for row in &wrong {
        println!("{row}  {}", row.faults(&plan).join(", "));
    }
    assert!(wrong.is_empty(), "{} of {} questions are wrong", wrong.len(), rows.len());
}
