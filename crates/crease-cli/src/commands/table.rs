//! `crease table`: the cost tables of the paper, computed, beside what the paper prints.

use crate::errata;
use crate::flags::DeadlineArgs;
use anyhow::Result;
use clap::Args;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use crease::show::{self, object};
use crease_paper::errata::Erratum;
use crease_paper::tables::{Cell, Column, Table as Figures, Verdict, cases, table1, table2, table3};
use serde_json::Value;

/// Compute the paper's cost tables
///
/// Every figure is counted on a program that computes the operation and on its backprop, and stands beside the figure
/// that the paper prints. Where the two differ, the erratum below the table says why, and when the paper's figure holds.
#[derive(Args)]
#[command(after_help = "Examples:
  crease table 1
  crease table 3 --n 25
  crease table 2 --json")]
pub struct Table {
    /// Which table of the paper, 1, 2 or 3
    #[arg(value_name = "TABLE", value_parser = clap::value_parser!(u8).range(1..=3))]
    number: u8,

    /// How many numbers the norms of table 3 take
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    n: u32,

    #[command(flatten)]
    _deadline: DeadlineArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Table {
    pub fn run(&self) -> Result<String> {
        let n = self.n as usize;
        let tables = match self.number {
            1 => vec![table1()?],
            2 => vec![table2()?],
            _ => vec![table3(n)?, cases(n)?],
        };
        let errata = cited(&tables)?;
        if self.json {
            return Ok(show::json(&json(&tables, &errata)));
        }
        let mut out: String = tables.iter().map(|t| grid(t) + "\n").collect();
        out.push_str(&errata::notes(&errata));
        Ok(out.trim_end().to_string() + "\n")
    }
}

/// The errata that a table needs.
fn cited(tables: &[Figures]) -> Result<Vec<Erratum>> {
    let cells = || tables.iter().flat_map(|t| &t.columns).flat_map(|c| &c.cells);
    let wanted = |id: &str| cells().any(|c| matches!(c.verdict, Verdict::Differs(cited) if cited == id));
    Ok(crease_paper::errata::errata()?.into_iter().filter(|e| wanted(e.id)).collect())
}

/// The computed figure, in the symbols of the paper's table. Where it varies with the prices and the paper bounds it, its
/// least bound; the form itself follows from the rows above, and is in the JSON.
fn computed(table: &Figures, cell: &Cell) -> String {
    let form = cell.shown();
    let text = cell.bound().map_or(form, |bound| bound.replace("<=", "≤"));
    match table.number {
        3 => text.replace("c_relu", "c_R").replace("c_nonlin", "c_nl"),
        _ => text,
    }
}

/// What there is to say about the paper's figure: nothing if it is right.
fn mark(cell: &Cell) -> String {
    match &cell.verdict {
        Verdict::Agrees => String::new(),
        Verdict::Loose(_) => "holds, not the least bound".into(),
        Verdict::Differs(id) => format!("differs: {id}"),
    }
}

/// A table as text.
fn grid(table: &Figures) -> String {
    let mut grid = comfy_table::Table::new();
    grid.load_preset(UTF8_HORIZONTAL_ONLY);
    let single = table.columns.iter().all(|c| c.cells.len() == 1);
    // one row of the grid holds several lines, so that only operations are parted
    if single {
        grid.set_header(["g", "omega", "paper", ""]);
        let lines = |show: &dyn Fn(&Column) -> String| table.columns.iter().map(show).collect::<Vec<_>>().join("\n");
        let cell = |show: &dyn Fn(&Cell) -> String| lines(&|c| show(&c.cells[0]));
        grid.add_row([lines(&|c| c.g.into()), cell(&|c| computed(table, c)), cell(&printed), cell(&mark)]);
    } else {
        grid.set_header(["g", "figure", "computed", "paper", ""]);
        for column in &table.columns {
            let lines = |show: &dyn Fn(&Cell) -> String| column.cells.iter().map(show).collect::<Vec<_>>().join("\n");
            let row = lines(&|c| c.row.to_string());
            grid.add_row([column.g.into(), row, lines(&|c| computed(table, c)), lines(&printed), lines(&mark)]);
        }
    }
    let grid = grid.to_string();
    let grid: Vec<&str> = grid.lines().map(str::trim_end).collect();
    let mut out = format!("Table {}: {}\nomega = (cost(gd) + 2 cost(x)|pr|) / cost(g)\n", table.number, table.title);
    out.push_str(&grid.join("\n"));
    out.push('\n');
    out
}

fn printed(cell: &Cell) -> String {
    cell.printed.replace("<=", "≤")
}

fn json(tables: &[Figures], errata: &[Erratum]) -> Value {
    let mut figures = Vec::new();
    for column in tables.iter().flat_map(|t| &t.columns) {
        for cell in &column.cells {
            let (verdict, erratum) = match &cell.verdict {
                Verdict::Agrees => ("agrees", Value::Null),
                Verdict::Loose(_) => ("holds", Value::Null),
                Verdict::Differs(id) => ("differs", (*id).into()),
            };
            figures.push(object([
                ("g", column.g.into()),
                ("figure", cell.row.to_string().into()),
                ("computed", cell.shown().into()),
                ("largest", cell.worst().value.as_ref().map_or(Value::Null, show::number)),
                ("paper", cell.printed.as_str().into()),
                ("verdict", verdict.into()),
                ("erratum", erratum),
            ]));
        }
    }
    object([
        ("table", tables[0].number.into()),
        ("title", tables[0].title.as_str().into()),
        ("figures", figures.into()),
        ("errata", errata::json(errata)),
    ])
}
