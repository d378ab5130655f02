//! Growing a program: values with what is known about them, guards, calls, and the choice of outputs.

use super::{Dictionary, Options, RADIUS, Rng};
use crease_core::differentiate::{How, Selection, backprop};
use crease_core::{Atom, Builder, Op, Program, Rational, Shape};
use std::sync::Arc;

/// Exact numbers stay short while degrees stay below this.
const MAX_DEGREE: usize = 10;
/// Values stay below this, so that floating point keeps most of its digits.
const MAX_SIZE: f64 = 1000.0;

/// What is known about every element of a value, at all points within the radius.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fact {
    /// No element is larger than this.
    pub size: f64,
    /// No element is smaller than this; 0 if they may be negative.
    pub low: f64,
    /// The degree as a rational function of the inputs.
    pub degree: usize,
    /// Whether it has a denominator.
    pub fraction: bool,
}

impl Fact {
    pub fn constant(c: f64) -> Self {
        Fact { size: c.abs(), low: c.max(0.0), degree: 0, fraction: false }
    }

    fn input() -> Self {
        Fact { size: RADIUS as f64, low: 0.0, degree: 1, fraction: false }
    }

    /// Of something between two values.
    pub fn either(self, other: Fact) -> Self {
        Fact {
            size: self.size.max(other.size),
            low: self.low.min(other.low),
            degree: self.degree.max(other.degree),
            fraction: self.fraction || other.fraction,
        }
    }

    pub fn plus(self, other: Fact) -> Self {
        let both = self.fraction && other.fraction;
        Fact {
            size: self.size + other.size,
            low: 0.0,
            degree: if both { self.degree + other.degree } else { self.degree.max(other.degree) },
            fraction: self.fraction || other.fraction,
        }
    }

    pub fn times(self, other: Fact) -> Self {
        Fact {
            size: self.size * other.size,
            low: 0.0,
            degree: self.degree + other.degree,
            fraction: self.fraction || other.fraction,
        }
    }

    /// Of the sum of `n` such values.
    pub fn sum(self, n: usize) -> Self {
        let degree = if self.fraction { self.degree * n } else { self.degree };
        Fact { size: self.size * n as f64, low: 0.0, degree, ..self }
    }

    pub fn within(self, size: f64) -> Self {
        Fact { size, low: 0.0, ..self }
    }
}

/// A value of the program that is being grown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Var {
    pub atom: Atom,
    pub fact: Fact,
}

/// A sub-program that can be called.
struct Sub {
    program: Arc<Program>,
    joint: Option<Arc<Program>>,
    outputs: Vec<Fact>,
}

/// Sub-programs, those with the same signature together; each family calls only those of lower depth.
pub(super) struct Library {
    families: Vec<Vec<Sub>>,
    /// how many of them can be called
    visible: usize,
}

impl Library {
    pub fn new(rng: &mut Rng, options: &Options) -> Self {
        let mut library = Library { families: Vec::new(), visible: 0 };
        for depth in 0..options.calls {
            for _ in 0..1 + rng.below(2) {
                let family = library.family(rng, options, depth);
                library.families.push(family);
            }
            library.visible = library.families.len();
        }
        library
    }

    fn family(&self, rng: &mut Rng, options: &Options, depth: usize) -> Vec<Sub> {
        let shape = |rng: &mut Rng| if options.tensors { some_shape(rng) } else { Shape::scalar() };
        let inputs: Vec<Shape> = (0..1 + rng.below(3)).map(|_| shape(rng)).collect();
        let outputs: Vec<Shape> = match rng.below(2) {
            0 => vec![Shape::scalar()],
            _ => (0..1 + rng.below(3)).map(|_| shape(rng)).collect(),
        };
        let members = 1 + rng.below(if options.branches { 3 } else { 1 });
        let member = |rng: &mut Rng, i: usize| {
            let name = format!("g{depth}_{}_{i}", self.families.len());
            let mut g = Grower::new(&name, rng, options, self);
            inputs.iter().enumerate().for_each(|(k, s)| g.input(&format!("a{k}"), s.clone()));
            let n = 1 + g.rng.below(4);
            g.grow(n);
            let outputs: Vec<Var> = outputs.iter().map(|s| g.output_of_shape(s)).collect();
            let atoms: Vec<Atom> = outputs.iter().map(|v| v.atom).collect();
            let facts = outputs.iter().map(|v| v.fact).collect();
            let program = Arc::new(g.b.finish(&atoms).expect("a sub-program can be built"));
            // some have a derivative of their own, which picks at kinks what it likes
            let scalar = atoms.len() == 1 && outputs_scalar(&program);
            let joint = (options.joints && scalar && rng.once_in(2)).then(|| {
                let how = How::default().select(Selection::jax());
                Arc::new(backprop(&program, &how).expect("a sub-program can be differentiated"))
            });
            Sub { program, joint, outputs: facts }
        };
        (0..members).map(|i| member(rng, i)).collect()
    }

    pub fn main(&self, rng: &mut Rng, options: &Options) -> Arc<Program> {
        let mut g = Grower::new("f", rng, options, self);
        for i in 0..options.inputs {
            let shape = if options.tensors && !g.rng.once_in(3) { some_shape(g.rng) } else { Shape::scalar() };
            g.input(&format!("x{i}"), shape);
        }
        g.grow(options.equations);
        let outputs: Vec<Atom> = match options.outputs {
            None => vec![g.total().atom],
            Some(n) => (0..n).map(|_| g.any_output().atom).collect(),
        };
        Arc::new(g.b.finish(&outputs).expect("a random program can be built"))
    }
}

fn outputs_scalar(p: &Program) -> bool {
    p.outputs().iter().all(|&o| p.atom_shape(o).is_scalar())
}

/// A small shape, often that of a scalar.
pub(super) fn some_shape(rng: &mut Rng) -> Shape {
    let dims: &[&[usize]] =
        &[&[], &[1], &[2], &[3], &[4], &[2, 2], &[2, 3], &[3, 2], &[1, 3], &[1, 3, 3], &[2, 2, 3], &[1, 1, 2, 2]];
    Shape::new(rng.pick(dims).to_vec()).expect("a shape without empty axes")
}

/// A program in growth.
pub(super) struct Grower<'a> {
    pub b: Builder,
    pub rng: &'a mut Rng,
    pub o: &'a Options,
    library: &'a Library,
    pub pool: Vec<Var>,
    used: Vec<bool>,
}

impl<'a> Grower<'a> {
    fn new(name: &str, rng: &'a mut Rng, o: &'a Options, library: &'a Library) -> Self {
        Grower { b: Builder::new(name), rng, o, library, pool: Vec::new(), used: Vec::new() }
    }

    fn input(&mut self, name: &str, shape: Shape) {
        let atom = self.b.input(name, shape).expect("a fresh input");
        self.keep(atom, Fact::input());
    }

    fn grow(&mut self, n: usize) {
        for _ in 0..n {
            self.step();
        }
    }

    /// Whether sizes matter: where all is linear, numbers cannot leave the range of floating point.
    pub fn sizes_matter(&self) -> bool {
        !matches!(self.o.dictionary, Dictionary::D0 | Dictionary::PiecewiseLinear)
    }

    pub fn fits(&self, fact: Fact) -> bool {
        (!self.o.exact || fact.degree <= MAX_DEGREE) && (!self.sizes_matter() || fact.size <= MAX_SIZE)
    }

    /// Enters a value into the pool.
    pub fn keep(&mut self, atom: Atom, fact: Fact) -> Var {
        let var = Var { atom, fact };
        self.pool.push(var);
        self.used.push(false);
        var
    }

    /// One equation on arguments that fit.
    pub fn emit(&mut self, op: impl Into<Op>, args: &[Var], fact: Fact) -> Var {
        let atoms: Vec<Atom> = args.iter().map(|v| v.atom).collect();
        let atom = self.b.elementwise(op, &atoms).expect("arguments that fit");
        self.keep(atom, fact)
    }

    /// A value of the pool, rather a recent one or one that was not used yet.
    pub fn any(&mut self) -> Var {
        let n = self.pool.len();
        let mut i = self.rng.below(n);
        if self.rng.once_in(2) {
            i = i.max(self.rng.below(n));
        }
        if self.used[i] {
            i = self.rng.below(n);
        }
        self.used[i] = true;
        self.pool[i]
    }

    pub fn any_scalar(&mut self) -> Var {
        let v = self.any();
        self.one_number(v)
    }

    pub fn constant(&mut self) -> Var {
        let (n, d) = *self.rng.pick(&[(1, 1), (2, 1), (-1, 1), (1, 2), (3, 1), (-2, 1), (1, 3), (-3, 4), (0, 1)]);
        let c = Rational::new(n, d).unwrap_or_default();
        let fact = Fact::constant(c.to_f64());
        Var { atom: self.b.constant(c), fact }
    }

    /// A value or, where the dictionary has constants, now and then a constant.
    pub fn any_or_constant(&mut self) -> Var {
        if self.o.dictionary != Dictionary::D0 && self.rng.once_in(6) { self.constant() } else { self.any() }
    }

    /// The value scaled until it is not larger than `size`.
    pub fn small(&mut self, v: Var, size: f64) -> Var {
        if !self.sizes_matter() || v.fact.size <= size {
            return v;
        }
        let halvings = (v.fact.size / size).log2().ceil() as u32;
        let share = 0.5f64.powi(halvings as i32);
        let c = self.b.constant(Rational::new(1, 1 << halvings.min(60)).unwrap_or_default());
        let fact = Fact { size: v.fact.size * share, low: v.fact.low * share, ..v.fact };
        self.emit(Op::Mul, &[v, Var { atom: c, fact: Fact::constant(share) }], fact)
    }

    /// One of the inputs: of degree 1 and not larger than the radius.
    pub fn plain(&mut self) -> Var {
        let inputs = self.pool.iter().filter(|v| v.fact.degree <= 1 && v.fact.size <= RADIUS as f64).count().max(1);
        let i = self.rng.below(inputs);
        self.used[i] = true;
        self.pool[i]
    }

    /// Calls a sub-program, or selects among some of one family.
    pub fn call(&mut self, select: bool) -> bool {
        let callable = &self.library.families[..self.library.visible];
        if callable.is_empty() {
            return false;
        }
        let family = self.rng.pick(callable);
        let count = if select { 2 + self.rng.below(2) } else { 1 };
        let chosen: Vec<&Sub> = (0..count).map(|_| self.rng.pick(family)).collect();
        let first = &chosen[0].program;
        let degree = chosen.iter().flat_map(|s| &s.outputs).map(|f| f.degree).max().unwrap_or(1).max(1);
        let mut args: Vec<Atom> = Vec::new();
        if select {
            args.extend((0..count - 1).map(|_| self.condition()));
        }
        let mut reach = 1;
        for input in first.inputs() {
            if input.shape.is_scalar() && self.o.dictionary != Dictionary::D0 && self.rng.once_in(5) {
                args.push(self.constant().atom);
                continue;
            }
            let mut v = self.any();
            if self.o.exact && v.fact.degree * degree > MAX_DEGREE {
                v = self.plain();
            }
            let v = self.reshaped(v, &input.shape);
            let v = self.small(v, RADIUS as f64);
            let v = if self.o.exact && v.fact.degree * degree > MAX_DEGREE { self.zeros(&input.shape) } else { v };
            reach = reach.max(v.fact.degree);
            args.push(v.atom);
        }
        let ids: Vec<_> = chosen
            .iter()
            .map(|s| self.b.callee(s.program.clone(), s.joint.clone()).expect("a fitting joint program"))
            .collect();
        let op = if select { Op::Select(ids.into()) } else { Op::Call(ids[0]) };
        let results = self.b.push(op, &args).expect("arguments that fit");
        for (k, &atom) in results.iter().enumerate() {
            let facts = chosen.iter().map(|s| s.outputs[k]);
            let fact = facts.reduce(Fact::either).unwrap_or(Fact::constant(0.0));
            self.keep(atom, Fact { degree: fact.degree * reach, fraction: true, ..fact });
        }
        true
    }

    fn zeros(&mut self, shape: &Shape) -> Var {
        let atom = self.b.zeros(shape.clone()).expect("a shape that is there");
        Var { atom, fact: Fact::constant(0.0) }
    }

    /// An output of a given shape, now and then a constant.
    fn output_of_shape(&mut self, shape: &Shape) -> Var {
        if shape.is_scalar() && self.o.dictionary != Dictionary::D0 && self.rng.once_in(8) {
            return self.constant();
        }
        let v = if self.rng.once_in(8) { self.any() } else { self.latest() };
        self.reshaped(v, shape)
    }

    /// An output of any shape.
    fn any_output(&mut self) -> Var {
        match self.rng.below(8) {
            0 => self.constant(),
            1 | 2 => self.any(),
            _ => self.latest(),
        }
    }

    fn latest(&mut self) -> Var {
        let unused = (0..self.pool.len()).rev().find(|&i| !self.used[i]);
        let i = unused.unwrap_or(self.pool.len() - 1);
        self.used[i] = true;
        self.pool[i]
    }

    /// The sum of some values that nothing else used, so that little is computed in vain.
    fn total(&mut self) -> Var {
        let mut leaves: Vec<Var> = (0..self.pool.len()).filter(|&i| !self.used[i]).map(|i| self.pool[i]).collect();
        leaves.reverse();
        leaves.truncate(4);
        if leaves.is_empty() {
            leaves.extend(self.pool.last());
        }
        let mut total: Option<Var> = None;
        for v in leaves {
            let v = self.one_number(v);
            total = Some(match total {
                None => v,
                Some(t) => {
                    let atom = self.b.add(t.atom, v.atom).expect("two scalars");
                    Var { atom, fact: t.fact.plus(v.fact) }
                }
            });
        }
        match total {
            Some(t) if t.atom.value().is_some() => t,
            _ => self.pool[0],
        }
    }
}
