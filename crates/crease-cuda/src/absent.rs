//! No device: this build has none of what runs on one, and says so.

use crate::error::CudaError;

/// A device that runs kernels, in a build without the feature `cuda`: there is none.
#[derive(Clone, Debug)]
pub enum Device {}

impl Device {
    /// The device of that number.
    ///
    /// ```
    /// let error = crease_cuda::Device::open(0).unwrap_err();
    /// assert!(error.to_string().contains("no CUDA device"));
    /// ```
    ///
    /// # Errors
    ///
    /// Always: build with the feature `cuda`.
    pub fn open(_: usize) -> Result<Self, CudaError> {
        Err(CudaError::NoDevice("this build has no CUDA; build with the feature `cuda`".into()))
    }
}
