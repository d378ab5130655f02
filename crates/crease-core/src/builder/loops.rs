//! Loops by their parts, and what is composed of them: cumulative sums, products, maxima and minima.

use super::{BuildError, Builder};
use crate::op::{Kink, Lane, Op, OpError, Scan};
use crate::program::{Atom, Program};
use crate::shape::Shape;
use std::sync::Arc;

/// What runs along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cumulative {
    /// The sum of all so far.
    Sum,
    /// The product of all so far.
    Product,
    /// The largest so far.
    Max,
    /// The smallest so far.
    Min,
}

impl Cumulative {
    /// All of them.
    pub const ALL: [Cumulative; 4] = [Cumulative::Sum, Cumulative::Product, Cumulative::Max, Cumulative::Min];

    /// The name in the text language.
    pub fn name(self) -> &'static str {
        match self {
            Cumulative::Sum => "cumsum",
            Cumulative::Product => "cumprod",
            Cumulative::Max => "cummax",
            Cumulative::Min => "cummin",
        }
    }

    fn op(self) -> Op {
        match self {
            Cumulative::Sum => Op::Add,
            Cumulative::Product => Op::Mul,
            Cumulative::Max => Op::Kink(Kink::Max(Lane::Args)),
            Cumulative::Min => Op::Kink(Kink::Min(Lane::Args)),
        }
    }
}

impl Builder {
    /// Runs a program so many times: its first inputs are `carried`, which its first outputs replace from turn to turn, all others the same in
    /// each turn. What it returns beyond them is stacked along a leading axis. See [`scan`](crate::op::scan).
    ///
    /// ```
    /// use crease_core::{run, trace, Builder, Shape, Tensor};
    /// use std::sync::Arc;
    /// // Newton's method for the square root of a
    /// let step = Arc::new(trace(2, |x| (x[0] + x[1] / x[0]) / 2.0)?);
    /// let mut b = Builder::new("root");
    /// let a = b.input("a", Shape::scalar())?;
    /// let y = b.repeat(&step, 6, &[a], &[a])?;
    /// assert_eq!(run(&b.finish(&y)?, &[Tensor::scalar(4.0)])?[0].data(), [2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn repeat(
        &mut self,
        body: &Arc<Program>,
        turns: usize,
        carried: &[Atom],
        still: &[Atom],
    ) -> Result<Vec<Atom>, BuildError> {
        let id = self.callee(body.clone(), None)?;
        self.push(Scan::repeat(id, turns, carried.len()), &[carried, still].concat())
    }

    /// Runs a program once for each part of some sequences, along their first axis: its inputs are the carried values, one part of each sequence, and
    /// what is the same in each turn. Results are the carried values at the end, then whatever else it returns, stacked.
    ///
    /// ```
    /// use crease_core::{run, trace_shapes, Builder, Shape, Tensor};
    /// use std::sync::Arc;
    /// // running sums
    /// let add = Arc::new(trace_shapes(&[Shape::scalar(), Shape::scalar()], |x| vec![x[0] + x[1], x[0] + x[1]])?);
    /// let mut b = Builder::new("sums");
    /// let x = b.input("x", Shape::vector(3)?)?;
    /// let zero = b.constant(0);
    /// let y = b.scan(&add, &[zero], &[x], &[])?;
    /// let out = run(&b.finish(&y)?, &[Tensor::vector(vec![1.0, 2.0, 4.0]).unwrap()])?;
    /// assert_eq!((out[0].data(), out[1].data()), (&[7.0][..], &[1.0, 3.0, 7.0][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan(
        &mut self,
        body: &Arc<Program>,
        carried: &[Atom],
        sequences: &[Atom],
        still: &[Atom],
    ) -> Result<Vec<Atom>, BuildError> {
        let turns = match sequences.first().map(|&s| self.shape_of(s)).transpose()? {
            Some(shape) if shape.rank() > 0 => shape.dims()[0],
            _ => {
                let why = "it takes at least one sequence, with a first axis; `repeat` goes by number".into();
                return Err(OpError::Parameter { op: "scan".into(), why }.into());
            }
        };
        let body = self.callee(body.clone(), None)?;
        let scan = Scan { body, turns, carried: carried.len(), each: sequences.len(), back: false };
        self.push(scan, &[carried, sequences, still].concat())
    }

    /// The sum, product, maximum or minimum of all up to here along an axis, in the shape of `x`: a loop with one operation for each element but the first.
    ///
    /// ```
    /// use crease_core::{builder::Cumulative, run, Builder, Shape, Tensor};
    /// let mut b = Builder::new("f");
    /// let x = b.input("x", Shape::vector(4)?)?;
    /// let y = b.cumulative(Cumulative::Max, x, 0)?;
    /// let out = run(&b.finish(&[y])?, &[Tensor::vector(vec![1.0, 3.0, 2.0, 4.0]).unwrap()])?;
    /// assert_eq!(out[0].data(), [1.0, 3.0, 3.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cumulative(&mut self, what: Cumulative, x: Atom, axis: isize) -> Result<Atom, BuildError> {
        let shape = self.shape_of(x)?;
        let axis = shape.axis(axis)?;
        let n = shape.dims()[axis];
        if n == 1 {
            return Ok(x);
        }
        // the axis comes first, and goes back at the end
        let mut order: Vec<usize> = (0..shape.rank()).collect();
        order.remove(axis);
        order.insert(0, axis);
        let x = self.transpose(x, &order)?;
        let part = Shape::new(&self.shape(x).dims()[1..])?;
        let whole = |first: usize, count: usize| -> Vec<(usize, usize, isize)> {
            [(first, count, 1)].into_iter().chain(part.dims().iter().map(|&d| (0, d, 1))).collect()
        };
        let first = self.slice(x, &whole(0, 1))?;
        let rest = self.slice(x, &whole(1, n - 1))?;
        let start = self.reshape(first, &part)?;
        let mut body = Builder::new(what.name());
        let (so_far, next) = (body.input("so_far", part.clone())?, body.input("next", part)?);
        let both = body.push1(what.op(), &[so_far, next])?;
        let body = Arc::new(body.finish(&[both, both])?);
        let all = self.scan(&body, &[start], &[rest], &[])?;
        let all = self.concat(&[first, all[1]], 0)?;
        let mut back: Vec<usize> = (1..=axis).collect();
        back.push(0);
        back.extend(axis + 1..shape.rank());
        self.transpose(all, &back)
    }
}
