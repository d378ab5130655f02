//! Growing a program step by step, with the value of everything at the point.

use super::point::constant;
use super::prune::pruned;
use crate::precise::{Arithmetic, Fault, Number};
use crate::random::Rng;
use crease_core::{Atom, Builder, Kink, Lane, Op, Program, Rational, Shape};
use dashu_ratio::RBig;
use std::rc::Rc;

/// The precision at which values are known while a program grows: enough to see ties at 1e-40.
const BITS: usize = 400;

/// Programs are not grown beyond so many equations.
const MOST: usize = 60;

/// A value of the program and, unless there is none, its number at the point.
#[derive(Clone, Debug)]
pub(super) struct Var {
    pub atom: Atom,
    pub number: Option<Number>,
}

impl Var {
    /// The number, if it is known exactly.
    pub fn exact(&self) -> Option<&RBig> {
        self.number.as_ref()?.exact()
    }

    pub fn is_zero(&self) -> bool {
        self.exact().is_some_and(RBig::is_zero)
    }
}

pub(super) struct Grower<'a> {
    pub rng: &'a mut Rng,
    pub b: Builder,
    pub arithmetic: Rc<Arithmetic>,
    /// what the next steps may use: inputs first
    pub pool: Vec<Var>,
    inputs: usize,
    equations: usize,
    /// how deep in sub-programs
    pub depth: usize,
}

/// A program with the given number of steps, made for a point.
pub(super) fn program(rng: &mut Rng, point: &[Rational], steps: usize) -> Program {
    let numbers = point.iter().map(|x| Some(Number::Exact(RBig::from(x.clone())))).collect();
    let arithmetic = Rc::new(Arithmetic::new(BITS));
    grown(rng, arithmetic, "f", numbers, steps, 0).0
}

/// A program whose inputs have the given numbers, and the number of its output.
pub(super) fn grown(
    rng: &mut Rng,
    arithmetic: Rc<Arithmetic>,
    name: &str,
    inputs: Vec<Option<Number>>,
    steps: usize,
    depth: usize,
) -> (Program, Option<Number>) {
    let mut g = Grower::new(rng, arithmetic, name, inputs, depth);
    for _ in 0..steps {
        if g.equations < MOST {
            g.step();
        }
    }
    g.finish()
}

impl<'a> Grower<'a> {
    pub fn new(
        rng: &'a mut Rng,
        arithmetic: Rc<Arithmetic>,
        name: &str,
        inputs: Vec<Option<Number>>,
        depth: usize,
    ) -> Self {
        let mut b = Builder::new(name.to_string());
        let mut pool = Vec::new();
        for (i, number) in inputs.into_iter().enumerate() {
            let word = ["x", "y", "z", "u", "v", "w"].get(i).map_or_else(|| format!("x{i}"), |w| (*w).to_string());
            let atom = b.input(word, Shape::scalar()).expect("inputs come first and have names of their own");
            pool.push(Var { atom, number });
        }
        Grower { rng, b, arithmetic, inputs: pool.len(), pool, equations: 0, depth }
    }

    /// The program, with what was grown last as its output, and mostly something of what was grown before.
    pub fn finish(mut self) -> (Program, Option<Number>) {
        let mut output = self.pool[self.pool.len() - 1].clone();
        for _ in 0..self.rng.below(3) {
            let other = self.any();
            let how = self.rng.pick(&[Op::Add, Op::Sub, Op::Add]).clone();
            if other.atom != output.atom
                && let Some(sum) = self.emit(how, &[&output, &other])
            {
                output = sum;
            }
        }
        if output.atom.value().is_none() {
            output = self.pool[0].clone();
        }
        let program = self.b.finish(&[output.atom]).expect("there is an output");
        // now and then what is not needed stays, and may have no value
        let program = if self.rng.once_in(12) { program } else { pruned(&program).unwrap_or(program) };
        (program, output.number)
    }

    /// Puts a value where the next steps find it.
    pub fn keep(&mut self, v: Option<Var>) {
        self.pool.extend(v);
    }

    /// A value, often a recent one.
    pub fn any(&mut self) -> Var {
        let n = self.pool.len();
        let i = match self.rng.below(3) {
            0 => n - 1,
            1 => self.rng.below(self.inputs),
            _ => self.rng.below(n),
        };
        self.pool[i].clone()
    }

    pub fn constant(&mut self, r: Rational) -> Var {
        Var { number: Some(Number::Exact(RBig::from(r.clone()))), atom: self.b.constant(r) }
    }

    /// A constant of any kind.
    pub fn some_constant(&mut self) -> Var {
        let r = constant(self.rng);
        self.constant(r)
    }

    pub fn ratio(&mut self, n: i64, d: i64) -> Var {
        self.constant(Rational::new(n, d).unwrap_or_default())
    }

    pub fn any_or_constant(&mut self) -> Var {
        if self.rng.once_in(3) { self.some_constant() } else { self.any() }
    }

    /// Applies an operation. What certainly has no value at the point is mostly not emitted.
    pub fn emit(&mut self, op: impl Into<Op>, args: &[&Var]) -> Option<Var> {
        Some(self.emit_all(op.into(), args)?.swap_remove(0))
    }

    /// The same for operations of several results.
    pub fn emit_all(&mut self, op: Op, args: &[&Var]) -> Option<Vec<Var>> {
        let numbers: Option<Vec<Number>> = args.iter().map(|v| v.number.clone()).collect();
        let results = numbers.map(|n| self.arithmetic.scalar(&op, &n));
        let numbers = match results {
            None => None,
            Some(Ok(list)) if list.iter().all(sensible) => Some(list),
            Some(Err(Fault::NoValue(_))) if self.rng.once_in(40) => None,
            // a decision that is too close for these bits is what others shall stumble over
            Some(Err(Fault::TooClose)) => None,
            Some(_) => return None,
        };
        let atoms: Vec<Atom> = args.iter().map(|v| v.atom).collect();
        let results = match &op {
            Op::Kink(k) if k.lane().is_some() => self.b.lane(k, &atoms).ok()?,
            Op::LogSumExp(_) | Op::Position(..) | Op::Gather { .. } => self.b.push(op, &atoms).ok()?,
            _ => vec![self.b.elementwise(op, &atoms).ok()?],
        };
        self.equations += 1;
        let number = |i: usize| numbers.as_ref().map(|n| n[i].clone());
        Some(results.into_iter().enumerate().map(|(i, atom)| Var { atom, number: number(i) }).collect())
    }

    /// A group operation on the last axis of a vector made of the arguments.
    pub fn emit_on_axis(&mut self, kink: &Kink, args: &[&Var]) -> Option<Var> {
        let numbers: Option<Vec<Number>> = args.iter().map(|v| v.number.clone()).collect();
        let op = Op::Kink(kink.with_lane(Lane::Args));
        let results = numbers.and_then(|n| self.arithmetic.scalar(&op, &n).ok());
        let atoms: Vec<Atom> = args.iter().map(|v| v.atom).collect();
        let vector = self.b.concat(&atoms, 0).ok()?;
        let out = self.b.lane_all(kink, vector).ok()?;
        self.equations += 2;
        let Kink::Sort(_) = kink else {
            return Some(Var { atom: out, number: results.map(|mut r| r.swap_remove(0)) });
        };
        let i = self.rng.below(args.len());
        let atom = self.b.at(out, &[i]).ok()?;
        Some(Var { atom, number: results.map(|mut r| r.swap_remove(i)) })
    }

    /// How many equations there are.
    pub fn count(&mut self, equations: usize) {
        self.equations += equations;
    }
}

/// Whether a number is of a size at which a program can go on.
fn sensible(x: &Number) -> bool {
    let size = x.to_f64().abs();
    size < 1e80
}
