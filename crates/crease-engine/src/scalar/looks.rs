//! Which registers must be looked at to know that all of them are finite.
//!
//! What is not finite comes in with an input, or from an operation that makes it of finite numbers: an overflow, a pole. Where
//! such a result is an argument of a sum or a product, that is not finite either. So it is enough to look at the inputs and at
//! results of such operations that no sum or product takes up: a fraction of all registers, and in programs made of maxima hardly
//! more than the inputs.

use super::{Code, What};
use crate::float::Float;
use crate::unit::{LaneOp, Move, Unit};
use std::ops::Range;

/// Stretches with so few registers in between are looked at in one go.
const GAP: usize = 32;

/// The registers to look at, in ascending stretches.
pub(super) fn looks<T: Float>(code: &Code<T>) -> Vec<Range<usize>> {
    let mut must = vec![false; code.registers];
    let inputs = code.consts.len()..code.consts.len() + code.inputs;
    must[inputs.clone()].fill(true);
    let mut covered = vec![false; code.registers];
    for g in &code.groups {
        let (first, count) = (g.first as usize, g.count as usize);
        match g.what {
            What::Unit(unit) => {
                must[first..first + count].fill(makes(&unit));
                for &k in shows(&unit) {
                    let args = &code.table[g.args as usize + k * count..][..count];
                    args.iter().for_each(|&r| covered[r as usize] = true);
                }
            }
            What::Runs(unit, starts) => {
                must[first..first + count].fill(makes(&unit));
                for &k in shows(&unit) {
                    covered[starts[k] as usize..][..count].fill(true);
                }
            }
            What::Singles(from) => {
                for (i, s) in code.singles[from as usize..][..count].iter().enumerate() {
                    must[first + i] = makes(&s.unit);
                    shows(&s.unit).iter().for_each(|&k| covered[s.args[k] as usize] = true);
                }
            }
            // weights are slopes, shares and arguments
            What::Lane(op, ..) => must[first..first + count].fill(lane_makes(op)),
            What::Move(what, [_, _, results]) => {
                must[first..first + count * results as usize].fill(what == Move::Add);
            }
        }
    }
    let mut out: Vec<Range<usize>> = Vec::new();
    for r in (0..code.registers).filter(|&r| must[r] && (!covered[r] || inputs.contains(&r))) {
        match out.last_mut() {
            Some(last) if r <= last.end + GAP => last.end = r + 1,
            _ => out.push(r..r + 1),
        }
    }
    out
}

/// Whether an operation may make of finite numbers one that is not.
pub(crate) fn makes<T: Float>(unit: &Unit<T>) -> bool {
    let large = |s: T| s.size() > T::ONE;
    match unit {
        Unit::Add | Unit::Sub | Unit::Mul | Unit::Div | Unit::TimesRelu => true,
        Unit::Smooth(f) => !f.facts().is_total,
        Unit::TimesSlope(s) | Unit::Leaky(s) | Unit::Elu(s) | Unit::EluSlope(s, _) => large(*s),
        Unit::Max
        | Unit::Min
        | Unit::And
        | Unit::Or
        | Unit::Less
        | Unit::LessEqual
        | Unit::Greater
        | Unit::GreaterEqual
        | Unit::Equal
        | Unit::NotEqual
        | Unit::Copy
        | Unit::Neg
        | Unit::Not
        | Unit::Relu
        | Unit::Abs
        | Unit::Slope(..)
        | Unit::Share(_)
        | Unit::Stair(_)
        | Unit::Pick => false,
    }
}

fn lane_makes(op: LaneOp) -> bool {
    match op {
        LaneOp::Norm1 | LaneOp::Norm2 | LaneOp::LogSumExp | LaneOp::SumRelu | LaneOp::MaxLinear(_) => true,
        LaneOp::Max | LaneOp::Min | LaneOp::Order(_) | LaneOp::Sort | LaneOp::NormInf => false,
    }
}

/// The arguments of which one that is not finite makes the result not finite, for operations that are looked at themselves.
pub(crate) fn shows<T>(unit: &Unit<T>) -> &'static [usize] {
    match unit {
        Unit::Add | Unit::Sub | Unit::Mul => &[0, 1],
        Unit::Div | Unit::TimesRelu => &[0],
        Unit::Smooth(f) if f.facts().shows_infinity && !f.facts().is_total => &[0],
        _ => &[],
    }
}
