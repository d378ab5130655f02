//! The report as one page of HTML: outcomes enter, a page that refers to nothing outside leaves.

use crate::errata::Erratum;
use crate::{Item, Outcome};
use askama::Template;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// A picture could not be drawn.
    #[error(transparent)]
    Plot(#[from] crate::plot::PlotError),
    /// The template failed.
    #[error("the page could not be put together: {0}")]
    Template(#[from] askama::Error),
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    version: &'a str,
    agree: usize,
    slips: usize,
    differ: usize,
    figures: usize,
    parts: Vec<Part<'a>>,
    errata: Vec<Note<'a>>,
}

/// Items of one section of the paper.
struct Part<'a> {
    place: &'a str,
    entries: Vec<Entry<'a>>,
}

struct Entry<'a> {
    item: &'a Item,
    heading: String,
    outcome: &'a Outcome,
    word: &'static str,
    facts: Vec<Line<'a>>,
    pictures: Vec<Figure<'a>>,
}

struct Line<'a> {
    what: &'a str,
    paper: &'a str,
    ours: &'a str,
    verdict: &'static str,
    erratum: Option<&'static str>,
}

struct Figure<'a> {
    caption: &'a str,
    svg: String,
}

/// An erratum, and the items that meet it.
struct Note<'a> {
    erratum: &'a Erratum,
    met: Vec<&'a str>,
}

fn line(fact: &crate::Fact) -> Line<'_> {
    let (verdict, erratum) = (fact.verdict.name(), fact.verdict.erratum());
    Line { what: &fact.what, paper: &fact.paper, ours: &fact.ours, verdict, erratum }
}

/// The section of a place: `Appendix B` for `Appendix B.3`.
fn section(place: &str) -> &str {
    place.split('.').next().unwrap_or(place)
}

/// One self-contained page with all figures, pictures and errata.
///
/// ```
/// let item = crease_paper::find("figure-1").unwrap();
/// let outcome = item.execute()?;
/// let html = crease_paper::page(&[(item, outcome)], &crease_paper::errata::errata()?)?;
/// assert!(html.starts_with("<!doctype html>") && html.contains("Four programs") && html.contains("<svg"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn page(outcomes: &[(Item, Outcome)], errata: &[Erratum]) -> Result<String, PageError> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    for (item, outcome) in outcomes {
        let draw = |p| -> Result<Figure<'_>, PageError> {
            let picture: &crate::Picture = p;
            Ok(Figure { caption: picture.caption(), svg: picture.svg()? })
        };
        let entry = Entry {
            item,
            heading: item.heading(),
            outcome,
            word: outcome.word(),
            facts: outcome.facts.iter().map(line).collect(),
            pictures: outcome.pictures.iter().map(draw).collect::<Result<_, _>>()?,
        };
        match parts.last_mut() {
            Some(part) if part.place == section(item.place) => part.entries.push(entry),
            _ => parts.push(Part { place: section(item.place), entries: vec![entry] }),
        }
    }
    let count = |word: &str| outcomes.iter().filter(|(_, o)| o.word() == word).count();
    let met = |id: &str| outcomes.iter().filter(|(_, o)| o.errata().contains(&id)).map(|(i, _)| i.id).collect();
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        agree: count("agrees"),
        slips: count("erratum"),
        differ: count("DIFFERS"),
        figures: outcomes.iter().map(|(_, o)| o.facts.len()).sum(),
        parts,
        errata: errata.iter().map(|erratum| Note { erratum, met: met(erratum.id) }).collect(),
    };
    Ok(page.render()?)
}
