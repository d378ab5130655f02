//! Loops taken apart are the same function, exactly, at ties too, for no more.

use super::*;
use crease_core::cost::{Prices, tally};
use crease_core::differentiate::{How as Derived, backprop};
use crease_core::{Rational, Tensor, run};
use crease_corpus::random::{Dictionary, Options, Rng, generic_point, origin, program, tied_point};

const TOGETHER: How = How { together: true, inline: true };

fn options(rng: &mut Rng, n: usize) -> Options {
    let dictionary = *rng.pick(&[Dictionary::Everything, Dictionary::PiecewiseLinear]);
    let depth = 1 + rng.below(2);
    let mut o = Options::new(dictionary).exact().inputs(1 + rng.below(4)).equations(n).loops(depth);
    if rng.once_in(2) {
        o = o.tensors();
    }
    if rng.once_in(3) {
        o = o.branches();
    }
    if rng.once_in(3) { o.outputs(1 + rng.below(3)) } else { o.one_output() }
}

/// Both programs say the same, exactly, at ties too, and the second costs no more.
fn same(p: &Program, q: &Program, rng: &mut Rng) {
    assert_eq!(q.verify(), [], "{q}");
    for x in [generic_point(rng, p), tied_point(rng, p), origin(p)] {
        let (a, b): (Vec<Tensor<Rational>>, Vec<Tensor<Rational>>) = (run(p, &x).unwrap(), run(q, &x).unwrap());
        assert!(a == b, "{a:?}\n{b:?}\n{p}\n{q}");
    }
    let unit = Prices::unit();
    let (before, after) = (tally(p).price().at(&unit), tally(q).price().at(&unit));
    assert!(after <= before, "{before} {after}\n{p}\n{q}");
}

#[test]
fn random_loops_taken_apart_are_the_same_function_and_so_are_their_derivatives() {
    let mut changed = [0; 2];
    for i in 0..400 {
        let mut rng = Rng::new(i);
        let options = options(&mut rng, 1 + i as usize / 30);
        let p = program(&mut rng, &options);
        for how in [TOGETHER, How { together: false, ..TOGETHER }, How { inline: false, ..TOGETHER }] {
            let q = apart(&p, how).unwrap();
            same(&p, &q, &mut rng);
            changed[0] += usize::from(*q != p);
            if how != TOGETHER || p.outputs().len() > 1 || !p.atom_shape(p.outputs()[0]).is_scalar() {
                continue;
            }
            let derived = backprop(&p, &Derived::default()).unwrap();
            let again = apart(&derived, how).unwrap();
            same(&derived, &again, &mut rng);
            changed[1] += usize::from(*again != derived);
            // some derivatives alone: what the others need is dropped
            let some = derived.with_outputs(&[0, 1]).unwrap();
            same(&some, &apart(&some, how).unwrap(), &mut rng);
            let x = tied_point(&mut rng, &p);
            let other = backprop(&q, &Derived::default()).unwrap();
            let both: [Vec<Tensor<Rational>>; 2] = [&derived, &other].map(|d| run(d, &x).unwrap());
            assert!(both[0] == both[1], "{both:?}\n{p}\n{q}");
        }
    }
    assert!(changed.iter().all(|&n| n > 100), "{changed:?}");
}

/// How many loops a program has, how many values their turns carry and stack, and the equations of a turn.
fn loops(p: &Program) -> Vec<[usize; 3]> {
    let of = |e: crease_core::Equation<'_>| match e.op {
        Op::Scan(scan) => Some([scan.carried, e.results - scan.carried, p.callee(scan.body).program.len()]),
        _ => None,
    };
    p.equations().filter_map(of).collect()
}

fn main_of(text: &str) -> Arc<Program> {
    crease_formats::parse(text).unwrap().main().clone()
}

#[test]
fn products_with_parts_and_with_what_comes_after_leave_a_loop() {
    let p = main_of(
        "program f(x[7, 3], W[4, 4], w[4, 3], out[4]) {
           let h, error = scan(h = zeros([4]), x in x) {
             let next = relu(W @ h + w @ x)
             return next, abs(dot(out, next) - x[0])
           }
           return sum(error)
         }",
    );
    let q = apart(&p, TOGETHER).unwrap();
    // one product, a sum and a relu, and three reshapes; what is stacked is the state alone
    assert_eq!(loops(&q), [[1, 1, 6]], "{q}");
    let back = backprop(&q, &Derived::default()).unwrap();
    assert_eq!(loops(&back)[1][0], 2, "the adjoint of the state, and that of the matrix: {back}");
    let back = apart(&back, TOGETHER).unwrap();
    assert_eq!(loops(&back)[1][0], 1, "the adjoint of the state: {back}");
}

#[test]
fn a_loop_that_carries_nothing_is_no_loop() {
    let p = main_of("program f(x[7, 3]) { let s, y = scan(s = 0, x in x) { return s, norm1(x) } return sum(y) }");
    assert_eq!(loops(&apart(&p, TOGETHER).unwrap()), [] as [[usize; 3]; 0]);
}

#[test]
fn sums_that_nobody_asks_for_are_not_carried() {
    let p = main_of(
        "program f(A[3, 4], b[3]) = norm1(repeat(9, x = zeros([4])) { return relu(x - transpose(A) @ (A @ x - b)) })",
    );
    let gradient = backprop(&p, &Derived::default()).unwrap();
    let by_b = gradient.with_outputs(&[0, 2]).unwrap();
    let q = apart(&by_b, How { together: false, ..TOGETHER }).unwrap();
    assert_eq!(loops(&q)[1][0], 2, "the adjoint of x, and that of b: {q}");
    same(&by_b, &q, &mut Rng::new(1));
    let q = apart(&by_b, TOGETHER).unwrap();
    assert_eq!(loops(&q)[1][0], 1, "the adjoint of x: {q}");
    same(&by_b, &q, &mut Rng::new(2));
}

#[test]
fn what_would_take_too_much_room_stays() {
    let p = main_of("program f(x[4096, 1024]) { let s, y = scan(s = 0, x in x) { return s, 2 * x } return sum(y) }");
    assert_eq!(loops(&apart(&p, TOGETHER).unwrap()).len(), 1);
}
