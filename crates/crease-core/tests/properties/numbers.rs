//! One program, many kinds of numbers: they agree wherever they can.

use crate::support::{check_programs, derived, ensure, outputs, shown};
use crease_core::differentiate::How;
use crease_core::number::{Field61, Interval};
use crease_core::{Number, Rational, Tensor, kinks, run};
use crease_corpus::compare::{all_close, convert, doubles, flat};
use crease_corpus::random::{Dictionary, Options, Rng, any_options, dyadic_point, generic_point, tied_point};

fn polynomial(rng: &mut Rng, n: usize) -> Options {
    let o = Options::new(Dictionary::Polynomial).equations(n).inputs(1 + n % 3).calls(rng.below(3)).exact();
    if rng.once_in(2) { o.tensors() } else { o }
}

#[test]
fn the_prime_field_agrees_with_rationals_on_polynomials_and_their_derivatives() {
    check_programs(60, 500, 10, polynomial, |p, rng| {
        let mut programs = derived(p, &How::default())?;
        programs.push(("itself", p.clone()));
        for (name, d) in programs {
            let x = generic_point(rng, &d);
            let exact = outputs(&d, &x)?;
            let residues = outputs(&d, &convert::<Field61>(&x))?;
            ensure(convert::<Field61>(&exact) == residues, || format!("{name} differs at {}", shown(&x)))?;
        }
        Ok(())
    });
}

#[test]
fn intervals_enclose_exact_values_and_derivatives() {
    let decided = std::cell::Cell::new(0);
    check_programs(
        61,
        600,
        10,
        |rng, n| any_options(rng, n).exact().continuous(),
        |p, rng| {
            let mut programs = derived(p, &How::default())?;
            programs.push(("itself", p.clone()));
            for (name, d) in programs {
                for x in [generic_point(rng, &d), tied_point(rng, &d)] {
                    let exact = flat(&outputs(&d, &x)?);
                    // sorting what cannot be told apart is an error, and that is an answer too
                    let Ok(wide) = run(&d, &convert::<Interval>(&x)) else { continue };
                    decided.set(decided.get() + 1);
                    let wide = flat(&wide);
                    let outside = exact.iter().zip(&wide).find(|(r, i)| !i.contains(r));
                    ensure(outside.is_none(), || format!("{name}: {outside:?} at {}", shown(&x)))?;
                }
            }
            Ok(())
        },
    );
    assert!(decided.get() > 5000, "only {} runs were decided", decided.get());
}

#[test]
fn intervals_enclose_floating_point_values_but_for_rounding() {
    check_programs(
        62,
        500,
        10,
        |rng, n| any_options(rng, n).continuous(),
        |p, rng| {
            let x = dyadic_point(rng, p);
            let Ok(wide) = run(p, &convert::<Interval>(&x)) else { return Ok(()) };
            let near = doubles(&outputs(p, &convert::<f64>(&x))?);
            for (y, i) in near.iter().zip(flat(&wide)) {
                let slack = 1e-9 * (1.0 + f64::abs(*y));
                ensure(i.lo() - slack <= *y && *y <= i.hi() + slack, || format!("{y} is not in {i} at {}", shown(&x)))?;
                ensure(i.width() <= 1e-6 * (1.0 + f64::abs(*y)), || format!("{i} is wide at {}", shown(&x)))?;
            }
            Ok(())
        },
    );
}

#[test]
fn floating_point_is_near_exact_values_and_single_near_double() {
    check_programs(
        63,
        700,
        12,
        |rng, n| any_options(rng, n).continuous(),
        |p, rng| {
            let x = generic_point(rng, p);
            let double = doubles(&outputs(p, &convert::<f64>(&x))?);
            let single = doubles(&outputs(p, &convert::<f32>(&x))?);
            let size = double.iter().fold(1.0f64, |m, y| m.max(f64::abs(*y)));
            ensure(all_close(&double, &single, 1e-3 * size), || format!("{double:?} and {single:?} at {}", shown(&x)))?;
            if let Ok(exact) = run(p, &x) {
                let exact = doubles(&exact);
                ensure(all_close(&double, &exact, 1e-9 * size), || format!("{double:?}, exactly {exact:?}"))?;
            }
            Ok(())
        },
    );
}

#[test]
fn floating_point_gradients_are_near_exact_ones_where_no_kink_is_met() {
    let met = std::cell::Cell::new(0);
    check_programs(
        64,
        500,
        10,
        |rng, n| any_options(rng, n).exact().continuous(),
        |p, rng| {
            let x = generic_point(rng, p);
            if !kinks(p, &x).map_err(|e| e.to_string())?.1.is_empty() {
                return Ok(());
            }
            for (name, d) in derived(p, &How::default())?.into_iter().filter(|(name, _)| name.ends_with("jacobian")) {
                met.set(met.get() + 1);
                let exact = doubles(&outputs(&d, &x)?);
                let double = doubles(&outputs(&d, &convert::<f64>(&x))?);
                let size = exact.iter().fold(1.0f64, |m, y| m.max(f64::abs(*y)));
                ensure(all_close(&double, &exact, 1e-9 * size), || format!("{name}: {double:?}, exactly {exact:?}"))?;
            }
            Ok(())
        },
    );
    assert!(met.get() > 300, "only {} Jacobians were compared", met.get());
}

fn median<N: Number>(data: Vec<N>) -> Result<Vec<Tensor<N>>, crease_core::RunError> {
    let v = Tensor::vector(data).expect("a vector");
    let p = crease_core::trace_shapes(&[v.shape().clone()], |x| vec![x[0].median(), x[0].sort(0)]).expect("a program");
    crease_core::run_with(&p, &[v], crease_core::Arithmetic::Ieee, &mut crease_core::run::Unobserved)
}

#[test]
fn sorting_survives_numbers_that_cannot_be_compared() {
    // enough of them that a library sort would look for contradictions in the order
    let mut rng = Rng::new(5);
    for n in [3, 30, 100, 1000] {
        let nan: Vec<f64> = (0..n).map(|_| if rng.once_in(3) { f64::NAN } else { rng.between(-9, 9) as f64 }).collect();
        assert!(median(nan).is_ok());
        let wide: Vec<Interval> = (0..n)
            .map(|_| {
                let lo = rng.between(-50, 50) as f64;
                Interval::new(lo, lo + rng.between(0, 30) as f64).expect("an interval")
            })
            .collect();
        let out = median(wide.clone()).expect("an enclosure");
        let middle = |end: fn(&Interval) -> f64| {
            let mut ends: Vec<f64> = wide.iter().map(end).collect();
            ends.sort_by(f64::total_cmp);
            ends[(n - 1) / 2]
        };
        let found = &out[0].data()[0];
        assert_eq!(
            (found.lo(), found.hi()),
            (middle(Interval::lo), middle(Interval::hi)),
            "the median of {n} intervals"
        );
    }
    let exact = median((0..50).map(|i| Rational::from((i * 37) % 50)).collect()).expect("a median");
    assert_eq!(exact[0].data(), [Rational::from(24)]);
}
