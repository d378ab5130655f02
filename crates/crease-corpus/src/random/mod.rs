//! Random programs and random points.
//!
//! A program is grown equation by equation over a [`Dictionary`]. Each value carries what is known about it (a bound on its
//! size and on that of its inverse, its degree as a rational function), and arguments are brought into the domain of an
//! operation before it is applied: `inv(1 + x * x)`, `exp(x / 8)`. So programs run without domain errors and without
//! overflow at every point whose coordinates are at most [`RADIUS`], and exact numbers stay short.

mod grow;
mod loops;
mod point;
mod rng;
mod scalar;
mod structure;

pub use point::{RADIUS, dyadic_point, generic_point, origin, tied_point};
pub use rng::Rng;

use crease_core::Program;
use std::sync::Arc;

/// Which operations a random program is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dictionary {
    /// `+`, `-`, `relu`: the paper's D0.
    D0,
    /// `+`, `*`, `+c`, `*c`, `inv`, `exp`, `log`, `relu`: the paper's D_ReLU.
    Relu,
    /// Additions, multiplications, negation, positive powers: what every kind of number can do.
    Polynomial,
    /// All smooth operations.
    Smooth,
    /// Linear operations and all kinks whose branches are linear.
    PiecewiseLinear,
    /// All operations.
    Everything,
}

impl Dictionary {
    /// All of them.
    pub const ALL: [Dictionary; 6] = [
        Dictionary::D0,
        Dictionary::Relu,
        Dictionary::Polynomial,
        Dictionary::Smooth,
        Dictionary::PiecewiseLinear,
        Dictionary::Everything,
    ];
}

/// What kind of random program is wanted.
///
/// ```
/// use crease_corpus::random::{Dictionary, Options, Rng, program};
/// let o = Options::new(Dictionary::Everything).exact().tensors().calls(2).inputs(3).equations(10).outputs(2);
/// let p = program(&mut Rng::new(1), &o);
/// assert_eq!((p.inputs().len(), p.outputs().len()), (3, 2));
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) dictionary: Dictionary,
    pub(crate) exact: bool,
    pub(crate) tensors: bool,
    pub(crate) branches: bool,
    pub(crate) joints: bool,
    pub(crate) calls: usize,
    pub(crate) loops: usize,
    pub(crate) inputs: usize,
    pub(crate) equations: usize,
    pub(crate) outputs: Option<usize>,
}

impl Options {
    /// Scalar programs over a dictionary, without calls, of two inputs and one output, six operations long.
    pub fn new(dictionary: Dictionary) -> Self {
        Options {
            dictionary,
            exact: false,
            tensors: false,
            branches: false,
            joints: false,
            calls: 0,
            loops: 0,
            inputs: 2,
            equations: 6,
            outputs: None,
        }
    }

    /// Only operations that exact rationals can carry out.
    pub fn exact(self) -> Self {
        Options { exact: true, ..self }
    }

    /// Tensors among the values.
    pub fn tensors(self) -> Self {
        Options { tensors: true, ..self }
    }

    /// Selections, comparisons and logic, which may make the function discontinuous. Only in [`Dictionary::Everything`].
    pub fn branches(self) -> Self {
        Options { branches: true, ..self }
    }

    /// Some sub-programs have a joint program of their own, which picks at kinks what JAX picks.
    pub fn joints(self) -> Self {
        Options { joints: true, ..self }
    }

    /// Calls of sub-programs, nested so deep.
    pub fn calls(self, depth: usize) -> Self {
        Options { calls: depth, ..self }
    }

    /// In loops, nested so deep. Only over dictionaries that can clamp what is carried: [`Dictionary::PiecewiseLinear`], [`Dictionary::Everything`].
    pub fn loops(self, depth: usize) -> Self {
        let clamps = matches!(self.dictionary, Dictionary::PiecewiseLinear | Dictionary::Everything);
        Options { loops: if clamps { depth } else { 0 }, ..self }
    }

    /// With so many inputs.
    pub fn inputs(self, n: usize) -> Self {
        Options { inputs: n, ..self }
    }

    /// With so many operations; guards of domains come on top.
    pub fn equations(self, n: usize) -> Self {
        Options { equations: n, ..self }
    }

    /// Scalars only.
    pub fn scalars(self) -> Self {
        Options { tensors: false, ..self }
    }

    /// Neither selections nor comparisons, so that the function is continuous.
    pub fn continuous(self) -> Self {
        Options { branches: false, ..self }
    }

    /// With one scalar output, which is no constant; this is the default.
    pub fn one_output(self) -> Self {
        Options { outputs: None, ..self }
    }

    /// With so many outputs, of any shape, some of them constants.
    pub fn outputs(self, n: usize) -> Self {
        Options { outputs: Some(n), ..self }
    }
}

/// A random program.
pub fn program(rng: &mut Rng, options: &Options) -> Program {
    let mut grown = grow::Library::new(rng, options).main(rng, options);
    for _ in 0..options.loops {
        grown = Arc::new(loops::looped(rng, &grown, options.outputs));
    }
    Arc::unwrap_or_clone(grown)
}

/// Random options around a program size: over any dictionary, with and without tensors, calls, branches and several outputs, but without
/// joint programs.
pub fn any_options(rng: &mut Rng, equations: usize) -> Options {
    let mut o = Options::new(*rng.pick(&Dictionary::ALL)).inputs(1 + rng.below(3)).equations(equations);
    o.exact = rng.once_in(2);
    o.tensors = rng.once_in(2);
    o.branches = rng.once_in(2);
    o.calls = if rng.once_in(2) { rng.below(4) } else { 0 };
    let o = if rng.once_in(3) { o.outputs(1 + rng.below(3)) } else { o };
    let depth = if rng.once_in(4) { 1 + rng.below(2) } else { 0 };
    o.loops(depth)
}
