//! The same program at many points: `--points` of `eval` and `grad`, one line for each point.
//!
//! What an answer is, is told from the kinks that were met there and no more; the oracles are asked at one point at a time.

use crate::arithmetic::{Answer, Computed};
use crate::output;
use crate::vectors::Vectors;
use anyhow::Result;
use clap::Args;
use crease_core::Program;
use serde_json::Value;
use std::rc::Rc;

/// The flag that names a file of points.
#[derive(Args)]
pub struct PointsArgs {
    /// A file of many points: a JSON list such as [{"x": 0}, {"x": 1}] or [[0, 1], [2, 3]], or an NPY file with one in each row
    #[arg(long, value_name = "FILE", conflicts_with = "at")]
    points: Option<String>,
}

impl PointsArgs {
    /// Reads the file, if there is one.
    pub fn read(&self) -> Result<Option<Rc<Vectors>>> {
        self.points.as_deref().map(|path| Vectors::read_points(path).map(Rc::new)).transpose()
    }
}

/// The outputs, one line for each point.
pub fn values(all: &[Computed]) -> String {
    let line =
        |done: &Computed| done.outputs.iter().map(|a| output::answer(a, true)).collect::<Vec<_>>().join("  ") + "\n";
    all.iter().map(line).collect()
}

/// The outputs as JSON, each a list with one member for each point.
pub fn values_json(all: &[Computed]) -> Value {
    let outputs = all.first().map_or(0, |done| done.outputs.len());
    let shown = |show: &dyn Fn(&Answer) -> Option<Value>| {
        let lists = (0..outputs).map(|k| column(all, k, show)).collect::<Option<Vec<_>>>();
        lists.map(output::one_or_list)
    };
    let mut members = vec![("points", all.len().into())];
    members.extend(shown(&|a| Some(output::near(a))).map(|value| ("value", value)));
    members.push(("arithmetic", arithmetic(all).into()));
    members.extend(shown(&output::fractions).map(|value| ("exact", output::object([("value", value)]))));
    output::object(members)
}

/// Value, derivatives and what they are, one line for each point.
pub fn gradients(p: &Program, all: &[Computed]) -> String {
    let names = p.inputs().iter().map(|i| i.name.to_string());
    let head = ["value".to_string()].into_iter().chain(names).chain(["".into()]).collect();
    let line = |done: &Computed| {
        let numbers = done.outputs.iter().map(|a| output::answer(a, false));
        let what = match (kinks(done), done.certain) {
            (0, true) => "the gradient".into(),
            (0, false) => "no kink was met, in f64".into(),
            (1, _) => "1 kink".into(),
            (n, _) => format!("{} kinks", output::count(n)),
        };
        numbers.chain([what]).collect()
    };
    let rows: Vec<Vec<String>> = [head].into_iter().chain(all.iter().map(line)).collect();
    output::columns(&rows, &[])
}

/// The same as JSON: lists with one member for each point.
pub fn gradients_json(p: &Program, all: &[Computed]) -> Value {
    let shown = |show: &dyn Fn(&Answer) -> Option<Value>| {
        let value = column(all, 0, show)?;
        let parts: Option<Vec<Value>> = (0..p.inputs().len()).map(|i| column(all, i + 1, show)).collect();
        Some([("value", value), ("gradient", output::object(p.inputs().iter().map(|i| &*i.name).zip(parts?)))])
    };
    let kind = |done: &Computed| if done.met.is_empty() && done.certain { "gradient" } else { "conservative" };
    let mut members = vec![("points", all.len().into())];
    members.extend(shown(&|a| Some(output::near(a))).into_iter().flatten());
    members.push(("kind", all.iter().map(kind).collect()));
    members.push(("kinks", all.iter().map(kinks).collect()));
    members.push(("certain", all.iter().map(|done| done.certain).collect()));
    members.push(("arithmetic", arithmetic(all).into()));
    members.extend(shown(&output::fractions).map(|exact| ("exact", output::object(exact))));
    output::object(members)
}

/// Output number `k` at all points.
fn column(all: &[Computed], k: usize, show: &dyn Fn(&Answer) -> Option<Value>) -> Option<Value> {
    all.iter().map(|done| show(&done.outputs[k])).collect()
}

fn kinks(done: &Computed) -> usize {
    done.met.iter().map(|m| m.elements).sum()
}

/// All points are computed in one kind of numbers.
fn arithmetic(all: &[Computed]) -> &'static str {
    all.first().map_or("exact", Computed::arithmetic)
}
