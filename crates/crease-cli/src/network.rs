//! Networks in ONNX: `FILE.onnx`, `--batch`, `--dim`, `--weights` and `--element`.
//!
//! Data outside a model is read from the folder of the model and what is in it, after links have been followed.

use anyhow::{Result, anyhow, bail};
use clap::Args;
use crease_core::{Atom, Builder, Program, printable};
use crease_formats::onnx::{External, Limits, Network, Options, ReadGiven, Weights, parse_onnx, read_beside};
use std::path::Path;
use std::sync::Arc;

/// The flags that say how to read a network, and which of its outputs is meant.
#[derive(Args, Default)]
pub struct NetworkArgs {
    /// The size of first axes that an ONNX file leaves open; 1 unless the point has more
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: Option<u32>,

    /// The size of another axis that an ONNX file leaves open, by its name or as input:axis, such as height=224 or x:2=224
    #[arg(long = "dim", value_name = "NAME=N", value_parser = dimension)]
    dims: Vec<(String, usize)>,

    /// Take the weights of an ONNX file as inputs; a point that leaves them out means those of the file
    #[arg(long)]
    weights: bool,

    /// Keep one number of the outputs: element K of all of them, one after the other, counted from 0
    #[arg(long, value_name = "K")]
    element: Option<usize>,
}

fn dimension(text: &str) -> Result<(String, usize), String> {
    let wrong = || format!("`{text}` is no size; write height=224, or x:2=224 for axis 2 of input x");
    let (name, size) = text.rsplit_once('=').ok_or_else(wrong)?;
    let size = size.parse().ok().filter(|&n: &usize| n > 0).ok_or_else(wrong)?;
    Ok((name.into(), size))
}

impl NetworkArgs {
    /// The same flags as arguments of another command.
    pub fn arguments(&self) -> Vec<String> {
        let mut all: Vec<String> = self.dims.iter().map(|(name, size)| format!("--dim={name}={size}")).collect();
        all.extend(self.batch.map(|n| format!("--batch={n}")));
        all.extend(self.element.map(|k| format!("--element={k}")));
        all.extend(self.weights.then(|| "--weights".to_string()));
        all
    }

    /// Refuses flags that are for networks only.
    pub fn for_programs(&self) -> Result<()> {
        if self.batch.is_some() || !self.dims.is_empty() || self.weights {
            bail!("--batch, --dim and --weights are for ONNX files");
        }
        Ok(())
    }

    /// Reads a network; the shapes are those of the point, by names, and it has the numbers of inputs that are no variables.
    pub fn read(
        &self,
        bytes: &[u8],
        path: &str,
        shapes: &[(String, Vec<usize>)],
        given: ReadGiven<'_>,
    ) -> Result<Network> {
        let inside = |e: &External| read_beside(Path::new(path), e);
        let name = Path::new(path).file_name().and_then(|n| n.to_str()).unwrap_or(path);
        let options = Options {
            name: if path == "-" { "<stdin>" } else { name },
            weights: if self.weights { Weights::Inputs } else { Weights::Constants },
            batch: self.batch.map_or(1, |n| n as usize),
            dims: &self.dims,
            // what is said counts more than what a point happens to have
            shapes: if self.batch.is_some() { &[] } else { shapes },
            given: Some(given),
            external: if path == "-" { None } else { Some(&inside) },
            limits: Limits { memory: crate::flags::memory(), ..Limits::DEFAULT },
        };
        let told = if path == "-" { "<stdin>".into() } else { printable(path) };
        parse_onnx(bytes, &options).map_err(|e| anyhow!("{told}: {e}"))
    }

    /// The program with the one number as its output that was asked for.
    pub fn picked(&self, p: Arc<Program>) -> Result<Arc<Program>> {
        let Some(element) = self.element else { return Ok(p) };
        let mut left = element;
        for (i, &output) in p.outputs().iter().enumerate() {
            let n = p.atom_shape(output).len();
            if left < n {
                return Ok(Arc::new(one_element(&p, i, left)?));
            }
            left -= n;
        }
        bail!("there is no element {element}: the outputs of `{}` have {}, counted from 0", p.name(), element - left);
    }
}

/// The program with an element of an output as its only output.
fn one_element(p: &Program, output: usize, element: usize) -> Result<Program, crease_core::BuildError> {
    let mut b = Builder::new(p.name());
    let inputs =
        p.inputs().iter().map(|i| b.input(i.name.clone(), i.shape.clone())).collect::<Result<Vec<Atom>, _>>()?;
    let whole = b.splice(p, &inputs)?[output];
    let one = match whole {
        Atom::Const(_) => whole,
        Atom::Value(_) if b.shape(whole).is_scalar() => whole,
        Atom::Value(_) => {
            let flat = b.flatten(whole)?;
            b.at(flat, &[element])?
        }
    };
    b.finish(&[one])
}
