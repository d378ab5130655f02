//! What has a derivative, and of what it is needed.

use super::constants::{CasesError, Known, Walk};
use crate::op::Op;
use crate::program::Program;

/// Which values depend in a way that has a derivative on those inputs that are marked.
pub(crate) fn active_given(p: &Program, inputs: &[bool], constants: &mut Walk<()>) -> Result<Vec<bool>, CasesError> {
    let known = constants.values(p)?;
    let mut active = vec![false; p.values()];
    active[..inputs.len()].copy_from_slice(inputs);
    for e in p.equations() {
        let flat = matches!(e.op, Op::Compare(_) | Op::Logic(_) | Op::Stair(_) | Op::Position(..));
        if !flat && e.args.iter().any(|a| a.value().is_some_and(|v| active[v.index()])) {
            // a call may return a constant whatever it is given
            e.results().for_each(|v| active[v.index()] = known[v.index()] != Known::All);
        }
    }
    Ok(active)
}

/// Which equations need their derivative: those with an active result on which an output depends.
pub(crate) fn needed(p: &Program, active: &[bool]) -> Vec<bool> {
    let useful = useful(p);
    p.equations().map(|e| e.results().any(|v| active[v.index()] && useful[v.index()])).collect()
}

/// Which values an output depends on.
pub(crate) fn useful(p: &Program) -> Vec<bool> {
    let mut useful = vec![false; p.values()];
    for o in p.outputs().iter().filter_map(|o| o.value()) {
        useful[o.index()] = true;
    }
    for e in p.equations().rev() {
        if e.results().any(|v| useful[v.index()]) {
            e.args.iter().filter_map(|a| a.value()).for_each(|v| useful[v.index()] = true);
        }
    }
    useful
}
