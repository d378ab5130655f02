//! Is it differentiable? Against brute force, against an exact sweep in the plane, and with every certificate checked by a crate that does not
//! know the search.

mod support;

use crease_check::{Claim, check};
use crease_core::local::LocalModel;
use crease_core::{Cancel, Limits};
use crease_core::{Var, max, min, relu, trace};
use crease_oracles::{Argument, Decision, Effort, Limit, Verdict, clarke_along, differentiable};
use std::cell::Cell;
use std::time::Duration;
use support::d0::{case, small};
use support::networks::{Head, network, sum};
use support::{Rng, dot, ints, model_at, r};

/// All is left to the search.
fn search() -> Effort<'static> {
    Effort { directions: 0, ..Effort::default() }
}

/// Decides, checks the certificate, and says whether it is differentiable.
fn decided(model: &LocalModel, effort: &Effort<'_>) -> (bool, Decision) {
    let decision = differentiable(model, 0, effort).unwrap();
    let text = decision.certificate().expect("a yes or no has a certificate");
    let checked = check(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let yes = match (&decision.verdict, &checked.claim) {
        (Verdict::Yes(e), Claim::Differentiable { gradient }) => {
            let same = e.gradient.iter().enumerate().all(|(i, x)| gradient.get(i) == *x);
            assert!(same, "the gradient in the certificate is another one");
            true
        }
        (Verdict::No(sides), Claim::NotDifferentiable { .. }) => {
            assert_ne!(sides[0].gradient, sides[1].gradient);
            for side in sides.iter() {
                let again = clarke_along(model, 0, &side.direction).unwrap().expect("the direction is generic");
                assert_eq!(again.gradient, side.gradient);
            }
            false
        }
        (verdict, claim) => panic!("{verdict:?} is certified by {claim:?}"),
    };
    (yes, decision)
}

#[test]
fn verdicts_on_random_programs_are_those_of_brute_force() {
    let mut rng = Rng::new(11);
    let (mut yes, mut no, mut searched) = (0, 0, 0);
    for _ in 0..4000 {
        let case = case(&mut rng);
        let m = model_at(&case.program(), &case.at);
        for effort in [Effort::default(), search()] {
            let (answer, decision) = decided(&m, &effort);
            searched += usize::from(decision.by == Argument::Search);
            *(if answer { &mut yes } else { &mut no }) += 1;
            if case.inputs <= 2 && case.ties().len() <= 10 {
                let neighbours = case.neighbours();
                assert_eq!(answer, neighbours.len() == 1, "{case:?}: {neighbours:?}");
                if let Verdict::No(sides) = &decision.verdict {
                    assert!(sides.iter().all(|s| neighbours.contains(&small(&s.gradient))), "{case:?}");
                }
            }
        }
    }
    assert!(yes > 500 && no > 500 && searched > 500, "{yes} yes, {no} no, {searched} searched");
}

/// Whether a program of two inputs at 0 is linear: cuts the plane into sectors, exactly, until everything is linear in each.
fn linear_in_the_plane(model: &LocalModel) -> bool {
    use crease_core::local::Node;
    use crease_core::number::Rational;
    type Vector = [Rational; 2];
    let cross = |a: &Vector, b: &Vector| &a[0] * &b[1] - &a[1] * &b[0];
    let value = |f: &Vector, d: &Vector| &f[0] * &d[0] + &f[1] * &d[1];
    // sectors between two rays, less than half a turn each, counter-clockwise, with the forms of all nodes so far
    let axes = [[1, 0], [0, 1], [-1, 0], [0, -1]].map(|d: [i64; 2]| d.map(Rational::from));
    let mut sectors: Vec<(Vector, Vector, Vec<Vector>)> =
        (0..4).map(|i| (axes[i].clone(), axes[(i + 1) % 4].clone(), Vec::new())).collect();
    for node in model.nodes() {
        let mut next = Vec::new();
        for (from, to, mut forms) in sectors {
            match node {
                Node::Direction(i) => forms.push([0, 1].map(|k| Rational::from(i64::from(k == i)))),
                Node::Linear(terms) => {
                    let mut sum = [Rational::ZERO, Rational::ZERO];
                    for t in terms {
                        for (s, f) in sum.iter_mut().zip(&forms[t.node.index()]) {
                            s.add_mul(&t.coefficient, f);
                        }
                    }
                    forms.push(sum);
                }
                Node::Taken(members) => forms.push(forms[members[0].index()].clone()),
                Node::Norm(_) => panic!("a piecewise-linear model"),
                Node::Seam { taken, .. } => forms.push(forms[taken.index()].clone()),
                Node::Max(members) => {
                    // the largest member along the first ray, and just after it, then on to where another one overtakes it
                    let mut at = from.clone();
                    loop {
                        let best = members
                            .iter()
                            .map(|m| &forms[m.index()])
                            .max_by(|f, g| {
                                let turn = |f: &Vector| value(f, &[-&at[1], at[0].clone()]);
                                value(f, &at).cmp(&value(g, &at)).then_with(|| turn(f).cmp(&turn(g)))
                            })
                            .unwrap()
                            .clone();
                        // the first ray after `at` on which a member catches up
                        let mut end = to.clone();
                        for m in members {
                            let g = &forms[m.index()];
                            let gap: Vector = [&best[0] - &g[0], &best[1] - &g[1]];
                            for ray in [[gap[1].clone(), -&gap[0]], [-&gap[1], gap[0].clone()]] {
                                let inside = cross(&at, &ray).is_positive() && cross(&ray, &end).is_positive();
                                if inside && value(&gap, &at).signum() >= 0 {
                                    end = ray;
                                }
                            }
                        }
                        let mut cut = forms.clone();
                        cut.push(best);
                        next.push((at, end.clone(), cut));
                        if cross(&end, &to).is_zero() {
                            break;
                        }
                        at = end;
                    }
                    continue;
                }
            }
            next.push((from, to, forms));
        }
        sectors = next;
    }
    let out = model.outputs()[0].index();
    sectors.iter().all(|s| s.2[out] == sectors[0].2[out])
}

#[test]
fn deep_networks_of_two_inputs_are_those_of_an_exact_sweep() {
    let mut rng = Rng::new(12);
    let (mut yes, mut no) = (0, 0);
    for i in 0..120 {
        let head = [Head::Random, Head::Zero, Head::Orders, Head::Narrow][i % 4];
        let (width, layers) = (2 + rng.below(6), 2 + rng.below(5));
        let p = network(2, width, layers, head, &mut rng);
        let m = model_at(&p, &[0, 0]);
        let (answer, _) = decided(&m, &if i % 8 < 4 { Effort::default() } else { search() });
        assert_eq!(answer, linear_in_the_plane(&m), "{head:?}, width {width}, {layers} layers");
        *(if answer { &mut yes } else { &mut no }) += 1;
    }
    assert!(yes > 20 && no > 20, "{yes} yes, {no} no");
}

#[test]
fn deep_networks_have_certificates() {
    let mut rng = Rng::new(13);
    let mut most = 0;
    for (inputs, width, layers, head) in [
        (4, 6, 3, Head::Zero),
        (5, 8, 4, Head::Zero),
        (8, 20, 5, Head::Zero),
        (10, 25, 6, Head::Zero),
        (4, 6, 3, Head::Orders),
        (6, 8, 3, Head::Orders),
        (8, 10, 3, Head::Orders),
        (4, 5, 3, Head::Narrow),
        (6, 10, 3, Head::Narrow),
        (5, 8, 4, Head::Narrow),
        (5, 10, 3, Head::Random),
        (10, 40, 5, Head::Random),
    ] {
        let m = model_at(&network(inputs, width, layers, head, &mut rng), &vec![0; inputs]);
        most = most.max(m.kinks().len());
        let (answer, decision) = decided(&m, &Effort::default());
        match head {
            Head::Zero | Head::Orders => assert!(answer && decision.by == Argument::Search, "{head:?}"),
            Head::Random => assert!(!answer),
            Head::Narrow => {}
        }
    }
    assert!(most >= 150, "the largest has {most} kinks only");
}

#[test]
fn a_narrow_cone_is_found() {
    // positive only where x is between 0 and y / 1000000, and z between 0 and x / 1000000
    let p = trace(3, |x| {
        let far = 1_000_000.0;
        min(&[relu(x[0]), relu(x[1] - far * x[0]), relu(x[2]), relu(x[0] - far * x[2])])
    })
    .unwrap();
    let m = model_at(&p, &[0, 0, 0]);
    let (answer, decision) = decided(&m, &Effort::default());
    assert!(!answer && decision.by == Argument::Search);
    // and closed for good
    let p = trace(3, |x| {
        let far = 1_000_000.0;
        min(&[relu(x[0]), relu(x[1] - far * x[0]), relu(x[2]), relu(x[0] - far * x[2]), relu(x[2] - x[1])])
    })
    .unwrap();
    let (answer, decision) = decided(&model_at(&p, &[0, 0, 0]), &Effort::default());
    assert!(answer && decision.by == Argument::Search && decision.counts.lemmas > 0);
}

#[test]
fn rewriting_finds_what_cancels() {
    type Make = for<'t> fn(&[Var<'t>]) -> Var<'t>;
    let cases: [(Make, [i64; 2]); 7] = [
        (|x| relu(x[0]) - relu(-x[0]) + 0.0 * x[1], [1, 0]),
        (|x| max(&[x[0], x[1]]) + min(&[x[0], x[1]]), [1, 1]),
        (|x| relu(x[0] - x[1]) + x[1] - max(&[x[1], x[0]]) + x[0], [1, 0]),
        (|x| relu(x[0] - x[1]) + relu(x[1]) - relu(-x[1]) - max(&[x[0], x[1]]) + 3.0 * x[1], [0, 3]),
        (|x| relu(2.0 * x[0]) - 2.0 * relu(x[0]) + x[1], [0, 1]),
        (|x| relu(relu(x[0]) + 2.0 * relu(x[1])) - relu(x[0]) - relu(x[1]) - relu(x[1]), [0, 0]),
        (|x| relu(-relu(x[0]) - relu(x[1])) + x[0] - x[1], [1, -1]),
    ];
    for (make, gradient) in cases {
        let (answer, decision) = decided(&model_at(&trace(2, make).unwrap(), &[0, 0]), &Effort::default());
        assert!(answer);
        assert_eq!(decision.by, Argument::Rewriting);
        let Verdict::Yes(e) = decision.verdict else { unreachable!() };
        assert_eq!(e.gradient, ints(&gradient));
    }
}

#[test]
fn a_smooth_point_needs_no_argument() {
    let (answer, decision) = decided(&model_at(&trace(1, |x| relu(x[0]) * x[0]).unwrap(), &[3]), &Effort::default());
    assert!(answer && decision.by == Argument::NoKinks);
    let Verdict::Yes(e) = decision.verdict else { unreachable!() };
    assert_eq!(e.gradient, [r("6")]);
}

#[test]
fn limits_are_kept_and_told() {
    let mut rng = Rng::new(14);
    let m = model_at(&network(8, 16, 4, Head::Orders, &mut rng), &[0; 8]);
    let unknown = |effort: &Effort<'_>| match differentiable(&m, 0, effort).unwrap() {
        Decision { verdict: Verdict::Unknown { limit, best }, .. } => {
            // without any time there is not even a first gradient
            assert_eq!(best.len(), usize::from(limit != Limit::Time));
            limit
        }
        other => panic!("{:?} by {:?}", other.verdict, other.by),
    };
    assert_eq!(
        unknown(&Effort { limits: Limits { conflicts: 3, ..Limits::default() }, ..search() }),
        Limit::Conflicts(3)
    );
    assert_eq!(unknown(&Effort { limits: Limits::default().within(Duration::ZERO), ..search() }), Limit::Time);
    let (asked, cancel) = (Cell::new(0), Cancel::new());
    let stop = |_: &crease_oracles::Progress| {
        asked.set(asked.get() + 1);
        if asked.get() == 3 {
            cancel.stop();
        }
    };
    let limits = Limits::default().cancelled_by(&cancel);
    assert_eq!(unknown(&Effort { limits, watch: Some(&stop), ..search() }), Limit::Stopped);
    assert_eq!(asked.get(), 3);
}

#[test]
fn enclosed_models_are_decided_only_where_enclosures_can() {
    use crease_core::local::{Precision, localize_within};
    use crease_core::{Rational, Tensor, exp, log};
    // enclosures show that there is a kink, though its slopes are rounded
    let rounded = model_at(&trace(2, |x| exp(x[0]) * relu(x[1])).unwrap(), &[1, 0]);
    let decision = differentiable(&rounded, 0, &Effort::default()).unwrap();
    let Verdict::No(sides) = &decision.verdict else { panic!("{:?}", decision.verdict) };
    assert_eq!(decision.by, Argument::Enclosure);
    let mut slopes: Vec<f64> = sides.iter().map(|s| s.gradient[1].to_f64()).collect();
    slopes.sort_by(f64::total_cmp);
    assert_eq!(slopes, [0.0, std::f64::consts::E]);
    let certificate = decision.certificate().expect("a no has a certificate");
    let claim = check(certificate.as_bytes()).unwrap().claim;
    assert!(matches!(claim, Claim::NotDifferentiableEnclosed { bits: 128, coordinate: 1, .. }), "{claim:?}");
    // the kinks cancel, but with rounded slopes that cannot be seen
    let cancels = trace(2, |x| exp(x[0]) * relu(x[1]) - exp(x[0] * 0.5) * exp(x[0] * 0.5) * relu(-x[1])).unwrap();
    let decision = differentiable(&model_at(&cancels, &[1, 0]), 0, &Effort::default()).unwrap();
    let Verdict::Unknown { limit: Limit::Bits(128), best } = &decision.verdict else {
        panic!("{:?}", decision.verdict)
    };
    assert_eq!(best.len(), 1);
    // with one weight of what cancels exactly, it can
    let cancels = trace(2, |x| exp(x[0]) * relu(x[1]) - exp(x[0]) * relu(-x[1])).unwrap();
    let decision = differentiable(&model_at(&cancels, &[1, 0]), 0, &Effort::default()).unwrap();
    assert!(matches!(decision.verdict, Verdict::Yes(_)), "{:?}", decision.verdict);
    // they almost cancel, which takes bits to see
    let almost = trace(2, |x| {
        let (a, b) = (exp(x[0]), exp(x[0] + 1e-17));
        (a - b) * relu(x[1])
    })
    .unwrap();
    let zero = [1, 0].map(|x| Tensor::scalar(Rational::from(x)));
    let with = |bits| {
        let model =
            localize_within(&almost, &zero, Precision { bits, limit: bits }, &crease_core::Limits::default()).unwrap();
        differentiable(&model, 0, &Effort::default()).unwrap().verdict
    };
    assert!(matches!(with(40), Verdict::Unknown { limit: Limit::Bits(40), .. }));
    assert!(matches!(with(80), Verdict::No(_)));
    // no kink is active: rounding cannot hide one
    let smooth = model_at(&trace(1, |x| exp(x[0])).unwrap(), &[1]);
    assert!(matches!(differentiable(&smooth, 0, &Effort::default()).unwrap().verdict, Verdict::Yes(_)));
    // where exp and log are rational all is exact
    let exact =
        model_at(&trace(2, |x| exp(x[0]) * relu(x[1]) - relu(-x[1]) * (1.0 + log(x[0] + 1.0))).unwrap(), &[0, 0]);
    let (answer, decision) = decided(&exact, &Effort::default());
    assert!(answer);
    let Verdict::Yes(e) = decision.verdict else { unreachable!() };
    assert_eq!(e.gradient, ints(&[0, 1]));
}

#[test]
fn a_sum_of_enclosed_numbers_is_neither_of_them() {
    use crease_core::{abs, exp};
    // (n + e) |x| - e |x| to first order, with an n that is 0 although no enclosure of it says so
    for first in [true, false] {
        let p = trace(1, |x| {
            let [one, less] = [1.0, -1.0].map(|c| exp(x[0].tape().constant(c)));
            let size = abs(x[0]);
            let (n, e) = (size + (one * less - 1.0), size + exp(x[0].tape().constant(0.5)));
            let product = if first { n * e } else { e * n };
            product - e * size
        });
        let model = model_at(&p.unwrap(), &[0]);
        assert!(!model.is_exact());
        let decision = differentiable(&model, 0, &Effort::default()).unwrap();
        assert!(matches!(decision.verdict, Verdict::Unknown { .. }), "{:?}", decision.verdict);
    }
}

/// Corollaries: deciding non-differentiability, finding two Clarke subgradients and finding two lexicographic subgradients are the
/// same question, since for piecewise-linear functions the lexicographic subdifferential is the set of neighbouring gradients.
#[test]
fn two_lexicographic_subgradients_exist_iff_it_is_not_differentiable() {
    use crease_oracles::{identity, lexicographic};
    let mut rng = Rng::new(15);
    let (mut yes, mut no) = (0, 0);
    for _ in 0..600 {
        let case = case(&mut rng);
        let m = model_at(&case.program(), &case.at);
        let (answer, decision) = decided(&m, &Effort::default());
        match &decision.verdict {
            Verdict::No(sides) => {
                no += 1;
                for side in sides.iter() {
                    // a basis that begins with the direction gives the very subgradient as a lexicographic one
                    let mut basis = identity(case.inputs);
                    let k = side.direction.iter().position(|x| !x.is_zero()).unwrap();
                    basis.swap(0, k);
                    basis[0] = side.direction.clone();
                    assert_eq!(lexicographic(&m, 0, &basis).unwrap().gradient, side.gradient, "{case:?}");
                }
            }
            Verdict::Yes(e) => {
                yes += 1;
                for _ in 0..4 {
                    let mut basis = identity(case.inputs);
                    basis[0] =
                        (0..case.inputs).map(|i| rng.within(3) * 2 + i64::from(i == 0)).map(Into::into).collect();
                    let along = lexicographic(&m, 0, &basis).unwrap();
                    assert_eq!(dot(&along.gradient, &basis[0]), dot(&e.gradient, &basis[0]));
                    assert_eq!(along.gradient, e.gradient, "{case:?}");
                }
            }
            Verdict::Unknown { .. } => unreachable!(),
        }
        let _ = answer;
    }
    assert!(yes > 50 && no > 50, "{yes} yes, {no} no");
}

/// Limits of gradients of curved programs, found by walking near the point and not by the model: all that is found must be in a list
/// that is called complete.
#[test]
fn complete_lists_hold_what_is_found_nearby() {
    use crease_core::differentiate::{How, backprop};
    use crease_core::number::Rational;
    use crease_core::{Tensor, abs, run};
    use crease_oracles::neighbouring_gradients;
    type Make = for<'t> fn(&[Var<'t>]) -> Var<'t>;
    let cases: [Make; 8] = [
        |x| abs(x[1] - x[0] * x[0]) - abs(x[1]),
        |x| max(&[x[0] * x[0], x[1]]) - relu(x[1]),
        |x| relu(x[1] - x[0] * x[0]) + relu(x[0] + x[1] * x[1]),
        |x| relu(x[0] * x[1]) + abs(x[0] - x[1]),
        |x| (1.0 + relu(x[1] - x[0])) * (2.0 - abs(x[0])) * (x[0] + 1.0),
        |x| abs(abs(x[0] + x[1]) - x[1] * x[1]) - relu(x[0] + x[1]),
        |x| relu(x[0] - x[1]) * relu(x[0]) + relu(x[0] + x[0] * x[1]),
        |x| max(&[x[0], x[1], x[0] * x[1]]),
    ];
    let mut complete = 0;
    for (i, make) in cases.iter().enumerate() {
        let p = trace(2, make).unwrap();
        let found = neighbouring_gradients(&model_at(&p, &[0, 0]), 0, &Limits::default()).unwrap();
        complete += usize::from(found.complete());
        let d = backprop(&p, &How::default()).unwrap();
        let mut rng = Rng::new(i as u64);
        for step in 0..2000 {
            // curves of first and second order through the point, and points that lie anywhere near it
            let t = Rational::new(1, 1 << 20).unwrap();
            let (a, b) = (Rational::from(rng.within(64)), Rational::from(rng.within(64)));
            let second = &t * &t;
            let at = match step % 3 {
                0 => [&t * &a, &t * &b],
                1 => [&t * &a, &second * &(&a * &(&a * &b)) * Rational::new(1, 64).unwrap()],
                _ => [&second * &(&b * &(&a * &b)) * Rational::new(1, 64).unwrap(), &t * &b],
            };
            let inputs: Vec<Tensor<Rational>> = at.iter().map(|x| Tensor::scalar(x.clone())).collect();
            if !crease_core::kinks(&p, &inputs).unwrap().1.is_empty() {
                continue;
            }
            let out = run(&d, &inputs).unwrap();
            let near = |g: &[Rational]| {
                let bound = Rational::new(1, 1000).unwrap();
                (0..2).all(|k| (&g[k] - &out[k + 1].data()[0]).abs() <= bound)
            };
            let known = found.gradients.iter().any(|n| near(&n.gradient));
            assert!(
                known || !found.complete(),
                "case {i} at {at:?}: {:?}",
                out[1..].iter().map(|t| t.data()).collect::<Vec<_>>()
            );
        }
    }
    assert!((3..8).contains(&complete), "{complete} complete");
}

#[test]
fn directions_are_found_among_thousands_of_kinks() {
    // many clauses of two literals that all directions near (1, 1, ...) satisfy
    let n = 400;
    let p = trace(n, |x| {
        let clauses: Vec<Var<'_>> =
            (0..n).flat_map(|i| (1..6).map(move |k| relu(max(&[x[i], x[(i + k) % n]])))).collect();
        min(&clauses)
    })
    .unwrap();
    let (answer, decision) = decided(&model_at(&p, &vec![0; n]), &search());
    assert!(!answer && decision.by == Argument::Search);
}

#[test]
fn parts_without_common_inputs_do_not_multiply() {
    // zero, but not at first sight
    fn part<'t>(x: Var<'t>, y: Var<'t>) -> Var<'t> {
        relu(max(&[x, y])) + relu(min(&[x, y])) - relu(x) - relu(y)
    }
    let copies = 12;
    let p = trace(2 * copies, |x| sum(&(0..copies).map(|i| part(x[2 * i], x[2 * i + 1])).collect::<Vec<_>>())).unwrap();
    let (answer, decision) = decided(&model_at(&p, &vec![0; 2 * copies]), &search());
    assert!(answer && decision.counts.conflicts < 1000, "{:?}", decision.counts);
    // one part that is not zero, and another that may cancel it
    let p = trace(2 * copies, |x| {
        let parts: Vec<Var<'_>> = (0..copies).map(|i| part(x[2 * i], x[2 * i + 1])).collect();
        sum(&parts) + min(&[relu(x[0]), relu(x[1] - 50.0 * x[0])]) - min(&[relu(x[2]), relu(x[3] - 50.0 * x[2])])
    })
    .unwrap();
    let (answer, _) = decided(&model_at(&p, &vec![0; 2 * copies]), &search());
    assert!(!answer);
}
