//! Programs of tensors, at one point: products by cuBLAS, and between them few kernels.
//!
//! A [`Program`] enters (for many points, what [`batch`](crease_core::batch()) makes of one); a [`TensorPlan`] leaves: a list of launches over buffers. A value gets a
//! buffer only if something needs it whole: outputs, arguments of products, what many read and is dear to compute. All
//! else is *pulled*: computed from the buffers behind it at the index at which it is read, through every view on the way (`pull`), so that
//! elementwise operations, views and sums are one kernel. Kernels over as many elements that do not wait for each other are one kernel, too, and read what they share once.
//!
//! Launches are: elementwise kernels; sums, in two steps and always in the same order, in double precision; lanes along the last axis, a thread
//! for each; products. Selections by sub-programs, lanes of more than 256 members and assemblies through tables that add are refused, with the place.

mod pull;
mod sum;

use crate::error::CudaError;
use crate::lower::{Act, Operand, Scalars, Step};
use crate::plan::Real;
use crate::text::{Precision, Writer};
use crease_core::{Atom, Equation, Kink, Lane, Layout, Op, Program, Rational, Site, Value, inline};
use pull::Pull;
use std::fmt::Write;
use std::sync::Arc;

/// Lanes of more members are refused.
const LANE: usize = 256;
/// What takes more steps than this to compute again is kept if several read it.
const DEAR: usize = 6;
/// The longest chain of steps that is computed again at each read.
const DEEP: usize = 40;

/// The most values of elementwise kernels that are written together.
const TOGETHER: usize = 16;
/// Threads of a block.
pub(crate) const BLOCK: usize = 256;

/// One thing that a device does.
#[cfg_attr(not(feature = "cuda"), allow(dead_code))] // a device reads it
#[derive(Clone, Debug)]
pub(crate) enum Launch {
    /// A kernel, over so many threads: buffers, in the order of its arguments.
    Kernel { name: String, threads: usize, buffers: Vec<usize> },
    /// Zeros into a buffer.
    Zero(usize),
    /// A product of matrices, several one after the other.
    Product { a: usize, b: usize, to: usize, sizes: [usize; 3], transposed: (bool, bool), count: usize },
}

/// What a buffer holds before the first launch.
#[cfg_attr(not(feature = "cuda"), allow(dead_code))] // a device reads it
#[derive(Clone, Debug)]
pub(crate) enum Holds {
    Nothing,
    Numbers(Vec<f64>),
    Indices(Arc<[u32]>),
    /// Sums under way, in double precision.
    Sums,
}

/// A program of tensors as launches.
#[cfg_attr(not(feature = "cuda"), allow(dead_code))] // a device reads it
#[derive(Clone, Debug)]
pub struct TensorPlan {
    pub(crate) precision: Precision,
    pub(crate) source: String,
    pub(crate) launches: Vec<Launch>,
    pub(crate) buffers: Vec<(usize, Holds)>,
    pub(crate) inputs: Vec<usize>,
    /// for each output its buffer, or the number that it is
    pub(crate) outputs: Vec<Result<usize, f64>>,
}

impl TensorPlan {
    /// A program, derived or not, as launches.
    ///
    /// ```
    /// use crease_core::{relu, trace_shapes, Shape};
    /// use crease_cuda::TensorPlan;
    /// let shapes = [Shape::new([64, 8]).unwrap(), Shape::new([8, 4]).unwrap()];
    /// let p = trace_shapes(&shapes, |x| vec![relu(x[0].matmul(x[1])).sum()]).unwrap();
    /// let plan = TensorPlan::compile::<f32>(&p).unwrap();
    /// // a product, and the sum of relus in two steps
    /// assert_eq!(plan.launches(), 3);
    /// ```
    ///
    /// # Errors
    ///
    /// If the program holds what no kernel does, with its place.
    pub fn compile<T: Real>(p: &Program) -> Result<Self, CudaError> {
        let p = inline(p)?;
        let mut m = Maker::new(&p, T::PRECISION);
        m.inputs_and_uses();
        m.keep();
        for i in 0..p.len() {
            if m.live[p.equation(i).first.index()] || p.equation(i).results().any(|v| m.live[v.index()]) {
                m.equation(i)?;
            }
        }
        m.flush();
        Ok(m.finish())
    }

    /// How many launches a run is.
    pub fn launches(&self) -> usize {
        self.launches.len()
    }

    /// The source of all kernels.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// How many numbers each input has.
    pub fn inputs(&self) -> Vec<usize> {
        self.inputs.iter().map(|&b| self.buffers[b].0).collect()
    }

    /// How many numbers each output has.
    pub fn outputs(&self) -> Vec<usize> {
        self.outputs.iter().map(|o| o.map_or(1, |b| self.buffers[b].0)).collect()
    }
}

/// A value of the program on its way into kernels.
pub(crate) struct Maker<'p> {
    p: &'p Program,
    precision: Precision,
    kernels: String,
    launches: Vec<Launch>,
    buffers: Vec<(usize, Holds)>,
    /// the buffer of each value that has one
    of: Vec<Option<usize>>,
    live: Vec<bool>,
    kept: Vec<bool>,
    /// elementwise kernels that are not yet written: how many elements, which values
    open: Vec<(usize, Vec<Value>)>,
    tables: Vec<(Arc<[u32]>, usize)>,
}

impl<'p> Maker<'p> {
    fn new(p: &'p Program, precision: Precision) -> Self {
        let n = p.values();
        let (live, kept, of) = (vec![false; n], vec![false; n], vec![None; n]);
        let (kernels, launches, buffers) = (precision.prelude(), Vec::new(), Vec::new());
        Maker { p, precision, kernels, launches, buffers, of, live, kept, open: Vec::new(), tables: Vec::new() }
    }

    fn buffer(&mut self, numbers: usize, holds: Holds) -> usize {
        self.buffers.push((numbers, holds));
        self.buffers.len() - 1
    }

    fn buffer_of(&mut self, v: Value) -> usize {
        if let Some(b) = self.of[v.index()] {
            return b;
        }
        let b = self.buffer(self.p.shape(v).len(), Holds::Nothing);
        self.of[v.index()] = Some(b);
        b
    }

    fn inputs_and_uses(&mut self) {
        for v in self.p.input_values() {
            let b = self.buffer(self.p.shape(v).len(), Holds::Nothing);
            self.of[v.index()] = Some(b);
        }
        self.p.outputs().iter().filter_map(|a| a.value()).for_each(|v| self.live[v.index()] = true);
        for i in (0..self.p.len()).rev() {
            let e = self.p.equation(i);
            if e.results().any(|v| self.live[v.index()]) {
                e.args.iter().filter_map(|a| a.value()).for_each(|v| self.live[v.index()] = true);
            }
        }
    }

    /// Decides which values get a buffer.
    fn keep(&mut self) {
        let p = self.p;
        let mut uses = vec![0_usize; p.values()];
        let mut steps = vec![0_usize; p.values()];
        let mut depth = vec![0_usize; p.values()];
        for e in p.equations().filter(|e| e.results().any(|v| self.live[v.index()])) {
            e.args.iter().filter_map(|a| a.value()).for_each(|v| uses[v.index()] += 1);
        }
        for &o in p.outputs() {
            if let Some(v) = o.value() {
                self.kept[v.index()] = true;
            }
        }
        for e in p.equations().filter(|e| e.results().any(|v| self.live[v.index()])) {
            let args = || e.args.iter().filter_map(|a| a.value());
            match kind(p, &e) {
                Kind::Pulled => {
                    for v in e.results() {
                        steps[v.index()] = 1 + args().map(|a| steps[a.index()]).sum::<usize>();
                        depth[v.index()] = 1 + args().map(|a| depth[a.index()]).max().unwrap_or(0);
                        let dear = uses[v.index()] > 1 && steps[v.index()] > DEAR;
                        self.kept[v.index()] |= dear || depth[v.index()] > DEEP;
                    }
                }
                Kind::Assembled | Kind::Summed => e.results().for_each(|v| self.kept[v.index()] = true),
                Kind::Product | Kind::Lanes | Kind::Refused(_) => {
                    args().for_each(|v| self.kept[v.index()] = true);
                    e.results().for_each(|v| self.kept[v.index()] = true);
                }
            }
            for v in e.results().filter(|v| self.kept[v.index()]) {
                (steps[v.index()], depth[v.index()]) = (0, 0);
            }
        }
    }

    fn equation(&mut self, i: usize) -> Result<(), CudaError> {
        let p = self.p;
        let e = p.equation(i);
        match kind(p, &e) {
            Kind::Refused(why) => {
                let (operation, site) = (e.op.to_string(), Box::new(Site::new(p, i)));
                return Err(CudaError::Unsupported { operation, why, site });
            }
            Kind::Pulled => {
                if let Op::Constant(c) = e.op {
                    let b = self.buffer(c.data().len(), Holds::Numbers(c.data().to_vec()));
                    self.of[e.first.index()] = Some(b);
                    return Ok(());
                }
                for v in e.results().filter(|v| self.kept[v.index()] && self.live[v.index()]) {
                    let n = p.shape(v).len();
                    match self.open.iter_mut().find(|(m, _)| *m == n) {
                        Some((_, values)) => values.push(v),
                        None => self.open.push((n, vec![v])),
                    }
                }
                // what is not yet written is computed again by what waits for it, which must not go too far
                if self.open.iter().map(|o| o.1.len()).sum::<usize>() > TOGETHER {
                    self.flush();
                }
            }
            Kind::Product => {
                self.flush();
                self.product(&e);
            }
            Kind::Lanes => {
                self.flush();
                self.lanes(&e);
            }
            Kind::Assembled => {
                self.flush();
                self.assembled(&e);
            }
            Kind::Summed => {
                self.flush();
                self.summed(&e);
            }
        }
        Ok(())
    }

    /// Writes the elementwise kernels that are open. Values that are kept read each other by their buffers, so those of one kernel must
    /// not wait for each other: what does is computed again from what is behind it.
    fn flush(&mut self) {
        for (n, values) in std::mem::take(&mut self.open) {
            let name = format!("each{}", self.launches.len());
            let mut pull = Pull::new(self, "  ");
            pull.body.push_str("  const unsigned i = (unsigned)THREAD;\n");
            let _ = writeln!(pull.body, "  if (i >= {n}u) return;");
            let mut stores = Vec::new();
            for &v in &values {
                let x = pull.value(v, "i");
                stores.push((v, x));
            }
            let (mut body, mut buffers) = (pull.body, pull.buffers);
            for (v, x) in stores {
                let b = self.buffer_of(v);
                let _ = writeln!(body, "  o{}[i] = {x};", buffers.len());
                buffers.push(b);
            }
            self.kernel(name, n, &body, buffers, values.len());
        }
    }

    /// Adds a kernel; the last `writes` of its buffers are written.
    fn kernel(&mut self, name: String, threads: usize, body: &str, buffers: Vec<usize>, writes: usize) {
        let reads = buffers.len() - writes;
        let args: Vec<String> = buffers
            .iter()
            .enumerate()
            .map(|(k, &b)| match (&self.buffers[b].1, k < reads) {
                (Holds::Indices(_), _) => format!("const unsigned *__restrict__ b{k}"),
                (Holds::Sums, true) => format!("const double *__restrict__ b{k}"),
                (Holds::Sums, false) => format!("double *__restrict__ o{k}"),
                (_, true) => format!("const REAL *__restrict__ b{k}"),
                (_, false) => format!("REAL *__restrict__ o{k}"),
            })
            .collect();
        let _ = writeln!(self.kernels, "KERNEL {name}({}) {{\n{body}}}", args.join(", "));
        self.launches.push(Launch::Kernel { name, threads, buffers });
    }

    fn product(&mut self, e: &Equation<'_>) {
        let Op::MatMul { transpose_a, transpose_b } = e.op else { return };
        let arg = |m: &mut Self, a: Atom| match a.value() {
            Some(v) => m.buffer_of(v),
            None => m.number(a),
        };
        let (a, b) = (arg(self, e.args[0]), arg(self, e.args[1]));
        let to = self.buffer_of(e.first);
        let dims = self.p.shape(e.first).dims().to_vec();
        let (m, n) = (dims[dims.len() - 2], dims[dims.len() - 1]);
        let count = dims[..dims.len() - 2].iter().product::<usize>();
        let k = self.buffers[a].0 / (count * m);
        let sizes = [m, n, k];
        self.launches.push(Launch::Product { a, b, to, sizes, transposed: (*transpose_a, *transpose_b), count });
    }

    fn number(&mut self, a: Atom) -> usize {
        let x = self.p.as_constant(a).map_or(0.0, Rational::to_f64);
        self.buffer(1, Holds::Numbers(vec![x]))
    }

    /// A thread for each lane along the last axis.
    fn lanes(&mut self, e: &Equation<'_>) {
        let p = self.p;
        let Some(arg) = e.args[0].value() else { return };
        let n = p.shape(arg).split_last().map_or(1, |(_, n)| n);
        let count = p.shape(arg).len() / n;
        let op = e.op.with_lane(Lane::Args);
        let name = format!("lanes{}", self.launches.len());
        let mut body = format!("  const unsigned i = (unsigned)THREAD;\n  if (i >= {count}u) return;\n");
        let mut buffers = Vec::new();
        let mut inputs = Vec::new();
        for (k, a) in e.args.iter().enumerate() {
            let Some(v) = a.value() else { continue };
            buffers.push(self.buffer_of(v));
            for j in 0..n {
                let _ = writeln!(body, "  const REAL x{k}_{j} = b{k}[i * {n}u + {j}];");
                inputs.push(format!("x{k}_{j}"));
            }
        }
        let numbers: Vec<usize> = e.results().map(|v| p.shape(v).len() / count).collect();
        let step = Step {
            act: Arc::new(Act::Op(op)),
            args: (0..inputs.len() as u32).map(Operand::Value).collect(),
            first: inputs.len() as u32,
            results: numbers.iter().sum::<usize>() as u32,
        };
        let s = Scalars {
            inputs: inputs.len(),
            outputs: (step.first..step.first + step.results).map(Operand::Value).collect(),
            steps: vec![step],
            ..Scalars::default()
        };
        let writer = Writer { precision: self.precision, prefix: "v", inputs: &inputs, indent: "  ", checked: false };
        let mut found = writer.steps(&s, &mut body).into_iter();
        let mut writes = 0;
        for (v, each) in e.results().zip(numbers) {
            let values: Vec<String> = found.by_ref().take(each).collect();
            if !self.live[v.index()] {
                continue;
            }
            let o = buffers.len();
            buffers.push(self.buffer_of(v));
            writes += 1;
            for (j, x) in values.iter().enumerate() {
                let _ = writeln!(body, "  o{o}[i * {each}u + {j}] = {x};");
            }
        }
        self.kernel(name, count, &body, buffers, writes);
    }

    fn finish(self) -> TensorPlan {
        let inputs = (0..self.p.inputs().len()).map(|i| self.of[i].unwrap_or(i)).collect();
        let outputs = self
            .p
            .outputs()
            .iter()
            .map(|&o| match o.value() {
                Some(v) => self.of[v.index()].ok_or(f64::NAN),
                None => Err(self.p.as_constant(o).map_or(0.0, Rational::to_f64)),
            })
            .collect();
        TensorPlan {
            precision: self.precision,
            source: self.kernels,
            launches: self.launches,
            buffers: self.buffers,
            inputs,
            outputs,
        }
    }
}

/// What becomes of an equation.
pub(crate) enum Kind {
    /// Computed at whatever index it is read.
    Pulled,
    Product,
    Lanes,
    /// Numbers put into zeros, none onto another of its piece.
    Assembled,
    /// Sums along axes.
    Summed,
    Refused(String),
}

pub(crate) fn kind(p: &Program, e: &Equation<'_>) -> Kind {
    let lane = |op: &Op| match op.lane() {
        None | Some(Lane::Args) => Kind::Pulled,
        Some(Lane::Axis) => {
            let n = e.args[0].value().and_then(|v| p.shape(v).split_last()).map_or(1, |(_, n)| n);
            match n {
                0..=LANE => Kind::Lanes,
                _ => Kind::Refused(format!("a lane of {n} members is longer than the {LANE} that a thread takes")),
            }
        }
    };
    match e.op {
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Neg | Op::Smooth(_) | Op::Compare(_) | Op::Logic(_) => Kind::Pulled,
        Op::Stair(_) | Op::Where | Op::Constant(_) | Op::View { .. } => Kind::Pulled,
        Op::Gather { .. } | Op::Position(..) => Kind::Refused("positions are not computed on devices".into()),
        Op::Scan(_) => Kind::Refused("loops run on devices as scalars only".into()),
        Op::Kink(Kink::MaxLinear { .. }) | Op::Joint(Kink::MaxLinear { .. }, _) => {
            Kind::Refused("it runs on devices as scalars only".into())
        }
        Op::Kink(_) | Op::Joint(..) | Op::LogSumExp(_) | Op::LogSumExpJoint(_) | Op::Permute { .. } => lane(e.op),
        Op::Assemble { shape, pieces } => {
            let n = shape.len();
            if pieces.iter().all(|l| l.is_identity(n)) || (pieces.len() == 1 && pieces[0].inverse(n).is_some()) {
                return Kind::Pulled;
            }
            if pieces.iter().all(Layout::is_injective) {
                return Kind::Assembled;
            }
            match pieces.iter().all(|l| l.is_injective() || sum::axes(l).is_some()) {
                true => Kind::Summed,
                false => Kind::Refused("it adds numbers up through a table, or along axes that overlap".into()),
            }
        }
        Op::MatMul { .. } => Kind::Product,
        Op::Call(_) | Op::Select(_) => Kind::Refused("branches of tensors are not run on devices".into()),
    }
}
