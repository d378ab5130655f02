//! Programs from text and from ONNX files, and back.

use crate::error::{CreaseError, raise};
use crate::program::{Program, Structure};
use crease::Text;
use crease::formats::onnx::{self, Element, External, Weights, WriteOptions};
use crease::formats::{TextError, parse_dimacs, parse_expression_text, parse_point, parse_text};
use crease::reductions::sat_program;
use pyo3::prelude::*;
use std::sync::Arc;

fn text_error(e: &TextError, text: &Text) -> PyErr {
    let rendered = e.render(text.as_str(), text.name());
    raise(rendered.strip_prefix("error: ").unwrap_or(&rendered).trim_end())
}

/// The last program of a text, or the one of that name.
pub fn main_program(text: &str, file: &str, name: Option<&str>) -> PyResult<Arc<crease::Program>> {
    let text = Arc::new(Text::new(file, text));
    let module = parse_text(&text).map_err(|e| text_error(&e, &text))?;
    let found = match name {
        Some(name) => module.get(name).ok_or_else(|| {
            let all = module.names().collect::<Vec<_>>().join(", ");
            CreaseError::new_err(format!("{file} has no program `{name}`; it has {all}"))
        })?,
        None => module.main(),
    };
    Ok(found.clone())
}

/// Reads a program in the language of crease: `program f(x) = ...`, or an expression, whose free names are the inputs. Shapes of the inputs of an expression
/// can be told by `at`, a point such as "v=[1, 2, 3]".
///
/// >>> import crease
/// >>> crease.parse("relu(x) - relu(-x)").grad(0.0)
/// np.float64(0.0)
#[pyfunction]
#[pyo3(signature = (text, name = None, at = None))]
pub fn parse(text: &str, name: Option<&str>, at: Option<&str>) -> PyResult<Program> {
    let is_file = text.lines().map(str::trim_start).find(|l| !l.is_empty() && !l.starts_with('#'));
    let core = match is_file.is_some_and(|l| l.starts_with("program ") || l.starts_with("program\t")) {
        true => main_program(text, "<text>", name)?,
        false => {
            let point = at.map(parse_point).transpose().map_err(raise)?.unwrap_or_default();
            let text = Arc::new(Text::new("<text>", text));
            let p = parse_expression_text(&text, &|name| point.shape_of(name).cloned());
            Arc::new(p.map_err(|e| text_error(&e, &text))?)
        }
    };
    let structure = Structure::plain(&core);
    Ok(Program::new(core, structure))
}

/// Reads a program from a file: `.crease`; a network in ONNX, whose symbolic sizes are `batch` or as `dims` says; or a formula in DIMACS (`.cnf`), as the program of the paper that is
/// differentiable at 0 if and only if the formula cannot be satisfied.
#[pyfunction]
#[pyo3(signature = (path, name = None, batch = 1, dims = None, shapes = None))]
pub fn load(
    py: Python<'_>,
    path: std::path::PathBuf,
    name: Option<&str>,
    batch: usize,
    dims: Option<Vec<(String, usize)>>,
    shapes: Option<Vec<(String, Vec<usize>)>>,
) -> PyResult<Program> {
    let file = path.display().to_string();
    let bytes = std::fs::read(&path).map_err(|e| CreaseError::new_err(format!("cannot read {file}: {e}")))?;
    if path.extension().is_some_and(|e| e == "cnf") {
        let cnf = parse_dimacs(&bytes).map_err(|e| raise(e.render(&bytes, &file).trim_end()))?;
        let core = Arc::new(sat_program(&cnf).map_err(raise)?);
        let structure = Structure::plain(&core);
        return Ok(Program::new(core, structure));
    }
    if path.extension().is_none_or(|e| e != "onnx") {
        let text = String::from_utf8(bytes).map_err(|_| CreaseError::new_err(format!("{file} is no text")))?;
        let core = main_program(&text, &file, name)?;
        let structure = Structure::plain(&core);
        return Ok(Program::new(core, structure));
    }
    let (dims, shapes) = (dims.unwrap_or_default(), shapes.unwrap_or_default());
    let network = py.detach(|| {
        let external = |e: &External| onnx::read_beside(&path, e);
        let options = onnx::Options {
            name: &file,
            weights: Weights::Constants,
            batch,
            dims: &dims,
            shapes: &shapes,
            external: Some(&external),
            ..onnx::Options::default()
        };
        onnx::parse_onnx(&bytes, &options)
    });
    let network = network.map_err(raise)?;
    let core = Arc::new(network.program);
    let structure = Structure::plain(&core);
    Ok(Program::new(core, structure))
}

/// The operators of ONNX that are read, by name.
#[pyfunction]
pub fn onnx_operators() -> Vec<String> {
    onnx::operators().map(|(name, _)| name.to_string()).collect()
}

#[pymethods]
impl Program {
    /// Writes the program as a network in ONNX, in f32 or f64.
    #[pyo3(signature = (path, dtype = "f32"))]
    fn to_onnx(&self, py: Python<'_>, path: std::path::PathBuf, dtype: &str) -> PyResult<()> {
        let element = Element::from_name(dtype);
        let element = element.ok_or_else(|| CreaseError::new_err("the type of numbers is f32 or f64"))?;
        let options = WriteOptions { element, ..WriteOptions::default() };
        let bytes = py.detach(|| onnx::write_onnx(&self.core, &options)).map_err(raise)?;
        std::fs::write(&path, bytes).map_err(|e| CreaseError::new_err(format!("cannot write {}: {e}", path.display())))
    }

    /// The program as a graph: an SVG image, or DOT.
    #[pyo3(signature = (format = "svg"))]
    fn draw(&self, py: Python<'_>, format: &str) -> PyResult<String> {
        let how = crease_draw::Drawing::default();
        py.detach(|| match format {
            "svg" => crease_draw::svg(&self.core, &how).map_err(raise),
            "dot" => crease_draw::dot(&self.core, &how).map_err(raise),
            _ => Err(CreaseError::new_err("the format is svg or dot")),
        })
    }

    fn _repr_svg_(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| crease_draw::svg(&self.core, &crease_draw::Drawing::default()).ok())
    }
}
