//! A kernel on its device: runs over batches that are there, and streams of points that are not.

use super::{Batch, Device, DeviceReal, Results};
use crate::error::CudaError;
use crate::plan::Plan;
use cudarc::driver::{CudaFunction, LaunchConfig, PushKernelArg};
use std::marker::PhantomData;

/// The most blocks of a kernel that sums.
const SUMMING: usize = 132 * 16;

/// A plan that is ready to run.
#[derive(Debug)]
pub struct Loaded<T> {
    device: Device,
    plan: Plan,
    kernel: CudaFunction,
    finish: Option<CudaFunction>,
    numbers: PhantomData<T>,
}

impl<T: DeviceReal> Loaded<T> {
    pub(super) fn new(device: Device, plan: Plan, kernel: CudaFunction, finish: Option<CudaFunction>) -> Self {
        Loaded { device, plan, kernel, finish, numbers: PhantomData }
    }

    /// What is run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Registers of a thread, and bytes of its numbers that did not find room in them.
    ///
    /// # Errors
    ///
    /// If the driver does not answer.
    pub fn resources(&self) -> Result<(i32, i32), CudaError> {
        Ok((self.kernel.num_regs()?, self.kernel.local_size_bytes()?))
    }

    /// Room for the outputs at so many points.
    ///
    /// # Errors
    ///
    /// If memory does not last.
    pub fn results(&self, points: usize) -> Result<Results<T>, CudaError> {
        let numbers = self.plan.results().saturating_mul(points);
        self.device.has_room::<T>(numbers)?;
        Ok(Results {
            device: self.device.clone(),
            rows: self.device.stream.alloc_zeros(numbers.max(1))?,
            bad: self.device.stream.clone_htod(&[u64::MAX])?,
            points,
            outputs: self.plan.outputs().to_vec(),
            summed: self.plan.summed().to_vec(),
            sums: self.device.stream.alloc_zeros((self.plan.totals() * SUMMING).max(1))?,
            totals: self.device.stream.alloc_zeros(self.plan.totals().max(1))?,
        })
    }

    /// Runs at all points of a batch. Returns at once: reading the results waits.
    ///
    /// # Errors
    ///
    /// If batch or results were made for another plan or another device.
    pub fn run(&self, batch: &Batch<T>, results: &mut Results<T>) -> Result<(), CudaError> {
        let plan = &self.plan;
        if batch.sizes != (plan.rows(), plan.common()) {
            let (rows, common) = batch.sizes;
            return Err(CudaError::Arguments(format!(
                "the batch has {rows} numbers for each point and {common} for all, the plan takes {} and {}",
                plan.rows(),
                plan.common()
            )));
        }
        if results.points != batch.points || results.outputs != plan.outputs() || results.summed != plan.summed() {
            return Err(CudaError::Arguments("the results are those of another plan or number of points".into()));
        }
        let here = self.device.context.ordinal();
        if batch.device.context.ordinal() != here || results.device.context.ordinal() != here {
            return Err(CudaError::Arguments("batch, results and kernel are on different devices".into()));
        }
        if batch.points == 0 {
            return Ok(());
        }
        let (threads, shared) = plan.block();
        let mut blocks = batch.points.div_ceil(plan.points_per_block());
        if plan.totals() > 0 {
            blocks = blocks.min(SUMMING);
        }
        let Ok(blocks) = u32::try_from(blocks) else {
            return Err(CudaError::Arguments(format!("{} points are too many for one run", batch.points)));
        };
        let config = LaunchConfig {
            grid_dim: (blocks, 1, 1),
            block_dim: (threads as u32, 1, 1),
            shared_mem_bytes: shared as u32,
        };
        let points = batch.points as i64;
        let mut launch = self.device.stream.launch_builder(&self.kernel);
        launch.arg(&batch.rows).arg(&batch.common).arg(&mut results.rows).arg(&points).arg(&points).arg(&points);
        launch.arg(&mut results.bad).arg(&mut results.sums);
        // SAFETY: the buffers have rows * points, common and results * points numbers, as was checked above, which is what the kernel of
        // this plan reads and writes; they live until the stream has passed
        unsafe { launch.launch(config) }?;
        if let Some(finish) = &self.finish {
            let config =
                LaunchConfig { grid_dim: (plan.totals() as u32, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
            let blocks = blocks as i32;
            let mut launch = self.device.stream.launch_builder(finish);
            launch.arg(&results.sums).arg(&mut results.totals).arg(&blocks);
            // SAFETY: there are as many totals as blocks are launched, and SUMMING or more sums for each
            unsafe { launch.launch(config) }?;
        }
        Ok(())
    }

    /// Runs at points that lie on the host, however many: as many at a time as there is room for. Outputs hold one point after the other.
    ///
    /// # Errors
    ///
    /// As [`Loaded::run`]; [`CudaError::Point`] names the first point that does not count, after all others were run.
    pub fn stream(&self, points: usize, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), CudaError> {
        let plan = &self.plan;
        if outputs.len() != plan.outputs().len() {
            let message = format!("the plan has {} outputs, {} are given", plan.outputs().len(), outputs.len());
            return Err(CudaError::Arguments(message));
        }
        if plan.totals() > 0 {
            return Err(CudaError::Arguments("sums over points are for points on the device: use Loaded::run".into()));
        }
        for (j, (out, len)) in outputs.iter().zip(plan.outputs()).enumerate() {
            if out.len() != len * points {
                let message = format!("output {j} has room for {} numbers, {} come", out.len(), len * points);
                return Err(CudaError::Arguments(message));
            }
        }
        // inputs and outputs twice, since each is turned around
        let each = 2 * (plan.rows() + plan.results()).max(1) * size_of::<T>();
        let room = (self.device.free_bytes()? / 2 / each as u64).max(1);
        let chunk = usize::try_from(room).unwrap_or(usize::MAX).min(points.max(1)).min(1 << 26);
        let mut bad: Option<u64> = None;
        let mut first = 0;
        while first < points {
            let count = chunk.min(points - first);
            let part: Vec<&[T]> = inputs
                .iter()
                .zip(plan.inputs())
                .map(
                    |(x, &(len, common))| {
                        if common { *x } else { x.get(first * len..(first + count) * len).unwrap_or(&[]) }
                    },
                )
                .collect();
            let batch = self.device.upload(plan.inputs(), count, &part)?;
            let mut results = self.results(count)?;
            self.run(&batch, &mut results)?;
            bad = bad.or(results.first_bad()?.map(|b| b + first as u64));
            for ((found, out), len) in results.read_unchecked()?.iter().zip(outputs.iter_mut()).zip(plan.outputs()) {
                out[first * len..(first + count) * len].copy_from_slice(found);
            }
            first += count;
        }
        bad.map_or(Ok(()), |point| Err(CudaError::Point { point }))
    }
}
