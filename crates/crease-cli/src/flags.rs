//! Flags that say in which numbers to compute and how far to go.

use crate::advice;
use crate::interrupt::Interrupt;
use anyhow::{Result, ensure};
use clap::{ArgMatches, Args};
use crease::Limits;
use crease::inspect::{Ask, Numbers};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The flags that say in which numbers to compute.
#[derive(Args)]
pub struct NumberArgs {
    /// Insist on exact rational arithmetic
    #[arg(long, conflicts_with = "float")]
    exact: bool,

    /// Compute in f64 at once
    #[arg(long)]
    float: bool,

    /// Refuse to run more steps than this: one for each equation and for each number that it reads or writes
    #[arg(long, value_name = "N", default_value_t = Limits::DEFAULT.steps)]
    max_steps: u64,

    /// Refuse to hold more numbers than this at once
    #[arg(long, value_name = "N", default_value_t = Limits::DEFAULT.numbers)]
    max_numbers: u64,
}

impl NumberArgs {
    /// In which numbers.
    pub fn numbers(&self) -> Numbers {
        match (self.exact, self.float) {
            (true, _) => Numbers::Exact,
            (_, true) => Numbers::Float,
            (false, false) => Numbers::Auto,
        }
    }

    /// How far a run may go.
    pub fn limits(&self) -> Limits {
        Limits { steps: self.max_steps, numbers: self.max_numbers, ..limits() }
    }
}

/// How precisely numbers are enclosed that have no exact value.
#[derive(Args)]
pub struct PrecisionArgs {
    /// Enclose numbers that have no exact value with up to so many bits, where fewer cannot tell
    #[arg(long = "max-bits", value_name = "N", default_value_t = Limits::DEFAULT.bits, value_parser = clap::value_parser!(u32).range(16..=1_000_000))]
    limit: u32,
}

impl PrecisionArgs {
    /// These limits, with so many bits.
    pub fn within(&self, limits: Limits) -> Limits {
        Limits { bits: self.limit, ..limits }
    }
}

/// Limits by their names.
#[derive(Args)]
pub struct LimitArgs {
    /// Set any other limit by its name, such as rewriting=1000000000; a name that there is not lists them all
    #[arg(long = "limit", value_name = "NAME=N", value_parser = named)]
    limits: Vec<(String, u64)>,
}

/// The bytes that constants of a file may take, as `--limit memory=N` says.
static MEMORY: AtomicU64 = AtomicU64::new(Limits::DEFAULT.memory);

/// Remembers what the flags say of memory, which is taken before a command has its limits.
pub fn remember(flags: &ArgMatches) {
    if let Ok(Some(limits)) = flags.try_get_many::<(String, u64)>("limits") {
        limits.filter(|(name, _)| name == "memory").for_each(|(_, bytes)| MEMORY.store(*bytes, Ordering::Relaxed));
    }
}

/// The bytes that constants of a file may take.
pub fn memory() -> u64 {
    MEMORY.load(Ordering::Relaxed)
}

impl LimitArgs {
    /// These limits, with those that are set.
    pub fn set(&self, mut limits: Limits) -> Result<Limits> {
        for (name, value) in &self.limits {
            limits.set(name, *value)?;
        }
        Ok(limits)
    }
}

/// How long it may take, and how far it may go.
#[derive(Args)]
pub struct TimeArgs {
    /// Give up after so many seconds
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,

    #[command(flatten)]
    pub limit: LimitArgs,
}

impl TimeArgs {
    /// These limits, within that time from now.
    pub fn within(&self, limits: Limits) -> Result<Limits> {
        within(self.limit.set(limits)?, self.seconds)
    }
}

/// How long a command may take that has nothing before it has all: then it ends, wherever it is.
#[derive(Args)]
pub struct DeadlineArgs {
    /// Give up after so many seconds
    #[arg(long = "seconds", id = "deadline", value_name = "S")]
    seconds: Option<f64>,
}

/// Ends the process when the time of [`DeadlineArgs`] is over, if that is among the flags. The clock starts before anything is read.
pub fn end_in_time(flags: &ArgMatches) -> Result<()> {
    let Ok(Some(&seconds)) = flags.try_get_one::<f64>("deadline") else { return Ok(()) };
    let time = time("--seconds", seconds)?;
    std::thread::spawn(move || {
        std::thread::sleep(time);
        let message = advice::with_flags("time is up; ask for more");
        let _ = writeln!(std::io::stderr(), "error: {message}");
        std::process::exit(1);
    });
    Ok(())
}

/// The flags of a question about one output that is answered in one go.
#[derive(Args)]
pub struct OutputArgs {
    /// The output that is asked about, counted from 0, where there are several
    #[arg(long, value_name = "K")]
    output: Option<usize>,

    #[command(flatten)]
    precision: PrecisionArgs,

    #[command(flatten)]
    time: TimeArgs,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

impl OutputArgs {
    /// What is asked, and within which limits.
    pub fn ask(&self) -> Result<Ask<'static>> {
        let limits = self.time.within(self.precision.within(limits()))?;
        Ok(Ask { output: self.output, limits, ..Ask::default() })
    }
}

/// A name and a number; the name may be written with dashes, as flags are.
fn named(text: &str) -> Result<(String, u64), String> {
    let (name, value) = text.split_once('=').ok_or("this is NAME=N")?;
    let value = value.parse().map_err(|_| format!("{value} is no whole number from 0 to {}", u64::MAX))?;
    let name = name.replace('-', "_");
    Limits::default().set(&name, value).map_err(|e| e.to_string())?;
    Ok((name, value))
}

/// The limits where no flag tells, for work of which nothing is left if Ctrl-C ends it.
pub fn limits() -> Limits {
    Limits { memory: memory(), ..Limits::default() }.cancelled_by(Interrupt::listen_or_end().cancel())
}

/// The same for a search that keeps what it has found.
pub fn search_limits() -> Limits {
    Limits { memory: memory(), ..Limits::default() }.cancelled_by(Interrupt::listen().cancel())
}

/// These limits, giving up after so many seconds, if a flag says so.
pub fn within(limits: Limits, seconds: Option<f64>) -> Result<Limits> {
    let Some(seconds) = seconds else { return Ok(limits) };
    Ok(limits.within(time("--seconds", seconds)?))
}

/// The time that a flag tells in seconds.
pub fn time(flag: &str, seconds: f64) -> Result<Duration> {
    ensure!(seconds >= 0.0, "{flag} {seconds}: a time is a number that is not negative");
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}
