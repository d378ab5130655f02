//! Programs on NVIDIA devices: value, gradient, directional derivative or Clarke element at many points, by one kernel.
//!
//! What enters is a [`Program`](crease_core::Program), derived or not (a gradient is one, so is a directional derivative, so is a locked
//! program with its direction), and points; what leaves is numbers. The interpreter in `crease_core` defines the meaning; this runs it
//! at many points at once. Three forms, of which [`Plan`] takes the one that suits:
//!
//! ```text
//! Program ── lower: calls expanded, tensors taken apart, selections as picks ──> Scalars
//!    │
//!    ├ few numbers ────────────────> a thread for each point, every number in a register            (`thread`)
//!    ├ a maximum or minimum of many ─> a block for 32 points; the members run in a loop over tables   (`fold`)
//!    │ members that look alike        of indices, inputs in shared memory; backward through the member
//!    │                                that won alone
//!    └ tensors at one point ────────> products by cuBLAS; between them one kernel for all that is       (`tensor`)
//!                                      elementwise over one index, with its sums
//! ```
//!
//! | module | what it holds |
//! | --- | --- |
//! | `lower` | programs to `Scalars`, the one list of scalar steps that kernels are written from |
//! | `text` | steps to CUDA C, every operation; its meaning is that of the interpreter, written down once in `prelude.c` |
//! | `thread`, `fold`, `tensor` | the three forms: which kernels, over which memory |
//! | `plan` | which form; what a user asks for |
//! | `device` | (feature `cuda`) the driver: memory that stays on the device, launches, points in chunks; (feature `engine`) kernels as code of the engine |
//!
//! # Agreement with the interpreter
//!
//! Kernels are compiled without fused multiply-add, without fast functions and with subnormal numbers, and constants are written digit by
//! digit, so sums, products, quotients, square roots and every comparison are those of the interpreter, and so are all selections at ties of
//! numbers that arrive there. Exponentials, logarithms, sines and the like come from CUDA's library, which is off by one or two units in the last place.
//! A fold takes the adjoints of one input in another order than the derived program, and a sum over a tensor adds in
//! blocks: both are off by at most as many roundings as there are terms. The sign of a zero that wins a fold in double precision may be the other one.
//!
//! In checked arithmetic a kernel reports the first point at which a number was not finite (or no truth value where one must be), and that
//! point is for the interpreter, whose error says where. `tests/` compare every operation with the interpreter: the C that kernels are made of is compiled for the
//! processor, too, where a C compiler is found, so that it is tested without a device.
//!
//! # Features
//!
//! - `cuda`, off unless asked for: devices. The driver, the compiler and the library of products are looked for when they are first asked for, so that it builds, and starts,
//!   where there are none. Without it there is the generator alone, with no dependency, and [`Device::open`] says what is missing.
//! - `engine`, off unless asked for, with `cuda`: kernels as code of `crease-engine`, with its batches, and the interpreter where a kernel gives up.
//!
//! # Example
//!
//! ```
//! use crease_core::{relu, trace};
//! use crease_cuda::{Options, Plan};
//! let p = trace(2, |x| relu(x[0] * x[1])).unwrap();
//! let plan = Plan::value_and_grad::<f32>(&p, &[], &Options::default()).unwrap();
//! assert_eq!(plan.outputs(), [1, 1, 1]);
//! assert!(plan.source().contains("__global__"));
//! ```

#[cfg(not(feature = "cuda"))]
mod absent;
#[cfg(feature = "cuda")]
mod device;
mod error;
mod fold;
mod lower;
mod plan;
mod tensor;
mod text;
mod thread;

#[cfg(not(feature = "cuda"))]
pub use absent::Device;
#[cfg(feature = "engine")]
pub use device::OnDevice;
#[cfg(feature = "cuda")]
pub use device::{Batch, Device, DeviceReal, Loaded, LoadedTensors, Products, Ptx, Results, assemble};
pub use error::CudaError;
pub use plan::{Form, Options, Plan, Real};
pub use tensor::TensorPlan;
pub use text::Precision;

/// The words that every source of that precision begins with: what operations do to numbers.
///
/// ```
/// assert!(crease_cuda::prelude(crease_cuda::Precision::Double).starts_with("typedef double"));
/// ```
pub fn prelude(precision: Precision) -> String {
    precision.prelude()
}

/// What may be shared between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Plan>();
    shared::<TensorPlan>();
    shared::<Options>();
    shared::<CudaError>();
};

/// The same of what is on a device.
#[cfg(feature = "cuda")]
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Device>();
    shared::<Ptx>();
    shared::<Loaded<f64>>();
    shared::<LoadedTensors<f64>>();
    shared::<Batch<f64>>();
    shared::<Results<f64>>();
};
