//! Loops are what their turns are: value, tally, both derivatives, batches and local models are those of the unrolled program.

use crate::support::{Verdict, check_programs, derived, ensure, is_scalar, outputs, selections, shown};
use crease_core::cost::{Prices, tally};
use crease_core::differentiate::{How, Mode, backprop, counted, overhead};
use crease_core::local::localize;
use crease_core::{Program, Rational, Tensor, batch, inline, simplify, unroll};
use crease_corpus::random::{Dictionary, Options, Rng, any_options, generic_point, origin, tied_point};

fn exact(rng: &mut Rng, n: usize) -> Options {
    let dictionary = *rng.pick(&[Dictionary::Everything, Dictionary::PiecewiseLinear]);
    let depth = 1 + rng.below(2);
    let mut o = Options::new(dictionary).exact().inputs(1 + rng.below(4)).equations(n).loops(depth);
    if rng.once_in(2) {
        o = o.tensors();
    }
    if rng.once_in(3) {
        o = o.branches();
    }
    if rng.once_in(3) { o.outputs(1 + rng.below(3)) } else { o }
}

fn points(p: &Program, rng: &mut Rng) -> Vec<Vec<Tensor<Rational>>> {
    vec![generic_point(rng, p), tied_point(rng, p), origin(p)]
}

fn same(name: &str, p: &Program, q: &Program, rng: &mut Rng) -> Verdict {
    for x in points(p, rng) {
        let (a, b) = (outputs(p, &x)?, outputs(q, &x)?);
        ensure(a == b, || format!("{name} at {}: {} and {}\n{p}\n{q}", shown(&x), shown(&a), shown(&b)))?;
    }
    Ok(())
}

#[test]
fn a_loop_is_its_turns() {
    check_programs(70, 400, 10, exact, |p, rng| {
        let q = unroll(p).map_err(|e| e.to_string())?;
        let faults = p.verify();
        ensure(faults.is_empty(), || format!("{faults:?}"))?;
        ensure(tally(p) == tally(&q), || format!("tallies: {} and {}", tally(p), tally(&q)))?;
        same("turns", p, &q, rng)?;
        same("inlined", p, &inline(p).map_err(|e| e.to_string())?, rng)?;
        same("simplified", p, &simplify(p).map_err(|e| e.to_string())?, rng)
    });
}

#[test]
fn derivatives_of_a_loop_are_those_of_its_turns() {
    check_programs(71, 300, 8, exact, |p, rng| {
        let q = unroll(p).map_err(|e| e.to_string())?;
        let how = How::default().select(rng.pick(&selections()).clone());
        for ((name, dp), (_, dq)) in derived(p, &how)?.iter().zip(derived(&q, &how)?) {
            let faults = dp.verify();
            ensure(faults.is_empty(), || format!("{name}: {faults:?}"))?;
            same(name, dp, &dq, rng)?;
        }
        Ok(())
    });
}

#[test]
fn counted_is_at_most_model_and_near_the_turns() {
    check_programs(
        72,
        300,
        8,
        |rng, n| exact(rng, n).one_output(),
        |p, _| {
            let how = How::default();
            let unit = Prices::unit();
            for mode in [Mode::Backward, Mode::Forward] {
                let count = counted(p, &how, mode).map_err(|e| e.to_string())?.price();
                let bound = overhead(p, &how, mode, &unit).map_err(|e| e.to_string())?;
                ensure(count.at(&unit) <= bound.model.at(&unit), || {
                    format!("{mode:?}: counted {count}, model {}", bound.model)
                })?;
            }
            // counting backward is counting what is emitted
            let emitted = tally(&backprop(p, &how).map_err(|e| e.to_string())?);
            let count = counted(p, &how, Mode::Backward).map_err(|e| e.to_string())?;
            ensure(emitted == count, || format!("emitted {emitted}, counted {count}"))
        },
    );
}

#[test]
fn a_batch_of_loops_is_a_loop_of_batches() {
    check_programs(
        73,
        200,
        8,
        |rng, n| exact(rng, n).continuous(),
        |p, rng| {
            let all: Vec<usize> = (0..p.inputs().len()).filter(|_| !rng.once_in(4)).collect();
            let (a, b) = (batch(p, &all, 2), batch(&unroll(p).map_err(|e| e.to_string())?, &all, 2));
            match (a, b) {
                (Ok(a), Ok(b)) => same("batched", &a, &b, rng),
                (a, b) => ensure(a.is_err() == b.is_err(), || format!("{:?} and {:?}", a.err(), b.err())),
            }
        },
    );
}

#[test]
fn local_models_see_the_kinks_of_every_turn() {
    check_programs(
        74,
        150,
        8,
        |rng, n| exact(rng, n).continuous(),
        |p, rng| {
            let q = unroll(p).map_err(|e| e.to_string())?;
            for x in points(p, rng) {
                match (localize(p, &x), localize(&q, &x)) {
                    (Ok(a), Ok(b)) => ensure(a.kinks().len() == b.kinks().len() && a.values() == b.values(), || {
                        format!("{} and {} kinks at {}", a.kinks().len(), b.kinks().len(), shown(&x))
                    })?,
                    (a, b) => ensure(a.is_err() == b.is_err(), || format!("{:?} and {:?}", a.err(), b.err()))?,
                }
            }
            Ok(())
        },
    );
}

#[test]
fn any_options_draw_loops() {
    let looped = (0..400).filter(|&seed| {
        let mut rng = Rng::new(seed);
        let o = any_options(&mut rng, 4);
        let p = crease_corpus::random::program(&mut rng, &o);
        is_scalar(&p) && p.name().starts_with("looped")
    });
    assert!(looped.count() > 10);
}
