//! Differentiate nonsmooth programs, say what the answer is, and count what it cost.
//!
//! ReLU, max, abs, max-pooling, sorting and norms have kinks, and there every automatic differentiation system picks
//! something. crease picks what you tell it, tells you that it picked, and treats the result as what it is: an element of a
//! conservative gradient, in the sense of Bolte, Boustany, Pauwels and Pesquet-Popescu, *On the complexity of nonsmooth
//! automatic differentiation* (ICLR 2023), whose Theorem 2 also bounds what it costs.
//!
//! A first example. This function is the identity, so its derivative is 1 everywhere. The chain rule does not see that:
//!
//! ```
//! use crease::{grad, relu, Function, Selection};
//!
//! let g = grad(|x| relu(x[0]) - relu(-x[0]), &[0.0])?;
//! assert_eq!(g, [0.0]); // with relu'(0) = 0, as in the paper, PyTorch and JAX
//!
//! // the same with relu'(0) = 1 gives 2, with 1/2 it happens to be right
//! let f = Function::trace(1, |x| relu(x[0]) - relu(-x[0]))?;
//! assert_eq!(f.clone().select(Selection::parse("relu=1").unwrap()).grad(&[0.0])?, [2.0]);
//! assert_eq!(f.clone().select(Selection::parse("relu=1/2").unwrap()).grad(&[0.0])?, [1.0]);
//!
//! // two kinks were met at 0; away from it there are none, and the gradient is the gradient
//! assert_eq!(f.kinks(&[0.0])?.len(), 2);
//! assert_eq!((f.kinks(&[0.5])?.len(), f.grad(&[0.5])?), (0, vec![1.0]));
//!
//! // and it was cheap: Theorem 2 allows five times the cost of the function
//! use crease::{backprop, cost::{cost, Prices}, How};
//! let derived = backprop(f.program(), &How::default())?;
//! let unit = Prices::unit();
//! assert!(cost(&derived).at(&unit).to_f64() <= 5.0 * cost(f.program()).at(&unit).to_f64());
//! # Ok::<(), crease::Error>(())
//! ```
//!
//! How to go on:
//!
//! - [`tutorial`]: from programs to kinks in networks, in six chapters that compile.
//! - [`easy`]: gradients, Jacobians and Hessians of Rust closures, and [`Function`] for many points.
//! - [`trace`], [`trace_shapes`], [`Builder`]: programs, scalar or with tensors; [`formats`]: programs from text.
//! - [`differentiate`]: programs that compute derivatives, as programs. [`Selection`] says what happens at kinks, [`How`]
//!   how programs inside programs are differentiated.
//! - [`run()`] in f64, f32, exact rationals, intervals or a prime field ([`number`]); [`kinks`] for what a run met.
//! - [`inline()`], [`scalarize()`], [`simplify()`], [`dictionary`]: the same function as another program.
//! - [`local`]: what a program looks like from one point, and [`oracles`]: what its derivative is there, at kinks too.
//! - [`check`]: certificates of what the oracles say, checked by code that shares nothing with the search but exact arithmetic.
//! - [`engine`]: programs compiled, for values, gradients and directional derivatives at the speed of loops written by hand.
//! - [`cost`]: what a program costs, and Theorem 2's bound on what its derivative costs; [`costed`]: all of that about a program, as one value.
//! - [`audit`]: what a network does at the kinks that real inputs hit.
//! - [`losses`] and [`networks`]: ready programs for learning.
//! - [`reductions`]: formulas as programs, and linear ReLU networks.
//!
//! # Features
//!
//! - `native`, on unless refused: machine code for scalar programs that run often, made by Cranelift, which takes a minute to build.
//! - `saturate`, off unless asked for: the module `saturate`, which looks for a cheaper program of the same function by equality
//!   saturation, and verifies it. It is apart because nothing else here needs an e-graph.
//!
//! # What is elsewhere
//!
//! The paper itself, executed, is the crate `crease-paper`, with its programs, tables, errata, Theorem 3 and experiments;
//! pictures of programs are `crease-draw`.

pub mod audit;
pub mod costed;
pub mod easy;
mod error;
pub mod inspect;
pub mod losses;
pub mod networks;
pub mod reductions;
pub mod show;
pub mod tutorial;

pub use easy::{Function, grad, hessian, jacobian, jvp, value_and_grad, vjp};
pub use error::Error;

pub use crease_check as check;
pub use crease_engine as engine;
pub use crease_formats as formats;
pub use crease_oracles as oracles;
#[cfg(feature = "saturate")]
pub use crease_saturate as saturate;

pub use crease_core::{cost, dictionary, differentiate, limits, local, number, op, program, shape};

pub use crease_core::{
    Arg, Arithmetic, Cancel, KinkHit, Limits, Observer, RunError, RunFault, Site, kinks, run, run_with,
};
pub use crease_core::{Atom, Callee, Equation, Input, Origin, Place, Program, ProgramId, Text, Value};
pub use crease_core::{BatchError, CasesError, InlineError, MAX_INLINED, batch, inline, scalarize, simplify};
pub use crease_core::{BuildError, Builder, Conv2d, Sliding, Tape, Var, Window, trace, trace_shapes};
pub use crease_core::{Constant, Kink, Lane, Op, OpError, Smooth, Ties};
pub use crease_core::{Layout, Number, NumberError, Rational, Shape, ShapeError, Tensor};

pub use crease_core::differentiate::{
    DiffError, How, Mode, Selection, SelectionError, Technique, backprop, forprop, gradient, jvp_batch,
};
pub use crease_core::{
    abs, acos, acosh, asin, asinh, atan, atan2, atanh, celu, clamp, concat, cos, cosh, elu, erf, erfc, exp, expm1,
    gelu, gelu_tanh, hardsigmoid, hardswish, inv, leaky_relu, log, log1p, logsigmoid, max, max_linear, min, mish, pow,
    powf, relu, relu6, selu, sigmoid, silu, sin, sinh, softplus, softsign, sqrt, tan, tanh, times_relu,
};

/// What may be shared between threads, and what may be handed from one to another.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    const fn sent<T: Send>() {}
    shared::<Program>();
    shared::<Function>();
    shared::<Limits>();
    shared::<Cancel>();
    shared::<local::LocalModel>();
    shared::<inspect::Inspection>();
    shared::<inspect::Proof>();
    shared::<costed::Costed>();
    shared::<engine::Compiled<f64>>();
    shared::<engine::Compiled<f32>>();
    shared::<Error>();
    sent::<Builder>();
    sent::<engine::Workspace<f64>>();
    sent::<engine::Workspace<f32>>();
};

/// The examples of the README, compiled and run with the doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
