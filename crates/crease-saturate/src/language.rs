//! The terms of the e-graph, and what is known of every class of equal terms.
//!
//! Additions, multiplications, powers, divisions and the lattice operations are terms of their own, because there are laws about
//! them. Every other operation of a program is opaque: equal arguments give equal results, and nothing else is known of it. An
//! operation with several results is one opaque term, and each result a [`Node::Part`] of it.

use crease_core::number::Number;
use crease_core::{Kink, Lane, Op, Rational, Smooth};
use egg::{Analysis, DidMerge, EGraph, FromOp, Id, Language};

/// Constants that are longer than this are not computed with.
const BITS: usize = 192;

/// A term whose arguments are classes of equal terms.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    Number(Rational),
    Input(u32),
    Sub([Id; 2]),
    Neg([Id; 1]),
    Add([Id; 2]),
    Relu([Id; 1]),
    Abs([Id; 1]),
    Max([Id; 2]),
    Min([Id; 2]),
    Mul([Id; 2]),
    Div([Id; 2]),
    Inv([Id; 1]),
    Power(i32, [Id; 1]),
    /// An operation of the table in [`Facts`], which has no laws.
    Opaque(u32, Box<[Id]>),
    /// One of several results.
    Part(u32, [Id; 1]),
}

impl Node {
    /// The operation of a program that this is; none for leaves and parts.
    pub fn op(&self, ops: &[Op]) -> Option<Op> {
        Some(match self {
            Node::Number(_) | Node::Input(_) | Node::Part(..) => return None,
            Node::Add(_) => Op::Add,
            Node::Sub(_) => Op::Sub,
            Node::Mul(_) => Op::Mul,
            Node::Div(_) => Op::Div,
            Node::Neg(_) => Op::Neg,
            Node::Inv(_) => Op::Smooth(Smooth::Inv),
            Node::Relu(_) => Op::Kink(Kink::Relu),
            Node::Abs(_) => Op::Kink(Kink::Abs),
            Node::Max(_) => Op::Kink(Kink::Max(Lane::Args)),
            Node::Min(_) => Op::Kink(Kink::Min(Lane::Args)),
            Node::Power(k, _) => Op::Smooth(Smooth::Power(*k)),
            Node::Opaque(op, _) => ops[*op as usize].clone(),
        })
    }
}

impl Language for Node {
    /// The kind of the term and, of terms with parameters, a parameter.
    type Discriminant = (u8, i64);

    fn discriminant(&self) -> (u8, i64) {
        match self {
            Node::Number(_) => (0, 0),
            Node::Input(i) => (1, i64::from(*i)),
            Node::Add(_) => (2, 0),
            Node::Sub(_) => (3, 0),
            Node::Mul(_) => (4, 0),
            Node::Div(_) => (5, 0),
            Node::Neg(_) => (6, 0),
            Node::Inv(_) => (7, 0),
            Node::Relu(_) => (8, 0),
            Node::Abs(_) => (9, 0),
            Node::Max(_) => (10, 0),
            Node::Min(_) => (11, 0),
            Node::Power(k, _) => (12, i64::from(*k)),
            Node::Opaque(op, _) => (13, i64::from(*op)),
            Node::Part(i, _) => (14, i64::from(*i)),
        }
    }

    fn matches(&self, other: &Self) -> bool {
        self.discriminant() == other.discriminant()
            && self.children().len() == other.children().len()
            && match (self, other) {
                (Node::Number(a), Node::Number(b)) => a == b,
                _ => true,
            }
    }

    fn children(&self) -> &[Id] {
        match self {
            Node::Number(_) | Node::Input(_) => &[],
            Node::Add(x) | Node::Sub(x) | Node::Mul(x) | Node::Div(x) | Node::Max(x) | Node::Min(x) => x,
            Node::Neg(x) | Node::Inv(x) | Node::Relu(x) | Node::Abs(x) | Node::Power(_, x) | Node::Part(_, x) => x,
            Node::Opaque(_, x) => x,
        }
    }

    fn children_mut(&mut self) -> &mut [Id] {
        match self {
            Node::Number(_) | Node::Input(_) => &mut [],
            Node::Add(x) | Node::Sub(x) | Node::Mul(x) | Node::Div(x) | Node::Max(x) | Node::Min(x) => x,
            Node::Neg(x) | Node::Inv(x) | Node::Relu(x) | Node::Abs(x) | Node::Power(_, x) | Node::Part(_, x) => x,
            Node::Opaque(_, x) => x,
        }
    }
}

/// How the laws are written down: `(+ ?a (* -1 ?b))`.
impl FromOp for Node {
    type Error = String;

    fn from_op(op: &str, children: Vec<Id>) -> Result<Self, String> {
        let fault = || format!("`{op}` with {} arguments is no term", children.len());
        match *children {
            [] => op.parse().map(Node::Number).map_err(|_| fault()),
            [a] => match op {
                "neg" => Ok(Node::Neg([a])),
                "inv" => Ok(Node::Inv([a])),
                "relu" => Ok(Node::Relu([a])),
                "abs" => Ok(Node::Abs([a])),
                _ => Err(fault()),
            },
            [a, b] => match op {
                "+" => Ok(Node::Add([a, b])),
                "-" => Ok(Node::Sub([a, b])),
                "*" => Ok(Node::Mul([a, b])),
                "/" => Ok(Node::Div([a, b])),
                "max" => Ok(Node::Max([a, b])),
                "min" => Ok(Node::Min([a, b])),
                _ => Err(fault()),
            },
            _ => Err(fault()),
        }
    }
}

/// What is known of a class, by whichever of its terms shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fact {
    /// The number that it is.
    pub constant: Option<Rational>,
    /// Whether it is made of constants alone, though perhaps no rational number.
    pub known: bool,
    /// Never negative.
    pub nonnegative: bool,
    /// Never positive.
    pub nonpositive: bool,
}

/// What the facts rest on: the operations that opaque terms stand for.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub ops: Vec<Op>,
    /// Whether two different numbers ended up in one class, which sound laws never do.
    pub contradiction: bool,
}

pub type Graph = EGraph<Node, Facts>;

/// The number of an operation in the table, entering it if need be.
pub fn opaque(graph: &mut Graph, op: &Op) -> u32 {
    let ops = &mut graph.analysis.ops;
    let place = ops.iter().position(|o| o == op).unwrap_or_else(|| {
        ops.push(op.clone());
        ops.len() - 1
    });
    place as u32
}

/// The number that a term of numbers is.
fn fold(node: &Node, number: impl Fn(Id) -> Option<Rational>) -> Option<Rational> {
    let both = |x: &[Id; 2]| Some((number(x[0])?, number(x[1])?));
    let value = match node {
        Node::Number(c) => return Some(c.clone()),
        Node::Input(_) | Node::Opaque(..) | Node::Part(..) => return None,
        Node::Add(x) => both(x).map(|(a, b)| &a + &b)?,
        Node::Sub(x) => both(x).map(|(a, b)| &a - &b)?,
        Node::Mul(x) => both(x).map(|(a, b)| &a * &b)?,
        Node::Div(x) => both(x).and_then(|(a, b)| a.checked_div(&b))?,
        Node::Max(x) => both(x).map(|(a, b)| a.max(b))?,
        Node::Min(x) => both(x).map(|(a, b)| a.min(b))?,
        Node::Neg([x]) => -number(*x)?,
        Node::Inv([x]) => number(*x)?.inv()?,
        Node::Relu([x]) => number(*x)?.max(Rational::ZERO),
        Node::Abs([x]) => number(*x)?.abs(),
        Node::Power(k, [x]) if k.unsigned_abs() <= 64 => number(*x)?.powi(*k).ok()?,
        Node::Power(..) => return None,
    };
    (value.bits() <= BITS).then_some(value)
}

impl Analysis<Node> for Facts {
    type Data = Fact;

    fn make(graph: &mut Graph, node: &Node, _: Id) -> Fact {
        let fact = |id: Id| &graph[id].data;
        let constant = fold(node, |id| fact(id).constant.clone());
        if let Some(c) = constant {
            let (nonnegative, nonpositive) = (!c.is_negative(), !c.is_positive());
            return Fact { constant: Some(c), known: true, nonnegative, nonpositive };
        }
        let known = !node.children().is_empty() && node.children().iter().all(|&id| fact(id).known);
        let up = |id: Id| fact(id).nonnegative;
        let down = |id: Id| fact(id).nonpositive;
        let (nonnegative, nonpositive) = match node {
            Node::Number(_) | Node::Input(_) | Node::Part(..) => (false, false),
            Node::Add([a, b]) => (up(*a) && up(*b), down(*a) && down(*b)),
            Node::Sub([a, b]) => (up(*a) && down(*b), down(*a) && up(*b)),
            Node::Mul([a, b]) | Node::Div([a, b]) => {
                let same = graph.find(*a) == graph.find(*b);
                (same || up(*a) && up(*b) || down(*a) && down(*b), !same && (up(*a) && down(*b) || down(*a) && up(*b)))
            }
            Node::Neg([a]) => (down(*a), up(*a)),
            Node::Inv([a]) => (up(*a), down(*a)),
            Node::Relu([a]) | Node::Abs([a]) => (true, matches!(node, Node::Relu(_)) && down(*a)),
            Node::Max([a, b]) => (up(*a) || up(*b), down(*a) && down(*b)),
            Node::Min([a, b]) => (up(*a) && up(*b), down(*a) || down(*b)),
            Node::Power(k, [a]) => (k % 2 == 0 || up(*a), k % 2 != 0 && down(*a)),
            Node::Opaque(op, _) => {
                let nonnegative = match &graph.analysis.ops[*op as usize] {
                    Op::Smooth(f) => f.facts().is_nonnegative,
                    Op::Compare(_) => true,
                    _ => false,
                };
                (nonnegative, false)
            }
        };
        Fact { constant: None, known, nonnegative, nonpositive }
    }

    fn merge(&mut self, a: &mut Fact, b: Fact) -> DidMerge {
        if let (Some(x), Some(y)) = (&a.constant, &b.constant)
            && x != y
        {
            self.contradiction = true;
        }
        let before = a.clone();
        a.constant = a.constant.take().or_else(|| b.constant.clone());
        a.known |= b.known;
        a.nonnegative |= b.nonnegative;
        a.nonpositive |= b.nonpositive;
        DidMerge(*a != before, *a != b)
    }

    fn modify(graph: &mut Graph, id: Id) {
        let fact = &graph[id].data;
        let zero = fact.nonnegative && fact.nonpositive;
        let constant = fact.constant.clone().or_else(|| zero.then_some(Rational::ZERO));
        if let Some(c) = constant {
            let number = graph.add(Node::Number(c));
            graph.union(id, number);
            // nothing is cheaper than a number, and no law needs to look into it
            graph[id].nodes.retain(|node| matches!(node, Node::Number(_)));
        }
    }
}
