use super::*;
use crate::errata::errata;
use crease::cost::Item;
use crease::differentiate::overhead;
use crease::{Mode, Selection};

fn all() -> [Table; 3] {
    [table1().unwrap(), table2().unwrap(), table3(10).unwrap()]
}

#[test]
fn the_operations_of_a_column_cost_the_same() {
    for c in all().iter().flat_map(|t| &t.columns) {
        let first = figures(&c.programs[0]).unwrap();
        assert!(c.programs.iter().all(|p| figures(p).unwrap() == first), "{}", c.g);
    }
}

/// The price list of the core and the counted joint program are two sources of cost(gd); Theorem 2 uses the first.
#[test]
fn the_joint_program_costs_what_the_price_list_says() {
    for p in all().iter().flat_map(|t| &t.columns).flat_map(|c| &c.programs) {
        let items: Vec<Item> = tally(p).iter().map(|(item, _)| item).collect();
        let [item] = items[..] else { panic!("{p} is more than one operation") };
        let (g, pr, gd) = figures(p).unwrap();
        assert_eq!(item.price(), g);
        assert_eq!(item.joint_price(Mode::Backward, &Selection::paper()), gd, "{p}");
        let model = overhead(p, &How::default(), Mode::Backward, &Prices::unit()).unwrap().model;
        assert_eq!(model, gd + ONE * pr * 2, "{p}");
    }
}

#[test]
fn the_verdicts_are_these() {
    let mut differs: Vec<String> = Vec::new();
    for t in all() {
        for c in &t.columns {
            for cell in &c.cells {
                if let Verdict::Differs(id) = cell.verdict {
                    assert!(errata().unwrap().iter().any(|e| e.id == id), "{id} is no erratum");
                    differs.push(format!("{} {} {}: {id}", t.number, c.g, cell.row));
                }
            }
        }
    }
    assert_eq!(
        differs,
        [
            "2 +, * cost(x)|pr|/cost(g): table-2-factor",
            "2 +c, *c cost(x)|pr|/cost(g): table-2-factor",
            "3 +, * cost(x)|pr|/cost(g): table-2-factor",
            "3 linf cost(g): linf-cost",
            "3 linf cost(gd): linf-cost",
            "3 linf cost(x)|pr|/cost(g): linf-cost",
            "3 l1 omega: l1-bound",
        ]
    );
}

#[test]
fn omega_is_the_sum_of_the_rows_above() {
    for c in [table2().unwrap(), table3(7).unwrap()].iter().flat_map(|t| &t.columns) {
        let at = |row: usize, prices: &Prices| c.cells[row].computed.at(prices).unwrap();
        for (nonlin, relu) in [(1, 1), (2, 3), (5, 0)] {
            let prices = Prices { nonlin: Rational::from(nonlin), relu: Rational::from(relu) };
            assert_eq!(at(5, &prices), at(3, &prices) + Rational::from(2) * at(4, &prices), "{}", c.g);
        }
    }
}

#[test]
fn a_table_prints() {
    let text = table2().unwrap().to_string();
    assert!(text.contains("inv     omega                (4 + c_nonlin) / c_nonlin, <= 5 at c_nonlin = 1"), "{text}");
}
