//! What is measured of a workload and printed: a line of a table, or lines of JSON as `bench/README.md` defines them.

use crate::clock::Clock;
use crease_core::cost::{Prices, cost};
use crease_core::differentiate::backprop;
use crease_core::{Arithmetic, Program, simplify};
use crease_engine::{Compiled, EngineError, Float, Options, compile, directional, value_and_grad};
use std::time::Instant;

pub struct Report {
    /// First words of the names of rows; all if there are none.
    pub wanted: Vec<String>,
    pub explain: bool,
    pub json: bool,
    pub clock: Clock,
    /// On how many threads crease runs.
    pub threads: usize,
}

/// What a measurement is for.
#[derive(Clone, Copy)]
pub enum What {
    /// One of the rows that are compared.
    Row { name: &'static str, mode: &'static str },
    /// A point in a plot of time against size.
    Sweep { name: &'static str, size: usize },
}

/// By what is differentiated, and how.
pub enum Derivative {
    /// The gradient by these inputs.
    Gradient(Vec<usize>),
    /// So many directional derivatives by the first input; the directions are one more input.
    Directional(usize),
}

/// Value and gradient by hand at point number i: the value is returned, the derivatives are written.
pub type ByHand<'a, T> = dyn FnMut(usize, &mut [Vec<T>]) -> T + 'a;

/// A workload.
pub struct Row<'a, T> {
    pub what: What,
    pub program: Program,
    pub derivative: Derivative,
    /// One list of inputs for each point; runs go through them in turn.
    pub points: Vec<Vec<Vec<T>>>,
    /// The version by hand and what to call it, if it is to be run here.
    pub by_hand: Option<(&'static str, &'a mut ByHand<'a, T>)>,
    /// How far the two may be apart, relative to the largest derivative.
    pub tolerance: f64,
    /// Whether the inputs are scalars that together are one vector.
    pub joined: bool,
}

/// A value and its derivatives, at all points: the sum of the values, and the derivatives strung together, part by part.
struct Answer {
    value: f64,
    parts: Vec<Vec<f64>>,
}

impl Report {
    pub fn wants(&self, what: What) -> bool {
        let (What::Row { name, .. } | What::Sweep { name, .. }) = what;
        let first = name.split(' ').next().unwrap_or(name);
        self.wanted.is_empty() || self.wanted.iter().any(|w| w == first || w == name)
    }

    pub fn head(&self) {
        if !self.json {
            println!(
                "{:<36} {:>9} {:>9} {:>6} {:>8} {:>9} {:>8}  agree",
                "row", "value", "gradient", "ratio", "counted", "by hand", "compile"
            );
        }
    }

    /// Measures a workload and prints it.
    pub fn row<T: Float>(&self, mut row: Row<'_, T>) {
        let options = Options::default().arithmetic(Arithmetic::Ieee).threads(self.threads);
        let begin = Instant::now();
        let value = compile::<T>(&row.program, &options);
        let gradient = match &row.derivative {
            Derivative::Gradient(wrt) => value_and_grad::<T>(&row.program, wrt, &options),
            Derivative::Directional(count) => directional::<T>(&row.program, &[0], *count, &options),
        };
        let (value, gradient) = match (value, gradient) {
            (Ok(value), Ok(gradient)) => (value, gradient),
            (Err(e), _) | (_, Err(e)) => return self.fault(row.what, &e),
        };
        let prepared = begin.elapsed().as_secs_f64() * 1e3;
        if self.explain {
            println!("value:\n{}gradient:\n{}", value.explain(), gradient.explain());
        }
        let inputs: Vec<Vec<&[T]>> = row.points.iter().map(|p| p.iter().map(|x| &x[..]).collect()).collect();
        let mut i = 0;
        let mut next = || {
            i = (i + 1) % inputs.len();
            i
        };
        let (mut wv, mut wg) = (value.workspace(), gradient.workspace());
        let mut y = [T::ZERO];
        let mut out: Vec<Vec<T>> = gradient.outputs().iter().map(|s| vec![T::ZERO; s.len()]).collect();
        let own = value.inputs().len();
        let tv = self.clock.times(|| value.run(&mut wv, &inputs[next()][..own], &mut [&mut y]).expect("runs"));
        let mut room: Vec<&mut [T]> = out.iter_mut().map(|o| &mut o[..]).collect();
        let tg = self.clock.times(|| gradient.run(&mut wg, &inputs[next()], &mut room).expect("runs"));
        let (name, mode) = match row.what {
            What::Sweep { name, size } => return self.sweep(name, size, tv, tg),
            What::Row { name, mode } => (name, mode),
        };
        let answer = answer(&gradient, &inputs, row.joined);
        self.line(name, "crease", mode, Some((prepared, tv)), tg, &answer);
        let mut floor = ["-".to_string(), "-".to_string()];
        if let Some((way, by_hand)) = &mut row.by_hand {
            let mut room: Vec<Vec<T>> = out[1..].iter().map(|o| vec![T::ZERO; o.len()]).collect();
            let th = self.clock.times(|| {
                std::hint::black_box(by_hand(next(), &mut room));
            });
            let mut run = |p: usize| (by_hand(p, &mut room).to_f64(), room.clone());
            let expected = strung((0..inputs.len()).map(&mut run), row.joined);
            self.line(name, "Rust, by hand", way, None, th, &expected);
            let off = difference(&answer, &expected);
            let agree = if off <= row.tolerance { "ok".into() } else { format!("OFF BY {off:.1e}") };
            floor = [format!("{:.1}", th[0]), agree];
        }
        if !self.json {
            let label = if mode.is_empty() { name.into() } else { format!("{name} ({mode})") };
            let ([tv, _], [tg, _], [floor, agree]) = (tv, tg, floor);
            let counted = counted(&row.program, &row.derivative, &options).map_or("-".into(), |c| format!("{c:.2}"));
            let ratio = tg / tv;
            println!("{label:<36} {tv:>9.1} {tg:>9.1} {ratio:>6.2} {counted:>8} {floor:>9} {prepared:>8.1}  {agree}");
        }
    }

    fn fault(&self, what: What, error: &EngineError) {
        match (what, self.json) {
            (What::Row { name, mode }, true) => println!(
                "{{\"row\": \"{name}\", \"system\": \"crease\", \"mode\": \"{mode}\", \"error\": {:?}}}",
                error.to_string()
            ),
            (What::Row { name, .. } | What::Sweep { name, .. }, _) => eprintln!("{name}: {error}"),
        }
    }

    fn sweep(&self, name: &str, size: usize, [v, vm]: [f64; 2], [g, gm]: [f64; 2]) {
        if self.json {
            println!(
                "{{\"sweep\": \"{name}\", \"system\": \"crease\", \"size\": {size}, \"value_us\": [{v}, {vm}], \
                 \"gradient_us\": [{g}, {gm}]}}"
            );
        } else {
            println!("{:<36} {v:>9.1} {g:>9.1} {:>6.2}", format!("{name}: {size}"), g / v);
        }
    }

    fn line(
        &self,
        row: &str,
        system: &str,
        mode: &str,
        compiled: Option<(f64, [f64; 2])>,
        [g, gm]: [f64; 2],
        answer: &Answer,
    ) {
        if !self.json {
            return;
        }
        let value = match compiled {
            Some((prepared, [v, vm])) => format!("\"prepare_ms\": {prepared}, \"value_us\": [{v}, {vm}]"),
            None => "\"value_us\": null".into(),
        };
        let parts: Vec<String> = answer.parts.iter().map(|g| fingerprint(g)).collect();
        println!(
            "{{\"row\": \"{row}\", \"system\": \"{system}\", \"mode\": \"{mode}\", {value}, \"gradient_us\": [{g}, {gm}], \
             \"answer\": {:e}, \"gradient\": [{}]}}",
            answer.value,
            parts.join(", ")
        );
    }
}

/// What a compiled program says at all points.
fn answer<T: Float>(code: &Compiled<T>, inputs: &[Vec<&[T]>], joined: bool) -> Answer {
    let mut w = code.workspace();
    let run = |x: &Vec<&[T]>| {
        let mut out: Vec<Vec<T>> = code.outputs().iter().map(|s| vec![T::ZERO; s.len()]).collect();
        let mut room: Vec<&mut [T]> = out.iter_mut().map(|o| &mut o[..]).collect();
        code.run(&mut w, x, &mut room).expect("runs");
        (out[0][0].to_f64(), out.split_off(1))
    };
    strung(inputs.iter().map(run), joined)
}

fn strung<T: Float>(points: impl Iterator<Item = (f64, Vec<Vec<T>>)>, joined: bool) -> Answer {
    let mut all = Answer { value: 0.0, parts: Vec::new() };
    for (value, parts) in points {
        all.value += value;
        for (k, part) in parts.iter().enumerate() {
            let k = if joined { 0 } else { k };
            if all.parts.len() <= k {
                all.parts.push(Vec::new());
            }
            all.parts[k].extend(part.iter().map(|x| x.to_f64()));
        }
    }
    all
}

/// The largest difference, relative to the largest derivative, or to the value.
fn difference(a: &Answer, b: &Answer) -> f64 {
    let scale = b.parts.iter().flatten().fold(1e-3f64, |m, x| m.max(x.abs()));
    let entries = a.parts.iter().flatten().zip(b.parts.iter().flatten());
    let worst = entries.fold(0.0f64, |m, (x, y)| m.max((x - y).abs() / scale));
    worst.max((a.value - b.value).abs() / b.value.abs().max(1.0))
}

/// How many entries, the sum of their sizes, and a sum with weights that no permutation leaves alone.
fn fingerprint(g: &[f64]) -> String {
    let weight = |i: usize| f64::from((i as u32).wrapping_mul(0x9e37_79b1)) / 2f64.powi(31) - 1.0;
    let size: f64 = g.iter().map(|g| g.abs()).sum();
    let mix: f64 = g.iter().enumerate().map(|(i, g)| weight(i) * g).sum();
    format!("[{}, {size:e}, {mix:e}]", g.len())
}

/// The counted cost of value and gradient over that of the value.
fn counted(p: &Program, derivative: &Derivative, options: &Options) -> Option<f64> {
    let Derivative::Gradient(wrt) = derivative else { return None };
    let outputs: Vec<usize> = [0].into_iter().chain(wrt.iter().map(|i| i + 1)).collect();
    let derived = simplify(&backprop(p, &options.how).ok()?.with_outputs(&outputs)?).ok()?;
    let at = |p: &Program| cost(p).at(&Prices::unit()).to_f64();
    Some(at(&derived) / at(p))
}
