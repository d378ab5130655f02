//! How to compile, and what was decided.

use crease_core::differentiate::How;
use crease_core::{Arithmetic, Limits};
use std::fmt;

/// How closely results must agree with the interpreter.
///
/// ```
/// use crease_engine::{Agreement, Options};
/// assert_eq!(Options::default().agreement, Agreement::Rounding);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Agreement {
    /// Bit for bit: every sum in the interpreter's order, no fused multiply-add, functions from the same library. (Which
    /// of several NaN comes out is left open.)
    Bits,
    /// Sums may be taken in another order (one that does not depend on the number of threads), products may be fused into
    /// them and common factors taken out, functions of tensors are vectorised, and finite numbers that are multiplied by a zero
    /// adjoint may be skipped. Values of scalar programs still agree bit for bit.
    #[default]
    Rounding,
}

/// Which of the two engines takes a program.
///
/// ```
/// use crease_engine::{Form, Options};
/// assert_eq!(Options::default().form, Form::Auto);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Form {
    /// Whichever suits the program.
    #[default]
    Auto,
    /// Number by number: tensors are taken apart.
    Scalars,
    /// Tensor by tensor.
    Tensors,
}

/// How scalar code is carried out. Results are the same, bit for bit, but for gradients under [`Agreement::Rounding`], whose sums
/// may be taken in another order.
///
/// ```
/// use crease_core::trace;
/// use crease_engine::{Backend, Options, compile};
/// let p = trace(1, |x| x[0] * x[0]).unwrap();
/// let c = compile::<f64>(&p, &Options::default().backend(Backend::Bytecode)).unwrap();
/// assert!(!c.explain().to_string().contains("bytes of native code"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Backend {
    /// Whichever is sooner done with compiling the program and running it [as often as expected](Options::runs).
    #[default]
    Auto,
    /// Groups of equal operations over tables, single instructions for the rest. Quickly made; fast where programs are
    /// regular; gradients skip what is zero.
    Bytecode,
    /// Machine code, where this crate can make it: with its feature `native`, on x86-64. Elsewhere it is bytecode, and
    /// [`Explain`] says so. Fast where programs are irregular; compilation takes some microseconds for each equation. Batches
    /// run as bytecode in vector lanes if that is faster.
    Native,
}

/// How to compile a program.
///
/// ```
/// use crease_core::Arithmetic;
/// use crease_engine::{Agreement, Options};
/// let o = Options::default().agreement(Agreement::Bits).arithmetic(Arithmetic::Ieee);
/// assert_eq!(o.agreement, Agreement::Bits);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How closely results must agree with the interpreter.
    pub agreement: Agreement,
    /// What happens when a result is not finite, as in the interpreter: [`Arithmetic::Checked`] stops with its error.
    pub arithmetic: Arithmetic,
    /// How derivatives are taken, where the engine takes them: the selection at kinks, the techniques.
    pub how: How,
    /// Which engine takes the program.
    pub form: Form,
    /// How scalar code is carried out.
    pub backend: Backend,
    /// How often the program will be run at one point, as far as is known: what takes long to compile pays only if it runs
    /// often. Without a number it is taken to be for a tenth of a second in all.
    pub runs: Option<u64>,
    /// On how many threads one run of a tensor program goes, as far as its steps are large enough to be shared. By default 1. Results
    /// do not depend on it, not in a single bit. A run that is itself one of several ([`Compiled::run_parallel`](crate::Compiled::run_parallel))
    /// stays on its thread.
    pub threads: usize,
    /// The most equations that a program may have once its calls and selections are expanded. By default 2^26.
    pub equations: usize,
    /// How far runs may go. `numbers` is the most numbers that are held at once beside inputs and outputs: by one workspace, by
    /// all workspaces of a run on several threads, by sums over points, by the tables of a program while it is compiled. By
    /// default 2^29. `steps` is for runs that are handed over to the interpreter. The clock, and the way to stop it, are looked at while a program is
    /// expanded, and in every run between points, steps of tensor code and turns of loops.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            agreement: Agreement::default(),
            arithmetic: Arithmetic::default(),
            how: How::default(),
            form: Form::default(),
            backend: Backend::default(),
            runs: None,
            threads: 1,
            equations: 1 << 26,
            limits: Limits::DEFAULT,
        }
    }
}

impl Options {
    /// With another agreement.
    pub fn agreement(self, agreement: Agreement) -> Self {
        Options { agreement, ..self }
    }

    /// With another arithmetic.
    pub fn arithmetic(self, arithmetic: Arithmetic) -> Self {
        Options { arithmetic, ..self }
    }

    /// With another way to differentiate.
    pub fn how(self, how: How) -> Self {
        Options { how, ..self }
    }

    /// With a choice of engine.
    pub fn form(self, form: Form) -> Self {
        Options { form, ..self }
    }

    /// With a choice of how scalar code is carried out.
    pub fn backend(self, backend: Backend) -> Self {
        Options { backend, ..self }
    }

    /// With an expected number of runs.
    pub fn runs(self, runs: u64) -> Self {
        Options { runs: Some(runs), ..self }
    }

    /// With another number of threads for each run.
    ///
    /// ```
    /// use crease_core::{relu, trace_shapes, Shape};
    /// use crease_engine::{compile, Options};
    /// let p = trace_shapes(&[Shape::vector(100_000).unwrap()], |x| vec![relu(x[0]).sum()]).unwrap();
    /// let c = compile::<f64>(&p, &Options::default().threads(2)).unwrap();
    /// let mut y = [0.0];
    /// c.run(&mut c.workspace(), &[&vec![1.0; 100_000]], &mut [&mut y]).unwrap();
    /// assert_eq!(y, [100_000.0]);
    /// ```
    pub fn threads(self, threads: usize) -> Self {
        Options { threads, ..self }
    }

    /// With another limit on equations.
    pub fn equations(self, equations: usize) -> Self {
        Options { equations, ..self }
    }

    /// With other limits.
    pub fn limits(self, limits: Limits) -> Self {
        Options { limits, ..self }
    }
}

/// What the compiler decided, and why: one line for each decision.
///
/// ```
/// use crease_core::trace;
/// use crease_engine::{compile, Options};
/// let c = compile::<f64>(&trace(1, |x| x[0] * x[0]).unwrap(), &Options::default()).unwrap();
/// assert!(c.explain().to_string().contains("scalar"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explain {
    lines: Vec<String>,
}

impl Explain {
    pub(crate) fn say(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// The decisions in the order in which they were taken.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
}

impl fmt::Display for Explain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}
