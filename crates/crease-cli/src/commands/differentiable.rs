//! `crease differentiable`: yes with the gradient, no with two subgradients, or unknown with the reason.

use crate::budget::Budget;
use crate::local::{self, Local, PrecisionArgs};
use crate::output;
use crate::rows::{Rows, width};
use crate::source::SourceArgs;
use crate::writer::Writer;
use anyhow::Result;
use clap::Args;
use crease_oracles::{Argument, ClarkeElement, Decision, Limit, Verdict, accurate_vector, differentiable};
use serde_json::Value;
use std::path::{Path, PathBuf};

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
        let mut at = match Local::load_decided(&self.source, &self.precision)? {
            Ok(at) => at,
            Err((why, bits)) => return Ok(local::undecided("differentiable", "gradients", &why, bits, self.json)),
        };
        let (k, element) = at.scalar_output("differentiability", self.output)?;
        let certificate = Writer::optional(self.certificate.as_deref())?;
        let decision = self.budget.watched(|effort| {
            let effort = crease_oracles::Effort { seed: self.seed, proof: self.certificate.is_some(), ..*effort };
            at.ask(|model| {
                let decision = differentiable(model, element, &effort)?;
                let close =
                    |e: &&ClarkeElement| accurate_vector(model.precision().bits, &e.gradient, e.radius.as_deref());
                let open = matches!(&decision.verdict, Verdict::Unknown { limit: Limit::Bits(_), .. });
                let open = open || !elements(&decision.verdict).iter().all(close);
                Ok((decision, open))
            })
        })?;
        let written = write_certificate(certificate, || Ok(decision.certificate()))?;
        let report = Report { at: &at, k, decision: &decision, written };
        Ok(if self.json { output::json(&report.json()) } else { report.text(self.certificate.as_deref()) })
    }
}

/// Writes the certificate, if a file is to hold it and there is one. Whether it was written.
pub fn write_certificate(file: Option<Writer>, text: impl FnOnce() -> Result<Option<String>>) -> Result<bool> {
    let Some(file) = file else { return Ok(false) };
    let text = text()?;
    text.map(|text| file.all(&text)).transpose().map(|written| written.is_some())
}

/// The word for a verdict.
pub fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Yes(_) => "yes",
        Verdict::No(_) => "no",
        Verdict::Unknown { .. } => "unknown",
    }
}

/// The subgradients that belong to a verdict.
pub fn elements(verdict: &Verdict) -> Vec<&ClarkeElement> {
    match verdict {
        Verdict::Yes(e) => vec![e],
        Verdict::No(sides) => sides.iter().collect(),
        Verdict::Unknown { best, .. } => best.iter().collect(),
    }
}

struct Report<'a> {
    at: &'a Local,
    k: usize,
    decision: &'a Decision,
    written: bool,
}

impl Report<'_> {
    fn remark(&self) -> String {
        match &self.decision.verdict {
            Verdict::Yes(_) => match self.decision.by {
                Argument::Search => "yes, proved by a search: no direction is an exception".into(),
                by => format!("yes: {by}"),
            },
            Verdict::No(_) if self.decision.by == Argument::Enclosure => {
                "no: certain enclosures of two Clarke subgradients do not meet".into()
            }
            Verdict::No(_) => "no: two Clarke subgradients differ".into(),
            Verdict::Unknown { limit, .. } => format!("unknown: {limit}"),
        }
    }

    fn text(&self, file: Option<&Path>) -> String {
        let Report { at, decision, .. } = self;
        let mut rows = Rows::default();
        let value = output::answer(&at.values()[self.k], false);
        rows.add("differentiable", &self.remark());
        rows.add("value", &value);
        let several = matches!(decision.verdict, Verdict::No(_));
        for e in elements(&decision.verdict) {
            let gradient = at.by_input(&e.gradient, e.radius.as_deref());
            let direction = at.by_input(&e.direction, None);
            let wide = match (&gradient[..], &direction[..]) {
                ([g], [d]) => width([&*output::answer(g, false), &output::answer(d, false)]),
                _ => 0,
            };
            let label = if matches!(decision.verdict, Verdict::Yes(_)) { "gradient" } else { "clarke" };
            let remark = if several { "the limit of gradients along this direction" } else { "" };
            rows.vector(label, &at.names(), &gradient, remark, wide);
            if decision.by != Argument::NoKinks {
                rows.vector("direction", &at.names(), &direction, "", wide);
            }
        }
        rows.add("kinks", &output::count(at.model.kinks().len()));
        let c = &decision.counts;
        if c.atoms > 0 {
            let parts = [
                (c.relus as u64, "relus"),
                (c.atoms as u64, "propositions"),
                (c.phases as u64, "of them phases"),
                (c.conflicts, "conflicts"),
                (c.lemmas, "lemmas of arithmetic"),
                (c.linear_programs, "linear programs"),
            ];
            let parts: Vec<String> = parts.iter().map(|(n, what)| format!("{} {what}", output::count(n))).collect();
            rows.add("search", &parts.join(", "));
        }
        at.exactness(&mut rows);
        match (file, self.written) {
            (Some(file), true) => {
                rows.add("certificate", &format!("{}, to be checked with crease check", file.display()));
            }
            (Some(file), false) => {
                let why = if at.model.is_exact() { "" } else { ", since not all numbers of the model are exact" };
                // an older one must not be taken for an answer to this
                let old = if file.exists() { "; the file is as it was" } else { "" };
                rows.add("certificate", &format!("none{why}{old}"));
            }
            (None, _) => {}
        }
        rows.text()
    }

    fn json(&self) -> Value {
        let Report { at, decision, .. } = self;
        let found = elements(&decision.verdict);
        let side = |e: &&ClarkeElement| {
            let members = [("gradient", at.json(&e.gradient)), ("direction", at.json(&e.direction))];
            output::object(members.into_iter().chain(at.json_radius(e.radius.as_deref())))
        };
        let exact = |e: &&ClarkeElement| -> Option<Value> {
            let gradient = at.json_exact(&e.gradient, e.radius.as_deref())?;
            Some(output::object([("gradient", gradient), ("direction", at.json_exact(&e.direction, None)?)]))
        };
        let mut members: Vec<(&str, Value)> = vec![
            ("verdict", word(&decision.verdict).into()),
            ("gradients", found.iter().map(side).collect()),
            ("kinks", at.model.kinks().len().into()),
            ("by", decision.by.to_string().into()),
        ];
        if let Verdict::Unknown { limit, .. } = &decision.verdict {
            members.push(("limit", limit.to_string().into()));
        }
        members.extend(at.json_exactness());
        if let Some(list) = found.iter().map(exact).collect::<Option<Value>>() {
            members.push(("exact", output::object([("gradients", list)])));
        }
        members.push(("search", counts(decision)));
        members.push(("certificate", self.written.into()));
        output::object(members)
    }
}

/// What a search took, as JSON.
pub fn counts(decision: &Decision) -> Value {
    let c = &decision.counts;
    output::object([
        ("relus", Value::from(c.relus)),
        ("propositions", c.atoms.into()),
        ("phases", c.phases.into()),
        ("conflicts", c.conflicts.into()),
        ("lemmas", c.lemmas.into()),
        ("linear_programs", c.linear_programs.into()),
    ])
}
