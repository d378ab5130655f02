//! What is true of a case, found by evaluating it at hundreds of bits: differences, and whether they shrink with the step.
//!
//! A claim about a limit is compared with what is seen at a step t and at a step far smaller. The distance from the claim
//! must vanish with t, at least like its fourth root; if instead it stays, at steps down to 2^-1500, the claim is wrong.
//! Everything between is inconclusive.

use super::claims::{Bounds, Gradient};
use crease_core::number::Rational;
use crease_corpus::hostile::Case;
use crease_corpus::precise::{Arithmetic, Fault, Number, evaluate};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    Right,
    Wrong,
    Inconclusive,
}

use Judgement::{Inconclusive, Right, Wrong};

impl Judgement {
    /// Both of two claims: wrong if one is.
    pub fn and(self, other: Judgement) -> Judgement {
        match (self, other) {
            (Wrong, _) | (_, Wrong) => Wrong,
            (Right, Right) => Right,
            _ => Inconclusive,
        }
    }

    /// Whether all of a list hold; stops at the first that does not.
    pub fn all(list: impl IntoIterator<Item = Judgement>) -> Judgement {
        let mut sum = Right;
        for j in list {
            sum = sum.and(j);
            if sum == Wrong {
                break;
            }
        }
        sum
    }
}

/// Steps 2^-k and the bits to take them with. The first two are always taken; the others confirm a doubt.
const LEVELS: [(i32, usize); 4] = [(150, 1000), (300, 1000), (700, 2600), (1500, 5000)];

/// The same for differences of differences: points 2^-k away, and steps of 2^-3k there.
const GRADIENT_LEVELS: [(i32, usize); 4] = [(100, 1100), (200, 1100), (450, 2400), (900, 4600)];

/// A place near the point: a sum of directions, each with a power of two of the step.
pub type Curve<'a> = &'a [(i32, &'a [Rational])];

/// What is seen at one step: how far it is from the claim, as the binary logarithm.
#[derive(Clone, Copy, Debug)]
enum Seen {
    /// Nothing that the precision could tell from zero.
    Nothing,
    /// Certainly so far: between these powers of two.
    Distance(i64, i64),
    /// There is no value at that step.
    NoValue,
    /// It cannot be told.
    Unclear,
}

/// A case with the values that were found so far.
pub struct Truth<'a> {
    case: &'a Case,
    arithmetics: RefCell<HashMap<usize, std::rc::Rc<Arithmetic>>>,
    known: RefCell<HashMap<(usize, Vec<Rational>), Result<Number, Fault>>>,
}

impl<'a> Truth<'a> {
    pub fn new(case: &'a Case) -> Self {
        Truth { case, arithmetics: RefCell::default(), known: RefCell::default() }
    }

    fn arithmetic(&self, bits: usize) -> std::rc::Rc<Arithmetic> {
        self.arithmetics.borrow_mut().entry(bits).or_insert_with(|| Arithmetic::new(bits).into()).clone()
    }

    /// The value at a place, with more bits if a decision is too close with these.
    fn value(&self, at: Vec<Rational>, bits: usize) -> Result<Number, Fault> {
        let key = (bits, at);
        if let Some(value) = self.known.borrow().get(&key) {
            return value.clone();
        }
        let near = Case { point: key.1.clone(), ..self.case.clone() };
        let run = |bits: usize| evaluate(&near.program, &near.inputs(), &self.arithmetic(bits));
        let value = match run(bits) {
            Err(Fault::TooClose) => run(3 * bits),
            told => told,
        };
        let value = value.map(|mut outputs| outputs.swap_remove(0));
        self.known.borrow_mut().insert(key, value.clone());
        value
    }

    /// The value at the point itself.
    pub fn here(&self) -> Result<Number, Fault> {
        self.value(self.case.point.clone(), LEVELS[0].1)
    }

    fn place(&self, curve: Curve<'_>, k: i32) -> Vec<Rational> {
        let mut at = self.case.point.clone();
        for (power, d) in curve {
            let step = power_of_two(-k * power);
            at.iter_mut().zip(*d).for_each(|(x, d)| x.add_mul(&step, d));
        }
        at
    }

    /// The difference quotient from the point to a place on a curve.
    fn quotient(&self, curve: Curve<'_>, (k, bits): (i32, usize)) -> Result<Number, Fault> {
        let a = self.arithmetic(bits);
        let (there, here) = (self.value(self.place(curve, k), bits)?, self.value(self.case.point.clone(), bits)?);
        a.mul(&a.sub(&there, &here)?, &exact(&power_of_two(k)))
    }

    /// How far a number is from bounds.
    fn distance(&self, x: Result<Number, Fault>, to: &Bounds, bits: usize) -> Seen {
        let a = self.arithmetic(bits);
        let apart = x.and_then(|x| {
            let (low, high) = (a.sub(&exact(&to.low), &x)?, a.sub(&x, &exact(&to.high))?);
            a.max(&a.max(&low, &high)?, &Number::zero())
        });
        match apart {
            Ok(apart) => self.seen(&apart, bits),
            Err(Fault::NoValue(_)) => Seen::NoValue,
            Err(_) => Seen::Unclear,
        }
    }

    fn seen(&self, apart: &Number, bits: usize) -> Seen {
        let size = self.arithmetic(bits).size(apart);
        match (size.least, size.most) {
            (_, None) => Seen::Nothing,
            (Some(least), Some(most)) => Seen::Distance(least, most),
            // what cannot be told from zero must be small to pass as zero
            (None, Some(most)) if most < -(bits as i64) / 4 => Seen::Nothing,
            _ => Seen::Unclear,
        }
    }

    /// Judges a limit by what is seen at ever smaller steps.
    fn limit(&self, levels: &[(i32, usize); 4], see: impl Fn((i32, usize)) -> Seen) -> Judgement {
        let mut last = match see(levels[1]) {
            Seen::Nothing => return Right,
            Seen::NoValue => None,
            Seen::Unclear => return Inconclusive,
            Seen::Distance(least, most) => {
                if let Seen::Distance(before, _) = see(levels[0])
                    && most < before - i64::from(levels[1].0 - levels[0].0) / 4
                {
                    return Right;
                }
                Some(least)
            }
        };
        for i in [2, 3] {
            match (see(levels[i]), last) {
                (Seen::Nothing, _) => return Right,
                (Seen::Distance(_, most), Some(before)) if most < before - i64::from(levels[i].0 - levels[i - 1].0) / 4 => {
                    return Right;
                }
                (Seen::Distance(least, _), Some(before)) if i == 3 => {
                    return if least >= before - 8 { Wrong } else { Inconclusive };
                }
                (Seen::Distance(least, _), _) if i == 2 => last = Some(least),
                (Seen::NoValue, None) if i == 3 => return Wrong,
                (Seen::NoValue, None) => {}
                _ => return Inconclusive,
            }
        }
        Inconclusive
    }

    /// Whether the quotients along a curve tend to a number between bounds.
    pub fn tends(&self, curve: Curve<'_>, to: &Bounds) -> Judgement {
        self.limit(&LEVELS, |level| self.distance(self.quotient(curve, level), to, level.1))
    }

    /// Whether the derivatives along a direction and its opposite add up to zero.
    pub fn is_even(&self, d: &[Rational]) -> Judgement {
        let minus: Vec<Rational> = d.iter().map(|x| -x).collect();
        let nothing = Bounds::exactly(Rational::ZERO);
        self.limit(&LEVELS, |level| {
            let a = self.arithmetic(level.1);
            let both = |level| a.add(&self.quotient(&[(1, d)], level)?, &self.quotient(&[(1, &minus)], level)?);
            self.distance(both(level), &nothing, level.1)
        })
    }

    /// Whether the derivative along a sum is the sum of the derivatives.
    pub fn is_additive(&self, d: &[Rational], e: &[Rational]) -> Judgement {
        let sum: Vec<Rational> = d.iter().zip(e).map(|(d, e)| d + e).collect();
        let nothing = Bounds::exactly(Rational::ZERO);
        self.limit(&LEVELS, |level| {
            let a = self.arithmetic(level.1);
            let parts = |level| a.add(&self.quotient(&[(1, d)], level)?, &self.quotient(&[(1, e)], level)?);
            let apart = |level| a.sub(&parts(level)?, &self.quotient(&[(1, &sum)], level)?);
            self.distance(apart(level), &nothing, level.1)
        })
    }

    /// Whether quotients along a direction have a limit at all: their changes shrink with the step.
    pub fn converges(&self, d: &[Rational]) -> Judgement {
        let nothing = Bounds::exactly(Rational::ZERO);
        let levels = [LEVELS[0], LEVELS[1], (600, 2600), (1200, 5000)];
        self.limit(&levels, |(k, bits)| {
            let a = self.arithmetic(bits);
            let change = self.quotient(&[(1, d)], (k, bits)).and_then(|q| a.sub(&q, &self.quotient(&[(1, d)], (k / 2, bits))?));
            self.distance(change, &nothing, bits)
        })
    }

    /// The derivative along axis `i` at a place on a curve, from one side or from both.
    fn partial(&self, curve: Curve<'_>, i: usize, sides: [i64; 2], (k, bits): (i32, usize)) -> Result<Number, Fault> {
        let a = self.arithmetic(bits);
        let at = self.place(curve, k);
        let moved = |sign: i64| {
            let mut at = at.clone();
            at[i] += power_of_two(-3 * k) * Rational::from(sign);
            self.value(at, bits)
        };
        let change = a.sub(&moved(sides[0])?, &moved(sides[1])?)?;
        let over = power_of_two(3 * k).checked_div(&Rational::from(sides[0] - sides[1])).unwrap_or_default();
        a.mul(&change, &exact(&over))
    }

    /// Whether gradients along a curve tend to this one.
    pub fn gradients_tend(&self, curve: Curve<'_>, to: &Gradient) -> Judgement {
        Judgement::all(to.iter().enumerate().map(|(i, bounds)| match bounds {
            None => Inconclusive,
            Some(bounds) => self.limit(&GRADIENT_LEVELS, |level| {
                self.distance(self.partial(curve, i, [1, -1], level), bounds, level.1)
            }),
        }))
    }

    /// Whether the function is seen to be differentiable along the axes at a place on a curve: both sides agree.
    fn smooth_at(&self, curve: Curve<'_>, level: (i32, usize)) -> bool {
        let a = self.arithmetic(level.1);
        (0..self.case.point.len()).all(|i| {
            let apart = self.partial(curve, i, [1, 0], level).and_then(|up| a.sub(&up, &self.partial(curve, i, [0, -1], level)?));
            match apart.map(|x| a.size(&x).most) {
                Ok(None) => true,
                Ok(Some(most)) => most < -i64::from(level.0),
                Err(_) => false,
            }
        })
    }

    /// Whether the limit of gradients along a curve is in a list. Nothing is learnt where the curve does not stay clear of kinks.
    pub fn is_among(&self, curve: Curve<'_>, list: &[Gradient]) -> Judgement {
        if !self.smooth_at(curve, GRADIENT_LEVELS[1]) {
            return Inconclusive;
        }
        let mut sum = Wrong;
        for g in list {
            match self.gradients_tend(curve, g) {
                Right => return Right,
                Inconclusive => sum = Inconclusive,
                Wrong => {}
            }
        }
        if sum == Wrong && !self.smooth_at(curve, GRADIENT_LEVELS[3]) {
            return Inconclusive;
        }
        sum
    }

    /// Whether a value is between bounds.
    pub fn is_between(&self, bounds: &Bounds) -> Judgement {
        let bits = LEVELS[1].1;
        match self.distance(self.here(), bounds, bits) {
            Seen::Nothing => Right,
            Seen::Distance(..) | Seen::NoValue => Wrong,
            Seen::Unclear => Inconclusive,
        }
    }
}

/// Bounds of a product of bounds with a vector.
pub fn dot(g: &Gradient, d: &[Rational]) -> Option<Bounds> {
    let mut sum = Bounds::exactly(Rational::ZERO);
    for (g, d) in g.iter().zip(d) {
        let g = g.as_ref()?;
        let (low, high) = match d.cmp(&Rational::ZERO) {
            Ordering::Less => (&g.high, &g.low),
            _ => (&g.low, &g.high),
        };
        sum.low.add_mul(d, low);
        sum.high.add_mul(d, high);
    }
    Some(sum)
}

fn power_of_two(k: i32) -> Rational {
    Rational::from(2).pow(k).unwrap_or_default()
}

fn exact(r: &Rational) -> Number {
    Number::Exact(dashu_ratio::RBig::from(r.clone()))
}
