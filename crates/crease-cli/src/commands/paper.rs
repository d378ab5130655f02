//! `crease paper`: the paper, item by item, with the computation that shows each.

use crate::errata as slips;
use crate::flags::DeadlineArgs;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::writer::Writer;
use anyhow::{Result, anyhow};
use clap::Args;
use comfy_table::presets::NOTHING;
use crease::show::{self, object, wrapped};
use crease_paper::errata::{Erratum, errata};
use crease_paper::{Item, Outcome, find, items, page};
use serde_json::Value;
use std::path::PathBuf;

/// Go through the paper and compute what it claims
///
/// Every definition, theorem, table, case and lemma of "On the complexity of nonsmooth automatic differentiation": what it claims, what
/// was run, the figure of the paper beside the one that came out, and whether they agree. Where the paper slips, an erratum says
/// so. The exit code is 1 if something differs without one.
#[derive(Args)]
#[command(after_help = "Examples:
  crease paper
  crease paper --item theorem-2
  crease paper --html paper.html
  crease paper --list")]
pub struct Paper {
    /// Only this item, such as theorem-2 or case-12; may be given several times
    #[arg(long, value_name = "ITEM")]
    item: Vec<String>,

    /// Name the items and run nothing
    #[arg(long, conflicts_with_all = ["html", "item"])]
    list: bool,

    /// Write one page with tables, pictures and plots
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "paper.html", conflicts_with = "json")]
    html: Option<PathBuf>,

    #[command(flatten)]
    _deadline: DeadlineArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Paper {
    pub fn run(&self) -> Result<(String, i32)> {
        let chosen = self.chosen()?;
        if self.list {
            return Ok((self.names(&chosen), 0));
        }
        let page_file = Writer::optional(self.html.as_deref())?;
        let interrupt = Interrupt::listen();
        let mut progress = Progress::new();
        let mut out = Writer::standard();
        let mut done: Vec<(Item, Outcome)> = Vec::new();
        for (k, item) in chosen.iter().enumerate() {
            if interrupt.is_set() {
                break;
            }
            progress.say_now(|| format!("{} of {}: {}", k + 1, chosen.len(), item.id));
            let outcome = item.execute()?;
            if self.html.is_none() && !self.json {
                progress.aside(|| out.put(entry(item, &outcome)))?;
            }
            done.push((*item, outcome));
        }
        drop(progress);
        let report = Report { asked: chosen.len(), errata: cited(&done)?, done };
        let code = i32::from(report.done.iter().any(|(_, o)| !o.agrees()));
        if let (Some(file), Some(path)) = (page_file, &self.html) {
            file.all(&page(&report.done, &errata()?)?)?;
            return Ok((format!("{}the page is in {}\n", report.summary(), path.display()), code));
        }
        Ok((if self.json { show::json(&report.json()) } else { report.rest() }, code))
    }

    /// The items asked for, in the paper's order.
    fn chosen(&self) -> Result<Vec<Item>> {
        if self.item.is_empty() {
            return Ok(items());
        }
        for id in &self.item {
            find(id)
                .ok_or_else(|| anyhow!("--item {id}: the paper has no such item; `crease paper --list` names all"))?;
        }
        Ok(items().into_iter().filter(|i| self.item.iter().any(|id| id == i.id)).collect())
    }

    fn names(&self, all: &[Item]) -> String {
        if self.json {
            let entry =
                |i: &Item| object([("item", i.id.into()), ("title", i.title.into()), ("place", i.place.into())]);
            return show::json(&object([("items", all.iter().map(entry).collect())]));
        }
        let width = all.iter().map(|i| i.id.len()).max().unwrap_or(0);
        all.iter().map(|i| format!("{:width$}  {}, {}\n", i.id, i.title, i.place)).collect()
    }
}

/// The errata that were met, in their order.
fn cited(done: &[(Item, Outcome)]) -> Result<Vec<Erratum>> {
    let met: Vec<&str> = done.iter().flat_map(|(_, o)| o.errata()).collect();
    Ok(errata()?.into_iter().filter(|e| met.contains(&e.id)).collect())
}

struct Report {
    asked: usize,
    done: Vec<(Item, Outcome)>,
    errata: Vec<Erratum>,
}

impl Report {
    /// What comes after the items.
    fn rest(&self) -> String {
        let mut out = String::new();
        if !self.errata.is_empty() {
            out.push_str("Errata\n\n");
            out.push_str(&slips::notes(&self.errata));
        }
        out + &self.summary()
    }

    fn summary(&self) -> String {
        let count = |word: &str| self.done.iter().filter(|(_, o)| o.word() == word).count();
        let figures: usize = self.done.iter().map(|(_, o)| o.facts.len()).sum();
        let mut out = format!(
            "{} item{}, {figures} figures: {} agree, {} agree but for an erratum, {} differ\n",
            self.done.len(),
            if self.done.len() == 1 { "" } else { "s" },
            count("agrees"),
            count("erratum"),
            count("DIFFERS")
        );
        if self.done.len() < self.asked {
            out.push_str(&format!("stopped before {} more\n", self.asked - self.done.len()));
        }
        out
    }

    fn json(&self) -> Value {
        let fact = |f: &crease_paper::Fact| {
            object([
                ("figure", f.what.as_str().into()),
                ("paper", if f.paper.is_empty() { Value::Null } else { f.paper.as_str().into() }),
                ("crease", f.ours.as_str().into()),
                ("verdict", f.verdict.name().into()),
                ("erratum", f.verdict.erratum().map_or(Value::Null, Value::from)),
            ])
        };
        let item = |(item, outcome): &(Item, Outcome)| {
            object([
                ("item", item.id.into()),
                ("kind", item.kind.to_string().into()),
                ("number", item.number.map_or(Value::Null, Value::from)),
                ("title", item.title.into()),
                ("place", item.place.into()),
                ("claim", item.claim.into()),
                ("ran", outcome.ran.as_str().into()),
                ("verdict", outcome.word().to_lowercase().into()),
                ("facts", outcome.facts.iter().map(fact).collect()),
            ])
        };
        object([
            ("complete", (self.done.len() == self.asked).into()),
            ("agrees", self.done.iter().all(|(_, o)| o.agrees()).into()),
            ("items", self.done.iter().map(item).collect()),
            ("errata", slips::json(&self.errata)),
        ])
    }
}

/// One item as text.
fn entry(item: &Item, outcome: &Outcome) -> String {
    let mut out = format!("{}  {} ({})  {}\n", item.id, item.heading(), item.place, outcome.word());
    out.push_str(&wrapped("claims", item.claim));
    out.push_str(&wrapped("run", &outcome.ran));
    let mut grid = comfy_table::Table::new();
    grid.load_preset(NOTHING).set_width(110);
    grid.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
    grid.set_header(["", "figure", "paper", "crease", ""]);
    for f in &outcome.facts {
        grid.add_row(["", &f.what, &f.paper, &f.ours, &f.verdict.to_string()]);
    }
    for line in grid.to_string().lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out + "\n"
}
