//! Compiled execution: a program once compiled gives its value, its gradient and its directional derivatives at the speed of
//! loops written by hand.
//!
//! The interpreter in `crease_core` defines the meaning; this makes it fast. What enters is a [`Program`](crease_core::Program),
//! derived or not; what leaves is a [`Compiled`] program, which takes slices and fills slices. It is shared freely between
//! threads, each with a [`Workspace`] of its own, and a run allocates nothing.
//!
//! ```text
//! Program ── flat: calls and selections expanded, equals shared, what nobody needs dropped
//!    │
//!    ├ few numbers for each equation ──> scalar code: groups of equal operations over tables of registers, bytecode for
//!    │                                   the rest; gradients backward through the same groups, zero adjoints skipped;
//!    │                                   eight points at once in a batch; machine code if it runs often enough to pay
//!    └ many ───────────────────────────> tensor code: views resolved to strides, convolutions and pooling recognised,
//!                                        elementwise operations and sums fused, one arena planned by lifetimes, then
//!                                        kernels: fused blocks, assemblies, products, windows, lanes
//! ```
//!
//! | function | what is compiled |
//! | --- | --- |
//! | [`compile`] | any program |
//! | [`value_and_grad`] | the value and its gradient by some of the inputs, in one program |
//! | [`jvp`], [`vjp`] | Jacobian times tangent, adjoint times Jacobian |
//! | [`directional`] | true directional derivatives, at kinks too, for many directions at once |
//! | [`clarke`] | one Clarke subgradient, by a direction that decides all ties |
//!
//! Then [`Compiled::run`] runs at one point, [`Compiled::run_batch`] at many, [`Compiled::run_parallel`] on several threads,
//! [`Compiled::run_sum`] adds up over points. Results never depend on the number of threads. [`Compiled::explain`] says what
//! was decided, and why.
//!
//! # How closely it agrees with the interpreter
//!
//! [`Agreement::Bits`] is bit for bit, in `f64` and in `f32`, NaN and infinities included. [`Agreement::Rounding`], the default, is so
//! for the values of scalar code. In tensor code it takes sums in another order, fuses products into them and takes a common
//! factor out of them (the rows of a matrix product are summed before they are multiplied), so a sum of n terms is off by at
//! most n roundings of the sum of their absolute values; the exponential and the logarithm are off by 2 units in the last place,
//! the hyperbolic tangent by 4. At kinks the choice is always that of the interpreter for the numbers that arrive there. Subnormal
//! numbers and signed zeros come out as there, except that a zero derivative may have the other sign under `Rounding`.
//!
//! What is not finite comes out as in the interpreter under `Rounding`, too: NaN for NaN, infinities for infinities. A backward
//! sweep through scalar code leaves out products with zero adjoints, which is right for finite numbers only; so a run that meets
//! others there is handed over to the interpreter, whose answer counts, in either arithmetic. (It takes the interpreter's time. Programs that live
//! with infinities run at full speed under `Bits`.) One thing stays open: finite numbers that overflow may do so in one
//! order of a sum and not in another, or in a product and not in a fused one.
//!
//! Kernels use the best vector instructions that the machine has. Another kind adds in another order, so under `Rounding` two
//! kinds of machine may differ in the last places. The environment variable `CREASE_INSTRUCTIONS`, set to `avx2` or `portable`
//! before the first run, holds a process to lesser ones: to compare results, or to test.
//!
//! In checked arithmetic every run that meets something that is not finite is handed over to the interpreter: its error says where, and if
//! it has none, its numbers are the answer. What nobody needs is not computed, so an error hidden there goes unnoticed, and a branch
//! that was not chosen costs the time of a run by the interpreter if it fails.
//!
//! That all this holds is tested, not trusted: `tests/hostile.rs` takes every operation through every path, at sizes, strides, orders
//! and numbers that are meant to hurt. `docs/memory-errors.md` tells how memory errors are looked for.
//!
//! Deliberately absent: anything that changes what a program means. Derivatives come from `crease_core::differentiate`, except for
//! scalar code, whose backward sweep has the same rules.
//!
//! # Features
//!
//! - `native` (by default): scalar programs that run often become machine code, made by Cranelift. Without it they run as bytecode, with the same bits, and building takes a minute less.
//!
//! ```
//! use crease_core::{relu, trace_shapes, Shape};
//! use crease_engine::{value_and_grad, Options};
//!
//! // the sum of squares of the positive elements of a vector
//! let p = trace_shapes(&[Shape::vector(1000)?], |x| {
//!     let r = relu(x[0]);
//!     vec![(r * r).sum()]
//! })?;
//! let c = value_and_grad::<f64>(&p, &[], &Options::default())?;
//! let x: Vec<f64> = (0..1000).map(|i| f64::from(i) - 997.0).collect();
//! let (mut y, mut g) = ([0.0], vec![0.0; 1000]);
//! c.run(&mut c.workspace(), &[&x], &mut [&mut y, &mut g])?;
//! assert_eq!((y[0], g[0], g[999]), (5.0, 0.0, 4.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apart;
mod batch;
mod compile;
mod compiled;
mod crew;
mod entry;
mod error;
mod executable;
mod flat;
mod float;
mod isa;
mod kernel;
#[cfg_attr(not(all(feature = "native", target_arch = "x86_64")), path = "native/absent.rs")]
mod native;
mod options;
mod reference;
mod scalar;
mod tensor;
mod unit;

/// Whether this build can make machine code: the feature `native`.
pub const MACHINE_CODE: bool = cfg!(feature = "native");

pub use compiled::{Compiled, Workspace};
pub use entry::{clarke, compile, directional, jvp, value_and_grad, vjp};
pub use error::EngineError;
pub use executable::{Executable, Inputs};
pub use float::Float;
pub use options::{Agreement, Backend, Explain, Form, Options};

/// What may be shared between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Compiled<f64>>();
    shared::<Compiled<f32>>();
    shared::<Options>();
    shared::<EngineError>();
};
