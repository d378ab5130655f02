//! Graphs with the graphs inside their nodes: the two branches of an `If`, to any depth up to a limit.
//!
//! A graph of the file enters, with the branches of its nodes as bytes; a tree leaves, decoded within the same limit of parts as the file. What a branch needs of
//! the graphs around it are its free names; a node needs those of its branches as it needs its arguments. Deliberately absent: loops and functions, whose
//! graphs stay bytes that nobody looks at.

use super::error::{OnnxError, cut};
use super::messages::{GraphProto, NodeProto};
use super::order::shown;
use super::weigh;
use prost::Message;
use std::collections::HashSet;

/// How deep branches may lie in one another.
const DEEPEST: usize = 32;

/// The parameters of an `If`, in the order in which its branches are kept.
const BRANCHES: [&str; 2] = ["then_branch", "else_branch"];

/// A graph, and for each of its nodes the branches, if it is an `If` that has both.
pub(super) struct Graph {
    pub proto: GraphProto,
    pub branches: Vec<Option<Box<[Graph; 2]>>>,
}

/// What may still be decoded.
pub(super) struct Parts {
    pub count: usize,
    pub limit: u64,
}

impl Graph {
    /// Decodes the branches of a graph.
    pub fn new(proto: GraphProto, parts: &mut Parts) -> Result<Graph, OnnxError> {
        Graph::inside(proto, parts, 0)
    }

    fn inside(proto: GraphProto, parts: &mut Parts, depth: usize) -> Result<Graph, OnnxError> {
        let mut branches = Vec::with_capacity(proto.node.len());
        for node in &proto.node {
            branches.push(match node.op_type() {
                "If" => decoded(node, parts, depth)?,
                _ => None,
            });
        }
        Ok(Graph { proto, branches })
    }

    /// What each node needs: its arguments, and what its branches take from outside.
    pub fn needs(&self) -> Vec<Vec<&str>> {
        let arguments =
            |n: &'_ NodeProto| -> Vec<usize> { (0..n.input.len()).filter(|&i| !n.input[i].is_empty()).collect() };
        let each = self.proto.node.iter().zip(&self.branches).map(|(node, branches)| {
            let mut all: Vec<&str> = arguments(node).into_iter().map(|i| &node.input[i][..]).collect();
            all.extend(branches.iter().flat_map(|b| b.iter()).flat_map(Graph::free));
            all
        });
        each.collect()
    }

    /// The names that it takes from outside, each once.
    pub fn free(&self) -> Vec<&str> {
        let own: HashSet<&str> = (self.proto.node.iter().flat_map(|n| n.output.iter().map(String::as_str)))
            .chain(self.proto.initializer.iter().map(|t| t.name()))
            .chain(self.proto.input.iter().map(|i| i.name()))
            .collect();
        let outputs = self.proto.output.iter().map(|o| o.name());
        let mut seen = HashSet::new();
        let used = self.needs().into_iter().flatten().chain(outputs);
        used.filter(|name| !own.contains(name) && seen.insert(*name)).collect()
    }

    /// All nodes, those of branches among them.
    pub fn nodes(&self) -> Vec<&NodeProto> {
        let mut all = Vec::new();
        let mut open = vec![self];
        while let Some(graph) = open.pop() {
            all.extend(&graph.proto.node);
            open.extend(graph.branches.iter().flatten().flat_map(|b| b.iter()));
        }
        all
    }
}

fn decoded(node: &NodeProto, parts: &mut Parts, depth: usize) -> Result<Option<Box<[Graph; 2]>>, OnnxError> {
    let bytes = BRANCHES.map(|name| node.attribute.iter().find(|a| a.name() == name).and_then(|a| a.g.clone()));
    let [Some(then), Some(otherwise)] = bytes else { return Ok(None) };
    let fail = |why: String| OnnxError::Node { operator: cut(node.op_type()), node: shown(node), why };
    if depth >= DEEPEST {
        return Err(fail(format!("its branches lie in more than {DEEPEST} others")));
    }
    let mut both = Vec::with_capacity(2);
    for bytes in [then, otherwise] {
        parts.count += weigh::parts_of_graph(&bytes).map_err(|e| fail(format!("a branch is no graph: {e}")))?;
        if parts.count as u64 > parts.limit {
            return Err(OnnxError::Limit { what: format!("has {} parts", parts.count), limit: parts.limit });
        }
        let proto = GraphProto::decode(bytes).map_err(|e| fail(format!("a branch is no graph: {e}")))?;
        both.push(Graph::inside(proto, parts, depth + 1)?);
    }
    Ok(<[Graph; 2]>::try_from(both).ok().map(Box::new))
}
