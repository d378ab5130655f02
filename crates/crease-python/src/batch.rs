//! Many points at once: arrays with a leading axis in, arrays with a leading axis out.
//!
//! An argument whose shape is that of the program is shared by all points; one with a leading axis has a part for each of them. Points are run in portions, between which
//! signals get through.

use crate::arrays::{Given, room};
use crate::error::{CreaseError, raise};
use crate::program::{Coded, Kind, Program, is_single};
use crease::Shape;
use crease::cost::{Prices, cost};
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// A program at many points.
#[pyclass(frozen, module = "crease")]
pub struct Batch {
    program: Py<Program>,
    threads: usize,
}

/// About so many operations are done between two looks at signals.
const PORTION: usize = 50_000_000;

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
        let code = p.code::<T>(py, kind)?;
        let numbers = given.iter().map(|g| g.numbers::<T>()).collect::<PyResult<Vec<_>>>()?;
        let lens: Vec<usize> = p.core.inputs().iter().map(|i| i.shape.len()).collect();
        let with_axis = |s: &Shape| [&[points][..], s.dims()].concat();
        let arrays: Vec<Bound<'py, PyArrayDyn<T>>> =
            code.compiled.outputs().iter().map(|s| room::<T>(py, &with_axis(s))).collect();
        let sizes: Vec<usize> = code.compiled.outputs().iter().map(Shape::len).collect();
        let mut held = arrays.iter().map(|a| Ok(a.try_readwrite()?)).collect::<PyResult<Vec<_>>>()?;
        let mut outputs = held.iter_mut().map(|a| Ok(a.as_slice_mut()?)).collect::<PyResult<Vec<&mut [T]>>>()?;
        let work = cost(&p.core).at(&Prices::unit()).to_f64().clamp(1.0, PORTION as f64) as usize;
        let portion = (PORTION / work).clamp(64, points.max(64)) / 64 * 64;
        let mut workspaces: Vec<_> = (0..self.threads).map(|_| code.workspace()).collect();
        let mut first = 0;
        while first < points {
            let n = portion.min(points - first);
            let inputs: Vec<&[T]> = numbers
                .iter()
                .zip(&lens)
                .map(|(x, &len)| if x.len() == len { &x[..] } else { &x[first * len..][..n * len] })
                .collect();
            let mut parts: Vec<&mut [T]> = Vec::with_capacity(outputs.len());
            for (out, &size) in outputs.iter_mut().zip(&sizes) {
                parts.push(&mut out[first * size..][..n * size]);
            }
            py.detach(|| match &mut workspaces[..] {
                [one] => code.compiled.run_batch(one, n, &inputs, &mut parts),
                several => code.compiled.run_parallel(several, n, &inputs, &mut parts),
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
}
