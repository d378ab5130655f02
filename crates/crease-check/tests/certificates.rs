//! Certificates that are valid, what they prove, and what is said of those that are not.

mod cases;
#[allow(dead_code)]
mod truth;

use crease_check::{Claim, Statistics, check};
use truth::{Function, Random};

#[test]
fn valid_certificates_prove_what_is_true() {
    for (name, text) in cases::ALL {
        let checked = check(text.as_bytes()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let f = Function::of(text);
        assert!(f.has(&checked.claim, &mut Random(1)), "{name}");
        assert_eq!(checked.dimension, f.dimension);
    }
}

#[test]
fn proofs_are_counted() {
    let checked = check(cases::LATTICE.as_bytes()).unwrap();
    assert_eq!(checked.kinks, 9);
    let expected = Statistics { relus: 9, atoms: 24, clauses: 20, lemmas: 6, learned: 5 };
    assert_eq!(checked.statistics, expected);
}

#[test]
fn models_are_normalised() {
    let checked = check(cases::DEAD_TIES.replace("1*k2 1*k3 1*k4", "1*k4 1*k2 1*k3").as_bytes()).unwrap();
    let expected = "dimension 2\nkinks 5\nmax 0 ; 1*d0\nmax 0 ; 2*d0\nmax 1*k0 ; 1*k1\nmax 1/2*d1 ; -1/2*d1\n\
                    max 1*d0 -1*d1 ; 1*d0 1*d1\noutput 1*k2 1*k3 1*k4\n";
    assert_eq!(checked.model, expected);
}

#[test]
fn a_direction_on_a_kink_is_no_side() {
    refused(&cases::RELU.replacen("direction 1*d0", "direction 0", 1), 8, "kink 0 has two largest forms");
    // 0 is a direction like any other where nothing happens
    let linear = "crease-certificate 1\nclaim member\ndimension 1\nkinks 1\nmax 1*d0 ; 1*d0\noutput 1*k0\nvector 1*d0\nside 1\n\
                  direction 0\ngradient 1*d0\nend\n";
    assert!(matches!(check(linear.as_bytes()).unwrap().claim, Claim::Member { .. }));
}

#[test]
fn a_relu_may_be_added_to_an_item_twice() {
    // max(k, k + x, 2 k + x) is 3 k, where k is relu(x)
    let text = "crease-certificate 1\nclaim differentiable\ndimension 1\nkinks 2\nmax 0 ; 1*d0\n\
                max 1*k0 ; 1*d0 1*k0 ; 1*d0 2*k0\noutput -3*k0 1*k1\ngradient 0\nrelus 1\nrelu 1*d0\n\
                kink 0 1 z0\nkink 0 1 z0 3 2 z0\nend\n";
    assert!(matches!(check(text.as_bytes()).unwrap().claim, Claim::Differentiable { .. }));
    for other in ["-1*k0", "-2*k0", "-4*k0"] {
        assert!(check(text.replace("-3*k0", other).as_bytes()).is_err());
    }
}

#[test]
fn the_last_line_needs_no_line_feed_and_comments_may_follow() {
    for (name, text) in cases::ALL {
        assert!(check(text.trim_end().as_bytes()).is_ok(), "{name}");
        assert!(check(format!("# first\n{text}# last\n#").as_bytes()).is_ok(), "{name}");
        assert!(check(format!("{text}\n").as_bytes()).is_err(), "{name}");
        assert!(check(format!("{text}end\n").as_bytes()).is_err(), "{name}");
    }
}

#[track_caller]
fn refused(text: &str, line: usize, message: &str) {
    let error = check(text.as_bytes()).unwrap_err();
    assert!(error.line == line && error.message.contains(message), "{error}");
}

/// A refutation on top of relu(relu(x) + relu(y)) - relu(x) - relu(y), and the line at which it begins.
#[track_caller]
fn refused_proof(proof: &str, message: &str) {
    let start = cases::FARKAS.find("phase z0").unwrap();
    let head = &cases::FARKAS[..start];
    let text = format!("{head}phase z0\nphase z1\nphase z2\n{proof}\nend\n");
    refused(&text, head.lines().count() + 3 + proof.lines().count(), message);
}

#[test]
fn messages_say_what_was_expected_and_found() {
    refused("", 1, "expected `crease-certificate 1`, found the end of the text");
    refused("crease-certificate 2\n", 1, "expected the version 1, found `2`");
    refused("crease-certificate 1\n\n", 2, "expected `claim CLAIM`, found nothing");
    refused(&cases::RELU.replace("kinks 1", "kinks 2"), 6, "expected `max FORM ; FORM ; ...`, found `output 1*k0`");
    refused(&cases::RELU.replace("kinks 1", "kinks 99999999999"), 4, "found `99999999999`");
    refused(&cases::RELU.replace("max 0 ; 1*d0", "max 1*d0"), 5, "two or more forms");
    refused(&cases::RELU.replace("max 0 ; 1*d0", "max 0 ; 1*k0"), 5, "k0 cannot be used here; there is d0");
    refused(&cases::RELU.replace("gradient 0", "gradient 2*d0"), 12, "not the gradient");
    let twice = cases::RELU.replace("-1*d0\ngradient 0", "5*d0\ngradient 1*d0");
    refused(&twice, 13, "the two sides have the same gradient");
    refused(&cases::MEMBER.replace("vector 1/3*d0", "vector 1/2*d0"), 18, "do not add up to the vector");
    refused(&cases::RELU.replace('\n', "\r\n"), 1, "carriage return");
    refused(&cases::MEMBER.replace("side 5/12", "side -5/12"), 15, "expected a positive weight, found `-5/12`");
    refused(&cases::MEMBER.replace("side 5/12", "side 1/3"), 18, "expected weights that add up to 1, found `11/12`");
    refused(&cases::IDENTITY.replace("kink 1 0 z0", "kink 1 0 z1"), 11, "there is no relu z1; there are 1");
    refused(&cases::IDENTITY.replace("kink 1 0 z0", "kink 1 0 ="), 11, "not equal");
    refused(&cases::IDENTITY.replace("kink 1 0 z0", "kink 1 1 z0"), 11, "joined with itself");
    refused(&cases::IDENTITY.replace("kink 1 0 z0", "kink"), 11, "2 items are left");
    refused(&cases::EQUAL_ITEMS.replace("= 3 1 z0", "= 2 1 z0"), 13, "item 2 has been joined before");
    refused(&cases::EQUAL_ITEMS.replace("relu 1*z0", "relu 1*z1"), 12, "z1 cannot be used here; there is d0 to d1, z0");
}

#[test]
fn wrong_clauses_are_refused() {
    refused_proof("learn 1", "does not follow");
    refused_proof("learn 6", "atom 6 is not defined before its use; there are 5");
    refused_proof("learn 0", "expected a literal");
    refused_proof("drop 1 3", "no such clause");
    refused_proof("lemma", "no literal with a positive weight");
    refused_proof("lemma 5 1", "no literal with a positive weight");
    refused_proof("lemma 1 0 5 1", "no literal with a positive weight");
    refused_proof("lemma 1 1", "z2 is left in the sum");
    refused_proof("lemma 1 1 -5 0 -3 0", "z1 is left in the sum");
    refused_proof("lemma 3 1 4 0", "the weighted sum is not 0");
    refused_proof("lemma 1 1 5 -1", "a weight that is not negative");
    refused_proof("lemma 1 1 5 0 -5 0", "z2 in both of its phases");
    refused_proof("root 1 1", "literal 1 does not state that gradient - output > 0");
    refused_proof("root 2 1", "literal 2 does not state that output - gradient > 0");
    // -2 states h >= 0, which h > 0 implies; but the rule wants the statement itself
    refused_proof("root -2 -1", "does not state");
    refused_proof("split 1 z2 2 F", "literal 2 does not state that the form without the relu is > 0");
    refused_proof("split 3 z0 1 2", "z0 does not occur in what literal 3 states");
    refused_proof(
        "atom > -1*z0 -1*z1\nsplit 1 z2 6 T",
        "T does not state that the form with the relu's form in its place is > 0",
    );
    refused_proof("atom >= -1*z0 -1*z1\nsplit 1 z2 6 F", "literal 6 does not state");
    refused_proof("split 1 z2 F F", "F does not state that the form without the relu is > 0");
    refused_proof("atom >= 1*z2\nsplit 6 z2 F 6", "F does not state that the form without the relu is >= 0");
    refused_proof("atom >= 1*k0", "k0 cannot be used here");
    refused_proof("atom = 1*d0", "expected `>` or `>=`, found `=`");
    refused_proof("phase z3", "there is no relu z3; there are 3");
    refused_proof("clause 1 2", "expected a line that starts with `atom`");
}

#[test]
fn facts_are_what_they_say() {
    refused_proof("lemma 2 1 w2 -1", "expected a weight that is not negative, found `-1`");
    refused_proof("lemma 2 1 z0 -1/2", "expected a weight that is not negative, found `-1/2`");
    refused_proof("lemma 2 1 z3 1", "there is no relu z3; there are 3");
    refused_proof("lemma 2 1 w3 0", "there is no relu z3; there are 3");
    refused_proof("lemma 2 1 w", "expected a literal, or a fact such as `z0` or `w0`, found `w`");
    refused_proof("lemma 2 1 z 1", "expected a literal, or a fact such as `z0` or `w0`, found `z`");
    for rubbish in ["wz0", "zw0", "ww0", "w00", "w-1", "z01", "w0z", "w99999999999", "w+1", "w1/2"] {
        refused_proof(&format!("lemma 2 1 {rubbish} 1"), &format!("`z0` or `w0`, found `{rubbish}`"));
    }
    for rubbish in ["-w0", "-z0", "d0", "W0", "Z0", "k0"] {
        refused_proof(&format!("lemma 2 1 {rubbish} 1"), "expected a literal such as `3` or `-3`");
    }
    refused_proof("lemma 2 1 w2", "expected the weight, found nothing");
    refused_proof("lemma 2 1 z2 w2", "expected an integer or a fraction in lowest terms, found `w2`");
    // only literals are strict, and only in a lemma do facts stand
    refused_proof("lemma z2 1", "no literal with a positive weight");
    refused_proof("lemma 2 0 z2 1 w2 1", "no literal with a positive weight");
    refused_proof("atom >= -1*z0\nlemma 6 1 z0 1", "no literal with a positive weight");
    for line in ["learn -2 w2", "drop w2", "root w2 2", "split w2 z2 F F", "split 1 z2 w0 F"] {
        refused_proof(line, "expected a literal such as `3` or `-3`");
    }
    refused_proof("phase w2", "expected a relu such as `z0`, found `w2`");
    // each way round, with the wrong weight, and with the other fact
    refused_proof("lemma 1 1 w2 1", "z2 is left in the sum");
    refused_proof("lemma 2 1 w2 2", "z2 is left in the sum");
    refused_proof("lemma 2 1 z2 1", "z1 is left in the sum");
    refused_proof("atom > -1*z0\nlemma 6 1 w0 1", "the weighted sum is not 0: 1 terms are left");
    refused_proof("atom > 1*d0 -1*z0\nlemma 6 1 z0 1", "the weighted sum is not 0: 1 terms are left");
    // a fact is not a phase
    refused_proof("lemma 1 1 z2 0", "z2 is left in the sum, and the lemma does not have its phase");
    refused_proof("lemma 1 1 w2 0", "z2 is left in the sum, and the lemma does not have its phase");
}

#[test]
fn a_larger_item_is_another_and_a_sum_of_relus() {
    let not = "the first item joined by `>=` is not the second and a sum of relus";
    let join = |forms: &str, line: &str| {
        cases::SUM_OF_RELUS.replace("max 1*k0 1*k1 ; 0", &format!("max {forms}")).replace("kink 0 1 >=", line)
    };
    refused(&join("1*k0 1*k1 ; 0", "kink 1 0 >="), 15, not);
    refused(&join("1*k0 -1*k1 ; 0", "kink 0 1 >="), 15, not);
    refused(&join("1*k0 -1/7*k1 ; 0", "kink 0 1 >="), 15, not);
    refused(&join("1*k0 1*d1 ; 0", "kink 0 1 >="), 15, not);
    refused(&join("1*d0 ; 0", "kink 0 1 >="), 15, not);
    // a relu less its form is not negative, either; but it is no sum of relus
    refused(&join("1*k0 -1*d0 ; 0", "kink 0 1 >="), 15, not);
    refused(&join("1*k0 ; 1*d0", "kink 0 1 >="), 15, not);
    refused(&join("1*k0 ; 1*k1", "kink 0 1 >="), 15, not);
    refused(&join("1*k0 1*k1 ; 0", "kink 0 0 >="), 15, "joined with itself");
    refused(&join("1*k0 1*k1 ; 0", "kink 0 1 >"), 15, "expected a relu such as `z0`, found `>`");
    refused(&join("1*k0 1*k1 ; 0", "kink 0 1 =>"), 15, "expected a relu such as `z0`, found `=>`");
    refused(&join("1*k0 1*k1 ; 0", "kink 0 1"), 15, "expected a relu such as `z0`, `=` or `>=`, found nothing");
    refused(&join("1*k0 1*k1 ; 0", "kink 0 1 >= 0 1 >="), 15, "item 0 has been joined before");
    refused(&join("1*k0 1*k1 ; 0", "kink 0 1 >= 2 1 >="), 15, "item 1 has been joined before");
    // what is joined is the larger one
    refused(
        &join("1*k0 1*k1 ; 1*k0", "kink 0 1 >=").replace("output 1*k2 -1*k0 -1*k1", "output 1*k2 -1*k0"),
        16,
        "no contradiction",
    );
    assert!(check(join("0 ; 1*k0 1*k1", "kink 1 0 >=").as_bytes()).is_ok());
}

#[test]
fn sides_have_an_end() {
    let without = |text: &str| text.strip_suffix("end\n").unwrap().to_string();
    refused(&without(cases::RELU), 13, "expected `end`, found the end of the text");
    refused(&without(cases::MEMBER), 18, "expected `side WEIGHT` or `end`, found the end of the text");
    refused(&(without(cases::RELU) + "side\n"), 13, "expected `end`, found `side`");
    refused(&(without(cases::MEMBER) + "vector 0\n"), 18, "expected `side WEIGHT` or `end`, found `vector 0`");
    for text in [cases::RELU, cases::MEMBER] {
        let last = text.lines().count();
        refused(&(without(text) + "end 1\n"), last, "expected the end of the line, found `1`");
        refused(&(text.to_string() + "end\n"), last + 1, "expected the end of the text, found `end`");
    }
    let none = "crease-certificate 1\nclaim member\ndimension 1\nkinks 0\noutput 0\nvector 0\nend\n";
    refused(none, 7, "expected weights that add up to 1, found `0`");
}

/// -z0 >= 0 does not imply that z0 is in its negative phase, which is w < 0: the literal of a phase cannot stand for its closure.
#[test]
fn a_negative_phase_is_strict() {
    let proof = "atom >= -1*z2\natom >= -1*z0 -1*z1\nsplit 6 z2 T -5";
    refused_proof(proof, "literal -5 does not state that the form with the relu's form in its place is >= 0");
    refused_proof("atom >= -1*z2\natom >= -1*z0 -1*z1\nsplit 6 z2 T 7\nend", "unit propagation finds no contradiction");
}

/// The page about certificates says what the documentation of the crate says.
#[test]
fn the_page_is_the_documentation() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    // a package of the crate alone has no pages
    let Ok(page) = std::fs::read_to_string(here.join("../../docs/certificates.md")) else { return };
    let source = std::fs::read_to_string(here.join("src/lib.rs")).expect("the source of this crate");
    let words = |line: &str| line.trim().trim_start_matches('#').trim().to_string();
    let documented = source.lines().take_while(|l| l.starts_with("//!")).map(|l| words(&l[3..]));
    let documented: Vec<String> = documented.skip_while(|l| l != "The format").filter(|l| !l.is_empty()).collect();
    let written = page.lines().map(words).skip_while(|l| l != "The format");
    let written: Vec<String> = written.filter(|l| !l.is_empty()).collect();
    assert!(documented.len() > 80);
    assert_eq!(written, documented);
}
