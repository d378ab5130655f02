//! Operations on lanes that lie side by side in a buffer: which kernel takes which buffers.

use super::lower::Buf;
use super::memory::Pointers;
use crate::float::Float;
use crate::kernel::{across, lanes};
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
        let (src, n) = (p.read(self.src), self.n);
        let values = p.write(self.out[0]);
        match (self.op, self.pick) {
            (LaneOp::MaxLinear(rows), pick) => {
                let x = self.second.map_or(src, |b| p.read(b));
                let wanted = |i: usize| (pick.is_some() && self.wanted[i]).then(|| p.write(self.out[i]));
                values[0] = lanes::max_linear((src, x), rows, pick, exact, space, (wanted(1), wanted(2)));
            }
            (LaneOp::Sort, pick) => {
                for (i, (src, out)) in src.chunks_exact(n).zip(values.chunks_exact_mut(n)).enumerate() {
                    let places = pick.is_some().then(|| &mut p.write(self.out[1])[i * n..][..n]);
                    lanes::sort(src, pick, &mut positions[..n], out, places);
                }
            }
            (op, None) => lanes::values(op, src, n, exact, space, values),
            (op, Some(pick)) => {
                lanes::joint((op, pick), src, n, exact, space, (values, p.write(self.out[1])));
            }
        }
    }
}

/// Log-sum-exp of each column of a matrix; with weights, which lie as the matrix does, if they are wanted.
#[derive(Debug)]
pub(crate) struct Across {
    pub src: Buf,
    pub values: Buf,
    pub weights: Option<Buf>,
}

impl Across {
    pub fn run<T: Float>(&self, p: &Pointers<'_, T>) {
        across::log_sum_exp(p.read(self.src), p.write(self.values), self.weights.map(|b| p.write(b)));
    }
}
