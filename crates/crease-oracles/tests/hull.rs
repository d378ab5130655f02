//! Convex hulls against elimination, and where vectors lie that frameworks return.

mod support;

use crease_core::Limits;
use crease_core::local::localize;
use crease_core::number::Rational;
use crease_core::random::SplitMix64;
use crease_core::{Var, abs, atan, erf, exp, log, max, relu, sqrt, trace};
use crease_oracles::{
    EnumerateWork, HullPosition, Membership, Neighbour, Neighbours, OracleError, Session, Stationarity,
    gradient_at_choices, hull_vertices, in_hull, neighbouring_gradients,
};
use std::time::{Duration, Instant};
use support::arrangements::{braid, cross_polytope, weighted_relus};
use support::elimination::has_direction;
use support::{Rng, dot, ints, model_at, r, scalars};

/// Whether there is a direction along which `v` is beyond all points.
fn separable(points: &[Vec<i64>], v: &[i64]) -> bool {
    let away = |g: &Vec<i64>| v.iter().zip(g).map(|(v, g)| i128::from(v - g)).collect();
    has_direction(points.iter().map(|g| (away(g), true)).collect())
}

fn proved(points: &[Vec<Rational>], v: &[Rational], position: &HullPosition) -> bool {
    match position {
        HullPosition::Inside { weights } => {
            assert!(weights.iter().all(|(_, w)| w.is_positive()));
            assert!(weights.iter().map(|(_, w)| w).sum::<Rational>().is_one());
            for k in 0..v.len() {
                assert_eq!(weights.iter().map(|(i, w)| w * &points[*i][k]).sum::<Rational>(), v[k]);
            }
            true
        }
        HullPosition::Outside { direction } => {
            assert!(points.iter().all(|g| dot(g, direction) < dot(v, direction)), "{points:?} {v:?} {direction:?}");
            false
        }
        HullPosition::NotDecided => panic!("nobody stopped it"),
    }
}

#[test]
fn random_points() {
    let mut rng = Rng::new(21);
    let (mut inside, mut outside) = (0, 0);
    for _ in 0..3000 {
        let (p, n, range) = (1 + rng.below(3), 1 + rng.below(9), [1, 2, 20][rng.below(3)]);
        let mut draw = || (0..p).map(|_| rng.within(range)).collect::<Vec<i64>>();
        let points: Vec<Vec<i64>> = (0..n).map(|_| draw()).collect();
        let v = draw();
        let exact: Vec<Vec<Rational>> = points.iter().map(|g| ints(g)).collect();
        let position = in_hull(&exact, &ints(&v), &Default::default()).unwrap();
        let found = proved(&exact, &ints(&v), &position);
        assert_eq!(found, !separable(&points, &v), "{points:?} {v:?}");
        if found {
            inside += 1
        } else {
            outside += 1
        }
        // a vertex is what is not in the hull of the points elsewhere
        let vertices = hull_vertices(&exact).unwrap();
        for (g, vertex) in points.iter().zip(vertices) {
            let others: Vec<Vec<i64>> = points.iter().filter(|o| *o != g).cloned().collect();
            assert_eq!(vertex, separable(&others, g), "{points:?} {g:?}");
        }
    }
    assert!(inside > 500 && outside > 500, "{inside} inside, {outside} outside");
}

#[test]
fn odd_lists() {
    let none: [Vec<Rational>; 0] = [];
    assert!(matches!(in_hull(&none, &ints(&[1]), &Default::default()).unwrap(), HullPosition::Outside { .. }));
    assert_eq!(hull_vertices(&none).unwrap(), []);
    assert_eq!(hull_vertices(&[ints(&[]), ints(&[])]).unwrap(), [true, true]);
    assert_eq!(hull_vertices(&[ints(&[4, 4]), ints(&[4, 4])]).unwrap(), [true, true]);
    let ragged = [ints(&[1, 2]), ints(&[1])];
    assert_eq!(hull_vertices(&ragged), Err(OracleError::Dimension { expected: 2, got: 1 }));
    assert_eq!(
        in_hull(&ragged, &ints(&[0, 0]), &Default::default()),
        Err(OracleError::Dimension { expected: 2, got: 1 })
    );
    // fractions, and numbers that no float holds
    let far = [vec![r("1e400")], vec![r("-1/3")]];
    assert!(matches!(in_hull(&far, &[r("1e399")], &Default::default()).unwrap(), HullPosition::Inside { .. }));
    assert!(matches!(in_hull(&far, &[r("-1/3")], &Default::default()).unwrap(), HullPosition::Inside { .. }));
    let beyond = in_hull(&far, &[r("-0.33333333333333333333333333333334")], &Default::default()).unwrap();
    assert!(!proved(&far, &[r("-0.33333333333333333333333333333334")], &beyond));
}

/// A grid in four dimensions: all but the corners are combinations.
#[test]
fn thousands_of_points() {
    let side = 6i64;
    let points: Vec<Vec<Rational>> =
        (0..side.pow(4)).map(|k| ints(&[k % side, k / side % side, k / side.pow(2) % side, k / side.pow(3)])).collect();
    let vertices = hull_vertices(&points).unwrap();
    for (g, vertex) in points.iter().zip(&vertices) {
        assert_eq!(*vertex, g.iter().all(|x| x.is_zero() || *x == Rational::from(side - 1)));
    }
    // and points of a paraboloid, which are all vertices
    let mut rng = Rng::new(22);
    let bowl: Vec<Vec<Rational>> = (0..1000)
        .map(|_| {
            let (x, y, z) = (rng.within(500), rng.within(500), rng.within(500));
            ints(&[x, y, z, x * x + y * y + z * z])
        })
        .collect();
    assert!(hull_vertices(&bowl).unwrap().iter().all(|v| *v));
}

/// The quick ways to know vertices agree with the slow one.
#[test]
fn vertices_of_clarke_subdifferentials() {
    let mut rng = Rng::new(23);
    for round in 0..6 {
        let normals = if round % 2 == 0 { braid(4) } else { cross_polytope(4) };
        let mut weight = || {
            let w = 1 + rng.below(1000) as i64;
            if round < 4 && rng.below(2) == 0 { -w } else { w }
        };
        let weights: Vec<i64> = normals.iter().map(|_| weight()).collect();
        let p = weighted_relus(&normals, &ints(&weights));
        let model = model_at(&p, &vec![0; normals[0].len()]);
        let found = neighbouring_gradients(&model, 0, &Limits::default()).unwrap();
        let quick = found.vertices(&Limits::default(), |_| ());
        let slow: Vec<Option<bool>> = hull_vertices(&found.gradients).unwrap().into_iter().map(Some).collect();
        assert_eq!(quick, slow);
        let corners = slow.iter().filter(|v| **v == Some(true)).count();
        assert_eq!(corners == slow.len(), weights.iter().all(|w| *w > 0), "{weights:?}");
        // a list that is cut knows only what is no vertex
        let limits = &Limits { cells: found.cells - 1, ..Default::default() };
        let part = neighbouring_gradients(&model, 0, limits).unwrap();
        for (n, verdict) in part.gradients.iter().zip(part.vertices(&Limits::default(), |_| ())) {
            let i = found.gradients.iter().position(|m| m.gradient == n.gradient).unwrap();
            assert!(verdict.is_none() || verdict == slow[i]);
        }
        if weights.iter().any(|w| *w < 0) {
            assert!(part.vertices(&Limits::default(), |_| ()).iter().all(|v| *v != Some(true)));
            assert!(found.vertices(&Limits::default().within(Duration::ZERO), |_| ()).iter().any(Option::is_none));
        }
    }
}

#[test]
fn where_answers_lie() {
    // |x| - |y| + the identity in z: a saddle
    let p = trace(3, |x| abs(x[0]) - abs(x[1]) + relu(x[2]) - relu(-x[2])).unwrap();
    let model = model_at(&p, &[0, 0, 0]);
    let session = Session::new(&model, 0);
    let all = neighbouring_gradients(&model, 0, &Limits::default()).unwrap();
    let ask = |v: [&str; 3]| session.membership_among(&all, &v.map(r), &Default::default()).unwrap();
    let Membership::Vertex { direction } = ask(["1", "-1", "1"]) else { panic!() };
    assert!(direction[0].is_positive() && direction[1].is_positive());
    let Membership::Hull { weights } = ask(["0", "1/2", "1"]) else { panic!() };
    let points: Vec<Vec<Rational>> = all.gradients.iter().map(|n| n.gradient.clone()).collect();
    assert!(proved(&points, &["0", "1/2", "1"].map(r), &HullPosition::Inside { weights }));
    for v in [["1", "1", "0"], ["1", "1", "2"], ["0", "0", "1"], ["1", "1/3", "1"], ["-1", "1", "1/3"]] {
        let (vector, found) = (v.map(r), ask(v));
        match found {
            Membership::ConservativeOnly { direction, choices } => {
                assert_ne!(v[2], "1");
                assert_eq!(gradient_at_choices(&model, 0, &choices).unwrap(), vector);
                assert!(!proved(&points, &vector, &HullPosition::Outside { direction }));
            }
            Membership::Hull { .. } => assert_eq!(v[2], "1"),
            other => panic!("{v:?}: {other:?}"),
        }
    }
    // two kinks in between: an element of the conservative gradient, but that is not looked for
    let Membership::NotClarke { direction } = ask(["1/3", "1/5", "1/7"]) else { panic!() };
    assert!(!proved(&points, &["1/3", "1/5", "1/7"].map(r), &HullPosition::Outside { direction }));
    assert!(matches!(ask(["1", "2", "1"]), Membership::Outside { coordinate: 1, .. }));
    assert!(session.membership_among(&all, &[r("1")], &Default::default()).is_err());
    // with less than all of them, what is not shown is not decided
    let part = neighbouring_gradients(&model, 0, &Limits { cells: 1, ..Default::default() }).unwrap();
    let ask = |v: [&str; 3]| session.membership_among(&part, &v.map(r), &Default::default()).unwrap();
    assert_eq!(ask(["0", "0", "1"]), Membership::NotDecided);
    let one = part.gradients[0].gradient.clone();
    assert!(matches!(session.membership_among(&part, &one, &Default::default()).unwrap(), Membership::Clarke { .. }));
}

#[test]
fn gradients_inside_are_no_vertices() {
    let p = weighted_relus(&braid(3), &ints(&[3, -5, 2, 7, -4, 6]));
    let model = model_at(&p, &[0, 0, 0]);
    let session = Session::new(&model, 0);
    let all = neighbouring_gradients(&model, 0, &Limits::default()).unwrap();
    let vertices = hull_vertices(&all.gradients).unwrap();
    assert!(vertices.contains(&false) && vertices.contains(&true), "{all:?}");
    for (n, vertex) in all.gradients.iter().zip(vertices) {
        let found = session.membership_among(&all, &n.gradient, &Default::default()).unwrap();
        match vertex {
            true => assert_eq!(found, Membership::Vertex { direction: n.direction.clone() }),
            false => assert_eq!(found, Membership::Clarke { direction: n.direction.clone() }),
        }
    }
}

#[test]
fn stationary_points() {
    let ask = |slopes: [f64; 2], cells: u64| {
        let p = trace(2, |x| abs(x[0]) + max(&[x[1], -x[1] * 2.0]) + slopes[0] * x[0] + slopes[1] * x[1]).unwrap();
        let model = model_at(&p, &[0, 0]);
        let limits = &Limits { cells, ..Default::default() };
        let all = neighbouring_gradients(&model, 0, limits).unwrap();
        (all.stationarity(&Default::default()), all)
    };
    for slopes in [[0.0, 0.0], [1.0, 0.5], [-1.0, 2.0], [0.5, -1.0]] {
        let (Stationarity::Stationary { weights }, all) = ask(slopes, 100) else { panic!("{slopes:?}") };
        let points: Vec<Vec<Rational>> = all.gradients.iter().map(|n| n.gradient.clone()).collect();
        assert!(proved(&points, &ints(&[0, 0]), &HullPosition::Inside { weights }));
    }
    for slopes in [[1.5, 0.0], [0.0, 3.0], [0.0, -1.25], [-9.0, 9.0]] {
        let (Stationarity::Descent { direction }, all) = ask(slopes, 100) else { panic!("{slopes:?}") };
        assert!(all.gradients.iter().all(|n| dot(&n.gradient, &direction).is_negative()));
        assert_eq!(ask(slopes, 3).0, Stationarity::NotDecided);
    }
    // from -e to e, whatever e is within its enclosure
    let p = trace(1, |x| abs(x[0]) * exp(x[0] + 1.0)).unwrap();
    let all = neighbouring_gradients(&model_at(&p, &[0]), 0, &Limits::default()).unwrap();
    assert_eq!(all.stationarity(&Default::default()), Stationarity::Enclosed);
}

/// Minima with a gradient that has no exact value: the middle of its enclosure says nothing.
#[test]
fn the_middle_of_an_enclosure_is_no_gradient() {
    type F = for<'t> fn(&[Var<'t>]) -> Var<'t>;
    let ask = |at: &[&str], f: F| {
        let p = trace(at.len(), f).unwrap();
        let at: Vec<Rational> = at.iter().map(|x| r(x)).collect();
        let model = localize(&p, &scalars(&at)).unwrap();
        neighbouring_gradients(&model, 0, &Limits::default()).unwrap().stationarity(&Limits::default())
    };
    let minima: [(&[&str], F); 4] = [
        (&["3"], |x| x[0] * log(x[0]) - x[0] - x[0] * log(x[0] * 0.0 + 3.0)),
        (&["2"], |x| exp(log(x[0])) - x[0]),
        (&["1/2"], |x| erf(x[0]) - 2.0 * x[0] * exp(x[0] * 0.0 - 0.25) / sqrt(atan(x[0] * 0.0 + 1.0) * 4.0)),
        (&["2", "1"], |x| exp(log(x[0])) - x[0] + exp(log(x[1])) - x[1]),
    ];
    for (k, (at, f)) in minima.into_iter().enumerate() {
        assert_eq!(ask(at, f), Stationarity::NotDecided, "{k}");
    }
    let steep: [(&[&str], F, &[i64]); 3] = [
        (&["1"], |x| exp(x[0]), &[-1]),
        (&["1"], |x| -exp(x[0]), &[1]),
        // the first coordinate may be 0, or not, and does not matter
        (&["2", "1"], |x| exp(log(x[0])) - x[0] + exp(x[1]), &[0, -1]),
    ];
    for (k, (at, f, signs)) in steep.into_iter().enumerate() {
        let Stationarity::Descent { direction } = ask(at, f) else { panic!("{k}") };
        let sign = |x: &Rational| i64::from(x.is_positive()) - i64::from(x.is_negative());
        assert_eq!(direction.iter().map(sign).collect::<Vec<_>>(), signs, "{k}");
    }
    // a kink in exact numbers beside enclosures of others
    let yes = ask(&["0", "0"], |x| abs(x[0] * exp(x[0] * 0.0 + 1.0)) + abs(x[1] * exp(x[0] * 0.0 + 2.0)));
    assert_eq!(yes, Stationarity::Enclosed);
}

/// Random boxes, judged by all of their corners.
#[test]
fn random_enclosures() {
    let mut rng = Rng::new(28);
    let (mut yes, mut no, mut open) = (0, 0, 0);
    for _ in 0..2000 {
        let (p, n, range) = (1 + rng.below(2), 1 + rng.below(5), [3, 8, 30][rng.below(3)]);
        let boxes: Vec<(Vec<i64>, Vec<i64>)> = (0..n)
            .map(|_| ((0..p).map(|_| rng.within(range)).collect(), (0..p).map(|_| rng.below(3) as i64).collect()))
            .collect();
        let corners: Vec<Vec<Vec<i64>>> = boxes
            .iter()
            .map(|(m, r)| {
                let corner = |k: usize| {
                    let side = |j: usize| m[j] + if k >> j & 1 == 1 { r[j] } else { -r[j] };
                    (0..p).map(side).collect::<Vec<i64>>()
                };
                (0..1 << p).map(corner).collect()
            })
            .collect();
        let gradients = boxes
            .iter()
            .map(|(m, r)| Neighbour {
                gradient: ints(m),
                radius: Some(ints(r)),
                direction: ints(&vec![1; p]),
                cells: 1,
            })
            .collect();
        let work = EnumerateWork::default();
        let all = Neighbours { gradients, cells: n as u64, limit: None, exact: false, work, all_vertices: false };
        let zero = vec![0; p];
        match all.stationarity(&Limits::default()) {
            // whichever corners are taken, 0 is among them
            Stationarity::Enclosed => {
                yes += 1;
                for pick in 0..(1usize << p).pow(n as u32) {
                    let corner = |i: usize| corners[i][pick / (1usize << p).pow(i as u32) % (1 << p)].clone();
                    let some: Vec<Vec<i64>> = (0..n).map(corner).collect();
                    assert!(!separable(&some, &zero), "{boxes:?}");
                }
            }
            Stationarity::Stationary { weights } => {
                yes += 1;
                let points: Vec<Vec<Rational>> = boxes.iter().map(|(m, _)| ints(m)).collect();
                assert!(weights.iter().all(|(i, _)| boxes[*i].1.iter().all(|r| *r == 0)));
                assert!(proved(&points, &ints(&zero), &HullPosition::Inside { weights }));
            }
            Stationarity::Descent { direction } => {
                no += 1;
                let negative = |c: &Vec<i64>| dot(&ints(c), &direction).is_negative();
                assert!(corners.iter().flatten().all(negative), "{boxes:?} {direction:?}");
            }
            // some corners allow 0 and there is no direction for all of them
            Stationarity::NotDecided => {
                open += 1;
                assert!(!separable(&corners.concat(), &zero), "{boxes:?}");
            }
        }
    }
    assert!(yes > 100 && no > 300 && open > 100, "{yes} {no} {open}");
}

/// Long numbers in many coordinates: to show that a vector is inside takes minutes, and the clock is looked at meanwhile.
#[test]
fn time_is_up_inside_a_linear_program() {
    let (n, dimension) = (400, 200);
    let mut random = SplitMix64::new(3);
    let mut number = || Rational::from(random.bits() as i64);
    let points: Vec<Vec<Rational>> = (0..n).map(|_| (0..dimension).map(|_| number()).collect()).collect();
    let weight = Rational::new(1, n as i64).unwrap();
    let centre: Vec<Rational> =
        (0..dimension).map(|k| points.iter().map(|p| &p[k]).sum::<Rational>() * &weight).collect();
    let (start, limits) = (Instant::now(), Limits::default().within(Duration::from_millis(300)));
    assert_eq!(in_hull(&points, &centre, &limits).unwrap(), HullPosition::NotDecided);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
