//! Each erratum at many sizes and prices.

use super::hardness::{cubic_bound, doubled, example, first_matrix, pairings, refused, squares_of_inv, to_the_letter};
use super::matrices::{identities_are_in_s, order_exists};
use super::*;
use crease::Ties;
use crease::reductions::{Layer, ReluNetwork, SignMatrix, max_network, sat_network, sat_program};
use crease_core::dictionary::{Dictionary, lower};

fn ratio(n: i64, d: i64) -> Rational {
    Rational::new(n, d).unwrap()
}

#[test]
fn names_are_unique_and_texts_complete() {
    let all = errata().unwrap();
    for (i, e) in all.iter().enumerate() {
        assert!(all[..i].iter().all(|f| f.id != e.id), "{}", e.id);
        for text in [e.place, e.says, &e.computed, e.holds] {
            assert!(text.ends_with('.') && !text.contains("  "), "{}: {text}", e.id);
        }
    }
}

#[test]
fn the_page_in_the_repository_is_this_text() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ERRATA.md");
    match std::fs::read_to_string(&path) {
        Ok(page) => assert!(page == render_errata().unwrap(), "ERRATA.md is not what render_errata returns"),
        Err(_) => eprintln!("skipped: there is no ERRATA.md to compare with"),
    }
}

#[test]
fn expanding_ends_at_level_one() {
    assert_eq!(programs::p2().unwrap().level(), 2);
    for p in [programs::p2().unwrap(), sum_of_elementary().unwrap()] {
        assert_eq!(crease::inline(&p).unwrap().level(), 1);
    }
    assert_eq!((programs::p0().unwrap().level(), sum_of_elementary().unwrap().level()), (0, 1));
}

#[test]
fn p2_is_a_sum_of_cost_six() {
    let ops: Vec<Op> = programs::p2().unwrap().equations().map(|e| e.op.clone()).collect();
    assert!(ops.contains(&Op::Add) && !ops.contains(&Op::Mul));
    assert_eq!(unit(&programs::p2().unwrap()), Rational::from(6));
    assert_eq!(unit(&programs::p0().unwrap()), Rational::ONE);
}

#[test]
fn forward_mode_has_constant_3p_plus_1() {
    for p in [1, 2, 3, 10, 50] {
        assert_eq!(forward_omega(p).unwrap().unwrap(), Rational::from(3 * p as i64 + 1));
    }
}

#[test]
fn relu_alone_needs_a_price_of_one_half() {
    let omega = plain_relu().unwrap();
    assert_eq!(omega.at(&with_relu(ratio(1, 2))).unwrap(), Rational::from(5));
    assert!(omega.at(&with_relu(ratio(49, 100))).unwrap() > Rational::from(5));
    assert_eq!(omega.worst().value, None);
    let p = trace(1, |x| relu(x[0])).unwrap();
    let free = overhead(&p, &How::default(), Mode::Backward, &with_relu(Rational::ZERO)).unwrap();
    assert_eq!(free.omega, None);
}

#[test]
fn the_factor_two_is_in_three_entries_only() {
    for (table, columns) in [(table2().unwrap(), 2), (table3(N).unwrap(), 1)] {
        for (i, c) in table.columns.iter().enumerate() {
            let cell = c.cells.iter().find(|cell| cell.row == Row::PerInput).unwrap();
            let twice = Ratio { above: cell.computed.above.clone() * 2, ..cell.computed.clone() };
            let crate::tables::Figure::Exactly(printed) = &cell.figure else { panic!("{} is a bound", c.g) };
            let unit = Prices::unit();
            // at unit prices the printed cost of linf is the counted one, so only the factor is left
            let doubled = printed.at(&unit) == twice.at(&unit);
            assert_eq!(doubled, i < columns, "{}", c.g);
        }
    }
}

#[test]
fn a_max_pool_compares_and_applies_nothing_nonlinear() {
    let p = programs::max_pool(&std::array::from_fn(|i| i as f64)).unwrap();
    assert_eq!(cost(&p), Price::new(153, 0, 8));
    // the same by hand: nine products of nine numbers each, then a maximum
    let apart = crease_core::trace_shapes(&[crease_core::Shape::vector(9).unwrap()], |k| {
        let patches = k[0].tape().tensor(crease_core::Shape::new([9, 9]).unwrap(), vec![1.0; 81]);
        vec![patches.matmul(k[0]).max_all()]
    });
    assert_eq!(cost(&apart.unwrap()), Price::new(153, 0, 8));
}

#[test]
fn linf_counts_one_comparison_less_and_no_addition_less() {
    for n in 1..30 {
        let counted = cost(&programs::linf(n).unwrap());
        let size = n as i128;
        assert_eq!(counted, Price::new(size, 0, 2 * size - 1));
        // the same by hand: n absolute values, then a maximum
        let apart = crease_core::trace_shapes(&[crease_core::Shape::vector(n).unwrap()], |x| {
            vec![crease_core::abs(x[0]).max_all()]
        });
        assert_eq!(cost(&apart.unwrap()), counted);
        for (relu, equal) in [(ratio(1, 1), true), (ratio(1, 2), false), (ratio(2, 1), false)] {
            let prices = with_relu(relu);
            assert_eq!(counted.at(&prices) == printed_linf(size).at(&prices), equal);
        }
    }
}

#[test]
fn the_bound_of_linf_fails_with_the_printed_cost_only() {
    let three = Rational::from(3);
    for n in 2..30i64 {
        let printed = norm_omega(printed_linf(n.into()), n.into());
        let edge = with_relu(ratio(1, 2 * n));
        assert_eq!(printed.at(&edge).unwrap(), three);
        assert!(printed.at(&with_relu(ratio(1, 2 * n + 1))).unwrap() > three);
        let counted = norm_omega(cost(&programs::linf(n as usize).unwrap()), n.into());
        assert_eq!(counted.worst().value, Some(three.clone()));
    }
}

#[test]
fn the_bound_of_l1_fails_below_one_over_n() {
    let two = Rational::from(2);
    for n in 1..30i64 {
        let omega = norm_omega(cost(&programs::l1(n as usize).unwrap()), n.into());
        assert_eq!(omega.at(&with_relu(ratio(1, n))).unwrap(), two);
        assert!(omega.at(&with_relu(ratio(1, n + 1))).unwrap() > two);
        assert_eq!(omega.worst().value.unwrap(), ratio(4 * n - 1, 2 * n - 1));
        assert!(omega.worst().value.unwrap() <= Rational::from(3));
    }
}

#[test]
fn max_linear_costs_m_brackets_2n_minus_1() {
    for (m, n) in [(2, 1), (2, 5), (7, 3), (9, 25)] {
        let p = programs::max_m_linear(m, &vec![0.5; n]).unwrap();
        let price = Price::new((m * (2 * n - 1)) as i128, 0, m as i128 - 1);
        assert_eq!(cost(&p), price);
        assert_eq!(cost(&backprop(&p, &How::default()).unwrap()), price);
        assert_ne!(price.one, (m * 2 * n - 1) as i128);
    }
}

#[test]
fn the_median_is_not_at_half_of_an_odd_number() {
    for n in 1..12 {
        let middle = Function::from(programs::median(n).unwrap());
        let numbers: Vec<f64> = (1..=n).map(|i| i as f64).collect();
        let median = middle.value(&numbers).unwrap();
        assert_eq!(at_position(n, n / 2).unwrap() == Some(median), n % 2 == 0);
        assert_eq!(at_position(n, n.div_ceil(2)).unwrap(), Some(median));
        // counted from 0: the upper median
        let upper = at_position(n, n / 2 + 1).unwrap().unwrap();
        assert_eq!(upper, (n / 2 + 1) as f64);
    }
}

#[test]
fn the_paper_has_two_slopes_of_relu_at_zero() {
    let s = Selection::paper();
    assert_eq!((s.relu, s.times_relu), (Rational::ZERO, Rational::ONE));
    let whole = Function::from(trace(2, |x| times_relu(x[0], x[1])).unwrap());
    let strict = whole.clone().select(Selection::parse("times_relu=0").unwrap());
    assert_eq!(whole.grad(&[3.0, 0.0]).unwrap(), [0.0, 3.0]);
    assert_eq!(strict.grad(&[3.0, 0.0]).unwrap(), [0.0, 0.0]);
}

#[test]
fn theorem_3_needs_the_factor_five() {
    for k in 0..6 {
        let p = 1i64 << k;
        let five = unit(&programs::theorem3(p as usize).unwrap()) * Rational::from(5);
        assert_eq!(five, Rational::from(30 * p * p + 10 * p));
        assert!(five > Rational::from(8 * p * p) && five <= Rational::from(40 * p * p));
        assert_eq!(five == Rational::from(40 * p * p), p == 1);
    }
}

#[test]
fn three_columns_of_signs_are_not_orthogonal() {
    assert_eq!((1..=4).map(order_exists).collect::<Vec<_>>(), [true, true, false, true]);
    assert!(programs::theorem3(3).is_err());
}

#[test]
fn the_set_of_theorem_3_has_a_point() {
    use crate::theorem3::hadamard;
    for u in (1..=64).filter_map(hadamard) {
        assert!(identities_are_in_s(&u));
        // and it matters that the signs are those of the columns
        let mut wrong = u.clone();
        wrong[0][0] = 0;
        assert!(identities_are_in_s(&wrong), "a zero is its own sign");
        wrong[0][0] = 2;
        assert!(!identities_are_in_s(&wrong));
    }
}

#[test]
fn what_theorem_3_computes_from_has_more_inputs_than_its_product() {
    let at = |id: &str| errata().unwrap().into_iter().find(|e| e.id == id).unwrap().computed;
    assert!(at("gradient-inputs").contains("D_2 has 12 inputs, those of M among them, and a program of B A^T has 8"));
    assert!(at("lemma-node").contains("has 8 ReLU nodes for p = 2 and 0 absolute values"));
    assert!(at("function-domain").contains("2 + 8 = 10 inputs, and p × q would be 16"));
    assert!(at("nonempty-set").contains("in S for 6 of the 6 orders"));
    assert!(at("omega-bound").contains("log2(7) = 2.81"));
}

/// Programs over D0 without repeated arguments, which use all their inputs.
fn linear_programs() -> Vec<Program> {
    let mut all = vec![
        trace(1, |x| relu(x[0])).unwrap(),
        trace(1, |x| -x[0]).unwrap(),
        trace(2, |x| x[0] + x[1]).unwrap(),
        trace(2, |x| relu(x[0] - x[1]) + x[1]).unwrap(),
        programs::cancelling_paths().unwrap(),
    ];
    for n in 2..7 {
        // m = 3 cost(P) would need two new inputs for each operation; a sum comes closest
        all.push(trace(n, |x| x.iter().skip(1).fold(x[0], |sum, &y| sum + y)).unwrap());
        all.push(lower(&trace(n, crease_core::max).unwrap(), Dictionary::D0).unwrap());
        all.push(trace(n, |x| (1..3 * n).fold(x[0], |sum, i| relu(sum - x[i % n]) + relu(-sum))).unwrap());
    }
    all
}

fn points(n: usize) -> Vec<Vec<f64>> {
    (0..20).map(|k| (0..n).map(|i| ((7 * k + 5 * i + k * i) % 11) as f64 - 5.0).collect()).collect()
}

#[test]
fn a_network_has_one_matrix_more_than_operations() {
    for p in linear_programs() {
        let network = to_the_letter(&p).unwrap();
        let (c, m) = (p.len() as u128, (p.inputs().len() + p.len()) as u128);
        assert_eq!(unit(&p), Rational::from(p.len()));
        assert_eq!(network.layers().len() as u128, c);
        assert_eq!(network.size(), m * (p.inputs().len() as u128 + 1) + (c - 1) * (m * m + m) + m);
        assert!(m <= 3 * c && network.size() <= 15 * c.pow(3), "{p}");
        assert_eq!(cubic_bound(&p), Rational::from(18 * p.len().pow(3)));
        let f = Function::from(p);
        for x in points(network.inputs()) {
            assert_eq!(network.evaluate(&x).unwrap(), f.value(&x).unwrap());
        }
    }
    // the bound of the erratum at its worst, m = 3 c, with a first matrix as large as the others
    assert!((1..200u128).all(|c| c * (9 * c * c + 3 * c) + 3 * c <= 15 * c.pow(3)));
}

#[test]
fn a_repeated_argument_needs_a_copy() {
    assert_eq!(squares_of_inv().unwrap(), 1);
    // -x and x are distinct numbers
    assert!(to_the_letter(&trace(1, |x| -x[0] - x[0]).unwrap()).is_ok());
    let mut programs = linear_programs();
    for times in 1..12 {
        let p = doubled(times).unwrap();
        assert_eq!(refused(to_the_letter(&p)), Some(2));
        programs.push(p);
    }
    for p in programs {
        let network = ReluNetwork::from_program(&p).unwrap();
        assert!(network.layers().len() <= 2 * p.len());
        assert!(network.layers().iter().all(|l| l.width() <= p.len() + 1));
        assert!(network.size() <= 18 * (p.len() as u128).pow(3), "{p}");
        let f = Function::from(p);
        for x in points(network.inputs()) {
            assert_eq!(network.evaluate(&x).unwrap(), f.value(&x).unwrap());
        }
    }
}

#[test]
fn a_literal_and_its_negation_make_a_two() {
    assert_eq!(refused(first_matrix([2, -2, 6, 6])), Some(2));
    assert_eq!(refused(first_matrix([6, 6, -2, 2])), Some(-2));
    let literals = [-3, -2, -1, 1, 2, 3];
    let clauses = literals.iter().flat_map(|&a| literals.iter().flat_map(move |&b| literals.map(|c| [a, b, c])));
    for clause in clauses {
        let always = clause.iter().any(|l| clause.contains(&-l));
        let meet = |w: [i32; 4]| w[0] == -w[1] || w[2] == -w[3];
        for way in pairings(clause) {
            assert_eq!(first_matrix(way).is_err(), meet(way), "{way:?}");
        }
        // some way is bad if the clause is always true, and none if it is not; some way is always good
        assert_eq!(pairings(clause).any(meet), always, "{clause:?}");
        assert!(pairings(clause).any(|way| !meet(way)), "{clause:?}");
    }
}

#[test]
fn literals_may_have_a_layer_of_their_own() {
    let maximum = max_network(2).unwrap();
    let literals = SignMatrix::new(6, [vec![(1, 1)], vec![(1, -1)], vec![(5, 1)], vec![(5, 1)]]).unwrap();
    let mut layers = vec![Layer::new(literals, vec![false; 4]).unwrap()];
    layers.extend(maximum.layers().to_vec());
    let network = ReluNetwork::new(layers, maximum.last().clone()).unwrap();
    assert_eq!(network.relu_layers(), 2);
    let (whole, program) = (sat_network(&example()).unwrap(), Function::from(sat_program(&example()).unwrap()));
    for x in points(6) {
        assert_eq!(network.evaluate(&x).unwrap(), x[1].abs().max(x[5]));
        assert_eq!(whole.evaluate(&x).unwrap(), program.value(&x).unwrap());
    }
}

#[test]
fn the_largest_layer_of_a_maximum_is_the_first() {
    for k in 1..8 {
        let sizes = layers(k).unwrap();
        assert_eq!(sizes, (0..k).rev().map(|j| 3 << j).collect::<Vec<usize>>());
    }
}

#[test]
fn a_longer_path_may_cancel() {
    let f = Function::from(programs::cancelling_paths().unwrap());
    for (slope, expected) in [("0", 0.0), ("1/4", 0.1875), ("1/2", 0.25), ("1", 0.0)] {
        let f = f.clone().select(Selection::parse(&format!("relu={slope}")).unwrap());
        assert_eq!(f.grad(&[0.0]).unwrap(), [expected]);
    }
    let told = path_element().unwrap().computed;
    assert!(told.contains("s = t = 1, evaluates to 0;") && told.ends_with("t = 0, to 1."), "{told}");
    assert_eq!(Selection::paper().max, Ties::First);
}

#[test]
fn elu_and_max_pool_have_room() {
    let loose = loose().unwrap();
    let told: Vec<(&str, &str, &str)> = loose.iter().map(|(g, p, b)| (*g, p.as_str(), b.as_str())).collect();
    assert_eq!(told, [("ELU", "<= 2", "5/3"), ("3x3 max-pool", "<= 1.12", "19/17")]);
}
