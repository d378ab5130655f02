//! Convolutions: a product with a view of windows is a `Conv`, and a product that is added up through windows is a `ConvTranspose`.
//!
//! Programs have neither, for windows are a view and the rest is a product of matrices. Windows over an image with zeros around it are a view of an assembly or, in a derivative, which reads where the
//! numbers come from, an assembly of a view, in which the windows have gaps. Runtimes are several times faster with the operators, so the patterns are looked for
//! where the type of the numbers is f32; for f64 runtimes have no kernels, and products of gathered windows are written as they stand.

use super::apply::{Frame, Writing};
use super::axes::{Plan, Walk};
use super::error::WriteError;
use super::nodes::{Nodes, Tensor, With};
use crease_core::{Atom, Layout, Op, Program, Value};
use std::collections::HashMap;

/// One axis along which windows slide.
#[derive(Clone, Copy, Debug)]
struct Slide {
    /// Which axis of the plan.
    axis: usize,
    /// The loop over positions, and the one inside a window.
    outer: Walk,
    inner: Walk,
    /// From the first element of the first window to the last of the last one, the part inside the image: where it begins, how much it is, and how much lies
    /// before and after it.
    start: usize,
    taken: usize,
    pads: (usize, usize),
}

/// An index map between an image and a matrix whose rows are windows, or whose columns are.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    plan: Plan,
    /// Whether windows are the columns of the matrix.
    columns: bool,
    /// Axes that only positions walk along, axes that only windows have, and axes along which windows slide.
    batch: Vec<usize>,
    channels: Vec<usize>,
    slides: Vec<Slide>,
}

impl Windows {
    /// How a matrix of `rows` and so many columns is read from, or added into, a tensor of this shape; nothing if not by sliding windows.
    fn new(layout: &Layout, shape: &[usize], rows: usize, columns: bool) -> Option<Windows> {
        let Layout::Strided { offset, dims } = layout else { return None };
        // a loop that belongs to both axes of the matrix is two
        let (mut loops, mut before, mut edge) = (Vec::new(), 1usize, 0);
        for d in dims {
            let inside = rows.checked_div(before).filter(|&r| r > 1 && r < d.size);
            match inside {
                Some(r) if rows.is_multiple_of(before) && d.size.is_multiple_of(r) => {
                    loops.extend([(r, d.stride * (d.size / r) as isize), (d.size / r, d.stride)]);
                }
                _ => loops.push((d.size, d.stride)),
            }
            before = before.saturating_mul(d.size);
        }
        let sizes: Vec<usize> = shape.iter().copied().filter(|&d| d > 1).collect();
        let plan = Plan::along(*offset, &loops, &sizes)?;
        let mut product = 1;
        while product < rows {
            product *= plan.loops.get(edge)?;
            edge += 1;
        }
        if product != rows || plan.still().contains(&true) {
            return None;
        }
        let starts: Vec<isize> = plan.axes.iter().map(|a| a.start as isize).collect();
        Windows::told_apart(plan, &starts, columns, |w| (w.number >= edge) != columns)
    }

    /// The same of a matrix that holds elements of a tensor and zeros: windows that hang over.
    fn with_gaps(table: &[Option<u32>], shape: &[usize], rows: usize, columns: bool) -> Option<Windows> {
        let width = table.len() / rows;
        let (positions, size) = if columns { (width, rows) } else { (rows, width) };
        let at = |p: usize, k: usize| table[if columns { k * width + p } else { p * width + k }];
        // a window that is inside as a whole, and an element that is inside in all windows
        let first = (0..positions).find(|&p| (0..size).all(|k| at(p, k).is_some()))?;
        let middle = (0..size).find(|&k| (0..positions).all(|p| at(p, k).is_some()))?;
        let sizes: Vec<usize> = shape.iter().copied().filter(|&d| d > 1).collect();
        let plan = |list: Vec<u32>| match Layout::table(list) {
            Layout::Strided { offset, dims } => {
                let loops: Vec<(usize, isize)> = dims.iter().map(|d| (d.size, d.stride)).collect();
                Plan::along(offset, &loops, &sizes)
            }
            Layout::Table(_) => None,
        };
        let outer = plan((0..positions).filter_map(|p| at(p, middle)).collect())?;
        let inner = plan((0..size).filter_map(|k| at(first, k)).collect())?;
        // where an element lies along each axis; windows move all of theirs by the same
        let digits = |mut flat: usize| {
            let mut out = vec![0isize; sizes.len()];
            for i in (0..sizes.len()).rev() {
                out[i] = (flat % sizes[i]) as isize;
                flat /= sizes[i];
            }
            out
        };
        let of = |cell: Option<u32>| digits(cell.unwrap_or(0) as usize);
        let home = of(at(first, middle));
        let moves: Vec<Vec<isize>> = (0..size).map(|k| of(at(first, k))).collect();
        for p in 0..positions {
            let from = of(at(p, middle));
            for (k, moved) in moves.iter().enumerate() {
                let mut flat = Some(0usize);
                for i in 0..sizes.len() {
                    let here = from[i] + moved[i] - home[i];
                    let inside = (0..sizes[i] as isize).contains(&here);
                    flat = flat.filter(|_| inside).map(|f| f * sizes[i] + here as usize);
                }
                if flat.map(|f| f as u32) != at(p, k) {
                    return None;
                }
            }
        }
        let count = outer.loops.len();
        let mut all = outer.clone();
        all.loops.extend(&inner.loops);
        let mut starts = Vec::new();
        for (i, (axis, within)) in all.axes.iter_mut().zip(&inner.axes).enumerate() {
            axis.walks.extend(within.walks.iter().map(|w| Walk { number: w.number + count, ..*w }));
            starts.push(axis.start as isize + within.start as isize - home[i]);
        }
        Windows::told_apart(all, &starts, columns, |w| w.number >= count)
    }

    /// Which axes are those of the batch, of channels, and of windows that slide, given where the first element of the first window lies.
    fn told_apart(plan: Plan, starts: &[isize], columns: bool, in_window: impl Fn(&Walk) -> bool) -> Option<Windows> {
        let (mut batch, mut channels, mut slides) = (Vec::new(), Vec::new(), Vec::new());
        for (i, axis) in plan.axes.iter().enumerate() {
            let all: usize = axis.walks.iter().map(|w| w.size).product();
            let whole = starts[i] == 0 && axis.blocks().is_some() && all == axis.size;
            match &axis.walks[..] {
                [a, b] if in_window(a) != in_window(b) && a.step > 0 && b.step > 0 => {
                    let (outer, inner) = if in_window(a) { (*b, *a) } else { (*a, *b) };
                    let reach = (outer.size - 1) * outer.step as usize + (inner.size - 1) * inner.step as usize + 1;
                    let (start, end) = (starts[i], starts[i] + reach as isize);
                    let pads = ((-start).max(0) as usize, (end - axis.size as isize).max(0) as usize);
                    let taken = reach.checked_sub(pads.0 + pads.1)?;
                    slides.push(Slide { axis: i, outer, inner, start: start.max(0) as usize, taken, pads });
                }
                [one] if whole && in_window(one) => channels.push(i),
                [_] if whole => batch.push(i),
                _ => return None,
            }
        }
        (1..=3).contains(&slides.len()).then_some(Windows { plan, columns, batch, channels, slides })
    }

    fn sizes(&self, axes: &[usize]) -> Vec<usize> {
        axes.iter().map(|&i| self.plan.axes[i].size).collect()
    }

    fn product(&self, axes: &[usize]) -> usize {
        self.sizes(axes).iter().product()
    }

    /// The number of the loop of an axis that has only one.
    fn number(&self, axis: usize) -> usize {
        self.plan.axes[axis].walks[0].number
    }

    fn parameters(&self) -> Vec<With<'static>> {
        let all = |f: fn(&Slide) -> i64| self.slides.iter().map(f).collect::<Vec<_>>();
        let pads = [all(|s| s.pads.0 as i64), all(|s| s.pads.1 as i64)].concat();
        vec![
            With::Ints("pads", pads),
            With::Ints("kernel_shape", all(|s| s.inner.size as i64)),
            With::Ints("strides", all(|s| s.outer.step as i64)),
            With::Ints("dilations", all(|s| s.inner.step as i64)),
        ]
    }
}

/// What is written in another way than equation by equation.
#[derive(Default)]
pub(super) struct Fused {
    /// Products, by their number: which argument is a view of windows, the view's argument, and how.
    pub convolutions: HashMap<usize, (usize, Value, Windows)>,
    /// Products that are added up through windows, by number and piece of the assembly: the number of the product, and how.
    pub transposed: HashMap<(usize, usize), (usize, Windows)>,
}

impl Fused {
    /// The convolutions of a program.
    pub fn of(p: &Program) -> Fused {
        let mut uses = vec![0usize; p.values()];
        let reads = p.equations().flat_map(|e| e.args.iter().copied()).chain(p.outputs().iter().copied());
        reads.filter_map(|a| a.value()).for_each(|v| uses[v.index()] += 1);
        let mut out = Fused::default();
        for (i, e) in p.equations().enumerate() {
            match e.op {
                Op::MatMul { transpose_a, transpose_b } if p.shape(e.first).rank() == 2 => {
                    for (k, contracted) in [(0, usize::from(!transpose_a)), (1, usize::from(*transpose_b))] {
                        let Some(v) = e.args[k].value() else { continue };
                        let rows = p.shape(v).dims()[0];
                        if let Some((image, windows)) = windows_of(p, v, rows, contracted == 0) {
                            out.convolutions.insert(i, (k, image, windows));
                            break;
                        }
                    }
                }
                Op::Assemble { shape, pieces } => {
                    for (k, (a, layout)) in e.args.iter().zip(pieces).enumerate() {
                        let Some(v) = a.value().filter(|v| uses[v.index()] == 1) else { continue };
                        let Some((d, found)) = windows_into(p, &uses, v, layout, shape.dims()) else { continue };
                        if let Some(windows) = found {
                            out.convolutions.remove(&d);
                            out.transposed.insert((i, k), (d, windows));
                        }
                    }
                }
                _ => {}
            }
        }
        out
    }
}

/// The image that a matrix of windows is read from, and how.
fn windows_of(p: &Program, v: Value, rows: usize, columns: bool) -> Option<(Value, Windows)> {
    let e = p.equation(p.definition(v)?);
    match e.op {
        Op::View { layout, .. } => {
            let image = e.args[0].value()?;
            Some((image, Windows::new(layout, p.shape(image).dims(), rows, columns)?))
        }
        Op::Assemble { pieces, shape } => {
            let ([piece], [Atom::Value(part)]) = (&pieces[..], e.args) else { return None };
            let view = p.equation(p.definition(*part)?);
            let (Op::View { layout, .. }, Some(image)) = (view.op, view.args[0].value()) else { return None };
            let mut table = vec![None; shape.len()];
            for (from, to) in layout.iter().zip(piece.iter()) {
                // two that meet are no window
                if table[to].replace(from as u32).is_some() {
                    return None;
                }
            }
            Some((image, Windows::with_gaps(&table, p.shape(image).dims(), rows, columns)?))
        }
        _ => None,
    }
}

/// The product that is added up through windows, read from `v` through a layout, or the part of it that does not hang over, and how.
fn windows_into(
    p: &Program,
    uses: &[usize],
    v: Value,
    into: &Layout,
    to: &[usize],
) -> Option<(usize, Option<Windows>)> {
    let d = p.definition(v)?;
    let e = p.equation(d);
    let is_product =
        |d: usize| matches!(p.equation(d).op, Op::MatMul { .. }) && p.shape(p.equation(d).first).rank() == 2;
    // windows may be the columns, or the rows
    let sides = [false, true].into_iter();
    if is_product(d) {
        let rows = p.shape(v).dims()[0];
        return Some((d, smaller(sides.filter_map(|c| Windows::new(into, to, rows, c)))));
    }
    let (Op::View { layout, .. }, Some(Atom::Value(whole))) = (e.op, e.args.first().copied()) else { return None };
    let d = p.definition(whole).filter(|&d| uses[whole.index()] == 1 && is_product(d))?;
    let mut table = vec![None; p.shape(whole).len()];
    for (from, to) in layout.iter().zip(into.iter()) {
        if table[from].replace(to as u32).is_some() {
            return None;
        }
    }
    let rows = p.shape(whole).dims()[0];
    Some((d, smaller(sides.filter_map(|c| Windows::with_gaps(&table, to, rows, c)))))
}

/// Of the two ways to see a map, the one with the smaller windows.
fn smaller(found: impl Iterator<Item = Windows>) -> Option<Windows> {
    found.min_by_key(|w| w.slides.iter().map(|s| s.inner.size).product::<usize>())
}

impl Writing {
    /// A product with a view of windows.
    pub fn convolution(
        &mut self,
        f: &mut Frame<'_>,
        i: usize,
        which: usize,
        image: Value,
        windows: &Windows,
    ) -> Result<Tensor, WriteError> {
        let e = f.p.equation(i);
        let Op::MatMul { transpose_a, transpose_b } = e.op else { unreachable!("a product") };
        let x = self.numbers(f, image.into())?;
        let kernels = self.numbers(f, e.args[1 - which])?;
        // kernels as [out, window]
        let turned = if which == 0 { !*transpose_b } else { *transpose_a };
        let kernels = if turned { self.nodes.transpose(&kernels, &[1, 0]) } else { kernels };
        let y = self.nodes.convolved(&x, &kernels, windows)?;
        Ok(if which == 0 { y } else { self.nodes.transpose(&y, &[1, 0]) })
    }

    /// A product that is added up through windows, as a tensor of this shape.
    pub fn transposed(
        &mut self,
        f: &mut Frame<'_>,
        product: usize,
        windows: &Windows,
        to: &[usize],
    ) -> Result<Tensor, WriteError> {
        let e = f.p.equation(product);
        let Op::MatMul { transpose_a, transpose_b } = e.op else { unreachable!("a product") };
        let (a, b) = (self.numbers(f, e.args[0])?, self.numbers(f, e.args[1])?);
        // [positions, out] and [out, window]
        let turn = |w: &mut Writing, t: &Tensor, turned: bool| {
            if turned { w.nodes.transpose(t, &[1, 0]) } else { t.clone() }
        };
        let (y, kernels) = match windows.columns {
            false => (turn(self, &a, *transpose_a), turn(self, &b, *transpose_b)),
            true => (turn(self, &b, !*transpose_b), turn(self, &a, !*transpose_a)),
        };
        self.nodes.spread_out(&y, &kernels, windows, to)
    }
}

impl Nodes {
    /// Kernels `[out, window]` as `[out, channels, ...]`.
    fn kernels(&mut self, kernels: &Tensor, w: &Windows) -> Result<Tensor, WriteError> {
        let out = kernels.dims[0];
        let mut numbers: Vec<(usize, usize)> = w.channels.iter().map(|&c| (w.number(c), w.plan.axes[c].size)).collect();
        numbers.extend(w.slides.iter().map(|s| (s.inner.number, s.inner.size)));
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        let apart: Vec<usize> = [out].into_iter().chain(sorted.iter().map(|n| n.1)).collect();
        let t = self.reshape(kernels, &apart)?;
        let place = |n: &(usize, usize)| 1 + sorted.iter().position(|s| s == n).unwrap_or_default();
        let order: Vec<usize> = [0].into_iter().chain(numbers.iter().map(place)).collect();
        let t = self.transpose(&t, &order);
        let mut dims = vec![out, w.product(&w.channels)];
        dims.extend(w.slides.iter().map(|s| s.inner.size));
        self.reshape(&t, &dims)
    }

    /// For the loops over positions, in the order of a convolution (batch, then slides): the sizes in the order of the matrix, and where each stands there.
    fn positions(w: &Windows) -> (Vec<usize>, Vec<usize>) {
        let mut numbers: Vec<(usize, usize)> = w.batch.iter().map(|&c| (w.number(c), w.plan.axes[c].size)).collect();
        numbers.extend(w.slides.iter().map(|s| (s.outer.number, s.outer.size)));
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        let places = numbers.iter().map(|n| sorted.iter().position(|s| s == n).unwrap_or_default()).collect();
        (sorted.into_iter().map(|n| n.1).collect(), places)
    }

    /// Images and kernels `[out, window]` to `[positions, out]`.
    fn convolved(&mut self, x: &Tensor, kernels: &Tensor, w: &Windows) -> Result<Tensor, WriteError> {
        let sizes: Vec<usize> = w.plan.axes.iter().map(|a| a.size).collect();
        let mut t = self.reshape(x, &sizes)?;
        let mut ranges: Vec<(usize, usize, isize)> = sizes.iter().map(|&d| (0, d, 1)).collect();
        w.slides.iter().for_each(|s| ranges[s.axis] = (s.start, s.taken, 1));
        t = self.slice(&t, &ranges)?;
        let slid: Vec<usize> = w.slides.iter().map(|s| s.axis).collect();
        t = self.transpose(&t, &[&w.batch[..], &w.channels, &slid].concat());
        let mut dims = vec![w.product(&w.batch), w.product(&w.channels)];
        dims.extend(w.slides.iter().map(|s| s.taken));
        t = self.reshape(&t, &dims)?;
        let kernels = self.kernels(kernels, w)?;
        let out = kernels.dims[0];
        let steps: Vec<usize> = w.slides.iter().map(|s| s.outer.size).collect();
        let y = self.node("Conv", &[&t, &kernels], w.parameters(), &[&[dims[0], out], &steps[..]].concat());
        // [batch..., out, positions...] to the order of the matrix, out last
        let y = self.reshape(&y, &[&w.sizes(&w.batch)[..], &[out], &steps].concat())?;
        let (sizes, places) = Self::positions(w);
        let at = |k: usize| if k < w.batch.len() { k } else { k + 1 };
        let mut order = vec![0; places.len() + 1];
        places.iter().enumerate().for_each(|(k, &p)| order[p] = at(k));
        order[places.len()] = w.batch.len();
        let y = self.transpose(&y, &order);
        self.reshape(&y, &[sizes.iter().product(), out])
    }

    /// `[positions, out]` and kernels `[out, window]` to the sum of all windows in their places.
    fn spread_out(&mut self, y: &Tensor, kernels: &Tensor, w: &Windows, to: &[usize]) -> Result<Tensor, WriteError> {
        let out = kernels.dims[0];
        let (sizes, places) = Self::positions(w);
        let t = self.reshape(y, &[&sizes[..], &[out]].concat())?;
        let (batch, slid) = places.split_at(w.batch.len());
        let t = self.transpose(&t, &[batch, &[places.len()], slid].concat());
        let steps: Vec<usize> = w.slides.iter().map(|s| s.outer.size).collect();
        let t = self.reshape(&t, &[&[w.product(&w.batch), out], &steps[..]].concat())?;
        let kernels = self.kernels(kernels, w)?;
        let mut dims = vec![w.product(&w.batch), w.product(&w.channels)];
        dims.extend(w.slides.iter().map(|s| s.taken));
        let t = self.node("ConvTranspose", &[&t, &kernels], w.parameters(), &dims);
        let (batch, channels) = (w.sizes(&w.batch), w.sizes(&w.channels));
        let t = self.reshape(&t, &[&batch[..], &channels, &dims[2..]].concat())?;
        let mut pads = vec![(0, 0); batch.len() + channels.len()];
        pads.extend(w.slides.iter().map(|s| (s.start, w.plan.axes[s.axis].size - s.start - s.taken)));
        let t = self.pad(&t, &pads)?;
        let from: Vec<usize> =
            [&w.batch[..], &w.channels].concat().into_iter().chain(w.slides.iter().map(|s| s.axis)).collect();
        let order: Vec<usize> =
            (0..from.len()).map(|i| from.iter().position(|&a| a == i).unwrap_or_default()).collect();
        let t = self.transpose(&t, &order);
        self.reshape(&t, to)
    }
}
