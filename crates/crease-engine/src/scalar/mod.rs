//! Scalar programs: thousands to millions of equations, each on a few numbers.
//!
//! A flat scalar program enters; [`Code`] leaves. Equations are sorted by their depth, and those of one depth and one
//! operation become one *group*: a loop over tables of register numbers whose results lie side by side. Registers are
//! numbered in the order of execution. What is left over in small numbers becomes bytecode, one instruction for each. So
//! regular programs run at the speed of loops, irregular ones at that of an interpreter of bytecode, and both give, bit for bit,
//! what the reference interpreter gives: only the order in which independent equations are carried out differs.
//!
//! [`forward`](self) computes values, at one point or at [`LANES`] points at once, which then lie side by side in each register.
//! [`reverse`](self) computes gradients without a derived program: adjoints travel backward through the same groups, a block of
//! zero adjoints is skipped, and what a kink selects is looked up only where an adjoint arrives. A gradient of a minimum of many
//! maxima costs hardly more than its value. Adjoints are added up in the order of the groups, which is not the order of
//! the derived program; so this is for [`Agreement::Rounding`](crate::Agreement::Rounding) alone.

mod build;
pub(crate) mod estimate;
mod forward;
mod lanes;
pub(crate) mod looks;
mod reverse;

pub(crate) use build::build;

use crate::executable::{Executable, Inputs};
use crate::float::{Float, all_finite, all_truths};
use crate::unit::{LaneOp, Move, Pick, Unit};
use std::ops::Range;
use std::sync::Arc;

/// So many points are run at once in a batch.
pub(crate) const LANES: usize = 8;

/// A scalar program as code.
pub(crate) struct Code<T> {
    /// The numbers that registers from 0 on hold; inputs come after them.
    consts: Vec<T>,
    inputs: usize,
    registers: usize,
    groups: Vec<Group<T>>,
    singles: Vec<Single<T>>,
    /// register numbers of arguments
    table: Vec<u32>,
    /// For each output, the registers of its elements.
    outputs: Vec<Vec<u32>>,
    /// The longest lane.
    longest: usize,
    /// Registers in which something that is not finite shows first: see [`looks`].
    looked: Vec<Range<usize>>,
    /// Registers that must turn out to hold truth values.
    truths: Vec<u32>,
}

/// Equations of one operation and one depth.
#[derive(Clone, Copy, Debug)]
struct Group<T> {
    what: What<T>,
    count: u32,
    /// The first register of the results: all first results, then all second ones.
    first: u32,
    /// Where in the table the first arguments stand, all second ones after them, and so on.
    args: u32,
    pick: Pick<T>,
}

#[derive(Clone, Copy, Debug)]
enum What<T> {
    /// Arguments through the table.
    Unit(Unit<T>),
    /// Arguments side by side in registers from these on.
    Runs(Unit<T>, [u32; 3]),
    /// The operation, the length of the lane, whether weights follow, whether (of a single lane) the registers are
    /// consecutive.
    Lane(LaneOp, u32, bool, bool),
    /// On a lane of so many numbers, so many positions after it, with so many results.
    Move(Move, [u32; 3]),
    /// Instructions from this number on.
    Singles(u32),
}

/// What the results of a group of units are computed by, and where their arguments are.
#[derive(Clone, Copy)]
enum Results<'a, T> {
    /// One operation, with all first arguments, then all second ones, and so on.
    Table(Unit<T>, &'a [u32]),
    /// One operation, with arguments side by side from these on.
    Runs(Unit<T>, [u32; 3]),
    /// Operations of their own, of which one may need the result of another.
    Singles(&'a [Single<T>]),
}

impl<T: Float> Results<'_, T> {
    /// The operation of result number `i`, what it picks at its kink, and its arguments.
    #[inline(always)]
    fn of(self, i: usize, g: &Group<T>) -> (Unit<T>, T, [u32; 3]) {
        match self {
            Results::Table(unit, table) => {
                let place = |k: usize| table.get(k * g.count as usize + i).copied().unwrap_or(0);
                (unit, g.pick.at, [0, 1, 2].map(place))
            }
            Results::Runs(unit, starts) => (unit, g.pick.at, starts.map(|s| s + i as u32)),
            Results::Singles(singles) => (singles[i].unit, singles[i].at, singles[i].args),
        }
    }
}

/// An instruction of the bytecode.
#[derive(Clone, Copy, Debug)]
struct Single<T> {
    unit: Unit<T>,
    args: [u32; 3],
    at: T,
}

/// The memory of a run, at one point or at several.
pub(crate) struct Memory<T> {
    registers: Vec<T>,
    adjoints: Vec<T>,
    space: Vec<T>,
    results: Vec<T>,
    positions: Vec<u32>,
    /// Whether all that is taken for a position is one.
    placed: bool,
}

impl<T> Memory<T> {
    pub fn bytes(&self) -> usize {
        let numbers = [&self.registers, &self.adjoints, &self.space, &self.results];
        numbers.iter().map(|v| size_of_val(&v[..])).sum::<usize>() + size_of_val(&self.positions[..])
    }
}

impl<T: Float> Code<T> {
    /// What a group of units computes.
    #[inline(always)]
    fn results(&self, g: &Group<T>) -> Option<Results<'_, T>> {
        match g.what {
            What::Unit(unit) => {
                let table = &self.table[g.args as usize..][..unit.arity() * g.count as usize];
                Some(Results::Table(unit, table))
            }
            What::Runs(unit, starts) => Some(Results::Runs(unit, starts)),
            What::Singles(from) => Some(Results::Singles(&self.singles[from as usize..][..g.count as usize])),
            What::Lane(..) | What::Move(..) => None,
        }
    }

    /// The number of instructions and groups, for explanations.
    pub fn sizes(&self) -> (usize, usize, usize) {
        let grouped = self.groups.iter().filter(|g| !matches!(g.what, What::Singles(_)));
        (grouped.clone().count(), grouped.map(|g| g.count as usize).sum(), self.singles.len())
    }

    /// How many numbers a memory holds.
    fn numbers(&self, lanes: usize, reverse: bool) -> usize {
        let tables = if reverse { 2 * lanes } else { lanes };
        self.registers.saturating_mul(tables).saturating_add(6 * self.longest + 1)
    }

    fn memory(&self, lanes: usize, reverse: bool) -> Memory<T> {
        let mut registers = vec![T::ZERO; self.registers * lanes];
        for (to, &c) in registers.chunks_exact_mut(lanes).zip(&self.consts) {
            to.fill(c);
        }
        Memory {
            registers,
            adjoints: if reverse { vec![T::ZERO; self.registers * lanes] } else { Vec::new() },
            space: vec![T::ZERO; 3 * self.longest],
            results: vec![T::ZERO; 2 * self.longest + 1],
            positions: vec![0; self.longest],
            placed: true,
        }
    }

    /// Loads point number `point` of inputs that each hold several points, into one lane.
    fn load<const L: usize>(&self, m: &mut Memory<T>, inputs: Inputs<'_, T>, point: usize, lane: usize) {
        let mut r = self.consts.len();
        for input in inputs.at(point) {
            let len = input.len();
            if let (1, [x]) = (L, input) {
                // many inputs are single numbers, which are sooner written than copied
                m.registers[r] = *x;
            } else if L == 1 {
                m.registers[r..r + len].copy_from_slice(input);
            } else {
                for (k, &x) in input.iter().enumerate() {
                    m.registers[(r + k) * L + lane] = x;
                }
            }
            r += len;
        }
    }

    /// Whether memory was made for this code and so many points: what unchecked accesses rely on, beside the tables, which
    /// [`build`] has gone through.
    fn fits(&self, m: &Memory<T>, lanes: usize, reverse: bool) -> bool {
        let numbers = self.registers * lanes;
        m.registers.len() == numbers && (!reverse || m.adjoints.len() == numbers)
    }

    /// Whether all that is not an argument of something that would show it is finite.
    fn finite<const L: usize>(&self, m: &Memory<T>) -> bool {
        self.looked.iter().all(|r| all_finite(&m.registers[r.start * L..r.end * L]))
    }

    /// Whether all that is taken for a truth value, or for a position, is one.
    fn true_or_false<const L: usize>(&self, m: &Memory<T>) -> bool {
        m.placed && self.truths.iter().all(|&r| all_truths(&m.registers[r as usize * L..][..L]))
    }

    /// Runs at up to `L` points from number `from` on; false if something was not finite and that was asked, or
    /// no truth value where one must be.
    fn run<const L: usize>(
        &self,
        m: &mut Memory<T>,
        points: Range<usize>,
        inputs: Inputs<'_, T>,
        outputs: &mut [&mut [T]],
        checked: bool,
    ) -> bool {
        assert!(self.fits(m, L, false), "memory of other code");
        for lane in 0..L {
            // lanes left over repeat the last point
            self.load::<L>(m, inputs, (points.start + lane).min(points.end - 1), lane);
        }
        forward::run::<T, L>(self, m);
        for (registers, out) in self.outputs.iter().zip(outputs) {
            for (lane, point) in points.clone().enumerate() {
                let out = &mut out[point * registers.len()..][..registers.len()];
                for (o, &r) in out.iter_mut().zip(registers) {
                    *o = m.registers[r as usize * L + lane];
                }
            }
        }
        (!checked || self.finite::<L>(m)) && self.true_or_false::<L>(m)
    }

    /// As [`Code::run`] with the gradient of the one output behind the value: one slice for each of the inputs `wrt`. False if
    /// something was not finite, in whatever arithmetic: the sweep leaves out products with zero, which are 0 only of what is.
    fn run_reverse<const L: usize>(
        &self,
        m: &mut Memory<T>,
        points: Range<usize>,
        inputs: Inputs<'_, T>,
        (outputs, wrt): (&mut [&mut [T]], &[usize]),
    ) -> bool {
        assert!(self.fits(m, L, true), "memory of other code");
        for lane in 0..L {
            self.load::<L>(m, inputs, (points.start + lane).min(points.end - 1), lane);
        }
        forward::run::<T, L>(self, m);
        let (value, gradients) = outputs.split_at_mut(1);
        let output = self.outputs[0][0] as usize;
        for (lane, point) in points.clone().enumerate() {
            value[0][point] = m.registers[output * L + lane];
        }
        m.adjoints[output * L..][..L].fill(T::ONE);
        reverse::run::<T, L>(self, m);
        let lens = inputs.lens();
        let (mut first, mut input) = (self.consts.len(), 0);
        for (&i, out) in wrt.iter().zip(gradients.iter_mut()) {
            // inputs mostly come in their order
            if i < input {
                (first, input) = (self.consts.len(), 0);
            }
            first += lens[input..i].iter().sum::<usize>();
            input = i;
            for (lane, point) in points.clone().enumerate() {
                let out = &mut out[point * lens[i]..][..lens[i]];
                if let (1, [o]) = (L, &mut *out) {
                    *o = m.adjoints[first];
                } else if L == 1 {
                    out.copy_from_slice(&m.adjoints[first..][..lens[i]]);
                } else {
                    for (k, o) in out.iter_mut().enumerate() {
                        *o = m.adjoints[(first + k) * L + lane];
                    }
                }
            }
        }
        let inputs = self.consts.len() * L..(self.consts.len() + self.inputs) * L;
        let fine = all_finite(&m.adjoints[inputs]) && self.finite::<L>(m) && self.true_or_false::<L>(m);
        // adjoints are zero between runs: groups have cleared theirs
        m.adjoints[..(self.consts.len() + self.inputs) * L].fill(T::ZERO);
        fine
    }
}

/// The values of a scalar program, at up to `L` points at once. In checked arithmetic they count only if everything was finite.
pub(crate) struct Values<T, const L: usize> {
    pub code: Arc<Code<T>>,
    pub checked: bool,
}

impl<T: Float, const L: usize> Executable<T> for Values<T, L> {
    type Memory = Memory<T>;

    fn memory(&self) -> Memory<T> {
        self.code.memory(L, false)
    }

    fn numbers(&self) -> usize {
        self.code.numbers(L, false)
    }

    fn bytes(memory: &Memory<T>) -> usize {
        memory.bytes()
    }

    fn together(&self, points: usize) -> usize {
        filled::<L>(points)
    }

    fn run(&self, m: &mut Memory<T>, points: Range<usize>, inputs: Inputs<'_, T>, outputs: &mut [&mut [T]]) -> bool {
        self.code.run::<L>(m, points, inputs, outputs, self.checked)
    }
}

/// The value of a scalar program, run forward, and its derivatives by some inputs, run backward, at up to `L` points at once.
pub(crate) struct Gradient<T, const L: usize> {
    pub code: Arc<Code<T>>,
    pub wrt: Arc<[usize]>,
}

impl<T: Float, const L: usize> Executable<T> for Gradient<T, L> {
    type Memory = Memory<T>;

    fn memory(&self) -> Memory<T> {
        self.code.memory(L, true)
    }

    fn numbers(&self) -> usize {
        self.code.numbers(L, true)
    }

    fn bytes(memory: &Memory<T>) -> usize {
        memory.bytes()
    }

    fn together(&self, points: usize) -> usize {
        filled::<L>(points)
    }

    fn run(&self, m: &mut Memory<T>, points: Range<usize>, inputs: Inputs<'_, T>, outputs: &mut [&mut [T]]) -> bool {
        self.code.run_reverse::<L>(m, points, inputs, (outputs, &self.wrt))
    }
}

/// All lanes if points fill half of them, else one.
fn filled<const L: usize>(points: usize) -> usize {
    if points >= L / 2 { L } else { 1 }
}
