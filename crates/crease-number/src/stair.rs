//! Functions of one number that are constant between jumps: the sign, and the three ways to an integer.
//!
//! A function enters as a [`Stair`]; its name, its value at an exact number and its two values beside one leave. All of them grow, so that two ends of an
//! enclosure tell what is in between. Their slope is 0 wherever they have one. Where they jump they have none: a jump is no kink, and no
//! convention makes a derivative of it.

use crate::Rational;
use std::cmp::Ordering;

/// A function of one number that is constant between its jumps, and grows at each of them.
///
/// ```
/// use crease_number::{Number, Rational, Stair};
/// assert_eq!(Stair::Round.name(), "round");
/// assert_eq!(2.5_f64.stair(Stair::Round), Ok(2.0)); // ties go to even integers
/// assert_eq!("-7/2".parse::<Rational>().unwrap().stair(Stair::Floor), Ok(Rational::from(-4)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stair {
    /// -1, 0 or 1.
    Sign,
    /// The greatest integer that is not above.
    Floor,
    /// The least integer that is not below.
    Ceil,
    /// The nearest integer, the even one of two.
    Round,
}

impl Stair {
    /// All of them.
    pub const ALL: [Stair; 4] = [Stair::Sign, Stair::Floor, Stair::Ceil, Stair::Round];

    /// The name in the text language.
    pub fn name(self) -> &'static str {
        match self {
            Stair::Sign => "sign",
            Stair::Floor => "floor",
            Stair::Ceil => "ceil",
            Stair::Round => "round",
        }
    }

    /// The function of that name.
    pub fn from_name(name: &str) -> Option<Stair> {
        Stair::ALL.into_iter().find(|s| s.name() == name)
    }

    /// The value at a number.
    pub fn at(self, x: &Rational) -> Rational {
        match self {
            Stair::Sign => Rational::from(i64::from(x.signum())),
            Stair::Floor => x.floor(),
            Stair::Ceil => -(-x).floor(),
            Stair::Round => {
                let below = x.floor();
                let above = &below + &Rational::ONE;
                match (x - &below).cmp(&(&above - x)) {
                    Ordering::Less => below,
                    Ordering::Greater => above,
                    Ordering::Equal if below.is_even() => below,
                    Ordering::Equal => above,
                }
            }
        }
    }

    /// The values a little below and a little above a number where the function jumps; nothing elsewhere.
    ///
    /// ```
    /// use crease_number::{Rational, Stair};
    /// let half = Rational::new(5, 2).unwrap();
    /// assert_eq!(Stair::Round.jump(&half), Some((Rational::from(2), Rational::from(3))));
    /// assert_eq!(Stair::Floor.jump(&half), None);
    /// ```
    pub fn jump(self, x: &Rational) -> Option<(Rational, Rational)> {
        match self {
            Stair::Sign => x.is_zero().then(|| (Rational::from(-1), Rational::ONE)),
            Stair::Floor => x.is_integer().then(|| (x - &Rational::ONE, x.clone())),
            Stair::Ceil => x.is_integer().then(|| (x.clone(), x + &Rational::ONE)),
            Stair::Round => {
                let below = x.floor();
                let half = x - &below;
                (&half + &half == Rational::ONE).then(|| (below.clone(), &below + &Rational::ONE))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Field61, Interval, Mixed, Number, NumberError};

    #[test]
    fn floats_and_rationals_agree_at_and_beside_jumps() {
        for k in -12..=12 {
            for delta in [-1, 0, 1] {
                let x = f64::from(k) / 4.0 + f64::from(delta) / 64.0;
                let exact = Rational::from_f64(x).unwrap();
                for s in Stair::ALL {
                    let want = s.at(&exact);
                    assert_eq!(Number::stair(&exact, s).unwrap(), want);
                    assert_eq!(x.stair(s).unwrap(), want.to_f64(), "{} of {x}", s.name());
                    assert!(x.stair(s).unwrap() != 0.0 || x.stair(s).unwrap().is_sign_positive());
                    assert_eq!((x as f32).stair(s).unwrap(), want.to_f64() as f32);
                    assert_eq!(Interval::point(x).stair(s).unwrap(), Interval::point(want.to_f64()));
                    let near = Rational::new(1, 1_000_000).unwrap();
                    let sides = (s.at(&(&exact - &near)), s.at(&(&exact + &near)));
                    assert_eq!(s.jump(&exact), (sides.0 != sides.1).then_some(sides), "{} at {x}", s.name());
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_told_is_not() {
        assert!(f64::NAN.stair(Stair::Sign).unwrap().is_nan());
        assert_eq!(f64::INFINITY.stair(Stair::Sign), Ok(1.0));
        assert_eq!(Field61::one().stair(Stair::Floor), Err(NumberError::NoOrder));
        let e = Mixed::one().exp().unwrap();
        assert_eq!(e.stair(Stair::Floor).unwrap(), Mixed::from_usize(2));
        // log(exp(1)) is 1, and enclosures of it hold numbers on both sides
        assert_eq!(e.log().unwrap().stair(Stair::Floor), Err(NumberError::Undecided));
        assert_eq!(e.log().unwrap().stair(Stair::Round).unwrap(), Mixed::one());
        let wide = Interval::new(-0.5, 1.5).unwrap().stair(Stair::Ceil).unwrap();
        assert_eq!((wide.lo(), wide.hi()), (0.0, 2.0));
    }
}
