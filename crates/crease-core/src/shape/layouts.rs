//! The index maps of common structure: repeating, transposing, summing, joining.

use super::{Layout, Shape, ShapeError};

/// How a tensor of one shape is repeated over a larger one.
pub(crate) fn broadcast_layout(from: &Shape, to: &Shape) -> Option<Layout> {
    let missing = to.rank().checked_sub(from.rank())?;
    let strides = from.strides();
    let dims = to.dims().iter().enumerate().map(|(i, &n)| match i.checked_sub(missing) {
        Some(j) if from.dims()[j] == n => Some((n, strides[j])),
        Some(j) if from.dims()[j] != 1 => None,
        _ => Some((n, 0)),
    });
    Some(Layout::strided(0, &dims.collect::<Option<Vec<_>>>()?))
}

/// How a tensor is read with its axes in another order.
pub(crate) fn transpose_layout(shape: &Shape, order: &[usize]) -> Layout {
    let strides = shape.strides();
    let dims: Vec<_> = order.iter().map(|&a| (shape.dims()[a], strides[a])).collect();
    Layout::strided(0, &dims)
}

/// Where the elements of a tensor go when some axes are summed over, and the shape that is left.
pub(crate) fn sum_layout(shape: &Shape, axes: &[usize]) -> Result<(Shape, Layout), ShapeError> {
    let kept: Vec<usize> = (0..shape.rank()).filter(|a| !axes.contains(a)).collect();
    let to = Shape::new(kept.iter().map(|&a| shape.dims()[a]).collect::<Vec<_>>())?;
    let strides = to.strides();
    let stride = |a: usize| kept.iter().position(|&k| k == a).map_or(0, |i| strides[i]);
    let loops: Vec<_> = (0..shape.rank()).map(|a| (shape.dims()[a], stride(a))).collect();
    Ok((to, Layout::strided(0, &loops)))
}

/// Where tensors go that are joined along an axis, and the shape of the whole. They agree in all other axes.
pub(crate) fn concat_layouts(shapes: &[Shape], axis: usize) -> Result<(Shape, Vec<Layout>), ShapeError> {
    let mut dims = shapes[0].dims().to_vec();
    dims[axis] = shapes.iter().map(|s| s.dims()[axis]).sum();
    let to = Shape::new(dims)?;
    let strides = to.strides();
    let mut at = 0;
    let layouts = shapes.iter().map(|s| {
        let loops: Vec<_> = s.dims().iter().zip(&strides).map(|(&n, &stride)| (n, stride)).collect();
        let offset = at * strides[axis] as usize;
        at += s.dims()[axis];
        Layout::strided(offset, &loops)
    });
    Ok((to, layouts.collect()))
}
