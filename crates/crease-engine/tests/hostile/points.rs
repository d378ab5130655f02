//! Points that are meant to hurt.

use crease_core::Program;
use crease_corpus::random::Rng;

/// What kind of numbers a point has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Small integers: many ties, and sums that do not round.
    Whole,
    /// No ties to speak of.
    Generic,
    /// Numbers of all sizes, zeros of both signs among them.
    Sizes,
    /// A few infinities and NaN among small integers.
    Odd,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Whole, Kind::Generic, Kind::Sizes, Kind::Odd];
}

pub fn number(rng: &mut Rng, kind: Kind) -> f64 {
    match kind {
        Kind::Whole => rng.between(-2, 2) as f64,
        Kind::Generic => (rng.bits() >> 11) as f64 / (1u64 << 51) as f64 - 2.0,
        Kind::Sizes => *rng.pick(&[
            0.0,
            -0.0,
            1.0,
            -1.0,
            3.0,
            1e-310,
            -5e-324,
            1e-40,
            1e-45,
            1e-30,
            -1e30,
            1e15,
            -1e15,
            1e100,
            -1e160,
            1e200,
            0.1,
            9_007_199_254_740_993.0,
            16_777_217.0,
        ]),
        Kind::Odd if rng.once_in(12) => *rng.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0]),
        Kind::Odd => rng.between(-2, 2) as f64,
    }
}

/// Some points for a program.
pub fn points(rng: &mut Rng, p: &Program, kind: Kind, count: usize) -> Vec<Vec<Vec<f64>>> {
    let mut at = || p.inputs().iter().map(|i| (0..i.shape.len()).map(|_| number(rng, kind)).collect()).collect();
    (0..count).map(|_| at()).collect()
}
