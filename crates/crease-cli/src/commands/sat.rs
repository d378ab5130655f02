//! `crease sat`: a formula decided by asking whether its program is differentiable, answered like a SAT solver.

use super::differentiable::write_certificate;
use super::reduce::{Form, read_formula};
use crate::budget::{Budget, watched};
use crate::flags;
use crate::writer::Writer;
use anyhow::Result;
use clap::Args;
use crease::inspect::counts;
use crease::oracles::Effort;
use crease::reductions::{Cnf, Satisfiability, Solved, solve};
use crease::show;
use serde_json::Value;
use std::path::PathBuf;

/// Decide a formula by asking whether its program is differentiable at 0
///
/// The formula becomes a program that is differentiable at 0 unless the formula is satisfiable (see `crease reduce`). If it is not, a direction along
/// which it grows is a model, which is checked against the clauses. The answer is that of SAT solvers: `s SATISFIABLE` with the model in
/// lines that start with `v`, `s UNSATISFIABLE` or `s UNKNOWN`, and the exit code 10, 20 or 0.
#[derive(Args)]
#[command(after_help = "Examples:
  crease sat formula.cnf
  crease sat formula.cnf --form network --certificate why.txt
  crease sat - --seconds 10 < formula.cnf")]
pub struct Sat {
    /// A file in DIMACS format; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: String,

    /// How the program is written
    #[arg(long, default_value = "lattice")]
    form: Form,

    #[command(flatten)]
    budget: Budget,

    /// Write the certificate that the program is differentiable, or is not, to this file
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Sat {
    /// What is to be printed, and the exit code.
    pub fn run(&self) -> Result<(String, i32)> {
        let cnf = read_formula(&self.file)?;
        let certificate = Writer::optional(self.certificate.as_deref())?;
        let limits = self.budget.within(flags::search_limits())?;
        let solved = watched(|watch| {
            let effort = Effort { limits, proof: self.certificate.is_some(), watch: Some(watch), ..Effort::default() };
            solve(&cnf, self.form.into(), &effort)
        })?;
        let written = write_certificate(certificate, || Ok(solved.decision.certificate()))?;
        // what an older file holds must not be taken for an answer to this
        let missing = self.certificate.is_some() && !written;
        let (word, code) = match &solved.answer {
            Satisfiability::Satisfiable(_) => ("SATISFIABLE", 10),
            Satisfiability::Unsatisfiable => ("UNSATISFIABLE", 20),
            Satisfiability::Unknown(_) => ("UNKNOWN", 0),
        };
        let text = match self.json {
            true => show::json(&json(word, &cnf, &solved, written)),
            false if missing => format!("c no certificate was written\n{}", text(word, &cnf, &solved)),
            false => text(word, &cnf, &solved),
        };
        Ok((text, code))
    }
}

/// The numbers of a model: variables that are true, and the others negated.
fn literals(model: &[bool]) -> impl Iterator<Item = i64> + '_ {
    model.iter().zip(1..).map(|(&on, n): (_, i64)| if on { n } else { -n })
}

fn text(word: &str, cnf: &Cnf, solved: &Solved) -> String {
    let c = &solved.decision.counts;
    let mut out = format!(
        "c {} variables, {} clauses; a program of {} equations, {} relus\nc {} propositions, {} conflicts, {} lemmas of arithmetic\n",
        cnf.variables,
        cnf.clauses.len(),
        solved.program.len(),
        c.relus,
        c.atoms,
        c.conflicts,
        c.lemmas
    );
    if let Satisfiability::Unknown(limit) = &solved.answer {
        out.push_str(&format!("c {limit}\n"));
    }
    out.push_str(&format!("s {word}\n"));
    if let Satisfiability::Satisfiable(model) = &solved.answer {
        let mut line = String::from("v");
        for n in literals(model).chain([0]) {
            let next = format!(" {n}");
            if line.len() + next.len() > 78 {
                out.push_str(&line);
                out.push('\n');
                line = "v".into();
            }
            line.push_str(&next);
        }
        out.push_str(&line);
        out.push('\n');
    }
    out
}

fn json(word: &str, cnf: &Cnf, solved: &Solved, certificate: bool) -> Value {
    let mut members: Vec<(&str, Value)> = vec![
        ("verdict", word.to_lowercase().into()),
        ("variables", cnf.variables.into()),
        ("clauses", cnf.clauses.len().into()),
        ("equations", solved.program.len().into()),
    ];
    match &solved.answer {
        Satisfiability::Satisfiable(model) => members.push(("model", literals(model).collect())),
        Satisfiability::Unknown(limit) => members.push(("limit", limit.to_string().into())),
        Satisfiability::Unsatisfiable => {}
    }
    members.push(("search", counts(&solved.decision)));
    members.push(("certificate", certificate.into()));
    show::object(members)
}
