//! What the oracles say of a point, beside what differentiation returned there: the lines `clarke`, `differentiable` and `conservative` of
//! `grad`, and the kink report.

use crate::arithmetic::{Answer, Computed};
use crate::commands::conservative::sentence;
use crate::commands::differentiable::{elements, word};
use crate::local;
use crate::output;
use crate::places::Places;
use crate::rows::Rows;
use crease_core::cost::tally;
use crease_core::differentiate::Selection;
use crease_core::local::{Exactness, LocalError, LocalModel, localize};
use crease_core::{Program, Rational, Tensor};
use crease_oracles::{
    ClarkeElement, Conservative, Decision, Effort, KinkReport, Limit, Limits, Verdict, clarke_element, conservative,
    differentiable,
};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Programs with more operations than this are not localized beside differentiation.
const OPERATIONS: u128 = 200_000;

/// Where the random directions of the Clarke subgradient begin.
const SEED: u64 = 1;

/// How many conflicts, and how long, a search for the verdict may take here; `crease differentiable` takes all it needs.
const CONFLICTS: u64 = 2_000;
const TIME: Duration = Duration::from_secs(2);

/// How far two gradients that were computed in floats may be apart, relative to their size.
const ROUNDING: f64 = 1e-9;

/// What is known of a point.
pub enum Meaning {
    /// Nothing was asked: no kink was met, or there are several outputs.
    NotAsked,
    /// There is no local model, for this reason.
    Unknown(String),
    /// The program jumps at the point, as this says.
    Jump(String),
    /// What the oracles say.
    Known(Box<Known>),
}

pub struct Known {
    model: LocalModel,
    clarke: ClarkeElement,
    decision: Decision,
    conservative: Conservative,
    report: Option<KinkReport>,
}

impl Meaning {
    /// Asks the oracles about a program with one scalar output; with `selection`, also for the kink report.
    pub fn of(p: &Program, at: &[Tensor<Rational>], selection: Option<&Selection>, places: &Places<'_>) -> Self {
        let operations = tally(p).total().to_u128().unwrap_or(u128::MAX);
        if operations > OPERATIONS {
            let many = output::count(operations);
            return Meaning::Unknown(format!(
                "not asked: {many} operations are many; ask crease clarke or conservative"
            ));
        }
        let model = match localize(p, at) {
            Ok(model) => model,
            Err(e) => return refused(&e, places),
        };
        let asked = || -> Result<Known, crease_oracles::OracleError> {
            let (clarke, conservative) = (clarke_element(&model, 0, SEED)?, conservative(&model, 0)?);
            let effort = Effort {
                conflicts: Some(CONFLICTS),
                deadline: Instant::now().checked_add(TIME),
                seed: SEED,
                proof: false,
                ..Effort::default()
            };
            let decision = differentiable(&model, 0, &effort)?;
            let report = selection.map(|s| KinkReport::new(&model, 0, s, Limits::default())).transpose()?;
            Ok(Known { model: model.clone(), clarke, decision, conservative, report })
        };
        match asked() {
            Ok(known) => Meaning::Known(Box::new(known)),
            Err(e) => Meaning::Unknown(one_line(&e.to_string())),
        }
    }

    /// If the conservative gradient is certainly one element, whether a result is that.
    pub fn only_element(&self, done: &Computed, gradient: &[Answer]) -> Option<bool> {
        match self {
            Meaning::Known(k) if k.singleton() && (done.float_because.is_none() || done.certain) => {
                Some(k.is_element(gradient))
            }
            _ => None,
        }
    }

    /// If it is certain what the gradient is, whether a result is that.
    pub fn is_gradient(&self, gradient: &[Answer]) -> Option<bool> {
        match self {
            Meaning::Known(k) => k.decision_gradient().map(|g| k.is(g, gradient)),
            _ => None,
        }
    }

    /// Whether the program jumps at the point, so that nothing there is a derivative.
    pub fn jumps(&self) -> bool {
        matches!(self, Meaning::Jump(_))
    }

    /// The lines of text.
    pub fn lines(&self, rows: &mut Rows, names: &[&str], width: usize) {
        match self {
            Meaning::NotAsked => {}
            Meaning::Unknown(why) | Meaning::Jump(why) => rows.add("clarke", why),
            Meaning::Known(k) => k.lines(rows, names, width),
        }
    }

    /// The numbers that stand before remarks.
    pub fn number(&self) -> Option<String> {
        match self {
            Meaning::Known(k) if k.clarke.gradient.len() == 1 => {
                Some(output::answer(&k.by_input(&k.clarke.gradient)[0], false))
            }
            _ => None,
        }
    }

    /// The lines of the kink report.
    pub fn report(&self, rows: &mut Rows, p: &Program, places: &Places<'_>) {
        if let Meaning::Known(k) = self
            && let Some(report) = &k.report
        {
            k.report(report, rows, p, places);
        }
    }

    /// The members of the JSON object.
    pub fn json(&self, names: &[&str], p: &Program, places: &Places<'_>) -> Vec<(&'static str, Value)> {
        match self {
            Meaning::NotAsked => Vec::new(),
            Meaning::Unknown(why) | Meaning::Jump(why) => {
                let reason = || output::object([("unknown", why.as_str().into())]);
                vec![("clarke", reason()), ("differentiable", reason()), ("conservative", reason())]
            }
            Meaning::Known(k) => k.json(names, p, places),
        }
    }
}

/// Why there is no local model, in one line.
fn refused(e: &LocalError, places: &Places<'_>) -> Meaning {
    match e {
        LocalError::Discontinuous { site, why } => {
            Meaning::Jump(format!("none: not continuous here, {why}, in {}", local::text(site, places)))
        }
        LocalError::NoDerivative { site, why } => {
            Meaning::Unknown(format!("not told: {why}, in {}", local::text(site, places)))
        }
        other => Meaning::Unknown(format!("not told: {}", one_line(&other.to_string()))),
    }
}

/// A message that may have several lines as one.
fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Known {
    /// Whether one element is all there is, proved of the program and not of rounded numbers only.
    fn singleton(&self) -> bool {
        let sure = match self.model.exactness() {
            Exactness::Exact => true,
            // without kinks there is nothing that rounding could have joined
            Exactness::Approximate { undecided } => undecided.is_empty() && self.model.kinks().is_empty(),
        };
        sure && self.conservative.proved && self.conservative.is_singleton()
    }

    fn is_element(&self, gradient: &[Answer]) -> bool {
        self.is(&self.conservative.elements[0].gradient, gradient)
    }

    /// The gradient, if it is certain that there is one.
    fn decision_gradient(&self) -> Option<&[Rational]> {
        match &self.decision.verdict {
            Verdict::Yes(e) => Some(&e.gradient),
            _ => None,
        }
    }

    /// Whether a result is this vector.
    fn is(&self, vector: &[Rational], gradient: &[Answer]) -> bool {
        let mut rest = vector.iter();
        gradient.iter().all(|a| match &a.exact {
            Some(t) if self.model.is_exact() => t.data().iter().all(|x| rest.next() == Some(x)),
            _ => a.near.data().iter().all(|x| {
                let near = |e: &Rational| (x - e.to_f64()).abs() <= ROUNDING * (1.0 + x.abs());
                rest.next().is_some_and(near)
            }),
        })
    }

    fn by_input(&self, vector: &[Rational]) -> Vec<Answer> {
        local::by_input(&self.model, vector, self.model.is_exact())
    }

    fn lines(&self, rows: &mut Rows, names: &[&str], width: usize) {
        let known = self.singleton() || self.decision_gradient().is_some();
        let mut remark = if known { "the gradient" } else { "a Clarke subgradient" }.to_string();
        if let Exactness::Approximate { undecided } = self.model.exactness() {
            remark.push_str(match undecided.len() {
                0 => ", in f64",
                1 => ", in f64; 1 tie could be neither proved nor refuted",
                _ => ", in f64; some ties could be neither proved nor refuted",
            });
        }
        rows.vector("clarke", names, &self.by_input(&self.clarke.gradient), &remark, width);
        rows.add("differentiable", &format!("{:<width$}  {}", word(&self.decision.verdict), self.verdict()));
        let (verdict, _) = sentence(&self.model, &self.conservative);
        rows.add("conservative", &verdict);
        let elements: Vec<Vec<Answer>> =
            self.conservative.elements.iter().map(|e| self.by_input(&e.gradient)).collect();
        if let [a, b] = &elements[..]
            && !(names.len() == 1 && a[0].near.shape().is_scalar())
        {
            let show = |x| output::answer(x, false);
            for (name, (a, b)) in names.iter().zip(a.iter().zip(b)).filter(|(_, (a, b))| a.near.data() != b.near.data())
            {
                let (label, a, b) = (format!("  {name}"), format!("a {}", show(a)), format!("b {}", show(b)));
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
        let shown = |v: &[Rational]| match &self.by_input(v)[..] {
            [one] if one.near.shape().is_scalar() => Some(output::answer(one, false)),
            _ => None,
        };
        match &self.decision.verdict {
            Verdict::Yes(e) => match shown(&e.gradient) {
                Some(x) => format!("the gradient is {x}"),
                None => format!("the gradient is the one above: {}", self.decision.by),
            },
            Verdict::No(sides) => match (shown(&sides[0].gradient), shown(&sides[1].gradient)) {
                (Some(a), Some(b)) => format!("{a} and {b} are both Clarke subgradients"),
                _ => "Clarke subgradients differ; crease differentiable shows two".into(),
            },
            Verdict::Unknown { limit: limit @ (Limit::Conflicts(_) | Limit::Time), .. } => {
                format!("{limit}; crease differentiable takes longer")
            }
            Verdict::Unknown { limit, .. } => limit.to_string(),
        }
    }

    fn report(&self, report: &KinkReport, rows: &mut Rows, p: &Program, places: &Places<'_>) {
        let lines = self.model.kinks().iter().zip(&report.active).map(|(kink, line)| {
            let mut picked = format!("picked {}", local::choice(kink, &line.weights));
            if !line.followed {
                picked.push_str(" (in place of equal parts)");
            }
            let change = match &line.change {
                Some(x) if x.is_zero() => "no other choice changes the gradient".into(),
                Some(x) => format!("another choice changes it by up to {}", output::exact(x)),
                None => "change not measured".into(),
            };
            (kink, vec![picked, change])
        });
        let active = local::grouped(places, lines);
        match report.active.len() {
            0 => rows.add("active", "no kink matters here"),
            _ => rows.block("active", &output::columns(&active, &[])),
        }
        if !report.active.is_empty() {
            rows.add(
                "width",
                &format!("{}, which no selection exceeds in any coordinate", output::exact(&report.width())),
            );
        }
        let nearest: Vec<Vec<String>> = report
            .nearest
            .iter()
            .map(|m| {
                let place = (m.equation < p.len()).then(|| p.equation(m.equation).place).flatten();
                let at = place.map(|p| places.line_and_column(p)).map(|(l, c)| format!("{l}:{c}"));
                let text = place.map_or_else(|| format!("equation {}", m.equation), |p| places.piece(p));
                vec![
                    m.operation.into(),
                    at.unwrap_or_default(),
                    text,
                    format!("{} from switching", output::float(m.margin)),
                ]
            })
            .collect();
        rows.block("decided", &output::columns(&nearest, &[]));
        if report.decided > nearest.len() {
            rows.add("", &format!("… and {} more", output::count(report.decided - nearest.len())));
        }
    }

    fn json(&self, names: &[&str], p: &Program, places: &Places<'_>) -> Vec<(&'static str, Value)> {
        let near =
            |v: &[Rational]| output::object(names.iter().copied().zip(self.by_input(v).iter().map(output::near)));
        let exact = |v: &[Rational]| -> Option<Value> {
            let parts = self.by_input(v).iter().map(output::fractions).collect::<Option<Vec<_>>>()?;
            Some(output::object(names.iter().copied().zip(parts)))
        };
        let mut clarke = vec![
            ("gradient", near(&self.clarke.gradient)),
            ("direction", near(&self.clarke.direction)),
            ("proved", self.clarke.proved.into()),
        ];
        clarke.extend(local::json_exactness(&self.model, places));
        if let Some(gradient) = exact(&self.clarke.gradient) {
            clarke.push(("exact", output::object([("gradient", gradient)])));
        }
        let several = &self.conservative.elements;
        let mut set = vec![
            ("verdict", if self.conservative.is_singleton() { "singleton" } else { "several" }.into()),
            ("elements", several.iter().map(|e| near(&e.gradient)).collect()),
            ("proved", self.conservative.proved.into()),
        ];
        if let Some(list) = several.iter().map(|e| exact(&e.gradient)).collect::<Option<Value>>() {
            set.push(("exact", output::object([("elements", list)])));
        }
        let mut decided: Vec<(&str, Value)> = vec![("verdict", word(&self.decision.verdict).into())];
        match &self.decision.verdict {
            Verdict::Unknown { limit, .. } => decided.push(("limit", limit.to_string().into())),
            _ => {
                let side = |e: &ClarkeElement| {
                    output::object([("gradient", near(&e.gradient)), ("direction", near(&e.direction))])
                };
                decided.push(("gradients", elements(&self.decision.verdict).into_iter().map(side).collect()));
            }
        }
        let mut out = vec![
            ("clarke", output::object(clarke)),
            ("differentiable", output::object(decided)),
            ("conservative", output::object(set)),
        ];
        if let Some(report) = &self.report {
            out.push(("report", self.json_report(report, p, places)));
        }
        out
    }

    fn json_report(&self, report: &KinkReport, p: &Program, places: &Places<'_>) -> Value {
        let place = |place: Option<crease_core::Place>| place.map_or(Value::Null, |p| output::place(places, p));
        let active = report.active.iter().map(|line| {
            output::object([
                ("operation", line.operation.into()),
                ("place", place(line.site.place)),
                ("text", local::text(&line.site, places).into()),
                ("weights", line.weights.iter().map(output::number).collect()),
                ("followed", line.followed.into()),
                ("change", line.change.as_ref().map_or(Value::Null, output::number)),
            ])
        });
        let nearest = report.nearest.iter().map(|m| {
            let at = (m.equation < p.len()).then(|| p.equation(m.equation).place).flatten();
            output::object([("operation", m.operation.into()), ("place", place(at)), ("margin", m.margin.into())])
        });
        output::object([
            ("active", active.collect()),
            ("nearest", nearest.collect()),
            ("decided", report.decided.into()),
            ("width", output::number(&report.width())),
        ])
    }
}
