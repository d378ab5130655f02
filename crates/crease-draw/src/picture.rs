//! Picture: everything on one sheet.
//!
//! Graphs laid out one by one enter, a [`Picture`] leaves: boxes filled with what they hold, y downwards as in images, a border
//! around. The list of graphs is walked forwards, since a box has its place before what is in it.

use crate::Direction;
use crate::graph::{Graph, Kind, Scene};
use crate::label::width;
use crate::layout::{TITLE, lay_out};
use crate::route::Point;
use crate::tags::{self, Tag};

/// The outline of a node.
///
/// ```
/// use crease_draw::{Drawing, Outline, picture};
/// let p = crease_core::trace(1, |x| crease_core::sigmoid(x[0]) * 2.0).unwrap();
/// let picture = picture(&p, &Drawing::default()).unwrap();
/// let outline = |text: &str| picture.marks.iter().find(|m| m.text == text).unwrap().outline;
/// assert_eq!((outline("x0"), outline("sigmoid")), (Outline::Circle, Outline::Pill));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outline {
    /// A circle: inputs, operations and calls with short labels.
    Circle,
    /// A rectangle with round ends: the same with longer labels.
    Pill,
    /// A small rectangle: constants.
    Square,
    /// A diamond: selection functions.
    Diamond,
    /// A box around the graph of a called program.
    Frame,
    /// No outline: outputs.
    Nothing,
}

/// A node of a picture.
///
/// ```
/// use crease_draw::{Drawing, picture};
/// let p = crease_core::trace(1, |x| crease_core::relu(x[0])).unwrap();
/// let marks = picture(&p, &Drawing::default()).unwrap().marks;
/// assert_eq!(marks.iter().map(|m| (&*m.text, m.row, m.nonsmooth)).collect::<Vec<_>>(), [
///     ("x0", 0, false),
///     ("relu", 1, true),
///     ("", 2, false),
/// ]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// What is written on it.
    pub text: String,
    /// What it stands for.
    pub kind: Kind,
    /// Its outline.
    pub outline: Outline,
    /// Whether it is a nonsmooth operation, or the call of a program that contains one.
    pub nonsmooth: bool,
    /// The middle, from the left.
    pub x: f64,
    /// The middle, from the top.
    pub y: f64,
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
    /// The row within its graph: 0 is that of the inputs.
    pub row: usize,
    /// The number of boxes around it.
    pub depth: usize,
}

/// An arrow of a picture.
///
/// ```
/// use crease_draw::{Drawing, picture};
/// let p = crease_core::trace(1, |x| crease_core::relu(x[0])).unwrap();
/// let picture = picture(&p, &Drawing::default()).unwrap();
/// let line = &picture.lines[0];
/// assert_eq!((&*picture.marks[line.from].text, &*picture.marks[line.to].text), ("x0", "relu"));
/// assert_eq!(line.points.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The node where it starts; at a box, the output inside.
    pub from: usize,
    /// The node where it ends; at a box, the input inside.
    pub to: usize,
    /// The corners from the rim of one node to the rim of the other. They are drawn rounded.
    pub points: Vec<(f64, f64)>,
    /// Whether it has a tip: a line to the edge of its box goes on outside and has none.
    pub tip: bool,
}

/// A program laid out: [`picture()`](crate::picture()) makes it.
///
/// ```
/// use crease_draw::{Drawing, picture};
/// let p = crease_core::trace(2, |x| x[0] + x[1]).unwrap();
/// let picture = picture(&p, &Drawing::default()).unwrap();
/// assert_eq!((picture.marks.len(), picture.lines.len()), (4, 3)); // with the output and the arrow to it
/// assert!(picture.marks.iter().all(|m| m.x < picture.width && m.y < picture.height));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The name of the program.
    pub name: String,
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
    /// The nodes, boxes before what they hold.
    pub marks: Vec<Mark>,
    /// The arrows.
    pub lines: Vec<Line>,
    /// The small texts beside the arrows.
    pub tags: Vec<Tag>,
}

/// The room around the picture.
const BORDER: f64 = 14.0;

/// Lays out a scene and puts all of it on one sheet, y downwards.
pub(super) fn picture(scene: &Scene, direction: Direction) -> Picture {
    let laid = lay_out(scene);
    let n = scene.graphs.len();
    let mut first = Vec::with_capacity(n);
    let mut total = 0;
    for g in &scene.graphs {
        first.push(total);
        total += g.nodes.len();
    }
    // where the origin of each graph comes to lie on the sheet of the outermost one, and how deep it is
    let mut origins = vec![((0.0, 0.0), 0); n];
    for (i, g) in scene.graphs.iter().enumerate() {
        let (at, depth) = origins[i];
        for (v, node) in g.nodes.iter().enumerate() {
            if let Some(k) = node.inside {
                let (solid, inner) = (&laid[i].solids[v], &laid[k]);
                let corner = (solid.centre.0 - solid.half.0, solid.centre.1 - solid.half.1);
                origins[k] = ((at.0 + corner.0 - inner.low.0, at.1 + corner.1 - inner.low.1), depth + 1);
            }
        }
    }
    let mut picture = Picture {
        name: scene.graphs[0].title.clone(),
        width: 0.0,
        height: 0.0,
        marks: Vec::with_capacity(total),
        lines: Vec::new(),
        tags: Vec::new(),
    };
    for (i, g) in scene.graphs.iter().enumerate() {
        let (at, depth) = origins[i];
        let move_to = |p: Point| (p.0 + at.0, p.1 + at.1);
        for (v, node) in g.nodes.iter().enumerate() {
            let solid = &laid[i].solids[v];
            let (x, y) = move_to(solid.centre);
            let text = if depth > 0 && node.kind == Kind::Output { String::new() } else { node.text.clone() };
            picture.marks.push(Mark {
                text,
                kind: node.kind,
                outline: solid.outline,
                nonsmooth: node.nonsmooth,
                x,
                y,
                width: 2.0 * solid.half.0,
                height: 2.0 * solid.half.1,
                row: laid[i].rows[v],
                depth,
            });
        }
        for (e, line) in g.edges.iter().zip(&laid[i].lines) {
            let end = |v: usize, k: usize, pick: fn(&Graph) -> &Vec<usize>| match g.nodes[v].inside {
                Some(inner) => first[inner] + pick(&scene.graphs[inner])[k],
                None => first[i] + v,
            };
            picture.lines.push(Line {
                from: end(e.from, e.result, |g| &g.outputs),
                to: end(e.to, e.arg, |g| &g.inputs),
                points: line.iter().map(|&p| move_to(p)).collect(),
                tip: depth == 0 || g.nodes[e.to].kind != Kind::Output,
            });
        }
        picture.tags.extend(laid[i].tags.iter().cloned().map(|t| {
            let (x, y) = move_to((t.x, t.y));
            Tag { x, y, ..t }
        }));
    }
    settle(&mut picture, direction);
    picture
}

/// Turns y over where inputs are to be at the bottom, and gives the sheet its border.
fn settle(picture: &mut Picture, direction: Direction) {
    let (mut low, mut high) = ((f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY));
    let mut include = |x: f64, y: f64, w: f64, h: f64| {
        low = (low.0.min(x - w), low.1.min(y - h));
        high = (high.0.max(x + w), high.1.max(y + h));
    };
    picture.marks.iter().for_each(|m| include(m.x, m.y, m.width / 2.0, m.height / 2.0));
    picture.lines.iter().flat_map(|l| &l.points).for_each(|p| include(p.0, p.1, 0.0, 0.0));
    picture.tags.iter().for_each(|t| include(t.x, t.y, width(&t.text, tags::SIZE) / 2.0, tags::SIZE / 2.0));
    if low.0 > high.0 {
        (low, high) = ((0.0, 0.0), (0.0, 0.0));
    }
    let place = |x: &mut f64, y: &mut f64| {
        // rounded, so that the same drawing is the same text everywhere
        let round = |v: f64| (v * 10.0).round() / 10.0;
        *x = round(*x - low.0 + BORDER);
        *y = round(if direction == Direction::Up { high.1 - *y } else { *y - low.1 } + BORDER);
    };
    picture.marks.iter_mut().for_each(|m| place(&mut m.x, &mut m.y));
    picture.lines.iter_mut().flat_map(|l| &mut l.points).for_each(|(x, y)| place(x, y));
    picture.tags.iter_mut().for_each(|t| place(&mut t.x, &mut t.y));
    picture.width = (high.0 - low.0 + 2.0 * BORDER).ceil();
    picture.height = (high.1 - low.1 + 2.0 * BORDER).ceil();
}

/// Where the title of a box stands: its left end and its middle height.
pub(super) fn title_place(frame: &Mark, outputs_up: bool) -> Point {
    let side = frame.height / 2.0 - TITLE.0 / 2.0;
    (frame.x - frame.width / 2.0 + 10.0, if outputs_up { frame.y - side } else { frame.y + side })
}
