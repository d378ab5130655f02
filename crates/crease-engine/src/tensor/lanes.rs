//! Operations on lanes that lie side by side in a buffer.

use super::lower::Buf;
use super::memory::Pointers;
use crate::float::{Float, maximum, minimum};
use crate::isa::{Isa, Kernel, dispatch};
use crate::kernel::{lane, order};
use crate::unit::{LaneOp, Pick};

/// An operation on lanes of `n` numbers.
#[derive(Debug)]
pub(crate) struct Lanes<T> {
    pub op: LaneOp,
    pub pick: Option<Pick<T>>,
    pub src: Buf,
    pub second: Option<Buf>,
    pub n: usize,
    pub out: Vec<Buf>,
    /// Which of the results anybody reads.
    pub wanted: Vec<bool>,
}

impl<T: Float> Lanes<T> {
    /// How many numbers of working space a run needs.
    pub fn space(&self) -> usize {
        match self.op {
            LaneOp::MaxLinear(rows) => 2 * rows,
            _ => self.n,
        }
    }

    pub fn run(&self, p: &Pointers<'_, T>, space: &mut [T], positions: &mut [u32], exact: bool) {
        let src = p.read(self.src);
        let values = p.write(self.out[0]);
        let n = self.n;
        match (self.op, self.pick) {
            (LaneOp::MaxLinear(rows), pick) => {
                let x = self.second.map_or(src, |b| p.read(b));
                let (found, shares) = space.split_at_mut(rows);
                values[0] = lane::max_linear(src, x, exact, found);
                if let Some(pick) = pick {
                    let by_a = self.wanted[1].then(|| p.write(self.out[1]));
                    let by_x = self.wanted[2].then(|| p.write(self.out[2]));
                    let rows = (&*found, &mut shares[..rows]);
                    lane::max_linear_weights(src, x, (values[0], pick.ties), rows, by_a, by_x);
                }
            }
            (LaneOp::Sort, pick) => {
                let positions = &mut positions[..n];
                for (i, (src, out)) in src.chunks_exact(n).zip(values.chunks_exact_mut(n)).enumerate() {
                    let ordered = order::ascending(src, pick.map(|p| p.ties), positions);
                    for (o, &k) in out.iter_mut().zip(positions.iter()) {
                        *o = if ordered { src[k as usize] } else { T::NAN };
                    }
                    if pick.is_some() {
                        let perm = &mut p.write(self.out[1])[i * n..][..n];
                        perm.iter_mut().zip(positions.iter()).for_each(|(o, &k)| *o = T::from_usize(k as usize));
                    }
                }
            }
            (op, None) => match op {
                LaneOp::Max | LaneOp::Min if n <= 32 => dispatch(Short { op, src, n, values }),
                _ => {
                    for (src, v) in src.chunks_exact(n).zip(values) {
                        *v = match op {
                            LaneOp::Max => lane::max(src),
                            LaneOp::Min => lane::min(src),
                            LaneOp::Norm1 => lane::norm1(src, exact),
                            LaneOp::NormInf => lane::norm_inf(src),
                            LaneOp::Order(k) => order::kth(src, k, space),
                            LaneOp::LogSumExp => lane::log_sum_exp(src, &mut space[..n], exact).0,
                            LaneOp::Sort | LaneOp::MaxLinear(_) => T::NAN,
                        };
                    }
                }
            },
            (op, Some(pick)) => {
                let weights = p.write(self.out[1]);
                for ((src, v), w) in src.chunks_exact(n).zip(values).zip(weights.chunks_exact_mut(n)) {
                    *v = match op {
                        LaneOp::Norm1 => lane::norm1_joint(src, pick.at, exact, w),
                        LaneOp::NormInf => lane::norm_inf_joint(src, pick.at, pick.ties, exact, w),
                        LaneOp::LogSumExp => {
                            let (v, total) = lane::log_sum_exp(src, w, exact);
                            w.iter_mut().for_each(|w| *w = *w / total);
                            v
                        }
                        _ => {
                            let (v, from) = match op {
                                LaneOp::Max => lane::located(src, lane::Extreme::Max),
                                LaneOp::Min => lane::located(src, lane::Extreme::Min),
                                LaneOp::Order(k) => (order::kth(src, k, space), 0),
                                _ => (T::NAN, 0),
                            };
                            lane::share_from(src, (v, from), pick.ties, false, w);
                            v
                        }
                    };
                }
            }
        }
    }
}

/// The largest or smallest of many short lanes.
struct Short<'a, T> {
    op: LaneOp,
    src: &'a [T],
    n: usize,
    values: &'a mut [T],
}

impl<T: Float> Kernel for Short<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let f = if self.op == LaneOp::Max { maximum::<T> } else { minimum::<T> };
        match self.n {
            4 => short::<T, 4>(self.src, self.values, f),
            3 => short::<T, 3>(self.src, self.values, f),
            2 => short::<T, 2>(self.src, self.values, f),
            n => {
                for (src, v) in self.src.chunks_exact(n).zip(self.values) {
                    *v = src[1..].iter().fold(src[0], |m, &x| f(m, x));
                }
            }
        }
    }
}

#[inline(always)]
fn short<T: Float, const N: usize>(src: &[T], values: &mut [T], f: impl Fn(T, T) -> T) {
    let (lanes, _) = src.as_chunks::<N>();
    for (x, v) in lanes.iter().zip(values) {
        *v = x[1..].iter().fold(x[0], |m, &x| f(m, x));
    }
}
