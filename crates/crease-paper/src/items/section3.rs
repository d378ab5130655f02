//! Section 3: programs, what they cost, and their differentiation.

use super::item::{Item, Kind, Run};
use super::outcome::Outcome;
use super::sample;
use crate::programs;
use crease::saturate::{Options, simplest};
use crease_core::Limits;
use crease_core::cost::{Price, Prices, cost, tally};
use crease_core::dictionary::Dictionary;
use crease_core::differentiate::{How, Selection, backprop, forprop};
use crease_core::random::SplitMix64;
use crease_core::{Program, Rational, Tensor, inline, relu, run, trace};
use std::sync::Arc;

pub const ITEMS: &[Item] = &[
    Item::numbered(Kind::Algorithm, 1, "algorithm-1").about("Evaluation of a program", "Section 3.1").claims(
        "A program is a sequence of calls, each on results of earlier ones; its cells are computed in their order. Its level counts how \
         deep programs call programs.",
        evaluation,
    ),
    Item::statement("programs-of-programs").about("Programs of programs", "Section 3.1").claims(
        "A cost on the dictionary extends to programs by adding up, and every program expands to one \
         of level 1 with the same cost.",
        expansion,
    ),
    Item::statement("complexity").about("Complexity of a function", "Section 3.1").claims(
        "Many programs compute one function; comp(f, D) is the least cost among them. A program is an upper bound.",
        complexity,
    ),
    Item::numbered(Kind::Algorithm, 2, "algorithm-2").about("Algorithmic differentiation", "Section 3.2").claims(
        "Forward and backward mode both evaluate the derived programs gd_i and combine them by the chain rule: with the same choices at \
         kinks both return the same vector.",
        both_modes,
    ),
];

/// The cost of a program at unit prices.
pub fn unit(p: &Program) -> Rational {
    cost(p).at(&Prices::unit())
}

fn evaluation() -> Run {
    let mut o = Outcome::of(
        "predecessors of every cell of 200 random ReLU programs; P2 = (a + b)(c + d) of Figure 1 at 100 random points in rationals, \
         against the formula",
    );
    let mut random = SplitMix64::new(31);
    let (mut earlier, mut cells) = (0, 0);
    for _ in 0..200 {
        let p = sample::relu_program(3, 20, &mut random)?;
        for (i, e) in p.equations().enumerate() {
            cells += 1;
            let before = p.predecessors(i);
            earlier += usize::from(!before.is_empty() && before.iter().all(|v| v.index() < e.result().index()));
        }
    }
    o.always("pr(i) is not empty and lies before i", earlier, cells);
    let p2 = programs::p2()?;
    let right = (0..100).try_fold(0, |right, _| -> Result<usize, crease::Error> {
        let at = sample::generic(&p2, &mut random);
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| at[i].data()[0].clone());
        Ok(right + usize::from(run(&p2, &at)?[0].data()[0] == &(&a + &b) * &(&c + &d)))
    })?;
    o.always("Algorithm 1 computes the function", right, 100);
    let levels = [programs::p0()?, programs::p1()?, programs::q1()?, p2].map(|p| p.level().to_string()).join(", ");
    o.equal("levels of P0, P1, Q1, P2", "0, 1, 1, 2", levels);
    Ok(o)
}

fn expansion() -> Run {
    let mut o = Outcome::of("200 random programs that call random programs, expanded");
    let mut random = SplitMix64::new(32);
    let (mut same, mut level, mut equal) = (0, 0, 0);
    for _ in 0..200 {
        let inner = Arc::new(sample::rational_program(2, 6, &mut random)?);
        let middle = Arc::new(trace(2, |x| {
            let call = |a, b| x[0].tape().call(&inner, &[a, b])[0];
            call(x[0], x[1]) - relu(call(x[1], x[0]))
        })?);
        let outer = trace(2, |x| {
            let call = |p, a, b| x[0].tape().call(p, &[a, b])[0];
            call(&middle, x[0] + x[1], x[1]) + call(&inner, x[0], x[0])
        })?;
        let flat = inline(&outer)?;
        same += usize::from(tally(&flat) == tally(&outer));
        level += usize::from(flat.level() <= 1 && outer.level() > 1);
        let at = sample::integers(&outer, 3, &mut random);
        equal += usize::from(run(&outer, &at)? == run(&flat, &at)?);
    }
    o.always("the expansion has level 1", level, 200);
    o.always("it has the same operations, so the same cost at all prices", same, 200);
    o.always("it computes the same at a random point", equal, 200);
    let (p0, p1) = (programs::p0()?, programs::p1()?);
    let sum = trace(4, |x| {
        let call = |a, b| x[0].tape().call(&Arc::new(p0.clone()), &[a, b])[0];
        call(x[0], x[1]) + call(x[2], x[3])
    })?;
    o.equal("level of the sum of two elementary programs", 1, sum.level());
    let (first, second) = (p0.level(), p1.level());
    let ours = format!("{first} and {second}");
    o.slip("levels", "level of P0 and of P1 = a(b + c)", "all of level 1", ours, (first, second) == (1, 1));
    Ok(o)
}

fn complexity() -> Run {
    let mut o = Outcome::of(
        "equality saturation over the laws of ring and lattice, each result verified to be the same function",
    );
    let mut show = |what: &str,
                    p: &Program,
                    dictionary: Dictionary,
                    paper: &str,
                    expected: &str|
     -> Result<(), super::item::Failure> {
        let found = simplest(p, &Options { dictionary, ..Options::default() })?;
        let ours = format!("{} → {}", found.before, found.after);
        o.holds(what, paper, ours.clone(), ours == expected && found.verified.is_proved());
        Ok(())
    };
    show("Q1 = ab + ac", &programs::q1()?, Dictionary::Extended, "≤ 2, as P1 shows", "3 → 2")?;
    let as_max = trace(2, |x| relu(x[0] - x[1]) + x[1])?;
    show(
        "relu(a - b) + b, with max in the dictionary",
        &as_max,
        Dictionary::Extended,
        "≤ its cost",
        "2 + c_relu → c_relu",
    )?;
    show("the same without", &as_max, Dictionary::D0, "≤ its cost", "2 + c_relu → 2 + c_relu")?;
    let horner = trace(1, |x| x[0] * x[0] * x[0] + 2.0 * (x[0] * x[0]) + 3.0 * x[0] + 4.0)?;
    show("x³ + 2x² + 3x + 4, by Horner's form", &horner, Dictionary::Extended, "≤ its cost", "8 → 5")?;
    let mut random = SplitMix64::new(33);
    let mut cheaper: (usize, Price, Price) = Default::default();
    let mut bounded = 0;
    for _ in 0..12 {
        let p = sample::rational_program(3, 8, &mut random)?;
        let found = simplest(
            &p,
            &Options { limits: Limits { terms: 1500, rounds: 6, ..Limits::default() }, ..Options::default() },
        )?;
        let prices = Prices::unit();
        bounded += usize::from(found.after.at(&prices) <= found.before.at(&prices));
        cheaper.0 += usize::from(found.after.at(&prices) < found.before.at(&prices));
        cheaper.1 += found.before;
        cheaper.2 += found.after;
    }
    o.always("the bound on comp(f, D) is at most the cost, on random programs", bounded, 12);
    o.measured(
        "of these, programs that were not the cheapest",
        format!("{} (all: {} → {})", cheaper.0, cheaper.1, cheaper.2),
    );
    Ok(o)
}

fn both_modes() -> Run {
    let mut o = Outcome::of(
        "backprop and forprop of 300 random programs in rationals at integer points, where they meet their kinks, with \
         relu'(0) = 0, 1/3 and 1",
    );
    let mut random = SplitMix64::new(34);
    let (mut same, mut value, mut kinks) = (0, 0, 0);
    for k in 0..300 {
        let p = sample::rational_program(3, 15, &mut random)?;
        let how = How::default().select(Selection::parse(["relu=0", "relu=1/3", "relu=1"][k % 3])?);
        let at = sample::integers(&p, 2, &mut random);
        let (back, forth): (Vec<Tensor<Rational>>, _) =
            (run(&backprop(&p, &how)?, &at)?, run(&forprop(&p, &how)?, &at)?);
        same += usize::from(back == forth);
        value += usize::from(back[0] == run(&p, &at)?[0]);
        kinks += usize::from(!crease_core::kinks(&p, &at)?.1.is_empty());
    }
    o.always("forward mode and backward mode return the same vector", same, 300);
    o.always("and the value of the program", value, 300);
    o.measured("programs that met a kink", format!("{kinks} of 300"));
    let p = trace(1, |x| relu(x[0]) - relu(-x[0]))?;
    let d = backprop(&p, &How::default())?;
    o.measured("cost of relu(x) - relu(-x) and of its backprop, counted", format!("{} and {}", unit(&p), unit(&d)));
    Ok(o)
}
