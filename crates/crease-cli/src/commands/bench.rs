//! `crease bench`: what a value and its gradient take on the clock, beside what they cost in the model of Theorem 2.
//!
//! The model counts operations. What it leaves out, above all how far numbers travel between memory and processor, is the
//! difference between the ratio that is measured and the one that is counted.

use crate::device::{self, DeviceArgs};
use crate::fault;
use crate::flags::{self, TimeArgs};
use crate::how::HowArgs;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::source::{Source, SourceArgs};
use crate::timing::{Task, Times, take_turns};
use anyhow::{Error, Result, anyhow};
use clap::Args;
use crease::inspect::{InspectError, distance, pick};
use crease::show::Rows;
use crease::show::{self, object};
use crease_core::cost::{Prices, cost_within};
use crease_core::differentiate::{Mode, backprop};
use crease_core::differentiate::{Overhead, overhead};
use crease_core::random::SplitMix64;
use crease_core::run::Unobserved;
use crease_core::{
    Arithmetic, Cancel, Limits, Program, Rational, RunError, RunFault, Shape, Tensor, run_with, simplify,
};
use crease_engine::{Agreement, Compiled, Explain, Float, Options, Workspace, compile, value_and_grad};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Time a program and its gradient, compiled and interpreted
///
/// Compiles the value, and value and gradient, and runs them and the interpreter in turn. The ratio of the two times stands beside
/// the ratio of counted costs and the bound of Theorem 2: what they differ by is what counting operations leaves out, such as memory
/// traffic. Without --at the point is random: independent standard normal coordinates, drawn from --seed. Ctrl-C ends the
/// measurement and keeps what there is.
///
/// Nothing is timed that is not right: the compiled value, and the compiled value with its gradient, are compared with the
/// interpreter's first. Where they differ by more than the roundings of the operations counted, relative to the largest number of the list, this
/// ends with exit code 1, and with --json the object says so: "agrees" is false, "off" how far they differ and "message" where. With --json
/// --values the compiled numbers are told, so that any other program can check them.
#[derive(Args)]
#[command(after_help = "Examples:
  crease bench examples/mlp.crease
  crease bench network.crease --at weights.json --wrt W,b --duration 5 --f32
  crease bench -e 'norm1(v)' --at v.npy --explain --json
  crease bench -e 'norm1(v)' --at v=[1,-2] --values --json
  crease bench clauses.crease --runs 1000000 --explain
  crease bench clauses.crease --device cuda --count 1000000 --f32")]
pub struct Bench {
    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    how: HowArgs,

    /// The inputs to differentiate by, such as W,b; all unless told
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    wrt: Vec<String>,

    /// The output to time, counted from 0, where there are several
    #[arg(long, value_name = "K")]
    output: Option<usize>,

    /// The seed of the random point
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "at")]
    seed: u64,

    /// How long to measure
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    duration: f64,

    #[command(flatten)]
    time: TimeArgs,

    /// Compile for so many runs: a scalar program that runs often becomes machine code, in builds with the feature `native`
    #[arg(long, value_name = "N")]
    runs: Option<u64>,

    /// Compute in f32 instead of f64
    #[arg(long)]
    f32: bool,

    /// Time code that agrees with the interpreter bit for bit: every sum in its order
    #[arg(long)]
    bits: bool,

    #[command(flatten)]
    device: DeviceArgs,

    /// With --device cuda: so many random points, which lie on the device
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,

    /// Also print the compiled value and gradient
    #[arg(long, requires = "json")]
    values: bool,

    /// Also print what the compiler decided
    #[arg(long)]
    explain: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What --runs lacks in a build without the feature.
const NO_MACHINE_CODE: &str =
    "--runs: this build makes no machine code; build with `cargo build --release -p crease-cli --features native`";

impl Bench {
    /// What is printed, and the exit code: 1 if answers differ.
    pub fn run(&self) -> Result<(String, i32)> {
        let source = self.source.load()?;
        let picked = self.output.map(|k| pick(&source.program, k).map_err(fault::inspect)).transpose()?;
        let p = picked.as_ref().unwrap_or(&source.program);
        if self.device.is_cuda() {
            let wanted = (usize::try_from(self.count)?, self.seed, self.f32);
            let (how, _) = self.how.read_within(Limits::default(), &self.time.limit)?;
            return device::bench(p, &self.wrt(p)?, &how, wanted, self.json);
        }
        if self.runs.is_some() && !crease_engine::MACHINE_CODE {
            eprintln!("{NO_MACHINE_CODE}");
        }
        match if self.f32 { self.measure::<f32>(p, &source)? } else { self.measure::<f64>(p, &source)? } {
            Found::Times(report) if self.json => Ok((show::json(&report.json(self)), 0)),
            Found::Times(report) => Ok((report.text(self), 0)),
            Found::Differs(told) if self.json => Ok((show::json(&told.json(p, self, source.has_point())), 1)),
            Found::Differs(told) => Err(Error::msg(told.message)),
        }
    }

    /// The numbers of the inputs to differentiate by, in the order given.
    fn wrt(&self, p: &Program) -> Result<Vec<usize>> {
        if self.wrt.is_empty() {
            return Ok((0..p.inputs().len()).collect());
        }
        let find = |name: &String| {
            let names = || p.inputs().iter().take(8).map(|i| format!("`{}`", i.name)).collect::<Vec<_>>().join(", ");
            let at = p.inputs().iter().position(|i| *i.name == **name);
            at.ok_or_else(|| anyhow!("--wrt: `{name}` is not an input of `{}`; its inputs are {}", p.name(), names()))
        };
        self.wrt.iter().map(find).collect()
    }

    /// The point: what --at says, or a random one.
    fn point<T: Float>(&self, p: &Program, source: &Source) -> Result<Vec<Tensor<T>>> {
        if source.has_point() {
            let float = |x: &Rational| T::from_f64(x.to_f64());
            return Ok(source.inputs()?.iter().map(|t| t.map(float)).collect());
        }
        let mut random = SplitMix64::new(self.seed);
        let mut uniform = || (random.bits() >> 11) as f64 / (1u64 << 53) as f64;
        // Box and Muller's formula
        let mut normal = || {
            let radius = (-2.0 * (1.0 - uniform()).ln()).sqrt();
            T::from_f64(radius * (std::f64::consts::TAU * uniform()).cos())
        };
        let mut draw = |i: &crease_core::Input| {
            let data = (0..i.shape.len()).map(|_| normal()).collect();
            Tensor::new(i.shape.clone(), data).ok_or_else(|| anyhow!("`{}` has an impossible shape", i.name))
        };
        p.inputs().iter().map(&mut draw).collect()
    }

    fn measure<T: Float>(&self, p: &Program, source: &Source) -> Result<Found> {
        let time = flags::time("--duration", self.duration)?;
        let mut progress = Progress::new();
        // until runs are timed there is nothing to keep; then each comes to its end
        let (how, limits) = self.how.read_within(flags::limits(), &self.time.limit)?;
        let limits = self.time.within(limits)?;
        let timed = Limits { cancel: Cancel::default(), ..limits.clone() };
        let wrt = self.wrt(p)?;
        let point = self.point::<T>(p, source)?;
        let price = |p: &Program| anyhow::Ok(cost_within(p, &limits)?.at(&Prices::unit()));
        let before = price(p)?;
        let mut derived = backprop(p, &how).map_err(|e| fault::inspect(e.into()))?;
        if !self.wrt.is_empty() {
            let outputs: Vec<usize> = [0].into_iter().chain(wrt.iter().map(|i| i + 1)).collect();
            let fewer = derived.with_outputs(&outputs).ok_or_else(|| anyhow!("the program has no output"))?;
            derived = simplify(&fewer)?;
        }
        let costs = Costs {
            program: before,
            counted: price(&derived)?,
            theorem: overhead(p, &how, Mode::Backward, &Prices::unit())?,
        };

        // the interpreter says first whether there is anything to be timed here, and what the answer is
        let refused = |of_derivative| {
            let random = !source.has_point();
            move |e: RunError| {
                // limits are met at any point
                let random = random
                    && !matches!(
                        e.fault,
                        RunFault::Stopped(_)
                            | RunFault::TooLong { .. }
                            | RunFault::TooLarge { .. }
                            | RunFault::Memory { .. }
                    );
                let e = fault::inspect(InspectError::Run { error: e, of_derivative, float: None });
                if random {
                    anyhow!("{e}\nThis is a random point; give one where the program is defined with --at.")
                } else {
                    e
                }
            }
        };
        let interpreted = |p: &Program, limits: &Limits| run_with(p, &point, limits, &mut Unobserved);
        let value_expected = interpreted(p, &limits).map_err(refused(false))?;
        let expected = interpreted(&derived, &limits).map_err(refused(true))?;

        let options = Options::default().arithmetic(Arithmetic::Ieee).how(how).limits(timed.clone());
        let options = self.runs.into_iter().fold(options, Options::runs);
        let options = if self.bits { options.agreement(Agreement::Bits) } else { options };
        let mut value = Ready::new(|| compile::<T>(p, &options))?;
        let mut gradient = Ready::new(|| value_and_grad::<T>(p, &wrt, &options))?;
        let inputs: Vec<&[T]> = point.iter().map(Tensor::data).collect();
        value.run(&inputs)?;
        gradient.run(&inputs)?;
        let allowed = if self.bits { 0.0 } else { roundings::<T>(&costs.counted) };
        let compared =
            [("value", &value_expected, &value.outputs), ("value and gradient", &expected, &gradient.outputs)]
                .map(|(what, expected, got)| agree(what, expected, got, allowed));
        let off = compared[0].off.max(compared[1].off);
        let message = compared.into_iter().find_map(|c| c.message);
        let values = self.values.then(|| {
            let numbers = |s: &Shape, x: &Vec<T>| nested(s.dims(), x);
            let derivatives = wrt.iter().zip(&gradient.outputs[1..]).map(|(&i, g)| {
                let input = &p.inputs()[i];
                (input.name.to_string(), numbers(&input.shape, g))
            });
            let [v, with] = [&value, &gradient].map(|r| numbers(&Shape::scalar(), &r.outputs[0]));
            object([("value", v), ("value_with_gradient", with), ("gradient", object(derivatives))])
        });
        if let Some(message) = message {
            return Ok(Found::Differs(Differs { numbers: T::NAME, off, message, values }));
        }
        let mut tasks = [
            Task::new("value, compiled", || value.run(&inputs)),
            Task::new("value and gradient, compiled", || gradient.run(&inputs)),
            Task::new("value, interpreted", || interpreted(p, &timed).map(drop).map_err(Error::from)),
            Task::new("value and gradient, interpreted", || {
                interpreted(&derived, &timed).map(drop).map_err(Error::from)
            }),
        ];
        let interrupt = Interrupt::listen();
        let stopped = take_turns(&mut tasks, time, |name, turns| {
            progress.say(|| format!("{name} · {} measured", show::count(turns)));
            !interrupt.is_set() && limits.deadline.is_none_or(|end| Instant::now() < end)
        });
        // a run that the limit of time ends is one that was not measured
        let late = limits.deadline.is_some_and(|end| Instant::now() >= end);
        let stopped = match stopped {
            Err(_) if late => true,
            told => told?,
        };
        let times = tasks.each_ref().map(Task::times);
        drop(tasks);
        Ok(Found::Times(Box::new(Report {
            name: p.name().into(),
            equations: p.len(),
            dimension: p.dimension(),
            numbers: T::NAME,
            random: !source.has_point(),
            times,
            compiled: [value.compiled, gradient.compiled],
            bytes: [value.workspace.bytes(), gradient.workspace.bytes()],
            explain: [value.code.explain().clone(), gradient.code.explain().clone()],
            costs,
            off,
            values,
            stopped,
        })))
    }
}

/// What came out.
enum Found {
    Times(Box<Report>),
    /// Answers differ, so nothing was timed.
    Differs(Differs),
}

/// Compiled answers that are too far from the interpreter's.
struct Differs {
    numbers: &'static str,
    off: f64,
    message: String,
    values: Option<Value>,
}

impl Differs {
    fn json(&self, p: &Program, flags: &Bench, given: bool) -> Value {
        let mut members = vec![
            ("program", p.name().into()),
            ("inputs", p.dimension().into()),
            ("equations", p.len().into()),
            ("numbers", self.numbers.into()),
            ("seed", if given { Value::Null } else { flags.seed.into() }),
            ("agrees", false.into()),
            ("off", self.off.into()),
            ("message", self.message.as_str().into()),
        ];
        members.extend(self.values.clone().map(|v| ("values", v)));
        object(members)
    }
}

/// A compiled program with all that its runs need.
struct Ready<T: Float> {
    code: Compiled<T>,
    workspace: Workspace<T>,
    outputs: Vec<Vec<T>>,
    /// How long compilation took.
    compiled: Duration,
}

impl<T: Float> Ready<T> {
    fn new(compile: impl FnOnce() -> Result<Compiled<T>, crease_engine::EngineError>) -> Result<Self> {
        let start = Instant::now();
        let code = compile()?;
        let compiled = start.elapsed();
        let outputs = code.outputs().iter().map(|s| vec![T::ZERO; s.len()]).collect();
        Ok(Ready { workspace: code.workspace(), code, outputs, compiled })
    }

    fn run(&mut self, inputs: &[&[T]]) -> Result<()> {
        let mut outputs: Vec<&mut [T]> = self.outputs.iter_mut().map(|o| &mut o[..]).collect();
        Ok(self.code.run(&mut self.workspace, inputs, &mut outputs)?)
    }
}

/// How far compiled numbers may be from the interpreter's, relative to the largest of them: a rounding for each operation counted.
fn roundings<T: Float>(counted: &Rational) -> f64 {
    let unit = if T::NAME == "f32" { f64::from(f32::EPSILON) } else { f64::EPSILON };
    unit * (64.0 + counted.to_f64())
}

/// How far compiled outputs are from the interpreter's, and what is wrong if that is too far.
struct Comparison {
    off: f64,
    message: Option<String>,
}

/// Compares compiled outputs with the interpreter's.
fn agree<T: Float>(what: &str, expected: &[Tensor<T>], got: &[Vec<T>], allowed: f64) -> Comparison {
    let mut found = Comparison { off: 0.0, message: None };
    for (k, (e, g)) in expected.iter().zip(got).enumerate() {
        let (far, at) = distance(e.data(), g);
        found.off = found.off.max(far);
        if far > allowed && found.message.is_none() {
            let which = if k == 0 { "the value".into() } else { format!("number {at} of derivative {}", k - 1) };
            let likely = if allowed == 0.0 {
                "this is an error of crease, please report it".to_string()
            } else {
                format!(
                    "roundings make {allowed:.1e}. Unless its sums cancel, which --bits would tell, this is an error of \
                     crease"
                )
            };
            found.message = Some(format!(
                "compiled {what}: {which} is {} where the interpreter has {}, which is {far:.1e} of the largest number \
                 there; {likely}",
                g[at],
                e.data()[at],
            ));
        }
    }
    found
}

/// Numbers as nested arrays.
fn nested<T: Float>(dims: &[usize], data: &[T]) -> Value {
    match dims.split_first() {
        None => data[0].to_f64().into(),
        Some((&n, inner)) => data.chunks(data.len() / n).map(|part| nested(inner, part)).collect(),
    }
}

struct Costs {
    program: Rational,
    counted: Rational,
    theorem: Overhead,
}

impl Costs {
    /// A cost over that of the program, if that is not 0.
    fn ratio(&self, above: &Rational) -> Option<Rational> {
        above.checked_div(&self.program)
    }

    fn model(&self) -> Rational {
        self.theorem.model.at(&Prices::unit())
    }
}

/// All that was measured. Pairs are of the value and of value and gradient.
struct Report {
    name: String,
    equations: usize,
    dimension: usize,
    numbers: &'static str,
    random: bool,
    /// Compiled, and then interpreted.
    times: [Option<Times>; 4],
    compiled: [Duration; 2],
    bytes: [usize; 2],
    explain: [Explain; 2],
    costs: Costs,
    /// How far the compiled numbers are from the interpreted ones.
    off: f64,
    /// The compiled numbers, if they are asked for.
    values: Option<Value>,
    stopped: bool,
}

const PAIR: [&str; 2] = ["value", "gradient"];

impl Report {
    /// The least time of value and gradient over that of the value.
    fn measured(&self) -> Option<f64> {
        Some(self.times[1]?.least.as_secs_f64() / self.times[0]?.least.as_secs_f64())
    }

    fn text(&self, flags: &Bench) -> String {
        let mut rows = Rows::default();
        let plural = |n: usize, word: &str| format!("{} {word}{}", show::count(n), if n == 1 { "" } else { "s" });
        let size = [plural(self.dimension, "scalar input"), plural(self.equations, "equation"), self.numbers.into()];
        rows.add("program", &format!("{}  {}", self.name, size.join(" · ")));
        if self.random {
            rows.add("point", &format!("random, from seed {}", flags.seed));
        }
        let shown = |t: &Option<Times>, faster: Option<Times>| {
            let Some(t) = t else { return vec!["-".into(); 3] };
            let times = faster.map(|f| format!("{:.1} x compiled", t.least.as_secs_f64() / f.least.as_secs_f64()));
            vec![time(t.least), time(t.median), format!("{} times", show::count(t.measured)), times.unwrap_or_default()]
        };
        let mut table = vec![["", "least", "median", "measured"].map(String::from).to_vec()];
        for (k, t) in self.times.iter().enumerate() {
            let name = ["value", "value and gradient"][k % 2];
            let name = format!("{name}{}", if k < 2 { "" } else { ", interpreted" });
            table.push([vec![name], shown(t, if k < 2 { None } else { self.times[k - 2] })].concat());
        }
        for line in show::columns(&table, &[1, 2, 3]).lines() {
            rows.add("", line);
        }
        let ratio = |x: Option<Rational>| x.map_or("-".into(), |x| show::ratio(&x));
        let bound = self.costs.theorem.omega.as_ref().map_or("none".into(), show::ratio);
        rows.add("ratio", &self.measured().map_or("-".into(), |r| format!("{r:.2}  gradient / value, measured")));
        rows.add("", &format!("{}  counted", ratio(self.costs.ratio(&self.costs.counted))));
        rows.add(
            "",
            &format!("{}  in the model of Theorem 2, bound {bound}", ratio(self.costs.ratio(&self.costs.model()))),
        );
        let [v, g] = self.compiled.map(time);
        rows.add("compiled in", &format!("{v}, gradient {g}"));
        let [v, g] = self.bytes.map(memory);
        rows.add("memory", &format!("{v}, gradient {g}, beside inputs and outputs"));
        let agreement = match self.off {
            0.0 => "the same as the interpreter's".into(),
            off => format!("differs from the interpreter's by {off:.1e} of the largest number in it"),
        };
        rows.add("answer", &agreement);
        if flags.explain {
            for (name, explain) in PAIR.iter().zip(&self.explain) {
                rows.block(name, &explain.to_string());
            }
        }
        if self.stopped {
            rows.add("stopped", "by Ctrl-C: times are of what had been measured");
        }
        rows.text()
    }

    fn json(&self, flags: &Bench) -> Value {
        let us = |d: Duration| Value::from(d.as_secs_f64() * 1e6);
        let times = |t: &Option<Times>| {
            t.map_or(Value::Null, |t| {
                object([("least_us", us(t.least)), ("median_us", us(t.median)), ("measured", t.measured.into())])
            })
        };
        let pair = |two: [Value; 2]| object(PAIR.into_iter().zip(two));
        let rational = |x: Option<Rational>| x.as_ref().map_or(Value::Null, show::number);
        let c = &self.costs;
        let mut members = vec![
            ("program", self.name.clone().into()),
            ("inputs", self.dimension.into()),
            ("equations", self.equations.into()),
            ("numbers", self.numbers.into()),
            ("seed", if self.random { flags.seed.into() } else { Value::Null }),
            ("value", times(&self.times[0])),
            ("gradient", times(&self.times[1])),
            ("interpreted", pair([times(&self.times[2]), times(&self.times[3])])),
            ("ratio", self.measured().into()),
            ("counted", rational(c.ratio(&c.counted))),
            ("model", rational(c.ratio(&c.model()))),
            ("omega", rational(c.theorem.omega.clone())),
            ("compile_us", pair(self.compiled.map(us))),
            ("memory_bytes", pair(self.bytes.map(Value::from))),
            ("agrees", true.into()),
            ("off", self.off.into()),
            ("stopped", self.stopped.into()),
        ];
        members.extend(self.values.clone().map(|v| ("values", v)));
        if flags.explain {
            let lines = |e: &Explain| e.lines().iter().map(|l| Value::from(l.as_str())).collect();
            members.push(("explain", pair(self.explain.each_ref().map(lines))));
        }
        object(members)
    }
}

/// A time in the unit that suits it.
fn time(t: Duration) -> String {
    let ns = t.as_secs_f64() * 1e9;
    let (x, unit) = match ns {
        ..1e3 => (ns, "ns"),
        ..1e6 => (ns / 1e3, "µs"),
        ..1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    // three digits
    let decimals = if x < 10.0 {
        2
    } else if x < 100.0 {
        1
    } else {
        0
    };
    format!("{x:.decimals$} {unit}")
}

/// Bytes in the unit that suits them.
fn memory(bytes: usize) -> String {
    let b = bytes as f64;
    match b {
        ..1024.0 => format!("{bytes} bytes"),
        ..1048576.0 => format!("{:.1} KiB", b / 1024.0),
        _ => format!("{:.1} MiB", b / 1048576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_memory_have_units() {
        let shown = [3, 4_560, 12_300_000, 2_500_000_000].map(|ns| time(Duration::from_nanos(ns)));
        assert_eq!(shown, ["3.00 ns", "4.56 µs", "12.3 ms", "2.50 s"]);
        assert_eq!([8, 2048, 3 << 20].map(memory), ["8 bytes", "2.0 KiB", "3.0 MiB"]);
    }

    #[test]
    fn what_differs_too_far_is_a_fault() {
        let expected = [Tensor::scalar(4.0), Tensor::vector(vec![1.0, -8.0]).unwrap()];
        let told = |got: [f64; 2], allowed| {
            let c = agree("value and gradient", &expected, &[vec![4.0], got.to_vec()], allowed);
            (c.off, c.message)
        };
        assert_eq!(told([1.0, -8.0], 0.0), (0.0, None));
        assert_eq!(told([2.0, -8.0], 0.125), (0.125, None));
        let (off, message) = told([2.0, -8.0], 0.1);
        let message = message.unwrap();
        assert!(message.contains("number 0 of derivative 0 is 2 where the interpreter has 1"), "{message}");
        assert_eq!(off, 0.125);
        // not a number is never close to one
        assert!(told([f64::NAN, -8.0], 1e300).1.unwrap().contains("NaN"));
        assert!(told([1.0, f64::INFINITY], 1e300).1.is_some());
    }
}
