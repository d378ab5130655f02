//! Products with a Hadamard matrix of Sylvester's kind, by the fast transform.
//!
//! Element (i, j) of that matrix is `scale` times -1 to the number of bits that i and j share. The function of Theorem 3 is made with
//! one. A product with it is log2(p) rounds of sums and differences in place of p products for each number of the result.
//! Every result is still a sum of all the terms, in another order, so infinities and NaN come out as from a product.

use super::lower::{Buf, Matrix, Origin};
use super::memory::Pointers;
use super::product::Product;
use crate::float::Float;
use crate::isa::{Isa, Kernel, dispatch};

/// Smaller ones are multiplied as any matrix is.
const SMALLEST: usize = 16;

/// A product of a matrix with a Hadamard matrix.
#[derive(Clone, Debug)]
pub(crate) struct Transform<T> {
    from: Matrix,
    out: Buf,
    /// The number of products, of rows and of columns of each result.
    size: [usize; 3],
    /// The order of the Hadamard matrix, and how far apart the numbers lie that it mixes.
    order: usize,
    apart: usize,
    scale: T,
}

/// The transform that a product is, if one of its factors is a constant Hadamard matrix.
pub(crate) fn recognise<T: Float>(p: &Product, origins: &[Origin<T>]) -> Option<Transform<T>> {
    let [m, n, k, batch] = p.size();
    let given = |f: &Matrix| match &origins[f.buf as usize] {
        Origin::Given(data) if f.batch == 0 || batch == 1 => Some(&data[..]),
        _ => None,
    };
    let (a, b, out) = p.matrices();
    let of = |f: &Matrix| scale(given(f)?, f, k);
    let (from, scale, apart) = match (k == n).then(|| of(&b)).flatten() {
        Some(scale) => (a, scale, 1),
        None if k == m => (b, of(&a)?, n),
        None => return None,
    };
    Some(Transform { from, out, size: [batch, m, n], order: k, apart, scale })
}

/// The size of the elements of a Hadamard matrix of order `p`, if this is one.
fn scale<T: Float>(data: &[T], f: &Matrix, p: usize) -> Option<T> {
    if !p.is_power_of_two() || p < SMALLEST {
        return None;
    }
    let at = |i: usize, j: usize| data[(f.offset as isize + i as isize * f.row + j as isize * f.column) as usize];
    let scale = at(0, 0);
    let fits = |i: usize, j: usize| at(i, j) == if (i & j).count_ones().is_multiple_of(2) { scale } else { -scale };
    (0..p).all(|i| (0..p).all(|j| fits(i, j))).then_some(scale)
}

impl<T: Float> Transform<T> {
    /// What it is.
    pub fn describe(&self) -> String {
        let [batch, m, n] = self.size;
        format!("{batch} x [{m}, {n}], a fast Hadamard transform of order {}", self.order)
    }

    pub fn run(&self, p: &Pointers<'_, T>) {
        dispatch(Run { t: self, from: p.read(self.from.buf), out: p.write(self.out) });
    }
}

struct Run<'a, T> {
    t: &'a Transform<T>,
    from: &'a [T],
    out: &'a mut [T],
}

impl<T: Float> Kernel for Run<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Transform { from: f, size: [_, m, n], order, apart, scale, .. } = self.t;
        for (row, out) in self.out.chunks_exact_mut(*n).enumerate() {
            let at = f.offset as isize + (row / m) as isize * f.batch + (row % m) as isize * f.row;
            if f.column == 1 {
                out.copy_from_slice(&self.from[at as usize..][..*n]);
            } else {
                out.iter_mut().enumerate().for_each(|(j, o)| *o = self.from[(at + j as isize * f.column) as usize]);
            }
        }
        for group in self.out.chunks_exact_mut(order * apart) {
            let mut half = *apart;
            if half == 1 {
                // three rounds on eight neighbours at once
                let (eights, _) = group.as_chunks_mut::<8>();
                eights.iter_mut().for_each(eight);
                half = 8;
            }
            while half < group.len() {
                for both in group.chunks_exact_mut(2 * half) {
                    let (a, b) = both.split_at_mut(half);
                    for (a, b) in a.iter_mut().zip(b) {
                        (*a, *b) = (*a + *b, *a - *b);
                    }
                }
                half *= 2;
            }
        }
        if *scale != T::ONE {
            self.out.iter_mut().for_each(|x| *x = *x * *scale);
        }
    }
}

/// The transform of order 8.
#[inline(always)]
fn eight<T: Float>(x: &mut [T; 8]) {
    let [a, b, c, d, e, f, g, h] = *x;
    let [a, b, c, d, e, f, g, h] = [a + e, b + f, c + g, d + h, a - e, b - f, c - g, d - h];
    let [a, b, c, d, e, f, g, h] = [a + c, b + d, a - c, b - d, e + g, f + h, e - g, f - h];
    *x = [a + b, a - b, c + d, c - d, e + f, e - f, g + h, g - h];
}
