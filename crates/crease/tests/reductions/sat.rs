//! Satisfiability as differentiability: both forms against all assignments of small formulas.

use crate::support::{assignments, below, formula, integers, satisfiable, signs, value, within};
use crease::dictionary::{Dictionary, lower, outside};
use crease::formats::{Cnf, parse, parse_dimacs};
use crease::local::localize;
use crease::oracles::directional;
use crease::reductions::{
    ReductionError, ReluNetwork, SignMatrix, model_from_direction, origin, sat_bounds, sat_network, sat_program,
};
use crease::{Program, Rational};
use crease_core::random::SplitMix64;

fn read(text: &str) -> Cnf {
    parse_dimacs(text.as_bytes()).unwrap()
}

fn widths(network: &ReluNetwork) -> Vec<usize> {
    network.layers().iter().map(|l| l.width()).collect()
}

/// Some formulas of every kind: with unit, binary, long, tautological and empty clauses, and without any.
pub fn formulas() -> Vec<Cnf> {
    let mut random = SplitMix64::new(1);
    let mut all = vec![
        read("p cnf 0 0\n"),
        read("p cnf 3 0\n"),
        read("p cnf 0 1\n0\n"),
        read("p cnf 0 3\n0 0 0\n"),
        read("p cnf 1 1\n1 0\n"),
        read("p cnf 1 1\n1 -1 0\n"),
        read("p cnf 1 2\n1 0 -1 0\n"),
        read("p cnf 2 3\n1 2 0\n0\n-1 0\n"),
        read("p cnf 2 2\n2 -2 2 -2 2 0\n-1 -1 -1 0\n"),
        read("p cnf 6 1\n1 2 3 4 5 6 1 2 3 4 5 6 -1 -2 -3 -4 -5 0\n"),
    ];
    for i in 0..450 {
        let variables = below(&mut random, 7);
        let clauses = below(&mut random, 14);
        all.push(match i % 3 {
            0 => formula(&mut random, variables, clauses, |_| 3),
            1 => formula(&mut random, variables, clauses, |r| 1 + below(r, 3)),
            _ => {
                // empty clauses now and then: one of them decides the formula
                formula(&mut random, variables, clauses, |r| if below(r, 20) == 0 { 0 } else { 1 + below(r, 7) })
            }
        });
    }
    all
}

#[test]
fn both_forms_are_positive_where_the_formula_is_true() {
    let (mut yes, mut no, mut models) = (0, 0, 0);
    for cnf in formulas() {
        let (lattice, network) = (sat_program(&cnf).unwrap(), sat_network(&cnf).unwrap());
        let program = network.program().unwrap();
        for model in assignments(cnf.variables) {
            let at = signs(&model);
            // 1 where the formula is true, else 0
            let holds = Rational::from(usize::from(cnf.satisfied_by(&model).is_ok()));
            assert_eq!(value(&lattice, &at), holds, "{cnf}{model:?}");
            assert_eq!(network.evaluate(&at).unwrap(), holds, "{cnf}{model:?}");
            assert_eq!(value(&program, &at), holds, "{cnf}{model:?}");
            models += holds.is_one() as usize;
        }
        match satisfiable(&cnf) {
            true => yes += 1,
            false => no += 1,
        }
    }
    assert!(yes > 150 && no > 100 && models > 2000, "{yes} satisfiable, {no} not, {models} models");
}

#[test]
fn the_two_forms_differ_by_the_padding_only() {
    let mut random = SplitMix64::new(2);
    let mut padded = 0;
    for cnf in formulas() {
        let (lattice, network) = (sat_program(&cnf).unwrap(), sat_network(&cnf).unwrap());
        let program = network.program().unwrap();
        let adds = cnf.clauses.len() != sat_bounds(&cnf).clauses;
        padded += usize::from(adds);
        for _ in 0..4 {
            let at: Vec<i64> = (0..cnf.variables.max(1)).map(|_| within(&mut random, 4)).collect();
            let at = integers(&at);
            let mut want = value(&lattice, &at);
            if adds {
                want = want.min(at[0].abs());
            }
            assert_eq!(network.evaluate(&at).unwrap(), want, "{cnf}{at:?}");
            assert_eq!(value(&program, &at), want, "{cnf}{at:?}");
        }
    }
    assert!(padded > 200, "{padded}");
}

#[test]
fn at_zero_there_is_a_derivative_other_than_zero_if_and_only_if_there_is_a_model() {
    for cnf in formulas().into_iter().filter(|c| c.variables <= 4).step_by(2) {
        for p in [sat_program(&cnf).unwrap(), sat_network(&cnf).unwrap().program().unwrap()] {
            let local = localize(&p, &origin(&p)).unwrap();
            assert!(local.is_exact() && local.values()[0].data()[0].exact() == Some(&Rational::ZERO));
            let grows = |model: Vec<bool>| {
                let direction = signs(&model);
                let derivative = directional(&local, &direction).unwrap().swap_remove(0);
                assert_eq!(derivative, value(&p, &direction), "F is positively homogeneous");
                derivative.is_positive() && cnf.satisfied_by(&model_from_direction(&cnf, &direction)).is_ok()
            };
            assert_eq!(assignments(cnf.variables).any(grows), satisfiable(&cnf), "{cnf}");
        }
    }
}

#[test]
fn directions_of_growth_are_models() {
    let mut random = SplitMix64::new(3);
    let (mut decoded, mut with_zero) = (0, 0);
    for cnf in formulas() {
        let network = sat_network(&cnf).unwrap();
        for _ in 0..10 {
            let denominator = 1 + below(&mut random, 5) as i64;
            let direction: Vec<Rational> = (0..cnf.variables.max(1))
                .map(|_| Rational::new(within(&mut random, 3), denominator).unwrap())
                .collect();
            let model = model_from_direction(&cnf, &direction);
            assert_eq!(model.len(), cnf.variables);
            if network.evaluate(&direction).unwrap().is_positive() {
                assert_eq!(cnf.satisfied_by(&model), Ok(()), "{cnf}{direction:?}");
                decoded += 1;
                with_zero += usize::from(direction.iter().any(Rational::is_zero));
            }
        }
    }
    assert!(decoded > 500 && with_zero > 50, "{decoded} models, {with_zero} of them from directions with zeros");
    // a direction that is too short leaves the rest false
    assert_eq!(model_from_direction(&read("p cnf 2 0\n"), &[Rational::ONE]), [true, false]);
}

#[test]
fn the_network_is_as_small_as_the_proof_says() {
    let mut random = SplitMix64::new(5);
    for n in (1..40).chain([63, 64, 65, 129]) {
        let cnf = formula(&mut random, 9, n, |_| 3);
        let network = sat_network(&cnf).unwrap();
        let padded = n.next_power_of_two();
        let bounds = sat_bounds(&cnf);
        assert_eq!((bounds.clauses, bounds.width), (padded, 6 * padded));
        assert_eq!(bounds.relu_layers, padded.ilog2() + 3);
        assert_eq!(network.relu_layers(), network.layers().len(), "every layer applies ReLU");
        assert_eq!(network.relu_layers() as u32, padded.ilog2() + 3);
        assert!(widths(&network).iter().all(|&w| w <= 6 * padded), "{:?}", widths(&network));
        let matrices = network.layers().iter().map(|l| l.matrix()).chain([network.last()]);
        for m in matrices {
            assert!(
                (0..m.rows())
                    .flat_map(|i| m.row(i))
                    .all(|(column, entry)| { column < m.columns() && (entry == 1 || entry == -1) })
            );
        }
        assert!(outside(&network.program().unwrap(), Dictionary::D0).is_empty());
    }
    // without contradictions inside clauses and without padding, the sizes of the proof are attained
    let clause = |i: i32| vec![1 + i % 3, -(4 + i % 4), 8 + i % 2];
    for k in 0..7 {
        let n = 1usize << k;
        let cnf = Cnf { variables: 9, clauses: (0..n as i32).map(clause).collect() };
        let mut want = vec![6 * n, 3 * n, n];
        want.extend((0..k).map(|j| 3 << (k - 1 - j)));
        assert_eq!(widths(&sat_network(&cnf).unwrap()), want);
    }
}

#[test]
fn longer_clauses_take_more_layers() {
    let mut random = SplitMix64::new(6);
    for longest in [1, 2, 3, 4, 5, 8, 9, 16, 17, 40] {
        for n in [1, 2, 3, 8, 13] {
            let mut cnf = formula(&mut random, 50, n - 1, |r| 1 + below(r, longest));
            cnf.clauses.push((1..=longest as i32).collect());
            let (bounds, network) = (sat_bounds(&cnf), sat_network(&cnf).unwrap());
            // padding has two literals
            let longest = if n.is_power_of_two() { longest } else { longest.max(2) };
            assert_eq!(bounds.depth, longest.next_power_of_two().ilog2());
            assert_eq!(bounds.relu_layers, bounds.clauses.ilog2() + bounds.depth + 1);
            assert_eq!(network.relu_layers(), network.layers().len());
            assert_eq!(network.relu_layers() as u32, bounds.relu_layers);
            assert!(widths(&network).iter().all(|&w| w <= bounds.width), "{:?} {bounds:?}", widths(&network));
        }
    }
}

/// The formula of the example in the proof, with the clause that pads it.
const EXAMPLE: &str = "p cnf 6 4\n1 2 -3 0\n1 4 -5 0\n-2 -3 6 0\n2 -2 6 0\n";

#[test]
fn the_example_of_the_paper() {
    let cnf = read(EXAMPLE);
    let program = sat_program(&cnf).unwrap();
    let written = "program F(x1, x2, x3, x4, x5, x6) = min(relu(max(x1, x2, -x3)), relu(max(x1, x4, -x5)), \
                   relu(max(-x2, -x3, x6)), relu(max(x2, -x2, x6)))";
    let written = parse(written).unwrap().main().clone();
    let network = sat_network(&cnf).unwrap();
    let mut random = SplitMix64::new(7);
    for _ in 0..500 {
        let at = integers(&std::array::from_fn::<i64, 6, _>(|_| within(&mut random, 5)));
        let want = value(&written, &at);
        assert_eq!(value(&program, &at), want);
        assert_eq!(network.evaluate(&at).unwrap(), want);
    }
    // log2(4) + 3 layers of at most 6 * 4; one row fewer where x2 meets -x2
    assert_eq!(widths(&network), [23, 12, 4, 6, 3]);
    // the first formula of the section has three clauses, and is padded
    let three = read("p cnf 6 3\n1 2 -3 0\n1 4 -5 0\n-2 -3 6 0\n");
    assert_eq!(sat_bounds(&three).clauses, 4);
    assert_eq!(sat_network(&three).unwrap().relu_layers(), 5);
}

#[test]
fn the_rows_of_the_lemma_are_not_enough_where_a_literal_meets_its_negation() {
    // A (x2, -x2) of the paper's example has the row x2 - (-x2)
    let row = SignMatrix::new(6, [vec![(1, 1), (1, 1)]]);
    assert_eq!(row, Err(ReductionError::Entry { row: 0, column: 1, entry: 2 }));
    for text in ["p cnf 2 1\n2 -2 0\n", "p cnf 2 1\n-2 2 1 1 0\n"] {
        let network = sat_network(&read(text)).unwrap();
        for x in -3..=3 {
            let at = integers(&[-4, x]);
            assert_eq!(network.evaluate(&at).unwrap(), Rational::from(x.abs()), "{text}{x}");
        }
    }
}

#[test]
fn what_is_printed_parses_back() {
    for cnf in formulas().into_iter().step_by(7).chain([read(EXAMPLE)]) {
        for p in [sat_program(&cnf).unwrap(), sat_network(&cnf).unwrap().program().unwrap()] {
            let text = p.to_string();
            assert_eq!(**parse(&text).unwrap().main(), p, "{text}");
        }
    }
}

#[test]
fn the_lattice_form_is_a_network_too() {
    let mut random = SplitMix64::new(8);
    for cnf in formulas().into_iter().step_by(9) {
        let lattice = sat_program(&cnf).unwrap();
        let network = ReluNetwork::from_program(&lattice).unwrap();
        for _ in 0..5 {
            let at: Vec<i64> = (0..cnf.variables.max(1)).map(|_| within(&mut random, 4)).collect();
            let at = integers(&at);
            assert_eq!(network.evaluate(&at).unwrap(), value(&lattice, &at), "{cnf}");
        }
    }
}

#[test]
fn the_lattice_form_lowers_to_d0_with_empty_clauses_too() {
    let mut random = SplitMix64::new(10);
    let mut empty = 0;
    for cnf in formulas() {
        let lattice = sat_program(&cnf).unwrap();
        let lowered = lower(&lattice, Dictionary::D0).unwrap_or_else(|e| panic!("{e}\n{cnf}"));
        assert!(outside(&lowered, Dictionary::D0).is_empty(), "{cnf}");
        empty += usize::from(cnf.clauses.iter().any(Vec::is_empty));
        for _ in 0..3 {
            let at: Vec<i64> = (0..cnf.variables.max(1)).map(|_| within(&mut random, 3)).collect();
            let at = integers(&at);
            assert_eq!(value(&lowered, &at), value(&lattice, &at), "{cnf}");
        }
    }
    assert!(empty > 20, "{empty}");
}

#[test]
fn what_is_no_formula_is_refused() {
    let strange = [vec![vec![1], vec![3]], vec![vec![0]], vec![vec![i32::MIN]]];
    for clauses in strange {
        let cnf = Cnf { variables: 2, clauses };
        assert!(matches!(sat_program(&cnf), Err(ReductionError::Literal(_))));
        assert!(matches!(sat_network(&cnf), Err(ReductionError::Literal(_))));
    }
    let huge = Cnf { variables: 2_000_000_000, clauses: vec![vec![1]] };
    assert_eq!(sat_network(&huge), Err(ReductionError::TooManyVariables { variables: 2_000_000_000 }));
    assert_eq!(
        sat_program(&huge).unwrap_err().to_string(),
        "the formula has 2000000000 variables; a program of it may have at most 1048576"
    );
}

#[test]
fn large_formulas_stay_sparse() {
    // as large as the hardest of the uniform formulas: 150 variables, 645 clauses, 1,024 after padding
    let cnf = formula(&mut SplitMix64::new(9), 150, 645, |_| 3);
    let network = sat_network(&cnf).unwrap();
    assert_eq!(network.relu_layers(), 13);
    // the free parameters that the paper counts would fill a dense matrix of many millions
    assert!(network.size() > 16_000_000 && network.entries() < 30_000, "{} {}", network.size(), network.entries());
    let count = |p: &Program| (p.inputs().len(), localize(p, &origin(p)).unwrap().kinks().len());
    let (lattice, naive) = (sat_program(&cnf).unwrap(), network.program().unwrap());
    assert!(lattice.len() < 1500 && naive.len() < 30_000, "{} {}", lattice.len(), naive.len());
    let (inputs, kinks) = count(&naive);
    assert!(inputs == 150 && kinks <= network.relus(), "{kinks} of {}", network.relus());
    assert_eq!(count(&lattice).0, 150);
}
