//! Where each number is: in a machine register for as long as it is near, else in a slot of the arena.
//!
//! An equation reads what one of the last [`NEAR`] equations of the same piece of code made from a machine register, all
//! else from memory, so that a register allocator has little to decide and nothing to spill. Only what is read from memory is
//! written there, and a slot is free again after its last reader: the arena of a long program is as small as what is alive.

use super::Placing;
use crate::flat::{Flat, Operand};
use crate::unit::{LaneOp, Unit};

/// So many equations become one function. Compilers take more than linear time for long functions, and hardly gain from them.
pub(super) const PIECE: usize = 256;
/// How many equations a number stays in a register.
const NEAR: usize = 10;
/// Maxima of more numbers are computed by a call.
const FEW: usize = 16;
/// The arena begins with so many ones, for the masks of [`emit`](super::emit), then a zero that gathers what is not finite.
pub(super) const ONES: usize = 4;
const FIRST: usize = ONES + 1;
/// Where the sum of zeros is that tells whether all was finite.
pub(super) const ODD: usize = ONES;

const NEVER: u32 = u32::MAX;
const FOREVER: u32 = u32::MAX - 1;

/// The arena, and what is checked.
pub(super) struct Plan {
    /// The slot of each value, or [`NEVER`].
    slots: Vec<u32>,
    /// The equation that makes each value; [`NEVER`] for inputs and for what calls leave in the arena.
    definitions: Vec<u32>,
    consts: usize,
    pub arena: usize,
    /// The longest group of numbers that a call takes or gives.
    pub longest: usize,
    /// Values that would not be missed if they were not finite: each makes another one so.
    covered: Vec<bool>,
}

/// Whether an operation is done by a call that finds its arguments in the arena.
pub(super) fn is_call<T>(placing: &Placing<T>, arity: usize) -> bool {
    match placing {
        Placing::Units(_) => false,
        Placing::Lane(LaneOp::Max | LaneOp::Min, _) => arity > FEW,
        Placing::Lane(..) | Placing::Move(_) => true,
    }
}

impl Plan {
    pub fn new<T>(f: &Flat, placings: &[Placing<T>]) -> Plan {
        let mut definitions = vec![NEVER; f.values()];
        let mut last = vec![NEVER; f.values()];
        let mut covered = vec![false; f.values()];
        let mut longest = 0;
        for (i, e) in f.eqs.iter().enumerate() {
            let (args, placing) = (f.args(e), &placings[e.op as usize]);
            let call = is_call(placing, args.len());
            if call {
                longest = longest.max(args.len()).max(e.results as usize);
            }
            for v in args.iter().filter_map(|a| a.value()) {
                if call || far(definitions[v], i) {
                    last[v] = i as u32;
                }
            }
            if let Placing::Units(parts) = placing {
                for (unit, at) in parts {
                    let passed = passes_on(unit).iter().filter_map(|&k| args.get(at[k])?.value());
                    passed.for_each(|v| covered[v] = true);
                }
            }
            if !call {
                definitions[e.first as usize..][..e.results as usize].fill(i as u32);
            }
        }
        f.outputs.iter().chain(&f.truths).filter_map(|o| o.value()).for_each(|v| last[v] = FOREVER);

        let mut slots = vec![NEVER; f.values()];
        let first = FIRST + f.consts.len();
        slots[..f.inputs].iter_mut().zip(first as u32..).for_each(|(slot, s)| *slot = s);
        let mut arena = (first + f.inputs) as u32;
        let mut free = Vec::new();
        for (i, e) in f.eqs.iter().enumerate() {
            let (args, results) = (f.args(e), e.first as usize..(e.first + e.results) as usize);
            let call = is_call(&placings[e.op as usize], args.len());
            for v in results.clone() {
                if last[v] != NEVER || call {
                    slots[v] = free.pop().unwrap_or_else(|| {
                        arena += 1;
                        arena - 1
                    });
                }
            }
            // a call writes all its results, wanted or not
            free.extend(results.filter(|&v| call && last[v] == NEVER).map(|v| slots[v]));
            for v in args.iter().filter_map(|a| a.value()) {
                if v >= f.inputs && last[v] == i as u32 {
                    free.push(slots[v]);
                    // an argument may occur twice
                    last[v] = FOREVER;
                }
            }
        }
        Plan { slots, definitions, consts: f.consts.len(), arena: arena as usize, longest, covered }
    }

    /// The slot of a constant.
    pub fn constant(&self, c: u32) -> u32 {
        FIRST as u32 + c
    }

    /// The first slot of the inputs.
    pub fn inputs(&self) -> usize {
        FIRST + self.consts
    }

    /// The slot of an operand that has one.
    pub fn slot(&self, a: Operand) -> Option<u32> {
        match a {
            Operand::Const(c) => Some(self.constant(c)),
            Operand::Value(v) => Some(self.slots[v as usize]).filter(|&s| s != NEVER),
        }
    }

    /// Whether equation `i` finds a value in a machine register.
    pub fn is_near(&self, v: u32, i: usize) -> bool {
        !far(self.definitions[v as usize], i)
    }

    /// Whether it must be asked if a value is finite.
    pub fn must_check(&self, v: u32) -> bool {
        !self.covered[v as usize]
    }
}

fn far(definition: u32, i: usize) -> bool {
    let d = definition as usize;
    definition == NEVER || d / PIECE != i / PIECE || i - d > NEAR
}

/// The arguments of which one that is not finite makes the result not finite.
fn passes_on<T>(unit: &Unit<T>) -> &'static [usize] {
    match unit {
        Unit::Add | Unit::Sub | Unit::Mul => &[0, 1],
        Unit::Div | Unit::Neg | Unit::Copy | Unit::Abs => &[0],
        Unit::Smooth(f) if f.facts().shows_infinity => &[0],
        _ => &[],
    }
}
