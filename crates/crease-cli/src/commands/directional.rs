//! `crease directional`: F'(x; d) at kinks too, exactly. Section 5.1.

use crate::along;
use crate::arithmetic::{Answer, FloatBecause, NumberArgs, Task, nearest};
use crate::engine;
use crate::local::{self, Local, PrecisionArgs};
use crate::output;
use crate::rows::Rows;
use crate::source::{Source, SourceArgs};
use crate::ties;
use crate::vectors::Vectors;
use anyhow::{Result, bail};
use clap::Args;
use crease_core::number::Mixed;
use crease_core::{Rational, Shape, Tensor};
use crease_oracles::{OracleError, accurate};
use serde_json::Value;

/// Directional derivatives at a point, at kinks too
///
/// The derivative of F along d is the limit of (F(x + t d) - F(x)) / t as t > 0 goes to 0. It exists at kinks, it is not linear in
/// d there, and no selection plays a part in it. Names that --along leaves out are 0. With --show the map from d to the derivative
/// is printed as a program, to be costed and drawn like any other.
///
/// With --float everything is compiled and run in f64, which is much faster for large programs and many directions. Ties are then those
/// that rounded values have; at each of them the derivative is still the one along the direction.
#[derive(Args)]
#[command(after_help = "Examples:
  crease directional -e 'abs(x)' --at x=0 --along x=-1 --along x=1
  crease directional -e 'max(x, y), x * y' --at x=1,y=1 --along x=1,y=-1 --json
  crease directional -e 'abs(x) + exp(x)' --at x=0 --show > local.crease
  crease directional network.crease --at weights.json --directions many.npy --float --json")]
pub struct Directional {
    #[command(flatten)]
    source: SourceArgs,

    /// A direction, such as x=1,y=-1, or a .json or .npy file; names left out are 0; may be repeated
    #[arg(long, value_name = "DIRECTION", required_unless_present_any = ["show", "directions"], allow_hyphen_values = true)]
    along: Vec<String>,

    /// A file of more directions: a JSON list such as [{"x": 1}, {"y": 1}] or [[1, 0], [0, 1]], or an NPY file with one in each row
    #[arg(long, value_name = "FILE")]
    directions: Option<String>,

    #[command(flatten)]
    precision: PrecisionArgs,

    /// Compute in f64, compiled
    #[arg(long, conflicts_with = "show")]
    float: bool,

    /// Print the local model as a program, from directions to derivatives
    #[arg(long, conflicts_with_all = ["along", "directions", "json"])]
    show: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Directional {
    pub fn run(&self) -> Result<String> {
        if self.float
            && let Some(text) = self.in_floats()?
        {
            return Ok(text);
        }
        let mut at = Local::load(&self.source, &self.precision)?;
        if self.show {
            if !at.model.is_exact() {
                bail!("the local model has coefficients without exact values here, so no program says what it is");
            }
            return Ok(at.model.program()?.to_string());
        }
        let directions = self.read(&at.source)?;
        let derivatives = at.ask(|model| {
            let wrong = |d: &[Rational]| OracleError::Dimension { expected: model.dimension(), got: d.len() };
            let along = |d: &Vec<Rational>| model.along(d).ok_or_else(|| wrong(d));
            let all = directions.iter().map(along).collect::<Result<Vec<_>, _>>()?;
            let close = accurate(model.precision().bits, all.iter().flatten());
            Ok((all, !close))
        })?;
        Ok(if self.json { output::json(&json(&at, &derivatives)) } else { text(&at, &directions, &derivatives) })
    }

    fn read(&self, source: &Source) -> Result<Vec<Vec<Rational>>> {
        let mut all = self.along.iter().map(|d| along::vector("--along", d, source)).collect::<Result<Vec<_>>>()?;
        if let Some(path) = &self.directions {
            all.extend(Vectors::read_directions(path)?.directions(source)?);
        }
        Ok(all)
    }

    /// The answer in f64; nothing if that is for the local model to give.
    fn in_floats(&self) -> Result<Option<String>> {
        let source = self.source.load()?;
        let (p, inputs, directions) = (&*source.program, source.inputs()?, self.read(&source)?);
        let near: Vec<Vec<f64>> = directions.iter().map(|d| d.iter().map(Rational::to_f64).collect()).collect();
        let Some(derivatives) = engine::directional_derivatives(p, &nearest(&inputs), &near) else { return Ok(None) };
        let done = Task { program: p, watched: Some(p) }.compute(&inputs, &NumberArgs::FLOAT)?;
        let shapes: Vec<&Shape> = done.outputs.iter().map(|a| a.near.shape()).collect();
        let by_output = |elements: &Vec<f64>| -> Vec<Answer> {
            let mut rest = &elements[..];
            let part = |shape: &&Shape| {
                let (these, others) = rest.split_at(shape.len());
                rest = others;
                Some(Answer::float(Tensor::new((*shape).clone(), these.to_vec())?))
            };
            shapes.iter().filter_map(part).collect()
        };
        let parts = derivatives.iter().map(by_output);
        Ok(Some(if self.json {
            let near = |parts: Vec<Answer>| output::one_or_list(parts.iter().map(output::near).collect());
            let kinks: usize = done.met.iter().map(|m| m.elements).sum();
            output::json(&output::object([
                ("derivatives", parts.map(near).collect()),
                ("kinks", kinks.into()),
                ("arithmetic", "f64".into()),
                ("certain", done.certain.into()),
            ]))
        } else {
            let mut rows = Rows::default();
            rows.add("value", &shown(&done.outputs));
            let line = |(d, parts): (&Vec<Rational>, Vec<Answer>)| vec![along::shown(d, None, &source), shown(&parts)];
            let lines: Vec<Vec<String>> = directions.iter().zip(parts).map(line).collect();
            output::columns(&lines, &[]).lines().for_each(|line| rows.add("along", line));
            rows.block("kinks", &output::columns(&ties::lines(&done.met), &[]));
            ties::others(&done.met).iter().for_each(|others| rows.add("", others));
            let certain = if done.certain { "every tie is certain" } else { "ties were decided on rounded values" };
            rows.add("arithmetic", &format!("f64 ({}; {certain})", FloatBecause::Asked));
            rows.text()
        }))
    }
}

/// The outputs in one line.
fn shown(parts: &[Answer]) -> String {
    parts.iter().map(|a| output::answer(a, false)).collect::<Vec<_>>().join(", ")
}

/// The elements of all outputs, output by output.
fn by_output(at: &Local, elements: &[Mixed]) -> Vec<Answer> {
    let mut rest = elements;
    let part = |shape: &Shape| {
        let (these, others) = rest.split_at(shape.len());
        rest = others;
        local::known(shape.clone(), these)
    };
    at.model.output_shapes().iter().map(part).collect()
}

fn text(at: &Local, directions: &[Vec<Rational>], derivatives: &[Vec<Mixed>]) -> String {
    let mut rows = Rows::default();
    rows.add("value", &shown(&at.values()));
    let lines: Vec<Vec<String>> = directions
        .iter()
        .zip(derivatives)
        .map(|(d, derivative)| vec![along::shown(d, None, &at.source), shown(&by_output(at, derivative))])
        .collect();
    for line in output::columns(&lines, &[]).lines() {
        rows.add("along", line);
    }
    let kinks = at.kinks(at.model.kinks().iter().map(|k| (k, Vec::new())));
    rows.block("kinks", &output::columns(&kinks, &[]));
    at.exactness(&mut rows);
    rows.text()
}

fn json(at: &Local, derivatives: &[Vec<Mixed>]) -> Value {
    let near = |d: &Vec<Mixed>| output::one_or_list(by_output(at, d).iter().map(output::near).collect());
    let mut members = vec![("derivatives", derivatives.iter().map(near).collect())];
    members.push(("kinks", at.model.kinks().len().into()));
    members.extend(at.json_exactness());
    let off = |d: &Vec<Mixed>| {
        let parts: Option<Vec<Value>> = by_output(at, d).iter().map(output::radius).collect();
        parts.map(output::one_or_list)
    };
    if let Some(off) = derivatives.iter().map(off).collect::<Option<Value>>().filter(|_| !at.model.is_exact()) {
        members.push(("radius", off));
    }
    let exact = |d: &Vec<Mixed>| {
        let parts: Option<Vec<Value>> = by_output(at, d).iter().map(output::fractions).collect();
        parts.map(output::one_or_list)
    };
    if let Some(exact) = derivatives.iter().map(exact).collect::<Option<Value>>() {
        members.push(("exact", output::object([("derivatives", exact)])));
    }
    output::object(members)
}
