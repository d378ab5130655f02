//! What kinks and comparisons do where they are tied: the tangents decide.
//!
//! A kink and the tangents of its arguments enter, value and tangents leave; a comparison enters, the truth value at the point and the truth
//! values a little further along each direction leave. In a locked sweep the value is written as a smooth function of the arguments whose
//! coefficients depend on comparisons alone, so that its gradient is that of the branch taken.

use super::DiffError;
use super::directional::{Companion, Sweep, Swept};
use super::linear::Dual;
use crate::builder::{BuildError, Builder};
use crate::number::Rational;
use crate::op::{Choice, Comparison, Kink, Lane, Logic, Op, Smooth, Takes, Ties};
use crate::program::Atom;
use crate::shape::{Layout, Shape};
use crate::{kinks_of_numbers, kinks_on_lanes};

/// A value, and its tangents.
type Pair = (Atom, Atom);

/// What a joint operation gives at a tie is not used, or the first will do.
const FIRST: Choice = Choice { at_kink: Rational::ZERO, ties: Ties::First };

impl Sweep {
    /// The order of two numbers a little further along: that of the numbers, and where they are equal that of the tangents.
    pub(super) fn compare(
        &mut self,
        how: Comparison,
        args: &[Atom],
        tangents: &[Option<Dual>],
    ) -> Result<Swept, DiffError> {
        let y = self.b.compare(how, args[0], args[1])?;
        if tangents.iter().all(Option::is_none) {
            return Ok((vec![y], vec![Companion::default()]));
        }
        let mut moves = [self.b.constant(Rational::ZERO); 2];
        for (slot, (t, &a)) in moves.iter_mut().zip(tangents.iter().zip(args)) {
            if let Some(t) = t {
                *slot = self.settle(*t, &self.b.shape(a))?;
            }
        }
        let later = self.b.compare(how, moves[0], moves[1])?;
        // what tells the numbers apart, whatever the tangents are
        let (apart, joined) = match how {
            Comparison::Less | Comparison::LessEqual => (Comparison::Less, Logic::Or),
            Comparison::Greater | Comparison::GreaterEqual => (Comparison::Greater, Logic::Or),
            Comparison::NotEqual => (Comparison::NotEqual, Logic::Or),
            Comparison::Equal => (Comparison::Equal, Logic::And),
        };
        let now = self.b.compare(apart, args[0], args[1])?;
        let now = self.spread(now)?;
        let later = match how {
            Comparison::Equal | Comparison::NotEqual => later,
            _ => {
                let tied = self.b.compare(Comparison::Equal, args[0], args[1])?;
                let tied = self.spread(tied)?;
                self.b.logic(Logic::And, &[tied, later])?
            }
        };
        let truth = self.b.logic(joined, &[now, later])?;
        Ok((vec![y], vec![Companion::turning(truth)]))
    }

    /// A Boolean operation, at the point and a little further along.
    pub(super) fn logic(&mut self, op: &Op, args: &[Atom], incoming: &[Companion]) -> Result<Swept, DiffError> {
        let y = self.b.push1(op.clone(), args)?;
        let turns: Vec<Option<Atom>> = incoming.iter().map(|c| c.truth).collect();
        if turns.iter().all(Option::is_none) {
            return Ok((vec![y], vec![Companion::default()]));
        }
        let mut truths = Vec::with_capacity(args.len());
        for (turn, &a) in turns.into_iter().zip(args) {
            truths.push(match turn {
                Some(truth) => truth,
                None => self.spread(a)?,
            });
        }
        let truth = self.b.push1(op.clone(), &truths)?;
        Ok((vec![y], vec![Companion::turning(truth)]))
    }

    /// An elementwise choice: its value by what holds at the point, or a little further along if that decides; its tangents by what holds there.
    pub(super) fn choice(&mut self, args: &[Atom], incoming: &[Companion]) -> Result<Swept, DiffError> {
        let later = match incoming[0].truth {
            Some(turned) => turned,
            None => self.spread(args[0])?,
        };
        let y = match (self.locked, incoming[0].truth) {
            (true, Some(turned)) => {
                let shape = self.b.shape(args[0]);
                let turned = self.b.reshape(turned, &shape)?;
                self.b.push1(Op::Where, &[turned, args[1], args[2]])?
            }
            _ => self.b.push1(Op::Where, args)?,
        };
        let shape = self.b.shape(y);
        let mut companion = Companion::default();
        if incoming[1..].iter().any(|c| c.tangent.is_some()) {
            let mut moves = [self.b.constant(Rational::ZERO); 2];
            for (slot, c) in moves.iter_mut().zip(&incoming[1..]) {
                if let Some(t) = c.tangent {
                    *slot = self.settle(t, &shape)?;
                }
            }
            companion.tangent = Some(Dual::positive(self.b.choose(later, moves[0], moves[1])?));
        }
        // of truth values, one is taken
        let fixed = |a: Atom| self.b.as_constant(a).is_some_and(|c| c.is_zero() || c.is_one());
        let turns = incoming.iter().any(|c| c.truth.is_some());
        if turns && args[1..].iter().zip(&incoming[1..]).all(|(a, c)| c.truth.is_some() || fixed(*a)) {
            let mut truths = [args[1], args[2]];
            for (slot, c) in truths.iter_mut().zip(&incoming[1..]) {
                *slot = c.truth.unwrap_or(*slot);
            }
            companion.truth = Some(self.b.choose(later, truths[0], truths[1])?);
        }
        Ok((vec![y], vec![companion]))
    }

    /// A kink, at least one of whose arguments moves. Lanes of a sort lie along an axis.
    pub(super) fn kink(&mut self, kink: &Kink, args: &[Atom], tangents: &[Option<Dual>]) -> Result<Swept, DiffError> {
        let mut moves = Vec::with_capacity(args.len());
        for (t, &a) in tangents.iter().zip(args) {
            moves.push(match t {
                Some(t) => Some(self.settle(*t, &self.b.shape(a))?),
                None => None,
            });
        }
        let (y, t) = match kink.takes() {
            Takes::Numbers if *kink == Kink::TimesRelu => self.times_relu(args, &moves)?,
            Takes::Numbers => {
                let t = self.moving(moves[0], args[0])?;
                self.hinge(kink, args[0], t)?
            }
            Takes::Lane(lane) | Takes::Order(lane) => {
                let (x, t) = self.stacked(lane, args, &moves)?;
                self.lanes(kink, x, t)?
            }
            Takes::Linear { lane, rows } => {
                let (x, t) = self.products(lane, rows, args, &moves)?;
                self.extreme(true, x, t)?
            }
        };
        Ok((vec![y], vec![Companion::moving(Some(Dual::positive(t)))]))
    }

    /// A kink on lanes along the last axis.
    fn lanes(&mut self, kink: &Kink, x: Atom, t: Atom) -> Result<Pair, DiffError> {
        match kink {
            Kink::Max(_) => self.extreme(true, x, t),
            Kink::Min(_) => self.extreme(false, x, t),
            Kink::Sort(_) => self.sorted(x, t),
            Kink::OrderStatistic(_, k) => {
                let (y, t) = self.sorted(x, t)?;
                Ok((self.member(y, *k)?, self.member(t, *k)?))
            }
            Kink::Norm1(_) => {
                let (sizes, t) = self.hinge(&Kink::Abs, x, t)?;
                let rank = self.b.shape(x).rank();
                Ok((self.b.sum(sizes, &[rank - 1])?, self.b.sum(t, &[rank])?))
            }
            Kink::NormInf(_) => {
                let (sizes, t) = self.hinge(&Kink::Abs, x, t)?;
                self.extreme(true, sizes, t)
            }
            Kink::Norm2(_) => self.norm2(x, t),
            kinks_of_numbers!() | Kink::MaxLinear { .. } => unreachable!("`{}` takes no lane of numbers", kink.name()),
        }
    }

    /// The Euclidean norm along the last axis. At 0 its derivative is the norm of the tangent. In a locked sweep it is written as what it is a
    /// little further along, less how long that step is: there it is smooth.
    fn norm2(&mut self, x: Atom, t: Atom) -> Result<Pair, DiffError> {
        let norm = Kink::Norm2(Lane::Axis);
        let both = self.b.push(Op::Joint(norm.clone(), FIRST), &[x])?;
        let step = self.b.push1(norm.clone(), &[t])?;
        let zero = self.b.constant(Rational::ZERO);
        let tied = self.b.compare(Comparison::Equal, both[0], zero)?;
        let tied_all = self.spread(tied)?;
        let shape = self.b.shape(x);
        // off 0 the weights of a step, at 0 its length: one of them is 0
        let weights = self.spread(both[1])?;
        let off = self.b.mul(weights, t)?;
        let off = self.b.sum(off, &[shape.rank()])?;
        let at = self.b.mul(tied_all, step)?;
        let moved = self.b.add(off, at)?;
        if !self.locked {
            return Ok((both[0], moved));
        }
        let along = self.b.reshape(t, &shape)?;
        let members = repeated(&mut self.b, tied, &shape)?;
        let further = self.b.mul(members, along)?;
        let further = self.b.add(x, further)?;
        let far = self.b.push1(norm, &[further])?;
        let rest = self.b.shape(tied);
        let step = self.b.reshape(step, &rest)?;
        let less = self.b.mul(tied, step)?;
        Ok((self.b.sub(far, less)?, moved))
    }

    /// The tangents of an argument, zeros if it has none.
    fn moving(&mut self, t: Option<Atom>, x: Atom) -> Result<Atom, DiffError> {
        match t {
            Some(t) => Ok(t),
            None => {
                let shape = self.lead(&self.b.shape(x))?;
                Ok(self.b.zeros(shape)?)
            }
        }
    }

    /// `a * relu(b)`.
    fn times_relu(&mut self, args: &[Atom], moves: &[Option<Atom>]) -> Result<Pair, DiffError> {
        let (r, dr) = match moves[1] {
            Some(t) => {
                let (r, t) = self.hinge(&Kink::Relu, args[1], t)?;
                (r, Some(t))
            }
            None => (self.b.relu(args[1])?, None),
        };
        let y = self.b.mul(args[0], r)?;
        let mut terms = Vec::new();
        for (other, t) in [(r, moves[0]), (args[0], dr)] {
            if let Some(t) = t {
                let other = self.spread(other)?;
                terms.push(self.b.mul(t, other)?);
            }
        }
        Ok((y, self.total(&terms, y)?))
    }

    /// The sum of tangents of a value.
    fn total(&mut self, terms: &[Atom], y: Atom) -> Result<Atom, DiffError> {
        match terms {
            [] => self.moving(None, y),
            [first, rest @ ..] => Ok(rest.iter().try_fold(*first, |sum, &t| self.b.add(sum, t))?),
        }
    }

    /// A function of one variable with slope 1 right of zero: its own slope off zero, at zero that of the tangent's side.
    fn hinge(&mut self, kink: &Kink, x: Atom, t: Atom) -> Result<Pair, DiffError> {
        let Ok(Some((_, left))) = kink.side(&Rational::ZERO, false) else {
            unreachable!("`{}` is a function of one number, with exact slopes at 0", kink.name())
        };
        if self.locked {
            return self.locked_hinge(kink, x, t, left);
        }
        // at zero the joint operation gives slope 0, so the two parts add up
        let both = self.b.push(Op::Joint(kink.clone(), FIRST), &[x])?;
        let slope = self.spread(both[1])?;
        let off = self.b.mul(t, slope)?;
        let zero = self.b.constant(Rational::ZERO);
        let tied = self.b.compare(Comparison::Equal, x, zero)?;
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
        Ok((both[0], self.b.add(off, at)?))
    }

    /// The number times the slope on its side of zero, at zero on the side to which its tangent points. Left of zero ELU adds
    /// its own curve, which is 0 for all else.
    fn locked_hinge(&mut self, kink: &Kink, x: Atom, t: Atom, left: Rational) -> Result<Pair, DiffError> {
        let zero = self.b.constant(Rational::ZERO);
        let shape = self.b.shape(x);
        let along = self.b.reshape(t, &shape)?;
        let above = self.b.compare(Comparison::Greater, x, zero)?;
        let tied = self.b.compare(Comparison::Equal, x, zero)?;
        let up = self.b.compare(Comparison::Greater, along, zero)?;
        let here = self.b.mul(tied, up)?;
        let mut slope = self.b.add(above, here)?;
        let y = match kink {
            Kink::Elu(_) => {
                let (one, scale) = (self.b.constant(1), self.b.constant(left));
                let down = self.b.sub(one, slope)?;
                let x_down = self.b.mul(x, down)?;
                let e = self.b.push1(Smooth::Exp, &[x_down])?;
                let e = self.b.mul(scale, e)?;
                let curve = self.b.sub(e, scale)?;
                let straight = self.b.mul(x, slope)?;
                let bent = self.b.mul(e, down)?;
                slope = self.b.add(slope, bent)?;
                self.b.add(straight, curve)?
            }
            Kink::Relu | Kink::Abs | Kink::LeakyRelu(_) => {
                if !left.is_zero() {
                    // one of the two is 0, so that nothing is rounded
                    let (one, left) = (self.b.constant(1), self.b.constant(left));
                    let down = self.b.sub(one, slope)?;
                    let down = self.b.mul(down, left)?;
                    slope = self.b.add(slope, down)?;
                }
                self.b.mul(x, slope)?
            }
            Kink::TimesRelu | kinks_on_lanes!() => unreachable!("`{}` is no function of one number", kink.name()),
        };
        let all = self.spread(slope)?;
        Ok((y, self.b.mul(t, all)?))
    }

    /// Lanes along the last axis, values and tangents.
    fn stacked(&mut self, lane: Lane, args: &[Atom], moves: &[Option<Atom>]) -> Result<Pair, DiffError> {
        if lane == Lane::Axis {
            return Ok((args[0], self.moving(moves[0], args[0])?));
        }
        let shape = args.iter().map(|&a| self.b.shape(a)).find(|s| !s.is_scalar()).unwrap_or_default();
        let n = args.len();
        let with_lane = |shape: &Shape| Shape::new([shape.dims(), &[n]].concat()).map_err(BuildError::from);
        let place = |i: usize, len: usize| Layout::strided(i, &[(len, n as isize)]);
        let pieces = args.iter().enumerate().map(|(i, &a)| (a, place(i, shape.len()))).collect();
        let x = self.b.assemble(with_lane(&shape)?, pieces)?;
        let lead = self.lead(&shape)?;
        let pieces = moves.iter().enumerate().filter_map(|(i, t)| Some(((*t)?, place(i, lead.len())))).collect();
        Ok((x, self.b.assemble(with_lane(&lead)?, pieces)?))
    }

    /// The rows of a matrix times a vector, and their tangents.
    fn products(&mut self, lane: Lane, rows: usize, args: &[Atom], moves: &[Option<Atom>]) -> Result<Pair, DiffError> {
        let columns = match lane {
            Lane::Args => args.len() / (rows + 1),
            // a constant stands for a vector or for a matrix, but not for both
            Lane::Axis => args.iter().filter_map(|a| self.b.shape(*a).dims().last().copied()).max().unwrap_or(1),
        };
        let shapes = [vec![rows, columns], vec![columns]].map(Shape::new);
        let [matrix, vector] = shapes;
        let (matrix, vector) = (matrix.map_err(BuildError::from)?, vector.map_err(BuildError::from)?);
        let ((a, da), (x, dx)) = match lane {
            Lane::Args => {
                let n = rows * columns;
                (self.gathered(&args[..n], &moves[..n], &matrix)?, self.gathered(&args[n..], &moves[n..], &vector)?)
            }
            Lane::Axis => {
                let a = self.b.broadcast(args[0], &matrix)?;
                let x = self.b.broadcast(args[1], &vector)?;
                ((a, moves[0]), (x, moves[1]))
            }
        };
        let products = self.b.matmul(a, x)?;
        let lead = self.lead(&self.b.shape(products))?;
        let mut terms = Vec::new();
        if let Some(dx) = dx {
            terms.push(self.b.push1(Op::MatMul { transpose_a: false, transpose_b: true }, &[dx, a])?);
        }
        if let Some(da) = da {
            let tall = Shape::new([self.s * rows, columns]).map_err(BuildError::from)?;
            let da = self.b.reshape(da, &tall)?;
            let product = self.b.matmul(da, x)?;
            terms.push(self.b.reshape(product, &lead)?);
        }
        Ok((products, self.total(&terms, products)?))
    }

    /// Scalars as a tensor, with their tangents if there are any.
    fn gathered(
        &mut self,
        args: &[Atom],
        moves: &[Option<Atom>],
        shape: &Shape,
    ) -> Result<(Atom, Option<Atom>), DiffError> {
        let n = shape.len();
        let pieces = args.iter().enumerate().map(|(i, &a)| (a, Layout::strided(i, &[]))).collect();
        let x = self.b.assemble(shape.clone(), pieces)?;
        let place = |i: usize| Layout::strided(i, &[(self.s, n as isize)]);
        let pieces: Vec<_> = moves.iter().enumerate().filter_map(|(i, t)| Some(((*t)?, place(i)))).collect();
        if pieces.is_empty() {
            return Ok((x, None));
        }
        let lead = self.lead(shape)?;
        Ok((x, Some(self.b.assemble(lead, pieces)?)))
    }

    /// The largest or smallest number of a lane. Its tangent is the largest or smallest of those of tied members.
    fn extreme(&mut self, largest: bool, x: Atom, t: Atom) -> Result<Pair, DiffError> {
        let (max, min) = (Op::Kink(Kink::Max(Lane::Axis)), Op::Kink(Kink::Min(Lane::Axis)));
        let (this, other) = if largest { (max, min) } else { (min, max) };
        let y = self.b.push1(this.clone(), &[x])?;
        let (xs, ts) = (self.b.shape(x), self.b.shape(t));
        let y_all = repeated(&mut self.b, y, &xs)?;
        let tied = self.b.compare(Comparison::Equal, x, y_all)?;
        let tied = self.spread(tied)?;
        // members that are not tied stand aside with a tangent that is ahead of no other
        let apart = self.b.compare(Comparison::NotEqual, x, y_all)?;
        let apart = self.spread(apart)?;
        let aside = self.b.push1(other, &[t])?;
        let aside = repeated(&mut self.b, aside, &ts)?;
        let aside = self.b.mul(apart, aside)?;
        let entered = self.b.mul(tied, t)?;
        let entered = self.b.add(entered, aside)?;
        let best = self.b.push1(this, &[entered])?;
        if !self.locked {
            return Ok((y, best));
        }
        // the first of the tied members that move on so takes it all; which they are is a matter of comparisons, whatever the size of
        // the tangents
        let all = repeated(&mut self.b, best, &ts)?;
        let so = self.b.compare(Comparison::Equal, t, all)?;
        let winners = self.b.mul(tied, so)?;
        let first = self.b.push(Op::Joint(Kink::Max(Lane::Axis), FIRST), &[winners])?;
        let weights = self.b.reshape(first[1], &xs)?;
        let chosen = self.b.mul(x, weights)?;
        Ok((self.b.sum(chosen, &[xs.rank() - 1])?, best))
    }

    /// A lane in ascending order. Its tangents are sorted by their numbers, and those of tied members among themselves: first all are sorted,
    /// then the numbers that come with them, and there equal ones keep their order.
    fn sorted(&mut self, x: Atom, t: Atom) -> Result<Pair, DiffError> {
        let sort = Op::Joint(Kink::Sort(Lane::Axis), FIRST);
        let permute = Op::Permute { lane: Lane::Axis, inverse: false };
        let by_tangents = self.b.push(sort.clone(), &[t])?;
        let numbers = self.spread(x)?;
        let numbers = self.b.push1(permute.clone(), &[numbers, by_tangents[1]])?;
        let by_numbers = self.b.push(sort, &[numbers])?;
        let t = self.b.push1(permute, &[by_tangents[0], by_numbers[1]])?;
        let y = match self.locked {
            true => {
                let shape = self.b.shape(x);
                self.b.reshape(by_numbers[0], &shape)?
            }
            false => self.b.push1(Op::Kink(Kink::Sort(Lane::Axis)), &[x])?,
        };
        Ok((y, t))
    }

    /// Member number `k` of each lane.
    fn member(&mut self, lanes: Atom, k: usize) -> Result<Atom, DiffError> {
        let (rest, n) = self.b.shape(lanes).split_last().unwrap_or_default();
        Ok(self.b.view(lanes, Layout::strided(k, &[(rest.len(), n as isize)]), rest)?)
    }
}

/// One number for each lane, repeated along lanes of that shape.
pub(super) fn repeated(b: &mut Builder, v: Atom, shape: &Shape) -> Result<Atom, BuildError> {
    let n = shape.dims().last().copied().unwrap_or(1);
    b.view(v, Layout::strided(0, &[(shape.len() / n, 1), (n, 0)]), shape.clone())
}
