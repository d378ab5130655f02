//! What to run: a program with the form that suits it, as the source of kernels and the sizes of what goes in and comes out.
//!
//! Nothing here needs a device: a [`Plan`] is made, looked at and tested anywhere, and `Device::load` makes it run.

use crate::error::CudaError;
use crate::fold::{Folded, Wanted, fold};
use crate::lower::lower;
use crate::text::Precision;
use crate::thread::{self, Source};
use crease_core::differentiate::{How, backprop};
use crease_core::{Arithmetic, Number, Program};
use std::fmt;

/// The name of the kernel in every source.
pub(crate) const KERNEL: &str = "crease_kernel";

/// A kind of numbers that devices compute with.
pub trait Real: Number + Copy + Send + Sync + 'static {
    /// Its precision.
    const PRECISION: Precision;
    /// The nearest such number.
    fn from_f64(x: f64) -> Self;
}

impl Real for f32 {
    const PRECISION: Precision = Precision::Single;

    fn from_f64(x: f64) -> Self {
        x as f32
    }
}

impl Real for f64 {
    const PRECISION: Precision = Precision::Double;

    fn from_f64(x: f64) -> Self {
        x
    }
}

/// How to make kernels.
///
/// ```
/// use crease_cuda::Options;
/// // the second input is the same at all points
/// let o = Options::default().common(&[1]);
/// assert_eq!(o.common, [1]);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How derivatives are taken: the selection at kinks.
    pub how: How,
    /// Whether a number that is not finite is an error.
    pub arithmetic: Arithmetic,
    /// The inputs that are the same at all points.
    pub common: Vec<usize>,
    /// The outputs that are summed over all points.
    pub summed: Vec<usize>,
    /// The most scalar steps of one kernel. By default 2^18.
    pub steps: usize,
    /// How many warps share the 32 points of a block in a fold. By default 8.
    pub warps: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            how: How::default(),
            arithmetic: Arithmetic::default(),
            common: Vec::new(),
            summed: Vec::new(),
            steps: 1 << 18,
            warps: 8,
        }
    }
}

impl Options {
    /// With another way to differentiate.
    pub fn how(self, how: How) -> Self {
        Options { how, ..self }
    }

    /// With another arithmetic.
    pub fn arithmetic(self, arithmetic: Arithmetic) -> Self {
        Options { arithmetic, ..self }
    }

    /// With inputs that are the same at all points.
    pub fn common(self, inputs: &[usize]) -> Self {
        Options { common: inputs.to_vec(), ..self }
    }

    /// With outputs that are summed over all points.
    pub fn summed(self, outputs: &[usize]) -> Self {
        Options { summed: outputs.to_vec(), ..self }
    }

    /// With another limit on the steps of a kernel.
    pub fn steps(self, steps: usize) -> Self {
        Options { steps, ..self }
    }

    /// With another number of warps to a block of a fold: 1, 2, 4 or 8, others are rounded down.
    pub fn warps(self, warps: usize) -> Self {
        Options { warps: [8, 4, 2].into_iter().find(|w| *w <= warps).unwrap_or(1), ..self }
    }
}

/// The form of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A thread for each point, every number in a register.
    Thread,
    /// A block for 32 points, members of folds in loops over tables.
    Fold,
}

/// A program as the source of a kernel for many points.
#[derive(Clone, Debug)]
pub struct Plan {
    name: String,
    precision: Precision,
    form: Form,
    source: String,
    steps: usize,
    /// for each input, how many numbers, and whether all points share them
    inputs: Vec<(usize, bool)>,
    outputs: Vec<usize>,
    /// for each output, whether it is summed over the points
    summed: Vec<bool>,
    threads: usize,
    shared_bytes: usize,
    explained: String,
}

/// More calls of functions of a library than this stay calls.
const CALLS: usize = 32;
/// Shared memory that a block may have on every device since 2020, after asking for it.
const MOST_SHARED: usize = 96 << 10;

impl Plan {
    /// A kernel for a program, derived or not.
    ///
    /// ```
    /// use crease_core::{differentiate, relu, trace};
    /// use crease_cuda::{Options, Plan};
    /// // a Clarke element: the program, locked by a direction
    /// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
    /// let locked = differentiate::locked(&p).unwrap();
    /// let plan = Plan::compile::<f64>(&locked, &Options::default()).unwrap();
    /// assert_eq!(plan.inputs().len(), locked.inputs().len());
    /// ```
    ///
    /// # Errors
    ///
    /// If the program is too large, or holds an operation that no kernel has.
    pub fn compile<T: Real>(p: &Program, options: &Options) -> Result<Self, CudaError> {
        let outputs: Vec<usize> = p.outputs().iter().map(|&o| p.atom_shape(o).len()).collect();
        let (inputs, sources) = sources(p, options)?;
        if options.summed.is_empty()
            && let Some(folded) = fold(p, options.steps)?
        {
            let plan = Plan::folded::<T>(p, &folded, &Wanted::Values, (&inputs, &sources, &outputs), options)?;
            if let Some(plan) = plan {
                return Ok(plan);
            }
        }
        Plan::threads::<T>(p, (inputs, &sources, outputs), options)
    }

    /// A kernel for the one scalar output of a program and its derivatives by some inputs, all that points have their own numbers of if none are named.
    ///
    /// # Errors
    ///
    /// As [`Plan::compile`], and if the program has no single scalar output.
    pub fn value_and_grad<T: Real>(p: &Program, wrt: &[usize], options: &Options) -> Result<Self, CudaError> {
        let (inputs, sources) = sources(p, options)?;
        let all: Vec<usize> = (0..inputs.len()).filter(|&i| !inputs[i].1).collect();
        let wrt = if wrt.is_empty() { &all } else { wrt };
        if let Some(&i) = wrt.iter().find(|&&i| i >= inputs.len()) {
            return Err(CudaError::Arguments(format!("there is no input {i}: the program has {}", inputs.len())));
        }
        let outputs: Vec<usize> = [1].into_iter().chain(wrt.iter().map(|&i| inputs[i].0)).collect();
        let derived = |steps: usize| -> Result<Program, CudaError> {
            let numbers = crate::lower::size(p);
            if numbers > steps as u128 {
                let found = usize::try_from(numbers).unwrap_or(usize::MAX);
                return Err(CudaError::TooLarge { name: p.name().into(), steps: found, limit: steps });
            }
            let derived = backprop(p, &options.how)?;
            let numbers: Vec<usize> = [0].into_iter().chain(wrt.iter().map(|&i| i + 1)).collect();
            derived.with_outputs(&numbers).ok_or_else(|| CudaError::Arguments("no such outputs".into()))
        };
        let distinct = (1..wrt.len()).all(|i| !wrt[..i].contains(&wrt[i]));
        if p.outputs().len() == 1
            && p.atom_shape(p.outputs()[0]).is_scalar()
            && distinct
            && options.summed.is_empty()
            && let Some(folded) = fold(p, options.steps)?
        {
            // for each scalar input, the row of its derivative
            let mut first = vec![None; inputs.len()];
            let mut row = 1;
            for &i in wrt {
                first[i] = Some(row);
                row += inputs[i].0;
            }
            let rows: Vec<Option<usize>> = inputs
                .iter()
                .zip(&first)
                .flat_map(|(&(len, _), first)| (0..len).map(move |k| first.map(|f| f + k)))
                .collect();
            let wanted = Wanted::Gradient(&options.how, &rows, row);
            if let Some(plan) = Plan::folded::<T>(p, &folded, &wanted, (&inputs, &sources, &outputs), options)? {
                return Ok(plan);
            }
        }
        Plan::threads::<T>(&derived(options.steps)?, (inputs, &sources, outputs), options)
    }

    fn threads<T: Real>(
        p: &Program,
        (inputs, sources, outputs): (Vec<(usize, bool)>, &[Source], Vec<usize>),
        options: &Options,
    ) -> Result<Self, CudaError> {
        let s = lower(p, options.steps)?;
        let checked = options.arithmetic == Arithmetic::Checked;
        if let Some(j) = options.summed.iter().find(|&&j| j >= outputs.len()) {
            return Err(CudaError::Arguments(format!("there is no output {j} to sum: there are {}", outputs.len())));
        }
        let summed: Vec<bool> = (0..outputs.len()).map(|j| options.summed.contains(&j)).collect();
        let each: Vec<bool> = outputs.iter().zip(&summed).flat_map(|(&n, &s)| std::iter::repeat_n(s, n)).collect();
        let kernel = thread::kernel(KERNEL, &s, T::PRECISION, sources, checked, &each);
        Ok(Plan {
            name: p.name().into(),
            precision: T::PRECISION,
            form: Form::Thread,
            source: if s.calls() > CALLS { "#define MANY_CALLS\n" } else { "" }.to_string()
                + &T::PRECISION.prelude()
                + &kernel,
            steps: s.steps.len(),
            inputs,
            outputs,
            threads: if summed.contains(&true) { 256 } else { 128 },
            summed,
            shared_bytes: 0,
            explained: format!("a thread for each point: {} scalar steps", s.steps.len()),
        })
    }

    fn folded<T: Real>(
        p: &Program,
        folded: &Folded,
        wanted: &Wanted<'_>,
        (inputs, sources, outputs): (&[(usize, bool)], &[Source], &[usize]),
        options: &Options,
    ) -> Result<Option<Self>, CudaError> {
        let shared_bytes = folded.shared_bytes(T::PRECISION, options.warps);
        if shared_bytes > MOST_SHARED {
            return Ok(None);
        }
        let checked = options.arithmetic == Arithmetic::Checked;
        let kernel = folded.kernel(KERNEL, T::PRECISION, sources, wanted, checked, options.steps)?;
        let (templates, members) = folded.sizes();
        Ok(kernel.map(|kernel| Plan {
            name: p.name().into(),
            precision: T::PRECISION,
            form: Form::Fold,
            source: format!("#define WARPS {}\n", options.warps) + &T::PRECISION.prelude() + &kernel,
            steps: members,
            inputs: inputs.to_vec(),
            outputs: outputs.to_vec(),
            summed: vec![false; outputs.len()],
            threads: 32 * options.warps,
            shared_bytes,
            explained: format!(
                "a block of {} warps for 32 points: {members} members of {templates} template{} in loops, {shared_bytes} bytes of shared memory",
                options.warps,
                if templates == 1 { "" } else { "s" }
            ),
        }))
    }

    /// The name of the program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of numbers.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Which form the kernel has.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The source of the kernel, in CUDA C.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Scalar steps, or members of folds.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// How many numbers each input has at one point, and whether all points share them.
    pub fn inputs(&self) -> &[(usize, bool)] {
        &self.inputs
    }

    /// How many numbers each output has at one point.
    pub fn outputs(&self) -> &[usize] {
        &self.outputs
    }

    /// Numbers that each point brings.
    pub fn rows(&self) -> usize {
        self.inputs.iter().filter(|i| !i.1).map(|i| i.0).sum()
    }

    /// Numbers that all points share.
    pub fn common(&self) -> usize {
        self.inputs.iter().filter(|i| i.1).map(|i| i.0).sum()
    }

    /// Numbers that each point gets.
    pub fn results(&self) -> usize {
        self.outputs.iter().zip(&self.summed).filter(|(_, s)| !**s).map(|(n, _)| n).sum()
    }

    /// For each output, whether it is summed over all points.
    pub fn summed(&self) -> &[bool] {
        &self.summed
    }

    /// Numbers that are summed over all points.
    pub fn totals(&self) -> usize {
        self.outputs.iter().zip(&self.summed).filter(|(_, s)| **s).map(|(n, _)| n).sum()
    }

    /// Threads in a block, and bytes of shared memory.
    pub fn block(&self) -> (usize, usize) {
        (self.threads, self.shared_bytes)
    }

    /// Points for each block.
    pub fn points_per_block(&self) -> usize {
        match self.form {
            Form::Thread => self.threads,
            Form::Fold => 32,
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.explained)
    }
}

type Sources = (Vec<(usize, bool)>, Vec<Source>);

/// Where every number of every input is read from.
fn sources(p: &Program, options: &Options) -> Result<Sources, CudaError> {
    if let Some(i) = options.common.iter().find(|&&i| i >= p.inputs().len()) {
        return Err(CudaError::Arguments(format!(
            "there is no input {i} to share: the program has {}",
            p.inputs().len()
        )));
    }
    let (mut rows, mut common) = (0, 0);
    let mut inputs = Vec::new();
    let mut sources = Vec::new();
    for (i, input) in p.inputs().iter().enumerate() {
        let (len, shared) = (input.shape.len(), options.common.contains(&i));
        inputs.push((len, shared));
        for _ in 0..len {
            let next = if shared { &mut common } else { &mut rows };
            sources.push(if shared { Source::Common(*next) } else { Source::Row(*next) });
            *next += 1;
        }
    }
    Ok((inputs, sources))
}
