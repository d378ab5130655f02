//! `crease audit`: what a network does at the kinks that real inputs hit.

use crate::flags::{self, PrecisionArgs, TimeArgs};
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::samples::SampleArgs;
use crate::source::SourceArgs;
use crate::writer::{self, Writer};
use anyhow::{Result, anyhow, ensure};
use clap::Args;
use crease::audit::{Before, Finding, Made, Of, Options, Watch, audit, check, page};
use crease_core::differentiate::Selection;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What a network does at the kinks that real inputs hit
///
/// For each input: which kinks are tied, by layer, channel and place; how far the others are from switching; whether the conservative
/// gradient has one element; whether the network is differentiable there, with a checked certificate; what conventions of frameworks
/// return, how far apart, and a true Clarke subgradient. Ctrl-C keeps what there is, and --lines goes on where it was stopped.
#[derive(Args)]
#[command(after_help = "Examples:
  crease audit net.onnx --inputs images.csv --scale 1/255
  crease audit net.onnx --inputs images.npy --element 3 --html audit.html
  crease audit net.onnx --inputs digits/ --labels labels.txt --loss --lines audit.jsonl")]
pub struct Audit {
    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    samples: SampleArgs,

    /// Ask about the cross-entropy of the first output and the label, instead of the outputs
    #[arg(long)]
    loss: bool,

    /// A convention to compare, such as `tensorflow` or `torch, relu=1`; may be given several times. Else torch, jax and `torch, max=first`, which is what kernels of max-pools do
    #[arg(long, value_name = "SELECTION", value_parser = convention)]
    select: Vec<(String, Selection)>,

    /// Add a line of JSON for each input to this file; inputs that it has already are not done again
    #[arg(long, value_name = "FILE")]
    lines: Option<PathBuf>,

    /// Write one HTML page with pictures
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Give up on an input after so many seconds
    #[arg(long, value_name = "S")]
    each: Option<f64>,

    /// Compute so many inputs at a time; else as many as there are cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,

    /// Neither write nor check certificates of verdicts
    #[arg(long)]
    no_certificates: bool,

    #[command(flatten)]
    precision: PrecisionArgs,

    #[command(flatten)]
    time: TimeArgs,

    /// Print a line of JSON for each input, and one for all of them, instead of a summary
    #[arg(long)]
    json: bool,
}

fn convention(text: &str) -> Result<(String, Selection), String> {
    Selection::parse(text).map(|s| (text.to_string(), s)).map_err(|e| e.to_string())
}

impl Audit {
    pub fn run(&self) -> Result<String> {
        let source = self.source.load()?;
        ensure!(!source.has_point(), "--at is for one point; the inputs of an audit are those of --inputs");
        let cases = self.samples.read(&source)?;
        let interrupt = Interrupt::listen();
        let each = self.each.map(|s| flags::time("--each", s)).transpose()?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let usual = Options::default();
        let options = Options {
            presets: if self.select.is_empty() { usual.presets.clone() } else { self.select.clone() },
            of: if self.loss { Of::Loss } else { Of::Outputs },
            limits: self.time.within(self.precision.within(flags::search_limits()))?,
            each,
            certify: !self.no_certificates,
            threads: self.threads.map_or(cores, |n| n as usize),
            ..usual
        };
        ensure!(self.html.is_none() || self.html != self.lines, "--lines and --html name the same file");
        let html = Writer::optional(self.html.as_deref())?;
        // what cannot be audited leaves no file behind
        check(&source.program, &cases, &options).map_err(|e| anyhow!("{e}"))?;
        let made = Made::new(&source.program, &cases, &options);
        let watch = Desk::new(self.lines.as_deref(), &made, self.json)?;
        let report = audit(&source.program, &cases, &options, &watch).map_err(|e| anyhow!("{e}"))?;
        watch.close()?;
        if let Some(html) = html {
            html.all(page(source.program.name(), &report, &cases))?;
        }
        let text = match self.json {
            true => crease::show::json(&serde_json::json!({ "summary": report.summary })),
            false => report.summary.text(&report.findings),
        };
        if report.findings.len() < cases.len() {
            Writer::standard().all(&text)?;
            let far = format!("after {} of {} inputs", report.findings.len(), cases.len());
            let again = if self.lines.is_some() { "; run it again to go on" } else { "" };
            return Err(match interrupt.is_set() {
                true => interrupt.told(&(far + again)),
                false => anyhow!("time was up {far}{again}; allow more with --seconds"),
            });
        }
        Ok(text)
    }
}

/// A file of findings, to be added to, and those that it has already. Its first line tells what they were made with: with something else it is refused; with other limits the findings that met one are taken out, and
/// the first line tells of the new ones.
fn go_on(path: &Path, made: &Made) -> Result<(Writer, HashMap<usize, Finding>)> {
    let name = path.display();
    // a device or a pipe has nothing to go on with, and may have no end
    let is_stream = std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir());
    let old = if is_stream { String::new() } else { writer::whole_lines(path)? };
    let mut all = old.lines();
    let Some(head) = all.next() else {
        let mut lines = Writer::appending(path, 0)?;
        lines.put(made.line() + "\n")?;
        return Ok((lines, HashMap::new()));
    };
    let before = Made::from_line(head).map_err(|e| {
        anyhow!("{name}, line 1 does not tell what its findings were made with ({e}); give another name, or remove it")
    })?;
    let before = before.against(made).map_err(|e| anyhow!("{name} was made {e}; give another name, or remove it"))?;
    let mut known = HashMap::new();
    for (i, line) in all.enumerate() {
        let finding = made
            .opened(line)
            .map_err(|e| anyhow!("{name}, line {}: {e}; remove the line, or give another name", i + 2))?;
        ensure!(finding.input < made.inputs, "{name}, line {}: there is no input {}", i + 2, finding.input);
        known.insert(finding.input, finding);
    }
    let kept = match before {
        Before::Same => old.len(),
        Before::OtherLimits => {
            known.retain(|_, f| !f.limited);
            let mut whole = made.line() + "\n";
            let mut findings: Vec<&Finding> = known.values().collect();
            findings.sort_by_key(|f| f.input);
            findings.iter().for_each(|f| whole.extend([&*made.sealed(f), "\n"]));
            Writer::file(path)?.all(&whole)?;
            whole.len()
        }
    };
    Ok((Writer::appending(path, kept)?, known))
}

/// Where findings arrive.
struct Desk<'m> {
    made: &'m Made,
    known: HashMap<usize, Finding>,
    state: RefCell<State>,
    json: bool,
}

struct State {
    lines: Option<Writer>,
    done: usize,
    tied: usize,
    progress: Progress,
    /// What went wrong with writing; nothing is written after that.
    fault: Option<anyhow::Error>,
}

impl<'m> Desk<'m> {
    fn new(path: Option<&Path>, made: &'m Made, json: bool) -> Result<Desk<'m>> {
        let (lines, known) = match path {
            None => (None, HashMap::new()),
            Some(path) => {
                let (lines, known) = go_on(path, made)?;
                (Some(lines), known)
            }
        };
        let (done, tied) = (known.len(), known.values().filter(|f| f.tied > 0).count());
        let state = State { lines, done, tied, progress: Progress::new(), fault: None };
        let desk = Desk { made, known, state: RefCell::new(state), json };
        if json {
            let mut old: Vec<&Finding> = desk.known.values().collect();
            old.sort_by_key(|f| f.input);
            old.into_iter().try_for_each(|f| Writer::standard().all(&(f.line() + "\n")))?;
        }
        Ok(desk)
    }

    fn close(self) -> Result<()> {
        let state = self.state.into_inner();
        match state.fault {
            Some(fault) => Err(fault),
            None => state.lines.map_or(Ok(()), Writer::finish),
        }
    }
}

impl Watch for Desk<'_> {
    fn known(&self, input: usize) -> Option<Finding> {
        self.known.get(&input).cloned()
    }

    fn done(&self, finding: &Finding) {
        let mut state = self.state.borrow_mut();
        state.done += 1;
        state.tied += usize::from(finding.tied > 0);
        let (done, tied) = (state.done, state.tied);
        state.progress.say(|| format!("{done} of {} inputs, {tied} with ties", self.made.inputs));
        Interrupt::listen().look();
        if state.fault.is_some() {
            return;
        }
        let line = finding.line() + "\n";
        let sealed = || self.made.sealed(finding) + "\n";
        let kept = state.lines.as_mut().map_or(Ok(()), |w| w.put(sealed()));
        let printed = kept.and_then(|()| match self.json {
            true => state.progress.aside(|| Writer::standard().all(&line)),
            false => Ok(()),
        });
        if let Err(fault) = printed {
            state.fault = Some(fault);
        }
    }
}
