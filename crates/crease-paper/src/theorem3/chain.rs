//! The proof of Theorem 3 as a chain of programs, each verified and costed.
//!
//! A program P' of the p directional derivatives enters ([`prove`]), or one of ours is taken ([`chain`]); the chain of the proof
//! leaves, [`Chain`]: P_0 sums the outputs, P_1 has constants for ReLU', P_2 multiplications by constants for ReLU, backprop
//! differentiates P_2, and its gradient by M is B A^T. So a product of matrices costs at most 5 (cost(P') + p).
//!
//! Every step is run on random exact data, see `verify`. A step that computes something else or costs more than the proof
//! allows is an error: a `Chain` that exists holds.

use super::constants::{fix_relu_derivatives, replace_relus};
use super::data::{Data, Matrix};
use super::function::{Derivative, function, in_dictionary, matrix};
use super::verify::Test;
use crease::Error;
use crease_core::cost::{ItemKind, Tally, cost, tally};
use crease_core::dictionary::{Dictionary, LowerError, lower};
use crease_core::differentiate::{DiffError, How, backprop};
use crease_core::local::LocalError;
use crease_core::op::KinkKind;
use crease_core::random::SplitMix64;
use crease_core::{Builder, InlineError, Program, Rational, Shape, inline, scalarize, simplify};
use crease_oracles::OracleError;
use std::fmt;

/// Why there is no chain.
///
/// ```
/// use crease::trace;
/// use crease_paper::theorem3::{prove, ProofError, Stage};
/// // 2 |b m a| is not the derivative of |b m x| along a
/// let wrong = trace(3, |y| 2.0 * crease::abs(y[0] * y[1] * y[2]))?;
/// let error = prove(1, &wrong, 0).unwrap_err();
/// assert!(matches!(error, ProofError::Disagrees { stage: Stage::Directional, .. }));
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// There is no Hadamard matrix, or a program could not be built, derived or run.
    #[error(transparent)]
    Program(#[from] Error),
    /// P' does not take B, M and A, or does not return p numbers.
    #[error(
        "a program of {order} directional derivatives takes 3 x {order} x {order} numbers, B, M and A, and returns {order}; \
         this one takes {inputs} and returns {outputs}"
    )]
    Shape {
        /// p.
        order: usize,
        /// How many numbers it takes.
        inputs: usize,
        /// How many it returns.
        outputs: usize,
    },
    /// P' uses an operation that the theorem's dictionary does not have.
    #[error("`{0}` is not in the dictionary {{+, x, ReLU, ReLU', +c, xc}}")]
    Dictionary(String),
    /// P' cannot be rewritten in the theorem's dictionary.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// The local model of F at 0, against which P' is checked, could not be made.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// The directional derivatives, against which P' is checked, could not be computed.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// A program computes something else than the proof says.
    #[error("{stage} does not compute {expected}, in {numbers}")]
    Disagrees {
        /// Which one.
        stage: Stage,
        /// What it should compute.
        expected: &'static str,
        /// In which numbers.
        numbers: &'static str,
    },
    /// A program costs more than the proof says.
    #[error("{stage} costs {cost}, more than {allowed}")]
    Dear {
        /// Which one.
        stage: Stage,
        /// What it costs.
        cost: u128,
        /// What the proof allows.
        allowed: u128,
    },
}

impl From<InlineError> for ProofError {
    fn from(e: InlineError) -> Self {
        Error::from(DiffError::from(e)).into()
    }
}

impl From<crease_core::BuildError> for ProofError {
    fn from(e: crease_core::BuildError) -> Self {
        Error::from(e).into()
    }
}

/// A step of the proof, and the program that stands at its end.
///
/// ```
/// use crease_paper::theorem3::Stage;
/// let names: Vec<String> = Stage::ALL.iter().map(|s| s.to_string()).collect();
/// assert_eq!(names, ["P'", "P_0", "P_1", "P_2", "(P_2, D_2)", "D_2", "B A^T"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// P': the p directional derivatives, scalar and of level 1, over {+, x, ReLU, ReLU', +c, xc}.
    Directional,
    /// P_0: their sum, which on S is G = Tr(M A B^T).
    Sum,
    /// P_1: ReLU' replaced by constants.
    Fixed,
    /// P_2: ReLU replaced by multiplications with constants, over {+, x, +c, xc}. It is G everywhere.
    Polynomial,
    /// Value and gradient of P_2, by backprop, over {+, x, +c, xc}.
    Backprop,
    /// D_2: of that, what the gradient by M needs.
    Gradient,
    /// The same with M = 0, on which it does not depend: a program of A and B.
    Product,
}

impl Stage {
    /// All of them, in the order of the proof.
    ///
    /// ```
    /// use crease_paper::theorem3::Stage;
    /// assert_eq!(Stage::ALL.first(), Some(&Stage::Directional));
    /// ```
    pub const ALL: [Stage; 7] = [
        Stage::Directional,
        Stage::Sum,
        Stage::Fixed,
        Stage::Polynomial,
        Stage::Backprop,
        Stage::Gradient,
        Stage::Product,
    ];
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Directional => "P'",
            Stage::Sum => "P_0",
            Stage::Fixed => "P_1",
            Stage::Polynomial => "P_2",
            Stage::Backprop => "(P_2, D_2)",
            Stage::Gradient => "D_2",
            Stage::Product => "B A^T",
        })
    }
}

/// A program of the chain, with what was found out about it.
///
/// ```
/// use crease_paper::theorem3::{chain, Derivative, Stage};
/// let chain = chain(2, Derivative::Columns, 0)?;
/// let step = chain.step(Stage::Polynomial).unwrap();
/// assert_eq!((step.cost, step.allowed), (57, Some(57))); // exactly that of P_1
/// assert!(step.tally.to_string().starts_with("16 *,"));
/// assert!(step.rational_points > 0 && step.field_points > 0);
/// # Ok::<(), crease_paper::theorem3::ProofError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Step {
    /// Which step.
    pub stage: Stage,
    /// The program; inputs are the scalars of B, M and A, without those of M in the last step.
    pub program: Program,
    /// How often it applies which operation.
    pub tally: Tally,
    /// Its cost at unit prices.
    pub cost: u128,
    /// What the proof allows it to cost; of P', nothing is assumed.
    pub allowed: Option<u128>,
    /// At how many random points it was verified in rationals.
    pub rational_points: usize,
    /// At how many random points it was verified in the prime field; none as long as it compares.
    pub field_points: usize,
}

/// The proof of Theorem 3, carried out on one P'. Everything in it has been verified.
///
/// ```
/// use crease_paper::theorem3::{chain, Derivative, Stage};
/// let chain = chain(4, Derivative::Forward, 7)?;
/// assert_eq!(chain.function_cost, 6 * 16 + 2 * 4);
/// assert_eq!(chain.relu_derivatives, 2 * 4 * 4); // all 2p relus for each direction
/// assert!(chain.step(Stage::Product).unwrap().cost <= chain.bound);
/// # Ok::<(), crease_paper::theorem3::ProofError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chain {
    /// p.
    pub order: usize,
    /// cost(P_F) = 6 p^2 + 2 p.
    pub function_cost: u128,
    /// The number of ReLU' nodes in P', fixed in P_1.
    pub relu_derivatives: usize,
    /// The number of ReLU nodes in P_1, multiplications in P_2.
    pub relus: usize,
    /// How many of both had the argument 0 at the point where they were fixed; 0 unless they are 0 everywhere.
    pub on_kinks: usize,
    /// 5 (cost(P') + p), what the product of matrices may cost.
    pub bound: u128,
    /// 2 p^3 - p^2, what the naive product costs.
    pub naive: u128,
    /// The programs, from P' to the product.
    pub steps: Vec<Step>,
}

impl Chain {
    /// The step of that name.
    ///
    /// ```
    /// use crease_paper::theorem3::{chain, Derivative, Stage};
    /// assert_eq!(chain(1, Derivative::Columns, 0)?.step(Stage::Sum).unwrap().stage, Stage::Sum);
    /// # Ok::<(), crease_paper::theorem3::ProofError>(())
    /// ```
    pub fn step(&self, stage: Stage) -> Option<&Step> {
        self.steps.iter().find(|s| s.stage == stage)
    }

    /// The overhead cost(P') / cost(P_F).
    ///
    /// ```
    /// use crease_paper::theorem3::{chain, Derivative};
    /// assert_eq!(chain(4, Derivative::Columns, 0)?.overhead(), 4.0); // F once for each direction
    /// # Ok::<(), crease_paper::theorem3::ProofError>(())
    /// ```
    pub fn overhead(&self) -> f64 {
        self.step(Stage::Directional).map_or(0, |s| s.cost) as f64 / self.function_cost as f64
    }
}

/// Carries the proof out on our own program of directional derivatives, with random data from a seed.
///
/// ```
/// use crease_paper::theorem3::{chain, Derivative, Stage};
/// let chain = chain(2, Derivative::Columns, 1)?;
/// let costs: Vec<u128> = chain.steps.iter().map(|s| s.cost).collect();
/// assert_eq!(costs[..4], [56, 57, 57, 57]);
/// assert_eq!(chain.bound, 5 * (56 + 2));
/// // what is left in the end is a product of 2 x 2 matrices
/// assert_eq!(chain.steps[6].program.inputs().len(), 8);
/// # Ok::<(), crease_paper::theorem3::ProofError>(())
/// ```
pub fn chain(p: usize, how: Derivative, seed: u64) -> Result<Chain, ProofError> {
    prove(p, &in_dictionary(p, how)?, seed)
}

/// Carries the proof out on any program P' of the directional derivatives of [`function`] at 0: it takes the p × p matrices B,
/// M and A, as tensors or as scalars, and returns p numbers. `-` and what else can be written in the theorem's dictionary is
/// rewritten first.
///
/// ```
/// use crease::{abs, trace};
/// use crease_paper::theorem3::{prove, Stage};
/// // for p = 1, F(x, b, m) = |b m x|
/// let chain = prove(1, &trace(3, |y| abs(y[0] * (y[1] * y[2])))?, 0)?;
/// assert_eq!(chain.step(Stage::Directional).unwrap().cost, 6); // |t| by two relus, a sign and a sum
/// assert_eq!(chain.step(Stage::Product).unwrap().tally.to_string(), "1 *");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prove(p: usize, derivatives: &Program, seed: u64) -> Result<Chain, ProofError> {
    let u: Matrix = matrix(p)?.into_iter().map(|row| row.into_iter().map(Rational::from).collect()).collect();
    let inputs = derivatives.dimension();
    let outputs = derivatives.outputs().iter().map(|&o| derivatives.atom_shape(o).len()).sum();
    if (inputs, outputs) != (3 * p * p, p) {
        return Err(ProofError::Shape { order: p, inputs, outputs });
    }
    let first = lower(&scalarize(&inline(derivatives)?)?, Dictionary::ReluDerived)?.renamed("directional");
    let arithmetic = |kind| matches!(kind, ItemKind::Add | ItemKind::Mul | ItemKind::Kink(KinkKind::Relu));
    if let Some((item, _)) = tally(&first).iter().find(|(item, _)| !arithmetic(item.kind)) {
        return Err(ProofError::Dictionary(item.name()));
    }
    let mut random = SplitMix64::new(seed);
    let test = Test::new(p, u, &mut random);
    let mut steps: Vec<Step> = Vec::with_capacity(Stage::ALL.len());

    test.derivatives(&first)?;
    test.oracle(p)?;
    push(&mut steps, Stage::Directional, first, None, (test.inside.len() + test.outside.len(), 0))?;

    let sum = summed(&steps[0].program)?;
    test.on_s(Stage::Sum, &sum)?;
    let allowed = steps[0].cost + p as u128;
    push(&mut steps, Stage::Sum, sum, Some(allowed), (test.inside.len(), 0))?;

    let (at, on_kinks) = test.generic(&steps[1].program)?;
    let fixed = fix_relu_derivatives(&steps[1].program, &at)?;
    test.on_s(Stage::Fixed, &fixed)?;
    let allowed = steps[1].cost;
    push(&mut steps, Stage::Fixed, fixed, Some(allowed), (test.inside.len(), 0))?;

    let polynomial = replace_relus(&steps[2].program, &at)?;
    let trace = |data: &Data| vec![data.trace()];
    let everywhere = test.everywhere(Stage::Polynomial, &polynomial, "Tr(M A B^T)", Data::scalars, &trace)?;
    let allowed = steps[2].cost;
    push(&mut steps, Stage::Polynomial, polynomial, Some(allowed), everywhere)?;

    let both = lower(&backprop(&steps[3].program, &How::default()).map_err(Error::from)?, Dictionary::Polynomial)?;
    let gradients = |data: &Data| {
        let parts = [vec![vec![data.trace()]], data.by_b(), data.product(), data.by_a()];
        parts.into_iter().flatten().flatten().collect()
    };
    let everywhere =
        test.everywhere(Stage::Backprop, &both, "Tr(M A B^T) and its gradient", Data::scalars, &gradients)?;
    let allowed = 5 * steps[3].cost;
    push(&mut steps, Stage::Backprop, both, Some(allowed), everywhere)?;

    let by_m: Vec<usize> = (1 + p * p..1 + 2 * p * p).collect();
    let both = &steps[4].program;
    let gradient = simplify(&both.with_outputs(&by_m).unwrap_or_else(|| both.clone()))?;
    let gradient = lower(&gradient, Dictionary::Polynomial)?.renamed("gradient");
    let product = |data: &Data| data.product().into_iter().flatten().collect();
    let everywhere = test.everywhere(Stage::Gradient, &gradient, "B A^T", Data::scalars, &product)?;
    let allowed = steps[4].cost;
    push(&mut steps, Stage::Gradient, gradient, Some(allowed), everywhere)?;

    let last = lower(&simplify(&without_m(&steps[5].program, p)?)?, Dictionary::Polynomial)?;
    let everywhere = test.everywhere(Stage::Product, &last, "B A^T", Data::factors, &product)?;
    let bound = 5 * (steps[0].cost + p as u128);
    push(&mut steps, Stage::Product, last, Some(bound), everywhere)?;

    let count = |i: usize, joint: bool| {
        let relus = steps[i]
            .tally
            .iter()
            .filter(|(x, _)| x.kind == ItemKind::Kink(KinkKind::Relu) && x.joint.is_some() == joint);
        relus.map(|(_, n)| n.to_u128().unwrap_or(u128::MAX) as usize).sum()
    };
    let (relu_derivatives, relus) = (count(0, true), count(2, false));
    let (n, function_cost) = (p as u128, unit(&function(p)?));
    let naive = 2 * n * n * n - n * n;
    Ok(Chain { order: p, function_cost, relu_derivatives, relus, on_kinks, bound, naive, steps })
}

/// The cost at unit prices. The programs of the proof are flat and scalar, so that they have fewer operations than 2^32.
pub(super) fn unit(p: &Program) -> u128 {
    cost(p).unit().to_u128().unwrap_or(u128::MAX)
}

/// Adds a step to the chain if it costs no more than allowed.
fn push(
    steps: &mut Vec<Step>,
    stage: Stage,
    program: Program,
    allowed: Option<u128>,
    (rational_points, field_points): (usize, usize),
) -> Result<(), ProofError> {
    let cost = unit(&program);
    if let Some(allowed) = allowed.filter(|a| cost > *a) {
        return Err(ProofError::Dear { stage, cost, allowed });
    }
    steps.push(Step { stage, tally: tally(&program), program, cost, allowed, rational_points, field_points });
    Ok(())
}

/// P_0: one output, the sum of all.
fn summed(p: &Program) -> Result<Program, ProofError> {
    let (mut b, inputs) = started("sum", p, |_| true)?;
    let outputs = b.splice(p, &inputs)?;
    let zero = b.constant(0);
    let mut rest = outputs.into_iter();
    let first = rest.next().unwrap_or(zero);
    let sum = rest.try_fold(first, |sum, x| b.add(sum, x))?;
    Ok(b.finish(&[sum])?)
}

/// The gradient by M as a program of B and A alone, with M = 0.
fn without_m(p: &Program, order: usize) -> Result<Program, ProofError> {
    let in_m = order * order..2 * order * order;
    let (mut b, inputs) = started("product", p, |i| !in_m.contains(&i))?;
    let outputs = b.splice(p, &inputs)?;
    Ok(b.finish(&outputs)?)
}

/// A builder with the inputs of a program that are kept, and zeros in place of the others.
fn started(
    name: &str,
    p: &Program,
    keep: impl Fn(usize) -> bool,
) -> Result<(Builder, Vec<crease_core::Atom>), ProofError> {
    let mut b = Builder::new(name);
    let mut inputs = Vec::with_capacity(p.inputs().len());
    for (i, input) in p.inputs().iter().enumerate() {
        inputs.push(if keep(i) { b.input(input.name.clone(), Shape::scalar())? } else { b.constant(0) });
    }
    Ok((b, inputs))
}
