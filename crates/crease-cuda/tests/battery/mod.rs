//! Programs and points that every way of running a plan is tested on, with what the interpreter says.
#![allow(dead_code)] // each test takes what it needs

use crease_core::differentiate::{self, How, Selection, backprop};
use crease_core::{Arg, Arithmetic, Atom, Builder, Number, Observer, Op, Program, Shape, Tensor, run_with};
use crease_corpus::operations;
use crease_corpus::random::{Dictionary, Options as Random, Rng, program};
use crease_cuda::{Options, Plan, Real};

/// A plan, its points and what is expected there.
pub struct Trial<T> {
    pub name: String,
    pub plan: Plan,
    pub points: usize,
    /// of each input one point after the other, or just one that all share
    pub inputs: Vec<Vec<T>>,
    /// of each output one point after the other; nothing where the interpreter has an error
    pub expected: Vec<Option<Vec<T>>>,
    /// how far numbers may be off, relative to the largest of the point
    pub tolerance: f64,
}

struct Silent;
impl<N: Number> Observer<N> for Silent {
    fn step(&mut self, _: &Program, _: usize, _: &[Arg<'_, N>], _: &[Vec<N>]) {}
}

/// Numbers that are meant to meet at kinks.
const CORNERS: [f64; 10] = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 1.0, 0.0, 3.0];
const BEYOND: [f64; 6] = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-40, 1e30, -1e30];

pub const POINTS: usize = 7;

fn number(rng: &mut Rng, point: usize) -> f64 {
    match point % 7 {
        0 | 1 => (rng.below(4001) as f64 - 2000.0) / 700.0,
        2 => (rng.below(1000) as f64 + 1.0) / 400.0,
        3 | 4 => CORNERS[rng.below(CORNERS.len())],
        5 => [-1.0, 0.0, 1.0][rng.below(3)],
        _ if rng.below(4) == 0 => BEYOND[rng.below(BEYOND.len())],
        _ => CORNERS[rng.below(CORNERS.len())],
    }
}

/// Makes a trial of a plan, and of the program that it is to agree with.
pub fn trial<T: Real>(
    name: String,
    plan: Plan,
    reference: &Program,
    tolerance: f64,
    rng: &mut Rng,
    points: usize,
) -> Trial<T> {
    let mut inputs: Vec<Vec<T>> = vec![Vec::new(); reference.inputs().len()];
    let mut expected = Vec::new();
    for point in 0..points {
        for (list, (len, common)) in inputs.iter_mut().zip(plan.inputs()) {
            if *common && point > 0 {
                continue;
            }
            list.extend((0..*len).map(|_| T::from_f64(number(rng, point))));
        }
        let tensors: Vec<Tensor<T>> = reference
            .inputs()
            .iter()
            .zip(&inputs)
            .map(|(i, list)| Tensor::new(i.shape.clone(), list[list.len() - i.shape.len()..].to_vec()).unwrap())
            .collect();
        let found = run_with(reference, &tensors, Arithmetic::Ieee, &mut Silent);
        expected.push(found.ok().map(|y| y.iter().flat_map(|t| t.data().to_vec()).collect()));
    }
    Trial { name, plan, points, inputs, expected, tolerance }
}

impl<T: Real> Trial<T> {
    /// Compares outputs, one point after the other, with what is expected. `reported` is the first point that does not count.
    pub fn check(&self, outputs: &[Vec<T>], reported: Option<usize>) -> Result<(), String> {
        for (point, expected) in self.expected.iter().enumerate() {
            let Some(expected) = expected else {
                if reported.is_none_or(|r| r > point) {
                    return Err(format!(
                        "{}: the interpreter refuses point {point}, the kernel says nothing",
                        self.name
                    ));
                }
                return Ok(());
            };
            if reported == Some(point) {
                // handed over to the interpreter: only where something is not finite
                if self.inputs.iter().flatten().all(|x| x.is_finite()) && expected.iter().all(|x| x.is_finite()) {
                    return Err(format!("{}: point {point} is reported without need", self.name));
                }
                return Ok(());
            }
            let mut k = 0;
            for (j, &len) in self.plan.outputs().iter().enumerate() {
                for i in 0..len {
                    let (a, b) = (outputs[j][point * len + i].to_f64(), expected[k].to_f64());
                    let scale =
                        expected.iter().map(|x| x.to_f64().abs()).filter(|x| x.is_finite()).fold(1e-30, f64::max);
                    let same =
                        (a.is_nan() && b.is_nan()) || a == b || (a - b).abs() <= self.tolerance * b.abs().max(scale);
                    if !same {
                        return Err(format!(
                            "{}: output {j}[{i}] at point {point} is {a:e}, the interpreter says {b:e}",
                            self.name
                        ));
                    }
                    k += 1;
                }
            }
        }
        Ok(())
    }
}

/// The smallest of many clauses, each the relu of the largest of three literals: `kind` changes what else is around.
pub fn clauses(variables: usize, clauses: usize, kind: usize, rng: &mut Rng) -> Program {
    let mut b = Builder::new("clauses");
    let x: Vec<Atom> = (0..variables).map(|i| b.input(format!("x{i}"), Shape::scalar()).unwrap()).collect();
    let mut members = Vec::new();
    for _ in 0..clauses {
        let literals: Vec<Atom> = (0..3)
            .map(|_| {
                let v = x[rng.below(variables)];
                if rng.below(2) == 0 { v } else { b.neg(v).unwrap() }
            })
            .collect();
        let top = b.max(&literals).unwrap();
        members.push(match kind {
            1 => {
                let c = b.constant_f64(rng.below(8) as f64 / 4.0).unwrap();
                let minus = b.constant_f64(-1.0).unwrap();
                let t = b.sub(top, c).unwrap();
                let t = b.mul(minus, t).unwrap();
                b.abs(t).unwrap()
            }
            _ => b.relu(top).unwrap(),
        });
    }
    let out = match kind {
        2 => {
            let low = b.min(&members).unwrap();
            let rest: Vec<Atom> = members.iter().rev().map(|m| b.neg(*m).unwrap()).collect();
            let high = b.max(&rest).unwrap();
            let both = b.mul(low, x[0]).unwrap();
            let both = b.sub(both, high).unwrap();
            b.mul(both, x[1]).unwrap()
        }
        3 => b.max(&members).unwrap(),
        _ => b.min(&members).unwrap(),
    };
    b.finish(&[out]).unwrap()
}

/// Everything.
pub fn trials<T: Real>(sizes: &[usize], random: usize) -> Vec<Trial<T>> {
    let mut rng = Rng::new(11);
    let mut all = Vec::new();
    // functions come from another library, a few units in the last place off, which derivatives make larger
    let last = if T::PRECISION.bytes() == 4 { 1e-4 } else { 1e-11 };
    let ieee = Options::default().arithmetic(Arithmetic::Ieee);
    let mut programs: Vec<(String, Program)> = Vec::new();
    for &n in sizes {
        programs.extend(operations::programs(n, &mut rng).into_iter().map(|(name, p)| (format!("{name}, {n}"), p)));
    }
    for i in 0..random {
        let p = program(&mut rng, &Random::new(Dictionary::Everything).tensors());
        programs.push((format!("random {i}"), p));
    }
    let selections = ["paper", "paper, max=last, relu=1, abs=0", "jax"].map(|s| Selection::parse(s).unwrap());
    for (i, (name, p)) in programs.iter().enumerate() {
        let value = match Plan::compile::<T>(p, &ieee) {
            Ok(value) => value,
            Err(e) if p.equations().any(|e| matches!(e.op, Op::Position(..) | Op::Gather { .. })) => {
                assert!(e.to_string().contains("positions are not computed on devices"), "{name}: {e}");
                continue;
            }
            Err(e) => panic!("{name}: {e}"),
        };
        all.push(trial(format!("{name}, value"), value, p, last, &mut rng, POINTS));
        let how = How::default().select(selections[i % selections.len()].clone());
        let Ok(derived) = backprop(p, &how) else { continue };
        let plan = Plan::value_and_grad::<T>(p, &[], &ieee.clone().how(how)).unwrap_or_else(|e| panic!("{name}: {e}"));
        all.push(trial(format!("{name}, gradient"), plan, &derived, last, &mut rng, POINTS));
        if i % 3 == 0 {
            let inputs: Vec<usize> = (0..p.inputs().len()).collect();
            let along = differentiate::directional(p, &inputs, 2).unwrap();
            let plan = Plan::compile::<T>(&along, &ieee).unwrap_or_else(|e| panic!("{name}: {e}"));
            all.push(trial(format!("{name}, directional"), plan, &along, last, &mut rng, POINTS));
            let locked = differentiate::locked(p).unwrap();
            let plan = Plan::compile::<T>(&locked, &ieee).unwrap_or_else(|e| panic!("{name}: {e}"));
            all.push(trial(format!("{name}, locked"), plan, &locked, last, &mut rng, POINTS));
        }
    }
    for (kind, members) in [(0, 70), (1, 100), (2, 80), (3, 200), (0, 400)] {
        let p = clauses(if members == 400 { 5 } else { 12 }, members, kind, &mut rng);
        let plan = Plan::compile::<T>(&p, &ieee).unwrap();
        assert_eq!(plan.form(), crease_cuda::Form::Fold, "{plan}");
        all.push(trial(format!("clauses {kind}, value"), plan, &p, 0.0, &mut rng, 40));
        for selection in &selections {
            let how = How::default().select(selection.clone());
            let derived = backprop(&p, &how).unwrap();
            let plan = Plan::value_and_grad::<T>(&p, &[], &ieee.clone().how(how.clone())).unwrap();
            all.push(trial(format!("clauses {kind}, gradient"), plan, &derived, 1e-6, &mut rng, 40));
            // by some inputs only, one of them the same at all points
            let derived = derived.with_outputs(&[0, 4, 2]).unwrap();
            let plan = Plan::value_and_grad::<T>(&p, &[3, 1], &ieee.clone().how(how).common(&[2])).unwrap();
            all.push(trial(format!("clauses {kind}, some of the gradient"), plan, &derived, 1e-6, &mut rng, 40));
        }
    }
    all
}

/// A name, a program, a point and what the interpreter says there, if it says anything.
pub type TensorTrial<T> = (String, Program, Vec<Tensor<T>>, Option<Vec<Tensor<T>>>);

/// Programs of tensors and their gradients, each with a point and what the interpreter says there.
pub fn tensor_trials<T: Real>(sizes: &[usize], random: usize) -> Vec<TensorTrial<T>> {
    let mut rng = Rng::new(5);
    let mut all = Vec::new();
    let mut programs: Vec<(String, Program)> = Vec::new();
    for &n in sizes {
        programs.extend(operations::programs(n, &mut rng).into_iter().map(|(name, p)| (format!("{name}, {n}"), p)));
    }
    for i in 0..random {
        programs.push((format!("random {i}"), program(&mut rng, &Random::new(Dictionary::Everything).tensors())));
    }
    for (name, p) in programs {
        let derived = backprop(&p, &How::default()).ok().map(|d| (format!("{name}, gradient"), d));
        for (name, p) in [(format!("{name}, value"), p)].into_iter().chain(derived) {
            for point in [0, 2, 5] {
                let inputs: Vec<Tensor<T>> = p
                    .inputs()
                    .iter()
                    .map(|i| {
                        let numbers = (0..i.shape.len()).map(|_| T::from_f64(number(&mut rng, point))).collect();
                        Tensor::new(i.shape.clone(), numbers).unwrap()
                    })
                    .collect();
                let expected = run_with(&p, &inputs, Arithmetic::Ieee, &mut Silent).ok();
                all.push((name.clone(), p.clone(), inputs, expected));
            }
        }
    }
    all
}
