//! Random numbers from a seed: the same on every machine, and no dependency for it.

/// SplitMix64, by Steele, Lea and Flood: one addition and three mixing steps for each number.
///
/// ```
/// use crease_core::random::SplitMix64;
/// // the first numbers for this seed, as published with the generator
/// let mut r = SplitMix64::new(1_234_567);
/// assert_eq!([r.bits(), r.bits()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
/// ```
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator that starts from a seed.
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which must not be 0. Numbers are uneven by less than n / 2^64.
    pub fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }
}
