//! The report as one page of HTML: outcomes enter, a page that refers to nothing outside leaves.

use crate::errata::Erratum;
use crate::{Item, Outcome};
use std::fmt::{self, Write};

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// A picture could not be drawn.
    #[error(transparent)]
    Plot(#[from] crate::plot::PlotError),
    /// It could not be written.
    #[error("the page could not be put together: {0}")]
    Template(#[from] fmt::Error),
}

/// The page as far as it is always the same: what it looks like, and what it is about.
const HEAD: &str = include_str!("../templates/head.html");

/// Text that is no markup.
struct Plain<'a>(&'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in self.0.split_inclusive(['<', '>', '&', '"', '\'']) {
            let sign = part.chars().next_back().filter(|c| "<>&\"'".contains(*c));
            match sign {
                Some(c) => write!(f, "{}&#{};", &part[..part.len() - 1], u32::from(c))?,
                None => f.write_str(part)?,
            }
        }
        Ok(())
    }
}

/// What is known of an item: its figures and its pictures.
fn article(out: &mut String, item: &Item, outcome: &Outcome) -> Result<(), PageError> {
    let (id, word) = (Plain(item.id), Plain(outcome.word()));
    writeln!(out, "\n<article id=\"{id}\">")?;
    let heading = item.heading();
    writeln!(out, "<div class=\"title\"><h3>{}</h3><span class=\"mark {word}\">{word}</span></div>", Plain(&heading))?;
    writeln!(out, "<p>{}</p>", Plain(item.claim))?;
    write!(out, "<p class=\"ran\">Run: {}.<br><code>crease paper --item {id}</code></p>", Plain(&outcome.ran))?;
    if !outcome.facts.is_empty() {
        out.push_str(
            "\n<table>\n<thead><tr><th>figure</th><th>paper</th><th>crease</th><th></th></tr></thead>\n<tbody>",
        );
        for fact in &outcome.facts {
            let (what, paper, ours) = (Plain(&fact.what), Plain(&fact.paper), Plain(&fact.ours));
            write!(
                out,
                "\n<tr><td>{what}</td><td data-label=\"paper\">{paper}</td><td data-label=\"crease\">{ours}</td>"
            )?;
            let verdict = Plain(fact.verdict.name());
            write!(out, "<td class=\"mark {verdict}\">")?;
            match fact.verdict.erratum().map(Plain) {
                Some(erratum) => write!(out, "<a href=\"#erratum-{erratum}\">{erratum}</a></td></tr>")?,
                None => write!(out, "{verdict}</td></tr>")?,
            }
        }
        out.push_str("\n</tbody>\n</table>");
    }
    for picture in &outcome.pictures {
        let (svg, caption) = (picture.svg()?, Plain(picture.caption()));
        write!(out, "\n<figure>{svg}<figcaption>{caption}</figcaption></figure>")?;
    }
    out.push_str("\n</article>");
    Ok(())
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
    let mut out = HEAD.to_string();
    let count = |word: &str| outcomes.iter().filter(|(_, o)| o.word() == word).count();
    let (agree, slips, differ) = (count("agrees"), count("erratum"), count("DIFFERS"));
    let figures: usize = outcomes.iter().map(|(_, o)| o.facts.len()).sum();
    let bad = if differ > 0 { " class=\"differs\"" } else { "" };
    writeln!(out, "<ul class=\"sum\">")?;
    writeln!(out, "<li><b class=\"agrees\">{agree}</b>items agree</li>")?;
    writeln!(out, "<li><b class=\"erratum\">{slips}</b>agree but for an <a href=\"#errata\">erratum</a></li>")?;
    writeln!(out, "<li><b{bad}>{differ}</b>differ</li>")?;
    write!(out, "<li><b>{figures}</b>figures</li>\n</ul>\n</header>\n<nav aria-label=\"Items\">\n<ol>")?;
    for (item, outcome) in outcomes {
        write!(out, "\n<li><a href=\"#{}\">{}</a>", Plain(item.id), Plain(&item.heading()))?;
        match Plain(outcome.word()) {
            Plain("agrees") => out.push_str("</li>"),
            word => write!(out, " <span class=\"mark {word}\">{word}</span></li>")?,
        }
    }
    out.push_str("\n</ol>\n</nav>\n<main>");
    for part in outcomes.chunk_by(|(a, _), (b, _)| section(a.place) == section(b.place)) {
        write!(out, "\n<section>\n<h2>{}</h2>", Plain(section(part[0].0.place)))?;
        for (item, outcome) in part {
            article(&mut out, item, outcome)?;
        }
        out.push_str("\n</section>");
    }
    writeln!(out, "\n<section id=\"errata\">\n<h2>Errata</h2>")?;
    out.push_str("<p>Slips of the paper, computed anew for this page. ");
    out.push_str("None touches a theorem, apart from the sizes for which Theorem 3's matrix exists.</p>\n<dl>");
    for erratum in errata {
        let id = Plain(erratum.id);
        write!(out, "\n<dt id=\"erratum-{id}\">{id}</dt>\n<dd>\n<p class=\"where\">{}", Plain(erratum.place))?;
        for (item, _) in outcomes.iter().filter(|(_, o)| o.errata().contains(&erratum.id)) {
            write!(out, " <a href=\"#{0}\">{0}</a>", Plain(item.id))?;
        }
        writeln!(out, "</p>\n<p>The paper: {}</p>", Plain(erratum.says))?;
        writeln!(out, "<p>Computed: {}</p>", Plain(&erratum.computed))?;
        write!(out, "<p>It holds: {}</p>\n</dd>", Plain(erratum.holds))?;
    }
    let version = env!("CARGO_PKG_VERSION");
    writeln!(
        out,
        "\n</dl>\n</section>\n<footer>Written by <code>crease paper --html</code>, version {version}.</footer>"
    )?;
    out.push_str("</main>\n</body>\n</html>");
    Ok(out)
}
