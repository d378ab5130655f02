//! What the paper prints, figure by figure, beside the programs that it is about.

use super::{Figure, ONE, Printed, Row, Table, column};
use crate::programs;
use crease::Error;
use crease_core::cost::Price;
use crease_core::{Program, Rational, exp, inv, leaky_relu, log, relu, times_relu, trace};

/// What is right has no erratum.
const NONE: &str = "";

fn is(text: &'static str, above: &Price, below: &Price) -> Printed {
    (text, Figure::exactly(above.clone(), below.clone()), NONE)
}

fn number(text: &'static str, n: i128) -> Printed {
    is(text, &(ONE * n), &ONE)
}

fn at_most(text: &'static str, n: i64, d: i64) -> Printed {
    (text, Figure::AtMost(Rational::new(n, d).unwrap_or(Rational::ZERO)), NONE)
}

fn erratum(id: &'static str, (text, figure, _): Printed) -> Printed {
    (text, figure, id)
}

const ROWS: [Row; 6] = [Row::Cost, Row::Predecessors, Row::Joint, Row::Overhead, Row::PerInput, Row::Omega];

fn six(figures: [Printed; 6]) -> Vec<(Row, Printed)> {
    ROWS.into_iter().zip(figures).collect()
}

/// `+` and `x`, the first column of every table.
fn sum_and_product() -> Result<Vec<Program>, Error> {
    Ok(vec![trace(2, |x| x[0] + x[1])?, trace(2, |x| x[0] * x[1])?])
}

fn with_constants() -> Result<Vec<Program>, Error> {
    Ok(vec![trace(1, |x| x[0] + 3.0)?, trace(1, |x| x[0] * 3.0)?])
}

/// Table 1: omega for the operations of the dictionary of ReLU programs, at unit prices.
///
/// ```
/// use crease_paper::tables::{table1, Verdict};
/// assert!(table1()?.columns.iter().all(|c| c.cells[0].verdict == Verdict::Agrees));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn table1() -> Result<Table, Error> {
    let omega = |g, programs, text, n| column(g, programs, vec![(Row::Omega, number(text, n))], true);
    Ok(Table {
        number: 1,
        title: "omega_b of the dictionary of ReLU programs, every operation at cost 1".into(),
        columns: vec![
            omega("+, *", sum_and_product()?, "5", 5)?,
            omega("+c, *c", with_constants()?, "3", 3)?,
            omega("log", vec![trace(1, |x| log(x[0]))?], "4", 4)?,
            omega("exp", vec![trace(1, |x| exp(x[0]))?], "3", 3)?,
            omega("inv", vec![trace(1, |x| inv(x[0]))?], "5", 5)?,
            omega("relu", vec![trace(1, |x| relu(x[0]))?], "3", 3)?,
        ],
    })
}

/// Table 2: the same with refined prices, and relu as `a * relu(b)`.
///
/// ```
/// use crease_paper::tables::{table2, Verdict};
/// let t = table2()?;
/// let wrong = t.columns.iter().flat_map(|c| &c.cells).filter(|c| matches!(c.verdict, Verdict::Differs(_)));
/// assert_eq!(wrong.count(), 2);
/// # Ok::<(), crease::Error>(())
/// ```
pub fn table2() -> Result<Table, Error> {
    let nonlin = Price::new(0, 1, 0);
    let sign = Price::new(1, 0, 1);
    let factor = |printed| erratum("table-2-factor", printed);
    let c = || is("c_nonlin", &nonlin, &ONE);
    let per_input = || is("1 / c_nonlin", &ONE, &nonlin);
    let columns = vec![
        column(
            "+, *",
            sum_and_product()?,
            six([
                number("1", 1),
                number("2", 2),
                number("1", 1),
                number("1", 1),
                factor(number("4", 4)),
                number("5", 5),
            ]),
            false,
        )?,
        column(
            "+c, *c",
            with_constants()?,
            six([
                number("1", 1),
                number("1", 1),
                number("1", 1),
                number("1", 1),
                factor(number("2", 2)),
                number("3", 3),
            ]),
            false,
        )?,
        column(
            "log",
            vec![trace(1, |x| log(x[0]))?],
            six([
                c(),
                number("1", 1),
                is("2 c_nonlin", &(nonlin.clone() * 2), &ONE),
                number("2", 2),
                per_input(),
                at_most("<= 4", 4, 1),
            ]),
            false,
        )?,
        column(
            "exp",
            vec![trace(1, |x| exp(x[0]))?],
            six([c(), number("1", 1), c(), number("1", 1), per_input(), at_most("<= 3", 3, 1)]),
            false,
        )?,
        column(
            "inv",
            vec![trace(1, |x| inv(x[0]))?],
            six([
                c(),
                number("1", 1),
                is("c_nonlin + 2", &Price::new(2, 1, 0), &ONE),
                is("(c_nonlin + 2) / c_nonlin", &Price::new(2, 1, 0), &nonlin),
                per_input(),
                at_most("<= 5", 5, 1),
            ]),
            false,
        )?,
        column(
            "* relu",
            vec![trace(2, |x| times_relu(x[0], x[1]))?],
            six([
                is("1 + c_relu", &sign, &ONE),
                number("2", 2),
                is("1 + c_relu", &sign, &ONE),
                number("1", 1),
                is("2 / (1 + c_relu)", &(ONE * 2), &sign),
                at_most("<= 5", 5, 1),
            ]),
            false,
        )?,
    ];
    let title = "the same with c_nonlin >= 1 for smooth nonlinear operations, c_relu >= 0 for signs".into();
    Ok(Table { number: 2, title, columns })
}

/// Table 3: nonsmooth operations, norms of n numbers among them. The paper's figures are taken at that n.
///
/// ```
/// use crease_paper::tables::table3;
/// let t = table3(10)?;
/// assert_eq!(t.columns[4].cells[0].shown(), "10 + 19 c_relu"); // the paper prints n + 2n c_relu - 1
/// # Ok::<(), crease::Error>(())
/// ```
pub fn table3(n: usize) -> Result<Table, Error> {
    let sign = Price::new(1, 0, 1);
    let elu = Price::new(2, 1, 1);
    let pool = Price::new(153, 0, 8);
    let size = n as i128;
    let linf = Price::new(size - 1, 0, 2 * size);
    let l1 = Price::new(2 * size - 1, 0, size);
    // any image does; this one has no ties
    let image: [f64; 25] = std::array::from_fn(|i| (i * i) as f64);
    let norm = |id, text| erratum(id, is(text, &linf, &ONE));
    let columns = vec![
        column(
            "+, *",
            sum_and_product()?,
            six([
                number("1", 1),
                number("2", 2),
                number("1", 1),
                number("1", 1),
                erratum("table-2-factor", number("4", 4)),
                number("5", 5),
            ]),
            false,
        )?,
        column(
            "abs",
            vec![programs::abs_value()?],
            six([
                is("1 + c_R", &sign, &ONE),
                number("1", 1),
                is("1 + c_R", &sign, &ONE),
                number("1", 1),
                is("1 / (1 + c_R)", &ONE, &sign),
                at_most("<= 3", 3, 1),
            ]),
            false,
        )?,
        column(
            "ELU",
            vec![programs::elu(1.0)?],
            six([
                is("2 + c_R + c_nl", &elu, &ONE),
                number("1", 1),
                is("2 + c_R + c_nl", &elu, &ONE),
                number("1", 1),
                is("1 / (2 + c_R + c_nl)", &ONE, &elu),
                at_most("<= 2", 2, 1),
            ]),
            false,
        )?,
        column(
            "3x3 max-pool",
            vec![programs::max_pool(&image)?],
            six([
                is("153 + 8 c_R", &pool, &ONE),
                number("9", 9),
                is("153 + 8 c_R", &pool, &ONE),
                number("1", 1),
                is("9 / (153 + 8 c_R)", &(ONE * 9), &pool),
                at_most("<= 1.12", 112, 100),
            ]),
            false,
        )?,
        column(
            "linf",
            vec![programs::linf(n)?],
            six([
                norm("linf-cost", "n + 2n c_R - 1"),
                number("n", size),
                norm("linf-cost", "n + 2n c_R - 1"),
                number("1", 1),
                erratum("linf-cost", is("n / (n + 2n c_R - 1)", &(ONE * size), &linf)),
                erratum("linf-bound", at_most("<= 3", 3, 1)),
            ]),
            false,
        )?,
        column(
            "l1",
            vec![programs::l1(n)?],
            six([
                is("n (2 + c_R) - 1", &l1, &ONE),
                number("n", size),
                is("n (2 + c_R) - 1", &l1, &ONE),
                number("1", 1),
                is("n / (n (2 + c_R) - 1)", &(ONE * size), &l1),
                erratum("l1-bound", at_most("<= 2", 2, 1)),
            ]),
            false,
        )?,
    ];
    Ok(Table {
        number: 3,
        title: format!("nonsmooth operations with refined prices; norms of n = {n} numbers"),
        columns,
    })
}

/// The number of linear functions in the column of max-m-linear.
const LINEAR: usize = 4;

/// The cases that the appendix treats in its text without a column of Table 3, with the figures that it gives there.
///
/// ```
/// use crease_paper::tables::{cases, Verdict};
/// let t = cases(10)?;
/// let linear = t.columns.iter().find(|c| c.g == "max-4-linear").unwrap();
/// assert_eq!(linear.cells[0].shown(), "76 + 3 c_relu");
/// assert_eq!(linear.cells[2].verdict, Verdict::Differs("max-linear-joint"));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn cases(n: usize) -> Result<Table, Error> {
    let sign = Price::new(1, 0, 1);
    let (m, size) = (LINEAR as i128, n as i128);
    let linear = Price::new(m * (2 * size - 1), 0, m - 1);
    // the text prints the joint cost without the brackets of m (2n - 1)
    let unbracketed = Price::new(m * 2 * size - 1, 0, m - 1);
    let x: Vec<f64> = (0..n).map(|i| i as f64).collect();
    let columns = vec![
        column(
            "leaky ReLU",
            vec![trace(1, |x| leaky_relu(x[0], 0.25))?],
            vec![
                (Row::Cost, is("1 + c_R", &sign, &ONE)),
                (Row::Joint, is("1 + c_R", &sign, &ONE)),
                (Row::Overhead, number("1", 1)),
                (Row::Omega, at_most("<= 3", 3, 1)),
            ],
            false,
        )?,
        column(
            "max-4-linear",
            vec![programs::max_m_linear(LINEAR, &x)?],
            vec![
                (Row::Cost, is("m (2n - 1) + (m - 1) c_R", &linear, &ONE)),
                (Row::Predecessors, number("m n", m * size)),
                (Row::Joint, erratum("max-linear-joint", is("m 2n - 1 + (m - 1) c_R", &unbracketed, &ONE))),
                (Row::Overhead, number("1", 1)),
            ],
            false,
        )?,
        // the median of one number costs nothing, and has no ratio
        column("median", vec![programs::median(n.max(2))?], vec![(Row::Overhead, number("1", 1))], false)?,
        column(
            "selection",
            vec![programs::selection_function()?],
            vec![(Row::Overhead, at_most("<= 5", 5, 1))],
            false,
        )?,
    ];
    Ok(Table { number: 3, title: format!("the cases of the text; m = {LINEAR}, n = {n}"), columns })
}
