//! Points at which many kinks tie: zeros, small integers, shared fractions, and numbers of extreme size.

use crate::random::Rng;
use crease_core::Rational;

/// Numbers at which operations are at home.
const TAME: [(i64, i64); 10] = [(0, 1), (0, 1), (1, 1), (-1, 1), (2, 1), (1, 2), (1, 3), (-2, 3), (3, 1), (-3, 7)];

/// Numbers of extreme size, which texts can say.
const EXTREME: [&str; 8] = ["1e-20", "-1e-20", "1e30", "-1e30", "1e-40", "1e16", "40", "-41"];

/// A point of so many coordinates.
pub(super) fn point(rng: &mut Rng, n: usize) -> Vec<Rational> {
    let style = rng.below(8);
    let shared = coordinate(rng);
    (0..n)
        .map(|_| match style {
            0..3 => Rational::ZERO,
            3 => shared.clone(),
            4 if rng.once_in(2) => shared.clone(),
            5 if rng.once_in(2) => extreme(rng),
            _ => coordinate(rng),
        })
        .collect()
}

fn coordinate(rng: &mut Rng) -> Rational {
    let (n, d) = *rng.pick(&TAME);
    Rational::new(n, d).unwrap_or_default()
}

fn extreme(rng: &mut Rng) -> Rational {
    rng.pick(&EXTREME).parse().unwrap_or_default()
}

/// A constant: mostly a small one, at times one that no double would survive.
pub(super) fn constant(rng: &mut Rng) -> Rational {
    match rng.below(10) {
        0 => extreme(rng),
        1 => {
            // next to a small integer
            let near = Rational::from(rng.between(-2, 2));
            let by: Rational = rng.pick(&["1e-20", "-1e-20", "1e-17", "1e-40"]).parse().unwrap_or_default();
            near + by
        }
        2..5 => Rational::from(rng.between(-3, 3)),
        _ => coordinate(rng),
    }
}
