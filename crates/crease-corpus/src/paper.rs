//! The programs that the paper itself talks about.

use crease_core::{BuildError, Builder, Program, Rational, Shape, Tape, trace};
use std::sync::Arc;

/// The programs of the first figure of the appendix: P0(a, b) = a + b, P1 = a (b + c), Q1 = a b + a c and
/// P2 = (a + b)(c + d) = Q1(a, c, d) + P1(b, c, d).
///
/// ```
/// let levels: Vec<usize> = crease_corpus::paper::figure_1().iter().map(|p| p.level()).collect();
/// assert_eq!(levels, [0, 1, 1, 2]);
/// ```
pub fn figure_1() -> [Arc<Program>; 4] {
    let built = |p: Result<Program, BuildError>, name: &str| Arc::new(p.expect("a program of scalars").renamed(name));
    let p0 = built(trace(2, |x| x[0] + x[1]), "p0");
    let p1 = built(trace(3, |x| x[0] * (x[1] + x[2])), "p1");
    let q1 = built(trace(3, |x| x[0] * x[1] + x[0] * x[2]), "q1");
    let tape = Tape::new("p2");
    let x: Vec<_> = ["a", "b", "c", "d"].iter().map(|n| tape.input(n, Shape::scalar())).collect();
    let y = tape.call(&q1, &[x[0], x[2], x[3]])[0] + tape.call(&p1, &[x[1], x[2], x[3]])[0];
    let p2 = Arc::new(tape.finish(&[y]).expect("a program of scalars"));
    [p0, p1, q1, p2]
}

/// Sylvester's Hadamard matrix of order `p`, a power of 2: entries 1 and -1, orthogonal columns.
pub fn hadamard(p: usize) -> Vec<f64> {
    assert!(p.is_power_of_two(), "Sylvester's construction doubles the order");
    let sign = |i: usize, j: usize| if (i & j).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
    (0..p * p).map(|k| sign(k / p, k % p)).collect()
}

/// The program of Theorem 3: F(x, B, M) = 1/p sum_i |[U B' M x]_i| for a Hadamard matrix U, with |t| as
/// relu(t) + relu(-t), and the product taken from the right: three times a matrix and a vector.
///
/// ```
/// assert_eq!(crease_corpus::paper::theorem_3(4).dimension(), 4 + 16 + 16);
/// ```
pub fn theorem_3(p: usize) -> Program {
    let build = || -> Result<Program, BuildError> {
        let mut b = Builder::new("theorem3");
        let (vector, square) = (Shape::new([p])?, Shape::new([p, p])?);
        let x = b.input("x", vector)?;
        let bb = b.input("B", square.clone())?;
        let m = b.input("M", square.clone())?;
        let u = b.tensor(square, hadamard(p))?;
        let mx = b.matmul(m, x)?;
        let bt = b.transpose(bb, &[1, 0])?;
        let bmx = b.matmul(bt, mx)?;
        let t = b.matmul(u, bmx)?;
        let minus = b.neg(t)?;
        let (up, down) = (b.relu(t)?, b.relu(minus)?);
        let sizes = b.add(up, down)?;
        let total = b.sum_all(sizes)?;
        let share = b.constant(Rational::new(1, p as i64).unwrap_or_default());
        let mean = b.mul(total, share)?;
        b.finish(&[mean])
    };
    build().expect("shapes that fit")
}
