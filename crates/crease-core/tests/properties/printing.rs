//! What is printed parses back to the same program, and is printed the same way each time.

use crate::support::{TECHNIQUES, Verdict, check_programs, derived, ensure, selections};
use crease_core::differentiate::{How, backprop};
use crease_core::{Program, inline};
use crease_corpus::random::any_options;
use crease_formats::parse;

fn parses_back(name: &str, p: &Program) -> Verdict {
    let text = p.to_string();
    ensure(p.to_string() == text && p.clone().to_string() == text, || format!("{name}: printed twice, it differs"))?;
    let module = parse(&text).map_err(|e| format!("{name}: {e:?}\n{text}"))?;
    ensure(**module.main() == *p, || format!("{name}: parsed back, it became\n{}\nfrom\n{text}", module.main()))
}

#[test]
fn random_programs_parse_back() {
    check_programs(70, 2000, 14, any_options, |p, _| {
        parses_back("as built", p)?;
        parses_back("inlined", &inline(p).map_err(|e| e.to_string())?)
    });
}

#[test]
fn derived_programs_parse_back() {
    check_programs(71, 500, 8, any_options, |p, rng| {
        let how = How::default().select(rng.pick(&selections()).clone()).technique(*rng.pick(&TECHNIQUES));
        for (name, d) in derived(p, &how)? {
            parses_back(name, &d)?;
        }
        Ok(())
    });
}

#[test]
fn programs_with_joint_programs_of_their_own_parse_back() {
    check_programs(
        72,
        500,
        8,
        |rng, n| any_options(rng, n).calls(2).joints(),
        |p, _| {
            parses_back("as built", p)?;
            derived(p, &How::default())?.iter().try_for_each(|(name, d)| parses_back(name, d))
        },
    );
}

#[test]
fn a_joint_program_that_is_also_called_prints() {
    // one call of g has a derivative and becomes a call of its joint program; the other one has none and stays
    let source = "program g(x) = relu(x)  joint g(x) = relu'(x, at=1)  program f(x) = g(x) + g(2)";
    let f = parse(source).expect("it parses").main().clone();
    let d = backprop(&f, &How::default()).expect("a gradient");
    parses_back("backprop", &d).expect("it parses back");
}
