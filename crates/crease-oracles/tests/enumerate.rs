//! All neighbouring gradients, against brute force and against known numbers of chambers.

mod support;

use crease_core::local::{LocalModel, Node, localize};
use crease_core::number::Rational;
use crease_core::{Cancel, Limits};
use crease_core::{Program, Shape, Tensor, Var, abs, exp, max, min, relu, trace, trace_shapes};
use crease_oracles::{
    EnumerateEvent, EnumerateLimit, Neighbours, Session, clarke_along, hull_vertices, neighbouring_gradients,
};
use std::time::{Duration, Instant};
use support::arrangements::{
    Arrangement, braid, chambers, cross_polytope, read_arrangement, resonance, shared_arrangements, sum_of_relus,
    weighted_relus,
};
use support::d0::{Case, case, small};
use support::elimination::has_direction;
use support::{Rng, ints, model_at};

/// All of them, after a check of each: the direction shows the gradient, none is there twice, and cells add up.
fn all(model: &LocalModel) -> Neighbours {
    let found = neighbouring_gradients(model, 0, &Limits::default()).unwrap();
    assert_eq!((found.complete(), found.limit), (true, None));
    checked(model, &found);
    found
}

fn checked(model: &LocalModel, found: &Neighbours) {
    for n in &found.gradients {
        let along = clarke_along(model, 0, &n.direction).unwrap();
        assert_eq!(along.map(|e| e.gradient).as_ref(), Some(&n.gradient), "along {:?}", n.direction);
    }
    assert_eq!(found.gradients.iter().map(|n| n.cells).sum::<u64>(), found.cells);
    let mut sorted: Vec<_> = found.gradients.iter().map(|n| &n.gradient).collect();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), found.gradients.len());
}

fn sorted(found: &Neighbours) -> Vec<Vec<Rational>> {
    let mut list: Vec<Vec<Rational>> = found.gradients.iter().map(|n| n.gradient.clone()).collect();
    list.sort();
    list
}

fn integers(found: &Neighbours) -> Vec<Vec<i64>> {
    sorted(found).iter().map(|g| small(g)).collect()
}

/// All gradients in the neighbourhood, by asking for each pattern of signs of the tied relus whether there are directions with
/// them.
fn by_patterns(case: &Case) -> Vec<Vec<i64>> {
    let ties = case.ties();
    let mut found = Vec::new();
    for pattern in 0..1u32 << ties.len() {
        let choice = |i: usize| ties.iter().position(|&t| t == i).is_some_and(|k| pattern >> k & 1 == 1);
        let mut rows: Vec<(Vec<i128>, bool)> = Vec::new();
        let mut twice = false;
        let gradient = case.forms(|i, value, form| {
            if value == 0 {
                let sign = if choice(i) { 1 } else { -1 };
                // a relu of what is zero anyway has no sign; one of the two patterns will do
                match form.iter().all(|&f| f == 0) {
                    true => twice |= choice(i),
                    false => rows.push((form.iter().map(|&f| i128::from(sign * f)).collect(), true)),
                }
            }
            value > 0 || value == 0 && choice(i)
        });
        if !twice && has_direction(rows) {
            found.push(gradient);
        }
    }
    found.sort();
    found.dedup();
    found
}

#[test]
fn random_programs_of_one_and_two_inputs() {
    let mut rng = Rng::new(11);
    let (mut compared, mut several) = (0, 0);
    for _ in 0..4000 {
        let case = case(&mut rng);
        if case.inputs > 2 || case.ties().len() > 10 {
            continue;
        }
        let model = model_at(&case.program(), &case.at);
        let found = all(&model);
        let expected = case.neighbours();
        assert_eq!(integers(&found), expected, "{case:?}");
        // and the brute force of this file against that of the other
        assert_eq!(by_patterns(&case), expected, "{case:?}");
        compared += 1;
        several += usize::from(expected.len() > 1);
    }
    assert!(compared > 1500 && several > 300, "{several} of {compared} with several gradients");
}

#[test]
fn random_programs_of_three_inputs() {
    let mut rng = Rng::new(12);
    let (mut compared, mut several) = (0, 0);
    for _ in 0..3000 {
        let case = case(&mut rng);
        if case.inputs != 3 || case.ties().len() > 9 {
            continue;
        }
        let found = all(&model_at(&case.program(), &case.at));
        let expected = by_patterns(&case);
        assert_eq!(integers(&found), expected, "{case:?}");
        compared += 1;
        several += usize::from(expected.len() > 1);
    }
    assert!(compared > 500 && several > 150, "{several} of {compared} with several gradients");
}

/// All gradients of a model with integer coefficients: every choice of winners whose cone has an inside.
fn brute(model: &LocalModel) -> Vec<Vec<i64>> {
    let sizes: Vec<usize> = model
        .nodes()
        .filter_map(|n| match n {
            Node::Max(members) => Some(members.len()),
            Node::Taken(_) => Some(1),
            Node::Norm(_) => panic!("a model with integer coefficients"),
            Node::Direction(_) | Node::Linear(_) | Node::Seam { .. } => None,
        })
        .collect();
    let p = model.dimension();
    let mut found = Vec::new();
    let mut picked = vec![0; sizes.len()];
    loop {
        let mut forms: Vec<Vec<i64>> = Vec::new();
        let mut rows: Vec<(Vec<i128>, bool)> = Vec::new();
        let mut kinks = picked.iter();
        for node in model.nodes() {
            let form = match node {
                Node::Direction(i) => (0..p).map(|k| i64::from(k == i)).collect(),
                Node::Linear(terms) => {
                    let mut sum = vec![0; p];
                    for t in terms {
                        let (c, den) = t.coefficient.small_parts().unwrap();
                        assert_eq!(den, 1);
                        sum.iter_mut().zip(&forms[t.node.index()]).for_each(|(s, x)| *s += c * x);
                    }
                    sum
                }
                Node::Norm(_) => panic!("a model with integer coefficients"),
                Node::Seam { taken, .. } => forms[taken.index()].clone(),
                Node::Max(members) | Node::Taken(members) => {
                    let best = &forms[members[*kinks.next().unwrap()].index()];
                    for other in members.iter().map(|m| &forms[m.index()]).filter(|f| *f != best) {
                        rows.push((best.iter().zip(other).map(|(a, b)| i128::from(a - b)).collect(), true));
                    }
                    best.clone()
                }
            };
            forms.push(form);
        }
        if has_direction(rows) {
            found.push(forms[model.outputs()[0].index()].clone());
        }
        let Some(kink) = (0..sizes.len()).find(|&k| picked[k] + 1 < sizes[k]) else { break };
        picked[..kink].fill(0);
        picked[kink] += 1;
    }
    found.sort();
    found.dedup();
    found
}

fn agrees(p: &Program, at: &[i64]) -> Neighbours {
    let model = model_at(p, at);
    let found = all(&model);
    assert_eq!(integers(&found), brute(&model), "{p}at {at:?}");
    found
}

/// Random layers of relus, abs, max and min with weights in {-1, 0, 1}.
#[test]
fn deep_programs() {
    let mut rng = Rng::new(13);
    let mut several = 0;
    for round in 0..300 {
        let p = 1 + rng.below(3);
        let depth = 2 + rng.below(3);
        let program = trace(p, |x| {
            let mut layer = x.to_vec();
            for _ in 0..depth {
                let mut next: Vec<Var<'_>> = Vec::new();
                for _ in 0..2 {
                    let combine = |rng: &mut Rng| {
                        let terms = layer.iter().map(|&v| v * (rng.within(1) as f64)).collect::<Vec<_>>();
                        terms.into_iter().reduce(|a, b| a + b).unwrap()
                    };
                    let (a, b, c) = (combine(&mut rng), combine(&mut rng), combine(&mut rng));
                    next.push(match rng.below(6) {
                        0 => abs(a),
                        1 => max(&[a, b, c]),
                        2 => min(&[a, b]),
                        _ => relu(a),
                    });
                }
                layer = [next, x[..1].to_vec()].concat();
            }
            layer[0] - layer[1] + layer[2]
        })
        .unwrap();
        let model = model_at(&program, &vec![0; p]);
        let found = all(&model);
        assert_eq!(integers(&found), brute(&model), "round {round}: {program}");
        several += usize::from(found.gradients.len() > 1);
    }
    assert!(several > 100, "only {several} have several gradients");
}

#[test]
fn the_largest_of_linear_forms_has_the_vertices_of_their_hull() {
    let mut rng = Rng::new(14);
    for _ in 0..200 {
        let (p, m) = (1 + rng.below(3), 2 + rng.below(7));
        let forms: Vec<Vec<i64>> = (0..m).map(|_| (0..p).map(|_| rng.within(3)).collect()).collect();
        let program = trace(p, |x| {
            let members: Vec<Var<'_>> = forms
                .iter()
                .map(|f| f.iter().zip(x).map(|(&c, &x)| x * c as f64).reduce(|a, b| a + b).unwrap())
                .collect();
            max(&members)
        })
        .unwrap();
        let found = agrees(&program, &vec![0; p]);
        let points: Vec<Vec<Rational>> = forms.iter().map(|f| ints(f)).collect();
        let mut corners: Vec<Vec<i64>> = hull_vertices(&points)
            .unwrap()
            .into_iter()
            .zip(&forms)
            .filter(|(vertex, _)| *vertex)
            .map(|(_, f)| f.clone())
            .collect();
        corners.sort();
        corners.dedup();
        assert_eq!(integers(&found), corners, "{forms:?}");
        assert!(found.vertices(&Limits::default(), |_| ()).iter().all(|v| *v == Some(true)));
        assert_eq!(found.cells as usize, corners.len());
    }
}

#[test]
fn ties_that_cancel() {
    let counts = |p: &Program, at: &[i64]| {
        let found = agrees(p, at);
        (found.cells, found.gradients.len())
    };
    let zero = trace(1, |x| relu(x[0]) - relu(relu(x[0]))).unwrap();
    assert_eq!(counts(&zero, &[0]), (2, 1));
    let same = trace(2, |x| abs(x[0] - x[1]) - max(&[x[0], x[1]]) + min(&[x[0], x[1]])).unwrap();
    assert_eq!(counts(&same, &[3, 3]), (2, 1));
    // proportional switches are one hyperplane
    let proportional = trace(2, |x| relu(x[0] - x[1]) + relu(3.0 * x[1] - 3.0 * x[0]) + abs(2.0 * x[0] - 2.0 * x[1]));
    assert_eq!(counts(&proportional.unwrap(), &[0, 0]), (2, 2));
    // where the first relu is off, the second cannot matter: three cells, not four
    let cut = trace(2, |x| {
        let (a, b) = (relu(x[0]), relu(x[1]));
        max(&[b + a, b]) - b
    });
    assert_eq!(counts(&cut.unwrap(), &[0, 0]), (3, 2));
    // a program without a kink, and one whose kinks are decided
    assert_eq!(counts(&trace(2, |x| 2.0 * x[0] - x[1]).unwrap(), &[0, 0]), (1, 1));
    assert_eq!(counts(&trace(2, |x| abs(x[0]) + abs(x[1])).unwrap(), &[1, -5]), (1, 1));
    let constant = trace(1, |x| x[0] * 0.0 + 3.0).unwrap();
    assert_eq!(counts(&constant, &[0]), (1, 1));
}

#[test]
fn each_output_has_its_own() {
    let program = trace_shapes(&[Shape::new([2]).unwrap()], |x| {
        let v = x[0];
        vec![abs(v.at(&[0])), max(&[v.at(&[0]), v.at(&[1])]) + relu(v.at(&[1]))]
    });
    let program: Program = program.unwrap();
    let zeros = Tensor::new(Shape::new([2]).unwrap(), ints(&[0, 0])).unwrap();
    let model = localize(&program, &[zeros]).unwrap();
    let ask = |k| neighbouring_gradients(&model, k, &Limits::default());
    assert_eq!(integers(&ask(0).unwrap()), [[-1, 0], [1, 0]]);
    // (0, 2) where y > 0, x; (1, 1) where x > y > 0; ...
    assert_eq!(integers(&ask(1).unwrap()), [[0, 1], [0, 2], [1, 0], [1, 1]]);
    assert!(ask(2).is_err());
}

fn counted(name: &str, normals: &Arrangement, expected: u64) {
    let p = normals[0].len();
    let model = model_at(&sum_of_relus(normals, 7), &vec![0; p]);
    let found = neighbouring_gradients(&model, 0, &Limits::default()).unwrap();
    assert!(found.complete());
    assert_eq!((found.cells, found.gradients.len() as u64), (expected, expected), "{name}");
    // all of them for small ones, some for large ones
    let step = found.gradients.len().div_ceil(500);
    for n in found.gradients.iter().step_by(step) {
        let along = clarke_along(&model, 0, &n.direction).unwrap();
        assert_eq!(along.map(|e| e.gradient).as_ref(), Some(&n.gradient), "{name}");
    }
}

#[test]
fn chambers_of_known_arrangements() {
    let factorial = |n: u64| (1..=n).product::<u64>();
    for n in 1..=5 {
        counted(&format!("braid {n}"), &braid(n), factorial(n as u64 + 1));
        let boolean: Arrangement =
            (0..2 * n).map(|i| (0..2 * n).map(|k| Rational::from(usize::from(i == k))).collect()).collect();
        counted(&format!("boolean {}", 2 * n), &boolean, 1 << (2 * n));
    }
    counted("resonance 3", &resonance(3), 32);
    counted("resonance 4", &resonance(4), 370);
    counted("cross-polytope 5", &cross_polytope(5), 454);
}

#[test]
fn chambers_of_random_arrangements() {
    let mut rng = Rng::new(15);
    for _ in 0..60 {
        let (p, n, range) = (2 + rng.below(3), 3 + rng.below(7), [1, 2, 1000][rng.below(3)]);
        let mut normals: Arrangement = Vec::new();
        while normals.len() < n {
            let v: Vec<i64> = (0..p).map(|_| rng.within(range)).collect();
            if v.iter().any(|&x| x != 0) {
                normals.push(ints(&v));
            }
        }
        // weights of parallel hyperplanes add up, and their sums are as generic
        counted(&format!("{normals:?}"), &normals, chambers(normals.clone()));
    }
    // in general position, by Zaslavsky: 2 (C(n-1, 0) + ... + C(n-1, p-1))
    let moments: Arrangement = (1..=9).map(|t| ints(&[1, t, t * t, t * t * t])).collect();
    counted("moment curve", &moments, 2 * (1 + 8 + 28 + 56));
    assert_eq!(chambers(moments), 186);
}

#[test]
fn chambers_of_the_shared_arrangements() {
    let Some(folder) = shared_arrangements() else { return };
    let table = std::fs::read_to_string(folder.join("EXPECTED.tsv")).unwrap();
    let (mut given, mut computed) = (0, 0);
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let normals = read_arrangement(&std::fs::read_to_string(folder.join(columns[0])).unwrap());
        match columns[3].parse::<u64>() {
            Ok(expected) if expected <= 20_000 => {
                counted(columns[0], &normals, expected);
                given += 1;
            }
            Ok(_) => {}
            // not known to the table
            Err(_) => {
                counted(columns[0], &normals, chambers(normals.clone()));
                computed += 1;
            }
        }
    }
    assert!(given >= 15 && computed >= 3, "{given} given, {computed} computed");
}

/// The tree asks few linear programs: most questions are answered by a walk or by a contradiction that is known.
#[test]
fn few_linear_programs() {
    let found = all(&model_at(&sum_of_relus(&braid(6), 3), &[0; 6]));
    assert!(found.work.programs * 5 < found.cells, "{:?}", found.work);
    let w = found.work;
    assert!(w.walks + w.refuted + w.programs == w.questions, "{w:?}");
}

#[test]
fn weights_of_both_signs() {
    // x and -x cancel: relu(v) - relu(-v) is linear
    let normals: Arrangement = [[1, 2], [-1, -2], [1, 0], [0, 1]].iter().map(|v| ints(v)).collect();
    let p = weighted_relus(&normals, &ints(&[5, -5, 2, -3]));
    let found = agrees(&p, &[0, 0]);
    assert_eq!((found.cells, found.gradients.len()), (6, 4));
}

#[test]
fn limits_end_it_with_what_was_found() {
    let model = model_at(&sum_of_relus(&braid(5), 1), &[0; 5]);
    let within = |limits: &Limits| {
        let found = neighbouring_gradients(&model, 0, limits).unwrap();
        checked(&model, &found);
        assert!(!found.complete());
        (found.cells, found.gradients.len(), found.limit.unwrap())
    };
    assert_eq!(within(&Limits { cells: 100, ..Limits::default() }), (100, 100, EnumerateLimit::Cells(100)));
    assert_eq!(within(&Limits { cells: 0, ..Limits::default() }), (0, 0, EnumerateLimit::Cells(0)));
    assert_eq!(within(&Limits { gradients: 33, ..Limits::default() }), (33, 33, EnumerateLimit::Gradients(33)));
    let (cells, _, limit) = within(&Limits { deadline: Some(Instant::now()), ..Limits::default() });
    assert!(cells < 200 && limit == EnumerateLimit::Time);
    // limits that are just enough are no limits
    let enough = &Limits { cells: 720, gradients: 720, ..Limits::default().within(Duration::from_secs(600)) };
    let found = neighbouring_gradients(&model, 0, enough).unwrap();
    assert!(found.complete() && found.cells == 720);
}

#[test]
fn events_are_told_and_may_stop_it() {
    let model = model_at(&sum_of_relus(&braid(6), 1), &[0; 6]);
    let (mut told, mut progress, mut last) = (Vec::new(), 0, 0);
    let found = Session::new(&model, 0)
        .neighbouring_gradients(&Limits::default(), |event| match event {
            EnumerateEvent::Gradient(n) => told.push(n.gradient.clone()),
            EnumerateEvent::Progress { cells, gradients, .. } => {
                assert!(cells >= last && gradients as u64 <= cells);
                last = cells;
                progress += 1;
            }
        })
        .unwrap();
    assert_eq!(told, found.gradients.iter().map(|n| n.gradient.clone()).collect::<Vec<_>>());
    assert!(progress > 10);
    let cancel = Cancel::new();
    let limits = Limits::default().cancelled_by(&cancel);
    let stopped = Session::new(&model, 0)
        .neighbouring_gradients(&limits, |event| match event {
            EnumerateEvent::Progress { cells, .. } if cells > 1000 => cancel.stop(),
            _ => {}
        })
        .unwrap();
    checked(&model, &stopped);
    assert_eq!(stopped.limit, Some(EnumerateLimit::Stopped));
    assert!(stopped.cells > 1000 && stopped.cells < 2000);
}

#[test]
fn enclosed_models_are_never_complete() {
    let p = trace(2, |x| relu(x[0] - x[1]) * exp(x[0] + 1.0) + abs(x[1])).unwrap();
    let model = model_at(&p, &[0, 0]);
    assert!(!model.is_exact());
    let found = neighbouring_gradients(&model, 0, &Limits::default()).unwrap();
    assert_eq!((found.cells, found.limit, found.complete()), (4, Some(EnumerateLimit::Enclosed(128)), false));
    // where relu is 0 the gradient is exact
    assert_eq!(found.gradients.iter().filter(|n| n.radius.is_some()).count(), 2);
    assert!(found.vertices(&Limits::default(), |_| ()).iter().all(Option::is_none));
    let few = neighbouring_gradients(&model, 0, &Limits { gradients: 2, ..Default::default() }).unwrap();
    assert_eq!((few.limit, few.exact), (Some(EnumerateLimit::Gradients(2)), false));
    // exp(0) is exact, and so is everything here
    let p = trace(2, |x| relu(x[0] - x[1]) * exp(x[0]) + abs(x[1]) * x[0] * 0.5).unwrap();
    let found = all(&model_at(&p, &[0, 0]));
    assert_eq!(sorted(&found), [ints(&[0, 0]), ints(&[1, -1])]);
}

#[test]
fn between_curved_kinks_there_may_be_more() {
    use crease_core::elu;
    // beside the parabola, or the exponential, the gradient is near (0, -2)
    for p in
        [trace(2, |x| abs(x[1] - x[0] * x[0]) - abs(x[1])), trace(2, |x| abs(x[1] - elu(x[0], 1.0)) - abs(x[1] - x[0]))]
    {
        let found = neighbouring_gradients(&model_at(&p.unwrap(), &[0, 0]), 0, &Limits::default()).unwrap();
        assert_eq!((found.limit, found.complete()), (Some(EnumerateLimit::FirstOrder), false));
    }
}

/// The border of a selection whose branches agree to first order only need not lie opposite itself: the direction of an opposite
/// cell is asked about as it is, since along that border there may be jumps.
#[test]
fn directions_of_opposite_cells_leave_borders() {
    let text = "program a(g, y) = y
program b(g, y) = y + 3 * g * g
program c(w, y) = y + w
program d(w, y) = y + 2 * w
program f(x, y) {
  let g = abs(sin(x)) + x + x
  let s = y - 0.5
  let u = select { s > g => a(g, y), else => b(g, y) }
  let w = u - 0.5
  return select { w > 0 => c(w, y), else => d(w, y) } - x
}";
    let p = crease_formats::parse(text).unwrap().main().clone();
    let point = [Rational::ZERO, Rational::new(1, 2).unwrap()].map(Tensor::scalar);
    let model = localize(&p, &point).unwrap();
    let found = all(&model);
    assert!(found.gradients.len() > 1);
    for n in &found.gradients {
        let (x, y) = (&n.direction[0], &n.direction[1]);
        let border = x.abs() + x + x;
        assert_ne!(border, *y, "along the border: {:?}", n.direction);
    }
}
