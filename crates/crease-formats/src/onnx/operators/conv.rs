//! Convolution and its transpose along any number of axes, in groups: a view of windows and a product, as the engine knows them.

use super::pad::{framed, strides_of};
use super::product::multiplied;
use super::window::{Along, numbers, step, windows};
use crate::onnx::call::{Call, Results, one};
use crate::onnx::error::{Fault, refuse};
use crease_core::{Atom, Layout, Op, Shape};

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

fn product(dims: impl IntoIterator<Item = usize>) -> usize {
    dims.into_iter().fold(1, usize::saturating_mul)
}

pub fn conv(c: &mut Call<'_>) -> Results {
    let Parts { x, kernels, dx, dk, groups } = parts(c)?;
    let (n, channels, out, each) = (dx[0], dx[1], dk[0], dk[1]);
    if Some(channels) != each.checked_mul(groups) || out % groups != 0 {
        return refuse(format!("kernels {dk:?} do not fit images {dx:?} in {groups} groups"));
    }
    let along = windows(c, &dx[2..], &dk[2..])?;
    let pads: Vec<(usize, usize)> = along.iter().map(|a| a.pads).collect();
    let padded = framed(c, x, &pads, 2)?;
    let image = strides_of(&c.shape(padded));
    let positions = product(along.iter().map(|a| a.positions));
    let window = product([each].into_iter().chain(along.iter().map(|a| a.size)));
    let rows = Shape::new([groups, n, positions, window])?;
    // one row for each position of the kernel, holding the numbers that lie under it
    let mut loops = vec![(groups, image[1] * each as isize), (n, image[0])];
    loops.extend(along.iter().zip(&image[2..]).map(|(a, s)| (a.positions, step(a.stride, a.positions) * s)));
    loops.push((each, image[1]));
    loops.extend(along.iter().zip(&image[2..]).map(|(a, s)| (a.size, step(a.dilation, a.size) * s)));
    let per_group = out / groups;
    let (rows, kernels) = if groups == 1 {
        (Shape::new([n * positions, window])?, c.reshape(kernels, &[out, window])?)
    } else {
        (Shape::new([groups, rows.len() / groups / window, window])?, c.reshape(kernels, &[groups, per_group, window])?)
    };
    let rows = c.b.view(padded, Layout::strided(0, &loops), rows)?;
    let y = multiplied(c, rows, kernels, false, true)?;
    // [groups, n, positions, per_group] -> [n, groups * per_group, positions]
    let (p, g) = (positions as isize, per_group as isize);
    let loops = [(n, p * g), (groups, n as isize * p * g), (per_group, 1), (positions, g)];
    let dims: Vec<usize> = [n, out].into_iter().chain(along.iter().map(|a| a.positions)).collect();
    let y = c.b.view(y, Layout::strided(0, &loops), Shape::new(dims)?)?;
    biased(c, y)
}

/// The transpose of a convolution: every number of the image adds a copy of the kernels, times itself, to the result.
pub fn transposed(c: &mut Call<'_>) -> Results {
    let Parts { x, kernels, dx, dk, groups } = parts(c)?;
    let (n, channels, per_group) = (dx[0], dx[1], dk[1]);
    if channels != dk[0] || channels % groups != 0 {
        return refuse(format!("kernels {dk:?} do not fit images {dx:?} in {groups} groups"));
    }
    let (along, extra) = spreads(c, &dx[2..], &dk[2..])?;
    let each = channels / groups;
    let (positions, window) = (product(dx[2..].iter().copied()), product(dk[2..].iter().copied()));
    let out = Shape::new([groups, per_group])?.len();
    // [n, groups, each, positions] -> [groups, n * positions, each] times [groups, each, per_group * window]
    let (p, e) = (positions as isize, each as isize);
    let loops = [(groups, e * p), (n, groups as isize * e * p), (positions, 1), (each, p)];
    let rows = c.b.view(x, Layout::strided(0, &loops), Shape::new([groups, n * positions, each])?)?;
    let copies = Shape::new([groups, n * positions, per_group])?.len().checked_mul(window);
    if copies.is_none_or(|n| n > crease_core::shape::MAX_ELEMENTS) {
        return refuse("it has more than 2^27 products, which is more than one value may have");
    }
    let kernels = c.reshape(kernels, &[groups, each, per_group * window])?;
    let y = multiplied(c, rows, kernels, false, false)?;
    // each product goes to its place; what lies in the padding is cut afterwards
    let whole: Vec<usize> =
        along.iter().zip(&extra).map(|(a, extra)| (a.image - 1) * a.stride + a.reach() + extra).collect();
    let full = Shape::new([&[n, out], &whole[..]].concat())?;
    let strides = strides_of(full.dims());
    let mut loops = vec![(groups, strides[1] * per_group as isize), (n, strides[0])];
    loops.extend(along.iter().zip(&strides[2..]).map(|(a, s)| (a.image, step(a.stride, a.image) * s)));
    loops.push((per_group, strides[1]));
    loops.extend(along.iter().zip(&strides[2..]).map(|(a, s)| (a.size, step(a.dilation, a.size) * s)));
    let y = c.b.assemble(full, vec![(y, Layout::strided(0, &loops))])?;
    let mut cut = vec![(0, n, 1), (0, out, 1)];
    for (a, &whole) in along.iter().zip(&whole) {
        match whole.checked_sub(a.pads.0 + a.pads.1) {
            Some(rest) if rest > 0 => cut.push((a.pads.0, rest, 1)),
            _ => return refuse(format!("its pads {:?} leave nothing of {whole}", a.pads)),
        }
    }
    let y = c.b.slice(y, &cut)?;
    biased(c, y)
}

/// How the kernels of a transposed convolution lie, and what is added to the end of each axis.
fn spreads(c: &Call<'_>, image: &[usize], size: &[usize]) -> Result<(Vec<Along>, Vec<usize>), Fault> {
    let axes = image.len();
    let (strides, dilations) = (numbers(c, "strides", axes, 1, 1)?, numbers(c, "dilations", axes, 1, 1)?);
    let (pads, extra) = (numbers(c, "pads", 2 * axes, 0, 0)?, numbers(c, "output_padding", axes, 0, 0)?);
    let wanted = if c.has("output_shape") { Some(numbers(c, "output_shape", axes, 1, 1)?) } else { None };
    let auto = c.one_of("auto_pad", &["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])?;
    let mut along = Vec::new();
    for i in 0..axes {
        let mut a = Along {
            image: image[i],
            size: size[i],
            stride: strides[i],
            dilation: dilations[i],
            pads: (pads[i], pads[axes + i]),
            positions: image[i],
        };
        let same = matches!(auto, "SAME_UPPER" | "SAME_LOWER").then(|| a.image * a.stride);
        if let Some(wanted) = wanted.as_ref().map(|w| w[i]).or(same) {
            let whole = (a.image - 1) * a.stride + a.reach() + extra[i];
            let Some(over) = whole.checked_sub(wanted) else {
                return refuse(format!("an output of size {wanted} is larger than the {whole} that its kernels reach"));
            };
            if over % 2 == 1 {
                return refuse(
                    "its output_shape or auto_pad needs padding of odd size, for which runtimes differ; say the pads instead",
                );
            }
            a.pads = (over / 2, over / 2);
        }
        along.push(a);
    }
    Ok((along, extra))
}
