//! Formulas in conjunctive normal form, in the DIMACS format of SAT solvers.
//!
//! Bytes enter and a [`Cnf`] leaves, or a [`DimacsError`] with its place; [`Cnf`]'s `Display` is the way back. What is read:
//!
//! ```text
//! c comments, on lines of their own, anywhere, in any encoding
//! p cnf 3 2
//! 1 -2 0 3
//! -1 0
//! %
//! 0
//! ```
//!
//! - One header `p cnf VARIABLES CLAUSES`, before all clauses. Both numbers are held to: a literal beyond the one and another
//!   number of clauses than the other are faults.
//! - A clause is a list of literals that ends with `0`, however its words are spread over lines. The `0` of the last clause is
//!   needed, too: a file that was cut off looks just like one without it.
//! - A line that begins with `%` ends the formula, as in the files of SATLIB; after it there may only be one `0`, and comments.
//! - Empty clauses, repeated literals, clauses that are always true and repeated clauses are kept as they are.
//! - Lines end with LF or CRLF.
//!
//! Deliberately absent: weights, quantifiers and exclusive-or clauses (`p wcnf`, `a`, `e`, `x` lines), and solving.

mod error;
mod read;

pub use error::{DimacsError, DimacsFault};
pub use read::parse_dimacs;

use std::fmt;

/// The most variables a formula can have: literals are 32-bit numbers.
///
/// ```
/// use crease_formats::dimacs::{parse_dimacs, MAX_VARIABLES};
/// assert!(parse_dimacs(format!("p cnf {MAX_VARIABLES} 0\n").as_bytes()).is_ok());
/// assert!(parse_dimacs(format!("p cnf {} 0\n", MAX_VARIABLES + 1).as_bytes()).is_err());
/// ```
pub const MAX_VARIABLES: usize = i32::MAX as usize;

/// A Boolean formula in conjunctive normal form: all of its clauses must hold, and of each clause one literal.
///
/// ```
/// use crease_formats::dimacs::Cnf;
/// let cnf = Cnf { variables: 2, clauses: vec![vec![1, -2], vec![2]] };
/// assert_eq!(cnf.to_string(), "p cnf 2 2\n1 -2 0\n2 0\n");
/// assert_eq!(cnf.satisfied_by(&[true, true]), Ok(()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Cnf {
    /// The number of variables; they are numbered from 1.
    pub variables: usize,
    /// The clauses. Literal `i` is variable i, literal `-i` its negation.
    pub clauses: Vec<Vec<i32>>,
}

/// A literal that is none of its formula.
///
/// ```
/// use crease_formats::dimacs::Cnf;
/// let error = Cnf { variables: 2, clauses: vec![vec![1], vec![-3]] }.verify().unwrap_err();
/// assert_eq!(error.to_string(), "clause number 2 has the literal -3, but the variables are numbered from 1 to 2");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("clause number {} has the literal {literal}, but {}", clause + 1, numbering(*variables))]
pub struct LiteralError {
    /// The clause, counted from 0.
    pub clause: usize,
    /// The literal.
    pub literal: i32,
    /// The number of variables.
    pub variables: usize,
}

/// Which variables there are, for a message.
fn numbering(variables: usize) -> String {
    match variables {
        0 => "there are no variables".into(),
        1 => "the only variable is 1".into(),
        n => format!("the variables are numbered from 1 to {n}"),
    }
}

impl Cnf {
    /// Checks that every literal is one of the variables or its negation. What [`parse_dimacs`] returns is.
    ///
    /// ```
    /// use crease_formats::dimacs::Cnf;
    /// assert!(Cnf { variables: 1, clauses: vec![vec![1, -1], vec![]] }.verify().is_ok());
    /// assert!(Cnf { variables: 1, clauses: vec![vec![0]] }.verify().is_err());
    /// ```
    pub fn verify(&self) -> Result<(), LiteralError> {
        for (clause, literals) in self.clauses.iter().enumerate() {
            let strange = |l: &&i32| **l == 0 || l.unsigned_abs() as usize > self.variables;
            if let Some(&literal) = literals.iter().find(strange) {
                return Err(LiteralError { clause, literal, variables: self.variables });
            }
        }
        Ok(())
    }

    /// Whether the formula is true when variable i is `model[i - 1]`; if not, the first clause that is false, counted from 0. A
    /// literal of a variable that the model does not have is not true.
    ///
    /// ```
    /// use crease_formats::dimacs::Cnf;
    /// let cnf = Cnf { variables: 2, clauses: vec![vec![1, 2], vec![-1, -2]] };
    /// assert_eq!(cnf.satisfied_by(&[true, false]), Ok(()));
    /// assert_eq!(cnf.satisfied_by(&[true, true]), Err(1));
    /// // of nothing, there is none that could be false, and an empty clause has none that could be true
    /// assert_eq!(Cnf { variables: 0, clauses: vec![] }.satisfied_by(&[]), Ok(()));
    /// assert_eq!(Cnf { variables: 0, clauses: vec![vec![]] }.satisfied_by(&[]), Err(0));
    /// ```
    pub fn satisfied_by(&self, model: &[bool]) -> Result<(), usize> {
        let holds = |literal: &i32| {
            let variable = (literal.unsigned_abs() as usize).checked_sub(1);
            variable.and_then(|v| model.get(v)).is_some_and(|&value| value == (*literal > 0))
        };
        match self.clauses.iter().position(|clause| !clause.iter().any(holds)) {
            Some(clause) => Err(clause),
            None => Ok(()),
        }
    }
}

/// The formula as a file: the header, then one clause a line.
impl fmt::Display for Cnf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "p cnf {} {}", self.variables, self.clauses.len())?;
        for clause in &self.clauses {
            for literal in clause {
                write!(f, "{literal} ")?;
            }
            f.write_str("0\n")?;
        }
        Ok(())
    }
}
