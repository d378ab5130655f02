//! Formulas decided by asking whether their programs are differentiable, beside the SAT solver alone on the formula, in one run.
//!
//! `cargo bench -p crease --bench sat [-- FOLDER]` prints milliseconds, the best of some runs, for random 3-SAT at the threshold, and for all
//! `.cnf` files below the folder. *plain* is the solver on the clauses; *lattice* and *network* are everything from the formula to the
//! checked model or the recorded proof: program, local model, rewriting, search. *check* is what the independent checker takes for the
//! certificate of the network. Verdicts must agree; nothing is asserted about time.

use batsat::{BasicSolver, Lit, SolverInterface, lbool};
use crease::check::check;
use crease::formats::{Cnf, parse_dimacs};
use crease::oracles::Effort;
use crease::reductions::{SatForm, Satisfiability, solve};
use crease_core::random::SplitMix64;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn main() {
    let mut cases: Vec<(String, Cnf)> = Vec::new();
    for variables in [50, 75, 100, 125, 150] {
        for seed in 0..4 {
            cases.push((format!("random-{variables}-{seed}"), random(variables, seed)));
        }
    }
    let folder = std::env::args().skip(1).find(|a| !a.starts_with("--")).map(PathBuf::from);
    let mut files = folder.map(|f| below(&f)).unwrap_or_default();
    files.sort();
    for file in files {
        match std::fs::read(&file).map(|bytes| parse_dimacs(&bytes)) {
            Ok(Ok(cnf)) => cases.push((file.file_stem().unwrap_or_default().to_string_lossy().into(), cnf)),
            _ => eprintln!("{} cannot be read", file.display()),
        }
    }
    println!(
        "{:<36} {:>6} {:>9} {:>9} {:>9} {:>9}  verdict  conflicts",
        "ms", "vars", "plain", "lattice", "network", "check"
    );
    for (name, cnf) in cases {
        let (alone, plain_time) = best(|| plain(&cnf));
        let mut row = format!("{name:<36} {:>6} {:>9.2}", cnf.variables, ms(plain_time));
        let mut conflicts = Vec::new();
        let mut certificate = None;
        for form in [SatForm::Lattice, SatForm::Network] {
            let (solved, time) = best(|| solve(&cnf, form, &Effort::default()).expect("formulas are programs"));
            let answer = match &solved.answer {
                Satisfiability::Satisfiable(_) => true,
                Satisfiability::Unsatisfiable => false,
                Satisfiability::Unknown(limit) => panic!("{name}: {limit}"),
            };
            assert_eq!(answer, alone, "{name} as {form:?}");
            row.push_str(&format!(" {:>9.2}", ms(time)));
            conflicts.push(solved.decision.counts.conflicts.to_string());
            certificate = solved.decision.certificate();
        }
        let certificate = certificate.expect("a verdict has a certificate");
        let start = Instant::now();
        let checked = match certificate.len() {
            0..200_000_000 => check(certificate.as_bytes()).map(|_| ms(start.elapsed())).map_err(|e| e.to_string()),
            _ => Err("too long".into()),
        };
        let checked = checked.map_or_else(|e| e, |t| format!("{t:.2}"));
        let verdict = if alone { "sat" } else { "unsat" };
        println!("{row} {checked:>9}  {verdict:<7}  {}", conflicts.join(", "));
    }
}

fn ms(t: Duration) -> f64 {
    t.as_secs_f64() * 1e3
}

/// The best of up to five runs, fewer if they are long.
fn best<T>(mut run: impl FnMut() -> T) -> (T, Duration) {
    let start = Instant::now();
    let mut least = Duration::MAX;
    loop {
        let begin = Instant::now();
        let result = run();
        least = least.min(begin.elapsed());
        if start.elapsed() > 4 * least || start.elapsed() > Duration::from_secs(1) {
            return (result, least);
        }
    }
}

/// The SAT solver alone.
fn plain(cnf: &Cnf) -> bool {
    let mut solver = BasicSolver::default();
    let variables: Vec<_> = (0..cnf.variables).map(|_| solver.new_var_default()).collect();
    let mut consistent = true;
    for clause in &cnf.clauses {
        let mut clause: Vec<Lit> =
            clause.iter().map(|&l| Lit::new(variables[l.unsigned_abs() as usize - 1], l > 0)).collect();
        consistent &= solver.add_clause_reuse(&mut clause);
    }
    consistent && solver.solve_limited(&[]) == lbool::TRUE
}

/// Random 3-SAT with 4.26 clauses for each variable, where about half are satisfiable.
fn random(variables: usize, seed: u64) -> Cnf {
    let mut random = SplitMix64::new(seed + 1000 * variables as u64);
    let mut clause = || {
        let mut literals: Vec<i32> = Vec::new();
        while literals.len() < 3 {
            let variable = 1 + random.below(variables as u64) as i32;
            if literals.iter().all(|l| l.abs() != variable) {
                literals.push(if random.below(2) == 0 { variable } else { -variable });
            }
        }
        literals
    };
    Cnf { variables, clauses: (0..variables * 426 / 100).map(|_| clause()).collect() }
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut out = Vec::new();
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() {
            out.extend(below(&path));
        } else if path.extension().is_some_and(|e| e == "cnf") {
            out.push(path);
        }
    }
    out
}
