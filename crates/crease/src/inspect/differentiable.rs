//! Whether a program is differentiable at a point: yes with the gradient, no with two subgradients, or unknown with the reason.

use super::at::{At, Undecided};
use super::{Ask, Coordinates, InspectError};
use crate::show::{self, Apart, Rows, width};
use crease_core::Program;
use crease_oracles::{
    Argument, ClarkeElement, Decision, Effort, Limit, PartOutcome, SearchCounts, SearchPart, SignCube, Verdict,
    accurate_vector,
};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// Whether one scalar output is differentiable. It displays as the text of `crease differentiable`, and serializes as its JSON.
///
/// ```
/// use crease::inspect::{differentiable, Ask};
/// let p = crease::trace(1, |x| crease::relu(x[0]) - crease::relu(-x[0]))?;
/// let answer = differentiable(&p, &[0.0], &Ask::default())?;
/// assert_eq!(answer.word(), "yes");
/// assert!(crease::check::check(answer.certificate().unwrap().as_bytes()).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Differentiable<'p> {
    /// The search and what it found, or why enclosures cannot tell which branches are taken.
    pub answer: Result<Answered<'p>, Undecided>,
    /// What became of the certificate, in words, for the text.
    certificate: Option<String>,
    /// Whether it was kept.
    kept: bool,
}

/// What a search for a verdict found.
#[derive(Debug)]
pub struct Answered<'p> {
    /// The program at the point.
    pub at: At<'p>,
    /// Which of its outputs.
    pub output: usize,
    /// The verdict, what it rests on, and what it took.
    pub decision: Decision,
}

/// Whether a program is differentiable at a point. That is NP-hard to decide; [`Ask::limits`] end the search.
pub fn differentiable<'p>(
    program: &'p Program,
    point: &(impl Coordinates + ?Sized),
    ask: &Ask<'_>,
) -> Result<Differentiable<'p>, InspectError> {
    let ask = &ask.started();
    let mut at = match At::new(program, point, ask) {
        Ok(at) => at,
        Err(e) => {
            let answer = Err(Undecided::from_error(e)?);
            return Ok(Differentiable { answer, certificate: None, kept: false });
        }
    };
    let (output, _) = at.scalar_output("differentiability", ask.output)?;
    let effort = effort(ask);
    let decision = at.ask(|session| {
        let decision = session.differentiable(&effort)?;
        let bits = session.model().precision().bits;
        let close = |e: &ClarkeElement| accurate_vector(bits, &e.gradient, e.radius.as_deref());
        let open = matches!(&decision.verdict, Verdict::Unknown { limit: Limit::Bits(_), .. });
        let open = open || !decision.verdict.elements().iter().all(close);
        Ok((decision, open))
    })?;
    Ok(Differentiable { answer: Ok(Answered { at, output, decision }), certificate: None, kept: false })
}

fn effort<'a>(ask: &Ask<'a>) -> Effort<'a> {
    Effort { limits: ask.limits.clone(), seed: ask.seed, proof: ask.proof, watch: ask.watch, ..Effort::default() }
}

/// Searches a part of the directions for one that shows a program not to be differentiable: a question that [`differentiable`] gave up, shared by several. [`differentiable_united`] puts the parts together.
///
/// ```
/// use crease::inspect::{Ask, differentiable_in, differentiable_united};
/// use crease::oracles::SignCube;
/// let p = crease::trace(2, |x| crease::relu(x[0] + x[1]) + crease::relu(x[0] - x[1]) - crease::relu(x[0]))?;
/// let (at, ask) = ([0.0, 0.0], Ask::default());
/// let mut parts = Vec::new();
/// for cube in SignCube::all(1) {
///     let done = differentiable_in(&p, &at, &cube, &ask)?;
///     parts.push((cube, done));
/// }
/// assert_eq!(differentiable_united(&p, &at, parts, None, &ask)?.word(), "no");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn differentiable_in(
    program: &Program,
    point: &(impl Coordinates + ?Sized),
    cube: &SignCube,
    ask: &Ask<'_>,
) -> Result<SearchPart, InspectError> {
    let ask = &ask.started();
    let searched = At::new(program, point, ask).and_then(|mut at| {
        at.scalar_output("differentiability", ask.output)?;
        Ok(at.session().differentiable_in(cube, &effort(ask))?)
    });
    match searched {
        Err(InspectError::Stopped(stop)) => {
            Ok(SearchPart { outcome: PartOutcome::Limit(stop.into()), counts: SearchCounts::default() })
        }
        searched => searched,
    }
}

/// What searches in parts say together; `missing` says why parts are not there, if some are not. See [`differentiable_in`] for an example.
pub fn differentiable_united<'p>(
    program: &'p Program,
    point: &(impl Coordinates + ?Sized),
    parts: Vec<(SignCube, SearchPart)>,
    missing: Option<Limit>,
    ask: &Ask<'_>,
) -> Result<Differentiable<'p>, InspectError> {
    let ask = &ask.started();
    let mut at = At::new(program, point, &ask.again())?;
    let (output, _) = at.scalar_output("differentiability", ask.output)?;
    let decision = at.session().differentiable_united(parts, missing, &effort(ask))?;
    Ok(Differentiable { answer: Ok(Answered { at, output, decision }), certificate: None, kept: false })
}

impl Differentiable<'_> {
    /// `yes`, `no` or `unknown`.
    pub fn word(&self) -> &'static str {
        self.answer.as_ref().map_or("unknown", |a| a.decision.verdict.word())
    }

    /// The certificate of a yes or no, for [`crease_check`]; that of a yes needs [`Ask::proof`].
    pub fn certificate(&self) -> Option<String> {
        self.answer.as_ref().ok()?.decision.certificate()
    }

    /// Says what became of the certificate, for text and JSON.
    pub fn certificate_is(&mut self, kept: bool, told: Option<String>) {
        (self.kept, self.certificate) = (kept, told);
    }

    fn text(&self) -> String {
        match &self.answer {
            Ok(answered) => {
                let mut rows = answered.rows();
                self.certificate.iter().for_each(|told| rows.add("certificate", told));
                rows.text()
            }
            Err(undecided) => undecided.text("differentiable"),
        }
    }

    fn json(&self) -> Value {
        match &self.answer {
            Ok(answered) => {
                let kept = ("certificate", self.kept.into());
                show::object(answered.members().into_iter().chain([kept]))
            }
            Err(undecided) => undecided.json("gradients"),
        }
    }
}

impl fmt::Display for Differentiable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Serialize for Differentiable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

impl Answered<'_> {
    fn remark(&self) -> String {
        match &self.decision.verdict {
            Verdict::Yes(_) => match self.decision.by {
                Argument::Search => "yes, proved by a search: no direction is an exception".into(),
                by => format!("yes: {by}"),
            },
            Verdict::No(_) if self.decision.by == Argument::Enclosure => {
                "no: certain enclosures of two Clarke subgradients do not meet".into()
            }
            Verdict::No(_) => "no: two Clarke subgradients differ".into(),
            Verdict::Unknown { limit, .. } => format!("unknown: {limit}"),
        }
    }

    fn rows(&self) -> Rows {
        let Answered { at, decision, .. } = self;
        let mut rows = Rows::default();
        let value = show::answer(&at.values()[self.output], false);
        rows.add("differentiable", &self.remark());
        rows.add("value", &value);
        let several = matches!(decision.verdict, Verdict::No(_));
        let apart = self.apart();
        for (i, e) in decision.verdict.elements().iter().enumerate() {
            let gradient = at.texts((&e.gradient, e.radius.as_deref()), (&apart, i));
            let direction = at.by_input(&e.direction, None);
            let (single, wide) = match (&gradient[..], &direction[..]) {
                ([g], [d]) => (d.near.shape().is_scalar(), width([&**g, &show::answer(d, false)])),
                _ => (false, 0),
            };
            let label = if matches!(decision.verdict, Verdict::Yes(_)) { "gradient" } else { "clarke" };
            let remark = if several { "the limit of gradients along this direction" } else { "" };
            rows.texts(label, &at.names(), &gradient, single, remark, wide);
            if decision.by != Argument::NoKinks {
                rows.vector("direction", &at.names(), &direction, "", wide);
            }
        }
        rows.add("kinks", &show::count(at.model().kinks().len()));
        let c = &decision.counts;
        if c.atoms > 0 {
            let parts = [
                (c.relus as u64, "relus"),
                (c.atoms as u64, "propositions"),
                (c.phases as u64, "of them phases"),
                (c.conflicts, "conflicts"),
                (c.lemmas, "lemmas of arithmetic"),
                (c.linear_programs, "linear programs"),
            ];
            let parts: Vec<String> = parts.iter().map(|(n, what)| format!("{} {what}", show::count(n))).collect();
            rows.add("search", &parts.join(", "));
        }
        at.exactness(&mut rows);
        rows
    }

    /// The digits that tell the gradients apart.
    fn apart(&self) -> Apart {
        Apart::of(self.decision.verdict.elements().iter().map(|e| (&e.gradient[..], e.radius.as_deref())))
    }

    fn members(&self) -> Vec<(&'static str, Value)> {
        let Answered { at, decision, .. } = self;
        let found = decision.verdict.elements();
        let apart = self.apart();
        let side = |(i, e): (usize, &ClarkeElement)| {
            let members = [("gradient", at.json(&e.gradient)), ("direction", at.json(&e.direction))];
            let vector = (&e.gradient[..], e.radius.as_deref());
            let more = at.json_radius(vector).into_iter().chain(at.json_digits(vector, (&apart, i)));
            show::object(members.into_iter().chain(more))
        };
        let exact = |e: &ClarkeElement| -> Option<Value> {
            let gradient = at.json_exact(&e.gradient, e.radius.as_deref())?;
            Some(show::object([("gradient", gradient), ("direction", at.json_exact(&e.direction, None)?)]))
        };
        let mut members: Vec<(&'static str, Value)> = vec![
            ("verdict", decision.verdict.word().into()),
            ("gradients", found.iter().enumerate().map(side).collect()),
            ("kinks", at.model().kinks().len().into()),
            ("by", decision.by.to_string().into()),
        ];
        if let Verdict::Unknown { limit, .. } = &decision.verdict {
            members.push(("limit", limit.to_string().into()));
        }
        members.extend(at.json_exactness());
        if let Some(list) = found.iter().map(exact).collect::<Option<Value>>() {
            members.push(("exact", show::object([("gradients", list)])));
        }
        members.push(("search", counts(decision)));
        members
    }
}

/// What a search took, as JSON.
pub fn counts(decision: &Decision) -> Value {
    let c = &decision.counts;
    show::object([
        ("relus", Value::from(c.relus)),
        ("propositions", c.atoms.into()),
        ("phases", c.phases.into()),
        ("conflicts", c.conflicts.into()),
        ("lemmas", c.lemmas.into()),
        ("linear_programs", c.linear_programs.into()),
    ])
}
