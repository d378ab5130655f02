//! Prices: linear forms in 1, c_nonlin and c_relu, and their ratios.

use crate::number::Count;
use crate::number::Rational;
use std::fmt;
use std::ops::{Add, AddAssign, Mul};

/// A price `one + nonlin c_nonlin + relu c_relu`, as in Tables 2 and 3 of the paper. Additions and multiplications cost 1.
/// Coefficients are exact whatever their size.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Price {
    /// The number of additions and multiplications.
    pub one: Count,
    /// The number of nonlinear smooth operations.
    pub nonlin: Count,
    /// The number of sign evaluations and comparisons.
    pub relu: Count,
}

impl Price {
    /// A price from its coefficients.
    pub const fn new(one: i128, nonlin: i128, relu: i128) -> Self {
        Price { one: Count::new(one), nonlin: Count::new(nonlin), relu: Count::new(relu) }
    }

    /// So many additions and multiplications.
    pub fn ones(n: impl Into<Count>) -> Self {
        Price { one: n.into(), ..Price::default() }
    }

    /// The price as a number.
    pub fn at(&self, prices: &Prices) -> Rational {
        let mut sum = self.one.to_rational();
        sum.add_mul(&self.nonlin.to_rational(), &prices.nonlin);
        sum.add_mul(&self.relu.to_rational(), &prices.relu);
        sum
    }

    /// The price if every operation costs 1.
    pub fn unit(&self) -> Count {
        &(&self.one + &self.nonlin) + &self.relu
    }
}

impl AddAssign<&Price> for Price {
    fn add_assign(&mut self, other: &Price) {
        self.one += &other.one;
        self.nonlin += &other.nonlin;
        self.relu += &other.relu;
    }
}

impl AddAssign for Price {
    fn add_assign(&mut self, other: Price) {
        *self += &other;
    }
}

impl Add for Price {
    type Output = Price;
    fn add(mut self, other: Price) -> Price {
        self += &other;
        self
    }
}

impl<C: Into<Count>> Mul<C> for Price {
    type Output = Price;
    fn mul(self, n: C) -> Price {
        let n = n.into();
        Price { one: &self.one * &n, nonlin: &self.nonlin * &n, relu: &self.relu * &n }
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (n, name) in [(&self.one, ""), (&self.nonlin, "c_nonlin"), (&self.relu, "c_relu")] {
            if n.is_zero() {
                continue;
            }
            let sign = match (first, n.is_negative()) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            match (n.abs(), name) {
                (n, "") => write!(f, "{sign}{n}")?,
                (n, name) if n == 1 => write!(f, "{sign}{name}")?,
                (n, name) => write!(f, "{sign}{n} {name}")?,
            }
            first = false;
        }
        if first { f.write_str("0") } else { Ok(()) }
    }
}

/// What the symbols are worth: c_nonlin, at least 1, and c_relu, at least 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices {
    /// The price of a nonlinear smooth operation.
    pub nonlin: Rational,
    /// The price of a sign evaluation or comparison.
    pub relu: Rational,
}

impl Prices {
    /// Assumption 1: every operation of the dictionary costs 1.
    pub fn unit() -> Self {
        Prices { nonlin: Rational::ONE, relu: Rational::ONE }
    }
}

impl Default for Prices {
    fn default() -> Self {
        Prices::unit()
    }
}

/// A ratio of two prices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// Above the line.
    pub above: Price,
    /// Below the line.
    pub below: Price,
}

/// The largest value of a [`Ratio`], and where it is attained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worst {
    /// The value; nothing if there is no bound.
    pub value: Option<Rational>,
    /// c_nonlin there; nothing stands for infinity.
    pub nonlin: Option<Rational>,
    /// c_relu there; nothing stands for infinity.
    pub relu: Option<Rational>,
}

impl Ratio {
    /// The ratio as a number; nothing if the price below is 0.
    pub fn at(&self, prices: &Prices) -> Option<Rational> {
        self.above.at(prices).checked_div(&self.below.at(prices))
    }

    /// The supremum over c_nonlin >= 1 and c_relu >= 0. A quotient of linear forms is monotone in each of its variables, so it is
    /// approached at a corner: 1 or infinity, 0 or infinity.
    ///
    /// ```
    /// use crease_core::cost::{Price, Ratio};
    /// // the paper's inv: (c_nonlin + 4) / c_nonlin
    /// let worst = Ratio { above: Price::new(4, 1, 0), below: Price::new(0, 1, 0) }.worst();
    /// assert_eq!(worst.value.unwrap().to_string(), "5");
    /// assert_eq!(worst.nonlin.unwrap().to_string(), "1");
    /// ```
    pub fn worst(&self) -> Worst {
        let mut best: Option<Worst> = None;
        for nonlin in [Some(Rational::ONE), None] {
            for relu in [Some(Rational::ZERO), None] {
                let value = self.limit(nonlin.is_none(), relu.is_none());
                let better = match &best {
                    None => true,
                    Some(b) => match (&value, &b.value) {
                        (None, Some(_)) => true,
                        (Some(x), Some(y)) => x > y,
                        _ => false,
                    },
                };
                if better {
                    best = Some(Worst { value, nonlin: nonlin.clone(), relu });
                }
            }
        }
        best.unwrap_or(Worst { value: None, nonlin: None, relu: None })
    }

    /// The value at a corner. Where both prices go to infinity, c_nonlin goes first.
    fn limit(&self, nonlin: bool, relu: bool) -> Option<Rational> {
        let leading = |p: &Price| -> (u8, Rational) {
            if nonlin && !p.nonlin.is_zero() {
                return (2, p.nonlin.to_rational());
            }
            if relu && !p.relu.is_zero() {
                return (1, p.relu.to_rational());
            }
            (0, (&p.one + &p.nonlin).to_rational()) // c_nonlin is 1 here, or does not occur
        };
        let ((da, a), (db, b)) = (leading(&self.above), leading(&self.below));
        match da.cmp(&db) {
            std::cmp::Ordering::Greater => None,
            std::cmp::Ordering::Less => Some(Rational::ZERO),
            std::cmp::Ordering::Equal => a.checked_div(&b).or(if a.is_zero() { Some(Rational::ZERO) } else { None }),
        }
    }
}
