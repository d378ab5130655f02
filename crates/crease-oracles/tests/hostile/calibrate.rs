//! The judge itself, judged: it must raise no alarm at what is right, and see what is wrong.

use super::claims::{Bounds, Claim, Gradient, ask};
use super::judge::{directions, judge};
use super::truth::{Judgement, Truth};
use super::{examine_all, number};
use crease_core::number::Rational;
use crease_corpus::hostile::Case;
use crease_corpus::random::{Dictionary, Options, Rng, program, tied_point};
use std::collections::BTreeMap;

/// A program without tricks, at a point with ties.
fn tame(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let dictionaries = [Dictionary::D0, Dictionary::PiecewiseLinear, Dictionary::Smooth, Dictionary::Everything];
    let options = Options::new(*rng.pick(&dictionaries)).inputs(1 + rng.below(3)).equations(2 + rng.below(6));
    let program = program(&mut rng, &options);
    let point = tied_point(&mut rng, &program);
    Case { seed, point: point.iter().map(|t| t.data()[0].clone()).collect(), program }
}

/// Of programs that are tame, what the library says is right, and most of it is seen to be.
#[test]
fn tame_programs_raise_no_alarm() {
    let tally = examine_all(0..number("CREASE_HOSTILE_TAME").unwrap_or(400), tame);
    println!("{tally}");
    assert!(tally.is_clean(), "{}", tally.wrong(10));
    assert!(tally.share_seen_right() > 0.99, "too much of what is right is not seen to be\n{tally}");
}

/// Bounds moved by so little that no double would show it.
fn moved(bounds: &Bounds) -> Bounds {
    let little: Rational = "1e-30".parse().expect("a number");
    let apart = &bounds.high - &bounds.low;
    let by = &apart + &apart + &little;
    Bounds { low: &bounds.low + &by, high: &bounds.high + &by }
}

fn moved_somewhere(g: &Gradient, rng: &mut Rng) -> Option<Gradient> {
    let i = rng.below(g.len());
    let mut g = g.clone();
    g[i] = Some(moved(g[i].as_ref()?));
    Some(g)
}

/// Claims that are wrong if the given one is right.
fn falsified(claim: &Claim, rng: &mut Rng) -> Vec<Claim> {
    match claim {
        Claim::NoValue | Claim::Panicked(_) => Vec::new(),
        Claim::Value(bounds) => vec![Claim::Value(moved(bounds)), Claim::NoValue],
        Claim::Directional { direction, value } if direction.iter().any(|x| !x.is_zero()) => {
            vec![Claim::Directional { direction: direction.clone(), value: moved(value) }]
        }
        // of the direction 0 nothing is claimed but zero
        Claim::Directional { .. } => Vec::new(),
        Claim::Yes(g) => {
            let Some(other) = moved_somewhere(g, rng) else { return Vec::new() };
            let d: Vec<Rational> = g.iter().map(|_| Rational::from(rng.between(1, 9))).collect();
            let no = Claim::No(Box::new([(g.clone(), d.clone()), (other.clone(), d)]));
            vec![Claim::Yes(other), no]
        }
        Claim::No(sides) if sides[0].0.contains(&None) => Vec::new(),
        Claim::No(sides) => vec![Claim::Yes(sides[0].0.clone()), Claim::Singleton(sides[1].0.clone())],
        Claim::Clarke { gradient, direction } => moved_somewhere(gradient, rng)
            .map(|gradient| Claim::Clarke { gradient, direction: direction.clone() })
            .into_iter()
            .collect(),
        Claim::Lexicographic { gradient, basis } => moved_somewhere(gradient, rng)
            .map(|gradient| Claim::Lexicographic { gradient, basis: basis.clone() })
            .into_iter()
            .collect(),
        Claim::Complete(list) => {
            let others: Vec<Gradient> = list.iter().filter_map(|g| moved_somewhere(g, rng)).collect();
            vec![Claim::Complete(others)]
        }
        Claim::Singleton(g) => moved_somewhere(g, rng).map(Claim::Singleton).into_iter().collect(),
    }
}

/// Of tame programs, claims that are changed by 1e-30 or turned into their opposite are seen to be wrong.
#[test]
fn what_is_wrong_is_seen() {
    let mut seen: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    for seed in 0..25 {
        let case = tame(seed);
        let mut rng = Rng::new(seed);
        let said = ask(&case, &directions(case.point.len(), &mut rng, 1));
        let truth = Truth::new(&case);
        for wrong in said.claims.iter().flat_map(|c| falsified(c, &mut rng)).collect::<Vec<_>>() {
            let judgement = judge(&case, &truth, &wrong);
            seen.entry(wrong.name()).or_default()[judgement as usize] += 1;
            assert_ne!(judgement, Judgement::Right, "this is not true: {wrong}\n{case}");
        }
    }
    println!("right, wrong, inconclusive: {seen:?}");
    for (name, [_, wrong, inconclusive]) in seen {
        assert!(
            20 * inconclusive <= wrong,
            "of wrong claims ({name}), {wrong} are seen to be wrong and {inconclusive} are not"
        );
    }
}
