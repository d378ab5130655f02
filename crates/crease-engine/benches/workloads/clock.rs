//! How long a call takes.

use std::time::{Duration, Instant};

/// Measurements last at least this long.
#[derive(Clone, Copy)]
pub struct Clock(pub Duration);

/// So many measurements are enough.
const ENOUGH: usize = 5000;

impl Clock {
    /// The least and the median time of a call in microseconds. Short calls are timed in groups.
    pub fn times(self, mut f: impl FnMut()) -> [f64; 2] {
        f();
        f();
        let start = Instant::now();
        f();
        let group = (2e-4 / start.elapsed().as_secs_f64().max(1e-9)).ceil().max(1.0) as usize;
        let (mut seen, begin) = (Vec::new(), Instant::now());
        while seen.len() < 7 || (begin.elapsed() < self.0 && seen.len() < ENOUGH) {
            let start = Instant::now();
            (0..group).for_each(|_| f());
            seen.push(start.elapsed().as_secs_f64() / group as f64 * 1e6);
        }
        seen.sort_by(f64::total_cmp);
        [seen[0], seen[seen.len() / 2]]
    }
}
