//! Programs in loops: a random program becomes the body of a random loop.
//!
//! Outputs that have the shape of an input are carried now and then, other inputs are sequences or stay the same, other outputs are stacked. What is carried is
//! clamped to [-1, 1], so that it stays in the domain of the body.

use super::rng::Rng;
use crease_core::{Atom, BuildError, Builder, Op, Program, Scan};
use std::sync::Arc;

/// A loop around a program, with as many outputs as asked for or with their sum.
pub(super) fn looped(rng: &mut Rng, q: &Arc<Program>, outputs: Option<usize>) -> Program {
    let mut b = Builder::new(format!("looped_{}", q.name()));
    build(&mut b, rng, q, outputs).and_then(|all| b.finish(&all)).expect("shapes that fit")
}

/// An input of the body, and what is carried in its place after a turn.
struct Plan {
    input: usize,
    carried: Option<usize>,
    each: bool,
}

fn plans(rng: &mut Rng, q: &Program) -> Vec<Plan> {
    let mut free: Vec<usize> = (0..q.outputs().len()).collect();
    let mut plans: Vec<Plan> = Vec::new();
    for (input, i) in q.inputs().iter().enumerate() {
        let fits = free.iter().position(|&k| q.atom_shape(q.outputs()[k]) == i.shape);
        let carried = fits.filter(|_| !rng.once_in(4)).map(|k| free.remove(k));
        plans.push(Plan { input, carried, each: rng.once_in(2) });
    }
    plans.sort_by_key(|p| if p.carried.is_some() { 0 } else { 2 - usize::from(p.each) });
    plans
}

fn build(b: &mut Builder, rng: &mut Rng, q: &Arc<Program>, outputs: Option<usize>) -> Result<Vec<Atom>, BuildError> {
    let plans = plans(rng, q);
    let turns = 1 + rng.below(3);
    let carried: Vec<usize> = plans.iter().filter_map(|p| p.carried).collect();
    let each = plans.iter().filter(|p| p.carried.is_none() && p.each).count();
    let mut body = Builder::new(format!("turn_{}", q.name()));
    let mut inside = vec![None; plans.len()];
    let mut args = Vec::new();
    for (k, plan) in plans.iter().enumerate() {
        let shape = &q.inputs()[plan.input].shape;
        inside[plan.input] = Some(body.input(format!("a{k}"), shape.clone())?);
        let sequence = plan.carried.is_none() && plan.each;
        let outer = if sequence { shape.with_leading(turns)? } else { shape.clone() };
        args.push(match k > 0 && plan.carried.is_some() && shape.is_scalar() && rng.once_in(4) {
            true => b.constant(rng.between(-1, 1)),
            false => b.input(format!("x{k}"), outer)?,
        });
    }
    let inside: Vec<Atom> = inside.into_iter().flatten().collect();
    let id = body.callee(q.clone(), None)?;
    let results = body.push(Op::Call(id), &inside)?;
    let mut returned = Vec::new();
    for &k in &carried {
        let (low, high) = (body.constant(-1), body.constant(1));
        returned.push(body.clamp(results[k], low, high)?);
    }
    // some of what is carried is stacked as well
    let stacked = (0..results.len()).filter(|k| !carried.contains(k) || rng.once_in(3));
    returned.extend(stacked.map(|k| results[k]).collect::<Vec<_>>());
    let body = b.callee(Arc::new(body.finish(&returned)?), None)?;
    let op = Scan { body, turns, carried: carried.len(), each, back: rng.once_in(2) };
    let all = b.push(op, &args)?;
    match outputs {
        Some(n) => Ok(all.iter().copied().cycle().take(n).collect()),
        None => {
            let mut total = b.constant(0);
            for (k, &r) in all.iter().enumerate() {
                let sum = if b.shape(r).is_scalar() { r } else { b.sum_all(r)? };
                let weight = b.constant(k as i64 + 1);
                let part = b.mul(weight, sum)?;
                total = b.add(total, part)?;
            }
            Ok(vec![total])
        }
    }
}
