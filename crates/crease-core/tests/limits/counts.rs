//! Counts and prices beyond all machine numbers.

use super::composed;
use crease_core::cost::{Count, Price, Prices, Ratio, cost, tally};
use crease_core::differentiate::overhead;
use crease_core::differentiate::{How, Mode, Technique, backprop, counted};

fn power_of_two(n: usize) -> Count {
    (0..n).fold(Count::from(1), |n, _| &n + &n)
}

#[test]
fn a_composition_doubles_its_cost_with_every_level_whatever_the_level() {
    for n in [1, 10, 62, 63, 64, 126, 127, 128, 129, 1000] {
        let p = composed(n);
        let price = cost(&p);
        // one relu and one addition of a constant, 2^n times each
        assert_eq!((&price.one, &price.relu), (&power_of_two(n), &power_of_two(n)), "{n}");
        assert_eq!(tally(&p).total(), power_of_two(n + 1));
        assert_eq!(price.at(&Prices::unit()), power_of_two(n + 1).to_rational());
    }
}

/// g_n' = g_(n-1)'(y) g_(n-1)'(x): two calls of the joint program below and one multiplication.
#[test]
fn the_backprop_of_a_composition_is_counted_exactly_too() {
    let how = How::default().technique(Technique::Backward);
    for n in [1, 5, 126, 127, 128, 400] {
        let p = composed(n);
        let derived = cost(&backprop(&p, &how).unwrap());
        assert_eq!(derived, counted(&p, &how, Mode::Backward).unwrap().price());
        // joint relu and addition for each of 2^n, and 2^n - 1 multiplications
        let expected = Price { one: power_of_two(n + 1) - 1, relu: power_of_two(n), ..Price::default() };
        assert_eq!(derived, expected, "{n}");
        let model = overhead(&p, &how, Mode::Backward, &Prices::unit()).unwrap();
        let ratio = Ratio { above: model.model, below: cost(&p) }.at(&Prices::unit()).unwrap();
        assert!(derived.unit().to_rational() <= model.omega.clone().unwrap() * cost(&p).unit().to_rational());
        assert!(ratio <= model.omega.unwrap(), "{n}");
    }
}

#[test]
fn large_prices_print_all_their_digits() {
    let price = Price { one: power_of_two(130), nonlin: Count::ZERO - power_of_two(128), relu: Count::from(1) };
    assert_eq!(
        price.to_string(),
        "1361129467683753853853498429727072845824 - 340282366920938463463374607431768211456 c_nonlin + c_relu"
    );
    assert_eq!((price.clone() + price.clone()).one, power_of_two(131));
    assert_eq!((price * power_of_two(100)).one, power_of_two(230));
}

#[test]
fn counts_convert_where_they_fit() {
    let large = power_of_two(64);
    assert_eq!((large.to_u64(), large.to_u128()), (None, Some(1 << 64)));
    assert_eq!((Count::from(-1).to_u64(), Count::from(-1).abs().to_u64()), (None, Some(1)));
    assert_eq!(power_of_two(2000).to_f64(), f64::INFINITY);
    assert_eq!(Count::new(i128::MIN).to_string(), i128::MIN.to_string());
}
