//! `crease lexicographic`: Nesterov's derivative along a basis. Section 5.2.

use super::printed;
use crate::along;
use crate::fault;
use crate::flags::OutputArgs;
use crate::source::SourceArgs;
use crate::vectors::Vectors;
use anyhow::Result;
use clap::Args;
use crease::inspect::{Basis, lexicographic};

/// The lexicographic derivative at a point
///
/// Localizes at x, then the result along the first direction of a basis, that along the second, and so on until no kink is left
/// (Nesterov's definition). What comes out is a Clarke subgradient. The basis is the identity unless --along is given as many times
/// as there are inputs, or --basis names a file.
#[derive(Args)]
#[command(after_help = "Examples:
  crease lexicographic -e 'relu(x) - relu(-x)' --at x=0
  crease lexicographic -e 'max(x, y) + abs(x)' --at x=0,y=0 --along x=-1 --along x=1,y=1 --trace
  crease lexicographic -e 'norm1(v)' --at v=[0,0] --basis basis.json --forward --json")]
pub struct Lexicographic {
    #[command(flatten)]
    source: SourceArgs,

    /// A direction of the basis, such as x=1,y=-1; names left out are 0
    #[arg(long, value_name = "DIRECTION", allow_hyphen_values = true)]
    along: Vec<String>,

    /// The basis as a JSON list of directions, such as [{"x": 1}, {"y": 1}] or [[1, 0], [0, 1]], or an NPY file with one in each row
    #[arg(long, value_name = "FILE", conflicts_with = "along")]
    basis: Option<String>,

    /// Also run the vector forward mode of Khan and Barton, and compare
    #[arg(long)]
    forward: bool,

    /// Show which direction settled which kink
    #[arg(long)]
    trace: bool,

    #[command(flatten)]
    asked: OutputArgs,
}

impl Lexicographic {
    pub fn run(&self) -> Result<String> {
        let source = self.source.load()?;
        let inputs = source.inputs()?;
        let directions = match &self.basis {
            Some(path) => Some(Vectors::read_directions(path)?.directions(&source)?),
            None if self.along.is_empty() => None,
            None => Some(self.along.iter().map(|d| along::vector("--along", d, &source)).collect::<Result<_>>()?),
        };
        let basis = Basis { directions, forward: self.forward, trace: self.trace };
        let answer = lexicographic(&source.program, &inputs, &basis, &self.asked.ask()?).map_err(fault::inspect)?;
        Ok(printed(&answer, self.asked.json))
    }
}
