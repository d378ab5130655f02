//! Hostile programs against everything the library says of them.
//!
//! Each [hostile case](crease_corpus::hostile) is put to the library, and each of its claims to an evaluator of many bits that shares
//! nothing with it: difference quotients at steps down to 2^-3000. A claim that is wrong fails the test; so does a panic. A refusal is
//! never wrong, but it is counted, and told apart by whether the function looks regular at the point.
//!
//! `CREASE_HOSTILE=100000 cargo test -p crease-oracles --test hostile -- --nocapture` is the long run;
//! `CREASE_HOSTILE_SEED=4711` looks at one case.

mod calibrate;
mod claims;
mod judge;
mod tally;
mod truth;

use claims::{Answer, ask};
use crease_corpus::composed::{ROWS, Verdict};
use crease_corpus::hostile::{Case, case};
use crease_corpus::random::Rng;
use judge::{directions, judge};
use tally::Tally;
use truth::{Judgement, Truth};

/// How many cases a run without further wishes looks at.
const CASES: u64 = 3000;

/// After so many wrong claims about a case the others are not looked at.
const ENOUGH: u32 = 3;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Asks about a case, judges what is said, and counts.
fn examine(case: &Case, tally: &mut Tally) {
    let mut rng = Rng::new(case.seed ^ 0xD1CE);
    let along = directions(case.point.len(), &mut rng, 2);
    let said = ask(case, &along);
    let truth = Truth::new(case);
    let mut wrong = 0;
    for claim in &said.claims {
        let judgement = judge(case, &truth, claim);
        tally.claim(case, claim, judgement);
        wrong += u32::from(judgement == Judgement::Wrong);
        // proofs that something is wrong are dear, and a few of them are enough
        if wrong == ENOUGH {
            break;
        }
    }
    let regular = match said.answer {
        Answer::Told | Answer::NoValue(_) => true,
        _ => truth.here().is_ok() && along.iter().all(|d| truth.converges(d) == Judgement::Right),
    };
    tally.answer(case, &said.answer, regular);
}

/// Examines many cases on all cores.
fn examine_all(seeds: std::ops::Range<u64>, make: impl Fn(u64) -> Case + Sync) -> Tally {
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let seeds = &seeds;
    let make = &make;
    std::thread::scope(|scope| {
        let part = |w: u64| {
            let mut tally = Tally::default();
            for seed in seeds.clone().filter(|s| s % workers == w) {
                examine(&make(seed), &mut tally);
            }
            tally
        };
        let handles: Vec<_> = (0..workers).map(|w| scope.spawn(move || part(w))).collect();
        let parts = handles.into_iter().map(|h| h.join().expect("a worker stopped"));
        parts.fold(Tally::default(), Tally::merge)
    })
}

#[test]
fn nothing_wrong_is_said_of_hostile_programs() {
    // claims about panics carry their message; the backtraces of thousands would hide it
    std::panic::set_hook(Box::new(|_| {}));
    let seeds = match number("CREASE_HOSTILE_SEED") {
        Some(seed) => seed..seed + 1,
        None => {
            let first = number("CREASE_HOSTILE_FIRST").unwrap_or(0);
            first..first + number("CREASE_HOSTILE").unwrap_or(CASES)
        }
    };
    let tally = examine_all(seeds.clone(), case);
    if seeds.end - seeds.start == 1 {
        println!("{}", case(seeds.start));
    }
    let shown = number("CREASE_HOSTILE_SHOW").unwrap_or(20) as usize;
    println!("{tally}{}", tally.wrong(shown));
    assert!(tally.is_clean());
}

/// The rows of the table of composed functions, whose answers were derived by hand: here against difference quotients.
#[test]
fn nothing_wrong_is_said_of_composed_functions() {
    let tally = examine_all(0..ROWS.len() as u64, |i| ROWS[i as usize].case(i));
    println!("{tally}{}", tally.wrong(20));
    assert!(tally.is_clean());
    for (i, row) in ROWS.iter().enumerate() {
        let case = row.case(i as u64);
        let said = ask(&case, &directions(case.point.len(), &mut Rng::new(7), 2));
        let told = matches!(said.answer, Answer::Told);
        assert_eq!(told, row.verdict != Verdict::Jumps, "{case}");
        // most of what is said can be judged, and is right
        let truth = Truth::new(&case);
        let right = said.claims.iter().filter(|c| judge(&case, &truth, c) == Judgement::Right).count();
        assert!(2 * right >= said.claims.len(), "{right} of {} claims are seen to be right: {case}", said.claims.len());
    }
}
