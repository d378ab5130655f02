//! What the library says of a case, as claims that can be checked. This is the one place that knows its interface.

use crease_core::Limits;
use crease_core::local::{LocalError, Precision};
use crease_core::number::{Mixed, NumberError, Rational};
use crease_core::run::RunFault;
use crease_corpus::hostile::Case;
use crease_oracles::{AskError, Effort, Session, Verdict, identity};
use std::fmt;

/// Numbers between which something is said to lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    pub low: Rational,
    pub high: Rational,
}

impl Bounds {
    pub fn exactly(x: Rational) -> Self {
        Bounds { low: x.clone(), high: x }
    }
}

/// A gradient, coordinate by coordinate; nothing where it is only said to be near something.
pub type Gradient = Vec<Option<Bounds>>;

/// Something that the library says.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// The program has no value at the point.
    NoValue,
    /// The value at the point.
    Value(Bounds),
    /// The directional derivative.
    Directional { direction: Vec<Rational>, value: Bounds },
    /// It is differentiable, and this is the gradient.
    Yes(Gradient),
    /// It is not differentiable. Two limits of gradients, each along a direction.
    No(Box<[(Gradient, Vec<Rational>); 2]>),
    /// The limit of gradients along a direction.
    Clarke { gradient: Gradient, direction: Vec<Rational> },
    /// The lexicographic derivative along a basis.
    Lexicographic { gradient: Gradient, basis: Vec<Vec<Rational>> },
    /// These are all limits of gradients.
    Complete(Vec<Gradient>),
    /// The conservative gradient has this one element.
    Singleton(Gradient),
    /// It stopped in a panic.
    Panicked(String),
}

impl Claim {
    pub fn name(&self) -> &'static str {
        match self {
            Claim::NoValue => "no value",
            Claim::Value(_) => "value",
            Claim::Directional { .. } => "directional",
            Claim::Yes(_) => "differentiable",
            Claim::No(_) => "not differentiable",
            Claim::Clarke { .. } => "clarke",
            Claim::Lexicographic { .. } => "lexicographic",
            Claim::Complete(_) => "complete list",
            Claim::Singleton(_) => "conservative singleton",
            Claim::Panicked(_) => "panic",
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = |list: &[Rational]| list.iter().map(Rational::to_string).collect::<Vec<_>>().join(", ");
        let gradient = |g: &Gradient| g.iter().map(shown).collect::<Vec<_>>().join(", ");
        write!(f, "{}", self.name())?;
        match self {
            Claim::NoValue => Ok(()),
            Claim::Value(bounds) => write!(f, " {bounds}"),
            Claim::Directional { direction, value } => write!(f, " {value} along [{}]", numbers(direction)),
            Claim::Yes(g) | Claim::Singleton(g) => write!(f, " [{}]", gradient(g)),
            Claim::No(sides) => {
                let [(g, d), (h, e)] = &**sides;
                write!(f, " [{}] along [{}], [{}] along [{}]", gradient(g), numbers(d), gradient(h), numbers(e))
            }
            Claim::Clarke { gradient: g, direction } => write!(f, " [{}] along [{}]", gradient(g), numbers(direction)),
            Claim::Lexicographic { gradient: g, basis } => {
                let basis: Vec<String> = basis.iter().map(|d| numbers(d)).collect();
                write!(f, " [{}] along [{}]", gradient(g), basis.join("; "))
            }
            Claim::Complete(list) => {
                write!(f, " {}", list.iter().map(|g| format!("[{}]", gradient(g))).collect::<String>())
            }
            Claim::Panicked(text) => write!(f, " {text}"),
        }
    }
}

fn shown(bounds: &Option<Bounds>) -> String {
    bounds.as_ref().map_or("?".into(), Bounds::to_string)
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.low, &self.high) {
            (low, high) if low == high => write!(f, "{low}"),
            (low, high) => write!(f, "{:e}..{:e}", low.to_f64(), high.to_f64()),
        }
    }
}

/// How a program's question was answered as a whole.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// By yes or no.
    Told,
    /// By "unknown", and why.
    Unknown(String),
    /// There is no local model, and why.
    Refused(String),
    /// The program is said to have no value.
    NoValue(String),
}

/// The answer and all claims about a case.
pub struct Said {
    pub answer: Answer,
    pub claims: Vec<Claim>,
}

/// Asks the library everything about a case, along the given directions.
pub fn ask(case: &Case, directions: &[Vec<Rational>]) -> Said {
    let asked = std::panic::catch_unwind(|| answers(case, directions));
    asked.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or(panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default();
        Said { answer: Answer::Refused("it panicked".into()), claims: vec![Claim::Panicked(text)] }
    })
}

fn answers(case: &Case, directions: &[Vec<Rational>]) -> Said {
    let effort = Effort {
        limits: Limits { conflicts: 500, ..Limits::default() },
        seed: case.seed,
        proof: false,
        ..Effort::default()
    };
    let precision = Precision { limit: 1024, ..Precision::default() };
    let asked = crease_oracles::ask(&case.program, &case.inputs(), 0, precision, &effort.limits, |session| {
        let decided = session.differentiable(&effort)?;
        let open = matches!(decided.verdict, Verdict::Unknown { .. });
        Ok((decided, open))
    });
    let (session, decided) = match asked {
        Ok(asked) => asked,
        Err(AskError::Local(error)) => return refusal(&error),
        Err(AskError::Oracle(error)) => return Said { answer: Answer::Refused(kind(&error)), claims: Vec::new() },
    };
    let (mut claims, model) = (Vec::new(), session.model());
    if let Some(value) = model.values()[0].data().first().and_then(bounds) {
        claims.push(Claim::Value(value));
    }
    for d in directions {
        if let Some(value) = model.along(d).and_then(|v| bounds(v.first()?)) {
            claims.push(Claim::Directional { direction: d.clone(), value });
        }
    }
    let answer = match decided.verdict {
        Verdict::Yes(e) => {
            claims.push(Claim::Yes(gradient(&e.gradient, e.radius.as_deref())));
            Answer::Told
        }
        Verdict::No(sides) => {
            let side =
                |i: usize| (gradient(&sides[i].gradient, sides[i].radius.as_deref()), sides[i].direction.clone());
            claims.push(Claim::No(Box::new([side(0), side(1)])));
            Answer::Told
        }
        Verdict::Unknown { limit, .. } => Answer::Unknown(kind(&limit)),
    };
    other_claims(case, &session, &mut claims);
    Said { answer, claims }
}

/// What the other oracles say.
fn other_claims(case: &Case, session: &Session<'_>, claims: &mut Vec<Claim>) {
    for seed in [case.seed, case.seed + 1] {
        if let Ok(e) = session.clarke_element(seed)
            && e.proved
        {
            let gradient = gradient(&e.gradient, e.radius.as_deref());
            claims.push(Claim::Clarke { gradient, direction: e.direction });
        }
    }
    let mut basis = identity(session.model().dimension());
    if case.seed.is_multiple_of(2) {
        basis.reverse();
    }
    if let Ok(l) = session.lexicographic(&basis) {
        claims.push(Claim::Lexicographic { gradient: gradient(&l.gradient, l.radius.as_deref()), basis });
    }
    let limits = &Limits { cells: 200, gradients: 50, ..Limits::default() };
    if let Ok(list) = session.neighbouring_gradients(limits, |_| ()) {
        for n in list.gradients.iter().take(3) {
            let gradient = gradient(&n.gradient, n.radius.as_deref());
            claims.push(Claim::Clarke { gradient, direction: n.direction.clone() });
        }
        if list.complete() {
            let all = list.gradients.iter().map(|n| gradient(&n.gradient, n.radius.as_deref())).collect();
            claims.push(Claim::Complete(all));
        }
    }
    if let Ok(c) = session.conservative()
        && c.is_singleton()
        && c.proved
    {
        claims.push(Claim::Singleton(gradient(&c.elements[0].gradient, c.elements[0].radius.as_deref())));
    }
}

/// Numbers between which a number certainly lies.
fn bounds(x: &Mixed) -> Option<Bounds> {
    match x.exact() {
        Some(r) => Some(Bounds::exactly(r.clone())),
        None => x.enclosure().ends().map(|(low, high)| Bounds { low, high }),
    }
}

/// A gradient, given how far it may be off.
fn gradient(g: &[Rational], radius: Option<&[Rational]>) -> Gradient {
    let off = |i: usize| radius.map_or(Rational::ZERO, |r| r[i].clone());
    g.iter().enumerate().map(|(i, x)| Some(Bounds { low: x - off(i), high: x + off(i) })).collect()
}

/// A refusal to make a model.
fn refusal(error: &LocalError) -> Said {
    let domain = |e: &NumberError| {
        matches!(
            e,
            NumberError::DivisionByZero
                | NumberError::LogOfNonPositive
                | NumberError::SqrtOfNegative
                | NumberError::Outside { .. }
        )
    };
    match error {
        LocalError::Run(e) => match &e.fault {
            RunFault::Number(n) if domain(n) => {
                Said { answer: Answer::NoValue(n.to_string()), claims: vec![Claim::NoValue] }
            }
            RunFault::NotATruth(_) => Said { answer: Answer::NoValue("no truth".into()), claims: vec![Claim::NoValue] },
            fault => Said { answer: Answer::Refused(kind(fault)), claims: Vec::new() },
        },
        other => Said { answer: Answer::Refused(reason(other)), claims: Vec::new() },
    }
}

/// The reason of a refusal without the place, so that like ones can be counted.
fn reason(error: &LocalError) -> String {
    match error {
        LocalError::Discontinuous { .. } => "a selection is not continuous".into(),
        LocalError::NoDerivative { why, .. } => why.clone(),
        LocalError::Singular { .. } => "singular".into(),
        LocalError::Undecided { .. } => "a branch is undecided".into(),
        other => kind(other),
    }
}

/// A message without its numbers, so that like ones can be counted.
fn kind(e: &impl fmt::Display) -> String {
    let text = e.to_string();
    let mut out = String::new();
    for word in text.split_whitespace() {
        let word = if word.contains(|c: char| c.is_ascii_digit()) { "N" } else { word };
        out.push_str(if out.is_empty() { "" } else { " " });
        out.push_str(word);
    }
    out.chars().take(90).collect()
}
