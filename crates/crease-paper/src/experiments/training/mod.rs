//! First-order oracles at work: gradient descent with what is picked at kinks as the one thing that changes.
//!
//! A program, a starting point, batches and an [`Oracle`] enter [`train`]; out come the losses, how many elements were at a kink in every
//! step, and where it ended. Elements of conservative gradients can stand in for gradients with convergence guaranties (Section 2 of the paper);
//! how much it matters which one is picked depends on how often there is something to pick. [`relu_at_zero`] asks that, after
//! Bertoin, Bolte, Gerchinovitz and Pauwels, *Numerical influence of ReLU'(0) on backpropagation* (2021), for relu'(0) = 0, 1/2, 1 and for
//! Clarke subgradients, in double, in single and in low precision.
//!
//! Everything runs in the reference interpreter, which is what tells kinks; this is an instrument for small programs, and
//! nothing to train networks with.

mod study;

pub use study::{Outcome, Precision, Study, relu_at_zero};

use crease::Error;
use crease_core::differentiate::{How, Selection, gradient};
use crease_core::local::{LocalError, localize};
use crease_core::{BuildError, Number, Program, Rational, Tensor, kinks, run, simplify};
use crease_oracles::{OracleError, clarke_element};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What stands in for the gradient.
#[derive(Clone, Debug, PartialEq)]
pub enum Oracle {
    /// Backprop with a selection.
    Selection(Selection),
    /// A Clarke subgradient at the point as it stands, in exact arithmetic: the limit of gradients along a random direction. Where the run
    /// meets no kink that is the gradient, which backprop gives.
    Clarke {
        /// The seed of the directions.
        seed: u64,
    },
}

/// What is trained, and how.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The loss: one scalar output.
    pub program: &'a Program,
    /// The numbers of the inputs that move.
    pub trained: &'a [usize],
    /// The length of a step: minus this times the gradient.
    pub rate: f64,
    /// How many steps.
    pub steps: usize,
    /// If given, trained numbers are rounded to multiples of 2^-grid after each step.
    pub grid: Option<u32>,
}

/// How a training went.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained<N> {
    /// The loss on its batch before each step.
    pub losses: Vec<f64>,
    /// How many elements were at a kink in each step.
    pub kinks: Vec<usize>,
    /// A fingerprint of the trained numbers after each step: two runs whose fingerprints agree have, in all likelihood, the same bits.
    pub states: Vec<u64>,
    /// All inputs at the end.
    pub inputs: Vec<Tensor<N>>,
}

/// Why a training stopped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TrainingError {
    /// The program could not be differentiated or run.
    #[error(transparent)]
    Program(#[from] Error),
    /// The program has no local model at a point that it came to.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// There is no Clarke subgradient.
    #[error(transparent)]
    Oracle(#[from] OracleError),
}

impl From<BuildError> for TrainingError {
    fn from(e: BuildError) -> Self {
        Error::from(e).into()
    }
}

/// Gradient descent with an oracle.
///
/// In step k the inputs in `batches[k % batches.len()]` are put in place first; without batches the inputs stay as they are.
///
/// ```
/// use crease_paper::experiments::training::{Oracle, Plan, train};
/// use crease::{Selection, Tensor, abs, trace};
/// // |x| from 3/4 with steps of 1/4: it comes to the kink and, with slope 0 there, stays
/// let p = trace(1, |x| abs(x[0]))?;
/// let plan = Plan { program: &p, trained: &[0], rate: 0.25, steps: 5, grid: None };
/// let ran = train(&plan, &Oracle::Selection(Selection::torch()), vec![Tensor::scalar(0.75)], &[])?;
/// assert_eq!(ran.losses, [0.75, 0.5, 0.25, 0.0, 0.0]);
/// assert_eq!(ran.kinks, [0, 0, 0, 1, 1]);
/// // a Clarke oracle never answers 0 there: it is on one side or on the other
/// let ran = train(&plan, &Oracle::Clarke { seed: 1 }, vec![Tensor::scalar(0.75)], &[])?;
/// assert_eq!(ran.losses[4], 0.25);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn train<N: Number>(
    plan: &Plan<'_>,
    oracle: &Oracle,
    start: Vec<Tensor<N>>,
    batches: &[Vec<(usize, Tensor<N>)>],
) -> Result<Trained<N>, TrainingError> {
    let p = plan.program;
    let known = |i: usize| if i < p.inputs().len() { Ok(i) } else { Err(no_input(p, i)) };
    plan.trained.iter().chain(batches.iter().flatten().map(|(i, _)| i)).try_for_each(|&i| known(i).map(drop))?;
    let (selection, mut seed) = match oracle {
        Oracle::Selection(s) => (s.clone(), None),
        Oracle::Clarke { seed } => (Selection::default(), Some(*seed)),
    };
    let all = gradient(p, &How::default().select(selection)).map_err(Error::from)?;
    // without a trained input there is nothing to run
    let derived = all.with_outputs(plan.trained).map(|d| simplify(&d)).transpose()?;
    let rate = from_f64::<N>(plan.rate)?;
    let mut inputs = start;
    let mut out = Trained { losses: Vec::new(), kinks: Vec::new(), states: Vec::new(), inputs: Vec::new() };
    for step in 0..plan.steps {
        if !batches.is_empty() {
            for (i, value) in &batches[step % batches.len()] {
                let missing = || Error::Length { what: "the list of inputs", expected: p.inputs().len(), got: *i };
                *inputs.get_mut(*i).ok_or_else(missing)? = value.clone();
            }
        }
        let (values, hits) = kinks(p, &inputs).map_err(Error::from)?;
        let met: usize = hits.iter().map(|h| h.elements).sum();
        out.losses.push(values[0].data()[0].to_f64());
        out.kinks.push(met);
        let slopes: Vec<Vec<N>> = match (&mut seed, &derived) {
            (Some(seed), _) if met > 0 => {
                *seed = seed.wrapping_add(1);
                clarke(p, plan.trained, &inputs, *seed)?
            }
            (_, Some(d)) => run(d, &inputs).map_err(Error::from)?.into_iter().map(Tensor::into_data).collect(),
            (_, None) => Vec::new(),
        };
        let mut state = DefaultHasher::new();
        for (&i, slope) in plan.trained.iter().zip(slopes) {
            let moved = inputs[i].data().iter().zip(&slope).map(|(w, g)| {
                let w = w.sub(&rate.mul(g));
                plan.grid.map_or(Ok(w.clone()), |bits| rounded(&w, bits))
            });
            let moved = moved.collect::<Result<Vec<N>, TrainingError>>()?;
            moved.iter().for_each(|w| w.to_f64().to_bits().hash(&mut state));
            if let Some(tensor) = Tensor::new(inputs[i].shape().clone(), moved) {
                inputs[i] = tensor;
            }
        }
        out.states.push(state.finish());
    }
    out.inputs = inputs;
    Ok(out)
}

fn no_input(p: &Program, number: usize) -> Error {
    Error::Length { what: "the list of inputs", expected: number + 1, got: p.inputs().len() }
}

/// A Clarke subgradient by some of the inputs.
fn clarke<N: Number>(
    p: &Program,
    trained: &[usize],
    inputs: &[Tensor<N>],
    seed: u64,
) -> Result<Vec<Vec<N>>, TrainingError> {
    let exact = |t: &Tensor<N>| t.map(|x| Rational::from_f64(x.to_f64()).unwrap_or_default());
    let at: Vec<Tensor<Rational>> = inputs.iter().map(exact).collect();
    let element = clarke_element(&localize(p, &at)?, 0, seed)?;
    let starts: Vec<usize> = inputs
        .iter()
        .scan(0, |sum, t| {
            *sum += t.data().len();
            Some(*sum - t.data().len())
        })
        .collect();
    let part = |&i: &usize| {
        let numbers = &element.gradient[starts[i]..][..inputs[i].data().len()];
        // rounded as the nearest double first, so that it is as long as a number of a run
        numbers.iter().map(|g| from_f64(g.to_f64())).collect::<Result<Vec<N>, TrainingError>>()
    };
    trained.iter().map(part).collect()
}

fn from_f64<N: Number>(x: f64) -> Result<N, TrainingError> {
    let number = Rational::from_f64(x).ok_or(Error::Build(BuildError::NotFinite(x)))?;
    N::from_rational(&number).map_err(|e| Error::Run(crease_core::RunError { fault: e.into(), site: None }).into())
}

/// The nearest multiple of 2^-bits.
fn rounded<N: Number>(x: &N, bits: u32) -> Result<N, TrainingError> {
    let scale = 2f64.powi(bits.min(1000) as i32);
    from_f64((x.to_f64() * scale).round() / scale)
}
