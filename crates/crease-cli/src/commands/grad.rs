//! `crease grad`: Algorithm 2 at a point, with what the answer is, where choices were made, and what it cost.

use crate::arithmetic::{Answer, Computed, NumberArgs, Task};
use crate::how::{Direction, HowArgs, trusted_joints};
use crate::local::PrecisionArgs;
use crate::many::{self, PointsArgs};
use crate::meaning::{Chosen, Meaning};
use crate::output;
use crate::rows::{Rows, width};
use crate::source::{Source, SourceArgs};
use crate::ties;
use anyhow::{Result, anyhow};
use clap::Args;
use crease_core::cost::{Overhead, Prices, cost, overhead};
use crease_core::differentiate::{DiffError, How, backprop, forprop, jacobian};
use crease_core::{Program, Rational};
use serde_json::Value;
use std::borrow::Cow;

/// Differentiate a program at a point
///
/// Prints the value and what automatic differentiation returns, and says what that is: the gradient if no kink was met,
/// else an element of the conservative gradient, with the choices made (--select) and the places where they were made. At
/// kinks it also shows a Clarke subgradient, and whether the conservative gradient has other elements. Kinks are decided
/// exactly wherever the operations and the point allow it. With --points it prints one line for each point: value, derivatives,
/// and how many kinks were met there.
#[derive(Args)]
#[command(after_help = "Examples:
  crease grad -e 'relu(x) - relu(-x)' --at x=0
  crease grad -e 'max(x, y) + abs(x)' --at x=0,y=0 --select torch
  crease grad network.crease --at weights.json --mode forward --json
  crease grad -e 'relu(x) + abs(y - 1)' --at x=0,y=3 --report
  crease grad -e 'x * y, x + y' --at x=2,y=3 --jacobian
  crease grad -e 'norm1(v)' --points points.npy --json")]
pub struct Grad {
    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    points: PointsArgs,

    #[command(flatten)]
    numbers: NumberArgs,

    #[command(flatten)]
    how: HowArgs,

    /// The direction in which derivatives travel
    #[arg(long, default_value = "backward")]
    mode: Direction,

    /// The output to differentiate, counted from 0, where there are several
    #[arg(long, value_name = "K", conflicts_with = "jacobian")]
    output: Option<usize>,

    /// The derivatives of all outputs by all inputs
    #[arg(long, conflicts_with = "points")]
    jacobian: bool,

    /// Also show the kink report: what each active kink can change, and how far the others are from switching
    #[arg(long, conflicts_with_all = ["jacobian", "points"])]
    report: bool,

    #[command(flatten)]
    precision: PrecisionArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Grad {
    pub fn run(&self) -> Result<String> {
        let how = self.how.read()?;
        if let Some(mut points) = self.points.read()? {
            let source = self.source.load_for(&mut points)?;
            let (p, derived) = self.derive(&source, &how)?;
            let task = Task { program: &derived, watched: Some(&p) };
            return many::run(&task, Some(&p), points, &self.numbers, &source, self.json);
        }
        let source = self.source.load()?;
        let inputs = source.inputs()?;
        let (p, derived) = self.derive(&source, &how)?;
        let p = &*p;
        let task = Task { program: &derived, watched: Some(p) };
        let done = task.compute(&inputs, &self.numbers)?;
        let costs = Costs {
            program: cost(p).at(&Prices::unit()),
            counted: cost(&derived).at(&Prices::unit()),
            theorem: match self.jacobian {
                true => None,
                false => Some(overhead(p, &how, self.mode.into(), &Prices::unit())?),
            },
        };
        let word = if self.jacobian { "jacobian" } else { self.mode.word() };
        let smooth = done.met.is_empty() && done.certain;
        let meaning = match self.jacobian || (smooth && !self.report) {
            true => Meaning::NotAsked,
            false => {
                let joints = !trusted_joints(p, &how).is_empty();
                let chosen = Chosen { selection: &how.selection, joints, report: self.report };
                Meaning::of(p, &inputs, &chosen, self.precision.read())
            }
        };
        let mut report = Report {
            p,
            how: &how,
            done: &done,
            costs,
            word,
            jacobian: self.jacobian,
            smooth,
            meaning,
            only: None,
            right: None,
        };
        report.only = report.meaning.only_element(&done, report.derivatives(0));
        report.right = report.meaning.is_gradient(&done, report.derivatives(0));
        Ok(if self.json { output::json(&report.json()) } else { report.text() })
    }

    /// The program that is asked about, and its derivative.
    fn derive<'s>(&self, source: &'s Source, how: &How) -> Result<(Cow<'s, Program>, Program)> {
        let p = match self.output {
            Some(k) => Cow::Owned(pick(&source.program, k)?),
            None => Cow::Borrowed(&*source.program),
        };
        let derived = match (self.jacobian, self.mode) {
            (true, mode) => jacobian(&p, how, mode.into()),
            (_, Direction::Backward) => backprop(&p, how),
            (_, Direction::Forward) => forprop(&p, how),
        };
        Ok((p, derived.map_err(not_scalar)?))
    }
}

/// The same program with one of its outputs only.
pub fn pick(p: &Program, k: usize) -> Result<Program> {
    p.with_outputs(&[k]).ok_or_else(|| {
        let n = p.outputs().len();
        let count = if n == 1 { "1 output".into() } else { format!("{n} outputs") };
        anyhow!("there is no output {k}: `{}` has {count}, counted from 0", p.name())
    })
}

pub fn not_scalar(e: DiffError) -> anyhow::Error {
    match e {
        DiffError::NotScalar { name, outputs } => anyhow!(
            "a gradient needs one scalar output, but `{name}` returns {outputs}; take all derivatives with --jacobian{}",
            if outputs.ends_with("outputs") { ", or pick an output with --output 0" } else { "" }
        ),
        other => other.into(),
    }
}

/// What the program and its derivative cost, at unit prices.
struct Costs {
    program: Rational,
    counted: Rational,
    theorem: Option<Overhead>,
}

/// Everything that is to be told.
struct Report<'a> {
    p: &'a Program,
    how: &'a How,
    done: &'a Computed,
    costs: Costs,
    word: &'static str,
    jacobian: bool,
    /// Whether no kink was met.
    smooth: bool,
    /// What the oracles say.
    meaning: Meaning,
    /// If the conservative gradient has one element, whether the result is that.
    only: Option<bool>,
    /// If the program is certainly differentiable, whether the result is the gradient.
    right: Option<bool>,
}

impl Report<'_> {
    /// Whether the result is the derivative itself, and not only something that a convention picked.
    fn is_derivative(&self) -> bool {
        self.smooth || self.only == Some(true) || self.right == Some(true)
    }

    fn values(&self) -> &[Answer] {
        &self.done.outputs[..self.p.outputs().len()]
    }

    /// The derivatives of output `k` by each input.
    fn derivatives(&self, k: usize) -> &[Answer] {
        let n = self.p.inputs().len();
        &self.done.outputs[self.p.outputs().len() + k * n..][..n]
    }

    /// What the result is, in words.
    fn remark(&self) -> String {
        let what = match (self.jacobian, self.is_derivative()) {
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
        let mut notes = ties::conventions(self.p, &self.done.met, &self.how.selection);
        let joints = trusted_joints(self.p, self.how);
        if !joints.is_empty() {
            let names: Vec<String> = joints.iter().map(|n| format!("`{n}`")).collect();
            notes.push(format!("by the joint program of {}", names.join(", ")));
        }
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
        let rounded = match (&self.done.float_because, self.done.certain) {
            (None, _) => "",
            (Some(_), true) => ", in f64",
            (Some(_), false) => ", in f64; ties were decided on rounded values",
        };
        format!("{what}{notes}{rounded}")
    }

    fn kinks(&self) -> usize {
        self.done.met.iter().map(|m| m.elements).sum()
    }

    fn text(&self) -> String {
        let mut rows = Rows::default();
        let remark = self.remark();
        let values: Vec<String> = self.values().iter().map(|a| output::answer(a, false)).collect();
        let names: Vec<&str> = self.p.inputs().iter().map(|i| &*i.name).collect();
        let scalar = |a: &Answer| a.near.shape().is_scalar();
        let kinks = output::count(self.kinks());
        if let ([value], [derivative]) = (&values[..], self.derivatives(0))
            && scalar(derivative)
        {
            let derivative = output::answer(derivative, false);
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
                    rows.add(&format!("{indent}{name}"), &output::answer(derivative, false));
                }
            }
            self.meaning.lines(&mut rows, &names, 0);
            self.places(&mut rows, &kinks, kinks.len());
        }
        self.meaning.report(&mut rows, self.p);
        if let Some(because) = &self.done.float_because {
            rows.add("arithmetic", &format!("f64 ({because})"));
        }
        rows.add("cost", &self.cost());
        rows.text()
    }

    /// The kinks that were met, one line for each place.
    fn places(&self, rows: &mut Rows, kinks: &str, width: usize) {
        let met = &self.done.met;
        for (i, line) in output::columns(&ties::lines(met), &[]).lines().enumerate() {
            let (label, kinks) = if i == 0 { ("kinks", kinks) } else { ("", "") };
            rows.add(label, &format!("{kinks:<width$}  {line}"));
        }
        if let Some(others) = ties::others(met) {
            rows.add("", &format!("{:<width$}  {others}", ""));
        }
    }

    fn cost(&self) -> String {
        let Costs { program, counted, theorem } = &self.costs;
        let mut out = format!("P {} · {} {} counted", output::price(program), self.word, output::price(counted));
        if let Some(theorem) = theorem {
            let model = theorem.model.at(&Prices::unit());
            out.push_str(&format!(", {} by Theorem 2", output::price(&model)));
            if let Some(ratio) = model.checked_div(program) {
                let bound =
                    theorem.omega.as_ref().map_or("no bound".into(), |o| format!("bound {} x", output::ratio(o)));
                out.push_str(&format!(" ({} x, {bound})", output::ratio(&ratio)));
            }
        }
        out
    }

    fn json(&self) -> Value {
        let by_input = |k: usize, show: &dyn Fn(&Answer) -> Option<Value>| -> Option<Value> {
            let shown = self.derivatives(k).iter().map(show).collect::<Option<Vec<_>>>()?;
            Some(output::object(self.p.inputs().iter().map(|i| &*i.name).zip(shown)))
        };
        let all = |show: &dyn Fn(&Answer) -> Option<Value>| -> Option<(Value, Value)> {
            let values = self.values().iter().map(show).collect::<Option<Vec<_>>>()?;
            let derivatives = (0..values.len()).map(|k| by_input(k, show)).collect::<Option<Vec<_>>>()?;
            Some((output::one_or_list(values), output::one_or_list(derivatives)))
        };
        let field = if self.jacobian { "jacobian" } else { "gradient" };
        let mut members: Vec<(&str, Value)> = Vec::new();
        if let Some((value, derivative)) = all(&|a| Some(output::near(a))) {
            members.extend([("value", value), (field, derivative)]);
        }
        let kind = match () {
            () if self.is_derivative() => field,
            () if self.meaning.jumps() || self.only == Some(false) => "none",
            () if self.meaning.is_refused() => "undecided",
            () => "conservative",
        };
        members.extend([("kind", kind.into()), ("kinks", self.kinks().into()), ("certain", self.done.certain.into())]);
        members.push(("arithmetic", self.done.arithmetic().into()));
        if let Some((value, derivative)) = all(&output::fractions) {
            members.push(("exact", output::object([("value", value), (field, derivative)])));
        }
        let met = self.done.met.iter().map(|m| {
            output::object([
                ("operation", m.operation.into()),
                ("place", output::origin(m.site.origin.as_ref())),
                ("text", m.site.text().into()),
                ("elements", m.elements.into()),
            ])
        });
        members.push(("met", met.collect()));
        let names: Vec<&str> = self.p.inputs().iter().map(|i| &*i.name).collect();
        members.extend(self.meaning.json(&names, self.p));
        let conventions = ties::conventions(self.p, &self.done.met, &self.how.selection);
        members.push(("conventions", conventions.into()));
        members.push(("cost", self.json_cost()));
        output::object(members)
    }

    fn json_cost(&self) -> Value {
        let Costs { program, counted, theorem } = &self.costs;
        let mut members = vec![("program", output::number(program)), ("counted", output::number(counted))];
        if let Some(theorem) = theorem {
            members.push(("model", output::number(&theorem.model.at(&Prices::unit()))));
            members.push(("omega", theorem.omega.as_ref().map_or(Value::Null, output::number)));
        }
        output::object(members)
    }
}
