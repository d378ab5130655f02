//! Tags: the small texts beside arrows, put where they cover least.
//!
//! Arrows and what is to be said about them enter, placed [`Tag`]s leave. Numbers of results stay near the start of an
//! arrow and numbers of arguments near its tip; a shape may slide along.

use crate::label::width;
use crate::route::{Point, Solid, crosses_box, length};

/// A small text beside an arrow: the shape of a tensor, or a number that tells results or arguments apart.
///
/// ```
/// use crease_core::{Shape, trace_shapes};
/// use crease_draw::{Drawing, picture};
/// let p = trace_shapes(&[Shape::vector(3).unwrap()], |x| vec![x[0].sum()]).unwrap();
/// let tags: Vec<_> = picture(&p, &Drawing::default()).unwrap().tags;
/// assert_eq!(tags[0].text, "[3]");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tag {
    /// The text.
    pub text: String,
    /// The middle of the text, from the left.
    pub x: f64,
    /// The middle of the text, from the top.
    pub y: f64,
}

pub(super) const SIZE: f64 = 10.5;

/// Where on its arrow a tag belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    Start,
    Anywhere,
    Tip,
}

/// A wish for a tag on one of several arrows.
pub(super) struct Wish {
    pub text: String,
    pub spot: Spot,
    /// The arrows on which it may be; it comes on one of them.
    pub lines: Vec<usize>,
}

/// Grants wishes one after the other.
pub(super) fn tags(wishes: &[Wish], lines: &[Vec<Point>], solids: &[Solid]) -> Vec<Tag> {
    let mut placed: Vec<(Point, Point)> = Vec::new();
    let mut out = Vec::new();
    for wish in wishes {
        let half = (width(&wish.text, SIZE) / 2.0 + 1.5, SIZE / 2.0 + 1.0);
        let mut best: Option<(f64, Point)> = None;
        for (rank, &line) in wish.lines.iter().enumerate() {
            for (i, centre) in candidates(&lines[line], wish.spot, half).into_iter().enumerate() {
                let (low, high) = ((centre.0 - half.0, centre.1 - half.1), (centre.0 + half.0, centre.1 + half.1));
                let meets = |(l, h): &(Point, Point)| l.0 < high.0 && h.0 > low.0 && l.1 < high.1 && h.1 > low.1;
                let on_tags = placed.iter().filter(|b| meets(b)).count();
                let on_nodes = solids.iter().filter(|s| {
                    let (x, y, w, h) = (s.centre.0, s.centre.1, s.half.0, s.half.1);
                    meets(&((x - w, y - h), (x + w, y + h)))
                });
                let on_lines = lines.iter().enumerate().filter(|(j, points)| {
                    // a shape sits on its own line
                    !(*j == line && wish.spot == Spot::Anywhere)
                        && points.windows(2).any(|w| crosses_box(w[0], w[1], low, high))
                });
                let price = 100.0 * (on_tags + on_nodes.count()) as f64
                    + 10.0 * on_lines.count() as f64
                    + 0.3 * i as f64
                    + 0.1 * rank as f64;
                if best.is_none_or(|(p, _)| price < p) {
                    best = Some((price, centre));
                }
            }
        }
        if let Some((_, centre)) = best {
            placed.push(((centre.0 - half.0, centre.1 - half.1), (centre.0 + half.0, centre.1 + half.1)));
            out.push(Tag { text: wish.text.clone(), x: centre.0, y: centre.1 });
        }
    }
    out
}

/// Places for a tag on a line, the preferred ones first.
fn candidates(line: &[Point], spot: Spot, half: Point) -> Vec<Point> {
    let total: f64 = line.windows(2).map(|w| length(w[0], w[1])).sum();
    // at its ends a line has others beside it, so the tag goes to the side to which it leans away from them
    let beside = |along: f64, outwards: f64| {
        let (p, direction) = walk(line, along);
        let first = if direction.0 * outwards >= -1e-9 { 1.0 } else { -1.0 };
        let sides = [first, -first];
        // far enough sideways that the box does not touch the line
        let away = half.0 * direction.1.abs() + half.1 * direction.0.abs() + 3.0;
        sides.map(|s| (p.0 + s * direction.1 * away, p.1 - s * direction.0 * away))
    };
    match spot {
        Spot::Anywhere => {
            let shares = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.2, 0.8];
            let on = shares.iter().map(|s| walk(line, s * total).0);
            on.chain(shares.iter().flat_map(|s| beside(s * total, 1.0))).collect()
        }
        Spot::Start => [9.0, 13.0, 18.0, 24.0].iter().flat_map(|&d: &f64| beside(d.min(total / 2.0), 1.0)).collect(),
        Spot::Tip => {
            let back = [15.0, 19.0, 24.0, 30.0];
            back.iter().flat_map(|&d| beside((total - d).max(total / 2.0), -1.0)).collect()
        }
    }
}

/// The point so far along a line, and the direction there.
fn walk(line: &[Point], mut along: f64) -> (Point, Point) {
    let mut last = (line.first().copied().unwrap_or((0.0, 0.0)), (0.0, 1.0));
    for w in line.windows(2) {
        let all = length(w[0], w[1]);
        if all == 0.0 {
            continue;
        }
        let direction = ((w[1].0 - w[0].0) / all, (w[1].1 - w[0].1) / all);
        if along <= all {
            return ((w[0].0 + direction.0 * along, w[0].1 + direction.1 * along), direction);
        }
        along -= all;
        last = (w[1], direction);
    }
    last
}
