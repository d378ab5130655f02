//! Numbers of the evaluator: rationals for as long as they last, then balls, which are a binary float of many bits and a
//! bound on how far it is from the truth.
//!
//! A ball also carries the *name* of the expression that it is the value of, a hash of the operation and of the names of its
//! arguments: two balls of one name are the same number, which no precision could tell from overlapping balls.

use super::Fault;
use dashu_base::{BitTest, Sign};
use dashu_float::round::mode::HalfEven;
use dashu_float::{ConstCache, Context, FBig, FpError, FpResult, Repr};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The binary logarithm of the error of what has none.
pub(super) const NONE: i64 = i64::MIN / 8;

pub(super) type Float = FBig<HalfEven, 2>;

/// A number.
#[derive(Clone, Debug)]
pub enum Number {
    /// Exactly this.
    Exact(RBig),
    /// As near to the truth as the ball says.
    Ball(Ball),
}

/// A float, and how far the truth may be from it.
#[derive(Clone, Debug)]
pub struct Ball {
    pub(super) mid: Float,
    /// The truth is at most 2 to this power away.
    pub(super) error: i64,
    pub(super) name: u64,
}

/// A power of two that is larger than a float: 2^size > |x| >= 2^(size - 1).
pub(super) fn size(x: &Float) -> i64 {
    match x.repr().significand() {
        s if *s == IBig::ZERO => NONE,
        _ => (x.repr().exponent() as i64).saturating_add(x.repr().digits() as i64),
    }
}

/// The logarithm of a bound on the sum of errors.
pub(super) fn sum(errors: &[i64]) -> i64 {
    let largest = errors.iter().copied().max().unwrap_or(NONE).max(NONE);
    let terms = errors.iter().filter(|e| **e > largest - 64 && **e > NONE).count().max(1);
    let rest = i64::from(errors.len() > terms && largest > NONE);
    if largest == NONE { NONE } else { largest + i64::from((terms as u64).next_power_of_two().ilog2()) + rest }
}

/// The logarithm of a bound on a product.
pub(super) fn times(a: i64, b: i64) -> i64 {
    if a == NONE || b == NONE { NONE } else { (a + b).max(NONE) }
}

/// The name of an expression.
pub(super) fn name(operation: &str, parameter: i64, arguments: &[u64]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (operation, parameter, arguments).hash(&mut hasher);
    hasher.finish()
}

impl Ball {
    fn size(&self) -> i64 {
        size(&self.mid)
    }

    /// The sign, if it can be told.
    pub(super) fn sign(&self) -> Option<Ordering> {
        match self.mid.repr().sign() {
            _ if self.size() == NONE => (self.error == NONE).then_some(Ordering::Equal),
            _ if self.size() - 1 <= self.error => None,
            Sign::Positive => Some(Ordering::Greater),
            Sign::Negative => Some(Ordering::Less),
        }
    }
}

impl Number {
    /// The number nothing.
    pub fn zero() -> Self {
        Number::Exact(RBig::ZERO)
    }

    /// The number one.
    pub fn one() -> Self {
        Number::Exact(RBig::ONE)
    }

    /// The rational that it is, if that is known.
    pub fn exact(&self) -> Option<&RBig> {
        match self {
            Number::Exact(r) => Some(r),
            Number::Ball(_) => None,
        }
    }

    /// The name of the expression whose value it is.
    pub(super) fn name(&self) -> u64 {
        match self {
            Number::Exact(r) => {
                let mut hasher = DefaultHasher::new();
                r.hash(&mut hasher);
                hasher.finish()
            }
            Number::Ball(b) => b.name,
        }
    }

    /// A double near it, for display; infinite if it is too large.
    pub fn to_f64(&self) -> f64 {
        match self {
            Number::Exact(r) => r.to_f64().value(),
            Number::Ball(b) => b.mid.to_f64().value(),
        }
    }

    /// The binary logarithm of a bound on its error; the least there is if it is exact.
    pub fn error(&self) -> i64 {
        match self {
            Number::Exact(_) => NONE,
            Number::Ball(b) => b.error,
        }
    }
}

/// Between which powers of two the absolute value of a number certainly lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// It is at least 2 to this power; nothing if it may be zero.
    pub least: Option<i64>,
    /// It is at most 2 to this power; nothing if it is zero.
    pub most: Option<i64>,
}

/// Arithmetic at one precision.
pub struct Arithmetic {
    pub(super) bits: usize,
    pub(super) context: Context<HalfEven>,
    /// what was computed so far at some expense, by name
    known: RefCell<HashMap<u64, Number>>,
}

thread_local! {
    /// Logarithms and multiples of pi, as far as they were needed so far.
    static CONSTANTS: RefCell<ConstCache> = const { RefCell::new(ConstCache::new()) };
}

/// Lends the constants.
pub(super) fn with_constants<T>(f: impl FnOnce(&mut ConstCache) -> T) -> T {
    CONSTANTS.with_borrow_mut(f)
}

impl Arithmetic {
    /// With so many bits.
    pub fn new(bits: usize) -> Self {
        Arithmetic { bits, context: Context::new(bits), known: RefCell::default() }
    }

    /// A number of that name, computed once only.
    pub(super) fn once(&self, name: u64, f: impl FnOnce() -> Result<Number, Fault>) -> Result<Number, Fault> {
        if let Some(x) = self.known.borrow().get(&name) {
            return Ok(x.clone());
        }
        let x = f()?;
        self.known.borrow_mut().insert(name, x.clone());
        Ok(x)
    }

    /// The number of bits.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// A rational, which becomes a ball if it has grown too long.
    pub(super) fn rational(&self, r: RBig) -> Number {
        if r.numerator().bit_len() + r.denominator().bit_len() <= 8 * self.bits {
            Number::Exact(r)
        } else {
            Number::Ball(self.rounded(&r))
        }
    }

    fn rounded(&self, r: &RBig) -> Ball {
        let name = Number::Exact(r.clone()).name();
        let (n, d) = (r.numerator(), r.denominator());
        let repr = |x: IBig| Repr::<2>::new(x, 0);
        let quotient = self.context.div(&repr(n.clone()), &repr(d.clone().into()));
        let mid = quotient.map_or(Float::ZERO, |q| q.value());
        let short = *d == UBig::ONE && n.bit_len() <= self.bits;
        let error = if short || r.is_zero() { NONE } else { self.ulp(&mid) };
        Ball { mid, error, name }
    }

    /// A bound on the error of rounding to this float.
    pub(super) fn ulp(&self, x: &Float) -> i64 {
        let size = size(x);
        if size == NONE { NONE } else { size - self.bits as i64 }
    }

    /// A number as a ball.
    pub(super) fn ball(&self, x: &Number) -> Ball {
        match x {
            Number::Exact(r) => self.rounded(r),
            Number::Ball(b) => b.clone(),
        }
    }

    /// A result of rounding, with errors that were there before.
    pub(super) fn result(&self, mid: FpResult<Float>, errors: &[i64], name: u64) -> Result<Number, Fault> {
        let mid = match mid {
            Ok(mid) => mid.value(),
            Err(FpError::OutOfDomain | FpError::Indeterminate) => {
                return Err(Fault::NoValue("it is out of its domain"));
            }
            Err(_) => return Err(Fault::TooLarge),
        };
        if mid.repr().is_infinite() || size(&mid).unsigned_abs() > 1 << 50 && size(&mid) != NONE {
            return Err(Fault::TooLarge);
        }
        let mut errors = errors.to_vec();
        errors.push(self.ulp(&mid));
        Ok(Number::Ball(Ball { mid, error: sum(&errors), name }))
    }

    /// `a + b`.
    pub fn add(&self, a: &Number, b: &Number) -> Result<Number, Fault> {
        if let (Number::Exact(a), Number::Exact(b)) = (a, b) {
            return Ok(self.rational(a + b));
        }
        let mut names = [a.name(), b.name()];
        names.sort_unstable();
        let (a, b) = (self.ball(a), self.ball(b));
        let mid = self.context.add(a.mid.repr(), b.mid.repr());
        self.result(mid, &[a.error, b.error], name("+", 0, &names))
    }

    /// `-a`.
    pub fn neg(&self, a: &Number) -> Number {
        match a {
            Number::Exact(r) => Number::Exact(-r.clone()),
            Number::Ball(b) => {
                Number::Ball(Ball { mid: -b.mid.clone(), error: b.error, name: name("neg", 0, &[b.name]) })
            }
        }
    }

    /// `a - b`.
    pub fn sub(&self, a: &Number, b: &Number) -> Result<Number, Fault> {
        if let (Number::Exact(a), Number::Exact(b)) = (a, b) {
            return Ok(self.rational(a - b));
        }
        let names = [a.name(), b.name()];
        if names[0] == names[1] {
            return Ok(Number::zero());
        }
        let (a, b) = (self.ball(a), self.ball(b));
        let mid = self.context.sub(a.mid.repr(), b.mid.repr());
        self.result(mid, &[a.error, b.error], name("-", 0, &names))
    }

    /// `a * b`.
    pub fn mul(&self, a: &Number, b: &Number) -> Result<Number, Fault> {
        if let (Number::Exact(a), Number::Exact(b)) = (a, b) {
            return Ok(self.rational(a * b));
        }
        if [a, b].iter().any(|x| x.exact().is_some_and(RBig::is_zero)) {
            return Ok(Number::zero());
        }
        let mut names = [a.name(), b.name()];
        names.sort_unstable();
        let (a, b) = (self.ball(a), self.ball(b));
        let errors = [times(a.size(), b.error), times(b.size(), a.error), times(a.error, b.error)];
        self.result(self.context.mul(a.mid.repr(), b.mid.repr()), &errors, name("*", 0, &names))
    }

    /// `a / b`.
    pub fn div(&self, a: &Number, b: &Number) -> Result<Number, Fault> {
        match (a, b) {
            (_, Number::Exact(b)) if b.is_zero() => return Err(Fault::NoValue("division by zero")),
            (Number::Exact(a), Number::Exact(b)) => return Ok(self.rational(a / b)),
            _ => {}
        }
        let names = [a.name(), b.name()];
        let (a, b) = (self.ball(a), self.ball(b));
        match b.sign() {
            None => return Err(Fault::TooClose),
            Some(Ordering::Equal) => return Err(Fault::NoValue("division by zero")),
            Some(_) => {}
        }
        // |b| >= 2^(size - 1), and at least half of that wherever the ball is two sizes smaller
        if b.error > b.size() - 3 {
            return Err(Fault::TooClose);
        }
        let least = b.size() - 2;
        // |a/b - a'/b'| <= |a - a'| / |b'| + |a| |b - b'| / |b b'|
        let errors = [times(a.error, -least), times(times(a.size(), b.error), -(b.size() - 1) - least)];
        self.result(self.context.div(a.mid.repr(), b.mid.repr()), &errors, name("/", 0, &names))
    }

    /// `a ^ k`; the zeroth power is 1.
    pub fn power(&self, a: &Number, k: i32) -> Result<Number, Fault> {
        if k == 0 {
            return Ok(Number::one());
        }
        let mut square = a.clone();
        let mut product: Option<Number> = None;
        let mut left = k.unsigned_abs();
        while left > 0 {
            if left & 1 == 1 {
                product = Some(match &product {
                    None => square.clone(),
                    Some(p) => self.mul(p, &square)?,
                });
            }
            left >>= 1;
            if left > 0 {
                square = self.mul(&square, &square)?;
            }
        }
        let product = product.unwrap_or_else(Number::one);
        if k < 0 { self.div(&Number::one(), &product) } else { Ok(product) }
    }

    /// The sign, if it can be told at this precision.
    pub fn sign(&self, a: &Number) -> Result<Ordering, Fault> {
        match a {
            Number::Exact(r) => Ok(r.cmp(&RBig::ZERO)),
            Number::Ball(b) => b.sign().ok_or(Fault::TooClose),
        }
    }

    /// Between which powers of two the absolute value lies.
    pub fn size(&self, a: &Number) -> Size {
        let ball = self.ball(a);
        let known = |e: i64| Some(e).filter(|e| *e > NONE);
        let apart = ball.error < ball.size() - 2;
        Size { least: known(ball.size() - 2).filter(|_| apart), most: known(sum(&[ball.size(), ball.error])) }
    }

    /// The order of two numbers, if it can be told at this precision.
    pub fn order(&self, a: &Number, b: &Number) -> Result<Ordering, Fault> {
        match (a, b) {
            (Number::Exact(a), Number::Exact(b)) => Ok(a.cmp(b)),
            _ => self.sign(&self.sub(a, b)?),
        }
    }
}
