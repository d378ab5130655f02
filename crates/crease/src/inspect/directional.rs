//! Directional derivatives, at kinks too, exactly. Section 5.1 of the paper.

use super::at::{At, known, vector};
use super::compiled;
use super::numbers::{Answer, Computed, FloatBecause, Numbers, Task, nearest};
use super::ties;
use super::{Ask, Coordinates, InspectError};
use crate::show::{self, Rows};
use crease_core::number::Mixed;
use crease_core::{Program, Rational, Shape, Tensor};
use crease_oracles::{OracleError, accurate};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// Derivatives along directions. They display as the text of `crease directional`, and serialize as its JSON.
///
/// ```
/// use crease::inspect::{directional, Ask};
/// let p = crease::trace(1, |x| crease::abs(x[0]))?;
/// let along = ["1", "-2"].map(|d| vec![d.parse().unwrap()]);
/// let answer = directional(&p, &[0.0], &along, &Ask::default())?;
/// assert!(serde_json::to_string(&answer)?.starts_with(r#"{"derivatives":[1,2]"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Directional<'p> {
    how: How<'p>,
    directions: Vec<Vec<Rational>>,
}

#[derive(Debug)]
enum How<'p> {
    /// By the local model.
    Model { at: Box<At<'p>>, derivatives: Vec<Vec<Mixed>> },
    /// In f64, compiled.
    Floats { program: &'p Program, done: Computed, derivatives: Vec<Vec<Answer>> },
}

/// The derivatives of all outputs of a program along directions: by the local model, or with [`Numbers::Float`] in f64, compiled, where
/// that can be done.
pub fn directional<'p>(
    program: &'p Program,
    point: &(impl Coordinates + ?Sized),
    directions: &[Vec<Rational>],
    ask: &Ask<'_>,
) -> Result<Directional<'p>, InspectError> {
    let ask = &ask.started();
    let directions = directions.to_vec();
    if ask.numbers == Numbers::Float
        && let Some(how) = in_floats(program, &point.inputs(program)?, &directions, ask)?
    {
        return Ok(Directional { how, directions });
    }
    let mut at = At::new(program, point, ask)?;
    let derivatives = at.ask(|session| {
        let model = session.model();
        let wrong = |d: &[Rational]| OracleError::Dimension { expected: model.dimension(), got: d.len() };
        let along = |d: &Vec<Rational>| {
            let along = model.along_within(d, &ask.limits).map_err(OracleError::Stopped)?;
            along.ok_or_else(|| wrong(d))
        };
        let all = directions.iter().map(along).collect::<Result<Vec<_>, _>>()?;
        let close = accurate(model.precision().bits, all.iter().flatten());
        Ok((all, !close))
    })?;
    Ok(Directional { how: How::Model { at: Box::new(at), derivatives }, directions })
}

/// The answer in f64; nothing if that is for the local model to give.
fn in_floats<'p>(
    p: &'p Program,
    point: &[Tensor<Rational>],
    directions: &[Vec<Rational>],
    ask: &Ask<'_>,
) -> Result<Option<How<'p>>, InspectError> {
    let near: Vec<Vec<f64>> = directions.iter().map(|d| d.iter().map(Rational::to_f64).collect()).collect();
    let Some(found) = compiled::directional_derivatives(p, &nearest(point), &near, &ask.limits) else {
        return Ok(None);
    };
    let done = Task { program: p, watched: Some(p) }.compute(point, Numbers::Float, &ask.limits)?;
    // where branches meet, or conditions are numbers, whether there is a derivative at all is for the model to say
    if done.met.iter().any(|m| m.border || m.jump || matches!(m.operation, "select" | "and" | "or" | "not")) {
        return Ok(None);
    }
    let by_output = |elements: &Vec<f64>| -> Vec<Answer> {
        let mut rest = &elements[..];
        let part = |a: &Answer| {
            let (these, others) = rest.split_at(a.near.shape().len());
            rest = others;
            Some(Answer::float(Tensor::new(a.near.shape().clone(), these.to_vec())?))
        };
        done.outputs.iter().filter_map(part).collect()
    };
    let derivatives = found.iter().map(by_output).collect();
    Ok(Some(How::Floats { program: p, done, derivatives }))
}

impl Directional<'_> {
    fn text(&self) -> String {
        match &self.how {
            How::Model { at, derivatives } => text(at, &self.directions, derivatives),
            How::Floats { program, done, derivatives } => {
                let mut rows = Rows::default();
                rows.add("value", &shown(&done.outputs));
                let line = |(d, parts): (&Vec<Rational>, &Vec<Answer>)| vec![vector(program, d, None), shown(parts)];
                let lines: Vec<Vec<String>> = self.directions.iter().zip(derivatives).map(line).collect();
                show::columns(&lines, &[]).lines().for_each(|line| rows.add("along", line));
                rows.block("kinks", &show::columns(&ties::lines(&done.met), &[]));
                ties::others(&done.met).iter().for_each(|others| rows.add("", others));
                let certain = if done.decided { "every tie is certain" } else { "ties were decided on rounded values" };
                rows.add("arithmetic", &format!("f64 ({}; {certain})", FloatBecause::Asked));
                rows.text()
            }
        }
    }

    fn json(&self) -> Value {
        match &self.how {
            How::Model { at, derivatives } => json(at, derivatives),
            How::Floats { done, derivatives, .. } => {
                let near = |parts: &Vec<Answer>| show::one_or_list(parts.iter().map(show::near).collect());
                let kinks: usize = done.met.iter().map(|m| m.elements).sum();
                show::object([
                    ("derivatives", derivatives.iter().map(near).collect()),
                    ("kinks", kinks.into()),
                    ("arithmetic", "f64".into()),
                    ("certain", done.decided.into()),
                ])
            }
        }
    }
}

impl fmt::Display for Directional<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Serialize for Directional<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

/// Results beside one another.
fn shown(parts: &[Answer]) -> String {
    parts.iter().map(|a| show::answer(a, false)).collect::<Vec<_>>().join(", ")
}

/// The elements of all outputs, output by output.
fn by_output(at: &At<'_>, elements: &[Mixed]) -> Vec<Answer> {
    let mut rest = elements;
    let part = |shape: &Shape| {
        let (these, others) = rest.split_at(shape.len());
        rest = others;
        known(shape.clone(), these)
    };
    at.model().output_shapes().iter().map(part).collect()
}

fn text(at: &At<'_>, directions: &[Vec<Rational>], derivatives: &[Vec<Mixed>]) -> String {
    let mut rows = Rows::default();
    rows.add("value", &shown(&at.values()));
    let lines: Vec<Vec<String>> = directions
        .iter()
        .zip(derivatives)
        .map(|(d, derivative)| vec![at.shown(d, None), shown(&by_output(at, derivative))])
        .collect();
    for line in show::columns(&lines, &[]).lines() {
        rows.add("along", line);
    }
    let kinks = at.kinks(at.model().kinks().iter().map(|k| (k, Vec::new())));
    rows.block("kinks", &show::columns(&kinks, &[]));
    at.exactness(&mut rows);
    rows.text()
}

fn json(at: &At<'_>, derivatives: &[Vec<Mixed>]) -> Value {
    let near = |d: &Vec<Mixed>| show::one_or_list(by_output(at, d).iter().map(show::near).collect());
    let mut members = vec![("derivatives", derivatives.iter().map(near).collect())];
    members.push(("kinks", at.model().kinks().len().into()));
    members.extend(at.json_exactness());
    let off = |d: &Vec<Mixed>| {
        let parts: Option<Vec<Value>> = by_output(at, d).iter().map(show::radius).collect();
        parts.map(show::one_or_list)
    };
    if let Some(off) = derivatives.iter().map(off).collect::<Option<Value>>().filter(|_| !at.model().is_exact()) {
        members.push(("radius", off));
    }
    let exact = |d: &Vec<Mixed>| {
        let parts: Option<Vec<Value>> = by_output(at, d).iter().map(show::fractions).collect();
        parts.map(show::one_or_list)
    };
    if let Some(exact) = derivatives.iter().map(exact).collect::<Option<Value>>() {
        members.push(("exact", show::object([("derivatives", exact)])));
    }
    show::object(members)
}
