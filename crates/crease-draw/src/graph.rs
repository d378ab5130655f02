//! The graph of a program: nodes for inputs, equations, constants that need one, and outputs; edges from arguments.
//!
//! A program enters, a [`Scene`] leaves: one [`Graph`] for the program and, in a nested drawing, one for each call, referred
//! to by the node that it replaces. Graphs come after those that hold them, so that every later step can walk the list
//! forwards or backwards instead of recursing: programs may be nested very deeply.

use crate::label::{label, nonsmooth, number, short};
use crate::{DrawError, Drawing};
use crease_core::{Atom, Op, Program, ProgramId, Scan};
use std::collections::{HashMap, HashSet};

/// What a node of a drawing stands for.
///
/// ```
/// use crease_draw::{Drawing, Kind, picture};
/// let p = crease_core::trace(1, |x| x[0] * x[0]).unwrap();
/// let picture = picture(&p, &Drawing::default()).unwrap();
/// assert_eq!(picture.marks.iter().filter(|m| m.kind == Kind::Output).count(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// An input of the program.
    Input,
    /// A constant argument or output, or a tensor of constants.
    Constant,
    /// An elementary operation.
    Operation,
    /// A program that is called.
    Call,
    /// A selection function.
    Select,
    /// Where an output leaves.
    Output,
}

pub(super) struct Node {
    pub kind: Kind,
    pub text: String,
    pub nonsmooth: bool,
    /// Whether the order of the arguments matters.
    pub ordered: bool,
    /// The graph in place of this node.
    pub inside: Option<usize>,
    /// Among inputs, and among outputs: which one.
    pub position: usize,
}

pub(super) struct Edge {
    pub from: usize,
    /// Which result of the source.
    pub result: usize,
    /// Whether the source has several.
    pub several: bool,
    pub to: usize,
    /// Which argument of the target.
    pub arg: usize,
    /// The shape of the value, if it is a tensor.
    pub shape: Option<String>,
}

#[derive(Default)]
pub(super) struct Graph {
    pub title: String,
    pub nonsmooth: bool,
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    pub inputs: Vec<usize>,
    pub outputs: Vec<usize>,
}

/// All graphs of a drawing, the outermost first.
pub(super) struct Scene {
    pub graphs: Vec<Graph>,
}

/// What a graph that is still empty will hold.
enum Content<'p> {
    Program(&'p Program),
    /// Conditions, names of the other arguments, and the branches.
    Select(usize, Vec<&'p Program>),
}

/// The graphs of a program, unless there are too many nodes.
pub(super) fn scene(p: &Program, how: &Drawing) -> Result<Scene, DrawError> {
    let nodes = count(p, how.nested);
    if nodes > how.max_nodes {
        let flat = how.nested.then(|| count(p, false));
        return Err(DrawError::TooLarge { name: p.name().into(), nodes, limit: how.max_nodes, flat });
    }
    let kinked = kinked(p);
    let mut graphs = vec![Graph::default()];
    let mut pending = vec![(0, Content::Program(p))];
    while let Some((place, content)) = pending.pop() {
        let mut enter = |graph: Graph, content| {
            graphs.push(graph);
            pending.push((graphs.len() - 1, content));
            graphs.len() - 1
        };
        let graph = match content {
            Content::Program(p) => program(p, how.nested.then_some(&mut enter), &kinked),
            Content::Select(conditions, branches) => select(conditions, &branches, &mut enter, &kinked),
        };
        graphs[place] = graph;
    }
    Ok(Scene { graphs })
}

/// The programs that contain a nonsmooth operation.
fn kinked(p: &Program) -> HashSet<ProgramId> {
    let mut found = HashSet::new();
    for one in p.library() {
        let calls = |op: &Op| op.callees().iter().any(|&id| found.contains(&one.callee(id).program.id()));
        if one.equations().any(|e| nonsmooth(e.op) || calls(e.op)) {
            found.insert(one.id());
        }
    }
    found
}

/// The number of nodes that a drawing has, without making it: nesting can make it exponential.
fn count(p: &Program, nested: bool) -> usize {
    let mut totals: HashMap<ProgramId, usize> = HashMap::new();
    let one = |p: &Program, totals: &HashMap<ProgramId, usize>| {
        let constants = p.outputs().iter().filter(|a| a.value().is_none()).count();
        let mut total = p.inputs().len() + p.outputs().len() + constants;
        for e in p.equations() {
            let constants = e.args.iter().filter(|a| a.value().is_none()).count();
            let folded = constants > 0 && label(p, &e).folded;
            total = total.saturating_add(1 + if folded { 0 } else { constants });
            if nested {
                for id in e.op.callees() {
                    total = total.saturating_add(totals[&p.callee(*id).program.id()]);
                }
                if let Op::Select(branches) = e.op {
                    total = total.saturating_add(e.args.len() + e.results + branches.len() + 1);
                }
            }
        }
        total
    };
    if nested {
        for callee in p.library() {
            let total = one(&callee, &totals);
            totals.insert(callee.id(), total);
        }
    }
    one(p, &totals)
}

impl Graph {
    fn add(&mut self, kind: Kind, text: String) -> usize {
        self.nodes.push(Node { kind, text, nonsmooth: false, ordered: false, inside: None, position: 0 });
        self.nodes.len() - 1
    }

    fn add_input(&mut self, text: String) -> usize {
        let node = self.add(Kind::Input, text);
        self.nodes[node].position = self.inputs.len();
        self.inputs.push(node);
        node
    }

    fn add_output(&mut self, of: usize) -> usize {
        let position = self.outputs.len();
        let text = if of > 1 { format!("out {}", position + 1) } else { String::new() };
        let node = self.add(Kind::Output, text);
        self.nodes[node].position = position;
        self.outputs.push(node);
        node
    }
}

type Enter<'a, 'p> = &'a mut dyn FnMut(Graph, Content<'p>) -> usize;

fn program<'p, F>(p: &'p Program, enter: Option<&mut F>, kinked: &HashSet<ProgramId>) -> Graph
where
    F: FnMut(Graph, Content<'p>) -> usize,
{
    let mut enter: Option<Enter<'_, 'p>> = enter.map(|f| f as Enter<'_, 'p>);
    let mut g = Graph { title: short(p.name()), nonsmooth: kinked.contains(&p.id()), ..Graph::default() };
    // for each value: its node, which result of it, and whether there are several
    let mut home: Vec<(usize, usize, bool)> = Vec::with_capacity(p.values());
    for input in p.inputs() {
        home.push((g.add_input(short(&input.name)), 0, false));
    }
    for e in p.equations() {
        let label = label(p, &e);
        let kind = match e.op {
            Op::Call(_) | Op::Scan(_) => Kind::Call,
            Op::Select(_) => Kind::Select,
            Op::Constant(_) => Kind::Constant,
            _ => Kind::Operation,
        };
        let node = g.add(kind, label.text);
        g.nodes[node].ordered = label.ordered;
        g.nodes[node].nonsmooth =
            nonsmooth(e.op) || e.op.callees().iter().any(|&id| kinked.contains(&p.callee(id).program.id()));
        if let Some(enter) = &mut enter {
            let callee = |id: &crease_core::op::CalleeId| &*p.callee(*id).program;
            g.nodes[node].inside = match e.op {
                Op::Call(id) | Op::Scan(Scan { body: id, .. }) => {
                    Some(enter(Graph::default(), Content::Program(callee(id))))
                }
                Op::Select(ids) => {
                    Some(enter(Graph::default(), Content::Select(ids.len() - 1, ids.iter().map(callee).collect())))
                }
                _ => None,
            };
        }
        for (arg, &atom) in e.args.iter().enumerate() {
            if atom.value().is_some() || !label.folded {
                connect(&mut g, p, &home, atom, node, arg);
            }
        }
        home.extend((0..e.results).map(|i| (node, i, e.results > 1)));
    }
    for &atom in p.outputs() {
        let node = g.add_output(p.outputs().len());
        connect(&mut g, p, &home, atom, node, 0);
    }
    g
}

fn connect(g: &mut Graph, p: &Program, home: &[(usize, usize, bool)], atom: Atom, to: usize, arg: usize) {
    let (from, result, several) = match atom {
        Atom::Value(v) => home[v.index()],
        Atom::Const(c) => (g.add(Kind::Constant, number(p.constant(c))), 0, false),
    };
    let shape = p.atom_shape(atom);
    let shape = (!shape.is_scalar()).then(|| shape.to_string());
    g.edges.push(Edge { from, result, several, to, arg, shape });
}

/// A selection function opened up: the arguments go to every branch, and a diamond picks among the results.
fn select<'p>(
    conditions: usize,
    branches: &[&'p Program],
    enter: &mut dyn FnMut(Graph, Content<'p>) -> usize,
    kinked: &HashSet<ProgramId>,
) -> Graph {
    let mut g = Graph { title: "select".into(), nonsmooth: true, ..Graph::default() };
    let plain = |from, to, arg| Edge { from, result: 0, several: false, to, arg, shape: None };
    for i in 0..conditions {
        g.add_input(format!("case {}", i + 1));
    }
    let (names, outputs) = match branches.first() {
        Some(b) => (b.inputs(), b.outputs().len()),
        None => (&[][..], 0),
    };
    for input in names {
        g.add_input(short(&input.name));
    }
    let diamond = g.add(Kind::Select, "select".into());
    g.nodes[diamond].nonsmooth = true;
    g.nodes[diamond].ordered = true;
    for i in 0..conditions {
        g.edges.push(plain(g.inputs[i], diamond, i));
    }
    for (i, branch) in branches.iter().enumerate() {
        let node = g.add(Kind::Call, short(branch.name()));
        g.nodes[node].nonsmooth = kinked.contains(&branch.id());
        g.nodes[node].inside = Some(enter(Graph::default(), Content::Program(branch)));
        for arg in 0..names.len() {
            g.edges.push(plain(g.inputs[conditions + arg], node, arg));
        }
        for result in 0..outputs {
            let arg = conditions + i * outputs + result;
            g.edges.push(Edge { result, several: outputs > 1, ..plain(node, diamond, arg) });
        }
    }
    for result in 0..outputs {
        let out = g.add_output(outputs);
        g.edges.push(Edge { result, several: outputs > 1, ..plain(diamond, out, 0) });
    }
    g
}
