//! What a certificate proves, and whether it is about this program at this point.

use super::at::{At, above};
use super::{Ask, Coordinates, InspectError};
use crate::show::{self, Rows};
use crease_check::{CheckError, Checked, Claim, Effort, EnclosedSide, Side, Vector};
use crease_core::limits::Stop;
use crease_core::local::{NormalForm, Precision};
use crease_core::{Limits, Program, Rational};
use crease_oracles::{certificate_graph, certificate_model};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// The most terms of a vector that text shows where there is no program to show it by.
const TERMS: usize = 24;

/// The most sides that text shows.
const SIDES: usize = 12;

/// What a certificate proves: that a function has a derivative, that it has none, or that a vector is one of its Clarke subgradients. It displays as the text of `crease check`, and
/// serializes as its JSON.
///
/// A certificate states the local model that it is about, so that it can be checked without knowing programs. [`about`](Proof::about) compares that model with the one of a
/// program at a point.
///
/// ```
/// use crease::inspect::{check, differentiable, Ask, InspectError};
/// let p = crease::trace(1, |x| crease::abs(x[0]))?;
/// let certificate = differentiable(&p, "x0=0", &Ask::default())?.certificate().unwrap();
///
/// let proof = check(&certificate)?; // by code that shares nothing with the search
/// assert!(proof.to_string().starts_with("proved      not differentiable"));
/// assert!(proof.clone().about(&p, "x0=0", &Ask::default())?.at.is_some());
///
/// let other = crease::trace(1, |x| crease::relu(x[0]))?;
/// let error = proof.about(&other, "x0=0", &Ask::default()).unwrap_err();
/// assert!(matches!(error, InspectError::Proof(_)));
/// assert!(error.to_string().contains("of another model than that of `f` at this point"));
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Proof<'p> {
    /// The claim, the model that it is about, and how long the proof is.
    pub checked: Checked,
    /// The program at the point, if its local model was found to be that of the certificate.
    pub at: Option<At<'p>>,
}

/// Why a certificate, though valid, is not about a program at a point, or is not known to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// It proves nothing.
    #[error("{0}")]
    Invalid(#[from] CheckError),
    /// Time was up, or somebody stopped it, before its proof was followed.
    #[error("the certificate was not checked to its end: {0}")]
    Stopped(Stop),
    /// Writing down the model of the program, for the comparison, takes more steps than the limit.
    #[error(
        "the certificate is valid, but the model of `{program}` at this point was not compared with its own: that takes more than {limit} steps, the limit `graph`"
    )]
    TooLarge {
        /// The program.
        program: String,
        /// The limit.
        limit: usize,
    },
    /// Its model was made with more bits than there may be.
    #[error(
        "the certificate is valid, and of a model made with {bits} bits, but the limit is {limit}; to compare it, raise that limit"
    )]
    Bits {
        /// The bits of its enclosures.
        bits: u32,
        /// The limit.
        limit: u32,
    },
    /// Its model is exact, that of the program is not.
    #[error(
        "the certificate is valid, but of an exact model; that of `{program}` has coefficients without exact values at this point"
    )]
    Enclosed {
        /// The program.
        program: String,
    },
    /// The models differ.
    #[error(
        "the certificate is valid, but of another model than that of `{program}` at this point: it has {} where the program has {}",
        shown(stated.as_deref()), shown(own.as_deref())
    )]
    Model {
        /// The program.
        program: String,
        /// The first line of the certificate's model that differs; nothing where it has no more lines.
        stated: Option<String>,
        /// The line of the program's model in its place.
        own: Option<String>,
    },
}

/// Reads a certificate and follows its proof in exact arithmetic, by code that shares nothing with the search that found it.
pub fn check(certificate: impl AsRef<[u8]>) -> Result<Proof<'static>, CheckError> {
    Ok(Proof { checked: crease_check::check(certificate.as_ref())?, at: None })
}

/// [`check()`], unless the limits end it before.
///
/// ```
/// use crease::Limits;
/// use crease::inspect::{check_within, differentiable, Ask, ProofError};
/// use std::time::Duration;
/// let p = crease::trace(1, |x| crease::abs(x[0]))?;
/// let certificate = differentiable(&p, "x0=0", &Ask::default())?.certificate().unwrap();
/// assert!(check_within(&certificate, &Limits::default()).is_ok());
/// let late = check_within(&certificate, &Limits::default().within(Duration::ZERO));
/// assert!(matches!(late, Err(ProofError::Stopped(_))));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn check_within(certificate: impl AsRef<[u8]>, limits: &Limits) -> Result<Proof<'static>, ProofError> {
    let stop = || limits.stopped().is_some();
    let effort = Effort { stop: Some(&stop), ..Effort::default() };
    match (crease_check::check_within(certificate.as_ref(), &effort), limits.stopped()) {
        (Ok(checked), _) => Ok(Proof { checked, at: None }),
        // what ended it was the clock, or whoever stopped it, and says nothing of the certificate
        (Err(_), Some(stop)) => Err(ProofError::Stopped(stop)),
        (Err(e), None) => Err(ProofError::Invalid(e)),
    }
}

impl Proof<'_> {
    /// The same, if the local model of a program at a point is the one that the certificate states.
    /// [`Ask::output`] picks one of several outputs. [`Ask::limits`] bound the bits of enclosures, the
    /// steps of the model and the time.
    pub fn about<'p>(
        self,
        program: &'p Program,
        point: &(impl Coordinates + ?Sized),
        ask: &Ask<'_>,
    ) -> Result<Proof<'p>, InspectError> {
        let (checked, name) = (self.checked, program.name());
        if let Claim::NotDifferentiableEnclosed { bits, .. } = checked.claim {
            let limit = ask.limits.bits;
            if bits > limit {
                return Err(ProofError::Bits { bits, limit }.into());
            }
            let mut at = At::within(program, point, Precision { bits, limit: bits }, &ask.limits)?;
            let (_, element) = at.scalar_output("a certificate", ask.output)?;
            same(&checked, &certificate_graph(at.model(), element)?, name)?;
            return Ok(Proof { checked, at: Some(at) });
        }
        let mut at = At::new(program, point, ask)?;
        let (_, element) = at.scalar_output("a certificate", ask.output)?;
        // norms that cancel have no part in a certificate
        let oracles = &ask.limits.oracles;
        let plain = at.model().without_norms_within(element, &ask.limits);
        let (model, element) = plain.as_ref().map_or((at.model(), element), |plain| (plain, 0));
        if !model.is_exact() {
            return Err(ProofError::Enclosed { program: name.into() }.into());
        }
        // the writer of the certificate had as many steps
        let normal = model.normal_form_within(ask.limits.steps_of(oracles.graph));
        let normal = normal.ok_or_else(|| match ask.limits.stopped() {
            Some(stop) => ProofError::Stopped(stop),
            None => ProofError::TooLarge { program: name.into(), limit: oracles.graph },
        })?;
        compare(&checked, &normal, element, name)?;
        Ok(Proof { checked, at: Some(at) })
    }
}

/// Sees that the certificate's model is that of the program.
fn compare(checked: &Checked, normal: &NormalForm, element: usize, name: &str) -> Result<(), ProofError> {
    let whole = certificate_model(normal, element);
    let needed = certificate_model(&normal.of_output(element), 0);
    // a certificate may state all kinks, or only those that its output depends on
    if checked.model == whole { Ok(()) } else { same(checked, &needed, name) }
}

/// Sees that the lines of the certificate's model are those of the program.
fn same(checked: &Checked, own: &str, name: &str) -> Result<(), ProofError> {
    if checked.model == own {
        return Ok(());
    }
    let (mut stated, mut own) = (checked.model.lines(), own.lines());
    let differ = std::iter::repeat_with(|| (stated.next(), own.next())).find(|(a, b)| a != b);
    let (stated, own) = differ.unwrap_or_default();
    Err(ProofError::Model { program: name.into(), stated: stated.map(Into::into), own: own.map(Into::into) })
}

/// A line in a message, cut where it is long.
fn shown(line: Option<&str>) -> String {
    match line {
        Some(line) if line.chars().count() > 100 => format!("`{}...`", line.chars().take(100).collect::<String>()),
        line => format!("`{}`", line.unwrap_or("nothing")),
    }
}

impl Proof<'_> {
    fn text(&self) -> String {
        let mut rows = Rows::default();
        match &self.checked.claim {
            Claim::Differentiable { gradient } => {
                rows.add("proved", "differentiable");
                self.vector(&mut rows, "gradient", gradient);
            }
            Claim::NotDifferentiable { sides } => {
                rows.add("proved", "not differentiable: it has two gradients nearby");
                sides.iter().for_each(|side| self.side(&mut rows, side));
            }
            Claim::NotDifferentiableEnclosed { coordinate, sides, .. } => {
                rows.add(
                    "proved",
                    "not differentiable: it has two gradients nearby, which differ whatever its coefficients are inside their enclosures",
                );
                let name = self.coordinate(*coordinate);
                for side in sides {
                    let ends = [below(&side.low), above(&side.high)].map(show::float);
                    rows.add("gradient", &format!("{name} from {} to {}", ends[0], ends[1]));
                    self.vector(&mut rows, "  around", &side.direction);
                }
                rows.add("apart", &format!("{name} by at least {}", show::float(below(&gap(sides)))));
            }
            Claim::Member { vector, sides } => {
                rows.add("proved", "a Clarke subgradient: a mean of gradients nearby");
                self.vector(&mut rows, "vector", vector);
                for (weight, side) in sides.iter().take(SIDES) {
                    rows.add("weight", &show::exact(weight));
                    self.side(&mut rows, side);
                }
                if sides.len() > SIDES {
                    rows.add("…", &format!("and {} more", show::count(sides.len() - SIDES)));
                }
            }
        }
        rows.add("model", &self.model());
        if let Claim::Differentiable { .. } = self.checked.claim {
            let s = &self.checked.statistics;
            let counts = [
                (s.relus, "relu", "relus"),
                (s.atoms, "atom", "atoms"),
                (s.clauses, "clause", "clauses"),
                (s.lemmas, "lemma", "lemmas"),
                (s.learned, "learned clause", "learned clauses"),
            ];
            rows.add("proof", &counts.map(|(n, one, many)| counted(n, one, many)).join(", "));
        }
        if let Some(at) = &self.at {
            at.exactness(&mut rows);
        }
        rows.text()
    }

    fn model(&self) -> String {
        let Checked { dimension, kinks, .. } = &self.checked;
        let mut size =
            format!("{}, {}", counted(*dimension, "dimension", "dimensions"), counted(*kinks, "kink", "kinks"));
        if let Claim::NotDifferentiableEnclosed { bits, .. } = self.checked.claim {
            size += &format!(", with enclosures of {bits} bits");
        }
        match &self.at {
            Some(at) => format!("{size}; the local model of `{}` at this point", at.program().name()),
            None => format!("{size}, as the certificate states it; with a program and --at they are compared"),
        }
    }

    /// What a coordinate of the direction is called: where there is a program, by the input and the place in it.
    fn coordinate(&self, i: usize) -> String {
        match self.at.as_ref().and_then(|at| at.coordinate(i)) {
            Some((name, index)) if index.is_empty() => name.into(),
            Some((name, index)) => {
                format!("{name}[{}]", index.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
            }
            None => format!("d{i}"),
        }
    }

    fn side(&self, rows: &mut Rows, side: &Side) {
        self.vector(rows, "gradient", &side.gradient);
        self.vector(rows, "  around", &side.direction);
    }

    fn vector(&self, rows: &mut Rows, label: &str, vector: &Vector) {
        match &self.at {
            Some(at) => {
                let parts = at.by_input(&self.dense(vector), None);
                let shown = at.names().into_iter().zip(&parts).map(|(n, a)| format!("{n}={}", show::answer(a, false)));
                rows.add(label, &shown.collect::<Vec<_>>().join("  "));
            }
            None => {
                let mut terms: Vec<String> =
                    vector.entries().take(TERMS).map(|(i, c)| format!("d{i}={}", show::exact(c))).collect();
                let more = vector.entries().count() - terms.len();
                if more > 0 {
                    terms.push(format!("… and {} more", show::count(more)));
                }
                rows.add(label, &if terms.is_empty() { "0".into() } else { terms.join("  ") });
            }
        }
    }

    /// All coordinates. Only where there is a program, so that it has as many inputs.
    fn dense(&self, vector: &Vector) -> Vec<Rational> {
        let mut out = vec![Rational::ZERO; self.checked.dimension];
        vector.entries().for_each(|(i, c)| out[i] = c.clone());
        out
    }

    fn json(&self) -> Value {
        let s = &self.checked.statistics;
        let counts = [
            ("relus", s.relus),
            ("atoms", s.atoms),
            ("clauses", s.clauses),
            ("lemmas", s.lemmas),
            ("learned", s.learned),
        ];
        let claim = match &self.checked.claim {
            Claim::Differentiable { .. } => "differentiable",
            Claim::NotDifferentiable { .. } => "not-differentiable",
            Claim::NotDifferentiableEnclosed { .. } => "not-differentiable-enclosed",
            Claim::Member { .. } => "member",
        };
        let mut members: Vec<(&str, Value)> = vec![("valid", true.into()), ("claim", claim.into())];
        let outward = |s: &EnclosedSide| [below(&s.low), above(&s.high)].map(Value::from);
        members.extend(self.proved(&|v| self.json_vector(v), &show::number, &outward));
        if let Claim::NotDifferentiableEnclosed { bits, coordinate, sides } = &self.checked.claim {
            members.push(("coordinate", self.coordinate(*coordinate).into()));
            members.push(("apart", below(&gap(sides)).into()));
            members.push(("bits", (*bits).into()));
        }
        members.push(("dimension", self.checked.dimension.into()));
        members.push(("kinks", self.checked.kinks.into()));
        members.push(("compared", self.at.is_some().into()));
        members.push(("statistics", show::object(counts.map(|(k, n)| (k, n.into())))));
        if let Some(at) = &self.at {
            members.extend(at.json_exactness());
        }
        let ends = |s: &EnclosedSide| [&s.low, &s.high].map(|x| x.fraction().into());
        let exact = self.proved(&|v| self.json_exact(v), &|x| x.fraction().into(), &ends);
        members.push(("exact", show::object(exact)));
        show::object(members)
    }

    /// The vectors and weights of the claim.
    fn proved(
        &self,
        vector: &dyn Fn(&Vector) -> Value,
        number: &dyn Fn(&Rational) -> Value,
        ends: &dyn Fn(&EnclosedSide) -> [Value; 2],
    ) -> Vec<(&'static str, Value)> {
        let side = |s: &Side| vec![("gradient", vector(&s.gradient)), ("direction", vector(&s.direction))];
        match &self.checked.claim {
            Claim::Differentiable { gradient } => vec![("gradient", vector(gradient))],
            Claim::NotDifferentiable { sides } => {
                vec![("sides", sides.iter().map(|s| show::object(side(s))).collect())]
            }
            Claim::NotDifferentiableEnclosed { sides, .. } => {
                let enclosed = |s: &EnclosedSide| {
                    let [low, high] = ends(s);
                    show::object([("low", low), ("high", high), ("direction", vector(&s.direction))])
                };
                vec![("sides", sides.iter().map(enclosed).collect())]
            }
            Claim::Member { vector: v, sides } => {
                let weighted =
                    |(w, s): &(Rational, Side)| show::object([("weight", number(w))].into_iter().chain(side(s)));
                vec![("vector", vector(v)), ("sides", sides.iter().map(weighted).collect())]
            }
        }
    }

    fn json_vector(&self, vector: &Vector) -> Value {
        match &self.at {
            Some(at) => at.json(&self.dense(vector)),
            None => show::object(vector.entries().map(|(i, c)| (format!("d{i}"), show::number(c)))),
        }
    }

    fn json_exact(&self, vector: &Vector) -> Value {
        match &self.at {
            Some(at) => {
                let parts = at.by_input(&self.dense(vector), None);
                let shown = parts.iter().map(|a| show::fractions(a).unwrap_or(Value::Null));
                show::object(at.names().into_iter().zip(shown))
            }
            None => show::object(vector.entries().map(|(i, c)| (format!("d{i}"), c.fraction().into()))),
        }
    }
}

impl fmt::Display for Proof<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Serialize for Proof<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

/// How far two enclosures are apart.
fn gap([a, b]: &[EnclosedSide; 2]) -> Rational {
    Ord::max(&a.low - &b.high, &b.low - &a.high)
}

/// A float that is not above a number.
fn below(x: &Rational) -> f64 {
    -above(&-x)
}

fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", show::count(n), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crease_core::local::localize;
    use crease_core::{Shape, Tensor, relu, trace_shapes};

    /// relu(y) - x and relu(x) + relu(-y), at 0.
    fn two_outputs() -> NormalForm {
        let zero = Tensor::scalar(Rational::ZERO);
        let program =
            trace_shapes(&[Shape::scalar(), Shape::scalar()], |x| vec![relu(x[1]) - x[0], relu(x[0]) + relu(-x[1])])
                .unwrap();
        localize(&program, &[zero.clone(), zero]).unwrap().normal_form().unwrap()
    }

    fn checked(model: &str) -> Checked {
        let text = format!(
            "crease-certificate 1\nclaim member\n{model}vector 0\nside 1\ndirection -1*d0 1*d1\ngradient 0\nend\n"
        );
        crease_check::check(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_certificate_may_leave_out_the_kinks_of_other_outputs() {
        let normal = two_outputs();
        let whole = certificate_model(&normal, 1);
        let needed = certificate_model(&normal.of_output(1), 0);
        assert!(whole.contains("kinks 3\n") && needed.contains("kinks 2\n"), "{whole}{needed}");
        for stated in [&whole, &needed] {
            compare(&checked(stated), &normal, 1, "f").unwrap();
            assert!(compare(&checked(stated), &normal, 0, "f").is_err());
        }
    }

    #[test]
    fn another_model_is_told_by_its_first_line() {
        let normal = two_outputs();
        let other = certificate_model(&normal.of_output(1), 0).replace("dimension 2", "dimension 3");
        let message = compare(&checked(&other), &normal, 1, "f").unwrap_err().to_string();
        assert!(message.ends_with("it has `dimension 3` where the program has `dimension 2`"), "{message}");
    }
}
