//! `crease simplify`: the cheapest program for the same function that equality saturation finds.

use crate::commands::cost::read_prices;
use crate::flags::{self, LimitArgs};
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::source::SourceArgs;
use crate::transform::{dictionary, not_lowered};
use anyhow::Result;
use clap::Args;
use crease::Limits;
use crease::saturate::{Error, Limit, Options, Simplest, Verified, simplest};
use crease::show::{self, object};
use crease_core::cost::{Price, Prices};
use crease_core::dictionary::Dictionary;
use serde_json::Value;
use std::cell::RefCell;

/// Find a cheaper program for the same function
///
/// An upper bound on comp(f, D), the cost of the cheapest program over a dictionary that computes a function: the laws of the ring and of
/// the lattice are applied in all ways at once (equality saturation), and the cheapest of all programs found this way is printed, if it
/// could be verified to compute the same. It never costs more than the program that was given. What is printed is a program
/// again; what is known about it stands before it, as comments.
#[derive(Args)]
#[command(after_help = "Examples:
  crease simplify -e 'a * b + a * c'
  crease simplify -e 'relu(x) + relu(-x)' --dictionary D0
  crease simplify -e 'x^5 + x^4 + x^3' --prices c_nonlin=4
  crease show -e 'x * x * x' --derive backprop | crease simplify -")]
pub struct Simplify {
    #[command(flatten)]
    source: SourceArgs,

    /// The operations that the result may use: D0, relu, relu', polynomial or extended; others are rewritten first
    #[arg(long, value_name = "DICTIONARY", default_value = "extended", value_parser = dictionary)]
    dictionary: Dictionary,

    /// The prices of operations, such as c_nonlin=2,c_relu=1/2; 1 unless told
    #[arg(long, value_name = "PRICES", allow_hyphen_values = true)]
    prices: Option<String>,

    /// The most terms that are looked at, for each piece of a large program
    #[arg(long, value_name = "N", default_value_t = Limits::DEFAULT.terms)]
    nodes: usize,

    /// The most rounds in which all laws are applied
    #[arg(long, value_name = "N", default_value_t = Limits::DEFAULT.rounds)]
    iterations: usize,

    /// Stop looking after so many seconds, and take the best that there is
    #[arg(long, value_name = "S", default_value_t = 60.0)]
    seconds: f64,

    #[command(flatten)]
    limit: LimitArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Simplify {
    pub fn run(&self) -> Result<String> {
        let source = self.source.load()?;
        let prices = self.prices.as_deref().map_or(Ok(Prices::unit()), read_prices)?;
        let limits = flags::within(flags::search_limits(), Some(self.seconds))?;
        let limits = self.limit.set(Limits { terms: self.nodes, rounds: self.iterations, ..limits })?;
        let interrupt = Interrupt::listen();
        let progress = RefCell::new(Progress::new());
        let watch = |p: &crease::saturate::Progress| {
            progress.borrow_mut().say(|| format!("round {}, {} terms", p.iterations, show::count(p.nodes)));
            interrupt.look();
        };
        let options =
            Options { prices: &prices, dictionary: self.dictionary, limits, watch: Some(&watch), ..Options::default() };
        let found = simplest(&source.program, &options).map_err(|e| match e {
            Error::Lower(e) => not_lowered(e),
            other => other.into(),
        })?;
        let report = Report { found: &found, options: &options };
        Ok(if self.json { show::json(&report.json()) } else { report.text() })
    }
}

struct Report<'a> {
    found: &'a Simplest,
    options: &'a Options<'a>,
}

impl Report<'_> {
    /// A price as a number and, unless that says the same, as a form.
    fn price(&self, price: &Price) -> String {
        let number = show::price(&price.at(self.options.prices));
        if price.nonlin.is_zero() && price.relu.is_zero() { number } else { format!("{number} = {price}") }
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let Report { found, options } = self;
        let better = found.before != found.after;
        let mut rows = Vec::new();
        let given = if found.lowered { "  of the program rewritten in the dictionary" } else { "" };
        rows.push(("before", self.price(&found.before) + given));
        let same = if better { "" } else { "  nothing cheaper was found" };
        rows.push(("after", self.price(&found.after) + same));
        if *options.prices != Prices::unit() {
            let Prices { nonlin, relu } = options.prices;
            rows.push(("prices", format!("c_nonlin = {nonlin}, c_relu = {relu}")));
        }
        if options.dictionary != Dictionary::Extended {
            rows.push(("dictionary", options.dictionary.to_string()));
        }
        if better || matches!(found.verified, Verified::Not(_)) {
            rows.push(("equality", found.verified.to_string()));
        }
        rows.push(("search", self.search()));
        let limits: Vec<String> = found.limits.iter().map(|l| self.limit(*l)).collect();
        if !limits.is_empty() {
            rows.push(("limits", limits.join("; ")));
        }
        rows
    }

    fn search(&self) -> String {
        let found = self.found;
        let plural = |n: usize, word: &str| format!("{} {word}{}", show::count(n), if n == 1 { "" } else { "s" });
        if found.regions == 0 {
            return "none".into();
        }
        let pieces = if found.regions > 1 { format!(" in {}", plural(found.regions, "piece")) } else { String::new() };
        let what = format!("{}, {}{pieces}", plural(found.iterations, "round"), plural(found.nodes, "term"));
        match (found.limits.is_empty(), found.optimal) {
            (true, true) => format!("{what}; no law finds more, and nothing among the terms is cheaper"),
            (true, false) => format!("{what}; no law finds more"),
            (false, true) => format!("{what}; nothing among the terms is cheaper"),
            (false, false) => what,
        }
    }

    fn limit(&self, limit: Limit) -> String {
        let o = self.options;
        match limit {
            Limit::Nodes => format!("{} terms (--nodes)", show::count(o.limits.terms)),
            Limit::Iterations => format!("{} (--iterations)", plural_rounds(o.limits.rounds)),
            Limit::Time => "time is up (--seconds)".into(),
            Limit::Stopped => "stopped".into(),
            Limit::Work => "the limit of work was reached".into(),
            Limit::Memory => "the limit of memory was reached".into(),
            Limit::Regions => format!("it went piece by piece, {} equations each", o.region),
            Limit::Size => format!("more than {} operations: only folded and shared", show::count(o.equations)),
        }
    }

    fn text(&self) -> String {
        let line = |(label, body): (&str, String)| format!("# {label:<10}  {body}").trim_end().to_string() + "\n";
        let head: String = self.rows().into_iter().map(line).collect();
        format!("{head}{}", self.found.program)
    }

    fn json(&self) -> Value {
        let Report { found, options } = self;
        let number = |price: &Price| show::number(&price.at(options.prices));
        object([
            ("before", number(&found.before)),
            ("after", number(&found.after)),
            ("dictionary", options.dictionary.name().into()),
            (
                "prices",
                object([
                    ("c_nonlin", show::number(&options.prices.nonlin)),
                    ("c_relu", show::number(&options.prices.relu)),
                    ("before", found.before.to_string().into()),
                    ("after", found.after.to_string().into()),
                ]),
            ),
            ("lowered", found.lowered.into()),
            ("verified", found.verified.word().into()),
            ("equality", found.verified.to_string().into()),
            ("limits", found.limits.iter().map(|l| Value::from(l.to_string())).collect()),
            ("optimal", found.optimal.into()),
            ("iterations", found.iterations.into()),
            ("nodes", found.nodes.into()),
            ("regions", found.regions.into()),
            ("program", found.program.to_string().into()),
        ])
    }
}

fn plural_rounds(n: usize) -> String {
    format!("{} round{}", show::count(n), if n == 1 { "" } else { "s" })
}
