//! The engine agrees by test, not by trust: every operation through every path, and random tensor programs, at sizes, strides, orders
//! and numbers that are meant to hurt, against the interpreter. What was ever found wrong stands here as an example.
//!
//! `CREASE_HOSTILE=20 cargo test -p crease-engine --test hostile` takes twenty times as many random programs.

#[path = "hostile/examples.rs"]
mod examples;
#[path = "hostile/judge.rs"]
mod judge;
mod lesser;
#[path = "hostile/points.rs"]
mod points;
#[path = "hostile/tensors.rs"]
mod tensors;

use crease_core::differentiate::{How, Selection, backprop};
use crease_core::{Kink, Lane, Op};
use crease_corpus::operations::{self, Order};
use crease_corpus::random::Rng;
use judge::{Faults, Way, judge_both};
use points::{Kind, points};
use std::collections::BTreeSet;
use tensors::SIZES;

/// How many times as many random programs as usual.
fn times() -> usize {
    std::env::var("CREASE_HOSTILE").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// What is picked at kinks, another one each round.
fn how(round: usize) -> How {
    let all = ["paper", "torch", "jax", "relu=1/2, max=last, order=last", "tensorflow"];
    How::default().select(Selection::parse(all[round % all.len()]).expect("a selection"))
}

/// Some of the ways, others each round.
fn some(rng: &mut Rng, count: usize) -> Vec<Way> {
    let all = Way::all();
    (0..count).map(|_| *rng.pick(&all)).collect()
}

#[test]
fn every_operation_through_every_path() {
    let mut rng = Rng::new(1);
    let (mut faults, mut reached) = (Faults::default(), BTreeSet::new());
    for (round, &n) in [1, 3, 17, 65].iter().enumerate() {
        for (what, p) in operations::programs(n, &mut rng) {
            let how = how(round);
            let derived = backprop(&p, &how).ok();
            for q in p.library().iter().map(|q| &**q).chain([&p]).chain(&derived) {
                reached.extend(q.equations().map(|e| operations::name(e.op)));
            }
            for kind in Kind::ALL {
                let at = points(&mut rng, &p, kind, 4);
                let ways = if n == 3 && kind == Kind::Odd { Way::all() } else { some(&mut rng, 1) };
                faults.add(judge_both(&format!("{what} of {n}, {kind:?}"), &p, &at, &how, &ways));
            }
        }
    }
    faults.none();
    let missing: Vec<_> = operations::ALL.iter().filter(|n| !reached.contains(**n)).collect();
    assert!(missing.is_empty(), "no program has {missing:?}");
}

#[test]
fn lanes_of_scattered_and_repeated_registers() {
    let mut rng = Rng::new(2);
    let mut faults = Faults::default();
    for (round, &n) in SIZES.iter().filter(|&&n| n > 1).enumerate() {
        for kink in operations::lane_kinks(Lane::Args, n) {
            for order in Order::ALL {
                let p = operations::scattered(n, &Op::Kink(kink.clone()), order, &mut rng);
                // half of them where ties are
                let kind = if rng.once_in(2) { Kind::Whole } else { Kind::ALL[rng.below(4)] };
                let count = [1, 9][rng.below(2)];
                let at = points(&mut rng, &p, kind, count);
                let what = format!("{kink:?} of {n}, {order:?}, {kind:?}");
                faults.add(judge_both(&what, &p, &at, &how(round), &some(&mut rng, 1)));
            }
        }
    }
    faults.none();
}

/// Products of many tiny matrices, as they lie, transposed, or backward, and the larger or smaller of two tensors, or of one and a number: all that is taken
/// element by element where there is much of it.
#[test]
fn many_small_things() {
    let mut rng = Rng::new(3);
    let mut faults = Faults::default();
    let sizes = [[1, 1, 1], [1, 1, 2], [2, 1, 1], [1, 2, 3], [3, 2, 1], [1, 1, 6], [2, 2, 1], [2, 2, 2]];
    for (round, (&[m, n, k], batch)) in sizes.iter().flat_map(|s| [7, 8, 67].map(|batch| (s, batch))).enumerate() {
        let (ta, tb) = (round % 2 == 0, round % 3 == 0);
        let product = examples::built(
            &[
                ("a", &if ta { [batch, k, m] } else { [batch, m, k] }),
                ("b", &if tb { [batch, n, k] } else { [batch, k, n] }),
            ],
            |b, x| {
                let back = b.slice(
                    x[0],
                    &[(batch - 1, batch, -1), (0, if ta { k } else { m }, 1), (0, if ta { m } else { k }, 1)],
                );
                let a = if round % 4 == 0 { back.unwrap() } else { x[0] };
                let y = b.push1(Op::MatMul { transpose_a: ta, transpose_b: tb }, &[a, x[1]]).unwrap();
                operations::weighed(b, y)
            },
        );
        let pair = |op: Op, number: bool| {
            examples::built(&[("x", &[batch]), ("y", &[batch])], |b, x| {
                let one = b.constant(1);
                let y = b.push1(op, &[x[0], if number { one } else { x[1] }]).unwrap();
                operations::weighed(b, y)
            })
        };
        let [largest, smallest] = [Kink::Max(Lane::Args), Kink::Min(Lane::Args)].map(Op::Kink);
        for p in [product, pair(largest, round % 2 == 0), pair(smallest, round % 2 == 1)] {
            for kind in Kind::ALL {
                let at = points(&mut rng, &p, kind, 2);
                faults.add(judge_both(
                    &format!("{m} {n} {k}, {batch}, {kind:?}"),
                    &p,
                    &at,
                    &how(round),
                    &some(&mut rng, 3),
                ));
            }
        }
    }
    faults.none();
}

#[test]
fn random_tensor_programs() {
    let mut faults = Faults::default();
    for seed in 0..(150 * times()) as u64 {
        let mut rng = Rng::new(1000 + seed);
        let whole = seed % 3 != 0;
        let p = tensors::program(&mut rng, whole);
        let kind = match (whole, seed % 4) {
            (true, 0) => Kind::Odd,
            (true, _) => Kind::Whole,
            (false, 0) => Kind::Sizes,
            (false, _) => Kind::Generic,
        };
        let count = 1 + rng.below(2);
        let at = points(&mut rng, &p, kind, count);
        let ways = some(&mut rng, 4);
        faults.add(judge_both(&format!("seed {seed}, {kind:?}"), &p, &at, &how(seed as usize), &ways));
    }
    faults.none();
}

#[test]
fn lesser_instructions_pass_these_tests_too() {
    lesser::again();
}
