//! One input: the local model, and what the oracles say of it.

use super::layers::{Kinks, layers};
use super::{Case, Finding, Layer, Margin, Options, OutputFinding, Subgradients, Tie};
use crate::check;
use crease_core::local::{LocalError, LocalModel, Node, NodeId, Precision, localize_within};
use crease_core::number::{Mixed, NumberError};
use crease_core::{Limits, Program, Rational, RunFault};
use crease_oracles::{ClarkeElement, Decision, Effort, Limit, OracleError, Session, Verdict};
use std::collections::HashMap;
use std::time::Instant;

/// The decades of histograms: below 10^-12, up to 1, above.
const DECADES: i32 = 12;

/// All that can be said of one input; what cannot is said in words.
pub(super) fn finding(p: &Program, input: usize, case: &Case, options: &Options) -> Finding {
    let start = Instant::now();
    let limits = match options.each {
        Some(time) => options.limits.clone().within(time),
        None => options.limits.clone(),
    };
    let mut finding = Finding {
        input,
        name: case.name.clone(),
        label: case.label,
        seconds: 0.0,
        error: None,
        limited: false,
        arithmetic: None,
        exactly: None,
        tied: 0,
        layers: Vec::new(),
        ties: Vec::new(),
        margins: Vec::new(),
        outputs: Vec::new(),
        shown: 0,
        gradients: None,
    };
    match localize_within(p, &case.point, Precision { limit: limits.bits, ..Precision::default() }, &limits) {
        Ok(model) => {
            describe(p, &model, options, &mut finding);
            decide(model, options, &limits, &mut finding);
        }
        Err(e) => {
            finding.limited = no_model(&e);
            finding.error = Some(e.to_string());
        }
    }
    finding.seconds = start.elapsed().as_secs_f64();
    finding
}

/// Ties and margins, layer by layer.
fn describe(p: &Program, model: &LocalModel, options: &Options, finding: &mut Finding) {
    let layers = layers(p);
    let by_equation: HashMap<usize, usize> = layers.iter().enumerate().map(|(i, l)| (l.equation, i)).collect();
    let mut lines: Vec<Layer> = layers.iter().map(line).collect();
    finding.arithmetic = Some(if model.is_exact() { "exact" } else { "enclosed" }.into());
    finding.exactly = model.decided().map(|d| d.exactly);
    finding.tied = model.kinks().len();
    for kink in model.kinks() {
        let Some(&i) = by_equation.get(&kink.site.equation) else { continue };
        lines[i].tied += 1;
        if finding.ties.len() < options.ties {
            let members = match model.node(kink.node) {
                Node::Max(members) | Node::Norm(members) | Node::Taken(members) => members.len(),
                Node::Direction(_) | Node::Linear(_) | Node::Seam { .. } => 1,
            };
            let (layer, at) = (layers[i].layer.clone(), layers[i].at(kink.element));
            let equation = kink.site.equation;
            finding.ties.push(Tie { layer, operation: kink.operation.into(), equation, at, members });
        }
    }
    for m in model.margins() {
        let Some(&i) = by_equation.get(&m.equation) else { continue };
        let line = &mut lines[i];
        line.smallest = Some(line.smallest.map_or(m.margin, |s| s.min(m.margin)));
        let decade = if m.margin > 0.0 { m.margin.log10().floor() as i64 } else { i64::MIN };
        line.histogram[(decade + i64::from(DECADES) + 1).clamp(0, i64::from(DECADES) + 1) as usize] += 1;
    }
    let mut nearest: Vec<_> = model.margins().iter().collect();
    nearest.sort_by(|a, b| a.margin.total_cmp(&b.margin));
    for m in nearest.into_iter().take(options.margins) {
        let Some(&i) = by_equation.get(&m.equation) else { continue };
        let (layer, at) = (layers[i].layer.clone(), layers[i].at(m.element));
        finding.margins.push(Margin { layer, operation: m.operation.into(), at, margin: m.margin });
    }
    // a call or a selection without kinks is no layer of them
    lines.retain(|l| l.tied > 0 || l.smallest.is_some() || !matches!(&*l.operation, "call" | "select"));
    finding.layers = lines;
}

fn line(kinks: &Kinks) -> Layer {
    Layer {
        layer: kinks.layer.clone(),
        operation: kinks.operation.into(),
        equation: kinks.equation,
        kinks: kinks.count,
        tied: 0,
        smallest: None,
        histogram: vec![0; DECADES as usize + 2],
    }
}

fn near(numbers: &[Rational]) -> Vec<f64> {
    numbers.iter().map(Rational::to_f64).collect()
}

/// The largest distance of two vectors in a coordinate, exactly, then as a float.
fn apart(a: &[Rational], b: &[Rational]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).max().unwrap_or_default().to_f64()
}

/// What the oracles say of each output.
fn decide(model: LocalModel, options: &Options, limits: &Limits, finding: &mut Finding) {
    let values: Vec<f64> =
        model.values().iter().flat_map(|t| t.data()).map(|x: &Mixed| crease_core::Number::to_f64(x)).collect();
    let largest = |best: usize, i: usize| if values[i] > values[best] { i } else { best };
    finding.shown = (0..values.len()).reduce(largest).unwrap_or(0);
    let below: Vec<usize> = model.outputs().iter().map(|&o| kinks_below(&model, o)).collect();
    let mut session = Session::owning(model, 0).within(limits);
    let mut answers: Vec<Option<Answer>> = Vec::new();
    for (output, value) in values.iter().enumerate() {
        session.turn_to(output);
        let answer = match limits.stopped() {
            Some(_) => Err((true, reason(&Limit::Time, options))),
            None => answer(&session, options, limits).map_err(|e| (no_answer(&e), e.to_string())),
        };
        match answer {
            Ok(answer) => {
                finding.limited |= answer.limited;
                finding.outputs.push(answer.told(output, *value, below[output], options));
                answers.push(Some(answer));
            }
            Err((limited, why)) => {
                finding.limited |= limited;
                finding.outputs.push(OutputFinding {
                    output,
                    value: *value,
                    tied: below[output],
                    singleton: None,
                    differentiable: "unknown".into(),
                    why: Some(why),
                    certified: false,
                    size: 0.0,
                    apart: 0.0,
                    off: Vec::new(),
                    clarke_apart: None,
                });
                answers.push(None);
            }
        }
    }
    // of several, one where something is to be seen
    let seen = |o: &OutputFinding| (o.differentiable == "no", o.apart > 0.0);
    let of = |i: usize| finding.outputs.get(i).map(seen);
    if of(finding.shown) == Some((false, false))
        && let Some(other) = (0..finding.outputs.len()).find(|&i| of(i) != Some((false, false)))
    {
        finding.shown = other;
    }
    if let Some(Some(answer)) = answers.get(finding.shown) {
        session.turn_to(finding.shown);
        let narrow = |g: &[Rational]| near(g).into_iter().map(|x| x as f32).collect::<Vec<f32>>();
        let clarke = answer.clarke();
        finding.gradients = clarke.first().map(|first| Subgradients {
            presets: answer.presets.iter().map(|(name, g)| (name.clone(), narrow(g))).collect(),
            clarke: narrow(&first.gradient),
            other: clarke.get(1).map(|c| narrow(&c.gradient)),
            causes: causes(&session),
        });
    }
}

/// How many kinks a node depends on.
fn kinks_below(model: &LocalModel, from: NodeId) -> usize {
    let mut used = vec![false; model.len()];
    used[from.index()] = true;
    for i in (0..=from.index()).rev().filter(|&i| i >= model.dimension()) {
        if !used[i] {
            continue;
        }
        match model.node(model.node_id(i)) {
            Node::Direction(_) => {}
            Node::Linear(terms) => terms.iter().for_each(|t| used[t.node.index()] = true),
            Node::Max(members) | Node::Norm(members) | Node::Taken(members) => {
                members.iter().for_each(|m| used[m.index()] = true);
            }
            Node::Seam { taken, across } => [taken, across].iter().for_each(|n| used[n.index()] = true),
        }
    }
    model.kinks().iter().filter(|k| used[k.node.index()]).count()
}

/// For each coordinate of the inputs, in how many kinks the tied forms differ in it.
fn causes(session: &Session<'_>) -> Vec<u32> {
    let mut counts = vec![0u32; session.model().dimension()];
    if session.model().kinks().is_empty() {
        return Vec::new();
    }
    let Some(normal) = session.normal_form() else { return Vec::new() };
    for kink in &normal.kinks {
        let [first, others @ ..] = &kink.forms[..] else { continue };
        let mut moved: Vec<usize> = Vec::new();
        for form in others {
            moved.extend(form.minus(first).split(normal.dimension).0.iter().map(|t| t.0));
        }
        moved.sort_unstable();
        moved.dedup();
        moved.into_iter().for_each(|i| counts[i] += 1);
    }
    counts
}

/// What the oracles say of one output.
struct Answer {
    singleton: Option<bool>,
    decision: Decision,
    certified: bool,
    presets: Vec<(String, Vec<Rational>)>,
    /// Whether a limit kept something from being known.
    limited: bool,
}

fn answer(session: &Session<'_>, options: &Options, limits: &Limits) -> Result<Answer, OracleError> {
    let effort = Effort { limits: limits.clone(), seed: options.seed, proof: options.certify, ..Effort::default() };
    let decision = session.differentiable(&effort)?;
    let mut limited = match &decision.verdict {
        Verdict::Yes(_) | Verdict::No(_) => false,
        Verdict::Unknown { limit, .. } => match limit {
            Limit::Conflicts(_) | Limit::Time | Limit::Stopped | Limit::Work | Limit::Memory | Limit::Bits(_) => true,
            // no flag or option moves that one
            Limit::TooLarge => false,
        },
    };
    let singleton = match (&decision.verdict, session.model().kinks().is_empty()) {
        // it holds all Clarke subgradients, and there are two
        (Verdict::No(_), _) => Some(false),
        (_, true) => Some(true),
        (_, false) => match session.conservative() {
            // by chance is not for certain
            Ok(known) if known.is_singleton() && !known.proved => None,
            Ok(known) => Some(known.is_singleton()),
            Err(OracleError::Undecided { .. } | OracleError::Stopped(_)) => {
                limited = true;
                None
            }
            Err(e) => return Err(e),
        },
    };
    let certified = options.certify
        && !matches!(decision.verdict, Verdict::Unknown { .. })
        && decision.certificate().is_some_and(|text| check::check(text.as_bytes()).is_ok());
    let mut presets = Vec::new();
    for (name, selection) in &options.presets {
        // a convention that is no choice of members, such as equal parts of a sort, has no gradient here
        let weights: Option<Vec<_>> = session.model().kinks().iter().map(|k| k.weights(selection)).collect();
        if let Some(weights) = weights {
            match session.gradient_at_choices(&weights) {
                Ok(gradient) => presets.push((name.clone(), gradient)),
                Err(OracleError::Stopped(_)) => limited = true,
                Err(e) => return Err(e),
            }
        }
    }
    Ok(Answer { singleton, decision, certified, presets, limited })
}

impl Answer {
    /// Clarke subgradients: the gradient, two that differ, or what is known.
    fn clarke(&self) -> &[ClarkeElement] {
        self.decision.verdict.elements()
    }

    fn told(&self, output: usize, value: f64, tied: usize, options: &Options) -> OutputFinding {
        let mut pairs = 0.0f64;
        for (i, (_, a)) in self.presets.iter().enumerate() {
            pairs = self.presets[i + 1..].iter().map(|(_, b)| apart(a, b)).fold(pairs, f64::max);
        }
        let (off, clarke_apart) = match &self.decision.verdict {
            Verdict::Yes(gradient) => {
                (self.presets.iter().map(|(n, g)| (n.clone(), apart(g, &gradient.gradient))).collect(), None)
            }
            Verdict::No(two) => (Vec::new(), Some(apart(&two[0].gradient, &two[1].gradient))),
            Verdict::Unknown { .. } => (Vec::new(), None),
        };
        let why = match &self.decision.verdict {
            Verdict::Unknown { limit, .. } => Some(reason(limit, options)),
            Verdict::Yes(_) | Verdict::No(_) => None,
        };
        let size = self.clarke().first().map_or(0.0, |c| near(&c.gradient).iter().fold(0.0f64, |a, x| a.max(x.abs())));
        OutputFinding {
            output,
            value,
            tied,
            singleton: self.singleton,
            differentiable: self.decision.verdict.word().into(),
            why,
            certified: self.certified,
            size,
            apart: pairs,
            off,
            clarke_apart,
        }
    }
}

/// Whether a limit is why there is no local model, so that there may be one with others.
fn no_model(e: &LocalError) -> bool {
    match e {
        LocalError::Stopped(_) | LocalError::Undecided { .. } | LocalError::Inline(_) => true,
        LocalError::Run(e) => matches!(
            e.fault,
            RunFault::TooLong { .. } | RunFault::TooLarge { .. } | RunFault::Number(NumberError::Undecided)
        ),
        _ => false,
    }
}

/// The same of an oracle.
fn no_answer(e: &OracleError) -> bool {
    use OracleError::{Number, Stopped, Undecided};
    matches!(e, Undecided { .. } | Stopped(_) | Number(NumberError::Undecided))
}

fn reason(limit: &Limit, options: &Options) -> String {
    match (limit, options.each) {
        (Limit::Time, Some(each)) => format!("{limit} ({} s for each input)", each.as_secs_f64()),
        _ => limit.to_string(),
    }
}
