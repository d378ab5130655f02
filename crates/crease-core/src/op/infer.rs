//! Shapes of results from shapes of arguments, and the one place that says which arguments an operation takes.

use super::{Kink, Lane, Logic, Op, Smooth, Takes, Ties};
use crate::number::Rational;
use crate::shape::{Shape, ShapeError};

/// Why an operation cannot be applied to its arguments.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// The wrong number of arguments.
    #[error("`{op}` takes {expected} argument{}, got {got}", if expected == "1" { "" } else { "s" })]
    Arity {
        /// The operation.
        op: String,
        /// How many it takes.
        expected: String,
        /// How many it got.
        got: usize,
    },
    /// Arguments whose shapes do not fit together.
    #[error("`{op}` cannot combine shapes {}: {why}", shapes.iter().map(|s| s.to_string()).collect::<Vec<_>>().join(" and "))]
    Shapes {
        /// The operation.
        op: String,
        /// The shapes, in order.
        shapes: Vec<Shape>,
        /// What would fit.
        why: String,
    },
    /// A parameter out of its range.
    #[error("`{op}`: {why}")]
    Parameter {
        /// The operation.
        op: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// A shape that cannot be.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Constant data whose length does not fit its shape.
    #[error("a constant of shape {shape} needs {} numbers, got {len}", shape.len())]
    Data {
        /// The shape.
        shape: Shape,
        /// The number of elements given.
        len: usize,
    },
    /// A constant that is no number.
    #[error("a constant must be finite, but element {position} is {value}")]
    NotFinite {
        /// Where in row-major order.
        position: usize,
        /// What it was.
        value: f64,
    },
}

/// The shapes of the inputs and outputs of a sub-program, for [`infer`].
pub(crate) struct Signature<'a> {
    pub name: &'a str,
    pub inputs: Vec<&'a Shape>,
    pub outputs: Vec<Shape>,
}

/// The shapes of the results of `op`. A constant argument has no shape of its own (`None`): it stands for as many copies as
/// are needed. `signature` tells about sub-programs.
pub(crate) fn infer_with<'a>(
    op: &Op,
    args: &[Option<&Shape>],
    signature: impl Fn(super::CalleeId) -> Signature<'a>,
) -> Result<Vec<Shape>, OpError> {
    match op {
        Op::Call(id) => {
            let s = signature(*id);
            matches_signature(&s, args)?;
            Ok(s.outputs)
        }
        Op::Select(ids) => {
            let conditions = ids.len().saturating_sub(1);
            if ids.is_empty() || args.len() < conditions {
                return Err(arity(op, "one condition for each branch but the last", args.len()));
            }
            for c in args[..conditions].iter().flatten() {
                if !c.is_scalar() {
                    return Err(shapes(op, &args[..conditions], "a condition is a scalar"));
                }
            }
            let mut outputs: Option<Vec<Shape>> = None;
            for &id in ids {
                let s = signature(id);
                matches_signature(&s, &args[conditions..])?;
                match &outputs {
                    None => outputs = Some(s.outputs),
                    Some(first) if *first != s.outputs => {
                        let both = first.iter().chain(&s.outputs).map(Some).collect::<Vec<_>>();
                        return Err(shapes(op, &both, "all branches must give the same shapes"));
                    }
                    Some(_) => {}
                }
            }
            Ok(outputs.unwrap_or_default())
        }
        Op::Scan(scan) => super::scan::results(op, scan, &signature(scan.body), args),
        _ => infer(op, args),
    }
}

/// The shapes of the results of an operation that runs no sub-program. `None` stands for a constant argument.
///
/// ```
/// use crease_core::{Shape, op::{infer, Op}};
/// let v = Shape::vector(3).unwrap();
/// assert_eq!(infer(&Op::Add, &[Some(&v), None]).unwrap(), [v.clone()]);
/// assert!(infer(&Op::Add, &[Some(&v), Some(&Shape::scalar())]).is_err());
/// ```
pub fn infer(op: &Op, args: &[Option<&Shape>]) -> Result<Vec<Shape>, OpError> {
    match op {
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Compare(_) => elementwise(op, args, 2).map(|s| vec![s]),
        Op::Logic(Logic::And | Logic::Or) => elementwise(op, args, 2).map(|s| vec![s]),
        Op::Smooth(Smooth::Power(i32::MIN)) => Err(parameter(op, "the exponent is too small".into())),
        Op::Smooth(Smooth::Root(p, q)) if Smooth::power(*p, *q) != Some(Smooth::Root(*p, *q)) => {
            Err(parameter(op, format!("{p}/{q} is no fraction in lowest terms, or has another name")))
        }
        // derivatives subtract 1 from it
        Op::Smooth(Smooth::Root(p, q)) if p.checked_sub(*q).is_none() => {
            Err(parameter(op, "the exponent is too small".into()))
        }
        Op::Neg | Op::Smooth(_) | Op::Stair(_) | Op::Logic(Logic::Not) => elementwise(op, args, 1).map(|s| vec![s]),
        Op::Where => elementwise(op, args, 3).map(|s| vec![s]),
        Op::LogSumExp(lane) => Ok(vec![reduced(op, *lane, args)?]),
        Op::LogSumExpJoint(lane) => with_weights(reduced(op, *lane, args)?, *lane, args),
        Op::Kink(kink) => values(op, kink, args),
        Op::Joint(kink, _) => joint(op, kink, args),
        Op::Permute { lane, .. } => permuted(op, *lane, args),
        Op::Gather { lane, of, scatter } => gathered(op, *lane, *of, *scatter, args),
        Op::Position(_, lane) if op.keeps_lane() => rearranged(op, *lane, args),
        Op::Position(_, lane) => Ok(vec![reduced(op, *lane, args)?]),
        Op::Constant(c) => match args {
            [] => Ok(vec![c.shape().clone()]),
            _ => Err(arity(op, "0", args.len())),
        },
        Op::View { layout, shape } => {
            let [arg] = args else { return Err(arity(op, "1", args.len())) };
            let source = arg.map_or(1, Shape::len);
            if layout.len() != shape.len() || !layout.fits(source) {
                return Err(parameter(
                    op,
                    format!("the index map does not lead from {source} elements to shape {shape}"),
                ));
            }
            Ok(vec![shape.clone()])
        }
        Op::Assemble { shape, pieces } => {
            if args.len() != pieces.len() {
                return Err(arity(op, &pieces.len().to_string(), args.len()));
            }
            for (arg, piece) in args.iter().zip(pieces) {
                if !piece.fits(shape.len()) || arg.is_some_and(|s| s.len() != piece.len()) {
                    return Err(parameter(
                        op,
                        format!("an index map does not lead from its argument into shape {shape}"),
                    ));
                }
            }
            Ok(vec![shape.clone()])
        }
        Op::MatMul { transpose_a, transpose_b } => matmul(op, *transpose_a, *transpose_b, args),
        Op::Call(_) | Op::Select(_) | Op::Scan(_) => {
            Err(parameter(op, "a sub-program has no shape without its program".into()))
        }
    }
}

pub(super) fn arity(op: &Op, expected: &str, got: usize) -> OpError {
    OpError::Arity { op: op.to_string(), expected: expected.into(), got }
}

pub(super) fn parameter(op: &Op, why: String) -> OpError {
    OpError::Parameter { op: op.to_string(), why }
}

pub(super) fn shapes(op: &Op, args: &[Option<&Shape>], why: &str) -> OpError {
    OpError::Shapes {
        op: op.to_string(),
        shapes: args.iter().flatten().map(|s| (*s).clone()).collect(),
        why: why.into(),
    }
}

fn matches_signature(s: &Signature<'_>, args: &[Option<&Shape>]) -> Result<(), OpError> {
    if s.inputs.len() != args.len() {
        return Err(OpError::Arity { op: s.name.into(), expected: s.inputs.len().to_string(), got: args.len() });
    }
    for (i, (want, got)) in s.inputs.iter().zip(args).enumerate() {
        let got = got.cloned().unwrap_or_default();
        if **want != got {
            return Err(OpError::Shapes {
                op: s.name.into(),
                shapes: vec![(*want).clone(), got],
                why: format!("argument {} must have the first of these shapes", i + 1),
            });
        }
    }
    Ok(())
}

/// All shaped arguments have one shape; constants follow it.
fn common(op: &Op, args: &[Option<&Shape>]) -> Result<Shape, OpError> {
    let mut found: Option<&Shape> = None;
    for shape in args.iter().flatten() {
        match found {
            None => found = Some(shape),
            Some(first) if first == *shape => {}
            Some(first) => {
                return Err(shapes(
                    op,
                    &[Some(first), Some(shape)],
                    "they must be equal (a scalar is spread by itself; use broadcast for the rest)",
                ));
            }
        }
    }
    Ok(found.cloned().unwrap_or_default())
}

fn elementwise(op: &Op, args: &[Option<&Shape>], n: usize) -> Result<Shape, OpError> {
    if args.len() != n {
        return Err(arity(op, &n.to_string(), args.len()));
    }
    common(op, args)
}

/// The size of the lane and the shape that is left when it is gone.
fn lane_of(op: &Op, lane: Lane, args: &[Option<&Shape>]) -> Result<(Shape, usize), OpError> {
    match lane {
        Lane::Args => match args {
            [] => Err(arity(op, "at least 1", 0)),
            [Some(s)] if !s.is_scalar() => Err(shapes(op, args, "a lane of one argument must be a scalar")),
            _ => Ok((common(op, args)?, args.len())),
        },
        Lane::Axis => match args {
            [Some(s)] => s.split_last().ok_or_else(|| shapes(op, args, "there is no axis to work along")),
            [None] => Err(parameter(op, "a constant has no axis to work along".into())),
            _ => Err(arity(op, "1", args.len())),
        },
    }
}

fn reduced(op: &Op, lane: Lane, args: &[Option<&Shape>]) -> Result<Shape, OpError> {
    Ok(lane_of(op, lane, args)?.0)
}

fn with_weights(value: Shape, lane: Lane, args: &[Option<&Shape>]) -> Result<Vec<Shape>, OpError> {
    let mut out = vec![value.clone()];
    match lane {
        Lane::Args => out.extend(std::iter::repeat_n(value, args.len())),
        Lane::Axis => out.push(args[0].cloned().unwrap_or_default()),
    }
    Ok(out)
}

/// The numbers of rows and columns of max-m-linear.
pub(crate) fn max_linear_size(rows: usize, lane: Lane, args: &[Option<&Shape>]) -> Option<(usize, usize)> {
    match lane {
        Lane::Axis => match args {
            [a, x] => {
                let columns = a.map(|s| s.dims().get(1).copied().unwrap_or(0)).or(x.map(|s| s.len()))?;
                let fits = a.is_none_or(|s| s.dims() == [rows, columns]) && x.is_none_or(|s| s.dims() == [columns]);
                (fits && rows > 0 && columns > 0).then_some((rows, columns))
            }
            _ => None,
        },
        Lane::Args => {
            let each = rows.checked_add(1)?;
            let columns = args.len() / each;
            (rows > 0 && columns > 0 && columns * each == args.len()).then_some((rows, columns))
        }
    }
}

fn values(op: &Op, kink: &Kink, args: &[Option<&Shape>]) -> Result<Vec<Shape>, OpError> {
    if let Kink::LeakyRelu(slope) = kink
        && *slope >= Rational::ONE
    {
        return Err(parameter(op, format!("the slope must be below 1, got {slope}")));
    }
    if let Kink::Elu(scale) = kink
        && !scale.is_positive()
    {
        return Err(parameter(op, format!("the scale must be positive, got {scale}")));
    }
    match kink.takes() {
        Takes::Numbers => Ok(vec![elementwise(op, args, kink.facts().arity.map_or(0, |n| n as usize))?]),
        Takes::Lane(lane) => {
            let (shape, n) = lane_of(op, lane, args)?;
            if let Kink::OrderStatistic(_, k) = kink
                && *k >= n
            {
                return Err(parameter(op, format!("there is no position {k} among {n} numbers (counted from 0)")));
            }
            Ok(vec![shape])
        }
        Takes::Order(lane) => rearranged(op, lane, args),
        Takes::Linear { lane, rows } => match max_linear_size(rows, lane, args) {
            Some(_) if lane == Lane::Args && !common(op, args)?.is_scalar() => {
                Err(shapes(op, args, "given number by number, all must be scalars"))
            }
            Some(_) => Ok(vec![Shape::scalar()]),
            None => Err(shapes(op, args, "it takes a matrix [m, n] and a vector [n]")),
        },
    }
}

fn joint(op: &Op, kink: &Kink, args: &[Option<&Shape>]) -> Result<Vec<Shape>, OpError> {
    let mut out = values(op, kink, args)?;
    if let (Kink::Norm2(_), Op::Joint(_, choice)) = (kink, op)
        && !(choice.at_kink.is_zero() && choice.ties == Ties::First)
    {
        return Err(parameter(op, "at 0 its derivative is 0; add what else it is to be there".into()));
    }
    match kink.takes() {
        Takes::Order(_) => out.extend(out.clone()),
        Takes::Linear { lane: Lane::Axis, rows } => {
            let (m, n) = max_linear_size(rows, Lane::Axis, args).unwrap_or((1, 1));
            out.extend([Shape::new([m, n])?, Shape::new([n])?]);
        }
        Takes::Lane(lane) => return with_weights(out.swap_remove(0), lane, args),
        Takes::Numbers | Takes::Linear { lane: Lane::Args, .. } => {
            return with_weights(out.swap_remove(0), Lane::Args, args);
        }
    }
    Ok(out)
}

/// As many numbers as go in.
fn rearranged(op: &Op, lane: Lane, args: &[Option<&Shape>]) -> Result<Vec<Shape>, OpError> {
    let (shape, n) = lane_of(op, lane, args)?;
    Ok(match lane {
        Lane::Args => vec![shape; n],
        Lane::Axis => vec![args[0].cloned().unwrap_or_default()],
    })
}

fn gathered(op: &Op, lane: Lane, of: usize, scatter: bool, args: &[Option<&Shape>]) -> Result<Vec<Shape>, OpError> {
    if of == 0 {
        return Err(parameter(op, "there is no position in a lane of no numbers".into()));
    }
    match lane {
        Lane::Args if scatter => match args.len() {
            n if n >= 2 && n.is_multiple_of(2) => Ok(vec![common(op, args)?; of]),
            n => Err(arity(op, "as many numbers as positions", n)),
        },
        Lane::Args if args.len() > of => Ok(vec![common(op, args)?; args.len() - of]),
        Lane::Args => Err(arity(op, "all numbers of the lane and at least one position", args.len())),
        Lane::Axis => {
            let [x, index] = args else { return Err(arity(op, "2", args.len())) };
            let (Some(x), Some(index)) = (x, index) else {
                return Err(parameter(op, "a constant has no axis to work along".into()));
            };
            let (Some((rest, n)), Some((rows, _))) = (x.split_last(), index.split_last()) else {
                return Err(shapes(op, args, "there is no axis to work along"));
            };
            match scatter {
                false if rest != rows => Err(shapes(op, args, "all axes but the last must agree")),
                false if n != of => Err(shapes(op, args, "the last axis of the first is not as long as it says")),
                false => Ok(vec![(*index).clone()]),
                true if x != index => Err(shapes(op, args, "there must be a position for each number")),
                true => Ok(vec![Shape::new([rest.dims(), &[of]].concat())?]),
            }
        }
    }
}

fn permuted(op: &Op, lane: Lane, args: &[Option<&Shape>]) -> Result<Vec<Shape>, OpError> {
    match lane {
        Lane::Axis => {
            let shape = elementwise(op, args, 2)?;
            match shape.split_last() {
                Some(_) => Ok(vec![shape]),
                None => Err(shapes(op, args, "there is no axis to work along")),
            }
        }
        Lane::Args if args.len() == 2 && !common(op, args)?.is_scalar() => {
            Err(shapes(op, args, "a lane of one argument must be a scalar"))
        }
        Lane::Args if args.len() >= 2 && args.len().is_multiple_of(2) => Ok(vec![common(op, args)?; args.len() / 2]),
        Lane::Args => Err(arity(op, "as many numbers as positions", args.len())),
    }
}

fn matmul(op: &Op, ta: bool, tb: bool, args: &[Option<&Shape>]) -> Result<Vec<Shape>, OpError> {
    let [a, b] = args else { return Err(arity(op, "2", args.len())) };
    let why = "the columns of the first must be the rows of the second";
    let (Some(a), Some(b)) = (a, b) else { return Err(shapes(op, args, "both must be matrices")) };
    let (ra, rb) = (a.rank(), b.rank());
    if ra < 2 || ra != rb || a.dims()[..ra - 2] != b.dims()[..rb - 2] {
        return Err(shapes(op, args, why));
    }
    let matrix = |s: &Shape, t: bool| {
        let (r, c) = (s.dims()[s.rank() - 2], s.dims()[s.rank() - 1]);
        if t { (c, r) } else { (r, c) }
    };
    let ((m, k), (k2, n)) = (matrix(a, ta), matrix(b, tb));
    if k != k2 {
        return Err(shapes(op, args, why));
    }
    let mut dims = a.dims()[..ra - 2].to_vec();
    dims.extend([m, n]);
    Ok(vec![Shape::new(dims)?])
}
