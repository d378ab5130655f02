//! What can go wrong: while compiling, and when a compiled program is given slices that do not fit.

use crease_core::differentiate::DiffError;
use crease_core::limits::Stop;
use crease_core::{BuildError, InlineError, RunError, RunFault};

/// Why a program could not be compiled or run.
///
/// ```
/// use crease_core::trace;
/// use crease_engine::{compile, EngineError, Options};
/// let p = trace(1, |x| x[0] * x[0]).unwrap();
/// let c = compile::<f64>(&p, &Options::default()).unwrap();
/// let error = c.run(&mut c.workspace(), &[], &mut [&mut [0.0]]).unwrap_err();
/// assert_eq!(error.to_string(), "the program takes 1 input, got 0");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The wrong number of inputs.
    #[error("the program takes {expected} input{}, got {got}", if *expected == 1 { "" } else { "s" })]
    Inputs {
        /// How many it takes.
        expected: usize,
        /// How many it got.
        got: usize,
    },
    /// The wrong number of outputs.
    #[error("the program returns {expected} output{}, got room for {got}", if *expected == 1 { "" } else { "s" })]
    Outputs {
        /// How many it returns.
        expected: usize,
        /// How many slices were given.
        got: usize,
    },
    /// An input slice of the wrong length.
    #[error("input {index} has {expected} numbers, got {got}")]
    InputLength {
        /// Which input.
        index: usize,
        /// How many numbers it has.
        expected: usize,
        /// How many it got.
        got: usize,
    },
    /// An output slice of the wrong length.
    #[error("output {index} has {expected} numbers, got room for {got}")]
    OutputLength {
        /// Which output.
        index: usize,
        /// How many numbers it has.
        expected: usize,
        /// How long the slice is.
        got: usize,
    },
    /// A workspace of another compiled program.
    #[error("this workspace belongs to another compiled program; make one with `workspace()`")]
    Workspace,
    /// Expanding calls and selections gives too many equations.
    #[error(
        "expanding the calls and selections of `{name}` gives more than {limit} equations; raise `Options::equations`, compile parts of it, or run it with the interpreter"
    )]
    TooLarge {
        /// The program.
        name: String,
        /// The largest number.
        limit: usize,
    },
    /// Loops inside of loops, too deep to be compiled inside of each other.
    #[error(
        "loops are nested more than {limit} deep around `{name}`; unroll those that have few turns, or run it with the interpreter"
    )]
    Nested {
        /// The innermost program.
        name: String,
        /// How deep they may be.
        limit: usize,
    },
    /// More numbers than may be held at once.
    #[error(
        "{what} would hold {numbers} numbers, more than the limit of {limit}; {}raise `numbers` of `Options::limits`", if *several { "use fewer workspaces, or " } else { "" }
    )]
    TooManyNumbers {
        /// What would hold them.
        what: &'static str,
        /// How many they are.
        numbers: u64,
        /// The most that may be.
        limit: u64,
        /// Whether there are so many because several workspaces are used.
        several: bool,
    },
    /// The run itself failed, and the interpreter says where; or time was up, or somebody stopped it, while it ran or was compiled.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The program cannot be differentiated.
    #[error(transparent)]
    Diff(#[from] DiffError),
    /// The program cannot be inlined.
    #[error(transparent)]
    Inline(#[from] InlineError),
    /// A program made on the way could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl EngineError {
    /// Time is up, or somebody stopped it.
    pub(crate) fn stopped(stop: Stop) -> Self {
        RunError { fault: RunFault::Stopped(stop), site: None }.into()
    }
}
