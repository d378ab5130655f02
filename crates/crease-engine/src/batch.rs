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
    let threads = workspaces.len();
    let Some(first) = workspaces.first_mut() else { return Err(EngineError::Workspace) };
    c.check(first, points, inputs, outputs)?;
    if workspaces.iter().any(|w| !c.owns(w)) {
        return Err(EngineError::Workspace);
    }
    // a share of whole groups of lanes for each thread
    let share = points.div_ceil(threads).next_multiple_of(LANES);
    let mut parts: Vec<(Range<usize>, Vec<&mut [T]>)> = Vec::with_capacity(threads);
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
    let work = |(range, mut out): (Range<usize>, Vec<&mut [T]>), w: &mut Workspace<T>| {
        let inputs: Vec<&[T]> = inputs.iter().zip(&c.input_lens).map(|(x, &n)| part(x, n, &range)).collect();
        c.range(w, 0..range.len(), &inputs, &mut out)
    };
    std::thread::scope(|s| {
        let threads: Vec<_> = parts.into_iter().zip(workspaces).map(|(p, w)| s.spawn(|| work(p, w))).collect();
        // the error of the first point is the one that is reported
        threads.into_iter().try_for_each(|t| t.join().unwrap_or(Err(EngineError::Workspace)))
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
    let threads = workspaces.len();
    let Some(first) = workspaces.first() else { return Err(EngineError::Workspace) };
    c.check_inputs(first, points, inputs)?;
    c.check_outputs(1, outputs)?;
    if workspaces.iter().any(|w| !c.owns(w)) {
        return Err(EngineError::Workspace);
    }
    let lens: Vec<usize> = c.outputs.iter().map(|s| s.len()).collect();
    let width: usize = lens.iter().sum();
    let blocks = points.div_ceil(BLOCK);
    let mut partial = vec![T::ZERO; blocks * width];
    let work = |first: usize, sums: &mut [T], w: &mut Workspace<T>| -> Result<(), EngineError> {
        let mut room: Vec<Vec<T>> = lens.iter().map(|n| vec![T::ZERO; n * BLOCK]).collect();
        for (b, sums) in sums.chunks_exact_mut(width).enumerate() {
            let range = (first + b) * BLOCK..((first + b + 1) * BLOCK).min(points);
            let inputs: Vec<&[T]> = inputs.iter().zip(&c.input_lens).map(|(x, &n)| part(x, n, &range)).collect();
            let count = range.len();
            let mut out: Vec<&mut [T]> = room.iter_mut().zip(&lens).map(|(r, &n)| &mut r[..n * count]).collect();
            c.range(w, 0..count, &inputs, &mut out)?;
            let mut at = 0;
            for (r, &n) in room.iter().zip(&lens) {
                for point in r[..n * count].chunks_exact(n) {
                    sums[at..at + n].iter_mut().zip(point).for_each(|(s, &x)| *s += x);
                }
                at += n;
            }
        }
        Ok(())
    };
    let share = blocks.div_ceil(threads).max(1);
    std::thread::scope(|s| {
        let parts = partial.chunks_mut(share * width.max(1)).zip(workspaces).enumerate();
        let threads: Vec<_> = parts.map(|(t, (sums, w))| s.spawn(move || work(t * share, sums, w))).collect();
        threads.into_iter().try_for_each(|t| t.join().unwrap_or(Err(EngineError::Workspace)))
    })?;
    let mut at = 0;
    for (out, &n) in outputs.iter_mut().zip(&lens) {
        out.fill(T::ZERO);
        for block in partial.chunks_exact(width) {
            out.iter_mut().zip(&block[at..at + n]).for_each(|(o, &x)| *o += x);
        }
        at += n;
    }
    Ok(())
}

impl<T: Float> Compiled<T> {
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
