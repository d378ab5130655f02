//! Linear systems by elimination, as a program.

use crease_core::{Atom, BuildError, Builder, Program, Shape};

/// A program that solves A z = b for `n` unknowns by Gaussian elimination: inputs `A[n,n]` and `b[n]`, one output `z[n]`. At unit
/// prices it costs the textbook's 2n³/3 + 3n²/2 - 7n/6.
///
/// A program has no way to choose its pivots, so they are taken in order: good for symmetric definite and for diagonally
/// dominant matrices, and in exact numbers for all whose leading blocks are regular. A pivot that is 0 stops a checked run
/// with a division by zero.
///
/// ```
/// use crease::{Rational, Shape, Tensor, run};
/// use crease_paper::experiments::beyond::elimination;
/// let q = |n: i64| Rational::from(n);
/// let a = Tensor::new(Shape::new([2, 2])?, vec![q(2), q(1), q(4), q(5)]).unwrap();
/// let z = run(&elimination(2)?, &[a, Tensor::vector(vec![q(3), q(9)])?])?;
/// assert_eq!(z[0].to_string(), "[1, 1]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn elimination(n: usize) -> Result<Program, BuildError> {
    let mut b = Builder::new("elimination");
    let matrix = b.input("A", Shape::new([n, n])?)?;
    let right = b.input("b", Shape::new([n])?)?;
    let mut a = vec![Vec::with_capacity(n); n];
    let mut z = Vec::with_capacity(n);
    for (i, row) in a.iter_mut().enumerate() {
        for j in 0..n {
            row.push(b.at(matrix, &[i, j])?);
        }
        z.push(b.at(right, &[i])?);
    }
    let minus = |b: &mut Builder, x: Atom, factor: Atom, y: Atom| {
        let product = b.mul(factor, y)?;
        b.sub(x, product)
    };
    for k in 0..n {
        let (above, below) = a.split_at_mut(k + 1);
        let pivot_row = &above[k];
        for (i, row) in (k + 1..n).zip(below) {
            let factor = b.div(row[k], pivot_row[k])?;
            for (x, &y) in row.iter_mut().zip(pivot_row).skip(k + 1) {
                *x = minus(&mut b, *x, factor, y)?;
            }
            z[i] = minus(&mut b, z[i], factor, z[k])?;
        }
    }
    for k in (0..n).rev() {
        for j in k + 1..n {
            z[k] = minus(&mut b, z[k], a[k][j], z[j])?;
        }
        z[k] = b.div(z[k], a[k][k])?;
    }
    let shape = Shape::new([1])?;
    let parts = z.into_iter().map(|x| b.reshape(x, &shape)).collect::<Result<Vec<_>, _>>()?;
    let solution = b.concat(&parts, 0)?;
    b.finish(&[solution])
}
