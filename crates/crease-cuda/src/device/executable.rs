//! A loaded kernel as code of the engine, which then has batches, checked arithmetic and the interpreter where the kernel gives up.

use super::{DeviceReal, Loaded};
use crate::error::CudaError;
use crease_engine::{Executable, Inputs};
use std::ops::Range;

/// A kernel that `crease_engine::Compiled::from_executable` takes.
#[derive(Debug)]
pub struct OnDevice<T>(pub Loaded<T>);

impl<T: DeviceReal> Executable<T> for OnDevice<T> {
    /// Points on their way to the device and back.
    type Memory = (Vec<Vec<T>>, Vec<Vec<T>>);

    fn memory(&self) -> Self::Memory {
        let plan = self.0.plan();
        (vec![Vec::new(); plan.inputs().len()], vec![Vec::new(); plan.outputs().len()])
    }

    fn numbers(&self) -> usize {
        self.0.plan().rows() + self.0.plan().results()
    }

    fn bytes((inputs, outputs): &Self::Memory) -> usize {
        inputs.iter().chain(outputs).map(|v| size_of_val(&v[..])).sum()
    }

    fn together(&self, points: usize) -> usize {
        points.min(1 << 20)
    }

    fn run(
        &self,
        (given, found): &mut Self::Memory,
        points: Range<usize>,
        inputs: Inputs<'_, T>,
        outputs: &mut [&mut [T]],
    ) -> bool {
        let plan = self.0.plan();
        for (i, (list, &(_, common))) in given.iter_mut().zip(plan.inputs()).enumerate() {
            list.clear();
            let from = if common { points.start..points.start + 1 } else { points.clone() };
            from.for_each(|p| list.extend_from_slice(inputs.input(i, p)));
        }
        for (list, len) in found.iter_mut().zip(plan.outputs()) {
            list.resize(len * points.len(), T::zero());
        }
        let slices: Vec<&[T]> = given.iter().map(|v| &v[..]).collect();
        let mut parts: Vec<&mut [T]> = found.iter_mut().map(|v| &mut v[..]).collect();
        match self.0.stream(points.len(), &slices, &mut parts) {
            Ok(()) => {}
            // the interpreter, which needs no device, has the last word
            Err(CudaError::Point { .. }) | Err(_) => return false,
        }
        for ((list, out), len) in found.iter().zip(outputs).zip(plan.outputs()) {
            out[points.start * len..points.end * len].copy_from_slice(list);
        }
        true
    }
}
