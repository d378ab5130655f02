//! Route: the way of an arrow from node to node, past all others.
//!
//! Rows with their nodes and the steps of an edge enter, a polyline leaves. The safe way goes straight up through each row
//! where the step is and slants only between rows. From it corners are left out as long as the line keeps clear of
//! all nodes; most often a single straight line remains.

use crate::picture::Outline;

pub(super) type Point = (f64, f64);

/// How near a line may come to a node that it does not end at.
pub(super) const CLEARANCE: f64 = 6.0;

/// How far the rounding of a corner may leave the corner; less than [`CLEARANCE`].
pub(super) const ROUNDING: f64 = 4.0;

/// A node as an obstacle and as an end of lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Solid {
    pub outline: Outline,
    pub centre: Point,
    pub half: Point,
}

impl Solid {
    /// Whether a line comes nearer than allowed.
    fn blocks(&self, a: Point, b: Point) -> bool {
        let (x, y) = self.centre;
        match self.outline {
            Outline::Nothing if self.half.0 == 0.0 => false,
            Outline::Circle => distance(self.centre, a, b) < self.half.0 + CLEARANCE,
            _ => {
                let (w, h) = (self.half.0 + CLEARANCE, self.half.1 + CLEARANCE);
                crosses_box(a, b, (x - w, y - h), (x + w, y + h))
            }
        }
    }

    /// Where a line from the centre towards a point leaves the outline.
    pub fn rim(&self, towards: Point) -> Point {
        let (dx, dy) = (towards.0 - self.centre.0, towards.1 - self.centre.1);
        let (w, h) = self.half;
        let length = dx.hypot(dy);
        if length == 0.0 || w == 0.0 && h == 0.0 {
            return self.centre;
        }
        let to_box = (w / dx.abs()).min(h / dy.abs());
        let scale = match self.outline {
            Outline::Circle => w / length,
            Outline::Diamond => 1.0 / (dx.abs() / w + dy.abs() / h),
            Outline::Square | Outline::Frame | Outline::Nothing => to_box,
            Outline::Pill => {
                let flat = w - h;
                if dx.abs() * to_box <= flat {
                    to_box
                } else {
                    // the end is a half circle of radius h around (flat, 0): |t (dx, dy) - (flat, 0)| = h
                    let (a, b, c) = (length * length, dx.abs() * flat, flat * flat - h * h);
                    (b + (b * b - a * c).max(0.0).sqrt()) / a
                }
            }
        };
        (self.centre.0 + dx * scale, self.centre.1 + dy * scale)
    }
}

/// Takes corners out of a safe way, as far as `obstacles` allow.
pub(super) fn shorten<'a>(way: &[Point], obstacles: impl Fn(f64, f64) -> Vec<&'a Solid>) -> Vec<Point> {
    let clear = |a: Point, b: Point| obstacles(a.1.min(b.1), a.1.max(b.1)).iter().all(|s| !s.blocks(a, b));
    let (Some(&first), Some(&last)) = (way.first(), way.last()) else { return Vec::new() };
    if clear(first, last) {
        return vec![first, last];
    }
    let mut out = vec![first];
    let mut i = 0;
    while i + 1 < way.len() {
        let mut j = i + 1;
        while j + 1 < way.len() && clear(way[i], way[j + 1]) {
            j += 1;
        }
        out.push(way[j]);
        i = j;
    }
    out
}

/// The corner points of a polyline replaced by where a curve begins, its control point, and where it ends.
///
/// The first and last point stay; each triple between them is one rounded corner.
pub(super) fn rounded(points: &[Point]) -> Vec<[Point; 3]> {
    points
        .windows(3)
        .map(|w| {
            let [a, b, c] = [w[0], w[1], w[2]];
            let (before, after) = (length(a, b), length(b, c));
            if before == 0.0 || after == 0.0 {
                return [b, b, b];
            }
            let (u, v) = (((b.0 - a.0) / before, (b.1 - a.1) / before), ((c.0 - b.0) / after, (c.1 - b.1) / after));
            // the middle of the curve is radius * |v - u| / 4 away from the corner
            let turn = (v.0 - u.0).hypot(v.1 - u.1);
            let radius = (4.0 * ROUNDING / turn.max(1e-9)).min(before / 2.0).min(after / 2.0);
            [(b.0 - u.0 * radius, b.1 - u.1 * radius), b, (b.0 + v.0 * radius, b.1 + v.1 * radius)]
        })
        .collect()
}

pub(super) fn length(a: Point, b: Point) -> f64 {
    (b.0 - a.0).hypot(b.1 - a.1)
}

/// The distance of a point from a segment.
fn distance(p: Point, a: Point, b: Point) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let square = dx * dx + dy * dy;
    let t = if square == 0.0 { 0.0 } else { (((p.0 - a.0) * dx + (p.1 - a.1) * dy) / square).clamp(0.0, 1.0) };
    length(p, (a.0 + t * dx, a.1 + t * dy))
}

/// Whether a segment meets the inside of a box.
pub(super) fn crosses_box(a: Point, b: Point, low: Point, high: Point) -> bool {
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    for (from, to, low, high) in [(a.0, b.0, low.0, high.0), (a.1, b.1, low.1, high.1)] {
        let d = to - from;
        if d == 0.0 {
            if from <= low || from >= high {
                return false;
            }
            continue;
        }
        let (t0, t1) = ((low - from) / d, (high - from) / d);
        enter = enter.max(t0.min(t1));
        leave = leave.min(t0.max(t1));
    }
    enter < leave
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rims() {
        let solid = |outline, w, h| Solid { outline, centre: (0.0, 0.0), half: (w, h) };
        assert_eq!(solid(Outline::Circle, 5.0, 5.0).rim((6.0, 8.0)), (3.0, 4.0));
        assert_eq!(solid(Outline::Pill, 20.0, 5.0).rim((100.0, 0.0)), (20.0, 0.0));
        assert_eq!(solid(Outline::Pill, 20.0, 5.0).rim((0.0, 9.0)), (0.0, 5.0));
        assert_eq!(solid(Outline::Square, 5.0, 5.0).rim((10.0, 10.0)), (5.0, 5.0));
        assert_eq!(solid(Outline::Diamond, 4.0, 2.0).rim((0.0, 8.0)), (0.0, 2.0));
    }

    #[test]
    fn boxes_are_met() {
        assert!(crosses_box((0.0, 0.0), (10.0, 10.0), (4.0, 4.0), (6.0, 6.0)));
        assert!(!crosses_box((0.0, 0.0), (10.0, 0.0), (4.0, 4.0), (6.0, 6.0)));
        assert!(!crosses_box((0.0, 5.0), (3.0, 5.0), (4.0, 4.0), (6.0, 6.0)));
    }

    #[test]
    fn corners_go_where_they_may() {
        let way = [(0.0, 0.0), (0.0, 10.0), (40.0, 60.0), (40.0, 100.0)];
        assert_eq!(shorten(&way, |_, _| Vec::new()), [(0.0, 0.0), (40.0, 100.0)]);
        let node = Solid { outline: Outline::Circle, centre: (20.0, 50.0), half: (5.0, 5.0) };
        let kept = shorten(&way, |_, _| vec![&node]);
        assert!(kept.len() > 2 && kept.windows(2).all(|w| !node.blocks(w[0], w[1])));
    }
}
