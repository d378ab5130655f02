//! How answers are written: numbers, tensors and columns as text, and JSON.
//!
//! The answers of [`inspect`](mod@crate::inspect) and the command-line tool are written with these. Nothing here computes.

mod apart;
mod rows;

pub use apart::{Apart, Enclosed, decimal};
pub use rows::{Rows, width};
/// JSON, as all of this writes it.
pub use serde_json::Value;

use crate::inspect::{Answer, above};
use crease_core::{Number, Origin, Rational, Tensor};

/// The most elements of a tensor that text shows in full.
const ELEMENTS: usize = 64;

/// The most characters of an exact number that text shows.
const DIGITS: usize = 60;

/// The width of paragraphs.
const PARAGRAPH: usize = 96;

/// A labelled paragraph, broken into lines.
pub fn wrapped(label: &str, body: &str) -> String {
    let mut out = String::new();
    let mut line = format!("  {label:<9} ");
    let indent = line.chars().count();
    for word in body.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > PARAGRAPH && line.trim().len() > label.len() {
            out.push_str(line.trim_end());
            out.push('\n');
            line = " ".repeat(indent);
        }
        line.push(' ');
        line.push_str(word);
    }
    out.push_str(line.trim_end());
    out.push('\n');
    out
}

/// A float, the shortest decimal that reads back as the same.
pub fn float(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        size if (1e-5..1e16).contains(&size) || !size.is_finite() => x.to_string(),
        _ => format!("{x:e}"),
    }
}

/// An exact number: a decimal if it has a short one, else a fraction, and where that is too long to read, about what it is.
pub fn exact(x: &Rational) -> String {
    // as many bits make about three tenths as many digits
    if x.bits() <= 4 * DIGITS {
        let text = x.to_string();
        if text.chars().count() <= DIGITS {
            return text;
        }
    }
    let near = x.to_f64();
    match Rational::from_f64(near).filter(|n| !n.is_zero()) {
        Some(n) => format!("≈ {}", enclosed(near, above(&(&n - x).abs()))),
        None => beyond_floats(x),
    }
}

/// About what a number is that no float comes near: by the power of two below it.
fn beyond_floats(x: &Rational) -> String {
    let (size, two) = (x.abs(), Rational::from(2));
    let reaches = |k: i32| two.pow(k).is_some_and(|power| power <= size);
    let bits = i32::try_from(x.bits()).unwrap_or(i32::MAX / 2);
    let (mut low, mut high) = (-bits - 1, bits + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if reaches(middle) { low = middle } else { high = middle }
    }
    let rest = two.pow(low).and_then(|power| size.checked_div(&power)).map_or(1.0, |r| r.to_f64());
    let log = f64::from(low) * std::f64::consts::LOG10_2 + rest.log10();
    let sign = if x.is_negative() { "-" } else { "" };
    format!("≈ {sign}{:.4}e{}", 10f64.powf(log - log.floor()), log.floor())
}

/// A result as text. Large tensors are shown by their corners, unless `full`.
pub fn answer(a: &Answer, full: bool) -> String {
    let places = Tensor::new(a.near.shape().clone(), (0..a.near.data().len()).collect());
    places.map_or_else(String::new, |places| tensor(&places, &|i| element(a, *i), full))
}

/// The elements of a result as text, each by itself.
pub(crate) fn elements(a: &Answer) -> Vec<String> {
    (0..a.near.data().len()).map(|i| element(a, i)).collect()
}

/// An element of a result: exact, or with the digits that are certain or its bound, or as floats have it.
fn element(a: &Answer, i: usize) -> String {
    let near = a.near.data()[i];
    let radius = match (&a.exact, &a.radius) {
        (Some(t), _) => return exact(&t.data()[i]),
        (None, None) => return float(near),
        (None, Some(radius)) => radius.data()[i],
    };
    match a.middle.as_ref().map(|m| &m.data()[i]).filter(|m| !m.is_zero()) {
        Some(middle) if near == 0.0 || !near.is_finite() => exact(middle),
        _ => enclosed(near, radius),
    }
}

/// A result whose elements are texts already.
pub(crate) fn texts(t: &Tensor<String>) -> String {
    tensor(t, &String::clone, false)
}

/// A tensor of texts as nested arrays of JSON strings.
pub(crate) fn strings(t: &Tensor<String>) -> Value {
    arrays(t, &|x| x.as_str().into())
}

/// A positive number in two digits, not less than it is: rounding takes less than a twentieth of it.
fn upward(x: f64) -> String {
    format!("{:.1e}", x * 1.06)
}

/// The fewest digits that stand for a number without its bound.
const CERTAIN: i32 = 6;

/// A number of which it is known how far it may be off: as many digits as are certain, within one unit of the last, or its bound.
fn enclosed(x: f64, radius: f64) -> String {
    match x.abs() {
        _ if radius == 0.0 => float(x),
        _ if !radius.is_finite() && !x.is_finite() => "unknown".into(),
        _ if !radius.is_finite() => format!("{} (no bound)", float(x)),
        // which number around 0 is in the middle says nothing
        size if size <= radius => format!("0 ± {}", upward(size + radius)),
        _ => certain(x, radius).unwrap_or_else(|| format!("{} ± {}", float(x), upward(radius))),
    }
}

/// The digits of a float that are certain, if they are not too few.
fn certain(x: f64, radius: f64) -> Option<String> {
    let (number, radius) = (Rational::from_f64(x)?, Rational::from_f64(radius)?);
    let text = format!("{:e}", x.abs());
    let (digits, exponent) = text.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let ten = |k: i32| Rational::from(10).pow(k);
    let mut unit = exponent - (digits.len() as i32 - 1 - i32::from(digits.contains('.')));
    // the shortest decimal that reads back as a float is not the float
    let shown: Rational = text.parse().ok()?;
    if (number.abs() - shown).abs() + &radius <= ten(unit)? {
        return Some(float(x));
    }
    // half a unit for the bound, half a unit for cutting digits off
    while &radius + &radius > ten(unit)? {
        unit += 1;
        if exponent - unit + 1 < CERTAIN {
            return None;
        }
    }
    match unit > 0 {
        // zeros in front of the point would pass for digits
        true => Some(format!("{}e{exponent}", decimal(&number.checked_div(&ten(exponent)?)?, None, unit - exponent))),
        false => Some(decimal(&number, None, unit)),
    }
}

fn tensor<N>(t: &Tensor<N>, show: &impl Fn(&N) -> String, full: bool) -> String {
    let cut = !full && t.shape().len() > ELEMENTS;
    let edge = match (cut, t.shape().rank()) {
        (false, _) => usize::MAX,
        (true, 1) => 4,
        (true, 2) => 2,
        (true, _) => 1,
    };
    let mut out = String::new();
    nested(&mut out, t.shape().dims(), t.data(), edge, show);
    if cut {
        out.push_str(&format!("  of shape {}", t.shape()));
    }
    out
}

fn nested<N>(out: &mut String, dims: &[usize], data: &[N], edge: usize, show: &impl Fn(&N) -> String) {
    let Some((&n, inner)) = dims.split_first() else {
        out.push_str(&show(&data[0]));
        return;
    };
    let size = data.len() / n;
    let hidden = if n > edge.saturating_mul(2) { edge..n - edge } else { 0..0 };
    out.push('[');
    for i in 0..n {
        if hidden.contains(&i) {
            if i == hidden.start {
                out.push_str(", …");
            }
            continue;
        }
        out.push_str(if i == 0 { "" } else { ", " });
        nested(out, inner, &data[i * size..][..size], edge, show);
    }
    out.push(']');
}

/// A count, with commas from ten thousand on.
pub fn count(n: impl ToString) -> String {
    let digits = n.to_string();
    let whole = digits.strip_prefix('-').unwrap_or(&digits);
    if whole.len() < 5 || !whole.bytes().all(|b| b.is_ascii_digit()) {
        return digits;
    }
    let mut out = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    format!("{}{out}", &digits[..digits.len() - whole.len()])
}

/// A price as a number: whole ones with commas.
pub fn price(x: &Rational) -> String {
    if x.is_integer() { count(x.fraction()) } else { exact(x) }
}

/// A ratio, to two decimals.
pub fn ratio(x: &Rational) -> String {
    let text = format!("{:.2}", x.to_f64());
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// Rows with their columns aligned, two blanks apart; those in `right` at their right ends. Nothing is left hanging at the
/// ends of lines.
pub fn columns(rows: &[Vec<String>], right: &[usize]) -> String {
    columns_from(&mut Vec::new(), rows, right)
}

/// The same for rows that come in portions: columns are as wide as before, or wider.
pub fn columns_from(widths: &mut Vec<usize>, rows: &[Vec<String>], right: &[usize]) -> String {
    let wide = |s: &str| s.chars().count();
    widths.resize(rows.iter().map(Vec::len).max().unwrap_or(0).max(widths.len()), 0);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(wide(cell));
        }
    }
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (j, (cell, width)) in row.iter().zip(&*widths).enumerate() {
            let blanks = " ".repeat(width - wide(cell));
            let (before, after) = if right.contains(&j) { (&*blanks, "") } else { ("", &*blanks) };
            // a column that is empty throughout takes no room
            let gap = if *width == 0 { "" } else { "  " };
            line.extend([before, cell, after, gap]);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A JSON object from its members, in this order.
pub fn object<K: Into<String>>(members: impl IntoIterator<Item = (K, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(k, v)| (k.into(), v)).collect())
}

/// JSON as it is printed: one line.
pub fn json(value: &Value) -> String {
    format!("{value}\n")
}

/// An exact number as a JSON number: an integer if it is a short one, else the nearest float. What is beyond all floats
/// is null.
pub fn number(x: &Rational) -> Value {
    match x.small_parts() {
        Some((n, 1)) => n.into(),
        _ => Number::to_f64(x).into(),
    }
}

/// A tensor as nested arrays of JSON numbers.
pub fn near(a: &Answer) -> Value {
    match &a.exact {
        Some(t) => arrays(t, &number),
        None => arrays(&a.near, &|x| (*x).into()),
    }
}

/// How far the numbers of [`near`] may be off, of a result that is exact or enclosed: by rounding at least.
pub fn radius(a: &Answer) -> Option<Value> {
    let rounding = |x: &Rational| Rational::from_f64(x.to_f64()).map_or(f64::INFINITY, |near| above(&(near - x).abs()));
    match (&a.exact, &a.radius) {
        (Some(t), _) => Some(arrays(t, &|x| rounding(x).into())),
        (None, radius) => radius.as_ref().map(|t| arrays(t, &|x| (*x).into())),
    }
}

/// The same with strings such as "1/3", if the result is exact.
pub fn fractions(a: &Answer) -> Option<Value> {
    a.exact.as_ref().map(|t| arrays(t, &|x: &Rational| x.fraction().into()))
}

fn arrays<N>(t: &Tensor<N>, show: &impl Fn(&N) -> Value) -> Value {
    fn part<N>(dims: &[usize], data: &[N], show: &impl Fn(&N) -> Value) -> Value {
        match dims.split_first() {
            None => show(&data[0]),
            Some((&n, inner)) => data.chunks(data.len() / n).map(|chunk| part(inner, chunk, show)).collect(),
        }
    }
    part(t.shape().dims(), t.data(), show)
}

/// Where something comes from: in a text, its line and column; else in words.
pub fn origin(origin: Option<&Origin>) -> Value {
    match origin.map(|o| (o, o.in_text())) {
        None => Value::Null,
        Some((_, Some((text, place)))) => {
            let (line, column) = text.line_and_column(place);
            object([("line", line), ("column", column)].map(|(k, v)| (k, v.into())))
        }
        Some((origin, None)) => origin.to_string().into(),
    }
}

/// One thing as itself, several as a list: how JSON shows the outputs of a program.
pub fn one_or_list(mut values: Vec<Value>) -> Value {
    if values.len() == 1 { values.remove(0) } else { values.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crease_core::Shape;

    #[test]
    fn floats_are_short() {
        assert_eq!(
            [0.1, -0.0, 1e300, 2.5e-7, 3.0, -1e15].map(float),
            ["0.1", "0", "1e300", "2.5e-7", "3", "-1000000000000000"]
        );
    }

    /// What is printed is right to one unit of its last digit.
    #[test]
    fn digits_are_certain_or_the_bound_is_there() {
        let cases = [
            (std::f64::consts::E, 4.5e-16, "2.718281828459045"),
            (9.002457147037871, 2e-15, "9.00245714703787"),
            (-0.30000000000000004, 5.6e-17, "-0.3"),
            (1.9999961738048955, 1e-16, "1.999996173804895"),
            (123456.7, 0.04, "123456.7"),
            (123456.7, 0.2, "123457"),
            (1.722631557443367e18, 3e3, "1.72263155744337e18"),
            (123456.7, 0.6, "123456.7 ± 6.4e-1"),
            (1e-30, 3e-44, "1e-30"),
            (1.5, 2.0, "0 ± 3.7e0"),
            (1.5, f64::INFINITY, "1.5 (no bound)"),
            (f64::INFINITY, f64::INFINITY, "unknown"),
        ];
        for (x, radius, text) in cases {
            assert_eq!(enclosed(x, radius), text);
        }
    }

    #[test]
    fn counts_have_commas() {
        assert_eq!([1, 9999, 10000, -1234567].map(count), ["1", "9999", "10,000", "-1,234,567"]);
        assert_eq!(count("1/30000"), "1/30000");
    }

    #[test]
    fn large_tensors_show_their_corners() {
        let t = Tensor::new(Shape::new([10, 10]).unwrap(), (0..100).map(f64::from).collect()).unwrap();
        let show = |full| tensor(&t, &|x| float(*x), full);
        assert_eq!(
            show(false),
            "[[0, 1, …, 8, 9], [10, 11, …, 18, 19], …, [80, 81, …, 88, 89], [90, 91, …, 98, 99]]  of shape [10, 10]"
        );
        assert!(show(true).contains("54, 55"));
    }

    #[test]
    fn long_exact_numbers_are_told_roughly() {
        assert_eq!(exact(&Rational::new(1, 3).unwrap()), "1/3");
        assert_eq!(exact(&Rational::from(3).pow(1000).unwrap()), "≈ 1.3221e477");
        assert_eq!(exact(&Rational::from(-3).pow(-1001).unwrap()), "≈ -2.5213e-478");
        assert_eq!(exact(&Rational::from(3).pow(500).unwrap()), "≈ 3.636029179586993e238");
    }
}
