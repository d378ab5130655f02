//! Directional derivatives and locked programs as programs, against the local model: wherever the model proves a directional derivative,
//! the program computes it, in rationals, for all programs whose operations these have.

use crease_core::differentiate::{DiffError, How, directional, locked, vjp};
use crease_core::local::localize;
use crease_core::number::Rational;
use crease_core::{Atom, Builder, Op, Program, Tensor, run};
use crease_corpus::compare::{dot, stacked};
use crease_corpus::hostile;
use crease_corpus::random::{Dictionary, Options, Rng, origin, program, tied_point};
use crease_oracles::directional_batch;

type Point = Vec<Tensor<Rational>>;

/// A direction of small numbers, many of them equal or zero.
fn direction(rng: &mut Rng, p: &Program) -> Point {
    let numbers = [0, 0, 1, 1, -1, 2, -3];
    let tensor = |n: usize, rng: &mut Rng| (0..n).map(|_| Rational::from(*rng.pick(&numbers))).collect();
    p.inputs().iter().map(|i| Tensor::new(i.shape.clone(), tensor(i.shape.len(), rng)).unwrap()).collect()
}

#[derive(Default, Debug)]
struct Found {
    /// Where both gave the same.
    agreed: usize,
    /// Where besides a comparison was tied.
    borders: usize,
    /// Where the program has no value in rationals, or a branch that is picked has none at the point.
    no_value: usize,
    /// Where the model refuses.
    no_model: usize,
    /// Where first order does not tell which branch a comparison takes, and the model knows it otherwise.
    flat: usize,
}

/// Whether a comparison is tied along a direction, too, as far as first order goes: of that the program promises nothing.
fn is_flat(p: &Program, at: &Point, direction: &[Rational]) -> bool {
    let Ok(scalar) = crease_core::inline(p).map_err(|_| ()).and_then(|q| crease_core::scalarize(&q).map_err(|_| ()))
    else {
        return false;
    };
    let mut b = Builder::new("borders");
    let mut map: Vec<Atom> =
        scalar.inputs().iter().map(|i| b.input(i.name.clone(), i.shape.clone()).unwrap()).collect();
    let mut borders = Vec::new();
    for e in scalar.equations() {
        let args: Vec<Atom> = e
            .args
            .iter()
            .map(|&a| match a {
                Atom::Value(v) => map[v.index()],
                Atom::Const(c) => b.constant(scalar.constant(c).clone()),
            })
            .collect();
        if let Op::Compare(_) = e.op {
            borders.push(b.sub(args[0], args[1]).unwrap());
        }
        // what runs branches of its own is not looked into
        let Ok(results) = b.push(e.op.clone(), &args) else { return false };
        map.extend(results);
    }
    let q = b.finish(&borders).unwrap();
    let numbers: Point = at.iter().flat_map(|t| t.data()).map(|x| Tensor::scalar(x.clone())).collect();
    let (Ok(values), Ok(model)) = (run(&q, &numbers), localize(&q, &numbers)) else { return false };
    let slopes = directional_batch(&model, &[direction.to_vec()]).unwrap().remove(0);
    values.iter().zip(slopes).any(|(x, slope)| x.data()[0].is_zero() && slope.is_zero())
}

fn check(p: &Program, at: &Point, rng: &mut Rng, found: &mut Found) {
    let Ok(model) = localize(p, at) else {
        found.no_model += 1;
        return;
    };
    if !model.is_exact() {
        found.no_value += 1;
        return;
    }
    let directions: Vec<Point> = (0..4).map(|k| if k == 0 { origin(p) } else { direction(rng, p) }).collect();
    let flat: Vec<Vec<Rational>> = directions.iter().map(|d| crease_corpus::compare::flat(d)).collect();
    let expected = directional_batch(&model, &flat).unwrap();
    let wrt: Vec<usize> = (0..p.inputs().len()).collect();
    let derived = match directional(p, &wrt, directions.len()) {
        Ok(d) => d,
        Err(DiffError::NoDirectional { .. }) => return,
        Err(e) => panic!("{e}\n{p}"),
    };
    // a rational has no square root, and a branch that the direction picks may have no value here
    let Ok(out) = run(&derived, &[at.clone(), stacked(&directions)].concat()) else {
        found.no_value += 1;
        return;
    };
    let locked = locked(p).unwrap();
    let adjoint = vjp(&locked, &How::default()).unwrap();
    for (j, (d, expected)) in directions.iter().zip(&expected).enumerate() {
        let mine: Vec<Rational> = out[p.outputs().len()..]
            .iter()
            .flat_map(|t| {
                let n = t.data().len() / directions.len();
                t.data()[j * n..(j + 1) * n].to_vec()
            })
            .collect();
        if mine != *expected && is_flat(p, at, &flat[j]) {
            found.flat += 1;
            return;
        }
        assert_eq!(mine, *expected, "at {at:?} along {d:?}\n{p}\n{derived}");
        // the locked program along the same direction: the gradient of one scalar output gives the same
        let inputs = [at.clone(), stacked(std::slice::from_ref(d))].concat();
        // what nobody needs may have no value in the program itself
        if let ([_], Ok(values), Ok(own)) = (&expected[..], run(&locked, &inputs), run(p, at)) {
            assert_eq!(values, own, "locked at {at:?} along {d:?}\n{p}\n{locked}");
            if let Ok(all) = run(&adjoint, &[inputs, vec![values[0].map(|_| Rational::ONE)]].concat()) {
                assert_eq!(dot(&all[1..=d.len()], d), expected[0], "at {at:?} along {d:?}\n{p}\n{locked}");
            }
        }
    }
    found.agreed += 1;
    let tied = crease_core::kinks(p, at).map_or(Vec::new(), |(_, tied)| tied);
    found.borders += usize::from(tied.iter().any(|k| !k.kink.starts_with(char::is_alphabetic)));
}

#[test]
fn random_programs_with_branches_agree_with_the_model() {
    let mut rng = Rng::new(41);
    let mut found = Found::default();
    for round in 0..1500 {
        let o = Options::new(Dictionary::Everything)
            .exact()
            .branches()
            .inputs(1 + rng.below(3))
            .equations(2 + rng.below(8));
        let o = if round % 3 == 0 { o.tensors() } else { o };
        let o = o.calls(rng.below(3));
        let p = program(&mut rng, &o);
        let at = if rng.once_in(3) { origin(&p) } else { tied_point(&mut rng, &p) };
        check(&p, &at, &mut rng, &mut found);
    }
    assert!(found.agreed > 500 && found.borders > 20, "{found:?}");
}

/// Programs that are built to tie, cancel and break.
#[test]
fn hostile_programs_agree_with_the_model() {
    let mut found = Found::default();
    for seed in 0..3000 {
        let case = hostile::case(seed);
        check(&case.program, &case.inputs(), &mut Rng::new(seed), &mut found);
    }
    assert!(found.agreed > 150 && found.borders > 25 && found.flat < 30, "{found:?}");
}
