//! An index map as loops over the axes of a tensor: what can be written as slices and transpositions instead of a table of indices.
//!
//! The loops of a [`Layout`] and the shape of what they read enter; a [`Plan`] leaves, if there is one: the elements as a tensor of some
//! axes, and on each axis the loops that walk along it. A loop that walks on into the next axis is taken apart there. Axes are those of the
//! shape, or, where it was flattened before, those that the strides of the loops suggest. Whatever has no such plan (a table, a diagonal) is left to
//! a gather.

use crease_core::Layout;

/// A loop on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walk {
    /// Which loop of the plan.
    pub number: usize,
    /// How many steps.
    pub size: usize,
    /// How far each goes along the axis.
    pub step: isize,
}

/// An axis, and what walks along it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// How many positions it has.
    pub size: usize,
    /// The position at which all walks begin.
    pub start: usize,
    /// The loops, outermost first.
    pub walks: Vec<Walk>,
}

/// A map as walks along axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The axes of what is read.
    pub axes: Vec<Axis>,
    /// The sizes of all loops, outermost first; those of no axis stand still.
    pub loops: Vec<usize>,
}

impl Plan {
    /// The plan for reading a tensor of this shape through a layout that fits it, if there is one.
    pub fn new(layout: &Layout, shape: &[usize]) -> Option<Plan> {
        let Layout::Strided { offset, dims } = layout else { return None };
        let loops: Vec<(usize, isize)> = dims.iter().map(|d| (d.size, d.stride)).collect();
        let total: usize = shape.iter().product();
        let of_shape: Vec<usize> = shape.iter().copied().filter(|&d| d > 1).collect();
        // what a loop steps over, and where it ends
        let mut steps: Vec<usize> = loops
            .iter()
            .flat_map(|&(n, s)| [s.unsigned_abs(), s.unsigned_abs().saturating_mul(n)])
            .filter(|&s| s > 1)
            .collect();
        let of_loops = chain(total, &steps);
        let mut at = total;
        steps.extend(of_shape.iter().map(|d| {
            at /= d;
            at
        }));
        let of_both = chain(total, &steps);
        [of_shape, of_loops, of_both].into_iter().find_map(|sizes| Plan::along(*offset, &loops, &sizes))
    }

    /// The loops on axes of these sizes, all longer than 1.
    pub fn along(offset: usize, loops: &[(usize, isize)], sizes: &[usize]) -> Option<Plan> {
        let mut inner = vec![1usize; sizes.len()];
        for i in (1..sizes.len()).rev() {
            inner[i - 1] = inner[i] * sizes[i];
        }
        let start = |i: usize| offset / inner[i] % sizes[i];
        let mut axes: Vec<Axis> =
            (0..sizes.len()).map(|i| Axis { size: sizes[i], start: start(i), walks: Vec::new() }).collect();
        let mut plan = Vec::new();
        for &(size, stride) in loops {
            if stride == 0 {
                plan.push(size);
                continue;
            }
            // innermost first
            let mut parts: Vec<(usize, usize, isize)> = Vec::new();
            let (mut size, mut stride) = (size, stride);
            loop {
                let far = stride.unsigned_abs();
                let axis = (0..sizes.len()).find(|&i| inner[i] <= far && far.is_multiple_of(inner[i]))?;
                let step = far / inner[axis];
                if step >= sizes[axis] {
                    return None;
                }
                let signed = if stride < 0 { -(step as isize) } else { step as isize };
                if (size - 1) * step < sizes[axis] {
                    parts.push((axis, size, signed));
                    break;
                }
                let here = sizes[axis] / step;
                if !sizes[axis].is_multiple_of(step) || !size.is_multiple_of(here) || here == size {
                    return None;
                }
                parts.push((axis, here, signed));
                size /= here;
                stride *= here as isize;
            }
            for (axis, size, step) in parts.into_iter().rev() {
                axes[axis].walks.push(Walk { number: plan.len(), size, step });
                plan.push(size);
            }
        }
        let inside = |a: &Axis| {
            let reach = |w: &Walk| (w.size as isize - 1) * w.step;
            let low: isize = a.walks.iter().map(|w| reach(w).min(0)).sum();
            let high: isize = a.walks.iter().map(|w| reach(w).max(0)).sum();
            a.start as isize + low >= 0 && a.start as isize + high < a.size as isize
        };
        axes.iter().all(inside).then_some(Plan { axes, loops: plan })
    }

    /// For each loop, whether it stands still.
    pub fn still(&self) -> Vec<bool> {
        let mut still = vec![true; self.loops.len()];
        self.axes.iter().flat_map(|a| &a.walks).for_each(|w| still[w.number] = false);
        still
    }
}

impl Axis {
    /// The positions in the order in which the loops meet them.
    pub fn positions(&self) -> Vec<usize> {
        let mut all = vec![self.start as isize];
        for w in &self.walks {
            all = all.iter().flat_map(|&p| (0..w.size as isize).map(move |i| p + i * w.step)).collect();
        }
        all.into_iter().map(|p| p as usize).collect()
    }

    /// The walks from the longest step to the shortest, if together they meet neighbouring positions, each once.
    pub fn blocks(&self) -> Option<Vec<Walk>> {
        let mut sorted = self.walks.clone();
        sorted.sort_by_key(|w| std::cmp::Reverse(w.step));
        let mut inner = 1;
        for w in sorted.iter().rev() {
            if w.step != inner {
                return None;
            }
            inner *= w.size as isize;
        }
        Some(sorted)
    }
}

/// Axes whose strides are among these numbers, each a multiple of the next.
fn chain(total: usize, steps: &[usize]) -> Vec<usize> {
    let mut sorted = steps.to_vec();
    sorted.sort_unstable_by_key(|&s| std::cmp::Reverse(s));
    sorted.dedup();
    let (mut sizes, mut last) = (Vec::new(), total);
    for s in sorted {
        if s < last && last.is_multiple_of(s) {
            sizes.push(last / s);
            last = s;
        }
    }
    if last > 1 {
        sizes.push(last);
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flat indices that a plan meets, in order.
    fn met(plan: &Plan) -> Vec<usize> {
        let mut strides = vec![0isize; plan.loops.len()];
        let (mut inner, mut first) = (1, 0);
        for a in plan.axes.iter().rev() {
            first += a.start * inner;
            a.walks.iter().for_each(|w| strides[w.number] = w.step * inner as isize);
            inner *= a.size;
        }
        let loops: Vec<_> = plan.loops.iter().copied().zip(strides).collect();
        Layout::strided(first, &loops).iter().collect()
    }

    fn check(layout: &Layout, shape: &[usize]) -> Option<Plan> {
        let plan = Plan::new(layout, shape)?;
        assert!(layout.iter().eq(met(&plan)), "{layout:?} of {shape:?}: {plan:?}");
        Some(plan)
    }

    #[test]
    fn plans_read_what_their_maps_read() {
        let mut seed = 7u64;
        let mut below = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        let (mut found, mut all) = (0, 0);
        for _ in 0..20_000 {
            let shape: Vec<usize> = (0..below(4)).map(|_| 1 + below(5) as usize).collect();
            let total: usize = shape.iter().product();
            let loops: Vec<(usize, isize)> = (0..below(5))
                .map(|_| (1 + below(5) as usize, [0, 1, 2, 3, 4, 5, 6, 8, 12, 20, -1, -2, -4][below(13) as usize]))
                .collect();
            let layout = Layout::strided(below(total as u64) as usize, &loops);
            if layout.fits(total) {
                all += 1;
                found += usize::from(check(&layout, &shape).is_some());
            }
        }
        assert!(all > 3000 && found > all / 2, "{found} of {all}");
    }

    #[test]
    fn common_structure_has_a_plan() {
        // a transpose, windows of a convolution over [2, 6, 7], pooling of odd images, a slice with steps, backwards, spread out
        type Case = (usize, &'static [(usize, isize)], &'static [usize]);
        let loops: [Case; 6] = [
            (0, &[(3, 1), (2, 3)], &[2, 3]),
            (0, &[(4, 7), (5, 1), (2, 42), (3, 7), (3, 1)], &[2, 6, 7]),
            (0, &[(2, 25), (2, 10), (2, 2), (2, 5), (2, 1)], &[2, 5, 5]),
            (1, &[(3, 7), (3, 2)], &[3, 7]),
            (20, &[(21, -1)], &[3, 7]),
            (0, &[(5, 0), (21, 1)], &[3, 7]),
        ];
        for (offset, loops, shape) in loops {
            assert!(check(&Layout::strided(offset, loops), shape).is_some(), "{loops:?}");
        }
    }
}
