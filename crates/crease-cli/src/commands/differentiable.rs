//! `crease differentiable`: yes with the gradient, no with two subgradients, or unknown with the reason.

use super::printed;
use crate::budget::{Budget, watched};
use crate::fault;
use crate::flags::{self, PrecisionArgs};
use crate::source::SourceArgs;
use crate::writer::Writer;
use anyhow::Result;
use clap::Args;
use crease::inspect::{Ask, differentiable};
use std::path::PathBuf;

/// Whether a program is differentiable at a point
///
/// Answers yes with the gradient, no with two distinct Clarke subgradients and the directions along which they are limits of gradients,
/// or unknown with the limit that was hit. Deciding this is NP-hard, so a search may take long: it can be stopped with Ctrl-C, and limited. A yes or no is
/// exact, and --certificate writes down why, for `crease check`.
#[derive(Args)]
#[command(after_help = "Examples:
  crease differentiable -e 'relu(x) - relu(-x)' --at x=0
  crease differentiable -e 'min(relu(max(x, y)), relu(max(x, -y)))' --at x=0,y=0 --certificate why.txt
  crease differentiable network.crease --at x=[0,0,0] --seconds 10 --json")]
pub struct Differentiable {
    #[command(flatten)]
    source: SourceArgs,

    /// The output that is asked about, counted from 0, where there are several
    #[arg(long, value_name = "K")]
    output: Option<usize>,

    /// Where the random directions begin
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    budget: Budget,

    #[command(flatten)]
    precision: PrecisionArgs,

    /// Write the certificate of a yes or no to this file
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Differentiable {
    pub fn run(&self) -> Result<String> {
        let source = self.source.load()?;
        let certificate = Writer::optional(self.certificate.as_deref())?;
        let limits = self.budget.within(self.precision.within(flags::search_limits()))?;
        let (output, seed, proof) = (self.output, self.seed, self.certificate.is_some());
        let mut answer = watched(|watch| {
            let ask = Ask { output, seed, proof, limits, watch: Some(watch), ..Ask::default() };
            differentiable(&source.program, &source.inputs()?, &ask).map_err(fault::inspect)
        })?;
        let written = write_certificate(certificate, || Ok(answer.certificate()))?;
        let told = self.certificate.as_deref().map(|file| match written {
            true => format!("{}, to be checked with crease check", file.display()),
            false => {
                let exact = answer.answer.as_ref().is_ok_and(|a| a.at.model().is_exact());
                let why = if exact { "" } else { ", since not all numbers of the model are exact" };
                // an older one must not be taken for an answer to this
                let old = if file.exists() { "; the file is as it was" } else { "" };
                format!("none{why}{old}")
            }
        });
        answer.certificate_is(written, told);
        Ok(printed(&answer, self.json))
    }
}

/// Writes the certificate, if a file is to hold it and there is one. Whether it was written.
pub fn write_certificate(file: Option<Writer>, text: impl FnOnce() -> Result<Option<String>>) -> Result<bool> {
    let Some(file) = file else { return Ok(false) };
    let text = text()?;
    text.map(|text| file.all(&text)).transpose().map(|written| written.is_some())
}
