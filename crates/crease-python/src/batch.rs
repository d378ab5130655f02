//! Many points at once: arrays with a leading axis in, arrays with a leading axis out.
//!
//! An argument whose shape is that of the program is shared by all points; one with a leading axis has a part for each of them. Points are run in portions, between which
//! signals get through.
//!
//! From some dozens of points on, the program at a block of points is one program of tensors, whose kernels go through all points of the block in each operation: a matrix that points share is
//! multiplied with all of them at once, and functions are computed in vector registers. What has no such form is run point by point, some in lanes.

use crate::arrays::{Given, room};
use crate::error::{CreaseError, raise};
use crate::program::{Block, Code, Coded, Kind, Program, is_single};
use crease::cost::{Prices, cost_within};
use crease::engine::{Compiled, Workspace};
use crease::{Limits, Shape};
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::ops::Range;
use std::sync::Arc;

/// A program at many points.
#[pyclass(frozen, module = "crease")]
pub struct Batch {
    program: Py<Program>,
    threads: usize,
}

/// About so many operations are done between two looks at signals.
const PORTION: usize = 50_000_000;
/// Fewer points are no block.
const FEWEST: usize = 64;

#[pymethods]
impl Program {
    /// The program over a leading axis: what it returns is called like the program, with arrays that have one axis more. Arguments in the shape of the program
    /// are the same for all points. Results do not depend on the number of threads.
    ///
    /// >>> import crease, numpy as np
    /// >>> p = crease.parse("program f(x, y) = max(x, y)")
    /// >>> p.batch().grad(np.array([1.0, 2.0, 3.0]), 2.0, wrt="x")
    /// array([0., 1., 1.])
    #[pyo3(signature = (threads = 1))]
    fn batch(slf: Py<Self>, threads: usize) -> PyResult<Batch> {
        match threads {
            0 => Err(CreaseError::new_err("there must be a thread at least")),
            _ => Ok(Batch { program: slf, threads }),
        }
    }
}

#[pymethods]
impl Batch {
    #[pyo3(signature = (*args, **named))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let out = self.run(py, &Kind::Value, args, named)?;
        self.program.get().structure.out.unflatten(py, &mut out.into_iter())
    }

    /// The gradients at all points.
    #[pyo3(signature = (*args, wrt = None, **named))]
    fn grad<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        wrt: Option<&Bound<'py, PyAny>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.value_and_grad(py, args, wrt, named)?.1)
    }

    /// Values and gradients at all points.
    #[pyo3(signature = (*args, wrt = None, **named))]
    fn value_and_grad<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        wrt: Option<&Bound<'py, PyAny>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let p = self.program.get();
        let (which, inputs, several) = p.wrt(wrt)?;
        let mut out = self.run(py, &Kind::ValueAndGrad(inputs), args, named)?.into_iter();
        let value = p.structure.out.unflatten(py, &mut out)?;
        Ok((value, p.structured(py, &which, several, out.collect())?))
    }

    fn __eq__(&self, other: &Batch) -> bool {
        self.threads == other.threads && self.program.get().core == other.program.get().core
    }

    fn __hash__(&self) -> usize {
        self.program.get().core.len() ^ self.threads
    }

    /// A pickle is the program and the number of threads.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (usize,))> {
        Ok((self.program.bind(py).getattr("batch")?, (self.threads,)))
    }

    fn __repr__(&self) -> String {
        format!("<crease.Batch of `{}`, {} thread(s)>", self.program.get().core.name(), self.threads)
    }
}

impl Batch {
    fn run<'py>(
        &self,
        py: Python<'py>,
        kind: &Kind,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let p = self.program.get();
        let given = p.leaves(args, named)?.iter().map(Given::take).collect::<PyResult<Vec<_>>>()?;
        let points = self.points(&given)?;
        match is_single(&given) {
            true => self.run_in::<f32>(py, kind, &given, points),
            false => self.run_in::<f64>(py, kind, &given, points),
        }
    }

    /// How many points there are.
    fn points(&self, given: &[Given<'_>]) -> PyResult<usize> {
        let mut points = None;
        for (g, input) in given.iter().zip(self.program.get().core.inputs()) {
            let (dims, own) = (g.dims(), input.shape.dims());
            match dims.split_first() {
                _ if dims == own => {}
                Some((&n, rest)) if rest == own && n > 0 && points.is_none_or(|m| m == n) => points = Some(n),
                Some((&n, rest)) if rest == own && n > 0 => {
                    let m = points.unwrap_or_default();
                    let why = format!("input `{}` has {n} points, the ones before it have {m}", input.name);
                    return Err(CreaseError::new_err(why));
                }
                _ => {
                    let why = format!(
                        "input `{}` has shape {dims:?}; it takes {own:?} for all points, or that with a leading axis",
                        input.name
                    );
                    return Err(CreaseError::new_err(why));
                }
            }
        }
        points.ok_or_else(|| CreaseError::new_err("no argument has a leading axis; call the program itself"))
    }

    fn run_in<'py, T: Coded>(
        &self,
        py: Python<'py>,
        kind: &Kind,
        given: &[Given<'py>],
        points: usize,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let p = self.program.get();
        // to differentiate what cannot be is refused here, whatever runs it
        let code = p.code::<T>(py, kind)?;
        let blocks = self.blocks::<T>(py, kind, given, points)?;
        let numbers = given.iter().map(|g| g.numbers::<T>()).collect::<PyResult<Vec<_>>>()?;
        let with_axis = |s: &Shape| [&[points][..], s.dims()].concat();
        let arrays: Vec<Bound<'py, PyArrayDyn<T>>> =
            code.compiled.outputs().iter().map(|s| room::<T>(py, &with_axis(s))).collect();
        let sizes: Vec<usize> = code.compiled.outputs().iter().map(Shape::len).collect();
        let mut held = arrays.iter().map(|a| Ok(a.try_readwrite()?)).collect::<PyResult<Vec<_>>>()?;
        let mut outputs = held.iter_mut().map(|a| Ok(a.as_slice_mut()?)).collect::<PyResult<Vec<&mut [T]>>>()?;
        let inputs = p.core.inputs().iter().zip(given).zip(&numbers);
        let inputs = inputs.map(|((input, g), x)| Part {
            numbers: x,
            len: input.shape.len(),
            shared: g.dims() == input.shape.dims(),
        });
        let inputs: Vec<Part<'_, T>> = inputs.collect();
        // what cannot be counted is a lot
        let price = cost_within(&p.core, &Limits::default()).map_or(f64::INFINITY, |c| c.at(&Prices::unit()).to_f64());
        let work = price.clamp(1.0, PORTION as f64) as usize;
        let portion = (PORTION / work).max(1);
        let mut first = 0;
        if let Some((block, size)) = &blocks {
            let mut workspaces: Vec<_> = (0..self.threads).map(|_| block.workspace()).collect();
            let portion = portion.div_ceil(*size) * size;
            while first < points {
                let n = portion.min(points - first);
                let mut parts = parts(&mut outputs, &sizes, first, n);
                let (block, inputs) = (&block.compiled, &inputs[..]);
                if !py.detach(|| in_blocks(block, &mut workspaces, *size, inputs, first..first + n, &mut parts)) {
                    // one by one, to say at which point it stops and why
                    break;
                }
                first += n;
                py.check_signals()?;
            }
            workspaces.into_iter().for_each(|w| block.keep(w));
        }
        let mut workspaces: Vec<_> = (0..self.threads).map(|_| code.workspace()).collect();
        let portion = portion.clamp(64, points.max(64)) / 64 * 64;
        while first < points {
            let n = portion.min(points - first);
            let reads: Vec<&[T]> = inputs.iter().map(|x| x.at(first..first + n)).collect();
            let mut parts = parts(&mut outputs, &sizes, first, n);
            py.detach(|| match &mut workspaces[..] {
                [one] => code.compiled.run_batch(one, n, &reads, &mut parts),
                several => code.compiled.run_parallel(several, n, &reads, &mut parts),
            })
            .map_err(raise)?;
            first += n;
            py.check_signals()?;
        }
        workspaces.into_iter().for_each(|w| code.keep(w));
        drop(outputs);
        drop(held);
        Ok(arrays.into_iter().map(Bound::into_any).collect())
    }

    /// Code for some points at once, and how many, if there are enough of them and the program has such a form: one that takes another branch at each
    /// point has none.
    #[allow(clippy::type_complexity)]
    fn blocks<T: Coded>(
        &self,
        py: Python<'_>,
        kind: &Kind,
        given: &[Given<'_>],
        points: usize,
    ) -> PyResult<Option<(Arc<Code<T>>, usize)>> {
        let p = self.program.get();
        let wrt = match kind {
            Kind::Value => None,
            Kind::ValueAndGrad(wrt) => Some(wrt.clone()),
            Kind::Jvp | Kind::Vjp | Kind::Jacobian(_) | Kind::Hvp | Kind::Block(_) => return Ok(None),
        };
        if points < FEWEST {
            return Ok(None);
        }
        let inputs = p.core.inputs().iter().zip(given).enumerate();
        let along: Vec<usize> = inputs.filter(|(_, (i, g))| g.dims() != i.shape.dims()).map(|(k, _)| k).collect();
        let most = p.block_size(wrt.as_deref())?;
        let size = points.next_power_of_two().min(most);
        if size < FEWEST {
            return Ok(None);
        }
        let code = p.code_if_any::<T>(py, Kind::Block(Block { wrt, along, points: size }))?;
        Ok(code.map(|code| (code, size)))
    }
}

/// An input of a batch.
struct Part<'a, T> {
    numbers: &'a [T],
    /// The numbers of one point.
    len: usize,
    shared: bool,
}

impl<T> Part<'_, T> {
    fn at(&self, points: Range<usize>) -> &[T] {
        if self.shared { self.numbers } else { &self.numbers[points.start * self.len..points.end * self.len] }
    }
}

/// The part of all outputs that belongs to some points.
fn parts<'o, T>(outputs: &'o mut [&mut [T]], sizes: &[usize], first: usize, n: usize) -> Vec<&'o mut [T]> {
    outputs.iter_mut().zip(sizes).map(|(out, &size)| &mut out[first * size..][..n * size]).collect()
}

/// Runs at some points, a block of them at a time; points that do not fill a block stand in it with copies of the last one. Whether it went well.
fn in_blocks<T: Coded>(
    block: &Compiled<T>,
    workspaces: &mut [Workspace<T>],
    size: usize,
    inputs: &[Part<'_, T>],
    points: Range<usize>,
    outputs: &mut [&mut [T]],
) -> bool {
    let whole = points.len() / size;
    let (middle, rest) = (points.start + whole * size, points.len() % size);
    let widths: Vec<usize> = block.outputs().iter().map(|s| s.len() / size).collect();
    if whole > 0 {
        let reads: Vec<&[T]> = inputs.iter().map(|x| x.at(points.start..middle)).collect();
        let mut writes: Vec<&mut [T]> =
            outputs.iter_mut().zip(&widths).map(|(out, &width)| &mut out[..whole * size * width]).collect();
        let done = match &mut *workspaces {
            [one] => block.run_batch(one, whole, &reads, &mut writes),
            several => block.run_parallel(several, whole, &reads, &mut writes),
        };
        if done.is_err() {
            return false;
        }
    }
    if rest == 0 {
        return true;
    }
    let filled = |x: &Part<'_, T>| {
        let mut numbers = x.at(middle..points.end).to_vec();
        if !x.shared {
            let last = numbers[(rest - 1) * x.len..].to_vec();
            (rest..size).for_each(|_| numbers.extend_from_slice(&last));
        }
        numbers
    };
    let reads: Vec<Vec<T>> = inputs.iter().map(filled).collect();
    let reads: Vec<&[T]> = reads.iter().map(|x| &x[..]).collect();
    let mut writes: Vec<Vec<T>> = widths.iter().map(|width| vec![T::ZERO; width * size]).collect();
    let mut slices: Vec<&mut [T]> = writes.iter_mut().map(|x| &mut x[..]).collect();
    if block.run(&mut workspaces[0], &reads, &mut slices).is_err() {
        return false;
    }
    for ((out, width), from) in outputs.iter_mut().zip(&widths).zip(&writes) {
        out[whole * size * width..].copy_from_slice(&from[..rest * width]);
    }
    true
}
