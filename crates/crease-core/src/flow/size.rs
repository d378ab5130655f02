//! How much there is of a program: of its expansion, and of a run. Known from the text, in time linear in it; what is beyond 2^128 is that
//! much.

use super::PerProgram;
use crate::op::Op;
use crate::program::{Callee, Equation, Program};

/// The number of calls and equations of each program of a library after expansion of the calls that `pick` picks. Calls count too: a
/// program without equations can be called any number of times.
pub(crate) fn expanded(p: &Program, pick: &dyn Fn(&Callee) -> bool) -> PerProgram<u128> {
    p.each(|q, sizes: &PerProgram<u128>| {
        q.equations().fold(0u128, |n, e| {
            let inside = match e.op {
                Op::Call(id) if pick(q.callee(*id)) => sizes[&q.callee(*id).program],
                _ => 0,
            };
            n.saturating_add(1).saturating_add(inside)
        })
    })
}

/// What running a program takes, calls included; of a selection what the cheapest branch takes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extent {
    /// The steps of its own equations.
    pub own: u128,
    /// At least so many steps in all.
    pub steps: u128,
    /// At least so many numbers at once.
    pub numbers: u128,
}

/// What running each program of a library takes.
pub(crate) fn extents(p: &Program) -> PerProgram<Extent> {
    p.each(extent)
}

fn extent(p: &Program, known: &PerProgram<Extent>) -> Extent {
    if p.callees().is_empty() && p.shapes.iter().all(|s| s.is_scalar()) {
        // the frequent case of a large scalar program takes no look at its equations
        let results = p.values() - p.inputs().len();
        let own = (p.len() + p.args.len() + results) as u128;
        return Extent { own, steps: own, numbers: p.values() as u128 };
    }
    let numbers: u128 = (0..p.values()).map(|v| p.shapes[p.value_shapes[v] as usize].len() as u128).sum();
    let mut out = Extent { numbers, ..Extent::default() };
    let mut deepest = 0;
    for e in p.equations() {
        let own = steps(p, &e);
        out.own = out.own.saturating_add(own);
        let callees = e.op.callees().iter().map(|id| known[&p.callee(*id).program]);
        let least = |of: fn(&Extent) -> u128| callees.clone().map(|c| of(&c)).min().unwrap_or(0);
        let times = if let Op::Scan(scan) = e.op { scan.turns as u128 } else { 1 };
        out.steps = out.steps.saturating_add(own).saturating_add(least(|c| c.steps).saturating_mul(times));
        deepest = deepest.max(least(|c| c.numbers));
    }
    out.numbers = out.numbers.saturating_add(deepest);
    out
}

/// The steps of one equation, without those of what it calls.
fn steps(p: &Program, e: &Equation<'_>) -> u128 {
    let read: usize = match e.op {
        Op::Assemble { pieces, .. } => pieces.iter().map(|l| l.len()).sum(),
        Op::Call(_) | Op::Select(_) => e.args.len(), // tensors are passed on as they lie
        _ => e.args.iter().map(|a| a.value().map_or(1, |v| p.shape(v).len())).sum(),
    };
    let written: usize = match e.op {
        Op::Call(_) | Op::Select(_) => e.results,
        _ => e.results().map(|v| p.shape(v).len()).sum(),
    };
    1 + read as u128 + written as u128 + e.multiplied(p)
}
