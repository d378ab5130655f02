//! How to differentiate: `--select` and `--technique`.

use crate::flags::LimitArgs;
use anyhow::Result;
use clap::Args;
use crease::Limits;
use crease_core::MAX_INLINED;
use crease_core::differentiate::{How, Mode, Selection, Technique};
use crease_core::op::Framework;

/// The flags that say how to differentiate.
#[derive(Args)]
pub struct HowArgs {
    /// What is picked at kinks: paper, torch, jax or tensorflow, and names such as relu=1/2, abs=0, max=last
    #[arg(long, value_name = "SEL", default_value = "paper", allow_hyphen_values = true, long_help = presets())]
    select: String,

    /// How calls are differentiated: auto, through, backward, forward or joint; CALLEE=TECHNIQUE is for one callee
    #[arg(long, value_name = "TECHNIQUE", value_parser = technique)]
    technique: Vec<(Option<String>, Technique)>,

    /// Refuse to expand calls to more calls and equations than this
    #[arg(long, value_name = "N", default_value_t = MAX_INLINED)]
    pub max_equations: u64,
}

impl HowArgs {
    /// The flags as the library takes them, checked.
    pub fn read(&self) -> Result<How> {
        let selection = Selection::parse(&self.select)?;
        selection.validate()?;
        let how = How::default().select(selection).max_equations(self.max_equations);
        Ok(self.technique.iter().fold(how, |how, (callee, technique)| match callee {
            None => how.technique(*technique),
            Some(name) => how.callee(name, *technique),
        }))
    }

    /// The same, and these limits with those that are set by name; `--limit equations=N` says what `--max-equations N` does.
    pub fn read_within(&self, limits: Limits, set: &LimitArgs) -> Result<(How, Limits)> {
        let how = self.read()?;
        let limits = set.set(Limits { equations: self.max_equations, ..limits })?;
        Ok((how.max_equations(limits.equations), limits))
    }
}

/// What the presets are, and where the frameworks that they are named after return something else.
fn presets() -> String {
    let mut out =
        "What is picked at kinks: paper, torch, jax or tensorflow, and names such as relu=1/2, abs=0, max=last"
            .to_string();
    for framework in Framework::all() {
        out += &format!("\n\n{} picks as {framework} does", framework.preset);
        match framework.departures {
            [] => out.push('.'),
            _ => out += ". Where that returns NaN, infinity or something else, the preset does not:",
        }
        framework.departures.iter().for_each(|d| out += &format!("\n  {d}"));
    }
    out
}

fn technique(text: &str) -> Result<(Option<String>, Technique), String> {
    let (callee, name) = match text.split_once('=') {
        Some((callee, name)) => (Some(callee.to_string()), name),
        None => (None, text),
    };
    match Technique::from_name(name) {
        Some(technique) => Ok((callee, technique)),
        None => Err("use auto, through, backward, forward or joint".into()),
    }
}

/// In which direction derivatives travel.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Direction {
    /// From the output to the inputs: backprop
    Backward,
    /// From the inputs to the output: forprop
    Forward,
}

impl From<Direction> for Mode {
    fn from(d: Direction) -> Mode {
        match d {
            Direction::Backward => Mode::Backward,
            Direction::Forward => Mode::Forward,
        }
    }
}
