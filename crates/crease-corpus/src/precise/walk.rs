//! Walking a program: equations in order, calls by calling.

use super::Fault;
use super::number::{Arithmetic, Number};
use crease_core::{Atom, Equation, Op, Program, ProgramId, Rational, Scan, Tensor};
use dashu_ratio::RBig;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

/// How deep calls may be nested.
const DEPTH: usize = 200;

/// A value, or why there is none.
type Value = Result<Vec<Number>, Fault>;

/// What calls returned, by program and by the names of the arguments: a program that is called twice with the same is run once.
type Known = HashMap<(ProgramId, Vec<u64>), Vec<Value>>;

/// The outputs of a program at a point, element by element.
///
/// In a program that has a `where`, a number without a value is missing, and so is what is made of it, or chosen by it; that ends the evaluation only if an output
/// needs it. A tensor of which a number is missing is missing as a whole, but for what a `where` takes of it.
pub fn evaluate(p: &Program, at: &[Tensor<Rational>], arithmetic: &Arithmetic) -> Result<Vec<Number>, Fault> {
    let number = |r: &Rational| Number::Exact(RBig::from(r.clone()));
    let inputs = at.iter().map(|t| Ok(t.data().iter().map(number).collect())).collect();
    let has = |q: &Program| q.equations().any(|e| *e.op == Op::Where);
    let mut walk = Walk { arithmetic, known: Known::new(), lenient: has(p) || p.library().iter().any(|q| has(q)) };
    Ok(walk.program(p, inputs, 0)?.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
}

struct Walk<'a> {
    arithmetic: &'a Arithmetic,
    known: Known,
    /// Whether numbers may be missing.
    lenient: bool,
}

impl Walk<'_> {
    fn program(&mut self, p: &Program, mut values: Vec<Value>, depth: usize) -> Result<Vec<Value>, Fault> {
        if depth > DEPTH {
            return Err(Fault::Unsupported("calls that are nested so deep"));
        }
        let constant = |a: Atom| p.as_constant(a).map(|r| vec![Number::Exact(RBig::from(r.clone()))]);
        let get = |values: &[Value], a: Atom| match a {
            Atom::Value(v) => values[v.index()].clone(),
            Atom::Const(_) => Ok(constant(a).unwrap_or_default()),
        };
        for e in p.equations() {
            let args: Vec<Value> = e.args.iter().map(|&a| get(&values, a)).collect();
            let results = match e.op {
                Op::Call(id) => self.call(&p.callee(*id).program, args, depth)?,
                Op::Select(ids) => match choose(&args[..ids.len() - 1]) {
                    Ok(chosen) => self.call(&p.callee(ids[chosen]).program, args[ids.len() - 1..].to_vec(), depth)?,
                    Err(fault) if self.lenient => vec![Err(fault); e.results],
                    Err(fault) => return Err(fault),
                },
                Op::Scan(scan) => self.turns(&p.callee(scan.body).program, scan, e.results, args, depth)?,
                Op::Where if self.lenient => vec![self.choice(p.shape(e.first).len(), &args)],
                _ => match self.equation(p, &e, &args) {
                    Ok(results) => results.into_iter().map(Ok).collect(),
                    Err(fault) if self.lenient => vec![Err(fault); e.results],
                    Err(fault) => return Err(fault),
                },
            };
            values.extend(results);
        }
        Ok(p.outputs().iter().map(|&o| get(&values, o)).collect())
    }

    fn call(&mut self, callee: &Arc<Program>, args: Vec<Value>, depth: usize) -> Result<Vec<Value>, Fault> {
        // what is missing has no name
        let names = args.iter().map(|a| a.as_ref().ok()).collect::<Option<Vec<_>>>();
        let key = names.map(|all| (callee.id(), all.into_iter().flatten().map(Number::name).collect::<Vec<u64>>()));
        if let Some(results) = key.as_ref().and_then(|key| self.known.get(key)) {
            return Ok(results.clone());
        }
        let results = self.program(callee, args, depth + 1)?;
        if let Some(key) = key {
            self.known.insert(key, results.clone());
        }
        Ok(results)
    }

    fn equation(&self, p: &Program, e: &Equation<'_>, args: &[Value]) -> Result<Vec<Vec<Number>>, Fault> {
        let slices = args.iter().map(|a| a.as_deref().map_err(|fault| *fault)).collect::<Result<Vec<_>, _>>()?;
        self.arithmetic.equation(p, e, &slices)
    }

    /// Each element from the branch that its condition takes.
    fn choice(&self, len: usize, args: &[Value]) -> Value {
        let at = |x: &Value, i: usize| match x {
            Ok(list) => Ok(list[if list.len() == 1 { 0 } else { i }].clone()),
            Err(fault) => Err(*fault),
        };
        let one = |i: usize| match self.arithmetic.order(&at(&args[0], i)?, &Number::one())? {
            Ordering::Equal => at(&args[1], i),
            Ordering::Less | Ordering::Greater => at(&args[2], i),
        };
        (0..len).map(one).collect()
    }

    fn turns(
        &mut self,
        body: &Arc<Program>,
        scan: &Scan,
        results: usize,
        args: Vec<Value>,
        depth: usize,
    ) -> Result<Vec<Value>, Fault> {
        let (mut carried, still) = (args[..scan.carried].to_vec(), &args[scan.carried + scan.each..]);
        let mut stacked: Vec<Vec<Value>> = vec![vec![Ok(Vec::new()); scan.turns]; results - scan.carried];
        let mut turns: Vec<usize> = (0..scan.turns).collect();
        if scan.back {
            turns.reverse();
        }
        for turn in turns {
            let part = |s: &Value| {
                s.as_ref().map(|s| s[turn * (s.len() / scan.turns)..][..s.len() / scan.turns].to_vec()).map_err(|f| *f)
            };
            let parts = args[scan.carried..][..scan.each].iter().map(part);
            let all = carried.into_iter().chain(parts).chain(still.iter().cloned()).collect();
            carried = self.call(body, all, depth)?;
            for (all, new) in stacked.iter_mut().zip(carried.split_off(scan.carried)) {
                all[turn] = new;
            }
        }
        carried.extend(stacked.into_iter().map(|all| Ok(all.into_iter().collect::<Result<Vec<_>, _>>()?.concat())));
        Ok(carried)
    }
}

/// The first branch whose condition holds. A condition is 1 or 0, or there is no value.
fn choose(conditions: &[Value]) -> Result<usize, Fault> {
    for (i, c) in conditions.iter().enumerate() {
        match &c.as_ref().map_err(|fault| *fault)?[0] {
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
    let inputs = inputs.into_iter().map(|x| Ok(vec![x])).collect();
    let outputs = Walk { arithmetic, known: Known::new(), lenient: false }.program(p, inputs, 0)?;
    outputs
        .into_iter()
        .next()
        .ok_or(Fault::Unsupported("a program without output"))??
        .into_iter()
        .next()
        .ok_or(Fault::Unsupported("an output without numbers"))
}
