//! Which nodes are carried out together, block by block.
//!
//! Elementwise nodes over equally many elements become one group if no other node stands between them: a group runs where its
//! last member stood, so it is closed as soon as something else reads one of its results. A sum of a member's elements
//! joins the group as a sink, and reading the sum closes it, too. So that nothing stands between them, such sums are moved up first.

use super::block::joins;
use super::guard::Need;
use super::lower::{Arg, Buf, Kind, Node};
use crease_core::Layout;

/// Nodes that run together, in their order; one alone for everything that is not elementwise.
#[derive(Debug)]
pub(crate) struct Group {
    pub nodes: Vec<usize>,
    /// The number of elements, for a group of elementwise nodes.
    pub elements: Option<usize>,
}

/// The most nodes in one group: their blocks must fit into the nearest cache together.
const MAX_NODES: usize = 40;

struct Open {
    nodes: Vec<usize>,
    elements: usize,
    closed: bool,
    /// Merged into another group.
    gone: bool,
}

/// Moves sums up to right behind the elementwise nodes whose elements they add up, where a group with such a sum is none that several threads
/// could not share. What is not always needed stays behind what decides about it.
pub(crate) fn sums_first<T>(nodes: &mut Vec<Node<T>>, lens: &[usize], needs: &[Need], exact: bool) {
    let mut maker: Vec<Option<usize>> = vec![None; lens.len()];
    let mut order: Vec<(usize, bool)> = Vec::with_capacity(nodes.len());
    for (i, node) in nodes.iter().enumerate() {
        let cells = lens[node.out[0] as usize];
        let up = match &node.kind {
            Kind::Unit(..) => {
                maker[node.out[0] as usize] = Some(i);
                None
            }
            Kind::Assemble(_) if !matches!(needs[node.out[0] as usize], Need::Always) => None,
            Kind::Assemble(pieces) => sums_directly(pieces, cells)
                .filter(|&b| pieces.iter().all(|(_, layout)| joins(layout, lens[b as usize], cells, exact)))
                .and_then(|b| maker[b as usize]),
            _ => None,
        };
        order.push(up.map_or((i, false), |source| (source, true)));
    }
    if order.iter().any(|&(_, up)| up) {
        let mut numbered: Vec<_> = order.into_iter().zip(nodes.drain(..)).collect();
        numbered.sort_by_key(|&(place, _)| place);
        nodes.extend(numbered.into_iter().map(|(_, node)| node));
    }
}

/// Groups in the order in which they run.
pub(crate) fn fuse<T>(nodes: &[Node<T>], lens: &[usize]) -> Vec<Group> {
    let mut groups: Vec<Open> = Vec::new();
    let mut alone: Vec<usize> = Vec::new();
    // the group that computes a buffer, and whether it does so at the end only
    let mut maker: Vec<Option<(usize, bool)>> = vec![None; lens.len()];
    let mut last_open: Option<usize> = None;
    for (i, node) in nodes.iter().enumerate() {
        let elementwise = matches!(node.kind, Kind::Unit(..));
        let elements = lens[node.out[0] as usize];
        let sink = match &node.kind {
            Kind::Assemble(pieces) => sums_directly(pieces, elements),
            _ => None,
        };
        let mut candidates: Vec<usize> = Vec::new();
        let mut close: Vec<usize> = Vec::new();
        for (buf, direct) in node.reads() {
            let Some((g, at_end)) = maker[buf as usize] else { continue };
            if groups[g].closed {
                continue;
            }
            let joins = match sink {
                Some(source) => source == buf && !at_end && groups[g].elements == lens[buf as usize],
                None => elementwise && direct && !at_end && groups[g].elements == elements,
            };
            if joins { candidates.push(g) } else { close.push(g) }
        }
        for g in close {
            groups[g].closed = true;
        }
        candidates.sort_unstable();
        candidates.dedup();
        candidates.retain(|&g| !groups[g].closed);
        if elementwise && candidates.is_empty() {
            // beside others that run over as many elements
            candidates.extend(last_open.filter(|&g| {
                let o = &groups[g];
                !o.closed && !o.gone && o.elements == elements && o.nodes.len() < MAX_NODES
            }));
        }
        let total: usize = candidates.iter().map(|&g| groups[g].nodes.len()).sum();
        if total >= MAX_NODES {
            candidates.drain(..).for_each(|g| groups[g].closed = true);
        }
        let home = match (candidates.split_first(), elementwise) {
            (Some((&home, others)), _) => {
                for &g in others {
                    let moved = std::mem::take(&mut groups[g].nodes);
                    groups[g].gone = true;
                    for &n in &moved {
                        for &b in &nodes[n].out {
                            maker[b as usize] = maker[b as usize].map(|(_, end)| (home, end));
                        }
                    }
                    groups[home].nodes.extend(moved);
                }
                home
            }
            (None, true) => {
                groups.push(Open { nodes: Vec::new(), elements, closed: false, gone: false });
                groups.len() - 1
            }
            (None, false) => {
                alone.push(i);
                continue;
            }
        };
        groups[home].nodes.push(i);
        if elementwise {
            last_open = Some(home);
        }
        for &b in &node.out {
            maker[b as usize] = Some((home, !elementwise));
        }
    }
    let mut out: Vec<Group> = alone.into_iter().map(|i| Group { nodes: vec![i], elements: None }).collect();
    out.extend(groups.into_iter().filter(|g| !g.gone).map(|mut g| {
        g.nodes.sort_unstable();
        Group { nodes: g.nodes, elements: Some(g.elements) }
    }));
    out.sort_by_key(|g| g.nodes.last().copied());
    out
}

/// The buffer whose elements, as they lie, a node adds up into cells that are all reached.
fn sums_directly<T>(pieces: &[(Arg<T>, Layout)], cells: usize) -> Option<Buf> {
    match pieces {
        [(Arg::Direct(b), Layout::Strided { offset: 0, dims })] => {
            let loops: Vec<_> = dims.iter().filter(|d| d.stride != 0).collect();
            // what is left after summing lies in order
            let mut expected = 1;
            let in_order = loops.iter().rev().all(|d| {
                let fits = d.stride == expected;
                expected *= d.size as isize;
                fits
            });
            (in_order && expected as usize == cells).then_some(*b)
        }
        _ => None,
    }
}
