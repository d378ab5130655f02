//! The verifier finds no fault in any program, built or derived.

use crate::support::{TECHNIQUES, check_programs, derived, ensure, selections};
use crease_core::differentiate::How;
use crease_core::{Program, inline, scalarize, simplify};
use crease_corpus::random::any_options;

fn faultless(name: &str, p: &Program) -> Result<(), String> {
    let faults = p.verify();
    ensure(faults.is_empty(), || format!("{name}: {}\n{p}", faults[0]))
}

#[test]
fn built_and_derived_programs_have_no_fault() {
    check_programs(1, 1200, 12, any_options, |p, rng| {
        faultless("as built", p)?;
        faultless("inlined", &inline(p).map_err(|e| e.to_string())?)?;
        let how = How::default().select(rng.pick(&selections()).clone()).technique(*rng.pick(&TECHNIQUES));
        for (name, d) in derived(p, &how)?.into_iter().chain([("itself", p.clone())]) {
            faultless(name, &d)?;
            faultless(&format!("scalarized {name}"), &scalarize(&d).map_err(|e| e.to_string())?)?;
            faultless(&format!("simplified {name}"), &simplify(&d).map_err(|e| e.to_string())?)?;
        }
        Ok(())
    });
}

#[test]
fn derivatives_of_derivatives_have_no_fault() {
    check_programs(2, 200, 6, any_options, |p, rng| {
        let how = How::default().select(rng.pick(&selections()).clone()).technique(*rng.pick(&TECHNIQUES));
        for (name, d) in derived(p, &how)?.into_iter().filter(|(name, _)| *name != "hessian") {
            for (again, dd) in derived(&d, &how)?.into_iter().filter(|(name, _)| matches!(*name, "jvp" | "vjp")) {
                faultless(&format!("{again} of {name}"), &dd)?;
            }
        }
        Ok(())
    });
}
