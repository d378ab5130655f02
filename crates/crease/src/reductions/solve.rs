//! Deciding a formula by asking whether its program is differentiable at 0.
//!
//! A formula enters; it becomes a program, the program a local model at 0, and the model is asked. If it is not differentiable, one of
//! the two subgradients is not 0, and along its direction the program grows: its signs are a model, which is checked
//! against the clauses. If it is differentiable, the formula is not satisfiable, and the certificate says why.

use super::{Cnf, ReductionError, model_from_direction, origin, sat_network, sat_program};
use crease_core::local::{LocalError, Precision, localize_within};
use crease_core::Program;
use crease_oracles::{Decision, Effort, Limit, Verdict, differentiable};

/// How a formula is written as a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SatForm {
    /// In min, max, ReLU and negation: [`sat_program`].
    #[default]
    Lattice,
    /// As the network of the paper's proof, in +, - and ReLU: [`sat_network`].
    Network,
}

impl SatForm {
    /// The formula as a program of this form.
    ///
    /// ```
    /// use crease::reductions::{Cnf, SatForm};
    /// let cnf = Cnf { variables: 2, clauses: vec![vec![1, -2]] };
    /// assert!(SatForm::Network.program(&cnf)?.len() > SatForm::Lattice.program(&cnf)?.len());
    /// # Ok::<(), crease::reductions::ReductionError>(())
    /// ```
    pub fn program(self, cnf: &Cnf) -> Result<Program, ReductionError> {
        match self {
            SatForm::Lattice => sat_program(cnf),
            SatForm::Network => sat_network(cnf)?.program(),
        }
    }
}

/// Whether a formula is satisfiable.
#[derive(Clone, Debug, PartialEq)]
pub enum Satisfiability {
    /// It is, by this model, which was checked against the clauses.
    Satisfiable(Vec<bool>),
    /// It is not.
    Unsatisfiable,
    /// Not known, because of this.
    Unknown(Limit),
}

/// The answer about a formula, and that about its program.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The answer.
    pub answer: Satisfiability,
    /// The program that was asked about.
    pub program: Program,
    /// Whether it is differentiable at 0, with what it took and the certificate.
    pub decision: Decision,
}

/// Decides whether a formula is satisfiable, by asking whether its program is differentiable at 0.
///
/// ```
/// use crease::oracles::Effort;
/// use crease::reductions::{solve, Cnf, SatForm, Satisfiability};
/// let mut cnf = Cnf { variables: 2, clauses: vec![vec![1, 2], vec![-1, 2], vec![1, -2]] };
/// for form in [SatForm::Lattice, SatForm::Network] {
///     let Satisfiability::Satisfiable(model) = solve(&cnf, form, &Effort::default())?.answer else { panic!() };
///     assert_eq!(model, [true, true]);
/// }
/// cnf.clauses.push(vec![-1, -2]);
/// assert_eq!(solve(&cnf, SatForm::Network, &Effort::default())?.answer, Satisfiability::Unsatisfiable);
/// # Ok::<(), crease::reductions::ReductionError>(())
/// ```
pub fn solve(cnf: &Cnf, form: SatForm, effort: &Effort<'_>) -> Result<Solved, ReductionError> {
    let program = form.program(cnf)?;
    let decision = match localize_within(&program, &origin(&program), Precision::default(), &effort.limits) {
        Ok(local) => differentiable(&local, 0, effort)?,
        Err(LocalError::Stopped(stop)) => Decision::unknown(stop.into()),
        Err(e) => return Err(e.into()),
    };
    let answer = match &decision.verdict {
        Verdict::Yes(_) => Satisfiability::Unsatisfiable,
        Verdict::Unknown { limit, .. } => Satisfiability::Unknown(*limit),
        Verdict::No(sides) => {
            // the program is nowhere negative, so it grows along a direction whose gradient is not 0
            let grows = sides.iter().find(|s| s.gradient.iter().any(|x| !x.is_zero()));
            let model = grows.map(|s| model_from_direction(cnf, &s.direction)).unwrap_or_default();
            cnf.satisfied_by(&model).map_err(|clause| ReductionError::Model { clause })?;
            Satisfiability::Satisfiable(model)
        }
    };
    Ok(Solved { answer, program, decision })
}
