//! Audits of networks: a list of inputs in, a line of JSON for each out.

use crate::answers::point;
use crate::error::{CreaseError, raise};
use crate::program::Program;
use crate::waiting::interruptible;
use crease::Cancel;
use crease::audit::{self, Case, Finding, Of, Options, Quiet, Report, Summary};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::time::Duration;

fn cases(
    p: &Program,
    inputs: &Bound<'_, PyList>,
    names: Vec<String>,
    labels: Option<Vec<usize>>,
) -> PyResult<Vec<Case>> {
    let labels = labels.map(|l| l.into_iter().map(Some).collect()).unwrap_or_else(|| vec![None; inputs.len()]);
    if names.len() != inputs.len() || labels.len() != inputs.len() {
        return Err(CreaseError::new_err("there must be a name, and a label if there are any, for each input"));
    }
    let one = |((args, name), label): ((Bound<'_, PyAny>, String), Option<usize>)| {
        let at = point(p, &p.leaves(args.cast::<PyTuple>()?, None)?)?;
        Ok(Case { label, ..Case::new(name, at) })
    };
    inputs.iter().zip(names).zip(labels).map(one).collect()
}

/// Audits a network at inputs, each a tuple of arguments: one line of JSON for each.
#[pyfunction]
#[pyo3(signature = (program, inputs, names, labels = None, each = None, threads = 1))]
pub fn audit_lines(
    py: Python<'_>,
    program: &Bound<'_, Program>,
    inputs: &Bound<'_, PyList>,
    names: Vec<String>,
    labels: Option<Vec<usize>>,
    each: Option<f64>,
    threads: usize,
) -> PyResult<Vec<String>> {
    let p = program.get();
    let of = if labels.is_some() { Of::Loss } else { Of::Outputs };
    let cases = cases(p, inputs, names, labels)?;
    let cancel = Cancel::new();
    let each = each.map(Duration::try_from_secs_f64).transpose();
    let each = each.map_err(|_| CreaseError::new_err("the time for each input must be seconds, and not negative"))?;
    let usual = Options::default();
    let options = Options { of, each, threads, limits: usual.limits.clone().cancelled_by(&cancel), ..usual };
    let core = &p.core;
    let report = interruptible(py, &cancel, || audit::audit(core, &cases, &options, &Quiet))?.map_err(raise)?;
    Ok(report.findings.iter().map(Finding::line).collect())
}

fn report(lines: &[String], inputs: usize) -> PyResult<Report> {
    let findings =
        lines.iter().map(|l| Finding::from_line(l).map_err(CreaseError::new_err)).collect::<PyResult<Vec<_>>>()?;
    let summary = Summary::new(&findings, inputs);
    Ok(Report { findings, summary })
}

/// What findings say together: JSON and text.
#[pyfunction]
pub fn audit_summary(lines: Vec<String>, inputs: usize) -> PyResult<(String, String)> {
    let report = report(&lines, inputs)?;
    Ok((serde_json::to_string(&report.summary).map_err(raise)?, report.summary.text(&report.findings)))
}

/// One HTML page that shows an audit.
#[pyfunction]
pub fn audit_page(
    program: &Bound<'_, Program>,
    title: &str,
    lines: Vec<String>,
    inputs: &Bound<'_, PyList>,
    names: Vec<String>,
) -> PyResult<String> {
    let cases = cases(program.get(), inputs, names, None)?;
    Ok(audit::page(title, &report(&lines, cases.len())?, &cases))
}
