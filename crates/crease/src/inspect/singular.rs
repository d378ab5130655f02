//! Singular places: where the chain rule, carried out in floats as frameworks do, first makes infinity or NaN out of finite numbers.
//!
//! A gradient that is NaN comes from such a place: the square root at 0, the logarithm or a quotient in the branch that a `where` does not take. Its slope is infinite, and what comes
//! back there, often 0, is multiplied by it. So the run is followed backward, as a framework follows it: equation by equation, each with its own rule and what comes back to it, and nothing is guarded,
//! as the derivatives of this library are (`where` sends 0 to the branch that is not taken, and 0 times infinity is NaN).
//!
//! A program and a point enter, places leave, in the order in which the backward run gets to them. Deliberately absent: judging the gradient.

use super::InspectError;
use crease_core::differentiate::{self, How};
use crease_core::{
    Arithmetic, Atom, Builder, Limits, Op, Program, Rational, RunError, RunOptions, Shape, Site, Tensor,
    inline_limited, run_with, unroll_limited,
};
use std::collections::HashMap;
use std::sync::Arc;

/// A place where infinity or NaN comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Singular {
    /// The operation, by its name in the language.
    pub operation: &'static str,
    /// Its equation.
    pub site: Site,
    /// What the first of its arguments is that has no finite slope.
    pub argument: f64,
    /// How many of its elements have none.
    pub elements: usize,
}

/// How deep selections are followed into their branches; what is deeper counts as one place.
const DEEPEST: usize = 60;

/// Where a backward run of a program in floats makes infinities or NaN of finite numbers, in the order in which it gets there. All numbers of all outputs are started with 1.
///
/// ```
/// use crease::inspect::singular_places;
/// use crease::{How, Limits, Tensor};
/// let p = crease::trace(1, |x| crease::sqrt(x[0] * x[0]))?;
/// let at = |x: f64| singular_places(&p, &[Tensor::scalar(x)], &How::default(), &Limits::default());
/// let found = at(0.0)?;
/// assert_eq!((found.len(), found[0].operation, found[0].argument), (1, "sqrt", 0.0));
/// assert!(at(2.0)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the run goes beyond its limits, or the point does not fit.
pub fn singular_places(
    p: &Program,
    point: &[Tensor<f64>],
    how: &How,
    limits: &Limits,
) -> Result<Vec<Singular>, InspectError> {
    let limits = &limits.started();
    let mut walk = Walk { how, limits, rules: HashMap::new(), found: Vec::new() };
    // the point is checked, and the run measured, before anything is kept of it
    let outputs = run_with(p, point, walk.options(), &mut crease_core::run::Unobserved).map_err(failed)?;
    let ones = outputs.iter().map(|t| vec![1.0; t.data().len()]).collect();
    walk.back(p, point.to_vec(), ones, 0)?;
    Ok(walk.found)
}

fn failed(error: RunError) -> InspectError {
    InspectError::Run { error, of_derivative: false, float: None }.settled()
}

/// One equation as a program of its own, and what it sends back.
struct Rule {
    forward: Program,
    /// None for what has no derivative.
    backward: Option<Program>,
}

/// What an argument is to a rule: a value of some shape, or a constant.
type Kind = Result<Shape, Rational>;

struct Walk<'a> {
    how: &'a How,
    limits: &'a Limits,
    rules: HashMap<(Op, Vec<Kind>), Arc<Rule>>,
    found: Vec<Singular>,
}

impl Walk<'_> {
    fn options(&self) -> RunOptions {
        RunOptions { arithmetic: Arithmetic::Ieee, limits: self.limits.clone() }
    }

    fn run(&self, p: &Program, inputs: &[Tensor<f64>]) -> Result<Vec<Tensor<f64>>, InspectError> {
        run_with(p, inputs, self.options(), &mut crease_core::run::Unobserved).map_err(failed)
    }

    /// Runs a program forward and backward: what comes back to its inputs.
    fn back(
        &mut self,
        program: &Program,
        inputs: Vec<Tensor<f64>>,
        outputs: Vec<Vec<f64>>,
        depth: usize,
    ) -> Result<Vec<Vec<f64>>, InspectError> {
        let unrolled = unroll_limited(program, self.limits).map_err(differentiate::DiffError::from)?;
        let p = &inline_limited(&unrolled, self.limits).map_err(differentiate::DiffError::from)?;
        let mut values = inputs;
        for i in 0..p.len() {
            let e = p.equation(i);
            let results = match e.op {
                Op::Select(ids) => {
                    let (branch, args) = self.branch(p, i, ids, &values);
                    self.run(branch, &args)?
                }
                _ => {
                    let rule = self.rule(p, i)?;
                    self.run(&rule.forward, &arguments(e.args, &values))?
                }
            };
            values.extend(results);
        }
        let mut adjoints: Vec<Option<Vec<f64>>> = vec![None; values.len()];
        for (&atom, given) in p.outputs().iter().zip(outputs) {
            if let Atom::Value(v) = atom {
                add(&mut adjoints[v.index()], given);
            }
        }
        for i in (0..p.len()).rev() {
            let e = p.equation(i);
            if e.results().all(|v| adjoints[v.index()].is_none()) {
                continue;
            }
            let arrived = |v: crease_core::Value, adjoints: &mut [Option<Vec<f64>>]| {
                let kept = adjoints[v.index()].take();
                kept.unwrap_or_else(|| vec![0.0; values[v.index()].data().len()])
            };
            let arrived: Vec<Vec<f64>> = e.results().map(|v| arrived(v, &mut adjoints)).collect();
            let sent = match e.op {
                Op::Compare(_) | Op::Logic(_) | Op::Position(..) | Op::Stair(_) => continue,
                Op::Where => choose(e.args, &values, &arrived[0]),
                Op::Select(ids) if depth < DEEPEST => {
                    let (branch, args) = self.branch(p, i, ids, &values);
                    let inside = self.back(branch, args, arrived, depth + 1)?;
                    let rest = e.args[ids.len() - 1..].iter().zip(inside);
                    rest.filter_map(|(a, part)| Some((a.value()?, part))).collect()
                }
                Op::Select(_) => continue,
                _ => {
                    let rule = self.rule(p, i)?;
                    let Some(backward) = &rule.backward else { continue };
                    let mut given = arguments(e.args, &values);
                    given.extend(
                        e.results().zip(&arrived).filter_map(|(v, a)| Tensor::new(p.shape(v).clone(), a.clone())),
                    );
                    let back = self.run(backward, &given)?;
                    let back: Vec<Vec<f64>> = back.into_iter().skip(e.results).map(|t| t.data().to_vec()).collect();
                    self.note(p, i, &values, &arrived, &back);
                    e.args.iter().filter_map(|a| a.value()).zip(back).collect::<Vec<_>>()
                }
            };
            for (v, part) in sent {
                add(&mut adjoints[v.index()], part);
            }
        }
        let back = p.inputs().iter().zip(adjoints);
        Ok(back.map(|(i, adjoint)| adjoint.unwrap_or_else(|| vec![0.0; i.shape.len()])).collect())
    }

    /// The branch that a selection takes, and its arguments.
    fn branch<'p>(
        &self,
        p: &'p Program,
        i: usize,
        ids: &[crease_core::op::CalleeId],
        values: &[Tensor<f64>],
    ) -> (&'p Program, Vec<Tensor<f64>>) {
        let (conditions, rest) = p.equation(i).args.split_at(ids.len() - 1);
        let holds = |a: &Atom| number(p, *a, values, 0) != 0.0;
        let chosen = conditions.iter().position(holds).unwrap_or(ids.len() - 1);
        let branch = &*p.callee(ids[chosen]).program;
        let arg = |(a, input): (&Atom, &crease_core::Input)| match a {
            Atom::Value(v) => Some(values[v.index()].clone()),
            Atom::Const(_) => Tensor::new(input.shape.clone(), vec![number(p, *a, values, 0); input.shape.len()]),
        };
        (branch, rest.iter().zip(branch.inputs()).filter_map(arg).collect())
    }

    /// The equation as a program, from the table.
    fn rule(&mut self, p: &Program, i: usize) -> Result<Arc<Rule>, InspectError> {
        let e = p.equation(i);
        let kind = |a: &Atom| match p.as_constant(*a) {
            Some(c) => Err(c.clone()),
            None => Ok(p.atom_shape(*a)),
        };
        let kinds: Vec<Kind> = e.args.iter().map(kind).collect();
        let key = (e.op.clone(), kinds);
        if let Some(rule) = self.rules.get(&key) {
            return Ok(rule.clone());
        }
        let broken = |e: crease_core::BuildError| InspectError::Other(e.to_string());
        let mut b = Builder::new("rule");
        let mut args = Vec::with_capacity(key.1.len());
        for (k, kind) in key.1.iter().enumerate() {
            args.push(match kind {
                Ok(shape) => b.input(format!("x{k}"), shape.clone()).map_err(broken)?,
                Err(c) => b.constant(c.clone()),
            });
        }
        let truths = matches!(e.op, Op::Where | Op::Logic(_));
        if truths {
            // a truth value is one by its making
            let zero = b.constant(Rational::ZERO);
            for (k, a) in args.iter_mut().enumerate() {
                if k == 0 || matches!(e.op, Op::Logic(_)) {
                    *a = b.push1(Op::Compare(crease_core::op::Comparison::NotEqual), &[*a, zero]).map_err(broken)?;
                }
            }
        }
        let results = b.push(e.op.clone(), &args).map_err(broken)?;
        let forward = b.finish(&results).map_err(broken)?;
        let backward = if truths { None } else { differentiate::vjp(&forward, self.how).ok() };
        let rule = Arc::new(Rule { forward, backward });
        self.rules.insert(key, rule.clone());
        Ok(rule)
    }

    /// Notes a place that sends back what is not finite although what came to it was.
    fn note(&mut self, p: &Program, i: usize, values: &[Tensor<f64>], arrived: &[Vec<f64>], sent: &[Vec<f64>]) {
        let e = p.equation(i);
        let whole = arrived.iter().flatten().all(|x| x.is_finite());
        let bad = |part: &[f64], k: usize| {
            let alone = part.len() == arrived[0].len() && arrived.len() == 1;
            !part[k].is_finite() && (whole || alone && arrived[0][k].is_finite())
        };
        let of = |part: &Vec<f64>| (0..part.len()).filter(|&k| bad(part, k)).collect::<Vec<_>>();
        let places: Vec<Vec<usize>> = sent.iter().map(of).collect();
        let Some((which, first)) = places.iter().enumerate().find_map(|(a, ks)| Some((a, *ks.first()?))) else {
            return;
        };
        let elements = places.iter().map(Vec::len).max().unwrap_or(0);
        // what is to blame is the denominator, or the other factor
        let inputs: Vec<Atom> = e.args.iter().copied().filter(|a| a.value().is_some()).collect();
        let argument = match e.op {
            Op::Div => number(p, e.args[1], values, first),
            Op::Mul => {
                let other = e.args.iter().find(|a| **a != inputs[which]).unwrap_or(&inputs[which]);
                number(p, *other, values, first)
            }
            _ => number(p, inputs[which], values, first),
        };
        let origin = e.origin();
        let same = |s: &Singular| match &origin {
            Some(o) => s.operation == e.op.name() && s.site.origin.as_deref() == Some(o),
            None => s.site.program == p.name() && s.site.equation == i && s.site.origin.is_none(),
        };
        match self.found.iter_mut().find(|s| same(s)) {
            Some(known) => known.elements += elements,
            None => self.found.push(Singular { operation: e.op.name(), site: Site::new(p, i), argument, elements }),
        }
    }
}

/// The arguments that are values, in order.
fn arguments(args: &[Atom], values: &[Tensor<f64>]) -> Vec<Tensor<f64>> {
    args.iter().filter_map(|a| a.value()).map(|v| values[v.index()].clone()).collect()
}

/// One number of an argument; a scalar stands for as many as are needed.
fn number(p: &Program, a: Atom, values: &[Tensor<f64>], k: usize) -> f64 {
    match a {
        Atom::Value(v) => {
            let data = values[v.index()].data();
            *data.get(k).or(data.first()).unwrap_or(&f64::NAN)
        }
        Atom::Const(_) => p.as_constant(a).map_or(f64::NAN, Rational::to_f64),
    }
}

/// What a choice sends back: to the branch that is taken what came, 0 to the other one.
fn choose(args: &[Atom], values: &[Tensor<f64>], arrived: &[f64]) -> Vec<(crease_core::Value, Vec<f64>)> {
    let taken = |k: usize| match args[0] {
        Atom::Value(v) => {
            let data = values[v.index()].data();
            *data.get(k).or(data.first()).unwrap_or(&0.0) != 0.0
        }
        Atom::Const(_) => true,
    };
    let side = |(a, wanted): (&Atom, bool)| {
        let v = a.value()?;
        let parts = arrived.iter().enumerate().map(|(k, &t)| if taken(k) == wanted { t } else { 0.0 });
        // a scalar that was spread gets all of it
        let n = values[v.index()].data().len();
        let parts: Vec<f64> = if n == arrived.len() { parts.collect() } else { vec![parts.sum()] };
        Some((v, parts))
    };
    args[1..].iter().zip([true, false]).filter_map(side).collect()
}

fn add(into: &mut Option<Vec<f64>>, part: Vec<f64>) {
    match into {
        Some(sum) => sum.iter_mut().zip(part).for_each(|(s, x)| *s += x),
        None => *into = Some(part),
    }
}
