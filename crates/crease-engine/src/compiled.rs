//! A compiled program: slices in, slices out.

use crate::batch::Lists;
use crate::error::EngineError;
use crate::executable::{Code, Executable, Inputs, Run};
use crate::float::Float;
use crate::options::{Explain, Options};
use crate::reference::{Derive, Reference};
use crease_core::run::Unobserved;
use crease_core::{Arithmetic, Limits, Program, RunOptions, Shape, Tensor};
use std::sync::Arc;

/// A program compiled for `f64` or `f32`. It is immutable and can be shared between threads; what a run writes to is a
/// [`Workspace`], one for each thread.
///
/// ```
/// use crease_core::{relu, trace};
/// use crease_engine::{compile, Options};
/// let p = trace(2, |x| relu(x[0] - x[1])).unwrap();
/// let c = compile::<f64>(&p, &Options::default()).unwrap();
/// let mut w = c.workspace();
/// let mut y = [0.0];
/// c.run(&mut w, &[&[3.0], &[1.0]], &mut [&mut y]).unwrap();
/// assert_eq!(y, [2.0]);
/// ```
pub struct Compiled<T: Float> {
    /// shared with the workspaces that were made for it
    pub(crate) code: Arc<dyn Code<T>>,
    pub(crate) inputs: Vec<Shape>,
    pub(crate) outputs: Vec<Shape>,
    pub(crate) input_lens: Vec<usize>,
    pub(crate) arithmetic: Arithmetic,
    pub(crate) limits: Limits,
    /// what the interpreter runs where a run is handed over to it
    pub(crate) reference: Reference,
    pub(crate) explain: Explain,
}

/// The memory of a run. It belongs to the compiled program that made it, whose code it keeps.
///
/// ```
/// use crease_core::trace;
/// use crease_engine::{compile, Options};
/// let c = compile::<f64>(&trace(1, |x| x[0] * x[0]).unwrap(), &Options::default()).unwrap();
/// let one_for_each_thread = (c.workspace(), c.workspace());
/// # drop(one_for_each_thread);
/// ```
pub struct Workspace<T: Float> {
    /// The code that this is for. To hold it is to know it: as long as the workspace is there, no other code can come to lie at
    /// its address.
    code: Arc<dyn Code<T>>,
    /// That code and its memory.
    pub(crate) run: Box<dyn Run<T>>,
    pub(crate) lists: Lists<T>,
}

impl<T: Float> Workspace<T> {
    /// How much memory this is, in bytes: what a run needs beside its inputs and outputs.
    ///
    /// ```
    /// use crease_core::{trace_shapes, Shape};
    /// use crease_engine::{compile, Options};
    /// let p = trace_shapes(&[Shape::vector(3).unwrap()], |x| vec![(x[0] * x[0]).sum()]).unwrap();
    /// let c = compile::<f64>(&p, &Options::default()).unwrap();
    /// assert!(c.workspace().bytes() < 1000);
    /// ```
    pub fn bytes(&self) -> usize {
        self.run.bytes() + self.lists.bytes()
    }
}

/// See [`Compiled::workspace`].
pub(crate) fn workspace<T: Float>(c: &Compiled<T>) -> Workspace<T> {
    Workspace { code: c.code.clone(), run: c.code.clone().bind(), lists: Lists::default() }
}

impl<T: Float> Compiled<T> {
    /// A compiled program that runs code from elsewhere: see [`Executable`]. Where that gives up, the interpreter runs the program.
    ///
    /// ```
    /// use crease_core::trace;
    /// use crease_engine::{Compiled, Executable, Inputs, Options};
    /// # struct Square;
    /// # impl Executable<f64> for Square {
    /// #     type Memory = ();
    /// #     fn memory(&self) {}
    /// #     fn numbers(&self) -> usize { 0 }
    /// #     fn bytes(_: &()) -> usize { 0 }
    /// #     fn run(&self, _: &mut (), p: std::ops::Range<usize>, x: Inputs<'_, f64>, y: &mut [&mut [f64]]) -> bool {
    /// #         p.into_iter().for_each(|p| y[0][p] = x.input(0, p)[0] * x.input(0, p)[0]);
    /// #         true
    /// #     }
    /// # }
    /// let p = trace(1, |x| x[0] * x[0]).unwrap();
    /// let c = Compiled::from_executable(Square, &p, &Options::default()).unwrap();
    /// let mut y = [0.0];
    /// c.run(&mut c.workspace(), &[&[3.0]], &mut [&mut y]).unwrap();
    /// assert_eq!(y, [9.0]);
    /// ```
    pub fn from_executable(
        code: impl Executable<T>,
        program: &Program,
        options: &Options,
    ) -> Result<Self, EngineError> {
        let outputs = program.outputs().iter().map(|&o| program.atom_shape(o)).collect();
        Compiled::new(
            Arc::new(code),
            program,
            Reference::new(program, Derive::Same),
            options,
            Explain::default(),
            outputs,
        )
    }

    /// Code for what the reference says, with the inputs of a program.
    pub(crate) fn new(
        code: Arc<dyn Code<T>>,
        program: &Program,
        reference: Reference,
        options: &Options,
        explain: Explain,
        outputs: Vec<Shape>,
    ) -> Result<Self, EngineError> {
        let inputs: Vec<Shape> = program.inputs().iter().map(|i| i.shape.clone()).collect();
        let input_lens = inputs.iter().map(Shape::len).collect();
        let (arithmetic, limits) = (options.arithmetic, options.limits.clone());
        let c = Compiled { code, inputs, outputs, input_lens, arithmetic, limits, reference, explain };
        c.check_workspaces(1)?;
        Ok(c)
    }

    /// Memory for runs of this program.
    ///
    /// ```
    /// use crease_core::trace;
    /// use crease_engine::{compile, Options};
    /// let c = compile::<f64>(&trace(2, |x| x[0] * x[1]).unwrap(), &Options::default()).unwrap();
    /// let mut one_for_this_thread = c.workspace();
    /// c.run(&mut one_for_this_thread, &[&[2.0], &[3.0]], &mut [&mut [0.0]]).unwrap();
    /// ```
    pub fn workspace(&self) -> Workspace<T> {
        T::workspace(self)
    }

    /// Whether so many workspaces hold no more numbers than may be.
    pub(crate) fn check_workspaces(&self, count: usize) -> Result<(), EngineError> {
        let numbers = (self.code.held() as u64).saturating_mul(count as u64);
        if numbers <= self.limits.numbers {
            return Ok(());
        }
        let what = if count > 1 { "the workspaces" } else { "a workspace" };
        Err(EngineError::TooManyNumbers { what, numbers, limit: self.limits.numbers, several: count > 1 })
    }

    /// Whether a workspace was made for this code.
    pub(crate) fn owns(&self, w: &Workspace<T>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.code), Arc::as_ptr(&w.code))
    }

    /// The shapes of the inputs.
    ///
    /// ```
    /// use crease_core::trace;
    /// use crease_engine::{compile, Options};
    /// let c = compile::<f64>(&trace(2, |x| x[0] * x[1]).unwrap(), &Options::default()).unwrap();
    /// assert_eq!(c.inputs().len(), 2);
    /// ```
    pub fn inputs(&self) -> &[Shape] {
        &self.inputs
    }

    /// The shapes of the outputs.
    ///
    /// ```
    /// use crease_core::trace;
    /// use crease_engine::{compile, Options};
    /// let c = compile::<f64>(&trace(2, |x| x[0] * x[1]).unwrap(), &Options::default()).unwrap();
    /// assert!(c.outputs()[0].is_scalar());
    /// ```
    pub fn outputs(&self) -> &[Shape] {
        &self.outputs
    }

    /// What was decided, and why.
    ///
    /// ```
    /// use crease_core::trace;
    /// use crease_engine::{compile, Options};
    /// let c = compile::<f64>(&trace(2, |x| x[0] * x[1]).unwrap(), &Options::default()).unwrap();
    /// assert!(c.explain().lines()[0].starts_with("scalar program"));
    /// ```
    pub fn explain(&self) -> &Explain {
        &self.explain
    }

    /// Runs the program once. Nothing is allocated unless the run is handed over to the interpreter, because it met a number that
    /// is not finite.
    ///
    /// ```
    /// use crease_core::trace;
    /// use crease_engine::{compile, Options};
    /// let c = compile::<f64>(&trace(2, |x| x[0] * x[1]).unwrap(), &Options::default()).unwrap();
    /// let mut y = [0.0];
    /// c.run(&mut c.workspace(), &[&[2.0], &[3.0]], &mut [&mut y]).unwrap();
    /// assert_eq!(y, [6.0]);
    /// ```
    pub fn run(&self, w: &mut Workspace<T>, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), EngineError> {
        T::run(self, w, inputs, outputs)
    }

    /// Whether slices fit `points` points.
    pub(crate) fn check(
        &self,
        w: &Workspace<T>,
        points: usize,
        inputs: &[&[T]],
        outputs: &[&mut [T]],
    ) -> Result<(), EngineError> {
        self.check_inputs(w, points, inputs)?;
        self.check_outputs(points, outputs)
    }

    pub(crate) fn check_inputs(&self, w: &Workspace<T>, points: usize, inputs: &[&[T]]) -> Result<(), EngineError> {
        if !self.owns(w) {
            return Err(EngineError::Workspace);
        }
        if inputs.len() != self.inputs.len() {
            return Err(EngineError::Inputs { expected: self.inputs.len(), got: inputs.len() });
        }
        for (index, (given, &len)) in inputs.iter().zip(&self.input_lens).enumerate() {
            // one for all points, or one for each
            let expected = len.saturating_mul(points);
            if given.len() != len && given.len() != expected {
                return Err(EngineError::InputLength { index, expected, got: given.len() });
            }
        }
        Ok(())
    }

    pub(crate) fn check_outputs(&self, points: usize, outputs: &[&mut [T]]) -> Result<(), EngineError> {
        if outputs.len() != self.outputs.len() {
            return Err(EngineError::Outputs { expected: self.outputs.len(), got: outputs.len() });
        }
        for (index, (given, shape)) in outputs.iter().zip(&self.outputs).enumerate() {
            let expected = shape.len().saturating_mul(points);
            if given.len() != expected {
                return Err(EngineError::OutputLength { index, expected, got: given.len() });
            }
        }
        Ok(())
    }

    /// Hands a run at one point over to the interpreter, whose answer, or whose error, counts.
    pub(crate) fn hand_over(
        &self,
        inputs: Inputs<'_, T>,
        point: usize,
        outputs: &mut [&mut [T]],
    ) -> Result<(), EngineError> {
        let tensors: Vec<Tensor<T>> =
            inputs.at(point).zip(&self.inputs).filter_map(|(x, s)| Tensor::new(s.clone(), x.to_vec())).collect();
        let how = RunOptions { arithmetic: self.arithmetic, limits: self.limits.clone() };
        let answers = (T::interpreter().run)(self.reference.program()?, &tensors, how, &mut Unobserved)?;
        for (out, answer) in outputs.iter_mut().zip(answers) {
            let n = answer.data().len();
            out[point * n..][..n].copy_from_slice(answer.data());
        }
        Ok(())
    }
}
