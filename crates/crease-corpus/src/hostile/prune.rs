//! Leaving out what the output does not need.

use crease_core::{Atom, BuildError, Builder, Program};

/// The same program without equations that nothing depends on.
pub(super) fn pruned(p: &Program) -> Result<Program, BuildError> {
    let mut needed = vec![false; p.values()];
    let mark = |needed: &mut Vec<bool>, a: Atom| {
        if let Some(v) = a.value() {
            needed[v.index()] = true;
        }
    };
    p.outputs().iter().for_each(|&o| mark(&mut needed, o));
    for e in p.equations().rev() {
        if e.results().any(|v| needed[v.index()]) {
            e.args.iter().for_each(|&a| mark(&mut needed, a));
        }
    }
    let mut b = Builder::new(p.name().to_string());
    let mut atoms: Vec<Option<Atom>> = Vec::with_capacity(p.values());
    for i in p.inputs() {
        atoms.push(Some(b.input(i.name.clone(), i.shape.clone())?));
    }
    let translate = |b: &mut Builder, atoms: &[Option<Atom>], a: Atom| match (a.value(), p.as_constant(a)) {
        (Some(v), _) => atoms[v.index()].ok_or(BuildError::UnknownValue(v)),
        (None, constant) => Ok(b.constant(constant.cloned().unwrap_or_default())),
    };
    for e in p.equations() {
        if !e.results().any(|v| needed[v.index()]) {
            atoms.extend(e.results().map(|_| None));
            continue;
        }
        let args = e.args.iter().map(|&a| translate(&mut b, &atoms, a)).collect::<Result<Vec<_>, _>>()?;
        atoms.extend(b.push_from(p, e.op, &args)?.into_iter().map(Some));
    }
    let outputs = p.outputs().iter().map(|&o| translate(&mut b, &atoms, o)).collect::<Result<Vec<_>, _>>()?;
    b.finish(&outputs)
}
