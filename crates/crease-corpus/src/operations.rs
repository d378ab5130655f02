//! Every operation of the dictionary, in programs of its own: what runs or differentiates programs is tested on all of them. An
//! operation that is new does not compile until it stands here, and fails the tests until some program has it.

use crate::random::Rng;
use crease_core::differentiate::{How, backprop};
use crease_core::op::{Comparison, Logic};
use crease_core::{
    Atom, Builder, Kink, Lane, Layout, Op, Position, Program, Rational, Scan, Shape, Smooth, Stair, scalarize,
};
use std::sync::Arc;

macro_rules! names {
    ($($pattern:pat => $name:literal),* $(,)?) => {
        /// The names of all operations.
        pub const ALL: &[&str] = &[$($name),*];
        /// The name of an operation here.
        pub fn name(op: &Op) -> &'static str {
            match op { $($pattern => $name),* }
        }
    };
}

names! {
    Op::Add => "add",
    Op::Sub => "sub",
    Op::Mul => "mul",
    Op::Div => "div",
    Op::Neg => "neg",
    Op::Smooth(Smooth::Inv) => "inv",
    Op::Smooth(Smooth::Exp) => "exp",
    Op::Smooth(Smooth::Log) => "log",
    Op::Smooth(Smooth::Sqrt) => "sqrt",
    Op::Smooth(Smooth::Sin) => "sin",
    Op::Smooth(Smooth::Cos) => "cos",
    Op::Smooth(Smooth::Tanh) => "tanh",
    Op::Smooth(Smooth::Sigmoid) => "sigmoid",
    Op::Smooth(Smooth::Softplus) => "softplus",
    Op::Smooth(Smooth::Tan) => "tan",
    Op::Smooth(Smooth::Asin) => "asin",
    Op::Smooth(Smooth::Acos) => "acos",
    Op::Smooth(Smooth::Atan) => "atan",
    Op::Smooth(Smooth::Sinh) => "sinh",
    Op::Smooth(Smooth::Cosh) => "cosh",
    Op::Smooth(Smooth::Asinh) => "asinh",
    Op::Smooth(Smooth::Acosh) => "acosh",
    Op::Smooth(Smooth::Atanh) => "atanh",
    Op::Smooth(Smooth::Erf) => "erf",
    Op::Smooth(Smooth::Erfc) => "erfc",
    Op::Smooth(Smooth::ErfSlope) => "erf_slope",
    Op::Smooth(Smooth::Log1p) => "log1p",
    Op::Smooth(Smooth::Expm1) => "expm1",
    Op::Smooth(Smooth::Power(_)) => "power",
    Op::Smooth(Smooth::Root(..)) => "root",
    Op::LogSumExp(Lane::Args) => "logsumexp of arguments",
    Op::LogSumExp(Lane::Axis) => "logsumexp of an axis",
    Op::LogSumExpJoint(Lane::Args) => "logsumexp' of arguments",
    Op::LogSumExpJoint(Lane::Axis) => "logsumexp' of an axis",
    Op::Kink(Kink::Relu) => "relu",
    Op::Kink(Kink::TimesRelu) => "times_relu",
    Op::Kink(Kink::Abs) => "abs",
    Op::Kink(Kink::LeakyRelu(_)) => "leaky_relu",
    Op::Kink(Kink::Elu(_)) => "elu",
    Op::Kink(Kink::Max(Lane::Args)) => "max of arguments",
    Op::Kink(Kink::Max(Lane::Axis)) => "max of an axis",
    Op::Kink(Kink::Min(Lane::Args)) => "min of arguments",
    Op::Kink(Kink::Min(Lane::Axis)) => "min of an axis",
    Op::Kink(Kink::OrderStatistic(Lane::Args, _)) => "order of arguments",
    Op::Kink(Kink::OrderStatistic(Lane::Axis, _)) => "order of an axis",
    Op::Kink(Kink::Sort(Lane::Args)) => "sort of arguments",
    Op::Kink(Kink::Sort(Lane::Axis)) => "sort of an axis",
    Op::Kink(Kink::Norm1(Lane::Args)) => "norm1 of arguments",
    Op::Kink(Kink::Norm1(Lane::Axis)) => "norm1 of an axis",
    Op::Kink(Kink::NormInf(Lane::Args)) => "norminf of arguments",
    Op::Kink(Kink::NormInf(Lane::Axis)) => "norminf of an axis",
    Op::Kink(Kink::Norm2(Lane::Args)) => "norm2 of arguments",
    Op::Kink(Kink::Norm2(Lane::Axis)) => "norm2 of an axis",
    Op::Kink(Kink::MaxLinear { lane: Lane::Args, .. }) => "maxlinear of arguments",
    Op::Kink(Kink::MaxLinear { lane: Lane::Axis, .. }) => "maxlinear of an axis",
    Op::Joint(Kink::Relu, _) => "relu'",
    Op::Joint(Kink::TimesRelu, _) => "times_relu'",
    Op::Joint(Kink::Abs, _) => "abs'",
    Op::Joint(Kink::LeakyRelu(_), _) => "leaky_relu'",
    Op::Joint(Kink::Elu(_), _) => "elu'",
    Op::Joint(Kink::Max(Lane::Args), _) => "max' of arguments",
    Op::Joint(Kink::Max(Lane::Axis), _) => "max' of an axis",
    Op::Joint(Kink::Min(Lane::Args), _) => "min' of arguments",
    Op::Joint(Kink::Min(Lane::Axis), _) => "min' of an axis",
    Op::Joint(Kink::OrderStatistic(Lane::Args, _), _) => "order' of arguments",
    Op::Joint(Kink::OrderStatistic(Lane::Axis, _), _) => "order' of an axis",
    Op::Joint(Kink::Sort(Lane::Args), _) => "sort' of arguments",
    Op::Joint(Kink::Sort(Lane::Axis), _) => "sort' of an axis",
    Op::Joint(Kink::Norm1(Lane::Args), _) => "norm1' of arguments",
    Op::Joint(Kink::Norm1(Lane::Axis), _) => "norm1' of an axis",
    Op::Joint(Kink::NormInf(Lane::Args), _) => "norminf' of arguments",
    Op::Joint(Kink::NormInf(Lane::Axis), _) => "norminf' of an axis",
    Op::Joint(Kink::Norm2(Lane::Args), _) => "norm2' of arguments",
    Op::Joint(Kink::Norm2(Lane::Axis), _) => "norm2' of an axis",
    Op::Joint(Kink::MaxLinear { lane: Lane::Args, .. }, _) => "maxlinear' of arguments",
    Op::Joint(Kink::MaxLinear { lane: Lane::Axis, .. }, _) => "maxlinear' of an axis",
    Op::Permute { lane: Lane::Args, .. } => "permute arguments",
    Op::Permute { lane: Lane::Axis, .. } => "permute an axis",
    Op::Stair(Stair::Sign) => "sign",
    Op::Stair(Stair::Floor) => "floor",
    Op::Stair(Stair::Ceil) => "ceil",
    Op::Stair(Stair::Round) => "round",
    Op::Gather { lane: Lane::Args, scatter: false, .. } => "take along arguments",
    Op::Gather { lane: Lane::Axis, scatter: false, .. } => "take along an axis",
    Op::Gather { lane: Lane::Args, scatter: true, .. } => "add along arguments",
    Op::Gather { lane: Lane::Axis, scatter: true, .. } => "add along an axis",
    Op::Position(Position::Largest, Lane::Args) => "argmax of arguments",
    Op::Position(Position::Largest, Lane::Axis) => "argmax of an axis",
    Op::Position(Position::Smallest, Lane::Args) => "argmin of arguments",
    Op::Position(Position::Smallest, Lane::Axis) => "argmin of an axis",
    Op::Position(Position::Order, Lane::Args) => "argsort of arguments",
    Op::Position(Position::Order, Lane::Axis) => "argsort of an axis",
    Op::Where => "where",
    Op::Compare(Comparison::Less) => "<",
    Op::Compare(Comparison::LessEqual) => "<=",
    Op::Compare(Comparison::Greater) => ">",
    Op::Compare(Comparison::GreaterEqual) => ">=",
    Op::Compare(Comparison::Equal) => "==",
    Op::Compare(Comparison::NotEqual) => "!=",
    Op::Logic(Logic::And) => "and",
    Op::Logic(Logic::Or) => "or",
    Op::Logic(Logic::Not) => "not",
    Op::Constant(_) => "constant",
    Op::View { .. } => "view",
    Op::Assemble { .. } => "assemble",
    Op::MatMul { .. } => "matmul",
    Op::Call(_) => "call",
    Op::Select(_) => "select",
    Op::Scan(Scan { back: false, .. }) => "repeat",
    Op::Scan(Scan { back: true, .. }) => "repeat_back",
}

fn fraction(n: i64, d: i64) -> Rational {
    Rational::new(n, d).expect("a fraction")
}

/// The kinks of a lane.
pub fn lane_kinks(lane: Lane, n: usize) -> Vec<Kink> {
    vec![
        Kink::Max(lane),
        Kink::Min(lane),
        Kink::NormInf(lane),
        Kink::Norm1(lane),
        Kink::Norm2(lane),
        Kink::OrderStatistic(lane, n / 3),
        Kink::Sort(lane),
    ]
}

/// Two inputs of `n` numbers, and a scalar: the sum of what `f` gives, each element weighed.
fn of_vectors(n: usize, f: impl FnOnce(&mut Builder, Atom, Atom) -> Atom) -> Program {
    let mut b = Builder::new("f");
    let shape = Shape::vector(n).expect("not empty");
    let (x, y) = (b.input("x", shape.clone()).expect("fresh"), b.input("y", shape).expect("fresh"));
    let z = f(&mut b, x, y);
    let out = weighed(&mut b, z);
    b.finish(&[out]).expect("builds")
}

/// The sum of all elements, each with a weight of its own.
pub fn weighed(b: &mut Builder, z: Atom) -> Atom {
    let n = b.shape(z).len();
    let flat = b.flatten(z).expect("a value");
    let weights = (0..n).map(|i| ((i * 3) % 7) as f64 - 2.0).collect();
    let weights = b.tensor(Shape::vector(n).expect("not empty"), weights).expect("a constant");
    let terms = b.mul(flat, weights).expect("two vectors");
    b.sum_all(terms).expect("a vector")
}

/// Programs of single operations on vectors of `n` numbers, which together have every operation, or have it in their gradients.
pub fn programs(n: usize, rng: &mut Rng) -> Vec<(String, Program)> {
    let mut all: Vec<(String, Program)> = Vec::new();
    let powers = [0, 1, 2, 3, -1, -2, 7].map(Smooth::Power);
    let roots = [(1, 3), (-5, 2), (22, 7)].map(|(p, q)| Smooth::Root(p, q));
    let smooth = Smooth::NAMED.iter().copied().chain(powers).chain(roots).map(Op::from);
    let kinks = [
        Kink::Relu,
        Kink::Abs,
        Kink::LeakyRelu(fraction(1, 3)),
        Kink::LeakyRelu(fraction(-5, 1)),
        Kink::Elu(fraction(3, 2)),
    ];
    let unary = smooth.chain(kinks.into_iter().map(Op::from)).chain([Op::Neg]);
    for op in unary {
        // alone, and where its adjoint is zero for many elements
        all.push((op.to_string(), of_vectors(n, |b, x, _| b.elementwise(op.clone(), &[x]).expect("fits"))));
        let masked = of_vectors(n, |b, x, y| {
            let z = b.elementwise(op.clone(), &[x]).expect("fits");
            b.times_relu(z, y).expect("fits")
        });
        all.push((format!("{op}, masked"), masked));
    }
    let binary = [Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Kink(Kink::TimesRelu)];
    for op in binary {
        all.push((op.to_string(), of_vectors(n, |b, x, y| b.elementwise(op.clone(), &[x, y]).expect("fits"))));
        all.push((
            format!("{op}, twice x"),
            of_vectors(n, |b, x, _| b.elementwise(op.clone(), &[x, x]).expect("fits")),
        ));
    }
    for how in Comparison::ALL {
        let p = of_vectors(n, |b, x, y| {
            let zero = b.constant(0);
            let (one, two) = (b.compare(how, x, y).expect("fits"), b.compare(how, x, zero).expect("fits"));
            let both = b.logic(Logic::And, &[one, two]).expect("fits");
            let not = b.logic(Logic::Not, &[two]).expect("fits");
            let any = b.logic(Logic::Or, &[one, not]).expect("fits");
            let z = b.mul(both, x).expect("fits");
            let w = b.mul(any, y).expect("fits");
            b.sub(z, w).expect("fits")
        });
        all.push((format!("{how:?}"), p));
    }
    for s in Stair::ALL {
        let p = of_vectors(n, |b, x, y| {
            let three = b.constant(3);
            let scaled = b.mul(x, three).expect("fits");
            let step = b.stair(s, scaled).expect("fits");
            b.mul(step, y).expect("fits")
        });
        all.push((s.name().into(), p));
    }
    all.extend(choices(n));
    all.extend(positions(n));
    all.extend(on_lanes(n, rng));
    all.extend(structure(n));
    all
}

/// Elementwise choices: of what always has a value, and of what has none where it is not taken.
fn choices(n: usize) -> Vec<(String, Program)> {
    let plain = of_vectors(n, |b, x, y| {
        let less = b.compare(Comparison::Less, x, y).expect("fits");
        let (one, two) = (b.mul(x, y).expect("fits"), b.sub(x, y).expect("fits"));
        b.choose(less, one, two).expect("fits")
    });
    let shielded = of_vectors(n, |b, x, y| {
        let zero = b.constant(0);
        let right = b.compare(Comparison::Greater, x, zero).expect("fits");
        let log = b.elementwise(Smooth::Log, &[x]).expect("fits");
        let (root, over) = (b.elementwise(Smooth::Sqrt, &[log]).expect("fits"), b.div(y, x).expect("fits"));
        let far = b.compare(Comparison::Greater, log, zero).expect("fits");
        let inner = b.choose(far, root, over).expect("fits");
        b.choose(right, inner, y).expect("fits")
    });
    vec![("where".into(), plain), ("where, with what has no value".into(), shielded)]
}

/// Places in lanes, and lanes at places.
fn positions(n: usize) -> Vec<(String, Program)> {
    let mut all = Vec::new();
    for which in Position::ALL {
        let along = of_vectors(n, |b, x, y| {
            let both = b.concat(&[x, y], 0).expect("two vectors");
            let lanes = b.reshape(both, &Shape::new([2, n]).expect("not empty")).expect("as many");
            let found = b.position_axis(which, lanes, -1).expect("fits");
            let found = b.reshape(found, &Shape::new([2, b.shape(found).len() / 2]).expect("not empty")).expect("fits");
            b.take_along(lanes, found, -1).expect("fits")
        });
        let vectors = of_vectors(n, |b, x, y| {
            let z = b.neg(x).expect("fits");
            let found = b.position(which, &[x, y, z]).expect("fits");
            let args = [&[z, y, x][..], &found].concat();
            let taken = b.push(Op::Gather { lane: Lane::Args, of: 3, scatter: false }, &args).expect("fits");
            let added: Vec<Atom> = taken.iter().chain(&found).copied().collect();
            let put = b.push(Op::Gather { lane: Lane::Args, of: 4, scatter: true }, &added).expect("fits");
            b.concat(&put, 0).expect("vectors")
        });
        all.push((format!("{} as scalars", which.name()), scalarize(&along).expect("no calls")));
        all.push((which.name().into(), along));
        all.push((format!("{} of vectors", which.name()), vectors));
    }
    let added = of_vectors(n, |b, x, y| {
        let places = b.tensor(Shape::vector(n).expect("not empty"), (0..n).map(|i| (i / 2) as f64).collect());
        let order = b.position_axis(Position::Order, y, 0).expect("fits");
        let one = b.add_along(x, places.expect("a constant"), 0, n).expect("fits");
        let two = b.add_along(y, order, 0, n + 2).expect("fits");
        b.concat(&[one, two], 0).expect("vectors")
    });
    all.push(("add_along".into(), added));
    all
}

fn on_lanes(n: usize, rng: &mut Rng) -> Vec<(String, Program)> {
    let mut all = Vec::new();
    let axis = |b: &mut Builder, x: Atom, y: Atom| b.concat(&[x, y, x], 0).expect("three vectors");
    let lanes = |b: &mut Builder, x: Atom, y: Atom| {
        let all = axis(b, x, y);
        b.reshape(all, &Shape::new([3, n]).expect("not empty")).expect("as many")
    };
    for kink in lane_kinks(Lane::Axis, n) {
        let p = of_vectors(n, |b, x, y| {
            let x = lanes(b, x, y);
            b.push1(Op::Kink(kink.clone()), &[x]).expect("fits")
        });
        all.push((format!("{kink:?}"), p));
    }
    all.push((
        "logsumexp".into(),
        of_vectors(n, |b, x, y| {
            let x = lanes(b, x, y);
            b.push1(Op::LogSumExp(Lane::Axis), &[x]).expect("fits")
        }),
    ));
    all.push((
        "max_linear".into(),
        of_vectors(n, |b, x, y| {
            let a = lanes(b, x, y);
            b.max_linear(a, y).expect("fits")
        }),
    ));
    // members are tensors
    for kink in lane_kinks(Lane::Args, 4) {
        let p = of_vectors(n, |b, x, y| {
            let z = b.neg(x).expect("fits");
            let found = b.push(Op::Kink(kink.clone()), &[x, y, z, x]).expect("fits");
            b.concat(&found, 0).expect("vectors")
        });
        all.push((format!("{kink:?} of vectors"), p));
    }
    all.push((
        "logsumexp of vectors".into(),
        of_vectors(n, |b, x, y| b.push1(Op::LogSumExp(Lane::Args), &[x, y, x]).expect("fits")),
    ));
    // a joint sort of scalars is in no gradient before that is taken apart
    let sorted = of_vectors(n, |b, x, _| b.push1(Op::Kink(Kink::Sort(Lane::Axis)), &[x]).expect("fits"));
    let derived = backprop(&sorted, &How::default()).expect("one scalar output");
    all.push(("sort, derived, as scalars".into(), scalarize(&derived).expect("no calls")));
    let order = Order::Anyhow;
    let arity = n.max(2);
    all.push(("logsumexp of scalars".into(), scattered(arity, &Op::LogSumExp(Lane::Args), order, rng)));
    all.push(("sort of scalars".into(), scattered(arity, &Op::Kink(Kink::Sort(Lane::Args)), order, rng)));
    if n.is_multiple_of(3) {
        let op = Op::Kink(Kink::MaxLinear { lane: Lane::Args, rows: 2 });
        all.push(("max_linear of scalars".into(), scattered(n, &op, order, rng)));
    }
    all
}

fn structure(n: usize) -> Vec<(String, Program)> {
    let mut all = Vec::new();
    for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
        let p = of_vectors(n, |b, x, y| {
            // backward, forward and standing still
            let a = b.view(x, Layout::strided(n - 1, &[(3, 0), (n, -1)]), Shape::new([3, n]).expect("not empty"));
            let c = b.view(y, Layout::strided(0, &[(n, 1), (5, 0)]), Shape::new([n, 5]).expect("not empty"));
            let (mut a, mut c) = (a.expect("fits"), c.expect("fits"));
            a = if ta { b.transpose(a, &[1, 0]).expect("fits") } else { a };
            c = if tb { b.transpose(c, &[1, 0]).expect("fits") } else { c };
            b.push1(Op::MatMul { transpose_a: ta, transpose_b: tb }, &[a, c]).expect("fits")
        });
        all.push((format!("matmul {ta} {tb}"), p));
    }
    let inner = Arc::new(of_vectors(n, |b, x, y| {
        let z = b.sub(x, y).expect("fits");
        b.relu(z).expect("fits")
    }));
    let other = Arc::new(of_vectors(n, |b, x, y| b.div(x, y).expect("fits")));
    for select in [false, true] {
        let p = of_vectors(n, |b, x, y| {
            let one = b.callee(inner.clone(), None).expect("fits");
            let two = b.callee(other.clone(), None).expect("fits");
            if !select {
                return b.push1(Op::Call(one), &[x, y]).expect("fits");
            }
            let (first, last) = (b.at(x, &[0]).expect("fits"), b.at(y, &[n - 1]).expect("fits"));
            let less = b.compare(Comparison::Less, first, last).expect("fits");
            b.push1(Op::Select([one, two].into()), &[less, x, y]).expect("fits")
        });
        all.push((format!("select {select}"), p));
    }
    for back in [false, true] {
        all.push((format!("repeat, back {back}"), of_vectors(n, |b, x, y| looped(b, n, x, y, back))));
    }
    all
}

/// A loop over the elements of x that carries a scalar and a vector, leans on y and stacks a pair in each turn.
fn looped(b: &mut Builder, n: usize, x: Atom, y: Atom, back: bool) -> Atom {
    let vector = Shape::vector(n).expect("not empty");
    let mut t = Builder::new("turn");
    let sum = t.input("sum", Shape::scalar()).expect("fresh");
    let all = t.input("all", vector.clone()).expect("fresh");
    let part = t.input("part", Shape::scalar()).expect("fresh");
    let still = t.input("still", vector.clone()).expect("fresh");
    let mut build = || -> Result<Vec<Atom>, crease_core::BuildError> {
        let half = t.constant(fraction(1, 2));
        let less = t.mul(sum, half)?;
        let sum = t.add(less, part)?;
        let spread = t.broadcast(sum, &vector)?;
        let next = t.mul(all, half)?;
        let next = t.add(next, spread)?;
        let next = t.push1(Op::Kink(Kink::Max(Lane::Args)), &[next, still])?;
        let largest = t.push1(Op::Kink(Kink::NormInf(Lane::Axis)), &[next])?;
        let pair = t.concat(&[sum, largest], 0)?;
        Ok(vec![sum, next, pair])
    };
    let outputs = build().expect("fits");
    let body = b.callee(Arc::new(t.finish(&outputs).expect("an output")), None).expect("no joint");
    let zero = b.constant(0);
    let op = Scan { body, turns: n, carried: 2, each: 1, back };
    let results = b.push(op, &[zero, x, x, y]).expect("fits");
    let first = b.at(results[2], &[0, 1]).expect("fits");
    let first = b.broadcast(first, &vector).expect("fits");
    let scaled = b.mul(first, results[1]).expect("fits");
    let ends = b.broadcast(results[0], &vector).expect("fits");
    b.add(scaled, ends).expect("fits")
}

/// In which order the arguments of an operation stand among the inputs.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// As they stand.
    Forward,
    /// The other way round.
    Backward,
    /// In order but for one in the middle, which is another.
    OneStranger,
    /// Any inputs, some of them several times.
    Anyhow,
    /// Computed values and constants among them.
    Mixed,
}

impl Order {
    /// All of them.
    pub const ALL: [Order; 5] = [Order::Forward, Order::Backward, Order::OneStranger, Order::Anyhow, Order::Mixed];
}

/// An operation on `n` of more than `n` scalar inputs, beside another one over all of them backward.
pub fn scattered(n: usize, op: &Op, order: Order, rng: &mut Rng) -> Program {
    let mut b = Builder::new("f");
    let total = n + 3;
    let x: Vec<Atom> = (0..total).map(|i| b.input(format!("x{i}"), Shape::scalar()).expect("fresh")).collect();
    let mut args: Vec<Atom> = match order {
        Order::Forward | Order::OneStranger | Order::Mixed => x[1..=n].to_vec(),
        Order::Backward => x[1..=n].iter().rev().copied().collect(),
        Order::Anyhow => (0..n).map(|_| x[rng.below(total)]).collect(),
    };
    if let Order::OneStranger = order {
        args[n / 2] = x[total - 1];
    }
    if let Order::Mixed = order {
        args[n / 3] = b.constant(1);
        args[n / 2] = b.neg(x[0]).expect("fits");
    }
    let found = b.push(op.clone(), &args).expect("fits");
    let mut sum = b.constant(0);
    for (k, &y) in found.iter().enumerate() {
        let weight = b.constant(fraction(1 + (k % 3) as i64, 4));
        let term = b.mul(y, weight).expect("fits");
        sum = b.add(sum, term).expect("fits");
    }
    let backward: Vec<Atom> = x.iter().rev().copied().collect();
    let all = b.push1(Op::Kink(Kink::NormInf(Lane::Args)), &backward).expect("fits");
    let out = b.add(sum, all).expect("fits");
    b.finish(&[out]).expect("builds")
}
