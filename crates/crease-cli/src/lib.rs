//! The command-line tool of crease, all but its `main`: a library is built while those that it uses still are, a binary after them.
//!
//! One file for each command, in [`commands`]; what they share is here beside it:
//!
//! ```text
//! source      FILE, -, -e, --program and --at become a program, its text and a point
//! network     FILE.onnx, --batch, --dim, --weights and --element
//! transform   --derive, --inline, --scalarize, --lower, --simplify
//! how         --select and --technique
//! errata      slips of the paper, as text and as JSON
//! flags       in which numbers to compute, and how far to go
//! fault       messages with their place in the text
//! writer      standard output and files: whole or as they were
//! advice      flags in messages: those that the command takes
//! along       --along, --contains: vectors over the inputs
//! vectors     --points, --basis, --directions: files of many vectors
//! many        eval and grad at many points
//! device      --device: grad --points and bench on a CUDA device
//! samples     --inputs and --labels: many inputs of a network, from tables, arrays and pictures
//! listing     all neighbouring gradients, their hull, and the flags of clarke --all
//! budget      --seconds and --conflicts of a search for a verdict
//! interrupt   Ctrl-C, and readers that leave, which long searches notice
//! progress    how far a long search is
//! timing      times of several tasks that take turns
//! ```
//!
//! A command computes everything first and returns what is to be printed, so a fault leaves standard output empty. Four print as
//! they go: `paper`, `clarke --all --stream`, `audit --json`, and `--points` where there are many.
//! Exit codes: 0 done, 1 bad input with one message on standard error, 2 usage, 130 if Ctrl-C cut it short, whatever was printed. `sat` ends like a SAT
//! solver: 10, 20, or 0; `paper` with 1 if the paper and crease differ without an erratum. Who stops reading ends the work, quietly.

mod advice;
mod along;
mod budget;
mod commands;
mod device;
mod errata;
mod fault;
mod flags;
mod how;
mod interrupt;
mod listing;
mod many;
mod network;
mod progress;
mod samples;
mod source;
mod timing;
mod transform;
mod vectors;
mod writer;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use interrupt::{INTERRUPTED, Stopped};
use std::io::Write;
use writer::{Closed, Writer};

/// Differentiate nonsmooth programs, say what the answer is, and count what it cost.
#[derive(Parser)]
#[command(
    name = "crease",
    version,
    max_term_width = 100,
    long_about = "crease differentiates programs that are not smooth everywhere, and says what the answer is: the gradient, \
                  a Clarke subgradient, or only an element of a conservative gradient, with the kinks where a choice was \
                  made. It counts what \
                  programs and their derivatives cost, as in \"On the complexity of nonsmooth automatic differentiation\".",
    after_help = "Examples:
  crease eval -e 'max(x, 1 - x)' --at x=1/3
  crease grad -e 'relu(x) - relu(-x)' --at x=0
  crease clarke -e 'norm1(v)' --at v=[0,0]
  crease directional -e 'abs(x)' --at x=0 --along x=-1
  crease cost network.crease
  crease grad network.onnx --at image.npy --element 3
  crease bench network.crease --at weights.json
  crease draw -e 'relu(x) * y' -o picture.svg

`crease help COMMAND` tells more about a command."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Eval(commands::eval::Eval),
    Grad(commands::grad::Grad),
    Cost(commands::cost::Cost),
    Bench(commands::bench::Bench),
    Show(commands::show::Show),
    Draw(commands::draw::Draw),
    Export(commands::export::Export),
    Table(commands::table::Table),
    Directional(commands::directional::Directional),
    Lexicographic(commands::lexicographic::Lexicographic),
    Clarke(commands::clarke::Clarke),
    Conservative(commands::conservative::Conservative),
    Differentiable(commands::differentiable::Differentiable),
    Check(commands::check::Check),
    Sat(commands::sat::Sat),
    Reduce(commands::reduce::Reduce),
    Simplify(commands::simplify::Simplify),
    Audit(commands::audit::Audit),
    Paper(commands::paper::Paper),
}

/// Carries out the command that the process was called with, and ends it.
pub fn main() {
    let matches = Cli::command().get_matches();
    if let Some((name, flags)) = matches.subcommand() {
        Cli::command().find_subcommand(name).into_iter().for_each(|command| advice::called(command.clone()));
        flags::remember(flags);
        if let Err(fault) = flags::end_in_time(flags) {
            return exit(Err(fault));
        }
    }
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    let result = match cli.command {
        Command::Eval(c) => c.run(),
        Command::Grad(c) => c.run(),
        Command::Cost(c) => c.run(),
        Command::Bench(c) => return exit(c.run()),
        Command::Show(c) => c.run(),
        Command::Draw(c) => c.run(),
        Command::Export(c) => c.run(),
        Command::Table(c) => c.run(),
        Command::Directional(c) => c.run(),
        Command::Lexicographic(c) => c.run(),
        Command::Clarke(c) => c.run(),
        Command::Conservative(c) => c.run(),
        Command::Differentiable(c) => c.run(),
        Command::Check(c) => c.run(),
        Command::Sat(c) => return exit(c.run()),
        Command::Reduce(c) => c.run(),
        Command::Simplify(c) => c.run(),
        Command::Audit(c) => c.run(),
        Command::Paper(c) => return exit(c.run()),
    };
    exit(result.map(|text| (text, 0)))
}

/// Prints what a command returned, and ends with its exit code, or with 1 after a fault.
fn exit(result: anyhow::Result<(String, i32)>) {
    let printed = result.and_then(|(text, code)| match Writer::standard().all(&text) {
        // a reader that has seen enough, such as `head`, is no fault
        Err(e) if !e.is::<Closed>() => Err(e),
        _ => Ok(code),
    });
    let cut_short = interrupt::cut_short();
    let code = match printed {
        Ok(_) if cut_short => INTERRUPTED,
        Ok(code) => code,
        Err(e) if e.is::<Closed>() => 0,
        Err(e) => {
            let (message, code) = match (e.is::<Stopped>(), cut_short) {
                (true, _) => (e.to_string(), INTERRUPTED),
                (_, true) => ("stopped by Ctrl-C".to_string(), INTERRUPTED),
                _ => (format!("error: {}", advice::with_flags(&format!("{e:#}"))), 1),
            };
            // a message that nobody can read is no reason for another one
            let _ = writeln!(std::io::stderr(), "{}", fault::shown(&message));
            code
        }
    };
    // leaving like this spares taking large programs apart
    std::process::exit(code)
}
