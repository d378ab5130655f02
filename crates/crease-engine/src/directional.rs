//! Directional derivatives at speed: right at kinks, too, for many directions at once.
//!
//! A program enters, a program leaves that computes its values and, for `s` directions given along a leading axis, the
//! one-sided directional derivatives. Smooth operations take their rules from `crease_core::differentiate`. A kink asks, where
//! it is tied, for the tangents: relu goes on with relu of the tangent, a maximum with the largest tangent among the members
//! that are tied, an order statistic with the tangent that has the wanted place among them. So at x = 0 of Theorem 3's function this is the function's value at the direction, at the price of the
//! same matrix products.
//!
//! Ties are those of floating point. Deliberately absent: sorting, the maximum of a matrix times a vector, and selections, whose
//! directional derivatives are the business of the local model in `crease_core::local`, which is exact.

use crate::error::EngineError;
use crease_core::differentiate::{How, jvp_batch};
use crease_core::op::{Choice, Comparison};
use crease_core::{
    Atom, BuildError, Builder, Equation, Kink, Lane, Layout, Op, Program, Rational, Shape, Smooth, Ties, inline,
};

/// The program of values and directional derivatives: the inputs are those of `p` and one tangent for each input in `wrt`,
/// with a leading axis of `directions`; the outputs are those of `p` and then the derivative of each.
///
/// ```
/// use crease_core::{run, trace, Tensor};
/// let p = trace(1, |x| crease_core::abs(x[0])).unwrap();
/// let d = crease_engine::directional_program(&p, &[0], 2).unwrap();
/// let out = run(&d, &[Tensor::scalar(0.0), Tensor::vector(vec![1.0, -2.0]).unwrap()]).unwrap();
/// assert_eq!(out[1].data(), [1.0, 2.0]);
/// ```
pub fn directional_program(p: &Program, wrt: &[usize], directions: usize) -> Result<Program, EngineError> {
    sweep(p, wrt, directions, false)
}

fn sweep(p: &Program, wrt: &[usize], directions: usize, locked: bool) -> Result<Program, EngineError> {
    let p = &inline(p)?;
    let mut b = Builder::new(format!("directional_{}", p.name()));
    let mut values: Vec<Atom> = Vec::with_capacity(p.values());
    for i in p.inputs() {
        values.push(b.input(i.name.clone(), i.shape.clone())?);
    }
    let mut tangents: Vec<Option<Atom>> = vec![None; values.len()];
    for &i in wrt {
        let Some(input) = p.inputs().get(i) else {
            return Err(EngineError::NoSuchInput { index: i, inputs: p.inputs().len() });
        };
        let mut name = format!("d{}", input.name);
        while p.inputs().iter().any(|i| *i.name == *name) {
            name.push('_');
        }
        let shape = input.shape.with_leading(directions).map_err(BuildError::from)?;
        tangents[i] = Some(b.input(name, shape)?);
    }
    let mut sweep = Sweep { b, s: directions, locked };
    for e in p.equations() {
        let args: Vec<Atom> = e.args.iter().map(|&a| sweep.atom(p, &values, a)).collect();
        let incoming: Vec<Option<Atom>> = e.args.iter().map(|a| a.value().and_then(|v| tangents[v.index()])).collect();
        let (results, outgoing) = sweep.equation(p, &e, &args, &incoming)?;
        values.extend(results);
        tangents.extend(outgoing);
    }
    let mut outputs: Vec<Atom> = p.outputs().iter().map(|&o| sweep.atom(p, &values, o)).collect();
    for &o in p.outputs() {
        let shape = p.atom_shape(o).with_leading(directions).map_err(BuildError::from)?;
        outputs.push(match o.value().and_then(|v| tangents[v.index()]) {
            Some(t) => t,
            None => sweep.b.zeros(shape)?,
        });
    }
    Ok(sweep.b.finish(&outputs)?)
}

/// The program in which every kink is decided by a direction: the inputs are those of `p` and one direction for each, and
/// every tie goes the way that the tangents along the direction say. Its gradient is a Clarke subgradient for almost every
/// direction, and so is that of what is compiled by [`clarke`](crate::clarke).
///
/// ```
/// use crease_core::{relu, run, trace, Tensor};
/// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
/// let l = crease_engine::locked_program(&p).unwrap();
/// assert_eq!(run(&l, &[Tensor::scalar(3.0), Tensor::vector(vec![1.0]).unwrap()]).unwrap()[0].data(), [3.0]);
/// ```
pub fn locked_program(p: &Program) -> Result<Program, EngineError> {
    let wrt: Vec<usize> = (0..p.inputs().len()).collect();
    let all = sweep(p, &wrt, 1, true)?;
    let values: Vec<usize> = (0..p.outputs().len()).collect();
    Ok(all.with_outputs(&values).ok_or(BuildError::NoOutput)?)
}

type Swept = (Vec<Atom>, Vec<Option<Atom>>);

struct Sweep {
    b: Builder,
    s: usize,
    /// Kinks become products with the slope that the one direction selects.
    locked: bool,
}

impl Sweep {
    fn atom(&mut self, p: &Program, values: &[Atom], a: Atom) -> Atom {
        match a {
            Atom::Value(v) => values[v.index()],
            Atom::Const(c) => self.b.constant(p.constant(c).clone()),
        }
    }

    /// The shape of a tangent.
    fn lead(&self, shape: &Shape) -> Result<Shape, EngineError> {
        Ok(shape.with_leading(self.s).map_err(BuildError::from)?)
    }

    /// A value repeated for all directions.
    fn spread(&mut self, a: Atom) -> Result<Atom, EngineError> {
        if a.value().is_none() {
            return Ok(a);
        }
        let shape = self.lead(&self.b.shape(a))?;
        Ok(self.b.broadcast(a, &shape)?)
    }

    fn equation(
        &mut self,
        p: &Program,
        e: &Equation<'_>,
        args: &[Atom],
        incoming: &[Option<Atom>],
    ) -> Result<Swept, EngineError> {
        let absent = || EngineError::NoDirectional { op: e.op.to_string() };
        let flat = matches!(e.op, Op::Compare(_) | Op::Logic(_) | Op::Constant(_));
        if flat || incoming.iter().all(Option::is_none) {
            if !e.op.callees().is_empty() {
                return Err(absent());
            }
            let results = self.b.push(e.op.clone(), args)?;
            let none = vec![None; results.len()];
            return Ok((results, none));
        }
        match e.op {
            Op::View { layout, shape } => {
                let y = self.b.push1(e.op.clone(), args)?;
                let source = self.b.shape(args[0]).len();
                let to = self.lead(shape)?;
                let t = incoming[0].ok_or_else(absent)?;
                let t = self.b.view(t, layout.batched(self.s, source), to)?;
                Ok((vec![y], vec![Some(t)]))
            }
            Op::Assemble { shape, pieces } => {
                let y = self.b.push1(e.op.clone(), args)?;
                let parts = incoming.iter().zip(pieces);
                let parts = parts.filter_map(|(t, l)| Some(((*t)?, l.batched(self.s, shape.len())))).collect();
                let to = self.lead(shape)?;
                let t = self.b.assemble(to, parts)?;
                Ok((vec![y], vec![Some(t)]))
            }
            Op::MatMul { .. } => {
                let y = self.b.push1(e.op.clone(), args)?;
                let mut sum: Option<Atom> = None;
                for (k, t) in incoming.iter().enumerate() {
                    let Some(t) = *t else { continue };
                    let other = self.spread(args[1 - k])?;
                    let both = if k == 0 { [t, other] } else { [other, t] };
                    let term = self.b.push1(e.op.clone(), &both)?;
                    sum = Some(match sum {
                        None => term,
                        Some(s) => self.b.add(s, term)?,
                    });
                }
                Ok((vec![y], vec![sum]))
            }
            Op::Kink(kink) => self.kink(kink, args, incoming, absent),
            Op::Joint(..) | Op::Permute { .. } | Op::Call(_) | Op::Select(_) => Err(absent()),
            op => self.smooth(p, e, op, args, incoming),
        }
    }

    /// By the rule of a program that has this operation alone.
    fn smooth(
        &mut self,
        p: &Program,
        e: &Equation<'_>,
        op: &Op,
        args: &[Atom],
        incoming: &[Option<Atom>],
    ) -> Result<Swept, EngineError> {
        let mut one = Builder::new("one");
        let mut inner = Vec::new();
        let (mut given, mut tangents) = (Vec::new(), Vec::new());
        let zero = self.b.constant(Rational::ZERO);
        for (k, &a) in e.args.iter().enumerate() {
            match p.as_constant(a) {
                Some(c) => inner.push(one.constant(c.clone())),
                None => {
                    inner.push(one.input(format!("x{k}"), self.b.shape(args[k]))?);
                    given.push(args[k]);
                    tangents.push(incoming[k].unwrap_or(zero));
                }
            }
        }
        let results = one.push(op.clone(), &inner)?;
        let derived = jvp_batch(&one.finish(&results)?, &How::default(), self.s)?;
        given.extend(tangents);
        let mut all = self.b.splice(&derived, &given)?;
        let derivatives = all.split_off(results.len());
        Ok((all, derivatives.into_iter().map(Some).collect()))
    }

    fn kink(
        &mut self,
        kink: &Kink,
        args: &[Atom],
        incoming: &[Option<Atom>],
        absent: impl Fn() -> EngineError,
    ) -> Result<Swept, EngineError> {
        match kink {
            Kink::Relu => self.hinge(kink, args[0], incoming[0].ok_or_else(absent)?, Rational::ZERO),
            Kink::Abs => self.hinge(kink, args[0], incoming[0].ok_or_else(absent)?, Rational::from(-1)),
            Kink::LeakyRelu(s) | Kink::Elu(s) => self.hinge(kink, args[0], incoming[0].ok_or_else(absent)?, s.clone()),
            Kink::TimesRelu => {
                let (r, dr) = match incoming[1] {
                    Some(t) => {
                        let (values, t) = self.hinge(&Kink::Relu, args[1], t, Rational::ZERO)?;
                        (values[0], t[0])
                    }
                    None => (self.b.relu(args[1])?, None),
                };
                let y = self.b.mul(args[0], r)?;
                let mut sum: Option<Atom> = None;
                for (other, t) in [(r, incoming[0]), (args[0], dr)] {
                    let Some(t) = t else { continue };
                    let other = self.spread(other)?;
                    let term = self.b.mul(t, other)?;
                    sum = Some(match sum {
                        None => term,
                        Some(s) => self.b.add(s, term)?,
                    });
                }
                Ok((vec![y], vec![sum]))
            }
            Kink::Max(lane) | Kink::Min(lane) => {
                let (x, t) = self.stacked(*lane, args, incoming)?;
                let rank = if matches!(kink, Kink::Min(_)) { Kink::Min(Lane::Axis) } else { Kink::Max(Lane::Axis) };
                self.ranked(&rank, x, t)
            }
            Kink::OrderStatistic(lane, k) => {
                let (x, t) = self.stacked(*lane, args, incoming)?;
                self.ranked(&Kink::OrderStatistic(Lane::Axis, *k), x, t)
            }
            Kink::Norm1(lane) => {
                let (x, t) = self.stacked(*lane, args, incoming)?;
                let (sizes, t) = self.hinge(&Kink::Abs, x, t, Rational::from(-1))?;
                let rank = self.b.shape(x).rank();
                let y = self.b.sum(sizes[0], &[rank - 1])?;
                let t = match t[0] {
                    Some(t) => Some(self.b.sum(t, &[rank])?),
                    None => None,
                };
                Ok((vec![y], vec![t]))
            }
            Kink::NormInf(lane) => {
                let (x, t) = self.stacked(*lane, args, incoming)?;
                let (sizes, t) = self.hinge(&Kink::Abs, x, t, Rational::from(-1))?;
                self.ranked(&Kink::Max(Lane::Axis), sizes[0], t[0].ok_or_else(absent)?)
            }
            Kink::Sort(_) | Kink::MaxLinear { .. } => Err(absent()),
        }
    }

    /// A function of one variable with slope 1 right of zero: its own slope off zero, at zero that of the tangent's side.
    fn hinge(&mut self, kink: &Kink, x: Atom, t: Atom, left: Rational) -> Result<Swept, EngineError> {
        if self.locked {
            return self.locked_hinge(kink, x, t, left);
        }
        // at zero the joint operation gives slope 0, so the two parts add up
        let choice = Choice { at_kink: Rational::ZERO, ties: Ties::First };
        let both = self.b.push(Op::Joint(kink.clone(), choice), &[x])?;
        let slope = self.spread(both[1])?;
        let off = self.b.mul(t, slope)?;
        let zero = self.b.constant(Rational::ZERO);
        let tied = self.b.push1(Op::Compare(Comparison::Equal), &[x, zero])?;
        let tied = self.spread(tied)?;
        let mut at = self.b.relu(t)?;
        if !left.is_zero() {
            let minus = self.b.neg(t)?;
            let down = self.b.relu(minus)?;
            let left = self.b.constant(left);
            let down = self.b.mul(down, left)?;
            at = self.b.sub(at, down)?;
        }
        let at = self.b.mul(tied, at)?;
        let t = self.b.add(off, at)?;
        Ok((vec![both[0]], vec![Some(t)]))
    }

    /// The number times the slope on its side of zero, at zero on the side to which its tangent points. Left of zero ELU adds
    /// its own curve, which is 0 for all else.
    fn locked_hinge(&mut self, kink: &Kink, x: Atom, t: Atom, left: Rational) -> Result<Swept, EngineError> {
        let zero = self.b.constant(Rational::ZERO);
        let shape = self.b.shape(x);
        let along = self.b.reshape(t, &shape)?;
        let above = self.b.push1(Op::Compare(Comparison::Greater), &[x, zero])?;
        let tied = self.b.push1(Op::Compare(Comparison::Equal), &[x, zero])?;
        let up = self.b.push1(Op::Compare(Comparison::Greater), &[along, zero])?;
        let here = self.b.mul(tied, up)?;
        let mut slope = self.b.add(above, here)?;
        if let Kink::Elu(_) = kink {
            let (one, scale) = (self.b.constant(1), self.b.constant(left));
            let down = self.b.sub(one, slope)?;
            let x_down = self.b.mul(x, down)?;
            let e = self.b.push1(Smooth::Exp, &[x_down])?;
            let e = self.b.mul(scale, e)?;
            let curve = self.b.sub(e, scale)?;
            let straight = self.b.mul(x, slope)?;
            let y = self.b.add(straight, curve)?;
            let bent = self.b.mul(e, down)?;
            let slope = self.b.add(slope, bent)?;
            let all = self.spread(slope)?;
            let t = self.b.mul(t, all)?;
            return Ok((vec![y], vec![Some(t)]));
        }
        if !left.is_zero() {
            // one of the two is 0, so that nothing is rounded
            let (one, left) = (self.b.constant(1), self.b.constant(left));
            let down = self.b.sub(one, slope)?;
            let down = self.b.mul(down, left)?;
            slope = self.b.add(slope, down)?;
        }
        let y = self.b.mul(x, slope)?;
        let all = self.spread(slope)?;
        let t = self.b.mul(t, all)?;
        Ok((vec![y], vec![Some(t)]))
    }

    /// Lanes along the last axis, values and tangents.
    fn stacked(&mut self, lane: Lane, args: &[Atom], incoming: &[Option<Atom>]) -> Result<(Atom, Atom), EngineError> {
        if lane == Lane::Axis {
            let t = incoming[0].ok_or(EngineError::NoDirectional { op: "max".into() })?;
            return Ok((args[0], t));
        }
        let shape = args.iter().map(|&a| self.b.shape(a)).find(|s| !s.is_scalar()).unwrap_or_default();
        let n = args.len();
        let with_lane = |shape: &Shape| Shape::new([shape.dims(), &[n]].concat()).map_err(BuildError::from);
        let place = |i: usize, len: usize| Layout::strided(i, &[(len, n as isize)]);
        let pieces = args.iter().enumerate().map(|(i, &a)| (a, place(i, shape.len()))).collect();
        let x = self.b.assemble(with_lane(&shape)?, pieces)?;
        let lead = self.lead(&shape)?;
        let pieces = incoming.iter().enumerate().filter_map(|(i, t)| Some(((*t)?, place(i, lead.len())))).collect();
        let t = self.b.assemble(with_lane(&lead)?, pieces)?;
        Ok((x, t))
    }

    /// The largest, smallest or k-th number of a lane. Its tangent is, of the tangents of tied members, the largest, the smallest,
    /// or that which comes k-th if all members below go before and all above go behind.
    fn ranked(&mut self, rank: &Kink, x: Atom, t: Atom) -> Result<Swept, EngineError> {
        let y = self.b.push1(Op::Kink(rank.clone()), &[x])?;
        let (xs, ts) = (self.b.shape(x), self.b.shape(t));
        let repeated = |b: &mut Builder, v: Atom, shape: &Shape| {
            let n = shape.dims().last().copied().unwrap_or(1);
            b.view(v, Layout::strided(0, &[(shape.len() / n, 1), (n, 0)]), shape.clone())
        };
        let y_all = repeated(&mut self.b, y, &xs)?;
        let tied = self.b.push1(Op::Compare(Comparison::Equal), &[x, y_all])?;
        let tied = self.spread(tied)?;
        let mut entered = self.b.mul(tied, t)?;
        // members that are not tied stand aside with a tangent before which there is no other, or after which
        let below = (Comparison::Less, Kink::Min(Lane::Axis));
        let above = (Comparison::Greater, Kink::Max(Lane::Axis));
        let asides = match rank {
            Kink::Max(_) => vec![below],
            Kink::Min(_) => vec![above],
            _ => vec![below, above],
        };
        for (comparison, end) in asides {
            let there = self.b.push1(Op::Compare(comparison), &[x, y_all])?;
            let there = self.spread(there)?;
            let aside = self.b.push1(Op::Kink(end), &[t])?;
            let aside = repeated(&mut self.b, aside, &ts)?;
            let aside = self.b.mul(there, aside)?;
            entered = self.b.add(entered, aside)?;
        }
        let t_best = self.b.push1(Op::Kink(rank.clone()), &[entered])?;
        if self.locked {
            // the first of the tied members that move on so takes it all; which they are is a matter of comparisons, whatever
            // the size of the tangents
            let best = repeated(&mut self.b, t_best, &ts)?;
            let so = self.b.push1(Op::Compare(Comparison::Equal), &[t, best])?;
            let winners = self.b.mul(tied, so)?;
            let choice = Choice { at_kink: Rational::ZERO, ties: Ties::First };
            let first = self.b.push(Op::Joint(Kink::Max(Lane::Axis), choice), &[winners])?;
            let weights = self.b.reshape(first[1], &xs)?;
            let chosen = self.b.mul(x, weights)?;
            let y = self.b.sum(chosen, &[xs.rank() - 1])?;
            return Ok((vec![y], vec![Some(t_best)]));
        }
        Ok((vec![y], vec![Some(t_best)]))
    }
}
