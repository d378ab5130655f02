//! The table of derivatives: one entry for each operation.
//!
//! An equation enters; its equations in the derived program leave (the paper's gd in place of g), and with them how the
//! tangents of its arguments enter those of its results. "How to add an operation" in ARCHITECTURE.md begins here.

use super::Selection;
use super::linear::{Linear, Step};
use super::ties::repeated;
use crate::builder::{BuildError, Builder};
use crate::number::Rational;
use crate::op::{Algebra, Comparison, Kink, Lane, Op, Slope, Smooth, Takes};
use crate::program::Atom;
use crate::shape::{Layout, broadcast_layout, sum_layout};

/// The results of an equation in the derived program, and its derivative.
pub(super) type Linearized = (Vec<Atom>, Vec<Linear>);

/// In which direction derivatives are going to travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// Emits the joint form of an operation that runs no sub-program, and returns its derivative.
pub(super) fn linearize(
    b: &mut Builder,
    s: &Selection,
    direction: Direction,
    op: &Op,
    args: &[Atom],
) -> Result<Linearized, BuildError> {
    let pair = |arg: usize, steps: Vec<Step>| Linear { arg, result: 0, steps };
    let one = Rational::ONE;
    let minus = Rational::from(-1);
    match op {
        Op::Add => {
            let y = b.push1(Op::Add, args)?;
            Ok((vec![y], vec![pair(0, vec![]), pair(1, vec![])]))
        }
        Op::Sub => {
            let y = b.push1(Op::Sub, args)?;
            Ok((vec![y], vec![pair(0, vec![]), pair(1, vec![Step::Scale(minus)])]))
        }
        Op::Mul => {
            let y = b.push1(Op::Mul, args)?;
            Ok((vec![y], vec![pair(0, vec![Step::Times(args[1])]), pair(1, vec![Step::Times(args[0])])]))
        }
        Op::Div => {
            let y = b.push1(Op::Div, args)?;
            let inverse = b.as_constant(args[1]).and_then(|c| one.checked_div(c));
            let maps = match (inverse, direction) {
                (Some(c), _) => vec![pair(0, vec![Step::Scale(c)])],
                // backward, both arguments share one division of the adjoint: five operations in all, Baur and
                // Strassen's constant; forward, with many tangents, one inverse serves them all
                (None, Direction::Backward) => {
                    let over = Step::Over(args[1]);
                    let down = vec![Step::Times(y), Step::Scale(minus), over.clone()];
                    vec![pair(0, vec![over]), pair(1, down)]
                }
                (None, Direction::Forward) => {
                    let up = b.push1(Smooth::Inv, &args[1..])?;
                    let down = b.mul(y, up)?;
                    vec![pair(0, vec![Step::Times(up)]), pair(1, minus_times(b, direction, down)?)]
                }
            };
            Ok((vec![y], maps))
        }
        Op::Neg => Ok((vec![b.push1(Op::Neg, args)?], vec![pair(0, vec![Step::Scale(minus)])])),
        Op::Smooth(f) => {
            let y = b.push1(op.clone(), args)?;
            let steps = match f.slope(b, &args[0], &y)? {
                Slope::Zero => return Ok((vec![y], vec![])),
                Slope::One => vec![],
                Slope::Plus(w) => vec![Step::Times(w)],
                Slope::Minus(w) => minus_times(b, direction, w)?,
            };
            Ok((vec![y], vec![pair(0, steps)]))
        }
        Op::Compare(_) | Op::Logic(_) | Op::Constant(_) | Op::Stair(_) | Op::Position(..) => {
            Ok((b.push(op.clone(), args)?, vec![]))
        }
        Op::Where => {
            let y = b.push1(Op::Where, args)?;
            let keep = |holds: bool| vec![Step::Keep { condition: args[0], holds }];
            Ok((vec![y], vec![pair(1, keep(true)), pair(2, keep(false))]))
        }
        Op::Gather { of, scatter, .. } => {
            // its lanes lie along an axis here
            let y = b.push1(op.clone(), args)?;
            let step = Step::Gather { index: args[1], of: *of, scatter: *scatter, from: b.shape(args[0]) };
            Ok((vec![y], vec![pair(0, vec![step])]))
        }
        Op::View { layout, shape } => {
            let from = b.shape(args[0]);
            let y = b.push1(op.clone(), args)?;
            let step = Step::View { layout: layout.clone(), from, to: shape.clone() };
            Ok((vec![y], vec![pair(0, vec![step])]))
        }
        Op::Assemble { shape, pieces } => {
            let y = b.push1(op.clone(), args)?;
            let step = |(i, layout): (usize, &Layout)| {
                let from = b.shape(args[i]);
                pair(i, vec![Step::Put { layout: layout.clone(), from, to: shape.clone() }])
            };
            Ok((vec![y], pieces.iter().enumerate().map(step).collect()))
        }
        Op::MatMul { transpose_a, transpose_b } => {
            let y = b.push1(op.clone(), args)?;
            let (ta, tb) = (*transpose_a, *transpose_b);
            let left = Step::Left { other: args[1], transpose: ta, transpose_other: tb, from: b.shape(args[0]) };
            let right = Step::Right { other: args[0], transpose: tb, transpose_other: ta, from: b.shape(args[1]) };
            Ok((vec![y], vec![pair(0, vec![left]), pair(1, vec![right])]))
        }
        Op::Permute { .. } => {
            let y = b.push1(op.clone(), args)?;
            let Op::Permute { inverse, .. } = op else { unreachable!() };
            let steps = match inverse {
                false => vec![Step::Permute { permutation: args[1] }],
                true => {
                    // undoing a permutation is applying its inverse
                    let shape = b.shape(args[1]);
                    let n = shape.dims().last().copied().unwrap_or(1);
                    let positions = b.tensor(crate::Shape::vector(n)?, (0..n).map(|i| i as f64).collect())?;
                    let positions = b.broadcast(positions, &shape)?;
                    vec![Step::Permute { permutation: b.push1(op.clone(), &[positions, args[1]])? }]
                }
            };
            Ok((vec![y], vec![pair(0, steps)]))
        }
        Op::LogSumExp(lane) => {
            let results = b.push(Op::LogSumExpJoint(*lane), args)?;
            weighted(b, *lane, &results, args, 1)
        }
        Op::LogSumExpJoint(lane) => {
            let results = b.push(op.clone(), args)?;
            let (_, mut maps) = weighted(b, *lane, &results, args, results.len())?;
            // the softmax w of x has dw = w (dx - <w, dx>)
            let (x, w) = (b.shape(args[0]), results[1]);
            let reduced = b.shape(results[0]);
            let spread = spread_last(&reduced, &x);
            let mut inner = contract(b, w, 1)?;
            inner.extend([spread, Step::Times(w), Step::Scale(minus)]);
            maps.push(Linear { arg: 0, result: 1, steps: vec![Step::Times(w)] });
            maps.push(Linear { arg: 0, result: 1, steps: inner });
            Ok((results, maps))
        }
        // the largest, the smallest, the k-th of one number is that number
        Op::Kink(kink @ (Kink::Max(_) | Kink::Min(_) | Kink::OrderStatistic(..) | Kink::Sort(_)))
            if lane_length(b, kink, args) == 1 =>
        {
            let y = b.push1(op.clone(), args)?;
            let (from, to) = (b.shape(args[0]), b.shape(y));
            let step = Step::View { layout: Layout::identity(to.len()), from, to };
            Ok((vec![y], vec![pair(0, vec![step])]))
        }
        Op::Kink(kink) => {
            let mut results = b.push(Op::Joint(kink.clone(), s.choice(kink)), args)?;
            if let Kink::Norm2(lane) = kink {
                chosen_at_zero(b, *lane, &s.norm2, &mut results)?;
            }
            let values = if op.keeps_lane() { results.len() / 2 } else { 1 };
            kinked(b, kink, &results, args, values)
        }
        Op::Joint(kink, choice) => {
            let results = b.push(op.clone(), args)?;
            let (_, mut maps) = kinked(b, kink, &results, args, results.len())?;
            match kink {
                // the slope left of zero is the exponential itself
                Kink::Elu(_) => {
                    let zero = b.constant(Rational::ZERO);
                    let left = b.compare(Comparison::Less, args[0], zero)?;
                    let slope = b.mul(results[1], left)?;
                    maps.push(Linear { arg: 0, result: 1, steps: vec![Step::Times(slope)] });
                }
                Kink::TimesRelu => {
                    let slope = b.push(Op::Joint(Kink::Relu, choice.clone()), &args[1..])?[1];
                    maps.push(Linear { arg: 1, result: 1, steps: vec![Step::Times(slope)] });
                    maps.push(Linear { arg: 0, result: 2, steps: vec![Step::Times(slope)] });
                }
                Kink::MaxLinear { rows, .. } => {
                    let matrix = b.shape(results[1]);
                    let vector = b.shape(results[2]);
                    let a = if args[0].value().is_some() { args[0] } else { b.broadcast(args[0], &matrix)? };
                    let x = if args[1].value().is_some() { args[1] } else { b.broadcast(args[1], &vector)? };
                    let products = b.matmul(a, x)?;
                    let shares = b.push(Op::Joint(Kink::Max(Lane::Axis), choice.clone()), &[products])?[1];
                    let column = b.reshape(shares, &crate::Shape::new([*rows, 1])?)?;
                    let shares = b.broadcast(column, &matrix)?;
                    let (to, rows_summed) = sum_layout(&matrix, &[0])?;
                    let repeated = broadcast_layout(&vector, &matrix).unwrap_or_else(|| Layout::identity(matrix.len()));
                    maps.push(Linear {
                        arg: 1,
                        result: 1,
                        steps: vec![
                            Step::View { layout: repeated, from: vector, to: matrix.clone() },
                            Step::Times(shares),
                        ],
                    });
                    maps.push(Linear {
                        arg: 0,
                        result: 2,
                        steps: vec![Step::Times(shares), Step::Put { layout: rows_summed, from: matrix, to }],
                    });
                }
                // its lanes lie along an axis here
                Kink::Norm2(_) => maps.extend(of_directions(b, &results)?),
                // the other weights are constant wherever they have a derivative
                Kink::Relu | Kink::Abs | Kink::LeakyRelu(_) => {}
                Kink::Max(_) | Kink::Min(_) | Kink::OrderStatistic(..) | Kink::Sort(_) => {}
                Kink::Norm1(_) | Kink::NormInf(_) => {}
            }
            Ok((results, maps))
        }
        Op::Call(_) | Op::Select(_) | Op::Scan(_) => unreachable!("sub-programs are differentiated as programs"),
    }
}

/// Slopes as equations. Arithmetic on constants is done at once; functions are written down whatever they are applied to.
impl Algebra for Builder {
    type Value = Atom;
    type Error = BuildError;

    fn constant(&mut self, p: i32, q: i32) -> Result<Atom, BuildError> {
        let (p, q) = (Builder::constant(self, p), Builder::constant(self, q));
        Builder::div(self, p, q)
    }

    fn add(&mut self, a: &Atom, b: &Atom) -> Result<Atom, BuildError> {
        Builder::add(self, *a, *b)
    }

    fn sub(&mut self, a: &Atom, b: &Atom) -> Result<Atom, BuildError> {
        Builder::sub(self, *a, *b)
    }

    fn mul(&mut self, a: &Atom, b: &Atom) -> Result<Atom, BuildError> {
        Builder::mul(self, *a, *b)
    }

    fn div(&mut self, a: &Atom, b: &Atom) -> Result<Atom, BuildError> {
        Builder::div(self, *a, *b)
    }

    fn smooth(&mut self, f: Smooth, a: &Atom) -> Result<Atom, BuildError> {
        self.push1(Op::Smooth(f), &[*a])
    }
}

/// Multiplication by -w. Backward, the sign travels on for nothing; forward, it is written down once for all tangents.
fn minus_times(b: &mut Builder, direction: Direction, w: Atom) -> Result<Vec<Step>, BuildError> {
    Ok(match direction {
        Direction::Backward => vec![Step::Times(w), Step::Scale(Rational::from(-1))],
        Direction::Forward => vec![Step::Times(b.neg(w)?)],
    })
}

/// The number of members of each lane.
fn lane_length(b: &Builder, kink: &Kink, args: &[Atom]) -> usize {
    match kink.lane() {
        Some(Lane::Axis) => b.shape(args[0]).dims().last().copied().unwrap_or(1),
        _ => args.len(),
    }
}

/// The derivative of the values of a joint operation whose results are given; the first `keep` of them are returned.
fn kinked(
    b: &mut Builder,
    kink: &Kink,
    results: &[Atom],
    args: &[Atom],
    keep: usize,
) -> Result<Linearized, BuildError> {
    let maps = match kink.takes() {
        Takes::Numbers | Takes::Linear { lane: Lane::Args, .. } => {
            return weighted(b, Lane::Args, results, args, keep);
        }
        Takes::Lane(lane) => return weighted(b, lane, results, args, keep),
        Takes::Order(_) => {
            vec![Linear { arg: 0, result: 0, steps: vec![Step::Permute { permutation: results[1] }] }]
        }
        Takes::Linear { lane: Lane::Axis, .. } => {
            let mut maps = Vec::new();
            for arg in 0..2 {
                let axes = b.shape(results[1 + arg]).rank();
                maps.push(Linear { arg, result: 0, steps: contract(b, results[1 + arg], axes)? });
            }
            maps
        }
    };
    Ok((results[..keep].to_vec(), maps))
}

/// The derivative of a reduction whose results are the value and the weights of the members.
fn weighted(
    b: &mut Builder,
    lane: Lane,
    results: &[Atom],
    args: &[Atom],
    keep: usize,
) -> Result<Linearized, BuildError> {
    let maps = match lane {
        Lane::Args => {
            let times = |arg: usize| Linear { arg, result: 0, steps: vec![Step::Times(results[1 + arg])] };
            (0..args.len()).map(times).collect()
        }
        Lane::Axis => vec![Linear { arg: 0, result: 0, steps: contract(b, results[1], 1)? }],
    };
    Ok((results[..keep].to_vec(), maps))
}

/// Adds the vector that a selection takes where a Euclidean norm is 0: there its weights are 0.
fn chosen_at_zero(b: &mut Builder, lane: Lane, chosen: &[Rational], results: &mut [Atom]) -> Result<(), BuildError> {
    if chosen.iter().all(Rational::is_zero) {
        return Ok(());
    }
    let zero = b.constant(Rational::ZERO);
    let tied = b.compare(Comparison::Equal, results[0], zero)?;
    match lane {
        Lane::Args => {
            for (w, c) in results[1..].iter_mut().zip(chosen).filter(|(_, c)| !c.is_zero()) {
                let c = b.constant(c.clone());
                let c = b.mul(tied, c)?;
                *w = b.add(*w, c)?;
            }
        }
        Lane::Axis => {
            let shape = b.shape(results[1]);
            let n = shape.dims().last().copied().unwrap_or(1);
            // the choice is exact: rounded, it might leave the unit ball
            let chosen = &chosen[..chosen.len().min(n)];
            let first = b.exact_tensor(crate::Shape::vector(chosen.len())?, chosen.to_vec())?;
            let vector = match chosen.len() {
                all if all == n => first,
                some => b.assemble(crate::Shape::vector(n)?, vec![(first, Layout::identity(some))])?,
            };
            let vector = b.broadcast(vector, &shape)?;
            let tied = repeated(b, tied, &shape)?;
            let added = b.mul(tied, vector)?;
            results[1] = b.add(results[1], added)?;
        }
    }
    Ok(())
}

/// The derivative of the weights w = x / |x| of a Euclidean norm along an axis: (dx - w <w, dx>) / |x|. At 0 they do not change.
fn of_directions(b: &mut Builder, results: &[Atom]) -> Result<[Linear; 2], BuildError> {
    let (zero, one) = (b.constant(Rational::ZERO), b.constant(Rational::ONE));
    let tied = b.compare(Comparison::Equal, results[0], zero)?;
    let (safe, away) = (b.add(results[0], tied)?, b.sub(one, tied)?);
    let over = b.div(away, safe)?;
    let w = results[1];
    let (x, reduced) = (b.shape(w), b.shape(results[0]));
    let over = repeated(b, over, &x)?;
    let mut inner = contract(b, w, 1)?;
    inner.extend([spread_last(&reduced, &x), Step::Times(w), Step::Times(over), Step::Scale(Rational::from(-1))]);
    let by = |steps| Linear { arg: 0, result: 1, steps };
    Ok([by(vec![Step::Times(over)]), by(inner)])
}

/// Multiplication by weights and summation over the last axes: how a gradient acts on a tangent.
pub(super) fn contract(b: &Builder, w: Atom, axes: usize) -> Result<Vec<Step>, BuildError> {
    let shape = b.shape(w);
    if axes == 0 {
        return Ok(vec![Step::Times(w)]);
    }
    let summed: Vec<usize> = (shape.rank() - axes..shape.rank()).collect();
    let (to, layout) = sum_layout(&shape, &summed)?;
    Ok(vec![Step::Times(w), Step::Put { layout, from: shape, to }])
}

/// Repetition along a new last axis.
fn spread_last(from: &crate::Shape, to: &crate::Shape) -> Step {
    let n = to.dims().last().copied().unwrap_or(1);
    let layout = Layout::strided(0, &[(from.len(), 1), (n, 0)]);
    Step::View { layout, from: from.clone(), to: to.clone() }
}
