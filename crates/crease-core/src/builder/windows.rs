//! Sliding windows over the last axes of images: convolution, its transpose and pooling, along any number of axes, with steps, padding, gaps and
//! groups.
//!
//! Images `[.., C, ...]` and kernels enter; views of windows, products of matrices, maxima and sums leave. The reader of networks, the text language
//! and traces all use these. Absent: adding a bias, which is a sum, and padding by other numbers than 0.

use super::structure::shapes_error;
use super::{BuildError, Builder};
use crate::number::Rational;
use crate::op::{Kink, Lane, Op, OpError};
use crate::program::Atom;
use crate::shape::{Layout, MAX_ELEMENTS, Shape};

/// The most parts that pooling is put together from.
const PARTS: usize = 1 << 14;

/// The most ways in which the border cuts windows along one axis.
const STRETCHES: usize = 1 << 12;

/// A two-dimensional sliding window: sizes, steps, and how far it hangs over the border, each as (rows, columns).
///
/// ```
/// use crease_core::Window;
/// let w = Window::new((2, 2)).stride((2, 2));
/// assert_eq!(w.output((28, 28)), Some((14, 14)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The size of the window.
    pub size: (usize, usize),
    /// How far it moves at each step.
    pub stride: (usize, usize),
    /// How many rows and columns of padding are on each side.
    pub padding: (usize, usize),
}

impl Window {
    /// A window of that size that moves by one and stays inside.
    pub fn new(size: (usize, usize)) -> Self {
        Window { size, stride: (1, 1), padding: (0, 0) }
    }

    /// The same window with other steps.
    pub fn stride(self, stride: (usize, usize)) -> Self {
        Window { stride, ..self }
    }

    /// The same window with padding on each side.
    pub fn padding(self, padding: (usize, usize)) -> Self {
        Window { padding, ..self }
    }

    /// How many positions it has on an image of that size; nothing where it does not fit.
    pub fn output(self, image: (usize, usize)) -> Option<(usize, usize)> {
        let along = |n: usize, size: usize, stride: usize, padding: usize| {
            let padded = n.checked_add(padding.checked_mul(2)?)?;
            (size > 0 && stride > 0 && padding < size).then_some(())?;
            Some(padded.checked_sub(size)? / stride + 1)
        };
        Some((
            along(image.0, self.size.0, self.stride.0, self.padding.0)?,
            along(image.1, self.size.1, self.stride.1, self.padding.1)?,
        ))
    }
}

/// How a two-dimensional convolution moves: steps and zero padding. The kernel's size is that of its tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv2d {
    /// How far the kernel moves at each step.
    pub stride: (usize, usize),
    /// How many rows and columns of zeros are on each side.
    pub padding: (usize, usize),
}

impl Default for Conv2d {
    fn default() -> Self {
        Conv2d { stride: (1, 1), padding: (0, 0) }
    }
}

/// How windows move along several axes: one entry of each list for each axis.
///
/// ```
/// use crease_core::Sliding;
/// let how = Sliding::new(2).strides([2, 2]).pads([1, 0]);
/// assert_eq!(how.padding, [(1, 1), (0, 0)]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sliding {
    /// How far the window moves at each step.
    pub stride: Vec<usize>,
    /// How far it hangs over at the beginning and at the end.
    pub padding: Vec<(usize, usize)>,
    /// How far its elements are apart.
    pub dilation: Vec<usize>,
    /// Whether a last window that hangs over the end, but begins before it, counts. Pooling only.
    pub ceil: bool,
}

impl Sliding {
    /// Along so many axes, in steps of one, inside the image and without gaps.
    pub fn new(axes: usize) -> Self {
        Sliding { stride: vec![1; axes], padding: vec![(0, 0); axes], dilation: vec![1; axes], ceil: false }
    }

    /// The same with other steps.
    pub fn strides(self, stride: impl Into<Vec<usize>>) -> Self {
        Sliding { stride: stride.into(), ..self }
    }

    /// The same with padding, as much at the beginning as at the end.
    pub fn pads(self, padding: impl Into<Vec<usize>>) -> Self {
        Sliding { padding: padding.into().into_iter().map(|p| (p, p)).collect(), ..self }
    }

    /// The same with elements that are so far apart.
    pub fn dilations(self, dilation: impl Into<Vec<usize>>) -> Self {
        Sliding { dilation: dilation.into(), ..self }
    }

    /// The same with a last window that may hang over the end.
    pub fn ceil(self, ceil: bool) -> Self {
        Sliding { ceil, ..self }
    }

    /// How many axes there are, if all lists agree.
    fn axes(&self, op: &str) -> Result<usize, BuildError> {
        let n = self.stride.len();
        if n == 0 || self.padding.len() != n || self.dilation.len() != n {
            let (p, d) = (self.padding.len(), self.dilation.len());
            return refuse(op, format!("it has {n} steps, {p} paddings and {d} dilations; one of each for each axis"));
        }
        let large = |n: &usize| *n > MAX_ELEMENTS;
        let pads = self.padding.iter().flat_map(|p| [p.0, p.1]);
        if pads.chain(self.stride.iter().chain(&self.dilation).copied()).any(|n| large(&n)) {
            return refuse(op, "no step, padding or dilation may be above 2^27");
        }
        if self.stride.contains(&0) || self.dilation.contains(&0) {
            return refuse(op, "steps and dilations are at least 1");
        }
        Ok(n)
    }

    /// How windows of these sizes lie on an image. Nothing says yet how many positions there are.
    fn lie(&self, image: &[usize], size: &[usize]) -> Vec<Along> {
        let along = |i: usize| Along {
            image: image[i],
            size: size[i],
            stride: self.stride[i],
            dilation: self.dilation[i],
            pads: self.padding[i],
            positions: image[i],
        };
        (0..self.stride.len()).map(along).collect()
    }

    /// The windows of a convolution or of pooling.
    fn fit(&self, op: &str, image: &[usize], size: &[usize]) -> Result<Vec<Along>, BuildError> {
        let mut all = self.lie(image, size);
        for (i, a) in all.iter_mut().enumerate() {
            let Some(way) = a.padded().checked_sub(a.reach()) else {
                let (reach, padded) = (a.reach(), a.padded());
                let why = format!(
                    "a window that reaches over {reach} does not fit into {padded}, which axis {i} of {image:?} has with padding"
                );
                return refuse(op, why);
            };
            a.positions = if self.ceil { way.div_ceil(a.stride) } else { way / a.stride } + 1;
            // the last window begins inside the image, or in the padding before it
            if self.ceil && (a.positions - 1) * a.stride >= a.image + a.pads.0 {
                a.positions -= 1;
            }
        }
        Ok(all)
    }
}

/// How a window lies and moves along one axis.
///
/// ```
/// use crease_core::builder::Along;
/// let a = Along { image: 5, size: 3, stride: 2, dilation: 1, pads: (1, 1), positions: 3 };
/// // the first and the last position see two elements, the one between them three
/// let seen: Vec<usize> = a.stretches()?.iter().map(|s| s.seen).collect();
/// assert_eq!(seen, [2, 3, 2]);
/// # Ok::<(), crease_core::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    /// The size of the image with its padding.
    pub fn padded(&self) -> usize {
        self.image + self.pads.0 + self.pads.1
    }

    /// Neighbouring positions that see equally many elements, from the first to the last.
    pub fn stretches(&self) -> Result<Vec<Stretch>, BuildError> {
        let mut out: Vec<Stretch> = Vec::new();
        for i in 0..self.positions {
            let start = i * self.stride;
            // elements before the image, and those before its end
            let before = self.pads.0.saturating_sub(start).div_ceil(self.dilation).min(self.size);
            let within = |end: usize| end.saturating_sub(start).div_ceil(self.dilation).min(self.size);
            let (inside, padded) = (within(self.pads.0 + self.image), within(self.padded()));
            if inside <= before {
                return refuse("window", format!("the window at position {i} lies in the padding alone"));
            }
            let (from, seen) = (start + before * self.dilation - self.pads.0, inside - before);
            match out.last_mut() {
                // a window that is cut at its beginning does not move on with the others
                Some(s) if s.seen == seen && s.padded == padded && from == s.from + s.count * self.stride => {
                    s.count += 1;
                }
                _ => out.push(Stretch { first: i, count: 1, from, seen, padded }),
            }
            if out.len() > STRETCHES {
                return refuse("window", format!("the border cuts windows in more than {STRETCHES} ways"));
            }
        }
        Ok(out)
    }
}

/// Neighbouring positions of a window along one axis that see equally many elements of the image.
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

/// Images and kernels taken apart.
struct Parts {
    batch: Vec<usize>,
    channels: usize,
    image: Vec<usize>,
    kernels: [usize; 2],
    size: Vec<usize>,
}

impl Parts {
    fn new(op: &str, sx: &Shape, sk: &Shape, axes: usize, groups: usize) -> Result<Self, BuildError> {
        if sx.rank() <= axes || sk.rank() != axes + 2 {
            let why = format!(
                "it takes images [.., C, {axes} more] and kernels of {} axes: two for channels, {axes} for the window",
                axes + 2
            );
            return Err(shapes_error(op, &[sx, sk], &why));
        }
        if groups == 0 {
            return refuse(op, "the number of groups must be positive");
        }
        let split = sx.rank() - axes - 1;
        let (dx, dk) = (sx.dims(), sk.dims());
        Ok(Parts {
            batch: dx[..split].to_vec(),
            channels: dx[split],
            image: dx[split + 1..].to_vec(),
            kernels: [dk[0], dk[1]],
            size: dk[2..].to_vec(),
        })
    }
}

impl Builder {
    /// Convolution (correlation, as networks use it) of images `[.., C, ...]` with kernels `[O, C / groups, ...]` along the last axes: one output
    /// channel for each kernel. In `groups`, each group of channels has its own kernels; with as many groups as channels it is a depthwise
    /// convolution.
    ///
    /// ```
    /// use crease_core::{Builder, Shape, Sliding, Tensor, run};
    /// let mut b = Builder::new("f");
    /// let x = b.input("x", Shape::new([1, 5])?)?;
    /// let k = b.input("k", Shape::new([1, 1, 2])?)?;
    /// let y = b.conv(x, k, &Sliding::new(1).dilations([2]), 1)?;
    /// let p = b.finish(&[y])?;
    /// let x = Tensor::new(Shape::new([1, 5])?, vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    /// let k = Tensor::new(Shape::new([1, 1, 2])?, vec![1.0, 10.0]).unwrap();
    /// assert_eq!(run(&p, &[x, k]).unwrap()[0].data(), [31.0, 42.0, 53.0]);
    /// # Ok::<(), crease_core::BuildError>(())
    /// ```
    pub fn conv(&mut self, x: Atom, kernels: Atom, how: &Sliding, groups: usize) -> Result<Atom, BuildError> {
        let op = &format!("conv{}d", how.stride.len());
        let (sx, sk) = (self.shape_of(x)?, self.shape_of(kernels)?);
        let Parts { batch, channels, image, kernels: [out, each], size } =
            Parts::new(op, &sx, &sk, how.axes(op)?, groups)?;
        if Some(channels) != each.checked_mul(groups) || out % groups != 0 {
            let why = format!(
                "with {groups} {} the kernels must be [O, C / groups, ...] for the {channels} channels of the image, O being divisible by the \
                 number of groups",
                if groups == 1 { "group" } else { "groups" }
            );
            return Err(shapes_error(op, &[&sx, &sk], &why));
        }
        let along = how.fit(op, &image, &size)?;
        let dims: Vec<usize> = batch.iter().copied().chain([out]).chain(along.iter().map(|a| a.positions)).collect();
        let to = Shape::new(dims)?;
        let n = product(batch.iter().copied());
        let padded = self.framed(x, &along)?;
        let strides = self.shape(padded).strides();
        let image = &strides[batch.len() + 1..];
        let (positions, window) = (product(along.iter().map(|a| a.positions)), product([each].into_iter().chain(size)));
        // one row for each position of the kernel, holding the numbers that lie under it
        let plane = along.iter().map(|a| a.padded() as isize).product::<isize>();
        let mut loops = vec![(groups, plane * each as isize), (n, plane * channels as isize)];
        loops.extend(along.iter().zip(image).map(|(a, s)| (a.positions, step(a.stride, a.positions) * s)));
        loops.push((each, plane));
        loops.extend(along.iter().zip(image).map(|(a, s)| (a.size, step(a.dilation, a.size) * s)));
        let whole = Shape::new([groups, n * positions, window])?;
        let per_group = out / groups;
        let (rows, matrix) = match groups {
            1 => (Shape::new([n * positions, window])?, Shape::new([out, window])?),
            _ => (whole, Shape::new([groups, per_group, window])?),
        };
        let rows = self.view(padded, Layout::strided(0, &loops), rows)?;
        let matrix = self.reshape(kernels, &matrix)?;
        let y = self.push1(Op::MatMul { transpose_a: false, transpose_b: true }, &[rows, matrix])?;
        // [groups, n, positions, per_group] -> [n, groups * per_group, positions]
        let (p, g) = (positions as isize, per_group as isize);
        let loops = [(n, p * g), (groups, n as isize * p * g), (per_group, 1), (positions, g)];
        self.view(y, Layout::strided(0, &loops), to)
    }

    /// The transpose of a convolution: each number of an image `[.., C, ...]` adds a copy of its channel's kernels `[C, O / groups, ...]`, times
    /// itself, to the result. Padding is what is cut off at the borders; `extra` is added at the end of each axis.
    ///
    /// ```
    /// use crease_core::{Builder, Shape, Sliding, Tensor, run};
    /// let mut b = Builder::new("f");
    /// let x = b.input("x", Shape::new([1, 2])?)?;
    /// let k = b.input("k", Shape::new([1, 1, 3])?)?;
    /// let y = b.conv_transpose(x, k, &Sliding::new(1).strides([2]), 1, &[0])?;
    /// let p = b.finish(&[y])?;
    /// let x = Tensor::new(Shape::new([1, 2])?, vec![1.0, 2.0]).unwrap();
    /// let k = Tensor::new(Shape::new([1, 1, 3])?, vec![1.0, 10.0, 100.0]).unwrap();
    /// assert_eq!(run(&p, &[x, k]).unwrap()[0].data(), [1.0, 10.0, 102.0, 20.0, 200.0]);
    /// # Ok::<(), crease_core::BuildError>(())
    /// ```
    pub fn conv_transpose(
        &mut self,
        x: Atom,
        kernels: Atom,
        how: &Sliding,
        groups: usize,
        extra: &[usize],
    ) -> Result<Atom, BuildError> {
        let op = &format!("conv_transpose{}d", how.stride.len());
        let (sx, sk) = (self.shape_of(x)?, self.shape_of(kernels)?);
        let axes = how.axes(op)?;
        let Parts { batch, channels, image, kernels: [from, per_group], size } =
            Parts::new(op, &sx, &sk, axes, groups)?;
        if channels != from || channels % groups != 0 {
            let why = format!(
                "kernels are [C, O / groups, ...] for the {channels} channels of the image, which is divisible by {groups}"
            );
            return Err(shapes_error(op, &[&sx, &sk], &why));
        }
        if extra.len() != axes || extra.iter().any(|&e| e > MAX_ELEMENTS) {
            return refuse(op, format!("what is added at the ends are {axes} numbers of at most 2^27, not {extra:?}"));
        }
        let along = how.lie(&image, &size);
        let each = channels / groups;
        let n = product(batch.iter().copied());
        let (positions, window) = (product(image.iter().copied()), product(size.iter().copied()));
        let out = groups.saturating_mul(per_group);
        let whole: Vec<usize> =
            along.iter().zip(extra).map(|(a, extra)| (a.image - 1) * a.stride + a.reach() + extra).collect();
        let full = Shape::new([&[n, out], &whole[..]].concat())?;
        // [n, groups, each, positions] -> [groups, n * positions, each] times [groups, each, per_group * window]
        let copies = [groups, n * positions, per_group, window].into_iter().try_fold(1usize, usize::checked_mul);
        if copies.is_none_or(|n| n > MAX_ELEMENTS) {
            return refuse(op, "it has more than 2^27 products, which is more than one value may have");
        }
        let (p, e) = (positions as isize, each as isize);
        let loops = [(groups, e * p), (n, groups as isize * e * p), (positions, 1), (each, p)];
        let rows = self.view(x, Layout::strided(0, &loops), Shape::new([groups, n * positions, each])?)?;
        let matrix = self.reshape(kernels, &Shape::new([groups, each, per_group * window])?)?;
        let y = self.push1(Op::MatMul { transpose_a: false, transpose_b: false }, &[rows, matrix])?;
        // each product goes to its place; what lies in the padding is cut afterwards
        let strides = full.strides();
        let mut loops = vec![(groups, strides[1] * per_group as isize), (n, strides[0])];
        loops.extend(along.iter().zip(&strides[2..]).map(|(a, s)| (a.image, step(a.stride, a.image) * s)));
        loops.push((per_group, strides[1]));
        loops.extend(along.iter().zip(&strides[2..]).map(|(a, s)| (a.size, step(a.dilation, a.size) * s)));
        let y = self.assemble(full, vec![(y, Layout::strided(0, &loops))])?;
        let mut cut = vec![(0, n, 1), (0, out, 1)];
        for (i, (a, &whole)) in along.iter().zip(&whole).enumerate() {
            match whole.checked_sub(a.pads.0 + a.pads.1) {
                Some(rest) if rest > 0 => cut.push((a.pads.0, rest, 1)),
                _ => {
                    return refuse(
                        op,
                        format!("the padding {:?} leaves nothing of the {whole} along axis {i}", a.pads),
                    );
                }
            }
        }
        let dims: Vec<usize> = batch.into_iter().chain([out]).chain(cut[2..].iter().map(|c| c.1)).collect();
        let y = self.slice(y, &cut)?;
        self.reshape(y, &Shape::new(dims)?)
    }

    /// Max-pooling over the last axes, as many as the window has. Padding never wins: a window that hangs over the border is the maximum of what
    /// lies inside.
    ///
    /// ```
    /// use crease_core::{Builder, Shape, Sliding, Tensor, run};
    /// let mut b = Builder::new("f");
    /// let x = b.input("x", Shape::vector(5)?)?;
    /// let y = b.maxpool(x, &[2], &Sliding::new(1).strides([2]).ceil(true))?;
    /// let p = b.finish(&[y])?;
    /// let x = Tensor::vector(vec![1.0, 3.0, 2.0, 0.0, -1.0]).unwrap();
    /// assert_eq!(run(&p, &[x]).unwrap()[0].data(), [3.0, 2.0, -1.0]);
    /// # Ok::<(), crease_core::BuildError>(())
    /// ```
    pub fn maxpool(&mut self, x: Atom, size: &[usize], how: &Sliding) -> Result<Atom, BuildError> {
        self.pool("maxpool", x, size, how, |b, windows, _, _| b.push1(Op::Kink(Kink::Max(Lane::Axis)), &[windows]))
    }

    /// Average pooling over the last axes, as many as the window has. Padding counts as zeros if `include_pad`, and is left out if not; what
    /// lies behind the padding never counts.
    ///
    /// ```
    /// use crease_core::{Builder, Shape, Sliding, Tensor, run};
    /// let mut b = Builder::new("f");
    /// let x = b.input("x", Shape::vector(3)?)?;
    /// let how = Sliding::new(1).strides([2]).pads([1]);
    /// let (all, seen) = (b.avgpool(x, &[2], &how, true)?, b.avgpool(x, &[2], &how, false)?);
    /// let p = b.finish(&[all, seen])?;
    /// let y = run(&p, &[Tensor::vector(vec![2.0, 4.0, 8.0]).unwrap()]).unwrap();
    /// assert_eq!((y[0].data(), y[1].data()), (&[1.0, 6.0][..], &[2.0, 6.0][..]));
    /// # Ok::<(), crease_core::BuildError>(())
    /// ```
    pub fn avgpool(&mut self, x: Atom, size: &[usize], how: &Sliding, include_pad: bool) -> Result<Atom, BuildError> {
        self.pool("avgpool", x, size, how, |b, windows, seen, padded| {
            let n = if include_pad { padded } else { seen };
            let last = b.shape(windows).rank() - 1;
            let total = b.sum(windows, &[last])?;
            if n == 1 {
                return Ok(total);
            }
            // never 0: no window lies in the padding alone
            let share = b.constant(Rational::from(n as i64).inv().unwrap_or(Rational::ONE));
            b.mul(total, share)
        })
    }

    /// Pooling by [`lp_norm`](Builder::lp_norm) over the last axes, as many as the window has. Padding is zeros, which add nothing.
    ///
    /// ```
    /// use crease_core::{Builder, Shape, Sliding, Tensor, run};
    /// let mut b = Builder::new("f");
    /// let x = b.input("x", Shape::vector(4)?)?;
    /// let y = b.lppool(x, &[2], &Sliding::new(1).strides([2]), 2)?;
    /// let p = b.finish(&[y])?;
    /// let x = Tensor::vector(vec![3.0, -4.0, 0.0, 2.0]).unwrap();
    /// assert_eq!(run(&p, &[x]).unwrap()[0].data(), [5.0, 2.0]);
    /// # Ok::<(), crease_core::BuildError>(())
    /// ```
    pub fn lppool(&mut self, x: Atom, size: &[usize], how: &Sliding, p: u32) -> Result<Atom, BuildError> {
        self.pool("lppool", x, size, how, |b, windows, _, _| b.lp_norm(windows, p))
    }

    /// The p-th root of the sum of p-th powers of absolute values along the last axis. From p = 3 on it is a power with infinite slope at 0.
    ///
    /// ```
    /// use crease_core::{Builder, Shape, Tensor, run};
    /// let mut b = Builder::new("f");
    /// let x = b.input("x", Shape::vector(3)?)?;
    /// let y = [1, 2, 3].map(|p| b.lp_norm(x, p).unwrap());
    /// let p = b.finish(&y)?;
    /// let y = run(&p, &[Tensor::vector(vec![2.0, -2.0, 1.0]).unwrap()]).unwrap();
    /// assert_eq!((y[0].data(), y[1].data()), (&[5.0][..], &[3.0][..]));
    /// assert!((y[2].data()[0] - 17.0_f64.cbrt()).abs() < 1e-14);
    /// # Ok::<(), crease_core::BuildError>(())
    /// ```
    pub fn lp_norm(&mut self, x: Atom, p: u32) -> Result<Atom, BuildError> {
        match p {
            0 => refuse("lp_norm", "p is at least 1"),
            1 => self.push1(Op::Kink(Kink::Norm1(Lane::Axis)), &[x]),
            2 => self.push1(Op::Kink(Kink::Norm2(Lane::Axis)), &[x]),
            _ => {
                let Ok(k) = i32::try_from(p) else { return refuse("lp_norm", "p is too large") };
                let sizes = self.abs(x)?;
                let powers = self.power(sizes, k)?;
                let Some(last) = self.shape_of(x)?.rank().checked_sub(1) else {
                    return refuse("lp_norm", "it needs an axis");
                };
                let total = self.sum(powers, &[last])?;
                self.power_of(total, &Rational::from(i64::from(p)).inv().unwrap_or_default())
            }
        }
    }

    /// Applies an operation to the windows of an image: it is given windows whose last axis holds what they see, how many that are, and how many with padding.
    fn pool(
        &mut self,
        op: &str,
        x: Atom,
        size: &[usize],
        how: &Sliding,
        each: impl Fn(&mut Builder, Atom, usize, usize) -> Result<Atom, BuildError>,
    ) -> Result<Atom, BuildError> {
        let shape = self.shape_of(x)?;
        let axes = how.axes(op)?;
        let fail = |why: String| refuse(op, format!("{why}; the window is {size:?} on shape {shape}"));
        if size.len() != axes {
            return fail(format!("it moves along {axes} axes"));
        }
        let Some(first) = shape.rank().checked_sub(axes) else {
            return fail(format!("the image needs {axes} axes"));
        };
        if size.iter().any(|&s| s == 0 || s > MAX_ELEMENTS) {
            return fail("sizes are from 1 to 2^27".into());
        }
        let along = how.fit(op, &shape.dims()[first..], size)?;
        let to = Shape::new([&shape.dims()[..first], &along.iter().map(|a| a.positions).collect::<Vec<_>>()].concat())?;
        // positions of the window that see equally many elements along each axis go together
        let cut = along.iter().map(Along::stretches).collect::<Result<Vec<_>, _>>();
        let cut = cut.map_err(|e| match e {
            BuildError::Op(OpError::Parameter { why, .. }) => OpError::Parameter { op: op.into(), why }.into(),
            other => other,
        })?;
        if cut.iter().map(Vec::len).fold(1usize, usize::saturating_mul) > PARTS {
            return fail(format!("the border cuts windows in more than {PARTS} ways"));
        }
        let (from, into) = (shape.strides(), to.strides());
        let planes = product(shape.dims()[..first].iter().copied());
        let plane = |shape: &Shape| shape.dims()[first..].iter().product::<usize>() as isize;
        let (planes_from, planes_into) = ((planes, plane(&shape)), (planes, plane(&to)));
        let mut parts: Vec<(Atom, Layout)> = Vec::new();
        let mut choice = vec![0usize; axes];
        loop {
            let chosen: Vec<Stretch> = choice.iter().zip(&cut).map(|(&i, s)| s[i]).collect();
            let (mut loops, mut places) = (vec![planes_from], vec![planes_into]);
            let (mut offset, mut place) = (0, 0);
            for (i, s) in chosen.iter().enumerate() {
                loops.push((s.count, step(along[i].stride, s.count) * from[first + i]));
                places.push((s.count, into[first + i]));
                offset += s.from * from[first + i] as usize;
                place += s.first * into[first + i] as usize;
            }
            let gaps = chosen.iter().zip(&along).zip(&from[first..]);
            loops.extend(gaps.map(|((s, a), stride)| (s.seen, step(a.dilation, s.seen) * stride)));
            let all = |f: fn(&Stretch) -> usize| product(chosen.iter().map(f));
            let (seen, padded) = (all(|s| s.seen), all(|s| s.padded));
            let windows = Shape::new([planes, all(|s| s.count), seen])?;
            let windows = self.view(x, Layout::strided(offset, &loops), windows)?;
            let values = each(self, windows, seen, padded)?;
            parts.push((values, Layout::strided(place, &places)));
            // the next choice, as digits count
            let Some(i) = (0..axes).rev().find(|&i| choice[i] + 1 < cut[i].len()) else { break };
            choice[i] += 1;
            choice[i + 1..].fill(0);
        }
        match parts[..] {
            [(all, _)] => self.reshape(all, &to),
            _ => self.assemble(to, parts),
        }
    }

    /// Zeros around the last axes.
    fn framed(&mut self, x: Atom, along: &[Along]) -> Result<Atom, BuildError> {
        if along.iter().all(|a| a.pads == (0, 0)) {
            return Ok(x);
        }
        let shape = self.shape_of(x)?;
        let first = shape.rank() - along.len();
        let mut dims = shape.dims().to_vec();
        for (d, a) in dims[first..].iter_mut().zip(along) {
            *d = a.padded();
        }
        let to = Shape::new(dims)?;
        let strides = to.strides();
        let offset = along.iter().zip(&strides[first..]).map(|(a, &s)| a.pads.0 * s as usize).sum();
        let loops: Vec<_> = shape.dims().iter().copied().zip(strides.iter().copied()).collect();
        self.assemble(to, vec![(x, Layout::strided(offset, &loops))])
    }

    /// Two-dimensional convolution (correlation, as networks use it) of images `[.., C, H, W]` with kernels `[O, C, h, w]`.
    pub fn conv2d(&mut self, x: Atom, kernel: Atom, how: Conv2d) -> Result<Atom, BuildError> {
        let pair = |p: (usize, usize)| [p.0, p.1];
        self.conv(x, kernel, &Sliding::new(2).strides(pair(how.stride)).pads(pair(how.padding)), 1)
    }

    /// Two-dimensional max-pooling over the last two axes. Padding never wins: a window that hangs over the border is the
    /// maximum of what lies inside.
    pub fn maxpool2d(&mut self, x: Atom, window: Window) -> Result<Atom, BuildError> {
        let pair = |p: (usize, usize)| [p.0, p.1];
        let how = Sliding::new(2).strides(pair(window.stride)).pads(pair(window.padding));
        self.maxpool(x, &pair(window.size), &how)
    }
}

/// The step between so many positions. To a single one there is none, and what was given for it may be any number.
fn step(stride: usize, positions: usize) -> isize {
    if positions == 1 { 0 } else { stride as isize }
}

fn product(dims: impl IntoIterator<Item = usize>) -> usize {
    dims.into_iter().fold(1, usize::saturating_mul)
}

fn refuse<T>(op: &str, why: impl Into<String>) -> Result<T, BuildError> {
    Err(OpError::Parameter { op: op.into(), why: why.into() }.into())
}
