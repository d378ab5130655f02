//! One item of the paper: what it is called, what it claims, and the computation.

use super::outcome::Outcome;
use std::error::Error;
use std::fmt;

/// What sort of thing an item is.
///
/// ```
/// assert_eq!(crease_paper::Kind::Corollary.to_string(), "corollary");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A definition.
    Definition,
    /// An algorithm.
    Algorithm,
    /// An assumption.
    Assumption,
    /// A theorem.
    Theorem,
    /// A corollary.
    Corollary,
    /// A proposition.
    Proposition,
    /// A lemma.
    Lemma,
    /// A claim within a proof.
    Claim,
    /// A remark.
    Remark,
    /// An example.
    Example,
    /// A problem in the sense of complexity theory.
    Problem,
    /// A case of the appendix: an operation and what it costs.
    Case,
    /// A table.
    Table,
    /// A figure.
    Figure,
    /// A paragraph without a number that claims something.
    Statement,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::Definition => "definition",
            Kind::Algorithm => "algorithm",
            Kind::Assumption => "assumption",
            Kind::Theorem => "theorem",
            Kind::Corollary => "corollary",
            Kind::Proposition => "proposition",
            Kind::Lemma => "lemma",
            Kind::Claim => "claim",
            Kind::Remark => "remark",
            Kind::Example => "example",
            Kind::Problem => "problem",
            Kind::Case => "case",
            Kind::Table => "table",
            Kind::Figure => "figure",
            Kind::Statement => "statement",
        })
    }
}

/// Why a computation failed.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// What an item's computation returns.
pub(crate) type Run = Result<Outcome, Failure>;

/// One item of the paper, and the computation that shows it.
///
/// ```
/// let item = crease_paper::find("theorem-2").unwrap();
/// assert_eq!((item.kind.to_string().as_str(), item.number, item.place), ("theorem", Some(2), "Section 4"));
/// ```
#[derive(Clone, Copy)]
pub struct Item {
    /// A name, such as `theorem-2`, or a word for what has no number.
    pub id: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Its number among its kind.
    pub number: Option<u32>,
    /// What it is about.
    pub title: &'static str,
    /// Where in the paper.
    pub place: &'static str,
    /// What it claims, in our words.
    pub claim: &'static str,
    pub(crate) run: fn() -> Run,
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item").field("id", &self.id).field("title", &self.title).finish_non_exhaustive()
    }
}

/// A computation that failed, which is worse than one that disagrees.
#[derive(Debug, thiserror::Error)]
#[error("{item}: the computation failed: {source}")]
pub struct PaperError {
    /// Which item.
    pub item: &'static str,
    /// Why.
    pub source: Box<dyn Error + Send + Sync>,
}

impl Item {
    /// An item with a number; its name is made of both.
    pub(crate) const fn numbered(kind: Kind, number: u32, id: &'static str) -> Self {
        Item { id, kind, number: Some(number), title: "", place: "", claim: "", run: || Ok(Outcome::default()) }
    }

    /// A paragraph without a number.
    pub(crate) const fn statement(id: &'static str) -> Self {
        Item { kind: Kind::Statement, number: None, ..Item::numbered(Kind::Statement, 0, id) }
    }

    pub(crate) const fn about(self, title: &'static str, place: &'static str) -> Self {
        Item { title, place, ..self }
    }

    pub(crate) const fn claims(self, claim: &'static str, run: fn() -> Run) -> Self {
        Item { claim, run, ..self }
    }

    /// Runs the computation.
    ///
    /// ```
    /// let outcome = crease_paper::find("figure-1").unwrap().execute()?;
    /// assert_eq!(outcome.pictures.len(), 4);
    /// # Ok::<(), crease_paper::PaperError>(())
    /// ```
    pub fn execute(&self) -> Result<Outcome, PaperError> {
        (self.run)().map_err(|source| PaperError { item: self.id, source })
    }

    /// Its name and what it is about: `Theorem 2. Complexity of nonsmooth AD`, or its title.
    ///
    /// ```
    /// assert_eq!(crease_paper::find("case-4").unwrap().heading(), "Case 4. exp");
    /// ```
    pub fn heading(&self) -> String {
        match self.number {
            Some(_) => format!("{}. {}", self.name(), self.title),
            None => self.title.to_string(),
        }
    }

    /// How the item is called in running text: `Theorem 2`, or its title.
    ///
    /// ```
    /// assert_eq!(crease_paper::find("case-12").unwrap().name(), "Case 12");
    /// ```
    pub fn name(&self) -> String {
        let kind = self.kind.to_string();
        match self.number {
            Some(n) => format!("{}{} {n}", kind[..1].to_uppercase(), &kind[1..]),
            None => self.title.to_string(),
        }
    }
}
