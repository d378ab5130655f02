//! What runs on a device: points in portions, each one run of a kernel. A point that the kernel gives up is the interpreter's. The one
//! object of `--json` is held back as text until it is whole, as it is for points that are computed here.

use crate::many::{self, Column};
use crate::source::Source;
use crate::vectors::{Listed, Vectors};
use crate::writer::Writer;
use anyhow::{Result, anyhow, bail};
use crease::show::{self, object};
use crease_core::differentiate::{How, backprop};
use crease_core::random::SplitMix64;
use crease_core::{Program, Rational, Tensor, run};
use crease_cuda::{CudaError, Device, DeviceReal, Options, Plan, Real};
use serde_json::Value;
use std::time::Instant;

/// Points that are read, computed and printed together.
const PORTION: usize = 1 << 16;

/// Value and gradient of `p` at all points, one line for each; `derived` is the program that the interpreter has for that.
pub fn gradients(
    p: &Program,
    derived: &Program,
    how: &How,
    mut points: Vectors,
    source: &Source,
    json: bool,
) -> Result<String> {
    let plan = Plan::value_and_grad::<f64>(p, &[], &Options::default().how(how.clone()))?;
    let device = Device::open(0)?;
    let kernel = device.load::<f64>(&plan)?;
    let mut count = 0;
    let mut columns: Vec<Column> = plan.outputs().iter().map(|_| Column::default()).collect();
    loop {
        let mut some: Vec<Listed> = Vec::new();
        while some.len() < PORTION
            && let Some(point) = points.next_point(source)?
        {
            some.push(point);
        }
        if some.is_empty() {
            break;
        }
        let inputs: Vec<Vec<f64>> = (0..p.inputs().len())
            .map(|i| some.iter().flat_map(|l| l.inputs[i].data().iter().map(Rational::to_f64)).collect())
            .collect();
        let slices: Vec<&[f64]> = inputs.iter().map(|x| &x[..]).collect();
        let mut found: Vec<Vec<f64>> = plan.outputs().iter().map(|n| vec![0.0; n * some.len()]).collect();
        let mut parts: Vec<&mut [f64]> = found.iter_mut().map(|y| &mut y[..]).collect();
        match kernel.stream(some.len(), &slices, &mut parts) {
            Ok(()) => {}
            // something is not finite there, or in a branch that was not chosen: the interpreter knows
            Err(CudaError::Point { point }) => interpreted(derived, &some, point as usize, &mut found)?,
            Err(e) => return Err(e.into()),
        }
        for k in 0..some.len() {
            let at = found.iter().zip(plan.outputs()).map(|(y, &n)| &y[k * n..][..n]);
            if json {
                at.zip(&mut columns).for_each(|(y, column)| column.push(Some(numbers(y))));
            } else {
                let line: Vec<String> = at.map(|y| numbers(y).to_string()).collect();
                Writer::standard().all(&(line.join("  ") + "\n"))?;
            }
        }
        count += some.len();
    }
    if !json {
        return Ok(String::new());
    }
    let mut columns = columns.into_iter().filter_map(Column::text);
    let value = columns.next().unwrap_or_default();
    let gradient = many::object(p.inputs().iter().map(|i| &*i.name).zip(columns));
    Ok(many::object([
        ("points", count.to_string()),
        ("value", value),
        ("gradient", gradient),
        ("arithmetic", Value::from("f64").to_string()),
        ("device", Value::from(device.name()?).to_string()),
    ]) + "\n")
}

/// The points from the first one on that the kernel gave up, by the interpreter.
fn interpreted(derived: &Program, some: &[Listed], from: usize, found: &mut [Vec<f64>]) -> Result<()> {
    for (k, listed) in some.iter().enumerate().skip(from) {
        let point: Vec<Tensor<f64>> = listed.inputs.iter().map(|t| t.map(Rational::to_f64)).collect();
        let told = || listed.place.as_ref().map_or(String::new(), |place| format!("{place}: "));
        let outputs = run(derived, &point).map_err(|e| anyhow!("at point {}: {}{e}", listed.number, told()))?;
        for (list, y) in found.iter_mut().zip(&outputs) {
            let n = y.data().len();
            list[k * n..][..n].copy_from_slice(y.data());
        }
    }
    Ok(())
}

fn numbers(y: &[f64]) -> Value {
    match y {
        [x] => (*x).into(),
        many => many.to_vec().into(),
    }
}

/// Times value, and value and gradient, at so many random points, which lie on the device. Leaves what is printed and the exit
/// code, which is 1 if answers differ.
pub fn bench(
    p: &Program,
    wrt: &[usize],
    how: &How,
    (points, seed, single): (usize, u64, bool),
    json: bool,
) -> Result<(String, i32)> {
    if single { timed::<f32>(p, wrt, how, points, seed, json) } else { timed::<f64>(p, wrt, how, points, seed, json) }
}

fn timed<T: DeviceReal + crease_engine::Float>(
    p: &Program,
    wrt: &[usize],
    how: &How,
    points: usize,
    seed: u64,
    json: bool,
) -> Result<(String, i32)> {
    let options = Options::default().how(how.clone());
    let device = Device::open(0)?;
    let plans = [Plan::compile::<T>(p, &options)?, Plan::value_and_grad::<T>(p, wrt, &options)?];
    let mut random = SplitMix64::new(seed);
    let mut uniform = || (random.bits() >> 11) as f64 / (1u64 << 53) as f64;
    let mut normal =
        || <T as Real>::from_f64((-2.0 * (1.0 - uniform()).ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos());
    let inputs: Vec<Vec<T>> =
        p.inputs().iter().map(|i| (0..i.shape.len() * points).map(|_| normal()).collect()).collect();
    let slices: Vec<&[T]> = inputs.iter().map(|x| &x[..]).collect();
    let batch = device.upload(plans[0].inputs(), points, &slices)?;
    let (mut least, mut compiled, mut off) = ([f64::INFINITY; 2], [0.0; 2], 0.0_f64);
    let outputs: Vec<usize> = [0].into_iter().chain(wrt.iter().map(|i| i + 1)).collect();
    let derived = backprop(p, how)?.with_outputs(&outputs).ok_or_else(|| anyhow!("the program has no output"))?;
    for (k, plan) in plans.iter().enumerate() {
        let start = Instant::now();
        let kernel = device.load::<T>(plan)?;
        compiled[k] = start.elapsed().as_secs_f64();
        let mut results = kernel.results(points)?;
        for _ in 0..13 {
            device.wait()?;
            let start = Instant::now();
            kernel.run(&batch, &mut results)?;
            device.wait()?;
            least[k] = least[k].min(start.elapsed().as_secs_f64());
        }
        let found = results.read()?;
        let reference = if k == 0 { p } else { &derived };
        for point in (0..points).step_by((points / 16).max(1)) {
            let at: Vec<Tensor<T>> = p
                .inputs()
                .iter()
                .zip(&inputs)
                .filter_map(|(i, x)| Tensor::new(i.shape.clone(), x[point * i.shape.len()..][..i.shape.len()].to_vec()))
                .collect();
            for (expected, got) in run(reference, &at)?.iter().zip(&found) {
                let n = expected.data().len();
                off = off.max(crease::inspect::distance(expected.data(), &got[point * n..][..n]).0);
            }
        }
    }
    let allowed = if size_of::<T>() == 4 { 1e-3 } else { 1e-9 };
    let differs = (off.is_nan() || off > allowed).then(|| {
        format!(
            "on the device numbers are off the interpreter's by {off:.1e} of the largest there, where roundings make {allowed:.0e}; \
             this is an error of crease"
        )
    });
    let us = |s: f64| Value::from(s * 1e6);
    if let (Some(message), true) = (&differs, json) {
        let told = object([
            ("program", p.name().into()),
            ("device", device.name()?.into()),
            ("numbers", T::NAME.into()),
            ("points", points.into()),
            ("agrees", false.into()),
            ("off", off.into()),
            ("message", message.as_str().into()),
        ]);
        return Ok((show::json(&told), 1));
    }
    if let Some(message) = differs {
        bail!(message);
    }
    if json {
        let told = object([
            ("program", p.name().into()),
            ("device", device.name()?.into()),
            ("numbers", T::NAME.into()),
            ("points", points.into()),
            ("value", object([("least_us", us(least[0]))])),
            ("gradient", object([("least_us", us(least[1]))])),
            ("ratio", (least[1] / least[0]).into()),
            ("compile_us", object([("value", us(compiled[0])), ("gradient", us(compiled[1]))])),
            ("agrees", true.into()),
            ("off", off.into()),
            ("form", plans[1].to_string().into()),
        ]);
        return Ok((show::json(&told), 0));
    }
    let text = format!(
        "program      {}  {points} points on {}, {}\nvalue        {:.4} ms\ngradient     {:.4} ms, {:.2} times the value\n\
         compiled in  {:.3} s, gradient {:.3} s\nform         {}\nanswer       off the interpreter's by {off:.1e} of the largest number there\n",
        p.name(),
        device.name()?,
        T::NAME,
        least[0] * 1e3,
        least[1] * 1e3,
        least[1] / least[0],
        compiled[0],
        compiled[1],
        plans[1]
    );
    Ok((text, 0))
}
