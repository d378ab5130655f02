//! A line that says how far a search is, on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How often the line changes.
const PERIOD: Duration = Duration::from_millis(100);

/// The line. It is gone when this is dropped.
pub struct Progress {
    bar: Option<ProgressBar>,
    next: Instant,
}

impl Progress {
    /// A line that shows the time, and what it is [told](Self::say). It appears only if things take longer than a moment.
    pub fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} · {msg} · Ctrl-C stops") {
                bar.set_style(style);
            }
            bar
        });
        Progress { bar, next: Instant::now() + 3 * PERIOD }
    }

    /// Shows a text at once, before a step that takes long.
    pub fn say_now(&mut self, text: impl FnOnce() -> String) {
        self.next = Instant::now();
        self.say(text);
    }

    /// Changes the text, if it is time to; otherwise it is not even made.
    pub fn say(&mut self, text: impl FnOnce() -> String) {
        let Some(bar) = &self.bar else { return };
        let now = Instant::now();
        if now >= self.next {
            self.next = now + PERIOD;
            bar.set_message(text());
            bar.tick();
        }
    }

    /// Does something that prints, with the line out of its way.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
