//! What is found: the paper's examples, identities of the lattice, Horner's form, derivatives, and dictionaries that are respected.

mod equal;

use crease_core::Limits;
use crease_core::cost::Prices;
use crease_core::dictionary::{Dictionary, outside};
use crease_core::differentiate::{How, backprop};
use crease_core::{Program, Rational, Shape, trace, trace_shapes};
use crease_corpus::paper;
use crease_formats::parse_expression;
use crease_saturate::{Limit, Options, Simplest, Verified, simplest};
use equal::assert_equal;

fn read(text: &str) -> Program {
    parse_expression(text, &|_| None).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

fn find_in(p: &Program, dictionary: Dictionary) -> Simplest {
    let found = simplest(p, &Options { dictionary, ..Options::default() }).expect("a result");
    assert_equal(p, &found.program);
    assert!(outside(&found.program, dictionary).is_empty());
    found
}

/// Checks the costs before and after, at unit prices.
#[track_caller]
fn costs(text: &str, dictionary: Dictionary, before: i64, after: i64) {
    let found = find_in(&read(text), dictionary);
    let at = |p: &crease_core::cost::Price| p.at(&Prices::unit());
    assert_eq!(
        (at(&found.before), at(&found.after)),
        (Rational::from(before), Rational::from(after)),
        "{text} became\n{}",
        found.program
    );
    assert!(before == after || found.verified.is_proved(), "{text}: {}", found.verified);
}

#[test]
fn figure_1() {
    let [_, _, q1, p2] = paper::figure_1();
    let found = find_in(&q1, Dictionary::Extended);
    assert_eq!((found.before.one, found.after.one), (3.into(), 2.into()));
    assert_eq!(found.verified, Verified::NormalForm);
    assert!(found.optimal && found.limits.is_empty(), "{:?}", found.limits);
    // (a + b) (c + d), as a program of programs
    let found = find_in(&p2, Dictionary::Extended);
    assert_eq!((found.before.one, found.after.one), (6.into(), 3.into()));
}

#[test]
fn lattice() {
    use Dictionary::{D0, Extended};
    costs("relu(x - y) + y", Extended, 3, 1);
    costs("relu(x - y) + y", D0, 3, 3);
    costs("relu(x) - relu(-x)", Extended, 4, 0);
    costs("relu(x) + relu(-x)", Extended, 4, 2);
    // the sum of two relus of the paper is not the cheapest absolute value over D0
    costs("relu(x) + relu(-x)", D0, 4, 3);
    costs("max(x, y) + min(x, y)", Extended, 3, 1);
    costs("max(x, min(x, y))", Extended, 2, 0);
    costs("max(x + z, y + z)", Extended, 3, 2);
    costs("max(3 * x, 3 * y)", Extended, 3, 2);
    costs("max(-x, -y)", Extended, 3, 2);
    costs("relu(relu(x))", Extended, 2, 1);
    costs("abs(x * x)", Extended, 3, 1);
    costs("max(max(x, y), max(y, x))", Extended, 3, 1);
    costs("max(x, max(y, max(x, z)))", Extended, 3, 2);
    costs("min(max(x, y), max(x, z))", Extended, 3, 2);
    costs("relu(x) - relu(relu(x))", Extended, 4, 0);
    costs("(abs(x) + x) / 2", Extended, 4, 1);
}

#[test]
fn horner() {
    use Dictionary::{Extended, Polynomial};
    costs("x^3 + 2 * x^2 + 3 * x + 4", Extended, 7, 5);
    costs("x * x * x + 2 * x * x + 3 * x + 4", Extended, 8, 5);
    costs("x * x * x + 2 * x * x + 3 * x + 4", Polynomial, 8, 5);
    costs("1 + x + x^2 + x^3 + x^4 + x^5", Polynomial, 13, 6);
    costs("x * y + x * z + w * y + w * z", Extended, 7, 3);
    costs("(x + y) * (x + y) - (x - y) * (x - y)", Extended, 7, 2);
    costs("2 * x + 2 * y + 2 * z", Extended, 5, 3);
    costs("x * 3 - x - x - x", Extended, 4, 0);
    costs("x / z + y / z", Extended, 3, 2);
    costs("x * (1 / x)", Extended, 2, 0);
    costs("exp(x * y + x * z) - exp(x * (z + y)) + x", Extended, 9, 0);
}

#[test]
fn derivatives() {
    for (degree, most) in [(3, 3), (5, 4), (8, 4)] {
        let p = trace(1, |x| (1..degree).fold(x[0], |product, _| product * x[0])).unwrap();
        let d = backprop(&p, &How::default()).unwrap();
        let found = find_in(&d, Dictionary::Extended);
        assert!(found.after.at(&Prices::unit()) <= Rational::from(most), "x^{degree}:\n{}", found.program);
        assert_eq!(found.program.outputs().len(), 2);
    }
    // value and weights of a joint operation are computed once
    let p = read("relu(x * y + x * z) + relu(x * z + y * x)");
    let d = backprop(&p, &How::default()).unwrap();
    let found = find_in(&d, Dictionary::Extended);
    assert!(found.after.at(&Prices::unit()) < found.before.at(&Prices::unit()));
}

#[test]
fn over_the_derived_dictionary() {
    let p = read("relu(x * y + x * z)");
    let d = backprop(&p, &How::default()).unwrap();
    let found = find_in(&d, Dictionary::ReluDerived);
    assert!(!found.lowered && found.after.at(&Prices::unit()) < found.before.at(&Prices::unit()), "{}", found.program);
}

#[test]
fn what_cannot_be_verified_is_not_returned() {
    // not defined anywhere, and beyond what normal forms prove
    let p = read("log(-1 - relu(max(max(x, y), max(z, max(y, x)))))");
    let found = simplest(&p, &Options::default()).unwrap();
    assert!(matches!(&found.verified, Verified::Not(why) if why.contains("logarithm")), "{}", found.verified);
    assert_eq!((&found.program, found.before), (&p, found.after));
}

#[test]
fn prices_matter() {
    // a power costs c_nonlin, its products 1 each
    let p = read("x * x * x * x");
    let with = |nonlin: i64| {
        let prices = Prices { nonlin: Rational::from(nonlin), relu: Rational::ONE };
        simplest(&p, &Options { prices: &prices, ..Options::default() }).unwrap().after.to_string()
    };
    assert_eq!((with(1).as_str(), with(3).as_str()), ("c_nonlin", "2"));
    // kinks for nothing
    let prices = Prices { nonlin: Rational::ONE, relu: Rational::ZERO };
    let found = simplest(&read("2 * x + relu(y - x)"), &Options { prices: &prices, ..Options::default() }).unwrap();
    assert!(found.after.at(&prices) <= Rational::from(2), "{}", found.program);
}

#[test]
fn tensors_keep_their_shapes() {
    let v = Shape::vector(3).unwrap();
    let p = trace_shapes(&[v.clone(), v], |x| vec![x[0] * x[1] + x[0] * x[0], (x[0] + x[1]).sum() * 0.0]).unwrap();
    let found = find_in(&p, Dictionary::Extended);
    assert_eq!((found.before.one, found.after.one), (15.into(), 6.into()));
    assert_eq!(found.program.inputs(), p.inputs());
    let shapes = |p: &Program| p.outputs().iter().map(|&o| p.atom_shape(o)).collect::<Vec<_>>();
    assert_eq!(shapes(&p), shapes(&found.program));
}

#[test]
fn limits_are_kept_and_told() {
    let p = read("(x + y + z) * (x - y + z) * (x + y - z) * (y + z - x)");
    let run = |nodes, iterations| {
        let found = simplest(
            &p,
            &Options { limits: Limits { terms: nodes, rounds: iterations, ..Limits::default() }, ..Options::default() },
        )
        .unwrap();
        assert!(found.after.one <= found.before.one);
        found
    };
    assert!(run(300, 100).limits.contains(&Limit::Nodes));
    assert_eq!(run(100_000, 2).limits.into_iter().collect::<Vec<_>>(), [Limit::Iterations]);
    let limits = Limits::default().within(std::time::Duration::ZERO);
    let found = simplest(&p, &Options { limits, ..Options::default() }).unwrap();
    assert!(found.limits.contains(&Limit::Time) && found.iterations == 0);
}

#[test]
fn large_programs_go_piece_by_piece() {
    let chain = |n: usize| {
        trace(3, |x| {
            (0..n).fold(x[0], |s, _| {
                let next = s * x[1] + s * x[2];
                crease_core::relu(next - x[0]) + x[0]
            })
        })
        .unwrap()
    };
    let p = chain(40);
    let found = find_in(&p, Dictionary::Extended);
    assert!(found.regions > 1 && found.limits.contains(&Limit::Regions));
    let (before, after) = (found.before.at(&Prices::unit()), found.after.at(&Prices::unit()));
    assert_eq!(before, Rational::from(240));
    assert!(after <= Rational::from(90), "{after}");
    assert!(found.verified.is_proved(), "{}", found.verified);

    let huge = chain(20_000);
    let start = std::time::Instant::now();
    let found = simplest(&huge, &Options::default()).unwrap();
    assert!(found.limits.contains(&Limit::Size) && start.elapsed().as_secs() < 20);
    assert!(found.after.one <= found.before.one);
}

#[test]
fn the_same_limits_give_the_same_result() {
    let p = read("max(x * y + x * z, relu(y - z) + z) - abs(x - y) * (x + 1) * (x + 2)");
    let run = || simplest(&p, &Options::default()).unwrap();
    let (a, b) = (run(), run());
    assert_eq!((a.program.to_string(), a.nodes, a.iterations), (b.program.to_string(), b.nodes, b.iterations));
}
