//! Log-sum-exp of every column of a matrix: rows go by, and each register holds as many columns as it has lanes.

use crate::float::{Float, maximum};
use crate::isa::{Isa, Kernel, dispatch};

/// So many columns are worked on at once.
const WIDE: usize = 64;

/// Log-sum-exp of each of the columns, as many as there are values; with weights, which lie as the matrix does, if they are
/// wanted.
pub(crate) fn log_sum_exp<T: Float>(src: &[T], values: &mut [T], weights: Option<&mut [T]>) {
    dispatch(Across { src, values, weights });
}

struct Across<'a, T> {
    src: &'a [T],
    values: &'a mut [T],
    weights: Option<&'a mut [T]>,
}

impl<T: Float> Kernel for Across<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Across { src, values, mut weights } = self;
        let exp = |x: T| x.vector_exp(I::FMA);
        let count = values.len();
        for from in (0..count).step_by(WIDE) {
            let len = WIDE.min(count - from);
            let rows = || src.chunks_exact(count).map(|row| &row[from..][..len]);
            let (mut top, mut total) = ([T::LOWEST; WIDE], [T::ZERO; WIDE]);
            let (top, total) = (&mut top[..len], &mut total[..len]);
            for row in rows() {
                top.iter_mut().zip(row).for_each(|(t, &x)| *t = maximum(*t, x));
            }
            match &mut weights {
                None => {
                    for row in rows() {
                        for ((s, &t), &x) in total.iter_mut().zip(&*top).zip(row) {
                            *s += exp(x - t);
                        }
                    }
                }
                Some(weights) => {
                    for (row, out) in rows().zip(weights.chunks_exact_mut(count)) {
                        let out = &mut out[from..][..len];
                        for (((s, &t), &x), o) in total.iter_mut().zip(&*top).zip(row).zip(out) {
                            *o = exp(x - t);
                            *s += *o;
                        }
                    }
                    for out in weights.chunks_exact_mut(count) {
                        out[from..][..len].iter_mut().zip(&*total).for_each(|(o, &s)| *o = *o / s);
                    }
                }
            }
            for ((v, &t), &s) in values[from..][..len].iter_mut().zip(&*top).zip(&*total) {
                *v = t + s.vector_ln(I::FMA);
            }
        }
    }
}
