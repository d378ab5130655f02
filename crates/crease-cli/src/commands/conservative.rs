//! `crease conservative`: the autodiff conservative gradient, a singleton or not, and which choices show that.

use super::printed;
use crate::along;
use crate::fault;
use crate::flags::OutputArgs;
use crate::source::SourceArgs;
use anyhow::Result;
use clap::Args;
use crease::inspect::{Ask, conservative};

/// What automatic differentiation can return at a point
///
/// At every kink a convention may pick any convex combination of the sides; the set of all gradients that can come out is the
/// conservative gradient of the program. If it has one element, the program is differentiable here and that is its gradient. Else
/// two elements are shown, with the choices at each kink that give them, and bounds between which all of them lie.
#[derive(Args)]
#[command(after_help = "Examples:
  crease conservative -e 'relu(x) - relu(-x)' --at x=0
  crease conservative -e 'max(x, y)' --at x=0,y=0 --contains x=1/2,y=1/2
  crease conservative -e 'abs(x) - abs(x)' --at x=0 --json")]
pub struct Conservative {
    #[command(flatten)]
    source: SourceArgs,

    /// Ask where a vector lies, such as the answer of a framework; names left out are 0
    #[arg(long, value_name = "VECTOR", allow_hyphen_values = true)]
    contains: Option<String>,

    #[command(flatten)]
    within: along::WithinArgs,

    #[command(flatten)]
    asked: OutputArgs,
}

impl Conservative {
    pub fn run(&self) -> Result<String> {
        let source = self.source.load()?;
        let inputs = source.inputs()?;
        let contains = self.contains.as_deref().map(|v| along::vector("--contains", v, &source)).transpose()?;
        let ask = Ask { within: self.within.within.clone(), ..self.asked.ask()? };
        let answer = conservative(&source.program, &inputs, contains, &ask).map_err(fault::inspect)?;
        let mut out = printed(&answer, self.asked.json);
        if !self.asked.json {
            let asked = answer.answer.as_ref().ok().and_then(|told| told.asked.as_ref());
            out.extend(along::advice(asked));
        }
        Ok(out)
    }
}
