//! How long a search for a verdict may take: flags, Ctrl-C and the line of progress.

use crate::flags::TimeArgs;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use anyhow::Result;
use clap::Args;
use crease::Limits;
use crease::show;
use std::cell::RefCell;

#[derive(Args)]
pub struct Budget {
    #[command(flatten)]
    time: TimeArgs,

    /// Give up after so many conflicts of the search
    #[arg(long, value_name = "N")]
    conflicts: Option<u64>,
}

impl Budget {
    /// These limits, within the budget.
    pub fn within(&self, limits: Limits) -> Result<Limits> {
        let limits = self.time.within(limits)?;
        Ok(Limits { conflicts: self.conflicts.unwrap_or(limits.conflicts), ..limits })
    }
}

/// Shows on a terminal how far a search is, and sees to it that Ctrl-C ends it.
pub fn watched<T>(search: impl FnOnce(&dyn Fn(&crease::oracles::Progress)) -> T) -> T {
    let interrupt = Interrupt::listen();
    let progress = RefCell::new(Progress::new());
    search(&|p| {
        progress.borrow_mut().say(|| format!("{} conflicts", show::count(p.conflicts)));
        interrupt.look();
    })
}
