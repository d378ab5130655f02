//! `crease clarke`: one Clarke subgradient, and the direction that shows it; with `--all`, all neighbouring gradients.

use crate::listing::Listing;
use crate::local::{Local, PrecisionArgs};
use crate::output;
use crate::rows::{Rows, width};
use crate::source::SourceArgs;
use anyhow::Result;
use clap::Args;
use crease_core::Rational;
use crease_core::cost::{Prices, cost};
use crease_oracles::{ClarkeElement, accurate_vector, clarke_element};
use serde_json::Value;

/// One Clarke subgradient at a point, or all limits of gradients
///
/// Takes a random direction d and returns what the gradient at x + t d tends to as t > 0 becomes small: a limit of gradients,
/// hence a Clarke subgradient, whatever automatic differentiation would say at x. The direction is part of the answer, so that it
/// can be checked. The cost does not depend on the number of inputs.
///
/// With --all, lists all limits of gradients, and says which are vertices of the Clarke subdifferential, their convex hull. There can
/// be exponentially many. Ctrl-C and limits end it with what was found so far.
#[derive(Args)]
#[command(after_help = "Examples:
  crease clarke -e 'relu(x) - relu(-x)' --at x=0
  crease clarke -e 'norm1(v)' --at v=[0,0,1] --seed 3 --json
  crease clarke --all -e 'max(x, y) - relu(x)' --at x=0,y=0 --contains x=1/2 --stationary
  crease clarke --all network.crease --at x=0 --seconds 10 --json")]
pub struct Clarke {
    #[command(flatten)]
    source: SourceArgs,

    /// The output that is asked about, counted from 0, where there are several
    #[arg(long, value_name = "K")]
    output: Option<usize>,

    /// Where the random directions begin; another seed may give another subgradient
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// List all limits of gradients
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    precision: PrecisionArgs,

    #[command(flatten)]
    listing: Listing,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Clarke {
    pub fn run(&self) -> Result<String> {
        let mut at = Local::load(&self.source, &self.precision)?;
        let (k, element) = at.scalar_output("a Clarke subgradient", self.output)?;
        let found = at.ask(|model| {
            let found = clarke_element(model, element, self.seed)?;
            let close = accurate_vector(model.precision().bits, &found.gradient, found.radius.as_deref());
            Ok((found, !close))
        })?;
        if self.all {
            return self.listing.run(&at, k, element, self.json);
        }
        let report = Report { at: &at, k, found: &found, price: cost(&at.source.program).at(&Prices::unit()) };
        Ok(if self.json { output::json(&report.json()) } else { report.text() })
    }
}

struct Report<'a> {
    at: &'a Local,
    k: usize,
    found: &'a ClarkeElement,
    price: Rational,
}

impl Report<'_> {
    fn remark(&self) -> String {
        let mut out = match self.at.model.kinks() {
            [] => "the gradient: no kink matters here",
            _ => "a Clarke subgradient: the limit of gradients along this direction",
        }
        .to_string();
        if !self.found.proved {
            out.push_str(", but for a chance of about 2^-61 for each kink");
        }
        out
    }

    fn text(&self) -> String {
        let Report { at, found, .. } = self;
        let mut rows = Rows::default();
        let value = output::answer(&at.values()[self.k], false);
        let (gradient, direction) =
            (at.by_input(&found.gradient, found.radius.as_deref()), at.by_input(&found.direction, None));
        let wide = match (&gradient[..], &direction[..]) {
            ([g], [d]) => width([&*value, &output::answer(g, false), &output::answer(d, false)]),
            _ => 0,
        };
        rows.add("value", &value);
        rows.vector("clarke", &at.names(), &gradient, &self.remark(), wide);
        if !at.model.kinks().is_empty() {
            rows.vector("direction", &at.names(), &direction, "", wide);
            let lines = at.model.kinks().iter().zip(&found.picked).zip(sizes(at));
            let kinks = at.kinks(lines.map(|((kink, &picked), n)| {
                let weights: Vec<Rational> = (0..n).map(|k| Rational::from(usize::from(k == picked))).collect();
                (kink, vec![crate::local::choice(kink, &weights)])
            }));
            rows.block("kinks", &output::columns(&kinks, &[]));
        }
        at.exactness(&mut rows);
        rows.add("cost", &self.cost());
        rows.text()
    }

    fn cost(&self) -> String {
        let total = self.found.operations.total();
        let mut out =
            format!("P {} · sweeps over the local model {} counted", output::price(&self.price), output::count(total));
        if let Some(ratio) = Rational::from(total as i64).checked_div(&self.price) {
            out.push_str(&format!(" ({} x)", output::ratio(&ratio)));
        }
        match self.found.attempts {
            1 => out.push_str(", with the first direction drawn"),
            n => out.push_str(&format!(", with {n} directions drawn")),
        }
        out
    }

    fn json(&self) -> Value {
        let Report { at, found, .. } = self;
        let value = &at.values()[self.k];
        let mut members = vec![
            ("value", output::near(value)),
            ("gradient", at.json(&found.gradient)),
            ("kind", "clarke".into()),
            ("kinks", at.model.kinks().len().into()),
            ("direction", at.json(&found.direction)),
            ("proved", found.proved.into()),
        ];
        members.extend(at.json_exactness());
        members.extend(at.json_radius(found.radius.as_deref()));
        if let Some(gradient) = at.json_exact(&found.gradient, found.radius.as_deref()) {
            let mut exact: Vec<(&str, Value)> = output::fractions(value).map(|v| ("value", v)).into_iter().collect();
            exact.push(("gradient", gradient));
            exact.extend(at.json_exact(&found.direction, None).map(|d| ("direction", d)));
            members.push(("exact", output::object(exact)));
        }
        let o = &found.operations;
        let counts =
            [("forward", o.forward), ("comparisons", o.comparisons), ("backward", o.backward), ("total", o.total())];
        let price = [("program", output::number(&self.price))];
        let counts = counts.into_iter().map(|(name, n)| (name, n.into())).chain(price);
        members.push(("operations", output::object(counts)));
        output::object(members)
    }
}

/// How many members each kink has.
fn sizes(at: &Local) -> impl Iterator<Item = usize> {
    use crease_core::local::Node;
    at.model.kinks().iter().map(|k| match at.model.node(k.node) {
        Node::Max(members) => members.len(),
        _ => 1,
    })
}
