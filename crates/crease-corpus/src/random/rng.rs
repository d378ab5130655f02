//! A small generator of random numbers: the same seed gives the same programs on every machine.

use crease_core::random::SplitMix64;

/// A generator with the ways of drawing that programs need.
///
/// ```
/// use crease_corpus::random::Rng;
/// assert_eq!(Rng::new(3).below(1000), Rng::new(3).below(1000));
/// ```
#[derive(Clone, Debug)]
pub struct Rng(SplitMix64);

impl Rng {
    /// A generator that starts from a seed.
    pub fn new(seed: u64) -> Self {
        Rng(SplitMix64::new(seed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below `n`, which must not be 0.
    pub fn below(&mut self, n: usize) -> usize {
        // the bias is below n / 2^64
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// An integer from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as usize) as i64
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of several; there must be one at least.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A generator of its own, so that what is drawn there does not shift what is drawn here.
    pub fn split(&mut self) -> Rng {
        Rng::new(self.bits())
    }
}
