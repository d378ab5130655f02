//! The operations: a closed set, matched exhaustively in every room, so that the compiler lists what a new one needs.
//!
//! An operation is scalar, or a scalar one applied to every element of tensors of one shape, or it works on *lanes*:
//! groups of numbers given either as several arguments or as the last axis of one ([`Lane`]). Structure costs nothing
//! and is carried by [`Op::View`] and [`Op::Assemble`]. What the paper writes as a nonsmooth elementary function is a
//! [`Kink`]; the same with its derivative, the paper's *gd*, is [`Op::Joint`]: one equation with several results, at the
//! price of the kink alone wherever the appendix of the paper shows how.
//!
//! What a kink is, whatever room asks, is in its row of facts ([`KinkFacts`]). Which shapes go in and come out is in [`infer`]; meaning is in [`run`](crate::run()), rules are in
//! [`differentiate`](crate::differentiate), prices in [`cost`](crate::cost).

mod frameworks;
pub(crate) mod infer;
mod kinks;
pub mod scan;
mod selection;

pub use crate::number::{Algebra, Edge, Facts, Numbers, Slope, Smooth, Stair};
pub use frameworks::{Departure, Framework};
pub use infer::{OpError, infer};
pub use kinks::{Kink, KinkFacts, KinkKind, Takes};
pub use scan::Scan;
pub use selection::{Choice, Selection, SelectionError, Ties};

use crate::shape::{Layout, Shape};
use std::fmt;
use std::sync::Arc;

/// An operation of a program. See the [module](self) for the plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `a + b`. With a constant argument this is the paper's `+c`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`. With a constant argument this is the paper's `xc`.
    Mul,
    /// `a / b`.
    Div,
    /// `-a`.
    Neg,
    /// A smooth function of one number.
    Smooth(Smooth),
    /// A function of one number that is constant between jumps. It has no kink: where it jumps there is no derivative of any kind.
    Stair(Stair),
    /// `log(sum(exp(lane)))`, computed without overflow. Smooth.
    LogSumExp(Lane),
    /// [`Op::LogSumExp`] and its gradient, the softmax of the lane.
    LogSumExpJoint(Lane),
    /// A nonsmooth operation.
    Kink(Kink),
    /// A nonsmooth operation together with an element of its conservative gradient: the value or values first, then one
    /// weight for each argument. Sorting gives the permutation instead of weights.
    Joint(Kink, Choice),
    /// Reorders a lane by the permutation that a joint sort gave: `out[i] = lane[perm[i]]`, or, inverse,
    /// `out[perm[i]] = lane[i]`. The arguments are the lane, then the permutation.
    Permute {
        /// How the lane is given.
        lane: Lane,
        /// Whether to undo the permutation.
        inverse: bool,
    },
    /// Reads a lane at computed positions, `out[j] = lane[index[j]]`, or adds into zeros there, `out[index[j]] += lane[j]`. The arguments are the
    /// lane, then the positions, which are exact integers from 0 to below `of`. The derivative of each is the other; by the positions it is 0.
    Gather {
        /// How lanes are given.
        lane: Lane,
        /// The length of the lane that is read, or that is added into.
        of: usize,
        /// Whether numbers are added into the lane instead of being read from it.
        scatter: bool,
    },
    /// Where in a lane a number stands, counted from 0: constant between jumps, which are where numbers tie.
    Position(Position, Lane),
    /// The second argument where the first, a truth value, is 1, else the third, element by element. What is not taken need not have a value.
    Where,
    /// 1 where the comparison holds, else 0.
    Compare(Comparison),
    /// Boolean combination of 0/1 values.
    Logic(Logic),
    /// A tensor of constants.
    Constant(Constant),
    /// Reads an argument through an index map.
    View {
        /// Where each element comes from.
        layout: Layout,
        /// The shape of the result.
        shape: Shape,
    },
    /// Adds the arguments into zeros, each through its own index map: sums, concatenation, padding, scattering.
    Assemble {
        /// The shape of the result.
        shape: Shape,
        /// For each argument, where its elements go.
        pieces: Box<[Layout]>,
    },
    /// The product of the matrices in the last two axes; all axes before them must agree.
    MatMul {
        /// Whether the first matrix is transposed.
        transpose_a: bool,
        /// Whether the second matrix is transposed.
        transpose_b: bool,
    },
    /// Runs a sub-program: this is how programs of programs come about.
    Call(CalleeId),
    /// A selection function: the first branch whose condition is 1 is run, the last one if none is. The arguments are the
    /// conditions, one fewer than branches, then the arguments of the branches.
    Select(Box<[CalleeId]>),
    /// Runs a sub-program over and over, with values carried from turn to turn.
    Scan(Scan),
}

/// How an operation on a group of numbers is given that group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// As several arguments of one shape.
    Args,
    /// As the last axis of one argument.
    Axis,
}

/// Which position in a lane is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Position {
    /// That of the largest number, the first of several.
    Largest,
    /// That of the smallest number, the first of several.
    Smallest,
    /// Those of all numbers in ascending order, equal ones in the order in which they stand.
    Order,
}

impl Position {
    /// All of them.
    pub const ALL: [Position; 3] = [Position::Largest, Position::Smallest, Position::Order];

    /// The name in the text language.
    pub fn name(self) -> &'static str {
        match self {
            Position::Largest => "argmax",
            Position::Smallest => "argmin",
            Position::Order => "argsort",
        }
    }

    /// What is asked for by that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Position::ALL.into_iter().find(|p| p.name() == name)
    }
}

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Comparison {
    /// `a < b`.
    Less,
    /// `a <= b`.
    LessEqual,
    /// `a > b`.
    Greater,
    /// `a >= b`.
    GreaterEqual,
    /// `a == b`.
    Equal,
    /// `a != b`.
    NotEqual,
}

impl Comparison {
    /// All of them.
    pub const ALL: [Comparison; 6] = [
        Comparison::Less,
        Comparison::LessEqual,
        Comparison::Greater,
        Comparison::GreaterEqual,
        Comparison::Equal,
        Comparison::NotEqual,
    ];

    /// The sign in the text language.
    pub fn sign(self) -> &'static str {
        match self {
            Comparison::Less => "<",
            Comparison::LessEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterEqual => ">=",
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
        }
    }

    /// Whether the comparison holds of two numbers in this order.
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Comparison::Less => order.is_lt(),
            Comparison::LessEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterEqual => order.is_ge(),
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
        }
    }
}

/// A Boolean operation on 0/1 values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Logic {
    /// Both.
    And,
    /// At least one.
    Or,
    /// Not this one.
    Not,
}

impl Logic {
    /// The word in the text language.
    pub fn word(self) -> &'static str {
        match self {
            Logic::And => "and",
            Logic::Or => "or",
            Logic::Not => "not",
        }
    }
}

/// Which entry of a program's list of callees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CalleeId(pub(crate) u32);

impl CalleeId {
    /// The position in [`Program::callees`](crate::Program::callees).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A tensor of finite constants, shared and compared by content.
///
/// ```
/// use crease_core::{Constant, Shape};
/// let c = Constant::new(Shape::new([2, 2]).unwrap(), vec![1.0, 2.0, 3.0, 4.0]).unwrap();
/// assert_eq!(c.data()[3], 4.0);
/// assert!(Constant::new(Shape::scalar(), vec![f64::NAN]).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Constant {
    shape: Shape,
    data: Arc<[f64]>,
}

impl Constant {
    /// A tensor from its elements in row-major order, all finite.
    pub fn new(shape: Shape, data: impl Into<Arc<[f64]>>) -> Result<Self, OpError> {
        let mut data: Arc<[f64]> = data.into();
        if data.len() != shape.len() {
            return Err(OpError::Data { shape, len: data.len() });
        }
        if let Some(position) = data.iter().position(|x| !x.is_finite()) {
            return Err(OpError::NotFinite { position, value: data[position] });
        }
        // constants are rational numbers, and those have one zero
        if data.iter().any(|x| *x == 0.0 && x.is_sign_negative()) {
            data = data.iter().map(|x| x + 0.0).collect();
        }
        Ok(Constant { shape, data })
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The elements in row-major order.
    pub fn data(&self) -> &[f64] {
        &self.data
    }
}

impl PartialEq for Constant {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape
            && (Arc::ptr_eq(&self.data, &other.data)
                || self.data.iter().zip(other.data.iter()).all(|(a, b)| a.to_bits() == b.to_bits()))
    }
}

impl Eq for Constant {}

impl std::hash::Hash for Constant {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.shape.hash(state);
        // a few elements tell most tensors apart; equality looks at all of them
        for x in self.data.iter().take(8) {
            state.write_u64(x.to_bits());
        }
    }
}

impl From<Smooth> for Op {
    fn from(f: Smooth) -> Self {
        Op::Smooth(f)
    }
}

impl From<Stair> for Op {
    fn from(s: Stair) -> Self {
        Op::Stair(s)
    }
}

impl From<Kink> for Op {
    fn from(kink: Kink) -> Self {
        Op::Kink(kink)
    }
}

/// Operations that work element by element, as a pattern. A new one is in this list or in one of the next three, and the compiler asks which.
macro_rules! elementwise {
    () => {
        $crate::op::Op::Add
            | $crate::op::Op::Sub
            | $crate::op::Op::Mul
            | $crate::op::Op::Div
            | $crate::op::Op::Neg
            | $crate::op::Op::Smooth(_)
            | $crate::op::Op::Stair(_)
            | $crate::op::Op::Where
            | $crate::op::Op::Compare(_)
            | $crate::op::Op::Logic(_)
    };
}

/// Operations whose results have shapes of their own.
macro_rules! shaped {
    () => {
        $crate::op::Op::Constant(_)
            | $crate::op::Op::View { .. }
            | $crate::op::Op::Assemble { .. }
            | $crate::op::Op::MatMul { .. }
    };
}

/// Operations that may work on lanes.
macro_rules! with_lane {
    () => {
        $crate::op::Op::LogSumExp(_)
            | $crate::op::Op::LogSumExpJoint(_)
            | $crate::op::Op::Kink(_)
            | $crate::op::Op::Joint(..)
            | $crate::op::Op::Permute { .. }
            | $crate::op::Op::Gather { .. }
            | $crate::op::Op::Position(..)
    };
}

/// Operations that run programs.
macro_rules! calling {
    () => {
        $crate::op::Op::Call(_) | $crate::op::Op::Select(_) | $crate::op::Op::Scan(_)
    };
}

pub(crate) use {calling, elementwise, shaped, with_lane};

/// Where an operation may have no value although all of its arguments have one.
///
/// [`Op::gap`] is the only table of this: guarded products of the backward sweep and the check that a
/// compiled run misses no fault both read it.
///
/// ```
/// use crease_core::op::{Gap, Kink, Lane, Logic};
/// use crease_core::{Op, Smooth};
/// assert_eq!(Op::Kink(Kink::Relu).gap(), Gap::None);
/// assert_eq!(Op::Mul.gap(), Gap::Size);
/// assert_eq!(Op::Kink(Kink::Norm2(Lane::Axis)).gap(), Gap::Exactness);
/// assert_eq!(Op::Logic(Logic::And).gap(), Gap::Condition);
/// assert_eq!(Op::Smooth(Smooth::Log).gap(), Gap::Domain);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Nowhere.
    None,
    /// Where a sum or a product is too large for the kind of numbers.
    Size,
    /// Where the real value has no exact one in the kind of numbers, or is too large.
    Exactness,
    /// Where a condition is neither true nor false.
    Condition,
    /// Outside of its domain, as for division by 0 or an invalid position, and all of the above.
    Domain,
}

impl Op {
    /// Where it may have no value although its arguments have one.
    pub fn gap(&self) -> Gap {
        match self {
            Op::Neg | Op::Stair(_) | Op::Compare(_) | Op::Position(..) | Op::View { .. } => Gap::None,
            Op::Add | Op::Sub | Op::Mul | Op::Constant(_) | Op::Assemble { .. } | Op::MatMul { .. } => Gap::Size,
            Op::LogSumExp(_) | Op::LogSumExpJoint(_) => Gap::Exactness,
            Op::Kink(kink) | Op::Joint(kink, _) => match kink.kind() {
                KinkKind::Relu
                | KinkKind::Abs
                | KinkKind::Max
                | KinkKind::Min
                | KinkKind::OrderStatistic
                | KinkKind::Sort
                | KinkKind::NormInf => Gap::None,
                KinkKind::TimesRelu | KinkKind::LeakyRelu | KinkKind::Norm1 | KinkKind::MaxLinear { .. } => Gap::Size,
                KinkKind::Elu | KinkKind::Norm2 => Gap::Exactness,
            },
            Op::Where | Op::Logic(_) => Gap::Condition,
            Op::Div | Op::Smooth(_) | Op::Permute { .. } | Op::Gather { .. } | calling!() => Gap::Domain,
        }
    }

    /// The name of the operation in the text language, without the tick of a joint operation.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Add => "+",
            Op::Sub => "-",
            Op::Mul => "*",
            Op::Div => "/",
            Op::Neg => "neg",
            Op::Smooth(f) => f.name(),
            Op::Stair(s) => s.name(),
            Op::LogSumExp(_) | Op::LogSumExpJoint(_) => "logsumexp",
            Op::Kink(k) | Op::Joint(k, _) => k.name(),
            Op::Permute { inverse: false, .. } => "permute",
            Op::Permute { inverse: true, .. } => "unpermute",
            Op::Gather { scatter: false, .. } => "take_along",
            Op::Gather { scatter: true, .. } => "add_along",
            Op::Position(which, _) => which.name(),
            Op::Where => "where",
            Op::Compare(c) => c.sign(),
            Op::Logic(l) => l.word(),
            Op::Constant(_) => "constant",
            Op::View { .. } => "view",
            Op::Assemble { .. } => "assemble",
            Op::MatMul { .. } => "@",
            Op::Call(_) => "call",
            Op::Select(_) => "select",
            Op::Scan(_) => "repeat",
        }
    }

    /// How the lane is given, for those that work on one.
    pub fn lane(&self) -> Option<Lane> {
        match self {
            Op::LogSumExp(lane) | Op::LogSumExpJoint(lane) | Op::Permute { lane, .. } => Some(*lane),
            Op::Gather { lane, .. } | Op::Position(_, lane) => Some(*lane),
            Op::Kink(kink) | Op::Joint(kink, _) => kink.lane(),
            elementwise!() | shaped!() | calling!() => None,
        }
    }

    /// The same operation with its lane given another way.
    pub fn with_lane(&self, lane: Lane) -> Op {
        match self {
            Op::LogSumExp(_) => Op::LogSumExp(lane),
            Op::LogSumExpJoint(_) => Op::LogSumExpJoint(lane),
            Op::Permute { inverse, .. } => Op::Permute { lane, inverse: *inverse },
            Op::Gather { of, scatter, .. } => Op::Gather { lane, of: *of, scatter: *scatter },
            Op::Position(which, _) => Op::Position(*which, lane),
            Op::Kink(kink) => Op::Kink(kink.with_lane(lane)),
            Op::Joint(kink, choice) => Op::Joint(kink.with_lane(lane), choice.clone()),
            elementwise!() | shaped!() | calling!() => self.clone(),
        }
    }

    /// Whether the lane is still there when the operation is done, in another order or at other positions; else one number of it is left.
    pub fn keeps_lane(&self) -> bool {
        match self {
            Op::Kink(kink) | Op::Joint(kink, _) => matches!(kink.takes(), Takes::Order(_)),
            Op::Permute { .. } | Op::Gather { .. } => true,
            Op::Position(which, _) => *which == Position::Order,
            Op::LogSumExp(_) | Op::LogSumExpJoint(_) => false,
            elementwise!() | shaped!() | calling!() => false,
        }
    }

    /// For a joint operation with so many results: the operation that gives the values alone, and how many they are.
    pub fn without_weights(&self, results: usize) -> Option<(Op, usize)> {
        match self {
            Op::Joint(kink, _) => Some((Op::Kink(kink.clone()), if self.keeps_lane() { results / 2 } else { 1 })),
            Op::LogSumExpJoint(lane) => Some((Op::LogSumExp(*lane), 1)),
            Op::LogSumExp(_) | Op::Kink(_) | Op::Permute { .. } | Op::Gather { .. } | Op::Position(..) => None,
            elementwise!() | shaped!() | calling!() => None,
        }
    }

    /// The sub-programs that the operation runs.
    pub fn callees(&self) -> &[CalleeId] {
        match self {
            Op::Call(id) => std::slice::from_ref(id),
            Op::Select(ids) => ids,
            Op::Scan(scan) => std::slice::from_ref(&scan.body),
            elementwise!() | shaped!() | with_lane!() => &[],
        }
    }

    /// The same operation with its sub-programs renumbered.
    pub fn map_callees(&self, mut to: impl FnMut(CalleeId) -> CalleeId) -> Op {
        match self {
            Op::Call(id) => Op::Call(to(*id)),
            Op::Select(ids) => Op::Select(ids.iter().map(|&id| to(id)).collect()),
            Op::Scan(scan) => Op::Scan(Scan { body: to(scan.body), ..*scan }),
            elementwise!() | shaped!() | with_lane!() => self.clone(),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tick = if matches!(self, Op::Joint(..) | Op::LogSumExpJoint(_)) { "'" } else { "" };
        write!(f, "{}{tick}", self.name())
    }
}
