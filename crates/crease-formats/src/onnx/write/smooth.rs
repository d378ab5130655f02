//! Smooth functions. Those that ONNX has no operator for, or that common runtimes have for f32 only, are put in terms of others so that no digits
//! are lost: `log(1 + x)` and `exp(x) - 1` by Kahan's corrections, hyperbolic functions and their inverses through these, the arctangent from that of f32 by one step of
//! Newton's method.

use super::Element;
use super::error::WriteError;
use super::nodes::{Nodes, Tensor};
use crease_core::Smooth;

type Result1 = Result<Tensor, WriteError>;

impl Nodes {
    /// A smooth function, element by element.
    pub fn smooth(&mut self, f: Smooth, x: &Tensor) -> Result1 {
        let wide = self.element == Element::F64;
        Ok(match f {
            Smooth::Inv => self.unary("Reciprocal", x),
            Smooth::Exp => self.unary("Exp", x),
            Smooth::Log => self.unary("Log", x),
            Smooth::Sqrt => self.unary("Sqrt", x),
            Smooth::Sin => self.unary("Sin", x),
            Smooth::Cos => self.unary("Cos", x),
            Smooth::Tanh => self.unary("Tanh", x),
            Smooth::Sigmoid => self.unary("Sigmoid", x),
            Smooth::Softplus => self.unary("Softplus", x),
            Smooth::Tan if wide => {
                let (sin, cos) = (self.unary("Sin", x), self.unary("Cos", x));
                self.binary("Div", &sin, &cos)
            }
            Smooth::Tan => self.unary("Tan", x),
            Smooth::Asin if wide => self.asin(x)?,
            Smooth::Asin => self.unary("Asin", x),
            Smooth::Acos if wide => self.acos(x)?,
            Smooth::Acos => self.unary("Acos", x),
            Smooth::Atan if wide => self.atan(x)?,
            Smooth::Atan => self.unary("Atan", x),
            Smooth::Sinh if wide => self.sinh(x)?,
            Smooth::Sinh => self.unary("Sinh", x),
            Smooth::Cosh if wide => self.cosh(x)?,
            Smooth::Cosh => self.unary("Cosh", x),
            Smooth::Asinh if wide => self.asinh(x)?,
            Smooth::Asinh => self.unary("Asinh", x),
            Smooth::Acosh if wide => self.acosh(x)?,
            Smooth::Acosh => self.unary("Acosh", x),
            Smooth::Atanh if wide => self.atanh(x)?,
            Smooth::Atanh => self.unary("Atanh", x),
            Smooth::Erf => self.unary("Erf", x),
            Smooth::Erfc => {
                let (one, erf) = (self.number(1.0)?, self.unary("Erf", x));
                self.binary("Sub", &one, &erf)
            }
            Smooth::ErfSlope => {
                let square = self.binary("Mul", x, x);
                let minus = self.unary("Neg", &square);
                let (power, factor) = (self.unary("Exp", &minus), self.number(std::f64::consts::FRAC_2_SQRT_PI)?);
                self.binary("Mul", &factor, &power)
            }
            Smooth::Log1p => self.log1p(x)?,
            Smooth::Expm1 => self.expm1(x)?,
            Smooth::Power(k) => {
                let exponent = self.number(f64::from(k))?;
                self.binary("Pow", x, &exponent)
            }
            Smooth::Root(p, q) => {
                let exponent = self.number(f64::from(p) / f64::from(q))?;
                self.binary("Pow", x, &exponent)
            }
        })
    }

    /// With u = 1 + x as it is rounded, log(u) x / (u - 1) makes up for what the rounding lost.
    fn log1p(&mut self, x: &Tensor) -> Result1 {
        let one = self.number(1.0)?;
        let u = self.binary("Add", &one, x);
        let (log, lost) = (self.unary("Log", &u), self.binary("Sub", &u, &one));
        let share = self.binary("Div", x, &lost);
        let corrected = self.binary("Mul", &log, &share);
        // far from 0 nothing is lost, and infinities have no quotient
        let none = self.binary("Equal", &u, &one);
        let is_far = self.binary("Greater", x, &one);
        let near = self.pick(&none, x, &corrected);
        Ok(self.pick(&is_far, &log, &near))
    }

    /// With u = exp(x) as it is rounded, (u - 1) x / log(u) makes up for what the rounding lost; far from 0 nothing is.
    fn expm1(&mut self, x: &Tensor) -> Result1 {
        let one = self.number(1.0)?;
        let u = self.unary("Exp", x);
        let less = self.binary("Sub", &u, &one);
        let log = self.unary("Log", &u);
        let share = self.binary("Div", x, &log);
        let corrected = self.binary("Mul", &less, &share);
        let none = self.binary("Equal", &u, &one);
        let near = self.pick(&none, x, &corrected);
        let size = self.unary("Abs", x);
        let is_far = self.binary("Greater", &size, &one);
        Ok(self.pick(&is_far, &less, &near))
    }

    /// exp(x / 2), and half of it: half of its square is exp(x) / 2, which overflows no earlier than the result.
    fn half_power(&mut self, x: &Tensor) -> Result1 {
        let half = self.number(0.5)?;
        let less = self.binary("Mul", &half, x);
        let power = self.unary("Exp", &less);
        let part = self.binary("Mul", &half, &power);
        Ok(self.binary("Mul", &part, &power))
    }

    fn sinh(&mut self, x: &Tensor) -> Result1 {
        let minus = self.unary("Neg", x);
        let (up, down) = (self.half_power(x)?, self.half_power(&minus)?);
        let far = self.binary("Sub", &up, &down);
        // near 0 with e = exp(x) - 1: (e + e / (e + 1)) / 2
        let (one, half) = (self.number(1.0)?, self.number(0.5)?);
        let e = self.expm1(x)?;
        let more = self.binary("Add", &e, &one);
        let rest = self.binary("Div", &e, &more);
        let sum = self.binary("Add", &e, &rest);
        let near = self.binary("Mul", &half, &sum);
        let size = self.unary("Abs", x);
        let is_far = self.binary("Greater", &size, &one);
        Ok(self.pick(&is_far, &far, &near))
    }

    fn cosh(&mut self, x: &Tensor) -> Result1 {
        let minus = self.unary("Neg", x);
        let (up, down) = (self.half_power(x)?, self.half_power(&minus)?);
        Ok(self.binary("Add", &up, &down))
    }

    /// sign(x) log(1 + |x| + x^2 / (1 + sqrt(1 + x^2))), and far out log(2 |x|).
    fn asinh(&mut self, x: &Tensor) -> Result1 {
        let (one, size) = (self.number(1.0)?, self.unary("Abs", x));
        let square = self.binary("Mul", x, x);
        let more = self.binary("Add", &one, &square);
        let root = self.unary("Sqrt", &more);
        let below = self.binary("Add", &one, &root);
        let rest = self.binary("Div", &square, &below);
        let sum = self.binary("Add", &size, &rest);
        let near = self.log1p(&sum)?;
        let value = self.or_far(&size, near)?;
        let sign = self.unary("Sign", x);
        Ok(self.binary("Mul", &sign, &value))
    }

    /// With t = x - 1: log(1 + t + sqrt(2 t + t^2)), and far out log(2 x).
    fn acosh(&mut self, x: &Tensor) -> Result1 {
        let (one, two) = (self.number(1.0)?, self.number(2.0)?);
        let t = self.binary("Sub", x, &one);
        let more = self.binary("Add", &t, &two);
        let product = self.binary("Mul", &t, &more);
        let root = self.unary("Sqrt", &product);
        let sum = self.binary("Add", &t, &root);
        let near = self.log1p(&sum)?;
        // left of 1 there is no value, and below -1 the root has one
        let none = self.unary("Sqrt", &t);
        let nothing = self.binary("Sub", &none, &none);
        let near = self.binary("Add", &near, &nothing);
        self.or_far(x, near)
    }

    /// log(2 x) beyond 2^28, where the rest is below the last digit, and squares overflow later on.
    fn or_far(&mut self, x: &Tensor, near: Tensor) -> Result1 {
        let (border, two) = (self.number(f64::from(1 << 28))?, self.number(std::f64::consts::LN_2)?);
        let is_far = self.binary("Greater", x, &border);
        let log = self.unary("Log", x);
        let far = self.binary("Add", &log, &two);
        Ok(self.pick(&is_far, &far, &near))
    }

    /// sign(x) log(1 + 2 |x| / (1 - |x|)) / 2.
    fn atanh(&mut self, x: &Tensor) -> Result1 {
        let (one, half, size) = (self.number(1.0)?, self.number(0.5)?, self.unary("Abs", x));
        let twice = self.binary("Add", &size, &size);
        let below = self.binary("Sub", &one, &size);
        let share = self.binary("Div", &twice, &below);
        let log = self.log1p(&share)?;
        let value = self.binary("Mul", &half, &log);
        let sign = self.unary("Sign", x);
        Ok(self.binary("Mul", &sign, &value))
    }

    /// The arctangent y of f32 misses by some 1e-7, and atan(x) = y + atan((x - tan y) / (1 + x tan y)), where atan(z) = z - z^3 / 3 to the last digit.
    fn atan(&mut self, x: &Tensor) -> Result1 {
        // beyond, nothing changes, and infinities have no quotient
        let (low, high) = (self.number(-1e300)?, self.number(1e300)?);
        let x = self.node("Max", &[x, &low], vec![], &x.dims);
        let x = self.node("Min", &[&x, &high], vec![], &x.dims);
        let narrow = self.cast(&x, Element::F32.code());
        let narrow = self.unary("Atan", &narrow);
        let y = self.number_of(&narrow);
        let (sin, cos) = (self.unary("Sin", &y), self.unary("Cos", &y));
        // (x cos - sin) / (cos + x sin), which needs no tangent
        let (xc, xs) = (self.binary("Mul", &x, &cos), self.binary("Mul", &x, &sin));
        let (above, below) = (self.binary("Sub", &xc, &sin), self.binary("Add", &cos, &xs));
        let z = self.binary("Div", &above, &below);
        let (square, third) = (self.binary("Mul", &z, &z), self.number(1.0 / 3.0)?);
        let cube = self.binary("Mul", &square, &z);
        let less = self.binary("Mul", &third, &cube);
        let step = self.binary("Sub", &z, &less);
        Ok(self.binary("Add", &y, &step))
    }

    /// (1 - x) (1 + x), which loses nothing near 1.
    fn rest_of_square(&mut self, x: &Tensor) -> Result1 {
        let one = self.number(1.0)?;
        let (less, more) = (self.binary("Sub", &one, x), self.binary("Add", &one, x));
        Ok(self.binary("Mul", &less, &more))
    }

    /// 2 atan(x / (1 + sqrt(1 - x^2))): nothing is divided by 0, at the ends neither.
    fn asin(&mut self, x: &Tensor) -> Result1 {
        let (one, two) = (self.number(1.0)?, self.number(2.0)?);
        let rest = self.rest_of_square(x)?;
        let root = self.unary("Sqrt", &rest);
        let below = self.binary("Add", &one, &root);
        let slope = self.binary("Div", x, &below);
        let half = self.atan(&slope)?;
        Ok(self.binary("Mul", &two, &half))
    }

    /// 4 atan(sqrt((1 - x) / 2) / (1 + sqrt((1 + x) / 2))), twice the arcsine of sqrt((1 - x) / 2).
    fn acos(&mut self, x: &Tensor) -> Result1 {
        let (one, half, four) = (self.number(1.0)?, self.number(0.5)?, self.number(4.0)?);
        let (less, more) = (self.binary("Sub", &one, x), self.binary("Add", &one, x));
        let (less, more) = (self.binary("Mul", &half, &less), self.binary("Mul", &half, &more));
        let (sine, cosine) = (self.unary("Sqrt", &less), self.unary("Sqrt", &more));
        let below = self.binary("Add", &one, &cosine);
        let slope = self.binary("Div", &sine, &below);
        let quarter = self.atan(&slope)?;
        Ok(self.binary("Mul", &four, &quarter))
    }
}
