//! Random exact data (B, M, A): anywhere, or in the proof's open set S where sign(U B^T M a_i) = u_i.
//!
//! What enters is an order and a generator, what leaves are matrices of rationals, and what the proof says about them, computed
//! straight from its formulas rather than by programs.

use crease_core::random::SplitMix64;
use crease_core::{Rational, Tensor};

/// A square matrix, row by row.
pub(super) type Matrix = Vec<Vec<Rational>>;

/// B, M and A.
#[derive(Clone, Debug)]
pub(super) struct Data {
    pub b: Matrix,
    pub m: Matrix,
    pub a: Matrix,
}

impl Data {
    /// Small fractions without any relation between them.
    pub fn anywhere(p: usize, random: &mut SplitMix64) -> Self {
        let mut draw = || matrix(p, |_, _| fraction(random, 9, 4));
        Data { b: draw(), m: draw(), a: draw() }
    }

    /// Integers of 60 bits.
    pub fn large(p: usize, random: &mut SplitMix64) -> Self {
        let mut draw = || matrix(p, |_, _| Rational::from((random.bits() >> 4) as i64));
        Data { b: draw(), m: draw(), a: draw() }
    }

    /// A point of S: B^T = K, M = K^-1 (I + E) L and A = L^-1 D, so that B^T M A = (I + E) D with D > 0 diagonal. The entries of a
    /// column of E add up to at most 1/2 in size, so U + U E has the signs of U.
    pub fn in_s(p: usize, random: &mut SplitMix64) -> Self {
        let (k, k_inverse) = unimodular(p, random);
        let (l, l_inverse) = unimodular(p, random);
        let near = matrix(p, |i, j| {
            let e = fraction(random, 8, 1) * ratio(1, 16 * p as i64);
            if i == j { Rational::ONE + e } else { e }
        });
        let scale: Vec<Rational> =
            (0..p).map(|_| ratio(1 + random.below(9) as i64, 1 + random.below(4) as i64)).collect();
        let m = times(&times(&k_inverse, &near), &l);
        let a = matrix(p, |i, j| &l_inverse[i][j] * &scale[j]);
        Data { b: transposed(&k), m, a }
    }

    /// Whether sign(U B^T M a_i) = u_i for all i.
    pub fn is_in_s(&self, u: &Matrix) -> bool {
        let w = times(u, &times(&transposed(&self.b), &times(&self.m, &self.a)));
        w.iter().zip(u).all(|(row, signs)| row.iter().zip(signs).all(|(x, s)| x.signum() == s.signum()))
    }

    /// F'(0; a_i) for all i, from the definition of F: a norm is its own derivative at 0.
    pub fn derivatives(&self, u: &Matrix) -> Vec<Rational> {
        let p = u.len();
        let w = times(u, &times(&transposed(&self.b), &times(&self.m, &self.a)));
        (0..p).map(|i| w.iter().map(|row| row[i].abs()).sum::<Rational>() * ratio(1, p as i64)).collect()
    }

    /// b_i^T M a_i for all i: what the derivatives are in S.
    pub fn diagonal(&self) -> Vec<Rational> {
        let w = times(&transposed(&self.b), &times(&self.m, &self.a));
        (0..w.len()).map(|i| w[i][i].clone()).collect()
    }

    /// Tr(M A B^T): the polynomial G.
    pub fn trace(&self) -> Rational {
        self.diagonal().iter().sum()
    }

    /// B A^T, the gradient of G by M.
    pub fn product(&self) -> Matrix {
        times(&self.b, &transposed(&self.a))
    }

    /// M^T B, the gradient of G by A.
    pub fn by_a(&self) -> Matrix {
        times(&transposed(&self.m), &self.b)
    }

    /// M A, the gradient of G by B.
    pub fn by_b(&self) -> Matrix {
        times(&self.m, &self.a)
    }

    /// B, M and A as scalars, the inputs of a scalar program.
    pub fn scalars(&self) -> Vec<Tensor<Rational>> {
        [&self.b, &self.m, &self.a].into_iter().flatten().flatten().cloned().map(Tensor::scalar).collect()
    }

    /// B and A alone.
    pub fn factors(&self) -> Vec<Tensor<Rational>> {
        [&self.b, &self.a].into_iter().flatten().flatten().cloned().map(Tensor::scalar).collect()
    }
}

pub(super) fn ratio(n: i64, d: i64) -> Rational {
    Rational::new(n, d).unwrap_or(Rational::ZERO)
}

/// A fraction with numerator from -size to size and denominator up to `parts`.
fn fraction(random: &mut SplitMix64, size: u64, parts: u64) -> Rational {
    ratio(random.below(2 * size + 1) as i64 - size as i64, 1 + random.below(parts) as i64)
}

fn matrix(p: usize, mut entry: impl FnMut(usize, usize) -> Rational) -> Matrix {
    (0..p).map(|i| (0..p).map(|j| entry(i, j)).collect()).collect()
}

fn times(x: &Matrix, y: &Matrix) -> Matrix {
    matrix(x.len(), |i, j| {
        let mut sum = Rational::ZERO;
        (0..x.len()).for_each(|k| sum.add_mul(&x[i][k], &y[k][j]));
        sum
    })
}

fn transposed(x: &Matrix) -> Matrix {
    matrix(x.len(), |i, j| x[j][i].clone())
}

/// A random matrix of integers whose inverse has integers too: a lower times an upper triangle with ones on the diagonal.
fn unimodular(p: usize, random: &mut SplitMix64) -> (Matrix, Matrix) {
    let mut triangle = || {
        let lower = matrix(p, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => Rational::ZERO,
            std::cmp::Ordering::Equal => Rational::ONE,
            std::cmp::Ordering::Greater => Rational::from(random.below(3) as i64 - 1),
        });
        let mut inverse = matrix(p, |i, j| Rational::from(i64::from(i == j)));
        for (i, row) in lower.iter().enumerate() {
            let (done, rest) = inverse.split_at_mut(i);
            for (factor, above) in row.iter().zip(&*done) {
                let factor = -factor;
                rest[0].iter_mut().zip(above).for_each(|(x, y)| x.add_mul(&factor, y));
            }
        }
        (lower, inverse)
    };
    let ((x, x_inverse), (y, y_inverse)) = (triangle(), triangle());
    (times(&x, &transposed(&y)), times(&transposed(&y_inverse), &x_inverse))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(p: usize) -> Matrix {
        let u = super::super::hadamard(p).unwrap();
        matrix(p, |i, j| Rational::from(u[i][j]))
    }

    #[test]
    fn points_of_s_are_in_s_and_others_are_not() {
        let mut random = SplitMix64::new(1);
        for p in [1, 2, 4, 8, 12, 20] {
            let u = signs(p);
            let data = Data::in_s(p, &mut random);
            assert!(data.is_in_s(&u), "{p}");
            assert_eq!(data.derivatives(&u), data.diagonal(), "{p}");
        }
        let data = Data::anywhere(8, &mut random);
        assert!(!data.is_in_s(&signs(8)));
        assert_ne!(data.derivatives(&signs(8)), data.diagonal());
    }

    #[test]
    fn the_trace_is_that_of_the_product_in_any_order() {
        let data = Data::anywhere(4, &mut SplitMix64::new(2));
        let whole = times(&data.by_b(), &transposed(&data.b)); // M A B^T
        assert_eq!(data.trace(), (0..4).map(|i| whole[i][i].clone()).sum());
    }
}
