//! Nonsmooth operations, and what is known of each: a row of facts, which the other rooms read instead of asking again which one it is.
//!
//! What is a matter of numbers stands where numbers are: values and weights in `run`, what is left at a tie in `local`, what is picked there in
//! [`Selection`](super::Selection), prices in [`cost`](crate::cost).

use super::Lane;
use crate::number::{Number, NumberError, Rational};

/// A nonsmooth operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kink {
    /// `max(0, a)`.
    Relu,
    /// `a * relu(b)`, the form in which the paper prices ReLU.
    TimesRelu,
    /// The absolute value.
    Abs,
    /// `a` where positive, else `slope * a`.
    LeakyRelu(Rational),
    /// `a` where positive, else `scale * (exp(a) - 1)`.
    Elu(Rational),
    /// The largest of a lane.
    Max(Lane),
    /// The smallest of a lane.
    Min(Lane),
    /// The k-th smallest of a lane, counted from 0.
    OrderStatistic(Lane, usize),
    /// A lane in ascending order.
    Sort(Lane),
    /// The sum of the absolute values of a lane.
    Norm1(Lane),
    /// The largest absolute value of a lane.
    NormInf(Lane),
    /// The Euclidean norm of a lane: smooth but where all of it is 0. There its subgradients are the vectors of the unit ball, so that it is no
    /// maximum of finitely many functions, as all the others are.
    Norm2(Lane),
    /// The largest entry of `A x`: max-m-linear. As arguments, A comes row by row, then x.
    MaxLinear {
        /// How A and x are given.
        lane: Lane,
        /// The number of linear functions.
        rows: usize,
    },
}

/// Which nonsmooth operation it is, whatever its parameters and however its lane is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KinkKind {
    /// [`Kink::Relu`].
    Relu,
    /// [`Kink::TimesRelu`].
    TimesRelu,
    /// [`Kink::Abs`].
    Abs,
    /// [`Kink::LeakyRelu`].
    LeakyRelu,
    /// [`Kink::Elu`].
    Elu,
    /// [`Kink::Max`].
    Max,
    /// [`Kink::Min`].
    Min,
    /// [`Kink::OrderStatistic`].
    OrderStatistic,
    /// [`Kink::Sort`].
    Sort,
    /// [`Kink::Norm1`].
    Norm1,
    /// [`Kink::NormInf`].
    NormInf,
    /// [`Kink::Norm2`].
    Norm2,
    /// [`Kink::MaxLinear`].
    MaxLinear {
        /// The number of linear functions.
        rows: u32,
    },
}

/// What is known of a nonsmooth operation: a row of the one table of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KinkFacts {
    /// The name in the text language.
    pub name: &'static str,
    /// How many numbers it takes, unless it is as many as there are.
    pub arity: Option<u32>,
    /// Whether it is piecewise linear in its arguments, or a product of such.
    pub is_straight: bool,
    /// Whether no value is negative.
    pub is_nonnegative: bool,
    /// Whether the weights of its joint form are constant wherever they have a derivative.
    pub has_constant_weights: bool,
}

/// How a nonsmooth operation is given its numbers, from which it follows what it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// One number of each argument, element by element. The joint form has a weight for each.
    Numbers,
    /// A lane, of which one number is left. The joint form has a weight for each member.
    Lane(Lane),
    /// A lane, of which all numbers are left, in order. The joint form has the permutation.
    Order(Lane),
    /// A matrix of so many rows and a vector. The joint form has a weight for each number of both.
    Linear {
        /// How they are given.
        lane: Lane,
        /// The number of rows.
        rows: usize,
    },
}

/// [Kinks](Kink) of single numbers, as a pattern, for what treats them alike.
///
/// ```
/// use crease_core::{Kink, kinks_of_numbers, kinks_on_lanes};
/// let alone = |kink: &Kink| match kink {
///     kinks_of_numbers!() => true,
///     kinks_on_lanes!() => false,
/// };
/// assert!(alone(&Kink::Relu));
/// ```
#[macro_export]
macro_rules! kinks_of_numbers {
    () => {
        $crate::Kink::Relu
            | $crate::Kink::TimesRelu
            | $crate::Kink::Abs
            | $crate::Kink::LeakyRelu(_)
            | $crate::Kink::Elu(_)
    };
}

/// [Kinks](Kink) on lanes, as a pattern: see [`kinks_of_numbers`].
#[macro_export]
macro_rules! kinks_on_lanes {
    () => {
        $crate::Kink::Max(_)
            | $crate::Kink::Min(_)
            | $crate::Kink::OrderStatistic(..)
            | $crate::Kink::Sort(_)
            | $crate::Kink::Norm1(_)
            | $crate::Kink::NormInf(_)
            | $crate::Kink::Norm2(_)
            | $crate::Kink::MaxLinear { .. }
    };
}

impl KinkKind {
    /// All of them, the last with one row.
    pub const ALL: [KinkKind; 13] = [
        KinkKind::Relu,
        KinkKind::TimesRelu,
        KinkKind::Abs,
        KinkKind::LeakyRelu,
        KinkKind::Elu,
        KinkKind::Max,
        KinkKind::Min,
        KinkKind::OrderStatistic,
        KinkKind::Sort,
        KinkKind::Norm1,
        KinkKind::NormInf,
        KinkKind::Norm2,
        KinkKind::MaxLinear { rows: 1 },
    ];

    /// Its row of facts.
    ///
    /// ```
    /// use crease_core::op::KinkKind;
    /// assert!(KinkKind::Norm1.facts().is_straight && !KinkKind::Norm2.facts().is_straight);
    /// ```
    pub const fn facts(self) -> KinkFacts {
        let one = KinkFacts {
            name: "",
            arity: Some(1),
            is_straight: true,
            is_nonnegative: false,
            has_constant_weights: true,
        };
        let lane = KinkFacts { arity: None, ..one };
        match self {
            KinkKind::Relu => KinkFacts { name: "relu", is_nonnegative: true, ..one },
            KinkKind::TimesRelu => KinkFacts { name: "times_relu", arity: Some(2), has_constant_weights: false, ..one },
            KinkKind::Abs => KinkFacts { name: "abs", is_nonnegative: true, ..one },
            KinkKind::LeakyRelu => KinkFacts { name: "leaky_relu", ..one },
            KinkKind::Elu => KinkFacts { name: "elu", is_straight: false, has_constant_weights: false, ..one },
            KinkKind::Max => KinkFacts { name: "max", ..lane },
            KinkKind::Min => KinkFacts { name: "min", ..lane },
            KinkKind::OrderStatistic => KinkFacts { name: "order_statistic", ..lane },
            KinkKind::Sort => KinkFacts { name: "sort", ..lane },
            KinkKind::Norm1 => KinkFacts { name: "norm1", is_nonnegative: true, ..lane },
            KinkKind::NormInf => KinkFacts { name: "norminf", is_nonnegative: true, ..lane },
            KinkKind::Norm2 => KinkFacts {
                name: "norm2",
                is_straight: false,
                is_nonnegative: true,
                has_constant_weights: false,
                ..lane
            },
            KinkKind::MaxLinear { .. } => KinkFacts { name: "max_linear", has_constant_weights: false, ..lane },
        }
    }
}

impl Kink {
    /// Which operation it is.
    pub fn kind(&self) -> KinkKind {
        match self {
            Kink::Relu => KinkKind::Relu,
            Kink::TimesRelu => KinkKind::TimesRelu,
            Kink::Abs => KinkKind::Abs,
            Kink::LeakyRelu(_) => KinkKind::LeakyRelu,
            Kink::Elu(_) => KinkKind::Elu,
            Kink::Max(_) => KinkKind::Max,
            Kink::Min(_) => KinkKind::Min,
            Kink::OrderStatistic(..) => KinkKind::OrderStatistic,
            Kink::Sort(_) => KinkKind::Sort,
            Kink::Norm1(_) => KinkKind::Norm1,
            Kink::NormInf(_) => KinkKind::NormInf,
            Kink::Norm2(_) => KinkKind::Norm2,
            Kink::MaxLinear { rows, .. } => KinkKind::MaxLinear { rows: *rows as u32 },
        }
    }

    /// Its row of facts.
    pub fn facts(&self) -> KinkFacts {
        self.kind().facts()
    }

    /// The name in the text language.
    pub fn name(&self) -> &'static str {
        self.facts().name
    }

    /// How it is given its numbers.
    pub fn takes(&self) -> Takes {
        match *self {
            kinks_of_numbers!() => Takes::Numbers,
            Kink::Max(lane) | Kink::Min(lane) | Kink::OrderStatistic(lane, _) => Takes::Lane(lane),
            Kink::Norm1(lane) | Kink::NormInf(lane) | Kink::Norm2(lane) => Takes::Lane(lane),
            Kink::Sort(lane) => Takes::Order(lane),
            Kink::MaxLinear { lane, rows } => Takes::Linear { lane, rows },
        }
    }

    /// How the lane is given, for those that work on one.
    pub fn lane(&self) -> Option<Lane> {
        match self.takes() {
            Takes::Numbers => None,
            Takes::Lane(lane) | Takes::Order(lane) | Takes::Linear { lane, .. } => Some(lane),
        }
    }

    /// The same operation with its lane given another way.
    pub fn with_lane(&self, to: Lane) -> Kink {
        let mut out = self.clone();
        match &mut out {
            kinks_of_numbers!() => {}
            Kink::Max(lane) | Kink::Min(lane) | Kink::OrderStatistic(lane, _) | Kink::Sort(lane) => *lane = to,
            Kink::Norm1(lane) | Kink::NormInf(lane) | Kink::Norm2(lane) | Kink::MaxLinear { lane, .. } => *lane = to,
        }
        out
    }

    /// The function of one number whose kink at 0 it has: its own, that of a factor, that of each member of a lane.
    pub(crate) fn hinge(&self) -> Option<&Kink> {
        match self {
            Kink::Relu | Kink::Abs | Kink::LeakyRelu(_) | Kink::Elu(_) => Some(self),
            Kink::TimesRelu => Some(&Kink::Relu),
            Kink::Norm1(_) | Kink::NormInf(_) => Some(&Kink::Abs),
            Kink::Max(_) | Kink::Min(_) | Kink::OrderStatistic(..) | Kink::Sort(_) => None,
            Kink::Norm2(_) | Kink::MaxLinear { .. } => None,
        }
    }

    /// Value and slope of a function of one number that has its kink at 0, as it continues from the right or from the left of it. Nothing
    /// for operations of several numbers.
    ///
    /// ```
    /// use crease_core::Kink;
    /// assert_eq!(Kink::Abs.side(&-3.0, false), Ok(Some((3.0, -1.0))));
    /// assert_eq!(Kink::TimesRelu.side(&-3.0, false), Ok(None));
    /// ```
    ///
    /// # Errors
    ///
    /// Where the numbers cannot hold the result.
    pub fn side<N: Number>(&self, x: &N, right: bool) -> Result<Option<(N, N)>, NumberError> {
        let one = N::one();
        Ok(Some(match self {
            Kink::Relu => (x.relu()?, if right { one } else { N::zero() }),
            Kink::Abs => (x.abs()?, if right { one } else { one.neg() }),
            Kink::LeakyRelu(_) | Kink::Elu(_) if right => (x.clone(), one),
            Kink::LeakyRelu(slope) => {
                let slope = N::from_rational(slope)?;
                (slope.mul(x), slope)
            }
            Kink::Elu(scale) => {
                let scale = N::from_rational(scale)?;
                let grown = scale.mul(&x.exp()?);
                (grown.sub(&scale), grown)
            }
            Kink::TimesRelu | kinks_on_lanes!() => return Ok(None),
        }))
    }
}
