//! Growing a program around a kernel.

use super::kernels::{CANCELLATIONS, Kernel, RANGES};
use super::{Case, doubles};
use crate::precise::{Arithmetic, Number, evaluate};
use crate::random::Rng;
use crease_core::{Rational, Tensor};
use crease_formats::parse;

/// The most inputs.
const INPUTS: usize = 4;

/// The bits at which values are known while a program grows: enough for what hides 400 bits below its terms.
const BITS: usize = 1000;

pub(super) struct Grower<'a> {
    pub rng: &'a mut Rng,
    /// Names and values.
    inputs: Vec<(String, Rational)>,
}

/// A case, unless the draw has no truth.
pub(super) fn case(seed: u64, rng: &mut Rng) -> Option<Case> {
    let mut g = Grower { rng, inputs: Vec::new() };
    let (kind, expression) = match g.rng.below(9) {
        0..3 => ("cancels", g.plain(CANCELLATIONS)),
        3 | 4 => ("out of range", g.plain(RANGES)),
        5 => ("cancels twice", g.nested()?),
        _ => ("close to a branch", g.branch()?),
    };
    let expression = g.dressed(expression)?;
    let program = g.read(&expression)?;
    Case::draw(seed, kind, program, g.point())
}

impl Grower<'_> {
    fn input(&mut self, value: Rational) -> String {
        // inputs are few, so that truths are cheap
        if let Some((name, _)) = self.inputs.iter().find(|(_, known)| *known == value) {
            return name.clone();
        }
        let name = ["x", "y", "z", "u", "v", "w", "p", "q", "r", "s1"].get(self.inputs.len()).unwrap_or(&"t1");
        self.inputs.push(((*name).into(), value));
        (*name).into()
    }

    /// Some digits, from 1 to 10.
    fn digits(&mut self) -> Rational {
        let digits = *self.rng.pick(&[1, 10, 1000, 1_000_000_000]);
        Rational::from(digits + self.rng.between(0, 9 * digits - 1))
    }

    fn power_of_ten(k: i64) -> Rational {
        format!("1e{k}").parse().unwrap_or_default()
    }

    fn scaled(&mut self, k: i64) -> Rational {
        let digits = self.digits();
        // brought between 1 and 10 by its own size
        let size = digits.to_f64().log10().floor() as i64;
        digits * Self::power_of_ten(k - size)
    }

    /// An input between 10^-most and 10^-least.
    pub fn small(&mut self, least: i64, most: i64) -> String {
        let k = -self.rng.between(least + 1, most);
        let value = self.scaled(k);
        self.input(value)
    }

    /// An input between 10^least and 10^most.
    pub fn large(&mut self, least: i64, most: i64) -> String {
        let k = self.rng.between(least, most - 1);
        let value = self.scaled(k);
        self.input(value)
    }

    fn number_between(&mut self, low: i64, high: i64) -> Rational {
        let parts = *self.rng.pick(&[1, 7, 10, 1000]);
        Rational::new(self.rng.between(low * parts, high * parts), parts).unwrap_or_default()
    }

    /// An input of ordinary size.
    pub fn between(&mut self, low: i64, high: i64) -> String {
        let value = self.number_between(low, high);
        self.input(value)
    }

    /// Two inputs of ordinary size, not far from each other.
    pub fn near(&mut self, low: i64, high: i64) -> (String, String) {
        let value = self.number_between(low, high);
        let apart = self.number_between(1, 5);
        (self.input(value.clone()), self.input(value + apart))
    }

    /// Two inputs that are very close to each other.
    pub fn close_pair(&mut self) -> (String, String) {
        let value = self.number_between(1, 9);
        let k = -self.rng.between(4, 25);
        let apart = self.scaled(k);
        (self.input(value.clone()), self.input(value + apart))
    }

    fn point(&self) -> Vec<Tensor<Rational>> {
        self.inputs.iter().map(|(_, x)| Tensor::scalar(x.clone())).collect()
    }

    fn read(&self, expression: &str) -> Option<crease_core::Program> {
        let names: Vec<&str> = self.inputs.iter().map(|(name, _)| name.as_str()).collect();
        let text = format!("program f({}) = {expression}\n", names.join(", "));
        match parse(&text) {
            Ok(module) => Some(module.main().as_ref().clone()),
            Err(e) => panic!("{e}\n{text}"),
        }
    }

    /// The value of an expression at the point so far.
    fn value(&self, expression: &str) -> Option<Number> {
        if self.inputs.len() > INPUTS {
            return None;
        }
        let p = self.read(expression)?;
        evaluate(&p, &self.point(), &Arithmetic::new(BITS)).ok()?.pop()
    }

    fn plain(&mut self, kernels: &[Kernel]) -> String {
        let kernel = *self.rng.pick(kernels);
        kernel(self)
    }

    /// A number rounded to the sum of `n` doubles.
    fn approximated(value: &Number, n: usize) -> Option<Rational> {
        let parts = doubles(value, n)?;
        Some(parts.into_iter().filter_map(Rational::from_f64).fold(Rational::ZERO, |sum, part| sum + part))
    }

    /// A cancellation of a cancellation.
    fn nested(&mut self) -> Option<String> {
        let inner = self.plain(CANCELLATIONS);
        let value = self.value(&inner)?;
        let size = value.to_f64().abs();
        if size > 1e-3 {
            // taken away from what it nearly is
            let doubles = 1 + self.rng.below(4);
            let near = Self::approximated(&value, doubles)?;
            let scale = Self::power_of_ten(16 * doubles as i64);
            return Some(format!("({inner} - ({near})) * {scale}"));
        }
        Some(match self.rng.below(3) {
            0 => format!("(exp({inner}) - 1 - {inner}) / ({inner})^2"),
            1 => format!("(sqrt(1 + {inner}) - 1) / ({inner})"),
            _ => format!("(sin({inner}) - {inner}) / ({inner})^3"),
        })
    }

    /// A branch that doubles cannot decide, by an expression and a number that is very close to it.
    fn branch(&mut self) -> Option<String> {
        let smooth: &[Kernel] = &[
            |g| {
                let x = g.between(1, 9);
                format!("exp({x})")
            },
            |g| {
                let x = g.between(1, 9);
                format!("sqrt({x}) * sqrt({x})")
            },
            |g| {
                let x = g.between(2, 9);
                format!("log({x}) * sin({x})")
            },
            |g| {
                let (x, y) = (g.between(1, 9), g.between(1, 9));
                format!("atan({x}) / {y}")
            },
            |g| {
                let (x, y) = (g.between(1, 9), g.small(3, 12));
                format!("sqrt({x} + {y}) - cos({y})")
            },
            |g| {
                let x = g.between(1, 4);
                format!("tanh({x}) + erf({x})^2")
            },
        ];
        let e = if self.rng.once_in(5) { self.plain(CANCELLATIONS) } else { self.plain(smooth) };
        let value = self.value(&e)?;
        let doubles = 1 + self.rng.below(4);
        let mut near = Self::approximated(&value, doubles)?;
        if self.rng.once_in(3) {
            // an ulp, or 10^-20, away
            let k = *self.rng.pick(&[-20, -25, -40]);
            near += Self::power_of_ten(k);
        }
        // as a constant, or as an input
        let c = if self.rng.once_in(2) && self.inputs.len() < 3 { self.input(near) } else { format!("({near})") };
        let (a, b) = (self.simple(), self.simple());
        let slopes = (self.rng.between(1, 5), self.rng.between(6, 9));
        Some(match self.rng.below(12) {
            0 => format!("relu({e} - {c}) * 1e20 + {a}"),
            1 => format!("abs({e} - {c}) + {a}"),
            2 => format!("max({e}, {c}) * {a}"),
            3 => format!("select {{ {e} > {c} => {a}, else => {b} + 7 }}"),
            4 => format!("where({e} <= {c}, {a}, {b} - 7)"),
            5 => format!("floor({e} - {c} + 5) * {a}"),
            6 => format!("sign({e} - {c}) * {a} + {b}"),
            7 => format!("median({e}, {c}, {a} + 100) * {b}"),
            8 => format!("min({} * {e}, {} * {c} + {} * {e}) + {a}", slopes.0 + slopes.1, slopes.0, slopes.1),
            9 => format!("norm1({e} - {c}, {a}) + {b}"),
            10 => format!("leaky_relu({c} - {e}, slope=1/3) * 1e15 + {a}"),
            _ => format!("gather([{a}, {b} + 3], argmax(concat({e}, {c})))"),
        })
    }

    /// Something harmless that depends on the inputs.
    fn simple(&mut self) -> String {
        let i = self.rng.below(self.inputs.len());
        let x = &self.inputs[i].0;
        let size = self.inputs[i].1.to_f64().abs();
        match self.rng.below(4) {
            0 if size < 20.0 => format!("exp({x} / 8)"),
            1 if size > 0.1 && size < 100.0 => format!("({x} + log({x}))"),
            2 => format!("sqrt(2 + {x}^2)"),
            _ => format!("(3 * {x} + 1)"),
        }
    }

    /// An expression inside of something harmless, or alone.
    fn dressed(&mut self, e: String) -> Option<String> {
        if self.rng.once_in(2) {
            return Some(e);
        }
        let size = self.value(&e)?.to_f64();
        let s = self.simple();
        let is_moderate = size.abs() < 30.0;
        Some(match self.rng.below(8) {
            0 => format!("({e}) * {s}"),
            1 => format!("{s} / ({e})"),
            2 if is_moderate => format!("exp({e})"),
            3 if is_moderate => format!("sum([{e}, {s}] * 3)"),
            4 if is_moderate => format!("repeat(3, k = {e}) {{ return k - k^3 / 6 }}"),
            5 if size > 1e-30 => format!("sqrt({e})"),
            6 if size > 1e-30 => format!("log({e})"),
            7 => format!("atan({e} / 3)"),
            _ => format!("({e}) * 7 / 3"),
        })
    }
}
