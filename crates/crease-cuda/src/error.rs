//! What can go wrong between a program and its numbers.

use crease_core::Site;
use crease_core::differentiate::DiffError;
use crease_core::{BuildError, InlineError};

/// Why a program does not run on a device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// There is no device to run on.
    #[error("no CUDA device: {0}")]
    NoDevice(String),
    /// An operation that kernels do not have, or not at this size.
    #[error("`{operation}` does not run on a device: {why} (equation {} of `{}`: {})", site.equation, site.program, site.text())]
    Unsupported {
        /// Its name.
        operation: String,
        /// What is missing.
        why: String,
        /// Where it stands.
        site: Box<Site>,
    },
    /// A program that is too large for one kernel.
    #[error(
        "`{name}` has {steps} scalar steps, more than the {limit} of one kernel; raise Options::steps, or run it on the processor"
    )]
    TooLarge {
        /// The program.
        name: String,
        /// Its scalar steps.
        steps: usize,
        /// The most that there may be.
        limit: usize,
    },
    /// Inputs or outputs of the wrong number or size.
    #[error("{0}")]
    Arguments(String),
    /// Not enough memory on the device.
    #[error("the device has {free} bytes free, {needed} are needed; run in chunks with Loaded::stream")]
    Memory {
        /// What is needed.
        needed: u64,
        /// What there is.
        free: u64,
    },
    /// A number that is not finite, or no truth value where one must be, in checked arithmetic.
    #[error(
        "at point {point} a number is not finite, or no truth value where one must be; the interpreter says where: run that point on the processor"
    )]
    Point {
        /// The first such point.
        point: u64,
    },
    /// The compiler of kernels refused: a defect of this crate.
    #[error("the compiler of kernels says: {0}")]
    Compiler(String),
    /// The driver or a library said no.
    #[error("the CUDA driver says: {0}")]
    Driver(String),
    /// The program could not be differentiated.
    #[error(transparent)]
    Differentiate(#[from] DiffError),
    /// The program could not be expanded.
    #[error(transparent)]
    Inline(#[from] InlineError),
    /// The program could not be taken apart.
    #[error(transparent)]
    Build(#[from] BuildError),
}
