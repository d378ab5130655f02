//! Pooling: the largest number, the mean or a norm of each window. Padding never wins, and counts only where `count_include_pad` says so.

use super::window::{numbers, sliding};
use crate::onnx::call::{Call, Results, one};
use crate::onnx::error::{Fault, refuse};
use crease_core::{Atom, Kink, Lane, Op};

/// How pooling turns the windows of an image into numbers.
#[derive(Clone, Copy)]
pub(super) enum Pool {
    Largest,
    Mean { include_pad: bool },
    Norm { p: u32 },
}

pub(super) fn pooled(c: &mut Call<'_>, pool: Pool) -> Results {
    let x = c.real(0)?;
    let dims = c.shape(x);
    let Some(axes) = dims.len().checked_sub(2).filter(|&n| n > 0) else {
        return refuse(format!("it takes images [N, C, ...], not {dims:?}"));
    };
    if !c.has("kernel_shape") {
        return refuse("it has no kernel_shape");
    }
    let size = numbers(c, "kernel_shape", axes, 1, 1)?;
    let how = sliding(c, &dims[2..], &size)?;
    // positions of the window that see equally many elements go together, which is looked for position by position
    let reach = |i: usize| (dims[2 + i] + how.padding[i].0 + how.padding[i].1) / how.stride[i] + 1;
    c.budget.spend((0..axes).map(reach).sum())?;
    // and each way in which the border cuts windows makes a part of its own
    let over = |pad: usize, i: usize| pad.div_ceil(how.stride[i]);
    let ways = |i: usize| 1 + over(how.padding[i].0, i) + over(how.padding[i].1, i) + usize::from(how.ceil);
    let parts = (0..axes).map(|i| ways(i).min(reach(i))).fold(1usize, usize::saturating_mul);
    c.budget.spend(parts.saturating_mul(64))?;
    one(match pool {
        Pool::Largest => c.b.maxpool(x, &size, &how)?,
        Pool::Mean { include_pad } => c.b.avgpool(x, &size, &how, include_pad)?,
        Pool::Norm { p } => c.b.lppool(x, &size, &how, p)?,
    })
}

pub fn max(c: &mut Call<'_>) -> Results {
    c.int("storage_order", 0)?;
    pooled(c, Pool::Largest)
}

pub fn average(c: &mut Call<'_>) -> Results {
    let include_pad = c.flag("count_include_pad", false)?;
    pooled(c, Pool::Mean { include_pad })
}

/// All axes after the first two, which stay with size 1.
pub(super) fn global(c: &mut Call<'_>, f: impl Fn(&mut Call<'_>, Atom, &[usize]) -> Result<Atom, Fault>) -> Results {
    let x = c.real(0)?;
    let dims = c.shape(x);
    if dims.len() < 3 {
        return refuse(format!("it takes images [N, C, ...], not {dims:?}"));
    }
    let axes: Vec<usize> = (2..dims.len()).collect();
    let y = f(c, x, &axes)?;
    let mut to = vec![1; dims.len()];
    to[..2].copy_from_slice(&dims[..2]);
    one(c.reshape(y, &to)?)
}

pub fn global_max(c: &mut Call<'_>) -> Results {
    global(c, |c, x, axes| c.lane(Op::Kink(Kink::Max(Lane::Axis)), x, axes))
}

pub fn global_average(c: &mut Call<'_>) -> Results {
    global(c, |c, x, axes| Ok(c.b.mean(x, axes)?))
}
