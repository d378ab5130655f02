//! Smooth functions in every kind of numbers: known values, relations between them, and enclosures that hold them, also next to the places
//! where they end.

use crease_number::{Edge, Enclosure, Interval, Mixed, Number, NumberError, Rational, Smooth};
use proptest::prelude::*;

fn rational(x: f64) -> Rational {
    Rational::from_f64(x).unwrap()
}

fn parse(text: &str) -> Rational {
    text.parse().unwrap()
}

fn at(f: Smooth, x: &Rational, bits: u32) -> Result<Enclosure, NumberError> {
    Enclosure::of(x, bits).smooth(f)
}

/// Values to forty digits, from tables.
const KNOWN: &[(Smooth, &str, &str)] = &[
    (Smooth::Tan, "1", "1.5574077246549022305069748074583601730873"),
    (Smooth::Asin, "0.5", "0.5235987755982988730771072305465838140329"),
    (Smooth::Acos, "-1", "3.1415926535897932384626433832795028841972"),
    (Smooth::Atan, "1", "0.7853981633974483096156608458198757210493"),
    (Smooth::Sinh, "1", "1.1752011936438014568823818505956008151557"),
    (Smooth::Cosh, "1", "1.5430806348152437784779056207570616826015"),
    (Smooth::Asinh, "1", "0.8813735870195430252326093249797923090282"),
    (Smooth::Acosh, "2", "1.3169578969248167086250463473079684440269"),
    (Smooth::Atanh, "0.5", "0.5493061443340548456976226184612628523237"),
    (Smooth::Erf, "1", "0.8427007929497148693412206350826092592961"),
    (Smooth::Erf, "0.5", "0.5204998778130465376827466538919645287365"),
    (Smooth::Erfc, "1", "0.1572992070502851306587793649173907407039"),
    (Smooth::Erfc, "10", "2.088487583762544757000786294957788611561e-45"),
    (Smooth::ErfSlope, "0", "1.1283791670955125738961589031215451716881"),
    (Smooth::Log1p, "1", "0.6931471805599453094172321214581765680755"),
    (Smooth::Expm1, "1", "1.7182818284590452353602874713526624977572"),
    (Smooth::Root(1, 3), "2", "1.2599210498948731647672106072782283505703"),
    (Smooth::Root(-3, 2), "2", "0.3535533905932737622004221810524245196424"),
    (Smooth::Root(7, 100), "2", "1.0497166836230674"),
];

#[test]
fn values_are_those_of_the_tables() {
    for &(f, x, y) in KNOWN {
        let (x, y) = (parse(x), parse(y));
        // the table itself is rounded
        let unit = &y.abs() * &parse(if y.to_f64() == 1.0497166836230674 { "1e-15" } else { "1e-38" });
        for bits in [53, 200, 500] {
            let e = at(f, &x, bits).unwrap();
            let (low, high) = e.ends().unwrap();
            assert!(low <= &y + &unit && &y - &unit <= high, "{f:?} {x} {e}");
            assert!(
                e.radius().unwrap() <= &y.abs() * &Rational::from(2).pow(2 - bits as i32).unwrap(),
                "{f:?} {x} {bits}"
            );
        }
        let float = x.to_f64().smooth(f).unwrap();
        assert!((float - y.to_f64()).abs() <= 4.0 * f64::EPSILON * float.abs(), "{f:?} {x}: {float}, not {y}");
        if float.abs() < 1e-30 {
            continue;
        }
        let single = (x.to_f64() as f32).smooth(f).unwrap();
        assert!(
            (f64::from(single) - y.to_f64()).abs() <= 4.0 * f64::from(f32::EPSILON) * y.to_f64().abs(),
            "{f:?} {x}"
        );
    }
}

const NEW: &[Smooth] = &[
    Smooth::Tan,
    Smooth::Asin,
    Smooth::Acos,
    Smooth::Atan,
    Smooth::Sinh,
    Smooth::Cosh,
    Smooth::Asinh,
    Smooth::Acosh,
    Smooth::Atanh,
    Smooth::Erf,
    Smooth::Erfc,
    Smooth::ErfSlope,
    Smooth::Log1p,
    Smooth::Expm1,
    Smooth::Root(1, 3),
    Smooth::Root(-2, 3),
    Smooth::Root(5, 2),
    Smooth::Root(-7, 40),
    Smooth::Root(355, 113),
];

/// Everywhere: of every size, next to where functions end, next to poles.
fn points() -> impl Strategy<Value = f64> {
    let ends = [0.0, 1.0, -1.0, std::f64::consts::FRAC_PI_2, std::f64::consts::PI, 27.0, 710.0, 1e300, 5e-324, 2e-308];
    prop_oneof![
        4 => -3.0..3.0,
        2 => -50.0..50.0,
        2 => (-1.0..1.0, -1070_i32..1000).prop_map(|(x, e)| x * 2_f64.powi(e)),
        3 => (prop::sample::select(ends.to_vec()), any::<bool>(), -3_i64..4).prop_map(|(x, minus, ulps)| {
            let next = |x: f64| if ulps < 0 { x.next_down() } else { x.next_up() };
            let x = (0..ulps.abs()).fold(x, |x, _| next(x));
            if minus { -x } else { x }
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is found with many bits lies in what is found with few, and floats are next to it.
    #[test]
    fn enclosures_hold_the_value(x in points(), which in 0..NEW.len()) {
        let f = NEW[which];
        let exact = rational(x);
        let compare = |k: i32| x.partial_cmp(&f64::from(k)).unwrap();
        let Ok(best) = at(f, &exact, 320) else {
            prop_assert!(f.outside(compare).is_some(), "{f:?} {x}");
            prop_assert!(!x.smooth(f).unwrap().is_finite(), "{f:?} {x}");
            prop_assert!(Interval::point(x).smooth(f).is_err(), "{f:?} {x}");
            return Ok(());
        };
        prop_assert!(f.outside(compare).is_none(), "{f:?} {x}");
        let Some(middle) = best.middle() else {
            // too large or too small to be written down
            let float = x.smooth(f).unwrap();
            prop_assert!(float.is_infinite() || float == 0.0, "{f:?} {x}");
            return Ok(());
        };
        let size = middle.abs();
        let radius = best.radius().unwrap();
        prop_assert!(radius <= &size * &Rational::from(2).pow(-310).unwrap() || size < parse("1e-5000"), "{f:?} {x} {best}");
        for bits in [20, 53, 64, 128] {
            // an argument that is rounded may lie on both sides of an edge
            let few = match at(f, &exact, bits) {
                Err(NumberError::Undecided) if bits < 53 => continue,
                few => few.unwrap(),
            };
            let (low, high) = few.ends().unwrap();
            prop_assert!(low <= &middle + &radius && &middle - &radius <= high, "{f:?} {x} {bits}: {few} {best}");
        }
        let interval = Interval::point(x).smooth(f).unwrap();
        prop_assert!(interval.contains(&middle), "{f:?} {x}: {interval} {best}");
        let float = x.smooth(f).unwrap();
        if float.is_finite() {
            let unit = (float.abs().next_up() - float.abs()).max(5e-324);
            let apart = (rational(float) - &middle).abs();
            prop_assert!(apart <= &rational(unit) * &Rational::from(4), "{f:?} {x}: {float}, not {best}");
        }
        let single = x as f32;
        if single.is_finite()
            && let Ok(best) = at(f, &rational(f64::from(single)), 100)
            && let (Some(middle), Ok(value)) = (best.middle(), single.smooth(f))
            && value.is_finite()
        {
            let unit = f64::from((value.abs().next_up() - value.abs()).max(1e-45));
            let apart = (rational(f64::from(value)) - &middle).abs();
            prop_assert!(apart <= &rational(unit) * &Rational::from(4), "{f:?} {single}: {value}, not {best}");
        }
    }

    /// An enclosure of many numbers holds the values of all of them, or there is none.
    #[test]
    fn wide_enclosures_hold_the_values_of_their_members(a in points(), b in points(), t in 0_i64..=16, which in 0..NEW.len()) {
        let f = NEW[which];
        let (a, b) = (a.min(b), a.max(b));
        let between = rational(a) + (rational(b) - rational(a)) * Rational::new(t, 16).unwrap();
        let value = at(f, &between, 200);
        let wide = Enclosure::of(&rational(a), 60).hull(&Enclosure::of(&rational(b), 60)).smooth(f);
        let interval = Interval::new(a, b).unwrap().smooth(f);
        match value {
            Ok(value) => {
                let Some((low, high)) = value.ends() else { return Ok(()) };
                if let Ok(wide) = wide
                    && let Some((least, most)) = wide.ends()
                {
                    prop_assert!(least <= high && low <= most, "{f:?} [{a}, {b}] {between}: {wide} {value}");
                }
                if let Ok(interval) = interval {
                    prop_assert!(rational_or(interval.lo(), &low) <= high && low <= rational_or(interval.hi(), &high), "{f:?} [{a}, {b}]");
                }
            }
            Err(NumberError::Undecided) => {}
            Err(_) => prop_assert!(wide.is_err() && interval.is_err(), "{f:?} [{a}, {b}]"),
        }
    }

    #[test]
    fn functions_are_what_they_are_of_each_other(x in -20.0..20.0_f64) {
        let bits = 200;
        let exact = rational(x);
        let e = Enclosure::of(&exact, bits);
        let one = Enclosure::of(&Rational::ONE, bits);
        let of = |f: Smooth| e.smooth(f).unwrap();
        let meet = |a: &Enclosure, b: &Enclosure| a.sub(b).contains(&Rational::ZERO);
        prop_assert!(meet(&of(Smooth::Erf).add(&of(Smooth::Erfc)), &one));
        prop_assert!(meet(&of(Smooth::Tan), &of(Smooth::Sin).div(&of(Smooth::Cos)).unwrap()));
        prop_assert!(meet(&of(Smooth::Expm1), &of(Smooth::Exp).sub(&one)));
        prop_assert!(meet(&of(Smooth::Sinh).add(&of(Smooth::Cosh)), &of(Smooth::Exp)));
        prop_assert!(meet(&of(Smooth::Sinh).smooth(Smooth::Asinh).unwrap(), &e));
        prop_assert!(meet(&of(Smooth::Expm1).smooth(Smooth::Log1p).unwrap(), &e));
        prop_assert!(meet(&of(Smooth::Atan).smooth(Smooth::Tan).unwrap(), &e));
        let size = Enclosure::of(&exact.abs(), bits);
        if x.abs() > 1e-30 {
            let (root, cube) = (size.smooth(Smooth::Root(1, 3)).unwrap(), size.smooth(Smooth::Root(7, 41)).unwrap());
            prop_assert!(meet(&root.powi(3).unwrap(), &size));
            prop_assert!(meet(&cube.powi(41).unwrap(), &size.powi(7).unwrap()));
            prop_assert!(meet(&of(Smooth::Cosh).smooth(Smooth::Acosh).unwrap(), &size));
        }
        let inner = e.mul(&Enclosure::of(&parse("0.04"), bits));
        prop_assert!(meet(&inner.smooth(Smooth::Asin).unwrap().smooth(Smooth::Sin).unwrap(), &inner));
        prop_assert!(meet(&inner.smooth(Smooth::Acos).unwrap().smooth(Smooth::Cos).unwrap(), &inner));
        prop_assert!(meet(&inner.smooth(Smooth::Atanh).unwrap().smooth(Smooth::Tanh).unwrap(), &inner));
    }
}

fn rational_or(x: f64, otherwise: &Rational) -> Rational {
    Rational::from_f64(x).unwrap_or_else(|| otherwise.clone())
}

/// The largest error of doubles, in units of the last place: with `--nocapture` it says what was found.
#[test]
fn doubles_are_off_by_little() {
    for &f in NEW {
        let mut state = 12_345_u64;
        let mut largest = (0.0_f64, 0.0);
        for i in 0..300 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let unit = (state >> 11) as f64 / (1_u64 << 53) as f64;
            let x = match i % 3 {
                0 => 2.0 * unit - 1.0,
                1 => 40.0 * unit - 20.0,
                _ => (2.0 * unit - 1.0) * 2_f64.powi((state % 80) as i32 - 40),
            };
            let float = x.smooth(f).unwrap();
            let Ok(best) = at(f, &rational(x), 120) else { continue };
            let Some(middle) = best.middle().filter(|_| float.is_finite() && float.abs() > 1e-290) else { continue };
            let last = float.abs().next_up() - float.abs();
            let off = (rational(float) - middle).to_f64().abs() / last;
            if off > largest.0 {
                largest = (off, x);
            }
        }
        println!("{f:?}: {:.2} at {:e}", largest.0, largest.1);
        assert!(largest.0 <= 2.5, "{f:?}: {} at {:e}", largest.0, largest.1);
    }
}

#[test]
fn a_pole_of_the_tangent_has_no_enclosure() {
    let half_pi = |bits: u32| Enclosure::of(&Rational::ONE, bits).smooth(Smooth::Asin).unwrap();
    for bits in [20, 64, 300] {
        assert_eq!(half_pi(bits).smooth(Smooth::Tan), Err(NumberError::Undecided));
    }
    let wide = |a: i64, b: i64| Enclosure::of(&Rational::from(a), 64).hull(&Enclosure::of(&Rational::from(b), 64));
    assert_eq!(wide(1, 2).smooth(Smooth::Tan), Err(NumberError::Undecided));
    assert!(wide(-1, 1).smooth(Smooth::Tan).unwrap().is_bounded());
    assert!(wide(2, 4).smooth(Smooth::Tan).unwrap().is_bounded());
    assert!(wide(-4, -2).smooth(Smooth::Tan).unwrap().is_bounded());
    assert_eq!(wide(-4, -1).smooth(Smooth::Tan), Err(NumberError::Undecided));
    assert_eq!(Interval::new(1.5, 1.6).unwrap().smooth(Smooth::Tan), Err(NumberError::Undecided));
    assert_eq!(Interval::new(1.5, f64::INFINITY).unwrap().smooth(Smooth::Tan), Err(NumberError::Undecided));
}

#[test]
fn every_function_ends_where_its_edges_say() {
    for &f in Smooth::NAMED.iter().chain(NEW) {
        for edge in f.facts().edges {
            let (Edge::Pole(k) | Edge::Above(k) | Edge::Below(k) | Edge::From(k, _) | Edge::UpTo(k, _)) = *edge;
            let here = f64::from(k);
            let next = |right: bool| match (right, k) {
                (true, 0) => 5e-324,
                (false, 0) => -5e-324,
                (true, _) => here.next_up(),
                (false, _) => here.next_down(),
            };
            let (left, middle, right) = match edge {
                Edge::Pole(_) => (true, false, true),
                Edge::Above(_) => (false, false, true),
                Edge::Below(_) => (true, false, false),
                Edge::From(..) => (false, true, true),
                Edge::UpTo(..) => (true, true, false),
            };
            for (x, inside) in [(next(false), left), (here, middle), (next(true), right)] {
                assert_eq!(at(f, &rational(x), 100).is_ok(), inside, "{f:?} {x}");
                assert_eq!(Interval::point(x).smooth(f).is_ok(), inside, "{f:?} {x}");
                assert_eq!(Mixed::exactly(rational(x)).smooth(f).is_ok(), inside, "{f:?} {x}");
                assert!(inside || !x.smooth(f).unwrap().is_finite(), "{f:?} {x}");
            }
            // on both sides it cannot be told
            let around = Interval::new(next(false), next(true)).unwrap();
            assert_eq!(around.smooth(f), Err(NumberError::Undecided), "{f:?}");
        }
    }
    // outside on both sides, and inside between
    assert_eq!(Interval::new(-2.0, 2.0).unwrap().smooth(Smooth::Asin), Err(NumberError::Undecided));
}

#[test]
fn exact_values_are_exact() {
    let one = Rational::ONE;
    for f in NEW {
        let zero = Rational::ZERO.smooth(*f);
        match f {
            Smooth::Tan | Smooth::Asin | Smooth::Atan | Smooth::Sinh | Smooth::Asinh | Smooth::Atanh => {
                assert_eq!(zero, Ok(Rational::ZERO))
            }
            Smooth::Cosh | Smooth::Erfc => assert_eq!(zero, Ok(one.clone())),
            _ => {}
        }
    }
    assert_eq!(one.smooth(Smooth::Acos), Ok(Rational::ZERO));
    assert_eq!(one.smooth(Smooth::Acosh), Ok(Rational::ZERO));
    assert_eq!(parse("8/27").smooth(Smooth::Root(2, 3)), Ok(parse("4/9")));
    assert_eq!(parse("8/27").smooth(Smooth::Root(-2, 3)), Ok(parse("9/4")));
    assert_eq!(Rational::ZERO.smooth(Smooth::Root(2, 3)), Ok(Rational::ZERO));
    assert_eq!(one.smooth(Smooth::Root(5, 1_000_000)), Ok(one.clone()));
    assert!(matches!(Rational::from(2).smooth(Smooth::Root(1, 3)), Err(NumberError::NotExact { .. })));
    assert!(matches!(Rational::from(-8).smooth(Smooth::Root(1, 3)), Err(NumberError::Outside { .. })));
    // what is not a root at all is no panic
    assert!(Rational::from(2).smooth(Smooth::Root(1, 0)).is_err());
    assert!(at(Smooth::Root(1, 0), &Rational::from(2), 64).is_ok_and(|e| !e.is_bounded()));
}

#[test]
fn arguments_of_any_size_have_bounds_in_no_time() {
    let huge = Enclosure::of(&Rational::from(1_i64 << 35), 100).exp();
    let tiny = huge.inv().unwrap();
    for &f in NEW {
        for x in [&huge, &huge.neg(), &tiny, &tiny.neg()] {
            match x.smooth(f) {
                Ok(y) => assert!(y.compare(&y).is_none_or(|o| o.is_eq()), "{f:?}"),
                Err(NumberError::Undecided) => assert_eq!(f, Smooth::Tan),
                Err(NumberError::Outside { .. }) => assert!(!f.facts().edges.is_empty()),
                Err(other) => panic!("{f:?}: {other}"),
            }
        }
        // the whole line has a value or none that is decided
        let whole = Enclosure::whole(100).smooth(f);
        assert!(whole.is_ok() || whole == Err(NumberError::Undecided), "{f:?}");
    }
}
