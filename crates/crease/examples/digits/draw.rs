//! Digits as images, drawn by strokes: nothing but additions, products and square roots, so that they are the same on every machine.
//!
//! A number and a seed enter, an image of 16 x 16 numbers from 0 to 15 leaves. Each digit is a few lines and arcs; every image slants, stretches, shifts and
//! thickens them in its own way, and the ink is uneven. The background is 0, exactly: as in scanned digits, most windows of a max-pool see nothing but that.

use crease_core::random::SplitMix64;

/// Rows and columns of an image.
pub const SIDE: usize = 16;

/// The largest number of an image.
pub const INK: f64 = 15.0;

/// Random numbers, the same on every machine.
struct Random(SplitMix64);

impl Random {
    /// Between two numbers.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.0.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

type Point = (f64, f64);

/// Lines from point to point, x to the right and y down, both from -1 to 1.
fn strokes(digit: usize) -> Vec<Vec<Point>> {
    // an arc through four points is drawn as a curve of Bézier
    let curve = |p: [Point; 4]| -> Vec<Point> {
        let at = |t: f64| {
            let s = 1.0 - t;
            let w = [s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t];
            let sum = |f: fn(&Point) -> f64| p.iter().zip(w).map(|(p, w)| f(p) * w).sum();
            (sum(|p| p.0), sum(|p| p.1))
        };
        (0..=8).map(|k| at(f64::from(k) / 8.0)).collect()
    };
    match digit {
        0 => vec![
            curve([(0.0, -1.0), (-0.9, -1.0), (-0.9, 1.0), (0.0, 1.0)]),
            curve([(0.0, 1.0), (0.9, 1.0), (0.9, -1.0), (0.0, -1.0)]),
        ],
        1 => vec![vec![(-0.35, -0.6), (0.1, -1.0), (0.1, 1.0)]],
        2 => vec![
            curve([(-0.6, -0.55), (-0.5, -1.2), (0.75, -1.15), (0.55, -0.3)]),
            vec![(0.55, -0.3), (-0.65, 1.0), (0.7, 1.0)],
        ],
        3 => vec![
            curve([(-0.55, -0.9), (0.7, -1.2), (0.8, -0.1), (-0.1, -0.05)]),
            curve([(-0.1, -0.05), (0.95, -0.05), (0.8, 1.25), (-0.6, 0.85)]),
        ],
        4 => vec![vec![(0.35, 1.0), (0.35, -1.0), (-0.7, 0.35), (0.75, 0.35)]],
        5 => vec![
            vec![(0.6, -1.0), (-0.45, -1.0), (-0.5, -0.15)],
            curve([(-0.5, -0.15), (0.75, -0.5), (0.95, 1.05), (-0.55, 0.95)]),
        ],
        6 => vec![
            curve([(0.45, -1.0), (-0.5, -0.7), (-0.75, 0.5), (-0.35, 0.85)]),
            curve([(-0.35, 0.85), (0.2, 1.25), (0.8, 0.55), (0.4, 0.05)]),
            curve([(0.4, 0.05), (0.1, -0.25), (-0.4, 0.0), (-0.55, 0.4)]),
        ],
        7 => vec![vec![(-0.65, -1.0), (0.65, -1.0), (-0.15, 1.0)]],
        8 => vec![
            curve([(0.0, -0.05), (-0.85, -0.25), (-0.6, -1.05), (0.0, -1.0)]),
            curve([(0.0, -1.0), (0.6, -1.05), (0.85, -0.25), (0.0, -0.05)]),
            curve([(0.0, -0.05), (-1.0, 0.15), (-0.8, 1.05), (0.0, 1.0)]),
            curve([(0.0, 1.0), (0.8, 1.05), (1.0, 0.15), (0.0, -0.05)]),
        ],
        _ => vec![
            curve([(0.5, -0.4), (0.3, 0.2), (-0.55, 0.15), (-0.5, -0.45)]),
            curve([(-0.5, -0.45), (-0.45, -1.15), (0.5, -1.1), (0.5, -0.4)]),
            vec![(0.5, -0.4), (0.45, 0.3), (0.2, 1.0)],
        ],
    }
}

/// How far a point is from a line between two others.
fn distance(p: Point, a: Point, b: Point) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = dx * dx + dy * dy;
    let t = if length > 0.0 { ((p.0 - a.0) * dx + (p.1 - a.1) * dy) / length } else { 0.0 };
    let t = t.clamp(0.0, 1.0);
    let (x, y) = (p.0 - a.0 - t * dx, p.1 - a.1 - t * dy);
    (x * x + y * y).sqrt()
}

/// An image of a digit, row by row.
fn draw(digit: usize, random: &mut Random) -> Vec<f64> {
    let (wide, high) = (random.between(3.4, 5.2), random.between(4.6, 6.0));
    let (slant, tilt) = (random.between(-0.35, 0.35), random.between(-0.15, 0.15));
    let (right, down) = (random.between(-1.4, 1.4), random.between(-1.0, 1.0));
    let (thick, dark) = (random.between(0.55, 1.15), random.between(0.75, 1.0));
    let middle = (SIDE as f64 - 1.0) / 2.0;
    let place = |(x, y): Point| (middle + right + wide * (x - slant * y), middle + down + high * (y + tilt * x));
    let lines: Vec<(Point, Point)> = strokes(digit)
        .iter()
        .flat_map(|s| s.windows(2).map(|w| (place(w[0]), place(w[1]))).collect::<Vec<_>>())
        .collect();
    let mut image = Vec::with_capacity(SIDE * SIDE);
    for row in 0..SIDE {
        for column in 0..SIDE {
            let here = (column as f64, row as f64);
            let near = lines.iter().map(|&(a, b)| distance(here, a, b)).fold(f64::INFINITY, f64::min);
            let cover = (thick + 0.5 - near).clamp(0.0, 1.0);
            let ink = INK * cover * dark * random.between(0.8, 1.0);
            image.push(ink.round());
        }
    }
    image
}

/// So many digits in turn, with what they are.
pub fn digits(count: usize, seed: u64) -> (Vec<Vec<f64>>, Vec<usize>) {
    let mut random = Random(SplitMix64::new(seed));
    let images = (0..count).map(|i| draw(i % 10, &mut random)).collect();
    (images, (0..count).map(|i| i % 10).collect())
}
