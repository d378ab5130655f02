//! Bringing a program into the form that the sweep takes: calls that are differentiated through are expanded, square roots that are Euclidean norms become
//! those, the few
//! operations that mix several arguments into several results get their lanes as one axis, and views read where the numbers
//! come from, so that no adjoint passes through a tensor of which hardly an element is used.

use super::{DiffError, norms};
use crate::builder::{BuildError, Builder};
use crate::inline::inline_where;
use crate::limits::Limits;
use crate::op::{Kink, Lane, Op, Smooth};
use crate::program::{Atom, Callee, Equation, Program};
use crate::shape::{Layout, Shape};
use crate::simplify::sweep;
use crate::views::Views;

/// Expands all calls that are not to be kept, within the limit, and normalises lanes.
pub(super) fn prepare(p: &Program, keep: impl Fn(&Callee) -> bool, limits: &Limits) -> Result<Program, DiffError> {
    let calls = p.equations().any(|e| matches!(e.op, Op::Call(id) if !keep(p.callee(*id))));
    let expanded = if calls { inline_where(p, |c| !keep(c), limits)? } else { p.clone() };
    rewritten(&expanded, Some(Views::default()), limits)
}

/// The same program with lanes as an axis where several arguments are mixed into several results; views stay as they are.
pub(super) fn lanes_along_axis(p: &Program) -> Result<Program, DiffError> {
    rewritten(p, None, &Limits::DEFAULT)
}

fn rewritten(p: &Program, mut views: Option<Views>, limits: &Limits) -> Result<Program, DiffError> {
    let root = |op: &Op| matches!(op, Op::Smooth(Smooth::Sqrt));
    if !p.equations().any(|e| mixed(e.op) || root(e.op) || views.is_some() && matches!(e.op, Op::View { .. })) {
        return Ok(p.clone());
    }
    let mut recognised = false;
    let mut b = Builder::new(p.name()).within(limits);
    let mut map = super::declare(&mut b, p, "", None)?;
    for e in p.equations() {
        b.set_origin(e.origin());
        let args = b.translate_all(p, &map, e.args);
        let results = match (e.op, &mut views) {
            (Op::View { layout, shape }, Some(views)) => {
                vec![views.read(&mut b, args[0], layout.clone(), shape.clone())?]
            }
            (op, _) if mixed(op) => along_axis(&mut b, p, &e, &args)?,
            (Op::Smooth(Smooth::Sqrt), _) => match norms::root(&mut b, p, &map, e.args[0])? {
                Some(norm) => {
                    recognised = true;
                    vec![norm]
                }
                None => b.push_from(p, e.op, &args)?,
            },
            (op, _) => b.push_from(p, op, &args)?,
        };
        map.extend(results);
    }
    b.set_origin(None);
    let outputs = b.translate_all(p, &map, p.outputs());
    let rewritten = b.finish(&outputs)?;
    // the squares may have been needed for nothing else
    Ok(if recognised { sweep(&rewritten)? } else { rewritten })
}

fn mixed(op: &Op) -> bool {
    let bends = match op {
        Op::Joint(kink, _) => !kink.facts().has_constant_weights,
        op => matches!(op, Op::LogSumExpJoint(_)),
    };
    // positions have no derivative
    op.lane() == Some(Lane::Args) && (bends || op.keeps_lane()) && !matches!(op, Op::Position(..))
}

/// The same equation with its lanes along an axis.
fn along_axis(b: &mut Builder, p: &Program, e: &Equation<'_>, args: &[Atom]) -> Result<Vec<Atom>, BuildError> {
    let shape = p.shape(e.first).clone();
    match e.op {
        Op::Permute { inverse, .. } => {
            let n = args.len() / 2;
            let lane = stack(b, &args[..n], &shape)?;
            let permutation = stack(b, &args[n..], &shape)?;
            let out = b.push1(Op::Permute { lane: Lane::Axis, inverse: *inverse }, &[lane, permutation])?;
            unstack(b, out, &shape, n)
        }
        Op::Gather { of, scatter, .. } => {
            let n = if *scatter { args.len() / 2 } else { *of };
            let lane = stack(b, &args[..n], &shape)?;
            let index = stack(b, &args[n..], &shape)?;
            let out = b.push1(Op::Gather { lane: Lane::Axis, of: *of, scatter: *scatter }, &[lane, index])?;
            unstack(b, out, &shape, e.results)
        }
        Op::Joint(kink @ Kink::MaxLinear { rows, .. }, choice) => {
            let columns = args.len() / (rows + 1);
            let (a, x) = args.split_at(rows * columns);
            let a = stack(b, a, &shape)?;
            let a = b.reshape(a, &Shape::new([*rows, columns])?)?;
            let x = stack(b, x, &shape)?;
            let out = b.push(Op::Joint(kink.with_lane(Lane::Axis), choice.clone()), &[a, x])?;
            let mut results = vec![out[0]];
            for weights in &out[1..] {
                let flat = b.flatten(*weights)?;
                let n = b.shape(flat).len();
                results.extend(unstack(b, flat, &shape, n)?);
            }
            Ok(results)
        }
        op => {
            let lane = stack(b, args, &shape)?;
            let out = b.push(op.with_lane(Lane::Axis), &[lane])?;
            let mut results = Vec::new();
            for (i, &r) in out.iter().enumerate() {
                match i == 0 && !op.keeps_lane() {
                    true => results.push(r),
                    false => results.extend(unstack(b, r, &shape, args.len())?),
                }
            }
            Ok(results)
        }
    }
}

/// Several tensors of one shape as one, along a new last axis.
fn stack(b: &mut Builder, parts: &[Atom], shape: &Shape) -> Result<Atom, BuildError> {
    let n = parts.len();
    let dims = [shape.dims(), &[n]].concat();
    let piece = |(i, &part): (usize, &Atom)| (part, Layout::strided(i, &[(shape.len(), n as isize)]));
    b.assemble(Shape::new(dims)?, parts.iter().enumerate().map(piece).collect())
}

fn unstack(b: &mut Builder, x: Atom, shape: &Shape, n: usize) -> Result<Vec<Atom>, BuildError> {
    (0..n).map(|i| b.view(x, Layout::strided(i, &[(shape.len(), n as isize)]), shape.clone())).collect()
}
