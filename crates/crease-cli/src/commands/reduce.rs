//! `crease reduce`: a formula as a program that is differentiable at 0 unless the formula is satisfiable.

use crate::fault;
use crate::flags::DeadlineArgs;
use crate::source::read_input;
use crate::writer::Writer;
use anyhow::Result;
use clap::{Args, ValueEnum};
use crease::cost::{Prices, cost};
use crease::reductions::{Cnf, ReluNetwork, SatBounds, SatForm, sat_bounds, sat_network, sat_program};
use crease::show;
use crease_core::{Program, Text};
use crease_formats::parse_dimacs;
use serde_json::Value;

/// Write a formula as a program: differentiable at 0 unless the formula is satisfiable
///
/// The formula is in conjunctive normal form, in the DIMACS format of SAT solvers, with clauses of any length. The program is 0
/// where all inputs are 0 and positive exactly where the signs of its inputs make the formula true.
///
/// As a lattice, it is the smallest of relu(max(literals)) over all clauses. As a network, it is the linear ReLU network with
/// weights -1, 0 and 1 of the paper's proof, written out in +, - and relu: clauses that are always true are added until their
/// number n is a power of two, and 3-CNF takes log2(n) + 3 ReLU layers of at most 6 n coordinates.
#[derive(Args)]
#[command(after_help = "Examples:
  crease reduce formula.cnf
  crease reduce formula.cnf --form network -o formula.crease
  crease reduce formula.cnf --form network --json -o formula.crease
  crease reduce - < formula.cnf | crease cost -")]
pub struct Reduce {
    /// A file in DIMACS format; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: String,

    /// How the program is written
    #[arg(long, default_value = "lattice")]
    form: Form,

    /// Write the program to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,

    #[command(flatten)]
    _deadline: DeadlineArgs,

    /// Print one JSON object with sizes and bounds; it holds the program, too, unless that is written to a file
    #[arg(long)]
    json: bool,
}

/// How a formula is written as a program.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// In min, max, relu and negation
    Lattice,
    /// In +, - and relu, as the network of the paper's proof
    Network,
}

impl From<Form> for SatForm {
    fn from(form: Form) -> Self {
        match form {
            Form::Lattice => SatForm::Lattice,
            Form::Network => SatForm::Network,
        }
    }
}

impl Reduce {
    pub fn run(&self) -> Result<String> {
        let cnf = read_formula(&self.file)?;
        let (program, network) = match self.form {
            Form::Lattice => (sat_program(&cnf)?, None),
            Form::Network => {
                let network = sat_network(&cnf)?;
                (network.program()?, Some(network))
            }
        };
        let text = format!("{}{program}", heading(&cnf));
        let mut facts = self.json.then(|| facts(&cnf, &program, network.as_ref()));
        match (&self.output, &mut facts) {
            (Some(path), _) => Writer::file(path)?.all(&text)?,
            (None, Some(facts)) => facts.push(("program", text.clone().into())),
            (None, None) => return Ok(text),
        }
        Ok(facts.map_or(String::new(), |facts| show::json(&show::object(facts))))
    }
}

/// Reads a formula from a file, or from standard input if the path is `-`.
pub fn read_formula(path: &str) -> Result<Cnf> {
    let bytes = read_input(path)?;
    let file = if path == "-" { "<stdin>" } else { path };
    parse_dimacs(&bytes).map_err(|e| {
        let (error, text) = e.as_text(&bytes);
        fault::text(&error, &Text::new(file, text))
    })
}

/// What the program is, as comments above it.
fn heading(cnf: &Cnf) -> String {
    let count = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    format!(
        "# a formula of {} and {};\n# differentiable at 0 if and only if it is not satisfiable\n",
        count(cnf.variables, "variable"),
        count(cnf.clauses.len(), "clause")
    )
}

type Members = Vec<(&'static str, Value)>;

fn facts(cnf: &Cnf, program: &Program, network: Option<&ReluNetwork>) -> Members {
    let zero: Vec<String> = program.inputs().iter().map(|i| format!("{}=0", i.name)).collect();
    let mut facts = vec![
        ("form", if network.is_some() { "network" } else { "lattice" }.into()),
        ("variables", cnf.variables.into()),
        ("clauses", cnf.clauses.len().into()),
        ("equations", program.len().into()),
        ("cost", show::number(&cost(program).at(&Prices::unit()))),
        ("at", zero.join(",").into()),
    ];
    if let Some(network) = network {
        let SatBounds { clauses, relu_layers, width, .. } = sat_bounds(cnf);
        let widths: Value = network.layers().iter().map(|l| l.width()).collect();
        // beyond 2^64 only the nearest float is left
        let size = u64::try_from(network.size()).map_or_else(|_| (network.size() as f64).into(), Value::from);
        facts.extend([
            ("padded_clauses", clauses.into()),
            ("relu_layers", network.relu_layers().into()),
            ("layers", widths),
            ("relus", network.relus().into()),
            ("entries", network.entries().into()),
            ("size", size),
            ("bounds", show::object([("relu_layers", relu_layers.into()), ("layer", width.into())])),
        ]);
    }
    facts
}
