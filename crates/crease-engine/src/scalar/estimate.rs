//! What a run would take as bytecode and as machine code, and what it takes to make machine code.
//!
//! The figures are nanoseconds, fitted to `benches/scalar.rs` on an x86-64 server core of 2023. They decide nothing but
//! which of two ways to the same numbers is taken, so it is enough that they are right within a factor of two:
//!
//! | for each | bytecode | in lanes, a point | machine code |
//! | --- | --- | --- | --- |
//! | group | 6 | 1.5 | |
//! | equation in a group | 0.75 | 0.15 | 0.6 |
//! | single instruction | 8.5 | 4.5 | 0.6 |
//! | member of a maximum | 0.55 | 0.25 | 0.8 |
//! | member, with weights | 4 | 4 | 2 |
//! | function of the library | 7 | 7 | 12 |
//!
//! A function of the library is slower in machine code because others stand around it, and its branches are mispredicted.
//! Code that leaves the cache is read at 4 bytes in a nanosecond.

use super::{Code, What};
use crate::flat::{Flat, FlatOp};
use crate::float::Float;
use crate::unit::Unit;
use crease_core::{Kink, Op, Smooth};

/// Estimated times, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    /// A run of bytecode at one point.
    pub bytecode: f64,
    /// A run of machine code at one point.
    pub native: f64,
    /// Making machine code.
    pub compile: f64,
}

/// How much of what there is.
#[derive(Default)]
struct Counts {
    groups: f64,
    grouped: f64,
    singles: f64,
    /// Members of lanes.
    members: f64,
    /// Members of lanes with weights.
    weighed: f64,
    functions: f64,
    /// Instructions of the compiler.
    instructions: f64,
}

fn counts<T: Float>(code: &Code<T>) -> Counts {
    let mut c = Counts::default();
    let units = |c: &mut Counts, unit: &Unit<T>, count: f64| {
        c.instructions += count * instructions(unit);
        c.functions += if is_function(unit) { count } else { 0.0 };
    };
    for g in &code.groups {
        let count = f64::from(g.count);
        match &g.what {
            What::Unit(unit) | What::Runs(unit, _) => {
                c.groups += 1.0;
                c.grouped += count;
                units(&mut c, unit, count);
            }
            What::Singles(from) => {
                c.singles += count;
                let singles = &code.singles[*from as usize..][..g.count as usize];
                singles.iter().for_each(|s| units(&mut c, &s.unit, 1.0));
            }
            What::Lane(_, arity, weights, _) => {
                let members = count * f64::from(*arity);
                c.groups += 1.0;
                c.grouped += count;
                c.instructions += members * 8.0;
                *if *weights { &mut c.weighed } else { &mut c.members } += members;
            }
            What::Move(_, [lane, positions, _]) => {
                c.groups += 1.0;
                c.members += count * f64::from(lane + positions) / 2.0;
            }
        }
    }
    c
}

/// Instructions of the compiler, with reading and writing, by which the time of compilation is measured.
fn instructions<T>(unit: &Unit<T>) -> f64 {
    match unit {
        Unit::Max
        | Unit::Min
        | Unit::And
        | Unit::Or
        | Unit::NotEqual
        | Unit::Slope(..)
        | Unit::TimesSlope(_)
        | Unit::Share(_) => 12.0,
        Unit::Relu | Unit::TimesRelu | Unit::Pick | Unit::Leaky(_) => 6.0,
        _ => 3.0,
    }
}

fn is_function<T>(unit: &Unit<T>) -> bool {
    match unit {
        Unit::Smooth(Smooth::Inv | Smooth::Sqrt | Smooth::Power(2)) => false,
        Unit::Smooth(_) | Unit::Elu(_) | Unit::EluSlope(..) => true,
        _ => false,
    }
}

/// Bytes of machine code that stay in a cache.
const CACHED: f64 = 8e6;
/// Bytes of code for each instruction of the compiler.
const BYTES: f64 = 6.0;
/// Nanoseconds to compile one.
const COMPILE: f64 = 1000.0;

fn beyond_cache(instructions: f64) -> f64 {
    (instructions * BYTES - CACHED).max(0.0) / 4.0
}

/// The times of a program that is run as it is.
pub(crate) fn value<T: Float>(code: &Code<T>) -> Times {
    let c = counts(code);
    Times {
        bytecode: 6.0 * c.groups
            + 0.75 * c.grouped
            + 8.5 * c.singles
            + 0.55 * c.members
            + 4.0 * c.weighed
            + 7.0 * c.functions,
        native: 0.6 * (c.grouped + c.singles)
            + 0.8 * c.members
            + 2.0 * c.weighed
            + 12.0 * c.functions
            + beyond_cache(c.instructions),
        compile: COMPILE * c.instructions,
    }
}

/// A point of a batch in lanes.
pub(crate) fn lanes<T: Float>(code: &Code<T>) -> f64 {
    let c = counts(code);
    1.5 * c.groups + 0.15 * c.grouped + 4.5 * c.singles + 0.25 * c.members + 4.0 * c.weighed + 7.0 * c.functions
}

/// The times of a program that is run with its gradient: backward through bytecode, or, as machine code, by the derived program,
/// which has some 3.5 times the instructions.
pub(crate) fn gradient<T: Float>(code: &Code<T>, flat: &Flat) -> Times {
    let (c, t) = (counts(code), value(code));
    let reached = reached(flat);
    let single = c.singles / (c.singles + c.grouped).max(1.0);
    Times {
        bytecode: t.bytecode + 3.0 * c.groups + 0.1 * c.grouped + reached * (2.0 + 5.5 * single),
        native: t.native - beyond_cache(c.instructions)
            + 1.0 * (c.grouped + c.singles)
            + 2.0 * c.members
            + beyond_cache(3.5 * c.instructions),
        compile: 3.5 * t.compile,
    }
}

/// How many equations an adjoint is expected to reach, one member of each maximum being as likely as the other: the backward
/// sweep skips the others.
fn reached(flat: &Flat) -> f64 {
    let mut share = vec![0.0_f32; flat.values()];
    flat.outputs.iter().filter_map(|o| o.value()).for_each(|v| share[v] = 1.0);
    let mut sum = 0.0;
    for e in flat.eqs.iter().rev() {
        let here = share[e.first as usize..][..e.results as usize].iter().fold(0.0_f32, |a, &b| a.max(b));
        sum += f64::from(here);
        let args = flat.args(e);
        let selects = match flat.op(e) {
            FlatOp::Op(Op::Kink(k)) => {
                matches!(k, Kink::Max(_) | Kink::Min(_) | Kink::OrderStatistic(..) | Kink::NormInf(_))
            }
            _ => false,
        };
        let each = if selects { here / args.len() as f32 } else { here };
        for v in args.iter().filter_map(|a| a.value()) {
            share[v] = (share[v] + each).min(1.0);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flat::flatten;
    use crate::scalar::build;
    use crease_core::trace;

    fn estimated(p: &crease_core::Program) -> Times {
        let flat = flatten(p, &crate::Options::default()).unwrap();
        gradient(&build::<f64>(&flat, &[1], None).ok().unwrap(), &flat)
    }

    #[test]
    fn a_chain_suits_machine_code_and_one_large_maximum_does_not() {
        let chain = estimated(&trace(1, |x| (0..1000).fold(x[0], |y, _| y * x[0] + x[0])).unwrap());
        assert!(chain.native < chain.bytecode / 3.0, "{chain:?}");
        let largest = estimated(&trace(1000, crease_core::max).unwrap());
        assert!(largest.native > largest.bytecode, "{largest:?}");
    }
}
