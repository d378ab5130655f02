//! The nodes of a graph in an order in which each comes after those that it needs.
//!
//! Nodes and the names that are there from the start enter; an order leaves, of those nodes only that outputs need. A name that is made
//! twice, one that nobody makes, and nodes that need one another are faults of the file, whether or not an output needs them.

use super::error::{OnnxError, cut};
use super::messages::NodeProto;
use std::collections::HashMap;

/// Who makes a name: a node, or nobody, since it is given.
type Makers<'g> = HashMap<&'g str, Option<usize>>;

/// `needs` has the names that each node needs.
pub(super) fn order(
    nodes: &[NodeProto],
    needs: &[Vec<&str>],
    given: &[&str],
    outputs: &[&str],
) -> Result<Vec<usize>, OnnxError> {
    let mut makers: Makers<'_> = given.iter().map(|&name| (name, None)).collect();
    for (i, node) in nodes.iter().enumerate() {
        for name in node.output.iter().filter(|n| !n.is_empty()) {
            if makers.insert(name, Some(i)).is_some() {
                return Err(OnnxError::Malformed(format!(
                    "`{}` is computed twice, or both given and computed",
                    cut(name)
                )));
            }
        }
    }
    let undefined = |name: &str, who: String| {
        OnnxError::Malformed(format!("{who} `{}`, which no input, initializer or node gives", cut(name)))
    };
    // how many arguments of a node are still missing, and who waits for a node
    let mut missing = vec![0usize; nodes.len()];
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        for &name in &needs[i] {
            match makers.get(name) {
                None => return Err(undefined(name, format!("node `{}` needs", shown(node)))),
                Some(None) => {}
                Some(Some(maker)) => {
                    missing[i] += 1;
                    waiting[*maker].push(i);
                }
            }
        }
    }
    let mut ready: Vec<usize> = (0..nodes.len()).filter(|&i| missing[i] == 0).collect();
    let mut sorted = Vec::with_capacity(nodes.len());
    let mut next = 0;
    while let Some(&i) = ready.get(next) {
        next += 1;
        sorted.push(i);
        for &j in &waiting[i] {
            missing[j] -= 1;
            if missing[j] == 0 {
                ready.push(j);
            }
        }
    }
    if let Some(i) = missing.iter().position(|&n| n > 0) {
        return Err(OnnxError::Malformed(format!("node `{}` needs, in the end, its own result", shown(&nodes[i]))));
    }
    let mut needed = vec![false; nodes.len()];
    let mut pending: Vec<&str> = outputs.to_vec();
    for name in outputs {
        if !makers.contains_key(name) {
            return Err(undefined(name, "the graph returns".into()));
        }
    }
    while let Some(name) = pending.pop() {
        if let Some(Some(i)) = makers.get(name)
            && !std::mem::replace(&mut needed[*i], true)
        {
            pending.extend(&needs[*i]);
        }
    }
    // as the file has it, where it is sorted
    let in_file = sorted.iter().enumerate().all(|(place, _)| {
        needs[place].iter().all(|n| makers.get(n).copied().flatten().is_none_or(|maker| maker < place))
    });
    if in_file {
        sorted = (0..nodes.len()).collect();
    }
    sorted.retain(|&i| needed[i]);
    Ok(sorted)
}

/// What to call a node: its name, or what it makes.
pub(super) fn shown(node: &NodeProto) -> String {
    let made = || node.output.iter().find(|n| !n.is_empty()).map_or(node.op_type(), |n| n);
    cut(if node.name().is_empty() { made() } else { node.name() })
}
