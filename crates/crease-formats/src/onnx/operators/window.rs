//! Sliding windows over the last axes of images `[N, C, ...]`: sizes, steps, gaps between elements, and how far they hang over the border, as the attributes of
//! operators say. What is done with them is in [`crease_core::builder`].

use crate::onnx::call::Call;
use crate::onnx::error::{Fault, refuse};
use crease_core::Sliding;
pub use crease_core::builder::Along;
use crease_core::builder::Stretch;

/// No number of a window is larger, so that none of their products overflows.
const LARGEST: i64 = 1 << 28;

/// A list of positive numbers, one for each axis.
pub fn numbers(c: &Call<'_>, name: &str, axes: usize, least: i64, default: usize) -> Result<Vec<usize>, Fault> {
    let Some(list) = c.ints(name)?.filter(|l| !l.is_empty()) else { return Ok(vec![default; axes]) };
    if list.len() != axes || list.iter().any(|n| !(least..=LARGEST).contains(n)) {
        return refuse(format!("its {name} are {list:?}; they must be {axes} numbers that are at least {least}"));
    }
    Ok(list.iter().map(|&n| n as usize).collect())
}

/// How the windows of a convolution or of pooling move, given the sizes of the image and of the window.
pub fn sliding(c: &Call<'_>, image: &[usize], size: &[usize]) -> Result<Sliding, Fault> {
    let axes = image.len();
    if size.iter().any(|&s| s == 0 || s as i64 > LARGEST) {
        return refuse(format!("its kernel has shape {size:?}"));
    }
    let (stride, dilation) = (numbers(c, "strides", axes, 1, 1)?, numbers(c, "dilations", axes, 1, 1)?);
    let pads = numbers(c, "pads", 2 * axes, 0, 0)?;
    let ceil = c.node.op_type() != "Conv" && c.flag("ceil_mode", false)?;
    let auto = c.one_of("auto_pad", &["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])?;
    if auto != "NOTSET" && pads.iter().any(|&p| p != 0) {
        return refuse("it has both pads and auto_pad");
    }
    let padding = |i: usize| {
        if !matches!(auto, "SAME_UPPER" | "SAME_LOWER") {
            return (pads[i], pads[axes + i]);
        }
        // as many positions as there are steps on the image
        let last = (image[i].div_ceil(stride[i]) - 1) * stride[i];
        let short = (last + (size[i] - 1) * dilation[i] + 1).saturating_sub(image[i]);
        if auto == "SAME_UPPER" { (short / 2, short - short / 2) } else { (short - short / 2, short / 2) }
    };
    let padding = (0..axes).map(padding).collect();
    Ok(Sliding { stride, padding, dilation, ceil })
}

/// The stretches of an axis.
pub fn stretches(a: &Along) -> Result<Vec<Stretch>, Fault> {
    Ok(a.stretches()?)
}
