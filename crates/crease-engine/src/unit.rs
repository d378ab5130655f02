//! The operations as code knows them: each takes up to three numbers and gives one. Both engines, for tensors and for
//! scalars, are made of these and of operations on lanes.
//!
//! A joint operation of one number falls into its value and its slope, which share nothing worth sharing.

use crate::float::Float;
use crease_core::op::{Algebra, Choice, Comparison, Logic, Slope};
use crease_core::{Kink, Lane, Op, Position, Rational, Smooth, Stair, Ties};
use std::convert::Infallible;

/// An operation with one result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unit<T> {
    Add,
    Sub,
    Mul,
    Div,
    /// The larger of two.
    Max,
    /// The smaller of two.
    Min,
    /// Both of two truth values, which have no derivative.
    And,
    /// One of two truth values.
    Or,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    /// `a * relu(b)`.
    TimesRelu,
    /// `a` times the slope of relu at `b`.
    TimesSlope(T),
    /// What the first of two takes of the derivative of the larger: of a tie, so much.
    Share(T),
    Copy,
    Neg,
    /// A smooth function.
    Smooth(Smooth),
    /// `1 - a`.
    Not,
    Relu,
    Abs,
    Leaky(T),
    Elu(T),
    /// A slope left of zero, at zero and right of it.
    Slope(T, T, T),
    /// The slope of ELU: its scale, and the slope at zero.
    EluSlope(T, T),
    /// The second where the first is 1, else the third.
    Pick,
    /// Constant between jumps.
    Stair(Stair),
}

impl<T> Unit<T> {
    pub fn arity(&self) -> usize {
        match self {
            Unit::Add
            | Unit::Sub
            | Unit::Mul
            | Unit::Div
            | Unit::Max
            | Unit::Min
            | Unit::And
            | Unit::Or
            | Unit::Less
            | Unit::LessEqual
            | Unit::Greater
            | Unit::GreaterEqual
            | Unit::Equal
            | Unit::NotEqual
            | Unit::TimesRelu
            | Unit::TimesSlope(_)
            | Unit::Share(_) => 2,
            Unit::Pick => 3,
            Unit::Copy
            | Unit::Neg
            | Unit::Not
            | Unit::Relu
            | Unit::Abs
            | Unit::Leaky(_)
            | Unit::Elu(_)
            | Unit::Slope(..)
            | Unit::EluSlope(..)
            | Unit::Smooth(_)
            | Unit::Stair(_) => 1,
        }
    }
}

/// Calls `$two` or `$one` with the function of two numbers, or of one, that an operation is; `$pick` is for the one of three. `$vector`
/// chooses the functions that vectorise, with fused products where `fused` says so; those that do not, and take far longer than it takes to find them,
/// are given to `$single`, so that a loop over many numbers need not be compiled for each of them.
macro_rules! units {
    ($unit:expr, $one:ident, $two:ident, $single:ident, $pick:expr) => {
        units!($unit, false, fused false, $one, $two, $single, $pick)
    };
    ($unit:expr, $vector:expr, fused $fused:expr, $one:ident, $two:ident, $single:ident, $pick:expr) => {{
        use crease_core::{Smooth, Stair};
        use $crate::float::{maximum, minimum, relu, share, sigmoid, slope, softplus, truth};
        match $unit {
            Unit::Add => $two!(|a, b| a + b),
            Unit::Sub => $two!(|a, b| a - b),
            Unit::Mul => $two!(|a, b| a * b),
            Unit::Div => $two!(|a, b| a / b),
            Unit::Max | Unit::Or => $two!(|a, b| maximum(a, b)),
            Unit::Min | Unit::And => $two!(|a, b| minimum(a, b)),
            Unit::Less => $two!(|a, b| truth(a < b)),
            Unit::LessEqual => $two!(|a, b| truth(a <= b)),
            Unit::Greater => $two!(|a, b| truth(a > b)),
            Unit::GreaterEqual => $two!(|a, b| truth(a >= b)),
            Unit::Equal => $two!(|a, b| truth(a == b)),
            // with a NaN no comparison holds, not even this one
            Unit::NotEqual => $two!(|a, b| truth((a < b) | (a > b))),
            Unit::TimesRelu => $two!(|a, b| a * relu(b)),
            Unit::TimesSlope(at) => $two!(|a, b| a * slope(b, T::ZERO, at, T::ONE)),
            Unit::Share(at) => $two!(|a, b| share(a, b, at)),
            Unit::Copy => $one!(|a| a),
            Unit::Neg => $one!(|a| -a),
            Unit::Smooth(f) => match f {
                Smooth::Inv => $one!(|a| T::ONE / a),
                Smooth::Exp if $vector => $one!(|a| a.vector_exp($fused)),
                Smooth::Exp => $single!(|a| a.library_exp()),
                Smooth::Log if $vector => $one!(|a| a.vector_ln($fused)),
                Smooth::Log => $single!(|a| a.library_ln()),
                Smooth::Sqrt => $one!(|a| a.root()),
                Smooth::Sin => $single!(|a| a.library_sin()),
                Smooth::Cos => $single!(|a| a.library_cos()),
                Smooth::Tanh if $vector => $one!(|a| a.vector_tanh($fused)),
                Smooth::Tanh => $single!(|a| a.library_tanh()),
                Smooth::Sigmoid if $vector => $one!(|a| sigmoid(a, |x: T| x.vector_exp($fused))),
                Smooth::Sigmoid => $single!(|a| sigmoid(a, |x: T| x.library_exp())),
                Smooth::Softplus if $vector => $one!(|a| softplus(a, |e: T| e.vector_ln_1p($fused), |x: T| x.vector_exp($fused))),
                Smooth::Softplus => $single!(|a| softplus(a, |e: T| e.library_ln_1p(), |x: T| x.library_exp())),
                Smooth::Tan
                | Smooth::Asin
                | Smooth::Acos
                | Smooth::Atan
                | Smooth::Sinh
                | Smooth::Cosh
                | Smooth::Asinh
                | Smooth::Acosh
                | Smooth::Atanh
                | Smooth::Erf
                | Smooth::Erfc
                | Smooth::ErfSlope
                | Smooth::Log1p
                | Smooth::Expm1
                | Smooth::Root(..) => $single!(|a| $crate::float::library(f, a)),
                Smooth::Power(2) => $one!(|a| a * a),
                Smooth::Power(k) => $single!(|a| a.library_powi(k)),
            },
            Unit::Not => $one!(|a| T::ONE - a),
            Unit::Relu => $one!(|a| relu(a)),
            Unit::Abs => $one!(|a| a.size()),
            Unit::Leaky(s) => $one!(|a| if a < T::ZERO { s * a } else { a }),
            Unit::Elu(s) if $vector => $one!(|a| {
                let left = s * a.vector_exp($fused) - s;
                if a < T::ZERO { left } else { a }
            }),
            Unit::Elu(s) => $single!(|a| if a < T::ZERO { s * a.library_exp() - s } else { a }),
            Unit::Slope(left, at, right) => $one!(|a| slope(a, left, at, right)),
            Unit::EluSlope(s, at) if $vector => $one!(|a| slope(a, s * a.vector_exp($fused), at, T::ONE)),
            Unit::EluSlope(s, at) => $single!(|a| slope(a, s * a.library_exp(), at, T::ONE)),
            Unit::Stair(Stair::Sign) => $one!(|a| slope(a, -T::ONE, T::ZERO, T::ONE)),
            Unit::Stair(Stair::Floor) => $one!(|a| a.round_down()),
            Unit::Stair(Stair::Ceil) => $one!(|a| -(-a).round_down() + T::ZERO),
            Unit::Stair(Stair::Round) => $one!(|a| a.round_even()),
            Unit::Pick => $pick,
        }
    }};
}

pub(crate) use units;

/// Slopes in floats, for the sweep backward.
pub(crate) struct Floats<T>(std::marker::PhantomData<T>);

impl<T: Float> Floats<T> {
    /// The slope of a smooth function at `x`, where its value is `y`.
    #[inline(always)]
    pub fn slope(f: Smooth, x: T, y: T) -> Slope<T> {
        match f.slope(&mut Floats(std::marker::PhantomData), &x, &y) {
            Ok(slope) => slope,
            Err(never) => match never {},
        }
    }
}

impl<T: Float> Algebra for Floats<T> {
    type Value = T;
    type Error = Infallible;

    #[inline(always)]
    fn constant(&mut self, p: i32, q: i32) -> Result<T, Infallible> {
        Ok(T::from_f64(f64::from(p) / f64::from(q)))
    }

    #[inline(always)]
    fn add(&mut self, a: &T, b: &T) -> Result<T, Infallible> {
        Ok(*a + *b)
    }

    #[inline(always)]
    fn sub(&mut self, a: &T, b: &T) -> Result<T, Infallible> {
        Ok(*a - *b)
    }

    #[inline(always)]
    fn mul(&mut self, a: &T, b: &T) -> Result<T, Infallible> {
        Ok(*a * *b)
    }

    #[inline(always)]
    fn div(&mut self, a: &T, b: &T) -> Result<T, Infallible> {
        Ok(*a / *b)
    }

    #[inline(always)]
    fn smooth(&mut self, f: Smooth, a: &T) -> Result<T, Infallible> {
        Ok(Unit::Smooth(f).apply(*a, *a, *a))
    }
}

#[inline(always)]
fn call1<T>(f: impl Fn(T) -> T, a: T) -> T {
    f(a)
}

#[inline(always)]
fn call2<T>(f: impl Fn(T, T) -> T, a: T, b: T) -> T {
    f(a, b)
}

impl<T: Float> Unit<T> {
    /// Carries out the operation on three numbers, of which it uses as many as it takes.
    #[inline(always)]
    pub fn apply(self, a: T, b: T, c: T) -> T {
        macro_rules! one {
            ($f:expr) => {
                call1($f, a)
            };
        }
        macro_rules! two {
            ($f:expr) => {
                call2($f, a, b)
            };
        }
        units!(self, one, two, one, if a == T::ONE { b } else { c })
    }
}

/// An operation on a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LaneOp {
    Max,
    Min,
    Order(usize),
    Sort,
    Norm1,
    NormInf,
    Norm2,
    /// The sum of relu of all members: no operation of programs, but what is found in them.
    SumRelu,
    /// So many rows.
    MaxLinear(usize),
    LogSumExp,
}

/// What is done with a lane and positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Move {
    /// Reorders it, or undoes that.
    Permute { inverse: bool },
    /// Reads it at positions.
    Take,
    /// Adds it into zeros at positions.
    Add,
    /// The position of its largest or smallest number.
    Find(Position),
}

impl Move {
    /// How many of so many arguments are the lane; the rest are positions.
    pub fn lane(self, arguments: usize, results: usize) -> usize {
        match self {
            Move::Permute { .. } | Move::Add => arguments / 2,
            Move::Take => arguments - results,
            Move::Find(_) => arguments,
        }
    }
}

/// What a joint operation picks at its kink.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pick<T> {
    pub at: T,
    pub ties: Ties,
}

impl<T: Float> Pick<T> {
    /// What each of two takes of a tie.
    pub fn of_two(&self) -> [T; 2] {
        match self.ties {
            Ties::First => [T::ONE, T::ZERO],
            Ties::Last => [T::ZERO, T::ONE],
            Ties::Average => [T::ONE / T::from_usize(2); 2],
            Ties::Every => [T::ONE; 2],
        }
    }
}

/// A result of an elementwise operation: what is applied to which of the arguments.
pub(crate) type Part<T> = (Unit<T>, [usize; 2]);

/// An operation of the dictionary as code knows it.
pub(crate) enum Lowered<T> {
    /// Elementwise: one unit for each result.
    Units(Vec<Part<T>>),
    /// On lanes; with weights if a choice is given.
    Lane(LaneOp, Lane, Option<Pick<T>>),
    /// Lanes that are reordered, read, added into, or searched.
    Move(Lane, Move),
    /// Structure and products, which each engine does in its own way.
    Other,
}

/// A rational constant as the nearest float.
pub(crate) fn number<T: Float>(r: &Rational) -> T {
    // floats have a nearest number for every rational, so this does not fail
    T::from_rational(r).unwrap_or(T::NAN)
}

/// Takes an operation apart.
pub(crate) fn lower<T: Float>(op: &Op) -> Lowered<T> {
    let one = |u: Unit<T>| Lowered::Units(vec![(u, [0, 1])]);
    match op {
        Op::Add => one(Unit::Add),
        Op::Sub => one(Unit::Sub),
        Op::Mul => one(Unit::Mul),
        Op::Div => one(Unit::Div),
        Op::Neg => one(Unit::Neg),
        Op::Smooth(f) => one(Unit::Smooth(*f)),
        Op::Compare(c) => one(match c {
            Comparison::Less => Unit::Less,
            Comparison::LessEqual => Unit::LessEqual,
            Comparison::Greater => Unit::Greater,
            Comparison::GreaterEqual => Unit::GreaterEqual,
            Comparison::Equal => Unit::Equal,
            Comparison::NotEqual => Unit::NotEqual,
        }),
        Op::Logic(Logic::And) => one(Unit::And),
        Op::Logic(Logic::Or) => one(Unit::Or),
        Op::Logic(Logic::Not) => one(Unit::Not),
        Op::LogSumExp(lane) => Lowered::Lane(LaneOp::LogSumExp, *lane, None),
        Op::LogSumExpJoint(lane) => {
            Lowered::Lane(LaneOp::LogSumExp, *lane, Some(Pick { at: T::ZERO, ties: Ties::First }))
        }
        Op::Kink(kink) => kinked(kink, None),
        Op::Joint(kink, choice) => kinked(kink, Some(choice)),
        Op::Permute { lane, inverse } => Lowered::Move(*lane, Move::Permute { inverse: *inverse }),
        Op::Gather { lane, scatter, .. } => Lowered::Move(*lane, if *scatter { Move::Add } else { Move::Take }),
        // orders are sorted, when the program is made flat
        Op::Position(which, lane) => Lowered::Move(*lane, Move::Find(*which)),
        Op::Stair(s) => one(Unit::Stair(*s)),
        Op::Where => one(Unit::Pick),
        Op::Constant(_)
        | Op::View { .. }
        | Op::Assemble { .. }
        | Op::MatMul { .. }
        | Op::Call(_)
        | Op::Select(_)
        | Op::Scan(_) => Lowered::Other,
    }
}

fn kinked<T: Float>(kink: &Kink, choice: Option<&Choice>) -> Lowered<T> {
    let at = choice.map_or(T::ZERO, |c| number(&c.at_kink));
    let hinge = |value: Unit<T>, slope: Unit<T>| {
        let parts = [(value, [0, 0]), (slope, [0, 0])];
        Lowered::Units(parts[..if choice.is_some() { 2 } else { 1 }].to_vec())
    };
    let lanes = |op: LaneOp, lane: Lane| Lowered::Lane(op, lane, choice.map(|c| Pick { at, ties: c.ties }));
    match kink {
        Kink::Relu => hinge(Unit::Relu, Unit::Slope(T::ZERO, at, T::ONE)),
        Kink::Abs => hinge(Unit::Abs, Unit::Slope(-T::ONE, at, T::ONE)),
        Kink::LeakyRelu(s) => hinge(Unit::Leaky(number(s)), Unit::Slope(number(s), at, T::ONE)),
        Kink::Elu(s) => hinge(Unit::Elu(number(s)), Unit::EluSlope(number(s), at)),
        Kink::TimesRelu => {
            let parts = [(Unit::TimesRelu, [0, 1]), (Unit::Relu, [1, 1]), (Unit::TimesSlope(at), [0, 1])];
            Lowered::Units(parts[..if choice.is_some() { 3 } else { 1 }].to_vec())
        }
        Kink::Max(lane) => lanes(LaneOp::Max, *lane),
        Kink::Min(lane) => lanes(LaneOp::Min, *lane),
        Kink::OrderStatistic(lane, k) => lanes(LaneOp::Order(*k), *lane),
        Kink::Sort(lane) => lanes(LaneOp::Sort, *lane),
        Kink::Norm1(lane) => lanes(LaneOp::Norm1, *lane),
        Kink::NormInf(lane) => lanes(LaneOp::NormInf, *lane),
        Kink::Norm2(lane) => lanes(LaneOp::Norm2, *lane),
        Kink::MaxLinear { lane, rows } => lanes(LaneOp::MaxLinear(*rows), *lane),
    }
}
