//! Definition 1 put to the test: right rules pass along curves inside kinks, wrong ones are caught there and nowhere else.

use crease::formats::parse;
use crease::losses::Loss;
use crease::networks::Mlp;
use crease::number::Mixed;
use crease::op::Choice;
use crease::{How, Kink, Number, Program, Rational, Selection, Technique, Tensor, Ties};
use crease::{abs, exp, gradient, log, max, relu, run, trace};
use crease_corpus::cases;
use crease_corpus::random::{Dictionary, Options as Random, Rng, program, tied_point};
use crease_paper::experiments::conservativity::{
    ConservativityError, Curve, Field, Options, Piece, Report, check, check_curves, with_choices,
};
use std::sync::Arc;

fn q(n: i64) -> Rational {
    Rational::from(n)
}

fn how(selection: &str) -> How {
    How::default().select(Selection::parse(selection).unwrap())
}

fn flat(point: &[Tensor<Rational>]) -> Vec<Rational> {
    point.iter().flat_map(|t| t.data().to_vec()).collect()
}

/// The gradient under a selection, with a word of its text replaced: a rule that no selection may have.
fn mutated(p: &Program, selection: &str, word: &str, by: &str) -> Option<Arc<Program>> {
    let text = gradient(p, &how(selection)).unwrap().to_string();
    text.contains(word).then(|| parse(&text.replace(word, by)).unwrap().main().clone())
}

fn tensors(p: &Program, x: &[Rational]) -> Vec<Tensor<Rational>> {
    let mut rest = x;
    let mut take = |n: usize| {
        let (head, tail) = rest.split_at(n);
        rest = tail;
        head.to_vec()
    };
    p.inputs().iter().map(|i| Tensor::new(i.shape.clone(), take(i.shape.len())).unwrap()).collect()
}

/// Confirms every violation by other means: the field is run at the instant itself, and the derivative is a difference quotient
/// within the interval, which is exact for a function that is affine there.
fn confirm(p: &Program, field: &Program, report: &Report) {
    for v in &report.violations {
        assert_ne!(v.expected, v.found);
        let velocity = v.piece.velocity(&v.t);
        let gradient = flat(&run(field, &tensors(p, &v.piece.at(&v.t))).unwrap());
        let found: Rational = gradient.iter().zip(&velocity).map(|(a, b)| a * b).sum();
        assert_eq!(v.found, Mixed::exactly(found));
        if v.piece.powers.len() == 2 {
            let (from, to) = v.interval.clone().unwrap();
            assert!(from < v.t && v.t < to);
            let value = |t: &Rational| run(p, &tensors(p, &v.piece.at(t))).unwrap()[0].data()[0].clone();
            let h = &Ord::min(&v.t - &from, &to - &v.t) * &Rational::new(1, 2).unwrap();
            let rise = &value(&(&v.t + &h)) - &value(&(&v.t - &h));
            assert_eq!(v.expected, Mixed::exactly(rise.checked_div(&(&h * &q(2))).unwrap()));
        }
    }
}

const SELECTIONS: [&str; 6] = [
    "paper",
    "torch",
    "jax",
    "tensorflow",
    "relu=1, times_relu=1/2, abs=1/3, leaky_relu=1/2, elu=1/2, max=last, order=last",
    "relu=1/2, times_relu=0, abs=-1/2, leaky_relu=1, elu=1/4, max=average, order=average",
];

#[test]
fn valid_selections_pass_on_the_corpus() {
    let options = Options { curves: 4, ..Options::default() };
    let mut total = Report::default();
    for case in cases::ALL.iter().filter(|c| c.exact) {
        let p = case.program();
        let at = flat(&case.point());
        for selection in SELECTIONS {
            let report = check(&p, Field::Derived(&how(selection)), std::slice::from_ref(&at), &options).unwrap();
            assert!(report.passed(), "{} with {selection}: {:?}", case.name, report.violations[0]);
            total.merge(report);
        }
    }
    println!(
        "{} intervals, {} instants, {} inside kinks, {} enclosed, {} undecided",
        total.intervals,
        total.instants,
        total.inside_kinks,
        total.enclosed,
        total.undecided.len()
    );
    assert!(total.inside_kinks > 500);
}

#[test]
fn random_weights_pass_on_random_piecewise_linear_programs() {
    let options = Options { curves: 3, pieces: 3, ..Options::default() };
    let mut total = Report::default();
    for seed in 0..120 {
        let mut rng = Rng::new(seed);
        let dictionary = if seed % 2 == 0 { Dictionary::D0 } else { Dictionary::PiecewiseLinear };
        let size = 2 + rng.below(14);
        let p = program(&mut rng, &Random::new(dictionary).exact().inputs(2 + seed as usize % 3).equations(size));
        let mut weight = |low: i64| Rational::new(rng.between(low, 12), 12).unwrap();
        let selection = Selection {
            relu: weight(0),
            times_relu: weight(0),
            abs: weight(-12),
            leaky_relu: weight(0),
            elu: weight(0),
            ..if rng.once_in(2) { Selection::paper() } else { Selection::torch() }
        };
        let at = flat(&tied_point(&mut rng, &p));
        let report = check(&p, Field::Derived(&How::default().select(selection)), &[at], &options).unwrap();
        assert!(report.passed(), "program {seed}: {:?}\n{p}", report.violations[0]);
        assert!(report.undecided.is_empty(), "program {seed}: {:?}\n{p}", report.undecided[0]);
        total.merge(report);
    }
    // segments are covered from end to end
    assert!(total.intervals > 1000 && total.instants > 0, "{} {}", total.intervals, total.instants);
    assert!(total.inside_kinks > 500, "{}", total.inside_kinks);
}

#[test]
fn rational_programs_pass_with_curved_kinks() {
    let options = Options { curves: 3, pieces: 2, ..Options::default() };
    let mut total = Report::default();
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let p = program(&mut rng, &Random::new(Dictionary::Everything).exact().inputs(2).equations(5));
        let at = flat(&tied_point(&mut rng, &p));
        let report = check(&p, Field::Derived(&how("torch, relu=1/3")), &[at], &options).unwrap();
        assert!(report.passed(), "program {seed}: {:?}\n{p}", report.violations[0]);
        total.merge(report);
    }
    assert!(total.instants > 50 && total.inside_kinks > 50, "{} {}", total.instants, total.inside_kinks);
}

#[test]
fn the_loss_of_a_network_passes_inside_its_kinks() {
    // small integer weights and points: many units are at 0
    let p = Mlp::new(&[2, 4, 4, 1]).loss_program(3, Loss::Absolute).unwrap();
    let mut rng = Rng::new(8);
    let at: Vec<Rational> = (0..p.dimension()).map(|_| q(rng.between(-1, 1))).collect();
    let options = Options { curves: 6, pieces: 3, instants: 2, ..Options::default() };
    for selection in ["paper", "torch", "relu=1/3, abs=1/2"] {
        let report = check(&p, Field::Derived(&how(selection)), std::slice::from_ref(&at), &options).unwrap();
        assert!(report.passed() && report.complete(), "{selection}");
        assert!(report.inside_kinks > 4, "{}", report.inside_kinks);
    }
}

/// Curves in general position: they cross kinks, and never run inside one.
fn naive(dimension: usize, count: usize) -> Vec<Curve> {
    let mut rng = Rng::new(5);
    let mut vector =
        || (0..dimension).map(|_| Rational::new(rng.between(-999, 999), 1009).unwrap()).collect::<Vec<_>>();
    (0..count)
        .map(|i| {
            let powers = (0..2 + i % 2).map(|_| vector()).collect();
            Curve { pieces: vec![Piece { powers, until: Rational::ONE }] }
        })
        .collect()
}

#[test]
fn full_weight_to_every_tied_argument_is_caught() {
    let p = trace(3, |x| max(&[x[0], x[1], x[2]]) - max(&[x[0] + x[1], x[2]])).unwrap();
    let every = mutated(&p, "torch", "ties=average", "ties=every").unwrap();
    let changed = |_: &Kink, c: &Choice| Choice { ties: Ties::Every, ..c.clone() };
    assert_eq!(with_choices(&gradient(&p, &how("torch")).unwrap(), changed).unwrap(), *every);
    let report = check(&p, Field::Program(&every), &[], &Options::default()).unwrap();
    assert!(!report.passed() && report.violations.iter().all(|v| v.inside));
    confirm(&p, &every, &report);
    // a selection cannot say it
    let said = Selection::parse("max=every").unwrap();
    let refused = check(&p, Field::Derived(&How::default().select(said)), &[], &Options::default());
    assert!(matches!(refused, Err(ConservativityError::Diff(_))));
    // and curves in general position do not show it
    let report = check_curves(&p, Field::Program(&every), &naive(3, 40), &Options::default()).unwrap();
    assert!(report.passed() && report.inside_kinks == 0 && report.intervals + report.instants > 100);
}

/// The maximum of three, whose weight is shared by *all* arguments as soon as two of them tie at the top. The weights add up
/// to 1, which is all that one is tempted to check.
fn shared_by_all(x: &[Rational]) -> Vec<Rational> {
    let top = x.iter().max().unwrap();
    let third = Rational::new(1, 3).unwrap();
    match x.iter().filter(|y| *y == top).count() {
        1 => x.iter().map(|y| if y == top { Rational::ONE } else { Rational::ZERO }).collect(),
        _ => vec![third; 3],
    }
}

#[test]
fn weights_that_add_up_to_one_are_not_enough() {
    let p = trace(3, |x| max(&[x[0], x[1], x[2]])).unwrap();
    let at = [q(1), q(2), q(3)];
    assert_eq!(shared_by_all(&at).iter().sum::<Rational>(), Rational::ONE);
    let report = check(&p, Field::Function(&shared_by_all), &[], &Options::default()).unwrap();
    assert!(!report.passed());
    for v in &report.violations {
        // only where two tie and the third is smaller
        let mut x = v.piece.at(&v.t);
        x.sort();
        assert!(x[0] < x[1] && x[1] == x[2], "{v:?}");
    }
    let report = check_curves(&p, Field::Function(&shared_by_all), &naive(3, 40), &Options::default()).unwrap();
    assert!(report.passed() && report.inside_kinks == 0);
}

#[test]
fn wrong_rules_are_caught_in_random_programs() {
    let options = Options { curves: 4, pieces: 3, ..Options::default() };
    let (mut tried, mut caught) = (0, 0);
    for seed in 0..80 {
        let mut rng = Rng::new(1000 + seed);
        let p = program(&mut rng, &Random::new(Dictionary::PiecewiseLinear).exact().inputs(3).equations(8));
        let Some(wrong) = mutated(&p, "max=average, order=average", "ties=average", "ties=every") else { continue };
        let report = check(&p, Field::Program(&wrong), &[], &options).unwrap();
        confirm(&p, &wrong, &report);
        (tried, caught) = (tried + 1, caught + usize::from(!report.passed()));
    }
    println!("{caught} of {tried}");
    assert!(caught * 2 > tried && tried > 40, "{caught} of {tried}");
}

#[test]
fn any_slope_at_an_isolated_kink_is_conservative() {
    // while the argument of a relu stays at 0 it does not move, so whatever relu'(0) is, it is multiplied by 0: outside of [0, 1] it
    // is no Clarke subgradient, but Definition 1 holds
    for p in [trace(1, |x| relu(x[0])).unwrap(), trace(2, |x| relu(x[0] - x[1]) - relu(relu(x[0]) - x[1])).unwrap()] {
        let wild = mutated(&p, "relu=1/2", "at=0.5", "at=7").unwrap();
        let report = check(&p, Field::Program(&wild), &[], &Options::default()).unwrap();
        assert!(report.passed() && report.complete());
        assert_eq!(report.inside_kinks > 0, p.dimension() > 1);
    }
}

#[test]
fn bent_curves_follow_curved_kinks() {
    // two kinks in one place: at y = x^2, full weight to both sides of the maximum doubles the derivative
    let p = trace(2, |x| max(&[x[1], x[0] * x[0]])).unwrap();
    let every = mutated(&p, "torch", "ties=average", "ties=every").unwrap();
    let report = check(&p, Field::Program(&every), &[], &Options { curves: 24, ..Options::default() }).unwrap();
    assert!(!report.passed());
    for v in &report.violations {
        let x = v.piece.at(&v.t);
        assert_eq!(x[1], &x[0] * &x[0]);
        let found = v.found.exact().expect("an exact number");
        assert_eq!(v.expected.mul(&Mixed::from_usize(2)), Mixed::exactly(found.clone()));
    }
    confirm(&p, &every, &report);
    let right = check(&p, Field::Derived(&how("torch")), &[], &Options { curves: 24, ..Options::default() }).unwrap();
    assert!(right.passed() && right.inside_kinks > 0 && right.undecided.is_empty());
}

#[test]
fn choices_change_inside_calls_and_selections_too() {
    let text = "program larger(a, b) = max(a, b)
                program f(x, y, z) = select { z > 0 => larger(x, y), else => larger(x, y) + z }";
    let p = parse(text).unwrap().main().clone();
    let right = gradient(&p, &how("torch").technique(Technique::Backward)).unwrap();
    assert_eq!(with_choices(&right, |_, c| c.clone()).unwrap(), right);
    let every = with_choices(&right, |_, c| Choice { ties: Ties::Every, ..c.clone() }).unwrap();
    let passed = |field| check(&p, Field::Program(field), &[], &Options::default()).unwrap().passed();
    assert!(passed(&right) && !passed(&every));
}

#[test]
fn a_joint_program_of_ones_own_is_checked() {
    let text = |slope: &str| {
        format!(
            "program larger(a, b) = max(a, b)
             joint larger(a, b) {{ let v, wa, wb = max'(a, b, ties={slope}) return v, wa, wb }}
             program f(x, y, z) = larger(x, larger(y, z)) + z"
        )
    };
    for (ties, right) in [("average", true), ("last", true), ("every", false)] {
        let p = parse(&text(ties)).unwrap().main().clone();
        let report = check(&p, Field::Derived(&How::default()), &[], &Options::default()).unwrap();
        assert_eq!(report.passed(), right, "{ties}");
        assert!(report.inside_kinks > 0 && report.complete());
    }
}

#[test]
fn exponentials_are_compared_in_enclosures() {
    let p = trace(3, |x| exp(x[2]) * max(&[x[0], x[1]])).unwrap();
    let report = check(&p, Field::Derived(&how("torch")), &[], &Options::default()).unwrap();
    assert!(report.passed() && report.enclosed > 0 && !report.complete());
    let every = mutated(&p, "torch", "ties=average", "ties=every").unwrap();
    let report = check(&p, Field::Program(&every), &[], &Options::default()).unwrap();
    assert!(!report.passed() && report.violations.iter().all(|v| v.inside));
    // enclosures that do not meet are a proof, too
    assert!(report.violations.iter().any(|v| v.interval.is_none() && v.expected.exact().is_none()));
}

#[test]
fn what_cannot_be_told_is_listed() {
    let p = trace(1, |x| log(x[0]) + abs(x[0])).unwrap();
    let report = check(&p, Field::Derived(&How::default()), &[vec![q(-3)]], &Options::default()).unwrap();
    assert!(!report.undecided.is_empty());
    assert!(report.undecided.iter().all(|u| !u.why.is_empty()));
    let p = trace(2, |x| relu(x[0] - x[1])).unwrap();
    let one = Options { intervals: 1, ..Options::default() };
    let zigzag = Piece::straight(vec![q(-1), q(0)], vec![q(2), q(0)], Rational::ONE);
    let report = check_curves(&p, Field::Derived(&How::default()), &[Curve { pieces: vec![zigzag] }], &one).unwrap();
    assert_eq!((report.intervals, report.undecided.len()), (1, 1));
}

#[test]
fn what_does_not_fit_is_refused() {
    let p = trace(2, |x| x[0] * x[1]).unwrap();
    let all = Options::default();
    let fault = |field: Field<'_>, points: &[Vec<Rational>]| check(&p, field, points, &all).unwrap_err();
    let other = trace(2, |x| x[0]).unwrap();
    assert!(matches!(fault(Field::Program(&other), &[]), ConservativityError::Field(_)));
    let point = fault(Field::Derived(&How::default()), &[vec![q(1)]]);
    assert_eq!(point, ConservativityError::Curve { what: "point", number: 0, dimension: 2 });
    let back = Curve { pieces: vec![Piece::straight(vec![q(0), q(0)], vec![q(1), q(0)], q(-1))] };
    assert!(check_curves(&p, Field::Derived(&How::default()), &[back], &all).is_err());
    let short = |_: &[Rational]| vec![q(0)];
    let report = check(&p, Field::Function(&short), &[], &all).unwrap();
    assert!(report.passed() && !report.undecided.is_empty());
}
