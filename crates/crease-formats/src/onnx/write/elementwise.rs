//! Kinks of one number, alone and with the slope that was picked at them.

use super::Element;
use super::error::WriteError;
use super::nodes::{Nodes, Tensor, With};
use crease_core::op::Choice;
use crease_core::{Kink, Rational, kinks_on_lanes};

impl Nodes {
    /// The value of a kink that works element by element.
    pub fn hinge(&mut self, kink: &Kink, args: &[Tensor]) -> Result<Tensor, WriteError> {
        let x = &args[0];
        Ok(match kink {
            Kink::Relu => self.unary("Relu", x),
            Kink::Abs => self.unary("Abs", x),
            Kink::TimesRelu => {
                let rectified = self.unary("Relu", &args[1]);
                self.binary("Mul", x, &rectified)
            }
            // parameters of operators are of 32 bits, so for 64 the slope is a constant of the graph
            Kink::LeakyRelu(slope) => match self.element {
                Element::F32 => self.node("LeakyRelu", &[x], vec![With::Float("alpha", slope.to_f32())], &x.dims),
                Element::F64 => {
                    let slope = self.exact(slope)?;
                    self.node("PRelu", &[x, &slope], vec![], &x.dims)
                }
            },
            Kink::Elu(scale) => {
                let (right, left) = (self.unary("Relu", x), self.elu_left(scale, x)?);
                let scale = self.exact(scale)?;
                let left = self.binary("Sub", &left, &scale);
                self.binary("Add", &right, &left)
            }
            kinks_on_lanes!() => unreachable!("`{}` works on lanes", kink.name()),
        })
    }

    /// `scale * exp(x)` left of 0, and `scale` right of it, where nothing overflows.
    fn elu_left(&mut self, scale: &Rational, x: &Tensor) -> Result<Tensor, WriteError> {
        let (zero, scale) = (self.number(0.0)?, self.exact(scale)?);
        let low = self.node("Min", &[x, &zero], vec![], &x.dims);
        let power = self.unary("Exp", &low);
        Ok(self.binary("Mul", &scale, &power))
    }

    /// The value and the slopes, as far as they are wanted.
    pub fn joint_hinge(
        &mut self,
        kink: &Kink,
        choice: &Choice,
        args: &[Tensor],
        want: &[bool],
    ) -> Result<Vec<Option<Tensor>>, WriteError> {
        let x = &args[0];
        let mut out = vec![if want[0] { Some(self.hinge(kink, args)?) } else { None }];
        let (zero, one) = (self.number(0.0)?, self.number(1.0)?);
        if let Kink::TimesRelu = kink {
            let b = &args[1];
            out.push(if want[1] { Some(self.unary("Relu", b)) } else { None });
            out.push(if want[2] {
                let slope = self.slope(b, &zero, &Rational::ZERO, &one, &choice.at_kink)?;
                Some(self.binary("Mul", x, &slope))
            } else {
                None
            });
            // both results have the shape that the arguments spread to
            let dims = if x.rank() >= b.rank() { x.dims.clone() } else { b.dims.clone() };
            for t in out.iter_mut().flatten() {
                *t = self.expand(t, &dims)?;
            }
            return Ok(out);
        }
        if !want[1] {
            out.push(None);
            return Ok(out);
        }
        let at = &choice.at_kink;
        out.push(Some(match kink {
            Kink::Relu => self.slope(x, &zero, &Rational::ZERO, &one, at)?,
            Kink::Abs if at.is_zero() => self.unary("Sign", x),
            Kink::Abs => {
                let minus = self.number(-1.0)?;
                self.slope(x, &minus, &Rational::from(-1), &one, at)?
            }
            Kink::LeakyRelu(slope) => {
                let left = self.exact(slope)?;
                self.slope(x, &left, slope, &one, at)?
            }
            Kink::Elu(scale) => {
                let left = self.elu_left(scale, x)?;
                self.slope(x, &left, scale, &one, at)?
            }
            Kink::TimesRelu | kinks_on_lanes!() => unreachable!("`{}` has no single slope", kink.name()),
        }));
        Ok(out)
    }

    /// `left` where x is negative, 1 where it is positive, and `at` where it is 0; `limit` is what `left` tends to there.
    fn slope(
        &mut self,
        x: &Tensor,
        left: &Tensor,
        limit: &Rational,
        one: &Tensor,
        at: &Rational,
    ) -> Result<Tensor, WriteError> {
        let zero = self.number(0.0)?;
        let step = left.rank() == 0 && limit.is_zero();
        if *at == Rational::ONE || at == limit {
            let how = if *at == Rational::ONE { "GreaterOrEqual" } else { "Greater" };
            let right = self.binary(how, x, &zero);
            return Ok(if step { self.number_of(&right) } else { self.pick(&right, one, left) });
        }
        let right = self.binary("Greater", x, &zero);
        let sides = if step { self.number_of(&right) } else { self.pick(&right, one, left) };
        let (here, at) = (self.binary("Equal", x, &zero), self.exact(at)?);
        Ok(self.pick(&here, &at, &sides))
    }

    /// The sign of each number, and `at` where it is 0.
    pub fn sign(&mut self, x: &Tensor, at: &Rational) -> Result<Tensor, WriteError> {
        if at.is_zero() {
            return Ok(self.unary("Sign", x));
        }
        let (minus, one) = (self.number(-1.0)?, self.number(1.0)?);
        self.slope(x, &minus, &Rational::from(-1), &one, at)
    }
}
