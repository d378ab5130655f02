//! The three cost tables of the paper, computed.
//!
//! Each column is an operation g, as a real program: its cost is the price of its tally, |pr| the values that its one
//! counted operation takes, and cost(gd) the counted cost of its backprop, which with the adjoint 1 has nothing to do but
//! compute g and its derivative together. The ratios follow. Beside each stands what the paper prints, and whether it
//! agrees; where it does not, an [erratum](crate::errata) says why. Nothing computed here is typed in.

mod printed;

pub use printed::{cases, table1, table2, table3};

use crease::Error;
use crease_core::cost::{Count, Price, Prices, Ratio, Worst, cost, tally};
use crease_core::differentiate::{How, backprop};
use crease_core::{Program, Rational};
use std::fmt;

/// A table of the paper, column by column.
///
/// ```
/// use crease_paper::tables::table1;
/// let t = table1()?;
/// let omegas: Vec<String> = t.columns.iter().map(|c| c.cells[0].shown()).collect();
/// assert_eq!(omegas, ["5", "3", "4", "3", "5", "3"]);
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    /// The number in the paper.
    pub number: u8,
    /// What it shows.
    pub title: String,
    /// The columns in the paper's order.
    pub columns: Vec<Column>,
}

/// A column: one operation, or two that cost the same.
///
/// ```
/// use crease_paper::tables::table2;
/// assert_eq!(table2()?.columns[4].g, "inv");
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Column {
    /// The heading.
    pub g: &'static str,
    /// The operations as programs.
    pub programs: Vec<Program>,
    /// The rows from top to bottom.
    pub cells: Vec<Cell>,
}

/// The rows of the tables.
///
/// ```
/// assert_eq!(crease_paper::tables::Row::Joint.to_string(), "cost(gd)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// cost(g).
    Cost,
    /// |pr|, the number of predecessors.
    Predecessors,
    /// cost(gd), value and derivative together.
    Joint,
    /// cost(gd) / cost(g).
    Overhead,
    /// cost(x) |pr| / cost(g).
    PerInput,
    /// (cost(gd) + 2 cost(x) |pr|) / cost(g), which Theorem 2 takes the maximum of.
    Omega,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Row::Cost => "cost(g)",
            Row::Predecessors => "|pr|",
            Row::Joint => "cost(gd)",
            Row::Overhead => "cost(gd)/cost(g)",
            Row::PerInput => "cost(x)|pr|/cost(g)",
            Row::Omega => "omega",
        })
    }
}

/// One figure: computed, and as printed.
///
/// ```
/// use crease_paper::tables::{table2, Row, Verdict};
/// let cell = &table2()?.columns[0].cells[4];
/// assert_eq!((cell.row, cell.shown().as_str(), cell.printed.as_str()), (Row::PerInput, "2", "4"));
/// assert_eq!(cell.verdict, Verdict::Differs("table-2-factor"));
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cell {
    /// Which row.
    pub row: Row,
    /// The figure, as a function of c_nonlin and c_relu; below the line is 1 where it is a plain price or count.
    pub computed: Ratio,
    /// What the paper prints.
    pub printed: String,
    /// What that means.
    pub figure: Figure,
    /// Whether the two agree.
    pub verdict: Verdict,
}

/// The meaning of a printed figure.
///
/// ```
/// use crease::cost::Price;
/// use crease_paper::tables::Figure;
/// let half = Figure::exactly(Price::new(1, 0, 0), Price::new(2, 0, 0));
/// assert!(matches!(half, Figure::Exactly(_)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// It is this function of the prices.
    Exactly(Ratio),
    /// It never exceeds this number, whatever c_nonlin >= 1 and c_relu >= 0.
    AtMost(Rational),
}

impl Figure {
    /// A quotient of prices.
    ///
    /// ```
    /// use crease::cost::Price;
    /// use crease_paper::tables::Figure;
    /// let one = Price::new(1, 0, 0);
    /// assert_eq!(Figure::exactly(one.clone(), one.clone()), Figure::exactly(one.clone(), one));
    /// ```
    pub fn exactly(above: Price, below: Price) -> Self {
        Figure::Exactly(Ratio { above, below })
    }
}

/// Whether what is printed agrees with what is computed.
///
/// ```
/// use crease_paper::tables::{table3, Row, Verdict};
/// let t = table3(10)?;
/// let elu = t.columns.iter().find(|c| c.g == "ELU").unwrap();
/// assert_eq!(elu.cells[5].row, Row::Omega);
/// assert_eq!(elu.cells[5].verdict, Verdict::Loose(crease::Rational::new(5, 3).unwrap())); // the paper's bound is 2
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// They are equal, or the bound is attained.
    Agrees,
    /// The bound holds; the best one is this.
    Loose(Rational),
    /// They differ: see the erratum of that name.
    Differs(&'static str),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Agrees => f.write_str("agrees"),
            Verdict::Loose(best) => write!(f, "holds; best bound {}", best.fraction()),
            Verdict::Differs(id) => write!(f, "differs: {id}"),
        }
    }
}

impl Cell {
    /// The computed figure as text.
    ///
    /// ```
    /// use crease_paper::tables::table2;
    /// assert_eq!(table2()?.columns[4].cells[3].shown(), "(2 + c_nonlin) / c_nonlin");
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn shown(&self) -> String {
        show(&self.computed)
    }

    /// The largest value over all c_nonlin >= 1 and c_relu >= 0, and where.
    ///
    /// ```
    /// use crease_paper::tables::table2;
    /// let worst = table2()?.columns[2].cells[5].worst();
    /// assert_eq!(worst.value.unwrap().to_string(), "4"); // log, at c_nonlin = 1
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn worst(&self) -> Worst {
        self.computed.worst()
    }

    /// For an omega that varies with the prices, its least bound and the prices that attain it.
    ///
    /// ```
    /// use crease_paper::tables::table2;
    /// assert_eq!(table2()?.columns[4].cells[5].bound().unwrap(), "<= 5 at c_nonlin = 1");
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn bound(&self) -> Option<String> {
        let Ratio { above, below } = &self.computed;
        let varies = constant(&self.computed).is_none();
        if !varies || !matches!((self.row, &self.figure), (Row::Omega, _) | (_, Figure::AtMost(_))) {
            return None;
        }
        let worst = self.worst();
        let value = worst.value.map_or("unbounded".into(), |v| format!("<= {}", v.fraction()));
        let at = |name: &str, price: &Option<Rational>| {
            format!("{name} = {}", price.as_ref().map_or("infinity".into(), Rational::fraction))
        };
        let mut places = Vec::new();
        if !(above.nonlin.is_zero() && below.nonlin.is_zero()) {
            places.push(at("c_nonlin", &worst.nonlin));
        }
        if !(above.relu.is_zero() && below.relu.is_zero()) {
            places.push(at("c_relu", &worst.relu));
        }
        Some(format!("{value} at {}", places.join(", ")))
    }
}

/// A figure as printed: its text, its meaning, and the erratum to name if it is wrong.
type Printed = (&'static str, Figure, &'static str);

/// The operation that a program of one counted operation applies, as the three basic figures: cost(g), |pr|, cost(gd).
fn figures(p: &Program) -> Result<(Price, Count, Price), Error> {
    let predecessors = tally(p).iter().map(|(item, n)| n.clone() * item.predecessors()).sum();
    let joint = backprop(p, &How::default())?;
    Ok((cost(p), predecessors, cost(&joint)))
}

const ONE: Price = Price::new(1, 0, 0);

fn column(g: &'static str, programs: Vec<Program>, rows: Vec<(Row, Printed)>, unit: bool) -> Result<Column, Error> {
    let (mut g_cost, pr, mut gd_cost) = figures(&programs[0])?;
    if unit {
        let flat = |p: Price| Price::ones(p.unit());
        (g_cost, gd_cost) = (flat(g_cost), flat(gd_cost));
    }
    let cells = rows.into_iter().map(|(row, (printed, figure, erratum))| {
        let (above, below) = match row {
            Row::Cost => (g_cost.clone(), ONE),
            Row::Predecessors => (ONE * &pr, ONE),
            Row::Joint => (gd_cost.clone(), ONE),
            Row::Overhead => (gd_cost.clone(), g_cost.clone()),
            Row::PerInput => (ONE * &pr, g_cost.clone()),
            Row::Omega => (gd_cost.clone() + ONE * &pr * 2, g_cost.clone()),
        };
        let computed = Ratio { above, below };
        let verdict = judge(&computed, &figure, erratum);
        Cell { row, computed, printed: printed.into(), figure, verdict }
    });
    Ok(Column { g, cells: cells.collect(), programs })
}

fn judge(computed: &Ratio, figure: &Figure, erratum: &'static str) -> Verdict {
    match figure {
        Figure::Exactly(printed) if same(computed, printed) => Verdict::Agrees,
        Figure::AtMost(bound) => match computed.worst().value {
            Some(best) if best == *bound => Verdict::Agrees,
            Some(best) if best < *bound => Verdict::Loose(best),
            _ => Verdict::Differs(erratum),
        },
        Figure::Exactly(_) => Verdict::Differs(erratum),
    }
}

/// Whether two quotients are one function: multiplied crosswise, they are one polynomial.
fn same(a: &Ratio, b: &Ratio) -> bool {
    let product = |x: &Price, y: &Price| {
        [
            &x.one * &y.one,
            &x.nonlin * &y.nonlin,
            &x.relu * &y.relu,
            &x.one * &y.nonlin + &x.nonlin * &y.one,
            &x.one * &y.relu + &x.relu * &y.one,
            &x.nonlin * &y.relu + &x.relu * &y.nonlin,
        ]
    };
    product(&a.above, &b.below) == product(&b.above, &a.below)
}

/// The value of a quotient that does not depend on the prices.
fn constant(r: &Ratio) -> Option<Rational> {
    let value = r.at(&Prices::unit())?;
    let (n, d) = value.small_parts()?;
    let itself = Ratio { above: ONE * i128::from(n), below: ONE * i128::from(d) };
    same(r, &itself).then_some(value)
}

/// A quotient of prices as text.
fn show(r: &Ratio) -> String {
    if let Some(value) = constant(r) {
        return value.fraction();
    }
    if r.below == ONE {
        return r.above.to_string();
    }
    let part = |p: &Price| match [&p.one, &p.nonlin, &p.relu].iter().filter(|n| !n.is_zero()).count() {
        2.. => format!("({p})"),
        _ => p.to_string(),
    };
    format!("{} / {}", part(&r.above), part(&r.below))
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Table {}: {}", self.number, self.title)?;
        let mut lines = vec![["g", "figure", "computed", "paper", "verdict"].map(String::from)];
        for c in &self.columns {
            for cell in &c.cells {
                let computed = match cell.bound() {
                    Some(worst) => format!("{}, {worst}", cell.shown()),
                    None => cell.shown(),
                };
                let row = cell.row.to_string();
                lines.push([c.g.into(), row, computed, cell.printed.clone(), cell.verdict.to_string()]);
            }
        }
        let width = |k: usize| lines.iter().map(|l| l[k].len()).max().unwrap_or(0);
        let widths = [0, 1, 2, 3].map(width);
        for l in &lines {
            let [g, row, computed, paper, verdict] = l;
            let [a, b, c, d] = widths;
            writeln!(f, "{g:a$}  {row:b$}  {computed:c$}  {paper:d$}  {verdict}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
