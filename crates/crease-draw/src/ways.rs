//! Ways: the arrows of a whole graph.
//!
//! Placed nodes and steps enter, a polyline for each edge leaves, from rim to rim. Arrows of one value that share steps run
//! along one trunk and part from it where they have to, so that one sees that they carry the same value; arrows that join
//! the same two nodes are moved apart.

use crate::graph::{Edge, Graph};
use crate::layers::Layered;
use crate::layout::Sized;
use crate::route::{CLEARANCE, Point, Solid, shorten};
use std::collections::BTreeMap;

/// The ways of all edges. `bands` are the bottom and the top of each row, `title` is in the way as well.
pub(super) fn ways(
    g: &Graph,
    layered: &Layered,
    sizes: &[Sized],
    solids: &[Solid],
    x: &[f64],
    bands: &[(f64, f64)],
    title: Option<&Solid>,
) -> Vec<Vec<Point>> {
    let mut by_row: Vec<Vec<usize>> = vec![Vec::new(); bands.len()];
    for v in 0..g.nodes.len() {
        by_row[layered.row_of[v]].push(v);
    }
    let field = Field { layered, sizes, solids, x, bands, title, by_row };
    let mut values: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (i, e) in g.edges.iter().enumerate() {
        values.entry((e.from, e.result)).or_default().push(i);
    }
    let mut lines = vec![Vec::new(); g.edges.len()];
    for edges in values.into_values() {
        // the trunk is as long as at least two edges need it
        let mut lengths: Vec<usize> = edges.iter().map(|&i| layered.steps[i].len()).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        let shared = lengths.get(1).copied().unwrap_or(0);
        let first = &g.edges[edges[0]];
        let longest = edges.iter().max_by_key(|&&i| layered.steps[i].len()).map_or(&[][..], |&i| &layered.steps[i]);
        let trunk = field.trunk(first, &longest[..shared]);
        for i in edges {
            lines[i] = field.way(&g.edges[i], &layered.steps[i], &trunk, shared);
        }
    }
    spread(g, sizes, &mut lines);
    lines
}

/// A little more than the clearance, so that the safe way is safe.
const OFF: f64 = CLEARANCE + 1.0;

struct Field<'a> {
    layered: &'a Layered,
    sizes: &'a [Sized],
    solids: &'a [Solid],
    x: &'a [f64],
    bands: &'a [(f64, f64)],
    title: Option<&'a Solid>,
    by_row: Vec<Vec<usize>>,
}

impl Field<'_> {
    /// The nodes whose rows meet a range of heights.
    fn obstacles(&self, low: f64, high: f64, except: [usize; 2]) -> Vec<&Solid> {
        let first = self.bands.partition_point(|b| b.1 + CLEARANCE < low);
        let rows = (first..self.bands.len()).take_while(|&r| self.bands[r].0 - CLEARANCE <= high);
        let nodes = rows.flat_map(|r| &self.by_row[r]).filter(|v| !except.contains(v)).map(|&v| &self.solids[v]);
        nodes.chain(self.title).collect()
    }

    fn start(&self, e: &Edge) -> Point {
        let from = &self.solids[e.from];
        let port = self.sizes[e.from].outs.get(e.result);
        port.map_or(from.centre, |p| (from.centre.0 + p.across, from.centre.1 + from.half.1))
    }

    /// Straight up through the rows of these steps.
    fn through<'s>(&'s self, steps: &'s [usize]) -> impl Iterator<Item = Point> + 's {
        steps.iter().flat_map(|&s| {
            let (low, high) = self.bands[self.layered.row_of[s]];
            [(self.x[s], low - OFF), (self.x[s], high + OFF)]
        })
    }

    /// The part of the way that several edges of a value share; only the start if there is none.
    fn trunk(&self, e: &Edge, steps: &[usize]) -> Vec<Point> {
        let start = self.start(e);
        if steps.is_empty() {
            return vec![start];
        }
        let mut way = vec![start, (start.0, self.bands[self.layered.row_of[e.from]].1 + OFF)];
        way.extend(self.through(steps));
        shorten(&way, |low, high| self.obstacles(low, high, [e.from, e.from]))
    }

    fn way(&self, e: &Edge, steps: &[usize], trunk: &[Point], shared: usize) -> Vec<Point> {
        let to = &self.solids[e.to];
        let into = self.sizes[e.to].ins.get(e.arg);
        let end = into.map_or(to.centre, |p| (to.centre.0 + p.across, to.centre.1 - to.half.1));
        // along the trunk to the last step that this edge needs
        let along = steps.len().min(shared);
        let mut points = match along.checked_sub(1) {
            Some(last) => up_to(trunk, self.bands[self.layered.row_of[steps[last]]].1 + OFF),
            None => vec![self.start(e)],
        };
        let mut way = vec![points[points.len() - 1]];
        if along == 0 {
            way.push((way[0].0, self.bands[self.layered.row_of[e.from]].1 + OFF));
        }
        way.extend(self.through(&steps[along..]));
        way.extend([(end.0, self.bands[self.layered.row_of[e.to]].0 - OFF), end]);
        let rest = shorten(&way, |low, high| self.obstacles(low, high, [e.from, e.to]));
        points.extend(&rest[1..]);

        let n = points.len();
        if self.sizes[e.from].outs.is_empty() {
            points[0] = self.solids[e.from].rim(points[1]);
        }
        match into {
            Some(p) => points.push((end.0, end.1 + p.inside)),
            None => points[n - 1] = to.rim(points[n - 2]),
        }
        points
    }
}

/// The part of a rising line below a height.
fn up_to(line: &[Point], height: f64) -> Vec<Point> {
    let mut out: Vec<Point> = line.iter().copied().take_while(|p| p.1 < height).collect();
    if let (Some(&a), Some(&b)) = (out.last(), line.get(out.len())) {
        let share = (height - a.1) / (b.1 - a.1);
        out.push((a.0 + share * (b.0 - a.0), height));
    }
    out
}

/// Moves arrows apart that go from the same place to the same place, such as the two of `x * x`.
fn spread(g: &Graph, sizes: &[Sized], lines: &mut [Vec<Point>]) {
    let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (i, e) in g.edges.iter().enumerate() {
        let out = (!sizes[e.from].outs.is_empty()).then_some(e.result);
        let into = (!sizes[e.to].ins.is_empty()).then_some(e.arg);
        groups.entry((e.from, out, e.to, into)).or_default().push(i);
    }
    for group in groups.into_values().filter(|group| group.len() > 1) {
        let half = (group.len() - 1) as f64 / 2.0;
        for (k, &i) in group.iter().enumerate() {
            let side = k as f64 - half;
            let line = &mut lines[i];
            if let [a, b] = line[..] {
                let across = side * (18.0_f64).min(40.0 / half.max(1.0));
                line.insert(1, ((a.0 + b.0) / 2.0 + across, (a.1 + b.1) / 2.0));
            } else {
                let n = line.len();
                line[1..n - 1].iter_mut().for_each(|p| p.0 += side * (8.0_f64).min(5.0 / half));
            }
        }
    }
}
