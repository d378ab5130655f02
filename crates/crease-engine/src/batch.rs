//! The same program at many points: in lanes, on several threads, and summed.
//!
//! Points are independent, so it does not matter to a result which thread computes it, or beside which others it stands in a
//! vector register: every result is that of [`Compiled::run`] at its point, bit for bit. Sums over points are taken in
//! blocks of [`BLOCK`] points, blocks in order, whatever the number of threads.

use crate::compiled::{Compiled, Workspace};
use crate::error::EngineError;
use crate::executable::Inputs;
use crate::float::Float;
use crate::scalar::LANES;
use crease_core::Limits;
use std::ops::Range;

/// So many points are summed together before their sum is added to that of the others.
pub(crate) const BLOCK: usize = 64;

/// No more threads are started: an operating system refuses some number of them.
const THREADS: usize = 1024;

impl<T: Float> Compiled<T> {
    /// Runs the program at `points` points. An input holds one point after the other, or just one that all share; outputs hold
    /// one point after the other. Scalar programs as bytecode run at eight points at once.
    ///
    /// ```
    /// use crease_core::{relu, trace};
    /// use crease_engine::{compile, Options};
    /// let p = trace(2, |x| relu(x[0] - x[1])).unwrap();
    /// let c = compile::<f64>(&p, &Options::default()).unwrap();
    /// let mut y = [0.0; 3];
    /// // three values of the first input, one of the second
    /// c.run_batch(&mut c.workspace(), 3, &[&[1.0, 2.0, 3.0], &[1.5]], &mut [&mut y]).unwrap();
    /// assert_eq!(y, [0.0, 0.5, 1.5]);
    /// ```
    pub fn run_batch(
        &self,
        w: &mut Workspace<T>,
        points: usize,
        inputs: &[&[T]],
        outputs: &mut [&mut [T]],
    ) -> Result<(), EngineError> {
        T::run_batch(self, w, points, inputs, outputs)
    }

    /// As [`Compiled::run_batch`], on as many threads as there are workspaces. The results do not depend on their number.
    ///
    /// ```
    /// use crease_core::trace;
    /// use crease_engine::{compile, Options};
    /// let c = compile::<f64>(&trace(1, |x| x[0] * x[0]).unwrap(), &Options::default()).unwrap();
    /// let x: Vec<f64> = (0..1000).map(f64::from).collect();
    /// let mut y = vec![0.0; 1000];
    /// let mut two = [c.workspace(), c.workspace()];
    /// c.run_parallel(&mut two, 1000, &[&x], &mut [&mut y]).unwrap();
    /// assert_eq!(y[999], 998_001.0);
    /// ```
    pub fn run_parallel(
        &self,
        workspaces: &mut [Workspace<T>],
        points: usize,
        inputs: &[&[T]],
        outputs: &mut [&mut [T]],
    ) -> Result<(), EngineError> {
        T::run_parallel(self, workspaces, points, inputs, outputs)
    }

    /// The sum of all outputs over `points` points, on as many threads as there are workspaces: a loss over many samples, or
    /// its gradient. Inputs are as in [`Compiled::run_batch`]; outputs have room for one point. The order of the sums does not
    /// depend on the number of threads.
    ///
    /// ```
    /// use crease_core::trace;
    /// use crease_engine::{value_and_grad, Options};
    /// let p = trace(2, |x| (x[0] - x[1]) * (x[0] - x[1])).unwrap();
    /// let c = value_and_grad::<f64>(&p, &[0], &Options::default()).unwrap();
    /// let (mut loss, mut slope) = ([0.0], [0.0]);
    /// c.run_sum(&mut [c.workspace()], 3, &[&[1.0], &[1.0, 2.0, 3.0]], &mut [&mut loss, &mut slope]).unwrap();
    /// assert_eq!((loss, slope), ([5.0], [-6.0]));
    /// ```
    pub fn run_sum(
        &self,
        workspaces: &mut [Workspace<T>],
        points: usize,
        inputs: &[&[T]],
        outputs: &mut [&mut [T]],
    ) -> Result<(), EngineError> {
        T::run_sum(self, workspaces, points, inputs, outputs)
    }
}

/// See [`Compiled::run`].
pub(crate) fn run<T: Float>(
    c: &Compiled<T>,
    w: &mut Workspace<T>,
    inputs: &[&[T]],
    outputs: &mut [&mut [T]],
) -> Result<(), EngineError> {
    c.check(w, 1, inputs, outputs)?;
    c.range(w, 0..1, inputs, outputs)
}

/// See [`Compiled::run_batch`].
pub(crate) fn run_batch<T: Float>(
    c: &Compiled<T>,
    w: &mut Workspace<T>,
    points: usize,
    inputs: &[&[T]],
    outputs: &mut [&mut [T]],
) -> Result<(), EngineError> {
    c.check(w, points, inputs, outputs)?;
    c.range(w, 0..points, inputs, outputs)
}

/// See [`Compiled::run_parallel`].
pub(crate) fn run_parallel<T: Float>(
    c: &Compiled<T>,
    workspaces: &mut [Workspace<T>],
    points: usize,
    inputs: &[&[T]],
    outputs: &mut [&mut [T]],
) -> Result<(), EngineError> {
    let workspaces = c.check_threads(workspaces)?;
    c.check(&workspaces[0], points, inputs, outputs)?;
    // a share of whole groups of lanes for each thread
    let share = points.div_ceil(workspaces.len()).next_multiple_of(LANES);
    let mut parts: Vec<(Range<usize>, Vec<&mut [T]>)> = Vec::with_capacity(workspaces.len());
    let mut rest: Vec<&mut [T]> = outputs.iter_mut().map(|o| &mut o[..]).collect();
    let mut start = 0;
    while start < points {
        let end = (start + share).min(points);
        let mut mine = Vec::with_capacity(rest.len());
        for (o, shape) in rest.iter_mut().zip(&c.outputs) {
            let (head, tail) = std::mem::take(o).split_at_mut((end - start) * shape.len());
            mine.push(head);
            *o = tail;
        }
        parts.push((start..end, mine));
        start = end;
    }
    on_threads(parts.into_iter().zip(workspaces), |((range, mut out), w)| {
        let inputs = c.parts(inputs, &range);
        c.range(w, 0..range.len(), &inputs, &mut out)
    })
}

/// See [`Compiled::run_sum`].
pub(crate) fn run_sum<T: Float>(
    c: &Compiled<T>,
    workspaces: &mut [Workspace<T>],
    points: usize,
    inputs: &[&[T]],
    outputs: &mut [&mut [T]],
) -> Result<(), EngineError> {
    let workspaces = c.check_threads(workspaces)?;
    c.check_inputs(&workspaces[0], points, inputs)?;
    c.check_outputs(1, outputs)?;
    let lens: Vec<usize> = c.outputs.iter().map(|s| s.len()).collect();
    let width: usize = lens.iter().sum();
    let blocks = points.div_ceil(BLOCK);
    let Room { threads, step, each } = room(&workspaces[0], &c.limits, workspaces.len(), width, blocks)?;
    let workspaces = &mut workspaces[..threads];
    // sums of blocks, of so many blocks that all threads have work
    let mut partial = vec![T::ZERO; (threads * each).min(blocks) * width];
    outputs.iter_mut().for_each(|out| out.fill(T::ZERO));
    for round in (0..blocks).step_by(threads * each) {
        let some = (blocks - round).min(threads * each);
        let partial = &mut partial[..some * width];
        partial.fill(T::ZERO);
        let shares = partial.chunks_mut(some.div_ceil(threads) * width).enumerate().zip(&mut *workspaces);
        on_threads(shares, |((t, sums), w)| {
            let mut results: Vec<Vec<T>> = lens.iter().map(|n| vec![T::ZERO; n * step]).collect();
            for (b, sums) in sums.chunks_exact_mut(width).enumerate() {
                let first = (round + t * some.div_ceil(threads) + b) * BLOCK;
                for start in (first..(first + BLOCK).min(points)).step_by(step) {
                    let range = start..(start + step).min(first + BLOCK).min(points);
                    let inputs = c.parts(inputs, &range);
                    let mut out: Vec<&mut [T]> =
                        results.iter_mut().zip(&lens).map(|(r, &n)| &mut r[..n * range.len()]).collect();
                    c.range(w, 0..range.len(), &inputs, &mut out)?;
                    let mut at = 0;
                    for (r, &n) in out.iter().zip(&lens) {
                        for point in r.chunks_exact(n) {
                            sums[at..at + n].iter_mut().zip(point).for_each(|(s, &x)| *s += x);
                        }
                        at += n;
                    }
                }
            }
            Ok(())
        })?;
        let mut at = 0;
        for (out, &n) in outputs.iter_mut().zip(&lens) {
            for block in partial.chunks_exact(width) {
                out.iter_mut().zip(&block[at..at + n]).for_each(|(o, &x)| *o += x);
            }
            at += n;
        }
    }
    Ok(())
}

/// How sums are taken in bounded memory. Results do not depend on it: within a block points come one after the other, and so
/// do blocks.
struct Room {
    threads: usize,
    /// So many points of a block are run before they are added to its sum.
    step: usize,
    /// So many blocks a thread takes before their sums are added up.
    each: usize,
}

/// Results of some points, for each thread, take no more numbers than this if they need not.
const RESULTS: usize = 1 << 20;
/// Nor do the sums of all blocks that are held at once.
const SUMS: usize = 1 << 22;

fn room<T: Float>(
    w: &Workspace<T>,
    limits: &Limits,
    threads: usize,
    width: usize,
    blocks: usize,
) -> Result<Room, EngineError> {
    let limit = usize::try_from(limits.numbers).unwrap_or(usize::MAX);
    // as many threads as get at least the results of one point and the sum of one block
    let threads = threads.min(limit / width / 2).min(blocks.max(1));
    if threads == 0 {
        let numbers = 2 * width as u64;
        let what = "sums over points";
        return Err(EngineError::TooManyNumbers { what, numbers, limit: limits.numbers, several: false });
    }
    let share = limit / threads / width;
    let step = (RESULTS / width).clamp(w.run.together(BLOCK).clamp(1, BLOCK), BLOCK).min(share - 1);
    let each = (SUMS / width / threads).clamp(1, blocks.div_ceil(threads).max(1)).min(share - step);
    Ok(Room { threads, step, each })
}

/// Does all jobs, the first on this thread and each other on one of its own. The error of the first job that has one counts.
fn on_threads<J: Send>(
    jobs: impl Iterator<Item = J>,
    work: impl Fn(J) -> Result<(), EngineError> + Sync,
) -> Result<(), EngineError> {
    let mut jobs = jobs;
    let Some(first) = jobs.next() else { return Ok(()) };
    let work = &work;
    std::thread::scope(|s| {
        let others: Vec<_> = jobs.map(|job| s.spawn(move || work(job))).collect();
        let first = work(first);
        let results = others.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        // threads that are left are waited for at the end of the scope
        std::iter::once(first).chain(results).collect()
    })
}

impl<T: Float> Compiled<T> {
    /// As many of the workspaces as there are to be threads, if all belong to this program.
    fn check_threads<'w>(&self, workspaces: &'w mut [Workspace<T>]) -> Result<&'w mut [Workspace<T>], EngineError> {
        if workspaces.is_empty() || workspaces.iter().any(|w| !self.owns(w)) {
            return Err(EngineError::Workspace);
        }
        let threads = workspaces.len().min(THREADS);
        self.check_workspaces(threads)?;
        Ok(&mut workspaces[..threads])
    }

    /// Inputs at some points.
    fn parts<'x>(&self, inputs: &[&'x [T]], points: &Range<usize>) -> Vec<&'x [T]> {
        inputs.iter().zip(&self.input_lens).map(|(x, &n)| part(x, n, points)).collect()
    }

    /// Runs at a range of points, several at once where that is faster. A run that gives up is handed over to the interpreter: in
    /// checked arithmetic if it meets what is not finite, and wherever its numbers would not be the interpreter's.
    fn range(
        &self,
        w: &mut Workspace<T>,
        points: Range<usize>,
        inputs: &[&[T]],
        outputs: &mut [&mut [T]],
    ) -> Result<(), EngineError> {
        let inputs = Inputs::new(inputs, &self.input_lens);
        let together = w.run.together(points.len()).max(1);
        let mut start = points.start;
        while start < points.end {
            let some = start..(start + together).min(points.end);
            start = some.end;
            if w.run.run(some.clone(), inputs, outputs) {
                continue;
            }
            // each alone, so that what one of them meets is nothing to the others
            let several = some.len() > 1;
            for point in some {
                if !several || !w.run.run(point..point + 1, inputs, outputs) {
                    self.hand_over(inputs, point, outputs)?;
                }
            }
        }
        Ok(())
    }
}

/// The part of an input that holds some points; all of it if the points share it.
#[inline]
fn part<'x, T>(x: &'x [T], len: usize, points: &Range<usize>) -> &'x [T] {
    if x.len() == len { x } else { &x[points.start * len..points.end * len] }
}
