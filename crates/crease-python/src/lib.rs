//! crease for Python: the facade of the library as a module of extension.
//!
//! What is here is thin: programs with the structure of their arguments ([`program`], [`tree`]), numbers on their way in and out ([`arrays`]), questions on a thread
//! that Ctrl-C stops ([`answers`], [`waiting`]), what they give ([`answer`]), questions in parts ([`cubes`], [`search`]), which kinks lie between two points ([`kinks`]), many points ([`batch`]), audits ([`audit`]), files ([`load`]), where equations come from in a pickle ([`origins`]), and the builder that the walkers of foreign programs write into ([`builder`]). The walkers, and what people see, are
//! Python, in `python/crease`.

mod answer;
mod answers;
mod arrays;
mod audit;
mod batch;
mod builder;
mod cubes;
mod error;
mod kinks;
mod load;
mod origins;
mod program;
mod search;
mod tree;
mod waiting;

use pyo3::prelude::*;

#[pymodule]
fn _crease(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("CreaseError", m.py().get_type::<error::CreaseError>())?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<program::Program>()?;
    m.add_class::<batch::Batch>()?;
    m.add_class::<builder::Builder>()?;
    m.add_class::<answer::Answer>()?;
    m.add_class::<answers::Inspection>()?;
    m.add_function(wrap_pyfunction!(load::parse, m)?)?;
    m.add_function(wrap_pyfunction!(load::load, m)?)?;
    m.add_function(wrap_pyfunction!(program::rebuild, m)?)?;
    m.add_function(wrap_pyfunction!(answers::inspect, m)?)?;
    m.add_function(wrap_pyfunction!(answers::question, m)?)?;
    m.add_function(wrap_pyfunction!(answers::singular, m)?)?;
    m.add_function(wrap_pyfunction!(cubes::clarke_cubes, m)?)?;
    m.add_function(wrap_pyfunction!(cubes::clarke_in, m)?)?;
    m.add_function(wrap_pyfunction!(cubes::clarke_united, m)?)?;
    m.add_function(wrap_pyfunction!(search::differentiable_in, m)?)?;
    m.add_function(wrap_pyfunction!(search::differentiable_united, m)?)?;
    m.add_function(wrap_pyfunction!(answers::check, m)?)?;
    m.add_function(wrap_pyfunction!(kinks::kinks_between, m)?)?;
    m.add_function(wrap_pyfunction!(load::onnx_operators, m)?)?;
    m.add_function(wrap_pyfunction!(audit::audit_lines, m)?)?;
    m.add_function(wrap_pyfunction!(audit::audit_summary, m)?)?;
    m.add_function(wrap_pyfunction!(audit::audit_page, m)?)?;
    Ok(())
}
