//! Every item of the paper is there, runs, and agrees or has an erratum.

use crease_paper::{Kind, Verdict, items};
use std::collections::BTreeSet;

/// What the paper numbers, by counting its environments.
fn numbered() -> Vec<(Kind, u32)> {
    use Kind::*;
    let counts = [
        (Theorem, 5),
        (Definition, 2),
        (Assumption, 1),
        (Corollary, 3),
        (Proposition, 2),
        (Lemma, 3),
        (Claim, 1),
        (Remark, 6),
        (Example, 3),
        (Problem, 2),
        (Case, 14),
        (Algorithm, 2),
        (Table, 3),
        (Figure, 1),
    ];
    counts.into_iter().flat_map(|(kind, n)| (1..=n).map(move |i| (kind, i))).collect()
}

#[test]
fn nothing_that_the_paper_numbers_is_missing() {
    let all = items();
    for (kind, number) in numbered() {
        let here = all.iter().filter(|i| i.kind == kind && i.number == Some(number)).count();
        assert_eq!(here, 1, "{kind} {number}");
    }
    let extra = all.iter().filter(|i| i.number.is_some()).count();
    assert_eq!(extra, numbered().len());
    for i in &all {
        match i.number {
            Some(n) => assert_eq!(i.id, format!("{}-{n}", i.kind)),
            None => assert_eq!(i.kind, Kind::Statement),
        }
        assert!(!i.title.is_empty() && !i.place.is_empty() && !i.claim.is_empty(), "{}", i.id);
    }
    let names: BTreeSet<&str> = all.iter().map(|i| i.id).collect();
    assert_eq!(names.len(), all.len());
}

/// The counts above are those of the paper itself, where its source is at hand.
#[test]
fn the_counts_are_those_of_the_paper() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/paper.tex");
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let text: String = text.lines().filter(|l| !l.trim_start().starts_with('%')).map(|l| format!("{l}\n")).collect();
    for kind in numbered().into_iter().map(|(kind, _)| kind).collect::<Vec<_>>() {
        let here = text.matches(&format!("\\begin{{{kind}}}")).count();
        assert_eq!(here, numbered().iter().filter(|(k, _)| *k == kind).count(), "{kind}");
    }
}

#[test]
fn all_items_agree_or_have_an_erratum() {
    let known: BTreeSet<&str> = crease_paper::errata::errata().unwrap().iter().map(|e| e.id).collect();
    let mut failed = Vec::new();
    for item in items() {
        let outcome = item.execute().unwrap_or_else(|e| panic!("{e}"));
        for f in &outcome.facts {
            match f.verdict {
                Verdict::Differs => failed.push(format!("{}: {f:?}", item.id)),
                Verdict::Erratum(id) => assert!(known.contains(id), "{}: no erratum {id}", item.id),
                _ => {}
            }
        }
        assert!(outcome.agrees() || !failed.is_empty(), "{} compares nothing", item.id);
        assert!(!outcome.ran.is_empty(), "{}", item.id);
        for p in &outcome.pictures {
            p.svg().unwrap_or_else(|e| panic!("{}: {e}", item.id));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
