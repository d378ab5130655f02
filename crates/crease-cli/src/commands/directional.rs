//! `crease directional`: F'(x; d) at kinks too, exactly. Section 5.1.

use crate::along;
use crate::local::{self, Local};
use crate::output;
use crate::rows::Rows;
use crate::source::SourceArgs;
use anyhow::Result;
use clap::Args;
use crease_core::Rational;
use crease_oracles::directional_batch;
use serde_json::Value;

/// Directional derivatives at a point, at kinks too
///
/// The derivative of F along d is the limit of (F(x + t d) - F(x)) / t as t > 0 goes to 0. It exists at kinks, it is not linear in
/// d there, and no selection plays a part in it. Names that --along leaves out are 0. With --show the map from d to the derivative
/// is printed as a program, to be costed and drawn like any other.
#[derive(Args)]
#[command(after_help = "Examples:
  crease directional -e 'abs(x)' --at x=0 --along x=-1 --along x=1
  crease directional -e 'max(x, y), x * y' --at x=1,y=1 --along x=1,y=-1 --json
  crease directional -e 'abs(x) + exp(x)' --at x=0 --show > local.crease")]
pub struct Directional {
    #[command(flatten)]
    source: SourceArgs,

    /// A direction, such as x=1,y=-1, or a .json or .npy file; names left out are 0; may be repeated
    #[arg(long, value_name = "DIRECTION", required_unless_present = "show", allow_hyphen_values = true)]
    along: Vec<String>,

    /// Print the local model as a program, from directions to derivatives
    #[arg(long, conflicts_with_all = ["along", "json"])]
    show: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Directional {
    pub fn run(&self) -> Result<String> {
        let at = Local::load(&self.source)?;
        if self.show {
            return Ok(at.model.program()?.to_string());
        }
        let directions =
            self.along.iter().map(|d| along::vector("--along", d, &at.source)).collect::<Result<Vec<_>>>()?;
        let derivatives = directional_batch(&at.model, &directions)?;
        Ok(if self.json { output::json(&json(&at, &derivatives)) } else { text(&at, &directions, &derivatives) })
    }
}

/// The elements of all outputs, output by output.
fn by_output(at: &Local, elements: &[Rational]) -> Vec<crate::arithmetic::Answer> {
    let mut rest = elements;
    let part = |shape: &crease_core::Shape| {
        let (these, others) = rest.split_at(shape.len());
        rest = others;
        local::answer(shape.clone(), these, at.model.is_exact())
    };
    at.model.output_shapes().iter().map(part).collect()
}

fn text(at: &Local, directions: &[Vec<Rational>], derivatives: &[Vec<Rational>]) -> String {
    let mut rows = Rows::default();
    let values: Vec<String> = at.values().iter().map(|a| output::answer(a, false)).collect();
    rows.add("value", &values.join(", "));
    let lines: Vec<Vec<String>> = directions
        .iter()
        .zip(derivatives)
        .map(|(d, derivative)| {
            let parts = by_output(at, derivative);
            let shown: Vec<String> = parts.iter().map(|a| output::answer(a, false)).collect();
            vec![along::shown(d, &at.source, true), shown.join(", ")]
        })
        .collect();
    for line in output::columns(&lines, &[]).lines() {
        rows.add("along", line);
    }
    let kinks = at.kinks(at.model.kinks().iter().map(|k| (k, Vec::new())));
    rows.block("kinks", &output::columns(&kinks, &[]));
    at.exactness(&mut rows);
    rows.text()
}

fn json(at: &Local, derivatives: &[Vec<Rational>]) -> Value {
    let near = |d: &Vec<Rational>| output::one_or_list(by_output(at, d).iter().map(output::near).collect());
    let mut members = vec![("derivatives", derivatives.iter().map(near).collect())];
    members.push(("kinks", at.model.kinks().len().into()));
    members.extend(at.json_exactness());
    let exact = |d: &Vec<Rational>| {
        let parts: Option<Vec<Value>> = by_output(at, d).iter().map(output::fractions).collect();
        parts.map(output::one_or_list)
    };
    if let Some(exact) = derivatives.iter().map(exact).collect::<Option<Value>>() {
        members.push(("exact", output::object([("derivatives", exact)])));
    }
    output::object(members)
}
