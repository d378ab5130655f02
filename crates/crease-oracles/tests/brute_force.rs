//! Thousands of random programs over D0 = {+, -, relu} at points rich in ties, against independent code: an interpreter of its own
//! with a choice at every relu, all sign patterns, all cells.

mod support;

use crease_core::number::Rational;
use crease_oracles::{
    Session, clarke_element, conservative, directional, identity, lexicographic, lexicographic_forward,
};
use support::d0::{Case, case, small};
use support::{Rng, ints, model_at};

fn random_basis(p: usize, rng: &mut Rng) -> Vec<Vec<i64>> {
    loop {
        let rows: Vec<Vec<i64>> = (0..p).map(|_| (0..p).map(|_| rng.within(2)).collect()).collect();
        let at = |i: usize, j: usize| rows[i][j];
        let det = match p {
            1 => at(0, 0),
            2 => at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0),
            _ => (0..3)
                .map(|j| {
                    let (k, l) = ((j + 1) % 3, (j + 2) % 3);
                    at(0, j) * (at(1, k) * at(2, l) - at(1, l) * at(2, k))
                })
                .sum(),
        };
        if det != 0 {
            return rows;
        }
    }
}

/// Runs a check on many cases, and counts those that have something to check.
fn each(seed: u64, count: usize, mut check: impl FnMut(&Case, &mut Rng) -> bool) {
    let mut rng = Rng::new(seed);
    let interesting = (0..count).filter(|_| check(&case(&mut rng), &mut rng)).count();
    assert!(interesting * 4 > count, "only {interesting} of {count} had a tie that matters");
}

/// F is positively homogeneous, so that F(x + d / s) = F(s x + d) / s: difference quotients in integers. Values at the point are
/// integers and slopes below 2^20, so 2^40 is small enough a step, and 2^80 for a step within the step.
const STEP: i128 = 1 << 40;

#[test]
fn directional_derivatives_are_difference_quotients() {
    each(1, 4000, |case, rng| {
        let m = model_at(&case.program(), &case.at);
        for _ in 0..4 {
            let d: Vec<i64> = (0..case.inputs).map(|_| rng.within(3)).collect();
            let x: Vec<i128> = case.at.iter().map(|&x| i128::from(x)).collect();
            let there: Vec<i128> = x.iter().zip(&d).map(|(x, d)| x * STEP + i128::from(*d)).collect();
            let quotient = case.value(&there) - STEP * case.value(&x);
            let found = directional(&m, &ints(&d)).unwrap();
            assert_eq!(i128::from(small(&found)[0]), quotient, "{case:?} along {d:?}");
        }
        !m.kinks().is_empty()
    });
}

#[test]
fn clarke_elements_are_gradients_along_their_direction() {
    each(2, 4000, |case, rng| {
        let m = model_at(&case.program(), &case.at);
        let e = clarke_element(&m, 0, rng.next()).unwrap();
        assert!(e.proved);
        let gradient = small(&e.gradient);
        let near: Vec<i128> = case
            .at
            .iter()
            .zip(small(&e.direction))
            .map(|(&x, d)| (i128::from(x) * STEP + i128::from(d)) * STEP)
            .collect();
        let here = case.value(&near);
        let mut probes: Vec<Vec<i64>> =
            (0..case.inputs).map(|i| (0..case.inputs).map(|j| i64::from(i == j)).collect()).collect();
        probes.extend((0..4).map(|_| (0..case.inputs).map(|_| rng.within(9)).collect()));
        for v in probes {
            let expected: i64 = gradient.iter().zip(&v).map(|(g, v)| g * v).sum();
            for sign in [1, -1] {
                let there: Vec<i128> = near.iter().zip(&v).map(|(x, v)| x + sign * i128::from(*v)).collect();
                assert_eq!(case.value(&there) - here, sign * i128::from(expected), "{case:?} {e:?}");
            }
        }
        // and the gradient of the cell around the direction, by the interpreter of this file
        assert_eq!(case.in_cell(&small(&e.direction)).0, gradient);
        !m.kinks().is_empty()
    });
}

#[test]
fn answers_are_neighbouring_gradients() {
    each(3, 3000, |case, rng| {
        if case.inputs > 2 || case.ties().len() > 10 {
            return true;
        }
        let m = model_at(&case.program(), &case.at);
        let neighbours = case.neighbours();
        for seed in 0..4 {
            let e = clarke_element(&m, 0, seed).unwrap();
            assert!(neighbours.contains(&small(&e.gradient)), "{case:?}");
        }
        for basis in [identity(case.inputs), random_basis(case.inputs, rng).iter().map(|d| ints(d)).collect()] {
            let l = lexicographic(&m, 0, &basis).unwrap();
            assert!(neighbours.contains(&small(&l.gradient)), "{case:?} along {basis:?}: {neighbours:?}");
        }
        let c = conservative(&m, 0).unwrap();
        if c.is_singleton() {
            assert_eq!(neighbours, [small(&c.elements[0].gradient)], "a singleton, but not differentiable: {case:?}");
        }
        for g in &neighbours {
            assert!(c.bounds.iter().zip(ints(g)).all(|((low, high), x)| *low <= x && x <= *high));
        }
        !m.kinks().is_empty()
    });
}

#[test]
fn both_lexicographic_derivatives_are_that_of_the_definition() {
    each(4, 4000, |case, rng| {
        let m = model_at(&case.program(), &case.at);
        let unit = (0..case.inputs).map(|i| (0..case.inputs).map(|j| i64::from(i == j)).collect()).collect();
        for basis in [unit, random_basis(case.inputs, rng)] {
            let rows: Vec<Vec<Rational>> = basis.iter().map(|d| ints(d)).collect();
            let a = lexicographic(&m, 0, &rows).unwrap();
            let b = lexicographic_forward(&m, 0, &rows).unwrap();
            assert_eq!(small(&a.gradient), case.lexicographic(&basis), "{case:?} along {basis:?}");
            assert_eq!((a.gradient, a.settled), (b.gradient, b.settled), "{case:?} along {basis:?}");
        }
        !m.kinks().is_empty()
    });
}

#[test]
fn the_conservative_verdict_is_that_of_all_corners() {
    let (mut single, mut several) = (0, 0);
    each(5, 3000, |case, _| {
        let ties = case.ties();
        let m = model_at(&case.program(), &case.at);
        let c = conservative(&m, 0).unwrap();
        assert!(c.proved);
        let corners: Vec<Vec<i64>> = (0..1u32 << ties.len())
            .map(|pattern| {
                case.at_choices(|i| ties.iter().position(|&t| t == i).is_some_and(|k| pattern >> k & 1 == 1))
            })
            .collect();
        // the polynomial is affine in every choice: constant iff it is the same at all corners
        let constant = corners.iter().all(|g| *g == corners[0]);
        assert_eq!(c.is_singleton(), constant, "{case:?}");
        assert_eq!(Session::new(&m, 0).several_in_field(9).unwrap(), !constant, "{case:?}");
        if constant {
            single += 1;
        } else {
            several += 1;
            assert_ne!(c.elements[0].gradient, c.elements[1].gradient);
            assert!(c.path.is_some());
        }
        for e in &c.elements {
            // members of a relu are 0 and its argument, in this order; its equation is the step of that number
            let on = |i: usize| {
                let kink = m.kinks().iter().position(|k| k.site.equation == i);
                kink.is_some_and(|k| e.choices[k][1].is_one())
            };
            assert!(e.choices.iter().flatten().all(|w| w.is_one() || w.is_zero()));
            assert_eq!(small(&e.gradient), case.at_choices(on), "{case:?}");
        }
        for g in corners {
            let inside = c.bounds.iter().zip(ints(&g)).all(|((low, high), x)| *low <= x && x <= *high);
            assert!(inside, "{case:?}: {g:?} is outside {:?}", c.bounds);
        }
        !m.kinks().is_empty()
    });
    assert!(single > 100 && several > 100, "{single} singletons, {several} others");
}

/// What the choices at the ties give is an element of the conservative gradient, and never beyond it; what is said to be beyond is so for all of them.
#[test]
fn what_is_beyond_is_beyond_all_choices() {
    let mut beyond = 0;
    each(9, 1500, |case, rng| {
        let model = model_at(&case.program(), &case.at);
        let session = Session::new(&model, 0);
        let ties = case.ties();
        if ties.is_empty() || ties.len() > 6 {
            return !ties.is_empty();
        }
        let corner =
            |bits: usize| case.at_choices(|i| ties.iter().position(|&t| t == i).is_some_and(|k| bits >> k & 1 == 1));
        let corners: Vec<Vec<i64>> = (0..1 << ties.len()).map(corner).collect();
        for g in &corners {
            assert_eq!(session.beyond(&ints(g), &Rational::ZERO).unwrap(), None, "{case:?} {g:?}");
        }
        let near: Vec<i64> = corners[0].iter().map(|x| x + rng.within(2)).collect();
        if let Some((direction, (low, high))) = session.beyond(&ints(&near), &Rational::ZERO).unwrap() {
            let along = |g: &[i64]| ints(g).iter().zip(&direction).map(|(x, d)| x * d).sum::<Rational>();
            let it = along(&near);
            assert!(it < low || it > high);
            assert!(corners.iter().all(|g| (&low..=&high).contains(&&along(g))), "{case:?} {near:?}");
            beyond += 1;
        }
        true
    });
    assert!(beyond > 300, "{beyond}");
}
