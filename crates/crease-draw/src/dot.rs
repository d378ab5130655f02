//! DOT: the graphs of a [`Scene`] as text for Graphviz, which does its own layout.
//!
//! Only what a layout cannot know is said: kinds by colour and shape, inputs in one row and in a good order, boxes as
//! clusters.

use crate::Direction;
use crate::graph::{Graph, Kind, Scene};
use crate::label::subscript;
use crate::svg::colours;
use std::fmt::Write;

/// The text of a scene; `orders` has the inputs of each graph from left to right.
pub(super) fn write(scene: &Scene, orders: &[Vec<usize>], direction: Direction) -> String {
    let mut out = String::new();
    // writing to a string does not fail
    let _ = parts(&mut out, scene, orders, direction);
    out
}

fn parts(out: &mut String, scene: &Scene, orders: &[Vec<usize>], direction: Direction) -> std::fmt::Result {
    let rankdir = match direction {
        Direction::Up => "BT",
        Direction::Down => "TB",
    };
    // clusters are turned over with the rest: their labels belong on the side of the outputs
    let loc = if direction == Direction::Up { "b" } else { "t" };
    writeln!(out, "digraph {} {{", quote(&scene.graphs[0].title))?;
    writeln!(out, "  rankdir={rankdir}; nodesep=0.3; ranksep=0.45; bgcolor=white;")?;
    writeln!(out, "  node [fontname=\"Helvetica\", fontsize=13, style=filled, penwidth=1.2, margin=\"0.08,0.04\"];")?;
    writeln!(
        out,
        "  edge [color=\"#37474f\", arrowsize=0.7, fontname=\"Helvetica\", fontsize=9, fontcolor=\"#78868e\", labeldistance=1.6];"
    )?;
    // clusters are opened when they are met and closed when all that they hold is written
    enum Task {
        Open(usize, usize),
        Close(usize),
    }
    let mut stack = vec![Task::Open(0, 1)];
    while let Some(task) = stack.pop() {
        match task {
            Task::Close(depth) => writeln!(out, "{}}}", pad(depth))?,
            Task::Open(i, depth) => {
                let g = &scene.graphs[i];
                let mut inner = depth;
                if i > 0 {
                    let pad = pad(depth);
                    let rim = if g.nonsmooth { "#e8a87c" } else { "#9db8d2" };
                    writeln!(out, "{pad}subgraph cluster_{i} {{")?;
                    write!(
                        out,
                        "{pad}  label={}; labeljust=l; labelloc={loc}; style=\"rounded,filled\"; ",
                        quote(&pretty(&g.title))
                    )?;
                    writeln!(out, "fillcolor=\"#f4f8fd\"; color=\"{rim}\"; fontname=\"Times-Italic\"; fontsize=12;")?;
                    stack.push(Task::Close(depth));
                    inner += 1;
                }
                nodes(out, g, i, &orders[i], inner)?;
                stack.extend(g.nodes.iter().rev().filter_map(|n| n.inside).map(|k| Task::Open(k, inner)));
            }
        }
    }
    for (i, g) in scene.graphs.iter().enumerate() {
        for e in &g.edges {
            let (from, through) = match g.nodes[e.from].inside {
                Some(k) => (id(k, scene.graphs[k].outputs[e.result]), false),
                None => (id(i, e.from), e.several),
            };
            let (to, tip) = match g.nodes[e.to].inside {
                Some(k) => (id(k, scene.graphs[k].inputs[e.arg]), true),
                None => (id(i, e.to), i == 0 || g.nodes[e.to].kind != Kind::Output),
            };
            let mut settings = Vec::new();
            if !tip {
                settings.push("arrowhead=none".to_string());
            }
            if let Some(shape) = &e.shape {
                settings.push(format!("label={}", quote(shape)));
            }
            if through {
                settings.push(format!("taillabel=\"{}\"", e.result + 1));
            }
            if g.nodes[e.to].ordered && g.nodes[e.to].inside.is_none() && unclear(g, &orders[i], e.to) {
                settings.push(format!("headlabel=\"{}\"", e.arg + 1));
            }
            let settings = if settings.is_empty() { String::new() } else { format!(" [{}]", settings.join(", ")) };
            writeln!(out, "  {from} -> {to}{settings};")?;
        }
    }
    writeln!(out, "}}")
}

fn nodes(out: &mut String, g: &Graph, i: usize, order: &[usize], depth: usize) -> std::fmt::Result {
    let pad = pad(depth);
    for (v, node) in g.nodes.iter().enumerate().filter(|(_, n)| n.inside.is_none()) {
        let (ground, rim) = colours(node.kind, node.nonsmooth);
        let text = match node.kind {
            Kind::Input | Kind::Call => pretty(&node.text),
            _ => node.text.clone(),
        };
        let long = text.chars().count() > 4;
        let shape = match node.kind {
            Kind::Output if i > 0 => "shape=point, width=0.02".to_string(),
            Kind::Output => "shape=plaintext, style=\"\", fontsize=10, width=0, height=0".to_string(),
            Kind::Constant => "shape=box, width=0.25, height=0.25, fontsize=11".to_string(),
            Kind::Select => "shape=diamond".to_string(),
            _ if long => "shape=box, style=\"rounded,filled\", height=0.35".to_string(),
            _ => "shape=circle, fixedsize=true, width=0.42".to_string(),
        };
        let font = match node.kind {
            Kind::Input | Kind::Call => ", fontname=\"Times-Italic\", fontsize=15",
            Kind::Operation if text.chars().count() == 1 => ", fontsize=18",
            _ => "",
        };
        writeln!(
            out,
            "{pad}{} [label={}, {shape}{font}, fillcolor=\"{ground}\", color=\"{rim}\"];",
            id(i, v),
            quote(if i > 0 && node.kind == Kind::Output { "" } else { &text })
        )?;
    }
    if order.len() > 1 {
        // within a box only the row can be asked for; on the outside it is also the first one
        let rank = if i == 0 { "min" } else { "same" };
        let row: Vec<String> = order.iter().map(|&v| id(i, v)).collect();
        writeln!(out, "{pad}{{ rank={rank}; edge [style=invis]; {}; }}", row.join(" -> "))?;
    }
    Ok(())
}

/// Whether the arguments of a node may arrive in another order than they are read: Graphviz chooses the order of all nodes
/// but the inputs.
fn unclear(g: &Graph, order: &[usize], node: usize) -> bool {
    let arguments = g.edges.iter().filter(|e| e.to == node);
    let places: Vec<Option<usize>> = arguments.map(|e| order.iter().position(|&v| v == e.from)).collect();
    places.len() > 1 && !(places.iter().all(Option::is_some) && places.is_sorted())
}

fn id(graph: usize, node: usize) -> String {
    format!("g{graph}n{node}")
}

fn pad(depth: usize) -> String {
    // deep nesting should not make the text grow quadratically
    "  ".repeat(depth.min(20))
}

/// A name with its number in subscript digits.
fn pretty(name: &str) -> String {
    let (stem, sub) = subscript(name);
    let low = |c: char| c.to_digit(10).and_then(|d| char::from_u32(0x2080 + d)).unwrap_or(c);
    stem.chars().chain(sub.chars().map(low)).collect()
}

/// A text in quotes. A backslash would begin one of Graphviz's own escapes.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push('\u{fffd}'),
            // labels are read as HTML entities otherwise
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
