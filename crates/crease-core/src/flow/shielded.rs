//! What stands behind an elementwise choice, so that it may have no value without doing any harm.
//!
//! Going back through `where(x != 0, sin(x) / x, 1)` at 0, the adjoint of the quotient is 0 and its slope has no value. Their product has to be 0 all the
//! same. So where an equation leads to a branch of a `where`, and something of it may be missing, products with adjoints are guarded: they are 0 where the adjoint is.

use crate::op::{Gap, Op};
use crate::program::Program;

/// Which equations need guarded products on the way back.
pub(crate) fn guarded(p: &Program) -> Vec<bool> {
    if !p.equations().any(|e| *e.op == Op::Where) {
        return vec![false; p.len()];
    }
    let mut reaches = vec![false; p.values()];
    for e in p.equations().rev() {
        let open = match e.op {
            Op::Where => {
                e.args[1..].iter().filter_map(|a| a.value()).for_each(|v| reaches[v.index()] = true);
                continue;
            }
            _ => e.results().any(|v| reaches[v.index()]),
        };
        if open {
            e.args.iter().filter_map(|a| a.value()).for_each(|v| reaches[v.index()] = true);
        }
    }
    let mut may_miss = vec![false; p.values()];
    let mut guarded = Vec::with_capacity(p.len());
    for e in p.equations() {
        let misses = may_fail(e.op) || e.args.iter().filter_map(|a| a.value()).any(|v| may_miss[v.index()]);
        e.results().for_each(|v| may_miss[v.index()] = misses);
        guarded.push(misses && e.results().any(|v| reaches[v.index()]));
    }
    guarded
}

/// Whether an operation may have no value where its arguments have one, overflow included.
///
/// Ignores overflow of sums and products, and conditions that are not booleans.
fn may_fail(op: &Op) -> bool {
    match op.gap() {
        Gap::None | Gap::Size | Gap::Condition => false,
        Gap::Exactness | Gap::Domain => true,
    }
}
