//! From terms back to programs: the same inputs, the same outputs, one equation for each term that was extracted.

use crate::extract::Extracted;
use crate::language::{Graph, Node};
use crease_core::{Atom, BuildError, Builder, Layout, Program, Shape, Value};
use egg::{Id, Language};
use std::collections::HashMap;

/// The program of some terms, if they come in the order in which they need each other and are all there. Names, inputs and callees are those of `source`.
pub fn emit(
    source: &Program,
    graph: &Graph,
    extracted: &Extracted,
    roots: &[Id],
) -> Result<Option<Program>, BuildError> {
    let mut b = Builder::new(source.name());
    let mut inputs = Vec::new();
    for input in source.inputs() {
        inputs.push(b.input(input.name.clone(), input.shape.clone())?);
    }
    let mut atoms: HashMap<Id, Vec<Atom>> = HashMap::new();
    for (id, node) in &extracted.terms {
        let args = node.children().iter().map(|c| argument(&mut b, graph, &inputs, &atoms, *c));
        let Some(args) = args.collect::<Option<Vec<Atom>>>() else { return Ok(None) };
        let results = match node {
            Node::Part(i, [whole]) => match atoms.get(&graph.find(*whole)).and_then(|parts| parts.get(*i as usize)) {
                Some(part) => vec![*part],
                None => return Ok(None),
            },
            _ => match node.op(&graph.analysis.ops) {
                Some(op) => b.push_from(source, &op, &args)?,
                None => match argument(&mut b, graph, &inputs, &atoms, *id) {
                    Some(atom) => vec![atom],
                    None => return Ok(None),
                },
            },
        };
        atoms.insert(graph.find(*id), results);
    }
    let outputs = roots.iter().map(|&r| argument(&mut b, graph, &inputs, &atoms, r)).collect::<Option<Vec<Atom>>>();
    outputs.map(|outputs| b.finish(&outputs)).transpose()
}

/// A class as an argument: a number, an input, or what has been computed; nothing if it is none of these.
fn argument(b: &mut Builder, graph: &Graph, inputs: &[Atom], atoms: &HashMap<Id, Vec<Atom>>, id: Id) -> Option<Atom> {
    let class = &graph[id];
    if let Some(c) = &class.data.constant {
        return Some(b.constant(c.clone()));
    }
    if let Some(atom) = atoms.get(&graph.find(id)) {
        return atom.first().copied();
    }
    class.nodes.iter().find_map(|n| match n {
        Node::Input(i) => inputs.get(*i as usize).copied(),
        _ => None,
    })
}

/// A scalar program as one with the inputs and outputs of the program that it was scalarized from. Structure is free, so the cost is
/// the same.
pub fn assembled(like: &Program, scalar: &Program) -> Result<Program, BuildError> {
    let mut b = Builder::new(like.name());
    let mut inputs = Vec::new();
    for input in like.inputs() {
        inputs.push(b.input(input.name.clone(), input.shape.clone())?);
    }
    // only elements that are used are read
    let mut used = vec![false; scalar.inputs().len()];
    let atoms = scalar.equations().flat_map(|e| e.args.to_vec()).chain(scalar.outputs().to_vec());
    for v in atoms.filter_map(|a| a.value()) {
        if let Some(slot) = used.get_mut(v.index()) {
            *slot = true;
        }
    }
    let zero = b.constant(0);
    let mut elements = Vec::with_capacity(scalar.inputs().len());
    for (input, &atom) in like.inputs().iter().zip(&inputs) {
        for i in 0..input.shape.len() {
            elements.push(match (input.shape.is_scalar(), used[elements.len()]) {
                (true, _) => atom,
                (false, true) => b.view(atom, Layout::strided(i, &[]), Shape::scalar())?,
                (false, false) => zero,
            });
        }
    }
    let mut rest = b.splice(scalar, &elements)?.into_iter();
    let mut outputs = Vec::new();
    for &o in like.outputs() {
        let shape = like.atom_shape(o);
        let cells: Vec<Atom> = rest.by_ref().take(shape.len()).collect();
        outputs.push(match (shape.is_scalar(), &cells[..]) {
            (true, [cell]) => *cell,
            _ => tensor(&mut b, shape, &cells)?,
        });
    }
    b.finish(&outputs)
}

/// A tensor of scalars.
fn tensor(b: &mut Builder, shape: Shape, cells: &[Atom]) -> Result<Atom, BuildError> {
    let pieces = cells.iter().enumerate().map(|(i, &cell)| (cell, Layout::strided(i, &[]))).collect();
    b.assemble(shape, pieces)
}

/// For each value, the number of the last equation that reads it; for outputs, one that never comes.
pub fn last_uses(p: &Program) -> Vec<usize> {
    let mut last = vec![0; p.values()];
    for (i, e) in p.equations().enumerate() {
        for v in e.args.iter().filter_map(|a| a.value()) {
            last[v.index()] = i;
        }
    }
    for v in p.outputs().iter().filter_map(|a| a.value()) {
        last[v.index()] = usize::MAX;
    }
    last
}

/// A piece of a program as a program of its own.
pub struct Region {
    pub program: Program,
    /// The values of the whole that are its inputs.
    pub reads: Vec<Value>,
    /// The values of the whole that are its outputs.
    pub writes: Vec<Value>,
}

/// The equations `from..to` of a scalar program as a program of its own: its inputs are the values that they read, its outputs those of their
/// results that are read later, by what [`last_uses`] says.
pub fn region(p: &Program, from: usize, to: usize, last: &[usize]) -> Result<Option<Region>, BuildError> {
    let first = p.equation(from).first;
    let mut reads: Vec<Value> = Vec::new();
    for i in from..to {
        reads.extend(p.equation(i).args.iter().filter_map(|a| a.value()).filter(|v| *v < first));
    }
    reads.sort_unstable();
    reads.dedup();
    let results = (from..to).flat_map(|i| p.equation(i).results().collect::<Vec<_>>());
    let writes: Vec<Value> = results.filter(|v| last[v.index()] >= to).collect();
    if writes.is_empty() {
        return Ok(None);
    }
    let mut b = Builder::new(p.name());
    let mut map: HashMap<Value, Atom> = HashMap::new();
    for &v in &reads {
        map.insert(v, b.input(format!("v{}", v.index()), Shape::scalar())?);
    }
    for e in (from..to).map(|i| p.equation(i)) {
        let args: Vec<Atom> = e.args.iter().map(|&a| translated(&mut b, p, &map, a)).collect();
        let results = b.push_from(p, e.op, &args)?;
        map.extend(e.results().zip(results));
    }
    let outputs: Vec<Atom> = writes.iter().map(|v| map[v]).collect();
    Ok(Some(Region { program: b.finish(&outputs)?, reads, writes }))
}

/// An atom of `p` in another program.
pub fn translated(b: &mut Builder, p: &Program, map: &HashMap<Value, Atom>, a: Atom) -> Atom {
    match a {
        Atom::Value(v) => map[&v],
        Atom::Const(c) => b.constant(p.constant(c).clone()),
    }
}
