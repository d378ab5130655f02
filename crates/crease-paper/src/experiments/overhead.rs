//! Theorem 2 on families of programs that grow: what derivatives cost by the model, as counted, and on the clock, against the number
//! of inputs.
//!
//! A family and a size enter; what leaves are overhead ratios, the cost of a derivative by the cost of the function. On the clock,
//! programs run compiled on one thread, and the least of several times counts, since noise only adds.

use crease::Error;
use crease::losses::Loss;
use crease::networks::{Cnn, Mlp};
use crease_core::cost::{Prices, cost};
use crease_core::differentiate::overhead;
use crease_core::differentiate::{How, Mode, backprop, forprop};
use crease_core::op::Comparison;
use crease_core::{Builder, Op, Program, Shape, trace_shapes};
use crease_engine::{Compiled, EngineError, Options, Workspace, compile, value_and_grad};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A family of programs, one for each size.
///
/// ```
/// use crease_paper::experiments::overhead::Family;
/// let p = Family::Sorting.program(10)?;
/// assert_eq!(p.dimension(), 10);
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// A network of two hidden ReLU layers with squared loss, by its weights and inputs.
    Mlp,
    /// A convolution, ReLU, max-pooling and a dense layer with squared loss, by its weights and inputs.
    Cnn,
    /// The sum of the l1 and the l-infinity norm.
    Norms,
    /// The sum of sorted numbers, each times its rank.
    Sorting,
    /// The square of the norm near 0, linear growth far from it: a selection function.
    Selection,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Family::Mlp => "MLP",
            Family::Cnn => "CNN",
            Family::Norms => "norms",
            Family::Sorting => "sorting",
            Family::Selection => "selection",
        })
    }
}

impl Family {
    /// All of them.
    ///
    /// ```
    /// assert_eq!(crease_paper::experiments::overhead::Family::ALL.len(), 5);
    /// ```
    pub const ALL: [Family; 5] = [Family::Mlp, Family::Cnn, Family::Norms, Family::Sorting, Family::Selection];

    /// The program whose number of inputs is about `p`, and exactly that but for networks.
    ///
    /// ```
    /// use crease_paper::experiments::overhead::Family;
    /// let p = Family::Mlp.program(1000)?.dimension();
    /// assert!((500..2000).contains(&p), "{p}");
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn program(self, p: usize) -> Result<Program, Error> {
        match self {
            Family::Mlp => {
                // weights of two square layers make up most of the inputs
                let width = (((p / 2) as f64).sqrt() as usize).max(2) - 1;
                Mlp::new(&[width, width, width, 1]).loss_program(1, Loss::Squared)
            }
            Family::Cnn => {
                let side = (((p / 3) as f64).sqrt() as usize / 2 * 2).max(2);
                Cnn::new((1, side, side))
                    .padded_conv(2, (3, 3), (1, 1))
                    .activation(crease::networks::Activation::Relu)
                    .max_pool((2, 2))
                    .flatten()
                    .dense(2)
                    .loss_program(1, Loss::Squared)
            }
            Family::Norms => Ok(trace_shapes(&[Shape::vector(p)?], |x| vec![x[0].norm1() + x[0].norminf()])?),
            Family::Sorting => Ok(trace_shapes(&[Shape::vector(p)?], |x| {
                let ranks = x[0].tape().tensor(x[0].shape(), (1..=p).map(|k| k as f64).collect());
                vec![(x[0].sort(0) * ranks).sum()]
            })?),
            Family::Selection => selection_function(p),
        }
    }
}

/// `|x|^2` where that is below 1, else `2 |x| - 1`: a selection function of p inputs.
pub(crate) fn selection_function(p: usize) -> Result<Program, Error> {
    let shape = [Shape::vector(p)?];
    let square = trace_shapes(&shape, |x| vec![(x[0] * x[0]).sum()])?.renamed("near");
    let norm = trace_shapes(&shape, |x| vec![2.0 * crease_core::sqrt((x[0] * x[0]).sum()) - 1.0])?.renamed("far");
    let mut b = Builder::new("selection");
    let x = b.input("x", shape[0].clone())?;
    let size = b.callee(Arc::new(square.clone().renamed("size")), None)?;
    let pieces = [b.callee(Arc::new(square), None)?, b.callee(Arc::new(norm), None)?];
    let s = b.push1(Op::Call(size), &[x])?;
    let one = b.constant(1);
    let near = b.compare(Comparison::Less, s, one)?;
    let chosen = b.push1(Op::Select(pieces.into()), &[near, x])?;
    Ok(b.finish(&[chosen])?)
}

/// Overhead ratios of one program, by the model of Theorem 2, as counted on the programs emitted, and on the clock.
///
/// ```
/// use crease_paper::experiments::overhead::{measure, Family};
/// let m = measure(Family::Norms, 100, None)?;
/// assert!(m.counted.0 <= m.model.0 && m.model.0 <= m.omega.0); // backward
/// assert!(m.counted.1 <= m.model.1 && m.model.1 <= m.omega.1); // forward
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The number of inputs.
    pub p: usize,
    /// The cost of the program at unit prices.
    pub cost: f64,
    /// Theorem 2's bounds, backward and forward.
    pub omega: (f64, f64),
    /// The operation that attains each bound.
    pub attained: (String, String),
    /// The model's costs over the cost of the program, backward and forward.
    pub model: (f64, f64),
    /// The counted costs over it.
    pub counted: (f64, f64),
    /// Times over the time of the program: of value and gradient, and of forward mode where it was short enough to run.
    pub clock: Option<(f64, Option<f64>)>,
}

/// The largest program of forward mode that is run: it has p tangents for every value.
const FORWARD_NUMBERS: f64 = 3e6;

/// Measures one program of a family; on the clock as well if there is time to spend on each of its programs.
///
/// ```
/// use crease_paper::experiments::overhead::{measure, Family};
/// let small = measure(Family::Selection, 16, None)?;
/// let large = measure(Family::Selection, 256, None)?;
/// assert!(large.counted.0 < 1.2 * small.counted.0 && large.counted.1 > 10.0 * small.counted.1);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub fn measure(
    family: Family,
    p: usize,
    time: Option<Duration>,
) -> Result<Measured, Box<dyn std::error::Error + Send + Sync>> {
    let program = family.program(p)?;
    let (how, prices) = (How::default(), Prices::unit());
    let unit = |p: &Program| cost(p).at(&prices).to_f64();
    let base = unit(&program);
    let bound = |mode| overhead(&program, &how, mode, &prices);
    let (back, forth) = (bound(Mode::Backward)?, bound(Mode::Forward)?);
    let forward = forprop(&program, &how)?;
    let number = |r: &Option<crease_core::Rational>| r.as_ref().map_or(f64::INFINITY, |r| r.to_f64());
    let name = |a: &crease_core::differentiate::Overhead| a.attained.as_ref().map_or("none".into(), |a| a.item.clone());
    let clock = match time {
        None => None,
        Some(time) => {
            let options = Options::default();
            let mut programs =
                vec![compile::<f64>(&program, &options)?, value_and_grad::<f64>(&program, &[], &options)?];
            if base * program.dimension() as f64 <= FORWARD_NUMBERS {
                programs.push(compile::<f64>(&forward, &options)?);
            }
            let times = least(&programs, time)?;
            Some((times[1] / times[0], times.get(2).map(|t| t / times[0])))
        }
    };
    Ok(Measured {
        p: program.dimension(),
        cost: base,
        omega: (number(&back.omega), number(&forth.omega)),
        attained: (name(&back), name(&forth)),
        model: (back.model.at(&prices).to_f64() / base, forth.model.at(&prices).to_f64() / base),
        counted: (unit(&backprop(&program, &how)?) / base, unit(&forward) / base),
        clock,
    })
}

/// The least time of a run of each, in seconds, within some time for each, at a point without ties. Short runs are timed in groups.
/// All take turns, so that a machine that is busy for a while is busy for all of them.
fn least(programs: &[Compiled<f64>], time: Duration) -> Result<Vec<f64>, EngineError> {
    let numbers = |shapes: &[Shape], draw: &dyn Fn(usize) -> f64| -> Vec<Vec<f64>> {
        shapes.iter().map(|s| (0..s.len()).map(draw).collect()).collect()
    };
    struct Timed {
        inputs: Vec<Vec<f64>>,
        outputs: Vec<Vec<f64>>,
        workspace: Workspace<f64>,
        best: f64,
        group: u32,
        spent: Duration,
    }
    let mut all: Vec<Timed> = programs
        .iter()
        .map(|c| Timed {
            inputs: numbers(c.inputs(), &|i| ((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0),
            outputs: numbers(c.outputs(), &|_| 0.0),
            workspace: c.workspace(),
            best: f64::INFINITY,
            group: 1,
            spent: Duration::ZERO,
        })
        .collect();
    loop {
        let waiting = all.iter_mut().zip(programs).filter(|(t, _)| t.best.is_infinite() || t.spent < time);
        let Some((t, c)) = waiting.min_by_key(|(t, _)| t.spent) else { break };
        let inputs: Vec<&[f64]> = t.inputs.iter().map(|x| &x[..]).collect();
        let mut outputs: Vec<&mut [f64]> = t.outputs.iter_mut().map(|x| &mut x[..]).collect();
        // the first run finds what the others have left in the caches
        c.run(&mut t.workspace, &inputs, &mut outputs)?;
        let start = Instant::now();
        for _ in 0..t.group {
            c.run(&mut t.workspace, &inputs, &mut outputs)?;
        }
        let taken = start.elapsed();
        t.spent += taken;
        t.best = t.best.min(taken.as_secs_f64() / f64::from(t.group));
        if taken < Duration::from_micros(20) && t.group < 1 << 20 {
            t.group *= 2;
        }
    }
    Ok(all.iter().map(|t| t.best).collect())
}
