//! What is true of a case, found by evaluating it at hundreds of bits: differences, and whether they shrink with the step.
//!
//! A claim about a limit is compared with what is seen at a step t and at a step far smaller. The distance from the claim
//! must vanish with t; if instead it stays, at steps down to 2^-3000, the claim is wrong. Everything between is inconclusive.

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

/// How closely to look.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// At a distance of 2 to minus this.
    pub near: i32,
    /// For a gradient there, with steps of 2 to minus this.
    pub step: i32,
    /// With so many bits.
    pub bits: usize,
}

const fn level(near: i32, step: i32, bits: usize) -> Level {
    Level { near, step, bits }
}

/// Levels to look at. The second comes first, then, if something is seen there, the first; the others confirm a doubt. The last is
/// nearer than anything that cases have, the product of two numbers smaller than doubles included.
pub type Levels = [Level; 5];

/// For quotients from the point itself.
const QUOTIENTS: Levels =
    [level(150, 0, 800), level(300, 0, 800), level(700, 0, 1800), level(1500, 0, 4000), level(3000, 0, 7000)];

/// For gradients along lines.
const LINES: Levels = [
    level(100, 300, 800),
    level(200, 400, 800),
    level(450, 1000, 1800),
    level(900, 2000, 4000),
    level(3000, 6300, 9800),
];

/// For gradients along parabolas, which are as near to what they curve around as the square of the distance.
const CURVES: Levels = [
    level(100, 350, 1000),
    level(200, 600, 1000),
    level(450, 1300, 2200),
    level(900, 2700, 4600),
    level(3000, 9300, 12800),
];

/// Where pieces are smooth, differences vanish like the step itself: tenths of a power of it. What is slower may be a small number
/// that stays, seen against one that vanishes, and is looked at more closely.
const SMOOTH: i64 = 9;

/// At the last level, roots are allowed for.
const ROUGH: i64 = 2;

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
    /// Something that the precision cannot tell from zero, but not small enough to pass as zero.
    Blurred,
    /// It cannot be told, at any precision that is affordable.
    Unclear,
}

/// Whether a distance vanishes with the step, at least like so many tenths of a power of it, and is small by now.
fn vanishes(before: Seen, now: Seen, from: Level, to: Level, tenths: i64) -> bool {
    match (before, now) {
        (Seen::Distance(before, _), Seen::Distance(_, now)) => {
            now < before - tenths * i64::from(to.near - from.near) / 10 && now < -i64::from(to.near) / 4
        }
        _ => false,
    }
}

/// How many steps to look at.
#[derive(Clone, Copy, Debug)]
pub enum Look {
    /// Two of the larger.
    Glance,
    /// As many as it takes, from the larger down.
    Closely,
    /// The two smallest: even a difference that is smaller than all doubles shows there.
    Deeply,
}

/// Values that were found, by precision and place.
type Values = HashMap<(usize, Vec<Rational>), Result<Number, Fault>>;

/// A case with the values that were found so far.
pub struct Truth<'a> {
    case: &'a Case,
    arithmetics: RefCell<HashMap<usize, std::rc::Rc<Arithmetic>>>,
    known: RefCell<Values>,
}

impl<'a> Truth<'a> {
    pub fn case(&self) -> &'a Case {
        self.case
    }

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
            Err(Fault::TooClose) if bits <= QUOTIENTS[2].bits => run(3 * bits),
            told => told,
        };
        let value = value.map(|mut outputs| outputs.swap_remove(0));
        self.known.borrow_mut().insert(key, value.clone());
        value
    }

    /// The value at the point itself.
    pub fn here(&self) -> Result<Number, Fault> {
        self.value(self.case.point.clone(), QUOTIENTS[0].bits)
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
    fn quotient(&self, curve: Curve<'_>, Level { near: k, bits, .. }: Level) -> Result<Number, Fault> {
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
            _ => Seen::Blurred,
        }
    }

    /// Judges a limit by two steps only: enough where nothing hangs on it, or where it is the library that says that something stays.
    fn glance(&self, [wide, narrow]: [Level; 2], see: impl Fn(Level) -> Seen) -> Judgement {
        let now = see(narrow);
        if let Seen::Nothing = now {
            return Right;
        }
        match (now, see(wide)) {
            (now, before) if vanishes(before, now, wide, narrow, SMOOTH) => Right,
            (Seen::Distance(least, _), Seen::Distance(_, before)) if least >= before - 8 => Wrong,
            (Seen::NoValue, Seen::NoValue) => Wrong,
            _ => Inconclusive,
        }
    }

    /// Judges a limit by what is seen at ever smaller steps.
    fn limit(&self, levels: &Levels, see: impl Fn(Level) -> Seen) -> Judgement {
        let mut last = see(levels[1]);
        match last {
            Seen::Nothing => return Right,
            Seen::Unclear => return Inconclusive,
            Seen::Distance(..) if vanishes(see(levels[0]), last, levels[0], levels[1], SMOOTH) => return Right,
            _ => {}
        }
        for i in [2, 3, 4] {
            let now = see(levels[i]);
            match (last, now) {
                (_, Seen::Nothing) => return Right,
                (_, Seen::Unclear) => return Inconclusive,
                _ if vanishes(last, now, levels[i - 1], levels[i], if i == 4 { ROUGH } else { SMOOTH }) => {
                    return Right;
                }
                // it stays as it is
                (Seen::Distance(before, _), Seen::Distance(least, _)) if i == 4 && least >= before - 8 => return Wrong,
                (Seen::NoValue, Seen::NoValue) if i == 4 => return Wrong,
                _ => last = now,
            }
        }
        Inconclusive
    }

    fn look(&self, how: Look, levels: &Levels, see: impl Fn(Level) -> Seen) -> Judgement {
        match how {
            Look::Glance => self.glance([levels[0], levels[1]], see),
            Look::Closely => self.limit(levels, see),
            Look::Deeply => self.glance([levels[3], levels[4]], see),
        }
    }

    /// Whether the quotients along a curve tend to a number between bounds.
    pub fn tends(&self, curve: Curve<'_>, to: &Bounds) -> Judgement {
        self.limit(&QUOTIENTS, |level| self.distance(self.quotient(curve, level), to, level.bits))
    }

    /// Whether the derivatives along a direction and its opposite add up to zero.
    pub fn is_even(&self, how: Look, d: &[Rational]) -> Judgement {
        let minus: Vec<Rational> = d.iter().map(|x| -x).collect();
        let nothing = Bounds::exactly(Rational::ZERO);
        self.look(how, &QUOTIENTS, |level| {
            let a = self.arithmetic(level.bits);
            let both = |level| a.add(&self.quotient(&[(1, d)], level)?, &self.quotient(&[(1, &minus)], level)?);
            self.distance(both(level), &nothing, level.bits)
        })
    }

    /// Whether the derivative along a sum is the sum of the derivatives.
    pub fn is_additive(&self, how: Look, d: &[Rational], e: &[Rational]) -> Judgement {
        let sum: Vec<Rational> = d.iter().zip(e).map(|(d, e)| d + e).collect();
        let nothing = Bounds::exactly(Rational::ZERO);
        self.look(how, &QUOTIENTS, |level| {
            let a = self.arithmetic(level.bits);
            let parts = |level| a.add(&self.quotient(&[(1, d)], level)?, &self.quotient(&[(1, e)], level)?);
            let apart = |level| a.sub(&parts(level)?, &self.quotient(&[(1, &sum)], level)?);
            self.distance(apart(level), &nothing, level.bits)
        })
    }

    /// Whether quotients along a direction have a limit at all, at a glance: their changes shrink with the step.
    pub fn converges(&self, d: &[Rational]) -> Judgement {
        let nothing = Bounds::exactly(Rational::ZERO);
        self.look(Look::Glance, &QUOTIENTS, |level| {
            let a = self.arithmetic(level.bits);
            let wider = Level { near: level.near - 50, ..level };
            let change = self.quotient(&[(1, d)], level).and_then(|q| a.sub(&q, &self.quotient(&[(1, d)], wider)?));
            self.distance(change, &nothing, level.bits)
        })
    }

    /// The derivative along axis `i` at a place on a curve, from one side or from both.
    fn partial(&self, curve: Curve<'_>, i: usize, sides: [i64; 2], level: Level) -> Result<Number, Fault> {
        let axis: Vec<i64> = (0..self.case.point.len()).map(|k| i64::from(k == i)).collect();
        self.slope(curve, &axis, sides, level)
    }

    /// The derivative along a direction at a place on a curve, from one side or from both.
    fn slope(&self, curve: Curve<'_>, along: &[i64], sides: [i64; 2], level: Level) -> Result<Number, Fault> {
        let Level { near, step, bits } = level;
        let a = self.arithmetic(bits);
        let at = self.place(curve, near);
        let moved = |sign: i64| {
            let by = |d: i64| power_of_two(-step) * Rational::from(sign * d);
            self.value(at.iter().zip(along).map(|(x, &d)| x + &by(d)).collect(), bits)
        };
        let change = a.sub(&moved(sides[0])?, &moved(sides[1])?)?;
        let over = power_of_two(step).checked_div(&Rational::from(sides[0] - sides[1])).unwrap_or_default();
        a.mul(&change, &exact(&over))
    }

    /// Whether gradients along a curve tend to this one.
    pub fn gradients_tend(&self, curve: Curve<'_>, to: &Gradient) -> Judgement {
        self.gradients_tend_at(if curve.len() == 1 { &LINES } else { &CURVES }, curve, to)
    }

    /// The same, looking as closely as one says.
    pub fn gradients_tend_at(&self, levels: &Levels, curve: Curve<'_>, to: &Gradient) -> Judgement {
        Judgement::all(to.iter().enumerate().map(|(i, bounds)| match bounds {
            None => Inconclusive,
            Some(bounds) => self.limit(levels, |level| self.partial_from(curve, i, bounds, level)),
        }))
    }

    /// How far the derivative along an axis is from bounds, at a place on a curve.
    fn partial_from(&self, curve: Curve<'_>, i: usize, bounds: &Bounds, level: Level) -> Seen {
        self.distance(self.partial(curve, i, [1, -1], level), bounds, level.bits)
    }

    /// Whether the function is seen to be differentiable at a place on a curve: along axes both sides agree, and along what lies between them the derivative is
    /// the sum that it should be. (The median of x, -x and y has derivatives 0 along both axes at 0, and is not 0.)
    fn smooth_at(&self, curve: Curve<'_>, level: Level) -> bool {
        let a = self.arithmetic(level.bits);
        let n = self.case.point.len();
        let vanishes = |apart: Result<Number, Fault>| match apart.map(|x| a.size(&x).most) {
            Ok(None) => true,
            Ok(Some(most)) => most < -i64::from(level.near),
            Err(_) => false,
        };
        let both_agree = |i: usize| {
            let up = self.partial(curve, i, [1, 0], level);
            vanishes(up.and_then(|up| a.sub(&up, &self.partial(curve, i, [0, -1], level)?)))
        };
        let adds_up = |along: &[i64]| {
            let mut apart = self.slope(curve, along, [1, -1], level)?;
            for (i, &d) in along.iter().enumerate() {
                let part = a.mul(&self.partial(curve, i, [1, -1], level)?, &exact(&Rational::from(d)))?;
                apart = a.sub(&apart, &part)?;
            }
            Ok(apart)
        };
        let between: [Vec<i64>; 2] =
            [vec![1; n], (0..n as i64).map(|i| if i % 2 == 0 { 3 + i } else { -2 - i }).collect()];
        (0..n).all(both_agree) && (n < 2 || between.iter().all(|along| vanishes(adds_up(along))))
    }

    /// Whether the limit of gradients along a curve is in a list. Nothing is learnt where the curve does not stay clear of kinks.
    pub fn is_among(&self, curve: Curve<'_>, list: &[Gradient]) -> Judgement {
        let levels = if curve.len() == 1 { &LINES } else { &CURVES };
        if !self.smooth_at(curve, levels[1]) {
            return Inconclusive;
        }
        let at_once = |g: &Gradient| {
            Judgement::all(g.iter().enumerate().map(|(i, bounds)| match bounds {
                None => Inconclusive,
                Some(bounds) => self.look(Look::Glance, levels, |level| self.partial_from(curve, i, bounds, level)),
            }))
        };
        if list.iter().any(|g| at_once(g) == Right) {
            return Right;
        }
        let mut sum = Wrong;
        for g in list {
            match self.gradients_tend(curve, g) {
                Right => return Right,
                Inconclusive => sum = Inconclusive,
                Wrong => {}
            }
        }
        if sum == Wrong && !self.smooth_at(curve, levels[4]) {
            return Inconclusive;
        }
        sum
    }

    /// Whether a value is between bounds.
    pub fn is_between(&self, bounds: &Bounds) -> Judgement {
        let bits = QUOTIENTS[1].bits;
        match self.distance(self.here(), bounds, bits) {
            Seen::Nothing => Right,
            Seen::Distance(..) | Seen::NoValue => Wrong,
            Seen::Blurred | Seen::Unclear => Inconclusive,
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
