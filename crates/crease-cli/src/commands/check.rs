//! `crease check`: is a certificate valid, what does it prove, and is it about this program.

use crate::commands::printed;
use crate::fault;
use crate::flags::{self, DeadlineArgs, LimitArgs, PrecisionArgs};
use crate::network::NetworkArgs;
use crate::source::{SourceArgs, read_input};
use anyhow::{Result, anyhow, bail};
use clap::{Args, Parser};
use crease::inspect::{Ask, check};

/// Check a certificate
///
/// Reads a certificate, follows its proof in exact arithmetic, and says what it proves: that a function has a derivative, that it has none,
/// or that a vector is one of its Clarke subgradients. The checker shares nothing with the search that found the proof. A certificate
/// states the local model that it is about. With a program and a point, their model is compared with it.
#[derive(Args)]
#[command(after_help = "Examples:
  crease check proof.cert
  crease check proof.cert -e 'relu(x) - relu(-x)' --at x=0
  crease check - network.crease --at point.json --json < proof.cert")]
pub struct Check {
    /// The certificate; `-` reads standard input
    #[arg(value_name = "CERT")]
    certificate: String,

    /// A program in the language of crease, to which the certificate should belong; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: Option<String>,

    /// An expression instead of a file; its free names are the inputs, in order of first appearance
    #[arg(short = 'e', long, value_name = "EXPR", conflicts_with_all = ["file", "program"], allow_hyphen_values = true)]
    expression: Option<String>,

    /// The program of the file to take; else the last one
    #[arg(long, value_name = "NAME", requires = "file")]
    program: Option<String>,

    /// The point, such as `x=0,y=1/2,v=[1,2,3]`, or a .json or .npy file; with -e it also tells shapes
    #[arg(long, value_name = "POINT", allow_hyphen_values = true)]
    at: Option<String>,

    /// The output that the certificate is about, counted from 0, where the program has several
    #[arg(long, value_name = "K")]
    output: Option<usize>,

    #[command(flatten)]
    network: NetworkArgs,

    #[command(flatten)]
    precision: PrecisionArgs,

    #[command(flatten)]
    limit: LimitArgs,

    #[command(flatten)]
    _deadline: DeadlineArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The flags of a program as all commands take them: there it is required, here it is not.
#[derive(Parser)]
struct OfProgram {
    #[command(flatten)]
    source: SourceArgs,
}

impl Check {
    pub fn run(&self) -> Result<String> {
        let proof = check(self.read()?).map_err(|e| anyhow!("certificate {e}"))?;
        let Some(source) = self.source() else { return Ok(printed(&proof, self.json)) };
        let (source, limits) = (source.load()?, self.limit.set(self.precision.within(flags::limits()))?);
        let ask = Ask { output: self.output, limits, ..Ask::default() };
        let proof = proof.about(&source.program, &source.inputs()?, &ask).map_err(fault::inspect)?;
        Ok(printed(&proof, self.json))
    }

    fn read(&self) -> Result<Vec<u8>> {
        if self.certificate == "-" && self.file.as_deref() == Some("-") {
            bail!("the certificate and the program cannot both be read from standard input");
        }
        read_input(&self.certificate)
    }

    /// The program that the flags name, if they do.
    fn source(&self) -> Option<SourceArgs> {
        let flags = [("expression", &self.expression), ("program", &self.program), ("at", &self.at)];
        let flags = flags.into_iter().filter_map(|(flag, value)| Some(format!("--{flag}={}", value.as_ref()?)));
        let file = self.file.iter().flat_map(|f| ["--".to_string(), f.clone()]);
        let args: Vec<String> =
            ["check".to_string()].into_iter().chain(flags).chain(self.network.arguments()).chain(file).collect();
        if self.file.is_none() && self.expression.is_none() {
            if self.at.is_some() || self.output.is_some() {
                let message = "--at and --output belong to a program: give FILE or -e EXPR, too\n";
                clap::Error::raw(clap::error::ErrorKind::MissingRequiredArgument, message).exit();
            }
            return None;
        }
        Some(OfProgram::try_parse_from(args).unwrap_or_else(|e| e.exit()).source)
    }
}
