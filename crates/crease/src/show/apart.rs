//! Digits that tell numbers apart.
//!
//! [`Apart`] takes vectors that are exact or enclosed. It finds the numbers whose nearest float is not
//! enough, because a certainly different number has the same float or because no float comes near,
//! and the decimal digits that they need. All other numbers are written as by [`answer`](super::answer()).

use crease_core::Rational;
use std::collections::{BTreeMap, HashMap};

/// A vector, and how far each of its numbers may be off; nothing if it is exact.
pub type Enclosed<'v> = (&'v [Rational], Option<&'v [Rational]>);

/// Fractions of numbers up to this are told apart by floats.
const SHORT: i64 = 1 << 26;

/// A number that a float comes less close to, relative to its size, is written in digits.
const CLOSE: i64 = 1 << 40;

/// The digits of a number that no float comes near.
const DIGITS: i64 = 17;

/// Which numbers of some vectors need digits, and where these end.
///
/// ```
/// use crease::Rational;
/// use crease::show::Apart;
/// let number = |x: &str| [x.parse::<Rational>().unwrap()];
/// let [a, b, c] = ["1", "1.00000000000000000003", "1/3"].map(number);
/// let apart = Apart::of([(&a[..], None), (&b[..], None), (&c[..], None)]);
/// assert_eq!(apart.digits(1, 0, (&b, None)).unwrap(), "1.00000000000000000003");
/// assert!(apart.is_needed(0) && !apart.is_needed(2));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Apart {
    /// By vector that needs digits: for each of its numbers, the power of ten of the last digit.
    units: BTreeMap<usize, Vec<Option<i32>>>,
}

impl Apart {
    /// Looks at all vectors, which have as many numbers each.
    pub fn of<'v>(vectors: impl IntoIterator<Item = Enclosed<'v>>) -> Apart {
        let vectors: Vec<Enclosed<'_>> = vectors.into_iter().collect();
        let mut apart = Apart::default();
        let dimension = vectors.first().map_or(0, |(middle, _)| middle.len());
        for k in 0..dimension {
            let number = |i: usize| (&vectors[i].0[k], vectors[i].1.map(|r| &r[k]));
            // short fractions have floats of their own, which are near
            if (0..vectors.len()).all(|i| is_short(number(i))) {
                continue;
            }
            let mut classes: HashMap<u64, Vec<usize>> = HashMap::new();
            for i in 0..vectors.len() {
                let (x, r) = number(i);
                let near = x.to_f64() + 0.0;
                classes.entry(near.to_bits()).or_default().push(i);
                if let Some(unit) = far_from_floats(x, r, near) {
                    apart.note(i, k, dimension, unit);
                }
            }
            for class in classes.into_values().filter(|c| c.len() > 1) {
                let Some(unit) = smallest_gap(&class, number).and_then(|gap| floor_log10(&gap)) else { continue };
                // a tenth of the gap: what is told apart differs in more than the last digit
                class.into_iter().for_each(|i| apart.note(i, k, dimension, unit - 1));
            }
        }
        apart
    }

    fn note(&mut self, vector: usize, coordinate: usize, dimension: usize, unit: i32) {
        let slot = &mut self.units.entry(vector).or_insert_with(|| vec![None; dimension])[coordinate];
        *slot = Some(slot.map_or(unit, |u| u.min(unit)));
    }

    /// Whether a vector has a number that needs digits.
    pub fn is_needed(&self, vector: usize) -> bool {
        self.units.contains_key(&vector)
    }

    /// Whether some vector has.
    pub fn is_needed_somewhere(&self) -> bool {
        !self.units.is_empty()
    }

    /// The power of ten of the last digit of a number of a vector, if it needs digits.
    pub fn unit(&self, vector: usize, coordinate: usize) -> Option<i32> {
        self.units.get(&vector).and_then(|units| units[coordinate])
    }

    /// The digits of a number of a vector, if it needs some.
    pub fn digits(&self, vector: usize, coordinate: usize, (middle, radius): Enclosed<'_>) -> Option<String> {
        let unit = self.unit(vector, coordinate)?;
        Some(decimal(&middle[coordinate], radius.map(|r| &r[coordinate]), unit))
    }
}

/// A number in decimal digits down to a power of ten.
///
/// The text is off by at most one unit of the last digit, or by the bound behind ±.
///
/// ```
/// use crease::{Rational, show};
/// let third = Rational::new(1, 3).unwrap();
/// assert_eq!(show::decimal(&third, None, -20), "0.33333333333333333333");
/// let off = Rational::new(1, 1_000_000).unwrap();
/// assert_eq!(show::decimal(&third, Some(&off), -8), "0.33333333 ± 0.00000101");
/// ```
pub fn decimal(middle: &Rational, radius: Option<&Rational>, unit: i32) -> String {
    let scale = Rational::from(10).pow(unit).filter(|s| !s.is_zero());
    let Some((scale, scaled)) = scale.and_then(|s| Some((s.clone(), middle.checked_div(&s)?))) else {
        return super::exact(middle);
    };
    let half = Rational::new(1, 2).unwrap_or_default();
    let rounded = (&scaled + &half).floor();
    let text = placed(&rounded, unit);
    let off = radius.and_then(|r| r.checked_div(&scale)).unwrap_or_default();
    if off <= half {
        return text;
    }
    let off = (off + (&scaled - &rounded).abs()).floor() + Rational::ONE;
    format!("{text} ± {}", placed(&off, unit))
}

/// An integer times a power of ten.
fn placed(integer: &Rational, unit: i32) -> String {
    let sign = if integer.is_negative() { "-" } else { "" };
    let all = integer.abs().fraction();
    let digits = all.trim_end_matches('0');
    if digits.is_empty() {
        return "0".into();
    }
    // digits before the point; not positive for numbers below 1
    let whole = all.len() as i64 + i64::from(unit);
    let (first, rest) = digits.split_at(1);
    let text = match whole {
        1..=21 if digits.len() as i64 <= whole => format!("{digits}{}", "0".repeat(whole as usize - digits.len())),
        1..=21 => format!("{}.{}", &digits[..whole as usize], &digits[whole as usize..]),
        -5..=0 => format!("0.{}{digits}", "0".repeat(-whole as usize)),
        _ if rest.is_empty() => format!("{first}e{}", whole - 1),
        _ => format!("{first}.{rest}e{}", whole - 1),
    };
    format!("{sign}{text}")
}

/// Whether a number is exact and short.
fn is_short((x, radius): (&Rational, Option<&Rational>)) -> bool {
    radius.is_none_or(Rational::is_zero)
        && x.small_parts().is_some_and(|(n, d)| (-SHORT..=SHORT).contains(&n) && (1..=SHORT).contains(&d))
}

/// Where the digits of a number end that no float comes near.
fn far_from_floats(x: &Rational, radius: Option<&Rational>, near: f64) -> Option<i32> {
    let size = x.abs();
    // of what may be 0 there are no digits
    if radius.map_or(size.is_zero(), |r| *r >= size) {
        return None;
    }
    let off = Rational::from_f64(near).map(|near| (&near - x).abs());
    let far = off.is_none_or(|off| Rational::from(CLOSE) * off > size);
    if far { floor_log10(&size)?.checked_sub(DIGITS as i32 - 1) } else { None }
}

/// The smallest distance between two numbers that are certainly different.
fn smallest_gap<'v>(
    class: &[usize],
    number: impl Fn(usize) -> (&'v Rational, Option<&'v Rational>),
) -> Option<Rational> {
    let end = |i: usize, up: bool| match number(i) {
        (x, None) => x.clone(),
        (x, Some(r)) => {
            if up {
                x + r
            } else {
                x - r
            }
        }
    };
    let mut highs: Vec<Rational> = class.iter().map(|&i| end(i, true)).collect();
    highs.sort();
    let below = |i: &usize| {
        let low = end(*i, false);
        let nearest = highs.partition_point(|high| *high < low).checked_sub(1)?;
        Some(&low - &highs[nearest])
    };
    class.iter().filter_map(below).min()
}

/// The largest power of ten that is not above a positive number, if it is not out of reach.
fn floor_log10(x: &Rational) -> Option<i32> {
    let two = x.floor_log2()?;
    let mut ten = i32::try_from((two as f64 * std::f64::consts::LOG10_2).floor() as i64).ok()?;
    let power = |k: i32| Rational::from(10).pow(k);
    while power(ten)? > *x {
        ten -= 1;
    }
    while power(ten + 1)? <= *x {
        ten += 1;
    }
    Some(ten)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(text: &str) -> Rational {
        text.parse().unwrap()
    }

    fn shown(numbers: &[(&str, &str)]) -> Vec<Option<String>> {
        let vectors: Vec<[Vec<Rational>; 2]> = numbers.iter().map(|(x, off)| [vec![r(x)], vec![r(off)]]).collect();
        let apart = Apart::of(vectors.iter().map(|[x, off]| (&x[..], Some(&off[..]))));
        vectors.iter().enumerate().map(|(i, [x, off])| apart.digits(i, 0, (x, Some(off)))).collect()
    }

    #[test]
    fn digits_are_those_that_tell_numbers_apart() {
        let some = |texts: &[&str]| texts.iter().map(|t| Some(t.to_string())).collect::<Vec<_>>();
        assert_eq!(
            shown(&[("1.00000000000000000001", "1e-40"), ("1.00000000000000000002", "1e-40")]),
            some(&["1.00000000000000000001", "1.00000000000000000002"])
        );
        // the enclosures of the first two meet
        assert_eq!(shown(&[("2", "1e-25"), ("2.0000000000000000000000001", "1e-25"), ("3", "0")]), [None, None, None]);
        // wide, but certainly apart
        assert_eq!(
            shown(&[("-7", "1e-18"), ("-7.0000000000000000021", "1e-18")]),
            some(&["-7 ± 1.01e-18", "-7.0000000000000000021 ± 1.01e-18"])
        );
        // beyond all floats, and below
        assert_eq!(
            shown(&[("1e400", "1e300"), ("-3e-400", "1e-500"), ("1e-400", "1")]),
            [Some("1e400".into()), Some("-3e-400".into()), None]
        );
        assert_eq!(shown(&[("1/3", "0"), ("0.1", "1e-30"), ("1/3", "0")]), [None, None, None]);
    }

    /// What is written is within a unit of the last digit, or within what is told, of the number.
    #[test]
    fn digits_enclose() {
        let mut random = crease_core::random::SplitMix64::new(4);
        for _ in 0..2000 {
            let mut number =
                || Rational::new(random.bits() as i64, (random.bits() >> (1 + random.below(62))) as i64 | 1).unwrap();
            let (x, off) = (number(), number().abs() * r("1e-20"));
            let unit = random.below(40) as i32 - 30;
            let text = decimal(&x, Some(&off), unit);
            let (digits, told) = match text.split_once(" ± ") {
                Some((digits, told)) => (r(digits), r(told)),
                None => (r(&text), Rational::from(10).pow(unit).unwrap()),
            };
            assert!((&digits - &x).abs() + &off <= told, "{x} ± {off} at {unit}: {text}");
        }
    }
}
