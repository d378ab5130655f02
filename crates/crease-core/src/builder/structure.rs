//! The words of tensor users, all of them views, assemblies and matrix products: reshape, transpose, slice, concat,
//! gather, broadcast, sums and means, matrix products of vectors and matrices. Convolution and pooling are in [`windows`](super::windows).

use super::{BuildError, Builder};
use crate::number::Rational;
use crate::op::{Constant, Op, OpError};
use crate::program::Atom;
use crate::shape::{Layout, Shape, ShapeError, broadcast_layout, concat_layouts, sum_layout, transpose_layout};

impl Builder {
    /// Reads `x` through an index map. An identity in the same shape is `x` itself.
    pub fn view(&mut self, x: Atom, layout: Layout, shape: Shape) -> Result<Atom, BuildError> {
        if x.value().is_some() && self.shape_of(x)? == shape && layout.is_identity(shape.len()) {
            return Ok(x);
        }
        self.push1(Op::View { layout, shape }, &[x])
    }

    /// Adds the pieces into zeros, each through its own index map.
    pub fn assemble(&mut self, shape: Shape, pieces: Vec<(Atom, Layout)>) -> Result<Atom, BuildError> {
        let (args, layouts): (Vec<_>, Vec<_>) = pieces.into_iter().unzip();
        self.push1(Op::Assemble { shape, pieces: layouts.into() }, &args)
    }

    /// Zeros of that shape; a constant if it is a scalar.
    pub fn zeros(&mut self, shape: Shape) -> Result<Atom, BuildError> {
        if shape.is_scalar() { Ok(self.constant(Rational::ZERO)) } else { self.assemble(shape, Vec::new()) }
    }

    /// A tensor of finite numbers.
    pub fn tensor(&mut self, shape: Shape, data: Vec<f64>) -> Result<Atom, BuildError> {
        let constant = Constant::new(shape, data)?;
        self.push1(Op::Constant(constant), &[])
    }

    /// A tensor of exact numbers: a constant where doubles can hold them, else put together from its numbers.
    ///
    /// ```
    /// use crease_core::{Builder, Rational, Shape, run};
    /// let mut b = Builder::new("f");
    /// let v = b.exact_tensor(Shape::vector(2)?, vec![Rational::new(3, 5).unwrap(), Rational::ONE])?;
    /// let p = b.finish(&[v])?;
    /// assert_eq!(run::<Rational>(&p, &[]).unwrap()[0].data()[0].to_string(), "0.6");
    /// # Ok::<(), crease_core::BuildError>(())
    /// ```
    pub fn exact_tensor(&mut self, shape: Shape, data: Vec<Rational>) -> Result<Atom, BuildError> {
        let double = |r: &Rational| Some(r.to_f64()).filter(|&near| Rational::from_f64(near).as_ref() == Some(r));
        if data.len() != shape.len() {
            return Err(OpError::Data { shape, len: data.len() }.into());
        }
        if let Some(doubles) = data.iter().map(double).collect() {
            return self.tensor(shape, doubles);
        }
        let atoms: Vec<Atom> = data.into_iter().map(|number| self.constant(number)).collect();
        let flat = self.concat(&atoms, 0)?;
        self.reshape(flat, &shape)
    }

    /// The same elements in another shape.
    pub fn reshape(&mut self, x: Atom, shape: &Shape) -> Result<Atom, BuildError> {
        let from = self.shape_of(x)?;
        if from.len() != shape.len() {
            return Err(shapes_error("reshape", &[&from, shape], "they must have equally many elements"));
        }
        self.view(x, Layout::identity(shape.len()), shape.clone())
    }

    /// Repeats `x` over a larger shape. Axes are matched from the last one; an axis of size 1 is repeated.
    pub fn broadcast(&mut self, x: Atom, shape: &Shape) -> Result<Atom, BuildError> {
        let from = self.shape_of(x)?;
        let Some(layout) = broadcast_layout(&from, shape) else {
            return Err(shapes_error(
                "broadcast",
                &[&from, shape],
                "matched from the last axis, the first must have equal sizes or 1",
            ));
        };
        self.view(x, layout, shape.clone())
    }

    /// Exchanges the first two axes.
    pub(crate) fn swap_leading(&mut self, x: Atom) -> Result<Atom, BuildError> {
        let mut order: Vec<usize> = (0..self.shape_of(x)?.rank()).collect();
        order.swap(0, 1);
        self.transpose(x, &order)
    }

    /// Reorders the axes: axis i of the result is axis `order[i]` of `x`.
    pub fn transpose(&mut self, x: Atom, order: &[usize]) -> Result<Atom, BuildError> {
        let shape = self.shape_of(x)?;
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..shape.rank()) {
            return Err(OpError::Parameter {
                op: "transpose".into(),
                why: format!("{order:?} is no order of the {} axes of {shape}", shape.rank()),
            }
            .into());
        }
        let to = Shape::new(order.iter().map(|&a| shape.dims()[a]).collect::<Vec<_>>())?;
        self.view(x, transpose_layout(&shape, order), to)
    }

    /// Brings one axis to the end.
    pub(crate) fn axis_last(&mut self, x: Atom, axis: usize) -> Result<Atom, BuildError> {
        let rank = self.shape_of(x)?.rank();
        let order: Vec<usize> = (0..rank).filter(|&a| a != axis).chain([axis]).collect();
        self.transpose(x, &order)
    }

    /// Brings the last axis to a place, undoing [`Builder::axis_last`].
    pub(crate) fn last_to(&mut self, x: Atom, axis: usize) -> Result<Atom, BuildError> {
        let rank = self.shape_of(x)?.rank();
        let mut order: Vec<usize> = (0..rank - 1).collect();
        order.insert(axis, rank - 1);
        self.transpose(x, &order)
    }

    /// A part of `x`: for each axis, the first index, the number of indices and the step between them.
    pub fn slice(&mut self, x: Atom, axes: &[(usize, usize, isize)]) -> Result<Atom, BuildError> {
        let shape = self.shape_of(x)?;
        let fail = |why: String| Err(OpError::Parameter { op: "slice".into(), why }.into());
        if axes.len() != shape.rank() {
            return fail(format!("{} ranges given for shape {shape}", axes.len()));
        }
        let mut offset = 0;
        let mut dims = Vec::new();
        for ((&(first, count, step), &n), &stride) in axes.iter().zip(shape.dims()).zip(&shape.strides()) {
            let last = first as i128 + (count as i128 - 1) * step as i128;
            if count == 0 || first >= n || last < 0 || last >= n as i128 {
                return fail(format!("{count} indices from {first} in steps of {step} leave an axis of size {n}"));
            }
            offset += first * stride as usize;
            // a single index takes no step, however long
            dims.push((count, if count == 1 { 0 } else { stride * step }));
        }
        let to = Shape::new(dims.iter().map(|d| d.0).collect::<Vec<_>>())?;
        self.view(x, Layout::strided(offset, &dims), to)
    }

    /// The part of `x` at fixed indices of its first axes: `x[i]`, `x[i, j]`.
    pub fn at(&mut self, x: Atom, indices: &[usize]) -> Result<Atom, BuildError> {
        let shape = self.shape_of(x)?;
        let inside = indices.len() <= shape.rank() && indices.iter().zip(shape.dims()).all(|(i, n)| i < n);
        if !inside {
            return Err(OpError::Parameter {
                op: "index".into(),
                why: format!("there is no element {indices:?} in shape {shape} (indices count from 0)"),
            }
            .into());
        }
        let strides = shape.strides();
        let offset = indices.iter().zip(&strides).map(|(i, s)| i * *s as usize).sum();
        let rest = Shape::new(shape.dims()[indices.len()..].to_vec())?;
        self.view(x, Layout::strided(offset, &[(rest.len(), 1)]), rest)
    }

    /// The parts of `x` at these positions of an axis, in this order; positions may repeat.
    pub fn gather(&mut self, x: Atom, axis: isize, positions: &[usize]) -> Result<Atom, BuildError> {
        let shape = self.shape_of(x)?;
        let axis = shape.axis(axis)?;
        let n = shape.dims()[axis];
        if let Some(bad) = positions.iter().find(|&&i| i >= n) {
            let why = format!("there is no position {bad} on an axis of size {n} (positions count from 0)");
            return Err(OpError::Parameter { op: "gather".into(), why }.into());
        }
        let mut dims = shape.dims().to_vec();
        dims[axis] = positions.len();
        let to = Shape::new(dims)?;
        let inner: usize = shape.dims()[axis + 1..].iter().product();
        let outer: usize = shape.dims()[..axis].iter().product();
        let mut table = Vec::with_capacity(to.len());
        for o in 0..outer {
            for &i in positions {
                let start = (o * n + i) * inner;
                table.extend((start..start + inner).map(|k| k as u32));
            }
        }
        self.view(x, Layout::table(table), to)
    }

    /// Puts tensors one after the other along an axis. Scalars count as vectors of one element.
    pub fn concat(&mut self, parts: &[Atom], axis: isize) -> Result<Atom, BuildError> {
        let vector = |s: Shape| if s.is_scalar() { Shape::vector(1) } else { Ok(s) };
        let shapes = parts.iter().map(|&p| Ok(vector(self.shape_of(p)?)?)).collect::<Result<Vec<_>, BuildError>>()?;
        let Some(first) = shapes.first() else {
            return Err(OpError::Arity { op: "concat".into(), expected: "at least 1".into(), got: 0 }.into());
        };
        let axis = first.axis(axis)?;
        for s in &shapes {
            let same = s.rank() == first.rank() && (0..s.rank()).all(|i| i == axis || s.dims()[i] == first.dims()[i]);
            if !same {
                return Err(shapes_error(
                    "concat",
                    &[first, s],
                    "all axes but the one along which they are joined must agree",
                ));
            }
        }
        let (to, layouts) = concat_layouts(&shapes, axis)?;
        let pieces = parts.iter().copied().zip(layouts).collect();
        self.assemble(to, pieces)
    }

    /// The sum along some axes, which disappear. Each is named once.
    pub fn sum(&mut self, x: Atom, axes: &[usize]) -> Result<Atom, BuildError> {
        let shape = self.shape_of(x)?;
        check_axes("sum", &shape, axes)?;
        if axes.is_empty() {
            return Ok(x);
        }
        let (to, layout) = sum_layout(&shape, axes)?;
        self.assemble(to, vec![(x, layout)])
    }

    /// The sum of all elements.
    pub fn sum_all(&mut self, x: Atom) -> Result<Atom, BuildError> {
        let axes: Vec<usize> = (0..self.shape_of(x)?.rank()).collect();
        self.sum(x, &axes)
    }

    /// The mean along some axes, which disappear: a sum and a multiplication by a constant. Each axis is named once.
    ///
    /// ```
    /// use crease_core::{Builder, Shape};
    /// let mut b = Builder::new("f");
    /// let x = b.input("x", Shape::vector(3)?)?;
    /// assert!(b.mean(x, &[0]).is_ok());
    /// assert_eq!(b.mean(x, &[0, 0]).unwrap_err().to_string(), "`mean`: axis 0 is named twice");
    /// assert_eq!(b.mean(x, &[1]).unwrap_err().to_string(), "there is no axis 1 in shape [3]");
    /// # Ok::<(), crease_core::BuildError>(())
    /// ```
    pub fn mean(&mut self, x: Atom, axes: &[usize]) -> Result<Atom, BuildError> {
        let shape = self.shape_of(x)?;
        check_axes("mean", &shape, axes)?;
        let n: usize = axes.iter().map(|&a| shape.dims()[a]).product();
        let total = self.sum(x, axes)?;
        if n == 1 {
            return Ok(total);
        }
        // never 0: no axis is empty
        let share = self.constant(Rational::from(n as i64).inv().unwrap_or(Rational::ONE));
        self.mul(total, share)
    }

    /// The product of matrices and vectors: `[m, k] @ [k, n]`, `[m, k] @ [k]`, `[k] @ [k, n]`, `[k] @ [k]`, and stacks of
    /// matrices with equal leading axes.
    pub fn matmul(&mut self, a: Atom, b: Atom) -> Result<Atom, BuildError> {
        let (sa, sb) = (self.shape_of(a)?, self.shape_of(b)?);
        let wrong =
            || shapes_error("@", &[&sa, &sb], "the last axis of the first must be the last but one of the second");
        if sa.is_scalar() || sb.is_scalar() {
            return Err(wrong());
        }
        let mut left = a;
        let mut right = b;
        if let [k] = *sa.dims() {
            left = self.reshape(a, &Shape::new([1, k])?)?;
        }
        if let [k] = *sb.dims() {
            right = self.reshape(b, &Shape::new([k, 1])?)?;
        }
        let product = self.push1(Op::MatMul { transpose_a: false, transpose_b: false }, &[left, right]);
        let product =
            product.map_err(|e| if matches!(e, BuildError::Op(OpError::Shapes { .. })) { wrong() } else { e })?;
        let mut dims = self.shape(product).dims().to_vec();
        if sb.rank() == 1 {
            dims.pop();
        }
        if sa.rank() == 1 {
            dims.remove(dims.len() - if sb.rank() == 1 { 1 } else { 2 });
        }
        self.reshape(product, &Shape::new(dims)?)
    }
}

/// Refuses axes that are not there, and those that are named twice.
pub(super) fn check_axes(op: &str, shape: &Shape, axes: &[usize]) -> Result<(), BuildError> {
    for (i, &axis) in axes.iter().enumerate() {
        if axis >= shape.rank() {
            let axis = isize::try_from(axis).unwrap_or(isize::MAX);
            return Err(ShapeError::NoSuchAxis { axis, shape: shape.to_string() }.into());
        }
        if axes[..i].contains(&axis) {
            return Err(OpError::Parameter { op: op.into(), why: format!("axis {axis} is named twice") }.into());
        }
    }
    Ok(())
}

pub(super) fn shapes_error(op: &str, shapes: &[&Shape], why: &str) -> BuildError {
    OpError::Shapes { op: op.into(), shapes: shapes.iter().map(|s| (*s).clone()).collect(), why: why.into() }.into()
}
