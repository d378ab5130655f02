//! Products of matrices.

use super::nodes::{Nodes, Tensor, With};

impl Nodes {
    /// The product of the matrices in the last two axes, either of them transposed.
    pub fn product(&mut self, a: &Tensor, ta: bool, b: &Tensor, tb: bool, dims: &[usize]) -> Tensor {
        if a.rank() == 2 && (ta || tb) {
            let with = vec![With::Int("transA", i64::from(ta)), With::Int("transB", i64::from(tb))];
            return self.node("Gemm", &[a, b], with, dims);
        }
        let mut turned = |t: &Tensor, turn: bool| {
            let mut order: Vec<usize> = (0..t.rank()).collect();
            if turn {
                order.swap(t.rank() - 2, t.rank() - 1);
            }
            self.transpose(t, &order)
        };
        let (a, b) = (turned(a, ta), turned(b, tb));
        self.node("MatMul", &[&a, &b], vec![], dims)
    }
}
