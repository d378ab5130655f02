//! relu'(0) = 0, 1/2, 1 or a Clarke subgradient: how often it is asked, and whether it matters.

use super::{Oracle, Plan, Trained, TrainingError, rounded, train};
use crease::Error;
use crease::losses::Loss;
use crease::networks::Mlp;
use crease_core::differentiate::Selection;
use crease_core::random::SplitMix64;
use crease_core::{Number, Rational, Shape, Tensor, run};

/// In which numbers a network is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// In f64.
    Double,
    /// In f32.
    Single,
    /// In f32, with data on a grid of 2^-data and weights rounded to multiples of 2^-weights after each step.
    Grid {
        /// The binary digits of the data after the point.
        data: u32,
        /// The binary digits of the weights after the point.
        weights: u32,
    },
}

/// What is trained: a perceptron with relu, on points of a square, to tell those inside a circle.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// The sizes of the hidden layers.
    pub hidden: Vec<usize>,
    /// The number of examples.
    pub examples: usize,
    /// The number of examples in a batch; it should divide the former.
    pub batch: usize,
    /// The number of steps.
    pub steps: usize,
    /// The rate.
    pub rate: f64,
    /// The seed of data and first weights.
    pub seed: u64,
    /// In which numbers.
    pub precisions: Vec<Precision>,
}

impl Default for Study {
    fn default() -> Self {
        Study {
            hidden: vec![8, 8],
            examples: 64,
            batch: 16,
            steps: 200,
            rate: 0.1,
            seed: 1,
            precisions: vec![Precision::Double, Precision::Single, Precision::Grid { data: 3, weights: 6 }],
        }
    }
}

/// How one training went.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What stood in for the gradient.
    pub oracle: &'static str,
    /// In which numbers.
    pub precision: Precision,
    /// How many relus were evaluated.
    pub relus: usize,
    /// How many of them at 0.
    pub kinks: usize,
    /// In how many steps at least one was.
    pub steps_at_kinks: usize,
    /// The loss on its batch before each step.
    pub losses: Vec<f64>,
    /// The loss on all examples in the end, computed in f64.
    pub final_loss: f64,
    /// The share of examples with the right sign in the end.
    pub accuracy: f64,
    /// The first step after which the weights differ from those with relu'(0) = 0 in the same numbers, if there is one.
    pub parted: Option<usize>,
    /// The largest difference between a weight in the end and the same one with relu'(0) = 0.
    pub distance: f64,
}

/// Trains the same network from the same weights on the same batches with every oracle, in all given precisions.
///
/// ```
/// use crease_paper::experiments::training::{Precision, Study, relu_at_zero};
/// let study = Study { steps: 5, precisions: vec![Precision::Double], ..Study::default() };
/// let outcomes = relu_at_zero(&study)?;
/// let names: Vec<&str> = outcomes.iter().map(|o| o.oracle).collect();
/// assert_eq!(names, ["relu'(0) = 0", "relu'(0) = 1/2", "relu'(0) = 1", "Clarke"]);
/// assert!(outcomes.iter().all(|o| o.losses.len() == 5));
/// # Ok::<(), crease_paper::experiments::training::TrainingError>(())
/// ```
pub fn relu_at_zero(study: &Study) -> Result<Vec<Outcome>, TrainingError> {
    if study.batch == 0 || !study.examples.is_multiple_of(study.batch) {
        let got = format!("{} for {} examples", study.batch, study.examples);
        return Err(Error::Parameter { what: "the batch", expected: "a divisor of the number of examples", got }.into());
    }
    let mut out = Vec::new();
    for &precision in &study.precisions {
        match precision {
            Precision::Double => out.extend(in_numbers::<f64>(study, precision)?),
            Precision::Single | Precision::Grid { .. } => out.extend(in_numbers::<f32>(study, precision)?),
        }
    }
    Ok(out)
}

fn oracles(seed: u64) -> [(&'static str, Oracle); 4] {
    let relu =
        |n, d| Oracle::Selection(Selection { relu: Rational::new(n, d).unwrap_or_default(), ..Selection::paper() });
    [
        ("relu'(0) = 0", relu(0, 1)),
        ("relu'(0) = 1/2", relu(1, 2)),
        ("relu'(0) = 1", relu(1, 1)),
        ("Clarke", Oracle::Clarke { seed }),
    ]
}

/// All of it in one kind of numbers.
fn in_numbers<N: Number>(study: &Study, precision: Precision) -> Result<Vec<Outcome>, TrainingError> {
    let (data_bits, grid) = match precision {
        Precision::Grid { data, weights } => (Some(data), Some(weights)),
        _ => (None, None),
    };
    let mut sizes = vec![2];
    sizes.extend(&study.hidden);
    sizes.push(1);
    let mlp = Mlp::new(&sizes);
    let program = mlp.loss_program(study.batch, Loss::Squared)?;
    let last = program.inputs().len() - 1;
    let trained: Vec<usize> = (1..last).collect();
    let plan = Plan { program: &program, trained: &trained, rate: study.rate, steps: study.steps, grid };

    let (points, targets) = data(study, data_bits)?;
    let shape = |columns: usize, rows: usize| Shape::new([rows, columns]).map_err(Error::from);
    let tensor = |columns: usize, data: &[f64]| -> Result<Tensor<N>, TrainingError> {
        let numbers = data.iter().map(|&x| super::from_f64(x)).collect::<Result<Vec<N>, _>>()?;
        let shape = shape(columns, data.len() / columns)?;
        let got = numbers.len();
        Ok(Tensor::new(shape, numbers).ok_or(Error::Length { what: "the data", expected: got, got })?)
    };
    let mut batches = Vec::new();
    for (x, t) in points.chunks(2 * study.batch).zip(targets.chunks(study.batch)) {
        batches.push(vec![(0, tensor(2, x)?), (last, tensor(1, t)?)]);
    }
    let mut start = vec![batches[0][0].1.clone()];
    for w in mlp.weights(study.seed)? {
        let numbers = w.data().iter().map(|&x| {
            let x: N = super::from_f64(x)?;
            grid.map_or(Ok(x.clone()), |bits| rounded(&x, bits))
        });
        start.extend(Tensor::new(w.shape().clone(), numbers.collect::<Result<Vec<N>, _>>()?));
    }
    start.push(batches[0][1].1.clone());

    let mut first: Option<Trained<N>> = None;
    let mut out = Vec::new();
    for (name, oracle) in oracles(study.seed) {
        let ran = train(&plan, &oracle, start.clone(), &batches)?;
        let reference = first.get_or_insert_with(|| ran.clone());
        let weights = |t: &Trained<N>| -> Vec<f64> {
            t.inputs[1..last].iter().flat_map(|w| w.data().iter().map(Number::to_f64)).collect()
        };
        let gaps = weights(&ran).into_iter().zip(weights(reference)).map(|(a, b)| (a - b).abs());
        let (final_loss, accuracy) = evaluate(&mlp, &ran.inputs[1..last], &points, &targets)?;
        out.push(Outcome {
            oracle: name,
            precision,
            relus: study.hidden.iter().sum::<usize>() * study.batch * study.steps,
            kinks: ran.kinks.iter().sum(),
            steps_at_kinks: ran.kinks.iter().filter(|k| **k > 0).count(),
            final_loss,
            accuracy,
            parted: ran.states.iter().zip(&reference.states).position(|(a, b)| a != b),
            distance: gaps.fold(0.0, f64::max),
            losses: ran.losses,
        });
    }
    Ok(out)
}

/// Points of the square from -1 to 1, on a grid if asked for, and 1 or -1 for inside and outside a circle of half its area.
fn data(study: &Study, bits: Option<u32>) -> Result<(Vec<f64>, Vec<f64>), TrainingError> {
    let mut random = SplitMix64::new(study.seed ^ 0x5eed);
    let mut points = Vec::with_capacity(2 * study.examples);
    for _ in 0..2 * study.examples {
        let x = (random.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        points.push(bits.map_or(Ok(x), |b| rounded(&x, b))?);
    }
    let inside = |x: &[f64]| x[0] * x[0] + x[1] * x[1] < 2.0 / std::f64::consts::PI;
    let targets = points.chunks(2).map(|x| if inside(x) { 1.0 } else { -1.0 }).collect();
    Ok((points, targets))
}

/// The loss on all examples, and the share of them with the right sign.
fn evaluate<N: Number>(
    mlp: &Mlp,
    weights: &[Tensor<N>],
    points: &[f64],
    targets: &[f64],
) -> Result<(f64, f64), TrainingError> {
    let n = targets.len();
    let x = Tensor::new(Shape::new([n, 2]).map_err(Error::from)?, points.to_vec());
    let inputs: Vec<Tensor<f64>> = x.into_iter().chain(weights.iter().map(|w| w.map(Number::to_f64))).collect();
    let outputs = run(&mlp.program(n)?, &inputs).map_err(Error::from)?;
    let pairs = || outputs[0].data().iter().zip(targets);
    let loss = pairs().map(|(y, t)| (y - t) * (y - t)).sum::<f64>() / n as f64;
    let right = pairs().filter(|(y, t)| *y * *t > 0.0).count();
    Ok((loss, right as f64 / n as f64))
}
