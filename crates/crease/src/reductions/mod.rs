//! Hard problems as programs: 3-SAT and linear ReLU networks. Section 5.3 of the paper and its proofs in Appendix D.
//!
//! A formula enters ([`Cnf`]), a program leaves that is differentiable at 0 unless the formula is satisfiable: Theorem "finding
//! two Clarke subgradients is NP-hard". There are two forms of it, [`sat_program`] in min, max, ReLU and negation, and
//! [`sat_network`], the linear ReLU network with weights -1, 0 and 1 that the proof constructs out of the lemma on maxima
//! ([`max_network`]). [`model_from_direction`] is the way back, from a direction along which the program grows to a model.
//!
//! [`ReluNetwork`] is the paper's linear ReLU network with skip connections. [`ReluNetwork::program`] and
//! [`ReluNetwork::from_program`] are the two halves of its equivalence with programs over D0 = {+, -, ReLU}; both keep the
//! function and the autodiff conservative gradient.
//!
//! [`solve`] closes the circle: it decides a formula by asking the [oracles](crate::oracles) whether its program is differentiable at 0.
//!
//! ```
//! use crease::formats::parse_dimacs;
//! use crease::oracles::Effort;
//! use crease::reductions::{solve, Satisfiability, SatForm};
//!
//! let cnf = parse_dimacs(b"p cnf 2 2\n1 2 0\n-1 2 0\n")?;
//! let Satisfiability::Satisfiable(model) = solve(&cnf, SatForm::Network, &Effort::default())?.answer else { panic!() };
//! assert_eq!(cnf.satisfied_by(&model), Ok(()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod from_program;
mod matrix;
mod max;
mod network;
mod sat;
mod solve;

pub use matrix::SignMatrix;
pub use max::max_network;
pub use network::{Layer, ReluNetwork};
pub use sat::{MAX_SAT_VARIABLES, SatBounds, model_from_direction, sat_bounds, sat_network, sat_program};
pub use solve::{SatForm, Satisfiability, Solved, solve};

pub use crease_formats::dimacs::Cnf;

use crease_core::dictionary::{LowerError, Outsider};
use crease_core::local::LocalError;
use crease_core::{Atom, BuildError, Builder, InlineError, NumberError, Program, Rational, Shape, Tensor};
use crease_formats::dimacs::LiteralError;
use crease_oracles::OracleError;

/// Why there is no reduction.
///
/// ```
/// use crease::reductions::{sat_program, Cnf, ReductionError};
/// let strange = Cnf { variables: 1, clauses: vec![vec![2]] };
/// assert!(matches!(sat_program(&strange), Err(ReductionError::Literal(_))));
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReductionError {
    /// A formula with a literal that is none of its variables.
    #[error(transparent)]
    Literal(#[from] LiteralError),
    /// A formula with more variables than a program should have inputs.
    #[error("the formula has {variables} variables; a program of it may have at most {MAX_SAT_VARIABLES}")]
    TooManyVariables {
        /// How many it has.
        variables: usize,
    },
    /// A weight that is not -1, 0 or 1.
    #[error(
        "the entry {entry} in row {row}, column {column}: the weights of a linear ReLU network are -1, 0 and 1 \
         (2 x is x + x, by a copy of x in the layer before)"
    )]
    Entry {
        /// The row, counted from 0.
        row: usize,
        /// The column, counted from 0.
        column: usize,
        /// The entry.
        entry: i64,
    },
    /// A column that the matrix does not have.
    #[error("row {row} has an entry in column {column}, but the matrix has {columns} columns")]
    Column {
        /// The row, counted from 0.
        row: usize,
        /// The column, counted from 0.
        column: usize,
        /// How many there are.
        columns: usize,
    },
    /// Matrices that do not fit together.
    #[error("{what} must be {expected}, got {got}")]
    Fit {
        /// What does not fit.
        what: &'static str,
        /// What it must be.
        expected: usize,
        /// What it is.
        got: usize,
    },
    /// A program with several outputs, or one that is a tensor.
    #[error("a linear ReLU network has one output, the program has {outputs}; pick one with Program::with_outputs")]
    Outputs {
        /// How many numbers the program returns.
        outputs: usize,
    },
    /// An operation that sums, differences and ReLUs cannot express.
    #[error("{0} cannot be written with +, - and ReLU alone, as weights -1, 0 and 1 allow it")]
    Outside(Outsider),
    /// A program that does not return 0 at 0.
    #[error("the program returns the constant {0}; a linear ReLU network is 0 at 0")]
    Constant(Rational),
    /// A network that would be too large.
    #[error(
        "the network needs {coordinates} coordinates, more than the {} that are allowed",
        from_program::MAX_COORDINATES
    )]
    TooLarge {
        /// How many it needs in all its layers.
        coordinates: usize,
    },
    /// An exponent out of its range.
    #[error("a maximum of 2^k numbers needs k from 1 to {}, got {k}", max::MAX_EXPONENT)]
    Exponent {
        /// The exponent.
        k: u32,
    },
    /// A program that cannot be lowered.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// A program that cannot be inlined.
    #[error(transparent)]
    Inline(#[from] InlineError),
    /// A program that cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Numbers that cannot be compared with 0.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// A program without a local model.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// An oracle without an answer.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// A model that does not satisfy the formula, which would be an error in this library.
    #[error("the direction that was found does not satisfy clause {clause}, counted from 0; please report this")]
    Model {
        /// The clause.
        clause: usize,
    },
}

/// The point at which the reductions ask for differentiability: all inputs 0.
///
/// ```
/// use crease::{reductions::{origin, sat_program, Cnf}, run, Rational};
/// let p = sat_program(&Cnf { variables: 3, clauses: vec![vec![1, -2], vec![3]] })?;
/// assert_eq!(origin(&p).len(), 3);
/// assert_eq!(run(&p, &origin(&p)).unwrap()[0].data(), [Rational::ZERO]);
/// # Ok::<(), crease::reductions::ReductionError>(())
/// ```
pub fn origin(p: &Program) -> Vec<Tensor<Rational>> {
    let zeros = |shape: &Shape| Tensor::new(shape.clone(), vec![Rational::ZERO; shape.len()]);
    p.inputs().iter().filter_map(|i| zeros(&i.shape)).collect()
}

/// Declares the inputs `x1`, ..., `xp`: scalars, so that they carry the numbers of DIMACS and of the paper, and the program needs
/// not be taken apart before it is localized.
fn declare(b: &mut Builder, p: usize) -> Result<Vec<Atom>, BuildError> {
    (1..=p).map(|i| b.input(format!("x{i}"), Shape::scalar())).collect()
}
