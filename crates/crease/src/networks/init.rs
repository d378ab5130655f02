//! Normal numbers from a seed, the same on every machine up to the last digit of the logarithm and the sine.

use crease_core::random::SplitMix64;

/// Normal numbers by the method of Box and Muller.
pub(super) struct Normal {
    source: SplitMix64,
    spare: Option<f64>,
}

impl Normal {
    pub fn new(seed: u64) -> Self {
        Normal { source: SplitMix64::new(seed), spare: None }
    }

    /// A number in (0, 1]: its logarithm is finite.
    fn uniform(&mut self) -> f64 {
        ((self.source.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// A number from the normal distribution with mean 0 and variance 1.
    pub fn draw(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }
}

#[cfg(test)]
mod tests {
    use super::Normal;

    #[test]
    fn mean_and_variance_are_right() {
        let mut n = Normal::new(3);
        let x: Vec<f64> = (0..20_000).map(|_| n.draw()).collect();
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }
}
