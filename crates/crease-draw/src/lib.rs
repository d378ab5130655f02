//! Drawing: a program as the directed acyclic graph that it is, in DOT or in SVG.
//!
//! What enters is a [`Program`] and a [`Drawing`], which says how; what leaves is a text. The picture is that of the
//! paper's Figure 1: inputs in one row at the bottom, each once, operations above, arrows from arguments up to the
//! operation. The way there:
//!
//! ```text
//! Program ──graph──> nodes and edges ──layers, order, place, ways──> Picture ──> SVG
//!                         └──────────────────────────────────────────────────────> DOT
//! ```
//!
//! How to read a drawing:
//! - A number in the label of an operation is a constant argument: `× 2` doubles. The dot stands for the argument where
//!   it is not the first one: `1 ÷ ·`. Operations of many arguments have their constants in small squares.
//! - Arguments are read from left to right. Where the arrows of an operation that is not commutative arrive in
//!   another order, small numbers say which is which. So do numbers at the start of an arrow for an operation with several
//!   results, such as `relu, relu′`.
//! - Nonsmooth operations are warm in colour, and so is the rim of a call of a program that contains one.
//! - Tensors have their shape beside the arrow, once for each value.
//! - Arrows that end in the open, at the top, are outputs, numbered if there are several.
//!
//! Deliberately absent: colours and sizes to choose. A drawing that has to look otherwise can start from the
//! [`Picture`] or from the DOT text.

mod dot;
mod graph;
mod label;
mod layers;
mod layout;
mod order;
mod picture;
mod place;
mod route;
mod svg;
mod tags;
mod ways;

pub use graph::Kind;
pub use picture::{Line, Mark, Outline, Picture};
pub use tags::Tag;

use crease_core::Program;

/// How to draw.
///
/// ```
/// use crease_draw::{Direction, Drawing};
/// let how = Drawing { nested: true, ..Drawing::default() };
/// assert_eq!((how.max_nodes, how.direction), (500, Direction::Up));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// Whether a called program is drawn as a box that holds its own graph, at every depth, and not as a single node.
    pub nested: bool,
    /// The largest number of nodes that is drawn; programs with more are refused. 500 unless told.
    pub max_nodes: usize,
    /// Where the arrows point.
    pub direction: Direction,
}

impl Default for Drawing {
    fn default() -> Self {
        Drawing { nested: false, max_nodes: 500, direction: Direction::Up }
    }
}

/// Where the arrows of a drawing point.
///
/// ```
/// use crease_draw::Direction;
/// assert_eq!(Direction::default(), Direction::Up);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Inputs at the bottom, as in the paper.
    #[default]
    Up,
    /// Inputs at the top.
    Down,
}

/// Why a program was not drawn.
///
/// ```
/// use crease_draw::{Drawing, svg};
/// let p = crease_core::trace(2, |x| x[0] * x[1]).unwrap();
/// let error = svg(&p, &Drawing { max_nodes: 3, ..Drawing::default() }).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the drawing of `f` would have 4 nodes, more than the limit of 3; raise the limit or draw a part of the program"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DrawError {
    /// There are more nodes than [`Drawing::max_nodes`].
    #[error(
        "the drawing of `{name}` would have {} nodes, more than the limit of {limit}; {}",
        amount(*nodes),
        advice(*flat, *limit)
    )]
    TooLarge {
        /// The name of the program.
        name: String,
        /// The number of nodes, or `usize::MAX` if there are at least as many.
        nodes: usize,
        /// The limit.
        limit: usize,
        /// For a nested drawing, the number of nodes when calls are drawn as single nodes.
        flat: Option<usize>,
    },
}

fn amount(nodes: usize) -> String {
    if nodes == usize::MAX { "more than 10^19".into() } else { nodes.to_string() }
}

fn advice(flat: Option<usize>, limit: usize) -> String {
    match flat {
        Some(n) if n <= limit => format!("draw calls as single nodes instead of boxes ({n} nodes), or raise the limit"),
        _ => "raise the limit or draw a part of the program".into(),
    }
}

/// A program in the DOT language of Graphviz, which lays it out.
///
/// Boxes of a nested drawing are clusters. The inputs are kept in one row and in the order that [`svg()`] has found.
///
/// ```
/// use crease_draw::{Drawing, dot};
/// let p = crease_core::trace(2, |x| x[0] * x[1]).unwrap();
/// let text = dot(&p, &Drawing::default()).unwrap();
/// assert!(text.starts_with("digraph \"f\" {"));
/// assert!(text.contains("label=\"×\""));
/// ```
pub fn dot(p: &Program, how: &Drawing) -> Result<String, DrawError> {
    let scene = graph::scene(p, how)?;
    let orders = layout::lay_out(&scene).iter().map(|one| one.inputs_in_order.clone()).collect::<Vec<_>>();
    Ok(dot::write(&scene, &orders, how.direction))
}

/// A program as an SVG image: one self-contained element, on white ground.
///
/// ```
/// use crease_draw::{Drawing, svg};
/// let p = crease_core::trace(1, |x| crease_core::relu(x[0])).unwrap();
/// let text = svg(&p, &Drawing::default()).unwrap();
/// assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
/// ```
pub fn svg(p: &Program, how: &Drawing) -> Result<String, DrawError> {
    Ok(svg::write(&picture(p, how)?))
}

/// What [`svg()`] draws, as data: every node and every arrow with its place.
///
/// ```
/// use crease_draw::{Drawing, Kind, picture};
/// let p = crease_core::trace(2, |x| x[0] * x[1]).unwrap();
/// let picture = picture(&p, &Drawing::default()).unwrap();
/// let product = picture.marks.iter().find(|m| m.kind == Kind::Operation).unwrap();
/// let inputs: Vec<_> = picture.marks.iter().filter(|m| m.kind == Kind::Input).collect();
/// assert_eq!(inputs.len(), 2);
/// assert!(inputs.iter().all(|m| m.y > product.y)); // y counts from the top
/// ```
pub fn picture(p: &Program, how: &Drawing) -> Result<Picture, DrawError> {
    let scene = graph::scene(p, how)?;
    Ok(picture::picture(&scene, how.direction))
}

/// What may be shared between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Picture>();
    shared::<DrawError>();
};
