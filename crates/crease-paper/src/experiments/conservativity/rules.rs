//! Rules of one's own: a derived program with something else picked at its kinks.

use crease_core::op::{Choice, Kink, Op};
use crease_core::{Atom, BuildError, Builder, Program, ProgramId, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The same derived program, its calls included, with other choices at its kinks. A selection has one rule for each kind of operation, and
/// refuses those that mean nothing; this takes any, so that it can be put to the test.
///
/// ```
/// use crease_paper::experiments::conservativity::{Field, Options, check, with_choices};
/// use crease::{How, Ties, gradient, max, op::Choice, trace};
/// let f = trace(2, |x| max(&[x[0], x[1]]))?;
/// let right = gradient(&f, &How::default())?;
/// let every = with_choices(&right, |_, choice| Choice { ties: Ties::Every, ..choice.clone() })?;
/// let passed = |p| check(&f, Field::Program(p), &[], &Options::default()).map(|report| report.passed());
/// assert_eq!((passed(&right)?, passed(&every)?), (true, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_choices(p: &Program, change: impl Fn(&Kink, &Choice) -> Choice) -> Result<Program, BuildError> {
    let mut done: HashMap<ProgramId, Arc<Program>> = HashMap::new();
    for q in p.library() {
        let changed = Arc::new(rewrite(&q, &change, &done)?);
        done.insert(q.id(), changed);
    }
    rewrite(p, &change, &done)
}

fn rewrite(
    p: &Program,
    change: &impl Fn(&Kink, &Choice) -> Choice,
    done: &HashMap<ProgramId, Arc<Program>>,
) -> Result<Program, BuildError> {
    let mut b = Builder::new(p.name());
    let mut cells: HashMap<Value, Atom> = HashMap::new();
    for (v, input) in p.input_values().zip(p.inputs()) {
        cells.insert(v, b.input(input.name.clone(), input.shape.clone())?);
    }
    let atom = |b: &mut Builder, cells: &HashMap<Value, Atom>, a: Atom| match a {
        Atom::Value(v) => cells[&v],
        Atom::Const(c) => b.constant(p.constant(c).clone()),
    };
    for e in p.equations() {
        b.set_origin(e.origin());
        let args: Vec<Atom> = e.args.iter().map(|&a| atom(&mut b, &cells, a)).collect();
        let mut callees = HashMap::new();
        for &id in e.op.callees() {
            let callee = p.callee(id);
            let changed = |q: &Arc<Program>| done.get(&q.id()).unwrap_or(q).clone();
            callees.insert(id, b.callee(changed(&callee.program), callee.joint.as_ref().map(changed))?);
        }
        let op = match e.op {
            Op::Joint(kink, choice) => Op::Joint(kink.clone(), change(kink, choice)),
            other => other.map_callees(|id| callees[&id]),
        };
        cells.extend(e.results().zip(b.push(op, &args)?));
    }
    b.set_origin(None);
    let outputs: Vec<Atom> = p.outputs().iter().map(|&o| atom(&mut b, &cells, o)).collect();
    b.finish(&outputs)
}
