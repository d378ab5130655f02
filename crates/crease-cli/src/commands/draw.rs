//! `crease draw`: a program as the graph that it is.

use crate::flags::DeadlineArgs;
use crate::how::{Direction, HowArgs};
use crate::source::SourceArgs;
use crate::transform::TransformArgs;
use crate::writer::Writer;
use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use crease::show;
use crease_draw::{DrawError, Drawing, dot, svg};

/// Draw a program as a graph
///
/// Inputs at the bottom, operations above, as in the paper's Figure 1. DOT goes to standard output unless told otherwise;
/// the format follows the name of the output file.
#[derive(Args)]
#[command(after_help = "Examples:
  crease draw -e 'relu(x) - relu(-x)' -o identity.svg
  crease draw figure1.crease --nested -o figure1.svg
  crease draw -e 'x * y' --derive backprop | dot -Tpdf -o backprop.pdf")]
pub struct Draw {
    #[command(flatten)]
    source: SourceArgs,

    /// The file to write, .dot, .gv or .svg
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,

    /// The format; else by the name of the output file, else DOT
    #[arg(long)]
    format: Option<Format>,

    /// Draw called programs as boxes that hold their own graphs
    #[arg(long)]
    nested: bool,

    /// The largest number of nodes to draw
    #[arg(long, value_name = "N", default_value_t = Drawing::default().max_nodes)]
    max_nodes: usize,

    #[command(flatten)]
    _deadline: DeadlineArgs,

    /// Print one JSON object
    #[arg(long, conflicts_with = "output")]
    json: bool,

    #[command(flatten)]
    how: HowArgs,

    /// The direction in which a Jacobian is computed
    #[arg(long, default_value = "backward")]
    mode: Direction,

    // last, because its heading would go on over what follows
    #[command(flatten)]
    transform: TransformArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The language of Graphviz
    Dot,
    /// An image
    Svg,
}

impl Draw {
    pub fn run(&self) -> Result<String> {
        let format = self.format()?;
        let source = self.source.load()?;
        let p = self.transform.apply(&source, &self.how, self.mode)?;
        let how = Drawing { nested: self.nested, max_nodes: self.max_nodes, ..Drawing::default() };
        let drawn = match format {
            Format::Dot => dot(&p, &how),
            Format::Svg => svg(&p, &how),
        };
        let text = drawn.map_err(too_large)?;
        if self.json {
            let name = if format == Format::Svg { "svg" } else { "dot" };
            return Ok(show::json(&show::object([("format", name.into()), ("drawing", text.into())])));
        }
        match &self.output {
            Some(path) => {
                Writer::file(path)?.all(&text)?;
                Ok(String::new())
            }
            None => Ok(text),
        }
    }

    fn format(&self) -> Result<Format> {
        let Some(path) = self.output.as_deref().filter(|_| self.format.is_none()) else {
            return Ok(self.format.unwrap_or(Format::Dot));
        };
        let extension = path.rsplit_once('.').map(|(_, e)| e.to_ascii_lowercase());
        match extension.as_deref() {
            Some("svg") => Ok(Format::Svg),
            Some("dot" | "gv") => Ok(Format::Dot),
            _ => Err(anyhow!("the name {path} tells no format; end it with .svg or .dot, or add --format")),
        }
    }
}

/// The limit of a drawing, by the name of its flag.
fn too_large(e: DrawError) -> anyhow::Error {
    match e {
        DrawError::TooLarge { nodes, .. } if nodes < usize::MAX => anyhow!("{e} (--max-nodes {nodes})"),
        e => anyhow!("{e}"),
    }
}
