//! Place: the horizontal coordinates.
//!
//! Ordered rows enter, one x for each vertex leaves. The x minimise the sum of squared horizontal extents of the links, with
//! vertices of a row at their distances from each other. This is a convex problem whose constraints concern one row at
//! a time, so going through the rows and solving each exactly, the others held still, converges to the optimum; one row is
//! an isotonic regression, solved by pooling adjacent violators. Parents come to stand over the middle of their children
//! by themselves.

use crate::layers::Layered;

/// What the placement has to know of a vertex.
pub(super) struct Extent {
    pub half_width: f64,
    /// The room that it wants on each side.
    pub margin: f64,
}

/// The horizontal offsets, from their centres, of the two ends of a link.
pub(super) type Offsets = (f64, f64);

const SWEEPS: usize = 400;

/// The last sweeps, in which arguments pull harder than users do: a node then stands over the middle of its arguments.
const CENTRING: usize = 40;

/// The x of every vertex, in the middle of it.
pub(super) fn place(
    layered: &Layered,
    extents: &[Extent],
    offsets: &[Offsets],
    is_step: impl Fn(usize) -> bool,
) -> Vec<f64> {
    let mut x = vec![0.0; layered.row_of.len()];
    let distances: Vec<Vec<f64>> = layered.rows.iter().map(|row| from_first(row, extents)).collect();
    for (row, distance) in layered.rows.iter().zip(&distances) {
        let middle = distance.last().copied().unwrap_or(0.0) / 2.0;
        for (&v, d) in row.iter().zip(distance) {
            x[v] = d - middle;
        }
    }
    // a trunk should be straight rather than short at its ends
    let weight = |link: usize| {
        let l = &layered.links[link];
        match (is_step(l.low), is_step(l.high)) {
            (true, true) => 8.0,
            (false, false) => 1.0,
            _ => 2.0,
        }
    };
    let count = layered.rows.len();
    let mut sweep = 0;
    while sweep < SWEEPS {
        let mut moved: f64 = 0.0;
        for i in 0..count {
            let r = if sweep % 2 == 0 { i } else { count - 1 - i };
            let row = &layered.rows[r];
            let wanted = row.iter().zip(&distances[r]).map(|(&v, d)| {
                let (mut sum, mut total) = (0.0, 0.0);
                let pull = if sweep >= SWEEPS - CENTRING && !is_step(v) { 2.0 } else { 1.0 };
                for &l in &layered.down[v] {
                    sum += pull * weight(l) * (x[layered.links[l].low] + offsets[l].0 - offsets[l].1);
                    total += pull * weight(l);
                }
                for &l in &layered.up[v] {
                    sum += weight(l) * (x[layered.links[l].high] + offsets[l].1 - offsets[l].0);
                    total += weight(l);
                }
                if total == 0.0 { (x[v] - d, 1e-3) } else { (sum / total - d, total) }
            });
            let solved = isotonic(wanted);
            for ((&v, d), s) in row.iter().zip(&distances[r]).zip(solved) {
                moved = moved.max((x[v] - (s + d)).abs());
                x[v] = s + d;
            }
        }
        // what has come to rest need not wait for the last sweeps, nor go on in them
        sweep = match moved < 0.01 {
            true if sweep >= SWEEPS - CENTRING => break,
            true => SWEEPS - CENTRING,
            false => sweep + 1,
        };
    }
    gather(layered, extents, &mut x);
    let left = (0..x.len()).map(|v| x[v] - extents[v].half_width).fold(f64::INFINITY, f64::min);
    x.iter().map(|x| x - left).collect()
}

/// Moves vertices without links up to their neighbours: nothing else tells them where to be.
fn gather(layered: &Layered, extents: &[Extent], x: &mut [f64]) {
    let alone = |v: usize| layered.down[v].is_empty() && layered.up[v].is_empty();
    for row in &layered.rows {
        let Some(first) = row.iter().position(|&v| !alone(v)) else { continue };
        let distance = from_first(row, extents);
        for i in (0..first).rev() {
            x[row[i]] = x[row[i + 1]] - (distance[i + 1] - distance[i]);
        }
        for i in first + 1..row.len() {
            if alone(row[i]) {
                x[row[i]] = x[row[i - 1]] + distance[i] - distance[i - 1];
            }
        }
    }
}

/// How far right of the first vertex of a row each one stands when they are packed.
fn from_first(row: &[usize], extents: &[Extent]) -> Vec<f64> {
    let mut at = 0.0;
    let mut out = Vec::with_capacity(row.len());
    for (i, &v) in row.iter().enumerate() {
        if i > 0 {
            let (a, b) = (&extents[row[i - 1]], &extents[v]);
            at += a.half_width + a.margin + b.margin + b.half_width;
        }
        out.push(at);
    }
    out
}

/// The ascending sequence that is nearest to a given one of (value, weight).
fn isotonic(values: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for (value, weight) in values {
        let mut pool = (value, weight, 1);
        while let Some(&(v, w, n)) = pools.last().filter(|last| last.0 > pool.0) {
            pool = ((v * w + pool.0 * pool.1) / (w + pool.1), w + pool.1, n + pool.2);
            pools.pop();
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(value, _, n)| std::iter::repeat_n(value, n)).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn isotonic_pools() {
        let solve = |v: &[f64]| super::isotonic(v.iter().map(|&x| (x, 1.0)));
        assert_eq!(solve(&[1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
        assert_eq!(solve(&[3.0, 1.0, 5.0]), [2.0, 2.0, 5.0]);
        assert_eq!(solve(&[3.0, 2.0, 1.0]), [2.0, 2.0, 2.0]);
    }
}
