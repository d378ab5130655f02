//! `crease cost`: what a program costs, which dictionary it is over, and Theorem 2.

use crate::commands::printed;
use crate::flags::{DeadlineArgs, LimitArgs};
use crate::how::HowArgs;
use crate::source::SourceArgs;
use crate::transform::dictionary;
use anyhow::{Result, anyhow, bail};
use clap::Args;
use crease::Limits;
use crease::costed::costed;
use crease_core::Rational;
use crease_core::cost::Prices;
use crease_core::dictionary::Dictionary;

/// Count what a program costs, and what its derivatives cost
///
/// Costs are linear forms in 1 (additions and multiplications), c_nonlin (other smooth operations) and c_relu (sign
/// evaluations and comparisons). Of a derived program, `counted` is the cost of the program that crease emits, `model` the
/// formula in the proof of Theorem 2, and omega the theorem's bound on the overhead: counted <= model <= omega * cost.
/// Counts are exact whatever their size; in JSON, those beyond 63 bits are strings of digits. Nothing that is counted is run, and the
/// columns of forward mode are not emitted.
#[derive(Args)]
#[command(after_help = "Examples:
  crease cost -e 'relu(x) - relu(-x)'
  crease cost network.crease --prices c_nonlin=2,c_relu=1/2
  crease cost -e '2 * relu(x) + exp(y)' --dictionary D0")]
pub struct Cost {
    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    how: HowArgs,

    /// The prices of operations, such as c_nonlin=2,c_relu=1/2; 1 unless told
    #[arg(long, value_name = "PRICES", allow_hyphen_values = true)]
    prices: Option<String>,

    /// Tell which operations put the program outside a dictionary: D0, relu, relu' or polynomial
    #[arg(long, value_name = "DICTIONARY", value_parser = dictionary)]
    dictionary: Option<Dictionary>,

    #[command(flatten)]
    limit: LimitArgs,

    #[command(flatten)]
    _deadline: DeadlineArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Cost {
    pub fn run(&self) -> Result<String> {
        let source = self.source.load()?;
        let (how, _) = self.how.read_within(Limits::default(), &self.limit)?;
        let prices = self.prices.as_deref().map_or(Ok(Prices::unit()), read_prices)?;
        Ok(printed(&costed(&source.program, &how, &prices, self.dictionary)?, self.json))
    }
}

/// Reads prices such as c_nonlin=2,c_relu=1/2.
pub fn read_prices(text: &str) -> Result<Prices> {
    let mut prices = Prices::unit();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (name, value) = part.split_once('=').ok_or_else(|| anyhow!("`{part}` is no price; write c_relu=1/2"))?;
        let value: Rational =
            value.trim().parse().map_err(|_| anyhow!("`{}` is not a number; write {name}=1/2", value.trim()))?;
        let (slot, least) = match name.trim() {
            "c_nonlin" => (&mut prices.nonlin, 1),
            "c_relu" => (&mut prices.relu, 0),
            other => bail!("there is no price `{other}`; there are c_nonlin and c_relu, everything else costs 1"),
        };
        if value < Rational::from(least) {
            bail!("{} is {value}, but it must be at least {least}", name.trim());
        }
        *slot = value;
    }
    Ok(prices)
}
