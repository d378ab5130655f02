//! Random piecewise-linear programs of all kinks, at points rich in ties, looked at from outside: the program is run in rationals
//! next to the point. And the local model against the derivative programs: what a selection picks is the same in both.

mod support;

use crease_core::Limits;
use crease_core::differentiate::{How, Selection, backprop};
use crease_core::local::localize;
use crease_core::number::Rational;
use crease_core::op::Ties;
use crease_core::{Program, Shape, Var, abs, concat, leaky_relu, max, max_linear, min, relu, run, trace};
use crease_oracles::{
    KinkReport, Session, clarke_element, conservative, directional, gradient_at_choices, identity, lexicographic,
    lexicographic_forward,
};
use support::{Rng, assert_gradient_along, ints, model_at, quotient, scalars};

/// One random operation on earlier variables.
fn grow<'t>(pool: &[Var<'t>], rng: &mut Rng) -> Var<'t> {
    let several =
        |rng: &mut Rng| -> Vec<Var<'t>> { (0..2 + rng.below(3)).map(|_| pool[rng.below(pool.len())]).collect() };
    let (a, b) = (pool[rng.below(pool.len())], pool[rng.below(pool.len())]);
    let list = several(rng);
    let lane = concat(&list, 0);
    match rng.below(15) {
        0 => a + b,
        1 | 2 => a - b,
        3 => a * [2.0, -1.0, 0.5, 3.0][rng.below(4)],
        4 => relu(a),
        5 => abs(a),
        6 => leaky_relu(a, [0.25, -1.0][rng.below(2)]),
        7 => max(&list),
        8 => min(&list),
        9 => lane.median(),
        10 => lane.order_statistic(rng.below(list.len())),
        11 => {
            let sorted = lane.sort(0);
            sorted.at(&[0]) * 2.0 - sorted.at(&[rng.below(list.len())])
        }
        12 => lane.norm1(),
        13 => lane.norminf(),
        _ => {
            let n = list.len();
            let entries = (0..2 * n).map(|_| rng.within(1) as f64).collect();
            let matrix = a.tape().tensor(Shape::new([2, n]).unwrap(), entries);
            max_linear(matrix, lane)
        }
    }
}

fn program(rng: &mut Rng) -> Program {
    let inputs = 1 + rng.below(3);
    let length = 3 + rng.below(6);
    let build = trace(inputs, |x| {
        let mut pool = x.to_vec();
        for _ in 0..length {
            let next = grow(&pool, rng);
            pool.push(next);
        }
        let n = pool.len();
        pool[n - 1] + pool[n - 2]
    });
    build.unwrap()
}

fn point(p: &Program, rng: &mut Rng) -> Vec<i64> {
    (0..p.dimension()).map(|_| [0, 0, 1, -1][rng.below(4)]).collect()
}

#[test]
fn directional_derivatives_are_difference_quotients() {
    let mut rng = Rng::new(11);
    for _ in 0..1800 {
        let p = program(&mut rng);
        let at = point(&p, &mut rng);
        let m = model_at(&p, &at);
        assert!(m.is_exact());
        let d: Vec<Rational> = (0..at.len()).map(|_| Rational::from(rng.within(3))).collect();
        assert_eq!(directional(&m, &d).unwrap(), [quotient(&p, &ints(&at), &d)], "{p}at {at:?} along {d:?}");
    }
}

#[test]
fn clarke_elements_are_gradients_along_their_direction() {
    let mut rng = Rng::new(12);
    for _ in 0..1500 {
        let p = program(&mut rng);
        let at = point(&p, &mut rng);
        let e = clarke_element(&model_at(&p, &at), 0, rng.next()).unwrap();
        assert!(e.proved);
        assert_gradient_along(&p, &ints(&at), &e.direction, &e.gradient, &mut rng);
    }
}

#[test]
fn lexicographic_derivatives_are_gradients_along_the_basis() {
    let mut rng = Rng::new(13);
    for _ in 0..1500 {
        let p = program(&mut rng);
        let at = point(&p, &mut rng);
        let m = model_at(&p, &at);
        let basis = identity(at.len());
        let l = lexicographic(&m, 0, &basis).unwrap();
        let f = lexicographic_forward(&m, 0, &basis).unwrap();
        assert_eq!((&l.gradient, &l.settled), (&f.gradient, &f.settled), "{p}");
        // x + t d with d = e1 + t e2 + t^2 e3 decides as the basis does
        let d: Vec<Rational> = (0..at.len()).map(|i| support::power_of_half(10 * i as i32)).collect();
        assert_gradient_along(&p, &ints(&at), &d, &l.gradient, &mut rng);
    }
}

#[test]
fn the_local_model_as_a_program_is_the_directional_derivative() {
    let mut rng = Rng::new(14);
    for _ in 0..900 {
        let p = program(&mut rng);
        let at = point(&p, &mut rng);
        let m = model_at(&p, &at);
        let local = m.program().unwrap();
        let d: Vec<Rational> = (0..at.len()).map(|_| Rational::from(rng.within(3))).collect();
        let out = run(&local, &scalars(&d)).unwrap();
        assert_eq!(out[0].data(), directional(&m, &d).unwrap());
        // a piecewise-linear program is its own local model at 0
        let again = localize(&local, &scalars(&vec![Rational::ZERO; at.len()])).unwrap();
        assert_eq!(directional(&again, &d).unwrap(), directional(&m, &d).unwrap());
    }
}

/// The gradient by the derivative program.
fn backward(p: &Program, at: &[i64], selection: &Selection) -> Vec<Rational> {
    let d = backprop(p, &How::default().select(selection.clone())).unwrap();
    let out = run(&d, &scalars(&ints(at))).unwrap();
    out[1..].iter().flat_map(|t| t.data().to_vec()).collect()
}

#[test]
fn weights_of_a_selection_give_what_backprop_gives() {
    let selections = [
        Selection::paper(),
        Selection::torch(),
        Selection::jax(),
        Selection { max: Ties::Last, order: Ties::Last, relu: support::r("1/3"), ..Selection::paper() },
    ];
    let mut rng = Rng::new(15);
    for _ in 0..2400 {
        let p = program(&mut rng);
        let at = point(&p, &mut rng);
        let m = model_at(&p, &at);
        for s in &selections {
            let weights: Option<Vec<_>> = m.kinks().iter().map(|k| k.weights(s)).collect();
            let gradient = gradient_at_choices(&m, 0, &weights.unwrap()).unwrap();
            assert_eq!(gradient, backward(&p, &at, s), "{p}at {at:?} with {s}");
        }
    }
}

#[test]
fn conservative_bounds_hold_every_selection_and_singletons_are_gradients() {
    let mut rng = Rng::new(16);
    let mut singletons = 0;
    for _ in 0..1500 {
        let p = program(&mut rng);
        let at = point(&p, &mut rng);
        let m = model_at(&p, &at);
        let c = conservative(&m, 0).unwrap();
        assert_eq!(Session::new(&m, 0).several_in_field(77).unwrap(), !c.is_singleton());
        let mut all = vec![backward(&p, &at, &Selection::torch()), clarke_element(&m, 0, 1).unwrap().gradient];
        all.extend(c.elements.iter().map(|e| e.gradient.clone()));
        for e in &c.elements {
            assert_eq!(gradient_at_choices(&m, 0, &e.choices).unwrap(), e.gradient);
        }
        for g in &all {
            assert!(g.iter().zip(&c.bounds).all(|(x, (low, high))| low <= x && x <= high), "{p}at {at:?}: {g:?}");
        }
        if c.is_singleton() {
            singletons += usize::from(!m.kinks().is_empty());
            assert!(all.iter().all(|g| *g == all[0]));
            for _ in 0..3 {
                let d: Vec<Rational> = (0..at.len()).map(|_| Rational::from(rng.within(5))).collect();
                assert_eq!(directional(&m, &d).unwrap(), [support::dot(&all[0], &d)]);
            }
        } else {
            assert_ne!(c.elements[0].gradient, c.elements[1].gradient);
        }
    }
    assert!(singletons > 10, "only {singletons} singletons with kinks");
}

#[test]
fn the_report_measures_the_change_of_every_kink() {
    let mut rng = Rng::new(17);
    for _ in 0..600 {
        let p = program(&mut rng);
        let at = point(&p, &mut rng);
        let m = model_at(&p, &at);
        let report = KinkReport::new(&Session::new(&m, 0), &Selection::torch(), &Limits::default()).unwrap();
        assert_eq!(report.gradient, backward(&p, &at, &Selection::torch()));
        assert_eq!((report.measured, report.active.len()), (m.kinks().len(), m.kinks().len()));
        let choices: Vec<Vec<Rational>> = report.active.iter().map(|k| k.weights.clone()).collect();
        for (k, line) in report.active.iter().enumerate() {
            let mut largest = Rational::ZERO;
            for member in 0..line.weights.len() {
                let mut other = choices.clone();
                other[k] = (0..line.weights.len()).map(|i| Rational::from(usize::from(i == member))).collect();
                let gradient = gradient_at_choices(&m, 0, &other).unwrap();
                let apart = gradient.iter().zip(&report.gradient).map(|(a, b)| (a - b).abs()).max().unwrap();
                largest = Ord::max(largest, apart);
            }
            assert_eq!(line.change, Some(largest.clone()), "{p}at {at:?}, kink {k}");
            assert!(largest <= report.width());
        }
    }
}
