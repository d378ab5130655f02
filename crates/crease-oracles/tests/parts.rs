//! Searches that are shared: what parts of the directions give together is what the whole gives, and one certificate proves it.

mod support;

use crease_check::{Claim, check};
use crease_core::Limits;
use crease_core::local::LocalModel;
use crease_core::number::Rational;
use crease_core::{abs, trace};
use crease_oracles::{
    Cube, Effort, EnumerateLimit, Limit, Neighbours, OracleError, PartOutcome, SearchPart, Session, SignCube, Verdict,
    clarke_along,
};
use support::d0::case;
use support::networks::{Head, network};
use support::{Rng, model_at};

/// All gradients of the parts, each of which is taken apart again if it has an even number.
fn in_parts(model: &LocalModel, wanted: usize) -> (usize, Neighbours) {
    let (session, limits) = (Session::new(model, 0), Limits::default());
    let mut cubes = Vec::new();
    for (i, cube) in session.cubes(&Cube::default(), wanted, &limits).unwrap().into_iter().enumerate() {
        // what is sent comes back
        assert_eq!(cube.to_string().parse::<Cube>().unwrap(), cube);
        match i % 2 {
            0 => cubes.extend(session.cubes(&cube, 3, &limits).unwrap()),
            _ => cubes.push(cube),
        }
    }
    // each by somebody who knows nothing of the others
    let part = |cube: &Cube| Session::new(model, 0).neighbouring_gradients_in(cube, &limits, |_| ()).unwrap();
    (cubes.len(), Neighbours::united(cubes.iter().map(part), None, &limits))
}

fn sorted(found: &Neighbours) -> Vec<(Vec<Rational>, u64)> {
    let mut list: Vec<_> = found.gradients.iter().map(|n| (n.gradient.clone(), n.cells)).collect();
    list.sort();
    list
}

#[test]
fn parts_give_what_the_whole_gives() {
    let mut rng = Rng::new(31);
    let mut several = 0;
    for i in 0..600 {
        let case = case(&mut rng);
        let model = model_at(&case.program(), &case.at);
        let whole = Session::new(&model, 0).neighbouring_gradients(&Limits::default(), |_| ()).unwrap();
        let (parts, united) = in_parts(&model, 2 + i % 7);
        several += usize::from(parts > 1);
        assert_eq!(sorted(&united), sorted(&whole), "{case:?}");
        assert_eq!((united.cells, united.limit, united.complete()), (whole.cells, whole.limit, whole.complete()));
        for n in &united.gradients {
            let along = clarke_along(&model, 0, &n.direction).unwrap().expect("the direction is generic");
            assert_eq!(along.gradient, n.gradient);
        }
        let limits = Limits::default();
        let corners = |found: &Neighbours| -> Vec<_> {
            let vertices = found.vertices(&limits, |_| ());
            let mut list: Vec<_> = found.gradients.iter().map(|n| n.gradient.clone()).zip(vertices).collect();
            list.sort();
            list
        };
        assert_eq!(corners(&united), corners(&whole));
    }
    assert!(several > 150, "{several} were taken apart");
}

#[test]
fn cubes_of_other_models_are_refused() {
    let one = trace(2, |x| abs(x[0]) + abs(x[1])).unwrap();
    let model = model_at(&one, &[0, 0]);
    let session = Session::new(&model, 0);
    for wrong in ["7:0", "0:5", "0:0 1:3"] {
        let cube: Cube = wrong.parse().unwrap();
        let answer = session.neighbouring_gradients_in(&cube, &Limits::default(), |_| ());
        assert_eq!(answer, Err(OracleError::Cube), "{wrong}");
    }
}

#[test]
fn what_is_missing_is_said() {
    let p = trace(4, |x| abs(x[0]) + abs(x[1]) - abs(x[2]) + abs(x[3])).unwrap();
    let model = model_at(&p, &[0; 4]);
    let (session, limits) = (Session::new(&model, 0), Limits::default());
    let cubes = session.cubes(&Cube::default(), 4, &limits).unwrap();
    let parts = || cubes[1..].iter().map(|c| session.neighbouring_gradients_in(c, &limits, |_| ()).unwrap());
    let found = Neighbours::united(parts(), Some(EnumerateLimit::Time), &limits);
    assert!(!found.complete() && found.limit == Some(EnumerateLimit::Time) && found.gradients.len() < 16);
    let few = Limits { gradients: 3, ..Limits::default() };
    let found = Neighbours::united(parts(), None, &few);
    assert_eq!((found.gradients.len(), found.limit), (3, Some(EnumerateLimit::Gradients(3))));
}

/// Parts of a search: all with so many signs, of which every third is halved.
fn searched(model: &LocalModel, signs: u32) -> Vec<(SignCube, SearchPart)> {
    let effort = Effort::default();
    let cubes = SignCube::all(signs).into_iter().enumerate();
    let cubes = cubes.flat_map(|(i, cube)| if i % 3 == 0 { cube.halves().to_vec() } else { vec![cube] });
    let part = |cube: SignCube| {
        let done = Session::new(model, 0).differentiable_in(&cube, &effort).unwrap();
        (cube, done)
    };
    cubes.map(part).collect()
}

#[test]
fn verdicts_of_parts_are_those_of_the_whole_with_one_certificate() {
    let mut rng = Rng::new(13);
    let (mut yes, mut no) = (0, 0);
    for (inputs, width, layers, head) in [
        (4, 6, 3, Head::Zero),
        (5, 8, 4, Head::Zero),
        (8, 12, 3, Head::Zero),
        (4, 6, 3, Head::Orders),
        (6, 8, 3, Head::Orders),
        (4, 5, 3, Head::Narrow),
        (6, 10, 3, Head::Narrow),
        (5, 10, 3, Head::Random),
    ] {
        let model = model_at(&network(inputs, width, layers, head, &mut rng), &vec![0; inputs]);
        let session = Session::new(&model, 0);
        let whole = session.differentiable(&Effort::default()).unwrap();
        for signs in [0, 1, 3] {
            let parts = searched(&model, signs);
            let decision = session.differentiable_united(parts.clone(), None, &Effort::default()).unwrap();
            assert_eq!(decision.verdict.word(), whole.verdict.word(), "{head:?}");
            let text = decision.certificate().expect("a yes or no has a certificate");
            let checked = check(text.as_bytes()).unwrap_or_else(|e| panic!("{head:?} in {} parts: {e}", parts.len()));
            match (&decision.verdict, checked.claim) {
                (Verdict::Yes(e), Claim::Differentiable { gradient }) => {
                    assert!(e.gradient.iter().enumerate().all(|(i, x)| gradient.get(i) == *x));
                    yes += 1;
                    // without one of them nothing is known
                    let but_one = || parts[..parts.len() - 1].to_vec();
                    let open = session.differentiable_united(but_one(), Some(Limit::Time), &Effort::default()).unwrap();
                    assert_eq!(open.verdict.word(), "unknown");
                    let error = session.differentiable_united(but_one(), None, &Effort::default()).unwrap_err();
                    assert_eq!(error, OracleError::Cube);
                }
                (Verdict::No(_), Claim::NotDifferentiable { .. }) => no += 1,
                (verdict, claim) => panic!("{verdict:?} is certified by {claim:?}"),
            }
        }
    }
    assert!(yes >= 12 && no >= 3, "{yes} yes, {no} no");
}

#[test]
fn a_part_that_tells_what_is_not_so_is_refused() {
    let mut rng = Rng::new(5);
    let model = model_at(&network(4, 6, 3, Head::Zero, &mut rng), &[0; 4]);
    let session = Session::new(&model, 0);
    let mut parts = searched(&model, 1);
    parts[0].1.outcome = PartOutcome::Found(vec![Rational::ONE; 4]);
    assert_eq!(session.differentiable_united(parts, None, &Effort::default()).unwrap_err(), OracleError::Cube);
}
