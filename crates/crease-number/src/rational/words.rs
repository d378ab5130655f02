//! Rationals as whole numbers of machine words, and back: how integers of a fixed length meet exact ones.

use super::{Rational, Repr};
use dashu_base::{BitTest, PowerOfTwo};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

impl Rational {
    /// The integer whose two's complement these words are, the lowest first.
    ///
    /// ```
    /// use crease_number::Rational;
    /// assert_eq!(Rational::from_words(&[u64::MAX, u64::MAX]), Rational::from(-1));
    /// assert_eq!(Rational::from_words(&[0, 1]).to_string(), "18446744073709551616");
    /// assert!(Rational::from_words(&[]).is_zero());
    /// ```
    pub fn from_words(words: &[u64]) -> Rational {
        let negative = words.last().is_some_and(|&w| w >> 63 == 1);
        let mut bytes: Vec<u8> = Vec::with_capacity(8 * words.len());
        let mut carry = negative;
        for &word in words {
            let (word, over) = if negative { (!word).overflowing_add(u64::from(carry)) } else { (word, false) };
            carry = over;
            bytes.extend(word.to_le_bytes());
        }
        let size = IBig::from(UBig::from_le_bytes(&bytes));
        Rational::from(RBig::from(if negative { -size } else { size }))
    }

    /// The size of an integer in words, the lowest first and none of them superfluous. Nothing for a fraction.
    ///
    /// ```
    /// use crease_number::Rational;
    /// assert_eq!(Rational::from(-5).words(), Some(vec![5]));
    /// assert_eq!((Rational::ZERO.words(), Rational::new(1, 2).unwrap().words()), (Some(vec![]), None));
    /// ```
    pub fn words(&self) -> Option<Vec<u64>> {
        if !self.is_integer() {
            return None;
        }
        if let Repr::Small { num, .. } = self.0 {
            return Some(if num == 0 { Vec::new() } else { vec![num.unsigned_abs()] });
        }
        let (_, size) = self.numerator().into_parts();
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |w, b| w << 8 | u64::from(*b));
        Some(size.to_le_bytes().chunks(8).map(word).collect())
    }

    /// The largest k with 2^k not above the size of the number, or one less than that. Nothing for 0.
    ///
    /// ```
    /// use crease_number::Rational;
    /// assert_eq!(Rational::from(8).floor_log2(), Some(3));
    /// assert!(matches!(Rational::new(1, 3).unwrap().floor_log2(), Some(-2 | -3)));
    /// ```
    pub fn floor_log2(&self) -> Option<i64> {
        let (num, den) = match &self.0 {
            Repr::Small { num, den } => (num.unsigned_abs().bit_len(), den.get().bit_len()),
            Repr::Big(big) => (big.numerator().bit_len(), big.denominator().bit_len()),
        };
        // 2^(n-1) <= num < 2^n and 2^(d-1) <= den < 2^d
        let exact = self.power_of_two();
        (num > 0).then(|| exact.unwrap_or(num as i64 - 1 - den as i64))
    }

    /// The k with 2^k equal to the number, if there is one.
    ///
    /// ```
    /// use crease_number::Rational;
    /// assert_eq!(Rational::new(1, 1024).unwrap().power_of_two(), Some(-10));
    /// assert_eq!([3, 0, -4].map(|n| Rational::from(n).power_of_two()), [None; 3]);
    /// ```
    pub fn power_of_two(&self) -> Option<i64> {
        if !self.is_positive() {
            return None;
        }
        let (num, den) = (self.numerator().into_parts().1, self.denominator());
        let (n, d) = (num.bit_len() as i64 - 1, den.bit_len() as i64 - 1);
        (num.is_power_of_two() && den.is_power_of_two()).then_some(n - d)
    }
}
