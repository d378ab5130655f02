//! Theorem 2: counted <= model <= omega * cost, and Corollary 1.

use crate::support::{TECHNIQUES, Verdict, check_programs, ensure, rational, selections};
use crease_core::Program;
use crease_core::cost::{Prices, cost};
use crease_core::differentiate::overhead;
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

#[test]
fn counted_is_at_most_model_is_at_most_omega_cost_for_scalar_programs() {
    check_programs(
        20,
        800,
        14,
        |rng, n| any_options(rng, n).one_output().scalars().calls(0),
        |p, rng| both_modes(p, &How::default().select(rng.pick(&selections()).clone())),
    );
}

#[test]
fn counted_is_at_most_model_is_at_most_omega_cost_for_tensor_programs() {
    check_programs(
        21,
        600,
        10,
        |rng, n| any_options(rng, n).one_output().tensors().calls(0),
        |p, rng| both_modes(p, &How::default().select(rng.pick(&selections()).clone())),
    );
}

#[test]
fn counted_is_at_most_model_is_at_most_omega_cost_with_every_technique_for_calls() {
    let options = |rng: &mut _, n| any_options(rng, n).one_output().calls(1 + n % 3).continuous().joints();
    check_programs(22, 500, 8, options, |p, rng| {
        let how = How::default().select(rng.pick(&selections()).clone());
        TECHNIQUES.iter().try_for_each(|&t| both_modes(p, &how.clone().technique(t)))
    });
}

#[test]
fn counted_is_at_most_model_is_at_most_omega_cost_with_selections() {
    let options = |_: &mut _, n| Options::new(Dictionary::Everything).branches().calls(2).equations(n);
    check_programs(23, 800, 8, options, |p, rng| {
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

/// A program of the text language keeps the bounds, however it is differentiated.
fn keeps_the_bounds(source: &str) {
    let p = crease_formats::parse(source).expect("it parses").main().clone();
    for technique in TECHNIQUES {
        for selection in selections() {
            let how = How::default().technique(technique).select(selection);
            if let Err(what) = both_modes(&p, &how) {
                panic!("{what}\n{p}");
            }
        }
    }
}

#[test]
fn a_negative_factor_keeps_the_bounds() {
    keeps_the_bounds("program f(x) = -2 * x");
}

#[test]
fn a_division_by_a_negative_constant_keeps_the_bounds() {
    keeps_the_bounds("program f(x) = x / -2");
}

#[test]
fn groups_of_one_member_keep_the_bounds() {
    keeps_the_bounds("program f(x, y) = max(x) + y");
    keeps_the_bounds("program f(x[1]) = median(x)");
    keeps_the_bounds("program f(x[1], y[1]) = min(x, axis=0) + max(y, axis=0)");
}

#[test]
fn joining_values_keeps_the_bounds() {
    keeps_the_bounds("program f(x, y, z) = sum(concat(x, y, z, axis=0))");
    keeps_the_bounds("program f(x, y) { let a, b, c = sort(x, y, x) return a + b }");
}

#[test]
fn padding_with_zeros_keeps_the_bounds() {
    let padded = "let v = assemble([4], put(x, from=3, sizes=[], strides=[]))";
    for rest in ["sum(relu(v))", "sum(v - v)", "max(v)", "norminf(v) + y", "order_statistic(v, k=1)", "sum(v * v) * y"]
    {
        keeps_the_bounds(&format!("program f(x, y) {{ {padded} return {rest} }}"));
    }
    keeps_the_bounds("program f(x[1, 2, 2], K[1, 1, 2, 2]) = sum(conv2d(x, K, padding=1))");
}

#[test]
fn a_part_of_a_repetition_keeps_the_bounds() {
    keeps_the_bounds("program f(x[2]) = broadcast(x, [3, 2])[1, 0]");
    keeps_the_bounds("program f(x) = concat(x, x, x, axis=0)[2]");
}

#[test]
fn parts_of_one_tensor_keep_the_bounds() {
    keeps_the_bounds("program f(x[3, 2]) = transpose(x, [1, 0])[0, 1] + reshape(x, [6])[5]");
}

#[test]
fn constant_tensors_keep_the_bounds() {
    keeps_the_bounds("program f(x[2]) = sum(x / [2, 4])");
    keeps_the_bounds("program f(x[2]) = sum([2, 4] / x)");
    keeps_the_bounds("program f(x[1]) { let c = [0.5] return sum(max(c, c, x)) }");
    keeps_the_bounds("program f(x[2]) { let c = [2, 4] let y = c * x return sum(y * (c * y)) }");
    keeps_the_bounds("program f(x[2]) { let c = [[2, 4], [1, 0.5]] return sum(relu(c @ relu(c @ x))) }");
}

#[test]
fn calls_with_constants_keep_the_bounds() {
    keeps_the_bounds("program g(a, b) = a / b  program f(x) = g(x, 2)");
    keeps_the_bounds("program g(a, b) = a * b  program f(x) = g(x, 2) + g(3, x)");
    keeps_the_bounds("program g(a, b) = 3  program f(x) = x * g(x, 2)");
    // two constants meet inside: that must not cost more than a constant and a value
    keeps_the_bounds("program g(a, b) = b + a / 3  program f(x) = g(2, x)");
}

#[test]
fn selections_whose_branches_cost_the_same_keep_the_bounds() {
    keeps_the_bounds(
        "program a(x) = sin(x)  program b(x) = x * 0.5  program f(x) = select { x > 0 => a(x), else => b(x) }",
    );
    keeps_the_bounds(
        "program a(x) = relu(x)  program b(x) = -x  program f(x) = select { x > 0 => a(x), else => b(x) }",
    );
}

#[test]
fn selections_with_several_outputs_keep_the_bounds() {
    keeps_the_bounds(
        "program a(x, y, z) { let s = x * y * z * x * y * z return s, x }  program b(x, y, z) = x, y
         program f(x, y, z) { let u, v = select { x > 0 => a(x, y, z), else => b(x, y, z) } return u + v }",
    );
}
