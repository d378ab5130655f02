//! `crease directional`: F'(x; d) at kinks too, exactly. Section 5.1.

use super::printed;
use crate::along;
use crate::fault;
use crate::flags::{self, PrecisionArgs, TimeArgs};
use crate::source::{Source, SourceArgs};
use crate::vectors::Vectors;
use anyhow::{Result, bail};
use clap::Args;
use crease::Rational;
use crease::inspect::{Ask, At, Numbers, directional};

/// Directional derivatives at a point, at kinks too
///
/// The derivative of F along d is the limit of (F(x + t d) - F(x)) / t as t > 0 goes to 0. It exists at kinks, it is not linear in
/// d there, and no selection plays a part in it. Names that --along leaves out are 0. With --show the map from d to the derivative
/// is printed as a program, to be costed and drawn like any other.
///
/// With --float everything is compiled and run in f64, which is much faster for large programs and many directions. Ties are then those
/// that rounded values have; at each of them the derivative is still the one along the direction.
#[derive(Args)]
#[command(after_help = "Examples:
  crease directional -e 'abs(x)' --at x=0 --along x=-1 --along x=1
  crease directional -e 'max(x, y), x * y' --at x=1,y=1 --along x=1,y=-1 --json
  crease directional -e 'abs(x) + exp(x)' --at x=0 --show > local.crease
  crease directional network.crease --at weights.json --directions many.npy --float --json")]
pub struct Directional {
    #[command(flatten)]
    source: SourceArgs,

    /// A direction, such as x=1,y=-1, or a .json or .npy file; names left out are 0; may be repeated
    #[arg(long, value_name = "DIRECTION", required_unless_present_any = ["show", "directions"], allow_hyphen_values = true)]
    along: Vec<String>,

    /// A file of more directions: a JSON list such as [{"x": 1}, {"y": 1}] or [[1, 0], [0, 1]], or an NPY file with one in each row
    #[arg(long, value_name = "FILE")]
    directions: Option<String>,

    #[command(flatten)]
    precision: PrecisionArgs,

    #[command(flatten)]
    time: TimeArgs,

    /// Compute in f64, compiled
    #[arg(long, conflicts_with = "show")]
    float: bool,

    /// Print the local model as a program, from directions to derivatives
    #[arg(long, conflicts_with_all = ["along", "directions", "json"])]
    show: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Directional {
    pub fn run(&self) -> Result<String> {
        let source = self.source.load()?;
        let inputs = source.inputs()?;
        let numbers = if self.float { Numbers::Float } else { Numbers::Auto };
        let limits = self.time.within(self.precision.within(flags::limits()))?;
        let ask = Ask { numbers, limits, ..Ask::default() };
        if self.show {
            let at = At::new(&source.program, &inputs, &ask).map_err(fault::inspect)?;
            if !at.model().is_exact() {
                bail!("the local model has coefficients without exact values here, so no program says what it is");
            }
            return Ok(at.model().program()?.to_string());
        }
        let directions = self.read(&source)?;
        let answer = directional(&source.program, &inputs, &directions, &ask).map_err(fault::inspect)?;
        Ok(printed(&answer, self.json))
    }

    /// The directions of both flags.
    fn read(&self, source: &Source) -> Result<Vec<Vec<Rational>>> {
        let mut all = self.along.iter().map(|d| along::vector("--along", d, source)).collect::<Result<Vec<_>>>()?;
        if let Some(path) = &self.directions {
            all.extend(Vectors::read_directions(path)?.directions(source)?);
        }
        Ok(all)
    }
}
