//! Convolution, its transpose and pooling of variables.

use super::Var;
use crate::builder::{Conv2d, Sliding, Window};

impl<'t> Var<'t> {
    /// Convolution along the last axes with kernels `[O, C / groups, ...]`; see [`Builder::conv`](crate::Builder::conv).
    ///
    /// ```
    /// use crease_core::{Shape, Sliding, Tensor, run, trace_shapes};
    /// // each of two channels has a kernel of its own
    /// let shapes = [Shape::new([2, 4])?, Shape::new([2, 1, 2])?];
    /// let p = trace_shapes(&shapes, |x| vec![x[0].conv(x[1], &Sliding::new(1).strides([2]), 2).sum()])?;
    /// let x = Tensor::new(shapes[0].clone(), vec![1.0; 8]).unwrap();
    /// let k = Tensor::new(shapes[1].clone(), vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    /// assert_eq!(run(&p, &[x, k])?[0].data(), [20.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn conv(self, kernel: Var<'t>, how: &Sliding, groups: usize) -> Var<'t> {
        self.apply2(kernel, |b, x, k| b.conv(x, k, how, groups))
    }

    /// The transpose of a convolution along the last axes, with kernels `[C, O / groups, ...]`; see [`Builder::conv_transpose`](crate::Builder::conv_transpose).
    #[track_caller]
    pub fn conv_transpose(self, kernel: Var<'t>, how: &Sliding, groups: usize, extra: &[usize]) -> Var<'t> {
        self.apply2(kernel, |b, x, k| b.conv_transpose(x, k, how, groups, extra))
    }

    /// Max-pooling over the last axes.
    #[track_caller]
    pub fn maxpool(self, size: &[usize], how: &Sliding) -> Var<'t> {
        self.apply(|b, x| b.maxpool(x, size, how))
    }

    /// Average pooling over the last axes; padding counts if `include_pad`.
    #[track_caller]
    pub fn avgpool(self, size: &[usize], how: &Sliding, include_pad: bool) -> Var<'t> {
        self.apply(|b, x| b.avgpool(x, size, how, include_pad))
    }

    /// Two-dimensional convolution with kernels `[O, C, h, w]`.
    #[track_caller]
    pub fn conv2d(self, kernel: Var<'t>, how: Conv2d) -> Var<'t> {
        self.apply2(kernel, |b, x, k| b.conv2d(x, k, how))
    }

    /// Two-dimensional max-pooling.
    #[track_caller]
    pub fn maxpool2d(self, window: Window) -> Var<'t> {
        self.apply(|b, x| b.maxpool2d(x, window))
    }
}
