//! Reading through an index map.

use super::axes::{Axis, Plan};
use super::error::WriteError;
use super::nodes::{Nodes, Tensor};
use crease_core::Layout;

impl Nodes {
    /// The elements of a tensor that a map names, in its order.
    pub fn view(&mut self, a: &Tensor, layout: &Layout, to: &[usize]) -> Result<Tensor, WriteError> {
        if layout.is_identity(a.len()) {
            return self.reshape(a, to);
        }
        if a.len() == 1 {
            let a = self.reshape(a, &[])?;
            return self.expand(&a, to);
        }
        if let Some(plan) = Plan::new(layout, &a.dims) {
            return self.along_axes(a, &plan, to);
        }
        let flat = self.flat(a)?;
        let read = self.gather(&flat, 0, &layout.iter().collect::<Vec<_>>())?;
        self.reshape(&read, to)
    }

    fn along_axes(&mut self, a: &Tensor, plan: &Plan, to: &[usize]) -> Result<Tensor, WriteError> {
        let sizes: Vec<usize> = plan.axes.iter().map(|x| x.size).collect();
        let mut t = self.reshape(a, &sizes)?;
        // one loop, and loops that meet neighbours, are a slice; all others a gather, which comes after slices, where there is less to read
        let ranges: Vec<(usize, usize, isize)> = plan.axes.iter().map(range).collect();
        t = self.slice(&t, &ranges)?;
        for (i, axis) in plan.axes.iter().enumerate() {
            if axis.walks.len() > 1 && axis.blocks().is_none() {
                t = self.gather(&t, i, &axis.positions())?;
            }
        }
        // one axis for each loop that walks, in the order of the axes
        let walks: Vec<_> = plan.axes.iter().flat_map(|x| x.blocks().unwrap_or_else(|| x.walks.clone())).collect();
        let apart: Vec<usize> = walks.iter().map(|w| w.size).collect();
        t = self.reshape(&t, &apart)?;
        let mut order: Vec<usize> = (0..walks.len()).collect();
        order.sort_by_key(|&i| walks[i].number);
        t = self.transpose(&t, &order);
        // loops that stand still repeat what there is
        let still = plan.still();
        if still.contains(&true) {
            let spread: Vec<usize> = plan.loops.iter().zip(&still).map(|(&n, &s)| if s { 1 } else { n }).collect();
            t = self.reshape(&t, &spread)?;
            t = self.expand(&t, &plan.loops)?;
        }
        self.reshape(&t, to)
    }
}

/// What is left of an axis before loops are told apart.
fn range(axis: &Axis) -> (usize, usize, isize) {
    match (&axis.walks[..], axis.blocks()) {
        ([one], _) => (axis.start, one.size, one.step),
        (walks, Some(_)) => (axis.start, walks.iter().map(|w| w.size).product(), 1),
        (_, None) => (0, axis.size, 1),
    }
}
