//! Integers of a fixed number of words, in two's complement: sums of products with no carry to grow and no fraction to reduce.
//!
//! All arithmetic is modulo 2^(64 words). A sum may leave the range on the way, as long as what it comes to is known to lie within it.

use crate::number::Rational;

/// An integer by which numbers are multiplied: at most two words, some words up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Factor {
    low: u64,
    high: u64,
    up: u32,
    negative: bool,
}

impl Factor {
    /// An integer, if it fits.
    pub fn new(x: &Rational) -> Option<Factor> {
        let words = x.words()?;
        let up = words.iter().take_while(|&&w| w == 0).count();
        let (low, high) = match words[up..] {
            [] => return Some(Factor::default()),
            [low] => (low, 0),
            [low, high] => (low, high),
            _ => return None,
        };
        Some(Factor { low, high, up: up as u32, negative: x.is_negative() })
    }

    /// `x * 2^shift`, if that is an integer.
    pub fn shifted(x: f64, shift: i64) -> Option<Factor> {
        let (mantissa, exponent) = parts(x);
        if mantissa == 0 {
            return Some(Factor::default());
        }
        let up = u64::try_from(exponent + shift).ok()?;
        let wide = u128::from(mantissa) << (up % 64);
        let up = u32::try_from(up / 64).ok()?;
        Some(Factor { low: wide as u64, high: (wide >> 64) as u64, up, negative: x < 0.0 })
    }

    pub fn negated(self) -> Factor {
        Factor { negative: !self.negative, ..self }
    }

    pub fn is_zero(self) -> bool {
        self.low == 0 && self.high == 0
    }
}

/// An odd integer (or 0) and the power of two with which it makes up the size of a double.
pub(super) fn parts(x: f64) -> (u64, i64) {
    let bits = x.to_bits();
    let (field, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
    let (mantissa, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
    if mantissa == 0 {
        return (0, 0);
    }
    let zeros = mantissa.trailing_zeros();
    (mantissa >> zeros, exponent + i64::from(zeros))
}

/// `sum += factor * x`. A shorter number is extended by its sign, a longer one loses what does not fit.
pub(super) fn add_product(sum: &mut [u64], factor: Factor, x: &[u64]) {
    for (word, up) in [(factor.low, factor.up as usize), (factor.high, factor.up as usize + 1)] {
        if word != 0 && up < sum.len() {
            match factor.negative {
                false => add_word(&mut sum[up..], word, x),
                true => subtract_word(&mut sum[up..], word, x),
            }
        }
    }
}

fn extension(x: &[u64]) -> u64 {
    if is_negative(x) { u64::MAX } else { 0 }
}

fn add_word(sum: &mut [u64], word: u64, x: &[u64]) {
    let mut carry = 0u64;
    let mut digits = x.iter().copied();
    let fill = extension(x);
    for s in sum {
        let digit = digits.next().unwrap_or(fill);
        let t = u128::from(digit) * u128::from(word) + u128::from(*s) + u128::from(carry);
        (*s, carry) = (t as u64, (t >> 64) as u64);
    }
}

fn subtract_word(sum: &mut [u64], word: u64, x: &[u64]) {
    let mut carry = 0u64;
    let mut digits = x.iter().copied();
    let fill = extension(x);
    for s in sum {
        let digit = digits.next().unwrap_or(fill);
        let t = u128::from(digit) * u128::from(word) + u128::from(carry);
        let (rest, borrow) = s.overflowing_sub(t as u64);
        // the high word of a product and a carry is below 2^64 - 1
        (*s, carry) = (rest, (t >> 64) as u64 + u64::from(borrow));
    }
}

pub(super) fn is_negative(x: &[u64]) -> bool {
    x.last().is_some_and(|w| w >> 63 == 1)
}

pub(super) fn is_zero(x: &[u64]) -> bool {
    x.iter().all(|&w| w == 0)
}

/// How many words hold all integers of so many bits, sign included.
pub(super) fn words(bits: i64) -> usize {
    (bits.max(0) as usize) / 64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    fn draw(random: &mut SplitMix64, words: usize) -> Vec<u64> {
        let fill = if random.below(2) == 0 { 0 } else { u64::MAX };
        let mut x: Vec<u64> = (0..words).map(|_| random.bits()).collect();
        x[words - 1] = fill ^ random.below(1 << 20);
        x
    }

    #[test]
    fn sums_of_products_are_those_of_rationals() {
        let mut random = SplitMix64::new(5);
        for _ in 0..4000 {
            let (a, b) = (1 + random.below(3) as usize, 1 + random.below(3) as usize);
            let (x, y) = (draw(&mut random, a), draw(&mut random, b));
            let w = f64::from_bits(random.bits() & !(0x7ff << 52) | (1023 - random.below(80)) << 52);
            let n = random.below(1 << 40) as i64 - (1 << 39);
            let (f, g) = (Factor::shifted(w, 132).unwrap(), Factor::new(&Rational::from(n)).unwrap());
            let mut sum = vec![0; 8];
            add_product(&mut sum, f, &x);
            add_product(&mut sum, g, &y);
            add_product(&mut sum, f.negated(), &y);
            let power = Rational::from(2).pow(132).unwrap();
            let (x, y) = (Rational::from_words(&x), Rational::from_words(&y));
            let w = Rational::from_f64(w).unwrap() * power;
            let expected = &w * &x + Rational::from(n) * &y - &w * &y;
            assert_eq!(Rational::from_words(&sum), expected);
            assert_eq!((is_negative(&sum), is_zero(&sum)), (expected.is_negative(), expected.is_zero()));
            let long = Factor::new(&(&w * Rational::from(3))).unwrap();
            let mut sum = vec![0; 8];
            add_product(&mut sum, long, &[2]);
            assert_eq!(Rational::from_words(&sum), w * Rational::from(6));
        }
        assert_eq!((parts(6.0), parts(-0.0), parts(f64::from_bits(4))), ((3, 1), (0, 0), (1, -1072)));
        assert!(Factor::shifted(0.5, 0).is_none());
    }
}
