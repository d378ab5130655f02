//! Products, variances and deviations of variables, positions of numbers, and reading and adding at positions that are computed.

use super::Var;
use crate::builder::{BuildError, Builder};
use crate::op::Position;
use crate::program::Atom;

impl<'t> Var<'t> {
    /// The product along some axes, which disappear.
    ///
    /// ```
    /// use crease_core::{Shape, Tensor, run, trace_shapes};
    /// let p = trace_shapes(&[Shape::vector(3)?], |x| vec![x[0].prod(&[0])])?;
    /// assert_eq!(run(&p, &[Tensor::vector(vec![2.0, 3.0, 4.0]).unwrap()])?[0].data(), [24.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn prod(self, axes: &[isize]) -> Var<'t> {
        self.over(axes, |b, x, axes| b.prod(x, axes))
    }

    /// The mean squared distance from the mean along some axes, which disappear; see [`Builder::variance`].
    #[track_caller]
    pub fn var(self, axes: &[isize]) -> Var<'t> {
        self.over(axes, |b, x, axes| b.variance(x, axes))
    }

    /// The square root of the [variance](Var::var), a Euclidean norm with its kink where all numbers are equal.
    #[track_caller]
    pub fn std(self, axes: &[isize]) -> Var<'t> {
        self.over(axes, |b, x, axes| b.deviation(x, axes))
    }

    /// Along axes that may count from the end.
    #[track_caller]
    fn over(self, axes: &[isize], f: impl FnOnce(&mut Builder, Atom, &[usize]) -> Result<Atom, BuildError>) -> Var<'t> {
        self.apply(|b, x| {
            let shape = b.shape(x);
            let axes = axes.iter().map(|&a| shape.axis(a)).collect::<Result<Vec<_>, _>>()?;
            f(b, x, &axes)
        })
    }

    /// Positions along an axis: of the largest or smallest number, or of all in ascending order.
    #[track_caller]
    pub fn position(self, which: Position, axis: isize) -> Var<'t> {
        self.apply(|b, x| b.position_axis(which, x, axis))
    }

    /// Reads along an axis at computed positions.
    #[track_caller]
    pub fn take_along(self, index: Var<'t>, axis: isize) -> Var<'t> {
        self.apply2(index, |b, x, i| b.take_along(x, i, axis))
    }

    /// Adds into zeros at computed positions, along an axis of that length: the transpose of [`take_along`](Var::take_along).
    #[track_caller]
    pub fn add_along(self, index: Var<'t>, axis: isize, of: usize) -> Var<'t> {
        self.apply2(index, |b, x, i| b.add_along(x, i, axis, of))
    }

    /// The parts of an axis at computed positions, whose axes take its place; see [`Builder::take`].
    ///
    /// ```
    /// use crease_core::{Position, Shape, Tensor, run, trace_shapes};
    /// let p = trace_shapes(&[Shape::vector(3)?], |x| vec![x[0].take(x[0].position(Position::Largest, 0), 0)])?;
    /// assert_eq!(run(&p, &[Tensor::vector(vec![2.0, 5.0, 4.0]).unwrap()])?[0].data(), [5.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn take(self, index: Var<'t>, axis: isize) -> Var<'t> {
        self.apply2(index, |b, x, i| b.take(x, i, axis))
    }

    /// The k largest numbers along an axis, largest first, and their positions.
    ///
    /// ```
    /// use crease_core::{Shape, Tensor, run, trace_shapes};
    /// let p = trace_shapes(&[Shape::vector(3)?], |x| vec![x[0].top_k(2, 0).0])?;
    /// assert_eq!(run(&p, &[Tensor::vector(vec![2.0, 5.0, 4.0]).unwrap()])?[0].data(), [5.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn top_k(self, k: usize, axis: isize) -> (Var<'t>, Var<'t>) {
        let mut positions = None;
        let numbers = self.apply(|b, x| {
            let [numbers, at] = b.top_k(x, k, axis)?;
            positions = Some(at);
            Ok(numbers)
        });
        // after a failure any atom will do: the trace is over
        (numbers, Var { atom: positions.unwrap_or(numbers.atom), tape: self.tape })
    }
}
