//! Everything that can be said about a derivative at a point, as one value.

use super::joints::{JointVerdict, Joints};
use super::meaning::Meaning;
use super::numbers::{Answer, Computed, Task};
use super::ties;
use super::{Ask, Beside, Coordinates, InspectError, Status};
use crate::show::{self, Rows, width};
use crease_core::cost::{Prices, cost_within};
use crease_core::differentiate::{How, Mode, backprop, forprop, jacobian};
use crease_core::differentiate::{Overhead, overhead};
use crease_core::{Limits, Program, Rational, Tensor};
use crease_oracles::{ClarkeElement, Conservative, KinkReport, Verdict};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

/// Differentiates a program at a point, and says what the answer is.
///
/// ```
/// use crease::inspect::{inspect, Ask, Status};
/// let p = crease::trace(1, |x| crease::relu(x[0]) - crease::relu(-x[0]))?; // the identity
/// let i = inspect(&p, &[0.0], &Ask::default())?;
/// assert_eq!(i.gradient(), [0.0]); // what the chain rule returns, with relu'(0) = 0
/// assert_eq!(i.status(), Status::Conservative); // and what that is
/// assert_eq!(i.clarke().unwrap().gradient[0].to_string(), "1"); // a true one
/// assert_eq!(i.verdict().unwrap().word(), "yes"); // the function is differentiable
/// assert!(!i.conservative().unwrap().is_singleton()); // other choices give other answers
/// assert_eq!((i.kinks().len(), i.judge(&[1.0])), (2, Status::Gradient));
/// println!("{i}"); // all of it, as the command-line tool shows it
///
/// let i = inspect(&p, &[1.0], &Ask::default())?; // no kink is near
/// assert_eq!((i.gradient(), i.status(), i.verdict().unwrap().word()), (vec![1.0], Status::Gradient, "yes"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn inspect<'p>(
    program: &'p Program,
    point: &(impl Coordinates + ?Sized),
    ask: &Ask<'_>,
) -> Result<Inspection<'p>, InspectError> {
    let ask = &ask.started();
    let inputs = point.inputs(program)?;
    let limits = Limits { equations: ask.how.max_equations.unwrap_or(ask.limits.equations), ..ask.limits.clone() };
    // what cannot be counted is refused before it is differentiated, which may take longer
    let price = |p: &Program| Ok::<_, InspectError>(cost_within(p, &limits)?.at(&Prices::unit()));
    let before = match ask.output {
        Some(_) => None,
        None => Some(price(program)?),
    };
    let (p, derived) = derive(program, ask)?;
    let mut computed = Task { program: &derived, watched: Some(&p) }.compute(&inputs, ask.numbers, &ask.limits)?;
    let joints = Joints::of(&p, &inputs, ask, &computed)?;
    let costs = Costs {
        program: before.map_or_else(|| price(&p), Ok)?,
        counted: price(&derived)?,
        theorem: match ask.jacobian {
            true => None,
            false => Some(overhead(&p, &ask.how.clone().within(&limits), ask.mode, &Prices::unit())?),
        },
    };
    let smooth = |computed: &Computed| computed.met.is_empty() && computed.decided;
    let meaning = match ask.jacobian || (smooth(&computed) && !ask.report) {
        true => Meaning::NotAsked,
        false => Meaning::of(&p, &inputs, joints.is_some(), ask),
    };
    // the local model knows equal numbers that come about differently, of which a run cannot tell that they tie
    if let (false, Meaning::Known(known), Some(because)) = (computed.decided, &meaning, computed.float_because)
        && let Some(better) = known.computed(because)
    {
        computed = better;
    }
    if joints.as_ref().is_some_and(|j| j.verdict != JointVerdict::Verified) {
        computed.certain = false;
    }
    let smooth = smooth(&computed);
    let word = match (ask.jacobian, ask.mode) {
        (true, _) => "jacobian",
        (false, Mode::Backward) => "backprop",
        (false, Mode::Forward) => "forprop",
    };
    let (how, directions, jacobian) = (ask.how.clone(), ask.directions, ask.jacobian);
    // whoever judges a vector does so when the time for the question is long over: cells bound that search, and it is cancelled as the question is
    let search = Limits { cells: ask.limits.cells.min(ask.beside.conflicts), deadline: None, ..ask.limits.clone() };
    let (only, right) = (None, None);
    let later = Later { inputs, seed: ask.seed, proof: ask.proof, beside: ask.beside, asked: OnceLock::new() };
    let mut inspection = Inspection {
        program: p,
        how,
        computed,
        joints,
        costs,
        word,
        jacobian,
        smooth,
        meaning,
        later,
        directions,
        limits: ask.limits.clone(),
        search,
        only,
        right,
    };
    let derivatives = inspection.derivatives(0);
    let only = inspection.meaning.only_element(&inspection.computed, derivatives);
    let right = inspection.meaning.is_gradient(&inspection.computed, derivatives);
    (inspection.only, inspection.right) = (only, right);
    Ok(inspection)
}

/// What a vector is where the oracles have no answer.
fn untold_status(meaning: &Meaning) -> Status {
    match meaning {
        Meaning::Jump(_) => Status::Outside,
        Meaning::Unknown(why) | Meaning::Refused(why) => Status::Undecided(why.clone()),
        Meaning::NotAsked | Meaning::Known(_) => Status::Undecided("the gradient is only known as floats".into()),
    }
}

/// The program that is asked about, and its derivative, as [`Ask`] says.
pub fn derive<'p>(program: &'p Program, ask: &Ask<'_>) -> Result<(Cow<'p, Program>, Program), InspectError> {
    let p = match ask.output {
        Some(k) => Cow::Owned(pick(program, k)?),
        None => Cow::Borrowed(program),
    };
    let how = ask.how.clone().within(&ask.limits);
    let derived = match (ask.jacobian, ask.mode) {
        (true, mode) => jacobian(&p, &how, mode),
        (_, Mode::Backward) => backprop(&p, &how),
        (_, Mode::Forward) => forprop(&p, &how),
    }?;
    Ok((p, derived))
}

/// The same program with one of its outputs only.
pub fn pick(p: &Program, k: usize) -> Result<Program, InspectError> {
    p.with_outputs(&[k]).ok_or_else(|| {
        let n = p.outputs().len();
        let count = if n == 1 { "1 output".into() } else { format!("{n} outputs") };
        InspectError::Other(format!("there is no output {k}: `{}` has {count}, counted from 0", p.name()))
    })
}

/// What the program and its derivative cost, at unit prices.
#[derive(Clone, Debug)]
pub struct Costs {
    /// The program.
    pub program: Rational,
    /// The derivative, counted.
    pub counted: Rational,
    /// What Theorem 2 says of it; nothing for a Jacobian.
    pub theorem: Option<Overhead>,
}

/// What can be said about a derivative at a point: see [`inspect()`]. It displays as the text of `crease grad`, and serializes as its JSON.
#[derive(Debug)]
pub struct Inspection<'p> {
    program: Cow<'p, Program>,
    how: How,
    computed: Computed,
    joints: Option<Joints>,
    costs: Costs,
    /// What was asked for: backprop, forprop or jacobian.
    word: &'static str,
    jacobian: bool,
    /// Whether no kink was met.
    smooth: bool,
    /// What the oracles say.
    meaning: Meaning,
    /// What they say where nothing depends on it.
    later: Later,
    directions: u64,
    limits: Limits,
    /// How far to go when a vector is judged.
    search: Limits,
    /// If the conservative gradient has one element, whether the result is that.
    only: Option<bool>,
    /// If the program is certainly differentiable, whether the result is the gradient.
    right: Option<bool>,
}

/// Where no kink is met the answer is known, and the oracles are asked when somebody wants their words.
#[derive(Debug)]
struct Later {
    inputs: Vec<Tensor<Rational>>,
    seed: u64,
    proof: bool,
    beside: Beside,
    asked: OnceLock<Meaning>,
}

impl Inspection<'_> {
    /// The same with a program of its own, for keeping.
    ///
    /// ```
    /// use crease::inspect::{inspect, Ask, Inspection, Status};
    /// let kept: Inspection<'static> = {
    ///     let p = crease::trace(1, |x| crease::abs(x[0]))?;
    ///     inspect(&p, &[0.0], &Ask::default())?.into_owned()
    /// };
    /// assert_eq!(kept.judge(&[0.5]), Status::Clarke);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_owned(self) -> Inspection<'static> {
        Inspection { program: Cow::Owned(self.program.into_owned()), ..self }
    }

    /// What differentiation returned for the first output: all its numbers, one input after the other, as the nearest floats.
    pub fn gradient(&self) -> Vec<f64> {
        self.derivatives(0).iter().flat_map(|a| a.near.data()).copied().collect()
    }

    /// The same exactly, where it was computed exactly.
    pub fn exact_gradient(&self) -> Option<Vec<Rational>> {
        let parts = self.derivatives(0).iter().map(|a| a.exact.as_ref()).collect::<Option<Vec<_>>>()?;
        Some(parts.into_iter().flat_map(|t| t.data()).cloned().collect())
    }

    /// What the result of differentiation is.
    pub fn status(&self) -> Status {
        match self.is_derivative() {
            true if self.computed.certain => return Status::Gradient,
            true => return Status::Undecided(self.doubt().into()),
            false => {}
        }
        if self.is_wrong_joint() {
            return Status::Undecided("a joint program is not the derivative of its callee here".into());
        }
        match &self.meaning {
            Meaning::Jump(_) => Status::Outside,
            Meaning::Refused(why) => Status::Undecided(why.clone()),
            _ if self.only == Some(false) => Status::Outside,
            // an element of the conservative gradient by its making; perhaps it is more than that
            Meaning::Known(k) => match self.exact_gradient().map(|g| k.judge(&g, self.directions, &self.search)) {
                Some(status @ (Status::Gradient | Status::Clarke)) => status,
                _ => Status::Conservative,
            },
            Meaning::NotAsked | Meaning::Unknown(_) => Status::Conservative,
        }
    }

    /// What an answer from elsewhere is worth, judged exactly as it is given: a rounded gradient is not the gradient, but for the numbers of
    /// [`gradient`](Inspection::gradient) where no kink was met and these are the gradient to their last digit. For answers in floats there is
    /// [`judge_within`](Inspection::judge_within).
    ///
    /// ```
    /// use crease::inspect::{inspect, Ask, Status};
    /// let p = crease::trace(1, |x| crease::relu(x[0]) - crease::relu(-x[0]))?;
    /// let i = inspect(&p, &[0.0], &Ask::default())?;
    /// let judged = [0.0, 1.0, 2.0, 3.0].map(|g| i.judge(&[g]));
    /// assert_eq!(judged, [Status::Conservative, Status::Gradient, Status::Conservative, Status::Outside]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn judge(&self, gradient: &(impl Coordinates + ?Sized)) -> Status {
        match self.vector(gradient) {
            Err(status) => status,
            Ok(vector) => self.judge_smooth(&vector, &Rational::ZERO).unwrap_or_else(|| match self.meaning() {
                Meaning::Known(k) => k.judge(&vector, self.directions, &self.search),
                untold => untold_status(untold),
            }),
        }
    }

    /// What an answer from elsewhere is worth if each of its numbers may be off by rounding, relative to its size: it is taken for
    /// what it comes so close to, the gradient first. What it may be close to without our knowing is undecided.
    ///
    /// ```
    /// use crease::inspect::{inspect, Ask, Status};
    /// let p = crease::trace(1, |x| crease::abs(x[0]) / 3.0)?;
    /// let i = inspect(&p, &[0.0], &Ask::default())?;
    /// assert_eq!(i.judge_within(&[1.0 / 3.0], 1e-9), Status::Clarke);
    /// assert_eq!(i.judge_within(&[0.4], 1e-9), Status::Outside);
    /// // equal parts for three equals, which floats cannot hold
    /// let p = crease::trace(3, |x| crease::max(x))?;
    /// let i = inspect(&p, &[5.0; 3], &Ask::default())?;
    /// assert_eq!(i.judge_within(&[1.0 / 3.0; 3], 1e-9), Status::Clarke);
    /// assert_eq!(i.judge_within(&[1.0; 3], 1e-9), Status::Outside);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn judge_within(&self, gradient: &(impl Coordinates + ?Sized), relative: f64) -> Status {
        let vector = match self.vector(gradient) {
            Err(status) => return status,
            Ok(vector) => vector,
        };
        let Some(off) = Rational::from_f64(relative.abs()) else {
            return Status::Undecided("the tolerance is no finite number".into());
        };
        let close = |other: &[Rational]| {
            let near = |(a, b): (&Rational, &Rational)| (a - b).abs() <= &off * &a.abs().max(b.abs());
            other.len() == vector.len() && other.iter().zip(&vector).all(near)
        };
        if let Some(status) = self.judge_smooth(&vector, &off) {
            return status;
        }
        match self.meaning() {
            Meaning::Known(k) => {
                match k.landmarks().find(|(other, _)| close(other)) {
                    // what choices at the kinks give may be more than that
                    Some((other, Status::Conservative)) => match k.judge(other, self.directions, &self.search) {
                        status @ (Status::Gradient | Status::Clarke) => return status,
                        _ => return Status::Conservative,
                    },
                    Some((_, status)) => return status,
                    None => {}
                }
                match k.judge(&vector, self.directions, &self.search) {
                    status @ (Status::Gradient | Status::Clarke) => status,
                    _ if k.is_near_clarke(&vector, &off, &self.search) => Status::Clarke,
                    Status::Outside if !k.is_beyond(&vector, &off) => {
                        Status::Undecided("it is so close to the conservative gradient that it may be in it".into())
                    }
                    status => status,
                }
            }
            untold => untold_status(untold),
        }
    }

    /// Without kinks there is one answer, which is compared here, as far as it is known, with a vector each of whose numbers may be off by this part of the
    /// larger of both. Where it is not known well enough, the oracles are asked.
    fn judge_smooth(&self, vector: &[Rational], relative: &Rational) -> Option<Status> {
        if !self.smooth || !self.computed.certain || !matches!(self.meaning, Meaning::NotAsked) {
            return None;
        }
        let own: Vec<(Rational, Rational)> =
            self.derivatives(0).iter().map(Answer::enclosed).collect::<Option<Vec<_>>>()?.concat();
        if own.len() != vector.len() {
            return None;
        }
        let pairs = || own.iter().zip(vector);
        let distance = |own: &Rational, x: &Rational| (own - x).abs();
        // what is allowed is larger where the gradient is
        let close = |((own, radius), x): (&(Rational, Rational), &Rational)| {
            distance(own, x) + radius <= relative * &(own.abs() - radius).max(x.abs())
        };
        let apart = |((own, radius), x): (&(Rational, Rational), &Rational)| {
            distance(own, x) - radius > relative * &(own.abs() + radius).max(x.abs())
        };
        match () {
            () if pairs().all(close) => Some(Status::Gradient),
            () if self.computed.is_sharp() && pairs().all(|((own, _), x)| own == x) => Some(Status::Gradient),
            () if pairs().any(apart) => Some(Status::Outside),
            () => None,
        }
    }

    /// A gradient as exact numbers, or why it is none.
    fn vector(&self, gradient: &(impl Coordinates + ?Sized)) -> Result<Vec<Rational>, Status> {
        if self.jacobian {
            return Err(Status::Undecided("a Jacobian is not judged; ask for one output".into()));
        }
        match gradient.inputs(&self.program) {
            Ok(parts) => Ok(parts.iter().flat_map(|t| t.data()).cloned().collect()),
            Err(e) => Err(Status::Undecided(e.to_string())),
        }
    }

    /// The kinks that were met, each place once.
    pub fn kinks(&self) -> &[ties::Met] {
        &self.computed.met
    }

    /// What was computed, in which numbers, and why in those.
    pub fn computed(&self) -> &Computed {
        &self.computed
    }

    /// What the oracles say, which are asked now, once, if no kink was met; how long they were given when the inspection was made is no matter then, but all other limits hold. It is
    /// [`Meaning::NotAsked`] for a Jacobian only.
    pub fn meaning(&self) -> &Meaning {
        if self.jacobian || !matches!(self.meaning, Meaning::NotAsked) {
            return &self.meaning;
        }
        let Later { inputs, seed, proof, beside, asked } = &self.later;
        asked.get_or_init(|| {
            let limits = Limits { deadline: None, ..self.limits.clone() };
            let (how, seed, proof, beside) = (self.how.clone(), *seed, *proof, *beside);
            let ask = Ask { how, seed, proof, beside, limits, ..Ask::default() };
            Meaning::of(&self.program, inputs, self.joints.is_some(), &ask)
        })
    }

    /// A Clarke subgradient, with the direction that shows it: the gradient, where the program is differentiable around the point.
    ///
    /// None where none could be told: the program [jumps](Meaning::Jump) or is [singular](Meaning::Refused) there, it was [not asked](Meaning::Unknown) since that goes beyond a limit, the
    /// limits ended it before one was found (the reason is in [`meaning`](Inspection::meaning)), or a Jacobian was asked for.
    pub fn clarke(&self) -> Option<&ClarkeElement> {
        self.known().and_then(|k| k.clarke.as_ref().ok())
    }

    /// Whether the program is differentiable: a yes with the gradient, a no with two Clarke subgradients, or unknown with the limit that ended the search.
    ///
    /// None where the question was not put: the program [jumps](Meaning::Jump) or is [singular](Meaning::Refused) there, a limit kept it [from being asked](Meaning::Unknown), or a Jacobian was asked
    /// for. A verdict that is unknown is `Some`.
    ///
    /// ```
    /// use crease::inspect::{inspect, Ask, Meaning};
    /// let p = crease::formats::parse_expression("where(x >= 0, x + 1, x)", &|_| None)?;
    /// let [at, beside] = [0.0, 1.0].map(|x| inspect(&p, &[x], &Ask::default()));
    /// let (at, beside) = (at?, beside?);
    /// assert!(at.verdict().is_none() && matches!(at.meaning(), Meaning::Jump(_)));
    /// assert_eq!(beside.verdict().unwrap().word(), "yes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verdict(&self) -> Option<&Verdict> {
        self.known().map(|k| &k.decision.verdict)
    }

    /// The certificate of the verdict. None where there is no verdict, where it is unknown, for a yes without [`Ask::proof`], and where the certificate would be too large.
    pub fn certificate(&self) -> Option<String> {
        self.known().and_then(|k| k.decision.certificate())
    }

    /// The conservative gradient: one element, which is the gradient, or two different ones of many.
    ///
    /// None where [`verdict`](Inspection::verdict) is, and where limits ended it.
    pub fn conservative(&self) -> Option<&Conservative> {
        self.known().and_then(|k| k.conservative.as_ref().ok())
    }

    /// What each kink can change. None unless [`Ask::report`] wants it, and where [`verdict`](Inspection::verdict) is.
    pub fn report(&self) -> Option<&KinkReport> {
        self.known().and_then(|k| k.report.as_ref())
    }

    /// What the program and its derivative cost.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    fn known(&self) -> Option<&super::meaning::Known> {
        match self.meaning() {
            Meaning::Known(k) => Some(k),
            Meaning::NotAsked | Meaning::Unknown(_) | Meaning::Refused(_) | Meaning::Jump(_) => None,
        }
    }
}

impl Inspection<'_> {
    /// Whether the result is certainly the derivative itself, and not only something that a convention picked.
    fn is_derivative(&self) -> bool {
        !self.is_wrong_joint() && (self.smooth || self.only == Some(true) || self.right == Some(true))
    }

    /// The values of the outputs.
    pub fn values(&self) -> &[Answer] {
        &self.computed.outputs[..self.program.outputs().len()]
    }

    /// The derivatives of output `k` by each input.
    pub fn derivatives(&self, k: usize) -> &[Answer] {
        let n = self.program.inputs().len();
        &self.computed.outputs[self.program.outputs().len() + k * n..][..n]
    }

    /// Why the numbers of a derivative are not certain.
    fn doubt(&self) -> &'static str {
        match &self.joints {
            Some(j) if j.verdict == JointVerdict::Trusted => "a joint program is taken on trust",
            _ => "the gradient is only known as floats, with an error that is not bounded",
        }
    }

    /// Whether a joint program is certainly not what it stands for.
    fn is_wrong_joint(&self) -> bool {
        self.joints.as_ref().is_some_and(|j| j.verdict == JointVerdict::Wrong)
    }

    /// What the result is, in words.
    fn remark(&self) -> String {
        let what = match (self.jacobian, self.is_derivative()) {
            _ if self.is_wrong_joint() => "no derivative of the program",
            (false, true) if self.smooth => "the gradient",
            (false, true) if self.only == Some(true) => {
                return "the gradient: the conservative gradient is this one element".into();
            }
            (false, true) => "the gradient, as it happens",
            (false, false) if self.meaning.jumps() => "no derivative: the program jumps here",
            (false, false) if self.meaning.is_refused() => {
                "what differentiation returns; what that is could not be told"
            }
            (false, false) if self.only == Some(false) => "no element of the conservative gradient",
            (false, false) => "an element of the conservative gradient",
            (true, true) => "the Jacobian",
            (true, false) => "an element of the conservative Jacobian",
        };
        let mut notes = ties::conventions(&self.program, &self.computed.met, &self.how.selection);
        if let Some(Joints { names, verdict }) = &self.joints {
            let names: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
            let verdict = match verdict {
                JointVerdict::Verified => "verified here",
                JointVerdict::Wrong => "which is not its derivative here",
                JointVerdict::Trusted => "taken on trust",
            };
            notes.push(format!("by the joint program of {}, {verdict}", names.join(", ")));
        }
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
        let Computed { outputs, float_because, decided, .. } = &self.computed;
        let rounded = match float_because {
            None => "",
            Some(_) if !decided => ", in f64; ties were decided on rounded values",
            Some(_) if self.computed.is_sharp() => ", in f64",
            Some(_) if outputs.iter().all(|a| a.enclosed().is_some()) => ", to the digits shown",
            Some(_) => ", in f64; how far it may be off is not known",
        };
        format!("{what}{notes}{rounded}")
    }

    /// How many elements were at a kink.
    fn kink_count(&self) -> usize {
        self.computed.met.iter().map(|m| m.elements).sum()
    }

    fn text(&self) -> String {
        let mut rows = Rows::default();
        let remark = self.remark();
        let values: Vec<String> = self.values().iter().map(|a| show::answer(a, false)).collect();
        let names: Vec<&str> = self.program.inputs().iter().map(|i| &*i.name).collect();
        let scalar = |a: &Answer| a.near.shape().is_scalar();
        let kinks = show::count(self.kink_count());
        if let ([value], [derivative]) = (&values[..], self.derivatives(0))
            && scalar(derivative)
        {
            let derivative = show::answer(derivative, false);
            let clarke = self.meaning.number().unwrap_or_default();
            let width = width([&**value, &derivative, &kinks, &clarke]);
            rows.add("value", value);
            rows.add(self.word, &format!("{derivative:<width$}  {remark}"));
            self.meaning.lines(&mut rows, &names, width);
            self.places(&mut rows, &kinks, width);
        } else {
            for (k, value) in values.iter().enumerate() {
                rows.add(if k == 0 { "value" } else { "" }, value);
            }
            rows.add(self.word, &remark);
            for k in 0..values.len() {
                if values.len() > 1 {
                    rows.add(&format!("  output {k}"), "");
                }
                let indent = if values.len() > 1 { "    " } else { "  " };
                for (name, derivative) in names.iter().zip(self.derivatives(k)) {
                    rows.add(&format!("{indent}{name}"), &show::answer(derivative, false));
                }
            }
            self.meaning.lines(&mut rows, &names, 0);
            self.places(&mut rows, &kinks, kinks.len());
        }
        self.meaning.report(&mut rows, &self.program);
        if let Some(arithmetic) = self.computed.arithmetic_text() {
            rows.add("arithmetic", &arithmetic);
        }
        rows.add("cost", &self.cost());
        rows.text()
    }

    /// The kinks that were met, one line for each place.
    fn places(&self, rows: &mut Rows, kinks: &str, width: usize) {
        let met = &self.computed.met;
        for (i, line) in show::columns(&ties::lines(met), &[]).lines().enumerate() {
            let (label, kinks) = if i == 0 { ("kinks", kinks) } else { ("", "") };
            rows.add(label, &format!("{kinks:<width$}  {line}"));
        }
        if let Some(others) = ties::others(met) {
            rows.add("", &format!("{:<width$}  {others}", ""));
        }
    }

    fn cost(&self) -> String {
        let Costs { program, counted, theorem } = &self.costs;
        let mut out = format!("P {} · {} {} counted", show::price(program), self.word, show::price(counted));
        if let Some(theorem) = theorem {
            let model = theorem.model.at(&Prices::unit());
            out.push_str(&format!(", {} by Theorem 2", show::price(&model)));
            if let Some(ratio) = model.checked_div(program) {
                let bound = theorem.omega.as_ref().map_or("no bound".into(), |o| format!("bound {} x", show::ratio(o)));
                out.push_str(&format!(" ({} x, {bound})", show::ratio(&ratio)));
            }
        }
        out
    }

    fn json(&self) -> Value {
        let by_input = |k: usize, show: &dyn Fn(&Answer) -> Option<Value>| -> Option<Value> {
            let shown = self.derivatives(k).iter().map(show).collect::<Option<Vec<_>>>()?;
            Some(show::object(self.program.inputs().iter().map(|i| &*i.name).zip(shown)))
        };
        let all = |show: &dyn Fn(&Answer) -> Option<Value>| -> Option<(Value, Value)> {
            let values = self.values().iter().map(show).collect::<Option<Vec<_>>>()?;
            let derivatives = (0..values.len()).map(|k| by_input(k, show)).collect::<Option<Vec<_>>>()?;
            Some((show::one_or_list(values), show::one_or_list(derivatives)))
        };
        let field = if self.jacobian { "jacobian" } else { "gradient" };
        let mut members: Vec<(&str, Value)> = Vec::new();
        if let Some((value, derivative)) = all(&|a| Some(show::near(a))) {
            members.extend([("value", value), (field, derivative)]);
        }
        let kind = match () {
            () if self.is_derivative() => field,
            () if self.meaning.jumps() || self.only == Some(false) || self.is_wrong_joint() => "none",
            () if self.meaning.is_refused() || !self.computed.decided => "undecided",
            () => "conservative",
        };
        // ties of rounded numbers are not those of the program
        let kinks = if self.computed.decided { self.kink_count().into() } else { Value::Null };
        members.extend([("kind", kind.into()), ("kinks", kinks), ("certain", self.computed.certain.into())]);
        members.push(("arithmetic", self.computed.arithmetic().into()));
        members.extend(self.computed.bits.map(|bits| ("bits", bits.into())));
        let exact = all(&show::fractions)
            .map(|(value, derivative)| ("exact", show::object([("value", value), (field, derivative)])));
        if let (None, Some((value, derivative))) = (&exact, all(&show::radius)) {
            members.push(("radius", show::object([("value", value), (field, derivative)])));
        }
        members.extend(exact);
        if let Some(joints) = &self.joints {
            let name = |n: &String| (n.clone(), joints.verdict.word().into());
            members.push(("joints", show::object(joints.names.iter().map(name))));
        }
        let met = self.computed.met.iter().map(|m| {
            show::object([
                ("operation", m.operation.into()),
                ("place", show::origin(m.site.origin.as_deref())),
                ("text", m.site.text().into()),
                ("elements", m.elements.into()),
            ])
        });
        members.push(("met", met.collect()));
        let names: Vec<&str> = self.program.inputs().iter().map(|i| &*i.name).collect();
        members.extend(self.meaning.json(&names, &self.program));
        let conventions = ties::conventions(&self.program, &self.computed.met, &self.how.selection);
        members.push(("conventions", conventions.into()));
        members.push(("cost", self.json_cost()));
        show::object(members)
    }

    fn json_cost(&self) -> Value {
        let Costs { program, counted, theorem } = &self.costs;
        let mut members = vec![("program", show::number(program)), ("counted", show::number(counted))];
        if let Some(theorem) = theorem {
            members.push(("model", show::number(&theorem.model.at(&Prices::unit()))));
            members.push(("omega", theorem.omega.as_ref().map_or(Value::Null, show::number)));
        }
        show::object(members)
    }
}

impl fmt::Display for Inspection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Serialize for Inspection<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}
