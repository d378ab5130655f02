//! A process under a watchdog: how long it takes, how much memory, and how it ends.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With this exit code.
    Code(i32),
    /// By a signal, such as one for a stack overflow.
    Signal,
    /// It was killed after all patience.
    TooLong,
    /// It was killed because it took too much memory.
    TooMuch,
}

/// What a process did.
#[derive(Clone, Debug)]
pub struct Watched {
    /// From its start to its end.
    pub wall: Duration,
    /// How long its threads computed together; 0 where that cannot be seen. On a busy machine this is less than `wall`.
    pub cpu: Duration,
    /// The most memory that it had, in bytes; 0 where that cannot be seen.
    pub memory: u64,
    /// How it ended.
    pub end: End,
    /// What it said on standard error.
    pub said: String,
}

impl Watched {
    /// Whether it panicked.
    pub fn panicked(&self) -> bool {
        self.said.contains("panicked at")
            || self.said.contains("stack overflow")
            || self.said.contains("memory allocation of")
    }
}

/// Whether a message takes the end of time for a fact about the function.
pub fn is_stop_as_mathematics(said: &str) -> bool {
    let facts =
        ["no directional derivative", "has no value", "not differentiable", "not continuous", "division by zero"];
    said.contains("time is up") && facts.iter().any(|fact| said.contains(fact))
}

/// Runs a command. It is killed after so long, or with so much memory.
pub fn watch(mut command: Command, patience: Duration, memory: u64) -> Watched {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the tool starts");
    let mut stderr = child.stderr.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = stderr.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    });
    let (mut most, mut cpu) = (0, Duration::ZERO);
    let end = loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status.code().map_or(End::Signal, End::Code);
        }
        (most, cpu) = (most.max(peak(child.id())), cpu.max(computed(&child.id().to_string())));
        let stop = match () {
            () if start.elapsed() > patience => Some(End::TooLong),
            () if most > memory => Some(End::TooMuch),
            () => None,
        };
        if let Some(end) = stop {
            child.kill().expect("it can be killed");
            let _ = child.wait();
            break end;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let wall = start.elapsed();
    Watched { wall, cpu, memory: most, end, said: reader.join().expect("it only reads") }
}

/// The most memory that a process had so far, in bytes, where the system says so.
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|l| l.trim().strip_suffix("kB")).and_then(|n| n.trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// How long all threads of a process have computed so far, by its number or `self`; 0 where the system does not say.
pub fn computed(process: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // the name, in brackets, may have blanks
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = rest.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    // Linux counts a hundred a second
    Duration::from_millis(10 * ticks)
}
