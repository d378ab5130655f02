//! What the interpreter runs where a run is handed over to it: the program itself, or its derivative, which is made when it is first
//! needed.

use crate::error::EngineError;
use crease_core::differentiate::{self, How, backprop};
use crease_core::{BuildError, Program};
use std::sync::OnceLock;

/// How the program that was compiled comes from the one that is kept.
pub(crate) enum Derive {
    /// It is the same.
    Same,
    /// Its value, and the derivatives by these inputs.
    Gradient(How, Vec<usize>),
    Jvp(How),
    Vjp(How),
}

/// A program that defines what compiled code must say.
pub(crate) struct Reference {
    program: Program,
    derive: Derive,
    derived: OnceLock<Program>,
}

impl Reference {
    pub fn new(program: &Program, derive: Derive) -> Self {
        Reference { program: program.clone(), derive, derived: OnceLock::new() }
    }

    /// The program for the interpreter.
    pub fn program(&self) -> Result<&Program, EngineError> {
        if let Derive::Same = self.derive {
            return Ok(&self.program);
        }
        if let Some(known) = self.derived.get() {
            return Ok(known);
        }
        let derived = self.derive()?;
        Ok(self.derived.get_or_init(|| derived))
    }

    fn derive(&self) -> Result<Program, EngineError> {
        let p = &self.program;
        Ok(match &self.derive {
            Derive::Same => p.clone(),
            Derive::Gradient(how, wrt) => gradient(p, wrt, how)?,
            Derive::Jvp(how) => differentiate::jvp(p, how)?,
            Derive::Vjp(how) => differentiate::vjp(p, how)?,
        })
    }
}

/// The derived program of the value and of the derivatives by some inputs.
pub(crate) fn gradient(p: &Program, wrt: &[usize], how: &How) -> Result<Program, EngineError> {
    let outputs: Vec<usize> = [0].into_iter().chain(wrt.iter().map(|i| i + 1)).collect();
    Ok(backprop(p, how)?.with_outputs(&outputs).ok_or(BuildError::NoOutput)?)
}
