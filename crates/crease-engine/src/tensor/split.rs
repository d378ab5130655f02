//! Steps in parts that run at the same time.
//!
//! A step enters; the same step on parts of its buffers leaves. Parts are ordinary steps: what they read and write are buffers that
//! lie inside of others ([`Place::Part`]), so that kernels know nothing of threads. Each cell of a result is computed by one
//! part, in the order in which the whole step would compute it, so it does not matter how many parts there are. The one exception are the
//! adjoints of kernels, which are sums over images: they are taken in parts of [`IMAGES`] images, whatever the number of threads, and
//! then added up in order.
//!
//! Long lanes have a way of their own ([`lanes`](super::lanes)). Deliberately absent: steps that read all of their buffers for each cell (sorts of one
//! lane).

use super::Step;
use super::assemble::Assembly;
use super::chosen::Chosen;
use super::lanes::Lanes;
use super::lower::Buf;
use super::memory::Place;
use super::pool::{Pool, Unpool};
use super::walk::Walk;
use super::windows::{Conv, Pass, Windows};
use crate::float::Float;
use crate::unit::LaneOp;
use std::ops::Range;

/// Steps of fewer products, or of so few numbers, are not worth it.
const WORK: usize = 1 << 16;
const NUMBERS: usize = 1 << 14;

/// So many parts for each thread: threads do not begin at the same time, and who is done takes the next.
const EACH: usize = 4;

/// The adjoints of kernels are summed over so many images at a time.
const IMAGES: usize = 16;

/// A step in parts.
pub(super) struct Parts<T> {
    pub steps: Vec<Step<T>>,
    /// Where the parts leave sums that are still to be added up, one after the other, if they do.
    pub sums: Vec<Buf>,
}

/// The buffers of a plan, to which parts of them are added.
pub(super) struct Buffers<'p> {
    pub places: &'p mut Vec<(Place, usize)>,
    /// How many numbers of sums there are at most.
    pub partial: &'p mut usize,
}

impl Buffers<'_> {
    fn len(&self, b: Buf) -> usize {
        self.places[b as usize].1
    }

    fn add(&mut self, place: Place, len: usize) -> Buf {
        self.places.push((place, len));
        self.places.len() as Buf - 1
    }

    fn part(&mut self, b: Buf, range: Range<usize>) -> Buf {
        self.add(Place::Part(b, range.start), range.len())
    }
}

/// The step in parts for so many threads, if it is worth it.
pub(super) fn split<T: Float>(step: &Step<T>, threads: usize, all: &mut Buffers<'_>) -> Option<Parts<T>> {
    let steps = match step {
        Step::Conv(conv, Pass::Kernels(out), _) => return kernels(conv, *out, all),
        Step::Chosen(chosen) if chosen.kernels.is_some() => return chosen_in_parts(chosen, IMAGES, all),
        _ if threads <= 1 => return None,
        Step::Product(product, out, stands) => {
            let some = product.parts([threads, EACH * threads], WORK);
            let part = |(range, p): (Range<usize>, super::product::Product)| {
                let b = all.part(*out, range);
                Step::Product(p.into_buffer(b), b, *stands)
            };
            some.into_iter().map(part).collect()
        }
        Step::Conv(conv, pass, _) => convolution(conv, *pass, threads, all)?,
        Step::Chosen(chosen) => {
            let (images, products) = chosen.size();
            return (products >= WORK).then(|| chosen_in_parts(chosen, images.div_ceil(EACH * threads), all)).flatten();
        }
        Step::Pool(pool) => pooling(pool, threads, all)?,
        Step::Unpool(pool) => unpooling(pool, threads, all)?,
        Step::Lanes(lanes) => many_lanes(lanes, threads, all)?,
        Step::Move { .. } => moves(step, threads, all)?,
        Step::Assemble(whole, _) => assembly(whole, threads, all)?,
        _ => return None,
    };
    (steps.len() > 1).then_some(Parts { steps, sums: Vec::new() })
}

/// Ranges of equal size that cover `count`.
fn shares(count: usize, parts: usize) -> Vec<Range<usize>> {
    let each = count.div_ceil(parts.max(1)).max(1);
    (0..count).step_by(each).map(|from| from..(from + each).min(count)).collect()
}

/// Some stretches of rows.
fn some(windows: &Windows, stretches: Range<usize>, below: usize) -> Windows {
    let bases = windows.bases[stretches].iter().map(|b| b - below as u32).collect();
    Windows { bases, ..windows.clone() }
}

/// How many products a pass of a convolution takes, and how many images it has.
fn size(conv: &Conv) -> (usize, usize) {
    let w = &conv.windows;
    let products = w.bases.len().saturating_mul(w.along.size).saturating_mul(w.offsets.len());
    (products.saturating_mul(conv.count), w.bases.len() / conv.stretches.max(1))
}

fn convolution<T: Float>(conv: &Conv, pass: Pass, threads: usize, all: &mut Buffers<'_>) -> Option<Vec<Step<T>>> {
    let (products, images) = size(conv);
    if products < WORK || images < 2 {
        return None;
    }
    let shares = shares(images, EACH * threads);
    let each = conv.count * conv.stretches * conv.windows.along.size;
    let stretches = |r: &Range<usize>| r.start * conv.stretches..r.end * conv.stretches;
    let of = |windows: Windows, values: Buf| Conv { windows, values, ..conv.clone() };
    match pass {
        Pass::Forward => {
            let part = |r: Range<usize>| {
                let values = all.part(conv.values, r.start * each..r.end * each);
                Step::Conv(of(some(&conv.windows, stretches(&r), 0), values), Pass::Forward, values)
            };
            Some(shares.into_iter().map(part).collect())
        }
        Pass::Backward(out) => {
            let groups: Vec<Range<usize>> = shares.iter().map(stretches).collect();
            let cells = regions(&conv.windows, &groups, all.len(out))?;
            let part = |(r, cells): (&Range<usize>, Range<usize>)| {
                let values = all.part(conv.values, r.start * each..r.end * each);
                let windows = some(&conv.windows, stretches(r), cells.start);
                let image = all.part(out, cells);
                Step::Conv(of(windows, values), Pass::Backward(image), image)
            };
            Some(shares.iter().zip(cells).map(part).collect())
        }
        Pass::Kernels(_) => None,
    }
}

/// The adjoint of kernels, summed over some images at a time.
fn kernels<T: Float>(conv: &Conv, out: Buf, all: &mut Buffers<'_>) -> Option<Parts<T>> {
    let (_, images) = size(conv);
    if images < 2 * IMAGES {
        return None;
    }
    let (len, each) = (all.len(out), conv.count * conv.stretches * conv.windows.along.size);
    let mut parts = Parts { steps: Vec::new(), sums: Vec::new() };
    for (i, r) in shares(images, images.div_ceil(IMAGES)).into_iter().enumerate() {
        let values = all.part(conv.values, r.start * each..r.end * each);
        let windows = some(&conv.windows, r.start * conv.stretches..r.end * conv.stretches, 0);
        let sum = all.add(Place::Partial(i * len), len);
        parts.steps.push(Step::Conv(Conv { windows, values, ..conv.clone() }, Pass::Kernels(sum), sum));
        parts.sums.push(sum);
    }
    *all.partial = (*all.partial).max(parts.sums.len() * len);
    Some(parts)
}

/// Adjoints of convolutions behind a maximum, so many images at a time: of both the kernels, whose sums have parts of a fixed size, and the image.
fn chosen_in_parts<T: Float>(whole: &Chosen, images: usize, all: &mut Buffers<'_>) -> Option<Parts<T>> {
    let (count, _) = whole.size();
    if count < 2 * images {
        return None;
    }
    let mut parts = Parts { steps: Vec::new(), sums: Vec::new() };
    let len = whole.kernels.map_or(0, |(_, out)| all.len(out));
    for (i, r) in shares(count, count.div_ceil(images)).into_iter().enumerate() {
        let some = r.start * whole.each()..r.end * whole.each();
        let mut cells = |b: Buf| {
            let cells = whole.cells(&r, all.len(b));
            all.part(b, cells)
        };
        let image = whole.kernels.map(|(image, _)| cells(image));
        let back = whole.image.map(|(kernels, out)| (kernels, cells(out)));
        let chosen = [whole.winners, whole.adjoint, whole.maxima].map(|b| all.part(b, some.clone()));
        let kernels = image.map(|image| {
            let sum = all.add(Place::Partial(i * len), len);
            parts.sums.push(sum);
            (image, sum)
        });
        parts.steps.push(Step::Chosen(whole.part(r, chosen, kernels, back)));
    }
    *all.partial = (*all.partial).max(parts.sums.len() * len);
    Some(parts)
}

/// The cells that groups of stretches write to, if no two groups share one: all cells, cut where each group begins.
fn regions(windows: &Windows, groups: &[Range<usize>], cells: usize) -> Option<Vec<Range<usize>>> {
    let reach = |g: &Range<usize>| -> Option<Range<usize>> {
        let bases = &windows.bases[g.clone()];
        let (low, high) = (*bases.iter().min()? as usize, *bases.iter().max()? as usize);
        let wide = windows.offsets.iter().max().copied().unwrap_or(0) as usize;
        Some(low..high + wide + (windows.along.size - 1) * windows.along.stride as usize + 1)
    };
    let reached: Vec<Range<usize>> = groups.iter().map(reach).collect::<Option<_>>()?;
    apart(&reached, cells)
}

/// All cells, cut where each group of them begins, if no two groups share one.
fn apart(reached: &[Range<usize>], cells: usize) -> Option<Vec<Range<usize>>> {
    if reached.windows(2).any(|w| w[0].end > w[1].start) || reached.last()?.end > cells {
        return None;
    }
    let starts: Vec<usize> = reached.iter().enumerate().map(|(i, r)| if i == 0 { 0 } else { r.start }).collect();
    let ends = starts[1..].iter().copied().chain([cells]);
    Some(starts.iter().zip(ends).map(|(&s, e)| s..e).collect())
}

/// Numbers that are put in their places, as in a border of zeros.
fn assembly<T: Float>(whole: &Assembly<T>, threads: usize, all: &mut Buffers<'_>) -> Option<Vec<Step<T>>> {
    let (out, to) = whole.put_in_order()?;
    let (steps, each) = to.steps()?;
    if steps * each < NUMBERS {
        return None;
    }
    let ranges: Vec<Range<usize>> =
        shares(steps, EACH * threads).into_iter().map(|r| r.start * each..r.end * each).collect();
    let walks: Vec<Walk> = ranges.iter().map(|r| to.part(r.clone())).collect::<Option<_>>()?;
    let reached: Vec<Range<usize>> = walks.iter().map(Walk::reach).collect();
    let cells = apart(&reached, all.len(out))?;
    let mut steps = Vec::with_capacity(ranges.len());
    for ((range, walk), cells) in ranges.into_iter().zip(walks).zip(cells) {
        let to = walk.back(cells.start);
        let out = all.part(out, cells);
        let part = whole.part(range.clone(), to, out, |b| all.part(b, range.clone()))?;
        steps.push(Step::Assemble(part, out));
    }
    Some(steps)
}

fn pooling<T: Float>(pool: &Pool, threads: usize, all: &mut Buffers<'_>) -> Option<Vec<Step<T>>> {
    let rows = pool.windows.along.size;
    if pool.windows.bases.len() * rows * pool.windows.offsets.len() < NUMBERS {
        return None;
    }
    let part = |r: Range<usize>| {
        let range = r.start * rows..r.end * rows;
        let values = all.part(pool.values, range.clone());
        let winners = pool.winners.map(|b| all.part(b, range));
        Step::Pool(Pool { windows: some(&pool.windows, r, 0), values, winners, ..pool.clone() })
    };
    Some(shares(pool.windows.bases.len(), EACH * threads).into_iter().map(part).collect())
}

/// In fewer parts where windows overlap and many would cut between them.
fn unpooling<T: Float>(pool: &Unpool, threads: usize, all: &mut Buffers<'_>) -> Option<Vec<Step<T>>> {
    [EACH * threads, threads].into_iter().find_map(|parts| unpooling_in(pool, parts, all))
}

fn unpooling_in<T: Float>(pool: &Unpool, parts: usize, all: &mut Buffers<'_>) -> Option<Vec<Step<T>>> {
    let rows = pool.windows.along.size;
    if pool.windows.bases.len() * rows * pool.windows.offsets.len() < NUMBERS {
        return None;
    }
    let shares = shares(pool.windows.bases.len(), parts);
    let cells = regions(&pool.windows, &shares, all.len(pool.out))?;
    let mut steps = Vec::with_capacity(shares.len());
    for (r, cells) in shares.into_iter().zip(cells) {
        let range = r.start * rows..r.end * rows;
        let adjoint = match &pool.adjoint {
            (b, None) => (all.part(*b, range.clone()), None),
            (b, Some((layout, walk))) => (*b, Some((layout.clone(), walk.part(range.clone())?))),
        };
        let windows = some(&pool.windows, r, cells.start);
        let (winners, values) = (all.part(pool.winners, range.clone()), all.part(pool.values, range));
        let out = all.part(pool.out, cells);
        steps.push(Step::Unpool(Unpool { windows, winners, values, adjoint, out, ..pool.clone() }));
    }
    Some(steps)
}

fn many_lanes<T: Float>(lanes: &Lanes<T>, threads: usize, all: &mut Buffers<'_>) -> Option<Vec<Step<T>>> {
    let numbers = all.len(lanes.src);
    let count = numbers / lanes.n.max(1);
    if lanes.long
        || matches!(lanes.op, LaneOp::MaxLinear(_))
        || count < 2
        || numbers < NUMBERS
        || lanes.second.is_some()
    {
        return None;
    }
    let part = |r: Range<usize>| {
        let src = all.part(lanes.src, r.start * lanes.n..r.end * lanes.n);
        let mut of = |b: &Buf| {
            let each = all.len(*b) / count;
            all.part(*b, r.start * each..r.end * each)
        };
        let out = lanes.out.iter().map(&mut of).collect();
        let (op, pick, second, n) = (lanes.op, lanes.pick, lanes.second, lanes.n);
        Step::Lanes(Lanes { op, pick, src, second, n, out, wanted: lanes.wanted.clone(), long: false, look: false })
    };
    Some(shares(count, EACH * threads).into_iter().map(part).collect())
}

/// Numbers that are moved about in lanes of their own.
fn moves<T: Float>(step: &Step<T>, threads: usize, all: &mut Buffers<'_>) -> Option<Vec<Step<T>>> {
    let Step::Move { what, src, positions, sizes, out } = step else { return None };
    let [n, m, results] = *sizes;
    let count = all.len(*src) / n.max(1);
    if count < 2 || all.len(*src).max(all.len(*out)) < NUMBERS {
        return None;
    }
    let part = |r: Range<usize>| {
        let mut of = |b: Buf, each: usize| all.part(b, r.start * each..r.end * each);
        let (src, positions, out) = (of(*src, n), positions.map(|b| of(b, m)), of(*out, results));
        Step::Move { what: *what, src, positions, sizes: *sizes, out }
    };
    Some(shares(count, EACH * threads).into_iter().map(part).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crease_core::shape::Dim;

    #[test]
    fn groups_that_write_to_the_same_cells_are_not_taken_apart() {
        let windows =
            |bases: &[u32]| Windows { bases: bases.to_vec(), along: Dim { size: 3, stride: 2 }, offsets: vec![0, 1] };
        // stretches of 6 cells each
        let apart = windows(&[0, 6, 12, 18]);
        assert_eq!(regions(&apart, &[0..2, 2..4], 26), Some(vec![0..12, 12..26]));
        assert_eq!(regions(&apart, &[0..2, 2..4], 20), None);
        let together = windows(&[0, 6, 11, 18]);
        assert_eq!(regions(&together, &[0..2, 2..4], 26), None);
    }

    #[test]
    fn shares_cover_everything() {
        for (count, parts) in [(1, 3), (7, 2), (8, 3), (9, 9), (5, 7)] {
            let all: Vec<usize> = shares(count, parts).into_iter().flatten().collect();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
            assert!(shares(count, parts).len() <= parts);
        }
    }
}
