//! Formulas in DIMACS format that are hard, or long.

use std::fmt::Write;

/// Formulas of one kind, for each size.
#[derive(Clone, Copy, Debug)]
pub struct Formula {
    /// Its name.
    pub name: &'static str,
    /// The sizes to try, in ascending order.
    pub sizes: &'static [usize],
    /// The text of size n.
    pub make: fn(usize) -> String,
}

/// All of them.
pub const FORMULAS: &[Formula] = &[
    Formula { name: "pigeons", sizes: &[3, 8, 12, 60], make: pigeons },
    Formula { name: "parity", sizes: &[3, 20, 100, 10_000], make: parity },
    Formula { name: "three-sat", sizes: &[10, 150, 400, 10_000], make: three_sat },
    Formula { name: "long-clause", sizes: &[10, 1000, 100_000, 1_000_000], make: long_clause },
];

fn written(variables: usize, clauses: &[Vec<i64>]) -> String {
    let mut text = format!("p cnf {variables} {}\n", clauses.len());
    for clause in clauses {
        for literal in clause {
            let _ = write!(text, "{literal} ");
        }
        text.push_str("0\n");
    }
    text
}

/// n + 1 pigeons in n holes: unsatisfiable, and exponential for resolution.
fn pigeons(n: usize) -> String {
    let at = |pigeon: usize, hole: usize| (pigeon * n + hole + 1) as i64;
    let mut clauses: Vec<Vec<i64>> = (0..=n).map(|p| (0..n).map(|h| at(p, h)).collect()).collect();
    for hole in 0..n {
        for p in 0..=n {
            clauses.extend((0..p).map(|q| vec![-at(p, hole), -at(q, hole)]));
        }
    }
    written(n * (n + 1), &clauses)
}

/// A cycle of exclusive ors of odd length: unsatisfiable.
fn parity(n: usize) -> String {
    let n = n | 1;
    let next = |i: usize| (i % n + 1) as i64;
    let clauses: Vec<Vec<i64>> = (1..=n).flat_map(|i| [vec![i as i64, next(i)], vec![-(i as i64), -next(i)]]).collect();
    written(n, &clauses)
}

/// Random clauses of three literals, at the threshold of satisfiability.
fn three_sat(n: usize) -> String {
    let mut rng = crate::random::Rng::new(n as u64);
    let mut literal = || {
        let v = rng.between(1, n as i64);
        if rng.once_in(2) { v } else { -v }
    };
    let clauses: Vec<Vec<i64>> = (0..n * 426 / 100).map(|_| vec![literal(), literal(), literal()]).collect();
    written(n, &clauses)
}

/// One clause of n literals, and all but one of them forbidden.
fn long_clause(n: usize) -> String {
    let mut clauses = vec![(1..=n as i64).collect::<Vec<_>>()];
    clauses.extend((2..=n as i64).map(|v| vec![-v]));
    written(n, &clauses)
}
