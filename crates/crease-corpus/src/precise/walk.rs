//! Walking a program: equations in order, calls by calling.

use super::Fault;
use super::number::{Arithmetic, Number};
use crease_core::{Atom, Op, Program, ProgramId, Rational, Tensor};
use dashu_ratio::RBig;
use std::collections::HashMap;
use std::sync::Arc;

/// How deep calls may be nested.
const DEPTH: usize = 200;

/// What calls returned, by program and by the names of the arguments: a program that is called twice with the same is run once.
type Known = HashMap<(ProgramId, Vec<u64>), Vec<Vec<Number>>>;

/// The outputs of a program at a point, element by element.
pub fn evaluate(p: &Program, at: &[Tensor<Rational>], arithmetic: &Arithmetic) -> Result<Vec<Number>, Fault> {
    let number = |r: &Rational| Number::Exact(RBig::from(r.clone()));
    let inputs = at.iter().map(|t| t.data().iter().map(number).collect()).collect();
    Ok(program(p, inputs, arithmetic, &mut Known::new(), 0)?.concat())
}

fn program(
    p: &Program,
    mut values: Vec<Vec<Number>>,
    arithmetic: &Arithmetic,
    known: &mut Known,
    depth: usize,
) -> Result<Vec<Vec<Number>>, Fault> {
    if depth > DEPTH {
        return Err(Fault::Unsupported("calls that are nested so deep"));
    }
    let constant = |a: Atom| p.as_constant(a).map(|r| vec![Number::Exact(RBig::from(r.clone()))]);
    let get = |values: &[Vec<Number>], a: Atom| match a {
        Atom::Value(v) => values[v.index()].clone(),
        Atom::Const(_) => constant(a).unwrap_or_default(),
    };
    let mut call = |callee: &Arc<Program>, args: Vec<Vec<Number>>| {
        let key = (callee.id(), args.iter().flatten().map(Number::name).collect());
        if let Some(results) = known.get(&key) {
            return Ok(results.clone());
        }
        let results = program(callee, args, arithmetic, known, depth + 1)?;
        known.insert(key, results.clone());
        Ok(results)
    };
    for e in p.equations() {
        let args: Vec<Vec<Number>> = e.args.iter().map(|&a| get(&values, a)).collect();
        let results = match e.op {
            Op::Call(id) => call(&p.callee(*id).program, args)?,
            Op::Select(ids) => {
                let chosen = choose(&args[..ids.len() - 1])?;
                call(&p.callee(ids[chosen]).program, args[ids.len() - 1..].to_vec())?
            }
            _ => {
                let slices: Vec<&[Number]> = args.iter().map(Vec::as_slice).collect();
                arithmetic.equation(p, &e, &slices)?
            }
        };
        values.extend(results);
    }
    Ok(p.outputs().iter().map(|&o| get(&values, o)).collect())
}

/// The first branch whose condition holds. A condition is 1 or 0, or there is no value.
fn choose(conditions: &[Vec<Number>]) -> Result<usize, Fault> {
    for (i, c) in conditions.iter().enumerate() {
        match &c[0] {
            Number::Exact(r) if r.is_one() => return Ok(i),
            Number::Exact(r) if r.is_zero() => {}
            Number::Exact(_) => return Err(Fault::NoValue("a condition is neither true nor false")),
            Number::Ball(_) => return Err(Fault::TooClose),
        }
    }
    Ok(conditions.len())
}

/// The one output of a program of scalars, from numbers that are known already.
pub(crate) fn call(p: &Program, inputs: Vec<Number>, arithmetic: &Arithmetic) -> Result<Number, Fault> {
    let inputs = inputs.into_iter().map(|x| vec![x]).collect();
    let outputs = program(p, inputs, arithmetic, &mut Known::new(), 0)?;
    outputs.into_iter().flatten().next().ok_or(Fault::Unsupported("a program without output"))
}
