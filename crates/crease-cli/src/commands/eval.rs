//! `crease eval`: Algorithm 1 at a point.

use crate::fault;
use crate::flags::{NumberArgs, TimeArgs};
use crate::many::{self, PointsArgs};
use crate::source::SourceArgs;
use anyhow::Result;
use clap::Args;
use crease::inspect::{Answer, Ask, Task};
use crease::show::{self, Value};

/// Run a program at a point
///
/// Prints one line for each output. Arithmetic is exact where it can be, so that 1/3 stays 1/3; where it cannot, f64.
/// With --points it prints one line for each point, and large work is compiled first.
#[derive(Args)]
#[command(after_help = "Examples:
  crease eval -e 'max(x, 1 - x)' --at x=1/3
  crease eval -e 'sum(v * v), norminf(v)' --at v=[1,-2,3]
  crease eval network.crease --at image.json --json
  crease eval network.crease --points images.npy")]
pub struct Eval {
    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    points: PointsArgs,

    #[command(flatten)]
    numbers: NumberArgs,

    #[command(flatten)]
    time: TimeArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Eval {
    pub fn run(&self) -> Result<String> {
        let ask =
            Ask { numbers: self.numbers.numbers(), limits: self.time.within(self.numbers.limits())?, ..Ask::default() };
        if let Some(mut points) = self.points.read()? {
            let source = self.source.load_for(&mut points)?;
            let task = Task { program: &source.program, watched: None };
            return many::run(&task, None, points, &ask, &source, self.json);
        }
        let source = self.source.load()?;
        let task = Task { program: &source.program, watched: None };
        let done = task.compute(&source.inputs()?, ask.numbers, &ask.limits).map_err(fault::inspect)?;
        if self.json {
            let mut members = vec![
                ("value", show::one_or_list(done.outputs.iter().map(show::near).collect())),
                ("certain", done.certain.into()),
                ("arithmetic", done.arithmetic().into()),
            ];
            members.extend(done.bits.map(|bits| ("bits", bits.into())));
            let all = |show: &dyn Fn(&Answer) -> Option<Value>| {
                let shown = done.outputs.iter().map(show).collect::<Option<Vec<_>>>()?;
                Some(show::object([("value", show::one_or_list(shown))]))
            };
            match all(&show::fractions) {
                Some(exact) => members.push(("exact", exact)),
                None => members.extend(all(&show::radius).map(|radius| ("radius", radius))),
            }
            return Ok(show::json(&show::object(members)));
        }
        let doubt = match (&done.doubt, done.certain) {
            (_, true) => String::new(),
            (Some(doubt), false) => format!("  in f64, not certain: {doubt}"),
            (None, false) => "  in f64, not certain".into(),
        };
        Ok(done.outputs.iter().map(|a| format!("{}{doubt}\n", show::answer(a, true))).collect())
    }
}
