//! Products of matrices.

use crate::onnx::call::{Call, Results, one, together};
use crate::onnx::error::{Fault, refuse};
use crease_core::{Atom, Op, Rational};

/// The product of stacks of matrices, as NumPy has it: leading axes spread over one another, a vector is a row on the left and a column on the right.
pub fn matmul(c: &mut Call<'_>) -> Results {
    let (a, b) = (c.real(0)?, c.real(1)?);
    let (da, db) = (c.shape(a), c.shape(b));
    let (Some(&k), false) = (da.last(), db.is_empty()) else {
        return refuse(format!("it cannot multiply {da:?} and {db:?}: a number is no matrix"));
    };
    let rows = if da.len() == 1 { vec![1, k] } else { da.clone() };
    let columns = if db.len() == 1 { vec![db[0], 1] } else { db.clone() };
    let (m, n) = (rows[rows.len() - 2], columns[columns.len() - 1]);
    if k != columns[columns.len() - 2] {
        return refuse(format!(
            "it cannot multiply {da:?} and {db:?}: columns of the first must be rows of the second"
        ));
    }
    let stack = together(&rows[..rows.len() - 2], &columns[..columns.len() - 2])?;
    let (a, b) = (c.reshape(a, &rows)?, c.reshape(b, &columns)?);
    let y = if columns[..columns.len() - 2].iter().all(|&d| d == 1) {
        // one matrix on the right for all: one product
        let many: usize = rows[..rows.len() - 1].iter().product();
        let (a, b) = (c.reshape(a, &[many, k])?, c.reshape(b, &[k, n])?);
        multiplied(c, a, b, false, false)?
    } else {
        let a = c.spread(a, &[&stack[..], &[m, k]].concat())?;
        let b = c.spread(b, &[&stack[..], &[k, n]].concat())?;
        multiplied(c, a, b, false, false)?
    };
    let mut to = stack;
    if da.len() > 1 {
        to.push(m);
    }
    if db.len() > 1 {
        to.push(n);
    }
    one(c.reshape(y, &to)?)
}

pub fn multiplied(c: &mut Call<'_>, a: Atom, b: Atom, transpose_a: bool, transpose_b: bool) -> Result<Atom, Fault> {
    Ok(c.b.push1(Op::MatMul { transpose_a, transpose_b }, &[a, b])?)
}

/// `alpha * A B + beta * C`, with A and B transposed or not.
pub fn gemm(c: &mut Call<'_>) -> Results {
    let (a, b) = (c.real(0)?, c.real(1)?);
    let (alpha, beta) = (c.exact("alpha", 1.0)?, c.exact("beta", 1.0)?);
    let (ta, tb) = (c.flag("transA", false)?, c.flag("transB", false)?);
    if c.shape(a).len() != 2 || c.shape(b).len() != 2 {
        return refuse(format!("it multiplies matrices, not {:?} and {:?}", c.shape(a), c.shape(b)));
    }
    let product = multiplied(c, a, b, ta, tb)?;
    let mut y = scaled(c, product, &alpha)?;
    if c.arg(2).is_some() && !beta.is_zero() {
        let bias = c.real(2)?;
        let bias = scaled(c, bias, &beta)?;
        let bias = if bias.value().is_some() { c.spread(bias, &c.shape(y))? } else { bias };
        y = c.apply(Op::Add, &[y, bias])?;
    }
    one(y)
}

pub fn scaled(c: &mut Call<'_>, a: Atom, by: &Rational) -> Result<Atom, Fault> {
    if by.is_one() {
        return Ok(a);
    }
    let by = c.b.constant(by.clone());
    c.apply(Op::Mul, &[a, by])
}
