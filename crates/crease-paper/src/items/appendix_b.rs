//! Appendix B: the costs in the proof of Theorem 2, and what each operation costs.

use super::item::{Failure, Item, Kind, Run};
use super::outcome::{Outcome, Picture};
use super::sample;
use super::section3::unit;
use crate::programs;
use crate::tables::{Cell, Column, Table, Verdict, cases, table1, table2, table3};
use crease::Function;
use crease_core::cost::{Count, Prices, cost, tally};
use crease_core::differentiate::overhead;
use crease_core::differentiate::{How, Mode, Selection, backprop, forprop};
use crease_core::random::SplitMix64;
use crease_core::{Program, Rational, Tensor, max, relu, run, times_relu, trace};
use crease_draw::{Drawing, svg};

pub const ITEMS: &[Item] = &[
    Item::statement("proof-of-theorem-2").about("The costs in the proof of Theorem 2", "Appendix B").claims(
        "Backprop costs, summed over the equations, cost(gd) + |pr|(cost(+) + cost(×)); forprop \
         cost(gd) + p|pr| cost(×) + p(|pr| - 1) cost(+).",
        proof,
    ),
    Item::numbered(Kind::Case, 1, "case-1")
        .about("+ and ×", "Appendix B.1")
        .claims("d(a, b) = (b, a) takes no operation: cost(g) = cost(gd) = 1.", || unit_case(0, 1, 1)),
    Item::numbered(Kind::Case, 2, "case-2")
        .about("+c and ×c", "Appendix B.1")
        .claims("d(a) = c takes no operation: cost(g) = cost(gd) = 1.", || unit_case(1, 1, 1)),
    Item::numbered(Kind::Case, 3, "case-3")
        .about("log", "Appendix B.1")
        .claims("d(a) = 1/a takes one operation more: cost(g) = 1, cost(gd) = 2.", || unit_case(2, 1, 2)),
    Item::numbered(Kind::Case, 4, "case-4")
        .about("exp", "Appendix B.1")
        .claims("d(a) = exp(a) is there already: cost(g) = cost(gd) = 1.", || unit_case(3, 1, 1)),
    Item::numbered(Kind::Case, 5, "case-5")
        .about("inv", "Appendix B.1")
        .claims("d(a) = -1/a² takes a square and a sign: cost(g) = 1, cost(gd) = 3.", || unit_case(4, 1, 3)),
    Item::numbered(Kind::Case, 6, "case-6")
        .about("ReLU", "Appendix B.1")
        .claims("Value and derivative follow from one sign: cost(g) = cost(gd) = 1.", || unit_case(5, 1, 1)),
    Item::numbered(Kind::Remark, 6, "remark-6")
        .about("Maxima by ReLU", "Appendix B.1")
        .claims("max{x, y} = ReLU(x - y) + y = ReLU(x - y) + ReLU(y) - ReLU(-y).", maxima),
    Item::numbered(Kind::Table, 2, "table-2").about("Refined costs", "Appendix B.2").claims(
        "With c_nonlin ≥ 1 for smooth nonlinear operations and c_ReLU ≥ 0 for a sign, omega is at \
         most 5 for every column.",
        || tables(&[table2()?]),
    ),
    Item::numbered(Kind::Case, 7, "case-7").about("a × ReLU(b)", "Appendix B.2").claims(
        "One sign and one product give value and derivative: return (ab, b, a) if b ≥ 0, else zeros; \
         cost(gd) = cost(g) = 1 + c_ReLU.",
        times_relu_case,
    ),
    Item::numbered(Kind::Table, 3, "table-3").about("Further operations", "Appendix B.3").claims(
        "Costs of |·|, ELU, 3 × 3 max-pooling, and the norms l∞ and l1 of n numbers, and bounds on omega.",
        || tables(&[table3(10)?]),
    ),
    Item::numbered(Kind::Case, 8, "case-8").about("Absolute value and leaky ReLU", "Appendix B.3").claims(
        "A sign and a product at worst: cost(gd) = cost(g) = 1 + c_ReLU for both.",
        || {
            chosen(
                &[("abs", table3(10)?), ("leaky ReLU", cases(10)?)],
                "both as programs, with their backprop, counted",
            )
        },
    ),
    Item::numbered(Kind::Case, 9, "case-9")
        .about("ELU", "Appendix B.3")
        .claims("A sign, an exponential, a product and a difference; the derivative is there already.", || {
            chosen(&[("ELU", table3(10)?)], "ELU as a program, with its backprop, counted")
        }),
    Item::numbered(Kind::Case, 10, "case-10").about("max-m-linear", "Appendix B.3").claims(
        "A ↦ max(Ax) costs m(2n - 1) + (m - 1) c_ReLU, with its derivative the same: the row that wins is x.",
        || chosen(&[("max-4-linear", cases(10)?)], "m = 4, n = 10, with its backprop, counted"),
    ),
    Item::numbered(Kind::Case, 11, "case-11").about("3 × 3 max-pooling", "Appendix B.3").claims(
        "By the nine weights of the kernel, for a fixed 5 × 5 input: 153 additions and \
         multiplications, and 8 comparisons.",
        pooling,
    ),
    Item::numbered(Kind::Case, 12, "case-12").about("The norms l1 and l∞", "Appendix B.3").claims(
        "The l1 norm costs n - 1 additions, n products by -1 and n comparisons; with its derivative the same.",
        || {
            chosen(
                &[("linf", table3(10)?), ("l1", table3(10)?)],
                "both norms of 10 numbers, with their backprop, counted",
            )
        },
    ),
    Item::numbered(Kind::Case, 13, "case-13").about("The median", "Appendix B.3").claims(
        "Sort, and apply the same permutation to 1, ..., n: the derivative is 1 at the index of the \
         median, without a further operation.",
        median,
    ),
    Item::numbered(Kind::Case, 14, "case-14").about("Selection functions", "Appendix B.3").claims(
        "cost(gd) / cost(g) = (c_s + c_∇)/(c_s + c_f) ≤ (c_s + 5 c_f)/(c_s + c_f): near 5 if the \
         choice is cheap, near 1 if it dominates.",
        selection,
    ),
];

fn proof() -> Run {
    let mut o = Outcome::of(
        "500 random ReLU programs: the sums of the proof computed here from the operations of each, against the model, and the emitted \
         programs counted against both",
    );
    let mut random = SplitMix64::new(51);
    let (how, prices) = (How::default(), Prices::unit());
    let (mut back, mut forth, mut fewer) = (0, 0, 0);
    for _ in 0..500 {
        let p = sample::relu_program(4, 25, &mut random)?;
        let inputs = p.dimension();
        let (mut backward, mut forward) = (Count::ZERO, Count::ZERO);
        for (item, n) in tally(&p).iter() {
            let pr = item.predecessors() as usize;
            let joint = |mode| item.joint_price(mode, &Selection::default()).unit();
            backward += (joint(Mode::Backward) + 2 * pr) * n;
            forward += (joint(Mode::Forward) + inputs * pr + inputs * pr.saturating_sub(1)) * n;
        }
        let model = |mode| overhead(&p, &how, mode, &prices).map(|m| m.model.at(&prices));
        let (b, f) = (model(Mode::Backward)?, model(Mode::Forward)?);
        back += usize::from(backward.to_rational() == b);
        forth += usize::from(forward.to_rational() == f);
        fewer += usize::from(unit(&backprop(&p, &how)?) <= b && unit(&forprop(&p, &how)?) <= f);
    }
    o.always("the model of backward mode is the proof's sum", back, 500);
    o.always("the model of forward mode is the proof's sum", forth, 500);
    o.always("the programs that are emitted cost at most as much", fewer, 500);
    let p = trace(2, |x| relu(x[0] * x[1]) + x[0])?;
    for (what, p) in [("P = relu(ab) + a", p.clone()), ("backprop(P)", backprop(&p, &how)?)] {
        o.pictures
            .push(Picture::Graph { caption: format!("{what}: cost {}", unit(&p)), svg: svg(&p, &Drawing::default())? });
    }
    Ok(o)
}

/// cost(g) and cost(gd) of a column of Table 1, counted.
fn unit_case(column: usize, g: i64, gd: i64) -> Run {
    let mut o = Outcome::of("the operation as a program, with its backprop, counted");
    let prices = Prices::unit();
    for p in &table1()?.columns[column].programs {
        let derived = backprop(p, &How::default())?;
        let name = p.equations().map(|e| e.op.name()).next().unwrap_or("g");
        o.equal(format!("cost({name})"), g, unit(p));
        o.equal(format!("cost of {name} and its derivative"), gd, cost(&derived).at(&prices));
    }
    Ok(o)
}

fn maxima() -> Run {
    let mut o = Outcome::of(
        "the three programs at 200 random and integer points, in rationals, and their Clarke subdifferentials at 0",
    );
    let programs = [
        trace(2, |x| max(&[x[0], x[1]]))?,
        trace(2, |x| relu(x[0] - x[1]) + x[1])?,
        trace(2, |x| relu(x[0] - x[1]) + relu(x[1]) - relu(-x[1]))?,
    ];
    let mut random = SplitMix64::new(52);
    let mut same = 0;
    for k in 0..200 {
        let at = match k % 2 {
            0 => sample::generic(&programs[0], &mut random),
            _ => sample::integers(&programs[0], 1, &mut random),
        };
        let values: Vec<Vec<Tensor<Rational>>> = programs.iter().map(|p| run(p, &at)).collect::<Result<_, _>>()?;
        same += usize::from(values[0] == values[1] && values[1] == values[2]);
    }
    o.always("all three agree", same, 200);
    let clarke = |p: &Program| -> Result<usize, Failure> {
        Ok(super::appendix_a::neighbours(p, &crease::reductions::origin(p))?.len())
    };
    let counts: Vec<String> = programs.iter().map(|p| Ok(clarke(p)?.to_string())).collect::<Result<_, Failure>>()?;
    o.holds(
        "vertices of the Clarke subdifferential at 0",
        "the same function",
        counts.join(", "),
        counts.iter().all(|c| c == "2"),
    );
    let grads: Vec<String> = programs
        .iter()
        .map(|p| Ok(format!("{:?}", Function::from(p.clone()).grad(&[0.0, 0.0])?)))
        .collect::<Result<_, Failure>>()?;
    o.measured("what backprop returns at 0", grads.join(", "));
    Ok(o)
}

/// Facts from cells of the tables.
fn cells(o: &mut Outcome, column: &Column) {
    let fact = |o: &mut Outcome, cell: &Cell| {
        let what = format!("{} of {}", cell.row, column.g);
        let ours = match cell.bound() {
            Some(bound) => format!("{}, {bound}", cell.shown()),
            None => cell.shown(),
        };
        let [printed, ours] = [&cell.printed, &ours].map(|text| text.replace("<=", "≤"));
        match &cell.verdict {
            Verdict::Agrees | Verdict::Loose(_) => o.holds(what, printed, ours, true),
            Verdict::Differs(id) => o.slip(id, what, printed, ours, false),
        }
    };
    column.cells.iter().for_each(|cell| fact(o, cell));
}

/// Every cell of some tables.
pub fn tables(all: &[Table]) -> Run {
    let mut o = Outcome::of(
        "each operation as a program, with its backprop, counted; ratios as functions of c_nonlin and c_relu",
    );
    all.iter().flat_map(|t| &t.columns).for_each(|c| cells(&mut o, c));
    Ok(o)
}

/// Single columns.
fn chosen(from: &[(&str, Table)], ran: &str) -> Run {
    let mut o = Outcome::of(ran);
    for (g, table) in from {
        let column = table.columns.iter().find(|c| c.g == *g).ok_or_else(|| format!("no column {g}"))?;
        cells(&mut o, column);
    }
    Ok(o)
}

fn times_relu_case() -> Run {
    let table = table2()?;
    let column = table.columns.last().ok_or("Table 2 is empty")?;
    let mut o = Outcome::of("the operation as a program, with its backprop, counted, and run at b = 0");
    cells(&mut o, column);
    let f = Function::from(trace(2, |x| times_relu(x[0], x[1]))?);
    for (at, value, gradient) in
        [([2.0, 3.0], 6.0, vec![3.0, 2.0]), ([2.0, -3.0], 0.0, vec![0.0, 0.0]), ([2.0, 0.0], 0.0, vec![0.0, 2.0])]
    {
        let ours = f.value_and_grad(&at)?;
        let print = |(v, g): &(f64, Vec<f64>)| format!("{v} and {g:?}");
        o.equal(format!("value and derivative at (a, b) = {at:?}"), print(&(value, gradient)), print(&ours));
    }
    let product = Function::from(trace(2, |x| x[0] * relu(x[1]))?).grad(&[2.0, 0.0])?;
    o.slip(
        "relu-at-zero",
        "the same at (2, 0) through ReLU'(0) of Example 1",
        "[0.0, 2.0]",
        format!("{product:?}"),
        product == [0.0, 2.0],
    );
    Ok(o)
}

fn pooling() -> Run {
    let mut o = chosen(&[("3x3 max-pool", table3(10)?)], "the program on a 5 × 5 image, with its backprop, counted")?;
    let p = programs::max_pool(&std::array::from_fn(|i| (i * i % 17) as f64))?;
    let (text, ours) = ("153 + 8 c_nonlin", cost(&p).to_string());
    o.slip("max-pool-price", "the text's cost", text, &ours, ours == text);
    Ok(o)
}

fn median() -> Run {
    let mut o = Outcome::of("medians of 1 to 40 numbers, with their backprop, counted and run");
    let (mut same, mut one) = (0, 0);
    let mut random = SplitMix64::new(53);
    for n in 2..=40 {
        let p = programs::median(n)?;
        same += usize::from(cost(&backprop(&p, &How::default())?) == cost(&p));
        let x: Vec<f64> = (0..n).map(|_| random.below(1 << 20) as f64).collect();
        let (value, g) = Function::from(p).value_and_grad(&x)?;
        let at: Vec<usize> = (0..n).filter(|&i| g[i] != 0.0).collect();
        one += usize::from(at.len() == 1 && g[at[0]] == 1.0 && x[at[0]] == value);
    }
    o.always("cost(gd) = cost(g)", same, 39);
    o.always("the derivative is 1 at the index of the median, else 0", one, 39);
    let costs: Vec<String> = [10, 100, 1000]
        .into_iter()
        .map(|n| {
            let counted = unit(&programs::median(n)?).to_f64();
            Ok(format!("{counted} at n = {n} ({:.2} n log₂ n)", counted / (n as f64 * (n as f64).log2())))
        })
        .collect::<Result<_, Failure>>()?;
    o.measured("comparisons by sorting, roughly n log n", costs.join(", "));
    let third = Function::from(programs::median(3)?).value(&[1.0, 2.0, 3.0])?;
    o.slip("median-position", "the median of 1, 2, 3 is the number at position ⌊3/2⌋ = 1", 1, third, third == 1.0);
    Ok(o)
}

fn selection() -> Run {
    let mut o = chosen(
        &[("selection", cases(10)?)],
        "selection functions with cheap and with dear choices, and their backprop, counted",
    )?;
    let ratio =
        |p: &Program| -> Result<f64, Failure> { Ok(unit(&backprop(p, &How::default())?).to_f64() / unit(p).to_f64()) };
    let cheap = crate::experiments::overhead::selection_function(64)?;
    o.holds(
        "cost(gd)/cost(g), choice by one comparison, 64 inputs",
        "between 1 and 5",
        format!("{:.2}", ratio(&cheap)?),
        ratio(&cheap)? <= 5.0,
    );
    let dear = programs::median(64)?;
    o.equal("the same for the median of 64, where the choice is everything", "1.00", format!("{:.2}", ratio(&dear)?));
    Ok(o)
}
