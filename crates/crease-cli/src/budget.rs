//! How long a search for a verdict may take: flags, Ctrl-C and the line of progress.

use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;
use anyhow::{Result, ensure};
use clap::Args;
use crease_oracles::Effort;
use std::cell::RefCell;
use std::time::{Duration, Instant};

#[derive(Args)]
pub struct Budget {
    /// Give up after so many seconds
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,

    /// Give up after so many conflicts of the search
    #[arg(long, value_name = "N")]
    conflicts: Option<u64>,
}

impl Budget {
    /// Runs a search within the budget, with progress on a terminal, until it ends or Ctrl-C is pressed.
    pub fn watched<T, E>(&self, search: impl FnOnce(&Effort<'_>) -> Result<T, E>) -> Result<T>
    where
        anyhow::Error: From<E>,
    {
        let deadline = deadline(self.seconds)?;
        let interrupt = Interrupt::listen();
        let progress = RefCell::new(Progress::new());
        let watch = |p: &crease_oracles::Progress| {
            progress.borrow_mut().say(|| format!("{} conflicts", output::count(p.conflicts)));
            !interrupt.is_set()
        };
        Ok(search(&Effort { deadline, conflicts: self.conflicts, watch: Some(&watch), ..Effort::default() })?)
    }
}

/// When so many seconds, which a flag gives, are over; never, if that is later than clocks can tell.
pub fn deadline(seconds: Option<f64>) -> Result<Option<Instant>> {
    let Some(seconds) = seconds else { return Ok(None) };
    ensure!(seconds >= 0.0, "--seconds {seconds}: a time is a number that is not negative");
    Ok(Duration::try_from_secs_f64(seconds).ok().and_then(|time| Instant::now().checked_add(time)))
}
