//! Each claim against what is true.

use super::claims::{Bounds, Claim, Gradient};
use super::truth::Judgement::{self, Inconclusive, Right, Wrong};
use super::truth::{Level, Look, Truth, dot};
use crease_core::differentiate::{How, Selection, backprop};
use crease_core::number::Rational;
use crease_core::{Kink, Op, Program, Smooth, run};
use crease_corpus::hostile::Case;
use crease_corpus::precise::Fault;
use crease_corpus::random::Rng;
use std::collections::HashSet;

/// Directions to look along: the axes, both ways, and random ones with small coordinates.
pub fn directions(n: usize, rng: &mut Rng, random: usize) -> Vec<Vec<Rational>> {
    let mut list = Vec::new();
    for i in 0..n {
        for sign in [1, -1] {
            list.push((0..n).map(|j| Rational::from(if i == j { sign } else { 0 })).collect());
        }
    }
    if n > 1 {
        for _ in 0..random {
            list.push((0..n).map(|_| Rational::from(rng.between(-5, 5))).collect());
        }
    }
    list
}

/// Judges one claim about a case.
pub fn judge(case: &Case, truth: &Truth<'_>, claim: &Claim) -> Judgement {
    let n = case.point.len();
    let mut rng = Rng::new(case.seed ^ 0x5EED);
    match (claim, truth.here()) {
        (Claim::Panicked(_), _) => return Wrong,
        (Claim::NoValue, Err(Fault::NoValue(_))) => return Right,
        (Claim::NoValue, Ok(_)) => return Wrong,
        (_, Err(Fault::NoValue(_))) => return Wrong,
        (_, Err(_)) => return Inconclusive,
        (_, Ok(_)) => {}
    }
    match claim {
        Claim::NoValue | Claim::Panicked(_) => Inconclusive,
        Claim::Value(bounds) => truth.is_between(bounds),
        Claim::Directional { direction, value } => truth.tends(&[(1, direction)], value),
        Claim::Yes(gradient) => linear(truth, gradient, n, &mut rng),
        Claim::Singleton(gradient) => {
            let same = selections(case, gradient);
            if same == Wrong { Wrong } else { linear(truth, gradient, n, &mut rng) }
        }
        Claim::No(sides) => bent(truth, sides, n, &mut rng),
        Claim::Clarke { gradient, direction } => truth.gradients_tend(&[(1, direction)], gradient),
        Claim::Lexicographic { gradient, basis } => lexicographic(truth, gradient, basis),
        Claim::Complete(list) => complete(truth, list, n, &mut rng),
    }
}

/// Whether derivatives along lines and along curves are those of a gradient.
fn linear(truth: &Truth<'_>, gradient: &Gradient, n: usize, rng: &mut Rng) -> Judgement {
    let lines = directions(n, rng, 3);
    let mut along = lines.clone();
    along.extend(lines.iter().take(2).cloned());
    let mut sum = Right;
    for (i, d) in along.iter().enumerate() {
        let Some(to) = dot(gradient, d) else {
            // no number is claimed, but that there is a gradient is
            sum = sum.and(truth.is_even(Look::Closely, d));
            continue;
        };
        // beyond the lines, curves that leave the point along one of them
        let aside: Vec<Rational> = (0..n).map(|_| Rational::from(rng.between(-3, 3))).collect();
        let curve: &[(i32, &[Rational])] = if i < lines.len() { &[(1, d)] } else { &[(1, d), (2, &aside)] };
        sum = sum.and(truth.tends(curve, &to));
        if sum == Wrong {
            break;
        }
    }
    sum
}

/// Whether every preset selection makes the chain rule return the one element there is said to be.
fn selections(case: &Case, gradient: &Gradient) -> Judgement {
    for selection in [Selection::paper(), Selection::torch(), Selection::jax(), Selection::tensorflow()] {
        let Ok(derived) = backprop(&case.program, &How::default().select(selection)) else { return Inconclusive };
        let Ok(results) = run(&derived, &case.inputs()) else { return Inconclusive };
        for (found, claimed) in results[1..].iter().zip(gradient) {
            let Some(Bounds { low, high }) = claimed else { return Inconclusive };
            if found.data()[0] < *low || found.data()[0] > *high {
                return Wrong;
            }
        }
    }
    Right
}

/// Whether the directional derivative is not linear: seen along a direction and its opposite, or along a sum.
fn bent(truth: &Truth<'_>, sides: &[(Gradient, Vec<Rational>); 2], n: usize, rng: &mut Rng) -> Judgement {
    let mut tried: Vec<Vec<Rational>> = vec![sides[1].1.clone(), sides[0].1.clone()];
    tried.extend(directions(n, rng, 4));
    // what is said to be bent mostly is, and a glance shows it; that nothing is takes a deeper look
    for how in [Look::Glance, Look::Deeply] {
        let lines = tried.iter().any(|d| truth.is_even(how, d) == Wrong);
        if lines || tried.windows(2).any(|pair| truth.is_additive(how, &pair[0], &pair[1]) == Wrong) {
            return Right;
        }
    }
    // gradients that differ by less than the deepest look shows, as exponentials of -70,000 do
    let apart = |(a, b): (&Option<Bounds>, &Option<Bounds>)| match (a, b) {
        (Some(a), Some(b)) => Ord::max(&b.low - &a.high, &a.low - &b.high),
        _ => Rational::ONE,
    };
    let far = sides[0].0.iter().zip(&sides[1].0).map(apart).max().unwrap_or_default();
    if far < Rational::from(2).pow(-2500).unwrap_or_default() {
        return Inconclusive;
    }
    // then the gradients that are claimed should not be there
    let sides = sides.iter().map(|(g, d)| if g.contains(&None) { Right } else { truth.gradients_tend(&[(1, d)], g) });
    match Judgement::all(sides) {
        Wrong => Wrong,
        Right if tried.iter().all(|d| truth.is_even(Look::Deeply, d) == Right) => Wrong,
        _ => Inconclusive,
    }
}

/// Whether the derivative along a basis is the limit of gradients along a direction that is nearly the first vector of it, with a
/// small part of the second, and a far smaller one of the third.
fn lexicographic(truth: &Truth<'_>, gradient: &Gradient, basis: &[Vec<Rational>]) -> Judgement {
    // a Euclidean norm turns with the direction, by as much as that is not the first vector, times the quotient of slopes of its members; all else stays what
    // it is there
    let turns = |apart: i32| -> Gradient {
        // slopes may be as large as 1e60 and, which is seen only from nearest, as small as 1e-330
        let quotient = if apart < 1500 { 450 } else { 1300 };
        let off = Rational::from(2).pow(quotient - apart).unwrap_or_default();
        let wider = |b: &Bounds| Bounds { low: &b.low - &off, high: &b.high + &off };
        gradient.iter().map(|b| b.as_ref().map(wider)).collect()
    };
    let round = has_norms(&truth.case().program);
    // smaller than most differences between slopes that cases have; before something is called wrong, smaller than all of them
    let judge = |apart: i32| match round {
        true => nearly_first(truth, &turns(apart), basis, apart),
        false => nearly_first(truth, gradient, basis, apart),
    };
    [if round { 600 } else { 170 }, 2600].into_iter().map(judge).find(|j| *j != Wrong).unwrap_or(Wrong)
}

/// Whether a program has Euclidean norms, or square roots, which may be some.
fn has_norms(p: &Program) -> bool {
    let round = |op: &Op| matches!(op, Op::Kink(Kink::Norm2(_)) | Op::Smooth(Smooth::Sqrt));
    let (mut left, mut seen) = (vec![p], HashSet::new());
    while let Some(p) = left.pop() {
        if p.equations().any(|e| round(e.op)) {
            return true;
        }
        left.extend(p.callees().iter().map(|c| &*c.program).filter(|c| seen.insert(c.id())));
    }
    false
}

/// The same, each part 2 to minus `apart` times the one before.
fn nearly_first(truth: &Truth<'_>, gradient: &Gradient, basis: &[Vec<Rational>], apart: i32) -> Judgement {
    let mut direction = basis[0].clone();
    for (i, d) in basis.iter().enumerate().skip(1) {
        let scale = Rational::from(2).pow(-apart * i as i32).unwrap_or_default();
        direction.iter_mut().zip(d).for_each(|(x, d)| x.add_mul(&scale, d));
    }
    // nearer than the smallest part is small, with steps that are smaller than that part there
    let small = apart * (basis.len() as i32 - 1);
    let levels = [100, 200, 400, 900, 3000].map(|k| {
        let (near, step) = (small + k, 2 * small + 2 * k + 100);
        Level { near, step, bits: step as usize + 400 + k as usize }
    });
    truth.gradients_tend_at(&levels, &[(1, &direction)], gradient)
}

/// Whether all gradients near the point are in a list, as far as lines and curves show them.
fn complete(truth: &Truth<'_>, list: &[Gradient], n: usize, rng: &mut Rng) -> Judgement {
    let mut sum = Right;
    let mut seen = 0;
    for i in 0..6 {
        let draw = |rng: &mut Rng, most: i64| -> Vec<Rational> {
            (0..n).map(|_| Rational::from(rng.between(-most, most))).collect()
        };
        let (d, e, f) = (draw(rng, 1000), draw(rng, 1), draw(rng, 7));
        let judgement = match i {
            0..4 => truth.is_among(&[(1, &d)], list),
            _ => truth.is_among(&[(1, &e), (2, &f)], list),
        };
        match judgement {
            Wrong => return Wrong,
            Right => seen += 1,
            Inconclusive => {}
        }
    }
    if seen == 0 {
        sum = Inconclusive;
    }
    sum
}
