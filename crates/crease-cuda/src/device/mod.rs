//! A device: its driver, its compiler of kernels, and memory that stays there between runs.
//!
//! A [`Plan`] enters [`Device::load`] and leaves as a [`Loaded`] kernel; points enter [`Device::upload`] and leave as a [`Batch`], which any number
//! of runs read; a run fills [`Results`], which are read back when they are wanted. Nothing waits before that.
//!
//! `unsafe` is here alone: a launch hands pointers to a kernel. What makes each of them right is one check, that batch, results and plan have the same
//! sizes, made before every launch.
#![allow(unsafe_code)]

#[cfg(feature = "engine")]
mod executable;
mod loaded;
mod memory;
mod tensors;

#[cfg(feature = "engine")]
pub use executable::OnDevice;
pub use loaded::Loaded;
pub use memory::{Batch, Results};
pub use tensors::{LoadedTensors, Products};

use crate::error::CudaError;
use crate::plan::{KERNEL, Plan, Real};
use cudarc::cublas::sys as blas_sys;
use cudarc::driver::sys::CUfunction_attribute_enum as Attribute;
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DeviceRepr, DriverError, ValidAsZeroBits};
/// What [`assemble`] returns.
pub use cudarc::nvrtc::Ptx;
use cudarc::nvrtc::{CompileError, CompileOptions, compile_ptx_with_opts};
use std::sync::Arc;

/// A kind of numbers that lies in the memory of devices.
pub trait DeviceReal: Real + DeviceRepr + ValidAsZeroBits + Unpin {}

impl DeviceReal for f32 {}
impl DeviceReal for f64 {}

impl From<DriverError> for CudaError {
    fn from(e: DriverError) -> Self {
        CudaError::Driver(e.to_string())
    }
}

impl From<CompileError> for CudaError {
    fn from(e: CompileError) -> Self {
        match e {
            CompileError::CompileError { log, .. } => CudaError::Compiler(log.to_string_lossy().into_owned()),
            other => CudaError::Compiler(other.to_string()),
        }
    }
}

/// A device that runs kernels.
#[derive(Clone, Debug)]
pub struct Device {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    architecture: String,
    /// the kernels that turn tables around, once they are compiled
    pub(crate) turns: Arc<[std::sync::OnceLock<CudaFunction>; 2]>,
}

/// Whether the compiler of kernels is there.
pub(crate) fn has_compiler() -> bool {
    // SAFETY: looks for a library by its name
    unsafe { cudarc::nvrtc::sys::is_culib_present() }
}

/// Compiles a source for an architecture such as `compute_90`; what leaves is its text in the device's assembly language.
///
/// # Errors
///
/// If there is no compiler, or it refuses the source.
pub fn assemble(source: &str, architecture: &str) -> Result<Ptx, CudaError> {
    if !has_compiler() {
        let why = "the library `nvrtc`, which compiles kernels, is not found; install the CUDA toolkit or put it on LD_LIBRARY_PATH";
        return Err(CudaError::NoDevice(why.into()));
    }
    let options = CompileOptions {
        fmad: Some(false),
        ftz: Some(false),
        prec_div: Some(true),
        prec_sqrt: Some(true),
        options: vec![format!("--gpu-architecture={architecture}")],
        ..CompileOptions::default()
    };
    Ok(compile_ptx_with_opts(source, options)?)
}

impl Device {
    /// The device of that number, from 0 on.
    ///
    /// # Errors
    ///
    /// If there is no driver or no such device.
    pub fn open(number: usize) -> Result<Self, CudaError> {
        // SAFETY: looks for a library by its name
        let driver = unsafe { cudarc::driver::sys::is_culib_present() };
        if !driver {
            return Err(CudaError::NoDevice("the library `cuda` of NVIDIA's driver is not found".into()));
        }
        let context = CudaContext::new(number).map_err(|e| CudaError::NoDevice(e.to_string()))?;
        // one stream orders everything; events between streams would cost more than small kernels
        // SAFETY: memory is used on the one stream of its device, or after it was waited for
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream()?;
        let (major, minor) = context.compute_capability()?;
        Ok(Device { context, stream, architecture: format!("compute_{major}{minor}"), turns: Arc::default() })
    }

    /// How many devices there are: batches are independent, so each can take a part of the points.
    ///
    /// # Errors
    ///
    /// If there is no driver.
    pub fn count() -> Result<usize, CudaError> {
        Device::open(0)?;
        Ok(CudaContext::device_count()? as usize)
    }

    /// What the driver calls it.
    ///
    /// # Errors
    ///
    /// If the driver does not answer.
    pub fn name(&self) -> Result<String, CudaError> {
        Ok(self.context.name()?)
    }

    /// Bytes of memory that are free.
    ///
    /// # Errors
    ///
    /// If the driver does not answer.
    pub fn free_bytes(&self) -> Result<u64, CudaError> {
        self.context.bind_to_thread()?;
        Ok(cudarc::driver::result::mem_get_info()?.0 as u64)
    }

    /// Waits until everything that was asked for is done.
    ///
    /// # Errors
    ///
    /// If something of that failed.
    pub fn wait(&self) -> Result<(), CudaError> {
        Ok(self.stream.synchronize()?)
    }

    /// Compiles the functions of these names, in a source.
    pub(crate) fn functions(&self, source: &str, names: &[&str]) -> Result<Vec<CudaFunction>, CudaError> {
        let module = self.context.load_module(assemble(source, &self.architecture)?)?;
        Ok(names.iter().map(|name| module.load_function(name)).collect::<Result<_, _>>()?)
    }

    /// Compiles the kernel of a plan.
    ///
    /// # Errors
    ///
    /// If there is no compiler of kernels, or the plan is one for other numbers.
    pub fn load<T: DeviceReal>(&self, plan: &Plan) -> Result<Loaded<T>, CudaError> {
        if plan.precision() != T::PRECISION {
            let message =
                format!("the plan is for {:?} precision, the numbers are {:?}", plan.precision(), T::PRECISION);
            return Err(CudaError::Arguments(message));
        }
        let names: &[&str] = if plan.totals() > 0 { &[KERNEL, "crease_finish"] } else { &[KERNEL] };
        let mut functions = self.functions(plan.source(), names)?.into_iter();
        let Some(kernel) = functions.next() else {
            return Err(CudaError::Driver("a module without its kernel".into()));
        };
        let (_, shared) = plan.block();
        if shared > 48 << 10 {
            kernel.set_attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared as i32)?;
        }
        if shared > 0 {
            // all of the first cache as shared memory
            kernel.set_attribute(Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100)?;
        }
        Ok(Loaded::new(self.clone(), plan.clone(), kernel, functions.next()))
    }
}

/// Whether the library of products is there.
pub(crate) fn has_blas() -> bool {
    // SAFETY: looks for a library by its name
    unsafe { blas_sys::is_culib_present() }
}
