//! Reading the numbers of a report back.

use crease::Rational;

/// A number as it was printed.
#[derive(Debug)]
pub struct Printed {
    pub text: String,
    pub near: Rational,
    /// How far the truth may be: what stands behind ±, or a unit of the last digit.
    pub radius: f64,
}

/// The numbers of a row, or of the row of a name below it. Nothing if there is no such row, or something else in it.
pub fn printed(report: &str, row: &str, name: Option<&str>) -> Option<Vec<Printed>> {
    let mut lines = report.lines().skip_while(|l| l.split_whitespace().next() != Some(row) || l.starts_with(' '));
    let line = match name {
        None => lines.next()?.strip_prefix(row)?,
        Some(name) => {
            let found =
                lines.skip(1).take_while(|l| l.starts_with("  ")).find(|l| l.split_whitespace().next() == Some(name));
            found?.trim_start().strip_prefix(name)?
        }
    };
    // a remark stands two blanks behind the numbers
    let numbers = line.trim_start().split("  ").next()?;
    numbers.replace(['[', ']'], "").split(',').map(|text| number(text.trim())).collect()
}

fn number(text: &str) -> Option<Printed> {
    // of a long fraction, digits are shown
    let text = text.trim_start_matches("≈ ");
    if text == "unknown" {
        return Some(Printed { text: text.into(), near: Rational::ZERO, radius: f64::MAX });
    }
    if let Some(near) = text.strip_suffix(" (no bound)") {
        return Some(Printed { text: text.into(), near: near.parse().ok()?, radius: f64::MAX });
    }
    let (near, radius) = match text.split_once('±') {
        Some((near, radius)) => (near.trim(), Some(radius.trim().parse().ok()?)),
        None => (text, None),
    };
    let radius = radius.or_else(|| unit(near))?;
    Some(Printed { text: text.into(), near: near.parse().ok()?, radius })
}

/// One unit of the last digit; a fraction is exact.
fn unit(text: &str) -> Option<f64> {
    if text.contains('/') {
        return Some(0.0);
    }
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let places = digits.split_once('.').map_or(0, |(_, places)| places.len() as i32);
    format!("1e{}", exponent - places).parse().ok()
}

#[test]
fn numbers_are_read_back() {
    let report = "value       2.5\nbackprop    0 ± 1.2e-3  the gradient\nkinks       0\n";
    let all = printed(report, "value", None).unwrap();
    assert_eq!((all[0].near.to_f64(), all[0].radius), (2.5, 0.1));
    assert_eq!(printed(report, "backprop", None).unwrap()[0].radius, 1.2e-3);
    let report = "value       1/3\nbackprop    the gradient, in f64\n  x         [1e-7, -2.50e3 ± 1]\n  y         4\nclarke  x\n  z  1\n";
    let all = printed(report, "backprop", Some("x")).unwrap();
    assert_eq!(all.iter().map(|p| (p.near.to_f64(), p.radius)).collect::<Vec<_>>(), [(1e-7, 1e-7), (-2500.0, 1.0)]);
    assert_eq!(printed(report, "backprop", Some("y")).unwrap()[0].near.to_f64(), 4.0);
    assert_eq!(printed(report, "value", None).unwrap()[0].radius, 0.0);
    assert!(printed(report, "backprop", Some("z")).is_none());
}
