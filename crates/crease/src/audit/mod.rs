//! Audits: what a network does at the kinks that real inputs hit.
//!
//! A network, inputs, and which number of it is meant enter. For each input leaves a [`Finding`]: which kinks are active, by layer, channel and place; how far the others are
//! from switching; whether the conservative gradient of the paper has one element; whether the network is differentiable there, with a certificate that was checked; what the conventions of
//! frameworks return, how far apart, and a true Clarke subgradient. A [`Summary`] says it of all inputs, and [`page`] shows it as one HTML page.
//!
//! What is exact is the network as a function of real numbers: weights and inputs are the rational numbers that their floats are. A runtime that rounds after each operation may see a tie
//! where there is none, and none where there is one; what it returns there is an element of the conservative gradient at a nearby point at best.
//!
//! ```
//! use crease::audit::{audit, Case, Options, Quiet};
//! use crease::{Rational, Shape, Tensor};
//! // the largest of two pixels, as a max-pool sees them
//! let p = crease::trace_shapes(&[Shape::vector(2)?], |x| vec![x[0].max_all()])?;
//! let image = |a: i64, b: i64| vec![Tensor::vector(vec![Rational::from(a), Rational::from(b)]).unwrap()];
//! let cases = vec![Case::new("flat", image(1, 1)), Case::new("edge", image(0, 1))];
//! let report = audit(&p, &cases, &Options::default(), &Quiet)?;
//! assert_eq!(report.findings[0].outputs[0].differentiable, "no");
//! assert_eq!(report.findings[1].outputs[0].differentiable, "yes");
//! assert_eq!((report.summary.tied, report.summary.inputs), (1, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod finding;
mod layers;
mod made;
mod measure;
mod page;
mod pool;
mod summary;

pub use finding::{Finding, Layer, Margin, OutputFinding, Subgradients, Tie};
pub use made::{Before, Made, Mismatch, Reach};
pub use page::page;
pub use pool::{Quiet, Watch};
pub use summary::{LayerSummary, Summary};

use crease_core::differentiate::Selection;
use crease_core::{Atom, BuildError, Builder, Limits, Program, Rational, Tensor, Ties};
use std::time::Duration;

/// One input of a network.
#[derive(Clone, Debug)]
pub struct Case {
    /// What to call it.
    pub name: String,
    /// The values of the inputs of the program.
    pub point: Vec<Tensor<Rational>>,
    /// What it shows, which a loss needs.
    pub label: Option<usize>,
}

impl Case {
    /// An input without a label.
    pub fn new(name: impl Into<String>, point: Vec<Tensor<Rational>>) -> Self {
        Case { name: name.into(), point, label: None }
    }
}

/// Which number of a network is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Of {
    /// Each number of its outputs.
    #[default]
    Outputs,
    /// The cross-entropy of its first output and the label: `logsumexp(y) - y[label]`.
    Loss,
}

/// How to audit.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which number is meant.
    pub of: Of,
    /// How far to go in all.
    pub limits: Limits,
    /// How long one input may take.
    pub each: Option<Duration>,
    /// The conventions to compare, by name: PyTorch's, JAX's, and PyTorch's with the first of tied elements of a maximum, unless told otherwise.
    pub presets: Vec<(String, Selection)>,
    /// How many of the smallest margins are listed.
    pub margins: usize,
    /// How many ties are listed; all of them are counted.
    pub ties: usize,
    /// Whether the certificate of each verdict is checked.
    pub certify: bool,
    /// The number of threads.
    pub threads: usize,
    /// For random directions.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            of: Of::Outputs,
            limits: Limits::default(),
            each: None,
            presets: vec![
                ("torch".into(), Selection::torch()),
                ("jax".into(), Selection::jax()),
                // kernels of max-pools look for the first of the largest, whatever the framework does elsewhere
                ("torch, max=first".into(), Selection { max: Ties::First, ..Selection::torch() }),
            ],
            margins: 10,
            ties: 2000,
            certify: true,
            threads: 1,
            seed: 0,
        }
    }
}

/// What an audit found.
#[derive(Clone, Debug)]
pub struct Report {
    /// One for each input, in order; fewer if it was stopped.
    pub findings: Vec<Finding>,
    /// What they say together.
    pub summary: Summary,
}

/// Why there is no audit at all. What goes wrong at one input is in its [`Finding`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// There is nothing to audit.
    #[error("there are no inputs to audit")]
    NoInputs,
    /// A loss of what is no list of scores.
    #[error("the loss of labels needs two scores or more in the first output of `{program}`, which has {scores}")]
    NoScores {
        /// The network.
        program: String,
        /// How many numbers its first output has.
        scores: usize,
    },
    /// An input without a label.
    #[error("{case} has no label, which its loss needs")]
    NoLabel {
        /// Which.
        case: String,
    },
    /// A label that is none of the network's.
    #[error("{case} has the label {label}; the first output of the network has {scores} scores, so labels are 0 to {}", scores - 1)]
    LabelRange {
        /// Which.
        case: String,
        /// The label.
        label: usize,
        /// How many there are.
        scores: usize,
    },
    /// An input that does not fit the network.
    #[error("{case}: {why}")]
    Unfit {
        /// Which.
        case: String,
        /// What does not fit.
        why: String,
    },
    /// The network could not be extended by its loss.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// Audits a network at all inputs, several at a time. A [`Watch`] is told of each as soon as it is done, in any order.
pub fn audit(p: &Program, cases: &[Case], options: &Options, watch: &dyn Watch) -> Result<Report, AuditError> {
    let network = Network::new(p, cases, options)?;
    let findings = pool::run(&network, cases, options, watch);
    let summary = Summary::new(&findings, cases.len());
    Ok(Report { findings, summary })
}

/// Whether a network can be audited at these inputs: what [`audit`] finds out before it begins.
///
/// ```
/// use crease::audit::{check, AuditError, Options};
/// let p = crease::trace(1, |x| crease::relu(x[0]))?;
/// assert!(matches!(check(&p, &[], &Options::default()), Err(AuditError::NoInputs)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Those of [`audit`].
pub fn check(p: &Program, cases: &[Case], options: &Options) -> Result<(), AuditError> {
    Network::new(p, cases, options).map(drop)
}

/// A network, and the programs that are asked about: itself, or its loss at each label.
pub(crate) struct Network<'p> {
    pub program: &'p Program,
    losses: Vec<Option<Program>>,
}

impl<'p> Network<'p> {
    fn new(program: &'p Program, cases: &[Case], options: &Options) -> Result<Self, AuditError> {
        if cases.is_empty() {
            return Err(AuditError::NoInputs);
        }
        for case in cases {
            let unfit = |why: String| AuditError::Unfit { case: case.name.clone(), why };
            if case.point.len() != program.inputs().len() {
                let (got, want) = (case.point.len(), program.inputs().len());
                return Err(unfit(format!("it has {got} values; the network has {want} inputs")));
            }
            for (input, value) in program.inputs().iter().zip(&case.point) {
                if input.shape != *value.shape() {
                    return Err(unfit(format!(
                        "`{}` has shape {}, its value {}",
                        input.name,
                        input.shape,
                        value.shape()
                    )));
                }
            }
        }
        let mut losses = Vec::new();
        if options.of == Of::Loss {
            let scores = program.outputs().first().map_or(0, |&o| program.atom_shape(o).len());
            if scores < 2 {
                return Err(AuditError::NoScores { program: program.name().into(), scores });
            }
            losses.resize_with(scores, || None);
            for case in cases {
                let name = || case.name.clone();
                let label = case.label.ok_or_else(|| AuditError::NoLabel { case: name() })?;
                match losses.get_mut(label) {
                    None => return Err(AuditError::LabelRange { case: name(), label, scores }),
                    Some(Some(_)) => {}
                    Some(loss) => *loss = Some(cross_entropy(program, label)?),
                }
            }
        }
        Ok(Network { program, losses })
    }

    /// The program that is asked about at an input.
    pub fn asked(&self, case: &Case) -> &Program {
        let loss = case.label.and_then(|l| self.losses.get(l)).and_then(Option::as_ref);
        loss.unwrap_or(self.program)
    }
}

/// `logsumexp(y) - y[label]` of the first output.
fn cross_entropy(p: &Program, label: usize) -> Result<Program, BuildError> {
    let mut b = Builder::new(p.name());
    let inputs =
        p.inputs().iter().map(|i| b.input(i.name.clone(), i.shape.clone())).collect::<Result<Vec<Atom>, _>>()?;
    let scores = b.splice(p, &inputs)?[0];
    let scores = b.flatten(scores)?;
    let (all, right) = (b.logsumexp(scores)?, b.at(scores, &[label])?);
    let loss = b.sub(all, right)?;
    b.finish(&[loss])
}
