//! Polynomials in one variable with rational coefficients: what a curve is made of, and what programs compute along it.

use crease_core::Rational;

/// A polynomial, lowest coefficient first, the highest one not zero.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Polynomial(Vec<Rational>);

impl Polynomial {
    pub fn new(mut coefficients: Vec<Rational>) -> Self {
        while coefficients.last().is_some_and(Rational::is_zero) {
            coefficients.pop();
        }
        Polynomial(coefficients)
    }

    pub fn constant(c: Rational) -> Self {
        Polynomial::new(vec![c])
    }

    pub fn coefficients(&self) -> &[Rational] {
        &self.0
    }

    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// The degree, 0 for the polynomial 0.
    pub fn degree(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// The number of the lowest coefficient that is not zero.
    pub fn order(&self) -> Option<usize> {
        self.0.iter().position(|c| !c.is_zero())
    }

    /// The value if it is a constant.
    pub fn as_constant(&self) -> Option<Rational> {
        match &self.0[..] {
            [] => Some(Rational::ZERO),
            [c] => Some(c.clone()),
            _ => None,
        }
    }

    pub fn at(&self, t: &Rational) -> Rational {
        self.0.iter().rev().fold(Rational::ZERO, |sum, c| &(&sum * t) + c)
    }

    pub fn plus(&self, factor: &Rational, other: &Polynomial) -> Polynomial {
        let mut out = self.0.clone();
        out.resize(self.0.len().max(other.0.len()), Rational::ZERO);
        out.iter_mut().zip(&other.0).for_each(|(a, b)| a.add_mul(factor, b));
        Polynomial::new(out)
    }

    pub fn times(&self, other: &Polynomial) -> Polynomial {
        if self.is_zero() || other.is_zero() {
            return Polynomial::default();
        }
        let mut out = vec![Rational::ZERO; self.0.len() + other.0.len() - 1];
        for (i, a) in self.0.iter().enumerate() {
            for (j, b) in other.0.iter().enumerate() {
                out[i + j].add_mul(a, b);
            }
        }
        Polynomial::new(out)
    }

    pub fn scaled(&self, factor: &Rational) -> Polynomial {
        Polynomial::new(self.0.iter().map(|c| c * factor).collect())
    }

    pub fn derivative(&self) -> Polynomial {
        let term = |(k, c): (usize, &Rational)| &Rational::from(k as i64) * c;
        Polynomial::new(self.0.iter().enumerate().skip(1).map(term).collect())
    }

    /// The polynomial in s with t = `by` + s.
    pub fn shifted(&self, by: &Rational) -> Polynomial {
        let step = Polynomial::new(vec![by.clone(), Rational::ONE]);
        let one = |c: &Rational| Polynomial::constant(c.clone());
        self.0.iter().rev().fold(Polynomial::default(), |sum, c| sum.times(&step).plus(&Rational::ONE, &one(c)))
    }

    /// Quotient and remainder; nothing if the divisor is 0.
    pub fn divided(&self, by: &Polynomial) -> Option<(Polynomial, Polynomial)> {
        let lead = by.0.last()?.inv()?;
        let mut rest = self.0.clone();
        let mut quotient = vec![Rational::ZERO; (self.0.len() + 1).saturating_sub(by.0.len())];
        for (k, slot) in quotient.iter_mut().enumerate().rev() {
            let factor = &rest[k + by.degree()] * &lead;
            let minus = -&factor;
            by.0.iter().enumerate().for_each(|(i, c)| rest[k + i].add_mul(&minus, c));
            *slot = factor;
        }
        rest.truncate(by.degree());
        Some((Polynomial::new(quotient), Polynomial::new(rest)))
    }

    /// The common divisor of the highest degree, up to a factor.
    pub fn common(&self, other: &Polynomial) -> Polynomial {
        let (mut a, mut b) = (self.clone(), other.clone());
        while let Some((_, rest)) = a.divided(&b) {
            // a leading 1 keeps coefficients short
            let lead = rest.0.last().and_then(Rational::inv);
            a = std::mem::replace(&mut b, lead.map_or_else(Polynomial::default, |l| rest.scaled(&l)));
        }
        a
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poly(c: &[i64]) -> Polynomial {
        Polynomial::new(c.iter().map(|&c| Rational::from(c)).collect())
    }

    #[test]
    fn division_undoes_multiplication() {
        let (a, b, c) = (poly(&[1, -3, 0, 2]), poly(&[5, 0, 1]), poly(&[7, 1]));
        let product = a.times(&b).plus(&Rational::ONE, &c);
        assert_eq!(product.divided(&b), Some((a.clone(), c)));
        assert_eq!(a.divided(&Polynomial::default()), None);
        assert_eq!(poly(&[1]).divided(&b), Some((Polynomial::default(), poly(&[1]))));
    }

    #[test]
    fn common_divisors() {
        let (a, b, c) = (poly(&[1, 1]), poly(&[-2, 3]), poly(&[5, 0, 1]));
        let common = a.times(&b).common(&b.times(&c));
        assert_eq!(common.degree(), 1);
        assert!(common.at(&Rational::new(2, 3).unwrap()).is_zero());
        assert_eq!(a.common(&c).degree(), 0);
    }

    #[test]
    fn shifting_and_differentiating() {
        let a = poly(&[1, -3, 0, 2]);
        let (by, t) = (Rational::from(5), Rational::new(-7, 3).unwrap());
        assert_eq!(a.shifted(&by).at(&t), a.at(&(&by + &t)));
        assert_eq!(a.derivative(), poly(&[-3, 0, 6]));
    }
}
