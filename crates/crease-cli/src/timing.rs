//! Times of several tasks, measured in one go so that they compare: `bench`.
//!
//! Tasks take turns, the one that has had the least time first, so that a machine that is busy for a while is busy for all of them.
//! Short tasks are timed in groups. The least time is what the task takes when nothing disturbs it, the median what it took.

use anyhow::Result;
use std::time::{Duration, Instant};

/// A group of runs takes at least this long, so that the clock does not matter.
const GROUP: Duration = Duration::from_micros(200);

/// So many times of one task are enough, however short it is.
const ENOUGH: usize = 5000;

/// Something to be timed.
pub struct Task<'t> {
    name: &'static str,
    run: Box<dyn FnMut() -> Result<()> + 't>,
    /// How many runs are timed together; nothing before the first run.
    group: Option<u32>,
    spent: Duration,
    times: Vec<Duration>,
}

/// What was measured of a task.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub least: Duration,
    pub median: Duration,
    /// How many groups of runs were timed.
    pub measured: usize,
}

impl<'t> Task<'t> {
    pub fn new(name: &'static str, run: impl FnMut() -> Result<()> + 't) -> Self {
        Task { name, run: Box::new(run), group: None, spent: Duration::ZERO, times: Vec::new() }
    }

    /// Runs once or, from the second time on, as a group, and takes the time.
    fn turn(&mut self) -> Result<()> {
        let group = self.group.unwrap_or(1);
        let start = Instant::now();
        for _ in 0..group {
            (self.run)()?;
        }
        let time = start.elapsed();
        self.spent += time;
        match self.group {
            // the first run finds cold caches: it counts only if it is so long that this does not matter
            None if time < GROUP => {
                let fits = GROUP.as_nanos() / time.as_nanos().max(1) + 1;
                self.group = Some(u32::try_from(fits).unwrap_or(u32::MAX));
            }
            None => {
                self.group = Some(1);
                self.times.push(time);
            }
            Some(group) => self.times.push(time / group),
        }
        Ok(())
    }

    /// What was measured, if anything was.
    pub fn times(&self) -> Option<Times> {
        let mut sorted = self.times.clone();
        sorted.sort_unstable();
        Some(Times { least: *sorted.first()?, median: sorted[sorted.len() / 2], measured: sorted.len() })
    }
}

/// Lets tasks take turns until the time is over, each at least once, or until `go_on`, which is told whose turn it is and how many
/// turns there were, says no. Returns whether it said so.
pub fn take_turns(tasks: &mut [Task<'_>], time: Duration, mut go_on: impl FnMut(&str, usize) -> bool) -> Result<bool> {
    let start = Instant::now();
    let mut turns = 0;
    loop {
        let waiting = |t: &&mut Task<'_>| t.times.len() < ENOUGH && (t.times.is_empty() || start.elapsed() < time);
        let Some(next) = tasks.iter_mut().filter(waiting).min_by_key(|t| t.spent) else { return Ok(false) };
        if !go_on(next.name, turns) {
            return Ok(true);
        }
        next.turn()?;
        turns += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn everyone_is_timed_even_without_time_and_short_tasks_in_groups() {
        let (short, long) = (Cell::new(0), Cell::new(0));
        let mut tasks = [
            Task::new("short", || {
                short.set(short.get() + 1);
                Ok(())
            }),
            Task::new("long", || {
                long.set(long.get() + 1);
                std::thread::sleep(Duration::from_millis(2));
                Ok(())
            }),
        ];
        let stopped = take_turns(&mut tasks, Duration::ZERO, |_, _| true).unwrap();
        // a first run to see how short it is, then a group
        assert!(!stopped && long.get() == 1 && short.get() > 2, "{} {}", short.get(), long.get());
        let times = tasks.each_ref().map(|t| t.times().unwrap());
        assert!(times[0].measured == 1 && times[1].least >= Duration::from_millis(2));
    }

    #[test]
    fn turns_are_shared_by_time_and_stop_when_told() {
        let mut tasks = [1, 100].map(|ms| {
            Task::new("a", move || {
                std::thread::sleep(Duration::from_millis(ms));
                Ok(())
            })
        });
        let stopped = take_turns(&mut tasks, Duration::from_secs(60), |_, turns| turns < 40).unwrap();
        let measured = tasks.each_ref().map(|t| t.times().unwrap().measured);
        assert!(stopped && measured[0] > measured[1], "{measured:?}");
        assert!(tasks[0].times().unwrap().least <= tasks[0].times().unwrap().median);
    }

    #[test]
    fn a_failing_task_ends_it() {
        let mut tasks = [Task::new("fails", || anyhow::bail!("no"))];
        assert_eq!(take_turns(&mut tasks, Duration::ZERO, |_, _| true).unwrap_err().to_string(), "no");
        assert!(tasks[0].times().is_none());
    }
}
