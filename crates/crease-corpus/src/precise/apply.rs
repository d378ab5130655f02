//! What each operation does, on lists of numbers: tensors are their elements in order.

use super::Fault;
use super::number::{Arithmetic, Number};
use crease_core::op::{Comparison, Kink, Lane, Logic, Op, Position, Smooth, Stair};
use crease_core::{Equation, Program};
use dashu_ratio::RBig;
use std::cmp::Ordering;

type Results = Result<Vec<Vec<Number>>, Fault>;

impl Arithmetic {
    /// Carries out an equation that runs no sub-program. A constant argument is a list of one number, and stands for as many as are
    /// needed.
    pub(super) fn equation(&self, p: &Program, e: &Equation<'_>, args: &[&[Number]]) -> Results {
        let len = p.shape(e.first).len();
        match e.op {
            Op::Constant(c) => {
                let number = |x: &f64| match RBig::try_from(*x) {
                    Ok(r) => Ok(Number::Exact(r)),
                    Err(_) => Err(Fault::Unsupported("a constant that is no number")),
                };
                Ok(vec![c.data().iter().map(number).collect::<Result<_, _>>()?])
            }
            Op::View { layout, .. } => Ok(vec![layout.iter().map(|i| element(args[0], i).clone()).collect()]),
            Op::Assemble { pieces, .. } => {
                let mut out = vec![Number::zero(); len];
                for (arg, piece) in args.iter().zip(pieces) {
                    for (i, to) in piece.iter().enumerate() {
                        out[to] = self.add(&out[to], element(arg, i))?;
                    }
                }
                Ok(vec![out])
            }
            Op::MatMul { transpose_a, transpose_b } => {
                let dims = p.shape(e.first).dims();
                let (m, n) = (dims[dims.len() - 2], dims[dims.len() - 1]);
                let batch = len / (m * n);
                let k = args[0].len() / (batch * m);
                let mut out = Vec::with_capacity(len);
                for s in 0..batch {
                    let (a, b) = (&args[0][s * m * k..], &args[1][s * k * n..]);
                    for i in 0..m {
                        for j in 0..n {
                            let mut sum = Number::zero();
                            for l in 0..k {
                                let x = &a[if *transpose_a { l * m + i } else { i * k + l }];
                                let y = &b[if *transpose_b { j * k + l } else { l * n + j }];
                                sum = self.add(&sum, &self.mul(x, y)?)?;
                            }
                            out.push(sum);
                        }
                    }
                }
                Ok(vec![out])
            }
            Op::Gather { lane: Lane::Axis, .. } => {
                let rows = p.shape(e.first).split_last().map_or(1, |(rest, _)| rest.len());
                let mut out = Vec::with_capacity(len);
                for l in 0..rows {
                    let part = |a: &&[Number]| a[l * a.len() / rows..(l + 1) * a.len() / rows].to_vec();
                    out.extend(self.scalar(e.op, &args.iter().flat_map(part).collect::<Vec<_>>())?);
                }
                Ok(vec![out])
            }
            Op::LogSumExp(Lane::Axis) | Op::Position(_, Lane::Axis) | Op::Kink(_) if axis(e.op) => {
                let lanes = match e.op {
                    Op::Kink(Kink::MaxLinear { .. }) => vec![args.concat()],
                    _ => {
                        let n = p.atom_shape(e.args[0]).split_last().map_or(1, |(_, n)| n);
                        args[0].chunks(n).map(<[Number]>::to_vec).collect()
                    }
                };
                let mut out = Vec::new();
                for lane in lanes {
                    out.extend(self.scalar(e.op, &lane)?);
                }
                Ok(vec![out])
            }
            op => {
                let mut out: Vec<Vec<Number>> = vec![Vec::with_capacity(len); e.results];
                for i in 0..len {
                    let numbers: Vec<Number> = args.iter().map(|a| element(a, i).clone()).collect();
                    let results = self.scalar(op, &numbers)?;
                    out.iter_mut().zip(results).for_each(|(list, x)| list.push(x));
                }
                Ok(out)
            }
        }
    }

    /// A scalar operation, or one on a single lane.
    pub fn scalar(&self, op: &Op, x: &[Number]) -> Result<Vec<Number>, Fault> {
        let rational = |r: &crease_core::Rational| RBig::from(r.clone());
        let one = match op {
            Op::Add => self.add(&x[0], &x[1])?,
            Op::Sub => self.sub(&x[0], &x[1])?,
            Op::Mul => self.mul(&x[0], &x[1])?,
            Op::Div => self.div(&x[0], &x[1])?,
            Op::Neg => self.neg(&x[0]),
            Op::Smooth(Smooth::Inv) => self.div(&Number::one(), &x[0])?,
            Op::Smooth(Smooth::Exp) => self.exp(&x[0])?,
            Op::Smooth(Smooth::Log) => self.log(&x[0])?,
            Op::Smooth(Smooth::Sqrt) => self.sqrt(&x[0])?,
            Op::Smooth(Smooth::Sin) => self.sin(&x[0])?,
            Op::Smooth(Smooth::Cos) => self.cos(&x[0])?,
            Op::Smooth(Smooth::Tanh) => self.tanh(&x[0])?,
            Op::Smooth(Smooth::Sigmoid) => self.sigmoid(&x[0])?,
            Op::Smooth(Smooth::Softplus) => self.softplus(&x[0])?,
            Op::Smooth(Smooth::Tan) => self.tan(&x[0])?,
            Op::Smooth(Smooth::Asin) => self.asin(&x[0])?,
            Op::Smooth(Smooth::Acos) => self.acos(&x[0])?,
            Op::Smooth(Smooth::Atan) => self.atan(&x[0])?,
            Op::Smooth(Smooth::Sinh) => self.sinh(&x[0])?,
            Op::Smooth(Smooth::Cosh) => self.cosh(&x[0])?,
            Op::Smooth(Smooth::Asinh) => self.asinh(&x[0])?,
            Op::Smooth(Smooth::Acosh) => self.acosh(&x[0])?,
            Op::Smooth(Smooth::Atanh) => self.atanh(&x[0])?,
            Op::Smooth(Smooth::Erf) => self.erf(&x[0])?,
            Op::Smooth(Smooth::Erfc) => self.erfc(&x[0])?,
            Op::Smooth(Smooth::ErfSlope) => self.erf_slope(&x[0])?,
            Op::Smooth(Smooth::Log1p) => self.log1p(&x[0])?,
            Op::Smooth(Smooth::Expm1) => self.expm1(&x[0])?,
            Op::Smooth(Smooth::Power(k)) => self.power(&x[0], *k)?,
            Op::Smooth(Smooth::Root(p, q)) => self.root(&x[0], *p, *q)?,
            Op::LogSumExp(_) => self.log_sum_exp(x)?,
            Op::Stair(s) => self.stair(*s, &x[0])?,
            Op::Where => match self.order(&x[0], &Number::one())? {
                Ordering::Equal => x[1].clone(),
                Ordering::Less | Ordering::Greater => x[2].clone(),
            },
            Op::Position(Position::Order, _) => {
                let order = self.positions(x)?;
                return Ok(order.into_iter().map(whole).collect());
            }
            Op::Position(which, _) => {
                let ahead = if *which == Position::Largest { Ordering::Greater } else { Ordering::Less };
                let mut best = 0;
                for k in 1..x.len() {
                    best = if self.order(&x[k], &x[best])? == ahead { k } else { best };
                }
                whole(best)
            }
            Op::Gather { of, scatter, .. } => {
                let (lane, places) = x.split_at(if *scatter { x.len() / 2 } else { *of });
                let mut cells = vec![Number::zero(); if *scatter { *of } else { places.len() }];
                for (k, place) in places.iter().enumerate() {
                    let at = place.to_f64();
                    if !(at >= 0.0 && at < *of as f64) || self.order(place, &whole(at as usize))?.is_ne() {
                        return Err(Fault::Unsupported("a position that is none"));
                    }
                    match scatter {
                        true => cells[at as usize] = self.add(&cells[at as usize], &lane[k])?,
                        false => cells[k] = lane[at as usize].clone(),
                    }
                }
                return Ok(cells);
            }
            Op::Compare(how) => self.compare(*how, &x[0], &x[1])?,
            Op::Logic(Logic::And) => self.min(&x[0], &x[1])?,
            Op::Logic(Logic::Or) => self.max(&x[0], &x[1])?,
            Op::Logic(Logic::Not) => self.sub(&Number::one(), &x[0])?,
            Op::Kink(kink) => match kink {
                Kink::Relu => self.relu(&x[0])?,
                Kink::TimesRelu => self.mul(&x[0], &self.relu(&x[1])?)?,
                Kink::Abs => self.abs(&x[0])?,
                Kink::LeakyRelu(slope) => self.leaky_relu(&x[0], &rational(slope))?,
                Kink::Elu(scale) => self.elu(&x[0], &rational(scale))?,
                Kink::Max(_) => self.largest(x)?,
                Kink::Min(_) => {
                    let minus: Vec<Number> = x.iter().map(|x| self.neg(x)).collect();
                    self.neg(&self.largest(&minus)?)
                }
                Kink::OrderStatistic(_, k) => self.sort(x)?.swap_remove(*k),
                Kink::Sort(_) => return self.sort(x),
                Kink::Norm1(_) => self.total(&self.sizes(x)?)?,
                Kink::NormInf(_) => self.largest(&self.sizes(x)?)?,
                Kink::Norm2(_) => {
                    let squares = x.iter().map(|x| self.power(x, 2)).collect::<Result<Vec<_>, _>>()?;
                    self.sqrt(&self.total(&squares)?)?
                }
                Kink::MaxLinear { rows, .. } => {
                    let columns = x.len() / (rows + 1);
                    let (a, v) = x.split_at(rows * columns);
                    let mut entries = Vec::with_capacity(*rows);
                    for row in a.chunks(columns) {
                        let terms = row.iter().zip(v).map(|(a, v)| self.mul(a, v)).collect::<Result<Vec<_>, _>>()?;
                        entries.push(self.total(&terms)?);
                    }
                    self.largest(&entries)?
                }
            },
            Op::Joint(..) | Op::LogSumExpJoint(_) | Op::Permute { .. } => {
                return Err(Fault::Unsupported("an operation of derived programs"));
            }
            Op::Constant(_) | Op::View { .. } | Op::Assemble { .. } | Op::MatMul { .. } => {
                return Err(Fault::Unsupported("an operation on tensors where scalars are wanted"));
            }
            Op::Call(_) | Op::Select(_) | Op::Scan(_) => {
                return Err(Fault::Unsupported("a sub-program without its program"));
            }
        };
        Ok(vec![one])
    }

    fn stair(&self, s: Stair, x: &Number) -> Result<Number, Fault> {
        let near = x.to_f64();
        if near.abs() > 1e15 {
            return Err(Fault::Unsupported("a rounding of a large number"));
        }
        let integer = |k: f64| Number::Exact(RBig::try_from(k).unwrap_or_default());
        // the float may be on the other side of an integer
        let mut below = near.floor();
        while self.order(&integer(below), x)?.is_gt() {
            below -= 1.0;
        }
        while self.order(&integer(below + 1.0), x)?.is_le() {
            below += 1.0;
        }
        let is_whole = self.order(&integer(below), x)?.is_eq();
        Ok(integer(match s {
            Stair::Sign => match self.sign(x)? {
                Ordering::Less => -1.0,
                Ordering::Equal => 0.0,
                Ordering::Greater => 1.0,
            },
            Stair::Floor => below,
            Stair::Ceil if is_whole => below,
            Stair::Ceil => below + 1.0,
            Stair::Round => {
                let half = integer(2.0 * below + 1.0);
                match self.order(&self.add(x, x)?, &half)? {
                    Ordering::Less => below,
                    Ordering::Greater => below + 1.0,
                    Ordering::Equal if below.rem_euclid(2.0) == 0.0 => below,
                    Ordering::Equal => below + 1.0,
                }
            }
        }))
    }

    /// The places of numbers in ascending order, equal ones as they stand.
    fn positions(&self, x: &[Number]) -> Result<Vec<usize>, Fault> {
        let mut order: Vec<usize> = Vec::with_capacity(x.len());
        for k in 0..x.len() {
            let mut at = order.len();
            while at > 0 && self.order(&x[k], &x[order[at - 1]])?.is_lt() {
                at -= 1;
            }
            order.insert(at, k);
        }
        Ok(order)
    }

    fn compare(&self, how: Comparison, a: &Number, b: &Number) -> Result<Number, Fault> {
        Ok(if how.holds(self.order(a, b)?) { Number::one() } else { Number::zero() })
    }

    fn sizes(&self, x: &[Number]) -> Result<Vec<Number>, Fault> {
        x.iter().map(|x| self.abs(x)).collect()
    }

    fn total(&self, x: &[Number]) -> Result<Number, Fault> {
        x.iter().try_fold(Number::zero(), |sum, x| self.add(&sum, x))
    }

    fn largest(&self, x: &[Number]) -> Result<Number, Fault> {
        x[1..].iter().try_fold(x[0].clone(), |best, x| self.max(&best, x))
    }
}

/// An element of an argument; a constant is the same everywhere.
fn element(list: &[Number], i: usize) -> &Number {
    if list.len() == 1 { &list[0] } else { &list[i] }
}

/// Whether an operation takes its lane as an axis.
fn axis(op: &Op) -> bool {
    match op {
        Op::LogSumExp(lane) | Op::Position(_, lane) => *lane == Lane::Axis,
        Op::Kink(kink) => kink.lane() == Some(Lane::Axis),
        _ => false,
    }
}

/// A count as a number.
fn whole(k: usize) -> Number {
    Number::Exact(RBig::from(k))
}
