//! Unrolling: a program whose loops are written out, turn after turn, with the same cost.
//!
//! Every turn is a call of the body, parts of sequences are views, and what is stacked is assembled once, at the end. This is what a loop means
//! ([`Scan`](crate::op::scan)), and the form in which programs are taken that know no loops: scalars, local models, directional derivatives.

use crate::builder::{BuildError, Builder};
use crate::flow::Made;
use crate::inline::{InlineError, MAX_INLINED};
use crate::limits::Limits;
use crate::op::{Op, Scan};
use crate::program::{Atom, Equation, Program};
use crate::shape::{Layout, Shape};

/// The same function with every loop as the calls that it stands for, here and in all that is called.
///
/// ```
/// use crease_core::{cost::tally, trace, unroll, Builder, Scan, Shape};
/// use std::sync::Arc;
/// let mut b = Builder::new("f");
/// let x = b.input("x", Shape::scalar())?;
/// let body = b.callee(Arc::new(trace(1, |x| x[0] * x[0])?), None)?;
/// let y = b.push(Scan::repeat(body, 3, 1), &[x])?;
/// let p = b.finish(&y)?;
/// let q = unroll(&p)?;
/// assert_eq!((p.len(), q.len()), (1, 3));
/// assert_eq!(tally(&p), tally(&q));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn unroll(p: &Program) -> Result<Program, InlineError> {
    unroll_within(p, MAX_INLINED)
}

/// Like [`unroll`], with another limit on the calls and equations that loops become.
///
/// ```
/// use crease_core::{trace, unroll_within, Builder, InlineError, Scan, Shape};
/// use std::sync::Arc;
/// let mut b = Builder::new("f");
/// let x = b.input("x", Shape::scalar())?;
/// let body = b.callee(Arc::new(trace(1, |x| x[0] * x[0])?), None)?;
/// let y = b.push(Scan::repeat(body, 3, 1), &[x])?;
/// let p = b.finish(&y)?;
/// assert!(matches!(unroll_within(&p, 2), Err(InlineError::Turns { limit: 2, .. })));
/// assert!(unroll_within(&p, 100).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn unroll_within(p: &Program, limit: u64) -> Result<Program, InlineError> {
    unroll_limited(p, &Limits { equations: limit, ..Limits::DEFAULT })
}

/// Like [`unroll_within`], with all limits that concern it: [`Limits::equations`], and those that stop it on the way.
pub fn unroll_limited(p: &Program, limits: &Limits) -> Result<Program, InlineError> {
    Ok(unroll_traced(p, limits)?.0)
}

/// Like [`unroll_limited`], with the equation of `p` from which each equation came.
pub(crate) fn unroll_traced(p: &Program, limits: &Limits) -> Result<(Program, Vec<u32>), InlineError> {
    let limit = limits.equations;
    let library = p.library();
    let written = library.iter().map(|q| &**q).chain([p]).map(written);
    let size = written.fold(0, u128::saturating_add);
    if size > u128::from(limit) {
        return Err(InlineError::Turns { name: p.name().into(), size, limit });
    }
    Ok(p.mapped(|p, made| unroll_one(p, made, limits))?)
}

/// Whether there is a loop in a program, or in what it calls.
pub(crate) fn has_loops(p: &Program) -> bool {
    let here = |q: &Program| q.ops.iter().any(|op| matches!(op, Op::Scan(_)));
    here(p) || !p.callees().is_empty() && p.library().iter().any(|q| here(q))
}

/// How many equations the loops of a program become: none if it has none.
fn written(p: &Program) -> u128 {
    let loops = p.ops.iter().any(|op| matches!(op, Op::Scan(_)));
    let size = |e: Equation<'_>| match e.op {
        Op::Scan(scan) => (scan.turns as u128).saturating_mul(1 + scan.each as u128).saturating_add(e.results as u128),
        _ => 1,
    };
    if loops { p.equations().map(size).fold(0, u128::saturating_add) } else { 0 }
}

fn unroll_one(p: &Program, made: &Made, limits: &Limits) -> Result<(Program, Vec<u32>), BuildError> {
    let mut b = Builder::new(p.name()).within(limits);
    let mut map = b.inputs_of(p)?;
    let mut origins = Vec::new();
    for (i, e) in p.equations().enumerate() {
        b.set_origin(e.origin());
        let args = b.translate_all(p, &map, e.args);
        let results = match made.op(&mut b, p, e.op)? {
            Op::Scan(scan) => turns(&mut b, p, &e, &scan, &args)?,
            op => b.push(op, &args)?,
        };
        map.extend(results);
        origins.resize(b.so_far().len(), i as u32);
    }
    b.set_origin(None);
    let outputs = b.translate_all(p, &map, p.outputs());
    Ok((b.finish(&outputs)?, origins))
}

/// All turns of a loop.
fn turns(b: &mut Builder, p: &Program, e: &Equation<'_>, scan: &Scan, args: &[Atom]) -> Result<Vec<Atom>, BuildError> {
    let inputs: Vec<Shape> = b.so_far().callee(scan.body).program.inputs().iter().map(|i| i.shape.clone()).collect();
    let mut carried = args[..scan.carried].to_vec();
    let mut stacked: Vec<Vec<(Atom, Layout)>> = vec![Vec::with_capacity(scan.turns); e.results - scan.carried];
    for turn in 0..scan.turns {
        let part = |shape: &Shape| Layout::strided(scan.part(turn) * shape.len(), &[(shape.len(), 1)]);
        let mut all = carried;
        for (&sequence, shape) in args.iter().zip(&inputs).skip(scan.carried).take(scan.each) {
            all.push(b.view(sequence, part(shape), shape.clone())?);
        }
        all.extend_from_slice(&args[scan.still()..]);
        carried = b.push(Op::Call(scan.body), &all)?;
        for (pieces, atom) in stacked.iter_mut().zip(carried.split_off(scan.carried)) {
            let shape = b.shape(atom);
            pieces.push((atom, part(&shape)));
        }
    }
    for (pieces, v) in stacked.into_iter().zip(e.results().skip(scan.carried)) {
        carried.push(b.assemble(p.shape(v).clone(), pieces)?);
    }
    Ok(carried)
}
