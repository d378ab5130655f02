//! The function F of Theorem 3 and programs of its p directional derivatives at 0.
//!
//! A Hadamard matrix U enters. What leaves is the proof's program P_F of `F(x, B, M) = 1/p sum |U B^T M x|`, with x, B and M as
//! inputs and U as constants ([`function`]), and programs P' of `(B, M, A) -> F'(0; a_1), ..., F'(0; a_p)`, a_i the columns of A
//! ([`directional`]). The theorem is about every P'; three ways to get one are here, see [`Derivative`].

use super::hadamard::hadamard;
use crate::products::{Scheme, product};
use crease::Error;
use crease_core::dictionary::{Dictionary, LowerError, lower};
use crease_core::differentiate::{How, jvp};
use crease_core::{Atom, Builder, Op, Program, Rational, Shape, Tape, inline, relu, scalarize, simplify};
use std::fmt;
use std::sync::Arc;

/// Theorem 3's function `F(x, B, M) = 1/p sum |U B^T M x|`, with [`hadamard`]'s U, as the proof writes it: three products of a
/// matrix and a vector, from right to left, and `|t| = relu(t) + relu(-t)`. At unit prices it costs exactly 6 p^2 + 2 p.
///
/// Its directional derivatives at x = 0 are those of the absolute values, which no gradient holds: along the columns of
/// suitable A they are the diagonal of `B^T M A`.
///
/// ```
/// use crease::cost::{cost, Prices};
/// use crease_paper::theorem3::function;
/// for p in [1, 2, 4, 8, 12, 20] {
///     assert_eq!(cost(&function(p)?).at(&Prices::unit()).to_f64() as usize, 6 * p * p + 2 * p);
/// }
/// assert!(function(3).is_err());
/// # Ok::<(), crease::Error>(())
/// ```
pub fn function(p: usize) -> Result<Program, Error> {
    function_of(&matrix(p)?)
}

/// The matrix U of order p, or the error that there is none.
pub(super) fn matrix(p: usize) -> Result<Vec<Vec<i64>>, Error> {
    let expected = "1, 2, or a multiple of 4 that Sylvester's, Paley's and Kronecker's constructions reach";
    hadamard(p).ok_or(Error::Parameter { what: "the order of a Hadamard matrix", expected, got: p.to_string() })
}

/// The same with a given U.
fn function_of(u: &[Vec<i64>]) -> Result<Program, Error> {
    let p = u.len();
    let square = Shape::new([p, p])?;
    let tape = Tape::new("F");
    let x = tape.input("x", Shape::vector(p)?);
    let b = tape.input("B", square.clone());
    let m = tape.input("M", square.clone());
    let t = tape.tensor(square, floats(u)).matmul(b.transpose().matmul(m.matmul(x)));
    // a multiplication by -1, because the dictionary of the theorem has no negation
    let size = relu(t) + relu(t * -1.0);
    Ok(tape.finish(&[size.sum() * tape.exact(share(p))])?)
}

fn floats(u: &[Vec<i64>]) -> Vec<f64> {
    u.iter().flatten().map(|&x| x as f64).collect()
}

fn share(p: usize) -> Rational {
    Rational::new(1, p as i64).unwrap_or(Rational::ONE)
}

/// A way to compute the p directional derivatives of [`function`] at 0.
///
/// ```
/// use crease_paper::{products::Scheme, theorem3::Derivative};
/// let all: Vec<String> = Derivative::ALL.iter().map(|d| d.to_string()).collect();
/// assert_eq!(all, ["columns", "forward", "naive products", "Strassen products", "Winograd products"]);
/// assert_eq!(Derivative::ALL[3], Derivative::Products(Scheme::Strassen));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Derivative {
    /// P_F itself on each column: F is positively homogeneous in x, so F'(0; a) = F(a). It has ReLU and no ReLU'.
    Columns,
    /// Forward mode at the column along the column, derived by the library: F'(0; a) = F(a) = F'(a; a) by Euler's identity.
    /// It has ReLU' and no ReLU. (Forward mode at 0 is wrong: there it returns what the selection picks at the kinks.)
    Forward,
    /// All columns at once, by three products of matrices: U (B^T (M A)). With fast products it is what makes the bound sharp.
    Products(Scheme),
}

impl Derivative {
    /// All of them.
    ///
    /// ```
    /// assert_eq!(crease_paper::theorem3::Derivative::ALL.len(), 5);
    /// ```
    pub const ALL: [Derivative; 5] = [
        Derivative::Columns,
        Derivative::Forward,
        Derivative::Products(Scheme::Naive),
        Derivative::Products(Scheme::Strassen),
        Derivative::Products(Scheme::Winograd),
    ];
}

impl fmt::Display for Derivative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Derivative::Columns => f.write_str("columns"),
            Derivative::Forward => f.write_str("forward"),
            Derivative::Products(scheme) => write!(f, "{scheme} products"),
        }
    }
}

/// The proof's P': a program of the p directional derivatives of [`function`] at x = 0 along the columns of A. The inputs are B,
/// M and A, the output is a vector. Calls and tensors are not expanded, and `-` is not yet written with `+` and `xc`.
///
/// ```
/// use crease::{run, Rational, Shape, Tensor};
/// use crease_paper::theorem3::{directional, Derivative};
/// let square = |x: [i64; 4]| Tensor::new(Shape::new([2, 2]).unwrap(), x.map(Rational::from).to_vec()).unwrap();
/// let identity = square([1, 0, 0, 1]);
/// for how in Derivative::ALL {
///     // with B = M = I: 1/2 (|a + b| + |a - b|), the larger of |a| and |b|, for each column (a, b) of A
///     let out = run(&directional(2, how)?, &[identity.clone(), identity.clone(), square([3, 1, -2, -7])])?;
///     assert_eq!(out[0].to_string(), "[3, 7]");
/// }
/// # Ok::<(), crease::Error>(())
/// ```
pub fn directional(p: usize, how: Derivative) -> Result<Program, Error> {
    let u = matrix(p)?;
    let square = Shape::new([p, p])?;
    let mut b = Builder::new("directional");
    let left = b.input("B", square.clone())?;
    let m = b.input("M", square.clone())?;
    let a = b.input("A", square.clone())?;
    let out = match how {
        Derivative::Columns => {
            let f = b.callee(Arc::new(function_of(&u)?), None)?;
            let columns = columns(&mut b, a, p)?;
            let each =
                columns.into_iter().map(|x| b.push1(Op::Call(f), &[x, left, m])).collect::<Result<Vec<_>, _>>()?;
            b.concat(&each, 0)?
        }
        Derivative::Forward => {
            let f = b.callee(Arc::new(jvp(&function_of(&u)?, &How::default())?), None)?;
            let columns = columns(&mut b, a, p)?;
            let zero = b.zeros(square)?;
            let mut each = Vec::with_capacity(p);
            for x in columns {
                // the value, which is the same number, and the tangent
                each.push(b.push(Op::Call(f), &[x, left, m, x, zero, zero])?[1]);
            }
            b.concat(&each, 0)?
        }
        Derivative::Products(scheme) => {
            // halved for as long as it is even, so that nothing is filled up with zeros
            let odd = p >> p.trailing_zeros();
            let product = b.callee(Arc::new(product(p, scheme, odd)?), None)?;
            let u = b.tensor(square, floats(&u))?;
            let turned = b.transpose(left, &[1, 0])?;
            let mut t = a;
            for factor in [m, turned, u] {
                t = b.push1(Op::Call(product), &[factor, t])?;
            }
            let minus = b.constant(-1);
            let opposite = b.mul(t, minus)?;
            let (up, down) = (b.relu(t)?, b.relu(opposite)?);
            let size = b.add(up, down)?;
            let sums = b.sum(size, &[0])?;
            let share = b.constant(share(p));
            b.mul(sums, share)?
        }
    };
    Ok(b.finish(&[out])?)
}

fn columns(b: &mut Builder, a: Atom, p: usize) -> Result<Vec<Atom>, Error> {
    let turned = b.transpose(a, &[1, 0])?;
    Ok((0..p).map(|i| b.at(turned, &[i])).collect::<Result<Vec<_>, _>>()?)
}

/// [`directional`] over {+, x, ReLU, ReLU', +c, xc}, without what can be left out at once: in forward mode, values and tangents
/// that are equal and tangents of what does not move; with products, multiplications by -1 that are made twice.
pub(super) fn in_dictionary(p: usize, how: Derivative) -> Result<Program, Error> {
    let program = directional(p, how)?;
    let program = match how {
        Derivative::Columns => return Ok(program),
        Derivative::Forward => simplify(&scalarize(&inline(&program)?)?)?,
        Derivative::Products(_) => program,
    };
    match lower(&program, Dictionary::ReluDerived) {
        Ok(lowered) => Ok(simplify(&lowered)?),
        Err(LowerError::Build(e)) => Err(e.into()),
        Err(LowerError::Outside { outsider, .. }) => {
            let expected = "one of +, -, x, ReLU and ReLU'";
            Err(Error::Parameter { what: "an operation of the program", expected, got: outsider.to_string() })
        }
    }
}
