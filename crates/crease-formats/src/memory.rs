//! Memory, counted before it is taken.

use crease_core::{Limits, Rational};

/// What points, samples and tables of texts may take each, which no flag raises: a program of that size runs nowhere.
pub(crate) const LIMIT: u64 = Limits::DEFAULT.memory;

/// Why this many numbers do not fit, if they do not: each is there twice, in the point and as an input of a program.
pub(crate) fn exact_numbers(count: usize) -> Result<(), String> {
    let bytes = (count as u64).saturating_mul(2 * size_of::<Rational>() as u64);
    if bytes <= LIMIT {
        return Ok(());
    }
    Err(format!(
        "its {count} numbers take {} as exact numbers and inputs, more than the limit of {}",
        shown(bytes),
        shown(LIMIT)
    ))
}

/// A size in the largest unit of which it is at least one, rounded up, so that what is beyond a limit does not look equal to it.
pub(crate) fn shown(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB"];
    let at = (0..units.len()).rev().find(|&i| bytes >= 1 << (10 * i)).unwrap_or(0);
    let unit = 1u64 << (10 * at);
    match bytes.is_multiple_of(unit) {
        true => format!("{} {}", bytes / unit, units[at]),
        false => format!("{:.1} {}", (bytes as f64 / unit as f64 * 10.0).ceil() / 10.0, units[at]),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes() {
        let shown = [0, 1023, 1024, 1025, 4 << 30, (4 << 30) + 1].map(super::shown);
        assert_eq!(shown, ["0 bytes", "1023 bytes", "1 KiB", "1.1 KiB", "4 GiB", "4.1 GiB"]);
        assert!(super::exact_numbers(1 << 20).is_ok());
        let why = super::exact_numbers(1 << 40).unwrap_err();
        assert!(why.ends_with("more than the limit of 4 GiB"), "{why}");
    }
}
