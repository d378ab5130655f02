//! Sliding windows over the last axes of images `[N, C, ...]`: sizes, steps, gaps between elements, and how far they hang over the border.

use crate::onnx::call::Call;
use crate::onnx::error::{Fault, refuse};

/// How a window lies and moves along one axis.
#[derive(Clone, Copy, Debug)]
pub struct Along {
    /// The size of the image.
    pub image: usize,
    /// How many elements the window has.
    pub size: usize,
    /// How far it moves at each step.
    pub stride: usize,
    /// How far its elements are apart.
    pub dilation: usize,
    /// How far it hangs over at the beginning and at the end.
    pub pads: (usize, usize),
    /// How many positions it has.
    pub positions: usize,
}

impl Along {
    /// From the first to the last element of the window.
    pub fn reach(&self) -> usize {
        (self.size - 1) * self.dilation + 1
    }

    pub fn padded(&self) -> usize {
        self.image + self.pads.0 + self.pads.1
    }
}

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

/// The windows of a convolution or of pooling, given the sizes of the image and of the window.
pub fn windows(c: &Call<'_>, image: &[usize], size: &[usize]) -> Result<Vec<Along>, Fault> {
    let axes = image.len();
    if size.iter().any(|&s| s == 0 || s as i64 > LARGEST) {
        return refuse(format!("its kernel has shape {size:?}"));
    }
    let (strides, dilations) = (numbers(c, "strides", axes, 1, 1)?, numbers(c, "dilations", axes, 1, 1)?);
    let pads = numbers(c, "pads", 2 * axes, 0, 0)?;
    let ceil = c.node.op_type() != "Conv" && c.flag("ceil_mode", false)?;
    let auto = c.one_of("auto_pad", &["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])?;
    if auto != "NOTSET" && pads.iter().any(|&p| p != 0) {
        return refuse("it has both pads and auto_pad");
    }
    let along = |i: usize| {
        let mut a = Along {
            image: image[i],
            size: size[i],
            stride: strides[i],
            dilation: dilations[i],
            pads: (pads[i], pads[axes + i]),
            positions: 0,
        };
        if matches!(auto, "SAME_UPPER" | "SAME_LOWER") {
            a.positions = a.image.div_ceil(a.stride);
            let short = ((a.positions - 1) * a.stride + a.reach()).saturating_sub(a.image);
            a.pads = if auto == "SAME_UPPER" { (short / 2, short - short / 2) } else { (short - short / 2, short / 2) };
            return Ok(a);
        }
        let Some(way) = a.padded().checked_sub(a.reach()) else {
            return refuse(format!(
                "a window that reaches over {} does not fit into {} with padding",
                a.reach(),
                a.padded()
            ));
        };
        a.positions = if ceil { way.div_ceil(a.stride) } else { way / a.stride } + 1;
        // the last window begins inside the image, or in the padding before it
        if ceil && (a.positions - 1) * a.stride >= a.image + a.pads.0 {
            a.positions -= 1;
        }
        Ok(a)
    };
    (0..axes).map(along).collect()
}

/// Neighbouring positions of a window that see equally many elements of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first position.
    pub first: usize,
    /// How many there are.
    pub count: usize,
    /// The first element that the first of them sees.
    pub from: usize,
    /// How many elements each of them sees.
    pub seen: usize,
    /// How many each of them has in the padded image.
    pub padded: usize,
}

/// The stretches of an axis.
pub fn stretches(a: &Along) -> Result<Vec<Stretch>, Fault> {
    let mut out: Vec<Stretch> = Vec::new();
    for i in 0..a.positions {
        let start = i * a.stride;
        // elements before the image, and those before its end
        let before = a.pads.0.saturating_sub(start).div_ceil(a.dilation).min(a.size);
        let within = |end: usize| end.saturating_sub(start).div_ceil(a.dilation).min(a.size);
        let (inside, padded) = (within(a.pads.0 + a.image), within(a.padded()));
        if inside <= before {
            return refuse("a window lies in the padding alone");
        }
        let (from, seen) = (start + before * a.dilation - a.pads.0, inside - before);
        match out.last_mut() {
            Some(s) if s.seen == seen && s.padded == padded && from == s.from + s.count * a.stride => s.count += 1,
            _ => out.push(Stretch { first: i, count: 1, from, seen, padded }),
        }
        if out.len() > 4096 {
            return refuse("its windows are cut by the border in more than 4096 ways");
        }
    }
    Ok(out)
}

/// The step between so many positions; to a single one there is none, and what was given for it may be any number.
pub fn step(stride: usize, positions: usize) -> isize {
    if positions == 1 { 0 } else { stride as isize }
}
