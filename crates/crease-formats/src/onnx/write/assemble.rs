//! Adding into zeros through index maps: sums, concatenation, padding, and what is left over as a scatter.

use super::axes::{Axis, Plan, Walk};
use super::error::WriteError;
use super::nodes::{Nodes, Tensor, With};
use crease_core::Layout;

/// The most copies that loops which meet are added up from, and the most pieces that are padded and added.
const FEW: usize = 64;

impl Nodes {
    /// The sum of all pieces, each put to its place.
    pub fn assemble(&mut self, args: &[Tensor], pieces: &[Layout], to: &[usize]) -> Result<Tensor, WriteError> {
        let total: usize = to.iter().product();
        // a constant stands for as many as its piece has
        let args: Vec<Tensor> = args
            .iter()
            .zip(pieces)
            .map(|(a, l)| if a.len() == l.len() { Ok(a.clone()) } else { self.expand(a, &[l.len()]) })
            .collect::<Result<_, _>>()?;
        if args.is_empty() {
            return self.zeros(to);
        }
        if let Some(joined) = self.one_after_the_other(&args, pieces, to)? {
            return Ok(joined);
        }
        let plans: Option<Vec<Plan>> = match args.len() <= FEW {
            true => pieces.iter().map(|l| Plan::new(l, to).filter(is_small)).collect(),
            false => None,
        };
        if let Some(plans) = plans {
            let mut parts = Vec::new();
            for ((a, l), plan) in args.iter().zip(pieces).zip(&plans) {
                parts.push(if l.is_identity(total) { self.reshape(a, to)? } else { self.put(a, plan, to)? });
            }
            return Ok(self.sum(&parts));
        }
        let flat = args.iter().map(|a| self.flat(a)).collect::<Result<Vec<_>, _>>()?;
        let updates = self.concat(&flat, 0);
        let places: Vec<usize> = pieces.iter().flat_map(Layout::iter).collect();
        let places = self.list(&places)?;
        let zeros = self.zeros(&[total])?;
        let with = vec![With::Int("axis", 0), With::Word("reduction", "add")];
        let sum = self.node("ScatterElements", &[&zeros, &places, &updates], with, &[total]);
        self.reshape(&sum, to)
    }

    /// Several tensors of one shape added up.
    pub fn sum(&mut self, parts: &[Tensor]) -> Tensor {
        match parts {
            [one] => one.clone(),
            [a, b] => self.binary("Add", a, b),
            all => {
                let args: Vec<&Tensor> = all.iter().collect();
                self.node("Sum", &args, vec![], &all[0].dims)
            }
        }
    }

    /// Pieces that lie side by side along an axis, with zeros between them; nothing if they do not.
    fn one_after_the_other(
        &mut self,
        args: &[Tensor],
        pieces: &[Layout],
        to: &[usize],
    ) -> Result<Option<Tensor>, WriteError> {
        if args.len() < 2 {
            return Ok(None);
        }
        // as they lie, whatever the shape, or along one of its axes
        let total: usize = to.iter().product();
        let Some((sizes, axis, ranges)) = [vec![total], to.to_vec()].into_iter().find_map(|sizes| {
            let (axis, ranges) = side_by_side(pieces, &sizes)?;
            Some((sizes, axis, ranges))
        }) else {
            return Ok(None);
        };
        let mut order: Vec<usize> = (0..args.len()).collect();
        order.sort_by_key(|&i| ranges[i].0);
        let (mut parts, mut at) = (Vec::new(), 0);
        let mut dims = sizes.clone();
        for i in order {
            let (start, size) = ranges[i];
            if start > at {
                dims[axis] = start - at;
                parts.push(self.zeros(&dims)?);
            }
            dims[axis] = size;
            parts.push(self.reshape(&args[i], &dims)?);
            at = start + size;
        }
        if at < sizes[axis] {
            dims[axis] = sizes[axis] - at;
            parts.push(self.zeros(&dims)?);
        }
        let joined = self.concat(&parts, axis);
        self.reshape(&joined, to).map(Some)
    }

    /// One piece in its place among zeros.
    fn put(&mut self, a: &Tensor, plan: &Plan, to: &[usize]) -> Result<Tensor, WriteError> {
        let mut t = self.reshape(a, &plan.loops)?;
        // loops that stand still meet in one place
        let still = plan.still();
        let summed: Vec<usize> = (0..still.len()).filter(|&i| still[i]).collect();
        t = self.reduce("ReduceSum", &t, &summed, false)?;
        let moving: Vec<usize> = (0..still.len()).filter(|&i| !still[i]).collect();
        // the loops of each axis side by side, the longest step first
        let walks: Vec<Vec<Walk>> = plan.axes.iter().map(sorted).collect();
        let order: Vec<usize> =
            walks.iter().flatten().map(|w| moving.iter().position(|&m| m == w.number).unwrap_or_default()).collect();
        t = self.transpose(&t, &order);
        let mut pads = Vec::new();
        for (i, (axis, walks)) in plan.axes.iter().zip(&walks).enumerate() {
            // axes before this one are done, each a single one; those behind are still loops
            let (spread, first) = self.merged(&t, i, axis, walks)?;
            pads.push((first, axis.size - first - spread.dims[i]));
            t = spread;
        }
        t = self.pad(&t, &pads)?;
        self.reshape(&t, to)
    }

    /// The loops of one axis, which are the axes from `at` on, as one axis, and the position that its first element has.
    fn merged(&mut self, t: &Tensor, at: usize, axis: &Axis, walks: &[Walk]) -> Result<(Tensor, usize), WriteError> {
        let (before, behind) = (t.dims[..at].to_vec(), t.dims[at + walks.len()..].to_vec());
        let whole = |n: usize| [&before[..], &[n], &behind[..]].concat();
        let size: usize = walks.iter().map(|w| w.size).product();
        if axis.blocks().is_some() {
            return Ok((self.reshape(t, &whole(size))?, axis.start));
        }
        // the longest loop stays, the others are added up, copy by copy
        let long = (0..walks.len()).max_by_key(|&k| walks[k].size).unwrap_or_default();
        let kept = walks[long];
        let mut order: Vec<usize> = (0..at).collect();
        order.extend((0..walks.len()).filter(|&k| k != long).map(|k| at + k));
        order.push(at + long);
        order.extend(at + walks.len()..t.rank());
        let t = self.transpose(t, &order);
        let copies = size / kept.size;
        let dims = [&before[..], &[copies, kept.size], &behind[..]].concat();
        let t = self.reshape(&t, &dims)?;
        let others = Axis {
            walks: walks.iter().enumerate().filter(|(k, _)| *k != long).map(|(_, w)| *w).collect(),
            ..axis.clone()
        };
        let firsts: Vec<isize> = others.positions().into_iter().map(|p| p as isize).collect();
        // a loop that goes backward begins at its other end
        let reach = (kept.size as isize - 1) * kept.step;
        let lowest = firsts.iter().min().copied().unwrap_or_default() + reach.min(0);
        let highest = firsts.iter().max().copied().unwrap_or_default() + reach.max(0);
        let width = (highest - lowest + 1) as usize;
        let mut sum = Vec::new();
        for (k, first) in firsts.iter().enumerate() {
            let mut ranges: Vec<(usize, usize, isize)> = dims.iter().map(|&d| (0, d, 1)).collect();
            ranges[at] = (k, 1, 1);
            if kept.step < 0 {
                ranges[at + 1] = (kept.size - 1, kept.size, -1);
            }
            let copy = self.slice(&t, &ranges)?;
            let copy = self.reshape(&copy, &whole(kept.size))?;
            let copy = self.apart(&copy, at, kept.step.unsigned_abs())?;
            let from = (first + reach.min(0) - lowest) as usize;
            let mut pads = vec![(0, 0); copy.rank()];
            pads[at] = (from, width - from - copy.dims[at]);
            sum.push(self.pad(&copy, &pads)?);
        }
        Ok((self.sum(&sum), lowest as usize))
    }

    /// Zeros between the elements of an axis, so that they are that far apart.
    fn apart(&mut self, t: &Tensor, axis: usize, step: usize) -> Result<Tensor, WriteError> {
        let n = t.dims[axis];
        if step == 1 || n == 1 {
            return Ok(t.clone());
        }
        let mut dims = t.dims.clone();
        dims.insert(axis + 1, 1);
        let wide = self.reshape(t, &dims)?;
        let mut pads = vec![(0, 0); dims.len()];
        pads[axis + 1] = (0, step - 1);
        let wide = self.pad(&wide, &pads)?;
        let mut dims = t.dims.clone();
        dims[axis] = n * step;
        let wide = self.reshape(&wide, &dims)?;
        let mut ranges: Vec<(usize, usize, isize)> = dims.iter().map(|&d| (0, d, 1)).collect();
        ranges[axis].1 = (n - 1) * step + 1;
        self.slice(&wide, &ranges)
    }
}

fn sorted(axis: &Axis) -> Vec<Walk> {
    let mut walks = axis.walks.clone();
    walks.sort_by_key(|w| std::cmp::Reverse(w.step));
    walks
}

/// Whether loops that meet on an axis are few enough to be added up copy by copy.
fn is_small(plan: &Plan) -> bool {
    plan.axes.iter().all(|a| {
        let all: usize = a.walks.iter().map(|w| w.size).product();
        let longest = a.walks.iter().map(|w| w.size).max().unwrap_or(1);
        a.blocks().is_some() || all / longest <= FEW
    })
}

/// If every piece fills all axes but one, and a range of that one which no other has: the axis and the ranges, first position and size.
fn side_by_side(pieces: &[Layout], sizes: &[usize]) -> Option<(usize, Vec<(usize, usize)>)> {
    let rank = sizes.len();
    let mut inner = vec![1usize; rank];
    for i in (1..rank).rev() {
        inner[i - 1] = inner[i] * sizes[i];
    }
    (0..rank).find_map(|axis| {
        let outer: usize = sizes[..axis].iter().product();
        let mut ranges = Vec::with_capacity(pieces.len());
        for layout in pieces {
            let Layout::Strided { offset, .. } = layout else { return None };
            let size = layout.len().checked_div(outer * inner[axis])?;
            let start = offset / inner[axis];
            let block = (sizes[axis] * inner[axis]) as isize;
            let same = Layout::strided(start * inner[axis], &[(outer, block), (size * inner[axis], 1)]);
            if size == 0 || start + size > sizes[axis] || same != *layout {
                return None;
            }
            ranges.push((start, size));
        }
        let mut sorted = ranges.clone();
        sorted.sort_unstable();
        sorted.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0).then_some((axis, ranges))
    })
}
