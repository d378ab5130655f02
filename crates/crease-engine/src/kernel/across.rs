//! Log-sum-exp of columns of a matrix: rows go by, and each register holds as many columns as it has lanes.

use crate::float::{Float, maximum};
use crate::isa::{Isa, Kernel, dispatch};

/// So many columns are worked on at once.
pub(crate) const WIDE: usize = 64;

/// Log-sum-exp of each of no more than [`WIDE`] columns, as many as there are values; with weights, if they are wanted. `row` and `out` are
/// the columns' numbers in a row of the matrix, and in one of the weights.
pub(crate) fn log_sum_exp<'a, T: Float>(
    rows: usize,
    row: impl Fn(usize) -> &'a [T],
    values: &mut [T],
    out: Option<impl Fn(usize) -> &'a mut [T]>,
) {
    dispatch(Across { rows, row, values, out });
}

struct Across<'v, T, R, W> {
    rows: usize,
    row: R,
    values: &'v mut [T],
    out: Option<W>,
}

impl<'a, T: Float, R: Fn(usize) -> &'a [T], W: Fn(usize) -> &'a mut [T]> Kernel for Across<'_, T, R, W> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let exp = |x: T| x.vector_exp(I::FMA);
        let (mut top, mut total) = ([T::LOWEST; WIDE], [T::ZERO; WIDE]);
        let len = self.values.len();
        let (top, total) = (&mut top[..len], &mut total[..len]);
        for i in 0..self.rows {
            top.iter_mut().zip((self.row)(i)).for_each(|(t, &x)| *t = maximum(*t, x));
        }
        match self.out {
            None => {
                for i in 0..self.rows {
                    for ((s, &t), &x) in total.iter_mut().zip(&*top).zip((self.row)(i)) {
                        *s += exp(x - t);
                    }
                }
            }
            Some(out) => {
                for i in 0..self.rows {
                    for (((s, &t), &x), o) in total.iter_mut().zip(&*top).zip((self.row)(i)).zip(out(i)) {
                        *o = exp(x - t);
                        *s += *o;
                    }
                }
                for i in 0..self.rows {
                    out(i).iter_mut().zip(&*total).for_each(|(o, &s)| *o = *o / s);
                }
            }
        }
        for ((v, &t), &s) in self.values.iter_mut().zip(&*top).zip(&*total) {
            *v = t + s.vector_ln(I::FMA);
        }
    }
}
