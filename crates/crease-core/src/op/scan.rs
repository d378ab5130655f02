//! Loops: one body, so many turns, and values that are carried from each turn to the next.
//!
//! A [`Scan`] runs its body `turns` times. The arguments of the equation are, in this order,
//!
//! | arguments | the body gets | how many |
//! | --- | --- | --- |
//! | carried | in the first turn these, then what the turn before returned | `carried` |
//! | sequences, with a leading axis of `turns` | in each turn its own part, without that axis | `each` |
//! | all others | the same in each turn | the rest |
//!
//! and so are the inputs of the body. Its first outputs are the new carried values; every further one is *stacked*: it gets a leading axis, and
//! holds what each of the turns returned. The results of the equation are the carried values after the last turn, then the stacked ones. A loop that
//! goes `back` begins with the last part of its sequences and ends with the first, and stacks its outputs where it takes its parts: that is how
//! the derivative of a loop runs, and the reason why loops are closed under differentiation.
//!
//! The meaning is that of its turns written one after the other ([`unroll`](crate::unroll())), with the same tally: the derivative is the unrolled one, too, but it is
//! derived once, whatever the number of turns.

use super::infer::{Signature, arity, parameter, shapes};
use super::{CalleeId, Op, OpError};
use crate::shape::Shape;

/// Loops inside of loops go so deep: they are read, differentiated and compiled inside of each other.
pub const MOST_NESTED: usize = 100;

/// A loop. See the [module](self).
///
/// ```
/// use crease_core::{run, trace, Builder, Scan, Shape, Tensor};
/// use std::sync::Arc;
/// // x -> x * x, three times
/// let square = Arc::new(trace(1, |x| x[0] * x[0])?);
/// let mut b = Builder::new("f");
/// let x = b.input("x", Shape::scalar())?;
/// let body = b.callee(square, None)?;
/// let y = b.push(Scan::repeat(body, 3, 1), &[x])?;
/// let p = b.finish(&y)?;
/// assert_eq!(run(&p, &[Tensor::scalar(2.0)])?[0].data(), [256.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scan {
    /// What is run in each turn.
    pub body: CalleeId,
    /// How often.
    pub turns: usize,
    /// How many values are carried from turn to turn.
    pub carried: usize,
    /// How many arguments are sequences.
    pub each: usize,
    /// Whether it goes from the last part of its sequences to the first.
    pub back: bool,
}

impl Scan {
    /// A loop without sequences, forward.
    pub fn repeat(body: CalleeId, turns: usize, carried: usize) -> Self {
        Scan { body, turns, carried, each: 0, back: false }
    }

    /// Which part of the sequences turn number `turn` takes, and where it puts what it returns.
    pub fn part(&self, turn: usize) -> usize {
        if self.back { self.turns - 1 - turn } else { turn }
    }

    /// Which arguments are sequences.
    pub fn sequences(&self) -> std::ops::Range<usize> {
        self.carried..self.still()
    }

    /// Where the arguments that are the same in each turn begin.
    pub fn still(&self) -> usize {
        self.carried + self.each
    }
}

impl From<Scan> for Op {
    fn from(scan: Scan) -> Self {
        Op::Scan(scan)
    }
}

/// The shapes of the results of a loop.
pub(super) fn results(
    op: &Op,
    scan: &Scan,
    body: &Signature<'_>,
    args: &[Option<&Shape>],
) -> Result<Vec<Shape>, OpError> {
    if scan.turns == 0 {
        return Err(parameter(op, "a loop has at least one turn".into()));
    }
    if args.len() != body.inputs.len() {
        return Err(arity(op, &body.inputs.len().to_string(), args.len()));
    }
    if args.len() < scan.still() {
        let why = format!(
            "{} values are carried and {} sequences taken, but its body `{}` has {} inputs",
            scan.carried,
            scan.each,
            body.name,
            args.len()
        );
        return Err(parameter(op, why));
    }
    if body.outputs.len() < scan.carried {
        let why = format!("its body `{}` returns {} of {} carried values", body.name, body.outputs.len(), scan.carried);
        return Err(parameter(op, why));
    }
    for (i, (&arg, &input)) in args.iter().zip(&body.inputs).enumerate() {
        let sequence = scan.sequences().contains(&i);
        let expected = if sequence { input.with_leading(scan.turns)? } else { input.clone() };
        // a constant is a scalar
        if *arg.unwrap_or(&Shape::scalar()) != expected {
            let what = if sequence {
                "a sequence has a leading axis of one part for each turn"
            } else {
                "argument and input differ"
            };
            let why = format!("{what}: input {i} of its body `{}` needs shape {expected}", body.name);
            return Err(shapes(op, &[arg, Some(input)], &why));
        }
    }
    let mut out = Vec::with_capacity(body.outputs.len());
    for (i, shape) in body.outputs.iter().enumerate() {
        if i < scan.carried && *shape != *body.inputs[i] {
            let why = format!("carried value {i} has another shape after a turn of its body `{}`", body.name);
            return Err(shapes(op, &[Some(body.inputs[i]), Some(shape)], &why));
        }
        out.push(if i < scan.carried { shape.clone() } else { shape.with_leading(scan.turns)? });
    }
    Ok(out)
}
