//! Truth values, elementwise choices, roundings, and positions, of computed numbers. On known numbers all of that is done while the file is read.

use super::arithmetic::{operands, unary};
use super::join;
use super::reduce::reduced;
use crate::onnx::call::{Call, Results, one};
use crate::onnx::error::{Fault, refuse};
use crate::onnx::values::Value;
use crease_core::op::{Comparison, Logic};
use crease_core::{Atom, Op, Position, Stair};

fn spread(c: &mut Call<'_>, op: Op) -> Results {
    let args = operands(c)?;
    one(c.apply(op, &args)?)
}

macro_rules! spread_over_one_another {
    ($($name:ident $op:expr;)*) => {$(
        pub fn $name(c: &mut Call<'_>) -> Results {
            spread(c, $op)
        }
    )*};
}

spread_over_one_another! {
    equal Op::Compare(Comparison::Equal);
    greater Op::Compare(Comparison::Greater);
    greater_or_equal Op::Compare(Comparison::GreaterEqual);
    less Op::Compare(Comparison::Less);
    less_or_equal Op::Compare(Comparison::LessEqual);
    xor Op::Compare(Comparison::NotEqual);
}

/// Truth values that are known stand in the table of constants, or are compared with 0: what is a truth value is seen by how it is made.
fn logic(c: &mut Call<'_>, how: Logic) -> Results {
    let zero = c.constant(0.0)?;
    let mut args = operands(c)?;
    for (i, a) in args.iter_mut().enumerate() {
        if !c.is_computed(i) && a.value().is_some() {
            *a = c.apply(Op::Compare(Comparison::NotEqual), &[*a, zero])?;
        }
    }
    one(c.apply(Op::Logic(how), &args)?)
}

pub fn and(c: &mut Call<'_>) -> Results {
    logic(c, Logic::And)
}

pub fn or(c: &mut Call<'_>) -> Results {
    logic(c, Logic::Or)
}

pub fn not(c: &mut Call<'_>) -> Results {
    unary(c, Op::Logic(Logic::Not))
}

pub fn sign(c: &mut Call<'_>) -> Results {
    unary(c, Stair::Sign)
}

pub fn floor(c: &mut Call<'_>) -> Results {
    unary(c, Stair::Floor)
}

pub fn ceil(c: &mut Call<'_>) -> Results {
    unary(c, Stair::Ceil)
}

pub fn round(c: &mut Call<'_>) -> Results {
    unary(c, Stair::Round)
}

/// A known condition moves numbers about; a computed one chooses.
pub fn choose(c: &mut Call<'_>) -> Results {
    if c.is_computed(0) { spread(c, Op::Where) } else { join::pick(c) }
}

pub fn prod(c: &mut Call<'_>) -> Results {
    reduced(c, |c, x, axes| Ok(c.b.prod(x, axes)?))
}

fn position(c: &mut Call<'_>, which: Position) -> Results {
    let last = c.flag("select_last_index", false)?;
    let mut x = c.real(0)?;
    let dims = c.shape(x);
    let axis = c.axis(c.int("axis", 0)?, dims.len())?;
    let keep = c.flag("keepdims", true)?;
    if last {
        // the last of equal numbers is the first from the end
        let turned = |i: usize| if i == axis { (dims[i] - 1, dims[i], -1) } else { (0, dims[i], 1) };
        x = c.b.slice(x, &(0..dims.len()).map(turned).collect::<Vec<_>>())?;
    }
    let mut y = c.b.position_axis(which, x, axis as isize)?;
    if last {
        let most = c.constant((dims[axis] - 1) as f64)?;
        y = c.apply(Op::Sub, &[most, y])?;
    }
    let kept: Vec<usize> = (0..dims.len()).map(|i| if i == axis { 1 } else { dims[i] }).collect();
    one(if keep { c.reshape(y, &kept)? } else { y })
}

pub fn arg_max(c: &mut Call<'_>) -> Results {
    position(c, Position::Largest)
}

pub fn arg_min(c: &mut Call<'_>) -> Results {
    position(c, Position::Smallest)
}

/// The largest or smallest numbers along an axis, sorted, which is allowed where that is not asked, and their positions.
pub fn top_k(c: &mut Call<'_>) -> Results {
    let x = c.real(0)?;
    let axis = c.axis(c.int("axis", -1)?, c.shape(x).len())? as isize;
    let k = match c.fixed_ints(1, "the number of numbers")?.as_deref() {
        Some(&[k]) => usize::try_from(k).unwrap_or(0),
        _ => return refuse("it needs one number of numbers to take"),
    };
    let largest = c.flag("largest", true)?;
    let pair = |y: [Atom; 2]| Ok::<_, Fault>(y.into_iter().map(Value::Real).collect());
    if largest {
        return pair(c.b.top_k(x, k, axis)?);
    }
    // the largest of what is turned round
    let turned = c.b.neg(x)?;
    let [values, positions] = c.b.top_k(turned, k, axis)?;
    let values = c.b.neg(values)?;
    pair([values, positions])
}

/// Known positions are a table of indices; computed ones are read in the run.
pub fn gather(c: &mut Call<'_>) -> Results {
    if !c.is_computed(1) {
        return join::gather(c);
    }
    let (x, index) = (c.real(0)?, c.real(1)?);
    let axis = c.axis(c.int("axis", 0)?, c.shape(x).len())?;
    one(c.b.take(x, index, axis as isize)?)
}
