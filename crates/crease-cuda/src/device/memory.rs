//! Points and results in the memory of a device.
//!
//! Number `k` of point `p` lies at `k * points + p`: neighbours in memory are neighbours among the points, as kernels want it. Who has one point after the
//! other hands that in; it is turned around on the device.

use super::{Device, DeviceReal};
use crate::error::CudaError;
use cudarc::driver::{CudaSlice, CudaView, LaunchConfig, PushKernelArg};

/// Turns a table of `points` rows into one of `points` columns, or back.
const TURN: &str = r#"
extern "C" __global__ void turn(const REAL *__restrict__ from, REAL *__restrict__ to, long long rows, long long columns) {
  __shared__ REAL tile[32][33];
  const long long r0 = (long long)blockIdx.x * 32, c0 = (long long)blockIdx.y * 32;
  for (int i = threadIdx.y; i < 32; i += 8)
    if (r0 + i < rows && c0 + threadIdx.x < columns) tile[i][threadIdx.x] = from[(r0 + i) * columns + c0 + threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8)
    if (c0 + i < columns && r0 + threadIdx.x < rows) to[(c0 + i) * rows + r0 + threadIdx.x] = tile[threadIdx.x][i];
}
"#;

/// Inputs at many points, on a device.
#[derive(Debug)]
pub struct Batch<T> {
    pub(super) device: Device,
    pub(super) rows: CudaSlice<T>,
    pub(super) common: CudaSlice<T>,
    pub(super) points: usize,
    /// numbers of each point, numbers that all share
    pub(super) sizes: (usize, usize),
}

impl<T> Batch<T> {
    /// How many points there are.
    pub fn points(&self) -> usize {
        self.points
    }
}

/// Outputs at many points, on a device.
#[derive(Debug)]
pub struct Results<T> {
    pub(super) device: Device,
    pub(super) rows: CudaSlice<T>,
    pub(super) bad: CudaSlice<u64>,
    pub(super) points: usize,
    pub(super) outputs: Vec<usize>,
    pub(super) summed: Vec<bool>,
    /// what blocks have summed up, and what comes of it
    pub(super) sums: CudaSlice<f64>,
    pub(super) totals: CudaSlice<T>,
}

impl Device {
    /// Brings inputs at many points to the device: of each input one point after the other, or, of those that all points share, just one.
    ///
    /// # Errors
    ///
    /// If sizes do not fit the plan, or memory does not last.
    pub fn upload<T: DeviceReal>(
        &self,
        inputs: &[(usize, bool)],
        points: usize,
        numbers: &[&[T]],
    ) -> Result<Batch<T>, CudaError> {
        if numbers.len() != inputs.len() {
            let message = format!("the plan takes {} inputs, {} are given", inputs.len(), numbers.len());
            return Err(CudaError::Arguments(message));
        }
        for (i, (list, &(len, common))) in numbers.iter().zip(inputs).enumerate() {
            let expected = if common { len } else { len * points };
            if list.len() != expected {
                let message =
                    format!("input {i} has {} numbers, {expected} are expected for {points} points", list.len());
                return Err(CudaError::Arguments(message));
            }
        }
        let rows: usize = inputs.iter().filter(|i| !i.1).map(|i| i.0).sum();
        let common: Vec<T> = numbers.iter().zip(inputs).filter(|(_, i)| i.1).flat_map(|(x, _)| x.to_vec()).collect();
        let mut batch = self.room(rows, points, &common)?;
        let mut first = 0;
        for (list, &(len, _)) in numbers.iter().zip(inputs).filter(|(_, i)| !i.1) {
            if points > 0 && len > 0 {
                let mut to = batch.rows.slice_mut(first * points..(first + len) * points);
                if len == 1 {
                    self.stream.memcpy_htod(*list, &mut to)?;
                } else {
                    let from = self.stream.clone_htod(*list)?;
                    self.turn(&from.as_view(), &mut to, points, len)?;
                    self.wait()?;
                }
            }
            first += len;
        }
        self.wait()?;
        Ok(batch)
    }

    /// Inputs that lie as kernels want them: number `k` of point `p` at `k * points + p`.
    ///
    /// # Errors
    ///
    /// If memory does not last.
    pub fn upload_rows<T: DeviceReal>(&self, points: usize, rows: &[T], common: &[T]) -> Result<Batch<T>, CudaError> {
        if points == 0 || !rows.len().is_multiple_of(points) {
            let message = format!("{} numbers are no rows of {points} points", rows.len());
            return Err(CudaError::Arguments(message));
        }
        let mut batch = self.room(rows.len() / points, points, common)?;
        self.stream.memcpy_htod(rows, &mut batch.rows)?;
        self.wait()?;
        Ok(batch)
    }

    fn room<T: DeviceReal>(&self, rows: usize, points: usize, common: &[T]) -> Result<Batch<T>, CudaError> {
        let numbers = rows.saturating_mul(points);
        self.has_room::<T>(numbers)?;
        Ok(Batch {
            device: self.clone(),
            rows: self.stream.alloc_zeros(numbers.max(1))?,
            common: if common.is_empty() { self.stream.alloc_zeros(1)? } else { self.stream.clone_htod(common)? },
            points,
            sizes: (rows, common.len()),
        })
    }

    /// Whether so many numbers fit into what is free.
    pub(super) fn has_room<T>(&self, numbers: usize) -> Result<(), CudaError> {
        let (needed, free) = ((numbers as u64).saturating_mul(size_of::<T>() as u64), self.free_bytes()?);
        if needed > free { Err(CudaError::Memory { needed, free }) } else { Ok(()) }
    }

    /// A table of `rows` times `columns` numbers, turned.
    fn turn<T: DeviceReal>(
        &self,
        from: &CudaView<'_, T>,
        to: &mut cudarc::driver::CudaViewMut<'_, T>,
        rows: usize,
        columns: usize,
    ) -> Result<(), CudaError> {
        let kind = if T::PRECISION.bytes() == 4 { "float" } else { "double" };
        let known = &self.turns[usize::from(T::PRECISION.bytes() == 8)];
        let kernel = match known.get() {
            Some(kernel) => kernel.clone(),
            None => {
                let made = self.functions(&format!("typedef {kind} REAL;{TURN}"), &["turn"])?.remove(0);
                known.get_or_init(|| made).clone()
            }
        };
        let blocks = |n: usize| n.div_ceil(32) as u32;
        // the longer side may have more blocks than a grid has in its second direction
        let config = LaunchConfig {
            grid_dim: (blocks(rows), blocks(columns).min(65535), 1),
            block_dim: (32, 8, 1),
            shared_mem_bytes: 0,
        };
        if from.len() != rows * columns || to.len() != rows * columns || blocks(columns) > 65535 {
            return Err(CudaError::Arguments(format!("{} numbers are no table of {rows} by {columns}", from.len())));
        }
        let (r, c) = (rows as i64, columns as i64);
        let mut launch = self.stream.launch_builder(&kernel);
        launch.arg(from).arg(to).arg(&r).arg(&c);
        // SAFETY: both tables have rows * columns numbers, checked above, and the kernel stays inside
        unsafe { launch.launch(config) }?;
        Ok(())
    }
}

impl<T: DeviceReal> Results<T> {
    /// The outputs, of each one point after the other, or their sum.
    ///
    /// # Errors
    ///
    /// If a run failed, or [`CudaError::Point`] if it met a number that does not count.
    pub fn read(&self) -> Result<Vec<Vec<T>>, CudaError> {
        if let Some(point) = self.first_bad()? {
            return Err(CudaError::Point { point });
        }
        self.read_unchecked()
    }

    /// The first point whose numbers do not count: those are for the interpreter.
    ///
    /// # Errors
    ///
    /// If a run failed.
    pub fn first_bad(&self) -> Result<Option<u64>, CudaError> {
        let bad = self.device.stream.clone_dtoh(&self.bad)?;
        self.device.wait()?;
        Ok(bad.first().copied().filter(|&b| b != u64::MAX))
    }

    /// The outputs, whether they count or not.
    ///
    /// # Errors
    ///
    /// If a run failed.
    pub fn read_unchecked(&self) -> Result<Vec<Vec<T>>, CudaError> {
        let points = self.points;
        let mut first = 0;
        let mut out = Vec::new();
        let mut total = 0;
        for (&len, &summed) in self.outputs.iter().zip(&self.summed) {
            if summed {
                out.push(self.device.stream.clone_dtoh(&self.totals.slice(total..total + len))?);
                total += len;
                continue;
            }
            if points == 0 || len == 0 {
                out.push(Vec::new());
                continue;
            }
            let part = self.rows.slice(first * points..(first + len) * points);
            first += len;
            if len == 1 {
                out.push(self.device.stream.clone_dtoh(&part)?);
                continue;
            }
            let mut turned = self.device.stream.alloc_zeros::<T>(len * points)?;
            self.device.turn(&part, &mut turned.as_view_mut(), len, points)?;
            out.push(self.device.stream.clone_dtoh(&turned)?);
        }
        self.device.wait()?;
        Ok(out)
    }

    /// How many points there are.
    pub fn points(&self) -> usize {
        self.points
    }
}
