//! Loops and what runs along an axis, on variables.

use super::{Tape, Var};
use crate::builder::Cumulative;
use crate::program::Program;
use std::sync::Arc;

impl Tape {
    /// Runs a program so many times, with the first of its inputs carried from turn to turn: see [`Builder::repeat`](crate::Builder::repeat).
    ///
    /// ```
    /// use crease_core::{run, trace, Tensor};
    /// use std::sync::Arc;
    /// let step = Arc::new(trace(2, |x| (x[0] + x[1] / x[0]) / 2.0)?);
    /// let root = trace(1, |x| x[0].tape().repeat(&step, 6, &[x[0]], &[x[0]])[0])?;
    /// assert_eq!(run(&root, &[Tensor::scalar(4.0)])?[0].data(), [2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn repeat<'t>(
        &'t self,
        body: &Arc<Program>,
        turns: usize,
        carried: &[Var<'t>],
        still: &[Var<'t>],
    ) -> Vec<Var<'t>> {
        self.several(body.outputs().len(), |b| b.repeat(body, turns, &self.atoms(carried)?, &self.atoms(still)?))
    }

    /// Runs a program once for each part of some sequences along their first axis: see [`Builder::scan`](crate::Builder::scan).
    ///
    /// ```
    /// use crease_core::{run, trace_shapes, Shape, Tensor};
    /// use std::sync::Arc;
    /// let scalar = Shape::scalar();
    /// let step = Arc::new(trace_shapes(&[scalar.clone(), scalar], |x| vec![x[0] / 2.0 + x[1]])?);
    /// let p = trace_shapes(&[Shape::vector(3)?], |x| {
    ///     let tape = x[0].tape();
    ///     tape.scan(&step, &[tape.constant(0.0)], &[x[0]], &[])
    /// })?;
    /// assert_eq!(run(&p, &[Tensor::vector(vec![4.0, 2.0, 1.0]).unwrap()])?[0].data(), [3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn scan<'t>(
        &'t self,
        body: &Arc<Program>,
        carried: &[Var<'t>],
        sequences: &[Var<'t>],
        still: &[Var<'t>],
    ) -> Vec<Var<'t>> {
        let atoms = |vars| self.atoms(vars);
        self.several(body.outputs().len(), |b| b.scan(body, &atoms(carried)?, &atoms(sequences)?, &atoms(still)?))
    }
}

impl<'t> Var<'t> {
    /// The sum, product, maximum or minimum of all up to here along an axis, which may count from the end.
    ///
    /// ```
    /// use crease_core::{builder::Cumulative, run, trace_shapes, Shape, Tensor};
    /// let p = trace_shapes(&[Shape::vector(3)?], |x| vec![x[0].cumulative(Cumulative::Sum, -1)])?;
    /// assert_eq!(run(&p, &[Tensor::vector(vec![1.0, 2.0, 4.0]).unwrap()])?[0].data(), [1.0, 3.0, 7.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn cumulative(self, what: Cumulative, axis: isize) -> Var<'t> {
        self.apply(|b, x| b.cumulative(what, x, axis))
    }
}
