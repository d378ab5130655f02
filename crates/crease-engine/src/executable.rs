//! One interface for all that runs: scalar code, machine code, tensor code, and a processor that is not this one.
//!
//! [`Executable`] is code, and says which memory its runs need: that is a type of its own. The one place where both meet is
//! [`Bound`], code with memory that it has made itself, so that memory of one program cannot get into a run of another; a
//! [`Workspace`](crate::Workspace) is that with its type forgotten. What leaves a run is numbers, or the word that they do not
//! count: then the interpreter is asked.

use std::ops::Range;
use std::sync::Arc;

/// The inputs of a program at several points: of each input one point after the other, or just one that all share.
#[derive(Debug)]
pub struct Inputs<'a, T> {
    slices: &'a [&'a [T]],
    lens: &'a [usize],
}

impl<T> Copy for Inputs<'_, T> {}

impl<T> Clone for Inputs<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, T> Inputs<'a, T> {
    /// Slices, and how many numbers each input has at one point.
    pub(crate) fn new(slices: &'a [&'a [T]], lens: &'a [usize]) -> Self {
        debug_assert_eq!(slices.len(), lens.len());
        Inputs { slices, lens }
    }

    /// How many numbers each input has at one point.
    pub fn lens(&self) -> &'a [usize] {
        self.lens
    }

    /// All inputs at one point, in their order.
    #[inline]
    pub fn at(&self, point: usize) -> impl Iterator<Item = &'a [T]> + use<'a, T> {
        self.slices.iter().zip(self.lens).map(move |(x, &len)| at_point(x, len, point))
    }

    /// One input at one point.
    #[inline]
    pub fn input(&self, i: usize, point: usize) -> &'a [T] {
        at_point(self.slices[i], self.lens[i], point)
    }
}

/// The part of an input that holds one point; all of it if the points share it.
#[inline]
fn at_point<T>(x: &[T], len: usize, point: usize) -> &[T] {
    if x.len() == len { x } else { &x[point * len..][..len] }
}

/// Code for a program, for whatever executes it. [`Compiled::from_executable`](crate::Compiled::from_executable) makes a compiled
/// program of it, with batches, threads, sums, and the interpreter where it gives up.
///
/// ```
/// use crease_core::trace;
/// use crease_engine::{Compiled, Executable, Inputs, Options};
/// use std::ops::Range;
///
/// /// The square of a number, but not of large ones.
/// struct Square;
///
/// impl Executable<f64> for Square {
///     type Memory = ();
///     fn memory(&self) {}
///     fn numbers(&self) -> usize { 0 }
///     fn bytes(_: &()) -> usize { 0 }
///     fn run(&self, _: &mut (), points: Range<usize>, inputs: Inputs<'_, f64>, outputs: &mut [&mut [f64]]) -> bool {
///         points.into_iter().all(|point| {
///             let x = inputs.input(0, point)[0];
///             outputs[0][point] = x * x;
///             x < 100.0
///         })
///     }
/// }
///
/// let p = trace(1, |x| x[0] * x[0]).unwrap();
/// let c = Compiled::from_executable(Square, &p, &Options::default()).unwrap();
/// let mut y = [0.0; 3];
/// // the interpreter says what the square of 200 is
/// c.run_batch(&mut c.workspace(), 3, &[&[1.0, 200.0, 3.0]], &mut [&mut y]).unwrap();
/// assert_eq!(y, [1.0, 40_000.0, 9.0]);
/// ```
pub trait Executable<T>: Send + Sync + 'static {
    /// What a run writes to beside its outputs. Between runs it is left as [`Executable::memory`] makes it, as far as runs
    /// depend on it.
    type Memory: Send + 'static;

    /// Memory for runs of this code.
    fn memory(&self) -> Self::Memory;

    /// How many numbers that memory holds, known before it is made.
    fn numbers(&self) -> usize;

    /// How large it is by now, in bytes.
    fn bytes(memory: &Self::Memory) -> usize;

    /// At how many points at once it is best run if there are so many.
    fn together(&self, points: usize) -> usize {
        let _ = points;
        1
    }

    /// Runs at some points, no more than [`Executable::together`] has said, and fills their parts of the outputs, which hold
    /// one point after the other. False if what it left there does not count, at any of the points; then each of several is run
    /// alone, and the interpreter is asked about a single one.
    fn run(
        &self,
        memory: &mut Self::Memory,
        points: Range<usize>,
        inputs: Inputs<'_, T>,
        outputs: &mut [&mut [T]],
    ) -> bool;
}

/// Code that runs at one point, and perhaps other code for the same program that runs at several points at once.
pub(crate) struct Beside<A, B> {
    pub one: A,
    pub several: Option<B>,
}

impl<T, A: Executable<T>, B: Executable<T>> Executable<T> for Beside<A, B> {
    /// For several points it is made when they come.
    type Memory = (A::Memory, Option<B::Memory>);

    fn memory(&self) -> Self::Memory {
        (self.one.memory(), None)
    }

    fn numbers(&self) -> usize {
        self.one.numbers().saturating_add(self.several.as_ref().map_or(0, B::numbers))
    }

    fn bytes((one, several): &Self::Memory) -> usize {
        A::bytes(one) + several.as_ref().map_or(0, B::bytes)
    }

    fn together(&self, points: usize) -> usize {
        self.several.as_ref().map_or(1, |s| s.together(points))
    }

    fn run(
        &self,
        (one, several): &mut Self::Memory,
        points: Range<usize>,
        inputs: Inputs<'_, T>,
        outputs: &mut [&mut [T]],
    ) -> bool {
        match &self.several {
            Some(code) if points.len() > 1 => {
                code.run(several.get_or_insert_with(|| code.memory()), points, inputs, outputs)
            }
            _ => points.into_iter().all(|point| self.one.run(one, point..point + 1, inputs, outputs)),
        }
    }
}

/// Code of whatever kind.
pub(crate) trait Code<T>: Send + Sync {
    /// How many numbers a memory for it holds.
    fn held(&self) -> usize;
    /// The code with memory for its runs.
    fn bind(self: Arc<Self>) -> Box<dyn Run<T>>;
}

/// Code of whatever kind with memory for its runs.
pub(crate) trait Run<T>: Send {
    fn bytes(&self) -> usize;
    fn together(&self, points: usize) -> usize;
    fn run(&mut self, points: Range<usize>, inputs: Inputs<'_, T>, outputs: &mut [&mut [T]]) -> bool;
}

/// Code and the memory that it has made.
struct Bound<T, E: Executable<T>> {
    code: Arc<E>,
    memory: E::Memory,
}

impl<T: 'static, E: Executable<T>> Code<T> for E {
    fn held(&self) -> usize {
        self.numbers()
    }

    fn bind(self: Arc<Self>) -> Box<dyn Run<T>> {
        let memory = self.memory();
        Box::new(Bound::<T, E> { code: self, memory })
    }
}

impl<T, E: Executable<T>> Run<T> for Bound<T, E> {
    fn bytes(&self) -> usize {
        E::bytes(&self.memory)
    }

    fn together(&self, points: usize) -> usize {
        self.code.together(points)
    }

    fn run(&mut self, points: Range<usize>, inputs: Inputs<'_, T>, outputs: &mut [&mut [T]]) -> bool {
        self.code.run(&mut self.memory, points, inputs, outputs)
    }
}
