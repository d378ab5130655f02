//! The local model of a program at a point, and what the commands that ask it have in common: vectors over the inputs, the kinks
//! that are active, and whether all of it is exact.

use crate::arithmetic::Answer;
use crate::fault;
use crate::output;
use crate::places::Places;
use crate::rows::Rows;
use crate::source::{Source, SourceArgs};
use anyhow::{Result, bail};
use crease_core::local::{ActiveKink, Exactness, LocalError, LocalModel, localize};
use crease_core::{Number, Rational, Shape, Site, Tensor};
use serde_json::Value;
use std::collections::HashMap;

/// The most kinks that text shows.
pub const SHOWN: usize = 12;

/// A program at a point.
pub struct Local {
    pub source: Source,
    pub model: LocalModel,
}

impl Local {
    /// Reads what the flags name and localizes it.
    pub fn load(args: &SourceArgs) -> Result<Self> {
        let source = args.load()?;
        let model = localize(&source.program, &source.inputs()?).map_err(|e| refused(e, &source))?;
        Ok(Local { source, model })
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

    /// A vector, input by input.
    pub fn by_input(&self, vector: &[Rational]) -> Vec<Answer> {
        by_input(&self.model, vector, self.model.is_exact())
    }

    /// The values of the outputs.
    pub fn values(&self) -> Vec<Answer> {
        let value = |t: &Tensor<crease_core::number::Mixed>| {
            let exact: Option<Vec<Rational>> = t.data().iter().map(|x| x.exact().cloned()).collect();
            Answer { near: t.map(Number::to_f64), exact: exact.and_then(|data| Tensor::new(t.shape().clone(), data)) }
        };
        self.model.values().iter().map(value).collect()
    }

    /// Active kinks, one line for each place, each with further cells; lines that differ in nothing are one.
    pub fn kinks<'m>(&'m self, lines: impl IntoIterator<Item = (&'m ActiveKink, Vec<String>)>) -> Vec<Vec<String>> {
        grouped(&self.places(), lines)
    }

    /// Whether the answer is exact, and if it is not, what could not be decided.
    pub fn exactness(&self, rows: &mut Rows) {
        exactness(&self.model, &self.places(), rows);
    }

    /// The same as members of a JSON object.
    pub fn json_exactness(&self) -> Vec<(&'static str, Value)> {
        json_exactness(&self.model, &self.places())
    }

    /// A vector as a JSON object by inputs, in numbers.
    pub fn json(&self, vector: &[Rational]) -> Value {
        output::object(self.names().into_iter().zip(self.by_input(vector).iter().map(output::near)))
    }

    /// The same in strings such as "1/3", if it is exact.
    pub fn json_exact(&self, vector: &[Rational]) -> Option<Value> {
        let parts = self.by_input(vector);
        let shown = parts.iter().map(output::fractions).collect::<Option<Vec<_>>>()?;
        Some(output::object(self.names().into_iter().zip(shown)))
    }

    /// An active kink as a JSON object, with further members.
    pub fn json_kink(&self, kink: &ActiveKink, places: &Places<'_>, more: Vec<(&'static str, Value)>) -> Value {
        let members = [("operation", kink.operation.into())].into_iter().chain(located(&kink.site, places));
        output::object(members.chain(more))
    }

    /// The text with its lines.
    pub fn places(&self) -> Places<'_> {
        Places::new(&self.source.text)
    }
}

/// A result of this shape.
pub fn answer(shape: Shape, data: &[Rational], exact: bool) -> Answer {
    // the callers cut vectors by the shapes of inputs
    let t = Tensor::new(shape, data.to_vec()).unwrap_or_else(|| Tensor::scalar(Rational::ZERO));
    Answer { near: t.map(Rational::to_f64), exact: exact.then_some(t) }
}

/// A vector, input by input.
pub fn by_input(model: &LocalModel, vector: &[Rational], exact: bool) -> Vec<Answer> {
    let mut rest = vector;
    let part = |i: &crease_core::Input| {
        let (these, others) = rest.split_at(i.shape.len());
        rest = others;
        answer(i.shape.clone(), these, exact)
    };
    model.inputs().iter().map(part).collect()
}

/// A fault of localizing, shown where it stands.
fn refused(e: LocalError, source: &Source) -> anyhow::Error {
    match e {
        LocalError::Run(e) => fault::run(&e, false, None, source),
        LocalError::Discontinuous { site, why } => {
            let help = Some("at a jump there is no directional derivative");
            fault::at_site(format!("not continuous at this point: {why}"), &site, help, source)
        }
        LocalError::NoDerivative { site, why } => {
            fault::at_site(format!("no directional derivative here that could be told: {why}"), &site, None, source)
        }
        other => other.into(),
    }
}

/// What an operation is called where it has a kink, where it stands, and what stands there.
fn cells(kink: &ActiveKink, places: &Places<'_>) -> Vec<String> {
    let at = kink.site.place.map(|p| places.line_and_column(p)).map(|(l, c)| format!("{l}:{c}"));
    vec![kink.operation.into(), at.unwrap_or_default(), text(&kink.site, places)]
}

/// What to show of an equation: the text where it came from, or itself.
pub fn text(site: &Site, places: &Places<'_>) -> String {
    site.place.map_or_else(|| site.shown.clone(), |p| places.piece(p))
}

fn located(site: &Site, places: &Places<'_>) -> [(&'static str, Value); 2] {
    let place = site.place.map_or(Value::Null, |p| output::place(places, p));
    [("place", place), ("text", text(site, places).into())]
}

/// Lines of active kinks: see [`Local::kinks`].
pub fn grouped<'m>(
    places: &Places<'_>,
    lines: impl IntoIterator<Item = (&'m ActiveKink, Vec<String>)>,
) -> Vec<Vec<String>> {
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
        [cells(kink, places), more.clone(), vec![many]].concat()
    };
    let mut rows: Vec<Vec<String>> = out.iter().take(SHOWN).map(line).collect();
    if out.len() > SHOWN {
        rows.push(vec!["…".into(), String::new(), format!("and {} more", output::count(out.len() - SHOWN))]);
    }
    rows
}

/// Whether a model is exact, in words; what is undecided, place by place.
fn exactness(model: &LocalModel, places: &Places<'_>, rows: &mut Rows) {
    let Exactness::Approximate { undecided } = model.exactness() else {
        return rows.add("arithmetic", "exact");
    };
    rows.add("arithmetic", &format!("f64 ({})", approximate(undecided)));
    let mut lines: Vec<Vec<String>> = Vec::new();
    for site in undecided {
        let at = site.place.map(|p| places.line_and_column(p)).map(|(l, c)| format!("{l}:{c}"));
        let line = vec![at.unwrap_or_default(), text(site, places)];
        if !lines.contains(&line) && lines.len() <= SHOWN {
            lines.push(line);
        }
    }
    if lines.len() > SHOWN {
        lines[SHOWN] = vec!["…".into(), "and more".into()];
    }
    rows.block("undecided", &output::columns(&lines, &[]));
}

/// What is not exact about an approximate model.
pub fn approximate(undecided: &[Site]) -> String {
    let open = match undecided.len() {
        0 => return "coefficients are rounded; every tie is certain".into(),
        1 => "1 tie".into(),
        n => format!("{} ties", output::count(n)),
    };
    format!("coefficients are rounded; {open} could be neither proved nor refuted, and floats decided")
}

/// The members of a JSON object that say how exact a model is.
pub fn json_exactness(model: &LocalModel, places: &Places<'_>) -> Vec<(&'static str, Value)> {
    match model.exactness() {
        Exactness::Exact => vec![("arithmetic", "exact".into()), ("certain", true.into())],
        Exactness::Approximate { undecided } => {
            let open = undecided.iter().map(|site| output::object(located(site, places)));
            vec![("arithmetic", "f64".into()), ("certain", undecided.is_empty().into()), ("undecided", open.collect())]
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
