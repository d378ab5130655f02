//! `crease clarke --all`: all neighbouring gradients, which of them are vertices, and what follows for a vector or for 0.

use crate::along;
use crate::budget;
use crate::commands::differentiable::write_certificate;
use crate::contains::{Contains, combination, json_weights};
use crate::interrupt::Interrupt;
use crate::local::Local;
use crate::output;
use crate::progress::Progress;
use crate::rows::Rows;
use crate::writer::Writer;
use anyhow::Result;
use clap::Args;
use crease_core::Rational;
use crease_oracles::{
    EnumerateEvent, EnumerateLimits, Neighbour, Neighbours, Stationarity, conservative, membership_among,
    membership_certificate, neighbouring_gradients_with,
};
use serde_json::Value;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

/// The most gradients that text shows.
const SHOWN: usize = 40;

/// The flags of `clarke --all`.
#[derive(Args)]
pub struct Listing {
    /// Stop after so many cells: cones on which the program is linear
    #[arg(long, value_name = "N", requires = "all")]
    max_cells: Option<u64>,

    /// Stop after so many different gradients
    #[arg(long, value_name = "N", requires = "all", default_value_t = EnumerateLimits::default().gradients)]
    max_gradients: usize,

    /// Stop after so many seconds
    #[arg(long, value_name = "S", requires = "all")]
    seconds: Option<f64>,

    /// Ask where a vector lies, such as the answer of a framework; names left out are 0
    #[arg(long, value_name = "VECTOR", requires = "all", allow_hyphen_values = true)]
    contains: Option<String>,

    /// Write the certificate that the vector of --contains is a Clarke subgradient to this file, if it is one
    #[arg(long, value_name = "FILE", requires = "contains")]
    certificate: Option<PathBuf>,

    /// Print every gradient as a line of JSON as soon as it is found, and what is known of all of them as the last line
    #[arg(long, requires = "all")]
    stream: bool,

    /// Ask whether 0 is a Clarke subgradient, or along which direction the program decreases
    #[arg(long, requires = "all")]
    stationary: bool,
}

impl Listing {
    /// Lists the gradients of one scalar output, the element `element` of all, which is number `k` of the outputs.
    pub fn run(&self, at: &Local, k: usize, element: usize, json: bool) -> Result<String> {
        let deadline = budget::deadline(self.seconds)?;
        let limits =
            EnumerateLimits { cells: self.max_cells.unwrap_or(u64::MAX), gradients: self.max_gradients, deadline };
        // what is wrong with the vector should not be told after an hour
        if let Some(text) = &self.contains {
            along::vector("--contains", text, &at.source)?;
        }
        let certificate = Writer::optional(self.certificate.as_deref())?;
        let interrupt = Interrupt::listen();
        let mut progress = Progress::new();
        let (mut out, mut shown) = (Writer::standard(), Ok(()));
        let found = neighbouring_gradients_with(&at.model, element, limits, |event| {
            match event {
                EnumerateEvent::Gradient(n) if self.stream => {
                    shown = progress.aside(|| out.put(&output::json(&line(at, n))));
                    if shown.is_err() {
                        return ControlFlow::Break(());
                    }
                }
                EnumerateEvent::Gradient(_) => {}
                EnumerateEvent::Progress { cells, gradients, work } => progress.say(|| {
                    format!(
                        "{} cells · {} gradients · {} linear programs",
                        output::count(cells),
                        output::count(gradients),
                        output::count(work.programs)
                    )
                }),
            }
            if interrupt.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        shown?;
        let mut looked = 0u64;
        let vertices = found.vertices(|| {
            looked += 1;
            progress.say(|| format!("vertices: {} of {}", output::count(looked), output::count(found.gradients.len())));
            !interrupt.is_set() && deadline.is_none_or(|end| Instant::now() < end)
        });
        let contains = match &self.contains {
            Some(text) => {
                let known = conservative(&at.model, element)?;
                let ask = |vector: &[Rational]| membership_among(&at.model, element, &known, &found, vector);
                Some(Contains::ask(text, at, ask)?)
            }
            None => None,
        };
        let written = match &contains {
            Some(c) => write_certificate(certificate, || {
                Ok(membership_certificate(&at.model, element, &c.vector, &c.found, &found.gradients)?)
            })?,
            None => false,
        };
        let stationary = self.stationary.then(|| found.stationarity());
        drop(progress);
        let report = Report { at, k, found: &found, vertices: &vertices, contains, stationary, written };
        Ok(match (json, self.stream) {
            (_, true) => output::json(&output::object(report.members(false))),
            (true, false) => output::json(&output::object(report.members(true))),
            (false, false) => report.text(),
        })
    }
}

/// A gradient as a line of JSON.
fn line(at: &Local, n: &Neighbour) -> Value {
    let mut members = vec![("gradient", at.json(&n.gradient)), ("direction", at.json(&n.direction))];
    members.extend(at.json_radius(n.radius.as_deref()));
    if let (Some(gradient), Some(direction)) =
        (at.json_exact(&n.gradient, n.radius.as_deref()), at.json_exact(&n.direction, None))
    {
        members.push(("exact", output::object([("gradient", gradient), ("direction", direction)])));
    }
    output::object(members)
}

struct Report<'a> {
    at: &'a Local,
    k: usize,
    found: &'a Neighbours,
    vertices: &'a [Option<bool>],
    contains: Option<Contains>,
    stationary: Option<Stationarity>,
    /// Whether a certificate was written.
    written: bool,
}

impl Report<'_> {
    fn text(&self) -> String {
        let Report { at, found, .. } = self;
        let mut rows = Rows::default();
        rows.add("value", &output::answer(&at.values()[self.k], false));
        let many = |n: u64, one: &str| match n {
            1 => format!("1 {one}"),
            n => format!("{} {one}s", output::count(n)),
        };
        let whole = match found.limit {
            None => "these are all".to_string(),
            Some(limit) => format!("not known to be complete: {limit}"),
        };
        rows.add("cells", &format!("{}; {whole}", many(found.cells, "cell")));
        rows.add("gradients", &self.summary());
        let mut table: Vec<Vec<String>> = Vec::new();
        for (n, vertex) in found.gradients.iter().zip(self.vertices).take(SHOWN) {
            let vertex = match vertex {
                Some(true) => "vertex",
                Some(false) => "no vertex",
                None => "",
            };
            let along = format!("along {}", along::shown(&n.direction, None, &at.source));
            let cells = if n.cells == 1 { String::new() } else { many(n.cells, "cell") };
            let gradient = along::shown(&n.gradient, n.radius.as_deref(), &at.source);
            table.push(vec![gradient, along, vertex.into(), cells]);
        }
        if found.gradients.len() > SHOWN {
            table.push(vec![format!("… and {} more", output::count(found.gradients.len() - SHOWN))]);
        }
        rows.block("", &output::columns(&table, &[]));
        if let Some(contains) = &self.contains {
            rows.add("contains", &contains.text(at, &found.gradients));
            if self.written {
                rows.add("certificate", "written, to be checked with crease check");
            }
        }
        if let Some(stationary) = &self.stationary {
            rows.add("stationary", &self.stationary_text(stationary));
        }
        let w = &found.work;
        let each = w.programs as f64 / found.cells.max(1) as f64;
        let mut work = many(w.programs, "linear program");
        if found.cells > 0 {
            work.push_str(&format!(", {each:.3} for each cell"));
        }
        if w.exact > 0 {
            work.push_str(&format!("; {} in rationals", output::count(w.exact)));
        }
        rows.add("work", &work);
        at.exactness(&mut rows);
        rows.text()
    }

    fn summary(&self) -> String {
        let n = self.found.gradients.len();
        let corners = self.vertices.iter().filter(|v| **v == Some(true)).count();
        let open = self.vertices.iter().filter(|v| v.is_none()).count();
        let distinct = output::count(n);
        match (n, open) {
            (0, _) => "none within the limits".into(),
            (1, 0) if self.found.complete() => "1: the program is differentiable here".into(),
            (_, 0) if corners == n => format!("{distinct} distinct, all vertices of the Clarke subdifferential"),
            (_, 0) => format!("{distinct} distinct, {} vertices of the Clarke subdifferential", output::count(corners)),
            _ => format!("{distinct} distinct, of which {} may be vertices", output::count(open + corners)),
        }
    }

    fn stationary_text(&self, stationary: &Stationarity) -> String {
        let at = self.at;
        match stationary {
            Stationarity::Stationary { weights } => {
                format!("yes, 0 is a Clarke subgradient: {}", combination(weights, &self.found.gradients, at))
            }
            Stationarity::Descent { direction } => {
                format!("no: it decreases along {}", along::shown(direction, None, &at.source))
            }
            Stationarity::NotDecided => {
                "not decided: 0 is no combination of what was found, or that is not exact".into()
            }
        }
    }

    /// The members of the JSON object, with or without the list of gradients.
    fn members(&self, listed: bool) -> Vec<(&'static str, Value)> {
        let Report { at, found, .. } = self;
        let gradients = found.gradients.iter().zip(self.vertices).map(|(n, vertex)| {
            let members = [
                ("gradient", at.json(&n.gradient)),
                ("direction", at.json(&n.direction)),
                ("vertex", vertex.map_or(Value::Null, Value::from)),
                ("cells", n.cells.into()),
            ];
            output::object(members.into_iter().chain(at.json_radius(n.radius.as_deref())))
        });
        let mut members: Vec<(&str, Value)> =
            vec![("cells", found.cells.into()), ("complete", found.complete().into())];
        if listed {
            members.push(("gradients", gradients.collect()));
        }
        members.extend([
            ("distinct", found.gradients.len().into()),
            ("limit", found.limit.map_or(Value::Null, |limit| limit.to_string().into())),
            ("value", output::near(&at.values()[self.k])),
            ("kinks", at.model.kinks().len().into()),
        ]);
        members.extend(at.json_exactness());
        if let Some(contains) = &self.contains {
            members.push(("contains", contains.json(at)));
            members.push(("certificate", self.written.into()));
        }
        if let Some(stationary) = &self.stationary {
            members.push(("stationary", self.stationary_json(stationary)));
        }
        let w = &found.work;
        let work = [
            ("lps", w.programs),
            ("rational", w.exact),
            ("questions", w.questions),
            ("walks", w.walks),
            ("refuted", w.refuted),
            ("circuits", w.circuits),
        ];
        members.push(("work", output::object(work.map(|(name, n)| (name, n.into())))));
        let exact = found.gradients.iter().map(|n| {
            let gradient = at.json_exact(&n.gradient, n.radius.as_deref())?;
            let direction = at.json_exact(&n.direction, None)?;
            Some(output::object([("gradient", gradient), ("direction", direction)]))
        });
        if listed && let Some(gradients) = exact.collect::<Option<Value>>() {
            members.push(("exact", output::object([("gradients", gradients)])));
        }
        members
    }

    fn stationary_json(&self, stationary: &Stationarity) -> Value {
        match stationary {
            Stationarity::Stationary { weights } => {
                output::object([("verdict", "yes".into()), ("weights", json_weights(weights))])
            }
            Stationarity::Descent { direction } => {
                output::object([("verdict", "no".into()), ("descent", self.at.json(direction))])
            }
            Stationarity::NotDecided => output::object([("verdict", Value::from("unknown"))]),
        }
    }
}
