//! `crease clarke --all`: all neighbouring gradients, told as they are found.

use crate::along;
use crate::commands::differentiable::write_certificate;
use crate::commands::printed;
use crate::fault;
use crate::flags::TimeArgs;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::source::Source;
use crate::writer::Writer;
use anyhow::Result;
use clap::Args;
use crease::inspect::{Ask, Event, Wanted, all_gradients, gradient_json};
use crease::oracles::EnumerateEvent;
use crease::{Limits, show};
use std::path::PathBuf;

/// The flags of `clarke --all`.
#[derive(Args)]
pub struct Listing {
    /// Stop after so many cells: cones on which the program is linear
    #[arg(long, value_name = "N", requires = "all")]
    max_cells: Option<u64>,

    /// Stop after so many different gradients
    #[arg(long, value_name = "N", requires = "all", default_value_t = Limits::DEFAULT.gradients)]
    max_gradients: usize,

    #[command(flatten)]
    pub time: TimeArgs,

    /// Ask where a vector lies, such as the answer of a framework; names left out are 0
    #[arg(long, value_name = "VECTOR", requires = "all", allow_hyphen_values = true)]
    contains: Option<String>,

    #[command(flatten)]
    within: along::WithinArgs,

    /// Write the certificate that the vector of --contains is a Clarke subgradient to this file, if it is one
    #[arg(long, value_name = "FILE", requires = "contains")]
    certificate: Option<PathBuf>,

    /// Print every gradient as a line of JSON as soon as it is found, and what is known of all of them as the last line
    #[arg(long, requires = "all")]
    stream: bool,

    /// Ask whether 0 is a Clarke subgradient, or along which direction the program decreases
    #[arg(long, requires = "all")]
    stationary: bool,
}

impl Listing {
    /// Lists the gradients of one scalar output.
    pub fn run(&self, source: &Source, ask: Ask<'_>, json: bool) -> Result<String> {
        let limits = Limits {
            cells: self.max_cells.unwrap_or(u64::MAX),
            gradients: self.max_gradients,
            ..self.time.within(ask.limits)?
        };
        let ask = Ask { limits, within: self.within.within.clone(), ..ask };
        let inputs = source.inputs()?;
        // what is wrong with the vector should not be told after an hour
        let contains = self.contains.as_deref().map(|v| along::vector("--contains", v, source)).transpose()?;
        let wanted = Wanted { contains, stationary: self.stationary };
        let certificate = Writer::optional(self.certificate.as_deref())?;
        let interrupt = Interrupt::listen();
        let mut progress = Progress::new();
        let (mut out, mut shown) = (Writer::standard(), Ok(()));
        let found = all_gradients(&source.program, &inputs, &wanted, &ask, |at, event| {
            match event {
                Event::Search(EnumerateEvent::Gradient(n)) if self.stream => {
                    let line = progress.aside(|| out.put(show::json(&gradient_json(at, n))));
                    if line.is_err() && shown.is_ok() {
                        shown = line;
                        ask.limits.cancel.stop();
                    }
                }
                Event::Search(EnumerateEvent::Gradient(_)) => {}
                Event::Search(EnumerateEvent::Progress { cells, gradients, work }) => progress.say(|| {
                    format!(
                        "{} cells · {} gradients · {} linear programs",
                        show::count(cells),
                        show::count(gradients),
                        show::count(work.programs)
                    )
                }),
                Event::Vertices(looked, all) => {
                    progress.say(|| format!("vertices: {} of {}", show::count(looked), show::count(all)));
                }
            }
            interrupt.look();
        });
        shown?;
        let mut found = found.map_err(fault::inspect)?;
        let written = write_certificate(certificate, || found.certificate().map_err(fault::inspect))?;
        found.certificate_is(written);
        drop(progress);
        if self.stream {
            return Ok(show::json(&found.summary_json()));
        }
        let mut out = printed(&found, json);
        if !json {
            out.extend(along::advice(found.contains.as_ref()));
        }
        Ok(out)
    }
}
