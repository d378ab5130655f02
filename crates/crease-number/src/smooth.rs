//! Smooth functions of one number, and all that there is to know about each, once.
//!
//! A function enters as a [`Smooth`]; its name, slope, domain, where it is steep and how it grows leave; its value is what each kind of
//! numbers makes of it ([`Number::smooth`]). The slope is a little program in the argument and the value, written for any
//! [`Algebra`]: differentiation writes it down as equations, the local model computes it in rationals or enclosures, the engine in
//! floats, and prices count what it takes. So there is one table, and what can be computed from it is not written anywhere else.

use crate::{Number, NumberError};
use std::cmp::Ordering;

/// A smooth function of one number.
///
/// ```
/// use crease_number::Smooth;
/// assert_eq!(Smooth::Sqrt.name(), "sqrt");
/// assert_eq!(Smooth::from_name("exp"), Some(Smooth::Exp));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Smooth {
    /// `1 / a`.
    Inv,
    /// The exponential.
    Exp,
    /// The natural logarithm.
    Log,
    /// The square root.
    Sqrt,
    /// The sine.
    Sin,
    /// The cosine.
    Cos,
    /// The hyperbolic tangent.
    Tanh,
    /// `1 / (1 + exp(-a))`.
    Sigmoid,
    /// `log(1 + exp(a))`.
    Softplus,
    /// `a ^ k` for an integer k.
    Power(i32),
}

/// Where slopes are computed: in numbers, in equations of a program, in counts of operations.
pub trait Algebra {
    /// What is computed with.
    type Value: Clone;
    /// Why it may fail.
    type Error;
    /// The constant `p / q`, of small integers.
    fn constant(&mut self, p: i32, q: i32) -> Result<Self::Value, Self::Error>;
    /// `a - b`.
    fn sub(&mut self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value, Self::Error>;
    /// `a * b`.
    fn mul(&mut self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value, Self::Error>;
    /// `a / b`.
    fn div(&mut self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value, Self::Error>;
    /// A function of the table.
    fn smooth(&mut self, f: Smooth, a: &Self::Value) -> Result<Self::Value, Self::Error>;
}

/// A slope, its sign apart: backward, signs travel for nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Slope<V> {
    /// 0, everywhere.
    Zero,
    /// 1, everywhere.
    One,
    /// This.
    Plus(V),
    /// Minus this.
    Minus(V),
}

/// The algebra of [`Number`]s.
///
/// ```
/// use crease_number::{Numbers, Slope, Smooth};
/// assert_eq!(Smooth::Sqrt.slope(&mut Numbers::new(), &4.0, &2.0), Ok(Slope::Plus(0.25)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Numbers<N>(std::marker::PhantomData<N>);

impl<N> Numbers<N> {
    /// The algebra, which holds nothing.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Numbers(std::marker::PhantomData)
    }
}

impl<N: Number> Algebra for Numbers<N> {
    type Value = N;
    type Error = NumberError;

    fn constant(&mut self, p: i32, q: i32) -> Result<N, NumberError> {
        let [p, q] = [p, q].map(|k| match usize::try_from(k.unsigned_abs()) {
            Ok(size) if k < 0 => N::from_usize(size).neg(),
            Ok(size) => N::from_usize(size),
            Err(_) => N::zero(),
        });
        p.div(&q)
    }

    fn sub(&mut self, a: &N, b: &N) -> Result<N, NumberError> {
        Ok(a.sub(b))
    }

    fn mul(&mut self, a: &N, b: &N) -> Result<N, NumberError> {
        Ok(a.mul(b))
    }

    fn div(&mut self, a: &N, b: &N) -> Result<N, NumberError> {
        a.div(b)
    }

    fn smooth(&mut self, f: Smooth, a: &N) -> Result<N, NumberError> {
        a.smooth(f)
    }
}

/// Where a function has values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Everywhere.
    All,
    /// Everywhere but at 0.
    NotZero,
    /// Right of 0.
    Positive,
    /// At 0 and right of it.
    NotNegative,
}

/// What holds of a [`Smooth`] function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Where it has values.
    pub domain: Domain,
    /// What is singular on the edge of the domain, at 0: there is a value, but the slope is infinite.
    pub singular_at_zero: Option<&'static str>,
    /// Whether a finite argument always has a finite value, in floating point too.
    pub is_total: bool,
    /// Whether an argument that is not finite always shows: the value is not finite either.
    pub shows_infinity: bool,
    /// Whether the slope is finite wherever argument and value are, in floating point too.
    pub is_tame: bool,
    /// Whether no value is negative.
    pub is_nonnegative: bool,
}

macro_rules! named {
    ($($f:ident => $name:literal),* $(,)?) => {
        impl Smooth {
            /// Those that are called by their name; only [`Smooth::Power`] is not among them.
            pub const NAMED: &'static [Smooth] = &[$(Smooth::$f),*];

            /// The name in the text language.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Smooth::$f => $name,)*
                    Smooth::Power(_) => "^",
                }
            }
        }
    };
}

named! {
    Inv => "inv",
    Exp => "exp",
    Log => "log",
    Sqrt => "sqrt",
    Sin => "sin",
    Cos => "cos",
    Tanh => "tanh",
    Sigmoid => "sigmoid",
    Softplus => "softplus",
}

impl Smooth {
    /// The function that is called by this name.
    pub fn from_name(name: &str) -> Option<Smooth> {
        Smooth::NAMED.iter().copied().find(|f| f.name() == name)
    }

    /// The slope at `x`, where the value is `y`.
    #[inline(always)]
    pub fn slope<A: Algebra>(self, a: &mut A, x: &A::Value, y: &A::Value) -> Result<Slope<A::Value>, A::Error> {
        Ok(match self {
            Smooth::Inv => Slope::Minus(a.mul(y, y)?),
            Smooth::Exp => Slope::Plus(y.clone()),
            Smooth::Log => Slope::Plus(a.smooth(Smooth::Inv, x)?),
            Smooth::Sqrt => {
                let half = a.constant(1, 2)?;
                Slope::Plus(a.div(&half, y)?)
            }
            Smooth::Sin => Slope::Plus(a.smooth(Smooth::Cos, x)?),
            Smooth::Cos => Slope::Minus(a.smooth(Smooth::Sin, x)?),
            Smooth::Tanh => {
                let (square, one) = (a.mul(y, y)?, a.constant(1, 1)?);
                Slope::Plus(a.sub(&one, &square)?)
            }
            Smooth::Sigmoid => {
                let one = a.constant(1, 1)?;
                let rest = a.sub(&one, y)?;
                Slope::Plus(a.mul(y, &rest)?)
            }
            Smooth::Softplus => Slope::Plus(a.smooth(Smooth::Sigmoid, x)?),
            Smooth::Power(0) => Slope::Zero,
            Smooth::Power(1) => Slope::One,
            Smooth::Power(k) => {
                let lower = if k == 2 { x.clone() } else { a.smooth(Smooth::Power(k - 1), x)? };
                let k = a.constant(k, 1)?;
                Slope::Plus(a.mul(&k, &lower)?)
            }
        })
    }

    /// What holds of the function, a row for each.
    pub const fn facts(self) -> Facts {
        let plain = Facts {
            domain: Domain::All,
            singular_at_zero: None,
            is_total: false,
            shows_infinity: false,
            is_tame: true,
            is_nonnegative: false,
        };
        match self {
            Smooth::Inv => Facts { domain: Domain::NotZero, is_tame: false, ..plain },
            Smooth::Exp => Facts { is_nonnegative: true, ..plain },
            Smooth::Log => Facts { domain: Domain::Positive, shows_infinity: true, is_tame: false, ..plain },
            Smooth::Sqrt => Facts {
                domain: Domain::NotNegative,
                singular_at_zero: Some("the square root has infinite slope at 0"),
                shows_infinity: true,
                is_tame: false,
                is_nonnegative: true,
                ..plain
            },
            Smooth::Sin | Smooth::Cos | Smooth::Tanh => Facts { is_total: true, ..plain },
            Smooth::Sigmoid | Smooth::Softplus => Facts { is_total: true, is_nonnegative: true, ..plain },
            Smooth::Power(k) => Facts {
                domain: if k < 0 { Domain::NotZero } else { Domain::All },
                is_total: matches!(k, 0 | 1),
                shows_infinity: k > 0,
                is_tame: matches!(k, 0..=2),
                is_nonnegative: k % 2 == 0,
                ..plain
            },
        }
    }

    /// Why there is no value at arguments on this side of 0, if there is none.
    pub fn outside(self, side: Ordering) -> Option<NumberError> {
        let inside = match self.facts().domain {
            Domain::All => true,
            Domain::NotZero => side.is_ne(),
            Domain::Positive => side.is_gt(),
            Domain::NotNegative => side.is_ge(),
        };
        match self {
            _ if inside => None,
            Smooth::Log => Some(NumberError::LogOfNonPositive),
            Smooth::Sqrt => Some(NumberError::SqrtOfNegative),
            _ => Some(NumberError::DivisionByZero),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All functions, powers of both signs among them.
    fn all() -> Vec<Smooth> {
        let powers = [-3, -1, 0, 1, 2, 3, 6].map(Smooth::Power);
        Smooth::NAMED.iter().copied().chain(powers).collect()
    }

    const POINTS: [f64; 16] =
        [0.0, -0.0, 1.0, -1.0, 0.3, -2.5, 40.0, -40.0, 800.0, -800.0, 1e-310, -1e-310, 1e200, -1e200, 1e308, 5e-324];

    #[test]
    fn what_is_said_of_domains_and_growth_holds_in_floats() {
        for f in all() {
            for x in POINTS {
                let y = x.smooth(f).unwrap();
                let side = x.partial_cmp(&0.0).unwrap();
                assert!(f.outside(side).is_none() || !y.is_finite(), "{f:?} {x}");
                assert!(!y.is_nan() || f.outside(side).is_some(), "{f:?} {x}");
                assert!(!f.facts().is_total || y.is_finite(), "{f:?} {x}");
                assert!(!f.facts().is_nonnegative || y.is_nan() || y >= 0.0, "{f:?} {x}");
                let slope = match f.slope(&mut Numbers::new(), &x, &y).unwrap() {
                    Slope::Zero => 0.0,
                    Slope::One => 1.0,
                    Slope::Plus(w) | Slope::Minus(w) => w,
                };
                assert!(!f.facts().is_tame || !y.is_finite() || slope.is_finite(), "{f:?} {x} {slope}");
                if f.facts().singular_at_zero.is_some() && x == 0.0 {
                    assert!(y.is_finite() && !slope.is_finite(), "{f:?}");
                }
            }
            for x in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
                assert!(!f.facts().shows_infinity || !x.smooth(f).unwrap().is_finite(), "{f:?} {x}");
            }
        }
    }

    #[test]
    fn names_are_theirs() {
        for f in Smooth::NAMED {
            assert_eq!(Smooth::from_name(f.name()), Some(*f));
        }
        assert_eq!(Smooth::from_name("^"), None);
    }
}
