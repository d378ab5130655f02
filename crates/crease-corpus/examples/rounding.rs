//! Writes programs whose doubles are wrong, at points of doubles, and the truth, as lines of JSON: `cargo run -p crease-corpus --example rounding -- COUNT`.
//!
//! Numbers of the truth are lists of doubles, the sum of which has 45 digits.

use crease_corpus::precise::Number;
use crease_corpus::rounding::{doubles, hostile};

fn main() {
    let count = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(40);
    for case in (0..count).filter_map(|seed| hostile(seed).at_doubles()) {
        let list = |x: &Number| doubles(x, 3).map(|parts| format!("{parts:?}"));
        let point: Vec<f64> = case.point.iter().flat_map(|t| t.data()).map(|x| x.to_f64()).collect();
        let gradient = case.truth.gradient.iter().map(list).collect::<Option<Vec<_>>>();
        if let Some((value, gradient)) = list(&case.truth.value).zip(gradient) {
            let (seed, program, gradient) = (case.seed, case.program.to_string(), gradient.join(", "));
            println!(
                "{{\"seed\": {seed}, \"program\": {program:?}, \"point\": {point:?}, \"value\": {value}, \"gradient\": [{gradient}]}}"
            );
        }
    }
}
