//! From operators to equations: infix and prefix signs, powers, lists, and the folding and spreading that go with them.
//!
//! Arithmetic on numbers alone is done at once and exactly. Scalars are spread over tensors. Calls by name do the
//! second but not the first: `neg(2)` is an equation, `-2` is a number.

use super::error::TextError;
use super::machine::{Infix, Prefix};
use super::operand::{Kind, List, MAX_RANK, Operand, checked_shape, integer};
use super::parser::Parser;
use crease_core::op::Logic;
use crease_core::{Atom, BuildError, Builder, Op, Place, Rational, Shape, Smooth};

/// Numbers of more bits are not folded but left to the program: a long sum of fractions would take forever.
const FOLD_BITS: usize = 1 << 14;

impl Parser<'_> {
    /// `left sign right`.
    pub fn infix(&mut self, sign: Infix, left: Operand, right: Operand) -> Result<(), TextError> {
        let place = Place { start: left.start, end: right.end };
        if let (Kind::Number(a), Kind::Number(b)) = (&left.kind, &right.kind)
            && let Some(folded) = fold(sign, a, b)
        {
            self.push(Kind::Number(folded), place);
            return Ok(());
        }
        let args = [self.atom(left)?, self.atom(right)?];
        let op = match sign {
            Infix::Add => Op::Add,
            Infix::Sub => Op::Sub,
            Infix::Mul => Op::Mul,
            Infix::Div => Op::Div,
            Infix::Compare(comparison) => Op::Compare(comparison),
            Infix::And => Op::Logic(Logic::And),
            Infix::Or => Op::Logic(Logic::Or),
            Infix::MatMul => {
                let product = self.build(place, |b| b.matmul(args[0], args[1]))?;
                self.push(Kind::Value(product), place);
                return Ok(());
            }
        };
        let atom = self.elementwise(op, &args, place)?;
        self.push(Kind::Value(atom), place);
        Ok(())
    }

    /// `-x`, `not x`.
    pub fn prefix(&mut self, sign: Prefix, start: u32, x: Operand) -> Result<(), TextError> {
        let place = Place { start, end: x.end };
        let op = match (sign, &x.kind) {
            (Prefix::Neg, Kind::Number(number)) => {
                let negated = -number;
                self.push(Kind::Number(negated), place);
                return Ok(());
            }
            (Prefix::Neg, _) => Op::Neg,
            (Prefix::Not, _) => Op::Logic(Logic::Not),
        };
        let args = [self.atom(x)?];
        let atom = self.elementwise(op, &args, place)?;
        self.push(Kind::Value(atom), place);
        Ok(())
    }

    /// `base ^ exponent`: one operation if the exponent is a fraction of small integers, else by exponential and logarithm.
    pub fn power(&mut self, base: Operand, exponent: Operand) -> Result<(), TextError> {
        let place = Place { start: base.start, end: exponent.end };
        if let Kind::Number(k) = &exponent.kind {
            let f = Smooth::power_of(k);
            if f.is_none() && integer(k).is_some() {
                let message = "an exponent that is an integer must have at most 32 bits";
                return Err(TextError::new(message, exponent.place()));
            }
            if let (Kind::Number(number), Some(Smooth::Power(k))) = (&base.kind, f)
                && (number.bits() as u64).saturating_mul(u64::from(k.unsigned_abs())) <= FOLD_BITS as u64
                && let Some(folded) = number.pow(k)
            {
                self.push(Kind::Number(folded), place);
                return Ok(());
            }
            if let Some(f) = f {
                let args = [self.atom(base)?];
                let atom = self.elementwise(Op::Smooth(f), &args, place)?;
                self.push(Kind::Value(atom), place);
                return Ok(());
            }
        }
        let (base, exponent) = (self.atom(base)?, self.atom(exponent)?);
        let log = self.elementwise(Op::Smooth(Smooth::Log), &[base], place)?;
        let product = self.elementwise(Op::Mul, &[exponent, log], place)?;
        let atom = self.elementwise(Op::Smooth(Smooth::Exp), &[product], place)?;
        self.push(Kind::Value(atom), place);
        Ok(())
    }

    /// Puts an operand on the stack.
    pub fn push(&mut self, kind: Kind, place: Place) {
        self.operands.push(Operand { kind, start: place.start, end: place.end });
    }

    /// Adds an equation of one result, scalars spread over the tensors among the arguments.
    pub fn elementwise(&mut self, op: Op, args: &[Atom], place: Place) -> Result<Atom, TextError> {
        self.build(place, |b| match tensor_shape(b, args) {
            None => b.push1(op, args),
            Some(shape) => {
                let args = spread(b, args, &shape)?;
                b.push1(op, &args)
            }
        })
    }

    /// Adds an equation of any number of results, scalars spread over the tensors among the arguments.
    pub fn equation(&mut self, op: Op, args: &[Atom], place: Place) -> Result<Vec<Atom>, TextError> {
        self.build(place, |b| match tensor_shape(b, args) {
            None => b.push(op, args),
            Some(shape) => {
                let args = spread(b, args, &shape)?;
                b.push(op, &args)
            }
        })
    }

    /// `[a, b, c]`, the parts lying on the operand stack from `base` on.
    pub fn list(&mut self, base: usize, place: Place) -> Result<Kind, TextError> {
        let parts: Vec<Operand> = self.operands.drain(base..).collect();
        if parts.iter().all(|p| matches!(p.kind, Kind::Number(_))) {
            let number = |p: Operand| match p.kind {
                Kind::Number(number) => Some(number),
                _ => None,
            };
            let data: Vec<Rational> = parts.into_iter().filter_map(number).collect();
            return Ok(Kind::List(Box::new(List { dims: vec![data.len()], data })));
        }
        if parts.iter().all(|p| matches!(p.kind, Kind::List(_))) {
            return self.list_of_lists(parts, place);
        }
        let places: Vec<Place> = parts.iter().map(Operand::place).collect();
        let atoms = parts.into_iter().map(|p| self.atom(p)).collect::<Result<Vec<_>, _>>()?;
        let shape = self.builder.shape(atoms[0]);
        for (&atom, &at) in atoms.iter().zip(&places) {
            let other = self.builder.shape(atom);
            if other != shape {
                return Err(uneven(&shape, &other, at));
            }
        }
        if shape.rank() >= MAX_RANK {
            return Err(TextError::new(format!("a list can be nested {MAX_RANK} deep"), place));
        }
        let whole = self.build(place, |b| {
            if shape.is_scalar() {
                return b.concat(&atoms, 0);
            }
            let row = shape.with_leading(1)?;
            let rows = atoms.iter().map(|&a| b.reshape(a, &row)).collect::<Result<Vec<_>, _>>()?;
            b.concat(&rows, 0)
        })?;
        Ok(Kind::Value(whole))
    }

    fn list_of_lists(&mut self, parts: Vec<Operand>, place: Place) -> Result<Kind, TextError> {
        let mut whole = List { dims: Vec::new(), data: Vec::new() };
        let n = parts.len();
        for part in parts {
            let at = part.place();
            let Kind::List(mut inner) = part.kind else { continue };
            if inner.data.is_empty() {
                return Err(TextError::new("an empty list has no shape", at));
            }
            if whole.dims.is_empty() {
                whole.dims.push(n);
                whole.dims.append(&mut inner.dims);
                whole.data = inner.data;
            } else if whole.dims[1..] == inner.dims {
                whole.data.append(&mut inner.data);
            } else {
                let show = |dims: &[usize]| Shape::new(dims).unwrap_or_default();
                return Err(uneven(&show(&whole.dims[1..]), &show(&inner.dims), at));
            }
        }
        if whole.dims.len() > MAX_RANK {
            return Err(TextError::new(format!("a list can be nested {MAX_RANK} deep"), place));
        }
        Ok(Kind::List(Box::new(whole)))
    }

    /// A list of numbers as a value: a constant tensor if doubles can hold it, else put together from its numbers.
    pub fn tensor(&mut self, list: List, place: Place) -> Result<Atom, TextError> {
        if list.data.is_empty() {
            return Err(TextError::new("an empty list has no shape", place));
        }
        let shape = checked_shape(list.dims, place)?;
        self.build(place, |b| b.exact_tensor(shape, list.data))
    }
}

/// The double that a number is, if it is one.
pub(crate) fn double(number: &Rational) -> Option<f64> {
    let nearest = number.to_f64();
    (Rational::from_f64(nearest).as_ref() == Some(number)).then_some(nearest)
}

/// The shape of the first argument that is not a scalar.
fn tensor_shape(builder: &Builder, args: &[Atom]) -> Option<Shape> {
    args.iter().map(|&a| builder.shape(a)).find(|s| !s.is_scalar())
}

/// The same arguments, every scalar value repeated over a shape. Constants are spread by whatever they are given to.
fn spread(builder: &mut Builder, args: &[Atom], shape: &Shape) -> Result<Vec<Atom>, BuildError> {
    args.iter()
        .map(|&a| match a {
            Atom::Value(_) if builder.shape(a).is_scalar() => builder.broadcast(a, shape),
            _ => Ok(a),
        })
        .collect()
}

fn fold(sign: Infix, a: &Rational, b: &Rational) -> Option<Rational> {
    // a quotient of whole numbers is how a fraction is written, and no longer than its text
    let fraction = sign == Infix::Div && a.is_integer() && b.is_integer();
    if !fraction && (a.bits() > FOLD_BITS || b.bits() > FOLD_BITS) {
        return None;
    }
    match sign {
        Infix::Add => Some(a + b),
        Infix::Sub => Some(a - b),
        Infix::Mul => Some(a * b),
        Infix::Div => a.checked_div(b),
        Infix::Or | Infix::And | Infix::Compare(_) | Infix::MatMul => None,
    }
}

fn uneven(first: &Shape, other: &Shape, place: Place) -> TextError {
    let show = |s: &Shape| if s.is_scalar() { "a number".to_string() } else { format!("shape {s}") };
    TextError::new(
        format!("the parts of a list must be alike, but the first is {} and this one {}", show(first), show(other)),
        place,
    )
}
