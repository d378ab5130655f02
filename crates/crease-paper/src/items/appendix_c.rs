//! Appendix C: the proof of Theorem 3, step by step.

use super::item::{Item, Kind, Run};
use super::outcome::Outcome;
use super::sample;
use super::section3::unit;
use crate::theorem3::{Derivative, Stage, chain, replace_relus};
use crease_core::dictionary::{Dictionary, outside};
use crease_core::random::SplitMix64;
use crease_core::{relu, run, trace};

pub const ITEMS: &[Item] = &[
    Item::numbered(Kind::Claim, 1, "claim-1").about("A polynomial program for G", "Appendix C.1").claims(
        "From any program P' of the p directional derivatives one gets a program P2 over {+, ×, +c, ×c} of G = Tr(M A Bᵀ), on the whole \
         space, with cost(P2) ≤ cost(P') + p.",
        claim,
    ),
    Item::numbered(Kind::Lemma, 1, "lemma-1").about("ReLU does not help to compute a polynomial", "Appendix C.2").claims(
        "A program over {+, ×, ReLU, +c, ×c} that is a polynomial on an open set becomes one over {+, ×, +c, ×c} of the same cost, \
         by replacing each ReLU by a product with the constant that ReLU' is there.",
        lemma,
    ),
];

/// The orders at which the chain is carried out.
const ORDERS: [usize; 5] = [2, 4, 8, 12, 16];

fn claim() -> Run {
    let mut o = Outcome::of(
        "P' in two ways, by F on each column and by forward mode, for p = 2, 4, 8, 12, 16; each step verified in rationals on S, and over a \
         prime field everywhere",
    );
    for how in [Derivative::Columns, Derivative::Forward] {
        for p in ORDERS {
            let c = chain(p, how, 3)?;
            let at = |stage| c.step(stage).map_or(u128::MAX, |s| s.cost);
            o.at_most(
                format!("cost(P2) for P' by {how}, p = {p}"),
                at(Stage::Directional) + p as u128,
                at(Stage::Polynomial),
            );
        }
    }
    Ok(o)
}

fn lemma() -> Run {
    let mut o = Outcome::of(
        "P1 and P2 of Theorem 3's chain; and relu(x² + 1) - relu(-x² - 1) + relu(xy - 9), which is x² + 1 near 0",
    );
    for p in ORDERS {
        let c = chain(p, Derivative::Columns, 4)?;
        let at = |stage| c.step(stage).map_or(0, |s| s.cost);
        o.equal(format!("cost(P2) beside cost(P1), p = {p}"), at(Stage::Fixed), at(Stage::Polynomial));
    }
    let p1 = trace(2, |x| {
        let square = x[0] * x[0] + 1.0;
        relu(square) + relu(square * -1.0) * -1.0 + relu(x[0] * x[1] + -9.0)
    })?;
    let mut random = SplitMix64::new(71);
    let near = sample::generic(&p1, &mut random);
    let p2 = replace_relus(&p1, &near)?;
    let relus = p2.equations().filter(|e| e.op.name() == "relu").count();
    o.equal("ReLU nodes that remain", 0, relus);
    o.equal("its cost", unit(&p1), unit(&p2));
    o.equal("operations outside {+, ×, +c, ×c}", 0, outside(&p2, Dictionary::Polynomial).len());
    let mut everywhere = 0;
    for _ in 0..50 {
        let at = sample::integers(&p2, 40, &mut random);
        let x = at[0].data()[0].clone();
        everywhere += usize::from(run(&p2, &at)?[0].data()[0] == &(&x * &x) + &1.into());
    }
    o.always("P2 is x² + 1, also far from 0", everywhere, 50);
    Ok(o)
}
