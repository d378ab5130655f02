//! An answer to a question, on its way out.
//!
//! A list of all gradients can have a million members, whose JSON takes longer to write than they took to find. So a list is kept as it was found, and its text, its JSON and
//! arrays of its numbers are made when somebody asks for them.

use crate::answers::like_arguments;
use crate::error::raise;
use crate::program::Program;
use crease::Rational;
use crease::inspect::Neighbourhood;
use crease::oracles::Neighbour;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use serde::Serialize;
use std::fmt::Display;

/// What was said.
enum Said {
    Told { text: String, json: String },
    All(Box<Neighbourhood<'static>>),
}

/// An answer: the text of a command, its JSON, its certificate, and the gradient that it is about, if there is one.
#[pyclass(frozen, module = "crease._crease")]
pub struct Answer {
    said: Said,
    #[pyo3(get)]
    certificate: Option<String>,
    gradient: Option<Vec<f64>>,
}

/// An answer that is told at once.
pub fn answer(
    a: &(impl Display + Serialize),
    certificate: Option<String>,
    gradient: Option<&[Rational]>,
) -> PyResult<Answer> {
    let said = Said::Told { text: a.to_string(), json: serde_json::to_string(a).map_err(raise)? };
    Ok(Answer { said, certificate, gradient: gradient.map(|g| g.iter().map(Rational::to_f64).collect()) })
}

impl Answer {
    /// The answer that is a list of gradients.
    pub fn all(a: Neighbourhood<'_>, certificate: Option<String>) -> Answer {
        Answer { said: Said::All(Box::new(a.into_owned())), certificate, gradient: None }
    }

    /// Numbers of all gradients, a row for each.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        of: impl Fn(&Neighbour) -> &[Rational] + Send,
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let Said::All(a) = &self.said else { return Ok(None) };
        let dimension = a.at.model().dimension();
        let found = &a.found.gradients;
        let numbers: Vec<f64> = py.detach(|| found.iter().flat_map(of).map(Rational::to_f64).collect());
        PyArray1::from_vec(py, numbers).reshape([found.len(), dimension]).map(Some)
    }
}

#[pymethods]
impl Answer {
    #[getter]
    fn text(&self, py: Python<'_>) -> String {
        match &self.said {
            Said::Told { text, .. } => text.clone(),
            Said::All(a) => py.detach(|| a.to_string()),
        }
    }

    #[getter]
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        match &self.said {
            Said::Told { json, .. } => Ok(json.clone()),
            Said::All(a) => py.detach(|| serde_json::to_string(a).map_err(raise)),
        }
    }

    /// The JSON without the list of gradients, if it is one.
    #[getter]
    fn summary(&self) -> String {
        match &self.said {
            Said::Told { json, .. } => json.clone(),
            Said::All(a) => a.summary_json().to_string(),
        }
    }

    /// The gradients as rows of an array, if this is a list of them.
    #[getter]
    fn gradients<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        self.rows(py, |n| &n.gradient)
    }

    /// The directions that show them.
    #[getter]
    fn directions<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        self.rows(py, |n| &n.direction)
    }

    /// The gradient in the structure of the arguments of a program.
    fn gradient<'py>(&self, py: Python<'py>, p: &Program) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.gradient.as_ref().map(|g| like_arguments(py, p, g)).transpose()
    }
}
