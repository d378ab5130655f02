//! Transformations of a program before it is shown or drawn: `--derive`, `--inline`, `--scalarize`, `--lower`, `--simplify`,
//! always in this order.

use crate::fault;
use crate::how::{Direction, HowArgs};
use crate::source::Source;
use anyhow::Result;
use clap::{Args, ValueEnum};
use crease_core::dictionary::{Dictionary, LowerError, lower};
use crease_core::differentiate::{self, DiffError, How};
use crease_core::{Program, inline_within, scalarize_within, simplify};
use std::sync::Arc;

/// The flags that transform a program.
#[derive(Args)]
#[command(next_help_heading = "Transformations, applied in this order")]
pub struct TransformArgs {
    /// Take a derived program instead of the program
    #[arg(long, value_name = "WHAT")]
    derive: Option<Derived>,

    /// Expand all calls
    #[arg(long)]
    inline: bool,

    /// Take tensors apart into scalars
    #[arg(long)]
    scalarize: bool,

    /// Rewrite in a smaller dictionary: D0, relu or polynomial
    #[arg(long, value_name = "DICTIONARY", value_parser = dictionary)]
    lower: Option<Dictionary>,

    /// Fold constants, share equal equations, remove what is not used
    #[arg(long)]
    simplify: bool,
}

/// The programs that can be derived from one.
#[derive(Clone, Copy, ValueEnum)]
enum Derived {
    /// Value and gradient, backward
    Backprop,
    /// Value and gradient, forward
    Forprop,
    /// Values and Jacobian times tangents
    Jvp,
    /// Values and adjoints times Jacobian
    Vjp,
    /// Values and Jacobian, in the direction of --mode
    Jacobian,
    /// The Hessian alone
    Hessian,
    /// The gradient alone
    Gradient,
}

/// Reads the name of a dictionary.
pub fn dictionary(name: &str) -> Result<Dictionary, String> {
    Dictionary::from_name(name).ok_or_else(|| "use D0, relu, relu', polynomial or extended".into())
}

impl TransformArgs {
    /// The program of a source, transformed as told.
    pub fn apply(&self, source: &Source, how: &HowArgs, mode: Direction) -> Result<Arc<Program>> {
        let mut p = source.program.clone();
        if let Some(derived) = self.derive {
            let how = how.read()?;
            p = Arc::new(derive(&p, derived, &how, mode)?);
        }
        if self.inline {
            p = Arc::new(inline_within(&p, how.max_equations)?);
        }
        if self.scalarize {
            p = Arc::new(scalarize_within(&p, how.max_equations)?);
        }
        if let Some(dictionary) = self.lower {
            p = Arc::new(lower(&p, dictionary).map_err(not_lowered)?);
        }
        if self.simplify {
            p = Arc::new(simplify(&p)?);
        }
        Ok(p)
    }
}

fn derive(p: &Program, what: Derived, how: &How, mode: Direction) -> Result<Program, DiffError> {
    match what {
        Derived::Backprop => differentiate::backprop(p, how),
        Derived::Forprop => differentiate::forprop(p, how),
        Derived::Jvp => differentiate::jvp(p, how),
        Derived::Vjp => differentiate::vjp(p, how),
        Derived::Jacobian => differentiate::jacobian(p, how, mode.into()),
        Derived::Hessian => differentiate::hessian(p, how),
        Derived::Gradient => differentiate::gradient(p, how),
    }
}

pub fn not_lowered(e: LowerError) -> anyhow::Error {
    match e {
        LowerError::Outside { outsider, dictionary } => {
            let message = format!("`{}` cannot be expressed in {dictionary}", outsider.item);
            fault::at_site(message, &outsider.site, None)
        }
        other => other.into(),
    }
}
