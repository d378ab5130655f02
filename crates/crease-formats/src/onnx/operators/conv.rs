//! Convolution and its transpose along any number of axes, in groups, with the attributes that networks have: what is done is
//! [`conv`](crease_core::Builder::conv) and [`conv_transpose`](crease_core::Builder::conv_transpose).

use super::window::{numbers, sliding};
use crate::onnx::call::{Call, Results, one};
use crate::onnx::error::{Fault, refuse};
use crease_core::{Atom, Op, Sliding};

/// Images, kernels, and how many groups they are in.
struct Parts {
    x: Atom,
    kernels: Atom,
    dx: Vec<usize>,
    dk: Vec<usize>,
    groups: usize,
}

fn parts(c: &mut Call<'_>) -> Result<Parts, Fault> {
    let (x, kernels) = (c.real(0)?, c.real(1)?);
    let (dx, dk) = (c.shape(x), c.shape(kernels));
    if dx.len() < 3 || dk.len() != dx.len() {
        return refuse(format!("it takes images [N, C, ...] and kernels of as many axes, not {dx:?} and {dk:?}"));
    }
    if c.ints("kernel_shape")?.is_some_and(|k| !k.iter().copied().eq(dk[2..].iter().map(|&d| d as i64))) {
        return refuse(format!("its kernel_shape is not that of its kernels {dk:?}"));
    }
    match usize::try_from(c.int("group", 1)?) {
        Ok(groups) if groups > 0 => Ok(Parts { x, kernels, dx, dk, groups }),
        _ => refuse("the number of groups must be positive"),
    }
}

/// Adds one number for each channel.
fn biased(c: &mut Call<'_>, y: Atom) -> Results {
    if c.arg(2).is_none() {
        return one(y);
    }
    let bias = c.real(2)?;
    let dims = c.shape(y);
    let mut shape = vec![1; dims.len()];
    shape[1] = dims[1];
    let bias = c.reshape(bias, &shape[1..])?;
    one(c.apply(Op::Add, &[y, bias])?)
}

pub fn conv(c: &mut Call<'_>) -> Results {
    let Parts { x, kernels, dx, dk, groups } = parts(c)?;
    if Some(dx[1]) != dk[1].checked_mul(groups) || dk[0] % groups != 0 {
        return refuse(format!("kernels {dk:?} do not fit images {dx:?} in {groups} groups"));
    }
    let how = sliding(c, &dx[2..], &dk[2..])?;
    let y = c.b.conv(x, kernels, &how, groups)?;
    biased(c, y)
}

/// The transpose of a convolution: every number of the image adds a copy of the kernels, times itself, to the result.
pub fn transposed(c: &mut Call<'_>) -> Results {
    let Parts { x, kernels, dx, dk, groups } = parts(c)?;
    if dx[1] != dk[0] || dx[1] % groups != 0 {
        return refuse(format!("kernels {dk:?} do not fit images {dx:?} in {groups} groups"));
    }
    let (how, extra) = spreads(c, &dx[2..], &dk[2..])?;
    let y = c.b.conv_transpose(x, kernels, &how, groups, &extra)?;
    biased(c, y)
}

/// How the kernels of a transposed convolution move, and what is added to the end of each axis.
fn spreads(c: &Call<'_>, image: &[usize], size: &[usize]) -> Result<(Sliding, Vec<usize>), Fault> {
    let axes = image.len();
    let (stride, dilation) = (numbers(c, "strides", axes, 1, 1)?, numbers(c, "dilations", axes, 1, 1)?);
    let (pads, extra) = (numbers(c, "pads", 2 * axes, 0, 0)?, numbers(c, "output_padding", axes, 0, 0)?);
    let wanted = if c.has("output_shape") { Some(numbers(c, "output_shape", axes, 1, 1)?) } else { None };
    let auto = c.one_of("auto_pad", &["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])?;
    let mut padding = Vec::new();
    for i in 0..axes {
        let same = matches!(auto, "SAME_UPPER" | "SAME_LOWER").then(|| image[i] * stride[i]);
        let Some(wanted) = wanted.as_ref().map(|w| w[i]).or(same) else {
            padding.push((pads[i], pads[axes + i]));
            continue;
        };
        let whole = (image[i] - 1) * stride[i] + (size[i] - 1) * dilation[i] + 1 + extra[i];
        let Some(over) = whole.checked_sub(wanted) else {
            return refuse(format!("an output of size {wanted} is larger than the {whole} that its kernels reach"));
        };
        if over % 2 == 1 {
            return refuse(
                "its output_shape or auto_pad needs padding of odd size, for which runtimes differ; say the pads instead",
            );
        }
        padding.push((over / 2, over / 2));
    }
    Ok((Sliding { stride, padding, dilation, ceil: false }, extra))
}
