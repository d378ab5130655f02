//! Definition 1 and what follows from it, checked along curves that run inside kinks.

use super::item::{Failure, Run};
use super::outcome::Outcome;
use super::sample;
use crate::experiments::conservativity::{Field, Options, Report, check};
use crate::programs;
use crease_core::differentiate::{How, Selection};
use crease_core::random::SplitMix64;
use crease_core::{Program, Rational, abs, elu, exp, leaky_relu, log, max, min, relu, trace};

/// Selections that are conservative: presets of frameworks, and weights of one's own.
const SELECTIONS: [&str; 5] = ["paper", "torch", "jax", "relu=1/3, abs=1/2, max=last", "relu=1, abs=-1, max=average"];

fn how(selection: &str) -> Result<How, Failure> {
    Ok(How::default().select(Selection::parse(selection)?))
}

fn options(seed: u64) -> Options {
    Options { curves: 4, pieces: 3, seed, ..Options::default() }
}

/// What was decided, in words.
fn decided(r: &Report) -> String {
    format!(
        "{} violations in {} intervals and instants, {} of them inside kinks",
        r.violations.len(),
        r.intervals + r.instants,
        r.inside_kinks
    )
}

pub fn definition() -> Run {
    let mut o = Outcome::of(
        "the chain rule along random curves that run inside kinks, decided exactly, for what backprop returns on 60 random piecewise-linear \
         programs with five selections; for a rule that only looks wrong, and for two that are",
    );
    let mut random = SplitMix64::new(23);
    for selection in SELECTIONS {
        let mut all = Report::default();
        for k in 0..12 {
            let p = sample::rational_program(3, 8, &mut random)?;
            all.merge(check(&p, Field::Derived(&how(selection)?), &[], &options(k))?);
        }
        o.holds(
            format!("chain rule for almost every t, selection {selection}"),
            "holds",
            decided(&all),
            all.passed() && all.complete() && all.inside_kinks > 0,
        );
    }
    let one = |yes: bool| Rational::from(i64::from(yes));
    let larger = trace(2, |x| max(&[x[0], x[1]]))?;
    let every = |x: &[Rational]| vec![one(x[0] >= x[1]), one(x[1] >= x[0])];
    caught(&mut o, "max with full weight to every tied argument", &larger, &every)?;
    // two readings of one kink are no harm: along a curve inside it, its argument does not move
    let twice = trace(2, |x| relu(x[0]) - relu(x[0]) + x[1])?;
    let half = |x: &[Rational]| {
        let half = Rational::new(1, 2).unwrap_or_default();
        vec![if x[0].is_zero() { half } else { Rational::ZERO }, Rational::ONE]
    };
    let report = check(&twice, Field::Function(&half), &[], &options(5))?;
    o.holds("relu(x) - relu(x) + y with relu'(0) = 1 and then 1/2", "conservative", decided(&report), report.passed());
    caught(
        &mut o,
        "|x - y| + x with derivative 0 wherever the tie is",
        &trace(2, |x| abs(x[0] - x[1]) + x[0])?,
        &|x| {
            let sign = Rational::from(i64::from((&x[0] - &x[1]).signum()));
            if sign.is_zero() { vec![Rational::ZERO; 2] } else { vec![&sign + &Rational::ONE, -&sign] }
        },
    )?;
    Ok(o)
}

/// A rule and whether it is found to be wrong.
fn caught(
    o: &mut Outcome,
    what: &str,
    p: &Program,
    rule: &dyn Fn(&[Rational]) -> Vec<Rational>,
) -> Result<(), Failure> {
    let report = check(p, Field::Function(rule), &[], &options(5))?;
    let ours = match report.violations.first() {
        Some(v) => format!("caught: {} instead of {}", v.found, v.expected),
        None => "not caught".into(),
    };
    o.holds(what, "not conservative", ours, !report.passed());
    Ok(())
}

pub fn ubiquitous() -> Run {
    let mut o = Outcome::of(
        "the chain rule for compositions of every kind of operation, semialgebraic and definable: exactly where they are rational, in \
         certain enclosures where they are not",
    );
    let programs: [(&str, Program); 7] = [
        ("max, min, relu", trace(3, |x| max(&[x[0], min(&[x[1], x[2]]), relu(x[0] - x[1])]))?),
        ("abs and products", trace(2, |x| abs(x[0] * x[1]) - abs(x[0]) * x[1])?),
        ("relu of a polynomial", trace(2, |x| relu(x[1] - x[0] * x[0]) + relu(x[0] * x[0] - x[1]))?),
        ("a quotient", trace(2, |x| relu(x[0] - x[1]) / (x[0] * x[0] + 1.0))?),
        ("leaky relu and median", leaky()?),
        ("exp and log", trace(2, |x| log(1.0 + exp(x[0])) + relu(x[0] - x[1]))?),
        ("ELU", trace(2, |x| elu(x[0] - x[1], 1.0) + abs(x[0]))?),
    ];
    for (name, p) in &programs {
        let report = check(p, Field::Derived(&how("paper")?), &[], &options(9))?;
        let found = match report.enclosed {
            0 => decided(&report),
            n => format!("{}; {n} in enclosures", decided(&report)),
        };
        let tried = report.intervals + report.instants + report.enclosed > 0;
        o.holds(*name, "path differentiable", found, report.passed() && report.undecided.is_empty() && tried);
    }
    let report = check(&programs::selection_function()?, Field::Derived(&how("paper")?), &[], &options(9))?;
    o.holds("a selection function", "path differentiable", decided(&report), report.passed());
    Ok(o)
}

fn leaky() -> Result<Program, Failure> {
    use crease_core::{Shape, trace_shapes};
    Ok(trace_shapes(&[Shape::vector(3)?], |x| vec![x[0].median() + leaky_relu(x[0], 0.25).sum()])?)
}
