//! Layers: which row each node is in, and stepping stones for edges that cross rows.
//!
//! A graph enters, a [`Layered`] leaves, in which every link joins neighbouring rows. Inputs are all in the bottom row and
//! outputs in the top row; operations are as low as their arguments allow, except those that have more arrows out than in,
//! which are as high as their users allow, because that makes the arrows shorter.
//!
//! An edge over several rows steps on one vertex in each row between, and all edges of one value share these steps: a
//! value that is used in many places then rises like a trunk with branches, not like a sheaf.

use crate::graph::{Graph, Kind};
use std::collections::HashMap;

/// A link between a vertex and one in the row above it.
pub(super) struct Link {
    pub low: usize,
    pub high: usize,
    /// Which result of `low`, where that is a node and not a step.
    pub result: usize,
    /// Which argument of `high`, where that is a node and not a step.
    pub arg: usize,
}

/// A graph in rows. Vertices below the number of nodes are nodes; the others are steps.
pub(super) struct Layered {
    /// The vertices of each row, bottom row first, from left to right.
    pub rows: Vec<Vec<usize>>,
    /// The row of each vertex.
    pub row_of: Vec<usize>,
    pub links: Vec<Link>,
    /// For each vertex, the links to the row below.
    pub down: Vec<Vec<usize>>,
    /// For each vertex, the links to the row above.
    pub up: Vec<Vec<usize>>,
    /// For each edge, the steps on its way.
    pub steps: Vec<Vec<usize>>,
}

/// Puts a graph in rows.
pub(super) fn layers(g: &Graph) -> Layered {
    let n = g.nodes.len();
    let mut row_of = rows(g);
    let mut links = Vec::new();
    let mut steps = Vec::with_capacity(g.edges.len());
    let mut trunks: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    for e in &g.edges {
        let trunk = trunks.entry((e.from, e.result)).or_default();
        let needed = row_of[e.to] - row_of[e.from] - 1;
        while trunk.len() < needed {
            let step = row_of.len();
            let low = trunk.last().copied().unwrap_or(e.from);
            row_of.push(row_of[low] + 1);
            links.push(Link { low, high: step, result: e.result, arg: 0 });
            trunk.push(step);
        }
        let way = trunk[..needed].to_vec();
        let low = way.last().copied().unwrap_or(e.from);
        links.push(Link { low, high: e.to, result: e.result, arg: e.arg });
        steps.push(way);
    }
    let vertices = row_of.len();
    let mut rows = vec![Vec::new(); row_of.iter().max().map_or(0, |r| r + 1)];
    // inputs first, in the order of the program, then the rest as it was made
    let first = g.inputs.iter().copied();
    let rest = (0..vertices).filter(|&v| v >= n || g.nodes[v].kind != Kind::Input);
    for v in first.chain(rest) {
        rows[row_of[v]].push(v);
    }
    let (mut down, mut up) = (vec![Vec::new(); vertices], vec![Vec::new(); vertices]);
    for (i, link) in links.iter().enumerate() {
        up[link.low].push(i);
        down[link.high].push(i);
    }
    Layered { rows, row_of, links, down, up, steps }
}

fn rows(g: &Graph) -> Vec<usize> {
    let n = g.nodes.len();
    let (mut arrows_in, mut arrows_out) = (vec![Vec::new(); n], vec![Vec::new(); n]);
    for e in &g.edges {
        arrows_in[e.to].push(e.from);
        arrows_out[e.from].push(e.to);
    }
    let order = topological(&arrows_in, &arrows_out);
    let mut row = vec![0; n];
    for &v in &order {
        // an operation without arguments still is no input
        let least = usize::from(matches!(g.nodes[v].kind, Kind::Operation | Kind::Call | Kind::Select | Kind::Output));
        row[v] = arrows_in[v].iter().map(|&u| row[u] + 1).max().unwrap_or(0).max(least);
    }
    let top = (0..n).filter(|&v| g.nodes[v].kind != Kind::Output).map(|v| row[v] + 1).max().unwrap_or(0);
    for &v in &g.outputs {
        row[v] = top;
    }
    for &v in order.iter().rev() {
        let movable = !matches!(g.nodes[v].kind, Kind::Input | Kind::Output);
        if movable && arrows_out[v].len() > arrows_in[v].len() {
            row[v] = arrows_out[v].iter().map(|&u| row[u] - 1).min().unwrap_or(row[v]);
        }
    }
    row
}

fn topological(arrows_in: &[Vec<usize>], arrows_out: &[Vec<usize>]) -> Vec<usize> {
    let mut waiting: Vec<usize> = arrows_in.iter().map(Vec::len).collect();
    let mut order: Vec<usize> = (0..waiting.len()).filter(|&v| waiting[v] == 0).collect();
    let mut next = 0;
    while next < order.len() {
        for &u in &arrows_out[order[next]] {
            waiting[u] -= 1;
            if waiting[u] == 0 {
                order.push(u);
            }
        }
        next += 1;
    }
    order
}
