//! Compiled runs in f64, where they are faster than the interpreter and say the same.
//!
//! A program and points, or directions, enter; what leaves agrees bit for bit with the interpreter, or is nothing. Then the
//! interpreter is to be asked: the compiler refused, or a result is not finite and the interpreter can say where, or compiling
//! would have taken longer than interpreting. One thing goes unnoticed here: an overflow in a sum or product that nobody needs.

use crease_core::cost::{Prices, cost_within};
use crease_core::op::Gap;
use crease_core::{Atom, Limits, Op, Program, ProgramId, Shape, Tensor};
use crease_engine::{Agreement, Compiled, Float, Form, Options, compile, directional};
use std::collections::HashMap;

/// The outputs of a program at each of the points.
#[cfg(test)]
fn run(p: &Program, points: &[Vec<Tensor<f64>>]) -> Option<Vec<Vec<Tensor<f64>>>> {
    run_compiled(p, &compiled(p, points.len(), &Limits::DEFAULT)?, points)
}

/// A program compiled for so many points, if that pays.
pub fn compiled(p: &Program, points: usize, limits: &Limits) -> Option<Compiled<f64>> {
    let form = worthwhile(p, points, limits)?;
    if !every_fault_shows(p) {
        return None;
    }
    compile::<f64>(p, &bits(limits).form(form)).ok()
}

/// The outputs of a compiled program at each of the points.
pub fn run_compiled(p: &Program, code: &Compiled<f64>, points: &[Vec<Tensor<f64>>]) -> Option<Vec<Vec<Tensor<f64>>>> {
    let inputs: Vec<Vec<f64>> =
        (0..p.inputs().len()).map(|i| points.iter().flat_map(|x| x[i].data()).copied().collect()).collect();
    let outputs = run_batch(code, points.len(), &inputs)?;
    let at = |k: usize| {
        let part = |(o, s): (&Vec<f64>, &Shape)| Tensor::new(s.clone(), o[k * s.len()..][..s.len()].to_vec());
        outputs.iter().zip(code.outputs()).map(part).collect()
    };
    (0..points.len()).map(at).collect()
}

/// How far compiled numbers are from those of the interpreter, and which is furthest: the difference, relative to the largest number
/// of both lists. What is not finite is infinitely far from all else, and a NaN is no distance from a NaN.
pub fn distance<T: Float>(expected: &[T], got: &[T]) -> (f64, usize) {
    let pairs = || expected.iter().zip(got).map(|(e, g)| (e.to_f64(), g.to_f64()));
    let size = pairs().flat_map(|(e, g)| [e.abs(), g.abs()]).filter(|x| x.is_finite()).fold(0.0, f64::max);
    let apart = |(e, g): (f64, f64)| match (e - g).abs() {
        _ if e == g || e.is_nan() && g.is_nan() => 0.0,
        d if d.is_finite() => d / size,
        _ => f64::INFINITY,
    };
    let furthest = |far: (f64, usize), (i, d): (usize, f64)| if d > far.0 { (d, i) } else { far };
    pairs().map(apart).enumerate().fold((0.0, 0), furthest)
}

/// So many numbers are carried along with the values at once.
const CARRIED: usize = 1 << 24;

/// The directional derivatives of all outputs, right at kinks, along each of the directions: for each the elements of all outputs,
/// one output after the other. Ties are those that the interpreter sees in f64.
pub fn directional_derivatives(
    p: &Program,
    point: &[Tensor<f64>],
    directions: &[Vec<f64>],
    limits: &Limits,
) -> Option<Vec<Vec<f64>>> {
    let mut starts = vec![0];
    starts.extend(p.inputs().iter().scan(0, |end, i| {
        *end += i.shape.len();
        Some(*end)
    }));
    // inputs that no direction moves need no tangents
    let moves = |&i: &usize| directions.iter().any(|d| d[starts[i]..starts[i + 1]].iter().any(|&x| x != 0.0));
    let wrt: Vec<usize> = (0..p.inputs().len()).filter(moves).collect();
    let longest = p.equations().map(|e| e.results().map(|v| p.shape(v).len()).sum()).max().unwrap_or(0);
    let together = (CARRIED / longest.max(p.dimension()).max(1)).clamp(1, directions.len().max(1));
    let code = directional::<f64>(p, &wrt, together, &bits(limits)).ok()?;
    let values = p.outputs().len();
    let mut derivatives = Vec::with_capacity(directions.len());
    for some in directions.chunks(together) {
        let mut inputs: Vec<Vec<f64>> = point.iter().map(|t| t.data().to_vec()).collect();
        for &i in &wrt {
            let mut tangent: Vec<f64> = some.iter().flat_map(|d| &d[starts[i]..starts[i + 1]]).copied().collect();
            tangent.resize(together * (starts[i + 1] - starts[i]), 0.0);
            inputs.push(tangent);
        }
        let outputs = run_batch(&code, 1, &inputs)?;
        let along = |k: usize| {
            let part = |o: &Vec<f64>| o[k * o.len() / together..(k + 1) * o.len() / together].to_vec();
            outputs[values..].iter().flat_map(part).collect()
        };
        derivatives.extend((0..some.len()).map(along));
    }
    Some(derivatives)
}

/// Compiled once and run once, at all points together: machine code would take longer to make than it saves. What a limit ends is the interpreter's to say,
/// which looks at the same ones.
fn bits(limits: &Limits) -> Options {
    Options::default().agreement(Agreement::Bits).runs(1).limits(limits.clone())
}

/// All outputs at all points, if they are finite throughout.
fn run_batch(code: &Compiled<f64>, points: usize, inputs: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let mut outputs: Vec<Vec<f64>> = code.outputs().iter().map(|s| vec![0.0; s.len() * points]).collect();
    let slices: Vec<&[f64]> = inputs.iter().map(|x| &x[..]).collect();
    let mut room: Vec<&mut [f64]> = outputs.iter_mut().map(|o| &mut o[..]).collect();
    // arithmetic is checked: an error says that something was not finite
    code.run_batch(&mut code.workspace(), points, &slices, &mut room).ok()?;
    Some(outputs)
}

/// What the interpreter takes for an equation and for each unit of its cost, in nanoseconds.
const INTERPRET: (f64, f64) = (100.0, 2.0);
/// What the compiler takes for an equation in scalar code. `crease bench` tells such numbers; only their ratios matter.
const COMPILE_SCALAR: f64 = 800.0;
/// What it takes for an equation on tensors.
const COMPILE_TENSOR: f64 = 20_000.0;

/// Programs that cost more for each equation stay in tensors.
const TENSORS: f64 = 16.0;

/// The form in which a program is compiled for so many runs, if that is known to be faster than as many runs of the interpreter.
///
/// One run of a scalar program does not pay: to compile an equation takes as long as to interpret it several times. Equations
/// on large tensors are few, and pay at once.
fn worthwhile(p: &Program, runs: usize, limits: &Limits) -> Option<Form> {
    let (equations, cost) = (expanded(p), cost_within(p, limits).ok()?.at(&Prices::unit()).to_f64());
    let interpret = equations * INTERPRET.0 + cost * INTERPRET.1;
    let (form, compile) = match cost > equations * TENSORS {
        true => (Form::Tensors, equations * COMPILE_TENSOR),
        false => (Form::Scalars, equations.max(cost) * COMPILE_SCALAR),
    };
    (interpret * runs as f64 > compile).then_some(form)
}

/// The number of equations once all calls are expanded.
fn expanded(p: &Program) -> f64 {
    let mut sizes: HashMap<ProgramId, f64> = HashMap::new();
    let size = |q: &Program, sizes: &HashMap<ProgramId, f64>| {
        let callees = q.equations().flat_map(|e| e.op.callees());
        let inner = callees.map(|&c| sizes.get(&q.callee(c).program.id()).copied().unwrap_or(0.0));
        q.len() as f64 + inner.sum::<f64>()
    };
    for q in p.library() {
        let n = size(&q, &sizes);
        sizes.insert(q.id(), n);
    }
    size(p, &sizes)
}

/// Whether every equation that may fail has a part in the outputs. The engine leaves out what has none, and would not notice
/// where such an equation fails.
fn every_fault_shows(p: &Program) -> bool {
    p.library().iter().map(|q| &**q).chain([p]).all(|q| {
        let mut needed = vec![false; q.values()];
        let note = |needed: &mut Vec<bool>, atoms: &[Atom]| {
            atoms.iter().filter_map(|a| a.value()).for_each(|v| needed[v.index()] = true);
        };
        note(&mut needed, q.outputs());
        (0..q.len()).rev().all(|i| {
            let e = q.equation(i);
            let mut results = e.results().map(|v| needed[v.index()]);
            // of a call, all results, since each has equations of its own
            let takes_part = if e.op.callees().is_empty() { results.any(|n| n) } else { results.all(|n| n) };
            if takes_part {
                note(&mut needed, e.args);
            }
            takes_part || only_overflows(e.op)
        })
    })
}

/// Whether overflow is all that can go wrong with an operation in f64.
fn only_overflows(op: &Op) -> bool {
    match op.gap() {
        // what has no exact value has one in f64
        Gap::None | Gap::Size | Gap::Exactness => true,
        Gap::Condition | Gap::Domain => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crease_core::Builder;

    fn tensors(n: usize) -> Program {
        let mut b = Builder::new("norms");
        let x = b.input("x", Shape::vector(n).unwrap()).unwrap();
        let y = b.norm1(x).unwrap();
        b.finish(&[y]).unwrap()
    }

    fn scalars(n: usize) -> Program {
        let mut b = Builder::new("chain");
        let x = b.input("x", Shape::scalar()).unwrap();
        let y = (0..n).fold(x, |y, _| b.push1(Op::Mul, &[y, x]).unwrap());
        b.finish(&[y]).unwrap()
    }

    #[test]
    fn distances_are_relative_to_the_list_and_see_what_is_not_finite() {
        assert_eq!(distance(&[0.0, 4.0], &[0.0, 4.0]), (0.0, 0));
        assert_eq!(distance(&[0.0, 4.0], &[1.0, 4.0]), (0.25, 0));
        assert_eq!(distance(&[f64::NAN, f64::INFINITY], &[f64::NAN, f64::INFINITY]), (0.0, 0));
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(distance(&[1.0, 2.0], &[1.0, odd]), (f64::INFINITY, 1));
            assert_eq!(distance(&[1.0, odd], &[1.0, 2.0]), (f64::INFINITY, 1));
        }
        assert_eq!(distance(&[f64::INFINITY], &[f64::NEG_INFINITY]), (f64::INFINITY, 0));
    }

    #[test]
    fn one_run_pays_for_tensors_only() {
        assert_eq!(worthwhile(&tensors(100_000), 1, &Limits::DEFAULT), Some(Form::Tensors));
        assert_eq!(worthwhile(&scalars(100_000), 1, &Limits::DEFAULT), None);
        assert_eq!(worthwhile(&scalars(100_000), 100, &Limits::DEFAULT), Some(Form::Scalars));
        assert_eq!(worthwhile(&tensors(3), 1, &Limits::DEFAULT), None);
    }

    #[test]
    fn an_equation_that_may_fail_unseen_is_for_the_interpreter() {
        let mut b = Builder::new("f");
        let x = b.input("x", Shape::scalar()).unwrap();
        let hidden = b.push1(crease_core::Smooth::Log, &[x]).unwrap();
        let y = b.push1(Op::Mul, &[x, x]).unwrap();
        let both = b.finish(&[y, hidden]).unwrap();
        assert!(every_fault_shows(&both));
        assert!(!every_fault_shows(&both.with_outputs(&[0]).unwrap()));
    }

    /// A condition that is not a boolean ends a run, even if the result is not needed.
    #[test]
    fn a_condition_that_is_none_is_for_the_interpreter() {
        let mut b = Builder::new("f");
        let x = b.input("x", Shape::scalar()).unwrap();
        let hidden = b.push1(Op::Logic(crease_core::op::Logic::Not), &[x]).unwrap();
        let y = b.push1(Op::Mul, &[x, x]).unwrap();
        let p = b.finish(&[y, hidden]).unwrap().with_outputs(&[0]).unwrap();
        assert!(crease_core::run(&p, &[Tensor::scalar(2.0)]).is_err());
        assert!(!every_fault_shows(&p));
        // in floats, where nothing has to be exact, these have values
        for op in [Op::LogSumExp(crease_core::Lane::Axis), Op::Kink(crease_core::Kink::Norm2(crease_core::Lane::Axis))]
        {
            assert!(only_overflows(&op), "{}", op.name());
        }
        let permute = Op::Permute { lane: crease_core::Lane::Axis, inverse: false };
        assert!(!only_overflows(&permute));
    }

    #[test]
    fn what_is_not_finite_is_left_to_the_interpreter() {
        let mut b = Builder::new("f");
        let x = b.input("x", Shape::vector(10_000).unwrap()).unwrap();
        let y = b.push1(crease_core::Smooth::Log, &[x]).unwrap();
        let y = b.sum_all(y).unwrap();
        let p = b.finish(&[y]).unwrap();
        let at = |last: f64| {
            let mut data = vec![1.0; 10_000];
            data[9_999] = last;
            vec![vec![Tensor::vector(data).unwrap()]]
        };
        assert_eq!(run(&p, &at(1.0)).unwrap()[0][0].data(), [0.0]);
        assert!(run(&p, &at(-1.0)).is_none());
    }

    #[test]
    fn directions_are_taken_in_portions() {
        let p = tensors(CARRIED / 2);
        let point = [Tensor::vector(vec![0.0; CARRIED / 2]).unwrap()];
        let direction = |k: usize| {
            let mut d = vec![0.0; CARRIED / 2];
            d[k] = -(k as f64);
            d
        };
        let found = directional_derivatives(&p, &point, &[1, 2, 3].map(direction), &Limits::DEFAULT).unwrap();
        assert_eq!(found, [[1.0], [2.0], [3.0]]);
    }
}
