//! Functions on groups of numbers: `max(a, b)`, `max(x)`, `max(x, axis=0)` and their joint forms.
//!
//! The group is several arguments, or all elements of one tensor, or one axis, or several axes taken together. The core
//! knows the first and the last axis; the rest are views around it. The weights of a joint form come back in the shape
//! of the argument.

use super::Args;
use crate::text::error::TextError;
use crate::text::operand::{Kind, Operand};
use crate::text::parser::Parser;
use crease_core::op::Choice;
use crease_core::{Kink, Lane, Op, Position, Shape};

/// A function on a group of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    LogSumExp,
    Max,
    Median,
    Min,
    Norm1,
    Norm2,
    NormInf,
    OrderStatistic,
    Position(Position),
    Sort,
}

impl<'s> Parser<'s> {
    /// Applies a function on a group of numbers.
    pub fn lane(&mut self, function: Group, tick: bool, mut args: Args<'s>) -> Result<Kind, TextError> {
        let axis = args.key("axis");
        let k = match function {
            Group::OrderStatistic => {
                let k = args.key("k").ok_or_else(|| args.fault("`order_statistic` needs its position k".into()))?;
                Some(k.count("the position k")?)
            }
            _ => None,
        };
        let choice = match (tick, function) {
            (true, Group::LogSumExp) | (false, _) => None,
            (true, _) => Some(self.choice(&mut args)?),
        };
        args.no_more_settings(self)?;
        args.arity(1, if axis.is_some() { 1 } else { usize::MAX })?;
        let (place, name) = (args.place, super::name(args.function));
        let atoms = self.values(args)?;
        let make = |lane: Lane, n: usize| operation(function, lane, k.unwrap_or((n - 1) / 2), tick, choice.clone());

        // these keep their axis
        let rearranges = make(Lane::Axis, 1).keeps_lane();
        let shape = self.builder.shape(atoms[0]);
        let axes = match &axis {
            Some(axis) => axes(axis, &shape)?,
            None if atoms.len() > 1 || shape.is_scalar() => {
                let results = self.equation(make(Lane::Args, atoms.len()), &atoms, place)?;
                return Ok(self.kind_of_all(results));
            }
            None if rearranges => vec![shape.rank() - 1],
            None => (0..shape.rank()).collect(),
        };
        if rearranges && axes.len() != 1 {
            let message = format!("`{name}` works along one axis");
            return Err(TextError::new(message, axis.map_or(place, |a| a.place())));
        }
        let results = self.build(place, |b| {
            let group = Grouping::new(&shape, &axes)?;
            let turned = b.transpose(atoms[0], &group.order)?;
            let lanes = b.reshape(turned, &group.merged)?;
            let mut results = b.push(make(Lane::Axis, group.size), &[lanes])?;
            // all but the reduced value are as long as the lane and go back to where they came from
            for result in results.iter_mut().skip(usize::from(!rearranges)) {
                let apart = b.reshape(*result, &group.turned)?;
                *result = b.transpose(apart, &group.back)?;
            }
            Ok(results)
        })?;
        Ok(self.kind_of_all(results))
    }
}

fn operation(function: Group, lane: Lane, k: usize, tick: bool, choice: Option<Choice>) -> Op {
    let kink = match function {
        Group::Min => Kink::Min(lane),
        Group::OrderStatistic | Group::Median => Kink::OrderStatistic(lane, k),
        Group::Sort => Kink::Sort(lane),
        Group::Norm1 => Kink::Norm1(lane),
        Group::NormInf => Kink::NormInf(lane),
        Group::Norm2 => Kink::Norm2(lane),
        Group::LogSumExp if tick => return Op::LogSumExpJoint(lane),
        Group::LogSumExp => return Op::LogSumExp(lane),
        Group::Position(which) => return Op::Position(which, lane),
        Group::Max => Kink::Max(lane),
    };
    match choice {
        Some(choice) => Op::Joint(kink, choice),
        None => Op::Kink(kink),
    }
}

/// The axes that a setting `axis=1` or `axis=[0, 1]` names.
pub(super) fn axes(setting: &Operand, shape: &Shape) -> Result<Vec<usize>, TextError> {
    let named = match &setting.kind {
        Kind::List(_) => setting.integers("the axes")?,
        _ => vec![setting.integer("the axis")?],
    };
    let mut axes = Vec::with_capacity(named.len());
    for axis in named {
        let axis = shape.axis(axis as isize).map_err(|e| TextError::new(e.to_string(), setting.place()))?;
        if axes.contains(&axis) {
            return Err(TextError::new(format!("axis {axis} is named twice"), setting.place()));
        }
        axes.push(axis);
    }
    if axes.is_empty() {
        return Err(TextError::new("the list of axes is empty", setting.place()));
    }
    axes.sort_unstable();
    Ok(axes)
}

/// How axes are brought to the end, made one, and put back.
struct Grouping {
    order: Vec<usize>,
    back: Vec<usize>,
    turned: Shape,
    merged: Shape,
    size: usize,
}

impl Grouping {
    fn new(shape: &Shape, axes: &[usize]) -> Result<Self, crease_core::ShapeError> {
        let kept: Vec<usize> = (0..shape.rank()).filter(|a| !axes.contains(a)).collect();
        let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
        let mut back = vec![0; order.len()];
        for (to, &from) in order.iter().enumerate() {
            back[from] = to;
        }
        let dim = |a: &usize| shape.dims()[*a];
        let turned = Shape::new(order.iter().map(dim).collect::<Vec<_>>())?;
        let size = axes.iter().map(dim).product();
        let mut merged: Vec<usize> = kept.iter().map(dim).collect();
        merged.push(size);
        Ok(Grouping { order, back, turned, merged: Shape::new(merged)?, size })
    }
}
