//! `--device cuda`: `grad --points` and `bench` on a device. Where this build or this machine has none, an error says so.

use clap::{Args, ValueEnum};

/// Where to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// On this processor
    Cpu,
    /// On the first NVIDIA device, at many points at once, in f64 (bench --f32: f32)
    Cuda,
}

/// The flag that says where.
#[derive(Args)]
pub struct DeviceArgs {
    /// Where to compute at many points
    #[arg(long, value_enum, value_name = "DEVICE", default_value = "cpu")]
    device: Kind,
}

impl DeviceArgs {
    /// Whether a device is asked for.
    pub fn is_cuda(&self) -> bool {
        self.device == Kind::Cuda
    }
}

#[cfg(not(feature = "cuda"))]
mod absent {
    use crate::source::Source;
    use crate::vectors::Vectors;
    use anyhow::{Result, anyhow, bail};
    use crease_core::Program;
    use crease_core::differentiate::How;

    const WHY: &str =
        "--device cuda: this build has no CUDA; build with `cargo build --release -p crease-cli --features cuda`";

    /// What `--device cuda` lacks.
    pub fn missing() -> Option<anyhow::Error> {
        Some(anyhow!(WHY))
    }

    pub fn gradients(_: &Program, _: &Program, _: &How, _: Vectors, _: &Source, _: bool) -> Result<String> {
        bail!(WHY)
    }

    pub fn bench(_: &Program, _: &[usize], _: &How, _: (usize, u64, bool), _: bool) -> Result<(String, i32)> {
        bail!(WHY)
    }
}

#[cfg(not(feature = "cuda"))]
pub use absent::{bench, gradients, missing};

#[cfg(feature = "cuda")]
mod present;

#[cfg(feature = "cuda")]
pub use present::{bench, gradients};

/// What `--device cuda` lacks: in this build nothing.
#[cfg(feature = "cuda")]
pub fn missing() -> Option<anyhow::Error> {
    None
}
