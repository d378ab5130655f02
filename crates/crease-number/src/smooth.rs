//! Smooth functions of one number, and all that there is to know about each, once.
//!
//! A function enters as a [`Smooth`]; its name, slope, domain, where it is steep and how it grows leave; its value is what each kind of
//! numbers makes of it ([`Number::smooth`]). The slope is a little program in the argument and the value, written for any
//! [`Algebra`]: differentiation writes it down as equations, the local model computes it in rationals or enclosures, the engine in
//! floats, and prices count what it takes. So there is one table, and what can be computed from it is not written anywhere else.

use crate::{Number, NumberError, Rational};
use std::cmp::Ordering;

/// A smooth function of one number.
///
/// With all operations at the price of 1, differentiating one backward takes at most 5 times its own price, the constant of Baur and Strassen that
/// the paper has for its dictionary, except where the slope alone takes more than two operations: `erf_slope` and `atan` 6 times, `atanh` 7, `asin` 8, `acos` 9.
/// The dearer nonlinear operations are than products, the less: `asin` and `acos` tend to 3, the others to 2 or less.
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
    /// The tangent.
    Tan,
    /// The arcsine.
    Asin,
    /// The arccosine.
    Acos,
    /// The arctangent.
    Atan,
    /// The hyperbolic sine.
    Sinh,
    /// The hyperbolic cosine.
    Cosh,
    /// The inverse of the hyperbolic sine.
    Asinh,
    /// The inverse of the hyperbolic cosine, right of 0.
    Acosh,
    /// The inverse of the hyperbolic tangent.
    Atanh,
    /// The error function.
    Erf,
    /// What the error function lacks to 1.
    Erfc,
    /// The slope of the error function, `2 / sqrt(pi) * exp(-a^2)`: a function of its own, because its factor is no exact number.
    ErfSlope,
    /// `log(1 + a)`.
    Log1p,
    /// `exp(a) - 1`.
    Expm1,
    /// `a ^ k` for an integer k.
    Power(i32),
    /// `a ^ (p / q)`, for `p / q` that is no integer: where a is negative there is no value, whatever q is. Made by
    /// [`Smooth::power`], which knows those of them that have another name.
    Root(i32, i32),
}

/// Where slopes are computed: in numbers, in equations of a program, in counts of operations.
pub trait Algebra {
    /// What is computed with.
    type Value: Clone;
    /// Why it may fail.
    type Error;
    /// The constant `p / q`, of small integers.
    fn constant(&mut self, p: i32, q: i32) -> Result<Self::Value, Self::Error>;
    /// `a + b`.
    fn add(&mut self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value, Self::Error>;
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

    fn add(&mut self, a: &N, b: &N) -> Result<N, NumberError> {
        Ok(a.add(b))
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

/// A place where a function ends, or where it has no derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// No value here, but on both sides.
    Pole(i32),
    /// No value here or left of it.
    Above(i32),
    /// No value here or right of it.
    Below(i32),
    /// No value left of here, and no derivative here, for this reason.
    From(i32, &'static str),
    /// No value right of here, and no derivative here, for this reason.
    UpTo(i32, &'static str),
}

/// What holds of a [`Smooth`] function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Where it ends; nothing if it has values and slopes everywhere. Places that are no integers are not among them: poles of the
    /// tangent are at no number that a program could hold.
    pub edges: &'static [Edge],
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
            /// Those that are called by their name; only [`Smooth::Power`] and [`Smooth::Root`] are not among them.
            pub const NAMED: &'static [Smooth] = &[$(Smooth::$f),*];

            /// The name in the text language.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Smooth::$f => $name,)*
                    Smooth::Power(_) | Smooth::Root(..) => "^",
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
    Tan => "tan",
    Asin => "asin",
    Acos => "acos",
    Atan => "atan",
    Sinh => "sinh",
    Cosh => "cosh",
    Asinh => "asinh",
    Acosh => "acosh",
    Atanh => "atanh",
    Erf => "erf",
    Erfc => "erfc",
    ErfSlope => "erf_slope",
    Log1p => "log1p",
    Expm1 => "expm1",
}

impl Smooth {
    /// The function that is called by this name.
    pub fn from_name(name: &str) -> Option<Smooth> {
        Smooth::NAMED.iter().copied().find(|f| f.name() == name)
    }

    /// The power with this exponent; nothing if that does not fit a fraction of 32 bits.
    ///
    /// ```
    /// use crease_number::{Rational, Smooth};
    /// assert_eq!(Smooth::power_of(&Rational::new(3, 2).unwrap()), Some(Smooth::Root(3, 2)));
    /// assert_eq!(Smooth::power_of(&Rational::from(1i64 << 40)), None);
    /// ```
    pub fn power_of(exponent: &Rational) -> Option<Smooth> {
        let (p, q) = exponent.small_parts()?;
        Smooth::power(i32::try_from(p).ok()?, i32::try_from(q).ok()?)
    }

    /// `a ^ (p / q)`; nothing where q is 0. A function that has another name is called by that.
    ///
    /// ```
    /// use crease_number::Smooth;
    /// assert_eq!(Smooth::power(6, 2), Some(Smooth::Power(3)));
    /// assert_eq!(Smooth::power(2, 4), Some(Smooth::Sqrt));
    /// assert_eq!(Smooth::power(1, -3), Some(Smooth::Root(-1, 3)));
    /// ```
    pub fn power(p: i32, q: i32) -> Option<Smooth> {
        let (p, q) = (i64::from(p) * i64::from(q.signum()), i64::from(q).abs());
        let (mut a, mut b) = (p.abs(), q);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let part = |n: i64| i32::try_from(n.checked_div(a)?).ok();
        match (part(p)?, part(q)?) {
            (_, 0) => None,
            (p, 1) => Some(Smooth::Power(p)),
            (1, 2) => Some(Smooth::Sqrt),
            (p, q) => Some(Smooth::Root(p, q)),
        }
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
            Smooth::Tan => {
                let (square, one) = (a.mul(y, y)?, a.constant(1, 1)?);
                Slope::Plus(a.add(&one, &square)?)
            }
            Smooth::Asin | Smooth::Acos => {
                let rest = one_less_square(a, x)?;
                let root = a.smooth(Smooth::Sqrt, &rest)?;
                let slope = a.smooth(Smooth::Inv, &root)?;
                if self == Smooth::Asin { Slope::Plus(slope) } else { Slope::Minus(slope) }
            }
            Smooth::Atan => {
                let (square, one) = (a.mul(x, x)?, a.constant(1, 1)?);
                let sum = a.add(&one, &square)?;
                Slope::Plus(a.smooth(Smooth::Inv, &sum)?)
            }
            Smooth::Sinh => Slope::Plus(a.smooth(Smooth::Cosh, x)?),
            Smooth::Cosh => Slope::Plus(a.smooth(Smooth::Sinh, x)?),
            // the roots of x^2 + 1 and x^2 - 1, without a square that overflows or cancels
            Smooth::Asinh | Smooth::Acosh => {
                let root = a.smooth(if self == Smooth::Asinh { Smooth::Cosh } else { Smooth::Sinh }, y)?;
                Slope::Plus(a.smooth(Smooth::Inv, &root)?)
            }
            Smooth::Atanh => {
                let rest = one_less_square(a, x)?;
                Slope::Plus(a.smooth(Smooth::Inv, &rest)?)
            }
            Smooth::Erf => Slope::Plus(a.smooth(Smooth::ErfSlope, x)?),
            Smooth::Erfc => Slope::Minus(a.smooth(Smooth::ErfSlope, x)?),
            Smooth::ErfSlope => {
                // the value first, which is 0 before the argument overflows
                let (product, two) = (a.mul(x, y)?, a.constant(2, 1)?);
                Slope::Minus(a.mul(&two, &product)?)
            }
            Smooth::Log1p => {
                let one = a.constant(1, 1)?;
                let sum = a.add(&one, x)?;
                Slope::Plus(a.smooth(Smooth::Inv, &sum)?)
            }
            // not 1 more than the value, which is nothing but rounding left of -40
            Smooth::Expm1 => Slope::Plus(a.smooth(Smooth::Exp, x)?),
            Smooth::Power(0) => Slope::Zero,
            Smooth::Power(1) => Slope::One,
            Smooth::Power(k) => {
                let lower = if k == 2 { x.clone() } else { a.smooth(Smooth::Power(k - 1), x)? };
                let k = a.constant(k, 1)?;
                Slope::Plus(a.mul(&k, &lower)?)
            }
            Smooth::Root(p, q) => {
                let lower = p.saturating_sub(q);
                let lower = a.smooth(Smooth::power(lower, q).unwrap_or(Smooth::Root(lower, q)), x)?;
                let exponent = a.constant(p, q)?;
                Slope::Plus(a.mul(&exponent, &lower)?)
            }
        })
    }

    /// What holds of the function, a row for each.
    pub const fn facts(self) -> Facts {
        let plain = Facts { edges: &[], is_total: false, shows_infinity: false, is_tame: true, is_nonnegative: false };
        let total = Facts { is_total: true, ..plain };
        let shown = Facts { shows_infinity: true, ..plain };
        match self {
            Smooth::Inv => Facts { edges: &[Edge::Pole(0)], is_tame: false, ..plain },
            Smooth::Exp => Facts { is_nonnegative: true, ..plain },
            Smooth::Log => Facts { edges: &[Edge::Above(0)], is_tame: false, ..shown },
            Smooth::Sqrt => Facts {
                edges: &[Edge::From(0, "the square root has infinite slope at 0")],
                is_tame: false,
                is_nonnegative: true,
                ..shown
            },
            Smooth::Sin | Smooth::Cos | Smooth::Tanh | Smooth::Atan | Smooth::Erf => total,
            Smooth::Sigmoid | Smooth::Softplus | Smooth::Erfc | Smooth::ErfSlope => {
                Facts { is_nonnegative: true, ..total }
            }
            Smooth::Tan => Facts { shows_infinity: true, ..total },
            Smooth::Asin => Facts {
                edges: &[
                    Edge::From(-1, "the arcsine has infinite slope at -1"),
                    Edge::UpTo(1, "the arcsine has infinite slope at 1"),
                ],
                is_tame: false,
                ..shown
            },
            Smooth::Acos => Facts {
                edges: &[
                    Edge::From(-1, "the arccosine has infinite slope at -1"),
                    Edge::UpTo(1, "the arccosine has infinite slope at 1"),
                ],
                is_tame: false,
                is_nonnegative: true,
                ..shown
            },
            // the other of the two may overflow first
            Smooth::Sinh => Facts { is_tame: false, ..shown },
            Smooth::Cosh => Facts { is_tame: false, is_nonnegative: true, ..shown },
            Smooth::Asinh => Facts { is_total: true, ..shown },
            Smooth::Acosh => Facts {
                edges: &[Edge::From(1, "acosh has infinite slope at 1")],
                is_tame: false,
                is_nonnegative: true,
                ..shown
            },
            Smooth::Atanh => Facts { edges: &[Edge::Above(-1), Edge::Below(1)], ..shown },
            Smooth::Log1p => Facts { edges: &[Edge::Above(-1)], ..shown },
            Smooth::Expm1 => plain,
            Smooth::Power(k) => Facts {
                edges: if k < 0 { &[Edge::Pole(0)] } else { &[] },
                is_total: matches!(k, 0 | 1),
                shows_infinity: k > 0,
                is_tame: matches!(k, 0..=2),
                is_nonnegative: k % 2 == 0,
            },
            Smooth::Root(p, q) => Facts {
                edges: if p < 0 {
                    &[Edge::Above(0)]
                } else if p < q {
                    &[Edge::From(0, "a power of less than 1 has infinite slope at 0")]
                } else {
                    &[Edge::From(0, "a power that is no integer has no value left of 0")]
                },
                is_total: false,
                shows_infinity: p > 0,
                is_tame: false,
                is_nonnegative: true,
            },
        }
    }

    /// Why there is no value at a number, if there is none, told how it compares with integers.
    pub fn outside(self, compare: impl Fn(i32) -> Ordering) -> Option<NumberError> {
        self.outside_between(&compare, &compare)
    }

    /// The same for all numbers between two: the reason if it holds for all of them, [`NumberError::Undecided`] if for some.
    pub fn outside_between(self, low: impl Fn(i32) -> Ordering, high: impl Fn(i32) -> Ordering) -> Option<NumberError> {
        let mut undecided = false;
        for edge in self.facts().edges {
            let (all, some) = match *edge {
                Edge::Pole(k) => (low(k).is_eq() && high(k).is_eq(), low(k).is_le() && high(k).is_ge()),
                Edge::Above(k) => (high(k).is_le(), low(k).is_le()),
                Edge::Below(k) => (low(k).is_ge(), high(k).is_ge()),
                Edge::From(k, _) => (high(k).is_lt(), low(k).is_lt()),
                Edge::UpTo(k, _) => (low(k).is_gt(), high(k).is_gt()),
            };
            if all {
                return Some(self.no_value());
            }
            undecided |= some;
        }
        undecided.then_some(NumberError::Undecided)
    }

    fn no_value(self) -> NumberError {
        let operation = if matches!(self, Smooth::Root(..)) { "a power" } else { self.name() };
        let outside = |domain| NumberError::Outside { operation, domain };
        match self {
            Smooth::Log => NumberError::LogOfNonPositive,
            Smooth::Sqrt => NumberError::SqrtOfNegative,
            Smooth::Asin | Smooth::Acos => outside("between -1 and 1"),
            Smooth::Acosh => outside("at least 1"),
            Smooth::Atanh => outside("above -1 and below 1"),
            Smooth::Log1p => outside("above -1"),
            Smooth::Root(p, _) if p < 0 => outside("positive, and the exponent is no integer"),
            Smooth::Root(..) => outside("positive or 0, and the exponent is no integer"),
            Smooth::Inv | Smooth::Power(_) => NumberError::DivisionByZero,
            Smooth::Exp
            | Smooth::Sin
            | Smooth::Cos
            | Smooth::Tanh
            | Smooth::Sigmoid
            | Smooth::Softplus
            | Smooth::Tan
            | Smooth::Atan
            | Smooth::Sinh
            | Smooth::Cosh
            | Smooth::Asinh
            | Smooth::Erf
            | Smooth::Erfc
            | Smooth::ErfSlope
            | Smooth::Expm1 => NumberError::Undecided,
        }
    }

    /// Why there is no derivative at a number where there is a value, and the place; told how the number compares with integers.
    ///
    /// # Errors
    ///
    /// If that cannot be told.
    pub fn singular<E>(
        self,
        mut compare: impl FnMut(i32) -> Result<Ordering, E>,
    ) -> Result<Option<(i32, &'static str)>, E> {
        for edge in self.facts().edges {
            match *edge {
                Edge::From(at, why) | Edge::UpTo(at, why) if compare(at)?.is_eq() => return Ok(Some((at, why))),
                Edge::From(..) | Edge::UpTo(..) | Edge::Pole(_) | Edge::Above(_) | Edge::Below(_) => {}
            }
        }
        Ok(None)
    }
}

/// `1 - x^2`, as a product: near 1 and -1 its factors are exact, where the square is rounded.
#[inline(always)]
fn one_less_square<A: Algebra>(a: &mut A, x: &A::Value) -> Result<A::Value, A::Error> {
    let one = a.constant(1, 1)?;
    let (below, above) = (a.sub(&one, x)?, a.add(&one, x)?);
    a.mul(&below, &above)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All functions, powers of both signs among them.
    fn all() -> Vec<Smooth> {
        let powers = [-3, -1, 0, 1, 2, 3, 6].map(Smooth::Power);
        let roots = [(1, 3), (-1, 3), (3, 2), (-7, 10), (22, 7)].map(|(p, q)| Smooth::Root(p, q));
        Smooth::NAMED.iter().copied().chain(powers).chain(roots).collect()
    }

    const POINTS: [f64; 25] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1.0 + f64::EPSILON,
        1.0 - f64::EPSILON / 2.0,
        -1.0 - f64::EPSILON,
        -1.0 + f64::EPSILON / 2.0,
        std::f64::consts::FRAC_PI_2,
        0.3,
        -2.5,
        40.0,
        -40.0,
        710.4,
        -710.475_860_073_943_9,
        710.475860073944,
        800.0,
        -800.0,
        1e-310,
        -1e-310,
        1e200,
        -1e200,
        1e308,
        5e-324,
        -5e-324,
    ];

    #[test]
    fn what_is_said_of_domains_and_growth_holds_in_floats() {
        for f in all() {
            for x in POINTS {
                let y = x.smooth(f).unwrap();
                let compare = |k: i32| x.partial_cmp(&f64::from(k)).unwrap();
                let outside = f.outside(compare);
                assert!(outside.is_none() || !y.is_finite(), "{f:?} {x}");
                assert!(!y.is_nan() || outside.is_some(), "{f:?} {x}");
                assert_ne!(outside, Some(NumberError::Undecided), "{f:?} {x}");
                assert!(!f.facts().is_total || y.is_finite(), "{f:?} {x}");
                assert!(!f.facts().is_nonnegative || y.is_nan() || y >= 0.0, "{f:?} {x}");
                let slope = match f.slope(&mut Numbers::new(), &x, &y).unwrap() {
                    Slope::Zero => 0.0,
                    Slope::One => 1.0,
                    Slope::Plus(w) | Slope::Minus(w) => w,
                };
                assert!(!f.facts().is_tame || !y.is_finite() || slope.is_finite(), "{f:?} {x} {slope}");
                if f.singular(|k| Ok::<_, ()>(compare(k))).unwrap().is_some() {
                    // a power of more than 1 only ends there
                    let ends = matches!(f, Smooth::Root(p, q) if p > q);
                    assert!(y.is_finite() && slope.is_finite() == ends, "{f:?}");
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
