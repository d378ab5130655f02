//! Operations on groups of numbers: maxima, norms, order statistics, sorting, log-sum-exp.
//!
//! Each takes its group as several arguments ([`Builder::lane`]), as one axis of a tensor ([`Builder::lane_axis`]), or as
//! all elements of a tensor ([`Builder::lane_all`]).

use super::{BuildError, Builder};
use crate::op::{Kink, Lane, Op, OpError};
use crate::program::Atom;
use crate::shape::Shape;

impl Builder {
    /// A nonsmooth operation on several arguments of one shape; scalars are spread. Sorting has as many results as arguments.
    pub fn lane(&mut self, kink: &Kink, args: &[Atom]) -> Result<Vec<Atom>, BuildError> {
        takes_lanes(kink)?;
        let args = self.spread(args)?;
        self.push(Op::Kink(kink.with_lane(Lane::Args)), &args)
    }

    /// A nonsmooth operation along one axis, which may count from the end. The axis disappears, except in sorting.
    pub fn lane_axis(&mut self, kink: &Kink, x: Atom, axis: isize) -> Result<Atom, BuildError> {
        takes_lanes(kink)?;
        let axis = self.shape_of(x)?.axis(axis)?;
        let last = self.axis_last(x, axis)?;
        let op = Op::Kink(kink.with_lane(Lane::Axis));
        let out = self.push1(op.clone(), &[last])?;
        if op.keeps_lane() { self.last_to(out, axis) } else { Ok(out) }
    }

    /// A nonsmooth operation on all elements of a tensor.
    pub fn lane_all(&mut self, kink: &Kink, x: Atom) -> Result<Atom, BuildError> {
        takes_lanes(kink)?;
        let flat = self.flatten(x)?;
        self.push1(Op::Kink(kink.with_lane(Lane::Axis)), &[flat])
    }

    /// A tensor as a vector. A scalar becomes a vector of one element.
    pub fn flatten(&mut self, x: Atom) -> Result<Atom, BuildError> {
        let n = self.shape_of(x)?.len();
        self.reshape(x, &Shape::vector(n)?)
    }

    /// The largest of several arguments.
    pub fn max(&mut self, args: &[Atom]) -> Result<Atom, BuildError> {
        Ok(self.lane(&Kink::Max(Lane::Args), args)?[0])
    }

    /// The smallest of several arguments.
    pub fn min(&mut self, args: &[Atom]) -> Result<Atom, BuildError> {
        Ok(self.lane(&Kink::Min(Lane::Args), args)?[0])
    }

    /// The sum of the absolute values of all elements.
    pub fn norm1(&mut self, x: Atom) -> Result<Atom, BuildError> {
        self.lane_all(&Kink::Norm1(Lane::Axis), x)
    }

    /// The largest absolute value of all elements.
    pub fn norminf(&mut self, x: Atom) -> Result<Atom, BuildError> {
        self.lane_all(&Kink::NormInf(Lane::Axis), x)
    }

    /// The Euclidean norm of all elements.
    ///
    /// ```
    /// use crease_core::{Builder, Shape, Tensor, run};
    /// let mut b = Builder::new("length");
    /// let x = b.input("x", Shape::vector(2).unwrap()).unwrap();
    /// let y = b.norm2(x).unwrap();
    /// let p = b.finish(&[y]).unwrap();
    /// assert_eq!(run(&p, &[Tensor::vector(vec![3.0, 4.0]).unwrap()]).unwrap()[0].data(), [5.0]);
    /// ```
    pub fn norm2(&mut self, x: Atom) -> Result<Atom, BuildError> {
        self.lane_all(&Kink::Norm2(Lane::Axis), x)
    }

    /// The lower median of all elements: the middle one of an odd number, the lower of the two middle ones of an even number.
    pub fn median(&mut self, x: Atom) -> Result<Atom, BuildError> {
        let k = (self.shape_of(x)?.len() - 1) / 2;
        self.lane_all(&Kink::OrderStatistic(Lane::Axis, k), x)
    }

    /// The largest entry of `A x`, for a matrix A and a vector x.
    pub fn max_linear(&mut self, a: Atom, x: Atom) -> Result<Atom, BuildError> {
        let shape = self.shape_of(a)?;
        let [rows, _] = shape.dims() else {
            return Err(OpError::Shapes {
                op: "max_linear".into(),
                shapes: vec![shape, self.shape_of(x)?],
                why: "it takes a matrix [m, n] and a vector [n]".into(),
            }
            .into());
        };
        self.push1(Op::Kink(Kink::MaxLinear { lane: Lane::Axis, rows: *rows }), &[a, x])
    }

    /// `log(sum(exp(x)))` along one axis, which may count from the end.
    pub fn logsumexp_axis(&mut self, x: Atom, axis: isize) -> Result<Atom, BuildError> {
        let axis = self.shape_of(x)?.axis(axis)?;
        let last = self.axis_last(x, axis)?;
        self.push1(Op::LogSumExp(Lane::Axis), &[last])
    }

    /// `log(sum(exp(x)))` of all elements.
    pub fn logsumexp(&mut self, x: Atom) -> Result<Atom, BuildError> {
        let flat = self.flatten(x)?;
        self.push1(Op::LogSumExp(Lane::Axis), &[flat])
    }
}

/// Refuses an operation on single numbers where one on groups is needed.
fn takes_lanes(kink: &Kink) -> Result<(), BuildError> {
    match kink.lane() {
        Some(_) => Ok(()),
        None => Err(OpError::Parameter {
            op: kink.name().into(),
            why: "it works on single numbers, not on groups of them; apply it element by element".into(),
        }
        .into()),
    }
}
