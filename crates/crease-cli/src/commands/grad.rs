//! `crease grad`: Algorithm 2 at a point, with what the answer is, where choices were made, and what it cost.

use super::printed;
use crate::device::{self, DeviceArgs};
use crate::fault;
use crate::flags::{NumberArgs, PrecisionArgs, TimeArgs};
use crate::how::{Direction, HowArgs};
use crate::many::{self, PointsArgs};
use crate::source::SourceArgs;
use anyhow::{Result, anyhow};
use clap::Args;
use crease::inspect::{Ask, Task, derive, inspect};

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
  crease grad -e 'norm1(v)' --points points.npy --json
  crease grad -e 'norm1(v)' --points points.npy --device cuda")]
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
    device: DeviceArgs,

    #[command(flatten)]
    precision: PrecisionArgs,

    #[command(flatten)]
    time: TimeArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Grad {
    pub fn run(&self) -> Result<String> {
        let limits = self.precision.within(self.numbers.limits());
        let (how, limits) = self.how.read_within(limits, &self.time.limit)?;
        let ask = Ask {
            how,
            mode: self.mode.into(),
            jacobian: self.jacobian,
            output: self.output,
            numbers: self.numbers.numbers(),
            report: self.report,
            proof: false,
            limits: self.time.within(limits)?,
            ..Ask::default()
        };
        if let Some(mut points) = self.points.read()? {
            let source = self.source.load_for(&mut points)?;
            let (p, derived) = derive(&source.program, &ask).map_err(fault::inspect)?;
            if self.device.is_cuda() {
                let how = ask.how.clone().within(&ask.limits);
                return device::gradients(&p, &derived, &how, points, &source, self.json);
            }
            let task = Task { program: &derived, watched: Some(&p) };
            return many::run(&task, Some(&p), points, &ask, &source, self.json);
        }
        if self.device.is_cuda() {
            return Err(device::missing()
                .unwrap_or_else(|| anyhow!("--device cuda computes at many points; give them with --points")));
        }
        let source = self.source.load()?;
        let inspection = inspect(&source.program, &source.inputs()?, &ask).map_err(fault::inspect)?;
        Ok(printed(&inspection, self.json))
    }
}
