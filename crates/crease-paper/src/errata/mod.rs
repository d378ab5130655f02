//! Where the paper slips: what it says, what is computed here, and when its figure holds.
//!
//! [`errata`] computes every entry anew from programs and their costs, and the tests of this module check each claim at
//! many sizes and prices. [`render_errata`] is the text of `ERRATA.md`, and a test keeps that file equal to it. None of the
//! slips touches a theorem of the paper, apart from the sizes for which Theorem 3's construction exists.

mod hardness;
mod matrices;

use crate::programs;
use crate::tables::{Row, Verdict, table1, table2, table3};
use crease::{Error, Function, Selection};
use crease_core::cost::{Price, Prices, Ratio, cost, tally};
use crease_core::differentiate::overhead;
use crease_core::differentiate::{How, Mode, backprop};
use crease_core::{Op, Program, Rational, relu, times_relu, trace};
use std::fmt::Write;
use std::sync::Arc;

/// A slip of the paper.
///
/// ```
/// let all = crease_paper::errata::errata()?;
/// let p2 = all.iter().find(|e| e.id == "p2-node").unwrap();
/// assert_eq!(p2.computed, "cost(P2) = cost(Q1) + cost(P1) + cost(+) = 3 + 2 + 1 = 6.");
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erratum {
    /// A name for it, which [`tables`](crate::tables) refer to.
    pub id: &'static str,
    /// Where in the paper.
    pub place: &'static str,
    /// What the paper says.
    pub says: &'static str,
    /// What is computed here.
    pub computed: String,
    /// Under which condition the paper's figure holds.
    pub holds: &'static str,
}

/// All errata, computed.
///
/// ```
/// use crease_paper::errata::errata;
/// assert!(errata()?.iter().any(|e| e.id == "l1-bound"));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn errata() -> Result<Vec<Erratum>, Error> {
    Ok(vec![
        levels()?,
        p2_node()?,
        forward_constant()?,
        relu_price()?,
        table_2_factor()?,
        max_pool_price()?,
        linf_cost()?,
        linf_bound()?,
        l1_bound()?,
        max_linear_joint()?,
        median_position()?,
        relu_at_zero()?,
        matrices::omega_bound()?,
        matrices::theorem_3_constant()?,
        matrices::theorem_3_order()?,
        matrices::function_domain()?,
        matrices::nonempty_set()?,
        matrices::gradient_inputs()?,
        matrices::lemma_node()?,
        hardness::repeated_argument()?,
        hardness::layer_count()?,
        hardness::literal_pair()?,
        max_lemma()?,
        path_element()?,
    ])
}

/// The text of `ERRATA.md`.
///
/// ```
/// let text = crease_paper::errata::render_errata()?;
/// assert!(text.starts_with("# Errata\n"));
/// assert!(text.contains("## l1-bound\n"));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn render_errata() -> Result<String, Error> {
    let mut out = String::from(
        "# Errata\n\n\
         Slips in Bolte, Boustany, Pauwels and Pesquet-Popescu, *On the complexity of nonsmooth automatic\n\
         differentiation* (ICLR 2023), found by computing its figures. No theorem falls with them; Theorem 3's construction\n\
         needs sizes for which its matrix exists. Every figure below is computed by `crease_paper::errata::errata` and\n\
         checked by the tests beside it; this page is what `crease_paper::errata::render_errata` returns.\n",
    );
    for e in errata()? {
        for (heading, text) in
            [("Where", e.place), ("The paper", e.says), ("Computed", &e.computed), ("Holds", e.holds)]
        {
            if heading == "Where" {
                let _ = writeln!(out, "\n## {}", e.id);
            }
            let _ = writeln!(out, "\n{}", wrapped(&format!("**{heading}.** {text}")));
        }
    }
    out.push_str("\n## Bounds that hold with room to spare\n\n");
    for (g, printed, best) in loose()? {
        let _ = writeln!(out, "- omega of {g}: the paper prints {printed}; the best bound is {best}.");
    }
    Ok(out)
}

/// Breaks a paragraph into lines of at most 110 characters.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        let n = word.chars().count();
        if width > 0 && width + 1 + n > 110 {
            out.push('\n');
            width = 0;
        } else if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += n;
    }
    out
}

/// The size of vectors in examples.
const N: usize = 10;

/// The bounds of the tables that are not attained.
fn loose() -> Result<Vec<(&'static str, String, String)>, Error> {
    let tables = [table1()?, table2()?, table3(N)?];
    let cells = tables.iter().flat_map(|t| &t.columns).flat_map(|c| c.cells.iter().map(move |cell| (c.g, cell)));
    Ok(cells
        .filter_map(|(g, cell)| match &cell.verdict {
            Verdict::Loose(best) => Some((g, cell.printed.clone(), best.fraction())),
            _ => None,
        })
        .collect())
}

fn unit(p: &Program) -> Rational {
    cost(p).at(&Prices::unit())
}

/// Prices with c_nonlin = 1 and this c_relu.
fn with_relu(relu: Rational) -> Prices {
    Prices { nonlin: Rational::ONE, relu }
}

/// The sum of the outputs of two elementary programs.
fn sum_of_elementary() -> Result<Program, Error> {
    let elementary = Arc::new(programs::p0()?);
    Ok(trace(4, |x| {
        let call = |a, b| x[0].tape().call(&elementary, &[a, b])[0];
        call(x[0], x[1]) + call(x[2], x[3])
    })?)
}

fn levels() -> Result<Erratum, Error> {
    let (p0, p1) = (programs::p0()?, programs::p1()?);
    Ok(Erratum {
        id: "levels",
        place: "Section 3.1, on the levels of programs.",
        says: "If P1 and P2 are elementary, the program which sums the outputs of P1 and P0 is of level 1; the programs of \
               level k are those of level 1, for all k.",
        computed: format!(
            "The sum of the outputs of two elementary programs has level {}: P0 should read P2. Figure 1's P0 has level {} \
             and P1, of two operations, has level {}: an elementary program has one.",
            sum_of_elementary()?.level(),
            p0.level(),
            p1.level()
        ),
        holds: "For all k >= 1, by expanding what is called.",
    })
}

fn p2_node() -> Result<Erratum, Error> {
    let (p1, q1, p2) = (programs::p1()?, programs::q1()?, programs::p2()?);
    let node = p2.equations().map(|e| e.op.clone()).find(|op| !matches!(op, Op::Call(_)));
    let sign = node.map_or("", |op| op.name());
    let last = unit(&p2) - unit(&q1) - unit(&p1);
    Ok(Erratum {
        id: "p2-node",
        place: "Appendix A.1.1, before Figure 1.",
        says: "cost(P2) = cost(Q1) + cost(P1) + cost(×) = 6.",
        computed: format!(
            "cost(P2) = cost(Q1) + cost(P1) + cost({sign}) = {} + {} + {last} = {}.",
            unit(&q1),
            unit(&p1),
            unit(&p2)
        ),
        holds: "The number is right whenever + and × cost the same; the node of P2 in Figure 1 is +.",
    })
}

/// A program in which every operation of the dictionary of ReLU programs occurs, with that many inputs.
fn every_relu_operation(p: usize) -> Result<Program, Error> {
    use crease_core::{exp, inv, log};
    Ok(trace(p, |x| {
        let all = x.iter().skip(1).fold(x[0], |a, &b| a * b + b);
        log(exp(relu(all)) + 1.0) + inv(all * 3.0)
    })?)
}

fn forward_omega(p: usize) -> Result<Option<Rational>, Error> {
    Ok(overhead(&every_relu_operation(p)?, &How::default(), Mode::Forward, &Prices::unit())?.omega)
}

fn forward_constant() -> Result<Erratum, Error> {
    let at = |p| -> Result<String, Error> { Ok(forward_omega(p)?.map_or("none".into(), |w| w.to_string())) };
    Ok(Erratum {
        id: "forward-constant",
        place: "Section 4, Beyond backpropagation.",
        says: "Forward propagation of a ReLU program has overhead ratio 3p + 5, by Theorem 2.",
        computed: format!(
            "Theorem 2's omega_f is attained by + and ×, with one operation for the value, 2p products and p sums: 3p + 1. \
             For p = 1, 2, 10, 100 it is {}, {}, {}, {}.",
            at(1)?,
            at(2)?,
            at(10)?,
            at(100)?
        ),
        holds: "As a bound, always; it is what remains if cost(gd)/cost(g) is only known to be at most 5. The constant of \
                Theorem 2 for the elementary operations is 3p + 1.",
    })
}

fn plain_relu() -> Result<Ratio, Error> {
    let p = trace(1, |x| relu(x[0]))?;
    let pr: i128 = tally(&p).iter().map(|(item, _)| i128::from(item.predecessors())).sum();
    let gd = cost(&backprop(&p, &How::default())?);
    Ok(Ratio { above: gd + Price::new(2 * pr, 0, 0), below: cost(&p) })
}

fn relu_price() -> Result<Erratum, Error> {
    let omega = plain_relu()?;
    let at = |n, d| {
        omega.at(&with_relu(Rational::new(n, d).unwrap_or_default())).map_or("no number".into(), |w| w.to_string())
    };
    Ok(Erratum {
        id: "relu-price",
        place: "Section 4, the remark on refined costs, with Section 3.1 and the proof of Theorem 2.",
        says: "With c_relu >= 0 for the sign in ReLU and ReLU', the constant is 5 as before; a cost is any nonnegative \
               function.",
        computed: format!(
            "For ReLU itself omega is ({}) / {}: {} at c_relu = 1, {} at 1/2, {} at 1/10, and {} at 0, where the proof \
             divides by cost(g).",
            omega.above,
            omega.below,
            at(1, 1),
            at(1, 2),
            at(1, 10),
            at(0, 1)
        ),
        holds: "For c_relu >= 1/2, or for c_relu >= 0 if ReLU is replaced by a × ReLU(b), as the appendix does. Theorem 2 \
                needs positive costs, as its proof assumes and its model does not.",
    })
}

fn table_2_factor() -> Result<Erratum, Error> {
    let table = table2()?;
    let row = |c: usize| -> String {
        let cell = table.columns[c].cells.iter().find(|cell| cell.row == Row::PerInput);
        cell.map_or(String::new(), |cell| cell.shown())
    };
    Ok(Erratum {
        id: "table-2-factor",
        place: "Table 2, row cost(×)|pr|/cost(g), columns (+, ×) and (+c, ×c); Table 3, the same row, column (+, ×).",
        says: "4 and 2; the other columns print |pr|/cost(g) without the factor 2.",
        computed: format!("cost(×)|pr|/cost(g) is {} for (+, ×) and {} for (+c, ×c).", row(0), row(1)),
        holds: "If the row is read as 2 cost(×)|pr|/cost(g), these entries are right and all others of the row are half \
                of what they should be. The row below, omega, is right throughout.",
    })
}

fn max_pool_price() -> Result<Erratum, Error> {
    let p = programs::max_pool(&std::array::from_fn(|i| (i * i) as f64))?;
    Ok(Erratum {
        id: "max-pool-price",
        place: "Appendix B.3, the case of 3 × 3 max-pooling; Table 3.",
        says: "The text has cost(g) = 153 + 8 c_nonlin, the table 153 + 8 c_relu.",
        computed: format!(
            "The tally of the program is {}: 9 × (9 + 8) additions and multiplications and 8 comparisons, at {}.",
            tally(&p),
            cost(&p)
        ),
        holds: "The table is right: a maximum is made of comparisons. The text agrees where c_nonlin = c_relu.",
    })
}

/// The paper's cost of the l-infinity norm.
fn printed_linf(n: i128) -> Price {
    Price::new(n - 1, 0, 2 * n)
}

/// omega for a program of n inputs that costs so much, together with its derivative too.
fn norm_omega(price: Price, n: i128) -> Ratio {
    Ratio { above: price.clone() + Price::new(2 * n, 0, 0), below: price }
}

fn linf_cost() -> Result<Erratum, Error> {
    Ok(Erratum {
        id: "linf-cost",
        place: "Table 3, column linf, rows cost(g), cost(gd) and cost(×)|pr|/cost(g).",
        says: "cost(g) = n + 2n c_relu - 1.",
        computed: format!(
            "n absolute values, each a sign and a multiplication, and n - 1 comparisons: n + (2n - 1) c_relu. For n = {N} \
             the count is {}, the paper's formula {}.",
            cost(&programs::linf(N)?),
            printed_linf(N as i128)
        ),
        holds: "Exactly where c_relu = 1: the comparison that is saved is priced as an addition.",
    })
}

fn linf_bound() -> Result<Erratum, Error> {
    let n = N as i128;
    let counted = norm_omega(cost(&programs::linf(N)?), n).worst().value.unwrap_or_default();
    let printed = norm_omega(printed_linf(n), n).worst().value.unwrap_or_default();
    Ok(Erratum {
        id: "linf-bound",
        place: "Table 3, column linf, row omega.",
        says: "omega <= 3 for all c_relu >= 0.",
        computed: format!(
            "With the cost that the table prints, omega reaches {} at c_relu = 0 for n = {N}. With the counted cost it is at \
             most {}, attained there.",
            printed.fraction(),
            counted.fraction()
        ),
        holds: "With the printed cost, for c_relu >= 1/(2n); with the counted cost, always.",
    })
}

fn l1_bound() -> Result<Erratum, Error> {
    let omega = norm_omega(cost(&programs::l1(N)?), N as i128);
    let worst = omega.worst().value.unwrap_or_default();
    let edge = omega.at(&with_relu(Rational::new(1, N as i64).unwrap_or_default())).unwrap_or_default();
    Ok(Erratum {
        id: "l1-bound",
        place: "Table 3, column l1, row omega.",
        says: "omega <= 2 for all c_relu >= 0.",
        computed: format!(
            "omega = 1 + 2n / (2n - 1 + n c_relu). For n = {N} it is {} at c_relu = 0 and {edge} at c_relu = 1/n. The bound \
             over all n and c_relu is 3, attained for n = 1, where the norm is the absolute value.",
            worst.fraction()
        ),
        holds: "For c_relu >= 1/n.",
    })
}

fn max_linear_joint() -> Result<Erratum, Error> {
    let (m, n) = (4, 3);
    let p = programs::max_m_linear(m, &vec![1.0; n])?;
    let d = backprop(&p, &How::default())?;
    Ok(Erratum {
        id: "max-linear-joint",
        place: "Appendix B.3, the case of max-m-linear, last line.",
        says: "cost(gd) = cost(g) = m × 2n - 1 + (m - 1) c_relu.",
        computed: format!(
            "A pair of brackets is lost: m × (2n - 1) + (m - 1) c_relu, as some lines before. For m = {m} and n = {n}, \
             cost(g) is {} and cost(gd) is {}.",
            cost(&p),
            cost(&d)
        ),
        holds: "For m = 1, which the case excludes.",
    })
}

/// The number at that position, counted from 1, of 1, 2, ..., n in order.
fn at_position(n: usize, position: usize) -> Result<Option<f64>, Error> {
    let Some(k) = position.checked_sub(1) else { return Ok(None) };
    let shape = crease_core::Shape::vector(n)?;
    let p = crease_core::trace_shapes(&[shape], |x| vec![x[0].order_statistic(k)])?;
    let numbers: Vec<f64> = (1..=n).map(|i| i as f64).collect();
    Ok(Some(Function::from(p).value(&numbers)?))
}

fn median_position() -> Result<Erratum, Error> {
    let shown =
        |n: usize| -> Result<String, Error> { Ok(at_position(n, n / 2)?.map_or("nothing".into(), |x| x.to_string())) };
    Ok(Erratum {
        id: "median-position",
        place: "Appendix B.3, the case of the median.",
        says: "The median is the number at position floor(n/2) of the sorted numbers, whose indices are 1, 2, ..., n.",
        computed: format!(
            "Of 1, 2, 3 that is {}, of 1, ..., 5 it is {}, and of a single number {}. Of 1, ..., 4 it is {}, the lower of \
             the two in the middle.",
            shown(3)?,
            shown(5)?,
            shown(1)?,
            shown(4)?
        ),
        holds: "For even n, as the lower median; for every n if positions count from 0, as the upper median. For all n, \
                counted from 1, the lower median is at ceil(n/2).",
    })
}

fn relu_at_zero() -> Result<Erratum, Error> {
    let apart = Function::from(trace(2, |x| x[0] * relu(x[1]))?).grad(&[1.0, 0.0])?;
    let whole = Function::from(trace(2, |x| times_relu(x[0], x[1]))?).grad(&[1.0, 0.0])?;
    Ok(Erratum {
        id: "relu-at-zero",
        place: "Section 2, Example 1, and Appendix B.2, the case of × ReLU.",
        says: "Example 1 sets ReLU'(0) = 0; the program for a × ReLU(b) returns (a × b, b, a) if b >= 0.",
        computed: format!(
            "At a = 1, b = 0 the derivative by b is {} as a product with ReLU, and {} by the program: its ReLU'(0) is 1.",
            apart[1], whole[1]
        ),
        holds: "Both are elements of a conservative gradient. The two agree if the program tests b > 0. The preset \
                `paper` keeps both, as relu and times_relu.",
    })
}

/// The sizes of the ReLU layers of the maximum of 2^k numbers.
fn layers(k: u32) -> Result<Vec<usize>, Error> {
    let p = programs::max_by_relu(k)?;
    let sizes = p.equations().filter(|e| matches!(e.op, Op::Kink(_))).map(|e| p.shape(e.result()).len());
    Ok(sizes.collect())
}

fn max_lemma() -> Result<Erratum, Error> {
    let sizes: Vec<String> = layers(4)?.iter().map(usize::to_string).collect();
    Ok(Erratum {
        id: "max-lemma",
        place: "Appendix D.5, the lemma on the maximum of 2^k numbers.",
        says: "The lemma bounds the k layers by 3 × 2^(k-1), the induction in its proof by 3 × 2^k.",
        computed: format!(
            "The layers of the network that the proof constructs have, for k = 4, sizes {}: the largest is 3 × 2^(k-1).",
            sizes.join(", ")
        ),
        holds: "Both hold; 3 × 2^(k-1) is attained, so the lemma's is the best. The induction goes through with it.",
    })
}

fn path_element() -> Result<Erratum, Error> {
    // the second relu as a maximum with 0, so that the selection can tell the two kinks apart
    let f = Function::from(trace(1, |x| {
        let a = relu(x[0]);
        a - crease_core::max(&[a, a.tape().constant(0.0)])
    })?);
    let at = |ties| -> Result<f64, Error> {
        let selection = Selection { relu: Rational::ONE, max: ties, ..Selection::paper() };
        Ok(f.clone().select(selection).grad(&[0.0])?[0])
    };
    let (both, one) = (at(crease_core::Ties::First)?, at(crease_core::Ties::Last)?);
    Ok(Erratum {
        id: "path-element",
        place: "Appendix D.4, the end of the proof that two elements are found in polynomial time.",
        says: "Each path from source to sink is the evaluation at a vertex; a path represents a nonzero element.",
        computed: format!(
            "relu(x) - relu(relu(x)) at 0, with slopes s and t, has derivative s - s t. The path through both relus, \
             s = t = 1, evaluates to {both}; the path through the first alone, s = 1 and t = 0, to {one}."
        ),
        holds: "For a path with the fewest kinks: the vertices on a path also evaluate every shorter path among them. \
                Dijkstra's algorithm with unit lengths finds one.",
    })
}

#[cfg(test)]
mod tests;
