//! How values vary near the point: not at all, piecewise affinely, or otherwise.
//!
//! This decides two things. Where a value is constant around the point, its tangent is zero for good; where it is not, a tangent that
//! vanishes proves nothing to an operation that is singular there, as the square root is at 0. And the model is of first order: if the
//! arguments of all active kinks are piecewise affine, the branches that are taken near the point are those that the model takes along
//! directions. Otherwise there may be more: `abs(y - x^2) - abs(y)` has the directional derivative 0 at 0, but between the axis and
//! the parabola its gradient is near (0, -2).

use crate::op::{Op, Smooth, calling, shaped};

/// How a value depends on the inputs near the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// It is the same in a neighbourhood.
    Constant,
    /// It is piecewise affine in a neighbourhood.
    Affine,
    /// Nothing is known but that it is continuous.
    Curved,
}

impl Class {
    /// Of a smooth function that is not affine.
    pub fn bent(self) -> Class {
        if self == Class::Constant { Class::Constant } else { Class::Curved }
    }

    /// Of a product.
    pub fn times(self, other: Class) -> Class {
        if self == Class::Affine && other == Class::Affine { Class::Curved } else { self.max(other) }
    }

    /// Of a sum, and of what takes one of several values.
    pub fn largest(classes: impl IntoIterator<Item = Class>) -> Class {
        classes.into_iter().max().unwrap_or(Class::Constant)
    }
}

/// The class of the result of a smooth operation; `zero` says which arguments are exactly 0. Nothing for operations that are not smooth,
/// or that scalar programs do not have.
pub(crate) fn of_smooth(op: &Op, args: &[Class], zero: impl Fn(usize) -> bool) -> Option<Class> {
    use Class::Constant;
    let vanishes = |i: usize| args[i] == Constant && zero(i);
    Some(match op {
        Op::Add | Op::Sub | Op::Neg | Op::Permute { .. } => Class::largest(args.iter().copied()),
        Op::Mul if vanishes(0) || vanishes(1) => Constant,
        Op::Mul => args[0].times(args[1]),
        Op::Div if vanishes(0) => Constant,
        Op::Div if args[1] == Constant => args[0],
        Op::Div => Class::Curved,
        Op::Smooth(Smooth::Power(0)) => Constant,
        Op::Smooth(Smooth::Power(1)) => args[0],
        Op::Smooth(_) => args[0].bent(),
        Op::LogSumExp(_) => Class::largest(args.iter().copied()).bent(),
        Op::Gather { .. } => Class::largest(args.iter().copied()),
        Op::Kink(_) | Op::Joint(..) | Op::LogSumExpJoint(_) | Op::Stair(_) | Op::Position(..) => return None,
        Op::Where | Op::Compare(_) | Op::Logic(_) | shaped!() | calling!() => return None,
    })
}
