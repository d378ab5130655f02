//! What a computation found: facts, each with the paper's figure beside ours, and pictures.

use crate::plot::Plot;
use std::fmt::{self, Display};

/// Whether the paper's figure and ours agree.
///
/// ```
/// use crease_paper::Verdict;
/// assert_eq!(Verdict::Erratum("l1-bound").to_string(), "erratum l1-bound");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They do.
    Agrees,
    /// They do not, and the erratum of this name says why.
    Erratum(&'static str),
    /// They do not.
    Differs,
    /// The paper has no figure for it.
    Measured,
}

impl Verdict {
    /// In one word, as in JSON.
    ///
    /// ```
    /// assert_eq!(crease_paper::Verdict::Erratum("l1-bound").name(), "erratum");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Erratum(_) => "erratum",
            Verdict::Differs => "differs",
            Verdict::Measured => "measured",
        }
    }

    /// The erratum that says why they differ.
    ///
    /// ```
    /// assert_eq!(crease_paper::Verdict::Erratum("l1-bound").erratum(), Some("l1-bound"));
    /// ```
    pub fn erratum(self) -> Option<&'static str> {
        match self {
            Verdict::Erratum(id) => Some(id),
            _ => None,
        }
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Erratum(id) => f.pad(&format!("erratum {id}")),
            Verdict::Differs => f.pad("DIFFERS"),
            other => f.pad(other.name()),
        }
    }
}

/// One figure.
///
/// ```
/// let outcome = crease_paper::find("figure-1").unwrap().execute()?;
/// let fact = &outcome.facts[0];
/// assert_eq!((fact.what.as_str(), fact.paper.as_str(), fact.ours.as_str()), ("cost(P0)", "1", "1"));
/// # Ok::<(), crease_paper::PaperError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// What the figure is of.
    pub what: String,
    /// What the paper says; empty if it does not.
    pub paper: String,
    /// What was computed.
    pub ours: String,
    /// Whether they agree.
    pub verdict: Verdict,
}

/// Something to look at.
///
/// ```
/// let outcome = crease_paper::find("figure-1").unwrap().execute()?;
/// assert!(outcome.pictures[0].svg()?.starts_with("<svg"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub enum Picture {
    /// A program as a graph, drawn.
    Graph {
        /// What it shows.
        caption: String,
        /// The drawing.
        svg: String,
    },
    /// Curves.
    Plot(Plot),
}

/// What an item's computation found.
///
/// ```
/// let outcome = crease_paper::find("assumption-1").unwrap().execute()?;
/// assert!(outcome.agrees() && !outcome.ran.is_empty());
/// # Ok::<(), crease_paper::PaperError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What was run.
    pub ran: String,
    /// The figures.
    pub facts: Vec<Fact>,
    /// The pictures.
    pub pictures: Vec<Picture>,
}

impl Outcome {
    pub(crate) fn of(ran: impl Into<String>) -> Self {
        Outcome { ran: ran.into(), ..Outcome::default() }
    }

    fn push(&mut self, what: impl Into<String>, paper: impl Display, ours: impl Display, verdict: Verdict) {
        self.facts.push(Fact { what: what.into(), paper: paper.to_string(), ours: ours.to_string(), verdict });
    }

    /// Both print the same.
    pub(crate) fn equal(&mut self, what: impl Into<String>, paper: impl Display, ours: impl Display) {
        let verdict = if paper.to_string() == ours.to_string() { Verdict::Agrees } else { Verdict::Differs };
        self.push(what, paper, ours, verdict);
    }

    /// As [`equal`](Self::equal), where the paper is known to slip.
    pub(crate) fn slip(
        &mut self,
        id: &'static str,
        what: impl Into<String>,
        paper: impl Display,
        ours: impl Display,
        agrees: bool,
    ) {
        self.push(what, paper, ours, if agrees { Verdict::Agrees } else { Verdict::Erratum(id) });
    }

    /// Ours does not exceed the paper's bound.
    pub(crate) fn at_most<T: Display + PartialOrd>(&mut self, what: impl Into<String>, bound: T, ours: T) {
        let verdict = if ours <= bound { Verdict::Agrees } else { Verdict::Differs };
        self.push(what, format!("≤ {bound}"), ours, verdict);
    }

    /// Something holds, with what was found said in our words.
    pub(crate) fn holds(&mut self, what: impl Into<String>, paper: impl Display, ours: impl Display, holds: bool) {
        self.push(what, paper, ours, if holds { Verdict::Agrees } else { Verdict::Differs });
    }

    /// Something holds each time.
    pub(crate) fn always(&mut self, what: impl Into<String>, times: usize, of: usize) {
        self.holds(what, "always", format!("{times} of {of}"), times == of && of > 0);
    }

    /// Something of which the paper has no figure.
    pub(crate) fn measured(&mut self, what: impl Into<String>, ours: impl Display) {
        self.push(what, "", ours, Verdict::Measured);
    }

    /// Whether nothing differs without an erratum, and something was compared at all.
    ///
    /// ```
    /// assert!(crease_paper::find("example-1").unwrap().execute()?.agrees());
    /// # Ok::<(), crease_paper::PaperError>(())
    /// ```
    pub fn agrees(&self) -> bool {
        self.facts.iter().any(|f| f.verdict != Verdict::Measured)
            && self.facts.iter().all(|f| f.verdict != Verdict::Differs)
    }

    /// The errata that it meets, each once.
    ///
    /// ```
    /// assert_eq!(crease_paper::find("figure-1").unwrap().execute()?.errata(), ["p2-node"]);
    /// # Ok::<(), crease_paper::PaperError>(())
    /// ```
    pub fn errata(&self) -> Vec<&'static str> {
        let mut all = Vec::new();
        for f in &self.facts {
            if let Some(id) = f.verdict.erratum()
                && !all.contains(&id)
            {
                all.push(id);
            }
        }
        all
    }

    /// In one word: `agrees`, `erratum`, or `DIFFERS`.
    ///
    /// ```
    /// assert_eq!(crease_paper::find("table-1").unwrap().execute()?.word(), "agrees");
    /// # Ok::<(), crease_paper::PaperError>(())
    /// ```
    pub fn word(&self) -> &'static str {
        match (self.agrees(), self.errata().is_empty()) {
            (false, _) => "DIFFERS",
            (true, true) => "agrees",
            (true, false) => "erratum",
        }
    }
}

impl Picture {
    /// What it shows, in a sentence.
    ///
    /// ```
    /// let outcome = crease_paper::find("figure-1").unwrap().execute()?;
    /// assert!(outcome.pictures[3].caption().starts_with("P2"));
    /// # Ok::<(), crease_paper::PaperError>(())
    /// ```
    pub fn caption(&self) -> &str {
        match self {
            Picture::Graph { caption, .. } => caption,
            Picture::Plot(plot) => &plot.title,
        }
    }

    /// The picture itself.
    ///
    /// ```
    /// let outcome = crease_paper::find("figure-1").unwrap().execute()?;
    /// assert!(outcome.pictures[0].svg()?.ends_with("</svg>\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn svg(&self) -> Result<String, crate::plot::PlotError> {
        match self {
            Picture::Graph { svg, .. } => Ok(svg.clone()),
            Picture::Plot(plot) => plot.svg(),
        }
    }
}
