//! Numbers on their way in and out: NumPy arrays without copying where that is possible.
//!
//! What enters may be a number, an array, or whatever NumPy makes an array of: lists, tensors of PyTorch, arrays of JAX. A run is in single precision if all arrays of floats are of
//! that precision or less, and there is one; numbers and integers go along with what the others are; else it is in double precision. What leaves are
//! new arrays, and numbers of NumPy for scalars.

use crate::error::CreaseError;
use crease::Shape;
use numpy::{Element, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyInt, PyTuple};

/// One argument, as it came.
pub enum Given<'py> {
    Number(f64),
    Double(PyReadonlyArrayDyn<'py, f64>),
    Single(PyReadonlyArrayDyn<'py, f32>),
}

impl<'py> Given<'py> {
    /// Takes an argument.
    pub fn take(x: &Bound<'py, PyAny>) -> PyResult<Given<'py>> {
        if let Ok(a) = x.cast::<PyArrayDyn<f64>>() {
            return Ok(Given::Double(contiguous(a)?));
        }
        if let Ok(a) = x.cast::<PyArrayDyn<f32>>() {
            return Ok(Given::Single(contiguous(a)?));
        }
        if x.is_exact_instance_of::<PyFloat>() || x.is_exact_instance_of::<PyInt>() || x.is_instance_of::<PyFloat>() {
            return Ok(Given::Number(x.extract()?));
        }
        let array = as_array(x, None)?;
        let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
        let size: usize = array.getattr("dtype")?.getattr("itemsize")?.extract()?;
        match &*kind {
            "f" if size == 8 => Ok(Given::Double(contiguous(array.cast()?)?)),
            "f" if size > 8 => Err(CreaseError::new_err("numbers of more than 64 bits are not taken: use float64")),
            // what is shorter is exact in single precision
            "f" => Ok(Given::Single(contiguous(as_array(&array, Some("float32"))?.cast()?)?)),
            "V" if array.getattr("dtype")?.getattr("name")?.extract::<String>()? == "bfloat16" => {
                Ok(Given::Single(contiguous(as_array(&array, Some("float32"))?.cast()?)?))
            }
            "b" | "i" | "u" => {
                let wide = as_array(&array, Some("float64"))?;
                let back = as_array(&wide, Some(if kind == "u" { "uint64" } else { "int64" }))?;
                if size == 8 && !array.call_method1("__eq__", (back,))?.call_method0("all")?.is_truthy()? {
                    return Err(CreaseError::new_err("integers beyond 2^53 have no exact float"));
                }
                Ok(Given::Double(contiguous(wide.cast()?)?))
            }
            _ => {
                let name = x.get_type().name()?;
                Err(CreaseError::new_err(format!("real numbers are needed, got {name} of {}", array.getattr("dtype")?)))
            }
        }
    }

    /// Its shape.
    pub fn dims(&self) -> &[usize] {
        match self {
            Given::Number(_) => &[],
            Given::Double(a) => a.shape(),
            Given::Single(a) => a.shape(),
        }
    }

    /// Its numbers in this precision; a copy if they come in another.
    pub fn numbers<T: Numeric>(&self) -> PyResult<std::borrow::Cow<'_, [T]>> {
        T::numbers(self)
    }
}

fn contiguous<'py, T: Element>(a: &Bound<'py, PyArrayDyn<T>>) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    if a.is_c_contiguous() && a.is_aligned() {
        return Ok(a.try_readonly()?);
    }
    let copy = a.call_method1("copy", ("C",))?;
    Ok(copy.cast::<PyArrayDyn<T>>()?.try_readonly()?)
}

/// What NumPy makes of it.
pub fn as_array<'py>(x: &Bound<'py, PyAny>, dtype: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = x.py();
    let f = AS_ARRAY.import(py, "numpy", "asarray")?;
    // a tensor that is part of a gradient tape has to let go of it first
    let x = match x.hasattr("detach")? {
        true => x.call_method0("detach")?.call_method0("cpu")?,
        false => x.clone(),
    };
    match dtype {
        Some(dtype) => f.call1((x, dtype)),
        None => f.call1((x,)),
    }
}

/// The two precisions.
pub trait Numeric: crease::engine::Float + Element {
    /// As in the library.
    fn numbers<'a>(given: &'a Given<'_>) -> PyResult<std::borrow::Cow<'a, [Self]>>;
}

impl Numeric for f64 {
    fn numbers<'a>(given: &'a Given<'_>) -> PyResult<std::borrow::Cow<'a, [f64]>> {
        Ok(match given {
            Given::Number(x) => vec![*x].into(),
            Given::Double(a) => a.as_slice()?.into(),
            Given::Single(a) => a.as_slice()?.iter().map(|&x| f64::from(x)).collect::<Vec<_>>().into(),
        })
    }
}

impl Numeric for f32 {
    fn numbers<'a>(given: &'a Given<'_>) -> PyResult<std::borrow::Cow<'a, [f32]>> {
        Ok(match given {
            Given::Number(x) => vec![*x as f32].into(),
            Given::Double(a) => a.as_slice()?.iter().map(|&x| x as f32).collect::<Vec<_>>().into(),
            Given::Single(a) => a.as_slice()?.into(),
        })
    }
}

/// A new array without numbers in it yet: zeros.
pub fn room<'py, T: Numeric>(py: Python<'py>, dims: &[usize]) -> Bound<'py, PyArrayDyn<T>> {
    PyArrayDyn::zeros(py, dims, false)
}

/// An array, or its number if it is a scalar.
pub fn unwrapped<'py, T: Numeric>(a: Bound<'py, PyArrayDyn<T>>) -> PyResult<Bound<'py, PyAny>> {
    match a.ndim() {
        0 => a.get_item(PyTuple::empty(a.py())),
        _ => Ok(a.into_any()),
    }
}

/// An array that is filled from a list.
pub fn filled<'py>(py: Python<'py>, shape: &Shape, data: &[f64]) -> PyResult<Bound<'py, PyAny>> {
    let a = room::<f64>(py, shape.dims());
    a.try_readwrite()?.as_slice_mut()?.copy_from_slice(data);
    unwrapped(a)
}

/// The shape and the numbers of a constant.
pub fn constant_of(x: &Bound<'_, PyAny>) -> PyResult<(Vec<usize>, Vec<f64>)> {
    let given = Given::take(x)?;
    Ok((given.dims().to_vec(), given.numbers::<f64>()?.into_owned()))
}
