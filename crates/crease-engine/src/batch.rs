//! The same program at many points: in lanes, on several threads, and summed.
//!
//! Points are independent, so it does not matter to a result which thread computes it, or beside which others it stands in a
//! vector register: every result is that of [`Compiled::run`] at its point, bit for bit. Sums over points are taken in
//! blocks of [`BLOCK`] points, blocks in order, whatever the number of threads. Threads stay between runs ([`crew`](crate::crew)), and
//! what a run writes down lies in its workspaces, so that a run like the last one allocates nothing.

use crate::compiled::{Compiled, Workspace};
use crate::crew::{Shared, THREADS, Team};
use crate::error::EngineError;
use crate::executable::Inputs;
use crate::float::Float;
use crate::scalar::LANES;
use crease_core::Limits;
use std::ops::Range;

/// So many points are summed together before their sum is added to that of the others.
pub(crate) const BLOCK: usize = 64;

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
    let table = Outputs::new(outputs);
    on_threads(workspaces, points.div_ceil(share.max(1)), &|job, w| {
        let range = job * share..((job + 1) * share).min(points);
        let Lists { mut reads, mut writes, .. } = std::mem::take(&mut w.lists);
        c.parts(inputs, &range, &mut reads);
        writes.clear();
        for (k, shape) in c.outputs.iter().enumerate() {
            // SAFETY: shares do not overlap, and the list is emptied before the slices go
            writes.push(unsafe { table.part(k, range.start * shape.len()..range.end * shape.len()) });
        }
        let done = c.range(w, 0..range.len(), &reads, &mut writes);
        w.lists.keep(reads, writes);
        done
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
    let width: usize = c.outputs.iter().map(|s| s.len()).sum();
    let blocks = points.div_ceil(BLOCK);
    let Room { threads, step, each } = room(&workspaces[0], &c.limits, workspaces.len(), width, blocks)?;
    let workspaces = &mut workspaces[..threads];
    outputs.iter_mut().for_each(|out| out.fill(T::ZERO));
    for round in (0..blocks).step_by(threads * each) {
        let some = (blocks - round).min(threads * each);
        // blocks one after the other for each thread
        let share = some.div_ceil(threads);
        on_threads(workspaces, some.div_ceil(share), &|job, w| {
            let mine = job * share..((job + 1) * share).min(some);
            let mut lists = std::mem::take(&mut w.lists);
            let done = sums(c, w, &mut lists, (round + mine.start..round + mine.end, points, step), inputs);
            w.lists = lists;
            done
        })?;
        let sums = workspaces.iter().take(some.div_ceil(share)).flat_map(|w| w.lists.sums.chunks_exact(width));
        for block in sums {
            let mut at = 0;
            for out in outputs.iter_mut() {
                out.iter_mut().zip(&block[at..]).for_each(|(o, &x)| *o += x);
                at += out.len();
            }
        }
    }
    Ok(())
}

/// The sums of some blocks of points, one after the other, into the lists of a workspace.
fn sums<T: Float>(
    c: &Compiled<T>,
    w: &mut Workspace<T>,
    lists: &mut Lists<T>,
    (blocks, points, step): (Range<usize>, usize, usize),
    inputs: &[&[T]],
) -> Result<(), EngineError> {
    let width: usize = c.outputs.iter().map(|s| s.len()).sum();
    lists.sums.clear();
    lists.sums.resize(blocks.len() * width, T::ZERO);
    lists.results.resize(step * width, T::ZERO);
    for (block, sums) in blocks.zip(lists.sums.chunks_exact_mut(width)) {
        let first = block * BLOCK;
        for start in (first..(first + BLOCK).min(points)).step_by(step) {
            let range = start..(start + step).min(first + BLOCK).min(points);
            let (mut reads, mut writes) = (std::mem::take(&mut lists.reads), std::mem::take(&mut lists.writes));
            c.parts(inputs, &range, &mut reads);
            writes.clear();
            let (table, mut at) = (Shared::new(&mut lists.results), 0);
            for shape in &c.outputs {
                let len = shape.len() * range.len();
                // SAFETY: one after the other; the list is emptied before the numbers are looked at
                writes.push(unsafe { lengthened(table.part(at..at + len)) });
                at += len;
            }
            let done = c.range(w, 0..range.len(), &reads, &mut writes);
            reads.clear();
            writes.clear();
            (lists.reads, lists.writes) = (reads, writes);
            done?;
            let (mut from, mut at) = (0, 0);
            for shape in &c.outputs {
                let n = shape.len();
                for point in lists.results[from..][..n * range.len()].chunks_exact(n) {
                    sums[at..at + n].iter_mut().zip(point).for_each(|(s, &x)| *s += x);
                }
                (from, at) = (from + n * range.len(), at + n);
            }
        }
    }
    Ok(())
}

/// The outputs of a run, of which every thread has a part.
struct Outputs<T> {
    table: *const *mut [T],
    count: usize,
}

// SAFETY: parts are handed out to one thread each, by the contract of `part`
unsafe impl<T: Send> Sync for Outputs<T> {}

impl<T> Outputs<T> {
    /// They must be there as long as threads have parts of them.
    fn new(outputs: &mut [&mut [T]]) -> Self {
        // a reference is a pointer, and one that is read as such may still be written through
        Outputs { table: outputs.as_mut_ptr().cast(), count: outputs.len() }
    }

    /// A part of output number `k`.
    ///
    /// # Safety
    ///
    /// The outputs are still borrowed for this as long as the part is used, and no other part in use overlaps.
    #[allow(clippy::mut_from_ref)]
    unsafe fn part(&self, k: usize, range: Range<usize>) -> &'static mut [T] {
        assert!(k < self.count, "there are so many outputs");
        // SAFETY: inside of the table, just checked
        let output = unsafe { *self.table.add(k) };
        assert!(range.start <= range.end && range.end <= output.len(), "a part of what there is");
        // SAFETY: inside of the output, just checked; nobody else has this part, by the contract
        unsafe { std::slice::from_raw_parts_mut(output.cast::<T>().add(range.start), range.len()) }
    }
}

/// The same slice for the lists of a workspace, which do not say how long what is in them lives.
///
/// # Safety
///
/// The slice is not used after its time.
unsafe fn lengthened<T>(x: &mut [T]) -> &'static mut [T] {
    // SAFETY: by the contract
    unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr(), x.len()) }
}

/// What a run on several threads writes down beside the memory of its code, so that the next one finds room for it. Lists of slices
/// are empty between runs.
pub(crate) struct Lists<T: 'static> {
    reads: Vec<&'static [T]>,
    writes: Vec<&'static mut [T]>,
    /// Results of some points, and sums of blocks of points.
    results: Vec<T>,
    sums: Vec<T>,
    /// What went wrong.
    failed: Option<EngineError>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Lists { reads: Vec::new(), writes: Vec::new(), results: Vec::new(), sums: Vec::new(), failed: None }
    }
}

impl<T> Lists<T> {
    /// How large they are, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<T>() * (self.results.capacity() + self.sums.capacity())
    }

    /// Takes the lists of slices back, emptied.
    fn keep(&mut self, mut reads: Vec<&'static [T]>, mut writes: Vec<&'static mut [T]>) {
        reads.clear();
        writes.clear();
        (self.reads, self.writes) = (reads, writes);
    }
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

/// What is done for each job with its workspace.
type Job<'j, T> = dyn Fn(usize, &mut Workspace<T>) -> Result<(), EngineError> + Sync + 'j;

/// Does so many jobs, each with a workspace of its own, on as many threads. The error of the first job that has one counts.
fn on_threads<T: Float>(workspaces: &mut [Workspace<T>], jobs: usize, work: &Job<'_, T>) -> Result<(), EngineError> {
    let all = Shared::new(workspaces);
    Team::of(jobs).each(jobs, &|_, job| {
        // SAFETY: one for each job
        let w = unsafe { &mut all.part(job..job + 1)[0] };
        if let Err(e) = work(job, w) {
            w.lists.failed = Some(e);
        }
    });
    match workspaces.iter_mut().find_map(|w| w.lists.failed.take()) {
        Some(failed) => {
            workspaces.iter_mut().for_each(|w| w.lists.failed = None);
            Err(failed)
        }
        None => Ok(()),
    }
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

    /// An error if time is up, or if somebody stopped it.
    fn goes_on(&self) -> Result<(), EngineError> {
        self.limits.stopped().map_or(Ok(()), |stop| Err(EngineError::stopped(stop)))
    }

    /// Lists inputs at some points. The list must be emptied before the inputs go.
    fn parts(&self, inputs: &[&[T]], points: &Range<usize>, list: &mut Vec<&'static [T]>) {
        list.clear();
        list.extend(inputs.iter().zip(&self.input_lens).map(|(x, &n)| {
            let part = part(x, n, points);
            // SAFETY: nobody reads the list after the run, whose inputs these are
            unsafe { std::slice::from_raw_parts(part.as_ptr(), part.len()) }
        }));
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
            self.goes_on()?;
            let some = start..(start + together).min(points.end);
            start = some.end;
            if w.run.run(some.clone(), inputs, outputs) {
                continue;
            }
            // each alone, so that what one of them meets is nothing to the others
            let several = some.len() > 1;
            for point in some {
                if !several || !w.run.run(point..point + 1, inputs, outputs) {
                    // what was stopped gives up, too
                    self.goes_on()?;
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
