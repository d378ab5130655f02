//! Rationals as text: the literals of the language, read and written.
//!
//! `3`, `0.1` (exactly one tenth), `1e-3`, `1/3`, and `~0.1` for the double nearest to a decimal. What is written reads back
//! to the same number.

use super::Rational;
use super::Repr::Small;
use dashu_base::BitTest;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::fmt;
use std::str::FromStr;

/// Decimal exponents beyond this are refused, because a short text could otherwise ask for more
/// memory than there is.
const MAX_EXPONENT: i64 = 100_000;

/// Integers with more digits than this are refused: reading them takes time that grows with the square of the digits.
const MAX_INTEGER: usize = 1_000_000;

/// The same of decimals and of the parts of fractions, which are reduced besides.
const MAX_FRACTION: usize = 250_000;

/// Decimals with more significant digits than this are not shown as decimals.
const MAX_DIGITS: u32 = 17;

/// Why a text is not a [`Rational`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseRationalError {
    /// The text is not of any form that a number takes.
    #[error("not a number: expected a form such as 3, 0.1, 1e-3, 1/3 or ~0.1")]
    Malformed,
    /// There are more digits than are read.
    #[error("the number has {digits} digits, and no more than {most} are read")]
    TooLong {
        /// How many there are.
        digits: usize,
        /// How many may be.
        most: usize,
    },
    /// The denominator of a fraction is zero.
    #[error("the denominator is zero")]
    ZeroDenominator,
    /// The exponent of ten is larger in magnitude than is accepted.
    #[error("the exponent is beyond 100000")]
    ExponentTooLarge,
    /// The decimal after `~` is beyond the range of `f64`.
    #[error("no finite f64 is near this number")]
    NotFinite,
}

/// A decimal that is split but not yet evaluated.
struct Decimal<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: i64,
}

impl<'a> Decimal<'a> {
    fn split(text: &'a str) -> Result<Self, ParseRationalError> {
        let (negative, text) = split_sign(text);
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (digits(whole)?, digits(fraction)?),
            None => (digits(mantissa)?, ""),
        };
        let most = if fraction.is_empty() { MAX_INTEGER } else { MAX_FRACTION };
        short(whole.len() + fraction.len(), most)?;
        Ok(Decimal { negative, whole, fraction: fraction.trim_end_matches('0'), exponent })
    }

    fn value(&self) -> Rational {
        let scale = self.exponent - self.fraction.len() as i64;
        let magnitude = match self.short_value(scale) {
            Some(value) => value,
            None => {
                let mantissa = magnitude(&format!("{}{}", self.whole, self.fraction));
                let power = UBig::from(10_u8).pow(scale.unsigned_abs() as usize);
                Rational::from(if mantissa.is_zero() {
                    RBig::ZERO
                } else if scale < 0 {
                    RBig::from_parts(IBig::from(mantissa), power)
                } else {
                    RBig::from(mantissa * power)
                })
            }
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// The value without its sign, if machine words suffice.
    fn short_value(&self, scale: i64) -> Option<Rational> {
        if self.whole.len() + self.fraction.len() > 18 {
            return None;
        }
        let mut mantissa: i64 = 0;
        for digit in self.whole.bytes().chain(self.fraction.bytes()) {
            mantissa = 10 * mantissa + i64::from(digit - b'0');
        }
        let power = 10_i64.checked_pow(u32::try_from(scale.unsigned_abs()).ok()?)?;
        if scale < 0 { Rational::new(mantissa, power) } else { Some(Rational::from(mantissa.checked_mul(power)?)) }
    }
}

fn short(digits: usize, most: usize) -> Result<(), ParseRationalError> {
    if digits > most { Err(ParseRationalError::TooLong { digits, most }) } else { Ok(()) }
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// The text itself, if it is one or more digits.
fn digits(text: &str) -> Result<&str, ParseRationalError> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(text)
    } else {
        Err(ParseRationalError::Malformed)
    }
}

fn parse_exponent(text: &str) -> Result<i64, ParseRationalError> {
    let (negative, text) = split_sign(text);
    // Only overflow can fail here, and that is too large all the more.
    let magnitude = digits(text)?.parse::<i64>().unwrap_or(i64::MAX);
    if magnitude > MAX_EXPONENT {
        return Err(ParseRationalError::ExponentTooLarge);
    }
    Ok(if negative { -magnitude } else { magnitude })
}

/// The integer that is written by a text of digits.
fn magnitude(digits: &str) -> UBig {
    UBig::from_str_radix(digits, 10).unwrap_or(UBig::ZERO)
}

impl FromStr for Rational {
    type Err = ParseRationalError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(decimal) = text.strip_prefix('~') {
            // The grammar is checked first, as `f64` accepts `inf`, `.5` and more.
            Decimal::split(decimal)?;
            let nearest = decimal.parse().map_err(|_| ParseRationalError::Malformed)?;
            return Rational::from_f64(nearest).ok_or(ParseRationalError::NotFinite);
        }
        let Some((num, den)) = text.split_once('/') else {
            return Ok(Decimal::split(text)?.value());
        };
        let (negative, num) = split_sign(num);
        short(num.len().max(den.len()), MAX_FRACTION)?;
        let (num, den) = (magnitude(digits(num)?), magnitude(digits(den)?));
        if den.is_zero() {
            return Err(ParseRationalError::ZeroDenominator);
        }
        let value = Rational::from(RBig::from_parts(IBig::from(num), den));
        Ok(if negative { -value } else { value })
    }
}

/// `digits`, with the point after the first, times ten to the `exponent`.
fn decimal_text(negative: bool, digits: &str, exponent: i64) -> String {
    let sign = if negative { "-" } else { "" };
    let (first, rest) = digits.split_at(1);
    let places = exponent.unsigned_abs() as usize;
    if !(-5..=20).contains(&exponent) {
        let point = if rest.is_empty() { "" } else { "." };
        format!("{sign}{first}{point}{rest}e{exponent}")
    } else if exponent < 0 {
        format!("{sign}0.{}{digits}", "0".repeat(places - 1))
    } else if places >= rest.len() {
        format!("{sign}{digits}{}", "0".repeat(places - rest.len()))
    } else {
        let (whole, fraction) = rest.split_at(places);
        format!("{sign}{first}{whole}.{fraction}")
    }
}

impl Rational {
    /// The decimal form, if it has few digits and an exponent that reads back.
    fn short_decimal(&self) -> Option<String> {
        let (mantissa, scale) = self.short_mantissa()?;
        let digits = mantissa.to_string();
        let exponent = digits.len() as i64 - 1 + scale;
        if digits.len() > MAX_DIGITS as usize || exponent.abs() > MAX_EXPONENT {
            return None;
        }
        Some(decimal_text(self.is_negative(), &digits, exponent))
    }

    /// `(m, s)` with `|self| = m * 10^s`, if `m` can be short.
    fn short_mantissa(&self) -> Option<(u128, i64)> {
        if self.is_integer() {
            let text = self.fraction();
            let digits = text.trim_start_matches('-').trim_end_matches('0');
            let zeros = text.trim_start_matches('-').len() - digits.len();
            return Some((digits.parse().ok()?, zeros as i64));
        }
        // The numerator divides the mantissa, so it must be short as well.
        let num = u64::try_from(self.numerator().into_parts().1).ok()?;
        let den = self.denominator();
        let twos = den.trailing_zeros()?;
        let fives = exponent_of_five(&(den >> twos))?;
        let missing = twos.abs_diff(fives) as u32;
        let factor = if twos < fives { 2_u128 } else { 5 }.checked_pow(missing)?;
        let mantissa = u128::from(num).checked_mul(factor)?;
        Some((mantissa, -(twos.max(fives) as i64)))
    }

    /// The shortest decimal that reads as this number in `f64`, if it is one.
    fn as_float(&self) -> Option<String> {
        let nearest = self.to_f64();
        if Rational::from_f64(nearest).as_ref() != Some(self) {
            return None;
        }
        let scientific = format!("{:e}", nearest.abs());
        let (mantissa, exponent) = scientific.split_once('e')?;
        let digits = mantissa.replace('.', "");
        Some(decimal_text(nearest < 0.0, &digits, exponent.parse().ok()?))
    }
}

/// `k` with `n = 5^k`, if there is one that a decimal may have.
fn exponent_of_five(n: &UBig) -> Option<usize> {
    let log2 = (n.bit_len() - 1) as f64;
    let k = (log2 / 5_f64.log2()).ceil();
    if k > 2.0 * MAX_EXPONENT as f64 {
        return None;
    }
    (UBig::from(5_u8).pow(k as usize) == *n).then_some(k as usize)
}

/// The literal form, which parses back to the same number.
///
/// Integers and decimals of up to 17 digits are shown as such, in scientific
/// notation if they are very large or small; then come the exact values of
/// `f64`, and fractions are left for the rest.
///
/// ```
/// use crease_number::Rational;
/// let shown = |text: &str| text.parse::<Rational>().unwrap().to_string();
/// assert_eq!(shown("2/8"), "0.25");
/// assert_eq!(shown("0.0000000001"), "1e-10");
/// assert_eq!(shown("~0.1"), "~0.1");
/// assert_eq!(shown("2/6"), "1/3");
/// ```
impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Small { num, den } = &self.0
            && den.get() == 1
        {
            return write!(f, "{num}");
        }
        if let Some(decimal) = self.short_decimal() {
            f.write_str(&decimal)
        } else if self.is_integer() {
            f.write_str(&self.fraction())
        } else if let Some(float) = self.as_float() {
            write!(f, "~{float}")
        } else {
            f.write_str(&self.fraction())
        }
    }
}

/// The literal form, as in [`Display`](fmt::Display).
impl fmt::Debug for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Rational {
        text.parse().unwrap()
    }

    #[test]
    fn literals_mean_what_they_say() {
        let fraction = |text: &str| parse(text).fraction();
        assert_eq!(fraction("0.1"), "1/10");
        assert_eq!(fraction("-4/6"), "-2/3");
        assert_eq!(fraction("2.5E+7"), "25000000");
        assert_eq!(fraction("1e-3"), "1/1000");
        assert_eq!(fraction("-0.0"), "0");
        assert_eq!(fraction("0e99999"), "0");
        assert_eq!(fraction("~0.5"), "1/2");
        assert_eq!(fraction("~0.1"), "3602879701896397/36028797018963968");
        assert_eq!(parse("~-0.1"), Rational::from_f64(-0.1).unwrap());
        assert_eq!(parse("-9223372036854775808"), Rational::from(i64::MIN));
    }

    #[test]
    fn display_picks_the_shortest_literal() {
        let shown = |text: &str| parse(text).to_string();
        for (text, expected) in [
            ("100000000000000000000", "100000000000000000000"),
            ("2.5e22", "2.5e22"),
            ("-1e21", "-1e21"),
            ("123456789012345678901234", "123456789012345678901234"),
            ("0.00001", "0.00001"),
            ("0.000001", "1e-6"),
            ("-0.0000125", "-0.0000125"),
            ("12.5", "12.5"),
            ("1.2345678901234567", "1.2345678901234567"),
            ("1.23456789012345678", "61728394506172839/50000000000000000"),
            ("~1e-10", "~1e-10"),
            ("~1e22", "1e22"),
            ("-1/3", "-1/3"),
            ("1e-100000", "1e-100000"),
        ] {
            assert_eq!(shown(text), expected);
            assert_eq!(parse(expected), parse(text));
        }
        assert_eq!(Rational::from_f64(f64::MIN_POSITIVE).unwrap().to_string(), "~2.2250738585072014e-308");
    }

    #[test]
    fn values_beyond_the_exponents_read_back() {
        let tiny = parse("1e-100000").pow(2).unwrap();
        assert!(tiny.to_string().starts_with("1/1000"));
        assert_eq!(parse(&tiny.to_string()), tiny);
        let huge = tiny.inv().unwrap();
        assert_eq!(parse(&huge.to_string()), huge);
        assert_eq!((huge.to_f64(), tiny.to_f64()), (f64::INFINITY, 0.0));
    }

    #[test]
    fn refusals_are_typed() {
        use ParseRationalError::*;
        let refused = |text: &str| text.parse::<Rational>().unwrap_err();
        for text in [
            "", "-", "~", ".5", "5.", "1_000", "0x10", "inf", "~inf", "NaN", "1/", "/2", "1/-2", "1.5/2", "~1/3", "1e",
            "1e+", "1e1.5", " 1", "--1", "1/2/3", "٣",
        ] {
            assert_eq!(refused(text), Malformed, "{text}");
        }
        assert_eq!(refused("1/0"), ZeroDenominator);
        assert_eq!(refused("1e999999999"), ExponentTooLarge);
        assert_eq!(refused("1e-99999999999999999999999"), ExponentTooLarge);
        assert_eq!(refused("~1e400"), NotFinite);
        let long = |n: usize| "7".repeat(n);
        assert_eq!(refused(&long(3_000_000)), TooLong { digits: 3_000_000, most: 1_000_000 });
        assert_eq!(refused(&format!("0.{}", long(300_000))), TooLong { digits: 300_001, most: 250_000 });
        assert_eq!(refused(&format!("1/{}", long(300_000))), TooLong { digits: 300_000, most: 250_000 });
    }

    #[test]
    fn long_texts_are_read() {
        let integer = "7".repeat(1_000_000);
        assert_eq!(parse(&integer).fraction(), integer);
        let decimal = format!("0.{}", "3".repeat(20_000));
        assert_eq!(parse(&decimal).to_f64(), 1.0 / 3.0);
    }
}
