//! A compiled program: slices in, slices out.

use crate::error::EngineError;
use crate::float::Float;
use crate::options::Explain;
use crate::{native, scalar, tensor};
use crease_core::differentiate::{How, backprop};
use crease_core::run::Unobserved;
use crease_core::{Arithmetic, Program, Shape, Tensor};
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
    pub(crate) body: Body<T>,
    pub(crate) inputs: Vec<Shape>,
    pub(crate) outputs: Vec<Shape>,
    pub(crate) input_lens: Vec<usize>,
    pub(crate) arithmetic: Arithmetic,
    /// what the interpreter runs when something went wrong, to say what and where
    pub(crate) reference: Arc<Program>,
    /// how it is differentiated for that first
    pub(crate) derive: Option<How>,
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

/// The memory of a run.
///
/// ```
/// use crease_core::trace;
/// use crease_engine::{compile, Options};
/// let c = compile::<f64>(&trace(1, |x| x[0] * x[0]).unwrap(), &Options::default()).unwrap();
/// let one_for_each_thread = (c.workspace(), c.workspace());
/// # drop(one_for_each_thread);
/// ```
pub struct Workspace<T: Float> {
    pub(crate) scalar: Option<scalar::Memory<T>>,
    pub(crate) native: Option<native::Memory<T>>,
    pub(crate) lanes: Option<scalar::Memory<T>>,
    pub(crate) tensor: Option<tensor::Memory<T>>,
    pub(crate) owner: usize,
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
        let scalar: usize = self.scalar.iter().chain(&self.lanes).map(|m| m.bytes()).sum();
        scalar + self.native.as_ref().map_or(0, |m| m.bytes()) + self.tensor.as_ref().map_or(0, |m| m.bytes())
    }
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
        let mut w = Workspace { scalar: None, native: None, lanes: None, tensor: None, owner: self.id() };
        match &self.body {
            Body::Scalar(code) => w.scalar = Some(code.memory(1, false)),
            Body::Native(machine, _) => w.native = Some(machine.memory()),
            Body::Gradient(code, _) => w.scalar = Some(code.memory(1, true)),
            Body::Tensor(code) => w.tensor = Some(code.memory()),
        }
        w
    }

    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.reference) as usize
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

    /// Runs the program once. Nothing is allocated unless the run fails.
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
        self.check(w, 1, inputs, outputs)?;
        self.range(w, 0..1, inputs, outputs)
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
        if w.owner != self.id() {
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

    /// Something was not as it should be. The interpreter says what and where, or that all is well.
    pub(crate) fn ask_interpreter(&self, inputs: &[&[T]]) -> Result<(), EngineError> {
        let tensors: Vec<Tensor<T>> =
            inputs.iter().zip(&self.inputs).filter_map(|(x, s)| Tensor::new(s.clone(), x.to_vec())).collect();
        let derived = self.derive.as_ref().map(|how| backprop(&self.reference, how)).transpose()?;
        let program = derived.as_ref().unwrap_or(&self.reference);
        crease_core::run_with(program, &tensors, self.arithmetic, &mut Unobserved)?;
        Ok(())
    }
}
