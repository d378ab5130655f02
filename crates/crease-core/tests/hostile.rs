//! A builder that is given nonsense: every method says what is wrong or builds what the verifier accepts, and none panics.

use crease_core::cost::tally;
use crease_core::op::{CalleeId, Choice, Comparison, Logic};
use crease_core::random::SplitMix64;
use crease_core::{
    Atom, BuildError, Builder, Conv2d, Kink, Lane, Layout, Op, Program, Rational, Shape, Smooth, Tape, Ties, Window,
    trace,
};
use std::sync::Arc;

/// Numbers that are likely to be wrong somewhere.
struct Hostile {
    random: SplitMix64,
    /// atoms and callees of another program, some of them with numbers that this one does not have
    foreign: Vec<Atom>,
    foreign_callee: CalleeId,
    callee: Arc<Program>,
}

impl Hostile {
    fn new(seed: u64) -> Self {
        let mut other = Builder::new("other");
        let mut foreign: Vec<Atom> =
            (0..90).map(|i| other.input(format!("y{i}"), Shape::new([2, 3]).unwrap()).unwrap()).collect();
        foreign.extend((0..50).map(|i| other.constant(1000 + i)));
        let callee = Arc::new(trace(2, |x| x[0] * x[1]).unwrap());
        let mut foreign_callee = other.callee(callee.clone(), None).unwrap();
        for _ in 0..3 {
            foreign_callee = other.callee(Arc::new(trace(1, |x| x[0]).unwrap()), None).unwrap();
        }
        foreign.drain(..60);
        Hostile { random: SplitMix64::new(seed), foreign, foreign_callee, callee }
    }

    fn below(&mut self, n: usize) -> usize {
        self.random.below(n as u64) as usize
    }

    fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    fn size(&mut self) -> usize {
        self.pick(&[
            0,
            1,
            1,
            2,
            2,
            3,
            3,
            4,
            5,
            99,
            1 << 20,
            1 << 27,
            1 << 31,
            1 << 40,
            1 << 62,
            usize::MAX / 2,
            usize::MAX,
        ])
    }

    fn small(&mut self) -> usize {
        self.pick(&[0, 1, 1, 2, 2, 3, 3, 4, 6, 7])
    }

    fn axis(&mut self) -> isize {
        self.pick(&[0, 0, 1, 1, 2, -1, -1, -2, -3, 99, isize::MIN, isize::MAX])
    }

    fn signed(&mut self) -> isize {
        self.pick(&[0, 1, 1, 1, -1, 2, 3, -4, isize::MIN, isize::MAX, 1 << 40])
    }

    fn list<T>(&mut self, longest: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let n = self.below(longest + 1);
        (0..n).map(|_| one(self)).collect()
    }

    /// A shape that can be.
    fn shape(&mut self) -> Shape {
        loop {
            let dims = self.list(3, |h| if h.below(8) == 0 { h.size() } else { h.small() });
            if let Ok(shape) = Shape::new(dims) {
                return shape;
            }
        }
    }

    fn layout(&mut self, b: &Builder, atoms: &[Atom]) -> Layout {
        match self.below(5) {
            0 => Layout::table(self.list(6, |h| h.small() as u32)),
            1 => Layout::table(self.list(3, |h| h.size() as u32)),
            2 => Layout::identity(b.shape(self.atom(atoms)).len()),
            3 => {
                let (offset, loops) = (self.small(), self.list(3, |h| (h.small(), h.signed())));
                Layout::strided(offset, &loops)
            }
            _ => {
                let (offset, loops) = (self.size(), self.list(3, |h| (h.size(), h.signed())));
                Layout::strided(offset, &loops)
            }
        }
    }

    fn atom(&mut self, atoms: &[Atom]) -> Atom {
        match self.below(12) {
            0 => self.pick(&self.foreign.clone()),
            _ => self.pick(atoms),
        }
    }

    fn pair(&mut self) -> (usize, usize) {
        match self.below(3) {
            0 => (self.size(), self.size()),
            _ => (self.small(), self.small()),
        }
    }

    fn rational(&mut self) -> Rational {
        let n = self.pick(&[0, 1, -1, 2, 3, i64::MAX, i64::MIN + 1]);
        Rational::new(n, self.pick(&[1, 2, 3, i64::MAX])).unwrap_or_default()
    }

    fn lane(&mut self) -> Lane {
        self.pick(&[Lane::Args, Lane::Axis])
    }

    fn kink(&mut self) -> Kink {
        let lane = self.lane();
        match self.below(12) {
            0 => Kink::Relu,
            1 => Kink::TimesRelu,
            2 => Kink::Abs,
            3 => Kink::LeakyRelu(self.rational()),
            4 => Kink::Elu(self.rational()),
            5 => Kink::Max(lane),
            6 => Kink::Min(lane),
            7 => Kink::OrderStatistic(lane, self.size()),
            8 => Kink::Sort(lane),
            9 => Kink::Norm1(lane),
            10 => Kink::NormInf(lane),
            _ => Kink::MaxLinear { lane, rows: self.size() },
        }
    }

    fn op(&mut self, b: &mut Builder, atoms: &[Atom]) -> Op {
        match self.below(20) {
            0 => Op::Add,
            1 => Op::Sub,
            2 => Op::Mul,
            3 => Op::Div,
            4 => Op::Neg,
            5 => Op::Smooth(Smooth::Inv),
            6 => Op::Smooth(Smooth::Exp),
            7 => Op::Smooth(Smooth::Sigmoid),
            8 => Op::Smooth(Smooth::Power(self.pick(&[0, 1, 2, -3, i32::MAX, i32::MIN, i32::MIN + 1]))),
            9 => Op::LogSumExp(self.lane()),
            10 => Op::LogSumExpJoint(self.lane()),
            11 => Op::Kink(self.kink()),
            12 => Op::Joint(self.kink(), Choice { at_kink: self.rational(), ties: Ties::Average }),
            13 => Op::Permute { lane: self.lane(), inverse: self.below(2) == 0 },
            14 => Op::View { layout: self.layout(b, atoms), shape: self.shape() },
            15 => {
                let pieces = self.list(3, |h| h.layout(b, atoms));
                Op::Assemble { shape: self.shape(), pieces: pieces.into() }
            }
            16 => Op::MatMul { transpose_a: self.below(2) == 0, transpose_b: self.below(2) == 0 },
            17 => Op::Compare(self.pick(&[Comparison::Less, Comparison::Equal])),
            18 => Op::Logic(self.pick(&[Logic::And, Logic::Or, Logic::Not])),
            _ => {
                let known = b.callee(self.callee.clone(), None).unwrap();
                let ids = self.list(3, |h| if h.below(4) == 0 { h.foreign_callee } else { known });
                if self.below(2) == 0 {
                    Op::Select(ids.into())
                } else {
                    Op::Call(ids.first().copied().unwrap_or(known))
                }
            }
        }
    }

    /// One call of one method.
    fn call(&mut self, b: &mut Builder, atoms: &[Atom]) -> Result<Vec<Atom>, BuildError> {
        let x = self.atom(atoms);
        let y = self.atom(atoms);
        let some = self.list(4, |h| h.atom(atoms));
        let one = |r: Result<Atom, BuildError>| r.map(|a| vec![a]);
        match self.below(45) {
            0 => one(b.input(format!("z{}", self.small()), self.shape())),
            1 => Ok(vec![b.constant(self.rational())]),
            2 => one(b.constant_f64(self.pick(&[0.1, f64::NAN, f64::INFINITY, -0.0, f64::MAX]))),
            3 => {
                let op = self.op(b, atoms);
                b.push(op, &some)
            }
            4 => {
                let op = self.op(b, atoms);
                one(b.push1(op, &some))
            }
            5 => {
                let op = self.op(b, atoms);
                one(b.elementwise(op, &some))
            }
            6 => one(b.add(x, y)),
            7 => one(b.sub(x, y)),
            8 => one(b.mul(x, y)),
            9 => one(b.div(x, y)),
            10 => one(b.neg(x)),
            11 => one(b.power(x, self.pick(&[0, 2, -3, i32::MAX, i32::MIN]))),
            12 => one(b.relu(x)),
            13 => one(b.abs(x)),
            14 => one(b.leaky_relu(x, self.rational())),
            15 => one(b.elu(x, self.rational())),
            16 => one(b.times_relu(x, y)),
            17 => one(b.compare(Comparison::Less, x, y)),
            18 => one(b.logic(self.pick(&[Logic::And, Logic::Not]), &some)),
            19 => b.lane(&self.kink(), &some),
            20 => one(b.lane_axis(&self.kink(), x, self.axis())),
            21 => one(b.lane_all(&self.kink(), x)),
            22 => one(b.flatten(x)),
            23 => one(b.max(&some)),
            24 => one(b.min(&some)),
            25 => one(b.norm1(x)),
            26 => one(b.norminf(x)),
            27 => one(b.median(x)),
            28 => one(b.max_linear(x, y)),
            29 => one(b.logsumexp_axis(x, self.axis())),
            30 => one(b.logsumexp(x)),
            31 => {
                let (layout, shape) = (self.layout(b, atoms), self.shape());
                one(b.view(x, layout, shape))
            }
            32 => {
                let pieces = some.iter().map(|&a| (a, self.layout(b, atoms))).collect();
                one(b.assemble(self.shape(), pieces))
            }
            33 => one(b.zeros(self.shape())),
            34 => one(b.tensor(self.shape(), self.list(8, |h| h.pick(&[0.0, 1.5, f64::NAN])))),
            35 => one(b.reshape(x, &self.shape())),
            36 => one(b.broadcast(x, &self.shape())),
            37 => one(b.transpose(x, &self.list(4, Self::small))),
            38 => {
                let ranges = self.list(3, |h| (h.small(), h.pick(&[0, 1, 1, 2, usize::MAX]), h.signed()));
                one(b.slice(x, &ranges))
            }
            39 => one(b.at(x, &self.list(3, |h| if h.below(5) == 0 { h.size() } else { h.below(3) }))),
            40 => one(b.gather(x, self.axis(), &self.list(4, |h| if h.below(9) == 0 { h.size() } else { h.below(3) }))),
            41 => one(b.concat(&some, self.axis())),
            42 => {
                let axes = self.list(3, |h| if h.below(6) == 0 { h.size() } else { h.below(3) });
                one(if self.below(2) == 0 { b.sum(x, &axes) } else { b.mean(x, &axes) })
            }
            43 => match self.below(3) {
                0 => one(b.matmul(x, y)),
                1 => one(b.conv2d(x, y, Conv2d { stride: self.pair(), padding: self.pair() })),
                _ => one(b.maxpool2d(x, Window::new(self.pair()).stride(self.pair()).padding(self.pair()))),
            },
            _ => {
                let callee = self.callee.clone();
                if self.below(2) == 0 { b.splice(&callee, &some) } else { one(b.sum_all(x)) }
            }
        }
    }
}

/// Values that are too large to be counted element by element in a test.
fn is_small(p: &Program) -> bool {
    let small = |v: crease_core::Value| p.shape(v).len() <= 1 << 16;
    p.input_values().chain(p.equations().flat_map(|e| e.results())).all(small)
}

#[test]
fn every_method_fails_with_an_error_or_builds_what_the_verifier_accepts() {
    let (mut refused, mut built, mut finished) = (0, 0, 0);
    for seed in 0..4000 {
        let mut h = Hostile::new(seed);
        let mut b = Builder::new("hostile");
        let mut atoms: Vec<Atom> = Vec::new();
        for (i, dims) in [&[][..], &[3], &[2, 3], &[2, 3, 4], &[1, 2, 4, 4], &[3, 2, 2, 2]].into_iter().enumerate() {
            atoms.push(b.input(format!("x{i}"), Shape::new(dims).unwrap()).unwrap());
        }
        for _ in 0..25 {
            match h.call(&mut b, &atoms) {
                // what is too large to be looked at in a test is left alone
                Ok(new) => atoms.extend(new.into_iter().filter(|&a| b.shape(a).len() <= 1 << 16)),
                Err(e) => {
                    assert!(!e.to_string().is_empty());
                    refused += 1;
                    continue;
                }
            }
            built += 1;
        }
        let outputs: Vec<Atom> = h.list(3, |h| h.atom(&atoms));
        let Ok(p) = b.finish(&outputs) else { continue };
        let faults = p.verify();
        assert!(faults.is_empty(), "seed {seed}: {faults:?}\n{p}");
        finished += 1;
        if is_small(&p) {
            tally(&p);
        }
    }
    assert!(refused > 10_000 && built > 10_000 && finished > 1000, "{refused} {built} {finished}");
}

#[test]
fn a_trace_keeps_its_first_error() {
    let mut h = Hostile::new(7);
    let (mut failed, mut fine) = (0, 0);
    for _ in 0..4000 {
        let tape = Tape::new("hostile");
        let mut vars = vec![
            tape.input("a", Shape::scalar()),
            tape.input("b", Shape::vector(3).unwrap()),
            tape.input("c", Shape::new([2, 3]).unwrap()),
            tape.input("d", Shape::new([1, 2, 4, 4]).unwrap()),
            tape.input("k", Shape::new([3, 2, 2, 2]).unwrap()),
        ];
        for _ in 0..1 + h.below(3) {
            let (x, y) = (h.pick(&vars), h.pick(&vars));
            let dims = h.list(3, |h| if h.below(8) == 0 { h.size() } else { h.small() });
            let positions = h.list(3, Hostile::small);
            let new = match h.below(24) {
                0 => x + y,
                1 => x.powi(h.pick(&[2, i32::MIN, i32::MAX])),
                2 => x.sum_axis(h.axis()),
                3 => x.mean(),
                4 => x.matmul(y),
                5 => x.transpose(),
                6 => x.reshape(&dims),
                7 => x.broadcast(&dims),
                8 => x.at(&positions),
                9 => x.slice_axis(h.axis(), h.size(), h.size()),
                10 => x.gather(h.axis(), &positions),
                11 => x.conv2d(y, Conv2d { stride: h.pair(), padding: h.pair() }),
                12 => x.maxpool2d(Window::new(h.pair()).stride(h.pair()).padding(h.pair())),
                13 => x.max_axis(h.axis()),
                14 => x.sort(h.axis()),
                15 => x.order_statistic(h.size()),
                16 => x.logsumexp(h.axis()),
                17 => x.compare(Comparison::Less, y).and(x),
                18 => crease_core::leaky_relu(x, h.pick(&[0.5, 2.0, f64::NAN])),
                19 => crease_core::elu(x, h.pick(&[0.5, -2.0, f64::INFINITY])),
                20 => crease_core::concat(&[x, y], h.axis()),
                21 => crease_core::max_linear(x, y),
                22 => x * f64::NAN,
                _ => {
                    let args = if h.below(2) == 0 { vec![x, y] } else { vec![x] };
                    tape.call(&h.callee.clone(), &args)[0]
                }
            };
            vars.push(new);
        }
        match tape.finish(&vars[5..]) {
            Ok(p) => {
                assert!(p.verify().is_empty(), "{p}");
                fine += 1;
            }
            Err(e) => {
                assert!(!e.to_string().is_empty());
                failed += 1;
            }
        }
    }
    assert!(failed > 500 && fine > 50, "{failed} {fine}");
}

#[test]
fn what_the_builder_was_known_to_let_through() {
    let square = trace(2, |x| x[0] * x[1]).unwrap();
    let mut b = Builder::new("f");
    let x = b.input("x", Shape::vector(4).unwrap()).unwrap();
    let s = b.input("s", Shape::scalar()).unwrap();
    let said = |r: Result<Vec<Atom>, BuildError>| r.unwrap_err().to_string();
    let one = |r: Result<Atom, BuildError>| r.unwrap_err().to_string();
    assert_eq!(said(b.splice(&square, &[s])), "program `f` takes 2 arguments, got 1");
    assert_eq!(said(b.splice(&square, &[s, s, s])), "program `f` takes 2 arguments, got 3");
    assert!(said(b.splice(&square, &[s, x])).contains("input `x1` of program `f` has shape []"));
    assert_eq!(one(b.mean(x, &[0, 0])), "`mean`: axis 0 is named twice");
    assert_eq!(one(b.sum(x, &[0, 0])), "`sum`: axis 0 is named twice");
    assert_eq!(one(b.sum(x, &[99])), "there is no axis 99 in shape [4]");
    assert_eq!(one(b.sum(s, &[0])), "there is no axis 0 in shape []");
    assert!(one(b.lane_axis(&Kink::Relu, x, 0)).contains("works on single numbers"));
    // a map that reads one number 2^60 times would add for ever
    let endless = Layout::strided(0, &[(1 << 60, 0)]);
    let two = b.constant(2);
    assert!(b.assemble(Shape::vector(2).unwrap(), vec![(two, endless)]).is_err());
    assert!(b.assemble(Shape::vector(2).unwrap(), vec![(two, Layout::table(Vec::new()))]).is_err());
    // a product that is too large says so, and not that its axes do not fit
    let (row, column) =
        (b.broadcast(s, &Shape::new([1, 1 << 20]).unwrap()), b.broadcast(s, &Shape::new([1 << 20, 1]).unwrap()));
    assert!(one(b.matmul(column.unwrap(), row.unwrap())).contains("more than 2^27 elements"));
}

/// Squaring a constant again and again is arithmetic on constants, which is done at once, until they are too long.
#[test]
fn constants_do_not_grow_without_bound() {
    let mut b = Builder::new("f");
    let x = b.input("x", Shape::scalar()).unwrap();
    let mut c = b.constant(3);
    for _ in 0..60 {
        c = b.mul(c, c).unwrap();
    }
    let y = b.mul(c, x).unwrap();
    let p = b.finish(&[y]).unwrap();
    assert!(p.verify().is_empty() && p.len() > 30);
    assert_eq!(tally(&p).to_string(), "1 *c");
    assert!(crease_core::simplify(&p).is_ok());
}
