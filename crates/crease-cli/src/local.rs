//! The local model of a program at a point, and what the commands that ask it have in common: vectors over the inputs, the kinks
//! that are active, and whether all of it is exact.

use crate::arithmetic::Answer;
use crate::fault;
use crate::output;
use crate::rows::Rows;
use crate::source::{Source, SourceArgs};
use anyhow::{Result, bail};
use clap::Args;
use crease_core::local::{ActiveKink, Exactness, LocalError, LocalModel, Precision, localize_within};
use crease_core::number::Mixed;
use crease_core::{Number, Rational, Shape, Site, Tensor};
use crease_oracles::{AskError, OracleError, accurate};
use serde_json::Value;
use std::collections::HashMap;

/// The most kinks that text shows.
pub const SHOWN: usize = 12;

/// How precisely numbers are enclosed that have no exact value.
#[derive(Args)]
pub struct PrecisionArgs {
    /// Enclose numbers that have no exact value with up to so many bits, where fewer cannot tell
    #[arg(long = "max-bits", value_name = "N", default_value_t = Precision::default().limit, value_parser = clap::value_parser!(u32).range(16..=1_000_000))]
    limit: u32,
}

impl PrecisionArgs {
    pub fn read(&self) -> Precision {
        Precision { bits: Precision::default().bits.min(self.limit), limit: self.limit }
    }
}

/// A program at a point.
pub struct Local {
    pub source: Source,
    pub model: LocalModel,
}

impl Local {
    /// Reads what the flags name and localizes it.
    pub fn load(args: &SourceArgs, precision: &PrecisionArgs) -> Result<Self> {
        Local::load_within(args, precision.read())
    }

    /// The same at a precision that is given.
    pub fn load_within(args: &SourceArgs, precision: Precision) -> Result<Self> {
        let source = args.load()?;
        let model = localize_within(&source.program, &source.inputs()?, precision);
        Ok(Local { model: model.map_err(|e| refused(e))?, source })
    }

    /// The same, unless enclosures cannot tell which branch is taken: then the reason why it is not known, and the bits.
    pub fn load_decided(args: &SourceArgs, precision: &PrecisionArgs) -> Result<Result<Self, (String, u32)>> {
        let source = args.load()?;
        match localize_within(&source.program, &source.inputs()?, precision.read()) {
            Ok(model) => Ok(Ok(Local { model, source })),
            Err(LocalError::Undecided { site, what, bits }) => {
                Ok(Err((format!("{what}, in {}, with {bits} bits", site.text()), bits)))
            }
            Err(e) => Err(refused(e)),
        }
    }

    /// Asks a question of the model, and of one with more bits as long as the answer, and the values beside it, could be better.
    pub fn ask<T>(&mut self, mut question: impl FnMut(&LocalModel) -> Result<(T, bool), OracleError>) -> Result<T> {
        let again = |model: &LocalModel| -> Result<(T, bool), OracleError> {
            let (answer, open) = question(model)?;
            let values = model.values().iter().flat_map(|t| t.data());
            Ok((answer, open || !accurate(model.precision().bits, values)))
        };
        let inputs = self.source.inputs()?;
        match crease_oracles::ask_model(&mut self.model, &self.source.program, &inputs, again) {
            Ok(answer) => Ok(answer),
            Err(AskError::Local(e)) => Err(refused(e)),
            Err(AskError::Oracle(e)) => Err(e.into()),
        }
    }

    /// The one scalar output that a question is about: its number among the outputs, and among their elements.
    pub fn scalar_output(&self, what: &str, asked: Option<usize>) -> Result<(usize, usize)> {
        let (shapes, name) = (self.model.output_shapes(), self.source.program.name());
        let k = match (asked, shapes) {
            (Some(k), _) if k >= shapes.len() => {
                let count = if shapes.len() == 1 { "1 output".into() } else { format!("{} outputs", shapes.len()) };
                bail!("there is no output {k}: `{name}` has {count}, counted from 0")
            }
            (Some(k), _) => k,
            (None, [_]) => 0,
            (None, _) => bail!(
                "{what} is that of one scalar output, but `{name}` returns {} outputs; pick one with --output 0",
                shapes.len()
            ),
        };
        if !shapes[k].is_scalar() {
            bail!(
                "{what} is that of one scalar output, but `{name}` returns a tensor of shape {}; return one element of it",
                shapes[k]
            );
        }
        Ok((k, shapes[..k].iter().map(Shape::len).sum()))
    }

    /// The names of the inputs.
    pub fn names(&self) -> Vec<&str> {
        self.source.program.inputs().iter().map(|i| &*i.name).collect()
    }

    /// A vector, input by input; with how far it may be off, if it is not exact.
    pub fn by_input(&self, vector: &[Rational], radius: Option<&[Rational]>) -> Vec<Answer> {
        by_input(&self.model, vector, radius)
    }

    /// The values of the outputs.
    pub fn values(&self) -> Vec<Answer> {
        self.model.values().iter().map(|t| known(t.shape().clone(), t.data())).collect()
    }

    /// Active kinks, one line for each place, each with further cells; lines that differ in nothing are one.
    pub fn kinks<'m>(&'m self, lines: impl IntoIterator<Item = (&'m ActiveKink, Vec<String>)>) -> Vec<Vec<String>> {
        grouped(lines)
    }

    /// Whether the answer is exact, and if it is not, how it is known.
    pub fn exactness(&self, rows: &mut Rows) {
        rows.add("arithmetic", &arithmetic(&self.model));
    }

    /// The same as members of a JSON object.
    pub fn json_exactness(&self) -> Vec<(&'static str, Value)> {
        json_exactness(&self.model)
    }

    /// A vector as a JSON object by inputs, in numbers.
    pub fn json(&self, vector: &[Rational]) -> Value {
        output::object(self.names().into_iter().zip(self.by_input(vector, None).iter().map(output::near)))
    }

    /// How far a vector may be off, as a member of a JSON object, if it is not exact.
    pub fn json_radius(&self, radius: Option<&[Rational]>) -> Option<(&'static str, Value)> {
        let upward: Vec<Rational> =
            radius?.iter().filter_map(|r| Rational::from_f64(above(r)).or(Some(r.clone()))).collect();
        Some(("radius", self.json(&upward)))
    }

    /// The same in strings such as "1/3", if it is exact.
    pub fn json_exact(&self, vector: &[Rational], radius: Option<&[Rational]>) -> Option<Value> {
        if radius.is_some() {
            return None;
        }
        let parts = self.by_input(vector, None);
        let shown = parts.iter().map(output::fractions).collect::<Option<Vec<_>>>()?;
        Some(output::object(self.names().into_iter().zip(shown)))
    }

    /// An active kink as a JSON object, with further members.
    pub fn json_kink(&self, kink: &ActiveKink, more: Vec<(&'static str, Value)>) -> Value {
        let members = [("operation", kink.operation.into())].into_iter().chain(located(&kink.site));
        output::object(members.chain(more))
    }
}

/// A result of this shape; with how far it may be off, if it is not exact.
pub fn answer(shape: Shape, data: &[Rational], radius: Option<&[Rational]>) -> Answer {
    // the callers cut vectors by the shapes of inputs
    let tensor = |data: &[Rational]| Tensor::new(shape.clone(), data.to_vec());
    let t = tensor(data).unwrap_or_else(|| Tensor::scalar(Rational::ZERO));
    match radius {
        None => Answer::exact(t),
        Some(radius) => {
            Answer { near: t.map(Rational::to_f64), exact: None, radius: tensor(radius).map(|r| r.map(above)) }
        }
    }
}

/// A float that is not below a number.
pub fn above(x: &Rational) -> f64 {
    let near = x.to_f64();
    if Rational::from_f64(near).is_none_or(|n| n >= *x) { near } else { near.next_up() }
}

/// A result of this shape of which exact numbers or enclosures are known.
pub fn known(shape: Shape, data: &[Mixed]) -> Answer {
    if let Some(exact) = data.iter().map(|x| x.exact().cloned()).collect::<Option<Vec<_>>>() {
        return answer(shape, &exact, None);
    }
    let radius = |x: &Mixed| match x.exact() {
        Some(_) => 0.0,
        None => x.enclosure().radius().map_or(f64::INFINITY, |r| above(&r)),
    };
    let near = data.iter().map(Number::to_f64).collect();
    Answer {
        near: Tensor::new(shape.clone(), near).unwrap_or_else(|| Tensor::scalar(f64::NAN)),
        exact: None,
        radius: Tensor::new(shape, data.iter().map(radius).collect()),
    }
}

/// A vector, input by input; with how far it may be off, if it is not exact.
pub fn by_input(model: &LocalModel, vector: &[Rational], radius: Option<&[Rational]>) -> Vec<Answer> {
    let mut start = 0;
    let part = |i: &crease_core::Input| {
        let these = start..start + i.shape.len();
        start = these.end;
        answer(i.shape.clone(), &vector[these.clone()], radius.map(|r| &r[these]))
    };
    model.inputs().iter().map(part).collect()
}

/// A fault of localizing, shown where it stands.
fn refused(e: LocalError) -> anyhow::Error {
    match e {
        LocalError::Run(e) => fault::run(&e, false, None),
        LocalError::Discontinuous { site, why } => {
            let help = Some("at a jump there is no directional derivative");
            fault::at_site(format!("not continuous at this point: {why}"), &site, help)
        }
        LocalError::NoDerivative { site, why } => {
            fault::at_site(format!("no directional derivative here that could be told: {why}"), &site, None)
        }
        LocalError::Singular { site, why } => {
            let help = Some("the function need not be Lipschitz here, and may have no derivative of any kind");
            fault::at_site(format!("singular at this point: {why}"), &site, help)
        }
        LocalError::Undecided { site, what, bits } => {
            let help =
                Some("more bits may tell, with --max-bits; they never can if two equal numbers come about differently");
            fault::at_site(format!("not decided: {what}, with {bits} bits"), &site, help)
        }
        other => other.into(),
    }
}

/// What an operation is called where it has a kink, where it stands, and what stands there.
fn cells(kink: &ActiveKink) -> Vec<String> {
    vec![kink.operation.into(), kink.site.short(), kink.site.text()]
}

fn located(site: &Site) -> [(&'static str, Value); 2] {
    [("place", output::origin(site.origin.as_ref())), ("text", site.text().into())]
}

/// Lines of active kinks: see [`Local::kinks`].
pub fn grouped<'m>(lines: impl IntoIterator<Item = (&'m ActiveKink, Vec<String>)>) -> Vec<Vec<String>> {
    let mut index: HashMap<(usize, &str, Vec<String>), usize> = HashMap::new();
    let mut out: Vec<(&ActiveKink, Vec<String>, usize)> = Vec::new();
    for (kink, more) in lines {
        let next = out.len();
        let i = *index.entry((kink.site.equation, kink.operation, more.clone())).or_insert(next);
        match out.get_mut(i) {
            Some((_, _, elements)) => *elements += 1,
            None => out.push((kink, more, 1)),
        }
    }
    let line = |(kink, more, elements): &(&ActiveKink, Vec<String>, usize)| {
        let many = if *elements == 1 { String::new() } else { format!("{} elements", output::count(elements)) };
        [cells(kink), more.clone(), vec![many]].concat()
    };
    let mut rows: Vec<Vec<String>> = out.iter().take(SHOWN).map(line).collect();
    if out.len() > SHOWN {
        rows.push(vec!["…".into(), String::new(), format!("and {} more", output::count(out.len() - SHOWN))]);
    }
    rows
}

/// The answer to a question where enclosures cannot tell; in JSON, with an empty list of what it would be shown by.
pub fn undecided(question: &str, shown_by: &str, why: &str, bits: u32, json: bool) -> String {
    if json {
        return output::json(&output::object([
            ("verdict", Value::from("unknown")),
            (shown_by, Value::Array(Vec::new())),
            ("limit", why.into()),
            ("bits", bits.into()),
            ("certain", false.into()),
        ]));
    }
    let mut rows = Rows::default();
    rows.add(question, &format!("unknown: {why}"));
    rows.text()
}

/// How exact a model is, in words.
pub fn arithmetic(model: &LocalModel) -> String {
    match model.exactness() {
        Exactness::Exact => "exact".into(),
        Exactness::Enclosed { bits } => format!("certain enclosures of {bits} bits, where there is no exact value"),
    }
}

/// The members of a JSON object that say how exact a model is.
pub fn json_exactness(model: &LocalModel) -> Vec<(&'static str, Value)> {
    match model.exactness() {
        Exactness::Exact => vec![("arithmetic", "exact".into()), ("certain", true.into())],
        Exactness::Enclosed { bits } => {
            vec![("arithmetic", "enclosures".into()), ("certain", true.into()), ("bits", bits.into())]
        }
    }
}

/// The weights of the members of a kink in words.
pub fn choice(kink: &ActiveKink, weights: &[Rational]) -> String {
    let sides = matches!(kink.operation, "relu" | "times_relu" | "abs" | "leaky_relu" | "elu" | "norm1");
    match (weights.iter().position(Rational::is_one), sides && weights.len() == 2) {
        (Some(0), true) => "left".into(),
        (Some(_), true) => "right".into(),
        (Some(k), false) => format!("{} of {}", ordinal(k + 1), weights.len()),
        (None, _) if weights.len() <= 4 => weights.iter().map(output::exact).collect::<Vec<_>>().join(" : "),
        (None, _) => match weights.iter().filter(|w| !w.is_zero()).collect::<Vec<_>>()[..] {
            [first, ref rest @ ..] if rest.iter().all(|w| w == &first) => {
                format!("{} of {} equally", rest.len() + 1, weights.len())
            }
            _ => format!("a mixture of {}", weights.len()),
        },
    }
}

/// 1st, 2nd, 3rd, 4th and so on.
pub fn ordinal(n: usize) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals() {
        assert_eq!(
            [1, 2, 3, 4, 11, 12, 21, 103, 112].map(ordinal).join(" "),
            "1st 2nd 3rd 4th 11th 12th 21st 103rd 112th"
        );
    }
}
