//! Steps that go by way of a vector or a matrix.

use super::grow::{Grower, Var};
use crate::precise::Number;
use crease_core::{Atom, Kink, Lane, Op, Shape};

impl Grower<'_> {
    /// A vector of values that tie, something done to all of them, and one number made of it.
    pub fn tensor(&mut self) -> Option<Var> {
        let n = 2 + self.rng.below(2);
        let members = self.members(n)?;
        let atoms: Vec<Atom> = members.iter().map(|v| v.atom).collect();
        let mut numbers: Option<Vec<Number>> = members.iter().map(|v| v.number.clone()).collect();
        let mut vector = self.b.concat(&atoms, 0).ok()?;
        self.count(4);
        if self.rng.once_in(2) {
            // a matrix of small integers, some rows of which are the same
            let rows = 2 + self.rng.below(2);
            let mut matrix: Vec<f64> = (0..n).map(|_| self.rng.between(-2, 2) as f64).collect();
            while matrix.len() < rows * n {
                let again = self.rng.once_in(3);
                let more: Vec<f64> =
                    (0..n).map(|i| if again { matrix[i] } else { self.rng.between(-2, 2) as f64 }).collect();
                matrix.extend(more);
            }
            numbers = numbers.and_then(|x| self.product(&matrix, &x));
            let shape = Shape::new([rows, n]).ok()?;
            let matrix = self.b.tensor(shape, matrix).ok()?;
            vector = self.b.matmul(matrix, vector).ok()?;
        }
        if self.rng.once_in(2) {
            let op = self.hinged();
            numbers = numbers.and_then(|x| x.iter().map(|x| self.one(&op, std::slice::from_ref(x))).collect());
            vector = self.b.elementwise(op, &[vector]).ok()?;
        }
        let kinks = [
            Kink::Max(Lane::Axis),
            Kink::Norm1(Lane::Axis),
            Kink::NormInf(Lane::Axis),
            Kink::Norm2(Lane::Axis),
            Kink::Min(Lane::Axis),
        ];
        if self.rng.once_in(3) {
            let total =
                numbers.and_then(|x| x.iter().try_fold(Number::zero(), |sum, x| self.arithmetic.add(&sum, x).ok()));
            return Some(Var { atom: self.b.sum_all(vector).ok()?, number: total });
        }
        let kink = self.rng.pick(&kinks).clone();
        let number = numbers.and_then(|x| self.one(&Op::Kink(kink.clone()), &x));
        Some(Var { atom: self.b.lane_all(&kink, vector).ok()?, number })
    }

    fn one(&self, op: &Op, x: &[Number]) -> Option<Number> {
        self.arithmetic.scalar(op, x).ok().map(|mut out| out.swap_remove(0))
    }

    fn product(&self, matrix: &[f64], x: &[Number]) -> Option<Vec<Number>> {
        let a = &self.arithmetic;
        let row = |row: &[f64]| {
            row.iter().zip(x).try_fold(Number::zero(), |sum, (m, x)| {
                let m = Number::Exact((*m as i64).into());
                a.add(&sum, &a.mul(&m, x).ok()?).ok()
            })
        };
        matrix.chunks(x.len()).map(row).collect()
    }
}
