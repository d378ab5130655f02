//! How to differentiate: `--select` and `--technique`.

use anyhow::Result;
use clap::Args;
use crease_core::differentiate::{How, Mode, Selection, Technique};
use crease_core::{MAX_INLINED, Program};

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

/// The callees whose derivative is taken from a joint program that their author wrote.
pub fn trusted_joints(p: &Program, how: &How) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for q in p.library().iter().map(|q| &**q).chain([p]) {
        for c in q.callees().iter().filter(|c| c.joint.is_some()) {
            let used = matches!(how.technique_of(c.program.name()), Technique::Auto | Technique::Joint);
            if used && !names.iter().any(|n| n == c.program.name()) {
                names.push(c.program.name().into());
            }
        }
    }
    names
}

/// In which direction derivatives travel.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Direction {
    /// From the output to the inputs: backprop
    Backward,
    /// From the inputs to the output: forprop
    Forward,
}

impl Direction {
    /// The word of the paper.
    pub fn word(self) -> &'static str {
        match self {
            Direction::Backward => "backprop",
            Direction::Forward => "forprop",
        }
    }
}

impl From<Direction> for Mode {
    fn from(d: Direction) -> Mode {
        match d {
            Direction::Backward => Mode::Backward,
            Direction::Forward => Mode::Forward,
        }
    }
}
