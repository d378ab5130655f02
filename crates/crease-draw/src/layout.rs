//! Layout: the steps of the drawing put together.
//!
//! A [`Scene`] enters, a [`Laid`] leaves for each of its graphs, on its own sheet with y upwards from the bottom row. Boxes are
//! done from the inside out, by walking the list of graphs backwards: a graph that is done tells its size, and where
//! arrows enter and leave it, to the one that holds it.

use crate::graph::{Graph, Kind, Node, Scene};
use crate::label::{subscript, width};
use crate::layers::{Layered, layers};
use crate::order::{Ports, order};
use crate::picture::Outline;
use crate::place::{Extent, place};
use crate::route::{CLEARANCE, Point, Solid};
use crate::tags::{Spot, Tag, Wish, tags};
use crate::ways::ways;
use std::collections::BTreeMap;

/// The diameter of circles.
const DIAMETER: f64 = 34.0;
/// The room between two nodes of a row, on each side.
const MARGIN: f64 = 12.0;
/// The same for the steps of long arrows.
const STEP_MARGIN: f64 = 6.0;
/// The room between rows, at least and at most.
const GAP: (f64, f64) = (34.0, 120.0);
/// The room around the content of a box.
const PADDING: f64 = 16.0;
/// The height of the title of a box, and the size of its letters.
pub(super) const TITLE: (f64, f64) = (18.0, 12.0);

/// The size of the letters of a node.
pub(super) fn letters(kind: Kind, text: &str) -> f64 {
    match kind {
        Kind::Input | Kind::Call => 16.0,
        Kind::Operation if text.chars().count() == 1 => 19.0,
        // powers: the exponent is small
        Kind::Operation if text.starts_with('·') && text.chars().count() <= 3 => 18.0,
        Kind::Operation | Kind::Select => 13.0,
        Kind::Constant => 12.0,
        Kind::Output => 11.0,
    }
}

/// The size of a subscript beside letters of that size.
pub(super) fn small(size: f64) -> f64 {
    size * 0.68
}

/// A graph laid out, y upwards.
pub(super) struct Laid {
    pub inputs_in_order: Vec<usize>,
    /// The lower left and the upper right corner, with the padding of a box.
    pub low: Point,
    pub high: Point,
    pub solids: Vec<Solid>,
    pub rows: Vec<usize>,
    pub lines: Vec<Vec<Point>>,
    pub tags: Vec<Tag>,
}

/// Where an arrow meets a box: how far right of its middle, and how far beyond the edge it goes on inside.
#[derive(Clone, Copy)]
pub(super) struct Port {
    pub across: f64,
    pub inside: f64,
}

/// Lays out all graphs of a scene.
pub(super) fn lay_out(scene: &Scene) -> Vec<Laid> {
    let mut done: Vec<Option<Laid>> = scene.graphs.iter().map(|_| None).collect();
    for i in (0..scene.graphs.len()).rev() {
        done[i] = Some(one(scene, i, &done));
    }
    done.into_iter().flatten().collect()
}

/// What is known of a node before it has a place.
pub(super) struct Sized {
    outline: Outline,
    half: Point,
    pub ins: Vec<Port>,
    pub outs: Vec<Port>,
}

fn sized(node: &Node, boxed: bool, inside: Option<(&Graph, &Laid)>) -> Sized {
    let plain =
        |outline, w: f64, h: f64| Sized { outline, half: (w / 2.0, h / 2.0), ins: Vec::new(), outs: Vec::new() };
    if let Some((graph, laid)) = inside {
        let middle = (laid.low.0 + laid.high.0) / 2.0;
        let across = |v: &usize| laid.solids[*v].centre.0 - middle;
        let depth = |v: &usize| laid.solids[*v].centre.1 - laid.solids[*v].half.1 - laid.low.1;
        return Sized {
            ins: graph.inputs.iter().map(|v| Port { across: across(v), inside: depth(v) }).collect(),
            outs: graph.outputs.iter().map(|v| Port { across: across(v), inside: 0.0 }).collect(),
            ..plain(Outline::Frame, laid.high.0 - laid.low.0, laid.high.1 - laid.low.1)
        };
    }
    let size = letters(node.kind, &node.text);
    let text = match node.kind {
        Kind::Input | Kind::Call => {
            let (stem, sub) = subscript(&node.text);
            width(stem, size) + width(sub, small(size))
        }
        _ => width(&node.text, size),
    };
    match node.kind {
        Kind::Output if boxed || node.text.is_empty() => plain(Outline::Nothing, 0.0, 0.0),
        Kind::Output => plain(Outline::Nothing, text, 16.0),
        Kind::Constant => plain(Outline::Square, (text + 10.0).max(22.0), 22.0),
        Kind::Select => plain(Outline::Diamond, text + 46.0, 46.0),
        _ if text <= DIAMETER - 6.0 => plain(Outline::Circle, DIAMETER, DIAMETER),
        _ => plain(Outline::Pill, text + 22.0, 30.0),
    }
}

fn one(scene: &Scene, index: usize, done: &[Option<Laid>]) -> Laid {
    let g = &scene.graphs[index];
    let boxed = index > 0;
    let inside = |n: &Node| n.inside.and_then(|i| done[i].as_ref().map(|laid| (&scene.graphs[i], laid)));
    let sizes: Vec<Sized> = g.nodes.iter().map(|n| sized(n, boxed, inside(n))).collect();
    let mut layered = layers(g);
    order(g, &mut layered, &sizes.iter().map(fractions).collect::<Vec<_>>());
    let x = across(g, &layered, &sizes);
    let bands = bands(g, &layered, &sizes, &x, boxed);
    let solids: Vec<Solid> = sizes
        .iter()
        .enumerate()
        .map(|(v, s)| {
            let (low, high) = bands[layered.row_of[v]];
            Solid { outline: s.outline, centre: (x[v], (low + high) / 2.0), half: s.half }
        })
        .collect();

    let right = solids.iter().map(|s| s.centre.0 + s.half.0).chain(x.iter().copied()).fold(0.0, f64::max);
    let top = bands.last().map_or(0.0, |b| b.1);
    let (mut low, mut high) = ((0.0, 0.0), (right, top));
    let mut title = None;
    if boxed {
        low = (-PADDING, -PADDING);
        high.0 += PADDING;
        let half = (width(&g.title, TITLE.1) / 2.0 + 4.0, TITLE.0 / 2.0);
        // the title stands at the left, and the box grows until no output is above it
        let first = g.outputs.iter().map(|&v| x[v]).fold(f64::INFINITY, f64::min);
        let left = (low.0 + 4.0).min(first - CLEARANCE - 2.0 - 2.0 * half.0);
        low.0 = low.0.min(left - 4.0);
        high.0 = high.0.max(left + 2.0 * half.0 + 4.0);
        title = Some(Solid { outline: Outline::Square, centre: (left + half.0, top - half.1), half });
    }
    let lines = ways(g, &layered, &sizes, &solids, &x, &bands, title.as_ref());
    let mut obstacles = solids.clone();
    obstacles.extend(title);
    let tags = tags(&wishes(g, &sizes, &solids, &lines), &lines, &obstacles);
    let inputs_in_order = layered.rows.first().into_iter().flatten().copied();
    Laid {
        inputs_in_order: inputs_in_order.filter(|&v| g.nodes.get(v).is_some_and(|n| n.kind == Kind::Input)).collect(),
        low,
        high,
        rows: layered.row_of[..g.nodes.len()].to_vec(),
        solids,
        lines,
        tags,
    }
}

fn fractions(s: &Sized) -> Ports {
    let fraction = |p: &Port| ((p.across + s.half.0) / (2.0 * s.half.0)).clamp(0.01, 0.99);
    Ports { ins: s.ins.iter().map(fraction).collect(), outs: s.outs.iter().map(fraction).collect() }
}

fn across(g: &Graph, layered: &Layered, sizes: &[Sized]) -> Vec<f64> {
    let tensors = g.edges.iter().any(|e| e.shape.is_some());
    let extents: Vec<Extent> = (0..layered.row_of.len())
        .map(|v| match sizes.get(v) {
            Some(s) => {
                // shapes beside the arrows need room, and so do many arrows
                let many = layered.down[v].len().saturating_sub(2).min(4) as f64;
                let margin = MARGIN + if tensors { 5.0 } else { 0.0 } + 6.0 * many;
                Extent { half_width: s.half.0, margin }
            }
            None => Extent { half_width: 0.0, margin: STEP_MARGIN },
        })
        .collect();
    place(layered, &extents, &offsets(layered, sizes), |v| v >= g.nodes.len())
}

/// How far from the middle of its ends each link is attached.
fn offsets(layered: &Layered, sizes: &[Sized]) -> Vec<(f64, f64)> {
    let offset = |v: usize, i: usize, pick: fn(&Sized) -> &Vec<Port>| {
        sizes.get(v).and_then(|s| pick(s).get(i)).map_or(0.0, |p| p.across)
    };
    layered.links.iter().map(|l| (offset(l.low, l.result, |s| &s.outs), offset(l.high, l.arg, |s| &s.ins))).collect()
}

/// The bottom and the top of each row.
fn bands(g: &Graph, layered: &Layered, sizes: &[Sized], x: &[f64], boxed: bool) -> Vec<(f64, f64)> {
    let tagged = g.edges.iter().any(|e| e.shape.is_some() || e.several);
    let offsets = offsets(layered, sizes);
    let mut bands: Vec<(f64, f64)> = Vec::new();
    for (r, row) in layered.rows.iter().enumerate() {
        let height = row.iter().filter_map(|&v| sizes.get(v)).map(|s| 2.0 * s.half.1).fold(0.0, f64::max);
        let last = r + 1 == layered.rows.len();
        let low = match bands.last() {
            None => 0.0,
            Some(&(_, below)) => {
                // the flatter the arrows would be, the further apart the rows
                let wide = |&l: &usize| {
                    (x[layered.links[l].low] + offsets[l].0 - x[layered.links[l].high] - offsets[l].1).abs()
                };
                let flattest = row.iter().flat_map(|&v| &layered.down[v]).map(wide).fold(0.0, f64::max);
                let least = if tagged { GAP.0 + 8.0 } else { GAP.0 };
                let gap = (0.42 * flattest).clamp(least, GAP.1);
                let short = if last && !tagged && flattest < 1.0 { 24.0 } else { gap };
                below + short + if last && boxed { TITLE.0 } else { 0.0 }
            }
        };
        bands.push((low, low + height));
    }
    bands
}

fn wishes(g: &Graph, sizes: &[Sized], solids: &[Solid], lines: &[Vec<Point>]) -> Vec<Wish> {
    let mut out = Vec::new();
    let mut values: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let mut arguments: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, e) in g.edges.iter().enumerate() {
        if e.several {
            out.push(Wish { text: (e.result + 1).to_string(), spot: Spot::Start, lines: vec![i] });
        }
        if e.shape.is_some() {
            values.entry((e.from, e.result)).or_default().push(i);
        }
        if g.nodes[e.to].ordered && sizes[e.to].ins.is_empty() {
            arguments.entry(e.to).or_default().push(i);
        }
    }
    for (to, edges) in arguments {
        let slant = |i: usize| {
            let (x, y) = lines[i][lines[i].len() - 2];
            (x - solids[to].centre.0) / (solids[to].centre.1 - y).max(1.0)
        };
        if edges.windows(2).any(|w| slant(w[0]) > slant(w[1])) {
            out.extend(edges.iter().map(|&i| Wish {
                text: (g.edges[i].arg + 1).to_string(),
                spot: Spot::Tip,
                lines: vec![i],
            }));
        }
    }
    for lines in values.into_values() {
        let text = g.edges[lines[0]].shape.clone().unwrap_or_default();
        out.push(Wish { text, spot: Spot::Anywhere, lines });
    }
    out
}
