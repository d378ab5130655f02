//! The same program at many points: `--points` of `eval` and `grad`, one line for each point.
//!
//! What an answer is, is told from the kinks that were met there and no more; the oracles are asked at one point at a time. Points are
//! read, computed and printed in portions, so that what is kept does not grow with their number; only the one object of `--json` is held
//! back, as text, until it is whole.

use crate::fault;
use crate::interrupt::Interrupt;
use crate::source::Source;
use crate::vectors::{Listed, Vectors};
use crate::writer::Writer;
use anyhow::{Result, anyhow};
use clap::Args;
use crease::inspect::{Answer, Ask, AtPoint, Computed, Portions, Task};
use crease::show;
use crease_core::Program;
use crease_core::limits::Stop;
use serde_json::Value;

/// The flag that names a file of points.
#[derive(Args)]
pub struct PointsArgs {
    /// A file of many points: a JSON list such as [{"x": 0}, {"x": 1}] or [[0, 1], [2, 3]], or an NPY file with one in each row
    #[arg(long, value_name = "FILE", conflicts_with = "at")]
    points: Option<String>,
}

impl PointsArgs {
    /// Opens the file, if there is one.
    pub fn read(&self) -> Result<Option<Vectors>> {
        self.points.as_deref().map(Vectors::read_points).transpose()
    }
}

/// The most points that are computed together, and the most numbers that they have.
const PORTION: (usize, usize) = (4096, 1 << 18);

/// Runs a task at all points, and prints what comes out: the outputs, or with `gradient_of` the value of this program and its gradient.
pub fn run(
    task: &Task<'_>,
    gradient_of: Option<&Program>,
    mut points: Vectors,
    ask: &Ask<'_>,
    source: &Source,
    json: bool,
) -> Result<String> {
    let mut report = Report { gradient_of, json, ..Report::default() };
    let interrupt = Interrupt::listen();
    let mut take = |most: usize, some: &mut Vec<Listed>| -> Result<()> {
        while some.len() < most
            && let Some(point) = points.next_point(source)?
        {
            some.push(point);
        }
        Ok(())
    };
    // few points are one portion, in one kind of numbers; so many points that they are not are computed in floats throughout
    let few = task.exact_points(&ask.limits);
    let mut some = Vec::new();
    take(few + 1, &mut some)?;
    let mut portions = Portions::new(task, ask.numbers, &ask.limits, some.len(), some.len() > few);
    let size = match portions.are_several() {
        true => (PORTION.1 / source.program.dimension().max(1)).clamp(1, PORTION.0),
        false => few,
    };
    while !some.is_empty() {
        let stop = if interrupt.is_set() { Some(Stop::Cancelled) } else { ask.limits.stopped() };
        if let Some(stop) = stop {
            return Err(report.ended(stop, interrupt)?);
        }
        let rest = some.split_off(size.min(some.len()));
        let done = portions.compute(&some);
        if let Some(stop) = done.as_ref().err().and_then(stopped) {
            return Err(report.ended(stop, interrupt)?);
        }
        let done = done.map_err(|f| {
            let Listed { number, place, .. } = &some[f.point];
            let error = fault::inspect(*f.error);
            match place {
                Some(place) => anyhow!("at point {number}: {place}: {error}"),
                None => anyhow!("at point {number}: {error}"),
            }
        })?;
        report.add(&done)?;
        some = rest;
        take(size, &mut some)?;
    }
    report.finish(false)?;
    Ok(String::new())
}

/// Why a run did not come to its end, if something stopped it.
fn stopped(f: &AtPoint) -> Option<Stop> {
    f.error.stop()
}

/// What was computed so far, printed line by line, or kept as the columns of a JSON object.
#[derive(Default)]
struct Report<'p> {
    gradient_of: Option<&'p Program>,
    json: bool,
    points: usize,
    arithmetic: &'static str,
    widths: Vec<usize>,
    /// The outputs: nearest floats, exact numbers, how far the floats may be off.
    outputs: Vec<[Column; 3]>,
    kind: Column,
    kinks: Column,
    certain: Column,
}

impl Report<'_> {
    fn add(&mut self, all: &[Computed]) -> Result<()> {
        let first = self.points == 0;
        self.points += all.len();
        if !self.json {
            let text = match self.gradient_of {
                Some(p) => self.gradients(p, all, first),
                None => values(all),
            };
            return Writer::standard().all(&text);
        }
        for done in all {
            // one that is not enclosed makes them floats
            if self.arithmetic != "f64" {
                self.arithmetic = done.arithmetic();
            }
            self.outputs.resize_with(done.outputs.len(), Default::default);
            for (columns, a) in self.outputs.iter_mut().zip(&done.outputs) {
                columns[0].push(Some(show::near(a)));
                columns[1].push(show::fractions(a));
                columns[2].push(show::radius(a));
            }
            if self.gradient_of.is_some() {
                let smooth = done.met.is_empty() && done.decided;
                self.kind.push(Some(if smooth { "gradient" } else { "conservative" }.into()));
                self.kinks.push(Some(if done.decided { kinks(done).into() } else { Value::Null }));
            }
            self.certain.push(Some(done.certain.into()));
        }
        Ok(())
    }

    /// Prints what there is before all points were computed, and says why there is no more.
    fn ended(&mut self, stop: Stop, interrupt: Interrupt) -> Result<anyhow::Error> {
        self.finish(true)?;
        let far = format!("after {} points", show::count(self.points));
        Ok(match stop {
            Stop::Cancelled => interrupt.told(&far),
            Stop::Time => anyhow!("{stop} {far}; allow more with --seconds"),
            Stop::Work | Stop::Memory => anyhow!("{stop} {far}"),
        })
    }

    /// Prints the JSON object, if one was asked for; `stopped` says that there were more points.
    fn finish(&mut self, stopped: bool) -> Result<()> {
        if !self.json {
            return Ok(());
        }
        let [mut near, mut exact, mut radius] = [Some(Vec::new()), Some(Vec::new()), Some(Vec::new())];
        for [n, e, r] in std::mem::take(&mut self.outputs) {
            for (all, column) in [(&mut near, n), (&mut exact, e), (&mut radius, r)] {
                match (all.as_mut(), column.text()) {
                    (Some(all), Some(text)) => all.push(text),
                    _ => *all = None,
                }
            }
        }
        let mut members = vec![("points", self.points.to_string())];
        members.extend(near.into_iter().flat_map(|columns| self.answers(columns)));
        if self.gradient_of.is_some() {
            let columns = [("kind", &mut self.kind), ("kinks", &mut self.kinks)];
            members.extend(columns.into_iter().filter_map(|(name, c)| Some((name, std::mem::take(c).text()?))));
        }
        members.extend(std::mem::take(&mut self.certain).text().map(|certain| ("certain", certain)));
        members.push(("arithmetic", Value::from(self.arithmetic).to_string()));
        match exact {
            Some(columns) => members.push(("exact", object(self.answers(columns)))),
            None => members.extend(radius.map(|columns| ("radius", object(self.answers(columns))))),
        }
        if stopped {
            members.push(("stopped", true.to_string()));
        }
        Writer::standard().all(&(object(members) + "\n"))
    }

    /// The members that hold the answers, from the columns of all outputs.
    fn answers(&self, mut columns: Vec<String>) -> Vec<(&'static str, String)> {
        let Some(p) = self.gradient_of else {
            let one = columns.len() == 1;
            return vec![("value", if one { columns.remove(0) } else { format!("[{}]", columns.join(",")) })];
        };
        // before the first point there are no columns
        let mut columns = columns.into_iter().chain(std::iter::repeat_with(|| "[]".to_string()));
        let value = columns.next().unwrap_or_default();
        vec![("value", value), ("gradient", object(p.inputs().iter().map(|i| &*i.name).zip(columns)))]
    }

    /// Value, derivatives and what they are, one line for each point; above the first the names.
    fn gradients(&mut self, p: &Program, all: &[Computed], first: bool) -> String {
        let names = p.inputs().iter().map(|i| i.name.to_string());
        let head = first.then(|| ["value".to_string()].into_iter().chain(names).chain(["".into()]).collect());
        let line = |done: &Computed| {
            let numbers = done.outputs.iter().map(|a| show::answer(a, false));
            let what = match (kinks(done), done.decided) {
                (0, true) => "the gradient".into(),
                (0, false) => "no kink was met, in f64".into(),
                (1, _) => "1 kink".into(),
                (n, _) => format!("{} kinks", show::count(n)),
            };
            numbers.chain([what]).collect()
        };
        let rows: Vec<Vec<String>> = head.into_iter().chain(all.iter().map(line)).collect();
        show::columns_from(&mut self.widths, &rows, &[])
    }
}

/// A list of JSON values as text, as long as there is a value for each point.
#[derive(Default)]
pub struct Column {
    text: String,
    broken: bool,
}

impl Column {
    /// Adds the value of the next point.
    pub fn push(&mut self, value: Option<Value>) {
        match value {
            Some(value) if !self.broken => {
                self.text.push(if self.text.is_empty() { '[' } else { ',' });
                self.text.push_str(&value.to_string());
            }
            _ => (self.text, self.broken) = (String::new(), true),
        }
    }

    /// The whole list.
    pub fn text(mut self) -> Option<String> {
        self.text.push_str(if self.text.is_empty() { "[]" } else { "]" });
        (!self.broken).then_some(self.text)
    }
}

/// A JSON object of members that are JSON.
pub fn object<'n>(members: impl IntoIterator<Item = (&'n str, String)>) -> String {
    let mut out = String::from("{");
    for (name, value) in members {
        out.push_str(if out.len() == 1 { "" } else { "," });
        out.extend([&*Value::from(name).to_string(), ":", &value]);
    }
    out + "}"
}

/// The outputs, one line for each point.
fn values(all: &[Computed]) -> String {
    let shown = |a: &Answer| show::answer(a, true);
    all.iter().map(|done| done.outputs.iter().map(shown).collect::<Vec<_>>().join("  ") + "\n").collect()
}

fn kinks(done: &Computed) -> usize {
    done.met.iter().map(|m| m.elements).sum()
}
