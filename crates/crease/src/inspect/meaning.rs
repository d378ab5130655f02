//! What the oracles say of a point, beside what differentiation returned there: one Clarke subgradient, the verdict on
//! differentiability, the conservative gradient, and the kink report.

use super::at::{self, precision};
use super::conservative::{apart, sentence};
use super::numbers::{Answer, Computed};
use super::{Ask, Status};
use crate::show::{self, Apart, Rows};
use crease_core::cost::tally_within;
use crease_core::differentiate::Selection;
use crease_core::local::{Exactness, LocalError, Precision, sweeps};
use crease_core::op::{CalleeId, Op};
use crease_core::{Atom, Limits, Origin, Program, Rational, Site, Tensor};
use crease_oracles::{
    AskError, ClarkeElement, Conservative, Decision, Effort, HullPosition, KinkReport, Limit, Membership, OracleError,
    Session, Verdict, accurate_vector, ask, in_hull,
};
use serde_json::Value;

/// What is known of a point.
#[derive(Debug)]
pub enum Meaning {
    /// Nothing was asked: no kink was met, or a Jacobian was wanted. (An inspection asks when somebody wants to know.)
    NotAsked,
    /// Nothing was asked, for this reason.
    Unknown(String),
    /// There is no local model that could be told, for this reason, so that nothing is known of what differentiation returns.
    Refused(String),
    /// The program jumps at the point, as this says.
    Jump(String),
    /// What the oracles say.
    Known(Box<Known>),
}

/// What the oracles say of a point.
#[derive(Debug)]
pub struct Known {
    /// The session in which it was asked, and what was computed there.
    pub session: Session<'static>,
    /// What it says.
    pub answers: Answers,
}

/// The answers of the oracles.
#[derive(Debug)]
pub struct Answers {
    /// A Clarke subgradient, or why none can be told.
    pub clarke: Result<ClarkeElement, String>,
    /// Whether the program is differentiable.
    pub decision: Decision,
    /// The conservative gradient, or why it cannot be told.
    pub conservative: Result<Conservative, String>,
    /// What each kink can change, if that was asked for.
    pub report: Option<KinkReport>,
    /// What the selection gives in exact arithmetic, where that can be said: no joint program of the user's takes part.
    selected: Option<Vec<Rational>>,
}

impl std::ops::Deref for Known {
    type Target = Answers;

    fn deref(&self) -> &Answers {
        &self.answers
    }
}

/// Asks everything, and whether more bits would make the answers better.
fn answers(session: &Session<'_>, joints: bool, asked: &Ask<'_>) -> Result<(Answers, bool), OracleError> {
    // what could not be told is worth more bits, and then it is not told
    let told = |e: OracleError| match e {
        e @ OracleError::Undecided { .. } => Ok(one_line(&e.to_string())),
        e => Err(e),
    };
    let clarke = session.clarke_element(asked.seed).map_or_else(|e| told(e).map(Err), |c| Ok(Ok(c)))?;
    let conservative = session.conservative().map_or_else(|e| told(e).map(Err), |c| Ok(Ok(c.clone())))?;
    let limits = asked.search_limits();
    let effort = Effort { limits, seed: asked.seed, proof: asked.proof, watch: asked.watch, ..Effort::default() };
    let decision = session.differentiable(&effort)?;
    let selection = &asked.how.selection;
    let report = match asked.report {
        true => Some(KinkReport::new(session, selection, &asked.limits)?),
        false => None,
    };
    let selected = if joints { None } else { selected(session, selection)? };
    let bits = session.model().precision().bits;
    let close = clarke.as_ref().is_ok_and(|c| accurate_vector(bits, &c.gradient, c.radius.as_deref()));
    let open = !close || conservative.is_err();
    let open = open || matches!(decision.verdict, Verdict::Unknown { limit: Limit::Bits(_), .. });
    Ok((Answers { clarke, decision, conservative, report, selected }, open))
}

impl Meaning {
    /// Asks the oracles about a program with one scalar output. Joint programs of the user take part if `joints` says so; the selection
    /// says nothing of them.
    pub(crate) fn of(p: &Program, at: &[Tensor<Rational>], joints: bool, asked: &Ask<'_>) -> Self {
        let limits = &asked.limits;
        let operations = match tally_within(p, limits) {
            Ok(tally) => tally.total().to_u128().unwrap_or(u128::MAX),
            Err(e) => return Meaning::Unknown(format!("not asked: {e}")),
        };
        // a network that is swept as tensors is never taken apart
        if operations > u128::from(limits.local_operations) && !sweeps(p) {
            let many = show::count(operations);
            return Meaning::Unknown(format!(
                "not asked: {many} operations are many; ask crease clarke or conservative"
            ));
        }
        // beside differentiation, long numbers are for short programs
        let precision = precision(limits.bits);
        let afford = u128::from(limits.local_bits) / operations.max(1);
        let afford = u32::try_from(afford).unwrap_or(u32::MAX).max(precision.bits);
        let precision = Precision { limit: precision.limit.min(afford), ..precision };
        match ask(p, at, 0, precision, limits, |session| answers(session, joints, asked)) {
            Ok((session, answers)) => Meaning::Known(Box::new(Known { session, answers })),
            Err(AskError::Local(e)) => refused(&e, p),
            Err(AskError::Oracle(e)) => Meaning::Unknown(one_line(&e.to_string())),
        }
    }

    /// If the conservative gradient is certainly one element, whether a result is certainly that, or certainly not.
    pub(crate) fn only_element(&self, done: &Computed, gradient: &[Answer]) -> Option<bool> {
        match self {
            Meaning::Known(k) => k.is(k.singleton()?, done, gradient),
            _ => None,
        }
    }

    /// If it is certain what the gradient is, whether a result is certainly that, or certainly not.
    pub(crate) fn is_gradient(&self, done: &Computed, gradient: &[Answer]) -> Option<bool> {
        match self {
            Meaning::Known(k) => k.is(k.decision_gradient()?, done, gradient),
            _ => None,
        }
    }

    /// Whether nothing is known of what differentiation returns.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Meaning::Refused(_))
    }

    /// Whether the program jumps at the point, so that nothing there is a derivative.
    pub(crate) fn jumps(&self) -> bool {
        matches!(self, Meaning::Jump(_))
    }

    /// The lines of text.
    pub(crate) fn lines(&self, rows: &mut Rows, names: &[&str], width: usize) {
        match self {
            Meaning::NotAsked => {}
            Meaning::Unknown(why) | Meaning::Refused(why) | Meaning::Jump(why) => rows.add("clarke", why),
            Meaning::Known(k) => k.lines(rows, names, width),
        }
    }

    /// The numbers that stand before remarks.
    pub(crate) fn number(&self) -> Option<String> {
        match self {
            Meaning::Known(k) => match &k.clarke {
                Ok(c) if c.gradient.len() == 1 => {
                    Some(show::answer(&k.by_input(&c.gradient, c.radius.as_deref())[0], false))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The lines of the kink report.
    pub(crate) fn report(&self, rows: &mut Rows, p: &Program) {
        if let Meaning::Known(k) = self
            && let Some(report) = &k.report
        {
            k.report(report, rows, p);
        }
    }

    /// The members of the JSON object.
    pub(crate) fn json(&self, names: &[&str], p: &Program) -> Vec<(&'static str, Value)> {
        match self {
            Meaning::NotAsked => Vec::new(),
            Meaning::Unknown(why) | Meaning::Refused(why) | Meaning::Jump(why) => {
                let reason = || show::object([("unknown", why.as_str().into())]);
                vec![("clarke", reason()), ("differentiable", reason()), ("conservative", reason())]
            }
            Meaning::Known(k) => k.json(names, p),
        }
    }
}

/// What a selection gives in exact arithmetic; nothing if its choices are no weights of single kinks. Of an enclosed model it has the
/// middles, which are compared with nothing.
fn selected(session: &Session<'_>, selection: &Selection) -> Result<Option<Vec<Rational>>, OracleError> {
    let choices: Option<Vec<Vec<Rational>>> = session.model().kinks().iter().map(|k| k.weights(selection)).collect();
    choices.map(|c| session.gradient_at_choices(&c)).transpose()
}

/// Why there is no local model, in one line.
fn refused(e: &LocalError, p: &Program) -> Meaning {
    match e {
        // what is computed from a value that jumps need not jump
        LocalError::Discontinuous { site, why } if is_output(p, site) => {
            Meaning::Jump(format!("none: not continuous here, {why}, in {}", site.text()))
        }
        LocalError::Discontinuous { site, why } => {
            Meaning::Refused(format!("not told: {} is not continuous here, {why}", site.text()))
        }
        LocalError::Jump { site, why } => Meaning::Refused(format!("not told: {} jumps here, {why}", site.text())),
        LocalError::NoDerivative { site, why } | LocalError::Singular { site, why, .. } => {
            Meaning::Refused(format!("not told: {why}, in {}", site.text()))
        }
        LocalError::Undecided { site, what, bits } => {
            Meaning::Refused(format!("not decided with {bits} bits: {what}, in {}", site.text()))
        }
        other => Meaning::Unknown(format!("not told: {}", one_line(&other.to_string()))),
    }
}

/// Whether a choice that jumps is certainly that of the output itself: nothing is done with what it chose, and no other choice is inside of it.
fn is_output(p: &Program, site: &Site) -> bool {
    if site.program != p.name() || site.equation >= p.len() {
        return false;
    }
    let e = p.equation(site.equation);
    let chooses = |op: &Op| matches!(op, Op::Where | Op::Select(_) | Op::Call(_) | Op::Scan(_));
    let alone = match e.op {
        Op::Where => true,
        Op::Select(branches) => {
            let branch = |id: &CalleeId| &p.callees()[id.index()].program;
            branches.iter().all(|id| !branch(id).equations().any(|e| chooses(e.op)))
        }
        _ => false,
    };
    alone && p.outputs().iter().all(|&o| e.results().any(|v| Atom::Value(v) == o))
}

/// A message that may have several lines as one.
fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Known {
    /// The only element of the conservative gradient, if it is proved that there is one.
    fn singleton(&self) -> Option<(&[Rational], Option<&[Rational]>)> {
        let c = self.conservative.as_ref().ok().filter(|c| c.proved && c.is_singleton())?;
        Some((&c.elements[0].gradient, c.elements[0].radius.as_deref()))
    }

    /// The gradient, if it is certain that there is one.
    fn decision_gradient(&self) -> Option<(&[Rational], Option<&[Rational]>)> {
        match &self.decision.verdict {
            Verdict::Yes(e) => Some((&e.gradient, e.radius.as_deref())),
            _ => None,
        }
    }

    /// Whether a result is this vector. A result in floats is that of its selection, whose exact answer is compared in its place if the
    /// ties that were met are certain; floats are never compared with anything.
    fn is(&self, vector: (&[Rational], Option<&[Rational]>), done: &Computed, gradient: &[Answer]) -> Option<bool> {
        let exact: Option<Vec<&Tensor<Rational>>> = gradient.iter().map(|a| a.exact.as_ref()).collect();
        match (exact, &self.selected, vector.1) {
            // without kinks in the model no selection plays a part
            (_, Some(_), Some(_)) if self.session.model().kinks().is_empty() && done.certain => Some(true),
            (_, _, Some(_)) => None,
            (Some(exact), _, None) => Some(exact.iter().flat_map(|t| t.data()).eq(vector.0)),
            (None, Some(selected), None) if done.certain => Some(selected == vector.0),
            (None, _, None) => None,
        }
    }

    fn by_input(&self, vector: &[Rational], radius: Option<&[Rational]>) -> Vec<Answer> {
        at::by_input(self.session.model(), vector, radius)
    }

    fn lines(&self, rows: &mut Rows, names: &[&str], width: usize) {
        let known = self.singleton().is_some() || self.decision_gradient().is_some();
        let mut remark = if known { "the gradient" } else { "a Clarke subgradient" }.to_string();
        if let Exactness::Enclosed { bits } = self.session.model().exactness() {
            remark.push_str(&format!(", by enclosures of {bits} bits"));
        }
        match &self.clarke {
            Ok(c) => {
                let parts = self.by_input(&c.gradient, c.radius.as_deref());
                rows.vector("clarke", names, &parts, &remark, width);
            }
            Err(why) => rows.add("clarke", &format!("not told: {why}")),
        }
        rows.add("differentiable", &format!("{:<width$}  {}", self.decision.verdict.word(), self.verdict()));
        let conservative = match &self.conservative {
            Ok(c) => c,
            Err(why) => return rows.add("conservative", &format!("not told: {why}")),
        };
        let (verdict, _) = sentence(self.session.model(), conservative);
        rows.add("conservative", &verdict);
        let model = self.session.model();
        let apart = apart(conservative);
        let elements: Vec<Vec<String>> = conservative
            .elements
            .iter()
            .enumerate()
            .map(|(i, e)| at::texts(model, (&e.gradient, e.radius.as_deref()), (&apart, i)))
            .collect();
        if let [a, b] = &elements[..]
            && !matches!(model.inputs(), [one] if one.shape.is_scalar())
        {
            for (name, (a, b)) in names.iter().zip(a.iter().zip(b)).filter(|(_, (a, b))| a != b) {
                let (label, a, b) = (format!("  {name}"), format!("a {a}"), format!("b {b}"));
                if a.len() + b.len() <= 80 {
                    rows.add(&label, &format!("{a}  {b}"));
                } else {
                    rows.add(&label, &a);
                    rows.add("", &b);
                }
            }
        }
    }

    /// Whether it is differentiable, in words.
    fn verdict(&self) -> String {
        let elements = self.decision.verdict.elements();
        let apart = Apart::of(elements.iter().map(|e| (&e.gradient[..], e.radius.as_deref())));
        let shown = |i: usize| {
            let (model, e) = (self.session.model(), &elements[i]);
            let single = matches!(model.inputs(), [one] if one.shape.is_scalar());
            at::texts(model, (&e.gradient, e.radius.as_deref()), (&apart, i)).pop().filter(|_| single)
        };
        match &self.decision.verdict {
            Verdict::Yes(_) => match shown(0) {
                Some(x) => format!("the gradient is {x}"),
                None => format!("the gradient is the one above: {}", self.decision.by),
            },
            Verdict::No(_) => match (shown(0), shown(1)) {
                (Some(a), Some(b)) => format!("{a} and {b} are both Clarke subgradients"),
                _ => "Clarke subgradients differ; crease differentiable shows two".into(),
            },
            Verdict::Unknown { limit: limit @ (Limit::Conflicts(_) | Limit::Time), .. } => {
                format!("{limit}; crease differentiable takes longer")
            }
            Verdict::Unknown { limit, .. } => limit.to_string(),
        }
    }

    fn report(&self, report: &KinkReport, rows: &mut Rows, p: &Program) {
        let lines = self.session.model().kinks().iter().zip(&report.active).map(|(kink, line)| {
            let mut picked = format!("picked {}", at::choice(kink, &line.weights));
            if !line.followed {
                picked.push_str(" (in place of equal parts)");
            }
            let change = match &line.change {
                Some(x) if x.is_zero() => "no other choice changes the gradient".into(),
                Some(x) => format!("another choice changes it by up to {}", show::exact(x)),
                None => "change not measured".into(),
            };
            (kink, vec![picked, change])
        });
        let active = at::grouped(lines);
        match report.active.len() {
            0 => rows.add("active", "no kink matters here"),
            _ => rows.block("active", &show::columns(&active, &[])),
        }
        if !report.active.is_empty() {
            rows.add(
                "width",
                &format!("{}, which no selection exceeds in any coordinate", show::exact(&report.width())),
            );
        }
        let nearest: Vec<Vec<String>> = report
            .nearest
            .iter()
            .map(|m| {
                let origin = (m.equation < p.len()).then(|| p.equation(m.equation).origin()).flatten();
                let at = origin.as_ref().map(Origin::short);
                let text = origin.and_then(|o| o.excerpt()).unwrap_or_else(|| format!("equation {}", m.equation));
                vec![
                    m.operation.into(),
                    at.unwrap_or_default(),
                    text,
                    format!("{} from switching", show::float(m.margin)),
                ]
            })
            .collect();
        rows.block("decided", &show::columns(&nearest, &[]));
        if report.decided > nearest.len() {
            rows.add("", &format!("… and {} more", show::count(report.decided - nearest.len())));
        }
    }

    fn json(&self, names: &[&str], p: &Program) -> Vec<(&'static str, Value)> {
        let near =
            |v: &[Rational]| show::object(names.iter().copied().zip(self.by_input(v, None).iter().map(show::near)));
        let exact = |v: &[Rational], radius: Option<&[Rational]>| -> Option<Value> {
            let parts = self.by_input(v, radius).iter().map(show::fractions).collect::<Option<Vec<_>>>()?;
            Some(show::object(names.iter().copied().zip(parts)))
        };
        let clarke = match &self.clarke {
            Ok(c) => {
                let mut clarke = vec![
                    ("gradient", near(&c.gradient)),
                    ("direction", near(&c.direction)),
                    ("proved", c.proved.into()),
                ];
                clarke.extend(at::json_exactness(self.session.model()));
                if let Some(gradient) = exact(&c.gradient, c.radius.as_deref()) {
                    clarke.push(("exact", show::object([("gradient", gradient)])));
                }
                clarke
            }
            Err(why) => vec![("unknown", why.as_str().into())],
        };
        let set = match &self.conservative {
            Ok(c) => {
                let mut set = vec![
                    ("verdict", if c.is_singleton() { "singleton" } else { "several" }.into()),
                    ("elements", c.elements.iter().map(|e| near(&e.gradient)).collect()),
                    ("proved", c.proved.into()),
                ];
                let list = c.elements.iter().map(|e| exact(&e.gradient, e.radius.as_deref()));
                if let Some(list) = list.collect::<Option<Value>>() {
                    set.push(("exact", show::object([("elements", list)])));
                }
                set
            }
            Err(why) => vec![("verdict", "unknown".into()), ("unknown", why.as_str().into())],
        };
        let mut decided: Vec<(&str, Value)> = vec![("verdict", self.decision.verdict.word().into())];
        match &self.decision.verdict {
            Verdict::Unknown { limit, .. } => decided.push(("limit", limit.to_string().into())),
            _ => {
                let side = |e: &ClarkeElement| {
                    show::object([("gradient", near(&e.gradient)), ("direction", near(&e.direction))])
                };
                decided.push(("gradients", self.decision.verdict.elements().iter().map(side).collect()));
            }
        }
        let mut out = vec![
            ("clarke", show::object(clarke)),
            ("differentiable", show::object(decided)),
            ("conservative", show::object(set)),
        ];
        if let Some(report) = &self.report {
            out.push(("report", self.json_report(report, p)));
        }
        out
    }

    fn json_report(&self, report: &KinkReport, p: &Program) -> Value {
        let active = report.active.iter().map(|line| {
            show::object([
                ("operation", line.operation.into()),
                ("place", show::origin(line.site.origin.as_deref())),
                ("text", line.site.text().into()),
                ("weights", line.weights.iter().map(show::number).collect()),
                ("followed", line.followed.into()),
                ("change", line.change.as_ref().map_or(Value::Null, show::number)),
            ])
        });
        let nearest = report.nearest.iter().map(|m| {
            let at = (m.equation < p.len()).then(|| p.equation(m.equation).origin()).flatten();
            show::object([
                ("operation", m.operation.into()),
                ("place", show::origin(at.as_ref())),
                ("margin", m.margin.into()),
            ])
        });
        show::object([
            ("active", active.collect()),
            ("nearest", nearest.collect()),
            ("decided", report.decided.into()),
            ("width", show::number(&report.width())),
        ])
    }

    /// What a vector is here, judged exactly as it is given: by looking along random directions, and where that does not tell, by all
    /// neighbouring gradients, within limits.
    pub(crate) fn judge(&self, vector: &[Rational], directions: u64, limits: &Limits) -> Status {
        let undecided = |why: &str| Status::Undecided(why.into());
        if vector.len() != self.session.model().dimension() {
            return undecided("it has not as many numbers as the program has inputs");
        }
        match self.decision_gradient() {
            Some((gradient, None)) if gradient == vector => return Status::Gradient,
            Some((_, Some(_))) if self.is_beyond(vector, &Rational::ZERO) => return Status::Outside,
            Some((_, Some(_))) => return undecided("the gradient is known by enclosures only"),
            Some((_, None)) | None => {}
        }
        let known = match &self.conservative {
            Ok(known) => known,
            Err(why) => return Status::Undecided(why.clone()),
        };
        let session = &self.session;
        let place = match session.membership(vector, directions) {
            Ok(Membership::NotDecided) => session
                .neighbouring_gradients(limits, |_| ())
                .and_then(|all| session.membership_among(&all, vector, limits)),
            told => told,
        };
        match place {
            Ok(Membership::Gradient) => Status::Gradient,
            Ok(Membership::Clarke { .. } | Membership::Vertex { .. } | Membership::Hull { .. }) => Status::Clarke,
            Ok(Membership::ConservativeOnly { .. }) => Status::Conservative,
            Ok(Membership::Outside { .. } | Membership::Beyond { .. }) => Status::Outside,
            // what choices at the kinks give belongs to it, whatever else is known
            Ok(Membership::NotClarke { .. } | Membership::NotDecided)
                if known.elements.iter().any(|e| e.radius.is_none() && e.gradient == vector) =>
            {
                Status::Conservative
            }
            Ok(Membership::NotClarke { .. }) => {
                undecided("it is no Clarke subgradient; whether it belongs to the conservative gradient is not known")
            }
            Ok(Membership::NotDecided) => undecided(
                "it is within the bounds of the conservative gradient, but no limit of gradients that was found",
            ),
            Err(e) => Status::Undecided(one_line(&e.to_string())),
        }
    }

    /// The vectors of which it is known what they are: the gradient, Clarke subgradients, elements of the conservative gradient.
    pub(crate) fn landmarks(&self) -> impl Iterator<Item = (&[Rational], Status)> {
        let gradient = self.decision_gradient().map(|(g, _)| (g, Status::Gradient));
        let clarke = self.decision.verdict.elements().iter().chain(self.clarke.as_ref().ok());
        let conservative = self.conservative.as_ref().ok().into_iter().flat_map(|c| &c.elements);
        gradient
            .into_iter()
            .chain(clarke.map(|e| (&e.gradient[..], Status::Clarke)))
            .chain(conservative.map(|e| (&e.gradient[..], Status::Conservative)))
    }

    /// Whether a vector is as close to a Clarke subgradient that can be named: the one along the vector itself, or a combination of neighbouring gradients. Each coordinate may
    /// be off by this part of its size and theirs.
    pub(crate) fn is_near_clarke(&self, vector: &[Rational], relative: &Rational, limits: &Limits) -> bool {
        let opposite: Vec<Rational> = vector.iter().map(|x| -x).collect();
        let along = [vector, &opposite].into_iter().filter_map(|d| self.session.clarke_along(d).ok().flatten());
        let close = |e: ClarkeElement| {
            vector.iter().zip(&e.gradient).enumerate().all(|(k, (x, y))| {
                let radius = e.radius.as_ref().map_or(Rational::ZERO, |r| r[k].clone());
                (x - y).abs() + radius <= relative * x.abs().max(y.abs())
            })
        };
        if along.into_iter().any(close) {
            return true;
        }
        let Ok(all) = self.session.neighbouring_gradients(limits, |_| ()) else { return false };
        let exact = all.gradients.iter().filter(|n| n.radius.as_ref().is_none_or(|r| r.iter().all(Rational::is_zero)));
        let known: Vec<&[Rational]> = exact.map(|n| &n.gradient[..]).collect();
        let p = vector.len();
        if known.is_empty() || known.len().saturating_mul(2 * p).saturating_mul(p) > limits.oracles.hull {
            return false;
        }
        // how far each coordinate may be off; those that are 0 in all of them may not
        let off = |k: usize| {
            let size = known.iter().map(|g| g[k].abs()).chain([vector[k].abs()]).max().unwrap_or_default();
            relative * &size
        };
        let offs: Vec<Rational> = (0..p).map(off).collect();
        // all vectors so close to the hull, or some of them, are a hull again
        let moved = |g: &[Rational], k: usize, by: Rational| {
            let mut g = g.to_vec();
            g[k] += by;
            g
        };
        let mut around: Vec<Vec<Rational>> = known.iter().map(|g| g.to_vec()).collect();
        for (g, k) in known.iter().flat_map(|g| (0..p).map(move |k| (g, k))).filter(|(_, k)| !offs[*k].is_zero()) {
            around.extend([moved(g, k, offs[k].clone()), moved(g, k, -&offs[k])]);
        }
        matches!(in_hull(&around, vector, limits), Ok(HullPosition::Inside { .. }))
    }

    /// Whether a vector is further outside of the bounds of the conservative gradient than this, relative to its size and the bounds'.
    pub(crate) fn is_beyond(&self, vector: &[Rational], relative: &Rational) -> bool {
        let Ok(known) = &self.conservative else { return false };
        let beyond_along = || matches!(self.session.beyond(vector, relative), Ok(Some(_)));
        let beyond_bounds = known.bounds.iter().zip(vector).any(|((low, high), x)| {
            let size = [low.abs(), high.abs(), x.abs()].into_iter().max().unwrap_or_default();
            let off = relative * &size;
            x < &(low - &off) || x > &(high + &off)
        });
        beyond_bounds || beyond_along()
    }
}
