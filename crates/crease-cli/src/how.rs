//! How to differentiate: `--select` and `--technique`.

use anyhow::Result;
use clap::Args;
use crease::Limits;
use crease_core::MAX_INLINED;
use crease_core::differentiate::{How, Mode, Selection, Technique};
use std::ops::Deref;

/// The flags that say how to differentiate.
#[derive(Args)]
pub struct HowArgs {
    /// What is picked at kinks: paper, torch, jax or tensorflow, and names such as relu=1/2, abs=0, max=last
    #[arg(long, value_name = "SEL", default_value = "paper", allow_hyphen_values = true)]
    select: String,

    /// How calls are differentiated: auto, through, backward, forward or joint; CALLEE=TECHNIQUE is for one callee
    #[arg(long, value_name = "TECHNIQUE", value_parser = technique)]
    technique: Vec<(Option<String>, Technique)>,

    /// Refuse to expand calls to more calls and equations than this
    #[arg(long, value_name = "N", default_value_t = MAX_INLINED)]
    max_equations: u64,
}

/// How to differentiate, and beside it the limit on equations, which the costs of what is differentiated keep to as well.
pub struct Told {
    how: How,
    /// What calls may be expanded to, [`Limits::equations`](crease::Limits::equations).
    pub max_equations: u64,
}

impl Deref for Told {
    type Target = How;

    fn deref(&self) -> &How {
        &self.how
    }
}

impl HowArgs {
    /// The flags as the library takes them, checked, for work that keeps to no other limits.
    pub fn read(&self) -> Result<Told> {
        let how = self.how()?.max_equations(self.max_equations);
        Ok(Told { how, max_equations: self.max_equations })
    }

    /// The flags as the library takes them, checked; what calls may be expanded to is for [`limits`](Self::limits) to say.
    pub fn how(&self) -> Result<How> {
        let selection = Selection::parse(&self.select)?;
        selection.validate()?;
        let how = How::default().select(selection);
        Ok(self.technique.iter().fold(how, |how, (callee, technique)| match callee {
            None => how.technique(*technique),
            Some(name) => how.callee(name, *technique),
        }))
    }

    /// These limits, with that on equations.
    pub fn limits(&self, limits: Limits) -> Limits {
        Limits { equations: self.max_equations, ..limits }
    }
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
