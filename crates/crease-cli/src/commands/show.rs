//! `crease show`: a program in its own language, as it is or transformed.

use crate::flags::DeadlineArgs;
use crate::how::{Direction, HowArgs};
use crate::source::SourceArgs;
use crate::transform::TransformArgs;
use crate::writer::Writer;
use anyhow::Result;
use clap::Args;
use crease::show;

/// Print a program, or one derived from it
///
/// What is printed is a program again: it can be stored, run, costed and differentiated. The transformations are applied
/// in the order in which they are listed here, whatever the order of the flags.
#[derive(Args)]
#[command(after_help = "Examples:
  crease show -e 'relu(x) - relu(-x)' --derive backprop
  crease show network.crease --derive gradient --inline --simplify
  crease show -e 'max(abs(x), y)' --lower D0
  crease show -e 'x^2' --derive backprop | crease eval - --at x=3")]
pub struct Show {
    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    how: HowArgs,

    /// The direction in which a Jacobian is computed
    #[arg(long, default_value = "backward")]
    mode: Direction,

    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,

    #[command(flatten)]
    _deadline: DeadlineArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    // last, because its heading would go on over what follows
    #[command(flatten)]
    transform: TransformArgs,
}

impl Show {
    pub fn run(&self) -> Result<String> {
        let source = self.source.load()?;
        let p = self.transform.apply(&source, &self.how, self.mode)?;
        let mut text = p.to_string();
        if self.json {
            let shape = |dims: &[usize]| dims.iter().copied().collect::<serde_json::Value>();
            let inputs = p
                .inputs()
                .iter()
                .map(|i| show::object([("name", (&*i.name).into()), ("shape", shape(i.shape.dims()))]));
            text = show::json(&show::object([
                ("name", p.name().into()),
                ("inputs", inputs.collect()),
                ("outputs", p.outputs().iter().map(|&o| shape(p.atom_shape(o).dims())).collect()),
                ("equations", p.len().into()),
                ("level", p.level().into()),
                ("program", text.into()),
            ]));
        }
        match &self.output {
            Some(path) => {
                Writer::file(path)?.all(&text)?;
                Ok(String::new())
            }
            None => Ok(text),
        }
    }
}
