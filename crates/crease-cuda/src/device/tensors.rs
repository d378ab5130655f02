//! A program of tensors on a device: buffers that stay there, and a list of launches for each run.

use super::{Device, DeviceReal, has_blas};
use crate::error::CudaError;
use crate::tensor::{BLOCK, Holds, Launch, TensorPlan};
use cudarc::cublas::result::CublasError;
use cudarc::cublas::sys::{self, cublasOperation_t as Operation};
use cudarc::cublas::{CudaBlas, Gemm, GemmConfig, StridedBatchedConfig};
use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig, PushKernelArg};
use std::collections::HashMap;

impl From<CublasError> for CudaError {
    fn from(e: CublasError) -> Self {
        CudaError::Driver(format!("cuBLAS: {e}"))
    }
}

/// How products of single precision are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Products {
    /// With all digits.
    #[default]
    Full,
    /// By tensor cores that keep ten binary digits of each factor, as frameworks do by default.
    Short,
}

/// Memory of one kind or another.
#[derive(Debug)]
enum Memory<T> {
    Numbers(CudaSlice<T>),
    Doubles(CudaSlice<f64>),
    Indices(CudaSlice<u32>),
}

/// A program of tensors that is ready to run: inputs are brought once, and stay.
#[derive(Debug)]
pub struct LoadedTensors<T> {
    device: Device,
    plan: TensorPlan,
    functions: HashMap<String, CudaFunction>,
    memory: Vec<Memory<T>>,
    blas: Option<CudaBlas>,
}

impl Device {
    /// Compiles the kernels of a plan, and makes room for its buffers.
    ///
    /// # Errors
    ///
    /// If there is no compiler, no library of products where there are products, or memory does not last.
    pub fn load_tensors<T: DeviceReal>(
        &self,
        plan: &TensorPlan,
        products: Products,
    ) -> Result<LoadedTensors<T>, CudaError>
    where
        CudaBlas: Gemm<T>,
    {
        if plan.precision != T::PRECISION {
            return Err(CudaError::Arguments("the plan is for numbers of another precision".into()));
        }
        let names: Vec<&str> = plan
            .launches
            .iter()
            .filter_map(|l| match l {
                Launch::Kernel { name, .. } => Some(name.as_str()),
                Launch::Zero(_) | Launch::Product { .. } => None,
            })
            .collect();
        let found = if names.is_empty() { Vec::new() } else { self.functions(plan.source(), &names)? };
        let functions = names.iter().map(ToString::to_string).zip(found).collect();
        let total: usize = plan.buffers.iter().map(|b| b.0).sum();
        self.has_room::<T>(total)?;
        let mut memory = Vec::new();
        for (len, holds) in &plan.buffers {
            let len = (*len).max(1);
            memory.push(match holds {
                Holds::Nothing => Memory::Numbers(self.stream.alloc_zeros(len)?),
                Holds::Numbers(x) => {
                    let x: Vec<T> = x.iter().map(|&x| T::from_f64(x)).collect();
                    Memory::Numbers(self.stream.clone_htod(&x)?)
                }
                Holds::Indices(t) => Memory::Indices(self.stream.clone_htod(&t[..])?),
                Holds::Sums => Memory::Doubles(self.stream.alloc_zeros(len)?),
            });
        }
        let products_there = plan.launches.iter().any(|l| matches!(l, Launch::Product { .. }));
        let blas = match products_there {
            false => None,
            true if !has_blas() => {
                return Err(CudaError::NoDevice(
                    "the library `cublas`, which multiplies matrices, is not found".into(),
                ));
            }
            true => {
                let blas = CudaBlas::new(self.stream.clone())?;
                if products == Products::Short {
                    // SAFETY: the handle is the one that was just made
                    unsafe { sys::cublasSetMathMode(*blas.handle(), sys::cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH) }
                        .result()?;
                }
                Some(blas)
            }
        };
        Ok(LoadedTensors { device: self.clone(), plan: plan.clone(), functions, memory, blas })
    }
}

impl<T: DeviceReal> LoadedTensors<T>
where
    CudaBlas: Gemm<T>,
{
    /// Brings an input to the device, where it stays.
    ///
    /// # Errors
    ///
    /// If there is no such input, or it has another size.
    pub fn set(&mut self, input: usize, numbers: &[T]) -> Result<(), CudaError> {
        let lens = self.plan.inputs();
        if lens.get(input) != Some(&numbers.len()) {
            let message = format!("input {input} has {:?} numbers, {} are given", lens.get(input), numbers.len());
            return Err(CudaError::Arguments(message));
        }
        if let Memory::Numbers(to) = &mut self.memory[self.plan.inputs[input]] {
            self.device.stream.memcpy_htod(numbers, to)?;
        }
        self.device.wait()
    }

    /// Runs everything. Returns at once: reading an output waits.
    ///
    /// # Errors
    ///
    /// If the driver refuses.
    pub fn run(&mut self) -> Result<(), CudaError> {
        for launch in &self.plan.launches {
            match launch {
                Launch::Zero(b) => {
                    if let Memory::Numbers(x) = &mut self.memory[*b] {
                        self.device.stream.memset_zeros(x)?;
                    }
                }
                Launch::Kernel { name, threads, buffers } => {
                    let config = LaunchConfig {
                        grid_dim: (threads.div_ceil(BLOCK) as u32, 1, 1),
                        block_dim: (BLOCK as u32, 1, 1),
                        shared_mem_bytes: 0,
                    };
                    let mut call = self.device.stream.launch_builder(&self.functions[name]);
                    for b in buffers {
                        match &self.memory[*b] {
                            Memory::Numbers(x) => call.arg(x),
                            Memory::Doubles(x) => call.arg(x),
                            Memory::Indices(x) => call.arg(x),
                        };
                    }
                    // SAFETY: the kernel was written for these buffers and their sizes; what it writes, no other launch of the stream reads
                    // before it is done
                    unsafe { call.launch(config) }?;
                }
                Launch::Product { a, b, to, sizes, transposed, count } => {
                    self.product((*a, *b, *to), *sizes, *transposed, *count)?;
                }
            }
        }
        Ok(())
    }

    /// Matrices lie row by row, and cuBLAS reads columns: what it computes is the transpose, of the factors in the other order.
    fn product(
        &self,
        (a, b, to): (usize, usize, usize),
        [m, n, k]: [usize; 3],
        (ta, tb): (bool, bool),
        count: usize,
    ) -> Result<(), CudaError> {
        let (Some(blas), Memory::Numbers(a), Memory::Numbers(b), Memory::Numbers(c)) =
            (&self.blas, &self.memory[a], &self.memory[b], &self.memory[to])
        else {
            return Err(CudaError::Driver("a product without its buffers".into()));
        };
        let operation = |t: bool| if t { Operation::CUBLAS_OP_T } else { Operation::CUBLAS_OP_N };
        let gemm = GemmConfig {
            transa: operation(tb),
            transb: operation(ta),
            m: n as i32,
            n: m as i32,
            k: k as i32,
            alpha: T::one(),
            lda: if tb { k } else { n } as i32,
            ldb: if ta { m } else { k } as i32,
            beta: T::zero(),
            ldc: n as i32,
        };
        // a second handle to the buffer that is written: nothing else of the stream uses it meanwhile
        let mut c = Written(c);
        // SAFETY: sizes are those that the program was verified with, and buffers have as many numbers
        unsafe {
            if count == 1 {
                blas.gemm(gemm, b, a, &mut c)?;
            } else {
                let strides = StridedBatchedConfig {
                    gemm,
                    batch_size: count as i32,
                    stride_a: (k * n) as i64,
                    stride_b: (m * k) as i64,
                    stride_c: (m * n) as i64,
                };
                blas.gemm_strided_batched(strides, b, a, &mut c)?;
            }
        }
        Ok(())
    }

    /// An output, brought back.
    ///
    /// # Errors
    ///
    /// If there is no such output, or a run failed.
    pub fn read(&self, output: usize) -> Result<Vec<T>, CudaError> {
        match self.plan.outputs.get(output) {
            None => Err(CudaError::Arguments(format!("there is no output {output}"))),
            Some(Err(number)) => Ok(vec![T::from_f64(*number)]),
            Some(Ok(b)) => match &self.memory[*b] {
                Memory::Numbers(x) => {
                    let out = self.device.stream.clone_dtoh(x)?;
                    self.device.wait()?;
                    Ok(out)
                }
                Memory::Doubles(_) | Memory::Indices(_) => {
                    Err(CudaError::Driver("an output that is no numbers".into()))
                }
            },
        }
    }
}

/// A buffer that a library writes through a shared reference.
struct Written<'a, T>(&'a CudaSlice<T>);

impl<T> cudarc::driver::DeviceSlice<T> for Written<'_, T> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn stream(&self) -> &std::sync::Arc<cudarc::driver::CudaStream> {
        self.0.stream()
    }
}

impl<T> cudarc::driver::DevicePtrMut<T> for Written<'_, T> {
    fn device_ptr_mut<'a>(
        &'a mut self,
        stream: &'a cudarc::driver::CudaStream,
    ) -> (cudarc::driver::sys::CUdeviceptr, cudarc::driver::SyncOnDrop<'a>) {
        cudarc::driver::DevicePtr::device_ptr(self.0, stream)
    }
}
