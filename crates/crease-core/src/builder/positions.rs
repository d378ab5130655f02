//! Where numbers stand in a lane, and numbers at computed positions: largest and smallest ones, orders, the k largest, reading and adding along an axis.
//!
//! Positions are numbers like others: exact integers, counted from 0. A position that is none is found out in the run, which says so.

use super::{BuildError, Builder};
use crate::op::{Kink, Lane, Op, OpError, Position};
use crate::program::Atom;
use crate::shape::Shape;

impl Builder {
    /// Positions in a lane that is given as several arguments of one shape; scalars are spread. An order has as many results as arguments.
    pub fn position(&mut self, which: Position, args: &[Atom]) -> Result<Vec<Atom>, BuildError> {
        let args = self.spread(args)?;
        self.push(Op::Position(which, Lane::Args), &args)
    }

    /// Positions along one axis, which may count from the end. The axis disappears, except in an order.
    ///
    /// ```
    /// use crease_core::{Builder, Position, Shape, Tensor, run};
    /// let mut b = Builder::new("first");
    /// let x = b.input("x", Shape::new([2, 3])?)?;
    /// let y = b.position_axis(Position::Largest, x, 1)?;
    /// let p = b.finish(&[y])?;
    /// let at = Tensor::new(Shape::new([2, 3])?, vec![1.0, 5.0, 5.0, 2.0, 0.0, 1.0]).unwrap();
    /// assert_eq!(run(&p, &[at]).unwrap()[0].data(), [1.0, 0.0]);
    /// # Ok::<(), crease_core::BuildError>(())
    /// ```
    pub fn position_axis(&mut self, which: Position, x: Atom, axis: isize) -> Result<Atom, BuildError> {
        let axis = self.shape_of(x)?.axis(axis)?;
        let last = self.axis_last(x, axis)?;
        let out = self.push1(Op::Position(which, Lane::Axis), &[last])?;
        match which {
            Position::Order => self.last_to(out, axis),
            Position::Largest | Position::Smallest => Ok(out),
        }
    }

    /// The `k` largest numbers along an axis, largest first, and their positions, of equal numbers the first ones first.
    pub fn top_k(&mut self, x: Atom, k: usize, axis: isize) -> Result<[Atom; 2], BuildError> {
        let shape = self.shape_of(x)?;
        let axis = shape.axis(axis)?;
        let n = shape.dims()[axis];
        if k == 0 || k > n {
            let why = format!("there are no {k} numbers to take along an axis of {n}");
            return Err(OpError::Parameter { op: "top_k".into(), why }.into());
        }
        let last = self.axis_last(x, axis)?;
        let turned = self.neg(last)?;
        let order = self.push1(Op::Position(Position::Order, Lane::Axis), &[turned])?;
        let sorted = self.push1(Op::Kink(Kink::Sort(Lane::Axis)), &[last])?;
        let rest: Vec<(usize, usize, isize)> =
            self.shape(last).dims()[..shape.rank() - 1].iter().map(|&n| (0, n, 1)).collect();
        let part = |from: usize, step: isize| [&rest[..], &[(from, k, step)]].concat();
        let values = self.slice(sorted, &part(n - 1, -1))?;
        let positions = self.slice(order, &part(0, 1))?;
        Ok([self.last_to(values, axis)?, self.last_to(positions, axis)?])
    }

    /// Reads along one axis at computed positions: `out[.., j, ..] = x[.., index[.., j, ..], ..]`. All other axes of `x` and of the index agree.
    ///
    /// ```
    /// use crease_core::{Builder, Shape, Tensor, run};
    /// let mut b = Builder::new("swap");
    /// let (x, i) = (b.input("x", Shape::vector(3)?)?, b.input("i", Shape::vector(2)?)?);
    /// let y = b.take_along(x, i, 0)?;
    /// let p = b.finish(&[y])?;
    /// let at = |x: Vec<f64>| Tensor::vector(x).unwrap();
    /// assert_eq!(run(&p, &[at(vec![5.0, 6.0, 7.0]), at(vec![2.0, 0.0])]).unwrap()[0].data(), [7.0, 5.0]);
    /// let wrong = run(&p, &[at(vec![5.0, 6.0, 7.0]), at(vec![2.5, 0.0])]).unwrap_err();
    /// assert!(wrong.to_string().starts_with("a position among 3 numbers must be an integer from 0 to 2, but here it is 2.5"));
    /// # Ok::<(), crease_core::BuildError>(())
    /// ```
    pub fn take_along(&mut self, x: Atom, index: Atom, axis: isize) -> Result<Atom, BuildError> {
        let shape = self.shape_of(x)?;
        let axis = shape.axis(axis)?;
        if self.shape_of(index)?.rank() != shape.rank() {
            let shapes = vec![shape, self.shape_of(index)?];
            let why = "there must be as many axes of positions as of numbers".into();
            return Err(OpError::Shapes { op: "take_along".into(), shapes, why }.into());
        }
        let (x, index) = (self.axis_last(x, axis)?, self.axis_last(index, axis)?);
        let of = shape.dims()[axis];
        let out = self.push1(Op::Gather { lane: Lane::Axis, of, scatter: false }, &[x, index])?;
        self.last_to(out, axis)
    }

    /// Adds into zeros along one axis of `of` numbers at computed positions: `out[.., index[.., j, ..], ..] += x[.., j, ..]`.
    pub fn add_along(&mut self, x: Atom, index: Atom, axis: isize, of: usize) -> Result<Atom, BuildError> {
        let axis = self.shape_of(x)?.axis(axis)?;
        if self.shape_of(index)?.rank() != self.shape_of(x)?.rank() {
            let shapes = vec![self.shape_of(x)?, self.shape_of(index)?];
            let why = "there must be a position for each number".into();
            return Err(OpError::Shapes { op: "add_along".into(), shapes, why }.into());
        }
        let (x, index) = (self.axis_last(x, axis)?, self.axis_last(index, axis)?);
        let out = self.push1(Op::Gather { lane: Lane::Axis, of, scatter: true }, &[x, index])?;
        self.last_to(out, axis)
    }

    /// The parts at computed positions of an axis: the axes of the index take the place of that axis, as in [`gather`](Builder::gather), whose positions are
    /// known.
    pub fn take(&mut self, x: Atom, index: Atom, axis: isize) -> Result<Atom, BuildError> {
        let shape = self.shape_of(x)?;
        let axis = shape.axis(axis)?;
        let of = shape.dims()[axis];
        let last = self.axis_last(x, axis)?;
        let rest = [&shape.dims()[..axis], &shape.dims()[axis + 1..]].concat();
        let places = self.shape_of(index)?;
        // all positions for each of the other indices
        let flat = self.flatten(index)?;
        let index = self.broadcast(flat, &Shape::new([&rest[..], &[places.len()]].concat())?)?;
        let out = self.push1(Op::Gather { lane: Lane::Axis, of, scatter: false }, &[last, index])?;
        // the axes of the index come last now
        let apart = self.reshape(out, &Shape::new([&rest[..], places.dims()].concat())?)?;
        let (r, m) = (rest.len(), places.rank());
        let order: Vec<usize> = (0..axis).chain(r..r + m).chain(axis..r).collect();
        self.transpose(apart, &order)
    }
}
