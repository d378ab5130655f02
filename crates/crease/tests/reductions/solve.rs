//! Formulas decided through their programs: against all assignments of small ones, and the verdicts of public instances; every
//! certificate is checked.

use crate::sat::formulas;
use crate::support::satisfiable;
use crease::check::{Claim, check};
use crease::formats::{Cnf, parse_dimacs};
use crease::oracles::{Effort, Limit};
use crease::reductions::{SatForm, Satisfiability, Solved, solve};
use crease::{Cancel, Limits};
use std::path::Path;

/// Decides a formula, with the model and the certificate checked.
fn decided(cnf: &Cnf, form: SatForm, effort: &Effort<'_>) -> (bool, Solved) {
    let solved = solve(cnf, form, effort).unwrap();
    let certificate = solved.decision.certificate().expect("a verdict has a certificate");
    let claim = check(certificate.as_bytes()).unwrap_or_else(|e| panic!("{e}")).claim;
    let answer = match &solved.answer {
        Satisfiability::Satisfiable(model) => {
            assert_eq!(cnf.satisfied_by(model), Ok(()));
            assert!(matches!(claim, Claim::NotDifferentiable { .. }));
            true
        }
        Satisfiability::Unsatisfiable => {
            assert!(matches!(claim, Claim::Differentiable { .. }));
            false
        }
        Satisfiability::Unknown(limit) => panic!("{limit}"),
    };
    (answer, solved)
}

#[test]
fn small_formulas_are_decided_as_all_assignments_say() {
    let (mut yes, mut no) = (0, 0);
    for cnf in formulas() {
        let expected = satisfiable(&cnf);
        *(if expected { &mut yes } else { &mut no }) += 1;
        for form in [SatForm::Lattice, SatForm::Network] {
            // also without the luck of random directions
            for directions in [0, 8] {
                let effort = Effort { directions, ..Effort::default() };
                assert_eq!(decided(&cnf, form, &effort).0, expected, "{form:?} of\n{cnf}");
            }
        }
    }
    assert!(yes > 100 && no > 100, "{yes} satisfiable, {no} not");
}

/// The local model of a formula is made within the limits of the effort, too.
#[test]
fn a_stop_ends_it_before_the_search() {
    // so large that somebody looks at the clock on the way
    let clauses = (1..=3000).map(|k| vec![k, -(k % 3000 + 1), k % 2999 + 1]).collect();
    let cnf = Cnf { variables: 3000, clauses };
    let cancel = Cancel::new();
    cancel.stop();
    let limits = Limits::default().cancelled_by(&cancel);
    let solved = solve(&cnf, SatForm::Lattice, &Effort { limits, ..Effort::default() }).unwrap();
    assert_eq!(solved.answer, Satisfiability::Unknown(Limit::Stopped));
    assert!(solved.decision.verdict.elements().is_empty() && solved.decision.certificate().is_none());
}

/// The verdicts of the public instances, where they are at hand.
#[test]
fn public_instances_are_decided_in_both_forms() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/cnf");
    let Ok(table) = std::fs::read_to_string(folder.join("EXPECTED.tsv")) else {
        eprintln!("skipped: there is no {}", folder.display());
        return;
    };
    let mut count = 0;
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [file, variables, clauses, verdict] = cells[..] else { panic!("{line}") };
        let cnf = parse_dimacs(&std::fs::read(folder.join(file)).unwrap()).unwrap();
        assert_eq!([cnf.variables.to_string(), cnf.clauses.len().to_string()], [variables, clauses], "{file}");
        for form in [SatForm::Lattice, SatForm::Network] {
            let (answer, solved) = decided(&cnf, form, &Effort::default());
            assert_eq!(
                if answer { "SAT" } else { "UNSAT" },
                verdict,
                "{file} as {form:?}: {:?}",
                solved.decision.counts
            );
        }
        count += 1;
    }
    assert!(count > 50, "only {count} instances");
}

#[test]
fn limits_leave_the_formula_open() {
    // pigeons in one hole less
    let (pigeons, holes) = (9, 8);
    let at = |p: i32, h: i32| p * holes + h + 1;
    let mut clauses: Vec<Vec<i32>> = (0..pigeons).map(|p| (0..holes).map(|h| at(p, h)).collect()).collect();
    for h in 0..holes {
        for p in 0..pigeons {
            clauses.extend((0..p).map(|q| vec![-at(p, h), -at(q, h)]));
        }
    }
    let cnf = Cnf { variables: (pigeons * holes) as usize, clauses };
    let solved = solve(
        &cnf,
        SatForm::Lattice,
        &Effort { limits: Limits { conflicts: 50, ..Limits::default() }, ..Effort::default() },
    )
    .unwrap();
    assert!(matches!(solved.answer, Satisfiability::Unknown(_)), "{:?}", solved.answer);
    assert!(solved.decision.certificate().is_none());
}
