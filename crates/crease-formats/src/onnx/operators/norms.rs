//! Norms of windows, of images and along an axis: the p-th root of the sum of p-th powers of absolute values.

use super::pool::{Pool, global, pooled};
use crate::onnx::call::{Call, Results, one};
use crate::onnx::error::{Fault, refuse};
use crease_core::Op;

/// Which norm.
fn order(c: &Call<'_>) -> Result<u32, Fault> {
    let p = c.int("p", 2)?;
    u32::try_from(p)
        .ok()
        .filter(|p| (1..=64).contains(p))
        .map_or_else(|| refuse(format!("p = {p} is not supported; 1 to 64 are")), Ok)
}

/// Padding is zeros, which add nothing to a norm.
pub fn pool(c: &mut Call<'_>) -> Results {
    let p = order(c)?;
    pooled(c, Pool::Norm { p })
}

pub fn global_pool(c: &mut Call<'_>) -> Results {
    global(c, |c, x, axes| {
        let dims = c.shape(x);
        let flat = c.reshape(x, &[dims[0], dims[1], axes.iter().map(|&i| dims[i]).product()])?;
        Ok(c.b.lp_norm(flat, order(c)?)?)
    })
}

/// Divides by the norm along an axis. Where that is 0 there is no value.
pub fn normalization(c: &mut Call<'_>) -> Results {
    let x = c.real(0)?;
    let dims = c.shape(x);
    let axis = c.axis(c.int("axis", -1)?, dims.len())?;
    let turned: Vec<usize> = (0..dims.len()).filter(|&i| i != axis).chain([axis]).collect();
    let last = c.b.transpose(x, &turned)?;
    let size = c.b.lp_norm(last, order(c)?)?;
    let kept: Vec<usize> = (0..dims.len()).map(|i| if i == axis { 1 } else { dims[i] }).collect();
    let size = c.reshape(size, &kept)?;
    one(c.apply(Op::Div, &[x, size])?)
}
