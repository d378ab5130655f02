//! Programs over a dictionary, what they cost, and their derivatives: Sections 2 to 4 of the paper "On the complexity of
//! nonsmooth automatic differentiation" (Bolte, Boustany, Pauwels, Pesquet-Popescu, ICLR 2023).
//!
//! Everything is a [`Program`]: a derived program is an ordinary one, and can be costed, printed, simplified, run and
//! differentiated again by the same code.
//!
//! ```text
//! trace / Builder ──> Program ── inline, scalarize, simplify, lower, batch ──> Program
//!                        │ backprop, forprop, vjp, jvp, ... ──────────> Program     Algorithm 2
//!                        │ tally, overhead ──> Price, omega                         Theorem 2, Tables 1 to 3
//!                        └ run ──────────────> numbers                              Algorithm 1
//! ```
//!
//! | room | what it holds |
//! | --- | --- |
//! | [`op`] | the closed set of operations, and what shapes they take |
//! | [`program`] | values, equations, programs; the verifier; printing |
//! | [`builder`] | the only way to make a program; [`trace`] puts operators on top |
//! | [`mod@dictionary`] | which operations a program uses, and lowering |
//! | [`mod@cost`] | tallies, prices, the overhead of Theorem 2 |
//! | [`number`] | floats, exact rationals, a prime field, intervals |
//! | [`mod@run`] | the reference interpreter: the definition of meaning |
//! | [`differentiate`] | rules, both modes, techniques, selections |
//! | [`local`] | the local model at a point, on which Section 5 rests |
//!
//! No room prints, reads files, or decides a kink by a tolerance.
//!
//! ```
//! use crease_core::{differentiate::{backprop, How}, kinks, relu, run, trace, Tensor};
//!
//! let p = trace(1, |x| relu(x[0]) - relu(-x[0]))?; // the identity
//! let d = backprop(&p, &How::default())?;
//! let at = [Tensor::scalar(0.0)];
//! assert_eq!(run(&d, &at)?[1].data(), [0.0]); // what the chain rule returns
//! assert_eq!(kinks(&p, &at)?.1.len(), 2); // and why it is not the derivative
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
pub mod builder;
pub mod cost;
pub mod dictionary;
pub mod differentiate;
mod flow;
mod inline;
pub mod limits;
pub mod local;
pub mod op;
pub mod program;
pub mod random;
pub mod run;
mod scalarize;
pub mod shape;
mod simplify;
mod tensor;
mod trace;
mod unroll;
mod views;

pub use crease_number as number;

pub use batch::{BatchError, batch};
pub use builder::{BuildError, Builder, Conv2d, Sliding, Window};
pub use flow::constants::CasesError;
pub use inline::{InlineError, MAX_INLINED, inline, inline_limited, inline_within};
pub use limits::{Cancel, Limits};
pub use number::{Number, NumberError, Rational};
pub use op::{Constant, Kink, Lane, Op, OpError, Position, Scan, Smooth, Stair, Ties};
pub use program::{Atom, Callee, Equation, Input, Origin, Place, Program, ProgramId, Site, Text, Value, printable};
pub use run::{Arg, Arithmetic, KinkHit, Observer, RunError, RunFault, RunOptions, kinks, kinks_with, run, run_with};
pub use scalarize::{scalarize, scalarize_limited, scalarize_within};
pub use shape::{Layout, Shape, ShapeError};
pub use simplify::simplify;
pub use tensor::Tensor;
pub use trace::*;
pub use unroll::{unroll, unroll_limited, unroll_within};

/// What may be shared between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Program>();
    shared::<Limits>();
    shared::<Cancel>();
    shared::<local::LocalModel>();
    shared::<differentiate::How>();
    shared::<differentiate::DiffError>();
    shared::<Tensor<f64>>();
};
