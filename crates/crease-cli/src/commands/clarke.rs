//! `crease clarke`: one Clarke subgradient, and the direction that shows it; with `--all`, all neighbouring gradients.

use super::printed;
use crate::fault;
use crate::flags::{self, PrecisionArgs};
use crate::listing::Listing;
use crate::source::SourceArgs;
use anyhow::Result;
use clap::Args;
use crease::inspect::{Ask, clarke};

/// One Clarke subgradient at a point, or all limits of gradients
///
/// Takes a random direction d and returns what the gradient at x + t d tends to as t > 0 becomes small: a limit of gradients,
/// hence a Clarke subgradient, whatever automatic differentiation would say at x. The direction is part of the answer, so that it
/// can be checked. The cost does not depend on the number of inputs.
///
/// With --all, lists all limits of gradients, and says which are vertices of the Clarke subdifferential, their convex hull. There can
/// be exponentially many. Ctrl-C and limits end it with what was found so far.
#[derive(Args)]
#[command(after_help = "Examples:
  crease clarke -e 'relu(x) - relu(-x)' --at x=0
  crease clarke -e 'norm1(v)' --at v=[0,0,1] --seed 3 --json
  crease clarke --all -e 'max(x, y) - relu(x)' --at x=0,y=0 --contains x=1/2 --stationary
  crease clarke --all network.crease --at x=0 --seconds 10 --json")]
pub struct Clarke {
    #[command(flatten)]
    source: SourceArgs,

    /// The output that is asked about, counted from 0, where there are several
    #[arg(long, value_name = "K")]
    output: Option<usize>,

    /// Where the random directions begin; another seed may give another subgradient
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// List all limits of gradients
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    precision: PrecisionArgs,

    #[command(flatten)]
    listing: Listing,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Clarke {
    pub fn run(&self) -> Result<String> {
        let source = self.source.load()?;
        let limits = if self.all { flags::search_limits() } else { flags::limits() };
        let limits = self.precision.within(limits);
        let ask = Ask { output: self.output, seed: self.seed, limits, ..Ask::default() };
        if self.all {
            return self.listing.run(&source, ask, self.json);
        }
        let ask = Ask { limits: self.listing.time.within(ask.limits)?, ..ask };
        let answer = clarke(&source.program, &source.inputs()?, &ask).map_err(fault::inspect)?;
        Ok(printed(&answer, self.json))
    }
}
