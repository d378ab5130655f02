//! Programs whose doubles are wrong, and programs whose doubles are right, with the truth at 500 digits and more.
//!
//! [`hostile`] makes programs that cancel, overflow or underflow, or sit so close to a branch that doubles take the wrong one. [`benign`]
//! makes ordinary ones at ordinary points. Each [`Case`] comes with its [truth](Case::truth): the value, and the gradient by
//! difference quotients at 2400 bits, which shares no code with what differentiates programs. All are differentiable at their point.
//! [`almost_stationary`] makes programs whose gradient is 0, or almost.
//!
//! ```
//! use crease_corpus::rounding::hostile;
//! let case = hostile(1);
//! assert_eq!(case.to_string(), hostile(1).to_string());
//! assert_eq!(case.truth.gradient.len(), case.program.dimension());
//! ```

mod grow;
mod kernels;
mod stationary;

use crate::precise::{Arithmetic, Fault, Number, Slopes, slopes};
use crate::random::{self, Dictionary, Options, Rng};
use crease_core::{Program, Rational, Tensor};
use dashu_ratio::RBig;
use std::cmp::Ordering;
use std::fmt;

/// The bits of the truth.
pub const BITS: usize = 2400;

/// The most draws for one seed before one must have a truth.
const DRAWS: usize = 1000;

/// What doubles can hold with all their digits.
const RANGE: std::ops::Range<f64> = 1e-280..1e280;

/// A program, a point at which it is differentiable, and the truth.
#[derive(Clone, Debug)]
pub struct Case {
    /// From which seed it was made.
    pub seed: u64,
    /// What is bad about it.
    pub kind: &'static str,
    /// The program, which has one output, a number.
    pub program: Program,
    /// The point.
    pub point: Vec<Tensor<Rational>>,
    /// The value and the gradient.
    pub truth: Slopes,
}

impl Case {
    /// All numbers of the truth: the value, then the gradient.
    pub fn numbers(&self) -> impl Iterator<Item = &Number> {
        std::iter::once(&self.truth.value).chain(&self.truth.gradient)
    }

    /// The same program where the point is rounded to doubles, unless it is not differentiable there or leaves the range of doubles.
    pub fn at_doubles(&self) -> Option<Case> {
        let round = |t: &Tensor<Rational>| t.map(|x| Rational::from_f64(x.to_f64()).unwrap_or_default());
        Case::draw(self.seed, self.kind, self.program.clone(), self.point.iter().map(round).collect())
    }

    fn draw(seed: u64, kind: &'static str, program: Program, point: Vec<Tensor<Rational>>) -> Option<Case> {
        let truth = slopes(&program, &point, BITS).ok()?;
        let case = Case { seed, kind, program, point, truth };
        let is_kept = case.numbers().all(is_plain);
        is_kept.then_some(case)
    }
}

/// Whether a number is at most so far from the truth. What cannot be told apart from that is: truths by difference quotients are known to 10^-60 of themselves at least.
///
/// ```
/// use crease_core::Rational;
/// use crease_corpus::rounding::{encloses, hostile};
/// let truth = hostile(1).truth.value;
/// let near = Rational::from_f64(truth.to_f64()).unwrap();
/// assert!(encloses(&truth, &near, &"1e-10".parse().unwrap()) && !encloses(&truth, &near, &Rational::ZERO));
/// ```
pub fn encloses(truth: &Number, near: &Rational, radius: &Rational) -> bool {
    let a = Arithmetic::new(BITS);
    let exact = |r: &Rational| Number::Exact(RBig::from(r.clone()));
    let slack = || a.div(&a.abs(truth)?, &a.power(&Number::Exact(10.into()), 60)?);
    let apart = || {
        let allowed = a.add(&exact(radius), &slack()?)?;
        a.order(&a.abs(&a.sub(truth, &exact(near))?)?, &allowed)
    };
    matches!(apart(), Ok(Ordering::Less | Ordering::Equal) | Err(Fault::TooClose))
}

/// A number as the sum of `n` doubles, each the nearest to what is left. Nothing if it is too large.
///
/// ```
/// use crease_corpus::precise::{Arithmetic, Number};
/// use crease_corpus::rounding::doubles;
/// let third = Arithmetic::new(200).div(&Number::one(), &Number::Exact(3.into())).unwrap();
/// assert_eq!(doubles(&third, 2).unwrap(), [1.0 / 3.0, 1.850371707708594e-17]);
/// ```
pub fn doubles(x: &Number, n: usize) -> Option<Vec<f64>> {
    let a = Arithmetic::new(BITS);
    let mut rest = x.clone();
    let mut part = || {
        let part = rest.to_f64();
        rest = a.sub(&rest, &Number::Exact(RBig::try_from(part).ok()?)).ok()?;
        Some(part)
    };
    (0..n).map(|_| part()).collect()
}

/// Whether a number is known well, and of a size for doubles; or nothing.
fn is_plain(x: &Number) -> bool {
    let near = x.to_f64().abs();
    match x.exact() {
        Some(r) if *r == RBig::ZERO => true,
        Some(_) => RANGE.contains(&near),
        None => RANGE.contains(&near) && (x.error() as f64) < near.log2() - 200.0,
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program)?;
        let value = |t: &Tensor<Rational>| match t.data() {
            [one] if t.shape().is_scalar() => one.to_string(),
            all => format!("{} [{}]", t.shape(), all.iter().map(Rational::to_string).collect::<Vec<_>>().join(",")),
        };
        let at: Vec<String> =
            self.program.inputs().iter().zip(&self.point).map(|(i, x)| format!("{}={}", i.name, value(x))).collect();
        let truth: Vec<String> = self.numbers().map(|x| format!("{:e}", x.to_f64())).collect();
        writeln!(f, "# at {}, from seed {} ({}); the truth is {}", at.join(","), self.seed, self.kind, truth.join(", "))
    }
}

/// A program that doubles get wrong, mostly.
///
/// # Panics
///
/// Where nothing of a thousand draws has a truth, which happens for no seed.
pub fn hostile(seed: u64) -> Case {
    let mut rng = Rng::new(seed ^ 0x0B5E55ED).split();
    (0..DRAWS).find_map(|_| grow::case(seed, &mut rng.split())).expect("one of a thousand draws has a truth")
}

/// A program whose gradient is exactly 0 or so close to it that doubles cannot tell; here the truth is known by construction.
///
/// # Panics
///
/// Where nothing of a thousand draws has a value, which happens for no seed.
pub fn almost_stationary(seed: u64) -> Case {
    let mut rng = Rng::new(seed ^ 0x57A7).split();
    (0..DRAWS).find_map(|_| stationary::case(seed, &mut rng.split())).expect("one of a thousand draws has a value")
}

/// An ordinary program at an ordinary point.
///
/// # Panics
///
/// Where nothing of a thousand draws has a truth, which happens for no seed.
pub fn benign(seed: u64) -> Case {
    let mut rng = Rng::new(seed ^ 0xF00D).split();
    let draw = |rng: &mut Rng| {
        let dictionary = *rng.pick(&[Dictionary::Everything, Dictionary::Smooth, Dictionary::Relu]);
        let mut o = Options::new(dictionary).inputs(1 + rng.below(3)).equations(2 + rng.below(8));
        if rng.once_in(2) {
            o = o.tensors();
        }
        if rng.once_in(4) {
            o = o.calls(1 + rng.below(2));
        }
        let program = random::program(rng, &o);
        let point = random::generic_point(rng, &program);
        Case::draw(seed, "benign", program, point)
    };
    (0..DRAWS).find_map(|_| draw(&mut rng.split())).expect("one of a thousand draws has a truth")
}
