//! Enclosures of any precision: they hold the number, more bits lie inside fewer, and extreme arguments neither hang nor escape.

use crease_core::number::{Enclosure, NumberError, Rational};
use proptest::prelude::*;

fn power(base: i64, exponent: i32) -> Rational {
    Rational::from(base).pow(exponent).unwrap()
}

/// Numbers of every magnitude, near 0, near 1, and far away.
fn number() -> impl Strategy<Value = Rational> {
    let short = (-1000i64..1000, 1i64..1000).prop_map(|(n, d)| Rational::new(n, d).unwrap());
    let scaled = (-99i64..99, -4000i32..60).prop_map(|(n, e)| Rational::from(n) * power(2, e));
    let near_one = (-99i64..99, -3000i32..0).prop_map(|(n, e)| Rational::ONE + Rational::from(n) * power(2, e));
    let far = (-99i64..99, 60i32..3000).prop_map(|(n, e)| Rational::from(n) * power(2, e));
    prop_oneof![4 => short, 3 => scaled, 2 => near_one, 1 => far]
}

type Function = fn(&Enclosure) -> Result<Enclosure, NumberError>;

const FUNCTIONS: [(&str, Function); 9] = [
    ("exp", |e| Ok(e.exp())),
    ("log", |e| e.log()),
    ("sqrt", |e| e.sqrt()),
    ("sin", |e| Ok(e.sin())),
    ("cos", |e| Ok(e.cos())),
    ("tanh", |e| Ok(e.tanh())),
    ("sigmoid", |e| Ok(e.sigmoid())),
    ("inv", |e| e.inv()),
    ("power", |e| e.powi(-3)),
];

/// Whether one enclosure may hold the same number as another: they overlap.
fn overlap(a: &Enclosure, b: &Enclosure) -> bool {
    a.compare(b).is_none_or(|order| order.is_eq())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn more_bits_lie_inside_fewer(x in number()) {
        for (name, f) in FUNCTIONS {
            let tight = f(&Enclosure::of(&x, 900));
            for bits in [8, 53, 64, 128, 300] {
                match (f(&Enclosure::of(&x, bits)), &tight) {
                    (Ok(wide), Ok(tight)) => prop_assert!(overlap(&wide, tight), "{name} of {x} with {bits} bits: {wide} and {tight}"),
                    // what cannot be told with few bits can be told with more
                    (Err(NumberError::Undecided), _) => {}
                    (wide, tight) => prop_assert_eq!(wide.err(), tight.as_ref().err().cloned(), "{} of {}", name, x),
                }
            }
        }
    }

    #[test]
    fn images_of_wide_enclosures_hold_images_of_members(a in number(), b in number(), bits in 4u32..80) {
        let wide = Enclosure::of(&a, bits).hull(&Enclosure::of(&b, bits));
        let middle = (&a + &b).checked_div(&Rational::from(2)).unwrap();
        for (name, f) in FUNCTIONS {
            let Ok(image) = f(&wide) else { continue };
            for x in [&a, &b, &middle] {
                let Ok(point) = f(&Enclosure::of(x, 900)) else { continue };
                prop_assert!(overlap(&image, &point), "{name} of {wide}: {image}, but of {x} it is {point}");
            }
        }
    }

    #[test]
    fn arithmetic_holds_the_exact_result(a in number(), b in number(), bits in 4u32..200) {
        let (x, y) = (Enclosure::of(&a, bits), Enclosure::of(&b, bits));
        prop_assert!(x.contains(&a) && x.add(&y).contains(&(&a + &b)) && x.sub(&y).contains(&(&a - &b)));
        prop_assert!(x.mul(&y).contains(&(&a * &b)) && x.max(&y).contains(Ord::max(&a, &b)));
        prop_assert!(x.powi(5).unwrap().contains(&a.pow(5).unwrap()) && x.powi(4).unwrap().contains(&a.pow(4).unwrap()));
        match (x.div(&y), a.checked_div(&b)) {
            (Ok(q), Some(exact)) => prop_assert!(q.contains(&exact)),
            (Ok(_), None) => prop_assert!(false, "a quotient by zero"),
            (Err(_), exact) => prop_assert!(exact.is_none() || y.contains(&Rational::ZERO)),
        }
        let (low, high) = x.outer();
        prop_assert!(Rational::from_f64(low).is_none_or(|l| l <= a) && Rational::from_f64(high).is_none_or(|h| a <= h));
    }
}

/// Known values, to thirty digits.
#[test]
fn known_values() {
    let near = |e: Enclosure, digits: &str| {
        let expected: Rational = digits.parse().unwrap();
        let (low, high) = e.ends().unwrap();
        let last = power(10, -28);
        assert!(low - &last <= expected && expected <= high + &last, "{e} is not {digits}");
        assert!(e.radius().unwrap() < power(10, -30));
    };
    let of = |x: &str| Enclosure::of(&x.parse().unwrap(), 140);
    near(of("1").exp(), "2.71828182845904523536028747135");
    near(of("2").log().unwrap(), "0.693147180559945309417232121458");
    near(of("2").sqrt().unwrap(), "1.41421356237309504880168872421");
    near(of("1").sin(), "0.841470984807896506652502321630");
    near(of("1").cos(), "0.540302305868139717400936607443");
    near(of("0.5").tanh(), "0.462117157260009758502318483643");
    near(of("1").sigmoid(), "0.731058578630004879251159241822");
    near(of("1e30").sin(), "-0.0901169019121380580303864289530");
}

/// Arguments at which a series or a reduction might never end.
#[test]
fn extreme_arguments_end() {
    let tiny = power(2, -100_000);
    let huge = power(2, 100_000);
    for bits in [64, 1024, 4096] {
        for x in [&tiny, &huge, &(Rational::ONE + &tiny), &(Rational::ONE - &tiny), &power(2, 39), &power(2, 45)] {
            for x in [x.clone(), -x] {
                for (_, f) in FUNCTIONS {
                    let _ = f(&Enclosure::of(&x, bits));
                }
            }
        }
        assert!(!Enclosure::of(&huge, bits).exp().is_bounded(), "too large to be written down");
        let small = Enclosure::of(&-&huge, bits).exp();
        assert!(small.contains(&Rational::ZERO) && small.is_bounded());
        let sine = Enclosure::of(&tiny, bits).sin();
        assert!(
            sine.compare(&Enclosure::of(&Rational::ZERO, bits)).unwrap().is_gt(),
            "the sine of a small number is positive"
        );
    }
}

#[test]
fn even_powers_around_zero_reach_the_farther_end() {
    let of = |x: i64| Enclosure::of(&Rational::from(x), 64);
    for (low, high) in [(-3, 1), (-1, 3), (-3, 3)] {
        let (least, most) = of(low).hull(&of(high)).powi(4).unwrap().ends().unwrap();
        assert_eq!((least, most), (Rational::ZERO, Rational::from(81)), "from {low} to {high}");
    }
}
