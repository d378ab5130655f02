//! Functions that have a name and are made of others: activations of networks, and the angle of a point.
//!
//! Each is the composition that a user would write, in the form that loses the fewest digits. At their kinks the preset `torch` picks what
//! PyTorch picks.

use super::{BuildError, Builder};
use crate::number::Rational;
use crate::op::{Comparison, Smooth};
use crate::program::Atom;

impl Builder {
    fn times(&mut self, p: i64, q: i64, a: Atom) -> Result<Atom, BuildError> {
        let c = self.fraction(p, q);
        self.mul(c, a)
    }

    fn fraction(&mut self, p: i64, q: i64) -> Atom {
        self.constant(Rational::new(p, q).unwrap_or_default())
    }

    /// A decimal constant that stands in this file.
    fn decimal(&mut self, text: &str) -> Atom {
        self.constant(text.parse::<Rational>().unwrap_or_default())
    }

    /// pi, which is no constant of a program, but a function of one.
    fn pi(&mut self) -> Result<Atom, BuildError> {
        let minus = self.constant(-1);
        self.push1(Smooth::Acos, &[minus])
    }

    /// `a` times the normal distribution function of a: `a / 2 * erfc(-a / sqrt(2))`.
    pub fn gelu(&mut self, a: Atom) -> Result<Atom, BuildError> {
        let half = self.fraction(1, 2);
        let scale = self.push1(Smooth::Sqrt, &[half])?;
        let turned = self.neg(a)?;
        let scaled = self.mul(turned, scale)?;
        let tail = self.elementwise(Smooth::Erfc, &[scaled])?;
        let part = self.mul(half, a)?;
        self.mul(part, tail)
    }

    /// GELU by its approximation with a hyperbolic tangent: `a * sigmoid(sqrt(8 / pi) * (a + 0.044715 a^3))`.
    pub fn gelu_tanh(&mut self, a: Atom) -> Result<Atom, BuildError> {
        let (eight, pi) = (self.constant(8), self.pi()?);
        let ratio = self.div(eight, pi)?;
        let scale = self.push1(Smooth::Sqrt, &[ratio])?;
        let cube = self.power(a, 3)?;
        let small = self.decimal("0.044715");
        let bent = self.mul(small, cube)?;
        let sum = self.add(a, bent)?;
        let scaled = self.mul(scale, sum)?;
        let gate = self.elementwise(Smooth::Sigmoid, &[scaled])?;
        self.mul(a, gate)
    }

    /// `a * sigmoid(a)`, also called swish.
    pub fn silu(&mut self, a: Atom) -> Result<Atom, BuildError> {
        let gate = self.elementwise(Smooth::Sigmoid, &[a])?;
        self.mul(a, gate)
    }

    /// `a * tanh(softplus(a))`.
    pub fn mish(&mut self, a: Atom) -> Result<Atom, BuildError> {
        let soft = self.elementwise(Smooth::Softplus, &[a])?;
        let gate = self.elementwise(Smooth::Tanh, &[soft])?;
        self.mul(a, gate)
    }

    /// `a / (1 + |a|)`.
    pub fn softsign(&mut self, a: Atom) -> Result<Atom, BuildError> {
        let (one, size) = (self.constant(1), self.abs(a)?);
        let below = self.add(one, size)?;
        self.div(a, below)
    }

    /// `log(sigmoid(a))`: `-softplus(-a)`.
    pub fn logsigmoid(&mut self, a: Atom) -> Result<Atom, BuildError> {
        let turned = self.neg(a)?;
        let soft = self.elementwise(Smooth::Softplus, &[turned])?;
        self.neg(soft)
    }

    /// `min(max(a, low), high)`, element by element: `high` where the bounds cross.
    ///
    /// ```
    /// use crease_core::{Builder, Shape, Tensor, run};
    /// let mut b = Builder::new("clamped");
    /// let x = b.input("x", Shape::vector(3).unwrap()).unwrap();
    /// let (low, high) = (b.constant(0), b.constant(1));
    /// let y = b.clamp(x, low, high).unwrap();
    /// let p = b.finish(&[y]).unwrap();
    /// assert_eq!(run(&p, &[Tensor::vector(vec![-2.0, 0.5, 2.0]).unwrap()]).unwrap()[0].data(), [0.0, 0.5, 1.0]);
    /// ```
    pub fn clamp(&mut self, a: Atom, low: Atom, high: Atom) -> Result<Atom, BuildError> {
        let raised = self.max(&[a, low])?;
        self.min(&[raised, high])
    }

    /// `min(max(a, 0), 6)`, as `6 - relu(6 - relu(a))`, so that relu'(0) = 0 makes its slope 0 at both kinks, as PyTorch has it. Floats are
    /// rounded as numbers of the size of 6 are.
    pub fn relu6(&mut self, a: Atom) -> Result<Atom, BuildError> {
        let (six, right) = (self.constant(6), self.relu(a)?);
        let left = self.sub(six, right)?;
        let rest = self.relu(left)?;
        self.sub(six, rest)
    }

    /// `relu6(a + 3) / 6`.
    pub fn hardsigmoid(&mut self, a: Atom) -> Result<Atom, BuildError> {
        let three = self.constant(3);
        let moved = self.add(a, three)?;
        let part = self.relu6(moved)?;
        self.times(1, 6, part)
    }

    /// `a * relu6(a + 3) / 6`.
    pub fn hardswish(&mut self, a: Atom) -> Result<Atom, BuildError> {
        let gate = self.hardsigmoid(a)?;
        self.mul(a, gate)
    }

    /// `1.0507... * elu(a, 1.6732...)`, with the constants of its authors.
    pub fn selu(&mut self, a: Atom) -> Result<Atom, BuildError> {
        let alpha = "1.6732632423543772848170429916717".parse::<Rational>().unwrap_or_default();
        let bent = self.elu(a, alpha)?;
        let scale = self.decimal("1.0507009873554804934193349852946");
        self.mul(scale, bent)
    }

    /// `a` where positive, else `alpha * (exp(a / alpha) - 1)`, for alpha that is not 0.
    pub fn celu(&mut self, a: Atom, alpha: Rational) -> Result<Atom, BuildError> {
        if alpha.is_one() {
            return self.elu(a, alpha);
        }
        let scale = self.constant(alpha);
        let scaled = self.div(a, scale)?;
        let bent = self.elu(scaled, Rational::ONE)?;
        self.mul(scale, bent)
    }

    /// The angle of the point (x, y), above -pi and at most pi, element by element. It jumps across the negative x axis, and has no value at
    /// the origin.
    ///
    /// Sectors meet on lines of an irrational slope, so that the origin is the only point of rational coordinates on any of them.
    pub fn atan2(&mut self, y: Atom, x: Atom) -> Result<Atom, BuildError> {
        let args = self.spread(&[y, x])?;
        let shape = self.shape_of(args[0])?;
        if shape != self.shape_of(args[1])? {
            // the sum says which shapes they are
            return self.add(args[0], args[1]);
        }
        let [y, x] = [args[0], args[1]];
        let half = self.fraction(1, 2);
        let steep = self.push1(Smooth::Sqrt, &[half])?;
        let size = self.abs(y)?;
        let border = self.mul(steep, size)?;
        let (minus, zero) = (self.neg(x)?, self.constant(0));
        let right = self.compare(Comparison::Greater, x, border)?;
        let left = self.compare(Comparison::Greater, minus, border)?;
        let above = self.compare(Comparison::Greater, y, zero)?;
        let not_below = self.compare(Comparison::GreaterEqual, y, zero)?;
        // two quotients, of which at least one has a value beside the origin
        let (flat, upright) = (self.div(y, x)?, self.div(x, y)?);
        let (flat, upright) = (self.elementwise(Smooth::Atan, &[flat])?, self.elementwise(Smooth::Atan, &[upright])?);
        let pi = self.pi()?;
        let quarter = self.times(1, 2, pi)?;
        let minus_pi = self.neg(pi)?;
        let minus_quarter = self.neg(quarter)?;
        // the jump is on the left
        let half_turn = self.choose(not_below, pi, minus_pi)?;
        let turned = self.add(half_turn, flat)?;
        let quarter_turn = self.choose(above, quarter, minus_quarter)?;
        let steep_angle = self.sub(quarter_turn, upright)?;
        let rest = self.choose(left, turned, steep_angle)?;
        self.choose(right, flat, rest)
    }
}
