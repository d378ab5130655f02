//! Operations on lanes that lie side by side in a buffer: which kernel takes which buffers.
//!
//! A long lane is worked on in parts, of a size that does not depend on the number of threads, by whoever is free. Parts leave a number each, which
//! are taken together in order, so that results do not depend on the number of threads either; weights that need the
//! value of the whole lane take another round.

use super::block::Spaces;
use super::lower::Buf;
use super::memory::Pointers;
use crate::crew::{Shared, Team};
use crate::float::{Float, all_finite};
use crate::isa::dispatch;
use crate::kernel::dots::Dots;
use crate::kernel::lane::{self, Extreme};
use crate::kernel::{across, lanes, order};
use crate::unit::{LaneOp, Pick};
use crease_core::Ties;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// So many numbers are one part of a lane: few enough to stay near while they are looked at a second time.
const PART: usize = 1 << 13;
/// Rows and columns of a matrix in one part of a largest entry: rows that go by together, and the least of each that is worth to begin with.
const ROWS: usize = 48;
const COLUMNS: usize = 1 << 10;
/// So many numbers are one part of it: enough along each row for fetching ahead to be worth its beginning.
const NUMBERS: usize = 1 << 16;

/// An operation on lanes of `n` numbers.
#[derive(Debug)]
pub(crate) struct Lanes<T> {
    pub op: LaneOp,
    pub pick: Option<Pick<T>>,
    pub src: Buf,
    pub second: Option<Buf>,
    pub n: usize,
    pub out: Vec<Buf>,
    /// Which of the results anybody reads.
    pub wanted: Vec<bool>,
    /// Whether lanes are worked on in parts.
    pub long: bool,
    /// Whether parts look if their members are finite, while they are near.
    pub look: bool,
}

impl<T: Float> Lanes<T> {
    /// Whether lanes are long enough for parts. Where every bit must be the interpreter's, sums are not taken in parts, and neither are weights of
    /// which zeros have signs.
    pub fn is_long(&self, exact: bool) -> bool {
        match self.op {
            LaneOp::Sort => false,
            LaneOp::MaxLinear(rows) => !exact && rows * self.n >= 2 * PART,
            LaneOp::Max | LaneOp::Min | LaneOp::Order(_) => self.n >= 2 * PART,
            LaneOp::NormInf => (!exact || self.pick.is_none()) && self.n >= 2 * PART,
            LaneOp::Norm1 | LaneOp::Norm2 | LaneOp::SumRelu | LaneOp::LogSumExp => !exact && self.n >= 2 * PART,
        }
    }

    /// Whether values are finite only if all members are.
    pub fn shows(&self) -> bool {
        matches!(self.op, LaneOp::Norm1 | LaneOp::NormInf | LaneOp::Norm2)
    }

    /// Whether parts can look at all members.
    pub fn can_look(&self) -> bool {
        self.long && !matches!(self.op, LaneOp::Order(_))
    }

    /// How many numbers of working space a run needs.
    pub fn space(&self) -> usize {
        match self.op {
            LaneOp::MaxLinear(rows) => 2 * rows,
            LaneOp::LogSumExp if self.long => PART,
            LaneOp::LogSumExp | LaneOp::Order(_) => self.n,
            _ => 0,
        }
    }

    /// How many positions a run needs.
    pub fn positions(&self) -> usize {
        if self.op == LaneOp::Sort { self.n } else { 0 }
    }

    /// How many numbers the parts of a lane leave behind.
    pub fn partial(&self) -> usize {
        match self.op {
            _ if !self.long => 0,
            LaneOp::MaxLinear(rows) => rows * Grid::new(rows, self.n).across(),
            // how many are below, and how many inside of a bracket
            LaneOp::Order(_) => 2 * self.n.div_ceil(PART),
            _ => self.n.div_ceil(PART),
        }
    }

    pub fn run(&self, p: &Pointers<'_, T>, space: &mut [T], positions: &mut [u32], exact: bool) {
        let (src, n) = (p.read(self.src), self.n);
        let values = p.write(self.out[0]);
        match (self.op, self.pick) {
            (LaneOp::MaxLinear(rows), pick) => {
                let x = self.second.map_or(src, |b| p.read(b));
                let wanted = |i: usize| (pick.is_some() && self.wanted[i]).then(|| p.write(self.out[i]));
                values[0] = lanes::max_linear((src, x), rows, pick, exact, space, (wanted(1), wanted(2)));
            }
            (LaneOp::Sort, pick) => {
                for (i, (src, out)) in src.chunks_exact(n).zip(values.chunks_exact_mut(n)).enumerate() {
                    let places = pick.is_some().then(|| &mut p.write(self.out[1])[i * n..][..n]);
                    lanes::sort(src, pick, &mut positions[..n], out, places);
                }
            }
            (op, None) => lanes::values(op, src, n, exact, space, values),
            (op, Some(pick)) => {
                lanes::joint((op, pick), src, n, exact, space, (values, p.write(self.out[1])));
            }
        }
    }

    /// Runs in parts; false if a member is not finite and that is looked at. Each thread has its own part of the working space.
    pub fn run_in_parts(
        &self,
        p: &Pointers<'_, T>,
        (spaces, partial, team): (&Spaces<'_, T>, &Shared<T>, &Team),
    ) -> bool {
        let (values, fine) = (p.write(self.out[0]), AtomicBool::new(true));
        if let LaneOp::MaxLinear(rows) = self.op {
            values[0] = self.max_linear(p, rows, (spaces, partial, team), &fine);
        } else {
            for (i, v) in values.iter_mut().enumerate() {
                *v = Long { lanes: self, p, at: i * self.n, left: partial, fine: &fine }.run(spaces, team);
            }
        }
        fine.into_inner()
    }

    /// Looks at some members, if that is asked.
    fn look(&self, members: &[T], fine: &AtomicBool) {
        if self.look && !all_finite(members) {
            fine.store(false, Ordering::Relaxed);
        }
    }

    /// The largest entry of A x, and the derivatives that are wanted.
    fn max_linear(
        &self,
        p: &Pointers<'_, T>,
        rows: usize,
        (spaces, partial, team): (&Spaces<'_, T>, &Shared<T>, &Team),
        fine: &AtomicBool,
    ) -> T {
        let (a, n, grid) = (p.read(self.src), self.n, Grid::new(rows, self.n));
        let x = self.second.map_or(a, |b| p.read(b));
        team.each(grid.parts(), &|_, k| {
            let (some, columns) = grid.part(k);
            let (at, count) = (some.start * n + columns.start, some.len());
            // SAFETY: each part has sums of its own
            let out = unsafe { partial.part(grid.sums(k)) };
            let row = n as isize;
            dispatch(Dots { matrix: a, at, row, rows: count, x: &x[columns.clone()], out, to: 0, step: 1 });
            some.for_each(|r| self.look(&a[r * n..][columns.clone()], fine));
        });
        // SAFETY: nobody works
        let (found, shares) = unsafe { spaces.of(0) }[..2 * rows].split_at_mut(rows);
        // SAFETY: as above
        let sums = unsafe { partial.part(0..self.partial()) };
        let (first, rest) = sums.split_at(rows);
        found.copy_from_slice(first);
        for part in rest.chunks_exact(rows) {
            found.iter_mut().zip(part).for_each(|(s, &x)| *s += x);
        }
        let value = lane::max(found);
        let Some(pick) = self.pick else { return value };
        lane::shares(found, value, pick.ties, false, shares);
        let shares = &*shares;
        team.each(grid.parts(), &|_, k| {
            let (some, columns) = grid.part(k);
            if self.wanted[1] {
                for r in some.clone() {
                    let out = p.write_some(self.out[1], r * n + columns.start, columns.len());
                    lane::max_linear_row(shares[r], &x[columns.clone()], out);
                }
            }
            if self.wanted[2] && some.start == 0 {
                let out = p.write_some(self.out[2], columns.start, columns.len());
                lane::max_linear_column(shares, (0..rows).map(|r| &a[r * n..][columns.clone()]), out);
            }
        });
        value
    }
}

/// A matrix in parts: so many rows and columns each, but for the last ones.
#[derive(Clone, Copy, Debug)]
struct Grid {
    rows: usize,
    columns: usize,
    part: (usize, usize),
}

impl Grid {
    fn new(rows: usize, columns: usize) -> Grid {
        let together = rows.min(ROWS);
        let least = (NUMBERS / together).next_multiple_of(COLUMNS);
        // many rows of few numbers
        let together = if columns < COLUMNS { (PART / columns.max(1)).max(ROWS) } else { together };
        Grid { rows, columns, part: (together, least) }
    }

    /// How many parts there are side by side.
    fn across(&self) -> usize {
        self.columns.div_ceil(self.part.1)
    }

    fn parts(&self) -> usize {
        self.across() * self.rows.div_ceil(self.part.0)
    }

    /// The rows and columns of a part.
    fn part(&self, k: usize) -> (Range<usize>, Range<usize>) {
        let (down, along) = (k / self.across(), k % self.across());
        let range = |i: usize, each: usize, all: usize| i * each..((i + 1) * each).min(all);
        (range(down, self.part.0, self.rows), range(along, self.part.1, self.columns))
    }

    /// Where the sums of the rows of a part go: those of all rows for the first columns, then for the next ones.
    fn sums(&self, k: usize) -> Range<usize> {
        let (rows, first) = (self.part(k).0, k % self.across() * self.rows);
        first + rows.start..first + rows.end
    }
}

/// One long lane.
struct Long<'a, 'p, T> {
    lanes: &'a Lanes<T>,
    p: &'a Pointers<'p, T>,
    /// Where it begins.
    at: usize,
    /// A number for each part.
    left: &'a Shared<T>,
    /// Whether all members were finite, as far as somebody looked.
    fine: &'a AtomicBool,
}

impl<T: Float> Long<'_, '_, T> {
    fn parts(&self) -> usize {
        self.lanes.n.div_ceil(PART)
    }

    /// How many members a part has.
    fn len(&self, part: usize) -> usize {
        PART.min(self.lanes.n - part * PART)
    }

    fn members(&self, part: usize) -> &[T] {
        self.p.read_some(self.lanes.src, self.at + part * PART, self.len(part))
    }

    fn weights(&self, part: usize) -> &mut [T] {
        self.p.write_some(self.lanes.out[1], self.at + part * PART, self.len(part))
    }

    /// All members.
    fn all(&self) -> &[T] {
        self.p.read_some(self.lanes.src, self.at, self.lanes.n)
    }

    /// Does something for each part, which has a place of work, a number, and a number to leave behind.
    fn each(&self, team: &Team, work: impl Fn(usize, usize, &mut T) + Sync) {
        let left = self.left;
        team.each(self.parts(), &|place, part| {
            // SAFETY: each part has a number of its own
            let left = unsafe { left.part(part..part + 1) };
            work(place, part, &mut left[0]);
        });
    }

    /// What the parts have left.
    fn left(&self) -> &[T] {
        // SAFETY: nobody works when this is asked, and nobody writes while it is read
        unsafe { self.left.part(0..self.parts()) }
    }

    /// The value; weights, if there are any, go to their buffer.
    fn run(&self, spaces: &Spaces<'_, T>, team: &Team) -> T {
        let (op, pick) = (self.lanes.op, self.lanes.pick);
        if let LaneOp::Order(k) = op {
            return self.order(k, spaces, team);
        }
        self.each(team, |_, part, left| {
            *left = lanes::part(op, self.members(part), pick.map(|pick| (pick, self.weights(part))));
            self.lanes.look(self.members(part), self.fine);
        });
        match op {
            LaneOp::Norm2 => {
                let norm = lane::norm2_of(self.all(), lane::sum(self.left(), true));
                if pick.is_some() {
                    self.each(team, |_, part, _| {
                        lane::norm2_weights(self.members(part), norm, self.weights(part));
                    });
                }
                norm
            }
            LaneOp::LogSumExp => {
                let top = lane::max(self.left());
                self.each(team, |place, part, left| {
                    let powers = match pick {
                        Some(_) => self.weights(part),
                        // SAFETY: each thread has a place of its own
                        None => unsafe { &mut spaces.of(place)[..self.len(part)] },
                    };
                    *left = lane::powers(self.members(part), top, powers);
                });
                let total = lane::sum(self.left(), true);
                if pick.is_some() {
                    self.each(team, |_, part, _| lane::divide(self.weights(part), total));
                }
                top + total.library_ln()
            }
            op => match lanes::extreme(op) {
                None => lane::sum(self.left(), true),
                Some(what) => {
                    // what parts have left are sizes already
                    let of = if what == Extreme::NormInf { Extreme::Max } else { what };
                    let value = lane::extreme(self.left(), of);
                    if let Some(pick) = pick {
                        self.share(team, value, pick);
                    }
                    value
                }
            },
        }
    }

    /// The k-th smallest member.
    fn order(&self, k: usize, spaces: &Spaces<'_, T>, team: &Team) -> T {
        self.each(team, |_, part, left| *left = if order::any_nan(self.members(part)) { T::NAN } else { T::ZERO });
        // SAFETY: nobody else works
        let space = unsafe { &mut spaces.of(0)[..self.lanes.n] };
        let value = match self.left().iter().all(|&x| x == T::ZERO) {
            true => order::settled(self.all(), k, self.kth(k, space, team)),
            false => T::NAN,
        };
        if let Some(pick) = self.lanes.pick {
            self.each(team, |_, part, left| {
                self.weights(part).fill(T::ZERO);
                *left = lane::position(self.members(part), value, false).map_or(T::NAN, |_| value);
            });
            self.share(team, value, pick);
        }
        value
    }

    /// The k-th smallest of members that are all numbers; of zeros it may be any.
    fn kth(&self, k: usize, space: &mut [T], team: &Team) -> T {
        let bracketed = order::bracket(self.all(), k, space).and_then(|bracket| {
            let (room, counts) = (Shared::new(space), self.left);
            let count = self.parts();
            self.each(team, |_, part, left| {
                let start = part * PART;
                // SAFETY: each part has room of its own
                let (room, inside) =
                    unsafe { (room.part(start..start + self.len(part)), counts.part(count + part..count + part + 1)) };
                let (below, found) = order::within(self.members(part), bracket, room);
                (*left, inside[0]) = (T::from_usize(below), T::from_usize(found));
            });
            // SAFETY: nobody works
            let counts = unsafe { counts.part(0..2 * count) };
            let number = |x: &T| x.to_f64() as usize;
            let k = k.checked_sub(counts[..count].iter().map(number).sum())?;
            // one after the other, as if there were no parts
            let mut inside = 0;
            for (part, found) in counts[count..].iter().map(number).enumerate() {
                space.copy_within(part * PART..part * PART + found, inside);
                inside += found;
            }
            (k < inside).then(|| order::select(&mut space[..inside], k))
        });
        bracketed.unwrap_or_else(|| {
            space.copy_from_slice(self.all());
            order::select(space, k)
        })
    }

    /// Shares the derivative among the members that equal `value`: they are in parts that have left it. All weights are 0 so far.
    fn share(&self, team: &Team, value: T, pick: Pick<T>) {
        #[allow(clippy::eq_op)] // only NaN differs from itself
        if value != value {
            return self.each(team, |_, part, _| self.weights(part).fill(value));
        }
        let sizes = self.lanes.op == LaneOp::NormInf;
        let signed = |part: usize| {
            if sizes {
                lane::with_signs(self.members(part), pick.at, self.weights(part));
            }
        };
        let left = self.left();
        let first = left.iter().position(|&x| x == value);
        let last = left.iter().rposition(|&x| x == value);
        let alone = match pick.ties {
            Ties::First => first,
            Ties::Last => last,
            Ties::Every | Ties::Average => first.filter(|_| first == last),
        };
        if let Some(part) = alone {
            lane::shares(self.members(part), value, pick.ties, sizes, self.weights(part));
            return signed(part);
        }
        // several parts share it, which is known when all have counted
        let hit = |x: T| (if sizes { x.size() } else { x }) == value;
        self.each(team, |_, part, left| {
            let count = if *left == value { self.members(part).iter().filter(|&&x| hit(x)).count() } else { 0 };
            *left = T::from_usize(count);
        });
        let count: usize = self.left().iter().map(|n| n.to_f64() as usize).sum();
        let share = if pick.ties == Ties::Every { T::ONE } else { T::ONE / T::from_usize(count) };
        self.each(team, |_, part, left| {
            if *left != T::ZERO {
                let members = self.members(part).iter().zip(self.weights(part));
                members.filter(|(x, _)| hit(**x)).for_each(|(_, w)| *w = share);
                signed(part);
            }
        });
    }
}

/// So many exponentials are worth to be handed to another thread.
const LEAST: usize = 1 << 12;

/// Log-sum-exp of each column of a matrix; with weights, which lie as the matrix does, if they are wanted.
#[derive(Debug)]
pub(crate) struct Across {
    pub src: Buf,
    pub values: Buf,
    pub weights: Option<Buf>,
}

impl Across {
    /// Columns in parts, by whichever thread.
    pub fn run<T: Float>(&self, p: &Pointers<'_, T>, team: &Team) {
        let count = p.read(self.values).len();
        let rows = p.read(self.src).len() / count.max(1);
        // so many columns are a part: whole strips, and enough numbers to be worth it
        let part = (LEAST / rows.max(1)).next_multiple_of(across::WIDE).max(across::WIDE);
        team.each(count.div_ceil(part), &|_, k| {
            let end = count.min((k + 1) * part);
            for from in (k * part..end).step_by(across::WIDE) {
                let len = across::WIDE.min(end - from);
                let row = |i: usize| p.read_some(self.src, i * count + from, len);
                let out = self.weights.map(|b| move |i: usize| p.write_some(b, i * count + from, len));
                across::log_sum_exp(rows, row, p.write_some(self.values, from, len), out);
            }
        });
    }
}
