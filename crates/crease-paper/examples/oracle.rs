//! Does it matter what relu'(0) is? A table, and a plot of the losses.
//!
//! `cargo run -p crease-paper --release --example oracle [FILE.svg]`, some seconds. After Bertoin, Bolte, Gerchinovitz and Pauwels (2021), small: a
//! perceptron learns to tell the inside of a circle, with the same data, first weights and batches, and only what stands in for the
//! gradient at kinks changes. In f64 and f32 nothing is ever exactly at a kink, so nothing changes; on coarse grids it is, the weights part, and
//! the loss ends in the same region.

use crease_paper::experiments::training::{Outcome, Precision, Study, relu_at_zero};
use plotters::prelude::*;
use std::path::{Path, PathBuf};

type Fault = Box<dyn std::error::Error>;

const COARSE: Precision = Precision::Grid { data: 3, weights: 6 };

fn main() -> Result<(), Fault> {
    let study = Study {
        hidden: vec![16, 16],
        examples: 256,
        batch: 32,
        steps: 1200,
        precisions: vec![Precision::Double, Precision::Single, Precision::Grid { data: 8, weights: 10 }, COARSE],
        ..Study::default()
    };
    let outcomes = relu_at_zero(&study)?;
    table(&outcomes);
    let file = std::env::args().nth(1).map_or_else(|| PathBuf::from("target/oracle.svg"), PathBuf::from);
    if let Some(folder) = file.parent().filter(|f| !f.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    plot(&file, &study, &outcomes)?;
    println!("\nlosses by epoch: {}", file.display());
    Ok(())
}

fn name(p: Precision) -> String {
    match p {
        Precision::Double => "f64".into(),
        Precision::Single => "f32".into(),
        Precision::Grid { data, weights } => format!("grid 1/{}, 1/{}", 1u64 << data, 1u64 << weights),
    }
}

fn table(outcomes: &[Outcome]) {
    println!(
        "{:<18} {:<15} {:>8} {:>9} {:>7} {:>8} {:>8} {:>9}",
        "numbers", "oracle", "at kinks", "of", "loss", "accuracy", "parts at", "distance"
    );
    for o in outcomes {
        println!(
            "{:<18} {:<15} {:>8} {:>9} {:>7.4} {:>8.3} {:>8} {:>9.2e}",
            name(o.precision),
            o.oracle,
            o.kinks,
            o.relus,
            o.final_loss,
            o.accuracy,
            o.parted.map_or("never".into(), |s| s.to_string()),
            o.distance
        );
    }
}

/// The mean loss of every epoch.
fn epochs(study: &Study, o: &Outcome) -> Vec<f64> {
    let steps = study.examples / study.batch;
    o.losses.chunks(steps).map(|c| c.iter().sum::<f64>() / c.len() as f64).collect()
}

fn plot(file: &Path, study: &Study, outcomes: &[Outcome]) -> Result<(), Fault> {
    let colours = [RGBColor(0, 114, 178), RGBColor(230, 159, 0), RGBColor(0, 158, 115), RGBColor(213, 94, 0)];
    let all: Vec<f64> = outcomes.iter().flat_map(|o| epochs(study, o)).collect();
    let high = all.iter().copied().fold(0.0, f64::max);
    let count = study.steps.div_ceil(study.examples / study.batch);
    let root = SVGBackend::new(file, (1000, 460)).into_drawing_area();
    root.fill(&WHITE)?;
    for (area, precision) in root.split_evenly((1, 2)).iter().zip([Precision::Single, COARSE]) {
        let shown: Vec<&Outcome> = outcomes.iter().filter(|o| o.precision == precision).collect();
        let kinks: usize = shown.iter().map(|o| o.kinks).sum();
        let relus: usize = shown.iter().map(|o| o.relus).sum();
        let caption = format!("{}: {kinks} of {relus} relus at 0", name(precision));
        let mut chart = ChartBuilder::on(area)
            .caption(caption, ("sans-serif", 18))
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..count as f64, 0.0..high * 1.1)?;
        chart
            .configure_mesh()
            .x_desc("epoch (passes over the data)")
            .y_desc("mean squared error")
            .axis_desc_style(("sans-serif", 15))
            .label_style(("sans-serif", 13))
            .x_labels(8)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| format!("{y:.1}"))
            .light_line_style(WHITE)
            .draw()?;
        // curves that coincide are all seen if the later ones are thinner
        let coincide = shown.iter().all(|o| o.parted.is_none());
        for (k, (o, colour)) in shown.iter().zip(colours).enumerate() {
            let style = colour.stroke_width(if coincide { 8 - 2 * k as u32 } else { 2 });
            let line = epochs(study, o).into_iter().enumerate().map(|(i, y)| (i as f64 + 0.5, y));
            chart
                .draw_series(LineSeries::new(line, style))?
                .label(o.oracle)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 24, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .margin(12)
            .label_font(("sans-serif", 14))
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .draw()?;
    }
    root.present()?;
    Ok(())
}
