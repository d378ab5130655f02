//! Theorem 2: counted <= model <= omega * cost, and Corollary 1.

use crate::support::{TECHNIQUES, Verdict, check_programs, ensure, rational, selections};
use crease_core::Program;
use crease_core::cost::{Prices, cost, overhead};
use crease_core::differentiate::{How, Mode, Technique, backprop, forprop};
use crease_corpus::random::{Dictionary, Options, any_options};

fn prices() -> Vec<Prices> {
    let mut all = vec![Prices::unit()];
    for nonlin in ["1", "2", "10"] {
        for relu in ["1/2", "1", "5"] {
            all.push(Prices { nonlin: rational(nonlin), relu: rational(relu) });
        }
    }
    all
}

fn within_bounds(p: &Program, how: &How, mode: Mode) -> Verdict {
    let d = match mode {
        Mode::Backward => backprop(p, how),
        Mode::Forward => forprop(p, how),
    };
    let d = d.map_err(|e| e.to_string())?;
    let (plain, counted) = (cost(p), cost(&d));
    for prices in prices() {
        let bound = overhead(p, how, mode, &prices).map_err(|e| e.to_string())?;
        let (plain, counted, model) = (plain.at(&prices), counted.at(&prices), bound.model.at(&prices));
        let told = |what: &str| {
            let (n, r) = (&prices.nonlin, &prices.relu);
            format!(
                "{mode:?} {how:?} at c_nonlin = {n}, c_relu = {r}: cost {plain}, counted {counted}, model {model}, omega {:?}: {what}\n{d}",
                bound.omega
            )
        };
        ensure(counted <= model, || told("counted > model"))?;
        // omega is nothing where an operation that has a derivative is free
        if let Some(omega) = &bound.omega {
            ensure(model <= omega * &plain, || told("model > omega cost"))?;
        }
    }
    Ok(())
}

fn both_modes(p: &Program, how: &How) -> Verdict {
    within_bounds(p, how, Mode::Backward)?;
    within_bounds(p, how, Mode::Forward)
}

fn scalar(mut o: Options) -> Options {
    o = o.one_output();
    o
}

#[test]
fn counted_is_at_most_model_is_at_most_omega_cost_for_scalar_programs() {
    check_programs(
        20,
        800,
        14,
        |rng, n| scalar(any_options(rng, n)).scalars().calls(0),
        |p, rng| both_modes(p, &How::default().select(rng.pick(&selections()).clone())),
    );
}

#[test]
fn counted_is_at_most_model_is_at_most_omega_cost_for_tensor_programs() {
    check_programs(
        21,
        600,
        10,
        |rng, n| scalar(any_options(rng, n)).tensors().calls(0),
        |p, rng| both_modes(p, &How::default().select(rng.pick(&selections()).clone())),
    );
}

#[test]
fn counted_is_at_most_model_is_at_most_omega_cost_with_every_technique_for_calls() {
    let options = |rng: &mut _, n| scalar(any_options(rng, n)).calls(1 + n % 3).continuous();
    check_programs(22, 500, 8, options, |p, rng| {
        let how = How::default().select(rng.pick(&selections()).clone());
        TECHNIQUES.iter().try_for_each(|&t| both_modes(p, &how.clone().technique(t)))
    });
}

#[test]
fn counted_is_at_most_model_is_at_most_omega_cost_with_selections() {
    let options = |_: &mut _, n| Options::new(Dictionary::Everything).branches().calls(2).equations(n);
    check_programs(23, 300, 8, options, |p, rng| {
        let how = How::default().technique(*rng.pick(&[Technique::Through, Technique::Backward]));
        both_modes(p, &how)
    });
}

#[test]
fn backprop_of_relu_programs_costs_at_most_five_times_as_much() {
    let options = |rng: &mut crease_corpus::random::Rng, n: usize| {
        Options::new(Dictionary::Relu).inputs(1 + rng.below(3)).equations(n).calls(n % 3)
    };
    check_programs(24, 1500, 30, options, |p, _| {
        let d = backprop(p, &How::default().technique(Technique::Through)).map_err(|e| e.to_string())?;
        let (plain, counted) = (cost(p).at(&Prices::unit()), cost(&d).at(&Prices::unit()));
        ensure(counted <= &rational("5") * &plain, || format!("cost {plain}, backprop {counted}\n{d}"))
    });
}
