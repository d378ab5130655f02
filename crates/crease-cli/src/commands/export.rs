//! `crease export`: a program or its derivative as a network in ONNX, for any runtime.

use crate::fault;
use crate::flags::DeadlineArgs;
use crate::how::HowArgs;
use crate::source::{Source, SourceArgs};
use crate::writer::Writer;
use anyhow::{Result, bail};
use clap::Args;
use crease::show::{self, object};
use crease_core::Program;
use crease_core::differentiate::{How, backprop, directional, vjp};
use crease_formats::onnx::{Element, WRITTEN_OPSET, WriteError, WriteOptions, write_onnx};
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// Write a program, or its derivative, as a network in ONNX
///
/// What is written runs in any runtime for ONNX (operators of version 18), derivatives included: what is picked at kinks (--select) is part of the program. Inputs keep their names; the
/// derivative by input x is the output grad_x. With --vjp the adjoints of outputs are inputs adjoint0, adjoint1 and so on; with --directional the tangents of x are the input dx, and
/// the derivative of output y is tangent_y. Numbers are rounded to the nearest of
/// --dtype, and nothing else is. Calls are expanded; selections become `If`, so that branches that are not taken are not computed.
#[derive(Args)]
#[command(after_help = "Examples:
  crease export -e 'relu(x) - relu(-x)' --value-and-grad -o identity.onnx
  crease export net.onnx --element 3 --grad --select torch -o grad.onnx
  crease export net.onnx --vjp -o vjp.onnx
  crease export lasso.crease --grad --wrt w --dtype f64 -o lasso.onnx --json
  crease export -e 'max(x, y)' --directional 1 -o directional.onnx")]
pub struct Export {
    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    how: HowArgs,

    /// The gradient of the one scalar output
    #[arg(long, group = "what")]
    grad: bool,

    /// The value and the gradient of the one scalar output
    #[arg(long, group = "what")]
    value_and_grad: bool,

    /// The outputs, and adjoints times Jacobian; takes an adjoint for each output
    #[arg(long, group = "what")]
    vjp: bool,

    /// The outputs, and their directional derivatives, right at kinks, along N directions at a time; takes tangents for each input
    #[arg(long, group = "what", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    directional: Option<u32>,

    /// Differentiate by these inputs only
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "what")]
    wrt: Vec<String>,

    /// The type of all numbers: f32 or f64
    #[arg(long, value_name = "TYPE", default_value = "f32", value_parser = element)]
    dtype: Element,

    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: String,

    #[command(flatten)]
    _deadline: DeadlineArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn element(name: &str) -> Result<Element, String> {
    Element::from_name(name).ok_or_else(|| "use f32 or f64".into())
}

/// What was written.
struct Exported {
    file: String,
    bytes: usize,
    opset: i64,
    dtype: &'static str,
    derivative: Option<&'static str>,
    selection: Option<String>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

/// An input or output of the network.
struct Port {
    name: String,
    shape: Vec<usize>,
}

impl Exported {
    fn json(&self) -> Value {
        let ports = |all: &[Port]| -> Value {
            let one =
                |p: &Port| object([("name", p.name.clone().into()), ("shape", p.shape.iter().copied().collect())]);
            all.iter().map(one).collect()
        };
        object([
            ("file", self.file.clone().into()),
            ("bytes", self.bytes.into()),
            ("opset", self.opset.into()),
            ("dtype", self.dtype.into()),
            ("derivative", self.derivative.into()),
            ("selection", self.selection.clone().into()),
            ("inputs", ports(&self.inputs)),
            ("outputs", ports(&self.outputs)),
        ])
    }
}

impl fmt::Display for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports = |all: &[Port]| {
            let one = |p: &Port| if p.shape.is_empty() { p.name.clone() } else { format!("{}{:?}", p.name, p.shape) };
            all.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        writeln!(f, "{}: {} bytes, ONNX operators {}, {}", self.file, self.bytes, self.opset, self.dtype)?;
        writeln!(f, "inputs   {}", ports(&self.inputs))?;
        writeln!(f, "outputs  {}", ports(&self.outputs))?;
        match (self.derivative, &self.selection) {
            (Some(what), Some(selection)) => writeln!(f, "holds    {what}; at kinks {selection}"),
            (Some(what), None) => writeln!(f, "holds    {what}"),
            (None, _) => Ok(()),
        }
    }
}

/// A program, the names of its inputs that are not as they were, and those of its outputs.
struct Derived {
    program: Arc<Program>,
    outputs: Vec<String>,
    what: Option<&'static str>,
    /// Whether something is picked at kinks.
    selects: bool,
}

impl Export {
    pub fn run(&self) -> Result<String> {
        let out = Writer::file(&self.output)?;
        let source = self.source.load()?;
        let how = self.how.read()?;
        let derived = self.derived(&source, &how)?;
        let p = &derived.program;
        let mut taken: HashSet<String> = p.inputs().iter().map(|i| i.name.to_string()).collect();
        let mut names = derived.outputs;
        for name in &mut names {
            // an output may be an input, but not be called like it
            while !taken.insert(name.clone()) {
                name.push('_');
            }
        }
        let selection = derived.selects.then(|| how.selection.to_string());
        let mut facts = vec![("crease.program".to_string(), source.program.name().to_string())];
        facts.extend(derived.what.map(|what| ("crease.derivative".into(), what.into())));
        facts.extend(selection.clone().map(|s| ("crease.selection".into(), s)));
        let about = match (derived.what, &selection) {
            (Some(what), Some(s)) => format!(
                "{what}, by automatic differentiation: the derivative wherever no kink is met, else an element of the conservative gradient, with the choices {s}"
            ),
            (Some(what), None) => what.into(),
            (None, _) => String::new(),
        };
        let options = WriteOptions {
            element: self.dtype,
            outputs: &names,
            about: &about,
            facts: &facts,
            max_equations: self.how.max_equations,
        };
        let bytes = write_onnx(p, &options).map_err(told)?;
        let shape = |dims: &[usize]| dims.to_vec();
        let exported = Exported {
            file: self.output.clone(),
            bytes: bytes.len(),
            opset: WRITTEN_OPSET,
            dtype: self.dtype.name(),
            derivative: derived.what,
            selection,
            inputs: p
                .inputs()
                .iter()
                .map(|i| Port { name: i.name.to_string(), shape: shape(i.shape.dims()) })
                .collect(),
            outputs: (names.iter().zip(p.outputs()))
                .map(|(name, &o)| Port { name: name.clone(), shape: shape(p.atom_shape(o).dims()) })
                .collect(),
        };
        out.all(&bytes)?;
        Ok(if self.json { show::json(&exported.json()) } else { exported.to_string() })
    }

    fn derived(&self, source: &Source, how: &How) -> Result<Derived> {
        let p = &source.program;
        let values = source.output_names();
        let wrt = self.wrt(p)?;
        let by: Vec<String> = wrt.iter().map(|&i| format!("grad_{}", p.inputs()[i].name)).collect();
        // derived programs return what the program does, then one derivative for each input
        let kept = |d: Program, first: usize| {
            let skipped = p.outputs().len();
            let outputs: Vec<usize> = (first..skipped).chain(wrt.iter().map(|i| skipped + i)).collect();
            d.with_outputs(&outputs).map(Arc::new).ok_or(crease_core::BuildError::NoOutput)
        };
        if self.grad || self.value_and_grad {
            let d = backprop(p, how)?;
            let (first, what) = if self.grad { (1, "gradient") } else { (0, "value and gradient") };
            let outputs = values[first.min(values.len())..].iter().cloned().chain(by).collect();
            return Ok(Derived { program: kept(d, first)?, outputs, what: Some(what), selects: true });
        }
        if self.vjp {
            let outputs = values.into_iter().chain(by).collect();
            let what = Some("values and adjoints times Jacobian");
            return Ok(Derived { program: kept(vjp(p, how)?, 0)?, outputs, what, selects: true });
        }
        if let Some(n) = self.directional {
            let d = directional(p, &wrt, n as usize)?;
            let outputs = values.iter().cloned().chain(values.iter().map(|v| format!("tangent_{v}"))).collect();
            let what = Some("values and directional derivatives");
            return Ok(Derived { program: Arc::new(d), outputs, what, selects: false });
        }
        Ok(Derived { program: p.clone(), outputs: values, what: None, selects: false })
    }

    /// The numbers of the inputs to differentiate by.
    fn wrt(&self, p: &Program) -> Result<Vec<usize>> {
        if self.wrt.is_empty() {
            return Ok((0..p.inputs().len()).collect());
        }
        let find = |name: &String| match p.inputs().iter().position(|i| *i.name == **name) {
            Some(i) => Ok(i),
            None => {
                let all: Vec<&str> = p.inputs().iter().take(8).map(|i| &*i.name).collect();
                bail!("--wrt: `{}` has no input `{name}`; it has {}", p.name(), all.join(", "))
            }
        };
        self.wrt.iter().map(find).collect()
    }
}

fn told(e: WriteError) -> anyhow::Error {
    match e {
        WriteError::Constant { site: Some(site), value, element } => {
            let help = "the largest f32 is about 3.4e38; --dtype f64 reaches further";
            fault::at_site(format!("a constant of about {value:e} does not fit into {element}"), &site, Some(help))
        }
        WriteError::Nested { site: Some(site), limit } => fault::at_site(
            format!("selections are nested more than {limit} deep, more than an ONNX file can be"),
            &site,
            None,
        ),
        other => other.into(),
    }
}
