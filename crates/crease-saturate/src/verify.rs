//! Verification: whether two scalar programs compute the same function.
//!
//! First it is tried to refute: by evaluation at points with many ties and at generic ones, exactly where rationals last and in certain
//! enclosures from there on, and, of rational functions, at random points of the prime field with 2^61 - 1 elements. One point of difference is
//! enough. Then the strongest argument that applies is reported:
//!
//! 1. [Normal forms](crate::normal) that are equal: a proof. (Saturation starts from Horner's forms of the same normal forms, so
//!    this alone would not be independent of it; the evaluations before it are.)
//! 2. Piecewise-linear programs: constants are multiplied by relu(t), t being one more input, so that the difference of the programs becomes
//!    positively homogeneous; it is zero iff it is differentiable at 0 with gradient 0, which the search of
//!    [`differentiable`] decides exactly, cone by cone: a proof.
//! 3. Rational functions: the points of the prime field (Schwartz and Zippel). Certain but for a chance that is reported.
//! 4. The points of evaluation: a test and no more.

use crate::normal::Atoms;
use crease_core::limits::SaturationLimits;
use crease_core::local::{Precision, localize_within};
use crease_core::number::{Field61, Mixed, NumberError};
use crease_core::random::SplitMix64;
use crease_core::run::Unobserved;
use crease_core::{
    Atom, BuildError, Builder, Cancel, Kink, Lane, Limits, Number, Op, Program, Rational, RunError, RunFault, Smooth,
    Tensor, run_with,
};
use crease_oracles::{Effort, Verdict, differentiable};
use std::cmp::Ordering;
use std::fmt;

/// How the result was found to compute the same function as the program that was given.
///
/// ```
/// use crease_core::{trace, relu};
/// use crease_saturate::{simplest, Options, Verified};
/// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
/// assert_eq!(simplest(&p, &Options::default()).unwrap().verified, Verified::NormalForm);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Verified {
    /// It is the program that was given.
    Unchanged,
    /// Proved: both have one normal form.
    NormalForm,
    /// Proved: the difference, a piecewise-linear function, is zero on every cone.
    Cones,
    /// Equal at random points of a prime field, where different rational functions agree with less than this chance.
    Field {
        /// The number of points.
        points: usize,
        /// An upper bound on the chance, as a power of two: 2^-bits.
        bits: u32,
    },
    /// Equal at points, ties among them.
    Tested {
        /// The number of points.
        points: usize,
        /// Whether all values were exact; else some were compared as enclosures.
        exact: bool,
    },
    /// Nothing but constant folding, sharing and the removal of unused equations was done, by [`crease_core::simplify`].
    Folded,
    /// Not at all, for this reason. The program that was given is returned.
    Not(String),
}

impl Verified {
    /// Whether it is proved that the functions are equal.
    ///
    /// ```
    /// use crease_saturate::Verified;
    /// assert!(Verified::Cones.is_proved());
    /// assert!(!Verified::Tested { points: 40, exact: true }.is_proved());
    /// ```
    pub fn is_proved(&self) -> bool {
        matches!(self, Verified::Unchanged | Verified::NormalForm | Verified::Cones)
    }

    /// The word for it: `proved`, `certain` but for a chance, `tested`, `folded`, or `no`.
    ///
    /// ```
    /// use crease_saturate::Verified;
    /// assert_eq!(Verified::Field { points: 4, bits: 200 }.word(), "certain");
    /// ```
    pub fn word(&self) -> &'static str {
        match self {
            Verified::Not(_) => "no",
            Verified::Tested { .. } => "tested",
            Verified::Field { .. } => "certain",
            Verified::Folded => "folded",
            Verified::Unchanged | Verified::NormalForm | Verified::Cones => "proved",
        }
    }

    /// The weaker of two, for a program of which two parts were replaced.
    pub(crate) fn and(self, other: Verified) -> Verified {
        let rank = |v: &Verified| match v {
            Verified::Unchanged => 0,
            Verified::Folded => 1,
            Verified::NormalForm => 2,
            Verified::Cones => 3,
            Verified::Field { .. } => 4,
            Verified::Tested { exact: true, .. } => 5,
            Verified::Tested { .. } => 6,
            Verified::Not(_) => 7,
        };
        match (self, other) {
            (Verified::Field { points: a, bits: x }, Verified::Field { points: b, bits: y }) => {
                Verified::Field { points: a.min(b), bits: x.min(y).saturating_sub(1) }
            }
            (Verified::Tested { points: a, exact: x }, Verified::Tested { points: b, exact: y }) => {
                Verified::Tested { points: a.min(b), exact: x && y }
            }
            (a, b) if rank(&a) < rank(&b) => b,
            (a, _) => a,
        }
    }
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verified::Unchanged => f.write_str("it is the program that was given"),
            Verified::NormalForm => f.write_str("proved: both programs have one normal form"),
            Verified::Cones => f.write_str("proved: the difference is zero on every cone"),
            Verified::Field { points, bits } => {
                write!(f, "equal at {points} random points of a prime field; wrong with a chance below 2^-{bits}")
            }
            Verified::Tested { points, exact: true } => write!(f, "tested: equal at {points} points, exactly"),
            Verified::Tested { points, exact: false } => write!(f, "tested: equal at {points} points, in enclosures"),
            Verified::Folded => f.write_str("only constant folding, sharing and removal of unused equations"),
            Verified::Not(why) => write!(f, "not verified: {why}"),
        }
    }
}

/// How many of the points must be in the domain.
const ENOUGH: usize = 12;
/// How wide enclosures may be, relative to what they enclose where that is above 1.
const WIDTH: f64 = 1e-6;
/// Evaluations in the prime field.
const FIELD_POINTS: u32 = 4;

/// Compares two scalar programs of the same inputs.
///
/// When time is up, the least is done that verifies what was found: no more points than must be in the domain, the few of the prime field, normal forms.
pub fn verify(p: &Program, q: &Program, seed: u64, limits: &Limits) -> Verified {
    if p == q {
        return Verified::Unchanged;
    }
    let degree = degree(p).zip(degree(q)).map(|(a, b)| a.max(b));
    let tested = match degree {
        Some(d) if d > limits.saturation.degree => {
            Ok(Verified::Not("its degree is too high for exact evaluation".into()))
        }
        _ => at_points(p, q, seed, limits),
    };
    let tested = match tested {
        Ok(tested) => tested,
        Err(Different(how)) => return Verified::Not(how),
    };
    let certain = match degree.map(|d| in_field(p, q, seed, d, limits)) {
        Some(Err(Different(how))) => return Verified::Not(how),
        Some(Ok(certain)) => certain,
        None => None,
    };
    let mut atoms = Atoms::new(&limits.saturation);
    if let (Some(a), Some(b)) = (atoms.outputs(p), atoms.outputs(q))
        && a == b
    {
        return Verified::NormalForm;
    }
    match by_cones(p, q, seed, limits) {
        Some(true) => Verified::Cones,
        Some(false) => Verified::Not("the programs differ on a cone".into()),
        None => certain.unwrap_or(tested),
    }
}

/// How it was seen that two programs differ.
struct Different(String);

/// Random points: small numbers with many ties first, then generic ones.
fn points(p: &Program, seed: u64, how_many: usize) -> impl Iterator<Item = Vec<Rational>> + use<> {
    let mut rng = SplitMix64::new(seed ^ 0x5eed);
    let n = p.inputs().len();
    (0..how_many).map(move |k| {
        let coordinate = |rng: &mut SplitMix64| {
            let small = rng.below(9) as i64 - 4;
            match k % 3 {
                _ if k == 0 => Some(Rational::ZERO),
                0 => Rational::new(small, 2),
                1 => Some(Rational::from(small / 2)),
                _ => Rational::new(rng.below(8001) as i64 - 4000, 1009),
            }
            .unwrap_or_default()
        };
        (0..n).map(|_| coordinate(&mut rng)).collect()
    })
}

/// The limits of a single evaluation. When to stop is looked at between them: what is stopped inside of one would seem to have no value.
fn of_one(limits: &Limits) -> Limits {
    Limits { deadline: None, cancel: Cancel::default(), ..limits.clone() }
}

/// Compares at points. What fails to be evaluated is no difference, unless it can be for one of the programs only.
fn at_points(p: &Program, q: &Program, seed: u64, limits: &Limits) -> Result<Verified, Different> {
    let one = of_one(limits);
    let (mut good, mut exact) = (0, true);
    let mut last_fault = String::new();
    let mut tried = 0;
    for x in points(p, seed, limits.saturation.compared) {
        // where hardly any point is in the domain, nobody waits for more of them than there usually are
        let least = good >= ENOUGH || tried >= SaturationLimits::DEFAULT.compared;
        if least && limits.stopped().is_some() {
            break;
        }
        tried += 1;
        let x: Vec<Tensor<Mixed>> = x.into_iter().map(|c| Tensor::scalar(Mixed::exactly(c))).collect();
        let (a, b) = match (evaluated(p, &x, &one), evaluated(q, &x, &one)) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(e), _) => {
                last_fault = e.to_string();
                continue;
            }
            // enclosures may be too wide in one of them only, or its run too long
            (Ok(_), Err(e)) if is_too_much(&e.fault) => {
                last_fault = e.to_string();
                continue;
            }
            (Ok(_), Err(e)) => return Err(Different(format!("the result fails where the program does not: {e}"))),
        };
        let pairs = a.iter().zip(&b).flat_map(|(a, b)| a.data().iter().zip(b.data()));
        let mut narrow = true;
        for (a, b) in pairs {
            match (a.exact(), b.exact()) {
                (Some(a), Some(b)) if a == b => {}
                (Some(_), Some(_)) => return Err(Different("the programs differ at a point".into())),
                _ => {
                    if a.compare(b).is_some_and(Ordering::is_ne) {
                        return Err(Different("the programs differ at a point".into()));
                    }
                    let is_narrow = |x: &Mixed| {
                        let (low, high) = x.enclosure().outer();
                        high - low <= WIDTH * high.abs().max(1.0)
                    };
                    narrow &= is_narrow(a) && is_narrow(b);
                    exact = false;
                }
            }
        }
        good += usize::from(narrow);
    }
    if good < ENOUGH {
        let why = if last_fault.is_empty() { "enclosures are too wide".into() } else { last_fault };
        return Ok(Verified::Not(format!("it could be evaluated at {good} of {tried} points only: {why}")));
    }
    Ok(Verified::Tested { points: good, exact })
}

fn evaluated<N: Number>(p: &Program, x: &[Tensor<N>], limits: &Limits) -> Result<Vec<Tensor<N>>, RunError> {
    run_with(p, x, limits, &mut Unobserved)
}

/// Whether a run failed for what it takes, and not for what the program is.
fn is_too_much(fault: &RunFault) -> bool {
    let too_much = [NumberError::Undecided, NumberError::TooLarge];
    match fault {
        RunFault::Number(e) => too_much.contains(e),
        RunFault::TooLong { .. } | RunFault::TooLarge { .. } | RunFault::Memory { .. } => true,
        _ => false,
    }
}

/// A bound on the degrees of numerators and denominators of all values; none if one is no rational function.
fn degree(p: &Program) -> Option<u64> {
    let mut degrees: Vec<(u64, u64)> = vec![(1, 0); p.inputs().len()];
    for e in p.equations() {
        let of = |i: usize| e.args[i].value().map_or((0, 0), |v| degrees[v.index()]);
        let plus = |x: u64, y: u64| x.saturating_add(y);
        let d = match e.op {
            Op::Neg => of(0),
            Op::Smooth(Smooth::Inv) => (of(0).1, of(0).0),
            Op::Add | Op::Sub => {
                let ((a, b), (c, d)) = (of(0), of(1));
                (plus(a, d).max(plus(b, c)), plus(b, d))
            }
            Op::Mul => (plus(of(0).0, of(1).0), plus(of(0).1, of(1).1)),
            Op::Div => (plus(of(0).0, of(1).1), plus(of(0).1, of(1).0)),
            Op::Smooth(Smooth::Power(k)) => {
                let (n, k) = (u64::from(k.unsigned_abs()), *k);
                let (a, b) = (of(0).0.saturating_mul(n), of(0).1.saturating_mul(n));
                if k < 0 { (b, a) } else { (a, b) }
            }
            _ => return None,
        };
        degrees.push(d);
    }
    Some(degrees.into_iter().map(|(a, b)| a.max(b)).max().unwrap_or(0))
}

/// Compares at random points of the prime field; nothing if the degree is too high or the field has no such constants.
fn in_field(p: &Program, q: &Program, seed: u64, degree: u64, limits: &Limits) -> Result<Option<Verified>, Different> {
    let one = of_one(limits);
    let mut rng = SplitMix64::new(seed ^ 0xf1e1d);
    let mut points = 0u32;
    for _ in 0..2 * FIELD_POINTS {
        let x: Vec<_> = p.inputs().iter().map(|_| Tensor::scalar(Field61::new(rng.bits()))).collect();
        // a division by zero has hardly a chance; a constant that the prime divides fails everywhere
        let (Ok(a), Ok(b)) = (evaluated(p, &x, &one), evaluated(q, &x, &one)) else { continue };
        if a != b {
            return Err(Different("the programs differ in a prime field".into()));
        }
        points += 1;
        if points == FIELD_POINTS {
            break;
        }
    }
    // the difference of two quotients has twice the degree, and a bit is lost to numbers drawn unevenly
    let lost = 64 - degree.saturating_mul(2).leading_zeros() + 1;
    let bits = 61u32.checked_sub(lost).filter(|b| *b >= 10 && points == FIELD_POINTS);
    Ok(bits.map(|bits| Verified::Field { points: points as usize, bits: bits * points }))
}

/// Whether the difference of two piecewise-linear programs is zero; nothing if they are none, or the search does not end.
fn by_cones(p: &Program, q: &Program, seed: u64, limits: &Limits) -> Option<bool> {
    let difference = difference(p, q).ok()??;
    let origin = vec![Tensor::scalar(Rational::ZERO); difference.inputs().len()];
    let model = localize_within(&difference, &origin, Precision::default(), limits).ok()?;
    if !model.is_exact() {
        return None;
    }
    let limits = Limits { conflicts: limits.conflicts.min(limits.saturation.cones), ..limits.clone() };
    let effort = Effort { limits, seed, proof: false, ..Effort::default() };
    for k in 0..difference.outputs().len() {
        match differentiable(&model, k, &effort).ok()?.verdict {
            Verdict::Yes(e) if e.gradient.iter().all(Rational::is_zero) => {}
            Verdict::Unknown { .. } => return None,
            _ => return Some(false),
        }
    }
    Some(true)
}

/// The difference of two programs as a positively homogeneous one; nothing if they are not piecewise linear.
fn difference(p: &Program, q: &Program) -> Result<Option<Program>, BuildError> {
    let mut b = Builder::new("difference");
    let mut inputs = Vec::new();
    for (i, input) in p.inputs().iter().enumerate() {
        inputs.push(b.input(format!("x{i}"), input.shape.clone())?);
    }
    let t = b.input("t", crease_core::Shape::scalar())?;
    let unit = b.relu(t)?;
    let (Some(left), Some(right)) = (homogeneous(&mut b, p, &inputs, unit)?, homogeneous(&mut b, q, &inputs, unit)?)
    else {
        return Ok(None);
    };
    let outputs = left.iter().zip(&right).map(|(&l, &r)| b.sub(l, r)).collect::<Result<Vec<_>, _>>()?;
    b.finish(&outputs).map(Some)
}

/// Appends a program whose constants, but for factors, are multiplied by `unit`.
fn homogeneous(b: &mut Builder, p: &Program, inputs: &[Atom], unit: Atom) -> Result<Option<Vec<Atom>>, BuildError> {
    let mut map = inputs.to_vec();
    let scaled = |b: &mut Builder, map: &[Atom], a: Atom| match a {
        Atom::Value(v) => Ok(map[v.index()]),
        Atom::Const(c) => {
            let c = b.constant(p.constant(c).clone());
            b.mul(c, unit)
        }
    };
    for e in p.equations() {
        let factor = |a: Atom| p.as_constant(a).cloned();
        let results = match e.op {
            Op::Add | Op::Sub | Op::Neg => None,
            Op::Mul => match (factor(e.args[0]), factor(e.args[1])) {
                (Some(c), _) => Some((c, e.args[1])),
                (None, Some(c)) => Some((c, e.args[0])),
                _ => return Ok(None),
            },
            Op::Div => match factor(e.args[1]).and_then(|c| c.inv()) {
                Some(c) => Some((c, e.args[0])),
                None => return Ok(None),
            },
            Op::Kink(
                Kink::Relu
                | Kink::Abs
                | Kink::LeakyRelu(_)
                | Kink::Max(Lane::Args)
                | Kink::Min(Lane::Args)
                | Kink::OrderStatistic(Lane::Args, _)
                | Kink::Sort(Lane::Args)
                | Kink::Norm1(Lane::Args)
                | Kink::NormInf(Lane::Args),
            ) => None,
            _ => return Ok(None),
        };
        match results {
            Some((c, x)) => {
                let x = scaled(b, &map, x)?;
                let c = b.constant(c);
                map.push(b.mul(c, x)?);
            }
            None => {
                let args = e.args.iter().map(|&a| scaled(b, &map, a)).collect::<Result<Vec<_>, _>>()?;
                map.extend(b.push(e.op.clone(), &args)?);
            }
        }
    }
    p.outputs().iter().map(|&o| scaled(b, &map, o)).collect::<Result<Vec<_>, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crease_formats::parse_expression;

    fn compare(a: &str, b: &str) -> Verified {
        let read =
            |text: &str| parse_expression(&format!("0 * (x + y + z) + ({text})"), &|_| None).expect("an expression");
        let simple = |text: &str| crease_core::simplify(&read(text)).expect("a program");
        verify(&simple(a), &simple(b), 1, &Limits::default())
    }

    #[test]
    fn each_kind_has_its_argument() {
        assert_eq!(compare("x + y", "x + y"), Verified::Unchanged);
        assert_eq!(compare("x * y + x * z", "x * (y + z)"), Verified::NormalForm);
        assert_eq!(compare("max(x, max(y, z))", "max(max(x, y), z)"), Verified::Cones);
        assert_eq!(compare("max(x, max(y + 2, 1))", "max(max(1, x), 2 + y)"), Verified::Cones);
        assert!(matches!(compare("(x + y)^100", "((x + y)^50)^2"), Verified::Field { points: 4, bits: 150.. }));
        assert!(matches!(
            compare("max(x, max(y * x, z))", "max(max(x, y * x), z)"),
            Verified::Tested { exact: true, .. }
        ));
        assert!(matches!(
            compare("exp(max(x, max(y, z)))", "exp(max(max(x, y), z))"),
            Verified::Tested { exact: false, .. }
        ));
    }

    #[test]
    fn differences_are_found() {
        for (a, b) in [
            ("x", "x + 1/1000000"),
            ("max(x, y)", "max(x, y, -1000)"),
            ("relu(x - 100)", "0 * x"),
            ("exp(x)", "exp(x) + 1/1000"),
            ("x^200", "x^199"),
            ("x^201 * y", "x^202"),
        ] {
            assert!(matches!(compare(a, b), Verified::Not(_)), "{a} and {b}: {:?}", compare(a, b));
        }
        // where nothing can be evaluated nothing is verified
        assert!(matches!(compare("log(-1 - x^2)", "log(-1 - x * x) + y - y"), Verified::NormalForm));
        assert!(matches!(compare("log(-1 - max(x, max(y, 1)))", "log(-1 - max(max(x, y), 1))"), Verified::Not(_)));
    }
}
