//! A compiled program: slices in, slices out.

use crate::error::EngineError;
use crate::float::Float;
use crate::options::Explain;
use crate::reference::Reference;
use crate::{native, scalar, tensor};
use crease_core::run::Unobserved;
use crease_core::{Arithmetic, Shape, Tensor};
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
    pub(crate) body: Arc<Body<T>>,
    pub(crate) inputs: Vec<Shape>,
    pub(crate) outputs: Vec<Shape>,
    pub(crate) input_lens: Vec<usize>,
    pub(crate) arithmetic: Arithmetic,
    /// what the interpreter runs where a run is handed over to it
    pub(crate) reference: Reference,
    pub(crate) explain: Explain,
}

/// What is executed.
pub(crate) enum Body<T> {
    Scalar(scalar::Code<T>),
    /// A scalar program as machine code, and, if that is faster for several points at once, as bytecode.
    Native(native::Machine<T>, Option<scalar::Code<T>>),
    Tensor(tensor::Code<T>),
    /// A scalar program, run forward and backward; derivatives by these inputs.
    Gradient(scalar::Code<T>, Vec<usize>),
}

impl<T: Float> Body<T> {
    /// Memory for runs at one point.
    fn memory(&self) -> Memory<T> {
        match self {
            Body::Scalar(code) => Memory::Scalar(code.memory(1, false)),
            Body::Gradient(code, _) => Memory::Scalar(code.memory(1, true)),
            Body::Native(machine, _) => Memory::Native(machine.memory()),
            Body::Tensor(code) => Memory::Tensor(code.memory()),
        }
    }
}

/// The memory of runs at one point.
pub(crate) enum Memory<T: Float> {
    Scalar(scalar::Memory<T>),
    Native(native::Memory<T>),
    Tensor(tensor::Memory<T>),
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
    pub(crate) body: Arc<Body<T>>,
    pub(crate) memory: Memory<T>,
    /// For several points at once, made when they come.
    pub(crate) lanes: Option<scalar::Memory<T>>,
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
        let one = match &self.memory {
            Memory::Scalar(m) => m.bytes(),
            Memory::Native(m) => m.bytes(),
            Memory::Tensor(m) => m.bytes(),
        };
        one + self.lanes.as_ref().map_or(0, |m| m.bytes())
    }
}

/// See [`Compiled::workspace`].
pub(crate) fn workspace<T: Float>(c: &Compiled<T>) -> Workspace<T> {
    Workspace { body: c.body.clone(), memory: c.body.memory(), lanes: None }
}

impl<T: Float> Compiled<T> {
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

    /// Whether a workspace was made for this code.
    pub(crate) fn owns(&self, w: &Workspace<T>) -> bool {
        Arc::ptr_eq(&self.body, &w.body)
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
            if given.len() != len && given.len() != len * points {
                return Err(EngineError::InputLength { index, expected: len * points, got: given.len() });
            }
        }
        Ok(())
    }

    pub(crate) fn check_outputs(&self, points: usize, outputs: &[&mut [T]]) -> Result<(), EngineError> {
        if outputs.len() != self.outputs.len() {
            return Err(EngineError::Outputs { expected: self.outputs.len(), got: outputs.len() });
        }
        for (index, (given, shape)) in outputs.iter().zip(&self.outputs).enumerate() {
            if given.len() != shape.len() * points {
                return Err(EngineError::OutputLength { index, expected: shape.len() * points, got: given.len() });
            }
        }
        Ok(())
    }

    /// Hands a run at one point over to the interpreter, whose answer, or whose error, counts.
    pub(crate) fn hand_over(&self, inputs: &[&[T]], point: usize, outputs: &mut [&mut [T]]) -> Result<(), EngineError> {
        let tensors: Vec<Tensor<T>> =
            inputs.iter().zip(&self.inputs).filter_map(|(x, s)| Tensor::new(s.clone(), x.to_vec())).collect();
        let answers = crease_core::run_with(self.reference.program()?, &tensors, self.arithmetic, &mut Unobserved)?;
        for (out, answer) in outputs.iter_mut().zip(answers) {
            let n = answer.data().len();
            out[point * n..][..n].copy_from_slice(answer.data());
        }
        Ok(())
    }
}
