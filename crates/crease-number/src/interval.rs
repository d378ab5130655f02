//! Intervals with `f64` endpoints that certainly enclose the exact value.
//!
//! What enters is enclosed, and every operation rounds its endpoints outward,
//! so what leaves encloses whatever exact arithmetic would have given. The
//! rounding error of each sum, product, quotient and root is itself computed,
//! by an error-free transformation; an endpoint moves only if its error has
//! the wrong sign, and an exact result stays a point. Elementary functions are
//! those of [`Enclosure`], rounded outward: no library of the platform is trusted.
//!
//! An endpoint that overflows becomes infinite, which is still an enclosure;
//! infinity itself is never a member.

use crate::{Enclosure, Number, NumberError, Rational, Smooth, Stair};
use std::cmp::Ordering;
use std::f64::consts::{FRAC_PI_2, TAU};
use std::fmt;

/// A closed interval of real numbers between two `f64`.
///
/// ```
/// use crease_number::{Interval, Number};
/// let tenth = Interval::from_rational(&"0.1".parse().unwrap()).unwrap();
/// assert!(tenth.lo() < tenth.hi());
/// let one = Interval::point(1.0);
/// assert_eq!(one.add(&one), Interval::point(2.0));
/// assert_eq!(tenth.sub(&one).relu().unwrap(), Interval::point(0.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    lo: f64,
    hi: f64,
}

impl Interval {
    /// The interval from `lo` to `hi`, either of which may be infinite
    /// outward; `None` if it would be empty or an endpoint is NaN.
    ///
    /// ```
    /// use crease_number::Interval;
    /// assert_eq!(Interval::new(-1.0, 2.5).unwrap().to_string(), "[-1, 2.5]");
    /// assert_eq!(Interval::new(1.0, 0.0), None);
    /// ```
    pub fn new(lo: f64, hi: f64) -> Option<Interval> {
        let holds_a_number = lo <= hi && lo < f64::INFINITY && hi > f64::NEG_INFINITY;
        holds_a_number.then(|| Interval::between(lo, hi))
    }

    /// The interval that holds just `x`.
    ///
    /// An infinity stands for an overflow, so it becomes all numbers beyond
    /// the largest float; nothing is known about NaN, so it becomes the line.
    pub fn point(x: f64) -> Interval {
        if x.is_nan() {
            Interval::between(f64::NEG_INFINITY, f64::INFINITY)
        } else if x == f64::INFINITY {
            Interval::between(f64::MAX, x)
        } else if x == f64::NEG_INFINITY {
            Interval::between(x, f64::MIN)
        } else {
            Interval::between(x, x)
        }
    }

    /// Endpoints in order. Adding zero turns `-0` into `0`, which is shorter to show.
    fn between(lo: f64, hi: f64) -> Interval {
        Interval { lo: lo + 0.0, hi: hi + 0.0 }
    }

    /// From pairs of lower and upper bounds on values that the result spans.
    fn spanning(bounds: &[(f64, f64)]) -> Interval {
        let lo = bounds.iter().map(|b| b.0).fold(f64::INFINITY, f64::min);
        let hi = bounds.iter().map(|b| b.1).fold(f64::NEG_INFINITY, f64::max);
        Interval::between(lo, hi)
    }

    /// The image under an increasing function, given bounds on its values.
    fn increasing(&self, bounds: impl Fn(f64) -> (f64, f64)) -> Interval {
        Interval::between(bounds(self.lo).0, bounds(self.hi).1)
    }

    /// All values of an operation at pairs of endpoints.
    fn corners(&self, other: &Self, bounds: impl Fn(f64, f64) -> (f64, f64)) -> Interval {
        if self.is_point() && other.is_point() {
            return Interval::spanning(&[bounds(self.lo, other.lo)]);
        }
        Interval::spanning(&[
            bounds(self.lo, other.lo),
            bounds(self.lo, other.hi),
            bounds(self.hi, other.lo),
            bounds(self.hi, other.hi),
        ])
    }

    /// The lower endpoint.
    pub fn lo(&self) -> f64 {
        self.lo
    }

    /// The upper endpoint.
    pub fn hi(&self) -> f64 {
        self.hi
    }

    /// The distance between the endpoints, rounded up.
    pub fn width(&self) -> f64 {
        sum_bounds(self.hi, -self.lo).1
    }

    /// Whether there is just one member.
    pub fn is_point(&self) -> bool {
        self.lo == self.hi
    }

    /// Whether `r` is a member, decided exactly.
    ///
    /// ```
    /// use crease_number::{Interval, Rational};
    /// let third = Rational::new(1, 3).unwrap();
    /// assert!(Interval::new(0.0, 0.5).unwrap().contains(&third));
    /// assert!(!Interval::point(1.0 / 3.0).contains(&third));
    /// ```
    pub fn contains(&self, r: &Rational) -> bool {
        // An endpoint that is not a rational is infinite, and no bound.
        Rational::from_f64(self.lo).is_none_or(|lo| lo <= *r) && Rational::from_f64(self.hi).is_none_or(|hi| *r <= hi)
    }

    fn holds_zero(&self) -> bool {
        self.lo <= 0.0 && self.hi >= 0.0
    }

    /// Whether `turns + k` full turns may be a member for some integer `k`.
    /// It errs only to the side of yes.
    fn may_hold_turn(&self, turns: f64) -> bool {
        let (lo, hi) = (self.lo / TAU - turns, self.hi / TAU - turns);
        let margin = |t: f64| 4.0 * f64::EPSILON * (t.abs() + 1.0);
        (hi + margin(hi)).floor() >= (lo - margin(lo)).ceil()
    }

    /// The image under a sine whose maximum and minimum are at these turns.
    fn wave(&self, bounds: impl Fn(f64) -> (f64, f64), top: f64, bottom: f64) -> Interval {
        if !self.is_finite() {
            return Interval::between(-1.0, 1.0);
        }
        let ends = Interval::spanning(&[bounds(self.lo), bounds(self.hi)]);
        let at_top = !self.is_point() && self.may_hold_turn(top);
        let at_bottom = !self.is_point() && self.may_hold_turn(bottom);
        Interval::between(if at_bottom { -1.0 } else { ends.lo }, if at_top { 1.0 } else { ends.hi })
    }
}

/// Below this magnitude the error of a product may itself underflow.
const TINY: f64 = f64::MIN_POSITIVE * (1_u64 << 62) as f64;

/// The floats at or around the value that `rounded` is nearest to, where
/// `error` has the sign of the value minus `rounded`.
fn directed(rounded: f64, error: f64) -> (f64, f64) {
    if error == 0.0 && rounded.is_finite() {
        (rounded, rounded)
    } else if error > 0.0 {
        (rounded, rounded.next_up())
    } else if error < 0.0 {
        (rounded.next_down(), rounded)
    } else {
        // The error is not known, or `rounded` overflowed: both sides are open.
        (rounded.next_down(), rounded.next_up())
    }
}

/// Bounds on `a + b`.
fn sum_bounds(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    if a.is_infinite() || b.is_infinite() {
        return (sum, sum);
    }
    // Knuth's two-sum; a spurious overflow gives NaN, an unknown error.
    let b_part = sum - a;
    let a_part = sum - b_part;
    directed(sum, (a - a_part) + (b - b_part))
}

/// Bounds on `a * b`, where zero times an infinite endpoint is zero, because
/// every member is finite.
fn product_bounds(a: f64, b: f64) -> (f64, f64) {
    if a == 0.0 || b == 0.0 {
        return (0.0, 0.0);
    }
    let product = a * b;
    if a.is_infinite() || b.is_infinite() {
        return (product, product);
    }
    let error = if product.abs() < TINY { f64::NAN } else { a.mul_add(b, -product) };
    directed(product, error)
}

/// Bounds on `a / b` for a `b` that is not zero. At an infinite endpoint the
/// quotients of members approach zero.
fn quotient_bounds(a: f64, b: f64) -> (f64, f64) {
    if a == 0.0 || b.is_infinite() {
        return (0.0, 0.0);
    }
    let quotient = a / b;
    if a.is_infinite() {
        return (quotient, quotient);
    }
    let error = if quotient.abs() < TINY || a.abs() < TINY { f64::NAN } else { (-quotient).mul_add(b, a) * b.signum() };
    directed(quotient, error)
}

/// Bounds on the root of `x`, which is not negative.
fn sqrt_bounds(x: f64) -> (f64, f64) {
    let root = x.sqrt();
    if x == 0.0 || x.is_infinite() {
        return (root, root);
    }
    let error = if x < TINY { f64::NAN } else { (-root).mul_add(root, x) };
    directed(root, error)
}

/// Bounds on `x` to the power `n`, for `x` that is not negative.
fn power_bounds(x: f64, mut n: u32) -> (f64, f64) {
    let (mut result, mut base) = ((1.0, 1.0), (x, x));
    // Factors are not negative, and a lower bound need not be either.
    let times = |a: (f64, f64), b: (f64, f64)| (product_bounds(a.0, b.0).0.max(0.0), product_bounds(a.1, b.1).1);
    while n > 0 {
        if n & 1 == 1 {
            result = times(result, base);
        }
        n >>= 1;
        if n > 0 {
            base = times(base, base);
        }
    }
    result
}

/// More bits than a float has, so that an enclosure of a value is rounded to the floats next to it.
const BITS: u32 = 64;

/// The floats around the value of a function at a float, which may be infinite where the function has a limit.
fn around(x: f64, function: impl Fn(&Enclosure) -> Enclosure) -> (f64, f64) {
    match Rational::from_f64(x) {
        Some(x) => function(&Enclosure::of(&x, BITS)).outer(),
        None => (f64::NEG_INFINITY, f64::INFINITY),
    }
}

fn exp_bounds(x: f64) -> (f64, f64) {
    match x {
        f64::NEG_INFINITY => (0.0, 0.0),
        _ => {
            let (lo, hi) = around(x, Enclosure::exp);
            // what is too large to be written down is not negative all the same
            (lo.max(if x > 0.0 { 1.0 } else { 0.0 }), hi)
        }
    }
}

fn log_bounds(x: f64) -> (f64, f64) {
    match x {
        // members are finite, and that of the largest float is above 709
        f64::INFINITY => (709.0, x),
        _ => around(x, |e| e.log().unwrap_or(Enclosure::whole(BITS))),
    }
}

fn sin_bounds(x: f64) -> (f64, f64) {
    around(x, Enclosure::sin)
}

fn cos_bounds(x: f64) -> (f64, f64) {
    around(x, Enclosure::cos)
}

fn tanh_bounds(x: f64) -> (f64, f64) {
    match x {
        f64::INFINITY => (1.0_f64.next_down(), 1.0),
        f64::NEG_INFINITY => (-1.0, (-1.0_f64).next_up()),
        _ => around(x, Enclosure::tanh),
    }
}

fn softplus_bounds(x: f64) -> (f64, f64) {
    match x {
        f64::NEG_INFINITY => (0.0, 0.0),
        f64::INFINITY => (709.0, x),
        _ => {
            let (lo, hi) = around(x, Enclosure::softplus);
            (lo.max(0.0), hi)
        }
    }
}

/// Where a function goes if its argument grows without end, to this side; nothing if nowhere.
fn limit(f: Smooth, right: bool) -> Option<(f64, f64)> {
    let side = |left: f64, at_right: f64| {
        let end = if right { at_right } else { left };
        Some((end, end))
    };
    match f {
        Smooth::Sinh | Smooth::Asinh | Smooth::Acosh | Smooth::Log1p => side(f64::NEG_INFINITY, f64::INFINITY),
        Smooth::Cosh => side(f64::INFINITY, f64::INFINITY),
        Smooth::Atan => {
            let (low, high) = (FRAC_PI_2.next_down(), FRAC_PI_2.next_up());
            Some(if right { (low, high) } else { (-high, -low) })
        }
        Smooth::Erf => side(-1.0, 1.0),
        Smooth::Erfc => side(2.0, 0.0),
        Smooth::ErfSlope => side(0.0, 0.0),
        Smooth::Expm1 => side(-1.0, f64::INFINITY),
        Smooth::Root(p, _) => side(f64::NAN, if p < 0 { 0.0 } else { f64::INFINITY }),
        Smooth::Tan | Smooth::Asin | Smooth::Acos | Smooth::Atanh => None,
        // these have bounds of their own
        Smooth::Inv | Smooth::Exp | Smooth::Log | Smooth::Sqrt | Smooth::Sin | Smooth::Cos | Smooth::Tanh => None,
        Smooth::Sigmoid | Smooth::Softplus | Smooth::Power(_) => None,
    }
}

impl Interval {
    /// A function by its enclosure; beyond the largest double it only goes on to its limit.
    fn enclosed(&self, f: Smooth) -> Result<Interval, NumberError> {
        let ends = [self.lo.max(f64::MIN), self.hi.min(f64::MAX)];
        let [Some(lo), Some(hi)] = ends.map(Rational::from_f64) else { return Err(NumberError::Undecided) };
        let inner = Enclosure::of(&lo, BITS).hull(&Enclosure::of(&hi, BITS)).smooth(f)?.outer();
        let mut all = vec![inner];
        for (end, right) in [(self.lo, false), (self.hi, true)] {
            if end.is_infinite() {
                all.push(limit(f, right).ok_or(NumberError::Undecided)?);
            }
        }
        let spans = Interval::spanning(&all);
        // what is too large to be written down is not negative all the same
        Ok(if f.facts().is_nonnegative { Interval::between(spans.lo.max(0.0), spans.hi) } else { spans })
    }

    fn power(&self, n: u32) -> Interval {
        let (at_lo, at_hi) = (power_bounds(self.lo.abs(), n), power_bounds(self.hi.abs(), n));
        let negated = |(lo, hi): (f64, f64)| (-hi, -lo);
        if n % 2 == 1 {
            let signed = |x: f64, bounds| if x < 0.0 { negated(bounds) } else { bounds };
            Interval::between(signed(self.lo, at_lo).0, signed(self.hi, at_hi).1)
        } else if n > 0 && self.holds_zero() {
            Interval::between(0.0, at_lo.1.max(at_hi.1))
        } else {
            Interval::spanning(&[at_lo, at_hi])
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_point() { write!(f, "{}", self.lo) } else { write!(f, "[{}, {}]", self.lo, self.hi) }
    }
}

impl Number for Interval {
    const NAME: &'static str = "intervals";
    const EXACT: bool = false;

    fn from_rational(r: &Rational) -> Result<Self, NumberError> {
        let nearest = r.to_f64();
        let (lo, hi) = match Rational::from_f64(nearest).map(|x| x.cmp(r)) {
            Some(Ordering::Equal) => (nearest, nearest),
            Some(Ordering::Less) => (nearest, nearest.next_up()),
            Some(Ordering::Greater) => (nearest.next_down(), nearest),
            None => return Ok(Interval::point(nearest)),
        };
        Ok(Interval::between(lo, hi))
    }

    fn zero() -> Self {
        Interval::point(0.0)
    }

    fn one() -> Self {
        Interval::point(1.0)
    }

    fn from_usize(n: usize) -> Self {
        let nearest = n as f64;
        // A float that is an integer converts back exactly.
        if nearest as u128 == n as u128 {
            Interval::point(nearest)
        } else {
            Interval::between(nearest.next_down(), nearest.next_up())
        }
    }

    fn add(&self, other: &Self) -> Self {
        Interval::between(sum_bounds(self.lo, other.lo).0, sum_bounds(self.hi, other.hi).1)
    }

    fn sub(&self, other: &Self) -> Self {
        self.add(&other.neg())
    }

    fn mul(&self, other: &Self) -> Self {
        self.corners(other, product_bounds)
    }

    fn neg(&self) -> Self {
        Interval::between(-self.hi, -self.lo)
    }

    fn div(&self, other: &Self) -> Result<Self, NumberError> {
        if other.is_point() && other.lo == 0.0 {
            Err(NumberError::DivisionByZero)
        } else if other.holds_zero() {
            Err(NumberError::Undecided)
        } else {
            Ok(self.corners(other, quotient_bounds))
        }
    }

    fn smooth(&self, f: Smooth) -> Result<Self, NumberError> {
        let [low, high] =
            [self.lo, self.hi].map(|end| move |k: i32| end.partial_cmp(&f64::from(k)).unwrap_or(Ordering::Equal));
        if let Some(outside) = f.outside_between(low, high) {
            return Err(outside);
        }
        Ok(match f {
            Smooth::Inv => return Self::one().div(self),
            Smooth::Exp => self.increasing(exp_bounds),
            Smooth::Log => self.increasing(log_bounds),
            Smooth::Sqrt => self.increasing(sqrt_bounds),
            Smooth::Sin => self.wave(sin_bounds, 0.25, 0.75),
            Smooth::Cos => self.wave(cos_bounds, 0.0, 0.5),
            Smooth::Tanh => self.increasing(tanh_bounds),
            // the argument occurs once, so this is as tight as its parts
            Smooth::Sigmoid => return self.neg().exp()?.add(&Self::one()).inv(),
            Smooth::Softplus => self.increasing(softplus_bounds),
            Smooth::Tan
            | Smooth::Asin
            | Smooth::Acos
            | Smooth::Atan
            | Smooth::Sinh
            | Smooth::Cosh
            | Smooth::Asinh
            | Smooth::Acosh
            | Smooth::Atanh
            | Smooth::Erf
            | Smooth::Erfc
            | Smooth::ErfSlope
            | Smooth::Log1p
            | Smooth::Expm1
            | Smooth::Root(..) => return self.enclosed(f),
            Smooth::Power(k) if k < 0 => return self.power(k.unsigned_abs()).inv(),
            Smooth::Power(k) => self.power(k.unsigned_abs()),
        })
    }

    fn stair(&self, s: Stair) -> Result<Self, NumberError> {
        Ok(Interval::between(self.lo.stair(s)?, self.hi.stair(s)?))
    }

    fn compare(&self, other: &Self) -> Option<Ordering> {
        if self.hi < other.lo {
            Some(Ordering::Less)
        } else if self.lo > other.hi {
            Some(Ordering::Greater)
        } else if self.is_point() && self == other {
            Some(Ordering::Equal)
        } else {
            None
        }
    }

    fn is_finite(&self) -> bool {
        self.lo.is_finite() && self.hi.is_finite()
    }

    fn abs(&self) -> Result<Self, NumberError> {
        Ok(if self.lo >= 0.0 {
            *self
        } else if self.hi <= 0.0 {
            self.neg()
        } else {
            Interval::between(0.0, self.hi.max(-self.lo))
        })
    }

    fn max(&self, other: &Self) -> Result<Self, NumberError> {
        Ok(Interval::between(self.lo.max(other.lo), self.hi.max(other.hi)))
    }

    fn min(&self, other: &Self) -> Result<Self, NumberError> {
        Ok(Interval::between(self.lo.min(other.lo), self.hi.min(other.hi)))
    }

    fn hull(&self, other: &Self) -> Option<Self> {
        Some(Interval::between(self.lo.min(other.lo), self.hi.max(other.hi)))
    }

    fn to_f64(&self) -> f64 {
        let middle = self.lo.midpoint(self.hi);
        // The whole line has no midpoint, and zero is as good as any.
        if middle.is_nan() { 0.0 } else { middle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn interval(lo: f64, hi: f64) -> Interval {
        Interval::new(lo, hi).unwrap()
    }

    fn rational(x: f64) -> Rational {
        Rational::from_f64(x).unwrap()
    }

    /// Floats of every magnitude, with many ties and exact results.
    fn float() -> impl Strategy<Value = f64> {
        prop_oneof![
            (-8_i32..8).prop_map(|n| f64::from(n) / 4.0),
            -1e3..1e3,
            (-1e3..1e3, -1080_i32..1013).prop_map(|(x, e)| x * 2_f64.powi(e)),
            any::<f64>().prop_filter("finite", |x| x.is_finite()),
        ]
    }

    /// An interval and three of its members: the ends and one between.
    fn enclosed() -> impl Strategy<Value = (Interval, [Rational; 3])> {
        (float(), float(), 0_i64..=8).prop_map(|(a, b, t)| {
            let (lo, hi) = (rational(a.min(b)), rational(a.max(b)));
            let between = &lo + (&hi - &lo) * Rational::new(t, 8).unwrap();
            (interval(a.min(b), a.max(b)), [lo, between, hi])
        })
    }

    proptest! {
        #[test]
        fn operations_enclose_the_exact_value((x, xs) in enclosed(), (y, ys) in enclosed()) {
            for a in &xs {
                for b in &ys {
                    prop_assert!(x.contains(a));
                    prop_assert!(x.add(&y).contains(&(a + b)));
                    prop_assert!(x.sub(&y).contains(&(a - b)));
                    prop_assert!(x.mul(&y).contains(&(a * b)));
                    if let Ok(quotient) = x.div(&y) {
                        prop_assert!(quotient.contains(&a.checked_div(b).unwrap()));
                    }
                    prop_assert!(x.max(&y).unwrap().contains(Ord::max(a, b)));
                    prop_assert!(x.min(&y).unwrap().contains(Ord::min(a, b)));
                    if let Some(order) = x.compare(&y) {
                        prop_assert_eq!(a.cmp(b), order);
                    }
                }
                let hull = x.hull(&y).unwrap();
                prop_assert!(hull.contains(a));
                prop_assert!(x.abs().unwrap().contains(&a.abs()));
                prop_assert!(x.relu().unwrap().contains(&Number::relu(a).unwrap()));
            }
        }

        #[test]
        fn powers_and_roots_enclose((x, xs) in enclosed(), n in -5_i32..6) {
            for a in &xs {
                if let Ok(power) = x.powi(n) {
                    prop_assert!(power.contains(&a.pow(n).unwrap()), "{x}^{n} = {power}");
                }
                if let Ok(root) = x.sqrt() {
                    let square = |end: f64| rational(end).pow(2).unwrap();
                    prop_assert!(square(root.lo()) <= xs[0] && xs[2] <= square(root.hi()));
                }
            }
        }

        #[test]
        fn points_are_rounded_tightly(a in -1e9..1e9, b in -1e9..1e9) {
            let (x, y) = (Interval::point(a), Interval::point(b));
            let exact = |r: Rational| Interval::from_rational(&r).unwrap();
            prop_assert_eq!(x.add(&y), exact(rational(a) + rational(b)));
            prop_assert_eq!(x.mul(&y), exact(rational(a) * rational(b)));
            if b != 0.0 {
                let quotient = rational(a).checked_div(&rational(b)).unwrap();
                prop_assert_eq!(x.div(&y).unwrap(), exact(quotient));
            }
        }

        #[test]
        fn functions_enclose_their_samples(a in -50_f64..50.0, w in 0_f64..12.0, t in 0_f64..=1.0) {
            let x = interval(a, a + w);
            let s = (a + w * t).min(a + w);
            let near = |y: Interval, v: f64| y.lo() <= v && v <= y.hi();
            prop_assert!(near(x.exp().unwrap(), s.exp()));
            prop_assert!(near(x.sin().unwrap(), s.sin()));
            prop_assert!(near(x.cos().unwrap(), s.cos()));
            prop_assert!(near(x.tanh().unwrap(), s.tanh()));
            prop_assert!(near(x.sigmoid().unwrap(), Number::sigmoid(&s).unwrap()));
            prop_assert!(near(x.smooth(Smooth::Softplus).unwrap(), s.smooth(Smooth::Softplus).unwrap()));
            if a > 0.0 {
                prop_assert!(near(x.log().unwrap(), s.ln()));
            }
            prop_assert!(x.sin().unwrap().hi() <= 1.0 && x.tanh().unwrap().lo() >= -1.0);
        }

        #[test]
        fn the_exponential_encloses_its_series(n in -64_i64..=64) {
            let x = Rational::new(n, 64).unwrap();
            // The remainder after 30 terms is below 2/30! in magnitude.
            let (mut term, mut sum) = (Rational::ONE, Rational::ZERO);
            for k in 1..=30_i64 {
                sum += &term;
                term = &term * &x * Rational::new(1, k).unwrap();
            }
            let error = "1e-32".parse::<Rational>().unwrap();
            let y = Interval::from_rational(&x).unwrap().exp().unwrap();
            prop_assert!(rational(y.lo()) <= &sum + &error && &sum - &error <= rational(y.hi()));
            prop_assert!(y.width() <= 2e-15);
        }
    }

    #[test]
    fn exact_results_stay_points() {
        let (zero, one) = (Interval::zero(), Interval::one());
        let third = Interval::from_rational(&"1/3".parse().unwrap()).unwrap();
        assert_eq!(one.add(&one), Interval::point(2.0));
        assert_eq!(third.mul(&zero), zero);
        assert_eq!(third.mul(&one), third);
        assert_eq!(zero.exp(), Ok(one));
        assert_eq!(one.log(), Ok(zero));
        assert_eq!(zero.sin(), Ok(zero));
        assert_eq!(zero.cos(), Ok(one));
        assert_eq!(zero.tanh(), Ok(zero));
        assert_eq!(zero.sigmoid(), Ok(Interval::point(0.5)));
        assert_eq!(Interval::point(9.0).sqrt(), Ok(Interval::point(3.0)));
        assert_eq!(Interval::point(-3.0).powi(3), Ok(Interval::point(-27.0)));
        assert_eq!(Interval::point(2.0).powi(-2), Ok(Interval::point(0.25)));
        assert_eq!(third.powi(0), Ok(one));
        assert_eq!(Interval::from_usize(7), Interval::point(7.0));
    }

    #[test]
    fn even_powers_are_tight_around_zero() {
        assert_eq!(interval(-2.0, 3.0).powi(2), Ok(interval(0.0, 9.0)));
        assert_eq!(interval(-3.0, -2.0).powi(2), Ok(interval(4.0, 9.0)));
        assert_eq!(interval(-2.0, 3.0).powi(3), Ok(interval(-8.0, 27.0)));
        assert_eq!(interval(-2.0, 3.0).powi(-1), Err(NumberError::Undecided));
    }

    #[test]
    fn waves_reach_their_extrema() {
        assert_eq!(interval(0.0, 2.0).sin().unwrap().hi(), 1.0);
        assert!(interval(0.0, 1.5).sin().unwrap().hi() < 1.0);
        assert_eq!(interval(3.0, 4.0).cos().unwrap().lo(), -1.0);
        assert_eq!(interval(-0.1, 0.1).cos().unwrap().hi(), 1.0);
        assert_eq!(interval(0.0, 7.0).sin(), Ok(interval(-1.0, 1.0)));
        assert_eq!(interval(0.0, f64::INFINITY).cos(), Ok(interval(-1.0, 1.0)));
        assert_eq!(interval(1e17, 2e17).sin(), Ok(interval(-1.0, 1.0)));
    }

    #[test]
    fn domains_are_decided_or_not() {
        let across = interval(-1.0, 1.0);
        assert_eq!(across.log(), Err(NumberError::Undecided));
        assert_eq!(across.sqrt(), Err(NumberError::Undecided));
        assert_eq!(Interval::zero().log(), Err(NumberError::LogOfNonPositive));
        assert_eq!(interval(-2.0, -1.0).sqrt(), Err(NumberError::SqrtOfNegative));
        assert_eq!(Interval::one().div(&across), Err(NumberError::Undecided));
        let by_zero = Interval::one().div(&Interval::zero());
        assert_eq!(by_zero, Err(NumberError::DivisionByZero));
        assert_eq!(across.compare(&Interval::one()), None);
    }

    #[test]
    fn overflow_stays_an_enclosure() {
        let huge = Interval::point(f64::MAX);
        let beyond = interval(f64::MAX, f64::INFINITY);
        assert_eq!(huge.add(&huge), beyond);
        assert_eq!(huge.mul(&huge), beyond);
        assert!(!beyond.is_finite());
        assert_eq!(beyond.mul(&Interval::zero()), Interval::zero());
        assert_eq!(beyond.sub(&beyond), Interval::point(f64::NAN));
        assert_eq!(beyond.sub(&beyond).to_f64(), 0.0);
        assert_eq!(beyond.div(&beyond).unwrap(), interval(0.0, f64::INFINITY));
        assert_eq!(interval(-1e4, 1e4).exp(), Ok(interval(0.0, f64::INFINITY)));
        let vast = "1e400".parse().unwrap();
        assert_eq!(Interval::from_rational(&vast), Ok(beyond));
        assert!(beyond.contains(&vast));
        assert_eq!(Interval::new(f64::INFINITY, f64::INFINITY), None);
        assert_eq!(Interval::new(f64::NAN, 1.0), None);
    }

    #[test]
    fn shown_by_endpoints() {
        assert_eq!(Interval::point(0.5).to_string(), "0.5");
        assert_eq!(interval(-0.0, 1.0).to_string(), "[0, 1]");
        assert_eq!(interval(1.0, 2.0).to_f64(), 1.5);
    }
}
