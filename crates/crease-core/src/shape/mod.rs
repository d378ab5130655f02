//! Shapes of values and the index maps between them.
//!
//! A value of a program is a tensor in row-major order; the paper's model is the all-scalar case, rank 0.
//! Everything that only moves numbers about (transpose, reshape, slice, broadcast, gather, concatenation, padding,
//! windows of a convolution) is one [`Layout`]: for each element of the result, the flat index of an element of the
//! source. Reading through a layout is [`Op::View`](crate::Op::View) and costs nothing; its transpose, adding into
//! zeros through layouts, is [`Op::Assemble`](crate::Op::Assemble) and costs one addition whenever two numbers meet in
//! one cell. Those two operations carry all the 0/1 linear structure that a dozen special ones would.

mod layouts;

pub(crate) use layouts::{broadcast_layout, concat_layouts, sum_layout, transpose_layout};

use std::fmt;
use std::sync::Arc;

/// The largest number of elements that one value may have.
pub const MAX_ELEMENTS: usize = 1 << 27;

/// The shape of a value: the sizes of its axes, none for a scalar.
///
/// ```
/// use crease_core::Shape;
/// let s = Shape::new([3, 2]).unwrap();
/// assert_eq!((s.rank(), s.len()), (2, 6));
/// assert_eq!(s.to_string(), "[3, 2]");
/// assert_eq!(Shape::scalar().len(), 1);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Shape(Box<[usize]>);

impl Shape {
    /// The shape of a scalar: rank 0, one element.
    pub fn scalar() -> Self {
        Shape(Box::default())
    }

    /// A shape from the sizes of its axes. Empty axes and more than [`MAX_ELEMENTS`] elements are refused.
    pub fn new(dims: impl Into<Vec<usize>>) -> Result<Self, ShapeError> {
        let dims = dims.into();
        let mut len = 1usize;
        for &d in &dims {
            if d == 0 {
                return Err(ShapeError::EmptyAxis(show(&dims)));
            }
            len = len.checked_mul(d).filter(|&n| n <= MAX_ELEMENTS).ok_or_else(|| ShapeError::TooLarge(show(&dims)))?;
        }
        Ok(Shape(dims.into()))
    }

    /// A vector of `n` elements.
    pub fn vector(n: usize) -> Result<Self, ShapeError> {
        Shape::new([n])
    }

    /// The sizes of the axes.
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The number of elements; 1 for a scalar.
    #[allow(clippy::len_without_is_empty)] // a shape is never empty
    pub fn len(&self) -> usize {
        self.0.iter().product()
    }

    /// Whether this is the shape of a scalar.
    pub fn is_scalar(&self) -> bool {
        self.0.is_empty()
    }

    /// The row-major strides.
    pub fn strides(&self) -> Vec<isize> {
        let mut strides = vec![1isize; self.rank()];
        for i in (1..self.rank()).rev() {
            strides[i - 1] = strides[i] * self.0[i] as isize;
        }
        strides
    }

    /// The same shape with one more axis in front.
    pub fn with_leading(&self, n: usize) -> Result<Self, ShapeError> {
        let mut dims = vec![n];
        dims.extend_from_slice(&self.0);
        Shape::new(dims)
    }

    /// The shape without its last axis, and the size of that axis. A scalar has none.
    pub fn split_last(&self) -> Option<(Shape, usize)> {
        let (&last, rest) = self.0.split_last()?;
        Some((Shape(rest.into()), last))
    }

    /// Resolves an axis that may count from the end, as in `axis=-1`.
    pub fn axis(&self, axis: isize) -> Result<usize, ShapeError> {
        let rank = self.rank() as isize;
        let resolved = if axis < 0 { axis + rank } else { axis };
        if (0..rank).contains(&resolved) {
            Ok(resolved as usize)
        } else {
            Err(ShapeError::NoSuchAxis { axis, shape: self.to_string() })
        }
    }
}

fn show(dims: &[usize]) -> String {
    format!("{dims:?}")
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.dims())
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What is wrong with a shape or an index map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// An axis of size 0.
    #[error("shape {0} has an empty axis; every axis needs at least one element")]
    EmptyAxis(String),
    /// More than [`MAX_ELEMENTS`] elements.
    #[error("shape {0} has more than 2^27 elements, which is more than one value may have")]
    TooLarge(String),
    /// An axis that the shape does not have.
    #[error("there is no axis {axis} in shape {shape}")]
    NoSuchAxis {
        /// The axis asked for.
        axis: isize,
        /// The shape it was asked of.
        shape: String,
    },
}

/// One loop of a strided [`Layout`]: `size` steps, each `stride` elements further in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dim {
    /// How many steps.
    pub size: usize,
    /// How far apart in the source; 0 repeats an element, negative walks backwards.
    pub stride: isize,
}

/// An index map: for the elements of a result in order, the flat index of an element of the source.
///
/// Strided maps are kept in a canonical form (no loop of one step, no two loops that are really one), so that equal maps
/// compare equal.
///
/// ```
/// use crease_core::Layout;
/// // the transpose of a 2 x 3 matrix
/// let t = Layout::strided(0, &[(3, 1), (2, 3)]);
/// assert_eq!(t.iter().collect::<Vec<_>>(), [0, 3, 1, 4, 2, 5]);
/// // reading a 2 x 3 matrix as it lies is the identity whatever the loops
/// assert!(Layout::strided(0, &[(2, 3), (3, 1)]).is_identity(6));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layout {
    /// Nested loops, outermost first.
    Strided {
        /// The source index of the first element.
        offset: usize,
        /// The loops.
        dims: Box<[Dim]>,
    },
    /// Any map, as a table.
    Table(Arc<[u32]>),
}

impl Layout {
    /// The identity on `n` elements.
    pub fn identity(n: usize) -> Self {
        Layout::strided(0, &[(n, 1)])
    }

    /// Nested loops `(size, stride)`, outermost first, from `offset` on.
    pub fn strided(offset: usize, dims: &[(usize, isize)]) -> Self {
        let mut out: Vec<Dim> = Vec::with_capacity(dims.len());
        for &(size, stride) in dims {
            if size == 1 {
                continue;
            }
            match out.last_mut() {
                // (sizes beyond all bounds are refused when the map meets its shape)
                Some(last) if isize::try_from(size).ok().and_then(|n| stride.checked_mul(n)) == Some(last.stride) => {
                    *last = Dim { size: last.size.saturating_mul(size), stride };
                }
                _ => out.push(Dim { size, stride }),
            }
        }
        Layout::Strided { offset, dims: out.into() }
    }

    /// Any map; one that nested loops can walk is recognised as strided.
    pub fn table(indices: impl Into<Arc<[u32]>>) -> Self {
        let t: Arc<[u32]> = indices.into();
        match loops_of(&t) {
            // (an empty table is no map; it is refused when it meets its shape)
            Some(dims) if !t.is_empty() => Layout::strided(t.first().map_or(0, |&i| i as usize), &dims),
            _ => Layout::Table(t),
        }
    }

    /// The number of elements of the result.
    #[allow(clippy::len_without_is_empty)] // a layout is never empty
    pub fn len(&self) -> usize {
        match self {
            Layout::Strided { dims, .. } => dims.iter().fold(1, |n, d| n.saturating_mul(d.size)),
            Layout::Table(t) => t.len(),
        }
    }

    /// The source indices in order.
    pub fn iter(&self) -> Indices<'_> {
        match self {
            Layout::Strided { offset, dims } => {
                Indices { layout: self, at: *offset as isize, counters: vec![0; dims.len()], left: self.len() }
            }
            Layout::Table(t) => Indices { layout: self, at: 0, counters: Vec::new(), left: t.len() },
        }
    }

    /// Whether this reads `n` elements just as they lie.
    pub fn is_identity(&self, n: usize) -> bool {
        match self {
            Layout::Strided { offset: 0, dims } => match dims[..] {
                [] => n == 1,
                [Dim { size, stride: 1 }] => size == n,
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether there are source indices, no more of them than a value may have elements, and every one is below `n`.
    pub fn fits(&self, n: usize) -> bool {
        if !(1..=MAX_ELEMENTS).contains(&self.len()) {
            return false;
        }
        match self {
            Layout::Strided { offset, dims } => {
                let (mut low, mut high) = (*offset as i128, *offset as i128);
                for d in dims {
                    let reach = (d.size as i128 - 1) * d.stride as i128;
                    if reach < 0 { low += reach } else { high += reach }
                }
                low >= 0 && high < n as i128
            }
            Layout::Table(t) => t.iter().all(|&i| (i as usize) < n),
        }
    }

    /// The same map applied to each of `batch` sources of `source` elements that lie one after the other.
    pub fn batched(&self, batch: usize, source: usize) -> Self {
        match self {
            Layout::Strided { offset, dims } => {
                let mut all = vec![(batch, source as isize)];
                all.extend(dims.iter().map(|d| (d.size, d.stride)));
                Layout::strided(*offset, &all)
            }
            Layout::Table(t) => Layout::table(
                (0..batch).flat_map(|b| t.iter().map(move |&i| i + (b * source) as u32)).collect::<Vec<_>>(),
            ),
        }
    }

    /// This map, read from a source that is itself read through `inner`: one map instead of two.
    pub fn after(&self, inner: &Layout) -> Self {
        if let (Layout::Strided { offset, dims }, Layout::Strided { offset: from, dims: inner_dims }) = (self, inner) {
            if let [] | [_] = inner_dims[..] {
                let step = inner_dims.first().map_or(0, |d| d.stride);
                let dims: Vec<_> = dims.iter().map(|d| (d.size, d.stride * step)).collect();
                return Layout::strided((*from as isize + *offset as isize * step) as usize, &dims);
            }
            if let Some(both) = loops_through((*offset, dims), (*from, inner_dims)) {
                return both;
            }
        }
        let source: Vec<usize> = inner.iter().collect();
        Layout::table(self.iter().map(|i| source[i] as u32).collect::<Vec<_>>())
    }

    /// The map back, if every one of the `n` source elements is read exactly once by nested loops.
    pub fn inverse(&self, n: usize) -> Option<Self> {
        let Layout::Strided { offset: 0, dims } = self else { return None };
        // the loops in the order in which they lie in the source, each with its place in the result
        let mut inner = self.len();
        let mut loops: Vec<(Dim, usize)> = Vec::new();
        for d in dims {
            inner /= d.size;
            loops.push((*d, inner));
        }
        loops.sort_by_key(|(d, _)| std::cmp::Reverse(d.stride));
        let mut step = n;
        for (d, _) in &loops {
            step = step.checked_div(d.size)?;
            if d.stride != step as isize {
                return None;
            }
        }
        let back: Vec<(usize, isize)> = loops.iter().map(|(d, place)| (d.size, *place as isize)).collect();
        (self.len() == n).then(|| Layout::strided(0, &back))
    }

    /// Whether no source index occurs twice.
    pub fn is_injective(&self) -> bool {
        if let Layout::Strided { dims, .. } = self {
            // loops that each step over all that the loops inside them reach
            let mut sorted: Vec<_> = dims.iter().map(|d| (d.stride.unsigned_abs(), d.size)).collect();
            sorted.sort_unstable();
            let mut reach = 1;
            if sorted.iter().all(|&(stride, size)| {
                let apart = stride >= reach;
                reach = stride * size;
                apart
            }) {
                return true;
            }
        }
        let mut seen: Vec<usize> = self.iter().collect();
        seen.sort_unstable();
        seen.windows(2).all(|w| w[0] != w[1])
    }
}

/// Nested loops read through nested loops, without a look at the single elements, which may be many millions.
///
/// An index is the sum of one counter of each inner loop times what lies inside that loop, as digits are of a number. An outer
/// step adds to some of these digits. As long as no digit overflows when all outer loops are at their ends, there is no
/// carry, and the sum of digits times strides is linear in the outer counters. A loop that walks on into the next digit is
/// taken apart there. Backward loops, and whatever else does not fit, are left to a table.
fn loops_through((offset, outer): (usize, &[Dim]), (from, inner): (usize, &[Dim])) -> Option<Layout> {
    let digit =
        |index: usize, j: usize| index / inner[j + 1..].iter().map(|d| d.size).product::<usize>() % inner[j].size;
    let total: usize = inner.iter().map(|d| d.size).product();
    let mut room: Vec<usize> = (0..inner.len()).map(|j| inner[j].size - 1 - digit(offset, j)).collect();
    let mut start = from as isize;
    for (j, d) in inner.iter().enumerate() {
        start += digit(offset, j) as isize * d.stride;
    }
    let mut loops: Vec<(usize, isize)> = Vec::new();
    for d in outer {
        let (mut size, mut step) = (d.size, usize::try_from(d.stride).ok()?);
        // innermost first
        let mut parts: Vec<(usize, isize)> = Vec::new();
        while size > 1 {
            if step >= total {
                return None;
            }
            let digits: Vec<usize> = (0..inner.len()).map(|j| digit(step, j)).collect();
            if digits.iter().zip(&room).all(|(&q, &r)| q * (size - 1) <= r) {
                room.iter_mut().zip(&digits).for_each(|(r, &q)| *r -= q * (size - 1));
                parts.push((size, digits.iter().zip(inner).map(|(&q, d)| q as isize * d.stride).sum()));
                break;
            }
            let j = digits.iter().position(|&q| q > 0)?;
            let q = digits[j];
            let steps = inner[j].size / q;
            let whole = inner[j].size.is_multiple_of(q) && size.is_multiple_of(steps) && q * (steps - 1) <= room[j];
            if !whole || digits[j + 1..].iter().any(|&q| q > 0) {
                return None;
            }
            room[j] -= q * (steps - 1);
            parts.push((steps, q as isize * inner[j].stride));
            (size, step) = (size / steps, step * steps);
        }
        loops.extend(parts.into_iter().rev());
    }
    Some(Layout::strided(usize::try_from(start).ok()?, &loops))
}

/// The loops, outermost first, that walk through a table, if there are any.
fn loops_of(t: &[u32]) -> Option<Vec<(usize, isize)>> {
    let mut dims = Vec::new();
    let mut heads: Vec<i64> = t.iter().map(|&i| i64::from(i)).collect();
    while heads.len() > 1 {
        let step = heads[1] - heads[0];
        let run = heads.windows(2).take_while(|w| w[1] - w[0] == step).count() + 1;
        let even =
            heads.len().is_multiple_of(run) && heads.chunks(run).all(|c| c.windows(2).all(|w| w[1] - w[0] == step));
        if !even {
            return None;
        }
        dims.insert(0, (run, step as isize));
        heads = heads.iter().step_by(run).copied().collect();
    }
    Some(dims)
}

/// The iterator of [`Layout::iter`].
pub struct Indices<'a> {
    layout: &'a Layout,
    at: isize,
    counters: Vec<usize>,
    left: usize,
}

impl Iterator for Indices<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        match self.layout {
            Layout::Table(t) => Some(t[t.len() - 1 - self.left] as usize),
            Layout::Strided { dims, .. } => {
                let here = self.at;
                for (counter, dim) in self.counters.iter_mut().zip(dims.iter()).rev() {
                    *counter += 1;
                    self.at += dim.stride;
                    if *counter < dim.size {
                        break;
                    }
                    self.at -= dim.stride * dim.size as isize;
                    *counter = 0;
                }
                Some(here as usize)
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Indices<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_that_are_one_loop_are_merged() {
        assert_eq!(Layout::strided(0, &[(2, 3), (1, 7), (3, 1)]), Layout::identity(6));
        assert_eq!(Layout::table(vec![1, 3, 5]), Layout::strided(1, &[(3, 2)]));
    }

    #[test]
    fn composition_reads_through_both() {
        let transpose = Layout::strided(0, &[(3, 1), (2, 3)]);
        let back = Layout::strided(0, &[(2, 1), (3, 2)]);
        assert!(back.after(&transpose).iter().eq(0..6));
        let row = Layout::strided(2, &[(2, 1)]);
        assert_eq!(row.after(&transpose).iter().collect::<Vec<_>>(), [1, 4]);
    }

    #[test]
    fn loops_through_loops_are_what_a_table_says() {
        let mut rng = crate::random::SplitMix64::new(4);
        let (mut direct, mut all) = (0, 0);
        for _ in 0..20_000 {
            let mut loops = |reach: usize| {
                let count = 1 + rng.below(4) as usize;
                let dims: Vec<(usize, isize)> = (0..count)
                    .map(|_| {
                        let stride = [0, 1, 2, 3, 4, 6, 8, 12, 24, -1, -4][rng.below(11) as usize];
                        (1 + rng.below(6) as usize, stride)
                    })
                    .collect();
                Layout::strided(rng.below(reach as u64) as usize, &dims)
            };
            let (inner, outer) = (loops(100), loops(9));
            if !inner.fits(1 << 20) || !outer.fits(inner.len()) {
                continue;
            }
            let source: Vec<usize> = inner.iter().collect();
            let table = Layout::table(outer.iter().map(|i| source[i] as u32).collect::<Vec<_>>());
            assert_eq!(outer.after(&inner), table, "{outer:?} after {inner:?}");
            all += 1;
            if let (Layout::Strided { offset, dims }, Layout::Strided { offset: from, dims: within }) = (&outer, &inner)
            {
                direct += usize::from(loops_through((*offset, dims), (*from, within)).is_some());
            }
        }
        assert!(direct > all / 3 && all > 1000, "{direct} of {all}");
    }

    #[test]
    fn a_transpose_has_an_inverse_and_a_slice_has_none() {
        let transpose = Layout::strided(0, &[(4, 1), (2, 12), (3, 4)]);
        let back = transpose.inverse(24).unwrap();
        assert!(back.after(&transpose).is_identity(24) || back.after(&transpose).iter().eq(0..24));
        assert_eq!(Layout::strided(0, &[(2, 1)]).inverse(3), None);
        assert_eq!(Layout::strided(0, &[(2, 2)]).inverse(2), None);
        assert_eq!(Layout::identity(5).inverse(5), Some(Layout::identity(5)));
    }

    #[test]
    fn injectivity_sees_overlapping_windows() {
        assert!(Layout::strided(0, &[(3, 1), (2, 3)]).is_injective());
        assert!(!Layout::strided(0, &[(3, 1), (2, 1)]).is_injective());
        assert!(!Layout::strided(0, &[(3, 0)]).is_injective());
        assert!(Layout::strided(5, &[(3, -1)]).is_injective());
    }

    #[test]
    fn bounds_hold_backwards_too() {
        assert!(Layout::strided(5, &[(3, -2)]).fits(6));
        assert!(!Layout::strided(3, &[(3, -2)]).fits(6));
    }
}
