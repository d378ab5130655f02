//! Section 4: what differentiation costs.

use super::item::{Failure, Item, Kind, Run};
use super::outcome::{Outcome, Picture};
use super::sample;
use super::section3::unit;
use crate::experiments::overhead::{Family, Measured, measure};
use crate::plot::{Axis, Plot, Series};
use crate::programs;
use crate::tables::{Row, table1, table2, table3};
use crease_core::cost::{Prices, Ratio, cost};
use crease_core::dictionary::{Dictionary, outside};
use crease_core::differentiate::overhead;
use crease_core::differentiate::{How, Mode, Technique, backprop};
use crease_core::random::SplitMix64;
use crease_core::{Op, Program, Rational, exp, inv, log, relu, trace};
use std::sync::Arc;
use std::time::Duration;

pub const ITEMS: &[Item] = &[
    Item::numbered(Kind::Theorem, 2, "theorem-2").about("Complexity of nonsmooth AD", "Section 4").claims(
        "cost(backprop(P)) ≤ ω_b cost(P) with ω_b = max (cost(gd) + 2 max(cost(+), cost(×))|pr|)/cost(g), whatever the number p of inputs; \
         cost(forprop(P)) ≤ ω_f cost(P) with ω_f growing like p. Both are tight.",
        theorem_2,
    ),
    Item::numbered(Kind::Assumption, 1, "assumption-1").about("Unit costs", "Section 4").claims(
        "All operations of D'_ReLU = {+, ×, +c, ×c, inv, exp, log, ReLU, ReLU'} cost 1.",
        unit_costs,
    ),
    Item::numbered(Kind::Corollary, 1, "corollary-1").about("Backprop of ReLU programs", "Section 4")
        .claims("cost(backprop(P)) ≤ 5 cost(P) for every ReLU program P.", corollary_1),
    Item::numbered(Kind::Table, 1, "table-1").about("ω_b of the operations of D_ReLU", "Section 4").claims(
        "(cost(gd) + 2 cost(×)|pr|)/cost(g) is 5, 3, 4, 3, 5, 3 for (+, ×), (+c, ×c), log, exp, inv, ReLU.",
        || super::appendix_b::tables(&[table1()?]),
    ),
    Item::numbered(Kind::Remark, 1, "remark-1").about("Refined cost systems", "Section 4").claims(
        "The constant 5 is robust: it stays for c_nonlin ≥ 1 and c_ReLU ≥ 0.",
        refined,
    ),
    Item::numbered(Kind::Remark, 2, "remark-2").about("Beyond ReLU programs", "Section 4").claims(
        "5 holds as well for the absolute value, max-pooling, ELU, the norms l1 and l∞, and for selection functions.",
        beyond_relu,
    ),
    Item::statement("chaining").about("Chaining backpropagation", "Section 4").claims(
        "With gd_i = backprop(g_i) for long programs g_i, ω_b is about 5: the estimate for programs \
         of programs is sharp.",
        chaining,
    ),
    Item::statement("beyond-backpropagation").about("Beyond backpropagation", "Section 4").claims(
        "A part may be differentiated by other means. An optimisation algorithm differentiated forward has overhead 3p + 5; with an outer \
         backward pass the whole depends on the dimension, in contrast with backward differentiation throughout.",
        super::beyond::other_means,
    ),
];

/// How long each program is timed.
const TIME: Duration = Duration::from_millis(15);

/// The bound for arithmetic programs, which the clock is held against as well.
const BOUND: f64 = 5.0;

fn theorem_2() -> Run {
    let mut o = Outcome::of(
        "five families of programs with 16 to 4,096 inputs: Theorem 2's model, the emitted programs counted, and compiled programs on the \
         clock; and the equations that attain the bounds",
    );
    let sizes = [16, 64, 256, 1024, 4096];
    let curve = |name: String, all: &[Measured], y: &dyn Fn(&Measured) -> Option<f64>, dashed, colour| Series {
        name,
        points: all.iter().filter_map(|m| Some((m.p as f64, y(m)?))).collect(),
        dashed,
        colour,
    };
    let (mut counted, mut clock) = (Vec::new(), Vec::new());
    let (mut below, mut programs, mut timed) = (0, 0, Vec::new());
    for (colour, family) in Family::ALL.into_iter().enumerate() {
        let all: Vec<Measured> = sizes.iter().map(|&p| measure(family, p, Some(TIME))).collect::<Result<_, _>>()?;
        programs += 2 * all.len();
        below += all
            .iter()
            .map(|m| {
                let fits = |c: f64, model: f64, omega: f64| usize::from(c <= model && model <= omega);
                fits(m.counted.0, m.model.0, m.omega.0) + fits(m.counted.1, m.model.1, m.omega.1)
            })
            .sum::<usize>();
        let (first, last) = (&all[0], &all[all.len() - 1]);
        let most = all.iter().map(|m| m.counted.0).fold(0.0, f64::max);
        o.holds(
            format!("{family}: backward, counted, p = {} to {}", first.p, last.p),
            format!("≤ ω_b = {:.2}, flat", last.omega.0),
            format!("{:.2} to {:.2}, at most {most:.2}", first.counted.0, last.counted.0),
            most <= last.omega.0.max(first.omega.0) && last.counted.0 < 1.5 * first.counted.0,
        );
        let slope = (last.counted.1 / first.counted.1) / (last.p as f64 / first.p as f64);
        o.holds(
            format!("{family}: forward, counted, over the same p"),
            "grows like p",
            format!("{:.1} to {:.0}, {slope:.2} times in proportion", first.counted.1, last.counted.1),
            (0.25..=1.5).contains(&slope),
        );
        let times: Vec<(usize, f64)> = all.iter().filter_map(|m| Some((m.p, m.clock?.0))).collect();
        let told = |&(p, t): &(usize, f64)| format!("{t:.2}{} at {p}", if t > BOUND { " (above 5)" } else { "" });
        o.measured(
            format!("{family}: value and gradient over value, on the clock"),
            times.iter().map(told).collect::<Vec<_>>().join(", "),
        );
        timed.extend(times.iter().map(|&(_, t)| t));
        counted.push(curve(format!("{family}, backward"), &all, &|m| Some(m.counted.0), false, colour));
        counted.push(curve(format!("{family}, forward"), &all, &|m| Some(m.counted.1), true, colour));
        clock.push(curve(format!("{family}, backward"), &all, &|m| Some(m.clock?.0), false, colour));
        clock.push(curve(format!("{family}, forward"), &all, &|m| m.clock?.1, true, colour));
    }
    o.always("counted ≤ model ≤ ω", below, programs);
    let within = timed.iter().filter(|&&t| t <= BOUND).count();
    o.measured(
        "value and gradient over value at most 5, on the clock",
        format!("{within} of {} programs", timed.len()),
    );
    let axis = |label: &str| Axis { label: label.into(), log: true };
    for (title, series) in [
        ("Overhead as counted: backward is flat, forward grows like p", counted),
        ("Overhead on the clock, compiled, one thread", clock),
    ] {
        let y = axis("cost of the derivative / cost of the function");
        o.pictures.push(Picture::Plot(Plot { title: title.into(), x: axis("number of inputs p"), y, series }));
    }
    attained(&mut o)?;
    Ok(o)
}

/// Programs in which every equation has the same |pr| and costs, which is where the paper says that the bounds are attained.
fn attained(o: &mut Outcome) -> Result<(), Failure> {
    let (how, prices) = (How::default(), Prices::unit());
    let product = trace(8, |x| x.iter().copied().reduce(|a, b| a * b).unwrap_or(x[0]))?;
    for (mode, expected) in [(Mode::Backward, "5"), (Mode::Forward, "25")] {
        let bound = overhead(&product, &how, mode, &prices)?;
        let omega = bound.omega.clone().unwrap_or_default();
        let model = &bound.model.at(&prices) * &unit(&product).inv().unwrap_or_default();
        let by = bound.attained.map_or("none".into(), |a| a.item);
        o.equal(format!("ω of x₁ × ... × x₈, {mode:?}, attained by {by}"), expected, &omega);
        o.equal(format!("model / cost(P) there, {mode:?}"), &omega, model);
    }
    Ok(())
}

fn unit_costs() -> Run {
    let mut o = Outcome::of("one program for each operation, and value and derivative of ReLU together");
    let prices = Prices::unit();
    let binary: [(&str, Program); 2] = [("+", trace(2, |x| x[0] + x[1])?), ("×", trace(2, |x| x[0] * x[1])?)];
    let unary = [
        ("+c", trace(1, |x| x[0] + 0.5)?),
        ("×c", trace(1, |x| x[0] * 0.5)?),
        ("inv", trace(1, |x| inv(x[0]))?),
        ("exp", trace(1, |x| exp(x[0]))?),
        ("log", trace(1, |x| log(x[0]))?),
        ("ReLU", trace(1, |x| relu(x[0]))?),
    ];
    for (name, p) in binary.iter().chain(&unary) {
        o.equal(format!("cost({name})"), 1, unit(p));
        if !outside(p, Dictionary::Relu).is_empty() {
            return Err(format!("{name} is not in the dictionary of ReLU programs").into());
        }
    }
    let joint = backprop(&trace(1, |x| relu(x[0]))?, &How::default())?;
    o.equal("cost of ReLU and ReLU' together", 1, cost(&joint).at(&prices));
    let derived = joint.equations().filter(|e| matches!(e.op, Op::Call(_))).count();
    o.equal("programs called for it", 0, derived);
    Ok(o)
}

fn corollary_1() -> Run {
    let mut o = Outcome::of("2,000 random ReLU programs with 1 to 10 inputs and up to 60 operations");
    let mut random = SplitMix64::new(61);
    let (how, prices) = (How::default(), Prices::unit());
    let five = Rational::from(5);
    let (mut holds, mut most, mut model) = (0, 0.0f64, 0.0f64);
    for _ in 0..2000 {
        let (inputs, operations) = (1 + random.below(10) as usize, 1 + random.below(60) as usize);
        let p = sample::relu_program(inputs, operations, &mut random)?;
        let (base, derived) = (unit(&p), unit(&backprop(&p, &how)?));
        let bound = overhead(&p, &how, Mode::Backward, &prices)?.model.at(&prices);
        holds += usize::from(derived <= bound && bound <= &five * &base);
        most = most.max(derived.to_f64() / base.to_f64());
        model = model.max(bound.to_f64() / base.to_f64());
    }
    o.always("counted ≤ model ≤ 5 cost(P)", holds, 2000);
    o.at_most("the largest ratio, counted", 5.0, (most * 1000.0).round() / 1000.0);
    o.at_most("the largest ratio, by the model", 5.0, (model * 1000.0).round() / 1000.0);
    Ok(o)
}

/// The largest omega of Tables 2 and 3 over all prices, and where it is.
fn worst(ratios: impl Iterator<Item = (String, Ratio)>) -> Result<(String, Rational), Failure> {
    let mut worst = (String::new(), Rational::ZERO);
    for (g, ratio) in ratios {
        let value = ratio.worst().value.ok_or_else(|| format!("omega of {g} is not bounded"))?;
        if value > worst.1 {
            worst = (g, value);
        }
    }
    Ok(worst)
}

fn omegas(tables: &[crate::tables::Table]) -> impl Iterator<Item = (String, Ratio)> + '_ {
    let cells = tables.iter().flat_map(|t| &t.columns).flat_map(|c| c.cells.iter().map(move |cell| (c.g, cell)));
    cells.filter(|(_, cell)| cell.row == Row::Omega).map(|(g, cell)| (g.to_string(), cell.computed.clone()))
}

fn refined() -> Run {
    let mut o = Outcome::of("omega of every column of Table 2 as a function of c_nonlin and c_relu, and its supremum");
    let (g, value) = worst(omegas(&[table2()?]))?;
    o.equal(format!("the largest ω over all c_nonlin ≥ 1, c_relu ≥ 0, attained by {g}"), 5, value);
    let relu = trace(1, |x| relu(x[0]))?;
    let half = Prices { nonlin: Rational::ONE, relu: Rational::new(1, 10).unwrap_or_default() };
    let omega = overhead(&relu, &How::default(), Mode::Backward, &half)?.omega.unwrap_or_default();
    o.slip("relu-price", "ω of ReLU alone at c_relu = 1/10", "≤ 5", &omega, omega <= Rational::from(5));
    Ok(o)
}

fn beyond_relu() -> Run {
    let mut o = Outcome::of("omega of every column of Table 3 for n = 2 to 50, and programs counted");
    let mut largest = (String::new(), Rational::ZERO);
    for n in 2..=50 {
        let found = worst(omegas(&[table3(n)?]))?;
        if found.1 > largest.1 {
            largest = found;
        }
    }
    o.equal(format!("the largest ω over all prices, attained by {}", largest.0), 5, &largest.1);
    let how = How::default();
    for (name, p) in [
        ("abs", programs::abs_value()?),
        ("ELU", programs::elu(1.0)?),
        ("l1 of 10", programs::l1(10)?),
        ("linf of 10", programs::linf(10)?),
        ("a selection function", programs::selection_function()?),
    ] {
        let ratio = unit(&backprop(&p, &how)?).to_f64() / unit(&p).to_f64();
        o.at_most(
            format!("cost(backprop)/cost of {name}, counted at unit prices"),
            5.0,
            (ratio * 100.0).round() / 100.0,
        );
    }
    Ok(o)
}

/// A long program of two inputs: a product, again and again.
fn long(length: usize) -> Result<Arc<Program>, Failure> {
    let p = trace(2, |x| (0..length).fold((x[0], x[1]), |(a, b), _| (b, a * b)).1)?;
    Ok(Arc::new(p.renamed("long")))
}

fn chaining() -> Run {
    let mut o = Outcome::of(
        "a program that calls programs of 1 to 1,000 products, differentiated by backprop inside and outside",
    );
    let how = How::default().technique(Technique::Backward);
    let prices = Prices::unit();
    let (mut inside, mut counted, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for length in [1, 3, 10, 30, 100, 300, 1000] {
        let g = long(length)?;
        let p = trace(3, |x| {
            let call = |a, b| x[0].tape().call(&g, &[a, b])[0];
            call(call(x[0], x[1]), call(x[1], x[2]))
        })?;
        let n = length as f64;
        let joint = overhead(&g, &how, Mode::Backward, &prices)?.model.at(&prices).to_f64();
        inside.push((n, (joint + 2.0 * 2.0) / n));
        counted.push((n, overhead(&p, &how, Mode::Backward, &prices)?.omega.unwrap_or_default().to_f64()));
        whole.push((n, unit(&backprop(&p, &how)?).to_f64() / unit(&p).to_f64()));
    }
    let last = inside.len() - 1;
    o.holds(
        "ω_b for g of 1,000 operations, with cost(gd) by the model",
        "≃ 5",
        format!("{:.3}", inside[last].1),
        (inside[last].1 - 5.0).abs() < 0.01,
    );
    o.holds(
        "the same with the counted cost of gd, which adds nothing to nothing",
        "≤ that",
        format!("{:.3}", counted[last].1),
        counted.iter().zip(&inside).all(|(c, m)| c.1 <= m.1),
    );
    let fits = whole.iter().zip(&counted).filter(|(w, c)| w.1 <= c.1).count();
    o.always("cost(backprop(P)) ≤ ω_b cost(P), counted", fits, whole.len());
    let five = vec![(1.0, 5.0), (1000.0, 5.0)];
    let series = |name: &str, points, dashed, colour| Series { name: name.into(), points, dashed, colour };
    o.pictures.push(Picture::Plot(Plot {
        title: "Programs of programs: the longer the inner program, the nearer ω_b is to 5".into(),
        x: Axis { label: "operations of the inner program".into(), log: true },
        y: Axis { label: "overhead of backprop".into(), log: false },
        series: vec![
            series("ω_b, cost(gd) by the model", inside, false, 0),
            series("ω_b, cost(gd) counted", counted, false, 1),
            series("backprop of the whole, counted", whole, false, 2),
            series("5", five, true, 6),
        ],
    }));
    Ok(o)
}
