//! How far the question "is it differentiable at 0" goes on deep ReLU networks with weights -1, 0 and 1.
//!
//! `cargo bench -p crease-oracles --bench decide [-- SECONDS]` lets each network have 10 seconds, or so many, all of it left to the search: for each
//! kind of head (see the tests) networks grow until three in a row are not decided. Every verdict is checked by the independent
//! checker. Nothing is asserted about time.

#[path = "../tests/support/mod.rs"]
mod support;

use crease_check::check;
use crease_core::Limits;
use crease_oracles::{Effort, Verdict, differentiable};
use std::time::{Duration, Instant};
use support::networks::{Head, network};
use support::{Rng, model_at};

fn main() {
    let seconds = std::env::args().find_map(|a| a.parse().ok()).unwrap_or(10.0);
    println!("head    layers  width  inputs  kinks  verdict   seconds  conflicts   lemmas  programs  check ms");
    for head in [Head::Random, Head::Zero, Head::Orders, Head::Narrow] {
        let mut open = 0;
        for (step, layers) in (0..16).flat_map(|s| [3, 4, 5, 6].map(|l| (s, l))) {
            let width = 4 + 2 * step;
            let inputs = 3 + step;
            // heads count as one layer more
            if width * layers > 210 || open == 3 {
                continue;
            }
            let mut rng = Rng::new(1000 + (10 * step + layers) as u64);
            let model = model_at(&network(inputs, width, layers, head, &mut rng), &vec![0; inputs]);
            let start = Instant::now();
            let limits = Limits::default().within(Duration::from_secs_f64(seconds));
            let effort = Effort { directions: 0, limits, ..Effort::default() };
            let decision = differentiable(&model, 0, &effort).expect("the model is exact");
            let time = start.elapsed().as_secs_f64();
            let verdict = match decision.verdict {
                Verdict::Yes(_) => "yes",
                Verdict::No(_) => "no",
                Verdict::Unknown { .. } => "unknown",
            };
            open = if verdict == "unknown" { open + 1 } else { 0 };
            let start = Instant::now();
            let checked = decision.certificate().map(|text| {
                check(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
                format!("{:.1}", start.elapsed().as_secs_f64() * 1e3)
            });
            let c = &decision.counts;
            println!(
                "{:<7} {layers:>6} {width:>6} {inputs:>7} {:>6}  {verdict:<8} {time:>8.3} {:>10} {:>8} {:>9}  {:>8}",
                format!("{head:?}"),
                model.kinks().len(),
                c.conflicts,
                c.lemmas,
                c.linear_programs,
                checked.unwrap_or_default()
            );
        }
    }
}
