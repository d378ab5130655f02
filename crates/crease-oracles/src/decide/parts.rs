//! A search in parts, for several who search: each takes the directions with given signs of some forms, and what they learn is one proof.
//!
//! What a search learns under assumptions holds without them, and that the assumptions contradict each other follows from it by unit propagation. So the records of all parts, one after the other, each followed by
//! the clause that forbids its signs, are the record of a search in the whole: the clauses of two parts that differ in their last sign give that of the signs before.

use super::proof::Proof;
use super::search::{Outcome, search};
use super::{Argument, Decision, Effort, Limit, Record, SearchCounts, Verdict, Written, near};
use crate::{ClarkeElement, OracleError, Session};
use crease_core::local::Form;
use crease_core::number::Rational;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// A part of a search whether a function is differentiable: the signs of the first forms and relus by how much they matter. It is written as `+` and `-`, and as nothing if it is the whole.
///
/// ```
/// use crease_oracles::SignCube;
/// let cube: SignCube = "+-".parse().unwrap();
/// assert_eq!(cube.halves().map(|half| half.to_string()), ["+--", "+-+"]);
/// assert_eq!(SignCube::all(2).len(), 4);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignCube(Vec<bool>);

impl SignCube {
    /// All with so many signs.
    pub fn all(signs: u32) -> Vec<SignCube> {
        (0..1u64 << signs.min(20)).map(|k| SignCube((0..signs.min(20)).map(|i| k >> i & 1 == 1).collect())).collect()
    }

    /// Both with one sign more.
    pub fn halves(&self) -> [SignCube; 2] {
        [false, true].map(|sign| SignCube(self.0.iter().copied().chain([sign]).collect()))
    }
}

impl fmt::Display for SignCube {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|&sign| f.write_str(if sign { "+" } else { "-" }))
    }
}

impl FromStr for SignCube {
    type Err = OracleError;

    fn from_str(text: &str) -> Result<Self, OracleError> {
        let sign = |c: char| match c {
            '+' => Some(true),
            '-' => Some(false),
            _ => None,
        };
        text.chars().map(sign).collect::<Option<_>>().map(SignCube).ok_or(OracleError::Cube)
    }
}

/// What a search in a part ended with.
#[derive(Clone, Debug, PartialEq)]
pub enum PartOutcome {
    /// A direction along which the derivative is not that of the gradient that was found first.
    Found(Vec<Rational>),
    /// There is none in this part: what was learned, as lines of a certificate, if a proof was asked for.
    None(String),
    /// A limit was met.
    Limit(Limit),
}

/// A part of a search, and what it took.
///
/// ```
/// use crease_core::{local::localize, relu, trace, Rational, Tensor};
/// use crease_oracles::{Effort, Session, SignCube};
/// let p = trace(2, |x| relu(x[0] + x[1]) + relu(x[0] - x[1]) - relu(x[0])).unwrap();
/// let model = localize(&p, &vec![Tensor::scalar(Rational::ZERO); 2]).unwrap();
/// let (session, effort) = (Session::new(&model, 0), Effort { directions: 0, ..Effort::default() });
/// let parts = SignCube::all(1).into_iter().map(|cube| {
///     let done = session.differentiable_in(&cube, &effort).unwrap();
///     (cube, done)
/// });
/// let decision = session.differentiable_united(parts.collect(), None, &effort).unwrap();
/// assert_eq!(decision.verdict.word(), "no");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SearchPart {
    /// How it ended.
    pub outcome: PartOutcome,
    /// What it took.
    pub counts: SearchCounts,
}

impl Session<'_> {
    /// Searches a part for a direction that shows the output not to be differentiable. The same effort, but for its limits, must be made for all parts: the gradient that directions are compared with
    /// depends on its seed. The model must be exact, and have kinks that matter: what needs no search is for [`Session::differentiable`] to say.
    pub fn differentiable_in(&self, cube: &SignCube, effort: &Effort<'_>) -> Result<SearchPart, OracleError> {
        self.from()?;
        if let Some(plain) = self.plain() {
            return plain.differentiable_in(cube, effort);
        }
        let first = self.clarke_element(effort.seed)?;
        let mut counts = SearchCounts::default();
        let Some((relus, h)) = self.searched(&first) else {
            self.go_on()?;
            return Ok(SearchPart { outcome: PartOutcome::Limit(Limit::TooLarge), counts });
        };
        counts.relus = relus.arguments.len();
        let outcome = match search(&relus, &h, &cube.0, effort, &mut counts) {
            Outcome::Found(direction) => PartOutcome::Found(direction),
            Outcome::Limit(limit) => PartOutcome::Limit(limit),
            Outcome::None(refutation) => {
                let mut lines = String::new();
                refutation.1.write(&mut lines).map_err(|_| OracleError::Cube)?;
                PartOutcome::None(lines)
            }
        };
        Ok(SearchPart { outcome, counts })
    }

    /// What searches in parts say together: no if one of them found a direction, yes if none did and they are all there is, with one certificate. `missing` is why parts are missing, if they are.
    /// See [`SearchPart`] for an example.
    pub fn differentiable_united(
        &self,
        parts: Vec<(SignCube, SearchPart)>,
        missing: Option<Limit>,
        effort: &Effort<'_>,
    ) -> Result<Decision, OracleError> {
        self.from()?;
        if let Some(plain) = self.plain() {
            return plain.differentiable_united(parts, missing, effort);
        }
        let first = self.clarke_element(effort.seed)?;
        let mut counts = SearchCounts::default();
        let decide = |verdict, by, counts, written| Ok(Decision { verdict, by, counts, written });
        for (_, part) in &parts {
            counts.relus = part.counts.relus;
            (counts.atoms, counts.phases) = (part.counts.atoms, part.counts.phases);
            counts.conflicts += part.counts.conflicts;
            counts.lemmas += part.counts.lemmas;
            counts.linear_programs += part.counts.linear_programs;
        }
        let written = |proof| {
            let normal = self.normal_form().cloned();
            normal.map(|normal| Written::Exact { normal, output: self.output(), proof })
        };
        let unknown = |limit, counts, first| {
            decide(Verdict::Unknown { limit, best: vec![first] }, Argument::Nothing, counts, None)
        };
        let Some((relus, h)) = self.searched(&first) else { return unknown(Limit::TooLarge, counts, first) };
        let mut refuted: BTreeMap<&SignCube, &str> = BTreeMap::new();
        let mut limit = missing;
        for (cube, part) in &parts {
            match &part.outcome {
                // whoever found it, it is looked at here
                PartOutcome::Found(d) if d.len() == relus.dimension && !relus.evaluate(&h, d).is_zero() => {
                    let second = near(self, d, &first, effort.seed)?;
                    return decide(Verdict::No(Box::new([first, second])), Argument::Search, counts, written(None));
                }
                PartOutcome::Found(_) => return Err(OracleError::Cube),
                PartOutcome::Limit(met) => limit = limit.or(Some(*met)),
                PartOutcome::None(lines) => drop(refuted.insert(cube, lines)),
            }
        }
        if let Some(limit) = limit {
            return unknown(limit, counts, first);
        }
        let signs = super::Signs::new(&relus, &h, self.token());
        let ranked = signs.ranked(&relus);
        let mut record = Record::default();
        let forbid = |cube: &SignCube, record: &mut Record| {
            let clause = ranked.iter().zip(&cube.0).map(|(&atom, &yes)| if yes { -atom } else { atom });
            record.learn(clause.collect::<Vec<_>>().into_iter());
        };
        let mut closed: BTreeSet<(usize, SignCube)> = BTreeSet::new();
        for (cube, lines) in refuted {
            if effort.proof {
                record.read(lines).ok_or(OracleError::Cube)?;
                forbid(cube, &mut record);
            }
            closed.insert((cube.0.len(), cube.clone()));
        }
        // two that differ in their last sign make the one without it, the longest first
        while let Some((n, cube)) = closed.pop_last() {
            if n == 0 {
                let gradient = Form::from(&first.gradient[..]);
                let proof = Proof { relus, gradient, refutation: Some(Box::new((signs, record))) };
                let written = if effort.proof { written(Some(proof)) } else { None };
                return decide(Verdict::Yes(first), Argument::Search, counts, written);
            }
            let mut other = cube.clone();
            other.0[n - 1] = !other.0[n - 1];
            // atoms that there are not have no sign
            if !closed.remove(&(n, other)) && n <= ranked.len() {
                return Err(OracleError::Cube);
            }
            let before = SignCube(cube.0[..n - 1].to_vec());
            if effort.proof && n > 1 {
                forbid(&before, &mut record);
            }
            closed.insert((n - 1, before));
        }
        Err(OracleError::Cube)
    }

    /// What is searched: the model with relus, and its output less the gradient that is known. Nothing if the model is too large, is not exact, or leaves nothing to search.
    fn searched(&self, first: &ClarkeElement) -> Option<(super::Relus, Form)> {
        if !self.model().is_exact() || !first.proved {
            return None;
        }
        let relus =
            super::Relus::new(self.normal_form()?, self.output(), self.token().steps_of(self.limits().rewriting))?;
        let h = relus.output.minus(&Form::from(&first.gradient[..]));
        (!h.is_zero()).then_some((relus, h))
    }
}
