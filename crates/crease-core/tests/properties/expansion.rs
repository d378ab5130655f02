//! Expanding calls, or tensors into scalars, changes neither the value nor the cost.

use crate::support::{check_programs, derived, ensure, outputs, shown};
use crease_core::cost::tally;
use crease_core::differentiate::{How, Technique};
use crease_core::{Op, Program, Tensor, inline, scalarize};
use crease_corpus::compare::convert;
use crease_corpus::random::{any_options, generic_point};

fn bits(p: &Program, x: &[Tensor<f64>]) -> Result<Vec<u64>, String> {
    Ok(outputs(p, x)?.iter().flat_map(|t| t.data().iter().map(|x| x.to_bits())).collect())
}

fn has_selection(p: &Program) -> bool {
    let here = |p: &Program| p.equations().any(|e| matches!(e.op, Op::Select(_)));
    here(p) || p.library().iter().any(|q| here(q))
}

#[test]
fn inlining_keeps_every_count_of_the_tally() {
    check_programs(
        10,
        1500,
        12,
        |rng, n| any_options(rng, n).calls(3),
        |p, _| {
            let inlined = inline(p).map_err(|e| e.to_string())?;
            let (before, after) = (tally(p), tally(&inlined));
            ensure(before == after, || format!("{before} became {after}\n{inlined}"))
        },
    );
}

#[test]
fn inlining_keeps_the_tally_of_derived_programs_too() {
    check_programs(
        11,
        300,
        8,
        |rng, n| any_options(rng, n).calls(2),
        |p, rng| {
            let technique = *rng.pick(&[Technique::Backward, Technique::Forward]);
            for (name, d) in derived(p, &How::default().technique(technique))? {
                let (before, after) = (tally(&d), tally(&inline(&d).map_err(|e| e.to_string())?));
                ensure(before == after, || format!("{name}: {before} became {after}\n{d}"))?;
            }
            Ok(())
        },
    );
}

#[test]
fn inlining_keeps_values_to_the_last_bit() {
    check_programs(
        12,
        1000,
        12,
        |rng, n| any_options(rng, n).calls(3),
        |p, rng| {
            let inlined = inline(p).map_err(|e| e.to_string())?;
            let x = convert::<f64>(&generic_point(rng, p));
            ensure(bits(p, &x)? == bits(&inlined, &x)?, || format!("values differ at {}\n{inlined}", shown(&x)))
        },
    );
}

#[test]
fn inlined_programs_have_level_at_most_one() {
    check_programs(
        13,
        500,
        12,
        |rng, n| any_options(rng, n).calls(3).loops(0),
        |p, _| {
            let level = inline(p).map_err(|e| e.to_string())?.level();
            ensure(level <= 1 || has_selection(p), || format!("level {level} after inlining"))
        },
    );
}

/// The elements of a point, each on its own.
fn taken_apart(x: &[Tensor<f64>]) -> Vec<Tensor<f64>> {
    x.iter().flat_map(|t| t.data().iter().map(|&c| Tensor::scalar(c))).collect()
}

#[test]
fn scalarizing_keeps_every_count_of_the_tally() {
    check_programs(
        14,
        1500,
        10,
        |rng, n| any_options(rng, n).tensors(),
        |p, _| {
            let scalars = scalarize(p).map_err(|e| e.to_string())?;
            let (before, after) = (tally(p), tally(&scalars));
            ensure(before == after, || format!("{before} became {after}\n{scalars}"))
        },
    );
}

#[test]
fn scalarizing_keeps_the_tally_of_derived_programs_too() {
    check_programs(
        15,
        200,
        6,
        |rng, n| any_options(rng, n).tensors(),
        |p, rng| {
            let technique = *rng.pick(&[Technique::Through, Technique::Backward]);
            for (name, d) in derived(p, &How::default().technique(technique))? {
                let (before, after) = (tally(&d), tally(&scalarize(&d).map_err(|e| e.to_string())?));
                ensure(before == after, || format!("{name}: {before} became {after}\n{d}"))?;
            }
            Ok(())
        },
    );
}

#[test]
fn scalarizing_keeps_values_to_the_last_bit() {
    check_programs(
        16,
        800,
        10,
        |rng, n| any_options(rng, n).tensors(),
        |p, rng| {
            let scalars = scalarize(p).map_err(|e| e.to_string())?;
            let x = convert::<f64>(&generic_point(rng, p));
            let same = bits(p, &x)? == bits(&scalars, &taken_apart(&x))?;
            ensure(same, || format!("values differ at {}\n{scalars}", shown(&x)))
        },
    );
}

#[test]
fn scalarizing_keeps_gradients_to_the_last_bit() {
    check_programs(
        17,
        200,
        6,
        |rng, n| any_options(rng, n).tensors(),
        |p, rng| {
            for (name, d) in derived(p, &How::default())? {
                let scalars = scalarize(&d).map_err(|e| e.to_string())?;
                let x = convert::<f64>(&generic_point(rng, &d));
                let same = bits(&d, &x)? == bits(&scalars, &taken_apart(&x))?;
                ensure(same, || format!("{name}: values differ at {}\n{scalars}", shown(&x)))?;
            }
            Ok(())
        },
    );
}
