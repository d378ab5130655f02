//! Lowering: rewriting a program into a smaller dictionary.
//!
//! max(a, b) = relu(a - b) + b, min(a, b) = a - relu(a - b), |a| = relu(a) + relu(-a); order statistics and sorting by exchanges
//! of neighbours; a - b = a + (-1) b and a / b = a inv(b) where there is no `-` or `/`. The function stays the same. The
//! conservative gradient of the lowered program may be larger at kinks: that is a fact about programs, not a fault.
//!
//! D0 has no constants, so 0 is never added: max(a, 0) = relu(a), min(a, 0) = a - relu(a). Several constants of one maximum or
//! minimum are one, and the ReLU of a constant is a constant.

use super::{Dictionary, Outsider, outside};
use crate::builder::{BuildError, Builder};
use crate::flow::Made;
use crate::number::Rational;
use crate::op::{Kink, Lane, Op, Smooth};
use crate::program::{Atom, Program};
use crate::shape::{Layout, Shape};

/// Why a program cannot be lowered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LowerError {
    /// An operation that the dictionary cannot express.
    #[error("{outsider} cannot be expressed in {dictionary}")]
    Outside {
        /// The operation.
        outsider: Box<Outsider>,
        /// The dictionary.
        dictionary: Dictionary,
    },
    /// The lowered program could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// The same function as a program over a smaller dictionary.
///
/// ```
/// use crease_core::{dictionary::{lower, outside, Dictionary}, abs, max, trace};
/// let p = trace(2, |x| max(&[abs(x[0]), x[1]])).unwrap();
/// let q = lower(&p, Dictionary::D0).unwrap();
/// assert!(outside(&q, Dictionary::D0).is_empty());
/// assert_eq!(q.to_string(), "program f(x0, x1) {
///   let v2 = -x0
///   let v3 = relu(x0)
///   let v4 = relu(v2)
///   let v5 = v3 + v4
///   let v6 = v5 - x1
///   let v7 = relu(v6)
///   let v8 = v7 + x1
///   return v8
/// }
/// ");
/// ```
pub fn lower(p: &Program, dictionary: Dictionary) -> Result<Program, LowerError> {
    let (lowered, ()) = p.mapped(|q, made| lower_one(q, dictionary, made).map(|q| (q, ())))?;
    match outside(&lowered, dictionary).into_iter().next() {
        Some(outsider) => Err(LowerError::Outside { outsider: outsider.into(), dictionary }),
        None => Ok(lowered),
    }
}

fn lower_one(p: &Program, dictionary: Dictionary, made: &Made) -> Result<Program, BuildError> {
    let mut b = Builder::new(p.name());
    let mut map = b.inputs_of(p)?;
    for e in p.equations() {
        b.set_origin(e.origin());
        let args = b.translate_all(p, &map, e.args);
        let results = match e.op {
            Op::Call(_) | Op::Select(_) | Op::Scan(_) => {
                let op = made.op_alone(&mut b, p, e.op)?;
                b.push(op, &args)?
            }
            op => Lowering { b: &mut b, dictionary }.op(op, &args)?,
        };
        map.extend(results);
    }
    b.set_origin(None);
    let outputs = b.translate_all(p, &map, p.outputs());
    b.finish(&outputs)
}

struct Lowering<'b> {
    b: &'b mut Builder,
    dictionary: Dictionary,
}

impl Lowering<'_> {
    /// Whether to write `a - b` as it is.
    fn keeps_minus(&self) -> bool {
        matches!(self.dictionary, Dictionary::D0 | Dictionary::Extended)
    }

    fn neg(&mut self, a: Atom) -> Result<Atom, BuildError> {
        if self.keeps_minus() {
            return self.b.neg(a);
        }
        let minus = self.b.constant(-1);
        self.b.mul(minus, a)
    }

    fn is_zero(&self, a: Atom) -> bool {
        self.b.as_constant(a).is_some_and(Rational::is_zero)
    }

    fn add(&mut self, a: Atom, b: Atom) -> Result<Atom, BuildError> {
        match (self.is_zero(a), self.is_zero(b)) {
            (_, true) => Ok(a),
            (true, _) => Ok(b),
            _ => self.b.add(a, b),
        }
    }

    fn sub(&mut self, a: Atom, b: Atom) -> Result<Atom, BuildError> {
        if let Some(c) = self.b.as_constant(b).cloned() {
            let c = self.b.constant(-&c);
            return self.add(a, c);
        }
        if self.keeps_minus() && !self.is_zero(a) {
            return self.b.sub(a, b);
        }
        let minus = self.neg(b)?;
        self.add(a, minus)
    }

    fn relu(&mut self, a: Atom) -> Result<Atom, BuildError> {
        match self.b.as_constant(a) {
            Some(c) if c.is_positive() => Ok(a),
            Some(_) => Ok(self.b.constant(0)),
            None => self.b.relu(a),
        }
    }

    fn abs(&mut self, a: Atom) -> Result<Atom, BuildError> {
        let minus = self.neg(a)?;
        let (up, down) = (self.relu(a)?, self.relu(minus)?);
        self.add(up, down)
    }

    fn max(&mut self, a: Atom, b: Atom) -> Result<Atom, BuildError> {
        if self.is_zero(a) {
            return self.relu(b);
        }
        let difference = self.sub(a, b)?;
        let over = self.relu(difference)?;
        self.add(over, b)
    }

    fn min(&mut self, a: Atom, b: Atom) -> Result<Atom, BuildError> {
        let difference = self.sub(a, b)?;
        let over = self.relu(difference)?;
        self.sub(a, over)
    }

    /// The members with one constant in place of all, the one that `better` prefers, where the first of them was.
    fn one_constant(&self, members: &[Atom], better: fn(&Rational, &Rational) -> bool) -> Vec<Atom> {
        let mut kept: Vec<Atom> = Vec::with_capacity(members.len());
        let mut best: Option<(usize, &Rational)> = None;
        for &a in members {
            match (self.b.as_constant(a), best) {
                (Some(c), Some((place, before))) => {
                    if better(c, before) {
                        kept[place] = a;
                        best = Some((place, c));
                    }
                    continue;
                }
                (Some(c), None) => best = Some((kept.len(), c)),
                (None, _) => {}
            }
            kept.push(a);
        }
        kept
    }

    fn fold(
        &mut self,
        members: &[Atom],
        f: fn(&mut Self, Atom, Atom) -> Result<Atom, BuildError>,
    ) -> Result<Atom, BuildError> {
        let mut members = members.iter();
        let Some(&first) = members.next() else { return Ok(self.b.constant(0)) };
        members.try_fold(first, |sum, &x| f(self, sum, x))
    }

    /// The members of a lane, each in the shape that is left when the lane is gone.
    fn members(&mut self, lane: Lane, args: &[Atom]) -> Result<Vec<Atom>, BuildError> {
        if lane == Lane::Args {
            return Ok(args.to_vec());
        }
        let shape = self.b.shape(args[0]);
        let (rest, n) = shape.split_last().unwrap_or((Shape::scalar(), 1));
        (0..n).map(|k| self.b.view(args[0], Layout::strided(k, &[(rest.len(), n as isize)]), rest.clone())).collect()
    }

    fn sorted(&mut self, mut xs: Vec<Atom>) -> Result<Vec<Atom>, BuildError> {
        // every exchange is a minimum and a maximum, at most three operations each
        let exchanges = xs.len() as u128 * (xs.len() as u128).saturating_sub(1) / 2;
        self.b.room_for(6 * exchanges)?;
        for round in 0..xs.len() {
            for i in (round % 2..xs.len().saturating_sub(1)).step_by(2) {
                (xs[i], xs[i + 1]) = (self.min(xs[i], xs[i + 1])?, self.max(xs[i], xs[i + 1])?);
            }
        }
        Ok(xs)
    }

    fn op(&mut self, op: &Op, args: &[Atom]) -> Result<Vec<Atom>, BuildError> {
        if self.dictionary == Dictionary::Extended {
            return self.b.push(op.clone(), args);
        }
        let smooth = matches!(self.dictionary, Dictionary::Relu | Dictionary::ReluDerived);
        let kinked = self.dictionary != Dictionary::Polynomial;
        let one = match op {
            Op::Add => self.add(args[0], args[1])?,
            Op::Sub => self.sub(args[0], args[1])?,
            Op::Neg => self.neg(args[0])?,
            Op::Div => match self.b.as_constant(args[1]).and_then(Rational::inv) {
                Some(c) => {
                    let c = self.b.constant(c);
                    self.b.mul(args[0], c)?
                }
                None if smooth => {
                    let inverse = self.b.elementwise(Smooth::Inv, &args[1..])?;
                    if self.b.as_constant(args[0]).is_some_and(Rational::is_one) {
                        inverse
                    } else {
                        self.b.mul(args[0], inverse)?
                    }
                }
                None => return self.b.push(op.clone(), args),
            },
            Op::Smooth(Smooth::Power(k)) if *k > 0 => self.power(args[0], k.unsigned_abs())?,
            Op::Smooth(Smooth::Power(k)) if *k < 0 && smooth => {
                let power = self.power(args[0], k.unsigned_abs())?;
                self.b.elementwise(Smooth::Inv, &[power])?
            }
            Op::Smooth(Smooth::Sigmoid) if smooth => self.sigmoid(args[0])?,
            Op::Smooth(Smooth::Softplus) if smooth => {
                let power = self.b.elementwise(Smooth::Exp, &args[..1])?;
                let one = self.b.constant(1);
                let sum = self.b.add(power, one)?;
                self.b.elementwise(Smooth::Log, &[sum])?
            }
            Op::Smooth(f @ (Smooth::Sinh | Smooth::Cosh)) if smooth => {
                // (exp(a) - exp(-a)) / 2, and the sum
                let minus = self.neg(args[0])?;
                let up = self.b.elementwise(Smooth::Exp, &args[..1])?;
                let mut down = self.b.elementwise(Smooth::Exp, &[minus])?;
                if *f == Smooth::Sinh {
                    down = self.neg(down)?;
                }
                let (both, half) = (self.b.add(up, down)?, self.half());
                self.b.mul(half, both)?
            }
            Op::Smooth(Smooth::Log1p) if smooth => self.log_of_sum(args[0])?,
            Op::Smooth(Smooth::Expm1) if smooth => {
                let (power, minus) = (self.b.elementwise(Smooth::Exp, &args[..1])?, self.b.constant(-1));
                self.b.add(power, minus)?
            }
            Op::Smooth(Smooth::Atanh) if smooth => {
                // half the difference of log(1 + a) and log(1 - a)
                let minus = self.neg(args[0])?;
                let (up, down) = (self.log_of_sum(args[0])?, self.log_of_sum(minus)?);
                let down = self.neg(down)?;
                let (both, half) = (self.b.add(up, down)?, self.half());
                self.b.mul(half, both)?
            }
            Op::Smooth(Smooth::Tanh) if smooth => {
                // tanh(a) = 2 sigmoid(2 a) - 1
                let (two, minus) = (self.b.constant(2), self.b.constant(-1));
                let double = self.b.mul(two, args[0])?;
                let s = self.sigmoid(double)?;
                let s = self.b.mul(two, s)?;
                self.b.add(s, minus)?
            }
            Op::Kink(kink) if kinked => match self.kink(kink, args, smooth)? {
                Some(results) => return Ok(results),
                None => return self.b.push(op.clone(), args),
            },
            _ => return self.b.push(op.clone(), args),
        };
        Ok(vec![one])
    }

    fn half(&mut self) -> Atom {
        self.b.constant(Rational::new(1, 2).unwrap_or_default())
    }

    /// log(1 + a).
    fn log_of_sum(&mut self, a: Atom) -> Result<Atom, BuildError> {
        let one = self.b.constant(1);
        let sum = self.b.add(a, one)?;
        self.b.elementwise(Smooth::Log, &[sum])
    }

    fn power(&mut self, a: Atom, mut k: u32) -> Result<Atom, BuildError> {
        let mut square = a;
        let mut product: Option<Atom> = None;
        loop {
            if k & 1 == 1 {
                product = Some(match product {
                    None => square,
                    Some(p) => self.b.mul(p, square)?,
                });
            }
            k >>= 1;
            if k == 0 {
                return Ok(product.unwrap_or(a));
            }
            square = self.b.mul(square, square)?;
        }
    }

    /// inv(1 + exp(-a)).
    fn sigmoid(&mut self, a: Atom) -> Result<Atom, BuildError> {
        let minus = self.neg(a)?;
        let power = self.b.elementwise(Smooth::Exp, &[minus])?;
        let one = self.b.constant(1);
        let sum = self.b.add(power, one)?;
        self.b.elementwise(Smooth::Inv, &[sum])
    }

    /// A nonsmooth operation by ReLU; nothing if this dictionary has no way to say it.
    fn kink(&mut self, kink: &Kink, args: &[Atom], smooth: bool) -> Result<Option<Vec<Atom>>, BuildError> {
        let one = match kink {
            Kink::Relu => self.relu(args[0])?,
            Kink::Abs => self.abs(args[0])?,
            Kink::TimesRelu if smooth => {
                let r = self.relu(args[1])?;
                self.b.mul(args[0], r)?
            }
            Kink::LeakyRelu(slope) if smooth => {
                let (low, high) = (self.b.constant(slope.clone()), self.b.constant(&Rational::ONE - slope));
                let (line, r) = (self.b.mul(low, args[0])?, self.relu(args[0])?);
                let bend = self.b.mul(high, r)?;
                self.b.add(line, bend)?
            }
            Kink::Elu(scale) if smooth => {
                // relu(a) + scale (exp(-relu(-a)) - 1)
                let up = self.relu(args[0])?;
                let minus = self.neg(args[0])?;
                let down = self.relu(minus)?;
                let down = self.neg(down)?;
                let power = self.b.elementwise(Smooth::Exp, &[down])?;
                let (less, scale) = (self.b.constant(-1), self.b.constant(scale.clone()));
                let below = self.b.add(power, less)?;
                let below = self.b.mul(scale, below)?;
                self.b.add(up, below)?
            }
            Kink::Max(lane) => {
                let members = self.members(*lane, args)?;
                let members = self.one_constant(&members, |c, d| c > d);
                self.fold(&members, Self::max)?
            }
            Kink::Min(lane) => {
                let members = self.members(*lane, args)?;
                let members = self.one_constant(&members, |c, d| c < d);
                self.fold(&members, Self::min)?
            }
            Kink::Norm1(lane) | Kink::NormInf(lane) => {
                let members = self.members(*lane, args)?;
                let sizes = members.iter().map(|&x| self.abs(x)).collect::<Result<Vec<_>, _>>()?;
                self.fold(&sizes, if matches!(kink, Kink::Norm1(_)) { Self::add } else { Self::max })?
            }
            Kink::Norm2(lane) if smooth => {
                let members = self.members(*lane, args)?;
                let squares = members.iter().map(|&x| self.b.mul(x, x)).collect::<Result<Vec<_>, _>>()?;
                let sum = self.fold(&squares, Self::add)?;
                self.b.elementwise(Smooth::Sqrt, &[sum])?
            }
            Kink::OrderStatistic(lane, k) => {
                let members = self.members(*lane, args)?;
                self.sorted(members)?[*k]
            }
            Kink::Sort(lane) => {
                let members = self.members(*lane, args)?;
                let sorted = self.sorted(members)?;
                if *lane == Lane::Args {
                    return Ok(Some(sorted));
                }
                let shape = self.b.shape(args[0]);
                let n = sorted.len();
                let piece = |(k, &x): (usize, &Atom)| (x, Layout::strided(k, &[(shape.len() / n, n as isize)]));
                self.b.assemble(shape.clone(), sorted.iter().enumerate().map(piece).collect())?
            }
            Kink::MaxLinear { lane: Lane::Axis, .. } if smooth && args.iter().all(|a| a.value().is_some()) => {
                let products = self.b.matmul(args[0], args[1])?;
                let members = self.members(Lane::Axis, &[products])?;
                self.fold(&members, Self::max)?
            }
            Kink::MaxLinear { lane: Lane::Args, rows } if smooth => {
                let columns = args.len() / (rows + 1);
                let (matrix, x) = args.split_at(rows * columns);
                let mut products = Vec::new();
                for row in matrix.chunks(columns) {
                    let terms = row.iter().zip(x).map(|(&a, &x)| self.b.mul(a, x)).collect::<Result<Vec<_>, _>>()?;
                    products.push(self.fold(&terms, Self::add)?);
                }
                self.fold(&products, Self::max)?
            }
            Kink::TimesRelu | Kink::LeakyRelu(_) | Kink::Elu(_) | Kink::Norm2(_) | Kink::MaxLinear { .. } => {
                return Ok(None);
            }
        };
        Ok(Some(vec![one]))
    }
}
