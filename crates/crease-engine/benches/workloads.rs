//! The workloads of the design, each beside a version written by hand: value, value and gradient, their ratio, the ratio of
//! counted costs, and whether both agree.
//!
//! ```text
//! cargo bench -p crease-engine                    all rows, as a table; times are the least of many runs, in microseconds
//! cargo bench -p crease-engine -- A F             some of them
//! cargo bench -p crease-engine -- --sweeps C      time against size, up to sizes that leave the caches
//! cargo bench -p crease-engine -- --json          one line of JSON for each row and system, as bench/README.md defines it
//! cargo bench -p crease-engine -- --explain A     what the compiler decided
//! cargo bench -p crease-engine -- --seconds 2     how long each measurement lasts
//! cargo bench -p crease-engine -- --threads 2     crease on two threads; the code by hand has one
//! ```
//!
//! The names of rows and the data are those that `bench/run` compares with other systems.

#[path = "workloads/clock.rs"]
mod clock;
#[path = "workloads/data.rs"]
mod data;
#[path = "workloads/floors/mod.rs"]
mod floors;
#[path = "workloads/loops.rs"]
mod loops;
#[path = "workloads/programs.rs"]
mod programs;
#[path = "workloads/report.rs"]
mod report;
#[path = "workloads/rows.rs"]
mod rows;
#[path = "workloads/scalars.rs"]
mod scalars;

use clock::Clock;
use report::{Report, What};
use std::time::Duration;

fn main() {
    let clock = Clock(Duration::from_millis(300));
    let mut report = Report { wanted: vec![], explain: false, json: false, clock, threads: 1 };
    let mut sweeps = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match &*arg {
            // what cargo says to every bench
            "--bench" => {}
            "--explain" => report.explain = true,
            "--json" => report.json = true,
            "--sweeps" => sweeps = true,
            "--seconds" => {
                let seconds = args.next().and_then(|s| s.parse().ok()).filter(|s| (0.0..1e6).contains(s));
                report.clock = Clock(Duration::from_secs_f64(seconds.expect("--seconds needs a number")));
            }
            "--threads" => {
                let threads = args.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
                report.threads = threads.expect("--threads needs a number");
            }
            _ => report.wanted.push(arg),
        }
    }
    report.head();
    if sweeps {
        all_sweeps(&report);
    } else {
        all_rows(&report);
    }
}

fn all_rows(r: &Report) {
    let row = |name| What::Row { name, mode: "" };
    rows::sat(r, What::Row { name: "A sat", mode: "arrays" }, 250, 1065);
    rows::sat_scalars(r, What::Row { name: "A sat", mode: "scalars" }, 250, 1065);
    rows::sat(r, What::Row { name: "A' sat", mode: "arrays" }, 2500, 10_650);
    rows::sat_scalars(r, What::Row { name: "A' sat", mode: "scalars" }, 2500, 10_650);
    rows::mlp::<f32>(r, row("B mlp f32, batch 1"), 1, 1e-4);
    rows::mlp::<f32>(r, row("B' mlp f32, batch 64"), 64, 1e-4);
    rows::mlp::<f64>(r, row("B' mlp f64, batch 64"), 64, 1e-11);
    rows::norm1(r, row("C l1 10^6"), 1_000_000);
    rows::norm_inf(r, row("C linf 10^6"), 1_000_000);
    rows::sum_relu(r, row("C sum of relu 10^6"), 1_000_000);
    rows::max_linear(r, row("C max-linear 10 x 10^5"), 1_000_000);
    rows::median(r, row("C' median 10^6 f32"), 1_000_000);
    rows::theorem_3(r, row("D theorem 3, p = 256"), 256);
    rows::theorem_3(r, row("D theorem 3, p = 512"), 512);
    rows::cnn(r, row("E cnn f32, batch 1"), 1);
    rows::cnn(r, row("E cnn f32, batch 64"), 64);
    rows::gmm(r, row("F gmm 10, 25, 1000"), 1000);
    rows::lasso(r, row("H lasso 50 x 100, 1000 steps"), 1000);
    rows::gru(r, row("I gru 32, 100 steps"), 100);
    rows::camera(r, row("J camera, 1000 points"), 1000);
}

/// Each row against the size that its name tells.
fn all_sweeps(r: &Report) {
    let sweep = |name, size| What::Sweep { name, size };
    for clauses in [100, 1000, 10_000, 100_000, 300_000] {
        rows::sat(r, sweep("A sat, clauses", clauses), clauses / 4, clauses);
    }
    for batch in [1, 4, 16, 64, 256, 1024] {
        rows::mlp::<f32>(r, sweep("B mlp f32, batch", batch), batch, 1e-4);
    }
    for n in [1000, 10_000, 100_000, 1_000_000, 10_000_000] {
        rows::norm1(r, sweep("C l1, entries", n), n);
        rows::norm_inf(r, sweep("C linf, entries", n), n);
        rows::sum_relu(r, sweep("C sum of relu, entries", n), n);
        rows::max_linear(r, sweep("C max-linear, entries", n), n);
        rows::median(r, sweep("C' median f32, entries", n), n);
    }
    for p in [16, 32, 64, 128, 256, 512] {
        rows::theorem_3(r, sweep("D theorem 3, p", p), p);
    }
    for batch in [1, 4, 16, 64, 256, 1024] {
        rows::cnn(r, sweep("E cnn f32, batch", batch), batch);
    }
    for n in [10, 100, 1000, 10_000, 100_000] {
        rows::gmm(r, sweep("F gmm, points", n), n);
    }
    for steps in [10, 100, 1000, 10_000] {
        rows::lasso(r, sweep("H lasso, steps", steps), steps);
        rows::gru(r, sweep("I gru, steps", steps), steps);
    }
    for n in [2000, 20_000, 200_000, 1_000_000] {
        scalars::random(r, sweep("scalar equations", n), n);
    }
}
