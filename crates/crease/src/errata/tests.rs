//! Each erratum at many sizes and prices.

use super::*;
use crate::Ties;

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
    assert_eq!(paper::p2().unwrap().level(), 2);
    for p in [paper::p2().unwrap(), sum_of_elementary().unwrap()] {
        assert_eq!(crate::inline(&p).unwrap().level(), 1);
    }
    assert_eq!((paper::p0().unwrap().level(), sum_of_elementary().unwrap().level()), (0, 1));
}

#[test]
fn p2_is_a_sum_of_cost_six() {
    let ops: Vec<Op> = paper::p2().unwrap().equations().map(|e| e.op.clone()).collect();
    assert!(ops.contains(&Op::Add) && !ops.contains(&Op::Mul));
    assert_eq!(unit(&paper::p2().unwrap()), Rational::from(6));
    assert_eq!(unit(&paper::p0().unwrap()), Rational::ONE);
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
            let twice = Ratio { above: cell.computed.above * 2, ..cell.computed };
            let crate::tables::Figure::Exactly(printed) = cell.figure else { panic!("{} is a bound", c.g) };
            let unit = Prices::unit();
            // at unit prices the printed cost of linf is the counted one, so only the factor is left
            let doubled = printed.at(&unit) == twice.at(&unit);
            assert_eq!(doubled, i < columns, "{}", c.g);
        }
    }
}

#[test]
fn a_max_pool_compares_and_applies_nothing_nonlinear() {
    let p = paper::max_pool(&std::array::from_fn(|i| i as f64)).unwrap();
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
        let counted = cost(&paper::linf(n).unwrap());
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
        let counted = norm_omega(cost(&paper::linf(n as usize).unwrap()), n.into());
        assert_eq!(counted.worst().value, Some(three.clone()));
    }
}

#[test]
fn the_bound_of_l1_fails_below_one_over_n() {
    let two = Rational::from(2);
    for n in 1..30i64 {
        let omega = norm_omega(cost(&paper::l1(n as usize).unwrap()), n.into());
        assert_eq!(omega.at(&with_relu(ratio(1, n))).unwrap(), two);
        assert!(omega.at(&with_relu(ratio(1, n + 1))).unwrap() > two);
        assert_eq!(omega.worst().value.unwrap(), ratio(4 * n - 1, 2 * n - 1));
        assert!(omega.worst().value.unwrap() <= Rational::from(3));
    }
}

#[test]
fn max_linear_costs_m_brackets_2n_minus_1() {
    for (m, n) in [(2, 1), (2, 5), (7, 3), (9, 25)] {
        let p = paper::max_m_linear(m, &vec![0.5; n]).unwrap();
        let price = Price::new((m * (2 * n - 1)) as i128, 0, m as i128 - 1);
        assert_eq!(cost(&p), price);
        assert_eq!(cost(&backprop(&p, &How::default()).unwrap()), price);
        assert_ne!(price.one, (m * 2 * n - 1) as i128);
    }
}

#[test]
fn the_median_is_not_at_half_of_an_odd_number() {
    for n in 1..12 {
        let middle = Function::from(paper::median(n).unwrap());
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
        let five = unit(&paper::theorem3(p as usize).unwrap()) * Rational::from(5);
        assert_eq!(five, Rational::from(30 * p * p + 10 * p));
        assert!(five > Rational::from(8 * p * p) && five <= Rational::from(40 * p * p));
        assert_eq!(five == Rational::from(40 * p * p), p == 1);
    }
}

#[test]
fn three_columns_of_signs_are_not_orthogonal() {
    assert_eq!((1..=4).map(order_exists).collect::<Vec<_>>(), [true, true, false, true]);
    assert!(paper::theorem3(3).is_err());
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
    let f = Function::from(paper::cancelling_paths().unwrap());
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
