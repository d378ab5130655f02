//! Satisfiability as differentiability: Theorem "finding two Clarke subgradients is NP-hard" and its proof.
//!
//! A formula in conjunctive normal form enters; what leaves is `F(x) = min over clauses of relu(max of literals)`, where the literal
//! of a variable is its input and that of a negation is minus its input. F is nowhere negative and F(0) = 0. F(x) > 0 exactly if
//! the signs of x make every clause true, so F is zero, and differentiable at 0, exactly if the formula is not satisfiable.
//!
//! The proof speaks of 3-CNF; [`sat_program`] says what becomes of other formulas.

use super::matrix::Row;
use super::max::{Wiring, negated};
use super::{Cnf, ReductionError, ReluNetwork, declare};
use crease_core::{Atom, Builder, Program, Rational};

/// The most variables of a formula that is made a program.
///
/// ```
/// use crease::reductions::{sat_program, Cnf, MAX_SAT_VARIABLES};
/// assert!(sat_program(&Cnf { variables: MAX_SAT_VARIABLES + 1, clauses: vec![] }).is_err());
/// ```
pub const MAX_SAT_VARIABLES: usize = 1 << 20;

/// A clause that is always true; its variable is there even in formulas without any.
const ALWAYS: [i32; 2] = [1, -1];

/// The formula as a program in min, max, ReLU and negation, with inputs `x1`, ..., `xp`: not differentiable at 0 exactly if the
/// formula is satisfiable. The inputs are scalars, so that they carry the numbers of DIMACS.
///
/// Of formulas that the paper's proof does not speak of:
///
/// - Clauses may have any length. `relu(x1)` is a clause of one literal. An empty clause is 0, the ReLU of the maximum of nothing:
///   with it, the program is zero, and the formula is not satisfiable.
/// - A clause that is always true needs no care: `max(x1, -x1)` is |x1|.
/// - Of no clauses, the minimum would be that of nothing. As the proof does for other reasons, a clause is added that is always
///   true, |x1|, which has a kink at 0; and a formula without clauses is satisfiable.
/// - A formula without variables gets the input `x1` all the same, so that there is something to differentiate by.
///
/// ```
/// use crease::reductions::{sat_program, Cnf};
/// let cnf = Cnf { variables: 3, clauses: vec![vec![1, 2, -3], vec![-1, -3], vec![3]] };
/// assert_eq!(sat_program(&cnf)?.to_string(), "program F(x1, x2, x3) {
///   let v3 = -x3
///   let v4 = max(x1, x2, v3)
///   let v5 = relu(v4)
///   let v6 = -x1
///   let v7 = max(v6, v3)
///   let v8 = relu(v7)
///   let v9 = relu(x3)
///   let v10 = min(v5, v8, v9)
///   return v10
/// }
/// ");
/// # Ok::<(), crease::reductions::ReductionError>(())
/// ```
pub fn sat_program(cnf: &Cnf) -> Result<Program, ReductionError> {
    let mut b = Builder::new("F");
    let x = declare(&mut b, inputs(cnf)?)?;
    let mut minus: Vec<Option<Atom>> = vec![None; x.len()];
    let mut clauses = Vec::with_capacity(cnf.clauses.len());
    let always = cnf.clauses.is_empty().then_some(&ALWAYS[..]);
    for clause in cnf.clauses.iter().map(|c| &c[..]).chain(always) {
        let mut literals = Vec::with_capacity(clause.len());
        for &literal in clause {
            let i = variable(literal);
            literals.push(match minus[i] {
                _ if literal > 0 => x[i],
                Some(negated) => negated,
                // one negation for all clauses
                None => *minus[i].insert(b.neg(x[i])?),
            });
        }
        let largest = match literals[..] {
            [] => continue,
            [one] => one,
            _ => b.max(&literals)?,
        };
        clauses.push(b.relu(largest)?);
    }
    // one 0 for all empty clauses
    if cnf.clauses.iter().any(Vec::is_empty) {
        clauses.push(b.constant(0));
    }
    let output = match clauses[..] {
        [one] => one,
        _ => b.min(&clauses)?,
    };
    Ok(b.finish(&[output])?)
}

/// The formula as the linear ReLU network with weights -1, 0 and 1 of the proof.
///
/// Clauses that are always true, `x1 or not x1`, are added until their number n is a power of two. The maximum of a clause with up to
/// 2^d literals is that of 2^d, the last one repeated, by d layers of the lemma on maxima; then comes a layer for the outer ReLU, and
/// log2(n) layers for the minimum. Shorter clauses are done earlier and wait, carried along by the identity. For 3-CNF these are
/// log2(n) + 3 ReLU layers of at most 6n coordinates; [`sat_bounds`] tells for all others. Where the lemma meets a literal and
/// its negation, its row `x - (-x)` would hold a 2; `max(x, -x)` is `relu(x) + relu(-x)` instead.
///
/// With clauses added, the network is `min(F, |x1|)`, where F is [`sat_program`]'s function: of the same sign everywhere, and
/// with the same value where all inputs are 1 or -1.
///
/// ```
/// use crease::reductions::{sat_network, Cnf};
/// let cnf = Cnf { variables: 3, clauses: vec![vec![1, 2, -3], vec![-1, -3, 2], vec![3, -1, -2], vec![1, 2, 3]] };
/// let network = sat_network(&cnf)?;
/// let widths: Vec<usize> = network.layers().iter().map(|l| l.width()).collect();
/// assert_eq!(widths, [6 * 4, 3 * 4, 4, 6, 3]);
/// // all true is a model, all false is none
/// assert_eq!((network.evaluate(&[1.0, 1.0, 1.0])?, network.evaluate(&[-1.0, -1.0, -1.0])?), (1.0, 0.0));
/// # Ok::<(), crease::reductions::ReductionError>(())
/// ```
pub fn sat_network(cnf: &Cnf) -> Result<ReluNetwork, ReductionError> {
    let mut wiring = Wiring::new(inputs(cnf)?);
    let mut clauses: Vec<Clause> = padded(cnf).map(Clause::new).collect();
    let depth = clauses.iter().map(Clause::depth).max().unwrap_or(0);
    for _ in 0..=depth {
        for clause in &mut clauses {
            clause.step(&mut wiring)?;
        }
        wiring.close()?;
    }
    // min(a, b) = -max(-a, -b)
    let minus = clauses.iter().map(|c| negated(&c.rows[0])).collect();
    let max = wiring.max(minus)?;
    wiring.finish(&negated(&max))
}

/// A clause on its way through the layers.
struct Clause {
    /// What its maximum is taken of, as rows over the last layer: 2^d of them, in the end one.
    rows: Vec<Row>,
    /// Whether the outer ReLU has been applied.
    done: bool,
}

impl Clause {
    fn new(literals: &[i32]) -> Self {
        let row = |&l: &i32| vec![(variable(l), if l > 0 { 1 } else { -1 })];
        let mut rows: Vec<Row> = literals.iter().map(row).collect();
        // an empty clause is 0
        let last = rows.last().cloned().unwrap_or_default();
        rows.resize(1 << depth(literals.len()), last);
        Clause { rows, done: false }
    }

    fn depth(&self) -> u32 {
        depth(self.rows.len())
    }

    /// Goes through one layer: a step of the maximum, the outer ReLU, or nothing.
    fn step(&mut self, wiring: &mut Wiring) -> Result<(), ReductionError> {
        if self.rows.len() > 1 {
            self.rows = wiring.halve(&self.rows)?;
            return Ok(());
        }
        self.rows[0] = wiring.coordinate(&self.rows[0], !self.done);
        self.done = true;
        Ok(())
    }
}

/// How large the network of a formula may be.
///
/// ```
/// use crease::reductions::{sat_bounds, Cnf};
/// // the paper's: n = 4, log2(n) + 3 ReLU layers, 6 n coordinates
/// let bounds = sat_bounds(&Cnf { variables: 3, clauses: vec![vec![1, 2, 3], vec![-1, -2, -3], vec![1, -2, 3]] });
/// assert_eq!((bounds.clauses, bounds.relu_layers, bounds.width), (4, 5, 24));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SatBounds {
    /// The number n of clauses after those were added that are always true: a power of two.
    pub clauses: usize,
    /// The number d of layers for the maximum of a clause: the longest has at most 2^d literals.
    pub depth: u32,
    /// The number of ReLU layers: log2(n) + d + 1. For 3-CNF, d is 2.
    pub relu_layers: u32,
    /// The largest layer has at most so many coordinates: 3 2^(d-1) n, which is 6 n for 3-CNF, and n + n/2 for d = 0.
    pub width: usize,
}

/// The bounds of the proof, for clauses of any length. The numbers of layers are attained.
///
/// ```
/// use crease::reductions::{sat_bounds, sat_network, Cnf};
/// let cnf = Cnf { variables: 5, clauses: vec![vec![1, 2, 3, 4, 5], vec![-1]] };
/// let (bounds, network) = (sat_bounds(&cnf), sat_network(&cnf)?);
/// assert_eq!(bounds.relu_layers as usize, network.relu_layers());
/// assert!(network.layers().iter().all(|l| l.width() <= bounds.width));
/// # Ok::<(), crease::reductions::ReductionError>(())
/// ```
pub fn sat_bounds(cnf: &Cnf) -> SatBounds {
    let clauses = cnf.clauses.len().next_power_of_two();
    let depth = padded(cnf).map(|c| depth(c.len())).max().unwrap_or(0);
    let width = match depth {
        0 => clauses.saturating_add(clauses / 2),
        d => clauses.saturating_mul(3 << (d - 1)),
    };
    SatBounds { clauses, depth, relu_layers: clauses.ilog2() + depth + 1, width }
}

/// The model that a direction tells: a variable is true where its coordinate is positive. If [`sat_program`] or [`sat_network`] is
/// positive there, the formula holds of it; where a coordinate is 0, either value would do.
///
/// ```
/// use crease::{reductions::{model_from_direction, Cnf}, Rational};
/// let cnf = Cnf { variables: 3, clauses: vec![vec![1, -2]] };
/// let direction = [Rational::new(1, 3).unwrap(), Rational::from(-2), Rational::ZERO];
/// assert_eq!(model_from_direction(&cnf, &direction), [true, false, false]);
/// ```
pub fn model_from_direction(cnf: &Cnf, direction: &[Rational]) -> Vec<bool> {
    // the one input of a formula without variables is not asked
    (0..cnf.variables).map(|i| direction.get(i).is_some_and(Rational::is_positive)).collect()
}

/// The number of inputs, once the formula is known to be one.
fn inputs(cnf: &Cnf) -> Result<usize, ReductionError> {
    if cnf.variables > MAX_SAT_VARIABLES {
        return Err(ReductionError::TooManyVariables { variables: cnf.variables });
    }
    cnf.verify()?;
    Ok(cnf.variables.max(1))
}

/// Which input a literal is about.
fn variable(literal: i32) -> usize {
    (literal.unsigned_abs() as usize).saturating_sub(1)
}

/// The clauses and so many that are always true that their number is a power of two.
fn padded(cnf: &Cnf) -> impl Iterator<Item = &[i32]> {
    let n = cnf.clauses.len();
    let always = std::iter::repeat_n(&ALWAYS[..], n.next_power_of_two() - n);
    cnf.clauses.iter().map(|c| &c[..]).chain(always)
}

/// The least d with n <= 2^d.
fn depth(n: usize) -> u32 {
    n.next_power_of_two().ilog2()
}
