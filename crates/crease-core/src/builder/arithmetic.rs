//! Elementwise operations with the two courtesies that users expect: a scalar is spread over a tensor, and arithmetic on
//! constants alone is done at once, exactly, because constants are not part of a program's cost.

use super::{BuildError, Builder};
use crate::number::{Number, Rational};
use crate::op::{Comparison, Kink, Logic, Op, Smooth, Stair};
use crate::program::Atom;

/// Constants longer than this, together, are not computed with at once.
pub(crate) const MAX_FOLDED_BITS: usize = 1 << 16;

impl Builder {
    /// Applies an elementwise operation, spreading scalars over the shape of the tensors among the arguments.
    pub fn elementwise(&mut self, op: impl Into<Op>, args: &[Atom]) -> Result<Atom, BuildError> {
        let op = op.into();
        if let Some(folded) = self.fold(&op, args) {
            return Ok(self.constant(folded));
        }
        let args = self.spread(args)?;
        self.push1(op, &args)
    }

    /// The same arguments, every scalar value viewed in the shape of the tensors among them.
    pub(crate) fn spread(&mut self, args: &[Atom]) -> Result<Vec<Atom>, BuildError> {
        let shapes = args.iter().map(|&a| self.shape_of(a)).collect::<Result<Vec<_>, _>>()?;
        let tensor = shapes.into_iter().find(|s| !s.is_scalar());
        let Some(shape) = tensor else { return Ok(args.to_vec()) };
        args.iter()
            .map(|&a| match a {
                Atom::Value(v) if self.so_far().shape(v).is_scalar() => self.broadcast(a, &shape),
                _ => Ok(a),
            })
            .collect()
    }

    /// The exact result of rational arithmetic on constants; nothing where a value takes part or the result is no constant.
    fn fold(&self, op: &Op, args: &[Atom]) -> Option<Rational> {
        let c: Vec<&Rational> = args.iter().map(|&a| self.as_constant(a)).collect::<Option<_>>()?;
        // numbers that double their length with every operation stay operations
        if c.iter().map(|c| c.bits()).sum::<usize>() > MAX_FOLDED_BITS {
            return None;
        }
        match (op, &c[..]) {
            (Op::Add, [a, b]) => Some(*a + *b),
            (Op::Sub, [a, b]) => Some(*a - *b),
            (Op::Mul, [a, b]) => Some(*a * *b),
            (Op::Div, [a, b]) => a.div(b).ok(),
            (Op::Neg, [a]) => Some(-*a),
            (Op::Stair(s), [a]) => Some(s.at(a)),
            (Op::Smooth(f @ (Smooth::Inv | Smooth::Power(_))), [a]) => a.smooth(*f).ok(),
            _ => None,
        }
    }

    /// `a + b`.
    pub fn add(&mut self, a: Atom, b: Atom) -> Result<Atom, BuildError> {
        self.elementwise(Op::Add, &[a, b])
    }

    /// `a - b`.
    pub fn sub(&mut self, a: Atom, b: Atom) -> Result<Atom, BuildError> {
        self.elementwise(Op::Sub, &[a, b])
    }

    /// `a * b`, element by element.
    pub fn mul(&mut self, a: Atom, b: Atom) -> Result<Atom, BuildError> {
        self.elementwise(Op::Mul, &[a, b])
    }

    /// `a / b`, element by element.
    pub fn div(&mut self, a: Atom, b: Atom) -> Result<Atom, BuildError> {
        self.elementwise(Op::Div, &[a, b])
    }

    /// `-a`.
    pub fn neg(&mut self, a: Atom) -> Result<Atom, BuildError> {
        self.elementwise(Op::Neg, &[a])
    }

    /// `a ^ k`.
    pub fn power(&mut self, a: Atom, k: i32) -> Result<Atom, BuildError> {
        self.elementwise(Smooth::Power(k), &[a])
    }

    /// `a ^ (p / q)` for an exact exponent. One that is no integer has no value where a is negative; one of more than 32 bits
    /// is `exp(exponent * log(a))`, which has none at 0 either.
    ///
    /// ```
    /// use crease_core::{Builder, Rational, Shape};
    /// let mut b = Builder::new("f");
    /// let x = b.input("x", Shape::scalar())?;
    /// let y = b.power_of(x, &Rational::new(3, 2).unwrap())?;
    /// assert!(b.finish(&[y])?.to_string().contains("x ^ (3/2)"));
    /// # Ok::<(), crease_core::BuildError>(())
    /// ```
    pub fn power_of(&mut self, a: Atom, exponent: &Rational) -> Result<Atom, BuildError> {
        match Smooth::power_of(exponent) {
            Some(f) => self.elementwise(f, &[a]),
            None => {
                let exponent = self.constant(exponent.clone());
                self.pow(a, exponent)
            }
        }
    }

    /// `a ^ b` for positive a: `exp(b * log(a))`. A constant exponent is that of [`power_of`](Builder::power_of).
    pub fn pow(&mut self, a: Atom, b: Atom) -> Result<Atom, BuildError> {
        let log = self.elementwise(Smooth::Log, &[a])?;
        let product = self.mul(b, log)?;
        self.elementwise(Smooth::Exp, &[product])
    }

    /// `max(0, a)`.
    pub fn relu(&mut self, a: Atom) -> Result<Atom, BuildError> {
        self.elementwise(Op::Kink(Kink::Relu), &[a])
    }

    /// `|a|`.
    pub fn abs(&mut self, a: Atom) -> Result<Atom, BuildError> {
        self.elementwise(Op::Kink(Kink::Abs), &[a])
    }

    /// `a` where positive, else `slope * a`.
    pub fn leaky_relu(&mut self, a: Atom, slope: Rational) -> Result<Atom, BuildError> {
        self.elementwise(Op::Kink(Kink::LeakyRelu(slope)), &[a])
    }

    /// `a` where positive, else `scale * (exp(a) - 1)`.
    pub fn elu(&mut self, a: Atom, scale: Rational) -> Result<Atom, BuildError> {
        self.elementwise(Op::Kink(Kink::Elu(scale)), &[a])
    }

    /// `a * relu(b)`.
    pub fn times_relu(&mut self, a: Atom, b: Atom) -> Result<Atom, BuildError> {
        self.elementwise(Op::Kink(Kink::TimesRelu), &[a, b])
    }

    /// 1 where the comparison holds, else 0.
    pub fn compare(&mut self, how: Comparison, a: Atom, b: Atom) -> Result<Atom, BuildError> {
        self.elementwise(Op::Compare(how), &[a, b])
    }

    /// `a` where the condition, a truth value, is 1, else `b`, element by element. Both are computed, but what is not taken need not have a value.
    ///
    /// ```
    /// use crease_core::{Builder, Shape, Smooth, Tensor, op::Comparison, run};
    /// let mut b = Builder::new("f");
    /// let x = b.input("x", Shape::vector(2)?)?;
    /// let zero = b.constant(0);
    /// let positive = b.compare(Comparison::Greater, x, zero)?;
    /// let log = b.elementwise(Smooth::Log, &[x])?;
    /// let y = b.choose(positive, log, zero)?;
    /// let p = b.finish(&[y])?;
    /// assert_eq!(run(&p, &[Tensor::vector(vec![-1.0, 1.0]).unwrap()]).unwrap()[0].data(), [0.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn choose(&mut self, condition: Atom, a: Atom, b: Atom) -> Result<Atom, BuildError> {
        self.elementwise(Op::Where, &[condition, a, b])
    }

    /// The sign, or a number rounded one way or another, element by element.
    pub fn stair(&mut self, s: Stair, a: Atom) -> Result<Atom, BuildError> {
        self.elementwise(s, &[a])
    }

    /// Boolean combination of 0/1 values.
    pub fn logic(&mut self, how: Logic, args: &[Atom]) -> Result<Atom, BuildError> {
        self.elementwise(Op::Logic(how), args)
    }
}
