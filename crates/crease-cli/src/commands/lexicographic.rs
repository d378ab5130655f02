//! `crease lexicographic`: Nesterov's derivative along a basis. Section 5.2.

use crate::along;
use crate::local::{Local, PrecisionArgs};
use crate::output;
use crate::rows::{Rows, width};
use crate::source::SourceArgs;
use crate::vectors::Vectors;
use anyhow::{Result, bail};
use clap::Args;
use crease_core::Rational;
use crease_core::cost::{Prices, cost};
use crease_oracles::{Lexicographic as Found, accurate_vector, identity, lexicographic, lexicographic_forward};
use serde_json::Value;

/// The most numbers in a basis, and in what vector forward mode carries.
const NUMBERS: usize = 20_000_000;

/// The lexicographic derivative at a point
///
/// Localizes at x, then the result along the first direction of a basis, that along the second, and so on until no kink is left
/// (Nesterov's definition). What comes out is a Clarke subgradient. The basis is the identity unless --along is given as many times
/// as there are inputs, or --basis names a file.
#[derive(Args)]
#[command(after_help = "Examples:
  crease lexicographic -e 'relu(x) - relu(-x)' --at x=0
  crease lexicographic -e 'max(x, y) + abs(x)' --at x=0,y=0 --along x=-1 --along x=1,y=1 --trace
  crease lexicographic -e 'norm1(v)' --at v=[0,0] --basis basis.json --forward --json")]
pub struct Lexicographic {
    #[command(flatten)]
    source: SourceArgs,

    /// A direction of the basis, such as x=1,y=-1; names left out are 0
    #[arg(long, value_name = "DIRECTION", allow_hyphen_values = true)]
    along: Vec<String>,

    /// The basis as a JSON list of directions, such as [{"x": 1}, {"y": 1}] or [[1, 0], [0, 1]], or an NPY file with one in each row
    #[arg(long, value_name = "FILE", conflicts_with = "along")]
    basis: Option<String>,

    /// Also run the vector forward mode of Khan and Barton, and compare
    #[arg(long)]
    forward: bool,

    /// Show which direction settled which kink
    #[arg(long)]
    trace: bool,

    /// The output that is asked about, counted from 0, where there are several
    #[arg(long, value_name = "K")]
    output: Option<usize>,

    #[command(flatten)]
    precision: PrecisionArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Lexicographic {
    pub fn run(&self) -> Result<String> {
        let mut at = Local::load(&self.source, &self.precision)?;
        let (k, element) = at.scalar_output("a lexicographic derivative", self.output)?;
        let p = at.model.dimension();
        let basis = match &self.basis {
            Some(path) => Vectors::read_directions(path)?.directions(&at.source)?,
            None if !self.along.is_empty() => {
                self.along.iter().map(|d| along::vector("--along", d, &at.source)).collect::<Result<_>>()?
            }
            None if p.saturating_mul(p) > NUMBERS => {
                bail!("the identity of dimension {p} is too large to go through; `crease clarke` does not need a basis")
            }
            None => identity(p),
        };
        let found = at.ask(|model| {
            let found = lexicographic(model, element, &basis)?;
            let close = accurate_vector(model.precision().bits, &found.gradient, found.radius.as_deref());
            Ok((found, !close))
        })?;
        let forward = match self.forward {
            true if p.saturating_mul(at.model.len()) > NUMBERS => {
                bail!(
                    "vector forward mode would carry {p} numbers for each of {} nodes; leave out --forward",
                    at.model.len()
                )
            }
            true => Some(lexicographic_forward(&at.model, element, &basis)?),
            false => None,
        };
        let report = Report {
            at: &at,
            k,
            found: &found,
            forward: forward.as_ref(),
            basis: &basis,
            standard: self.basis.is_none() && self.along.is_empty(),
            trace: self.trace,
            price: cost(&at.source.program).at(&Prices::unit()),
        };
        Ok(if self.json { output::json(&report.json()) } else { report.text() })
    }
}

struct Report<'a> {
    at: &'a Local,
    k: usize,
    found: &'a Found,
    forward: Option<&'a Found>,
    basis: &'a [Vec<Rational>],
    standard: bool,
    trace: bool,
    price: Rational,
}

impl Report<'_> {
    fn text(&self) -> String {
        let Report { at, found, .. } = self;
        let mut rows = Rows::default();
        let value = output::answer(&at.values()[self.k], false);
        let gradient = at.by_input(&found.gradient, found.radius.as_deref());
        let wide = match &gradient[..] {
            [g] => width([&*value, &output::answer(g, false)]),
            _ => 0,
        };
        let remark = match at.model.kinks() {
            [] => "the gradient: no kink matters here",
            _ => "the lexicographic derivative along the basis, a Clarke subgradient",
        };
        rows.add("value", &value);
        rows.vector("lexicographic", &at.names(), &gradient, remark, wide);
        rows.add("basis", &self.basis());
        let settled = |j: &Option<usize>| match j {
            Some(j) => format!(
                "settled by the {} direction, {}",
                crate::local::ordinal(j + 1),
                along::shown(&self.basis[*j], None, &at.source)
            ),
            None => "its sides are the same".into(),
        };
        let lines = at.model.kinks().iter().zip(&found.settled);
        let lines = lines.map(|(kink, j)| (kink, if self.trace { vec![settled(j)] } else { Vec::new() }));
        rows.block("kinks", &output::columns(&at.kinks(lines), &[]));
        at.exactness(&mut rows);
        rows.add("cost", &self.cost());
        if let Some(f) = self.forward {
            let agrees = if f.gradient == found.gradient { "the same answer" } else { "ANOTHER ANSWER" };
            rows.add("forward", &format!("{agrees} by vector forward mode · {}", self.counted(f.operations)));
        }
        rows.text()
    }

    fn basis(&self) -> String {
        let n = self.basis.len();
        let which = match (self.standard, n) {
            (true, _) => "the identity".into(),
            (false, 1) => "1 direction".into(),
            (false, n) => format!("{n} directions"),
        };
        match self.found.directions {
            0 => format!("{which}, not needed"),
            used if used == n => format!("{which}, used to the end"),
            1 => format!("{which}, of which the first settled all"),
            used => format!("{which}, of which the first {} settled all", output::count(used)),
        }
    }

    fn counted(&self, operations: u64) -> String {
        let mut out = format!("{} counted", output::count(operations));
        if let Some(ratio) = Rational::from(operations as i64).checked_div(&self.price) {
            out.push_str(&format!(" ({} x)", output::ratio(&ratio)));
        }
        out
    }

    fn cost(&self) -> String {
        format!(
            "P {} · sweeps over the local model {}",
            output::price(&self.price),
            self.counted(self.found.operations)
        )
    }

    fn json(&self) -> Value {
        let Report { at, found, .. } = self;
        let value = &at.values()[self.k];
        let mut members = vec![
            ("value", output::near(value)),
            ("gradient", at.json(&found.gradient)),
            ("kind", "lexicographic".into()),
            ("kinks", at.model.kinks().len().into()),
            ("directions", found.directions.into()),
        ];
        members.extend(at.json_exactness());
        members.extend(at.json_radius(found.radius.as_deref()));
        if let Some(gradient) = at.json_exact(&found.gradient, found.radius.as_deref()) {
            let mut exact: Vec<(&str, Value)> = output::fractions(value).map(|v| ("value", v)).into_iter().collect();
            exact.push(("gradient", gradient));
            members.push(("exact", output::object(exact)));
        }
        let settled = at
            .model
            .kinks()
            .iter()
            .zip(&found.settled)
            .map(|(kink, j)| at.json_kink(kink, vec![("direction", j.map_or(Value::Null, Value::from))]));
        members.push(("settled", settled.collect()));
        let mut counts = vec![("program", output::number(&self.price)), ("counted", found.operations.into())];
        if let Some(f) = self.forward {
            counts.push(("forward", f.operations.into()));
            members.push(("agrees", (f.gradient == found.gradient).into()));
        }
        members.push(("operations", output::object(counts)));
        output::object(members)
    }
}
