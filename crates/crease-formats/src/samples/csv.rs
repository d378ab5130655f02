//! Tables of numbers as text, one sample in each line.

use super::{Sample, SampleError, sample};
use crease_core::Rational;

/// The samples of a table, a line each, with commas, semicolons, tabs or blanks between numbers. A first line of words is passed over, and so are empty ones and
/// those that begin with `#`. A line has as many numbers as the network takes, or one more: the label, in front.
///
/// ```
/// let samples = crease_formats::samples::read_csv("label,a,b\n7, 0.5, 1/3\n", 2)?;
/// assert_eq!((samples[0].label, samples[0].numbers[1].fraction()), (Some(7), "1/3".into()));
/// let error = crease_formats::samples::read_csv("1,nan\n", 2).unwrap_err();
/// assert_eq!(error.to_string(), "line 1, column 2: `nan` is not a finite number");
/// # Ok::<(), crease_formats::samples::SampleError>(())
/// ```
pub fn read_csv(text: &str, want: usize) -> Result<Vec<Sample>, SampleError> {
    let mut samples = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut first = true;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let separator = [',', ';', '\t'].into_iter().find(|&c| line.contains(c));
        let parts: Vec<&str> = match separator {
            Some(c) => line.trim_end_matches(c).split(c).map(str::trim).collect(),
            None => line.split_whitespace().collect(),
        };
        let header = first && parts.iter().all(|p| p.trim_matches('"').parse::<Rational>().is_err() && !is_number(p));
        first = false;
        if header {
            continue;
        }
        let place = format!("line {}", i + 1);
        let number = |(column, part): (usize, &&str)| {
            let part = part.trim_matches('"');
            part.parse::<Rational>().map_err(|_| SampleError::Cell {
                place: place.clone(),
                column: column + 1,
                why: match part {
                    "" => "there is no number".into(),
                    _ => format!("`{part}` is not a finite number"),
                },
            })
        };
        let numbers = parts.iter().enumerate().map(number).collect::<Result<Vec<_>, _>>()?;
        samples.push(sample(place, numbers, want)?);
    }
    if samples.is_empty() { Err(SampleError::Empty) } else { Ok(samples) }
}

/// Whether it is a number that is not finite, which is no heading.
fn is_number(part: &str) -> bool {
    part.parse::<f64>().is_ok()
}
