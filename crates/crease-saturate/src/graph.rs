//! From a program to an e-graph: one class for each value.
//!
//! Operations whose price is that of their parts are taken apart (a maximum of n numbers into n - 1 maxima of two, norms, leaky
//! ReLUs with slopes from 0 to 1, `times_relu`); what has no laws becomes opaque. The value that a joint operation returns is that of the
//! operation itself.

use crate::horner::Horner;
use crate::language::{Graph, Node, opaque};
use crate::normal::Atoms;
use crease_core::limits::SaturationLimits;
use crease_core::op::infer;
use crease_core::{Atom, Kink, Lane, Op, Program, Rational, Shape, Smooth};
use egg::Id;

/// An e-graph, and the classes of a program in it.
pub struct Loaded {
    pub graph: Graph,
    /// The classes of the outputs.
    pub roots: Vec<Id>,
}

/// How many scalar results an operation has on so many scalar arguments.
pub fn results(op: &Op, args: usize) -> usize {
    match op.callees() {
        [] => infer(op, &vec![Some(&Shape::scalar()); args]).map_or(1, |shapes| shapes.len()),
        _ => 1,
    }
}

/// The e-graph of a scalar program without calls, with its values in normal form beside it.
pub fn load(p: &Program, limits: &SaturationLimits) -> Loaded {
    let mut graph = Graph::default();
    let mut values: Vec<Id> = (0..p.inputs().len() as u32).map(|i| graph.add(Node::Input(i))).collect();
    for e in p.equations() {
        let args: Vec<Id> = e.args.iter().map(|&a| atom(&mut graph, p, &values, a)).collect();
        let new = equation(&mut graph, e.op, &args, e.results);
        values.extend(new);
    }
    // a normal form for each value; those of operations without laws are the classes that are there already
    let mut atoms = Atoms::new(limits);
    if let Some(normal) = atoms.values(p, true) {
        let mut horner = Horner::new(&mut graph, &atoms, &values);
        for (&class, form) in values.iter().zip(&normal).skip(p.inputs().len()) {
            horner.union(class, form);
        }
    }
    let roots = p.outputs().iter().map(|&o| atom(&mut graph, p, &values, o)).collect();
    graph.rebuild();
    Loaded { graph, roots }
}

fn atom(graph: &mut Graph, p: &Program, values: &[Id], a: Atom) -> Id {
    match a {
        Atom::Value(v) => values[v.index()],
        Atom::Const(c) => graph.add(Node::Number(p.constant(c).clone())),
    }
}

fn equation(graph: &mut Graph, op: &Op, args: &[Id], count: usize) -> Vec<Id> {
    if let Some(one) = known(graph, op, args) {
        return vec![one];
    }
    let number = opaque(graph, op);
    let whole = graph.add(Node::Opaque(number, args.into()));
    if count == 1 {
        return vec![whole];
    }
    let parts: Vec<Id> = (0..count as u32).map(|i| graph.add(Node::Part(i, [whole]))).collect();
    if let Op::Joint(kink, _) = op
        && let Some(value) = known(graph, &Op::Kink(kink.clone()), args)
    {
        graph.union(parts[0], value);
    }
    parts
}

/// The class of an operation about which there are laws.
fn known(graph: &mut Graph, op: &Op, args: &[Id]) -> Option<Id> {
    let node = match (op, args) {
        (Op::Add, &[a, b]) => Node::Add([a, b]),
        (Op::Sub, &[a, b]) => Node::Sub([a, b]),
        (Op::Mul, &[a, b]) => Node::Mul([a, b]),
        (Op::Div, &[a, b]) => Node::Div([a, b]),
        (Op::Neg, &[a]) => Node::Neg([a]),
        (Op::Smooth(Smooth::Inv), &[a]) => Node::Inv([a]),
        (Op::Smooth(Smooth::Power(k)), &[a]) => Node::Power(*k, [a]),
        (Op::Kink(kink), _) => return known_kink(graph, kink, args),
        _ => return None,
    };
    Some(graph.add(node))
}

fn known_kink(graph: &mut Graph, kink: &Kink, args: &[Id]) -> Option<Id> {
    let fold = |graph: &mut Graph, args: &[Id], make: fn([Id; 2]) -> Node| {
        let (&first, rest) = args.split_first()?;
        Some(rest.iter().fold(first, |a, &b| graph.add(make([a, b]))))
    };
    let sizes = |graph: &mut Graph| args.iter().map(|&a| graph.add(Node::Abs([a]))).collect::<Vec<_>>();
    match (kink, args) {
        (Kink::Relu, &[a]) => Some(graph.add(Node::Relu([a]))),
        (Kink::Abs, &[a]) => Some(graph.add(Node::Abs([a]))),
        (Kink::TimesRelu, &[a, b]) => {
            let b = graph.add(Node::Relu([b]));
            Some(graph.add(Node::Mul([a, b])))
        }
        (Kink::LeakyRelu(slope), &[a]) if !slope.is_negative() && *slope <= Rational::ONE => {
            let slope = graph.add(Node::Number(slope.clone()));
            let below = graph.add(Node::Mul([slope, a]));
            Some(graph.add(Node::Max([a, below])))
        }
        (Kink::Max(Lane::Args), _) => fold(graph, args, Node::Max),
        (Kink::Min(Lane::Args), _) | (Kink::OrderStatistic(Lane::Args, 0), _) => fold(graph, args, Node::Min),
        (Kink::OrderStatistic(Lane::Args, k), _) if k + 1 == args.len() => fold(graph, args, Node::Max),
        (Kink::Norm1(Lane::Args), _) => {
            let sizes = sizes(graph);
            fold(graph, &sizes, Node::Add)
        }
        (Kink::NormInf(Lane::Args), _) => {
            let sizes = sizes(graph);
            fold(graph, &sizes, Node::Max)
        }
        (Kink::MaxLinear { lane: Lane::Args, rows }, _) => {
            let columns = args.len() / (rows + 1);
            let (matrix, x) = args.split_at(rows * columns);
            let mut products = Vec::new();
            for row in matrix.chunks(columns) {
                let terms: Vec<Id> = row.iter().zip(x).map(|(&a, &x)| graph.add(Node::Mul([a, x]))).collect();
                products.push(fold(graph, &terms, Node::Add)?);
            }
            fold(graph, &products, Node::Max)
        }
        _ => None,
    }
}
